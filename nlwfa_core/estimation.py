"""A Hankel matrix estimated from a sample: what is counted is the statistic (see `basis.STATISTICS`)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import numpy.typing as npt
from scipy import sparse

from . import limits
from .basis import Basis, check_statistic
from .errors import RecipeError
from .hankel import HankelMatrix
from .sample import Sample
from .trie import Trie
from .words import IntArray, Words, ranked

# Counted cells are held together up to this many: 200 MB.
CELLS_AT_ONCE = 8_000_000


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
    limits.check_at_most("prefixes × symbols", num_prefixes * basis.num_symbols, limits.MAX_SHIFTED_ROWS)
    words = sample.words
    starts, owners = words, np.arange(len(words))
    begins = words.offsets[:-1] + owners  # a word of length L has L + 1 places
    if statistic == "factor":
        starts, owners = _windows(words, len(basis.prefix_tree.levels) - 1)
        begins = np.arange(len(owners))
    rows, row_starts, edge = _rows_along(starts, basis)
    along = np.diff(row_starts)
    places, owners = np.repeat(begins - row_starts[:-1], along) + np.arange(len(rows)), np.repeat(owners, along)
    cells = _cells_to_the_end(words, basis, places, owners) if statistic == "string" else _cells_anywhere(words, basis, places)
    shape, weights = (num_prefixes + len(edge), len(basis.suffixes)), sample.frequencies()
    counted = reduce(add, (sparse.coo_array((weights[owners[at]], (rows[at], found)), shape=shape).tocsr() for at, found in cells))

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


def _windows(words: Words, length: int) -> tuple[Words, IntArray]:
    """What begins at each place in each word, cut to a length, and the words' numbers."""
    begins, lengths = words.places()
    sizes = np.minimum(lengths, length)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    symbols = words.symbols[np.repeat(begins - offsets[:-1], sizes) + np.arange(offsets[-1])]
    return Words(symbols, offsets), np.repeat(np.arange(len(words)), words.lengths + 1)


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
    edge, inverse = ranked(keys, len(basis.prefixes) * num_symbols)
    rows = np.insert(row_of_node[nodes], starts[beyond + 1], len(basis.prefixes) + inverse)
    return rows, starts + np.concatenate(([0], np.cumsum(words.lengths >= steps))), edge


Cells = tuple[IntArray, IntArray]  # numbers of rows seen at places, and of columns that follow there


def _cells_to_the_end(words: Words, basis: Basis, places: IntArray, owners: IntArray) -> Iterator[Cells]:
    """The columns of all that follows each place, where it is in S."""
    nodes, starts, column_of_node = _walk_suffixes(words, basis.suffixes.reversed(), basis.num_symbols, backward=True)
    left = (words.offsets[1:] + np.arange(len(words)))[owners] - places  # how many symbols follow
    near = np.flatnonzero(left < np.diff(starts)[owners])
    columns = column_of_node[nodes[starts[owners[near]] + left[near]]]
    yield near[columns >= 0], columns[columns >= 0]


def _cells_anywhere(words: Words, basis: Basis, places: IntArray) -> Iterator[Cells]:
    """The columns of all suffixes in S that follow each place, some places at a time."""
    windows, _ = _windows(words, int(basis.suffixes.lengths.max()))
    nodes, starts, column_of_node = _walk_suffixes(windows, basis.suffixes, basis.num_symbols)
    columns = column_of_node[nodes]
    following, starts = columns[columns >= 0], np.concatenate(([0], np.cumsum(columns >= 0)))[starts]
    cells = np.diff(starts)[places]
    cuts = np.searchsorted(np.cumsum(cells), np.arange(0, int(cells.sum()) + CELLS_AT_ONCE, CELLS_AT_ONCE))
    for start, end in pairwise(np.unique(np.append(cuts, len(cells))).tolist()):
        part = cells[start:end]
        within = np.arange(part.sum()) - np.repeat(np.cumsum(part) - part, part)
        yield np.repeat(np.arange(start, end), part), following[np.repeat(starts[places[start:end]], part) + within]


def _walk_suffixes(words: Words, suffixes: Words, num_symbols: int, backward: bool = False) -> tuple[IntArray, IntArray, IntArray]:
    """`Trie.walk` down the tree of some suffixes, and the column of each of its nodes: −1 where none ends."""
    tree = Trie.of(suffixes, num_symbols)
    column_of_node = np.full(tree.num_nodes, -1, dtype=np.int64)
    column_of_node[tree.ends] = np.arange(len(suffixes))
    return *tree.walk(words, backward), column_of_node


def _shift_within_basis(shifted: npt.NDArray[np.int32], basis: Basis) -> None:
    """Set the rows of those uσ that are themselves in P (also where the sample never saw them)."""
    own = basis.prefix_tree
    row_of_own = np.empty(own.num_nodes, dtype=np.int32)
    row_of_own[own.ends] = np.arange(len(basis.prefixes))
    shifted[row_of_own[own.parent[1:]], own.symbol[1:]] = row_of_own[1:]
