"""Words and alphabets: strings as flat integer arrays.

A word is a sequence of symbols; a symbol is a number in 0 … num_symbols − 1 whose written form is kept by an `Alphabet`.
Many words are held together, end to end, in one array with offsets (`Words`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from ..errors import RecipeError, listed, plural

Word = tuple[int, ...]
IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

LAMBDA = "λ"  # how the empty word is shown
BLOCK = 2**15  # symbols whose fingerprints are made together: what that takes stays in the processor's cache
SHARES = 8  # parts that are sorted one after the other: all at once would take several times the memory


@dataclass(frozen=True)
class Alphabet:
    """The written forms of the symbols 0 … n − 1.

    >>> Alphabet(("[", "]")).decode((0, 0, 1, 1))
    '[[]]'
    >>> Alphabet(("run", "stop")).decode((0, 1))
    'run stop'
    """

    symbols: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.symbols:
            raise RecipeError("an alphabet needs at least one symbol")
        if len(set(self.symbols)) != len(self.symbols):
            raise RecipeError("an alphabet's symbols must differ from each other")

    def __len__(self) -> int:
        return len(self.symbols)

    @classmethod
    def numbered(cls, num_symbols: int) -> Alphabet:
        """The alphabet "0" … "n − 1", for files that hold numbers only."""
        return cls(tuple(str(symbol) for symbol in range(num_symbols)))

    @property
    def separator(self) -> str:
        """What stands between two symbols of a written word: nothing if each symbol is one character, else a space."""
        return "" if all(len(symbol) == 1 for symbol in self.symbols) else " "

    @property
    def summary(self) -> str:
        """What an error says of it.

        >>> Alphabet(("a", "b")).summary
        '2 symbols: a, b'
        """
        return f"{plural(len(self), 'symbol')}: {listed(self.symbols)}"

    def decode(self, word: Iterable[int]) -> str:
        """The written form of a word; λ for the empty one."""
        return self.separator.join(self.symbols[symbol] for symbol in word) or LAMBDA

    def encode(self, text: str) -> Word:
        """The word that `text` writes: characters, or tokens separated by white space where symbols are longer than one.

        Raises
        ------
        RecipeError
            If a symbol is not in the alphabet.
        """
        if text.strip() in ("", LAMBDA):
            return ()
        tokens = text.split() if self.separator or any(c.isspace() for c in text.strip()) else list(text.strip())
        index = {symbol: number for number, symbol in enumerate(self.symbols)}
        for token in tokens:
            if token not in index:
                raise RecipeError(f"symbol {token[:40]!r} is not in the alphabet of {self.summary}")
        return tuple(index[token] for token in tokens)


@dataclass(frozen=True, eq=False)
class Words:
    """Many words end to end.

    Attributes
    ----------
    symbols : array, shape (total_length,)
        The symbols of all words, one word after the other. int64, except in `packed` words.
    offsets : array, shape (num_words + 1,)
        Word i is `symbols[offsets[i]:offsets[i + 1]]`.
    """

    symbols: IntArray
    offsets: IntArray

    def __post_init__(self) -> None:
        if self.symbols.ndim != 1 or self.offsets.ndim != 1 or self.offsets[0] != 0 or self.offsets[-1] != len(self.symbols):
            raise RecipeError(f"offsets {self.offsets.shape} do not cover the {self.symbols.shape} symbols")

    @classmethod
    def of(cls, words: Iterable[Sequence[int]]) -> Words:
        """Words from sequences of integers.

        >>> Words.of([(0, 1), (), (1,)]).offsets.tolist()
        [0, 2, 2, 3]
        """
        rows = list(words)
        lengths = np.fromiter((len(row) for row in rows), dtype=np.int64, count=len(rows))
        symbols = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=int(lengths.sum()))
        return cls(symbols, offsets_of(lengths))

    @classmethod
    def joined(cls, parts: Sequence[Words], packed: bool = False) -> Words:
        """The words of all parts, in order: in int64, or packed if the parts are."""
        num_words, num_symbols = sum(map(len, parts)), sum(len(part.symbols) for part in parts)
        symbols = np.empty(num_symbols, dtype=np.result_type(*(part.symbols for part in parts)) if packed else np.int64)
        offsets = np.zeros(num_words + 1, dtype=np.min_scalar_type(num_symbols) if packed else np.int64)
        word = symbol = 0
        for part in parts:
            symbols[symbol : symbol + len(part.symbols)] = part.symbols
            offsets[word + 1 : word + 1 + len(part)] = part.offsets[1:]
            offsets[word + 1 : word + 1 + len(part)] += offsets.dtype.type(symbol)
            word, symbol = word + len(part), symbol + len(part.symbols)
        return cls(symbols, offsets)

    def packed(self) -> Words:
        """The same in the smallest numbers that hold them: while files are read, for int64 takes many times the file."""
        return Words(smallest(self.symbols), smallest(self.offsets))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> Word:
        return tuple(self.symbols[self.offsets[index] : self.offsets[index + 1]].tolist())

    def __iter__(self) -> Iterator[Word]:
        return (self[index] for index in range(len(self)))

    @property
    def lengths(self) -> IntArray:
        """Array of int64, of packed words too: shape (num_words,)."""
        return np.diff(self.offsets).astype(np.int64, copy=False)

    def long_first(self) -> tuple[IntArray, list[int]]:
        """The words' numbers, long words first, and how many are longer than 0, 1, 2 … symbols: these are the first ones."""
        lengths = self.lengths
        longest = lengths.max(initial=0)
        order = np.argsort((longest - lengths).astype(np.min_scalar_type(longest)), kind="stable")
        return order, np.cumsum(np.bincount(lengths)[::-1])[::-1][1:].tolist()

    def read(self, backward: bool = False) -> tuple[IntArray, int]:
        """Where each word's first symbol stands, or its last one, and the step from there to the next."""
        return (self.offsets[1:] - 1, -1) if backward else (self.offsets[:-1], 1)

    def take(self, indices: npt.ArrayLike, packed: bool = False) -> Words:
        """The words at `indices`, in that order: in int64, or packed as these are."""
        chosen = np.asarray(indices)
        taken = np.zeros(len(chosen) + 1, dtype=np.int64)
        for start in range(0, len(chosen), BLOCK):
            rows = chosen[start : start + BLOCK].astype(np.int64)
            taken[start + 1 : start + 1 + len(rows)] = self.offsets[rows + 1] - self.offsets[rows]
        offsets = np.cumsum(taken, out=taken)
        words = Words(np.empty(offsets[-1], dtype=self.symbols.dtype if packed else np.int64), offsets)
        for block in _blocks(words):
            begins = offsets[block[0] : block[-1] + 2]
            places = np.repeat(self.offsets[chosen[block].astype(np.int64)] - begins[:-1], np.diff(begins))
            places += np.arange(begins[0], begins[-1])
            words.symbols[begins[0] : begins[-1]] = self.symbols[places]
        return Words(words.symbols, smallest(offsets)) if packed else words

    def places(self) -> tuple[IntArray, IntArray]:
        """Where what follows each place in each word begins, and how long it is: word by word, from the beginning to the end.

        >>> Words.of([(0, 1), ()]).places()
        (array([0, 1, 2, 2]), array([2, 1, 0, 0]))
        """
        sizes = self.lengths + 1
        begins = np.arange(sizes.sum()) - np.repeat(np.arange(len(self)), sizes)
        return begins, np.repeat(self.offsets[1:], sizes) - begins

    def reversed(self) -> Words:
        """Each word read from its end."""
        opposite = np.repeat(self.offsets[:-1] + self.offsets[1:] - 1, self.lengths)
        opposite -= np.arange(len(self.symbols))
        return Words(self.symbols[opposite], self.offsets)

    def products(self, suffixes: Words) -> Words:
        """All uv with u in these words (slow index) and v in `suffixes` (fast index).

        >>> list(Words.of([(), (0,)]).products(Words.of([(1,), (2, 2)])))
        [(1,), (2, 2), (0, 1), (0, 2, 2)]
        """
        return Words.of(u + v for u in self for v in suffixes)


