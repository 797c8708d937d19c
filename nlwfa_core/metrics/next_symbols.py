"""Score predictions of next symbols along test strings: word error rate, bits per symbol, NDCG@5,
distance to the truth.

`score_next` scores all strings together, and `score_next_by_string` computes what each string
contributes. Every logarithm is to base 2. Unless stated otherwise, the end of the string counts as
a symbol, which has the largest number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..models.model import next_distributions
from ..rounding import RELATIVE_ERROR
from ..strings.trie import Trie
from ..strings.words import FloatArray, IntArray
from .pautomac_score import check_floor

BoolArray = npt.NDArray[np.bool_]
TOP = 5  # ranks that NDCG@5 counts


@dataclass(frozen=True)
class NextSymbolScore:
    """The scores of a model's predictions of next symbols along the test strings.

    Attributes
    ----------
    wer : float
        The word error rate: the share of predictions that are wrong if the symbol with the highest
        score is predicted. There is one prediction for each prefix of each string, repeated strings
        included, and the end of the string counts as a symbol. If several symbols share the highest
        score, one of them is drawn at random, and this is the expected share.

        Like all scores here, it is nan if any next-symbol score is nan or infinite, because there
        is then no highest score.
    wer_without_end : float
        The word error rate over those prefixes that are followed by a symbol, if only symbols are
        predicted and never the end. nan if all strings are empty.
    share_tied : float
        The share of the predictions of `wer` in which several symbols share the highest score. If
        all scores are 0, all symbols share it.
    bits_per_symbol : float
        The mean of −log₂ of the probability of what followed, over the predictions of `wer`.
        Probabilities are |scores| divided by their sum. ∞ if a symbol that followed, or the end,
        has the score 0.
    bits_without_end : float
        The same over those prefixes that are followed by a symbol, with probabilities of symbols
        alone: |scores| divided by their sum, not counting the end. nan if all strings are empty.
    num_predictions : int
        The number of prefixes of all strings, which is the total length plus the number of strings.
    num_impossible : int
        The number of predictions that give the score 0 to what followed.
    num_negative, num_nonfinite : int
        The number of negative scores, and of scores that are not finite numbers, over all pairs of
        a distinct prefix and a next symbol.
    ndcg5 : float
        The mean, over the predictions of `wer`, of Σ_{j ≤ 5} p(a_j) / log₂(j + 1) divided by its
        largest possible value. Here a_1, a_2 … are the next symbols in descending order of score,
        the end included, and p is 1 for what followed and 0 for the rest (Balle et al. 2016,
        SPiCe). If scores are equal, it is the mean over all orders of their symbols. 1 is best.
    ndcg5_true : float or None
        The same with the true next-symbol distribution as p. nan if the true model gives a prefix
        the probability 0; None if the truth is not known.
    next_kl : float or None
        The mean, over the predictions of `wer`, of Σ_a p(a) log₂ (p(a) / q(a)) in bits, where p is
        the true next-symbol distribution, and q the model's: |scores| divided by their sum. ∞ and
        nan as in `bits_per_symbol`; None if the truth is not known.
    """

    wer: float
    wer_without_end: float
    share_tied: float
    bits_per_symbol: float
    bits_without_end: float
    num_predictions: int
    num_impossible: int
    num_negative: int
    num_nonfinite: int
    ndcg5: float
    ndcg5_true: float | None
    next_kl: float | None


def score_next(
    scores: FloatArray,
    trie: Trie,
    counts: IntArray,
    floor: float = 0.0,
    truth: FloatArray | None = None,
) -> NextSymbolScore:
    """Score a model's predictions along all strings.

    Parameters
    ----------
    scores : array, shape (num_nodes, num_symbols + 1)
        The model's score of each symbol, and last of the end, after each prefix.
    trie : Trie
        The prefix tree of the strings.
    counts : array, shape (num_words,)
        How often each string occurs.
    floor : float
        Probabilities of next symbols below the floor are raised to it, and normalised again; 0
        changes nothing.
    truth : array, shape (num_nodes, num_symbols + 1), optional
        The true probabilities of what follows each prefix; rows sum to 1.
    """
    begins = trie.prefix_counts(counts)
    ends = trie.end_counts(counts)
    num_predictions = int(begins.sum())
    num_ends = int(ends.sum())
    guesses = _Guesses.of(scores, floor)
    magnitudes = guesses.magnitudes
    normaliser = guesses.normaliser
    likeliest = guesses.likeliest
    inner = guesses.inner
    num_likeliest = np.count_nonzero(likeliest, axis=1)
    right = _followed(likeliest, trie, begins, ends) / np.maximum(num_likeliest, 1)
    right_inner = _followed(inner, trie, begins, ends) / np.maximum(
        np.count_nonzero(inner, axis=1), 1
    )

    bits, num_impossible = _total_bits(magnitudes, normaliser, trie, counts)
    num_symbols = num_predictions - num_ends
    num_nonfinite = int((~np.isfinite(scores)).sum())
    if num_nonfinite:
        return NextSymbolScore(
            wer=math.nan,
            wer_without_end=math.nan,
            share_tied=math.nan,
            bits_per_symbol=math.nan,
            bits_without_end=math.nan,
            num_predictions=num_predictions,
            num_impossible=num_impossible,
            num_negative=int((scores < 0).sum()),
            num_nonfinite=num_nonfinite,
            ndcg5=math.nan,
            ndcg5_true=None if truth is None else math.nan,
            next_kl=None if truth is None else math.nan,
        )
    true_gains = None
    if truth is not None:
        gains, largest = _true_gains(guesses, truth)
        true_gains = begins * gains / largest
    return NextSymbolScore(
        wer=float(1 - right.sum() / num_predictions),
        wer_without_end=float(1 - right_inner.sum() / num_symbols) if num_symbols else math.nan,
        share_tied=float(begins[num_likeliest > 1].sum() / num_predictions),
        bits_per_symbol=bits / num_predictions,
        bits_without_end=_total_inner_bits(magnitudes, trie, begins) / num_symbols
        if num_symbols
        else math.nan,
        num_predictions=num_predictions,
        num_impossible=num_impossible,
        num_negative=int((scores < 0).sum()),
        num_nonfinite=0,
        ndcg5=float(_gains(guesses, trie, begins, ends).sum() / num_predictions),
        ndcg5_true=None if true_gains is None else float(true_gains.sum() / num_predictions),
        next_kl=None
        if truth is None
        else float(begins @ _relative_entropies(truth, magnitudes) / num_predictions),
    )


def total_bits(scores: FloatArray, trie: Trie, counts: IntArray) -> float:
    """Compute only the sum from which the mean `NextSymbolScore.bits_per_symbol` is computed (see
    `score_next`).
    """
    magnitudes = np.abs(scores)
    return _total_bits(magnitudes, magnitudes.sum(axis=1), trie, counts)[0]


def _total_bits(
    magnitudes: FloatArray, normaliser: FloatArray, trie: Trie, counts: IntArray
) -> tuple[float, int]:
    """Add up −log₂ of the probabilities of what followed, and count how often that has the score 0.

    `magnitudes` and `normaliser` (num_nodes, num_symbols + 1) and (num_nodes,): as in `_Guesses`.
    """
    begins = trie.prefix_counts(counts)
    ends = trie.end_counts(counts)
    parents = trie.parent[1:]
    symbols = trie.symbol[1:]
    # score of what followed
    followed = np.concatenate((magnitudes[parents, symbols], magnitudes[:, -1]))
    total = np.concatenate((normaliser[parents], normaliser))
    return _bits(followed, total, np.concatenate((begins[1:], ends)))


def _total_inner_bits(magnitudes: FloatArray, trie: Trie, begins: IntArray) -> float:
    """Add up −log₂ of the probabilities of the symbols that followed, among symbols alone."""
    parents = trie.parent[1:]
    followed = magnitudes[parents, trie.symbol[1:]]
    return _bits(followed, magnitudes[:, :-1].sum(axis=1)[parents], begins[1:])[0]


def _bits(followed: FloatArray, total: FloatArray, times: IntArray) -> tuple[float, int]:
    """Add up −log₂ (followed / total), each `times` times, and count how often `followed` is 0."""
    observed = times > 0
    followed = followed[observed]
    total = total[observed]
    times = times[observed]
    impossible = followed == 0
    if not (np.isfinite(followed).all() and np.isfinite(total).all()):
        bits = float("nan")
    elif impossible.any():
        bits = float("inf")
    else:
        bits = float(times @ (np.log2(total) - np.log2(followed)))
    return bits, int(times[impossible].sum())


@dataclass(frozen=True, eq=False)
class NextSymbolsByString:
    """The contributions of each string to next-symbol scores: sums over its prefixes. All arrays
    have the shape (num_words,).

    For strings with counts c, `NextSymbolScore.bits_per_symbol` is (c @ bits) / (c @
    num_predictions), and so on.
    """

    num_predictions: FloatArray  # the length of the string, plus 1 for its end
    # right, right_without_end: the expected number of correct predictions, with the end as a symbol
    # and without it
    right: FloatArray
    right_without_end: FloatArray
    # the sums of −log₂ of the probabilities of what followed, with the end as a symbol and without
    # it; ∞ if one of them is 0
    bits: FloatArray
    bits_without_end: FloatArray
    gains: FloatArray  # the sum of NDCG@5 against what followed
    impossible: FloatArray  # how often what followed has the score 0
    # true_gains, next_kl: the sums of NDCG@5 against the true next-symbol distributions, and of the
    # divergence from them; None if these are not known
    true_gains: FloatArray | None
    next_kl: FloatArray | None


def score_next_by_string(
    scores: FloatArray, trie: Trie, floor: float = 0.0, truth: FloatArray | None = None
) -> NextSymbolsByString:
    """Compute the contribution of each word of the tree to the scores of `score_next`, which
    explains the parameters.
    """
    guesses = _Guesses.of(scores, floor)
    parents = trie.parent[1:]
    symbols = trie.symbol[1:]
    share = guesses.likeliest / np.maximum(np.count_nonzero(guesses.likeliest, axis=1), 1)[:, None]
    share_inner = guesses.inner / np.maximum(np.count_nonzero(guesses.inner, axis=1), 1)[:, None]
    gains = np.zeros(scores.shape)  # of each symbol, if it is what follows
    for equal, discount in guesses.groups:
        gains += np.where(equal & (discount > 0)[:, None], discount[:, None], 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        bits = np.log2(guesses.normaliser)[:, None] - np.log2(guesses.magnitudes)
        inner = guesses.magnitudes[:, :-1]
        bits_inner = np.log2(inner.sum(axis=1))[:, None] - np.log2(inner)
    bits[guesses.magnitudes == 0] = np.inf
    bits_inner[inner == 0] = np.inf
    # added to what is not defined at a node
    undefined = np.where(np.isfinite(scores).all(axis=1), 0.0, np.nan)
    for values in (share, share_inner, gains, bits, bits_inner):
        values += undefined[:, None]

    def along(followed: FloatArray, end: bool = True) -> FloatArray:
        """Sum, along each string, the values of the symbols that follow its prefixes, of shape
        (num_nodes, num_next).
        """
        at_nodes = np.concatenate(([0.0], followed[parents, symbols]))
        return _path_sums(at_nodes, trie) + (followed[trie.ends, -1] if end else 0.0)

    true_gains = None
    if truth is not None:
        gain, largest = _true_gains(guesses, truth)
        true_gains = _path_sums(gain / largest + undefined, trie)
    return NextSymbolsByString(
        num_predictions=np.diff(trie.starts).astype(np.float64),
        right=along(share),
        right_without_end=along(share_inner, end=False),
        bits=along(bits),
        bits_without_end=along(bits_inner, end=False),
        gains=along(gains),
        impossible=along(guesses.magnitudes == 0),
        true_gains=true_gains,
        next_kl=None
        if truth is None
        else _path_sums(_relative_entropies(truth, guesses.magnitudes) + undefined, trie),
    )


def _path_sums(at_nodes: FloatArray, trie: Trie) -> FloatArray:
    """Sum the nodes' values along each word, from λ to the whole word: shape (num_words,)."""
    sums: FloatArray = np.add.reduceat(at_nodes[trie.paths], trie.starts[:-1])
    return sums


