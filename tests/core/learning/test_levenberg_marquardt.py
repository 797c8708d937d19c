"""Transitions by Levenberg–Marquardt: the normal equations are autograd's, and the end does not
hang on the last digit.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nlwfa_core.errors import Cancelled, RecipeError
from nlwfa_core.hankel.estimate import build_hankel
from nlwfa_core.hankel.recipe import HankelRecipe
from nlwfa_core.learning.assembly import mapped_rows
from nlwfa_core.learning.fitting import fit
from nlwfa_core.learning.names import LARGEST_MAP
from nlwfa_core.learning.steps.factorisation import fit_factorisation
from nlwfa_core.learning.steps.levenberg_marquardt import TwoLayers
from nlwfa_core.learning.steps.transitions import fit_transitions
from nlwfa_core.sources.dyck import Dyck
from tests.core.records import learning_of

HANKEL = build_hankel(Dyck().sample(500, seed=1), HankelRecipe(num_prefixes=60, num_suffixes=50))
MAPS = mapped_rows(HANKEL)


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 1000),
    k=st.integers(1, 4),
    width=st.integers(1, 9),
    num_classes=st.integers(1, 12),
)
def test_the_normal_equations_are_those_of_autograd(
    seed: int, k: int, width: int, num_classes: int
) -> None:
    rng = np.random.default_rng(seed)
    states = rng.normal(size=(num_classes, k))
    targets = np.tanh(rng.normal(size=(num_classes, k)))
    weights = rng.uniform(0.1, 2, size=num_classes) * (rng.random(num_classes) < 0.8)
    problem = TwoLayers(states, targets, weights, width)
    vector = rng.normal(size=2 * k * width)

    def residuals(flat: torch.Tensor) -> torch.Tensor:
        E = flat[: k * width].view(k, width)
        F = flat[k * width :].view(width, k)
        outputs = torch.tanh(torch.tanh(torch.from_numpy(states) @ E) @ F)
        return (
            torch.from_numpy(np.sqrt(weights))[:, None] * (outputs - torch.from_numpy(targets))
        ).flatten()

    J = torch.autograd.functional.jacobian(residuals, torch.from_numpy(vector)).numpy()
    r = residuals(torch.from_numpy(vector)).numpy()
    products, gradient = problem.normal_equations(vector)
    np.testing.assert_allclose(products, J.T @ J, atol=1e-12)
    np.testing.assert_allclose(gradient, J.T @ r, atol=1e-12)
    assert problem.error(vector) == pytest.approx(r @ r, abs=1e-12)


def test_maps_that_two_layers_can_be_are_found() -> None:
    """Targets that come from such a network, with weights small enough for the ridge."""
    rng = np.random.default_rng(0)
    latent = rng.uniform(-0.5, 0.5, size=(60, 2))
    E = rng.normal(size=(2, 2, 4))
    F = 0.5 * rng.normal(size=(2, 4, 2))
    images = [np.tanh(np.tanh(latent[:30] @ E[symbol]) @ F[symbol]) for symbol in range(2)]
    rows = np.concatenate((latent[:30], *images))
    shifted = np.stack((np.arange(30, 60), np.arange(60, 90)), axis=1).astype(np.int32)
    _, log = fit_transitions(rows, shifted, learning_of("tran.non", 2, optimizer="lm"))
    assert log.stopped == "tolerance" and log.losses.min() < 1e-4 and log.gradient < 1e-3
    assert (np.diff(log.losses) < 1e-6).all()


@pytest.mark.parametrize("learner", ["tran.non", "both.non"])
def test_the_end_does_not_hang_on_the_last_digit(learner: str) -> None:
    """Another type of processor rounds differently; so do states with another last digit."""
    latent = fit_factorisation(HANKEL, learning_of(learner, 3, epochs_factorisation=50)).latent
    classes = np.unique(latent, axis=0, return_inverse=True)[1].ravel()
    wrong = 1 + 1e-15 * np.random.default_rng(0).standard_normal((classes.max() + 1, 3))
    options = learning_of(learner, 3, optimizer="lm")
    one, other = (
        fit_transitions(states, MAPS, options)[0] for states in (latent, latent * wrong[classes])
    )
    for ours, theirs in zip(one, other, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-9)


def test_the_log_ends_with_the_error_of_the_maps() -> None:
    latent = fit_factorisation(HANKEL, learning_of("tran.non", 3)).latent
    (E, F), log = fit_transitions(latent, MAPS, learning_of("tran.non", 3, optimizer="lm"))
    before = latent[: HANKEL.num_prefixes]
    after = latent[MAPS]
    error = sum(
        ((np.tanh(np.tanh(before @ E[s]) @ F[s]) - after[:, s]) ** 2).sum() for s in range(2)
    )
    assert log.losses[-1] == pytest.approx(error / (after**2).sum(), rel=1e-9)
    assert log.losses[0] > 3 * log.losses[-1]


def test_large_maps_and_maps_without_a_hidden_layer_are_trained_by_lbfgs() -> None:
    rank = int((LARGEST_MAP / 4) ** 0.5) + 1
    for options in (
        learning_of("tran.non", rank, epochs_transitions=3),
        learning_of("tran.non", 3, width_transitions=0),
    ):
        models = [fit(HANKEL, options, optimizer=optimizer).model for optimizer in ("lm", "lbfgs")]
        np.testing.assert_array_equal(models[0].transitions[0], models[1].transitions[0])


def test_it_can_be_cancelled_and_limited() -> None:
    latent = fit_factorisation(HANKEL, learning_of("tran.non", 3)).latent
    with pytest.raises(Cancelled):
        fit_transitions(
            latent, MAPS, learning_of("tran.non", 3, optimizer="lm"), cancelled=lambda: True
        )
    _, log = fit_transitions(
        latent, MAPS, learning_of("tran.non", 3, optimizer="lm", epochs_transitions=2)
    )
    assert log.stopped == "epochs" and log.epochs == 4  # two steps for each symbol


def test_recipes_name_it() -> None:
    lbfgs = learning_of("both.non", 2)
    assert lbfgs.changed(optimizer="lm").key() != lbfgs.key()
    with pytest.raises(RecipeError, match="optimizer must be"):
        fit(HANKEL, "both.non", rank=2, optimizer="newton")