def distinct(words: Words) -> tuple[IntArray, IntArray]:
    """Where each distinct word first stands, and for each word the number of its distinct one.

    Returns
    -------
    first : array, shape (num_distinct,), ascending
    inverse : array, shape (num_words,)
    """
    first, inverse = _grouped(_fingerprints(words))
    twins: list[int] = []
    for rows in _blocks(words):
        leaders = first[inverse[rows]]
        rows, leaders = rows[rows != leaders], leaders[rows != leaders]
        one, other = words.take(leaders), words.take(rows)
        if (one.offsets != other.offsets).any() or (one.symbols != other.symbols).any():
            twins += [row for row, leader in zip(rows.tolist(), leaders.tolist(), strict=True) if words[row] != words[leader]]
    if twins:
        # Different words with one fingerprint, by chance or by design: the slow way, which has none, for all that share these.
        shared, numbers = np.isin(inverse, inverse[twins]), dict[Word, int]()
        for row in np.flatnonzero(shared).tolist():
            inverse[row] = len(first) + numbers.setdefault(words[row], len(numbers))
        return _grouped(inverse.view(np.uint64))
    return first, inverse


def _blocks(words: Words) -> Iterator[IntArray]:
    """All words' numbers, in order: as many at once as have `BLOCK` symbols, or one."""
    start = 0
    while start < len(words):
        most = min(int(words.offsets[start]) + BLOCK, len(words.symbols))
        reached = int(np.searchsorted(words.offsets, words.offsets.dtype.type(most), side="right")) - 1
        end = max(start + 1, min(start + BLOCK, reached))
        yield np.arange(start, end)
        start = end


