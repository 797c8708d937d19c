"""The files of the PAutomaC and SPiCe competitions: strings, solutions, and the models that drew them.

Strings: a first line `number_of_strings alphabet_size`, then a line a string, `length s₁ s₂ …`, symbols from 0. λ is the line `0`.
Source: Verwer, Eyraud, de la Higuera, *PAutomaC*, Mach. Learn. 2014, and the files themselves. Names for the symbols are not
part of the format, and are left to `formats`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from .. import limits
from ..errors import FormatError, plural
from ..models.wfa import WFA
from ..strings.words import FloatArray, IntArray, Words, check_symbols, offsets_of, smallest
from .text import BLANK, PIECE, at_most, chunks, clean, positive_count, probability, row_blocks, shown, slices

SECTIONS = {"I": 1, "F": 1, "S": 2, "T": 3}  # indices an entry has
HEADING = re.compile(r"([IFST])\s*:.*")
ENTRY = re.compile(r"\(\s*([0-9]{1,9}(?:\s*,\s*[0-9]{1,9})*)\s*\)\s+(\S+)")
ROUNDING = 1e-6  # model files hold 12 digits
MAX_DIGITS = 18  # fit into an int64


@dataclass(frozen=True, eq=False)
class Block:
    """Strings that stand one after the other in a file.

    Attributes
    ----------
    words : Words
        In the file's order.
    num_symbols : int
        The header's.
    num_blank : int
        Blank lines that were skipped from the file's beginning to the last of these strings.
    """

    words: Words
    num_symbols: int
    num_blank: int

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know, where this is a file's last block."""
        return (f"{plural(self.num_blank, 'blank line')} skipped (λ is written 0 in this format).",) if self.num_blank else ()


def parse_strings(cleaned: bytes) -> Block:
    """All strings of a PAutomaC or SPiCe file in one block.

    >>> block = parse_strings(b"3 2\\n2 0 1\\n0\\n1 1\\n")
    >>> list(block.words), block.num_symbols, block.num_blank
    ([(0, 1), (), (1,)], 2, 0)

    Parameters
    ----------
    cleaned : bytes
        As `text.clean` returns them.

    Raises
    ------
    FormatError
        If a line or the header does not hold what it should.
    """
    blocks = list(parse_pieces(slices(cleaned), limits.most("strings")))
    return Block(Words.joined([block.words for block in blocks]), blocks[-1].num_symbols, blocks[-1].num_blank)


def parse_pieces(pieces: Iterable[tuple[int, bytes]], max_strings: int | None = None) -> Iterator[Block]:
    """The same for a file that is too large to hold: a block for each piece that is not blank.

    Parameters
    ----------
    pieces : iterable of int and bytes
        As `text.pieces` yields them.
    max_strings : int, optional
        How many strings the header may promise.

    Raises
    ------
    FormatError
        As above; a wrong number of strings in the header is found at the end.
    """
    header: tuple[int, int, int] | None = None
    num_read = 0
    for lines_before, piece in pieces:
        numbers, widths, lines = _rows(piece, lines_before)
        if not len(lines):
            continue
        if header is None:
            header = _header(numbers, int(widths[0]), int(lines[0]), max_strings)
            numbers, widths, lines = numbers[2:], widths[1:], lines[1:]
        words = _strings(numbers, widths, lines, header[1])
        num_read += len(words)
        if len(words):
            yield Block(words, header[1], int(lines[-1]) - num_read - 1)
    if header is None:
        raise FormatError("the file holds no numbers: a header and at least 1 string are needed")
    num_strings, _, line = header
    if num_read != num_strings:
        raise FormatError(f"the header promises {plural(num_strings, 'string')}, and {num_read:,} follow", line)
    if not num_strings:
        raise FormatError("the file holds no strings: at least 1 is needed", line)


def _header(numbers: IntArray, width: int, line: int, max_strings: int | None) -> tuple[int, int, int]:
    """Number of strings, size of the alphabet, and the line where that stands."""
    if width != 2:
        raise FormatError(f"the header needs number_of_strings and alphabet_size, got {plural(width, 'number')}", line)
    num_strings, num_symbols = int(numbers[0]), int(numbers[1])
    if max_strings is not None:
        at_most("number of strings", num_strings, max_strings, line)
    at_most("alphabet size", num_symbols, limits.most("symbols"), line)
    if num_symbols < 1:
        raise FormatError(f"alphabet size {num_symbols} given, at least 1 needed", line)
    return num_strings, num_symbols, line


