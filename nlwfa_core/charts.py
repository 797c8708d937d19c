"""Curves that move while training runs, as ECharts options: ECharts updates in place, where Plotly draws anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .palette import ACCENT, COLOURS

# The loss cancels to about rounding near zero, and can come out below it: a logarithmic axis needs an end.
LOWEST_LOSS = 1e-15
STAGE_COLOURS = (ACCENT, COLOURS["fac.non"], COLOURS["tran.non"])


def loss_options(curves: Mapping[str, tuple[Sequence[int], Sequence[float]]]) -> dict[str, Any]:
    """ECharts options of loss curves: stage -> (epochs, losses)."""
    series = [
        {
            "type": "line",
            "name": stage,
            "showSymbol": False,
            "data": [[epoch, max(loss, LOWEST_LOSS)] for epoch, loss in zip(epochs, losses, strict=True) if np.isfinite(loss)],
            "lineStyle": {"width": 2.5, "color": colour},
            "itemStyle": {"color": colour},
        }
        for (stage, (epochs, losses)), colour in zip(curves.items(), STAGE_COLOURS, strict=False)
    ]
    return {
        "animation": False,
        "grid": {"left": 56, "right": 16, "top": 36, "bottom": 40},
        "legend": {"top": 0},
        "tooltip": {"trigger": "axis"},
        "xAxis": {"type": "value", "name": "epoch", "nameLocation": "middle", "nameGap": 26, "min": 0},
        "yAxis": {"type": "log", "name": "relative loss"},
        "series": series,
    }
