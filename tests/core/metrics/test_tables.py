"""Tables as LaTeX, Markdown, CSV and JSON."""

import csv
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core import NGram, RecipeError, evaluate
from nlwfa_core.metrics.tables import Numbers, format_score, latex_text, write_table

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
    assert rows == [["model", "WER (%)", "gap"], ["SP, k = 5", "0.43299", "-4e-05"], ["a|b & c_d", "inf", ""]]
    assert json.loads(write_table(TABLE, "json"))[1] == {"model": "a|b & c_d", "WER (%)": "inf", "gap": None}


@given(st.text(max_size=30))
def test_no_text_breaks_a_row_of_latex(text: str) -> None:
    written = latex_text(text).replace(r"\textbackslash{}", "").replace(r"\textasciitilde{}", "").replace(r"\textasciicircum{}", "")
    assert "\n" not in written
    for special in "&%#_":
        assert written.count(special) == written.count(f"\\{special}") + (written.count("_2$") if special == "_" else 0)


def test_scores_write_themselves() -> None:
    scores = evaluate(NGram.fit(["ab", "b", "ab"], order=2), ["ab", "b"])
    assert r"WER (share) & 0.200 \\" in scores.to_latex("bigram") and scores.to_latex().startswith(r"% needs \usepackage")
    assert "| WER (share) | 0.200 |" in scores.to_markdown("bigram")
    with pytest.raises(RecipeError, match="form must be one of latex, markdown, csv, json; got 'html'"):
        write_table(scores.to_table(), "html")


def test_names_that_end_like_a_number_stay_as_they_are_in_latex() -> None:
    table = {"key": ["7a6b84ef72e4"], "score": Numbers.of([(3.2e-5, "3.2·10⁻⁵ [1·10⁻⁶, 4·10⁻⁵]")])}
    text = write_table(table, "latex")
    assert r"7a6b84ef72e4 & 3.2$\cdot 10^{-5}$ [1$\cdot 10^{-6}$, 4$\cdot 10^{-5}$] \\" in text
