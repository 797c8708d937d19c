"""Transform the entries of a Hankel matrix before it is factorised. Models undo this when they are read (`models.reading`)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from ..errors import RecipeError, check_one_of
from .matrix import HankelMatrix
from .names import TRANSFORMS


def transformed(hankel: HankelMatrix, transform: str) -> HankelMatrix:
    """Transform the entries of H.

    "sqrt": H^{1/2}, element by element (Bailly 2011's quadratic WFA; the Hellinger distance between distributions).
    "row": each row divided by its prefix's frequency, which is the λ-column if there are boundary symbols, else the row's sum.
    This frequency becomes the row's weight, so a prefix that was never seen has weight 0.

    Raises
    ------
    RecipeError
        If the transform is unknown, or is not "none" and H has negative entries.
    """
    check_one_of("transform", transform, TRANSFORMS)
    if transform == "none":
        return hankel
    if hankel.matrix.data.min(initial=0) < 0:
        raise RecipeError(f"transform must be 'none', because H has negative entries; got {transform!r}")
    if transform == "sqrt":
        return replace(hankel, matrix=hankel.matrix.sqrt(), transform=transform)
    seen = hankel.matrix[:, [0]].toarray() if hankel.bounded else hankel.matrix.sum(axis=1)
    weights = np.asarray(seen, dtype=np.float64).ravel()
    inverse = np.divide(1.0, weights, out=np.zeros_like(weights), where=weights > 0)
    return replace(
        hankel, matrix=sparse.csr_array(sparse.diags_array(inverse) @ hankel.matrix), transform=transform, row_weights=weights
    )
