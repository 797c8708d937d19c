"""Count the strings of files that do not fit in memory, piece by piece. The counts of several files
can be added up.

Only the distinct strings are kept in memory. If these are too many, rare strings are dropped, and
`Counts` states how many were dropped and by how much a count can be too low. As in lossy counting
(Manku, Motwani 2002), each string in memory has a count, and a bound on how often it occurred
before it was counted. Which strings are dropped, and when, follows Misra and Gries (1982); counts
made by this rule can be merged (Agarwal et al. 2012). Below, a string in memory is *held*, and a
*cut* is the dropping of rare strings.

**The bound.** Let t(x) be how often x was read and N = Σ t(x). Let s(x) = `seen` and m(x) =
`missed` for a string that is held, and E = `most_missed`; a string that is not held has s = 0 and m
= E. Then, at any time:

1. s(x) ≤ t(x) ≤ s(x) + m(x) and m(x) ≤ E. So a count, and with it the entry H[u, v] of the
   statistic `string` for uv = x, is too low by at most E. It is exact if m(x) = 0, which holds for
   every string that was held before the first cut and never dropped.
2. The count of a prefix, a suffix or any other set of strings is too low by at most D = N − Σ s(x):
   D is the number of dropped strings.
3. (k + 1) E ≤ N, if every cut kept k strings or more. So a string that was read more than N / (k +
   1) times is held.

Proof. Call e(x) = s(x) + m(x) − E the excess; it is 0 if x is not held. Reading x adds 1 to s(x),
and (1) remains true: if x was not held, it is now held, with s = 1 and m = E. A cut keeps the k
strings of the largest excess and raises E by c, the largest excess that it drops: t(x) ≤ s(x) +
m(x) ≤ E + c, the new E, for each x dropped; the others do not change. (2) holds because t(x) − s(x)
is never negative, and sums to D. For (3), consider Σ e(x), which is never negative. Reading a
string adds 1 to it; a cut lowers each of the k + 1 largest excesses by c, so it removes at least (k
+ 1) c. Hence N − (k + 1) E ≥ Σ e(x) ≥ 0. Merging adds the s, m, E, N and e of both sides, so all
three statements still hold.

Frequencies, as shares of N, are never too high, and are too low by at most E / N (a string, an
entry of H) or D / N (a prefix, a suffix). The frequencies of all held strings sum to 1 − D / N.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, compress, islice, pairwise, repeat
from typing import Any

import numpy as np

from ..errors import FormatError, RecipeError, check_at_least, plural
from ..strings.sample import Sample
from ..strings.words import LAMBDA, Alphabet, Words, offsets_of
from .other_formats import Cells
from .reading import Reading
from .recognition import MOST_ROWS, check_text
from .string_files import (
    HEAD_BYTES,
    Block,
    counted_table,
    layout_of,
    line_blocks,
    other_cells,
    parse_pautomac,
    pieces,
    positive_count,
    separated,
)

# distinct strings that are held in memory unless the caller asks for another number
MAX_DISTINCT = 1_000_000


@dataclass(frozen=True, eq=False)
class Counts:
    """Holds how often each string of a file occurs, counted in limited memory. Rare strings may be
    missing, and counts may be too low.
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
        """Return the number of strings that were read but are not in the counts."""
        return self.num_strings - self.seen.total()

    @property
    def bound(self) -> str:
        """State how many strings were dropped, and by how much counts can be too low; empty if no
        string was dropped.

        >>> print(count_strings([b"5 2\\n1 0\\n1 0\\n1 1\\n0\\n1 0\\n"], max_distinct=2).bound)
        2 of 5 strings (40.00%) dropped as rare: counts are at most 1 (a string, an entry of H) or 2 (a prefix, a suffix) too low.
        """  # noqa: E501
        return _bound(self.num_dropped, self.num_strings, self.most_missed)

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


