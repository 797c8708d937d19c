"""Minimise J with L-BFGS in coordinates in which the Gauss–Newton matrix is the identity.

L-BFGS alone makes little progress here, because the scales of the layers, and of short and long
prefixes, are too far apart. With R the Cholesky factor of G + (ρ/N + μ) I, it takes a few steps on
y ↦ J(θ + R⁻¹y), which is as cheap to evaluate as J. Then G is computed again. If no step lowers J,
μ is raised (Levenberg 1944).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky
from scipy.linalg.lapack import dtrtri

from ...strings.words import FloatArray
from ..lbfgs import Evaluated, InverseHessian, Step, line_search
from ..progress import CancelCheck, check_cancelled, never
from .curvature import gauss_newton
from .network import Evaluator, Network
from .prefixes import PrefixCounts

# Above this number of weights, or of multiplications, the matrix is too large to be computed again
# and again. Then L-BFGS works in the coordinates of the weights themselves.
MOST_WEIGHTS = 1_500
MOST_MULTIPLICATIONS = 10**10
# μ
DAMPING = 1e-3
MOST_DAMPING = 10.0
# relative to the largest diagonal entry of G: it is computed in float32
JITTER = 1e-6
STEPS = 20  # steps of L-BFGS with one matrix
# For L-BFGS without a matrix: steps in a round, in place of STEPS, and the share of J that a round
# has to gain.
PLAIN_STEPS = 100
PLAIN_SHARE = 1e-3
SMALLEST_SHARE = 1e-9  # share of J that a step has to gain
# A round of steps that raises the training strings' log-likelihood by less than this is the last.
LEAST_GAIN = 2.0  # nats


@dataclass(frozen=True, eq=False)
class Descended:
    """The end of a training run.

    Attributes
    ----------
    network : Network
    value : float
        J, in nats per prediction.
    values : tuple of float
        J before the first step and after each step.
    gradient : float
        ‖∂J/∂θ‖.
    stopped : str
        "tolerance", if the last round gained less than LEAST_GAIN or a share of J; "rounding", if
        no step lowered J; "epochs", after all rounds.
    """

    network: Network
    value: float
    values: tuple[float, ...]
    gradient: float
    stopped: str


def is_large(network: Network, prefixes: PrefixCounts) -> bool:
    """Return whether the Gauss–Newton matrix is too large to be computed."""
    number = len(network.vector)
    rows = prefixes.num_prefixes * prefixes.num_symbols
    return number > MOST_WEIGHTS or rows * number * number > MOST_MULTIPLICATIONS


def descend(
    networks: Sequence[Network],
    prefixes: PrefixCounts,
    ridge: float,
    rounds: int,
    steps: int = STEPS,
    *,
    curvature_of: PrefixCounts | None = None,
    least_share: float = 0.0,
    cancelled: CancelCheck = never,
    watch: Callable[[float, FloatArray], None] | None = None,
) -> list[Descended]:
    """Train networks of one shape in rounds, each with its own matrix, until a round gains less
    than LEAST_GAIN, or less than a share of J. J never rises. The networks do not depend on each
    other; training them together takes less time.

    A network that is too large for a matrix is trained with L-BFGS alone, with more steps in a
    round, which must gain PLAIN_SHARE.

    Parameters
    ----------
    networks : sequence of Network
    prefixes : PrefixCounts
    ridge : float
        ρ / N.
    rounds, steps : int
        The largest number of rounds, and of steps of L-BFGS in each.
    curvature_of : PrefixCounts, optional
        Fewer prefixes, for which G is computed.
    least_share : float
    cancelled : callable
    watch : callable, optional
        It receives J and θ of the best network whenever all networks have taken another step.

    Raises
    ------
    Cancelled
        If `cancelled()` returns true.
    """
    curvature_of = curvature_of or prefixes
    shape = networks[0]
    plain = is_large(shape, curvature_of)
    if plain:
        steps = steps * PLAIN_STEPS // STEPS
        least_share = PLAIN_SHARE

    evaluator = Evaluator(shape, prefixes, ridge, len(networks))
    for_curvature = None if plain else Evaluator(shape, curvature_of, ridge, 1)

    def rounds_of(network: Network) -> Generator[FloatArray, Evaluated, Descended]:
        value, gradient = yield network.vector
        values = [value]
        stopped = "epochs"
        matrix = None
        damping = DAMPING
        for _ in range(rounds):
            if matrix is None and not plain:
                matrix = gauss_newton(network, curvature_of, for_curvature)
            if not np.isfinite(value) or (matrix is not None and not np.isfinite(matrix).all()):
                stopped = "rounding"
                break
            coordinates = None if matrix is None else _coordinates(matrix, ridge + damping)
            before = value
            network, gradient, lower, stuck = yield from _round(
                network, value, gradient, coordinates, steps
            )
            if lower:
                values += lower
                value = lower[-1]
                matrix = None
            gain = before - value
            if stuck and not plain and damping < MOST_DAMPING:
                damping *= 10
            elif gain * prefixes.total < LEAST_GAIN or gain < least_share * value:
                stopped = "rounding" if stuck else "tolerance"
                break
            else:
                damping = max(damping / 10, DAMPING)
        size = float(np.linalg.norm(gradient))
        return Descended(network, value, tuple(values), size, stopped)

    descents = [rounds_of(network) for network in networks]
    asked = {number: next(descent) for number, descent in enumerate(descents)}
    ended: dict[int, Descended] = {}
    while asked:
        check_cancelled(cancelled)
        vectors = np.stack([*asked.values()])
        answers = evaluator.objectives_and_gradients(vectors)
        if watch is not None:
            best = int(answers[0].argmin())
            watch(float(answers[0][best]), vectors[best])
        for number, value, gradient in zip([*asked], *answers, strict=True):
            try:
                asked[number] = descents[number].send((float(value), gradient))
            except StopIteration as end:
                ended[number] = end.value
                del asked[number]
    return [ended[number] for number in range(len(networks))]


class Coordinates(NamedTuple):
    """R and R⁻¹. Triangular systems are solved so often that computing the inverse saves time."""

    factor: FloatArray
    inverse: FloatArray


def _coordinates(matrix: FloatArray, damping: float) -> Coordinates:
    """Decompose G + damping I, with more on the diagonal where rounding makes that fail."""
    damped = matrix.copy()
    diagonal = np.einsum("ii->i", damped)
    largest = float(diagonal.max())
    diagonal += damping + JITTER * largest
    more = 10 * JITTER * largest
    while True:
        try:
            factor: FloatArray = cholesky(damped, check_finite=False)
        except LinAlgError:
            diagonal += more
            more *= 10
        else:
            return Coordinates(factor, dtrtri(factor)[0])


def _round(
    network: Network,
    value: float,
    gradient: FloatArray,
    coordinates: Coordinates | None,
    steps: int,
) -> Generator[FloatArray, Evaluated, tuple[Network, FloatArray, list[float], bool]]:
    """Carry out some steps of L-BFGS from a network with its J and gradient.

    It yields the θ at which it needs J and its gradient. It returns the network, its gradient, J
    after each step, and whether no step that lowers J was found.
    """
    origin = network.vector
    y = np.zeros(len(origin))
    slopes = _slopes(coordinates, gradient)
    inverse = InverseHessian(len(origin))
    values: list[float] = []
    stuck = False
    for _ in range(steps):
        direction = -inverse.times(slopes)
        step = yield from _in_weights(line_search(y, direction, value, slopes), origin, coordinates)
        if step is None:
            stuck = True
            break
        inverse.update(step.share * direction, step.gradient - slopes)
        decrease = value - step.loss
        y = y + step.share * direction
        _, value, slopes = step
        values.append(value)
        if decrease <= SMALLEST_SHARE * abs(value):
            break
    end = network.with_vector(_weights(origin, coordinates, y))
    if coordinates is not None:
        slopes = coordinates.factor.T @ slopes
    return end, slopes, values, stuck


def _in_weights(
    search: Generator[FloatArray, Evaluated, Step | None],
    origin: FloatArray,
    coordinates: Coordinates | None,
) -> Generator[FloatArray, Evaluated, Step | None]:
    """Translate a line search in the coordinates y into weights: yield the θ of each y at which it
    needs J, and send it J and ∂J/∂y. Returns its result.
    """
    y = next(search, None)
    while y is not None:
        value, gradient = yield _weights(origin, coordinates, y)
        try:
            y = search.send((value, _slopes(coordinates, gradient)))
        except StopIteration as end:
            step: Step | None = end.value
            return step
    return None


def _weights(origin: FloatArray, coordinates: Coordinates | None, y: FloatArray) -> FloatArray:
    """Return θ of y."""
    return origin + (y if coordinates is None else coordinates.inverse @ y)


def _slopes(coordinates: Coordinates | None, gradient: FloatArray) -> FloatArray:
    """Return ∂J/∂y, from ∂J/∂θ."""
    return gradient if coordinates is None else gradient @ coordinates.inverse
