"""Define and select the basis of a Hankel matrix: its prefixes and suffixes (Li, Rabusseau, Precup
2018, §2.2 and §4.3).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, product

import numpy as np

from .. import limits
from ..errors import RecipeError, check_at_least, check_fields, check_one_of, check_types, plural
from ..strings.plain import SampleLike, as_alphabet, as_sample
from ..strings.trie import Trie, frequent_prefixes
from ..strings.words import (
    Alphabet,
    IntArray,
    Words,
    check_alphabet,
    check_symbols,
    distinct,
    first_words,
)
from .statistics import STATISTICS


@dataclass(frozen=True, eq=False)
class Basis:
    """The words that index a Hankel matrix: prefixes P for its rows, and suffixes S for its
    columns.

    Attributes
    ----------
    prefixes : Words
        Distinct words, λ first. They are prefix-closed: all prefixes of a prefix are among them
        (Theorem 2 of the paper needs this).
    suffixes : Words
        Distinct words, λ first.
    num_symbols : int
    alphabet : Alphabet or None
        The alphabet of the sample from which the basis was selected; None if symbols are known only
        by their numbers.

    Raises
    ------
    RecipeError
        If one of these conditions does not hold.

    Examples
    --------
    >>> from nlwfa_core import as_sample, select_basis
    >>> basis = select_basis(as_sample(["ab", "ab", "b"]), 3, 2)
    >>> basis.alphabet.decode(basis.prefixes[1]), len(basis.prefixes), len(basis.suffixes)
    ('a', 3, 2)
    """

    prefixes: Words
    suffixes: Words
    num_symbols: int
    alphabet: Alphabet | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        check_alphabet(self.alphabet, self.num_symbols, "basis")
        for name in ("prefixes", "suffixes"):
            object.__setattr__(
                self, name, getattr(self, name).in_alphabet(self.alphabet, "the basis's")
            )
        for name, words in (("prefixes", self.prefixes), ("suffixes", self.suffixes)):
            check_symbols(words, self.num_symbols)
            if len(words) == 0 or words[0] != ():
                first = f"the word {words[0]}" if len(words) else f"no {name}"
                raise RecipeError(
                    f"the first of a basis's {name} must be the empty word λ; got {first:.60}"
                )
            num_distinct = len(distinct(words)[0])
            if num_distinct != len(words):
                raise RecipeError(
                    f"a basis's {name} must differ from each other; got {len(words):,}, of which "
                    f"{num_distinct:,} are distinct"
                )
        closed = self.prefix_tree.num_nodes
        if closed != len(self.prefixes):
            raise RecipeError(
                f"the prefixes must be prefix-closed; got {len(self.prefixes)}, but with all "
                f"their own prefixes there are {closed}"
            )

    def __repr__(self) -> str:
        """Describe the basis in a line.

        >>> Basis.up_to("ab", 1, 2)
        <Basis of 3 prefixes (λ, a, b) and 7 suffixes (λ, a, b, aa, ab, ba, …); 2 symbols: a, b>
        """
        alphabet = self.alphabet
        symbols = alphabet.summary if alphabet else plural(self.num_symbols, "symbol")
        sides = []
        for name, words in (("prefixes", self.prefixes), ("suffixes", self.suffixes)):
            first = first_words(replace(words, alphabet=alphabet))
            sides.append(f"{len(words):,} {name} ({first})")
        return f"<Basis of {' and '.join(sides)}; {symbols}>"

    @cached_property
    def prefix_tree(self) -> Trie:
        return Trie.of(self.prefixes, self.num_symbols)

    @classmethod
    @check_types
    def up_to(
        cls, alphabet: Alphabet | str | Iterable[str] | int, prefix_length: int, suffix_length: int
    ) -> Basis:
        """Make the basis of all words up to a length, whether or not they occur in a sample.
        Shorter words come first.

        A function of rank k is determined by its values on such a basis with prefix_length =
        suffix_length = k − 1, because its Hankel matrix over that basis has rank k (Schützenberger
        1961).

        >>> basis = Basis.up_to("ab", 1, 2)
        >>> list(basis.prefixes), list(basis.suffixes)
        ([(), (0,), (1,)], [(), (0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1)])

        Parameters
        ----------
        alphabet : Alphabet, iterable of symbols, or int
            A number n stands for the symbols "0" … "n − 1".
        prefix_length, suffix_length : int
            The numbers of symbols in the longest words.

        Raises
        ------
        RecipeError
            If a length is negative, or there would be more words than the limit.
        """
        symbols = as_alphabet(alphabet)
        n = len(symbols)
        return cls(
            all_words("prefix", n, prefix_length), all_words("suffix", n, suffix_length), n, symbols
        )


def all_words(name: str, num_symbols: int, max_length: int) -> Words:
    """List all words up to a length, by length, then alphabetically.

    `name`: the name of the words in error messages.
    """
    check_at_least(f"{name}_length", max_length, 0)
    number = 1
    for length in range(max_length):
        number += num_symbols ** (length + 1)
        limits.check_limit(
            f"the number of words up to {name}_length {max_length:,}", number, "basis"
        )
    return Words.of(
        word
        for length in range(max_length + 1)
        for word in product(range(num_symbols), repeat=length)
    )


@check_types
def select_basis(
    sample: SampleLike, num_prefixes: int, num_suffixes: int, statistic: str = "string"
) -> Basis:
    """Select the most frequent prefixes and suffixes of a sample, with ties broken by length, then
    alphabetically.

    What counts as frequent depends on the statistic. With "string", prefixes and suffixes are
    ranked by the number of strings that begin or end with them. With "prefix", prefixes are ranked
    in the same way, but the suffixes are the factors with the most occurrences, because they may
    end anywhere in a string. With "factor", both lists are the most frequent factors. With "prefix"
    and "factor", single symbols precede all other suffixes except λ, because their columns are used
    to predict next symbols. With "suffix", suffixes are ranked as for "string", but the prefixes
    are the most frequent factors, because they may begin anywhere in a string.

    λ has the highest frequency and comes first in both lists, and the prefixes are prefix-closed.
    If the sample has fewer prefixes or suffixes than requested, all of them are selected.

    >>> basis = select_basis(["ab", "abb", "b"], num_prefixes=3, num_suffixes=2)
    >>> [basis.alphabet.decode(prefix) for prefix in basis.prefixes]
    ['λ', 'a', 'ab']

    Parameters
    ----------
    sample : Sample, or strings as `strings.plain.as_sample` takes them
    num_prefixes, num_suffixes : int
    statistic : str
        "string", "prefix", "factor" or "suffix".

    Raises
    ------
    RecipeError
        If a number is below 1 or above the limit, the statistic is unknown, or the sample is empty.
    """
    check_one_of("statistic", statistic, STATISTICS)
    for name, number in (("num_prefixes", num_prefixes), ("num_suffixes", num_suffixes)):
        check_at_least(name, number, 1)
        limits.check_limit(name, number, "basis")
    sample = as_sample(sample)
    if not len(sample.words):
        raise RecipeError(
            "the sample has no strings: there is nothing to build a Hankel matrix from"
        )
    strings = (sample.words, sample.counts, sample.num_symbols)
    forward, begins = frequent_prefixes(
        *strings, num_prefixes, "anywhere" if statistic in ("factor", "suffix") else "forward"
    )
    prefixes = forward.prefixes(np.argsort(-begins, kind="stable")[:num_prefixes])
    if statistic in ("prefix", "factor"):
        tree, counts = frequent_prefixes(*strings, num_suffixes + sample.num_symbols, "anywhere")
        order = np.lexsort((-counts, tree.depth > 1, tree.depth > 0))
        return Basis(
            prefixes, tree.prefixes(order[:num_suffixes]), sample.num_symbols, sample.alphabet
        )
    backward, counts = frequent_prefixes(*strings, num_suffixes, "backward")
    # Only suffixes at least as frequent as the last one selected have to be sorted.
    least = np.partition(counts, -num_suffixes)[-num_suffixes] if num_suffixes < len(counts) else 1
    nodes = np.flatnonzero(counts >= least)
    suffixes = nodes[
        np.lexsort((_alphabetical(backward, nodes), backward.depth[nodes], -counts[nodes]))
    ][:num_suffixes]
    return Basis(
        prefixes, backward.prefixes(suffixes).reversed(), sample.num_symbols, sample.alphabet
    )


def _alphabetical(backward: Trie, nodes: IntArray) -> IntArray:
    """Compute the alphabetical rank of each node's word, read forwards, among the words of the same
    length.

    `backward`: a tree of reversed words. `nodes` (n,): nodes in ascending order, with all of their
    parents.
    """
    rank = np.zeros(backward.num_nodes, dtype=np.int64)
    bounds = np.searchsorted(nodes, backward.levels)
    for start, end in pairwise([*bounds[bounds < len(nodes)].tolist(), len(nodes)]):
        level = nodes[start:end]
        rank[
            level[np.lexsort((rank[np.maximum(backward.parent[level], 0)], backward.symbol[level]))]
        ] = np.arange(end - start)
    return rank[nodes]
