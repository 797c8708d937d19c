"""Automata to begin with: languages, distributions and counters that fit on a screen.

The distributions have total weight 1, so strings can be drawn from them. The weights of the
others are 0 and 1, or counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ...errors import check_one_of
from ...sources.random_automata import random_automaton
from ...sources.registry import LANGUAGE_ALPHABET
from ...sources.tomita import LANGUAGES, tomita_automaton
from ...strings.words import Alphabet
from .draft import Draft, StateRow, read_draft

EMPTY = Draft((StateRow("1", "1", "0"),), (), ("a", "b"))
FIRST = "dyck-2"  # the example that the page begins with
BY_SEED = "random"  # the example that needs a seed


@dataclass(frozen=True)
class Example:
    """An automaton to begin with: a title, and a function that takes a seed and returns the
    automaton's draft. All examples but BY_SEED ignore the seed.
    """

    title: str
    draft: Callable[[int], Draft]


def _written(title: str, text: str) -> Example:
    return Example(title, lambda seed: read_draft(text))


def _tomita(grammar: int) -> Example:
    wfa = replace(tomita_automaton(grammar), alphabet=LANGUAGE_ALPHABET)
    return Example(f"Tomita {grammar}: {LANGUAGES[grammar].title}", lambda seed: Draft.of(wfa))


def _random(seed: int) -> Draft:
    return Draft.of(replace(random_automaton(3, 2, seed), alphabet=Alphabet(("a", "b"))))


EXAMPLES: dict[str, Example] = {
    "dyck-2": _written(
        "Brackets, at most two open: a distribution",
        """
        state 0 1 1/2
        state 1 0 0
        state 2 0 0
        arrow 0 [ 1 1/2
        arrow 1 [ 2 0.3
        arrow 1 ] 0 0.7
        arrow 2 ] 1 1
        """,
    ),
    "even-a": _written(
        "Even number of a: 1 or 0",
        "state even 1 1\nstate odd 0 0\narrow even a odd 1\narrow odd a even 1\narrow even b "
        "even 1\narrow odd b odd 1",
    ),
    "a-then-b": _written(
        "a's, then b's: a distribution",
        "state a 1 0.1\nstate b 0 0.4\narrow a a a 0.5\narrow a b b 0.4\narrow b b b 0.6",
    ),
    "count-a": _written(
        "Number of a: a counter",
        "state 1 1 0\nstate 2 0 1\narrow 1 a 1 1\narrow 1 b 1 1\narrow 1 a 2 1\narrow 2 a 2 "
        "1\narrow 2 b 2 1",
    ),
    "hmm": _written(
        "A hidden Markov model: sun and walks",
        """
        state sun 0.6 0.2
        state rain 0.4 0.2
        arrow sun walk sun 0.42
        arrow sun walk rain 0.14
        arrow sun read sun 0.18
        arrow sun read rain 0.06
        arrow rain walk sun 0.08
        arrow rain walk rain 0.12
        arrow rain read sun 0.24
        arrow rain read rain 0.36
        """,
    ),
    "fibonacci": _written(
        "Fibonacci numbers: f(aⁿ) = 0, 1, 1, 2, 3, …",
        "state 1 0 1\nstate 2 1 0\narrow 1 a 1 1\narrow 1 a 2 1\narrow 2 a 1 1",
    ),
    **{f"tomita-{grammar}": _tomita(grammar) for grammar in LANGUAGES},
    BY_SEED: Example("A random distribution with three states, by seed", _random),
}


def example(name: str, seed: int = 0) -> Draft:
    """Make the draft of an example. Raises RecipeError if there is none of this name."""
    check_one_of("example", name, EXAMPLES)
    return EXAMPLES[name].draft(seed)
