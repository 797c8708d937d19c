"""Project the states onto the plane during training, each picture aligned with the one before it.

A picture shows two principal components. These have arbitrary signs, and if their variances are
nearly equal, they can rotate from one picture to the next. So each picture is rotated or reflected
to move its points as little as possible from the one before it (Schönemann 1966, orthogonal
Procrustes). States are divided by their lengths first, because those of rare prefixes are short and
would all lie close to 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..learning.progress import NetworkState, RowStates
from ..models.geometry import aligning_turn, directions, principal_axes
from ..strings.words import FloatArray

# Significant digits of the largest number in a matrix. Entries of H differ by factors, and their
# errors are smaller still.
DIGITS = 4
ENTRY_DIGITS = 7

Matrix = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class NetworkPicture:
    """Holds the numbers of a `NetworkState`, rounded, under the same names.

    Matrices are tuples of rows.
    """

    inputs: Matrix
    layers: tuple[Matrix, ...]
    outputs: Matrix
    weights: tuple[Matrix, ...]
    waist: int
    nonlinear: bool

    @classmethod
    def of(cls, state: NetworkState) -> NetworkPicture:
        """Round a network's numbers."""
        layers, weights = (tuple(map(_rounded, arrays)) for arrays in (state.layers, state.weights))
        inputs, outputs = (
            _rounded(entries, ENTRY_DIGITS) for entries in (state.inputs, state.outputs)
        )
        return cls(inputs, layers, outputs, weights, state.waist, state.nonlinear)


@dataclass(frozen=True)
class Snapshot:
    """Holds the positions of prefixes' states in the plane at one epoch."""

    stage: str
    epoch: int
    rows: tuple[int, ...]  # the rows of the Hankel matrix whose prefixes are shown
    points: tuple[tuple[float, float], ...]  # the position of each row's state
    # the positions at which the stage of training aims to have the states, in the same plane; empty
    # if it has no such targets
    targets: tuple[tuple[float, float], ...]
    # the share of the states' variance that lies in the plane; 1 if there is no variance
    explained: float
    # the auto-encoder; after the stage that trains it, as that stage left it
    network: NetworkPicture | None = None


def snapshot(
    stage: str, epoch: int, states: RowStates, before: Snapshot | None = None
) -> Snapshot | None:
    """Project the directions of states onto the plane, rotated towards the snapshot `before`; None
    if a state is not finite.
    """
    if not len(states.rows) or not np.isfinite(states.states).all():
        return None
    unit = directions(states.states)
    mean, axes, shares = principal_axes(unit, 2)
    points = (unit - mean) @ axes.T
    turn = _turn(points, states.rows.tolist(), before)
    targets = (
        np.empty((0, 2))
        if states.targets is None
        else (directions(states.targets) - mean) @ axes.T @ turn
    )
    explained = float(shares.sum()) if shares.any() else 1.0
    network = before.network if before else None
    if states.network is not None and all(
        np.isfinite(values).all() for values in (*states.network.layers, states.network.outputs)
    ):
        network = NetworkPicture.of(states.network)
    return Snapshot(
        stage,
        epoch,
        tuple(states.rows.tolist()),
        _pairs(points @ turn),
        _pairs(targets),
        explained,
        network,
    )


def picture_of(stage: str, states: FloatArray, before: Snapshot | None = None) -> Snapshot | None:
    """Make a `snapshot` of the states, shape (n, num_states), of the Hankel matrix's first n
    rows.
    """
    return snapshot(stage, 0, RowStates(np.arange(len(states)), states), before)


def _turn(points: FloatArray, rows: list[int], before: Snapshot | None) -> FloatArray:
    """Compute the rotation or reflection that moves points towards those of the previous snapshot,
    by the rows that both have.
    """
    old_points = {} if before is None else dict(zip(before.rows, before.points, strict=True))
    both = [index for index, row in enumerate(rows) if row in old_points]
    if not both:
        return np.eye(2)
    old = np.array([old_points[rows[index]] for index in both])
    turn, _ = aligning_turn(points[both] - points[both].mean(axis=0), old - old.mean(axis=0))
    return turn


def _pairs(points: FloatArray) -> tuple[tuple[float, float], ...]:
    """Round points, since a picture does not need sixteen digits."""
    return tuple((x, y) for x, y in _rounded(points))


def _rounded(values: FloatArray, significant: int = DIGITS) -> Matrix:
    largest = float(np.abs(values).max(initial=0.0))
    digits = significant - int(np.floor(np.log10(largest))) if largest > 0 else 0
    return tuple(map(tuple, np.round(values, digits).tolist()))
