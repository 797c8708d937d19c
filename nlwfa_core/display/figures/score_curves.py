"""Draw scores against the rank or the number of strings, or of models side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ...metrics.intervals import CONFIDENCE, Interval
from ...metrics.score_table import SCORE_OF
from ...metrics.seeds import Spread
from ...metrics.tables import format_score
from ..pairs import interval_text, spread_text
from ..palette import DASHES, MARKERS, PATTERNS, colour_of, kind_of
from . import layout

BAND = f"{CONFIDENCE:.0%} interval"
# rank or number of strings -> mean and standard deviation of a score over seeds
Curve = Mapping[int, Spread]


def metric_figure(
    curves: Mapping[str, Curve],
    references: Mapping[str, float | Mapping[int, float]],
    metric: str,
    x_title: str = "rank k",
) -> go.Figure:
    """Draw each learner's mean score over seeds as a line with a band, its 95 % t interval; ∞ is
    marked at the upper edge.

    With two or three seeds, an interval may be far wider than the differences between learners: the
    axis then shows only a part of it.

    `curves`: learner -> x -> score over seeds, where x is the rank or the number of strings.
    `references`: reference model -> its score (drawn as a horizontal line), or its score for each
    x.
    """
    lines: dict[str, Mapping[int, float]] = {}
    levels: dict[str, float] = {}
    for name, line in references.items():
        if isinstance(line, Mapping):
            lines[name] = line
        elif np.isfinite(line):
            levels[name] = line
    spreads = [spread for points in curves.values() for spread in points.values()]
    means = [spread.mean for spread in spreads if spread.mean is not None]
    of_lines = [value for line in lines.values() for value in line.values() if np.isfinite(value)]
    intervals = [interval for spread in spreads if (interval := spread.interval())]
    bottom, top, is_cut = _visible([*means, *of_lines, *levels.values()], intervals)
    ceiling = top + 0.12 * ((top - bottom) or 1.0)
    form = SCORE_OF[metric].form
    traces = [_reference_curve(name, line, form) for name, line in lines.items()]
    for name, points in curves.items():
        traces += _band(name, points)
    for name, points in curves.items():  # lines lie above the bands
        traces += _curve(name, points, ceiling, x_title, form)
    xs = sorted({x for line in [*curves.values(), *lines.values()] for x in line})
    xaxis = _logarithmic_axis(xs, x_title, has_names=len(lines) < len(references))
    yaxis: dict[str, Any] = {"title": SCORE_OF[metric].title}
    if is_cut:
        margin = 0.05 * (top - bottom)
        end = ceiling if any(spread.num_infinite for spread in spreads) else top
        yaxis["range"] = [bottom - margin, end + margin]
    return go.Figure(
        traces,
        layout(
            430,
            xaxis,
            yaxis,
            showlegend=True,
            legend={"orientation": "h", "y": 1.12},
            shapes=[_level(name, value) for name, value in levels.items()],
            annotations=[_level_name(name, value, form) for name, value in levels.items()],
        ),
    )


def _logarithmic_axis(xs: Sequence[int], title: str, has_names: bool) -> dict[str, Any]:
    """Describe the axis of ranks or numbers of strings. `has_names`: whether horizontal lines have
    their names at its right end.
    """
    low = np.log10(xs[0] if xs else 1)
    high = np.log10(xs[-1] if xs else 1)
    span = max(high - low, 0.3)
    right_margin = 0.3 if has_names else 0.05
    return {
        "title": title,
        "type": "log",
        "range": [low - 0.05 * span, high + right_margin * span],
        "tickvals": xs,
        "ticktext": [f"{x:,}" for x in xs],
    }


def score_bars(
    scores: Mapping[str, Spread], references: Mapping[str, float], metric: str
) -> go.Figure:
    """Draw a score of several models as bars, the best on top, with the models' scores at the ends
    of the bars.

    `scores`: learner -> score over seeds. With several seeds, a whisker is the 95 % t interval of
    the mean. `references`: reference model -> its score.
    """
    sign = -1.0 if SCORE_OF[metric].higher_is_better else 1.0
    bars = dict(scores) | {name: Spread.of([value]) for name, value in references.items()}
    order = sorted(bars, key=lambda name: (bars[name].num_infinite, sign * _length(bars[name])))
    spreads = [bars[name] for name in order]
    intervals = [spread.interval() for spread in spreads]
    reach = [
        max(0.0, one.high - _length(spread)) if one else 0.0
        for spread, one in zip(spreads, intervals, strict=True)
    ]
    largest = max(
        (_length(spread) + end for spread, end in zip(spreads, reach, strict=True)), default=1.0
    )
    xaxis = {"title": SCORE_OF[metric].title, "range": [0, 1.12 * (largest or 1.0)]}
    yaxis = {"autorange": "reversed", "type": "category"}
    return go.Figure(
        go.Bar(
            y=order,
            x=[_length(spread) for spread in spreads],
            orientation="h",
            text=[
                "∞" if spread.num_infinite else spread_text(spread, SCORE_OF[metric].form)
                for spread in spreads
            ],
            textposition="outside",
            cliponaxis=False,
            error_x={"array": reach, "visible": any(reach)},
            marker={
                "color": [colour_of(name) for name in order],
                "pattern": {"shape": [PATTERNS.get(kind_of(n), "") for n in order]},
            },
            hovertemplate="%{y}: %{text}<extra></extra>",
        ),
        layout(90 + 34 * len(order), xaxis, yaxis, bargap=0.3, showlegend=False),
    )


def _length(spread: Spread) -> float:
    """Return the length of a bar: the mean of the finite scores, or 0 if there are none."""
    return 0.0 if spread.mean is None else max(spread.mean, 0.0)


def _visible(lines: Sequence[float], intervals: Sequence[Interval]) -> tuple[float, float, bool]:
    """Choose the y-axis: return its lowest value, its highest value, and whether bands are cut off
    there.

    The axis is at most twice as high as the lines need.
    """
    if not lines:
        return 0.0, 1.0, False
    low = min(lines)
    high = max(lines)
    bottom = min([low, *(one.low for one in intervals)])
    top = max([high, *(one.high for one in intervals)])
    room = high - low
    if not room or (bottom >= low - room / 2 and top <= high + room / 2):
        return bottom, top, False
    return max(bottom, low - room / 2), min(top, high + room / 2), True


def _look(name: str) -> dict[str, Any]:
    return {"color": colour_of(name), "width": 1.5, "dash": DASHES[kind_of(name)]}


def _reference_curve(name: str, line: Mapping[int, float], form: str) -> go.Scatter:
    finite = {x: value for x, value in line.items() if np.isfinite(value)}
    return go.Scatter(
        mode="lines",
        name=name,
        line=_look(name),
        x=list(finite),
        y=list(finite.values()),
        text=[format_score(value, form) for value in finite.values()],
        hovertemplate=f"{name}, %{{x:,}}: %{{text}}<extra></extra>",
    )


def _level(name: str, value: float) -> dict[str, Any]:
    """Make the horizontal line of a reference model."""
    ends = {"x0": 0, "x1": 1, "xref": "x domain", "y0": value, "y1": value, "yref": "y"}
    return {"type": "line", "line": _look(name), **ends}


def _level_name(name: str, value: float, form: str) -> dict[str, Any]:
    corner = {"x": 1, "xref": "x domain", "xanchor": "right"}
    height = {"y": value, "yref": "y", "yanchor": "bottom"}
    return {"text": f"{name} {format_score(value, form)}", "showarrow": False, **corner, **height}


def _band(name: str, points: Curve) -> list[go.Scatter]:
    """Draw the intervals of a curve as a band.

    It has width 0 at points without an interval, and is left out if no point has one.
    """
    ends = {
        x: spread.interval() or Interval(spread.mean, spread.mean, spread.mean)
        for x, spread in points.items()
        if spread.mean is not None
    }
    if all(one.low == one.high for one in ends.values()):
        return []
    xs = list(ends)
    return [
        go.Scatter(
            x=[*xs, *xs[::-1]],
            y=[*(one.high for one in ends.values()), *(one.low for one in reversed(ends.values()))],
            mode="lines",
            fill="toself",
            fillcolor=colour_of(name),
            opacity=0.18,
            line={"width": 0},
            name=f"{name}, {BAND}",
            legendgroup=name,
            showlegend=False,
            hoverinfo="skip",
        )
    ]


def _hover(spread: Spread, form: str) -> str:
    """Write a point's mean and interval.

    >>> _hover(Spread.of([0.25]), ".3f"), _hover(Spread.of([1.0, 2.0, 3.0]), ".3f")
    ('0.250', '2.000 (95 % interval −0.484 to 4.484), 3 seeds')
    """
    interval = spread.interval()
    text = spread_text(spread, form)
    if interval is not None:
        text = f"{format_score(spread.mean, form)} (95 % interval {interval_text(interval, form)})"
    return f"{text}, {spread.count} seeds" if spread.count > 1 else text


def _curve(name: str, points: Curve, ceiling: float, x_title: str, form: str) -> list[go.Scatter]:
    colour = colour_of(name)
    traces = [
        go.Scatter(
            x=list(points),
            y=[spread.mean for spread in points.values()],
            mode="lines+markers",
            name=name,
            legendgroup=name,
            connectgaps=False,
            line={"color": colour, "width": 2.5, "dash": DASHES.get(name, "solid")},
            marker={"symbol": MARKERS.get(name, "circle"), "size": 9},
            customdata=[_hover(spread, form) for spread in points.values()],
            hovertemplate=f"{name}, {x_title} %{{x:,}}: %{{customdata}}<extra></extra>",
        )
    ]
    infinite = {x: spread for x, spread in points.items() if spread.num_infinite}
    if infinite:
        traces.append(
            go.Scatter(
                x=list(infinite),
                y=[ceiling] * len(infinite),
                mode="text",
                text=["∞"] * len(infinite),
                textfont={"color": colour, "size": 20},
                name=name,
                legendgroup=name,
                showlegend=not any(spread.mean is not None for spread in points.values()),
                customdata=[
                    f"{spread.num_infinite} of {spread.count}" for spread in infinite.values()
                ],
                hovertemplate=f"{name}, {x_title} %{{x:,}}: %{{customdata}} not "
                "finite<extra></extra>",
            )
        )
    return traces
