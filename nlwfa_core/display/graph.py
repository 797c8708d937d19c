"""The graph of a WFA: which transitions are drawn, for Graphviz and as a table. Negative weights
have the warning colour.

The graph of a learned WFA is not unique: replacing each A_σ by M⁻¹ A_σ M (a change of basis) leaves
the weights of all strings the same, but changes the arrows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..metrics.tables import Numbers, Table
from ..models.wfa import WFA
from ..rounding import RELATIVE_ERROR, format_significant
from ..strings.words import Alphabet, FloatArray
from .palette import ACCENT, GREY, MARK

# a graph with more states is not drawn: its lines would hide each other whatever the threshold
MAX_STATES = 15
MAX_READABLE = 18  # transitions in a graph at the threshold that is suggested
MAX_LABELS = 30  # arrows of a graph that can be read with a label at each
SHARE_IN_FILES = 0.02
ACCENT_IN_THE_DARK = "#56B4E9"


@dataclass(frozen=True)
class Edge:
    """Holds the transitions from one state to another that are drawn as one arrow: symbol and
    weight of each, all of one sign.
    """

    source: int
    target: int
    negative: bool
    weights: tuple[tuple[int, float], ...]


def largest_weight(wfa: WFA) -> float:
    """Return the largest |weight| of a transition."""
    return float(np.abs(wfa.transitions).max(initial=0.0))


def edges(wfa: WFA, smallest: float) -> list[Edge]:
    """Group the transitions with |weight| ≥ smallest into one `Edge` for each source, target and
    sign.

    Weights of at most RELATIVE_ERROR times the largest are left out, because they are rounding
    errors.

    >>> wfa = WFA(np.ones(2), np.array([[[0.5, -0.2], [0.0, 0.01]]]), np.ones(2))
    >>> [(edge.source, edge.target, edge.negative, edge.weights) for edge in edges(wfa, 0.1)]
    [(0, 0, False, ((0, 0.5),)), (0, 1, True, ((0, -0.2),))]
    """
    weights_of: dict[tuple[int, int, bool], list[tuple[int, float]]] = {}
    sizes = np.abs(wfa.transitions)
    large = (sizes >= smallest) & (sizes > RELATIVE_ERROR * largest_weight(wfa))
    for symbol, source, target in np.argwhere(large).tolist():
        weight = float(wfa.transitions[symbol, source, target])
        weights_of.setdefault((source, target, weight < 0), []).append((symbol, weight))
    return [Edge(*ends, tuple(weights)) for ends, weights in sorted(weights_of.items())]


def readable_share(wfa: WFA) -> float:
    """Find the smallest threshold, in steps of 5 % of the largest |weight|, that shows at most
    MAX_READABLE transitions.
    """
    sizes = np.abs(wfa.transitions)
    steps = (step / 100 for step in range(0, 95, 5))
    largest = largest_weight(wfa)
    return next(
        (
            share
            for share in steps
            if (sizes >= max(share, RELATIVE_ERROR) * largest).sum() <= MAX_READABLE
        ),
        0.95,
    )


def weights_table(wfa: WFA, alphabet: Alphabet, smallest: float) -> Table:
    """Tabulate the transitions with |weight| ≥ smallest, the largest first, and below them all
    initial and final weights.
    """
    rows = [
        (e.source, e.target, symbol, weight)
        for e in edges(wfa, smallest)
        for symbol, weight in e.weights
    ]
    rows.sort(key=lambda row: -abs(row[3]))
    cells = [
        (f"{i + 1}", alphabet.symbols[symbol], f"{j + 1}", weight) for i, j, symbol, weight in rows
    ]
    cells += [
        ("α₀", "", f"{state + 1}", weight) for state, weight in enumerate(wfa.initial.tolist())
    ]
    cells += [
        (f"{state + 1}", "", "α∞", weight) for state, weight in enumerate(wfa.termination.tolist())
    ]
    starts, symbols, ends, weights = (list(column) for column in zip(*cells, strict=True))
    return {
        "from": starts,
        "symbol": symbols,
        "to": ends,
        "weight": Numbers.written(weights, format_significant),
    }


def dot(
    wfa: WFA,
    symbols: Sequence[str],
    smallest: float | None = None,
    dark: bool = False,
    labels: bool = True,
) -> str:
    """Write the graph for Graphviz: a state is a circle with its number, from 1, and its initial
    and final weight.

    An arrow's label has a line for each symbol, with its weight to three digits. A comment says how
    many weights are left out.

    `smallest`: transitions with a smaller |weight| have no arrow; by default SHARE_IN_FILES of the
    largest. `dark`: whether the graph is for a dark page; its own background is transparent.
    `labels`: whether arrows have labels.

    >>> wfa = WFA(np.array([1.0]), np.array([[[0.5]]]), np.array([0.25]))
    >>> [line.strip() for line in dot(wfa, ["a"], 0.1).splitlines() if "->" in line]
    ['1 -> 1 [label="a  0.5\\\\l", color="#0072B2", penwidth=4, arrowsize=1];']
    """
    ink, paper, accent = inks(dark)
    font = 'fontname="sans-serif", fontsize=12'
    largest = largest_weight(wfa) or 1.0
    smallest = SHARE_IN_FILES * largest if smallest is None else smallest
    arrows = edges(wfa, smallest)
    # From left to right as far as that can be followed; on a circle where each state has arrows to
    # most others.
    layout = (
        "rankdir=LR; nodesep=0.35; ranksep=0.6;"
        if len(arrows) <= MAX_LABELS
        else "layout=circo; mindist=1.2; size=7.5;"
    )
    hidden = int((wfa.transitions != 0).sum()) - sum(len(edge.weights) for edge in arrows)
    lines = [
        "digraph automaton {",
        f'  {layout} bgcolor="transparent";',
        f'  node [shape=circle, margin=0.02, style=filled, fillcolor="{paper}", '
        f'color="{GREY}", fontcolor="{ink}", {font}];',
        f'  edge [fontname="monospace", fontsize=12, fontcolor="{ink}"];',
        *(
            [f"  // {hidden} weights below {format_significant(smallest)} are not drawn"]
            if hidden
            else []
        ),
    ]
    for state, (begins, ends) in enumerate(
        zip(
            without_rounding(wfa.initial).tolist(),
            without_rounding(wfa.termination).tolist(),
            strict=True,
        )
    ):
        lines.append(
            f'  {state + 1} [label="{state + 1}\\nα₀ {format_significant(begins)}\\nα∞ '
            f'{format_significant(ends)}"];'
        )
    for edge in arrows:
        size = max(abs(weight) for _, weight in edge.weights) / largest
        label = "".join(
            f"{quoted(symbols[symbol])}  {format_significant(weight)}\\l"
            for symbol, weight in edge.weights
        )
        colour = f'color="{MARK}", fontcolor="{MARK}"' if edge.negative else f'color="{accent}"'
        text = f'label="{label}", ' if labels else ""
        width = f"penwidth={1 + 3 * size:.3g}, arrowsize={0.6 + 0.4 * size:.3g}"
        lines.append(f"  {edge.source + 1} -> {edge.target + 1} [{text}{colour}, {width}];")
    return "\n".join([*lines, "}", ""])


def inks(dark: bool) -> tuple[str, str, str]:
    """Return the colours of text, its background, and lines, on a light or a dark page."""
    if dark:
        return "#e6e9ee", "#11161d", ACCENT_IN_THE_DARK
    return "#1b2430", "#ffffff", ACCENT


def without_rounding(values: FloatArray) -> FloatArray:
    """Set to 0 the initial or final weights that are only rounding errors."""
    sizes = np.abs(values)
    return np.where(sizes > RELATIVE_ERROR * sizes.max(initial=0.0), values, 0.0)


def quoted(text: str) -> str:
    """Escape text for a label of Graphviz, which reads backslashes and HTML entities.

    >>> print(quoted('a"b') + quoted("<&>"))
    a\\"b<&amp;>
    """
    return visible(text).replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')


def visible(text: str) -> str:
    """Write line breaks and other invisible characters as Python does.

    >>> visible("a\\nb")
    'a\\\\nb'
    """
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
