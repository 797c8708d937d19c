"""Numbers, matrices and users' texts as LaTeX."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from nlwfa_core.display.formulas.latex import column, diagonal, matrix, number, row, sized, text


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (1.0, "1"),
        (-0.333333, "-0.333"),
        (999.6, "1{,}000"),
        (9996.0, "9{,}996"),
        (1234.5, "1{,}235"),
        (0.0012345, "0.00123"),
        (0.000012345, r"1.23{\scriptstyle\cdot 10^{-5}}"),
        (float("inf"), r"\infty"),
        (float("-inf"), r"-\infty"),
        (float("nan"), r"\text{undefined}"),
    ],
)
def test_numbers_have_three_digits(value: float, written: str) -> None:
    assert number(value) == written


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e30, max_value=1e30))
def test_a_written_number_is_within_half_a_digit(value: float) -> None:
    back = float(
        number(value).replace(r"{\scriptstyle\cdot 10^{", "e").replace("}}", "").replace("{,}", "")
    )
    assert back == pytest.approx(value, rel=0.0051)


def test_small_matrices_are_written_in_full_and_large_ones_by_their_corners() -> None:
    assert matrix(np.array([[1.0, 2], [3, 4]])) == r"\begin{pmatrix}1 & 2 \\ 3 & 4\end{pmatrix}"
    assert row(np.array([1.0, 2])) == r"\begin{pmatrix}1 & 2\end{pmatrix}"
    assert column(np.array([1.0, 2])) == r"\begin{pmatrix}1 \\ 2\end{pmatrix}"
    assert diagonal(np.arange(8.0)) == r"\operatorname{diag}(0,\ 1,\ 2,\ 3,\ \ldots,\ 7)"
    assert row(np.array([1.0, 1e-13, -1e-10, 0])) == (
        r"\begin{pmatrix}1 & {\approx}0 & -1{\scriptstyle\cdot 10^{-10}} & 0\end{pmatrix}"
    )
    large = np.arange(100.0).reshape(10, 10)
    for values in (large, sparse.csr_array(large)):
        lines = (
            matrix(values)
            .removeprefix(r"\begin{pmatrix}")
            .removesuffix(r"\end{pmatrix}")
            .split(r" \\ ")
        )
        assert lines[0] == r"0 & 1 & 2 & 3 & \cdots & 9"
        assert lines[4] == r"\vdots & \vdots & \vdots & \vdots & \ddots & \vdots"
        assert lines[5] == r"90 & 91 & 92 & 93 & \cdots & 99"
    named = matrix(large, lambda i: f"r{i}", lambda j: f"c{j}")
    assert (
        r" & c0 & c1 & c2 & c3 & \cdots & c9 \\ \hline r0 & 0" in named and r"\\ r9 & 90" in named
    )
    assert sized(np.zeros((1000, 2)), "x") == r"\underset{1{,}000 \times 2}{x}"


@given(st.text(min_size=1, max_size=30))
def test_what_a_user_wrote_is_one_group_with_no_command_of_its_own(written: str) -> None:
    latex = text(written)
    assert latex.startswith(r"\texttt{") and latex.endswith("}")
    inside = latex.removeprefix(r"\texttt{").removesuffix("}")
    for escaped in (r"{\textbackslash }", r"{\textasciicircum }", r"{\textasciitilde }", r"\ "):
        inside = inside.replace(escaped, "")
    for special in "{}$%#&_":
        inside = inside.replace(rf"{{\{special}}}", "")
    assert "\\" not in inside and "$" not in inside and "\n" not in inside
    assert inside.count("{") == inside.count("}")
