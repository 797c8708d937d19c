"""Write tables of results: as LaTeX (booktabs) and Markdown with the digits of a page, as CSV and
JSON with all digits.

A table maps titles to columns of text or `Numbers`, which sort by value and are exported with all
digits. Titles and units of scores come from `metrics.score_table.SCORES`. All tables that people
may open in a spreadsheet are written by `csv_text`.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from ..errors import PLAIN_DIGITS, check_one_of
from ..files import ascii_json
from ..rounding import format_share, format_significant, told_apart


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column of numbers: a table sorts by `values`, exports them, and shows `texts`."""

    values: tuple[float | None, ...]  # a missing number is None; an undefined one is nan
    texts: tuple[str, ...]  # one for each value

    @classmethod
    def written(cls, values: Iterable[float | None], write: Callable[[float | None], str]) -> Self:
        """Make a column of values whose texts are made by the function `write`.

        >>> Numbers.written([0.5, None], format_score).texts
        ('0.500', '–')
        """
        numbers = tuple(values)
        return cls(numbers, tuple(map(write, numbers)))

    @classmethod
    def of(cls, cells: Iterable[tuple[float | None, str]]) -> Self:
        """Make a column from pairs of a value and its text."""
        pairs = list(cells)
        return cls(tuple(value for value, _ in pairs), tuple(text for _, text in pairs))


Column = Numbers | list[str]
Table = dict[str, Column]

FORM = re.compile(r"(,?)\.(\d+)([fg%])")
NO_DIFFERENCE = 1e-12  # smaller scores are rounding errors


def format_score(value: float | None, form: str = ".3f", extra: int = 0) -> str:
    """Write a score as text, with "∞" for infinity, "undefined" for nan, "–" for None, and "−"
    (U+2212) for minus.

    A value that would look like 0 is written with a power of ten, and a share that would look like
    0% or 100% as "<1%" or ">99%". Rounding errors are written as 0.

    >>> (
    ...     format_score(0.5),
    ...     format_score(float("inf")),
    ...     format_score(None),
    ...     format_score(1234, ",.0f"),
    ... )
    ('0.500', '∞', '–', '1,234')
    >>> format_score(0.000091), format_score(1e-17), format_score(9.14e-05, ".3g")
    ('9.1·10⁻⁵', '0.000', '9.14·10⁻⁵')
    >>> (
    ...     format_score(0.758, ".0%"),
    ...     format_score(0.0004, ".0%"),
    ...     format_score(0.0, ".0%"),
    ...     format_score(0.9999, ".1%"),
    ... )
    ('76%', '<1%', '0%', '>99.9%')

    `form`: a Python format specification, as in the field `form` of a `Score`: a number of decimals
    (".3f", ",.0f"), of significant digits (".3g") or of decimals of a percentage (".0%"). `extra`:
    the number of additional digits (see `format_scores_apart`).
    """
    if value is None or not math.isfinite(value):
        return format_significant(value)
    before, digits, kind = FORM.fullmatch(form).groups()  # type: ignore[union-attr]
    number = int(digits) + extra
    if kind == "g":
        return format_significant(value, number)
    if kind == "%":
        return format_share(value, number)
    if abs(value) <= NO_DIFFERENCE:
        return f"{0:.{number}f}"
    written = f"{value:{before}.{number}f}"
    looks_zero = not written.strip("-0.")
    return format_significant(value) if looks_zero else written.replace("-", "−")


def format_difference(value: float | None, form: str = ".3f") -> str:
    """Write a difference of two scores with its sign, otherwise as `format_score` does.

    >>> (
    ...     format_difference(0.25),
    ...     format_difference(-0.00003),
    ...     format_difference(1e-17),
    ...     format_difference(-math.inf),
    ...     format_difference(None),
    ... )
    ('+0.250', '−3·10⁻⁵', '0.000', '−∞', '–')
    """
    return with_sign(value, format_score(value, form))


def with_sign(value: float | None, text: str) -> str:
    """Put the sign of a value, "+" or "−", before its text, unless the text has a sign or is 0."""
    is_zero = value is None or math.isnan(value) or not text.strip("0.")
    return text if is_zero or text.startswith("−") else f"{'+' if value > 0 else '−'}{text}"  # type: ignore[operator]


def format_scores_apart(values: Sequence[float | None], form: str = ".3f") -> tuple[str, ...]:
    """Write scores that are compared, with more digits where two different scores would look equal.

    >>> (
    ...     format_scores_apart([0.50312, 0.50338]),
    ...     format_scores_apart([0.5, 0.25]),
    ...     format_scores_apart([0.5, 0.5]),
    ... )
    (('0.5031', '0.5034'), ('0.500', '0.250'), ('0.500', '0.500'))
    """
    exact = [
        0.0 if value is not None and abs(value) <= NO_DIFFERENCE else value for value in values
    ]
    return told_apart(exact, lambda value, extra: format_score(value, form, extra))


