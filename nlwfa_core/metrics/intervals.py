"""Compute how much scores would change with other test strings: bootstrap intervals, and paired
differences between two models.

**What is resampled.** The test strings as drawn are resampled with replacement, as many as there
are. A string that occurs three times counts as three draws. In next-symbol scores, all predictions
along a string are drawn or left out together, because they are not independent of each other.

The Pautomac score is over a set T of words. With true probabilities, T consists of the test strings
as drawn. Each resampled string then brings its true probability along, and both the probabilities
and the model's outputs are normalised over the resampled strings. Total variation is over the
distinct test strings: `StringScores` explains how these are resampled. Without true probabilities,
T is the set of distinct test strings. T and the sum of the model's outputs over it then do not
change, and only the frequencies P* are resampled.

**What an interval covers.** An interval covers only the chance involved in drawing the test
strings: not other training strings, other training seeds, or strings from another source. `seeds`
has intervals over seeds.

**How intervals are computed.** `string_scores` computes once what each string contributes to each
score. A matrix of how often each string is drawn in each resample, multiplied by these
contributions, then gives the scores of all resamples. The intervals are BCa intervals
(bias-corrected and accelerated: Efron and Tibshirani, *An Introduction to the Bootstrap*, 1993,
§14.3); the scoring of two models on the same resamples is from Koehn, *Statistical significance
tests for machine translation evaluation* (EMNLP 2004). With few strings, BCa intervals are too
short. So a difference's interval reaches at least as far as Student's t interval, and fewer than
`FEWEST_STRINGS` test strings have no interval at all. docs/method-notes.md gives measured coverage
and error rates.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from ..errors import RecipeError, check_at_least, check_between, check_one_of, check_types, plural
from ..models.model import HasModel, Model, alphabet_of, model_of, scaled_next_scores
from ..rounding import format_significant, on_one_thread
from ..strings.plain import SampleLike
from ..strings.words import FloatArray, IntArray, Words
from .evaluate import outputs_on
from .next_symbols import score_next_by_string
from .pautomac_score import magnitudes, pautomac_score, shares
from .score_table import SCORE_OF
from .tables import format_difference, format_score
from .testset import TestSet, as_test_set, over_one_alphabet

CONFIDENCE = 0.95
FEWEST_STRINGS = 30  # with fewer test strings, there is no interval, no p value and no verdict
# Fields of `Scores` that have an interval, if the truth that they need is known.
SCORES_WITH_INTERVALS = (
    "log2_pauto",
    "wer",
    "wer_without_end",
    "bits_per_symbol",
    "bits_without_end",
    "ndcg5",
    "ndcg5_true",
    "kl",
    "total_variation",
    "rmse",
    "next_kl",
)
# Counts by which two models are also compared; they have no interval.
COUNTS = ("num_zero", "num_negative", "num_nonfinite", "num_impossible")
# Resamples: (number + 1) · 2.5 % is a whole number, so an end of a 95 % interval is one of the
# resamples.
NUM_RESAMPLES = 1_999
FEW_RESAMPLES = 199
MANY_STRINGS = 100_000  # from here on there are few resamples
MAX_RESAMPLES = 100_000
# The confidence that a person may ask for in an interval. With fewer resamples than
# `least_resamples`, an interval is too narrow.
LEAST_CONFIDENCE = 0.5
MOST_CONFIDENCE = 0.999
# Scores that differ by no more than the first, relative to the larger one, plus the second, differ
# only by rounding errors.
SAME_SCORE = 1e-9
SMALLEST_DIFFERENCE = 1e-12
CELLS_AT_ONCE = 2**22  # of the matrix of numbers of draws: 32 MB
# Distinct strings up to which the skewness of a score is measured by leaving out each string. With
# more, the skewness hardly matters.
MAX_LEFT_OUT = 2_000


@dataclass(frozen=True)
class Interval:
    """A score, or the difference between two scores, with its interval.

    >>> Interval(0.25, 0.125, 0.5).text(), Interval(0.25, -0.125, 0.5).level
    ('0.250 [0.125, 0.500]', True)

    Attributes
    ----------
    estimate : float
        The score or difference itself, on the test strings or over the seeds. The difference of two
        infinite scores is nan.
    low, high : float
        The ends of the interval, which includes them. They are ∞ if the score is ∞. They are nan if
        there is no interval: the score is nan or a count, or there are too few test strings.
    p_value : float
        For a difference from `paired_differences`: the smallest 1 − confidence at which its
        interval still excludes 0, two-sided. It is the chance of a difference as large as this if
        the models were level. It is nan for a score, and if there is no interval. Equality ignores
        it.
    p_is_bound : bool
        Whether more resamples could show a smaller p value, because all resamples are on the same
        side of 0, or the p value is the smallest that this number of resamples can show. Equality
        ignores it.
    """

    estimate: float
    low: float
    high: float
    p_value: float = dataclasses.field(default=math.nan, compare=False, repr=False)
    p_is_bound: bool = dataclasses.field(default=False, compare=False, repr=False)

    @property
    def is_known(self) -> bool:
        """Return whether there is an interval, that is, whether its ends are not nan."""
        return not math.isnan(self.low)

    @property
    def level(self) -> bool:
        """Return whether 0 lies in the interval of a difference, so neither model is ahead.

        False if there is no interval.
        """
        return self.low <= 0 <= self.high

    def text(self, form: str = ".3f", signed: bool = False) -> str:
        """Write the estimate and the interval, if there is one, as `metrics.tables.format_score`
        does, or as `format_difference` if `signed`. Only ∞ is written if the score is ∞ in every
        resample.

        >>> Interval(0.25, 0.125, math.inf).text(), Interval(math.nan, math.nan, math.nan).text()
        ('0.250 [0.125, ∞]', 'undefined')
        >>> Interval(0.25, math.nan, math.nan).text()
        '0.250'
        >>> Interval(math.inf, math.inf, math.inf).text()
        '∞'
        >>> Interval(0.25, -0.125, 0.5).text(signed=True)
        '+0.250 [−0.125, +0.500]'
        """
        write = format_difference if signed else format_score
        estimate = write(self.estimate, form)
        is_infinite = math.isinf(self.estimate) and self.low == self.high
        if math.isnan(self.estimate) or not self.is_known or is_infinite:
            return estimate
        return f"{estimate} [{write(self.low, form)}, {write(self.high, form)}]"


@dataclass(frozen=True, eq=False)
class StringScores:
    """The contributions of each distinct test string to a model's scores, computed once for all
    resamples.

    "Per draw" means that the value of a string that was drawn c times is 1/c of the sum over its
    rows of T.

    Attributes
    ----------
    words : Words
        The distinct test strings.
    counts : array, shape (num_distinct,)
        How often each string was drawn.
    next_symbols : mapping of str to array, shape (num_distinct,)
        Sums over the predictions along each string; see `next_symbols.NextSymbolsByString`.
    target : array, shape (num_distinct,)
        P* over T, per draw.
    output, log2_output : array, shape (num_distinct,)
        |f(x)| per draw, divided by the largest output, and the log₂ of this.
    entropy : array, shape (num_distinct,)
        −P* log₂ P*, per draw.
    rows : array, shape (num_distinct,)
        The number of rows of T, per draw: 1 if T consists of the test strings as drawn.
    squared_error : array, shape (num_distinct,), or None
        (f(x) − true weight)² per draw, divided by `largest_error`²; None if the true weights are
        not known.
    largest_error : float
    log2_normaliser : float or None
        log₂ of the sum of the outputs over T if T is not resampled; None if it is.
    has_truth, is_finite : bool
        Whether the target is the true probability, and whether all outputs are finite numbers.
    output_counts : mapping of str to float
        The fields `COUNTS` of `Scores`.
    """

    words: Words
    counts: IntArray
    next_symbols: Mapping[str, FloatArray]
    target: FloatArray
    output: FloatArray
    log2_output: FloatArray
    entropy: FloatArray
    rows: FloatArray
    squared_error: FloatArray | None
    largest_error: float
    log2_normaliser: float | None
    has_truth: bool
    is_finite: bool
    output_counts: Mapping[str, float]

    def __repr__(self) -> str:
        """Write the scores without resampling."""
        written = (f"{field} {value:.4g}" for field, value in self.estimates.items())
        return f"<StringScores on {plural(self.num_strings, 'string')}: {', '.join(written)}>"

    @property
    def num_strings(self) -> int:
        """Return the number of test strings, including repeated strings."""
        return int(self.counts.sum())

    @property
    def num_predictions(self) -> int:
        """Return the number of predictions of next symbols, over all test strings as drawn."""
        return int(self.counts @ self.next_symbols["num_predictions"])

    def scores(self, draws: FloatArray) -> dict[str, FloatArray]:
        """Compute the scores of some resamples: field of `Scores` -> array, shape (num_resamples,).

        Parameters
        ----------
        draws : array, shape (num_resamples, num_distinct)
            How often each string is drawn. With `counts`, the scores are those of `evaluate`.
        """
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return self._next_scores(draws) | self._word_scores(draws)

    def on_strings_of(self, other: StringScores) -> bool:
        """Return whether two models were scored on the same strings, with the same counts and the
        same target.
        """
        mine, theirs = (
            (one.words.offsets, one.words.symbols, one.counts, one.target) for one in (self, other)
        )
        return all(map(np.array_equal, mine, theirs))

    @property
    def estimates(self) -> dict[str, float]:
        """Compute the scores without resampling: field of `Scores` -> value.

        Up to rounding, they are those of `evaluate`.
        """
        scores = self.scores(self.counts[None].astype(np.float64))
        return {field: float(values[0]) for field, values in scores.items()} | dict(
            self.output_counts
        )

    def _next_scores(self, draws: FloatArray) -> dict[str, FloatArray]:
        sums = _sums(draws, self.next_symbols)
        number = sums["num_predictions"]
        symbols = sums["num_symbols"]
        scores = {
            "wer": 1 - sums["right"] / number,
            "bits_per_symbol": sums["bits"] / number,
            # nan if only empty strings are drawn
            "wer_without_end": 1 - sums["right_without_end"] / symbols,
            "bits_without_end": sums["bits_without_end"] / symbols,
            "ndcg5": sums["gains"] / number,
        }
        optional = {"ndcg5_true": "true_gains", "next_kl": "next_kl"}
        return scores | {
            field: sums[column] / number for field, column in optional.items() if column in sums
        }

    def _word_scores(self, draws: FloatArray) -> dict[str, FloatArray]:
        likely = self.target > 0
        columns = {
            "mass": self.target,
            "output": self.output,
            "cross": np.where(likely, -self.target * self.log2_output, 0.0),
            "entropy": self.entropy,
            "rows": self.rows,
        }
        if self.squared_error is not None:
            columns["squared_error"] = self.squared_error
        sums = _sums(draws, columns)
        mass = sums["mass"]
        normaliser = (
            np.log2(sums["output"]) if self.log2_normaliser is None else self.log2_normaliser
        )
        log2 = np.where(np.isinf(sums["cross"]), np.inf, sums["cross"] / mass + normaliser)
        scores = {"log2_pauto": log2}
        if self.has_truth:
            scores["kl"] = np.maximum(log2 - (sums["entropy"] / mass + np.log2(mass)), 0.0)
            scores["total_variation"] = self._total_variation(draws)
        if self.squared_error is not None:
            scores["rmse"] = np.sqrt(sums["squared_error"] / sums["rows"]) * self.largest_error
        return (
            scores if self.is_finite else {field: np.full(len(draws), np.nan) for field in scores}
        )

    @property
    def draw_weights(self) -> FloatArray:
        """Return how fast each distinct string's weight in the total variation rises with its
        draws, relative to the number of draws, shape (num_distinct,).

        The weight's variance is what it would be if the string counted once wherever it is drawn,
        divided by the chance of that.
        """
        chance = 1 - (1 - self.counts / self.counts.sum()) ** self.counts.sum()
        slopes: FloatArray = np.sqrt(self.counts * (1 - chance) / chance)
        return slopes

    def _total_variation(self, draws: FloatArray) -> FloatArray:
        """Compute ½ Σ |P* − P| over the distinct strings, shape (num_resamples,); nan if all
        outputs are 0.

        Test sets differ only in whether a string is in them. Resampled ones, however, have fewer
        distinct strings than the test set. So no string is left out: each has a weight of mean 1,
        linear in its draws (see `draw_weights`).
        """
        if not self.output.any():
            return np.full(len(draws), np.nan)
        rows = np.where(self.rows > 0, self.rows, 1.0)
        weights = 1 + self.draw_weights * (draws / self.counts - 1)

        def normalised(values: FloatArray) -> FloatArray:
            sums = weights @ (values / rows)
            shares: FloatArray = values / rows / np.where(sums > 0, sums, 1.0)[:, None]
            return shares

        total: FloatArray = (
            np.einsum(
                "ij,ij->i", weights, np.abs(normalised(self.target) - normalised(self.output))
            )
            / 2
        )
        return total


@check_types
@on_one_thread
def string_scores(
    model: Model | HasModel, test: TestSet | SampleLike, floor: float = 0.0
) -> StringScores:
    """Compute the contribution of each test string to a model's scores.

    >>> from nlwfa_core import WFA, Alphabet
    >>> half = WFA([1], [[[0.5]]], [0.5], Alphabet(("a",)))
    >>> round(string_scores(half, ["a", "aa", ""]).estimates["bits_per_symbol"], 6)
    1.0

    Parameters
    ----------
    model : Model
    test : TestSet, Sample, or strings as `strings.plain.as_sample` takes them
        The words of a test set's T must be its test strings, either as drawn or without
        repetitions.
    floor : float
        Normalised outputs below the floor are raised to it, as in `evaluate`. This is done once,
        over the whole of T, and not for each resample.

    Raises
    ------
    RecipeError
        If the model and the test set do not fit (see `evaluate`), or T has a string that is not
        among the test strings.
    """
    model = model_of(model)
    test = as_test_set(test, alphabet_of(model))
    words = test.sample.words  # before they get the numbers of a model's alphabet
    model, test = over_one_alphabet(model, test)
    trie = test.trie(model.num_symbols)
    ends = test.ends(model.num_symbols)
    number = np.full(trie.num_nodes, -1)
    number[trie.ends] = np.arange(len(trie.ends))
    if ends is None or (number[ends] < 0).any():
        raise RecipeError(
            "intervals need the test strings of the Pautomac score; a string of T is not among "
            "these test strings"
        )
    counts = test.sample.counts.astype(np.int64)
    next_scores, exponents = scaled_next_scores(model, trie)
    sums = score_next_by_string(next_scores, trie, floor, test.next_truth)
    columns = {name: values for name, values in vars(sums).items() if values is not None}
    columns["num_symbols"] = sums.num_predictions - 1
    impossible = columns.pop("impossible")

    weights, logs = outputs_on(model, test, next_scores, exponents)
    counted = pautomac_score(weights, test.target, log2_outputs=logs)
    output_counts = {
        "num_zero": float(counted.num_zero),
        "num_negative": float(counted.num_negative),
        "num_nonfinite": float(counted.num_nonfinite),
        "num_impossible": float(counts @ impossible),
    }
    is_finite = bool(np.isfinite(weights).all())
    if not is_finite:  # no score of whole strings is defined
        weights = np.ones(len(weights))
        logs = None
    error = None if test.true_weights is None else np.abs(weights - test.true_weights)
    if floor:
        weights = shares(magnitudes(weights, logs), floor)
        logs = None

    def per_draw(rows: FloatArray) -> FloatArray:
        """Sum over the rows of T that hold each distinct string, and divide by the number of its
        draws.
        """
        total: FloatArray = np.bincount(number[ends], rows, minlength=len(counts)) / counts
        return total

    with np.errstate(divide="ignore", invalid="ignore"):
        log2 = np.log2(np.abs(weights)) if logs is None else logs
        largest = float(log2.max())
        log2 = log2 - (largest if np.isfinite(largest) else 0.0)
        outputs = np.exp2(log2)
        log2_normaliser = None if test.target_is_true else float(np.log2(outputs.sum()))
        entropy = np.where(test.target > 0, -test.target * np.log2(test.target), 0.0)
    largest_error = 0.0 if error is None else float(error.max()) or 1.0
    return StringScores(
        words=words,
        counts=counts,
        next_symbols=columns,
        target=per_draw(test.target),
        output=per_draw(outputs),
        log2_output=_first(log2, number[ends], len(counts)),
        entropy=per_draw(entropy),
        rows=per_draw(np.ones(len(weights))),
        squared_error=None if error is None else per_draw((error / largest_error) ** 2),
        largest_error=largest_error,
        log2_normaliser=log2_normaliser,
        has_truth=test.target_is_true,
        is_finite=is_finite,
        output_counts=output_counts,
    )


def _first(values: FloatArray, number: IntArray, size: int) -> FloatArray:
    """Take the value of each distinct string, which is the same in all of its rows; 0 for a string
    without a row.
    """
    first = np.zeros(size)
    first[number] = values
    return first


def _sums(draws: FloatArray, columns: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Sum each column over the drawn strings: name -> array, shape (num_resamples,). ∞ if an
    infinite value is drawn.
    """
    finite = np.stack(
        [np.where(np.isinf(column), 0.0, column) for column in columns.values()], axis=1
    )
    sums = dict(zip(columns, (draws @ finite).T, strict=True))
    for name, column in columns.items():
        infinite = np.isinf(column)
        if infinite.any():
            sums[name] = np.where(draws @ infinite.astype(np.float64) > 0, np.inf, sums[name])
    return sums


