"""EM of a PFA: against sums over all hidden paths, an E step string by string, and on strings of a
known PFA.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core.errors import Cancelled, RecipeError
from nlwfa_core.learning.em import pfa
from nlwfa_core.learning.em.pfa import (
    PFAs,
    PFATraining,
    fit_pfa,
    fit_pfas,
    random_pfas,
    spectral_pfa,
)
from nlwfa_core.learning.em.prefix_tree import Expectations, PrefixTree
from nlwfa_core.learning.fitting import fit
from nlwfa_core.learning.progress import Progress
from nlwfa_core.metrics.evaluate import next_symbol_score
from nlwfa_core.models.wfa import WFA
from nlwfa_core.sources.random_automata import random_pfa, sample_words
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import Alphabet, FloatArray, Word, Words
from tests.references import all_words

AB = Alphabet(("a", "b"))
strings_of = st.lists(st.lists(st.integers(0, 1), max_size=5).map(tuple), min_size=1, max_size=8)
# In state 0 an a stays and a b moves on; in state 1 a b stays and an a moves back. Only state 1
# ends. No HMM of two states does so.
KNOWN = WFA([0.9, 0.1], [[[0.6, 0.0], [0.3, 0.0]], [[0.0, 0.4], [0.0, 0.2]]], [0.0, 0.5])


def start_of(
    strings: list[Word], num_states: int, seed: int, number: int = 1
) -> tuple[PrefixTree, PFAs]:
    tree = PrefixTree(Sample.of(Words.of(strings), AB))
    return tree, random_pfas(tree, number, num_states, np.random.default_rng(seed))


def counts_by_paths(
    model: WFA, strings: list[Word]
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Expected counts from the probability of every hidden path of every string."""
    k = model.num_states
    initial = np.zeros(k)
    transitions = np.zeros_like(model.transitions)
    termination = np.zeros(k)
    log_likelihood = 0.0
    for string in strings:
        paths = list(product(range(k), repeat=len(string) + 1))
        chances = np.array([model.initial[path[0]] * model.termination[path[-1]] for path in paths])
        for number, path in enumerate(paths):
            for symbol, here, there in zip(string, path, path[1:], strict=False):
                chances[number] *= model.transitions[symbol, here, there]
        log_likelihood += float(np.log2(chances.sum()))
        for share, path in zip(chances / chances.sum(), paths, strict=True):
            initial[path[0]] += share
            termination[path[-1]] += share
            for symbol, here, there in zip(string, path, path[1:], strict=False):
                transitions[symbol, here, there] += share
    return initial, transitions, termination, log_likelihood


