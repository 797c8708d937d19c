"""Learning by asking, against automata whose number of states is known, and against programs that
know no automaton.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlwfa_core import WFA, NGram, RecipeError, Words, as_sample
from nlwfa_core.learning.functions.queries import (
    TOLERANCE,
    conformance_oracle,
    conformance_words,
    exact_oracle,
    learn_by_queries,
    sampling_oracle,
)
from nlwfa_core.learning.recurrent_networks import Training, fit_recurrent
from nlwfa_core.models.algebra import equivalent, minimise, reaching_words
from nlwfa_core.sources.tomita import LANGUAGES
from nlwfa_core.strings.words import FloatArray, Word
from tests.references import REFERENCES, Reference, all_words, ring


def accepts(grammar: int, word: Word) -> bool:
    """Whether a word is in one of Tomita's languages, by walking through its automaton by hand."""
    language = LANGUAGES[grammar]
    state: int | None = 0
    for symbol in word:
        state = None if state is None else language.following[state][symbol]
    return state in language.accepting


def membership(grammar: int) -> Callable[[Words], np.ndarray]:
    return lambda words: np.array([accepts(grammar, word) for word in words])


def nerode_rank(grammar: int) -> int:
    """The rank of the table of membership of all words uv with up to four symbols each, by
    numpy.
    """
    words = [word for length in range(5) for word in product(range(2), repeat=length)]
    return int(np.linalg.matrix_rank([[accepts(grammar, u + v) for v in words] for u in words]))


@pytest.mark.parametrize("grammar", LANGUAGES)
def test_a_language_is_learned_by_membership_questions(grammar: int) -> None:
    learned = learn_by_queries(
        membership(grammar), "01", conformance_oracle(membership(grammar), extra_states=3)
    )
    assert learned.finished and learned.model.num_states == len(
        learned.counterexamples
    ) == nerode_rank(grammar)
    long = Words.of(np.random.default_rng(grammar).integers(0, 2, (300, 14)).tolist())
    expected = [accepts(grammar, word) for word in long]
    np.testing.assert_allclose(learned.model.weights(long), expected, atol=1e-6)


@pytest.mark.parametrize("reference", REFERENCES, ids=repr)
def test_an_automaton_is_learned_with_its_states(reference: Reference) -> None:
    target = reference.wfa
    for oracle in (
        exact_oracle(target),
        sampling_oracle(target, target.num_symbols),
        conformance_oracle(target, 2),
    ):
        learned = learn_by_queries(target.weights, target.num_symbols, oracle)
        assert learned.finished and learned.model.num_states == target.num_states
        assert equivalent(learned.model, target)


def sparse(random: np.random.Generator, kind: int) -> WFA:
    """An automaton with many weights that are 0, so that many strings have weight 0."""
    k = int(random.integers(1, 7))
    num_symbols = int(random.integers(1, 4))
    shape = (num_symbols, k, k)
    if kind == 0:  # weights −1/2, 0 and 1/2
        transitions = random.integers(-1, 2, shape) / 2
        return WFA(random.integers(-1, 2, k) * 1.0, transitions, random.integers(-1, 2, k) * 1.0)
    if kind == 1:
        transitions = random.random(shape) * (random.random(shape) < 0.4) * 0.4
        initial = random.random(k) * (random.random(k) < 0.7)
        return WFA(initial, transitions, random.random(k) * (random.random(k) < 0.6))
    transitions = np.zeros(shape)  # deterministic
    for matrix in transitions:
        matrix[np.arange(k), random.integers(0, k, k)] = random.choice([0.1, 0.2, 0.4], k)
    return WFA(np.eye(k)[0], transitions, random.integers(0, 2, k) * 0.2)


@pytest.mark.parametrize("kind", range(3))
def test_strings_of_weight_0_are_no_counterexamples_by_rounding(kind: int) -> None:
    random = np.random.default_rng(kind)
    for target in [sparse(random, kind) for _ in range(40)]:
        learned = learn_by_queries(target.weights, target.num_symbols, exact_oracle(target))
        assert learned.finished and equivalent(learned.model, target, TOLERANCE)
        assert learned.model.num_states <= minimise(target).num_states


def test_each_counterexample_adds_a_state_and_few_questions_are_asked() -> None:
    target = ring(8)
    learned = learn_by_queries(target, 2, exact_oracle(target))
    assert learned.model.num_states == len(learned.counterexamples) == 8 and equivalent(
        learned.model, target
    )
    longest = max(map(len, learned.counterexamples))
    assert learned.num_queries <= 8 * (8 * 8 * 3 + 8 * longest)
    blocks = np.array([[target((*u, *v)) for v in learned.suffixes] for u in learned.prefixes])
    assert np.linalg.matrix_rank(blocks) == 8


def test_a_bigram_has_a_state_for_each_last_symbol() -> None:
    """A black box whose rank is known: what follows depends on the last symbol alone, and λ is a
    context too.
    """
    bigram = NGram.fit(["ab", "abc", "cab", "b", "acb", ""], 2)
    learned = learn_by_queries(bigram, bigram.alphabet, conformance_oracle(bigram, 2))
    assert learned.finished and learned.model.num_states == 4
    words = all_words(3, 5)
    np.testing.assert_allclose(
        learned.model.weights(words), bigram.weights(words), rtol=1e-6, atol=1e-12
    )


