"""Recipes in addresses: whatever went in comes out, and nothing else comes in."""

import base64
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core import DataRecipe, LearningRecipe, Recipe, RecipeError
from nlwfa_core.experiment.links import MAX_LINK, MAX_TEXT, recipe_code, recipe_of
from nlwfa_core.experiment.recipe import PRESETS


@pytest.mark.parametrize("name", PRESETS)
def test_presets_survive_an_address(name):
    recipe = PRESETS[name][1]
    code = recipe_code(recipe)
    assert recipe_of(code) == recipe
    assert len(code) < 400 and code.replace("-", "").replace("_", "").isalnum()


@given(seed=st.integers(0, 2**31 - 1), share=st.floats(0, 1), rank=st.integers(1, 100))
def test_numbers_come_back_to_the_last_bit(seed, share, rank):
    recipe = Recipe(data=DataRecipe(seed=seed, split_probability=share), learning=LearningRecipe(rank=rank))
    assert recipe_of(recipe_code(recipe)) == recipe


@given(st.text(max_size=60))
def test_other_text_is_refused(text):
    try:
        recipe_of(text)
    except RecipeError:
        return
    assert recipe_of(text) == recipe_of(recipe_code(recipe_of(text)))


def packed(data):
    return base64.urlsafe_b64encode(zlib.compress(data, 9)).decode()


@pytest.mark.parametrize(
    "code, said",
    [
        ("x" * (MAX_LINK + 1), "at most"),
        ("AAAA", "does not hold a recipe"),
        (packed(b" " * 10 * MAX_TEXT), "larger than"),
        (packed(b'{"learning":{"rank":0}}'), "rank: 0 given"),
        (packed(b"\xff\xfe"), "recipe"),
    ],
)
def test_what_is_wrong_is_said(code, said):
    with pytest.raises(RecipeError, match=said):
        recipe_of(code)
