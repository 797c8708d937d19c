"""Define words and alphabets: strings as flat integer arrays. Group equal words (`distinct`), keys
and symbols.

A word is a sequence of symbols. A symbol is a number in 0 … num_symbols − 1; an `Alphabet` holds
its written form. `Words` holds many words one after the other in one array, with the position at
which each begins.

`distinct` first compares 64-bit fingerprints of words, and then the words whose fingerprints are
equal, because different words may share a fingerprint. A dictionary of tuples would need ten times
the memory and time, and an uploaded file may have 20 million words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, pairwise

import numpy as np
import numpy.typing as npt

from ..errors import (
    RecipeError,
    check_entries,
    check_fields,
    check_type,
    check_types,
    listed,
    plural,
)

Word = tuple[int, ...]
IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

NUMBER = re.compile("[0-9]+")
LAMBDA = "λ"  # the written form of the empty word
LONGEST_CODE = 80  # characters of an alphabet that is written as Python code
WORDS_SHOWN = 6  # in the repr of many words
LETTERS_SHOWN = 20  # of each of them
# fingerprints are sorted in so many parts, one by one: together, they would need several times the
# memory
FINGERPRINT_PARTS = 8
# if there are more than this many possible keys for each key, sorting is faster than marking
MAX_KEYS_PER_MARK = 64
# symbols that are processed together: few enough for the results to stay in the processor's cache
SYMBOLS_AT_ONCE = 2**15


@dataclass(frozen=True)
class Alphabet:
    """Holds the written forms of the symbols 0 … n − 1.

    >>> Alphabet(("[", "]")).decode((0, 0, 1, 1))
    '[[]]'
    >>> Alphabet(("run", "stop")).decode((0, 1))
    'run stop'

    `unknown`: the symbol that stands for all others, if there is one. Alphabets with the same
    symbols are equal, whether or not a symbol stands for the unknown.

    >>> Alphabet(("a", "b", "?"), unknown="?").encode("abc")
    (0, 1, 2)

    Raises RecipeError if there are no symbols, two are equal, or `unknown` is not one of them.
    """

    symbols: tuple[str, ...]
    unknown: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.symbols:
            raise RecipeError("an alphabet needs at least one symbol")
        check_entries("symbols", self.symbols, str)
        if len(set(self.symbols)) != len(self.symbols):
            twice = next(symbol for symbol, n in Counter(self.symbols).items() if n > 1)
            raise RecipeError(
                "an alphabet's symbols must differ from each other; got "
                f"{twice[:40]!r} more than once"
            )
        if self.unknown is not None and self.unknown not in self.symbols:
            raise RecipeError(
                "the symbol for the unknown must be one of the alphabet's symbols; got "
                f"{self.unknown[:40]!r}, and {self.summary}"
            )

    def __len__(self) -> int:
        return len(self.symbols)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the written forms of the symbols, in the order of their numbers.

        >>> list(Alphabet(("a", "b")))
        ['a', 'b']
        """
        return iter(self.symbols)

    def __repr__(self) -> str:
        """Write the alphabet as Python code; for a large one, the number of symbols and the first
        of them.

        >>> Alphabet(("a", "b")), Alphabet.numbered(1_000)
        (Alphabet(('a', 'b')), <Alphabet of 1,000 symbols: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, …>)
        """
        unknown = "" if self.unknown is None else f", unknown={self.unknown!r}"
        code = f"Alphabet({self.symbols!r}{unknown})"
        return code if len(code) <= LONGEST_CODE else f"<Alphabet of {self.summary}>"

    @classmethod
    @check_types
    def numbered(cls, num_symbols: int) -> Alphabet:
        """Make the alphabet "0" … "n − 1", in which each symbol is written as its number.

        Raises RecipeError if n is below 1.
        """
        return cls(tuple(str(symbol) for symbol in range(num_symbols)))

    @classmethod
    def of(cls, symbols: Iterable[str], unknown: str | None = None) -> Alphabet:
        """Return the alphabet of the distinct symbols among these: numbers in ascending order,
        anything else alphabetically, and last the symbol that stands for all others, if any.

        >>> Alphabet.of("abba").symbols, Alphabet.of(["10", "9"], unknown="<unk>").symbols
        (('a', 'b'), ('9', '10', '<unk>'))
        """
        if not isinstance(symbols, Iterable):
            raise TypeError(f"symbols must be text, such as ['a', 'b']; got {symbols!r:.40}")
        names = list(symbols)
        if set(map(type, names)) - {str}:
            for name in names:
                check_type("a symbol", name, str)
        distinct = set(names)
        if not distinct:
            raise RecipeError(
                "every string is empty: at least one symbol is needed to make an alphabet"
            )
        if unknown is None:
            return cls(tuple(in_order(distinct)))
        check_unknown(unknown)
        return cls((*in_order(distinct - {unknown}), unknown), unknown)

    def extended(self, symbols: Sequence[str]) -> Alphabet:
        """Add symbols, after those of this alphabet.

        >>> Alphabet(("a", "?"), unknown="?").extended(["b"])
        Alphabet(('a', '?', 'b'), unknown='?')
        """
        check_type("symbols", symbols, Sequence)
        return Alphabet((*self.symbols, *symbols), self.unknown)

    @property
    def is_numbered(self) -> bool:
        """Return whether each symbol is written as its number."""
        return self.symbols == Alphabet.numbered(len(self)).symbols

    @property
    def separator(self) -> str:
        """Return the text between two symbols of a written word: empty if every symbol is one
        character, otherwise a space.
        """
        return "" if all(len(symbol) == 1 for symbol in self.symbols) else " "

    @property
    def in_tokens(self) -> bool:
        """Return whether a written word is always split at white space, even if it contains none,
        because a symbol has several characters. The symbol for the unknown does not count.
        """
        return any(len(symbol) > 1 for symbol in self.symbols if symbol != self.unknown)

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """Return the number of each symbol."""
        return {symbol: number for number, symbol in enumerate(self.symbols)}

    @property
    def summary(self) -> str:
        """Describe the alphabet in an error message.

        >>> Alphabet(("a", "b")).summary
        '2 symbols: a, b'
        """
        return f"{plural(len(self), 'symbol')}: {listed(self.symbols)}"

    def decode(self, word: Iterable[int]) -> str:
        """Write a word as text; λ for the empty word.

        Raises RecipeError unless the word consists of symbol numbers.
        """
        try:
            numbers = tuple(word)
            if min(numbers, default=0) >= 0:
                return self.separator.join([self.symbols[symbol] for symbol in numbers]) or LAMBDA
        except (TypeError, IndexError, ValueError):
            pass
        raise RecipeError(
            f"a word must be a sequence of symbol numbers, 0 … {len(self) - 1}; got {word!r:.60}"
        )

    def encode(self, text: str) -> Word:
        """Convert a written word to the numbers of its symbols.

        Each character is a symbol. If some symbols of the alphabet are longer, or the word has
        white space inside, the word is split at white space instead.

        Raises
        ------
        RecipeError
            If a symbol is not in the alphabet, and the alphabet has no symbol for the unknown.
        """
        numbers = self.numbers
        other = None if self.unknown is None else numbers[self.unknown]
        word = []
        for token in self._split(text):
            number = numbers.get(token, other)
            if number is None:
                raise RecipeError(f"symbol {token[:40]!r} is not in the alphabet of {self.summary}")
            word.append(number)
        return tuple(word)

    def unknown_note(self, text: str) -> str:
        """State which symbols of a written word are read as the symbol for the unknown; empty if
        there are none.

        >>> Alphabet(("a", "b", "?"), unknown="?").unknown_note("abcd")
        "2 symbols are read as '?': c, d."
        """
        others = sorted(set(self._split(text)) - self.numbers.keys())
        if self.unknown is None or not others:
            return ""
        are = "symbol is" if len(others) == 1 else "symbols are"
        return f"{len(others):,} {are} read as {self.unknown!r}: {listed(others)}."

    def _split(self, text: str) -> list[str]:
        """Split a written word into its symbols."""
        check_type("text", text, str)
        text = text.strip()
        if text in ("", LAMBDA):
            return []
        if self.in_tokens or text == self.unknown or any(c.isspace() for c in text):
            return text.split()
        return list(text)


