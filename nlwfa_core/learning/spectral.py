"""Linear spectral learning, SP (Li, Rabusseau, Precup 2018, §2.3; Balle, Carreras, Luque, Quattoni 2014).

Truncated SVD of the block over P, H_λ ≈ U D Vᵀ, then α₀ᵀ = H[λ, :] V, α∞ = V[λ, :]ᵀ, A_σ = (H_λ V)⁺ H_σ V.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from ..errors import RecipeError, check_at_least
from ..hankel.matrix import HankelMatrix
from ..models.wfa import WFA
from ..strings.words import FloatArray, IntArray
from .reading import mapped_rows

# A full dense SVD of up to this many cells is quicker than an iterative one.
DENSE_CELLS = 40_000
# Singular values closer than this, relative to the largest, count as equal: only rounding decides which vectors an SVD gives them.
EQUAL_WITHIN = 1e-10
# Of entries whose magnitudes are in a ratio above this one, the first counts as the largest.
NEARLY_ONE = 1 - 1e-6


@dataclass(frozen=True, eq=False)
class TruncatedSVD:
    """The largest singular values and vectors of a Hankel block.

    Attributes
    ----------
    left : array, shape (num_prefixes, k)
    singular_values : array, shape (k,), descending
    right : array, shape (num_suffixes, k)
        In each column the entry of largest magnitude is positive, so that states plot the same way each time.
    numerical_rank : int
        How many of these singular values are above σ₁ · max(num_prefixes, num_suffixes) · ε.
    parts : array, shape (k,)
        The part of the matrix in which each vector is not 0 (see `truncated_svd`); −1 for a singular value 0, whose vectors are 0.
    """

    left: FloatArray
    singular_values: FloatArray
    right: FloatArray
    numerical_rank: int
    parts: IntArray


def truncated_svd(block: sparse.csr_array, rank: int) -> TruncatedSVD:
    """Compute the rank-k SVD of a sparse matrix, the same on every processor up to the last digits.

    Rows and columns may fall into parts that share no entry, as those of Dyck strings do by bracket depth. Each part is factorised
    on its own, so singular vectors are exactly 0 outside their part, and equal singular values of two parts can't mix. Equal
    singular values within a part determine only the space of their vectors: `_canonical` chooses its basis.

    Parameters
    ----------
    block : sparse array, shape (num_prefixes, num_suffixes)
    rank : int
        At least 1. If the block has fewer rows or columns, the result has as many values as the smaller number.

    Raises
    ------
    RecipeError
        If the rank is below 1, or the block holds a value that is not finite.
    """
    check_at_least("rank", rank, 1)
    if not np.isfinite(block.data).all():
        raise RecipeError("the Hankel matrix has an entry that is not a finite number")
    k = min(rank, *block.shape)
    left, right = np.zeros((block.shape[0], k)), np.zeros((block.shape[1], k))
    parts, solved = _parts(block), list[tuple[FloatArray, FloatArray, FloatArray]]()
    values, owners, numbers = np.empty(0), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    for part in parts:
        # No singular value of a part is above its norm, and the parts that follow have smaller ones.
        if len(values) >= k and part.norm < NEARLY_ONE * np.partition(values, -k)[-k]:
            break
        U, D, V = _decomposed(part.cells, k)
        values = np.concatenate((values, D))
        owners = np.concatenate((owners, np.full(len(D), len(solved))))
        numbers = np.concatenate((numbers, np.arange(len(D))))
        solved.append((U, D, V))
    order = np.argsort(-values, kind="stable")
    firsts = np.array([part.rows[0] for part in parts], dtype=np.int64)[owners]
    order = order[np.lexsort((firsts[order], _clusters(values[order])))][:k]  # equal ones by their parts' first prefixes
    for column, (owner, number) in enumerate(zip(owners[order].tolist(), numbers[order].tolist(), strict=True)):
        left[parts[owner].rows, column] = solved[owner][0][:, number]
        right[parts[owner].columns, column] = solved[owner][2][:, number]
    D = np.concatenate((values[order], np.zeros(k - len(order))))
    where = np.concatenate((owners[order], np.full(k - len(order), -1)))
    tolerance = D[0] * max(block.shape) * np.finfo(float).eps
    return TruncatedSVD(left, D, right, int((tolerance < D).sum()), where)


@dataclass(frozen=True, eq=False)
class _Part:
    """Rows and columns of a matrix that share no entry with others: ascending indices, their entries, and the Frobenius norm."""

    rows: IntArray
    columns: IntArray
    cells: sparse.coo_array
    norm: float


def _parts(block: sparse.csr_array) -> list[_Part]:
    """The parts that have an entry other than 0, in descending order of their norms."""
    cells = block.tocoo()
    filled = cells.data != 0
    data, (rows, columns) = cells.data[filled], (index[filled].astype(np.int64) for index in cells.coords)
    num_rows, size = block.shape[0], sum(block.shape)
    links = sparse.coo_array((np.ones(len(data), dtype=np.int8), (rows, num_rows + columns)), shape=(size, size))
    number, label = connected_components(links, directed=False)
    members, order = np.argsort(label, kind="stable"), np.argsort(label[rows], kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(label, minlength=number))))
    bounds = np.concatenate(([0], np.cumsum(np.bincount(label[rows], minlength=number))))
    local = np.empty(size, dtype=np.int64)
    local[members] = np.arange(size) - starts[label[members]]  # index within the part, rows first
    parts = []
    for part in np.flatnonzero(np.diff(bounds)).tolist():
        inside, own = members[starts[part] : starts[part + 1]], order[bounds[part] : bounds[part + 1]]
        height = int(np.searchsorted(inside, num_rows))
        shape = height, len(inside) - height
        own_cells = sparse.coo_array((data[own], (local[rows[own]], local[num_rows + columns[own]] - height)), shape=shape)
        parts.append(_Part(inside[:height], inside[height:] - num_rows, own_cells, float(np.linalg.norm(data[own]))))
    return sorted(parts, key=lambda part: -part.norm)


def _decomposed(block: sparse.coo_array, rank: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """U, D, V of one part with min(rank, its rows, its columns) values, the same on every processor up to the last digits."""
    smaller = min(block.shape)
    k, size = min(rank, smaller), rank + 1  # one more, to see whether the last value equals the next one
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
    for cluster in np.flatnonzero(np.bincount(clusters[:k]) * (np.bincount(clusters)[: clusters[k - 1] + 1] > 1)).tolist():
        equal = np.flatnonzero(clusters == cluster)
        turn = _canonical(V[:, equal])
        U[:, equal], V[:, equal] = U[:, equal] @ turn, V[:, equal] @ turn
    U, D, V = U[:, :k], D[:k], V[:, :k]
    sizes = np.abs(V)
    largest = (sizes >= NEARLY_ONE * sizes.max(axis=0)).argmax(axis=0)
    signs = np.where(V[largest, np.arange(k)] < 0, -1.0, 1.0)
    return U * signs, D, V * signs


def _clusters(values: FloatArray) -> IntArray:
    """Number descending singular values, shape (n,), so that equal ones share a number.

    >>> _clusters(np.array([1.0, 0.5, 0.5 - 1e-15, 0.1])).tolist()
    [0, 1, 1, 2]
    """
    return np.concatenate((np.zeros(min(len(values), 1)), np.cumsum(-np.diff(values) > EQUAL_WITHIN * values[:1].sum()))).astype(
        np.int64
    )


def _canonical(V: FloatArray) -> FloatArray:
    """The rotation of an orthonormal basis to one that depends only on the space, shape (r, r).

    The first vector is the projection of the axis nearest to the space, or of the first of several equally near axes. The next
    vector is found in the same way in the rest of the space, and so on.

    >>> V = np.linalg.qr(np.array([[3.0, 1.0], [0.0, 0.0], [1.0, 2.0]]))[0]
    >>> np.abs(V @ _canonical(V)).round(12).tolist()
    [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]
    """
    left, turn = V.copy(), np.empty((V.shape[1], V.shape[1]))
    for column in range(V.shape[1]):
        sizes = np.linalg.norm(left, axis=1)
        nearest = int((sizes >= NEARLY_ONE * sizes.max()).argmax())
        turn[:, column] = left[nearest] / sizes[nearest]
        left -= np.outer(left @ turn[:, column], turn[:, column])
    # Rounding makes the last directions of a large space visibly not orthogonal.
    Q, R = np.linalg.qr(turn)
    return Q * np.sign(np.diag(R))


def _largest(block: sparse.csr_array, k: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What scipy's `svds(block, k, solver="arpack")` computes, in descending order, without its overhead for each product."""
    tall = block.shape[0] >= block.shape[1]
    X = block if tall else block.T.tocsr()
    transposed, width = X.T.tocsr(), X.shape[1]
    gram = LinearOperator((width, width), matvec=lambda vector: transposed @ (X @ vector), dtype=np.float64)
    # A fixed start vector makes ARPACK's answer the same each time.
    V, _ = np.linalg.qr(eigsh(gram, k=k, v0=np.ones(width))[1])
    U, D, Wt = np.linalg.svd(X @ V, full_matrices=False)
    return (U, D, Wt @ V.T) if tall else (V @ Wt.T, D, U.T)


