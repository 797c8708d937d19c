"""Compute the losses of steps 1 and 2 with their gradients, exactly and without a dense matrix.

Each function returns the loss and its gradients with respect to the arrays that it takes, written
out by hand: the products are so small that the bookkeeping of automatic differentiation would take
many times as long. `auto_encoder` and `transitions` call these functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from ...models.nlwfa import activate
from ...strings.words import FloatArray

LAST_LAYER_RIDGE = 1e-8
# Stored cells of H that `observed_error` gathers at once: they stay in the processor's cache.
CELLS_PER_BLOCK = 2**14
# Hidden units of one block of `BatchedSquaredError`: half a megabyte, so what a block needs
# stays in a core's cache.
UNITS_PER_BLOCK = 65_536


class Error(NamedTuple):
    """‖Y D − H‖² and its gradients with respect to Y and D."""

    value: float
    Y: FloatArray  # (num_rows, width)
    D: FloatArray  # (width, n)


def before(gradient: FloatArray, outputs: FloatArray, nonlinear: bool) -> FloatArray:
    """Carry a gradient back through θ, given θ's outputs: tanh' = 1 − tanh²."""
    return gradient * (1 - outputs * outputs) if nonlinear else gradient


def forward(inputs: FloatArray, layers: Sequence[FloatArray], nonlinear: bool) -> list[FloatArray]:
    """Compute the units of each layer, θ(inputs · layer), after the inputs themselves.

    A layer may be a stack of matrices, (num_maps, width_i, width_{i+1}); its units are then also a
    stack.
    """
    units = [inputs]
    for layer in layers:
        units.append(activate(units[-1] @ layer, nonlinear))
    return units


def backward(
    gradient: FloatArray, units: Sequence[FloatArray], layers: Sequence[FloatArray], nonlinear: bool
) -> tuple[FloatArray, list[FloatArray]]:
    """Carry a gradient with respect to the last of `forward`'s units back to the inputs, and to
    each layer.
    """
    gradients = []
    for inputs, layer, outputs in zip(units[-2::-1], layers[::-1], units[:0:-1], strict=True):
        gradient = before(gradient, outputs, nonlinear)
        gradients.append(inputs.mT @ gradient)
        gradient = gradient @ layer.mT
    return gradient, gradients[::-1]


class SparseRows:
    """A constant sparse matrix H, shape (num_rows, n).

    One row may stand for several equal rows: `counts`, shape (num_rows,), gives their number, or
    the sum of their weights.
    """

    def __init__(self, matrix: sparse.csr_array, counts: npt.NDArray[Any] | None = None) -> None:
        weights = np.ones(matrix.shape[0]) if counts is None else counts.astype(np.float64)
        self.matrix = matrix
        self.transposed = matrix.T.tocsr()
        # of each stored cell
        self.rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        self.counts = weights[:, None]
        self.squared_norm = float(weights @ (matrix**2).sum(axis=1))


def reconstruction_error(H: SparseRows, Y: FloatArray, D: FloatArray) -> Error:
    """Compute ‖Y D − H‖² without the dense product Y D, as ⟨YᵀCY, DDᵀ⟩ − 2⟨CY, HDᵀ⟩ + ‖H‖², where
    diag(C) are the rows' counts.

    The gradients are 2 (CY DDᵀ − C HDᵀ) with respect to Y, and 2 (YᵀCY D − (HᵀCY)ᵀ) with respect to
    D. For k columns of Y, this costs O(nnz·k + (num_rows + n)·k²). Near a perfect fit the three
    terms cancel, which leaves an absolute error of about 1e-16 · ‖H‖².
    """
    CY = H.counts * Y
    HDt = H.matrix @ np.ascontiguousarray(D.T)
    inner = Y.T @ CY
    outer = D @ D.T
    value = float(np.vdot(inner, outer) - 2 * np.vdot(CY, HDt)) + H.squared_norm
    of_Y = 2 * (CY @ outer - H.counts * HDt)
    return Error(value, of_Y, 2 * (inner @ D - (H.transposed @ CY).T))


def best_last_layer(H: SparseRows, Y: FloatArray) -> FloatArray:
    """Solve for the D, shape (width, n), that minimises ‖Y D − H‖² plus a ridge.

    The ridge of each hidden unit is `LAST_LAYER_RIDGE` times the unit's squared norm. Without it, D
    would have huge entries, because the hidden units of a nearly linear network are nearly linearly
    dependent.
    """
    CY = H.counts * Y
    squares = Y.T @ CY
    products = H.transposed @ CY
    norms = np.sqrt(squares.diagonal()).clip(np.finfo(np.float64).tiny)
    correlations = squares / norms / norms[:, None]
    correlations[np.diag_indices_from(correlations)] += LAST_LAYER_RIDGE
    factor = cho_factor(correlations, check_finite=False)
    D: FloatArray = cho_solve(factor, (products / norms).T, check_finite=False) / norms[:, None]
    return D


def projected_error(H: SparseRows, Y: FloatArray) -> Error:
    """Compute ‖Y D − H‖² plus the ridge, for the D of `best_last_layer`, as a function of Y alone
    (variable projection; Golub and Pereyra 1973).

    D changes with Y, but at the minimum this adds nothing to the gradient with respect to Y, and
    the gradient with respect to D is 0.
    """
    D = best_last_layer(H, Y)
    CY = H.counts * Y
    HDt = H.matrix @ np.ascontiguousarray(D.T)
    inner = Y.T @ CY
    outer = D @ D.T
    outer[np.diag_indices_from(outer)] *= 1 + LAST_LAYER_RIDGE
    value = float(np.vdot(inner, outer) - 2 * np.vdot(CY, HDt)) + H.squared_norm
    return Error(value, 2 * (CY @ outer - H.counts * HDt), np.zeros_like(D))


def observed_error(H: SparseRows, Y: FloatArray, D: FloatArray) -> Error:
    """Compute Σ c_i ((Y D)_ij − H_ij)² over the stored cells of H, stored zeros included. c_i are
    the rows' counts.

    With E the weighted residuals, the gradients are 2 E Dᵀ for Y and 2 Yᵀ E for D. For k columns of
    Y, this costs O(nnz·k).
    """
    columns = H.matrix.indices
    Dt = np.ascontiguousarray(D.T)
    residual = -H.matrix.data
    for start in range(0, len(residual), CELLS_PER_BLOCK):
        part = slice(start, start + CELLS_PER_BLOCK)
        residual[part] += np.einsum("ck,ck->c", Y[H.rows[part]], Dt[columns[part]])
    weighted = residual * H.counts[H.rows, 0]
    E = sparse.csr_array((2 * weighted, columns, H.matrix.indptr), shape=H.matrix.shape)
    return Error(float(residual @ weighted), E @ Dt, (E.T @ Y).T)


class BatchedSquaredError:
    """The loss of step 2, Σ_σ Σ_c w_σc ‖g_σ(z_c) − t_σc‖², and its gradient.

    c runs over the classes of prefixes with the same state. The sum is computed in blocks of some
    symbols and some classes, so no array is larger than a block. Internally, states are columns,
    because the products are fastest this way.

    `states` (num_classes, rank): the state z_c of each class. `targets` (num_symbols, num_classes,
    rank): the states t_σc that the maps should give. `weights` (num_symbols, num_classes): the
    weights w_σc. `nonlinear`: whether θ is tanh in the maps g_σ; otherwise it is the identity.
    """

    def __init__(
        self, states: FloatArray, targets: FloatArray, weights: FloatArray, nonlinear: bool
    ) -> None:
        self.nonlinear = nonlinear
        self.Z = np.ascontiguousarray(states.T)  # (rank, num_classes)
        self.T = np.ascontiguousarray(targets.mT)  # (num_symbols, rank, num_classes)
        self.doubled = 2 * weights[:, None]  # (num_symbols, 1, num_classes)

    def __call__(self, layers: Sequence[FloatArray]) -> tuple[float, list[FloatArray]]:
        """Compute the error and its gradient with respect to each of `layers`: F alone, or E
        and F.
        """
        gradients = [np.zeros_like(layer) for layer in layers]
        total = 0.0
        F = layers[-1]
        has_hidden = len(layers) == 2
        for symbols, columns in self._blocks(F.shape[1]):
            T = self.T[symbols, :, columns]
            Z = self.Z[:, columns]
            # (symbols, inputs of F, columns)
            A = activate(layers[0][symbols].mT @ Z, self.nonlinear) if has_hidden else Z
            G = activate(F[symbols].mT @ A, self.nonlinear)  # (symbols, rank, columns)
            difference = G - T
            dG = difference * self.doubled[symbols, :, columns]
            total += float(np.vdot(dG, difference)) / 2
            dG = before(dG, G, self.nonlinear)
            gradients[-1][symbols] += A @ dG.mT
            if has_hidden:
                gradients[0][symbols] += Z @ before(F[symbols] @ dG, A, self.nonlinear).mT
        return total, gradients

    def _blocks(self, wide: int) -> Iterator[tuple[slice, slice]]:
        num_symbols, _, num_classes = self.T.shape
        across = min(num_classes, max(1, UNITS_PER_BLOCK // wide))
        deep = min(num_symbols, max(1, UNITS_PER_BLOCK // (wide * across)))
        for row in range(0, num_symbols, deep):
            for column in range(0, num_classes, across):
                yield slice(row, row + deep), slice(column, column + across)
