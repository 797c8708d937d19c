"""Read strings with values: CSV files with two columns, a string and any finite number, and Abbadingo files of labelled strings."""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .. import limits
from ..errors import FormatError, check_types
from ..hankel.values import ValuedStrings
from ..strings.words import Alphabet, FloatArray, Words, distinct
from .files import CsvCells, bytes_of, clean, encode_cells, finite, new_symbol_notes, quoted

ABBADINGO = re.compile(rb"[0-9]{1,9} [0-9]{1,9}\n+[01] [0-9]+( |\n|$)")  # its first two lines
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
    """Read the strings and values of a CSV file, with or without the header `string,value`, or of an Abbadingo file.

    An Abbadingo file (Lang, Pearlmutter and Price 1998) has the numbers of its strings and symbols in the first line, and then a
    string in each line: its label, its length, and its symbols as numbers. Accepted strings (label 1) get the value 1, rejected
    ones (label 0) the value 0.

    >>> read = read_values(b"string,value\\nab,0.5\\n,-2\\n").strings
    >>> list(read.words), read.values.tolist(), read.alphabet.symbols
    ([(0, 1), ()], [0.5, -2.0], ('a', 'b'))
    >>> labelled = read_values(b"2 2\\n1 2 0 1\\n0 1 1\\n").strings
    >>> list(labelled.words), labelled.values.tolist()
    ([(0, 1), (1,)], [1.0, 0.0])

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
    cleaned = clean(bytes_of(data))
    if ABBADINGO.match(cleaned):
        words, values, full = _labelled(cleaned, alphabet)
    else:
        words, values, full = _columns(cleaned, alphabet, notes)
    notes += new_symbol_notes(alphabet, full.symbols[len(alphabet or ()) :])
    return ValueFile(ValuedStrings.of(words, values, full), tuple(notes))


def _labelled(cleaned: bytes, alphabet: Alphabet | None) -> tuple[Words, FloatArray, Alphabet]:
    """Read the words of an Abbadingo file, their labels as values, and the alphabet."""
    header, *lines = cleaned.decode().split("\n")
    num_strings, num_symbols = map(int, header.split())
    limits.check_at_most("the number of symbols", num_symbols, limits.most("symbols"))
    full = Alphabet.numbered(num_symbols)
    full = (
        full
        if alphabet is None
        else Alphabet((*alphabet.symbols, *(name for name in full.symbols if name not in alphabet.symbols)))
    )
    words, labels = [], []
    for place, line in enumerate(lines, 2):
        if not line.strip():
            continue
        try:
            label, length, *symbols = map(int, line.split())
        except ValueError:
            raise FormatError(f"expected a label, a length and symbols, all whole numbers; got {quoted(line)}", place) from None
        if label not in (0, 1):
            raise FormatError(f"the label must be 1 (accepted) or 0 (rejected); got {label}", place)
        if length != len(symbols):
            raise FormatError(f"the second number must be the string's length; got {length} for {len(symbols)} symbols", place)
        if symbols and not 0 <= min(symbols) <= max(symbols) < num_symbols:
            wrong = next(symbol for symbol in symbols if not 0 <= symbol < num_symbols)
            raise FormatError(f"symbols must be from 0 to {num_symbols - 1}; got {wrong}", place)
        words.append(tuple(full.symbols.index(str(symbol)) for symbol in symbols))
        labels.append(float(label))
    if len(words) != num_strings:
        raise FormatError(f"the first line says {num_strings:,} strings; the file has {len(words):,}", 1)
    return Words.of(words), np.array(labels), full


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
