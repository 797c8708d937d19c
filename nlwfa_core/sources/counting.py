"""Count the strings of files that do not fit into memory, piece by piece; counts of several files
can be added up.

Only the distinct strings are in memory. If even these are too many, rare ones are dropped, and
`Counts` states how many were dropped and by how much a count can be too low. As in lossy counting
(Manku, Motwani 2002), each string in memory has a count, and a bound on how often it occurred
before it was counted. Which strings are dropped, and when, follows Misra and Gries (1982); counts
made by this rule can be merged (Agarwal et al. 2012). Below, a string in memory is *held*, and a
*cut* is the dropping of rare strings.

**The bound.** Let t(x) be how often x was read, N = Σ t(x), s(x) = `seen` and m(x) = `missed` of a
string that is held, and E = `most_missed`; a string that is not held has s = 0 and m = E. Then, at
any time:

1. s(x) ≤ t(x) ≤ s(x) + m(x) and m(x) ≤ E. So a count, and with it the entry H[u, v] of the
   statistic `string` for uv = x, is at most E too low. It is exact if m(x) = 0, which holds for
   every string that came early and was never dropped.
2. The count of a prefix, a suffix or any other set of strings is at most D = N − Σ s(x) too low: D
   strings were dropped in all.
3. (k + 1) E ≤ N, if every cut kept k strings or more: a string that was read more than N / (k + 1)
   times is held.

Proof. Call e(x) = s(x) + m(x) − E the excess; it is 0 if x is not held. Reading x adds 1 to s(x),
and (1) stays true: if x was not held, it is now, with s = 1 and m = E. A cut keeps the k strings of
the largest excess and raises E by c, the largest excess that it drops: t(x) ≤ s(x) + m(x) ≤ E + c,
the new E, for each x dropped; the others do not change. (2) holds because t(x) − s(x) is never
negative, and sums to D. For (3), consider Σ e(x), which is never negative. Reading a string adds 1
to it; a cut lowers each of the k + 1 largest excesses by c, so takes at least (k + 1) c away. Hence
N − (k + 1) E ≥ Σ e(x) ≥ 0. Merging adds the s, m, E, N and e of both sides, and so all three
statements.

Frequencies, as shares of N, are never too high, and too low by at most E / N (a string, an entry of
H) or D / N (a prefix, a suffix). Those of all strings that are held sum to 1 − D / N.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import compress, islice, pairwise, repeat
from typing import Any

import numpy as np

from ..errors import check_at_least, plural
from ..strings.sample import Sample
from ..strings.words import Alphabet, Words, offsets_of
from .string_files import Block, parse_pautomac, pieces

# distinct strings that are held in memory unless the caller asks for another number
MAX_DISTINCT = 1_000_000


@dataclass(frozen=True, eq=False)
class Counts:
    """Holds how often each string of a file occurs, counted in limited memory: rare strings may be
    missing, and counts too low.
    """

    num_symbols: int
    # The strings in memory, in the order in which they were added, each with the number of times it
    # was read since it was added. A string is the bytes of its symbols, as integers of
    # `symbol_type(num_symbols)`.
    seen: Counter[bytes]
    # for a string in memory, an upper bound on how often it was read before it was added; 0 for
    # strings without an entry
    missed: dict[bytes, int]
    most_missed: int  # an upper bound on how often any string that is not in memory was read
    num_strings: int  # the number of strings that were read, repeated ones included
    notes: tuple[str, ...] = ()  # what a user should know about the file, one sentence each

    @property
    def num_dropped(self) -> int:
        """Return the number of strings that were read but are in no count."""
        return self.num_strings - self.seen.total()

    @property
    def bound(self) -> str:
        """Say how many strings were dropped, and by how much counts can be too low; empty if no
        string was dropped.

        >>> print(count_strings([b"5 2\\n1 0\\n1 0\\n1 1\\n0\\n1 0\\n"], max_distinct=2).bound)
        2 of 5 strings (40.00%) dropped as rare: counts are at most 1 (a string, an entry of H) or 2 (a prefix, a suffix) too low.
        """  # noqa: E501
        if not self.num_dropped:
            return ""
        dropped = (
            f"{self.num_dropped:,} of {plural(self.num_strings, 'string')} "
            f"({self.num_dropped / self.num_strings:.2%})"
        )
        low = (
            f"{self.most_missed:,} (a string, an entry of H) or {self.num_dropped:,} (a prefix, "
            "a suffix)"
        )
        return f"{dropped} dropped as rare: counts are at most {low} too low."

    def sample(self) -> Sample:
        """Make a sample of the strings in memory and their counts, over the alphabet 0 …
        num_symbols − 1.
        """
        dtype = symbol_type(self.num_symbols)
        lengths = (
            np.fromiter(map(len, self.seen), dtype=np.int64, count=len(self.seen)) // dtype.itemsize
        )
        symbols = np.frombuffer(b"".join(self.seen), dtype=dtype).astype(np.int64)
        counts = np.fromiter(self.seen.values(), dtype=np.int64, count=len(self.seen))
        words = Words(symbols, offsets_of(lengths))
        return Sample(words, counts, Alphabet.numbered(self.num_symbols), self.num_dropped)


def symbol_type(num_symbols: int) -> np.dtype[Any]:
    """Return the smallest unsigned integer type that can hold all symbols.

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
        The bytes of the file in order, divided at any positions, for example `iter(lambda:
        file.read(size), b"")`.
    max_distinct : int
        The largest number of distinct strings in memory. When there are more, half of them are
        dropped at once, to drop rarely.

    Raises
    ------
    FormatError
        If the file is malformed: see `sources.string_files.parse_pautomac`.
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
    """Add up the counts of two files, over the larger alphabet. If no string was dropped, one pass
    over both gives the same counts.

    >>> shards = [count_strings([data]) for data in (b"2 2\\n1 0\\n1 1\\n", b"1 3\\n1 1\\n")]
    >>> merge(*shards).sample().counts.tolist()
    [1, 2]
    """
    _check_room(max_distinct)
    num_symbols = max(first.num_symbols, second.num_symbols)
    first, second = _with_alphabet(first, num_symbols), _with_alphabet(second, num_symbols)
    seen = Counter(first.seen)
    seen.update(second.seen)
    most_missed = first.most_missed + second.most_missed
    missed = dict[bytes, int]()
    if most_missed:
        missed = {
            string: bound
            for string in seen
            if (bound := _missed(first, string) + _missed(second, string))
        }
    if len(seen) > max_distinct:
        most_missed = _cut(seen, missed, most_missed, max_distinct)
    notes = tuple(dict.fromkeys((*first.notes, *second.notes)))
    return Counts(
        num_symbols, seen, missed, most_missed, first.num_strings + second.num_strings, notes
    )


