"""Spectral learning when only some cells of H are known: complete the matrix, then build a WFA from
its factors.

The idea is that of Balle and Mohri 2012, *Spectral learning of general weighted automata via
constrained matrix completion*; the method of completion is alternating least squares (Koren, Bell,
Volinsky 2009). Any factorisation H ≈ L Rᵀ over the rows P' gives an automaton: α₀ = L[λ], α∞ =
R[λ], A_σ = (L_P)⁺ L_σ, where L_P has the rows u ∈ P of L, and L_σ the rows uσ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..errors import RecipeError, check_at_least
from ..hankel.matrix import HankelMatrix
from ..hankel.valued_strings import observed_transitions
from ..models.wfa import WFA
from ..strings.words import FloatArray
from .progress import CancelCheck, Progress, Report, check_cancelled, never, silent
from .spectral import truncated_svd

FIRST_RIDGE = 10.0
LARGEST_RIDGE = 1000
SWEEPS_PER_HALVING = 4  # of the ridge


@dataclass(frozen=True, eq=False)
class Completion:
    """A completed matrix, left · diag(singular_values) · rightᵀ, which approximates the known cells
    of H.
    """

    left: FloatArray  # (num_rows, rank): its columns are orthonormal, as are those of `right`
    singular_values: FloatArray  # (rank,), descending
    right: FloatArray  # (num_suffixes, rank)
    # (num_sweeps,): the squared error on the known cells after each sweep, divided by the sum of
    # their squares
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
    """Complete H by alternating least squares: minimise Σ (L Rᵀ − H)² + ridge · (‖L‖² + ‖R‖²),
    where the sum is over the stored cells. L has shape (num_rows, rank), R (num_suffixes, rank).

    A sweep solves for every row of L, then for every row of R. It costs O(nnz·k² + (num_rows +
    num_suffixes)·k³), where k is the rank and nnz the number of stored cells. The first sweep
    starts from the truncated SVD of H with 0 in the unknown cells. The ridge starts at FIRST_RIDGE
    and is halved every SWEEPS_PER_HALVING sweeps until it reaches `ridge`: starting with a small
    ridge leads to worse minima.

    `hankel`: from `hankel.valued_strings.observed_hankel`. `ridge`: the final ridge, for H divided
    by its largest entry. About 0.001 suits values with errors of a few per cent. `sweeps`: at least
    1.

    Raises RecipeError if H has no finite entry other than 0, the rank or the number of sweeps is
    below 1, or the ridge is 0 or less, or too large. Raises Cancelled if `cancelled()` returns
    true.
    """
    matrix = hankel.matrix
    scale = float(abs(matrix).max()) if matrix.nnz else 0.0
    if not 0 < scale < np.inf:
        raise RecipeError(
            "the Hankel matrix has no finite known entry other than zero: there is nothing "
            "to complete"
        )
    if not 0 < ridge <= LARGEST_RIDGE:
        raise RecipeError(
            f"ridge must be above 0 and at most {LARGEST_RIDGE:,}: nothing else bounds rows with "
            f"few known cells, and a larger ridge reduces all values to 0; got {ridge}"
        )
    check_at_least("sweeps", sweeps, 1)
    H = sparse.csr_array(matrix / scale)
    pattern = sparse.csr_array((np.ones_like(H.data), H.indices, H.indptr), shape=H.shape)
    transposed = H.T.tocsr()
    transposed_pattern = pattern.T.tocsr()
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


def _least_squares(
    H: sparse.csr_array, pattern: sparse.csr_array, R: FloatArray, ridge: float
) -> FloatArray:
    """Minimise Σ (H_ij − L_i · R_j)² + ridge · ‖L‖² over the cells (i, j) of `pattern`, given R;
    return L, shape (num_rows, k). H is 0 in all other cells.
    """
    k = R.shape[1]
    grams = pattern @ (R[:, :, None] * R[:, None, :]).reshape(len(R), k * k)
    solved: FloatArray = np.linalg.solve(
        grams.reshape(-1, k, k) + ridge * np.eye(k), (H @ R)[:, :, None]
    )[:, :, 0]
    return solved


def fit_completed(hankel: HankelMatrix, completion: Completion) -> WFA:
    """Build the WFA of a completed H.

    Its transitions use only those rows of H that have at least as many known cells as the WFA has
    states, because fewer cells do not determine a row.
    """
    states = completion.left * completion.singular_values  # (num_rows, rank)
    observed = observed_transitions(hankel, states.shape[1])
    return WFA(
        states[0], linear_transitions(states, hankel.shifted, observed), completion.right[0].copy()
    )


def linear_transitions(
    states: FloatArray, shifted: npt.NDArray[np.int32], observed: npt.NDArray[np.bool_]
) -> FloatArray:
    """Fit one matrix A_σ per symbol by least squares: it minimises Σ_u ‖z_u A_σ − z_{uσ}‖² and has
    the least norm.

    `states` (num_rows, rank): the state z of each row of H. The rows of the prefixes u come first.
    `shifted` (num_prefixes, num_symbols): the number of the row of uσ. `observed` (num_prefixes,
    num_symbols): whether the pair of u and uσ counts in the sum.

    Returns an array of shape (num_symbols, rank, rank).
    """
    pairs = [np.flatnonzero(column) for column in observed.T]
    solved = [
        np.linalg.pinv(states[u]) @ states[shifted[u, symbol]] for symbol, u in enumerate(pairs)
    ]
    return np.stack(solved)
