"""EM of an HMM: against hmmlearn, against summing over all hidden paths, and on strings of a known
HMM.
"""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hmmlearn.hmm import CategoricalHMM
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core.errors import Cancelled, RecipeError
from nlwfa_core.learning.em.hmm import EM, HMM, PrefixTree, fit_hmm, random_hmm
from nlwfa_core.learning.progress import Progress
from nlwfa_core.metrics.evaluate import next_symbol_score
from nlwfa_core.sources.random_automata import sample_words
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import Alphabet, Word, Words
from tests.references import all_words

AB = Alphabet(("a", "b"))
strings_of = st.lists(st.lists(st.integers(0, 1), max_size=5).map(tuple), min_size=1, max_size=8)
# Three states in a ring that say mostly a, mostly b, mostly c; only the last one ends.
KNOWN = HMM(
    np.array([0.8, 0.1, 0.1]),
    np.array([[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.8, 0.1, 0.1]]),
    np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.4], [0.0, 0.0, 0.4]]),
)


def start_of(strings: list[Word], num_states: int, seed: int) -> tuple[PrefixTree, HMM]:
    tree = PrefixTree(Sample.of(Words.of(strings), AB))
    return tree, random_hmm(tree, num_states, np.random.default_rng(seed))


def test_an_automaton_sums_over_all_hidden_paths() -> None:
    words = all_words(3, 3)
    expected = []
    for word in words:
        emitted, total = (*word, 3), 0.0
        for path in product(range(3), repeat=len(emitted)):
            moved = np.prod([KNOWN.moves[states] for states in pairwise(path)])
            total += (
                KNOWN.initial[path[0]]
                * moved
                * np.prod([KNOWN.emissions[at] for at in zip(emitted, path, strict=True)])
            )
        expected.append(total)
    np.testing.assert_allclose(KNOWN.automaton().weights(words), expected, rtol=1e-12)
    assert KNOWN.automaton().total_weight() == pytest.approx(1, abs=1e-12)


@given(strings_of, st.integers(1, 4), st.integers(0, 9))
def test_a_step_of_em_is_hmmlearns(strings: list[Word], num_states: int, seed: int) -> None:
    """The likelihood, and what one iteration without pseudo-counts makes of the model."""
    tree, model = start_of(strings, num_states, seed)
    theirs = CategoricalHMM(num_states, n_features=3, n_iter=1, init_params="")
    theirs.startprob_, theirs.transmat_, theirs.emissionprob_ = (
        model.initial,
        model.moves,
        model.emissions.T,
    )
    column = np.array([symbol for string in strings for symbol in (*string, 2)]).reshape(-1, 1)
    lengths = [len(string) + 1 for string in strings]
    expected = tree.expect(model)
    assert expected.log_likelihood * np.log(2) == pytest.approx(
        theirs.score(column, lengths), rel=1e-9
    )
    theirs.fit(column, lengths)
    ours = expected.maximised(0)
    np.testing.assert_allclose(ours.initial, theirs.startprob_, atol=1e-9)
    np.testing.assert_allclose(ours.emissions.T, theirs.emissionprob_, atol=1e-9)
    if max(lengths) > 1:  # else nothing ever moves, and hmmlearn leaves rows of zeros
        np.testing.assert_allclose(ours.moves, theirs.transmat_, atol=1e-9)


@given(strings_of, st.integers(1, 4), st.sampled_from([0.0, 0.1, 2.0]))
def test_em_never_lowers_its_objective(
    strings: list[Word], num_states: int, pseudo_count: float
) -> None:
    """log P(strings) + pseudo_count · Σ log emission; without pseudo-counts the likelihood
    itself.
    """
    tree, model = start_of(strings, num_states, 0)
    before = -np.inf
    for _ in range(15):
        expected = tree.expect(model)
        objective = expected.log_likelihood + (
            pseudo_count * np.log2(model.emissions).sum() if pseudo_count else 0
        )
        assert objective >= before - 1e-9 * (1 + abs(objective))
        model, before = expected.maximised(pseudo_count), objective


