"""Linear spectral learning, SP (Li, Rabusseau, Precup 2018, §2.3; Balle, Carreras, Luque, Quattoni
2014).

The truncated SVD of the block of H over the prefixes P, H_λ ≈ U D Vᵀ, gives α₀ᵀ = H[λ, :] V, α∞ =
V[λ, :]ᵀ and A_σ = (H_λ V)⁺ H_σ V, where ⁺ is the pseudo-inverse and H_σ has the rows uσ, u ∈ P.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from ..errors import RecipeError, check_at_least, check_types
from ..hankel.matrix import HankelMatrix
from ..models.wfa import WFA
from ..strings.words import FloatArray, IntArray
from .assembly import mapped_rows

# A full dense SVD of up to this many cells is quicker than an iterative one of ten singular values:
# 0.6 against 0.8 ms for 90 × 90, and 2.7 against 1.0 ms for 190 × 190.
DENSE_CELLS = 10_000
# For a part with at most SMALL_SIDE rows and columns, FIRST_VALUES singular values are computed
# first.
SMALL_SIDE = 256
FIRST_VALUES = 3
# Singular values closer than this, relative to the largest, count as equal: only rounding decides
# which vectors an SVD gives them.
EQUAL_WITHIN = 1e-10
# Very small ones also have to be this close relative to their own size: mixing the vectors of two
# values that differ would be an error of that size in the pseudo-inverse.
OWN_WITHIN = 1e-4
# If the magnitudes of entries are in a ratio above this one, the first entry counts as the largest.
NEARLY_ONE = 1 - 1e-6


_Decomposition: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]  # U, D, V


@dataclass(frozen=True, eq=False)
class TruncatedSVD:
    """The k largest singular values of a Hankel block, with their vectors.

    Attributes
    ----------
    left : array, shape (num_prefixes, k)
    singular_values : array, shape (k,), descending
    right : array, shape (num_suffixes, k)
        The signs are chosen so that the entry of largest magnitude in each column is positive,
        which makes plots of states reproducible.
    numerical_rank : int
        How many of these singular values are above σ₁ · max(num_prefixes, num_suffixes) · ε, where
        ε is the precision of float64.
    parts : array, shape (k,)
        The number of the part of the matrix to which each vector belongs (see `truncated_svd`);
        outside its part, a vector is 0. −1 for a singular value of 0, whose vectors are set to 0.
    """

    left: FloatArray
    singular_values: FloatArray
    right: FloatArray
    numerical_rank: int
    parts: IntArray


def truncated_svd(block: sparse.csr_array, rank: int) -> TruncatedSVD:
    """Compute the truncated SVD of a sparse matrix, the same on every processor up to the last
    digits.

    A matrix may consist of parts, sets of rows and columns with no entry in common, as the matrix
    of Dyck strings does, by depth of brackets. Each part is factorised on its own. So singular
    vectors are exactly 0 outside their part, and the vectors of equal singular values in two parts
    are not mixed. Equal singular values within a part determine only the space that their vectors
    span: `_canonical` chooses a basis of this space.

    Parameters
    ----------
    block : sparse array, shape (num_prefixes, num_suffixes)
    rank : int
        The number of singular values, at least 1. If the block has fewer rows or columns, there are
        min(num_prefixes, num_suffixes) values.

    Raises
    ------
    RecipeError
        If the rank is below 1, or the block holds a value that is not finite.
    """
    check_at_least("rank", rank, 1)
    if not np.isfinite(block.data).all():
        raise RecipeError("the Hankel matrix has an entry that is not a finite number")
    k = min(rank, *block.shape)
    left = np.zeros((block.shape[0], k))
    right = np.zeros((block.shape[1], k))
    parts = _parts(block)
    solved = _of_parts(parts, k)
    sizes = [len(D) for _, D, _ in solved]
    values = np.concatenate([D for _, D, _ in solved]) if solved else np.empty(0)
    owners = np.repeat(np.arange(len(solved)), sizes)
    numbers = np.concatenate([np.arange(size) for size in sizes]) if solved else owners
    order = np.argsort(-values, kind="stable")
    firsts = np.array([part.rows[0] for part in parts], dtype=np.int64)[owners]
    # equal ones by their parts' first prefixes
    order = order[np.lexsort((firsts[order], _clusters(values[order])))][:k]
    for column, (owner, number) in enumerate(
        zip(owners[order].tolist(), numbers[order].tolist(), strict=True)
    ):
        left[parts[owner].rows, column] = solved[owner][0][:, number]
        right[parts[owner].columns, column] = solved[owner][2][:, number]
    D = np.concatenate((values[order], np.zeros(k - len(order))))
    where = np.concatenate((owners[order], np.full(k - len(order), -1)))
    tolerance = D[0] * max(block.shape) * np.finfo(float).eps
    return TruncatedSVD(left, D, right, int((tolerance < D).sum()), where)


@dataclass(frozen=True, eq=False)
class _Part:
    """Rows and columns that share no entry with the rest of a matrix: their ascending indices,
    entries, and Frobenius norm.
    """

    rows: IntArray
    columns: IntArray
    cells: sparse.coo_array
    norm: float


def _parts(block: sparse.csr_array) -> list[_Part]:
    """Split a matrix into the parts that have an entry other than 0, in descending order of their
    norms.
    """
    if not block.data.all():
        block = block.copy()
        block.eliminate_zeros()
    num_rows, num_columns = block.shape
    size = num_rows + num_columns
    # the graph of rows and columns, in which each entry is an edge
    ends = np.concatenate((block.indptr, np.full(num_columns, block.nnz)))
    links = sparse.csr_array((block.data, block.indices + num_rows, ends), shape=(size, size))
    number, label = connected_components(links, directed=False)
    cells = block.tocoo()
    data = cells.data
    if number == 1:
        norm = float(np.linalg.norm(data))
        return [_Part(np.arange(num_rows), np.arange(num_columns), cells, norm)]
    rows, columns = (index.astype(np.int64) for index in cells.coords)
    members = np.argsort(label, kind="stable")
    order = np.argsort(label[rows], kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(label, minlength=number))))
    bounds = np.concatenate(([0], np.cumsum(np.bincount(label[rows], minlength=number))))
    local = np.empty(size, dtype=np.int64)
    local[members] = np.arange(size) - starts[label[members]]  # index within the part, rows first
    parts = []
    for part in np.flatnonzero(np.diff(bounds)).tolist():
        inside = members[starts[part] : starts[part + 1]]
        entries = order[bounds[part] : bounds[part + 1]]
        height = int(np.searchsorted(inside, num_rows))
        shape = height, len(inside) - height
        own_cells = sparse.coo_array(
            (data[entries], (local[rows[entries]], local[num_rows + columns[entries]] - height)),
            shape=shape,
        )
        parts.append(
            _Part(
                inside[:height],
                inside[height:] - num_rows,
                own_cells,
                float(np.linalg.norm(data[entries])),
            )
        )
    return sorted(parts, key=lambda part: -part.norm)


def _of_parts(parts: Sequence[_Part], k: int) -> list[_Decomposition]:
    """Decompose the parts far enough that all of the k largest singular values are known; the first
    parts are those with the largest norms.

    Most small parts have few of these values. So only a few are computed at first, and more only if
    all of them are among the k largest.
    """
    solved = list[_Decomposition]()
    for part in parts:
        # No singular value of a part is above its norm, and later parts have smaller norms.
        if part.norm < _least(solved, k):
            break
        is_small = max(part.cells.shape) <= SMALL_SIDE
        solved.append(_decomposed(part.cells, min(k, FIRST_VALUES) if is_small else k))
    while True:
        least = _least(solved, k)
        unknown = [
            number
            for number, (_, D, _) in enumerate(solved)
            if len(D) < min(k, *parts[number].cells.shape) and D[-1] >= least
        ]
        if not unknown:
            return solved
        for number in unknown:
            solved[number] = _decomposed(parts[number].cells, min(k, 4 * len(solved[number][1])))


def _least(solved: Sequence[_Decomposition], k: int) -> float:
    """Return the least of the k largest singular values that are known, up to rounding; 0 if fewer
    than k are known.
    """
    values = np.concatenate([D for _, D, _ in solved]) if solved else np.empty(0)
    return float(NEARLY_ONE * np.partition(values, -k)[-k]) if len(values) >= k else 0.0


def _decomposed(block: sparse.coo_array, rank: int) -> _Decomposition:
    """Compute U, D and V of one part, with at most `rank` values, the same on every processor up to
    the last digits.
    """
    smaller = min(block.shape)
    # one more, to see whether the last value equals the next one
    k = min(rank, smaller)
    size = rank + 1
    while True:
        if block.shape[0] * block.shape[1] <= DENSE_CELLS or 3 * size > smaller:
            U, D, Vt = np.linalg.svd(block.toarray(), full_matrices=False)
        else:
            try:
                U, D, Vt = _largest(block.tocsr(), size)
            except ArpackNoConvergence:
                U, D, Vt = np.linalg.svd(block.toarray(), full_matrices=False)
        clusters = _clusters(D)
        if len(D) == smaller or clusters[k - 1] != clusters[-1]:
            break
        size *= 2
    V = Vt.T
    for cluster in np.flatnonzero(
        np.bincount(clusters[:k]) * (np.bincount(clusters)[: clusters[k - 1] + 1] > 1)
    ).tolist():
        equal = np.flatnonzero(clusters == cluster)
        turn = _canonical(V[:, equal])
        U[:, equal], V[:, equal] = U[:, equal] @ turn, V[:, equal] @ turn
    U = U[:, :k]
    D = D[:k]
    V = V[:, :k]
    sizes = np.abs(V)
    largest = (sizes >= NEARLY_ONE * sizes.max(axis=0)).argmax(axis=0)
    signs = np.where(V[largest, np.arange(k)] < 0, -1.0, 1.0)
    return U * signs, D, V * signs


def _clusters(values: FloatArray) -> IntArray:
    """Number the groups of equal values among descending singular values, shape (n,).

    >>> _clusters(np.array([1.0, 0.5, 0.5 - 1e-15, 0.1])).tolist()
    [0, 1, 1, 2]
    >>> _clusters(np.array([1.0, 3e-11, 2e-11])).tolist()
    [0, 1, 2]
    """
    within = np.minimum(EQUAL_WITHIN * values[:1].sum(), OWN_WITHIN * values[1:])
    return np.concatenate(
        (np.zeros(min(len(values), 1)), np.cumsum(-np.diff(values) > within))
    ).astype(np.int64)


def _canonical(V: FloatArray) -> FloatArray:
    """Find the rotation, shape (r, r), that turns an orthonormal basis V, shape (n, r), into one
    that depends only on its span.

    The first new vector is the coordinate axis that is nearest to the span, projected onto it and
    normalised; if several are equally near, it is the first of them. The next vector is found in
    the same way in the rest of the span, and so on.

    >>> V = np.linalg.qr(np.array([[3.0, 1.0], [0.0, 0.0], [1.0, 2.0]]))[0]
    >>> np.abs(V @ _canonical(V)).round(12).tolist()
    [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]
    """
    left = V.copy()
    turn = np.empty((V.shape[1], V.shape[1]))
    for column in range(V.shape[1]):
        sizes = np.linalg.norm(left, axis=1)
        nearest = int((sizes >= NEARLY_ONE * sizes.max()).argmax())
        turn[:, column] = left[nearest] / sizes[nearest]
        left -= np.outer(left @ turn[:, column], turn[:, column])
    # Rounding makes the last directions of a large space visibly not orthogonal.
    Q, R = np.linalg.qr(turn)
    return Q * np.sign(np.diag(R))


def _largest(block: sparse.csr_array, k: int) -> _Decomposition:
    """Compute the k largest singular values and their vectors as scipy's ARPACK solver does, but
    with less overhead.
    """
    tall = block.shape[0] >= block.shape[1]
    X = block if tall else block.T.tocsr()
    transposed = X.T.tocsr()
    width = X.shape[1]
    gram = LinearOperator(
        (width, width), matvec=lambda vector: transposed @ (X @ vector), dtype=np.float64
    )
    # A fixed start vector makes ARPACK's answer the same each time.
    V, _ = np.linalg.qr(eigsh(gram, k=k, v0=np.ones(width))[1])
    U, D, Wt = np.linalg.svd(X @ V, full_matrices=False)
    return (U, D, Wt @ V.T) if tall else (V @ Wt.T, D, U.T)


def fit_spectral(hankel: HankelMatrix, svd: TruncatedSVD, rank: int) -> WFA:
    """Build the WFA of a truncated SVD by the equations of this module ([P] §2.3).

    Parameters
    ----------
    hankel : HankelMatrix
    svd : TruncatedSVD
        The SVD of `hankel.block`, with at least `rank` values.
    rank : int

    Returns
    -------
    WFA
        It has min(rank, numerical rank) states, and at least 1, because a direction with a singular
        value of 0 would add nothing.
    """
    k = max(1, min(rank, svd.numerical_rank))
    V = svd.right[:, :k]
    D = svd.singular_values[:k]
    rows = hankel.matrix @ V  # (num_rows, k)
    # H_λ V = U D, so its pseudo-inverse is D⁻¹ Uᵀ.
    # (num_prefixes, k), transposed
    inverse = np.divide(svd.left[:, :k], D, out=np.zeros_like(svd.left[:, :k]), where=D > 0)
    # The rows uσ that are not zero, symbol by symbol. They are few, and the shared zero row is the
    # last row.
    filled = np.diff(hankel.matrix.indptr) > 0
    pairs = np.flatnonzero(hankel.shifted <= np.flatnonzero(filled).max(initial=-1))
    pairs = pairs[filled[hankel.shifted.ravel()[pairs]]]
    prefixes, symbols = np.divmod(pairs, hankel.num_symbols)
    order = np.argsort(symbols, kind="stable")
    bounds = np.searchsorted(symbols[order], np.arange(hankel.num_symbols + 1)).tolist()
    left = inverse[prefixes[order]]
    right = rows[hankel.shifted.ravel()[pairs[order]]]
    transitions = np.stack(
        [left[start:end].T @ right[start:end] for start, end in pairwise(bounds)]
    )
    return WFA(rows[0], transitions, V[0].copy())


def truncation_loss(svd: TruncatedSVD, squared_norm: float) -> float:
    """Compute the relative loss of the best approximation of this rank, 1 − Σσ² / ‖H‖² (Eckart and
    Young 1936).

    `squared_norm`: ‖H‖².
    """
    return max(1 - float(svd.singular_values @ svd.singular_values) / squared_norm, 0.0)


@check_types
def linear_loss(hankel: HankelMatrix, rank: int) -> float:
    """Compute the smallest loss that a linear factorisation of H over P' can have, to compare with
    the auto-encoder's loss.

    Equal rows are merged into one, which is multiplied by the square root of their total weight, so
    that the loss weights rows as `learning.steps.factorisation.fit_factorisation` does.

    >>> from nlwfa_core import estimate_hankel, select_basis
    >>> hankel = estimate_hankel(["ab", "ab", "b"], select_basis(["ab", "ab", "b"], 3, 3))
    >>> linear_loss(hankel, 1) > linear_loss(hankel, 2) > linear_loss(hankel, 3) - 1e-15
    True

    Raises
    ------
    RecipeError
        If the rank is below 1, H has a value that is not finite, or H has only zeros.
    """
    _, firsts, classes = np.unique(hankel.row_classes, return_index=True, return_inverse=True)
    counts = np.bincount(classes, weights=hankel.row_weights)
    rows = sparse.csr_array(sparse.diags_array(np.sqrt(counts)) @ hankel.matrix[firsts])
    svd = truncated_svd(rows, rank)
    squared_norm = float(rows.data @ rows.data)
    if not squared_norm:
        raise RecipeError(
            "the Hankel matrix has no entry other than zero: there is nothing to factorise"
        )
    return truncation_loss(svd, squared_norm)


def hankel_svd(hankel: HankelMatrix, rank: int) -> TruncatedSVD:
    """Compute the truncated SVD of H_λ, with weighted rows if the matrix has weights.

    Raises RecipeError for the same reasons as `truncated_svd`.
    """
    return truncated_svd(weighted_block(hankel), rank)


def weighted_block(hankel: HankelMatrix) -> sparse.csr_array:
    """Multiply each row of H_λ by the square root of its weight, so a sum of squared errors is
    weighted by row.
    """
    weights = None if hankel.row_weights is None else hankel.row_weights[: hankel.num_prefixes]
    return weighted_rows(hankel.block, weights)


def weighted_rows(block: sparse.csr_array, weights: FloatArray | None) -> sparse.csr_array:
    """Multiply each row of a block by the square root of its weight; None leaves it as it is."""
    return (
        block if weights is None else sparse.csr_array(sparse.diags_array(np.sqrt(weights)) @ block)
    )


def fit_linear_maps(hankel: HankelMatrix, svd: TruncatedSVD, rank: int) -> WFA:
    """Build the WFA of a truncated SVD if the matrix is transformed or has boundary symbols. Its
    rows may then have weights.

    The state of a prefix u is z_u = Vᵀ h_u, where h_u is its row of H, and A_σ minimises Σ_u w_{uσ}
    ‖z_uᵀ A_σ − z_{uσ}ᵀ‖². There is one A_σ for each map that the model needs, including that of ⊣
    if there is one. α∞ is the λ-column of Vᵀ.

    `hankel`: a matrix that is transformed or has boundary symbols. `svd`: the SVD of its
    `weighted_block`, with at least `rank` values.
    """
    k = max(1, min(rank, svd.numerical_rank))
    V = svd.right[:, :k]
    rows = hankel.matrix @ V  # (num_rows, k)
    before = rows[: hankel.num_prefixes]
    weights = hankel.row_weights
    maps = np.zeros((mapped_rows(hankel).shape[1], k, k))
    # prefixes of different parts share no state: exact zeros stay exact
    for part in np.unique(svd.parts[:k]):
        states = np.flatnonzero(svd.parts[:k] == part)
        inside = np.flatnonzero(before[:, states].any(axis=1))
        for symbol, after in enumerate(mapped_rows(hankel)[inside].T):
            roots = np.ones((len(after), 1)) if weights is None else np.sqrt(weights[after, None])
            maps[symbol, states] = np.linalg.lstsq(
                roots * before[inside][:, states], roots * rows[after]
            )[0]
    return WFA(rows[hankel.start_row], maps, V[0].copy())
