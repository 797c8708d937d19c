"""Build the prefix tree of many words as arrays, level by level.

Each node stands for a prefix. Nodes are numbered by the length of their prefixes, then
alphabetically. Ties between prefixes are broken in the order of these numbers, and a node comes
after its parent. Trees are used to count prefixes, suffixes and factors, and to compute the state
after each distinct prefix only once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..errors import plural
from ..rounding import sizes
from .rolling import Transition
from .words import FloatArray, IntArray, Words, by_symbol, check_symbols, unique_keys

# A tree with at most this many pairs of a node and a symbol finds children in a table (32 MB); a
# larger tree uses binary search.
MAX_TABLE_CELLS = 2**22
SCORES_AT_ONCE = 2**24  # scores of next symbols that are held in memory together: 128 MB


def check_tree(trie: Trie, num_symbols: int) -> None:
    """Raise RecipeError unless all symbols of a prefix tree are in 0 … num_symbols − 1."""
    if trie.num_symbols > num_symbols:
        check_symbols(Words(trie.symbol[1:], np.array([0, trie.num_nodes - 1])), num_symbols)


@dataclass(frozen=True, eq=False)
class Trie:
    """Holds all prefixes of some words as a tree. Node 0 is λ.

    Attributes
    ----------
    num_symbols : int
    parent, symbol : arrays, shape (num_nodes,)
        For each node, the node of the prefix without its last symbol, and that symbol; both −1 at
        the root.
    levels : array, shape (depth + 2,)
        The nodes of length d are `levels[d] … levels[d + 1] − 1`.
    paths : array, shape (total_length + num_words,)
        For each word, one after the other, the nodes of its prefixes from λ to the whole word.
    starts : array, shape (num_words + 1,)
        The path of word i is `paths[starts[i]:starts[i + 1]]`.
    """

    num_symbols: int
    parent: IntArray
    symbol: IntArray
    levels: IntArray
    paths: IntArray
    starts: IntArray

    def __repr__(self) -> str:
        nodes = plural(self.num_nodes, "node")
        return f"<Trie of {plural(len(self.starts) - 1, 'word')}, {nodes}>"

    @classmethod
    def of(cls, words: Words, num_symbols: int) -> Trie:
        """Build the prefix tree of `words`, in time proportional to their total length, with a few
        array operations for each level.

        >>> trie = Trie.of(Words.of([(0, 1), (0, 0), (0,)]), num_symbols=2)
        >>> trie.parent.tolist(), trie.symbol.tolist(), trie.ends.tolist()
        ([-1, 0, 1, 1], [-1, 0, 0, 1], [3, 2, 1])
        """
        check_symbols(words, num_symbols)
        num_words = len(words)
        starts = words.offsets + np.arange(num_words + 1)
        paths = np.zeros(int(starts[-1]), dtype=np.int64)
        level = _Levels(num_symbols)
        order, num_longer = words.longest_first()
        first_symbols = words.offsets[order]
        path_starts = starts[order]
        nodes = np.zeros(num_words, dtype=np.int64)
        for depth, alive in enumerate(num_longer):
            nodes = level.grow(nodes[:alive], words.symbols[first_symbols[:alive] + depth])
            paths[path_starts[:alive] + depth + 1] = nodes
        return level.tree(paths, starts)

    @cached_property
    def word_of_node(self) -> IntArray:
        """Return the number of the word that ends at each node, shape (num_nodes,); −1 if none
        does. The words must be distinct.
        """
        numbers = np.full(self.num_nodes, -1, dtype=np.int64)
        numbers[self.ends] = np.arange(len(self.starts) - 1)
        return numbers

    @property
    def num_nodes(self) -> int:
        return len(self.parent)

    @property
    def ends(self) -> IntArray:
        """Return the node of each whole word, shape (num_words,)."""
        return self.paths[self.starts[1:] - 1]

    @cached_property
    def depth(self) -> IntArray:
        """Return the length of each node's prefix, shape (num_nodes,)."""
        return np.repeat(np.arange(len(self.levels) - 1), np.diff(self.levels))

    def end_counts(self, counts: npt.NDArray[np.int64]) -> IntArray:
        """Count the strings that equal each node's prefix, shape (num_nodes,), from the words'
        counts, shape (num_words,).
        """
        return _sums_at(self.ends, counts, self.num_nodes)

    def prefix_counts(self, counts: npt.NDArray[np.int64]) -> IntArray:
        """Count the strings that begin with each node's prefix, shape (num_nodes,), from the words'
        counts, shape (num_words,).
        """
        totals = self.end_counts(counts)
        bounds = self.levels.tolist()
        # the deepest level first
        for above, start, end in zip(bounds[-3::-1], bounds[-2:0:-1], bounds[:1:-1], strict=True):
            totals[above:start] += _sums_at(
                self.parent[start:end] - above, totals[start:end], start - above
            )
        return totals

    @cached_property
    def preorder(self) -> IntArray:
        """Return each node's position in a depth-first order, in which every subtree is contiguous;
        shape (num_nodes,).

        >>> Trie.of(
        ...     Words.of([(0, 1), (0, 0), (1,)]), num_symbols=2
        ... ).preorder.tolist()  # of λ, 0, 1, 00, 01
        [0, 1, 4, 2, 3]
        """
        # the number of nodes in the subtree of each node
        sizes = np.ones(self.num_nodes, dtype=np.int64)
        bounds = self.levels.tolist()
        # the deepest level first
        for above, start, end in zip(bounds[-3::-1], bounds[-2:0:-1], bounds[:1:-1], strict=True):
            sizes[above:start] += _sums_at(
                self.parent[start:end] - above, sizes[start:end], start - above
            )
        positions = np.zeros(self.num_nodes, dtype=np.int64)
        for start, end in pairwise(bounds[1:]):
            parents = self.parent[start:end]
            child_sizes = sizes[start:end]
            before = np.cumsum(child_sizes) - child_sizes
            positions[start:end] = (
                positions[parents] + 1 + before - before[np.searchsorted(parents, parents)]
            )
        return positions

    @cached_property
    def _keys(self) -> IntArray:
        # ascending: children are numbered in this order
        return self.parent[1:] * self.num_symbols + self.symbol[1:]

    @cached_property
    def _table(self) -> IntArray:
        table = np.full(self.num_nodes * self.num_symbols, -1)
        table[self._keys] = np.arange(1, self.num_nodes)
        return table

    def child(self, nodes: IntArray, symbols: IntArray) -> IntArray:
        """Find the child of each node by its symbol; −1 if there is no child, the node is −1 or the
        symbol is too large.

        The shapes of `nodes` and `symbols` are broadcast.
        """
        keys = np.asarray(nodes) * self.num_symbols + np.asarray(symbols)
        if self.num_nodes * self.num_symbols <= MAX_TABLE_CELLS:
            children = self._table.take(keys, mode="clip")
        else:
            ranks = np.searchsorted(self._keys, keys)
            children = np.where(np.append(self._keys, -1)[ranks] == keys, ranks + 1, -1)
        return np.where(
            (np.asarray(nodes) >= 0) & (np.asarray(symbols) < self.num_symbols), children, -1
        )

    def walk(self, words: Words, backward: bool = False) -> tuple[IntArray, IntArray]:
        """Find the nodes of each word's prefixes in this tree, from λ to the longest prefix that is
        a node.

        Parameters
        ----------
        backward : bool
            Whether the words are read from their ends.

        Returns
        -------
        nodes : array, shape (total_steps,)
            The paths of all words, one after the other.
        starts : array, shape (num_words + 1,)
            The path of word i is `nodes[starts[i]:starts[i + 1]]`.
        """
        num_words = len(words)
        lengths = words.lengths
        first_symbols, step = words.reading_order(backward)
        alive = np.arange(num_words)
        at = np.zeros(num_words, dtype=np.int64)
        steps = [(alive, at)]
        for depth in range(len(self.levels) - 2):
            further = lengths[alive] > depth
            alive = alive[further]
            at = at[further]
            at = self.child(at, words.symbols[first_symbols[alive] + step * depth])
            alive = alive[at >= 0]
            at = at[at >= 0]
            if not len(alive):
                break
            steps.append((alive, at))
        num_steps = np.bincount(np.concatenate([alive for alive, _ in steps]), minlength=num_words)
        starts = np.concatenate(([0], np.cumsum(num_steps)))
        nodes = np.empty(int(starts[-1]), dtype=np.int64)
        for depth, (alive, at) in enumerate(steps):
            nodes[starts[alive] + depth] = at
        return nodes, starts

    def prefixes(self, nodes: npt.ArrayLike) -> Words:
        """Return the prefixes of some nodes as words, in the order of `nodes`."""
        selection = np.asarray(nodes, dtype=np.int64)
        lengths = self.depth[selection]
        offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        symbols = np.empty(int(offsets[-1]), dtype=np.int64)
        position = offsets[1:] - 1
        at = selection
        while True:
            alive = np.flatnonzero(at > 0)
            if not len(alive):
                return Words(symbols, offsets)
            at = at[alive]
            position = position[alive]
            symbols[position] = self.symbol[at]
            at = self.parent[at]
            position = position - 1

    def roll_out(self, initial: FloatArray, transition: Transition) -> FloatArray:
        """Compute the state of a model after each node's prefix.

        Parameters
        ----------
        initial : array, shape (num_states,)
            The state of λ.
        transition : callable
            (states (n, num_states), symbol) -> the states after that symbol, (n, num_states).

        Returns
        -------
        array, shape (num_nodes, num_states)
        """
        states = np.empty((self.num_nodes, len(initial)))
        states[0] = initial
        # If a model's mass diverges, its states overflow on long words: ∞ and nan are correct
        # results here, not errors.
        with np.errstate(over="ignore", invalid="ignore"):
            for start, end in pairwise(self.levels[1:].tolist()):
                for symbol, positions in by_symbol(self.symbol[start:end]):
                    nodes = start + positions
                    states[nodes] = transition(states.take(self.parent[nodes], axis=0), symbol)
        return states

    def roll_out_scaled(
        self,
        initial: FloatArray,
        transition: Transition,
        smallest: float,
        largest: float,
        shift: int,
        may_shrink: bool = True,
        size_of: Callable[[FloatArray], FloatArray] = sizes,
    ) -> tuple[FloatArray, IntArray]:
        """Compute states as `roll_out` does, but divided by 2ᵉ, so that states after long prefixes
        neither vanish nor overflow.

        Multiplying by powers of two does not change the digits. The steps must be linear wherever
        states have been multiplied or divided.

        Parameters
        ----------
        initial, transition
            As in `roll_out`.
        smallest : float
            States of a smaller size are multiplied by 2 to the power of `shift`.
        largest : float
            States of a larger size are divided by that factor.
        shift : int
        may_shrink : bool
            Whether states that were not multiplied before may be divided.
        size_of : callable
            States (n, num_states) -> the size of each, shape (n,).

        Returns
        -------
        states : array, shape (num_nodes, num_states)
        exponents : array, shape (num_nodes,)
            e of each prefix, a multiple of `shift`.
        """
        states = np.empty((self.num_nodes, len(initial)))
        exponents = np.zeros(self.num_nodes, dtype=np.int64)
        states[0] = initial
        with np.errstate(over="ignore", invalid="ignore"):
            for start, end in pairwise([0, *self.levels[1:].tolist()]):
                for symbol, positions in by_symbol(self.symbol[start:end]) if start else ():
                    nodes = start + positions
                    states[nodes] = transition(states.take(self.parent[nodes], axis=0), symbol)
                    exponents[nodes] = exponents[self.parent[nodes]]
                size = size_of(states[start:end])
                small = start + np.flatnonzero((size > 0) & (size < smallest))
                large = start + np.flatnonzero(
                    (size > largest) & (may_shrink | (exponents[start:end] < 0))
                )
                states[small] *= 2.0**shift
                states[large] *= 2.0**-shift
                exponents[small] -= shift
                exponents[large] += shift
        return states, exponents


