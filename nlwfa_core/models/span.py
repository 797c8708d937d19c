"""The span of an automaton's states, with bounds on rounding errors, and the projection of the
automaton onto it.

A state that lies in the span of others, except for rounding errors, must not count as a new
direction; a small true direction must. So every number carries a bound on its error (a running
error analysis; Higham, *Accuracy and Stability of Numerical Algorithms*, 2002, §3.3), and counts as
zero by the rule of `rounding`. The rule is also applied entry by entry, because noise in an entry
that should be 0 would lead to states that no string reaches.

Sources: Schützenberger 1961; Tzeng 1992.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import starmap
from typing import NamedTuple

import numpy as np

from ..rounding import RELATIVE_ERROR, error_of_sums
from ..strings.words import FloatArray

LARGEST_BOUND = 2.0**100


class Bounded(NamedTuple):
    """Numbers, bounds on their errors, and the sizes of the products whose sums they are, as three
    arrays of one shape.
    """

    values: FloatArray
    errors: FloatArray
    sizes: FloatArray

    @classmethod
    def exact(cls, values: FloatArray) -> Bounded:
        return cls(values, np.zeros_like(values), np.abs(values))

    def times(self, other: Bounded) -> Bounded:
        """Multiply by a matrix, or a vector, from the right."""
        magnitudes = np.abs(self.values)
        error = error_of_sums(self.values)
        return Bounded(
            self.values @ other.values,
            (self.errors + error * magnitudes) @ np.abs(other.values) + magnitudes @ other.errors,
            self.sizes @ other.sizes,
        )

    @property
    def without_noise(self) -> Bounded:
        """Set to 0 the numbers that may be only rounding errors of products of these sizes.

        Otherwise, they would look like true numbers in the next product.
        """
        noise = np.abs(self.values) <= error_of_sums(self.values) * self.sizes
        return self._replace(values=np.where(noise, 0.0, self.values))

    @property
    def vectors(self) -> Iterator[Bounded]:
        """Iterate over the first axis."""
        return starmap(Bounded, zip(*self, strict=True))

    @property
    def transposed(self) -> Bounded:
        """Exchange the last two axes."""
        return Bounded(*(part.swapaxes(-1, -2) for part in self))


class Maps(NamedTuple):
    """α₀, the A_σ and α∞ of an automaton."""

    initial: Bounded  # (num_states,)
    transitions: Bounded  # (num_symbols, num_states, num_states)
    termination: Bounded  # (num_states,)

    @classmethod
    def exact(cls, initial: FloatArray, transitions: FloatArray, termination: FloatArray) -> Maps:
        return cls(Bounded.exact(initial), Bounded.exact(transitions), Bounded.exact(termination))

    @property
    def reverse(self) -> Maps:
        """Return the maps of the automaton that reads strings from their end."""
        return Maps(self.termination, self.transitions.transposed, self.initial)

    def of_symbol(self, symbol: int) -> Bounded:
        return Bounded(*(part[symbol] for part in self.transitions))


class Span:
    """Orthonormal rows that span the vectors that were added.

    `rows` (num_rows, num_states). `errors` (num_rows, num_states): bounds of their errors.
    """

    def __init__(self, num_states: int) -> None:
        self.rows: FloatArray = np.zeros((0, num_states))
        self.errors: FloatArray = np.zeros((0, num_states))

    @property
    def is_whole(self) -> bool:
        """Return whether the span is the whole space."""
        return bool(len(self.rows) == self.rows.shape[1])

    def add(self, vector: Bounded) -> Bounded | None:
        """Add the direction of the part of a vector outside the span, and return it; None if the
        vector lies in the span.

        >>> span = Span(2)
        >>> right, left = Bounded.exact(np.array([3.0, 0.0])), Bounded.exact(np.array([-1.0, 0.0]))
        >>> span.add(right).values.tolist(), span.add(left)
        ([1.0, 0.0], None)
        """
        if self.is_whole:
            return None
        values, errors, sizes = vector
        magnitudes = np.abs(self.rows)
        error = error_of_sums(values)
        shares = self.rows @ values
        # Twice: one projection leaves an error where the vector is almost in the span.
        rest = values - shares @ self.rows
        rest = rest - (rest @ self.rows.T) @ self.rows
        # The sizes of all products of both projections: the shares themselves may be sums that
        # cancel.
        once = sizes + magnitudes @ np.abs(values) @ magnitudes
        rest[np.abs(rest) <= error * (once + magnitudes @ once @ magnitudes)] = 0.0
        bounds = errors + error * (np.abs(values) + np.abs(shares) @ magnitudes)
        error_of_shares = magnitudes @ bounds + self.errors @ np.abs(values)
        bounds += np.abs(shares) @ self.errors + error_of_shares @ magnitudes
        # Bounds of a chain of nearly parallel directions may overflow; then they are of no use.
        bounds = np.fmin(bounds, LARGEST_BOUND)
        length = float(np.linalg.norm(rest))
        if length <= min(
            RELATIVE_ERROR * float(np.linalg.norm(sizes)), float(np.linalg.norm(bounds))
        ):
            return None
        direction = Bounded.exact(rest / length)._replace(
            errors=np.fmin(bounds / length, LARGEST_BOUND)
        )
        self.rows = np.vstack((self.rows, direction.values))
        self.errors = np.vstack((self.errors, direction.errors))
        return direction


def reachable_span(maps: Maps) -> Span:
    """Compute the span of α₀ and all states α₀ᵀ A_u to which it leads.

    >>> A = np.array([[[0.0, 0.5, 0], [0, 0, 0], [0, 0, 1]]])
    >>> reachable_span(Maps.exact(np.array([1.0, 0, 0]), A, np.ones(3))).rows.tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    span = Span(len(maps.initial.values))
    first = span.add(maps.initial)
    waiting = deque([first] if first is not None else [])
    while waiting and not span.is_whole:
        for vector in waiting.popleft().times(maps.transitions).vectors:
            direction = span.add(vector)
            if span.is_whole:  # with thousands of symbols, there are many more vectors
                break
            if direction is not None:
                waiting.append(direction)
    return span


