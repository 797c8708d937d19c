"""Estimate a Hankel matrix from a sample, by counting occurrences as the statistic prescribes (see
`statistics.STATISTICS`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .. import limits
from ..errors import RecipeError, check_one_of, check_types
from ..strings.plain import SampleLike, as_sample
from ..strings.sample import Sample
from ..strings.trie import Trie
from ..strings.words import IntArray, Words, unique_keys
from .basis import Basis, select_basis
from .boundary import bounded_sample
from .matrix import HankelMatrix
from .recipe import HankelRecipe
from .statistics import STATISTICS
from .transforms import transformed


@check_types
def estimate_hankel(
    sample: SampleLike, basis: Basis, statistic: str = "string", bounded: bool = False
) -> HankelMatrix:
    """Estimate H from a sample.

    Wherever a row u ∈ P' occurs in a word and a column v ∈ S follows it, the word's frequency is
    added to H[u, v] if the statistic counts that occurrence. "string": u must begin the word and v
    must end it. "prefix": u must begin it. "suffix": v must end it. "factor": both may be anywhere.
    If the sample's alphabet differs from the basis's, the sample's symbols are renumbered.

    The time is proportional to the number of such occurrences, plus |P|·|Σ| for the array
    `shifted`.

    >>> from nlwfa_core.hankel.basis import select_basis
    >>> strings = ["ab", "ab", "b", "abb"]
    >>> estimate_hankel(
    ...     strings, select_basis(strings, 2, 2)
    ... ).block.toarray().tolist()  # λ and a, before λ and b
    [[0.0, 0.25], [0.0, 0.5]]

    Parameters
    ----------
    sample : Sample, or strings as `strings.plain.as_sample` takes them
    basis : Basis
    statistic : str
        "string", "prefix", "factor" or "suffix": the statistic with which the basis was selected.
    bounded : bool
        Whether the sample has boundary symbols, from `boundary.bounded_sample`.

    Raises
    ------
    RecipeError
        If the statistic is unknown, the sample has a symbol that the basis's alphabet lacks, or the
        index would be too large.
    """
    check_one_of("statistic", statistic, STATISTICS)
    if not isinstance(sample, Sample):
        sample = as_sample(sample, None if bounded else basis.alphabet)
    if basis.alphabet is not None and not bounded:  # boundary symbols are the last ones of both
        sample = sample.in_alphabet(basis.alphabet, "the basis's")
    elif basis.alphabet is not None and basis.alphabet != sample.alphabet:
        raise RecipeError(
            f"the basis and the sample must have the same alphabet; got {basis.alphabet.summary} "
            f"and {sample.alphabet.summary}"
        )
    if basis.num_symbols != sample.num_symbols:
        raise RecipeError(
            f"the basis has {basis.num_symbols} symbols, but the sample has {sample.num_symbols}"
        )
    num_prefixes = len(basis.prefixes)
    limits.check_limit("prefixes × symbols", num_prefixes * basis.num_symbols, "shifted_rows")
    words = sample.words
    # the words to read prefixes from, and the word that each belongs to
    starts = words
    owners = np.arange(len(words))
    first_positions = words.offsets[:-1] + owners  # a word of length L has L + 1 positions
    if statistic in ("factor", "suffix"):
        owners = np.repeat(owners, words.lengths + 1)
        first_positions = np.arange(len(owners))
        starts = _windows(words, len(basis.prefix_tree.levels) - 1, first_positions)
    rows, row_starts, edge = _rows_along(starts, basis)
    num_rows = np.diff(row_starts)
    positions = np.repeat(first_positions - row_starts[:-1], num_rows) + np.arange(len(rows))
    occurrences = Occurrences(
        rows, positions, np.repeat(owners, num_rows), sample.counts, num_prefixes + len(edge)
    )
    count = _count_whole_rests if statistic in ("string", "suffix") else _count_all_suffixes
    counted = count(words, basis, occurrences)
    counted.data /= sample.num_strings  # sums of counts are exact, those of frequencies are not

    # A row uσ outside P that occurs, but with no suffix of S after it, is one of the zero rows.
    filled = np.flatnonzero(np.diff(counted.indptr[num_prefixes:]) > 0)
    matrix = sparse.csr_array(
        counted[np.concatenate((np.arange(num_prefixes), num_prefixes + filled))]
    )
    zero_row = matrix.shape[0]
    shifted = np.full((num_prefixes, basis.num_symbols), zero_row, dtype=np.int32)
    shifted.ravel()[edge[filled]] = num_prefixes + np.arange(len(filled))
    _shift_within_basis(shifted, basis)
    if (shifted == zero_row).any():
        matrix.resize((zero_row + 1, len(basis.suffixes)))  # type: ignore[arg-type]
    closure = 1 + shifted.size  # λ and all uσ: P is prefix-closed, so every other prefix is some uσ
    named = basis if basis.alphabet is not None else replace(basis, alphabet=sample.alphabet)
    return HankelMatrix(named, matrix, shifted, closure, statistic, bounded)


def build_hankel(train: Sample, recipe: HankelRecipe) -> HankelMatrix:
    """Choose the basis, estimate the Hankel matrix from a sample, and transform its entries."""
    sample = bounded_sample(train, recipe.statistic) if recipe.bounded else train
    basis = select_basis(sample, recipe.num_prefixes, recipe.num_suffixes, recipe.statistic)
    return transformed(
        estimate_hankel(sample, basis, recipe.statistic, recipe.bounded), recipe.transform
    )


class Occurrences(NamedTuple):
    """The places in words where the rows u of H occur."""

    # rows, positions, owners (num_occurrences,): for each occurrence, the number of the row u, the
    # position in the words at which u ends, and the number of the word
    rows: IntArray
    positions: IntArray
    owners: IntArray
    counts: IntArray  # (num_words,): how often each word occurs in the sample
    num_rows: int  # the number of different rows


def _windows(words: Words, length: int, positions: IntArray) -> Words:
    """Cut out the suffixes that begin at some positions in the words, with at most `length` symbols
    each.
    """
    starts, lengths = words.suffixes()
    sizes = np.minimum(lengths[positions], length)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    symbols = words.symbols[
        np.repeat(starts[positions] - offsets[:-1], sizes) + np.arange(offsets[-1])
    ]
    return Words(symbols, offsets)


def _rows_along(words: Words, basis: Basis) -> tuple[IntArray, IntArray, IntArray]:
    """Find the rows of those prefixes of each word that are in P', from λ on.

    Returns `rows` (total,): the row numbers, one word after the other: 0 … |P| − 1 for prefixes in
    P, then one number for each entry of `edge`. `starts` (num_words + 1,): the rows of word i are
    `rows[starts[i]:starts[i + 1]]`. `edge` (num_edge,), ascending: the words uσ outside P that
    occur, each as the number (row of u) · |Σ| + σ.
    """
    tree = basis.prefix_tree
    num_symbols = basis.num_symbols
    num_prefixes = len(basis.prefixes)
    row_of_node = tree.word_of_node
    nodes, starts = tree.walk(words)
    steps = np.diff(starts)
    beyond = np.flatnonzero(words.lengths >= steps)  # words that continue outside P
    keys = (
        row_of_node[nodes[starts[beyond + 1] - 1]] * num_symbols
        + words.symbols[words.offsets[beyond] + steps[beyond] - 1]
    )
    edge, inverse = unique_keys(keys, num_prefixes * num_symbols)
    rows = np.insert(row_of_node[nodes], starts[beyond + 1], num_prefixes + inverse)
    return rows, starts + np.concatenate(([0], np.cumsum(words.lengths >= steps))), edge


def _count_whole_rests(words: Words, basis: Basis, occurrences: Occurrences) -> sparse.csr_array:
    """Count how often each row is followed by each column and then the end of the word, shape
    (num_rows, num_suffixes).
    """
    rows, positions, owners, counts, num_rows = occurrences
    tree = Trie.of(basis.suffixes.reversed(), basis.num_symbols)
    column_of_node = tree.word_of_node
    nodes, starts = tree.walk(words, backward=True)
    # symbols that follow
    num_left = (words.offsets[1:] + np.arange(len(words)))[owners] - positions
    near = np.flatnonzero(num_left < np.diff(starts)[owners])
    columns = column_of_node[nodes[starts[owners[near]] + num_left[near]]]
    near = near[columns >= 0]
    columns = columns[columns >= 0]
    return _summed(rows[near], columns, counts[owners[near]], (num_rows, len(basis.suffixes)))


def _count_all_suffixes(words: Words, basis: Basis, occurrences: Occurrences) -> sparse.csr_array:
    """Count how often each row is followed by each column, shape (num_rows, num_suffixes).

    In the tree of all columns, the columns that follow one position lie on one path from the root.
    So only the last node of each path is counted. A matrix that records which columns end on the
    path to each node then turns these counts into counts of columns.
    """
    rows, positions, owners, counts, num_rows = occurrences
    tree = Trie.of(basis.suffixes, basis.num_symbols)
    column_of_node = tree.word_of_node
    different, inverse = unique_keys(positions, len(words.symbols) + len(words))
    nodes, starts = tree.walk(_windows(words, len(tree.levels) - 2, different))
    with_last = _summed(
        rows, nodes[starts[1:] - 1][inverse], counts[owners], (num_rows, tree.num_nodes)
    )
    nodes, starts = tree.walk(tree.prefixes(np.arange(tree.num_nodes)))
    ends = np.flatnonzero(column_of_node[nodes] >= 0)
    below = np.searchsorted(starts, ends, side="right") - 1
    ending = _summed(
        below,
        column_of_node[nodes[ends]],
        np.ones_like(ends),
        (tree.num_nodes, len(basis.suffixes)),
    )
    counted = sparse.csr_array(with_last @ ending)
    counted.sort_indices()
    return counted


def _summed(
    rows: IntArray, columns: IntArray, counts: IntArray, shape: tuple[int, int]
) -> sparse.csr_array:
    """Make a sparse matrix in which counts of the same cell are added up."""
    return sparse.csr_array(
        sparse.coo_array((counts.astype(np.float64), (rows, columns)), shape=shape)
    )


def _shift_within_basis(shifted: npt.NDArray[np.int32], basis: Basis) -> None:
    """Fill in `shifted` for those uσ that are in P themselves, including those that do not occur in
    the sample.
    """
    tree = basis.prefix_tree
    row_of_node = tree.word_of_node
    shifted[row_of_node[tree.parent[1:]], tree.symbol[1:]] = row_of_node[1:]
