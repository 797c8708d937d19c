"""Put boundary symbols around strings, x⊣ or ⊢x⊣, so the probabilities of whole strings are
among the frequencies of prefixes or factors.
"""

from __future__ import annotations

import numpy as np

from ..errors import RecipeError
from ..strings.sample import Sample
from ..strings.words import Alphabet, Word, Words
from .statistics import WITH_BOUNDARY


def bounded_alphabet(alphabet: Alphabet, statistic: str) -> Alphabet:
    """Add to an alphabet the boundary symbols of `bounded_sample`: ⊣, and for factors ⊢ after it.

    >>> bounded_alphabet(Alphabet(("a", "b")), "factor").symbols
    ('a', 'b', '⊣', '⊢')
    """
    symbols = alphabet.symbols
    for mark in "⊣⊢" if statistic == "factor" else "⊣":
        while mark in symbols:
            mark += "′"
        symbols = (*symbols, mark)
    return Alphabet(symbols, alphabet.unknown)


def bounded_sample(sample: Sample, statistic: str) -> Sample:
    """Add boundary symbols to strings, so prefix or factor frequencies also include the
    probabilities of whole strings.

    With the statistic "prefix", a string x becomes x⊣: then f(x⊣) is the probability of x, and f(u)
    is the probability that a string begins with u. With "factor", x becomes ⊢x⊣, because a factor
    can begin anywhere. The same probabilities are then f(⊢x⊣) and f(⊢u).

    >>> from nlwfa_core import as_sample
    >>> marked = bounded_sample(as_sample(["ab", "b"]), "factor")
    >>> [marked.alphabet.decode(word) for word in marked.words]
    ['⊢ab⊣', '⊢b⊣']

    Parameters
    ----------
    sample : Sample
    statistic : str
        "prefix" or "factor".

    Raises
    ------
    RecipeError
        If the statistic is neither of these.
    """
    if statistic not in WITH_BOUNDARY:
        raise RecipeError(
            f"boundary symbols are only for prefix and factor statistics; got {statistic!r}"
        )
    end = sample.num_symbols
    words = sample.words
    before = int(statistic == "factor")
    offsets = words.offsets + (1 + before) * np.arange(len(words) + 1)
    symbols = np.full(int(offsets[-1]), end, dtype=np.int64)
    symbols[
        np.arange(len(words.symbols))
        + np.repeat((1 + before) * np.arange(len(words)) + before, words.lengths)
    ] = words.symbols
    if before:
        symbols[offsets[:-1]] = end + 1
    return Sample(
        Words(symbols, offsets),
        sample.counts,
        bounded_alphabet(sample.alphabet, statistic),
        sample.num_dropped,
    )


def hankel_alphabet(alphabet: Alphabet, statistic: str, bounded: bool) -> Alphabet:
    """Return the alphabet of a matrix's prefixes and suffixes, which includes boundary symbols if
    the strings have them.
    """
    return bounded_alphabet(alphabet, statistic) if bounded else alphabet


def counted_string(word: Word, alphabet: Alphabet, statistic: str, bounded: bool) -> str:
    """Write a string as the matrix counts it.

    >>> counted_string((0, 1), Alphabet(("a", "b")), "factor", bounded=True)
    '⊢ab⊣'
    """
    end = len(alphabet)
    symbols = (*((end + 1,) if statistic == "factor" else ()), *word, end) if bounded else word
    return hankel_alphabet(alphabet, statistic, bounded).decode(symbols)
