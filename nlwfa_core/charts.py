"""Curves that move while training runs, as ECharts options: ECharts updates in place, where Plotly draws anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .learning.progress import BITS, RELATIVE
from .palette import ACCENT, COLOURS

# The loss cancels to about rounding near zero, and can come out below it: a logarithmic axis needs an end.
LOWEST_LOSS = 1e-15
STAGE_COLOURS = {"factorisation": ACCENT, "transitions": COLOURS["fac.non"], "refinement": COLOURS["tran.non"]}
LOSS_NOTES = {
    RELATIVE: "The relative loss is the squared error over the targets' squared norm: 1 is as good as answering 0 everywhere.",
    BITS: "Bits per symbol are those of the validation strings, the end counted; epoch 0 is the model that was to be refined.",
}


def loss_options(curves: Mapping[str, tuple[Sequence[int], Sequence[float]]], measure: str = RELATIVE) -> dict[str, Any]:
    """ECharts options of curves of one measure: stage -> (epochs, losses). Relative losses fall by powers of ten, bits do not."""
    relative = measure == RELATIVE
    series = [
        {
            "type": "line",
            "name": stage,
            "showSymbol": False,
            "data": [[epoch, max(loss, LOWEST_LOSS)] for epoch, loss in zip(epochs, losses, strict=True) if np.isfinite(loss)],
            "lineStyle": {"width": 2.5},
            "color": STAGE_COLOURS.get(stage, ACCENT),
        }
        for stage, (epochs, losses) in curves.items()
    ]
    return {
        "animation": False,
        "grid": {"left": 16, "right": 16, "top": 52, "bottom": 8},
        "legend": {"top": 0},
        "tooltip": {"trigger": "axis"},
        "xAxis": {"type": "value", "name": "epoch", "nameLocation": "middle", "nameGap": 26, "min": 0},
        "yAxis": {"type": "log" if relative else "value", "scale": not relative, "name": measure},
        "series": series,
    }
