"""The path of ranks: the networks of ranks 1, 2, 3 …, each found with the help of the network of
the rank below.

Networks of few states start at random, on short prefixes first. (On long prefixes, the gradient of
a bad start can have any size, and there are few prefixes of at most 10 symbols.) A larger network
is the previous network with one more state, which initially changes nothing (growing networks:
Fahlman and Lebiere, *The cascade-correlation learning architecture*, NIPS 1990; without changing
the function: Chen, Goodfellow, Shlens, *Net2Net*, ICLR 2016). It replaces the previous network only
if the new state is worth its weights (`curvature.evidence`); otherwise the new weights are 0. So
the objective never rises with the rank, and the network of a rank does not depend on the largest
rank that is requested.

Ranks for which this would be too expensive are trained alone (`many_symbols`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ...errors import plural
from ...strings.sample import Sample
from ...strings.words import FloatArray
from ..progress import PENALISED_BITS, CancelCheck, Progress, Report, TrainingLog
from .curvature import evidence, gauss_newton
from .many_symbols import Teaching
from .network import Network, objective
from .newton import STEPS, Descended, descend, is_large
from .prefixes import PrefixCounts

STAGE = "likelihood"
# Networks start at random up to this many states; with at least MANY_STRINGS, which determine more
# weights, up to MOST_FRESH. Where five states are not worth their weights, seven often are.
FRESH_UP_TO = 4
MANY_STRINGS = 10_000
MOST_FRESH = 8
# random starts; steps of each on the shortest prefixes
FRESH = 48
FIRST_STEPS = 10
# random directions of a new state; steps of each
GROWN = 4
GROWN_STEPS = 6
# The rungs: lengths of prefixes, as far as they are shorter than three quarters of the longest, and
# how many starts are trained on each; the last number holds for all further ones. With longer
# strides, the states get out of control on the new prefixes.
RUNGS = (10, 15, 25, 40, 60, 90, 140, 210, 320, 480)
KEPT = (12, 8, 6, 3, 2)
# Rounds of a start on the first rung, on the others, and of the best on all prefixes.
FIRST_ROUNDS = 3
RUNG_ROUNDS = 2
LAST_ROUNDS = 30
RUNG_SHARE = 2e-4  # on a rung, a round that lowers J by a smaller share is the last
WIDTH = 2  # hidden units of the maps and of the decoder, per state
CURVATURE_STRINGS = 2_000  # strings of a larger sample for the Gauss–Newton matrix
# For a network whose Gauss–Newton matrix is too large to compute.
NATS_PER_WEIGHT = 1.0


@dataclass(frozen=True, eq=False)
class Stage:
    """The network of a rank.

    Attributes
    ----------
    rank : int
    network : Network
        It may have fewer states than `rank`, if further states gained nothing.
    descended : Descended
        The training run that led to the network, of a smaller rank if the network has fewer states.
    evidence : float
        See `curvature.evidence`; nan for a large network.
    """

    rank: int
    network: Network
    descended: Descended
    evidence: float

    @property
    def padded(self) -> Network:
        """Return the network with as many states as the rank; the weights of new states are 0."""
        return widened(self.network, self.rank, lambda shape, inputs: np.zeros(shape))

    @property
    def log(self) -> TrainingLog:
        """Return the training log, in which an epoch is a step of L-BFGS on all prefixes."""
        return TrainingLog(
            STAGE,
            np.array(self.descended.values) / np.log(2),
            measure=PENALISED_BITS,
            stopped=self.descended.stopped,
            gradient=self.descended.gradient / np.log(2),
        )

    @property
    def note(self) -> str | None:
        """Return a sentence for the user if the network has fewer states than its rank. This is not
        a fault, because `Path` adds only states that are worth their weights.
        """
        used = self.network.num_states
        if used == self.rank:
            return None
        return (
            f"{used} of {plural(self.rank, 'state')} {'is' if used == 1 else 'are'} in use: "
            "further states were not worth their weights, and are always 0."
        )


class Path:
    """The networks of ranks 1, 2, 3 … for a sample, computed as far as they are requested.

    Parameters
    ----------
    train : Sample
    tanh_maps, tanh_decoder : bool
        Whether the maps, and the decoder, have a hidden layer with tanh.
    prior : float
        ρ.
    seed : int
    """

    def __init__(
        self, train: Sample, tanh_maps: bool, tanh_decoder: bool, prior: float, seed: int
    ) -> None:
        self.train = train
        self.tanh_maps = tanh_maps
        self.tanh_decoder = tanh_decoder
        self.prior = prior
        self.seed = seed
        self.prefixes = PrefixCounts.of(train)
        self.curvature_of = self.prefixes
        if train.num_strings > CURVATURE_STRINGS:
            self.curvature_of = PrefixCounts.of(_drawn(train, CURVATURE_STRINGS, seed))
        self.stages: list[Stage] = []
        self.alone: dict[int, Stage] = {}

    def of_rank(self, rank: int, report: Report, cancelled: CancelCheck) -> Stage:
        """Return the network of a rank. It is found with the help of lower ranks, unless the
        Gauss–Newton matrix is too large for this rank, or for FRESH_UP_TO if the rank is larger,
        because further states can be worth their weights without a matrix.

        Without a matrix, J may be higher than that of the largest network with a matrix, above all
        on few strings. That network is then also used for this rank.
        """
        largest = self.largest_with_matrix(min(rank, FRESH_UP_TO))
        if largest == min(rank, FRESH_UP_TO):
            return self.up_to(rank, report, cancelled)
        if rank not in self.alone:
            work = _Work(report, cancelled)
            teaching = self.teaching(work.note, cancelled)
            below = self._up_to(largest, work, teaching.num_passes) if largest else None
            work.expect(teaching.num_passes)
            taught = self._taught(rank, teaching)
            stages = [taught] if below is None else [taught, replace(below, rank=rank)]
            self.alone[rank] = min(stages, key=lambda stage: stage.descended.value)
        return self.alone[rank]

    def teaching(self, note: Callable[[float], None], cancelled: CancelCheck) -> Teaching:
        """Return the training of networks without a matrix."""
        flags = (self.tanh_maps, self.tanh_decoder)
        return Teaching(self.train, *flags, self.prior, self.seed, note, cancelled)

    def up_to(self, rank: int, report: Report, cancelled: CancelCheck) -> Stage:
        """Return the network of a rank, and compute missing networks of lower ranks."""
        return self._up_to(rank, _Work(report, cancelled))

    def _up_to(self, rank: int, work: _Work, later: int = 0) -> Stage:
        """Compute the networks that are missing, as part of work of which some is left to do."""
        for each in range(len(self.stages) + 1, rank + 1):
            work.expect(sum(map(self._num_trainings, range(each, rank + 1))) + later)
            self.stages.append(self._stage(each, work))
        return self.stages[rank - 1]

    def largest_with_matrix(self, rank: int) -> int:
        """Return the largest rank, at most `rank`, whose networks have a Gauss–Newton matrix that
        is not too large; 0 if there is none.
        """
        random = np.random.default_rng(0)
        while rank and is_large(self._random_network(rank, random), self.curvature_of):
            rank -= 1
        return rank

    def _taught(self, rank: int, teaching: Teaching) -> Stage:
        network, values = teaching.network(rank)
        value = objective(network, self.prefixes, self.prior / self.prefixes.total)
        descended = Descended(network, value, tuple(values), np.nan, "epochs")
        return Stage(rank, network, descended, np.nan)

    def is_of(self, train: Sample) -> bool:
        """Return whether these are the strings of this path."""
        sample = self.train
        return sample is train or (
            sample.alphabet == train.alphabet
            and np.array_equal(sample.counts, train.counts)
            and np.array_equal(sample.words.offsets, train.words.offsets)
            and np.array_equal(sample.words.symbols, train.words.symbols)
        )

    def _rungs(self) -> list[tuple[int, int]]:
        """List the lengths of prefixes, and from how many starts networks are trained on them."""
        longest = self.prefixes.longest
        lengths = [length for length in RUNGS if 4 * length < 3 * longest]
        kept = [*KEPT[: len(lengths)], *[KEPT[-1]] * (len(lengths) - len(KEPT)), KEPT[-1]]
        return list(zip([*lengths, longest], kept, strict=True))

    def _num_trainings(self, rank: int) -> int:
        kept = sum(number for _, number in self._rungs())
        fresh = FRESH + kept if self._starts_at_random(rank) else 0
        return fresh + (GROWN if rank > 1 else 0) + 1

    def _starts_at_random(self, rank: int) -> bool:
        return rank <= (MOST_FRESH if self.train.num_strings >= MANY_STRINGS else FRESH_UP_TO)

    def _stage(self, rank: int, work: _Work) -> Stage:
        """Train the network of a rank, given those below it."""
        below = self.stages[-1] if self.stages else None
        tried = self._fresh(rank, work) if self._starts_at_random(rank) else []
        if below is not None:
            tried.append(self._grown(rank, below.network, work))
        first = _best(tried)[0]
        longest = self.prefixes.longest
        (last,) = self._descended([first.network], longest, work, rounds=LAST_ROUNDS)
        stage = self._with_evidence(rank, replace(last, values=first.values + last.values[1:]))
        if below is None or self._is_worth(stage, below):
            return stage
        return replace(below, rank=rank)

    def _with_evidence(self, rank: int, descended: Descended) -> Stage:
        network = descended.network
        log_evidence = np.nan  # for a large network, whose matrix would cost too much
        if not is_large(network, self.curvature_of):
            matrix = gauss_newton(network, self.curvature_of)
            log_evidence = evidence(network, self.prefixes, matrix, self.prior)
        return Stage(rank, network, descended, log_evidence)

    def _is_worth(self, stage: Stage, below: Stage) -> bool:
        """Return whether a network is worth its weights beyond those of the one below."""
        gain = (below.descended.value - stage.descended.value) * self.prefixes.total
        if np.isnan(stage.evidence):
            more = len(stage.network.vector) - len(below.network.vector)
            return bool(gain > NATS_PER_WEIGHT * more)
        return bool(gain > 0 and not stage.evidence <= below.evidence)

    def _fresh(self, rank: int, work: _Work) -> list[Descended]:
        """Train networks from random weights, on longer and longer prefixes."""
        random = np.random.default_rng((self.seed, rank, 0))
        starts = [self._random_network(rank, random) for _ in range(FRESH)]
        rungs = self._rungs()
        tried = self._descended(starts, rungs[0][0], work, rounds=1, steps=FIRST_STEPS)
        rounds = FIRST_ROUNDS
        for length, kept in rungs:
            starts = [each.network for each in _best(tried)[:kept]]
            tried = self._descended(starts, length, work, rounds=rounds, least_share=RUNG_SHARE)
            rounds = RUNG_ROUNDS
        return tried

    def _grown(self, rank: int, below: Network, work: _Work) -> Descended:
        """Train a network with one more state than a given one, starting from it."""
        random = np.random.default_rng((self.seed, rank, 1))
        starts = [self._with_random_state(below, random) for _ in range(GROWN)]
        length = self.prefixes.longest
        return _best(self._descended(starts, length, work, rounds=1, steps=GROWN_STEPS))[0]

    def _descended(
        self,
        starts: Sequence[Network],
        length: int,
        work: _Work,
        *,
        rounds: int,
        steps: int = STEPS,
        least_share: float = 0.0,
    ) -> list[Descended]:
        """Train networks on the prefixes up to some length."""
        prefixes = self.prefixes
        curvature_of = self.curvature_of
        if length < prefixes.longest:
            same = curvature_of is prefixes
            prefixes = prefixes.up_to(length)
            curvature_of = prefixes if same else curvature_of.up_to(length)
        ended = descend(
            starts,
            prefixes,
            self.prior / self.prefixes.total,
            rounds,
            steps,
            curvature_of=curvature_of,
            least_share=least_share,
            cancelled=work.cancelled,
            watch=work.watch(starts[0]),
        )
        for each in ended:
            work.note(each.value)
        return ended

    def _random_network(self, rank: int, random: np.random.Generator) -> Network:
        num_symbols = self.prefixes.num_symbols
        hidden = WIDTH * rank

        def layer(*shape: int) -> FloatArray:
            weights: FloatArray = random.normal(size=shape) / np.sqrt(shape[-2])
            return weights

        initial = random.normal(size=rank) / 2
        widths = (rank, hidden, rank) if self.tanh_maps else (rank, rank)
        maps = tuple(layer(num_symbols, before, after) for before, after in pairwise(widths))
        decoder = (layer(rank, hidden),) if self.tanh_decoder else ()
        width = hidden if self.tanh_decoder else rank
        return Network(initial, maps, decoder, np.zeros((width, num_symbols + 1)))

    def _with_random_state(self, network: Network, random: np.random.Generator) -> Network:
        """Add a state that reads all others, and that nothing reads yet."""
        return widened(
            network,
            network.num_states + 1,
            lambda shape, inputs: random.normal(size=shape) / (np.sqrt(inputs) if inputs else 2.0),
        )


class _Work:
    """Counts training runs, and reports each."""

    def __init__(self, report: Report, cancelled: CancelCheck) -> None:
        self.report = report
        self.cancelled = cancelled
        self.done = self.total = 0

    def expect(self, number: int) -> None:
        """State the largest number of training runs that are still to come."""
        self.total = self.done + number

    def watch(self, shape: Network) -> Callable[[float, FloatArray], None]:
        """Return a callback that shows the best network of a descent so far."""
        best = np.inf

        def look(value: float, vector: FloatArray) -> None:
            nonlocal best
            if value < best:
                best = value
                preview = shape.with_vector(vector).model
                self.report(
                    Progress(STAGE, self.done, self.total, None, PENALISED_BITS, preview=preview)
                )

        return look

    def note(self, value: float) -> None:
        self.done += 1
        loss = value / np.log(2) if np.isfinite(value) else None
        self.report(Progress(STAGE, self.done, self.total, loss, PENALISED_BITS))


def widened(
    network: Network, num_states: int, new_weights: Callable[[tuple[int, ...], int], FloatArray]
) -> Network:
    """Add states, and hidden units in proportion, that no existing unit reads, so the function does
    not change.

    Parameters
    ----------
    new_weights : callable
        (shape, number of inputs) -> the weights by which new units read all units below them; with
        0 inputs, the new entries of α₀.
    """
    k = network.num_states
    if num_states == k:
        return network

    def grown(layer: FloatArray, before: int, after: int) -> FloatArray:
        old_before, old_after = layer.shape[-2:]
        wide = np.zeros((*layer.shape[:-2], before, after))
        wide[..., :old_before, :old_after] = layer
        shape = (*layer.shape[:-2], before, after - old_after)
        wide[..., :, old_after:] = new_weights(shape, before)
        return wide

    initial = np.concatenate((network.initial, new_weights((num_states - k,), 0)))
    maps = []
    before = num_states
    for layer in network.maps:
        after = layer.shape[2] // k * num_states
        maps.append(grown(layer, before, after))
        before = after
    decoder = []
    before = num_states
    for layer in network.decoder:
        after = layer.shape[1] // k * num_states
        decoder.append(grown(layer, before, after))
        before = after
    output = np.zeros((before, network.output.shape[1]))
    output[: len(network.output)] = network.output
    return Network(initial, tuple(maps), tuple(decoder), output)


def _best(tried: Iterable[Descended]) -> list[Descended]:
    return sorted(tried, key=lambda each: each.value)


def _drawn(sample: Sample, number: int, seed: int) -> Sample:
    """Draw strings from a sample without replacement."""
    counts = np.random.default_rng((seed, 0)).multivariate_hypergeometric(
        sample.counts, number, method="marginals"
    )
    chosen = np.flatnonzero(counts)
    return Sample(sample.words.take(chosen), counts[chosen], sample.alphabet)
