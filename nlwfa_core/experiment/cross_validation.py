"""K-fold cross-validation: every string is scored once, by a model that was learned from the
strings of the other folds.

A single split into training and validation strings judges a rank by one random draw.
Cross-validation uses every string for both purposes, but has to train once per fold. A string that
occurs three times counts as three strings, which may end up in different folds. No further strings
are set aside within a fold, so learners that stop early by validation strings have none
(`pipeline.validation_notes`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import RecipeError, check_between, check_one_of, check_types, plural
from ..hankel.estimate import build_hankel
from ..learning.fitting import fit
from ..learning.progress import CancelCheck, Progress, Report, check_cancelled, never, silent
from ..learning.two_steps import FitCache, check_rank
from ..metrics.evaluate import evaluate
from ..metrics.score_table import MAIN_SCORES, METRICS, SCORE_OF, Scores
from ..metrics.seeds import Spread, badness
from ..metrics.tables import format_score
from ..metrics.testset import TestSet
from ..models.model import Model
from ..strings.plain import SampleLike, as_sample
from ..strings.sample import Sample
from ..strings.words import Words
from .notes import basis_notes
from .recipe import Recipe

RANKS_SHOWN = 8  # in the repr
Fold = tuple[Sample, Sample]  # training strings, and the strings that are held out


@dataclass(frozen=True)
class CrossValidation:
    """The scores of one or more ranks on all folds.

    Attributes
    ----------
    scores : tuple of (rank, tuple of Scores)
        For each rank, in the order in which the ranks were passed, the scores on the held-out
        strings of each fold.
    notes : tuple of str
        Sentences for the user about the bases and about learning, each of which names its fold.
    """

    scores: tuple[tuple[int, tuple[Scores, ...]], ...]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Write a line for each of the first `RANKS_SHOWN` ranks: the means over the folds."""
        number = len(self.scores[0][1]) if self.scores else 0
        lines = [f"{plural(number, 'fold')}, means over the folds"]
        for rank, _ in self.scores[:RANKS_SHOWN]:
            cells = []
            for score in MAIN_SCORES:
                spread = self.spread(rank, score.field)
                mean = math.inf if spread.num_infinite else spread.mean
                cells.append(f"{score.short_title} {format_score(mean)}")
            lines.append(f"rank {rank}: {', '.join(cells)}")
        if len(self.scores) > RANKS_SHOWN:
            lines.append(f"… and {plural(len(self.scores) - RANKS_SHOWN, 'more rank')}")
        return "\n".join(lines)

    def spread(self, rank: int, metric: str) -> Spread:
        """Compute the mean and standard deviation of a score over the folds.

        Raises RecipeError if the rank was not tried.
        """
        return Spread.of(self._values(rank, metric))

    def best_rank(self, metric: str = "wer") -> int:
        """Choose the rank with the best mean score over the folds, in the order of
        `metrics.seeds.badness`.

        Of tied ranks, the smallest is chosen. Raises RecipeError if the metric is not one of
        `metrics.score_table.METRICS`.
        """
        check_one_of("metric", metric, [score.field for score in METRICS])
        sign = -1 if SCORE_OF[metric].higher_is_better else 1

        def order(rank: int) -> tuple[tuple[int, float, float], int]:
            zeros = [scores.num_zero for scores in self._of(rank)]
            return badness([sign * value for value in self._values(rank, metric)], zeros), rank

        return min((rank for rank, _ in self.scores), key=order)

    def _of(self, rank: int) -> tuple[Scores, ...]:
        for tried, scores in self.scores:
            if tried == rank:
                return scores
        raise RecipeError(
            f"rank must be one of {', '.join(str(tried) for tried, _ in self.scores)}; got {rank}"
        )

    def _values(self, rank: int, metric: str) -> list[float]:
        return [
            float(value)
            for scores in self._of(rank)
            if (value := getattr(scores, metric)) is not None
        ]


