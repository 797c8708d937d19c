"""Show a Hankel matrix in the browser: as a picture with exact cells, as points of its prefixes, by its singular values.

First what can stand in for the matrix: its truncated SVD, or the strings' weights under a model, and what these leave. Then the
payloads of the lens and of the bars of singular values: all that a picture needs travels once, so that hovering and moving the cut
ask nothing of the server.

A picture's pixel is a level, not a colour, so that the page's theme decides how it looks: 0 is blank, 1 … 127 stand for log₁₀ of a
positive entry, 129 … 255 for that of a negative one's magnitude. Arrays travel as base64 of their little-endian bytes.
"""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image
from scipy import sparse

from ..errors import RecipeError
from ..hankel.matrix import HankelMatrix
from ..learning.spectral import TruncatedSVD, weighted_block
from ..models.files import LearnedModel
from ..strings.words import Alphabet, FloatArray, Word, Words
from .palette import ACCENT, BLUES, MARK, MUTED, REDS
from .states import Projection, prefix_states, project
from .strings import word_labels

MAX_MODEL_CELLS = 250_000  # weights of as many strings uv are a second's work
CHUNK = 2**21  # cells of a dense matrix that are there at one time
MAX_PIXELS = 1000  # a side of the picture
MAX_EXACT = 60_000  # cells that travel with the picture: under a megabyte
MAX_WINDOW = 120  # rows and columns that are sent when they are asked for
LEVELS = 127
ROUNDING = 1e-14  # of the largest value: what is below it is no value
MOST_TICKS = 6
LAYERS = ("H", "Ĥ", "H − Ĥ")
_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


# The matrix, and what can stand in for it


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


@dataclass(frozen=True)
class MatrixChoice:
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


@dataclass(frozen=True, eq=False)
class Pooled:
    """A matrix made small enough for a screen.

    Attributes
    ----------
    values : array, shape (at most max_rows, at most max_columns)
        Of each tile, the entry of largest magnitude, with its sign.
    row_factor, column_factor : int
        Rows and columns of a tile; 1 and 1 where nothing had to be pooled.
    shape : (int, int)
        Of the whole matrix.
    """

    values: FloatArray
    row_factor: int
    column_factor: int
    shape: tuple[int, int]


