"""Step 2 of NL-WFA learning: one small network a symbol (Li, Rabusseau, Precup 2018, §4.2).

g_σ(z) = θ(θ(zᵀE)F), k → 2k → k, hidden and output units θ, squared error between g_σ(φ(H_u)) and φ(H_{uσ}) over u ∈ P.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse

from ..strings.words import FloatArray, IntArray
from .networks import DTYPE, one_thread, seeded_layers, to_arrays, train
from .progress import MAX_SHOWN, CancelCheck, Report, RowStates, TrainingLog, never, silent

# Hidden units of one block: half a megabyte, so that what a block needs stays in a core's cache.
BLOCK = 65_536


@one_thread()
def fit_transitions(
    latent: FloatArray,
    shifted: npt.NDArray[np.int32],
    weights: FloatArray | None = None,
    *,
    width: int = 2,
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
    weights : array, shape (num_prefixes, num_symbols), or None
        How much each pair (u, σ) counts; None: all alike.
    width : int
        Hidden units, in multiples of the rank (the paper's 2); 0: no hidden layer, g_σ(z) = θ(zᵀF).

    Returns
    -------
    layers : tuple of arrays
        E, shape (num_symbols, rank, width·rank), and F, shape (num_symbols, width·rank, rank); without a hidden layer F alone.
    log : TrainingLog

    Raises
    ------
    Cancelled
    """
    num_prefixes, num_symbols = shifted.shape
    rank = latent.shape[1]
    widths = [rank, width * rank, rank] if width else [rank, rank]
    shapes = [(num_symbols, before, after) for before, after in pairwise(widths)]
    layers = seeded_layers(shapes, torch.Generator().manual_seed(seed))
    states, classes = np.unique(latent[:num_prefixes], axis=0, return_inverse=True)
    each = np.ones(shifted.shape) if weights is None else weights
    counts, targets, norm, spread = _class_targets(latent, shifted, classes.ravel(), each)
    error = _SquaredError(states, targets, counts / norm, nonlinear)

    def loss() -> torch.Tensor:
        return _WithGradients.apply(error, *layers) + spread / norm  # type: ignore[no-any-return,no-untyped-call]

    places = _first_reached(shifted, min(MAX_SHOWN, num_prefixes))

    def look() -> RowStates:
        reached = latent[: len(places)].copy()
        for row, (parent, symbol) in enumerate(places):
            if parent >= 0:
                state = reached[parent]
                for layer in layers:
                    state = state @ layer[symbol].detach().numpy()
                    state = np.tanh(state) if nonlinear else state
                reached[row] = state
        return RowStates(np.arange(len(places)), reached, latent[: len(places)])

    log = train(
        layers,
        loss,
        stage="transitions",
        epochs=epochs,
        learning_rate=learning_rate,
        schedule=schedule,
        report=report,
        cancelled=cancelled,
        look=look,
    )
    return to_arrays(layers), log


def _first_reached(shifted: npt.NDArray[np.int32], number: int) -> list[tuple[int, int]]:
    """Of the first rows, the row before and the symbol that leads from there; (−1, −1) where no map leads from an earlier row."""
    places = [(-1, -1)] * number
    parents, symbols = np.nonzero(shifted[:number] < number)
    for parent, symbol in zip(parents.tolist(), symbols.tolist(), strict=True):
        if parent < (row := int(shifted[parent, symbol])):
            places[row] = parent, symbol
    return places


class _SquaredError:
    """Σ_σ Σ_c w_σc ‖g_σ(z_c) − t_σc‖² and its gradient, written out: a third of autograd's time, and no array past a block's.

    A block is some symbols and some classes. Its states stand in columns: these products are quickest that way round.

    Parameters
    ----------
    states : array, shape (num_classes, rank)
    targets : array, shape (num_symbols, num_classes, rank)
    weights : array, shape (num_symbols, num_classes)
    nonlinear : bool
    """

    def __init__(self, states: FloatArray, targets: FloatArray, weights: FloatArray, nonlinear: bool) -> None:
        self.nonlinear = nonlinear
        self.Z = torch.from_numpy(states).T.contiguous()  # (rank, num_classes)
        self.T = torch.from_numpy(targets).mT.contiguous()  # (num_symbols, rank, num_classes)
        self.doubled = torch.from_numpy(2 * weights[:, None])  # (num_symbols, 1, num_classes)

    def __call__(self, *layers: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """The error, and its gradients towards F, or E and F."""
        gradients = [torch.zeros_like(layer) for layer in layers]
        total, F, hidden = torch.zeros((), dtype=DTYPE), layers[-1], len(layers) == 2
        for symbols, columns in self._blocks(F.shape[1]):
            T = self.T[symbols, :, columns]
            Z = self.Z[:, columns].expand(len(T), -1, -1)
            A = self._activated(layers[0][symbols].mT @ Z) if hidden else Z  # (symbols, inputs of F, columns)
            G = self._activated(F[symbols].mT @ A)  # (symbols, rank, columns)
            difference = G - T
            dG = difference * self.doubled[symbols, :, columns]
            total += torch.dot(dG.view(-1), difference.view(-1)) / 2
            dG = self._before(dG, G)
            gradients[-1][symbols].baddbmm_(A, dG.mT)
            if hidden:
                gradients[0][symbols].baddbmm_(Z, self._before(F[symbols] @ dG, A).mT)
        return total, gradients

    def _blocks(self, wide: int) -> Iterator[tuple[slice, slice]]:
        num_symbols, _, num_classes = self.T.shape
        across = min(num_classes, max(1, BLOCK // wide))
        deep = min(num_symbols, max(1, BLOCK // (wide * across)))
        for row in range(0, num_symbols, deep):
            for column in range(0, num_classes, across):
                yield slice(row, row + deep), slice(column, column + across)

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
    def forward(ctx: Any, error: _SquaredError, *layers: torch.Tensor) -> torch.Tensor:
        value, ctx.gradients = error(*layers)
        return value

    @staticmethod
    def backward(ctx: Any, *outer: Any) -> Any:
        return None, *(outer[0] * gradient for gradient in ctx.gradients)


def _class_targets(
    latent: FloatArray, shifted: npt.NDArray[np.int32], classes: IntArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray, float, float]:
    """What the squared error over prefixes is, class by class: Σ w ‖g − t‖² = W ‖g − t̄‖² + Σ w ‖t − t̄‖², W = Σ w.

    Returns
    -------
    counts : array, shape (num_symbols, num_classes)
        W.
    means : array, shape (num_symbols, num_classes, rank)
        t̄, of each symbol and class of prefixes the weighted mean of φ(H_{uσ}).
    norm, spread : float
        Σ w ‖t‖² (1 if that is 0), and the second term, which no network can lower.
    """
    together = sparse.csr_array((np.ones(len(classes)), (classes, np.arange(len(classes)))))  # (num_classes, num_prefixes)
    counts = np.ascontiguousarray((together @ weights).T)
    inverse = np.divide(1.0, counts, out=np.zeros_like(counts), where=counts > 0)
    targets = [(latent[rows], each[:, None]) for rows, each in zip(shifted.T, weights.T, strict=True)]
    means = np.stack([share[:, None] * (together @ (each * rows)) for (rows, each), share in zip(targets, inverse, strict=True)])
    spread = sum(float((each * (rows - mean[classes]) ** 2).sum()) for (rows, each), mean in zip(targets, means, strict=True))
    norm = float(((latent**2).sum(axis=1)[shifted] * weights).sum())
    return counts, means, norm or 1.0, spread
