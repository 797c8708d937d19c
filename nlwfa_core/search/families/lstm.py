"""LSTMs, on request: one with as many units as there is time for, and further ones to average with
it if it was near the best.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np

from ...errors import Cancelled
from ...learning.progress import CancelCheck, Progress, Report, never, silent
from ...models.recurrent import RecurrentModel
from ...strings.sample import Sample
from ..candidates import Candidate
from .family import Family, SearchState, Task

NAME = "LSTM"
# An LSTM has the largest number of units with which `LSTM_EPOCHS[0]` epochs fit into a share of the
# whole time. It is trained for as many epochs as fit, at most `LSTM_EPOCHS[1]`. It begins after
# another share of the time, or at once next to other threads.
LSTM_UNITS = (200, 100, 50, 25)
LSTM_EPOCHS = (6, 40)
LSTM_SHARE = 0.25
LSTM_WAITS = 0.2
# With few strings, epochs are short: the largest number of epochs then takes this many steps, and
# training goes on without a better model for `LSTM_PATIENCE` steps or epochs, whichever is longer.
LSTM_UPDATES = 2000
LSTM_PATIENCE = (200, 4)
# The shares that dropout takes from the first LSTMs; further ones have other seeds and the better
# of the two.
LSTM_DROPOUTS = (0.2, 0.4)
MOST_LSTMS = 5
# Time is reserved for an LSTM whose bits are at most so many times the best: mixed by symbol, it
# helps even if it is a little worse.
LSTM_NEAR = 1.05


@dataclass(frozen=True)
class LSTMRecipe:
    """The settings of an LSTM: its number of units, and its training
    (`recurrent_networks.Training`).
    """

    num_states: int
    updates: int
    patience: int
    seed: int
    rate: float = 0.01
    dropout: float = 0.2
    single_precision: bool = True

    def fit(
        self,
        train: Sample,
        validation: Sample | None = None,
        report: Report = silent,
        cancelled: CancelCheck = never,
    ) -> RecurrentModel:
        """Learn the LSTM from strings; the parameters are those of
        `recurrent_networks.fit_recurrent`.
        """
        from ...learning.recurrent_networks import Training, fit_recurrent

        training = Training(
            **{name: value for name, value in asdict(self).items() if name != "num_states"}
        )
        model = fit_recurrent(
            train,
            NAME,
            self.num_states,
            training,
            validation=validation,
            report=report,
            cancelled=cancelled,
        )
        return replace(model, alphabet=train.alphabet)


class LSTM(Family):
    """A first LSTM and, if it was near the best, others like it.

    `is_requested`: whether LSTMs are to be trained.
    """

    names = (NAME,)
    is_automaton = False

    def __init__(self, state: SearchState, is_requested: bool) -> None:
        super().__init__(state)
        self.is_requested = is_requested
        self.begun = 0

    def late_task(self, waits: bool = True) -> Task | None:
        """Begin the first LSTM. On one processor, it waits until other families have had some time,
        unless there is nothing else to do.
        """
        threads = self.state.budget.number_of_threads
        clock = self.state.clock
        if not self.is_requested or self.begun:
            return None
        if waits and threads == 1 and clock.spent < LSTM_WAITS * clock.seconds:
            return None
        self.begun += 1
        return Task(NAME, self.train_first)

    def next_task(self, running: Collection[object]) -> Task | None:
        """Choose another LSTM to average with the existing ones."""
        state = self.state
        trained = [one for one in self.candidates if one.is_whole]
        if NAME in running or not trained or self.begun >= MOST_LSTMS:
            return None
        if state.is_early:  # NL-WFA come first
            return None
        best = min(trained, key=lambda one: one.bits)
        room = state.budget.max_states - sum(one.num_states for one in trained)
        units = next((units for units in LSTM_UNITS if units <= min(room, best.num_states)), None)
        # training on all strings follows
        passes = 1.0
        if state.everything is not None:
            passes += 1.2 / state.budget.number_of_threads
        if (
            units is None
            or best.bits > state.promised() * LSTM_NEAR
            or best.seconds * passes > state.clock.left
        ):
            return None
        number = self.begun
        recipe = best.recipe
        dropout = LSTM_DROPOUTS[number] if number < len(LSTM_DROPOUTS) else recipe.dropout
        seed = state.budget.seed + number
        self.begun += 1
        another = replace(recipe, num_states=units, dropout=dropout, seed=seed)
        return Task(NAME, partial(self.train, another))

    def train_first(self) -> None:
        """Train the first LSTM. If it gets worse before its last epoch, train it again with fewer
        epochs, over which its learning rate falls to 0.
        """
        from ...learning.recurrent_networks import (
            MOST_EPOCHS,
            Training,
            seconds_per_update,
            updates_per_epoch,
        )

        state = self.state
        train = state.train
        each = updates_per_epoch(state.train)
        seconds = LSTM_SHARE * state.clock.seconds
        per_epoch = 0.0
        patience = max(LSTM_PATIENCE[1], -(-LSTM_PATIENCE[0] // each))
        for units in LSTM_UNITS:
            if units > state.budget.max_states:
                continue
            per_epoch = each * seconds_per_update(
                train, NAME, units, Training(single_precision=True), state.timer
            )
            if LSTM_EPOCHS[0] * per_epoch <= seconds:
                break
        else:
            return
        most = max(LSTM_EPOCHS[1], -(-LSTM_UPDATES // each))
        epochs = min(most, MOST_EPOCHS, int(seconds / per_epoch))
        while epochs >= 2 and not state.clock.is_over() and epochs * per_epoch <= seconds:
            started = state.timer()
            done = self.train(LSTMRecipe(units, epochs * each, patience, state.budget.seed))
            if done in (0, epochs):
                return
            seconds -= state.timer() - started
            epochs = done - patience + 1

    def train(self, recipe: LSTMRecipe) -> int:
        """Train one LSTM.

        Returns the number of epochs it took, 0 if the time ran out before its end.
        """
        from ...learning.recurrent_networks import updates_per_epoch

        state = self.state
        started = state.timer()
        done = list[Progress]()
        try:
            model = recipe.fit(state.train, state.validation, done.append, state.clock.is_over)
        except Cancelled:
            state.spend(NAME, state.timer() - started)
            return 0
        bits, logs = state.next_symbol_bits(model)
        is_whole = len(done) == recipe.updates // updates_per_epoch(state.train)
        seconds = state.timer() - started
        state.add(Candidate(NAME, model, bits, seconds, recipe, logs, is_whole))
        return len(done)

    def best(self) -> tuple[float, str]:
        """Return no best model, so EM continues even if an LSTM is better."""
        return np.inf, ""

    def seconds_to_retrain(self) -> float:
        seconds = [one.seconds for one in self.near(LSTM_NEAR)]
        return max(sum(seconds) / self.state.budget.number_of_threads, *seconds, 0.0)

    def retrained(self, candidate: Candidate, everything: Sample, alone: bool) -> Candidate | None:
        """Train the candidate on all strings for the same number of epochs."""
        if not candidate.is_whole or not self.has_time(candidate, everything):
            return None
        from ...learning.recurrent_networks import updates_per_epoch

        epochs = candidate.recipe.updates // updates_per_epoch(self.state.train)
        recipe = replace(candidate.recipe, updates=epochs * updates_per_epoch(everything))
        model = recipe.fit(everything, cancelled=self.state.clock.is_over)
        return replace(candidate, model=model, recipe=recipe)
