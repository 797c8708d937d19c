"""Counting the strings of corpora that do not fit into memory: piece by piece, shard by shard.

What is held are distinct strings, not the file. Where even these are too many, rare ones are dropped, and a `Counts` says how many
and by how much a count can be too low. Kept are, as in lossy counting (Manku, Motwani 2002), what was seen of each string and how
much may have been missed before it was taken up; what is dropped, and when, is the rule of Misra and Gries (1982), which merges
(Agarwal et al. 2012).

**The bound.** Let t(x) be how often x was read, N = Σ t(x), s(x) = `seen` and m(x) = `missed` of a string that is held, E =
`most_missed`; a string that is not held has s = 0 and m = E. Then, always:

1. s(x) ≤ t(x) ≤ s(x) + m(x) and m(x) ≤ E. So a count, and with it the entry H[u, v] of the statistic `string` for uv = x, is at
   most E too low; where m(x) = 0 it is exact: so it is for any string that came early and was never dropped.
2. A prefix, a suffix or any other set of strings is counted at most D = N − Σ s(x) too low: D strings were dropped in all.
3. (k + 1) E ≤ N, if every cut kept k strings or more: a string that was read more than N / (k + 1) times is held.

Proof. Call e(x) = s(x) + m(x) − E the excess; it is 0 where x is not held. Reading x adds 1 to s(x), and (1) stays true: if x was
not held, it is now, with s = 1 and m = E. A cut keeps the k strings of the largest excess and raises E by c, the largest excess
that it drops: for each x dropped t(x) ≤ s(x) + m(x) ≤ E + c, the new E; what is kept does not change. (2) holds since t(x) − s(x)
is never negative, and sums to D. For (3), look at Σ e(x), which is never negative: reading a string adds 1 to it; a cut lowers the
k + 1 largest excesses by c each, so takes (k + 1) c away or more. Hence N − (k + 1) E ≥ Σ e(x) ≥ 0. Merging adds the s, m, E, N
and e of both sides, and with them what was shown of each.

As frequencies, shares of N: never too high, and too low by at most E / N (a string, an entry of H) or D / N (a prefix, a suffix).
Those of all strings that are held sum to 1 − D / N.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import compress, islice, pairwise, repeat
from typing import Any

import numpy as np

from ..errors import RecipeError, plural
from ..strings.sample import Sample
from ..strings.words import Alphabet, Words, offsets_of
from .files import Block, parse_pautomac, pieces

MAX_DISTINCT = 1_000_000  # distinct strings held, unless the caller asks for another number


@dataclass(frozen=True, eq=False)
class Counts:
    """How often each string was read.

    Attributes
    ----------
    num_symbols : int
    seen : Counter of bytes
        The strings that are held, in the order in which they were taken up, and how often each was read since. A string is its
        symbols, end to end, as numbers of `symbol_type(num_symbols)`.
    missed : dict of bytes to int
        How often, at most, a string that is held was read before that; 0 for those that are not listed.
    most_missed : int
        How often, at most, a string was read that is not held.
    num_strings : int
        All that were read.
    notes : tuple of str
        What a user should know of the file, a sentence each.
    """

    num_symbols: int
    seen: Counter[bytes]
    missed: dict[bytes, int]
    most_missed: int
    num_strings: int
    notes: tuple[str, ...] = ()

    @property
    def num_dropped(self) -> int:
        """Strings read that are not counted."""
        return self.num_strings - self.seen.total()

    @property
    def bound(self) -> str:
        """A sentence on what was dropped, and what that does to counts; empty if nothing was.

        >>> print(count_strings([b"5 2\\n1 0\\n1 0\\n1 1\\n0\\n1 0\\n"], max_distinct=2).bound)
        2 of 5 strings (40.00%) dropped as rare: counts are at most 1 (a string, an entry of H) or 2 (a prefix, a suffix) too low.
        """
        if not self.num_dropped:
            return ""
        dropped = f"{self.num_dropped:,} of {plural(self.num_strings, 'string')} ({self.num_dropped / self.num_strings:.2%})"
        low = f"{self.most_missed:,} (a string, an entry of H) or {self.num_dropped:,} (a prefix, a suffix)"
        return f"{dropped} dropped as rare: counts are at most {low} too low."

    def sample(self) -> Sample:
        """The strings that are held, as a sample over the numbers 0 … num_symbols − 1."""
        kind = symbol_type(self.num_symbols)
        lengths = np.fromiter(map(len, self.seen), dtype=np.int64, count=len(self.seen)) // kind.itemsize
        symbols = np.frombuffer(b"".join(self.seen), dtype=kind).astype(np.int64)
        counts = np.fromiter(self.seen.values(), dtype=np.int64, count=len(self.seen))
        words = Words(symbols, offsets_of(lengths))
        return Sample(words, counts, Alphabet.numbered(self.num_symbols), self.num_dropped)


def symbol_type(num_symbols: int) -> np.dtype[Any]:
    """The smallest unsigned integers that hold all symbols.

    >>> [symbol_type(size).name for size in (2, 256, 257)]
    ['uint8', 'uint8', 'uint16']
    """
    return np.min_scalar_type(num_symbols - 1)


def count_strings(reads: Iterable[bytes], max_distinct: int = MAX_DISTINCT) -> Counts:
    """Count the strings of a PAutomaC or SPiCe file of any size.

    >>> counts = count_strings([b"3 2\\n2 0 1\\n1", b" 1\\n2 0 1\\n"])
    >>> list(counts.sample().words), counts.sample().counts.tolist()
    ([(0, 1), (1,)], [2, 1])

    Parameters
    ----------
    reads : iterable of bytes
        The file in order, cut anywhere: `iter(lambda: file.read(size), b"")`.
    max_distinct : int
        How many distinct strings are held, at most. Where there are more, half of them are dropped, so that this is rarely done.

    Raises
    ------
    FormatError
        As `sources.files.parse_pautomac`.
    """
    _check_room(max_distinct)
    seen: Counter[bytes] = Counter()
    missed: dict[bytes, int] = {}
    most_missed = num_strings = 0
    for block in parse_pautomac(pieces(reads)):
        num_held = len(seen)
        seen.update(_keys(block))
        num_strings += len(block.words)
        if most_missed:
            missed.update(zip(islice(reversed(seen), len(seen) - num_held), repeat(most_missed)))
        if len(seen) > max_distinct:
            most_missed = _cut(seen, missed, most_missed, max(1, max_distinct // 2))
    return Counts(block.num_symbols, seen, missed, most_missed, num_strings, block.notes)


def merge(first: Counts, second: Counts, max_distinct: int = MAX_DISTINCT) -> Counts:
    """The counts of two shards as one: those of a single pass over both, if nothing was dropped. The larger alphabet holds.

    >>> shards = [count_strings([data]) for data in (b"2 2\\n1 0\\n1 1\\n", b"1 3\\n1 1\\n")]
    >>> merge(*shards).sample().counts.tolist()
    [1, 2]
    """
    _check_room(max_distinct)
    num_symbols = max(first.num_symbols, second.num_symbols)
    first, second = _widened(first, num_symbols), _widened(second, num_symbols)
    seen = Counter(first.seen)
    seen.update(second.seen)
    most_missed = first.most_missed + second.most_missed
    missed = {string: most for string in seen if (most := _most(first, string) + _most(second, string))} if most_missed else {}
    if len(seen) > max_distinct:
        most_missed = _cut(seen, missed, most_missed, max_distinct)
    notes = tuple(dict.fromkeys((*first.notes, *second.notes)))
    return Counts(num_symbols, seen, missed, most_missed, first.num_strings + second.num_strings, notes)


def _check_room(max_distinct: int) -> None:
    if max_distinct < 1:
        raise RecipeError(f"max_distinct: {max_distinct} given, at least 1 needed")


def _keys(block: Block) -> list[bytes]:
    kind = symbol_type(block.num_symbols)
    data = block.words.symbols.astype(kind).tobytes()
    return [data[start:end] for start, end in pairwise((block.words.offsets * kind.itemsize).tolist())]


def _cut(seen: Counter[bytes], missed: dict[bytes, int], most_missed: int, keep: int) -> int:
    """Drop all but the `keep` strings of the largest excess, of equal ones the first; there are more. Returns the new E."""
    excess = np.fromiter(seen.values(), dtype=np.int64, count=len(seen)) - most_missed
    excess += np.fromiter(map(missed.get, seen, repeat(0)), dtype=np.int64, count=len(seen))
    order = np.argsort(-excess, kind="stable")
    dropped = np.zeros(len(seen), dtype=bool)
    dropped[order[keep:]] = True
    for string in list(compress(seen, dropped.tolist())):
        del seen[string]
        missed.pop(string, None)
    return most_missed + int(excess[order[keep]])


def _most(counts: Counts, string: bytes) -> int:
    return counts.missed.get(string, 0) if string in counts.seen else counts.most_missed


def _widened(counts: Counts, num_symbols: int) -> Counts:
    """The same counts over an alphabet that is at least as large."""
    old, new = symbol_type(counts.num_symbols), symbol_type(num_symbols)
    if old == new:
        return counts

    def wide(string: bytes) -> bytes:
        return np.frombuffer(string, dtype=old).astype(new).tobytes()

    seen = Counter({wide(string): count for string, count in counts.seen.items()})
    missed = {wide(string): most for string, most in counts.missed.items()}
    return Counts(num_symbols, seen, missed, counts.most_missed, counts.num_strings, counts.notes)