def least_resamples(confidence: float) -> int:
    """Return the smallest number of resamples with which the ends of an interval lie inside the
    smallest and the largest value.

    >>> least_resamples(0.95), least_resamples(0.5)
    (39, 3)
    """
    return math.ceil(2 / (1 - confidence) - 1e-9) - 1


def default_resamples(model: StringScores) -> int:
    """Return the number of resamples of a model's test strings if no number is given."""
    return NUM_RESAMPLES if model.num_strings <= MANY_STRINGS else FEW_RESAMPLES


def least_p_value(num_resamples: int) -> float:
    """Return the smallest p value that resamples can show: a difference whose interval excludes 0
    at each of their levels has this p value or a smaller p value.
    """
    return 2 / (num_resamples + 1)


def p_value_text(difference: Interval) -> str:
    """Write the p value of a difference with two significant digits; "–" if there is none.

    A p value that is only an upper bound is written with "≤" and rounded up.

    >>> (
    ...     p_value_text(Interval(1, 0.1, 2, 0.0312)),
    ...     p_value_text(Interval(1, 0.1, 2, 0.001, p_is_bound=True)),
    ...     p_value_text(Interval(1, 0.1, 2, 0.01332, p_is_bound=True)),
    ...     p_value_text(Interval(1, 0.1, 2)),
    ... )
    ('0.031', '≤ 0.001', '≤ 0.014', '–')
    """
    if math.isnan(difference.p_value):
        return "–"
    if not difference.p_is_bound:
        return format_significant(difference.p_value, 2)
    unit = 10.0 ** (math.floor(math.log10(difference.p_value)) - 1)  # of the second digit
    return f"≤ {format_significant(math.ceil(difference.p_value / unit - 1e-9) * unit, 2)}"


