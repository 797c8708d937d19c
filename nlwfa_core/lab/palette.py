"""One visual language for all figures: the colour, dash and marker of each model, and the scales of colours."""

from __future__ import annotations

# Okabe and Ito's palette: told apart by colour-blind people, and on white as on black.
COLOURS = {
    "SP": "#0072B2",
    "fac.non": "#E69F00",
    "tran.non": "#009E73",
    "both.non": "#CC79A7",
    "HMM": "#56B4E9",
    "GRU": "#D55E00",
    "LSTM": "#9467BD",
    "true model": "#8A8A8A",
    "uniform": "#8A8A8A",
    "n-gram": "#8A8A8A",
}
DASHES = {"true model": "solid", "uniform": "dot", "n-gram": "dash", "HMM": "dash", "GRU": "dash", "LSTM": "dash"}
PATTERNS = {"uniform": ".", "n-gram": "/"}  # of bars
MARKERS = {
    "SP": "circle",
    "fac.non": "square",
    "tran.non": "diamond",
    "both.non": "triangle-up",
    "HMM": "x",
    "GRU": "star",
    "LSTM": "cross",
}
CLASSES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
ACCENT, MARK, MUTED = "#0072B2", "#D55E00", "rgba(138,138,138,.45)"
GREY = "#7a8699"  # read on white as on black, and no class's colour
# Sequential scales that begin dark enough to be told from a white page.
BLUES = ("#c6dbef", "#a6cbe6", "#84b8dd", "#63a4d2", "#468dc4", "#2f75b3", "#1f5d9f", "#134789", "#0a3170")
REDS = ("#fcc5b0", "#fca58a", "#fb8767", "#f4674a", "#e44a36", "#cd3027", "#b01c20", "#8f121b", "#6b0a14")
MONOSPACE = {"family": "Source Code Pro, monospace"}  # of strings, so that brackets can be told apart


def kind_of(name: str) -> str:
    """
    >>> kind_of("5-gram"), kind_of("SP")
    ('n-gram', 'SP')
    """
    return "n-gram" if name.endswith("-gram") else name


def colour_of(name: str) -> str:
    return COLOURS.get(kind_of(name), ACCENT)


def scale(colours: tuple[str, ...], reverse: bool = False) -> list[list[object]]:
    """A Plotly colour scale of evenly spaced colours."""
    return [[place / (len(colours) - 1), colour] for place, colour in enumerate(colours[::-1] if reverse else colours)]
