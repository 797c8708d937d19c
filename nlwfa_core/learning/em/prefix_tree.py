"""The E step of EM (Baum, Petrie, Soules, Weiss 1970) over the prefix tree of a sample, for both
PFAs and HMMs.

The nodes of the tree are the distinct prefixes of the strings. One pass down and one pass up are
enough for all strings with a prefix in common, because only the sum of their backward passes,
weighted by counts, is needed. So an iteration costs O(num_nodes · num_states²), whatever the number
of strings. Several models run at once, as an additional axis of each matrix product.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ...models.wfa import WFA
from ...strings.sample import Sample
from ...strings.trie import Trie
from ...strings.words import FloatArray, IntArray, by_symbol

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Level:
    """The nodes of a level of the tree, in the order of their symbols."""

    start: int  # the first node, and the one after the last
    stop: int
    parents: IntArray  # (num_nodes,)
    symbols: IntArray  # (num_nodes,): the last symbol of each prefix

    @cached_property
    def first(self) -> IntArray:
        """The position of each symbol's first node. A symbol's nodes have different parents."""
        return np.flatnonzero(np.diff(self.symbols, prepend=-1))

    @cached_property
    def parts(self) -> list[tuple[int, int, int]]:
        """Each symbol, with the position of its first node and the position after its last."""
        bounds = [*self.first.tolist(), len(self.symbols)]
        return [(int(self.symbols[a]), a, b) for a, b in pairwise(bounds)]

    @cached_property
    def siblings(self) -> tuple[IntArray, IntArray]:
        """The nodes' positions in the order of their parents, and the start of each parent's nodes
        in this order.
        """
        order = np.argsort(self.parents, kind="stable")
        return order, np.flatnonzero(np.diff(self.parents[order], prepend=-1))


class Models(ABC):
    """The probabilities of several models with the same number of states; or expected counts, from
    which probabilities are computed. A dataclass of arrays, whose first axis is the model.
    """

    initial: FloatArray  # (num_models, num_states): each row sums to 1
    termination: FloatArray  # (num_models, num_states): P(end | state)

    @abstractmethod
    def down(self, states: FloatArray, level: Level, out: FloatArray) -> None:
        """Write P(symbol, next state) at each node of a level to `out`.

        `states`: the probability of each state before the symbol. Both have the shape (num_nodes,
        num_models, num_states).
        """

    @abstractmethod
    def up(self, behind: FloatArray, level: Level) -> None:
        """Add to `behind` at the parent of each node of a level: Σ over the next state of P(symbol,
        next state | state) · behind at the node.
        """

    @abstractmethod
    def counts(
        self, tree: PrefixTree, states: FloatArray, behind: FloatArray, termination: FloatArray
    ) -> Self:
        """Return the expected counts: how often strings start in each state, make each move, emit
        each symbol and end in each state.

        `states`, `behind`, shape (num_nodes, num_models, num_states): the results of the pass down
        and of the pass up.
        `termination`: how often strings end in each state.
        """

    @abstractmethod
    def plus(self, pseudo_count: float, possible: Self) -> Self:
        """Add a number to the count of each symbol, and of the end, in each state, where `possible`
        has a probability above 0.
        """

    @abstractmethod
    def normalised(self, possible: Self | None = None) -> Self:
        """Turn counts into probabilities.

        A count of 0 becomes a probability of exactly 0. But in a state without any counts, all
        entries get equal shares or, if `possible` is passed, all entries with a probability above 0
        there.
        """

    @abstractmethod
    def automaton(self, model: int) -> WFA:
        """Return one of the models as a WFA."""

    @property
    def num_models(self) -> int:
        """Return the number of models."""
        return len(self.initial)

    @property
    def num_states(self) -> int:
        """Return the number of states of each model."""
        return int(self.initial.shape[1])

    @property
    def arrays(self) -> tuple[FloatArray, ...]:
        """Return the values of all fields."""
        return tuple(vars(self).values())

    def take(self, models: IntArray) -> Self:
        """Select some of the models by their numbers."""
        return type(self)(*(array[models] for array in self.arrays))

    def put(self, models: IntArray, others: Self) -> None:
        """Replace some of the models."""
        for array, other in zip(self.arrays, others.arrays, strict=True):
            array[models] = other

    def astype(self, dtype: npt.DTypeLike) -> Self:
        """Convert all probabilities to another precision."""
        return type(self)(*(array.astype(dtype) for array in self.arrays))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Combine the models of several parts, all with equally many states, into one value."""
        return cls(*map(np.concatenate, zip(*(part.arrays for part in parts), strict=True)))


def added(counts: FloatArray, number: float, where: BoolArray) -> FloatArray:
    """Add a number to some counts, in the precision of the counts."""
    summed: FloatArray = np.add(counts, number, out=counts.copy(), where=where)
    return summed


def with_equal_shares(
    counts: FloatArray, totals: FloatArray, possible: FloatArray | None
) -> FloatArray:
    """Add 1 to counts whose total is 0; if `possible` is passed, only where its probabilities are
    above 0.
    """
    empty = (totals == 0).astype(totals.dtype)
    shared: FloatArray = counts + (empty if possible is None else empty * (possible > 0))
    return shared


