"""The States page: colours, the followed string, one model over another, the graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from nlwfa_core.display import walk
from nlwfa_core.display.graph import edges, largest_weight
from nlwfa_core.display.projection import COLOURINGS, align, colouring, prefix_states
from nlwfa_core.models.geometry import directions
from pages.shared.context import Context
from pages.views import states as view
from tests.app.lab import QUICK, complaints, figure, go, learned, open_lab, recipe_of, trained

SP = QUICK | {"learner": "SP", "data_seed": 921}


def test_every_colouring_is_drawn_in_two_and_three_dimensions() -> None:
    app = learned("states", **SP)
    for colour in COLOURINGS:
        for axes in (2, 3):
            app.segmented_control(key="states.colour").set_value(colour)
            app.segmented_control(key="states.axes").set_value(axes).run()
            assert not complaints(app)
            drawn = figure(app, "states.pca")
            kind = "scatter3d" if axes == 3 else "scatter"
            assert {trace["type"] for trace in drawn["data"]} == {kind}


def test_the_path_is_that_of_the_string_that_is_written() -> None:
    app = learned("states", **SP)
    app.text_input(key="states.string").set_value("[[][]]").run()
    path = figure(app, "states.pca")["data"][-1]
    assert path["customdata"] == ["λ", "[", "[[", "[[]", "[[][", "[[][]", "[[][]]"]
    app.text_input(key="states.string").set_value("[]" * 500).run()
    assert not complaints(app) and len(figure(app, "states.pca")["data"][-1]["customdata"]) == 101
    assert any("the first 100 of 1,000 symbols" in caption.value for caption in app.caption)
    app.text_input(key="states.string").set_value("λ").run()
    assert not complaints(app) and figure(app, "states.pca")["data"][-1]["customdata"] == ["λ"]
    app.text_input(key="states.string").set_value("[a").run()
    assert len(complaints(app)) == 1 and "'a' is not in the alphabet" in complaints(app)[0]


def test_a_string_that_is_too_long_is_refused_not_cut() -> None:
    """From the keyboard or a link, and also when the page is drawn again."""
    written = learned("states", **SP)
    linked = go(open_lab("learn", **SP, follow="[]" * 600), "states")
    written.text_input(key="states.string").set_value("[]" * 600)
    for app in (written, linked):
        for _ in range(2):
            assert complaints(app.run()) == [
                "Follow one string may have at most 1,000 characters on this page; got 1,200"
            ]
        assert app.text_input(key="states.string").value == "[]" * 600


def test_a_picture_is_computed_once_for_what_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rank that was shown before, by this visitor or another, is drawn again without computing
    states, figures and walks.
    """
    calls: list[str] = []

    def count(module: Any, name: str) -> None:
        function = getattr(module, name)
        monkeypatch.setattr(
            module,
            name,
            lambda *values, **options: calls.append(name) or function(*values, **options),
        )

    for module, name in (
        (view, "states_figure"),
        (view, "prefix_states"),
        (walk, "walk_payload"),
        (walk, "drawing_payload"),
    ):
        count(module, name)
    app = learned("states", **SP | {"data_seed": 922})
    before = figure(app, "states.pca")
    assert set(calls) == {"states_figure", "prefix_states", "walk_payload", "drawing_payload"}
    app.number_input(key="rank").set_value(3).run()
    assert figure(trained(app, "states.start"), "states.pca") != before
    calls.clear()
    app.number_input(key="rank").set_value(QUICK["rank"]).run()
    assert not complaints(app) and figure(app, "states.pca") == before and not calls
    assert (
        figure(go(learned("states", **SP | {"data_seed": 922}), "states"), "states.pca") == before
        and not calls
    )
    app.segmented_control(key="states.colour").set_value("length").run()
    assert figure(app, "states.pca") != before and calls.count("states_figure") == 1
    assert {"walk_payload", "drawing_payload"}.isdisjoint(calls)
    # of 30: a picture of many prefixes would take much memory
    monkeypatch.setattr(view, "MAX_REMEMBERED", 29)
    shown = figure(app, "states.pca")
    for number in (2, 3):
        assert figure(app.run(), "states.pca") == shown and calls.count("states_figure") == number


def test_the_table_has_the_points_of_the_figure() -> None:
    app = learned("states", **SP)
    table = next(entry.value for entry in app.dataframe if "component 1" in entry.value)
    points = [
        trace
        for trace in figure(app, "states.pca")["data"]
        if trace["mode"] == "markers" and "text" in trace
    ]
    assert (
        sum(len(trace["text"]) for trace in points)
        == len(table)
        == len(Context(recipe_of(app)).prefixes(30))
    )