@dataclass(frozen=True, eq=False)
class _Guesses:
    """A model's predictions after each prefix."""

    # (num_nodes, num_symbols + 1): the scores, with −∞ in place of nan, so a score of nan is
    # never the highest
    ranked: FloatArray
    tolerance: FloatArray  # (num_nodes,): scores that differ by less than this count as equal
    likeliest: BoolArray  # (num_nodes, num_symbols + 1): which symbols have the highest score
    # (num_nodes, num_symbols): which symbols have the highest score if the end is left out
    inner: BoolArray
    # (num_nodes, num_symbols + 1): |scores|. With a floor, they are normalised and then raised to
    # the floor.
    magnitudes: FloatArray
    normaliser: FloatArray  # (num_nodes,): the sum of each row of `magnitudes`

    @classmethod
    def of(cls, scores: FloatArray, floor: float) -> _Guesses:
        check_floor(floor)
        with np.errstate(invalid="ignore", over="ignore"):
            magnitudes = np.abs(scores)
            ranked = scores
            largest = magnitudes.max(axis=1)
            if not np.isfinite(largest).all():
                ranked = np.where(np.isnan(scores), -np.inf, scores)
                largest = np.where(np.isfinite(magnitudes), magnitudes, 0).max(axis=1)
            tolerance = RELATIVE_ERROR * largest
            likeliest = highest(ranked, tolerance)
            inner = highest(ranked[:, :-1], tolerance)
            if floor:
                probabilities = next_distributions(magnitudes)
                probabilities[np.isnan(magnitudes).any(axis=1)] = 0.0
                magnitudes = np.maximum(probabilities, floor)
            return cls(ranked, tolerance, likeliest, inner, magnitudes, magnitudes.sum(axis=1))

    @cached_property
    def groups(self) -> tuple[tuple[BoolArray, FloatArray], ...]:
        """Group the symbols of each node by equal score, in descending order of score, with their
        discounts in NDCG@5.

        Symbols with equal scores share the discounts of the ranks that they occupy; ranks beyond
        the fifth have the discount 0.

        Returns for each group which symbols belong to it, (num_nodes, num_symbols + 1), and the
        discount of each of these symbols, (num_nodes,).
        """
        size = min(TOP, self.ranked.shape[1])
        summed = np.concatenate(([0.0], np.cumsum(discounts(size))))
        left = self.ranked.copy()
        equal = self.likeliest
        rank = np.zeros(len(self.ranked), dtype=np.int64)
        groups = []
        while True:
            number = np.count_nonzero(equal, axis=1)
            share = (
                summed[np.minimum(rank + number, size)] - summed[np.minimum(rank, size)]
            ) / np.maximum(number, 1)
            groups.append((equal, share))
            rank += number
            if not (number[rank < size] > 0).any():  # the remaining scores are nan or −∞
                return tuple(groups)
            left[equal] = -np.inf
            equal = highest(left, self.tolerance)


