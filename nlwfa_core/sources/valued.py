"""Reading (string, value) data: CSV with two columns, any finite number as value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..values import ValuedStrings
from ..words import Alphabet
from .formats import csv_cells, encode, unseen_notes
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
    cells, lines, texts, in_tokens = csv_cells(clean(data).decode("utf-8"), "value", alphabet, notes)
    values = np.array([finite(text, line) for text, line in zip(texts, lines, strict=True)])
    words, full = encode(cells, lines, in_tokens, alphabet)
    return ValueFile(ValuedStrings.of(words, values, full), (*notes, *unseen_notes(alphabet, full.symbols[len(alphabet or ()) :])))
