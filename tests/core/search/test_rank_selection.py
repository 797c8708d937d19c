"""The rank that validation strings choose, or AIC or BIC."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from nlwfa_core import as_sample, options, sample_words
from nlwfa_core.errors import RecipeError
from nlwfa_core.experiment.datasets import load_data
from nlwfa_core.experiment.pipeline import reference_models
from nlwfa_core.experiment.recipe import DataRecipe, Recipe
from nlwfa_core.hankel.estimate import build_hankel
from nlwfa_core.hankel.recipe import HankelRecipe
from nlwfa_core.learning.fitting import fit
from nlwfa_core.learning.progress import Progress
from nlwfa_core.metrics.criteria import information_criteria
from nlwfa_core.metrics.evaluate import evaluate
from nlwfa_core.metrics.score_table import FLAT_WINS
from nlwfa_core.metrics.testset import TestSet
from nlwfa_core.models.wfa import WFA
from nlwfa_core.search.rank_selection import best_by_criterion, best_rank, select_rank
from nlwfa_core.sources.dyck import Dyck
from tests.references import COIN

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
            "bits_without_end, aic, bic; got 'auc'",
            [2],
            {"metric": "auc"},
        ),
        ("with the metric aic, validation must be None", [2], {"metric": "aic"}),
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


@pytest.mark.parametrize(
    ("criterion", "num_strings", "rank"), [("aic", 60, 2), ("bic", 60, 1), ("bic", 500, 2)]
)
def test_aic_and_bic_choose_the_states_of_a_known_automaton_or_fewer(
    criterion: str, num_strings: int, rank: int
) -> None:
    """Two states drew the strings; 60 of them do not pay for BIC's penalty."""
    train = as_sample(list(sample_words(COIN.wfa, 500, seed=0))[:num_strings])
    recipe = Recipe(learning=options("PFA"))
    chosen = select_rank(train, None, [3, 1, 2], recipe, metric=criterion)
    assert (chosen.rank, chosen.metric, chosen.scores) == (rank, criterion, ())
    assert chosen.criteria[2] == (2, information_criteria(fit(train, "PFA", rank=2), train))
    assert f"of rank {rank} by {criterion.upper()}" in repr(chosen)


def test_aic_and_bic_choose_among_models_by_likelihood_only() -> None:
    for learner in ("SP", "both.non"):
        seen: list[Progress] = []
        recipe = Recipe(hankel=HANKEL, learning=options(learner))
        with pytest.raises(RecipeError, match=f"learned by likelihood .*; got {learner}"):
            select_rank(TRAIN, None, [2], recipe, metric="aic", report=seen.append)
        assert not seen
    signed = options("SP", refine="likelihood", epochs_refinement=1)
    message = "BIC is undefined for every rank; for rank 2: .* weight of 0 or less"
    with pytest.raises(RecipeError, match=message):
        select_rank(TRAIN, None, [2], Recipe(hankel=HANKEL, learning=signed), metric="bic")
    one = information_criteria(WFA([1], [[[0.5]]], [0.5]), ["a"])
    undefined = replace(one, why_undefined="its weights sum to 1.25, not to 1")
    assert best_by_criterion([(1, undefined), (3, one), (2, one)], "aic") == 2
