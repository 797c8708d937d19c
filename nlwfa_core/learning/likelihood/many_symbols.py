"""Train a network on strings of many symbols, where the Gauss–Newton matrix is too large.

With thirty symbols, two states have hundreds of weights, and fifty states have a hundred thousand.
Ranks do not grow here, because a single state is never worth its weights. The network has all its
states from the start, and four techniques replace the matrix:

- The states first hold the last few symbols, like a shift register of random codes. State 0 is
  constant, because maps have no biases.
- The prior of the maps is hierarchical: the weights of a symbol's map are normal around those of a
  common map (Gelman and Hill, *Data analysis using regression and multilevel/hierarchical models*,
  2007).
- Adam (Kingma and Ba, *Adam: a method for stochastic optimization*, ICLR 2015) takes each step on a
  few strings.
- Networks teach networks of the same rank (Buciluǎ, Caruana, Niculescu-Mizil, *Model compression*,
  KDD 2006; Hinton, Vinyals, Dean, *Distilling the knowledge in a neural network*, 2015; Furlanello
  et al., *Born-again neural networks*, ICML 2018). Several networks overfit in different ways, so
  the mean of their predictions is better than any of them. The next networks learn from this mean.
  On the training strings, they learn from a mixture of the mean and the symbols that follow; on
  strings drawn from the mean, from the mean alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...strings.sample import Sample
from ...strings.trie import Trie
from ...strings.words import FloatArray, IntArray, Words, offsets_of
from ..progress import CancelCheck, check_cancelled
from .network import Network, objectives_and_gradients, outputs
from .prefixes import PrefixCounts, numbers_of

# An array of 32-bit floats, with which a pass takes half the time.
Short = npt.NDArray[Any]


class Generation(NamedTuple):
    """Networks that learn from the same strings.

    Attributes
    ----------
    networks : int
    passes : int
        The least number of times that each network sees all strings.
    rate : float
        The largest learning rate of Adam.
    drawn : int
        The number of strings drawn from the previous generation, per training string.
    least_steps : int
        A small sample, for which a pass takes only a few steps, is seen more often, until each
        network has taken this many steps.
    """

    networks: int
    passes: int
    rate: float
    drawn: int
    least_steps: int = 0


GENERATIONS = (
    Generation(6, 16, 3e-3, 0, 1_100),
    Generation(3, 12, 4e-3, 4, 2_200),
    Generation(1, 30, 4e-3, 5, 4_400),
)
TAUGHT_SHARE = 0.6  # share of the teachers' predictions in what is learned on the training strings
# A larger sample has fewer passes and fewer drawn strings: a network computes at most this many
# predictions.
MOST_PREDICTIONS = 8_000_000
MOST_DRAWN = 250_000
# A drawn string that is longer than this many times the longest training string is left out.
LONGEST_DRAWN = 2
BATCH = 64  # strings in a step
AT_ONCE = 1_000  # strings for which teachers predict together
# hidden units of the maps and of the decoder, per state
WIDTH = 2
DECODER_WIDTH = 8
CODES = 3  # how many symbols the states hold at the start
CONSTANT = 3.0  # the weights that keep a state constant
COPIED = 1.5  # the weights by which maps with tanh copy a state
NOISE = 0.1  # the standard deviation of a unit's other inputs at the start
# Adam: the shares of the mean gradient and of its square that are kept, the number of steps in
# which the rate rises, and the norm to which longer gradients are shortened.
MEAN = 0.9
SQUARE = 0.99
WARM_UP = 100
LONGEST = 1.0


@dataclass(frozen=True, eq=False)
class Teaching:
    """The values that all generations share.

    Attributes
    ----------
    train : Sample
    tanh_maps, tanh_decoder : bool
        Whether the maps, and the decoder, have a hidden layer with tanh.
    prior : float
        ρ, for the deviations from the common map and for the decoder. The common map has no prior.
    seed : int
    note : callable
        Called with J after each pass.
    cancelled : callable
    """

    train: Sample
    tanh_maps: bool
    tanh_decoder: bool
    prior: float
    seed: int
    note: Callable[[float], None]
    cancelled: CancelCheck

    def network(self, rank: int) -> tuple[Network, list[float]]:
        """Train all generations of a rank.

        Returns
        -------
        network : Network
            The network of the last generation.
        values : list of float
            Its J, in nats per prediction of what it was taught: before the first pass, and averaged
            over each pass, during which the weights change.

        Raises
        ------
        Cancelled
            If `cancelled()` returns true.
        """
        networks: list[Network] = []
        values: list[float] = []
        for number, generation in enumerate(GENERATIONS):
            random = np.random.default_rng((self.seed, rank, 2, number))
            teachers = networks
            networks = []
            strings = [Strings.of(self.train, teachers, TAUGHT_SHARE if teachers else 0.0)]
            drawn = self._drawn(teachers, generation.drawn, random) if teachers else None
            if drawn is not None:
                strings.append(Strings.of(drawn, teachers, 1.0))
            for _ in range(generation.networks):
                start = _Start(rank, self.train.num_symbols, random)
                pair = start.pair(self.tanh_maps, self.tanh_decoder)
                network, values = self._descended(pair, strings, generation, random)
                networks.append(network)
        return networks[0], values

    @property
    def num_passes(self) -> int:
        """Return the number of passes of all networks together."""
        return sum(each.networks * self._passes(each) for each in GENERATIONS)

    @property
    def num_predictions(self) -> float:
        """Return the number of predictions of all networks in all passes."""
        size = int(self.train.num_strings)
        strings = sum(
            each.networks * self._passes(each) * (size + self._num_drawn(each.drawn))
            for each in GENERATIONS
        )
        return strings * (1 + self.train.mean_length)

    def _num_drawn(self, number: int) -> int:
        """Return how many strings are drawn, if `number` per training string are wanted."""
        most = int(MOST_DRAWN / (1 + self.train.mean_length))
        return min(number * int(self.train.num_strings), most)

    def _passes(self, generation: Generation) -> int:
        num_strings = int(self.train.num_strings) + self._num_drawn(generation.drawn)
        most = int(MOST_PREDICTIONS / (num_strings * (1 + self.train.mean_length)))
        least = -(-generation.least_steps // -(-num_strings // BATCH))
        return max(min(max(generation.passes, least), most), 1)

    def _drawn(
        self, teachers: Sequence[Network], number: int, random: np.random.Generator
    ) -> Sample | None:
        """Draw strings from the mean prediction of some networks; None without strings."""
        num_symbols = self.train.num_symbols
        longest = LONGEST_DRAWN * int(self.train.words.lengths.max())
        # at each position, the strings that go on there, and their symbols
        rows: list[IntArray] = []
        symbols: list[IntArray] = []
        alive = np.arange(self._num_drawn(number))
        is_short = np.ones(len(alive), dtype=bool)
        states = [np.repeat(each.initial[None], len(alive), axis=0) for each in teachers]
        for position in range(longest + 1):
            pairs = zip(teachers, states, strict=True)
            totals = np.cumsum(np.mean([_predicted(*pair) for pair in pairs], axis=0), axis=1)
            bounds = random.random(len(alive)) * totals[:, -1]
            chosen = (totals <= bounds[:, None]).sum(axis=1).clip(max=num_symbols)
            going = chosen < num_symbols
            alive = alive[going]
            chosen = chosen[going]
            if position == longest or not len(alive):
                break
            rows.append(alive)
            symbols.append(chosen)
            pairs = zip(teachers, states, strict=True)
            states = [_moved(each, before[going], chosen) for each, before in pairs]
        is_short[alive] = False
        if not is_short.any():
            return None
        row = np.concatenate([np.zeros(0, dtype=np.int64), *rows])
        order = np.argsort(row, kind="stable")
        order = order[is_short[row[order]]]
        lengths = np.bincount(row, minlength=len(is_short))[is_short]
        flat = np.concatenate([np.zeros(0, dtype=np.int64), *symbols])[order]
        return Sample.of(Words(flat, offsets_of(lengths)), self.train.alphabet)

    def _descended(
        self,
        pair: tuple[Network, Network],
        strings: Sequence[Strings],
        generation: Generation,
        random: np.random.Generator,
    ) -> tuple[Network, list[float]]:
        """Train a network, the first of the pair, whose maps deviate from those of the second."""
        weights = _Hierarchy(*pair)
        passes = self._passes(generation)
        batches = [-(-len(each.occurrences) // BATCH) for each in strings]
        total = sum(each.total for each in strings)
        adam = _Adam(len(weights.vector), generation.rate, passes * sum(batches))
        ridge = self.prior / total
        values = [np.log(self.train.num_symbols + 1) + weights.penalty(ridge)]
        for _ in range(passes):
            lost = 0.0
            for source, chosen in _in_random_order(strings, random):
                check_cancelled(self.cancelled)
                prefixes = source.batch(chosen)
                value, gradient = objectives_and_gradients(
                    weights.deviations, weights.network_vector[None], prefixes, 0.0
                )
                lost += float(value[0]) * prefixes.total
                adam.step(weights.vector, weights.gradient(gradient[0], ridge))
            values.append(lost / total + weights.penalty(ridge))
            self.note(values[-1])
        return weights.network, values


@dataclass(frozen=True, eq=False)
class Strings:
    """Strings, and the targets to be learned on them.

    Attributes
    ----------
    tree : PrefixCounts
        The prefixes of all strings.
    paths : array, shape (total_steps,)
        The prefixes of each string, one string after the other.
    starts : array, shape (num_strings + 1,)
        The path of string i is `paths[starts[i]:starts[i + 1]]`.
    following : array, shape (total_steps,)
        The symbol that follows; num_symbols for the end.
    occurrences : array, shape (total_count,)
        The number of each string, repeated as often as the string occurs.
    share : float
        The share of the teachers' predictions in the targets; the rest is the symbol that follows.
    predictions : array, shape (num_prefixes, num_symbols + 1)
        The mean of the teachers' predictions; empty without teachers.
    """

    tree: PrefixCounts
    paths: IntArray
    starts: IntArray
    following: IntArray
    occurrences: IntArray
    share: float
    predictions: Short

    @classmethod
    def of(cls, sample: Sample, teachers: Sequence[Network], share: float) -> Strings:
        """Compute the predictions of teachers for all prefixes of a sample."""
        trie = Trie.of(sample.words, sample.num_symbols)
        tree = PrefixCounts.of(sample)
        paths = numbers_of(trie)[trie.paths]
        following = np.append(tree.symbol[paths[1:]], sample.num_symbols)
        following[trie.starts[1:] - 1] = sample.num_symbols
        occurrences = np.repeat(np.arange(len(sample.counts)), sample.counts)
        shape = (tree.num_prefixes if teachers else 0, sample.num_symbols + 1)
        predictions = np.zeros(shape, np.float32)
        strings = cls(tree, paths, trie.starts, following, occurrences, share, predictions)
        if teachers:
            number = len(sample.counts)
            for first, last in pairwise([*range(0, number, AT_ONCE), number]):
                block = strings.prefixes(strings.steps(np.arange(first, last)))
                part = strings.part(block)
                predictions[block] = np.mean([_all_predicted(each, part) for each in teachers], 0)
        return strings

    @property
    def total(self) -> float:
        """Return the number of predictions in a pass."""
        return self.tree.total

    def steps(self, strings: IntArray) -> IntArray:
        """Return the positions in `paths` of some strings."""
        lengths = np.diff(self.starts)[strings]
        shifts = self.starts[strings] - offsets_of(lengths)[:-1]
        places: IntArray = np.arange(int(lengths.sum())) + np.repeat(shifts, lengths)
        return places

    def prefixes(self, steps: IntArray) -> IntArray:
        """Return the distinct prefixes at some positions, in ascending order."""
        return np.unique(self.paths[steps])

    def part(self, prefixes: IntArray, counts: Short | None = None) -> PrefixCounts:
        """Select prefixes, including all prefixes of each, with other counts."""
        tree = self.tree
        parent = np.searchsorted(prefixes, tree.parent[prefixes])
        parent[0] = -1
        if counts is None:
            counts = np.zeros((len(prefixes), tree.num_symbols + 1), np.float32)
        return PrefixCounts(
            tree.num_symbols, parent, tree.symbol[prefixes], tree.depth[prefixes], counts
        )

    def batch(self, occurrences: IntArray) -> PrefixCounts:
        """Arrange the prefixes of some strings, each of which may occur several times; their counts
        are the targets.
        """
        strings, times = np.unique(occurrences, return_counts=True)
        steps = self.steps(strings)
        prefixes = self.prefixes(steps)
        number = np.searchsorted(prefixes, self.paths[steps])
        weights = np.repeat(times.astype(np.float32), np.diff(self.starts)[strings])
        counts = np.zeros((len(prefixes), self.tree.num_symbols + 1), np.float32)
        np.add.at(counts, (number, self.following[steps]), (1 - self.share) * weights)
        if self.share:
            visits = (self.share * np.bincount(number, weights)).astype(np.float32)
            counts += visits[:, None] * self.predictions[prefixes]
        return self.part(prefixes, counts)


class _Start:
    """Random networks of a shape, whose states hold the codes of the last symbols."""

    def __init__(self, rank: int, num_symbols: int, random: np.random.Generator) -> None:
        self.rank = rank
        self.num_symbols = num_symbols
        self.random = random
        # a single state can't be constant
        self.constant = min(rank - 1, 1)
        self.code = max((rank - self.constant) // CODES, 1)

    def pair(self, tanh_maps: bool, tanh_decoder: bool) -> tuple[Network, Network]:
        """Return a network of deviations, and the common maps in a network of one symbol."""
        rank = self.rank
        num_symbols = self.num_symbols
        constant = self.constant
        widths = (rank, WIDTH * rank, rank) if tanh_maps else (rank, rank)
        common = [self._noise(1, before, after) for before, after in pairwise(widths)]
        deviations = [np.zeros((num_symbols, *shape)) for shape in pairwise(widths)]
        shift = constant + self.code
        copied = np.arange(constant, rank - self.code)
        for layer in common[:-1]:
            layer[0, copied, copied] += COPIED
        common[-1][0, copied, copied + self.code] += COPIED if tanh_maps else 1.0
        codes = self.random.choice([-1.0, 1.0], size=(num_symbols, self.code))
        initial = np.zeros(rank)
        if constant:
            initial[0] = 1.0
            for layer in common:
                layer[0, 0, 0] = CONSTANT if tanh_maps else 1.0
            deviations[-1][:, 0, 1:shift] = codes
        else:
            initial[0] = 0.5
            deviations[-1][:, 0, :] = codes
        decoder = []
        if tanh_decoder:
            layer = self.random.normal(size=(rank, DECODER_WIDTH * rank)) / np.sqrt(rank)
            if constant:
                layer[:, 0] = 0.0
                layer[0, 0] = CONSTANT
            decoder.append(layer)
        width = decoder[-1].shape[1] if decoder else rank
        output = np.zeros((width, num_symbols + 1))
        return (
            _network(initial, deviations, decoder, output),
            _network(initial, common, decoder, output),
        )

    def _noise(self, number: int, before: int, after: int) -> FloatArray:
        """Draw a layer in which unit 0 reads no other unit, and no other unit reads unit 0."""
        layer: FloatArray = self.random.normal(size=(number, before, after))
        layer *= NOISE / np.sqrt(before)
        if self.constant:
            layer[:, :, 0] = 0.0
            layer[:, 0, :] = 0.0
        return layer


def _network(
    initial: FloatArray,
    maps: Iterable[FloatArray],
    decoder: Iterable[FloatArray],
    output: FloatArray,
) -> Network:
    """Make a network of 32-bit numbers."""
    return Network(
        initial.astype(np.float32),
        tuple(layer.astype(np.float32) for layer in maps),
        tuple(layer.astype(np.float32) for layer in decoder),
        output.astype(np.float32),
    )


class _Hierarchy:
    """The weights of the common maps, followed by those of a network whose maps are deviations from
    them, in one vector.
    """

    def __init__(self, deviations: Network, common: Network) -> None:
        self.deviations = deviations
        self.num_common = sum(layer.size for layer in common.maps)
        self.num_initial = deviations.num_states
        shared = [layer.ravel() for layer in common.maps]
        self.vector = np.concatenate([*shared, deviations.vector])

    @property
    def network_vector(self) -> Short:
        """Return the weights of the network: common maps plus deviations."""
        result = self.vector[self.num_common :].copy()
        for of_maps, common in self._maps(result, self.vector):
            of_maps += common
        return result

    @property
    def network(self) -> Network:
        """Return the network, with its weights as 64-bit numbers."""
        return self.deviations.with_vector(self.network_vector.astype(np.float64))

    def penalty(self, ridge: float) -> float:
        """Compute the prior's part of J."""
        held = self.vector[self.num_common + self.num_initial :]
        return float(ridge / 2 * (held @ held))

    def gradient(self, of_network: Short, ridge: float) -> Short:
        """Convert the gradient with respect to the network's weights to that of J with respect to
        `vector`. A long gradient is shortened.
        """
        size = float(np.linalg.norm(of_network))
        if size > LONGEST:
            of_network = of_network * of_network.dtype.type(LONGEST / size)
        result = np.concatenate([np.zeros(self.num_common, of_network.dtype), of_network])
        for of_maps, common in self._maps(of_network, result):
            common += of_maps.sum(axis=0, keepdims=True)
        first = self.num_common + self.num_initial
        result[first:] += ridge * self.vector[first:]
        return result

    def _maps(self, of_network: Short, whole: Short) -> Iterable[tuple[Short, Short]]:
        """Yield views of each layer of the maps: (num_symbols, …) of all symbols in a vector of the
        network's weights, and (1, …) of the common map in a vector like `vector`.
        """
        start = self.num_initial
        common_start = 0
        for layer in self.deviations.maps:
            size = layer[0].size
            yield (
                of_network[start : start + layer.size].reshape(layer.shape),
                whole[common_start : common_start + size].reshape(1, *layer.shape[1:]),
            )
            start += layer.size
            common_start += size


