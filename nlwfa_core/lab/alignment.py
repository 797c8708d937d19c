"""States of two models in one frame: the closest fit of one set of points to another by moving, turning and scaling it whole.

What a model's states look like depends on a basis that learning picks; this takes out of the picture what does not matter.
Source: orthogonal Procrustes, Schönemann 1966; Gower 1975. The residual is `scipy.spatial.procrustes`' disparity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import RecipeError
from ..strings.words import FloatArray


@dataclass(frozen=True, eq=False)
class Alignment:
    """B's points laid over A's, both in as many dimensions as the larger of the two has.

    Attributes
    ----------
    target, moved : arrays, shape (n, num_dimensions)
        A's points with zeros behind where they have fewer dimensions; B's after moving, turning (mirroring too) and scaling.
    scale : float
        What B's points were multiplied by.
    residual : float
        Share of the variance of A's points that B's leave unexplained: 0 if they coincide, 1 if B says nothing of A.
    """

    target: FloatArray
    moved: FloatArray
    scale: float
    residual: float


def align(target: FloatArray, points: FloatArray) -> Alignment:
    """Lay points, shape (n, k'), over others, shape (n, k), row over row.

    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> turned = align(square, 3 * square @ np.array([[0.0, 1.0], [-1.0, 0.0]]) + 5)
    >>> np.round(turned.moved, 9).tolist() == square.tolist(), round(turned.residual, 9), round(turned.scale, 9)
    (True, 0.0, 0.333333333)

    Raises
    ------
    RecipeError
        If they are not as many, or one is not finite.
    """
    if target.ndim != 2 or points.ndim != 2 or len(target) != len(points) or not len(target):
        raise RecipeError(f"to align points as many of both are needed, at least one; got {target.shape} and {points.shape}")
    if not (np.isfinite(target).all() and np.isfinite(points).all()):
        raise RecipeError("The states grow beyond every bound, so they can't be aligned: the model diverges.")
    width = max(target.shape[1], points.shape[1])
    a, b = (np.pad(given, ((0, 0), (0, width - given.shape[1]))) for given in (target, points))
    middle = a.mean(axis=0)
    A, B = a - middle, b - b.mean(axis=0)
    size_a, size_b = float(np.linalg.norm(A)), float(np.linalg.norm(B))
    # Points that all coincide have a size of rounding only, and no directions to turn.
    if size_a <= _rounding(a) or size_b <= _rounding(b):
        return Alignment(a, np.tile(middle, (len(a), 1)), 0.0, 0.0 if size_a <= _rounding(a) else 1.0)
    left, values, right = np.linalg.svd((B / size_b).T @ (A / size_a))
    explained = float(values.sum())
    scale = explained * size_a / size_b
    return Alignment(a, scale * (B @ left @ right) + middle, scale, max(0.0, 1.0 - explained**2))


def _rounding(points: FloatArray) -> float:
    return 1e-12 * float(np.abs(points).max(initial=0.0)) * float(np.sqrt(points.size))
