"""The generators of the sources that draw strings from a known model, by the source's name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ..errors import plural
from ..models.wfa import WFA
from ..strings.words import Alphabet, Words
from .dyck import ALPHABET, Dyck
from .random_automata import (
    random_automaton,
    random_hmm,
    random_pdfa,
    random_pfa,
    sample_words,
    squared_automaton,
)
from .tomita import LANGUAGES, tomita_automaton

Seed = int | Sequence[int]
TrueModel = WFA | Dyck  # the models of sources: both can be called, asked and drawn from
LANGUAGE_ALPHABET = Alphabet(("0", "1"))  # the alphabet of Tomita's languages
LETTERS = "abcdefghijklmnopqrstuvwxyz"  # the symbols of random automata


@dataclass(frozen=True)
class Generator:
    """A model from which strings are drawn. The probability of each string is therefore known."""

    alphabet: Alphabet
    model: TrueModel
    draw: Callable[[int, Seed], Words]  # a function (number of strings, seed) -> Words
    title: str  # a description of the model for pages


def _dyck(model_seed: Seed, split_probability: float, wrap_probability: float) -> Generator:
    grammar = Dyck(split_probability, wrap_probability)
    title = f"Dyck grammar: S→SS {grammar.split:g} | [S] {grammar.wrap:g} | [] {grammar.leaf:g}"
    return Generator(ALPHABET, grammar, grammar.sample_words, title)


def _tomita(model_seed: Seed, grammar: int) -> Generator:
    model = tomita_automaton(grammar)
    return Generator(
        LANGUAGE_ALPHABET,
        replace(model, alphabet=LANGUAGE_ALPHABET),
        partial(sample_words, model),
        f"Tomita {grammar}: {LANGUAGES[grammar].title}",
    )


def _random(
    draw: Callable[[int, int, Seed], WFA],
    name: str,
    model_seed: Seed,
    num_states: int,
    num_symbols: int,
) -> Generator:
    model = replace(draw(num_states, num_symbols, model_seed), alphabet=_letters(num_symbols))
    title = f"{name} {plural(num_states, 'state')}, {plural(num_symbols, 'symbol')}"
    return Generator(_letters(num_symbols), model, partial(sample_words, model), title)


def _letters(num_symbols: int) -> Alphabet:
    return (
        Alphabet(tuple(LETTERS[:num_symbols]))
        if num_symbols <= len(LETTERS)
        else Alphabet.numbered(num_symbols)
    )


# Source -> a function (seed of the model, options of the source by name) -> Generator. Sources that
# are files have none.
GENERATORS: dict[str, Callable[..., Generator]] = {
    "dyck": _dyck,
    "tomita": _tomita,
    "automaton": partial(_random, random_automaton, "random probabilistic automaton,"),
    "hmm": partial(_random, random_hmm, "random hidden Markov model,"),
    "pfa": partial(_random, random_pfa, "random probabilistic automaton with few likely moves,"),
    "pdfa": partial(_random, random_pdfa, "random deterministic automaton,"),
    "squared": partial(_random, squared_automaton, "square of a random WFA with"),
}
