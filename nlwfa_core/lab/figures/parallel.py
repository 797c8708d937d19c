"""Many runs at once: an axis an option or a score, a line a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ..palette import BLUES, scale
from . import layout, plain

MAX_TICKS = 8
INK = {False: "#1b2430", True: "#e8edf3"}  # of the theme's text: lines cross it


def parallel_figure(axes: Mapping[str, Sequence[str] | Sequence[float]], colour_by: str, dark: bool = False) -> go.Figure:
    """Parallel coordinates.

    Words stand in the order of their first appearance, numbers among them behind, by size.
    Values that are not finite have a place above all others, ∞.

    Parameters
    ----------
    axes : mapping
        Name -> a value a run, all of the same length.
    colour_by : str
        The axis of numbers that colours the lines: low ones stand out from the page.
    """
    dimensions = [_dimension(name, values) for name, values in axes.items()]
    place, text = list(axes).index(colour_by), INK[dark]
    figure = go.Figure(
        go.Parcoords(
            dimensions=dimensions,
            line={"color": dimensions[place]["values"], "colorscale": scale(BLUES[:5] if dark else BLUES[4:], not dark)},
            labelfont={"size": 13, "color": text},
            tickfont={"size": 12, "color": text},
            labelangle=-20,  # on a phone they would run into each other
            labelside="bottom",
        )
    )
    figure = layout(figure, 400)
    return figure.update_layout(margin={"l": 64, "r": 48, "t": 24, "b": 72})


def _dimension(name: str, values: Sequence[str] | Sequence[float]) -> dict[str, Any]:
    label = plain([name])[0]
    if any(isinstance(value, str) for value in values):
        words = sorted(dict.fromkeys(str(value) for value in values), key=_size)
        places = [words.index(str(value)) for value in values]
        edges = [-0.5, len(words) - 0.5] if len(words) == 1 else [0, len(words) - 1]
        return {"label": label, "values": places, "tickvals": list(range(len(words))), "ticktext": plain(words), "range": edges}
    numbers = np.array(values, dtype=float)
    finite = numbers[np.isfinite(numbers)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    span = (high - low) or 1.0
    beyond = high + 0.15 * span
    drawn = np.where(np.isfinite(numbers), numbers, beyond)
    distinct = sorted(set(finite.tolist()))
    whole = len(distinct) <= MAX_TICKS and all(value.is_integer() for value in distinct)
    ticks = distinct if whole else np.unique(np.linspace(low, high, 5)).tolist()
    texts = [f"{tick:.3g}" if abs(tick) < 1000 else f"{tick:,.0f}" for tick in ticks]
    infinite = len(finite) < len(numbers)
    if low == high and not infinite:
        low, high = low - 0.5, high + 0.5
    return {
        "label": label,
        "values": drawn.tolist(),
        "tickvals": [*ticks, *([beyond] if infinite else [])],
        "ticktext": [*texts, *(["∞"] if infinite else [])],
        "range": [low, beyond if infinite else high],
    }


def _size(text: str) -> float:
    """Of a number that is written; of a word, less than any."""
    try:
        return float(text)
    except ValueError:
        return -np.inf