class _Adam:
    """Steps of a length that falls to 0 along a cosine."""

    def __init__(self, number: int, rate: float, steps: int) -> None:
        self.rate = rate
        self.steps = steps
        self.mean = np.zeros(number, np.float32)
        self.square = np.zeros(number, np.float32)
        self.done = 0

    def step(self, vector: Short, gradient: Short) -> None:
        """Change a vector in place."""
        self.done += 1
        self.mean += np.float32(1 - MEAN) * (gradient - self.mean)
        gradient *= gradient
        gradient -= self.square
        gradient *= np.float32(1 - SQUARE)
        self.square += gradient
        scale = np.sqrt(self.square, out=gradient)
        scale *= np.float32(1 / np.sqrt(1 - SQUARE**self.done))
        scale += np.float32(1e-8)
        rate = self.rate * (1 + np.cos(np.pi * self.done / self.steps)) / 2
        rate *= min(1.0, self.done / WARM_UP)
        change = np.divide(self.mean, scale, out=scale)
        change *= np.float32(rate / (1 - MEAN**self.done))
        vector -= change


def _in_random_order(
    strings: Sequence[Strings], random: np.random.Generator
) -> Iterable[tuple[Strings, IntArray]]:
    """Divide all occurrences of strings into batches, each of one source. A string that occurs
    often is in many batches: in a single one, it would hide all others there, and weigh no more
    than they do.
    """
    batches = []
    for source in strings:
        order = random.permutation(source.occurrences)
        firsts = range(0, len(order), BATCH)
        batches += [(source, order[first : first + BATCH]) for first in firsts]
    for number in random.permutation(len(batches)):
        yield batches[number]


def _all_predicted(network: Network, prefixes: PrefixCounts) -> FloatArray:
    """Compute p(σ | u) for all prefixes, shape (num_prefixes, num_symbols + 1)."""
    short = network.with_vector(network.vector.astype(np.float32))
    result: FloatArray = np.exp(outputs(short, prefixes).logs[0].T)
    return result


def _predicted(network: Network, states: FloatArray) -> FloatArray:
    """Compute p(σ | u) from the states of prefixes, shape (n, num_symbols + 1)."""
    values = states
    for layer in network.decoder:
        values = np.tanh(values @ layer)
    scores = values @ network.output
    result: FloatArray = np.exp(scores - scores.max(axis=1, keepdims=True))
    result /= result.sum(axis=1, keepdims=True)
    return result


def _moved(network: Network, states: FloatArray, symbols: IntArray) -> FloatArray:
    """Compute the states after one more symbol each."""
    result = np.empty_like(states)
    for symbol in np.unique(symbols):
        rows = symbols == symbol
        values = states[rows]
        for layer in network.maps:
            values = values @ layer[symbol]
            if network.has_tanh:
                values = np.tanh(values)
        result[rows] = values
    return result
