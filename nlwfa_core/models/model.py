"""Define the interface of all models of strings, and interfaces that only some models have.

A model computes the weight f(x) of a string x, and for each prefix the scores of what comes next.
It need not be a probability distribution, and a learned model rarely is: scores may be negative, or
not sum to 1. Only `next_distributions` turns scores into probabilities.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from ..errors import check_type
from ..strings.trie import Trie, batches, chain_log2_weights, chain_weights
from ..strings.words import Alphabet, FloatArray, IntArray, Words

SMALLEST_NORMAL = 2.0**-1022  # smaller float64 numbers have fewer digits
MODELS_ALPHABET = "the model's"  # as errors of `Words.in_alphabet` call it


class Model(Protocol):
    """A function over strings: a WFA, an NLWFA, an n-gram, a recurrent network, or the true model
    of generated strings.
    """

    @property
    def num_symbols(self) -> int: ...

    def weights(self, words: Words) -> FloatArray:
        """f(x), shape (num_words,)."""

    def next_scores(self, trie: Trie) -> FloatArray:
        """Compute scores of what follows each prefix, the end of the string last: shape (num_nodes,
        num_symbols + 1).
        """


class HasModel(Protocol):
    """An object that holds a model among other things, such as a `Fit` or a `Result`."""

    @property
    def model(self) -> Model: ...


@runtime_checkable
class LogModel(Model, Protocol):
    """A model that can compute the logarithms of its weights, so the weights of long strings
    do not underflow to 0.
    """

    def log2_weights(self, words: Words) -> FloatArray:
        """log₂ |f(x)|, shape (num_words,); −∞ for 0."""


@runtime_checkable
class ScaledModel(Model, Protocol):
    """A model whose scores fall with the length of a prefix, so the scores of long prefixes need a
    separate factor.
    """

    def scaled_next_scores(self, trie: Trie) -> tuple[FloatArray, IntArray | None]:
        """Compute scores s of what follows each prefix, shape (num_nodes, num_symbols + 1), and
        exponents e, shape (num_nodes,).

        The scores are s · 2ᵉ. The exponents are None if all are 0; the scores are then those of
        `next_scores`.
        """


@runtime_checkable
class SharedModel(Model, Protocol):
    """A model whose weights follow from its next-symbol scores, so both can be computed in one
    walk along the strings.

    The weight f(x) is the score of the end of the string after x or, if the model is a chain, the
    product of the scores of all symbols of x and of its end.
    """

    @property
    def is_chain(self) -> bool: ...


class ChainModel(ABC):
    """A language model: the weight of a string is the product of the probabilities of its symbols,
    and of its end.
    """

    is_chain = True
    alphabet: Alphabet | None

    @property
    @abstractmethod
    def num_symbols(self) -> int: ...

    @abstractmethod
    def next_scores(self, trie: Trie) -> FloatArray:
        """p(a | u) for each prefix u, with the end of the string last: shape (num_nodes,
        num_symbols + 1). Rows sum to 1.
        """

    def weights(self, words: Words) -> FloatArray:
        """Compute P(x) of each word, shape (num_words,)."""
        return self._by_batch(chain_weights, model_words(words, self.alphabet))

    def log2_weights(self, words: Words) -> FloatArray:
        """log₂ P(x), shape (num_words,): finite for strings of any length."""
        return self._by_batch(chain_log2_weights, model_words(words, self.alphabet))

    def _by_batch(
        self, weights_of: Callable[[FloatArray, Trie], FloatArray], words: Words
    ) -> FloatArray:
        weights = np.empty(len(words))
        for rows, trie in batches(words, self.num_symbols):
            weights[rows] = weights_of(self.next_scores(trie), trie)
        return weights


def model_of(value: Model | HasModel, name: str = "model") -> Model:
    """Return a model unchanged, or the model of a `Fit` or a `Result`.

    Raises TypeError for anything else.
    """
    model: Any = getattr(value, "model", value)
    if not all(
        hasattr(model, name) for name in ("num_symbols", "weights", "next_scores")
    ) or isinstance(model, type):
        raise TypeError(
            f"{name} must have num_symbols, weights and next_scores, as a WFA or the model "
            "of a Fit does; "
            f"got {type(value).__name__}"
        )
    return cast(Model, model)


def model_words(words: Words, alphabet: Alphabet | None) -> Words:
    """Renumber the symbols of words by a model's alphabet.

    Raises TypeError unless `words` is a Words.
    """
    check_type("words", words, Words)
    return words.in_alphabet(alphabet, MODELS_ALPHABET)


def alphabet_of(model: Model) -> Alphabet | None:
    """Return the alphabet of a model; None if the model knows its symbols only by their numbers."""
    alphabet: Alphabet | None = getattr(model, "alphabet", None)
    return alphabet


def scaled_next_scores(model: Model, trie: Trie) -> tuple[FloatArray, IntArray | None]:
    """Compute scores of what follows each prefix, with exponents (see `ScaledModel`), to compare
    scores after the same prefix.
    """
    return (
        model.scaled_next_scores(trie)
        if isinstance(model, ScaledModel)
        else (model.next_scores(trie), None)
    )


def scaled_weights(model: Model, words: Words) -> tuple[FloatArray, IntArray]:
    """Compute weights f(x) that may not fit in float64, as numbers m and exponents e, both of shape
    (num_words,), with f(x) = m · 2ᵉ.

    e is 0 except for weights that would be below 2⁻¹⁰²² or above 2¹⁰²⁴.

    `words`: in the model's alphabet.
    """
    weights = model.weights(words)
    exponents = np.zeros(len(words), dtype=np.int64)
    beyond = np.flatnonzero((np.abs(weights) < SMALLEST_NORMAL) | ~np.isfinite(weights))
    if len(beyond) and isinstance(model, ScaledModel):
        trie = Trie.of(words.take(beyond), model.num_symbols)
        scores, scales = model.scaled_next_scores(trie)
        if scales is not None:
            weights[beyond], exponents[beyond] = scores[trie.ends, -1], scales[trie.ends]
    elif len(beyond) and isinstance(model, LogModel):
        logs = model.log2_weights(words.take(beyond))
        finite = np.isfinite(logs)
        beyond = beyond[finite]
        logs = logs[finite]
        exponents[beyond] = np.floor(logs)
        weights[beyond] = np.exp2(logs - exponents[beyond])
    return weights, exponents


def next_distributions(scores: FloatArray) -> FloatArray:
    """Turn the scores of what follows each prefix into probabilities, by dividing |scores| by their
    sum.

    Both arrays have the shape (n, num_symbols + 1). A row whose scores are all 0 stays 0. A row
    with a score that is not finite becomes nan. Scores of a learned model can be negative, so their
    absolute values are used.

    >>> next_distributions(np.array([[0.5, -0.25, 0.25], [0.0, 0.0, 0.0], [1.0, 0.0, np.inf]]))
    array([[0.5 , 0.25, 0.25],
           [0.  , 0.  , 0.  ],
           [ nan,  nan,  nan]])
    """
    with np.errstate(over="ignore", invalid="ignore"):
        magnitudes = np.abs(scores)
        sums = magnitudes.sum(axis=1, keepdims=True)
        probabilities: FloatArray = np.divide(
            magnitudes, sums, out=np.zeros_like(magnitudes), where=sums != 0
        )
        beyond = ~np.isfinite(sums[:, 0])  # of finite scores, only the sum may be too large
        shares = magnitudes[beyond] / magnitudes[beyond].max(axis=1, keepdims=True)
        probabilities[beyond] = shares / shares.sum(axis=1, keepdims=True)
    return probabilities
