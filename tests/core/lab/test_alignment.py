"""One set of points over another, held against scipy's two Procrustes functions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes
from scipy.spatial import procrustes

from nlwfa_core.errors import RecipeError
from nlwfa_core.lab.alignment import align
from nlwfa_core.strings.words import FloatArray


def points(seed: int, number: int = 40, width: int = 4) -> FloatArray:
    drawn: FloatArray = np.random.default_rng(seed).normal(size=(number, width))
    return drawn


def turned(given: FloatArray, seed: int) -> FloatArray:
    """Turned (or mirrored), scaled and moved."""
    turn, _ = np.linalg.qr(points(seed, given.shape[1], given.shape[1]))
    moved: FloatArray = 0.3 * given @ turn + points(seed + 1, 1, given.shape[1])
    return moved


@pytest.mark.parametrize("seed", range(5))
def test_the_residual_is_scipys_disparity(seed: int) -> None:
    a, b = points(seed), points(seed + 100) + 0.5 * points(seed)
    found = align(a, b)
    *_, disparity = procrustes(a, b)
    assert found.residual == pytest.approx(disparity, abs=1e-12)
    left_over = ((found.moved - a) ** 2).sum() / ((a - a.mean(axis=0)) ** 2).sum()
    assert left_over == pytest.approx(found.residual, abs=1e-12)
    A, B = a - a.mean(axis=0), b - b.mean(axis=0)
    turn, _ = orthogonal_procrustes(B, A)
    assert found.moved == pytest.approx(found.scale * B @ turn + a.mean(axis=0))


@pytest.mark.parametrize("seed", range(5))
def test_turned_states_fit_exactly(seed: int) -> None:
    a = points(seed)
    found = align(a, turned(a, seed + 7))
    assert found.residual == pytest.approx(0, abs=1e-12)
    assert found.moved == pytest.approx(a)
    assert found.scale == pytest.approx(1 / 0.3)


def test_fewer_components_are_filled_with_zeros() -> None:
    flat = points(1, width=2)
    placed = np.pad(flat, ((0, 0), (0, 2))) @ np.linalg.qr(points(2, 4, 4))[0]
    for a, b in ((flat, placed), (placed, flat)):
        found = align(a, b)
        assert found.moved.shape == found.target.shape == (40, 4)
        assert found.residual == pytest.approx(0, abs=1e-12)


def test_points_that_coincide_explain_nothing() -> None:
    a, same = points(3), np.full((40, 4), 0.1)
    assert align(a, same).residual == 1.0
    assert align(same, a).residual == 0.0
    assert align(same, same).residual == 0.0
    assert np.isfinite(align(a, same).moved).all()


def test_what_can_not_be_aligned_is_one_error() -> None:
    with pytest.raises(RecipeError, match="as many of both"):
        align(points(1, 3), points(1, 4))
    with pytest.raises(RecipeError, match="diverges"):
        align(points(1), np.full((40, 4), np.inf))
