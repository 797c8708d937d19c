"""Matrices: the whole one, a labelled part, its singular values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from ..palette import ACCENT, BLUES, MARK, MONOSPACE, MUTED, REDS, scale
from ..views import Pooled
from ..words import FloatArray
from .parts import layout, plain


def heat_map_figure(pooled: Pooled, dark: bool = False) -> go.Figure:
    """A whole matrix, pooled to screen size: |entries| on a logarithmic scale, zeros left blank, negative ones in red.

    Large entries stand out from the page: dark on a light one, light on a dark one.
    """
    values = pooled.values
    with np.errstate(divide="ignore"):
        logs = np.log10(np.abs(values))
    figure = go.Figure()
    for mask, colours, name, bar_x in ((values > 0, BLUES, "", 1.0), (values < 0, REDS, "−", 1.12)):
        if not mask.any():
            continue
        shown = np.where(mask, logs, np.nan).astype(np.float32)
        lowest, highest = np.floor(np.nanmin(shown)), np.ceil(np.nanmax(shown) - 1e-6)  # 1 may be 1 + 2e-16
        ticks = np.arange(lowest, max(highest, lowest + 1) + 1)
        figure.add_trace(
            go.Heatmap(
                z=shown,
                colorscale=scale(colours, dark),
                zmin=lowest - 0.5,
                zmax=ticks[-1],
                x0=pooled.column_factor / 2 - 0.5,
                dx=pooled.column_factor,
                y0=pooled.row_factor / 2 - 0.5,
                dy=pooled.row_factor,
                hovertemplate=f"row %{{y:.0f}}, column %{{x:.0f}}<br>{name}10^%{{z:.2f}}<extra></extra>",
                colorbar={
                    "tickvals": ticks,
                    "ticktext": [f"{name}10<sup>{t:.0f}</sup>" for t in ticks],
                    "x": bar_x,
                    "thickness": 12,
                },
            )
        )
    figure.update_xaxes(title="suffix v, by frequency", range=[-0.5, pooled.shape[1] - 0.5], constrain="domain", showgrid=False)
    figure.update_yaxes(title="prefix u, by frequency", range=[pooled.shape[0] - 0.5, -0.5], showgrid=False, zeroline=False)
    return layout(figure, 520)


def window_figure(values: FloatArray, prefixes: Sequence[str], suffixes: Sequence[str], dark: bool = False) -> go.Figure:
    """Exact values of a small part of a matrix, each row and column labelled."""
    prefixes, suffixes = plain(prefixes), plain(suffixes)
    largest = float(np.abs(values).max(initial=0)) or 1.0
    positive = bool((values >= 0).all())
    figure = go.Figure(
        go.Heatmap(
            z=np.where(values == 0, np.nan, values),
            x=[f"{n}|{text}" for n, text in enumerate(suffixes)],
            y=[f"{n}|{text}" for n, text in enumerate(prefixes)],
            customdata=np.array([[f"{u} · {v}" for v in suffixes] for u in prefixes]),
            zmin=0 if positive else -largest,
            zmax=largest,
            colorscale=scale(BLUES, dark) if positive else "RdBu",
            xgap=1,
            ygap=1,
            hovertemplate="%{customdata}<br>%{z:.6g}<extra></extra>",
            colorbar={"thickness": 12, "tickformat": ".2g"},
        )
    )
    # Labels may repeat once they are cut short, so categories carry a number that the axis doesn't show.
    figure.update_xaxes(
        tickmode="array",
        tickvals=list(range(len(suffixes))),
        ticktext=list(suffixes),
        title="suffix v",
        side="top",
        tickfont=MONOSPACE,
        tickangle=-90,
    )
    figure.update_yaxes(
        tickmode="array",
        tickvals=list(range(len(prefixes))),
        ticktext=list(prefixes),
        title="prefix u",
        autorange="reversed",
        tickfont=MONOSPACE,
    )
    return layout(figure, 80 + 22 * max(len(prefixes), 8))


def singular_values_figure(values: FloatArray, rank: int) -> go.Figure:
    """Singular values of H_λ, largest first, on a logarithmic scale; those that a model of this rank keeps are filled."""
    kept = np.arange(1, len(values) + 1) <= rank
    figure = go.Figure(
        go.Bar(
            x=np.arange(1, len(values) + 1),
            y=np.where(values > 0, values, np.nan),
            marker={"color": [ACCENT if keep else MUTED for keep in kept]},
            hovertemplate="σ<sub>%{x}</sub> = %{y:.4g}<extra></extra>",
        )
    )
    figure.add_vline(x=rank + 0.5, line={"color": MARK, "width": 2, "dash": "dash"}, annotation_text=f"k = {rank}")
    figure.update_yaxes(type="log", title="singular value", dtick=1, exponentformat="power")
    figure.update_xaxes(title="number")
    return layout(figure, 300, bargap=0.25)
