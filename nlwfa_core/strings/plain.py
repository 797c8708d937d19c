"""Turn strings in the forms that Python programs use (lists, tuples, Series, dictionaries of
counts) into `Words` and `Sample`.

One string is text, a sequence of tokens, or a sequence of symbol numbers. Text is read in the same
way as a file of strings: if one string has white space inside, or the alphabet has symbols of
several characters, symbols are the tokens between white space; otherwise each character is a
symbol. λ and "" are the empty string.

Wherever a sample is an argument, `as_sample` makes one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np

from ..errors import RecipeError, check_at_least, check_type, plural
from .sample import Sample
from .words import LAMBDA, Alphabet, Word, Words, check_symbols, check_unknown, in_order, offsets_of


class HasSample(Protocol):
    """An object that holds strings with their counts, such as `sources.string_files.StringFile` and
    `metrics.testset.TestSet`.
    """

    @property
    def words(self) -> Words: ...

    @property
    def sample(self) -> Sample | Callable[[], Sample]: ...


WordLike: TypeAlias = str | Sequence[str] | Sequence[int]
WordsLike: TypeAlias = Words | Sample | Iterable[WordLike]
AlphabetLike: TypeAlias = Alphabet | str | Iterable[str] | int
SampleLike: TypeAlias = Sample | HasSample | Words | Mapping[str, int] | Iterable[WordLike]

UNKNOWN = "<unk>"  # the usual symbol for the unknown
MIN_COUNT = 2  # the usual least count of a known symbol, if there is one for the unknown
FORMS = "text, a sequence of tokens, or a sequence of symbol numbers"


def as_alphabet(symbols: AlphabetLike) -> Alphabet:
    """Make an alphabet from symbols, in the order of `Alphabet.of`, or from the numbers below a
    given number.

    >>> as_alphabet("ba").symbols, as_alphabet(2).symbols
    (('a', 'b'), ('0', '1'))

    Raises RecipeError if there is no symbol.
    """
    if isinstance(symbols, Alphabet):
        return symbols
    return Alphabet.of(symbols) if isinstance(symbols, Iterable) else Alphabet.numbered(symbols)


def as_word(word: WordLike, alphabet: Alphabet | None) -> Word:
    """Turn one string into the numbers of its symbols.

    >>> (
    ...     as_word("ab", Alphabet(("a", "b"))),
    ...     as_word(("a", "b"), Alphabet(("a", "b"))),
    ...     as_word((0, 1), None),
    ... )
    ((0, 1), (0, 1), (0, 1))

    Raises RecipeError if a symbol is not in the alphabet and the alphabet has no symbol for the
    unknown. Raises TypeError if the string is none of the forms above, or its symbols are text and
    there is no alphabet.
    """
    if isinstance(word, str) and alphabet is not None:
        return alphabet.encode(word)
    return as_words([word], alphabet)[0]


def as_words(strings: WordsLike, alphabet: Alphabet | None = None) -> Words:
    """Turn strings into `Words`, in the same order and with repetitions.

    >>> list(as_words(["ab", "b"], Alphabet(("a", "b"))))
    [(0, 1), (1,)]

    `alphabet`: the symbols that are allowed; without it, strings of numbers stay numbers.

    Raises RecipeError or TypeError as in `as_word`.
    """
    if isinstance(strings, Sample):
        return strings.in_alphabet(alphabet).words if alphabet else strings.words
    if isinstance(strings, Words):
        return strings.in_alphabet(alphabet)
    rows = _rows(strings)
    if _in_writing(rows):
        if alphabet is None:
            raise TypeError(
                "strings written as text need an alphabet, which numbers their symbols; got none"
            )
        return _encoded(_symbols(rows, alphabet), alphabet)
    words = Words.of([row if isinstance(row, tuple) else tuple(row) for row in rows])
    if alphabet is None:
        return words
    check_symbols(words, len(alphabet))
    return Words(words.symbols, words.offsets, alphabet)


def as_sample(
    strings: SampleLike,
    alphabet: Alphabet | None = None,
    name: str = "sample",
    extend: bool = False,
) -> Sample:
    """Turn strings into a `Sample`: the distinct strings, with their counts.

    >>> sample = as_sample(["ab", "b", "ab"])
    >>> sample.alphabet.symbols, list(sample.words), sample.counts.tolist()
    (('a', 'b'), [(0, 1), (1,)], [2, 1])
    >>> as_sample({"the cat": 3, "the dog": 1}).alphabet.symbols
    ('cat', 'dog', 'the')
    >>> as_sample([["the", "cat"], ["the"]]).num_strings, as_sample([(0, 1), (1,)]).alphabet.symbols
    (2, ('0', '1'))

    Parameters
    ----------
    strings : Sample, StringFile, TestSet, Words, mapping or iterable of strings
        A mapping, or a pandas Series with strings as its index (as from `value_counts`), holds the
        count of each string.
    alphabet : Alphabet, optional
        The symbols that are allowed, with their numbers. Without it, the symbols are those of the
        strings, in order; for strings of numbers they are "0" … "n − 1".
    name : str
        What the argument is called in errors.
    extend : bool
        Whether to add other symbols to the alphabet, after its own. Otherwise, they are read as the
        symbol for the unknown, or refused if there is none.

    Raises
    ------
    RecipeError
        If a symbol is not in the alphabet and the alphabet is not to be extended, a count is below
        1, or there is no alphabet and every string is empty.
    TypeError
        If strings have none of these forms.
    """
    if isinstance(strings, Sample):
        return strings if alphabet is None or extend else strings.in_alphabet(alphabet)
    check_type("alphabet", alphabet, Alphabet | None)
    if hasattr(strings, "sample") and hasattr(strings, "words"):
        return as_sample(
            strings.sample() if callable(strings.sample) else strings.sample, alphabet, name, extend
        )
    if isinstance(strings, Words):
        words_alphabet = (
            (None if extend and strings.alphabet else alphabet)
            or strings.alphabet
            or Alphabet.numbered(int(strings.symbols.max(initial=0)) + 1)
        )
        return Sample.of(strings.in_alphabet(words_alphabet), words_alphabet)
    counts = None
    mapping = _counted(strings)
    if mapping is not None:
        strings = list(mapping)
        counts = np.array(list(mapping.values()))
    rows = _rows(strings, name)
    if not rows and alphabet is None:
        raise RecipeError(f"{name} has no strings")
    if _in_writing(rows):
        symbols = _symbols(rows, alphabet)
        if alphabet and extend:
            new_symbols = set(chain.from_iterable(symbols)).difference(alphabet.symbols)
            alphabet = alphabet.extended(in_order(new_symbols))
        alphabet = alphabet or Alphabet.of(chain.from_iterable(symbols))
        return Sample.of(_encoded(symbols, alphabet), alphabet, counts)
    words = as_words(rows, alphabet)
    if alphabet is None and not len(words.symbols):
        raise RecipeError(
            "every string is empty: at least one symbol is needed to make an alphabet"
        )
    return Sample.of(words, alphabet or Alphabet.numbered(int(words.symbols.max()) + 1), counts)


def frequent_symbols(
    strings: SampleLike, min_count: int = MIN_COUNT, unknown: str = UNKNOWN
) -> Alphabet:
    """Make an alphabet from the symbols that occur at least a given number of times in strings, and
    a symbol that stands for all others.

    >>> frequent_symbols(["the cat", "the dog", "a cat"]).symbols
    ('cat', 'the', '<unk>')

    Parameters
    ----------
    strings : Sample or strings
        As in `as_sample`.
    min_count : int
        Occurrences in all strings together, at least 1.
    unknown : str
        The symbol for the unknown. If it occurs in the strings, it stays, however rare it is.

    Raises
    ------
    RecipeError
        If no symbol occurs that often, or `unknown` contains white space, is empty or is λ.
    """
    check_type("min_count", min_count, int)
    check_at_least("min_count", min_count, 1)
    check_unknown(unknown)
    sample = as_sample(strings)
    words = sample.words
    times = np.zeros(sample.num_symbols, dtype=np.int64)
    np.add.at(times, words.symbols, np.repeat(sample.counts, words.lengths))
    frequent = [sample.alphabet.symbols[number] for number in np.flatnonzero(times >= min_count)]
    if not frequent:
        raise RecipeError(
            f"no symbol occurs at least {min_count:,} times: the most frequent one occurs "
            f"{plural(int(times.max()), 'time')}"
        )
    return Alphabet.of(frequent, unknown)


def hold_tokens(texts: Iterable[str], alphabet: Alphabet | None) -> bool:
    """Guess that strings consist of tokens if one of them has white space inside, or the alphabet
    has a symbol of several letters other than the symbol for the unknown.
    """
    return bool(alphabet and alphabet.in_tokens) or any(
        len(text.split(maxsplit=1)) > 1 for text in texts
    )


def _counted(strings: Any) -> Mapping[Any, int] | None:
    """Return the counts of strings: a mapping, or a Series of integers (not strings)."""
    if isinstance(strings, Mapping):
        return strings
    if hasattr(strings, "value_counts") and getattr(
        getattr(strings, "dtype", None), "kind", ""
    ) in ("i", "u"):
        counts: dict[Any, int] = strings.to_dict()
        return counts
    return None


def _rows(strings: Any, name: str = "strings") -> list[Any]:
    """Return the strings as a list. Each of them has one of the forms."""
    if hasattr(strings, "columns"):
        names = ", ".join(map(repr, strings.columns[:5]))
        raise TypeError(
            f"{name} must be one column of the table, such as table[{strings.columns[0]!r}]; "
            f"got a table with the columns {names}"
        )
    if isinstance(strings, (str, bytes, Path)):
        raise TypeError(
            f"{name} must be several strings, such as a list; got {strings!r:.40} (a list of "
            "one: [text]; "
            "read_strings(Path(name)) for a file)"
        )
    if getattr(strings, "ndim", 0) == 2 and strings.shape[1] == 1 and not _is_written(strings):
        raise TypeError(
            f"{name} must be several strings, such as a list of lists; got an array of shape "
            f"{tuple(strings.shape)}, a column of "
            "numbers: pass a list of sequences; for hmmlearn's X and lengths, "
            "np.split(X.ravel(), np.cumsum(lengths)[:-1])"
        )
    try:
        rows = list(strings)
    except TypeError:
        raise TypeError(
            f"{name} must be a Sample, or strings, such as a list of text; got "
            f"{type(strings).__name__}"
        ) from None
    for number, row in enumerate(rows):
        if isinstance(row, bytes) or not (isinstance(row, str) or hasattr(row, "__len__")):
            raise TypeError(f"{name}, string {number + 1}, must be {FORMS}; got {row!r:.40}")
    return rows


def _is_written(array: Any) -> bool:
    """Return whether an array holds text."""
    return getattr(array.dtype, "kind", "") in ("U", "S", "O", "T")


def _in_writing(rows: Sequence[Any]) -> bool:
    """Return whether symbols are text or tokens; False if they are numbers.

    Raises TypeError if there are both.
    """
    first: tuple[int, bool] | None = None
    for number, row in enumerate(rows):
        if len(row) or isinstance(row, str):
            written = isinstance(row, str) or isinstance(row[0], str)
            if first is not None and written != first[1]:
                raise TypeError(
                    f"strings must be all text or all numbers; string {first[0] + 1} and string "
                    f"{number + 1} differ"
                )
            if (
                not isinstance(row, str)
                and written
                and not all(isinstance(token, str) for token in row)
            ):
                raise TypeError(f"string {number + 1} must be {FORMS}; got {row!r:.40}")
            first = first or (number, written)
    return first is not None and first[1]


def _symbols(rows: Sequence[Any], alphabet: Alphabet | None) -> list[Sequence[str]]:
    """Split each string that is text into its symbols, which are characters or tokens; other
    strings stay as they are.
    """
    tokens = hold_tokens((row for row in rows if isinstance(row, str)), alphabet)
    split: list[Sequence[str]] = []
    for row in rows:
        if not isinstance(row, str):
            split.append(row)
        elif row.strip() in ("", LAMBDA):
            split.append(())
        elif tokens or (alphabet and row.strip() == alphabet.unknown):
            split.append(row.split())
        else:
            split.append(row)
    return split


def _encoded(rows: Sequence[Sequence[str]], alphabet: Alphabet) -> Words:
    index = alphabet.numbers
    if alphabet.unknown is not None:
        others = set(chain.from_iterable(rows)).difference(index)
        index = {**index, **dict.fromkeys(others, index[alphabet.unknown])}
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    numbers = map(index.__getitem__, chain.from_iterable(rows))
    try:
        symbols = np.fromiter(numbers, np.int64, int(lengths.sum()))
    except KeyError as error:
        raise RecipeError(
            f"symbol {error.args[0][:40]!r} is not in the alphabet of {alphabet.summary}"
        ) from None
    return Words(symbols, offsets_of(lengths), alphabet)
