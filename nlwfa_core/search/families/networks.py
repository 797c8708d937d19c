"""NL-WFA trained by likelihood, which is better and faster where ranks grow
(`learning.likelihood.path`), and NL-WFA refined by likelihood, with a number of steps that can be
chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial

import numpy as np

from ... import limits
from ...errors import Cancelled
from ...experiment.presets import PAPER
from ...experiment.recipe import Recipe
from ...hankel.estimate import build_hankel
from ...hankel.recipe import HankelRecipe
from ...learning.fitting import fit
from ...learning.learners import BothNon, options
from ...learning.likelihood.many_symbols import GENERATIONS, MOST_DRAWN, MOST_PREDICTIONS
from ...learning.likelihood.network import Network
from ...learning.likelihood.newton import MOST_WEIGHTS, is_large
from ...learning.likelihood.path import FRESH_UP_TO, WIDTH, Path
from ...learning.progress import Progress
from ...learning.two_steps import FitCache
from ...metrics.evaluate import bits_per_symbol
from ...models.model import Model
from ...strings.sample import Sample
from ..candidates import Candidate
from ..mixing import MOST_SCORES
from .em import EMTrainings
from .family import FEW_STRINGS, RANKS, SMALLEST_GAIN, Family, SearchState, Task

NAME = "both.non"
# How far a network may be from what other models promise (as a share of the bits) for a longer
# training run to follow.
NETWORK_MARGIN = 0.05
# A rank is expected to take so many times as long as the one below it: rank 2, and any other.
NEXT_RANK = (2.0, 1.25)
# Of a short and of a long refinement: states, steps, and dropout and weight decay.
SHORT_STATES = 20
SHORT_STEPS = 500
SHORT_REGULARISATION = (0.0, 0.3)
LONG_STATES = 50
LONG_STEPS = 5_000
LONG_REGULARISATION = (0.05, 0.5)
# of the whole time: for the short run; for ranks that do not wait
NETWORK_SHARE = 0.1
RANKS_SHARE = 0.15
# with fewer strings, networks are not tried; with few strings, they have fewer steps
FEWEST_STRINGS = 200
STEPS_IF_FEW = 100
# a network is expected in the mixture, and time is reserved for it, if its bits are at most this
# many times the best
NEAR = 1.02
LARGEST_NETWORK = 2_000_000  # symbols × states²
# A long training run may take the time left divided by PASSES, or by PASSES_IF_RETRAINED if another
# one, on all strings, may follow.
PASSES = 1.3
PASSES_IF_RETRAINED = 2.5
# The largest batch and number of epochs of a refinement.
MAX_BATCH = 250
MAX_EPOCHS = 300


def by_likelihood(rank: int, seed: int) -> Recipe:
    """Make the recipe of a network trained by likelihood."""
    return Recipe(learning=BothNon(rank=rank, objective="likelihood", seed=seed))


def path_of_ranks(train: Sample, seed: int) -> FitCache | None:
    """Prepare the networks of all ranks, trained by likelihood, each starting from the one of the
    rank below.

    Returns None where ranks do not grow, because there are too many symbols or prefixes.
    """
    num_symbols = train.num_symbols
    rank = FRESH_UP_TO
    width = WIDTH * FRESH_UP_TO
    network = Network(
        np.zeros(rank),
        (np.zeros((num_symbols, rank, width)), np.zeros((num_symbols, width, rank))),
        (np.zeros((rank, width)),),
        np.zeros((width, num_symbols + 1)),
    )
    if len(network.vector) > MOST_WEIGHTS:  # before all prefixes are counted
        return None
    learning = BothNon(objective="likelihood", seed=seed)
    tanh = learning.nonlinear_transitions, learning.nonlinear_factorisation
    path = Path(train, *tanh, learning.ridge, seed)
    if is_large(network, path.curvature_of):
        return None
    return FitCache(paths={(learning.learner, learning.ridge, seed): path})


def share_of_a_pass(train: Sample) -> float:
    """Return the first pass over the strings as a share of the whole computation of a network over
    many symbols that is trained by likelihood, including the networks that teach it.
    """
    num_predictions = train.num_strings * (1 + train.mean_length)
    total = 0.0
    for generation in GENERATIONS:
        in_a_pass = num_predictions + min(generation.drawn * num_predictions, MOST_DRAWN)
        all_passes = min(generation.passes * in_a_pass, MOST_PREDICTIONS)
        total += generation.networks * max(all_passes, in_a_pass)
    return num_predictions / total


def refined(
    rank: int, train: Sample, steps: int, regularisation: tuple[float, float], seed: int
) -> Recipe:
    """Make the recipe of a network that is refined by likelihood in about `steps` steps.

    Parameters
    ----------
    rank : int
    train : Sample
    steps : int
    regularisation : pair of float
        Dropout, and weight decay.
    seed : int
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
    dropout, weight_decay = regularisation
    learning = options(
        NAME,
        **{**PAPER, "epochs_factorisation": 20, "epochs_transitions": 20},
        rank=rank,
        hidden=(1, 1, 1),
        width_transitions=0,
        seed=seed,
        refine="likelihood",
        epochs_refinement=epochs,
        batch=batch,
        refinement_seed=seed,
        dropout=dropout,
        weight_decay=weight_decay,
    )
    return Recipe(hankel=hankel, learning=learning)


