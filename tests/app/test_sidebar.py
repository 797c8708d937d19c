"""The sidebar: widgets, recipe and address agree, nothing that was once chosen is lost, and every
change can be undone.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from nlwfa_core import DataRecipe, HankelRecipe, Recipe, RecipeError, limits, options
from nlwfa_core.experiment.presets import PRESETS
from nlwfa_core.experiment.recipe import FIELDS, OPTIONS, UPLOADS, flat, over_limit, with_fields
from nlwfa_core.hankel.statistics import FOR_ALL_LEARNERS, TRANSFORMS
from nlwfa_core.learning.learners import HANKEL_LEARNERS, LEARNERS
from nlwfa_core.learning.names import CONVERGED_EPOCHS, LIKELIHOOD_EPOCHS
from pages.shared.navigation import PAGES
from pages.shared.sidebar import (
    CHOICES,
    CONTROLS,
    DRAWER,
    EXPANDERS,
    FIRST,
    FIRST_VALUES,
    NETWORKS,
    UNUSED,
    check_settable,
    describe_change,
)
from tests.app.lab import QUICK, complaints, go, open_lab, recipe_of
from tests.core.records import fields_of, records_of
from tests.waiting import PATIENCE_SECONDS


# AppTest takes the lines as a script of their own, where no name of this file is known
def sidebar_of(recipe):
    """A script that sets the sidebar to a recipe, and draws it."""
    import streamlit as st

    from pages.shared import sidebar

    st.session_state.update(dict.fromkeys(sidebar.EXPANDERS.values(), True))
    sidebar.set_recipe(recipe)
    sidebar.recipe_controls("data")


@st.composite
def recipes(draw: st.DrawFn) -> Recipe:
    """Any recipe that the sidebar can be set to."""
    learning = draw(
        st.sampled_from(HANKEL_LEARNERS).flatmap(lambda name: records_of(LEARNERS[name]))
    )
    counted = draw(fields_of(HankelRecipe)) | {
        "statistic": draw(st.sampled_from(FOR_ALL_LEARNERS)),
        "transform": draw(st.sampled_from(list(TRANSFORMS))),
    }
    if not learning.needs_hankel:  # by likelihood
        counted = {}
    counted |= {"learner": learning.learner}
    values = {
        "learning_seed" if name == "seed" else name: value
        for name, value in learning.fields().items()
    }
    recipe = with_fields(Recipe(), counted, values)
    return recipe.changed(data=draw(records_of(DataRecipe)))


@given(recipes())
@settings(max_examples=25)
def test_the_sidebar_says_the_recipe_that_it_was_set_to(recipe: Recipe) -> None:
    app = AppTest.from_function(sidebar_of, args=(recipe,), default_timeout=PATIENCE_SECONDS).run()
    assert not complaints(app)
    assert recipe_of(app) == recipe


@given(recipes())
@settings(max_examples=15)
def test_a_link_sets_the_recipe_that_it_says(recipe: Recipe) -> None:
    for page in ("learn", "data"):  # without controls, and with them
        assert recipe_of(open_lab(page, **flat(recipe))) == recipe


@given(recipes())
@settings(max_examples=15)
def test_there_is_a_control_for_each_field_that_has_an_effect(recipe: Recipe) -> None:
    app = AppTest.from_function(sidebar_of, args=(recipe,), default_timeout=PATIENCE_SECONDS).run()
    check_settable(recipe)
    # the matrix is shown, whatever the learner reads
    shown = set(flat(recipe)) | set(flat(recipe.with_learner("SP")))
    assert control_keys(app) == shown - set(UPLOADS) - ({"refine"} - set(flat(recipe)))


def control_keys(app: AppTest) -> set[str | None]:
    """The keys of the controls of fields."""
    widgets = (*app.number_input, *app.selectbox, *app.text_input)
    return {widget.key for widget in widgets} & set(FIELDS)


def test_a_learner_that_needs_boundary_symbols_is_given_them_and_hidden_controls_keep_values() -> (
    None
):
    app = open_lab("data", learner="SP", statistic="factor", objective="hankel")
    assert not recipe_of(app).hankel.bounded
    app.selectbox(key="refine").set_value("hankel").run()
    app.number_input(key="epochs_refinement").set_value(7).run()
    app.selectbox(key="learner").set_value("fac.non").run()
    assert recipe_of(app).hankel.bounded
    app.selectbox(key="refine").set_value("none").run()
    app.selectbox(key="transform").set_value("row").run()
    app.selectbox(key="learner").set_value("SP").run()
    app.selectbox(key="refine").set_value("likelihood").run()
    recipe = recipe_of(go(app, "data"))
    assert recipe.hankel.bounded
    assert (recipe.learning.epochs_refinement, recipe.learning.refine) == (7, "likelihood")
    assert not complaints(app)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_sets_every_control(preset: str) -> None:
    app = open_lab(
        "data",
        num_strings=300,
        rank=2,
        num_test=40,
        learner="SP",
        source="automaton",
        data_seed=9,
        num_states=3,
    )
    app.selectbox(key="controls.preset").set_value(preset).run()
    wanted = PRESETS[preset][1]
    assert all("There are no strings yet" in told for told in complaints(app)), complaints(app)
    assert recipe_of(app) == wanted
    if wanted.learning.needs_hankel:  # otherwise these have no effect, and no control
        assert app.number_input(key="num_prefixes").value == wanted.hankel.num_prefixes
        assert app.text_input(key="hidden").value == ",".join(map(str, wanted.learning.hidden))


@pytest.mark.parametrize("name", ["first-steps", "paper-dyck", "verbs"])
def test_a_button_on_the_learn_page_sets_every_control(name: str) -> None:
    app = open_lab("learn", num_strings=300, rank=2, num_test=40, learner="SP")
    app.button(key=f"learn.{name}").click().run()
    assert recipe_of(app) == PRESETS[name][1]


def test_a_preset_can_be_changed_and_leaves_the_change_alone() -> None:
    app = open_lab("data")
    app.selectbox(key="controls.preset").set_value("paper-dyck").run()
    app.number_input(key="rank").set_value(4).run()
    assert recipe_of(go(app, "data")).learning.rank == 4


def test_hidden_controls_keep_what_they_said() -> None:
    app = open_lab("data", objective="hankel")
    app.selectbox(key="learner").set_value("fac.non").run()
    app.number_input(key="epochs_factorisation").set_value(77).run()
    app.number_input(key="split_probability").set_value(0.1).run()
    app.selectbox(key="learner").set_value("SP").run()
    app.selectbox(key="source").set_value("verbs").run()
    assert not [
        widget
        for widget in app.number_input
        if widget.key in ("epochs_factorisation", "split_probability")
    ]
    go(app, "data")
    app.selectbox(key="learner").set_value("fac.non").run()
    app.selectbox(key="source").set_value("dyck").run()
    assert app.number_input(key="epochs_factorisation").value == 77
    recipe = recipe_of(app)
    assert (recipe.learning.epochs_factorisation, recipe.data.split_probability) == (77, 0.1)


RATES = {"rate_factorisation", "rate_transitions", "schedule"}


def test_only_the_options_of_the_chosen_optimiser_are_drawn_and_the_others_keep_their_values() -> (
    None
):
    app = open_lab("data", **QUICK, learner="both.non", optimizer="adamax", rate_factorisation=0.5)
    assert control_keys(app) & set(NETWORKS) == set(NETWORKS) - {"tolerance"}
    app.selectbox(key="optimizer").set_value("lbfgs").run()
    assert control_keys(app) & set(NETWORKS) == set(NETWORKS) - RATES
    app.number_input(key="tolerance").set_value(0.02).run()
    app.selectbox(key="learner").set_value("SP").run()
    assert not control_keys(app) & set(NETWORKS)
    go(app, "data")
    app.selectbox(key="learner").set_value("both.non").run()
    assert app.number_input(key="tolerance").value == 0.02
    app.selectbox(key="optimizer").set_value("adamax").run()
    assert app.number_input(key="rate_factorisation").value == 0.5
    assert recipe_of(app).learning == options(
        "both.non",
        rank=2,
        optimizer="adamax",
        starts=1,
        rate_factorisation=0.5,
        epochs_factorisation=5,
        epochs_transitions=5,
    )
    assert not complaints(app)


def test_a_default_follows_the_field_on_which_it_depends_and_a_chosen_value_stays() -> None:
    app = open_lab("data", **QUICK)
    for refine, epochs in (
        ("hankel", CONVERGED_EPOCHS),
        ("likelihood", LIKELIHOOD_EPOCHS),
        ("none", None),
        ("hankel", CONVERGED_EPOCHS),
        ("likelihood", LIKELIHOOD_EPOCHS),
    ):
        app.selectbox(key="refine").set_value(refine).run()
        assert flat(recipe_of(app)).get("epochs_refinement") == epochs
    app.number_input(key="epochs_refinement").set_value(7).run()
    app.selectbox(key="refine").set_value("hankel").run()
    assert recipe_of(app).learning.epochs_refinement == 7
    for refine, epochs in (("hankel", CONVERGED_EPOCHS), ("likelihood", LIKELIHOOD_EPOCHS)):
        app = open_lab("data", objective="hankel", refine=refine)
        assert recipe_of(app).learning.epochs_refinement == epochs
    assert not complaints(app)


@pytest.mark.parametrize(
    "parameters",
    [{"learner": "fac.non"}, {"rank": 2}, {"objective": "hankel", "refine": "hankel"}],
    ids=str,
)
def test_a_link_says_only_what_differs_from_the_first_recipe(parameters: dict[str, Any]) -> None:
    app = open_lab("data", **parameters)
    assert recipe_of(app) == with_fields(FIRST, parameters, FIRST_VALUES)
    assert {name: app.query_params[name] for name in app.query_params if name in FIELDS} == {
        name: str(value) for name, value in parameters.items()
    }


def test_a_visitor_without_a_link_begins_with_the_network_and_the_matrix_of_explore() -> None:
    app = open_lab("data")
    first = PRESETS["first-steps"][1]
    assert recipe_of(app) == FIRST == with_fields(first, {"objective": "likelihood"})
    sizes = [app.number_input(key=name).value for name in ("num_prefixes", "num_suffixes")]
    assert sizes == [first.hankel.num_prefixes, first.hankel.num_suffixes]
    assert not complaints(app) and not set(app.query_params) & set(FIELDS)


def test_a_bound_that_is_not_allowed_itself_and_layers_that_do_not_fit_are_refused_in_words() -> (
    None
):
    app = open_lab("data", **QUICK, tolerance=1)
    assert complaints(app) == ["tolerance must be below 1; got 1.0"]
    app.number_input(key="tolerance").set_value(0.5).run()
    app.text_input(key="hidden").set_value("2,2").run()
    [sentence] = complaints(app)
    assert sentence.startswith("hidden must list") and sentence.endswith("got 2,2")
    app.text_input(key="hidden").set_value("3,1,3").run()
    assert recipe_of(app).learning.hidden == (3, 1, 3) and not complaints(app)


@pytest.mark.parametrize(
    ("recipe", "text"),
    [
        (Recipe(hankel=HankelRecipe(statistic="suffix")), "statistic is suffix"),
        (Recipe(hankel=HankelRecipe(statistic="prefix", bounded=True)), "bounded is True"),
        (with_fields(Recipe(), {"learner": "HMM"}), "learner is HMM"),
    ],
)
def test_a_recipe_that_the_sidebar_does_not_offer_is_refused(recipe: Recipe, text: str) -> None:
    with pytest.raises(RecipeError, match=f"{text}, but the sidebar"):
        check_settable(recipe)


def test_the_address_follows_a_preset() -> None:
    """That it follows a widget is the browser's part."""
    app = open_lab("hankel")
    app.selectbox(key="controls.preset").set_value("verbs").run()
    assert {
        "source": "verbs",
        "rank": "10",
        "num_suffixes": "300",
    }.items() <= app.query_params.items()
    assert recipe_of(open_lab("hankel", **app.query_params)) == recipe_of(app)


