"""Draw strings from any model by its next-symbol scores, and measure how far these are from probabilities.

`sources.automata.sample_words` draws from probabilistic automata only. Here the model is a learned one, whose scores may be
negative: strings are drawn symbol by symbol from normalised |scores|, and the result says how much was negative.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..errors import check_at_least, check_between, check_types
from ..strings.trie import Trie, chain_weights
from ..strings.words import FloatArray, IntArray, Words
from .model import HasModel, Model, alphabet_of, model_of, next_distributions

MAX_DRAWN = 1000
MAX_DRAWN_LENGTH = 100
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Drawn:
    """Strings drawn from a model: the distinct ones, most frequent first; among equals, shorter and earlier ones first.

    Attributes
    ----------
    words : Words
    counts : array, shape (num_words,)
    weights : array, shape (num_words,)
        f(x), which need not be the probability of being drawn.
    chances : array, shape (num_words,)
        The probability of being drawn: the product of normalised |scores|, the end counted.
    num_strings : int
        The number asked for: Σ counts + num_cut + num_stuck.
    num_cut, num_stuck : int
        Strings given up at the maximal length without an end; strings given up because the scores after their prefix could not be
        normalised.
    negative_share : float
        The share of negative scores in the sum of |scores|, in the mean over all choices of a next symbol.
    num_negative, num_choices : int
        Choices with at least one negative score; all choices.
    """

    words: Words
    counts: IntArray
    weights: FloatArray
    chances: FloatArray
    num_strings: int
    num_cut: int
    num_stuck: int
    negative_share: float
    num_negative: int
    num_choices: int


def next_shares(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The probabilities of what follows, from which strings are drawn, and the share of negative scores in each row, shape (n,).

    A row is 0 if all its scores are 0, or one is not finite. A negative score no larger than rounding does not count as negative.

    >>> shares, negative = next_shares(np.array([[0.5, -0.25, 0.25], [0.0, 0.0, 0.0]]))
    >>> shares.tolist(), negative.tolist()
    ([[0.5, 0.25, 0.25], [0.0, 0.0, 0.0]], [0.25, 0.0])
    """
    shares = next_distributions(scores)
    shares[~np.isfinite(shares).all(axis=1)] = 0.0
    return shares, np.where((scores < 0) & (shares > ROUNDING), shares, 0.0).sum(axis=1)


@check_types
def draw(model: Model | HasModel, num_strings: int, seed: int, max_length: int = 100) -> Drawn:
    """Draw strings symbol by symbol; the same seed draws the same strings.

    Takes time proportional to the sum of squared lengths, because a model computes the scores of a prefix from λ on each time.

    Raises
    ------
    RecipeError
        If a number is out of range.
    """
    check_between("the number of strings to draw", num_strings, 1, MAX_DRAWN)
    check_between("the maximum length", max_length, 1, MAX_DRAWN_LENGTH)
    check_at_least("seed", seed, 0)
    model, rng = model_of(model), np.random.default_rng(seed)
    prefixes = np.empty((num_strings, 0), dtype=np.int64)
    strings_by_length: list[IntArray] = []  # the strings that ended at each length, shape (num_ended, length)
    num_stuck = num_negative = num_choices = 0
    negative = 0.0
    for length in range(max_length + 1):
        trie = Trie.of(_level(prefixes), model.num_symbols)
        shares, negative_parts = (part[trie.ends] for part in next_shares(model.next_scores(trie)))
        bounds = np.cumsum(shares, axis=1)
        possible = bounds[:, -1] > 0
        num_choices += int(possible.sum())
        num_negative += int((negative_parts > 0).sum())
        num_stuck += int((~possible).sum())
        negative += float(negative_parts.sum())
        symbols = (bounds <= rng.random(len(prefixes))[:, None] * bounds[:, -1:]).sum(axis=1)
        strings_by_length.append(prefixes[possible & (symbols == model.num_symbols)])
        going_on = possible & (symbols < model.num_symbols)
        prefixes = np.column_stack((prefixes[going_on], symbols[going_on]))
        if not len(prefixes) or length == max_length:
            break
    words, counts = _distinct(strings_by_length)
    words = replace(words, alphabet=alphabet_of(model))
    trie = Trie.of(words, model.num_symbols)
    return Drawn(
        words=words,
        counts=counts,
        weights=model.weights(words),
        chances=chain_weights(next_shares(model.next_scores(trie))[0], trie),
        num_strings=num_strings,
        num_cut=len(prefixes),
        num_stuck=num_stuck,
        negative_share=negative / num_choices if num_choices else 0.0,
        num_negative=num_negative,
        num_choices=num_choices,
    )


def _level(rows: IntArray) -> Words:
    """Make words of the same length from the rows of an array."""
    return Words(rows.ravel(), np.arange(len(rows) + 1, dtype=np.int64) * rows.shape[1])


def _distinct(blocks: list[IntArray]) -> tuple[Words, IntArray]:
    """The distinct strings and their counts, the most frequent first."""
    parts = [np.unique(rows, axis=0, return_counts=True) if rows.shape[1] else (rows[:1], [len(rows)]) for rows in blocks]
    words = Words.joined([_level(rows) for rows, _ in parts])
    counts = np.concatenate([np.asarray(times, dtype=np.int64)[: len(rows)] for rows, times in parts])
    order = np.argsort(-counts, kind="stable")
    return words.take(order), counts[order]
