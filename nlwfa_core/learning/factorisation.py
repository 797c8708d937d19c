"""Step 1 of NL-WFA learning: an auto-encoder over the rows of H (Li, Rabusseau, Precup 2018, §4.1).

Biasless; widths n → a₁k → … → k → … → a_Lk → n with multiples (a₁ … a_L) = (2, 1, 2) or (4, 2, 1, 2, 4); θ on every hidden
unit, the last layer linear: φ(h) = θ(θ(hᵀA)B), φ'(z) = θ(zᵀC)D.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse

from ..errors import RecipeError
from ..hankel.matrix import HankelMatrix
from .networks import activate, one_thread, seeded_layers, to_arrays, train
from .progress import MAX_SHOWN, CancelCheck, Report, RowStates, never, silent
from .spectral import truncated_svd
from .steps import Factorisation

STARTS = ("random", "svd")
LINEAR = 1e-4  # the largest state at the start from the SVD
CELLS_AT_ONCE = 2**14  # of the masked loss: what is gathered for them stays in the processor's cache


def encoder_depth(hidden: Sequence[int]) -> int:
    """How many of the hidden layers belong to the encoder, given their multiples of k.

    Raises
    ------
    RecipeError
        Unless the multiples are an odd number of positive integers, read the same both ways, with 1 in the middle.
    """
    middle = len(hidden) // 2
    if len(hidden) % 2 == 0 or list(hidden) != list(reversed(hidden)) or min(hidden) < 1 or hidden[middle] != 1:
        given = ",".join(map(str, hidden))
        raise RecipeError(f"hidden: {given} given, allowed are symmetric multiples around 1, as 2,1,2 or 4,2,1,2,4")
    return middle + 1


@one_thread()
def fit_factorisation(
    hankel: HankelMatrix,
    rank: int,
    *,
    hidden: Sequence[int] = (2, 1, 2),
    nonlinear: bool = True,
    masked: bool = False,
    start: str = "random",
    epochs: int = 1000,
    learning_rate: float = 0.015,
    schedule: str = "constant",
    seed: int = 0,
    report: Report = silent,
    cancelled: CancelCheck = never,
) -> Factorisation:
    """Train the auto-encoder by full-batch Adamax on ‖φ'(φ(H)) − H‖² over P'.

    Equal rows are computed once, and count as often as they are there, or by their weights. A zero row costs nothing and moves
    nothing (the network has no biases), so the shared zero row stands for all exactly.

    Parameters
    ----------
    masked : bool
        Whether only the cells that H stores count, zeros among them (see `values`). The encoder reads 0 where a cell is unknown.
    start : str
        One of STARTS: seeded weights, or the truncated SVD of H, from which training only gets better (see `start_at_svd`).

    Raises
    ------
    RecipeError
        If `hidden` or `start` is not of the allowed form, or H holds nothing but zeros.
    Cancelled
    """
    depth = encoder_depth(hidden)
    if start not in STARTS:
        raise RecipeError(f"start: {start!r} given, allowed: {', '.join(STARTS)}")
    scale = float(abs(hankel.matrix).max()) if hankel.matrix.nnz else 0.0
    if not 0 < scale < np.inf:
        raise RecipeError("the Hankel matrix has no finite entry other than zero: there is nothing to factorise")
    _, firsts, classes = np.unique(hankel.row_classes, return_index=True, return_inverse=True)
    counts = np.bincount(classes, weights=hankel.row_weights)
    H = SparseRows(sparse.csr_array(hankel.matrix[firsts] / scale), counts)
    error = observed_error if masked else reconstruction_error
    widths = [hankel.num_suffixes, *(multiple * rank for multiple in hidden), hankel.num_suffixes]
    layers = seeded_layers(list(pairwise(widths)), torch.Generator().manual_seed(seed))
    if start == "svd":
        start_at_svd(layers, sparse.diags_array(np.sqrt(counts)) @ H.matrix, rank)

    def merged(part: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        return part if nonlinear else [reduce(torch.matmul, part)]  # linear layers are one matrix, and k is narrower than a₁k

    def encode(rows: SparseRows = H) -> torch.Tensor:
        first, *others = merged(layers[:depth])
        Z = activate(rows.times(first), nonlinear)
        for layer in others:
            Z = activate(Z @ layer, nonlinear)
        return Z  # (num_rows, rank)

    shown = SparseRows(H.matrix[classes[: min(MAX_SHOWN, hankel.num_prefixes)]])

    @torch.no_grad()
    def look() -> RowStates:
        return RowStates(np.arange(shown.matrix.shape[0]), encode(shown).numpy())

    def loss() -> torch.Tensor:
        Y, (*inner, last) = encode(), merged(layers[depth:])
        for layer in inner:
            Y = activate(Y @ layer, nonlinear)
        return error(H, Y, last) / H.squared_norm

    log = train(
        layers,
        loss,
        stage="factorisation",
        epochs=epochs,
        learning_rate=learning_rate,
        schedule=schedule,
        report=report,
        cancelled=cancelled,
        look=look,
    )
    with torch.no_grad():
        latent = encode().numpy()[classes]
    return Factorisation(latent, to_arrays(layers[:depth]), to_arrays(layers[depth:]), scale, nonlinear, log)


def start_at_svd(layers: Sequence[torch.Tensor], matrix: sparse.csr_array, rank: int) -> None:
    """Turn seeded layers into φ(h) ≈ c Vᵀh and φ'(z) ≈ V z / c, V the right singular vectors; c keeps |φ| ≤ LINEAR.

    There tanh is the identity to within LINEAR² / 3. The first `rank` units of each layer hold the states; the others read what
    their seed says, and nobody reads them yet.
    """
    V = truncated_svd(matrix, rank).right
    k = V.shape[1]
    c = LINEAR / float(np.abs(matrix @ V).max())
    first, *inner, last = layers
    with torch.no_grad():
        first *= c
        first[:, :k] = torch.from_numpy(V * c)
        for layer in inner:
            layer[:k, :k] = torch.eye(k, dtype=layer.dtype)
            layer[k:, :k] = 0
        last.zero_()
        last[:k] = torch.from_numpy(V.T / c)


class SparseRows:
    """A constant sparse matrix H, shape (num_rows, n), whose products with dense tensors have gradients.

    Each row may stand for several: `counts`, shape (num_rows,), says for how many.
    """

    def __init__(self, matrix: sparse.csr_array, counts: npt.NDArray[Any] | None = None) -> None:
        weights = np.ones(matrix.shape[0]) if counts is None else counts.astype(np.float64)
        self.matrix = matrix
        self.transposed = matrix.T.tocsr()
        self.rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))  # of each stored cell
        self.counts = torch.from_numpy(weights)[:, None]
        self.squared_norm = float(weights @ (matrix**2).sum(axis=1))

    def times(self, dense: torch.Tensor) -> torch.Tensor:
        """H W, shape (num_rows, k)."""
        return _Product.apply(dense, self.matrix, self.transposed)  # type: ignore[no-any-return,no-untyped-call]


def reconstruction_error(H: SparseRows, Y: torch.Tensor, D: torch.Tensor) -> torch.Tensor:
    """‖Y D − H‖² without the dense product: ⟨YᵀCY, DDᵀ⟩ − 2⟨CY, HDᵀ⟩ + ‖H‖², C the rows' counts. Same gradient, to rounding.

    Costs O(nnz·k + (num_rows + n)·k²). The three terms cancel near zero: float64 keeps about 1e-16 of ‖H‖².
    """
    return _ReconstructionError.apply(Y, D, H)  # type: ignore[no-any-return,no-untyped-call]


def observed_error(H: SparseRows, Y: torch.Tensor, D: torch.Tensor) -> torch.Tensor:
    """Σ c_i ((Y D)_ij − H_ij)² over the cells that H stores, zeros among them; c the rows' counts. Costs O(nnz·k)."""
    return _ObservedError.apply(Y, D, H)  # type: ignore[no-any-return,no-untyped-call]


