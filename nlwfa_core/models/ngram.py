"""Define the uniform model and n-grams, the baselines of every score table and curve."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from ..errors import RecipeError, check_at_least, check_fields, check_type, check_types
from ..strings.plain import SampleLike, as_sample
from ..strings.trie import Trie, check_tree
from ..strings.words import Alphabet, FloatArray, IntArray, Words, check_alphabet, check_symbols
from .methods import Methods
from .model import ChainModel


@dataclass(frozen=True)
class Uniform(Methods):
    """The model in which every symbol and the end of the string are equally likely: P(x) = (num_symbols + 1)^−(length + 1)."""

    num_symbols: int
    is_chain = True  # see `model.SharedModel`

    def weights(self, words: Words) -> FloatArray:
        """Compute P(x) of each word, shape (num_words,)."""
        weights: FloatArray = np.exp2(self.log2_weights(words))
        return weights

    def log2_weights(self, words: Words) -> FloatArray:
        """log₂ P(x), shape (num_words,)."""
        check_type("words", words, Words)
        check_symbols(words, self.num_symbols)
        logs: FloatArray = -(words.lengths + 1.0) * np.log2(self.num_symbols + 1.0)
        return logs

    def next_scores(self, trie: Trie) -> FloatArray:
        """Return the same probability everywhere, shape (num_nodes, num_symbols + 1)."""
        check_tree(trie, self.num_symbols)
        return np.full((trie.num_nodes, self.num_symbols + 1), 1.0 / (self.num_symbols + 1))


@dataclass(frozen=True, eq=False)
class NGram(ChainModel, Methods):
    """An interpolated n-gram with Witten–Bell smoothing (Witten and Bell 1991). The end of the string counts as a symbol.

    p(a | h) = (c(h a) + T(h) p(a | h')) / (c(h) + T(h)), where c counts occurrences, T(h) is the number of distinct symbols that
    follow the history h, and h' is h without its oldest symbol. For the empty history, the uniform distribution over Σ and the end
    takes the place of p(a | h'). In histories, a special symbol marks the beginning of a string.

    Attributes
    ----------
    order : int
        Histories are up to order − 1 symbols long.
    histories : Trie
        The tree of the histories, read backwards with the newest symbol first. Symbol number `num_symbols` is the beginning of a
        string.
    counts : sparse array (CSR), shape (num_histories, num_symbols + 1)
        The counts c(h a); the last column is the end of the string.
    alphabet : Alphabet or None
        The alphabet of the training strings.
    """

    order: int
    histories: Trie
    counts: sparse.csr_array
    alphabet: Alphabet | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        check_alphabet(self.alphabet, self.num_symbols)

    @property
    def num_symbols(self) -> int:
        return self.histories.num_symbols - 1

    @cached_property
    def _totals(self) -> tuple[FloatArray, FloatArray]:
        return np.asarray(self.counts.sum(axis=1), dtype=np.float64).ravel(), np.diff(self.counts.indptr).astype(np.float64)

    @classmethod
    @check_types
    def fit(cls, sample: SampleLike, order: int) -> NGram:
        """Count the histories, and what follows them, in a training sample.

        >>> round(NGram.fit(["ab", "ab", "b"], order=2)("ab"), 3)
        0.337

        Raises
        ------
        RecipeError
            If the order is below 1 or the sample is empty.
        """
        check_at_least("n-gram order", order, 1)
        sample = as_sample(sample)
        if not len(sample.words):
            raise RecipeError("the sample has no strings: an n-gram has nothing to count")
        trie = Trie.of(sample.words, sample.num_symbols)
        begins, ends = trie.prefix_counts(sample.counts), trie.end_counts(sample.counts)
        histories = Trie.of(_histories(trie, order - 1), sample.num_symbols + 1)
        # What follows each node's history: each child's symbol, and the end.
        nodes = np.concatenate((trie.parent[1:], np.arange(trie.num_nodes)))
        symbols = np.concatenate((trie.symbol[1:], np.full(trie.num_nodes, sample.num_symbols)))
        counts_after = np.concatenate((begins[1:], ends))
        observed = counts_after > 0
        nodes, symbols, counts_after = nodes[observed], symbols[observed], counts_after[observed]
        # A history also counts for its shorter, newer parts: for every node on its path.
        lengths = np.diff(histories.starts)[nodes]
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        rows = histories.paths[np.repeat(histories.starts[:-1][nodes], lengths) + within]
        cells = (np.repeat(counts_after, lengths).astype(np.float64), (rows, np.repeat(symbols, lengths)))
        counts = sparse.coo_array(cells, shape=(histories.num_nodes, sample.num_symbols + 1)).tocsr()
        return cls(order, histories, counts, sample.alphabet)

    def next_scores(self, trie: Trie) -> FloatArray:
        """p(a | u) for each prefix u, shape (num_nodes, num_symbols + 1); rows sum to 1."""
        check_tree(trie, self.num_symbols)
        histories = _histories(trie, self.order - 1)
        totals, kinds = self._totals
        probabilities = np.full((trie.num_nodes, self.num_symbols + 1), 1.0 / (self.num_symbols + 1))
        nodes = np.zeros(trie.num_nodes, dtype=np.int64)
        active = np.arange(trie.num_nodes)
        for depth in range(self.order):
            rows = nodes[active]
            smoothed = self.counts[rows].toarray() + kinds[rows, None] * probabilities[active]
            probabilities[active] = smoothed / (totals[rows] + kinds[rows])[:, None]
            active = active[histories.lengths[active] > depth]
            nodes[active] = self.histories.child(nodes[active], histories.symbols[histories.offsets[active] + depth])
            active = active[nodes[active] >= 0]
        return probabilities


def _histories(trie: Trie, length: int) -> Words:
    """List the last `length` symbols of each node's prefix, newest first, ending with the beginning if the prefix is shorter."""
    columns: list[IntArray] = []
    nodes = np.arange(trie.num_nodes)
    for _ in range(length):
        columns.append(np.where(nodes > 0, trie.symbol[nodes], np.where(nodes == 0, trie.num_symbols, -1)))
        nodes = np.where(nodes > 0, trie.parent[nodes], -1)
    table = np.stack(columns, axis=1) if columns else np.empty((trie.num_nodes, 0), dtype=np.int64)
    filled = table >= 0
    return Words(table[filled], np.concatenate(([0], np.cumsum(filled.sum(axis=1)))).astype(np.int64))
