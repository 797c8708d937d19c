"""Pinned runs, A and B: kept while the sidebar changes, in the address, and taken out again."""

from __future__ import annotations

import pytest

from nlwfa_core import DataRecipe, Recipe, options
from nlwfa_core.experiment.recipe import recipe_code, recipe_of
from pages.shared import pins
from pages.shared.widgets import escape_markdown
from tests.app.lab import QUICK, complaints, go, learned, open_lab

SP = QUICK | {"learner": "SP", "data_seed": 722}


def chip(app, name):
    return app.button(key=f"pins.{name}").label


def test_a_pin_stays_while_the_sidebar_changes():
    app = open_lab("data", **QUICK)
    app.button(key="pins.A").click().run()
    app.number_input(key="rank").set_value(4).run()
    assert chip(app, "A") == f"A: {escape_markdown('both.non, k = 2')}"
    assert recipe_of("".join(app.query_params["a"])).learning.rank == 2
    go(app, "hankel")
    assert chip(app, "A") == f"A: {escape_markdown('both.non, k = 2')}"
    app.button(key="pins.A").click().run()  # back to A, and from there to what was before
    assert app.number_input(key="rank").value == 2 and "a" in app.query_params
    app.button(key="undo").click().run()
    assert app.number_input(key="rank").value == 4
    app.button(key="pins.A.remove").click().run()
    assert "a" not in app.query_params and chip(app, "A") == "Pin A"


def test_a_pin_that_the_sidebar_can_not_show_is_refused_in_a_sentence():
    app = open_lab("data", **QUICK, b=recipe_code(Recipe(learning=options("HMM"))))
    app.button(key="pins.B").click().run()
    assert len(complaints(app)) == 1 and "the others are on the Compare page" in complaints(app)[0]


def test_a_link_brings_pins():
    app = open_lab("data", **QUICK, b=recipe_code(Recipe(learning=options("SP", rank=7))))
    assert not app.exception and chip(app, "B") == f"B: {escape_markdown('SP, k = 7')}"


def test_a_broken_link_says_so_and_loses_nothing():
    app = open_lab(**QUICK, a="nonsense")
    assert not app.exception and "does not contain a valid recipe" in app.toast[0].value
    assert app.number_input(key="rank").value == 2 and chip(app, "A") == "Pin A"


def test_what_is_in_play_is_named_once(monkeypatch):
    first = Recipe()
    second = Recipe(learning=options("SP", rank=7))
    monkeypatch.setattr(pins.st, "session_state", {})
    assert pins.shown_runs(first) == {"now": first}
    pins.pin("B", second)
    assert pins.shown_runs(first) == {"B": second, "now": first}
    assert pins.shown_runs(second) == {"B": second}


@pytest.mark.parametrize("page", ["states", "predict", "compare", "take_away", "train"])
def test_a_pin_whose_file_is_not_here_stops_no_page(page):
    lost = Recipe(data=DataRecipe(source="upload", upload="0" * 64))
    app = learned(page, **SP | {"b": recipe_code(lost)})
    told = " ".join(complaints(app))
    assert not app.exception and all("upload" in text for text in complaints(app)), told
    assert len(app.main.subheader) >= 1 or page == "train"
