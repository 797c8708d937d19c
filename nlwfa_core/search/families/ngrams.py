"""N-grams: a baseline, which has no states."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ...models.ngram import KNESER_NEY, SMOOTHINGS, WITTEN_BELL, NGram
from ...strings.sample import Sample
from ..candidates import Candidate
from .family import Family, Task

NAME = "n-gram"
# Orders: they grow until one lowers the bits by less than this share.
ORDERS = range(1, 11)
ORDER_GAIN = 2e-3


@dataclass(frozen=True)
class NGramRecipe:
    """The settings of an n-gram: its order, and its smoothing, one of `ngram.SMOOTHINGS`."""

    order: int
    smoothing: str = WITTEN_BELL


class NGramCandidate(Candidate):
    """An n-gram with its bits."""

    @property
    def title(self) -> str:
        """Name it by its recipe."""
        return f"{self.recipe.order}-gram, {SMOOTHINGS[self.recipe.smoothing]}"


class NGrams(Family):
    """N-grams of increasing order, with each smoothing."""

    names = (NAME,)
    is_automaton = False

    def begin(self) -> Iterator[Task]:
        yield Task(NAME, self.train)

    def train(self) -> None:
        state = self.state
        for smoothing in (KNESER_NEY, WITTEN_BELL):
            previous = np.inf
            for order in ORDERS:
                if state.clock.is_over():
                    return
                started = state.timer()
                model = NGram.fit(state.train, order, smoothing)
                bits, logs = state.next_symbol_bits(model)
                recipe = NGramRecipe(order, smoothing)
                seconds = state.timer() - started
                state.add(NGramCandidate(NAME, model, bits, seconds, recipe, logs))
                if bits > previous * (1 - ORDER_GAIN):
                    break
                previous = bits

    def retrained(self, candidate: Candidate, everything: Sample, alone: bool) -> Candidate:
        recipe = candidate.recipe
        return replace(candidate, model=NGram.fit(everything, recipe.order, recipe.smoothing))
