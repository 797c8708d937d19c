"""Draw how the error of learned weights falls with the number of strings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from ...rounding import format_significant
from ...strings.words import FloatArray
from ..palette import ACCENT, MARK, MUTED
from . import layout


def error_curve_figure(numbers: Sequence[int], errors: FloatArray) -> go.Figure:
    """Draw a dot for each sample, a line through the medians, and a dashed line that falls like
    1/√n. Both axes are logarithmic.

    `numbers`: the numbers of strings. `errors` (len(numbers), num_samples).
    """
    sizes = np.array(numbers, dtype=np.float64)
    medians = np.median(errors, axis=1)
    expected = medians[0] * np.sqrt(sizes[0] / sizes)
    lines = [
        go.Scatter(
            x=sizes,
            y=expected,
            mode="lines",
            name="1/√n",
            line={"color": MUTED, "dash": "dash"},
            hoverinfo="skip",
        ),
        go.Scatter(
            x=np.repeat(sizes, errors.shape[1]),
            y=errors.ravel(),
            mode="markers",
            name="one seed",
            marker={"color": MARK, "size": 6, "opacity": 0.6},
            text=list(map(format_significant, errors.ravel().tolist())),
            hovertemplate="%{x:,} strings: %{text}<extra></extra>",
        ),
        go.Scatter(
            x=sizes,
            y=medians,
            mode="lines+markers",
            name="median",
            line={"color": ACCENT, "width": 2.5},
            marker={"size": 9},
            text=list(map(format_significant, medians.tolist())),
            hovertemplate="%{x:,} strings: median %{text}<extra></extra>",
        ),
    ]
    xaxis = {
        "type": "log",
        "title": "strings",
        "tickvals": list(numbers),
        "ticktext": [f"{size:,}" for size in numbers],
    }
    ticks = [digit * 10.0**power for power in range(-8, 3) for digit in (1, 2, 5)]
    yaxis = {
        "type": "log",
        "title": "Σ |f̂(x) − f(x)|",
        "tickvals": ticks,
        "ticktext": list(map(format_significant, ticks)),
    }
    legend = {"orientation": "h", "y": 1.02, "yanchor": "bottom"}
    return go.Figure(lines, layout(380, xaxis, yaxis, legend=legend))
