"""What a Hankel matrix's entries go through before it is factorised. Models undo it when they are read (`nlwfa.READINGS`)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..errors import RecipeError
from ..models.nlwfa import NLWFA
from ..strings.words import FloatArray
from .matrix import HankelMatrix

TRANSFORMS = {
    "none": "as counted (the paper)",
    "sqrt": "square roots; a model's outputs are squared, so none is negative, and small ones weigh more",
    "row": "rows divided by what they begin with: what follows a prefix, given the prefix",
}


def transformed(hankel: HankelMatrix, transform: str) -> HankelMatrix:
    """H with its entries transformed.

    "sqrt": H^{1/2}, element by element (Bailly 2011's quadratic WFA; the Hellinger distance between distributions).
    "row": each row divided by its prefix's own frequency, the λ-column where boundary symbols are counted, else the row's sum.
    Rows then count as often as their prefix was seen; a row that never was says nothing and counts nothing.

    Raises
    ------
    RecipeError
        If the transform is unknown, or takes roots of negative entries.
    """
    if transform not in TRANSFORMS:
        raise RecipeError(f"transform: {transform!r} given, allowed: {', '.join(TRANSFORMS)}")
    if transform == "none":
        return hankel
    if hankel.matrix.data.min(initial=0) < 0:
        raise RecipeError(f"transform: {transform!r} given, but H has negative entries: only 'none' takes those")
    if transform == "sqrt":
        return replace(hankel, matrix=hankel.matrix.sqrt(), transform=transform)
    seen = hankel.matrix[:, [0]].toarray() if hankel.bounded else hankel.matrix.sum(axis=1)
    weights = np.asarray(seen, dtype=np.float64).ravel()
    inverse = np.divide(1.0, weights, out=np.zeros_like(weights), where=weights > 0)
    return replace(
        hankel, matrix=sparse.csr_array(sparse.diags_array(inverse) @ hankel.matrix), transform=transform, row_weights=weights
    )


def reading(hankel: HankelMatrix) -> tuple[str, str]:
    """How a network over a matrix's rows is to be read: its `nlwfa.READINGS` and `nlwfa.LINKS`."""
    if hankel.transform == "row":
        return "conditional", "identity"
    return "boundary" if hankel.bounded else "string", "square" if hankel.transform == "sqrt" else "identity"


def mapped(hankel: HankelMatrix) -> npt.NDArray[np.int32]:
    """The rows that a model's maps lead to: `shifted` of the strings' symbols, and of ⊣ where the reading needs its map."""
    num_symbols = hankel.num_symbols - hankel.num_marks
    return hankel.shifted[:, : num_symbols + (reading(hankel)[0] == "boundary")]


def as_network(
    hankel: HankelMatrix,
    initial: FloatArray,
    transitions: tuple[FloatArray, ...],
    decoder: tuple[FloatArray, ...],
    nonlinear: tuple[bool, bool],
) -> NLWFA:
    """The model of a matrix's rows, to be read as the matrix was counted and transformed.

    Parameters
    ----------
    decoder : arrays
        φ' with its last layer, to rows of the matrix as they are.
    nonlinear : (bool, bool)
        Whether θ is tanh in the transitions, and in the decoder.
    """
    return NLWFA(initial, transitions, decoder[:-1], output_layer(hankel, decoder[-1]), *nonlinear, *reading(hankel))


def output_layer(hankel: HankelMatrix, columns: FloatArray) -> FloatArray:
    """What a model keeps of a factorisation's last layer (see `NLWFA.output`).

    Parameters
    ----------
    columns : array, shape (decoder_width, num_suffixes)
        From the last hidden layer to a row of the matrix.

    Returns
    -------
    array, shape (decoder_width, num_outputs)
    """
    kind, link = reading(hankel)
    if kind == "boundary":
        return columns[:, :1].copy()
    if kind == "string":
        # ‖y D‖² = ‖y R‖² with D Dᵀ = R Rᵀ: squares of all columns from few.
        goes_on = np.linalg.qr(columns.T)[1].T if link == "square" else columns.sum(axis=1, keepdims=True)
        return np.concatenate((columns[:, :1], goes_on), axis=1)
    suffixes = hankel.basis.suffixes
    lengths, num_symbols = suffixes.lengths, hankel.num_symbols - hankel.num_marks
    # Boundary symbols: p(σ | u) stands in the column of σ alone. Else all that goes on with σ is summed; the end is λ.
    chosen = np.flatnonzero(lengths == 1 if hankel.bounded else lengths > 0)
    first = suffixes.symbols[suffixes.offsets[chosen]]
    chosen, first = chosen[first <= num_symbols], first[first <= num_symbols]  # not ⊢
    output = np.zeros((len(columns), num_symbols + 1))
    np.add.at(output.T, first, columns.T[chosen])
    if not hankel.bounded:
        output[:, -1] = columns[:, 0]
    return output
