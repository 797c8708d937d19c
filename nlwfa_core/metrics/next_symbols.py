"""Score predictions of next symbols along test strings: word error rate, bits per symbol, NDCG@5, distance to the truth.

Every logarithm is to base 2. The end of the string counts as a symbol, the last one, unless a score says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..models.model import next_distributions
from ..rounding import RELATIVE_ERROR
from ..strings.trie import Trie
from ..strings.words import FloatArray, IntArray
from .perplexity import check_floor

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class NextSymbolScore:
    """How well a model predicts next symbols along the test strings.

    Attributes
    ----------
    wer : float
        Share of wrong arg max predictions, over every prefix of every string, repeated strings included, the end counted as a
        symbol. If several symbols share the highest score, one of them is drawn at random: this is the expected share.
    wer_without_end : float
        The same over the prefixes that are followed by a symbol, predicting among symbols only.
    share_tied : float
        The share of the predictions of `wer` in which several symbols share the highest score. If all scores are 0, that is every
        symbol.
    bits_per_symbol : float
        Mean −log₂ of the probability of what followed, the end counted; probabilities are |scores| normalised to sum to 1.
        ∞ if something that followed had score 0, nan if a score is not a finite number.
    num_predictions : int
        Prefixes of all strings: total length + number of strings.
    num_impossible : int
        How many of these had score 0 for what followed.
    num_negative : int
        Negative scores among all (distinct prefix, next symbol) pairs.
    ndcg5 : float
        Mean over the same predictions of Σ_{j ≤ 5} p(a_j) / log₂(j + 1), divided by its largest possible value, where a_1, a_2 …
        are the next symbols by descending score, the end included (Balle et al. 2016, SPiCe). For equal scores, the mean over all
        orders. p is the true next-symbol distribution if it is known, else 1 for what followed and 0 for the rest. 1 is best. nan
        if the true model gives a prefix 0.
    next_kl : float or None
        Mean over the same predictions of Σ_a p(a) log₂ (p(a) / q(a)), in bits, p the true next-symbol distribution, q the
        model's, |scores| normalised. ∞ and nan as in `bits_per_symbol`; None if the truth is not known.
    """

    wer: float
    wer_without_end: float
    share_tied: float
    bits_per_symbol: float
    num_predictions: int
    num_impossible: int
    num_negative: int
    ndcg5: float
    next_kl: float | None


def score_next(
    scores: FloatArray, trie: Trie, counts: IntArray, floor: float = 0.0, truth: FloatArray | None = None
) -> NextSymbolScore:
    """Score predictions, given the scores of what follows each prefix, and the strings' counts.

    Parameters
    ----------
    scores : array, shape (num_nodes, num_symbols + 1)
    trie : Trie
    counts : array, shape (num_words,)
    floor : float
    truth : array, shape (num_nodes, num_symbols + 1), optional
        The true probabilities of what follows each prefix; rows sum to 1.
    """
    check_floor(floor)
    begins, ends = trie.prefix_counts(counts), trie.end_counts(counts)
    num_predictions, num_ends = int(begins.sum()), int(ends.sum())
    with np.errstate(invalid="ignore", over="ignore"):
        magnitudes = np.abs(scores)
        ranked, largest = scores, magnitudes.max(axis=1)
        if not np.isfinite(largest).all():
            # A score that is nan predicts nothing: it must not win the arg max.
            ranked = np.where(np.isnan(scores), -np.inf, scores)
            largest = np.where(np.isfinite(magnitudes), magnitudes, 0).max(axis=1)
        tolerance = RELATIVE_ERROR * largest
        likeliest, inner = _highest(ranked, tolerance), _highest(ranked[:, :-1], tolerance)
        if floor:
            probabilities = next_distributions(magnitudes)
            probabilities[np.isnan(magnitudes).any(axis=1)] = 0.0
            magnitudes = np.maximum(probabilities, floor)
        normaliser = magnitudes.sum(axis=1)
    num_likeliest = np.count_nonzero(likeliest, axis=1)
    right = _followed(likeliest, trie, begins, ends) / np.maximum(num_likeliest, 1)
    right_inner = _followed(inner, trie, begins, ends) / np.maximum(np.count_nonzero(inner, axis=1), 1)

    parents, symbols = trie.parent[1:], trie.symbol[1:]
    followed = np.concatenate((magnitudes[parents, symbols], magnitudes[:, -1]))  # score of what followed
    total = np.concatenate((normaliser[parents], normaliser))
    times = np.concatenate((begins[1:], ends))
    observed = times > 0
    followed, total, times = followed[observed], total[observed], times[observed]
    impossible = followed == 0
    if not (np.isfinite(followed).all() and np.isfinite(total).all()):
        bits = float("nan")
    elif impossible.any():
        bits = float("inf")
    else:
        bits = float(times @ (np.log2(total) - np.log2(followed)) / num_predictions)
    return NextSymbolScore(
        wer=float(1 - right.sum() / num_predictions),
        wer_without_end=float(1 - right_inner.sum() / max(num_predictions - num_ends, 1)),
        share_tied=float(begins[num_likeliest > 1].sum() / num_predictions),
        bits_per_symbol=bits,
        num_predictions=num_predictions,
        num_impossible=int(times[impossible].sum()),
        num_negative=int((scores < 0).sum()),
        ndcg5=float(_gains(ranked, tolerance, likeliest, trie, begins, ends, truth).sum() / num_predictions),
        next_kl=None if truth is None else float(begins @ _relative_entropies(truth, magnitudes) / num_predictions),
    )


def _highest(scores: FloatArray, tolerance: FloatArray) -> BoolArray:
    """Which scores of each row equal its highest, within the tolerance; none if all are −∞."""
    highest = scores.max(axis=1)
    guesses: BoolArray = scores >= np.where(np.isneginf(highest), np.inf, highest - tolerance)[:, None]
    return guesses


def likeliest(scores: FloatArray) -> list[int]:
    """The symbols with the highest of some scores, shape (num_symbols + 1,), the end last; several if they are equal.

    >>> likeliest(np.array([0.25, 0.5, 0.5])), likeliest(np.array([0.0, 0.0, 0.0])), likeliest(np.array([np.nan, 0.5, -1.0]))
    ([1, 2], [0, 1, 2], [1])
    """
    finite = np.where(np.isnan(scores), -np.inf, scores)
    tolerance = RELATIVE_ERROR * np.abs(scores[np.isfinite(scores)]).max(initial=0.0)
    return np.flatnonzero(_highest(finite[None], np.array([tolerance]))[0]).tolist()


def _followed(guesses: BoolArray, trie: Trie, begins: IntArray, ends: IntArray) -> IntArray:
    """How often each node is followed by one of its guesses, shape (num_nodes,).

    Parameters
    ----------
    guesses : array of bool, shape (num_nodes, num_symbols + 1) or, without the end, (num_nodes, num_symbols)
    """
    parents = trie.parent[1:]
    times = np.where(guesses[parents, trie.symbol[1:]], begins[1:], 0)
    followed = np.bincount(parents, weights=times, minlength=trie.num_nodes).astype(np.int64)
    return followed + np.where(guesses[:, -1], ends, 0) if guesses.shape[1] > trie.num_symbols else followed


def _gains(
    scores: FloatArray,
    tolerance: FloatArray,
    equal: BoolArray,
    trie: Trie,
    begins: IntArray,
    ends: IntArray,
    truth: FloatArray | None,
    size: int = 5,
) -> FloatArray:
    """NDCG@5 of each node times its predictions, shape (num_nodes,). Equal scores share the discounts of their ranks.

    `equal` are the highest scores of each row.
    """
    size = min(size, scores.shape[1])
    discounts = 1 / np.log2(np.arange(size) + 2)
    summed = np.concatenate(([0.0], np.cumsum(discounts)))
    left, rank, gains = scores.copy(), np.zeros(len(scores), dtype=np.int64), np.zeros(len(scores))
    while True:
        number = np.count_nonzero(equal, axis=1)
        share = (summed[np.minimum(rank + number, size)] - summed[np.minimum(rank, size)]) / np.maximum(number, 1)
        weights = np.einsum("ij,ij->i", equal, truth) if truth is not None else _followed(equal, trie, begins, ends)
        gains += np.where(share > 0, share * weights, 0.0)
        rank += number
        if not (number[rank < size] > 0).any():  # the remaining scores are nan or −∞
            break
        left[equal] = -np.inf
        equal = _highest(left, tolerance)
    return gains if truth is None else begins * gains / (discounts @ -np.sort(-truth, axis=1)[:, :size].T)


def _relative_entropies(truth: FloatArray, magnitudes: FloatArray) -> FloatArray:
    """Σ_a p(a) log₂ (p(a) / q(a)) of each row, q the magnitudes normalised: shape (num_nodes,)."""
    model = next_distributions(magnitudes)  # a row of zeros gives nothing to what follows: ∞, as elsewhere
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(truth == 0, 0.0, truth * (np.log2(truth) - np.log2(model)))
        terms[np.isnan(model).any(axis=1)] = np.nan
    # Only rounding can make them negative (Gibbs' inequality).
    entropies: FloatArray = np.maximum(terms.sum(axis=1), 0.0)
    return entropies
