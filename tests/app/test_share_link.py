"""Teacher links: only some controls, slide view, and what a link contains."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pages.shared import server
from tests.app.lab import (
    QUICK,
    complaints,
    given_to,
    go,
    learned,
    open_lab,
    recipe_of,
    type_text,
    typed,
)


def test_hidden_controls_keep_what_the_link_says():
    given = QUICK | {"learner": "SP", "source": "tomita", "grammar": 4, "num_strings": 123}
    seen = open_lab("data", **given)
    hidden = open_lab("data", **given, show="rank")
    assert recipe_of(seen) == recipe_of(hidden)
    assert [metric.value for metric in seen.metric] == [metric.value for metric in hidden.metric]
    hidden.number_input(key="rank").set_value(4).run()
    assert recipe_of(go(hidden, "hankel")).data == recipe_of(seen).data
    assert hidden.query_params["show"] == "rank"


def buttons(app):
    return {button.key for button in app.button if str(button.key).startswith("screen.")}


def test_all_controls_come_back_at_a_click_and_go_again_at_another():
    app = open_lab("data", **QUICK, show="rank,learner")
    app.button(key="screen.all").click().run()
    assert "".join(app.query_params["show"]) == "all,rank,learner" and buttons(app) == {
        "screen.fewer"
    }
    app.button(key="screen.fewer").click().run()
    assert "".join(app.query_params["show"]) == "rank,learner" and buttons(app) == {"screen.all"}


def test_all_controls_of_a_lesson_are_forgotten_with_it():
    app = open_lab("hankel", lesson="rank", step=2)
    app.button(key="screen.all").click().run()
    assert "".join(app.query_params["show"]) == "all"
    app.button(key="lesson.close").click().run()
    assert "show" not in app.query_params and not buttons(app)


def test_a_teachers_choice_does_not_hide_what_a_step_needs():
    app = open_lab("hankel", lesson="hankel-matrix", step=5, show="rank")
    drawn = {widget.key for widget in (*app.number_input, *app.selectbox)}
    assert {"rank", "statistic"} <= drawn and "learner" not in drawn


def test_a_link_opens_the_block_the_layer_and_the_cell():
    given = QUICK | {"learner": "SP", "rank": 2, "block": "]", "layer": "difference", "cell": "3,2"}
    app = open_lab("hankel", **given)
    assert not complaints(app)
    assert (
        app.selectbox(key="hankel.block").value == 1
        and app.segmented_control(key="hankel.layer").value == "H − Ĥ"
    )
    assert given_to(app, "nlwfa.lens_chosen")["chosen"] | {"basis": ""} == {
        "row": 2,
        "column": 1,
        "basis": "",
    }
    assert any("H[u, v] =" in text.value for text in app.main.markdown)
    assert dict(
        asked(app).items() & {name: str(value) for name, value in given.items()}.items()
    ).keys() >= {
        "block",
        "layer",
        "cell",
    }
    app.segmented_control(key="hankel.layer").set_value("H").run()
    app.selectbox(key="hankel.block").set_value(-1).run()
    assert not {"block", "layer"} & set(asked(app)) and asked(app)["cell"] == "3,2"
    app = go(app, "data")
    assert not {"block", "layer", "cell"} & set(asked(app))
    for odd in ({"block": "x"}, {"layer": "<b>"}):
        app = open_lab("hankel", **QUICK | odd)
        assert len(complaints(app)) == 1 and "in this link is not valid" in complaints(app)[0]
    for odd in ("99,99", "x", "-1,2", "1,", "٣,٣"):
        assert not complaints(open_lab("hankel", **QUICK, cell=odd))


NASTY = (
    "1e400",
    "9" * 400,
    "-1",
    "1_0",
    "nan",
    "<b>x</b>",
    "x\0y",
    "\u202e",
    "[" * 2000,
    "x" * 20_000,
    ",",
    "²",
    "٣",
)
# Page -> its parameters that are no fields of a recipe.
PAGE_PARAMETERS = {
    "explore": ("linear", "linear_rank"),
    "compare": ("learners", "opponents", "against", "ranks", "sizes", "seeds", "metric", "a", "b"),
    "hankel": ("block", "layer", "by", "cell", "show", "view"),
    "states": ("colour", "axes", "directions", "follow", "lesson", "step"),
    "predict": ("string", "predict.level", "predict.by_hand"),
    "practice": ("tasks", "task", "quiz"),
    "classify": ("strings", "classes", "first", "second", "states"),
    "build": ("automaton", "build"),
    "classroom": ("class", "teacher"),
    "train": ("train.step", "lesson", "step"),
}


@pytest.mark.parametrize("text", NASTY, ids=[text[:8] for text in NASTY])
@pytest.mark.parametrize("page", PAGE_PARAMETERS)
def test_no_parameter_of_a_link_breaks_a_page(page: str, text: str) -> None:
    app = open_lab(page, **QUICK | dict.fromkeys(PAGE_PARAMETERS[page], text))
    assert not app.exception and not any(
        "Something went wrong" in sentence for sentence in complaints(app)
    )
    assert all(len(sentence) < 1000 for sentence in complaints(app))


def test_a_link_opens_the_string_and_the_way_states_are_drawn():
    app = open_lab("predict", **QUICK, string="[[]]")
    assert not complaints(app) and typed(app) == "[[]]"
    app = type_text(app, "[][]")
    assert asked(app)["string"] == "[][]"
    app = type_text(app, "")
    assert asked(app)["string"] == "λ"
    assert "string" not in asked(go(app, "data"))
    given = {"colour": "length", "axes": "3", "directions": "no", "follow": "[[]]"}
    app = learned("states", **QUICK | {"learner": "SP", "data_seed": 722} | given)
    assert not complaints(app)
    assert (
        app.segmented_control(key="states.colour").value == "length"
        and app.segmented_control(key="states.axes").value == 3
    )
    assert (
        app.toggle(key="states.unit").value is False
        and app.text_input(key="states.string").value == "[[]]"
    )
    assert given.items() <= asked(app).items()


def asked(app):
    return {name: "".join(values) for name, values in app.query_params.items()}


@pytest.mark.parametrize(
    ("show", "left"), [("rank,nonsense", "rank"), ("</style><b>", ""), ("*", "")]
)
def test_names_that_are_no_controls_are_refused_and_the_rest_counts(show, left):
    app = open_lab(**QUICK, show=show)
    assert len(complaints(app)) == 1 and "so it was ignored" in complaints(app)[0]
    assert ("".join(app.query_params.get("show", "")) or "") == left


def test_slide_view_has_links_and_a_way_out():
    app = open_lab("data", **QUICK, view="slide")
    assert not complaints(app)
    app.button(key="slide.leave").click().run()
    assert "view" not in app.query_params
    assert "view" not in open_lab("data", **QUICK, view="<b>").query_params


def test_a_link_carries_what_was_chosen():
    app = open_lab("train", **QUICK | {"learner": "SP"}, lesson="rank", step=5)
    assert not app.code  # a closed popover is empty
    app.session_state["share"] = True
    app.run()
    app.multiselect(key="share.show").set_value(["rank", "learner"]).run()
    app.toggle(key="share.slide").set_value(True).run()
    assert app.multiselect(key="share.show").options[:2] == ["Source", "Training strings"]
    assert (
        app.multiselect(key="share.show").proto.select_all is False
        or not app.multiselect(key="share.show").proto.select_all
    )
    link = app.code[0].value
    asked = dict(pair.split("=") for pair in link.split("?")[1].split("&"))
    assert asked["show"] == "rank%2Clearner" and (
        asked["view"],
        asked["lesson"],
        asked["step"],
    ) == ("slide", "rank", "5")
    assert asked["num_strings"] == "300" and asked["learner"] == "SP"
    app.toggle(key="share.lesson").set_value(False).run()
    assert "lesson=" not in app.code[0].value
    assert not complaints(app)


@pytest.mark.parametrize(
    ("kept", "how_long"),
    [("", "until the server stops"), ("a folder", "until the space is needed")],
)
def test_share_says_how_long_uploads_stay(monkeypatch, kept, how_long):
    monkeypatch.setattr(server, "os", SimpleNamespace(environ={"NLWFA_HOME": kept}))
    assert server.how_long_uploads_stay().startswith(how_long)
