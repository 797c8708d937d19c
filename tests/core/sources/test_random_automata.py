"""Random automata are what they promise, and draws from an automaton have its probabilities."""

from __future__ import annotations

import numpy as np
import pytest

from nlwfa_core.errors import RecipeError
from nlwfa_core.hankel.basis import Basis
from nlwfa_core.hankel.matrix import exact_hankel
from nlwfa_core.models.wfa import WFA
from nlwfa_core.sources.random_automata import (
    random_automaton,
    random_hmm,
    random_pdfa,
    random_pfa,
    random_wfa,
    sample_words,
    squared_automaton,
)
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.trie import Trie
from nlwfa_core.strings.words import Alphabet, FloatArray, Words


def length_distribution(wfa: WFA, longest: int) -> FloatArray:
    """P(|x| = t) for t = 0 … longest, shape (longest + 1,)."""
    state = wfa.initial
    weights = []
    for _ in range(longest + 1):
        weights.append(state @ wfa.termination)
        state = state @ wfa.summed_transitions
    return np.array(weights)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("num_states", "num_symbols", "mean_length", "density"),
    [(1, 1, 3, 1), (4, 3, 8, 1), (12, 5, 0.5, 0.1), (6, 2, 40, 0.3)],
)
def test_random_automata_are_proper(
    num_states: int, num_symbols: int, mean_length: float, density: float, seed: int
) -> None:
    wfa = random_automaton(num_states, num_symbols, seed, mean_length, density)
    assert (wfa.num_states, wfa.num_symbols) == (num_states, num_symbols)
    assert min(wfa.initial.min(), wfa.transitions.min(), wfa.termination.min()) >= 0
    assert wfa.initial.sum() == pytest.approx(1)
    np.testing.assert_allclose(wfa.transitions.sum(axis=(0, 2)) + wfa.termination, 1, rtol=1e-12)
    assert wfa.spectral_radius < 1 and wfa.total_weight() == pytest.approx(1)
    lengths = length_distribution(wfa, 4000)
    assert lengths @ np.arange(len(lengths)) == pytest.approx(mean_length, rel=1e-9)
    reached = np.linalg.matrix_power(np.eye(num_states) + wfa.summed_transitions, num_states) > 0
    assert reached.all()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("num_states", "num_symbols", "mean_length"), [(1, 1, 3), (8, 4, 8), (12, 5, 0.5), (6, 2, 40)]
)
def test_random_automata_are_of_their_kind(
    num_states: int, num_symbols: int, mean_length: float, seed: int
) -> None:
    kinds = {
        make: make(num_states, num_symbols, seed, mean_length)
        for make in (random_hmm, random_pfa, random_pdfa)
    }
    for wfa in kinds.values():
        assert (wfa.num_states, wfa.num_symbols) == (num_states, num_symbols)
        assert min(wfa.initial.min(), wfa.transitions.min(), wfa.termination.min()) >= 0
        assert wfa.initial.sum() == pytest.approx(1)
        np.testing.assert_allclose(
            wfa.transitions.sum(axis=(0, 2)) + wfa.termination, 1, rtol=1e-12
        )
        assert wfa.spectral_radius < 1 and wfa.total_weight() == pytest.approx(1)
        lengths = length_distribution(wfa, 6000)
        assert lengths @ np.arange(len(lengths)) == pytest.approx(mean_length, rel=1e-6)
    # the next state does not depend on the symbol: an outer product
    for state in range(num_states):
        values = np.linalg.svd(kinds[random_hmm].transitions[:, state], compute_uv=False)
        assert (values[1:] < 1e-12 * values[0]).all()
    pdfa = kinds[random_pdfa]
    assert ((pdfa.transitions > 0).sum(axis=2) == 1).all() and (
        pdfa.initial == np.eye(num_states)[0]
    ).all()
    assert (
        np.linalg.matrix_power(np.eye(num_states) + pdfa.summed_transitions, num_states)[0] > 0
    ).all()


