"""Numbers and matrices as LaTeX for people: three digits, and of a large matrix its corners."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
from scipy import sparse

from ...strings.words import FloatArray

# Up to so many rows and columns are written in full; of more, the first four and the last.
MAX_ROWS = MAX_COLUMNS = 6
MAX_TEXT = 8
# What is so much smaller than a matrix's largest entry is rounding.
ROUNDING = 1e-12
SPECIAL = {"\\": r"\textbackslash ", "^": r"\textasciicircum ", "~": r"\textasciitilde "}


def number(value: float) -> str:
    """Three significant digits.

    >>> number(0.25), number(-1.23456e-5), number(0.0), number(12345.6)
    ('0.25', '-1.23{\\\\scriptstyle\\\\cdot 10^{-5}}', '0', '1.23{\\\\scriptstyle\\\\cdot 10^{4}}')
    """
    if not np.isfinite(value):
        return r"\text{undefined}" if np.isnan(value) else r"\infty" if value > 0 else r"-\infty"
    if value == 0:
        return "0"
    mantissa, exponent = f"{value:.2e}".split("e")
    if -3 <= int(exponent) < 4:
        return f"{value:.3g}" if abs(value) < 999.5 else f"{value:.0f}"
    return rf"{mantissa}{{\scriptstyle\cdot 10^{{{int(exponent)}}}}}"


def text(written: str) -> str:
    """What a user wrote, as upright text in which no character means anything; long texts are cut in the middle.

    >>> text("a_b")
    '\\\\text{a{\\\\_}b}'
    """
    if len(written) > MAX_TEXT:
        written = f"{written[: MAX_TEXT // 2]}…{written[-(MAX_TEXT // 2 - 1) :]}"
    return rf"\text{{{''.join(map(_harmless, written))}}}"


def _harmless(character: str) -> str:
    if character.isalnum() or not character.isascii():
        return character if character.isprintable() else "␣"
    if character.isspace():
        return r"\ "
    if character in SPECIAL:
        return f"{{{SPECIAL[character]}}}"
    return f"{{{character}}}" if re.match(r"[^{}$%#&_]", character) else rf"{{\{character}}}"


def sized(name: str, values: FloatArray | sparse.csr_array, written: str) -> str:
    """name = a written matrix, with its size below."""
    size = r" \times ".join(f"{number:,}".replace(",", "{,}") for number in values.shape)
    return rf"{name}=\underset{{{size}}}{{{written}}}"


def row(values: FloatArray) -> str:
    """A vector lying down, shape (n,)."""
    return matrix(values[None])


def column(values: FloatArray) -> str:
    """A vector standing, shape (n,)."""
    return matrix(values[:, None])


def matrix(
    values: FloatArray | sparse.csr_array,
    row_name: Callable[[int], str] | None = None,
    column_name: Callable[[int], str] | None = None,
) -> str:
    """A matrix in round brackets, or with names at its sides; what is left out is ⋯ and ⋮.

    Parameters
    ----------
    values : array or sparse array, shape (num_rows, num_columns)
    row_name, column_name : callables, optional
        Number of a row or column -> its name in LaTeX.
    """
    num_rows, num_columns = values.shape
    rows, columns = _places(num_rows, MAX_ROWS), _places(num_columns, MAX_COLUMNS)
    noise = ROUNDING * float(np.abs(values.data).max(initial=0.0))
    lines = []
    for place in rows:
        if place is None:
            cells = [r"\ddots" if across is None else r"\vdots" for across in columns]
        else:
            cells = [r"\cdots" if across is None else _cell(float(values[place, across]), noise) for across in columns]
        if row_name is not None:
            cells.insert(0, r"\vdots" if place is None else row_name(place))
        lines.append(" & ".join(cells))
    if row_name is None or column_name is None:
        return r"\begin{pmatrix}" + r" \\ ".join(lines) + r"\end{pmatrix}"
    head = " & ".join(["", *(r"\cdots" if across is None else column_name(across) for across in columns)])
    return rf"\begin{{array}}{{r|{'r' * len(columns)}}}{head} \\ \hline " + r" \\ ".join(lines) + r"\end{array}"


def _cell(value: float, noise: float) -> str:
    return r"{\approx}0" if 0 < abs(value) <= noise else number(value)


def diagonal(values: FloatArray) -> str:
    """diag(…) of a vector, shape (n,)."""
    cells = [r"\ldots" if place is None else number(float(values[place])) for place in _places(len(values), MAX_COLUMNS)]
    return r"\operatorname{diag}(" + r",\ ".join(cells) + ")"


def _places(size: int, largest: int) -> list[int | None]:
    """Which rows are written; None stands for those left out."""
    return list(range(size)) if size <= largest else [*range(largest - 2), None, size - 1]
