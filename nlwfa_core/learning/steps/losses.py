"""Compute the losses of steps 1 and 2, exact and without a dense matrix, with gradients written by
hand for speed.

Each loss is a function of tensors. Autograd would give the same gradients up to rounding, but needs
several times the time or memory. `factorisation` and `transitions` call these functions, so
that their own code reads like the paper's formulas. scipy computes the products with sparse
matrices, because torch's CSR format is still in beta.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse

from ...strings.words import FloatArray

DTYPE = torch.float64
LAST_LAYER_RIDGE = 1e-8
# Stored cells of H that `observed_error` gathers at once: they stay in the processor's cache.
CELLS_PER_BLOCK = 2**14
# Hidden units of one block of `BatchedSquaredError`: half a megabyte, so that what a block needs
# stays in a core's cache.
UNITS_PER_BLOCK = 65_536


def activate(values: torch.Tensor, nonlinear: bool) -> torch.Tensor:
    """θ: tanh, or the identity."""
    return _Tanh.apply(values) if nonlinear else values  # type: ignore[no-untyped-call]


class _Tanh(torch.autograd.Function):
    """numpy's tanh, which is five times as fast as torch's."""

    @staticmethod
    def forward(ctx: Any, values: torch.Tensor) -> torch.Tensor:
        outputs = torch.from_numpy(np.tanh(values.detach().numpy()))
        ctx.save_for_backward(outputs)
        return outputs

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return torch.ops.aten.tanh_backward(gradients[0], *ctx.saved_tensors)


class SparseRows:
    """A constant sparse matrix H, shape (num_rows, n), that can be multiplied by dense tensors with
    gradients.

    One row may stand for several equal rows: `counts`, shape (num_rows,), says for how many, or has
    the sum of their weights.
    """

    def __init__(self, matrix: sparse.csr_array, counts: npt.NDArray[Any] | None = None) -> None:
        weights = np.ones(matrix.shape[0]) if counts is None else counts.astype(np.float64)
        self.matrix = matrix
        self.transposed = matrix.T.tocsr()
        # of each stored cell
        self.rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        self.counts = torch.from_numpy(weights)[:, None]
        self.squared_norm = float(weights @ (matrix**2).sum(axis=1))

    def times(self, dense: torch.Tensor) -> torch.Tensor:
        """H W, shape (num_rows, k)."""
        return _Product.apply(dense, self.matrix, self.transposed)  # type: ignore[no-any-return,no-untyped-call]


def reconstruction_error(H: SparseRows, Y: torch.Tensor, D: torch.Tensor) -> torch.Tensor:
    """Compute ‖Y D − H‖² without the dense product Y D, as ⟨YᵀCY, DDᵀ⟩ − 2⟨CY, HDᵀ⟩ + ‖H‖², where
    diag(C) are the rows' counts.

    For k columns of Y, this costs O(nnz·k + (num_rows + n)·k²). Near a perfect fit the three terms
    cancel, which leaves an absolute error of about 1e-16 · ‖H‖².
    """
    return _ReconstructionError.apply(Y, D, H)  # type: ignore[no-any-return,no-untyped-call]


def best_last_layer(H: SparseRows, Y: torch.Tensor) -> torch.Tensor:
    """Solve for the D, shape (width, n), that minimises ‖Y D − H‖² plus a ridge.

    The ridge of each hidden unit is `LAST_LAYER_RIDGE` times the unit's squared norm. Without it, D
    would have huge entries, because the hidden units of a nearly linear network are nearly linearly
    dependent.
    """
    CY = H.counts * Y
    squares, products = Y.T @ CY, torch.from_numpy(H.transposed @ CY.numpy()).T
    norms = squares.diagonal().sqrt().clamp_min(torch.finfo(DTYPE).tiny)[:, None]
    correlations = squares / norms / norms.T + LAST_LAYER_RIDGE * torch.eye(len(norms), dtype=DTYPE)
    D: torch.Tensor = (
        torch.cholesky_solve(products / norms, torch.linalg.cholesky(correlations)) / norms
    )
    return D


def observed_error(H: SparseRows, Y: torch.Tensor, D: torch.Tensor) -> torch.Tensor:
    """Compute Σ c_i ((Y D)_ij − H_ij)² over the stored cells of H, stored zeros included. c_i are
    the rows' counts.

    For k columns of Y, this costs O(nnz·k).
    """
    return _ObservedError.apply(Y, D, H)  # type: ignore[no-any-return,no-untyped-call]


def projected_error(H: SparseRows, Y: torch.Tensor) -> torch.Tensor:
    """Compute ‖Y D − H‖² for the D of `best_last_layer`, as a function of Y alone (variable
    projection; Golub and Pereyra 1973).
    """
    return _ProjectedError.apply(Y, H)  # type: ignore[no-any-return,no-untyped-call]


class _WrittenOut(torch.autograd.Function):
    """An error of Y D that computes its gradients with respect to Y and D together with its
    value.
    """

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return *(gradients[0] * gradient for gradient in ctx.gradients), None


class _ReconstructionError(_WrittenOut):
    """‖Y D − H‖² and its gradients: 2 (CY DDᵀ − C HDᵀ) with respect to Y, and 2 (YᵀCY D − (HᵀCY)ᵀ)
    with respect to D.

    The symbols are those of `reconstruction_error`.
    """

    @staticmethod
    def forward(ctx: Any, left: torch.Tensor, right: torch.Tensor, H: SparseRows) -> torch.Tensor:
        Y, D = left.detach(), right.detach()
        CY, HDt = H.counts * Y, torch.from_numpy(H.matrix @ D.T.contiguous().numpy())
        inner, outer = Y.T @ CY, D @ D.T
        HtCY = torch.from_numpy(H.transposed @ CY.numpy())
        ctx.gradients = 2 * (CY @ outer - H.counts * HDt), 2 * (inner @ D - HtCY.T)
        return torch.sum(inner * outer) - 2 * torch.sum(CY * HDt) + H.squared_norm


class _ProjectedError(torch.autograd.Function):
    """_ReconstructionError for the best last layer D.

    D changes with Y, but at the minimum this adds nothing to the gradient.
    """

    @staticmethod
    def forward(ctx: Any, left: torch.Tensor, H: SparseRows) -> torch.Tensor:
        Y = left.detach()
        D = best_last_layer(H, Y)
        CY, HDt = H.counts * Y, torch.from_numpy(H.matrix @ D.T.contiguous().numpy())
        inner, outer = Y.T @ CY, D @ D.T
        outer.diagonal().mul_(1 + LAST_LAYER_RIDGE)
        ctx.gradient = 2 * (CY @ outer - H.counts * HDt)
        return torch.sum(inner * outer) - 2 * torch.sum(CY * HDt) + H.squared_norm

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return gradients[0] * ctx.gradient, None


class _ObservedError(_WrittenOut):
    """The error on the stored cells.

    With E its weighted residuals, its gradients are 2 E Dᵀ for Y and 2 Yᵀ E for D.
    """

    @staticmethod
    def forward(ctx: Any, left: torch.Tensor, right: torch.Tensor, H: SparseRows) -> torch.Tensor:
        Y, D = left.detach().numpy(), right.detach().numpy()
        columns, Dt = H.matrix.indices, np.ascontiguousarray(D.T)
        residual = -H.matrix.data
        for start in range(0, len(residual), CELLS_PER_BLOCK):
            part = slice(start, start + CELLS_PER_BLOCK)
            residual[part] += np.einsum("ck,ck->c", Y[H.rows[part]], Dt[columns[part]])
        weighted = residual * H.counts.numpy()[H.rows, 0]
        E = sparse.csr_array((2 * weighted, columns, H.matrix.indptr), shape=H.matrix.shape)
        ctx.gradients = torch.from_numpy(E @ Dt), torch.from_numpy((E.T @ Y).T)
        return torch.tensor(residual @ weighted)


class _Product(torch.autograd.Function):
    """The product H W for a constant H.

    If G is the gradient with respect to the product, Hᵀ G is the one with respect to W.
    """

    @staticmethod
    def forward(
        ctx: Any, dense: torch.Tensor, matrix: sparse.csr_array, transposed: sparse.csr_array
    ) -> torch.Tensor:
        ctx.transposed = transposed
        return torch.from_numpy(matrix @ dense.detach().numpy())

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return torch.from_numpy(ctx.transposed @ gradients[0].numpy()), None, None


class BatchedSquaredError:
    """The loss of step 2, Σ_σ Σ_c w_σc ‖g_σ(z_c) − t_σc‖², and its gradient, in a third of
    autograd's time.

    c runs over the classes of prefixes with the same state. The sum is computed in blocks of some
    symbols and some classes, so that no array is larger than a block. Internally, states are
    columns, because these products are then fastest.

    `states` (num_classes, rank): the state z_c of each class. `targets` (num_symbols, num_classes,
    rank): the states t_σc that the maps should give. `weights` (num_symbols, num_classes): the
    weights w_σc. `nonlinear`: whether θ is tanh in the maps g_σ; otherwise it is the identity.
    """

    def __init__(
        self, states: FloatArray, targets: FloatArray, weights: FloatArray, nonlinear: bool
    ) -> None:
        self.nonlinear = nonlinear
        self.Z = torch.from_numpy(states).T.contiguous()  # (rank, num_classes)
        self.T = torch.from_numpy(targets).mT.contiguous()  # (num_symbols, rank, num_classes)
        self.doubled = torch.from_numpy(2 * weights[:, None])  # (num_symbols, 1, num_classes)

    def __call__(self, *layers: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """Compute the error and its gradient with respect to each of `layers`: F alone, or E
        and F.
        """
        gradients = [torch.zeros_like(layer) for layer in layers]
        total, F, hidden = torch.zeros((), dtype=DTYPE), layers[-1], len(layers) == 2
        for symbols, columns in self._blocks(F.shape[1]):
            T = self.T[symbols, :, columns]
            Z = self.Z[:, columns].expand(len(T), -1, -1)
            # (symbols, inputs of F, columns)
            A = self._activated(layers[0][symbols].mT @ Z) if hidden else Z
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
        across = min(num_classes, max(1, UNITS_PER_BLOCK // wide))
        deep = min(num_symbols, max(1, UNITS_PER_BLOCK // (wide * across)))
        for row in range(0, num_symbols, deep):
            for column in range(0, num_classes, across):
                yield slice(row, row + deep), slice(column, column + across)

    def _activated(self, values: torch.Tensor) -> torch.Tensor:
        """θ, in place."""
        if self.nonlinear:
            np.tanh(values.numpy(), out=values.numpy())
        return values

    def _before(self, gradient: torch.Tensor, outputs: torch.Tensor) -> torch.Tensor:
        """Carry a gradient back through θ, given θ's outputs: tanh' = 1 − tanh²."""
        return torch.ops.aten.tanh_backward(gradient, outputs) if self.nonlinear else gradient


def squared_error(error: BatchedSquaredError, layers: Sequence[torch.Tensor]) -> torch.Tensor:
    """Compute the error of some layers as a tensor with gradients."""
    return _SquaredError.apply(error, *layers)  # type: ignore[no-any-return,no-untyped-call]


class _SquaredError(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, error: BatchedSquaredError, *layers: torch.Tensor) -> torch.Tensor:
        value, ctx.gradients = error(*layers)
        return value

    @staticmethod
    def backward(ctx: Any, *outer: Any) -> Any:
        return None, *(outer[0] * gradient for gradient in ctx.gradients)
