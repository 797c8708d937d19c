"""Draw states as points along their principal components, optionally with the path of one string or
with another model's states.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

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
MAX_WRITTEN = 12  # prefixes of a followed string that are written next to their points
MOST_NAMES = 3  # of prefixes next to one point
SAME_PLACE = 0.02  # the share of the picture within which points count as one


class Trajectory(NamedTuple):
    """The states of one string's prefixes, from λ to the whole string.

    Attributes
    ----------
    points : array, shape (length + 1, num_components)
        The projected states.
    names : sequence of str
        The prefixes.
    """

    points: FloatArray
    names: Sequence[str]


def states_figure(
    coordinates: FloatArray,
    projection: Projection,
    names: Sequence[str],
    colours: Sequence[Any],
    colour_title: str,
    trajectory: Trajectory | None = None,
    three: bool = False,
    num_zero: int = 0,
) -> go.Figure:
    """Draw the states after prefixes as points along their principal components.

    `coordinates` (n, num_components). `projection`: the principal components, for the titles of the
    axes and the position of the zero vector. `names`: the prefix of each point. `colours`: a number
    for each point, coloured on a continuous scale, or the name of a class. `trajectory`: drawn
    as a line, with a larger point at its end. `three`: whether to draw three components rather than
    two. `num_zero`: how many of the states are the zero vector, which is marked if there are any:
    in the projection it looks like other points.
    """
    names = plain(names)
    draw = _Drawing(coordinates, three)
    if len(colours) and isinstance(colours[0], str):
        traces = draw.classes(names, colours)
    else:
        traces = [draw.scale(names, colours, colour_title)]
    if num_zero:
        traces.append(draw.zero(projection, num_zero))
    if trajectory is not None:
        traces.append(draw.path(trajectory))
    return _with_axes(traces, projection, three, LEGEND | {"title": {"text": colour_title}})


class _Drawing:
    """Makes the traces of states along two or three axes.

    `coordinates` (n, num_components).
    """

    def __init__(self, coordinates: FloatArray, three: bool) -> None:
        self.coordinates = coordinates
        self.three = three
        self.size = 4 if three else 7
        self.lines: Any = go.Scatter3d if three else go.Scatter
        # Scattergl is used only for many points: with it, Plotly's legend shows the last class in
        # the colour of the first.
        is_large = not three and len(coordinates) > MAX_SVG_POINTS
        self.scatter: Any = go.Scattergl if is_large else self.lines

    def axes_of(self, points: FloatArray) -> dict[str, FloatArray]:
        axes = "xyz" if self.three else "xy"
        return {axis: points[:, index] for index, axis in enumerate(axes)}

    def classes(self, names: Sequence[str], colours: Sequence[str]) -> list[Any]:
        """Draw the points of each class in its colour."""
        traces = []
        for name, class_colour in class_colours(colours).items():
            is_in_class = np.array([colour == name for colour in colours])
            trace = self.scatter(
                **self.axes_of(self.coordinates[is_in_class]),
                mode="markers",
                name=escape(name, quote=False),
                text=[text for text, keep in zip(names, is_in_class, strict=True) if keep],
                marker={"size": self.size, "opacity": 0.8, "color": class_colour},
                hovertemplate="%{text}<extra></extra>",
            )
            traces.append(trace)
        return traces

    def scale(self, names: Sequence[str], values: Sequence[float], title: str) -> Any:
        """Draw each point in the colour of its value."""
        return self.scatter(
            **self.axes_of(self.coordinates),
            mode="markers",
            text=names,
            marker={
                "size": self.size,
                "opacity": 0.85,
                "color": list(values),
                "colorscale": "Viridis",
                "colorbar": {"title": {"text": title, "side": "right"}, "thickness": 12},
            },
            hovertemplate="%{text}<extra></extra>",
            showlegend=False,
        )

    def zero(self, projection: Projection, num_zero: int) -> Any:
        """Mark the zero vector, the state of `num_zero` prefixes."""
        origin = projection.coordinates(np.zeros((1, projection.axes.shape[1])))
        return self.scatter(
            **self.axes_of(origin),
            mode="markers",
            name=f"zero vector ({num_zero:,})",
            marker={
                "color": GREY,
                "size": self.size + 15,
                "symbol": "x" if self.three else "x-thin",
                "line": {"color": GREY, "width": 3},
            },
            hovertemplate=f"the zero vector: {num_zero:,} of the prefixes<extra></extra>",
            showlegend=True,
        )

    def path(self, trajectory: Trajectory) -> Any:
        """Draw a path of states as a line, with a larger point at its end."""
        points = trajectory.points
        steps = plain(trajectory.names)
        extent = np.abs(self.coordinates).max(initial=0.0)
        size = self.size if self.three else self.size + 2
        return self.lines(
            **self.axes_of(points),
            mode="lines+markers+text",
            text=_labels(points[:, : 3 if self.three else 2], steps, extent),
            customdata=steps,
            textposition="top center",
            textfont=MONOSPACE | {"size": 14},
            line={"color": MARK, "width": 3},
            marker={
                "color": MARK,
                "size": [size] * (len(points) - 1) + [2 * size],
                "line": {"color": "white", "width": 1},
            },
            showlegend=False,
            hovertemplate="%{customdata}<extra></extra>",
            **({} if self.three else {"cliponaxis": False}),
        )


def _labels(points: FloatArray, names: Sequence[str], extent: float) -> list[str]:
    """Return the text next to each point of a path: the names of all prefixes at that place, next
    to the last of them. On a long path, only the two ends are labelled.
    """
    last = len(points) - 1
    places = np.round(points / (SAME_PLACE * extent or 1.0))
    there: dict[tuple[float, ...], list[int]] = {}
    for step, place in enumerate(places.tolist()):
        if last <= MAX_WRITTEN or step in (0, last):
            there.setdefault(tuple(place), []).append(step)
    labels = [""] * len(points)
    for steps in there.values():
        written = [names[step] for step in steps]
        if len(written) > MOST_NAMES:
            written[1:-1] = ["…"]
        labels[steps[-1]] = ", ".join(written)
    return labels


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
