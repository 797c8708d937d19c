"""How much each test string moves a score: against finite differences, and against intervals that
are resampled.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from nlwfa_core.metrics.influences import SCORES_WITH_INFLUENCES, influences, margins
from nlwfa_core.metrics.intervals import (
    StringScores,
    intervals,
    paired_differences,
    string_scores,
)
from nlwfa_core.metrics.testset import TestSet
from nlwfa_core.models.ngram import NGram, Uniform
from nlwfa_core.models.wfa import WFA
from nlwfa_core.sources.dyck import ALPHABET, Dyck
from nlwfa_core.strings.sample import Sample
from tests.references import random_nlwfa

WORDS = Dyck().sample_words(1_000, seed=3)
SAMPLE = Sample.of(WORDS, ALPHABET)
TEST = TestSet.as_drawn(WORDS, Dyck().weights(WORDS), SAMPLE, Dyck())
TRIGRAM = NGram.fit(Dyck().sample(2_000, seed=4), 3)
MODELS = [string_scores(model, TEST) for model in (TRIGRAM, Uniform(2), random_nlwfa(3, 2, 0))]


@pytest.mark.parametrize("model", MODELS)
def test_influences_are_the_derivatives_of_the_scores(model: StringScores) -> None:
    step = 1e-4 * np.eye(len(model.counts))
    more, less = (model.scores(model.counts + sign * step) for sign in (1, -1))
    for field, own in zip(SCORES_WITH_INFLUENCES, influences(model), strict=True):
        np.testing.assert_allclose(own, (more[field] - less[field]) / 2e-4, atol=1e-10)


def test_margins_are_about_half_of_the_resampled_intervals() -> None:
    """Those of differences, which are skewed, are at most as wide."""
    own = [influences(model) for model in MODELS]
    for model, influence in zip(MODELS, own, strict=True):
        known = intervals(model)
        for field, margin in zip(
            SCORES_WITH_INFLUENCES,
            margins(influence, np.zeros_like(influence), model.counts),
            strict=True,
        ):
            assert margin == pytest.approx((known[field].high - known[field].low) / 2, rel=0.1)
    for (first, second), pair in zip(pairwise(MODELS), pairwise(own), strict=True):
        gaps = paired_differences(first, second)
        for field, margin in zip(SCORES_WITH_INFLUENCES, margins(*pair, first.counts), strict=True):
            half = (gaps[field].high - gaps[field].low) / 2
            assert 0.65 * half < margin < 1.1 * half, field


def test_what_is_no_finite_score_has_no_margin() -> None:
    """Opening brackets alone have a weight, so no test string has one."""
    model = string_scores(WFA([1], [[[0.5]], [[0]]], [0.5], ALPHABET), TEST)
    variation, wer, bits = margins(influences(model), np.zeros((3, 1)), model.counts)
    assert np.isnan([variation, bits]).all() and wer > 0


def test_a_few_test_strings_have_no_margin() -> None:
    model = string_scores(TRIGRAM, TestSet.empirical(Sample.of(WORDS.take(range(20)), ALPHABET)))
    assert np.isnan(margins(influences(model), np.zeros((3, 1)), model.counts)).all()
