"""Pictures of the states in the middle of a training: two principal components, turned so that the picture does not jump.

Principal axes are known up to signs, and those of nearly equal variance turn freely from one moment to the next. So each picture is
turned onto the one before it, by the rotation or reflection that moves its points least (Schönemann 1966, orthogonal Procrustes).
States are divided by their lengths first: those of rare prefixes are short and would all lie close to 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..learning.progress import RowStates
from ..models.geometry import aligning_turn, directions, principal_axes
from ..strings.words import FloatArray

DIGITS = 4  # of the largest coordinate


@dataclass(frozen=True)
class Snapshot:
    """Prefixes in the plane.

    Attributes
    ----------
    stage : str
    epoch : int
    rows : tuple of int
        Rows of the Hankel matrix.
    points : tuple of (float, float)
        Where each row's state is.
    targets : tuple of (float, float)
        Where the stage wants each state to be, in the same plane; empty if the stage has no such targets.
    explained : float
        Share of the states' variance that lies in the plane; 1 if there is no variance.
    """

    stage: str
    epoch: int
    rows: tuple[int, ...]
    points: tuple[tuple[float, float], ...]
    targets: tuple[tuple[float, float], ...]
    explained: float


def snapshot(stage: str, epoch: int, states: RowStates, before: Snapshot | None = None) -> Snapshot | None:
    """Draw the directions of some states, turned onto the one before; None if a state is not a finite number."""
    if not len(states.rows) or not np.isfinite(states.states).all():
        return None
    unit = directions(states.states)
    mean, axes, shares = principal_axes(unit, 2)
    points = (unit - mean) @ axes.T
    turn = _turn(points, states.rows.tolist(), before)
    targets = np.empty((0, 2)) if states.targets is None else (directions(states.targets) - mean) @ axes.T @ turn
    explained = float(shares.sum()) if shares.any() else 1.0
    return Snapshot(stage, epoch, tuple(states.rows.tolist()), _pairs(points @ turn), _pairs(targets), explained)


def picture_of(stage: str, states: FloatArray, before: Snapshot | None = None) -> Snapshot | None:
    """Take a `snapshot` of the first rows."""
    return snapshot(stage, 0, RowStates(np.arange(len(states)), states), before)


def _turn(points: FloatArray, rows: list[int], before: Snapshot | None) -> FloatArray:
    """The rotation or reflection that turns points onto the previous picture, computed from the rows that both have."""
    old_points = {} if before is None else dict(zip(before.rows, before.points, strict=True))
    both = [index for index, row in enumerate(rows) if row in old_points]
    if not both:
        return np.eye(2)
    old = np.array([old_points[rows[index]] for index in both])
    turn, _ = aligning_turn(points[both] - points[both].mean(axis=0), old - old.mean(axis=0))
    return turn


def _pairs(points: FloatArray) -> tuple[tuple[float, float], ...]:
    """Round points, since a picture does not need sixteen digits."""
    largest = float(np.abs(points).max(initial=0.0))
    digits = DIGITS - int(np.floor(np.log10(largest))) if largest > 0 else 0
    return tuple((float(x), float(y)) for x, y in np.round(points, digits))