M = TypeVar("M", bound=Models)


@dataclass(frozen=True, eq=False)
class Expectations(Generic[M]):
    """The result of the E step."""

    counts: M  # expected counts of hidden events
    log_likelihoods: FloatArray  # (num_models,): Σ_x count(x) log₂ P(x)
    models: M  # the models of the E step

    def maximised(self, pseudo_count: float) -> M:
        """Carry out the M step: relative frequencies, after adding `pseudo_count` for each symbol
        and for the end in each state.

        Probabilities that are 0 in the models of the E step remain 0, because nothing is added to
        their counts.
        """
        return self.counts.plus(pseudo_count, self.models).normalised(self.models)


class PrefixTree:
    """Computes the E step of EM over the prefix tree of a sample.

    Within each level, nodes are in the order of their symbols.

    `num_predictions`: the number of symbols and ends of all strings, including repeated strings.
    """

    def __init__(self, sample: Sample) -> None:
        trie = Trie.of(sample.words, sample.num_symbols)
        order = np.lexsort((trie.symbol, trie.depth))
        number = np.empty_like(order)
        number[order] = np.arange(len(order))
        self.num_nodes = trie.num_nodes
        self.num_symbols = sample.num_symbols
        self.begins = trie.prefix_counts(sample.counts)[order]
        self.ends = trie.end_counts(sample.counts)[order]
        self.num_predictions = int(self.begins.sum())
        self.final = np.flatnonzero(self.ends)
        self.parent = number[trie.parent[order]]
        self.symbol = trie.symbol[order]
        self.levels = [
            Level(start, stop, self.parent[start:stop], self.symbol[start:stop])
            for start, stop in pairwise(trie.levels[1:].tolist())
        ]

    @cached_property
    def nodes_by_symbol(self) -> list[tuple[int, IntArray]]:
        """Each symbol that occurs, with the nodes to which it leads."""
        if self.num_nodes == 1:
            return []
        return [(symbol, 1 + nodes) for symbol, nodes in by_symbol(self.symbol[1:])]

    @cached_property
    def incidence(self) -> sparse.csr_array:
        """1 where a symbol leads to a node: (num_symbols, num_nodes − 1), without the root."""
        nodes = np.arange(self.num_nodes - 1)
        return sparse.csr_array(
            (np.ones(len(nodes)), (self.symbol[1:], nodes)),
            (self.num_symbols, len(nodes)),
        )

    @property
    def symbol_counts(self) -> FloatArray:
        """Count how often each symbol occurs, shape (num_symbols,)."""
        counts: FloatArray = np.bincount(self.symbol[1:], self.begins[1:], self.num_symbols).astype(
            np.float64
        )
        return counts

    def forward(self, models: Models) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Run the forward recursion: from the root of the tree down.

        Returns `states` (num_nodes, num_models, num_states): the probability of each state after
        each prefix, given the prefix (scaled to sum to 1, so nothing underflows). `chances`
        (num_nodes, num_models): the probability of each prefix's last symbol, given the symbols
        before it. `stops` (num_final, num_models): the probability of the end after each prefix
        that is a whole string.
        """
        states = np.empty((self.num_nodes, *models.initial.shape), dtype=models.initial.dtype)
        chances = np.ones(states.shape[:2], dtype=states.dtype)
        states[0] = models.initial
        with np.errstate(invalid="ignore"):  # a string that is not possible has no states: nan
            for level in self.levels:
                after = states[level.start : level.stop]
                models.down(states.take(level.parents, axis=0), level, after)
                chances[level.start : level.stop] = after.sum(axis=2)
                after /= chances[level.start : level.stop, :, None]
        stops = np.einsum("nbk,bk->nb", states[self.final], models.termination)
        return states, chances, stops

    def log_likelihoods(self, models: Models) -> FloatArray:
        """Σ_x count(x) log₂ P(x), shape (num_models,); −∞ if a string is impossible."""
        _, chances, stops = self.forward(models)
        return self._log_likelihoods(chances, stops)

    def _log_likelihoods(self, chances: FloatArray, stops: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            logs = self.begins @ np.log2(chances) + self.ends[self.final] @ np.log2(stops)
        likelihoods: FloatArray = np.where(np.isnan(logs), -np.inf, logs)
        return likelihoods

    def expect(self, models: M) -> Expectations[M]:
        """Carry out the E step: the forward recursion, then the backward recursion from the leaves
        up.
        """
        states, chances, stops = self.forward(models)
        weights = self.ends[self.final, None].astype(stops.dtype) / stops
        termination = np.einsum("nbk,nb->bk", states[self.final], weights) * models.termination
        # Σ over the strings below a node: count × P(rest | state) / P(rest | prefix). Then the
        # same, divided by the chance of its symbol.
        behind = np.zeros_like(states)
        behind[self.final] = weights[:, :, None] * models.termination
        for level in reversed(self.levels):
            behind[level.start : level.stop] /= chances[level.start : level.stop, :, None]
            models.up(behind, level)
        return Expectations(
            models.counts(self, states, behind, termination),
            self._log_likelihoods(chances, stops),
            models,
        )
