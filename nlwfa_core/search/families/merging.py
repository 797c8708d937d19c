"""Deterministic automata (PDFA) by merging states, with several penalties and counts."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial

from ... import limits
from ...errors import Cancelled, RecipeError
from ...learning.merging import MIN_COUNTS, PENALTIES, PDFATraining, fit_pdfa
from ...metrics.evaluate import bits_per_symbol
from ...strings.sample import Sample
from ..candidates import Candidate
from ..mixing import largest_automaton
from .family import LARGEST_SHARE, Family, SearchState, Task

NAME = "PDFA"
# States are also merged in other ways if the first automaton of merged states is this near to the
# fewest bits that a model has or promises. It may be farther from them if each way takes at most a
# share of the whole time.
MERGING_MARGIN = 0.01
MERGING_MARGIN_IF_CHEAP = 0.05
CHEAP_SHARE = 0.02


class PDFACandidate(Candidate):
    """A PDFA with its bits."""

    @property
    def title(self) -> str:
        """Name it by its recipe."""
        recipe = self.recipe
        return f"{super().title}, penalty {recipe.penalty:g}, counts from {recipe.min_count}"


class Merging(Family):
    """State merging with one setting, and with others while its best model is near the best."""

    names = (NAME,)

    def __init__(self, state: SearchState) -> None:
        super().__init__(state)
        self.recipes = [
            PDFATraining(penalty, min_count) for penalty in PENALTIES for min_count in MIN_COUNTS
        ]

    def begin(self) -> Iterator[Task]:
        yield Task(NAME, partial(self.train, self.recipes.pop(0)))

    def next_task(self, running: Collection[object]) -> Task | None:
        if self.state.is_at_its_end or not self.may_help():
            return None
        return Task(NAME, partial(self.train, self.recipes.pop(0)))

    def may_help(self) -> bool:
        """Return whether to merge states with another setting: only if no other automaton
        promises to be much better (the margin is wider if merging is cheap).

        EM promises much until it has almost converged. So if merging takes long, EM goes first.
        """
        merged = self.candidates
        if not self.recipes or not merged:
            return False
        most = CHEAP_SHARE * self.state.clock.seconds
        cheap = max(one.seconds for one in merged) <= most
        margin = MERGING_MARGIN_IF_CHEAP if cheap else MERGING_MARGIN
        return min(one.bits for one in merged) <= self.state.promised() * (1 + margin)

    def train(self, recipe: PDFATraining) -> None:
        state = self.state
        started = state.timer()
        cancelled = state.over_after(LARGEST_SHARE * state.clock.seconds)
        try:
            model = fit_pdfa(state.train, self.most_states(), recipe, cancelled=cancelled)
        except (Cancelled, RecipeError):  # no time, or too large a tree
            state.spend(NAME, state.timer() - started)
            return
        model = replace(model, alphabet=state.train.alphabet)
        bits = bits_per_symbol(model, state.validation)
        state.add(PDFACandidate(NAME, model, bits, state.timer() - started, recipe))

    def most_states(self) -> int:
        largest = largest_automaton(self.state.train.num_symbols)
        return max(1, min(self.state.budget.max_states, largest, limits.most("rank")))

    def retrained(self, candidate: Candidate, everything: Sample, alone: bool) -> Candidate | None:
        if not self.has_time(candidate, everything):
            return None
        most = self.most_states() if alone else candidate.num_states
        is_over = self.state.clock.is_over
        try:
            model = fit_pdfa(everything, most, candidate.recipe, cancelled=is_over)
        except RecipeError:  # the tree of all strings is too large
            return None
        return replace(candidate, model=replace(model, alphabet=everything.alphabet))
