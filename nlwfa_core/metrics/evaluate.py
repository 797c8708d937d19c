"""Score a model on test strings: Pautomac score, word error rate, bits per symbol, NDCG@5,
distances to the truth.
"""

from __future__ import annotations

import numpy as np

from ..errors import check_types
from ..models.model import (
    MODELS_ALPHABET,
    HasModel,
    LogModel,
    Model,
    ScaledModel,
    SharedModel,
    alphabet_of,
    model_of,
    scaled_next_scores,
)
from ..models.unseen import extended, num_unknown
from ..rounding import on_one_thread
from ..strings.plain import SampleLike
from ..strings.sample import Sample
from ..strings.trie import Trie, batches, chain_log2_weights, chain_weights
from ..strings.words import FloatArray, IntArray, distinct
from .next_symbols import NextSymbolScore, score_next, total_bits
from .pautomac_score import divergence, pautomac_score, root_mean_square
from .ranking import prefix_score
from .score_table import Scores
from .testset import TestSet, as_test_set, over_one_alphabet, used_alphabet


def next_symbol_score(
    model: Model, test: Sample, floor: float = 0.0, truth: FloatArray | None = None
) -> NextSymbolScore:
    """Score a model's predictions of the next symbols along some strings.

    Predictions are computed once for each distinct prefix, and count as often as the prefix occurs.
    If the strings' alphabet is not the model's, their symbols are renumbered to match it.

    `floor` raises the probabilities of next symbols as in `pautomac_score`, but does not affect the
    scores that depend only on the order of symbols. `truth` is that of `score_next`.
    """
    model = extended(model, used_alphabet(test))
    alphabet = alphabet_of(model)
    if alphabet is not None:
        test = test.in_alphabet(alphabet, MODELS_ALPHABET)
    trie = Trie.of(test.words, model.num_symbols)
    return score_next(scaled_next_scores(model, trie)[0], trie, test.counts, floor, truth)


def bits_per_symbol(model: Model, test: Sample) -> float:
    """Compute only the bits per symbol of `next_symbol_score`, in batches, which need little memory
    even for many symbols.
    """
    model = extended(model, used_alphabet(test))
    alphabet = alphabet_of(model)
    if alphabet is not None:
        test = test.in_alphabet(alphabet, MODELS_ALPHABET)
    bits = 0.0
    for rows, trie in batches(test.words, model.num_symbols):
        bits += total_bits(scaled_next_scores(model, trie)[0], trie, test.counts[rows])
    return bits / int(test.counts @ (test.words.lengths + 1))


@check_types
@on_one_thread
def evaluate(model: Model | HasModel, test: TestSet | SampleLike, floor: float = 0.0) -> Scores:
    """Compute all scores of a model, or of the model of a `Fit`, on a test set, or on strings.

    >>> from nlwfa_core.models.ngram import NGram
    >>> scores = evaluate(NGram.fit(["ab", "b", "ab"], order=2), ["ab", "b"])
    >>> round(scores.wer, 2), scores.num_words
    (0.2, 2)

    Strings are a Sample, or any form that `strings.plain.as_sample` takes; their target is their
    frequencies (`TestSet.empirical`). If the test set's alphabet is not the model's, its symbols
    are renumbered to match it. A symbol that the model does not know is read as the model's symbol
    for the unknown or, if the model has none, gives the string the weight 0; `Scores.num_unknown`
    counts these strings. A model without an alphabet knows symbols only by their numbers. It can be
    scored if these are unambiguous, that is, if the test set has as many symbols as the model, or
    its symbols are themselves numbers. `floor` is that of `pautomac_score`.

    Raises
    ------
    RecipeError
        If the test set is empty, all of its strings have symbols that the model does not know, or
        the true model has another alphabet.
    """
    model = model_of(model)
    model, test = over_one_alphabet(model, as_test_set(test, alphabet_of(model)))
    trie = test.trie(model.num_symbols)
    next_scores, exponents = scaled_next_scores(model, trie)
    weights, logs = outputs_on(model, test, next_scores, exponents)
    outputs = pautomac_score(weights, test.target, floor, log2_outputs=logs)
    following = score_next(next_scores, trie, test.sample.counts, floor, test.next_truth)
    ranking = None if test.prefixes is None else prefix_score(model, test.prefixes)
    gap = (
        divergence(weights, test.target, floor, logs, distinct(test.words)[0])
        if test.target_is_true
        else None
    )
    return Scores(
        log2_pauto=outputs.log2,
        wer=following.wer,
        wer_without_end=following.wer_without_end,
        bits_per_symbol=following.bits_per_symbol,
        bits_without_end=following.bits_without_end,
        num_words=outputs.num_words,
        num_zero=outputs.num_zero,
        num_negative=outputs.num_negative,
        num_nonfinite=outputs.num_nonfinite,
        num_predictions=following.num_predictions,
        num_impossible=following.num_impossible,
        num_negative_next=following.num_negative,
        uniform_log2_pauto=float(np.log2(outputs.num_words)),
        true_log2_pauto=pautomac_score(test.target, test.target).log2
        if test.target_is_true
        else None,
        floor=floor,
        ndcg5=following.ndcg5,
        kl=gap.kl if gap else None,
        total_variation=gap.total_variation if gap else None,
        rmse=None if test.true_weights is None else root_mean_square(weights, test.true_weights),
        next_kl=following.next_kl,
        share_tied=following.share_tied,
        ndcg5_true=following.ndcg5_true,
        prefix_ndcg5=ranking.ndcg5 if ranking else None,
        prefix_error=ranking.error if ranking else None,
        num_unknown=num_unknown(model, test.sample),
        num_nonfinite_next=following.num_nonfinite,
        num_strings=test.sample.num_strings,
    )


def outputs_on(
    model: Model, test: TestSet, next_scores: FloatArray, exponents: IntArray | None
) -> tuple[FloatArray, FloatArray | None]:
    """Compute a model's outputs on the words of a test set's T (`test.words`), and their
    logarithms.

    `next_scores` (num_nodes, num_symbols + 1): the model's scores at the nodes of `test.trie`, from
    `scaled_next_scores`. `exponents` (num_nodes,), or None: their exponents.

    Returns `outputs` (num_words,): f(x). `log2_outputs` (num_words,), or None: log₂ |f(x)|; None if
    the model does not compute logarithms, and no output is too small for float64.
    """
    trie = test.trie(model.num_symbols)
    ends = test.ends(model.num_symbols)
    if ends is None or not isinstance(model, SharedModel):
        weights = model.weights(test.words)
        logs = model.log2_weights(test.words) if isinstance(model, LogModel) else None
        if (
            isinstance(model, ScaledModel)
            and logs is not None
            and np.array_equal(weights == 0, np.isneginf(logs))
        ):
            logs = None  # no weight is too small
        return weights, logs
    if model.is_chain:
        return chain_weights(next_scores, trie, ends), chain_log2_weights(
            np.abs(next_scores), trie, ends
        )
    outputs = next_scores[ends, -1]
    if exponents is None or not exponents[ends].any():
        return outputs, None
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        return np.ldexp(outputs, exponents[ends]), np.log2(np.abs(outputs)) + exponents[ends]
