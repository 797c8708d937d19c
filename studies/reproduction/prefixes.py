"""Compute word error rates on prefixes of strings with the symbol that followed each, by each of
four possible definitions.

The test files of SPiCe (Balle et al. 2016) hold strings that were cut at a random position, and the
symbol that came next, the target. The published version of the paper does not say which predictions
its word error rates count; the four rates differ by up to 0.1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nlwfa_core.errors import RecipeError
from nlwfa_core.metrics.next_symbols import likeliest
from nlwfa_core.metrics.ranking import END, Prefixes
from nlwfa_core.models.model import Model, scaled_next_scores
from nlwfa_core.strings.trie import Trie
from nlwfa_core.strings.words import FloatArray


@dataclass(frozen=True)
class PrefixScores:
    """Holds word error rates: shares of wrong predictions of the next symbol, which may be the end
    of the string.

    If several symbols share the highest score, one is drawn at random, and the rate is the expected
    share.

    Attributes
    ----------
    target : float
        The rate over the targets: one prediction for each prefix, as in the competition.
    inside : float
        The rate over the symbols of the prefixes, without the targets.
    inside_and_target : float
        The rate over the symbols of the prefixes and the targets.
    whole : float
        The rate over the symbols of the prefixes and an end after each prefix, as if prefixes were
        whole strings. This is the usual `wer`, but the prefixes are not meant for it, because most
        strings did not end there.
    """

    target: float
    inside: float
    inside_and_target: float
    whole: float


def prefix_scores(model: Model, prefixes: Prefixes) -> PrefixScores:
    """Compute a model's four word error rates.

    Raises
    ------
    RecipeError
        If there are no prefixes, all of them are empty, or a target is a symbol that the model does
        not have.
    """
    words = prefixes.words
    targets = prefixes.targets.likeliest
    if not words.offsets[-1]:
        raise RecipeError("prefixes with at least one symbol are needed; got none")
    if targets.max(initial=END) >= model.num_symbols:
        raise RecipeError(
            f"targets must be below the model's number of symbols, {model.num_symbols}; got "
            f"{targets.max()}"
        )
    trie = Trie.of(words, model.num_symbols)
    wrong = 1 - _shares(scaled_next_scores(model, trie)[0])
    # A path has a node for each prefix of a word, from λ to the word itself. Each node but the last
    # is followed by a symbol.
    last = np.zeros(len(trie.paths), dtype=bool)
    last[trie.starts[1:] - 1] = True
    inside = wrong[trie.paths[~last], words.symbols]
    at_target = wrong[trie.ends, targets]  # −1 is the last column, that of the end
    at_end = wrong[trie.ends, -1]
    return PrefixScores(
        target=float(at_target.mean()),
        inside=float(inside.mean()),
        inside_and_target=float(np.concatenate((inside, at_target)).mean()),
        whole=float(np.concatenate((inside, at_end)).mean()),
    )


def _shares(scores: FloatArray) -> FloatArray:
    """Compute the probability with which each symbol is predicted, for each row of scores: equal
    shares for all highest scores.
    """
    shares = np.zeros_like(scores)
    for row, symbols in enumerate(map(likeliest, scores)):
        shares[row, symbols] = 1 / max(len(symbols), 1)
    return shares
