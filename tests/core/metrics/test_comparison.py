"""Two models on the same strings, against numbers worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import astuple

import numpy as np
import pytest

from nlwfa_core import WFA, Alphabet, NGram, RecipeError, TestSet, compare
from nlwfa_core.metrics.intervals import Interval, paired_differences, string_scores

A = Alphabet(("a",))
EVEN = WFA([1], [[[0.5]]], [0.5], A)  # after each prefix: a ½, end ½
SHORT = WFA([1], [[[0.25]]], [0.75], A)  # after each prefix: a ¼, end ¾
STRINGS = [""] * 20 + ["a"] * 20  # 60 predictions: 20 of λ, 40 of a


def test_differences_are_those_of_the_scores_by_hand() -> None:
    """EVEN guesses wrong half the time and needs 1 bit; SHORT always guesses the end, which is
    wrong 20 times of 60, and needs 2 bits for an a, −log₂ ¾ for an end.
    """
    comparison = compare(EVEN, SHORT, STRINGS)
    assert comparison["wer"].estimate == pytest.approx(1 / 2 - 20 / 60)
    bits = (20 * 2 - 40 * math.log2(0.75)) / 60
    assert comparison["bits_per_symbol"].estimate == pytest.approx(1 - bits)
    assert comparison["num_zero"].estimate == 0 and not comparison["num_zero"].is_known
    swapped = compare(SHORT, EVEN, STRINGS)
    assert swapped["wer"].estimate == pytest.approx(-1 / 6)


def test_the_verdict() -> None:
    """With k strings a of 40, the error rates differ by ½ − k / (40 + k), above 0 unless k = 40.
    The bits differ by 1 − (2k − 40 log₂ ¾) / (40 + k), which has another sign from k = 24 on.
    """
    ahead = compare(EVEN, SHORT, STRINGS).ahead
    assert ahead["wer"] == "second" and ahead["bits_per_symbol"] == "level"
    assert ahead["log2_pauto"] == "no verdict"
    assert compare(SHORT, EVEN, STRINGS).ahead["wer"] == "first"


def test_the_true_model_makes_more_scores_known() -> None:
    sample = EVEN.sample(100, seed=1)
    test = TestSet.of(sample.words, A, sample.counts, true_model=EVEN)
    comparison = compare(EVEN, SHORT, test)
    # KL per symbol of (½, ½) against (¼, ¾): ½ log₂ 2 + ½ log₂ ⅔
    assert comparison["next_kl"].estimate == pytest.approx(-(1 / 2 + math.log2(2 / 3) / 2))
    assert comparison.ahead["next_kl"] == "first"


def test_a_comparison_prints_a_line_a_score() -> None:
    lines = repr(compare(EVEN, SHORT, STRINGS)).splitlines()
    assert lines[0] == "first − second on 40 test strings, 95 % intervals"
    assert len(lines) == 7
    wer = next(line for line in lines if line.startswith("WER (share) "))
    assert "0.167 [" in wer and wer.endswith("second is ahead")
    few = repr(compare(EVEN, SHORT, STRINGS[18:22])).splitlines()
    assert few[0] == "first − second on n = 4 strings: too few for an interval, which needs 30"
    assert all(row.endswith("no verdict") for row in few[1:])


def test_it_is_paired_differences_of_string_scores() -> None:
    models = (NGram.fit(STRINGS, 2), EVEN)
    known = compare(*models, STRINGS, num_resamples=99, seed=3, confidence=0.9).differences
    scores = [string_scores(model, TestSet.empirical(STRINGS)) for model in models]
    # nan is equal to nan here
    np.testing.assert_equal(_fields(known), _fields(paired_differences(*scores, 99, 3, 0.9)))


def _fields(differences: Mapping[str, Interval]) -> dict[str, tuple[float, ...]]:
    return {name: astuple(interval) for name, interval in differences.items()}


def test_what_can_not_be_compared_is_named() -> None:
    with pytest.raises(RecipeError, match="field must be one of .*; got 'kl'"):
        compare(EVEN, SHORT, STRINGS)["kl"]
    with pytest.raises(TypeError, match="second must have num_symbols"):
        compare(EVEN, STRINGS, STRINGS)  # type: ignore[arg-type]
    with pytest.raises(RecipeError, match="not in the model's alphabet"):
        compare(EVEN, SHORT, ["b", "bb"])
