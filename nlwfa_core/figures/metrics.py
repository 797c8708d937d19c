"""Scores against the rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from ..palette import DASHES, MARKERS, METRIC_TITLES, colour_of, kind_of
from .parts import layout


def metric_figure(
    curves: Mapping[str, Sequence[tuple[int, float]]], references: Mapping[str, float], metric: str, x_title: str = "rank k"
) -> go.Figure:
    """A metric against the rank, a line for each learner, with reference lines; infinite values as ∞ along the upper edge."""
    finite = [v for points in curves.values() for _, v in points if np.isfinite(v)] + [
        v for v in references.values() if np.isfinite(v)
    ]
    top, bottom = (max(finite), min(finite)) if finite else (1.0, 0.0)
    ceiling = top + 0.12 * ((top - bottom) or 1.0)
    figure = go.Figure()
    for name, value in references.items():
        if np.isfinite(value):
            figure.add_hline(
                y=value,
                line={"color": colour_of(name), "width": 1.5, "dash": DASHES[kind_of(name)]},
                annotation_text=f"{name} {value:.3f}",
                annotation_position="top right",
            )
    for name, points in curves.items():
        ranks = [rank for rank, _ in points]
        values = [value for _, value in points]
        colour = colour_of(name)
        figure.add_trace(
            go.Scatter(
                x=ranks,
                y=[value if np.isfinite(value) else None for value in values],
                mode="lines+markers",
                name=name,
                connectgaps=False,
                line={"color": colour, "width": 2.5, "dash": DASHES.get(name, "solid")},
                marker={"symbol": MARKERS.get(name, "circle"), "size": 9},
                hovertemplate=f"{name}, k = %{{x}}: %{{y:.4f}}<extra></extra>",
            )
        )
        beyond = [rank for rank, value in points if not np.isfinite(value)]
        if beyond:
            figure.add_trace(
                go.Scatter(
                    x=beyond,
                    y=[ceiling] * len(beyond),
                    mode="text",
                    text=["∞"] * len(beyond),
                    textfont={"color": colour, "size": 20},
                    name=name,
                    showlegend=not [v for v in values if np.isfinite(v)],
                    hovertemplate=f"{name}, k = %{{x}}: not finite<extra></extra>",
                )
            )
    tried = sorted({rank for points in curves.values() for rank, _ in points})
    low, high = np.log10(tried[0] if tried else 1), np.log10(tried[-1] if tried else 1)
    span = max(high - low, 0.3)  # on the right, room for the references' names
    figure.update_xaxes(title=x_title, type="log", tickvals=tried, range=[low - 0.05 * span, high + 0.3 * span])
    figure.update_yaxes(title=METRIC_TITLES.get(metric, metric))
    return layout(figure, 430, showlegend=True, legend={"orientation": "h", "y": 1.12})
