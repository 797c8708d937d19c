"""How well scores predict next symbols along test strings: word error rate, bits per symbol, NDCG@5, distance to the truth.

Every logarithm is to base 2. The end of the string is a symbol here, the last one, unless a score says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .perplexity import check_floor
from .trie import Trie
from .words import FloatArray, IntArray


@dataclass(frozen=True)
class NextSymbolScore:
    """How well a model predicts next symbols along the test strings.

    Attributes
    ----------
    wer : float
        Share of wrong arg max predictions, over every prefix of every string as drawn, the end counted as a symbol.
    wer_without_end : float
        The same over the prefixes that a symbol follows, predicting among symbols only.
    bits_per_symbol : float
        Mean −log₂ of the probability of what followed, the end counted; probabilities are |scores| normalised to sum to 1.
        ∞ if something that followed had score 0, nan if a score is not a finite number.
    num_predictions : int
        Prefixes of strings as drawn: total length + number of strings.
    num_impossible : int
        Of these, how many had score 0 for what followed.
    num_negative : int
        Negative scores among all (distinct prefix, next symbol) pairs.
    ndcg5 : float
        Mean over the same predictions of Σ_{j ≤ 5} p(a_j) / log₂(j + 1), divided by its largest possible value, where a_1, a_2 …
        are the next symbols by falling score, the end among them (Balle et al. 2016, SPiCe). p is the true next-symbol
        distribution where it is known, else 1 for what followed and 0 for the rest. 1 is best. nan if the truth gives a prefix 0.
    next_kl : float or None
        Mean over the same predictions of Σ_a p(a) log₂ (p(a) / q(a)), in bits, p the true next-symbol distribution, q the
        model's, |scores| normalised. ∞ and nan as in `bits_per_symbol`; None where the truth is not known.
    """

    wer: float
    wer_without_end: float
    bits_per_symbol: float
    num_predictions: int
    num_impossible: int
    num_negative: int
    ndcg5: float
    next_kl: float | None


def score_next(
    scores: FloatArray, trie: Trie, counts: IntArray, floor: float = 0.0, truth: FloatArray | None = None
) -> NextSymbolScore:
    """`next_symbol_score` from the scores and the strings' counts.

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
        # A score that is nan predicts nothing: it must not win the arg max.
        guess = np.where(np.isnan(scores), -np.inf, scores).argmax(axis=1)
        inner = np.where(np.isnan(scores[:, :-1]), -np.inf, scores[:, :-1]).argmax(axis=1)
        magnitudes = np.abs(scores)
        if floor:
            sums = magnitudes.sum(axis=1, keepdims=True)
            magnitudes = np.maximum(np.divide(magnitudes, sums, out=np.zeros_like(magnitudes), where=sums > 0), floor)
        normaliser = magnitudes.sum(axis=1)
    right = _followed(trie, begins, ends, guess)
    right_inner = _followed(trie, begins, ends, inner)

    parents, symbols = trie.parent[1:], trie.symbol[1:]
    given = np.concatenate((magnitudes[parents, symbols], magnitudes[:, -1]))  # score of what followed
    total = np.concatenate((normaliser[parents], normaliser))
    times = np.concatenate((begins[1:], ends))
    seen = times > 0
    given, total, times = given[seen], total[seen], times[seen]
    impossible = given == 0
    if not (np.isfinite(given).all() and np.isfinite(total).all()):
        bits = float("nan")
    elif impossible.any():
        bits = float("inf")
    else:
        bits = float(times @ (np.log2(total) - np.log2(given)) / num_predictions)
    return NextSymbolScore(
        wer=float(1 - right.sum() / num_predictions),
        wer_without_end=float(1 - right_inner.sum() / max(num_predictions - num_ends, 1)),
        bits_per_symbol=bits,
        num_predictions=num_predictions,
        num_impossible=int(times[impossible].sum()),
        num_negative=int((scores < 0).sum()),
        ndcg5=float(_gains(scores, trie, begins, ends, truth).sum() / num_predictions),
        next_kl=None if truth is None else float(begins @ _relative_entropies(truth, magnitudes) / num_predictions),
    )


def _followed(trie: Trie, begins: IntArray, ends: IntArray, symbols: IntArray) -> IntArray:
    """How often each node is followed by its one of `symbols`, the end among them: shape (num_nodes,)."""
    nodes = trie.child(np.arange(trie.num_nodes), np.minimum(symbols, trie.num_symbols - 1))
    inner = np.where(nodes >= 0, begins[np.maximum(nodes, 0)], 0)
    return np.where(symbols == trie.num_symbols, ends, inner)


def _gains(scores: FloatArray, trie: Trie, begins: IntArray, ends: IntArray, truth: FloatArray | None) -> FloatArray:
    """NDCG@5 of each node times its predictions, shape (num_nodes,)."""
    ranked = _ranked(scores)
    discounts = 1 / np.log2(np.arange(len(ranked)) + 2)
    if truth is None:
        followed = [np.where(symbols >= 0, _followed(trie, begins, ends, symbols), 0) for symbols in ranked]
        return np.asarray(discounts @ np.stack(followed))
    ideal = discounts @ -np.sort(-truth, axis=1)[:, : len(ranked)].T
    reached = np.stack([np.where(symbols >= 0, truth[np.arange(len(truth)), symbols], 0.0) for symbols in ranked])
    return np.asarray(begins * (discounts @ reached) / ideal)


def _ranked(scores: FloatArray, size: int = 5) -> list[IntArray]:
    """The symbols of the largest, second largest … score after each prefix, −1 where none is left; of equal ones the first."""
    left = np.where(np.isnan(scores), -np.inf, scores)
    rows, ranked = np.arange(len(scores)), []
    for _ in range(min(size, scores.shape[1])):
        best = left.argmax(axis=1)
        ranked.append(np.where(np.isneginf(left[rows, best]), -1, best))
        left[rows, best] = -np.inf
    return ranked


def _relative_entropies(truth: FloatArray, magnitudes: FloatArray) -> FloatArray:
    """Σ_a p(a) log₂ (p(a) / q(a)) of each row, q the magnitudes normalised: shape (num_nodes,)."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        model = magnitudes / magnitudes.sum(axis=1, keepdims=True)
        # A row of zeros gives nothing to what follows: ∞, as elsewhere, not 0/0.
        model[~magnitudes.any(axis=1)] = 0.0
        terms = np.where(truth == 0, 0.0, truth * (np.log2(truth) - np.log2(model)))
        terms[np.isnan(model).any(axis=1)] = np.nan
    # Never below 0 but by rounding (Gibbs' inequality).
    entropies: FloatArray = np.maximum(terms.sum(axis=1), 0.0)
    return entropies
