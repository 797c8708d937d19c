"""EM of a PFA or an HMM that can stop after any iteration and be continued later, as a search under a time budget needs it.

`pfa.fit_pfa` and `hmm.fit_hmm` train to the end instead. The E step is that of `pfa`; an HMM is a PFA whose moves do not depend on
the symbol. Iterations compute in float32, which takes less than half the time; sums of logarithms are in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter

import numpy as np
import numpy.typing as npt

from ..errors import RecipeError, check_at_least, check_one_of
from ..models.wfa import WFA
from ..strings.sample import Sample
from ..strings.words import Alphabet, FloatArray
from .names import EM_STARTS, PSEUDO_COUNT
from .pfa import MoveTree, PFAExpectations, PFAs, random_hmms, random_pfas, spectral_pfa, split_states

EM_FAMILIES = ("PFA", "HMM")
# A split start has an eighth of the states at first, and this many iterations before each split.
FIRST_SHARE, ITERATIONS_BEFORE_SPLIT = 8, 30
# Training has converged if the last half of its iterations (of at least this many) lowered the loss by less than this share, or if
# the share of iterations since the best one is too large.
FEWEST_ITERATIONS, TOLERANCE = 40, 6e-4
PATIENCE, SHARE_WITHOUT_GAIN = 10, 0.15


@dataclass(frozen=True)
class EMRecipe:
    """What determines a model that EM learns from some strings.

    Attributes
    ----------
    learner : str
        One of `EM_FAMILIES`.
    num_states : int
    start : str
        One of `names.EM_STARTS`; for an HMM, only "random".
    seed : int
    pseudo_count : float
        As in `pfa.PFATraining`.
    iterations : int
        Iterations of EM on the training strings without the validation strings.
    iterations_on_all : int
        Iterations after these on all strings.

    Raises
    ------
    RecipeError
        If a number is not possible, or a name is unknown.
    """

    learner: str
    num_states: int
    start: str = "random"
    seed: int = 0
    pseudo_count: float = PSEUDO_COUNT
    iterations: int = 0
    iterations_on_all: int = 0

    def __post_init__(self) -> None:
        check_one_of("learner", self.learner, EM_FAMILIES)
        check_one_of("em_start", self.start, EM_STARTS)
        if self.learner == "HMM" and self.start != "random":
            raise RecipeError(f"EM of an HMM starts at random probabilities only; got the start {self.start!r}")
        for name, least in (("num_states", 1), ("seed", 0), ("pseudo_count", 0), ("iterations", 0), ("iterations_on_all", 0)):
            check_at_least(name, getattr(self, name), least)


def never_over() -> bool:
    """Say that there is time left."""
    return False


@dataclass(eq=False)
class EMTraining:
    """A training: the current model, the best one by the validation strings, and how the loss fell.

    Attributes
    ----------
    recipe : EMRecipe
        Without iterations; `result_recipe` has those of the best model.
    models, best : PFAs or None
        The current and the best model; None before the first iteration.
    losses : list of float
        The bits per symbol on the validation strings after each iteration.
    seconds : float
        Time spent so far, by `timer`.
    timer : callable
        Returns a time in seconds: `time.perf_counter` or `time.thread_time`.
    """

    recipe: EMRecipe
    models: PFAs | None = None
    best: PFAs | None = None
    losses: list[float] = field(default_factory=list)
    seconds: float = 0.0
    timer: Callable[[], float] = perf_counter

    @property
    def loss(self) -> float:
        """Return the bits per symbol of the best model on the validation strings, ∞ before the first iteration."""
        return min(self.losses, default=np.inf)

    @property
    def result_recipe(self) -> EMRecipe:
        """Return the recipe of the best model."""
        return replace(self.recipe, iterations=int(np.argmin(self.losses)) + 1 if self.losses else 0)

    @property
    def seconds_per_iteration(self) -> float:
        """Return the mean time of an iteration."""
        return self.seconds / max(len(self.losses), 1)

    @property
    def gain(self) -> float:
        """Return by how much the last half of the iterations lowered the loss."""
        return min(self.losses[: max(len(self.losses) // 2, 1)], default=np.inf) - self.loss if self.losses else np.inf

    @property
    def forecast(self) -> float:
        """Return the loss that as many iterations again would reach if each half gains as much as the last; ∞ at the start."""
        return self.loss if not self.losses or self.has_converged else self.loss - self.gain

    @property
    def has_converged(self) -> bool:
        """Return whether further iterations would hardly help."""
        number = len(self.losses)
        if not number:
            return False
        late = number - 1 - int(np.argmin(self.losses)) >= max(PATIENCE, SHARE_WITHOUT_GAIN * number)
        return late or (number >= FEWEST_ITERATIONS and self.gain < TOLERANCE * self.loss)

    def advance(
        self, train: Sample, trees: tuple[MoveTree, MoveTree], iterations: int, is_over: Callable[[], bool] = never_over
    ) -> EMTraining:
        """Run iterations of EM until they are done, training has converged, or `is_over()` returns true. Returns itself.

        Parameters
        ----------
        train : Sample
            For spectral starts.
        trees : (MoveTree, MoveTree)
            Of the training and of the validation strings.
        """
        tree, held_out = trees
        started = self.timer()
        if self.models is None:
            self.models = _single(_start(self.recipe, train, tree, is_over))
        for _ in range(iterations):
            if self.models is None or self.has_converged or is_over():
                break
            self.models = maximised(self.recipe, tree.expect(self.models))
            loss = float(-held_out.log_likelihoods(self.models)[0] / held_out.num_predictions)
            if self.best is None or loss < self.loss:
                self.best = self.models
            self.losses.append(loss if np.isfinite(loss) else np.inf)
        self.seconds += self.timer() - started
        return self


def maximised(recipe: EMRecipe, expected: PFAExpectations) -> PFAs:
    """Carry out the M step of a recipe's learner."""
    if recipe.learner == "HMM":
        return expected.maximised_as_hmms(recipe.pseudo_count)
    return expected.maximised(recipe.pseudo_count)


