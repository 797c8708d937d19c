"""A WFA as a graph: which arrows are there, and what the figure says of them."""

from __future__ import annotations

import re

import numpy as np
import pytest

from nlwfa_core.display.graph import (
    MAX_READABLE,
    MAX_STATES,
    dot,
    edges,
    largest_weight,
    readable_share,
    weights_table,
)
from nlwfa_core.display.palette import MARK
from nlwfa_core.models.wfa import WFA
from nlwfa_core.strings.words import Alphabet
from tests.references import BINARY

AB = Alphabet(("a", "b"))


def random_wfa(k: int) -> WFA:
    rng = np.random.default_rng(k)
    return WFA(rng.normal(size=k), rng.normal(size=(2, k, k)), rng.normal(size=k))


def test_edges_hold_every_weight_above_the_threshold_once() -> None:
    wfa = random_wfa(4)
    for smallest in (0.0, 0.5, 1.0):
        found = {(s, e.source, e.target): w for e in edges(wfa, smallest) for s, w in e.weights}
        assert found == {
            tuple(place): wfa.transitions[tuple(place)]
            for place in np.argwhere(np.abs(wfa.transitions) >= smallest)
        }
        assert all(
            (weight < 0) == edge.negative
            for edge in edges(wfa, smallest)
            for _, weight in edge.weights
        )


def test_the_automaton_of_binary_numbers() -> None:
    assert {(e.source, e.target): e.weights for e in edges(BINARY.wfa, 0.0)} == {
        (0, 0): ((0, 1.0), (1, 1.0)),
        (0, 1): ((1, 1.0),),
        (1, 1): ((0, 2.0), (1, 2.0)),
    }
    table = weights_table(BINARY.wfa, AB, 1.5)
    assert table["symbol"][:2] == ["a", "b"] and table["weight"].texts == (
        "2",
        "2",
        "1",
        "0",
        "0",
        "1",
    )


def test_rounding_is_never_an_arrow() -> None:
    wfa = WFA(np.ones(2), np.array([[[0.5, -1e-16], [0.0, 1e-17]]]), np.ones(2))
    assert len(edges(wfa, 0.0)) == 1 and readable_share(wfa) == 0


@pytest.mark.parametrize("k", [1, 2, 5, MAX_STATES])
def test_the_usual_threshold_leaves_a_graph_that_can_be_read(k: int) -> None:
    wfa = random_wfa(k)
    shown = edges(wfa, readable_share(wfa) * largest_weight(wfa))
    assert 0 < sum(len(edge.weights) for edge in shown) <= MAX_READABLE
    arrows = [
        line
        for line in dot(wfa, AB.symbols, readable_share(wfa) * largest_weight(wfa)).splitlines()
        if "->" in line
    ]
    assert len(arrows) == len(shown)
    assert [MARK in arrow for arrow in arrows] == [edge.negative for edge in shown]
    ends = [tuple(int(state) for state in re.findall(r"\d+", arrow)[:2]) for arrow in arrows]
    assert ends == [(edge.source + 1, edge.target + 1) for edge in shown]  # as the page counts them


def test_a_graph_of_zeros_is_drawn() -> None:
    zeros = WFA(np.zeros(2), np.zeros((2, 2, 2)), np.zeros(2))
    assert not edges(zeros, 0.0) and "->" not in dot(zeros, AB.symbols, 0.0)


def test_symbols_are_shown_as_written() -> None:
    assert "<b>  1\\l&amp;  1\\l" in dot(BINARY.wfa, ("<b>", "&"), 0.0)


def test_rounding_is_no_weight_of_a_state() -> None:
    text = dot(WFA(np.array([1.0, 6.55e-16]), np.zeros((1, 2, 2)), np.array([-1e-17, 0.5])), ("a",))
    assert "α₀ 1\\nα∞ 0" in text and "α₀ 0\\nα∞ 0.5" in text and "e-" not in text
