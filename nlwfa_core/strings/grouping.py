"""Group equal words (`distinct`), equal keys (`unique_keys`) and equal symbols (`by_symbol`).

A 64-bit fingerprint of each word finds words that may be equal; then these words are compared, because different words may share a
fingerprint. A dictionary of tuples would need ten times the memory and time: an uploaded file may have 20 million words.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from .words import SYMBOLS_AT_ONCE, IntArray, Word, Words

PARTS = 8  # fingerprints are sorted in this many parts, one after another: sorting all together would need several times the memory
MAX_KEYS_PER_MARK = 64  # if there are more than this many possible keys for each key, sorting is faster than marking


def distinct(words: Words) -> tuple[IntArray, IntArray]:
    """Find the first position of each distinct word, and for each word the index of the distinct word that equals it.

    >>> first, inverse = distinct(Words.of([(0,), (1,), (0,)]))
    >>> first.tolist(), inverse.tolist()
    ([0, 1], [0, 1, 0])

    Returns
    -------
    first : array, shape (num_distinct,), ascending
    inverse : array, shape (num_words,)
    """
    first, inverse = _group(_fingerprints(words))
    collisions: list[int] = []  # words that differ from the first word with the same fingerprint
    for rows in words.blocks():
        leaders = first[inverse[rows]]
        rows, leaders = rows[rows != leaders], leaders[rows != leaders]
        words_of_leaders, words_of_rows = words.take(leaders), words.take(rows)
        if (words_of_leaders.offsets != words_of_rows.offsets).any() or (words_of_leaders.symbols != words_of_rows.symbols).any():
            pairs = zip(rows.tolist(), leaders.tolist(), strict=True)
            collisions += [row for row, leader in pairs if words[row] != words[leader]]
    if collisions:
        # Different words have the same fingerprint, by chance or by design: a dictionary tells them apart, which is slow but exact.
        numbers = dict[Word, int]()
        for row in np.flatnonzero(np.isin(inverse, inverse[collisions])).tolist():
            inverse[row] = len(first) + numbers.setdefault(words[row], len(numbers))
        return _group(inverse.view(np.uint64))
    return first, inverse


def _fingerprints(words: Words) -> npt.NDArray[np.uint64]:
    """Compute a 64-bit fingerprint of each word, shape (num_words,). Equal words have equal fingerprints."""
    longest = max((int(np.diff(words.offsets[rows[0] : rows[-1] + 2]).max()) for rows in words.blocks()), default=0)
    powers = np.multiply.accumulate(np.full(longest + 1, 0x9E3779B97F4A7C15, dtype=np.uint64))
    fingerprints = np.empty(len(words), dtype=np.uint64)
    for rows in words.blocks():
        offsets = words.offsets[rows[0] : rows[-1] + 2].astype(np.int64)
        mixed = words.symbols[offsets[0] : offsets[-1]].astype(np.uint64)
        offsets -= offsets[0]
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], np.diff(offsets))
        mixed += np.uint64(0x632BE59BD9B4E019)
        mixed *= powers[within]
        mixed ^= mixed >> np.uint64(29)
        sums = np.concatenate((np.zeros(1, dtype=np.uint64), np.cumsum(mixed, dtype=np.uint64)))
        fingerprints[rows] = np.diff(sums[offsets])
    return fingerprints


def _group(keys: npt.NDArray[np.uint64]) -> tuple[IntArray, IntArray]:
    """Find the first position of each distinct key, ascending, and for each key the index of the distinct key that equals it."""
    parts = (keys % np.uint64(PARTS)).astype(np.uint8)
    inverse = np.empty(len(keys), dtype=np.int64)  # holds the first position of each key until the last lines turn it into an index
    for part in range(PARTS):
        members = np.flatnonzero(parts == part)
        order = members[np.argsort(keys[members])]  # an unstable sort, which is faster than the stable one of np.unique
        ordered = keys[order]
        starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1]))[: len(ordered)])
        inverse[order] = np.repeat(np.minimum.reduceat(order, starts), np.diff(starts, append=len(order)))
    del keys, parts, members, order, ordered
    is_first = np.zeros(len(inverse), dtype=bool)
    is_first[inverse] = True
    number = np.cumsum(is_first, dtype=np.min_scalar_type(len(inverse)))
    for start in range(0, len(inverse), SYMBOLS_AT_ONCE):
        inverse[start : start + SYMBOLS_AT_ONCE] = number[inverse[start : start + SYMBOLS_AT_ONCE]]
    inverse -= 1
    return np.flatnonzero(is_first), inverse


def unique_keys(keys: IntArray, bound: int) -> tuple[IntArray, IntArray]:
    """Compute `np.unique(keys, return_inverse=True)` for keys in 0 … bound − 1 by marking the keys that occur, without sorting."""
    if bound > MAX_KEYS_PER_MARK * len(keys):
        return np.unique(keys, return_inverse=True)
    present, rank = np.zeros(bound, dtype=bool), np.empty(bound, dtype=np.int64)
    present[keys] = True
    unique = np.flatnonzero(present)
    rank[unique] = np.arange(len(unique))
    return unique, rank[keys]


def by_symbol(symbols: IntArray) -> Iterator[tuple[int, IntArray]]:
    """Yield each symbol that occurs, in ascending order, with the array of its positions, also ascending."""
    order = np.argsort(symbols, kind="stable")
    counts = np.bincount(symbols)
    present = np.flatnonzero(counts)
    bounds = pairwise([0, *np.cumsum(counts[present]).tolist()])
    for symbol, (start, end) in zip(present.tolist(), bounds, strict=True):
        yield symbol, order[start:end]
