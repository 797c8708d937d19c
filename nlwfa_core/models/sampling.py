"""Strings drawn from any model by its next-symbol scores, and how far these are from being probabilities.

For true automata, whose scores are probabilities, there is `sources.automata.sample_words`, which refuses others. This one draws
from what was learned: symbol by symbol, with |scores| normalised, as everywhere in this library, and counts what that hides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import RecipeError
from ..strings.trie import Trie, chain_weights
from ..strings.words import FloatArray, IntArray, Words
from .model import Model, next_distributions

MAX_DRAWN = 1000
MAX_DRAWN_LENGTH = 100
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Drawn:
    """What was drawn: the distinct strings, most frequent first, shorter and earlier ones first among equals.

    Attributes
    ----------
    words : Words
    counts : array, shape (num_words,)
    weights : array, shape (num_words,)
        f(x), which need not be the probability of being drawn.
    chances : array, shape (num_words,)
        The probability of being drawn: the product of normalised |scores|, the end counted.
    num_strings : int
        As many as were asked for: Σ counts + num_cut + num_stuck.
    num_cut, num_stuck : int
        Strings that reached the maximal length without an end; strings after whose prefix no score could be normalised.
    negative_share : float
        Share of |scores| met on the way that belonged to negative ones, each prefix as often as a string passed it.
    num_negative, num_choices : int
        Choices where at least one score was negative; all choices.
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


def draw(model: Model, num_strings: int, seed: int, max_length: int = 100) -> Drawn:
    """Draw strings symbol by symbol; the same seed draws the same strings.

    Costs the sum of squared lengths: a model is asked for the scores of a prefix, whatever it is, and begins at λ each time.

    Raises
    ------
    RecipeError
        If a number is out of range.
    """
    for name, number, smallest, largest in (
        ("strings to draw", num_strings, 1, MAX_DRAWN),
        ("maximal length", max_length, 1, MAX_DRAWN_LENGTH),
    ):
        if not smallest <= number <= largest:
            raise RecipeError(f"{name}: {number} given, allowed are {smallest:,} … {largest:,}")
    rng = np.random.default_rng(seed)
    prefixes = np.empty((num_strings, 0), dtype=np.int64)
    finished: list[IntArray] = []  # of each length, the strings that ended, shape (some, length)
    num_stuck = num_negative = num_choices = 0
    negative = 0.0
    for length in range(max_length + 1):
        trie = Trie.of(_level(prefixes), model.num_symbols)
        shares, below = (part[trie.ends] for part in next_shares(model.next_scores(trie)))
        bounds = np.cumsum(shares, axis=1)
        possible = bounds[:, -1] > 0
        num_choices += int(possible.sum())
        num_negative += int((below > 0).sum())
        num_stuck += int((~possible).sum())
        negative += float(below.sum())
        drawn = (bounds <= rng.random(len(prefixes))[:, None] * bounds[:, -1:]).sum(axis=1)
        finished.append(prefixes[possible & (drawn == model.num_symbols)])
        going_on = possible & (drawn < model.num_symbols)
        prefixes = np.column_stack((prefixes[going_on], drawn[going_on]))
        if not len(prefixes) or length == max_length:
            break
    return _counted(model, finished, num_strings, len(prefixes), num_stuck, negative, num_negative, num_choices)


def _level(rows: IntArray) -> Words:
    """Words of one length, a row each."""
    return Words(rows.ravel(), np.arange(len(rows) + 1, dtype=np.int64) * rows.shape[1])


def _counted(
    model: Model, finished: list[IntArray], num_strings: int, cut: int, stuck: int, negative: float, negatives: int, choices: int
) -> Drawn:
    parts = [np.unique(rows, axis=0, return_counts=True) if rows.shape[1] else (rows[:1], [len(rows)]) for rows in finished]
    words = Words.joined([_level(rows) for rows, _ in parts])
    counts = np.concatenate([np.asarray(times, dtype=np.int64)[: len(rows)] for rows, times in parts])
    order = np.argsort(-counts, kind="stable")
    words, counts = words.take(order), counts[order]
    trie = Trie.of(words, model.num_symbols)
    chances = chain_weights(next_shares(model.next_scores(trie))[0], trie)
    share = negative / choices if choices else 0.0
    return Drawn(words, counts, model.weights(words), chances, num_strings, cut, stuck, share, negatives, choices)
