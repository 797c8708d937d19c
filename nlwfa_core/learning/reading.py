"""From a matrix's rows to a model: how a network over them is read, its output layer, and which rows are beginnings of strings."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..hankel.matrix import HankelMatrix
from ..models.nlwfa import NLWFA
from ..strings.words import FloatArray, IntArray, Words
from .progress import MAX_SHOWN


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


def first_strings(hankel: HankelMatrix) -> tuple[IntArray, Words]:
    """The first rows whose prefixes begin strings, and these without boundary symbols."""
    num_symbols = hankel.num_symbols - hankel.num_marks
    begin = (num_symbols + 1,) if hankel.num_marks == 2 else ()
    first = hankel.basis.prefixes.take(np.arange(min(MAX_SHOWN, hankel.num_prefixes)))
    found = {
        row: word[len(begin) :]
        for row, word in enumerate(first)
        if word[: len(begin)] == begin and max(word[len(begin) :], default=0) < num_symbols
    }
    return np.array(list(found), dtype=np.int64), Words.of(found.values())