def test_a_recurrent_network_is_followed_as_closely_as_asked() -> None:
    network = fit_recurrent(as_sample(["ab", "ab", "aab", "b", "abb"]), "GRU", 2, Training(200))
    learned = learn_by_queries(
        network, 2, sampling_oracle(network, 2, tolerance=0.02, max_length=8), 30
    )
    assert learned.finished and 1 <= learned.model.num_states < 30
    fresh = Words.of(np.random.default_rng(7).integers(0, 2, (1000, 6)).tolist())
    values = network.weights(fresh)
    wrong = (
        np.abs(learned.model.weights(fresh) - values)
        > 0.02 * network.weights(all_words(2, 8)).max()
    )
    assert wrong.mean() <= 0.03  # `error` is 0.01 of strings of all lengths


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 3), st.integers(0, 2))
def test_conformance_words_tell_every_larger_automaton_apart(
    seed: int, num_states: int, extra: int
) -> None:
    """An automaton with `extra` more states that agrees on these words agrees everywhere: so a
    different one must differ there.
    """
    rng = np.random.default_rng(seed)
    small = WFA(
        rng.normal(size=num_states),
        0.5 * rng.normal(size=(2, num_states, num_states)),
        rng.normal(size=num_states),
    )
    n = minimise(small).num_states
    words = conformance_words(small, extra)
    assert len(set(words)) == len(words) and words[0] == ()
    # One that leaves the small automaton only after a word of n + extra symbols, as late as its
    # states allow.
    length = max(n + extra - n, 0)
    chain = WFA(
        np.eye(length + 1)[0],
        [np.eye(length + 1, k=1), np.zeros((length + 1, length + 1))],
        np.eye(length + 1)[length],
    )
    other = small + chain
    if minimise(other).num_states <= n + extra:
        assert np.abs(other.weights(words) - small.weights(words)).max() > 1e-6


def test_fewer_extra_states_than_needed_miss_a_counterexample() -> None:
    """The bound is sharp: the language {aaa} of four states looks empty to a test for three
    states.
    """
    only = WFA(np.eye(4)[0], [np.eye(4, k=1)], np.eye(4)[3])
    assert not learn_by_queries(only, 1, conformance_oracle(only, 1)).model.num_states
    assert learn_by_queries(only, 1, conformance_oracle(only, 4)).model.num_states == 4


def test_words_reach_all_states() -> None:
    assert reaching_words(ring(4)) == [(), (0,), (0, 0), (0, 0, 0)]
    assert reaching_words(0 * ring(2)) == []


def test_it_stops_at_the_largest_number_of_states() -> None:
    learned = learn_by_queries(ring(6), 2, exact_oracle(ring(6)), max_states=3)
    assert (
        not learned.finished and learned.model.num_states == 3 and len(learned.counterexamples) == 4
    )


def test_nothing_is_learned_from_what_is_no_counterexample() -> None:
    learned = learn_by_queries(ring(2), 2, lambda _: (0, 1))
    assert (
        not learned.finished
        and learned.model.num_states == 2
        and equivalent(learned.model, ring(2))
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: learn_by_queries(ring(2), 2, exact_oracle(ring(2)), 0),
            "max_states must be between 1 and 1,000; got 0",
        ),
        (
            lambda: learn_by_queries(ring(2), 2, lambda _: (0, 5)),
            "a symbol of a counterexample must be between 0 and 1; got 5",
        ),
        (
            lambda: learn_by_queries(ring(2), 2, lambda _: "ab"),
            "oracle must return a tuple of symbol numbers, or None; got str",
        ),
        (
            lambda: learn_by_queries(lambda words: np.ones(1), 1, lambda _: (0,) * 3),
            "got the shape",
        ),
        (
            lambda: learn_by_queries(lambda words: np.full(len(words), np.nan), 1, lambda _: (0,)),
            "finite numbers; got nan",
        ),
        (
            lambda: sampling_oracle(ring(2), 2, error=1.0),
            "error must be between 0 and 1, both excluded; got 1",
        ),
        (
            lambda: sampling_oracle(ring(2), 2, error=1e-7)(ring(2)),
            "random strings for one question must be at most 1,000,000",
        ),
        (lambda: conformance_words(ring(2), -1), "extra_states must be at least 0; got -1"),
        (
            lambda: conformance_words(ring(2), 30),
            "the number of conformance strings must be at most 1,000,000; got",
        ),
    ],
)
def test_what_can_not_be_asked_is_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises((RecipeError, TypeError), match=message):
        call()


def test_values_may_be_any_numbers() -> None:
    def length(words: Words) -> FloatArray:
        return 1.0 * words.lengths

    learned = learn_by_queries(length, "ab", sampling_oracle(length, 2))
    assert learned.model.num_states == 2 and learned.model("ab" * 20) == pytest.approx(40)
