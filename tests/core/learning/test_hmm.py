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
from nlwfa_core.learning.em.hmm import EM, HMMs, fit_hmm, random_hmm
from nlwfa_core.learning.em.pfa import PFAs
from nlwfa_core.learning.em.prefix_tree import PrefixTree
from nlwfa_core.learning.progress import Progress
from nlwfa_core.metrics.evaluate import next_symbol_score
from nlwfa_core.sources.random_automata import sample_words
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import Alphabet, FloatArray, Word, Words
from tests.references import all_words

AB = Alphabet(("a", "b"))
strings_of = st.lists(st.lists(st.integers(0, 1), max_size=5).map(tuple), min_size=1, max_size=8)
# Three states in a ring that say mostly a, mostly b, mostly c; only the last one ends.
KNOWN = HMMs(
    np.array([[0.8, 0.1, 0.1]]),
    np.array([[[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.8, 0.1, 0.1]]]),
    np.array([[[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.4]]]),
    np.array([[0.0, 0.0, 0.4]]),
)


def start_of(strings: list[Word], num_states: int, seed: int) -> tuple[PrefixTree, HMMs]:
    tree = PrefixTree(Sample.of(Words.of(strings), AB))
    return tree, random_hmm(tree, num_states, np.random.default_rng(seed))


def with_end(model: HMMs) -> FloatArray:
    """Emission probabilities with those of the end, shape (num_symbols + 1, num_states)."""
    return np.vstack((model.emissions[0], model.termination))


def test_an_automaton_sums_over_all_hidden_paths() -> None:
    words = all_words(3, 3)
    expected = []
    for word in words:
        emitted = (*word, 3)
        total = 0.0
        for path in product(range(3), repeat=len(emitted)):
            moved = np.prod([KNOWN.moves[0][states] for states in pairwise(path)])
            total += (
                KNOWN.initial[0, path[0]]
                * moved
                * np.prod([with_end(KNOWN)[at] for at in zip(emitted, path, strict=True)])
            )
        expected.append(total)
    np.testing.assert_allclose(KNOWN.automaton(0).weights(words), expected, rtol=1e-12)
    assert KNOWN.automaton(0).total_weight() == pytest.approx(1, abs=1e-12)


@given(strings_of, st.integers(1, 4), st.integers(0, 9))
def test_a_step_of_em_is_hmmlearns(strings: list[Word], num_states: int, seed: int) -> None:
    """The likelihood, and what one iteration without pseudo-counts makes of the model."""
    tree, model = start_of(strings, num_states, seed)
    theirs = CategoricalHMM(num_states, n_features=3, n_iter=1, init_params="")
    theirs.startprob_ = model.initial[0]
    theirs.transmat_ = model.moves[0]
    theirs.emissionprob_ = with_end(model).T
    column = np.array([symbol for string in strings for symbol in (*string, 2)]).reshape(-1, 1)
    lengths = [len(string) + 1 for string in strings]
    expected = tree.expect(model)
    assert expected.log_likelihoods[0] * np.log(2) == pytest.approx(
        theirs.score(column, lengths), rel=1e-9
    )
    theirs.fit(column, lengths)
    ours = expected.maximised(0)
    np.testing.assert_allclose(ours.initial[0], theirs.startprob_, atol=1e-9)
    np.testing.assert_allclose(with_end(ours).T, theirs.emissionprob_, atol=1e-9)
    if max(lengths) > 1:  # else nothing ever moves, and hmmlearn leaves rows of zeros
        np.testing.assert_allclose(ours.moves[0], theirs.transmat_, atol=1e-9)


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
        objective = float(expected.log_likelihoods[0]) + (
            pseudo_count * np.log2(with_end(model)).sum() if pseudo_count else 0
        )
        assert objective >= before - 1e-9 * (1 + abs(objective))
        model = expected.maximised(pseudo_count)
        before = objective


