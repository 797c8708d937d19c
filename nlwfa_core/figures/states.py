"""States in the space of their principal components."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ..palette import CLASSES, MARK, MONOSPACE
from ..views import Projection
from ..words import FloatArray
from .parts import layout, plain


def states_figure(
    coordinates: FloatArray,
    projection: Projection,
    names: Sequence[str],
    colours: Sequence[Any],
    colour_title: str,
    trajectory: tuple[FloatArray, Sequence[str]] | None = None,
    three: bool = False,
) -> go.Figure:
    """States of prefixes along their principal components; numbers colour on a scale, strings as classes.

    Parameters
    ----------
    coordinates : array, shape (n, num_components)
    trajectory : (array, shape (steps, num_components), names), optional
        One string's states, joined by a line.
    """
    names = plain(names)
    figure = go.Figure()
    scatter: Any = go.Scatter3d if three else go.Scattergl
    size = 4 if three else 7

    def axes_of(points: FloatArray) -> dict[str, FloatArray]:
        return {axis: points[:, index] for index, axis in enumerate("xyz" if three else "xy")}

    if len(colours) and isinstance(colours[0], str):
        classes = sorted(set(colours), key=lambda name: (-list(colours).count(name), name))
        for number, name in enumerate(classes):
            chosen = np.array([colour == name for colour in colours])
            figure.add_trace(
                scatter(
                    **axes_of(coordinates[chosen]),
                    mode="markers",
                    name=escape(name, quote=False),
                    text=[text for text, keep in zip(names, chosen, strict=True) if keep],
                    marker={"size": size, "opacity": 0.8, "color": CLASSES[number % len(CLASSES)]},
                    hovertemplate="%{text}<extra></extra>",
                )
            )
    else:
        figure.add_trace(
            scatter(
                **axes_of(coordinates),
                mode="markers",
                text=names,
                marker={
                    "size": size,
                    "opacity": 0.85,
                    "color": list(colours),
                    "colorscale": "Viridis",
                    "colorbar": {"title": colour_title, "thickness": 12},
                },
                hovertemplate="%{text}<extra></extra>",
                showlegend=False,
            )
        )
    if trajectory is not None:
        points, steps = trajectory
        figure.add_trace(
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
    titles = [f"component {index + 1} ({share:.0%} of the variance)" for index, share in enumerate(projection.explained)]
    if three:
        figure.update_layout(scene={f"{axis}axis": {"title": title} for axis, title in zip("xyz", titles, strict=True)})
    else:
        figure.update_xaxes(title=titles[0], zeroline=True)
        figure.update_yaxes(title=titles[1], zeroline=True)
    return layout(figure, 560, legend={"title": colour_title, "itemsizing": "constant"})
