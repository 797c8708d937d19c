"""Large sweeps as files: which runs they mean, in which order, and their table."""

from __future__ import annotations

import csv
import json

import pytest

from nlwfa_core.errors import RecipeError
from nlwfa_core.experiment.grids import Grid, table
from nlwfa_core.experiment.pipeline import Workbench, run
from nlwfa_core.experiment.recipe import DataRecipe, HankelRecipe, LearningRecipe, Recipe
from nlwfa_core.experiment.sweeps import Outcome

BASE = Recipe(
    data=DataRecipe(num_strings=200, num_validation=20, num_test=20),
    hankel=HankelRecipe(num_prefixes=20, num_suffixes=20),
    learning=LearningRecipe(rank=2, seed=7),
)


def test_lists_multiply_and_what_is_the_same_is_one_run() -> None:
    assert list(Grid(base=BASE).recipes().values()) == [BASE]
    grid = Grid(base=BASE, learners=("SP", "fac.non", "HMM"), ranks=(1, 2), statistics=("string", "prefix"), seeds=(0, 1, 2))
    found = list(grid.recipes().values())
    count = {name: sum(recipe.learning.learner == name for recipe in found) for name in ("SP", "fac.non", "HMM")}
    assert count == {"SP": 2 * 2, "fac.non": 2 * 2 * 3, "HMM": 2 * 3}
    assert all(
        recipe.hankel.bounded == (recipe.hankel.statistic == "prefix") for recipe in found if recipe.learning.learner == "fac.non"
    )
    assert {recipe.data.seed for recipe in found} == {0}
    assert len(Grid(base=BASE, seeds=(3, 4), new_strings=True).recipes()) == 2


def test_every_statistic_goes_with_every_transform() -> None:
    found = Grid(base=BASE, statistics=("string", "prefix", "factor"), transforms=("none", "row")).recipes().values()
    assert {(recipe.hankel.statistic, recipe.hankel.transform, recipe.hankel.bounded) for recipe in found} == {
        ("string", "none", False),
        ("string", "row", False),
        ("prefix", "none", False),
        ("prefix", "row", True),
        ("factor", "none", False),
        ("factor", "row", True),
    }


def test_strings_and_matrices_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = Grid(base=BASE, learners=("HMM", "SP"), ranks=(1, 2, 3), transforms=("none", "row"), sample_sizes=(100, 200))
    bench, prepared = Workbench(), []
    for recipe in grid.recipes().values():
        result = bench.run(recipe)
        assert result.scores == run(recipe).scores
        if not prepared or prepared[-1] is not bench.prepared:
            prepared.append(bench.prepared)
    assert len(prepared) == 2 * 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"ranks": [0]}, "rank"),
        ({"learners": ["magic"]}, "magic"),
        ({"statistics": ["magic"]}, "magic"),
        ({"rnks": [1]}, "rnks"),
        ({"base": {"data": {"num_strings": -1}}}, "num_strings"),
        ({"base": 3}, "base"),
        ({"ranks": list(range(1, 1001)), "seeds": list(range(101))}, "101,000 given, at most 100,000"),
        ({"seeds": [2**31]}, "seeds"),
    ],
)
def test_what_can_not_be_is_told(given: dict[str, object], said: str) -> None:
    with pytest.raises(RecipeError, match=said):
        Grid(**json.loads(json.dumps(given))).recipes()


def test_the_table_has_a_row_a_run() -> None:
    result = run(BASE)
    rows = list(csv.DictReader(table([(BASE.key(), Outcome.of(result))]).splitlines()))
    assert len(rows) == 1 and rows[0]["key"] == BASE.key() and rows[0]["strings"] == "200"
    assert float(rows[0]["wer"]) == result.scores.wer and rows[0]["kl"] == (
        "" if result.scores.kl is None else repr(result.scores.kl)
    )
