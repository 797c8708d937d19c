"""Prepare H, Ĥ and H − Ĥ side by side, so the browser can compute Ĥ for each rank by itself.

The factors L = H V and V of the truncated SVD are sent once: Ĥ of rank k is the product of the
first k columns of L and of V, as in `lens.reconstruction`. Of more than MAX_SIDE rows or columns,
only the first MAX_SIDE are sent. They are the most frequent ones, and their entries of Ĥ are the
same as for the whole matrix.

Rows and columns can be ordered by state. A matrix often consists of parts that share no row and no
column, one for each state that is determined by which strings are possible at all, such as the
number of open brackets. If it does not, its rows are grouped by the directions of their rows of L.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from ..hankel.matrix import HankelMatrix
from ..learning.spectral import TruncatedSVD, weighted_rows
from ..strings.words import Alphabet, FloatArray, IntArray
from .lens import MatrixChoice, decades, floor_of, packed
from .palette import BLUES, MARK, REDS
from .string_labels import word_labels
from .walk import group_states

LONGEST_NAME = 3  # characters of a symbol in the title of its block
MAX_SIDE = 100
MOST_GROUPS = 6  # of rows that are grouped by direction
MOSTLY = 0.9  # if one part has a larger share of the rows, a matrix does not fall into parts


@dataclass(frozen=True, eq=False)
class StateOrder:
    """An order of rows and columns in which those of one state are neighbours."""

    rows: IntArray  # rows, columns (num_rows,) and (num_columns,): indices in their new order
    columns: IntArray
    # For each state, the number of its rows and of its columns, and its first row's index. Rows and
    # columns that are 0 come last, and belong to none.
    blocks: tuple[tuple[int, int, int], ...]
    # whether outside of the blocks all entries are 0
    falls_apart: bool


def state_order(block: sparse.csr_array, left: FloatArray) -> StateOrder:
    """Order the rows and columns of a matrix by state.

    `block` (num_rows, num_columns). `left` (num_rows, k): a vector for each row: rows whose vectors
    have the same direction have the same state.

    >>> order = state_order(
    ...     sparse.csr_array(np.array([[0, 2.0], [3, 0], [0, 1], [0, 0]])), np.eye(4)
    ... )
    >>> order.rows.tolist(), order.columns.tolist(), order.blocks
    ([0, 2, 1, 3], [1, 0], ((2, 1, 0), (1, 1, 1)))
    """
    num_rows, num_columns = block.shape
    cells = block.tocoo()
    filled = cells.data != 0
    rows, columns = (index[filled] for index in cells.coords)
    size = num_rows + num_columns
    links = sparse.coo_array((np.ones(len(rows)), (rows, num_rows + columns)), shape=(size, size))
    part = connected_components(links, directed=False)[1]
    row_part = part[:num_rows].astype(np.int64)
    column_part = part[num_rows:].astype(np.int64)
    empty_rows = ~np.isin(np.arange(num_rows), rows)
    empty_columns = ~np.isin(np.arange(num_columns), columns)
    row_part[empty_rows], column_part[empty_columns] = -1, -1
    sizes = np.bincount(row_part[~empty_rows]) if len(rows) else np.zeros(0)
    falls_apart = int((sizes > 0).sum()) > 1
    if len(rows) and sizes.max() > MOSTLY * (~empty_rows).sum() and left[~empty_rows].any():
        falls_apart = False
        groups = group_states(left, min(MOST_GROUPS, left.shape[1]), unit_length=True)
        row_part = np.where(empty_rows, -1, groups.nearest(left))
        mass = np.zeros((len(groups.centres), num_columns))
        np.add.at(mass, (row_part[rows], columns), np.abs(cells.data[filled]))
        column_part = np.where(empty_columns, -1, mass.argmax(axis=0))
    firsts = {
        name: int(np.flatnonzero(row_part == name)[0])
        for name in sorted(set(row_part.tolist()) - {-1})
    }
    names = sorted(firsts, key=lambda name: firsts[name])
    rank = {name: number for number, name in enumerate(names)} | {-1: len(names)}
    row_rank, column_rank = (
        np.array([rank.get(name, len(names)) for name in own.tolist()])
        for own in (row_part, column_part)
    )
    blocks = tuple(
        (int((row_rank == number).sum()), int((column_rank == number).sum()), firsts[name])
        for number, name in enumerate(names)
    )
    return StateOrder(
        np.argsort(row_rank, kind="stable"),
        np.argsort(column_rank, kind="stable"),
        blocks,
        falls_apart,
    )


def equal_words(
    hankel: HankelMatrix, num_rows: int, num_columns: int, choice: MatrixChoice
) -> IntArray:
    """Number the strings uv (or uσv) of the first cells: equal strings have equal numbers, shape
    (num_rows, num_columns).
    """
    prefixes = hankel.basis.prefixes
    suffixes = hankel.basis.suffixes
    number: dict[tuple[int, ...], int] = {}
    beginnings = [prefixes[row] + choice.after for row in range(num_rows)]
    ends = [suffixes[column] for column in range(num_columns)]
    return np.array(
        [[number.setdefault(u + v, len(number)) for v in ends] for u in beginnings]
    ).reshape(num_rows, num_columns)


def relative_errors(
    block: sparse.csr_array, left: FloatArray, weights: FloatArray | None = None
) -> FloatArray:
    """Compute ‖H − Ĥ‖ / ‖H‖ for rank 1, 2, …, shape (k,), from left = H V with orthonormal columns
    in V; nan if H is 0.

    If rows have weights, shape (num_rows,), both norms are weighted, as in `lens.relative_error`.
    """
    if weights is not None:
        block = weighted_rows(block, weights)
        left = np.sqrt(weights)[:, None] * left
    whole = float((block.data**2).sum())
    if not whole:
        return np.full(left.shape[1], np.nan)
    errors: FloatArray = np.sqrt(np.maximum(0.0, 1 - np.cumsum((left**2).sum(axis=0)) / whole))
    return errors


def _block_name(alphabet: Alphabet, symbol: int) -> str:
    name = "λ" if symbol < 0 else alphabet.symbols[symbol]
    return name if len(name) <= LONGEST_NAME else "σ"


def panels_payload(
    hankel: HankelMatrix, svd: TruncatedSVD, alphabet: Alphabet, choice: MatrixChoice
) -> dict[str, Any]:
    """Make the payload of the three panels H, Ĥ and H − Ĥ for a block of H.

    Returns "cells": the first rows and columns of the block, row by row; "left" and "right": the
    factors H V and V of Ĥ, row by row; "most": their number of columns, which is the highest rank;
    "errors": ‖H − Ĥ‖ / ‖H‖ of the whole block for each rank; "weighted": whether these norms weight
    the rows, as the decomposition does; "words": for each cell, the number of its string uv; equal
    strings have equal numbers; "order": the order by state; "name": the index of the block in H_λ
    or H_b; "scale": the powers of ten between which entries of H and Ĥ are coloured; "largest": the
    largest |entry| of H, where the scale of H − Ĥ ends; labels and colours.
    """
    block = choice.block(hankel)
    num_rows, num_columns = (min(MAX_SIDE, size) for size in block.shape)
    left = block @ svd.right
    errors = relative_errors(block, left, choice.weights(hankel)).tolist()
    part = sparse.csr_array(block[:num_rows][:, :num_columns])
    order = state_order(part, left[:num_rows])
    floor = floor_of(block)
    sizes = np.abs(block.data[block.data != 0])
    low, high = decades(sizes, floor)
    labels = word_labels(hankel.basis.prefixes, alphabet, choice.after)[:num_rows]
    return {
        "name": _block_name(alphabet, choice.symbol),
        "shape": [num_rows, num_columns],
        "whole": list(block.shape),
        "prefixes": labels,
        "suffixes": word_labels(hankel.basis.suffixes, alphabet)[:num_columns],
        "separator": alphabet.separator,
        "cells": packed(part.toarray(), "<f8"),
        "left": packed(left[:num_rows], "<f8"),
        "right": packed(svd.right[:num_columns], "<f8"),
        "most": int(svd.right.shape[1]),
        "errors": [float(f"{error:.6g}") if np.isfinite(error) else None for error in errors],
        "weighted": hankel.row_weights is not None,
        "words": packed(equal_words(hankel, num_rows, num_columns, choice), "<u2"),
        "order": {
            "rows": order.rows.tolist(),
            "columns": order.columns.tolist(),
            "blocks": [
                {"rows": rows, "columns": columns, "name": labels[first]}
                for rows, columns, first in order.blocks
            ],
            "fallsApart": order.falls_apart,
        },
        "scale": [low, high],
        "largest": float(sizes.max(initial=0.0)),
        "floor": floor,
        "colours": {"positive": BLUES, "negative": REDS, "mark": MARK},
    }
