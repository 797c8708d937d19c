"""Choose a rank by validation strings, or by AIC or BIC from the training strings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import RecipeError, check_one_of, check_types
from ..experiment.notes import basis_notes
from ..experiment.recipe import Recipe
from ..hankel.estimate import build_hankel
from ..learning.fitting import fit
from ..learning.progress import CancelCheck, Progress, Report, never, silent
from ..learning.two_steps import FitCache, check_rank
from ..metrics.criteria import (
    NEEDS_LIKELIHOOD,
    WEIGHTS_COUNT,
    InformationCriteria,
    information_criteria,
)
from ..metrics.evaluate import evaluate
from ..metrics.score_table import CRITERIA, FLAT_WINS, SCORE_OF, SELECTION_METRICS, Scores
from ..metrics.seeds import badness
from ..metrics.tables import format_score
from ..metrics.testset import TestSet
from ..models.model_files import LearnedModel
from ..models.wfa import WFA
from ..strings.plain import SampleLike, as_sample
from ..strings.sample import Sample


@dataclass(frozen=True)
class RankSelection:
    """The rank with the best score on validation strings, or with the lowest AIC or BIC.

    Attributes
    ----------
    rank : int
    metric : str
    scores : tuple of (rank, Scores)
        Each rank with its scores on the validation strings, in the order in which the ranks were
        passed; empty if AIC or BIC was used.
    criteria : tuple of (rank, InformationCriteria)
        The same with AIC and BIC, if one of them was used.
    notes : tuple of str
        Sentences for the user about the basis, and about learning with each rank.
    """

    rank: int
    metric: str
    scores: tuple[tuple[int, Scores], ...]
    notes: tuple[str, ...] = ()
    criteria: tuple[tuple[int, InformationCriteria], ...] = ()

    def __repr__(self) -> str:
        """Write the chosen rank, and the score of each rank."""
        values = (
            f"{rank}: {format_score(getattr(scores, self.metric))}"
            for rank, scores in self.scores or self.criteria
        )
        title = CRITERIA.get(self.metric) or SCORE_OF[self.metric].short_title
        return f"<RankSelection of rank {self.rank} by {title}; {', '.join(values)}>"


@check_types
def select_rank(
    train: SampleLike,
    validation: TestSet | SampleLike | None,
    ranks: Sequence[int],
    recipe: Recipe | None = None,
    *,
    metric: str = "wer",
    report: Report = silent,
    cancelled: CancelCheck = never,
) -> RankSelection:
    """Learn with each rank, and choose the rank whose model has the best score on validation
    strings, as the paper does ([P] §5), or the lowest AIC or BIC on the training strings.

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
    validation : TestSet, or strings, or None
        Early stopping uses them. None for AIC and BIC, which need no such strings.
    ranks : sequence of int
    recipe : Recipe, optional
        The parts for the Hankel matrix and learning are used, except for the rank; the part for the
        data is not. By default it is SP with a basis of 1000 × 1000.
    metric : str
        One of `SELECTION_METRICS`, or of `CRITERIA`: "aic" or "bic". If no rank
        has a finite score, a note says so.

    Raises
    ------
    RecipeError
        If there are no ranks, a rank is below 1 or above what the basis allows, the metric is
        unknown, validation strings are missing or are given with AIC or BIC, or no rank has an AIC
        or a BIC.
    """
    check_one_of("metric", metric, (*SELECTION_METRICS, *CRITERIA))
    if (validation is None) != (metric in CRITERIA):
        need = "strings" if validation is None else "None"
        raise RecipeError(f"with the metric {metric}, validation must be {need}")
    train = as_sample(train, name="train")
    if validation is not None and not isinstance(validation, TestSet):
        # strings are read over the training alphabet; a sample has its own
        own = None if isinstance(validation, Sample) else train.alphabet
        validation = TestSet.empirical(as_sample(validation, own, "validation"))
    if not ranks:
        raise RecipeError("ranks must have at least one entry; got none")
    base = recipe or Recipe()
    if metric in CRITERIA and not base.learning.learns_by_likelihood:
        raise RecipeError(f"{NEEDS_LIKELIHOOD}; got {base.learning.learner}")
    notes: list[str] = []
    stopping = None if validation is None else validation.sample
    models = _models(train, ranks, base, stopping, notes, report, cancelled)
    if validation is None:
        return _by_criterion(models, train, metric, notes)
    return _by_score(models, validation, metric, notes)


def _models(
    train: Sample,
    ranks: Sequence[int],
    recipe: Recipe,
    stopping: Sample | None,
    notes: list[str],
    report: Report,
    cancelled: CancelCheck,
) -> Iterator[tuple[int, LearnedModel]]:
    """Learn with each rank, and add the messages about each training run to the notes.

    `stopping`: the strings on which training stops early.
    """
    # all ranks are checked before hours of training with the first
    learners = [recipe.learning.changed(rank=rank) for rank in ranks]
    hankel = None
    if recipe.learning.needs_hankel:
        hankel = build_hankel(train, recipe.hankel)
        for rank in ranks:
            check_rank(hankel, rank)
        notes += basis_notes(hankel, recipe.hankel)
    cache = FitCache()
    for number, (rank, learner) in enumerate(zip(ranks, learners, strict=True)):
        report(Progress("ranks", number, len(ranks)))
        learned = fit(
            train if hankel is None else hankel,
            learner,
            strings=None if hankel is None else train,
            validation=stopping,
            cache=cache,
            report=report,
            cancelled=cancelled,
        )
        notes += (f"Rank {rank}: {message}" for message in learned.report.messages)
        yield rank, learned.model


def _by_score(
    models: Iterable[tuple[int, LearnedModel]],
    validation: TestSet,
    metric: str,
    notes: list[str],
) -> RankSelection:
    """Choose by a score on validation strings."""
    scores = tuple((rank, evaluate(model, validation)) for rank, model in models)
    if metric == "log2_pauto" and not validation.target_is_true:
        notes.append(FLAT_WINS)
    best = best_rank(scores, metric)
    if not np.isfinite(getattr(dict(scores)[best], metric)):
        notes.append(
            f"No rank has a finite {metric}, so rank {best} was chosen by its number of "
            "weights of 0; choose by wer instead."
        )
    return RankSelection(best, metric, scores, tuple(notes))


def _by_criterion(
    models: Iterable[tuple[int, LearnedModel]], train: Sample, metric: str, notes: list[str]
) -> RankSelection:
    """Choose by AIC or BIC on the training strings."""
    criteria: list[tuple[int, InformationCriteria]] = []
    for rank, model in models:
        values = information_criteria(model, train)
        criteria.append((rank, values))
        if values.why_undefined:
            notes.append(f"Rank {rank}: {CRITERIA[metric]} undefined: {values.why_undefined}.")
        if not isinstance(model, WFA) and WEIGHTS_COUNT not in notes:
            notes.append(WEIGHTS_COUNT)
    best = best_by_criterion(criteria, metric)
    return RankSelection(best, metric, (), tuple(notes), tuple(criteria))


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


def best_by_criterion(criteria: Sequence[tuple[int, InformationCriteria]], name: str) -> int:
    """Choose the rank with the lowest AIC or BIC; of tied ranks, the smallest.

    Raises RecipeError if no rank has one.
    """
    defined = [(getattr(one, name), rank) for rank, one in criteria if not one.why_undefined]
    if not defined:
        rank, one = criteria[0]
        raise RecipeError(
            f"{CRITERIA[name]} is undefined for every rank; for rank {rank}: {one.why_undefined}"
        )
    return min(defined)[1]
