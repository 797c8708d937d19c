"""Intervals over test strings: against `evaluate`, scipy, cases by hand, and by how often they hold
the true score.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from benchmarks.equal_models import Design, compared, designs, measure
from nlwfa_core.errors import RecipeError
from nlwfa_core.metrics import intervals as module
from nlwfa_core.metrics.evaluate import evaluate
from nlwfa_core.metrics.intervals import (
    COUNTS,
    FEWEST_STRINGS,
    Interval,
    intervals,
    leader,
    leaders,
    p_value_text,
    paired_differences,
    resamples,
    string_scores,
    too_few_strings,
)
from nlwfa_core.metrics.score_table import METRICS, Scores
from nlwfa_core.metrics.testset import TestSet
from nlwfa_core.models.model import Model
from nlwfa_core.models.ngram import NGram, Uniform
from nlwfa_core.models.sampling import draw
from nlwfa_core.models.wfa import WFA
from nlwfa_core.sources.dyck import ALPHABET, Dyck
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.trie import Trie
from nlwfa_core.strings.words import Alphabet, FloatArray, Words
from tests.references import COIN, SIGNED, Fixed, random_nlwfa, ring

AB = Alphabet(("a", "b"))
WORDS = Dyck().sample_words(300, seed=3)
SAMPLE = Sample.of(WORDS, ALPHABET)
TRIGRAM = NGram.fit(Dyck().sample(2_000, seed=4), 3)
TEST_SETS: dict[str, Callable[[], TestSet]] = {
    "true model": lambda: TestSet.as_drawn(WORDS, Dyck().weights(WORDS), SAMPLE, Dyck()),
    "solution": lambda: TestSet.as_drawn(WORDS, Dyck().weights(WORDS), SAMPLE),
    "solution, normalised": lambda: TestSet.as_drawn(
        WORDS, Dyck().weights(WORDS) / Dyck().weights(WORDS).sum(), SAMPLE
    ),
    "frequencies": lambda: TestSet.empirical(SAMPLE),
    "distinct, true model": lambda: TestSet(
        SAMPLE.words, Dyck().weights(SAMPLE.words), SAMPLE, True, Dyck()
    ),
}
MODELS = [Dyck(), TRIGRAM, Uniform(2), COIN.wfa, ring(3), SIGNED.wfa, random_nlwfa(3, 2, 0)]


@pytest.mark.parametrize("floor", [0.0, 1e-3])
@pytest.mark.parametrize("kind", TEST_SETS)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_the_estimates_are_the_scores(model: Model, kind: str, floor: float) -> None:
    """All strings drawn once give what `evaluate` computes without any contribution of single
    strings.
    """
    test = TEST_SETS[kind]()
    scores = evaluate(model, test, floor)
    found = intervals(string_scores(model, test, floor), num_resamples=39)
    assert set(found) == {
        score.field for score in METRICS if getattr(scores, score.field) is not None
    }
    for field, interval in found.items():
        assert interval.estimate == pytest.approx(
            getattr(scores, field), abs=1e-12, rel=1e-9, nan_ok=True
        ), field


def per_string(model: Model, sample: Sample) -> FloatArray:
    """−log₂ of each drawn string's share of the distinct strings, computed without the module."""
    weights = np.abs(model.weights(sample.words))
    return np.repeat(-np.log2(weights / weights.sum()), sample.counts)


def test_the_interval_of_a_mean_is_that_of_scipy() -> None:
    """Over distinct strings and their frequencies, the Pautomac score is a plain mean over the
    strings drawn.
    """
    values = per_string(TRIGRAM, SAMPLE)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=9_999, method="BCa", random_state=1
    ).confidence_interval
    ours = intervals(string_scores(TRIGRAM, TestSet.empirical(SAMPLE)), num_resamples=9_999)[
        "log2_pauto"
    ]
    noise = 0.06 * (theirs.high - theirs.low)
    assert ours.estimate == pytest.approx(values.mean())
    assert (ours.low, ours.high) == (
        pytest.approx(theirs.low, abs=noise),
        pytest.approx(theirs.high, abs=noise),
    )