@pytest.mark.parametrize(
    "parameters",
    [
        {"rank": "many"},
        {"rank": "-3"},
        {"rank": "1e9"},
        {"source": "![x](https://example.org/x.png)"},
        {"learner": "<b>SP</b>"},
        {"statistic": "bigram"},
        {"learner": "HMM"},
        {"transform": "none", "refine": "<b>"},
        {"bounded": "true"},
        {"upload": "../../etc/passwd", "source": "upload"},
        {"upload": "![x](https://example.org/x.png)", "source": "upload"},
        {"no_such_parameter": "1"},
    ],
    ids=str,
)
def test_a_mangled_link_falls_back_to_the_defaults(parameters: dict[str, str]) -> None:
    app = open_lab("learn", **parameters)
    assert all("is used instead" in text for text in complaints(app))
    recipe = recipe_of(app)
    assert (recipe.learning, recipe.hankel) == (FIRST.learning, FIRST.hankel)
    uploads = {"source": "upload", "num_strings": limits.most("generated_strings")}
    assert recipe.data == FIRST.data.changed(
        **uploads if parameters.get("source") == "upload" else {}
    )


def test_what_a_link_asks_for_in_vain_is_said_once() -> None:
    app = open_lab(
        "data", rank="abc", learner="XX", source="mars", num_strings=300, split_probability=0.25
    )
    said = complaints(app)
    assert len(said) == 3
    assert all(
        any(f'"{name} = {given}"' in text for text in said)
        for name, given in (("rank", "abc"), ("learner", "XX"), ("source", "mars"))
    )
    assert (recipe_of(app).data.num_strings, recipe_of(app).data.split_probability) == (300, 0.25)
    assert not complaints(app.run())