@check_types
def intervals(
    model: StringScores,
    num_resamples: int | None = None,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> dict[str, Interval]:
    """Compute an interval over test strings for each score of a model.

    Counts and shares have no interval, nor do scores that need the true model if it is not known.
    With fewer than `FEWEST_STRINGS` test strings, the ends of all intervals are nan (see
    `too_few_strings`).

    >>> from nlwfa_core import WFA, Alphabet, TestSet
    >>> half = WFA([1], [[[0.5]]], [0.5], Alphabet(("a",)))
    >>> intervals(string_scores(half, TestSet.empirical(["a", "aa", ""] * 10)))[
    ...     "bits_per_symbol"
    ... ].text()
    '1.000 [1.000, 1.000]'
    >>> intervals(string_scores(half, TestSet.empirical(["a", "aa", ""])))["bits_per_symbol"].text()
    '1.000'

    Parameters
    ----------
    model : StringScores
        From `string_scores`.
    num_resamples : int, optional
        By default `NUM_RESAMPLES`, or `FEW_RESAMPLES` for more than `MANY_STRINGS` test strings.
    seed : int
        Equal seeds give equal intervals.
    confidence : float
        The share of such intervals that should contain the true score.

    Returns
    -------
    dict
        Field of `Scores` -> its interval.

    Raises
    ------
    RecipeError
        If the number of resamples is below 1, or the confidence is not between 0 and 1.
    """
    check_between("confidence", confidence, 0, 1)
    if too_few_strings(model.num_strings):
        _check_resamples(num_resamples, seed)
        return {
            field: Interval(value, math.nan, math.nan)
            for field, value in model.estimates.items()
            if field not in COUNTS
        }
    (resampled,) = _resampled((model,), num_resamples, seed)
    estimates = model.estimates
    left_out = _left_out(model)
    return {
        field: score_interval(
            values, estimates[field], left_out.get(field), model.counts, confidence
        )
        for field, values in resampled.items()
    }


def score_interval(
    values: FloatArray,
    estimate: float,
    left_out: FloatArray | None,
    counts: IntArray,
    confidence: float = CONFIDENCE,
) -> Interval:
    """Compute the BCa interval of a score, with the parameters of `difference_interval`."""
    return _interval(values, estimate, confidence, _acceleration(left_out, counts))


def too_few_strings(num_strings: int) -> str:
    """Report that there are too few test strings for intervals and verdicts; empty if there are
    enough.

    >>> too_few_strings(2), too_few_strings(30)
    ('n = 2 strings: too few for an interval, which needs 30', '')
    """
    if num_strings >= FEWEST_STRINGS:
        return ""
    return (
        f"n = {plural(num_strings, 'string')}: too few for an interval, which needs "
        f"{FEWEST_STRINGS}"
    )


def paired_differences(
    first: StringScores,
    second: StringScores,
    num_resamples: int | None = None,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> dict[str, Interval]:
    """Compute an interval for the difference between two models' scores, first − second, on the
    same test strings.

    Both models are scored on the same resamples, so strings that are hard for both do not widen the
    interval. If the interval contains 0, the models are level: these test strings do not show which
    is better (see `Interval.level`, `leader`). A difference that is only rounding error, such as
    that of an automaton and its copy in another basis, is 0. The difference of two infinite scores
    is undefined: nan. The fields `COUNTS` have a difference but no interval, and with fewer than
    `FEWEST_STRINGS` test strings, no difference has an interval.

    BCa intervals of differences exclude 0 too often: with 30 strings, if few of them tell two equal
    models apart, up to 18 times in 100 instead of 5. Student's t interval, with the standard
    deviation of the resampled differences, fails if the differences are skewed. So an interval here
    extends, on each side, to the farther of the two ends. A difference that is infinite in any
    resample has the BCa interval.

    Each difference has a p value: the level at which 0 leaves the interval. It is the larger of the
    p values of the t interval and the BCa interval (DiCiccio and Efron, *Bootstrap confidence
    intervals*, Statistical Science 1996, §2). It is at least 2 / (number of resamples + 1), and is
    not corrected for the number of scores that are compared.

    >>> from nlwfa_core import WFA, Alphabet, TestSet
    >>> half = WFA([1], [[[0.5]]], [0.5], Alphabet(("a",)))
    >>> scores = string_scores(half, TestSet.empirical(["a", "aa", ""] * 10))
    >>> paired_differences(scores, scores)["wer"].level  # a model is level with itself
    True

    `first` and `second`: from `string_scores`, with the same test set. `num_resamples`, `seed` and
    `confidence`: as in `intervals`.

    Raises RecipeError as in `intervals`, or if the models were scored on other strings.
    """
    if not first.on_strings_of(second):
        raise RecipeError(
            "a paired difference needs two models that are scored on the same test strings"
        )
    check_between("confidence", confidence, 0, 1)
    estimates = first.estimates
    other_estimates = second.estimates
    known = {
        field: float(difference(estimates[field], other_estimates[field]))
        for field in estimates
        if field in other_estimates
    }
    differences = {
        field: Interval(estimate, math.nan, math.nan) for field, estimate in known.items()
    }
    if too_few_strings(first.num_strings):
        _check_resamples(num_resamples, seed)
        return differences
    one, other = _resampled((first, second), num_resamples, seed)
    left_out = _left_out(first)
    other_left_out = _left_out(second)
    for field in one.keys() & other.keys():
        without = difference(left_out[field], other_left_out[field]) if left_out else None
        values = difference(one[field], other[field])
        differences[field] = difference_interval(
            values, known[field], without, first.counts, confidence
        )
    return differences


def difference_interval(
    values: FloatArray,
    estimate: float,
    left_out: FloatArray | None,
    counts: IntArray,
    confidence: float = CONFIDENCE,
) -> Interval:
    """Compute the interval and the p value of a difference, as `paired_differences` describes them.

    `values` (num_resamples,): the differences on the resamples. `estimate`: the difference on the
    test strings. `left_out` (num_distinct,), or None: the difference on the test strings without
    one draw of a string, for each string. `counts` (num_distinct,): how often each string was
    drawn.
    """
    acceleration = _acceleration(left_out, counts)
    interval = _interval(values, estimate, confidence, acceleration)
    p_value = _p_value(values, estimate, acceleration)
    on_one_side = bool((values > 0).all() or (values < 0).all())
    is_bound = on_one_side or p_value <= least_p_value(len(values))
    return _at_least_students(
        replace(interval, p_value=p_value, p_is_bound=is_bound),
        values,
        int(counts.sum()),
        confidence,
    )


def _at_least_students(
    interval: Interval, values: FloatArray, num_strings: int, confidence: float
) -> Interval:
    """Widen the interval of a difference to hold Student's t interval, and raise its p value to
    that of Student's t test.

    The standard deviation of the resampled differences, shape (num_resamples,), divides by the
    number of strings, so it is corrected in the same way as that of a sample.
    """
    # only here: `nlwfa --help` imports this module, and should not wait for scipy
    from scipy.special import stdtr, stdtrit

    if not np.isfinite(values).all():
        return interval
    degrees = num_strings - 1
    error = float(values.std()) * math.sqrt(num_strings / degrees)
    if error == 0:
        return interval
    half = float(stdtrit(degrees, (1 + confidence) / 2)) * error
    p_value = 2 * float(stdtr(degrees, -abs(interval.estimate) / error))
    return Interval(
        interval.estimate,
        min(interval.low, interval.estimate - half),
        max(interval.high, interval.estimate + half),
        max(interval.p_value, p_value),
        interval.p_is_bound and interval.p_value >= p_value,
    )


def leader(field: str, difference: Interval) -> str:
    """State which of two models has the better score: "first" or "second"; "level" if the interval
    contains 0; "no verdict" if there is no interval.

    >>> lower = Interval(-0.1, -0.2, -0.01)
    >>> leader("wer", lower), leader("ndcg5", lower), leader("wer", Interval(-0.1, -0.3, 0.1))
    ('first', 'second', 'level')
    >>> leader("wer", Interval(-0.1, math.nan, math.nan))
    'no verdict'
    """
    check_one_of("field", field, SCORE_OF)
    if not difference.is_known:
        return "no verdict"
    if difference.level:
        return "level"
    return "first" if (difference.low > 0) == SCORE_OF[field].higher_is_better else "second"


def leaders(differences: Mapping[str, Interval], has_truth: bool) -> dict[str, str]:
    """State for each score which of two models is ahead: "first", "second", "level" or "no
    verdict".

    There is no verdict without an interval, nor on the Pautomac score without the true
    probabilities, because a flat model can then be ahead of the model that drew the strings (see
    `score_table.FLAT_WINS`).

    >>> leaders(
    ...     {"wer": Interval(-0.1, -0.2, -0.01), "log2_pauto": Interval(-0.1, -0.2, -0.01)},
    ...     has_truth=False,
    ... )
    {'wer': 'first', 'log2_pauto': 'no verdict'}

    `differences`: from `paired_differences`. `has_truth`: `StringScores.has_truth`.
    """
    return {
        field: "no verdict" if field == "log2_pauto" and not has_truth else leader(field, one)
        for field, one in differences.items()
    }


@on_one_thread
def _resampled(
    models: Sequence[StringScores], num_resamples: int | None, seed: int
) -> list[dict[str, FloatArray]]:
    """Score each model on the same resamples: field -> array, shape (num_resamples,)."""
    counts = models[0].counts
    if num_resamples is None:
        num_resamples = default_resamples(models[0])
    _check_resamples(num_resamples, seed)
    blocks: list[list[dict[str, FloatArray]]] = [[] for _ in models]
    for draws in resamples(counts, num_resamples, seed):
        for block, model in zip(blocks, models, strict=True):
            block.append(model.scores(draws))
    return [
        {field: np.concatenate([block[field] for block in blocks_of]) for field in blocks_of[0]}
        for blocks_of in blocks
    ]


def _check_resamples(num_resamples: int | None, seed: int) -> None:
    if num_resamples is not None:
        check_at_least("num_resamples", num_resamples, 1)
    check_at_least("seed", seed, 0)


def resamples(counts: IntArray, num_resamples: int, seed: int) -> Iterator[FloatArray]:
    """Resample strings with replacement, as many as there are, and yield how often each string is
    drawn.

    `counts` (num_distinct,): how often each distinct string occurs.

    Yields an array (size of the block, num_distinct): one row per resample, which sums to the sum
    of the counts. The size of the blocks does not change the numbers.
    """
    rng = np.random.default_rng(seed)
    total = int(counts.sum())
    block = max(1, CELLS_AT_ONCE // max(len(counts), 1))
    for start in range(0, num_resamples, block):
        size = min(block, num_resamples - start)
        yield rng.multinomial(total, counts / total, size=size).astype(np.float64)


def difference(first: FloatArray | float, second: FloatArray | float) -> FloatArray:
    """Subtract scores.

    The result is 0 if the scores differ only by rounding errors, and nan if both are infinite.
    """
    with np.errstate(invalid="ignore"):
        gap = np.subtract(first, second)
        equal = (
            np.abs(gap)
            <= SAME_SCORE * np.maximum(np.abs(first), np.abs(second)) + SMALLEST_DIFFERENCE
        )
        return np.where(equal & np.isfinite(gap), 0.0, gap)


@on_one_thread
def _left_out(model: StringScores) -> dict[str, FloatArray]:
    """Score the test strings without one draw of each distinct string: field -> array, shape
    (num_distinct,).

    Empty if there is only one test string, or more than MAX_LEFT_OUT distinct ones.
    """
    size = len(model.counts)
    if size > MAX_LEFT_OUT or model.counts.sum() < 2:
        return {}
    blocks = []
    step = max(1, CELLS_AT_ONCE // size)
    for start in range(0, size, step):
        rows = np.arange(start, min(start + step, size))
        draws = np.repeat(model.counts[None].astype(np.float64), len(rows), axis=0)
        draws[np.arange(len(rows)), rows] -= 1
        blocks.append(model.scores(draws))
    return {field: np.concatenate([block[field] for block in blocks]) for field in blocks[0]}


def _acceleration(left_out: FloatArray | None, counts: IntArray) -> float:
    """Compute a sixth of the skewness of a score's influence function (Efron and Tibshirani 1993,
    equation 14.15).

    `left_out` (num_distinct,), or None: the score without one draw of each string. `counts`
    (num_distinct,).

    Returns a float: 0 if the score does not vary, or is not finite without one of the strings, or
    if `left_out` is None.
    """
    if left_out is None or not np.isfinite(left_out).all():
        return 0.0
    influence = np.average(left_out, weights=counts) - left_out
    spread = float(counts @ influence**2)
    return float(counts @ influence**3) / (6 * spread**1.5) if spread > 0 else 0.0


def _interval(
    values: FloatArray, estimate: float, confidence: float, acceleration: float = 0.0
) -> Interval:
    """Compute the BCa interval of resampled values, shape (num_resamples,).

    If as many values lie below the estimate as above, and the acceleration is 0, it is the
    percentile interval. Its ends are two of the values, without interpolation, so no arithmetic
    with ∞ is needed.
    """
    if math.isnan(estimate) or np.isnan(values).any():
        return Interval(estimate, math.nan, math.nan)
    ordered = np.sort(values)
    number = len(values)
    tail = (1 - confidence) / 2
    below, above = _bca_tails(
        float((values < estimate).mean() + (values == estimate).mean() / 2),
        acceleration,
        tail,
        number,
    )
    # 1 − 0.95 is not exact.
    first, last = (max(1, math.floor((number + 1) * share + 1e-9)) for share in (below, above))
    low = -math.inf if ordered[0] == -math.inf else float(ordered[first - 1])
    high = math.inf if ordered[-1] == math.inf else float(ordered[-last])
    return Interval(estimate, low, high)


def _bca_tails(
    share_below: float, acceleration: float, tail: float, number: int
) -> tuple[float, float]:
    """Compute the shares of resamples below and above a BCa interval (Efron and Tibshirani 1993,
    equation 14.10).

    >>> _bca_tails(0.5, 0.0, 0.025, 1999)
    (0.025, 0.025)

    `share_below`: the share of resampled values below the estimate. `tail`: the share on each side
    that a percentile interval leaves out. `number`: how many resamples there are.
    """
    if share_below == 0.5 and acceleration == 0:
        return tail, tail
    normal = NormalDist()
    bias = _quantile(share_below, number)
    ends = []
    for quantile in (normal.inv_cdf(tail), -normal.inv_cdf(tail)):
        stretched = 1 - acceleration * (bias + quantile)
        ends.append(
            normal.cdf(bias + (bias + quantile) / stretched)
            if stretched > 0
            else normal.cdf(2 * bias + quantile)
        )
    return ends[0], 1 - ends[1]


def _quantile(share: float, number: int) -> float:
    """Return the normal quantile of a share of resamples; the share is kept half a resample away
    from 0 and 1.
    """
    return NormalDist().inv_cdf(min(max(share, 0.5 / number), 1 - 0.5 / number))


def _p_value(values: FloatArray, estimate: float, acceleration: float) -> float:
    """Compute the level at which 0 leaves the BCa interval of resampled differences, shape
    (num_resamples,).

    It solves equation 14.10 of Efron and Tibshirani for the tail that ends at 0.

    >>> (
    ...     _p_value(np.zeros(99), 0.0, 0.0),
    ...     round(_p_value(np.linspace(-0.5, 1.5, 1_000), 0.5, 0.0), 3),
    ... )
    (1.0, 0.5)
    """
    if math.isnan(estimate) or np.isnan(values).any():
        return math.nan
    number = len(values)
    bias, at_zero = (
        _quantile(float((values < value).mean() + (values == value).mean() / 2), number)
        for value in (estimate, 0.0)
    )
    stretched = 1 + acceleration * (at_zero - bias)
    if stretched <= 0:  # beyond the end of the transformation
        return least_p_value(number)
    tail = NormalDist().cdf(-abs((at_zero - bias) / stretched - bias))
    return min(1.0, max(2 * tail, least_p_value(number)))
