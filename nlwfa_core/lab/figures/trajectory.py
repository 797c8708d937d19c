"""One string's states as an animation over its symbols: all in the figure, so that playing it asks nothing of the server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from ...strings.words import FloatArray
from ..palette import GREY, MARK, MONOSPACE, MUTED
from .parts import plain

STEP_MS, MOVE_MS = 800, 400
CONTROLS = 150  # pixels below the axes


def add_trajectory(figure: go.Figure, points: FloatArray, names: Sequence[str], three: bool = False) -> go.Figure:
    """The way of one string through a figure of states, with a slider over its prefixes, Play and Pause.

    Parameters
    ----------
    figure : Figure
        Of `states_figure`; it is changed.
    points : array, shape (length + 1, num_components)
        Of λ and every longer prefix.
    names : sequence of str
        The prefixes, as they are written.
    """
    names = plain(names)
    kind: Any = go.Scatter3d if three else go.Scatter
    size = 5 if three else 9

    def part(first: int, last: int) -> dict[str, FloatArray]:
        return {axis: points[first:last, index] for index, axis in enumerate("xyz" if three else "xy")}

    def so_far(step: int) -> Any:
        return kind(**part(0, step + 1), text=names[: step + 1])

    def now(step: int) -> Any:
        return kind(**part(step, step + 1), text=[names[step]])

    start, last = len(figure.data), len(names) - 1
    common = {"showlegend": False, "name": ""}
    figure.add_trace(
        kind(**part(0, last + 1), mode="lines", line={"color": MUTED, "width": 2, "dash": "dot"}, hoverinfo="skip", **common)
    )
    figure.add_trace(
        so_far(last).update(
            mode="lines+markers",
            line={"color": MARK, "width": 3},
            marker={"color": MARK, "size": size, "line": {"color": "white", "width": 1}},
            hovertemplate="%{text}<extra></extra>",
            **common,
        )
    )
    figure.add_trace(
        now(last).update(
            mode="markers+text",
            marker={"color": MARK, "size": 2 * size, "line": {"color": "white", "width": 2}},
            textposition="top center",
            textfont=MONOSPACE | {"size": 15, "weight": 700, "color": MARK},
            hovertemplate="%{text}<extra></extra>",
            **({} if three else {"cliponaxis": False}),
            **common,
        )
    )
    if not last:
        return figure
    figure.frames = [
        go.Frame(name=str(step), data=[so_far(step), now(step)], traces=[start + 1, start + 2]) for step in range(last + 1)
    ]
    at_once = {"mode": "immediate", "frame": {"duration": 0, "redraw": three}, "transition": {"duration": 0}}
    playing = {
        "fromcurrent": True,
        "mode": "immediate",
        "frame": {"duration": STEP_MS, "redraw": three},
        "transition": {"duration": MOVE_MS, "easing": "cubic-in-out"},
    }
    slider = {
        "active": last,
        "x": 0,
        "len": 1,
        "pad": {"t": 64, "b": 0, "l": 4, "r": 4},
        "currentvalue": {"prefix": "prefix: ", "font": MONOSPACE | {"size": 14, "color": GREY}, "xanchor": "left"},
        "steps": [
            {"method": "animate", "label": name, "value": str(step), "args": [[str(step)], at_once]}
            for step, name in enumerate(names)
        ],
        "bgcolor": MUTED,
        "activebgcolor": MARK,
        "bordercolor": "rgba(0,0,0,0)",
        "font": {"color": "rgba(0,0,0,0)", "size": 1},
        "ticklen": 4,
        "minorticklen": 4,
    }
    buttons = {
        "type": "buttons",
        "direction": "left",
        "showactive": False,
        "x": 1,
        "xanchor": "right",
        "y": 0,
        "yanchor": "top",
        "pad": {"t": 56, "r": 4},
        "bgcolor": "rgba(0,0,0,0)",
        "bordercolor": MUTED,
        "font": {"color": GREY},
        "buttons": [
            {"label": "▶ Play", "method": "animate", "args": [None, playing]},
            {"label": "❚❚ Pause", "method": "animate", "args": [[None], at_once]},
        ],
    }
    figure.update_layout(sliders=[slider], updatemenus=[buttons], height=figure.layout.height + CONTROLS, margin={"b": CONTROLS})
    return figure
