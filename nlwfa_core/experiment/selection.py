"""What validation strings choose: a rank, or the recommended model with all its options (docs/best.md has the measurements)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import RecipeError
from ..hankel.matrix import HankelMatrix
from ..learning.learners import Fit, FitCache, check_rank
from ..learning.names import needs_boundary
from ..learning.progress import CancelCheck, Progress, Report, never, silent
from ..metrics.scores import RANK_METRICS, Scores, TestSet, evaluate, next_symbol_score
from ..metrics.seeds import badness
from ..strings.sample import Sample
from .pipeline import basis_notes, build_hankel, fit_recipe
from .recipe import HankelRecipe, LearningRecipe, Recipe, RefinementRecipe

LINEAR_RANKS = (1, 2, 3, 5, 10, 20, 40, 50, 100, 200, 500, 1000)
# Steps of training: few where candidates are compared, many for the one that is taken.
TRIED, TAKEN = 500, 5_000
MOST_EPOCHS = 300
BATCH = 250
# How networks are held back: dropout of states, and weight decay.
RESTRAINTS = ((0.0, 0.0), (0.0, 0.3), (0.05, 0.5), (0.2, 0.5))
# Trainings from few strings end in different places, and cost little: the long one begins so often.
FEW_STRINGS, STARTS = 1_000, 3


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
    recipe: Recipe | None = None,
    *,
    metric: str = "wer",
    report: Report = silent,
    cancelled: CancelCheck = never,
) -> RankSelection:
    """Learn with every rank, score on validation strings, and take the best rank, as the paper does ([P] §5).

    Parameters
    ----------
    train : Sample
    validation : TestSet
    ranks : sequence of int
    recipe : Recipe, optional
        The Hankel matrix, the learner and its options, and the refinement; not its rank and not its data.
    metric : str
        One of `RANK_METRICS`.

    Raises
    ------
    RecipeError
        If a rank is not possible, the list is empty, or the metric unknown.
    """
    if metric not in RANK_METRICS:
        raise RecipeError(f"metric: {metric!r} given, allowed: {', '.join(RANK_METRICS)}")
    if not ranks:
        raise RecipeError("ranks: none given, at least one needed")
    base = recipe or Recipe()
    recipes = [base.changed(learning=base.learning.changed(rank=rank)) for rank in ranks]
    hankel, cache = build_hankel(train, base.hankel), FitCache()
    for rank in ranks:  # all of them before the first is learned
        check_rank(hankel, rank)
    scores, notes = [], list(basis_notes(hankel, base.hankel))
    for number, (rank, one) in enumerate(zip(ranks, recipes, strict=True)):
        report(Progress("ranks", number, len(recipes)))
        learned = fit_recipe(one, hankel, (train, validation.sample), cache, report, cancelled)
        scores.append((rank, evaluate(learned.model, validation)))
        notes += (f"Rank {rank}: {message}" for message in learned.report.messages)

    return RankSelection(best_rank(scores, metric), metric, tuple(scores), tuple(notes))


def best_rank(scores: Sequence[tuple[int, Scores]], metric: str) -> int:
    """The rank of the lowest score: not finite is worse than any finite one; then fewer zeros, then the smaller rank win."""
    return min(scores, key=lambda entry: (badness([float(getattr(entry[1], metric))], [entry[1].num_zero]), entry[0]))[0]


@dataclass(frozen=True, eq=False)
class Best:
    """What was chosen.

    Attributes
    ----------
    recipe : Recipe
        Of the winner; like those below without data of its own.
    fit : Fit
    tried : tuple of (Recipe, float)
        Every candidate and its bits per symbol on the validation strings, in the order tried; the last networks are those with
        all their steps.
    """

    recipe: Recipe
    fit: Fit
    tried: tuple[tuple[Recipe, float], ...]


def candidate_title(recipe: Recipe) -> str:
    """What tells the candidates of `fit_best` apart.

    >>> candidate_title(Recipe())
    'SP, string statistic, k = 10'
    """
    third = recipe.refinement
    options = f", dropout {third.dropout:g}, weight decay {third.weight_decay:g}" if third.objective == "likelihood" else ""
    return f"{recipe.learning.learner}, {recipe.hankel.statistic} statistic, k = {recipe.learning.rank}{options}"


def fit_best(
    train: Sample, validation: Sample, max_states: int, *, seed: int = 0, report: Report = silent, cancelled: CancelCheck = never
) -> Best:
    """Learn a model of at most `max_states` states: the one with the fewest bits per symbol on the validation strings.

    Spectral learning with every rank and two statistics costs next to nothing and is always among them. The networks are NL-WFA
    with tanh in both steps and one layer a map, from rows of conditional probabilities, refined by likelihood; a short training
    says how much restraint the data need, a long one follows; from few strings three long ones, with other seeds.

    Raises
    ------
    RecipeError
        If the number is below 1, or a set of strings is empty.
    Cancelled
    """
    if max_states < 1:
        raise RecipeError(f"max-states: {max_states} given, at least 1 needed")
    if not len(train.words) or not len(validation.words):
        raise RecipeError("the best model is chosen on validation strings: training and validation strings are both needed")
    matrix: tuple[HankelRecipe, HankelMatrix, FitCache] | None = None  # the last one: candidates that share it follow each other
    tried: list[tuple[Recipe, float]] = []
    best: tuple[float, Recipe, Fit] | None = None
    linear, networks = linear_of(max_states), networks_of(max_states, train, TRIED, RESTRAINTS, seed)
    seeds = starts_of(train, seed)
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
        if np.isfinite(bits) and (best is None or bits < best[0]):
            best = (bits, candidate, learned)
        return bits if np.isfinite(bits) else np.inf

    for candidate in linear:
        attempt(candidate)
    winner = min(networks, key=attempt)
    restraint = (winner.refinement.dropout, winner.refinement.weight_decay)
    for first_seed in seeds:
        attempt(*networks_of(max_states, train, TAKEN, (restraint,), first_seed))
    report(Progress("candidates", total, total))
    if best is None:
        raise RecipeError(
            "no model gives the validation strings a finite number of bits: are they of the same kind as the training ones?"
        )
    return Best(best[1], best[2], tuple(tried))


def linear_of(max_states: int) -> list[Recipe]:
    ranks = sorted({rank for rank in LINEAR_RANKS if rank <= max_states} | {max_states})
    hankels = [HankelRecipe(num_prefixes=1000, num_suffixes=1000, statistic=statistic) for statistic in ("string", "factor")]
    return [Recipe(hankel=hankel, learning=LearningRecipe(learner="SP", rank=rank)) for hankel in hankels for rank in ranks]


def starts_of(train: Sample, seed: int) -> range:
    """Seeds of the trainings among which validation strings choose."""
    return range(seed, seed + (STARTS if train.num_strings <= FEW_STRINGS else 1))


def networks_of(max_states: int, train: Sample, steps: int, restraints: Sequence[tuple[float, float]], seed: int) -> list[Recipe]:
    """The networks that are tried: one for each dropout and weight decay, refined in about `steps` steps."""
    statistic, transform, learner = "prefix", "row", "both.non"
    bounded = needs_boundary(learner, statistic, transform)
    hankel = HankelRecipe(num_prefixes=500, num_suffixes=200, statistic=statistic, bounded=bounded, transform=transform)
    learning = LearningRecipe(
        learner=learner,
        rank=max_states,
        hidden=(1, 1, 1),
        width_transitions=0,
        epochs_factorisation=20,
        epochs_transitions=20,
        seed=seed,
    )
    strings = int(train.counts.sum())
    batch = int(np.clip(strings // 4, 1, BATCH))
    epochs = int(np.clip(round(steps * batch / strings), 1, MOST_EPOCHS))
    refinement = RefinementRecipe(objective="likelihood", epochs=epochs, batch=batch, seed=seed)
    return [
        Recipe(hankel=hankel, learning=learning, refinement=refinement.changed(dropout=dropout, weight_decay=weight_decay))
        for dropout, weight_decay in restraints
    ]
