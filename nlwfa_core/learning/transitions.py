"""Step 2 of NL-WFA learning: one small network a symbol (Li, Rabusseau, Precup 2018, §4.2).

g_σ(z) = θ(θ(zᵀE)F), k → 2k → k, hidden and output units θ, squared error between g_σ(φ(H_u)) and φ(H_{uσ}) over u ∈ P.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from ..words import FloatArray
from .networks import DTYPE, activate, one_thread, seeded_layers, to_arrays, train
from .progress import CancelCheck, Report, TrainingLog, never, silent

HIDDEN_MULTIPLE = 2


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

    The symbols share no weight and Adamax works entry by entry, so this is the same as training them one by one.

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
    E, F = layers
    Z = torch.from_numpy(latent[:num_prefixes]).to(DTYPE)  # (num_prefixes, rank)
    targets = torch.from_numpy(latent[shifted.T.astype(np.int64)]).to(DTYPE)  # (num_symbols, num_prefixes, rank)
    norm = float((targets**2).sum()) or 1.0

    def loss() -> torch.Tensor:
        hidden = activate(Z @ E, nonlinear)
        return ((activate(hidden @ F, nonlinear) - targets) ** 2).sum() / norm

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