class _WrittenOut(torch.autograd.Function):
    """An error of Y D whose gradients, towards Y and D, were found with it."""

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return *(gradients[0] * gradient for gradient in ctx.gradients), None


class _ReconstructionError(_WrittenOut):
    """The gradients are 2 (CY DDᵀ − C HDᵀ) towards Y and 2 (YᵀCY D − (HᵀCY)ᵀ) towards D."""

    @staticmethod
    def forward(ctx: Any, left: torch.Tensor, right: torch.Tensor, H: SparseRows) -> torch.Tensor:
        Y, D = left.detach(), right.detach()
        CY, HDt = H.counts * Y, torch.from_numpy(H.matrix @ D.T.contiguous().numpy())
        inner, outer = Y.T @ CY, D @ D.T
        HtCY = torch.from_numpy(H.transposed @ CY.numpy())
        ctx.gradients = 2 * (CY @ outer - H.counts * HDt), 2 * (inner @ D - HtCY.T)
        return torch.sum(inner * outer) - 2 * torch.sum(CY * HDt) + H.squared_norm


class _ObservedError(_WrittenOut):
    """With E the weighted residual on the stored cells, the gradients are 2 E Dᵀ towards Y and 2 Yᵀ E towards D."""

    @staticmethod
    def forward(ctx: Any, left: torch.Tensor, right: torch.Tensor, H: SparseRows) -> torch.Tensor:
        Y, D = left.detach().numpy(), right.detach().numpy()
        columns, Dt = H.matrix.indices, np.ascontiguousarray(D.T)
        residual = -H.matrix.data
        for start in range(0, len(residual), CELLS_AT_ONCE):
            part = slice(start, start + CELLS_AT_ONCE)
            residual[part] += np.einsum("ck,ck->c", Y[H.rows[part]], Dt[columns[part]])
        weighted = residual * H.counts.numpy()[H.rows, 0]
        E = sparse.csr_array((2 * weighted, columns, H.matrix.indptr), shape=H.matrix.shape)
        ctx.gradients = torch.from_numpy(E @ Dt), torch.from_numpy((E.T @ Y).T)
        return torch.tensor(residual @ weighted)


class _Product(torch.autograd.Function):
    """H W with H constant: the gradient towards W is Hᵀ G. The products are scipy's: torch's own CSR is still a beta."""

    @staticmethod
    def forward(ctx: Any, dense: torch.Tensor, matrix: sparse.csr_array, transposed: sparse.csr_array) -> torch.Tensor:
        ctx.transposed = transposed
        return torch.from_numpy(matrix @ dense.detach().numpy())

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return torch.from_numpy(ctx.transposed @ gradients[0].numpy()), None, None
