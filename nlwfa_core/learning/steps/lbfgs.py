"""L-BFGS (Nocedal and Wright 2006, §7.2) with a line search for the Wolfe conditions (Lewis and
Overton 2013).

scipy's L-BFGS-B is made for bounds, and spends most of its time outside the loss if there are many
weights.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import solve_triangular

from ...strings.words import FloatArray

# A function that takes weights, and returns the loss and its gradient.
LossAt = Callable[[FloatArray], tuple[float, FloatArray]]

# pairs of steps and changes of the gradient from which the curvature is guessed
CORRECTIONS = 30
# A step has to lower the loss by the share DECREASE of what the slope promises, and the slope along
# it to the share SLOPE.
DECREASE, SLOPE = 1e-4, 0.9
# of a line search, after which no step along the direction is found
MOST_EVALUATIONS = 25
# A new step lies at least this share of the bracket away from its ends.
MARGIN = 0.1
# Pairs whose curvature is smaller, relative to the change of the gradient, are left out.
LEAST_CURVATURE = 1e-12


class InverseHessian:
    """An approximation of the inverse Hessian matrix, from the last CORRECTIONS steps.

    It is used in its compact form (Nocedal and Wright 2006, eq. 7.24), which takes four products
    with matrices of that many rows.
    """

    def __init__(self, number: int) -> None:
        # The pairs are the rows `begin` to `end` of twice as many, which are moved only when the
        # last row is used.
        self.S, self.Y = np.empty((2, 2 * CORRECTIONS, number))
        self.SY, self.YY = np.empty((2, 2 * CORRECTIONS, 2 * CORRECTIONS))
        self.begin = self.end = 0

    def clear(self) -> None:
        """Forget all steps."""
        self.begin = self.end = 0

    def update(self, step: FloatArray, change: FloatArray) -> None:
        """Add a step, and the change of the gradient along it."""
        if not step @ change > LEAST_CURVATURE * (change @ change):
            return
        self.begin += self.end - self.begin == CORRECTIONS
        if self.end == len(self.S):
            kept = slice(self.begin, self.end)
            size = self.end - self.begin
            for array in (self.S, self.Y):
                array[:size] = array[kept]
            for square in (self.SY, self.YY):
                square[:size, :size] = square[kept, kept]
            self.begin, self.end = 0, size
        last = self.end
        self.end += 1
        pairs = slice(self.begin, self.end)
        self.S[last], self.Y[last] = step, change
        self.SY[pairs, last] = self.S[pairs] @ change
        self.YY[pairs, last] = self.YY[last, pairs] = self.Y[pairs] @ change

    def times(self, gradient: FloatArray) -> FloatArray:
        """Multiply the matrix by a gradient."""
        if self.begin == self.end:
            return gradient / max(1.0, float(np.abs(gradient).sum()))
        pairs = slice(self.begin, self.end)
        S, Y = self.S[pairs], self.Y[pairs]
        R, YY = self.SY[pairs, pairs], self.YY[pairs, pairs]  # of R, only the upper triangle
        scale = R[-1, -1] / YY[-1, -1]
        u = solve_triangular(R, S @ gradient, check_finite=False)
        inner = R.diagonal() * u + scale * (YY @ u - Y @ gradient)
        v = solve_triangular(R, inner, trans=1, check_finite=False)
        product: FloatArray = scale * gradient + v @ S - scale * (u @ Y)
        return product


def minimise(loss_at: LossAt, weights: FloatArray) -> None:
    """Minimise a loss from some weights on until `loss_at` raises an error, or rounding hides every
    way down.
    """
    loss, gradient = loss_at(weights)
    inverse = InverseHessian(len(weights))
    while True:
        direction = -inverse.times(gradient)
        found = _search(loss_at, weights, direction, loss, float(direction @ gradient))
        if found is not None:
            step, loss, new_gradient = found
            inverse.update(step * direction, new_gradient - gradient)
            weights = weights + step * direction
            gradient = new_gradient
        elif inverse.begin < inverse.end:
            inverse.clear()
        else:
            return


def _search(
    loss_at: LossAt, weights: FloatArray, direction: FloatArray, loss: float, slope: float
) -> tuple[float, float, FloatArray] | None:
    """Find a step along a direction that satisfies the Wolfe conditions.

    Returns the step, the loss there and its gradient; None if no step is found.
    """
    if not slope < 0:
        return None
    # A step that is too short, its loss and its slope; and one that is too long.
    short, lowest, steepest, long = 0.0, loss, slope, np.inf
    step = 1.0
    for _ in range(MOST_EVALUATIONS):
        value, gradient = loss_at(weights + step * direction)
        new_slope = float(gradient @ direction)
        if not value <= loss + DECREASE * step * slope:
            # The parabola with the same loss and slope as at `short`, and the same loss here.
            width = step - short
            bend = value - lowest - steepest * width
            share = -steepest * width / (2 * bend) if bend > 0 else 0.5
            long = step
        elif new_slope < SLOPE * slope:
            short, lowest, steepest = step, value, new_slope
            share = 0.5
        else:
            return step, value, gradient
        share = min(max(share, MARGIN), 1 - MARGIN)
        step = short + share * (long - short) if np.isfinite(long) else 2 * short
    return None
