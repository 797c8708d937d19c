"""Quizzes: eight items for each lesson, whose numbers are computed again, and the normalised
gain.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core import DataRecipe, Words, as_sample, load_data
from nlwfa_core.errors import FormatError, RecipeError
from nlwfa_core.history.classes import Answer
from nlwfa_core.learning.merging import PDFATraining, fit_pdfa
from nlwfa_core.metrics.pautomac_score import pautomac_score
from nlwfa_core.teaching.answers import ChoiceKey
from nlwfa_core.teaching.lessons import read_lessons
from nlwfa_core.teaching.quizzes import (
    AFTER,
    BEFORE,
    SEEDS,
    class_gain,
    item_name,
    normalised_gain,
    read_quiz,
    read_quizzes,
    shares,
)
from nlwfa_core.teaching.shipped import ASSETS
from nlwfa_core.teaching.tasks.bank import read_bank
from tests.core.teaching.test_tasks import ANSWERS, entered

BANK = read_bank(ASSETS / "tasks")
QUIZZES = read_quizzes(ASSETS / "quizzes", BANK)


def test_each_lesson_has_a_quiz() -> None:
    lessons = read_lessons(ASSETS / "lessons")
    assert list(QUIZZES) == list(lessons)
    for name, quiz in QUIZZES.items():
        assert quiz.title == lessons[name].title and len(quiz.items) == 8


@pytest.mark.parametrize("name", list(QUIZZES))
@pytest.mark.parametrize("when", list(SEEDS))
def test_answers_are_computed_again(name: str, when: str) -> None:
    """Every number; what is chosen in words is chosen by the author, and the bank's kinds of it are
    computed as well.
    """
    for task in QUIZZES[name].tasks(when):
        key = task.question.key
        assert key is not None and key.check(key.best).correct
        compute = ANSWERS.get(task.kind.name)
        if compute:
            assert key.check(entered(compute(task.kind.values(task.seed)))).correct
        else:
            assert isinstance(key, ChoiceKey) and task.kind.generator == "fixed"
            for option in key.options:
                assert option.right or option.reason
        for text in (task.text, task.question.text, task.question.solution):
            assert "{{" not in text


def test_the_number_in_a_choice_is_the_librarys() -> None:
    assert pautomac_score(np.array([0.5, 0.0]), np.array([0.5, 0.5])).log2 == math.inf


def test_what_the_items_on_merging_say() -> None:
    """The tree gives a string that was not seen the weight 0, and few strings give few states."""
    sample = as_sample(["", "ab", "ab", "aabb"])
    training = PDFATraining(penalty=0.0, min_count=0, pseudo_count=0.0)
    tree = fit_pdfa(sample, 20, training)
    assert tree.num_states == 5  # of six beginnings: ab and aabb have the same future
    words = Words.of([(0, 1), (0, 1, 0, 1), (0,), (1,)])  # ab, abab, a, b
    assert tree.weights(words) == pytest.approx([0.5, 0, 0, 0])
    states = [
        fit_pdfa(load_data(DataRecipe(source="tomita", grammar=6, num_strings=n)).train, 8)
        for n in (20, 500)
    ]
    assert states[0].num_states < states[1].num_states == 3


def test_before_and_after_have_other_numbers() -> None:
    for quiz in QUIZZES.values():
        for first, second in zip(quiz.tasks(BEFORE), quiz.tasks(AFTER), strict=True):
            assert first.kind == second.kind
            assert (
                first.kind.generator == "fixed"
                or first.text + first.question.text != second.text + second.question.text
            )
    with pytest.raises(RecipeError, match="when must be one of before, after; got 'during'"):
        QUIZZES["rank"].tasks("during")


OWN_ITEM = "## One\nname: one\ngenerator: fixed\n\n? What?\nanswer: 3\nSo.\n"


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ("cell, kl, gap, wer, bits, root, sum, on", "no item 'on'; did you mean one?"),
        ("cell, kl, gap, wer, bits, root, one", "8 different items; got 7"),
        ("cell, kl, gap, wer, bits, root, one, one", "8 different items; got 7"),
        ("cell, kl, gap, wer, bits, root, sum, mass", "'one' is not among the items"),
    ],
)
def test_errors_in_a_file(items: str, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        read_quiz("x", f"---\ntitle: T\nitems: {items}\n---\n{OWN_ITEM}", BANK)
    assert caught.value.line == 3


def test_gain_by_hand() -> None:
    """Averages 0.5 and 0.75: half of what was missing."""
    gain = normalised_gain([0.25, 0.75, 0.5, 0.5, 0.5], [0.75] * 5)
    assert gain.gain is not None and (gain.before, gain.after, gain.gain.estimate) == (
        0.5,
        0.75,
        0.5,
    )
    assert gain.gain.low < 0.5 < gain.gain.high
    few = normalised_gain([0.5], [0.25])
    assert few.gain is not None and few.gain.estimate == -0.5 and math.isnan(few.gain.low)
    assert normalised_gain([1.0, 1.0], [1.0, 0.5]).gain is None
    assert normalised_gain([], []).number == 0 and math.isnan(normalised_gain([], []).before)
    for before, after, message in (
        ([0.5], [], "the same number of people; got 1 and 0"),
        ([2], [0], "between 0 and 1; got 2"),
    ):
        with pytest.raises(RecipeError, match=message):
            normalised_gain(before, after)


def test_the_interval_is_the_bootstraps() -> None:
    """Against an independent resampling, person by person."""
    rng = np.random.default_rng(5)
    before = rng.integers(1, 5, 30) / 8
    after = rng.integers(3, 9, 30) / 8
    gain = normalised_gain(list(before), list(after)).gain
    assert gain is not None
    drawn = np.random.default_rng(6).integers(0, 30, (4000, 30))
    values = (after[drawn].mean(axis=1) - before[drawn].mean(axis=1)) / (
        1 - before[drawn].mean(axis=1)
    )
    np.testing.assert_allclose(
        [gain.low, gain.high], np.quantile(values, [0.025, 0.975]), atol=0.02
    )


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=40))
def test_gain_is_at_most_one_and_inside_its_interval(pairs: list[tuple[int, int]]) -> None:
    gain = normalised_gain([first / 8 for first, _ in pairs], [second / 8 for _, second in pairs])
    if gain.gain is not None:
        assert gain.gain.estimate <= 1 + 1e-12
        assert math.isnan(gain.gain.low) or gain.gain.low <= gain.gain.high <= 1 + 1e-12


def test_only_people_who_took_both_count() -> None:
    def taken(member: str, when: str, right: int) -> list[Answer]:
        return [
            Answer(member, item_name("rank", when, i), 1, 1, "x", float(i <= right), 0.0)
            for i in range(1, 9)
        ]

    half = Answer("ada", item_name("dyck", BEFORE, 1), 1, 1, "x", 0.5, 0.0)
    answers = [
        *taken("ada", BEFORE, 2),
        *taken("ada", AFTER, 5),
        *taken("bob", BEFORE, 8),
        *taken("cy", AFTER, 8),
        half,
    ]
    assert shares(answers, "rank", BEFORE) == {"ada": 0.25, "bob": 1.0} and shares(
        answers, "dyck", BEFORE
    ) == {"ada": 0.0}
    gain = class_gain(answers, "rank")
    assert gain.gain is not None and (gain.number, gain.gain.estimate) == (1, 0.5)
