"""The class board: histograms of what was entered, shares, places, and tables that no spreadsheet
takes for formulas.
"""

from __future__ import annotations

import codecs
import csv
import io
import math
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core.history.classes import Answer, ClassRecord, HandIn, Member
from nlwfa_core.teaching.answers import (
    CellKey,
    ChoiceKey,
    Key,
    NumberKey,
    NumbersKey,
    Option,
    OrderKey,
    StringKey,
)
from nlwfa_core.teaching.class_board import (
    MAX_BARS,
    TIMES,
    answers_csv,
    first_guesses,
    gains_csv,
    hand_ins_csv,
    histogram,
    lesson_steps,
    member_names,
    places,
    shown_at_first,
    tally,
)
from nlwfa_core.teaching.lessons import read_lessons
from nlwfa_core.teaching.quizzes import AFTER, BEFORE, item_name
from nlwfa_core.teaching.shipped import ASSETS

CHOICE = ChoiceKey((Option("yes", False), Option("no", True), Option("$x$ may be", False)))
SEVERAL = ChoiceKey((Option("one", True), Option("two", True), Option("three", False)))


@pytest.mark.parametrize(
    ("key", "guesses", "bars"),
    [
        (
            NumberKey(0.3, 0.005),
            ["0.3", "30 %", "30 %", "0.302", "2", "−1"],
            [("−1", 1, 0), ("30 %", 3, 1), ("0.302", 1, 1), ("2", 1, 0)],
        ),
        (
            NumberKey(1.0),
            ["∞", "1", "x", "−1"],
            [("−1", 1, 0), ("1", 1, 1), ("∞", 1, 0), ("x", 1, 0)],
        ),
        (NumbersKey((1, 2)), ["1 2", "(1, 3)", "1 2"], [("1 2", 2, 1), ("(1, 3)", 1, 0)]),
        (CHOICE, ["no", "no", "yes"], [("yes", 1, 0), ("no", 2, 1), ("$x$ may be", 0, 0)]),
        (SEVERAL, ["one | two", "two | three"], [("one", 1, 1), ("two", 2, 1), ("three", 1, 0)]),
        (StringKey(("ab",), "ab"), ["ab", " ab ", "ba"], [("ab", 2, 1), ("ba", 1, 0)]),
        (
            CellKey(("λ", "a"), ("λ", "a"), (("a", "λ"),)),
            ["a | λ", "λ | a", "a | λ"],
            [("a | λ", 2, 1), ("λ | a", 1, 0)],
        ),
        (OrderKey(("1", "2")), ["1 | 2", "2 | 1"], [("1 | 2", 1, 1), ("2 | 1", 1, 0)]),
        (NumberKey(1.0), [], []),
    ],
)
def test_histograms_by_hand(key: Key, guesses: list[str], bars: list[tuple[str, int, int]]) -> None:
    assert [(bar.label, bar.count, bar.right) for bar in histogram(key, guesses)] == bars


@given(st.lists(st.integers(-30, 30), max_size=200))
def test_every_guess_is_in_one_bar(numbers: list[int]) -> None:
    bars = histogram(NumberKey(3.0), [str(number) for number in numbers])
    assert sum(bar.count for bar in bars) == len(numbers) and len(bars) <= MAX_BARS + 1
    counts = Counter(numbers)
    assert all(counts[int(bar.label)] == bar.count for bar in bars if bar.label != "others")


def said(
    member: str, attempt: int, credit: float, text: str = "x", task: str = "rank/1", seed: int = 0
) -> Answer:
    return Answer(member, task, seed, attempt, text, credit, 10.0 + attempt)


def test_tally_and_guesses() -> None:
    answers = [
        said("a", 1, 0.5, "2"),
        said("b", 1, 1, "3"),
        said("a", 2, 1, "3"),
        said("c", 1, 0),
        said("c", 2, 0),
        said("d", 1, 1, task="rank/2"),
        said("d", 1, 1, task="cell", seed=4),
    ]
    got = tally(answers, "rank/1")
    assert (got.answered, got.first, got.second) == (3, 1, 1) and math.isnan(got.seconds)
    assert first_guesses(answers, "rank/1") == ["2", "3", "x"] and first_guesses(
        answers, "cell#4"
    ) == ["x"]
    assert tally(answers, "cell").answered == 0
    timed = [replace(answer, seconds=10.0 * n) for n, answer in enumerate(answers)]
    assert tally(timed, "rank/1").seconds == 10  # of 0, 10 and 30


