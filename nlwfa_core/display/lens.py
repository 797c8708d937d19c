"""Prepare a Hankel matrix for the browser: a picture with exact cells, its prefixes as points, its
singular values as bars.

"The lens" is the component on the Hankel page that shows the matrix (`assets/lens/lens.js`); a
payload is the JSON sent to it. This module first computes approximations of the matrix (its
truncated SVD, or the strings' weights under a model) and their residuals, then the payloads of the
lens and of the bars. Each picture is sent once with all its data, so neither hovering nor changing
the rank needs a request.

A pixel of the picture is a level, not a colour, so the page's theme decides how it looks: 0 is
blank, 1 … 127 stand for log₁₀ of a positive entry, 129 … 255 for log₁₀ of a negative entry's
magnitude. Arrays are sent as base64 of their little-endian bytes.
"""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..errors import RecipeError
from ..experiment.results import Result
from ..hankel.matrix import HankelMatrix
from ..learning.spectral import TruncatedSVD, weighted_block, weighted_rows
from ..models.model_files import LearnedModel
from ..rounding import format_share, format_significant, power_of_ten
from ..strings.words import LAMBDA, Alphabet, FloatArray, Word, Words
from .palette import ACCENT, BLUES, MARK, MUTED, REDS
from .projection import Projection, prefix_states, project
from .string_labels import word_labels

MAX_SINGULAR_VALUES = 50
MAX_MODEL_CELLS = 250_000  # computing the weights of this many strings uv takes about a second
CHUNK_CELLS = 2**21  # cells of a dense matrix that are in memory at one time
MAX_PIXELS = 1000  # width and height of the picture
# if a matrix has no more cells, their exact values are sent with the picture: less than a megabyte
MAX_EXACT_CELLS = 60_000
MAX_WINDOW = 120  # rows and columns of exact values that are sent in answer to one request
LEVELS = 127
ROUNDING = 1e-14  # singular values below this share of the largest are rounding errors
MOST_TICKS = 6
LAYERS = ("H", "Ĥ", "H − Ĥ")
_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


# The matrix and its approximations


