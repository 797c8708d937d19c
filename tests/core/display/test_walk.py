"""A string's walk: the chain of brackets, missing arrows, groups of states, weights of strings that
go deeper.
"""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest

from nlwfa_core import WFA, Alphabet, Recipe, RecipeError, Words, fit, select_basis
from nlwfa_core.display import walk
from nlwfa_core.experiment.datasets import Data, load_data
from nlwfa_core.hankel.estimate import build_hankel
from nlwfa_core.hankel.matrix import HankelMatrix
from nlwfa_core.sources.dyck import ALPHABET

RECIPE = Recipe()
DEEP = (0, 0, 1, 1)  # [[]]


@cache
def brackets() -> tuple[Data, HankelMatrix]:
    data = load_data(RECIPE.data.changed(num_strings=2000))
    return data, build_hankel(data.train, RECIPE.hankel.changed(num_prefixes=100, num_suffixes=100))


@cache
def graphs() -> list[walk.Graph]:
    data, hankel = brackets()
    return walk.spectral_graphs(hankel, data.alphabet, 8)


def names_at(graph: walk.Graph, step: dict) -> set[str]:
    """The names of the columns in which a step's state is not 0."""
    columns = {column["x"]: column["name"] for column in graph.view["columns"]}
    return {columns[graph.view["nodes"][node]["x"]] for node in step["nodes"]}


def test_a_counter_by_hand() -> None:
    """Two states count one open bracket: f([]) = 0.5 · 1 · 0.25, and nothing is deeper."""
    counter = WFA([0, 0.5], [[[0, 0], [1, 0]], [[1e-18, 0.25], [0, 0]]], [0, 1], ALPHABET)
    graph = walk.automaton_graph(counter, ALPHABET, "counter")
    assert [column["name"] for column in graph.view["columns"]] == [
        "nothing open",
        "one open",
        "two open",
    ]
    # and none for 1e-18
    assert [arrow["ends"] for arrow in graph.view["arrows"]] == [[1, 0], [0, 1]]
    assert [arrow["lines"] for arrow in graph.view["arrows"]] == [[("[", "1")], [("]", "0.25")]]
    assert [node["caption"] for node in graph.view["nodes"]] == [[], ["α₀ 0.5", "α∞ 1"]]
    trip = walk.walk_payload(graph, DEEP)
    assert [step["state"] for step in trip["steps"]] == [[0, 0.5], [0.5, 0], [0, 0], [0, 0], [0, 0]]
    assert [step["nodes"] for step in trip["steps"]] == [[1], [0], [], [], []]
    assert trip["steps"][2]["at"] is None and trip["weight"] == 0
    assert walk.walk_payload(graph, (0, 1))["weight"] == 0.125


def test_rank_3_has_no_arrow_for_a_second_bracket_and_rank_5_has() -> None:
    three = graphs()[2]
    five = graphs()[4]
    assert [column["name"] for column in three.view["columns"]] == [
        "nothing open",
        "one open",
        "two open",
    ]
    steps = walk.walk_payload(three, DEEP)["steps"]
    assert [names_at(three, step) for step in steps] == [
        {"nothing open"},
        {"one open"},
        set(),
        set(),
        set(),
    ]
    assert steps[2]["state"] == [0, 0, 0]
    steps = walk.walk_payload(five, DEEP)["steps"]
    where = [{"nothing open"}, {"one open"}, {"two open"}, {"one open"}, {"nothing open"}]
    assert [names_at(five, step) for step in steps] == where


def test_each_rank_reaches_as_deep_as_its_chain() -> None:
    data, _ = brackets()
    words = walk.ladder_words(data)
    assert [data.alphabet.decode(word) for word in words][:3] == ["[]", "[[]]", "[[[]]]"] and len(
        words
    ) == 8
    for graph in graphs()[1:]:
        deepest = len(graph.view["columns"]) - 2
        ladder = walk.drawing_payload(graph, words)["ladder"]
        assert [value != 0 for value in ladder] == [depth <= deepest for depth in range(1, 9)]
        assert ladder == pytest.approx(graph.model.weights(words).tolist(), rel=1e-6)
    assert walk.ladder_payload(data)["truth"][:2] == pytest.approx([0.4, 0.16])


def test_rank_1_starts_nowhere() -> None:
    steps = walk.walk_payload(graphs()[0], DEEP)["steps"]
    assert all(step["at"] is None and step["state"] == [0] for step in steps)


def test_other_languages_have_their_frequent_strings_and_no_brackets() -> None:
    data = load_data(RECIPE.data.changed(source="tomita", grammar=6, num_strings=500))
    hankel = build_hankel(data.train, RECIPE.hankel.changed(num_prefixes=40, num_suffixes=40))
    graph = walk.spectral_graphs(hankel, data.alphabet, 3)[-1]
    assert [column["name"] for column in graph.view["columns"]] == ["start", "1 symbol on"]
    lengths = [len(word) for word in walk.ladder_words(data)]
    assert lengths == sorted(set(lengths)) and len(lengths) == 8
    frequencies = dict(zip(data.train.words, data.train.frequencies(), strict=True))
    for word in walk.ladder_words(data):
        assert frequencies[word] == max(
            share for other, share in frequencies.items() if len(other) == len(word)
        )


def test_entries_that_are_transformed_make_no_graph_of_k_states() -> None:
    data, _ = brackets()
    assert (
        walk.spectral_graphs(
            build_hankel(data.train, RECIPE.hankel.changed(transform="sqrt")), data.alphabet
        )
        == []
    )


