"""Models refined on the values of strings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nlwfa_core import limits
from nlwfa_core.errors import Cancelled, RecipeError
from nlwfa_core.hankel.valued_strings import ValuedStrings
from nlwfa_core.learning.progress import Progress
from nlwfa_core.learning.refine import values
from nlwfa_core.learning.refine.values import _LeastSquares, _Problem, refine_values
from nlwfa_core.models.nlwfa import NLWFA
from nlwfa_core.models.reading import StringReading
from nlwfa_core.models.wfa import WFA
from nlwfa_core.sources.random_automata import random_wfa
from nlwfa_core.strings.words import Alphabet, FloatArray
from tests.references import all_words, ring


def valued(values: FloatArray, longest: int) -> ValuedStrings:
    return ValuedStrings(all_words(2, longest), values, Alphabet.numbered(2))


def squared_error(model: WFA | NLWFA, strings: ValuedStrings) -> float:
    """As the log has it, but word by word."""
    return float(
        ((model.weights(strings.words) - strings.values) ** 2).sum() / (strings.values**2).sum()
    )


def random_network(k: int, seed: int, nonlinear: tuple[bool, bool], link: str, wide: bool) -> NLWFA:
    rng = np.random.default_rng(seed)
    transitions = (
        (rng.normal(size=(2, k, 2 * k)), rng.normal(size=(2, 2 * k, k)))
        if wide
        else (rng.normal(size=(2, k, k)),)
    )
    decoder, last = ((rng.normal(size=(k, 3)),), 3) if wide else ((), k)
    return NLWFA(
        rng.normal(size=k),
        transitions,
        decoder,
        rng.normal(size=(last, 2)),
        *nonlinear,
        StringReading(link),
    )


@settings(max_examples=15, deadline=None)
@given(
    st.integers(0, 1000),
    st.integers(1, 3),
    st.tuples(st.booleans(), st.booleans()),
    st.sampled_from(["identity", "square"]),
    st.booleans(),
)
def test_the_loss_is_the_models_and_never_ends_above_its_start(
    seed: int, k: int, nonlinear: tuple[bool, bool], link: str, wide: bool
) -> None:
    strings = valued(np.random.default_rng(seed).normal(size=15) * 10.0 ** (seed % 7 - 3), 3)
    model = random_network(k, seed, nonlinear, link, wide)
    learned, log = refine_values(model, strings, restarts=seed % 2 * 3, iterations=3, seed=seed)
    assert log.losses[0] == pytest.approx(squared_error(model, strings), rel=1e-9)
    assert log.losses[-1] == pytest.approx(squared_error(learned, strings), rel=1e-9)
    assert log.losses[-1] <= log.losses[0]
    assert [layer.shape for layer in learned.transitions] == [
        layer.shape for layer in model.transitions
    ]


def test_no_step_changes_nothing() -> None:
    model = random_wfa(2, 2, 0)
    learned, log = refine_values(model, valued(np.arange(7.0), 2), restarts=0, iterations=0)
    np.testing.assert_array_equal(learned.weights(all_words(2, 4)), model.weights(all_words(2, 4)))
    assert log.losses[0] == log.losses[1]


@pytest.mark.parametrize("factor", [2.0**-12, 2.0**12])
def test_values_in_another_unit_are_refined_alike(factor: float) -> None:
    """Powers of 4 round nothing: the values of the refined model are those in the other unit."""
    values = np.random.default_rng(0).normal(size=15)
    model = random_wfa(2, 2, 0)
    (one, log), (other, other_log) = (
        refine_values(
            replace(model, termination=by * model.termination),
            valued(by * values, 3),
            restarts=0,
            iterations=4,
        )
        for by in (1.0, factor)
    )
    assert log.losses[-1] < log.losses[0] and log.losses.tolist() == other_log.losses.tolist()
    words = all_words(2, 4)
    np.testing.assert_array_equal(other.weights(words), factor * one.weights(words))


def test_the_jacobian_is_that_of_finite_differences() -> None:
    problem = _Problem(
        random_network(2, 0, (True, True), "square", True), valued(np.arange(7.0), 2)
    )
    squares = _LeastSquares(problem, 7, 0.5)
    J = squares._jacobians(problem.start[None])[0]
    steps = 1e-6 * torch.eye(len(problem.start), dtype=torch.float64)
    both = (squares._all_residuals(problem.start + sign * steps) for sign in (1, -1))
    ahead, behind = both
    torch.testing.assert_close(J.T, (ahead - behind) / 2e-6, atol=1e-8, rtol=1e-6)


def test_steps_are_damped_by_a_share_of_the_mean_diagonal(monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand: JᵀJ has the diagonal (4, 16), of which a tenth of the mean is 1."""
    problem = _Problem(random_wfa(1, 1, 0), valued(np.arange(7.0), 2))
    squares = _LeastSquares(problem, 7, 0.0)
    J = torch.diag(torch.tensor([2.0, 4.0], dtype=torch.float64))
    residuals = torch.ones(1, 2)
    monkeypatch.setattr(squares, "_jacobians", lambda vectors: J[None])
    monkeypatch.setattr(squares, "_all_residuals", lambda vectors: residuals.double())
    steps = squares._steps(torch.zeros(1, 2), torch.tensor([0.1], dtype=torch.float64))
    assert steps[0].tolist() == pytest.approx([-2 / (4 + 1), -4 / (16 + 1)])