def check_unknown(unknown: str) -> None:
    """Raise RecipeError if a string can't be the symbol for the unknown."""
    check_type("unknown", unknown, str)
    if unknown.split() != [unknown] or unknown == LAMBDA:
        raise RecipeError(
            "the symbol for the unknown must be written without white space, and not as "
            f"{LAMBDA}, which is the empty word; got {unknown[:40]!r}"
        )


def check_written(alphabet: Alphabet) -> None:
    """Raise RecipeError if no file of strings can contain these symbols, because words with them
    could not be read back.

    >>> check_written(Alphabet(("a", "b c")))
    Traceback (most recent call last):
    nlwfa_core.errors.RecipeError: a symbol must be written without white space, which separates symbols; got 'b c'
    """  # noqa: E501
    if "" in alphabet.symbols:
        raise RecipeError("a symbol must have at least one character; got ''")
    if alphabet.symbols == (LAMBDA,):
        raise RecipeError(
            f"{LAMBDA} can't be the only symbol: {LAMBDA} alone is how the empty word is written"
        )
    if alphabet.separator:
        for symbol in alphabet.symbols:
            if symbol.split() != [symbol]:
                raise RecipeError(
                    "a symbol must be written without white space, which separates symbols; "
                    f"got {symbol[:40]!r}"
                )


