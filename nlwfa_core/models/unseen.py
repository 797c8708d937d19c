"""Extend a model to symbols that it does not know: strings with such a symbol have weight 0, and
everything after it has score 0.

A rare symbol in a test file therefore does not prevent scoring. `extended` returns the model itself
if there is no such symbol, or if the model's alphabet has a symbol that stands for all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..errors import RecipeError
from ..strings.sample import Sample
from ..strings.trie import Trie
from ..strings.words import Alphabet, FloatArray, IntArray, Words
from .model import LogModel, Model, alphabet_of, model_words, scaled_next_scores

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class WithUnseen:
    """A model extended to symbols that it does not know."""

    model: Model
    alphabet: Alphabet  # the symbols of the model with their numbers, then the others

    @property
    def num_symbols(self) -> int:
        return len(self.alphabet)

    def weights(self, words: Words) -> FloatArray:
        words = model_words(words, self.alphabet)
        known = np.flatnonzero(has_known_symbols(words, self.model.num_symbols))
        weights = np.zeros(len(words))
        weights[known] = self.model.weights(self._inner(words, known))
        return weights

    def log2_weights(self, words: Words) -> FloatArray:
        words = model_words(words, self.alphabet)
        if not isinstance(self.model, LogModel):
            with np.errstate(divide="ignore"):
                return np.log2(np.abs(self.weights(words)))
        known = np.flatnonzero(has_known_symbols(words, self.model.num_symbols))
        logs = np.full(len(words), -np.inf)
        logs[known] = self.model.log2_weights(self._inner(words, known))
        return logs

    def next_scores(self, trie: Trie) -> FloatArray:
        known, inner = _known_part(trie, self.model.num_symbols)
        return self._wider(self.model.next_scores(inner), known)

    def scaled_next_scores(self, trie: Trie) -> tuple[FloatArray, IntArray | None]:
        known, inner = _known_part(trie, self.model.num_symbols)
        scores, inner_exponents = scaled_next_scores(self.model, inner)
        if inner_exponents is None:
            return self._wider(scores, known), None
        exponents = np.zeros(len(known), dtype=np.int64)
        exponents[known] = inner_exponents
        return self._wider(scores, known), exponents

    def _inner(self, words: Words, known: IntArray) -> Words:
        return replace(words.take(known), alphabet=alphabet_of(self.model))

    def _wider(self, scores: FloatArray, known: Mask) -> FloatArray:
        """Add rows of 0 for prefixes that the model does not know, and columns of 0 for symbols."""
        wider = np.zeros((len(known), self.num_symbols + 1))
        rows = np.flatnonzero(known)
        wider[rows, : self.model.num_symbols] = scores[:, :-1]
        wider[rows, -1] = scores[:, -1]
        return wider


def extended(model: Model, alphabet: Alphabet) -> Model:
    """Return a model over its own symbols and those of an alphabet. It is the model itself if it
    knows them all, has a symbol for the unknown, or has no alphabet.

    >>> from nlwfa_core import WFA, Words
    >>> half = WFA([1], [[[0.5]]], [0.5], Alphabet(("a",)))
    >>> wider = extended(half, Alphabet(("a", "b")))
    >>> wider.weights(Words.of([(0,), (0, 1)])).tolist()
    [0.25, 0.0]
    """
    model_alphabet = alphabet_of(model)
    if model_alphabet is None or model_alphabet.unknown is not None:
        return model
    known = set(model_alphabet.symbols)
    new = [symbol for symbol in alphabet.symbols if symbol not in known]
    return WithUnseen(model, Alphabet((*model_alphabet.symbols, *new))) if new else model


def has_known_symbols(words: Words, num_symbols: int) -> Mask:
    """Return for each word whether all of its symbols are below a number, shape (num_words,)."""
    return ~_have_any(words, words.symbols >= num_symbols)


def has_any_of(words: Words, numbers: Sequence[int]) -> Mask:
    """Return for each word whether it contains any of the given symbols, shape (num_words,)."""
    return _have_any(words, np.isin(words.symbols, numbers))


def num_unknown(model: Model, sample: Sample) -> int:
    """Count the strings with a symbol that a model does not know, or that stands for unknown
    symbols.
    """
    if isinstance(model, WithUnseen):
        return int(sample.counts[~has_known_symbols(sample.words, model.model.num_symbols)].sum())
    alphabet = alphabet_of(model)
    if alphabet is None or alphabet.unknown is None:
        return 0
    stands_for_it = [alphabet.numbers[alphabet.unknown]]
    return int(sample.counts[has_any_of(sample.words, stands_for_it)].sum())


def _have_any(words: Words, is_meant: Mask) -> Mask:
    """Return for each word whether a mask has one of its symbols, shape (num_words,)."""
    have = np.zeros(len(words), dtype=bool)
    have[np.searchsorted(words.offsets, np.flatnonzero(is_meant), side="right") - 1] = True
    return have


def check_some_known(words: Words, alphabet: Alphabet) -> None:
    """Raise RecipeError if words seem to belong to another model: if every word, except λ, has a
    symbol that is not in `alphabet`, whose symbols are the numbers below its length.

    With a symbol for the unknown, words may have other symbols, but not only others: at least one
    symbol must be in the alphabet.
    """
    if alphabet.unknown is not None:
        if len(words.symbols) and (words.symbols >= len(alphabet)).all():
            raise no_known_symbol(alphabet)
        return
    known = has_known_symbols(words, len(alphabet))
    if not known.all() and not (known & (words.lengths > 0)).any():
        raise RecipeError(
            "every test string contains a symbol that is not in the model's alphabet of "
            f"{alphabet.summary}"
        )


def no_known_symbol(alphabet: Alphabet) -> RecipeError:
    """Make the error for test strings that have no symbol of an alphabet."""
    return RecipeError(
        f"no symbol of the test strings is in the model's alphabet of {alphabet.summary}"
    )


def _known_part(trie: Trie, num_symbols: int) -> tuple[Mask, Trie]:
    """Cut a tree at the symbols that are not below a number. Returns which nodes are left, and the
    tree of these.

    Nodes are numbered by length, then alphabetically, so those that are left keep their order.
    """
    known = trie.symbol < num_symbols
    for start, end in zip(trie.levels[1:-1].tolist(), trie.levels[2:].tolist(), strict=True):
        known[start:end] &= known[trie.parent[start:end]]
    nodes = np.flatnonzero(known)
    number = np.cumsum(known) - 1
    parent = trie.parent[nodes]
    parent[1:] = number[parent[1:]]
    levels = np.unique(np.searchsorted(nodes, trie.levels))
    on_path = known[trie.paths]
    starts = np.concatenate(([0], np.cumsum(on_path)))[trie.starts]
    return known, Trie(
        num_symbols, parent, trie.symbol[nodes], levels, number[trie.paths[on_path]], starts
    )
