"""Step 2 of NL-WFA learning: one small network a symbol (Li, Rabusseau, Precup 2018, §4.2).

g_σ(z) = θ(θ(zᵀE)F), k → 2k → k, hidden and output units θ, squared error between g_σ(φ(H_u)) and φ(H_{uσ}) over u ∈ P.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse

from ..words import FloatArray, IntArray
from .networks import one_thread, seeded_layers, to_arrays, train
from .progress import CancelCheck, Report, TrainingLog, never, silent

HIDDEN_MULTIPLE = 2
# Hidden units of one block: half a megabyte, so that what a block needs stays in a core's cache.
BLOCK = 65_536


@one_thread()
def fit_transitions(
    latent: FloatArray,
    shifted: npt.NDArray[np.int32],
    *,
    nonlinear: bool = True,
    epochs: int = 1000,
    learning_rate: float = 0.001,
    schedule: str = "constant",
    seed: int = 0,
    report: Report = silent,
    cancelled: CancelCheck = never,
) -> tuple[tuple[FloatArray, ...], TrainingLog]:
    """Train all symbols' networks at once, as one batched product, by full-batch Adamax.

    The symbols share no weight and Adamax works entry by entry, so this is the same as training them one by one. Prefixes with the
    same state are computed once.

    Parameters
    ----------
    latent : array, shape (num_rows, rank)
        φ(H_r) of every Hankel row; rows 0 … num_prefixes − 1 are the prefixes.
    shifted : array, shape (num_prefixes, num_symbols)
        The row of uσ.

    Returns
    -------
    layers : tuple of arrays
        E, shape (num_symbols, rank, 2·rank), and F, shape (num_symbols, 2·rank, rank).
    log : TrainingLog

    Raises
    ------
    Cancelled
    """
    num_prefixes, num_symbols = shifted.shape
    rank = latent.shape[1]
    wide = HIDDEN_MULTIPLE * rank
    layers = seeded_layers([(num_symbols, rank, wide), (num_symbols, wide, rank)], torch.Generator().manual_seed(seed))
    states, classes, counts = np.unique(latent[:num_prefixes], axis=0, return_inverse=True, return_counts=True)
    targets, norm, spread = _class_targets(latent, shifted, classes.ravel(), counts)
    error = _SquaredError(states, targets, counts / norm, nonlinear)

    def loss() -> torch.Tensor:
        return _WithGradients.apply(error, *layers) + spread / norm  # type: ignore[no-any-return,no-untyped-call]

    log = train(
        layers,
        loss,
        stage="transitions",
        epochs=epochs,
        learning_rate=learning_rate,
        schedule=schedule,
        report=report,
        cancelled=cancelled,
    )
    return to_arrays(layers), log


class _SquaredError:
    """Σ_σ Σ_c w_c ‖g_σ(z_c) − t_σc‖² and its gradient, written out: a third of autograd's time, and no array past a block's.

    A block is some symbols and some classes. Its states stand in columns: these products are quickest that way round.

    Parameters
    ----------
    states : array, shape (num_classes, rank)
    targets : array, shape (num_symbols, num_classes, rank)
    weights : array, shape (num_classes,)
    nonlinear : bool
    """

    def __init__(self, states: FloatArray, targets: FloatArray, weights: FloatArray, nonlinear: bool) -> None:
        self.nonlinear = nonlinear
        self.Z = torch.from_numpy(states).T.contiguous()  # (rank, num_classes)
        self.T = torch.from_numpy(targets).mT.contiguous()  # (num_symbols, rank, num_classes)
        self.doubled = torch.from_numpy(2 * weights)
        num_symbols, rank, num_classes = self.T.shape
        wide = HIDDEN_MULTIPLE * rank
        across = min(num_classes, max(1, BLOCK // wide))
        deep = min(num_symbols, max(1, BLOCK // (wide * across)))
        starts = [(row, column) for row in range(0, num_symbols, deep) for column in range(0, num_classes, across)]
        self.blocks = [(slice(row, row + deep), slice(column, column + across)) for row, column in starts]

    def __call__(self, E: torch.Tensor, F: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The error, and its gradients towards E and F."""
        dE, dF, total = torch.zeros_like(E), torch.zeros_like(F), torch.zeros((), dtype=E.dtype)
        for symbols, columns in self.blocks:
            T = self.T[symbols, :, columns]
            Z = self.Z[:, columns].expand(len(T), -1, -1)
            A = self._activated(E[symbols].mT @ Z)  # (symbols, 2·rank, columns)
            G = self._activated(F[symbols].mT @ A)  # (symbols, rank, columns)
            difference = G - T
            dG = difference * self.doubled[columns]
            total += torch.dot(dG.view(-1), difference.view(-1)) / 2
            dG = self._before(dG, G)
            dF[symbols].baddbmm_(A, dG.mT)
            dE[symbols].baddbmm_(Z, self._before(F[symbols] @ dG, A).mT)
        return total, dE, dF

    def _activated(self, values: torch.Tensor) -> torch.Tensor:
        """θ, in place."""
        if self.nonlinear:
            np.tanh(values.numpy(), out=values.numpy())
        return values

    def _before(self, gradient: torch.Tensor, outputs: torch.Tensor) -> torch.Tensor:
        """The gradient before θ: tanh' = 1 − tanh²."""
        return torch.ops.aten.tanh_backward(gradient, outputs) if self.nonlinear else gradient


class _WithGradients(torch.autograd.Function):
    """What a `_SquaredError` gives, for autograd."""

    @staticmethod
    def forward(ctx: Any, error: _SquaredError, E: torch.Tensor, F: torch.Tensor) -> torch.Tensor:
        value, *ctx.gradients = error(E, F)
        return value

    @staticmethod
    def backward(ctx: Any, *outer: Any) -> Any:
        return None, *(outer[0] * gradient for gradient in ctx.gradients)


def _class_targets(
    latent: FloatArray, shifted: npt.NDArray[np.int32], classes: IntArray, counts: IntArray
) -> tuple[FloatArray, float, float]:
    """What the squared error over prefixes is, class by class: Σ ‖g − t‖² = n ‖g − t̄‖² + Σ ‖t − t̄‖².

    Returns
    -------
    means : array, shape (num_symbols, num_classes, rank)
        t̄, of each symbol and class of prefixes the mean of φ(H_{uσ}).
    norm, spread : float
        Σ ‖t‖² (1 if that is 0), and the second term, which no network can lower.
    """
    sums = sparse.csr_array((1 / counts[classes], (classes, np.arange(len(classes)))))  # (num_classes, num_prefixes)
    means = np.stack([sums @ latent[rows] for rows in shifted.T])
    spread = sum(float(((latent[rows] - mean[classes]) ** 2).sum()) for rows, mean in zip(shifted.T, means, strict=True))
    norm = float((latent**2).sum(axis=1)[shifted].sum())
    return means, norm or 1.0, spread
