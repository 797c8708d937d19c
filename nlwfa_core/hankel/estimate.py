"""A Hankel matrix estimated from a sample: what is counted is the statistic (see `hankel.names.STATISTICS`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .. import limits
from ..errors import RecipeError
from ..strings.grouping import unique_keys
from ..strings.sample import Sample
from ..strings.trie import Trie
from ..strings.words import IntArray, Words
from .basis import Basis
from .matrix import HankelMatrix
from .names import check_statistic


def estimate_hankel(sample: Sample, basis: Basis, statistic: str = "string", bounded: bool = False) -> HankelMatrix:
    """H from a sample: costs what its words have in common with the basis, plus |P|·|Σ| for the index.

    Every u in P' that stands in a word where the statistic counts it, with every v in S behind it, adds the word's frequency to
    H[u, v]. "string": u begins the word and v ends it; "prefix": u begins it; "factor": u stands anywhere.

    Parameters
    ----------
    bounded : bool
        Whether the sample is one of `bounded_sample`.

    Raises
    ------
    RecipeError
        If the statistic is unknown, the alphabets differ, or the index would be too large.
    """
    check_statistic(statistic)
    if basis.num_symbols != sample.num_symbols:
        raise RecipeError(f"the basis has {basis.num_symbols} symbols, the sample {sample.num_symbols}")
    num_prefixes = len(basis.prefixes)
    limits.check_at_most("prefixes × symbols", num_prefixes * basis.num_symbols, limits.most("shifted_rows"))
    words = sample.words
    starts, owners = words, np.arange(len(words))
    begins = words.offsets[:-1] + owners  # a word of length L has L + 1 places
    if statistic == "factor":
        owners = np.repeat(owners, words.lengths + 1)
        begins = np.arange(len(owners))
        starts = _windows(words, len(basis.prefix_tree.levels) - 1, begins)
    rows, row_starts, edge = _rows_along(starts, basis)
    along = np.diff(row_starts)
    places, owners = np.repeat(begins - row_starts[:-1], along) + np.arange(len(rows)), np.repeat(owners, along)
    met = Met(rows, places, owners, sample.counts, num_prefixes + len(edge))
    counted = _with_the_end(words, basis, met) if statistic == "string" else _with_all(words, basis, met)
    counted.data /= sample.num_strings  # sums of counts are exact, those of frequencies are not

    # A row uσ outside P that was seen, and yet is zero because no suffix of S follows, is one of the zero rows.
    filled = np.flatnonzero(np.diff(counted.indptr[num_prefixes:]) > 0)
    matrix = sparse.csr_array(counted[np.concatenate((np.arange(num_prefixes), num_prefixes + filled))])
    zero_row = matrix.shape[0]
    shifted = np.full((num_prefixes, basis.num_symbols), zero_row, dtype=np.int32)
    shifted.ravel()[edge[filled]] = num_prefixes + np.arange(len(filled))
    _shift_within_basis(shifted, basis)
    if (shifted == zero_row).any():
        matrix.resize((zero_row + 1, len(basis.suffixes)))  # type: ignore[arg-type]
    closure = 1 + shifted.size  # λ and all uσ: P is prefix-closed, so every other prefix is some uσ
    return HankelMatrix(basis, matrix, shifted, closure, statistic, bounded)


def _windows(words: Words, length: int, places: IntArray) -> Words:
    """What begins at some places in the words, cut to a length."""
    begins, lengths = words.suffixes()
    sizes = np.minimum(lengths[places], length)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    symbols = words.symbols[np.repeat(begins[places] - offsets[:-1], sizes) + np.arange(offsets[-1])]
    return Words(symbols, offsets)


def _rows_along(words: Words, basis: Basis) -> tuple[IntArray, IntArray, IntArray]:
    """The rows of each word's prefixes, from λ on, as far as they are in P', one word after the other.

    Returns
    -------
    rows : array, shape (total,)
        First the rows of P, then those of `edge`.
    starts : array, shape (num_words + 1,)
    edge : array, shape (num_seen,), ascending
        The uσ outside P that were seen: row of u times |Σ|, plus σ.
    """
    tree, num_symbols = basis.prefix_tree, basis.num_symbols
    row_of_node = np.empty(tree.num_nodes, dtype=np.int64)
    row_of_node[tree.ends] = np.arange(len(basis.prefixes))
    nodes, starts = tree.walk(words)
    steps = np.diff(starts)
    beyond = np.flatnonzero(words.lengths >= steps)  # words that go on where P ends
    keys = row_of_node[nodes[starts[beyond + 1] - 1]] * num_symbols + words.symbols[words.offsets[beyond] + steps[beyond] - 1]
    edge, inverse = unique_keys(keys, len(basis.prefixes) * num_symbols)
    rows = np.insert(row_of_node[nodes], starts[beyond + 1], len(basis.prefixes) + inverse)
    return rows, starts + np.concatenate(([0], np.cumsum(words.lengths >= steps))), edge


class Met(NamedTuple):
    """Rows that stand in words: where, and in which word; the words' counts, and the number of different rows."""

    rows: IntArray
    places: IntArray
    owners: IntArray
    counts: IntArray
    num_rows: int


