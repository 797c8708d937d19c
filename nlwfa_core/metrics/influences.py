"""Estimate how much a difference between two scores would change with other test strings, for all
pairs of many models at once.

`intervals` resamples the test strings for each pair, which takes too long for a picture in which
any two ranks can be compared. Here a score is treated as a linear function of how often each string
is drawn (the delta method, or infinitesimal jackknife: Efron and Tibshirani, *An Introduction to
the Bootstrap*, 1993, §21.7 and §22.6). A difference's standard error then follows from what each
string contributes to either score. The interval is Student's t interval, as in
`paired_differences`, without the correction of that function for skewed differences.
"""

from __future__ import annotations

import math

import numpy as np

from ..strings.words import FloatArray, IntArray
from .intervals import CONFIDENCE, StringScores, too_few_strings

# Fields of `Scores`.
SCORES_WITH_INFLUENCES = ("total_variation", "wer", "bits_per_symbol")


def influences(model: StringScores) -> FloatArray:
    """Compute the derivative of each score with respect to the number of draws of each distinct
    test string.

    Returns
    -------
    array, shape (3, num_distinct)
        In the order of `SCORES_WITH_INFLUENCES`; nan where a score is not a finite number.
    """
    columns = model.next_symbols
    number = float(model.counts @ columns["num_predictions"])
    result = np.full((len(SCORES_WITH_INFLUENCES), len(model.counts)), np.nan)
    if model.has_truth and model.is_finite and model.output.any():
        result[0] = _of_total_variation(model)
    with np.errstate(invalid="ignore"):
        for row, losses in zip(
            result[1:],
            (columns["num_predictions"] - columns["right"], columns["bits"]),
            strict=True,
        ):
            score = float(model.counts @ losses) / number
            if math.isfinite(score):
                row[:] = (losses - score * columns["num_predictions"]) / number
    return result


def margins(first: FloatArray, second: FloatArray, counts: IntArray) -> FloatArray:
    """Compute how far the interval of each difference between two scores extends on either
    side of it.

    Parameters
    ----------
    first, second : arrays, shapes (..., num_distinct)
        From `influences`; they are broadcast. With 0 as the second, the margins are those of the
        first model's scores.
    counts : array, shape (num_distinct,)
        How often each string was drawn.

    Returns
    -------
    array, shape (...)
        nan if there is no interval, because a score is not a finite number, or there are too few
        test strings.
    """
    # only here, as in `intervals`
    from scipy.special import stdtrit

    gap = first - second
    total = int(counts.sum())
    if too_few_strings(total):
        return np.full(gap.shape[:-1], np.nan)
    # the draws are multinomial
    variance = gap**2 @ counts - (gap @ counts) ** 2 / total
    error = np.sqrt(variance.clip(min=0) * (total / (total - 1)))
    reach: FloatArray = float(stdtrit(total - 1, (1 + CONFIDENCE) / 2)) * error
    return reach


def _of_total_variation(model: StringScores) -> FloatArray:
    """Differentiate `StringScores._total_variation` at the draws of the test strings."""
    rows = np.where(model.rows > 0, model.rows, 1.0)
    target = model.target / rows
    output = model.output / rows
    target = target / target.sum()
    output = output / output.sum()
    sign = np.sign(target - output)
    by_weight = (np.abs(target - output) - target * (sign @ target) + output * (sign @ output)) / 2
    derivatives: FloatArray = by_weight * model.draw_weights / model.counts
    return derivatives
