"""Step 2: one network a symbol, and with step 1 the paper's Theorem 2."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core.hankel.matrix import exact_hankel
from nlwfa_core.learning.fitting import fit
from nlwfa_core.learning.learners import LEARNERS
from nlwfa_core.learning.steps.factorisation import fit_factorisation
from nlwfa_core.learning.steps.losses import UNITS_PER_BLOCK, BatchedSquaredError
from nlwfa_core.learning.steps.transitions import fit_transitions
from nlwfa_core.models.nlwfa import NLWFA
from nlwfa_core.models.wfa import WFA
from nlwfa_core.strings.trie import Trie
from tests.core.records import AS_IN_THE_PAPER, learning_of
from tests.references import PARITY, closure_words, full_basis, ring

RNG = np.random.default_rng(0)
LATENT = np.tanh(RNG.normal(size=(9, 2)))
SHIFTED = RNG.integers(0, 9, size=(5, 3)).astype(np.int32)


def as_written(layers: tuple[np.ndarray, ...], nonlinear: bool) -> float:
    """Σ_σ Σ_u ‖g_σ(z_u) − z_{uσ}‖² / Σ ‖z_{uσ}‖², one symbol and one prefix at a time."""
    theta = np.tanh if nonlinear else np.asarray
    error = norm = 0.0
    for u in range(SHIFTED.shape[0]):
        for symbol in range(SHIFTED.shape[1]):
            target = LATENT[SHIFTED[u, symbol]]
            error += (
                (theta(theta(LATENT[u] @ layers[0][symbol]) @ layers[1][symbol]) - target) ** 2
            ).sum()
            norm += (target**2).sum()
    return error / norm


def options_of(nonlinear: bool, epochs: int) -> Any:
    return learning_of(
        "tran.non" if nonlinear else "fac.non",
        2,
        epochs_transitions=epochs,
        rate_transitions=0.01,
        **AS_IN_THE_PAPER,
    )


@pytest.mark.parametrize("nonlinear", [True, False])
def test_the_loss_is_the_papers(nonlinear: bool) -> None:
    for epochs in (0, 50):
        layers, log = fit_transitions(LATENT, SHIFTED, options_of(nonlinear, epochs))
        assert [layer.shape for layer in layers] == [(3, 2, 4), (3, 4, 2)]
        assert as_written(layers, nonlinear) == pytest.approx(log.losses.min(), rel=1e-12)
        assert len(log.losses) == epochs + 1


@pytest.mark.parametrize("nonlinear", [True, False])
@pytest.mark.parametrize("block", [1, 8, 1000])
def test_symbols_trained_together_are_trained_apart(
    nonlinear: bool, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They share no weight and Adamax works entry by entry: the only thing shared is the divisor of
    the loss.

    Autograd agrees with our gradient, however symbols and classes are cut into blocks.
    """
    monkeypatch.setattr("nlwfa_core.learning.steps.losses.UNITS_PER_BLOCK", block)
    theta = torch.tanh if nonlinear else torch.Tensor.contiguous
    together, _ = fit_transitions(LATENT, SHIFTED, options_of(nonlinear, 30))
    first = [
        fit_transitions(LATENT, SHIFTED, options_of(nonlinear, 0))[0][index][:1] for index in (0, 1)
    ]
    E, F = (torch.tensor(layer[0], requires_grad=True) for layer in first)
    optimizer = torch.optim.Adamax([E, F], lr=0.01)
    Z = torch.tensor(LATENT[:5])
    targets = torch.tensor(LATENT[SHIFTED[:, 0]])
    norm = (LATENT[SHIFTED] ** 2).sum()
    for _ in range(30):
        optimizer.zero_grad()
        loss = ((theta(theta(Z @ E) @ F) - targets) ** 2).sum() / norm
        loss.backward()
        optimizer.step()
    np.testing.assert_allclose(together[0][0], E.detach().numpy(), rtol=1e-9)
    np.testing.assert_allclose(together[1][0], F.detach().numpy(), rtol=1e-9)


