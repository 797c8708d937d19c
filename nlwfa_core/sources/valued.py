"""Reading (string, value) data: CSV with two columns, any finite number as value."""

from __future__ import annotations

from array import array
from dataclasses import dataclass

import numpy as np

from ..hankel.values import ValuedStrings
from ..strings.words import Alphabet, FloatArray, Words, distinct
from .cells import CsvCells, encode
from .formats import unseen_notes
from .text import clean, finite


@dataclass(frozen=True, eq=False)
class ValueFile:
    """What a file of values holds.

    Attributes
    ----------
    strings : ValuedStrings
    notes : tuple of str
        What a user should know, a sentence each.
    """

    strings: ValuedStrings
    notes: tuple[str, ...] = ()


def read_values(data: bytes, alphabet: Alphabet | None = None) -> ValueFile:
    """The strings and values of a CSV file, with or without the header `string,value`.

    >>> read = read_values(b"string,value\\nab,0.5\\n,-2\\n").strings
    >>> list(read.words), read.values.tolist(), read.alphabet.symbols
    ([(0, 1), ()], [0.5, -2.0], ('a', 'b'))

    Parameters
    ----------
    data : bytes
        UTF-8. The first column is a string as in a CSV file of counts: λ is empty or λ; it holds tokens if one of them has white
        space inside, or the header says so (`tokens,value`; `characters,value` for the opposite).
    alphabet : Alphabet, optional
        One that is known, from training: its symbols keep their numbers, and new ones come behind them.

    Raises
    ------
    FormatError
        If the file can't be read; with the line, where there is one to blame.
    RecipeError
        If one string has two values.
    """
    notes: list[str] = []
    words, values, full = _columns(clean(data), alphabet, notes)
    return ValueFile(ValuedStrings.of(words, values, full), (*notes, *unseen_notes(alphabet, full.symbols[len(alphabet or ()) :])))


def _columns(cleaned: bytes, alphabet: Alphabet | None, notes: list[str]) -> tuple[Words, FloatArray, Alphabet]:
    """Packed words, the value of each, and the alphabet."""
    values = array("d")

    def read(texts: list[str], lines: list[int]) -> None:
        values.extend(map(finite, texts, lines))

    table = CsvCells(cleaned, "value", alphabet, notes, read)
    parts, full = encode(table.cells(), table.in_tokens, alphabet)
    kept, start = list[FloatArray](), 0
    for place, part in enumerate(parts):  # what is said twice is dropped before all stand together
        given = np.array(values[start : start + len(part)])
        start += len(part)
        first, inverse = distinct(part)
        new = given != given[first][inverse]
        new[first] = True
        parts[place] = part.take(np.flatnonzero(new), packed=True)
        kept.append(given[new])
    return Words.joined(parts, packed=True), np.concatenate(kept), full
