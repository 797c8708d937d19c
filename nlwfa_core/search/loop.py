"""Searches for the best model within a number of minutes: families, numbers of states and starts,
and a mixture at the end.

The families are n-grams (a baseline, which has no states), spectral learning, deterministic
automata (PDFA) by merging states, PFA and HMM by EM, NL-WFA by likelihood and, on request, an LSTM.
All are compared by their bits per symbol on validation strings. First each family is tried with
small effort and several numbers of states. Then time goes, in short turns, to training by EM that
promise the fewest bits: a training's promise is its loss now minus what the last half of its
iterations gained, as in successive halving with a forecast. A few new ones begin at first, and
again whenever one has converged: another seed, another start, or more states. Networks of few
symbols grow from rank to rank, at once while that is cheap. Of many symbols they train for long if
a short training was near the best model. If an LSTM was near it, further ones are trained while
there is time. At the end, `mixing` chooses a model or a mixture, and `retraining` trains it on all
strings.

What is trained depends on the clock. Each training run has a recipe with a seed and its number of
iterations, so a model can be learned again from its recipe: `em_training.fit_em`,
`merging.fit_pdfa`, `fitting.fit`, `NGram.fit`, `recurrent_networks.fit_recurrent`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from time import monotonic, perf_counter, process_time, thread_time
from typing import Any

import numpy as np

from .. import limits
from ..errors import Cancelled, RecipeError, check_one_of, check_types
from ..experiment.recipe import Recipe
from ..hankel.estimate import build_hankel
from ..hankel.recipe import HankelRecipe
from ..learning.em.em_training import (
    ACCELERATION,
    EM_FAMILIES,
    EMRecipe,
    EMTraining,
    automaton,
)
from ..learning.em.pfa import MAX_NUMBERS
from ..learning.em.prefix_tree import PrefixTree
from ..learning.fitting import fit
from ..learning.learners import options
from ..learning.likelihood.many_symbols import MOST_DRAWN
from ..learning.merging import MIN_COUNTS, PENALTIES, PDFATraining, fit_pdfa
from ..learning.progress import BITS, Progress, Report, silent
from ..learning.two_steps import FitCache
from ..metrics.evaluate import bits_per_symbol
from ..metrics.score_table import SCORE_OF
from ..models.mixture import (
    mixture,
    next_counts,
    next_log2_probabilities,
)
from ..models.model import Model
from ..models.ngram import KNESER_NEY, WITTEN_BELL, NGram
from ..rounding import on_one_thread
from ..strings.plain import SampleLike, as_sample
from ..strings.sample import Sample
from .budget import DEFAULT_BUDGET, Budget, Clock
from .candidates import (
    OTHER_MODELS,
    Candidate,
    FamilyResult,
    LSTMRecipe,
    NGramRecipe,
    SearchResult,
    em_title,
    perplexity,
)
from .mixing import MAX_COMPONENTS, MOST_SCORES, Mixing, largest_automaton
from .networks import by_likelihood, path_of_ranks, refined, share_of_a_pass
from .retraining import ITERATIONS_ON_ALL, Retraining

# The share of the training strings that is held out if there are no validation strings.
# at least so many strings, but at most this share
HELD_OUT_SHARE, FEWEST_HELD_OUT, MOST_HELD_OUT_SHARE = 0.1, 20, 0.2
# Orders of n-grams: they grow until one lowers the bits by less than this share.
ORDERS, ORDER_GAIN = range(1, 11), 2e-3
STATISTICS = ("string", "prefix", "factor")
RANKS = (1, 2, 3, 5, 7, 10, 14, 20, 30, 40, 50, 100)  # of SP, and of networks that grow
# Numbers of states that EM tries first, with so many iterations, and the factor from the best
# number to a larger one.
LADDER, FIRST_ITERATIONS, GROWTH = (2, 5, 10, 20, 40), 30, 1.5
TURN_SECONDS = 2.0  # of a training, until the next choice
LARGEST_SHARE = 0.2  # of the whole time, for the first iterations of one training
NEW_TRAININGS = 3  # begin whenever one has converged, in addition to those at the start
# The search ends when this many training runs of EM in a row have converged without lowering the
# best loss by this share.
WITHOUT_GAIN, WITHOUT_GAIN_IF_FEW, SMALLEST_GAIN = 12, 4, 2e-4
# States are merged in other ways, too, if the first automaton of merged states is this near to the
# fewest bits that a model has or promises. It may be farther from them if each way takes at most a
# share of the whole time.
MERGING_MARGIN, MERGING_MARGIN_IF_CHEAP, CHEAP_SHARE = 0.01, 0.05, 0.02
# How far a network may be from what other models promise (as a share of the bits) so that a longer
# training follows.
NETWORK_MARGIN = 0.05
# A rank is expected to take so many times as long as the one below it: rank 2, and any other.
NEXT_RANK = (2.0, 1.25)
# Of a short and of a long refinement: states, steps, and dropout and weight decay.
SHORT_STATES, SHORT_STEPS, SHORT_REGULARISATION = 20, 500, (0.0, 0.3)
LONG_STATES, LONG_STEPS, LONG_REGULARISATION = 50, 5_000, (0.05, 0.5)
# of the whole time: for the short training; for ranks that do not wait; how long others wait, at
# most
NETWORK_SHARE, RANKS_SHARE, NETWORKS_WAIT = 0.1, 0.15, 0.4
# networks are not tried with fewer strings than the second number
FEW_STRINGS, FEWEST_STRINGS, STEPS_IF_FEW = 500, 200, 100
# a network is expected in the mixture, and time is reserved for it, if its bits are at most so many
# times the best
NEAR = 1.02
LARGEST_NETWORK = 2_000_000  # symbols × states²
# An LSTM has the most units with which as many epochs as the first number fit into a share of the
# whole time, and then as many epochs as fit, at most the second number. It begins after another
# share of the time, or at once next to other threads.
LSTM_UNITS, LSTM_EPOCHS, LSTM_SHARE, LSTM_WAITS = (200, 100, 50, 25), (6, 40), 0.25, 0.2
# Few strings make short epochs: at least so many steps are the most epochs, and are taken without a
# better model (or 4 epochs).
LSTM_UPDATES, LSTM_PATIENCE = 2000, (200, 4)
# The shares that dropout takes from the first LSTMs; further ones have other seeds and the better
# of the two.
LSTM_DROPOUTS, MOST_LSTMS = (0.2, 0.4), 5
LSTM_NEAR = 1.05  # as NEAR, for an LSTM: mixed by symbol, it helps even if it is a little worse
LOG_SECONDS = 20.0  # between two lines about the same model
RESERVED_SHARE = 0.25  # at most this share of the time is reserved for training on all strings


def hold_out(strings: Sample, seed: int) -> tuple[Sample, Sample]:
    """Divide strings at random into training strings and validation strings.

    Raises RecipeError if there are fewer than two strings.
    """
    number = strings.num_strings
    if number < 2:
        raise RecipeError(
            "at least 2 strings are needed, because a part of them is held out to choose "
            f"by; got {number:,}"
        )
    fewest = min(FEWEST_HELD_OUT, round(MOST_HELD_OUT_SHARE * number))
    held_out = max(round(HELD_OUT_SHARE * number), fewest, 1)
    train, validation = strings.split([number - held_out, held_out], seed=seed)
    return train, validation


def _ignore(text: str) -> None:
    pass


@check_types
@on_one_thread
def search(
    train: SampleLike,
    validation: SampleLike | None = None,
    budget: Budget = DEFAULT_BUDGET,
    *,
    stop: threading.Event | None = None,
    report: Report = silent,
    log: Callable[[str], None] = _ignore,
    other_models: Collection[str] = (),
    for_ranking: bool = False,
) -> SearchResult:
    """Search for the model with the fewest bits per symbol on validation strings, within a time.

    Parameters
    ----------
    train : Sample, or strings as `strings.plain.as_sample` takes them
    validation : the same, optional
        Without them, a tenth of the training strings is held out, and the chosen model is trained
        on all strings in the end.
    budget : Budget
    stop : threading.Event, optional
        When it is set, the search ends, and the best model so far is returned.
    report : callable
        Called with the seconds spent, and the best bits per symbol so far.
    log : callable
        Called with a sentence whenever a model is the best so far.
    other_models : collection of str
        Which non-automata the result may contain: "n-gram", "LSTM". With any of them, a mixture may
        also be one of next symbols, which is not an automaton, either.
    for_ranking : bool
        Whether the model is to rank what may follow a prefix. Then the choice in the end is by
        NDCG5.

    Raises
    ------
    RecipeError
        If there are too few strings, no model gives the validation strings a finite number of bits,
        or another model is none of those above.
    """
    for name in other_models:
        check_one_of("other_models", name, OTHER_MODELS)
    whole = as_sample(train, name="train")
    if not len(whole.words):
        raise RecipeError("a search needs training strings; got none")
    if validation is None:
        own, held_out = hold_out(whole, budget.seed)
        everything: Sample | None = whole
    else:
        held_out = as_sample(
            validation, None if isinstance(validation, Sample) else whole.alphabet, "validation"
        )
        held_out = held_out.in_alphabet(whole.alphabet, "the training strings'")
        own, everything = whole, None
        if not len(held_out.words):
            raise RecipeError("a search needs validation strings; got none")
    strings = own, held_out, everything
    return _Search(
        strings,
        budget,
        stop or threading.Event(),
        report,
        log,
        frozenset(other_models),
        for_ranking,
    ).run()


class _Search:
    """The state of a search.

    Trainings run in threads; everything is decided in the thread that calls `run`.
    """

    def __init__(
        self,
        strings: tuple[Sample, Sample, Sample | None],
        budget: Budget,
        stop: threading.Event,
        report: Report,
        log: Callable[[str], None],
        other_models: Collection[str],
        for_ranking: bool,
    ) -> None:
        self.train, self.validation, self.everything = strings
        self.budget, self.report, self.log = budget, report, log
        self.other_models, self.for_ranking = other_models, for_ranking
        wall, threads = budget.clock == "wall", budget.number_of_threads

        def now() -> float:
            return monotonic() if wall else process_time() / threads

        self.clock, self.timer = (
            Clock(60 * budget.minutes, stop, now, now()),
            perf_counter if wall else thread_time,
        )
        self.candidates: list[Candidate] = []  # finished ones, without EM
        self.trainings: list[EMTraining] = []
        self.spent: dict[str, float] = {}
        self.best = np.inf
        self.logged = "", 0.0  # the title and the time of the last line
        self.patience = (
            WITHOUT_GAIN_IF_FEW if self.train.num_strings <= FEW_STRINGS else WITHOUT_GAIN
        )
        self.without_gain, self.counted = 0, set[int]()
        self.spawned, self.begun = 0, 0  # new training runs: all, and those since one has converged
        # trainings of networks to do; None before they are chosen
        self.networks: list[Recipe] | None = None
        self.cache: FitCache | None = None  # where their ranks grow
        self.rank_seconds = 0.0, 0.0  # of all ranks so far; of the last one
        self.rank_bits = [np.inf]  # of each rank that was trained
        self.network: Candidate | None = None  # the short training that long ones follow
        self.long_networks = 2  # that are still to be trained
        self.lstms_begun = 0
        self.mergings = [
            PDFATraining(penalty, min_count) for penalty in PENALTIES for min_count in MIN_COUNTS
        ]

    # What runs in threads

    def _ngrams(self) -> None:
        counts = next_counts(self.validation, self.train.num_symbols)
        for smoothing in (KNESER_NEY, WITTEN_BELL):
            previous = np.inf
            for order in ORDERS:
                if self.clock.is_over():
                    return
                started = self.timer()
                model = NGram.fit(self.train, order, smoothing)
                logs = next_log2_probabilities(model, self.validation.words)
                bits = float(-(counts @ logs[0]) / counts.sum())
                recipe = NGramRecipe(order, smoothing)
                self._add(Candidate("n-gram", model, bits, self.timer() - started, recipe, logs))
                if bits > previous * (1 - ORDER_GAIN):
                    break
                previous = bits

    def _spectral(self, statistic: str) -> None:
        started = self.timer()
        hankel_recipe = HankelRecipe(num_prefixes=1000, num_suffixes=1000, statistic=statistic)
        hankel, cache = build_hankel(self.train, hankel_recipe), FitCache()
        most = min(
            self.budget.max_states, hankel.num_prefixes, hankel.num_suffixes, limits.most("rank")
        )
        ranks = sorted(
            {rank for rank in RANKS if rank <= most} | ({most} if most <= 100 else set())
        )
        worse = 0
        for rank in ranks:
            if self.clock.is_over() or worse >= 3:
                return
            if self.train.num_symbols * rank**2 > limits.most("transition_numbers") // 8:
                return
            recipe = Recipe(hankel=hankel_recipe, learning=options("SP", rank=rank))
            model = fit(hankel, recipe.learning, cache=cache).model
            bits = bits_per_symbol(model, self.validation)
            worse = 0 if bits <= self._best_of("SP") else worse + 1
            self._add(Candidate("SP", model, bits, self.timer() - started, recipe))
            started = self.timer()

    def _merged(self, training: PDFATraining) -> None:
        started = self.timer()

        def cancelled() -> bool:
            return (
                self.clock.is_over() or self.timer() - started > LARGEST_SHARE * self.clock.seconds
            )

        try:
            model = fit_pdfa(self.train, self._most_states(), training, cancelled=cancelled)
        except (Cancelled, RecipeError):  # no time, or too large a tree
            self.spent["PDFA"] = self.spent.get("PDFA", 0.0) + self.timer() - started
            return
        model = replace(model, alphabet=self.train.alphabet)
        bits = bits_per_symbol(model, self.validation)
        self._add(Candidate("PDFA", model, bits, self.timer() - started, training))

    def _most_states(self) -> int:
        largest = largest_automaton(self.train.num_symbols)
        return max(1, min(self.budget.max_states, largest, limits.most("rank")))

    def _grow(self, recipe: Recipe, limit: float) -> None:
        """Train the network of the next rank, and put it in the place of the one before if it is
        better.

        After `limit` seconds, the rank stays the next one, and is expected to take longer; or
        networks are given up, if it is the first one.
        """
        assert self.networks is not None
        started, done = self.timer(), self._ranks_done()

        def cancelled() -> bool:
            return self.clock.is_over() or self.timer() - started > limit

        model: Model | None = None
        try:
            model = fit(self.train, recipe.learning, cache=self.cache, cancelled=cancelled).model
        except Cancelled:
            self.networks = [recipe, *self.networks] if done else []
        seconds = self.timer() - started
        total = self.rank_seconds[0] + seconds
        self.rank_seconds = total, seconds / max(self._ranks_done() - done, 1)
        self.spent["both.non"] = total
        if model is None:
            return
        bits = bits_per_symbol(model, self.validation)
        self.rank_bits.append(bits)
        if not bits < self.rank_bits[-2] * (1 - SMALLEST_GAIN):
            self.networks.clear()
            return
        network = Candidate("both.non", model, bits, total, recipe)
        for number, one in enumerate(self.candidates):
            if one.family == "both.non":
                self.candidates[number] = network
                return
        self.candidates.append(network)

    def _ranks_done(self) -> int:
        assert self.cache is not None
        return sum(len(path.stages) for path in self.cache.paths.values())

    def _teach(self, recipe: Recipe, limit: float) -> None:
        """Train a network for many symbols by likelihood, unless it is expected to take more than
        `limit` seconds.
        """
        started, passes = self.timer(), 0
        share = share_of_a_pass(self.train)
        predictions = self.train.num_strings * (1 + self.train.mean_length) + MOST_DRAWN
        if predictions * (self.train.num_symbols + 1) > MOST_SCORES:
            return

        def note(progress: Progress) -> None:
            nonlocal passes
            passes = progress.step

        def cancelled() -> bool:
            takes_too_long = not passes and self.timer() - started > share * limit
            return takes_too_long or self.clock.is_over()

        try:
            model = fit(self.train, recipe.learning, report=note, cancelled=cancelled).model
        except Cancelled:
            self.spent["both.non"] = self.spent.get("both.non", 0.0) + self.timer() - started
            return
        bits = bits_per_symbol(model, self.validation)
        self._add(Candidate("both.non", model, bits, self.timer() - started, recipe))

    def _network(self, recipe: Recipe) -> None:
        started = self.timer()
        hankel = build_hankel(self.train, recipe.hankel)
        rank = min(recipe.learning.rank, hankel.num_prefixes, hankel.num_suffixes)
        possible = recipe.changed(learning=recipe.learning.changed(rank=rank))

        def cancelled() -> bool:
            short = (
                self.network is None and self.timer() - started > NETWORK_SHARE * self.clock.seconds
            )
            return short or self.clock.is_over()

        try:
            model = fit(
                hankel,
                possible.learning,
                strings=self.train,
                validation=self.validation,
                cancelled=cancelled,
            ).model
        except Cancelled:
            self.spent["both.non"] = self.spent.get("both.non", 0.0) + self.timer() - started
            return
        bits = bits_per_symbol(model, self.validation)
        self._add(Candidate("both.non", model, bits, self.timer() - started, possible))

    def _lstm(self) -> None:
        """Train the first LSTM, and again with fewer epochs if it gets worse before its last: then
        its rate falls to 0.
        """
        from ..learning.recurrent_networks import (
            MOST_EPOCHS,
            Training,
            seconds_per_update,
            updates_per_epoch,
        )

        seconds, per_epoch, each = (
            LSTM_SHARE * self.clock.seconds,
            0.0,
            updates_per_epoch(self.train),
        )
        patience = max(LSTM_PATIENCE[1], -(-LSTM_PATIENCE[0] // each))
        for units in LSTM_UNITS:
            if units > self.budget.max_states:
                continue
            per_epoch = each * seconds_per_update(
                self.train, "LSTM", units, Training(single_precision=True), self.timer
            )
            if LSTM_EPOCHS[0] * per_epoch <= seconds:
                break
        else:
            return
        epochs = min(
            max(LSTM_EPOCHS[1], -(-LSTM_UPDATES // each)), MOST_EPOCHS, int(seconds / per_epoch)
        )
        while epochs >= 2 and not self.clock.is_over() and epochs * per_epoch <= seconds:
            started = self.timer()
            done = self._train_lstm(LSTMRecipe(units, epochs * each, patience, self.budget.seed))
            if done in (0, epochs):
                return
            seconds -= self.timer() - started
            epochs = done - patience + 1

    def _train_lstm(self, recipe: LSTMRecipe) -> int:
        """Train one LSTM.

        Returns the number of epochs it took, 0 if the time was over before its end.
        """
        from ..learning.recurrent_networks import updates_per_epoch

        started, done = self.timer(), list[Progress]()
        try:
            model = recipe.fit(self.train, self.validation, done.append, self.clock.is_over)
        except Cancelled:
            self.spent["LSTM"] = self.spent.get("LSTM", 0.0) + self.timer() - started
            return 0
        counts, logs = (
            next_counts(self.validation, self.train.num_symbols),
            next_log2_probabilities(model, self.validation.words),
        )
        bits, is_whole = (
            float(-(counts @ logs[0]) / counts.sum()),
            len(done) == recipe.updates // updates_per_epoch(self.train),
        )
        self._add(Candidate("LSTM", model, bits, self.timer() - started, recipe, logs, is_whole))
        return len(done)

    def _advance(self, training: EMTraining, iterations: int) -> None:
        before = training.seconds
        training.advance(self.train, self.trees, iterations, self.clock.is_over)
        family = training.recipe.learner
        self.spent[family] = self.spent.get(family, 0.0) + training.seconds - before

    def _add(self, candidate: Candidate) -> None:
        self.spent[candidate.family] = self.spent.get(candidate.family, 0.0) + candidate.seconds
        if np.isfinite(candidate.bits):
            self.candidates.append(candidate)

    # What is decided

    def _best_of(self, family: str) -> float:
        return min((one.bits for one in self.candidates if one.family == family), default=np.inf)

    def _promised(self) -> float:
        """Return the fewest bits that a model with states has, or that EM is forecast to reach."""
        trained = [one.bits for one in self.candidates if one.num_states and one.family != "LSTM"]
        return min(trained + [one.forecast for one in self.trainings if one.losses], default=np.inf)

    def run(self) -> SearchResult:
        threads = self.budget.number_of_threads
        self.trees = PrefixTree(self.train), PrefixTree(self.validation)
        first = EMTraining(EMRecipe("PFA", 1, seed=self.budget.seed), timer=self.timer)
        # so that there is always a model
        self.trainings.append(first.advance(self.train, self.trees, 1))
        queue = self._first_tasks()
        running: dict[Future[None], EMTraining | str] = {}
        pool = ThreadPoolExecutor(threads)
        try:
            while True:
                while len(running) < threads and not self.clock.is_over():
                    task = next(queue, None) or self._next_task(running)
                    if task is None:
                        break
                    what, function, arguments = task
                    running[pool.submit(on_one_thread(function), *arguments)] = what
                if not running:
                    break
                done, _ = wait(running, timeout=0.5, return_when=FIRST_COMPLETED)
                for one in done:
                    del running[one]
                    one.result()
                self._note_best()
        except BaseException:
            self.clock.ended = True
            raise
        finally:
            pool.shutdown(wait=True)
        return self._result()

    def _note_best(self) -> None:
        # EM goes on next to a better LSTM
        candidates = [(one.bits, one.title) for one in self.candidates if one.family != "LSTM"]
        candidates += [(one.loss, em_title(one.recipe)) for one in self.trainings if one.losses]
        bits, title = min(candidates, default=(np.inf, ""))
        seconds = round(self.clock.spent)
        if bits < self.best * (1 - SMALLEST_GAIN) or (
            bits < self.best and not np.isfinite(self.best)
        ):
            self.best, self.without_gain = bits, 0
            if title != self.logged[0] or self.clock.spent > self.logged[1] + LOG_SECONDS:
                self.log(
                    f"{self.clock.spent:.1f} s: best so far: {title}: {bits:.4f} "
                    f"{SCORE_OF['bits_per_symbol'].unit}"
                )
                self.logged = title, self.clock.spent
        for number, training in enumerate(self.trainings):
            if training.has_converged and number not in self.counted:
                self.counted.add(number)
                self.without_gain += 1
                self.begun = 0
        loss = None if not np.isfinite(bits) else float(bits)
        self.report(
            Progress(
                "search",
                min(seconds, round(self.clock.seconds)),
                round(self.clock.seconds),
                loss,
                BITS,
            )
        )

    def _first_tasks(self) -> Any:
        """Yield each family's first tasks, the cheap ones first."""
        yield "n-gram", self._ngrams, ()
        for statistic in STATISTICS:
            yield "SP", self._spectral, (statistic,)
        yield "PDFA", self._merged, (self.mergings.pop(0),)
        most = self._largest_em()
        ladder = sorted({min(k, most) for k in LADDER} - {1} or {1})
        for k in ladder:
            for learner in EM_FAMILIES:
                if (
                    training := self._new(
                        EMRecipe(learner, k, seed=self.budget.seed, acceleration=ACCELERATION)
                    )
                ) is not None:
                    yield training, self._advance, (training, FIRST_ITERATIONS)

    def _largest_em(self) -> int:
        """Return the largest number of states whose arrays fit into the memory."""
        nodes, symbols = self.trees[0].num_nodes, self.train.num_symbols
        by_tree = MAX_NUMBERS // max(nodes, 1)
        by_model = int((limits.most("transition_numbers") // 16 / symbols) ** 0.5)
        return max(1, min(self.budget.max_states, by_tree, by_model, limits.most("rank")))

    def _new(self, recipe: EMRecipe) -> EMTraining | None:
        """Begin a training run, unless its first iterations would take too long."""
        seconds = self._seconds_per_iteration(recipe.num_states) * FIRST_ITERATIONS
        if (
            seconds > LARGEST_SHARE * self.clock.seconds * self.budget.number_of_threads
            or recipe.num_states > self._largest_em()
        ):
            return None
        training = EMTraining(recipe, timer=self.timer)
        self.trainings.append(training)
        return training

    def _seconds_per_iteration(self, num_states: int) -> float:
        """Estimate an iteration's time from the training with the nearest number of states."""
        timed = [one for one in self.trainings if len(one.losses) >= 3]
        if not timed:
            return 0.0
        nearest = min(timed, key=lambda one: abs(np.log(one.recipe.num_states / num_states)))
        return nearest.seconds_per_iteration * max(1.0, num_states / nearest.recipe.num_states)

    def _first_networks(self) -> list[Recipe]:
        """List the networks to train: those of all ranks where they grow, else a short one."""
        most, seed = min(self.budget.max_states, limits.most("rank")), self.budget.seed
        strings = self.train.num_strings
        if strings < FEWEST_STRINGS:
            return []
        self.cache = path_of_ranks(self.train, seed)
        if self.cache is not None:
            return [by_likelihood(rank, seed) for rank in RANKS if rank <= most]
        k = min(most, SHORT_STATES)
        too_short = self.clock.seconds < 30 and strings > FEW_STRINGS
        if self.train.num_symbols * k * k > LARGEST_NETWORK or too_short:
            return []
        steps = STEPS_IF_FEW if strings <= FEW_STRINGS else SHORT_STEPS
        return [refined(k, self.train, steps, SHORT_REGULARISATION, seed)]

    def _next_network(self) -> tuple[str, Any, tuple[Any, ...]] | None:
        """Choose networks to train: the next rank; or first a short one and then, if that was near
        the best, two long ones: by likelihood and refined.
        """
        if self.networks is None:
            self.networks = self._first_networks()
        if self.cache is not None:
            return self._next_rank()
        if self._networks_wait():
            return None
        if self.networks:
            return "both.non", self._network, (self.networks.pop(0),)
        networks = [one for one in self.candidates if one.family == "both.non"]
        if not networks or not self.long_networks:
            return None
        short = networks[0]
        if self.network is None and short.bits > self._promised() * (1 + NETWORK_MARGIN):
            return None
        self.network = short
        few = self.train.num_strings <= FEW_STRINGS
        k = min(self.budget.max_states, LONG_STATES, limits.most("rank"))
        passes = 2.5 if self.everything is not None else 1.3  # a training on all strings may follow
        seconds = self.clock.left / passes
        self.long_networks -= 1
        if self.long_networks:
            return "both.non", self._teach, (by_likelihood(k, self.budget.seed), seconds)
        per_step = (
            short.seconds
            / (STEPS_IF_FEW if few else SHORT_STEPS)
            * max(1.0, k / max(short.num_states, 1))
        )
        steps = int(min(LONG_STEPS // (5 if few else 1), seconds / per_step))
        if steps < SHORT_STEPS and not few:
            return None
        recipe = refined(k, self.train, steps, LONG_REGULARISATION, self.budget.seed)
        return "both.non", self._network, (recipe,)

    def _next_rank(self) -> tuple[str, Any, tuple[Any, ...]] | None:
        """Choose the next rank of the networks that grow. As long as ranks are cheap, they do not
        wait. They may be a little behind then, and when EM is at its end.
        """
        if not self.networks:
            return None
        total, last = self.rank_seconds
        done = self._ranks_done()
        growth = NEXT_RANK[0 if done < 2 else 1]
        expected = growth * last * (self.networks[0].learning.rank - done)
        limit = RANKS_SHARE * self.clock.seconds - total
        margin = NETWORK_MARGIN
        if expected > limit:
            limit = self.clock.left
            margin *= self.without_gain >= self.patience
            if expected > limit or self._networks_wait():
                return None
        if self._ranks_are_behind(margin):
            return None
        return "both.non", self._grow, (self.networks.pop(0), limit)

    def _ranks_are_behind(self, margin: float) -> bool:
        """Return whether the last rank was behind: not the best, or with a margin, not that near to
        what others promise. The first rank has only to be better than automata of two states.
        """
        bits, rank = self.rank_bits[-1], self._ranks_done()
        rival = self._promised() * (1 + margin) if margin else self.best
        if rank == 1:
            small = [one.loss for one in self.trainings if one.recipe.num_states == 2]
            rival = max(rival, min(small, default=np.inf))
        return rank > 0 and bits > rival

    def _networks_wait(self) -> bool:
        """Return whether to wait until EM has converged once, but not for long: only then it is
        known what is near the best.
        """
        return not self.counted and self.clock.spent < NETWORKS_WAIT * self.clock.seconds

    def _next_lstm(self, waits: bool = True) -> tuple[str, Any, tuple[Any, ...]] | None:
        """Choose an LSTM to train: the first one or, if that was near the best, one to average with
        those that there are.

        On one processor the first one waits until the other families have had some time, unless
        there is nothing else to do.
        """
        threads = self.budget.number_of_threads
        if "LSTM" not in self.other_models or self.lstms_begun >= MOST_LSTMS:
            return None
        if not self.lstms_begun:
            if waits and threads == 1 and self.clock.spent < LSTM_WAITS * self.clock.seconds:
                return None
            self.lstms_begun += 1
            return "LSTM", self._lstm, ()
        trained = [
            (one, one.recipe)
            for one in self.candidates
            if isinstance(one.recipe, LSTMRecipe) and one.is_whole
        ]
        if not trained or self._networks_wait():  # NL-WFA come first
            return None
        best, recipe = min(trained, key=lambda pair: pair[0].bits)
        room = self.budget.max_states - sum(one.num_states for one, _ in trained)
        units = next((units for units in LSTM_UNITS if units <= min(room, best.num_states)), None)
        # a training on all strings follows
        passes = 1 + (1.2 / threads if self.everything is not None else 0)
        if (
            units is None
            or best.bits > self._promised() * LSTM_NEAR
            or best.seconds * passes > self.clock.left
        ):
            return None
        number = self.lstms_begun
        dropout = LSTM_DROPOUTS[number] if number < len(LSTM_DROPOUTS) else recipe.dropout
        another = replace(recipe, num_states=units, dropout=dropout, seed=self.budget.seed + number)
        self.lstms_begun += 1
        return "LSTM", self._train_lstm, (another,)

    def _next_task(self, running: dict[Future[None], EMTraining | str]) -> Any:
        """Choose what to do next: a long training of networks, a turn of EM, or a new training of
        EM. None if nothing is left.
        """
        self._reserve()
        self._note_best()
        networks = [("LSTM", self._next_lstm), ("both.non", self._next_network)]
        # NL-WFA come before further LSTMs
        for family, choose in reversed(networks) if self.lstms_begun else networks:
            if (
                family not in running.values()
                and not self.clock.is_over()
                and (task := choose()) is not None
            ):
                return task
        if self.clock.is_over() or not np.isfinite(self.best):
            return None
        task = self._next_automaton(running) if self.without_gain < self.patience else None
        return self._next_lstm(waits=False) if task is None and not running else task

    def _next_automaton(self, running: dict[Future[None], EMTraining | str]) -> Any:
        """Choose another way of merging states, a new training of EM or a turn of one that has
        begun. None if nothing is left.
        """
        if self._merging_may_help():
            return "PDFA", self._merged, (self.mergings.pop(0),)
        busy = list(running.values())
        active = [
            one
            for one in self.trainings
            if one.losses and one not in busy and not one.has_converged
        ]
        if self.begun < NEW_TRAININGS and (training := self._another()) is not None:
            self.begun += 1
            return training, self._advance, (training, FIRST_ITERATIONS)
        if not active:
            return None
        chosen = min(active, key=lambda one: one.forecast)
        most = max(FIRST_ITERATIONS, len(chosen.losses) // 2)
        turn = int(np.clip(TURN_SECONDS / max(chosen.seconds_per_iteration, 1e-6), 1, most))
        return chosen, self._advance, (chosen, turn)

    def _merging_may_help(self) -> bool:
        """Return whether to merge states in another way: no other model promises to be much better,
        or it costs little.

        EM promises much until it has almost converged. So where merging takes long, EM has the
        first turn.
        """
        merged = [one for one in self.candidates if one.family == "PDFA"]
        if not self.mergings or not merged:
            return False
        cheap = max(one.seconds for one in merged) <= CHEAP_SHARE * self.clock.seconds
        margin = MERGING_MARGIN_IF_CHEAP if cheap else MERGING_MARGIN
        return min(one.bits for one in merged) <= self._promised() * (1 + margin)

    def _another(self) -> EMTraining | None:
        """Begin another training near the best: a new seed, another start, another number of
        states, or the other learner.
        """
        tried = [one for one in self.trainings if one.losses]
        if not tried:
            return None
        best = min(tried, key=lambda one: one.forecast).recipe
        kinds = {one.recipe for one in self.trainings}
        for _ in range(8):
            self.spawned += 1
            turn, seed = self.spawned % 6, self.budget.seed + self.spawned
            recipe = replace(best, seed=seed, start="random")
            larger = min(round(best.num_states * GROWTH), self._largest_em())
            if turn == 1 and larger > best.num_states:
                recipe = replace(recipe, num_states=larger)
            elif turn == 2 and best.learner == "PFA":
                recipe = replace(recipe, start="split")
            elif turn == 3:
                recipe = replace(
                    recipe, learner=next(name for name in EM_FAMILIES if name != best.learner)
                )
            elif turn == 4 and best.num_states > 3:
                recipe = replace(recipe, num_states=max(2, round(best.num_states / 1.3)))
            if recipe not in kinds and (training := self._new(recipe)) is not None:
                return training
        return None

    def _reserve(self) -> None:
        """Reserve time for the choice of a mixture, and for training on all strings."""
        likely = [one for one in self.trainings if one.losses]
        seconds = 0.02 * self.clock.seconds
        if likely and self.everything is not None:
            best = min(likely, key=lambda one: one.loss)
            number = max(
                1, min(MAX_COMPONENTS // 2, self.budget.max_states // best.recipe.num_states)
            )
            seconds += (
                number
                * ITERATIONS_ON_ALL
                * best.seconds_per_iteration
                / self.budget.number_of_threads
            )
        near = {"both.non": NEAR, "LSTM": LSTM_NEAR}
        networks = [
            one
            for one in self.candidates
            if one.bits <= self._promised() * near.get(one.family, 0.0)
            and one.is_whole
            and one.seconds <= self.clock.seconds - self.clock.spent
        ]
        if networks and self.everything is not None:
            lstms = (
                sum(one.seconds for one in networks if one.family == "LSTM")
                / self.budget.number_of_threads
            )
            seconds += 1.2 * max(lstms, *(one.seconds for one in networks))
            self.clock.reserved = min(seconds, 0.5 * self.clock.seconds)
        else:
            self.clock.reserved = min(seconds, RESERVED_SHARE * self.clock.seconds)
        if self.for_ranking:  # rankings are about as much work as the bits
            self.clock.reserved += min(
                2 * self.spent.get("n-gram", 0.0), RESERVED_SHARE * self.clock.seconds
            )

    # The end

    def _finished(self) -> list[Candidate]:
        """List all candidates, those of EM with the best iteration's model, the best first."""
        trained = [
            Candidate(
                one.recipe.learner,
                automaton(one.best, self.train.alphabet),
                one.loss,
                one.seconds,
                one.result_recipe,
            )
            for one in self.trainings
            if one.best is not None and np.isfinite(one.loss)
        ]
        return sorted([*self.candidates, *trained], key=lambda one: one.bits)

    def _result(self) -> SearchResult:
        converged = not self.clock.is_over()
        everyone = self._finished()
        usable = [
            one
            for one in everyone
            if (one.num_states or "n-gram" in self.other_models)
            and one.num_states <= self.budget.max_states
        ]
        if not usable:
            raise RecipeError(
                "no model assigns the validation strings a finite number of bits: "
                "do they come from the same source as the training strings?"
            )
        choice = self._mixing().best(usable)
        components, shares, bits = choice.components, choice.shares, choice.bits
        families = self._families(everyone, bits if len(components) > 1 else None, components)
        number = self.train.num_strings
        if self.everything is not None and not self.clock.stop.is_set():
            components, number = self._retraining(components).run()
        models = [one.model for one in components]
        model = models[0] if len(models) == 1 else mixture(models, shares, choice.level)
        result = SearchResult(
            model,
            tuple(components),
            shares,
            bits,
            tuple(families),
            self.train.num_strings,
            self.validation.num_strings,
            number,
            self.clock.spent,
            self.clock.stop.is_set(),
            converged,
            choice.level,
            choice.ndcg5,
        )
        self.report(
            Progress("search", round(self.clock.seconds), round(self.clock.seconds), bits, BITS)
        )
        return result

    def _mixing(self) -> Mixing:
        return Mixing(
            self.validation,
            self.budget.max_states,
            self.budget.seed,
            self.clock,
            self.log,
            self.other_models,
            self.for_ranking,
        )

    def _retraining(self, components: Sequence[Candidate]) -> Retraining:
        assert self.everything is not None
        return Retraining(
            self.train,
            self.everything,
            components,
            {one.result_recipe: one for one in self.trainings if one.best is not None},
            replace(self.clock, reserved=0.0),
            self.budget.number_of_threads,
            self._most_states(),
        )

    def _families(
        self, everyone: Sequence[Candidate], mixed: float | None, components: Sequence[Candidate]
    ) -> list[FamilyResult]:
        symbols = (
            float(self.validation.counts @ (self.validation.words.lengths + 1))
            / self.validation.num_strings
        )
        results = []
        if mixed is not None:
            states, number = sum(one.num_states for one in components), len(components)
            results.append(
                FamilyResult(
                    "mixture",
                    f"{number} models",
                    states,
                    number,
                    0.0,
                    mixed,
                    perplexity(mixed, symbols),
                )
            )
        for family in dict.fromkeys(one.family for one in everyone):
            own = [one for one in everyone if one.family == family]
            best, seconds = own[0], self.spent.get(family, 0.0)
            results.append(
                FamilyResult(
                    family,
                    best.title,
                    best.num_states,
                    len(own),
                    seconds,
                    best.bits,
                    perplexity(best.bits, symbols),
                )
            )
        return sorted(results, key=lambda one: one.bits)
