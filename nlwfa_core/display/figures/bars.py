"""Draw counts and next-symbol probabilities as bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from ...metrics.tables import format_score
from ...strings.words import FloatArray, IntArray
from ..palette import (
    ACCENT,
    MONOSPACE,
    PATTERNS,
    RIGHT,
    RIGHT_SIGN,
    WRONG,
    WRONG_SIGN,
    colour_of,
    kind_of,
)
from . import layout, plain

# with fewer bars than these, each is as wide as if there were this many: two bars would fill the
# figure
FEW = 12
TOOLBAR = 40  # pixels above bars, where the toolbar appears
LARGE = 26  # pixels of the letters on a wall
PIN_PATTERNS = {"A": "\\", "B": "x"}


def bars_figure(
    names: Sequence[Any], values: IntArray, x_title: str, y_title: str = "strings"
) -> go.Figure:
    """Draw counts as bars.

    Names that are strings give a categorical x-axis, in their order; numbers give a numeric one.
    """
    is_categorical = bool(names) and isinstance(names[0], str)
    labels = plain(names) if is_categorical else list(names)
    width = min(0.85, len(labels) / FEW) if is_categorical else None
    bar = go.Bar(
        x=labels,
        y=values,
        width=width,
        marker={"color": ACCENT},
        hovertemplate="%{x}: %{y:,}<extra></extra>",
    )
    xaxis: dict[str, Any] = {"title": x_title}
    if is_categorical:
        xaxis |= {"type": "category", "tickfont": MONOSPACE}
    own = layout(260 + TOOLBAR, xaxis, {"title": y_title}, bargap=0.15)
    own["margin"]["t"] = TOOLBAR
    return go.Figure(bar, own)


def lengths_figure(lengths: IntArray, longest: int) -> go.Figure:
    """Draw the number of strings of each length 0, 1, … as bars.

    The axis ends at `longest`; a double click shows all.
    """
    figure = bars_figure(range(len(lengths)), lengths, "length")
    figure.update_xaxes(range=[-0.5, longest + 0.5])
    return figure


def guesses_figure(
    labels: Sequence[str], counts: Sequence[int], right: Sequence[bool], is_large: bool = False
) -> go.Figure:
    """Draw how often each answer was entered, as bars with their counts.

    Right and wrong ones differ in colour and sign. A large figure is for a projector: its smallest
    text is 24 pixels high, and the counts are written only at the bars.
    """
    signs = [RIGHT_SIGN if correct else WRONG_SIGN for correct in right]
    names = [f"{label} {sign}" for label, sign in zip(plain(labels), signs, strict=True)]
    colours = [RIGHT if correct else WRONG for correct in right]
    bar = go.Bar(
        x=names,
        y=counts,
        text=counts,
        textposition="outside",
        cliponaxis=False,
        marker={"color": colours},
    )
    bar.hovertemplate = "%{x}: %{y:,}<extra></extra>"
    size = LARGE if is_large else 16
    xaxis = {"type": "category", "tickfont": {**MONOSPACE, "size": size}}
    most = max(counts, default=0)
    yaxis = {"range": [0, most * 1.15 + 0.5], "visible": False}
    return go.Figure(
        bar, layout(400 if is_large else 260, xaxis, yaxis, bargap=0.3, font={"size": size})
    )


def next_symbol_figure(symbols: Sequence[str], shares: Mapping[str, FloatArray]) -> go.Figure:
    """Draw next-symbol probabilities of several models side by side.

    Models that a user pinned ("A: SP, k = 3") are hatched.
    """
    bars = []
    for name, values in shares.items():
        pin, _, learner = name.rpartition(": ")
        kind = kind_of(learner.split(",")[0])
        look = {
            "color": colour_of(kind),
            "pattern": {"shape": PIN_PATTERNS.get(pin, PATTERNS.get(kind, ""))},
        }
        texts = [format_score(value) for value in values.tolist()]
        hover = f"{name}: %{{customdata}}<extra></extra>"
        bars.append(
            go.Bar(
                x=plain(symbols),
                y=values,
                name=name,
                marker=look,
                customdata=texts,
                hovertemplate=hover,
            )
        )
    xaxis = {"type": "category", "title": "next symbol", "tickfont": MONOSPACE}
    yaxis = {"title": "probability", "range": [0, 1]}
    legend = {"orientation": "h", "y": 1.15}
    return go.Figure(bars, layout(320, xaxis, yaxis, barmode="group", legend=legend))
