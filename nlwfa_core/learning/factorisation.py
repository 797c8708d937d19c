"""Step 1 of NL-WFA learning: an auto-encoder over the rows of H (Li, Rabusseau, Precup 2018, §4.1).

Without biases; widths n → a₁k → … → k → … → a_Lk → n with multiples (a₁ … a_L) = (2, 1, 2) or (4, 2, 1, 2, 4); θ on every hidden
unit, the last layer linear: φ(h) = θ(θ(hᵀA)B), φ'(z) = θ(zᵀC)D. The loss,
‖φ'(φ(H)) − H‖², is computed by `losses.reconstruction_error`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise

import numpy as np
import torch
from scipy import sparse

from ..errors import RecipeError, check_one_of
from ..hankel.matrix import HankelMatrix
from ..strings.words import FloatArray
from .losses import SparseRows, activate, best_last_layer, observed_error, projected_error, reconstruction_error
from .names import STARTS
from .networks import Descent, Epochs, one_thread, seeded_layers, solved, to_arrays, train
from .options import Options
from .progress import MAX_SHOWN, CancelCheck, Report, RowStates, TrainingLog, never, silent
from .spectral import truncated_svd, truncation_loss

# The largest entry of a state at the start from the SVD. Adamax begins where tanh is still the identity. From there L-BFGS gets
# nowhere, because the scales of the layers are too far apart; so it begins with larger states, and goes back only if it ends with
# a larger loss than the SVD's.
MAX_STATE_AT_SVD = {"adamax": (1e-4,), "lbfgs": (0.3, 1e-3)}
ROUNDING = 1e-12  # of a relative loss


@dataclass(frozen=True, eq=False)
class Factorisation:
    """A trained auto-encoder of Hankel rows.

    Attributes
    ----------
    latent : array, shape (num_rows, rank)
        φ(H_r) of every row of the Hankel matrix.
    encoder, decoder : tuples of arrays, shapes (width_i, width_{i+1})
        φ takes rows of H divided by `scale`; φ' returns rows so divided.
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


def options_used(options: Options) -> tuple[object, ...]:
    """The options that change the auto-encoder. The others may differ between learners that share one."""
    descent = (options.epochs_factorisation, options.rate_factorisation, options.schedule, options.optimizer, options.tolerance)
    shape = (options.rank, options.hidden, options.kind.nonlinear_factorisation)
    return (*shape, options.start, options.seed, solves_last_layer(options), *descent)


def solves_last_layer(options: Options) -> bool:
    """Whether the decoder's last layer is solved in every epoch (see `fit_factorisation`)."""
    return options.optimizer != "adamax" and options.kind.nonlinear_transitions


def encoder_depth(hidden: Sequence[int]) -> int:
    """How many of the hidden layers belong to the encoder, given their multiples of k.

    Raises
    ------
    RecipeError
        Unless the multiples are an odd number of positive integers that read the same both ways, with 1 in the middle.
    """
    middle = len(hidden) // 2
    if len(hidden) % 2 == 0 or list(hidden) != list(reversed(hidden)) or min(hidden) < 1 or hidden[middle] != 1:
        multiples = ",".join(map(str, hidden))
        raise RecipeError(
            "hidden must list the layers' widths as multiples of the rank, symmetric around a 1 in the middle, "
            f"such as 2,1,2 or 4,2,1,2,4; got {multiples}"
        )
    return middle + 1


