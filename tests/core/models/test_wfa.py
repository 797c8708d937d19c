"""Weighted automata: values by hand, conversions, sums over all strings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core.errors import RecipeError
from nlwfa_core.models.conversion import to_string_probabilities
from nlwfa_core.models.wfa import WFA
from nlwfa_core.sources.automata import random_automaton, random_wfa
from nlwfa_core.strings import rolling
from nlwfa_core.strings.trie import Trie
from nlwfa_core.strings.words import Word, Words
from tests.references import (
    BINARY,
    COIN,
    COUNTER,
    GEOMETRIC,
    PARITY,
    REFERENCES,
    Reference,
    all_words,
    prefix_automaton,
    ring,
    state_by_matrices,
    weight_by_matrices,
)

MODELS = [*(reference.wfa for reference in REFERENCES), random_wfa(5, 3, seed=0), random_automaton(6, 2, seed=1), ring(3)]
DISTRIBUTIONS = [GEOMETRIC.wfa, COIN.wfa, ring(3), random_automaton(6, 3, seed=1, mean_length=3)]


@pytest.mark.parametrize("reference", REFERENCES, ids=repr)
def test_values_by_hand(reference: Reference) -> None:
    assert reference.wfa.weights(Words.of(reference.values)).tolist() == list(reference.values.values())


@pytest.mark.parametrize("few", [0, rolling.NUMBERS_PER_CALL])
@given(model=st.sampled_from(MODELS), data=st.data())
def test_what_steps_together_changes_nothing(few: int, model: WFA, data: st.DataObject) -> None:
    symbols = st.integers(0, model.num_symbols - 1)
    rows: list[Word] = data.draw(st.lists(st.lists(symbols, max_size=7).map(tuple), max_size=10))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rolling, "NUMBERS_PER_CALL", few)
        together = model.weights(Words.of(rows))
    np.testing.assert_allclose(together, [weight_by_matrices(model, word) for word in rows], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(together, [model.weights(Words.of([word]))[0] for word in rows], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("model", DISTRIBUTIONS)
def test_prefix_weights_are_sums_over_continuations(model: WFA) -> None:
    assert model.spectral_radius < 1 and model.total_weight() == pytest.approx(1, abs=1e-12)
    prefix = prefix_automaton(model)
    words = all_words(model.num_symbols, 2)
    # f(uΣ*) = Σ_t α_u Aᵗ α∞, the sum of all continuations length by length
    states = np.stack([state_by_matrices(model, u) for u in words])
    sums, power = np.zeros(len(words)), model.termination
    for _ in range(3000):
        sums += states @ power
        power = model.summed_transitions @ power
    np.testing.assert_allclose(prefix.weights(words), sums, rtol=1e-12)
    np.testing.assert_allclose(to_string_probabilities(prefix, "prefix").weights(words), model.weights(words), atol=1e-14)


@pytest.mark.parametrize("model", MODELS)
def test_next_scores_sum_to_the_prefix_weight(model: WFA) -> None:
    trie = Trie.of(all_words(model.num_symbols, 3), model.num_symbols)
    scores = model.next_scores(trie)
    nodes = trie.prefixes(range(trie.num_nodes))
    prefix = prefix_automaton(model)
    assert scores.shape == (trie.num_nodes, model.num_symbols + 1)
    np.testing.assert_allclose(scores.sum(axis=1), prefix.weights(nodes), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(scores[:, -1], model.weights(nodes), rtol=1e-12, atol=1e-15)
    for symbol in range(model.num_symbols):
        longer = Words.of((*u, symbol) for u in nodes)
        np.testing.assert_allclose(scores[:, symbol], prefix.weights(longer), rtol=1e-10, atol=1e-12)


def test_next_scores_by_hand() -> None:
    """COIN in state 1: a with 1/4, b with 1/4, the end with 1/2; in state 2: 1/2, 1/4, 1/4."""
    trie = Trie.of(Words.of([(1,)]), 2)
    np.testing.assert_allclose(COIN.wfa.next_scores(trie), [[1 / 4, 1 / 4, 1 / 2], [1 / 8, 1 / 16, 1 / 16]], rtol=1e-14)


@pytest.mark.parametrize("model", MODELS)
def test_the_square_is_the_square(model: WFA) -> None:
    words = all_words(model.num_symbols, 5)
    square = model.squared()
    assert square.num_states == model.num_states**2
    np.testing.assert_allclose(square.weights(words), model.weights(words) ** 2, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize(("reference", "radius"), [(COUNTER, 2), (BINARY, 4), (PARITY, 2)], ids=repr)
def test_a_sum_that_diverges_is_infinite(reference: Reference, radius: float) -> None:
    assert reference.wfa.spectral_radius == pytest.approx(radius)
    assert reference.wfa.total_weight() == np.inf


def test_a_singular_conversion_still_gives_numbers() -> None:
    """f(aⁿ) = 1: I − A = 0, so no inverse; the pseudo-inverse stands in."""
    ones = WFA(np.ones(1), np.ones((1, 1, 1)), np.ones(1))
    assert ones.prefix_termination.tolist() == [0]
    assert ones.total_weight() == np.inf


@pytest.mark.parametrize("few", [0, rolling.NUMBERS_PER_CALL])
def test_overflow_is_an_answer(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rolling, "NUMBERS_PER_CALL", few)
    huge = WFA(np.ones(1), np.full((1, 1, 1), 1e200), np.ones(1))
    assert huge.weights(Words.of([(0,), (0, 0), ()])).tolist() == [1e200, np.inf, 1]
    assert np.isinf(huge.next_scores(Trie.of(Words.of([(0, 0, 0)]), 1))).any()


@pytest.mark.parametrize(
    ("initial", "transitions", "termination"),
    [((2,), (1, 3, 3), (2,)), ((2,), (2, 2), (2,)), ((2,), (1, 2, 2), (3,)), ((), (1, 1, 1), (1,))],
)
def test_shapes_that_do_not_fit_are_refused(
    initial: tuple[int, ...], transitions: tuple[int, ...], termination: tuple[int, ...]
) -> None:
    with pytest.raises(RecipeError, match=r"a WFA needs initial \(k,\).*got"):
        WFA(np.ones(initial), np.ones(transitions), np.ones(termination))


def test_unknown_symbols_are_refused() -> None:
    with pytest.raises(RecipeError, match="symbol 2 is not in the alphabet of 2 symbols"):
        COIN.wfa.weights(Words.of([(0, 2)]))
