"""Word error rates on prefixes of strings, each with the symbol that followed it, in the four ways in which they can be read.

The test files of SPiCe (Balle et al. 2016) are strings cut at a random place, and the symbol that came next, the target. The
published version of the paper scores on them without saying how, and the four rates differ by up to a tenth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import RecipeError
from ..metrics.next_symbols import likeliest
from ..metrics.ranking import END, Prefixes
from ..models.model import Model, scaled_next_scores
from ..strings.trie import Trie
from ..strings.words import FloatArray


@dataclass(frozen=True)
class PrefixScores:
    """Word error rates: shares of wrong guesses of the next symbol. A guess is a symbol or the end of the string.

    If several have the same highest score, one is drawn at random, and this is the expected share.

    Attributes
    ----------
    target : float
        Of the targets alone: one prediction for each prefix, as in the competition.
    inside : float
        Of the symbols of the prefixes, without their targets.
    inside_and_target : float
        Of both.
    whole : float
        If prefixes are taken for whole strings: of their symbols, and of an end after each. This is the usual `wer`; it is not what
        the prefixes are for, because most strings went on.
    """

    target: float
    inside: float
    inside_and_target: float
    whole: float


def prefix_scores(model: Model, prefixes: Prefixes) -> PrefixScores:
    """Score a model in the four ways.

    Raises
    ------
    RecipeError
        If there are no prefixes, or they are all empty, or the model does not have the symbol of a target.
    """
    words, targets = prefixes.words, prefixes.targets.likeliest
    if not words.offsets[-1]:
        raise RecipeError("prefixes with at least one symbol are needed; got none")
    if targets.max(initial=END) >= model.num_symbols:
        raise RecipeError(f"targets must be below the model's number of symbols, {model.num_symbols}; got {targets.max()}")
    trie = Trie.of(words, model.num_symbols)
    wrong = 1 - _shares(scaled_next_scores(model, trie)[0])
    # A path has a node for each prefix of a word, from λ to the word itself; all but the last are followed by a symbol of the word.
    last = np.zeros(len(trie.paths), dtype=bool)
    last[trie.starts[1:] - 1] = True
    inside = wrong[trie.paths[~last], words.symbols]
    at_target = wrong[trie.ends, targets]  # −1 is the last column, the end's
    at_end = wrong[trie.ends, -1]
    return PrefixScores(
        target=float(at_target.mean()),
        inside=float(inside.mean()),
        inside_and_target=float(np.concatenate((inside, at_target)).mean()),
        whole=float(np.concatenate((inside, at_end)).mean()),
    )


def _shares(scores: FloatArray) -> FloatArray:
    """How likely each symbol is to be guessed, for each row of scores: shares among those with the highest score."""
    shares = np.zeros_like(scores)
    for row, symbols in enumerate(map(likeliest, scores)):
        shares[row, symbols] = 1 / max(len(symbols), 1)
    return shares
