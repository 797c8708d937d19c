"""The rank that validation strings choose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nlwfa_core import options
from nlwfa_core.errors import RecipeError
from nlwfa_core.experiment.datasets import load_data
from nlwfa_core.experiment.pipeline import reference_models
from nlwfa_core.experiment.recipe import DataRecipe, Recipe
from nlwfa_core.hankel.estimate import build_hankel
from nlwfa_core.hankel.recipe import HankelRecipe
from nlwfa_core.learning.fitting import fit
from nlwfa_core.learning.progress import Progress
from nlwfa_core.metrics.evaluate import evaluate
from nlwfa_core.metrics.score_table import FLAT_WINS
from nlwfa_core.metrics.testset import TestSet
from nlwfa_core.search.rank_selection import best_rank, select_rank
from nlwfa_core.sources.dyck import Dyck

DATA = DataRecipe(num_strings=400, num_validation=40, num_test=50)
HANKEL = HankelRecipe(num_prefixes=25, num_suffixes=20)
TRAIN = Dyck().sample(600, seed=0)
VALIDATION = Dyck().sample(150, seed=1)


@pytest.mark.parametrize("metric", ["wer", "log2_pauto"])
def test_the_rank_with_the_best_validation_score_is_taken(metric: str) -> None:
    data = load_data(DATA)
    assert data.validation is not None
    chosen = select_rank(
        data.train, data.validation, [2, 5, 9], metric=metric, recipe=Recipe(hankel=HANKEL)
    )
    assert [rank for rank, _ in chosen.scores] == [2, 5, 9]
    best = min(
        chosen.scores, key=lambda entry: (getattr(entry[1], metric), entry[1].num_zero, entry[0])
    )
    assert (chosen.rank, chosen.metric) == (best[0], metric)
    single = select_rank(data.train, data.validation, [5], Recipe(hankel=HANKEL))
    assert single.scores[0][1] == chosen.scores[1][1]


def test_scores_that_are_no_numbers_lose() -> None:
    data = load_data(DATA)
    scores = evaluate(reference_models(data, 1)["uniform"], data.test)

    def with_score(value: float, num_zero: int = 0) -> Any:
        return type(scores)(**{**vars(scores), "log2_pauto": value, "num_zero": num_zero})

    assert (
        best_rank(
            [(1, with_score(np.nan)), (2, with_score(9.0)), (3, with_score(np.inf))], "log2_pauto"
        )
        == 2
    )
    assert (
        best_rank(
            [(1, with_score(np.inf, 7)), (3, with_score(np.inf, 2)), (2, with_score(np.inf, 2))],
            "log2_pauto",
        )
        == 2
    )
    assert best_rank([(4, with_score(1.0)), (2, with_score(1.0))], "log2_pauto") == 2


def test_selections_that_can_not_be_made_are_refused() -> None:
    data = load_data(DATA)
    assert data.validation is not None
    for message, ranks, arguments in (
        (
            "metric must be one of wer, log2_pauto, bits_per_symbol, ndcg5, wer_without_end, "
            "bits_without_end; got 'auc'",
            [2],
            {"metric": "auc"},
        ),
        ("ranks must have at least one entry; got none", [], {}),
        ("rank must be at least 1; got 0", [2, 0], {}),
        ("rank must be between 1 and 20 .*; got 21", [2, 21], {"recipe": Recipe(hankel=HANKEL)}),
    ):
        seen: list[Progress] = []
        with pytest.raises(RecipeError, match=message):
            select_rank(data.train, data.validation, ranks, report=seen.append, **arguments)  # type: ignore[arg-type]
        assert not seen  # nothing was learned


def test_ranks_are_trained_to_the_end() -> None:
    """What `nlwfa select-rank` and `fit` do."""
    network = options("fac.non")
    chosen = select_rank(TRAIN, VALIDATION, [2], Recipe(hankel=HANKEL, learning=network))
    model = fit(build_hankel(TRAIN, HANKEL), "fac.non", rank=2, validation=VALIDATION).model
    assert chosen.scores[0][1] == evaluate(model, TestSet.empirical(VALIDATION))


def test_a_choice_among_infinite_scores_says_so() -> None:
    """SP gives validation strings the weight 0 with every rank."""
    chosen = select_rank(TRAIN, VALIDATION, [1, 2], Recipe(hankel=HANKEL), metric="log2_pauto")
    assert all(np.isinf(scores.log2_pauto) for _, scores in chosen.scores)
    beginning = (
        "No rank has a finite log2_pauto, so rank 2 was chosen by its number of weights of 0"
    )
    assert any(note.startswith(beginning) for note in chosen.notes) and FLAT_WINS in chosen.notes
    by_wer = select_rank(TRAIN, VALIDATION, [1, 2], Recipe(hankel=HANKEL))
    assert not any("finite" in note or note == FLAT_WINS for note in by_wer.notes)