@dataclass(frozen=True, eq=False)
class Words:
    """Holds many words one after the other.

    >>> words = Words.of([(0, 1), (), (1,)])
    >>> words.symbols.tolist(), words.offsets.tolist(), words[0], words.lengths.tolist()
    ([0, 1, 1], [0, 2, 2, 3], (0, 1), [2, 0, 1])

    Attributes
    ----------
    symbols : array, shape (total_length,)
        The symbols of all words, one word after the other. int64, except in `packed` words.
    offsets : array, shape (num_words + 1,)
        Word i is `symbols[offsets[i]:offsets[i + 1]]`.
    alphabet : Alphabet or None
        The written forms of the symbols, if known, as they are for words from a file or a sample.
        `in_alphabet` renumbers the symbols by another alphabet.

    Raises
    ------
    RecipeError
        If `symbols` and `offsets` are not one-dimensional arrays of integers, or `offsets` do not
        rise from 0 to the length of `symbols`.
    """

    symbols: IntArray
    offsets: IntArray
    alphabet: Alphabet | None = None

    def __post_init__(self) -> None:
        for name, array in (("symbols", self.symbols), ("offsets", self.offsets)):
            if not isinstance(array, np.ndarray):
                raise TypeError(f"{name} must be a numpy array; got {array!r:.60}")
            if array.dtype.kind not in "iu":
                raise RecipeError(
                    f"the {name} of words must be an array of integers; got an array of "
                    f"{array.dtype}"
                )
        _check_is_alphabet(self.alphabet)
        if (
            self.symbols.ndim != 1
            or self.offsets.ndim != 1
            or not len(self.offsets)
            or self.offsets[0] != 0
            or self.offsets[-1] != len(self.symbols)
        ):
            has_ends = self.offsets.ndim == 1 and len(self.offsets)
            raise RecipeError(
                "symbols and offsets must be one-dimensional, and offsets must run from 0 to "
                "the number of symbols; "
                f"got shapes {self.symbols.shape} and {self.offsets.shape}"
                + (f", offsets from {self.offsets[0]} to {self.offsets[-1]}" if has_ends else "")
            )
        if (self.offsets[1:] < self.offsets[:-1]).any():
            i = int(np.argmax(self.offsets[1:] < self.offsets[:-1]))
            raise RecipeError(
                "the offsets of words must not decrease, because each is the position at "
                f"which a word begins; got {self.offsets[i]} and then {self.offsets[i + 1]}"
            )

    @classmethod
    @check_types
    def of(cls, words: Iterable[Sequence[int]]) -> Words:
        """Make words from sequences of integers. (`Alphabet.encode` makes such a sequence from
        text.)

        >>> Words.of([(0, 1), (), (1,)]).offsets.tolist()
        [0, 2, 2, 3]

        Raises
        ------
        TypeError
            If a word is not a sequence, or a symbol is not an integer.
        """
        rows = list(words)
        for row in rows:
            if isinstance(row, str) or not hasattr(row, "__len__"):
                raise TypeError(
                    "a word must be a sequence of integers, the numbers of its symbols; got "
                    f"{row!r:.40}"
                )
        lengths = np.fromiter((len(row) for row in rows), dtype=np.int64, count=len(rows))
        for kind in set(map(type, chain.from_iterable(rows))):
            if kind is bool or not issubclass(kind, (int, np.integer)):
                symbol = next(
                    symbol for symbol in chain.from_iterable(rows) if type(symbol) is kind
                )
                raise TypeError(
                    f"a symbol must be an integer, its number in the alphabet; got {symbol!r:.40}"
                )
        symbols = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=int(lengths.sum()))
        return cls(symbols, offsets_of(lengths))

    @classmethod
    def joined(cls, parts: Sequence[Words], packed: bool = False) -> Words:
        """Join the words of all parts, in order, as int64, or packed if `packed` is true.

        All parts must have the same alphabet.
        """
        num_words = sum(map(len, parts))
        num_symbols = sum(len(part.symbols) for part in parts)
        symbols = np.empty(
            num_symbols,
            dtype=np.result_type(*(part.symbols for part in parts)) if packed else np.int64,
        )
        offsets = np.zeros(
            num_words + 1, dtype=np.min_scalar_type(num_symbols) if packed else np.int64
        )
        word = symbol = 0
        for part in parts:
            symbols[symbol : symbol + len(part.symbols)] = part.symbols
            offsets[word + 1 : word + 1 + len(part)] = part.offsets[1:]
            offsets[word + 1 : word + 1 + len(part)] += offsets.dtype.type(symbol)
            word = word + len(part)
            symbol = symbol + len(part.symbols)
        return cls(symbols, offsets, next((part.alphabet for part in parts), None))

    def packed(self) -> Words:
        """Return the same words in the smallest integer type that holds them, because int64 would
        need many times the size of a file.
        """
        return Words(smallest(self.symbols), smallest(self.offsets), self.alphabet)

    def in_alphabet(self, alphabet: Alphabet | None, owner: str = "the") -> Words:
        """Renumber the symbols of these words by another alphabet.

        If either alphabet is unknown (None), the words are returned unchanged. Symbols that are not
        in the other alphabet become its symbol for the unknown, if it has one.

        >>> words = Words(np.array([0, 1]), np.array([0, 2]), Alphabet(("a", "c")))
        >>> list(words.in_alphabet(Alphabet(("a", "b", "c"))))
        [(0, 2)]

        Parameters
        ----------
        owner : str
            The words before "alphabet" in the error message: "the", or for example "the model's".

        Raises
        ------
        RecipeError
            If a symbol of these words is not in that alphabet and the alphabet has no symbol for
            the unknown.
        """
        old_alphabet = self.alphabet
        if old_alphabet is None or alphabet is None or old_alphabet is alphabet:
            return self
        _check_is_alphabet(alphabet)
        if old_alphabet == alphabet and old_alphabet.unknown == alphabet.unknown:
            return self
        check_symbols(self, len(old_alphabet))
        present = np.zeros(len(old_alphabet), dtype=bool)
        present[self.symbols] = True
        index = alphabet.numbers
        other = -1 if alphabet.unknown is None else index[alphabet.unknown]
        numbers = np.array([index.get(symbol, other) for symbol in old_alphabet.symbols])
        unknown = [
            repr(old_alphabet.symbols[symbol]) for symbol in np.flatnonzero(present & (numbers < 0))
        ]
        if unknown:
            are = "symbol {} is" if len(unknown) == 1 else "symbols {} are"
            raise RecipeError(
                f"{are.format(listed(unknown))} not in {owner} alphabet of {alphabet.summary}"
            )
        if (numbers == np.arange(len(old_alphabet)))[present].all():
            return Words(self.symbols, self.offsets, alphabet)
        return Words(numbers[self.symbols], self.offsets, alphabet)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> Word:
        return tuple(self.symbols[self.offsets[index] : self.offsets[index + 1]].tolist())

    def __iter__(self) -> Iterator[Word]:
        return (self[index] for index in range(len(self)))

    def __repr__(self) -> str:
        """Write the number of words, and the first of them.

        >>> Words.of([(0, 1), ()]), Words.of([(n,) for n in range(1_000)])
        (<2 words: 0 1, λ>, <1,000 words: 0, 1, 2, 3, 4, 5, …>)
        """
        names = f": {first_words(self)}" if len(self) else ""
        return f"<{plural(len(self), 'word')}{names}>"

    @property
    def lengths(self) -> IntArray:
        """Return the length of each word, shape (num_words,), as int64 even for packed words."""
        return np.diff(self.offsets).astype(np.int64, copy=False)

    def longest_first(self) -> tuple[IntArray, list[int]]:
        """Return the indices of the words by length, longest first, and how many words are longer
        than 0, 1, 2 … symbols.

        >>> order, num_longer = Words.of([(0,), (), (1, 0)]).longest_first()
        >>> order.tolist(), num_longer
        ([2, 0, 1], [2, 1])
        """
        lengths = self.lengths
        longest = lengths.max(initial=0)
        order = np.argsort((longest - lengths).astype(np.min_scalar_type(longest)), kind="stable")
        return order, np.cumsum(np.bincount(lengths)[::-1])[::-1][1:].tolist()

    def reading_order(self, backward: bool = False) -> tuple[IntArray, int]:
        """Return the position in `symbols` of each word's first symbol (last if `backward`), and
        the step to the next symbol: 1 or −1.
        """
        return (self.offsets[1:] - 1, -1) if backward else (self.offsets[:-1], 1)

    def take(self, indices: npt.ArrayLike, packed: bool = False) -> Words:
        """Copy the words at `indices`, in that order, as int64 or, if `packed` is true, in these
        words' own integer type.
        """
        selection = np.asarray(indices)
        if selection.ndim != 1 or (selection.size and selection.dtype.kind not in "iu"):
            raise TypeError(f"indices must be a sequence of whole numbers; got {indices!r:.60}")
        if selection.size and not 0 <= selection.min() <= selection.max() < len(self):
            got = f"got values from {selection.min()} to {selection.max()}"
            if not len(self):
                raise RecipeError(f"an empty list of words has no index; {got}")
            raise RecipeError(f"indices must be between 0 and {len(self) - 1}; {got}")
        lengths = np.zeros(len(selection) + 1, dtype=np.int64)
        for start in range(0, len(selection), SYMBOLS_AT_ONCE):
            rows = selection[start : start + SYMBOLS_AT_ONCE].astype(np.int64)
            lengths[start + 1 : start + 1 + len(rows)] = self.offsets[rows + 1] - self.offsets[rows]
        offsets = np.cumsum(lengths, out=lengths)
        words = Words(
            np.empty(offsets[-1], dtype=self.symbols.dtype if packed else np.int64),
            offsets,
            self.alphabet,
        )
        for block in words.blocks():
            starts = offsets[block[0] : block[-1] + 2]
            positions = np.repeat(
                self.offsets[selection[block].astype(np.int64)] - starts[:-1], np.diff(starts)
            )
            positions += np.arange(starts[0], starts[-1])
            words.symbols[starts[0] : starts[-1]] = self.symbols[positions]
        return Words(words.symbols, smallest(offsets), self.alphabet) if packed else words

    def blocks(self) -> Iterator[IntArray]:
        """Yield the indices of the words in blocks, in order; a block has at most `SYMBOLS_AT_ONCE`
        symbols or a single word.
        """
        start = 0
        while start < len(self):
            last_symbol = min(int(self.offsets[start]) + SYMBOLS_AT_ONCE, len(self.symbols))
            last_word = (
                int(
                    np.searchsorted(
                        self.offsets, self.offsets.dtype.type(last_symbol), side="right"
                    )
                )
                - 1
            )
            end = max(start + 1, min(start + SYMBOLS_AT_ONCE, last_word))
            yield np.arange(start, end)
            start = end

    def suffixes(self) -> tuple[IntArray, IntArray]:
        """Return the start and the length of every suffix of every word, word by word, from the
        whole word to λ.

        >>> starts, lengths = Words.of([(0, 1), ()]).suffixes()
        >>> starts.tolist(), lengths.tolist()
        ([0, 1, 2, 2], [2, 1, 0, 0])
        """
        num_suffixes = self.lengths + 1
        starts = np.arange(num_suffixes.sum()) - np.repeat(np.arange(len(self)), num_suffixes)
        return starts, np.repeat(self.offsets[1:], num_suffixes) - starts

    def reversed(self) -> Words:
        """Reverse the symbols of each word."""
        positions = np.repeat(self.offsets[:-1] + self.offsets[1:] - 1, self.lengths)
        positions -= np.arange(len(self.symbols))
        return Words(self.symbols[positions], self.offsets, self.alphabet)

    def products(self, suffixes: Words) -> Words:
        """Concatenate each word u with each v of `suffixes`: uv for the first u and all v, then for
        the second u, and so on.

        >>> list(Words.of([(), (0,)]).products(Words.of([(1,), (2, 2)])))
        [(1,), (2, 2), (0, 1), (0, 2, 2)]
        """
        check_type("suffixes", suffixes, Words)
        return Words.of(u + v for u in self for v in suffixes)


