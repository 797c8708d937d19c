"""Graphs on a page: columns by distance, labels that lie on nothing, arrows from disc to disc."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core.display.layout import (
    COLUMN,
    HEADS,
    LEFT,
    RADIUS,
    Arrow,
    Layout,
    distances,
    label_size,
    layered,
)
from nlwfa_core.errors import RecipeError

CHAIN = {(0, 1): ["[ 0.5"], (1, 0): ["] 0.5"], (1, 2): ["[ 0.5"], (2, 1): ["] 0.5"]}


def boxes(
    layout: Layout, labels: dict[tuple[int, int], list[str]]
) -> list[tuple[float, float, float, float]]:
    """Left, top, right and bottom of the labels that are always drawn."""
    found = []
    for arrow in layout.arrows:
        width, height = label_size(labels[arrow.source, arrow.target])
        (x, y) = arrow.label
        if arrow.has_room:
            found.append((x - width / 2, y - height / 2, x + width / 2, y + height / 2))
    return found


def on_curve(arrow: Arrow) -> np.ndarray:
    """Points of an arrow's curve by de Casteljau's construction."""
    points = []
    for t in np.linspace(0, 1, 200):
        corners = np.array(arrow.curve)
        while len(corners) > 1:
            corners = (1 - t) * corners[:-1] + t * corners[1:]
        points.append(corners[0])
    return np.array(points)


def check_labels(layout: Layout, labels: dict[tuple[int, int], list[str]]) -> None:
    """No label lies on another, on a disc or, but for its edge, on a curve."""
    own = boxes(layout, labels)
    for number, (left, top, right, bottom) in enumerate(own):
        for other in own[:number]:
            assert (
                right <= other[0] + 0.2
                or other[2] <= left + 0.2
                or bottom <= other[1] + 0.2
                or other[3] <= top + 0.2
            )
        for x, y in layout.places:
            nearest = np.clip(x, left, right) - x, np.clip(y, top, bottom) - y
            assert np.hypot(*nearest) > RADIUS
        for arrow in layout.arrows:
            x, y = on_curve(arrow).T
            assert not (
                (x > left + 2.5) & (x < right - 2.5) & (y > top + 2.5) & (y < bottom - 2.5)
            ).any()


def test_distances_are_those_of_the_shortest_paths() -> None:
    assert distances(5, [0], [(0, 1), (1, 2), (2, 0), (0, 3), (3, 2)]) == [0, 1, 2, 1, None]
    assert distances(3, [2, 1], [(2, 0)]) == [1, 0, 0]
    assert distances(2, [], [(0, 1)]) == [None, None]


def test_a_chain_reads_from_left_to_right() -> None:
    layout = layered([0, 1, 2], CHAIN, spare=True)
    assert [x for x, _ in layout.places] == [LEFT, LEFT + COLUMN, LEFT + 2 * COLUMN]
    assert len({y for _, y in layout.places}) == 1
    assert layout.columns == (LEFT, LEFT + COLUMN, LEFT + 2 * COLUMN, LEFT + 3 * COLUMN)
    assert [(arrow.source, arrow.target) for arrow in layout.arrows] == list(CHAIN)
    assert all(arrow.has_room for arrow in layout.arrows)
    check_labels(layout, CHAIN)
    for arrow in layout.arrows:
        start = np.array(arrow.curve[0])
        tip = np.array(arrow.head[0])
        assert np.hypot(*(start - layout.places[arrow.source])) == pytest.approx(RADIUS, abs=3)
        assert np.hypot(*(tip - layout.places[arrow.target])) == pytest.approx(RADIUS, abs=4)


def test_states_of_one_column_stand_below_each_other_beside_their_neighbours() -> None:
    labels = {(0, 1): ["a 1"], (0, 2): ["b 1"], (1, 4): ["a 1"], (2, 3): ["a 1"]}
    layout = layered([0, 1, 1, 2, 2], labels)
    place = layout.places
    assert place[1][0] == place[2][0] and place[1][1] < place[0][1] < place[2][1]
    assert place[4][1] < place[3][1]  # no crossing, though state 3 has the smaller number
    assert layout.columns == tuple(sorted({x for x, _ in place}))
    check_labels(layout, labels)


def test_states_without_an_order_are_on_a_circle() -> None:
    labels = {(i, j): [f"{i}{j}"] for i in range(4) for j in range(4)}
    layout = layered([0, 0, 0, 0], labels)
    assert layout.columns == () and len(set(layout.places)) == 4
    check_labels(layout, labels)
    assert all(0 < x < layout.width and 0 < y < layout.height for x, y in layout.places)


def test_a_graph_without_states_is_refused() -> None:
    with pytest.raises(RecipeError, match="at least one state"):
        layered([], {})


def test_a_narrow_label_is_not_placed_on_a_long_arrow() -> None:
    labels = {(0, 0): ["0"], (0, 1): ["0"], (0, 2): ["0"], (0, 5): ["0", "0"]}
    check_labels(layered([3, 0, 0, 1, 3, 2], labels), labels)


@given(st.data())
def test_labels_lie_on_nothing_in_any_graph(data: st.DataObject) -> None:
    columns = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=7))
    columns = [sorted(set(columns)).index(column) for column in columns]
    states = st.integers(0, len(columns) - 1)
    pairs = data.draw(st.lists(st.tuples(states, states), unique=True, max_size=14))
    labels = {
        pair: data.draw(st.lists(st.text("ab[]0.", min_size=1, max_size=8), min_size=1, max_size=3))
        for pair in pairs
    }
    layout = layered(columns, labels)
    assert all(0 < x < layout.width and 0 < y < layout.height for x, y in layout.places)
    top = HEADS if layout.columns else 0
    for arrow in layout.arrows:
        x, y = on_curve(arrow).T
        assert (
            x.min() >= 0
            and x.max() <= layout.width
            and y.min() >= top - 0.1
            and y.max() <= layout.height
        )
    for left, high, right, low in boxes(layout, labels):
        assert left >= 0 and right <= layout.width and high >= top - 0.1 and low <= layout.height
    check_labels(layout, labels)
