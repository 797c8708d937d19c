"""PFA and HMM by EM: first several numbers of states, then turns of the training runs that promise
the fewest bits, and new runs near the best.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from ... import limits
from ...learning.em.em_training import (
    ACCELERATION,
    EM_FAMILIES,
    EMRecipe,
    EMTraining,
    automaton,
    continued,
)
from ...learning.em.pfa import MAX_NUMBERS
from ...learning.em.prefix_tree import PrefixTree
from ...strings.sample import Sample
from ..candidates import Candidate
from ..mixing import MAX_COMPONENTS
from .family import LARGEST_SHARE, Family, SearchState, Task

PFA, HMM = EM_FAMILIES
# Numbers of states that are tried first, with so many iterations, and the factor from the best
# number to a larger one.
LADDER = (2, 5, 10, 20, 40)
FIRST_ITERATIONS = 30
GROWTH = 1.5
TURN_SECONDS = 2.0  # of a training run, until the next choice
NEW_TRAININGS = 3  # begin whenever one has converged, in addition to those at the start
ITERATIONS_ON_ALL = 10


def title_of(recipe: EMRecipe) -> str:
    """Name a model that EM learns.

    >>> title_of(EMRecipe("PFA", 10, seed=3))
    'PFA, k = 10, random start, seed 3'
    """
    return f"{recipe.learner}, k = {recipe.num_states}, {recipe.start} start, seed {recipe.seed}"


class EMCandidate(Candidate):
    """A model by EM with its bits."""

    @property
    def title(self) -> str:
        """Name it by its recipe."""
        return title_of(self.recipe)


class EMTrainings(Family):
    """The training runs of PFA and HMM."""

    names = EM_FAMILIES

    def __init__(self, state: SearchState) -> None:
        super().__init__(state)
        self.trainings: list[EMTraining] = []
        self.converged = set[int]()  # numbers of training runs
        # new training runs: all, and those since one has converged
        self.spawned = 0
        self.begun = 0

    def begin(self) -> Iterator[Task]:
        """Train a model of one state immediately, so there is always a model."""
        state = self.state
        self.trees = PrefixTree(state.train), PrefixTree(state.validation)
        first = EMTraining(EMRecipe(PFA, 1, seed=state.budget.seed), timer=state.timer)
        self.trainings.append(first.advance(state.train, self.trees, 1))
        return self._ladder()

    def _ladder(self) -> Iterator[Task]:
        seed = self.state.budget.seed
        most = self.largest()
        for k in sorted({min(k, most) for k in LADDER} - {1} or {1}):
            for learner in EM_FAMILIES:
                recipe = EMRecipe(learner, k, seed=seed, acceleration=ACCELERATION)
                training = self._new(recipe)
                if training is not None:
                    yield Task(training, partial(self.advance, training, FIRST_ITERATIONS))

    def advance(self, training: EMTraining, iterations: int) -> None:
        before = training.seconds
        training.advance(self.state.train, self.trees, iterations, self.state.clock.is_over)
        self.state.spend(training.recipe.learner, training.seconds - before)

    def next_task(self, running: Collection[object]) -> Task | None:
        """Choose a new training run, or a turn of one that has begun."""
        if self.state.is_at_its_end:
            return None
        active = [
            one
            for one in self.trainings
            if one.losses and one not in running and not one.has_converged
        ]
        if self.begun < NEW_TRAININGS and (training := self._another()) is not None:
            self.begun += 1
            return Task(training, partial(self.advance, training, FIRST_ITERATIONS))
        if not active:
            return None
        chosen = min(active, key=lambda one: one.forecast)
        most = max(FIRST_ITERATIONS, len(chosen.losses) // 2)
        turn = int(np.clip(TURN_SECONDS / max(chosen.seconds_per_iteration, 1e-6), 1, most))
        return Task(chosen, partial(self.advance, chosen, turn))

    def _another(self) -> EMTraining | None:
        """Begin another training run near the best: a new seed, another start, another number of
        states, or the other learner.
        """
        tried = [one for one in self.trainings if one.losses]
        if not tried:
            return None
        best = min(tried, key=lambda one: one.forecast).recipe
        recipes = {one.recipe for one in self.trainings}
        for _ in range(8):
            self.spawned += 1
            turn = self.spawned % 6
            seed = self.state.budget.seed + self.spawned
            recipe = replace(best, seed=seed, start="random")
            larger = min(round(best.num_states * GROWTH), self.largest())
            if turn == 1 and larger > best.num_states:
                recipe = replace(recipe, num_states=larger)
            elif turn == 2 and best.learner == PFA:
                recipe = replace(recipe, start="split")
            elif turn == 3:
                recipe = replace(recipe, learner=HMM if best.learner == PFA else PFA)
            elif turn == 4 and best.num_states > 3:
                recipe = replace(recipe, num_states=max(2, round(best.num_states / 1.3)))
            if recipe not in recipes and (training := self._new(recipe)) is not None:
                return training
        return None

    def _new(self, recipe: EMRecipe) -> EMTraining | None:
        """Begin a training run, unless its first iterations would take too long."""
        state = self.state
        seconds = self._seconds_per_iteration(recipe.num_states) * FIRST_ITERATIONS
        most = LARGEST_SHARE * state.clock.seconds * state.budget.number_of_threads
        if seconds > most or recipe.num_states > self.largest():
            return None
        training = EMTraining(recipe, timer=state.timer)
        self.trainings.append(training)
        return training

    def _seconds_per_iteration(self, num_states: int) -> float:
        """Estimate an iteration's time from the training run with the nearest number of states."""
        timed = [one for one in self.trainings if len(one.losses) >= 3]
        if not timed:
            return 0.0
        nearest = min(timed, key=lambda one: abs(np.log(one.recipe.num_states / num_states)))
        return nearest.seconds_per_iteration * max(1.0, num_states / nearest.recipe.num_states)

    def largest(self) -> int:
        """Return the largest number of states whose arrays fit in memory."""
        nodes = self.trees[0].num_nodes
        symbols = self.state.train.num_symbols
        by_tree = MAX_NUMBERS // max(nodes, 1)
        by_model = int((limits.most("transition_numbers") // 16 / symbols) ** 0.5)
        return max(1, min(self.state.budget.max_states, by_tree, by_model, limits.most("rank")))

    def newly_converged(self) -> int:
        converged = {n for n, one in enumerate(self.trainings) if one.has_converged}
        new = len(converged - self.converged)
        self.converged |= converged
        if new:
            self.begun = 0
        return new

    def best(self) -> tuple[float, str]:
        losses = ((one.loss, title_of(one.recipe)) for one in self.trainings if one.losses)
        return min(losses, default=(np.inf, ""))

    def promise(self) -> float:
        return min((one.forecast for one in self.trainings if one.losses), default=np.inf)

    def loss_of(self, num_states: int) -> float:
        """Return the fewest bits of a model with that many states."""
        losses = (one.loss for one in self.trainings if one.recipe.num_states == num_states)
        return min(losses, default=np.inf)

    def unfinished(self) -> list[Candidate]:
        """List the training runs with the model of the best iteration."""
        alphabet = self.state.train.alphabet
        return [
            EMCandidate(
                one.recipe.learner,
                automaton(one.best, alphabet),
                one.loss,
                one.seconds,
                one.result_recipe,
            )
            for one in self.trainings
            if one.best is not None and np.isfinite(one.loss)
        ]

    # On all strings

    def seconds_to_continue(self) -> float:
        likely = [one for one in self.trainings if one.losses]
        if not likely:
            return 0.0
        best = min(likely, key=lambda one: one.loss)
        budget = self.state.budget
        number = max(1, min(MAX_COMPONENTS // 2, budget.max_states // best.recipe.num_states))
        seconds = number * ITERATIONS_ON_ALL * best.seconds_per_iteration
        return seconds / budget.number_of_threads

    def prepare(self, components: list[Candidate]) -> None:
        """Count all strings once for all components, and choose a number of iterations for which
        there is time.
        """
        if not components:
            return
        everything = self.state.everything
        state = self.state
        assert everything is not None
        self.tree_of_all = PrefixTree(everything)
        self.finished = {one.result_recipe: one for one in self.trainings if one.best is not None}
        share = everything.num_strings / state.train.num_strings
        cost = sum(share * self.finished[one.recipe].seconds_per_iteration for one in components)
        possible = 0.9 * state.clock.left * state.budget.number_of_threads / max(cost, 1e-9)
        self.iterations_on_all = int(np.clip(possible, 1, ITERATIONS_ON_ALL))

    def retrained(self, candidate: Candidate, everything: Sample, alone: bool) -> Candidate | None:
        """Continue from the best model with the tree of all strings."""
        best = self.finished[candidate.recipe].best
        if best is None:
            return None
        recipe = replace(candidate.recipe, iterations_on_all=self.iterations_on_all)
        models, number = continued(recipe, best, self.tree_of_all, self.state.clock.is_over)
        if not number:
            return None
        model = automaton(models, everything.alphabet)
        return replace(candidate, model=model, recipe=replace(recipe, iterations_on_all=number))
