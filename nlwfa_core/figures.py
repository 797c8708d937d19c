"""Results -> Plotly figures. The only module that imports plotly; it computes nothing but layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go

from .palette import (
    ACCENT,
    BLUES,
    CLASSES,
    DASHES,
    MARK,
    MARKERS,
    METRIC_TITLES,
    MONOSPACE,
    MUTED,
    PATTERNS,
    REDS,
    colour_of,
    kind_of,
    scale,
)  # fmt: skip
from .views import Pooled, Projection
from .words import FloatArray, IntArray


def plain(texts: Sequence[str]) -> list[str]:
    """A user's strings, so that Plotly shows them as they are: it would take some HTML in labels for markup."""
    return [escape(text, quote=False) for text in texts]


def _layout(figure: go.Figure, height: int, **more: Any) -> go.Figure:
    figure.update_layout(height=height, margin={"l": 8, "r": 8, "t": 8, "b": 8}, **more)
    return figure


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
    return _layout(figure, 520)


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
    return _layout(figure, 80 + 22 * max(len(prefixes), 8))


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
    return _layout(figure, 300, bargap=0.25)


def bars_figure(names: Sequence[Any], values: IntArray, x_title: str, y_title: str = "strings") -> go.Figure:
    """Plain counts."""
    labels = plain(names) if names and isinstance(names[0], str) else list(names)
    figure = go.Figure(go.Bar(x=labels, y=values, marker={"color": ACCENT}, hovertemplate="%{x}: %{y:,}<extra></extra>"))
    figure.update_xaxes(title=x_title, type="category" if names and isinstance(names[0], str) else None)
    figure.update_yaxes(title=y_title)
    return _layout(figure, 260, bargap=0.15)


def states_figure(
    coordinates: FloatArray,
    projection: Projection,
    names: Sequence[str],
    colours: Sequence[Any],
    colour_title: str,
    trajectory: tuple[FloatArray, Sequence[str]] | None = None,
    three: bool = False,
) -> go.Figure:
    """States of prefixes along their principal components; numbers colour on a scale, strings as classes.

    Parameters
    ----------
    coordinates : array, shape (n, num_components)
    trajectory : (array, shape (steps, num_components), names), optional
        One string's states, joined by a line.
    """
    names = plain(names)
    figure = go.Figure()
    scatter: Any = go.Scatter3d if three else go.Scattergl
    size = 4 if three else 7

    def axes_of(points: FloatArray) -> dict[str, FloatArray]:
        return {axis: points[:, index] for index, axis in enumerate("xyz" if three else "xy")}

    if len(colours) and isinstance(colours[0], str):
        classes = sorted(set(colours), key=lambda name: (-list(colours).count(name), name))
        for number, name in enumerate(classes):
            chosen = np.array([colour == name for colour in colours])
            figure.add_trace(
                scatter(
                    **axes_of(coordinates[chosen]),
                    mode="markers",
                    name=escape(name, quote=False),
                    text=[text for text, keep in zip(names, chosen, strict=True) if keep],
                    marker={"size": size, "opacity": 0.8, "color": CLASSES[number % len(CLASSES)]},
                    hovertemplate="%{text}<extra></extra>",
                )
            )
    else:
        figure.add_trace(
            scatter(
                **axes_of(coordinates),
                mode="markers",
                text=names,
                marker={
                    "size": size,
                    "opacity": 0.85,
                    "color": list(colours),
                    "colorscale": "Viridis",
                    "colorbar": {"title": colour_title, "thickness": 12},
                },
                hovertemplate="%{text}<extra></extra>",
                showlegend=False,
            )
        )
    if trajectory is not None:
        points, steps = trajectory
        figure.add_trace(
            scatter(
                **axes_of(points),
                mode="lines+markers+text",
                text=plain(steps),
                textposition="top center",
                line={"color": MARK, "width": 3},
                marker={"color": MARK, "size": size + 3, "line": {"color": "white", "width": 1}},
                textfont=MONOSPACE,
                showlegend=False,
                hovertemplate="%{text}<extra></extra>",
            )
        )
    titles = [f"component {index + 1} ({share:.0%} of the variance)" for index, share in enumerate(projection.explained)]
    if three:
        figure.update_layout(scene={f"{axis}axis": {"title": title} for axis, title in zip("xyz", titles, strict=True)})
    else:
        figure.update_xaxes(title=titles[0], zeroline=True)
        figure.update_yaxes(title=titles[1], zeroline=True)
    return _layout(figure, 560, legend={"title": colour_title, "itemsizing": "constant"})


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
    return _layout(figure, 430, showlegend=True, legend={"orientation": "h", "y": 1.12})


def next_symbol_figure(symbols: Sequence[str], shares: Mapping[str, FloatArray]) -> go.Figure:
    """Next-symbol probabilities of several models, side by side."""
    figure = go.Figure()
    for name, values in shares.items():
        look = {"color": colour_of(name), "pattern": {"shape": PATTERNS.get(kind_of(name), "")}}
        hover = f"{name}: %{{y:.4f}}<extra></extra>"
        figure.add_trace(go.Bar(x=plain(symbols), y=values, name=name, marker=look, hovertemplate=hover))
    figure.update_xaxes(type="category", title="next symbol")
    figure.update_yaxes(title="probability", range=[0, 1])
    return _layout(figure, 320, barmode="group", legend={"orientation": "h", "y": 1.15})
