"""Tables as LaTeX, Markdown, CSV and JSON."""

import csv
import io
import json
import math
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nlwfa_core import NGram, RecipeError, evaluate
from nlwfa_core.metrics.tables import Numbers, csv_text, format_score, latex_text, write_table
from tests.imports import APP, CORE, PAGES

TABLE = {
    "model": ["SP, k = 5", "a|b & c_d"],
    "WER (%)": Numbers.written([0.43299, math.inf], format_score),
    "gap": Numbers.of([(-0.00004, "−4·10⁻⁵"), (None, "–")]),
}


def test_latex_has_the_texts_of_the_page_and_escapes_what_latex_reads() -> None:
    assert write_table(TABLE, "latex", "50 % of λ") == "\n".join(
        [
            r"% needs \usepackage{booktabs}",
            r"\begin{table}",
            r"\centering",
            r"\caption{50 \% of $\lambda$}",
            r"\begin{tabular}{lrr}",
            r"\toprule",
            r"model & WER (\%) & gap \\",
            r"\midrule",
            r"SP, k = 5 & 0.433 & $-$4$\cdot 10^{-5}$ \\",
            r"a$|$b \& c\_d & $\infty$ & -- \\",
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def test_markdown_aligns_numbers_and_escapes_bars() -> None:
    lines = write_table(TABLE, "markdown").splitlines()
    assert lines == [
        "| model | WER (%) | gap |",
        "| --- | ---: | ---: |",
        "| SP, k = 5 | 0.433 | −4·10⁻⁵ |",
        r"| a\|b & c_d | ∞ | – |",
    ]


def test_csv_and_json_have_all_digits() -> None:
    rows = list(csv.reader(write_table(TABLE, "csv").splitlines()))
    assert rows == [
        ["model", "WER (%)", "gap"],
        ["SP, k = 5", "0.43299", "-4e-05"],
        ["a|b & c_d", "inf", ""],
    ]
    assert json.loads(write_table(TABLE, "json"))[1] == {
        "model": "a|b & c_d",
        "WER (%)": "inf",
        "gap": None,
    }


@given(st.text(max_size=30))
def test_no_text_breaks_a_row_of_latex(text: str) -> None:
    written = (
        latex_text(text)
        .replace(r"\textbackslash{}", "")
        .replace(r"\textasciitilde{}", "")
        .replace(r"\textasciicircum{}", "")
    )
    assert "\n" not in written
    for special in "&%#_":
        assert written.count(special) == written.count(f"\\{special}") + (
            written.count("_2$") if special == "_" else 0
        )


def test_scores_write_themselves() -> None:
    scores = evaluate(NGram.fit(["ab", "b", "ab"], order=2), ["ab", "b"])
    assert r"WER (share) & 0.200 \\" in scores.to_latex("bigram") and scores.to_latex().startswith(
        r"% needs \usepackage"
    )
    assert "| WER (share) | 0.200 |" in scores.to_markdown("bigram")
    with pytest.raises(
        RecipeError, match="form must be one of latex, markdown, csv, json; got 'html'"
    ):
        write_table(scores.to_table(), "html")


def test_names_that_end_like_a_number_stay_as_they_are_in_latex() -> None:
    table = {"key": ["7a6b84ef72e4"], "score": Numbers.of([(3.2e-5, "3.2·10⁻⁵ [1·10⁻⁶, 4·10⁻⁵]")])}
    text = write_table(table, "latex")
    assert r"7a6b84ef72e4 & 3.2$\cdot 10^{-5}$ [1$\cdot 10^{-6}$, 4$\cdot 10^{-5}$] \\" in text


FORMULAS = (
    "=1+2",
    "+1",
    "-1",
    "@SUM(1+1)*cmd|' /C calc'!A0",
    '=HYPERLINK("http://example.org/?"&A1,"mark")',
    " =1",
    "\t=1",
    "\r=1",
    "\n=1",
    "\x00=1",
    "\u00a0@A1",
    "\ufeff=1",
    "\u200b-1",
    "＝1+1",
    "\ttext",
)


@pytest.mark.parametrize("text", FORMULAS)
def test_a_text_is_never_a_formula_in_csv(text: str) -> None:
    """Neither as a cell nor as a title; what follows the mark is the text itself."""
    heading, row = csv.reader(io.StringIO(write_table({text: [text]}, "csv"), newline=""))
    assert heading == [f"'{text}"] and row == [f"'{text}"]
    assert json.loads(write_table({text: [text]}, "json")) == [{text: text}]


def test_no_formula_stands_behind_another_countrys_separator() -> None:
    """Where a semicolon separates cells, a spreadsheet splits a string that a comma would not."""
    texts = ["x;=1+1;y", "a;b", "x;\t=1", "tab\t@SUM(A1)", "3;-1"]
    rows = csv_text([[text] for text in texts]).splitlines()
    assert rows == ["x;'=1+1;y", "a;b", "x;'\t'=1", "tab\t'@SUM(A1)", "3;'-1"]


@given(st.text())
@example("a\r=1")
@example("a\n=1")
def test_no_text_in_csv_begins_like_a_formula(text: str) -> None:
    ((cell, number),) = csv.reader(io.StringIO(csv_text([(text, 1)]), newline=""))
    assert cell in (text, f"'{text}") and number == "1"
    assert (
        not "".join(character for character in cell if character.isprintable())
        .lstrip()
        .startswith(("=", "+", "-", "@"))
    )


@given(st.floats(allow_nan=False), st.integers())
def test_numbers_in_csv_stay_numbers(number: float, whole: int) -> None:
    (cells,) = csv.reader(io.StringIO(csv_text([(number, whole, None)])))
    assert (float(cells[0]), int(cells[1]), cells[2]) == (number, whole, "")


def test_there_is_one_writer_of_csv() -> None:
    """Apart from `nlwfa sample` and `nlwfa count`, whose strings are read back as they are."""
    writers = [
        name
        for name, path in {**CORE, **PAGES, **APP}.items()
        if re.search(r"csv\.(Dict)?[wW]riter|to_csv", path.read_text())
    ]
    assert writers == ["cli.export", "metrics.tables", "sources.counting"]
