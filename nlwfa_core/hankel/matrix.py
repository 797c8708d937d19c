"""Define the Hankel matrix over a basis and its p-closure.

H[u, v] = f(uv), with rows u in the p-closure P' = P ∪ PΣ of the prefixes, and columns v in the
suffixes S (Li, Rabusseau, Precup 2018, §2.2 and §4.3). The *statistic* determines what f is. The
paper uses `string`, the relative frequency of uv as a whole string.

All rows uσ that hold only zeros share one stored row, so the memory is proportional to the
number of other entries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..errors import (
    RecipeError,
    check_between,
    check_fields,
    check_one_of,
    check_type,
    check_types,
    plural,
)
from ..strings.words import Alphabet, FloatArray, IntArray, Words, float64_array
from .basis import Basis
from .statistics import STATISTICS, TRANSFORMS, VALUE

# Two cells of the same string may differ by this share of the largest cell.
SAME_CELL = 1e-9


@dataclass(frozen=True, eq=False)
class HankelMatrix:
    """The matrix H over the p-closure of a basis, estimated from a sample or exact.

    Attributes
    ----------
    basis : Basis
    matrix : sparse array (CSR), shape (num_rows, num_suffixes)
        Rows 0 … |P| − 1 are the prefixes in the order of the basis. They are followed by those rows
        uσ outside P that are not zero and, if there are other rows uσ, by a single row of zeros
        that stands for all of these.
    shifted : array, shape (num_prefixes, num_symbols)
        The number of the row of uσ, for each prefix u and symbol σ.
    num_closure_rows : int
        |P'|, the number of rows that `matrix` would have if zero rows were not shared.
    statistic : str
        What f is: one of `hankel.statistics.STATISTICS`, or `hankel.statistics.VALUE`.
    bounded : bool
        Whether the strings have boundary symbols (see `bounded_sample`). These are part of the
        basis's alphabet.
    transform : str
        The transform of the entries: one of `hankel.statistics.TRANSFORMS`.
    row_weights : array, shape (num_rows,), or None
        The weight of each row when H is factorised; None if all rows have the same weight.

    Raises
    ------
    RecipeError
        If the statistic or the transform is not one of these.

    Examples
    --------
    >>> from nlwfa_core import as_sample, estimate_hankel, select_basis
    >>> sample = as_sample(["ab", "ab", "b", ""])
    >>> hankel = estimate_hankel(sample, select_basis(sample, 2, 2))
    >>> hankel.block.toarray().tolist()  # rows λ and a, columns λ and b
    [[0.25, 0.25], [0.0, 0.5]]
    """

    basis: Basis
    matrix: sparse.csr_array
    shifted: npt.NDArray[np.int32]
    num_closure_rows: int
    statistic: str
    bounded: bool = False
    transform: str = "none"
    row_weights: FloatArray | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        check_one_of("statistic", self.statistic, (*STATISTICS, VALUE))
        check_one_of("transform", self.transform, TRANSFORMS)

    def __repr__(self) -> str:
        """Describe the matrix in a line, with the size of the block H_λ."""
        options = [f"statistic {self.statistic!r}", *(["bounded"] if self.bounded else [])]
        if self.transform != "none":
            options.append(f"transform {self.transform!r}")
        size = f"{self.num_prefixes:,} × {self.num_suffixes:,}"
        symbols = self.alphabet.summary if self.alphabet else plural(self.num_symbols, "symbol")
        entries = f"{self.block.nnz:,} entries that are not 0"
        return f"<HankelMatrix, {size}, {', '.join(options)}, {entries}; {symbols}>"

    @property
    def num_prefixes(self) -> int:
        return len(self.basis.prefixes)

    @property
    def num_suffixes(self) -> int:
        return len(self.basis.suffixes)

    @property
    def num_symbols(self) -> int:
        return self.basis.num_symbols

    @property
    def alphabet(self) -> Alphabet | None:
        """Return the alphabet of the strings, without boundary symbols; None if the basis has
        none.
        """
        alphabet = self.basis.alphabet
        return (
            Alphabet(alphabet.symbols[: len(alphabet) - self.num_marks], alphabet.unknown)
            if alphabet and self.num_marks
            else alphabet
        )

    @property
    def start_row(self) -> int:
        """Return the number of the row whose state is the initial state: the row of λ, or of ⊢ if
        factors of ⊢x⊣ are counted.
        """
        return int(self.shifted[0, -1]) if self.num_marks == 2 else 0

    @property
    def num_marks(self) -> int:
        """Return the number of boundary symbols, which are the last symbols of the basis's
        alphabet: ⊣ and, for factors, ⊢.
        """
        return (2 if self.statistic == "factor" else 1) if self.bounded else 0

    @cached_property
    def block(self) -> sparse.csr_array:
        """H_λ, shape (num_prefixes, num_suffixes)."""
        return self.matrix[: self.num_prefixes]

    @cached_property
    def row_classes(self) -> IntArray:
        """Return the class of each row, shape (num_rows,): equal rows have equal numbers, in order
        of first appearance.

        Many rare prefixes have equal rows: the 5,755 rows of SPiCe 4 (3000 × 300) form only 1,332
        classes. Anything that depends only on the values in a row need be computed only once for
        each class.
        """
        classes: dict[tuple[bytes, bytes], int] = {}
        bounds = pairwise(self.matrix.indptr.tolist())
        rows = (
            (self.matrix.indices[a:b].tobytes(), self.matrix.data[a:b].tobytes()) for a, b in bounds
        )
        return np.array([classes.setdefault(row, len(classes)) for row in rows], dtype=np.int64)

    def symbol_block(self, symbol: int) -> sparse.csr_array:
        """H_σ, shape (num_prefixes, num_suffixes): the rows uσ.

        Raises RecipeError if the symbol is not between 0 and num_symbols − 1.
        """
        check_type("symbol", symbol, int)
        check_between("symbol", symbol, 0, self.shifted.shape[1] - 1)
        return self.matrix[self.shifted[:, symbol]]


@check_types
def exact_hankel(
    weights: Callable[[Words], FloatArray],
    basis: Basis,
    statistic: str = "string",
    bounded: bool = False,
) -> HankelMatrix:
    """Fill H with the values of a known function. It needs |P'| · |S| values, so it is meant for
    small bases and tests.

    >>> basis = Basis(Words.of([(), (0,)]), Words.of([(), (0,)]), 1)
    >>> exact_hankel(lambda words: 0.5**words.lengths, basis).block.toarray().tolist()  # f(aⁿ) = ½ⁿ
    [[1.0, 0.5], [0.5, 0.25]]

    Parameters
    ----------
    weights : callable
        Words -> their values, shape (num_words,), such as a model's method `weights`.
    """
    prefixes = set(basis.prefixes)
    shifted_words = [(*u, symbol) for u in basis.prefixes for symbol in range(basis.num_symbols)]
    boundary = Words.of(word for word in shifted_words if word not in prefixes)
    rows = Words.of([*basis.prefixes, *boundary])
    values = weights(rows.products(basis.suffixes)).reshape(len(rows), len(basis.suffixes))
    index = {word: row for row, word in enumerate(rows)}
    shifted = np.array([index[word] for word in shifted_words], dtype=np.int32).reshape(
        -1, basis.num_symbols
    )
    return HankelMatrix(basis, sparse.csr_array(values), shifted, len(rows), statistic, bounded)


@check_types
def dense_hankel(blocks: npt.ArrayLike, basis: Basis, statistic: str = "string") -> HankelMatrix:
    """Make H from arrays that were computed elsewhere: H_λ, and one H_σ for each symbol.

    `learning.fitting.fit` learns from the result as from any other matrix. scikit-splearn's
    `Hankel.lhankel` is such a list of arrays. If the matrix has finite rank k and H_λ has the same
    rank, SP of rank k recovers the function (Balle et al. 2014).

    >>> basis = Basis.up_to("a", 1, 1)
    >>> hankel = dense_hankel(
    ...     [[[1, 0.5], [0.5, 0.25]], [[0.5, 0.25], [0.25, 0.125]]], basis
    ... )  # f(aⁿ) = ½ⁿ
    >>> hankel.block.toarray().tolist(), hankel.symbol_block(0).toarray().tolist()
    ([[1.0, 0.5], [0.5, 0.25]], [[0.5, 0.25], [0.25, 0.125]])

    Parameters
    ----------
    blocks : array, shape (1 + num_symbols, num_prefixes, num_suffixes)
        H_λ[u, v] = f(uv), then H_σ[u, v] = f(uσv) for each symbol, in the order of the alphabet.
    basis : Basis
        The prefixes and suffixes of the rows and columns.
    statistic : str
        What f is: "string", "prefix", "factor" or "suffix". With all but "string", SP converts its
        model to a model of whole strings.

    Raises
    ------
    RecipeError
        If the shape does not fit the basis, a number is not finite, or the row of a prefix uσ in
        H_λ differs from row u of H_σ.
    """
    check_one_of("statistic", statistic, STATISTICS)
    shape = (1 + basis.num_symbols, len(basis.prefixes), len(basis.suffixes))
    cells = float64_array("blocks", blocks)
    if cells.shape != shape:
        raise RecipeError(
            "blocks must have the shape (1 + num_symbols, num_prefixes, num_suffixes), here "
            f"{shape}; got {cells.shape}"
        )
    if not np.isfinite(cells).all():
        raise RecipeError(f"blocks must hold finite numbers; got {cells[~np.isfinite(cells)][0]}")
    row_of = {word: row for row, word in enumerate(basis.prefixes)}
    shifted = np.empty((len(row_of), basis.num_symbols), dtype=np.int32)
    rows = [*cells[0]]
    most = float(np.abs(cells).max())
    for u, word in enumerate(basis.prefixes):
        for symbol in range(basis.num_symbols):
            row = row_of.get((*word, symbol))
            if row is None:
                row = len(rows)
                rows.append(cells[1 + symbol, u])
            elif np.abs(cells[0, row] - cells[1 + symbol, u]).max() > SAME_CELL * most:
                raise RecipeError(
                    f"row {u} of blocks[{1 + symbol}] and row {row} of blocks[0] belong to "
                    "the same prefix "
                    f"{(*word, symbol)}, so they must be equal"
                )
            shifted[u, symbol] = row
    return HankelMatrix(basis, sparse.csr_array(np.array(rows)), shifted, len(rows), statistic)
