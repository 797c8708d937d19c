"""Spectral learning from some of H's cells: matrix completion, then a WFA (Balle and Mohri 2012, *Spectral learning of general
weighted automata via constrained matrix completion*, for the idea; alternating least squares as Koren, Bell, Volinsky 2009).

With H ≈ L Rᵀ over P', any such factorisation gives an automaton: α₀ = L[λ], α∞ = R[λ], A_σ = (L_P)⁺ L_σ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..errors import RecipeError
from ..hankel.matrix import HankelMatrix
from ..hankel.values import observed_transitions
from ..models.wfa import WFA
from ..strings.words import FloatArray
from .progress import CancelCheck, Progress, Report, check_cancelled, never, silent
from .spectral import truncated_svd

FIRST_RIDGE = 10.0
HALVING = 4


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
    """Alternating least squares on the cells that H stores: min Σ (L Rᵀ − H)² + ridge · (‖L‖² + ‖R‖²).

    A sweep solves for every row of L, then for every row of R, and costs O(nnz·k² + (m + n)·k³). The first starts from the
    truncated SVD of H with unknown cells at 0. The ridge falls from FIRST_RIDGE by half each HALVING sweeps until it is the one
    asked for: from a small one at once, the sweeps end in worse places.

    Parameters
    ----------
    hankel : HankelMatrix
        As `observed_hankel` makes it.
    rank : int
    ridge : float
        Relative to H's largest entry: H is divided by it. Values that are wrong by some per cent want some 0.001.
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
        raise RecipeError(f"ridge: {ridge} given, a number above 0 needed: rows with few known cells have no other bound")
    if sweeps < 1:
        raise RecipeError(f"sweeps: {sweeps} given, at least 1 needed")
    H = sparse.csr_array(matrix / scale)
    pattern = sparse.csr_array((np.ones_like(H.data), H.indices, H.indptr), shape=H.shape)
    turned, turned_pattern = H.T.tocsr(), pattern.T.tocsr()
    rows = np.repeat(np.arange(H.shape[0]), np.diff(H.indptr))
    start = truncated_svd(H, rank)
    R = start.right * np.sqrt(start.singular_values)
    losses = np.empty(sweeps)
    for sweep in range(sweeps):
        check_cancelled(cancelled)
        bound = max(ridge, FIRST_RIDGE * 0.5 ** (sweep / HALVING))
        L = _solved(H, pattern, R, bound)
        R = _solved(turned, turned_pattern, L, bound)
        residual = np.einsum("ck,ck->c", L[rows], R[H.indices]) - H.data
        losses[sweep] = residual @ residual / (H.data @ H.data)
        report(Progress("completion", sweep + 1, sweeps, float(losses[sweep])))
    Q, T = np.linalg.qr(L)
    U, D, Vt = np.linalg.svd(T @ R.T, full_matrices=False)
    return Completion(Q @ U, D * scale, Vt.T, losses)


def _solved(H: sparse.csr_array, pattern: sparse.csr_array, R: FloatArray, ridge: float) -> FloatArray:
    """The best L for a given R, shape (num_rows, k): each row's own k × k normal equations."""
    k = R.shape[1]
    squares = pattern @ (R[:, :, None] * R[:, None, :]).reshape(len(R), k * k)
    solved: FloatArray = np.linalg.solve(squares.reshape(-1, k, k) + ridge * np.eye(k), (H @ R)[:, :, None])[:, :, 0]
    return solved


def fit_completed(hankel: HankelMatrix, completion: Completion) -> WFA:
    """The WFA of a completed H; its transitions rest on the rows with at least as many known cells as it has states.

    A row with fewer is not determined by them.
    """
    states = completion.left * completion.singular_values  # (num_rows, rank)
    known = observed_transitions(hankel, states.shape[1])
    return WFA(states[0], linear_transitions(states, hankel.shifted, known), completion.right[0].copy())


def linear_transitions(states: FloatArray, shifted: npt.NDArray[np.int32], known: npt.NDArray[np.bool_]) -> FloatArray:
    """A_σ of least squares: Σ ‖z_u A_σ − z_{uσ}‖² over the known pairs, of least norm; shape (num_symbols, rank, rank).

    Parameters
    ----------
    states : array, shape (num_rows, rank)
        The first rows are those of the prefixes.
    shifted, known : arrays, shape (num_prefixes, num_symbols)
        The row of uσ, and whether the pair u, uσ takes part.
    """
    pairs = [np.flatnonzero(column) for column in known.T]
    solved = [np.linalg.pinv(states[u]) @ states[shifted[u, symbol]] for symbol, u in enumerate(pairs)]
    return np.stack(solved)
