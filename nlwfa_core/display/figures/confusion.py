"""Draw how often strings of each label got each label."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from ...experiment.classifier import Confusion
from ..palette import BLUES, scale
from . import layout, plain

NONE = "none"  # the column of strings that no label's model allows


def confusion_figure(scores: Confusion) -> go.Figure:
    """Draw how often strings of each label got each label: rows are true labels."""
    counts = scores.counts
    columns = [*scores.labels, NONE] if counts[:, -1].any() else [*scores.labels]
    shown = counts[:, : len(columns)]
    shares = shown / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    cells = go.Heatmap(
        x=plain(columns),
        y=plain(scores.labels),
        z=shares,
        zmin=0,
        zmax=1,
        text=[[f"{count:,}" for count in row] for row in shown.tolist()],
        texttemplate="%{text}",
        colorscale=scale(BLUES),
        showscale=False,
        xgap=2,
        ygap=2,
        hovertemplate="%{y}, %{x}: %{text} (%{z:.1%})<extra></extra>",
    )
    xaxis = {"side": "top", "title": "assigned label", "type": "category"}
    yaxis = {"autorange": "reversed", "title": "true label", "type": "category"}
    return go.Figure(cells, layout(110 + 44 * len(scores.labels), xaxis, yaxis))
