"""Step 1 of NL-WFA learning: an auto-encoder over the rows of H (Li, Rabusseau, Precup 2018, §4.1).

The networks have no biases. Their widths are n → a₁k → … → k → … → a_Lk → n, where n is the number
of suffixes, k the rank, and the multiples (a₁ … a_L) are (2, 1, 2) or (4, 2, 1, 2, 4). θ is applied
to every hidden unit, and the last layer is linear: with the multiples (2, 1, 2), the encoder is
φ(h) = θ(θ(hᵀA)B) and the decoder φ'(z) = θ(zᵀC)D. The loss is ‖φ'(φ(H)) − H‖², computed by
`losses.reconstruction_error`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise

import numpy as np
import torch
from scipy import sparse

from ...errors import RecipeError
from ...hankel.matrix import HankelMatrix
from ...strings.words import FloatArray
from ..options import Networks
from ..progress import (
    MAX_SHOWN,
    MOST_UNITS,
    NETWORK_COLUMNS,
    NETWORK_ROWS,
    CancelCheck,
    NetworkState,
    Report,
    RowStates,
    TrainingLog,
    never,
    silent,
)
from ..spectral import truncated_svd, truncation_loss
from .descent import Descent, Epochs, one_thread, seeded_layers, solved, to_arrays, train
from .losses import (
    SparseRows,
    activate,
    best_last_layer,
    observed_error,
    projected_error,
    reconstruction_error,
)

# The largest entry of a state at the start from the SVD. Adamax begins where tanh is still the
# identity. From there L-BFGS gets nowhere, because the scales of the layers are too far apart; so
# it begins with larger states, and goes back only if it ends with a larger loss than the SVD's.
MAX_STATE_AT_SVD = {"adamax": (1e-4,), "lbfgs": (0.3, 1e-3)}
ROUNDING = 1e-12  # of a relative loss


@dataclass(frozen=True, eq=False)
class Factorisation:
    """A trained auto-encoder of Hankel rows."""

    # (num_rows, rank): the code φ(H_r / scale) of every row r of the Hankel matrix
    latent: FloatArray
    # encoder, decoder (width_i, width_{i+1}): the layers of φ, which takes rows of H divided by
    # `scale`, and of φ', which returns rows divided by `scale`
    encoder: tuple[FloatArray, ...]
    decoder: tuple[FloatArray, ...]
    # The largest absolute entry of H. Frequencies range from 10⁻⁵ to 0.4, and the paper does not
    # say whether it scales them.
    scale: float
    nonlinear: bool
    log: TrainingLog


def options_used(options: Networks) -> tuple[object, ...]:
    """List the options that change the auto-encoder.

    Learners that differ only in other options can share an auto-encoder.
    """
    descent = (
        options.epochs_factorisation,
        options.rate_factorisation,
        options.schedule,
        options.optimizer,
        options.tolerance,
    )
    shape = (options.rank, options.hidden, options.nonlinear_factorisation)
    return (*shape, options.start, options.seed, solves_last_layer(options), *descent)


def solves_last_layer(options: Networks) -> bool:
    """Return whether the decoder's last layer is solved in every epoch (see
    `fit_factorisation`).
    """
    return options.optimizer != "adamax" and options.nonlinear_transitions


@one_thread()
def fit_factorisation(
    hankel: HankelMatrix,
    options: Networks,
    masked: bool = False,
    report: Report = silent,
    cancelled: CancelCheck = never,
) -> Factorisation:
    """Train the auto-encoder to minimise ‖φ'(φ(H)) − H‖² over the rows P'.

    "adamax" trains all layers, as the paper does. Any other optimiser uses closed forms where there
    are any. A linear auto-encoder is then the truncated SVD of H, which no training can improve on
    (Eckart and Young 1936). In a nonlinear auto-encoder, the last layer is solved by least squares:
    at the end of the training if the learner's transitions are linear, and in every epoch if they
    are nonlinear (variable projection; Golub and Pereyra 1973). Solving it in every epoch lowers
    the loss several times as far, but ends in states that linear transitions cannot map to each
    other (docs/convergence.md).

    Equal rows are computed once, and count as often as they occur or by the sum of their weights.
    The row that all zero rows of H share represents them exactly: a network without biases maps it
    to 0, so it adds nothing to the loss or to the gradient.

    `options`: θ is tanh if the learner's first step is nonlinear, and otherwise the identity. The
    `start` "random" means seeded random weights, and "svd" the truncated SVD of H (see
    `start_at_svd`). `masked`: whether the loss is over the stored cells of H only, stored zeros
    included (see `values`). For the encoder, an unknown cell is 0.

    Raises RecipeError if H has no finite entry other than 0. Raises Cancelled.
    """
    # hidden layers of the encoder: those up to and including the middle one, of width k
    depth = len(options.hidden) // 2 + 1
    rank = options.rank
    nonlinear = options.nonlinear_factorisation
    scale = float(abs(hankel.matrix).max()) if hankel.matrix.nnz else 0.0
    if not 0 < scale < np.inf:
        raise RecipeError(
            "the Hankel matrix has no finite entry other than zero: there is nothing to factorise"
        )
    _, firsts, classes = np.unique(hankel.row_classes, return_index=True, return_inverse=True)
    counts = np.bincount(classes, weights=hankel.row_weights)
    H = SparseRows(sparse.csr_array(hankel.matrix[firsts] / scale), counts)
    error = observed_error if masked else reconstruction_error
    widths = [
        hankel.num_suffixes,
        *(multiple * rank for multiple in options.hidden),
        hankel.num_suffixes,
    ]
    layers = seeded_layers(list(pairwise(widths)), torch.Generator().manual_seed(options.seed))
    closed_forms = options.optimizer != "adamax" and not masked

    def merged(part: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        # linear layers are one matrix, and k is narrower than a₁k
        return part if nonlinear else [reduce(torch.matmul, part)]

    def encode(rows: SparseRows = H) -> torch.Tensor:
        first, *others = merged(layers[:depth])
        Z = activate(rows.times(first), nonlinear)
        for layer in others:
            Z = activate(Z @ layer, nonlinear)
        return Z  # (num_rows, rank)

    shown = SparseRows(H.matrix[classes[: min(MAX_SHOWN, hankel.num_prefixes)]])
    drawn = SparseRows(shown.matrix[:NETWORK_ROWS])
    projected = solves_last_layer(options) and not masked

    def network() -> NetworkState | None:
        """Compute what each unit makes of the first rows.

        Linear layers that are one matrix are drawn as one.
        """
        *parts, last = [*merged(layers[:depth]), *merged(layers[depth:])]
        if max(part.shape[1] for part in parts) > MOST_UNITS:
            return None
        units: list[torch.Tensor] = []
        for layer in parts:
            units.append(activate(units[-1] @ layer if units else drawn.times(layer), nonlinear))
        if projected:  # and not among the weights that are trained
            last = best_last_layer(H, decode()[0])
        weights = [parts[0][:NETWORK_COLUMNS], *parts[1:], last[:, :NETWORK_COLUMNS]]
        inputs, outputs = (
            drawn.matrix[:, :NETWORK_COLUMNS].toarray(),
            (units[-1] @ weights[-1]).numpy(),
        )
        return NetworkState(
            inputs,
            to_arrays(units),
            outputs,
            to_arrays(weights),
            len(merged(layers[:depth])) - 1,
            nonlinear,
        )

    @torch.no_grad()
    def look() -> RowStates:
        return RowStates(np.arange(shown.matrix.shape[0]), encode(shown).numpy(), network=network())

    def decode() -> tuple[torch.Tensor, torch.Tensor]:
        """Return the input of the last layer, shape (num_rows, width), and that layer."""
        Y, (*inner, last) = encode(), merged(layers[depth:])
        for layer in inner:
            Y = activate(Y @ layer, nonlinear)
        return Y, last

    def loss() -> torch.Tensor:
        return error(H, *decode()) / H.squared_norm

    def projected_loss() -> torch.Tensor:
        return projected_error(H, decode()[0]) / H.squared_norm

    def trained() -> TrainingLog:
        descent = Descent.of(options, "factorisation")
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
            start_at_svd(
                layers, seeded, svd.right, largest / float(np.abs(H.matrix @ svd.right).max())
            )
            log = (
                trained()
                if nonlinear or not closed_forms
                else solved(loss, "factorisation", report, look)
            )
            if masked or not nonlinear or log.losses.min(initial=np.inf) <= linear_loss + ROUNDING:
                break
    with torch.no_grad():
        latent = encode().numpy()[classes]
    return Factorisation(
        latent, to_arrays(layers[:depth]), to_arrays(layers[depth:]), scale, nonlinear, log
    )


def start_at_svd(
    layers: Sequence[torch.Tensor], seeded: Sequence[FloatArray], V: FloatArray, scale: float
) -> None:
    """Set the auto-encoder's layers so that it starts as the truncated SVD: φ(h) ≈ c Vᵀh and φ'(z)
    ≈ V z / c.

    The factor c is so small that tanh is nearly the identity on the states. The first k units of
    each layer hold the states. The other units have random input weights, and no later layer reads
    them until training changes that.

    `layers` (width_i, width_{i+1}): all layers of the encoder, then of the decoder, which change in
    place. `seeded`, of the same shapes: the random weights. `V` (num_suffixes, k): right singular
    vectors of H. `scale`: the factor c.
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
