"""Reconstructions against numpy's own decomposition, and a model's matrix against its weights."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from scipy import sparse

from nlwfa_core.errors import RecipeError
from nlwfa_core.hankel.basis import select_basis
from nlwfa_core.hankel.estimate import estimate_hankel
from nlwfa_core.hankel.matrix import HankelMatrix, exact_hankel
from nlwfa_core.lab import approximations
from nlwfa_core.lab.approximations import MAX_MODEL_CELLS, LowRank, Shown, model_block, reconstruction, relative_error, residual
from nlwfa_core.learning.spectral import fit_spectral, truncated_svd
from nlwfa_core.sources.automata import random_automaton
from nlwfa_core.sources.dyck import ALPHABET, Dyck
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import FloatArray, Words


def estimated(num_strings: int = 500, rows: int = 40, columns: int = 30) -> HankelMatrix:
    sample = Sample.of(Dyck().sample(num_strings, 3), ALPHABET)
    return estimate_hankel(sample, select_basis(sample, rows, columns))


def numpys(dense: FloatArray, rank: int) -> FloatArray:
    U, D, Vt = np.linalg.svd(dense, full_matrices=False)
    near: FloatArray = (U[:, :rank] * D[:rank]) @ Vt[:rank]
    return near


@pytest.mark.parametrize("rank", [1, 3, 7])
def test_the_reconstruction_is_numpys(rank: int) -> None:
    block = estimated().block
    near = reconstruction(block, truncated_svd(block, 10), rank)
    expected = numpys(block.toarray(), rank)
    np.testing.assert_allclose(near.rows(0, 40), expected, atol=1e-12)
    rest = residual(block, near)
    assert isinstance(rest, LowRank)
    np.testing.assert_allclose(rest.rows(5, 9), (block.toarray() - expected)[5:9], atol=1e-12)
    error = np.linalg.norm(block.toarray() - expected) / np.linalg.norm(block.toarray())
    assert relative_error(block, rest) == pytest.approx(error, rel=1e-9)


def test_errors_fall_with_the_rank_and_vanish_at_the_matrix_own() -> None:
    """An automaton of three states has a matrix of rank 3."""
    automaton = random_automaton(3, 2, 5)
    sample = Sample.of(Dyck().sample(300, 0), ALPHABET)
    hankel = exact_hankel(automaton.weights, select_basis(sample, 20, 20))
    svd = truncated_svd(hankel.block, 4)
    errors = [relative_error(hankel.block, residual(hankel.block, reconstruction(hankel.block, svd, rank))) for rank in (1, 2, 3)]
    assert errors[0] > errors[1] > errors[2] and errors[2] < 1e-10
    # The rows that follow a symbol are in the space of the others.
    after = hankel.symbol_block(1)
    assert relative_error(after, residual(after, reconstruction(after, svd, 3))) < 1e-8


def test_parts_are_the_whole() -> None:
    matrix = LowRank(np.arange(14.0).reshape(7, 2), np.arange(6.0).reshape(3, 2), sparse.csr_array(np.eye(7, 3)))
    np.testing.assert_allclose(np.concatenate(list(matrix.chunks(2))), matrix.rows(0, 7))
    assert [len(chunk) for chunk in matrix.chunks(3)] == [7]


def test_a_models_matrix_holds_its_weights() -> None:
    hankel = estimated()
    svd = truncated_svd(hankel.block, 3)
    model = fit_spectral(hankel, svd, 3)
    for symbol in (-1, 0, 1):
        near = Shown(symbol, "Ĥ", 3, "key").matrix(hankel, svd, model)
        assert not isinstance(near, LowRank)
        u = hankel.basis.prefixes[4] + Shown(symbol).after
        v = hankel.basis.suffixes[2]
        assert near[4, 2] == pytest.approx(model.weights(Words.of([u + v]))[0], rel=1e-9, abs=1e-15)
        rest = Shown(symbol, "H − Ĥ", 3, "key").matrix(hankel, svd, model)
        assert not isinstance(rest, LowRank)
        block = Shown(symbol).block(hankel)
        np.testing.assert_allclose((rest + near).toarray(), block.toarray(), atol=1e-15)


def test_what_is_too_much_is_refused_before_it_is_begun() -> None:
    hankel = estimated(20_000, 600, 600)
    with pytest.raises(RecipeError, match=f"600 × 600 cells given, at most {MAX_MODEL_CELLS:,} allowed"):
        model_block(random_automaton(3, 2, 5), hankel)


def test_a_matrix_of_zeros_has_no_relative_error() -> None:
    zero = sparse.csr_array((3, 2))
    assert np.isnan(relative_error(zero, residual(zero, zero)))


def test_examples() -> None:
    assert doctest.testmod(approximations).failed == 0
