"""Spectral learning from some of H's cells: complete the matrix, then take the WFA of its factors.

The idea is that of Balle and Mohri 2012, *Spectral learning of general weighted automata via constrained matrix completion*; the
method is alternating least squares (Koren, Bell, Volinsky 2009). Any factorisation H ≈ L Rᵀ over P' gives an automaton:
α₀ = L[λ], α∞ = R[λ], A_σ = (L_P)⁺ L_σ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..errors import RecipeError, check_at_least
from ..hankel.matrix import HankelMatrix
from ..hankel.values import observed_transitions
from ..models.wfa import WFA
from ..strings.words import FloatArray
from .progress import CancelCheck, Progress, Report, check_cancelled, never, silent
from .spectral import truncated_svd

FIRST_RIDGE = 10.0
SWEEPS_PER_HALVING = 4  # of the ridge


@dataclass(frozen=True, eq=False)
class Completion:
    """H ≈ left · diag(singular_values) · rightᵀ, learned from its known cells.

    Attributes
    ----------
    left : array, shape (num_rows, rank)
    singular_values : array, shape (rank,), descending
    right : array, shape (num_suffixes, rank)
        Both with orthonormal columns.
    losses : array, shape (num_sweeps,)
        Squared error on the known cells after each sweep, divided by their squared norm.
    """

    left: FloatArray
    singular_values: FloatArray
    right: FloatArray
    losses: FloatArray


def complete(
    hankel: HankelMatrix,
    rank: int,
    *,
    ridge: float = 1e-6,
    sweeps: int = 200,
    report: Report = silent,
    cancelled: CancelCheck = never,
) -> Completion:
    """Complete H by alternating least squares on the cells that it stores: min Σ (L Rᵀ − H)² + ridge · (‖L‖² + ‖R‖²).

    A sweep solves for every row of L, then for every row of R, and costs O(nnz·k² + (m + n)·k³). The first one starts from the
    truncated SVD of H with 0 in the unknown cells. The ridge starts at FIRST_RIDGE and is halved every SWEEPS_PER_HALVING sweeps
    down to `ridge`; sweeps with a small ridge from the start end in worse minima.

    Parameters
    ----------
    hankel : HankelMatrix
        From `hankel.values.observed_hankel`.
    rank : int
    ridge : float
        Relative to H's largest entry. About 0.001 suits values with errors of a few per cent.
    sweeps : int
        At least 1.

    Raises
    ------
    RecipeError
        If H holds no finite entry other than 0, the rank is below 1, the ridge not above 0, or the sweeps are below 1.
    Cancelled
    """
    matrix = hankel.matrix
    scale = float(abs(matrix).max()) if matrix.nnz else 0.0
    if not 0 < scale < np.inf:
        raise RecipeError("the Hankel matrix has no finite known entry other than zero: there is nothing to complete")
    if not ridge > 0:
        raise RecipeError(f"ridge must be above 0, because nothing else bounds rows with few known cells; got {ridge}")
    check_at_least("sweeps", sweeps, 1)
    H = sparse.csr_array(matrix / scale)
    pattern = sparse.csr_array((np.ones_like(H.data), H.indices, H.indptr), shape=H.shape)
    transposed, transposed_pattern = H.T.tocsr(), pattern.T.tocsr()
    rows = np.repeat(np.arange(H.shape[0]), np.diff(H.indptr))
    start = truncated_svd(H, rank)
    R = start.right * np.sqrt(start.singular_values)
    losses = np.empty(sweeps)
    for sweep in range(sweeps):
        check_cancelled(cancelled)
        current_ridge = max(ridge, FIRST_RIDGE * 0.5 ** (sweep / SWEEPS_PER_HALVING))
        L = _least_squares(H, pattern, R, current_ridge)
        R = _least_squares(transposed, transposed_pattern, L, current_ridge)
        residual = np.einsum("ck,ck->c", L[rows], R[H.indices]) - H.data
        losses[sweep] = residual @ residual / (H.data @ H.data)
        report(Progress("completion", sweep + 1, sweeps, float(losses[sweep])))
    Q, T = np.linalg.qr(L)
    U, D, Vt = np.linalg.svd(T @ R.T, full_matrices=False)
    return Completion(Q @ U, D * scale, Vt.T, losses)


def _least_squares(H: sparse.csr_array, pattern: sparse.csr_array, R: FloatArray, ridge: float) -> FloatArray:
    """The best L for a given R, shape (num_rows, k): each row's own k × k normal equations."""
    k = R.shape[1]
    squares = pattern @ (R[:, :, None] * R[:, None, :]).reshape(len(R), k * k)
    solved: FloatArray = np.linalg.solve(squares.reshape(-1, k, k) + ridge * np.eye(k), (H @ R)[:, :, None])[:, :, 0]
    return solved


def fit_completed(hankel: HankelMatrix, completion: Completion) -> WFA:
    """The WFA of a completed H. Its transitions use only rows with at least as many known cells as it has states.

    Fewer cells do not determine a row.
    """
    states = completion.left * completion.singular_values  # (num_rows, rank)
    observed = observed_transitions(hankel, states.shape[1])
    return WFA(states[0], linear_transitions(states, hankel.shifted, observed), completion.right[0].copy())


def linear_transitions(states: FloatArray, shifted: npt.NDArray[np.int32], observed: npt.NDArray[np.bool_]) -> FloatArray:
    """The A_σ of least norm that minimise Σ ‖z_u A_σ − z_{uσ}‖² over the known pairs, shape (num_symbols, rank, rank).

    Parameters
    ----------
    states : array, shape (num_rows, rank)
        The prefixes' rows come first.
    shifted, observed : arrays, shape (num_prefixes, num_symbols)
        The row of uσ, and whether the pair u, uσ counts.
    """
    pairs = [np.flatnonzero(column) for column in observed.T]
    solved = [np.linalg.pinv(states[u]) @ states[shifted[u, symbol]] for symbol, u in enumerate(pairs)]
    return np.stack(solved)
