"""Nonlinear automata: one word at a time, and linear ones as a special case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core.errors import RecipeError
from nlwfa_core.metrics.evaluate import evaluate
from nlwfa_core.models.model import next_distributions, scaled_weights
from nlwfa_core.models.nlwfa import NLWFA
from nlwfa_core.models.reading import BoundaryReading, Reading, StringReading
from nlwfa_core.models.wfa import WFA
from nlwfa_core.strings import rolling
from nlwfa_core.strings.trie import Trie
from nlwfa_core.strings.words import Word, Words
from tests.references import (
    COIN,
    REFERENCES,
    Reference,
    all_words,
    as_nlwfa,
    random_nlwfa,
    weight_by_maps,
)

SWITCHES = [(True, True), (True, False), (False, True), (False, False)]
MODELS = [
    random_nlwfa(k, symbols, 7 * k, nonlinear)
    for k, symbols in ((1, 1), (4, 3))
    for nonlinear in SWITCHES
]


def decimal_tanh(x: Decimal) -> Decimal:
    if abs(x) < Decimal("1e-30"):
        return x
    if abs(x) > 100:
        return Decimal(1).copy_sign(x)
    power = (2 * x).exp()
    return (power - 1) / (power + 1)


def decimal_layers(
    state: Sequence[Decimal], layers: Sequence[np.ndarray], nonlinear: bool
) -> list[Decimal]:
    for layer in layers:
        sums = [
            sum((s * Decimal(float(w)) for s, w in zip(state, column, strict=True)), Decimal(0))
            for column in layer.T
        ]
        state = [decimal_tanh(value) if nonlinear else value for value in sums]
    return list(state)


def decimal_output(model: NLWFA, word: Word, column: int) -> Decimal:
    """The output of a column after a word, to 40 digits and with any exponent."""
    with localcontext() as context:
        context.prec = 40
        state = [Decimal(float(value)) for value in model.initial]
        for symbol in word:
            state = decimal_layers(
                state, [layer[symbol] for layer in model.transitions], model.nonlinear_transitions
            )
        hidden = decimal_layers(state, model.decoder, model.nonlinear_termination)
        output = decimal_layers(hidden, [model.output[:, [column]]], False)[0]
        return output * output if model.reading.link == "square" else output


@pytest.mark.parametrize(
    ("nonlinear", "reading"),
    list(
        zip(
            SWITCHES,
            [
                StringReading(),
                StringReading("square"),
                BoundaryReading("square"),
                BoundaryReading(),
            ],
            strict=True,
        )
    ),
)
def test_long_strings_do_not_underflow(nonlinear: tuple[bool, bool], reading: Reading) -> None:
    """2,000 symbols, far below 1e-308: logarithms, next symbols and scores against arithmetic with
    40 digits.

    The first symbol of one word multiplies by 2⁸, so that states also grow out of the range in
    which they are scaled.
    """
    rng = np.random.default_rng(3)
    num_maps = 2 + reading.has_end_map
    maps = tuple(rng.uniform(0.15, 0.45, (num_maps, *shape)) for shape in ((2, 3), (3, 2)))
    maps[0][1] *= 2.0**8
    outputs = rng.uniform(0.1, 1, (3, 1 if reading.has_end_map else 2))
    model = NLWFA(
        np.array([0.4, -0.1]), maps, (rng.uniform(0.1, 1, (2, 3)),), outputs, *nonlinear, reading
    )
    words: list[Word] = [(0,) * 2000, (0,) * 1800 + (1, 0, 1) * 118, (0, 1)]
    end = (2,) if reading.has_end_map else ()
    exact = [decimal_output(model, (*word, *end), 0) for word in words]
    with localcontext() as context:
        context.prec = 40
        logs = [float(abs(value).ln() / Decimal(2).ln()) for value in exact]
    assert min(logs) < -1100 < max(logs)
    np.testing.assert_allclose(model.log2_weights(Words.of(words)), logs, rtol=1e-12)
    weights, exponents = scaled_weights(model, Words.of(words))
    np.testing.assert_allclose(np.log2(np.abs(weights)) + exponents, logs, rtol=1e-12)
    trie = Trie.of(Words.of(words), 2)
    scores, shifts = model.scaled_next_scores(trie)
    assert shifts is not None and (shifts[trie.ends[:1]] < 0).all()
    column = 0 if reading.has_end_map else 1
    following = [decimal_output(model, (*words[0], symbol), column) for symbol in range(2)]
    row = [abs(value) for value in (*following, exact[0])]
    expected = [float(value / sum(row)) for value in row]
    np.testing.assert_allclose(next_distributions(scores[trie.ends[:1]])[0], expected, rtol=1e-12)
    found = evaluate(model, Words.of(words[:1]))
    assert (found.num_zero, found.num_impossible, found.log2_pauto) == (0, 0, 0.0)
    normalised = replace(model, reading=type(reading)(reading.link, normalised=True))
    np.testing.assert_allclose(normalised.next_scores(trie)[trie.ends[0]], expected, rtol=1e-12)


def test_the_sum_of_next_scores_may_be_beyond_float64() -> None:
    scores = np.array([[2.0**1023, -(2.0**1023), 0], [1, np.nan, 0], [-np.inf, 0, 0]])
    rows = next_distributions(scores)
    assert rows[0].tolist() == [0.5, 0.5, 0] and np.isnan(rows[1:]).all()


def test_linear_states_may_grow_beyond_float64() -> None:
    """f(aⁿ) = 8ⁿ."""
    model = as_nlwfa(WFA([1], [[[8.0]]], [1]))
    words = Words.of([(0,) * 300, (0,) * 1000])
    np.testing.assert_allclose(model.log2_weights(words), [900, 3000], rtol=1e-12)


@pytest.mark.parametrize("few", [0, rolling.NUMBERS_PER_CALL])
@given(model=st.sampled_from(MODELS), data=st.data())
def test_what_steps_together_changes_nothing(few: int, model: NLWFA, data: st.DataObject) -> None:
    symbols = st.integers(0, model.num_symbols - 1)
    rows: list[Word] = data.draw(st.lists(st.lists(symbols, max_size=6).map(tuple), max_size=10))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rolling, "NUMBERS_PER_CALL", few)
        together = model.weights(Words.of(rows))
    np.testing.assert_allclose(
        together, [weight_by_maps(model, word) for word in rows], rtol=1e-11, atol=1e-14
    )
    np.testing.assert_allclose(
        together, [model.weights(Words.of([word]))[0] for word in rows], rtol=1e-11, atol=1e-14
    )


@pytest.mark.parametrize("reference", REFERENCES, ids=repr)
def test_linear_maps_give_the_wfa(reference: Reference) -> None:
    model = as_nlwfa(reference.wfa)
    wfa = reference.wfa
    words = all_words(wfa.num_symbols, 5)
    trie = Trie.of(words, wfa.num_symbols)
    np.testing.assert_allclose(model.weights(words), wfa.weights(words), rtol=1e-14)
    np.testing.assert_allclose(model.states(trie), wfa.states(trie), rtol=1e-14)
    np.testing.assert_allclose(
        model.next_scores(trie), wfa.next_scores(trie), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("model", MODELS)
def test_next_scores_decode_the_next_states(model: NLWFA) -> None:
    words = all_words(model.num_symbols, 3)
    trie = Trie.of(words, model.num_symbols)
    scores = model.next_scores(trie)
    summing = replace(model, output=model.output[:, [1, 1]])
    np.testing.assert_allclose(scores[:, -1], model.weights(words), rtol=1e-12)
    for symbol in range(model.num_symbols):
        longer = Words.of((*u, symbol) for u in words)
        np.testing.assert_allclose(
            scores[:, symbol], summing.weights(longer), rtol=1e-11, atol=1e-14
        )


def test_tanh_by_hand() -> None:
    """One state, one layer: f(aa) = 3 tanh(2 tanh(2 tanh(2 · 0.5)))."""
    model = NLWFA(
        np.array([0.5]),
        (np.array([[[2.0]]]),),
        (np.array([[2.0]]),),
        np.array([[3.0, 1.0]]),
        True,
        True,
    )
    state = np.tanh(2 * np.tanh(2 * 0.5))
    assert model.weights(Words.of([(0, 0)]))[0] == pytest.approx(3 * np.tanh(2 * state))
    linear_end = replace(model, nonlinear_termination=False)
    assert linear_end.weights(Words.of([(0, 0)]))[0] == pytest.approx(3 * 2 * state)


@pytest.mark.parametrize(
    "change", ["initial", "transitions", "decoder", "taller", "output", "nothing", "number"]
)
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
        "taller": {"decoder": (np.ones((4, 6)),)},
        "output": {"output": np.ones((6, 1))},
        "nothing": {"transitions": ()},
        "number": {"initial": np.float64(1).reshape(())},
    }[change]
    with pytest.raises(
        RecipeError,
        match="the layers of an NL-WFA .* do not fit together: transitions .*, decoder .*, output",
    ):
        NLWFA(**{**parts, **wrong}, nonlinear_transitions=True, nonlinear_termination=True)


def test_a_state_with_no_weight_into_it_is_not_used() -> None:
    model = random_nlwfa(3, 2, seed=0)
    assert model.num_used_states == 3
    *first, last = model.transitions
    alone = last * [1.0, 1.0, 0.0]
    initial = np.array([1.0, 0.5, 0.0])
    assert replace(model, initial=initial, transitions=(*first, alone)).num_used_states == 2
    assert replace(model, transitions=(*first, alone)).num_used_states == 3  # λ has it


def test_unknown_symbols_are_refused() -> None:
    with pytest.raises(RecipeError, match="symbol 2 is not in the alphabet of 2 symbols"):
        as_nlwfa(COIN.wfa).weights(Words.of([(2,)]))