def _strings(numbers: IntArray, widths: IntArray, lines: IntArray, num_symbols: int) -> Words:
    """The words of rows of numbers, each its length and its symbols; `widths` and `lines` have shape (num_strings,)."""
    firsts = np.cumsum(widths) - widths  # where each string's own length stands
    lengths, declared = widths - 1, numbers[firsts]
    for row in np.flatnonzero(lengths != declared)[:1]:
        raise FormatError(f"length {declared[row]} is declared, and {plural(int(lengths[row]), 'symbol')} follow", int(lines[row]))
    for row in np.flatnonzero(lengths > limits.most("string_length"))[:1]:
        at_most("string length", int(lengths[row]), limits.most("string_length"), int(lines[row]))
    is_symbol = np.ones(len(numbers), dtype=bool)
    is_symbol[firsts] = False
    words = Words(numbers[is_symbol].astype(np.int64, copy=False), offsets_of(lengths))
    for place in np.flatnonzero(words.symbols >= num_symbols)[:1]:
        line = int(lines[np.searchsorted(words.offsets, place, side="right") - 1])
        allowed = f"the header's alphabet of {plural(num_symbols, 'symbol')} (0 … {num_symbols - 1})"
        raise FormatError(f"symbol {words.symbols[place]} is not in {allowed}", line)
    return words


def _rows(piece: bytes, lines_before: int) -> tuple[IntArray, IntArray, IntArray]:
    """All numbers of a piece, shape (num_tokens,); of each line that is not blank how many it has, and its own number.

    Digit by digit for all tokens at once: several times as fast as a parser that goes from token to token.
    """
    if piece.translate(None, b"0123456789 \t\n\v\f"):
        raise _not_a_number(piece, lines_before)
    parts = [_tokens(chunk) for chunk in chunks(piece, BLANK, 2 * PIECE)] or [_tokens(b"")]
    before = np.cumsum([0, *(len(numbers) for numbers, _ in parts)])
    reached = [ends + number for (_, ends), number in zip(parts, before, strict=False)]
    widths = np.diff(np.concatenate((*reached, before[-1:])), prepend=0)
    lines = np.flatnonzero(widths)
    return np.concatenate([numbers for numbers, _ in parts]), widths[lines], lines + lines_before + 1


def _tokens(piece: bytes) -> tuple[IntArray, IntArray]:
    """All numbers, shape (num_tokens,), in the smallest type where they are of a long line; how many stand before each line end."""
    characters = np.frombuffer(piece, dtype=np.uint8)
    visible = np.zeros(len(characters) + 2, dtype=bool)
    np.greater(characters, ord(" "), out=visible[1:-1])
    edges = np.flatnonzero(visible[1:] != visible[:-1])
    starts, digits = edges[::2], edges[1::2] - edges[::2]
    numbers = characters[starts].astype(np.int64) - ord("0")
    for place in range(1, min(int(digits.max(initial=1)), MAX_DIGITS)):
        longer = np.flatnonzero(digits > place)
        numbers[longer] = 10 * numbers[longer] + characters[starts[longer] + place] - ord("0")
    for token in np.flatnonzero(digits > MAX_DIGITS).tolist():
        significant = piece[starts[token] : starts[token] + digits[token]].lstrip(b"0")
        # Too large ones become the largest: out of every range.
        numbers[token] = int(significant or b"0") if len(significant) <= MAX_DIGITS else np.iinfo(np.int64).max
    return numbers if len(piece) <= 2 * PIECE else smallest(numbers), np.searchsorted(
        starts, np.flatnonzero(characters == ord("\n"))
    )


def _not_a_number(piece: bytes, lines_before: int) -> FormatError:
    """The error for the first token that is no non-negative whole number."""
    for line, row in enumerate(piece.decode("utf-8").split("\n"), start=lines_before + 1):
        for token in row.split():
            if re.fullmatch(r"-[0-9]+", token):
                return FormatError(f"negative number {shown(token)}: lengths and symbols are whole numbers from 0", line)
            if not re.fullmatch(r"[0-9]+", token):
                return FormatError(f"{shown(token)} is not a whole number", line)
    return FormatError("white space other than spaces, tabs and line ends stands between the numbers")


def write_pautomac(words: Words, num_symbols: int) -> str:
    """A file that `read_strings` reads back as the same words.

    >>> write_pautomac(Words.of([(0, 1), ()]), num_symbols=2)
    '2 2\\n2 0 1\\n0\\n'

    Raises
    ------
    RecipeError
        If a symbol is not in 0 … num_symbols − 1.
    """
    check_symbols(words, num_symbols)
    rows = [(len(words), num_symbols), *((len(word), *word) for word in words)]
    return "".join(" ".join(map(str, row)) + "\n" for row in rows)