def frequent_prefixes(
    words: Words,
    counts: IntArray,
    num_symbols: int,
    number: int,
    reading: Literal["forward", "backward", "anywhere"] = "forward",
) -> tuple[Trie, IntArray]:
    """Build a tree that contains the `number` most frequent prefixes of some words and few others.

    The frequency of a prefix is the number of strings that begin with it, so frequencies fall from
    a node to its children. A branch is not extended beyond a prefix if `number` other prefixes are
    neither longer nor rarer. Among equally frequent prefixes, shorter prefixes come first.

    `counts` (num_words,): how often each word was seen. `reading`: "backward" reads words from
    their ends, so the prefixes are reversed suffixes. "anywhere" reads words from every position in
    them, so the prefixes are factors, and every occurrence counts.

    Returns `tree`: the tree; its `paths` are empty, because only prefixes of the words are in it.
    `counts` (num_nodes,): the frequency of each node's prefix.
    """
    check_symbols(words, num_symbols)
    level = _Levels(num_symbols)
    (begins, step), lengths, weights = (
        words.reading_order(reading == "backward"),
        words.lengths,
        counts,
    )
    if reading == "anywhere":
        begins, lengths = words.suffixes()
        weights = np.repeat(counts, words.lengths + 1)
    frequencies = [np.array([weights.sum()])]
    top = frequencies[0][-number:]
    order = np.argsort(-lengths, kind="stable")
    begins = begins[order]
    lengths = lengths[order]
    weights = weights[order]
    at = np.zeros(len(begins), dtype=np.int64)
    for depth in range(int(lengths.max(initial=0))):
        # words are ordered by length, the longest first
        alive = int(np.searchsorted(-lengths, -depth))
        begins = begins[:alive]
        lengths = lengths[:alive]
        weights = weights[:alive]
        at = level.grow(at[:alive], words.symbols[begins + step * depth])
        start, end = level.bounds[-2:]
        totals = _sums_at(at - start, weights, end - start)
        frequencies.append(totals)
        top = np.sort(np.concatenate((top, totals)))[-number:]
        further = (totals > (top[0] if len(top) == number else 0))[at - start]
        if not further.any():
            break
        begins = begins[further]
        lengths = lengths[further]
        weights = weights[further]
        at = at[further]
    return level.tree(np.empty(0, dtype=np.int64), np.zeros(1, dtype=np.int64)), np.concatenate(
        frequencies
    )


