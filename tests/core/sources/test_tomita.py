"""Tomita's languages against their definitions in words, and their distributions against sums and
draws.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import groupby, pairwise

import numpy as np
import pytest

from nlwfa_core import DataRecipe
from nlwfa_core.errors import RecipeError
from nlwfa_core.experiment.datasets import load_data
from nlwfa_core.sources.random_automata import sample_words
from nlwfa_core.sources.tomita import LANGUAGES, STOP, tomita_automaton
from nlwfa_core.strings.words import Words
from tests.references import all_words


def no_odd_zeros_after_odd_ones(text: str) -> bool:
    runs = [(symbol, len(list(run)) % 2) for symbol, run in groupby(text)]
    return all(pair != (("1", 1), ("0", 1)) for pair in pairwise(runs))


DEFINITIONS: dict[int, Callable[[str], bool]] = {
    1: lambda x: re.fullmatch("1*", x) is not None,
    2: lambda x: re.fullmatch("(10)*", x) is not None,
    3: no_odd_zeros_after_odd_ones,
    4: lambda x: "000" not in x,
    5: lambda x: x.count("0") % 2 == x.count("1") % 2 == 0,
    6: lambda x: (x.count("0") - x.count("1")) % 3 == 0,
    7: lambda x: re.fullmatch("0*1*0*1*", x) is not None,
}


@pytest.mark.parametrize("grammar", LANGUAGES)
def test_the_strings_with_mass_are_those_of_the_language(grammar: int) -> None:
    words = list(all_words(2, 9))
    weights = tomita_automaton(grammar).weights(Words.of(words))
    expected = [DEFINITIONS[grammar]("".join(map(str, word))) for word in words]
    assert (weights > 0).tolist() == expected


@pytest.mark.parametrize("grammar", LANGUAGES)
def test_it_is_a_distribution_of_as_many_states_as_its_rank(grammar: int) -> None:
    automaton = tomita_automaton(grammar)
    assert automaton.total_weight() == pytest.approx(1, abs=1e-12)
    words = list(all_words(2, 4))
    hankel = automaton.weights(Words.of([(*u, *v) for u in words for v in words])).reshape(
        len(words), -1
    )
    assert (
        np.linalg.matrix_rank(hankel, tol=1e-10)
        == automaton.num_states
        == len(LANGUAGES[grammar].following)
    )


def test_probabilities_by_hand() -> None:
    """Tomita 4, 0010: three times neither stopped nor turned (0.8 / 2), once only a 1 was possible
    (0.8), then it stopped.
    """
    given = float(tomita_automaton(4).weights(Words.of([(0, 0, 1, 0)]))[0])
    assert given == pytest.approx(0.4 * 0.4 * 0.8 * 0.4 * STOP)


@pytest.mark.parametrize("grammar", LANGUAGES)
def test_draws_are_in_the_language(grammar: int) -> None:
    for word in sample_words(tomita_automaton(grammar), 300, 1):
        assert DEFINITIONS[grammar]("".join(map(str, word)))


def test_as_a_source() -> None:
    data = load_data(DataRecipe(source="tomita", grammar=5, num_strings=200))
    assert data.alphabet.symbols == ("0", "1") and data.title.startswith("Tomita 5")
    assert data.true_model is not None and data.test.target_is_true


@pytest.mark.parametrize("grammar", [0, 8])
def test_other_grammars_are_refused(grammar: int) -> None:
    with pytest.raises(RecipeError, match=f"grammar must be between 1 and 7; got {grammar}"):
        tomita_automaton(grammar)
    with pytest.raises(RecipeError, match="grammar"):
        DataRecipe(source="tomita", grammar=grammar)