def shortened(words: Words, index: int) -> str:
    """Write a word for a repr, with at most `LETTERS_SHOWN` of its characters.

    >>> shortened(Words.of([(0,) * 100]), 0)
    '0 0 0 0 0 0 0 0 0 0 …'
    """
    start, end = words.offsets[index : index + 2].tolist()
    symbols = words.symbols[start : min(end, start + LETTERS_SHOWN + 1)].tolist()
    alphabet = words.alphabet
    # a repr must not fail, and the symbols of words are not checked against their alphabet
    if alphabet is not None and set(symbols) <= set(range(len(alphabet))):
        written = alphabet.decode(symbols)
    else:
        written = " ".join(map(str, symbols)) or LAMBDA
    is_whole = end - start == len(symbols) and len(written) <= LETTERS_SHOWN
    return written if is_whole else f"{written[:LETTERS_SHOWN]}…"


def first_words(words: Words) -> str:
    """Write the first words for a repr.

    >>> first_words(Words.of([(n,) for n in range(1_000)]))
    '0, 1, 2, 3, 4, 5, …'
    """
    names = [shortened(words, index) for index in range(min(len(words), WORDS_SHOWN))]
    return ", ".join([*names, "…"] if len(words) > len(names) else names)


def in_order(symbols: Iterable[str]) -> list[str]:
    """Sort symbols: by number if all are whole numbers, otherwise alphabetically."""
    names = list(symbols)
    numbers_only = all(NUMBER.fullmatch(name) for name in names)
    return sorted(names, key=lambda name: (len(name), name) if numbers_only else (0, name))


