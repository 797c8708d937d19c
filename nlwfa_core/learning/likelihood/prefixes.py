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


class Level(NamedTuple):
    """The prefixes of one length, which are computed from the prefixes that are one symbol shorter.

    Attributes
    ----------
    first_parent, start, end : int
        The prefixes have the numbers `start` … `end − 1`, and the shorter prefixes `first_parent` …
        `start − 1`.
    parents : array, shape (end − start,)
    runs : tuple of (int, int, int)
        For each last symbol: the symbol, the first prefix that ends in it, and the number after the
        last, counted from `start`.
    children : tuple of arrays, shapes (start − first_parent,)
        The first child of each parent, then the second, and so on, counted from `start`; end −
        start if there is none.
    """

    first_parent: int
    start: int
    end: int
    parents: IntArray
    runs: tuple[tuple[int, int, int], ...]
    children: tuple[IntArray, ...]


@dataclass(frozen=True, eq=False)
class PrefixCounts:
    """The distinct prefixes of a sample, with the counts of what follows them. Number 0 is λ;
    prefixes are ordered by their length, then by their last symbol.

    Attributes
    ----------
    num_symbols : int
    parent, symbol, depth : arrays, shape (num_prefixes,)
        For each prefix: the number of the prefix without its last symbol, that symbol (both −1 for
        λ), and its length.
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
        """Select the prefixes of at most this length, with the counts of what follows them."""
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
        """Return the number of predictions: one for each symbol and for the end of each string."""
        return float(self.totals.sum())

    @cached_property
    def of_symbol(self) -> tuple[IntArray, ...]:
        """List the prefixes that end in each symbol."""
        return tuple(np.flatnonzero(self.symbol == symbol) for symbol in range(self.num_symbols))

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """List the levels of length 1, 2, …"""
        bounds = _runs(self.depth)
        return tuple(
            self._level(first, start, end) for (first, start), (_, end) in pairwise(bounds)
        )

    def _level(self, first_parent: int, start: int, end: int) -> Level:
        symbols = self.symbol[start:end]
        parents = self.parent[start:end]
        runs = tuple((int(symbols[first]), first, last) for first, last in _runs(symbols))
        order = np.argsort(parents, kind="stable")
        number = np.bincount(parents - first_parent, minlength=start - first_parent)
        before = np.cumsum(number) - number
        padded = np.append(order, end - start)
        children = tuple(
            padded[np.where(number > place, before + place, end - start)]
            for place in range(number.max())
        )
        return Level(first_parent, start, end, parents, runs, children)


def numbers_of(trie: Trie) -> IntArray:
    """Return the number that the prefix of each node has in `PrefixCounts`, shape (num_nodes,)."""
    number = np.empty(trie.num_nodes, dtype=np.int64)
    number[np.lexsort((trie.symbol, trie.depth))] = np.arange(trie.num_nodes)
    return number


def _runs(values: IntArray) -> Sequence[tuple[int, int]]:
    """Return the first and last index (exclusive) of each run of equal values."""
    cuts = np.flatnonzero(np.diff(values)) + 1
    return list(pairwise([0, *cuts.tolist(), len(values)]))
