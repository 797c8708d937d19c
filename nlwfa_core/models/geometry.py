"""Compare states as points: their directions, their principal axes, and the rotation that best
aligns two sets of states.

Learning chooses the basis of a model's states, so lengths, angles and variances have a meaning, but
single coordinates do not. The lab's pictures of states and the snapshots of a training run use the
same three functions.

Source of `aligning_turn`: the orthogonal Procrustes problem, Schönemann 1966.
"""

from __future__ import annotations

import numpy as np

from ..strings.words import FloatArray


def directions(states: FloatArray) -> FloatArray:
    """Divide each row of states, shape (n, num_states), by its length; 0 stays 0.

    >>> directions(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    lengths = np.linalg.norm(states, axis=1, keepdims=True)
    divided: FloatArray = np.divide(states, lengths, out=np.zeros_like(states), where=lengths > 0)
    return divided


def principal_axes(points: FloatArray, num_axes: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Find the mean and the principal axes of some points.

    An axis is determined only up to its sign, which is that of the SVD.

    `points` (n, k). `num_axes`: the number of axes to return. Only the first min(n, k) can be
    nonzero.

    Returns `mean` (k,). `axes` (num_axes, k): one unit vector per row, in descending order of the
    variance along it. Rows from min(n, k) on are zero, and all rows are zero if the points
    coincide. `shares` (num_axes,): the share of the total variance along each axis; 0 for zero
    rows.
    """
    mean: FloatArray = points.mean(axis=0)
    _, sizes, rows = np.linalg.svd(points - mean, full_matrices=False)
    variance = float((sizes**2).sum())
    number = min(num_axes, len(rows))
    axes = np.zeros((num_axes, points.shape[1]))
    shares = np.zeros(num_axes)
    if variance > 0:
        axes[:number], shares[:number] = rows[:number], sizes[:number] ** 2 / variance
    return mean, axes, shares


def aligning_turn(points: FloatArray, target: FloatArray) -> tuple[FloatArray, float]:
    """Find the orthogonal matrix R, a rotation or a reflection, for which ‖points R − target‖ is
    smallest.

    `points` and `target` (n, k).

    Returns `turn` (k, k): R = U Vᵀ, where pointsᵀ target = U S Vᵀ. `similarity`: ⟨points R,
    target⟩, which is the sum of the singular values S. It is at most ‖points‖ ‖target‖, and equals
    this bound if the turned points are a positive multiple of the target.
    """
    U, S, Vt = np.linalg.svd(points.T @ target)
    turn: FloatArray = U @ Vt
    return turn, float(S.sum())
