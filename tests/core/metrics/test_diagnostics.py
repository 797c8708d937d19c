"""What is said of a model's soundness, against sums that can be done by hand."""

from __future__ import annotations

import numpy as np
import pytest

from nlwfa_core.cli.text import score_summary
from nlwfa_core.hankel.basis import select_basis
from nlwfa_core.hankel.estimate import estimate_hankel
from nlwfa_core.learning.fitting import fit
from nlwfa_core.metrics.diagnostics import diagnostics, masses_by_length
from nlwfa_core.metrics.evaluate import evaluate
from nlwfa_core.metrics.testset import TestSet
from nlwfa_core.models.ngram import Uniform
from nlwfa_core.models.wfa import WFA
from nlwfa_core.sources.dyck import ALPHABET, Dyck
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import Alphabet
from tests.references import COIN, COUNTER, GEOMETRIC, SIGNED, all_words, as_nlwfa, random_nlwfa

AB = Alphabet(("a", "b"))
SHORT = Sample.of(all_words(2, 2), AB)  # λ a b aa ab ba bb
TEST = TestSet.empirical(SHORT)


def test_masses_by_length_are_sums() -> None:
    # 0 + 1 + 2 + 3 + 4 symbols
    assert masses_by_length(GEOMETRIC.wfa, 10).tolist() == [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32]
    # A letter in two ends the string with probability ⅓: (2/3)ⁿ ⅓ of length n.
    assert masses_by_length(Uniform(2), 34) == pytest.approx([(2 / 3) ** n / 3 for n in range(4)])
    assert masses_by_length(Dyck(), 2000)[[0, 1, 2, 4]] == pytest.approx(
        [0, 0, 0.4, 0.4 * 0.4 + 0.2 * 0.4 * 0.4]
    )
    assert masses_by_length(Uniform(30_000)).tolist() == pytest.approx([1 / 30_001])


def test_an_automaton_that_converges_has_its_mass() -> None:
    health = diagnostics(COIN.wfa, evaluate(COIN.wfa, TEST))
    assert health.total_mass == pytest.approx(1)
    assert health.spectral_radius == pytest.approx(0.25 * (1 + np.sqrt(2)))  # of ¼ ((1, 1), (2, 1))
    assert health.short_mass < 1 and health.short_mass == pytest.approx(1, abs=0.01)
    assert (health.share_zero, health.share_negative, health.share_nonfinite, health.warnings) == (
        0,
        0,
        0,
        (),
    )
    assert health.numerical_rank is None


def test_the_mass_of_short_strings_says_how_long_they_are() -> None:
    """Strings aⁿ of probability 0.001 · 0.999ⁿ: those of at most m symbols have the mass
    1 − 0.999^(m + 1).
    """
    slow = WFA([1], [[[0.999]]], [0.001])
    words = Sample.of(all_words(1, 2), Alphabet(("a",)))
    health = diagnostics(slow, evaluate(slow, TestSet.empirical(words)))
    assert health.short_mass == pytest.approx(1 - 0.999 ** (health.short_length + 1), rel=1e-9)


def test_what_diverges_and_what_is_no_probability_is_told_in_words() -> None:
    health = diagnostics(SIGNED.wfa, evaluate(SIGNED.wfa, TEST))
    assert health.total_mass == np.inf and health.spectral_radius == pytest.approx(2)
    assert (health.share_zero, health.share_negative) == (3 / 7, 2 / 7)
    diverges, negative, zero = health.warnings
    assert diverges.startswith("The mass diverges: ΣA has spectral radius 2")
    assert negative.startswith("2 of 7 test strings (28.6%) have a negative output")
    assert zero.startswith("3 of 7 test strings (42.9%) have an output of exactly 0")
    assert diagnostics(COUNTER.wfa, evaluate(COUNTER.wfa, TEST)).warnings[0] == diverges


def test_a_nonlinear_model_claims_no_total() -> None:
    linear = diagnostics(COIN.wfa, evaluate(COIN.wfa, TEST))
    written = as_nlwfa(COIN.wfa)
    health = diagnostics(written, evaluate(written, TEST))
    assert (health.total_mass, health.spectral_radius) == (None, None)
    assert (health.short_mass, health.short_length) == (
        pytest.approx(linear.short_mass),
        linear.short_length,
    )
    deep = random_nlwfa(3, 2, seed=1)
    scores = evaluate(deep, TEST)
    assert "total mass not computed; mass of short strings " in score_summary(
        scores, SHORT, diagnostics(deep, scores)
    )


def test_the_rank_comes_from_learning() -> None:
    sample = Dyck().sample(500, seed=1)
    learned = fit(estimate_hankel(sample, select_basis(sample, 30, 30)), learner="SP", rank=25)
    scores = evaluate(learned.model, TestSet.empirical(sample))
    health = diagnostics(learned.model, scores, learned.report)
    assert health.numerical_rank == learned.report.numerical_rank
    assert set(learned.report.messages) <= set(health.warnings)


def test_the_summary_names_what_each_distance_is_over() -> None:
    words = Dyck().sample_words(50, seed=3)
    test = TestSet.as_drawn(words, Dyck().weights(words), Sample.of(words, ALPHABET), Dyck())
    text = score_summary(evaluate(Uniform(2), test), test.sample)
    assert "against what followed; 1 is best" in text
    assert "the same against the true next-symbol probabilities" in text
    assert "bits, over the test strings as drawn, both normalised over them" in text
    assert "mass" not in text
    empirical = score_summary(evaluate(Uniform(2), TestSet.empirical(test.sample)), test.sample)
    assert "against what followed" in empirical and "KL" not in empirical