def offsets_of(lengths: npt.NDArray[np.integer]) -> IntArray:
    """Compute offsets from the lengths of words: the start of each word and the end of the last,
    shape (num_words + 1,).
    """
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, dtype=np.int64, out=offsets[1:])
    return offsets


def whole_numbers(name: str, values: npt.ArrayLike) -> IntArray:
    """Convert numbers to an array of integers. Floats are accepted if all of them are whole
    numbers.

    >>> whole_numbers("ranks", [1.0, -2.0]).tolist()
    [1, -2]

    Raises TypeError if the values are not numbers. (True and False do not count as numbers.) Raises
    RecipeError if a value is not a whole number, or is too large for an int64.
    """
    array = np.asarray(values)
    if not array.size:
        return array.astype(np.int64)
    if array.dtype.kind not in "iuf":
        raise TypeError(
            f"{name} must be whole numbers; got {array.ravel()[0]!r}, of type {array.dtype}"
        )
    if array.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            fractions = array[~(np.isfinite(array) & (array == np.rint(array)))]
            if fractions.size:
                raise RecipeError(f"{name} must be whole numbers; got {fractions[0]}")
    if array.dtype.kind == "f" or array.dtype == np.uint64:
        largest = array.ravel()[np.abs(array).argmax()]
        if largest >= 2**63 or largest < -(2.0**63):
            raise RecipeError(f"{name} must be between −2⁶³ and 2⁶³ − 1; got {largest}")
        return array.astype(np.int64)
    return array