def discounts(size: int) -> FloatArray:
    """Compute what a symbol at each of the first ranks adds to NDCG@5, 1 / log₂(rank + 1), shape
    (size,).
    """
    gains: FloatArray = 1 / np.log2(np.arange(size) + 2)
    return gains


def highest(scores: FloatArray, tolerance: FloatArray) -> BoolArray:
    """Mark the scores of each row that equal its highest score, within the tolerance; none if all
    are −∞.
    """
    largest = scores.max(axis=1)
    guesses: BoolArray = (
        scores >= np.where(np.isneginf(largest), np.inf, largest - tolerance)[:, None]
    )
    return guesses


def likeliest(scores: FloatArray) -> list[int]:
    """List the symbols that share the highest score. `scores` has the shape (num_symbols + 1,); the
    end comes last.

    >>> (
    ...     likeliest(np.array([0.25, 0.5, 0.5])),
    ...     likeliest(np.array([0.0, 0.0, 0.0])),
    ...     likeliest(np.array([np.nan, 0.5, -1.0])),
    ... )
    ([1, 2], [0, 1, 2], [1])
    """
    finite = np.where(np.isnan(scores), -np.inf, scores)
    tolerance = RELATIVE_ERROR * np.abs(scores[np.isfinite(scores)]).max(initial=0.0)
    return np.flatnonzero(highest(finite[None], np.array([tolerance]))[0]).tolist()


