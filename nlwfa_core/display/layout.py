"""Place an automaton's graph on a page: states in columns from α₀ to the right, arrows as curves,
labels where there is room.

A state's column is its distance from α₀: the smallest number of arrows on a path to it from a state
in which α₀ is not 0. So a learned automaton for brackets reads from left to right as nothing open,
one open, two open, and so on. If no entry of α₀ is 0, all states share one column, and are drawn on
a circle instead.

Lengths are in pixels of a drawing with its origin at the upper left. A label is placed where it
overlaps no other label, state or curve; if there is no such place, it is drawn only while the
pointer is on its arrow.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import RecipeError
from ..strings.words import FloatArray

RADIUS = 20.0  # of a state's disc
# from centre to centre
COLUMN = 156.0
ROW = 112.0
# from the outermost centres to the edges, or more where arrows need it
LEFT = 66.0
RIGHT = 60.0
TOP = 84.0
BOTTOM = 58.0
# above all arrows: the room for the columns' heads, or without heads and at the other edges
HEADS = 34.0
MARGIN = 6.0
# of a line below a disc
CAPTION_WIDTH = 74.0
CAPTION_HEIGHT = 16.0
# of labels: width of a character, height of a line
LETTER = 7.4
LINE = 16.0
HEAD = 9.0  # length of an arrow's head
MAX_LABELS = 60  # arrows; with more, labels are drawn only under the pointer
SAMPLES = 40  # points of a curve, to see how far it reaches
STEP = 6.0  # between points of a curve, to see what it passes through: less than √2 · 5
_TIMES = (0.5, 0.42, 0.58, 0.34, 0.66, 0.27, 0.73)  # along a curve, where a label may be
_GAPS = (4.0, 10.0, 18.0, 28.0)  # between a curve and a label

Point = tuple[float, float]


@dataclass(frozen=True)
class Arrow:
    """An arrow between two placed states.

    Attributes
    ----------
    source, target : int
    curve : tuple of 4 points
        Control points of a cubic Bézier curve from one disc's edge to the head's base.
    head : tuple of 3 points
        The triangle of the arrow's head.
    label : point
        Centre of the label.
    has_room : bool
        Whether the label overlaps nothing else.
    """

    source: int
    target: int
    curve: tuple[Point, ...]
    head: tuple[Point, ...]
    label: Point
    has_room: bool


@dataclass(frozen=True)
class Layout:
    """A placed graph."""

    places: tuple[Point, ...]  # the centre of each state
    # Where each column is, from the left, with the spare one if there is one. Empty if the states
    # are on a circle.
    columns: tuple[float, ...]
    arrows: tuple[Arrow, ...]  # in the order of `pairs`
    width: float
    height: float


def distances(
    num_states: int, starts: Iterable[int], pairs: Iterable[tuple[int, int]]
) -> list[int | None]:
    """Count the arrows on a shortest path to each state from one of the starts; None if there is no
    path.

    >>> distances(4, [0], [(0, 1), (1, 2), (0, 2), (3, 0)])
    [0, 1, 1, None]
    """
    following: dict[int, list[int]] = {}
    for source, target in pairs:
        following.setdefault(source, []).append(target)
    distance: list[int | None] = [None] * num_states
    queue = deque(sorted(set(starts)))
    for state in queue:
        distance[state] = 0
    while queue:
        state = queue.popleft()
        for target in following.get(state, ()):
            if distance[target] is None:
                distance[target] = (distance[state] or 0) + 1
                queue.append(target)
    return distance


def layered(
    columns: Sequence[int], labels: Mapping[tuple[int, int], Sequence[str]], spare: bool = False
) -> Layout:
    """Place states in their columns, and an arrow with a label for each pair of states in `labels`.

    The states of a column are placed one below the other, in an order that keeps arrows to the
    previous column short. If there are more than two states and only one column, they are placed on
    a circle.

    `columns`: one for each state; 0 is at the left. `labels`: (source, target) -> the lines of the
    arrow's label. `spare`: whether to leave room for one more column at the right, for a state that
    is missing.

    Raises RecipeError if there are no states.
    """
    layout = placed(columns, labels, spare)
    return _with_room(replace(layout, arrows=_arrows(layout.places, labels)), labels)


def placed(
    columns: Sequence[int], pairs: Collection[tuple[int, int]], spare: bool = False
) -> Layout:
    """Place the states of a graph as `layered` does, without arrows.

    >>> placed([0, 1], [(0, 1)]).places
    ((66.0, 84.0), (222.0, 84.0))

    Raises RecipeError if there are no states.
    """
    if not len(columns):
        raise RecipeError("a graph needs at least one state; got none")
    num_columns = max(columns) + 1
    if num_columns == 1 and len(columns) > 2:
        return _on_a_circle(len(columns))
    rows = _rows(columns, pairs)
    members = [
        [state for state in rows if columns[state] == column] for column in range(num_columns)
    ]
    tallest = max(map(len, members))
    height = TOP + (tallest - 1) * ROW + BOTTOM
    places: list[Point] = [(0.0, 0.0)] * len(columns)
    for column, states in enumerate(members):
        for row, state in enumerate(states):
            places[state] = (
                LEFT + column * COLUMN,
                TOP + (row + (tallest - len(states)) / 2) * ROW,
            )
    across = tuple(LEFT + column * COLUMN for column in range(num_columns + spare))
    width = across[-1] + RIGHT
    return Layout(tuple(places), across, (), width, height)


def _on_a_circle(num_states: int) -> Layout:
    radius = max(70.0, 0.19 * ROW * num_states)
    angles = np.pi - 2 * np.pi * np.arange(num_states) / num_states
    centre = (LEFT + 1.5 * radius, TOP + radius)
    places = [
        (centre[0] + 1.5 * radius * float(np.cos(a)), centre[1] - radius * float(np.sin(a)))
        for a in angles
    ]
    return Layout(tuple(places), (), (), 2 * centre[0], TOP + 2 * radius + BOTTOM)


def _with_room(layout: Layout, labels: Mapping[tuple[int, int], Sequence[str]]) -> Layout:
    """Move a graph and enlarge its drawing until every arrow and every label that is always shown
    lies inside.
    """
    points = [
        _point(np.array(arrow.curve), np.linspace(0.0, 1.0, SAMPLES)) for arrow in layout.arrows
    ]
    boxes = zip(layout.arrows, labels.values(), strict=True)
    points += [
        _box(np.array(arrow.label), *label_size(lines)) for arrow, lines in boxes if arrow.has_room
    ]
    if not points:
        return layout
    corners = np.concatenate(points)
    least = np.array([MARGIN, HEADS if layout.columns else MARGIN])
    shift = np.ceil(np.maximum(least - corners.min(axis=0), 0.0))
    width, height = np.ceil(
        np.maximum(np.array([layout.width, layout.height]), corners.max(axis=0) + MARGIN) + shift
    )

    def moved(points: Iterable[Point]) -> tuple[Point, ...]:
        return tuple((x + float(shift[0]), y + float(shift[1])) for x, y in points)

    arrows = tuple(
        replace(
            arrow, curve=moved(arrow.curve), head=moved(arrow.head), label=moved([arrow.label])[0]
        )
        for arrow in layout.arrows
    )
    columns = tuple(x + float(shift[0]) for x in layout.columns)
    return Layout(moved(layout.places), columns, arrows, float(width), float(height))


def _rows(columns: Sequence[int], pairs: Iterable[tuple[int, int]]) -> list[int]:
    """Order states by column, and within a column by the mean row of their neighbours in the column
    before.
    """
    neighbours: dict[int, set[int]] = {}
    for source, target in pairs:
        neighbours.setdefault(source, set()).add(target)
        neighbours.setdefault(target, set()).add(source)
    row: dict[int, float] = {}
    order: list[int] = []
    for column in range(max(columns) + 1):
        states = [state for state, own in enumerate(columns) if own == column]
        means = {}
        for state in states:
            before = [
                row[other] for other in neighbours.get(state, ()) if columns[other] == column - 1
            ]
            means[state] = sum(before) / len(before) if before else 0.0
        states.sort(key=lambda state: (means[state], state))
        row |= {state: number - (len(states) - 1) / 2 for number, state in enumerate(states)}
        order += states
    return order


def _arrows(
    places: Sequence[Point], labels: Mapping[tuple[int, int], Sequence[str]]
) -> tuple[Arrow, ...]:
    middle = np.mean(places, axis=0)
    curves = [
        _curve(np.array(places[i]), np.array(places[j]), (j, i) in labels, middle)
        for i, j in labels
    ]
    trimmed = [
        _trimmed(curve, np.array(places[i]), np.array(places[j]))
        for curve, (i, j) in zip(curves, labels, strict=True)
    ]
    lines = [list(label) for label in labels.values()]
    positions = (
        _label_positions(places, trimmed, lines)
        if len(lines) <= MAX_LABELS
        else [(_point(c, 0.5), False) for c in trimmed]
    )
    return tuple(
        Arrow(i, j, *_drawn(curve), (float(position[0]), float(position[1])), has_room)
        for (i, j), curve, (position, has_room) in zip(labels, trimmed, positions, strict=True)
    )


def _curve(start: FloatArray, end: FloatArray, two_way: bool, middle: FloatArray) -> FloatArray:
    """Compute the control points, shape (4, 2), of a curve between two centres; a loop if they are
    equal.
    """
    if np.array_equal(start, end):
        reach = np.array(
            [[-46.0, -84.0], [46.0, -84.0]]
            if loops_above(start, middle)
            else [[84.0, 46.0], [84.0, -34.0]]
        )
        return np.array([start, start + reach[0], start + reach[1], start])
    straight = end - start
    left = np.array([straight[1], -straight[0]]) * bow(straight, two_way)
    return np.array([start, start + straight / 3 + left, start + 2 * straight / 3 + left, end])


def loops_above(place: FloatArray, middle: FloatArray) -> bool:
    """Return whether a state's loop is drawn above it, away from the other rows; otherwise it is at
    the right, next to the captions.

    `place`, `middle`: the centres of the state and of all states, shape (2,).
    """
    return bool(place[1] <= middle[1] + 1)


def bow(straight: FloatArray, two_way: bool) -> float:
    """Return how far an arrow's control points lie to the left of its straight line, as a share of
    the line's length.

    `straight`: from centre to centre, shape (2,). `two_way`: whether there is an arrow back.
    """
    length = float(np.hypot(*straight))
    far = length > 1.3 * COLUMN or (abs(straight[0]) < 1 and length > 1.3 * ROW)
    return 0.34 if far else 0.17 if two_way else 0.0


def _point(curve: FloatArray, at: float | FloatArray) -> FloatArray:
    """Compute points of a cubic Bézier curve, shape (2,) or (n, 2)."""
    t = np.asarray(at, dtype=float)[..., None]
    point: FloatArray = (
        (1 - t) ** 3 * curve[0]
        + 3 * (1 - t) ** 2 * t * curve[1]
        + 3 * (1 - t) * t**2 * curve[2]
        + t**3 * curve[3]
    )
    return point


def _stepped(curve: FloatArray) -> FloatArray:
    """Compute points of a curve that are at most STEP apart: a curve that enters a box by more than
    2.5 has one of them inside it.
    """
    fastest = 3 * float(np.hypot(*np.diff(curve, axis=0).T).max())
    return _point(curve, np.linspace(0.0, 1.0, 2 + int(fastest / STEP)))


def _trimmed(curve: FloatArray, start: FloatArray, end: FloatArray) -> FloatArray:
    """Cut a curve off at the edges of the discs at its two ends: control points of what is between
    them.
    """
    times = np.linspace(0.0, 1.0, 201)
    points = _point(curve, times)
    outside = (np.hypot(*(points - start).T) > RADIUS + 1) & (
        np.hypot(*(points - end).T) > RADIUS + 2
    )
    first, last = times[np.flatnonzero(outside)[[0, -1]]] if outside.any() else (0.4, 0.6)

    def blossom(a: float, b: float, c: float) -> FloatArray:
        points = curve
        for t in (a, b, c):
            points = (1 - t) * points[:-1] + t * points[1:]
        corner: FloatArray = points[0]
        return corner

    corners = (
        blossom(first, first, first),
        blossom(first, first, last),
        blossom(first, last, last),
        blossom(last, last, last),
    )
    return np.array(corners)


def _drawn(curve: FloatArray) -> tuple[tuple[Point, ...], tuple[Point, ...]]:
    """Make an arrow's line and the triangle of its head."""
    tip = curve[3]
    along = tip - _point(curve, 0.9)
    along = along / (float(np.hypot(*along)) or 1.0)
    base = tip - HEAD * along
    across = np.array([-along[1], along[0]]) * HEAD * 0.5
    line = np.vstack((curve[:2], curve[2] - HEAD * along * 0.6, base))
    return _points(line), _points(np.array([tip, base + across, base - across]))