def fit_spectral(hankel: HankelMatrix, svd: TruncatedSVD, rank: int) -> WFA:
    """The WFA of a rank-k factorisation ([P] §2.3).

    Parameters
    ----------
    hankel : HankelMatrix
    svd : TruncatedSVD
        Of `hankel.block`, to this rank or more.
    rank : int

    Returns
    -------
    WFA
        With min(rank, numerical rank) states, at least 1: directions with a singular value of 0 carry nothing.
    """
    k = max(1, min(rank, svd.numerical_rank))
    V = svd.right[:, :k]
    D = svd.singular_values[:k]
    rows = hankel.matrix @ V  # (num_rows, k)
    # H_λ V = U D, so its pseudo-inverse is D⁻¹ Uᵀ.
    inverse = np.divide(svd.left[:, :k], D, out=np.zeros_like(svd.left[:, :k]), where=D > 0)  # (num_prefixes, k), transposed
    # The rows uσ that are not zero, symbol by symbol. They are few, and the shared zero row is the last row.
    filled = np.diff(hankel.matrix.indptr) > 0
    pairs = np.flatnonzero(hankel.shifted <= np.flatnonzero(filled).max(initial=-1))
    pairs = pairs[filled[hankel.shifted.ravel()[pairs]]]
    prefixes, symbols = np.divmod(pairs, hankel.num_symbols)
    order = np.argsort(symbols, kind="stable")
    bounds = np.searchsorted(symbols[order], np.arange(hankel.num_symbols + 1)).tolist()
    left, right = inverse[prefixes[order]], rows[hankel.shifted.ravel()[pairs[order]]]
    transitions = np.stack([left[start:end].T @ right[start:end] for start, end in pairwise(bounds)])
    return WFA(rows[0], transitions, V[0].copy())