def _check_room(max_distinct: int) -> None:
    check_at_least("max_distinct", max_distinct, 1)


def _keys(block: Block) -> list[bytes]:
    dtype = symbol_type(block.num_symbols)
    data = block.words.symbols.astype(dtype).tobytes()
    return [
        data[start:end] for start, end in pairwise((block.words.offsets * dtype.itemsize).tolist())
    ]


def _cut(seen: Counter[bytes], missed: dict[bytes, int], most_missed: int, keep: int) -> int:
    """Drop all but the `keep` strings with the largest excess, the earlier ones if tied. Return the
    new E.

    The module's docstring defines the excess and E. There must be more than `keep` strings.
    """
    excess = np.fromiter(seen.values(), dtype=np.int64, count=len(seen)) - most_missed
    excess += np.fromiter(map(missed.get, seen, repeat(0)), dtype=np.int64, count=len(seen))
    order = np.argsort(-excess, kind="stable")
    dropped = np.zeros(len(seen), dtype=bool)
    dropped[order[keep:]] = True
    for string in list(compress(seen, dropped.tolist())):
        del seen[string]
        missed.pop(string, None)
    return most_missed + int(excess[order[keep]])


def _missed(counts: Counts, string: bytes) -> int:
    return counts.missed.get(string, 0) if string in counts.seen else counts.most_missed


def _with_alphabet(counts: Counts, num_symbols: int) -> Counts:
    """Rewrite the counts for an alphabet that is at least as large, because its symbols may need
    more bytes.
    """
    old, new = symbol_type(counts.num_symbols), symbol_type(num_symbols)
    if old == new:
        return counts

    def rewrite(string: bytes) -> bytes:
        return np.frombuffer(string, dtype=old).astype(new).tobytes()

    seen = Counter({rewrite(string): count for string, count in counts.seen.items()})
    missed = {rewrite(string): bound for string, bound in counts.missed.items()}
    return Counts(num_symbols, seen, missed, counts.most_missed, counts.num_strings, counts.notes)
