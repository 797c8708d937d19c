"""Step 2 of NL-WFA learning: one small network a symbol (Li, Rabusseau, Precup 2018, §4.2).

g_σ(z) = θ(θ(zᵀE)F), k → 2k → k, hidden and output units θ, squared error between g_σ(φ(H_u)) and φ(H_{uσ}) over u ∈ P.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse

from ..words import FloatArray, IntArray
from .networks import activate, one_thread, seeded_layers, to_arrays, train
from .progress import CancelCheck, Report, TrainingLog, never, silent

HIDDEN_MULTIPLE = 2


@one_thread()
def fit_transitions(
    latent: FloatArray,
    shifted: npt.NDArray[np.int32],
    weights: FloatArray | None = None,
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
    weights : array, shape (num_prefixes, num_symbols), or None
        How much each pair (u, σ) counts; None: all alike.

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
    E, F = layers
    states, classes = np.unique(latent[:num_prefixes], axis=0, return_inverse=True)
    counts, means, norm, spread = _class_targets(
        latent, shifted, classes.ravel(), np.ones(shifted.shape) if weights is None else weights
    )
    Z = torch.from_numpy(states)  # (num_classes, rank)
    C = torch.from_numpy(counts)[:, :, None]  # (num_symbols, num_classes, 1)
    targets = torch.from_numpy(means)  # (num_symbols, num_classes, rank)

    def loss() -> torch.Tensor:
        G = activate(activate(Z @ E, nonlinear) @ F, nonlinear)
        return ((C * (G - targets) ** 2).sum() + spread) / norm

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
