"""Write what users should know about their strings: test strings that are also training strings,
symbols that a model does not know, and a sample with fewer prefixes than asked for.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from ..errors import RecipeError, listed
from ..hankel.matrix import HankelMatrix
from ..hankel.recipe import HankelRecipe
from ..strings.sample import Sample
from ..strings.words import Alphabet, Words, distinct
from .recipe import Recipe

# Distinct training strings of which a model's file keeps a key each, of four bytes: at most 270 kB.
MOST_KEYS = 50_000
KEY = np.dtype("<u4")


def basis_notes(hankel: HankelMatrix, recipe: HankelRecipe) -> tuple[str, ...]:
    """Tell the user if the sample has fewer prefixes or suffixes than the recipe asks for."""
    numbers = (
        ("prefixes", recipe.num_prefixes, hankel.num_prefixes),
        ("suffixes", recipe.num_suffixes, hankel.num_suffixes),
    )
    return tuple(
        f"You asked for {requested:,} {name}; the sample has only {available:,}, so all of "
        "them are used."
        for name, requested, available in numbers
        if available < requested
    )


def overlap_notes(train: Sample, test: Sample, role: str = "test") -> tuple[str, ...]:
    """State how many test strings are also training strings; empty if none is. The samples must
    have the same alphabet.

    >>> from nlwfa_core import as_sample
    >>> overlap_notes(as_sample(["ab", "b"]), as_sample(["b", "b", "bb", "ab"]))
    ('3 of 4 test strings (2 of 3 distinct ones) are training strings too.',)
    """
    _, inverse = distinct(Words.joined([train.words, test.words]))
    train_numbers = inverse[: len(train.words)]
    others = inverse[len(train.words) :]
    return _overlap_note(
        test, np.isin(others, train_numbers), bool(np.isin(train_numbers, others).all()), role
    )


def training_notes(recipes: Sequence[object]) -> tuple[str, ...]:
    """State that two models were trained on different things; empty if they were not, or if this is
    not known.

    `recipes`: the JSON of each model's recipe, or anything else.

    >>> training_notes([{"learning": {"learner": learner}} for learner in ("SP", "GRU")])
    ('A and B were trained in different ways: A on the Hankel matrix, B on the strings themselves. A difference in scores may be due to that.',)
    """  # noqa: E501
    ways = [_trained_on(recipe) for recipe in recipes]
    if "" in ways or len(set(ways)) == 1:
        return ()
    said = ", ".join(f"{name} on {way}" for name, way in zip("AB", ways, strict=True))
    return (
        f"A and B were trained in different ways: {said}. A difference in scores may be due to "
        "that.",
    )


def _trained_on(recipe: object) -> str:
    """Write what a model was trained on; empty if that is not known."""
    if not isinstance(recipe, dict):
        return ""
    try:
        learning = Recipe(**recipe).learning
    except (RecipeError, TypeError):
        return ""
    on_strings = not learning.needs_hankel or "likelihood" in (
        getattr(learning, "refinement", ""),
        getattr(learning, "objective", ""),
    )
    return "the strings themselves" if on_strings else "the Hankel matrix"


def training_keys(train: Sample) -> str | None:
    """Make a 32-bit key, as text, for each distinct training string, from which `key_notes` finds
    the test strings that are among them.

    It reveals little about the strings themselves. None if there are more than `MOST_KEYS`, so a
    model's file stays small.
    """
    if len(train.words) > MOST_KEYS:
        return None
    return b64encode(np.unique(_keys(train)).tobytes()).decode()


def key_notes(keys: object, test: Sample, role: str = "test") -> tuple[str, ...]:
    """Write `overlap_notes` from the `training_keys` of the training strings; empty without keys.

    Two strings have the same key by chance in one of 4 billion cases.

    >>> from nlwfa_core import as_sample
    >>> key_notes(training_keys(as_sample(["ab", "b"])), as_sample(["b", "ab"]))
    ('The test strings are the training strings, 2 distinct ones: scores measure memory, not generalisation.',)
    """  # noqa: E501
    try:
        known = np.frombuffer(b64decode(str(keys or ""), validate=True), dtype=KEY)
    except ValueError:
        return ()
    test_keys = _keys(test)
    return _overlap_note(
        test, np.isin(test_keys, known), bool(np.isin(known, test_keys).all()), role
    )


def _keys(sample: Sample) -> npt.NDArray[np.uint32]:
    names = sample.alphabet.symbols
    texts = (
        "\0".join(["", *(names[symbol] for symbol in word)]).encode(errors="surrogatepass")
        for word in sample.words
    )
    return np.frombuffer(
        b"".join(blake2b(text, digest_size=KEY.itemsize).digest() for text in texts), dtype=KEY
    )


def _overlap_note(
    test: Sample, is_shared: npt.NDArray[np.bool_], is_all_of_train: bool, role: str
) -> tuple[str, ...]:
    """Write the sentence of `overlap_notes`.

    `is_shared` (num_distinct,): which distinct test strings are training strings.
    `is_all_of_train`: whether all training strings are among them.
    """
    if not is_shared.any():
        return ()
    if is_shared.all() and is_all_of_train:
        size = f"{len(test.words):,} distinct ones"
        return (
            f"The {role} strings are the training strings, {size}: scores measure memory, "
            "not generalisation.",
        )
    shared = int(test.counts[is_shared].sum())
    of_distinct = f"{int(is_shared.sum()):,} of {len(test.words):,} distinct ones"
    return (
        f"{shared:,} of {test.num_strings:,} {role} strings ({of_distinct}) are training "
        "strings too.",
    )


def unseen_notes(train: Sample, test: Sample, role: str = "test") -> tuple[str, ...]:
    """Warn of test strings with symbols that no training string has. A model of string frequencies
    gives such strings the weight 0.
    """
    seen = np.zeros(test.num_symbols, dtype=bool)
    seen[np.unique(train.words.symbols)] = True
    return _notes_on_symbols(test, seen, role, "that no training string has")


def mapped_notes(strings: Sample, alphabet: Alphabet, role: str = "test") -> tuple[str, ...]:
    """State how many strings have symbols that an alphabet lacks, and that are read as its symbol
    for the unknown; empty if none has.
    """
    which = f"that are read as {alphabet.unknown!r}"
    return _notes_on_symbols(strings, _in_alphabet(strings, alphabet), role, which)


def symbol_for_unknown_notes(strings: Sample, train: Sample) -> tuple[str, ...]:
    """State what may be unexpected about the symbol that stands for unknown ones in `train`."""
    unknown = train.alphabet.unknown
    if unknown is None:
        return ()
    if not _occurs(unknown, train):
        return (
            f"No training string has the symbol {unknown!r}, so a model without smoothing gives "
            "it the weight 0.",
        )
    if _occurs(unknown, strings):
        return (
            f"The training strings already have {unknown!r}; unknown symbols are read as the same "
            "symbol.",
        )
    return ()


def _occurs(symbol: str, strings: Sample) -> bool:
    number = strings.alphabet.numbers.get(symbol, -1)
    return bool((strings.words.symbols == number).any())


def skipped_notes(test: Sample, alphabet: Alphabet) -> tuple[str, ...]:
    """State how many strings are left out, because they have symbols that an alphabet lacks; empty
    if none has.
    """
    notes = _notes_on_symbols(
        test, _in_alphabet(test, alphabet), "test", "that the model does not know"
    )
    return tuple(f"{note[:-1]}; they are left out." for note in notes)


def _in_alphabet(strings: Sample, alphabet: Alphabet) -> npt.NDArray[np.bool_]:
    """Return which symbols of some strings are in an alphabet, shape (num_symbols,)."""
    return np.array([symbol in alphabet.numbers for symbol in strings.alphabet.symbols])


def unknown_notes(test: Sample, num_known: int, role: str = "test") -> tuple[str, ...]:
    """Warn of strings with symbols that a model does not know: all but the first `num_known`. The
    weight of such strings is 0.
    """
    notes = _notes_on_symbols(
        test, np.arange(test.num_symbols) < num_known, role, "that the model does not know"
    )
    return tuple(f"{note[:-1]}; their weight is 0." for note in notes)


def _notes_on_symbols(
    test: Sample, seen: npt.NDArray[np.bool_], role: str, which: str
) -> tuple[str, ...]:
    new = np.unique(test.words.symbols[~seen[test.words.symbols]])
    if not len(new):
        return ()
    symbols = listed([test.alphabet.symbols[symbol] for symbol in new], most=8)
    owners = np.repeat(np.arange(len(test.words)), test.words.lengths)
    touched = int(test.counts[np.unique(owners[np.isin(test.words.symbols, new)])].sum())
    strings = f"{role} strings".strip()
    return (f"{touched} of {test.num_strings} {strings} use symbols {which}: {symbols}.",)