@given(strings_of, st.integers(1, 4))
def test_expected_counts_add_up(strings: list[Word], num_states: int) -> None:
    tree, model = start_of(strings, num_states, 1)
    expected = tree.expect(model)
    counts = expected.counts
    symbols = np.bincount(np.concatenate([[*string, 2] for string in strings]), minlength=3)
    assert counts.initial.sum() == pytest.approx(len(strings))
    np.testing.assert_allclose(with_end(counts).sum(axis=1), symbols, atol=1e-9)
    assert counts.moves.sum() == pytest.approx(symbols[:2].sum())
    weights = model.automaton(0).weights(Words.of(strings))
    assert expected.log_likelihoods[0] == pytest.approx(np.log2(weights).sum(), rel=1e-9)


@given(strings_of, st.integers(1, 4))
def test_its_counts_are_sums_of_those_of_the_pfa_that_it_is(
    strings: list[Word], num_states: int
) -> None:
    """For two models side by side."""
    tree, one = start_of(strings, num_states, 1)
    both = HMMs.joined([one, start_of(strings, num_states, 2)[1]])
    of_pfas = tree.expect(
        PFAs(both.initial, both.emissions[..., None] * both.moves[:, None], both.termination)
    )
    expected = tree.expect(both)
    np.testing.assert_allclose(expected.log_likelihoods, of_pfas.log_likelihoods, rtol=1e-12)
    for ours, theirs in (
        (expected.counts.initial, of_pfas.counts.initial),
        (expected.counts.termination, of_pfas.counts.termination),
        (expected.counts.moves, of_pfas.counts.transitions.sum(axis=1)),
        (expected.counts.emissions, of_pfas.counts.transitions.sum(axis=3)),
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_zeros_are_kept() -> None:
    """Moves go from left to right, only state 1 ends, and it emits no a."""
    hmm = HMMs(
        np.array([[1.0, 0.0]]),
        np.array([[[0.5, 0.5], [0.0, 1.0]]]),
        np.array([[[0.5, 0.0], [0.5, 0.5]]]),
        np.array([[0.0, 0.5]]),
    )
    tree = PrefixTree(Sample.of(Words.of([(0, 1, 1), (0, 0, 1), (1, 1)]), AB))
    for pseudo_count in (0.0, 0.1):
        model = tree.expect(hmm).maximised(pseudo_count)
        for before, after in zip(hmm.arrays, model.arrays, strict=True):
            assert (after[before == 0] == 0).all() and (after[before > 0] > 0).all()


def test_a_known_hmm_is_recovered() -> None:
    alphabet = Alphabet(("a", "b", "c"))
    train, validation = (
        Sample.of(sample_words(KNOWN.automaton(0), 20_000, seed), alphabet) for seed in (0, 1)
    )
    losses: list[Progress] = []
    learned = fit_hmm(train, 3, validation=validation, report=losses.append)
    assert learned.total_weight() == pytest.approx(1, abs=1e-9)
    true = next_symbol_score(KNOWN.automaton(0), validation).bits_per_symbol
    assert next_symbol_score(learned, validation).bits_per_symbol == pytest.approx(true, abs=0.002)
    assert losses[-1].loss == pytest.approx(
        next_symbol_score(learned, train).bits_per_symbol, abs=1e-4
    )
    words = all_words(3, 5)
    np.testing.assert_allclose(
        learned.weights(words), KNOWN.automaton(0).weights(words), atol=0.005
    )


def test_long_strings_do_not_underflow() -> None:
    sample = Sample.of(Words.of([(0, 1) * 3000, ()]), AB)
    losses: list[Progress] = []
    fit_hmm(sample, 3, EM(5), report=losses.append)
    assert all(np.isfinite(progress.loss or np.nan) for progress in losses)


def test_every_string_is_possible() -> None:
    learned = fit_hmm(Sample.of(Words.of([(0,), (0, 0)]), AB), 2, EM(50))
    assert learned.weights(Words.of([(1, 1, 0), ()])).min() > 0


def test_validation_stops_early_and_the_seed_decides() -> None:
    train = Sample.of(Words.of([(0, 1, 1), (1,)]), AB)
    validation = Sample.of(Words.of([(1, 0), (0, 0, 0)]), AB)
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
    sample = Sample.of(Words.of([(0,)]), AB)
    none = Sample.of(Words.of([]), AB)
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
