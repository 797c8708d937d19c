"""What every model of strings can do, and what some can do besides.

A model gives strings weights, f(x), and each prefix scores of what comes next. It need not be a probability distribution, and what
was learned rarely is: scores may be negative, or not sum to 1. `next_distributions` is the one place that turns them into
probabilities.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from ..strings.trie import Trie, chain_log2_weights, chain_weights
from ..strings.words import Alphabet, FloatArray, Words

MODELS_ALPHABET = "the model's"  # as errors of `Words.in_alphabet` call it


class Model(Protocol):
    """A function over strings: WFA, NLWFA, an n-gram, a recurrent network, the true model of generated strings."""

    @property
    def num_symbols(self) -> int: ...

    def weights(self, words: Words) -> FloatArray:
        """f(x), shape (num_words,)."""

    def next_scores(self, trie: Trie) -> FloatArray:
        """Scores of what follows each prefix, the end of the string last: shape (num_nodes, num_symbols + 1)."""


class HasModel(Protocol):
    """What holds a model beside other things: a `Fit`, a `SavedModel`, a `Result`."""

    @property
    def model(self) -> Model: ...


@runtime_checkable
class LogModel(Model, Protocol):
    """A model that can give the logarithms of its weights, so that those of long strings do not underflow to 0."""

    def log2_weights(self, words: Words) -> FloatArray:
        """log₂ |f(x)|, shape (num_words,); −∞ for 0."""


@runtime_checkable
class SharedModel(Model, Protocol):
    """A model whose weights follow from its next-symbol scores, so that one walk along the strings serves both.

    f(x) is the score of the end after x; or, for a chain, the product of the scores along x, the end included.
    """

    @property
    def is_chain(self) -> bool: ...


class ChainModel(ABC):
    """A language model: the weight of a string is the product of the probabilities of its symbols, and of its end."""

    is_chain = True
    alphabet: Alphabet | None

    @property
    @abstractmethod
    def num_symbols(self) -> int: ...

    @abstractmethod
    def next_scores(self, trie: Trie) -> FloatArray:
        """p(a | u) for each prefix u, the end last, shape (num_nodes, num_symbols + 1); rows sum to 1."""

    def weights(self, words: Words) -> FloatArray:
        """P(x), shape (num_words,)."""
        trie = Trie.of(words.in_alphabet(self.alphabet, MODELS_ALPHABET), self.num_symbols)
        return chain_weights(self.next_scores(trie), trie)

    def log2_weights(self, words: Words) -> FloatArray:
        """log₂ P(x), shape (num_words,): finite for strings of any length."""
        trie = Trie.of(words.in_alphabet(self.alphabet, MODELS_ALPHABET), self.num_symbols)
        return chain_log2_weights(self.next_scores(trie), trie)


def model_of(value: Model | HasModel) -> Model:
    """The model itself, or that of a `Fit`, a `SavedModel` or a `Result`. Raises TypeError for anything else."""
    model: Any = getattr(value, "model", value)
    if not all(hasattr(model, name) for name in ("num_symbols", "weights", "next_scores")) or isinstance(model, type):
        raise TypeError(
            f"model must have num_symbols, weights and next_scores, as a WFA or the model of a Fit does; got {type(value).__name__}"
        )
    return cast(Model, model)


def alphabet_of(model: Model) -> Alphabet | None:
    """The alphabet of a model that has one; None for a model of numbers only."""
    alphabet: Alphabet | None = getattr(model, "alphabet", None)
    return alphabet


def next_distributions(scores: FloatArray) -> FloatArray:
    """|scores| of what follows each prefix, divided by their sum: the probabilities of what comes next, shape (n, num_symbols + 1).

    A row of zeros stays 0, so that nothing that follows gets a probability. A row with a score that is not finite holds nan.

    >>> next_distributions(np.array([[0.5, -0.25, 0.25], [0.0, 0.0, 0.0]])).tolist()
    [[0.5, 0.25, 0.25], [0.0, 0.0, 0.0]]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        magnitudes = np.abs(scores)
        sums = magnitudes.sum(axis=1, keepdims=True)
        probabilities: FloatArray = np.divide(magnitudes, sums, out=np.zeros_like(magnitudes), where=sums != 0)
    return probabilities
