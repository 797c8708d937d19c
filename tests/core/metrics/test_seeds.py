"""Scores over seeds: which model is best."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core.metrics.seeds import Spread, badness

SCORES = st.lists(st.floats(0, 100) | st.sampled_from([math.inf, math.nan]), min_size=1, max_size=4)


def test_the_better_mean_then_fewer_zeros_come_first() -> None:
    assert badness([1.0, 3.0], [0, 0]) == (2.0, 0)
    assert badness([2.0], [1]) < badness([2.0], [3]) < badness([2.1], [0]) < badness([0.0, math.inf], [0, 0])
    assert badness([math.nan], [2]) == badness([math.inf], [2])


@given(SCORES)
def test_badness_is_always_comparable(scores: list[float]) -> None:
    value, _ = badness(scores, [0] * len(scores))
    assert value == math.inf if not all(map(math.isfinite, scores)) else value < math.inf


@given(SCORES)
def test_a_spread_counts_every_value(scores: list[float]) -> None:
    spread = Spread.of(scores)
    assert spread.count == len(scores) and spread.num_infinite == sum(not math.isfinite(score) for score in scores)
    assert (spread.mean is None) == (spread.count == spread.num_infinite)