class Networks(Family):
    """Networks that grow from rank to rank or, where they don't, a short training run and two long
    ones.
    """

    names = (NAME,)

    def __init__(self, state: SearchState, em: EMTrainings) -> None:
        super().__init__(state)
        self.em = em  # whose automata the first rank is compared with
        self.recipes: list[Recipe] | None = None  # to train; None before they are chosen
        self.cache: FitCache | None = None  # where ranks grow
        self.seconds_of_ranks = self.seconds_of_last_rank = 0.0
        self.rank_bits = [np.inf]  # of each rank that was trained
        self.short: Candidate | None = None  # the short training run that long ones follow
        self.long_trainings = 2  # that are still to come

    def _first(self) -> list[Recipe]:
        """List the networks to train: those of all ranks where they grow, otherwise a short
        training run.
        """
        budget = self.state.budget
        train = self.state.train
        most = min(budget.max_states, limits.most("rank"))
        seed = budget.seed
        strings = train.num_strings
        if strings < FEWEST_STRINGS:
            return []
        self.cache = path_of_ranks(train, seed)
        if self.cache is not None:
            return [by_likelihood(rank, seed) for rank in RANKS if rank <= most]
        k = min(most, SHORT_STATES)
        too_short = self.state.clock.seconds < 30 and strings > FEW_STRINGS
        if train.num_symbols * k * k > LARGEST_NETWORK or too_short:
            return []
        steps = STEPS_IF_FEW if self.state.has_few_strings else SHORT_STEPS
        return [refined(k, train, steps, SHORT_REGULARISATION, seed)]

    def next_task(self, running: Collection[object]) -> Task | None:
        """Choose the next rank; or first a short training run and then, if that was near the best,
        two long ones: by likelihood and refined.
        """
        if NAME in running:
            return None
        if self.recipes is None:
            self.recipes = self._first()
        if self.cache is not None:
            return self._next_rank()
        if self.state.is_early:
            return None
        if self.recipes:
            return Task(NAME, partial(self.refine, self.recipes.pop(0)))
        return self._next_long()

    # Where ranks grow

    def _next_rank(self) -> Task | None:
        """Choose the next rank of the networks that grow. As long as ranks are cheap, they do not
        wait. Then, and when EM is at its end, they may be a little behind.
        """
        if not self.recipes:
            return None
        clock = self.state.clock
        done = self._ranks_done()
        growth = NEXT_RANK[0 if done < 2 else 1]
        expected = growth * self.seconds_of_last_rank * (self.recipes[0].learning.rank - done)
        limit = RANKS_SHARE * clock.seconds - self.seconds_of_ranks
        margin = NETWORK_MARGIN
        if expected > limit:
            limit = clock.left
            margin *= self.state.is_at_its_end
            if expected > limit or self.state.is_early:
                return None
        if self._ranks_are_behind(margin):
            return None
        return Task(NAME, partial(self.grow, self.recipes.pop(0), limit))

    def _ranks_are_behind(self, margin: float) -> bool:
        """Return whether the last rank was behind: it was not the best or, if there is a margin,
        not within this margin of what others promise. The first rank only has to be better than
        automata of two states.
        """
        bits = self.rank_bits[-1]
        rank = self._ranks_done()
        rival = self.state.promised() * (1 + margin) if margin else self.state.best
        if rank == 1:
            rival = max(rival, self.em.loss_of(2))
        return rank > 0 and bits > rival

    def _ranks_done(self) -> int:
        assert self.cache is not None
        return sum(len(path.stages) for path in self.cache.paths.values())

    def grow(self, recipe: Recipe, limit: float) -> None:
        """Train the network of the next rank, which replaces the previous one if it is better.

        If that takes more than `limit` seconds, the rank remains the next one and is expected to
        take longer. If it is the first one, no further networks are trained.
        """
        assert self.recipes is not None
        state = self.state
        started = state.timer()
        done = self._ranks_done()
        over = state.over_after(limit)
        model: Model | None = None
        try:
            model = fit(state.train, recipe.learning, cache=self.cache, cancelled=over).model
        except Cancelled:
            self.recipes = [recipe, *self.recipes] if done else []
        seconds = state.timer() - started
        self.seconds_of_ranks += seconds
        self.seconds_of_last_rank = seconds / max(self._ranks_done() - done, 1)
        state.spent[NAME] = self.seconds_of_ranks
        if model is None:
            return
        bits = bits_per_symbol(model, state.validation)
        self.rank_bits.append(bits)
        if not bits < self.rank_bits[-2] * (1 - SMALLEST_GAIN):
            self.recipes.clear()
            return
        network = Candidate(NAME, model, bits, self.seconds_of_ranks, recipe)
        if self.candidates:
            state.candidates[state.candidates.index(self.candidates[0])] = network
        else:
            state.candidates.append(network)

    # Where they don't

    def _next_long(self) -> Task | None:
        """Choose the next of two long training runs: by likelihood, then the two steps, refined for
        as many steps as the time left allows.

        Returns None after both. They are not worth the time unless a short training run ended near
        the best score, and the second is not if it would have fewer steps than the short one.
        """
        state = self.state
        if not self.candidates or not self.long_trainings:
            return None
        short = self.candidates[0]
        if self.short is None and short.bits > state.promised() * (1 + NETWORK_MARGIN):
            return None
        self.short = short
        k = min(state.budget.max_states, LONG_STATES, limits.most("rank"))
        seconds = state.clock.left / (PASSES if state.everything is None else PASSES_IF_RETRAINED)
        self.long_trainings -= 1
        if self.long_trainings:
            return Task(NAME, partial(self.teach, by_likelihood(k, state.budget.seed), seconds))
        few = state.has_few_strings
        per_step = (
            short.seconds
            / (STEPS_IF_FEW if few else SHORT_STEPS)
            * max(1.0, k / max(short.num_states, 1))
        )
        steps = int(min(LONG_STEPS // (5 if few else 1), seconds / per_step))
        if steps < SHORT_STEPS and not few:
            return None
        recipe = refined(k, state.train, steps, LONG_REGULARISATION, state.budget.seed)
        return Task(NAME, partial(self.refine, recipe))

    def teach(self, recipe: Recipe, limit: float) -> None:
        """Train a network for many symbols by likelihood, unless it is expected to take more than
        `limit` seconds.
        """
        state = self.state
        passes = 0
        over = state.over_after(share_of_a_pass(state.train) * limit)
        predictions = state.train.num_strings * (1 + state.train.mean_length) + MOST_DRAWN
        if predictions * (state.train.num_symbols + 1) > MOST_SCORES:
            return

        def note(progress: Progress) -> None:
            nonlocal passes
            passes = progress.step

        def cancelled() -> bool:
            return state.clock.is_over() if passes else over()

        def learn() -> tuple[Recipe, Model]:
            learned = fit(state.train, recipe.learning, report=note, cancelled=cancelled)
            return recipe, learned.model

        self._add(learn)

    def refine(self, recipe: Recipe) -> None:
        state = self.state
        over = state.over_after(
            NETWORK_SHARE * state.clock.seconds if self.short is None else np.inf
        )

        def learn() -> tuple[Recipe, Model]:
            hankel = build_hankel(state.train, recipe.hankel)
            rank = min(recipe.learning.rank, hankel.num_prefixes, hankel.num_suffixes)
            possible = recipe.changed(learning=recipe.learning.changed(rank=rank))
            learned = fit(
                hankel,
                possible.learning,
                strings=state.train,
                validation=state.validation,
                cancelled=over,
            )
            return possible, learned.model

        self._add(learn)

    def _add(self, learn: Callable[[], tuple[Recipe, Model]]) -> None:
        """Learn a network by a recipe, and add it to the candidates unless that was cancelled."""
        state = self.state
        started = self.state.timer()
        try:
            recipe, model = learn()
        except Cancelled:
            state.spend(NAME, state.timer() - started)
            return
        bits = bits_per_symbol(model, state.validation)
        state.add(Candidate(NAME, model, bits, state.timer() - started, recipe))

    # On all strings

    def seconds_to_retrain(self) -> float:
        return max((one.seconds for one in self.near(NEAR)), default=0.0)

    def retrained(self, candidate: Candidate, everything: Sample, alone: bool) -> Candidate | None:
        if not self.has_time(candidate, everything):
            return None
        return super().retrained(candidate, everything, alone)
