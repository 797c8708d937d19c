"""Draw with Plotly and ECharts: one function for each figure, which takes arrays and names and
returns a figure.

- `bars`: counts, next-symbol probabilities.
- `score_curves`: scores against the rank or the number of strings, or as bars.
- `error_curve`: the error of learned weights against the number of strings.
- `parallel`: one line for each run.
- `state_points`: states as points, a string's path through them.
- `confusion`: the labels that strings got.
- `live`: curves and points that move during training, as ECharts options.

This file has functions that all of them use. Colours, dashes and markers are in
`display.palette`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ...errors import check_extra

if TYPE_CHECKING:
    import plotly.graph_objects as go

check_extra("lab", "plotly")

AXIS: dict[str, Any] = {"exponentformat": "power", "separatethousands": True}
NO_MORE: Mapping[str, Any] = MappingProxyType({})


def plain(texts: Sequence[str]) -> list[str]:
    """Escape a user's strings, because Plotly interprets some HTML in labels."""
    return [escape(text, quote=False) for text in texts]


def layout(
    height: int,
    xaxis: Mapping[str, Any] = NO_MORE,
    yaxis: Mapping[str, Any] = NO_MORE,
    **more: Any,
) -> dict[str, Any]:
    """Make a figure's layout from its height in pixels, narrow margins, and any other settings.

    Axes write tiny and huge numbers with a power of ten, like the text of the page. Make a figure
    from its traces and its layout at once: updating it takes Plotly ten times as long.
    """
    return {
        "height": height,
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "xaxis": {**AXIS, **xaxis},
        "yaxis": {**AXIS, **yaxis},
        **more,
    }


def for_a_wall(figure: go.Figure, letters: int = 24) -> go.Figure:
    """Enlarge a figure's text to a size in pixels, and its height 1.6 times, for a projector.
    Changes the figure and returns it.
    """
    figure.update_layout(
        height=1.6 * (figure.layout.height or 400),
        font_size=letters,
        legend_font_size=letters,
        hoverlabel_font_size=letters,
    )
    figure.update_xaxes(tickfont_size=letters, title_font_size=letters, automargin=True)
    figure.update_yaxes(tickfont_size=letters, title_font_size=letters, automargin=True)
    figure.update_annotations(font_size=letters)
    figure.update_traces(textfont_size=letters, selector=lambda trace: "textfont" in trace)
    return figure
