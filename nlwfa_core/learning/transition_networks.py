"""Step 2 of NL-WFA learning: one small network for each symbol (Li, Rabusseau, Precup 2018, §4.2).

g_σ(z) = θ(θ(zᵀE)F), k → 2k → k, hidden and output units θ, squared error between g_σ(φ(H_u)) and φ(H_{uσ}) over u ∈ P.
The matrices A_σ of a linear model come from `spectral`.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse

from ..strings.words import FloatArray, IntArray
from .levenberg_marquardt import fit_maps
from .losses import BatchedSquaredError, squared_error
from .names import LARGEST_MAP
from .networks import Descent, Epochs, one_thread, seeded_layers, solved, to_arrays, train
from .options import Options
from .progress import MAX_SHOWN, CancelCheck, Report, RowStates, TrainingLog, never, silent


@one_thread()
def fit_transitions(
    latent: FloatArray,
    shifted: npt.NDArray[np.int32],
    options: Options,
    weights: FloatArray | None = None,
    report: Report = silent,
    cancelled: CancelCheck = never,
) -> tuple[tuple[FloatArray, ...], TrainingLog]:
    """Train all symbols' networks at once, as one batched product.

    The symbols share no weights and Adamax works entry by entry, so this is the same as training them one by one. Prefixes with the
    same state are computed once. Unless the optimiser is "adamax", linear maps are those of least squares, one matrix
    for each symbol. With "lm", nonlinear maps with a hidden layer and at most LARGEST_MAP weights are trained by
    `levenberg_marquardt.fit_maps`.

    Parameters
    ----------
    latent : array, shape (num_rows, rank)
        φ(H_r) of every Hankel row; rows 0 … num_prefixes − 1 are the prefixes.
    shifted : array, shape (num_prefixes, num_symbols)
        The row of uσ.
    options : Options
        θ is tanh if the learner's second step is nonlinear, else the identity. Without hidden units (`width_transitions` 0),
        g_σ(z) = θ(zᵀF). The number of states is that of `latent`.
    weights : array, shape (num_prefixes, num_symbols), or None
        How much each pair (u, σ) counts; None: all the same.

    Returns
    -------
    layers : tuple of arrays
        E, shape (num_symbols, rank, width·rank), and F, shape (num_symbols, width·rank, rank); without a hidden layer, and from
        least squares, only F.
    log : TrainingLog

    Raises
    ------
    Cancelled
    """
    num_prefixes, num_symbols = shifted.shape
    rank, width, nonlinear = latent.shape[1], options.width_transitions, options.kind.nonlinear_transitions
    widths = [rank, width * rank, rank] if width else [rank, rank]
    shapes = [(num_symbols, before, after) for before, after in pairwise(widths)]
    layers = seeded_layers(shapes, torch.Generator().manual_seed(options.seed))
    exact = options.optimizer != "adamax" and not nonlinear
    small = bool(width) and 2 * width * rank * rank <= LARGEST_MAP
    states, classes = np.unique(latent[:num_prefixes], axis=0, return_inverse=True)
    pair_weights = np.ones(shifted.shape) if weights is None else weights
    counts, targets, norm, spread = _class_targets(latent, shifted, classes.ravel(), pair_weights)
    if exact:
        layers = [torch.from_numpy(least_squares(states, targets, counts))]
    error = BatchedSquaredError(states, targets, counts / norm, nonlinear)

    def loss() -> torch.Tensor:
        return squared_error(error, layers) + spread / norm

    earlier = _earlier_rows(shifted, min(MAX_SHOWN, num_prefixes))

    def look() -> RowStates:
        reached = latent[: len(earlier)].copy()
        for row, (parent, symbol) in enumerate(earlier):
            if parent >= 0:
                state = reached[parent]
                for layer in layers:
                    state = state @ layer[symbol].detach().numpy()
                    state = np.tanh(state) if nonlinear else state
                reached[row] = state
        return RowStates(np.arange(len(earlier)), reached, latent[: len(earlier)])

    if exact:
        log = solved(loss, "transitions", report, look)
    else:
        epochs = Epochs(layers, loss, "transitions", Descent.of(options, "transitions"), report, cancelled, look)
        if nonlinear and small and options.optimizer == "lm":
            log = fit_maps(epochs, states, targets, counts / norm)
        else:
            log = train(epochs)
    return to_arrays(layers), log


def least_squares(states: FloatArray, targets: FloatArray, weights: FloatArray) -> FloatArray:
    """The A_σ of least norm that minimise Σ_c w_σc ‖z_c A_σ − t_σc‖², shape (num_symbols, rank, rank).

    Parameters
    ----------
    states : array, shape (num_classes, rank)
    targets : array, shape (num_symbols, num_classes, rank)
    weights : array, shape (num_symbols, num_classes)
    """
    maps = np.zeros((len(targets), states.shape[1], targets.shape[2]))
    for symbol, (each, weight) in enumerate(zip(targets, weights, strict=True)):
        counted = weight > 0
        roots = np.sqrt(weight[counted, None])
        maps[symbol] = np.linalg.lstsq(roots * states[counted], roots * each[counted])[0]
    return maps


def _earlier_rows(shifted: npt.NDArray[np.int32], number: int) -> list[tuple[int, int]]:
    """For each of the first rows, an earlier row and the symbol that leads from it to this one; (−1, −1) if there is none."""
    earlier = [(-1, -1)] * number
    parents, symbols = np.nonzero(shifted[:number] < number)
    for parent, symbol in zip(parents.tolist(), symbols.tolist(), strict=True):
        if parent < (row := int(shifted[parent, symbol])):
            earlier[row] = parent, symbol
    return earlier


def _class_targets(
    latent: FloatArray, shifted: npt.NDArray[np.int32], classes: IntArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray, float, float]:
    """The squared error over the prefixes of one class: Σ w ‖g − t‖² = W ‖g − t̄‖² + Σ w ‖t − t̄‖², W = Σ w.

    Returns
    -------
    counts : array, shape (num_symbols, num_classes)
        W.
    means : array, shape (num_symbols, num_classes, rank)
        t̄, the weighted mean of φ(H_{uσ}) over each class of prefixes, for each symbol.
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