# Numbers that are none, or that the control of the rank does not have.
NO_RANKS = (
    "1e400",
    "-1e400",
    "9" * 400,
    "9" * 5000,
    "inf",
    "nan",
    "1_0",
    "2.5",
    "0x10",
    "７",
    "-+3",
    "1,5",
    "3 0",
    "1e-400",
    "0",
    "-5",
)


@pytest.mark.parametrize("text", NO_RANKS)
def test_a_number_that_is_none_is_replaced_and_reported(text: str) -> None:
    app = open_lab("data", rank=text)
    said = f'"rank = {text[:40]}" in this link is not valid; {FIRST.learning.rank} is used instead.'
    assert complaints(app) == [said] and recipe_of(app).learning.rank == FIRST.learning.rank
    assert "rank" not in app.query_params


def test_after_a_number_that_is_none_another_can_be_written() -> None:
    app = open_lab("data", rank=NO_RANKS[0])
    assert len(complaints(app)) == 1
    app.number_input(key="rank").set_value(7).run()
    assert recipe_of(app).learning.rank == 7 and not complaints(app)


@pytest.mark.parametrize("text", ["1e400", "9" * 400, "1_0", "nan", "x"])
def test_no_number_of_a_link_raises(text: str) -> None:
    """All of them in one link: every control of a network and of its refinement is drawn."""
    options = {"objective": "hankel", "refine": "likelihood"}
    wanted = flat(with_fields(FIRST, options, FIRST_VALUES))
    numbers = [name for name, value in wanted.items() if isinstance(value, int | float)]
    app = open_lab("data", **options, **dict.fromkeys(numbers, text))
    recipe = recipe_of(app)
    used = flat(recipe)
    assert (
        all("is not valid" in sentence for sentence in complaints(app))
        and len(complaints(app)) > 15
    )
    assert used == wanted


