"""Build a model from networks that were trained on the rows of a Hankel matrix.

The statistic and the transform of the matrix determine what a network's outputs mean, and which
rows stand for prefixes of strings. α₀ = φ(H_λ), the code of the row of λ, comes from `two_steps`;
the column of λ in φ′, which gives a string its value, is chosen by `models.reading`.
"""

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
    """The parameters that steps 1 and 2 learned, from which a model is built."""

    initial: FloatArray  # (num_states,)
    transitions: tuple[FloatArray, ...]  # (num_maps, width_i, width_{i+1})
    # (width_i, width_{i+1}): the layers of φ', which computes a row of H, unscaled, from a state.
    # The last layer is linear.
    decoder: tuple[FloatArray, ...]
    # whether θ is tanh in the transitions, and in the decoder; otherwise it is the identity
    nonlinear: tuple[bool, bool]
    logs: tuple[TrainingLog, ...]
    seconds: dict[str, float]  # stage -> its wall time


def reading_of(hankel: HankelMatrix) -> Reading:
    """Choose how the outputs of a network that computes rows of this matrix are read."""
    return reading_for(hankel.transform, hankel.bounded)


def mapped_rows(hankel: HankelMatrix) -> npt.NDArray[np.int32]:
    """Find the rows uσ to which maps lead: the columns of `shifted` for the strings' symbols, and
    for ⊣ if it has a map.

    Returns an array of shape (num_prefixes, num_maps).
    """
    num_symbols = hankel.num_symbols - hankel.num_marks
    return hankel.shifted[:, : num_symbols + reading_of(hankel).has_end_map]


def as_network(
    hankel: HankelMatrix,
    initial: FloatArray,
    transitions: tuple[FloatArray, ...],
    decoder: tuple[FloatArray, ...],
    nonlinear: tuple[bool, bool],
) -> NLWFA:
    """Build an NL-WFA from the parameters in `Steps`, which has the same fields as this function
    has parameters.

    The statistic and the transform of the matrix determine how its outputs are read.
    """
    reading = reading_of(hankel)
    num_symbols = hankel.num_symbols - hankel.num_marks
    output = reading.output_layer(decoder[-1], hankel.basis.suffixes, num_symbols, hankel.bounded)
    return NLWFA(initial, transitions, decoder[:-1], output, *nonlinear, reading)


def first_strings(hankel: HankelMatrix) -> tuple[IntArray, Words]:
    """Select the rows, among the first MAX_SHOWN, whose words are prefixes of strings.

    Returns `rows` (n,). `beginnings`: the prefix of each row, without boundary symbols.
    """
    num_symbols = hankel.num_symbols - hankel.num_marks
    begin = (num_symbols + 1,) if hankel.num_marks == 2 else ()
    first = hankel.basis.prefixes.take(np.arange(min(MAX_SHOWN, hankel.num_prefixes)))
    beginnings = {
        row: word[len(begin) :]
        for row, word in enumerate(first)
        if word[: len(begin)] == begin and max(word[len(begin) :], default=0) < num_symbols
    }
    return np.array(list(beginnings), dtype=np.int64), Words.of(beginnings.values())