def test_groups_are_those_that_one_sees() -> None:
    clouds = np.concatenate(
        [
            centre + np.array([[0.1, 0], [-0.1, 0], [0, 0.1]])
            for centre in ([0.0, 5.0], [5.0, 0.0], [5.0, 5.0])
        ]
    )
    groups = walk.group_states(clouds, 3, unit_length=False)
    assert len(set(groups.nearest(clouds).tolist())) == 3
    assert [len(set(groups.nearest(clouds)[i : i + 3].tolist())) for i in (0, 3, 6)] == [1, 1, 1]
    # By direction, the first cloud and one that is ten times as far are one group; a zero vector is
    # in none.
    far = np.concatenate([clouds[:3], 10 * clouds[:3], clouds[3:6], np.zeros((1, 2))])
    groups = walk.group_states(far, 2, unit_length=True)
    assert groups.nearest(far[:9]).tolist() == [0] * 6 + [1] * 3


def test_the_better_of_two_starts_is_kept() -> None:
    clouds = np.array([[0.0, 0.0], [0.1, 0.0], [9.0, 0.0], [9.0, 1.0], [9.0, 3.0], [9.0, 4.0]])
    far = walk.group_states(clouds, 3, unit_length=False)
    for seeds in ([0, 2, 4], [0, 1, 2], [5, 5, 5]):
        groups = walk.group_states(clouds, 3, unit_length=False, seeds=seeds)
        squares = [
            ((clouds - each.centres[each.nearest(clouds)]) ** 2).sum() for each in (far, groups)
        ]
        assert squares[1] <= squares[0]
    found = walk.group_states(clouds, 3, unit_length=False, seeds=[0, 2, 4]).nearest(clouds)
    assert [len(set(found[i : i + 2].tolist())) for i in (0, 2, 4)] == [1, 1, 1]


def test_there_are_no_more_groups_than_states() -> None:
    assert len(walk.group_states(np.ones((5, 2)), 4, unit_length=False).centres) == 1
    assert (
        len(
            walk.group_states(
                np.array([[1.0, 0], [0, 1.0], [1.0, 0]]), 12, unit_length=False
            ).centres
        )
        == 2
    )
    for states in (np.zeros((3, 2)), np.array([[np.nan, 1.0]])):
        with pytest.raises(RecipeError):
            walk.group_states(states, 2, unit_length=True)
    with pytest.raises(RecipeError, match="groups"):
        walk.group_states(np.ones((2, 2)), 0, unit_length=False)


def test_groups_of_a_counter_are_its_depths() -> None:
    data, _ = brackets()
    depth = 5
    A = np.zeros((2, depth, depth))
    A[0, np.arange(depth - 1), np.arange(1, depth)] = 0.3
    A[1, np.arange(1, depth), np.arange(depth - 1)] = 0.5
    counter = WFA(np.eye(depth)[0], A, np.eye(depth)[0], ALPHABET)
    shallow = [
        word
        for word in select_basis(data.train, 60, 1).prefixes
        if max(walk.open_brackets(word[:length]) for length in range(len(word) + 1)) < depth
    ]
    prefixes = Words.of(shallow)
    graph = walk.grouped_graph(counter, prefixes, data, depth, "counter")
    assert graph.groups is not None and len(graph.groups.centres) == depth
    names = {column["x"]: number for number, column in enumerate(graph.view["columns"])}
    columns = [names[node["x"]] for node in graph.view["nodes"]]
    assert columns.count(0) == 2  # λ, and where nothing is open again
    assert prefixes[0] == () and len(graph.view["dots"]) == len(prefixes) - 1
    for dot in graph.view["dots"]:
        assert columns[dot["node"]] == walk.open_brackets(prefixes[dot["row"]])
    moves = {
        (columns[i], columns[j], tuple(arrow["symbols"]))
        for arrow in graph.view["arrows"]
        for i, j in [arrow["ends"]]
    }
    assert moves >= {(d, d + 1, (0,)) for d in range(4)} | {(d, d - 1, (1,)) for d in range(1, 4)}
    assert all(abs(i - j) == 1 for i, j, _ in moves)
    start = len(graph.groups.centres)  # the node of λ
    assert start not in [target for arrow in graph.view["arrows"] for _, target in [arrow["ends"]]]
    steps = walk.walk_payload(graph, DEEP)["steps"]
    assert [start in step["nodes"] for step in steps] == [True] + [False] * len(DEEP)
    assert [columns[step["nodes"][0]] for step in steps] == [
        0,
        1,
        2,
        1,
        0,
    ]


def test_nonlinear_states_and_odd_symbols_are_drawn() -> None:
    data, hankel = brackets()
    model = fit(hankel, "both.non", rank=3, epochs_factorisation=5, epochs_transitions=5).model
    graph = walk.grouped_graph(model, select_basis(data.train, 30, 1).prefixes, data, 4, "both.non")
    assert len(graph.view["dots"]) == 29 and walk.walk_payload(graph, DEEP)["steps"][-1]["nodes"]
    odd = Alphabet(("<b>", "a very long symbol"))
    view = walk.automaton_graph(WFA([1, 0], np.ones((2, 2, 2)), [1, 1]), odd, "odd").view
    assert view["arrows"][0]["lines"] == [("<b>", "1"), ("a very long…", "1")]
    json.dumps(
        [graph.view, view, walk.stage_payload(data), walk.word_payload(data, DEEP)], allow_nan=False
    )
