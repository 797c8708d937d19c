"""Several starts of the two steps: which one is chosen, by what, and what a recipe says of it."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nlwfa_core.errors import Cancelled, RecipeError
from nlwfa_core.experiment.pipeline import run
from nlwfa_core.experiment.recipe import DataRecipe, Recipe
from nlwfa_core.experiment.results import load_result, save_result
from nlwfa_core.hankel.estimate import build_hankel
from nlwfa_core.hankel.matrix import HankelMatrix
from nlwfa_core.hankel.recipe import HankelRecipe
from nlwfa_core.learning.assembly import Steps
from nlwfa_core.learning.fitting import fit
from nlwfa_core.learning.names import BY_RANK, FEW_STATES, NEAR_BEST, STARTS_OF_FEW_STATES
from nlwfa_core.learning.progress import TrainingLog, never, silent
from nlwfa_core.learning.refine.hankel import rolled_out_error
from nlwfa_core.learning.spectral import linear_loss
from nlwfa_core.learning.two_steps import (
    FitCache,
    network_steps,
    string_model,
)
from nlwfa_core.metrics.evaluate import next_symbol_score
from nlwfa_core.sources.dyck import Dyck
from tests.core.records import learning_of

SAMPLE = Dyck().sample(500, seed=1)
HANKEL = build_hankel(SAMPLE, HankelRecipe(num_prefixes=60, num_suffixes=50))
SHORT = {"epochs_factorisation": 40, "epochs_transitions": 60}


def steps_of(options: Any, start: int = 0) -> Steps:
    return network_steps(
        HANKEL, options, start=start, cache=FitCache(), report=silent, cancelled=never
    )


def relative_error(hankel: HankelMatrix, steps: Steps) -> float:
    """Σ ‖φ'(G_u(α₀)) − H_u‖² / ‖H‖² over P', one prefix at a time."""
    tanh = [np.tanh if nonlinear else np.asarray for nonlinear in steps.nonlinear]
    prefixes = list(hankel.basis.prefixes)
    shifted = hankel.shifted
    rows = {(): 0} | {
        (*u, symbol): int(shifted[row, symbol])
        for row, u in enumerate(prefixes)
        for symbol in range(2)
    }
    H = hankel.matrix.toarray()
    wrong = 0.0
    norm = 0.0
    for word, row in rows.items():
        state = steps.initial
        for symbol in word:
            for layer in steps.transitions:
                state = tanh[0](state @ layer[symbol])
        *hidden, last = steps.decoder
        for layer in hidden:
            state = tanh[1](state @ layer)
        wrong += ((state @ last - H[row]) ** 2).sum()
        norm += (H[row] ** 2).sum()
    return float(wrong / norm)


@pytest.mark.parametrize("learner", ["fac.non", "tran.non", "both.non"])
def test_the_rolled_out_error_is_that_of_each_prefix(learner: str) -> None:
    steps = steps_of(learning_of(learner, 3, **SHORT))
    assert rolled_out_error(HANKEL, steps) == pytest.approx(relative_error(HANKEL, steps), rel=1e-9)


@pytest.mark.parametrize("learner", ["fac.non", "tran.non", "both.non"])
def test_the_best_start_has_the_smallest_error(learner: str) -> None:
    options = learning_of(learner, 3, starts=4, **SHORT)
    learned = fit(HANKEL, options)
    errors = learned.report.start_errors
    assert errors == tuple(rolled_out_error(HANKEL, steps_of(options, start)) for start in range(4))
    best = int(np.argmin(errors))
    assert errors[best] <= errors[0]
    assert {(log.start, log.starts) for log in learned.report.logs} == {(best + 1, 4)}
    assert all(
        log.summary.endswith(f"; the best of 4 starts, number {best + 1}")
        for log in learned.report.logs
    )
    expected = steps_of(options, best)
    for ours, theirs in zip(
        (*learned.model.transitions, *learned.model.decoder),
        (*expected.transitions, *expected.decoder),
        strict=False,
    ):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("learner", ["fac.non", "tran.non", "both.non"])
def test_each_start_has_weights_of_its_own(learner: str) -> None:
    """The generator reads 32 bits of a seed."""
    options = learning_of(learner, 3, epochs_factorisation=1, epochs_transitions=1)
    layers = [
        (steps.transitions if learner == "tran.non" else steps.decoder)[0]
        for start in range(6)
        if (steps := steps_of(options, start))
    ]
    assert len({layer.tobytes() for layer in layers}) == 6


def test_validation_strings_choose_among_the_starts_near_the_best() -> None:
    validation = Dyck().sample(100, seed=2)
    options = learning_of("both.non", 3, starts=4, **SHORT)
    learned = fit(HANKEL, options, validation=validation)
    errors = np.array([rolled_out_error(HANKEL, steps_of(options, start)) for start in range(4)])
    assert learned.report.start_errors == tuple(errors)
    bits = [
        next_symbol_score(string_model(HANKEL, steps_of(options, start)), validation)
        for start in range(4)
    ]
    near = np.flatnonzero(errors <= NEAR_BEST * errors.min()).tolist()
    best = min(near, key=lambda start: bits[start].bits_per_symbol)
    assert learned.report.logs[0].start == best + 1
    np.testing.assert_array_equal(
        learned.model.transitions[0], steps_of(options, best).transitions[0]
    )


def test_a_start_that_is_far_off_the_rows_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few bits it has: they say nothing about the weights of strings."""
    errors = iter([0.1, 0.14, 0.2])
    bits = iter([2.0, 1.5, 1.0])
    path = "nlwfa_core.learning.two_steps"
    monkeypatch.setattr(f"{path}.rolled_out_error", lambda hankel, steps: next(errors))
    monkeypatch.setattr(f"{path}._bits", lambda hankel, steps, validation: next(bits))
    learned = fit(HANKEL, learning_of("tran.non", 2, starts=3, **SHORT), validation=SAMPLE)
    assert learned.report.logs[0].start == 2