def _followed(guesses: BoolArray, trie: Trie, begins: IntArray, ends: IntArray) -> IntArray:
    """Count how often each prefix is followed by one of its guesses, shape (num_nodes,).

    `guesses` (num_nodes, num_symbols + 1) or, without the end, (num_nodes, num_symbols): which
    symbols are guessed after each prefix.
    """
    parents = trie.parent[1:]
    times = np.where(guesses[parents, trie.symbol[1:]], begins[1:], 0)
    followed = np.bincount(parents, weights=times, minlength=trie.num_nodes).astype(np.int64)
    return (
        followed + np.where(guesses[:, -1], ends, 0)
        if guesses.shape[1] > trie.num_symbols
        else followed
    )


def _gains(guesses: _Guesses, trie: Trie, begins: IntArray, ends: IntArray) -> FloatArray:
    """Compute NDCG@5 against what followed, summed over the predictions at each node: shape
    (num_nodes,).
    """
    gains = np.zeros(trie.num_nodes)
    for equal, share in guesses.groups:
        gains += np.where(share > 0, share * _followed(equal, trie, begins, ends), 0.0)
    return gains


def _true_gains(guesses: _Guesses, truth: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compute the discounted gain of each node against the truth, and its largest possible value:
    shape (num_nodes,) each.
    """
    gains = np.zeros(len(truth))
    for equal, share in guesses.groups:
        gains += np.where(share > 0, share * np.einsum("ij,ij->i", equal, truth), 0.0)
    size = min(TOP, truth.shape[1])
    return gains, discounts(size) @ -np.sort(-truth, axis=1)[:, :size].T


def _relative_entropies(truth: FloatArray, magnitudes: FloatArray) -> FloatArray:
    """Compute Σ_a p(a) log₂ (p(a) / q(a)) for each row, p the truth and q the normalised
    magnitudes: shape (num_nodes,).
    """
    # a row of zeros gives nothing to what follows: ∞, as elsewhere
    model = next_distributions(magnitudes)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(truth == 0, 0.0, truth * (np.log2(truth) - np.log2(model)))
        terms[np.isnan(model).any(axis=1)] = np.nan
    # Only rounding can make them negative (Gibbs' inequality).
    entropies: FloatArray = np.maximum(terms.sum(axis=1), 0.0)
    return entropies