@dataclass(frozen=True, eq=False)
class LowRank:
    """Represents L Rᵀ, or a sparse matrix minus L Rᵀ, without storing the dense matrix."""

    left: FloatArray  # (num_rows, k): L
    right: FloatArray  # (num_columns, k): R
    # (num_rows, num_columns), or None: the matrix is L Rᵀ if this is None, otherwise `minuend` − L
    # Rᵀ
    minuend: sparse.csr_array | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.left), len(self.right)

    def rows(self, start: int, end: int) -> FloatArray:
        """Compute the rows start … end − 1, shape (end − start, num_columns)."""
        product: FloatArray = self.left[start:end] @ self.right.T
        return product if self.minuend is None else self.minuend[start:end].toarray() - product

    def chunks(self, multiple: int = 1) -> Iterator[FloatArray]:
        """Compute all rows in chunks; the number of rows of each chunk but the last is a multiple
        of `multiple`.
        """
        step = max(1, CHUNK_CELLS // (self.shape[1] * multiple)) * multiple
        return (self.rows(start, start + step) for start in range(0, self.shape[0], step))


Matrix = sparse.csr_array | LowRank


@dataclass(frozen=True)
class MatrixChoice:
    """Names the matrix that the lens shows: a block of H, an approximation Ĥ of it, or the
    difference.
    """

    symbol: int = -1  # −1 for H_λ, whose rows are u; otherwise σ of H_σ, whose rows are uσ
    layer: str = "H"  # one of LAYERS
    rank: int = 0  # the rank of Ĥ
    # the key of the run whose model gives Ĥ, as f(uv); empty if Ĥ is the truncated SVD
    model: str = ""

    @property
    def after(self) -> Word:
        """Return the word that follows the prefix in each row: λ for H_λ, σ for H_σ."""
        return () if self.symbol < 0 else (self.symbol,)

    def block(self, hankel: HankelMatrix) -> sparse.csr_array:
        """Return H_λ or H_σ, shape (num_prefixes, num_suffixes)."""
        return hankel.block if self.symbol < 0 else hankel.symbol_block(self.symbol)

    def weights(self, hankel: HankelMatrix) -> FloatArray | None:
        """Return the weights of the block's rows, shape (num_prefixes,); None if all are equal."""
        if hankel.row_weights is None:
            return None
        rows = hankel.shifted[:, self.symbol] if self.symbol >= 0 else slice(hankel.num_prefixes)
        weights: FloatArray = hankel.row_weights[rows]
        return weights

    def matrix(self, hankel: HankelMatrix, svd: TruncatedSVD, model: LearnedModel | None) -> Matrix:
        """Compute H, Ĥ or H − Ĥ. Raises RecipeError for the reasons that `model_block` does."""
        block = self.block(hankel)
        if self.layer == "H":
            return block
        estimate = (
            reconstruction(block, svd, self.rank)
            if model is None
            else model_block(model, hankel, self.after)
        )
        return estimate if self.layer == "Ĥ" else residual(block, estimate)


def reconstruction(block: sparse.csr_array, svd: TruncatedSVD, rank: int) -> LowRank:
    """Approximate a block H by Ĥ = H V Vᵀ: its rows are projected on the first `rank` right
    singular vectors V of H_λ.

    For H_λ this is the truncated SVD (if rows have no weights). For H_σ it is the part of its rows
    that a model of this rank can represent.
    """
    V = svd.right[:, :rank]
    return LowRank(block @ V, V)


def residual(block: sparse.csr_array, approximation: Matrix) -> Matrix:
    """Compute H − Ĥ."""
    if isinstance(approximation, LowRank):
        return LowRank(approximation.left, approximation.right, block)
    return sparse.csr_array(block - approximation)


def relative_error(
    block: sparse.csr_array, rest: Matrix, weights: FloatArray | None = None
) -> float:
    """Compute ‖H − Ĥ‖ / ‖H‖ (Frobenius norm) from `rest` = H − Ĥ; nan if H is 0.

    `block` and `rest` (num_rows, num_columns). `weights` (num_rows,): the weights of the rows, as
    in the decomposition of H; without them, all rows have the same weight.
    """
    block = weighted_rows(block, weights)
    whole = float((block.data**2).sum())
    return float(np.sqrt(_squared_norm(rest, weights) / whole)) if whole else float("nan")


def _squared_norm(rest: Matrix, weights: FloatArray | None) -> float:
    if isinstance(rest, LowRank):
        return sum(float((part**2).sum()) for part in _scaled(rest, weights).chunks())
    return float((weighted_rows(rest, weights).data ** 2).sum())


def _scaled(rest: LowRank, weights: FloatArray | None) -> LowRank:
    if weights is None:
        return rest
    minuend = None if rest.minuend is None else weighted_rows(rest.minuend, weights)
    return LowRank(np.sqrt(weights)[:, None] * rest.left, rest.right, minuend)


def approximation_error(hankel: HankelMatrix, rest: Matrix, choice: MatrixChoice) -> float:
    """Compute the `relative_error` of an approximation from `rest`, the H − Ĥ of `choice`."""
    return relative_error(choice.block(hankel), rest, choice.weights(hankel))


def matrix_name(hankel: HankelMatrix, name: str) -> str:
    """Write the matrix `name` whose norm is taken, with √W in front of it if its rows have weights.

    >>> from nlwfa_core import estimate_hankel, select_basis
    >>> matrix_name(estimate_hankel(["ab"], select_basis(["ab"], 2, 2)), "H_λ")
    'H_λ'
    """
    return name if hankel.row_weights is None else f"√W {name}"


def weights_phrase(hankel: HankelMatrix) -> str:
    """Describe what W is, if rows have weights."""
    return (
        ""
        if hankel.row_weights is None
        else ", and W weights each row by how often its prefix was seen"
    )


def model_block(model: LearnedModel, hankel: HankelMatrix, after: Word = ()) -> sparse.csr_array:
    """Compute f(uv) of a learned model, shape (num_prefixes, num_suffixes): the Hankel matrix that
    the model represents.

    Compare it with matrices of string frequencies. A nonlinear model keeps only the part of its
    decoder that string weights need, so this matrix shows the effect of its factorisation and its
    transitions together.

    Raises RecipeError if there are more than MAX_MODEL_CELLS cells, or a weight is not finite.
    """
    shape = hankel.block.shape
    if shape[0] * shape[1] > MAX_MODEL_CELLS:
        raise RecipeError(
            f"a model's matrix must have at most {MAX_MODEL_CELLS:,} cells; got {shape[0]:,} "
            f"× {shape[1]:,}"
        )
    prefixes = Words.of([word + after for word in hankel.basis.prefixes])
    weights = model.weights(prefixes.products(hankel.basis.suffixes))
    if not np.isfinite(weights).all():
        raise RecipeError(
            "The model diverges: its weights grow without bound, so there is no matrix to draw."
        )
    return sparse.csr_array(weights.reshape(shape))


def part(matrix: Matrix, rows: slice, columns: slice) -> FloatArray:
    """Compute some rows and columns of a matrix as a dense array."""
    if isinstance(matrix, LowRank):
        return matrix.rows(rows.start, rows.stop)[:, columns]
    return matrix[rows][:, columns].toarray()


@dataclass(frozen=True, eq=False)
class Pooled:
    """A matrix reduced to the size of a screen."""

    # (at most max_rows, at most max_columns): the entry of largest magnitude in each tile, with its
    # sign
    values: FloatArray
    # row_factor, column_factor: the number of the matrix's rows and columns in a tile; 1 and 1 if
    # the matrix is small enough
    row_factor: int
    column_factor: int
    shape: tuple[int, int]  # the shape of the whole matrix


def pool(matrix: sparse.csr_array, max_rows: int, max_columns: int) -> Pooled:
    """Reduce a matrix to at most max_rows × max_columns tiles, each with the entry of largest
    magnitude in it.

    A mean would hide the few large entries that matter.

    >>> pool(sparse.csr_array(np.array([[1.0, -3.0], [0.0, 2.0]])), 1, 1).values.tolist()
    [[-3.0]]
    """
    num_rows, num_columns = matrix.shape
    row_factor = -(-num_rows // max_rows)
    column_factor = -(-num_columns // max_columns)
    entries = matrix.tocoo()
    rows = entries.row // row_factor
    columns = entries.col // column_factor
    # largest[0]: the largest positive entry in each tile; largest[1]: the largest magnitude of a
    # negative entry
    largest = np.zeros((2, -(-num_rows // row_factor), -(-num_columns // column_factor)))
    np.maximum.at(largest[0], (rows, columns), entries.data)
    np.maximum.at(largest[1], (rows, columns), -entries.data)
    values = np.where(largest[0] >= largest[1], largest[0], -largest[1])
    return Pooled(values, row_factor, column_factor, (num_rows, num_columns))


def _pooled(matrix: Matrix) -> Pooled:
    if not isinstance(matrix, LowRank):
        return pool(matrix, MAX_PIXELS, MAX_PIXELS)
    num_rows, num_columns = matrix.shape
    row_factor = -(-num_rows // MAX_PIXELS)
    column_factor = -(-num_columns // MAX_PIXELS)
    parts = []
    for chunk in matrix.chunks(row_factor):
        rows = np.arange(0, len(chunk), row_factor)
        columns = np.arange(0, num_columns, column_factor)
        largest, least = (
            of.reduceat(of.reduceat(chunk, rows, axis=0), columns, axis=1)
            for of in (np.maximum, np.minimum)
        )
        parts.append(np.where(largest >= -least, largest, least))
    return Pooled(np.concatenate(parts), row_factor, column_factor, (num_rows, num_columns))


# Payloads of the lens


def floor_of(block: sparse.csr_array) -> float:
    """Return a power of ten below a tenth of the smallest |entry|; the picture of an approximation
    draws smaller entries as 0.
    """
    sizes = np.abs(block.data[block.data != 0])
    return float(10 ** (np.floor(np.log10(sizes.min(initial=1.0))) - 1))


def matrix_payload(matrix: Matrix, floor: float | None = None) -> dict[str, Any]:
    """Make the payload of a matrix: its picture, its scale and, if they are few, its exact cells.

    `floor`: entries with smaller magnitudes are left blank. An approximation needs this, because
    none of its entries is exactly 0.
    """
    pooled = _pooled(matrix)
    magnitudes = np.abs(pooled.values)
    lowest, highest = decades(magnitudes[magnitudes > (floor or 0)], floor)
    payload = {
        "png": _base64(_png(_levels(pooled.values, lowest, highest, floor))),
        "shape": list(pooled.shape),
        "factors": [pooled.row_factor, pooled.column_factor],
        "scale": [lowest, highest],
        "negative": bool((pooled.values < 0).any()),
        "floor": floor or 0.0,
    }
    if isinstance(matrix, LowRank):
        if matrix.shape[0] * matrix.shape[1] > MAX_EXACT_CELLS:
            return payload
        matrix = sparse.csr_array(matrix.rows(0, matrix.shape[0]))
    return payload if matrix.nnz > MAX_EXACT_CELLS else payload | {"cells": _cells(matrix)}


def layer_payload(matrix: Matrix, hankel: HankelMatrix, choice: MatrixChoice) -> dict[str, Any]:
    """Make the payload of the matrix that `choice` names; that of an approximation has a floor."""
    return matrix_payload(matrix, None if choice.layer == "H" else floor_of(hankel.block))


def window(
    matrix: Matrix, row: int, column: int, num_rows: int, num_columns: int
) -> dict[str, Any]:
    """Make the payload of a part of a matrix: the exact values of at most MAX_WINDOW rows and
    columns from (row, column) on.
    """
    rows = slice(*_within(row, num_rows, matrix.shape[0]))
    columns = slice(*_within(column, num_columns, matrix.shape[1]))
    values = part(matrix, rows, columns)
    return {
        "row": rows.start,
        "column": columns.start,
        "shape": list(values.shape),
        "values": packed(values, "<f8"),
    }


def basis_payload(hankel: HankelMatrix, alphabet: Alphabet, choice: MatrixChoice) -> dict[str, Any]:
    """Make the payload of a basis: labels of rows and columns, the sum of each row of `choice`, and
    the colours.
    """
    sums = np.asarray(choice.block(hankel).sum(axis=1)).ravel()
    return {
        "prefixes": word_labels(hankel.basis.prefixes, alphabet, choice.after),
        "suffixes": word_labels(hankel.basis.suffixes, alphabet),
        "row": "prefix uσ" if choice.after else "prefix u",
        "separator": alphabet.separator,
        "empty": LAMBDA,
        "sums": packed(sums, "<f4"),
        "colours": {"positive": BLUES, "negative": REDS, "point": ACCENT, "mark": MARK},
    }


def basis_states(model: LearnedModel, hankel: HankelMatrix, after: Word = ()) -> FloatArray:
    """Compute a model's state after each prefix of the basis, followed by `after`: shape
    (num_prefixes, num_states).

    A row is nan if no string begins with the prefix, because it contains ⊣, or is a factor with
    boundary symbols that lacks ⊢.
    """
    end = hankel.num_symbols - hankel.num_marks
    beginnings = [_beginning(word + after, end, hankel.num_marks) for word in hankel.basis.prefixes]
    rows = [row for row, word in enumerate(beginnings) if word is not None]
    defined_states = prefix_states(
        model, Words.of([word for word in beginnings if word is not None])
    )
    states: FloatArray = np.full((len(beginnings), defined_states.shape[1]), np.nan)
    states[rows] = defined_states
    return states


def _beginning(word: Word, end: int, num_marks: int) -> Word | None:
    """Remove the boundary symbol from a prefix; None if no string begins with it."""
    if num_marks == 2:
        if word[:1] != (end + 1,):
            return None
        word = word[1:]
    return None if any(symbol >= end for symbol in word) else word


def prefixes_payload(
    hankel: HankelMatrix, svd: TruncatedSVD, result: Result | None, choice: MatrixChoice
) -> dict[str, Any]:
    """Make the payload of a point for each prefix: its state under a run's model or, if there is no
    run or its states can't be drawn, its row of the decomposition with `choice.rank` columns.
    """
    if result is not None:
        with suppress(RecipeError):
            return points_payload(
                basis_states(result.model, hankel, choice.after),
                f"States of {result.recipe.learning.learner}",
            )
    rows = reconstruction(choice.block(hankel), svd, choice.rank).left
    name = "HV" if choice.after else "UD"
    return points_payload(rows, f"Rows of {name}, rank {min(choice.rank, MAX_SINGULAR_VALUES)}")


def points_payload(vectors: FloatArray, title: str) -> dict[str, Any]:
    """Make the payload of a plane of points: the first two principal components of the vectors'
    directions.

    Rows of nan have no point. In the payload, `zeros` are the rows of zero vectors, which share one
    marked point.

    `vectors` (num_prefixes, size): a row for each prefix: its row in the matrix, or its state.

    Raises RecipeError if a vector with a point is not finite.
    """
    has_point = ~np.isnan(vectors).all(axis=1)
    projection: Projection = project(vectors[has_point], 2, unit_length=True)
    points = np.full((len(vectors), 2), np.nan)
    points[has_point] = projection.coordinates(vectors[has_point])
    return {
        "x": packed(points[:, 0], "<f4"),
        "y": packed(points[:, 1], "<f4"),
        "explained": [float(share) for share in projection.explained[:2]],
        "title": title,
        "zeros": np.flatnonzero(has_point & ~vectors.any(axis=1)).tolist(),
    }


def packed(values: Any, kind: str) -> str:
    """Convert an array to a numpy type, and encode its bytes, row by row, as base64.

    >>> packed([1, 2], "<u2")
    'AQACAA=='
    """
    return _base64(np.ascontiguousarray(values, dtype=kind).tobytes())


def _base64(data: bytes) -> str:
    return b64encode(data).decode("ascii")


def decades(magnitudes: FloatArray, floor: float | None) -> tuple[float, float]:
    """Find the exponents of the powers of ten below and above all magnitudes; if there is a floor,
    the lower one is the floor's.
    """
    if not magnitudes.size:
        return -1.0, 0.0
    highest = float(np.ceil(np.log10(magnitudes.max()) - 1e-6))  # 1 may be 1 + 2e-16
    lowest = float(np.floor(np.log10(floor or magnitudes.min()) + 1e-6))
    return min(lowest, highest - 1), highest


def _levels(
    values: FloatArray, lowest: float, highest: float, floor: float | None
) -> np.ndarray[Any, np.dtype[np.uint8]]:
    magnitudes = np.abs(values)
    with np.errstate(divide="ignore"):
        places = (np.log10(magnitudes) - lowest) / (highest - lowest)
    levels = 1 + np.rint(np.clip(places, 0, 1) * (LEVELS - 1))
    levels = np.where(magnitudes > (floor or 0), levels + np.where(values < 0, 128, 0), 0)
    return levels.astype(np.uint8)


def _png(levels: np.ndarray[Any, np.dtype[np.uint8]]) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(levels).save(file, "png", optimize=False, compress_level=6)
    return file.getvalue()


def _cells(matrix: sparse.csr_array) -> dict[str, str]:
    """Encode the cells of a sparse matrix: bounds of rows, columns, distinct values, and each
    cell's index among these values.

    Frequencies have few distinct values, so this is smaller than one number for each cell.
    """
    matrix = sparse.csr_array(matrix)
    matrix.sort_indices()
    values, codes = np.unique(matrix.data, return_inverse=True)
    return {
        "bounds": packed(matrix.indptr, "<u4"),
        "columns": packed(matrix.indices, "<u2" if matrix.shape[1] <= 2**16 else "<u4"),
        "codes": packed(codes, "<u2"),
        "values": packed(values, "<f8"),
    }


def _within(start: int, number: int, size: int) -> tuple[int, int]:
    first = min(max(start, 0), size - 1)
    return first, min(first + max(1, min(number, MAX_WINDOW)), size)


# Singular values


def singular_values_payload(svd: TruncatedSVD, hankel: HankelMatrix) -> dict[str, Any]:
    """Make the payload of the bars: heights on a logarithmic scale, names, and the share of H_λ
    that each rank keeps.

    Returns "heights": one for each value, from 0.01 to 1, or 0 for rounding errors. "names": the
    label of each value. "kept": the share of the matrix's squared norm that ranks 1, 2, … keep; the
    last share is for all ranks beyond the computed values. "said": a sentence for the browser to
    fill in, with {rank} and {kept}. "ticks": pairs of a label and a height. "colours".
    """
    values = svd.singular_values
    block = weighted_block(hankel)
    heights, ticks = _heights(values)
    shares = np.cumsum(values**2) / ((block.data**2).sum() or 1.0)  # 0 if the matrix is 0
    percentages = [format_share(share, 2) for share in shares.tolist()]
    more = f"more than {percentages[-1].removeprefix('>')}"
    return {
        "heights": heights,
        "ticks": ticks,
        "names": [
            f"σ{str(number).translate(_LOWERED)} = {format_significant(value)}"
            for number, value in enumerate(values, 1)
        ],
        "kept": [*percentages, percentages[-1] if len(values) == min(block.shape) else more],
        "said": "Rank {rank} keeps {kept} of the squared norm of "
        f"{matrix_name(hankel, 'H_λ')}{weights_phrase(hankel)}.",
        "colours": {"kept": ACCENT, "muted": MUTED, "mark": MARK},
    }


def numerical_rank_sentence(svd: TruncatedSVD, hankel: HankelMatrix) -> str:
    """Write a sentence in Markdown that states the matrix's numerical rank."""
    count = len(svd.singular_values)
    is_bound = svd.numerical_rank == count < min(hankel.block.shape)
    before, after = (
        ("at least ", " (no more values are computed for this page)") if is_bound else ("", "")
    )
    return (
        "The *numerical rank* is the number of values that are not 0 up to rounding: "
        f"{before}**{svd.numerical_rank}**{after}. "
        "Where the matrix is estimated from a sample, chance adds a little to each of them, "
        "so look for the drop."
    )


def _heights(values: FloatArray) -> tuple[list[float], list[tuple[str, float]]]:
    """Scale values logarithmically between the powers of ten around them; return the heights and
    the ticks at those powers.

    >>> _heights(np.array([10.0, 1.0, 0.1, 1e-20]))
    ([1.0, 0.5, 0.01, 0.0], [('10⁻¹', 0.0), ('1', 0.5), ('10', 1.0)])
    """
    positive = values[values > ROUNDING * values.max(initial=0)]
    if not positive.size:
        return [0.0] * len(values), [("0", 0.0)]
    highest = int(np.ceil(np.log10(positive.max()) - 1e-6))
    lowest = int(np.floor(np.log10(positive.min()) + 1e-6))
    lowest = min(lowest, highest - 1)
    decades = highest - lowest
    heights = np.maximum((np.log10(positive) - lowest) / decades, 0.01)
    step = -(-decades // MOST_TICKS)
    ticks = [
        (power_of_ten(power), (power - lowest) / decades)
        for power in range(lowest, highest + 1, step)
    ]
    return [*np.round(heights, 4).tolist(), *[0.0] * (len(values) - positive.size)], ticks
