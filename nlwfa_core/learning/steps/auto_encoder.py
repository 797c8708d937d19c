"""The auto-encoder of the rows of H (Li, Rabusseau, Precup 2018, §4.1): its formulas, its loss, and
the gradient of its loss.

The networks have no biases. Their widths are n → a₁k → … → k → … → a_Lk → n, where n is the number
of suffixes, k the rank, and the multiples (a₁ … a_L) are (2, 1, 2) or (4, 2, 1, 2, 4). θ is applied
to every hidden unit, and the last layer is linear: with the multiples (2, 1, 2), the encoder is
φ(h) = θ(θ(hᵀA)B) and the decoder φ'(z) = θ(zᵀC)D.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy import sparse

from ...models.nlwfa import activate
from ...strings.words import FloatArray
from .losses import Error, SparseRows, backward, before, forward

# How far Y D is from H: one of the functions of `losses`.
ErrorOf = Callable[[SparseRows, FloatArray, FloatArray], Error]


@dataclass(frozen=True, eq=False)
class AutoEncoder:
    """φ and φ', which training changes in place."""

    # (width_i, width_{i+1}): the layers of φ, then those of φ'
    encoder: list[FloatArray]
    decoder: list[FloatArray]
    nonlinear: bool  # whether θ is tanh; otherwise it is the identity

    @property
    def layers(self) -> list[FloatArray]:
        return [*self.encoder, *self.decoder]

    def encode(self, rows: sparse.csr_array) -> FloatArray:
        """φ: compute the state, shape (num_rows, k), of each row of a matrix (num_rows, n)."""
        first, *others = self.encoder
        return forward(activate(rows @ first, self.nonlinear), others, self.nonlinear)[-1]

    def decode(self, states: FloatArray) -> FloatArray:
        """φ': compute a row, shape (num_rows, n), from each state."""
        *others, last = self.decoder
        return forward(states, others, self.nonlinear)[-1] @ last

    def units(self, rows: sparse.csr_array) -> list[FloatArray]:
        """Compute the outputs of each hidden layer for the rows: arrays (num_rows, width_i)."""
        first, *hidden, _ = self.layers
        return forward(activate(rows @ first, self.nonlinear), hidden, self.nonlinear)

    def loss(self, H: SparseRows, error: ErrorOf) -> tuple[float, list[FloatArray]]:
        """Compute ‖φ'(φ(H)) − H‖² / ‖H‖² and its gradient with respect to each layer."""
        units = self.units(H.matrix)
        _, *hidden, last = self.layers
        value, dY, dD = error(H, units[-1], last)
        dY, gradients = backward(dY, units, hidden, self.nonlinear)
        of_first = H.transposed @ before(dY, units[0], self.nonlinear)
        relative = 1 / H.squared_norm
        return value * relative, [relative * each for each in (of_first, *gradients, dD)]

    def merged(self) -> AutoEncoder:
        """Return the same function with as few layers as possible: consecutive linear layers become
        one matrix.
        """
        if self.nonlinear:
            return self
        encoder, decoder = (reduce(np.matmul, layers) for layers in (self.encoder, self.decoder))
        return AutoEncoder([encoder], [decoder], False)


def start_at_svd(
    layers: Sequence[FloatArray], seeded: Sequence[FloatArray], V: FloatArray, scale: float
) -> None:
    """Set the layers of an auto-encoder so that it starts as the truncated SVD: φ(h) ≈ c Vᵀh and
    φ'(z) ≈ V z / c.

    The factor c is so small that tanh is nearly the identity on the states. The first k units of
    each layer hold the states. The other units have random input weights, and no later layer reads
    them until training changes that.

    `layers` (width_i, width_{i+1}): all layers of the encoder, then of the decoder, which change in
    place. `seeded`, of the same shapes: the random weights. `V` (num_suffixes, k): right singular
    vectors of H. `scale`: the factor c.
    """
    k = V.shape[1]
    for layer, weights in zip(layers, seeded, strict=True):
        layer[:] = weights
    first, *inner, last = layers
    first *= scale
    first[:, :k] = V * scale
    for layer in inner:
        layer[:k, :k] = np.eye(k)
        layer[k:, :k] = 0
    last[:] = 0
    last[:k] = V.T / scale
