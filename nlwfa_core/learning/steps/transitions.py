"""Step 2 of NL-WFA learning: one small network for each symbol (Li, Rabusseau, Precup 2018, §4.2).

The network of a symbol is g_σ(z) = θ(θ(zᵀE)F), of widths k → 2k → k. It is trained on the squared
error between g_σ(φ(H_u)) and φ(H_{uσ}) over all prefixes u ∈ P, where φ is the encoder of step 1.
`spectral` computes the matrices A_σ of SP.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ...rounding import on_one_thread
from ...strings.words import FloatArray, IntArray
from ..names import LARGEST_MAP
from ..progress import MAX_SHOWN, CancelCheck, Report, RowStates, TrainingLog, never, silent
from ..shared_options import Networks
from .descent import Descent, Epochs, seeded_layers, solved, train
from .levenberg_marquardt import fit_maps
from .losses import BatchedSquaredError


@on_one_thread
def fit_transitions(
    latent: FloatArray,
    shifted: npt.NDArray[np.int32],
    options: Networks,
    weights: FloatArray | None = None,
    report: Report = silent,
    cancelled: CancelCheck = never,
) -> tuple[tuple[FloatArray, ...], TrainingLog]:
    """Train the networks of all symbols at once, in batched products.

    The networks share no weights and Adamax treats each weight separately, so the result is the
    same as from training them one after another. Prefixes with the same state are computed once.
    With any optimiser but "adamax", linear maps are solved by least squares, one matrix per symbol.
    With "lm", nonlinear maps that have a hidden layer and at most LARGEST_MAP weights are trained
    by `levenberg_marquardt.fit_maps`.

    `latent` (num_rows, rank): the code φ(H_r) of every row r of H. Rows 0 … num_prefixes − 1 are
    the prefixes. `shifted` (num_prefixes, num_symbols): the number of the row of uσ. `options`: θ
    is tanh if the learner's second step is nonlinear, and otherwise the identity. Without hidden
    units (`width_transitions` 0), g_σ(z) = θ(zᵀF). The number of states is that of `latent`, not
    `options.rank`. `weights` (num_prefixes, num_symbols), or None: the weight of each pair (u, σ)
    in the error; None if all pairs have the same weight.

    Returns `layers`: E, shape (num_symbols, rank, width·rank), and F, shape (num_symbols,
    width·rank, rank), where width is `width_transitions`. Without a hidden layer, or if solved by
    least squares, `layers` holds only F, shape (num_symbols, rank, rank). `log`.

    Raises Cancelled.
    """
    num_prefixes, num_symbols = shifted.shape
    rank = latent.shape[1]
    width = options.width_transitions
    nonlinear = options.nonlinear_transitions
    widths = [rank, width * rank, rank] if width else [rank, rank]
    shapes = [(num_symbols, before, after) for before, after in pairwise(widths)]
    layers = seeded_layers(shapes, options.seed)
    exact = options.optimizer != "adamax" and not nonlinear
    small = bool(width) and 2 * width * rank * rank <= LARGEST_MAP
    states, classes = np.unique(latent[:num_prefixes], axis=0, return_inverse=True)
    pair_weights = np.ones(shifted.shape) if weights is None else weights
    counts, targets, norm, spread = _class_targets(latent, shifted, classes.ravel(), pair_weights)
    if exact:
        layers = [least_squares(states, targets, counts)]
    error = BatchedSquaredError(states, targets, counts / norm, nonlinear)

    def loss() -> tuple[float, list[FloatArray]]:
        value, gradients = error(layers)
        return value + spread / norm, gradients

    earlier = _earlier_rows(shifted, min(MAX_SHOWN, num_prefixes))

    def look() -> RowStates:
        reached = latent[: len(earlier)].copy()
        for row, (parent, symbol) in enumerate(earlier):
            if parent >= 0:
                state = reached[parent]
                for layer in layers:
                    state = state @ layer[symbol]
                    state = np.tanh(state) if nonlinear else state
                reached[row] = state
        return RowStates(np.arange(len(earlier)), reached, latent[: len(earlier)])

    if exact:
        log = solved(loss()[0], "transitions", report, look)
    else:
        epochs = Epochs(
            layers, loss, "transitions", Descent.of(options, "transitions"), report, cancelled, look
        )
        if nonlinear and small and options.optimizer == "lm":
            log = fit_maps(epochs, states, targets, counts / norm)
        else:
            log = train(epochs)
    return tuple(layers), log


def least_squares(states: FloatArray, targets: FloatArray, weights: FloatArray) -> FloatArray:
    """Fit one matrix A_σ per symbol by weighted least squares: it minimises Σ_c w_σc ‖z_c A_σ −
    t_σc‖² and has the least norm.

    c runs over the classes of prefixes with the same state.

    `states` (num_classes, rank): the state z_c of each class. `targets` (num_symbols, num_classes,
    rank): the states t_σc that the maps should give. `weights` (num_symbols, num_classes): the
    weights w_σc.

    Returns an array of shape (num_symbols, rank, rank).
    """
    maps = np.zeros((len(targets), states.shape[1], targets.shape[2]))
    for symbol, (each, weight) in enumerate(zip(targets, weights, strict=True)):
        counted = weight > 0
        roots = np.sqrt(weight[counted, None])
        maps[symbol] = np.linalg.lstsq(roots * states[counted], roots * each[counted])[0]
    return maps


def _earlier_rows(shifted: npt.NDArray[np.int32], number: int) -> list[tuple[int, int]]:
    """Find, for each of the first `number` rows, an earlier row and the symbol that leads from it;
    (−1, −1) if there is none.
    """
    earlier = [(-1, -1)] * number
    parents, symbols = np.nonzero(shifted[:number] < number)
    for parent, symbol in zip(parents.tolist(), symbols.tolist(), strict=True):
        row = int(shifted[parent, symbol])
        if parent < row:
            earlier[row] = parent, symbol
    return earlier


def _class_targets(
    latent: FloatArray, shifted: npt.NDArray[np.int32], classes: IntArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray, float, float]:
    """Replace the targets of all prefixes in a class by their weighted mean, which changes the
    squared error by a constant only.

    The prefixes of a class have the same state, so a map gives them the same g. With W = Σ w,
    Σ w ‖g − t‖² = W ‖g − t̄‖² + Σ w ‖t − t̄‖².

    Returns `counts` (num_symbols, num_classes): W for each symbol and class. `means` (num_symbols,
    num_classes, rank): t̄ for each symbol and class: the weighted mean of φ(H_{uσ}) over the
    prefixes u of the class. `norm` and `spread`: Σ w ‖t‖² over everything (1 if that is 0), and the
    sum of the last terms, which no network can lower.
    """
    # (num_classes, num_prefixes)
    together = sparse.csr_array((np.ones(len(classes)), (classes, np.arange(len(classes)))))
    counts = np.ascontiguousarray((together @ weights).T)
    inverse = np.divide(1.0, counts, out=np.zeros_like(counts), where=counts > 0)
    targets = [
        (latent[rows], each[:, None]) for rows, each in zip(shifted.T, weights.T, strict=True)
    ]
    means = np.stack(
        [
            share[:, None] * (together @ (each * rows))
            for (rows, each), share in zip(targets, inverse, strict=True)
        ]
    )
    spread = sum(
        float((each * (rows - mean[classes]) ** 2).sum())
        for (rows, each), mean in zip(targets, means, strict=True)
    )
    norm = float(((latent**2).sum(axis=1)[shifted] * weights).sum())
    return counts, means, norm or 1.0, spread