def test_concentration_says_how_many_transitions_are_likely() -> None:
    few, many = (
        random_pfa(8, 4, 0, concentration=concentration).transitions
        for concentration in (0.01, 1000.0)
    )
    assert (few.max(axis=(0, 2)) > 0.4 * few.sum(axis=(0, 2))).mean() > 0.7
    np.testing.assert_allclose(
        many, np.broadcast_to(many.mean(axis=(0, 2))[:, None], many.shape), rtol=0.2
    )


def test_density_is_the_share_of_transitions() -> None:
    wfa = random_automaton(30, 10, seed=0, density=0.2)
    assert (wfa.transitions > 0).mean() == pytest.approx(0.2, abs=0.02)
    assert (random_automaton(5, 2, seed=0).transitions > 0).all()


@pytest.mark.parametrize(
    "make", [random_automaton, random_hmm, random_pfa, random_pdfa, random_wfa, squared_automaton]
)
def test_the_seed_decides(make) -> None:  # type: ignore[no-untyped-def]
    one = make(3, 2, 1)
    same = make(3, 2, 1)
    other = make(3, 2, 2)
    assert (one.transitions == same.transitions).all() and (one.initial == same.initial).all()
    assert (one.transitions != other.transitions).any()


@pytest.mark.parametrize(
    ("num_states", "num_symbols", "radius"), [(1, 1, 0.5), (2, 1, 0.8), (4, 3, 0.99)]
)
def test_random_wfas_have_squares_with_the_given_radius(
    num_states: int, num_symbols: int, radius: float
) -> None:
    wfa = random_wfa(num_states, num_symbols, seed=0, radius=radius)
    assert wfa.squared().spectral_radius == pytest.approx(radius, rel=1e-9)
    assert (wfa.transitions < 0).any() or num_states == 1


@pytest.mark.parametrize("num_states", [1, 2, 3])
def test_squared_automata_are_distributions_of_a_higher_rank(num_states: int) -> None:
    square = squared_automaton(num_states, 2, seed=3)
    assert square.num_states == num_states**2
    assert square.total_weight() == pytest.approx(1) and length_distribution(
        square, 400
    ).sum() == pytest.approx(1)
    root = random_wfa(num_states, 2, seed=3)
    # all words up to length 6
    words = Words.of([tuple(map(int, f"{n:b}"[1:])) for n in range(1, 128)])
    values = root.weights(words) ** 2
    np.testing.assert_allclose(
        square.weights(words), values * (square.weights(words)[0] / values[0]), atol=1e-13
    )
    assert square.weights(words).min() > -1e-15
    basis = Basis(words.take(range(31)), words.take(range(31)), 2)
    singular = np.linalg.svd(exact_hankel(square.weights, basis).block.toarray(), compute_uv=False)
    assert (singular > 1e-12 * singular[0]).sum() == num_states * (num_states + 1) // 2


@pytest.mark.parametrize(
    "wfa",
    [random_automaton(3, 2, seed=1, mean_length=3), squared_automaton(2, 3, seed=2, radius=0.6)],
)
def test_draws_have_the_automatons_probabilities(wfa: WFA) -> None:
    words = sample_words(wfa, 20_000, seed=0)
    assert len(words) == 20_000
    sample = Sample.of(words, Alphabet.numbered(wfa.num_symbols))
    expected = wfa.weights(sample.words)
    common = expected > 0.002
    deviation = (sample.frequencies() - expected)[common] / np.sqrt(expected[common] / 20_000)
    assert common.sum() > 10 and np.abs(deviation).max() < 4
    lengths = length_distribution(wfa, 400)
    assert sample.mean_length == pytest.approx(lengths @ np.arange(len(lengths)), rel=0.05)
    assert (
        list(sample_words(wfa, 20, seed=1))
        == list(sample_words(wfa, 20, seed=1))
        != list(sample_words(wfa, 20, seed=2))
    )


