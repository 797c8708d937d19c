"""Tabulate how two models differ on the same test strings, and write the confidence intervals of
single scores.

`metrics.intervals` explains which sources of randomness an interval covers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from ..metrics.intervals import (
    COUNTS,
    FEWEST_STRINGS,
    NUM_RESAMPLES,
    Interval,
    StringScores,
    leader,
    leaders,
    p_value_text,
    paired_differences,
    too_few_strings,
)
from ..metrics.score_table import FLAT_WINS, SCORE_OF, SCORES, Score
from ..metrics.seeds import Spread
from ..metrics.tables import (
    Numbers,
    Table,
    format_difference,
    format_score,
    format_scores_apart,
    with_sign,
)

# Where there is no interval because there are too few test strings.
TOO_FEW = f"There are fewer than {FEWEST_STRINGS} test strings: too few for an interval"
# If a stored score differs by more than this from the same score computed now, it belongs to
# another test set.
COVERS = (
    "An interval shows how much a score would change with other test strings, estimated by "
    "resampling these. Other training strings or another seed may change it more. Overlapping "
    "intervals do not mean that two models are equally good: Compare shows the interval of their "
    "difference."
)
CAPTION = (
    f"95 % intervals from {NUM_RESAMPLES:,} resamples of the test strings, the same for both "
    "models. Level: the interval contains 0, so these test strings do not tell which model is "
    "better. The p value is the level at which 0 leaves the interval; it is not corrected for the "
    "number of scores. Other training strings or another seed may change more than this."
)


def pair_caption(models: tuple[StringScores, StringScores]) -> str:
    """Describe what a `paired_table` shows: its intervals, or why it has none."""
    too_few = too_few_strings(models[0].num_strings)
    return f"{too_few[0].upper()}{too_few[1:]}, a p value or a verdict." if too_few else CAPTION


def paired_table(names: tuple[str, str], models: tuple[StringScores, StringScores]) -> Table:
    """Make a table with a row for each score: both models' values, their difference with its 95 %
    interval and p value, and which model is ahead.

    Raises RecipeError if the two models were scored on different test strings.
    """
    differences = paired_differences(*models)
    fields = [score for score in SCORES if score.field in differences]
    table: Table = {"score": [score.short_title for score in fields]}
    first, second = (model.estimates for model in models)
    values = [(first[score.field], second[score.field]) for score in fields]
    texts = [
        format_scores_apart(pair, score.form) for pair, score in zip(values, fields, strict=True)
    ]
    for number, name in enumerate(names):
        table[name] = Numbers.of(
            (pair[number], text[number]) for pair, text in zip(values, texts, strict=True)
        )
    gaps = [differences[score.field] for score in fields]
    table["difference"] = Numbers.of(
        (gap.estimate, format_difference(gap.estimate, score.form))
        for gap, score in zip(gaps, fields, strict=True)
    )
    table["95 % interval"] = [
        _gap_text(gap, pair, score) for gap, pair, score in zip(gaps, values, fields, strict=True)
    ]
    table["p value"] = Numbers.of((gap.p_value, p_value_text(gap)) for gap in gaps)
    titles = {"first": names[0], "second": names[1]}
    ahead = leaders(differences, models[0].has_truth)
    table["ahead"] = [titles.get(ahead[score.field], ahead[score.field]) for score in fields]
    return table


def compared_table(
    models: tuple[Mapping[str, Interval], Mapping[str, Interval]],
    differences: Mapping[str, Interval],
    ahead: Mapping[str, str],
    together: bool,
) -> Table:
    """Make a table of two models, A and B: each score with its interval, the difference A − B with
    interval and p value.

    `models`: field of `Scores` -> interval, or the value alone as an interval without ends, of each
    model. `differences`: from `paired_differences`. `ahead`: from `leaders`. `together`: whether an
    interval is in brackets after its number; otherwise its ends have columns of their own.
    """
    fields = [score for score in SCORES if score.field in differences]
    table: Table = {"score": [score.column for score in fields]}
    for name, known in zip(("A", "B", "A − B"), (*models, differences), strict=True):
        write = format_difference if name == "A − B" else format_score
        if together:
            cells = []
            for score in fields:
                one = known[score.field]
                ends = (
                    f" [{write(one.low, score.form)}, {write(one.high, score.form)}]"
                    if one.is_known
                    else ""
                )
                cells.append((one.estimate, write(one.estimate, score.form) + ends))
            table[name] = Numbers.of(cells)
            continue
        table[name] = Numbers.of(
            (known[score.field].estimate, write(known[score.field].estimate, score.form))
            for score in fields
        )
        for title, end in ((f"{name} from", "low"), (f"{name} to", "high")):
            table[title] = Numbers.of(
                _end(known[score.field], end, score.form, write) for score in fields
            )
    gaps = [differences[score.field] for score in fields]
    table["p value"] = Numbers.of((gap.p_value, p_value_text(gap)) for gap in gaps)
    names = {"first": "A", "second": "B"}
    table["ahead"] = [names.get(ahead[score.field], ahead[score.field]) for score in fields]
    return table


def _end(
    interval: Interval, end: str, form: str, write: Callable[[float, str], str]
) -> tuple[float | None, str]:
    """Return one end of an interval as a number and as text; None and "–" if there is no
    interval.
    """
    value = getattr(interval, end) if interval.is_known else None
    return value, "–" if value is None else write(value, form)


def lead_sentence(
    names: tuple[str, str],
    scores: tuple[float, float],
    difference: Interval,
    field: str = "wer",
    has_truth: bool = True,
) -> str:
    """State whether the first of two models is ahead of the second by a score on the same test
    strings; undecided if the difference's interval contains 0.

    `names` and `scores`: of the two models. `difference`: first − second, from
    `paired_differences`. `has_truth`: `StringScores.has_truth`.

    >>> lead_sentence(("SP", "5-gram"), (0.571, 0.422), Interval(0.149, 0.12, 0.18))
    'SP is behind 5-gram: WER on the test strings 0.571 against 0.422 (difference +0.149, 95 % interval +0.120 to +0.180).'
    """  # noqa: E501
    first, second = names
    score = SCORE_OF[field]
    values = format_scores_apart(scores, score.form)
    on_test = f"{score.short_title} on the test strings"
    ahead = leaders({field: difference}, has_truth)[field] if difference.is_known else ""
    if ahead in ("", "no verdict"):
        reason = FLAT_WINS if ahead else _why_no_interval(scores)
        return f"{on_test}: {first} {values[0]}, {second} {values[1]}. {reason}"
    gap = format_difference(difference.estimate, score.form)
    interval = interval_text(difference, score.form, signed=True)
    verdict, contains = {
        "first": (f"{first} is ahead of {second}", ""),
        "second": (f"{first} is behind {second}", ""),
        "level": (f"Undecided between {first} and {second}", ", which contains 0"),
    }[ahead]
    return (
        f"{verdict}: {on_test} {values[0]} against {values[1]} "
        f"(difference {gap}, 95 % interval {interval}{contains})."
    )


def lead_over(
    model: StringScores, reference: StringScores, names: tuple[str, str], field: str
) -> str:
    """Write the `lead_sentence` of two models; empty unless both have the score on the test
    strings.

    Raises RecipeError if the two models were scored on different test strings.
    """
    differences = paired_differences(model, reference)
    if field not in differences:
        return ""
    scores = (model.estimates[field], reference.estimates[field])
    return lead_sentence(names, scores, differences[field], field, model.has_truth)


def is_level(first: StringScores, second: StringScores, field: str) -> bool:
    """Return whether the test strings leave open which of two models has the better score; False
    unless both have that score.

    Raises RecipeError if the two models were scored on different test strings.
    """
    differences = paired_differences(first, second)
    return field in differences and leader(field, differences[field]) in ("level", "no verdict")


def _why_no_interval(scores: tuple[float, float]) -> str:
    """Explain why there is no verdict on two scores.

    >>> _why_no_interval((math.inf, math.inf)), _why_no_interval((0.5, math.nan))
    ('Both scores are infinite, so there is no verdict.', 'A score is undefined, so there is no verdict.')
    >>> _why_no_interval((0.5, 0.25))
    'There are fewer than 30 test strings: too few for an interval, so there is no verdict.'
    """  # noqa: E501
    if any(math.isnan(score) for score in scores):
        return "A score is undefined, so there is no verdict."
    if _both_infinite(scores):
        return "Both scores are infinite, so there is no verdict."
    return f"{TOO_FEW}, so there is no verdict."


def interval_text(interval: Interval, form: str = ".3f", signed: bool = False) -> str:
    """Write the lower and the upper end of an interval; "–" if there is none.

    >>> (
    ...     interval_text(Interval(0.2, 0.1, math.inf)),
    ...     interval_text(Interval(-0.2, -0.3, 0.1), signed=True),
    ... )
    ('0.100 to ∞', '−0.300 to +0.100')
    >>> (
    ...     interval_text(Interval(math.inf, math.inf, math.inf)),
    ...     interval_text(Interval(0.2, math.nan, math.nan)),
    ... )
    ('∞ in every resample', 'too few test strings')
    >>> (
    ...     interval_text(Interval(math.nan, math.nan, math.nan)),
    ...     interval_text(Interval(0.5, 0.50001, 0.50002)),
    ... )
    ('undefined', '0.50001 to 0.50002')
    """
    if math.isnan(interval.estimate):
        return "undefined"
    if not interval.is_known:
        return "too few test strings"
    low = interval.low
    high = interval.high
    if low == high and math.isinf(low):
        return f"{format_difference(low, form) if signed else format_score(low)} in every resample"
    texts = format_scores_apart((low, high), form)
    return (
        " to ".join(with_sign(end, text) for end, text in zip((low, high), texts, strict=True))
        if signed
        else " to ".join(texts)
    )


def spread_text(spread: Spread, form: str = ".3f") -> str:
    """Write the mean of a score over seeds ± its standard deviation, followed by how many values
    are infinite.

    >>> (
    ...     spread_text(Spread.of([1.0, 2.0, math.inf])),
    ...     spread_text(Spread.of([math.inf])),
    ...     spread_text(Spread.of([])),
    ... )
    ('1.500 ± 0.707 (∞: 1 of 3)', '∞', '–')
    >>> spread_text(Spread.of([0.25, 0.2501]))
    '0.250 ± 7.07·10⁻⁵'
    """
    if spread.mean is None:
        return "∞" if spread.count else "–"
    deviation = "" if spread.sd is None else f" ± {format_score(spread.sd, form)}"
    infinite = f" (∞: {spread.num_infinite} of {spread.count})" if spread.num_infinite else ""
    return f"{format_score(spread.mean, form)}{deviation}{infinite}"


def _both_infinite(scores: tuple[float, float]) -> bool:
    return all(math.isinf(score) for score in scores)


def _gap_text(gap: Interval, scores: tuple[float, float], score: Score) -> str:
    """Write the interval of a difference; that of two infinite scores, or of two counts, has
    none.
    """
    if _both_infinite(scores):
        return "both are infinite"
    return "–" if score.field in COUNTS else interval_text(gap, score.form, signed=True)


def interval_table(known: Mapping[str, Interval]) -> Table:
    """Make a table with a row for each score: the score and, if there are intervals, the lower and
    the upper end.

    >>> interval_table({"wer": Interval(0.41, 0.39, 0.43)})["to"].texts
    ('0.430',)
    """
    fields = [score for score in SCORES if score.field in known]
    values = [known[score.field].estimate for score in fields]
    table: Table = {
        "score": [score.column for score in fields],
        "value": Numbers.of(
            (value, format_score(value, score.form))
            for value, score in zip(values, fields, strict=True)
        ),
    }
    if not any(one.is_known for one in known.values()):
        return table
    for title, end in (("from", "low"), ("to", "high")):
        table[title] = Numbers.of(
            _end(known[score.field], end, score.form, format_score) for score in fields
        )
    return table


def interval_sentence(by_model: Mapping[str, Mapping[str, Interval]], field: str = "wer") -> str:
    """Write the intervals of one score of several models as a sentence; empty if no model has an
    interval.

    >>> interval_sentence({"SP": {"wer": Interval(0.41, 0.39, 0.43)}, "GRU": {}})
    'WER, 95 % intervals over the test strings: SP 0.390 to 0.430.'
    >>> interval_sentence({"SP": {"wer": Interval(0.41, math.nan, math.nan)}})
    'There are fewer than 30 test strings: too few for an interval.'
    """
    score = SCORE_OF[field]
    of_field = [known[field] for known in by_model.values() if field in known]
    if any(not one.is_known and not math.isnan(one.estimate) for one in of_field):
        return f"{TOO_FEW}."
    texts = [
        f"{name} {interval_text(known[field], score.form)}"
        for name, known in by_model.items()
        if field in known
    ]
    return (
        f"{score.short_title}, 95 % intervals over the test strings: {'; '.join(texts)}."
        if texts
        else ""
    )
