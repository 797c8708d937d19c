"""What colours a state, and the pictures of states."""

from __future__ import annotations

import json

import numpy as np
import pytest

from nlwfa_core.errors import RecipeError
from nlwfa_core.lab import colourings, views
from nlwfa_core.lab.figures.states import overlay_figure, states_figure
from nlwfa_core.lab.figures.trajectory import add_trajectory
from nlwfa_core.lab.tables import points_table, score_warnings
from nlwfa_core.models.wfa import WFA
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import Alphabet, Words
from tests.references import GEOMETRIC

AB = Alphabet(("a", "b"))
SAMPLE = Sample.of(Words.of([(0, 1), (0, 1), (0,), ()]), AB)
PREFIXES = Words.of([(), (0,), (0, 1), (1,)])


def test_row_weights_are_shares_of_strings_that_begin_so() -> None:
    assert views.prefix_shares(SAMPLE, PREFIXES).tolist() == [1.0, 0.75, 0.5, 0.0]
    model = WFA(np.ones(1), np.full((2, 1, 1), 0.25), np.array([0.5]))
    logs = colourings.colouring("row weight", PREFIXES, AB, model, SAMPLE)
    assert logs[:3] == pytest.approx(np.log10([1.0, 0.75, 0.5])) and np.isnan(logs[3])


def test_entropy_is_in_bits_and_counts_the_end() -> None:
    # The geometric automaton goes on with probability 1/2 and ends with 1/2: one bit after every prefix.
    bits = colourings.colouring("entropy", Words.of([(), (0,), (0, 0)]), Alphabet(("a",)), GEOMETRIC.wfa)
    assert bits == pytest.approx([1.0, 1.0, 1.0])


def test_a_prefix_after_which_nothing_can_come_has_no_likely_next_symbol() -> None:
    nothing = WFA(np.zeros(1), np.zeros((2, 1, 1)), np.zeros(1))
    assert colourings.colouring("next symbol", PREFIXES, AB, nothing) == [colourings.NO_SCORES] * 4


def test_an_unknown_colouring_is_told() -> None:
    for kind in ("taste", "row weight"):
        with pytest.raises(RecipeError, match="colouring"):
            colourings.colouring(kind, PREFIXES, AB, GEOMETRIC.wfa)


def test_the_string_to_follow_has_something_to_show() -> None:
    assert views.word_to_follow(SAMPLE, 2) == (0, 1)
    assert views.word_to_follow(SAMPLE, 3) == views.most_frequent_word(SAMPLE) == (0, 1)


@pytest.mark.parametrize("three", [False, True])
def test_the_way_of_a_string_is_one_frame_a_prefix(three: bool) -> None:
    points = np.random.default_rng(0).normal(size=(20, 4))
    projection = views.project(points)
    placed = projection.coordinates(points)
    names = ["λ", "<b>", "<b>a", "<b>ab"]
    figure = states_figure(placed, projection, ["u"] * 20, [0.5] * 20, "bits", three=three)
    before = len(figure.data)
    add_trajectory(figure, placed[:4], names, three)
    assert len(figure.frames) == 4 and len(figure.data) == before + 3
    for step, frame in enumerate(figure.frames):
        path, now = frame.data
        assert list(frame.traces) == [before + 1, before + 2]
        assert np.allclose(path.x, placed[: step + 1, 0]) and np.allclose(now.y, placed[step : step + 1, 1])
    steps = figure.layout.sliders[0].steps
    assert [entry.args[0][0] for entry in steps] == [frame.name for frame in figure.frames]
    assert [entry.label for entry in steps] == ["λ", "&lt;b&gt;", "&lt;b&gt;a", "&lt;b&gt;ab"]
    assert "<b>" not in json.dumps(figure.to_plotly_json(), default=str)


def test_the_empty_strings_way_needs_no_slider() -> None:
    points = np.random.default_rng(0).normal(size=(5, 2))
    projection = views.project(points, 2)
    figure = add_trajectory(states_figure(points, projection, ["u"] * 5, [1] * 5, "length"), points[:1], ["λ"])
    assert not figure.frames and not figure.layout.sliders


def test_two_models_points_are_joined_prefix_by_prefix() -> None:
    points = np.random.default_rng(0).normal(size=(6, 3))
    projection = views.project(points)
    figure = overlay_figure(points, points + 1, projection, ["u"] * 6, ("A: SP", "B: <b>"))
    links, first, second = figure.data
    assert len(links.x) == 18 and np.isnan(links.x[2::3]).all()
    assert np.allclose(links.x[::3], first.x) and np.allclose(links.x[1::3], second.x)
    assert second.name == "B: &lt;b&gt;"


def test_points_as_a_table() -> None:
    table = points_table(PREFIXES, AB, np.ones((4, 2)), [0, 1, 2, 1], "length")
    assert list(table) == ["prefix", "component 1", "component 2", "length"] and table["prefix"] == ["λ", "a", "ab", "b"]


def test_negative_and_missing_scores_are_told() -> None:
    signed = WFA(np.array([1.0]), np.array([[[0.5]], [[-0.25]]]), np.array([0.5]))
    nothing = WFA(np.zeros(1), np.zeros((2, 1, 1)), np.zeros(1))
    said = score_warnings({"SP": signed, "zero": nothing}, (0,))
    assert said[0].startswith("Negative scores, drawn without their sign: SP (") and "no bars: zero" in said[1]
    assert not score_warnings({"SP": GEOMETRIC.wfa}, (0,))
