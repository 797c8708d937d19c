"""Arrange the prefixes of a sample so that a network passes over them in few array operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np

from ...strings.sample import Sample
from ...strings.trie import Trie
from ...strings.words import FloatArray, IntArray

# A level with at most this many prefixes per symbol is computed at once, with a matrix per prefix;
# a larger one symbol by symbol.
SMALL_STEP = 12


class Step(NamedTuple):
    """Prefixes of one length that are computed together from those one symbol shorter.

    Attributes
    ----------
    start, end : int
        The prefixes have the numbers `start` … `end − 1`.
    parents : array, shape (end − start,)
    symbols : int, or array of int of shape (end − start,)
        Their last symbol, if all have the same, or that of each.
    runs : tuple of pairs of int
        The prefixes of each last symbol: the first, and the one after the last, from `start` on.
    """

    start: int
    end: int
    parents: IntArray
    symbols: int | IntArray
    runs: tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class PrefixCounts:
    """The distinct prefixes of a sample, with the counts of what follows them. Number 0 is λ;
    prefixes are ordered by their length, then by their last symbol.

    Attributes
    ----------
    num_symbols : int
    parent, symbol, depth : arrays, shape (num_prefixes,)
        Of each prefix: the number of the prefix without its last symbol, that symbol, both −1 for
        λ, and its length.
    counts : array, shape (num_prefixes, num_symbols + 1)
        How often each symbol follows each prefix and, last, how often the string ends there.
    """

    num_symbols: int
    parent: IntArray
    symbol: IntArray
    depth: IntArray
    counts: FloatArray

    @classmethod
    def of(cls, sample: Sample) -> Self:
        """Count what follows each prefix of a sample's strings.

        >>> from nlwfa_core import as_sample
        >>> PrefixCounts.of(as_sample(["ab", "a", "b"])).counts.tolist()
        [[2.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
        """
        trie = Trie.of(sample.words, sample.num_symbols)
        counts = np.zeros((trie.num_nodes, sample.num_symbols + 1))
        counts[:, -1] = trie.end_counts(sample.counts)
        counts[trie.parent[1:], trie.symbol[1:]] = trie.prefix_counts(sample.counts)[1:]
        number = numbers_of(trie)
        order = np.argsort(number)
        parent = np.append(-1, number[trie.parent[order[1:]]])
        return cls(sample.num_symbols, parent, trie.symbol[order], trie.depth[order], counts[order])

    def up_to(self, length: int) -> PrefixCounts:
        """Select the prefixes of at most this length, with all that follows them."""
        end = int(np.searchsorted(self.depth, length, side="right"))
        return PrefixCounts(
            self.num_symbols,
            self.parent[:end],
            self.symbol[:end],
            self.depth[:end],
            self.counts[:end],
        )

    @property
    def num_prefixes(self) -> int:
        return len(self.parent)

    @property
    def longest(self) -> int:
        """Return the length of the longest prefix."""
        return int(self.depth[-1])

    @cached_property
    def totals(self) -> FloatArray:
        """Return how often each prefix occurs, shape (num_prefixes,)."""
        return np.asarray(self.counts.sum(axis=1))

    @cached_property
    def total(self) -> float:
        """Return the number of predictions: of each symbol of each string, and of its end."""
        return float(self.totals.sum())

    @cached_property
    def of_symbol(self) -> tuple[IntArray, ...]:
        """List the prefixes that end in each symbol."""
        return tuple(np.flatnonzero(self.symbol == symbol) for symbol in range(self.num_symbols))

    @cached_property
    def levels(self) -> tuple[tuple[Step, ...], ...]:
        """List the steps of each length from 1, one for each last symbol."""
        return tuple(
            tuple(
                self._step(start + first, start + last)
                for first, last in _runs(self.symbol[start:end])
            )
            for start, end in _runs(self.depth)[1:]
        )

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """List all steps from short prefixes to long ones, small levels as one step each."""
        steps: list[Step] = []
        for level in self.levels:
            start, end = level[0].start, level[-1].end
            if len(level) > 1 and end - start <= SMALL_STEP * len(level):
                runs = tuple((step.start - start, step.end - start) for step in level)
                steps.append(Step(start, end, self.parent[start:end], self.symbol[start:end], runs))
            else:
                steps += level
        return tuple(steps)

    def _step(self, start: int, end: int) -> Step:
        runs = ((0, end - start),)
        return Step(start, end, self.parent[start:end], int(self.symbol[start]), runs)


def numbers_of(trie: Trie) -> IntArray:
    """Return the number that the prefix of each node has in `PrefixCounts`, shape (num_nodes,)."""
    number = np.empty(trie.num_nodes, dtype=np.int64)
    number[np.lexsort((trie.symbol, trie.depth))] = np.arange(trie.num_nodes)
    return number


def _runs(values: IntArray) -> Sequence[tuple[int, int]]:
    """Return the first and last index (exclusive) of each run of equal values."""
    cuts = np.flatnonzero(np.diff(values)) + 1
    return list(pairwise([0, *cuts.tolist(), len(values)]))
