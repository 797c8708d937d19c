"""Write a linear model as a picture for slides and papers, with TikZ's library `automata`.

States are placed as in the lab's own drawing. An arrow from nowhere into a state has its initial
weight, an arrow out to nowhere its final weight. A deterministic automaton whose weights are all 0
or 1 accepts strings or rejects them: its accepting states are double circles, and no weights are
written.
Source: Tantau, *The TikZ and PGF Packages*, section *Automata Drawing Library*.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..display.graph import SHARE_IN_FILES, edges, largest_weight, visible, without_rounding
from ..display.layout import RADIUS, bow, label_size, loops_above
from ..display.palette import MARK
from ..display.walk import automaton_places
from ..errors import RecipeError, plural
from ..metrics.tables import latex_text
from ..models.wfa import WFA
from ..rounding import format_significant
from ..sources.jflap import is_deterministic
from ..strings.words import FloatArray

PIXELS_PER_CM = 50  # of the lab's drawing, so its columns are 3.1 cm apart
MAX_DRAWN = 500  # states and transitions of a picture
PER_LINE = 8  # symbols without weights in a line of a label
MOST_NAMED = 10  # characters that a comment lists
SIDES = {"right": 0, "above": 90, "left": 180, "below": 270}  # of a state -> degrees
ROOM = 45.0  # enough degrees between two arrows at a state
TIMES = (0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8)  # along an arrow, where its label may be
ALONG = np.linspace(0.05, 0.95, 19)  # points of an arrow that a label should not hide
# from a disc to the label of its loop, and from an arrow to its label
LOOP = 37.0
GAP = 5.0
RED, GREEN, BLUE = bytes.fromhex(MARK.removeprefix("#"))
NEGATIVE = f"negative/.style={{draw={{rgb,255:red,{RED};green,{GREEN};blue,{BLUE}}}}}"

# (source, target) -> symbol and weight of each transition that is drawn
Drawn = Mapping[tuple[int, int], Sequence[tuple[int, float]]]


def tikz(
    wfa: WFA, symbols: Sequence[str], smallest: float | None = None, names: Sequence[str] = ()
) -> str:
    r"""Write the graph as a `tikzpicture`, for a document with `\usetikzlibrary{automata}`.

    Comments above it state what it requires, and how many weights are left out. All symbols between
    two states share an arrow, which has the style `negative` (orange) if one of their weights is
    below 0. Initial and final weights of 0 have no arrow.

    `smallest`: transitions with a smaller |weight| have no arrow; by default SHARE_IN_FILES of the
    largest. `names`: those of the states; by default 1, 2, …

    >>> wfa = WFA(np.array([1.0]), np.array([[[0.5]]]), np.array([0.25]))
    >>> print(tikz(wfa, ["a"]).splitlines()[3])
      \path (q1) edge [loop above] node {\texttt{a} 0.5} (q1);

    Raises RecipeError if there are more than MAX_DRAWN states and transitions to draw, which would
    be too many for TeX.
    """
    smallest = SHARE_IN_FILES * largest_weight(wfa) if smallest is None else smallest
    drawn: dict[tuple[int, int], list[tuple[int, float]]] = {}
    for edge in edges(wfa, smallest):
        ends = edge.source, edge.target
        drawn[ends] = sorted([*drawn.get(ends, []), *edge.weights])
    num_transitions = sum(map(len, drawn.values()))
    if wfa.num_states + num_transitions > MAX_DRAWN:
        raise RecipeError(
            f"A TikZ picture can have at most {MAX_DRAWN} states and transitions; this one would "
            f"have {wfa.num_states + num_transitions:,}."
        )
    parts = (wfa.initial, wfa.transitions, wfa.termination)
    weighted = not (is_deterministic(wfa) and all(np.isin(part, (0, 1)).all() for part in parts))
    names = names or [str(number) for number in range(1, wfa.num_states + 1)]
    places = np.array(automaton_places(wfa))
    lines = _states(wfa, names, places, drawn, weighted) + _arrows(drawn, symbols, places, weighted)
    comments = [r"needs \usepackage{tikz} and \usetikzlibrary{automata}"]
    hidden = int((wfa.transitions != 0).sum()) - num_transitions
    if hidden:
        comments.append(
            f"{plural(hidden, 'weight')} below {format_significant(smallest)} not drawn"
        )
    letters = sorted({letter for letter in "".join(lines) if not letter.isascii()})
    if letters:
        listed = " ".join(letters[:MOST_NAMED]) + " …" * (len(letters) > MOST_NAMED)
        comments.append(f"for {listed}: LuaLaTeX or XeLaTeX, with a font that has them")
    is_negative = any(weight < 0 for own in drawn.values() for _, weight in own)
    style = ", ".join(["->", "auto", r"font=\small", *([NEGATIVE] if is_negative else [])])
    begin = rf"\begin{{tikzpicture}}[{style}]"
    end = r"\end{tikzpicture}"
    return "\n".join([*(f"% {comment}" for comment in comments), begin, *lines, end, ""])


def _states(
    wfa: WFA, names: Sequence[str], places: FloatArray, drawn: Drawn, weighted: bool
) -> list[str]:
    """Write a node for each state.

    `places`: their centres in pixels, shape (num_states, 2), from the upper left. `weighted`:
    whether weights are written.
    """
    lines = []
    across, up = ((places - places.min(axis=0)) / (PIXELS_PER_CM, -PIXELS_PER_CM)).T + 0.0
    initial = without_rounding(wfa.initial).tolist()
    termination = without_rounding(wfa.termination).tolist()
    taken = _angles(drawn, places)
    for state, name in enumerate(names):
        options = ["state"]
        begins = initial[state]
        if begins:
            side = _free_side(taken[state], "left")
            text = _number(begins) if weighted else ""
            options.append(f"initial {side}, initial text={{{text}}}")
        ends = termination[state]
        if ends and weighted:
            side = _free_side(taken[state], "below")
            options.append(f"accepting {side}, accepting text={{{_number(ends)}}}")
        elif ends:
            options.append("accepting")
        at = f"({across[state]:.2f}, {up[state]:.2f})"
        text = latex_text(visible(name))
        lines.append(rf"  \node[{', '.join(options)}] (q{state + 1}) at {at} {{{text}}};")
    return lines


def _angles(drawn: Drawn, places: FloatArray) -> list[list[float]]:
    """Return the angles, in degrees, at which arrows leave and reach each state."""
    angles: list[list[float]] = [[] for _ in places]
    for i, j in drawn:
        if i == j:
            angles[i].append(SIDES["above" if _loops_above(i, places) else "right"])
            continue
        right, down = places[j] - places[i]
        straight = float(np.degrees(np.arctan2(-down, right)))
        bend = _bend(i, j, drawn, places)
        angles[i].append(straight + bend)
        angles[j].append(straight + 180 - bend)
    return angles


def _free_side(taken: list[float], preferred: str) -> str:
    """Choose a state's side with room for one more arrow, and add its angle to those taken."""

    def room(side: str) -> float:
        gaps = (abs((SIDES[side] - angle + 180) % 360 - 180) for angle in taken)
        return min(gaps, default=ROOM)

    side = max((preferred, *SIDES), key=lambda side: min(room(side), ROOM))
    taken.append(SIDES[side])
    return side


