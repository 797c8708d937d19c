"""What all figures share."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import plotly.graph_objects as go


def plain(texts: Sequence[str]) -> list[str]:
    """A user's strings, so that Plotly shows them as they are: it would take some HTML in labels for markup."""
    return [escape(text, quote=False) for text in texts]


def layout(figure: go.Figure, height: int, **more: Any) -> go.Figure:
    figure.update_layout(height=height, margin={"l": 8, "r": 8, "t": 8, "b": 8}, **more)
    return figure