def _with_the_end(words: Words, basis: Basis, met: Met) -> sparse.csr_array:
    """How often each row met each column, shape (num_rows, num_suffixes): all that follows a place, where it is in S."""
    tree, column_of_node = _suffix_tree(basis.suffixes.reversed(), basis.num_symbols)
    nodes, starts = tree.walk(words, backward=True)
    left = (words.offsets[1:] + np.arange(len(words)))[met.owners] - met.places  # how many symbols follow
    near = np.flatnonzero(left < np.diff(starts)[met.owners])
    columns = column_of_node[nodes[starts[met.owners[near]] + left[near]]]
    near, columns = near[columns >= 0], columns[columns >= 0]
    return _added(met.rows[near], columns, met.counts[met.owners[near]], (met.num_rows, len(basis.suffixes)))


def _with_all(words: Words, basis: Basis, met: Met) -> sparse.csr_array:
    """As `_with_the_end`, of all suffixes in S that follow. They end on one way down their tree: its last node stands for them."""
    tree, column_of_node = _suffix_tree(basis.suffixes, basis.num_symbols)
    places, again = unique_keys(met.places, len(words.symbols) + len(words))
    nodes, starts = tree.walk(_windows(words, len(tree.levels) - 2, places))
    with_last = _added(met.rows, nodes[starts[1:] - 1][again], met.counts[met.owners], (met.num_rows, tree.num_nodes))
    nodes, starts = tree.walk(tree.prefixes(np.arange(tree.num_nodes)))
    ends = np.flatnonzero(column_of_node[nodes] >= 0)
    below = np.searchsorted(starts, ends, side="right") - 1
    ending = _added(below, column_of_node[nodes[ends]], np.ones_like(ends), (tree.num_nodes, len(basis.suffixes)))
    counted = sparse.csr_array(with_last @ ending)
    counted.sort_indices()
    return counted


def _added(rows: IntArray, columns: IntArray, counts: IntArray, shape: tuple[int, int]) -> sparse.csr_array:
    """The counts of each cell added up."""
    return sparse.csr_array(sparse.coo_array((counts.astype(np.float64), (rows, columns)), shape=shape))


def _suffix_tree(suffixes: Words, num_symbols: int) -> tuple[Trie, IntArray]:
    """The tree of some suffixes, and the column of each of its nodes: −1 where none ends."""
    tree = Trie.of(suffixes, num_symbols)
    column_of_node = np.full(tree.num_nodes, -1, dtype=np.int64)
    column_of_node[tree.ends] = np.arange(len(suffixes))
    return tree, column_of_node


def _shift_within_basis(shifted: npt.NDArray[np.int32], basis: Basis) -> None:
    """Set the rows of those uσ that are themselves in P (also where the sample never saw them)."""
    own = basis.prefix_tree
    row_of_own = np.empty(own.num_nodes, dtype=np.int32)
    row_of_own[own.ends] = np.arange(len(basis.prefixes))
    shifted[row_of_own[own.parent[1:]], own.symbol[1:]] = row_of_own[1:]