def _points(points: FloatArray) -> tuple[Point, ...]:
    return tuple((round(float(x), 1), round(float(y), 1)) for x, y in points)


def _label_positions(
    places: Sequence[Point], curves: Sequence[FloatArray], lines: Sequence[Sequence[str]]
) -> list[tuple[FloatArray, bool]]:
    """Choose the centre of each label, and report whether it overlaps nothing else."""
    points = np.concatenate([np.empty((0, 2)), *map(_stepped, curves)])
    below = RADIUS + 4 + CAPTION_HEIGHT
    taken = [_box(np.array(place), 2 * RADIUS + 4, 2 * RADIUS + 4) for place in places]
    taken += [
        _box(np.array(place) + np.array([0.0, below]), CAPTION_WIDTH, 2 * CAPTION_HEIGHT)
        for place in places
    ]
    times, gaps, sides = (grid.ravel() for grid in np.meshgrid(_TIMES, _GAPS, (1.0, -1.0)))
    preference = 0.01 * gaps + 0.1 * np.abs(times - 0.5) + 0.05 * (sides < 0)
    positions = []
    for curve, own in zip(curves, lines, strict=True):
        half = np.array(label_size(own)) / 2
        along = _point(curve, times + 0.01) - _point(curve, times - 0.01)
        normals = (
            np.column_stack((along[:, 1], -along[:, 0]))
            / np.maximum(np.hypot(*along.T), 1e-9)[:, None]
        )
        # (num_candidates, 2)
        centres = (
            _point(curve, times) + (sides * (gaps + np.abs(normals) @ half))[:, None] * normals
        )
        boxes = np.array(taken)
        overlaps = (
            (np.abs(centres[:, None] - boxes.mean(axis=1)) < half + np.ptp(boxes, axis=1) / 2)
            .all(axis=2)
            .sum(axis=1)
        )
        struck = (np.abs(centres[:, None] - points) < half).all(axis=2).sum(axis=1)
        cost = 100.0 * overlaps + struck + preference
        best = int(cost.argmin())
        has_room = bool(cost[best] < 1)
        positions.append((centres[best], has_room))
        if has_room:
            taken.append(_box(centres[best], *(2 * half)))
    return positions


def label_size(lines: Sequence[str]) -> tuple[float, float]:
    """Return the width and height of a label's box."""
    return LETTER * max(map(len, lines), default=0) + 6, LINE * len(lines) + 2


def _box(centre: FloatArray, width: float, height: float) -> FloatArray:
    half = np.array([width, height]) / 2
    return np.array([centre - half, centre + half])