# The forms in which `write_table` writes a table -> the ending of a file.
TABLE_FORMATS = {"latex": "tex", "markdown": "md", "csv": "csv", "json": "json"}
# What LaTeX reads as a command, and characters that its usual fonts lack in text.
LATEX = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    "∞": r"$\infty$",
    "−": "$-$",
    "–": "--",
    "…": r"\dots{}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "λ": r"$\lambda$",
    "σ": r"$\sigma$",
    "α": r"$\alpha$",
    "₂": "$_2$",
    "²": "$^2$",
    "≈": r"$\approx$",
    "≤": r"$\le$",
}
# The same behind a character that separates cells in some countries' spreadsheets, whatever the
# file's own separator is.
SEPARATED_FORMULA = re.compile(r"(?<!^)([;\t])(?=[\s\x00-\x20]*[=+\-@＝＋－＠])")
POWER = re.compile("·10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
# The beginning of a cell that a spreadsheet may take for a formula: one of its signs, also in full
# width, behind blanks and control characters that it may drop; or a tab or a line end.
FORMULA = re.compile(r"[\s\x00-\x20\x7f-\x9f\u200b-\u200f\u2060\ufeff]*[=+\-@＝＋－＠]|[\t\r\n]")


def write_table(table: Mapping[str, Column], form: str, caption: str = "") -> str:
    """Write a table as text that ends with a line break.

    >>> print(
    ...     write_table(
    ...         {"model": ["SP"], "WER": Numbers.written([0.43299], format_score)}, "markdown"
    ...     ),
    ...     end="",
    ... )
    | model | WER |
    | --- | ---: |
    | SP | 0.433 |

    `table`: title of a column -> the column. `form`: one of `TABLE_FORMATS`. LaTeX and Markdown
    contain the texts of `Numbers`. CSV and JSON (a list with an object for each row) contain their
    values with all digits; a missing number is empty in CSV and null in JSON, and ∞ is inf.
    `caption`: the caption of a table in LaTeX, or a line below a table in Markdown; CSV and JSON
    have none.

    Raises RecipeError if the form is unknown.
    """
    check_one_of("form", form, TABLE_FORMATS)
    texts = [column.texts if isinstance(column, Numbers) else column for column in table.values()]
    rows = list(zip(*texts, strict=True))
    if form == "latex":
        return _latex(
            list(table), rows, [isinstance(column, Numbers) for column in table.values()], caption
        )
    if form == "markdown":
        rule = ["---:" if isinstance(column, Numbers) else "---" for column in table.values()]
        head, *cells = (
            [cell.replace("|", "\\|").replace("\n", " ") for cell in line]
            for line in (list(table), *rows)
        )
        lines = [f"| {' | '.join(line)} |" for line in (head, rule, *cells)]
        return "\n".join([*lines, *(("", caption) if caption else ()), ""])
    values = list(
        zip(
            *(
                column.values if isinstance(column, Numbers) else column
                for column in table.values()
            ),
            strict=True,
        )
    )
    if form == "json":
        return ascii_json([dict(zip(table, row, strict=True)) for row in values]) + "\n"
    return csv_text([tuple(table), *values])


def csv_text(rows: Iterable[Sequence[str | float | None]]) -> str:
    """Write rows as CSV in which no spreadsheet takes text for a formula: such text is preceded by
    a quotation mark.

    Numbers stay numbers, with all digits; None is an empty cell. Source: OWASP, CSV Injection.

    >>> print(csv_text([("name", "WER"), ("=1+1", -0.5), ("a=1", None)]), end="")
    name,WER
    '=1+1,-0.5
    a=1,
    """
    return "".join(map(_csv_line, rows))


def _csv_line(row: Sequence[str | float | None]) -> str:
    buffer = io.StringIO(newline="")
    # Strings with a character of the line's end are quoted: with "\n" as the end, a "\r" in a
    # string would begin a row.
    csv.writer(buffer, lineterminator="\r\n").writerow([_without_formula(cell) for cell in row])
    return buffer.getvalue().removesuffix("\r\n") + "\n"


def _without_formula(cell: str | float | None) -> str | float | None:
    if not isinstance(cell, str):
        return cell
    cell = SEPARATED_FORMULA.sub(r"\1'", cell)
    return f"'{cell}" if FORMULA.match(cell) else cell


def _latex(
    titles: Sequence[str], rows: Iterable[Sequence[str]], is_number: Sequence[bool], caption: str
) -> str:
    """Write a table for the package booktabs: numbers are aligned to the right, text to the
    left.
    """
    columns = "".join("r" if number else "l" for number in is_number)
    head = " & ".join(map(latex_text, titles))
    lines = [
        f"{head} \\\\",
        *(f"{' & '.join(map(latex_text, line, is_number))} \\\\" for line in rows),
    ]
    tabular = [
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        lines[0],
        r"\midrule",
        *lines[1:],
        r"\bottomrule",
        r"\end{tabular}",
    ]
    if caption:
        tabular = [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{latex_text(caption)}}}",
            *tabular,
            r"\end{table}",
        ]
    return "\n".join([r"% needs \usepackage{booktabs}", *tabular, ""])


def latex_text(text: str, is_number: bool = False) -> str:
    r"""Write text for LaTeX: special characters are escaped, and powers of ten in numbers are
    written as such.

    >>> print(
    ...     latex_text("fac.non_2, 5 %"), latex_text("−3.2·10⁻⁵", is_number=True), latex_text("∞")
    ... )
    fac.non\_2, 5 \% $-$3.2$\cdot 10^{-5}$ $\infty$
    """
    written = "".join(LATEX.get(character, character) for character in text.replace("\n", " "))
    return POWER.sub(_latex_power, written) if is_number else written


def _latex_power(match: re.Match[str]) -> str:
    return f"$\\cdot 10^{{{match[1].translate(PLAIN_DIGITS)}}}$"