def _start(recipe: EMRecipe, train: Sample, tree: MoveTree, is_over: Callable[[], bool]) -> PFAs | None:
    """Make the model before the first iteration; None if the time is over before a split start has all its states."""
    rng = np.random.default_rng(recipe.seed)
    if recipe.learner == "HMM":
        return random_hmms(tree, 1, recipe.num_states, rng)
    if recipe.start == "spectral":
        return spectral_pfa(train, recipe.num_states, rng)
    if recipe.start == "random":
        return random_pfas(tree, 1, recipe.num_states, rng)
    models = random_pfas(tree, 1, max(1, recipe.num_states // FIRST_SHARE), rng)
    while models.initial.shape[1] < recipe.num_states:
        for _ in range(ITERATIONS_BEFORE_SPLIT):
            if is_over():
                return None
            models = maximised(recipe, tree.expect(models))
        models = split_states(models, recipe.num_states, tree, rng)
    return models


def continued(recipe: EMRecipe, models: PFAs, tree: MoveTree, is_over: Callable[[], bool] = never_over) -> tuple[PFAs, int]:
    """Run `recipe.iterations_on_all` iterations on the tree of all strings, but none after `is_over()` returned true.

    Returns
    -------
    models : PFAs
    iterations : int
        How many were run.
    """
    for iteration in range(recipe.iterations_on_all):
        if is_over():
            return models, iteration
        models = maximised(recipe, tree.expect(models))
    return models, recipe.iterations_on_all


def fit_em(recipe: EMRecipe, train: Sample, everything: Sample | None = None) -> WFA:
    """Learn the model of a recipe again.

    Parameters
    ----------
    recipe : EMRecipe
    train : Sample
        The training strings without the validation strings.
    everything : Sample, optional
        All strings; needed for `iterations_on_all`.

    Raises
    ------
    RecipeError
        If the recipe has iterations on all strings, and they were not passed.
    """
    if recipe.iterations_on_all and everything is None:
        raise RecipeError(f"the recipe has {recipe.iterations_on_all} iterations on all strings: pass them, too")
    tree = MoveTree(train)
    models = _single(_start(recipe, train, tree, never_over))
    assert models is not None  # there is no end of time here
    for _ in range(recipe.iterations):
        models = maximised(recipe, tree.expect(models))
    if everything is not None:
        models, _ = continued(recipe, models, MoveTree(everything))
    return automaton(models, train.alphabet)


def _single(models: PFAs | None) -> PFAs | None:
    """Convert to float32."""
    if models is None:
        return None
    return PFAs(*(_with_dtype(part, np.float32) for part in (models.initial, models.transitions, models.termination)))


def _with_dtype(array: FloatArray, dtype: npt.DTypeLike) -> FloatArray:
    converted: FloatArray = array.astype(dtype)
    return converted


def automaton(models: PFAs, alphabet: Alphabet) -> WFA:
    """Convert the first of some models to a WFA in float64, whose probabilities sum to 1 as exactly."""
    exact = PFAs.of_counts(*(part[:1].astype(np.float64) for part in (models.initial, models.transitions, models.termination)))
    return replace(exact.automaton(0), alphabet=alphabet)
