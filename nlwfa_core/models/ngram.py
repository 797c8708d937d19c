"""Define the uniform model and n-grams, the baselines of every score table and curve."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from ..errors import RecipeError, check_at_least, check_fields, check_type, check_types
from ..strings.plain import SampleLike, as_sample
from ..strings.sample import Sample
from ..strings.trie import Trie, check_tree
from ..strings.words import Alphabet, FloatArray, IntArray, Words, check_alphabet, check_symbols, unique_keys
from .methods import Methods
from .model import ChainModel

LARGEST_KEY = 2**62  # below the largest int64


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
        windows, totals = _windows(sample, order)
        histories = Trie.of(_words_of_rows(windows[:, -2::-1] if order > 1 else windows[:, :0]), sample.num_symbols + 1)
        # A history also counts for its shorter, newer parts: for every node on its path.
        lengths = np.diff(histories.starts)
        cells = (np.repeat(totals, lengths), (histories.paths, np.repeat(windows[:, -1], lengths)))
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
    return _words_of_rows(np.stack(columns, axis=1) if columns else np.empty((trie.num_nodes, 0), dtype=np.int64))


def _words_of_rows(table: IntArray) -> Words:
    """Make a word of each row of a table, without its entries of −1."""
    filled = table >= 0
    return Words(table[filled], np.concatenate(([0], np.cumsum(filled.sum(axis=1)))).astype(np.int64))


def _windows(sample: Sample, order: int) -> tuple[IntArray, FloatArray]:
    """Count each symbol, and each end of a string, together with the `order` − 1 symbols before it.

    Returns
    -------
    windows : array, shape (num_windows, order)
        The distinct windows, the oldest symbol first. `num_symbols` stands for the end in the last column, and for the beginning of
        the string in the others, in which −1 stands for what would be before it.
    totals : array, shape (num_windows,)
        How often each window occurs.
    """
    num_words, num_codes = len(sample.words), sample.num_symbols + 2
    lengths, offsets, mark = sample.words.lengths, sample.words.offsets.astype(np.int64), sample.num_symbols + 1
    # All strings in one row. Before each are order − 2 times 0 (nothing) and the mark of its beginning; after it that of its end.
    starts = offsets[:-1] + order * np.arange(num_words) + order - 1  # of each string's first symbol
    row = np.zeros(len(sample.words.symbols) + order * num_words, dtype=np.min_scalar_type(num_codes))
    if order > 1:
        row[starts - 1] = mark
    row[starts + lengths] = mark
    last = np.ones(len(row), dtype=bool)  # whether a window ends here
    for distance in range(1, order):
        last[starts - distance] = False
    ends = np.flatnonzero(last)
    last[starts + lengths] = False  # from here on: whether it is a symbol
    row[last] = sample.words.symbols.astype(row.dtype) + row.dtype.type(1)
    # A window is a number of `order` digits. Numbers that would be too large are replaced by their ranks.
    keys, bound = np.zeros(len(row) - order + 1, dtype=np.int64), 1
    for digit in range(order):
        if bound * num_codes > LARGEST_KEY:
            unique, keys = unique_keys(keys, bound)
            bound = len(unique)
        keys *= num_codes
        keys += row[digit : len(row) - order + 1 + digit]
        bound *= num_codes
    unique, ranks = unique_keys(keys[ends - order + 1], bound)
    totals = np.bincount(ranks, weights=np.repeat(sample.counts, lengths + 1), minlength=len(unique)).astype(np.float64)
    examples = np.empty(len(unique), dtype=np.int64)
    examples[ranks] = ends
    windows: IntArray = row[examples[:, None] + np.arange(1 - order, 1)].astype(np.int64) - 1
    return windows, totals
