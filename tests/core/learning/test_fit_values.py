"""Any function of strings, learned from the values of some."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nlwfa_core.errors import Cancelled, RecipeError
from nlwfa_core.hankel.valued_strings import ValuedStrings, observed_hankel, value_scores
from nlwfa_core.learning.completion import complete, fit_completed
from nlwfa_core.learning.functions.fit_values import _root, fit_values, map_messages
from nlwfa_core.learning.learners import HANKEL_LEARNERS, VALUE_LEARNERS
from nlwfa_core.learning.progress import Progress
from nlwfa_core.models.nlwfa import NLWFA
from nlwfa_core.models.wfa import WFA
from nlwfa_core.sources.random_automata import random_wfa
from nlwfa_core.strings.words import Alphabet, Words
from tests.core.records import learning_of
from tests.references import all_words, ring

AB = Alphabet(("a", "b"))
SHORT: dict[str, Any] = {"epochs_factorisation": 20, "epochs_transitions": 10}


def values_of(wfa: WFA, longest: int = 7) -> ValuedStrings:
    words = all_words(2, longest)
    return ValuedStrings(words, wfa.weights(words), AB)


def relative(model: WFA | NLWFA, strings: ValuedStrings) -> float:
    scores = value_scores(model.weights(strings.words), strings.values)
    return scores.rmse / scores.zero_rmse


def halves(strings: ValuedStrings) -> list[ValuedStrings]:
    size = len(strings.words) // 2
    return strings.split([len(strings.words) - size, size], 0)


def test_sp_is_the_completion() -> None:
    given, held_out = halves(values_of(ring(2)))
    learned = fit_values(given, learner="SP", rank=2, basis=given.basis(20, 20))
    hankel = observed_hankel(given, given.basis(20, 20))
    expected = fit_completed(hankel, complete(hankel, 2))
    np.testing.assert_allclose(
        learned.model.weights(held_out.words), expected.weights(held_out.words)
    )
    assert learned.report.messages == ()
    assert learned.report.num_states == learned.report.rank == 2


@pytest.mark.parametrize("learner", HANKEL_LEARNERS)
@pytest.mark.parametrize("transform", ["none", "sqrt"])
@pytest.mark.parametrize("refine", ["none", "values"])
def test_every_combination_learns(learner: str, transform: str, refine: str) -> None:
    square = values_of(random_wfa(2, 2, 0).squared(), 4)
    given = ValuedStrings(square.words, np.maximum(square.values, 0), AB)
    fields = {**SHORT, "refine": refine, "restarts": 1}
    options = VALUE_LEARNERS[learner].adapted(fields, rank=2)
    learned = fit_values(given, options, basis=given.basis(15, 15), transform=transform)
    assert isinstance(learned.model, WFA) == (learner == "SP" and transform == "none")
    assert np.isfinite(relative(learned.model, given))
    if transform == "sqrt":
        assert learned.model.weights(all_words(2, 9)).min() >= 0
    if refine == "values":
        log = learned.report.logs[-1]
        assert log.losses[-1] <= log.losses[0]
        assert relative(learned.model, given) ** 2 == pytest.approx(log.losses[-1])


def test_a_refined_root_is_the_squared_function() -> None:
    """f changes its sign, so the roots of its square are no function of low rank; two states give
    the square all the same.
    """
    f = random_wfa(2, 2, 1)
    words = all_words(2, 8)
    given, held_out = halves(ValuedStrings(words, f.weights(words) ** 2, AB))
    basis = given.basis(31, 31)
    steps = fit_values(given, "SP", 2, basis=basis, transform="sqrt")
    refined = fit_values(
        given, "SP", 2, basis=basis, transform="sqrt", refine="values", restarts=128
    )
    assert relative(steps.model, held_out) > 0.1
    assert relative(refined.model, held_out) < 1e-8


def test_the_root_of_a_linear_model_has_the_right_rank() -> None:
    """Three states have six products: with fewer, the square is another function."""
    f = random_wfa(3, 2, 5)
    words = all_words(2, 9)
    given = ValuedStrings(words, f.weights(words) ** 2, AB)
    root = _root(given, 3)
    assert root is not None and root.num_states == 3
    values = root.weights(words) ** 2
    wanted = given.values
    assert np.allclose(values, wanted, atol=1e-6 * np.abs(wanted).max())


@pytest.mark.parametrize("learner", HANKEL_LEARNERS)
def test_a_symbol_of_which_nothing_is_known_leads_to_zero(learner: str) -> None:
    given = ValuedStrings(
        Words.of([(), (0,), (0, 0), (0, 0, 0)]), np.array([1.0, 0.5, 0.25, 0.125]), AB
    )
    options = VALUE_LEARNERS[learner].adapted(SHORT, rank=1)
    learned = fit_values(given, options, basis=given.basis(3, 3))
    assert learned.model.weights(Words.of([(1,), (0, 1, 0)])).tolist() == [0, 0]
    assert learned.report.messages == (
        "No pair of rows with enough known values shows where b leads: its map is zero.",
    )


def test_messages_name_the_symbols() -> None:
    known = np.array([[False] * 6 + [True, True], [False] * 7 + [True]])
    assert map_messages(known, 2, Alphabet(tuple("abcdefgh"))) == [
        "No pair of rows with enough known values shows where a, b, c, d, e, … leads: its "
        "map is zero.",
        "The pairs of rows with enough known values that show where g leads are fewer than the "
        "model's 2 states.",
    ]


def test_what_can_not_be_learned_is_refused() -> None:
    given = values_of(ring(2), 3)
    for learner, rank, message in (
        ("RNN", 1, "learner must be one of SP, .*; got 'RNN'"),
        ("HMM", 1, "learner must be one of SP, fac.non, tran.non, both.non; got 'HMM'"),
        ("SP", 0, "rank must be at least 1; got 0"),
        ("SP", 99, "rank must be between 1 and .*; got 99"),
    ):
        with pytest.raises(RecipeError, match=message):
            fit_values(given, learner, rank)
    with pytest.raises(RecipeError, match="options of SP for this use are a ValueSP; got a SP"):
        fit_values(given, learning_of("SP", 2))
    for changes, message in (
        ({"transform": "row"}, "transform must be one of none, sqrt; got 'row'"),
        ({"refine": "hankel"}, "refine must be one of none, values; got 'hankel'"),
        ({"ridge": 0.0}, "ridge must be above 0; got 0.0"),
    ):
        with pytest.raises(RecipeError, match=message):
            fit_values(given, learner="SP", rank=1, **changes)
    with pytest.raises(RecipeError, match="because H has negative entries; got 'sqrt'"):
        fit_values(
            ValuedStrings(given.words, -np.ones(len(given.words)), AB),
            learner="SP",
            rank=1,
            transform="sqrt",
        )
    with pytest.raises(RecipeError, match="start must be one of random, svd; got 'warm'"):
        fit_values(given, learner="fac.non", rank=1, start="warm")


def test_it_reports_each_stage_and_stops() -> None:
    reports: list[Progress] = []
    given = values_of(ring(2))
    fit_values(
        given,
        learner="both.non",
        rank=2,
        basis=given.basis(15, 15),
        refine="values",
        restarts=1,
        report=reports.append,
        **SHORT,
    )
    assert list(dict.fromkeys(progress.stage for progress in reports)) == [
        "factorisation",
        "transitions",
        "refinement",
    ]
    with pytest.raises(Cancelled):
        fit_values(values_of(ring(2)), learner="SP", rank=2, cancelled=lambda: True)
