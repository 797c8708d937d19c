"""The sidebar: widgets, recipe and address agree, nothing that was once chosen is lost, and every
change can be undone.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from nlwfa_core import (
    DataRecipe,
    HankelRecipe,
    LearningRecipe,
    Recipe,
    RecipeError,
    RefinementRecipe,
)
from nlwfa_core.experiment.presets import PRESETS
from nlwfa_core.experiment.recipe import FIELDS, HELP, flat
from nlwfa_core.hankel.names import FOR_ALL_LEARNERS, TRANSFORMS
from nlwfa_core.lab.options import LABELS
from nlwfa_core.learning.learners import HANKEL_LEARNERS, LEARNERS
from nlwfa_core.learning.names import CONVERGED_EPOCHS, OPTIMIZERS, REFINEMENTS, needs_boundary
from pages.shared.sidebar import (
    CAPTIONED,
    DEFAULT,
    DEFAULTS,
    FIRST,
    LAYERS,
    check_settable,
    describe_change,
)
from tests.app.lab import QUICK, complaints, go, open_lab, recipe_of
from tests.waiting import PATIENCE_SECONDS


# AppTest takes the lines as a script of their own, where no name of this file is known
def sidebar_of(recipe):
    """A script that sets the sidebar to a recipe, and draws it."""
    from pages.shared import sidebar

    sidebar.set_recipe(recipe)
    sidebar.recipe_controls()


def whole(largest: int, smallest: int = 1) -> st.SearchStrategy[int]:
    return st.integers(smallest, largest)


REFINEMENT_NAMES = {
    "objective": "refine",
    "optimizer": "optimizer_refinement",
    "tolerance": "tolerance_refinement",
    "epochs": "epochs_refinement",
    "rate": "rate_refinement",
    "seed": "refinement_seed",
}

# Options of other sources than the chosen one, and of networks that are not trained, mean nothing:
# they keep their defaults.
SOURCES: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "dyck": {"split_probability": st.floats(0, 1), "wrap_probability": st.floats(0, 1)},
    "tomita": {"grammar": whole(7)},
    "automaton": {"num_states": whole(50), "num_symbols": whole(100)},
    **{
        name: {"num_states": whole(50), "num_symbols": whole(100)}
        for name in ("hmm", "pfa", "pdfa")
    },
    "squared": {"num_states": whole(50), "num_symbols": whole(100)},
    "verbs": {},
    "upload": {"upload": st.just("a" * 64), "upload_test": st.sampled_from(["", "b" * 64])},
}
NETWORKS: dict[str, st.SearchStrategy[Any]] = {
    "hidden": st.sampled_from([tuple(map(int, written.split(","))) for written in LAYERS]),
    "epochs_factorisation": whole(100_000, 0),
    "epochs_transitions": whole(100_000, 0),
    "start": st.sampled_from(["random", "svd"]),
    "starts": whole(100, 0),
    "seed": whole(2**31 - 1, 0),
}
# Of an optimiser.
DESCENT: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "adamax": {
        "rate_factorisation": st.floats(1e-6, 10),
        "rate_transitions": st.floats(1e-6, 10),
        "schedule": st.sampled_from(["constant", "cosine"]),
    },
    "lbfgs": {"tolerance": st.floats(0, 0.99)},
}
# Of the refinement: on the rows of H by an optimiser, by likelihood, by likelihood in networks.
EPOCHS: dict[str, st.SearchStrategy[Any]] = {"epochs": whole(100_000, 0)}
ON_ROWS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "adamax": EPOCHS | {"rate": st.floats(1e-6, 10)},
    "lbfgs": EPOCHS | {"tolerance": st.floats(0, 0.99)},
}
LIKELIHOOD = ON_ROWS["adamax"] | {
    "batch": whole(1_000_000),
    "weight_decay": st.floats(0, 100),
    "restarts": whole(100, 0),
    "seed": whole(2**31 - 1, 0),
}


def refining(objective: str, optimizer: str, learner: str) -> dict[str, st.SearchStrategy[Any]]:
    """The options of a refinement that mean something, its optimiser excepted."""
    if objective == "hankel":
        return ON_ROWS[optimizer]
    dropout = {"dropout": st.floats(0, 0.99)} if LEARNERS[learner].networks else {}
    return LIKELIHOOD | dropout if objective == "likelihood" else {}


@st.composite
def recipes(draw: st.DrawFn) -> Recipe:
    """Any recipe that the sidebar can say."""
    source = draw(st.sampled_from(list(SOURCES)))
    sizes = {name: draw(whole(1_000_000)) for name in ("num_strings", "num_validation", "num_test")}
    data = DataRecipe(
        source=source,
        seed=draw(whole(2**31 - 1, 0)),
        **sizes,
        **draw(st.fixed_dictionaries(SOURCES[source])),
    )
    learner = draw(st.sampled_from(HANKEL_LEARNERS))
    counted = {
        "statistic": draw(st.sampled_from(FOR_ALL_LEARNERS)),
        "transform": draw(st.sampled_from(list(TRANSFORMS))),
    }
    bounded = needs_boundary(learner, **counted)
    hankel = HankelRecipe(
        num_prefixes=draw(whole(50_000)),
        num_suffixes=draw(whole(50_000)),
        bounded=bounded,
        **counted,
    )
    objective = draw(st.sampled_from(list(REFINEMENTS)))
    refined_by = draw(st.sampled_from(list(OPTIMIZERS))) if objective == "hankel" else "adamax"
    refined = draw(st.fixed_dictionaries(refining(objective, refined_by, learner)))
    refinement = DEFAULT.refinement.changed(objective=objective, optimizer=refined_by, **refined)
    learning = FIRST.learning.changed(learner=learner, rank=draw(whole(1000)))
    if LEARNERS[learner].networks:
        optimizer = draw(st.sampled_from(list(OPTIMIZERS)))
        options = draw(st.fixed_dictionaries(NETWORKS)) | draw(
            st.fixed_dictionaries(DESCENT[optimizer])
        )
        learning = DEFAULT.learning.changed(
            learner=learner, rank=learning.rank, optimizer=optimizer, **options
        )
    return Recipe(data=data, hankel=hankel, learning=learning, refinement=refinement)


@given(recipes())
@settings(max_examples=25)
def test_the_sidebar_says_the_recipe_that_it_was_set_to(recipe: Recipe) -> None:
    app = AppTest.from_function(sidebar_of, args=(recipe,), default_timeout=PATIENCE_SECONDS).run()
    assert not complaints(app)
    assert recipe_of(app) == recipe


@given(recipes())
@settings(max_examples=15)
def test_a_link_sets_the_recipe_that_it_says(recipe: Recipe) -> None:
    data, learning = dict(recipe.data), dict(recipe.learning)
    names = {name for source in SOURCES.values() for name in source} - set(
        SOURCES[recipe.data.source]
    ) | {"upload_format"}
    parameters = {name: value for name, value in data.items() if name not in names} | dict(
        recipe.hankel
    )
    parameters |= {name: learning[name] for name in ("learner", "rank")} | {
        "data_seed": parameters.pop("seed")
    }
    if LEARNERS[recipe.learning.learner].networks:
        names_shown = {"optimizer", *NETWORKS, *DESCENT[recipe.learning.optimizer]} - {"seed"}
        parameters |= {name: learning[name] for name in names_shown}
        parameters |= {
            "hidden": ",".join(map(str, recipe.learning.hidden)),
            "learning_seed": recipe.learning.seed,
        }
    refinement = dict(recipe.refinement)
    objective, optimizer = recipe.refinement.objective, recipe.refinement.optimizer
    optimizers = ["optimizer"] if objective == "hankel" else []
    shown = ("objective", *optimizers, *refining(objective, optimizer, recipe.learning.learner))
    parameters |= {REFINEMENT_NAMES.get(name, name): refinement[name] for name in shown}
    assert recipe_of(open_lab(**parameters)) == recipe


def test_what_a_learner_needs_is_counted_and_options_are_seen_where_they_apply() -> None:
    app = open_lab(learner="SP", statistic="factor")
    assert not recipe_of(app).hankel.bounded
    assert app.selectbox(key="refine").value == "none"
    keys = {
        "epochs_refinement",
        "rate_refinement",
        "refinement_seed",
        "batch",
        "dropout",
        "weight_decay",
        "restarts",
    }
    expected = {
        "none": set(),
        "hankel": {"epochs_refinement", "rate_refinement"},
        "likelihood": keys - {"dropout"},
    }
    for objective, wanted in expected.items():
        app.selectbox(key="refine").set_value(objective).run()
        assert {widget.key for widget in app.number_input} & keys == wanted
    app.number_input(key="epochs_refinement").set_value(7).run()
    app.selectbox(key="learner").set_value("fac.non").run()
    assert recipe_of(app).hankel.bounded and {widget.key for widget in app.number_input} >= keys
    app.selectbox(key="refine").set_value("none").run()
    app.selectbox(key="transform").set_value("row").run()
    app.selectbox(key="learner").set_value("SP").run()
    app.selectbox(key="refine").set_value("likelihood").run()
    recipe = recipe_of(go(app, "data"))
    assert (recipe.hankel.bounded, recipe.refinement.epochs, recipe.refinement.objective) == (
        True,
        7,
        "likelihood",
    )
    assert not complaints(app)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_sets_every_control(preset: str) -> None:
    app = open_lab(
        num_strings=300,
        rank=2,
        num_test=40,
        learner="SP",
        source="automaton",
        data_seed=9,
        num_states=3,
    )
    app.selectbox(key="controls.preset").set_value(preset).run()
    assert not complaints(app)
    wanted = PRESETS[preset][1]
    assert recipe_of(app) == wanted
    assert app.number_input(key="num_prefixes").value == wanted.hankel.num_prefixes
    assert app.selectbox(key="hidden").value == ",".join(map(str, wanted.learning.hidden))


@pytest.mark.parametrize("name", ["first-steps", "paper-dyck", "verbs"])
def test_a_button_on_the_start_page_sets_every_control(name: str) -> None:
    app = open_lab(num_strings=300, rank=2, num_test=40, learner="SP")
    app.button(key=f"start.{name}").click().run()
    assert recipe_of(app) == PRESETS[name][1]


def test_a_preset_can_be_changed_and_leaves_the_change_alone() -> None:
    app = open_lab()
    app.selectbox(key="controls.preset").set_value("paper-dyck").run()
    app.number_input(key="rank").set_value(4).run()
    assert recipe_of(go(app, "data")).learning.rank == 4


def test_hidden_controls_keep_what_they_said() -> None:
    app = open_lab()
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


NETWORK_CONTROLS = {
    *NETWORKS,
    *DESCENT["adamax"],
    *DESCENT["lbfgs"],
    "optimizer",
    "learning_seed",
} - {"seed"}


def network_controls(app: AppTest) -> set[str | None]:
    return {widget.key for widget in (*app.number_input, *app.selectbox)} & NETWORK_CONTROLS


def test_only_the_options_of_the_chosen_optimiser_are_drawn_and_the_others_keep_their_values() -> (
    None
):
    app = open_lab(**QUICK, learner="fac.non", rate_factorisation=0.5)
    assert network_controls(app) == NETWORK_CONTROLS - {"tolerance"}
    app.selectbox(key="optimizer").set_value("lbfgs").run()
    assert network_controls(app) == NETWORK_CONTROLS - set(DESCENT["adamax"])
    app.number_input(key="tolerance").set_value(0.01).run()
    app.selectbox(key="learner").set_value("SP").run()
    assert not network_controls(app)
    learning = recipe_of(app).learning  # other learners are trained with it too
    assert (
        learning.optimizer,
        learning.start,
        learning.tolerance,
        learning.rate_factorisation,
    ) == ("lbfgs", "random", 0.01, 0.5)
    go(app, "data")
    app.selectbox(key="learner").set_value("both.non").run()
    assert app.number_input(key="tolerance").value == 0.01
    app.selectbox(key="optimizer").set_value("adamax").run()
    assert app.number_input(key="rate_factorisation").value == 0.5
    app.selectbox(key="refine").set_value("hankel").run()
    assert {"optimizer_refinement", "rate_refinement"} <= set(app.session_state["controls.kept"])
    app.selectbox(key="optimizer_refinement").set_value("lbfgs").run()
    app.number_input(key="tolerance_refinement").set_value(0.02).run()
    assert "rate_refinement" not in {widget.key for widget in app.number_input}
    refinement = recipe_of(app).refinement
    assert (refinement.optimizer, refinement.tolerance, refinement.epochs) == (
        "lbfgs",
        0.02,
        CONVERGED_EPOCHS,
    )
    linked = open_lab(**QUICK, learner="fac.non", refine="hankel", optimizer_refinement="lbfgs")
    assert recipe_of(linked).refinement.epochs == 40  # what links mean stays as it was
    app.selectbox(key="refine").set_value("likelihood").run()
    keys = {widget.key for widget in (*app.number_input, *app.selectbox)}
    assert "rate_refinement" in keys and not keys & {"optimizer_refinement", "tolerance_refinement"}
    assert (
        recipe_of(app).refinement.key() == DEFAULT.refinement.changed(objective="likelihood").key()
    )
    assert not complaints(app)


@pytest.mark.parametrize(
    "parameters", [{"learner": "fac.non"}, {"rank": 2}, {"refine": "hankel"}], ids=str
)
def test_a_link_from_before_there_was_a_choice_of_optimisers_means_what_it_meant(
    parameters: dict[str, Any],
) -> None:
    recipe = recipe_of(open_lab(**parameters))
    learning, refinement = recipe.learning, recipe.refinement
    assert (learning.optimizer, learning.start, learning.rate_factorisation) == (
        "adamax",
        "random",
        0.015,
    )
    assert (learning.epochs_factorisation, learning.epochs_transitions) == (600, 300)
    assert (refinement.optimizer, refinement.epochs, refinement.rate) == ("adamax", 40, 0.01)


def test_a_visitor_without_a_link_begins_with_the_first_preset_and_can_share_it() -> None:
    app = open_lab("data")
    assert recipe_of(app) == FIRST == PRESETS["first-steps"][1] and not complaints(app)
    shown = flat(FIRST)
    new = {
        name: str(shown[name])
        for name in ("optimizer", "start", "epochs_factorisation")
        if shown[name] != DEFAULTS[name]
    }
    assert new.items() <= app.query_params.items()
    # else there is no field in the address, and the link is one of a visitor without a link
    if new:
        assert recipe_of(open_lab(**app.query_params)).key() == FIRST.key()


def test_networks_begin_as_in_the_first_preset_after_a_link_to_a_learner_without_networks() -> None:
    app = open_lab(rank=2, learner="SP")
    app.selectbox(key="learner").set_value("both.non").run()
    assert recipe_of(app).learning == FIRST.learning.changed(learner="both.non", rank=2)


def test_a_tolerance_that_the_sidebar_does_not_offer_is_refused() -> None:
    with pytest.raises(
        RecipeError, match="tolerance is 0.995, but the sidebar allows at most 0.99"
    ):
        check_settable(Recipe(learning=LearningRecipe(tolerance=0.995)))
    with pytest.raises(RecipeError, match="tolerance_refinement"):
        check_settable(Recipe(refinement=RefinementRecipe(tolerance=0.995)))


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
        {"hidden": "9,9,9"},
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
    app = open_lab(**parameters)
    assert all("is used instead" in text for text in complaints(app))
    recipe = recipe_of(app)
    wanted = DEFAULT if set(parameters) & set(DEFAULTS) else FIRST  # a link that sets no field
    assert (recipe.learning, recipe.hankel, recipe.refinement) == (
        wanted.learning,
        wanted.hankel,
        wanted.refinement,
    )
    assert recipe.data == DEFAULT.data.changed(
        source="upload" if parameters.get("source") == "upload" else "dyck"
    )
    assert LearningRecipe.model_validate(recipe.learning) == recipe.learning


def test_what_a_link_asks_for_in_vain_is_said_once() -> None:
    app = open_lab(rank="abc", learner="XX", source="mars", num_strings=300, split_probability=0.3)
    said = complaints(app)
    assert len(said) == 3
    assert all(
        any(f'"{name} = {given}"' in text for text in said)
        for name, given in (("rank", "abc"), ("learner", "XX"), ("source", "mars"))
    )
    assert (recipe_of(app).data.num_strings, recipe_of(app).data.split_probability) == (300, 0.3)
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
    "５",
    "-+3",
    "1,5",
    "3 0",
    "1e-400",
    "0",
    "-5",
)


@pytest.mark.parametrize("text", NO_RANKS)
def test_a_number_that_is_none_is_replaced_and_reported(text: str) -> None:
    app = open_lab(rank=text)
    said = (
        f'"rank = {text[:40]}" in this link is not valid; {DEFAULT.learning.rank} is used instead.'
    )
    assert complaints(app) == [said] and recipe_of(app).learning.rank == DEFAULT.learning.rank
    assert "rank" not in app.query_params
    app.number_input(key="rank").set_value(7).run()
    assert recipe_of(app).learning.rank == 7 and not complaints(app)


@pytest.mark.parametrize("text", ["1e400", "9" * 400, "1_0", "nan", "x"])
def test_no_number_of_a_link_raises(text: str) -> None:
    """All of them in one link: every control of a network and of its refinement is drawn."""
    numbers = [name for name, value in DEFAULTS.items() if isinstance(value, int | float)]
    app = open_lab(learner="both.non", refine="likelihood", **dict.fromkeys(numbers, text))
    recipe = recipe_of(app)
    used = flat(recipe)
    assert (
        all("is not valid" in sentence for sentence in complaints(app))
        and len(complaints(app)) > 15
    )
    assert {name: used[name] for name in numbers} == {name: DEFAULTS[name] for name in numbers}


def undo(app):
    return app.button(key="undo").click().run()


def test_nothing_is_undone_at_first():
    assert open_lab(**QUICK).button(key="undo").disabled


def test_changes_are_taken_back_one_by_one_on_any_page():
    app = open_lab("data", **QUICK)
    for rank in range(3, 26):
        app.number_input(key="rank").set_value(rank).run()
    assert app.button(key="undo").label == "Undo rank k: 24 → 25"
    go(app, "hankel")
    for rank in range(24, 1, -1):
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
    app = open_lab(**QUICK | {"learner": "both.non", "epochs_factorisation": 77})
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
    app = open_lab(**QUICK)
    app.number_input(key="rank").set_value(5).run()
    undo(app)
    app.number_input(key="rank").set_value(7).run()
    assert app.button(key="undo").label == "Undo rank k: 2 → 7"
    assert recipe_of(undo(app)).learning.rank == 2


def test_what_lessons_set_is_undone():
    app = open_lab("train", **QUICK, lesson="dyck", step=4)
    before = recipe_of(app)
    app.button(key="lesson.do.0").click().run()
    assert recipe_of(app).learning.rank == 3
    assert recipe_of(undo(app)) == before


@pytest.mark.parametrize(
    ("after", "text"),
    [
        (Recipe(learning=LearningRecipe(rank=3)), "rank k: 10 → 3"),
        (Recipe(data=DataRecipe(num_strings=5000)), "training strings: 20,000 → 5,000"),
        (
            Recipe(data=DataRecipe(source="upload", upload="a" * 64)),
            "source: dyck → upload and 1 more",
        ),
        (Recipe(learning=LearningRecipe(learner="fac.non")), "learner: SP → fac\\.non"),
    ],
)
def test_a_change_in_words(after, text):
    assert describe_change(Recipe(), after) == text


def test_controls_have_the_label_and_the_help_of_their_field():
    app = open_lab(learner="both.non", refine="likelihood")
    widgets = {
        widget.key: widget for widget in (*app.number_input, *app.selectbox) if widget.key in FIELDS
    }
    assert len(widgets) > 20
    assert all(widget.label.lower() == LABELS[key].lower() for key, widget in widgets.items())
    assert all(
        widget.help == ("" if key in CAPTIONED else HELP[key]) for key, widget in widgets.items()
    )