def pool(matrix: sparse.csr_array, max_rows: int, max_columns: int) -> Pooled:
    """Pool by largest magnitude: a mean would hide the few large entries that matter.

    >>> pool(sparse.csr_array(np.array([[1.0, -3.0], [0.0, 2.0]])), 1, 1).values.tolist()
    [[-3.0]]
    """
    num_rows, num_columns = matrix.shape
    row_factor, column_factor = -(-num_rows // max_rows), -(-num_columns // max_columns)
    entries = matrix.tocoo()
    rows, columns = entries.row // row_factor, entries.col // column_factor
    largest = np.zeros((2, -(-num_rows // row_factor), -(-num_columns // column_factor)))  # of positive, of negative entries
    np.maximum.at(largest[0], (rows, columns), entries.data)
    np.maximum.at(largest[1], (rows, columns), -entries.data)
    values = np.where(largest[0] >= largest[1], largest[0], -largest[1])
    return Pooled(values, row_factor, column_factor, (num_rows, num_columns))


def _pooled(matrix: Matrix) -> Pooled:
    if not isinstance(matrix, LowRank):
        return pool(matrix, MAX_PIXELS, MAX_PIXELS)
    num_rows, num_columns = matrix.shape
    row_factor, column_factor = -(-num_rows // MAX_PIXELS), -(-num_columns // MAX_PIXELS)
    parts = []
    for chunk in matrix.chunks(row_factor):
        rows, columns = np.arange(0, len(chunk), row_factor), np.arange(0, num_columns, column_factor)
        largest, least = (of.reduceat(of.reduceat(chunk, rows, axis=0), columns, axis=1) for of in (np.maximum, np.minimum))
        parts.append(np.where(largest >= -least, largest, least))
    return Pooled(np.concatenate(parts), row_factor, column_factor, (num_rows, num_columns))


# Payloads of the lens


def floor_of(block: sparse.csr_array) -> float:
    """A tenth of the smallest entry, as a power of ten: what is below in an approximation is as good as 0."""
    sizes = np.abs(block.data[block.data != 0])
    return float(10 ** (np.floor(np.log10(sizes.min(initial=1.0))) - 1))


def layer(matrix: Matrix, floor: float | None = None) -> dict[str, Any]:
    """A matrix as the browser gets it: its picture, its scale and, if they are few, its exact cells.

    Parameters
    ----------
    floor : float, optional
        Magnitudes below it are blank: for matrices that are nowhere exactly 0.
    """
    pooled = _pooled(matrix)
    magnitudes = np.abs(pooled.values)
    lowest, highest = _decades(magnitudes[magnitudes > (floor or 0)], floor)
    made = {
        "png": _base64(_png(_levels(pooled.values, lowest, highest, floor))),
        "shape": list(pooled.shape),
        "factors": [pooled.row_factor, pooled.column_factor],
        "scale": [lowest, highest],
        "negative": bool((pooled.values < 0).any()),
        "floor": floor or 0.0,
    }
    if isinstance(matrix, LowRank):
        if matrix.shape[0] * matrix.shape[1] > MAX_EXACT:
            return made
        matrix = sparse.csr_array(matrix.rows(0, matrix.shape[0]))
    return made if matrix.nnz > MAX_EXACT else made | {"cells": _cells(matrix)}


def window(matrix: Matrix, row: int, column: int, num_rows: int, num_columns: int) -> dict[str, Any]:
    """Exact values of a part of a matrix, cut to what there is and to MAX_WINDOW a side."""
    rows = slice(*_within(row, num_rows, matrix.shape[0]))
    columns = slice(*_within(column, num_columns, matrix.shape[1]))
    values = part(matrix, rows, columns)
    return {"row": rows.start, "column": columns.start, "shape": list(values.shape), "values": packed(values, "<f8")}


def basis_payload(hankel: HankelMatrix, alphabet: Alphabet, shown: MatrixChoice) -> dict[str, Any]:
    """Labels of rows and columns, and each row's sum."""
    sums = np.asarray(shown.block(hankel).sum(axis=1)).ravel()
    return {
        "prefixes": word_labels(hankel.basis.prefixes, alphabet, shown.after),
        "suffixes": word_labels(hankel.basis.suffixes, alphabet),
        "sums": packed(sums, "<f4"),
        "colours": {"positive": BLUES, "negative": REDS, "point": ACCENT, "mark": MARK},
    }


def basis_states(model: LearnedModel, hankel: HankelMatrix, after: Word = ()) -> FloatArray:
    """A model's state after each prefix of the basis and `after`, shape (num_prefixes, num_states).

    nan where a prefix is no beginning of a string: behind ⊣, or, of factors that are counted with marks, not behind ⊢."""
    end = hankel.num_symbols - hankel.num_marks
    begun = [_begun(word + after, end, hankel.num_marks) for word in hankel.basis.prefixes]
    places = [place for place, word in enumerate(begun) if word is not None]
    found = prefix_states(model, Words.of([word for word in begun if word is not None]))
    placed: FloatArray = np.full((len(begun), found.shape[1]), np.nan)
    placed[places] = found
    return placed


def _begun(word: Word, end: int, num_marks: int) -> Word | None:
    if num_marks == 2:
        if word[:1] != (end + 1,):
            return None
        word = word[1:]
    return None if any(symbol >= end for symbol in word) else word


def points(vectors: FloatArray, title: str) -> dict[str, Any]:
    """Principal components of directions; rows that are nan have no point. `zeros` are the rows of zero vectors: one point, marked.

    Raises
    ------
    RecipeError
        If a vector that has one is not finite.
    """
    known = ~np.isnan(vectors).all(axis=1)
    projection: Projection = project(vectors[known], 2, unit_length=True)
    placed = np.full((len(vectors), 2), np.nan)
    placed[known] = projection.coordinates(vectors[known])
    explained = [float(share) for share in projection.explained[:2]]
    zeros = np.flatnonzero(known & ~vectors.any(axis=1)).tolist()
    made = {"x": packed(placed[:, 0], "<f4"), "y": packed(placed[:, 1], "<f4"), "explained": explained, "title": title}
    return made | {"zeros": zeros}


def packed(values: Any, kind: str) -> str:
    """Base64 of an array's bytes in a numpy type, row by row.

    >>> packed([1, 2], "<u2")
    'AQACAA=='
    """
    return _base64(np.ascontiguousarray(values, dtype=kind).tobytes())


def _base64(data: bytes) -> str:
    return b64encode(data).decode("ascii")


def _decades(magnitudes: FloatArray, floor: float | None) -> tuple[float, float]:
    """The whole powers of ten around what is shown."""
    if not magnitudes.size:
        return -1.0, 0.0
    highest = float(np.ceil(np.log10(magnitudes.max()) - 1e-6))  # 1 may be 1 + 2e-16
    lowest = float(np.floor(np.log10(floor or magnitudes.min()) + 1e-6))
    return min(lowest, highest - 1), highest


def _levels(values: FloatArray, lowest: float, highest: float, floor: float | None) -> np.ndarray[Any, np.dtype[np.uint8]]:
    magnitudes = np.abs(values)
    with np.errstate(divide="ignore"):
        places = (np.log10(magnitudes) - lowest) / (highest - lowest)
    levels = 1 + np.rint(np.clip(places, 0, 1) * (LEVELS - 1))
    levels = np.where(magnitudes > (floor or 0), levels + np.where(values < 0, 128, 0), 0)
    return levels.astype(np.uint8)


def _png(levels: np.ndarray[Any, np.dtype[np.uint8]]) -> bytes:
    file = io.BytesIO()
    Image.fromarray(levels).save(file, "png", optimize=False, compress_level=6)
    return file.getvalue()


def _cells(matrix: sparse.csr_array) -> dict[str, str]:
    """Rows' bounds, columns, and each cell's value as the number of a distinct one: frequencies are few numbers."""
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
    """Bars on a logarithmic scale of whole powers of ten, their names, and what each rank keeps of H_λ.

    Returns
    -------
    dict
        "heights": of each value, between 0 and 1, least bars 0.01 high, 0 where there is only rounding; "names"; "kept": shares of
        the squared norm by rank, the last for every rank beyond the values; "said": a sentence with {rank} and {kept}; "ticks":
        pairs of a text and a height; "colours".
    """
    values, block = svd.singular_values, weighted_block(hankel)
    heights, ticks = _heights(values)
    shares = np.cumsum(values**2) / ((block.data**2).sum() or 1.0)  # 0 of a matrix that is 0
    kept = [f"{share:.2%}" for share in shares]
    weighed = "" if hankel.row_weights is None else ", each row weighted by how often its prefix was seen"
    return {
        "heights": heights,
        "ticks": ticks,
        "names": [f"σ{str(number).translate(_LOWERED)} = {value:.4g}" for number, value in enumerate(values, 1)],
        "kept": [*kept, kept[-1] if len(values) == min(block.shape) else f"more than {kept[-1]}"],
        "said": f"Rank {{rank}} keeps {{kept}} of the squared norm of H_λ{weighed}.",
        "colours": {"kept": ACCENT, "muted": MUTED, "mark": MARK},
    }


def numerical_rank_sentence(svd: TruncatedSVD, hankel: HankelMatrix) -> str:
    """How far the matrix's numerical rank goes, in Markdown."""
    count = len(svd.singular_values)
    cut = svd.numerical_rank == count < min(hankel.block.shape)
    least, no_more = ("at least ", ": no more values are computed for this page") if cut else ("", "")
    return (
        f"The numerical rank is {least}**{svd.numerical_rank}**{no_more}. Noise makes every singular value non-zero, so look for "
        "the drop, not for the zeros."
    )


def _heights(values: FloatArray) -> tuple[list[float], list[tuple[str, float]]]:
    """Places between the powers of ten around the values, and those powers' places.

    >>> _heights(np.array([10.0, 1.0, 0.1, 1e-20]))
    ([1.0, 0.5, 0.01, 0.0], [('10⁻¹', 0.0), ('1', 0.5), ('10', 1.0)])
    """
    known = values[values > ROUNDING * values.max(initial=0)]
    if not known.size:
        return [0.0] * len(values), [("0", 0.0)]
    highest, lowest = int(np.ceil(np.log10(known.max()) - 1e-6)), int(np.floor(np.log10(known.min()) + 1e-6))
    lowest = min(lowest, highest - 1)
    decades = highest - lowest
    placed = np.maximum((np.log10(known) - lowest) / decades, 0.01)
    step = -(-decades // MOST_TICKS)
    ticks = [(_power(power), (power - lowest) / decades) for power in range(lowest, highest + 1, step)]
    return [*np.round(placed, 4).tolist(), *[0.0] * (len(values) - known.size)], ticks


def _power(power: int) -> str:
    return {0: "1", 1: "10"}.get(power, f"10{str(power).translate(_RAISED)}")