class _Levels:
    """Builds a tree level by level. `bounds` holds the `levels` of the part that is built."""

    def __init__(self, num_symbols: int) -> None:
        self.num_symbols = num_symbols
        self.parents = [np.array([-1])]
        self.symbols = [np.array([-1])]
        self.bounds = [0, 1]

    def grow(self, at: IntArray, symbols: IntArray) -> IntArray:
        """Add a level to the tree: the children of its deepest nodes.

        `at` (n,): the node of the prefix of each word that is already in the tree. `symbols` (n,):
        the next symbol of each word.

        Returns an array of shape (n,): the node of each word's prefix with that symbol.
        """
        above, start = self.bounds[-2:]
        # All possible children of the level, ordered by node and symbol, as nodes are numbered.
        keys = (at - above) * self.num_symbols + symbols
        children, inverse = unique_keys(keys, (start - above) * self.num_symbols)
        self.parents.append(above + children // self.num_symbols)
        self.symbols.append(children % self.num_symbols)
        self.bounds.append(start + len(children))
        return start + inverse

    def tree(self, paths: IntArray, starts: IntArray) -> Trie:
        levels = np.array(self.bounds, dtype=np.int64)
        return Trie(
            self.num_symbols,
            np.concatenate(self.parents),
            np.concatenate(self.symbols),
            levels,
            paths,
            starts,
        )


def _sums_at(nodes: IntArray, counts: npt.NDArray[np.int64], num_nodes: int) -> IntArray:
    """Sum the counts at each node, shape (num_nodes,).

    The sums are exact in float64, because they are whole and below 2⁵³.
    """
    return np.bincount(nodes, weights=counts, minlength=num_nodes).astype(np.int64)


def batches(words: Words, num_symbols: int) -> Iterator[tuple[IntArray, Trie]]:
    """Yield the numbers of some words, and their prefix tree, in batches whose next-symbol scores
    fit in memory.

    Words with a common prefix stay together.
    """
    trie = Trie.of(words, num_symbols)
    nodes_at_once = max(1, SCORES_AT_ONCE // (num_symbols + 1))
    if trie.num_nodes <= nodes_at_once:
        yield np.arange(len(words)), trie
        return
    numbers = trie.preorder[trie.ends] // nodes_at_once
    order = np.argsort(numbers, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1):
        yield rows, Trie.of(words.take(rows), num_symbols)


def chain_weights(
    next_probabilities: FloatArray, trie: Trie, ends: IntArray | None = None
) -> FloatArray:
    """Compute P(x) for each word of a tree, shape (num_words,), as the product of its next-symbol
    probabilities and the probability of the end.

    `next_probabilities` (num_nodes, num_symbols + 1): the probability of each symbol after each
    node's prefix; the last column is the end of the string. `ends`: nodes; if given, P(x) is
    computed for their prefixes instead of the tree's words.
    """
    ends = trie.ends if ends is None else ends
    prefix_probabilities = np.ones(trie.num_nodes)
    with np.errstate(over="ignore", invalid="ignore"):  # as in `Trie.roll_out`
        for start, end in pairwise(trie.levels[1:].tolist()):
            above = trie.parent[start:end]
            prefix_probabilities[start:end] = (
                prefix_probabilities[above] * next_probabilities[above, trie.symbol[start:end]]
            )
        weights: FloatArray = prefix_probabilities[ends] * next_probabilities[ends, -1]
    return weights


def chain_log2_weights(
    next_probabilities: FloatArray, trie: Trie, ends: IntArray | None = None
) -> FloatArray:
    """Compute log₂ of `chain_weights`, −∞ for 0, as a sum of logarithms, which does not underflow
    even for long strings.
    """
    ends = trie.ends if ends is None else ends
    prefix_logs = np.zeros(trie.num_nodes)
    with np.errstate(divide="ignore"):
        prefix_logs[1:] = np.log2(next_probabilities[trie.parent[1:], trie.symbol[1:]])
        end_logs = np.log2(next_probabilities[ends, -1])
    for start, end in pairwise(trie.levels[1:].tolist()):
        prefix_logs[start:end] += prefix_logs[trie.parent[start:end]]
    weights: FloatArray = prefix_logs[ends] + end_logs
    return weights