def test_as_many_random_models_are_tried_as_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "STARTS_PER_BATCH", 2)
    drawn = []
    random = _Problem.random

    def noted(problem: _Problem, number: int, generator: torch.Generator) -> torch.Tensor:
        drawn.append(number)
        return random(problem, number, generator)

    monkeypatch.setattr(_Problem, "random", noted)
    refine_values(random_wfa(2, 2, 0), valued(np.arange(7.0), 2), restarts=3, iterations=0)
    assert drawn == [2, 1]


@pytest.mark.parametrize("seed", range(3))
def test_a_squared_function_is_found_with_the_states_of_its_root(seed: int) -> None:
    """Its rank is 3, and that of |f| is not bounded: f changes its sign ([P] §3)."""
    f = random_wfa(2, 2, seed)
    nothing = NLWFA(
        np.ones(2),
        (np.zeros((2, 2, 2)),),
        (),
        np.ones((2, 2)),
        False,
        False,
        StringReading("square"),
    )
    words = all_words(2, 6)
    learned, log = refine_values(
        nothing, ValuedStrings(words, f.weights(words) ** 2, Alphabet.numbered(2)), restarts=64
    )
    longer = all_words(2, 9)
    np.testing.assert_allclose(
        learned.weights(longer), f.weights(longer) ** 2, atol=1e-9 * f.weights(words).max() ** 2
    )
    assert log.losses[-1] < 1e-20


def test_a_linear_function_is_found_from_half_of_its_values() -> None:
    wfa = ring(3)
    words = all_words(2, 7)
    shown, hidden = ValuedStrings(words, wfa.weights(words), Alphabet.numbered(2)).split(
        [len(words) // 2, len(words) // 2], 0
    )
    zero = WFA(np.zeros(3), np.zeros((2, 3, 3)), np.zeros(3))
    learned, _ = refine_values(zero, shown, restarts=64, seed=1)
    np.testing.assert_allclose(learned.weights(hidden.words), hidden.values, atol=1e-8)


def test_an_overflowing_start_is_no_obstacle() -> None:
    huge = WFA(np.full(2, 1e200), np.full((2, 2, 2), 1e200), np.ones(2))
    learned, log = refine_values(huge, valued(np.arange(15.0), 3), restarts=8)
    assert not np.isfinite(log.losses[0])
    assert log.losses[-1] == pytest.approx(squared_error(learned, valued(np.arange(15.0), 3)))


def test_equal_seeds_give_equal_models() -> None:
    first, second, other = (
        refine_values(
            random_wfa(2, 2, 0),
            valued(np.sin(np.arange(31.0)), 4),
            restarts=8,
            iterations=5,
            seed=seed,
        )[0].initial
        for seed in (3, 3, 4)
    )
    assert first.tobytes() == second.tobytes() != other.tobytes()


def test_what_can_not_be_refined_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_wfa(2, 2, 0)
    strings = valued(np.arange(7.0), 2)
    for name in ("restarts", "iterations"):
        with pytest.raises(RecipeError, match=f"{name} must be at least 0; got -1"):
            refine_values(model, strings, **{name: -1})
    with pytest.raises(RecipeError, match="every value is 0"):
        refine_values(model, replace(strings, values=np.zeros(7)))
    monkeypatch.setitem(limits.IN_FORCE, "jacobian_numbers", 10_000)
    with pytest.raises(
        RecipeError,
        match=r"the size of the Jacobians \(starts × strings × parameters\) must be at most "
        r"10,000; got 10,752",
    ):
        refine_values(model, strings)
    monkeypatch.setitem(limits.IN_FORCE, "jacobian_numbers", 700)
    # 8 of them, and the model itself, may be trained on all 7 strings
    with pytest.raises(RecipeError, match="must be at most 700; got 756"):
        refine_values(model, strings, restarts=1)


def test_it_reports_and_stops() -> None:
    reports: list[Progress] = []
    refine_values(
        random_wfa(2, 2, 0),
        valued(np.arange(31.0), 4),
        restarts=140,
        iterations=2,
        report=reports.append,
    )
    assert [(progress.step, progress.total) for progress in reports] == [
        (step, 6) for step in range(7)
    ]
    with pytest.raises(Cancelled):
        refine_values(random_wfa(2, 2, 0), valued(np.arange(31.0), 4), cancelled=lambda: True)
