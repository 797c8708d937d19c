"""Nonlinear automata: one word at a time, and linear ones as a special case."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core.errors import RecipeError
from nlwfa_core.models.nlwfa import NLWFA
from nlwfa_core.strings import rolling
from nlwfa_core.strings.trie import Trie
from nlwfa_core.strings.words import Word, Words
from tests.references import COIN, REFERENCES, Reference, all_words, as_nlwfa, random_nlwfa, weight_by_maps

SWITCHES = [(True, True), (True, False), (False, True), (False, False)]
MODELS = [random_nlwfa(k, symbols, 7 * k, nonlinear) for k, symbols in ((1, 1), (4, 3)) for nonlinear in SWITCHES]


@pytest.mark.parametrize("few", [0, rolling.NUMBERS_PER_CALL])
@given(model=st.sampled_from(MODELS), data=st.data())
def test_what_steps_together_changes_nothing(few: int, model: NLWFA, data: st.DataObject) -> None:
    symbols = st.integers(0, model.num_symbols - 1)
    rows: list[Word] = data.draw(st.lists(st.lists(symbols, max_size=6).map(tuple), max_size=10))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rolling, "NUMBERS_PER_CALL", few)
        together = model.weights(Words.of(rows))
    np.testing.assert_allclose(together, [weight_by_maps(model, word) for word in rows], rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(together, [model.weights(Words.of([word]))[0] for word in rows], rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("reference", REFERENCES, ids=repr)
def test_linear_maps_give_the_wfa(reference: Reference) -> None:
    model, wfa = as_nlwfa(reference.wfa), reference.wfa
    words = all_words(wfa.num_symbols, 5)
    trie = Trie.of(words, wfa.num_symbols)
    np.testing.assert_allclose(model.weights(words), wfa.weights(words), rtol=1e-14)
    np.testing.assert_allclose(model.states(trie), wfa.states(trie), rtol=1e-14)
    np.testing.assert_allclose(model.next_scores(trie), wfa.next_scores(trie), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("model", MODELS)
def test_next_scores_decode_the_next_states(model: NLWFA) -> None:
    words = all_words(model.num_symbols, 3)
    trie = Trie.of(words, model.num_symbols)
    scores = model.next_scores(trie)
    summing = replace(model, output=model.output[:, [1, 1]])
    np.testing.assert_allclose(scores[:, -1], model.weights(words), rtol=1e-12)
    for symbol in range(model.num_symbols):
        longer = Words.of((*u, symbol) for u in words)
        np.testing.assert_allclose(scores[:, symbol], summing.weights(longer), rtol=1e-11, atol=1e-14)


def test_tanh_by_hand() -> None:
    """One state, one layer: f(aa) = 3 tanh(2 tanh(2 tanh(2 · 0.5)))."""
    model = NLWFA(np.array([0.5]), (np.array([[[2.0]]]),), (np.array([[2.0]]),), np.array([[3.0, 1.0]]), True, True)
    state = np.tanh(2 * np.tanh(2 * 0.5))
    assert model.weights(Words.of([(0, 0)]))[0] == pytest.approx(3 * np.tanh(2 * state))
    linear_end = replace(model, nonlinear_termination=False)
    assert linear_end.weights(Words.of([(0, 0)]))[0] == pytest.approx(3 * 2 * state)


@pytest.mark.parametrize("change", ["initial", "transitions", "decoder", "output", "nothing", "number"])
def test_layers_that_do_not_fit_are_refused(change: str) -> None:
    model = random_nlwfa(3, 2, seed=0)
    parts = {
        "initial": model.initial,
        "transitions": model.transitions,
        "decoder": model.decoder,
        "output": model.output,
    }
    wrong = {
        "initial": {"initial": np.ones(4)},
        "transitions": {"transitions": (model.transitions[0], model.transitions[1][:1])},
        "decoder": {"decoder": (np.ones((2, 6)),)},
        "output": {"output": np.ones((6, 1))},
        "nothing": {"transitions": ()},
        "number": {"initial": np.float64(1).reshape(())},
    }[change]
    with pytest.raises(RecipeError, match="the layers of an NL-WFA .* do not fit together: transitions .*, decoder .*, output"):
        NLWFA(**{**parts, **wrong}, nonlinear_transitions=True, nonlinear_termination=True)


def test_unknown_symbols_are_refused() -> None:
    with pytest.raises(RecipeError, match="symbol 2 is not in the alphabet of 2 symbols"):
        as_nlwfa(COIN.wfa).weights(Words.of([(2,)]))
