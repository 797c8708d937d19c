"""Draw strings from any model according to its next-symbol scores, and measure how far the scores
are from probabilities.

`sources.random_automata.sample_words` draws from probabilistic automata only. The functions here
also accept learned models, whose scores may be negative: they draw strings symbol by symbol from
normalised |scores|, and report the share of negative scores.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .. import limits
from ..errors import check_at_least, check_between, check_types
from ..strings.trie import Trie, chain_weights
from ..strings.words import FloatArray, IntArray, Words
from .model import HasModel, Model, alphabet_of, model_of, next_distributions, scaled_next_scores

# on a page, where somebody waits
MAX_DRAWN = 1000
MAX_DRAWN_LENGTH = 100
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Drawn:
    """Strings drawn from a model: the distinct strings, most frequent first.

    Of equally frequent strings, shorter strings come first, and strings of the same length are in
    alphabetical order.
    """

    words: Words
    counts: IntArray  # (num_words,)
    # (num_words,): the model's weight f(x) of each string, which need not be the probability with
    # which it is drawn
    weights: FloatArray
    # (num_words,): the probability with which each string is drawn: the product of its normalised
    # |scores|, its end included
    chances: FloatArray
    num_strings: int  # the number of strings that were asked for: Σ counts + num_cut + num_stuck
    # num_cut, num_stuck: how many strings were given up because they reached the largest length
    # without an end, and because the scores after a prefix could not be normalised
    num_cut: int
    num_stuck: int
    # the share of negative scores in the sum of |scores|, averaged over all choices of a next
    # symbol
    negative_share: float
    # num_negative, num_choices: the number of choices with at least one negative score, and of all
    # choices
    num_negative: int
    num_choices: int


def next_shares(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compute the probabilities from which next symbols are drawn, and the share of negative
    scores.

    Negative scores that could be rounding errors do not count as negative.

    >>> shares, negative = next_shares(np.array([[0.5, -0.25, 0.25], [0.0, 0.0, 0.0]]))
    >>> shares.tolist(), negative.tolist()
    ([[0.5, 0.25, 0.25], [0.0, 0.0, 0.0]], [0.25, 0.0])

    `scores` (n, num_symbols + 1).

    Returns `shares` (n, num_symbols + 1): |scores| divided by their sum. A row is 0 if all of its
    scores are 0, or if any is not finite. `negative` (n,): the share of negative scores in the sum
    of |scores| of each row.
    """
    shares = next_distributions(scores)
    shares[~np.isfinite(shares).all(axis=1)] = 0.0
    return shares, np.where((scores < 0) & (shares > ROUNDING), shares, 0.0).sum(axis=1)


@check_types
def draw(model: Model | HasModel, num_strings: int, seed: int, max_length: int = 100) -> Drawn:
    """Draw strings symbol by symbol; the same seed draws the same strings.

    The time is proportional to the sum of the squared lengths, because the model computes the
    scores of each prefix starting from λ.

    >>> from nlwfa_core import WFA
    >>> drawn = draw(WFA([1], [[[0.5]]], [0.5]), 5, seed=0)
    >>> list(drawn.words) == list(draw(WFA([1], [[[0.5]]], [0.5]), 5, seed=0).words)
    True

    Raises
    ------
    RecipeError
        If a number is out of range.
    """
    check_between("the number of strings to draw", num_strings, 1, limits.most("generated_strings"))
    check_between("the maximum length", max_length, 1, limits.most("string_length"))
    check_at_least("seed", seed, 0)
    model = model_of(model)
    rng = np.random.default_rng(seed)
    prefixes = np.empty((num_strings, 0), dtype=np.int64)
    # the strings that ended at each length, shape (num_ended, length)
    strings_by_length: list[IntArray] = []
    num_stuck = num_negative = num_choices = 0
    negative = 0.0
    for length in range(max_length + 1):
        trie = Trie.of(_level(prefixes), model.num_symbols)
        shares, negative_parts = (
            part[trie.ends] for part in next_shares(scaled_next_scores(model, trie)[0])
        )
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
        chances=chain_weights(next_shares(scaled_next_scores(model, trie)[0])[0], trie),
        num_strings=num_strings,
        num_cut=len(prefixes),
        num_stuck=num_stuck,
        negative_share=negative / num_choices if num_choices else 0.0,
        num_negative=num_negative,
        num_choices=num_choices,
    )


def _level(rows: IntArray) -> Words:
    """Make words of equal length from the rows of an array."""
    return Words(rows.ravel(), np.arange(len(rows) + 1, dtype=np.int64) * rows.shape[1])


def _distinct(blocks: list[IntArray]) -> tuple[Words, IntArray]:
    """Return the distinct strings and their counts, the most frequent first."""
    parts = [
        np.unique(rows, axis=0, return_counts=True) if rows.shape[1] else (rows[:1], [len(rows)])
        for rows in blocks
    ]
    words = Words.joined([_level(rows) for rows, _ in parts])
    counts = np.concatenate(
        [np.asarray(times, dtype=np.int64)[: len(rows)] for rows, times in parts]
    )
    order = np.argsort(-counts, kind="stable")
    return words.take(order), counts[order]
