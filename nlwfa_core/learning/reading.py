"""From a matrix's rows to a model: how a network over them is read, and which rows stand for beginnings of strings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..hankel.matrix import HankelMatrix
from ..models.nlwfa import NLWFA
from ..models.reading import Reading, reading_for
from ..strings.words import FloatArray, IntArray, Words
from .progress import MAX_SHOWN, TrainingLog


@dataclass(frozen=True, eq=False)
class Steps:
    """The parameters that the two steps learned, before they become a model.

    Attributes
    ----------
    initial : array, shape (num_states,)
    transitions : tuple of arrays, shapes (num_maps, width_i, width_{i+1})
    decoder : tuple of arrays, shapes (width_i, width_{i+1})
        φ' with its last, linear layer, back to rows of H at their own scale.
    nonlinear : (bool, bool)
        Whether θ is tanh (else the identity) in the transitions, and in the decoder.
    logs : tuple of TrainingLog
    seconds : dict
        Stage -> wall time.
    """

    initial: FloatArray
    transitions: tuple[FloatArray, ...]
    decoder: tuple[FloatArray, ...]
    nonlinear: tuple[bool, bool]
    logs: tuple[TrainingLog, ...]
    seconds: dict[str, float]


def reading_of(hankel: HankelMatrix) -> Reading:
    """How a network over a matrix's rows is read."""
    return reading_for(hankel.transform, hankel.bounded)


def mapped_rows(hankel: HankelMatrix) -> npt.NDArray[np.int32]:
    """The rows uσ to which maps lead from each prefix u: `shifted` of the strings' symbols, and of ⊣ if it has a map."""
    num_symbols = hankel.num_symbols - hankel.num_marks
    return hankel.shifted[:, : num_symbols + reading_of(hankel).has_end_map]


def as_network(
    hankel: HankelMatrix,
    initial: FloatArray,
    transitions: tuple[FloatArray, ...],
    decoder: tuple[FloatArray, ...],
    nonlinear: tuple[bool, bool],
) -> NLWFA:
    """The model over a matrix's rows, read as the matrix was counted and transformed.

    Parameters
    ----------
    decoder : arrays
        φ' with its last layer, which gives rows of the matrix at their own scale.
    nonlinear : (bool, bool)
        Whether θ is tanh in the transitions, and in the decoder.
    """
    reading, num_symbols = reading_of(hankel), hankel.num_symbols - hankel.num_marks
    output = reading.output_layer(decoder[-1], hankel.basis.suffixes, num_symbols, hankel.bounded)
    return NLWFA(initial, transitions, decoder[:-1], output, *nonlinear, reading)


def first_strings(hankel: HankelMatrix) -> tuple[IntArray, Words]:
    """The first rows whose prefixes are beginnings of strings, and these beginnings without boundary symbols."""
    num_symbols = hankel.num_symbols - hankel.num_marks
    begin = (num_symbols + 1,) if hankel.num_marks == 2 else ()
    first = hankel.basis.prefixes.take(np.arange(min(MAX_SHOWN, hankel.num_prefixes)))
    beginnings = {
        row: word[len(begin) :]
        for row, word in enumerate(first)
        if word[: len(begin)] == begin and max(word[len(begin) :], default=0) < num_symbols
    }
    return np.array(list(beginnings), dtype=np.int64), Words.of(beginnings.values())
