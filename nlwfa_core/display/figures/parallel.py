"""Draw parallel coordinates of many runs: a vertical axis for each option or score, and a line for
each run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ...rounding import format_significant, told_apart
from ..palette import BLUES, scale
from . import layout, plain

MAX_TICKS = 8
# whether the theme is dark -> colour of text; it must contrast with the lines
TEXT_COLOURS = {False: "#1b2430", True: "#e8edf3"}


def parallel_figure(
    axes: Mapping[str, Sequence[str] | Sequence[float]], colour_by: str, dark: bool = False
) -> go.Figure:
    """Draw parallel coordinates.

    An axis of texts lists words in the order of their first appearance, then numbers in ascending
    order. On an axis of numbers, values that are not finite are drawn above all others, at ∞.

    `axes`: name -> one value for each run. `colour_by`: the axis of numbers whose values determine
    the colours of the lines; low values have the strongest contrast.
    """
    dimensions = [_dimension(name, values) for name, values in axes.items()]
    index = list(axes).index(colour_by)
    text = TEXT_COLOURS[dark]
    lines = go.Parcoords(
        dimensions=dimensions,
        line={
            "color": dimensions[index]["values"],
            "colorscale": scale(BLUES[:5] if dark else BLUES[4:], not dark),
        },
        labelfont={"size": 13, "color": text},
        tickfont={"size": 12, "color": text},
        labelangle=-20,  # on a phone, horizontal labels would overlap
        labelside="bottom",
    )
    return go.Figure(lines, layout(400) | {"margin": {"l": 64, "r": 48, "t": 24, "b": 72}})


def _dimension(name: str, values: Sequence[str] | Sequence[float]) -> dict[str, Any]:
    label = plain([name])[0]
    if any(isinstance(value, str) for value in values):
        words = sorted(dict.fromkeys(str(value) for value in values), key=_size)
        ranks = [words.index(str(value)) for value in values]
        ends = [-0.5, len(words) - 0.5] if len(words) == 1 else [0, len(words) - 1]
        return {
            "label": label,
            "values": ranks,
            "tickvals": list(range(len(words))),
            "ticktext": plain(words),
            "range": ends,
        }
    numbers = np.array(values, dtype=float)
    finite = numbers[np.isfinite(numbers)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    span = (high - low) or 1.0
    top = high + 0.15 * span
    positions = np.where(np.isfinite(numbers), numbers, top)
    distinct = sorted(set(finite.tolist()))
    whole = len(distinct) <= MAX_TICKS and all(value.is_integer() for value in distinct)
    ticks = distinct if whole else np.unique(np.linspace(low, high, 5)).tolist()
    texts = list(told_apart(ticks, lambda tick, extra: format_significant(tick, 3 + extra)))
    infinite = len(finite) < len(numbers)
    if low == high and not infinite:
        low = low - 0.5
        high = high + 0.5
    return {
        "label": label,
        "values": positions.tolist(),
        "tickvals": [*ticks, *([top] if infinite else [])],
        "ticktext": [*texts, *(["∞"] if infinite else [])],
        "range": [low, top if infinite else high],
    }


def _size(text: str) -> float:
    """Convert a string to a number; −∞ if it is a word."""
    try:
        return float(text)
    except ValueError:
        return -np.inf
