"""Search for the best model within a number of minutes, over families, numbers of states and
starts, with a mixture at the end.

The families are n-grams (a baseline, which has no states), spectral learning, deterministic
automata (PDFA) by merging states, PFA and HMM by EM, NL-WFA by likelihood and, on request, an LSTM.
All are compared by their bits per symbol on validation strings. First each family is tried with
little effort and several numbers of states. Then time goes, in short turns, to the training runs of
EM that promise the fewest bits. A run promises its present loss minus the gain from the last half
of its iterations, as in successive halving with a forecast. A few new runs begin at first, and
again whenever one has converged, with another seed, another start, or more states. Networks over
few symbols grow from rank to rank, without waiting while that is cheap. Networks over many symbols
are trained for long if a short run came near the best model. If an LSTM came near it, more LSTMs
are trained while there is time. At the end, `mixing` chooses a model or a mixture, which then
learns from all strings.

What is trained depends on the clock. Each training run has a recipe with a seed and its number of
iterations, so a model can be learned again from its recipe: `em_training.fit_em`,
`merging.fit_pdfa`, `fitting.fit`, `NGram.fit`, `recurrent_networks.fit_recurrent`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import chain
from time import monotonic, perf_counter, process_time, thread_time

import numpy as np

from ..errors import Cancelled, RecipeError, check_one_of, check_types
from ..learning.progress import BITS, Progress, Report, silent
from ..metrics.score_table import SCORE_OF
from ..models.mixture import mixture
from ..rounding import on_one_thread
from ..strings.plain import SampleLike, as_sample
from ..strings.sample import Sample
from .budget import DEFAULT_BUDGET, Budget, Clock
from .candidates import Candidate, FamilyResult, SearchResult, perplexity
from .families import lstm, ngrams
from .families.em import EMTrainings
from .families.family import SMALLEST_GAIN, SearchState, Task
from .families.merging import Merging
from .families.networks import Networks
from .families.spectral import Spectral
from .mixing import Mixing

OTHER_MODELS = (ngrams.NAME, lstm.NAME)  # which are not automata
# If there are no validation strings, a share of the training strings is held out: at least so many
# strings, but at most another share.
HELD_OUT_SHARE = 0.1
FEWEST_HELD_OUT = 20
MOST_HELD_OUT_SHARE = 0.2
LOG_SECONDS = 20.0  # between two lines about the same model
# At most these shares of the time are reserved for training on all strings: the first if training
# goes on from models, the second if models are trained again, which takes `AGAIN` times as long as
# before.
RESERVED_SHARE = 0.25
RESERVED_SHARE_AGAIN = 0.5
AGAIN = 1.2


def hold_out(strings: Sample, seed: int) -> tuple[Sample, Sample]:
    """Divide strings at random into training strings and validation strings.

    Raises RecipeError if there are fewer than two strings.
    """
    number = strings.num_strings
    if number < 2:
        raise RecipeError(
            "at least 2 strings are needed, because a part of them is held out to choose "
            f"a model; got {number:,}"
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
        Without them, a tenth of the training strings is held out, and the chosen model is finally
        trained on all strings.
    budget : Budget
    stop : threading.Event, optional
        When it is set, the search ends, and the best model so far is returned.
    report : callable
        Called with the seconds spent, and the best bits per symbol so far.
    log : callable
        Called with a sentence whenever there is a new best model.
    other_models : collection of str
        The models other than automata that the result may contain: "n-gram", "LSTM". With any of
        them, a mixture may also average next-symbol probabilities; it is then not an automaton.
    for_ranking : bool
        Whether the model is to rank next symbols after a prefix. If so, the final choice is by
        NDCG5.

    Raises
    ------
    RecipeError
        If there are too few strings, no model gives the validation strings a finite number of bits,
        or `other_models` contains an unknown name.
    """
    for name in other_models:
        check_one_of("other_models", name, OTHER_MODELS)
    whole = as_sample(train, name="train")
    if not len(whole.words):
        raise RecipeError("a search needs training strings; got none")
    if validation is None:
        training, held_out = hold_out(whole, budget.seed)
        everything: Sample | None = whole
    else:
        held_out = as_sample(
            validation, None if isinstance(validation, Sample) else whole.alphabet, "validation"
        )
        held_out = held_out.in_alphabet(whole.alphabet, "the training strings'")
        training = whole
        everything = None
        if not len(held_out.words):
            raise RecipeError("a search needs validation strings; got none")
    return _Search(
        training,
        held_out,
        everything,
        budget,
        stop=stop or threading.Event(),
        report=report,
        log=log,
        other_models=frozenset(other_models),
        for_ranking=for_ranking,
    ).run()


