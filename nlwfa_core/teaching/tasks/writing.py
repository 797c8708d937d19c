"""Write numbers, vectors, matrices and samples as the text of a task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from ..answers import write_number

Number = int | Fraction


def number(value: Number) -> str:
    """Write a number with ASCII signs, which LaTeX and keys of answers read.

    >>> number(Fraction(-1, 8)), number(Fraction(2, 3)), number(4)
    ('-0.125', '2/3', '4')
    """
    return write_number(float(value)).replace("−", "-")


def numbers(values: Iterable[Number]) -> str:
    """Write numbers with spaces between them, as the key of an answer has them."""
    return " ".join(map(number, values))


def vector(values: Iterable[Number]) -> str:
    """Write a row vector as LaTeX."""
    return matrix([list(values)])


def column(values: Iterable[Number]) -> str:
    """Write a column vector as LaTeX."""
    return matrix([[value] for value in values])


def matrix(rows: Sequence[Sequence[Number]]) -> str:
    """Write a matrix as LaTeX.

    >>> matrix([[1, 2], [3, 4]])
    '\\\\begin{pmatrix}1 & 2 \\\\\\\\ 3 & 4\\\\end{pmatrix}'
    """
    lines = r" \\ ".join(" & ".join(map(number, row)) for row in rows)
    return rf"\begin{{pmatrix}}{lines}\end{{pmatrix}}"


def label(word: str) -> str:
    """Write a string, λ if it is empty."""
    return word or "λ"
