"""States in the middle of a training, made a picture: two principal components, turned so that the picture does not jump.

Principal axes are known up to signs, and those of nearly equal variance turn freely from one moment to the next. So each picture is
turned onto the one before it, by the rotation or reflection that moves its points least (Schönemann 1966, orthogonal Procrustes).
States are divided by their lengths first: those of rare prefixes are short, and would all lie in one place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..learning.progress import RowStates
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
        Where the stage wants it, in the same plane; empty where that is nowhere in particular.
    explained : float
        Share of the states' variance that the plane holds; 1 where there is none.
    """

    stage: str
    epoch: int
    rows: tuple[int, ...]
    points: tuple[tuple[float, float], ...]
    targets: tuple[tuple[float, float], ...]
    explained: float

    @classmethod
    def of(cls, record: dict[str, Any]) -> Snapshot:
        """Back from JSON."""
        pairs = {name: tuple((x, y) for x, y in record[name]) for name in ("points", "targets")}
        return cls(**{**record, **pairs, "rows": tuple(record["rows"])})


def snapshot(stage: str, epoch: int, seen: RowStates, before: Snapshot | None = None) -> Snapshot | None:
    """The picture of some states' directions, turned onto the one before; None if a state is not a finite number."""
    if not len(seen.rows) or not np.isfinite(seen.states).all():
        return None
    directions = _directions(seen.states)
    centre, axes, explained = plane(directions)
    points = (directions - centre) @ axes
    turn = _turn(points, seen.rows.tolist(), before)
    targets = np.empty((0, 2)) if seen.targets is None else (_directions(seen.targets) - centre) @ axes @ turn
    return Snapshot(stage, epoch, tuple(seen.rows.tolist()), _pairs(points @ turn), _pairs(targets), explained)


def picture_of(stage: str, states: FloatArray, before: Snapshot | None = None) -> Snapshot | None:
    """As `snapshot`, of the first rows."""
    return snapshot(stage, 0, RowStates(np.arange(len(states)), states), before)


def plane(states: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """The mean of states, shape (k,); their first two principal axes, shape (k, 2); the share of the variance along those."""
    centre: FloatArray = states.mean(axis=0)
    _, sizes, axes = np.linalg.svd(states - centre, full_matrices=False)
    found = np.zeros((states.shape[1], 2))
    found[:, : min(2, len(axes))] = axes[:2].T
    total = float((sizes**2).sum())
    return centre, found, float((sizes[:2] ** 2).sum()) / total if total > 0 else 1.0


def aligning_turn(points: FloatArray, onto: FloatArray) -> FloatArray:
    """The orthogonal R, shape (2, 2), that makes ‖points R − onto‖ smallest: U Vᵀ of pointsᵀ onto = U S Vᵀ."""
    U, _, Vt = np.linalg.svd(points.T @ onto)
    turn: FloatArray = U @ Vt
    return turn


def _directions(states: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(states, axis=1, keepdims=True)
    found: FloatArray = np.divide(states, lengths, out=np.zeros_like(states), where=lengths > 0)
    return found


def _turn(points: FloatArray, rows: list[int], before: Snapshot | None) -> FloatArray:
    known = {} if before is None else dict(zip(before.rows, before.points, strict=True))
    both = [place for place, row in enumerate(rows) if row in known]
    if not both:
        return np.eye(2)
    old = np.array([known[rows[place]] for place in both])
    return aligning_turn(points[both] - points[both].mean(axis=0), old - old.mean(axis=0))


def _pairs(points: FloatArray) -> tuple[tuple[float, float], ...]:
    """Rounded: a picture needs no sixteen digits."""
    largest = float(np.abs(points).max(initial=0.0))
    digits = DIGITS - int(np.floor(np.log10(largest))) if largest > 0 else 0
    return tuple((float(x), float(y)) for x, y in np.round(points, digits))