def test_draws_in_chunks_are_all_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nlwfa_core.sources.random_automata.NUMBERS_AT_ONCE", 300)
    wfa = random_automaton(3, 2, seed=1, mean_length=3)
    words = sample_words(wfa, 1001, seed=0)
    assert len(words) == 1001 and words.lengths.mean() == pytest.approx(3, rel=0.15)
    assert Trie.of(words, 2).num_nodes > 100


def test_strings_are_drawn_from_an_automaton_with_useless_states() -> None:
    """The competition's models have states that nothing reaches, each of infinite mass on its own:
    they change no draw.
    """
    wfa = random_automaton(3, 2, seed=1, mean_length=3)
    transitions = np.zeros((2, 4, 4))
    transitions[:, :3, :3], transitions[:, 3, :] = wfa.transitions, 1.0
    larger = WFA(np.append(wfa.initial, 0.0), transitions, np.append(wfa.termination, 1.0))
    assert larger.total_weight() == pytest.approx(1) and larger.spectral_radius < 1
    assert list(sample_words(larger, 500, seed=0)) == list(sample_words(wfa, 500, seed=0))


def test_nothing_is_drawn_from_what_is_not_a_distribution() -> None:
    one = np.array([1.0])
    with pytest.raises(
        RecipeError,
        match="not a probability distribution: the weights of all strings must sum to 1; got 2",
    ):
        sample_words(WFA(one, np.array([[[0.5]]]), one), 10, seed=0)
    with pytest.raises(
        RecipeError,
        match="not a probability distribution: the weights of all strings must sum to 1; got ∞",
    ):
        sample_words(WFA(one, np.array([[[1.5]]]), one), 10, seed=0)
    signed = WFA(one, np.array([[[-0.5]]]), np.array([1.5]))  # 1.5 · (−½)ⁿ sums to 1
    with pytest.raises(
        RecipeError,
        match="after a prefix of 0 symbols, the scores of the next symbols range from −0.5 to 1.5, "
        "and their sum is",
    ):
        sample_words(signed, 10, seed=0)


def test_numbers_out_of_range_are_refused() -> None:
    wfa = random_automaton(2, 2, seed=0)
    for message, call in {
        "num_states must be at least 1; got 0": lambda: random_automaton(0, 2, seed=0),
        "num_symbols must be at least 1; got 0": lambda: random_wfa(2, 0, seed=0),
        "num_symbols must be at most .*; got 10,001": lambda: random_automaton(2, 10_001, seed=0),
        "num_symbols × states² must be at most .*; got 500,000,000": lambda: random_automaton(
            1000, 500, seed=0
        ),
        "num_states² must be at most 1,000; got 1,600": lambda: random_wfa(40, 1, seed=0),
        "num_symbols × states² must be at most .*; got 160,000,000": lambda: squared_automaton(
            20, 1000, seed=0
        ),
        "density must be above 0 and at most 1; got 0": lambda: random_automaton(
            2, 2, seed=0, density=0
        ),
        "mean_length must be above 0 and at most .*; got 0": lambda: random_automaton(
            2, 2, seed=0, mean_length=0
        ),
        "concentration must be at least 0.01 and at most 1,000; got 0": lambda: random_hmm(
            2, 2, seed=0, concentration=0
        ),
        "concentration must be .*; got nan": lambda: random_pdfa(
            2, 2, seed=0, concentration=float("nan")
        ),
        "mean_length must be above 0 and at most .*; got -1": lambda: random_pfa(
            2, 2, seed=0, mean_length=-1
        ),
        "radius must be above 0 and below 1; got 1": lambda: random_wfa(2, 2, seed=0, radius=1),
        "num_strings must be at least 1; got 0": lambda: sample_words(wfa, 0, seed=0),
        "num_strings must be at most .*; got 1,000,001": lambda: sample_words(
            wfa, 1_000_001, seed=0
        ),
        "a string longer than 5 symbols was drawn": lambda: sample_words(
            wfa, 1000, seed=0, max_length=5
        ),
    }.items():
        with pytest.raises(RecipeError, match=message):
            call()