def undo(app):
    return app.button(key="undo").click().run()


def test_nothing_is_undone_at_first():
    assert open_lab("data", **QUICK).button(key="undo").disabled


def test_changes_are_taken_back_one_by_one_on_any_page():
    app = open_lab("data", **QUICK)
    for rank in range(3, 9):
        app.number_input(key="rank").set_value(rank).run()
    assert app.button(key="undo").label == "Undo rank k: 7 → 8"
    go(app, "hankel")
    for rank in range(7, 1, -1):
        undo(app)
        assert recipe_of(app).learning.rank == rank == app.number_input(key="rank").value
    assert app.button(key="undo").disabled and not complaints(app)


def test_what_was_undone_can_be_done_again_until_something_else_changes():
    app = open_lab("data", **QUICK)
    app.number_input(key="rank").set_value(5).run()
    app.number_input(key="rank").set_value(6).run()
    assert "redo" not in {button.key for button in app.button}
    undo(app)
    undo(app)
    assert app.button(key="redo").label == "Redo rank k: 2 → 5"
    app.button(key="redo").click().run()
    assert (
        recipe_of(app).learning.rank == 5 and app.button(key="undo").label == "Undo rank k: 2 → 5"
    )
    app.button(key="redo").click().run()
    assert recipe_of(app).learning.rank == 6 and "redo" not in {button.key for button in app.button}
    undo(app)
    app.number_input(key="rank").set_value(9).run()
    assert (
        "redo" not in {button.key for button in app.button}
        and app.button(key="undo").label == "Undo rank k: 5 → 9"
    )
    assert not complaints(app)


