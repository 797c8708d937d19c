"""The sources of strings by name, and the generators of those that draw their strings from a known model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ..errors import plural
from ..models.model import Model
from ..strings.words import Alphabet, Words
from .automata import random_automaton, sample_words, squared_automaton
from .dyck import ALPHABET, Dyck
from .tomita import LANGUAGES, tomita_automaton

Seed = int | Sequence[int]
LANGUAGE_ALPHABET = Alphabet(("0", "1"))  # of Tomita's languages
LETTERS = "abcdefghijklmnopqrstuvwxyz"  # symbols of random automata


@dataclass(frozen=True)
class Generator:
    """A model that strings are drawn from, so that the probability of each is known.

    Attributes
    ----------
    alphabet : Alphabet
    model : Model
    draw : callable
        Number of strings and seed -> Words.
    title : str
        What it is, for people.
    """

    alphabet: Alphabet
    model: Model
    draw: Callable[[int, Seed], Words]
    title: str


@dataclass(frozen=True)
class Source:
    """Where strings come from.

    Attributes
    ----------
    description : str
        A sentence for people.
    options : tuple of str
        The names of its options, which are fields of a data recipe.
    generator : callable or None
        The model's seed and the options by name -> Generator; None if strings are read from a file.
    """

    description: str
    options: tuple[str, ...] = ()
    generator: Callable[..., Generator] | None = None


def _dyck(model_seed: Seed, split_probability: float, wrap_probability: float) -> Generator:
    grammar = Dyck(split_probability, wrap_probability)
    title = f"Dyck grammar: S→SS {grammar.split:g} | [S] {grammar.wrap:g} | [] {grammar.leaf:g}"
    return Generator(ALPHABET, grammar, grammar.sample, title)


def _tomita(model_seed: Seed, grammar: int) -> Generator:
    model = tomita_automaton(grammar)
    return Generator(
        LANGUAGE_ALPHABET,
        replace(model, alphabet=LANGUAGE_ALPHABET),
        partial(sample_words, model),
        f"Tomita {grammar}: {LANGUAGES[grammar].title}",
    )


def _automaton(model_seed: Seed, num_states: int, num_symbols: int) -> Generator:
    model = replace(random_automaton(num_states, num_symbols, model_seed), alphabet=_letters(num_symbols))
    title = f"random probabilistic automaton, {plural(num_states, 'state')}, {plural(num_symbols, 'symbol')}"
    return Generator(_letters(num_symbols), model, partial(sample_words, model), title)


def _squared(model_seed: Seed, num_states: int, num_symbols: int) -> Generator:
    model = replace(squared_automaton(num_states, num_symbols, model_seed), alphabet=_letters(num_symbols))
    title = f"square of a random WFA with {plural(num_states, 'state')}, {plural(num_symbols, 'symbol')}"
    return Generator(_letters(num_symbols), model, partial(sample_words, model), title)


def _letters(num_symbols: int) -> Alphabet:
    return Alphabet(tuple(LETTERS[:num_symbols])) if num_symbols <= len(LETTERS) else Alphabet.numbered(num_symbols)


SOURCES = {
    "dyck": Source("Brackets from the grammar S → SS | [S] | [].", ("split_probability", "wrap_probability"), _dyck),
    "tomita": Source("Strings of a small regular language, one of Tomita's seven.", ("grammar",), _tomita),
    "automaton": Source("Strings from a random probabilistic automaton.", ("num_states", "num_symbols"), _automaton),
    "squared": Source(
        "Strings from the square of a random automaton: its rank is far above that of its square root.",
        ("num_states", "num_symbols"),
        _squared,
    ),
    "verbs": Source("English verb forms, letter by letter."),
    "upload": Source(
        "Your own strings: upload them on the Data page.",
        ("upload", "upload_test", "upload_solution", "upload_model", "upload_prefixes", "upload_targets", "upload_format"),
    ),
}
