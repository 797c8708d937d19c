"""L-BFGS: the approximation of the inverse Hessian, and where it ends."""

from __future__ import annotations

import contextlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import rosen, rosen_der

from nlwfa_core.learning.lbfgs import CORRECTIONS, InverseHessian, minimise


class Enough(Exception):
    """The minimum is found."""


@given(st.integers(0, 2**20), st.integers(1, 5), st.integers(1, 3 * CORRECTIONS))
def test_the_compact_form_is_that_of_the_updates_one_after_another(
    seed: int, number: int, pairs: int
) -> None:
    """Against H ← (I − ρ s yᵀ) H (I − ρ y sᵀ) + ρ s sᵀ (Nocedal and Wright 2006, eq. 6.17)."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(number, number))
    hessian = root @ root.T + np.eye(number)
    steps = rng.normal(size=(pairs, number))
    inverse = InverseHessian(number)
    for step in steps:
        inverse.update(step, hessian @ step)
    last = hessian @ steps[-1]
    expected = np.eye(number) * (steps[-1] @ last) / (last @ last)
    for step in steps[-CORRECTIONS:]:
        change = hessian @ step
        left = np.eye(number) - np.outer(step, change) / (step @ change)
        expected = left @ expected @ left.T + np.outer(step, step) / (step @ change)
    gradient = rng.normal(size=number)
    size = np.abs(expected).max() * np.abs(gradient).max()
    np.testing.assert_allclose(inverse.times(gradient), expected @ gradient, atol=1e-6 * size)


@given(st.integers(0, 2**20), st.integers(2, 8))
def test_it_finds_the_minimum(seed: int, number: int) -> None:
    """Of Rosenbrock's function near its minimum, from which plain gradient descent crawls."""
    rng = np.random.default_rng(seed)
    evaluations = []

    def loss_at(weights: np.ndarray) -> tuple[float, np.ndarray]:
        evaluations.append(weights)
        loss = float(rosen(weights))
        gradient = rosen_der(weights)
        if np.linalg.norm(gradient) < 1e-8 or len(evaluations) == 500:
            raise Enough
        return loss, gradient

    with contextlib.suppress(Enough):
        minimise(loss_at, 1 + 0.3 * rng.uniform(-1, 1, size=number))
    assert rosen(evaluations[-1]) < 1e-12


def test_it_ends_where_rounding_hides_every_way_down() -> None:
    evaluations = []

    def loss_at(weights: np.ndarray) -> tuple[float, np.ndarray]:
        evaluations.append(weights)
        return 1.0 + 1e-3 * float(weights @ weights), 2e-3 * weights

    minimise(loss_at, np.array([3.0, 4.0]))
    assert np.linalg.norm(evaluations[-1]) < 1e-4 and len(evaluations) < 200
