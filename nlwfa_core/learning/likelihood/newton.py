"""Minimise J by L-BFGS in coordinates in which the Gauss–Newton matrix is the identity.

Alone, L-BFGS gets nowhere here: the scales of the layers, and of short and long prefixes, are too
far apart. With R the Cholesky factor of G + (ρ/N + μ) I it minimises y ↦ J(θ + R⁻¹y), which is as
cheap to evaluate, for a few steps; then G is computed again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.optimize import minimize

from ...strings.words import FloatArray
from ..progress import CancelCheck, check_cancelled, never
from .curvature import gauss_newton
from .network import Network, objective, objective_and_gradient
from .prefixes import PrefixCounts

# Above this number of weights, or of multiplications, the matrix is too large to be computed again
# and again. Then L-BFGS works in the coordinates of the weights themselves.
MOST_WEIGHTS, MOST_MULTIPLICATIONS = 1_500, 10**10
DAMPING = 1e-3  # μ
# relative to the largest diagonal entry of G: it is computed in float32
JITTER = 1e-6
STEPS = 20  # of L-BFGS with one matrix
# Of L-BFGS without a matrix: steps in a round, in place of STEPS, and the share of J that a round
# has to gain.
PLAIN_STEPS, PLAIN_SHARE = 100, 1e-3
# A round of steps that raises the log-likelihood of the training strings by less is the last.
LEAST_GAIN = 2.0  # nats


@dataclass(frozen=True, eq=False)
class Descended:
    """Where a training has ended.

    Attributes
    ----------
    network : Network
    value : float
        J, in nats per prediction.
    values : tuple of float
        J before the first step and after each.
    converged : bool
        Whether the last round gained less than LEAST_GAIN.
    """

    network: Network
    value: float
    values: tuple[float, ...]
    converged: bool = False


def is_large(network: Network, prefixes: PrefixCounts) -> bool:
    """Return whether the Gauss–Newton matrix is too large to be computed."""
    number = len(network.vector)
    rows = prefixes.num_prefixes * prefixes.num_symbols
    return number > MOST_WEIGHTS or rows * number * number > MOST_MULTIPLICATIONS


def descend(
    network: Network,
    prefixes: PrefixCounts,
    ridge: float,
    rounds: int,
    steps: int = STEPS,
    *,
    curvature_of: PrefixCounts | None = None,
    least_share: float = 0.0,
    cancelled: CancelCheck = never,
) -> Descended:
    """Train a network in rounds, each with a matrix of its own, until a round gains less than
    LEAST_GAIN, or less than a share of J. J never rises.

    A network that is too large for a matrix is trained by L-BFGS alone, with more steps in a round,
    which have to gain PLAIN_SHARE.

    Parameters
    ----------
    network : Network
    prefixes : PrefixCounts
    ridge : float
        ρ / N.
    rounds, steps : int
        The largest number of rounds, and of steps of L-BFGS in each.
    curvature_of : PrefixCounts, optional
        Fewer prefixes, of which G is computed.
    least_share : float
    cancelled : callable

    Raises
    ------
    Cancelled
    """
    curvature_of = curvature_of or prefixes
    plain = is_large(network, curvature_of)
    if plain:
        steps, least_share = steps * PLAIN_STEPS // STEPS, PLAIN_SHARE
    value = objective(network, prefixes, ridge)
    values = [value]
    for _ in range(rounds):
        factor = None if plain else _factor(network, curvature_of, ridge)
        if factor is None and not plain:
            break
        moved = _round(network, prefixes, ridge, factor, steps, cancelled)
        if not moved.value < value:
            return Descended(network, value, tuple(values), bool(np.isfinite(value)))
        gain = value - moved.value
        network, value = moved.network, moved.value
        values += moved.values
        if gain * prefixes.total < LEAST_GAIN or gain < least_share * value:
            return Descended(network, value, tuple(values), True)
    return Descended(network, value, tuple(values))


def _factor(network: Network, prefixes: PrefixCounts, ridge: float) -> FloatArray | None:
    """Decompose G + (ρ/N + μ) I, with more on the diagonal where rounding makes that fail; None if
    G is not finite.
    """
    matrix = gauss_newton(network, prefixes)
    if not np.isfinite(matrix).all():
        return None
    diagonal = np.einsum("ii->i", matrix)
    largest = float(diagonal.max())
    diagonal += ridge + DAMPING + JITTER * largest
    more = 10 * JITTER * largest
    while True:
        try:
            factor: FloatArray = cholesky(matrix, check_finite=False)
        except LinAlgError:
            diagonal += more
            more *= 10
        else:
            return factor


def _round(
    network: Network,
    prefixes: PrefixCounts,
    ridge: float,
    factor: FloatArray | None,
    steps: int,
    cancelled: CancelCheck,
) -> Descended:
    """Carry out some steps of L-BFGS from a network."""
    origin = network.vector
    values: list[float] = []
    latest = np.inf

    def place(coordinates: FloatArray) -> FloatArray:
        if factor is None:
            return origin + coordinates
        return origin + np.asarray(solve_triangular(factor, coordinates, check_finite=False))

    def evaluate(coordinates: FloatArray) -> tuple[float, FloatArray]:
        nonlocal latest
        check_cancelled(cancelled)
        moved = network.with_vector(place(coordinates))
        latest, gradient = objective_and_gradient(moved, prefixes, ridge)
        if factor is not None:
            gradient = solve_triangular(factor, gradient, trans=1, check_finite=False)
        return latest, gradient

    def note(_: FloatArray) -> None:
        values.append(latest)

    result = minimize(  # type: ignore[call-overload]
        evaluate,
        np.zeros(len(origin)),
        jac=True,
        method="L-BFGS-B",
        callback=note,
        options={"maxiter": steps, "maxcor": STEPS, "maxfun": 2 * steps, "ftol": 1e-9},
    )
    return Descended(network.with_vector(place(result.x)), float(result.fun), tuple(values))
