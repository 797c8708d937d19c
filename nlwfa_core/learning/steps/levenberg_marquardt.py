"""Least squares for the transitions of small networks, by the method of Levenberg (1944) and
Marquardt (1963).

A step solves (JᵀJ + μI + λdI) δ = −g, where J has the derivatives of the residuals, g is half the
gradient of the loss, d is the mean of the diagonal of JᵀJ, μ is a ridge, and λ is a damping, which
is lowered after a step that lowers the loss and raised otherwise. L-BFGS compares losses to choose
the length of a step, so a difference in the last digit can change its path. The steps here depend
smoothly on the data, and the ridge fixes weights that the data hardly determine. So every processor
finds the same maps, to about ten digits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...strings.words import FloatArray
from ..progress import CancelCheck, Progress, TrainingLog, check_cancelled
from .descent import Epochs

RIDGE = 1e-6  # μ: the loss is the relative error plus μ times the sum of the squared weights
# λ: first, smallest, and so large that no step lowers the loss any more
DAMPING = 1e-2
MIN_DAMPING = 1e-14
MAX_DAMPING = 1e8
# factors by which λ falls and grows
FALL = 4.0
GROWTH = 4.0
# A map's training ends after PATIENCE steps in a row that each lower its loss by less than the
# share MIN_GAIN.
MIN_GAIN = 1e-3
PATIENCE = 3


class TwoLayers:
    """The least-squares problem of one symbol's map, g(z) = tanh(tanh(zᵀE)F), as a function of its
    weights E and F.

    The loss is Σ_c w_c ‖g(z_c) − t_c‖² + μ (‖E‖² + ‖F‖²), where c runs over the classes of prefixes
    with the same state.

    `states` (num_classes, k): the state z_c of each class. `targets` (num_classes, k): the state
    t_c that the map should give. `weights` (num_classes,): the weight w_c. `width`: the number of
    hidden units.
    """

    def __init__(
        self, states: FloatArray, targets: FloatArray, weights: FloatArray, width: int
    ) -> None:
        counted = weights > 0
        self.Z = states[counted]
        self.T = targets[counted]
        self.roots = np.sqrt(weights[counted])[:, None]
        self.k = states.shape[1]
        self.width = width
        # (num_classes, k·k)
        self.ZZ = (self.Z[:, :, None] * self.Z[:, None, :]).reshape(len(self.Z), self.k**2)

    def layers(self, vector: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Split a vector of all weights into E, shape (k, width), and F, shape (width, k)."""
        E, F = np.split(vector, 2)
        return E.reshape(self.k, self.width), F.reshape(self.width, self.k)

    def error(self, vector: FloatArray) -> float:
        """Σ_c w_c ‖g(z_c) − t_c‖²."""
        E, F = self.layers(vector)
        residuals = self.roots * (np.tanh(np.tanh(self.Z @ E) @ F) - self.T)
        return float((residuals * residuals).sum())

    def normal_equations(self, vector: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Compute JᵀJ, shape (n, n), and Jᵀr, shape (n,), without the ridge. There are n = 2 · k ·
        width weights.

        J holds the derivatives of the residuals r = √w (g(z) − t). It is never formed, because it
        would have k · num_classes rows, mostly filled with zeros. With the hidden units y =
        tanh(zᵀE) and s_j = √w (1 − g_j²), the derivative of the residual of output j is s_j y_i
        with respect to F_ij, 0 with respect to the other columns of F, and s_j F_ij (1 − y_i²) z_l
        with respect to E_li.
        """
        (E, F), k, m = self.layers(vector), self.k, self.width
        A = np.tanh(self.Z @ E)
        G = np.tanh(A @ F)
        S = self.roots * (1 - G * G)
        slopes = 1 - A * A
        Q = S * (self.roots * (G - self.T))
        gradient = np.concatenate(((self.Z.T @ ((Q @ F.T) * slopes)).ravel(), (A.T @ Q).ravel()))
        squares = S * S
        pairs = (F[:, None, :] * F[None, :, :]).reshape(m * m, k)  # of hidden units
        inner = (squares @ pairs.T) * (slopes[:, :, None] * slopes[:, None, :]).reshape(-1, m * m)
        products = np.zeros((2 * k * m, 2 * k * m))
        products[: k * m, : k * m] = (
            (self.ZZ.T @ inner).reshape(k, k, m, m).transpose(0, 2, 1, 3).reshape(k * m, k * m)
        )
        last = products[k * m :, k * m :].reshape(m, k, m, k)
        cross = np.zeros((k, m, m, k))
        moved = (self.Z[:, :, None] * slopes[:, None, :]).reshape(-1, k * m)
        for output in range(k):  # no F_aj changes an output other than j
            weighted = A * squares[:, output : output + 1]
            last[:, output, :, output] = A.T @ weighted
            cross[:, :, :, output] = (moved.T @ weighted).reshape(k, m, m) * F[
                None, :, output, None
            ]
        products[: k * m, k * m :] = cross.reshape(k * m, m * k)
        products[k * m :, : k * m] = products[: k * m, k * m :].T
        return products, gradient


def fit_maps(
    epochs: Epochs, states: FloatArray, targets: FloatArray, weights: FloatArray
) -> TrainingLog:
    """Train the maps of all symbols, one after another, starting from the current layers.

    `epochs`: holds the layers E and F of all symbols, which change in place, and the callback for
    reports. Each map takes at most `epochs.descent.epochs` steps that lower its loss. `states`,
    `targets` and `weights`: as for `losses.BatchedSquaredError`.

    Returns a TrainingLog: its losses are the error of all maps together after each step, without
    the ridge. Its gradient is that of the loss with the ridge.

    Raises Cancelled.
    """
    E, F = epochs.layers
    problems = [
        TwoLayers(states, each, weight, E.shape[2])
        for each, weight in zip(targets, weights, strict=True)
    ]
    maps = [np.concatenate((first.ravel(), last.ravel())) for first, last in zip(E, F, strict=True)]
    errors = [problem.error(vector) for problem, vector in zip(problems, maps, strict=True)]
    rest = epochs.loss_of()[0] - sum(errors)  # what no map can lower
    losses = [rest + sum(errors)]
    total = epochs.descent.epochs * len(maps)
    ended = list[bool]()
    epochs.report(Progress(epochs.stage, 0, total, losses[0], look=epochs.look))
    for symbol, problem in enumerate(problems):

        def after_step(
            vector: FloatArray, error: float, symbol: int = symbol, problem: TwoLayers = problem
        ) -> None:
            maps[symbol], errors[symbol] = vector, error
            E[symbol], F[symbol] = problem.layers(vector)
            losses.append(rest + sum(errors))
            epochs.report(
                Progress(epochs.stage, len(losses) - 1, total, losses[-1], look=epochs.look)
            )

        ended.append(
            _descend(problem, maps[symbol], epochs.descent.epochs, after_step, epochs.cancelled)
        )
    gradients = [
        problem.normal_equations(vector)[1] + RIDGE * vector
        for problem, vector in zip(problems, maps, strict=True)
    ]
    size = 2 * float(np.sqrt(sum(gradient @ gradient for gradient in gradients)))
    return TrainingLog(
        epochs.stage,
        np.array(losses),
        stopped="tolerance" if all(ended) else "epochs",
        gradient=size,
    )


def _descend(
    problem: TwoLayers,
    vector: FloatArray,
    steps: int,
    after_step: Callable[[FloatArray, float], None],
    cancelled: CancelCheck,
) -> bool:
    """Take at most `steps` steps that lower the loss of a map. Returns whether the last steps
    hardly lowered the loss any more.

    After each step, `after_step` is called with the weights and their error without the ridge.
    """
    loss = problem.error(vector) + RIDGE * float(vector @ vector)
    damping = DAMPING
    slow_steps = 0
    identity = np.eye(len(vector))
    for _ in range(steps):
        check_cancelled(cancelled)
        products, gradient = problem.normal_equations(vector)
        size = float(products.diagonal().mean()) + np.finfo(float).tiny
        while True:
            damped = products + (RIDGE + damping * size) * identity
            moved = vector - np.linalg.solve(damped, gradient + RIDGE * vector)
            error = problem.error(moved)
            after = error + RIDGE * float(moved @ moved)
            if after < loss:
                break
            damping *= GROWTH
            if damping > MAX_DAMPING:  # because of rounding, no step lowers the loss
                return True
        slow_steps = slow_steps + 1 if after > (1 - MIN_GAIN) * loss else 0
        vector = moved
        loss = after
        damping = max(damping / FALL, MIN_DAMPING)
        after_step(vector, error)
        if slow_steps == PATIENCE:
            return True
    return False
