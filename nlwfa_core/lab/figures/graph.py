"""Draw a WFA as a graph: states on a circle, an arrow for each weight that is large enough, negative weights in the warning colour.

The graph of a learned WFA is not unique: replacing each A_σ by M⁻¹ A_σ M (a change of basis) leaves the weights of all strings the
same, but changes the arrows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import plotly.graph_objects as go

from ...metrics.tables import Numbers, Table, format_significant
from ...models.wfa import WFA
from ...strings.words import Alphabet, FloatArray
from ..palette import ACCENT, GREY, MARK, MONOSPACE
from . import layout

MAX_STATES = 15  # a graph with more states is not drawn: its lines would hide each other whatever the threshold
ROUNDING = 1e-12  # weights below this share of the largest are never drawn
MAX_READABLE = 18  # transitions in a graph at the threshold that is suggested
MAX_LABELS = 30
NODE_PIXELS = 34
BEND, LOOP = 0.13, 0.27
ACCENT_IN_THE_DARK = "#56B4E9"
SIDES = {
    (x, y): f"{('bottom', 'middle', 'top')[y]} {('left', 'center', 'right')[x]}" for x in range(3) for y in range(3)
}  # on which side of a point its text is, by the signs of x and y


@dataclass(frozen=True)
class Edge:
    """Holds the transitions from one state to another that are drawn as one arrow: symbol and weight of each, all of one sign."""

    source: int
    target: int
    negative: bool
    weights: tuple[tuple[int, float], ...]


def largest_weight(wfa: WFA) -> float:
    """Return the largest |weight| of a transition."""
    return float(np.abs(wfa.transitions).max(initial=0.0))


def edges(wfa: WFA, smallest: float) -> list[Edge]:
    """Group the transitions with |weight| ≥ smallest into one `Edge` for each source, target and sign.

    Weights of at most ROUNDING times the largest are left out, because they are rounding errors.

    >>> wfa = WFA(np.ones(2), np.array([[[0.5, -0.2], [0.0, 0.01]]]), np.ones(2))
    >>> [(edge.source, edge.target, edge.negative, edge.weights) for edge in edges(wfa, 0.1)]
    [(0, 0, False, ((0, 0.5),)), (0, 1, True, ((0, -0.2),))]
    """
    weights_of: dict[tuple[int, int, bool], list[tuple[int, float]]] = {}
    sizes = np.abs(wfa.transitions)
    large = (sizes >= smallest) & (sizes > ROUNDING * largest_weight(wfa))
    for symbol, source, target in np.argwhere(large).tolist():
        weight = float(wfa.transitions[symbol, source, target])
        weights_of.setdefault((source, target, weight < 0), []).append((symbol, weight))
    return [Edge(*ends, tuple(weights)) for ends, weights in sorted(weights_of.items())]


def readable_share(wfa: WFA) -> float:
    """Find the smallest threshold, in steps of 5 % of the largest |weight|, that shows at most MAX_READABLE transitions."""
    sizes = np.abs(wfa.transitions)
    steps = (step / 100 for step in range(0, 95, 5))
    largest = largest_weight(wfa)
    return next((share for share in steps if (sizes >= max(share, ROUNDING) * largest).sum() <= MAX_READABLE), 0.95)


def weights_table(wfa: WFA, alphabet: Alphabet, smallest: float) -> Table:
    """Tabulate the transitions with |weight| ≥ smallest, the largest first, and below them all initial and final weights."""
    rows = [(e.source, e.target, symbol, weight) for e in edges(wfa, smallest) for symbol, weight in e.weights]
    rows.sort(key=lambda row: -abs(row[3]))
    cells = [(f"{i + 1}", alphabet.symbols[symbol], f"{j + 1}", weight) for i, j, symbol, weight in rows]
    cells += [("α₀", "", f"{state + 1}", weight) for state, weight in enumerate(wfa.initial.tolist())]
    cells += [(f"{state + 1}", "", "α∞", weight) for state, weight in enumerate(wfa.termination.tolist())]
    starts, symbols, ends, weights = (list(column) for column in zip(*cells, strict=True))
    return {"from": starts, "symbol": symbols, "to": ends, "weight": Numbers.written(weights, format_significant)}


def graph_figure(wfa: WFA, symbols: Sequence[str], smallest: float, dark: bool = False, digits: int = 2) -> go.Figure:
    """Draw the transitions with |weight| ≥ smallest, and beside each state its initial and its final weight.

    Up to MAX_LABELS arrows have labels with symbols and weights; with more arrows, labels appear only on hover.
    """
    arrows = edges(wfa, smallest)
    largest = largest_weight(wfa) or 1.0
    angles = np.pi / 2 - 2 * np.pi * np.arange(wfa.num_states) / wfa.num_states
    positions = np.column_stack((np.cos(angles), np.sin(angles))) * (wfa.num_states > 1)
    figure = go.Figure()
    middles, texts, colours = [], [], []
    for edge in arrows:
        curve = _curve(edge, positions)
        colour = MARK if edge.negative else (ACCENT_IN_THE_DARK if dark else ACCENT)
        width = 1.0 + 3.0 * max(abs(weight) for _, weight in edge.weights) / largest
        figure.add_trace(
            go.Scatter(
                x=curve[:, 0],
                y=curve[:, 1],
                mode="lines+markers",
                line={"color": colour, "width": width},
                opacity=0.75,
                marker={
                    "symbol": "arrow",
                    "angleref": "previous",
                    "size": [0] * (len(curve) - 1) + [11 + width],
                    "standoff": [0] * (len(curve) - 1) + [NODE_PIXELS / 2],
                    "color": colour,
                },
                hoverinfo="skip",
            )
        )
        middles.append(_label_position(curve, len(edge.weights)))
        texts.append("<br>".join(f"{escape(symbols[symbol], quote=False)}: {weight:.{digits}g}" for symbol, weight in edge.weights))
        colours.append(colour)
    if arrows:
        x, y = np.array(middles).T
        figure.add_trace(
            go.Scatter(
                x=x,
                y=y,
                mode="markers+text" if len(arrows) <= MAX_LABELS else "markers",
                text=texts,
                textfont=MONOSPACE | {"size": 12, "color": colours},
                marker={"size": 18, "color": "rgba(0,0,0,0)"},
                cliponaxis=False,
                customdata=[f"{edge.source + 1} → {edge.target + 1}" for edge in arrows],
                hovertemplate="%{customdata}<br>%{text}<extra></extra>",
            )
        )
    _add_states(figure, wfa, positions, digits)
    figure.update_xaxes(visible=False, range=[-1.65, 1.65], constrain="domain")
    figure.update_yaxes(visible=False, range=[-1.6, 1.6], scaleanchor="x", constrain="domain")
    return layout(figure, 560, showlegend=False, hovermode="closest")


def _add_states(figure: go.Figure, wfa: WFA, positions: FloatArray, digits: int) -> None:
    figure.add_trace(
        go.Scatter(
            x=positions[:, 0],
            y=positions[:, 1],
            mode="markers+text",
            text=[str(state + 1) for state in range(wfa.num_states)],
            textfont={"color": "white", "size": 14},
            marker={"size": NODE_PIXELS, "color": "#44546a", "line": {"color": "white", "width": 1.5}},
            customdata=np.column_stack((wfa.initial, wfa.termination)),
            hovertemplate="state %{text}<br>α₀ %{customdata[0]:.6g}<br>α∞ %{customdata[1]:.6g}<extra></extra>",
        )
    )
    outwards = positions if wfa.num_states > 1 else np.array([[0.0, -1.0]])
    figure.add_trace(
        go.Scatter(
            x=positions[:, 0] + 0.2 * outwards[:, 0],
            y=positions[:, 1] + 0.2 * outwards[:, 1],
            mode="text",
            text=[
                f"{_weight('α₀', first, wfa.initial, digits)}<br>{_weight('α∞', last, wfa.termination, digits)}"
                for first, last in zip(wfa.initial.tolist(), wfa.termination.tolist(), strict=True)
            ],
            textposition=[SIDES[round(float(x)) + 1, round(float(y)) + 1] for x, y in 1.3 * outwards],
            textfont={"size": 12, "color": GREY},
            hoverinfo="skip",
            cliponaxis=False,
        )
    )


def _weight(name: str, value: float, values: FloatArray, digits: int) -> str:
    """Write one of a state's weights: in the warning colour below 0, and ≈ 0 if it is a rounding error."""
    if 0 < abs(value) < ROUNDING * float(np.abs(values).max()):
        return f"{name} ≈ 0"
    text = f"{name} {value:.{digits}g}"
    return f'<span style="color:{MARK}">{text}</span>' if value < 0 else text


