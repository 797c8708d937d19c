"""A calculation as a list of named blocks of numbers, written as plain text or as formulas.

All numbers are computed exactly (in doubles) and rounded only when written. Text and formulas show the same blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...strings.words import FloatArray

ROUNDING = 1e-12  # what is smaller than this share of a block's largest number is rounding, and written as 0
IN_FULL, KEPT = 6, 3  # in formulas, matrices beyond so many rows or columns are cut to the first few and the last
DUST = "Numbers below 10^-12 of the largest in their matrix are rounding, and written as 0."
MAX_LINES = 24  # the same for lines


@dataclass(frozen=True, eq=False)
class Block:
    """One line of the calculation: what it is called, how it is made of others, and its numbers.

    Attributes
    ----------
    name, made : str
        As text: "z1", "z0 · A_a"; `made` is empty for what is given.
    tex : str
        "name = made" or "name" in LaTeX.
    values : array, shape (rows, columns)
        A state is one row.
    """

    name: str
    made: str
    tex: str
    values: FloatArray


@dataclass(frozen=True, eq=False)
class Calculation:
    """The calculation of f(x).

    Attributes
    ----------
    written : str
        The string.
    given, steps : tuples of Block
        The model's numbers that the string needs, in order of need; what is computed from them.
    how : str
        What is done with `factors`: "sum of the products", "product of all" or "square of the sum".
    factors : tuple of (str, tuple of numbers)
        The last line, term by term: a name and the numbers that are multiplied.
    weight : float
        f(x).
    notes : tuple of str
        Sentences on what the formulas leave unsaid.
    """

    written: str
    given: tuple[Block, ...]
    steps: tuple[Block, ...]
    how: str
    factors: tuple[tuple[str, tuple[float, ...]], ...]
    weight: float
    notes: tuple[str, ...]

    @property
    def num_numbers(self) -> int:
        return sum(block.values.size for block in (*self.given, *self.steps))

    @property
    def has_dust(self) -> bool:
        """Whether some numbers are rounding only, and written as 0."""
        return any(bool(((block.values != 0) & (cleaned(block.values) == 0)).any()) for block in (*self.given, *self.steps))

    def text(self, digits: int = 4) -> str:
        """The whole calculation as plain text, its numbers rounded to so many significant digits."""
        lines = [
            f"f({self.written}), by hand",
            f"Each number is the exact one, rounded to {digits} significant digits: what a calculator makes of",
            "the rounded ones may differ in the last digits.",
            *([DUST] if self.has_dust else []),
            *self.notes,
            "",
            "GIVEN",
            *(line for block in self.given for line in _lines(block, digits)),
            "",
            "STEP BY STEP",
            *(line for block in self.steps for line in _lines(block, digits)),
            "",
            "THE WEIGHT",
        ]
        width = max((len(name) for name, _ in self.factors), default=0)
        for name, numbers in self.factors:
            product = f" = {number(float(np.prod(numbers)), digits)}" if len(numbers) > 1 else ""
            lines.append(f"  {name.ljust(width)}  {' × '.join(number(value, digits) for value in numbers)}{product}")
        lines.append(f"f({self.written}) = {self.how} = {number(self.weight, digits)}")
        return "\n".join(lines) + "\n"

    def latex(self, digits: int = 4) -> tuple[str, str, str]:
        """The same as three formulas, what is given, the steps and the weight; large matrices and many lines cut in the middle."""
        joined = r"\,\cdot\," if self.how.startswith("product") else " + "
        terms = [r" \cdot ".join(_in_sum(value, digits) for value in numbers) for _, numbers in self.factors]
        if len(terms) > IN_FULL:
            terms = [*terms[:KEPT], r"\cdots", terms[-1]]
        total = joined.join(terms)
        total = f"({total})^2" if self.how.startswith("square") else total
        weight = f"f(x) &= {total} \\\\ &= {_tex_number(self.weight, digits)}"
        given, steps = ([_tex_line(block, digits) for block in blocks] for blocks in (self.given, self.steps))
        return _aligned(given), _aligned(steps), _aligned([weight])


def _aligned(lines: list[str]) -> str:
    if len(lines) > MAX_LINES:
        dots = rf"& \;\vdots\quad({len(lines) - MAX_LINES}\text{{ more lines}})"
        lines = [*lines[: MAX_LINES // 2], dots, *lines[-MAX_LINES // 2 :]]
    body = r" \\[4pt] ".join(lines)
    return rf"\begin{{aligned}}{body}\end{{aligned}}"


def _tex_line(block: Block, digits: int) -> str:
    name, equals, made = block.tex.partition(" = ")
    return f"{name} &{equals}{made} = {_matrix(block.values, digits)}"


def cleaned(values: FloatArray) -> FloatArray:
    """
    >>> cleaned(np.array([1.0, -2e-17])).tolist()
    [1.0, 0.0]
    """
    return np.where(np.abs(values) < ROUNDING * np.abs(values).max(initial=0.0), 0.0, values)


def number(value: float, digits: int) -> str:
    """
    >>> number(0.25, 4), number(-1 / 3, 3), number(-0.0, 4), number(1234567.0, 3)
    ('0.25', '-0.333', '0', '1.23e+06')
    """
    return f"{value + 0.0:.{digits}g}"


def _lines(block: Block, digits: int) -> Iterator[str]:
    rows, columns = block.values.shape
    yield f"{block.name}{' = ' if block.made else ''}{block.made}  ({rows} × {columns})"
    cells = [[number(value, digits) for value in row] for row in cleaned(block.values).tolist()]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        yield "  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))


def _matrix(values: FloatArray, digits: int) -> str:
    rows, columns = values.shape
    values = cleaned(values)
    down, across = _kept(rows), _kept(columns)
    lines = []
    for row in down:
        cells = [r"\cdots" if column < 0 else _tex_number(float(values[row, column]), digits) for column in across]
        lines.append(" & ".join([r"\vdots"] * len(across) if row < 0 else cells))
    shape = rf"\quad({rows}\times {columns})" if max(rows, columns) > IN_FULL else ""
    body = r" \\ ".join(lines)
    return rf"\begin{{bmatrix}}{body}\end{{bmatrix}}{shape}"


def _kept(size: int) -> list[int]:
    """Places that are shown; −1 stands for what is left out."""
    return list(range(size)) if size <= IN_FULL else [*range(KEPT), -1, size - 1]


def _tex_number(value: float, digits: int) -> str:
    """
    >>> _tex_number(0.5, 3), _tex_number(1.25e-7, 3)
    ('0.5', '1.25\\\\cdot 10^{-7}')
    """
    mantissa, _, exponent = number(value, digits).partition("e")
    special = {"inf": r"\infty", "-inf": r"-\infty", "nan": r"\text{undefined}"}
    return rf"{mantissa}\cdot 10^{{{int(exponent)}}}" if exponent else special.get(mantissa, mantissa)


def _in_sum(value: float, digits: int) -> str:
    written = _tex_number(value, digits)
    return f"({written})" if written.startswith("-") or "cdot" in written else written
