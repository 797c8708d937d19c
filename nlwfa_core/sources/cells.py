"""From text to words, a block of lines after the other: lines and CSV as cells, and their symbols as the smallest numbers that do.

No list of all lines is ever made, for a line of two bytes is fifty as an object of Python.
"""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

import numpy as np

from .. import limits
from ..errors import FormatError, plural
from ..strings.words import LAMBDA, Alphabet, IntArray, Words, offsets_of, smallest
from .text import BLOCK, COMMA, at_most, chunks, num_tokens, row_blocks

CSV_HEADERS = ("string", "characters", "tokens")  # the first column's name; "string" leaves the choice to the cells

# Stripped cells and the line of each.
Cells = Iterator[tuple[list[str], Sequence[int]]]


def in_tokens(cells: Iterable[str], alphabet: Alphabet | None) -> bool:
    """Whether strings hold tokens, if nothing says so: one of them has white space inside, or the known symbols are tokens."""
    return bool(alphabet and alphabet.separator) or any(len(cell.split(maxsplit=1)) > 1 for cell in cells)


def line_cells(cleaned: bytes, notes: list[str]) -> Cells:
    """Lines without the blank ones at the end, which nobody means as strings. What a user should know is added to `notes`."""
    last = total = blank = 0
    for rows in row_blocks(cleaned):
        filled = next((place for place in range(len(rows), 0, -1) if rows[place - 1].strip()), 0)
        last = total + filled if filled else last
        total += len(rows)
    if last < total:
        notes.append(f"{plural(total - last, 'blank line')} at the end of the file skipped.")
    before = 0
    for rows in row_blocks(cleaned):
        cells = [row.strip() for row in rows[: last - before]]
        if cells:
            blank += cells.count("")
            yield cells, range(before + 1, before + 1 + len(cells))
            before += len(cells)
    if blank:
        notes.append(f"{plural(blank, 'blank line')} read as the empty word λ.")


def csv_header(row: Sequence[str], number: str) -> str | None:
    """The first column's name, if this is a header; `number` names the second column."""
    names = [cell.strip(' "\t')[:20].lower() for cell in row]
    return names[0] if len(names) == 2 and names[0] in CSV_HEADERS and names[1] == number else None


class CsvCells:
    """The strings of a CSV file with two columns, and what stands beside them. `number` names the second column.

    Attributes
    ----------
    in_tokens : bool
        Whether the strings hold tokens.

    Raises
    ------
    FormatError
        If it is no such file, or `read` raises one: it is given the second cells of some rows, and the line of each.
    """

    def __init__(
        self,
        cleaned: bytes,
        number: str,
        alphabet: Alphabet | None,
        notes: list[str],
        read: Callable[[list[str], list[int]], None],
    ) -> None:
        self._cleaned, self._number, self._kind, self._blank = cleaned, number, "string", 0
        tokens, filled = False, False
        late: FormatError | None = None  # columns are looked at first, in the whole file
        for cells, numbers, lines in self._blocks():
            filled = True
            tokens = tokens or in_tokens(cells, alphabet)
            try:
                if late is None:
                    read(numbers, lines)
            except FormatError as error:
                late = error
        if not filled:
            raise FormatError("the file holds no strings: at least 1 is needed")
        if self._blank:
            notes.append(f"{plural(self._blank, 'blank line')} skipped (λ is an empty first column in this format).")
        if late:
            raise late
        self.in_tokens = tokens if self._kind == "string" else self._kind == "tokens"

    def cells(self) -> Cells:
        return ((cells, lines) for cells, _, lines in self._blocks())

    def _blocks(self) -> Iterator[tuple[list[str], list[str], list[int]]]:
        """Stripped strings, the cells beside them, and their lines."""
        cells, numbers, lines = list[str](), list[str](), list[int]()
        self._blank = read = given = 0

        def physical() -> Iterator[str]:
            nonlocal read
            for rows in row_blocks(self._cleaned):
                read += 1
                for row in rows:
                    if len(row) > 5 * csv.field_size_limit():
                        raise self._overlong(row, reader.line_num + 1)
                    yield row + "\n"

        reader = csv.reader(physical(), strict=True)
        try:
            for row in reader:
                if read > given + 1 and cells:
                    yield cells, numbers, lines
                    cells, numbers, lines, given = [], [], [], read - 1
                if len(row) == 2 and (cells or given or not (kind := csv_header(row, self._number))):
                    numbers.append(row[1])
                    cells.append(row[0].strip())
                    lines.append(reader.line_num)
                elif len(row) == 2:
                    self._kind = str(kind)
                elif len(row) < 2 and not any(cell.strip() for cell in row):
                    self._blank += 1
                else:
                    raise FormatError(f"{plural(len(row), 'column')} given, 2 needed: string and {self._number}", reader.line_num)
        except csv.Error as error:
            raise FormatError(f"not a CSV file: {error}", reader.line_num) from None
        if cells:
            yield cells, numbers, lines

    def _overlong(self, row: str, line: int) -> FormatError:
        """The error for a line that two cells can't fill. Its cells, which may be millions, are counted some at a time."""
        try:
            columns = 1 + sum(len(part) - 1 for part in csv.reader(chunks(row, COMMA, BLOCK), strict=True))
        except csv.Error as error:
            return FormatError(f"not a CSV file: {error}", line)
        return FormatError(f"{plural(columns, 'column')} given, 2 needed: string and {self._number}", line)


