"""Training to convergence: closed forms, L-BFGS, when it stops, and what a log says about it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from nlwfa_core.errors import RecipeError
from nlwfa_core.hankel.basis import Basis
from nlwfa_core.hankel.estimate import build_hankel
from nlwfa_core.hankel.matrix import HankelMatrix
from nlwfa_core.hankel.recipe import HankelRecipe
from nlwfa_core.learning.fitting import FitReport, fit
from nlwfa_core.learning.names import (
    BY_RANK,
    CONVERGED_EPOCHS,
    LIKELIHOOD_EPOCHS,
    TOLERANCE,
    WINDOW,
)
from nlwfa_core.learning.progress import BITS, STATIONARY, TrainingLog
from nlwfa_core.learning.spectral import linear_loss
from nlwfa_core.learning.steps.descent import Descent, Epochs, train
from nlwfa_core.learning.steps.factorisation import fit_factorisation
from nlwfa_core.learning.steps.losses import (
    LAST_LAYER_RIDGE,
    SparseRows,
    best_last_layer,
    projected_error,
)
from nlwfa_core.sources.dyck import Dyck
from nlwfa_core.strings.words import Words
from tests.core.records import AS_IN_THE_PAPER, learning_of

HANKEL = build_hankel(Dyck().sample(500, seed=1), HankelRecipe(num_prefixes=60, num_suffixes=50))


def matrix_of(rows: np.ndarray) -> HankelMatrix:
    """A matrix with these rows, all of them prefixes, and a shared row for what is not in the
    basis.
    """
    num_rows, num_columns = rows.shape
    words = [(0,) * length for length in range(max(rows.shape))]
    basis = Basis(Words.of(words[:num_rows]), Words.of(words[:num_columns]), 1)
    shifted = np.minimum(np.arange(1, num_rows + 1), num_rows - 1)[:, None].astype(np.int32)
    return HankelMatrix(basis, sparse.csr_array(rows), shifted, num_rows, "string")


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 1000),
    rank=st.integers(1, 4),
    hidden=st.sampled_from([(1,), (2, 1, 2), (4, 2, 1, 2, 4)]),
    learner=st.sampled_from(["fac.non", "tran.non", "both.non"]),
)
def test_a_factorisation_from_the_svd_never_ends_above_it(
    seed: int, rank: int, hidden: tuple[int, ...], learner: str
) -> None:
    """No linear factorisation of the same rank is better (Eckart and Young 1936), so none of SP's
    is.
    """
    rng = np.random.default_rng(seed)
    rows = rng.exponential(size=(8, 3)) @ rng.exponential(size=(3, 7)) * (rng.random((8, 7)) < 0.8)
    rows[0, 0] += 1.0
    values = np.linalg.svd(rows, compute_uv=False)
    best = (values[rank:] ** 2).sum() / (values**2).sum()
    assert linear_loss(matrix_of(rows), rank) == pytest.approx(best, abs=1e-12)
    log = fit_factorisation(
        matrix_of(rows), learning_of(learner, rank, hidden=hidden, epochs_factorisation=60)
    ).log
    assert log.losses.min() <= best + 1e-11
    if learner == "tran.non":
        assert log.stopped == "exact" and log.losses.tolist() == pytest.approx([best], abs=1e-12)


def test_the_loss_of_sp_is_that_of_a_factorisation_without_tanh() -> None:
    weighted = build_hankel(
        Dyck().sample(500, seed=1),
        HankelRecipe(
            num_prefixes=60, num_suffixes=50, statistic="prefix", bounded=True, transform="row"
        ),
    )
    assert weighted.row_weights is not None
    for hankel in (HANKEL, weighted):
        log = fit_factorisation(hankel, learning_of("tran.non", 3)).log
        assert log.losses.tolist() == pytest.approx([linear_loss(hankel, 3)], abs=1e-12)
    with pytest.raises(RecipeError, match="no entry other than zero"):
        linear_loss(matrix_of(np.zeros((3, 3))), 1)


def test_linear_maps_are_those_of_least_squares() -> None:
    learned = fit(HANKEL, "fac.non", rank=4, epochs_factorisation=30)
    (maps,) = learned.model.transitions
    factors = fit_factorisation(HANKEL, learning_of("fac.non", 4, epochs_factorisation=30))
    states = factors.latent[: HANKEL.num_prefixes]
    for symbol, following in enumerate(HANKEL.shifted.T):
        expected = np.linalg.lstsq(states, factors.latent[following])[0]
        np.testing.assert_allclose(states @ maps[symbol], states @ expected, atol=1e-9)
    assert [log.stopped for log in learned.report.logs] == ["epochs", "exact"]


@pytest.mark.parametrize("seed", [0, 1])
def test_the_projected_error_and_its_gradient_are_autograds(seed: int) -> None:
    """min_D ‖Y D − H‖² + ridge, by a dense solution that autograd can follow."""
    rng = np.random.default_rng(seed)
    rows = rng.random((9, 6)) * (rng.random((9, 6)) < 0.5)
    counts = rng.integers(1, 4, size=9)
    H = SparseRows(sparse.csr_array(rows), counts)
    Y = torch.from_numpy(rng.normal(size=(9, 3))).requires_grad_()
    ours = projected_error(H, Y.detach().numpy())
    root = torch.from_numpy(np.sqrt(counts))[:, None]
    left = root * Y
    right = root * torch.from_numpy(rows)
    ridge = LAST_LAYER_RIDGE * torch.diag((left * left).sum(dim=0))
    D = torch.linalg.solve(left.T @ left + ridge, left.T @ right)
    dense = ((left @ D - right) ** 2).sum() + (ridge @ (D * D)).sum()
    dense.backward()
    assert Y.grad is not None
    assert ours.value == pytest.approx(float(dense.detach()), rel=1e-9)
    np.testing.assert_allclose(ours.Y, Y.grad.numpy(), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(
        best_last_layer(H, Y.detach().numpy()), D.detach().numpy(), rtol=1e-6
    )


@pytest.mark.parametrize("learner", ["fac.non", "tran.non", "both.non"])
def test_it_ends_lower_than_adamax_with_as_many_epochs(learner: str) -> None:
    epochs = {"epochs_factorisation": 400, "epochs_transitions": 400}
    ours = fit(HANKEL, learning_of(learner, 4, **epochs)).report.logs
    theirs = fit(HANKEL, learning_of(learner, 4, **epochs, **AS_IN_THE_PAPER)).report.logs
    assert ours[0].losses.min() < theirs[0].losses.min()
    assert np.isfinite([log.losses.min() for log in ours]).all()
    for log in ours:
        assert log.stopped in ("exact", "tolerance", "epochs") and np.isfinite(log.gradient)


def quadratic(rates: list[float]) -> tuple[list[np.ndarray], Any]:
    layer = np.ones(len(rates))
    factors = np.array(rates)
    return [layer], lambda: (float(factors @ layer**2) + 1.0, [2 * factors * layer])


def test_it_stops_when_the_loss_hardly_falls() -> None:
    layers, loss = quadratic([1.0, 10.0])
    log = train(
        Epochs(layers, loss, "refinement", Descent(5000, 0.1, optimizer="lbfgs", tolerance=0.01))
    )
    assert log.stopped == "minimum" and log.epochs <= 20 and log.is_finished
    assert log.losses.min() == pytest.approx(1.0) and log.gradient < 1.1e-4
    (log, _) = fit(HANKEL, "fac.non", rank=3, starts=1).report.logs
    assert log.stopped == "tolerance" and 0 <= log.decrease < TOLERANCE
    log = train(Epochs(*quadratic([1.0, 10.0]), "refinement", Descent(30, 0.1, optimizer="adamax")))
    assert log.stopped == "epochs" and log.epochs == 30 and not log.is_finished


@pytest.mark.parametrize("optimizer", ["adamax", "lbfgs"])
def test_finished_is_a_stationary_point_for_every_optimiser(optimizer: str) -> None:
    """Also after the last epoch."""
    descent = Descent(1000, 0.02, "cosine", optimizer)
    log = train(Epochs(*quadratic([1.0, 10.0]), "refinement", descent))
    assert log.gradient <= STATIONARY * log.losses.min() and log.is_finished
    assert log.verdict == "finished: the gradient is at most 0.1% of the loss"


def test_where_the_loss_still_falls_it_is_not_finished() -> None:
    """A slope of 1% of the loss, down which each step goes only a little way."""
    layer = np.zeros(1)
    loss = lambda: (1.0 - 0.01 * float(layer[0]), [np.array([-0.01])])  # noqa: E731
    log = train(Epochs([layer], loss, "refinement", Descent(150, 1e-4)))
    assert 0 < log.decrease < 1e-3 and not log.is_finished
    assert log.verdict.startswith("stopped after all 150 epochs: the last 100 epochs lowered")


def test_the_gradient_of_a_log_is_the_norm_over_all_layers() -> None:
    """½ ‖w‖² has the gradient w: here 3, 4 and 12 in two layers, of norm 13."""
    layers = [np.array(values) for values in ([3.0, 4.0], [12.0])]

    def loss() -> tuple[float, list[np.ndarray]]:
        return sum(float(layer @ layer) / 2 for layer in layers), layers

    descent = Descent(0, 0.1, optimizer="lbfgs")
    assert train(Epochs(layers, loss, "refinement", descent)).gradient == 13


def test_what_a_log_says() -> None:
    falling = TrainingLog("transitions", 0.99 ** np.arange(301.0), gradient=1.0)
    assert falling.decrease == pytest.approx(1 - 0.99**WINDOW) and not falling.is_finished
    assert (
        falling.verdict
        == "stopped after all 300 epochs: the last 100 epochs lowered the loss by 63%"
    )
    solved = TrainingLog(
        "factorisation", np.array([1.0, *np.full(200, 0.5)]), gradient=4e-4
    ).with_last_layer(0.1)
    assert (
        solved.epochs == 200
        and solved.decrease == 0
        and solved.is_finished  # the loss that was minimised is 0.5
        and solved.losses.min() == 0.1
    )
    assert solved.verdict == "finished: the gradient is at most 0.1% of the loss"
    unknown = TrainingLog("transitions", np.full(50, 0.5))
    assert not unknown.is_finished and replace(unknown, stopped="tolerance").is_finished
    nothing_left = TrainingLog("transitions", np.array([1.0, 1e-12]), gradient=1e-6)
    assert nothing_left.verdict == "finished: the loss is 0 up to rounding"
    assert TrainingLog("transitions", np.array([]), diverged_at=0).verdict == "diverged"
    assert TrainingLog("transitions", np.array([1.0])).verdict == "not trained"


def test_a_curve_has_both_ends_of_the_log_and_all_epochs_of_a_short_one() -> None:
    log = TrainingLog("transitions", np.linspace(1, 0, 1000))
    epochs, losses = log.thinned(50)
    assert len(epochs) <= 50 and (epochs[0], epochs[-1]) == (0, 999)
    assert losses == log.losses[epochs].tolist()
    assert log.thinned(1000)[0] == list(range(1000))


FALLING = 0.9 ** np.arange(50.0)
FLAT = np.ones(200)


@pytest.mark.parametrize(
    ("learner", "logs", "word"),
    [
        ("SP", [], "exact"),
        ("GRU", [], "–"),
        (
            "tran.non",
            [
                TrainingLog("factorisation", np.ones(1), stopped="exact"),
                TrainingLog("transitions", FLAT, gradient=1e-3),
            ],
            "finished",
        ),
        ("tran.non", [TrainingLog("factorisation", np.ones(1), stopped="exact")] * 2, "exact"),
        (
            "both.non",
            [
                TrainingLog("factorisation", FALLING),
                TrainingLog("transitions", FLAT, gradient=1e-3),
            ],
            "not finished",
        ),
        ("both.non", [TrainingLog("factorisation", FLAT, diverged_at=7)], "not finished"),
        (
            "tran.non",
            [TrainingLog("transitions", FALLING, stopped="tolerance", gradient=1)],
            "stopped",
        ),
        (
            "tran.non",
            [TrainingLog("transitions", FALLING, stopped="rounding", gradient=1)],
            "stopped",
        ),
        ("fac.non", [TrainingLog("factorisation", np.ones(1))], "not finished"),
        ("SP", [TrainingLog("refinement", FALLING)], "not finished"),
        ("SP", [TrainingLog("refinement", FALLING, measure=BITS)], "by validation"),
        (
            "fac.non",
            [
                TrainingLog("factorisation", FALLING),
                TrainingLog("refinement", FALLING, measure=BITS),
            ],
            "not finished",
        ),
    ],
)
def test_a_report_says_in_a_word_whether_the_training_is_finished(
    learner: str, logs: list[TrainingLog], word: str
) -> None:
    assert FitReport(learner, 2, 2, None, None, None, tuple(logs), (), {}).training == word


def test_refinement_on_the_rows_converges() -> None:
    log = fit(HANKEL, "both.non", rank=3, refine="hankel", epochs_refinement=300).report.logs[-1]
    assert log.stage == "refinement" and log.losses.min() <= log.losses[0]


def test_networks_are_trained_to_the_end_by_default() -> None:
    defaults = learning_of("both.non", 10)
    assert (defaults.optimizer, defaults.start, defaults.starts) == ("lbfgs", "svd", BY_RANK)
    assert defaults.epochs_factorisation == defaults.epochs_transitions == CONVERGED_EPOCHS
    assert defaults.tolerance == TOLERANCE
    on_rows = learning_of("SP", 10, refine="hankel")
    assert on_rows.optimizer_refinement == "lbfgs"
    assert on_rows.epochs_refinement == CONVERGED_EPOCHS
    assert learning_of("SP", 10, refine="likelihood").epochs_refinement == LIKELIHOOD_EPOCHS
