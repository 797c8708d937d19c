"""Draw states as points along their principal components, if need be with the path of one string,
or with another model's states.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ...rounding import format_share
from ...strings.words import FloatArray
from ..palette import ACCENT, GREY, MARK, MONOSPACE, MUTED, class_colours
from ..projection import Projection
from . import layout, plain

LEGEND = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "itemsizing": "constant"}
MAX_SVG_POINTS = 3000  # beyond that, points are drawn by WebGL
# colour of the second model in an overlay, whose states are moved onto those of the first
SECOND_COLOUR = "#E69F00"
STEP_MS, MOVE_MS = 800, 400
CONTROLS = 150  # pixels below the axes for the slider and its buttons


def states_figure(
    coordinates: FloatArray,
    projection: Projection,
    names: Sequence[str],
    colours: Sequence[Any],
    colour_title: str,
    trajectory: tuple[FloatArray, Sequence[str]] | None = None,
    three: bool = False,
    num_zero: int = 0,
) -> go.Figure:
    """Draw the states after prefixes as points along their principal components.

    `coordinates` (n, num_components). `projection`: the principal components, for the titles of the
    axes and the position of the zero vector. `names`: the prefix of each point. `colours`: a number
    for each point, coloured on a continuous scale, or the name of a class. `trajectory`: the
    projected states (steps, num_components) of one string's prefixes, connected by a line, and
    their names. `three`: whether to draw three components rather than two. `num_zero`: how many of
    the states are the zero vector, which is marked if there are any: in the projection it looks
    like other points.
    """
    names = plain(names)
    traces: list[Any] = []
    # Scattergl is used only for many points: with it, Plotly's legend shows the last class in the
    # colour of the first.
    scatter: Any = (
        go.Scatter3d
        if three
        else go.Scatter
        if len(coordinates) <= MAX_SVG_POINTS
        else go.Scattergl
    )
    size = 4 if three else 7

    def axes_of(points: FloatArray) -> dict[str, FloatArray]:
        return {axis: points[:, index] for index, axis in enumerate("xyz" if three else "xy")}

    if len(colours) and isinstance(colours[0], str):
        for name, class_colour in class_colours(colours).items():
            is_in_class = np.array([colour == name for colour in colours])
            traces.append(
                scatter(
                    **axes_of(coordinates[is_in_class]),
                    mode="markers",
                    name=escape(name, quote=False),
                    text=[text for text, keep in zip(names, is_in_class, strict=True) if keep],
                    marker={"size": size, "opacity": 0.8, "color": class_colour},
                    hovertemplate="%{text}<extra></extra>",
                )
            )
    else:
        traces.append(
            scatter(
                **axes_of(coordinates),
                mode="markers",
                text=names,
                marker={
                    "size": size,
                    "opacity": 0.85,
                    "color": list(colours),
                    "colorscale": "Viridis",
                    "colorbar": {"title": {"text": colour_title, "side": "right"}, "thickness": 12},
                },
                hovertemplate="%{text}<extra></extra>",
                showlegend=False,
            )
        )
    if num_zero:
        origin = projection.coordinates(np.zeros((1, projection.axes.shape[1])))
        traces.append(
            scatter(
                **axes_of(origin),
                mode="markers",
                name=f"zero vector ({num_zero:,})",
                marker={
                    "color": GREY,
                    "size": size + 15,
                    "symbol": "x" if three else "x-thin",
                    "line": {"color": GREY, "width": 3},
                },
                hovertemplate=f"the zero vector: {num_zero:,} of the prefixes<extra></extra>",
                showlegend=True,
            )
        )
    if trajectory is not None:
        points, steps = trajectory
        traces.append(
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
    return _with_axes(traces, projection, three, LEGEND | {"title": {"text": colour_title}})


def overlay_figure(
    first: FloatArray,
    second: FloatArray,
    projection: Projection,
    names: Sequence[str],
    titles: tuple[str, str],
    three: bool = False,
) -> go.Figure:
    """Draw two models' states after the same prefixes in one figure, with a thin line between the
    two points of each prefix.

    `first` and `second` (n, num_components). `projection`: the principal components of the first
    model's states.
    """
    names = plain(names)
    traces: list[Any] = []
    scatter: Any = (
        go.Scatter3d if three else go.Scatter if len(first) <= MAX_SVG_POINTS else go.Scattergl
    )
    axes = "xyz" if three else "xy"
    gaps = np.full_like(first, np.nan)
    links = np.stack((first, second, gaps), axis=1).reshape(-1, first.shape[1])
    traces.append(
        scatter(
            **{axis: links[:, index] for index, axis in enumerate(axes)},
            mode="lines",
            line={"color": MUTED, "width": 1},
            hoverinfo="skip",
            name="the same prefix",
        )
    )
    for points, title, colour, symbol in (
        (first, titles[0], ACCENT, "circle"),
        (second, titles[1], SECOND_COLOUR, "diamond"),
    ):
        traces.append(
            scatter(
                **{axis: points[:, index] for index, axis in enumerate(axes)},
                mode="markers",
                name=escape(title, quote=False),
                text=names,
                marker={
                    "size": 4 if three else 8,
                    "opacity": 0.8,
                    "color": colour,
                    "symbol": symbol,
                },
                hovertemplate=f"%{{text}} · {escape(title, quote=False)}<extra></extra>",
            )
        )
    return _with_axes(traces, projection, three, LEGEND)


def _with_axes(
    points: list[Any], projection: Projection, three: bool, legend: dict[str, Any]
) -> go.Figure:
    shares = [format_share(float(share), 0) for share in projection.explained]
    titles = [
        f"component {number} ({share} of the variance)" for number, share in enumerate(shares, 1)
    ]
    if three:
        scene = {f"{axis}axis": {"title": title} for axis, title in zip("xyz", titles, strict=True)}
        return go.Figure(points, layout(560, legend=legend, scene=scene))
    axes = [{"title": title, "zeroline": True} for title in titles[:2]]
    return go.Figure(points, layout(560, *axes, legend=legend))


def add_trajectory(
    figure: go.Figure, points: FloatArray, names: Sequence[str], three: bool = False
) -> go.Figure:
    """Add an animation to a figure of states: a string's states one after the other, with a slider,
    Play and Pause.

    The figure contains all frames, so playing them makes no request to the server.

    `figure`: made by `states_figure`; it is changed. `points` (length + 1, num_components): the
    states of λ and every longer prefix, projected. `names`: the prefixes as text.
    """
    names = plain(names)
    kind: Any = go.Scatter3d if three else go.Scatter
    size = 5 if three else 9

    def part(first: int, last: int) -> dict[str, FloatArray]:
        return {
            axis: points[first:last, index] for index, axis in enumerate("xyz" if three else "xy")
        }

    def so_far(step: int) -> Any:
        return kind(**part(0, step + 1), text=names[: step + 1])

    def now(step: int) -> Any:
        return kind(**part(step, step + 1), text=[names[step]])

    start, last = len(figure.data), len(names) - 1
    common = {"showlegend": False, "name": ""}
    figure.add_trace(
        kind(
            **part(0, last + 1),
            mode="lines",
            line={"color": MUTED, "width": 2, "dash": "dot"},
            hoverinfo="skip",
            **common,
        )
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
        go.Frame(name=str(step), data=[so_far(step), now(step)], traces=[start + 1, start + 2])
        for step in range(last + 1)
    ]
    at_once = {
        "mode": "immediate",
        "frame": {"duration": 0, "redraw": three},
        "transition": {"duration": 0},
    }
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
        "currentvalue": {
            "prefix": "prefix: ",
            "font": MONOSPACE | {"size": 14, "color": GREY},
            "xanchor": "left",
        },
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
    figure.update_layout(
        sliders=[slider],
        updatemenus=[buttons],
        height=figure.layout.height + CONTROLS,
        margin={"b": CONTROLS},
    )
    return figure
