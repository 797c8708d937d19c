"""Chooses a rank by validation strings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import RecipeError, check_one_of, check_types
from ..experiment.notes import basis_notes
from ..experiment.recipe import Recipe
from ..hankel.estimate import build_hankel
from ..learning.fitting import fit
from ..learning.progress import CancelCheck, Progress, Report, never, silent
from ..learning.two_steps import FitCache, check_rank
from ..metrics.evaluate import evaluate
from ..metrics.score_table import FLAT_WINS, SCORE_OF, SELECTION_METRICS, Scores
from ..metrics.seeds import badness
from ..metrics.tables import format_score
from ..metrics.testset import TestSet
from ..strings.plain import SampleLike, as_sample
from ..strings.sample import Sample


@dataclass(frozen=True)
class RankSelection:
    """The rank with the best score on validation strings.

    Attributes
    ----------
    rank : int
    metric : str
    scores : tuple of (rank, Scores)
        Each rank with its scores on the validation strings, in the order in which the ranks were
        passed.
    notes : tuple of str
        Sentences for the user about the basis, and about learning with each rank.
    """

    rank: int
    metric: str
    scores: tuple[tuple[int, Scores], ...]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Write the chosen rank, and the score of each rank."""
        values = (
            f"{rank}: {format_score(getattr(scores, self.metric))}" for rank, scores in self.scores
        )
        title = SCORE_OF[self.metric].short_title
        return f"<RankSelection of rank {self.rank} by {title}; {', '.join(values)}>"


@check_types
def select_rank(
    train: SampleLike,
    validation: TestSet | SampleLike,
    ranks: Sequence[int],
    recipe: Recipe | None = None,
    *,
    metric: str = "wer",
    report: Report = silent,
    cancelled: CancelCheck = never,
) -> RankSelection:
    """Learn with each rank, and choose the rank whose model has the best score on validation
    strings, as the paper does ([P] §5).

    >>> from nlwfa_core import HankelRecipe
    >>> strings, small = (
    ...     ["ab", "ab", "b", "abb", "a"],
    ...     Recipe(hankel=HankelRecipe(num_prefixes=4, num_suffixes=4)),
    ... )
    >>> select_rank(strings, strings, [1, 2, 3], small).rank in (1, 2, 3)
    True

    Parameters
    ----------
    train : Sample, or strings as `strings.plain.as_sample` takes them
    validation : TestSet, or strings
    ranks : sequence of int
    recipe : Recipe, optional
        The parts for the Hankel matrix and learning are used, except for the rank; the part for the
        data is not. By default it is SP with a basis of 1000 × 1000.
    metric : str
        One of `SELECTION_METRICS`. If no rank has a finite score, a note says so.

    Raises
    ------
    RecipeError
        If there are no ranks, a rank is below 1 or above what the basis allows, or the metric is
        unknown.
    """
    check_one_of("metric", metric, SELECTION_METRICS)
    train = as_sample(train, name="train")
    if not isinstance(validation, TestSet):
        own = None if isinstance(validation, Sample) else train.alphabet
        validation = TestSet.empirical(as_sample(validation, own, "validation"))
    if not ranks:
        raise RecipeError("ranks must have at least one entry; got none")
    base = recipe or Recipe()
    recipes = [base.changed(learning=base.learning.changed(rank=rank)) for rank in ranks]
    hankel = None
    cache = FitCache()
    notes: list[str] = []
    if base.learning.needs_hankel:
        hankel = build_hankel(train, base.hankel)
        for rank in ranks:  # all of them, before hours of training with the first
            check_rank(hankel, rank)
        notes += basis_notes(hankel, base.hankel)
    scores: list[tuple[int, Scores]] = []
    for number, (rank, one) in enumerate(zip(ranks, recipes, strict=True)):
        report(Progress("ranks", number, len(recipes)))
        if hankel is None:
            learned = fit(
                train,
                one.learning,
                validation=validation.sample,
                cache=cache,
                report=report,
                cancelled=cancelled,
            )
        else:
            learned = fit(
                hankel,
                one.learning,
                strings=train,
                validation=validation.sample,
                cache=cache,
                report=report,
                cancelled=cancelled,
            )
        scores.append((rank, evaluate(learned.model, validation)))
        notes += (f"Rank {rank}: {message}" for message in learned.report.messages)
    if metric == "log2_pauto" and not validation.target_is_true:
        notes.append(FLAT_WINS)
    best = best_rank(scores, metric)
    if not np.isfinite(getattr(dict(scores)[best], metric)):
        notes.append(
            f"No rank has a finite {metric}, so rank {best} was chosen by its number of "
            "weights of 0; choose by wer instead."
        )
    return RankSelection(best, metric, tuple(scores), tuple(notes))


def best_rank(scores: Sequence[tuple[int, Scores]], metric: str) -> int:
    """Choose the rank with the best score, in the order of `metrics.seeds.badness`; of tied ranks,
    the smallest.
    """
    sign = -1 if SCORE_OF[metric].higher_is_better else 1
    return min(
        scores,
        key=lambda entry: (
            badness([sign * float(getattr(entry[1], metric))], [entry[1].num_zero]),
            entry[0],
        ),
    )[0]
