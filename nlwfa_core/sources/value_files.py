"""Read strings with values: tables with two columns, a string and any finite number, and Abbadingo
files of labelled strings.

Tables are recognised by the rules of `recognition`, as tables of strings and counts are.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .. import limits
from ..errors import FormatError, RecipeError, check_types, quoted
from ..hankel.valued_strings import ValuedStrings
from ..strings.words import Alphabet, FloatArray, Words, distinct
from .letters import symbol_notes
from .other_files import check_no_other_file, has_length
from .recognition import MOST_ROWS, VALUES, Table, check_kind, json_lines_of, value_table_of
from .string_files import (
    CsvCells,
    bytes_of,
    clean,
    encode_cells,
    finite,
    first_rows,
    line_blocks,
    new_symbol_notes,
    symbols_of,
)

ABBADINGO = re.compile(rb"[0-9]{1,9} [0-9]{1,9}\n+[01] [0-9]+( |\n|$)")  # its first two lines
READS = (
    "fit-values reads a table with the columns string and value, or an Abbadingo file with "
    "labels 0 and 1"
)
TRUTH = {"true": "1", "false": "0"}
# A line of a file, with the symbols of its string and its value.
Row = tuple[int, Sequence[str], float]


@dataclass(frozen=True, eq=False)
class ValueFile:
    """Holds the strings and values of a file.

    Attributes
    ----------
    strings : ValuedStrings
    notes : tuple of str
        Sentences for the user, for example about blank lines.
    format : str
        "csv" or "abbadingo".
    detail : str
        The columns in which the strings and values were found, as the end of a sentence; empty
        without a header.
    """

    strings: ValuedStrings
    notes: tuple[str, ...] = ()
    format: str = "csv"
    detail: str = ""


@check_types
def read_values(data: bytes | Path, alphabet: Alphabet | None = None) -> ValueFile:
    """Read the strings and values of a CSV file, with or without the header `string,value`, or of
    an Abbadingo file.

    An Abbadingo file (Lang, Pearlmutter and Price 1998) has the number of strings and of symbols on
    the first line, and then one string per line: its label, its length, and its symbols as numbers.
    Accepted strings (label 1) get the value 1, and rejected strings (label 0) the value 0.

    >>> read = read_values(b"string,value\\nab,0.5\\n,-2\\n").strings
    >>> list(read.words), read.values.tolist(), read.alphabet.symbols
    ([(0, 1), ()], [0.5, -2.0], ('a', 'b'))
    >>> labelled = read_values(b"2 2\\n1 2 0 1\\n0 1 1\\n").strings
    >>> list(labelled.words), labelled.values.tolist()
    ([(0, 1), (1,)], [1.0, 0.0])

    Parameters
    ----------
    data : bytes or Path
        The file's bytes, in UTF-8, or its path. An empty cell or "λ" is the empty string. With the
        header `tokens,value`, strings are split into tokens at white space, with `characters,value`
        into characters; with another header or none, they are split into tokens if any string
        contains white space, otherwise into characters. Columns may be separated by semicolons or
        tabs; numbers may then have decimal commas. True and False are 1 and 0.
    alphabet : Alphabet, optional
        The training strings' alphabet: its symbols keep their numbers, and new symbols are numbered
        after them.

    Raises
    ------
    FormatError
        If the file can't be read, or a string occurs with two different values. The error names the
        line that is wrong, if there is one.
    RecipeError
        If there is no such file.
    """
    notes: list[str] = []
    cleaned = clean(bytes_of(data))
    rows = first_rows(cleaned)
    reader: _Labels | _Columns
    if ABBADINGO.match(cleaned) and not all(map(has_length, rows[1:])):
        reader = _Labels(cleaned, alphabet)
    else:
        check_kind(rows, VALUES)
        check_no_other_file(rows, READS)
        reader = _Columns(cleaned, rows, alphabet, notes)
    new_symbols = reader.alphabet.symbols[len(alphabet or ()) :]
    notes += [*symbol_notes(new_symbols), *new_symbol_notes(alphabet, new_symbols)]
    try:
        strings = ValuedStrings.of(reader.words, reader.values, reader.alphabet)
    except RecipeError as error:
        raise _naming_lines(reader, error) from None
    return ValueFile(strings, tuple(notes), reader.format, reader.detail)


def _naming_lines(reader: _Labels | _Columns, error: RecipeError) -> FormatError:
    """Make the error for a string with two values, with the lines of both."""
    first, inverse = distinct(reader.words)
    row = np.flatnonzero(reader.values != reader.values[first][inverse])[0]
    word = [reader.alphabet.symbols[symbol] for symbol in reader.words[row]]
    lines = [(line, value) for line, symbols, value in reader.rows() if list(symbols) == word]
    one, value = lines[0]
    other = next(line for line, another in lines if another != value)
    return FormatError(f"{error}, in lines {one:,} and {other:,}")


class _Labels:
    """The words of an Abbadingo file, their labels as values, and the alphabet."""

    format = "abbadingo"
    detail = ""

    def __init__(self, cleaned: bytes, alphabet: Alphabet | None) -> None:
        header, *lines = cleaned.decode().split("\n")
        num_strings, num_symbols = map(int, header.split())
        limits.check_limit("the number of symbols", num_symbols, "symbols")
        numbered = Alphabet.numbered(num_symbols)
        known = alphabet.symbols if alphabet else ()
        self.alphabet = Alphabet(
            (*known, *(name for name in numbered.symbols if name not in known))
        )
        index = {name: number for number, name in enumerate(self.alphabet.symbols)}
        self._rows = [
            _labelled(line, place, num_symbols)
            for place, line in enumerate(lines, 2)
            if line.strip()
        ]
        self.words = Words.of(
            [tuple(index[symbol] for symbol in symbols) for _, symbols, _ in self._rows]
        )
        self.values = np.array([label for _, _, label in self._rows])
        if len(self.words) != num_strings:
            raise FormatError(
                f"the first line promises {num_strings:,} strings; the file has "
                f"{len(self.words):,}",
                1,
            )

    def rows(self) -> Iterator[Row]:
        return iter(self._rows)


def _labelled(text: str, line: int, num_symbols: int) -> Row:
    """Read a line of an Abbadingo file."""
    try:
        label, length, *symbols = map(int, text.split())
    except ValueError:
        raise FormatError(
            f"expected a label, a length and symbols, all whole numbers; got {quoted(text)} "
            "(Abbadingo files "
            "with names or attributes are not read)",
            line,
        ) from None
    if label not in (0, 1):
        raise FormatError(
            f"the label must be 1 (accepted) or 0 (rejected); got {text.split()[0][:40]}", line
        )
    if length != len(symbols):
        raise FormatError(
            f"the second number must be the string's length; got {text.split()[1][:40]} for "
            f"{len(symbols)} symbols",
            line,
        )
    for symbol in symbols:
        if not 0 <= symbol < num_symbols:
            raise FormatError(
                f"symbols must be from 0 to {num_symbols - 1}; got {str(symbol)[:40]}", line
            )
    return line, [str(symbol) for symbol in symbols], float(label)


class _Columns:
    """The packed words of a table, the value of each, and the alphabet.

    To save memory, a part holds equal pairs only once.
    """

    format = "csv"

    def __init__(
        self, cleaned: bytes, rows: list[str], alphabet: Alphabet | None, notes: list[str]
    ) -> None:
        if rows[0].lstrip()[:1] in ("{", "[") and json_lines_of(rows, len(rows) < MOST_ROWS):
            raise FormatError(f"values are not read from JSON; {READS}")
        table = value_table_of(rows, len(rows) < MOST_ROWS)
        self.detail = table.detail
        values = array("d")
        self._number = _Number(table)

        def read(texts: list[str], lines: list[int]) -> None:
            values.extend(map(self._number, texts, lines))

        self._cells = CsvCells(lambda: line_blocks(cleaned), "value", table)
        self._cells.check(alphabet, notes, read)
        parts, self.alphabet = encode_cells(self._cells.cells(), self._cells.in_tokens, alphabet)
        distinct_values = list[FloatArray]()
        start = 0
        for index, part in enumerate(parts):
            part_values = np.array(values[start : start + len(part)])
            start += len(part)
            first, inverse = distinct(part)
            # a second value of the same string, which will be an error
            is_new = part_values != part_values[first][inverse]
            is_new[first] = True
            parts[index] = part.take(np.flatnonzero(is_new), packed=True)
            distinct_values.append(part_values[is_new])
        self.words = Words.joined(parts, packed=True)
        self.values = np.concatenate(distinct_values)

    def rows(self) -> Iterator[Row]:
        for cells, numbers, lines in self._cells.rows():
            for cell, number, line in zip(cells, numbers, lines, strict=True):
                yield line, symbols_of(cell, self._cells.in_tokens), self._number(number, line)


class _Number:
    """Reads values: numbers, True and False.

    Where columns are not separated by commas, numbers may have decimal commas.
    """

    def __init__(self, table: Table) -> None:
        self._with_comma = table.delimiter != ","
        self._mark = ""  # the decimal mark that the file uses, once a number has one

    def __call__(self, text: str, line: int) -> float:
        number = text.strip()
        number = TRUTH.get(number.lower(), number)
        if self._with_comma:
            for mark in ",.":
                if mark in number and self._mark not in ("", mark):
                    raise FormatError(
                        f"numbers must have one decimal mark; got {quoted(text)} after "
                        f"numbers with {self._mark!r}",
                        line,
                    )
                self._mark = mark if mark in number else self._mark
            number = number.replace(",", ".")
        try:
            return finite(number, line)
        except FormatError:
            remark = (
                " (True and False are 1 and 0)"
                if number.isalpha() and number not in ("nan", "inf")
                else ""
            )
            raise FormatError(
                f"expected a finite number; got {quoted(text)}{remark}", line
            ) from None
