"""Write numbers, matrices and users' texts in LaTeX; numbers are rounded, and large matrices
reduced to their corners.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
from scipy import sparse

from ...errors import PLAIN_DIGITS
from ...rounding import format_significant
from ...strings.words import FloatArray

# Up to this many rows, columns or terms are written in full; if there are more, only the first four
# and the last.
MAX_ENTRIES = 6
MAX_TEXT = 8
# Entries smaller than this share of a matrix's largest are rounding errors, written as ≈0.
ROUNDING = 1e-12
SPECIAL = {"\\": r"\textbackslash ", "^": r"\textasciicircum ", "~": r"\textasciitilde "}


def number(value: float, digits: int = 3) -> str:
    """Write a number as LaTeX, with the digits of `format_significant`, so a formula and the
    text next to it agree.

    >>> number(0.25), number(-1.23456e-5), number(0.0), number(12345.6), number(12345.6, digits=6)
    ('0.25', '-1.23{\\\\scriptstyle\\\\cdot 10^{-5}}', '0', '12{,}346', '12{,}345.6')
    """
    if not np.isfinite(value):
        return r"\text{undefined}" if np.isnan(value) else r"\infty" if value > 0 else r"-\infty"
    mantissa, _, power = (
        format_significant(value, digits).replace("−", "-").replace(",", "{,}").partition("·10")
    )
    return (
        rf"{mantissa}{{\scriptstyle\cdot 10^{{{power.translate(PLAIN_DIGITS)}}}}}"
        if power
        else mantissa
    )


def rounding_level(values: FloatArray | sparse.csr_array) -> float:
    """Return the size up to which any of these numbers is only a rounding error."""
    entries = values if isinstance(values, np.ndarray) else values.data
    return ROUNDING * float(np.abs(entries).max(initial=0.0))


def entry(value: float, level: float, digits: int = 3) -> str:
    """Write an entry of a matrix as LaTeX; "≈ 0" if it is not 0 and at most `level`, the matrix's
    `rounding_level`.
    """
    return r"{\approx}0" if 0 < abs(value) <= level else number(value, digits)


def text(plain: str) -> str:
    """Write a user's text in monospace, with every special character escaped. Long texts are cut in
    the middle.

    >>> text("a_b")
    '\\\\texttt{a{\\\\_}b}'
    """
    if len(plain) > MAX_TEXT:
        plain = f"{plain[: MAX_TEXT // 2]}…{plain[-(MAX_TEXT // 2 - 1) :]}"
    return rf"\texttt{{{''.join(map(_harmless, plain))}}}"


def _harmless(character: str) -> str:
    if character.isalnum() or not character.isascii():
        return character if character.isprintable() else "␣"
    if character.isspace():
        return r"\ "
    if character in SPECIAL:
        return f"{{{SPECIAL[character]}}}"
    return f"{{{character}}}" if re.match(r"[^{}$%#&_]", character) else rf"{{\{character}}}"


def sized(values: FloatArray | sparse.csr_array, formula: str) -> str:
    """Add a matrix's shape below its LaTeX `formula`."""
    shape = r" \times ".join(f"{size:,}".replace(",", "{,}") for size in values.shape)
    return rf"\underset{{{shape}}}{{{formula}}}"


def row(values: FloatArray) -> str:
    """Write a vector, shape (n,), as a row."""
    return matrix(values[None])


def column(values: FloatArray) -> str:
    """Write a vector, shape (n,), as a column."""
    return matrix(values[:, None])


def matrix(
    values: FloatArray | sparse.csr_array,
    row_name: Callable[[int], str] | None = None,
    column_name: Callable[[int], str] | None = None,
    digits: int = 3,
) -> str:
    """Write a matrix in round brackets; if both names are given, as a table with names next to its
    rows and above its columns.

    In a large matrix, ⋯ and ⋮ replace omitted entries.

    Parameters
    ----------
    values : array or sparse array, shape (num_rows, num_columns)
    row_name, column_name : callables, optional
        Index of a row or column -> its name in LaTeX.
    digits : int
        Significant digits.
    """
    num_rows, num_columns = values.shape
    rows = _written_indices(num_rows)
    columns = _written_indices(num_columns)
    level = rounding_level(values)
    lines = []
    for i in rows:
        if i is None:
            cells = [r"\ddots" if j is None else r"\vdots" for j in columns]
        else:
            cells = [
                r"\cdots" if j is None else entry(float(values[i, j]), level, digits)
                for j in columns
            ]
        if row_name is not None:
            cells.insert(0, r"\vdots" if i is None else row_name(i))
        lines.append(" & ".join(cells))
    if row_name is None or column_name is None:
        return r"\begin{pmatrix}" + r" \\ ".join(lines) + r"\end{pmatrix}"
    head = " & ".join(["", *(r"\cdots" if j is None else column_name(j) for j in columns)])
    return (
        rf"\begin{{array}}{{r|{'r' * len(columns)}}}{head} \\ \hline "
        + r" \\ ".join(lines)
        + r"\end{array}"
    )


def diagonal(values: FloatArray) -> str:
    """Write a diagonal matrix as diag(…), from its diagonal of shape (n,)."""
    entries = joined([number(float(value)) for value in values], r",\ ", r"\ldots")
    return rf"\operatorname{{diag}}({entries})"


def joined(terms: Sequence[str], separator: str, dots: str = r"\cdots") -> str:
    """Join terms with a separator; if there are many, dots replace those in the middle."""
    return separator.join(
        dots if index is None else terms[index] for index in _written_indices(len(terms))
    )


def aligned(lines: Sequence[str], max_lines: int) -> str:
    """Write lines one below the other, aligned at their "&".

    If there are more than `max_lines`, those in the middle are omitted.
    """
    surplus = len(lines) - max_lines
    if surplus > 0:
        dots = rf"&\;\;\vdots\quad({surplus}\text{{ more}})"
        lines = [*lines[: max_lines - max_lines // 2], dots, *lines[-(max_lines // 2) :]]
    return r"\begin{aligned}" + r" \\[4pt] ".join(lines) + r"\end{aligned}"


def gathered(lines: Sequence[str]) -> str:
    """Write formulas one below the other, with a comma after each but the last."""
    return (
        lines[0]
        if len(lines) == 1
        else r"\begin{gathered}" + r",\\ ".join(lines) + r"\end{gathered}"
    )


def _written_indices(size: int) -> list[int | None]:
    """List the indices of the rows, columns or terms that are written; None stands for omitted
    ones.
    """
    return list(range(size)) if size <= MAX_ENTRIES else [*range(MAX_ENTRIES - 2), None, size - 1]