class Reduction(NamedTuple):
    """The smallest automaton of a function."""

    initial: FloatArray  # initial, transitions, termination: α₀, the A_σ and α∞, as in `wfa.WFA`
    transitions: FloatArray
    termination: FloatArray
    # (num_states of the automaton before, num_states): P: the states are zᵀP
    projection: FloatArray


def smallest(initial: FloatArray, transitions: FloatArray, termination: FloatArray) -> Reduction:
    """Project an automaton onto the span of its states α₀ᵀ A_u, and the result onto the span of the
    vectors A_v α∞.

    Theorem (Schützenberger 1961; Carlyle and Paz 1971; Fliess 1974): the smallest number of states
    is the rank of the Hankel matrix, and an automaton has that many states if both spans are the
    whole space.
    """
    balanced, scale = balance(initial, transitions, termination)
    forward, Q = onto_reachable(balanced)
    backward, P = onto_reachable(forward.reverse)
    maps = backward.reverse
    return Reduction(
        maps.initial.values,
        maps.transitions.values,
        maps.termination.values,
        scale[:, None] * (Q.T @ P.T),
    )


def balance(
    initial: FloatArray, transitions: FloatArray, termination: FloatArray
) -> tuple[Maps, FloatArray]:
    """Multiply each state by a power of two to make states comparable in size. Neither the digits
    nor the function change.

    If states had very different units, directions that are small in all units but one would be
    hidden (Parlett and Reinsch 1969).

    >>> maps, scale = balance(
    ...     np.array([2.0**-20, 1.0]), np.array([np.diag([0.5, 0.5])]), np.array([2.0**20, 1.0])
    ... )
    >>> scale.tolist(), maps.initial.values.tolist()
    ([1048576.0, 1.0], [1.0, 1.0])

    Returns `maps`. `scale` (num_states,): the factor of each state.
    """
    from scipy.linalg import matrix_balance  # here, because it takes long to import

    k = len(initial)
    graph = np.zeros((k + 1, k + 1))  # λ, before and after all strings, and the states
    graph[0, 1:] = np.abs(initial)
    graph[1:, 0] = np.abs(termination)
    graph[1:, 1:] = np.abs(transitions).sum(axis=0)
    scale = np.ones(k)
    if np.isfinite(graph).all():
        with np.errstate(invalid="ignore"):
            factors = matrix_balance(graph, permute=False, separate=True)[1][0]
        scale = factors[1:] / factors[0]
    return Maps.exact(
        initial * scale, transitions * (scale / scale[:, None]), termination / scale
    ), scale


def onto_reachable(maps: Maps) -> tuple[Maps, FloatArray]:
    """Project an automaton onto the span of its states, which does not change its function. Return
    the result, and the rows of the span.
    """
    span = reachable_span(maps)
    rows = Bounded.exact(span.rows)._replace(errors=span.errors)
    transitions = rows.times(maps.transitions).times(rows.transposed)
    projected = (rows.times(maps.initial), transitions, rows.times(maps.termination))
    return Maps(*(part.without_noise for part in projected)), span.rows
