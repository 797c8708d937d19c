"""EM of a PFA or an HMM that can be stopped after any iteration and continued later, as a search
under a time budget requires.

`pfa.fit_pfa` and `hmm.fit_hmm` train to the end (`loop`), with the same E and M steps. Except
before a split, iterations compute in float32, which takes less than half the time; sums of
logarithms are in float64.

Plain EM slows down where states are hard to tell apart. Over-relaxed EM (Salakhutdinov, Roweis
2003) goes further in the direction of each M step, by a length that increases while the likelihood
rises. If the likelihood falls, EM continues from the last M step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter

import numpy as np

from ...errors import RecipeError, check_at_least, check_between, check_one_of
from ...models.wfa import WFA
from ...rounding import on_one_thread
from ...strings.sample import Sample
from ...strings.words import Alphabet, FloatArray
from ..names import EM_STARTS, PSEUDO_COUNT
from ..progress import CancelCheck, never
from .hmm import random_hmm
from .pfa import random_pfas, spectral_pfa, split_states
from .prefix_tree import M, Models, PrefixTree

EM_FAMILIES = ("PFA", "HMM")
# A split start has an eighth of the states at first, and this many iterations before each split.
FIRST_SHARE = 8
ITERATIONS_BEFORE_SPLIT = 30
# Training has converged if the last half of its iterations (of at least this many) lowered the loss
# by less than this share, or if the share of iterations since the best one is too large.
FEWEST_ITERATIONS = 40
TOLERANCE = 6e-4
PATIENCE = 10
SHARE_WITHOUT_GAIN = 0.15
# Over-relaxed EM: by what factor the step grows in the search, the longest step, and the largest
# change of a probability that is continued, as a factor.
ACCELERATION = 1.2
LONGEST_STEP = 10
LARGEST_FACTOR = 100.0


@dataclass(frozen=True)
class EMRecipe:
    """The settings that determine a model that EM learns from some strings.

    Raises RecipeError if a number is out of range, or a name is unknown.
    """

    learner: str  # one of `EM_FAMILIES`
    num_states: int
    start: str = "random"  # one of `learning.names.EM_STARTS`; for an HMM, only "random"
    seed: int = 0
    pseudo_count: float = PSEUDO_COUNT  # as in `pfa.PFATraining`
    iterations: int = 0  # iterations of EM on the training strings without the validation strings
    iterations_on_all: int = 0  # iterations of plain EM on all strings, after those
    # the factor by which the step of over-relaxed EM grows with each iteration that raised the
    # likelihood; 1 for plain EM
    acceleration: float = 1.0

    def __post_init__(self) -> None:
        check_one_of("learner", self.learner, EM_FAMILIES)
        check_one_of("em_start", self.start, EM_STARTS)
        if self.learner == "HMM" and self.start != "random":
            raise RecipeError(
                f"EM of an HMM can start only at random probabilities; got the start {self.start!r}"
            )
        for name, least in (
            ("num_states", 1),
            ("seed", 0),
            ("pseudo_count", 0),
            ("iterations", 0),
            ("iterations_on_all", 0),
        ):
            check_at_least(name, getattr(self, name), least)
        check_between("acceleration", self.acceleration, 1, LONGEST_STEP)


@dataclass(eq=False)
class _Course:
    """The state of EM: the current model, and the next step."""

    recipe: EMRecipe
    result: Models  # the model of the last M step
    position: Models  # where the next E step is: the model of the last M step, or a point beyond it
    step: float = 1.0  # how many times as far as EM the next iteration goes
    # of the training strings, at the last position from which EM continued; −∞ if it is not known
    log_likelihood: float = -np.inf

    def advance(self, tree: PrefixTree) -> bool:
        """Run an iteration.

        Returns whether there is a new result; there is none if the last step went too far.
        """
        expected = tree.expect(self.position)
        reached = float(expected.log_likelihoods[0])
        if self.position is not self.result and not reached > self.log_likelihood:
            self.position = self.result
            self.step = 1.0
            self.log_likelihood = -np.inf
            return False
        self.log_likelihood = reached
        before = self.position
        self.result = self.position = expected.maximised(self.recipe.pseudo_count)
        if self.step > 1:
            self.position = over_relaxed(before, self.result, self.step)
        self.step = min(self.step * self.recipe.acceleration, LONGEST_STEP)
        return True


def over_relaxed(before: M, after: M, step: float) -> M:
    """Go further from one model in the direction of another: probabilities in proportion to after ·
    (after / before)^(step − 1).

    With a step of 1, the result is the model after the M step. Source: Salakhutdinov, Roweis
    (2003), "Adaptive overrelaxed bound optimization methods", §3.
    """

    def beyond(old: FloatArray, new: FloatArray) -> FloatArray:
        tiny = np.finfo(new.dtype).tiny
        factors = np.clip(
            np.maximum(new, tiny) / np.maximum(old, tiny), 1 / LARGEST_FACTOR, LARGEST_FACTOR
        )
        product: FloatArray = new * factors ** new.dtype.type(step - 1)
        return product

    counts = type(after)(*map(beyond, before.arrays, after.arrays))
    return counts.normalised()


@dataclass(eq=False)
class EMTraining:
    """A training run: the state of EM, the best model on the validation strings, and the losses."""

    recipe: EMRecipe  # without iterations; `result_recipe` has those of the best model
    # the current model and the next step; None before the first iteration
    course: _Course | None = None
    best: Models | None = None  # the best model; None before the first iteration
    # the bits per symbol on the validation strings after each iteration
    losses: list[float] = field(default_factory=list)
    seconds: float = 0.0  # time spent so far, by `timer`
    # returns a time in seconds: `time.perf_counter` or `time.thread_time`
    timer: Callable[[], float] = perf_counter

    @property
    def loss(self) -> float:
        """Return the bits per symbol of the best model on the validation strings, ∞ before the
        first iteration.
        """
        return min(self.losses, default=np.inf)

    @property
    def result_recipe(self) -> EMRecipe:
        """Return the recipe of the best model."""
        return replace(
            self.recipe, iterations=int(np.argmin(self.losses)) + 1 if self.losses else 0
        )

    @property
    def seconds_per_iteration(self) -> float:
        """Return the mean time of an iteration."""
        return self.seconds / max(len(self.losses), 1)

    @property
    def gain(self) -> float:
        """Return the amount by which the last half of the iterations lowered the loss."""
        return (
            min(self.losses[: max(len(self.losses) // 2, 1)], default=np.inf) - self.loss
            if self.losses
            else np.inf
        )

    @property
    def forecast(self) -> float:
        """Estimate the loss after twice as many iterations, assuming that the new iterations gain
        as much as the last half did; ∞ at the start.
        """
        return self.loss if not self.losses or self.has_converged else self.loss - self.gain

    @property
    def has_converged(self) -> bool:
        """Return whether further iterations are expected to lower the loss by very little."""
        number = len(self.losses)
        if not number:
            return False
        late = number - 1 - int(np.argmin(self.losses)) >= max(
            PATIENCE, SHARE_WITHOUT_GAIN * number
        )
        return late or (number >= FEWEST_ITERATIONS and self.gain < TOLERANCE * self.loss)

    def advance(
        self,
        train: Sample,
        trees: tuple[PrefixTree, PrefixTree],
        iterations: int,
        is_over: CancelCheck = never,
    ) -> EMTraining:
        """Run iterations of EM until they are done, training has converged, or `is_over()` returns
        true. Returns itself.

        `train`: for spectral starts. `trees`: the trees of the training and of the validation
        strings.
        """
        tree, held_out = trees
        started = self.timer()
        if self.course is None and (start := _start(self.recipe, train, tree, is_over)) is not None:
            self.course = _Course(self.recipe, start, start)
        for _ in range(iterations):
            if self.course is None or self.has_converged or is_over():
                break
            if not self.course.advance(tree) and self.losses:
                self.losses.append(self.losses[-1])
                continue
            models = self.course.result
            loss = float(-held_out.log_likelihoods(models)[0] / held_out.num_predictions)
            if self.best is None or loss < self.loss:
                self.best = models
            self.losses.append(loss if np.isfinite(loss) else np.inf)
        self.seconds += self.timer() - started
        return self


def _start(
    recipe: EMRecipe, train: Sample, tree: PrefixTree, is_over: CancelCheck
) -> Models | None:
    """Make the model before the first iteration, in float32; None if the time is over before a
    split start has all its states.
    """
    models = _exact_start(recipe, train, tree, is_over)
    return None if models is None else models.astype(np.float32)


def _exact_start(
    recipe: EMRecipe, train: Sample, tree: PrefixTree, is_over: CancelCheck
) -> Models | None:
    rng = np.random.default_rng(recipe.seed)
    if recipe.learner == "HMM":
        return random_hmm(tree, recipe.num_states, rng)
    if recipe.start == "spectral":
        return spectral_pfa(train, recipe.num_states, rng)
    if recipe.start == "random":
        return random_pfas(tree, 1, recipe.num_states, rng)
    models = random_pfas(tree, 1, max(1, recipe.num_states // FIRST_SHARE), rng)
    while models.num_states < recipe.num_states:
        for _ in range(ITERATIONS_BEFORE_SPLIT):
            if is_over():
                return None
            models = tree.expect(models).maximised(recipe.pseudo_count)
        models = split_states(models, recipe.num_states, tree, rng)
    return models


def continued(
    recipe: EMRecipe, models: M, tree: PrefixTree, is_over: CancelCheck = never
) -> tuple[M, int]:
    """Run `recipe.iterations_on_all` iterations on the tree of all strings, but none after
    `is_over()` has returned true.

    Returns `models`. `iterations`: the number that were run.
    """
    for iteration in range(recipe.iterations_on_all):
        if is_over():
            return models, iteration
        expected = tree.expect(models)
        # one of the further strings is not possible
        if not np.isfinite(expected.log_likelihoods).all():
            return models, iteration
        models = expected.maximised(recipe.pseudo_count)
    return models, recipe.iterations_on_all


@on_one_thread
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
        If the recipe has iterations on all strings, and these strings were not passed.
    """
    if recipe.iterations_on_all and everything is None:
        raise RecipeError(
            f"the recipe has {recipe.iterations_on_all} iterations on all strings: "
            "also pass these strings"
        )
    tree = PrefixTree(train)
    models = _start(recipe, train, tree, never)
    assert models is not None  # there is no time limit here
    course = _Course(recipe, models, models)
    for _ in range(recipe.iterations):
        course.advance(tree)
    models = course.result
    if everything is not None:
        models, _ = continued(recipe, models, PrefixTree(everything))
    return automaton(models, train.alphabet)


def automaton(models: Models, alphabet: Alphabet) -> WFA:
    """Convert the first of some models to a WFA in float64, whose probabilities sum to 1 up to the
    rounding of float64.
    """
    exact = models.take(np.arange(1)).astype(np.float64).normalised()
    return replace(exact.automaton(0), alphabet=alphabet)