def float64_array(name: str, values: npt.ArrayLike) -> FloatArray:
    """Convert numbers to an array of float64, without rounding any of them. An array of float64 is
    returned without a copy.

    >>> float64_array("initial", [1, 0])
    array([1., 0.])

    Raises TypeError if the values are not an array of real numbers. (True and False are not
    numbers.) Raises RecipeError if a number would be rounded.
    """
    if isinstance(values, np.ndarray) and values.dtype == np.float64:
        return values
    try:
        array = np.asarray(values)
    except ValueError:
        raise TypeError(
            f"{name} must be an array of numbers; got rows of different lengths"
        ) from None
    if array.dtype.kind not in "iuf":
        raise TypeError(
            f"{name} must be an array of numbers; got {type(values).__name__} of {array.dtype}"
        )
    exact = (
        array.dtype.kind == "f" or not array.size or -(2**53) <= array.min() <= array.max() <= 2**53
    )
    converted = array.astype(np.float64)
    if not exact or (array.dtype.itemsize > 8 and (converted != array)[np.isfinite(array)].any()):
        raise RecipeError(
            f"{name} must hold numbers that float64 represents exactly; got an array of "
            f"{array.dtype} with at least one number "
            "that would be rounded"
        )
    return converted


def smallest(numbers: npt.NDArray[np.integer]) -> IntArray:
    """Convert non-negative numbers to the smallest integer type that holds them.

    >>> smallest(np.array([3, 255])).dtype.name
    'uint8'
    """
    return numbers.astype(np.min_scalar_type(numbers.max(initial=0)))


