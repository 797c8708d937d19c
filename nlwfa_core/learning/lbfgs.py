"""L-BFGS (Nocedal and Wright 2006, §7.2) with a line search for the weak Wolfe conditions (Lewis
and Overton, *Nonsmooth optimization via quasi-Newton methods*, Mathematical Programming 141, 2013,
algorithm 2.6, here with quadratic interpolation).

scipy's L-BFGS-B is designed for bounds, spends most of its time outside the loss if there are many
weights, and calls the loss itself, so it cannot train many networks at once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dtrtrs

from ..strings.words import FloatArray

# A loss and its gradient, and a function that takes weights and returns them.
Evaluated = tuple[float, FloatArray]
LossAt = Callable[[FloatArray], Evaluated]

# pairs of steps and changes of the gradient from which the curvature is estimated
CORRECTIONS = 30
# A step has to lower the loss by the share DECREASE of what the slope promises, and reduce the
# slope along it to the share SLOPE.
DECREASE = 1e-4
SLOPE = 0.9
# evaluations after which a line search gives up
MOST_EVALUATIONS = 25
# A new step lies at least this share of the bracket away from its ends.
MARGIN = 0.1
# Pairs whose curvature is smaller, relative to the change of the gradient, are left out.
LEAST_CURVATURE = 1e-12


class InverseHessian:
    """An approximation of the inverse Hessian matrix, from the last CORRECTIONS steps.

    It is used in its compact form (Nocedal and Wright 2006, eq. 7.24), which takes four products
    with matrices of that many rows. Before the first step it is the identity matrix.
    """

    def __init__(self, number: int) -> None:
        # The pairs are the rows `begin` to `end` of arrays with twice as many, and are moved only
        # when the last row is used.
        self.S, self.Y = np.empty((2, 2 * CORRECTIONS, number))
        self.SY, self.YY = np.empty((2, 2 * CORRECTIONS, 2 * CORRECTIONS))
        self.begin = self.end = 0

    @property
    def is_empty(self) -> bool:
        """Return whether no step is known."""
        return self.begin == self.end

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
            self.begin = 0
            self.end = size
        last = self.end
        self.end += 1
        pairs = slice(self.begin, self.end)
        self.S[last], self.Y[last] = step, change
        self.SY[pairs, last] = self.S[pairs] @ change
        self.YY[pairs, last] = self.YY[last, pairs] = self.Y[pairs] @ change

    def times(self, gradient: FloatArray) -> FloatArray:
        """Multiply the matrix by a gradient."""
        if self.is_empty:
            return gradient
        pairs = slice(self.begin, self.end)
        S = self.S[pairs]
        Y = self.Y[pairs]
        # of R, only the upper triangle
        R = self.SY[pairs, pairs]
        YY = self.YY[pairs, pairs]
        scale = R[-1, -1] / YY[-1, -1]
        u = _solved(R, S @ gradient, trans=0)
        inner = R.diagonal() * u + scale * (YY @ u - Y @ gradient)
        v = _solved(R, inner, trans=1)
        product: FloatArray = scale * gradient + v @ S - scale * (u @ Y)
        return product


class Step(NamedTuple):
    """A step along a direction: the share of it that was taken, and the loss and its gradient at
    the end.
    """

    share: float
    loss: float
    gradient: FloatArray


def _solved(R: FloatArray, right: FloatArray, trans: int) -> FloatArray:
    """Solve R x = right, or Rᵀ x = right if `trans` is 1, with R an upper triangle.

    For matrices this small, scipy's checks take longer than the solution.
    """
    # LAPACK reads arrays of C as transposed.
    solution: FloatArray = dtrtrs(R.T, right, lower=1, trans=1 - trans)[0]
    return solution


def minimise(loss_at: LossAt, weights: FloatArray) -> None:
    """Minimise a loss, starting from some weights, until `loss_at` raises an error, or, because of
    rounding, no step lowers the loss.
    """
    loss, gradient = loss_at(weights)
    inverse = InverseHessian(len(weights))
    while True:
        direction = -inverse.times(gradient)
        if inverse.is_empty:
            direction /= max(1.0, float(np.abs(gradient).sum()))
        search = line_search(weights, direction, loss, gradient)
        try:
            point = next(search)
            while True:
                point = search.send(loss_at(point))
        except StopIteration as end:
            step: Step | None = end.value
        if step is not None:
            inverse.update(step.share * direction, step.gradient - gradient)
            weights = weights + step.share * direction
            _, loss, gradient = step
        elif inverse.is_empty:
            return
        else:
            inverse.clear()


def line_search(
    weights: FloatArray, direction: FloatArray, loss: float, gradient: FloatArray
) -> Generator[FloatArray, Evaluated, Step | None]:
    """Find a step that meets the weak Wolfe conditions, or otherwise a step that lowers the loss
    enough; None if there is none.

    It yields the weights at which it needs the loss and its gradient.
    """
    slope = float(direction @ gradient)
    if not slope < 0:
        return None
    # A share that is too small, its loss and its slope; and one that is too large.
    low = 0.0
    lowest = loss
    steepest = slope
    high = np.inf
    step = None
    share = 1.0
    for _ in range(MOST_EVALUATIONS):
        value, new_gradient = yield weights + share * direction
        if not value <= loss + DECREASE * share * slope:
            # The parabola with the same loss and slope as at `low`, and the same loss here.
            width = share - low
            bend = value - lowest - steepest * width
            part = -steepest * width / (2 * bend) if bend > 0 else 0.5
            high = share
        else:
            step = Step(share, value, new_gradient)
            new_slope = float(new_gradient @ direction)
            if new_slope >= SLOPE * slope:
                break
            low = share
            lowest = value
            steepest = new_slope
            part = 0.5
        part = min(max(part, MARGIN), 1 - MARGIN)
        share = low + part * (high - low) if np.isfinite(high) else 2 * low
    return step
