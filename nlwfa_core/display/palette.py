"""Define the colour, dash and marker that each model has in all figures, and the colour scales of
figures.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..strings.words import LAMBDA

# Okabe and Ito's palette: colour-blind people can distinguish its colours, on white and on black.
COLOURS = {
    "SP": "#0072B2",
    "fac.non": "#E69F00",
    "tran.non": "#009E73",
    "both.non": "#CC79A7",
    "HMM": "#56B4E9",
    "PFA": "#8C6D31",
    "PDFA": "#3A7D44",
    "GRU": "#D55E00",
    "LSTM": "#9467BD",
    "true model": "#8A8A8A",
    "uniform": "#8A8A8A",
    "n-gram": "#8A8A8A",
}
LINEAR_LOSS = "SP, same rank"  # the name of SP's line in charts of losses
DASHES = {"true model": "solid", "uniform": "dot"} | dict.fromkeys(
    ("n-gram", "HMM", "PFA", "PDFA", "GRU", "LSTM", LINEAR_LOSS), "dash"
)
PATTERNS = {"uniform": ".", "n-gram": "/"}  # Plotly's fill patterns of bars
MARKERS = {
    "SP": "circle",
    "fac.non": "square",
    "tran.non": "diamond",
    "both.non": "triangle-up",
    "HMM": "x",
    "PFA": "pentagon",
    "PDFA": "hexagon",
    "GRU": "star",
    "LSTM": "cross",
}
OTHERS = "others"  # the class of all prefixes whose own class is too rare to have a colour
GREY_CLASS = "#999999"
EMPTY_WORD = "#009E73"  # the colour of λ where prefixes are coloured by class
CLASSES = ("#0072B2", "#E69F00", EMPTY_WORD, "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", GREY_CLASS)
ACCENT = "#0072B2"
MARK = "#D55E00"
MUTED = "rgba(138,138,138,.45)"
# Answers: green is right. Colour-blind people can tell the two apart, and each has a sign as well.
RIGHT = "#009E73"
WRONG = "#D55E00"
RIGHT_SIGN = "✓"
WRONG_SIGN = "✗"
GREY = "#7a8699"  # is readable on white and on black, and is not the colour of any class
# Sequential scales whose first colours are dark enough to be visible on a white page.
BLUES = (
    "#c6dbef",
    "#a6cbe6",
    "#84b8dd",
    "#63a4d2",
    "#468dc4",
    "#2f75b3",
    "#1f5d9f",
    "#134789",
    "#0a3170",
)
REDS = (
    "#fcc5b0",
    "#fca58a",
    "#fb8767",
    "#f4674a",
    "#e44a36",
    "#cd3027",
    "#b01c20",
    "#8f121b",
    "#6b0a14",
)
# for strings, so brackets are easy to distinguish
MONOSPACE = {"family": "Source Code Pro, monospace"}


def kind_of(name: str) -> str:
    """Return the name under which a model's colour, dash and marker are listed here.

    >>> kind_of("5-gram"), kind_of("SP")
    ('n-gram', 'SP')
    """
    return "n-gram" if name.endswith("-gram") else name


def colour_of(name: str) -> str:
    """Return the colour of a model, or the accent colour for an unknown name."""
    return COLOURS.get(kind_of(name), ACCENT)


def class_colours(names: Iterable[str]) -> dict[str, str]:
    """Assign a colour to each class of prefixes: class -> colour, in the order of a legend.

    λ comes first and "others" last; these two have the same colours in every figure.

    >>> class_colours(["others", "b", "λ", "a", "b"])
    {'λ': '#009E73', 'a': '#0072B2', 'b': '#E69F00', 'others': '#999999'}
    """
    classes = set(names)
    fixed = {
        name: colour
        for name, colour in ((LAMBDA, EMPTY_WORD), (OTHERS, GREY_CLASS))
        if name in classes
    }
    free = [colour for colour in CLASSES if colour not in fixed.values()]
    rest = sorted(classes - set(fixed))
    colours = fixed | {name: free[number % len(free)] for number, name in enumerate(rest)}
    return {
        name: colours[name]
        for name in sorted(classes, key=lambda name: (name == OTHERS, name != LAMBDA, name))
    }


def scale(colours: tuple[str, ...], reverse: bool = False) -> list[list[object]]:
    """Make a Plotly colour scale of evenly spaced colours."""
    return [
        [index / (len(colours) - 1), colour]
        for index, colour in enumerate(colours[::-1] if reverse else colours)
    ]
