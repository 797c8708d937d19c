"""Singular values as bars, and what each rank keeps of the matrix, worded and packed for the browser.

All that a picture needs travels once, so that the cut moves there at once, without a word to the server.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..hankel.matrix import HankelMatrix
from ..learning.spectral import TruncatedSVD, weighted_block
from ..strings.words import FloatArray
from .palette import ACCENT, MARK, MUTED

ROUNDING = 1e-14  # of the largest value: what is below it is no value
MOST_TICKS = 6
_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def payload(svd: TruncatedSVD, hankel: HankelMatrix) -> dict[str, Any]:
    """Bars on a logarithmic scale of whole powers of ten, their names, and what each rank keeps of H_λ.

    Returns
    -------
    dict
        "heights": of each value, between 0 and 1, least bars 0.01 high, 0 where there is only rounding; "names"; "kept": shares of
        the squared norm by rank, the last for every rank beyond the values; "said": a sentence with {rank} and {kept}; "ticks":
        pairs of a text and a height; "colours".
    """
    values, block = svd.singular_values, weighted_block(hankel)
    heights, ticks = _heights(values)
    shares = np.cumsum(values**2) / ((block.data**2).sum() or 1.0)  # 0 of a matrix that is 0
    kept = [f"{share:.2%}" for share in shares]
    weighed = "" if hankel.row_weights is None else ", its rows weighed by how often their prefix was seen"
    return {
        "heights": heights,
        "ticks": ticks,
        "names": [f"σ{str(number).translate(_LOWERED)} = {value:.4g}" for number, value in enumerate(values, 1)],
        "kept": [*kept, kept[-1] if len(values) == min(block.shape) else f"more than {kept[-1]}"],
        "said": f"Rank {{rank}} keeps {{kept}} of the squared norm of H_λ{weighed}.",
        "colours": {"kept": ACCENT, "muted": MUTED, "mark": MARK},
    }


def numerical_rank(svd: TruncatedSVD, hankel: HankelMatrix) -> str:
    """How far the matrix's numerical rank goes, in Markdown."""
    count = len(svd.singular_values)
    cut = svd.numerical_rank == count < min(hankel.block.shape)
    least, no_more = ("at least ", ": no more values are computed for this page") if cut else ("", "")
    return (
        f"The numerical rank is {least}**{svd.numerical_rank}**{no_more}. Sampling noise fills the rank up: where the values fall, "
        "not where they vanish, tells how many states to take."
    )


def _heights(values: FloatArray) -> tuple[list[float], list[tuple[str, float]]]:
    """Places between the powers of ten around the values, and those powers' places.

    >>> _heights(np.array([10.0, 1.0, 0.1, 1e-20]))
    ([1.0, 0.5, 0.01, 0.0], [('10⁻¹', 0.0), ('1', 0.5), ('10', 1.0)])
    """
    known = values[values > ROUNDING * values.max(initial=0)]
    if not known.size:
        return [0.0] * len(values), [("0", 0.0)]
    highest, lowest = int(np.ceil(np.log10(known.max()) - 1e-6)), int(np.floor(np.log10(known.min()) + 1e-6))
    lowest = min(lowest, highest - 1)
    decades = highest - lowest
    placed = np.maximum((np.log10(known) - lowest) / decades, 0.01)
    step = -(-decades // MOST_TICKS)
    ticks = [(_power(power), (power - lowest) / decades) for power in range(lowest, highest + 1, step)]
    return [*np.round(placed, 4).tolist(), *[0.0] * (len(values) - known.size)], ticks


def _power(power: int) -> str:
    return {0: "1", 1: "10"}.get(power, f"10{str(power).translate(_RAISED)}")
