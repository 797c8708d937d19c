"""Draw how the error of learned weights falls with the number of strings."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from ...display.figures import layout
from ...display.palette import ACCENT, MARK, MUTED
from ...rounding import format_significant
from .learning_back import LearningCurve


def learning_back_figure(curve: LearningCurve) -> go.Figure:
    """Draw a dot for each sample, a line through the medians, and a dashed line that falls like
    1/√n. Both axes are logarithmic.
    """
    sizes = np.array(curve.sizes, dtype=np.float64)
    medians = np.median(curve.errors, axis=1)
    figure = go.Figure()
    expected = medians[0] * np.sqrt(sizes[0] / sizes)
    figure.add_trace(
        go.Scatter(
            x=sizes,
            y=expected,
            mode="lines",
            name="1/√n",
            line={"color": MUTED, "dash": "dash"},
            hoverinfo="skip",
        )
    )
    figure.add_trace(
        go.Scatter(
            x=np.repeat(sizes, curve.errors.shape[1]),
            y=curve.errors.ravel(),
            mode="markers",
            name="one seed",
            marker={"color": MARK, "size": 6, "opacity": 0.6},
            text=list(map(format_significant, curve.errors.ravel().tolist())),
            hovertemplate="%{x:,} strings: %{text}<extra></extra>",
        )
    )
    figure.add_trace(
        go.Scatter(
            x=sizes,
            y=medians,
            mode="lines+markers",
            name="median",
            line={"color": ACCENT, "width": 2.5},
            marker={"size": 9},
            text=list(map(format_significant, medians.tolist())),
            hovertemplate="%{x:,} strings: median %{text}<extra></extra>",
        )
    )
    axis = {
        "type": "log",
        "title": "strings",
        "tickvals": list(curve.sizes),
        "ticktext": [f"{size:,}" for size in curve.sizes],
    }
    figure.update_xaxes(**axis)
    ticks = [digit * 10.0**power for power in range(-8, 3) for digit in (1, 2, 5)]
    figure.update_yaxes(
        type="log",
        title="Σ |f̂(x) − f(x)|",
        tickvals=ticks,
        ticktext=list(map(format_significant, ticks)),
    )
    return layout(figure, 380, legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"})
