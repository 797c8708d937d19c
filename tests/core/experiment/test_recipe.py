"""Recipes: validated, frozen, to JSON and back, named by their content."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core import limits
from nlwfa_core.errors import RecipeError
from nlwfa_core.experiment.presets import PRESETS
from nlwfa_core.experiment.recipe import (
    DataRecipe,
    HankelRecipe,
    LearningRecipe,
    Recipe,
    RefinementRecipe,
)
from nlwfa_core.hankel.names import FOR_ALL_LEARNERS, TRANSFORMS
from nlwfa_core.learning.learners import HANKEL_LEARNERS, LEARNERS, STRING_LEARNERS
from nlwfa_core.learning.names import BY_RANK, REFINEMENTS

hidden = st.sampled_from([(1,), (2, 1, 2), (4, 2, 1, 2, 4), (3, 3, 2, 1, 2, 3, 3)])
recipes = st.builds(
    Recipe,
    data=st.builds(
        DataRecipe,
        source=st.sampled_from(["dyck", "automaton", "hmm", "squared", "verbs", "upload"]),
        num_strings=st.integers(1, limits.most("generated_strings")),
        seed=st.integers(0, 2**31 - 1),
        split_probability=st.floats(0, 1),
        upload=st.sampled_from(["", "0" * 64, "a1" * 32]),
        upload_format=st.sampled_from(["auto", "pautomac", "characters", "tokens", "csv", "json"]),
    ),
    hankel=st.builds(
        HankelRecipe,
        num_prefixes=st.integers(1, limits.most("basis")),
        transform=st.sampled_from(list(TRANSFORMS)),
    ),
    refinement=st.builds(
        RefinementRecipe, objective=st.sampled_from(list(REFINEMENTS)), dropout=st.floats(0, 0.9)
    ),
    learning=st.builds(
        LearningRecipe,
        learner=st.sampled_from(list(LEARNERS)),
        rank=st.integers(1, limits.most("rank")),
        hidden=hidden,
        rate_factorisation=st.floats(1e-12, 1e6),
        schedule=st.sampled_from(["constant", "cosine"]),
    ),
)


@given(recipes)
def test_recipes_go_to_json_and_back(recipe: Recipe) -> None:
    again = Recipe.from_json(recipe.to_json())
    assert again == recipe and again.key() == recipe.key()
    assert Recipe(**json.loads(recipe.to_json())) == recipe


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_recipes(name: str) -> None:
    title, recipe = PRESETS[name]
    assert title and Recipe.from_json(recipe.to_json()) == recipe


BAD = [
    (DataRecipe, {"num_strings": 0}, "num_strings must be at least 1; got 0"),
    (DataRecipe, {"num_strings": 2_000_000}, "num_strings must be at most 1,000,000; got 2000000"),
    (DataRecipe, {"seed": -1}, "seed must be at least 0; got -1"),
    (
        DataRecipe,
        {"source": "web"},
        "source must be 'dyck', 'tomita', 'automaton', 'hmm', 'pfa', 'pdfa', 'squared', "
        "'verbs' or 'upload'; got 'web'",
    ),
    (DataRecipe, {"split_probability": float("nan")}, "split_probability must be .*; got nan"),
    (
        DataRecipe,
        {"upload": "../../etc/passwd"},
        "upload must match pattern .*; got '../../etc/passwd'",
    ),
    (DataRecipe, {"upload": "0" * 64 + "\n"}, "upload must match pattern .*; got '0+"),
    (HankelRecipe, {"statistic": "bigram"}, "^statistic must be one of string, .*; got 'bigram'"),
    (HankelRecipe, {"num_prefixes": 50_001}, "num_prefixes must be at most 50,000; got 50001"),
    (LearningRecipe, {"rank": 0}, "rank must be at least 1; got 0"),
    (LearningRecipe, {"rank": 2.5}, "rank must be a whole number; got 2.5"),
    (
        LearningRecipe,
        {"learner": "RNN"},
        "^learner must be one of SP, fac.non, tran.non, both.non, .*; got 'RNN'",
    ),
    (LearningRecipe, {"rate_transitions": 0}, "rate_transitions must be above 0; got 0"),
    (LearningRecipe, {"rate_transitions": float("inf")}, "rate_transitions must be .*; got inf"),
    (LearningRecipe, {"epochs_transitions": -1}, "epochs_transitions must be at least 0; got -1"),
    (LearningRecipe, {"schedule": "step"}, "schedule must be 'constant' or 'cosine'; got 'step'"),
    (LearningRecipe, {"colour": "red"}, "unknown field 'colour'"),
    *(
        (
            LearningRecipe,
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
    part: type[DataRecipe | HankelRecipe | LearningRecipe], fields: dict[str, object], message: str
) -> None:
    with pytest.raises(RecipeError, match=message) as caught:
        part(**fields)
    assert len(str(caught.value)) < 300 and "validation error" not in str(caught.value)
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
        recipe.learning = LearningRecipe(rank=3)  # type: ignore[misc]
    assert recipe.changed(learning=LearningRecipe(rank=3)).learning.rank == 3
    assert recipe.learning.rank == 10
    assert hash(Recipe()) == hash(recipe)


@given(recipes, recipes)
def test_keys_differ_with_the_content(one: Recipe, other: Recipe) -> None:
    assert (one.data.key() == other.data.key()) == (one.data == other.data)
    assert (one.hankel.key() == other.hankel.key()) == (one.hankel == other.hankel)
    assert len(one.key()) == 64
    without = RefinementRecipe()  # where nothing is refined, its options make no difference
    first, second = (
        each.changed(refinement=without) if each.refinement.objective == "none" else each
        for each in (one, other)
    )
    if first != second and one.learning.learner not in ("SP", *STRING_LEARNERS):
        assert one.key() != other.key()


def test_negative_zero_is_zero() -> None:
    assert DataRecipe(split_probability=-0.0).key() == DataRecipe(split_probability=0.0).key()


def test_keys_do_not_depend_on_the_process() -> None:
    code = "from nlwfa_core import Recipe; print(Recipe().key())"
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    other = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert other.stdout.strip() == Recipe().key()


def test_options_of_networks_make_no_difference_to_spectral_learning() -> None:
    spectral = LearningRecipe(learner="SP", rank=4)
    assert spectral.changed(epochs_factorisation=3, seed=9, hidden=(1,)).key() == spectral.key()
    assert spectral.changed(rank=5).key() != spectral.key()
    network = LearningRecipe(learner="both.non", rank=4)
    assert network.changed(seed=9).key() != network.key() != spectral.key()


@given(recipes, st.sampled_from(STRING_LEARNERS))
def test_opponents_are_named_by_strings_states_and_seed(recipe: Recipe, name: str) -> None:
    opponent = recipe.with_learner(name, 4)
    others = (
        recipe.changed(
            hankel=HankelRecipe(num_prefixes=7), refinement=RefinementRecipe(objective="hankel")
        ).with_learner(name, 4),
        recipe.changed(
            learning=recipe.learning.changed(schedule="constant", hidden=(1,))
        ).with_learner(name, 4),
    )
    assert {other.key() for other in others} == {opponent.key()}
    assert (
        opponent.with_learner(name, 5).key() != opponent.key() != opponent.with_learner("SP").key()
    )
    reseeded = opponent.changed(learning=opponent.learning.changed(seed=recipe.learning.seed ^ 1))
    assert (reseeded.key() != opponent.key()) == LEARNERS[name].is_random
    assert opponent.changed(data=recipe.data.changed(num_test=7)).key() != opponent.key()


def test_options_of_em_count_in_the_key_of_learners_that_use_them_and_unless_they_have_their_defaults() -> (  # noqa: E501
    None
):
    """The keys of the others are those from before these options: of version 0.2 for the HMM."""
    options = {"em_start": "split", "pseudo_count": 0.5}
    assert (
        LearningRecipe(learner="HMM").key()
        == "c867ae88b0f4644be2a053e634c8f7eb33b293e16946c080308975d86cf7a13c"
    )
    for learner in set(LEARNERS) - {"PFA", "PDFA"}:
        assert (
            LearningRecipe(learner=learner, **options).key()
            == LearningRecipe(learner=learner).key()
        )
    pfa = LearningRecipe(learner="PFA")
    assert (
        pfa.key()
        == pfa.changed(starts=BY_RANK).key()
        == pfa.changed(start="svd", optimizer="lbfgs", hidden=(1,)).key()
    )
    fields = [
        {"em_start": "split"},
        {"pseudo_count": 0.5},
        options,
        {"starts": 2},
        {"seed": 1},
        {"rank": 2},
        {},
    ]
    assert len({pfa.changed(**own).key() for own in fields}) == len(fields)
    pdfa = LearningRecipe(learner="PDFA")
    assert (
        pdfa.key()
        == pdfa.changed(em_start="split", seed=1, starts=2).key()
        != pdfa.changed(pseudo_count=0.5).key()
    )


def test_a_basis_by_frequency_does_not_count_in_the_key() -> None:
    """Recipes from before the choice have the same keys."""
    assert (
        HankelRecipe().key()
        == HankelRecipe(basis="frequent").key()
        != HankelRecipe(basis="matching").key()
    )
    assert (
        HankelRecipe().key() == "cc8bb09f261cddd0637ab221493791af2c49e2fc214d200944daf0b5454bebec"
    )
    with pytest.raises(RecipeError, match="basis must be 'frequent' or 'matching'; got 'best'"):
        HankelRecipe(basis="best")


def test_suffixes_are_for_the_linear_learner() -> None:
    recipe = Recipe(hankel=HankelRecipe(statistic="suffix"))
    for change in (
        lambda: recipe.with_learner("both.non"),
        lambda: recipe.changed(learning=LearningRecipe(learner="fac.non")),
        lambda: HankelRecipe(statistic="suffix", transform="sqrt"),
        lambda: HankelRecipe(statistic="suffix", bounded=True),
    ):
        with pytest.raises(
            RecipeError, match="suffix statistics need the learner SP and the transform none"
        ):
            change()
    assert recipe.with_learner("HMM").hankel == recipe.hankel


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


def test_keys_are_what_they_were_before_the_languages_came() -> None:
    """Results that were kept, and those that are shipped, are found by them."""
    assert Recipe().key() == "2f64023eeba3de708cfdf0bc6a5bdb3f63b5b75e83f37ab152435088d019f144"
    assert (
        DataRecipe(source="verbs").key()
        == "7b55fc1ad832e04b7952d28c79a07cc29d5a88e28ea92273ced5c9f2ba21e838"
    )
    assert DataRecipe(grammar=3).key() == DataRecipe().key()
    assert DataRecipe(source="tomita", grammar=3).key() != DataRecipe(source="tomita").key()


def test_prefixes_count_in_the_key_of_an_upload_alone() -> None:
    """The key of an upload without them is that of version 0.1."""
    upload, prefixes = (
        DataRecipe(source="upload", upload="0" * 64),
        {"upload_prefixes": "1" * 64, "upload_targets": "2" * 64},
    )
    assert upload.key() == "e536073217e131b72068615c7018df3d97fa9e7ce4e350dff28b191c1971e2f9"
    assert upload.changed(**prefixes).key() != upload.key()
    assert upload.changed(**prefixes).uploads == ("0" * 64, "1" * 64, "2" * 64)
    assert DataRecipe(**prefixes).key() == DataRecipe().key() and not DataRecipe(**prefixes).uploads


def test_a_key_is_computed_once_and_changes_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe, same = Recipe(), Recipe()
    key = recipe.key()
    monkeypatch.setattr("nlwfa_core.experiment.recipe.GENERATION", 2)
    assert recipe.key() == key != Recipe(data=DataRecipe(seed=0)).key()
    assert recipe == same and hash(recipe) == hash(same) and repr(recipe) == repr(same)
    assert (
        recipe.to_json() == same.to_json()
        and dict(recipe) == dict(same)
        and recipe.changed() == same
    )
    assert pickle.loads(pickle.dumps(recipe)) == same