def member(name: str, nickname: str = "", place: str = "") -> Member:
    return Member(name, nickname, 0.0, place, 0.0)


def test_places_and_names() -> None:
    members = [member("p", "Ada", "rank/2"), member("q", "", "rank/2"), member("r")]
    assert {place: len(those) for place, those in places(members).items()} == {"rank/2": 2, "": 1}
    assert member_names(members) == {"p": "Ada", "q": "student 2", "r": "student 3"}
    lessons = read_lessons(ASSETS / "lessons")
    steps = lesson_steps(lessons)
    assert next(iter(steps)) == "hankel-matrix/1" and len(steps) == sum(
        len(lesson.steps) for lesson in lessons.values()
    )
    assert steps["rank/1"] == (
        "Why rank matters · 1. Predict the rank",
        lessons["rank"].steps[0],
    )


def test_what_the_board_shows_at_first() -> None:
    names = ["rank/1", "rank/2", "rank/3"]
    record = ClassRecord("CDF34", 0.0, None, None, (), (member("a"),), (), ())
    assert shown_at_first(record, "rank", names) == "rank/1"
    assert shown_at_first(record, "", names) == "rank/1"
    answered = replace(record, answers=(said("a", 1, 1, task="rank/2"),))
    assert shown_at_first(answered, "rank", names) == "rank/2"
    assert shown_at_first(replace(answered, place="rank/3"), "rank", names) == "rank/3"


def test_the_table_of_gains() -> None:
    """Ada has 2 of 8 before and 5 after: half of the 6 that were missing. Bob took one of them."""

    def taken(name: str, when: str, right: int, seconds: float | None) -> list[Answer]:
        items = [item_name("rank", when, number) for number in range(1, 9)]
        return [
            Answer(name, item, 1, 1, "x", float(n < right), 0.0, seconds)
            for n, item in enumerate(items)
        ]

    answers = (*taken("a", BEFORE, 2, 90), *taken("a", AFTER, 5, 60), *taken("b", AFTER, 8, None))
    people = (member("a", "Ada"), member("b"), member("c"))
    record = ClassRecord("CDF34", 0.0, None, None, (), people, answers, ())
    assert rows(gains_csv(record, ["rank", "dyck"])) == [
        dict(
            zip(
                ("student", "nickname", "quiz", "before", "after", "gain", *TIMES), row, strict=True
            )
        )
        for row in (
            ("1", "Ada", "rank", "0.25", "0.625", "0.5", "90", "60"),
            ("2", "", "rank", "", "1.0", "", "", ""),
        )
    ]


def rows(data: bytes) -> list[dict[str, str]]:
    assert data.startswith(codecs.BOM_UTF8)  # by which Excel knows UTF-8
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"))))


def test_tables_have_every_digit_and_no_formula() -> None:
    third = 1 / 3
    answers = (said("p", 1, third, "-1"), said("q", 1, 1, '=HYPERLINK("x")'), said("gone", 1, 1))
    hand_ins = (
        HandIn("p", 1, "@SUM(A1)", 0.5),
        HandIn("q", 1, "http://lab/?rank=3\nand, more", 0.25),
    )
    record = ClassRecord(
        "CDF34",
        0.0,
        None,
        None,
        (),
        (member("p", "=cmd|' /C calc'!A0"), member("q", 'Bob, "B"')),
        answers,
        hand_ins,
    )
    table = rows(answers_csv(record))
    assert float(table[0]["credit"]) == third and table[0]["nickname"] == "'=cmd|' /C calc'!A0"
    assert [row["answer"] for row in table] == ["'-1", '\'=HYPERLINK("x")'] and [
        row["student"] for row in table
    ] == ["1", "2"]
    assert (
        table[0]["time (UTC)"] == "1970-01-01T00:00:11.000" and table[1]["nickname"] == 'Bob, "B"'
    )
    assert [row["handed in"] for row in rows(hand_ins_csv(record))] == [
        "'@SUM(A1)",
        "http://lab/?rank=3\nand, more",
    ]
    assert "gone" not in answers_csv(record).decode()
