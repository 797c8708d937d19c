"""Scores over seeds: which model is best, and by how much two models differ."""

from __future__ import annotations

import math
from itertools import product
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from nlwfa_core.errors import RecipeError
from nlwfa_core.metrics.intervals import Interval
from nlwfa_core.metrics.seeds import Spread, badness, paired_t_interval, signed_rank_interval

SCORES = st.lists(st.floats(0, 100) | st.sampled_from([math.inf, math.nan]), min_size=1, max_size=4)


def test_the_better_mean_then_fewer_zeros_come_first() -> None:
    assert badness([1.0, 3.0], [0, 0]) == (0, 2.0, 0)
    assert (
        badness([2.0], [1])
        < badness([2.0], [3])
        < badness([2.1], [0])
        < badness([0.0, math.inf], [0, 0])
    )
    assert badness([math.nan], [2]) == badness([math.inf], [2])


@given(SCORES)
def test_badness_is_always_comparable(scores: list[float]) -> None:
    finite = [score for score in scores if math.isfinite(score)]
    assert badness(scores, [0] * len(scores)) == (
        len(scores) - len(finite),
        mean(finite) if finite else math.inf,
        0,
    )


@given(SCORES)
def test_a_spread_counts_every_value(scores: list[float]) -> None:
    spread = Spread.of(scores)
    assert spread.count == len(scores) and spread.num_infinite == sum(
        not math.isfinite(score) for score in scores
    )
    assert (spread.mean is None) == (spread.count == spread.num_infinite)


# Two models over the same seeds


def test_the_t_interval_is_that_of_scipy() -> None:
    first = [0.41, 0.38, 0.44, 0.40, 0.39]
    second = [0.37, 0.36, 0.45, 0.35, 0.33]
    theirs = stats.ttest_rel(first, second).confidence_interval(0.95)
    ours = paired_t_interval(first, second)
    assert (ours.low, ours.high) == (pytest.approx(theirs.low), pytest.approx(theirs.high))
    assert (
        ours.estimate == pytest.approx(0.032)
        and paired_t_interval(first, second, 0.5).low > ours.low
    )


@given(st.lists(st.integers(-20, 20), min_size=6, max_size=9))
def test_the_signed_rank_interval_holds_the_shifts_that_the_test_does_not_reject(
    values: list[int],
) -> None:
    """A shift is rejected at 5 % if the sum of the ranks above or below it is too small, over all
    2ⁿ signs.
    """
    found = signed_rank_interval([float(value) for value in values], [0.0] * len(values))
    number = len(values)
    sums = [
        sum(rank for rank, sign in enumerate(signs, 1) if sign)
        for signs in product((0, 1), repeat=number)
    ]
    for shift in (found.low - 0.24, found.low + 0.24, found.high - 0.24, found.high + 0.24):
        # Means of pairs are multiples of ½, so no difference is 0 or tied after a shift by 0.24 …
        # unless two values are equal.
        gaps = [value - shift for value in values]
        pairs = [(gaps[i] + gaps[j]) / 2 for i in range(number) for j in range(i, number)]
        # Tukey: the sums of ranks
        above = sum(pair > 0 for pair in pairs)
        below = sum(pair < 0 for pair in pairs)
        rejected = sum(total <= min(above, below) for total in sums) / 2**number <= 0.025
        assert rejected == (not found.low <= shift <= found.high)


def test_infinite_scores_have_a_place_among_the_differences() -> None:
    worse = signed_rank_interval([math.inf] * 6, [1.0] * 6)
    assert worse == Interval(math.inf, math.inf, math.inf) and not worse.level
    for interval in (signed_rank_interval, paired_t_interval):  # nothing to compare
        undefined = interval([math.inf] * 6, [math.inf] * 6)
        assert math.isnan(undefined.estimate) and not undefined.is_known
    assert paired_t_interval([math.inf, 1, 1], [1, 1, 2]) == Interval(math.inf, -math.inf, math.inf)
    assert paired_t_interval([math.inf, 1], [1, math.inf]) == Interval(0, -math.inf, math.inf)
    assert math.isnan(signed_rank_interval([math.nan] * 6, [0.0] * 6).low) and math.isnan(
        paired_t_interval([math.nan], [0.0]).low
    )


def test_few_seeds_say_nothing() -> None:
    everything = (-math.inf, math.inf)
    one = paired_t_interval([2.0], [1.0])
    assert (one.estimate, (one.low, one.high)) == (1.0, everything) and one.level
    five = signed_rank_interval([2.0] * 5, [1.0] * 5)
    assert (five.estimate, (five.low, five.high)) == (1.0, everything)
    assert signed_rank_interval([2.0] * 6, [1.0] * 6) == Interval(1, 1, 1)
    for function in (paired_t_interval, signed_rank_interval):
        with pytest.raises(
            RecipeError, match="one score of each model for every seed; got 2 and 1"
        ):
            function([1.0, 2.0], [1.0])
        with pytest.raises(RecipeError, match="got 0 and 0"):
            function([], [])


def test_of_models_with_infinite_scores_the_one_with_fewer_is_better() -> None:
    inf = math.inf
    scores = [
        [1.0, 2.0, 3.0],
        [1.5, 1.6, inf],
        [1.8, 1.9, inf],
        [1.0, inf, inf],
        [inf, inf, inf],
        [inf, inf, inf],
    ]
    models = list(zip(scores, (9, 0, 0, 0, 0, 5), strict=True))
    order = [badness(values, [zeros] * 3) for values, zeros in models]
    assert order == sorted(order) and len(set(order)) == len(order)
