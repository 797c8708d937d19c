"""Widgets that code sets, and messages that the browser sent before it knew that they were set."""

from __future__ import annotations

import pytest
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.testing.v1 import AppTest

from pages.shared import open_lesson, pins
from tests.app.lab import complaints, go, open_lab, recipe_of
from tests.quick import QUICK


def look_meanwhile(app: AppTest, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """At this place of the next run of a page, a message comes from a part of the page that
    watches a training run, with all widgets as the browser shows them now.
    """
    messages = [app._tree.get_widget_states()]
    module, name = {"before the page is left": (open_lesson, "go"), "early": (pins, "pinned")}[
        place
    ]
    draw = getattr(module, name)

    def drawn(*args):
        if messages:
            context = get_script_run_ctx()
            context.script_requests.request_rerun(
                RerunData(
                    query_string=context.query_string,
                    widget_states=messages.pop(),
                    page_script_hash=context.page_script_hash,
                    fragment_id="looks",
                    is_auto_rerun=True,
                )
            )
        return draw(*args)

    monkeypatch.setattr(module, name, drawn)


@pytest.mark.parametrize("place", ["early", "before the page is left"])
def test_a_lesson_begins_with_its_strings_whatever_a_training_asks_meanwhile(
    monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    app = open_lab("learn", **QUICK)
    look_meanwhile(app, monkeypatch, place)
    app.button(key="learn.lesson.hankel-matrix").click().run()
    assert not complaints(app) and app.main.title[0].value == "Data"
    assert recipe_of(app).data.source == "upload"
    assert not [button for button in app.button if button.key == "lesson.do.0"]
    assert app.selectbox(key="source").value == "upload"


def test_what_is_chosen_after_an_assignment_stays() -> None:
    app = open_lab("learn", **QUICK)
    app.button(key="learn.lesson.hankel-matrix").click().run()
    go(app, "data").button(key="screen.all").click().run()
    app.number_input(key="rank").set_value(3).run()
    assert recipe_of(app).learning.rank == 3
    app.button(key="lesson.mine").click().run()
    assert recipe_of(app).data.num_strings == QUICK["num_strings"]
    app.number_input(key="rank").set_value(4).run()
    assert recipe_of(go(app, "hankel")).learning.rank == 4 and not complaints(app)
