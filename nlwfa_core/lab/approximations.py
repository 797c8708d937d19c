"""What stands in for a Hankel matrix: its truncated SVD, or the strings' weights under a model; and what that leaves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..errors import RecipeError
from ..hankel.matrix import HankelMatrix
from ..learning.spectral import TruncatedSVD
from ..models.files import LearnedModel
from ..strings.words import FloatArray, Word, Words

MAX_MODEL_CELLS = 250_000  # weights of as many strings uv are a second's work
CHUNK = 2**21  # cells of a dense matrix that are there at one time


@dataclass(frozen=True, eq=False)
class LowRank:
    """L Rᵀ, or a sparse matrix less that, without the dense matrix.

    Attributes
    ----------
    left : array, shape (num_rows, k)
    right : array, shape (num_columns, k)
    minuend : sparse array, shape (num_rows, num_columns), or None
        If there is one, the matrix is it minus L Rᵀ.
    """

    left: FloatArray
    right: FloatArray
    minuend: sparse.csr_array | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.left), len(self.right)

    def rows(self, start: int, end: int) -> FloatArray:
        """Rows start … end − 1, dense."""
        product: FloatArray = self.left[start:end] @ self.right.T
        return product if self.minuend is None else self.minuend[start:end].toarray() - product

    def chunks(self, multiple: int = 1) -> Iterator[FloatArray]:
        """All rows, in parts of a multiple of so many rows."""
        step = max(1, CHUNK // (self.shape[1] * multiple)) * multiple
        return (self.rows(start, start + step) for start in range(0, self.shape[0], step))


Matrix = sparse.csr_array | LowRank
LAYERS = ("H", "Ĥ", "H − Ĥ")


@dataclass(frozen=True)
class Shown:
    """Which matrix a lens shows.

    Attributes
    ----------
    symbol : int
        −1: H_λ, rows u; else H_σ, rows uσ.
    layer : str
        One of LAYERS.
    rank : int
        Of Ĥ.
    model : str
        The key of the run whose f(uv) is Ĥ; "": the truncated SVD.
    """

    symbol: int = -1
    layer: str = "H"
    rank: int = 0
    model: str = ""

    @property
    def after(self) -> Word:
        """What follows each prefix of the basis in a row."""
        return () if self.symbol < 0 else (self.symbol,)

    def block(self, hankel: HankelMatrix) -> sparse.csr_array:
        return hankel.block if self.symbol < 0 else hankel.symbol_block(self.symbol)

    def matrix(self, hankel: HankelMatrix, svd: TruncatedSVD, model: LearnedModel | None) -> Matrix:
        """H, Ĥ or H − Ĥ. Raises RecipeError as `model_block` does."""
        block = self.block(hankel)
        if self.layer == "H":
            return block
        near = reconstruction(block, svd, self.rank) if model is None else model_block(model, hankel, self.after)
        return near if self.layer == "Ĥ" else residual(block, near)


def reconstruction(block: sparse.csr_array, svd: TruncatedSVD, rank: int) -> LowRank:
    """Ĥ = H V Vᵀ, V the first `rank` right singular vectors of H_λ: of H_λ itself its truncated SVD (where rows have no weights),
    of H_σ the rows as a model of that rank can hold them."""
    V = svd.right[:, :rank]
    return LowRank(block @ V, V)


def residual(block: sparse.csr_array, approximation: Matrix) -> Matrix:
    """H − Ĥ."""
    if isinstance(approximation, LowRank):
        return LowRank(approximation.left, approximation.right, block)
    return sparse.csr_array(block - approximation)


def relative_error(block: sparse.csr_array, rest: Matrix) -> float:
    """‖H − Ĥ‖ / ‖H‖ (Frobenius), `rest` being H − Ĥ; nan of a matrix that is 0."""
    parts = rest.chunks() if isinstance(rest, LowRank) else [rest.data]
    whole = float((block.data**2).sum())
    return float(np.sqrt(sum(float((part**2).sum()) for part in parts) / whole)) if whole else float("nan")


def model_block(model: LearnedModel, hankel: HankelMatrix, after: Word = ()) -> sparse.csr_array:
    """f(uv) of a learned model, shape (num_prefixes, num_suffixes): the Hankel matrix that it stands for.

    It is to be compared with matrices of string frequencies. A network keeps of its decoder what string weights need, no more: so
    this is what can be said of a nonlinear factorisation and its transitions together.

    Raises
    ------
    RecipeError
        If there are more than MAX_MODEL_CELLS cells, or a weight is not finite.
    """
    shape = hankel.block.shape
    if shape[0] * shape[1] > MAX_MODEL_CELLS:
        raise RecipeError(f"the matrix of a model: {shape[0]:,} × {shape[1]:,} cells given, at most {MAX_MODEL_CELLS:,} allowed")
    prefixes = Words.of([word + after for word in hankel.basis.prefixes])
    weights = model.weights(prefixes.products(hankel.basis.suffixes))
    if not np.isfinite(weights).all():
        raise RecipeError("The model's weights grow beyond every bound, so there is no matrix to draw: it diverges.")
    return sparse.csr_array(weights.reshape(shape))


def part(matrix: Matrix, rows: slice, columns: slice) -> FloatArray:
    """A dense part."""
    if isinstance(matrix, LowRank):
        return matrix.rows(rows.start, rows.stop)[:, columns]
    return matrix[rows][:, columns].toarray()