def test_the_interval_of_a_skewed_mean_is_not_the_percentile_interval() -> None:
    """Of 40 strings, few are long: the interval of the mean reaches farther up than the percentiles
    of the resampled means.
    """
    few = Dyck().sample(40, seed=8)
    values = per_string(TRIGRAM, few)
    bca, plain = (
        stats.bootstrap(
            (values,), np.mean, n_resamples=39_999, method=method, random_state=1
        ).confidence_interval
        for method in ("BCa", "percentile")
    )
    ours = intervals(string_scores(TRIGRAM, TestSet.empirical(few)), num_resamples=39_999)[
        "log2_pauto"
    ]
    noise = 0.015 * (bca.high - bca.low)
    assert min(bca.low - plain.low, bca.high - plain.high) > 2 * noise
    assert (ours.low, ours.high) == (
        pytest.approx(bca.low, abs=noise),
        pytest.approx(bca.high, abs=noise),
    )


def test_the_interval_of_a_paired_difference_is_that_of_scipy() -> None:
    values = per_string(TRIGRAM, SAMPLE) - per_string(Dyck(), SAMPLE)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=9_999, method="BCa", random_state=1
    ).confidence_interval
    one, other = (string_scores(model, TestSet.empirical(SAMPLE)) for model in (TRIGRAM, Dyck()))
    ours = paired_differences(one, other, num_resamples=9_999)["log2_pauto"]
    noise = 0.06 * (theirs.high - theirs.low)
    students = stats.ttest_1samp(values, 0).confidence_interval()
    assert ours.low == pytest.approx(min(theirs.low, students.low), abs=noise)
    assert ours.high == pytest.approx(max(theirs.high, students.high), abs=noise)
    apart = [
        intervals(string_scores(model, TestSet.empirical(SAMPLE)))["log2_pauto"]
        for model in (TRIGRAM, Dyck())
    ]
    # what is hard for both models cancels
    assert ours.high - ours.low < apart[0].high - apart[0].low


def test_rates_are_resampled_by_whole_strings() -> None:
    """A ratio of sums over strings, resampled by scipy from the lengths and errors that a plain
    loop counts.
    """
    few = Dyck().sample_words(60, seed=3)
    right = []
    lengths = []
    for word in few:
        guesses = [
            TRIGRAM.next_scores(trie := Trie.of(Words.of([word[:i]]), 2))[trie.ends[0]].argmax()
            for i in range(len(word) + 1)
        ]
        right.append(
            sum(guess == symbol for guess, symbol in zip(guesses, (*word, 2), strict=True))
        )
        lengths.append(len(word) + 1)

    def rate(right: FloatArray, lengths: FloatArray, axis: int) -> FloatArray:
        return 1 - right.sum(axis=axis) / lengths.sum(axis=axis)

    theirs = stats.bootstrap(
        (np.array(right), np.array(lengths)),
        rate,
        n_resamples=4_999,
        method="BCa",
        paired=True,
        vectorized=True,
        random_state=1,
    ).confidence_interval
    ours = intervals(
        string_scores(TRIGRAM, TestSet.empirical(Sample.of(few, ALPHABET))), num_resamples=4_999
    )["wer"]
    noise = 0.08 * (theirs.high - theirs.low)
    assert ours.estimate == pytest.approx(1 - sum(right) / sum(lengths))
    assert (ours.low, ours.high) == (
        pytest.approx(theirs.low, abs=noise),
        pytest.approx(theirs.high, abs=noise),
    )


TWO = Sample.of(Words.of([(0,), (1, 1)]), ALPHABET)