class _Symbols(dict[str, int]):
    """Symbols, numbered as they are met, behind those that are known. Those beyond the limit get no number, and are counted."""

    def __init__(self, known: Sequence[str]) -> None:
        super().__init__((symbol, number) for number, symbol in enumerate(known))
        self.kind = np.min_scalar_type(max(limits.most("symbols"), len(known)))
        self._surplus, self._room = array("q"), BLOCK

    def __missing__(self, symbol: str) -> int:
        if len(self) < limits.most("symbols"):
            return self.setdefault(symbol, len(self))
        # 64 bits of each: only an error tells how many they are.
        self._surplus.append(hash(symbol))
        if len(self._surplus) > self._room:
            self._surplus = array("q", np.unique(self._surplus).tobytes())
            self._room = 2 * len(self._surplus) + BLOCK
        return 0

    @property
    def number(self) -> int:
        return len(self) + len(np.unique(self._surplus))


def encode(blocks: Cells, tokens: bool, alphabet: Alphabet | None) -> tuple[list[Words], Alphabet]:
    """Packed words of each block of cells, and the alphabet: the given one, if any, and behind it what else occurs.

    Raises
    ------
    FormatError
        If a string is too long, there are too many symbols, or none.
    """
    known = alphabet.symbols if alphabet else ()
    met, parts = _Symbols(known), list[Words]()
    longest = line = 0
    for cells, lines in blocks:
        part, lengths = _encoded(cells, tokens, met)
        parts.append(part)
        if lengths.max() > longest:
            longest, line = int(lengths.max()), lines[int(lengths.argmax())]
        del cells, lengths
    at_most("string length", longest, limits.most("string_length"), line)
    at_most("different symbols", met.number, limits.most("symbols"))
    if not met:
        raise FormatError("every string is empty: at least one symbol is needed to make an alphabet")
    found = list(met)[len(known) :]
    numbers_only = all(re.fullmatch("[0-9]+", symbol) for symbol in found)
    found.sort(key=lambda symbol: (len(symbol), symbol) if numbers_only else (0, symbol))
    full = Alphabet((*known, *found))
    final = np.empty(len(full), dtype=np.int64)
    final[[met[symbol] for symbol in full.symbols]] = np.arange(len(full))
    final = smallest(final)
    for place, part in enumerate(parts):
        parts[place] = Words(final[part.symbols], part.offsets)
    return parts, full


def _encoded(cells: list[str], tokens: bool, met: _Symbols) -> tuple[Words, IntArray]:
    """Packed words, of no symbols where one is too long; and their lengths."""
    rows = [_row(cell, tokens) for cell in cells]
    lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    if lengths.max() > limits.most("string_length"):
        return Words.of([]), lengths
    symbols = np.fromiter(map(met.__getitem__, chain.from_iterable(rows)), dtype=met.kind, count=int(lengths.sum()))
    return Words(symbols, offsets_of(lengths)).packed(), lengths


def _row(cell: str, tokens: bool) -> Sequence[str]:
    if cell in ("", LAMBDA):
        return ()
    if tokens and len(cell) > BLOCK and (number := num_tokens(cell)) > limits.most("string_length"):
        return " " * number  # it is refused for its length
    return cell.split() if tokens else cell
