"""Keys of answers: what is read, what is refused, and what a partly right answer is worth."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core.errors import FormatError, RecipeError
from nlwfa_core.teaching.answers import (
    CellKey,
    NumberKey,
    NumbersKey,
    OrderKey,
    StringKey,
    read_number,
    read_numbers,
    write_number,
)
from nlwfa_core.teaching.questions import Response, read_question

TENTHS = st.integers(-(10**6), 10**6).map(lambda number: Fraction(number, 1000))


@given(TENTHS)
def test_the_same_number_in_many_forms(value: Fraction) -> None:
    plain = f"{float(value):.3f}"
    forms = [
        plain,
        f" {plain} ",
        plain.replace("-", "−"),
        f"{float(value * 100):.1f} %",
        f"{float(value * 100):.1f}%",
        f"= {plain}",
    ]
    forms += [
        f"{value.numerator}/{value.denominator}",
        f"{value.numerator} / {value.denominator}",
        f"{float(value):.6e}",
    ]
    forms += [f"{float(value * 10):.2f}·10^-1", f"{float(value / 100):.5f} * 10^(2)"]
    if abs(value) < 1:  # from 1 on, 1,250 may mean two numbers
        forms.append(plain.replace(".", ","))
    for form in forms:
        assert read_number(form) == pytest.approx(float(value), rel=1e-12, abs=1e-15), form


@given(TENTHS)
def test_what_is_written_is_read_again(value: Fraction) -> None:
    assert read_number(write_number(float(value))) == pytest.approx(float(value), rel=1e-5)
    assert NumberKey(float(value), 0.001).check(write_number(float(value))).correct


@given(st.text(max_size=40))
def test_any_text_is_a_number_or_refused(text: str) -> None:
    """Nothing else can happen: what people type is never evaluated."""
    for read in (read_number, read_numbers):
        try:
            read(text)
        except RecipeError as error:
            assert str(error)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "enter an answer first"),
        ("  ", "enter an answer first"),
        ("three", "write a number: a decimal, a fraction or a percentage; got 'three'"),
        ("1,250", "can be read in two ways"),
        ("1/0", "denominator must not be 0"),
        ("1/2/3", "write one number"),
        ("2+2", "write a number"),
        ("__import__('os')", "write a number"),
        ("1e999", "write a number"),
        ("9" * 300, "at most 200 characters; got 300"),
        ("nan", "write a number"),
    ],
)
def test_what_is_no_number_is_refused(text: str, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        read_number(text)


def test_infinity_and_numbers_in_a_row() -> None:
    assert [read_number(text) for text in ("∞", "-inf", "+∞")] == [math.inf, -math.inf, math.inf]
    assert NumberKey(math.inf).check("∞").correct and not NumberKey(math.inf).check("5").correct
    assert (
        read_numbers("[1 1/2 50 %]")
        == read_numbers("1; 1 / 2; 0,5")
        == read_numbers("(1, 0.5, 0.5)")
        == (1, 0.5, 0.5)
    )


@pytest.mark.parametrize(
    ("answer", "credit", "reason"),
    [
        ("0.3", 1, ""),
        ("0.304", 1, ""),
        ("0.31", 0.5, "Nearly"),
        ("0.2", 0, "f(a)"),
        ("-0.3", 0, "sign"),
        ("0.9", 0, "Too large."),
        ("0.1", 0, "Too small."),
    ],
)
def test_a_number_within_its_tolerance(answer: str, credit: float, reason: str) -> None:
    question = read_question(
        ["? What?", "answer: 0.3 ± 0.005", "hint: 0.2 | That is f(a).", "Because."], 1
    )
    assert question.key is not None and (question.text, question.solution) == ("What?", "Because.")
    verdict = question.key.check(answer)
    assert verdict.credit == credit and reason in verdict.reason


def test_a_tolerance_may_be_a_percentage() -> None:
    key = read_question(["? What?", "answer: 200 ± 5 %", "So."], 1).key
    assert (
        key is not None
        and key.check("190").correct
        and key.check("210").correct
        and not key.check("189.9").correct
    )


def test_parts_that_are_right_count() -> None:
    assert NumbersKey((1, 2, 3, 4)).check("1 2 3 5").credit == 0.75
    with pytest.raises(RecipeError, match="write 4 numbers with spaces between them; got 2"):
        NumbersKey((1, 2, 3, 4)).check("1 2")
    choice = read_question(
        ["? Which?", "right: a", "wrong: b | Not b.", "right: c", "wrong: d", "So."], 1
    ).key
    assert choice is not None
    credits = {
        "a | c": 1,
        "c | a": 1,
        "a": 0.5,
        "a | c | b": 0.5,
        "a | b": 0,
        "a | b | c | d": 0,
        "b": 0,
    }
    assert {text: choice.check(text).credit for text in credits} == credits
    assert "Not b." in choice.check("a | b").reason
    cell = CellKey(("λ", "a", "ab"), ("λ", "b", "ab"), (("a", "b"), ("λ", "ab")))
    assert [
        cell.check(text).credit for text in ("a, b", "λ | ab", "a | λ", "ab | b", "ab | λ")
    ] == [1, 1, 0.5, 0.5, 0]
    order = OrderKey(("1", "2", "3", "4"))
    assert [order.check(text).credit for text in ("1|2|3|4", "4|3|2|1", "2|1|3|4")] == [
        1,
        0,
        pytest.approx(2 / 3),
    ]
    assert sorted(order.shuffled(3)) == ["1", "2", "3", "4"] and all(
        order.shuffled(seed) != order.items for seed in range(50)
    )


def test_strings_over_an_alphabet() -> None:
    key = StringKey(("ab", "ba"), "ab")
    assert key.check(" a b ").correct and key.check("ba").correct and key.check("bb").credit == 0.5
    assert [key.check(text).reason for text in ("λ", "aba")] == ["Too short.", "Too long."]
    assert (
        StringKey(("",), "ab").check("λ").correct and StringKey(("",), "ab").check("lambda").correct
    )
    with pytest.raises(
        RecipeError, match="use only the symbols a b, or λ for the empty string; got 'c'"
    ):
        key.check("abc")


@pytest.mark.parametrize(
    ("lines", "line", "message"),
    [
        (["answer: 1", "right: x"], 8, "got answer and right"),
        (["hint: 1 | So."], 8, "needs one of answer, .*; got none"),
        (["answer:"], 8, "nothing follows the colon"),
        (["answer: 1", "wrong: 2"], 9, "wrong does not go with answer"),
        (["answer: 1", "answer: 2"], 8, "answer occurs twice"),
        (["answer: 1", "hint: two | So."], 8, "write a number"),
        (["answer: 1", "hint: 2"], 9, "a hint must be 'wrong answer | reason'; got '2'"),
        (["answer: 0.1234567891"], 8, "no answer that can be entered would be right"),
        (["right: x"], 8, "at least two options"),
        (["right: x", "wrong: x"], 9, "two options 'x'"),
        (["cell: a, b"], 8, "rows: and columns:"),
        (["cell: a, c", "rows: a b", "columns: a b"], 8, "'c' is not one of the options: a, b"),
        (["order: 1 | 1"], 8, "at least two items, all different"),
    ],
)
def test_errors_of_a_key_name_the_line(lines: list[str], line: int, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        read_question(["? What?", *lines, "So."], 7)
    assert caught.value.line == line


def test_a_response_has_two_tries_and_is_a_small_value() -> None:
    key = NumberKey(0.3, 0.005)
    first = Response("rank/1").answered(key, "0.31")
    assert (first.tries, first.correct, first.over, first.points) == (1, False, False, 0.5)
    for refused in ("x", "0.31"):
        with pytest.raises(RecipeError):
            first.answered(key, refused)
    second = first.answered(key, "0.3")
    assert (second.tries, second.correct, second.over, second.points) == (2, True, True, 0.5)
    assert second.record() == {
        "task": "rank/1",
        "seed": 0,
        "answer": "0.3",
        "correct": True,
        "tries": 2,
    }
    assert second.answered(key, "0.4") == second
    assert Response("cell", 4).answered(key, "0.3").points == 1
    opened = Response("cell", 4).answered(key, "7").opened()
    assert opened.over and not opened.correct and opened.points == 0


def test_a_number_that_is_too_large_is_refused() -> None:
    with pytest.raises(RecipeError, match="the number is too large"):
        read_number("1" + "0" * 120 + "e99/1e-99")
    assert read_number("10^-3") == 0.001 and read_number("−10^2") == -100
