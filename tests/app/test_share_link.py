"""Teacher links: only some controls, slide view, and what a link contains."""

from __future__ import annotations

import pytest

from tests.app.lab import QUICK, complaints, go, open_lab, recipe_of


def test_hidden_controls_keep_what_the_link_says():
    given = QUICK | {"learner": "SP", "source": "tomita", "grammar": 4, "num_strings": 123}
    seen, hidden = open_lab("data", **given), open_lab("data", **given, show="rank")
    assert recipe_of(seen) == recipe_of(hidden)
    assert [metric.value for metric in seen.metric] == [metric.value for metric in hidden.metric]
    hidden.number_input(key="rank").set_value(4).run()
    assert recipe_of(go(hidden, "hankel")).data == recipe_of(seen).data
    assert hidden.query_params["show"] == "rank"


def test_all_controls_come_back_at_a_click():
    app = open_lab("data", **QUICK, show="rank,learner")
    app.button(key="screen.all").click().run()
    assert app.query_params["show"] == "all" and not [button for button in app.button if button.key == "screen.all"]


@pytest.mark.parametrize(("show", "left"), [("rank,nonsense", "rank"), ("</style><b>", ""), ("*", "")])
def test_names_that_are_no_controls_are_refused_and_the_rest_counts(show, left):
    app = open_lab(**QUICK, show=show)
    assert len(complaints(app)) == 1 and "it was left out" in complaints(app)[0]
    assert ("".join(app.query_params.get("show", "")) or "") == left


def test_slide_view_has_links_and_a_way_out():
    app = open_lab("data", **QUICK, view="slide")
    assert not complaints(app)
    app.button(key="slide.leave").click().run()
    assert "view" not in app.query_params
    assert "view" not in open_lab("data", **QUICK, view="<b>").query_params


def test_a_link_carries_what_was_chosen():
    app = open_lab("train", **QUICK | {"learner": "SP"}, lesson="rank", step=4)
    assert not app.code  # a closed popover is empty
    app.session_state["share"] = True
    app.run()
    app.multiselect(key="share.show").set_value(["rank", "learner"]).run()
    app.toggle(key="share.slide").set_value(True).run()
    link = app.code[0].value
    asked = dict(pair.split("=") for pair in link.split("?")[1].split("&"))
    assert asked["show"] == "rank%2Clearner" and (asked["view"], asked["lesson"], asked["step"]) == ("slide", "rank", "4")
    assert asked["num_strings"] == "300" and asked["learner"] == "SP"
    app.toggle(key="share.lesson").set_value(False).run()
    assert "lesson=" not in app.code[0].value
    assert not complaints(app)
