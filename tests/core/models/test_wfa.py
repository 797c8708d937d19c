"""Weighted automata: values by hand, conversions, sums over all strings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core.errors import RecipeError
from nlwfa_core.models.conversion import to_string_probabilities
from nlwfa_core.models.model import scaled_weights
from nlwfa_core.models.wfa import WFA
from nlwfa_core.sources.random_automata import random_automaton, random_wfa, sample_words
from nlwfa_core.strings import rolling
from nlwfa_core.strings.trie import Trie
from nlwfa_core.strings.words import Alphabet, Word, Words
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

MODELS = [
    *(reference.wfa for reference in REFERENCES),
    random_wfa(5, 3, seed=0),
    random_automaton(6, 2, seed=1),
    ring(3),
]
DISTRIBUTIONS = [GEOMETRIC.wfa, COIN.wfa, ring(3), random_automaton(6, 3, seed=1, mean_length=3)]


@pytest.mark.parametrize("reference", REFERENCES, ids=repr)
def test_values_by_hand(reference: Reference) -> None:
    assert reference.wfa.weights(Words.of(reference.values)).tolist() == list(
        reference.values.values()
    )


@pytest.mark.parametrize("few", [0, rolling.NUMBERS_PER_CALL])
@given(model=st.sampled_from(MODELS), data=st.data())
def test_what_steps_together_changes_nothing(few: int, model: WFA, data: st.DataObject) -> None:
    symbols = st.integers(0, model.num_symbols - 1)
    rows: list[Word] = data.draw(st.lists(st.lists(symbols, max_size=7).map(tuple), max_size=10))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rolling, "NUMBERS_PER_CALL", few)
        together = model.weights(Words.of(rows))
    np.testing.assert_allclose(
        together, [weight_by_matrices(model, word) for word in rows], rtol=1e-12, atol=1e-15
    )
    np.testing.assert_allclose(
        together, [model.weights(Words.of([word]))[0] for word in rows], rtol=1e-12, atol=1e-15
    )


@pytest.mark.parametrize("model", DISTRIBUTIONS)
def test_prefix_weights_are_sums_over_continuations(model: WFA) -> None:
    assert model.spectral_radius < 1 and model.total_weight() == pytest.approx(1, abs=1e-12)
    prefix = prefix_automaton(model)
    words = all_words(model.num_symbols, 2)
    # f(uΣ*) = Σ_t α_u Aᵗ α∞, the sum of all continuations length by length
    states = np.stack([state_by_matrices(model, u) for u in words])
    sums = np.zeros(len(words))
    power = model.termination
    for _ in range(3000):
        sums += states @ power
        power = model.summed_transitions @ power
    np.testing.assert_allclose(prefix.weights(words), sums, rtol=1e-12)
    np.testing.assert_allclose(
        to_string_probabilities(prefix, "prefix").weights(words), model.weights(words), atol=1e-14
    )


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
        np.testing.assert_allclose(
            scores[:, symbol], prefix.weights(longer), rtol=1e-10, atol=1e-12
        )


def test_next_scores_by_hand() -> None:
    """COIN in state 1: a with 1/4, b with 1/4, the end with 1/2; in state 2: 1/2, 1/4, 1/4."""
    trie = Trie.of(Words.of([(1,)]), 2)
    np.testing.assert_allclose(
        COIN.wfa.next_scores(trie), [[1 / 4, 1 / 4, 1 / 2], [1 / 8, 1 / 16, 1 / 16]], rtol=1e-14
    )


@pytest.mark.parametrize("model", MODELS)
def test_the_square_is_the_square(model: WFA) -> None:
    words = all_words(model.num_symbols, 5)
    square = model.squared()
    assert square.num_states == model.num_states**2
    np.testing.assert_allclose(
        square.weights(words), model.weights(words) ** 2, rtol=1e-10, atol=1e-14
    )


@pytest.mark.parametrize(
    ("reference", "radius"), [(COUNTER, 2), (BINARY, 4), (PARITY, 2)], ids=repr
)
def test_a_sum_that_diverges_is_infinite(reference: Reference, radius: float) -> None:
    assert reference.wfa.spectral_radius == pytest.approx(radius)
    assert reference.wfa.total_weight() == np.inf


@pytest.mark.parametrize(
    "summed",
    [
        [[1.0]],  # f(aⁿ) = 1: I − A = 0
        # rows sum to 1, but 1 − 0.7 is not 0.3 in floating point, so that there is a pivot of 5e-17
        [[0.1, 0.9], [0.3, 0.7]],
    ],
)
def test_a_sum_that_has_no_value_is_not_a_number(summed: list[list[float]]) -> None:
    model = WFA(np.ones(len(summed)), np.array([summed]), np.ones(len(summed)))
    assert np.isnan(model.prefix_termination).all()
    assert model.spectral_radius >= 1 and model.total_weight() == np.inf
    [scores] = model.next_scores(Trie.of(Words.of([()]), 1))
    assert np.isnan(scores[0]) and scores[1] == len(summed)


# state 0: a with 1/2, the end with 1/2; state 1 is added below
HALF = np.array([[0.5, 0.0], [0.0, 0.0]])


def two_states(row: list[float], column: float, stops: float) -> WFA:
    """State 0 makes aⁿ with probability 2⁻ⁿ⁻¹.

    State 1 has this row of A and stops with this weight; `column` leads to it.
    """
    transitions = HALF.copy()
    transitions[1], transitions[0, 1] = row, column
    return WFA(np.array([1.0, 0.0]), transitions[None], np.array([0.5, stops]))


@pytest.mark.parametrize(
    ("model", "useful", "radius"),
    [
        (two_states([0.0, 0.0], 0.0, 0.0), [0], 0.5),
        (two_states([0.3, 3.0], 0.0, 1.0), [0], 0.5),  # nothing leads to state 1, whose radius is 3
        (two_states([0.3, 1.0], 0.0, 1.0), [0], 0.5),  # or 1, so that I − A is singular
        # a dead end: state 1 never leads to the end of a string
        (two_states([0.0, 1.0], 0.25, 0.0), [0], 0.5),
        (two_states([0.0, 3.0], 0.25, 0.0), [0], 0.5),
    ],
)
def test_sums_rest_on_states_that_strings_use(model: WFA, useful: list[int], radius: float) -> None:
    """½ Σ 2⁻ⁿ = 1, exactly; after aⁿ come a and the end with equal weight."""
    assert model.useful_states.tolist() == useful and model.spectral_radius == radius
    assert model.total_weight() == 1.0
    assert model.prefix_termination.tolist() == [1.0, 0.0]
    trie = Trie.of(Words.of([(0, 0)]), 1)
    assert model.next_scores(trie).tolist() == [[0.5, 0.5], [0.25, 0.25], [0.125, 0.125]]
    assert set(sample_words(model, 100, seed=0).symbols.tolist()) == {0}


def test_states_lead_to_each_other_by_any_symbol_and_through_any_number_of_states() -> None:
    """0 –a→ 2 –b→ 1, which ends; A_a + A_b is 0 from 2 to 1, but strings distinguish a from b. 3
    leads to 1, and 2 to 4.
    """
    transitions = np.zeros((2, 5, 5))
    transitions[0, 0, 2] = transitions[1, 2, 1] = transitions[0, 3, 1] = transitions[1, 2, 4] = 1.0
    transitions[0, 2, 1] = -1.0
    model = WFA(np.eye(5)[0], transitions, np.eye(5)[1])
    assert model.useful_states.tolist() == [0, 1, 2]
    assert model.weights(Words.of([(0, 1), (0, 0), (0,)])).tolist() == [1, -1, 0]
    assert (model.total_weight(), model.spectral_radius) == (0, 0)


def test_an_automaton_without_useful_states_is_zero() -> None:
    model = WFA(np.array([1.0, 0.0]), np.eye(2)[None], np.array([0.0, 1.0]))
    assert model.useful_states.tolist() == [] and model.prefix_termination.tolist() == [0, 0]
    assert (model.total_weight(), model.spectral_radius) == (0, 0)
    assert model.next_scores(Trie.of(Words.of([(0,)]), 1)).tolist() == [[0, 0], [0, 0]]


@given(st.integers(1, 5), st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_states_that_are_not_useful_change_no_sum(num_extra: int, seed: int, share: float) -> None:
    """A random automaton, with other states that lead into it, out of it, or to each other: the
    sums are those without them.
    """
    rng = np.random.default_rng(seed)
    core = random_automaton(3, 2, seed)
    size = 3 + num_extra
    # unreachable states, which lead to useful ones; the others are dead ends
    enters = rng.random(num_extra) < share
    blocks = rng.random((2, num_extra, num_extra)) * 2
    blocks[:, ~enters[:, None] & enters] = 0  # a dead end does not lead to one of the first
    transitions = np.zeros((2, size, size))
    transitions[:, :3, :3], transitions[:, 3:, 3:] = core.transitions, blocks
    transitions[:, 3:, :3] = rng.random((2, num_extra, 3)) * enters[:, None]
    transitions[:, :3, 3:] = rng.random((2, 3, num_extra)) * ~enters
    more = WFA(
        np.concatenate((core.initial, np.where(enters, 0, rng.random(num_extra)))),
        transitions,
        np.concatenate((core.termination, np.where(enters, rng.random(num_extra), 0))),
    )
    words = all_words(2, 3)
    trie = Trie.of(words, 2)
    assert more.spectral_radius == pytest.approx(core.spectral_radius, rel=1e-12)
    assert more.total_weight() == pytest.approx(core.total_weight(), rel=1e-12)
    np.testing.assert_allclose(more.prefix_termination[:3], core.prefix_termination, rtol=1e-12)
    np.testing.assert_allclose(more.weights(words), core.weights(words), rtol=1e-12)
    np.testing.assert_allclose(more.next_scores(trie), core.next_scores(trie), rtol=1e-12)


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


@pytest.mark.parametrize("seed", range(6))
def test_sums_rest_on_the_smallest_automaton_where_states_cancel(seed: int) -> None:
    """One state goes on for ever and ends with weight 0: in the basis of the states that is seen,
    in a rotated one it is not.
    """
    rotation = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
    A = rotation.T @ np.diag([0.25, 0.5, 0.1]) @ rotation
    wfa = WFA(np.ones(3) @ rotation, np.stack([A, A]), rotation.T @ [0.5, 0.0, 0.2])
    assert wfa.total_weight() == pytest.approx(
        0.5 / 0.5 + 0.2 / 0.8
    ) and wfa.spectral_radius == pytest.approx(0.5)
    begins = 0.25 * 0.5 / 0.5 + 0.1 * 0.2 / 0.8
    np.testing.assert_allclose(
        wfa.next_scores(Trie.of(Words.of([()]), 2))[0], [begins, begins, 0.7]
    )


@pytest.mark.parametrize("growing", [0.5, 1.0])
def test_a_difference_that_cancels_does_not_diverge(growing: float) -> None:
    """f + g − g is f, though Σ g = ∞."""
    f = WFA([1], [[[0.25]], [[0.25]]], [0.5])
    g = WFA([1], [[[growing]], [[growing]]], [1])
    wfa = f + g - g
    assert (
        g.total_weight() == np.inf
        and wfa.total_weight() == pytest.approx(1)
        and wfa.spectral_radius == pytest.approx(0.5)
    )
    np.testing.assert_allclose(wfa.next_scores(Trie.of(Words.of([()]), 2))[0], [0.25, 0.25, 0.5])


@pytest.mark.parametrize("end", [2e-9, 1e-12])
def test_a_distribution_that_hardly_ends_sums_to_1(end: float) -> None:
    """1 − A is nearly singular, but no weight of a probabilistic automaton is a rounding error."""
    wfa = WFA([1, 0], [[[0, 1], [1 - end, 0]]], [0, end])
    assert wfa.total_weight() == pytest.approx(1, abs=1e-15 / end * 100)
    np.testing.assert_allclose(
        wfa.next_scores(Trie.of(Words.of([()]), 1))[0], [1, 0], atol=1e-15 / end * 100
    )


def test_an_alphabet_renumbers_an_automaton() -> None:
    ab = Alphabet(("a", "b"))
    ba = Alphabet(("b", "a"))
    wfa = WFA([1], [[[0.5]], [[0.25]]], [0.25], ab)
    assert (
        wfa.in_alphabet(ba)("ab") == wfa("ab") == 0.5 * 0.25 * 0.25
        and wfa.in_alphabet(ba).transitions[0, 0, 0] == 0.25
    )
    assert wfa.in_alphabet(ab) is wfa
    with pytest.raises(
        RecipeError,
        match="must have the symbols of the alphabet, 2 symbols: a, c; got 2 symbols: a, b",
    ):
        wfa.in_alphabet(Alphabet(("a", "c")))
    many = Alphabet(tuple(map(str, range(300))))
    assert WFA([1], np.zeros((300, 1, 1)), [1]).in_alphabet(many).alphabet == many


@pytest.mark.parametrize(
    ("transitions", "word", "expected"),
    [
        ([[[2.0]], [[2.0]]], (0, 1) * 512, 1024),
        ([[[2.0]], [[2.0]]], (0,) * 5000, 5000),
        ([[[2.0]], [[0.5]]], (0,) * 3000 + (1,) * 4000, -1000),
        ([[[0.5]], [[2.0]]], (0,) * 3000 + (1,) * 4000, 1000),
        ([np.diag([4.0, 1.0]), np.diag([1.0, 0.25])], (0,) * 2000 + (1,) * 10, 4000),
        ([np.array([[0.0, 8.0], [8.0, 0.0]])] * 2, (0,) * 1001, 3003),
    ],
)
def test_weights_of_any_size_have_their_logarithm(
    transitions: list[list[list[float]]], word: tuple[int, ...], expected: float
) -> None:
    """Powers of two beyond the range of float64 on either side; the second state's share is 1 at
    most.
    """
    k = len(transitions[0])
    wfa = WFA([1.0] + [0.0] * (k - 1), np.array(transitions), [1.0] * k)
    words = Words.of([word])
    assert wfa.log2_weights(words)[0] == pytest.approx(expected, abs=1e-9)
    numbers, exponents = scaled_weights(wfa, words)
    assert np.log2(numbers[0]) + exponents[0] == pytest.approx(expected, abs=1e-9)


def test_what_comes_next_after_states_that_grow() -> None:
    """After 900 a's the first state is all: f(aⁿ) = 3ⁿ and, by the formula, f(aⁿΣ*) = 3ⁿ (1 − 4)⁻¹,
    so a : b : end = 3 : 1 : 3.
    """
    wfa = WFA([1, 1], [[[3, 0], [0, 1]], [[1, 0], [0, 2]]], [1, 1], Alphabet(("a", "b")))
    shares = wfa.next("a" * 900)
    assert [shares[name] for name in shares] == pytest.approx([3 / 7, 1 / 7, 3 / 7], rel=1e-9)


@pytest.mark.parametrize(("gain", "length"), [(1e40, 100), (1e100, 20), (1e200, 5)])
def test_steps_may_be_huge(gain: float, length: int) -> None:
    """f(aⁿ) = n gainⁿ."""
    wfa = WFA([1, 0], [[[gain, gain], [0, gain]]], [0, 1])
    expected = np.log2(gain) * length + np.log2(length)
    assert wfa.log2_weights(Words.of([(0,) * length]))[0] == pytest.approx(expected, rel=1e-12)


def test_what_overflows_is_not_zero() -> None:
    """Whatever other strings are in the batch."""
    wfa = WFA([0.3, 0.1 + 0.2], np.array([[[1.0, 1], [1, 1]], [[1, 1], [-1, -1]]]), [1.0, 0])
    long = (0,) * 1100
    assert wfa.weights(Words.of([long]))[0] != 0 and wfa.weights(Words.of([long, (1,)]))[0] != 0
    assert wfa.log2_weights(Words.of([long, (1,)]))[0] == pytest.approx(
        1099 + np.log2(0.6), abs=1e-9
    )


def test_automata_are_divided_negated_and_summed() -> None:
    """By hand: f(a) = 0.5 · 0.5, g(a) = 0.25 · 1, over symbols in another order."""
    f = WFA([1], [[[0.5]], [[0]]], [0.5], Alphabet(("a", "b")))
    g = WFA([1], [[[0]], [[0.25]]], [1], Alphabet(("b", "a")))
    assert (f / 2)("a") == 0.125 and (-f)("a") == -0.25 and (f - g)("a") == 0.0
    assert (f / np.float32(4))("") == 0.125 and (f / 2).alphabet == (-f).alphabet == f.alphabet
    total = sum([f, g, f])
    assert isinstance(total, WFA) and total("a") == 0.75 and total("") == 2.0
    assert sum([f]) is f
    with pytest.raises(ZeroDivisionError):
        f / 0
    with pytest.raises(TypeError):
        f / g  # type: ignore[operator]
    with pytest.raises(TypeError):
        1 + f
