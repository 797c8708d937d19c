"""Reading and writing strings: PAutomaC and SPiCe files, lines of characters or tokens, CSV with counts.

In the three text formats white space around a string is ignored, and a string that is empty, or λ alone, is the empty word.
Symbols are numbered in the order of their written forms (numbers by size), so an alphabet does not depend on the order of lines.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from .. import limits
from ..errors import FormatError, RecipeError
from ..sample import Sample
from ..words import LAMBDA, Alphabet, IntArray, Words, check_symbols
from .pautomac import parse_strings
from .text import BYTE_ORDER_MARK, INTEGER, at_most, clean, plural, positive_count, shown, unified

FORMATS = ("auto", "pautomac", "characters", "tokens", "csv")
CSV_HEADERS = ("string", "characters", "tokens")  # the first column's name; "string" leaves the choice to the cells
BLOCK = 2**14  # strings that are taken apart together: the symbols of all at once would take ten times the file
VERBS = Path(__file__).resolve().parents[2] / "assets" / "verbs.txt"


@dataclass(frozen=True, eq=False)
class StringFile:
    """The strings of a file as they stand in it: not merged, in the file's order.

    Attributes
    ----------
    words : Words
    counts : array, shape (num_words,)
        How often each was seen: all 1, except in a CSV file.
    alphabet : Alphabet
    format : str
        One of FORMATS, never "auto".
    notes : tuple of str
        What a user should know, a sentence each.
    """

    words: Words
    counts: IntArray
    alphabet: Alphabet
    format: str
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.counts.shape != (len(self.words),):
            raise RecipeError(f"{len(self.words)} words with counts of shape {self.counts.shape}")

    def sample(self) -> Sample:
        """Equal words merged, their counts added up."""
        return Sample.of(self.words, self.alphabet, self.counts)


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
    text = cleaned.decode("utf-8")
    chosen = _sniff(text, alphabet) if format == "auto" else format
    if chosen == "pautomac":
        return _read_pautomac(cleaned, alphabet)
    notes: list[str] = []
    lines: Sequence[int]
    if chosen == "csv":
        cells, lines, texts, in_tokens = csv_cells(text, "count", alphabet, notes)
        counts = _counts(texts, lines)
    else:
        cells, in_tokens = _lines(text, notes), chosen == "tokens"
        lines, counts = range(1, len(cells) + 1), np.ones(len(cells), dtype=np.int64)
    words, full = encode(cells, lines, in_tokens, alphabet)
    return StringFile(words, counts, full, chosen, (*notes, *unseen_notes(alphabet, full.symbols[len(alphabet or ()) :])))


def begins_as_pautomac(head: bytes) -> bool:
    """Whether a file that begins so has the header, and a first string that says its length."""
    rows = [row for row in unified(head.removeprefix(BYTE_ORDER_MARK)).decode("utf-8", "replace").split("\n")[:-1] if row.strip()]
    return len(rows) > 1 and _has_header(rows[0]) and _says_its_length(rows[1])


def _has_header(row: str) -> bool:
    tokens = row.split()
    return len(tokens) == 2 and all(re.fullmatch("[0-9]+", token) for token in tokens)


def _says_its_length(row: str) -> bool:
    tokens = row.split()
    return all(INTEGER.fullmatch(token) for token in tokens) and tokens[0] == str(len(tokens) - 1)


def _sniff(text: str, alphabet: Alphabet | None) -> str:
    rows = [row for row in text.split("\n") if row.strip()]
    if _has_header(rows[0]) and (len(rows) == 1 or _says_its_length(rows[1]) or rows[0].split()[0] == str(len(rows) - 1)):
        return "pautomac"
    head = rows[1:21] if _csv_header(rows[0].split(","), "count") else rows[:20]
    if head and all("," in row and INTEGER.fullmatch(row.rsplit(",", 1)[1].strip(' "\t')) for row in head):
        return "csv"
    return "tokens" if _in_tokens(rows, alphabet) else "characters"


def _in_tokens(cells: Sequence[str], alphabet: Alphabet | None) -> bool:
    return bool(alphabet and alphabet.separator) or any(len(cell.split(maxsplit=1)) > 1 for cell in cells)


def _read_pautomac(cleaned: bytes, alphabet: Alphabet | None) -> StringFile:
    block = parse_strings(cleaned)
    known = len(alphabet or ())
    full = alphabet if alphabet and known >= block.num_symbols else Alphabet.numbered(block.num_symbols)
    new = np.unique(block.words.symbols[block.words.symbols >= known])
    notes = (*block.notes, *unseen_notes(alphabet, [full.symbols[symbol] for symbol in new]))
    return StringFile(block.words, np.ones(len(block.words), dtype=np.int64), full, "pautomac", notes)


def unseen_notes(alphabet: Alphabet | None, new: Sequence[str]) -> list[str]:
    if alphabet is None or not new:
        return []
    listed = ", ".join(shown(symbol) for symbol in new[:12]) + (", …" if len(new) > 12 else "")
    return [f"{plural(len(new), 'symbol')} never seen in training: {listed}."]


def _lines(text: str, notes: list[str]) -> list[str]:
    """Stripped lines without the blank ones at the end, which nobody means as strings."""
    rows = [row.strip() for row in text.removesuffix("\n").split("\n")]
    last = max(index for index, row in enumerate(rows) if row)
    if last + 1 < len(rows):
        notes.append(f"{plural(len(rows) - last - 1, 'blank line')} at the end of the file skipped.")
    rows = rows[: last + 1]
    if blank := sum(not row for row in rows):
        notes.append(f"{plural(blank, 'blank line')} read as the empty word λ.")
    return rows


def _csv_header(row: Sequence[str], number: str) -> str | None:
    names = [cell.strip(' "\t').lower() for cell in row]
    return names[0] if len(names) == 2 and names[0] in CSV_HEADERS and names[1] == number else None


def csv_cells(text: str, number: str, alphabet: Alphabet | None, notes: list[str]) -> tuple[list[str], list[int], list[str], bool]:
    """Strings, their lines, the numbers beside them as text, and whether the strings hold tokens; `number` names its column."""
    cells: list[str] = []
    lines: list[int] = []
    numbers: list[str] = []
    kind, blank = "string", 0
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for row in reader:
            line = reader.line_num
            header = None if cells else _csv_header(row, number)
            if header:
                kind = header
            elif not any(cell.strip() for cell in row) and len(row) < 2:
                blank += 1
            elif len(row) != 2:
                raise FormatError(f"{plural(len(row), 'column')} given, 2 needed: string and {number}", line)
            else:
                numbers.append(row[1])
                cells.append(row[0].strip())
                lines.append(line)
    except csv.Error as error:
        raise FormatError(f"not a CSV file: {error}", reader.line_num) from None
    if not cells:
        raise FormatError("the file holds no strings: at least 1 is needed")
    if blank:
        notes.append(f"{plural(blank, 'blank line')} skipped (λ is an empty first column in this format).")
    return cells, lines, numbers, _in_tokens(cells, alphabet) if kind == "string" else kind == "tokens"


def _counts(texts: list[str], lines: list[int]) -> IntArray:
    counts = np.empty(len(texts), dtype=np.int64)
    total = 0
    for place, (text, line) in enumerate(zip(texts, lines, strict=True)):
        counts[place] = count = positive_count(text, line)
        total += count
        at_most("sum of the counts", total, limits.MAX_STRINGS, line)
    return counts


def encode(cells: list[str], lines: Sequence[int], in_tokens: bool, alphabet: Alphabet | None) -> tuple[Words, Alphabet]:
    """Words from stripped cells, and the alphabet: the given one, if any, and behind it what else occurs."""
    lengths, found = np.empty(len(cells), dtype=np.int64), set[str]()
    for start in range(0, len(cells), BLOCK):
        rows = _rows(cells[start : start + BLOCK], in_tokens)
        lengths[start : start + BLOCK] = [len(row) for row in rows]
        found.update(chain.from_iterable(rows))
    at_most("string length", int(lengths.max()), limits.MAX_STRING_LENGTH, lines[int(lengths.argmax())])
    known = alphabet.symbols if alphabet else ()
    found.difference_update(known)
    at_most("different symbols", len(known) + len(found), limits.MAX_SYMBOLS)
    if not known and not found:
        raise FormatError("every string is empty: at least one symbol is needed to make an alphabet")
    numbers_only = all(re.fullmatch("[0-9]+", symbol) for symbol in found)
    new = sorted(found, key=lambda symbol: (len(symbol), symbol) if numbers_only else (0, symbol))
    full = Alphabet((*known, *new))
    index = {symbol: number for number, symbol in enumerate(full.symbols)}
    blocks = (_rows(cells[start : start + BLOCK], in_tokens) for start in range(0, len(cells), BLOCK))
    written = chain.from_iterable(chain.from_iterable(blocks))
    symbols = np.fromiter(map(index.__getitem__, written), dtype=np.int64, count=int(lengths.sum()))
    return Words(symbols, np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)), full


def _rows(cells: Sequence[str], in_tokens: bool) -> list[Sequence[str]]:
    return [() if cell == LAMBDA else cell.split() if in_tokens else cell for cell in cells]


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
