"""A WFA as a graph: states on a circle, an arrow where a weight is large enough, negative weights in the warning colour."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
import plotly.graph_objects as go

from ..graph import Edge, edges, largest_weight
from ..palette import ACCENT, MARK, MONOSPACE
from ..wfa import WFA
from ..words import FloatArray
from .parts import layout

MAX_LABELS = 30
NODE = 34  # pixels across
BEND, LOOP = 0.13, 0.30


def graph_figure(wfa: WFA, symbols: Sequence[str], smallest: float, digits: int = 2) -> go.Figure:
    """Transitions with |weight| ≥ smallest; beside each state its initial and its final weight.

    Up to MAX_LABELS arrows carry their symbols and weights; with more, these are seen on hover alone.
    """
    shown = edges(wfa, smallest)
    largest = largest_weight(wfa) or 1.0
    angles = np.pi / 2 - 2 * np.pi * np.arange(wfa.num_states) / wfa.num_states
    places = np.column_stack((np.cos(angles), np.sin(angles))) * (wfa.num_states > 1)
    figure = go.Figure()
    middles, texts, colours = [], [], []
    for edge in shown:
        way = _way(edge, places)
        colour = MARK if edge.negative else ACCENT
        width = 1.0 + 3.0 * max(abs(weight) for _, weight in edge.weights) / largest
        figure.add_trace(
            go.Scatter(
                x=way[:, 0],
                y=way[:, 1],
                mode="lines+markers",
                line={"color": colour, "width": width},
                opacity=0.75,
                marker={
                    "symbol": "arrow",
                    "angleref": "previous",
                    "size": [0] * (len(way) - 1) + [9 + width],
                    "standoff": NODE / 2,
                    "color": colour,
                },
                hoverinfo="skip",
            )
        )
        middles.append(way[len(way) // 2])
        texts.append("<br>".join(f"{escape(symbols[symbol], quote=False)}: {weight:.{digits}g}" for symbol, weight in edge.weights))
        colours.append(colour)
    if shown:
        x, y = np.array(middles).T
        figure.add_trace(
            go.Scatter(
                x=x,
                y=y,
                mode="markers+text" if len(shown) <= MAX_LABELS else "markers",
                text=texts,
                textfont=MONOSPACE | {"size": 12, "color": colours},
                marker={"size": 18, "color": "rgba(0,0,0,0)"},
                customdata=[f"{edge.source + 1} → {edge.target + 1}" for edge in shown],
                hovertemplate="%{customdata}<br>%{text}<extra></extra>",
            )
        )
    _add_states(figure, wfa, places, digits)
    figure.update_xaxes(visible=False, range=[-1.75, 1.75], constrain="domain")
    figure.update_yaxes(visible=False, range=[-1.7, 1.7], scaleanchor="x", constrain="domain")
    return layout(figure, 560, showlegend=False, hovermode="closest")


def _add_states(figure: go.Figure, wfa: WFA, places: FloatArray, digits: int) -> None:
    figure.add_trace(
        go.Scatter(
            x=places[:, 0],
            y=places[:, 1],
            mode="markers+text",
            text=[str(state + 1) for state in range(wfa.num_states)],
            textfont={"color": "white", "size": 14},
            marker={"size": NODE, "color": "#44546a", "line": {"color": "white", "width": 1.5}},
            customdata=np.column_stack((wfa.initial, wfa.termination)),
            hovertemplate="state %{text}<br>α₀ %{customdata[0]:.6g}<br>α∞ %{customdata[1]:.6g}<extra></extra>",
        )
    )
    for values, sign, side in ((wfa.initial, "α₀", 0.2), (wfa.termination, "α∞", 0.32)):
        figure.add_trace(
            go.Scatter(
                x=places[:, 0],
                y=places[:, 1] - side,
                mode="text",
                text=[f"{sign} {value:.{digits}g}" for value in values],
                textfont={"size": 12, "color": [MARK if value < 0 else "#7a8699" for value in values]},
                hoverinfo="skip",
            )
        )


def _way(edge: Edge, places: FloatArray) -> FloatArray:
    """Points from one state to another, shape (n, 2): a bow to the left, wider for negative weights; a loop points outwards."""
    t = np.linspace(0.0, 1.0, 41)[:, None]
    start, end = places[edge.source], places[edge.target]
    if edge.source == edge.target:
        length = float(np.hypot(*start))
        outwards = start / length if length else np.array([0.0, 1.0])
        turned = np.array([[0.8, -0.6], [0.6, 0.8]]) if edge.negative else np.array([[0.8, 0.6], [-0.6, 0.8]])
        centre = turned @ outwards * LOOP
        across = np.array([-centre[1], centre[0]])
        turn = np.pi * (2 * t - 1)
        loop: FloatArray = start + 0.9 * centre * (1 + np.cos(turn)) + across * np.sin(turn) * 0.6
        return loop
    straight = end - start
    bow = np.array([-straight[1], straight[0]]) * (2.2 if edge.negative else 1.0) * BEND
    way: FloatArray = start + straight * t + bow * (4 * t * (1 - t))
    return way