def check_symbols(words: Words, num_symbols: int) -> None:
    """Raise RecipeError unless every symbol is in 0 … num_symbols − 1."""
    if len(words.symbols) and not 0 <= words.symbols.min() <= words.symbols.max() < num_symbols:
        bad = int(
            words.symbols.max() if words.symbols.max() >= num_symbols else words.symbols.min()
        )
        raise RecipeError(
            f"symbol {bad} is not in the alphabet of {plural(num_symbols, 'symbol')} "
            f"(0 … {num_symbols - 1})"
        )


def _check_is_alphabet(alphabet: object) -> None:
    if not isinstance(alphabet, Alphabet | None):
        raise TypeError(f"alphabet must be an Alphabet or None; got {alphabet!r:.60}")


def check_alphabet(alphabet: Alphabet | None, num_symbols: int, owner: str = "model") -> None:
    """Raise RecipeError if an alphabet does not have the number of symbols that its owner has."""
    _check_is_alphabet(alphabet)
    if alphabet is not None and len(alphabet) != num_symbols:
        raise RecipeError(
            f"the alphabet of a {owner} with {plural(num_symbols, 'symbol')} can't have "
            f"{alphabet.summary}"
        )


def distinct(words: Words) -> tuple[IntArray, IntArray]:
    """Find the first position of each distinct word, and for each word the index of the distinct
    word that equals it.

    >>> first, inverse = distinct(Words.of([(0,), (1,), (0,)]))
    >>> first.tolist(), inverse.tolist()
    ([0, 1], [0, 1, 0])

    Returns `first` (num_distinct,), ascending. `inverse` (num_words,).
    """
    first, inverse = _group(_fingerprints(words))
    collisions: list[int] = []  # words that differ from the first word with the same fingerprint
    for rows in words.blocks():
        leaders = first[inverse[rows]]
        if (leaders == rows).all():
            continue
        offsets = words.offsets[rows[0] : rows[-1] + 2].astype(np.int64)
        lengths = np.diff(offsets)
        starts = words.offsets[leaders].astype(np.int64)
        has_length = words.offsets[leaders + 1] - starts == lengths
        collisions += rows[~has_length].tolist()
        # from a symbol of a word to that at the same place of its leader
        shifts = np.repeat(np.where(has_length, starts - offsets[:-1], 0), lengths)
        shifts += np.arange(offsets[0], offsets[-1])
        differs = words.symbols[shifts] != words.symbols[offsets[0] : offsets[-1]]
        if differs.any():
            places = offsets[0] + np.flatnonzero(differs)
            within = np.unique(np.searchsorted(offsets, places, side="right") - 1)
            collisions += rows[within].tolist()
    if collisions:
        # Different words have the same fingerprint, by chance or by design: a dictionary tells them
        # apart, which is slow but exact.
        numbers = dict[Word, int]()
        for row in np.flatnonzero(np.isin(inverse, inverse[collisions])).tolist():
            inverse[row] = len(first) + numbers.setdefault(words[row], len(numbers))
        return _group(inverse.view(np.uint64))
    return first, inverse


