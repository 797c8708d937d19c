"""Step 1: the loss without the dense matrix, and what a linear auto-encoder must find."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from nlwfa_core.errors import RecipeError
from nlwfa_core.hankel.basis import Basis
from nlwfa_core.hankel.matrix import HankelMatrix, exact_hankel
from nlwfa_core.hankel.statistics import VALUE
from nlwfa_core.learning.steps.auto_encoder import AutoEncoder, ErrorOf
from nlwfa_core.learning.steps.factorisation import MAX_STATE_AT_SVD, fit_factorisation
from nlwfa_core.learning.steps.losses import (
    Error,
    SparseRows,
    observed_error,
    projected_error,
    reconstruction_error,
)
from nlwfa_core.strings.words import Words
from tests.core.records import AS_IN_THE_PAPER, learning_of
from tests.references import full_basis, ring

RING = exact_hankel(ring(3).weights, full_basis(2, 3))


@given(
    st.integers(0, 2**20), st.integers(1, 8), st.integers(1, 6), st.integers(1, 3), st.booleans()
)
def test_the_loss_and_its_gradient_are_those_of_the_dense_matrix(
    seed: int, num_rows: int, num_columns: int, rank: int, nonlinear: bool
) -> None:
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=(num_rows, num_columns)) * (rng.random((num_rows, num_columns)) < 0.4)
    dense[0, 0] = 1.0
    shapes = pairwise((num_columns, 2 * rank, rank, 2 * rank, num_columns))
    layers = [rng.normal(size=shape) for shape in shapes]
    network = AutoEncoder(layers[:2], layers[2:], nonlinear)
    rows = SparseRows(sparse.csr_array(dense))
    value, gradients = network.loss(rows, reconstruction_error)
    np.testing.assert_allclose(
        network.decode(network.encode(rows.matrix)), network.units(rows.matrix)[-1] @ layers[-1]
    )

    H = torch.tensor(dense)
    theta = torch.tanh if nonlinear else torch.Tensor.contiguous
    tensors = [torch.tensor(layer, requires_grad=True) for layer in layers]
    A, B, C, D = tensors
    z = theta(theta(H @ A) @ B)
    loss = ((theta(z @ C) @ D - H) ** 2).sum() / rows.squared_norm
    scale = 1 + float(loss.detach())
    assert value == pytest.approx(float(loss.detach()), abs=1e-12 * scale)
    for ours, expected in zip(gradients, torch.autograd.grad(loss, tensors), strict=True):
        np.testing.assert_allclose(ours, expected.numpy(), rtol=1e-9, atol=1e-11 * scale)


def of_the_best_last_layer(H: SparseRows, Y: np.ndarray, D: np.ndarray) -> Error:
    return projected_error(H, Y)


@given(
    st.integers(0, 2**20),
    st.sampled_from([(1,), (2, 1, 2), (4, 2, 1, 2, 4)]),
    st.sampled_from([reconstruction_error, of_the_best_last_layer, observed_error]),
    st.booleans(),
)
def test_the_gradient_is_that_of_finite_differences(
    seed: int, hidden: tuple[int, ...], error: ErrorOf, nonlinear: bool
) -> None:
    """In a random direction, for all depths and errors, with rows that count several times."""
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=(7, 6)) * (rng.random((7, 6)) < 0.6)
    dense[0, 0] = 1.0
    H = SparseRows(sparse.csr_array(dense), rng.integers(1, 4, size=7))
    layers = [rng.normal(size=shape) for shape in pairwise((6, *(2 * m for m in hidden), 6))]
    directions = [rng.normal(size=layer.shape) for layer in layers]
    depth = len(hidden) // 2 + 1

    def loss_at(step: float) -> tuple[float, list[np.ndarray]]:
        moved = [layer + step * way for layer, way in zip(layers, directions, strict=True)]
        return AutoEncoder(moved[:depth], moved[depth:], nonlinear).loss(H, error)

    slope = sum(
        np.vdot(gradient, way) for gradient, way in zip(loss_at(0)[1], directions, strict=True)
    )
    size = 1e-5
    numerical = (loss_at(size)[0] - loss_at(-size)[0]) / (2 * size)
    assert slope == pytest.approx(numerical, rel=1e-4, abs=1e-6 * (1 + loss_at(0)[0]))


@given(
    st.integers(0, 2**20), st.integers(1, 8), st.integers(1, 6), st.integers(1, 5), st.booleans()
)
def test_the_masked_loss_and_its_gradient_are_those_of_the_known_cells(
    seed: int, num_rows: int, num_columns: int, width: int, missing: bool
) -> None:
    """Against a dense 0/1 mask; with nothing missing, against the exact loss as well."""
    rng = np.random.default_rng(seed)
    known = rng.random((num_rows, num_columns)) < (0.5 if missing else 1.0)
    dense = rng.integers(-1, 2, size=known.shape) * known * 1.0  # some of the known cells hold 0
    stored = sparse.csr_array((dense[known], known.nonzero()), shape=known.shape)
    rows = SparseRows(stored, rng.integers(1, 4, size=num_rows).astype(float))
    Y, D = (rng.normal(size=shape) for shape in ((num_rows, width), (width, num_columns)))
    ours = observed_error(rows, Y, D)
    residual = rows.counts * known * (Y @ D - dense)
    expected = [Error((residual * (Y @ D - dense)).sum(), 2 * residual @ D.T, 2 * Y.T @ residual)]
    if not missing:
        expected.append(reconstruction_error(rows, Y, D))
    for error in expected:
        for mine, theirs in zip(ours, error, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-10)


def test_training_on_known_cells_reaches_the_unknown_ones() -> None:
    """A matrix of rank 1 whose rows hold all but one of their cells: no unknown cell pulls towards
    0.
    """
    values = np.outer([1.0, 2.0, 3.0, 4.0], [1.0, 0.5, 0.25])
    stored = values + 0.0
    stored[[0, 1, 2, 3], [0, 1, 2, 0]] = np.nan
    known = np.isfinite(stored)
    basis = Basis(Words.of([(), (0,), (0, 0), (0, 0, 0)]), Words.of([(), (0,), (0, 0)]), 1)
    matrix = sparse.csr_array((stored[known], known.nonzero()), shape=known.shape)
    hankel = HankelMatrix(basis, matrix, np.array([[1], [2], [3], [3]], dtype=np.int32), 4, VALUE)
    options = learning_of(
        "tran.non", 1, hidden=(1,), epochs_factorisation=4000, schedule="cosine", **AS_IN_THE_PAPER
    )
    factors = fit_factorisation(hankel, options, masked=True)
    assert factors.log.losses.min() < 1e-2
    ours = np.abs(factors.latent @ factors.decoder[-1] * factors.scale - values)[~known]
    zeros = fit_factorisation(hankel, options)
    assert (
        ours.max()
        < np.abs(zeros.latent @ zeros.decoder[-1] * zeros.scale - values)[~known].max() / 3
    )


@pytest.mark.parametrize("nonlinear", [True, False])
@pytest.mark.parametrize("hidden", [(1,), (2, 1, 2), (4, 2, 1, 2, 4)])
def test_the_network_given_back_is_that_of_the_smallest_loss(
    nonlinear: bool, hidden: tuple[int, ...]
) -> None:
    learner = "fac.non" if nonlinear else "tran.non"
    options = learning_of(
        learner,
        3,
        hidden=hidden,
        epochs_factorisation=40,
        rate_factorisation=0.1,
        **AS_IN_THE_PAPER,
    )
    factors = fit_factorisation(RING, options)
    Y = factors.latent
    for layer in factors.decoder[:-1]:
        Y = np.tanh(Y @ layer) if nonlinear else Y @ layer
    H = RING.matrix.toarray() / factors.scale
    dense = ((Y @ factors.decoder[-1] - H) ** 2).sum() / (H**2).sum()
    assert dense == pytest.approx(factors.log.losses.min(), abs=1e-12)
    assert dense < 0.5


def test_layers_have_the_widths_of_the_paper() -> None:
    factors = fit_factorisation(
        RING, learning_of("fac.non", 3, hidden=(4, 2, 1, 2, 4), epochs_factorisation=0)
    )
    columns = RING.num_suffixes
    assert [layer.shape for layer in factors.encoder] == [(columns, 12), (12, 6), (6, 3)]
    assert [layer.shape for layer in factors.decoder] == [(3, 6), (6, 12), (12, columns)]
    assert factors.latent.shape == (RING.matrix.shape[0], 3)
    assert factors.scale == pytest.approx(RING.matrix.toarray().max())


def test_latent_states_are_the_encoder_of_the_rows() -> None:
    factors = fit_factorisation(RING, learning_of("fac.non", 3, epochs_factorisation=5))
    Z = RING.matrix.toarray() / factors.scale
    for layer in factors.encoder:
        Z = np.tanh(Z @ layer)
    np.testing.assert_allclose(factors.latent, Z, rtol=1e-12)


@pytest.mark.parametrize("rank", [1, 2])
def test_a_linear_auto_encoder_finds_the_best_matrix_of_its_rank(rank: int) -> None:
    """Eckart–Young over P': no rank-k factorisation leaves less than the singular values
    beyond k.
    """
    singular = np.linalg.svd(RING.matrix.toarray(), compute_uv=False)
    best = (singular[rank:] ** 2).sum() / (singular**2).sum()
    options = learning_of(
        "tran.non",
        rank,
        epochs_factorisation=2000,
        rate_factorisation=0.03,
        schedule="cosine",
        **AS_IN_THE_PAPER,
    )
    log = fit_factorisation(RING, options).log
    assert log.losses.min() == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("hidden", [(1,), (2, 1, 2), (4, 2, 1, 2, 4)])
def test_training_starts_at_the_best_matrix_of_its_rank(rank: int, hidden: tuple[int, ...]) -> None:
    """Eckart–Young again, before the first epoch; in the middle of tanh, which is the identity
    there.
    """
    singular = np.linalg.svd(RING.matrix.toarray(), compute_uv=False)
    best = (singular[rank:] ** 2).sum() / (singular**2).sum()
    options = learning_of(
        "fac.non", rank, hidden=hidden, epochs_factorisation=0, optimizer="adamax", start="svd"
    )
    log = fit_factorisation(RING, options).log
    assert log.losses[0] == pytest.approx(best, abs=1e-11)
    assert (
        fit_factorisation(RING, options.changed(epochs_factorisation=20)).log.losses.min()
        <= log.losses[0]
    )


def test_the_start_at_the_svd_has_states_of_the_size_at_which_tanh_is_the_identity() -> None:
    options = learning_of(
        "tran.non", 2, hidden=(1,), epochs_factorisation=0, optimizer="adamax", start="svd"
    )
    factors = fit_factorisation(RING, options)
    (largest,) = MAX_STATE_AT_SVD["adamax"]
    assert np.abs(factors.latent).max() == pytest.approx(largest, rel=1e-9)


def test_the_last_layer_given_back_is_the_best_for_its_states() -> None:
    """After two epochs of L-BFGS: least squares from the states to H leaves no smaller loss."""
    options = learning_of("fac.non", 2, hidden=(1,), epochs_factorisation=2, start="random")
    factors = fit_factorisation(RING, options)
    H = RING.matrix.toarray() / factors.scale
    best = factors.latent @ np.linalg.lstsq(factors.latent, H)[0]
    assert factors.log.losses.min() == pytest.approx(((best - H) ** 2).sum() / (H**2).sum())


@pytest.mark.parametrize("value", [0, np.inf, np.nan])
def test_nothing_to_factorise_is_refused(value: float) -> None:
    hankel = exact_hankel(lambda words: np.full(len(words), value), full_basis(1, 1))
    with pytest.raises(RecipeError, match="no finite entry other than zero"):
        fit_factorisation(hankel, learning_of("fac.non", 1))
