"""Define Tomita's seven regular languages over {0, 1}, with a probability for each string.

The languages are those of M. Tomita, Dynamic construction of finite automata from examples using
hill-climbing (1982). A language has no probabilities; here, strings are drawn by a random walk
through the language's smallest automaton. In an accepting state, the walk stops with probability
0.2. Otherwise it takes 0 or 1, with equal probabilities if both can still lead to a string of the
language. So the probability of every string is known exactly, and is 0 outside the language.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import RecipeError
from ..models.wfa import WFA

STOP = 0.2


@dataclass(frozen=True)
class Language:
    """Holds the smallest automaton of a language, without its dead state. State 0 is the initial
    state.
    """

    title: str  # a description of the language's strings for pages
    # for each state, the states after 0 and after 1; None if no string of the language continues
    # with this symbol
    following: tuple[tuple[int | None, int | None], ...]
    accepting: tuple[int, ...]


LANGUAGES: dict[int, Language] = {
    1: Language("1s only", ((None, 0),), (0,)),
    2: Language("10 repeated any number of times", ((None, 1), (0, None)), (0,)),
    3: Language(
        "an odd run of 1s is never followed by an odd run of 0s",
        ((0, 1), (2, 0), (3, None), (2, 1)),
        (0, 1, 3),
    ),
    4: Language("never 000", ((1, 0), (2, 0), (None, 0)), (0, 1, 2)),
    5: Language(
        "an even number of 0s and an even number of 1s", ((1, 2), (0, 3), (3, 0), (2, 1)), (0,)
    ),
    6: Language(
        "the numbers of 0s and of 1s differ by a multiple of 3", ((1, 2), (2, 0), (0, 1)), (0,)
    ),
    7: Language("0s, then 1s, then 0s, then 1s", ((0, 1), (2, 1), (2, 3), (None, 3)), (0, 1, 2, 3)),
}


def tomita_automaton(grammar: int) -> WFA:
    """Make the automaton of a language's distribution, with the language's states and total weight
    1.

    >>> from nlwfa_core.strings.words import Words
    >>> tomita_automaton(2).weights(Words.of([(), (1, 0), (1, 0, 1, 0), (1,)])).round(3).tolist()
    [0.2, 0.16, 0.128, 0.0]

    `grammar`: the number of the language, 1 … 7.

    Raises RecipeError if the number is not between 1 and 7.
    """
    if grammar not in LANGUAGES:
        raise RecipeError(f"grammar must be between 1 and {len(LANGUAGES)}; got {grammar}")
    language = LANGUAGES[grammar]
    num_states = len(language.following)
    termination = np.zeros(num_states)
    termination[list(language.accepting)] = STOP
    transitions = np.zeros((2, num_states, num_states))
    for state, targets in enumerate(language.following):
        steps = [(symbol, target) for symbol, target in enumerate(targets) if target is not None]
        for symbol, target in steps:
            transitions[symbol, state, target] = (1 - termination[state]) / len(steps)
    return WFA(np.eye(num_states)[0], transitions, termination)
