"""What the linked lens shows, packed for a browser: a matrix as a picture with exact cells, points of prefixes, their labels.

A picture's pixel is a level, not a colour, so that the page's theme decides how it looks: 0 is blank, 1 … 127 stand for log₁₀ of a
positive entry, 129 … 255 for that of a negative one's magnitude. Arrays travel as base64 of their little-endian bytes.
"""

from __future__ import annotations

import io
from base64 import b64encode
from typing import Any

import numpy as np
from PIL import Image
from scipy import sparse

from ..experiment.recipe import HankelRecipe
from ..hankel.matrix import HankelMatrix, bounded_sample
from ..models.files import LearnedModel
from ..strings.sample import Sample
from ..strings.words import Alphabet, FloatArray, Word, Words
from .approximations import LowRank, Matrix, Shown, part
from .palette import ACCENT, BLUES, MARK, REDS
from .views import Pooled, Projection, labels, pool, prefix_states, project

MAX_PIXELS = 1000  # a side of the picture
MAX_EXACT = 60_000  # cells that travel with the picture: under a megabyte
MAX_WINDOW = 120  # rows and columns that are sent when they are asked for
LEVELS = 127


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


def states(model: LearnedModel, hankel: HankelMatrix, after: Word = ()) -> FloatArray:
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


def basis_payload(hankel: HankelMatrix, alphabet: Alphabet, shown: Shown) -> dict[str, Any]:
    """Labels of rows and columns, and each row's sum."""
    sums = np.asarray(shown.block(hankel).sum(axis=1)).ravel()
    return {
        "prefixes": labels(hankel.basis.prefixes, alphabet, shown.after),
        "suffixes": labels(hankel.basis.suffixes, alphabet),
        "sums": packed(sums, "<f4"),
        "colours": {"positive": BLUES, "negative": REDS, "point": ACCENT, "mark": MARK},
    }


def occurrences(sample: Sample, word: Word, statistic: str) -> int:
    """How often the strings as drawn equal a word, begin with it, or hold it, by the statistic: what a student would count.

    >>> sample = Sample.of(Words.of([(0, 1), (0, 0, 0)]), Alphabet(("a", "b")))
    >>> [occurrences(sample, (0,), statistic) for statistic in ("string", "prefix", "factor")]
    [0, 2, 4]
    """
    words, length = sample.words, len(word)
    if statistic == "factor":
        begins, left = words.places()
        owners = np.repeat(np.arange(len(words)), words.lengths + 1)
    else:
        begins, left, owners = words.offsets[:-1], words.lengths, np.arange(len(words))
    fits = left == length if statistic == "string" else left >= length
    begins, owners = begins[fits], owners[fits]
    for place, symbol in enumerate(word):
        same = words.symbols[begins + place] == symbol
        begins, owners = begins[same], owners[same]
    return int(sample.counts[owners].sum())


COUNTED = {
    "string": "training strings that equal uv",
    "prefix": "training strings that begin with uv",
    "factor": "places in training strings where uv stands",
}


def by_hand(sample: Sample, word: Word, recipe: HankelRecipe) -> str:
    """How the frequency in a cell is counted by hand.

    >>> by_hand(Sample.of(Words.of([(0,), (1,)]), Alphabet(("a", "b"))), (0,), HankelRecipe())
    'training strings that equal uv: 1, of 2: 1 / 2 = 0.5'
    """
    counted = bounded_sample(sample, recipe.statistic) if recipe.bounded else sample
    count, number = occurrences(counted, word, recipe.statistic), sample.num_strings
    divisor = "the frequency of its row's prefix" if recipe.bounded else "the sum of its row as counted"
    then = {"none": "", "sqrt": "; then its square root", "row": f"; then divided by {divisor}"}[recipe.transform]
    return f"{COUNTED[recipe.statistic]}: {count:,}, of {number:,}: {count:,} / {number:,} = {count / number:.6g}{then}"


def packed(values: Any, kind: str) -> str:
    """Base64 of an array's bytes in a numpy type, row by row.

    >>> packed([1, 2], "<u2")
    'AQACAA=='
    """
    return _base64(np.ascontiguousarray(values, dtype=kind).tobytes())


def _base64(data: bytes) -> str:
    return b64encode(data).decode("ascii")


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
