"""Flat names: every field has one, and what is set under it stands in the recipe."""

from __future__ import annotations

import pytest

from nlwfa_core import DataRecipe, LearningRecipe, Recipe, RecipeError
from nlwfa_core.experiment.fields import FIELDS, differences, flat, with_fields
from nlwfa_core.experiment.recipe import PRESETS


@pytest.mark.parametrize("name", PRESETS)
def test_a_recipe_comes_back_from_its_flat_form(name: str) -> None:
    recipe = PRESETS[name][1]
    assert with_fields(Recipe(), flat(recipe)) == recipe
    assert with_fields(Recipe(), {key: str(value) for key, value in flat(recipe).items()}) == recipe


def test_every_field_has_one_name() -> None:
    record = Recipe()
    parts = (record.data, record.hankel, record.learning, record.refinement)
    assert len(FIELDS) == sum(len(dict(part)) for part in parts) - 1 == len(set(FIELDS.values()))
    assert "bounded" not in FIELDS


def test_seeds_are_told_apart() -> None:
    recipe = with_fields(Recipe(), {"data_seed": 1, "learning_seed": 2, "refinement_seed": 3})
    assert (recipe.data.seed, recipe.learning.seed, recipe.refinement.seed) == (1, 2, 3)


def test_boundary_symbols_follow() -> None:
    assert with_fields(Recipe(), {"statistic": "factor", "learner": "both.non"}).hankel.bounded
    assert not with_fields(Recipe(), {"statistic": "factor"}).hankel.bounded


@pytest.mark.parametrize(
    ("fields", "message"),
    [({"ranks": 3}, "'ranks' is no field"), ({"rank": "many"}, "rank: many given"), ({"hidden": "2,x"}, "hidden: '2,x' given")],
)
def test_what_can_not_be_set_is_refused(fields: dict[str, str], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        with_fields(Recipe(), fields)


def test_only_differences_are_named() -> None:
    after = Recipe(data=DataRecipe(seed=4), learning=LearningRecipe(rank=3))
    assert differences(Recipe(), after) == {"data_seed": (0, 4), "rank": (10, 3)}
