"""Chooses by validation strings: a rank, or the recommended model with all its options.

docs/best.md has the measurements behind the recommendation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import RecipeError, check_at_least, check_one_of, check_types
from ..hankel.matrix import HankelMatrix
from ..learning.fitting import Fit, StringFit, fit_strings
from ..learning.learners import options
from ..learning.progress import BITS, CancelCheck, Progress, Report, never, silent
from ..learning.two_steps import FitCache, check_rank
from ..metrics.scores import (
    FLAT_WINS,
    SCORE_OF,
    SELECTION_METRICS,
    Scores,
    TestSet,
    evaluate,
    next_symbol_score,
)
from ..metrics.seeds import badness
from ..strings.plain import SampleLike, as_sample
from ..strings.sample import Sample
from .pipeline import basis_notes, build_hankel, fit_recipe
from .presets import PAPER
from .recipe import HankelRecipe, Recipe

# Ranks of the linear candidates.
LINEAR_RANKS = (1, 2, 3, 5, 10, 20, 40, 50, 100, 200, 500, 1000)
# Training steps: few to compare networks, many for the chosen one.
SHORT_STEPS, LONG_STEPS = 500, 5_000
MAX_EPOCHS = 300
MAX_BATCH = 250
# What networks are regularised by: dropout of states, and weight decay.
REGULARISATIONS = ((0.0, 0.0), (0.0, 0.3), (0.05, 0.5), (0.2, 0.5))
# With few strings, trainings from different seeds end in different models and cost little, so there
# are several long ones.
FEW_STRINGS, LONG_TRAININGS = 1_000, 3


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
        The parts for the Hankel matrix, learning and refinement are used, except for the rank; the
        part for the data is not. By default it is SP with a basis of 1000 × 1000.
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
        learned: Fit | StringFit
        if hankel is None:
            learned = fit_strings(
                train,
                one.learning,
                validation=validation.sample,
                report=report,
                cancelled=cancelled,
            )
        else:
            learned = fit_recipe(one, hankel, (train, validation.sample), cache, report, cancelled)
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


@dataclass(frozen=True, eq=False)
class Best:
    """The model that `fit_best` chose.

    Attributes
    ----------
    recipe : Recipe
        The matrix, learner and refinement that were chosen. The part `data` of this recipe, and of
        those in `candidates`, is only the default: it does not say where the strings came from.
    fit : Fit
        The model, and the report of its learning.
    candidates : tuple of (Recipe, float)
        Every recipe that was tried and its model's bits per symbol on the validation strings, in
        the order of training: linear models, networks trained briefly, and at the end networks
        trained for longer.
    """

    recipe: Recipe
    fit: Fit
    candidates: tuple[tuple[Recipe, float], ...]


def candidate_title(recipe: Recipe) -> str:
    """Name a candidate of `fit_best` by the settings in which candidates differ.

    >>> candidate_title(Recipe())
    'SP, string statistic, k = 10'
    """
    values = recipe.learning.fields()
    refined = (
        f", dropout {values['dropout']:g}, weight decay {values['weight_decay']:g}"
        if "weight_decay" in values
        else ""
    )
    return (
        f"{recipe.learning.learner}, {recipe.hankel.statistic} statistic, k = "
        f"{recipe.learning.rank}{refined}"
    )


def _ignore(title: str, progress: Progress) -> None:
    pass


@check_types
def fit_best(
    train: SampleLike,
    validation: SampleLike,
    max_states: int,
    *,
    seed: int = 0,
    report: Report = silent,
    cancelled: CancelCheck = never,
    each: Callable[[str, Progress], None] = _ignore,
) -> Best:
    """Learn many models of at most `max_states` states, and return the one with the fewest bits per
    symbol on validation strings.

    The first candidates are linear models from spectral learning with many ranks and two
    statistics, which takes little time. The others are networks: NL-WFA with tanh in both steps and
    one layer per map, which learn from rows of conditional probabilities and are refined by
    likelihood. Short trainings choose the dropout and the weight decay. They are followed by a long
    training with these values or, if there are few strings, by LONG_TRAININGS of them with
    different seeds.

    Parameters
    ----------
    each : callable
        Called when a candidate is scored, with its title and a Progress: how many candidates were
        scored, and its bits per symbol.

    Raises
    ------
    RecipeError
        If `max_states` is below 1, or there are no training or no validation strings.
    Cancelled

    Examples
    --------
    >>> from nlwfa_core import as_sample, fit_best
    >>> best = fit_best(
    ...     as_sample(["ab", "b", "aab"] * 5), as_sample(["ab", "b"]), 1
    ... )  # doctest: +SKIP
    >>> best.fit.model.num_states  # doctest: +SKIP
    1
    """
    check_at_least("max-states", max_states, 1)
    train = as_sample(train, name="train")
    validation = as_sample(
        validation, None if isinstance(validation, Sample) else train.alphabet, "validation"
    )
    if not len(train.words) or not len(validation.words):
        raise RecipeError(
            "choosing the best model needs both training and validation strings; "
            f"got {len(train.words):,} and {len(validation.words):,}"
        )
    # The last candidate's matrix: candidates that share one follow each other.
    matrix: tuple[HankelRecipe, HankelMatrix, FitCache] | None = None
    tried: list[tuple[Recipe, float]] = []
    best: tuple[float, Recipe, Fit] | None = None
    linear, networks = (
        linear_candidates(max_states),
        network_candidates(max_states, train, SHORT_STEPS, REGULARISATIONS, seed),
    )
    seeds = long_training_seeds(train, seed)
    total = len(linear) + len(networks) + len(seeds)

    def attempt(candidate: Recipe) -> float:
        nonlocal best, matrix
        report(Progress("candidates", len(tried), total))
        if matrix is None or matrix[0] != candidate.hankel:
            matrix = candidate.hankel, build_hankel(train, candidate.hankel), FitCache()
        _, hankel, cache = matrix
        rank = min(candidate.learning.rank, hankel.num_prefixes, hankel.num_suffixes)
        possible = candidate.changed(learning=candidate.learning.changed(rank=rank))
        learned = fit_recipe(possible, hankel, (train, validation), cache, report, cancelled)
        bits = next_symbol_score(learned.model, validation).bits_per_symbol
        tried.append((candidate, bits))
        each(candidate_title(candidate), Progress("candidates", len(tried), total, bits, BITS))
        if np.isfinite(bits) and (best is None or bits < best[0]):
            best = (bits, candidate, learned)
        return bits if np.isfinite(bits) else np.inf

    for candidate in linear:
        attempt(candidate)
    winner = min(networks, key=attempt)
    values = winner.learning.fields()
    regularisation = (values["dropout"], values["weight_decay"])
    for first_seed in seeds:
        attempt(*network_candidates(max_states, train, LONG_STEPS, (regularisation,), first_seed))
    report(Progress("candidates", total, total))
    if best is None:
        raise RecipeError(
            "no model assigns the validation strings a finite number of bits: "
            "do they come from the same source as the training strings?"
        )
    return Best(best[1], best[2], tuple(tried))


def linear_candidates(max_states: int) -> list[Recipe]:
    """Make the recipes of the linear candidates, which have up to `max_states` states."""
    ranks = sorted({rank for rank in LINEAR_RANKS if rank <= max_states} | {max_states})
    hankels = [
        HankelRecipe(num_prefixes=1000, num_suffixes=1000, statistic=statistic)
        for statistic in ("string", "factor")
    ]
    return [
        Recipe(hankel=hankel, learning=options("SP", rank=rank))
        for hankel in hankels
        for rank in ranks
    ]


def long_training_seeds(train: Sample, seed: int) -> range:
    """Choose the seeds of the long trainings: several if there are few training strings, and
    otherwise one.
    """
    return range(seed, seed + (LONG_TRAININGS if train.num_strings <= FEW_STRINGS else 1))


def network_candidates(
    max_states: int,
    train: Sample,
    steps: int,
    regularisations: Sequence[tuple[float, float]],
    seed: int,
) -> list[Recipe]:
    """Make the recipes of the networks, one for each pair of dropout and weight decay, which are
    refined in about `steps` steps.
    """
    hankel = HankelRecipe(
        num_prefixes=500,
        num_suffixes=200,
        statistic="prefix",
        bounded=True,
        transform="row",
    )
    strings = int(train.counts.sum())
    batch = int(np.clip(strings // 4, 1, MAX_BATCH))
    epochs = int(np.clip(round(steps * batch / strings), 1, MAX_EPOCHS))
    learning = options(
        "both.non",
        **{**PAPER, "epochs_factorisation": 20, "epochs_transitions": 20},
        rank=max_states,
        hidden=(1, 1, 1),
        width_transitions=0,
        seed=seed,
        refine="likelihood",
        epochs_refinement=epochs,
        batch=batch,
        refinement_seed=seed,
    )
    return [
        Recipe(
            hankel=hankel,
            learning=learning.changed(dropout=dropout, weight_decay=weight_decay),
        )
        for dropout, weight_decay in regularisations
    ]
