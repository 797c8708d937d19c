"""Scores of a model on test strings: the Pautomac score, the word error rate, bits per symbol.

Every logarithm is to base 2. Conventions stand at each function; counts of zero, negative and non-finite outputs always go
along with a score, because they decide what it means.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .errors import RecipeError
from .sample import Sample
from .trie import Trie
from .words import FloatArray, IntArray, Words


class Model(Protocol):
    """What is scored: WFA, NLWFA, an n-gram, the true model."""

    @property
    def num_symbols(self) -> int: ...

    def weights(self, words: Words) -> FloatArray:
        """f(x), shape (num_words,)."""

    def next_scores(self, trie: Trie) -> FloatArray:
        """Scores of what follows each prefix, the end of the string last: shape (num_nodes, num_symbols + 1)."""


@dataclass(frozen=True)
class PautomacScore:
    """The Pautomac score and what it was computed from.

    Attributes
    ----------
    log2 : float
        log₂ of the perplexity; ∞ if the model gives 0 to a word that has mass, nan if an output is not a finite number.
    num_words, num_zero, num_negative, num_nonfinite : int
        Words in T; outputs of exactly 0, below 0, and not finite.
    """

    log2: float
    num_words: int
    num_zero: int
    num_negative: int
    num_nonfinite: int


def pautomac_score(outputs: FloatArray, target: FloatArray, floor: float = 0.0) -> PautomacScore:
    """log₂ Pauto = −Σ_{x ∈ T} P*(x) log₂ P_M(x), both normalised over T (Verwer, Eyraud, de la Higuera 2014).

    [P] §5.1 prints the sign in front of the power (−2^Σ): an erratum. Negative outputs enter by their absolute value, as there.

    Parameters
    ----------
    outputs : array, shape (num_words,)
        f(x) of each word of T, not normalised.
    target : array, shape (num_words,)
        P*(x), not normalised, ≥ 0.
    floor : float
        Normalised outputs below it are raised to it, and all normalised again. 0 leaves everything as it is. Whoever sets it
        must say so beside the score.

    Raises
    ------
    RecipeError
        If the shapes differ, the target has no mass, or the floor is not in 0 … 1.

    Examples
    --------
    >>> pautomac_score(np.array([0.2, -0.2]), np.array([1.0, 1.0])).log2
    1.0
    """
    if outputs.shape != target.shape:
        raise RecipeError(f"{outputs.size} outputs but {target.size} target probabilities")
    mass = target.sum()
    if not (np.isfinite(mass) and mass > 0 and target.min() >= 0):
        raise RecipeError("the target probabilities must be finite, at least 0, and not all 0")
    _check_floor(floor)
    finite = np.isfinite(outputs)
    counts = (len(outputs), int((outputs == 0).sum()), int((outputs < 0).sum()), int((~finite).sum()))
    if not finite.all():
        return PautomacScore(float("nan"), *counts)
    largest = np.abs(outputs).max()
    # Divided first: a diverging model's outputs may have a sum that overflows.
    model = np.abs(outputs) / largest if largest > 0 else np.abs(outputs)
    model = np.maximum(model / (model.sum() or 1.0), floor)
    wanted = target > 0
    if (model[wanted] == 0).any():
        return PautomacScore(float("inf"), *counts)
    log_model = np.log2(model[wanted]) - np.log2(model.sum())
    return PautomacScore(float(-(target[wanted] / mass) @ log_model), *counts)


def _check_floor(floor: float) -> None:
    if not 0 <= floor < 1:
        raise RecipeError(f"floor: {floor} given, allowed are numbers from 0 (none) to below 1")


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
    """

    wer: float
    wer_without_end: float
    bits_per_symbol: float
    num_predictions: int
    num_impossible: int
    num_negative: int


