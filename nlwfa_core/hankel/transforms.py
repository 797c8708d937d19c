"""Transform the entries of a Hankel matrix before it is factorised: take square roots, or divide
rows by the frequency of their prefix.

`models.reading` undoes a transform in a model's outputs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from ..errors import RecipeError, check_one_of
from .matrix import HankelMatrix
from .statistics import TRANSFORMS


def transformed(hankel: HankelMatrix, transform: str) -> HankelMatrix:
    """Transform the entries of H.

    "sqrt" takes the square root of each entry. (Bailly's quadratic WFA of 2011 use it; the squared
    error is then related to the Hellinger distance between distributions.) "row" divides each row
    by the frequency of its prefix, which is in the λ-column if there are boundary symbols, and is
    otherwise the sum of the row. This frequency becomes the row's weight, so a prefix that never
    occurs has weight 0.

    Raises RecipeError if the transform is unknown, or if it is not "none" and H has negative
    entries.
    """
    check_one_of("transform", transform, TRANSFORMS)
    if transform == "none":
        return hankel
    if hankel.matrix.data.min(initial=0) < 0:
        raise RecipeError(
            f"transform must be 'none', because H has negative entries; got {transform!r}"
        )
    if transform == "sqrt":
        return replace(hankel, matrix=hankel.matrix.sqrt(), transform=transform)
    seen = hankel.matrix[:, [0]].toarray() if hankel.bounded else hankel.matrix.sum(axis=1)
    weights = np.asarray(seen, dtype=np.float64).ravel()
    inverse = np.divide(1.0, weights, out=np.zeros_like(weights), where=weights > 0)
    return replace(
        hankel,
        matrix=sparse.csr_array(sparse.diags_array(inverse) @ hankel.matrix),
        transform=transform,
        row_weights=weights,
    )
