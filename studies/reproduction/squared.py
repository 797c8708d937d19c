"""Measure errors on squared functions: if an automaton f has k states, f² has rank up to k (k + 1)
/ 2, but its root has rank k.

Source: Li, Rabusseau and Precup (2018), section 3.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from nlwfa_core.hankel.basis import Basis
from nlwfa_core.hankel.matrix import exact_hankel
from nlwfa_core.hankel.transforms import transformed
from nlwfa_core.learning.fitting import fit
from nlwfa_core.learning.learners import LEARNERS
from nlwfa_core.learning.spectral import truncated_svd
from nlwfa_core.sources.random_automata import random_automaton
from nlwfa_core.strings.words import FloatArray, Words

NUM_SYMBOLS = 2
BASIS_LENGTH = 4
HELD_OUT_LENGTHS = (10, 14)
NUM_HELD_OUT = 1000
SQUARED_COLUMNS = ("num_states", "rank_h", "rmse", "relative_rmse", "seconds")


def squared_errors(
    seed: int,
    k: int,
    rank: int,
    learner: str,
    transform: str,
    epochs: tuple[int, int] = (3000, 1000),
) -> dict[str, float | int]:
    """Learn f² from its exact Hankel matrix, for a random f ≥ 0 with k states, and measure the
    error.

    The basis has all words of up to 4 symbols; the error is measured on 1,000 random words of 10 to
    13 symbols.

    Parameters
    ----------
    transform : str
        "none" to learn from H; "sqrt" to learn from H^{1/2} and square the model's outputs.

    Returns
    -------
    dict
        `SQUARED_COLUMNS`: the number of states of the model, the numerical rank of the matrix it
        was learned from, the root mean square error, that error divided by the error of a model of
        zeros, and the seconds of learning.
    """
    f = random_automaton(k, NUM_SYMBOLS, seed, density=0.4)

    def square(words: Words) -> FloatArray:
        squares: FloatArray = f.weights(words) ** 2
        return squares

    words = Words.of(
        word
        for length in range(BASIS_LENGTH + 1)
        for word in product(range(NUM_SYMBOLS), repeat=length)
    )
    hankel = transformed(exact_hankel(square, Basis(words, words, NUM_SYMBOLS)), transform)
    options = {"epochs_factorisation": epochs[0], "epochs_transitions": epochs[1], "seed": seed}
    learned = fit(hankel, LEARNERS[learner].adapted(options, rank=rank))
    rng = np.random.default_rng(seed)
    lengths = rng.integers(*HELD_OUT_LENGTHS, size=NUM_HELD_OUT).tolist()
    held_out = Words.of(
        [tuple(rng.integers(0, NUM_SYMBOLS, size=length).tolist()) for length in lengths]
    )
    target = square(held_out)
    rmse = float(np.sqrt(np.mean((learned.model.weights(held_out) - target) ** 2)))
    return {
        "num_states": learned.report.num_states,
        "rank_h": truncated_svd(hankel.block, len(words)).numerical_rank,
        "rmse": rmse,
        "relative_rmse": rmse / float(np.sqrt(np.mean(target**2))),
        "seconds": sum(learned.report.seconds.values()),
    }