@given(strings_of, st.integers(1, 4))
def test_expected_counts_add_up(strings: list[Word], num_states: int) -> None:
    tree, model = start_of(strings, num_states, 1)
    expected = tree.expect(model)
    symbols = np.bincount(np.concatenate([[*string, 2] for string in strings]), minlength=3)
    assert expected.initial.sum() == pytest.approx(len(strings))
    np.testing.assert_allclose(expected.emissions.sum(axis=1), symbols, atol=1e-9)
    assert expected.moves.sum() == pytest.approx(symbols[:2].sum())
    weights = model.automaton().weights(Words.of(strings))
    assert expected.log_likelihood == pytest.approx(np.log2(weights).sum(), rel=1e-9)


def test_a_known_hmm_is_recovered() -> None:
    alphabet = Alphabet(("a", "b", "c"))
    train, validation = (
        Sample.of(sample_words(KNOWN.automaton(), 20_000, seed), alphabet) for seed in (0, 1)
    )
    losses: list[Progress] = []
    learned = fit_hmm(train, 3, validation=validation, report=losses.append)
    assert learned.total_weight() == pytest.approx(1, abs=1e-9)
    true = next_symbol_score(KNOWN.automaton(), validation).bits_per_symbol
    assert next_symbol_score(learned, validation).bits_per_symbol == pytest.approx(true, abs=0.002)
    assert losses[-1].loss == pytest.approx(
        next_symbol_score(learned, train).bits_per_symbol, abs=1e-4
    )
    words = all_words(3, 5)
    np.testing.assert_allclose(learned.weights(words), KNOWN.automaton().weights(words), atol=0.005)


def test_long_strings_do_not_underflow() -> None:
    sample = Sample.of(Words.of([(0, 1) * 3000, ()]), AB)
    losses: list[Progress] = []
    fit_hmm(sample, 3, EM(5), report=losses.append)
    assert all(np.isfinite(progress.loss or np.nan) for progress in losses)


def test_every_string_is_possible() -> None:
    learned = fit_hmm(Sample.of(Words.of([(0,), (0, 0)]), AB), 2, EM(50))
    assert learned.weights(Words.of([(1, 1, 0), ()])).min() > 0


def test_validation_stops_early_and_the_seed_decides() -> None:
    train, validation = (
        Sample.of(Words.of([(0, 1, 1), (1,)]), AB),
        Sample.of(Words.of([(1, 0), (0, 0, 0)]), AB),
    )
    steps: list[Progress] = []
    stopped = fit_hmm(train, 4, EM(patience=3), validation=validation, report=steps.append)
    assert len(steps) < 500
    longest = fit_hmm(train, 4)
    assert (
        next_symbol_score(stopped, validation).bits_per_symbol
        < next_symbol_score(longest, validation).bits_per_symbol
    )
    again, other = (fit_hmm(train, 4, EM(3, seed=seed)) for seed in (0, 1))
    assert (fit_hmm(train, 4, EM(3)).transitions == again.transitions).all()
    assert (other.transitions != again.transitions).any()


def test_what_can_not_be_learned_is_refused() -> None:
    sample, none = Sample.of(Words.of([(0,)]), AB), Sample.of(Words.of([]), AB)
    with pytest.raises(RecipeError, match="states of an HMM must be between 1 and .*; got 0"):
        fit_hmm(sample, 0)
    with pytest.raises(RecipeError, match="iterations must be at least 1; got 0"):
        EM(iterations=0)
    with pytest.raises(RecipeError, match="pseudo_count must be at least 0; got -1"):
        EM(pseudo_count=-1)
    with pytest.raises(RecipeError, match="EM has nothing to learn from"):
        fit_hmm(none, 1)
    with pytest.raises(
        RecipeError,
        match="the validation sample must have strings .*; got 0 strings over 2 symbols",
    ):
        fit_hmm(sample, 1, validation=none)
    with pytest.raises(Cancelled):
        fit_hmm(sample, 1, cancelled=lambda: True)
