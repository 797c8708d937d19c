"""Spectral learning: one Hankel matrix for each statistic, and increasing ranks until three in a
row are worse than the best so far.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ... import limits
from ...experiment.recipe import Recipe
from ...hankel.estimate import build_hankel
from ...hankel.recipe import HankelRecipe
from ...learning.fitting import fit
from ...learning.learners import options
from ...learning.two_steps import FitCache
from ...metrics.evaluate import bits_per_symbol
from ..candidates import Candidate
from .family import RANKS, Family, Task

NAME = "SP"
STATISTICS = ("string", "prefix", "factor")


class SpectralCandidate(Candidate):
    """A model by SP with its bits."""

    is_distribution = False

    @property
    def title(self) -> str:
        """Name it by its recipe."""
        return f"{super().title}, {self.recipe.hankel.statistic} statistic"


class Spectral(Family):
    """SP with each statistic."""

    names = (NAME,)

    def begin(self) -> Iterator[Task]:
        for statistic in STATISTICS:
            yield Task(NAME, partial(self.train, statistic))

    def train(self, statistic: str) -> None:
        state = self.state
        started = state.timer()
        hankel_recipe = HankelRecipe(num_prefixes=1000, num_suffixes=1000, statistic=statistic)
        hankel = build_hankel(state.train, hankel_recipe)
        cache = FitCache()
        most = min(
            state.budget.max_states, hankel.num_prefixes, hankel.num_suffixes, limits.most("rank")
        )
        ranks = {rank for rank in RANKS if rank <= most} | ({most} if most <= 100 else set())
        worse = 0
        for rank in sorted(ranks):
            if state.clock.is_over() or worse >= 3:
                return
            if state.train.num_symbols * rank**2 > limits.most("transition_numbers") // 8:
                return
            recipe = Recipe(hankel=hankel_recipe, learning=options(NAME, rank=rank))
            model = fit(hankel, recipe.learning, cache=cache).model
            bits = bits_per_symbol(model, state.validation)
            worse = 0 if bits <= self.best()[0] else worse + 1
            state.add(SpectralCandidate(NAME, model, bits, state.timer() - started, recipe))
            started = state.timer()