@one_thread()
def fit_factorisation(
    hankel: HankelMatrix, options: Options, masked: bool = False, report: Report = silent, cancelled: CancelCheck = never
) -> Factorisation:
    """Train the auto-encoder on ‖φ'(φ(H)) − H‖² over P'.

    Unless the optimiser is "adamax", a linear auto-encoder is the truncated SVD of H, which no training can improve on (Eckart and
    Young 1936). For a nonlinear one, all layers are trained together if the learner's transitions are linear, and its last layer is
    solved by least squares at the end. If they are nonlinear, the last layer is solved in every epoch (variable projection; Golub
    and Pereyra 1973). That lowers the loss several times as far, but to states that no linear map leads from one to the next
    (docs/convergence.md).

    Equal rows are computed once and count as often as they occur, or by their weights. A zero row costs nothing and moves nothing
    (the network has no biases), so the shared zero row represents all of them exactly.

    Parameters
    ----------
    options : Options
        θ is tanh if the learner's first step is nonlinear, else the identity. `start` "random" means seeded weights; "svd" the
        truncated SVD of H (see `start_at_svd`).
    masked : bool
        Whether only the cells that H stores count, zeros among them (see `values`). The encoder reads 0 for an unknown cell.

    Raises
    ------
    RecipeError
        If `hidden` or `start` is not of the allowed form, or H holds nothing but zeros.
    Cancelled
    """
    depth, rank, nonlinear = encoder_depth(options.hidden), options.rank, options.kind.nonlinear_factorisation
    check_one_of("start", options.start, STARTS)
    scale = float(abs(hankel.matrix).max()) if hankel.matrix.nnz else 0.0
    if not 0 < scale < np.inf:
        raise RecipeError("the Hankel matrix has no finite entry other than zero: there is nothing to factorise")
    _, firsts, classes = np.unique(hankel.row_classes, return_index=True, return_inverse=True)
    counts = np.bincount(classes, weights=hankel.row_weights)
    H = SparseRows(sparse.csr_array(hankel.matrix[firsts] / scale), counts)
    error = observed_error if masked else reconstruction_error
    widths = [hankel.num_suffixes, *(multiple * rank for multiple in options.hidden), hankel.num_suffixes]
    layers = seeded_layers(list(pairwise(widths)), torch.Generator().manual_seed(options.seed))
    closed_forms = options.optimizer != "adamax" and not masked

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

    def decode() -> tuple[torch.Tensor, torch.Tensor]:
        """The input of the last layer, shape (num_rows, width), and that layer."""
        Y, (*inner, last) = encode(), merged(layers[depth:])
        for layer in inner:
            Y = activate(Y @ layer, nonlinear)
        return Y, last

    def loss() -> torch.Tensor:
        return error(H, *decode()) / H.squared_norm

    def projected_loss() -> torch.Tensor:
        return projected_error(H, decode()[0]) / H.squared_norm

    def trained() -> TrainingLog:
        descent, projected = Descent.of(options, "factorisation"), solves_last_layer(options) and not masked
        free, error_of = (layers[:-1], projected_loss) if projected else (layers, loss)
        log = train(Epochs(free, error_of, "factorisation", descent, report, cancelled, look))
        if closed_forms:
            with torch.no_grad():
                before = layers[-1].clone()
                layers[-1].copy_(best_last_layer(H, decode()[0]))
                lowest = float(loss())
                if projected or lowest < log.losses.min(initial=np.inf):
                    return log.with_last_layer(lowest)
                layers[-1].copy_(before)
        return log

    if options.start == "random" and not (closed_forms and not nonlinear):
        log = trained()
    else:
        svd = truncated_svd(sparse.csr_array(sparse.diags_array(np.sqrt(counts)) @ H.matrix), rank)
        linear_loss, seeded = truncation_loss(svd, H.squared_norm), to_arrays(layers)
        for largest in MAX_STATE_AT_SVD[Descent.of(options, "factorisation").optimizer]:
            start_at_svd(layers, seeded, svd.right, largest / float(np.abs(H.matrix @ svd.right).max()))
            log = trained() if nonlinear or not closed_forms else solved(loss, "factorisation", report, look)
            if masked or not nonlinear or log.losses.min(initial=np.inf) <= linear_loss + ROUNDING:
                break
    with torch.no_grad():
        latent = encode().numpy()[classes]
    return Factorisation(latent, to_arrays(layers[:depth]), to_arrays(layers[depth:]), scale, nonlinear, log)


def start_at_svd(layers: Sequence[torch.Tensor], seeded: Sequence[FloatArray], V: FloatArray, scale: float) -> None:
    """Set layers to φ(h) ≈ c Vᵀh and φ'(z) ≈ V z / c, where tanh is nearly the identity.

    The first k units of each layer hold the states; the others have seeded input weights, and no later layer reads them yet.

    Parameters
    ----------
    layers : tensors, shapes (width_i, width_{i+1})
    seeded : arrays of these shapes
    V : array, shape (num_suffixes, k)
        Right singular vectors of H.
    scale : float
        c.
    """
    k = V.shape[1]
    with torch.no_grad():
        for layer, weights in zip(layers, seeded, strict=True):
            layer.copy_(torch.from_numpy(weights))
        first, *inner, last = layers
        first *= scale
        first[:, :k] = torch.from_numpy(V * scale)
        for layer in inner:
            layer[:k, :k] = torch.eye(k, dtype=layer.dtype)
            layer[k:, :k] = 0
        last.zero_()
        last[:k] = torch.from_numpy(V.T / scale)