def test_a_preset_is_taken_back_with_hidden_controls():
    app = open_lab("data", **QUICK | {"learner": "both.non", "epochs_factorisation": 77})
    app.selectbox(key="learner").set_value("SP").run()
    before = recipe_of(app)
    app.selectbox(key="controls.preset").set_value("verbs").run()
    assert recipe_of(app) == PRESETS["verbs"][1]
    undo(app)
    assert recipe_of(app) == before and app.selectbox(key="controls.preset").value is None
    undo(app)
    assert recipe_of(app).learning.epochs_factorisation == 77
    assert not complaints(app)


def test_after_an_undo_a_new_change_can_be_undone():
    app = open_lab("data", **QUICK)
    app.number_input(key="rank").set_value(5).run()
    undo(app)
    app.number_input(key="rank").set_value(7).run()
    assert app.button(key="undo").label == "Undo rank k: 2 → 7"
    assert recipe_of(undo(app)).learning.rank == 2


def test_what_lessons_set_is_undone():
    app = open_lab("train", **QUICK, lesson="rank", step=5)
    before = recipe_of(app)
    app.button(key="lesson.do.0").click().run()
    assert recipe_of(app).learning.rank == 3
    assert recipe_of(undo(app)) == before


@pytest.mark.parametrize(
    ("after", "text"),
    [
        (Recipe(learning=options("SP", rank=3)), "rank k: 10 → 3"),
        (Recipe(data=DataRecipe(num_strings=5000)), "training strings: 20,000 → 5,000"),
        (
            Recipe(data=DataRecipe(source="upload", upload="a" * 64)),
            "source: dyck → upload",
        ),
        (Recipe(learning=options("fac.non")), "learner: SP → fac\\.non"),
    ],
)
def test_a_change_in_words(after, text):
    assert describe_change(Recipe(), after) == text


