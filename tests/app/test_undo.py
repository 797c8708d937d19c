"""Undo: one change after the other is taken back, whoever made it, and the button says which."""

from __future__ import annotations

import pytest

from nlwfa_core import DataRecipe, LearningRecipe, Recipe
from nlwfa_core.experiment.presets import PRESETS
from pages.shared.sidebar import describe_change
from tests.app.lab import QUICK, complaints, go, open_lab, recipe_of


def undo(app):
    return app.button(key="undo").click().run()


def test_nothing_is_undone_at_first():
    assert open_lab(**QUICK).button(key="undo").disabled


def test_changes_are_taken_back_one_by_one_on_any_page():
    app = open_lab("data", **QUICK)
    for rank in range(3, 26):
        app.number_input(key="rank").set_value(rank).run()
    assert app.button(key="undo").label == "Undo: rank 24 → 25"
    go(app, "hankel")
    for rank in range(24, 1, -1):
        undo(app)
        assert recipe_of(app).learning.rank == rank == app.number_input(key="rank").value
    assert app.button(key="undo").disabled and not complaints(app)


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
    assert app.button(key="undo").label == "Undo: rank 2 → 7"
    assert recipe_of(undo(app)).learning.rank == 2


def test_what_lessons_set_is_undone():
    app = open_lab("train", **QUICK, lesson="dyck", step=3)
    before = recipe_of(app)
    app.button(key="lesson.do.0").click().run()
    assert recipe_of(app).learning.rank == 5
    assert recipe_of(undo(app)) == before


@pytest.mark.parametrize(
    ("after", "text"),
    [
        (Recipe(learning=LearningRecipe(rank=3)), "rank 10 → 3"),
        (Recipe(data=DataRecipe(num_strings=5000)), "num strings 20,000 → 5,000"),
        (Recipe(data=DataRecipe(source="upload", upload="a" * 64)), "source dyck → upload and 1 more"),
        (Recipe(learning=LearningRecipe(learner="fac.non")), "learner SP → fac\\.non"),
    ],
)
def test_a_change_in_words(after, text):
    assert describe_change(Recipe(), after) == text
