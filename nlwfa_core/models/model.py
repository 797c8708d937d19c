"""What every model of strings can do, and what some can do besides."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from ..strings.trie import Trie
from ..strings.words import FloatArray, Words


class Model(Protocol):
    """What is scored: WFA, NLWFA, an n-gram, the true model."""

    @property
    def num_symbols(self) -> int: ...

    def weights(self, words: Words) -> FloatArray:
        """f(x), shape (num_words,)."""

    def next_scores(self, trie: Trie) -> FloatArray:
        """Scores of what follows each prefix, the end of the string last: shape (num_nodes, num_symbols + 1)."""


@runtime_checkable
class LogModel(Model, Protocol):
    """A model that says the logarithms of its weights, so that those of long strings do not underflow to 0."""

    def log2_weights(self, words: Words) -> FloatArray:
        """log₂ |f(x)|, shape (num_words,); −∞ for 0."""


@runtime_checkable
class SharedModel(Model, Protocol):
    """A model whose weights follow from its next-symbol scores, so that scoring walks along the strings once.

    Either f(x) is the last score after x, that of the end; or, of a chain, the product of the scores along x, the end included.
    """

    @property
    def is_chain(self) -> bool: ...
