"""The Hankel matrix: basis, p-closure, sparse estimate.

H[u, v] = f(uv), rows u in P' = P ∪ PΣ, columns v in S (Li, Rabusseau, Precup 2018, §2.2 and §4.3). What f counts is the
*statistic*; this module holds the paper's, `string`: the relative frequency of uv as a whole string.
Rows uσ that hold nothing but zeros are one shared row, so a matrix costs what its non-zeros cost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import sparse

from . import limits
from .errors import RecipeError
from .sample import Sample
from .trie import Trie, frequent_prefixes
from .words import FloatArray, IntArray, Words, check_symbols


@dataclass(frozen=True, eq=False)
class Basis:
    """Prefixes P and suffixes S.

    Attributes
    ----------
    prefixes : Words
        Distinct, prefix-closed ([P, Theorem 2] needs it), λ first.
    suffixes : Words
        Distinct, λ first.
    num_symbols : int

    Raises
    ------
    RecipeError
        If one of these does not hold.
    """

    prefixes: Words
    suffixes: Words
    num_symbols: int

    def __post_init__(self) -> None:
        for name, words in (("prefixes", self.prefixes), ("suffixes", self.suffixes)):
            check_symbols(words, self.num_symbols)
            if len(words) == 0 or words[0] != ():
                raise RecipeError(f"the first of a basis's {name} must be the empty word λ")
        for name, tree in (("prefixes", self.prefix_tree), ("suffixes", Trie.of(self.suffixes, self.num_symbols))):
            if len(np.unique(tree.ends)) != len(tree.ends):
                raise RecipeError(f"a basis's {name} must differ from each other")
        closed = self.prefix_tree.num_nodes
        if closed != len(self.prefixes):
            raise RecipeError(
                f"the prefixes must be prefix-closed: {len(self.prefixes)} given, with all their own prefixes they are {closed}"
            )

    @cached_property
    def prefix_tree(self) -> Trie:
        return Trie.of(self.prefixes, self.num_symbols)


@dataclass(frozen=True, eq=False)
class HankelMatrix:
    """An estimate (or exact values) of H over a basis's p-closure.

    Attributes
    ----------
    basis : Basis
    matrix : sparse array (CSR), shape (num_rows, num_suffixes)
        Rows 0 … |P| − 1 are the prefixes in the basis's order; behind them the rows uσ outside P that are not zero; last, if
        there are any others, one zero row that stands for them all.
    shifted : array, shape (num_prefixes, num_symbols)
        The row of uσ.
    num_closure_rows : int
        |P'|: how many rows there would be if zero rows were not shared.
    statistic : str
        What f counts.
    """

    basis: Basis
    matrix: sparse.csr_array
    shifted: npt.NDArray[np.int32]
    num_closure_rows: int
    statistic: str

    @property
    def num_prefixes(self) -> int:
        return len(self.basis.prefixes)

    @property
    def num_suffixes(self) -> int:
        return len(self.basis.suffixes)

    @property
    def num_symbols(self) -> int:
        return self.basis.num_symbols

    @cached_property
    def block(self) -> sparse.csr_array:
        """H_λ, shape (num_prefixes, num_suffixes)."""
        return self.matrix[: self.num_prefixes]

    @cached_property
    def row_classes(self) -> IntArray:
        """Which rows are equal: the number of each row's class, in order of first appearance, shape (num_rows,).

        Rare prefixes share their rows: of 5,755 rows of SPiCe 4 (3000 × 300) 1,332 differ. What depends on a row's values alone
        need be computed once a class.
        """
        classes: dict[tuple[bytes, bytes], int] = {}
        bounds = pairwise(self.matrix.indptr.tolist())
        rows = ((self.matrix.indices[a:b].tobytes(), self.matrix.data[a:b].tobytes()) for a, b in bounds)
        return np.array([classes.setdefault(row, len(classes)) for row in rows], dtype=np.int64)

    def symbol_block(self, symbol: int) -> sparse.csr_array:
        """H_σ, shape (num_prefixes, num_suffixes): the rows uσ."""
        return self.matrix[self.shifted[:, symbol]]


def select_basis(sample: Sample, num_prefixes: int, num_suffixes: int) -> Basis:
    """The most frequent prefixes and suffixes of a sample, ties broken by length, then alphabetically.

    A prefix's frequency is the number of strings that begin with it, a suffix's that end with it; λ has them all, so it comes
    first in both, and the prefixes are prefix-closed. If fewer exist than are asked for, all are taken (compare the lengths).

    Raises
    ------
    RecipeError
        If a number is below 1 or above the limit, or the sample is empty.
    """
    for name, number in (("num_prefixes", num_prefixes), ("num_suffixes", num_suffixes)):
        if number < 1:
            raise RecipeError(f"{name}: {number} given, at least 1 needed")
        limits.check_at_most(name, number, limits.MAX_BASIS)
    if not len(sample.words):
        raise RecipeError("the sample has no strings: there is nothing to build a Hankel matrix from")
    forward, begins = frequent_prefixes(sample.words, sample.counts, sample.num_symbols, num_prefixes)
    prefixes = np.argsort(-begins, kind="stable")[:num_prefixes]
    backward, counts = frequent_prefixes(sample.words.reversed(), sample.counts, sample.num_symbols, num_suffixes)
    # No suffix rarer than the last one taken needs a place in the order.
    least = np.partition(counts, -num_suffixes)[-num_suffixes] if num_suffixes < len(counts) else 1
    nodes = np.flatnonzero(counts >= least)
    suffixes = nodes[np.lexsort((_alphabetical(backward, nodes), backward.depth[nodes], -counts[nodes]))][:num_suffixes]
    return Basis(forward.prefixes(prefixes), backward.prefixes(suffixes).reversed(), sample.num_symbols)


def _alphabetical(backward: Trie, nodes: IntArray) -> IntArray:
    """Of some nodes of a tree of reversed words, each with its parent among them: the rank of each, among those of its length, by
    the word read forwards. Nodes ascend."""
    rank = np.zeros(backward.num_nodes, dtype=np.int64)
    bounds = np.searchsorted(nodes, backward.levels)
    for start, end in pairwise([*bounds[bounds < len(nodes)].tolist(), len(nodes)]):
        level = nodes[start:end]
        rank[level[np.lexsort((rank[np.maximum(backward.parent[level], 0)], backward.symbol[level]))]] = np.arange(end - start)
    return rank[nodes]


def estimate_hankel(sample: Sample, basis: Basis, statistic: str = "string") -> HankelMatrix:
    """H from a sample: costs what its words have in common with the basis, plus |P|·|Σ| for the index.

    Raises
    ------
    RecipeError
        If the statistic is unknown, the alphabets differ, or the index would be too large.
    """
    if statistic not in STATISTICS:
        raise RecipeError(f"statistic: {statistic!r} given, allowed: {', '.join(STATISTICS)}")
    if basis.num_symbols != sample.num_symbols:
        raise RecipeError(f"the basis has {basis.num_symbols} symbols, the sample {sample.num_symbols}")
    num_prefixes = len(basis.prefixes)
    limits.check_at_most("prefixes × symbols", num_prefixes * basis.num_symbols, limits.MAX_SHIFTED_ROWS)
    rows, row_starts, boundary = _rows_along(sample.words, basis)
    columns, column_starts = _columns_along(sample.words, basis)
    owners, cells = STATISTICS[statistic](sample, row_starts, column_starts)
    kept = np.flatnonzero(columns[cells[1]] >= 0)
    places = (rows[cells[0][kept]], columns[cells[1][kept]])
    shape = (num_prefixes + len(boundary), len(basis.suffixes))
    counted = sparse.coo_array((sample.frequencies()[owners[kept]], places), shape=shape).tocsr()

    # A row uσ outside P that was seen, and yet is zero because no suffix of S follows, is one of the zero rows.
    filled = np.flatnonzero(np.diff(counted.indptr[num_prefixes:]) > 0)
    shifted = np.full((num_prefixes, basis.num_symbols), -1, dtype=np.int32)
    shifted.ravel()[boundary[filled]] = num_prefixes + np.arange(len(filled))
    _shift_within_basis(shifted, basis)
    matrix = counted[np.concatenate((np.arange(num_prefixes), num_prefixes + filled))]
    return _with_zero_row(basis, matrix, shifted, statistic)


def _rows_along(words: Words, basis: Basis) -> tuple[IntArray, IntArray, IntArray]:
    """The rows of each word's prefixes, from λ on, as far as they are in P', one word after the other.

    Returns
    -------
    rows : array, shape (total,)
        First the rows of P, then those of `boundary`.
    starts : array, shape (num_words + 1,)
    boundary : array, shape (num_seen,), ascending
        The uσ outside P that were seen: row of u times |Σ|, plus σ.
    """
    tree, num_symbols = basis.prefix_tree, basis.num_symbols
    row_of_node = np.empty(tree.num_nodes, dtype=np.int64)
    row_of_node[tree.ends] = np.arange(len(basis.prefixes))
    nodes, starts = tree.walk(words)
    steps = np.diff(starts)
    beyond = np.flatnonzero(words.lengths >= steps)  # words that go on where P ends
    keys = row_of_node[nodes[starts[beyond + 1] - 1]] * num_symbols + words.symbols[words.offsets[beyond] + steps[beyond] - 1]
    boundary, inverse = np.unique(keys, return_inverse=True)
    rows = np.insert(row_of_node[nodes], starts[beyond + 1], len(basis.prefixes) + inverse)
    return rows, starts + np.concatenate(([0], np.cumsum(words.lengths >= steps))), boundary


def _columns_along(words: Words, basis: Basis) -> tuple[IntArray, IntArray]:
    """The columns of each word's suffixes, from λ on, and where each word's begin; −1 for a suffix of one in S that is not in S."""
    tree = Trie.of(basis.suffixes.reversed(), basis.num_symbols)
    column_of_node = np.full(tree.num_nodes, -1, dtype=np.int64)
    column_of_node[tree.ends] = np.arange(len(basis.suffixes))
    nodes, starts = tree.walk(words.reversed())
    return column_of_node[nodes], starts


def _shift_within_basis(shifted: npt.NDArray[np.int32], basis: Basis) -> None:
    """Set the rows of those uσ that are themselves in P (also where the sample never saw them)."""
    own = basis.prefix_tree
    row_of_own = np.empty(own.num_nodes, dtype=np.int32)
    row_of_own[own.ends] = np.arange(len(basis.prefixes))
    shifted[row_of_own[own.parent[1:]], own.symbol[1:]] = row_of_own[1:]


def _with_zero_row(basis: Basis, matrix: sparse.csr_array, shifted: npt.NDArray[np.int32], statistic: str) -> HankelMatrix:
    missing = shifted < 0
    if missing.any():
        shifted[missing] = matrix.shape[0]
        matrix = sparse.vstack([matrix, sparse.csr_array((1, matrix.shape[1]))], format="csr")
    closure = 1 + shifted.size  # λ and all uσ: P is prefix-closed, so every other prefix is some uσ
    return HankelMatrix(basis, matrix, shifted, closure, statistic)


def exact_hankel(weights: Callable[[Words], FloatArray], basis: Basis, statistic: str = "string") -> HankelMatrix:
    """H filled with the values of a known function: |P'| · |S| calls, for small bases and tests.

    Parameters
    ----------
    weights : callable
        Words -> array, shape (num_words,): a model's `weights`.
    """
    own = set(basis.prefixes)
    shifted_words = [(*u, symbol) for u in basis.prefixes for symbol in range(basis.num_symbols)]
    boundary = Words.of(word for word in shifted_words if word not in own)
    rows = Words.of([*basis.prefixes, *boundary])
    values = weights(rows.products(basis.suffixes)).reshape(len(rows), len(basis.suffixes))
    index = {word: row for row, word in enumerate(rows)}
    shifted = np.array([index[word] for word in shifted_words], dtype=np.int32).reshape(-1, basis.num_symbols)
    return HankelMatrix(basis, sparse.csr_array(values), shifted, len(rows), statistic)


Cells = tuple[IntArray, tuple[IntArray, IntArray]]


def _string_cells(sample: Sample, row_starts: IntArray, column_starts: IntArray) -> Cells:
    """The cells that `string` fills: every cut of a word into u·v adds the word's frequency to H[u, v].

    Returns
    -------
    owners : array, shape (num_cells,)
        The word.
    cells : (array, array), each of shape (num_cells,)
        Where the row of u and the column of v stand, in what runs along the words' prefixes and suffixes.
    """
    lengths, num_rows, num_columns = sample.words.lengths, np.diff(row_starts), np.diff(column_starts)
    first = np.maximum(lengths - num_columns + 1, 0)  # the shortest u whose v is not too long for S
    cuts = np.maximum(num_rows - first, 0)
    owners = np.repeat(np.arange(len(lengths)), cuts)
    within = np.arange(len(owners)) - np.repeat(np.cumsum(cuts) - cuts, cuts) + first[owners]
    return owners, (row_starts[owners] + within, column_starts[owners] + lengths[owners] - within)


STATISTICS: dict[str, Callable[[Sample, IntArray, IntArray], Cells]] = {"string": _string_cells}