def _fingerprints(words: Words) -> npt.NDArray[np.uint64]:
    """64 bits of each word, shape (num_words,): equal for equal words."""
    longest = max((int(np.diff(words.offsets[rows[0] : rows[-1] + 2]).max()) for rows in _blocks(words)), default=0)
    powers = np.multiply.accumulate(np.full(longest + 1, 0x9E3779B97F4A7C15, dtype=np.uint64))
    prints = np.empty(len(words), dtype=np.uint64)
    for rows in _blocks(words):
        offsets = words.offsets[rows[0] : rows[-1] + 2].astype(np.int64)
        mixed = words.symbols[offsets[0] : offsets[-1]].astype(np.uint64)
        offsets -= offsets[0]
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], np.diff(offsets))
        mixed += np.uint64(0x632BE59BD9B4E019)
        mixed *= powers[within]
        mixed ^= mixed >> np.uint64(29)
        sums = np.concatenate((np.zeros(1, dtype=np.uint64), np.cumsum(mixed, dtype=np.uint64)))
        prints[rows] = np.diff(sums[offsets])
    return prints


def _grouped(names: npt.NDArray[np.uint64]) -> tuple[IntArray, IntArray]:
    """Where each name first stands, ascending, and for each entry the number of its group, in that order."""
    shares = (names % np.uint64(SHARES)).astype(np.uint8)
    inverse = np.empty(len(names), dtype=np.int64)  # at first where the entry's name first stands
    for share in range(SHARES):
        members = np.flatnonzero(shares == share)
        order = members[np.argsort(names[members])]  # not stable, and quicker than the stable sort of np.unique
        ordered = names[order]
        starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1]))[: len(ordered)])
        inverse[order] = np.repeat(np.minimum.reduceat(order, starts), np.diff(starts, append=len(order)))
    del names, shares, members, order, ordered
    is_first = np.zeros(len(inverse), dtype=bool)
    is_first[inverse] = True
    number = np.cumsum(is_first, dtype=np.min_scalar_type(len(inverse)))
    for start in range(0, len(inverse), BLOCK):
        inverse[start : start + BLOCK] = number[inverse[start : start + BLOCK]]
    inverse -= 1
    return np.flatnonzero(is_first), inverse


def offsets_of(lengths: npt.NDArray[np.integer]) -> IntArray:
    """Where words of these lengths begin, and where the last one ends, shape (num_words + 1,)."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, dtype=np.int64, out=offsets[1:])
    return offsets


def smallest(numbers: npt.NDArray[np.integer]) -> IntArray:
    """The same numbers, none below 0, in the smallest type that holds them.

    >>> smallest(np.array([3, 255])).dtype.name
    'uint8'
    """
    return numbers.astype(np.min_scalar_type(numbers.max(initial=0)))


def check_symbols(words: Words, num_symbols: int) -> None:
    """Raise RecipeError unless every symbol is in 0 … num_symbols − 1."""
    if len(words.symbols) and not 0 <= words.symbols.min() <= words.symbols.max() < num_symbols:
        bad = int(words.symbols.max() if words.symbols.max() >= num_symbols else words.symbols.min())
        raise RecipeError(f"symbol {bad} is not in the alphabet of {num_symbols} symbols (0 … {num_symbols - 1})")
