"""Read strings with values from CSV files with two columns: a string, and any finite number."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import FormatError, check_types
from ..hankel.values import ValuedStrings
from ..strings.words import Alphabet, FloatArray, Words, distinct
from .files import CsvCells, bytes_of, clean, encode_cells, finite, new_symbol_notes, quoted

CONSTANTS = ("inf", "infinity", "nan")  # words that are numbers


@dataclass(frozen=True, eq=False)
class ValueFile:
    """Holds the strings and values of a file.

    Attributes
    ----------
    strings : ValuedStrings
    notes : tuple of str
        Sentences for the user, for example about blank lines.
    """

    strings: ValuedStrings
    notes: tuple[str, ...] = ()


@check_types
def read_values(data: bytes | Path, alphabet: Alphabet | None = None) -> ValueFile:
    """Read the strings and values of a CSV file, with or without the header `string,value`.

    >>> read = read_values(b"string,value\\nab,0.5\\n,-2\\n").strings
    >>> list(read.words), read.values.tolist(), read.alphabet.symbols
    ([(0, 1), ()], [0.5, -2.0], ('a', 'b'))

    Parameters
    ----------
    data : bytes or Path
        The file's bytes, in UTF-8, or its path. An empty cell or "λ" is the empty string. With the header `tokens,value` strings
        are split into tokens at white space, with `characters,value` into characters; with another header or none, into tokens if
        any string contains white space, otherwise into characters.
    alphabet : Alphabet, optional
        The training strings' alphabet: its symbols keep their numbers, and new ones are numbered after them.

    Raises
    ------
    FormatError
        If the file can't be read. The error names the line that is wrong, if there is one.
    RecipeError
        If there is no such file, or a string occurs with two different values.
    """
    notes: list[str] = []
    words, values, full = _columns(clean(bytes_of(data)), alphabet, notes)
    notes += new_symbol_notes(alphabet, full.symbols[len(alphabet or ()) :])
    return ValueFile(ValuedStrings.of(words, values, full), tuple(notes))


def _columns(cleaned: bytes, alphabet: Alphabet | None, notes: list[str]) -> tuple[Words, FloatArray, Alphabet]:
    """Read packed words, the value of each, and the alphabet. To save memory, a part of the file has each equal pair only once."""
    values = array("d")

    def read(texts: list[str], lines: list[int]) -> None:
        try:
            values.extend(map(finite, texts, lines))
        except FormatError as error:
            if error.line == 1 and not values and texts[0].strip().isalpha() and texts[0].strip().lower() not in CONSTANTS:
                header = "the first line must be the header string,value, or a string and a finite number"
                raise FormatError(f"{header}; got {quoted(texts[0])} in the second column", 1) from None
            raise

    table = CsvCells(cleaned, "value", alphabet, notes, read)
    parts, full = encode_cells(table.cells(), table.in_tokens, alphabet)
    distinct_values, start = list[FloatArray](), 0
    for index, part in enumerate(parts):
        part_values = np.array(values[start : start + len(part)])
        start += len(part)
        first, inverse = distinct(part)
        is_new = part_values != part_values[first][inverse]  # a second value of the same string; the caller raises an error for it
        is_new[first] = True
        parts[index] = part.take(np.flatnonzero(is_new), packed=True)
        distinct_values.append(part_values[is_new])
    return Words.joined(parts, packed=True), np.concatenate(distinct_values), full