def truncation_loss(svd: TruncatedSVD, squared_norm: float) -> float:
    """The relative loss of the best matrix of this rank, 1 − Σσ² / ‖H‖² (Eckart and Young 1936)."""
    return max(1 - float(svd.singular_values @ svd.singular_values) / squared_norm, 0.0)


def linear_loss(hankel: HankelMatrix, rank: int) -> float:
    """The smallest loss of a linear factorisation over P': what SP leaves, measured as the auto-encoder's loss.

    Equal rows are merged, each with the root of its weight, as in `factorisation.fit_factorisation`.

    Raises
    ------
    RecipeError
        If the rank is below 1, or H holds a value that is not finite, or nothing but zeros.
    """
    _, firsts, classes = np.unique(hankel.row_classes, return_index=True, return_inverse=True)
    counts = np.bincount(classes, weights=hankel.row_weights)
    rows = sparse.csr_array(sparse.diags_array(np.sqrt(counts)) @ hankel.matrix[firsts])
    svd, squared_norm = truncated_svd(rows, rank), float(rows.data @ rows.data)
    if not squared_norm:
        raise RecipeError("the Hankel matrix has no entry other than zero: there is nothing to factorise")
    return truncation_loss(svd, squared_norm)


def weighted_block(hankel: HankelMatrix) -> sparse.csr_array:
    """H_λ with each row times the square root of its weight, so that squared errors are weighted as the rows are."""
    if hankel.row_weights is None:
        return hankel.block
    return sparse.csr_array(sparse.diags_array(np.sqrt(hankel.row_weights[: hankel.num_prefixes])) @ hankel.block)


def fit_linear_maps(hankel: HankelMatrix, svd: TruncatedSVD, rank: int) -> WFA:
    """Spectral learning from rows with weights or boundary symbols: α₀, the A_σ that a model needs, and λ's column as α∞.

    States are z_u = h_uᵀ V, rows z_uᵀ Vᵀ; A_σ minimises Σ_u w_{uσ} ‖z_uᵀ A_σ − z_{uσ}ᵀ‖².

    Parameters
    ----------
    hankel : HankelMatrix
        Transformed, or with boundary symbols.
    svd : TruncatedSVD
        Of its `weighted_block`, to this rank or more.
    rank : int
    """
    k = max(1, min(rank, svd.numerical_rank))
    V = svd.right[:, :k]
    rows = hankel.matrix @ V  # (num_rows, k)
    before, weights = rows[: hankel.num_prefixes], hankel.row_weights
    maps = np.zeros((mapped_rows(hankel).shape[1], k, k))
    for part in np.unique(svd.parts[:k]):  # prefixes of different parts share no state: exact zeros stay exact
        states = np.flatnonzero(svd.parts[:k] == part)
        inside = np.flatnonzero(before[:, states].any(axis=1))
        for symbol, after in enumerate(mapped_rows(hankel)[inside].T):
            roots = np.ones((len(after), 1)) if weights is None else np.sqrt(weights[after, None])
            maps[symbol, states] = np.linalg.lstsq(roots * before[inside][:, states], roots * rows[after])[0]
    return WFA(rows[hankel.start_row], maps, V[0].copy())
