"""Reading and writing strings: PAutomaC and SPiCe files, lines of characters or tokens, CSV with counts.

In the three text formats white space around a string is ignored, and a string that is empty, or λ alone, is the empty word.
Symbols are numbered in the order of their written forms (numbers by size), so an alphabet does not depend on the order of lines.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import numpy as np

from .. import limits
from ..errors import RecipeError, plural
from ..strings.sample import Sample
from ..strings.words import LAMBDA, Alphabet, IntArray, Words, check_symbols, smallest
from .cells import CsvCells, csv_header, encode, in_tokens, line_cells
from .pautomac import parse_pieces
from .text import BYTE_ORDER_MARK, INTEGER, TOKEN, at_most, clean, num_tokens, positive_count, row_blocks, shown, slices, unified

FORMATS = ("auto", "pautomac", "characters", "tokens", "csv")
VERBS = Path(__file__).resolve().parents[2] / "assets" / "verbs.txt"


@dataclass(frozen=True, eq=False)
class StringFile:
    """The strings of a file as they stand in it: not merged, in the file's order.

    Attributes
    ----------
    parts : sequence of Words
        Packed: what `words` makes of them may take eight times the file.
    weights : array or None, shape (num_words,)
        How often each was seen, in the smallest numbers; None: once.
    alphabet : Alphabet
    format : str
        One of FORMATS, never "auto".
    notes : tuple of str
        What a user should know, a sentence each.
    """

    parts: Sequence[Words]
    weights: IntArray | None
    alphabet: Alphabet
    format: str
    notes: tuple[str, ...] = ()

    @property
    def words(self) -> Words:
        """Made anew each time."""
        return Words.joined(self.parts)

    @property
    def counts(self) -> IntArray:
        """How often each was seen, shape (num_words,): all 1, except in a CSV file."""
        return np.ones(sum(map(len, self.parts)), dtype=np.int64) if self.weights is None else self.weights.astype(np.int64)

    def sample(self) -> Sample:
        """Equal words merged, their counts added up."""
        packed = self.packed_sample()
        words, counts = Words.joined([packed.words]), packed.counts
        del packed  # it would stand beside all that is made
        return Sample(words, counts.astype(np.int64), self.alphabet)

    def packed_sample(self) -> Sample:
        """The same in the smallest numbers: for a split, whose parts are not packed."""
        return Sample.merged(self.parts, self.alphabet, self.weights)


def read_strings(data: bytes, format: str = "auto", alphabet: Alphabet | None = None) -> StringFile:
    """The strings of a file.

    >>> read = read_strings(b"abba\\nab\\n")
    >>> read.format, read.alphabet.symbols, list(read.words)
    ('characters', ('a', 'b'), [(0, 1, 1, 0), (0, 1)])

    Parameters
    ----------
    data : bytes
        UTF-8, with or without a byte order mark, any kind of line ends.
    format : str
        One of FORMATS; "auto" looks at the file.
    alphabet : Alphabet, optional
        One that is known, from training: its symbols keep their numbers, and new ones come behind them.

    Raises
    ------
    FormatError
        If the file can't be read; with the line, where there is one to blame.
    RecipeError
        If the format is unknown.
    """
    if format not in FORMATS:
        raise RecipeError(f"format: {format!r} given, allowed: {', '.join(FORMATS)}")
    cleaned = clean(data)
    chosen = _sniff(cleaned, alphabet) if format == "auto" else format
    if chosen == "pautomac":
        return _read_pautomac(cleaned, alphabet)
    notes: list[str] = []
    weights: IntArray | None = None
    if chosen == "csv":
        counts = _Counts()
        table = CsvCells(cleaned, "count", alphabet, notes, counts.read)
        cells, tokens, weights = table.cells(), table.in_tokens, np.concatenate(counts.blocks)
    else:
        cells, tokens = line_cells(cleaned, notes), chosen == "tokens"
    parts, full = encode(cells, tokens, alphabet)
    return StringFile(parts, weights, full, chosen, (*notes, *unseen_notes(alphabet, full.symbols[len(alphabet or ()) :])))


def begins_as_pautomac(head: bytes) -> bool:
    """Whether a file that begins so has the header, and a first string that says its length."""
    rows = [row for row in unified(head.removeprefix(BYTE_ORDER_MARK)).decode("utf-8", "replace").split("\n")[:-1] if row.strip()]
    return len(rows) > 1 and _has_header(rows[0]) and _says_its_length(rows[1])


def _has_header(row: str) -> bool:
    tokens = row.split(maxsplit=2)
    return len(tokens) == 2 and all(re.fullmatch("[0-9]+", token) for token in tokens)


def _says_its_length(row: str) -> bool:
    whole = all(INTEGER.fullmatch(token[0]) for token in TOKEN.finditer(row))
    return whole and row.split(maxsplit=1)[0] == str(num_tokens(row) - 1)


def _sniff(cleaned: bytes, alphabet: Alphabet | None) -> str:
    rows = _filled(cleaned)
    head = list(islice(rows, 21))
    if _has_header(head[0]):
        promised = head[0].split()[0]
        if len(head) == 1 or _says_its_length(head[1]) or promised == str(sum(1 for _ in _filled(cleaned)) - 1):
            return "pautomac"
    first = head[1:] if csv_header(head[0].split(",", 2), "count") else head[:20]
    if first and all("," in row and INTEGER.fullmatch(row.rsplit(",", 1)[1].strip(' "\t')) for row in first):
        return "csv"
    return "tokens" if in_tokens(chain(head, rows), alphabet) else "characters"


def _filled(cleaned: bytes) -> Iterator[str]:
    """The lines that are not blank."""
    return (row for rows in row_blocks(cleaned) for row in rows if row.strip())


def _read_pautomac(cleaned: bytes, alphabet: Alphabet | None) -> StringFile:
    known, parts, new = len(alphabet or ()), list[Words](), set[int]()
    for block in parse_pieces(slices(cleaned), limits.most("strings")):
        parts.append(block.words.packed())
        if alphabet:
            new.update(np.unique(block.words.symbols[block.words.symbols >= known]).tolist())
    full = alphabet if alphabet and known >= block.num_symbols else Alphabet.numbered(block.num_symbols)
    notes = (*block.notes, *unseen_notes(alphabet, [full.symbols[symbol] for symbol in sorted(new)]))
    return StringFile(parts, None, full, "pautomac", notes)


def unseen_notes(alphabet: Alphabet | None, new: Sequence[str]) -> list[str]:
    if alphabet is None or not new:
        return []
    listed = ", ".join(shown(symbol) for symbol in new[:12]) + (", …" if len(new) > 12 else "")
    return [f"{plural(len(new), 'symbol')} never seen in training: {listed}."]


class _Counts:
    """A column of counts, read a block after the other."""

    def __init__(self) -> None:
        self.blocks: list[IntArray] = []
        self._total = 0

    def read(self, texts: list[str], lines: list[int]) -> None:
        counts = np.empty(len(texts), dtype=np.int64)
        for place, (text, line) in enumerate(zip(texts, lines, strict=True)):
            counts[place] = count = positive_count(text, line)
            self._total += count
            at_most("sum of the counts", self._total, limits.most("strings"), line)
        self.blocks.append(smallest(counts))


def write_lines(words: Words, alphabet: Alphabet) -> str:
    """A string a line, as `Alphabet.decode` writes it; λ for the empty word.

    >>> write_lines(Words.of([(0, 1), ()]), Alphabet(("a", "b")))
    'ab\\nλ\\n'

    Raises
    ------
    RecipeError
        If a reader could not tell the strings again, because of white space or λ in the alphabet.
    """
    _check_writable(words, alphabet)
    return "".join(alphabet.decode(word) + "\n" for word in words)


def write_csv(sample: Sample) -> str:
    """The columns string and count, under a header that says what the strings consist of.

    >>> write_csv(Sample.of(Words.of([(0, 1), (0,), (0, 1)]), Alphabet(("a", "b"))))
    'characters,count\\nab,2\\na,1\\n'

    Raises
    ------
    RecipeError
        As `write_lines`.
    """
    _check_writable(sample.words, sample.alphabet)
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(("tokens" if sample.alphabet.separator else "characters", "count"))
    writer.writerows(zip(map(sample.alphabet.decode, sample.words), sample.counts.tolist(), strict=True))
    return buffer.getvalue()


def _check_writable(words: Words, alphabet: Alphabet) -> None:
    check_symbols(words, len(alphabet))
    blank = np.array([any(c.isspace() for c in symbol) or not symbol for symbol in alphabet.symbols])
    filled = words.lengths > 0
    edges = np.concatenate((words.symbols[words.offsets[:-1][filled]], words.symbols[words.offsets[1:][filled] - 1]))
    lost = [symbol for symbol in alphabet.symbols if symbol in ("\n", "\r", "\ufeff", LAMBDA)]
    if lost or blank[edges].any() or (alphabet.separator and blank.any()):
        given = shown(lost[0] if lost else alphabet.symbols[int(np.flatnonzero(blank)[0])])
        raise RecipeError(f"symbol {given} would be lost in a text file; the PAutomaC format writes any alphabet, as numbers")


def shipped_verbs() -> StringFile:
    """English verb forms as characters, from `assets/verbs.txt`.

    Raises
    ------
    RecipeError
        If the file is missing: an installation without its assets.
    """
    if not VERBS.is_file():
        raise RecipeError(f"the list of verbs is missing: {VERBS} is not a file")
    return read_strings(VERBS.read_bytes(), "characters")