def _fingerprints(words: Words) -> npt.NDArray[np.uint64]:
    """Compute a 64-bit fingerprint of each word, shape (num_words,).

    Equal words have equal fingerprints.
    """
    longest = max(
        (int(np.diff(words.offsets[rows[0] : rows[-1] + 2]).max()) for rows in words.blocks()),
        default=0,
    )
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
    """Find the first position of each distinct key, ascending, and for each key the index of the
    distinct key that equals it.
    """
    parts = (keys % np.uint64(FINGERPRINT_PARTS)).astype(np.uint8)
    # holds the first position of each key until the last lines turn it into an index
    inverse = np.empty(len(keys), dtype=np.int64)
    for part in range(FINGERPRINT_PARTS):
        members = np.flatnonzero(parts == part)
        # an unstable sort, which is faster than the stable one of np.unique
        order = members[np.argsort(keys[members])]
        ordered = keys[order]
        starts = np.flatnonzero(
            np.concatenate(([True], ordered[1:] != ordered[:-1]))[: len(ordered)]
        )
        inverse[order] = np.repeat(
            np.minimum.reduceat(order, starts), np.diff(starts, append=len(order))
        )
    del keys, parts, members, order, ordered
    is_first = np.zeros(len(inverse), dtype=bool)
    is_first[inverse] = True
    number = np.cumsum(is_first, dtype=np.min_scalar_type(len(inverse)))
    for start in range(0, len(inverse), SYMBOLS_AT_ONCE):
        inverse[start : start + SYMBOLS_AT_ONCE] = number[inverse[start : start + SYMBOLS_AT_ONCE]]
    inverse -= 1
    return np.flatnonzero(is_first), inverse


def unique_keys(keys: IntArray, bound: int) -> tuple[IntArray, IntArray]:
    """Compute `np.unique(keys, return_inverse=True)` for keys in 0 … bound − 1 by marking the keys
    that occur, without sorting.
    """
    if bound > MAX_KEYS_PER_MARK * len(keys):
        return np.unique(keys, return_inverse=True)
    present = np.zeros(bound, dtype=bool)
    rank = np.empty(bound, dtype=np.int64)
    present[keys] = True
    unique = np.flatnonzero(present)
    rank[unique] = np.arange(len(unique))
    return unique, rank[keys]


def by_symbol(symbols: IntArray) -> Iterator[tuple[int, IntArray]]:
    """Yield each symbol that occurs, in ascending order, with the array of its positions, also
    ascending.
    """
    order = np.argsort(symbols, kind="stable")
    counts = np.bincount(symbols)
    present = np.flatnonzero(counts)
    bounds = pairwise([0, *np.cumsum(counts[present]).tolist()])
    for symbol, (start, end) in zip(present.tolist(), bounds, strict=True):
        yield symbol, order[start:end]