def _bound(num_dropped: int, num_strings: int, most_missed: int) -> str:
    """Write the sentence of `Counts.bound`."""
    if not num_dropped:
        return ""
    dropped = (
        f"{num_dropped:,} of {plural(num_strings, 'string')} ({num_dropped / num_strings:.2%})"
    )
    low = f"{most_missed:,} (a string, an entry of H) or {num_dropped:,} (a prefix, a suffix)"
    return f"{dropped} dropped as rare: counts are at most {low} too low."


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
        dropped at once, so cuts are rare.

    Raises
    ------
    FormatError
        If the file is malformed: see `sources.string_files.parse_pautomac`.
    """
    held = _Held(max_distinct)
    for block in parse_pautomac(pieces(reads)):
        held.add(Counter(_keys(block)))
    return Counts(
        block.num_symbols,
        held.seen,
        held.missed,
        held.most_missed,
        held.num_strings,
        block.notes,
    )


class _Held:
    """The strings in memory, with the bound of the module's docstring."""

    def __init__(self, max_distinct: int) -> None:
        _check_room(max_distinct)
        self.seen: Counter[bytes] = Counter()
        self.missed: dict[bytes, int] = {}
        self.most_missed = 0
        self.num_strings = 0
        self._max_distinct = max_distinct

    def add(self, counts: Counter[bytes]) -> None:
        """Add strings, each with the number of times that it was read."""
        num_held = len(self.seen)
        self.seen.update(counts)
        self.num_strings += counts.total()
        if self.most_missed:
            new = islice(reversed(self.seen), len(self.seen) - num_held)
            self.missed.update(zip(new, repeat(self.most_missed)))
        if len(self.seen) > self._max_distinct:
            keep = max(1, self._max_distinct // 2)
            self.most_missed = _cut(self.seen, self.missed, self.most_missed, keep)


@dataclass(frozen=True, eq=False)
class TextCounts:
    """Holds how often each string of a file of any format and size occurs, counted as in `Counts`.

    Attributes
    ----------
    seen : Counter of bytes
        The strings in memory, as text in UTF-8, in the order of the file, with their counts.
    in_tokens : bool
        Whether symbols are separated by spaces; otherwise each character is a symbol.
    most_missed : int
        The most by which the count of a string can be too low.
    num_strings : int
        The number of strings that were read, including repeated strings.
    format : str
        The format of the file, one of FORMATS.
    detail : str
        The columns in which the strings were found, as the end of a sentence.
    notes : tuple of str
        Notes about the file for the user, one sentence each.
    """

    seen: Counter[bytes]
    in_tokens: bool
    most_missed: int
    num_strings: int
    format: str
    detail: str
    notes: tuple[str, ...]

    @property
    def bound(self) -> str:
        """State how many strings were dropped, as `Counts.bound` does."""
        num_dropped = self.num_strings - self.seen.total()
        return _bound(num_dropped, self.num_strings, self.most_missed)

    @property
    def csv(self) -> str:
        """Write the strings and their counts as a table that every command can read."""
        counts = ((string.decode(), count) for string, count in self.seen.items())
        return strings_csv(counts, self.in_tokens)


def strings_csv(counts: Iterable[tuple[str, int]], in_tokens: bool) -> str:
    """Write strings and their counts as a table. Its first line states how strings are split into
    symbols, because this may not be clear from some of the strings alone.

    >>> print(strings_csv([("ab", 2), ("a,b", 1)], in_tokens=False), end="")
    characters,count
    ab,2
    "a,b",1
    """
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(("tokens" if in_tokens else "characters", "count"))
    writer.writerows(counts)
    return buffer.getvalue()


def count_text(
    reads: Iterable[bytes], reading: Reading | None = None, max_distinct: int = MAX_DISTINCT
) -> TextCounts:
    """Count the strings of a file of any format and size.

    >>> counts = count_text([b">s1\\nAC", b"GT\\n>s2\\nGG\\n>s3\\nACGT\\n"])
    >>> print(counts.csv, end="")
    characters,count
    ACGT,2
    GG,1

    At most `max_distinct` distinct strings are kept in memory. For a log of events, its cases and
    two or three numbers for each event are also kept.

    `reads`: the bytes of the file in order, divided at any positions. `reading`: how it is read.

    Raises FormatError if the file can't be read.
    """
    reading = reading or Reading()
    if reading.window:
        raise RecipeError(
            "window must be 0 for a table of counts: windows need the order of the strings; got "
            f"{reading.window:,}"
        )
    held = _Held(max_distinct)
    stream = pieces(_in_utf8(reads, reading.encoding))
    head: list[tuple[int, bytes]] = []
    rows: list[str] = []
    for numbered_piece in stream:
        head.append(numbered_piece)
        for block in line_blocks(numbered_piece[1]):
            rows += [row for row in block if row.strip()][: MOST_ROWS - len(rows)]
        if len(rows) >= MOST_ROWS:
            break
    whole = chain(head, stream)
    layout = layout_of(reading, rows, None, lambda: rows)
    notes: list[str] = []
    in_tokens = layout.format not in ("characters", "fasta", "fastq", "csv", "uniq", "json")

    def lines() -> Iterator[list[str]]:
        return (block for _, piece in whole for block in line_blocks(piece))

    if layout.format == "pautomac":
        for parsed in parse_pautomac(whole):
            held.add(Counter(" ".join(map(str, word)).encode() for word in parsed.words))
        notes += parsed.notes
    elif table := counted_table(layout, lines):
        for cells, texts, numbers in table.rows():
            counts: Counter[bytes] = Counter()
            for cell, text, line in zip(cells, texts, numbers, strict=True):
                counts[_key(cell)] += positive_count(text, line)
            held.add(counts)
        in_tokens = table.in_tokens
    else:
        blocks = (
            separated(_line_cells(lines(), notes), layout)
            if layout.format in ("tokens", "characters")
            else other_cells(layout, (piece for _, piece in whole), notes)
        )
        for cells, _ in blocks:
            held.add(Counter(map(_key, cells)))
    if not held.num_strings:
        raise FormatError("the file has no strings; it needs at least one")
    in_tokens = in_tokens or any(b" " in string for string in held.seen)
    return TextCounts(
        held.seen,
        in_tokens,
        held.most_missed,
        held.num_strings,
        layout.format,
        layout.detail,
        tuple(notes),
    )


def _key(cell: str) -> bytes:
    return b"" if cell == LAMBDA else " ".join(cell.split()).encode()


def _line_cells(lines: Iterable[list[str]], notes: list[str]) -> Cells:
    """Yield each line as a cell, without blank lines at the end of the file, as
    `string_files.line_cells` does.
    """
    num_blank = num_pending = num_lines = 0
    for rows in lines:
        cells: list[str] = []
        numbers: list[int] = []
        for row in map(str.strip, rows):
            num_lines += 1
            if not row:
                num_pending += 1
                continue
            cells += [""] * num_pending
            numbers += range(num_lines - num_pending, num_lines)
            num_blank += num_pending
            num_pending = 0
            cells.append(row)
            numbers.append(num_lines)
        if cells:
            yield cells, numbers
    if num_blank:
        notes.append(f"{plural(num_blank, 'blank line')} read as the empty word λ.")
    if num_pending:
        notes.append(f"{plural(num_pending, 'blank line')} at the end of the file skipped.")


def _in_utf8(reads: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """Write a file in another encoding as UTF-8, read by read."""
    if encoding == "utf-8":
        yield from reads
        return
    decoder = codecs.getincrementaldecoder(encoding)()
    num_bytes = 0
    for read in reads:
        if not num_bytes:
            check_text(read[:HEAD_BYTES], encoding)
        try:
            yield decoder.decode(read).encode()
        except UnicodeDecodeError as error:
            raise FormatError(
                f"byte 0x{error.object[error.start]:02x} near byte {num_bytes + error.start + 1:,} "
                f"is not a character in {encoding}"
            ) from None
        num_bytes += len(read)
    try:
        yield decoder.decode(b"", final=True).encode()
    except UnicodeDecodeError:
        raise FormatError(f"the last bytes are not a character in {encoding}") from None


def merge(first: Counts, second: Counts, max_distinct: int = MAX_DISTINCT) -> Counts:
    """Add up the counts of two files, over the larger alphabet. If no string was dropped, the
    result is the same as from one pass over both files.

    >>> shards = [count_strings([data]) for data in (b"2 2\\n1 0\\n1 1\\n", b"1 3\\n1 1\\n")]
    >>> merge(*shards).sample().counts.tolist()
    [1, 2]
    """
    _check_room(max_distinct)
    num_symbols = max(first.num_symbols, second.num_symbols)
    first = _with_alphabet(first, num_symbols)
    second = _with_alphabet(second, num_symbols)
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
    old = symbol_type(counts.num_symbols)
    new = symbol_type(num_symbols)
    if old == new:
        return counts

    def rewrite(string: bytes) -> bytes:
        return np.frombuffer(string, dtype=old).astype(new).tobytes()

    seen = Counter({rewrite(string): count for string, count in counts.seen.items()})
    missed = {rewrite(string): bound for string, bound in counts.missed.items()}
    return Counts(num_symbols, seen, missed, counts.most_missed, counts.num_strings, counts.notes)
