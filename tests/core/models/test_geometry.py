"""Principal axes and turns, held against scikit-learn and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes
from sklearn.decomposition import PCA

from nlwfa_core.models.geometry import aligning_turn, principal_axes

RNG = np.random.default_rng(0)


def test_the_axes_are_those_of_principal_components() -> None:
    states = RNG.normal(size=(30, 5)) * [5, 3, 1, 0.5, 0.1] + 7
    mean, axes, shares = principal_axes(states, 2)
    pca = PCA(2, svd_solver="full").fit(states)
    np.testing.assert_allclose(mean, pca.mean_)
    np.testing.assert_allclose(np.abs(axes @ pca.components_.T), np.eye(2), atol=1e-12)
    assert shares == pytest.approx(pca.explained_variance_ratio_)


@pytest.mark.parametrize("states", [np.ones((4, 3)), np.ones((1, 3))])
def test_points_that_coincide_have_no_axes(states: np.ndarray) -> None:
    mean, axes, shares = principal_axes(states, 2)
    assert (
        mean.tolist() == [1, 1, 1] and axes.shape == (2, 3) and not axes.any() and not shares.any()
    )


def test_axes_beyond_the_dimensions_are_zero() -> None:
    _, axes, shares = principal_axes(RNG.normal(size=(9, 1)), 3)
    assert (
        abs(axes[0, 0]) == pytest.approx(1)
        and shares == pytest.approx([1, 0, 0])
        and not axes[1:].any()
    )


def test_the_turn_is_scipys() -> None:
    points = RNG.normal(size=(20, 2))
    target = RNG.normal(size=(20, 2))
    turn, similarity = aligning_turn(points, target)
    expected, sizes = orthogonal_procrustes(points, target)
    np.testing.assert_allclose(turn, expected)
    assert similarity == pytest.approx(sizes) == pytest.approx((points @ turn * target).sum())