def _arrows(drawn: Drawn, symbols: Sequence[str], places: FloatArray, weighted: bool) -> list[str]:
    """Write an edge for each pair of states that has transitions."""
    lines = []
    plain = {
        ends: _texts(weights, symbols, weighted, visible, format_significant)
        for ends, weights in drawn.items()
    }
    times = _label_times(plain, places)
    for i, j in drawn:
        shape = ["negative"] if any(weight < 0 for _, weight in drawn[i, j]) else []
        texts = _texts(drawn[i, j], symbols, weighted, _symbol, _number)
        position = ["align=left"] if len(texts) > 1 else []
        if i == j:
            shape.append("loop above" if _loops_above(i, places) else "loop right")
        elif bend := _bend(i, j, drawn, places):
            shape.append(f"bend left={bend}")
        time = times.get((i, j), TIMES[0])
        if time != TIMES[0]:
            position.append(f"pos={time}")
        edge, node = (f"[{', '.join(options)}] " * bool(options) for options in (shape, position))
        label = r"\\".join(texts)
        lines.append(rf"  \path (q{i + 1}) edge {edge}node {node}{{{label}}} (q{j + 1});")
    return lines


def _label_times(
    labels: Mapping[tuple[int, int], Sequence[str]], places: FloatArray
) -> dict[tuple[int, int], float]:
    """Choose the place of each arrow's label along it, from 0 to 1: where it lies on the fewest
    states, labels and arrows.
    """
    curves = {(i, j): _Curve(places[i], places[j], (j, i) in labels) for i, j in labels if i != j}
    points = np.array([curve.at(time) for curve in curves.values() for time in ALONG]).reshape(
        -1, 2
    )
    boxes = [np.array([place - RADIUS, place + RADIUS]) for place in places]
    for i, lines in ((i, lines) for (i, j), lines in labels.items() if i == j):
        half = np.array(label_size(lines)) / 2
        away = np.array([0.0, -1.0] if _loops_above(i, places) else [1.0, 0.0])
        centre = places[i] + away * (RADIUS + LOOP + half)
        boxes.append(np.array([centre - half, centre + half]))
    times = {}
    for ends, curve in curves.items():
        half = np.array(label_size(labels[ends])) / 2
        candidates = np.array([curve.beside(time, half) for time in TIMES])[:, None]
        low, high = np.array(boxes).transpose(1, 0, 2)
        overlaps = (candidates - half < high) & (candidates + half > low)
        struck = np.abs(candidates - points) < half
        best = int(
            (10 * overlaps.all(axis=2).sum(axis=1) + struck.all(axis=2).sum(axis=1)).argmin()
        )
        times[ends] = TIMES[best]
        boxes.append(np.array([candidates[best, 0] - half, candidates[best, 0] + half]))
    return times


