"""Numbers as people read them: one form, no "1e-05", and no two numbers that differ but look
equal.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core.errors import PLAIN_DIGITS, format_exact
from nlwfa_core.metrics.tables import format_score, format_scores_apart
from nlwfa_core.rounding import format_apart, format_beside, format_share, format_significant

FINITE = st.floats(allow_nan=False, allow_infinity=False)
E_NOTATION = re.compile(r"\d[eE][+-]?\d")


def read(text: str) -> float:
    """The number that a person reads."""
    return float(
        text.replace("·10", "e").replace(",", "").replace("−", "-").translate(PLAIN_DIGITS)
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (-3.231e-08, "−3.23·10⁻⁸"),
        (9.14e-05, "9.14·10⁻⁵"),
        (0.0001, "0.0001"),
        (0.066, "0.066"),
        (0.3125, "0.313"),  # a half, away from zero, as in the browser
        (-0.3125, "−0.313"),
        (99.96, "100"),
        (999.6, "1,000"),
        (1234.5, "1,235"),
        (999_999.7, "1·10⁶"),
        (123_456.0, "123,456"),
        (2.5e300, "2.5·10³⁰⁰"),
        (5e-324, "4.94·10⁻³²⁴"),
        (0.0, "0"),
        (-0.0, "0"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (math.nan, "undefined"),
        (None, "–"),
    ],
)
def test_three_significant_digits(value: float | None, text: str) -> None:
    assert format_significant(value) == text


@given(FINITE, st.integers(1, 9))
def test_a_number_is_near_what_is_read(value: float, digits: int) -> None:
    text = format_significant(value, digits)
    assert not E_NOTATION.search(text) and "-" not in text
    error = abs(
        Decimal(value)
        - Decimal(
            text.replace("·10", "e").replace(",", "").replace("−", "-").translate(PLAIN_DIGITS)
        )
    )
    assert error <= Decimal("0.51") * Decimal(10) ** (1 - digits) * abs(Decimal(value))


@given(FINITE, FINITE)
def test_numbers_that_differ_look_different(one: float, other: float) -> None:
    first, second = format_apart(one, other)
    assert (first == second) == math.isclose(one, other, rel_tol=1e-9) or one == other


@pytest.mark.parametrize(
    ("one", "other", "texts"),
    [
        (1.0, 0.99996, ("1", "0.99996")),
        (0.00500, 0.004996, ("0.005", "0.004996")),
        (0.1 + 0.2, 0.3, ("0.3", "0.3")),
        (2.0, 3.0, ("2", "3")),
        (12_345.0, 12_345.4, ("12,345", "12,345.4")),
        (1e-9, 1.0001e-9, ("1·10⁻⁹", "1.0001·10⁻⁹")),
        (-0.5, 0.5, ("−0.5", "0.5")),
    ],
)
def test_two_numbers_beside_each_other(one: float, other: float, texts: tuple[str, str]) -> None:
    assert format_apart(one, other) == texts


@given(st.floats(0.9, 1.1))
def test_a_number_looks_like_its_limit_only_if_it_is(value: float) -> None:
    text = format_beside(value, 1.0)
    assert (text == "1") == math.isclose(value, 1.0, rel_tol=1e-9)
    assert math.isclose(value, 1.0, rel_tol=1e-9) or (read(text) > 1) == (value > 1)


@given(st.floats(0, 1), st.integers(0, 3))
def test_a_share_looks_like_none_or_all_only_if_it_is(share: float, decimals: int) -> None:
    text = format_share(share, decimals)
    assert (text == "0%") == (share <= 1e-12) and (text == "100%") == (share >= 1 - 1e-12)
    assert not re.fullmatch(r"0\.0+%|100\.0+%", text) and not E_NOTATION.search(text)


@given(FINITE, st.sampled_from([".3f", ".2f", ",.0f", ".3g", ".0%", ".1%"]))
def test_a_score_is_never_a_power_of_e_and_never_a_zero_that_it_is_not(
    value: float, form: str
) -> None:
    text = format_score(value, form)
    assert not E_NOTATION.search(text)
    if abs(value) > 1e-12:
        assert text.strip("−0.%")


@pytest.mark.parametrize(
    ("values", "form", "texts"),
    [
        ((0.50312, 0.50338), ".3f", ("0.5031", "0.5034")),
        ((0.5, 0.5), ".3f", ("0.500", "0.500")),
        ((0.5, 0.25), ".3f", ("0.500", "0.250")),
        ((0.0, 0.00004), ".3f", ("0.000", "4·10⁻⁵")),
        ((1e-17, 0.0), ".3f", ("0.000", "0.000")),
        ((9.14e-05, 9.141e-05), ".3g", ("9.14·10⁻⁵", "9.141·10⁻⁵")),
        ((0.9996, 1.0), ".0%", (">99%", "100%")),
        ((math.inf, math.inf), ".3f", ("∞", "∞")),
        ((None, 0.1), ".3f", ("–", "0.100")),
    ],
)
def test_scores_beside_each_other(
    values: tuple[float | None, ...], form: str, texts: tuple[str, ...]
) -> None:
    assert format_scores_apart(values, form) == texts


@given(FINITE)
def test_a_bound_is_written_with_all_its_digits(value: float) -> None:
    text = format_exact(value)
    assert read(text) == value and not E_NOTATION.search(text)


@given(st.integers(-(10**15), 10**15))
def test_a_whole_number_is_written_with_all_its_digits(value: int) -> None:
    assert format_exact(value) == f"{value:,}"
