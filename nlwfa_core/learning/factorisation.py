"""Step 1 of NL-WFA learning: an auto-encoder over the rows of H (Li, Rabusseau, Precup 2018, §4.1).

Biasless; widths n → a₁k → … → k → … → a_Lk → n with multiples (a₁ … a_L) = (2, 1, 2) or (4, 2, 1, 2, 4); θ on every hidden
unit, the last layer linear: φ(h) = θ(θ(hᵀA)B), φ'(z) = θ(zᵀC)D.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse

from ..errors import RecipeError
from ..hankel import HankelMatrix
from ..words import FloatArray
from .networks import activate, one_thread, seeded_layers, to_arrays, train
from .progress import CancelCheck, Report, TrainingLog, never, silent


@dataclass(frozen=True, eq=False)
class Factorisation:
    """A trained auto-encoder of Hankel rows.

    Attributes
    ----------
    latent : array, shape (num_rows, rank)
        φ(H_r) of every row of the Hankel matrix.
    encoder, decoder : tuples of arrays, shapes (width_i, width_{i+1})
        φ takes rows of H divided by `scale`; φ' gives them back so divided.
    scale : float
        H's largest entry. Raw frequencies span 10⁻⁵ … 0.4; the paper says nothing of scaling.
    nonlinear : bool
    log : TrainingLog
    """

    latent: FloatArray
    encoder: tuple[FloatArray, ...]
    decoder: tuple[FloatArray, ...]
    scale: float
    nonlinear: bool
    log: TrainingLog


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

    Raises
    ------
    RecipeError
        If `hidden` is not of the allowed form, or H holds nothing but zeros.
    Cancelled
    """
    depth = encoder_depth(hidden)
    scale = float(abs(hankel.matrix).max()) if hankel.matrix.nnz else 0.0
    if not 0 < scale < np.inf:
        raise RecipeError("the Hankel matrix has no finite entry other than zero: there is nothing to factorise")
    _, firsts, classes = np.unique(hankel.row_classes, return_index=True, return_inverse=True)
    H = SparseRows(sparse.csr_array(hankel.matrix[firsts] / scale), np.bincount(classes, weights=hankel.row_weights))
    widths = [hankel.num_suffixes, *(multiple * rank for multiple in hidden), hankel.num_suffixes]
    layers = seeded_layers(list(pairwise(widths)), torch.Generator().manual_seed(seed))

    def encode() -> torch.Tensor:
        Z = activate(H.times(layers[0]), nonlinear)
        for layer in layers[1:depth]:
            Z = activate(Z @ layer, nonlinear)
        return Z  # (num_classes, rank)

    def loss() -> torch.Tensor:
        Y = encode()
        for layer in layers[depth:-1]:
            Y = activate(Y @ layer, nonlinear)
        return reconstruction_error(H, Y, layers[-1]) / H.squared_norm

    log = train(
        layers,
        loss,
        stage="factorisation",
        epochs=epochs,
        learning_rate=learning_rate,
        schedule=schedule,
        report=report,
        cancelled=cancelled,
    )
    with torch.no_grad():
        latent = encode().numpy()[classes]
    return Factorisation(latent, to_arrays(layers[:depth]), to_arrays(layers[depth:]), scale, nonlinear, log)


class SparseRows:
    """A constant sparse matrix H, shape (num_rows, n), whose products with dense tensors have gradients.

    Each row may stand for several: `counts`, shape (num_rows,), says for how many.
    """

    def __init__(self, matrix: sparse.csr_array, counts: npt.NDArray[Any] | None = None) -> None:
        weights = np.ones(matrix.shape[0]) if counts is None else counts.astype(np.float64)
        self.matrix = matrix
        self.transposed = matrix.T.tocsr()
        self.counts = torch.from_numpy(weights)[:, None]
        self.squared_norm = float(weights @ (matrix**2).sum(axis=1))

    def times(self, dense: torch.Tensor) -> torch.Tensor:
        """H W, shape (num_rows, k)."""
        return _Product.apply(dense, self.matrix, self.transposed)  # type: ignore[no-any-return,no-untyped-call]


def reconstruction_error(H: SparseRows, Y: torch.Tensor, D: torch.Tensor) -> torch.Tensor:
    """‖Y D − H‖² without the dense product: ⟨YᵀCY, DDᵀ⟩ − 2⟨CY, HDᵀ⟩ + ‖H‖², C the rows' counts. Same gradient, to rounding.

    Costs O(nnz·k + (num_rows + n)·k²). The three terms cancel near zero: float64 keeps about 1e-16 of ‖H‖².
    """
    CY = H.counts * Y
    return ((Y.T @ CY) * (D @ D.T)).sum() - 2 * (CY * H.times(D.T)).sum() + H.squared_norm


class _Product(torch.autograd.Function):
    """H W with H constant: the gradient towards W is Hᵀ G. The products are scipy's: torch's own CSR is still a beta."""

    @staticmethod
    def forward(ctx: Any, dense: torch.Tensor, matrix: sparse.csr_array, transposed: sparse.csr_array) -> torch.Tensor:
        ctx.transposed = transposed
        return torch.from_numpy(matrix @ dense.detach().numpy())

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return torch.from_numpy(ctx.transposed @ gradients[0].numpy()), None, None