@dataclass(frozen=True, eq=False)
class _Curve:
    """An arrow from state to state: times are from 0 at the first rim to 1 at the other."""

    start: FloatArray  # the centres of the states, shape (2,)
    end: FloatArray
    two_way: bool

    def at(self, time: float) -> FloatArray:
        """Return a point of the curve, shape (2,)."""
        straight, left, rise, share = self._shape(time)
        point: FloatArray = self.start + share * straight + rise * share * (1 - share) * left
        return point

    def beside(self, time: float, half: FloatArray) -> FloatArray:
        """Return the centre of a label of half this width and height, to the left of a point."""
        straight, left, rise, share = self._shape(time)
        along = straight + rise * (1 - 2 * share) * left
        normal = np.array([along[1], -along[0]]) / float(np.hypot(*along))
        return self.at(time) + (GAP + np.abs(normal) @ half) * normal

    def _shape(self, time: float) -> tuple[FloatArray, FloatArray, float, float]:
        """Return the straight line, its left, three times the curve's bow, and the share of the
        line at this time.
        """
        straight = self.end - self.start
        rim = RADIUS / float(np.hypot(*straight))
        left = np.array([straight[1], -straight[0]])
        return straight, left, 3 * bow(straight, self.two_way), rim + time * (1 - 2 * rim)


def _loops_above(state: int, places: FloatArray) -> bool:
    return loops_above(places[state], places.mean(axis=0))


def _bend(source: int, target: int, drawn: Drawn, places: FloatArray) -> int:
    """Return the angle, in degrees, between an arrow's beginning and the straight line, which the
    curve's control points divide into thirds.
    """
    rise = bow(places[target] - places[source], (target, source) in drawn)
    return round(float(np.degrees(np.arctan(3 * rise))))


def _texts(
    weights: Sequence[tuple[int, float]],
    symbols: Sequence[str],
    weighted: bool,
    write: Callable[[str], str],
    write_number: Callable[[float], str],
) -> list[str]:
    """Write the lines of an arrow's label."""
    written = [write(symbols[symbol]) for symbol, _ in weights]
    if weighted:
        numbers = [write_number(weight) for _, weight in weights]
        return [f"{symbol} {number}" for symbol, number in zip(written, numbers, strict=True)]
    return [
        ", ".join(written[start : start + PER_LINE]) + "," * (start + PER_LINE < len(written))
        for start in range(0, len(written), PER_LINE)
    ]


def _symbol(symbol: str) -> str:
    text = latex_text(visible(symbol)).replace(" ", r"\textvisiblespace{}")
    return rf"\texttt{{{text}}}"


def _number(weight: float) -> str:
    return latex_text(format_significant(weight), is_number=True)
