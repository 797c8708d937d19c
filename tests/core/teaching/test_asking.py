"""Learning by asking, stage by stage."""

from __future__ import annotations

import numpy as np
import pytest

from nlwfa_core import WFA, Words
from nlwfa_core.models.algebra import counterexample, equivalent, minimise
from nlwfa_core.strings.plain import as_alphabet
from nlwfa_core.teaching.automata.asking import LONGER, STATE, learned_by_asking
from nlwfa_core.teaching.automata.examples import EXAMPLES, example


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_stage_adds_a_state_until_the_hypothesis_is_the_automaton(name: str) -> None:
    target = example(name).automaton
    lesson = learned_by_asking(target, 10)
    assert len(lesson.stages) == minimise(target).num_states + 1
    for number, stage in enumerate(lesson.stages):
        assert stage.hypothesis.num_states == len(stage.prefixes) == len(stage.suffixes) == number
        assert stage.counterexample == counterexample(target, stage.hypothesis)
    assert equivalent(lesson.stages[-1].hypothesis, target)
    assert lesson.answer(len(lesson.stages) - 1).startswith("Yes, on every string.")


def test_the_table_is_a_block_of_the_hankel_matrix_whose_rank_grows() -> None:
    target = example("dyck-2").automaton
    lesson = learned_by_asking(target, 10)
    for number, stage in enumerate(lesson.stages):
        table = lesson.table(number)
        assert list(table)[:2] == ["prefix", "is"]
        assert table["is"] == [STATE] * number + [LONGER] * (len(table["is"]) - number)
        rows = np.array([column.values for column in list(table.values())[2:]]).T  # type: ignore[union-attr]
        assert not number or np.linalg.matrix_rank(rows) == number
        words = Words.of([(*u, *v) for u in stage.prefixes for v in stage.suffixes])
        expected = target.weights(words).reshape(number, number)
        np.testing.assert_array_equal(rows[:number] if number else expected, expected)


def test_answers_name_the_counterexample_and_both_weights() -> None:
    """By hand: λ has weight 1, and the one state that follows from it gives aa weight 0."""
    lesson = learned_by_asking(example("even-a").automaton, 10)
    assert lesson.answer(0) == "No: λ has weight 1, not 0."
    assert lesson.answer(1) == "No: aa has weight 1, not 0."
    assert lesson.step(0) == "" and lesson.step(2).startswith("Row a, column a was wrong")
    assert lesson.answer(2) == (
        "Yes, on every string. The learner asked for the weights of 8 strings, and needed 2 "
        "counterexamples."
    )


def test_an_automaton_that_is_0_everywhere_needs_no_counterexample() -> None:
    target = WFA([0.0], [[[0.5]]], [1.0], as_alphabet("a"))
    lesson = learned_by_asking(target, 10)
    assert len(lesson.stages) == 1 and lesson.answer(0).startswith("Yes")
    assert lesson.table(0) == {"prefix": [], "is": []}


def test_it_stops_at_the_largest_number_of_states() -> None:
    lesson = learned_by_asking(example("dyck-2").automaton, 2)
    assert len(lesson.stages) == 3 and lesson.answer(2).startswith("No: [[]] has weight")
