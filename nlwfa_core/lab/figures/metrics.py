"""Draw scores against the rank or the number of strings."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from ...metrics.scores import SCORE_OF
from ...metrics.seeds import Spread
from ..palette import DASHES, MARKERS, colour_of, kind_of
from . import layout

Curve = Mapping[int, Spread]  # rank or number of strings -> score over seeds


def metric_figure(
    curves: Mapping[str, Curve],
    references: Mapping[str, float | Mapping[int, float]],
    metric: str,
    x_title: str = "rank k",
) -> go.Figure:
    """Draw each learner's mean over seeds as a line, with a band of one standard deviation; ∞ is marked at the upper edge.

    Parameters
    ----------
    curves : mapping
        Learner -> x -> score over seeds.
    references : mapping
        Reference model -> its score (drawn as a horizontal line), or x -> its score.
    """
    finite = [v for points in curves.values() for s in points.values() for v in _reach(s)]
    finite += [
        v for line in references.values() for v in (line.values() if isinstance(line, Mapping) else [line]) if np.isfinite(v)
    ]
    top, bottom = (max(finite), min(finite)) if finite else (1.0, 0.0)
    ceiling = top + 0.12 * ((top - bottom) or 1.0)
    figure = go.Figure()
    for name, line in references.items():
        _add_reference(figure, name, line)
    for name, points in curves.items():
        _add_band(figure, name, points)
    for name, points in curves.items():
        _add_curve(figure, name, points, ceiling, x_title)
    reference_curves = [line for line in references.values() if isinstance(line, Mapping)]
    xs = sorted({x for line in [*curves.values(), *reference_curves] for x in line})
    low, high = np.log10(xs[0] if xs else 1), np.log10(xs[-1] if xs else 1)
    span = max(high - low, 0.3)
    right_margin = 0.3 if len(reference_curves) < len(references) else 0.05  # for the names of horizontal lines
    ticks = {"tickvals": xs, "ticktext": [f"{x:,}" for x in xs]}
    figure.update_xaxes(title=x_title, type="log", range=[low - 0.05 * span, high + right_margin * span], **ticks)
    figure.update_yaxes(title=SCORE_OF[metric].title)
    return layout(figure, 430, showlegend=True, legend={"orientation": "h", "y": 1.12})


def _reach(spread: Spread) -> list[float]:
    """Return the ends of a band."""
    return [] if spread.mean is None else [spread.mean - (spread.sd or 0.0), spread.mean + (spread.sd or 0.0)]


def _add_reference(figure: go.Figure, name: str, line: float | Mapping[int, float]) -> None:
    look = {"color": colour_of(name), "width": 1.5, "dash": DASHES[kind_of(name)]}
    if isinstance(line, Mapping):
        finite = {x: value for x, value in line.items() if np.isfinite(value)}
        hover = f"{name}, %{{x:,}}: %{{y:.4f}}<extra></extra>"
        figure.add_trace(
            go.Scatter(x=list(finite), y=list(finite.values()), mode="lines", name=name, line=look, hovertemplate=hover)
        )
    elif np.isfinite(line):
        # What `add_hline` adds, which takes five times as long.
        figure.add_shape(type="line", x0=0, x1=1, xref="x domain", y0=line, y1=line, yref="y", line=look)
        corner = {"x": 1, "xref": "x domain", "xanchor": "right", "y": line, "yref": "y", "yanchor": "bottom"}
        figure.add_annotation(text=f"{name} {line:.3f}", showarrow=False, **corner)


def _add_band(figure: go.Figure, name: str, points: Curve) -> None:
    """Add the band of a curve; none if no point has two finite values."""
    finite = [(x, s.mean, s.sd or 0.0) for x, s in points.items() if s.mean is not None]
    if not any(sd for _, _, sd in finite):
        return
    xs = [x for x, _, _ in finite]
    figure.add_trace(
        go.Scatter(
            x=[*xs, *xs[::-1]],
            y=[*(mean + sd for _, mean, sd in finite), *(mean - sd for _, mean, sd in finite[::-1])],
            mode="lines",
            fill="toself",
            fillcolor=colour_of(name),
            opacity=0.18,
            line={"width": 0},
            name=f"{name} ± sd",
            legendgroup=name,
            showlegend=False,
            hoverinfo="skip",
        )
    )


def _add_curve(figure: go.Figure, name: str, points: Curve, ceiling: float, x_title: str) -> None:
    colour = colour_of(name)
    figure.add_trace(
        go.Scatter(
            x=list(points),
            y=[spread.mean for spread in points.values()],
            mode="lines+markers",
            name=name,
            legendgroup=name,
            connectgaps=False,
            line={"color": colour, "width": 2.5, "dash": DASHES.get(name, "solid")},
            marker={"symbol": MARKERS.get(name, "circle"), "size": 9},
            customdata=[f"{s.text('.4f')}{f', {s.count} seeds' if s.count > 1 else ''}" for s in points.values()],
            hovertemplate=f"{name}, {x_title} %{{x:,}}: %{{customdata}}<extra></extra>",
        )
    )
    infinite = {x: spread for x, spread in points.items() if spread.num_infinite}
    if infinite:
        figure.add_trace(
            go.Scatter(
                x=list(infinite),
                y=[ceiling] * len(infinite),
                mode="text",
                text=["∞"] * len(infinite),
                textfont={"color": colour, "size": 20},
                name=name,
                legendgroup=name,
                showlegend=not any(spread.mean is not None for spread in points.values()),
                customdata=[f"{spread.num_infinite} of {spread.count}" for spread in infinite.values()],
                hovertemplate=f"{name}, {x_title} %{{x:,}}: %{{customdata}} not finite<extra></extra>",
            )
        )