def read_solution(data: bytes) -> FloatArray:
    """The probabilities of a solution file, in the order of the test file's strings.

    The competition's own are normalised over the test set: they sum to 1, and are the true model's up to one common factor.

    Returns
    -------
    array, shape (num_strings,)

    Raises
    ------
    FormatError
        If a line is no finite number from 0 on, or the count in the first line is wrong.
    """
    cleaned = clean(data)
    filled = ((line, row) for line, row in enumerate(map(str.strip, chain.from_iterable(row_blocks(cleaned))), start=1) if row)
    first, number = next(filled)
    promised = positive_count(number, first)
    found = sum(sum(map(bool, map(str.strip, block))) for block in row_blocks(cleaned)) - 1
    if promised != found:
        raise FormatError(f"the first line promises {plural(promised, 'probability line')}, and {found:,} follow", first)
    return np.fromiter((probability(row, line) for line, row in filled), dtype=np.float64, count=found)


def write_solution(values: npt.ArrayLike) -> str:
    """A solution file of values, shape (num_strings,); where they are finite and at least 0 it is read back without loss.

    >>> write_solution([0.1, 1e-20])
    '2\\n0.1\\n1e-20\\n'
    """
    numbers = np.asarray(values, dtype=np.float64).tolist()
    return "".join(f"{number!r}\n" for number in [len(numbers), *numbers])


def read_pautomac_model(data: bytes, num_symbols: int | None = None) -> WFA:
    """The automaton of a model file.

    Its S(i, a) and T(i, a, j) hold for runs that do not stop in i: A_a[i, j] = (1 − F_i) S(i, a) T(i, a, j), α₀ = I, α∞ = F. What
    the file leaves out is 0. That rows sum to 1 is not checked: the result's `total_weight` tells.

    Parameters
    ----------
    num_symbols : int, optional
        The test file's alphabet size. Models name only symbols that they emit, and may know fewer (problem 39: 12 of 14).

    Raises
    ------
    FormatError
        If a line is malformed, a section is missing, an entry is given twice, or the automaton would be too large.
    """
    entries = _model_entries(clean(data).decode("utf-8").split("\n"))
    num_states = 1 + max(max(key[0], key[-1] if name != "S" else 0) for name in SECTIONS for key in entries[name])
    emitted = 1 + max((key[1] for name in "ST" for key in entries[name]), default=0)
    size = emitted if num_symbols is None else num_symbols
    if size < emitted:
        raise FormatError(f"the model emits symbol {emitted - 1}, and only {plural(size, 'symbol')} are allowed for")
    at_most("alphabet size", size, limits.most("symbols"))
    at_most("symbols × states²", size * num_states**2, limits.most("automaton_numbers"))
    initial, termination = np.zeros(num_states), np.zeros(num_states)
    transitions = np.zeros((size, num_states, num_states))
    for (state,), value in entries["I"].items():
        initial[state] = value
    for (state,), value in entries["F"].items():
        termination[state] = value
    for (state, symbol, target), value in entries["T"].items():
        emission = entries["S"].get((state, symbol), 0.0)
        transitions[symbol, state, target] = (1 - termination[state]) * emission * value
    return WFA(initial, transitions, termination)


def _model_entries(rows: list[str]) -> dict[str, dict[tuple[int, ...], float]]:
    entries: dict[str, dict[tuple[int, ...], float]] = {}
    section = ""
    for line, row in enumerate(map(str.strip, rows), start=1):
        if heading := HEADING.fullmatch(row):
            section = heading[1]
            if section in entries:
                raise FormatError(f"section {section} begins a second time", line)
            entries[section] = {}
        elif row:
            entry = ENTRY.fullmatch(row)
            key = tuple(int(index.strip()) for index in entry[1].split(",")) if entry else ()
            if entry is None or not section or len(key) != SECTIONS[section]:
                allowed = {"I": "(state)", "F": "(state)", "S": "(state,symbol)", "T": "(state,symbol,state)"}.get(section)
                needed = f"{allowed} and a probability" if allowed else f"a heading, one of {', '.join(SECTIONS)} and a colon,"
                raise FormatError(f"{shown(row)} given where {needed} is needed", line)
            if key in entries[section]:
                raise FormatError(f"{section} of {shown(entry[1])} is given a second time", line)
            value = entries[section][key] = probability(entry[2], line)
            if value > 1 + ROUNDING:
                raise FormatError(f"probability {shown(entry[2])} given, at most 1 allowed", line)
    missing = [name for name in SECTIONS if name not in entries]
    if missing or not entries["I"]:
        raise FormatError(f"the model lacks section {missing[0]}" if missing else "section I is empty: no state to begin in")
    return entries
