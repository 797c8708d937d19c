"""The parts that the families of a search share, and the interface that the loop calls."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from ...experiment.recipe import Recipe
from ...hankel.estimate import build_hankel
from ...learning.fitting import fit
from ...learning.progress import CancelCheck
from ...models.mixture import next_counts, next_log2_probabilities
from ...models.model import Model
from ...strings.sample import Sample
from ...strings.words import FloatArray
from ..budget import Budget, Clock
from ..candidates import Candidate

RANKS = (1, 2, 3, 5, 7, 10, 14, 20, 30, 40, 50, 100)  # of SP, and of networks that grow
LARGEST_SHARE = 0.2  # of the whole time, for merging once or the first iterations of EM
SMALLEST_GAIN = 2e-4  # a model is better if it lowers the bits by this share
FEW_STRINGS = 500
# The search ends when this many training runs of EM in a row have converged without lowering the
# best loss by `SMALLEST_GAIN`.
WITHOUT_GAIN = 12
WITHOUT_GAIN_IF_FEW = 4
# of the whole time: how long networks wait, at most, for the first training run of EM that
# converges
NETWORKS_WAIT = 0.4


class Task(NamedTuple):
    """What a thread does next: a turn of a training run, or a whole run."""

    subject: object  # what is busy meanwhile: a family's name, or a training run that has turns
    carry_out: Callable[[], object]


@dataclass(eq=False)
class SearchState:
    """The state of a search that all families share."""

    train: Sample
    validation: Sample
    everything: Sample | None  # None if the validation strings are not to be learned from
    budget: Budget
    clock: Clock
    timer: Callable[[], float]  # of a training run; in seconds
    families: list[Family] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)  # finished ones, without EM
    spent: dict[str, float] = field(default_factory=dict)  # family -> seconds
    best: float = np.inf  # bits per symbol
    without_gain: int = 0  # training runs that have converged since the bits fell
    has_converged: bool = False  # whether a training run of EM has

    @property
    def has_few_strings(self) -> bool:
        return self.train.num_strings <= FEW_STRINGS

    @property
    def is_at_its_end(self) -> bool:
        """Return whether more training runs of EM are unlikely to help, or no model has a finite
        number of bits.
        """
        patience = WITHOUT_GAIN_IF_FEW if self.has_few_strings else WITHOUT_GAIN
        return self.without_gain >= patience or not np.isfinite(self.best)

    @property
    def is_early(self) -> bool:
        """Return whether to wait until EM has converged once, because only then is it known which
        score is near the best. The wait is limited.
        """
        return not self.has_converged and self.clock.spent < NETWORKS_WAIT * self.clock.seconds

    def promised(self) -> float:
        """Return the fewest bits that an automaton has reached, or that EM is forecast to reach."""
        return min((one.promise() for one in self.families), default=np.inf)

    def over_after(self, seconds: float) -> CancelCheck:
        """Make a function that checks whether the search is over, or a training run has taken this
        many seconds.
        """
        started = self.timer()
        return lambda: self.clock.is_over() or self.timer() - started > seconds

    def spend(self, family: str, seconds: float) -> None:
        self.spent[family] = self.spent.get(family, 0.0) + seconds

    def add(self, candidate: Candidate) -> None:
        self.spend(candidate.family, candidate.seconds)
        if np.isfinite(candidate.bits):
            self.candidates.append(candidate)

    def next_symbol_bits(self, model: Model) -> tuple[float, tuple[FloatArray, FloatArray]]:
        """Compute the bits per symbol on the validation strings, and the base-2 logarithms of the
        probabilities from which they follow, as `Candidate.logs` holds them.
        """
        counts = next_counts(self.validation, self.train.num_symbols)
        logs = next_log2_probabilities(model, self.validation.words)
        return float(-(counts @ logs[0]) / counts.sum()), logs


class Family:
    """A family of models in a search.

    The methods here are those of a family that begins and trains nothing; each family overrides
    those that it needs.
    """

    names: tuple[str, ...]  # of its candidates' families
    is_automaton = True  # others are in the result only on request

    def __init__(self, state: SearchState) -> None:
        self.state = state

    @property
    def candidates(self) -> list[Candidate]:
        return [one for one in self.state.candidates if one.family in self.names]

    def begin(self) -> Iterator[Task]:
        """Yield the first tasks, the cheap ones first."""
        yield from ()

    def late_task(self, waits: bool = True) -> Task | None:
        """Choose a first training run that waits until other families have had some time, unless
        there is nothing else to do.
        """
        return None

    def next_task(self, running: Collection[object]) -> Task | None:
        """Choose what to train next. None if nothing in this family is promising enough now.

        `running`: the subjects of the tasks in progress.
        """
        return None

    def newly_converged(self) -> int:
        """Count the training runs that have converged since the last call."""
        return 0

    def best(self) -> tuple[float, str]:
        """Return the bits and the title of the best model so far, to which others are compared."""
        return min(((one.bits, one.title) for one in self.candidates), default=(np.inf, ""))

    def promise(self) -> float:
        """Return the fewest bits that an automaton of this family has reached, or is forecast to
        reach.
        """
        return self.best()[0] if self.is_automaton else np.inf

    def unfinished(self) -> list[Candidate]:
        """List the candidates of training runs that could continue."""
        return []

    # On all strings

    def seconds_to_continue(self) -> float:
        """Estimate the time of training on all strings that continues from a model; 0 if there is
        none.

        The other models are trained at the same time.
        """
        return 0.0

    def seconds_to_retrain(self) -> float:
        """Estimate the time to retrain, from the beginning and on all strings, the models near the
        best.
        """
        return 0.0

    def near(self, factor: float) -> list[Candidate]:
        """List the candidates that are expected in a mixture because their bits are at most
        `factor` times the best, and that can be trained again in time.
        """
        most = self.state.promised() * factor
        seconds = self.state.clock.seconds
        return [
            one
            for one in self.candidates
            if one.bits <= most and one.is_whole and one.seconds <= seconds - self.state.clock.spent
        ]

    def prepare(self, components: list[Candidate]) -> None:
        """Prepare the training on all strings of the components of this family."""

    def retrained(self, candidate: Candidate, everything: Sample, alone: bool) -> Candidate | None:
        """Train a candidate on all strings, by its recipe. None if there is no time.

        `alone`: whether it is not part of a mixture.
        """
        recipe = candidate.recipe
        is_over = self.state.clock.is_over
        assert isinstance(recipe, Recipe)
        if recipe.learning.needs_hankel:
            hankel = build_hankel(everything, recipe.hankel)
            learned = fit(hankel, recipe.learning, strings=everything, cancelled=is_over)
        else:
            learned = fit(everything, recipe.learning, cancelled=is_over)
        return replace(candidate, model=learned.model)

    def has_time(self, candidate: Candidate, everything: Sample) -> bool:
        """Return whether there is time for training that takes as long in proportion to the
        strings.
        """
        share = everything.num_strings / self.state.train.num_strings
        return candidate.seconds * share <= self.state.clock.left
