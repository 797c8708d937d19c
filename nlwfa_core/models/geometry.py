"""Compare states as points: their directions, their principal axes, and the turn that lays some points over others.

Learning picks the basis of a model's states, so coordinates mean nothing by themselves; lengths, angles and variances do. The lab's
pictures of states and the snapshots of a running training use the same three functions.

Source of the turn: orthogonal Procrustes, Schönemann 1966.
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
    """Find the mean and the principal axes of points, shape (n, k).

    An axis is determined up to its sign, which the caller chooses.

    Returns
    -------
    mean : array, shape (k,)
    axes : array, shape (num_axes, k)
        Of length 1, largest variance first; 0 beyond the points' dimensions, or if the points coincide.
    shares : array, shape (num_axes,)
        Share of the variance along each axis; all 0 if the points coincide.
    """
    mean: FloatArray = points.mean(axis=0)
    _, sizes, rows = np.linalg.svd(points - mean, full_matrices=False)
    variance, number = float((sizes**2).sum()), min(num_axes, len(rows))
    axes, shares = np.zeros((num_axes, points.shape[1])), np.zeros(num_axes)
    if variance > 0:
        axes[:number], shares[:number] = rows[:number], sizes[:number] ** 2 / variance
    return mean, axes, shares


def aligning_turn(points: FloatArray, target: FloatArray) -> tuple[FloatArray, float]:
    """Find the orthogonal R, shape (k, k), that makes ‖points R − target‖ smallest; both have shape (n, k).

    Returns
    -------
    turn : array, shape (k, k)
        R = U Vᵀ, where pointsᵀ target = U S Vᵀ.
    similarity : float
        Σ S = ⟨points R, target⟩: at most ‖points‖ ‖target‖, which it is if the points fit exactly.
    """
    U, S, Vt = np.linalg.svd(points.T @ target)
    turn: FloatArray = U @ Vt
    return turn, float(S.sum())