@pytest.fixture
def any_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give intervals to test sets of few strings too, which can be worked out by hand."""
    monkeypatch.setattr(module, "FEWEST_STRINGS", 1)


@pytest.mark.usefixtures("any_number")
def test_two_strings_by_hand() -> None:
    """Always a: 1 of 2 right in a, none of 3 in bb.

    Drawn are a a (¼), a bb (½) or bb bb (¼), so the ends are the extremes.
    """
    always = string_scores(Fixed((3, 2, 1)), TestSet.empirical(TWO))
    assert intervals(always)["wer"] == Interval(1 - 1 / 5, 1 - 1 / 2, 1.0)
    ends = string_scores(Fixed((2, 1, 3)), TestSet.empirical(TWO))  # always the end: 1 of 2, 1 of 3
    assert intervals(ends)["wer"] == Interval(1 - 2 / 5, pytest.approx(1 / 2), pytest.approx(2 / 3))
    gap = paired_differences(always, ends)["wer"]  # with a a both are right once of two
    assert gap.estimate == pytest.approx(1 / 5) and gap.level
    assert gap.low <= 1e-12 and gap.high >= 1 / 3 - 1e-12


@pytest.mark.usefixtures("any_number")
def test_the_frequencies_of_strings_are_resampled_with_them() -> None:
    """With p(a) = ¾ and p(bb) = ¼ over T = {a, bb}, the score is between log₂ 4/3 (a alone is
    drawn) and 2 bits (bb alone).
    """
    halves = string_scores(TwoWeights(3.0, 1.0), TestSet.empirical(TWO))
    assert intervals(halves)["log2_pauto"] == Interval(
        pytest.approx(np.log2(4 / 3) / 2 + 1), pytest.approx(np.log2(4 / 3)), pytest.approx(2)
    )
    # With true probabilities, T is the rows drawn: two equal rows have a half of the mass each,
    # which is 1 bit.
    rows = TestSet.as_drawn(Words.of([(0,), (1, 1)]), np.array([0.5, 0.25]), TWO)
    score = intervals(string_scores(TwoWeights(3.0, 1.0), rows))["log2_pauto"]
    assert score == Interval(
        pytest.approx(2 / 3 * np.log2(4 / 3) + 2 / 3),
        pytest.approx(score.estimate),
        pytest.approx(1),
    )


class TwoWeights(Fixed):
    """The weights of strings that begin with a, and of the others."""

    def __init__(self, first: float, other: float) -> None:
        super().__init__((1, 1, 1))
        object.__setattr__(self, "two", (first, other))

    def weights(self, words: Words) -> FloatArray:
        return np.array([self.two[word[:1] != (0,)] for word in words])


@pytest.mark.usefixtures("any_number")
def test_an_infinite_score_has_an_infinite_end() -> None:
    """b is impossible.

    Without the one string that has it, the score is finite; ten such strings are never all left
    out.
    """
    rare = string_scores(
        Fixed((1, 0, 1)), TestSet.empirical(Sample.of(Words.of([(0,)] * 9 + [(1,)]), AB))
    )
    found = intervals(rare)
    assert found["bits_per_symbol"] == Interval(np.inf, 1.0, np.inf)
    common = string_scores(
        Fixed((1, 0, 1)), TestSet.empirical(Sample.of(Words.of([(1,)] * 9 + [(0,)]), AB))
    )
    assert intervals(common)["bits_per_symbol"] == Interval(np.inf, np.inf, np.inf)
    nothing = string_scores(TwoWeights(1.0, 0.0), TestSet.empirical(TWO))
    assert intervals(nothing)["log2_pauto"] == Interval(np.inf, 0.0, np.inf)
    everything = intervals(string_scores(Fixed((0, 0, 0), 0.0), TestSet.empirical(TWO)))
    assert (
        everything["log2_pauto"]
        == everything["bits_per_symbol"]
        == Interval(np.inf, np.inf, np.inf)
    )


@pytest.mark.usefixtures("any_number")
def test_infinite_scores_are_compared() -> None:
    test = TestSet.empirical(TWO)
    none, half, full = (
        string_scores(TwoWeights(*pair), test) for pair in ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0))
    )
    undefined = paired_differences(none, none)
    assert np.isnan(
        [
            undefined["log2_pauto"].estimate,
            undefined["log2_pauto"].low,
            undefined["log2_pauto"].p_value,
        ]
    ).all()
    assert leaders(undefined, has_truth=True)["log2_pauto"] == "no verdict"
    # what remains to be compared
    assert paired_differences(none, half)["num_zero"].estimate == 2 - 1
    worse = paired_differences(none, full)["log2_pauto"]
    assert worse == Interval(np.inf, np.inf, np.inf) and leader("log2_pauto", worse) == "second"
    better = paired_differences(full, none)["log2_pauto"]
    assert better == Interval(-np.inf, -np.inf, -np.inf) and leader("log2_pauto", better) == "first"
    # ahead where bb is not drawn
    assert paired_differences(half, full)["log2_pauto"] == Interval(np.inf, -1.0, np.inf)


def test_no_numbers_have_no_interval() -> None:
    found = intervals(string_scores(Fixed((1, np.nan, 1), np.nan), TEST_SETS["true model"]()))
    for field in ("log2_pauto", "kl", "total_variation", "rmse", "bits_per_symbol"):
        assert (
            np.isnan([found[field].estimate, found[field].low, found[field].high]).all()
            and not found[field].level
        )
    assert not found["wer"].is_known and np.isnan(found["ndcg5"].estimate)


def test_a_model_is_level_with_itself() -> None:
    own = string_scores(TRIGRAM, TEST_SETS["true model"]())
    differences = paired_differences(own, own)
    assert {differences[field].estimate for field in COUNTS} == {0}
    assert {gap for field, gap in differences.items() if field not in COUNTS} == {Interval(0, 0, 0)}


def test_the_true_model_is_ahead_of_a_trigram_and_not_of_itself_by_another_name() -> None:
    truth, trigram = (
        string_scores(model, TEST_SETS["true model"]()) for model in (Dyck(), TRIGRAM)
    )
    found = paired_differences(trigram, truth)
    expected = {field: "no verdict" if field in COUNTS else "second" for field in found}
    assert {field: leader(field, gap) for field, gap in found.items()} == expected
    assert found["ndcg5_true"].high < 0 < found["wer"].low


def test_draws_do_not_depend_on_blocks_and_have_the_binomial_moments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = np.array([5, 1, 14])
    (whole,) = resamples(counts, 1_999, seed=0)
    monkeypatch.setattr(module, "CELLS_AT_ONCE", 100)
    np.testing.assert_array_equal(np.concatenate(list(resamples(counts, 1_999, seed=0))), whole)
    share = counts / 20
    assert (whole.sum(axis=1) == 20).all()
    np.testing.assert_allclose(whole.mean(axis=0), counts, rtol=0.05)
    np.testing.assert_allclose(whole.var(axis=0), 20 * share * (1 - share), rtol=0.1)
    assert intervals(string_scores(TRIGRAM, TestSet.empirical(SAMPLE)), seed=1) != intervals(
        string_scores(TRIGRAM, TestSet.empirical(SAMPLE)), seed=2
    )


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.integers(0, 1), max_size=4).map(tuple), min_size=1, max_size=8))
def test_the_scores_of_a_resample_are_those_of_its_strings(words: list[tuple[int, ...]]) -> None:
    """Score the drawn strings as a test set of their own. (Distinct strings are resampled by
    weights: see the next test.)
    """
    sample = Sample.of(Words.of(words), AB)
    rows = sample.words.take(np.repeat(np.arange(len(sample.words)), sample.counts))
    own = string_scores(ring(3), TestSet.as_drawn(rows, COIN.wfa.weights(rows), sample, COIN.wfa))
    draws = next(iter(resamples(sample.counts, 1, seed=len(words))))
    drawn = sample.words.take(np.repeat(np.arange(len(sample.words)), draws[0].astype(int)))
    scores = evaluate(
        ring(3), TestSet.as_drawn(drawn, COIN.wfa.weights(drawn), Sample.of(drawn, AB), COIN.wfa)
    )
    for field, values in own.scores(draws).items():
        if field == "total_variation":
            assert 0 <= values[0] <= 1
        else:
            assert values[0] == pytest.approx(getattr(scores, field), abs=1e-12, nan_ok=True), field


@pytest.mark.slow
def test_resampled_total_variation_spreads_as_it_does_between_test_sets() -> None:
    """Its mean is the score, and its spread that of 150 test sets of their own, or up to half as
    much more.
    """
    tests = [
        TestSet.of(Dyck().sample_words(250, seed=seed), ALPHABET, true_model=Dyck())
        for seed in range(150)
    ]
    resampled = []
    for test in tests[:20]:
        own = string_scores(TRIGRAM, test)
        draws = next(iter(resamples(test.sample.counts, 300, seed=0)))
        values = own.scores(draws)["total_variation"]
        assert values.mean() == pytest.approx(own.estimates["total_variation"], abs=0.002)
        resampled.append(values.std())
    spread = np.std([evaluate(TRIGRAM, test).total_variation for test in tests])
    assert 0.85 < np.mean(resampled) / spread < 1.6


@cache
def many_strings() -> Scores:
    return evaluate(TRIGRAM, TestSet.empirical(Dyck().sample(20_000, seed=1)))


@pytest.mark.parametrize(
    ("size", "number", "least"), [(30, 120, 0.83), (100, 120, 0.87), (1_000, 50, 0.87)]
)
def test_intervals_hold_the_true_score_about_as_often_as_they_say(
    size: int, number: int, least: float
) -> None:
    """Test sets of some strings; the true rates are those of 20,000 others.

    With 30 strings, intervals are a little too short.
    """
    hits = {"wer": 0, "bits_per_symbol": 0, "ndcg5": 0}
    for seed in range(number):
        test = TestSet.empirical(Dyck().sample(size, seed=1_000 + seed))
        found = intervals(string_scores(TRIGRAM, test), num_resamples=199)
        for field in hits:
            hits[field] += found[field].low <= getattr(many_strings(), field) <= found[field].high
    assert all(least <= hit / number <= 1 for hit in hits.values()), hits


def test_strings_that_do_not_fit_are_refused() -> None:
    apart = TestSet.as_drawn(Words.of([(0, 1)]), np.ones(1), Sample.of(Words.of([(0,), (1,)]), AB))
    with pytest.raises(RecipeError, match="a string of T is not among these"):
        string_scores(COIN.wfa, apart)
    prefix = TestSet.as_drawn(Words.of([(0,)]), np.ones(1), Sample.of(Words.of([(0, 1)]), AB))
    with pytest.raises(RecipeError, match="a string of T is not among these"):
        string_scores(COIN.wfa, prefix)
    with pytest.raises(RecipeError, match="scored on the same test strings"):
        paired_differences(
            string_scores(TRIGRAM, TestSet.empirical(TWO)),
            string_scores(TRIGRAM, TestSet.empirical(SAMPLE)),
        )
    # other strings, as many, as often, with the same target
    alike = Sample.of(Words.of([(1,), (0, 0)]), ALPHABET)
    with pytest.raises(RecipeError, match="scored on the same test strings"):
        paired_differences(
            string_scores(TRIGRAM, TestSet.empirical(TWO)),
            string_scores(TRIGRAM, TestSet.empirical(alike)),
        )
    one = string_scores(TRIGRAM, TestSet.empirical(TWO))
    with pytest.raises(RecipeError, match="num_resamples must be at least 1; got 0"):
        intervals(one, num_resamples=0)
    with pytest.raises(RecipeError, match="confidence must be between 0 and 1; got 95"):
        intervals(one, confidence=95)
    with pytest.raises(RecipeError, match="confidence must be between 0 and 1; got -0.5"):
        paired_differences(one, one, confidence=-0.5)


def test_the_p_value_is_the_level_at_which_zero_leaves_the_interval() -> None:
    one, other = (
        string_scores(model, TestSet.empirical(SAMPLE)) for model in (TRIGRAM, NGram.fit(SAMPLE, 1))
    )
    p_values = {
        field: gap.p_value
        for field, gap in paired_differences(one, other, 9_999).items()
        if field not in COUNTS
    }
    for field, p_value in p_values.items():
        assert 2 / 10_000 <= p_value <= 1
        for confidence, holds_zero in (
            (1 - p_value * 0.7, True),
            (1 - min(0.99, p_value * 1.3), False),
        ):
            if 0.0005 < 1 - confidence < 0.7 and 0.01 < p_value < 0.7:
                assert (
                    paired_differences(one, other, 9_999, confidence=confidence)[field].level
                    == holds_zero
                ), field
    assert {
        gap.p_value for field, gap in paired_differences(one, one).items() if field not in COUNTS
    } == {1.0}
    assert all(np.isnan(interval.p_value) for interval in intervals(one).values())


def test_beyond_the_end_of_the_transformation_zero_is_as_far_out_as_resamples_show() -> None:
    """With an acceleration of ½, equation 14.10 has no solution for a 0 below all 999 values: no
    interval of 999 resamples holds it, of which the widest leaves out 2 / 1,000.
    """
    assert module._p_value(np.linspace(1, 2, 999), 1.5, 0.5) == 2 / 1_000


@pytest.mark.parametrize(
    ("low", "is_bound"), [(0.5, True), (-0.5, False)], ids=["on one side of 0", "on both sides"]
)
def test_a_p_value_is_a_bound_where_all_resamples_are_on_one_side(
    low: float, is_bound: bool
) -> None:
    """The acceleration of skewed strings keeps it above 2 / 1,000, but more resamples could show a
    smaller one.
    """
    skewed = np.append(np.full(40, 0.9), 5.0)
    values = np.linspace(low, 1.5, 999)
    found = module.difference_interval(values, 1.0, skewed, np.ones(41, dtype=np.int64))
    assert found.p_value > 2 / 1_000
    assert found.p_is_bound == is_bound
    assert p_value_text(found).startswith("≤") == is_bound


def test_beyond_the_end_of_the_transformation_an_interval_is_bias_corrected_only() -> None:
    """Φ(2 z₀ + z), as before there was an acceleration (Efron 1981)."""
    below, above = module._bca_tails(0.3, 2.0, 0.025, 999)
    bias, z = stats.norm.ppf([0.3, 0.975])
    assert above == pytest.approx(1 - stats.norm.cdf(2 * bias + z))
    assert below == pytest.approx(stats.norm.cdf(bias + (bias - z) / (1 - 2 * (bias - z))))


def test_the_interval_of_few_strings_is_at_least_that_of_scipys_t_test() -> None:
    values = np.array([0.5, 2.0, -1.0, 3.0, 1.5])
    mean = float(values.mean())
    error = float(values.std()) / np.sqrt(5)
    # the resampled means have this mean and this standard deviation
    resampled = np.array([mean - error, mean + error])
    found = module._at_least_students(Interval(mean, mean, mean, 0.0), resampled, 5, 0.95)
    theirs = stats.ttest_1samp(values, 0)
    assert (found.low, found.high) == pytest.approx(theirs.confidence_interval())
    assert found.p_value == pytest.approx(theirs.pvalue)


def test_rounding_errors_are_no_difference() -> None:
    """The same function in another basis: its scores differ in the last digits."""
    rng = np.random.default_rng(0)
    wfa = ring(3)
    basis = rng.normal(size=(3, 3))
    inverse = np.linalg.inv(basis)
    copy = WFA(wfa.initial @ inverse, basis @ wfa.transitions @ inverse, basis @ wfa.termination)
    alphabet = Alphabet(("a", "b"))
    words = Words.of(
        [tuple(rng.integers(0, 2, length).tolist()) for length in range(12) for _ in range(4)]
    )
    test = TestSet.of(words, alphabet, true_model=wfa)
    scores = [string_scores(model, test) for model in (wfa, copy)]
    assert any(scores[0].estimates[field] != value for field, value in scores[1].estimates.items())
    for field, difference in paired_differences(*scores).items():
        if field not in COUNTS:
            assert (difference.estimate, difference.low, difference.high, difference.p_value) == (
                0,
                0,
                0,
                1,
            ), field


def test_there_is_no_verdict_on_the_pautomac_score_without_the_truth() -> None:
    """Strings of eight symbols hardly repeat, so a flat model is nearer to their frequencies than
    the automaton that drew them.
    """

    def of_eight(shares: list[float]) -> WFA:
        transitions = [share * np.eye(9, k=1) for share in shares]
        return WFA(np.eye(9)[0], np.stack(transitions), np.eye(9)[8])

    truth = of_eight([0.7, 0.1, 0.1, 0.1])
    flat = of_eight([0.25] * 4)
    drawn = draw(truth, 300, seed=1)
    sample = Sample.of(drawn.words, Alphabet(tuple("abcd")), drawn.counts)
    for test in (
        TestSet.empirical(sample),
        TestSet.of(sample.words, sample.alphabet, sample.counts, true_model=truth),
    ):
        scores = [string_scores(model, test) for model in (flat, truth)]
        ahead = leaders(paired_differences(*scores), scores[0].has_truth)
        assert ahead["bits_per_symbol"] == "second"
        assert ahead["log2_pauto"] == ("second" if test.target_is_true else "no verdict")
        if not test.target_is_true:
            assert scores[0].estimates["log2_pauto"] < scores[1].estimates["log2_pauto"]


@pytest.mark.parametrize("number", [1, 2, 3, 10, 29])
@pytest.mark.parametrize("kind", ["frequencies", "true model"])
def test_few_strings_have_no_interval_no_p_value_and_no_verdict(number: int, kind: str) -> None:
    words = Dyck().sample_words(number, seed=5)
    sample = Sample.of(words, ALPHABET)
    test = (
        TestSet.empirical(sample)
        if kind == "frequencies"
        else TestSet.of(words, ALPHABET, true_model=Dyck())
    )
    one, other = (string_scores(model, test) for model in (TRIGRAM, Uniform(2)))
    scores = evaluate(TRIGRAM, test)
    for field, interval in intervals(one).items():
        assert (
            interval.estimate == pytest.approx(getattr(scores, field), rel=1e-9)
            and not interval.is_known
        )
    differences = paired_differences(one, other)
    assert all(
        np.isnan([gap.low, gap.high, gap.p_value]).all() and not gap.level
        for gap in differences.values()
    )
    assert set(leaders(differences, one.has_truth).values()) == {"no verdict"}
    assert too_few_strings(number).startswith(f"n = {number} string")


def test_repeated_strings_count_as_often_as_they_were_drawn() -> None:
    """30 draws of two distinct strings are 30 test strings."""
    sample = Sample.of(Words.of([(0,), (1, 1)] * (FEWEST_STRINGS // 2)), ALPHABET)
    assert all(
        one.is_known
        for one in intervals(string_scores(TRIGRAM, TestSet.empirical(sample))).values()
    )


@pytest.mark.slow
@pytest.mark.parametrize("size", [30, 100])
@pytest.mark.parametrize("design", list(designs()), ids=lambda design: design.name)
def test_of_equal_models_one_is_ahead_about_as_often_as_the_level_says(
    design: Design, size: int
) -> None:
    """The models of each design are equally good over all strings of its source: see
    `benchmarks.equal_models`.
    """
    for field, rates in measure(design, size, 500, num_resamples=499).items():
        # The standard error of a rate of 0.05 is 0.01 here.
        assert rates.ahead <= 0.08 + 0.02, field
        assert rates.difference_held >= 0.9


def test_the_benchmark_compares_as_the_library_does() -> None:
    design = next(designs())
    drawn = design.source.sample(300, seed=1)
    one, other = (
        string_scores(model, TestSet.empirical(drawn)) for model in (design.first, design.second)
    )
    distinct = np.arange(len(one.counts))
    few = [replace(scores, counts=np.ones_like(scores.counts)) for scores in (one, other)]
    (draws,) = resamples(few[0].counts, 499, 0)
    for field in design.fields:
        (gap,), (own,) = compared(one, other, distinct[None], draws, field)
        theirs = paired_differences(*few, 499)[field]
        alone = intervals(few[0], 499)[field]
        assert gap == Interval(
            *(pytest.approx(end, abs=1e-12) for end in (theirs.estimate, theirs.low, theirs.high))
        )
        assert gap.p_value == pytest.approx(theirs.p_value)
        assert own == Interval(
            *(pytest.approx(end, abs=1e-12) for end in (alone.estimate, alone.low, alone.high))
        )
