"""A recipe's fields under flat names, and as the text of a link: whatever goes in comes out, and
nothing else comes in.
"""

from __future__ import annotations

import base64
import zlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core import DataRecipe, Recipe, RecipeError, options
from nlwfa_core.experiment.option_page import PAGE, option_page
from nlwfa_core.experiment.presets import PRESETS
from nlwfa_core.experiment.recipe import (
    FIELDS,
    MAX_LINK,
    MAX_TEXT,
    OPTIONS,
    differences,
    flat,
    flat_name,
    needs,
    recipe_code,
    recipe_of,
    with_fields,
)
from nlwfa_core.learning.learners import LEARNERS
from nlwfa_core.records import options_of
from tests.core.records import recipes


@pytest.mark.parametrize("name", PRESETS)
def test_a_recipe_comes_back_from_its_flat_form(name: str) -> None:
    recipe = PRESETS[name][1]
    assert with_fields(Recipe(), flat(recipe)) == recipe
    assert with_fields(Recipe(), {key: str(value) for key, value in flat(recipe).items()}) == recipe


def test_every_field_has_one_name() -> None:
    assert len(FIELDS) == len(set(FIELDS.values()))
    assert set(OPTIONS) == {*FIELDS, "bounded"}
    assert len({entry.title for entry in OPTIONS.values()}) == len(OPTIONS)


def test_learners_that_have_a_field_declare_the_same() -> None:
    """So a table of all learners' options has one label, one help and one default for each."""
    for kind in LEARNERS.values():
        for name, entry in options_of(kind).items():
            if name != "learner":
                same = OPTIONS[flat_name("learning", name)]
                assert replace(entry, when=()) == replace(same, when=()), (kind, name)


@given(recipes())
def test_a_recipe_has_exactly_the_fields_that_need_nothing(recipe: Recipe) -> None:
    assert {name for name in FIELDS if not needs(recipe, name)} == set(flat(recipe))
    for name in set(FIELDS) - set(flat(recipe)):
        with pytest.raises(RecipeError, match=f"{FIELDS[name][1]} has no effect with "):
            with_fields(recipe, {name: OPTIONS[name].defaults[0]})


@given(recipes())
def test_every_recipe_comes_back_from_its_flat_form_and_from_a_link(recipe: Recipe) -> None:
    assert with_fields(Recipe(), flat(recipe)) == recipe
    assert recipe_of(recipe_code(recipe)) == recipe


def test_seeds_are_told_apart() -> None:
    seeds = {"data_seed": 1, "learning_seed": 2, "refinement_seed": 3}
    recipe = with_fields(Recipe(), {"learner": "fac.non", "refine": "hankel", **seeds})
    assert recipe.data.seed == 1 and recipe.seed == 2
    assert recipe.learning.fields() | {"seed": 2, "refinement_seed": 3} == recipe.learning.fields()
    assert with_fields(Recipe(), {"data_seed": 1}).seed == 1


def test_boundary_symbols_follow() -> None:
    assert with_fields(Recipe(), {"statistic": "factor", "learner": "both.non"}).hankel.bounded
    assert not with_fields(Recipe(), {"statistic": "factor"}).hankel.bounded


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"learner": "RNN"}, "learner must be one of SP, "),
        ({"rate_transitions": "1", "learner": "both.non"}, "it needs optimizer adamax"),
        ({"num_states": "3"}, "num_states has no effect with source dyck; it needs source auto"),
        ({"num_prefixes": "3", "learner": "GRU"}, "num_prefixes has no effect with learner GRU"),
        ({"ranks": 3}, "'ranks' is not a field"),
        ({"rank": "many"}, "rank must be a whole number; got 'many'"),
        ({"hidden": "2,x", "learner": "both.non"}, "hidden must be whole numbers .*; got '2,x'"),
    ],
)
def test_what_can_not_be_set_is_refused(fields: dict[str, str], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        with_fields(Recipe(), fields)


def test_only_differences_are_named() -> None:
    after = Recipe(data=DataRecipe(seed=4), learning=options("SP", rank=3))
    assert differences(Recipe(), after) == {"data_seed": (0, 4), "rank": (10, 3)}
    both = after.with_learner("GRU")
    assert differences(after, both)["num_prefixes"] == (1000, None)


@pytest.mark.parametrize("name", PRESETS)
def test_presets_survive_an_address(name: str) -> None:
    recipe = PRESETS[name][1]
    code = recipe_code(recipe)
    assert recipe_of(code) == recipe
    assert len(code) < 400 and code.replace("-", "").replace("_", "").isalnum()


@given(seed=st.integers(0, 2**31 - 1), share=st.floats(0, 1), rank=st.integers(1, 100))
def test_numbers_come_back_to_the_last_bit(seed: int, share: float, rank: int) -> None:
    recipe = Recipe(
        data=DataRecipe(seed=seed, split_probability=share), learning=options("SP", rank=rank)
    )
    assert recipe_of(recipe_code(recipe)) == recipe


@given(st.text(max_size=60))
def test_other_text_is_no_link(text: str) -> None:
    try:
        recipe_of(text)
    except RecipeError:
        return
    assert recipe_of(text) == recipe_of(recipe_code(recipe_of(text)))


def packed(data: bytes) -> str:
    return base64.urlsafe_b64encode(zlib.compress(data, 9)).decode()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("x" * (MAX_LINK + 1), "too long"),
        ("AAAA", "does not contain a valid recipe"),
        (packed(b" " * 10 * MAX_TEXT), "larger than"),
        (packed(b'{"learning":{"rank":0}}'), "rank must be at least 1; got 0"),
        (packed(b"\xff\xfe"), "recipe"),
    ],
)
def test_what_is_wrong_with_a_link_is_said(code: str, said: str) -> None:
    with pytest.raises(RecipeError, match=said):
        recipe_of(code)


def test_the_page_of_options_is_that_of_the_records() -> None:
    """`python -m nlwfa_core.experiment.option_page` writes it."""
    assert PAGE.read_text(encoding="utf-8") == option_page()
