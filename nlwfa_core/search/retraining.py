"""The training of the chosen models on all strings, those too that chose them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import singledispatchmethod
from typing import Any

import numpy as np

from ..errors import Cancelled, RecipeError
from ..experiment.recipe import Recipe
from ..hankel.estimate import build_hankel
from ..learning.em.em_training import EMRecipe, EMTraining, automaton, continued
from ..learning.em.prefix_tree import PrefixTree
from ..learning.fitting import fit
from ..learning.merging import PDFATraining, fit_pdfa
from ..models.ngram import NGram
from ..rounding import on_one_thread
from ..strings.sample import Sample
from .budget import Clock
from .candidates import Candidate, LSTMRecipe, NGramRecipe

ITERATIONS_ON_ALL = 10


@dataclass(eq=False)
class Retraining:
    """Trains the components of a model on all strings, as far as the time allows."""

    train: Sample  # what they learned from
    everything: Sample
    components: Sequence[Candidate]
    trainings: Mapping[EMRecipe, EMTraining]  # of EM, by the recipe of the best iteration
    clock: Clock
    number_of_threads: int
    most_states: int  # of a model that is the only component
    tree: PrefixTree | None = None  # for EM, of all strings
    iterations: int = 0  # of EM

    def run(self) -> tuple[list[Candidate], int]:
        """Return the components, trained again where there was time, and the number of strings
        that all of them learned from.
        """
        self.tree = PrefixTree(self.everything) if self._em else None
        self.iterations = self._iterations()
        with ThreadPoolExecutor(self.number_of_threads) as pool:
            results = list(pool.map(on_one_thread(self._retrained), self.components))
        changed = [new or old for new, old in zip(results, self.components, strict=True)]
        return changed, (self.everything if all(results) else self.train).num_strings

    @property
    def _em(self) -> list[EMRecipe]:
        return [one.recipe for one in self.components if isinstance(one.recipe, EMRecipe)]

    @property
    def _share(self) -> float:
        """Return the factor by which the number of strings grows."""
        return self.everything.num_strings / self.train.num_strings

    def _iterations(self) -> int:
        """Return the number of iterations of EM that there is time for."""
        cost = sum(
            self._share * self.trainings[recipe].seconds_per_iteration for recipe in self._em
        )
        possible = 0.9 * self.clock.left * self.number_of_threads / max(cost, 1e-9)
        return int(np.clip(possible, 1, ITERATIONS_ON_ALL))

    def _has_time(self, candidate: Candidate) -> bool:
        """Return whether training that takes as long, in proportion to the strings, will end."""
        return candidate.seconds * self._share <= self.clock.left

    def _retrained(self, candidate: Candidate) -> Candidate | None:
        """Return a component that has learned from all strings; None if there is no time."""
        try:
            return self._by_recipe(candidate.recipe, candidate)
        except Cancelled:
            return None

    @singledispatchmethod
    def _by_recipe(self, recipe: Any, candidate: Candidate) -> Candidate | None:
        raise TypeError(f"unknown recipe: {recipe!r}")

    @_by_recipe.register
    def _ngram(self, recipe: NGramRecipe, candidate: Candidate) -> Candidate | None:
        model = NGram.fit(self.everything, recipe.order, recipe.smoothing)
        return replace(candidate, model=model)

    @_by_recipe.register
    def _continued(self, recipe: EMRecipe, candidate: Candidate) -> Candidate | None:
        best = self.trainings[recipe].best
        if self.tree is None or best is None:
            return None
        em_recipe = replace(recipe, iterations_on_all=self.iterations)
        models, number = continued(em_recipe, best, self.tree, self.clock.is_over)
        if not number:
            return None
        model = automaton(models, self.everything.alphabet)
        return replace(candidate, model=model, recipe=replace(recipe, iterations_on_all=number))

    @_by_recipe.register
    def _lstm(self, recipe: LSTMRecipe, candidate: Candidate) -> Candidate | None:
        if not candidate.is_whole or not self._has_time(candidate):
            return None
        from ..learning.recurrent_networks import updates_per_epoch

        epochs = recipe.updates // updates_per_epoch(self.train)
        lstm = replace(recipe, updates=epochs * updates_per_epoch(self.everything))
        model = lstm.fit(self.everything, cancelled=self.clock.is_over)
        return replace(candidate, model=model, recipe=lstm)

    @_by_recipe.register
    def _merged(self, recipe: PDFATraining, candidate: Candidate) -> Candidate | None:
        if not self._has_time(candidate):
            return None
        most = self.most_states if len(self.components) == 1 else candidate.num_states
        try:
            merged = fit_pdfa(self.everything, most, recipe, cancelled=self.clock.is_over)
        except RecipeError:  # the tree of all strings is too large
            return None
        return replace(candidate, model=replace(merged, alphabet=self.everything.alphabet))

    @_by_recipe.register
    def _fitted(self, recipe: Recipe, candidate: Candidate) -> Candidate | None:
        if candidate.family != "SP" and not self._has_time(candidate):
            return None
        learning, everything = recipe.learning, self.everything
        if learning.needs_hankel:
            hankel = build_hankel(everything, recipe.hankel)
            learned = fit(hankel, learning, strings=everything, cancelled=self.clock.is_over)
        else:
            learned = fit(everything, learning, cancelled=self.clock.is_over)
        return replace(candidate, model=learned.model)