def test_an_opponents_picture_follows_the_number_of_prefixes() -> None:
    """The key of its run does not contain the matrix."""
    opponents = SP | {"opponents": "HMM", "ranks": 2, "learners": "SP", "data_seed": 148}
    app = go(trained(open_lab("compare", **opponents), "compare.start"), "states")
    for number in (30, 20):
        app.number_input(key="num_prefixes").set_value(number).run()
        [model] = [one for one in app.segmented_control if "states.learner." in str(one.key)]
        model.set_value("HMM").run()
        assert not complaints(app)
        assert any(f"The {number} most frequent prefixes" in entry.value for entry in app.caption)


def test_the_choices_of_a_model_follow_the_sidebars_learner() -> None:
    app = learned("states", **QUICK | {"learner": "fac.non", "data_seed": 923})
    learned("train", **QUICK | {"learner": "SP", "data_seed": 923})
    for learner in ("SP", "fac.non"):
        app.selectbox(key="learner").set_value(learner).run()
        assert app.segmented_control(key=f"states.learner.{learner}").value == learner
        assert any(
            f"prefixes under {learner}" in entry.value.replace("\\", "") for entry in app.caption
        )
        assert app.segmented_control(key=f"states.graph_of.{learner}").value == "SP"


def test_a_pinned_run_is_laid_under_the_sidebars() -> None:
    app = learned("train", **SP)
    assert "pin a run as A" in str([entry.value for entry in go(app, "states").caption])
    app.button(key="pins.A").click().run()
    app.number_input(key="rank").set_value(4).run()
    trained(app, "states.start")
    assert not complaints(app)
    assert app.segmented_control(key="states.pair").options == ["now over A"]
    first = recipe_of(app).with_learner("SP", 2)
    second = recipe_of(app)
    prefixes = Context(second).prefixes(30)
    states = [
        directions(prefix_states(Context(run).result.model, prefixes)) for run in (first, second)
    ]  # type: ignore[union-attr]
    said = next(entry.value for entry in app.markdown if "unexplained" in entry.value)
    assert f"{align(*states).residual:.1%}" in said
    _, below, above = figure(app, "states.overlay")["data"]
    assert below["name"] == "A: SP, k = 2" and above["name"] == "now: SP, k = 4"
    assert len(below["text"]) == len(above["text"]) == len(prefixes)


def test_another_alphabet_can_not_be_laid_over() -> None:
    app = learned("train", **SP | {"source": "automaton", "num_symbols": 3, "num_states": 2})
    app.button(key="pins.A").click().run()
    trained(app.selectbox(key="source").set_value("dyck").run())
    assert not complaints(go(app, "states"))
    assert any("its alphabet is not that of" in note.value for note in app.info)
    assert not complaints(go(app, "predict"))
    assert any("its alphabet is not that of" in note.value for note in app.info)


def drawn_arrows(app: AppTest) -> int:
    """The number of arrows that Graphviz is given."""
    [graph] = app.get("graphviz_chart")
    return str(graph.proto.spec).count("->")


def test_the_graph_shows_what_is_above_the_threshold() -> None:
    app = learned("states", **SP | {"rank": 4})
    model = Context(recipe_of(app)).result.model  # type: ignore[union-attr]
    for percent in (0, 60):
        app.slider(key="states.smallest.SP").set_value(percent).run()
        shown = edges(model, percent / 100 * largest_weight(model))
        assert drawn_arrows(app) == len(shown)
        assert (
            f"{sum(len(edge.weights) for edge in shown)} of {model.transitions.size} transitions"
            in str([entry.value for entry in app.caption])
        )


def test_only_linear_models_have_a_graph() -> None:
    app = learned(
        "states", **QUICK | {"learner": "fac.non", "data_seed": 921, "source": "automaton"}
    )
    assert app.segmented_control(key="states.graph_of.fac.non").options == ["true model"]
    assert not complaints(app) and drawn_arrows(app)
    # no other test trains with these strings
    alone = learned("states", **QUICK | {"learner": "fac.non", "data_seed": 924})
    assert not complaints(alone) and not alone.get("graphviz_chart")
    wide = learned("states", **SP | {"rank": 16})
    assert any("a graph shows at most 15" in note.value for note in wide.info)


@pytest.mark.parametrize("colour", ["entropy", "row weight"])
def test_colours_are_the_librarys_numbers(colour: str) -> None:
    app = learned("states", **SP)
    app.segmented_control(key="states.colour").set_value(colour).run()
    recipe = recipe_of(app)
    # type: ignore[union-attr]
    data = Context(recipe).data
    model = Context(recipe).result.model
    expected = colouring(colour, Context(recipe).prefixes(30), data.alphabet, model, data.train)
    table = next(entry.value for entry in app.dataframe if "component 1" in entry.value)
    assert np.allclose(table[COLOURINGS[colour]], np.array(expected, dtype=float), equal_nan=True)


def test_another_visitor_finds_the_tables_where_they_were_drawn() -> None:
    """What is drawn from a cache stands in the same expander."""
    for _ in range(2):
        app = learned("states", **SP)
        numbers = next(block for block in app.expander if block.label == "The numbers")
        assert len(numbers.dataframe) == 2
        assert sum(len(block.dataframe) for block in app.expander) == len(app.dataframe)
