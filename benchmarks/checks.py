"""Check that our results and an opponent's are equal before anything is timed.

A difference ends the benchmark with an error.
"""

from __future__ import annotations

import numpy as np

from nlwfa_core.strings.words import FloatArray


class Different(Exception):
    """Raised if our results and an opponent's are not equal."""


def equal_arrays(what: str, ours: FloatArray, theirs: FloatArray, tolerance: float) -> float:
    """Return the largest difference, relative to the largest entry of `theirs`; raises Different if
    it exceeds the tolerance.

    >>> equal_arrays("halves", np.array([0.5, 1.0]), np.array([0.5, 1.0]), 1e-12)
    0.0
    """
    if ours.shape != theirs.shape:
        raise Different(f"{what}: {ours.shape} here, {theirs.shape} there")
    largest = float(np.abs(theirs).max(initial=0.0)) or 1.0
    error = float(np.abs(ours - theirs).max(initial=0.0)) / largest
    if not error <= tolerance:
        raise Different(
            f"{what}: differ by {error:.2g} of the largest, at most {tolerance:g} allowed"
        )
    return error
