"""Define the uniform model and n-grams, the baselines in every score table and curve."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from ..errors import (
    RecipeError,
    check_at_least,
    check_fields,
    check_one_of,
    check_types,
)
from ..strings.plain import SampleLike, as_sample
from ..strings.sample import Sample
from ..strings.trie import Trie, check_tree
from ..strings.words import (
    Alphabet,
    FloatArray,
    IntArray,
    Words,
    check_alphabet,
    check_symbols,
    unique_keys,
)
from .methods import Methods
from .model import ChainModel

NGRAM_ORDER = 5  # of the n-gram with which other models are compared
LARGEST_KEY = 2**62  # below the largest int64
WITTEN_BELL = "witten-bell"
KNESER_NEY = "kneser-ney"
SMOOTHINGS = {WITTEN_BELL: "Witten–Bell", KNESER_NEY: "Kneser–Ney"}
LARGEST_COUNT = 2**53  # larger numbers have no exact sums in float64
# of counts of 1, 2, and 3 or more, if the sample is too small to estimate them
DISCOUNTS = (0.5, 1.0, 1.5)


@dataclass(frozen=True)
class Uniform(Methods):
    """The model in which every symbol and the end of the string are equally likely: P(x) =
    (num_symbols + 1)^−(length + 1).
    """

    num_symbols: int
    alphabet: Alphabet | None = None
    is_chain = True  # see `model.SharedModel`

    def weights(self, words: Words) -> FloatArray:
        """Compute P(x) of each word, shape (num_words,)."""
        weights: FloatArray = np.exp2(self.log2_weights(words))
        return weights

    def log2_weights(self, words: Words) -> FloatArray:
        """log₂ P(x), shape (num_words,)."""
        check_symbols(words, self.num_symbols)
        logs: FloatArray = -(words.lengths + 1.0) * np.log2(self.num_symbols + 1.0)
        return logs

    def next_scores(self, trie: Trie) -> FloatArray:
        """Return the same probability everywhere, shape (num_nodes, num_symbols + 1)."""
        check_tree(trie, self.num_symbols)
        return np.full((trie.num_nodes, self.num_symbols + 1), 1.0 / (self.num_symbols + 1))


@dataclass(frozen=True, eq=False, repr=False)
class NGram(ChainModel, Methods):
    """An interpolated n-gram. The end of the string counts as a symbol, and in histories, a special
    symbol marks the beginning.

    Its probabilities have the form p(a | h) = (n(h a) + r(h) p(a | h')) / (Σ_b n(h b) + r(h)),
    where h' is the history h without its oldest symbol. For the empty history, the uniform
    distribution over Σ and the end takes the place of p(a | h'). n and r depend on the smoothing,
    one of `SMOOTHINGS`:

    - "witten-bell" (Witten and Bell 1991): n(h a) = c(h a), how often a follows h, and r(h) is the
      number of distinct symbols that follow h.
    - "kneser-ney" (modified; Chen and Goodman 1999, §3): n(h a) = c(h a) − D, and r(h) is the sum
      of the discounts D over the symbols that follow h. D depends on the length of h, and on
      whether c(h a) is 1, 2 or larger. For a history that can be longer, c(h a) is the number of
      different symbols after which h a occurs, not of its occurrences.

    >>> bigram = NGram.fit(["ab", "ab", "b"], order=2)
    >>> {symbol: round(probability, 3) for symbol, probability in bigram.next("a").items()}
    {'a': 0.091, 'b': 0.788, 'end': 0.121}

    Attributes
    ----------
    order : int
        Histories are up to order − 1 symbols long.
    histories : Trie
        The tree of the histories, read backwards with the newest symbol first. Symbol number
        `num_symbols` is the beginning of a string.
    counts : sparse array (CSR), shape (num_histories, num_symbols + 1)
        How often each symbol follows each history; the last column is the end of the string.
    alphabet : Alphabet or None
        The alphabet of the training strings.
    smoothing : str
        One of `SMOOTHINGS`.

    Raises
    ------
    RecipeError
        If the smoothing is unknown, or the alphabet has a different number of symbols.
    """

    order: int
    histories: Trie
    counts: sparse.csr_array
    alphabet: Alphabet | None = None
    smoothing: str = WITTEN_BELL

    @property
    def _kind(self) -> str:
        return f"NGram of order {self.order}"

    def __post_init__(self) -> None:
        check_fields(self)
        check_alphabet(self.alphabet, self.num_symbols)
        check_one_of("smoothing", self.smoothing, SMOOTHINGS)

    @property
    def num_symbols(self) -> int:
        return self.histories.num_symbols - 1

    @cached_property
    def _terms(self) -> tuple[sparse.csr_array, FloatArray]:
        """Compute n(h a), shape (num_histories, num_symbols + 1), and r(h), shape
        (num_histories,).
        """
        if self.smoothing == WITTEN_BELL:
            kinds: FloatArray = np.diff(self.counts.indptr).astype(np.float64)
            return self.counts, kinds
        counts = self._continuation_counts()
        rows = np.repeat(np.arange(self.histories.num_nodes), np.diff(counts.indptr))
        discounts = np.empty(len(counts.data))
        for depth in range(len(self.histories.levels) - 1):
            cells = self.histories.depth[rows] == depth
            discounts[cells] = _discounts(counts.data[cells])[
                np.minimum(counts.data[cells], 3).astype(np.int64) - 1
            ]
        discounted = sparse.csr_array(
            (counts.data - discounts, counts.indices, counts.indptr), shape=counts.shape
        )
        rests: FloatArray = np.bincount(rows, discounts, minlength=self.histories.num_nodes).astype(
            np.float64
        )
        return discounted, rests

    def _continuation_counts(self) -> sparse.csr_array:
        """Count, for each history h and symbol a, how many different symbols x occur before h a;
        for histories that can't be longer, how often a follows h.
        """
        histories = self.histories
        is_longest = np.zeros(histories.num_nodes)
        is_longest[self._longest] = 1
        children = np.arange(1, histories.num_nodes)
        extends = sparse.csr_array(  # (h, x h): 1
            (np.ones(len(children)), (histories.parent[1:], children)),
            shape=(histories.num_nodes, histories.num_nodes),
        )
        occurs = sparse.csr_array(  # (h, a): 1 where a follows h
            (np.ones_like(self.counts.data), self.counts.indices, self.counts.indptr),
            shape=self.counts.shape,
        )
        total = sparse.diags_array(is_longest) @ self.counts + extends @ occurs
        result = sparse.csr_array(total)
        result.eliminate_zeros()
        result.sort_indices()
        return result

    @cached_property
    def _totals(self) -> FloatArray:
        """Compute Σ_b n(h b) + r(h), shape (num_histories,)."""
        terms, rests = self._terms
        return np.asarray(terms.sum(axis=1), dtype=np.float64).ravel() + rests

    @classmethod
    @check_types
    def fit(cls, sample: SampleLike, order: int, smoothing: str = WITTEN_BELL) -> NGram:
        """Count the histories, and what follows them, in a training sample.

        >>> round(NGram.fit(["ab", "ab", "b"], order=2)("ab"), 3)
        0.337

        Raises
        ------
        RecipeError
            If the order is below 1, the smoothing is unknown, or the sample is empty.
        """
        check_at_least("n-gram order", order, 1)
        check_one_of("smoothing", smoothing, SMOOTHINGS)
        sample = as_sample(sample)
        if not len(sample.words):
            raise RecipeError("an n-gram needs at least one string; the sample has none")
        return cls.of_windows(
            *_windows(sample, order), sample.num_symbols, smoothing, sample.alphabet
        )

    @classmethod
    @check_types
    def of_windows(
        cls,
        windows: IntArray,
        totals: FloatArray,
        num_symbols: int,
        smoothing: str = WITTEN_BELL,
        alphabet: Alphabet | None = None,
    ) -> NGram:
        """Make the model from the windows that it counts.

        Parameters
        ----------
        windows : array, shape (num_windows, order)
            Symbols, and ends of strings, with the order − 1 symbols before them, the oldest first.
            `num_symbols` is the end of a string in the last column, and the beginning in the
            others. Positions before the beginning are −1.
        totals : array, shape (num_windows,)
            How often each window occurs.
        num_symbols : int
        smoothing : str
        alphabet : Alphabet, optional

        Raises
        ------
        RecipeError
            If there are no windows, or a window can't be part of a string over these symbols.
        """
        _check_windows(windows, totals, num_symbols)
        histories = Trie.of(
            _words_of_rows(windows[:, -2::-1] if windows.shape[1] > 1 else windows[:, :0]),
            num_symbols + 1,
        )
        # A history also counts for its shorter, newer parts: for every node on its path.
        lengths = np.diff(histories.starts)
        cells = (np.repeat(totals, lengths), (histories.paths, np.repeat(windows[:, -1], lengths)))
        counts = sparse.coo_array(cells, shape=(histories.num_nodes, num_symbols + 1)).tocsr()
        return cls(windows.shape[1], histories, counts, alphabet, smoothing)

    @property
    def windows(self) -> tuple[IntArray, FloatArray]:
        """Return the windows that the model counted, and how often each occurred: the arguments
        `windows` and `totals` of `of_windows`.

        >>> NGram.fit(["a"], order=2).windows[0].tolist()
        [[0, 1], [1, 0]]
        """
        # Each occurrence of a symbol has one history that can't be longer.
        counts = self.counts[self._longest].tocoo()
        history_rows, symbols = counts.coords
        words = self.histories.prefixes(self._longest[history_rows])  # the newest symbol first
        windows = np.full((len(history_rows), self.order), -1)
        windows[:, -1] = symbols
        window = np.repeat(np.arange(len(windows)), words.lengths)
        age = np.arange(len(words.symbols)) - np.repeat(words.offsets[:-1], words.lengths)
        windows[window, self.order - 2 - age] = words.symbols
        return windows, counts.data.astype(np.float64)

    @cached_property
    def _longest(self) -> IntArray:
        """List the histories that can't be longer: those of order − 1 symbols, and those from the
        beginning of a string.
        """
        return np.flatnonzero(
            (self.histories.depth == self.order - 1) | (self.histories.symbol == self.num_symbols)
        )

    def next_scores(self, trie: Trie) -> FloatArray:
        """p(a | u) for each prefix u, shape (num_nodes, num_symbols + 1); rows sum to 1."""
        check_tree(trie, self.num_symbols)
        histories = _histories(trie, self.order - 1)
        (terms, rests), totals = self._terms, self._totals
        probabilities = np.full(
            (trie.num_nodes, self.num_symbols + 1), 1.0 / (self.num_symbols + 1)
        )
        nodes = np.zeros(trie.num_nodes, dtype=np.int64)
        active = np.arange(trie.num_nodes)
        for depth in range(self.order):
            rows = nodes[active]
            smoothed = terms[rows].toarray() + rests[rows, None] * probabilities[active]
            probabilities[active] = smoothed / totals[rows, None]
            active = active[histories.lengths[active] > depth]
            nodes[active] = self.histories.child(
                nodes[active], histories.symbols[histories.offsets[active] + depth]
            )
            active = active[nodes[active] >= 0]
        return probabilities


def _discounts(counts: FloatArray) -> FloatArray:
    """Compute the discounts of counts that are 1, 2, and 3 or more (Chen and Goodman 1999, equation
    26).

    They follow from how many counts are 1, 2, 3 and 4. Where these numbers are too irregular for
    that, `DISCOUNTS` are used.

    >>> _discounts(np.array([1, 1, 1, 1, 2, 2, 3, 4])).tolist()
    [0.5, 1.25, 1.0]
    """
    ones, twos, threes, fours = (int((counts == number).sum()) for number in range(1, 5))
    if not ones or not twos or not threes:
        return np.array(DISCOUNTS)
    share = ones / (ones + 2 * twos)
    discounts = np.array(
        [
            number - (number + 1) * share * more / fewer
            for number, fewer, more in ((1, ones, twos), (2, twos, threes), (3, threes, fours))
        ]
    )
    possible = (discounts > 0) & (discounts <= (1, 2, 3))
    return np.where(possible, discounts, DISCOUNTS)


def _check_windows(windows: IntArray, totals: FloatArray, num_symbols: int) -> None:
    """Raise RecipeError unless windows are as `NGram.of_windows` describes them."""
    if windows.ndim != 2 or not windows.size or totals.shape != (len(windows),):
        raise RecipeError(
            "the windows of an n-gram must have the shape (windows, order), with a count for each; "
            f"got arrays of the shapes {windows.shape} and {totals.shape}"
        )
    history = windows[:, :-1]
    last = windows[:, -1]
    begun = history >= 0
    first = begun & ~np.pad(begun, ((0, 0), (1, 0)))[:, :-1]  # the oldest symbol, or the beginning
    possible = (
        (totals > 0)
        & (totals <= LARGEST_COUNT)
        & (totals == np.floor(totals))
        & (last >= 0)
        & (last <= num_symbols)
    )
    possible &= ((history >= -1) & (history <= num_symbols)).all(axis=1)
    possible &= (first.sum(axis=1) <= 1) & (begun[:, -1:].all(axis=1))
    possible &= ~((history == num_symbols) & ~first).any(axis=1)
    possible &= begun.all(axis=1) | ((history * first).sum(axis=1) == num_symbols)
    if not possible.all():
        row = int(np.argmin(possible))
        raise RecipeError(
            f"a window of an n-gram over {num_symbols} symbols must be part of a string, "
            "with a whole number of occurrences; "
            f"got {windows[row].tolist()} with the count {totals[row]:g}"
        )


def _histories(trie: Trie, length: int) -> Words:
    """List the last `length` symbols of each node's prefix, newest first, ending with the beginning
    if the prefix is shorter.
    """
    columns: list[IntArray] = []
    nodes = np.arange(trie.num_nodes)
    for _ in range(length):
        columns.append(
            np.where(nodes > 0, trie.symbol[nodes], np.where(nodes == 0, trie.num_symbols, -1))
        )
        nodes = np.where(nodes > 0, trie.parent[nodes], -1)
    return _words_of_rows(
        np.stack(columns, axis=1) if columns else np.empty((trie.num_nodes, 0), dtype=np.int64)
    )


def _words_of_rows(table: IntArray) -> Words:
    """Make a word of each row of a table, without its entries of −1."""
    filled = table >= 0
    return Words(
        table[filled], np.concatenate(([0], np.cumsum(filled.sum(axis=1)))).astype(np.int64)
    )


def _windows(sample: Sample, order: int) -> tuple[IntArray, FloatArray]:
    """Count each symbol, and each end of a string, together with the `order` − 1 symbols before it.

    Returns `windows` (num_windows, order): the distinct windows, the oldest symbol first.
    `num_symbols` stands for the end in the last column, and for the beginning of the string in the
    others, in which −1 stands for what would be before it. `totals` (num_windows,): how often each
    window occurs.
    """
    num_words = len(sample.words)
    num_codes = sample.num_symbols + 2
    lengths = sample.words.lengths
    offsets = sample.words.offsets.astype(np.int64)
    mark = sample.num_symbols + 1
    # All strings are in one row. Before each come 0 (nothing), order − 2 times, and the mark of its
    # beginning; after it comes the mark of its end.
    # of each string's first symbol
    starts = offsets[:-1] + order * np.arange(num_words) + order - 1
    row = np.zeros(
        len(sample.words.symbols) + order * num_words, dtype=np.min_scalar_type(num_codes)
    )
    if order > 1:
        row[starts - 1] = mark
    row[starts + lengths] = mark
    last = np.ones(len(row), dtype=bool)  # whether a window ends here
    for distance in range(1, order):
        last[starts - distance] = False
    ends = np.flatnonzero(last)
    last[starts + lengths] = False  # from here on: whether it is a symbol
    row[last] = sample.words.symbols.astype(row.dtype) + row.dtype.type(1)
    # A window is a number of `order` digits. Numbers that would be too large are replaced by their
    # ranks.
    keys = np.zeros(len(row) - order + 1, dtype=np.int64)
    bound = 1
    for digit in range(order):
        if bound * num_codes > LARGEST_KEY:
            unique, keys = unique_keys(keys, bound)
            bound = len(unique)
        keys *= num_codes
        keys += row[digit : len(row) - order + 1 + digit]
        bound *= num_codes
    unique, ranks = unique_keys(keys[ends - order + 1], bound)
    totals = np.bincount(
        ranks, weights=np.repeat(sample.counts, lengths + 1), minlength=len(unique)
    ).astype(np.float64)
    examples = np.empty(len(unique), dtype=np.int64)
    examples[ranks] = ends
    windows: IntArray = row[examples[:, None] + np.arange(1 - order, 1)].astype(np.int64) - 1
    return windows, totals
