"""Linear spectral learning, SP (Li, Rabusseau, Precup 2018, §2.3; Balle, Carreras, Luque, Quattoni 2014).

Truncated SVD of the block over P, H_λ ≈ U D Vᵀ, then α₀ᵀ = H[λ, :] V, α∞ = V[λ, :]ᵀ, A_σ = (H_λ V)⁺ H_σ V.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from ..errors import RecipeError
from ..hankel import HankelMatrix
from ..transforms import mapped
from ..wfa import WFA
from ..words import FloatArray

# Up to this many cells a full dense SVD costs less than setting up an iterative one.
DENSE_CELLS = 40_000


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
    """

    left: FloatArray
    singular_values: FloatArray
    right: FloatArray
    numerical_rank: int


def truncated_svd(block: sparse.csr_array, rank: int) -> TruncatedSVD:
    """Rank-k SVD of a sparse block; sparse solver for large blocks.

    Parameters
    ----------
    block : sparse array, shape (num_prefixes, num_suffixes)
    rank : int
        At least 1; where the block has fewer rows or columns, as many values come back as it has.

    Raises
    ------
    RecipeError
        If the rank is below 1, or the block holds a value that is not finite.
    """
    if rank < 1:
        raise RecipeError(f"rank: {rank} given, at least 1 needed")
    if not np.isfinite(block.data).all():
        raise RecipeError("the Hankel matrix holds a value that is not a finite number")
    smaller = min(block.shape)
    k = min(rank, smaller)
    if block.shape[0] * block.shape[1] <= DENSE_CELLS or 3 * k > smaller:
        U, D, Vt = np.linalg.svd(block.toarray(), full_matrices=False)
    else:
        try:
            U, D, Vt = _largest(block, k)
        except ArpackNoConvergence:
            U, D, Vt = np.linalg.svd(block.toarray(), full_matrices=False)
    U, D, V = U[:, :k], D[:k], Vt[:k].T
    signs = np.where(V[np.abs(V).argmax(axis=0), np.arange(k)] < 0, -1.0, 1.0)
    tolerance = D[0] * max(block.shape) * np.finfo(float).eps
    return TruncatedSVD(U * signs, D, V * signs, int((tolerance < D).sum()))


def _largest(block: sparse.csr_array, k: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What scipy's `svds(block, k, solver="arpack")` computes, in falling order, without what it does around each product."""
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
        With min(rank, numerical rank) states, at least 1: directions without a singular value carry nothing.
    """
    k = max(1, min(rank, svd.numerical_rank))
    V = svd.right[:, :k]
    D = svd.singular_values[:k]
    rows = hankel.matrix @ V  # (num_rows, k)
    # H_λ V = U D, so its pseudo-inverse is D⁻¹ Uᵀ.
    inverse = np.divide(svd.left[:, :k], D, out=np.zeros_like(svd.left[:, :k]), where=D > 0)  # (num_prefixes, k), transposed
    # The rows uσ that hold something, symbol by symbol: few of all, and the shared zero row is the last one.
    filled = np.diff(hankel.matrix.indptr) > 0
    pairs = np.flatnonzero(hankel.shifted <= np.flatnonzero(filled).max(initial=-1))
    pairs = pairs[filled[hankel.shifted.ravel()[pairs]]]
    prefixes, symbols = np.divmod(pairs, hankel.num_symbols)
    order = np.argsort(symbols, kind="stable")
    bounds = np.searchsorted(symbols[order], np.arange(hankel.num_symbols + 1)).tolist()
    left, right = inverse[prefixes[order]], rows[hankel.shifted.ravel()[pairs[order]]]
    transitions = np.stack([left[start:end].T @ right[start:end] for start, end in pairwise(bounds)])
    return WFA(rows[0], transitions, V[0].copy())


def weighted_block(hankel: HankelMatrix) -> sparse.csr_array:
    """H_λ as it is factorised: rows times the square roots of their weights, so that squared errors count as often as they do."""
    if hankel.row_weights is None:
        return hankel.block
    return sparse.csr_array(sparse.diags_array(np.sqrt(hankel.row_weights[: hankel.num_prefixes])) @ hankel.block)


def fit_linear_maps(hankel: HankelMatrix, svd: TruncatedSVD, rank: int) -> WFA:
    """Spectral learning where rows have weights, or boundary symbols: α₀ and A_σ of the maps that a model needs, α∞ for λ's column.

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
    maps = []
    for after in mapped(hankel).T:
        roots = np.ones((len(after), 1)) if weights is None else np.sqrt(weights[after, None])
        maps.append(np.linalg.lstsq(roots * before, roots * rows[after])[0])
    return WFA(rows[hankel.start_row], np.stack(maps), V[0].copy())
