"""Step 1 of NL-WFA learning, which trains the auto-encoder over the rows of H (Li, Rabusseau,
Precup 2018, §4.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import sparse

from ...errors import RecipeError
from ...hankel.matrix import HankelMatrix
from ...rounding import on_one_thread
from ...strings.words import FloatArray
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
from ..shared_options import Networks
from ..spectral import truncated_svd, truncation_loss
from .auto_encoder import AutoEncoder, start_at_svd
from .descent import Descent, Epochs, seeded_layers, solved, train
from .losses import (
    SparseRows,
    best_last_layer,
    observed_error,
    projected_error,
    reconstruction_error,
)

# The largest entry of a state at the start from the SVD. Adamax begins where tanh is still the
# identity. From there L-BFGS gets nowhere, because the scales of the layers are too far apart; so
# it begins with larger states, and goes back only if it ends with a larger loss than the SVD's.
MAX_STATE_AT_SVD = {"adamax": (1e-4,), "lbfgs": (0.3, 1e-3)}
ROUNDING = 1e-12  # error of a relative loss


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


@on_one_thread
def fit_factorisation(
    hankel: HankelMatrix,
    options: Networks,
    masked: bool = False,
    report: Report = silent,
    cancelled: CancelCheck = never,
) -> Factorisation:
    """Train the auto-encoder to minimise ‖φ'(φ(H)) − H‖² over the rows P'.

    "adamax" trains all layers, as the paper does. Any other optimiser uses closed forms where they
    exist. A linear auto-encoder is then the truncated SVD of H, which no training can improve on
    (Eckart and Young 1936). In a nonlinear auto-encoder, the last layer is solved by least squares:
    at the end of the training if the learner's transitions are linear, and in every epoch if they
    are nonlinear (variable projection; Golub and Pereyra 1973). Solving it in every epoch lowers
    the loss several times as much, but leads to states that linear transitions cannot map to each
    other (docs/method-notes.md).

    Equal rows are computed once, and count as often as they occur or by the sum of their weights.
    The row that all zero rows of H share represents them exactly: a network without biases maps it
    to 0, so it adds nothing to the loss or to the gradient.

    `options`: θ is tanh if the learner's first step is nonlinear, and otherwise the identity. The
    `start` "random" means seeded random weights, and "svd" the truncated SVD of H (see
    `start_at_svd`). `masked`: whether the loss is over the stored cells of H only, stored zeros
    included (see `functions.fit_values`). For the encoder, an unknown cell is 0.

    Raises RecipeError if H has no finite entry other than 0. Raises Cancelled.
    """
    scale = float(abs(hankel.matrix).max()) if hankel.matrix.nnz else 0.0
    if not 0 < scale < np.inf:
        raise RecipeError(
            "the Hankel matrix has no finite entry other than zero: there is nothing to factorise"
        )
    training = _Training(hankel, scale, options, masked, report, cancelled)
    log = training.run()
    network = training.network
    latent = network.encode(training.H.matrix)[training.classes]
    encoder = tuple(network.encoder)
    decoder = tuple(network.decoder)
    return Factorisation(latent, encoder, decoder, scale, network.nonlinear, log)


class _Training:
    """The training of one auto-encoder.

    `H`: the distinct rows of the Hankel matrix, divided by `scale`. `classes` (num_rows,): which of
    them each row of the matrix is.
    """

    def __init__(
        self,
        hankel: HankelMatrix,
        scale: float,
        options: Networks,
        masked: bool,
        report: Report,
        cancelled: CancelCheck,
    ) -> None:
        _, firsts, self.classes = np.unique(
            hankel.row_classes, return_index=True, return_inverse=True
        )
        self.counts = np.bincount(self.classes, weights=hankel.row_weights)
        self.H = SparseRows(sparse.csr_array(hankel.matrix[firsts] / scale), self.counts)
        first_classes = self.classes[: min(MAX_SHOWN, hankel.num_prefixes)]
        self.first_rows = self.H.matrix[first_classes]
        n = hankel.num_suffixes
        widths = [n, *(multiple * options.rank for multiple in options.hidden), n]
        layers = seeded_layers(list(pairwise(widths)), options.seed)
        # layers of the encoder: those up to and including the middle one, of width k
        depth = len(options.hidden) // 2 + 1
        self.network = AutoEncoder(layers[:depth], layers[depth:], options.nonlinear_factorisation)
        self.options = options
        self.masked = masked
        self.has_closed_forms = options.optimizer != "adamax" and not masked
        self.is_projected = solves_last_layer(options) and not masked
        self.report = report
        self.cancelled = cancelled

    def run(self) -> TrainingLog:
        """Train from the start that the options specify."""
        is_solved = self.has_closed_forms and not self.network.nonlinear
        if self.options.start == "random" and not is_solved:
            return self._from_here()
        layers = self.network.layers
        H = self.H
        weighted = sparse.csr_array(sparse.diags_array(np.sqrt(self.counts)) @ H.matrix)
        svd = truncated_svd(weighted, self.options.rank)
        linear_loss = truncation_loss(svd, H.squared_norm)
        seeded = [layer.copy() for layer in layers]
        largest_state = float(np.abs(H.matrix @ svd.right).max())
        descent = Descent.of(self.options, "factorisation")
        for largest in MAX_STATE_AT_SVD[descent.optimizer]:
            start_at_svd(layers, seeded, svd.right, largest / largest_state)
            if is_solved:
                return solved(self.loss()[0], "factorisation", self.report, self.look)
            log = self._from_here()
            lowest = log.losses.min(initial=np.inf)
            if self.masked or not self.network.nonlinear or lowest <= linear_loss + ROUNDING:
                break
        return log

    def loss(self) -> tuple[float, list[FloatArray]]:
        """Compute the loss with the last layer as it is."""
        return self.network.loss(self.H, observed_error if self.masked else reconstruction_error)

    def projected_loss(self) -> tuple[float, list[FloatArray]]:
        """Compute the loss with the best last layer."""
        value, gradients = self.network.loss(self.H, lambda H, Y, _: projected_error(H, Y))
        return value, gradients[:-1]

    def _from_here(self) -> TrainingLog:
        """Train from the current weights, then solve the last layer where that lowers the loss."""
        layers = self.network.layers
        last = layers[-1]
        trained, loss_of = (
            (layers[:-1], self.projected_loss) if self.is_projected else (layers, self.loss)
        )
        descent = Descent.of(self.options, "factorisation")
        log = train(
            Epochs(
                trained, loss_of, "factorisation", descent, self.report, self.cancelled, self.look
            )
        )
        if self.has_closed_forms:
            trained_last = last.copy()
            last[:] = best_last_layer(self.H, self.network.units(self.H.matrix)[-1])
            lowest = self.loss()[0]
            if self.is_projected or lowest < log.losses.min(initial=np.inf):
                return log.with_last_layer(lowest)
            last[:] = trained_last
        return log

    def look(self) -> RowStates:
        """Return the states of the first rows, and the outputs of each unit for them."""
        return RowStates(
            np.arange(self.first_rows.shape[0]),
            self.network.encode(self.first_rows),
            network=self._network_state(),
        )

    def _network_state(self) -> NetworkState | None:
        """Compute the output of each unit for the first rows, to draw; None if there are too many
        units.

        Linear layers that are one matrix are drawn as one.
        """
        network = self.network.merged()
        *hidden, last = network.layers
        if max(layer.shape[1] for layer in hidden) > MOST_UNITS:
            return None
        rows = self.first_rows[:NETWORK_ROWS]
        units = network.units(rows)
        if self.is_projected:
            # the loss solves for the last layer, and leaves that of the network as it is
            last = best_last_layer(self.H, network.units(self.H.matrix)[-1])
        weights = [hidden[0][:NETWORK_COLUMNS], *hidden[1:], last[:, :NETWORK_COLUMNS]]
        return NetworkState(
            rows[:, :NETWORK_COLUMNS].toarray(),
            tuple(units),
            units[-1] @ weights[-1],
            tuple(layer.copy() for layer in weights),
            len(network.encoder) - 1,
            network.nonlinear,
        )
