"""Compare two models on the same test strings in one call: paired differences of all scores and,
for each score, which model is ahead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import RecipeError, check_one_of, check_types, plural
from ..models.model import HasModel, Model, alphabet_of, model_of
from ..strings.plain import SampleLike
from .intervals import (
    CONFIDENCE,
    SCORES_WITH_INTERVALS,
    Interval,
    StringScores,
    default_resamples,
    leaders,
    p_value_text,
    paired_differences,
    string_scores,
    too_few_strings,
)
from .score_table import SCORE_OF
from .testset import TestSet, as_test_set


@dataclass(frozen=True, eq=False)
class Comparison:
    """The differences between two models' scores on the same test strings, first − second.

    `comparison["wer"]` is the difference in word error rate, with its interval and p value. When
    printed, it has a line for each score, ending with the verdict.

    Attributes
    ----------
    first, second : StringScores
        The contributions of each test string to the scores of each model.
    differences : mapping of str to Interval
        Field of `Scores` -> the difference. Counts have no interval.
    confidence : float
        The confidence of the intervals.
    num_resamples : int
        The number of resamples; 2 / (num_resamples + 1) is the smallest p value.

    Examples
    --------
    >>> from nlwfa_core import NGram, compare
    >>> strings = ["ab", "b", "aab"] * 10
    >>> compare(NGram.fit(strings, 3), NGram.fit(strings, 1), strings).ahead["wer"]
    'first'
    """

    first: StringScores
    second: StringScores
    differences: Mapping[str, Interval]
    confidence: float
    num_resamples: int

    def __getitem__(self, field: str) -> Interval:
        """Return the difference of one score, by the name of its field in `Scores`.

        >>> from nlwfa_core import WFA, Alphabet, compare
        >>> half = WFA([1], [[[0.5]]], [0.5], Alphabet(("a",)))
        >>> compare(half, half, ["a", "aa", ""] * 10)["bits_per_symbol"].text()
        '0.000 [0.000, 0.000]'

        Raises RecipeError if there is no such difference, for example because the true model is not
        known.
        """
        check_one_of("field", field, self.differences)
        return self.differences[field]

    @property
    def ahead(self) -> dict[str, str]:
        """State for each score which model is ahead: "first", "second", "level" or "no verdict".

        A model is ahead if the interval of the difference does not contain 0. There is no verdict
        without an interval, nor on the Pautomac score without the true probabilities (see
        `intervals.leaders`).
        """
        return leaders(self.differences, self.first.has_truth)

    def __repr__(self) -> str:
        number = self.first.num_strings
        strings = f"{plural(number, 'test string')}, {100 * self.confidence:g} % intervals"
        heading = f"first − second on {too_few_strings(number) or strings}"
        ahead = self.ahead
        rows = []
        for field in SCORES_WITH_INTERVALS:
            if field in self.differences:
                difference = self.differences[field]
                form = SCORE_OF[field].form
                p_value = f"p {p_value_text(difference)}"
                known = f"{p_value:9}  " if difference.is_known else ""
                title = SCORE_OF[field].column
                verdict = known + _verdict(ahead[field])
                if math.isnan(difference.estimate):
                    verdict += f": {self._why_undefined(field)}"
                rows.append((title, difference.text(form, signed=True), verdict))
        widths = [max(len(row[column]) for row in rows) for column in range(2)]
        lines = (
            f"{title:<{widths[0]}}  {text:<{widths[1]}}  {verdict}".rstrip()
            for title, text, verdict in rows
        )
        return "\n".join((heading, *lines))

    def _why_undefined(self, field: str) -> str:
        scores = (self.first.estimates[field], self.second.estimates[field])
        return "both scores are ∞" if all(map(math.isinf, scores)) else "a score is undefined"


def _verdict(ahead: str) -> str:
    return f"{ahead} is ahead" if ahead in ("first", "second") else ahead


@check_types
def compare(
    first: Model | HasModel,
    second: Model | HasModel,
    strings: TestSet | SampleLike,
    *,
    floor: float = 0.0,
    num_resamples: int | None = None,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> Comparison:
    """Score two models on the same strings, and return the difference of each score, first −
    second, with its interval and verdict.

    >>> from nlwfa_core import NGram, compare
    >>> strings = ["ab", "b", "aab"] * 10
    >>> compare(NGram.fit(strings, 3), NGram.fit(strings, 1), strings)
    first − second on 30 test strings, 95 % intervals
    log₂ Pautomac (bits)   −0.529 [−1.005, −0.054]  p 0.03     no verdict
    WER (share)            −0.444 [−0.509, −0.380]  p ≤ 0.001  first is ahead
    WER, no end (share)    −0.167 [−0.273, −0.060]  p 0.0034   first is ahead
    bits / symbol          −1.040 [−1.090, −0.985]  p ≤ 0.001  first is ahead
    bits / symbol, no end  −0.200 [−0.318, −0.067]  p 0.0051   first is ahead
    NDCG@5                 +0.208 [+0.184, +0.232]  p ≤ 0.001  first is ahead

    Parameters
    ----------
    first, second : Model
        Models, or objects that hold one, such as a `Fit`.
    strings : TestSet, Sample, or strings as `strings.plain.as_sample` takes them
        Strings from which neither model learned.
    floor : float
        Normalised outputs below the floor are raised to it, as in `evaluate`.
    num_resamples, seed, confidence
        As in `intervals`.

    Raises
    ------
    RecipeError
        If a model and the strings do not fit (see `evaluate`), or a number is out of range.
    """
    models = (model_of(first, "first"), model_of(second, "second"))
    test = as_test_set(strings, alphabet_of(models[0]) or alphabet_of(models[1]), "strings")
    if not test.sample.num_strings:
        raise RecipeError("strings must hold at least one string; got none")
    scores = [string_scores(model, test, floor) for model in models]
    differences = paired_differences(scores[0], scores[1], num_resamples, seed, confidence)
    num_resamples = num_resamples or default_resamples(scores[0])
    return Comparison(scores[0], scores[1], differences, confidence, num_resamples)