@given(
    st.integers(0, 2**20), st.booleans(), st.booleans(), st.sampled_from([1, 8, UNITS_PER_BLOCK])
)
def test_the_gradient_is_that_of_finite_differences(
    seed: int, nonlinear: bool, has_hidden: bool, block: int
) -> None:
    """In a random direction, with weights, some of which are 0."""
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0, 2, size=(3, 5)) * (rng.random((3, 5)) < 0.8)
    targets = np.tanh(rng.normal(size=(3, 5, 2)))
    error = BatchedSquaredError(rng.normal(size=(5, 2)), targets, weights, nonlinear)
    shapes = [(3, 2, 4), (3, 4, 2)] if has_hidden else [(3, 2, 2)]
    layers, directions = ([rng.normal(size=shape) for shape in shapes] for _ in range(2))

    def error_at(step: float) -> tuple[float, list[np.ndarray]]:
        return error([layer + step * way for layer, way in zip(layers, directions, strict=True)])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nlwfa_core.learning.steps.losses.UNITS_PER_BLOCK", block)
        gradients = error_at(0)[1]
    slope = sum(np.vdot(each, way) for each, way in zip(gradients, directions, strict=True))
    numerical = (error_at(1e-5)[0] - error_at(-1e-5)[0]) / 2e-5
    assert slope == pytest.approx(numerical, rel=1e-4, abs=1e-6 * (1 + error_at(0)[0]))


def test_targets_of_zero_are_learned_too() -> None:
    _, log = fit_transitions(np.zeros((2, 3)), np.ones((1, 2), dtype=np.int32), options_of(True, 2))
    assert log.losses.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("target", "rank"), [(PARITY.wfa, 2), (ring(3), 3), (ring(3), 5), (ring(4), 4)]
)
def test_linear_networks_reach_theorem_2(target: WFA, rank: int) -> None:
    """P prefix-closed and no error in either step: f(uv) = H[u, v] for all u in P', v in S.

    A constant rate does not get there.
    """
    basis = full_basis(2, 4)
    hankel = exact_hankel(target.weights, basis)
    training: dict[str, Any] = {
        "epochs_factorisation": 4000,
        "epochs_transitions": 6000,
        "schedule": "cosine",
    }
    training |= {"rate_factorisation": 0.05, "rate_transitions": 0.05}
    factors = fit_factorisation(
        hankel, learning_of("tran.non", rank, **training)
    )  # no tanh in step 1
    # nor in step 2
    transitions, log = fit_transitions(
        factors.latent, hankel.shifted, learning_of("fac.non", rank, **training)
    )
    last = factors.decoder[-1] * factors.scale
    output = np.column_stack((last[:, 0], last.sum(axis=1)))
    model = NLWFA(factors.latent[0], transitions, factors.decoder[:-1], output, False, False)
    assert factors.log.losses.min() < 1e-8 and log.losses.min() < 1e-8
    words = closure_words(basis)
    np.testing.assert_allclose(
        model.weights(words),
        target.weights(words),
        rtol=1e-3,
        atol=1e-3 * hankel.matrix.max() / 100,
    )
    # And the row sum stands for the weight of what follows within S.
    trie = Trie.of(basis.prefixes, 2)
    rows = np.stack(
        [hankel.matrix[hankel.shifted[:, symbol]].sum(axis=1) for symbol in range(2)], axis=1
    )
    np.testing.assert_allclose(model.next_scores(trie)[:, :-1], rows, rtol=5e-3, atol=1e-3)


@pytest.mark.parametrize("learner", [name for name, kind in LEARNERS.items() if kind.networks])
def test_learners_put_tanh_where_they_say(learner: str) -> None:
    hankel = exact_hankel(ring(3).weights, full_basis(2, 2))
    options = learning_of(learner, 3, epochs_factorisation=300, epochs_transitions=300)
    learned = fit(hankel, options)
    model = learned.model
    assert isinstance(model, NLWFA)
    assert model.nonlinear_termination == (learner in ("fac.non", "both.non"))
    assert model.nonlinear_transitions == (learner in ("tran.non", "both.non"))
    words = hankel.basis.prefixes
    np.testing.assert_allclose(model.weights(words), ring(3).weights(words), atol=0.1)
    assert model.weights(words)[0] == pytest.approx(0.6, abs=0.02)
