"""Line charts with bands as SVG text: panels side by side over one y-axis. Readable without colour: markers and dashes differ."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain

import numpy as np

from ..lab.palette import DASHES, MARKERS, colour_of, kind_of
from ..metrics.seeds import Spread

WIDE, NARROW, HEIGHT, LEFT, TOP, BOTTOM, GAP = 400, 240, 300, 70, 70, 60, 24
STROKES = {"solid": "none", "dot": "2 4", "dash": "8 5"}
TEXT, GRID = "#222222", "#dddddd"


@dataclass(frozen=True)
class Panel:
    """A chart's part: series by name, x -> values over seeds."""

    title: str
    series: Mapping[str, Mapping[int, Spread]]


@dataclass(frozen=True)
class Scale:
    """Data to pixels, linear or logarithmic."""

    low: float
    high: float
    start: float
    end: float
    log: bool

    def __call__(self, value: float) -> float:
        low, high, at = (math.log10(v) if self.log else v for v in (self.low, self.high, min(max(value, self.low), self.high)))
        return self.start + (at - low) / ((high - low) or 1.0) * (self.end - self.start)


def line_chart(panels: Sequence[Panel], title: str, description: str, x_title: str, y_title: str, log_y: bool = False) -> str:
    """An SVG document.

    Means are joined, bands reach a standard deviation to both sides; ∞ along the upper edge where a seed gave no finite value.

    Parameters
    ----------
    title, description : str
        What a screen reader says of the chart.
    log_y : bool
        Values at or below 0 are then left out.
    """
    spreads = [spread for panel in panels for points in panel.series.values() for spread in points.values()]
    low, high, ticks = _y_range([(s.mean, s.sd or 0.0) for s in spreads if s.mean is not None], log_y)
    panel_width = WIDE if len(panels) <= 2 else NARROW
    width, height = LEFT + len(panels) * (panel_width + GAP), TOP + HEIGHT + BOTTOM
    names = list(dict.fromkeys(chain.from_iterable(panel.series for panel in panels)))
    infinite = [name for name in names if any(s.num_infinite for panel in panels for s in panel.series.get(name, {}).values())]
    y = Scale(low, high, TOP + HEIGHT, TOP + 16 * len(infinite), log_y)  # above it, a row of ∞ for each who needs it
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-labelledby="title desc" font-family="sans-serif" font-size="13" fill="{TEXT}">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="desc">{escape(description)}</desc>',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        *_legend(names),
        f'<text transform="translate(18 {TOP + HEIGHT / 2:g}) rotate(-90)" text-anchor="middle">{escape(y_title)}</text>',
        *(_text(LEFT - 8, y(tick) + 4, f"{tick:g}", "end") for tick in ticks),
    ]
    for number, panel in enumerate(panels):
        left = LEFT + number * (panel_width + GAP)
        right, middle = left + panel_width, left + panel_width / 2
        xs = sorted(set(chain.from_iterable(panel.series.values())))
        x = Scale(min(xs, default=1), max(xs, default=1), left + 14, right - 14, log=True)
        parts += [_line(left, y(tick), right, y(tick), GRID) for tick in ticks]
        parts += [_text(x(tick), TOP + HEIGHT + 18, f"{tick:,}") for tick in xs]
        parts += [_text(middle, TOP - 10, panel.title), _text(middle, TOP + HEIGHT + 42, x_title)]
        for name, points in panel.series.items():
            parts += _series(name, points, x, y)
            beyond = [at for at, spread in points.items() if spread.num_infinite]
            parts += [_text(x(at), TOP + 14 + 16 * infinite.index(name), "∞", colour=colour_of(name)) for at in beyond]
        parts.append(f'<rect x="{left}" y="{TOP}" width="{panel_width}" height="{HEIGHT}" fill="none" stroke="#888888"/>')
    return "\n".join([*parts, "</svg>\n"])


def _series(name: str, points: Mapping[int, Spread], x: Scale, y: Scale) -> list[str]:
    """A line, its band and its markers."""
    colour, dash = colour_of(name), STROKES[DASHES.get(kind_of(name), "solid")]
    known = [
        (x(at), spread.mean, spread.sd or 0.0)
        for at, spread in sorted(points.items())
        if spread.mean is not None and (spread.mean > 0 or not y.log)
    ]
    parts = [f"<g><title>{escape(name)}</title>"]
    if any(sd for _, _, sd in known) and name in MARKERS:
        upper = [f"{at:.1f},{y(mean + sd):.1f}" for at, mean, sd in known]
        lower = [f"{at:.1f},{y(mean - sd):.1f}" for at, mean, sd in reversed(known)]
        parts.append(f'<polygon points="{" ".join(upper + lower)}" fill="{colour}" fill-opacity="0.15"/>')
    path = " ".join(f"{at:.1f},{y(mean):.1f}" for at, mean, _ in known)
    parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.2" stroke-dasharray="{dash}"/>')
    parts += [_marker(name, at, y(mean)) for at, mean, _ in known]
    return [*parts, "</g>"]


def _legend(names: Sequence[str]) -> list[str]:
    parts = []
    for number, name in enumerate(names):
        at = LEFT + number * 110
        parts.append(_line(at, 22, at + 26, 22, colour_of(name), 2.2, STROKES[DASHES.get(kind_of(name), "solid")]))
        parts += [_marker(name, at + 13, 22), _text(at + 32, 26, name, "start")]
    return parts


def _marker(name: str, x: float, y: float) -> str:
    colour = colour_of(name)
    shapes = {
        "circle": f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{colour}"/>',
        "square": f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" fill="{colour}"/>',
        "diamond": f'<path d="M{x:.1f} {y - 6:.1f}l6 6-6 6-6-6z" fill="{colour}"/>',
        "triangle-up": f'<path d="M{x:.1f} {y - 6:.1f}l6 10h-12z" fill="{colour}"/>',
    }
    return shapes.get(MARKERS.get(name, ""), "")


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1, dash: str = "none") -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width}" stroke-dasharray="{dash}"/>'


def _text(x: float, y: float, text: str, anchor: str = "middle", colour: str = TEXT) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{escape(text)}</text>'


def _y_range(points: Sequence[tuple[float, float]], log: bool) -> tuple[float, float, list[float]]:
    """Lowest, highest, and ticks between."""
    if log:
        means = [mean for mean, _ in points if mean > 0] or [1.0]
        least = math.floor(math.log10(min(means)))
        most = max(math.ceil(math.log10(max(means))), least + 1)
        return 10.0**least, 10.0**most, [10.0**power for power in range(least, most + 1, max(1, round((most - least) / 8)))]
    low, high = min((m - s for m, s in points), default=0.0), max((m + s for m, s in points), default=1.0)
    span = (high - low) or 1.0
    step = next(
        step
        for power in range(math.floor(math.log10(span)) - 1, 20)
        for step in (10.0**power, 2 * 10.0**power, 5 * 10.0**power)
        if span / step <= 7
    )
    edges = math.floor(low / step), math.ceil(high / step)
    return edges[0] * step, edges[1] * step, [round(n * step, 10) for n in np.arange(edges[0], edges[1] + 1).tolist()]
