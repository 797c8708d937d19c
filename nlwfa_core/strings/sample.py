"""Define samples: the distinct words among many strings, each with its count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..errors import (
    RecipeError,
    check_at_least,
    check_entries,
    check_extra,
    check_type,
    plural,
)
from .words import (
    WORDS_SHOWN,
    Alphabet,
    FloatArray,
    IntArray,
    Words,
    check_symbols,
    distinct,
    shortened,
    smallest,
    whole_numbers,
)

if TYPE_CHECKING:
    import pandas as pd

STRINGS_SHOWN = 10  # in a notebook
# If the words of a part of a file have more symbols than this on average, equal words are not
# merged in it, because few occur twice.
MERGE_PARTS_BELOW_MEAN_LENGTH = 16


@dataclass(frozen=True, eq=False)
class Sample:
    """Holds distinct words over an alphabet, with their counts.

    >>> from nlwfa_core import as_sample
    >>> sample = as_sample(["ab", "b", "ab"])
    >>> list(sample.words), sample.counts.tolist(), sample.num_strings
    ([(0, 1), (1,)], [2, 1], 3)

    Attributes
    ----------
    words : Words
        The distinct words, in the order of their first appearance. If their alphabet is not
        `alphabet`, their symbols are renumbered.
    counts : array, shape (num_distinct,)
        How often each word was seen, at least 1: integers, or floats that are whole numbers.
    alphabet : Alphabet
    num_dropped : int
        The number of strings that were read but are not in the counts, because
        `sources.counting` dropped rare ones. Frequencies are shares of all strings, including
        these.

    Raises
    ------
    RecipeError
        If there is not one count of at least 1 for each word, or a word has a symbol that is not in
        the alphabet.
    """

    words: Words
    counts: IntArray
    alphabet: Alphabet
    num_dropped: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.words, Words) or not isinstance(self.alphabet, Alphabet):
            raise TypeError(
                f"a sample consists of Words and their Alphabet; got {type(self.words).__name__} "
                f"and {type(self.alphabet).__name__}"
            )
        words = self.words.in_alphabet(self.alphabet, "the sample's")
        check_symbols(words, len(self.alphabet))
        if words.alphabet is None:
            words = replace(words, alphabet=self.alphabet)
        object.__setattr__(self, "counts", _checked_counts(self.counts, len(words)))
        object.__setattr__(self, "words", words)

    @classmethod
    def of(cls, words: Words, alphabet: Alphabet, counts: npt.ArrayLike | None = None) -> Sample:
        """Merge equal words and add up their counts (1 each by default).

        >>> sample = Sample.of(Words.of([(0,), (1,), (0,)]), Alphabet(("a", "b")))
        >>> list(sample.words), sample.counts.tolist()
        ([(0,), (1,)], [2, 1])

        Raises RecipeError if a word has a symbol that is not in the alphabet, or if there is not
        one whole number of at least 1 for each word.
        """
        check_type("words", words, Words)
        if counts is not None:
            counts = _checked_counts(counts, len(words))
        return cls._of(words, alphabet, counts, packed=False)

    @classmethod
    def merged(
        cls, parts: Sequence[Words], alphabet: Alphabet, counts: npt.ArrayLike | None = None
    ) -> Sample:
        """Merge equal words of several parts of a file into a sample whose words and counts use the
        smallest integer types.

        Parts of short words are merged first: a file of 40 MB may have 20 million words, most of
        them equal, and merging them all at once takes thirty bytes for each. Long words are merged
        only once, which is two to three times as fast.

        Parameters
        ----------
        parts : sequence of Words
            Words packed by `Words.packed`.
        counts : array, shape (num_words of all parts,), optional
            How often each word was seen; 1 each by default.
        """
        if not parts:
            raise RecipeError("there are no parts of a file to merge")
        if counts is not None:
            counts = _checked_counts(counts, sum(map(len, parts)))
        start = 0
        words = list[Words]()
        totals = list[IntArray]()
        for part in parts:
            part_counts = None if counts is None else counts[start : start + len(part)]
            start += len(part)
            if len(part.symbols) < MERGE_PARTS_BELOW_MEAN_LENGTH * len(part):
                merged = cls._of(part, alphabet, part_counts, packed=True)
                part = merged.words
                part_counts = merged.counts
            words.append(part)
            totals.append(
                np.ones(len(part), dtype=np.uint8) if part_counts is None else part_counts
            )
        joined = Words.joined(words, packed=True)
        del words, part
        return cls._of(joined, alphabet, np.concatenate(totals), packed=True)

    @classmethod
    def _of(cls, words: Words, alphabet: Alphabet, counts: IntArray | None, packed: bool) -> Sample:
        first, inverse = distinct(words)
        totals = np.zeros(len(first), dtype=np.int64)
        np.add.at(totals, inverse, 1 if counts is None else counts)
        del inverse
        return cls(words.take(first, packed), smallest(totals) if packed else totals, alphabet)

    @property
    def num_strings(self) -> int:
        """Return the number of strings: the sum of the counts, plus `num_dropped`."""
        return int(self.counts.sum()) + self.num_dropped

    @property
    def num_symbols(self) -> int:
        return len(self.alphabet)

    @property
    def mean_length(self) -> float:
        """Compute the mean length of the counted strings, in symbols; 0 for an empty sample."""
        return (
            float(self.words.lengths @ self.counts / self.counts.sum()) if len(self.counts) else 0.0
        )

    def in_alphabet(self, alphabet: Alphabet, owner: str = "the") -> Sample:
        """Renumber the symbols of the sample's words by another alphabet (see `Words.in_alphabet`).

        Words that become equal because their symbols are read as the symbol for the unknown are
        merged.

        >>> sample = Sample.of(Words.of([(0, 1)]), Alphabet(("a", "c")))
        >>> list(sample.in_alphabet(Alphabet(("a", "b", "c"))).words)
        [(0, 2)]

        Raises RecipeError if a word has a symbol that is not in that alphabet and the alphabet has
        no symbol for the unknown.
        """
        words = self.words.in_alphabet(alphabet, owner)
        if words is self.words:
            return self
        if alphabet.unknown is not None:
            merged = Sample.of(words, alphabet, self.counts)
            return replace(merged, num_dropped=self.num_dropped)
        return Sample(words, self.counts, alphabet, self.num_dropped)

    def to_series(self) -> pd.Series[int]:
        """Return the counts as a pandas Series, indexed by the written strings, like that of
        `value_counts`.

        >>> Sample.of(Words.of([(0,), (0, 1), (0,)]), Alphabet(("a", "b"))).to_series().to_dict()
        {'a': 2, 'ab': 1}

        Raises
        ------
        MissingExtra
            If pandas is not installed.
        """
        check_extra("pandas", "pandas")
        import pandas as pd

        index = pd.Index(
            ["" if not word else self.alphabet.decode(word) for word in self.words],
            name="string",
            dtype=str,
        )
        return pd.Series(self.counts, index=index, name="count")

    def __iter__(self) -> Iterator[str]:
        """Iterate over the counted strings, written as text, each as often as it was counted.

        Equal strings come one after the other. With the sample's alphabet, `as_sample` makes the
        same sample of them again.

        >>> from nlwfa_core import as_sample
        >>> list(as_sample(["ab", "", "ab"]))
        ['ab', 'ab', '']
        """
        for word, count in zip(self.words, self.counts.tolist(), strict=True):
            written = self.alphabet.decode(word) if word else ""
            yield from repeat(written, count)

    def __repr__(self) -> str:
        """Write the numbers of strings and symbols, and the most frequent strings.

        >>> from nlwfa_core import as_sample
        >>> as_sample(["ab", "", "ab"])
        <Sample of 3 strings, 2 distinct: 2 × ab, 1 × λ; 2 symbols: a, b>
        """
        order = self._by_frequency(WORDS_SHOWN)
        names = [f"{int(self.counts[index]):,} × {shortened(self.words, index)}" for index in order]
        if len(self.words) > len(names):
            names.append("…")
        strings = f": {', '.join(names)}" if names else ""
        return f"<Sample of {self._heading}{strings}; {self.alphabet.summary}>"

    def _by_frequency(self, number: int) -> list[int]:
        """Return the indices of the most frequent words, the most frequent first."""
        order: list[int] = np.argsort(-self.counts.astype(np.int64), kind="stable").tolist()
        return order[:number]

    @property
    def _heading(self) -> str:
        return f"{plural(self.num_strings, 'string')}, {len(self.words):,} distinct"

    def _repr_html_(self) -> str:
        order = self._by_frequency(STRINGS_SHOWN)
        rows = "".join(
            f"<tr><td>{escape(self.alphabet.decode(self.words[index]))}</td><td "
            'style="text-align: right">'
            f"{int(self.counts[index]):,}</td></tr>"
            for index in order
        )
        heading = f"{self._heading}, {self.alphabet.summary}"
        head = "<tr><th>string</th><th>count</th></tr>"
        return f"<table><caption>{escape(heading)}</caption><thead>{head}</thead><tbody>{rows}</tbody></table>"  # noqa: E501

    def frequencies(self) -> FloatArray:
        """Compute the relative frequency of each distinct word, shape (num_distinct,)."""
        return self.counts / self.num_strings

    def split(self, sizes: Sequence[int], seed: int) -> list[Sample]:
        """Draw disjoint random parts of the counted strings, without replacement.

        Parameters
        ----------
        sizes : sequence of int
            The number of strings in each part; their sum is at most the number of counted strings.

        Raises
        ------
        RecipeError
            If a size is negative, or the sum of the sizes is larger than that of the counts.
        """
        check_entries("sizes", sizes, int)
        check_type("seed", seed, int)
        check_at_least("seed", seed, 0)
        total = int(self.counts.sum())
        if min(sizes, default=0) < 0 or sum(sizes) > total:
            raise RecipeError(
                f"can't split {total:,} strings into parts of "
                f"{', '.join(f'{size:,}' for size in sizes)}"
            )
        # The smallest integers save memory: one line of a file may count for millions of strings.
        strings = np.repeat(
            np.arange(len(self.words), dtype=np.min_scalar_type(len(self.words))), self.counts
        )
        np.random.default_rng(seed).shuffle(strings)
        parts = []
        for start, size in zip(np.cumsum([0, *sizes])[:-1], sizes, strict=True):
            indices, counts = np.unique(strings[start : start + size], return_counts=True)
            parts.append(Sample(self.words.take(indices), counts.astype(np.int64), self.alphabet))
        return parts


def _checked_counts(counts: npt.ArrayLike, num_words: int) -> IntArray:
    """Convert counts to integers, shape (num_words,).

    Raises RecipeError or TypeError unless each word has one count, of at least 1.
    """
    numbers = whole_numbers("counts", counts)
    if numbers.shape != (num_words,):
        raise RecipeError(
            f"each of the {num_words} words needs one count; got counts of shape {numbers.shape}"
        )
    if len(numbers) and numbers.min() < 1:
        raise RecipeError(f"counts must be at least 1; got {numbers.min()}")
    return numbers