def next_symbol_score(model: Model, test: Sample, floor: float = 0.0) -> NextSymbolScore:
    """Word error rate and bits per symbol; each distinct prefix is predicted once and weighs as often as it occurs.

    `floor` raises next-symbol probabilities as in `pautomac_score`; the word error rates don't change with it.
    """
    trie = Trie.of(test.words, model.num_symbols)
    return score_next(model.next_scores(trie), trie, test.counts, floor)


def score_next(scores: FloatArray, trie: Trie, counts: IntArray, floor: float = 0.0) -> NextSymbolScore:
    """`next_symbol_score` from the scores, shape (num_nodes, num_symbols + 1), and the strings' counts, shape (num_words,)."""
    _check_floor(floor)
    num_symbols = trie.num_symbols
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
    right = np.where(guess == num_symbols, ends, _count(begins, trie.child(np.arange(trie.num_nodes), guess)))
    right_inner = _count(begins, trie.child(np.arange(trie.num_nodes), inner))

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
    )


def _count(counts: IntArray, nodes: IntArray) -> IntArray:
    return np.where(nodes >= 0, counts[np.maximum(nodes, 0)], 0)


@dataclass(frozen=True, eq=False)
class TestSet:
    """Strings to score on, and what they should get.

    Attributes
    ----------
    words : Words
        The set T of the Pautomac score.
    target : array, shape (num_words,)
        P*, not normalised.
    sample : Sample
        The strings as drawn, for next-symbol scores.
    known : bool
        Whether the target is the true probability; else it is the empirical frequency in T.
    """

    __test__ = False  # not a test for pytest to collect

    words: Words
    target: FloatArray
    sample: Sample
    known: bool

    @classmethod
    def as_drawn(cls, words: Words, target: FloatArray, sample: Sample) -> TestSet:
        """T is every row of a test file, repeated ones as often as they stand there; P* is given a row."""
        if len(words) != len(target):
            raise RecipeError(f"{len(words)} test strings but {len(target)} probabilities in the solution")
        return cls(words, target, sample, known=True)

    @classmethod
    def empirical(cls, sample: Sample) -> TestSet:
        """T is the distinct test strings, P* their frequency. (With rows as drawn the uniform model would always win.)"""
        return cls(sample.words, sample.frequencies(), sample, known=False)


@dataclass(frozen=True)
class Scores:
    """A model's scores on a test set; every field but the two reference scores is the model's own. See the two score records."""

    log2_pauto: float
    wer: float
    wer_without_end: float
    bits_per_symbol: float
    num_words: int
    num_zero: int
    num_negative: int
    num_nonfinite: int
    num_predictions: int
    num_impossible: int
    num_negative_next: int
    uniform_log2_pauto: float
    true_log2_pauto: float | None
    floor: float


def evaluate(model: Model, test: TestSet, floor: float = 0.0) -> Scores:
    """All scores of a model on a test set; `floor` as in `pautomac_score`.

    Raises
    ------
    RecipeError
        If the test set is empty or has symbols that the model does not know.
    """
    if not len(test.words):
        raise RecipeError("the test set has no strings")
    if test.sample.num_symbols > model.num_symbols:
        used = int(test.sample.words.symbols.max(initial=-1)) + 1
        if used > model.num_symbols:
            raise RecipeError(f"the test strings use {used} symbols, the model knows {model.num_symbols}")
    outputs = pautomac_score(model.weights(test.words), test.target, floor)
    following = next_symbol_score(model, test.sample, floor)
    return Scores(
        log2_pauto=outputs.log2,
        wer=following.wer,
        wer_without_end=following.wer_without_end,
        bits_per_symbol=following.bits_per_symbol,
        num_words=outputs.num_words,
        num_zero=outputs.num_zero,
        num_negative=outputs.num_negative,
        num_nonfinite=outputs.num_nonfinite,
        num_predictions=following.num_predictions,
        num_impossible=following.num_impossible,
        num_negative_next=following.num_negative,
        uniform_log2_pauto=float(np.log2(outputs.num_words)),
        true_log2_pauto=pautomac_score(test.target, test.target).log2 if test.known else None,
        floor=floor,
    )