def counts_by_strings(
    model: WFA, strings: list[Word]
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Expected counts from a forward and a backward pass for every string."""
    initial, transitions, termination = (
        np.zeros_like(part) for part in (model.initial, model.transitions, model.termination)
    )
    log_likelihood = 0.0
    for string in strings:
        forward = [model.initial]
        backward = [model.termination]
        for symbol in string:
            forward.append(forward[-1] @ model.transitions[symbol])
        for symbol in reversed(string):
            backward.insert(0, model.transitions[symbol] @ backward[0])
        weight = forward[-1] @ model.termination
        log_likelihood += float(np.log2(weight))
        initial += forward[0] * backward[0] / weight
        termination += forward[-1] * model.termination / weight
        for place, symbol in enumerate(string):
            transitions[symbol] += (
                np.outer(forward[place], backward[place + 1]) * model.transitions[symbol] / weight
            )
    return initial, transitions, termination, log_likelihood


def assert_counts(
    expected: Expectations[PFAs],
    model: int,
    reference: tuple[FloatArray, FloatArray, FloatArray, float],
) -> None:
    parts = (*expected.counts.arrays, expected.log_likelihoods)
    for part, other in zip(parts, reference, strict=True):
        np.testing.assert_allclose(part[model], other, rtol=1e-10, atol=1e-10)


def test_the_expected_counts_of_three_strings_are_sums_over_all_paths() -> None:
    strings: list[Word] = [(0, 1, 1), (), (0, 1, 0, 0)]
    tree, models = start_of(strings, 2, 0)
    for _ in range(5):  # and so the models of five iterations are those of EM by brute force
        expected = tree.expect(models)
        initial, transitions, termination, log_likelihood = counts_by_paths(
            models.automaton(0), strings
        )
        assert_counts(expected, 0, (initial, transitions, termination, log_likelihood))
        models = expected.maximised(0)
        np.testing.assert_allclose(models.initial[0], initial / len(strings), atol=1e-12)
        totals = transitions.sum(axis=(0, 2)) + termination
        np.testing.assert_allclose(models.transitions[0], transitions / totals[:, None], atol=1e-12)
        np.testing.assert_allclose(models.termination[0], termination / totals, atol=1e-12)


@given(strings_of, st.integers(1, 4), st.integers(1, 3))
def test_the_prefix_tree_gives_the_counts_of_single_strings(
    strings: list[Word], num_states: int, number: int
) -> None:
    """For each of several models side by side."""
    tree, models = start_of(strings, num_states, 3, number)
    expected = tree.expect(models)
    for model in range(number):
        assert_counts(expected, model, counts_by_strings(models.automaton(model), strings))
    np.testing.assert_allclose(tree.log_likelihoods(models), expected.log_likelihoods, rtol=1e-12)


@given(strings_of, st.integers(1, 4), st.sampled_from([0.0, 0.1, 2.0]))
def test_em_never_lowers_its_objective(
    strings: list[Word], num_states: int, pseudo_count: float
) -> None:
    """log P(strings) + the logarithm of the prior; without pseudo-counts the likelihood itself."""
    tree, models = start_of(strings, num_states, 0)
    before = -np.inf
    for _ in range(15):
        expected = tree.expect(models)
        objective = float(expected.log_likelihoods[0])
        if pseudo_count:
            objective += pseudo_count * np.log2(models.transitions).sum() / num_states
            objective += pseudo_count * np.log2(models.termination).sum()
        assert objective >= before - 1e-9 * (1 + abs(objective))
        models = expected.maximised(pseudo_count)
        before = objective
        rows = models.transitions.sum(axis=(1, 3)) + models.termination
        np.testing.assert_allclose([models.initial.sum(), *rows[0]], 1, atol=1e-12)


def test_starts_side_by_side_are_those_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    train, validation = (Sample.of(sample_words(KNOWN, 300, seed), AB) for seed in (0, 1))
    training = PFATraining(starts=3, iterations=30, patience=3)
    together, losses = fit_pfas(train, 3, training, validation=validation)
    tree = PrefixTree(train)
    starts = random_pfas(tree, 3, 3, np.random.default_rng(0))
    monkeypatch.setattr(
        pfa, "random_pfas", lambda tree, number, states, rng: starts.take(np.array([next(order)]))
    )
    for number in range(3):
        order = iter([number])
        alone, loss = fit_pfas(
            train, 3, PFATraining(iterations=30, patience=3), validation=validation
        )
        np.testing.assert_allclose(alone.transitions[0], together.transitions[number], atol=1e-12)
        assert loss[0] == pytest.approx(losses[number], rel=1e-12)
        assert loss[0] == pytest.approx(
            next_symbol_score(alone.automaton(0), validation).bits_per_symbol, rel=1e-9
        )
    monkeypatch.undo()
    best = fit_pfa(train, 3, training, validation=validation)
    assert (best.transitions == together.transitions[np.argmin(losses)]).all()


@pytest.mark.parametrize("start", ["random", "spectral", "split"])
def test_a_known_pfa_is_recovered(start: str) -> None:
    train, validation = (Sample.of(sample_words(KNOWN, 20_000, seed), AB) for seed in (0, 1))
    reports: list[Progress] = []
    learned = fit_pfa(
        train, 2, PFATraining(start, iterations=150), validation=validation, report=reports.append
    )
    assert learned.num_states == 2 and learned.total_weight() == pytest.approx(1, abs=1e-9)
    words = all_words(2, 12)  # of which more would change the sum by less than 1e-4
    true = KNOWN.weights(words)
    ours = learned.weights(words)
    possible = true > 0
    kl = float(true[possible] @ np.log2(true[possible] / ours[possible]))
    assert -1e-4 < kl < 0.001
    assert (
        (learned.initial >= 0).all()
        and (learned.transitions >= 0).all()
        and (learned.termination >= 0).all()
    )
    assert reports[-1].loss == pytest.approx(
        next_symbol_score(learned, train).bits_per_symbol, abs=1e-3
    )


def test_a_spectral_start_is_near_the_model_that_drew_the_strings() -> None:
    train = Sample.of(sample_words(KNOWN, 20_000, 0), AB)
    models = spectral_pfa(train, 2, np.random.default_rng(0))
    tree = PrefixTree(train)
    spectral, random = (
        -tree.log_likelihoods(one)[0] / tree.num_predictions
        for one in (models, start_of([(0, 1)], 2, 0)[1])
    )
    true = next_symbol_score(KNOWN, train).bits_per_symbol
    assert true < spectral < true + 0.3 * (random - true)
    # H has rank 2 or little more: states are split
    more = fit_pfa(train, 5, PFATraining("spectral", iterations=2))
    assert more.num_states == 5 and more.total_weight() == pytest.approx(1, abs=1e-9)


def test_the_halves_of_a_split_state_compute_what_the_state_did(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tree, models = start_of([(0, 1, 1), (1,), (0, 0)], 3, 0, 2)
    words = all_words(2, 4)
    monkeypatch.setattr(pfa, "NOISE", 0.0)
    larger = pfa.split_states(models, 5, tree, np.random.default_rng(0))
    for model in range(2):
        assert larger.automaton(model).num_states == 5
        np.testing.assert_allclose(
            larger.automaton(model).weights(words),
            models.automaton(model).weights(words),
            rtol=1e-12,
        )
    assert pfa.split_states(models, 99, tree, np.random.default_rng(0)).initial.shape == (2, 6)


def test_long_strings_do_not_underflow() -> None:
    sample = Sample.of(Words.of([(0, 1) * 1500, ()]), AB)
    losses: list[Progress] = []
    fit_pfa(sample, 3, PFATraining(iterations=3), report=losses.append)
    assert all(np.isfinite(progress.loss or np.nan) for progress in losses)


def test_every_string_is_possible_with_pseudo_counts_alone() -> None:
    sample = Sample.of(Words.of([(0,), (0, 0)]), AB)
    others = Words.of([(1, 1, 0), ()])
    assert fit_pfa(sample, 2, PFATraining(iterations=50)).weights(others).min() > 0
    tight = fit_pfa(sample, 2, PFATraining(iterations=50, pseudo_count=0))
    assert tight.weights(others)[0] == 0 and tight.total_weight() == pytest.approx(1)
    # not possible: the first model is kept, and nothing is nan
    validation = Sample.of(Words.of([(1,)]), AB)
    kept = fit_pfa(sample, 2, PFATraining(pseudo_count=0, patience=2), validation=validation)
    assert np.isfinite(kept.transitions).all()


def test_em_stops_by_validation_strings_or_by_its_tolerance_and_the_seed_decides() -> None:
    train = Sample.of(Words.of([(0, 1, 1), (1,)]), AB)
    validation = Sample.of(Words.of([(1, 0), (0, 0, 0)]), AB)
    steps: list[Progress] = []
    stopped = fit_pfa(train, 4, PFATraining(patience=3), validation=validation, report=steps.append)
    assert len(steps) < 500
    longest = fit_pfa(train, 4, PFATraining(tolerance=0))
    assert (
        next_symbol_score(stopped, validation).bits_per_symbol
        < next_symbol_score(longest, validation).bits_per_symbol
    )
    steps.clear()
    # one state: the second iteration changes nothing
    fit_pfa(train, 1, PFATraining(patience=3), report=steps.append)
    assert len(steps) == 5
    again, other = (fit_pfa(train, 4, PFATraining(iterations=3, seed=seed)) for seed in (0, 1))
    assert (fit(train, "PFA", 4).model.weights(train.words) > 0).all()
    assert (fit_pfa(train, 4, PFATraining(iterations=3)).transitions == again.transitions).all()
    assert (other.transitions != again.transitions).any()


def test_options_of_em_reach_the_learner() -> None:
    train = Sample.of(sample_words(KNOWN, 50, 0), AB)
    model = fit(train, "PFA", 3, starts=2, em_start="split", pseudo_count=0.5, seed=7).model
    expected = fit_pfa(train, 3, PFATraining("split", 2, pseudo_count=0.5, seed=7))
    assert (
        isinstance(model, WFA)
        and (model.transitions == expected.transitions).all()
        and model.alphabet == AB
    )


def test_what_can_not_be_learned_is_refused() -> None:
    sample = Sample.of(Words.of([(0,)]), AB)
    none = Sample.of(Words.of([]), AB)
    with pytest.raises(RecipeError, match="states of a PFA must be between 1 and .*; got 0"):
        fit_pfa(sample, 0)
    for name in ("starts", "iterations", "patience"):
        with pytest.raises(RecipeError, match=f"{name} must be at least 1; got 0"):
            PFATraining(**{name: 0})  # type: ignore[arg-type]
    with pytest.raises(RecipeError, match="pseudo_count must be at least 0; got -1"):
        PFATraining(pseudo_count=-1)
    with pytest.raises(
        RecipeError, match="em_start must be one of random, spectral, split; got 'svd'"
    ):
        PFATraining("svd")
    with pytest.raises(RecipeError, match="EM has nothing to learn from"):
        fit_pfa(none, 1)
    with pytest.raises(
        RecipeError,
        match="the validation sample must have strings .*; got 0 strings over 2 symbols",
    ):
        fit_pfa(sample, 1, validation=none)
    with pytest.raises(Cancelled):
        fit_pfa(sample, 1, cancelled=lambda: True)


def test_em_begins_at_its_spectral_start() -> None:
    train = Sample.of(sample_words(KNOWN, 300, 0), AB)
    start = spectral_pfa(train, 2, np.random.default_rng(0)).automaton(0)
    begun = fit_pfa(train, 2, PFATraining("spectral", iterations=1))
    expected = fit_pfa(train, 2, PFATraining(iterations=1), initial=start)
    np.testing.assert_allclose(begun.transitions, expected.transitions, rtol=1e-9)


def test_the_likelihood_of_an_impossible_string_is_0() -> None:
    """log P(ba) = −∞, although no state is left after the b, and what follows has no value."""
    tree = PrefixTree(Sample.of(Words.of([(0,), (1, 0)]), AB))
    models = PFAs(np.ones((1, 1)), np.array([[[[0.5]], [[0.0]]]]), np.full((1, 1), 0.5))
    assert tree.log_likelihoods(models).tolist() == [-np.inf]


def test_em_starts_at_an_automaton_that_it_is_given() -> None:
    truth = replace(random_pfa(3, 2, seed=1), alphabet=AB)
    train = Sample.of(sample_words(truth, 2000, seed=2), AB)
    one = PFATraining(iterations=1, pseudo_count=0)
    step = fit_pfa(train, 3, one, initial=truth)
    # EM never worsens it
    assert (
        -step.log2_weights(train.words) @ train.counts
        < -truth.log2_weights(train.words) @ train.counts
    )
    again = fit_pfa(train, 3, PFATraining(iterations=2, pseudo_count=0, patience=5), initial=truth)
    np.testing.assert_allclose(
        fit_pfa(train, 3, one, initial=step).transitions, again.transitions, rtol=1e-9, atol=1e-12
    )
    for wrong, message in (
        (
            random_pfa(2, 2, seed=1),
            "initial must have 3 states and 2 symbols; got 2 states and 2 symbols",
        ),
        (2 * truth, "initial must be a probabilistic automaton"),
    ):
        with pytest.raises(RecipeError, match=message):
            fit_pfa(train, 3, one, initial=wrong)


def left_to_right(num_states: int) -> WFA:
    """State i emits only its own letter, and then stays or moves on by one; only the last state
    ends.
    """
    transitions = np.zeros((num_states, num_states, num_states))
    termination = np.zeros(num_states)
    for state in range(num_states):
        transitions[state, state, state] = 0.5
        if state + 1 < num_states:
            transitions[state, state, state + 1] = 0.5
        else:
            termination[state] = 0.5
    return WFA(np.eye(num_states)[0], transitions, termination)


def in_order(num_states: int, size: int, seed: int) -> Sample:
    """Strings that have each letter in order, each a random number of times."""
    lengths = np.random.default_rng(seed).geometric(0.5, size=(size, num_states))
    words = [tuple(np.repeat(np.arange(num_states), row).tolist()) for row in lengths]
    return Sample.of(Words.of(words), Alphabet(tuple("abcdef"[:num_states])))


@pytest.mark.parametrize("num_states", [2, 3, 5])
@pytest.mark.parametrize("pseudo_count", [0.0, 0.1, 2.0])
def test_em_keeps_the_zeros_of_a_start(num_states: int, pseudo_count: float) -> None:
    start = left_to_right(num_states)
    sample = in_order(num_states, 100, seed=num_states)
    model = fit_pfa(sample, num_states, PFATraining(pseudo_count=pseudo_count), initial=start)
    for name in ("initial", "transitions", "termination"):
        assert (getattr(model, name)[getattr(start, name) == 0] == 0).all(), name
    assert model.weights(Words.of([(1, 0), (0, 1, 0)])).tolist() == [0, 0]


def test_em_of_a_deterministic_start_counts() -> None:
    """Where each letter says the state, the probability of moving on is one over the mean number of
    the letter.
    """
    sample = in_order(3, 400, seed=0)
    model = fit_pfa(sample, 3, PFATraining(pseudo_count=0), initial=left_to_right(3))
    numbers = np.bincount(
        np.repeat(sample.words.symbols, np.repeat(sample.counts, sample.words.lengths)), minlength=3
    )
    size = sample.num_strings
    leave = size / numbers  # states 0 and 1 are left by a letter
    last = numbers[2] / (numbers[2] + size)  # the last state ends instead
    expected = leave[0] * leave[1] * last * (1 - last)
    assert model.weights(Words.of([(0, 1, 2)]))[0] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("initial", "termination"), [([1.0, 0.0], [0.0, 0.5]), ([0.0, 1.0], [0.5, 0.5])]
)
def test_an_unreachable_state_keeps_its_zeros(
    initial: list[float], termination: list[float]
) -> None:
    """No string visits the state in which EM does not start, so it has no counts: its moves get
    equal shares, its zeros stay.
    """
    transitions = np.zeros((2, 2, 2))
    for state in range(2):
        transitions[0, state, state] = 1 - termination[state]
    if not termination[0]:
        termination = [0.25, 0.5]
        transitions[0, 0, 0] = 0.75
    start = WFA(initial, transitions, termination)
    sample = Sample.of(Words.of([(0,), (0, 0), ()]), AB)
    for pseudo_count in (0.0, 0.1):
        model = fit_pfa(sample, 2, PFATraining(pseudo_count=pseudo_count), initial=start)
        assert (model.transitions[start.transitions == 0] == 0).all() and (
            model.initial == start.initial
        ).all()
        assert model.transitions.sum(axis=(0, 2)) + model.termination == pytest.approx([1, 1])


def test_a_state_without_counts_has_equal_shares_of_what_is_possible() -> None:
    """State 0 has counts; what state 1 may do is an a to either state, and not end."""
    possible = PFAs(
        np.array([[1.0, 0.0]]),
        np.array([[[[0.0, 0.5], [0.2, 0.8]], [[0.0, 0.0], [0.0, 0.0]]]]),
        np.array([[0.5, 0.0]]),
    )
    moves = np.array([[[[0.0, 3.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]]])
    made = PFAs(possible.initial, moves, np.array([[1.0, 0.0]])).normalised(possible)
    np.testing.assert_array_equal(made.transitions[0, 0], [[0, 3 / 4], [1 / 2, 1 / 2]])
    assert not made.transitions[0, 1].any() and made.termination.tolist() == [[1 / 4, 0]]


def test_a_start_that_makes_a_training_string_impossible_is_refused() -> None:
    sample = Sample.of(Words.of([(0, 1), (1, 0)]), AB)
    with pytest.raises(RecipeError, match="a probability above 0; got one that has 0: 'b a'|'ba'"):
        fit_pfa(sample, 2, initial=left_to_right(2))