def folds(sample: Sample, number: int, seed: int = 0) -> list[Fold]:
    """Split a sample at random into folds whose sizes differ by at most 1.

    `number`: the number of folds: at least 2, and at most the number of strings. `seed`: the same
    seed gives the same folds.

    Returns, for each fold, the training strings, which are those of all other folds, and the
    strings of the fold, which are held out.

    Raises RecipeError if the number of folds is out of range.
    """
    total = int(sample.counts.sum())
    check_between("folds", number, 2, total, "at most one for each string")
    parts = sample.split(
        [total // number + (fold < total % number) for fold in range(number)], seed
    )
    cut = []
    for fold, held_out in enumerate(parts):
        others = [part for other, part in enumerate(parts) if other != fold]
        words = Words.joined([part.words for part in others])
        counts = np.concatenate([part.counts for part in others])
        cut.append((Sample.of(words, sample.alphabet, counts), held_out))
    return cut


@check_types
def cross_validate(
    sample: SampleLike,
    recipe: Recipe,
    number: int = 5,
    *,
    ranks: Sequence[int] = (),
    seed: int = 0,
    true_model: Model | None = None,
    report: Report = silent,
    cancelled: CancelCheck = never,
) -> CrossValidation:
    """For each fold, learn from the strings of all other folds and score the model on the strings
    of this fold.

    Parameters
    ----------
    sample : Sample, or strings as `strings.plain.as_sample` takes them
        All strings.
    recipe : Recipe
        The parts for the Hankel matrix, learning and refinement are used; the part for the data is
        not.
    number : int
        The number of folds.
    ranks : sequence of int
        The ranks to try; by default only the recipe's. The matrix of a fold is built once for all
        of them.
    seed : int
        The seed with which strings are assigned to folds. The seeds for learning are the recipe's.
    true_model : Model, optional
        The model that generated the strings, if it is known. Scores then compare with its
        probabilities (see `TestSet.of`).

    Raises
    ------
    RecipeError
        If there are too few strings for the folds, or a rank is not possible in a fold.
    Cancelled
        If `cancelled()` returns true.

    Examples
    --------
    >>> from nlwfa_core import DataRecipe, HankelRecipe
    >>> from nlwfa_core.experiment.datasets import load_data
    >>> strings = load_data(DataRecipe(num_strings=200)).train
    >>> recipe = Recipe(hankel=HankelRecipe(num_prefixes=20, num_suffixes=20))
    >>> cross_validate(strings, recipe, 4, ranks=(1, 2)).best_rank("wer")
    2
    """
    recipes = [
        recipe.changed(learning=recipe.learning.changed(rank=rank))
        for rank in ranks or (recipe.learning.rank,)
    ]
    scores: list[list[Scores]] = [[] for _ in recipes]
    notes: list[str] = []
    for fold, (train, held_out) in enumerate(folds(as_sample(sample), number, seed)):
        hankel = None
        cache = FitCache()
        if recipe.learning.needs_hankel:
            hankel = build_hankel(train, recipe.hankel)
            for one in recipes:  # all ranks, before hours of training with the first
                check_rank(hankel, one.learning.rank)
            notes += (f"Fold {fold + 1}: {note}" for note in basis_notes(hankel, recipe.hankel))
        test = TestSet.of(held_out.words, held_out.alphabet, held_out.counts, true_model=true_model)
        for place, one in enumerate(recipes):
            check_cancelled(cancelled)
            report(Progress("folds", fold * len(recipes) + place, number * len(recipes)))
            learned = fit(
                train if hankel is None else hankel,
                one.learning,
                strings=None if hankel is None else train,
                cache=cache,
                report=report,
                cancelled=cancelled,
            )
            scores[place].append(evaluate(learned.model, test))
            notes += (
                f"Fold {fold + 1}, rank {one.learning.rank}: {message}"
                for message in learned.report.messages
            )
    report(Progress("folds", number * len(recipes), number * len(recipes)))
    by_rank = tuple(
        (one.learning.rank, tuple(own)) for one, own in zip(recipes, scores, strict=True)
    )
    return CrossValidation(by_rank, tuple(notes))