def test_controls_have_the_label_and_the_help_of_their_field() -> None:
    app = open_lab("data", learner="both.non", objective="hankel", refine="likelihood")
    widgets = {
        widget.key: widget
        for widget in (*app.number_input, *app.selectbox, *app.text_input)
        if widget.key in CONTROLS
    }
    assert len(widgets) > 20
    for key, widget in widgets.items():
        assert widget.label.lower() == OPTIONS[key].title.lower()
        has_caption = any(CHOICES.get(key, {}).values())
        assert widget.help == ("" if has_caption else OPTIONS[key].help)


def remembered(app):
    """What other learners are trained with beside the sidebar's recipe."""
    return app.session_state["controls.hidden"]


def test_undo_takes_back_what_a_preset_set_for_other_learners():
    app = open_lab("train", **QUICK | {"learner": "SP"})
    before = remembered(app)
    app.selectbox(key="controls.preset").set_value("paper-dyck").run()
    assert recipe_of(app) == PRESETS["paper-dyck"][1]
    undo(app)
    assert remembered(app) == before and not complaints(app)


def test_other_learners_are_clamped_as_the_controls_are(monkeypatch):
    monkeypatch.setattr(limits, "IN_FORCE", limits.IN_FORCE | {"epochs": 100})
    app = open_lab("train", **{**QUICK, "learner": "SP"} | {"epochs_transitions": 100})
    hidden = dict(remembered(app))
    app.selectbox(key="learner").set_value("both.non").run()
    network = with_fields(recipe_of(app), {"learner": "both.non"}, hidden)
    assert recipe_of(app).learning.epochs_factorisation == 5 and not over_limit(network)
    fresh = open_lab("train", learner="SP")
    network = with_fields(recipe_of(fresh), {"learner": "both.non"}, remembered(fresh))
    assert not over_limit(network) and network.learning.epochs_transitions == 100


def test_a_value_comes_back_with_the_refinement_that_has_it():
    app = open_lab("train", **QUICK | {"learner": "SP", "refine": "hankel"})
    app.number_input(key="tolerance_refinement").set_value(0.02).run()
    app.selectbox(key="refine").set_value("likelihood").run()
    assert "tolerance_refinement" not in {field.key for field in app.number_input}
    app.selectbox(key="refine").set_value("hankel").run()
    assert app.number_input(key="tolerance_refinement").value == 0.02
    assert recipe_of(app).learning.tolerance_refinement == 0.02


def test_pages_draw_only_what_they_use_of_the_sidebar_and_keep_its_values() -> None:
    app = open_lab("train", **QUICK | {"rank": 4, "split_probability": 0.25})
    for page, hides in (("train", False), ("practice", True), ("history", True), ("data", False)):
        go(app, page)
        marks = [node for node in app.get("html") if node.proto.body == "<i></i>"]
        assert len(marks) == hides, page
        assert bool(control_keys(app)) is not hides, page
        assert recipe_of(app).learning.rank == 4 and app.query_params["rank"] == "4"
        assert app.query_params["split_probability"] == "0.25"
    assert app.number_input(key="rank").value == 4
    assert set(UNUSED) <= set(PAGES)


def test_boxes_and_the_drawer_have_controls_while_they_are_open() -> None:
    app = open_lab(**QUICK)
    app.session_state[EXPANDERS["held_out"]] = False
    app.run()
    app.session_state["num_test"] = 70  # as a preset does
    app.run()
    app.session_state[EXPANDERS["held_out"]] = True
    app.run()
    assert {"num_test", "starts", "rank"} <= control_keys(app)
    app.number_input(key="num_test").set_value(60).run()
    app.session_state[EXPANDERS["held_out"]] = False
    app.run()
    assert "num_test" not in control_keys(app) and "rank" in control_keys(app)
    app.session_state[DRAWER] = False
    app.run()
    assert not control_keys(app)
    assert recipe_of(app).data.num_test == 60 and app.query_params["num_test"] == "60"
    app.session_state[DRAWER] = app.session_state[EXPANDERS["held_out"]] = True
    app.run()
    assert app.number_input(key="num_test").value == 60 and not complaints(app)
