"""The choice of a rank by validation strings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import RecipeError
from ..learning.learners import check_rank
from ..learning.progress import CancelCheck, Progress, Report, never, silent
from ..learning.steps import Kept
from ..metrics.scores import Scores, TestSet, evaluate
from ..strings.sample import Sample
from .pipeline import basis_notes, build_hankel, fit_recipe
from .recipe import HankelRecipe, LearningRecipe, RefinementRecipe

RANK_METRICS = ("wer", "log2_pauto")


@dataclass(frozen=True)
class RankSelection:
    """The rank that did best on validation strings.

    Attributes
    ----------
    rank : int
    metric : str
    scores : tuple of (rank, Scores)
        Every rank that was tried, in the order given.
    notes : tuple of str
        Sentences for the user: about the basis, and about each rank's learning.
    """

    rank: int
    metric: str
    scores: tuple[tuple[int, Scores], ...]
    notes: tuple[str, ...] = ()


def select_rank(
    train: Sample,
    validation: TestSet,
    ranks: Sequence[int],
    *,
    metric: str = "wer",
    hankel: HankelRecipe | None = None,
    learning: LearningRecipe | None = None,
    refinement: RefinementRecipe | None = None,
    report: Report = silent,
    cancelled: CancelCheck = never,
) -> RankSelection:
    """Learn with every rank, score on validation strings, take the best, as the paper does ([P] §5).

    Raises
    ------
    RecipeError
        If a rank is not possible, the list is empty, or the metric unknown.
    """
    if metric not in RANK_METRICS:
        raise RecipeError(f"metric: {metric!r} given, allowed: {', '.join(RANK_METRICS)}")
    if not ranks:
        raise RecipeError("ranks: none given, at least one needed")
    options = learning or LearningRecipe()
    recipes = [options.changed(rank=rank) for rank in ranks]
    basis = hankel or HankelRecipe()
    matrix = build_hankel(train, basis)
    for recipe in recipes:  # all of them before the first is learned
        check_rank(matrix, recipe.rank)
    scores, notes, kept = [], list(basis_notes(matrix, basis)), Kept()
    for number, recipe in enumerate(recipes):
        report(Progress("ranks", number, len(recipes)))
        learned = fit_recipe(matrix, recipe, refinement, (train, validation.sample), kept, report, cancelled)
        scores.append((recipe.rank, evaluate(learned.model, validation)))
        notes += (f"Rank {recipe.rank}: {message}" for message in learned.report.messages)

    return RankSelection(best_rank(scores, metric), metric, tuple(scores), tuple(notes))


def best_rank(scores: Sequence[tuple[int, Scores]], metric: str) -> int:
    """The rank of the lowest score: not finite is worse than any finite one; then fewer zeros, then the smaller rank win."""

    def badness(entry: tuple[int, Scores]) -> tuple[float, int, int]:
        value = getattr(entry[1], metric)
        return (float(value) if np.isfinite(value) else np.inf, entry[1].num_zero, entry[0])

    return min(scores, key=badness)[0]
