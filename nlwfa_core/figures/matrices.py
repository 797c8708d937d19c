"""Singular values of a matrix, and the cut that a rank makes."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from ..palette import ACCENT, MARK, MUTED
from ..words import FloatArray
from .parts import layout


def singular_values_figure(values: FloatArray, rank: int) -> go.Figure:
    """Singular values of H_λ, largest first, on a logarithmic scale; those that a model of this rank keeps are filled."""
    kept = np.arange(1, len(values) + 1) <= rank
    figure = go.Figure(
        go.Bar(
            x=np.arange(1, len(values) + 1),
            y=np.where(values > 1e-14 * values.max(initial=0), values, np.nan),  # the others are rounding
            marker={"color": [ACCENT if keep else MUTED for keep in kept]},
            unselected={"marker": {"opacity": 1}},
            hoverinfo="skip",
        )
    )
    # Bars of the whole height that nobody sees: small ones could hardly be clicked.
    figure.add_trace(
        go.Bar(
            x=np.arange(1, len(values) + 1),
            y=np.full(len(values), values.max(initial=0) or 1.0),
            customdata=values,
            marker={"color": "rgba(0,0,0,0)"},
            unselected={"marker": {"opacity": 1}},
            hovertemplate="σ<sub>%{x}</sub> = %{customdata:.4g}; click: k = %{x}<extra></extra>",
        )
    )
    figure.add_vline(x=rank + 0.5, line={"color": MARK, "width": 2, "dash": "dash"}, annotation_text=f"k = {rank}")
    figure.update_yaxes(type="log", title="singular value", dtick=1, exponentformat="power")
    figure.update_xaxes(title="number")
    return layout(figure, 300, bargap=0.25, barmode="overlay", showlegend=False)
