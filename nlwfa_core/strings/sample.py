"""Samples: distinct words with counts, and the two trees that counting goes by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import RecipeError
from .words import Alphabet, FloatArray, IntArray, Words, check_symbols, distinct, smallest

LONG = 16  # symbols: words longer than that on average seldom stand twice


@dataclass(frozen=True, eq=False)
class Sample:
    """Distinct words with counts, over an alphabet.

    Attributes
    ----------
    words : Words
        Distinct, in the order of their first appearance.
    counts : array, shape (num_distinct,)
        How often each was seen, at least 1.
    alphabet : Alphabet
    num_dropped : int
        Strings that were drawn and that no count holds: rare ones, that `counting` dropped. Frequencies are shares of all.
    """

    words: Words
    counts: IntArray
    alphabet: Alphabet
    num_dropped: int = 0

    def __post_init__(self) -> None:
        if self.counts.shape != (len(self.words),):
            raise RecipeError(f"{len(self.words)} words with counts of shape {self.counts.shape}")
        if len(self.counts) and self.counts.min() < 1:
            raise RecipeError(f"counts must be at least 1, got {self.counts.min()}")
        check_symbols(self.words, len(self.alphabet))

    @classmethod
    def of(cls, words: Words, alphabet: Alphabet, counts: IntArray | None = None) -> Sample:
        """Merge equal words and add up their counts (1 each by default).

        >>> sample = Sample.of(Words.of([(0,), (1,), (0,)]), Alphabet(("a", "b")))
        >>> list(sample.words), sample.counts.tolist()
        ([(0,), (1,)], [2, 1])
        """
        return cls._of(words, alphabet, counts, packed=False)

    @classmethod
    def merged(cls, parts: Sequence[Words], alphabet: Alphabet, counts: IntArray | None = None) -> Sample:
        """The same for the words of several parts, with words and counts in the smallest numbers that hold them.

        Parameters
        ----------
        parts : sequence of Words
            Packed (`Words.packed`).
        counts : array, shape (num_words of all parts,), optional
        """
        start, words, totals = 0, list[Words](), list[IntArray]()
        for part in parts:
            given = None if counts is None else counts[start : start + len(part)]
            start += len(part)
            if len(part.symbols) < LONG * len(part):
                # Short ones repeat: they are merged before all stand together, where each takes thirty bytes.
                one = cls._of(part, alphabet, given, packed=True)
                part, given = one.words, one.counts
            words.append(part)
            totals.append(np.ones(len(part), dtype=np.uint8) if given is None else given)
        together = Words.joined(words, packed=True)
        del words, part
        return cls._of(together, alphabet, np.concatenate(totals), packed=True)

    @classmethod
    def _of(cls, words: Words, alphabet: Alphabet, counts: IntArray | None, packed: bool) -> Sample:
        first, inverse = distinct(words)
        totals = np.zeros(len(first), dtype=np.int64)
        np.add.at(totals, inverse, 1 if counts is None else counts)
        del inverse
        return cls(words.take(first, packed), smallest(totals) if packed else totals, alphabet)

    @property
    def num_strings(self) -> int:
        """Strings as drawn: the counts' sum, and what was dropped."""
        return int(self.counts.sum()) + self.num_dropped

    @property
    def num_symbols(self) -> int:
        return len(self.alphabet)

    @property
    def mean_length(self) -> float:
        """Mean length of the strings that are counted, end not included; 0 for an empty sample."""
        return float(self.words.lengths @ self.counts / self.counts.sum()) if len(self.counts) else 0.0

    def frequencies(self) -> FloatArray:
        """Relative frequencies of the distinct words, shape (num_distinct,)."""
        return self.counts / self.num_strings

    def split(self, sizes: Sequence[int], seed: int) -> list[Sample]:
        """Disjoint random parts of the strings that are counted, without replacement.

        Parameters
        ----------
        sizes : sequence of int
            How many strings each part gets; their sum may be at most that of the counts.

        Raises
        ------
        RecipeError
            If the sizes don't fit.
        """
        total = int(self.counts.sum())
        if min(sizes) < 0 or sum(sizes) > total:
            given = ", ".join(f"{size:,}" for size in sizes)
            raise RecipeError(f"can't split {total:,} strings into parts of {given}")
        # The smallest numbers that do: a line of a file may count for millions of strings.
        drawn = np.repeat(np.arange(len(self.words), dtype=np.min_scalar_type(len(self.words))), self.counts)
        np.random.default_rng(seed).shuffle(drawn)
        parts = []
        for start, size in zip(np.concatenate(([0], np.cumsum(sizes)[:-1])), sizes, strict=True):
            indices, counts = np.unique(drawn[start : start + size], return_counts=True)
            parts.append(Sample(self.words.take(indices), counts.astype(np.int64), self.alphabet))
        return parts
