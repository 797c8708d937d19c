"""Recipes: validated, frozen, to JSON and back, named by their content."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys

import pytest
from hypothesis import given

from nlwfa_core import options
from nlwfa_core.errors import RecipeError
from nlwfa_core.experiment.presets import PAPER, PRESETS
from nlwfa_core.experiment.recipe import (
    DataRecipe,
    Recipe,
    reading_fields,
    recipe_code,
    recipe_of,
)
from nlwfa_core.export.script import script
from nlwfa_core.hankel.recipe import HankelRecipe
from nlwfa_core.hankel.statistics import FOR_ALL_LEARNERS, TRANSFORMS
from nlwfa_core.learning.learners import (
    HANKEL_LEARNERS,
    LEARNERS,
    STRING_LEARNERS,
    VALUE_LEARNERS,
    BothNon,
)
from nlwfa_core.records import NoEffect, Record
from nlwfa_core.sources.reading import Reading
from tests.core.records import recipes


@given(recipes())
def test_recipes_go_to_json_and_back(recipe: Recipe) -> None:
    again = Recipe.from_json(recipe.to_json())
    assert again == recipe and again.key() == recipe.key()
    assert Recipe(**json.loads(recipe.to_json())) == recipe


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_recipes(name: str) -> None:
    title, recipe = PRESETS[name]
    assert title and Recipe.from_json(recipe.to_json()) == recipe


class ByAdamax(BothNon):
    """Networks whose learning rates have an effect."""

    optimizer: str = "adamax"


BAD = [
    (DataRecipe, {"num_strings": 0}, "num_strings must be at least 1; got 0"),
    (DataRecipe, {"num_strings": 2_000_000}, "num_strings must be at most 1,000,000; got 2000000"),
    (DataRecipe, {"seed": -1}, "seed must be at least 0; got -1"),
    (
        DataRecipe,
        {"source": "web"},
        "source must be one of dyck, upload, tomita, automaton, hmm, pfa, pdfa, squared, verbs; "
        "got 'web'",
    ),
    (DataRecipe, {"split_probability": float("nan")}, "split_probability must be .*; got nan"),
    (
        DataRecipe,
        {"source": "upload", "upload": "../../etc/passwd"},
        "upload must match pattern .*; got '../../etc/passwd'",
    ),
    (
        DataRecipe,
        {"source": "upload", "upload": "0" * 64 + "\n"},
        "upload must match pattern .*; got '0+",
    ),
    (HankelRecipe, {"statistic": "bigram"}, "^statistic must be one of string, .*; got 'bigram'"),
    (HankelRecipe, {"num_prefixes": 50_001}, "num_prefixes must be at most 50,000; got 50001"),
    (BothNon, {"rank": 0}, "rank must be at least 1; got 0"),
    (BothNon, {"rank": 2.5}, "rank must be a whole number; got 2.5"),
    (BothNon, {"learner": "SP"}, "learner must be 'both.non'; got 'SP'"),
    (ByAdamax, {"rate_transitions": 0}, "rate_transitions must be above 0; got 0"),
    (ByAdamax, {"rate_transitions": float("inf")}, "rate_transitions must be .*; got inf"),
    (BothNon, {"epochs_transitions": -1}, "epochs_transitions must be at least 0; got -1"),
    (ByAdamax, {"schedule": "step"}, "schedule must be one of constant, cosine; got 'step'"),
    (BothNon, {"colour": "red"}, "unknown field 'colour'"),
    *(
        (
            BothNon,
            {"hidden": shape},
            f"^hidden must list at most 7 widths .*; got {','.join(map(str, shape))}$",
        )
        for shape in (
            (),
            (2, 2),
            (2, 1, 3),
            (0, 1, 0),
            (-2, 1, -2),
            (17, 1, 17),
            (1, 2, 1),
            (1,) * 9,
        )
    ),
]


@pytest.mark.parametrize(("part", "fields", "message"), BAD)
def test_bad_values_are_refused_in_one_sentence(
    part: type[Record], fields: dict[str, object], message: str
) -> None:
    with pytest.raises(RecipeError, match=message) as caught:
        part(**fields)
    # the message of an unknown field lists all fields, and networks have 25
    most = 400 if "unknown field" in message and part is BothNon else 300
    assert len(str(caught.value)) < most and "validation error" not in str(caught.value)
    with pytest.raises(RecipeError, match=message):
        part().changed(**fields)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "3",
        '{"data": {"source": "web"}}',
        '{"learning": {"learner": "RNN"}}',
        '{"x": 1}',
    ],
)
def test_what_is_no_recipe_is_refused(text: str) -> None:
    with pytest.raises(RecipeError):
        Recipe.from_json(text)


def test_recipes_are_values() -> None:
    recipe = Recipe()
    with pytest.raises(ValueError, match="frozen"):
        recipe.learning = options("SP", rank=3)  # type: ignore[misc]
    assert recipe.changed(learning=options("SP", rank=3)).learning.rank == 3
    assert recipe.learning.rank == 10
    assert hash(Recipe()) == hash(recipe)


@given(recipes(), recipes())
def test_recipes_are_equal_if_and_only_if_their_keys_are(one: Recipe, other: Recipe) -> None:
    assert (one.key() == other.key()) == (one == other)
    assert len(one.key()) == 64


def test_keys_do_not_depend_on_the_process() -> None:
    code = "from nlwfa_core import Recipe; print(Recipe().key())"
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    other = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert other.stdout.strip() == Recipe().key()


@given(recipes())
def test_another_learner_keeps_the_options_that_it_has(recipe: Recipe) -> None:
    if recipe.hankel.statistic == "suffix":
        return
    for learner in LEARNERS:
        changed = recipe.with_learner(learner, 4)
        assert (changed.learning.learner, changed.learning.rank) == (learner, 4)
        assert changed.data == recipe.data
        for name, value in recipe.learning.changes().items():
            if name not in ("rank", "dropout") and changed.learning.has(name):
                assert getattr(changed.learning, name) == value
        by_matrix = getattr(changed.learning, "objective", "hankel") == "hankel"
        assert changed.has("hankel") == (learner in HANKEL_LEARNERS and by_matrix)
        assert changed.has("hankel") or changed.hankel == HankelRecipe()


@pytest.mark.parametrize("learner", STRING_LEARNERS)
def test_a_learner_without_matrix_has_no_part_for_it(learner: str) -> None:
    recipe = Recipe(hankel=HankelRecipe(num_prefixes=7)).with_learner(learner, 4)
    assert recipe == Recipe(learning=options(learner, rank=4))
    assert set(json.loads(recipe.to_json())) == {"data", "learning"}
    with pytest.raises(RecipeError, match=f"hankel has no effect with learner {learner}; it needs"):
        Recipe(hankel=HankelRecipe(), learning=options(learner))


def test_states_of_an_automaton_are_not_dropped() -> None:
    learning = options("SP", refine="likelihood", dropout=0.1)
    with pytest.raises(RecipeError, match="dropout has no effect with learner SP, transform none"):
        Recipe(learning=learning)
    with pytest.raises(RecipeError, match="dropout has no effect"):
        Recipe(hankel=HankelRecipe(statistic="prefix"), learning=learning)
    Recipe(hankel=HankelRecipe(transform="row"), learning=learning)
    Recipe(hankel=HankelRecipe(statistic="prefix", bounded=True), learning=learning)


def test_the_papers_way_is_adamax_from_random_weights() -> None:
    recipe = PRESETS["paper-dyck"][1]
    assert recipe.learning == options("fac.non", rank=10, **PAPER)
    assert recipe.learning != options("fac.non", rank=10)  # that is trained to the end


def test_suffixes_are_for_the_linear_learner() -> None:
    recipe = Recipe(hankel=HankelRecipe(statistic="suffix"))
    for change in (
        lambda: recipe.with_learner("both.non"),
        lambda: recipe.changed(learning=options("fac.non")),
        lambda: HankelRecipe(statistic="suffix", transform="sqrt"),
        lambda: HankelRecipe(statistic="suffix", bounded=True),
    ):
        with pytest.raises(
            RecipeError, match="suffix statistics need the learner SP and the transform none"
        ):
            change()


@pytest.mark.parametrize("statistic", FOR_ALL_LEARNERS)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_another_learner_gets_the_boundary_symbols_that_it_needs(
    statistic: str, transform: str
) -> None:
    marks = statistic != "string"
    recipe = Recipe(hankel=HankelRecipe(statistic=statistic, transform=transform, bounded=marks))
    for learner in HANKEL_LEARNERS:
        changed = recipe.with_learner(learner, 3)
        assert (changed.learning.learner, changed.learning.rank) == (learner, 3)
        assert changed.hankel.bounded == (marks and (learner != "SP" or transform != "none"))
        assert changed.with_learner("both.non") == recipe.with_learner("both.non", 3)


def test_uploads_are_files_of_uploads() -> None:
    prefixes = {"upload_prefixes": "1" * 64, "upload_targets": "2" * 64}
    upload = DataRecipe(source="upload", upload="0" * 64, **prefixes)
    assert upload.uploads == ("0" * 64, "1" * 64, "2" * 64)
    assert DataRecipe().uploads == ()
    with pytest.raises(RecipeError, match="upload_prefixes has no effect with source dyck; it nee"):
        DataRecipe(**prefixes)


def test_a_key_is_computed_once_and_changes_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = Recipe()
    same = Recipe()
    key = recipe.key()
    monkeypatch.setattr("nlwfa_core.records.GENERATION", 2)
    assert recipe.key() == key != Recipe(data=DataRecipe(seed=0)).key()
    assert recipe == same and hash(recipe) == hash(same) and repr(recipe) == repr(same)
    assert (
        recipe.to_json() == same.to_json()
        and dict(recipe) == dict(same)
        and recipe.changed() == same
    )
    assert pickle.loads(pickle.dumps(recipe)) == same


@pytest.mark.parametrize("learner", [None, 5, [], {}, "fac"])
def test_a_learner_that_is_none_is_refused_in_json_and_links(learner: object) -> None:
    text = json.dumps({"learning": {"learner": learner}})
    with pytest.raises(RecipeError, match="learner must be one of SP, fac.non"):
        Recipe.from_json(text)


def test_options_of_another_registry_are_refused() -> None:
    with pytest.raises(RecipeError, match="are a SP; got a ValueSP"):
        Recipe(learning=VALUE_LEARNERS["SP"](ridge=0.1))


@pytest.mark.parametrize("fields", [{"rank": True}, {"tolerance": False}])
def test_true_and_false_are_no_numbers(fields: dict[str, object]) -> None:
    with pytest.raises(RecipeError, match="must be a number; got (True|False)"):
        options("both.non", **fields)


def test_how_a_file_is_read_is_part_of_a_recipe() -> None:
    plain = DataRecipe(source="upload", upload="0" * 64)
    assert plain.model_dump().items() >= {"upload_format": "auto", "upload_window": 0}.items()
    assert "upload_case_column" not in plain.model_dump()  # it has no effect with this format
    log = Reading("events", case_column="who", event_column="what")
    chosen = Recipe(data=plain.changed(**reading_fields(log)))
    assert chosen.data.reading == log and chosen.data.key() != plain.key()
    assert Recipe.from_json(chosen.to_json()) == chosen
    assert recipe_of(recipe_code(chosen)) == chosen
    assert "upload_case_column='who'" in script(chosen)


def test_symbols_of_a_recipe_are_written_as_files_can_have_them() -> None:
    """So that recipes with the same symbols are one."""
    recipe = DataRecipe(source="upload", alphabet=" b  10 9 b", unseen="symbol", unknown="a b")
    assert (recipe.alphabet, recipe.unknown) == ("10 9 b", "a_b")
    assert DataRecipe(source="upload", unseen="symbol", unknown=" ").unknown == "<unk>"
    with pytest.raises(
        NoEffect, match="min_count has no effect with alphabet b; it needs alphabet"
    ):
        DataRecipe(source="upload", alphabet="b", unseen="symbol", min_count=3)