def test_all_starts_but_the_first_begin_at_random_weights() -> None:
    options = learning_of("fac.non", 2, starts=2, epochs_factorisation=0)
    first, second = (steps_of(options, start).logs[0].losses[0] for start in range(2))
    assert first == pytest.approx(linear_loss(HANKEL, 2), rel=0.05) and second > 1.5 * first


def test_one_start_is_the_seeds_own() -> None:
    one = fit(HANKEL, "both.non", rank=3, starts=1, **SHORT)
    first = steps_of(learning_of("both.non", 3, **SHORT))
    assert one.report.start_errors == () and {
        (log.start, log.starts) for log in one.report.logs
    } == {(1, 1)}
    np.testing.assert_array_equal(one.model.transitions[0], first.transitions[0])


def test_starts_are_the_same_each_time() -> None:
    first, second = (fit(HANKEL, "both.non", rank=2, starts=3, seed=5, **SHORT) for _ in range(2))
    assert first.report.start_errors == second.report.start_errors
    np.testing.assert_array_equal(first.model.transitions[0], second.model.transitions[0])


def test_a_cache_changes_nothing() -> None:
    cache = FitCache()
    for learner in ("tran.non", "both.non", "fac.non", "tran.non"):
        options = learning_of(learner, 2, starts=2, **SHORT)
        with_cache = fit(HANKEL, options, cache=cache)
        without = fit(HANKEL, options)
        np.testing.assert_array_equal(with_cache.model.transitions[0], without.model.transitions[0])


def test_a_start_can_be_cancelled() -> None:
    calls = count()
    with pytest.raises(Cancelled):
        fit(HANKEL, "both.non", rank=2, starts=3, cancelled=lambda: next(calls) > 150, **SHORT)
    assert next(calls) > 150  # one start asks 100 times


def test_a_start_that_diverges_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = iter([float("nan"), 0.5, float("nan")])
    monkeypatch.setattr(
        "nlwfa_core.learning.two_steps.rolled_out_error", lambda hankel, steps: next(errors)
    )
    learned = fit(HANKEL, learning_of("tran.non", 2, starts=3, **SHORT))
    assert learned.report.start_errors == (float("inf"), 0.5, float("inf"))
    assert learned.report.logs[0].start == 2


def test_how_many_starts() -> None:
    def number(starts: int, rank: int, optimizer: str) -> int:
        options = learning_of("both.non", rank, starts=starts, optimizer=optimizer)
        return int(options.number_of_starts)

    assert number(BY_RANK, FEW_STATES, "lbfgs") == STARTS_OF_FEW_STATES
    assert number(BY_RANK, FEW_STATES + 1, "lbfgs") == 1
    assert number(BY_RANK, FEW_STATES, "adamax") == 1
    assert learning_of("both.non", 3).starts == BY_RANK
    assert learning_of("both.non", 3, optimizer="adamax").starts == 1
    assert number(5, 20, "adamax") == 5
    assert learning_of("PFA", 2, starts=BY_RANK).number_of_starts == 1
    with pytest.raises(RecipeError, match="starts must be at most 100; got 101"):
        learning_of("both.non", 2, starts=101)


def test_a_result_says_which_start_was_chosen(tmp_path: Path) -> None:
    recipe = Recipe(
        data=DataRecipe(num_strings=200, num_test=20),
        hankel=HankelRecipe(num_prefixes=20, num_suffixes=20),
        learning=learning_of("tran.non", 2, starts=3, epochs_transitions=20),
    )
    result = run(recipe)
    infinite = replace(
        result,
        report=replace(result.report, start_errors=(float("inf"), *result.report.start_errors[1:])),
    )
    for name, one in (("whole", result), ("infinite", infinite)):
        save_result(tmp_path / name, one)
        report = load_result(tmp_path / name).report
        assert report.start_errors == one.report.start_errors and len(report.start_errors) == 3
        assert [(log.start, log.starts) for log in report.logs] == [
            (log.start, log.starts) for log in result.report.logs
        ]
    assert TrainingLog("transitions", np.ones(1)).starts == 1
