"""The recommended model: what docs/best.md's measurements recommend, chosen on validation strings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import RecipeError
from ..hankel.matrix import HankelMatrix
from ..learning.learners import Fit
from ..learning.names import needs_boundary
from ..learning.progress import CancelCheck, Progress, Report, never, silent
from ..learning.steps import Kept
from ..metrics.scores import next_symbol_score
from ..strings.sample import Sample
from .pipeline import build_hankel, fit_recipe
from .recipe import HankelRecipe, LearningRecipe, RefinementRecipe

RANKS = (1, 2, 3, 5, 10, 20, 40, 50, 100, 200, 500, 1000)
# Steps of training: few where candidates are compared, many for the one that is taken.
TRIED, TAKEN = 500, 5_000
MOST_EPOCHS = 300
BATCH = 250
# How networks are held back: dropout of states, and weight decay.
RESTRAINTS = ((0.0, 0.0), (0.0, 0.3), (0.05, 0.5), (0.2, 0.5))
# Trainings from few strings end in different places, and cost little: the long one begins so often.
FEW_STRINGS, STARTS = 1_000, 3


@dataclass(frozen=True)
class Candidate:
    """A way to learn, without its data."""

    hankel: HankelRecipe
    learning: LearningRecipe
    refinement: RefinementRecipe

    @property
    def title(self) -> str:
        third = self.refinement
        options = f", dropout {third.dropout:g}, weight decay {third.weight_decay:g}" if third.objective == "likelihood" else ""
        return f"{self.learning.learner}, {self.hankel.statistic} statistic, k = {self.learning.rank}{options}"


@dataclass(frozen=True, eq=False)
class Best:
    """What was chosen.

    Attributes
    ----------
    candidate : Candidate
    fit : Fit
    tried : tuple of (Candidate, float)
        Every candidate and its bits per symbol on the validation strings, in the order tried; the last networks are those with
        all their steps.
    """

    candidate: Candidate
    fit: Fit
    tried: tuple[tuple[Candidate, float], ...]


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
    matrices: dict[HankelRecipe, tuple[HankelMatrix, Kept]] = {}
    tried: list[tuple[Candidate, float]] = []
    best: tuple[float, Candidate, Fit] | None = None
    linear, networks = linear_of(max_states), networks_of(max_states, train, TRIED, RESTRAINTS, seed)
    starts = starts_of(train, seed)
    total = len(linear) + len(networks) + len(starts)

    def attempt(candidate: Candidate) -> float:
        nonlocal best
        report(Progress("candidates", len(tried), total))
        if candidate.hankel not in matrices:
            matrices[candidate.hankel] = build_hankel(train, candidate.hankel), Kept()
        hankel, kept = matrices[candidate.hankel]
        rank = min(candidate.learning.rank, hankel.num_prefixes, hankel.num_suffixes)
        learning = candidate.learning.changed(rank=rank)
        learned = fit_recipe(hankel, learning, candidate.refinement, (train, validation), kept, report, cancelled)
        bits = next_symbol_score(learned.model, validation).bits_per_symbol
        tried.append((candidate, bits))
        if np.isfinite(bits) and (best is None or bits < best[0]):
            best = (bits, candidate, learned)
        return bits if np.isfinite(bits) else np.inf

    for candidate in linear:
        attempt(candidate)
    winner = min(networks, key=attempt)
    restraint = (winner.refinement.dropout, winner.refinement.weight_decay)
    for start in starts:
        attempt(*networks_of(max_states, train, TAKEN, (restraint,), start))
    report(Progress("candidates", total, total))
    if best is None:
        raise RecipeError(
            "no model gives the validation strings a finite number of bits: are they of the same kind as the training ones?"
        )
    return Best(best[1], best[2], tuple(tried))


def linear_of(max_states: int) -> list[Candidate]:
    ranks = sorted({rank for rank in RANKS if rank <= max_states} | {max_states})
    hankels = [HankelRecipe(num_prefixes=1000, num_suffixes=1000, statistic=statistic) for statistic in ("string", "factor")]
    return [Candidate(hankel, LearningRecipe(learner="SP", rank=rank), RefinementRecipe()) for hankel in hankels for rank in ranks]


def starts_of(train: Sample, seed: int) -> range:
    """Seeds of the trainings among which validation strings choose."""
    return range(seed, seed + (STARTS if train.num_strings <= FEW_STRINGS else 1))


def networks_of(
    max_states: int, train: Sample, steps: int, restraints: Sequence[tuple[float, float]], seed: int
) -> list[Candidate]:
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
    return [
        Candidate(
            hankel,
            learning,
            RefinementRecipe(
                objective="likelihood",
                epochs=epochs,
                batch=batch,
                weight_decay=weight_decay,
                dropout=dropout,
                seed=seed,
            ),
        )
        for dropout, weight_decay in restraints
    ]