class _Search:
    """A search: it decides what is trained next, and when to end.

    Training runs in threads; everything is decided in the thread that calls `run`.
    """

    def __init__(
        self,
        train: Sample,
        validation: Sample,
        everything: Sample | None,
        budget: Budget,
        stop: threading.Event,
        report: Report,
        log: Callable[[str], None],
        other_models: Collection[str],
        for_ranking: bool,
    ) -> None:
        self.budget = budget
        self.report = report
        self.log = log
        self.other_models = other_models
        self.for_ranking = for_ranking
        wall = budget.clock == "wall"
        threads = budget.number_of_threads

        def now() -> float:
            return monotonic() if wall else process_time() / threads

        self.clock = Clock(60 * budget.minutes, stop, now, now())
        timer = perf_counter if wall else thread_time
        self.state = state = SearchState(train, validation, everything, budget, self.clock, timer)
        em = EMTrainings(state)
        # in the order in which they choose what to train next
        self.families = state.families = [
            ngrams.NGrams(state),
            Spectral(state),
            Networks(state, em),
            lstm.LSTM(state, lstm.NAME in other_models),
            Merging(state),
            em,
        ]
        # of the last line
        self.logged_title = ""
        self.logged_at = 0.0

    def run(self) -> SearchResult:
        threads = self.budget.number_of_threads
        queue = chain.from_iterable([family.begin() for family in self.families])
        running: dict[Future[object], object] = {}
        pool = ThreadPoolExecutor(threads)
        try:
            while True:
                while len(running) < threads and not self.clock.is_over():
                    task = next(queue, None) or self._next_task(running.values())
                    if task is None:
                        break
                    future = pool.submit(on_one_thread(task.carry_out))
                    running[future] = task.subject
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
        state = self.state
        spent = self.clock.spent
        bits, title = min(family.best() for family in self.families)
        if bits < state.best * (1 - SMALLEST_GAIN) or bits < state.best == np.inf:
            state.best = bits
            state.without_gain = 0
            if title != self.logged_title or spent > self.logged_at + LOG_SECONDS:
                unit = SCORE_OF["bits_per_symbol"].unit
                self.log(f"{spent:.1f} s: best so far: {title}: {bits:.4f} {unit}")
                self.logged_title = title
                self.logged_at = spent
        converged = sum(family.newly_converged() for family in self.families)
        state.without_gain += converged
        state.has_converged |= converged > 0
        total = round(self.clock.seconds)
        loss = float(bits) if np.isfinite(bits) else None
        self.report(Progress("search", min(round(spent), total), total, loss, BITS))

    def _next_task(self, running: Collection[object]) -> Task | None:
        """Choose the next task, from the first family that has one. None if there are none left."""
        self._reserve()
        self._note_best()
        if self.clock.is_over():
            return None
        late = (family.late_task() for family in self.families)
        further = (family.next_task(running) for family in self.families)
        idle = not running and np.isfinite(self.state.best)
        last = (family.late_task(waits=False) for family in self.families if idle)
        return next(filter(None, chain(late, further, last)), None)

    def _reserve(self) -> None:
        """Reserve time for the choice of a mixture, and for training on all strings."""
        seconds = 0.02 * self.clock.seconds
        share = RESERVED_SHARE
        if self.state.everything is not None:
            seconds += sum(family.seconds_to_continue() for family in self.families)
            again = max(family.seconds_to_retrain() for family in self.families)
            if again:
                seconds += AGAIN * again
                share = RESERVED_SHARE_AGAIN
        self.clock.reserved = min(seconds, share * self.clock.seconds)
        if self.for_ranking:  # rankings are about as much work as the bits
            self.clock.reserved += min(
                2 * self.state.spent.get(ngrams.NAME, 0.0), RESERVED_SHARE * self.clock.seconds
            )

    # The end

    def _result(self) -> SearchResult:
        state = self.state
        converged = not self.clock.is_over()
        unfinished = (one for family in self.families for one in family.unfinished())
        everyone = sorted([*state.candidates, *unfinished], key=lambda one: one.bits)
        usable = [
            one
            for one in everyone
            if (one.family in self.other_models or one.family not in OTHER_MODELS)
            and one.num_states <= self.budget.max_states
        ]
        if not usable:
            raise RecipeError(
                "no model assigns the validation strings a finite number of bits: "
                "do they come from the same source as the training strings?"
            )
        choice = self._mixing().best(usable)
        components = choice.components
        shares = choice.shares
        bits = choice.bits
        families = []
        if len(components) > 1:
            states = sum(one.num_states for one in components)
            number = len(components)
            families = [self._family_result("mixture", f"{number} models", states, number, bits)]
        for name in dict.fromkeys(one.family for one in everyone):
            members = [one for one in everyone if one.family == name]
            best = members[0]
            families.append(
                self._family_result(name, best.title, best.num_states, len(members), best.bits)
            )
        number = state.train.num_strings
        if state.everything is not None and not self.clock.stop.is_set():
            components, number = self._retrained(components, state.everything)
        models = [one.model for one in components]
        model = models[0] if len(models) == 1 else mixture(models, shares, choice.level)
        result = SearchResult(
            model,
            tuple(components),
            shares,
            bits,
            tuple(sorted(families, key=lambda one: one.bits)),
            state.train.num_strings,
            state.validation.num_strings,
            number,
            self.clock.spent,
            self.clock.stop.is_set(),
            converged,
            choice.level,
            choice.ndcg5,
        )
        total = round(self.clock.seconds)
        self.report(Progress("search", total, total, bits, BITS))
        return result

    def _mixing(self) -> Mixing:
        return Mixing(
            self.state.validation,
            self.budget.max_states,
            self.budget.seed,
            self.clock,
            self.log,
            self.other_models,
            self.for_ranking,
        )

    def _retrained(
        self, components: Sequence[Candidate], everything: Sample
    ) -> tuple[list[Candidate], int]:
        """Train components on all strings, where there is time.

        Returns them, and the number of strings that all of them learned from.
        """
        self.clock.reserved = 0.0
        family_of = {name: family for family in self.families for name in family.names}
        for family in self.families:
            family.prepare([one for one in components if one.family in family.names])

        def retrained(candidate: Candidate) -> Candidate | None:
            family = family_of[candidate.family]
            try:
                return family.retrained(candidate, everything, len(components) == 1)
            except Cancelled:
                return None

        with ThreadPoolExecutor(self.budget.number_of_threads) as pool:
            results = list(pool.map(on_one_thread(retrained), components))
        changed = [new or old for new, old in zip(results, components, strict=True)]
        return changed, (everything if all(results) else self.state.train).num_strings

    def _family_result(
        self, name: str, title: str, num_states: int, number: int, bits: float
    ) -> FamilyResult:
        validation = self.state.validation
        symbols = float(validation.counts @ (validation.words.lengths + 1))
        return FamilyResult(
            name,
            title,
            num_states,
            number,
            self.state.spent.get(name, 0.0),
            bits,
            perplexity(bits, symbols / validation.num_strings),
        )
