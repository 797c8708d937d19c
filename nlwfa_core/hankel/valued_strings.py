"""Data for learning any function of strings from its values: the strings and values, the Hankel
cells that they fill, and a model's error.

A cell of H is observed if its string is in the data, even if the value is 0. The values of strings
that are not in the data are unknown; in counts, they would have the frequency 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..errors import RecipeError, check_types
from ..strings.sample import Sample
from ..strings.words import Alphabet, FloatArray, Words, check_symbols, distinct, smallest
from .basis import Basis, select_basis
from .estimate import estimate_hankel
from .matrix import HankelMatrix
from .statistics import VALUE


@dataclass(frozen=True, eq=False)
class ValuedStrings:
    """Distinct words, each with the value of an unknown function.

    Attributes
    ----------
    words : Words
    values : array, shape (num_words,)
        Finite numbers of either sign.
    alphabet : Alphabet
    """

    words: Words
    values: FloatArray
    alphabet: Alphabet

    def __post_init__(self) -> None:
        if self.values.shape != (len(self.words),):
            raise RecipeError(
                f"each of the {len(self.words)} words needs one value; got values of shape "
                f"{self.values.shape}"
            )
        if not np.isfinite(self.values).all():
            raise RecipeError(
                f"values must be finite numbers; got {self.values[~np.isfinite(self.values)][0]}"
            )
        check_symbols(self.words, len(self.alphabet))

    @classmethod
    def of(cls, words: Words, values: FloatArray, alphabet: Alphabet) -> ValuedStrings:
        """Merge equal words, which must have equal values.

        >>> strings = ValuedStrings.of(
        ...     Words.of([(0,), (1,), (0,)]), np.array([0.5, -2, 0.5]), Alphabet(("a", "b"))
        ... )
        >>> list(strings.words), strings.values.tolist()
        ([(0,), (1,)], [0.5, -2.0])

        Raises
        ------
        RecipeError
            If a word has two different values, or a value is not finite.
        """
        first, inverse = distinct(words)
        differing = [
            (row, first[inverse[row]])
            for row in np.flatnonzero(values != values[first][inverse])[:1]
        ]
        del inverse
        first = smallest(first)
        merged = cls(words.take(first), values[first], alphabet)
        for row, earlier in differing:
            word = alphabet.decode(words[row])
            raise RecipeError(
                f"string {word!r} must have one value; got {values[earlier]} and {values[row]}"
            )
        return merged

    def take(self, indices: npt.ArrayLike) -> ValuedStrings:
        """Copy the strings at `indices`, in that order."""
        return ValuedStrings(
            self.words.take(indices), self.values[np.asarray(indices)], self.alphabet
        )

    def split(self, sizes: Sequence[int], seed: int) -> list[ValuedStrings]:
        """Draw disjoint random parts of these sizes.

        Raises
        ------
        RecipeError
            If a size is negative, or the sizes sum to more than the number of strings.
        """
        if min(sizes) < 0 or sum(sizes) > len(self.words):
            raise RecipeError(
                f"can't split {len(self.words):,} strings into parts of "
                f"{', '.join(f'{size:,}' for size in sizes)}"
            )
        drawn = np.random.default_rng(seed).permutation(len(self.words))
        bounds = np.cumsum([0, *sizes])
        return [self.take(drawn[start:end]) for start, end in pairwise(bounds.tolist())]

    def basis(self, num_prefixes: int, num_suffixes: int) -> Basis:
        """Select the prefixes and suffixes that occur in the most strings, by `select_basis`."""
        return select_basis(Sample.of(self.words, self.alphabet), num_prefixes, num_suffixes)


def observed_hankel(strings: ValuedStrings, basis: Basis) -> HankelMatrix:
    """Fill the observed cells of H: H[u, v] = f(uv) if uv is one of the strings.

    Returns a matrix with the statistic `VALUE`. The entries that its `matrix` stores, which may be
    0, are the observed cells. The row that all uσ without observed cells share is unknown, not
    zero.

    Raises RecipeError if a string has a symbol that the basis's alphabet lacks, or the index would
    be too large.
    """
    # Each cell belongs to one string. With string i counted i times, the frequency in a cell
    # identifies its string.
    numbered = Sample(strings.words, np.arange(1, len(strings.words) + 1), strings.alphabet)
    counted = estimate_hankel(numbered, basis)
    numbers = np.rint(counted.matrix.data * numbered.num_strings).astype(np.int64)
    cells = (strings.values[numbers - 1], counted.matrix.indices, counted.matrix.indptr)
    return replace(
        counted, matrix=sparse.csr_array(cells, shape=counted.matrix.shape), statistic=VALUE
    )


def observed_transitions(hankel: HankelMatrix, num_cells: int = 1) -> npt.NDArray[np.bool_]:
    """Find the u and σ for which the rows of u and uσ both have at least `num_cells` observed
    cells.

    Returns an array of shape (num_prefixes, num_symbols).
    """
    observed = np.diff(hankel.matrix.indptr) >= num_cells
    both: npt.NDArray[np.bool_] = observed[: hankel.num_prefixes, None] & observed[hankel.shifted]
    return both


@dataclass(frozen=True)
class ValueScores:
    """A model's error on strings with known values.

    Attributes
    ----------
    rmse : float
        The root mean square of f(x) minus the value of x; nan if an output is not finite.
    zero_rmse, mean_rmse : float
        The same error of a model whose outputs are all 0, and of a model whose outputs are all the
        mean of these values.
    num_words, num_nonfinite : int
    """

    rmse: float
    zero_rmse: float
    mean_rmse: float
    num_words: int
    num_nonfinite: int


@check_types
def value_scores(outputs: FloatArray, values: FloatArray) -> ValueScores:
    """Compute the error of a model's outputs, shape (num_words,), on held-out strings.

    >>> value_scores(np.array([1.0, 4.0]), np.array([1.0, 2.0])).rmse
    1.4142135623730951

    Raises
    ------
    RecipeError
        If the shapes differ, or there are no strings.
    """
    if outputs.shape != values.shape or not len(values):
        raise RecipeError(
            "there must be as many outputs as values, and at least one of each; got "
            f"{outputs.size} and {values.size}"
        )
    num_nonfinite = int((~np.isfinite(outputs)).sum())
    rmse = float(np.sqrt(np.mean((outputs - values) ** 2))) if not num_nonfinite else float("nan")
    return ValueScores(
        rmse, float(np.sqrt(np.mean(values**2))), float(values.std()), len(values), num_nonfinite
    )