TURN = np.array([[0.57, 0.82], [-0.82, 0.57]])  # 55° clockwise


def _curve(edge: Edge, positions: FloatArray) -> FloatArray:
    """Compute an arrow as a curve, shape (n, 2). It bends to the left, more if its weights are negative; loops point outwards."""
    t = np.linspace(0.0, 1.0, 41)[:, None]
    start, end = positions[edge.source], positions[edge.target]
    if edge.source == edge.target:
        length = float(np.hypot(*start))
        outwards = start / length if length else np.array([0.0, 1.0])
        rotation = TURN.T if edge.negative else TURN
        along = rotation @ outwards * 2 * LOOP
        across = np.array([-along[1], along[0]])
        loop: FloatArray = start + along * np.sin(np.pi * t) + 0.45 * across * np.sin(2 * np.pi * t)
        return loop
    straight = end - start
    bow = np.array([-straight[1], straight[0]]) * (2.2 if edge.negative else 1.0) * BEND
    curve: FloatArray = start + straight * t + bow * (4 * t * (1 - t))
    return curve


def _label_position(curve: FloatArray, lines: int) -> FloatArray:
    """Compute the position of an arrow's label: outside the curve, further out the more lines it has."""
    middle = curve[len(curve) // 2]
    out = middle - (curve[0] + curve[-1]) / 2
    position: FloatArray = middle + out / (float(np.hypot(*out)) or 1.0) * (0.06 + 0.035 * lines)
    return position
