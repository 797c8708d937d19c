"""Write results as text for a terminal: fits, scores, next symbols.

Each score in bits is labelled as such, or the logarithm's base is named.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.cells import cell_len

from ..errors import plural, printable
from ..files import ascii_json
from ..learning.learners import LEARNERS
from ..metrics.intervals import COUNTS, Interval, leaders
from ..metrics.next_symbols import likeliest
from ..metrics.score_table import CRITERIA, SCORE_OF, SCORES, Scores
from ..metrics.tables import Numbers
from ..models.model import SMALLEST_NORMAL, next_distributions
from ..models.nlwfa import NLWFA

if TYPE_CHECKING:
    from ..experiment.cross_validation import CrossValidation
    from ..hankel.matrix import HankelMatrix
    from ..hankel.valued_strings import ValuedStrings, ValueScores
    from ..learning.fitting import FitReport
    from ..learning.shared_options import LearnerOptions
    from ..metrics.diagnostics import Diagnostics
    from ..metrics.intervals import StringScores
    from ..metrics.ranking import RankingScore
    from ..metrics.tables import Table
    from ..models.model import Model
    from ..search.candidates import SearchResult
    from ..search.rank_selection import RankSelection
    from ..strings.sample import Sample
    from ..strings.words import Alphabet, FloatArray, IntArray, Word


def intervals_in_words(confidence: float, num_resamples: int) -> str:
    """Describe intervals: their confidence, and how they were computed.

    >>> intervals_in_words(0.95, 1999)
    '95 % intervals from 1,999 resamples of the test strings'
    """
    return f"{100 * confidence:g} % intervals from {num_resamples:,} resamples of the test strings"


def table(rows: Sequence[Sequence[str]]) -> str:
    """Write rows as a table: the first column is aligned to the left, the others to the right. A
    wide character takes two columns.

    >>> print(table([("symbol", "WER"), ("猫", "0.4330"), ("a", "0.5")]))
    symbol     WER
    猫      0.4330
    a          0.5
    """
    rows = [tuple(map(printable, row)) for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]

    def line(row: Sequence[str]) -> str:
        gaps = [" " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)]
        others = zip(gaps[1:], row[1:], strict=True)
        return "  ".join([row[0] + gaps[0], *(gap + cell for gap, cell in others)]).rstrip()

    return "\n".join(map(line, rows))


def aligned(columns: Table) -> str:
    """Write a table of results for a terminal."""
    texts = [column.texts if isinstance(column, Numbers) else column for column in columns.values()]
    return table([tuple(columns), *zip(*texts, strict=True)])


def as_text(value: float) -> str:
    """Write a count or a score for a table.

    >>> as_text(2813), as_text(0.43299), as_text(float("inf")), as_text(float("nan"))
    ('2,813', '0.4330', '∞', 'undefined')
    """
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4f}".replace("inf", "∞").replace("nan", "undefined")


def as_decimal(value: float, exponent: int, form: str = ".6g") -> str:
    """Write value · 2ᵉ, which may be too small for a float64; such a number is accurate to 12
    digits.

    >>> (
    ...     as_decimal(0.5, 0),
    ...     as_decimal(-0.75, -3000),
    ...     as_decimal(0.0, -3000),
    ...     as_decimal(math.nan, 0),
    ... )
    ('0.5', '-6.09641e-904', '0', 'undefined')
    """
    if math.isnan(value):
        return "undefined"
    product = math.ldexp(value, exponent)
    if abs(product) >= SMALLEST_NORMAL or value == 0:
        return f"{product:{form}}"
    log10 = math.log10(abs(value)) + exponent * math.log10(2)
    power = math.floor(log10)
    return f"{math.copysign(10 ** (log10 - power), value):{form}}e{power}"


def weight_lines(weights: FloatArray, exponents: IntArray) -> tuple[list[str], tuple[str, ...]]:
    """Write weights in full precision, and a note about those that are too small for a float64 (see
    `scaled_weights`).
    """
    lines = [
        as_decimal(weight, exponent, ".12g") if exponent else repr(weight)
        for weight, exponent in zip(weights.tolist(), exponents.tolist(), strict=True)
    ]
    tiny = int(
        np.count_nonzero(np.abs(np.ldexp(weights, exponents)) < SMALLEST_NORMAL)
        - np.count_nonzero(weights == 0)
    )
    if not tiny:
        return lines, ()
    return lines, (f"{plural(tiny, 'weight')} below 2e-308, which most programs read as 0",)


def fit_summary(
    learning: LearnerOptions,
    sample: Sample,
    hankel: HankelMatrix | None,
    model: Model,
    report: FitReport,
    seconds: dict[str, float],
    memory: str,
) -> str:
    """Describe a fit: learner, strings, matrix if there is one, time, losses and memory."""
    used = model.num_used_states if isinstance(model, NLWFA) else report.num_states
    unused = f", {used} of them in use" if used < report.num_states else ""
    lines = {
        "learner": f"{learning.learner}: {learning.in_words}",
        "states": f"{report.num_states} (requested rank {report.rank}){unused}",
        "strings": f"{sample.num_strings:,}, {len(sample.words):,} of them distinct; "
        f"{plural(sample.num_symbols, 'symbol')}",
    }
    if hankel is not None:
        lines["basis"] = (
            f"{hankel.num_prefixes:,} prefixes × {hankel.num_suffixes:,} suffixes, statistic "
            f"{hankel.statistic}"
        )
        lines["matrix"] = (
            f"{hankel.num_closure_rows:,} × {hankel.num_suffixes:,}, {hankel.matrix.nnz:,} "
            "non-zeros; "
            f"{hankel.matrix.shape[0]:,} rows held, as zero rows are shared"
        )
    lines["seconds"] = ", ".join(f"{stage} {value:.2f}" for stage, value in seconds.items())
    if hankel is not None or report.logs:
        lines["loss"] = (
            _losses(report) if report.logs else "none: spectral learning has a closed form"
        )
    lines["memory"] = memory
    return "\n".join(f"{name:<9}{value}" for name, value in lines.items())


def _losses(report: FitReport) -> str:
    """Write a line for each stage of training; all lines but the first are indented, to be aligned
    below the first.
    """
    return f"\n{'':<9}".join(log.summary for log in report.logs)


def values_summary(values: ValuedStrings, report: FitReport) -> str:
    """Describe a fit to values: learner, strings, time and losses."""
    low = values.values.min()
    high = values.values.max()
    lines = {
        "learner": f"{report.learner}: {LEARNERS[report.learner].title}",
        "states": f"{report.num_states} (requested rank {report.rank})",
        "strings": f"{len(values.words):,}, values from {low:.6g} to {high:.6g}; "
        f"{plural(len(values.alphabet), 'symbol')}",
        "seconds": ", ".join(f"{stage} {value:.2f}" for stage, value in report.seconds.items()),
        "loss": _losses(report),
    }
    return "\n".join(f"{name:<9}{value}" for name, value in lines.items())


def value_score_summary(scores: ValueScores) -> str:
    """Write a model's error together with the errors of two constants.

    >>> from nlwfa_core.hankel.valued_strings import ValueScores
    >>> print(value_score_summary(ValueScores(0.5, 2.0, 1.0, 12, 0)))
    RMSE             0.5  over 12 strings; 0 outputs not finite
    always 0         2
    always the mean  1  of these values
    """
    strings = plural(scores.num_words, "string")
    lines = {
        SCORE_OF[
            "rmse"
        ].short_title: f"{scores.rmse:.6g}  over {strings}; {scores.num_nonfinite:,} outputs not "
        "finite",
        "always 0": f"{scores.zero_rmse:.6g}",
        "always the mean": f"{scores.mean_rmse:.6g}  of these values",
    }
    return "\n".join(f"{name:<17}{value}" for name, value in lines.items())


def counted_strings(num_strings: int, has_truth: bool) -> str:
    """Describe the strings behind whole-string scores and the counts of outputs.

    >>> counted_strings(1000, has_truth=True), counted_strings(612, has_truth=False)
    ('1,000 strings as drawn', '612 distinct strings')

    `num_strings`: as in `Scores.num_words`.
    """
    if has_truth:
        return f"{plural(num_strings, 'string')} as drawn"
    return plural(num_strings, "distinct string")


def pautomac_target(num_strings: int, has_truth: bool) -> str:
    """Describe the reference that the Pautomac score compares a model with.

    >>> pautomac_target(1000, has_truth=True)
    'the true probabilities of 1,000 strings as drawn'

    `num_strings`: as in `Scores.num_words`.
    """
    quantity = "true probabilities" if has_truth else "frequencies"
    return f"the {quantity} of {counted_strings(num_strings, has_truth)}"


def score_summary(
    scores: Scores,
    sample: Sample,
    health: Diagnostics | None = None,
    intervals: Mapping[str, Interval] | None = None,
    meaning: str = "",
) -> str:
    """Write a model's scores, with explained intervals, some scores of reference models, and
    diagnostics.
    """
    known = intervals or {}
    floored = f"; outputs floored at {scores.floor:g}" if scores.floor else ""
    beside = f"equal weights {as_text(scores.uniform_log2_pauto)}"
    if scores.true_log2_pauto is not None:
        beside += f", true model {as_text(scores.true_log2_pauto)}"
    target = pautomac_target(scores.num_words, scores.true_log2_pauto is not None)
    tied = (
        f"; {scores.share_tied:.1%} of predictions are ties, scored by their expected error"
        if scores.share_tied
        else ""
    )
    remarks = {
        "log2_pauto": f"base 2, against {target}; {beside}{floored}",
        "wer": f"the end of a string counted; {as_text(scores.wer_without_end)} without{tied}",
        "bits_per_symbol": f"base 2, the end counted{floored}; "
        f"{as_text(scores.bits_without_end)} without",
        "ndcg5": "ranking of the next symbol, the end counted, against what followed; 1 is best",
        "ndcg5_true": "the same against the true next-symbol probabilities",
        "kl": f"bits, over the test strings as drawn, both normalised over them{floored}",
        "total_variation": f"over the distinct test strings, both normalised over them{floored}",
        "rmse": "of raw outputs against the true probabilities",
        "next_kl": f"bits, from the truth, mean over the test prefixes{floored}",
    }
    lines = {
        SCORE_OF[field].short_title: f"{_score_text(field, value, known.get(field))}  "
        f"{scores.why_undefined(field) or remark}"
        for field, remark in remarks.items()
        if (value := getattr(scores, field)) is not None
    }
    lines |= {
        "scored": plural(sample.num_strings, "string"),
        "outputs": f"{scores.num_zero:,} zero, {scores.num_negative:,} negative, "
        f"{scores.num_nonfinite:,} not finite, "
        f"of {counted_strings(scores.num_words, scores.true_log2_pauto is not None)}",
        "next symbols": f"{scores.num_impossible:,} of {scores.num_predictions:,} had score 0 for "
        "what "
        "followed",
    }
    if scores.num_nonfinite_next:
        lines["next symbols"] += f"; {plural(scores.num_nonfinite_next, 'score')} not finite"
    if any(interval.is_known for interval in known.values()):
        lines["in brackets"] = f"{meaning}, not over training strings or seeds"
    elif meaning:
        lines["intervals"] = f"none: {meaning}"
    if health is not None:
        lines["diagnostics"] = _mass(health)
    return "\n".join(f"{name:<17}{value}" for name, value in lines.items())


def _score_text(field: str, value: float, interval: Interval | None) -> str:
    """Write a score, followed by the ends of its interval in brackets."""

    def write(number: float) -> str:
        if field in COUNTS:
            return f"{number:,.0f}"
        return f"{number:.4g}".replace("inf", "∞") if field == "rmse" else as_text(number)

    if interval is None or not interval.is_known:
        return write(value)
    return f"{write(value)} [{write(interval.low)}, {write(interval.high)}]"


def against_summary(
    model_scores: StringScores,
    other: StringScores,
    differences: Mapping[str, Interval],
    meaning: str,
) -> str:
    """Write two models' scores on the same test strings, and their differences with explained
    intervals.
    """
    words = {"first": "model", "second": "other"}
    ahead = leaders(differences, model_scores.has_truth)
    estimates = model_scores.estimates
    others = other.estimates
    rows: list[Sequence[str]] = [("score", "model", "other", "difference", "ahead")]
    for score in SCORES:
        difference = differences.get(score.field)
        if difference is not None:
            gap = _score_text(score.field, difference.estimate, difference)
            values = (
                _score_text(score.field, one[score.field], None) for one in (estimates, others)
            )
            rows.append(
                (score.short_title, *values, gap, words.get(ahead[score.field], ahead[score.field]))
            )
    if any(difference.is_known for difference in differences.values()):
        legend = (
            f"the same test strings; in brackets {meaning}, the same for both. level: 0 is in "
            "the interval"
        )
    else:
        legend = f"the same test strings; {meaning}"
    return f"{table(rows)}\n{legend}"


def against_record(
    name: str, other: StringScores, differences: Mapping[str, Interval]
) -> dict[str, Any]:
    """Return the comparison of `against_summary` as a JSON object.

    It has the other model's name and scores and, for each score, the difference with its interval
    and the model that is ahead.
    """
    words = {"first": "model", "second": "other"}
    ahead = leaders(differences, other.has_truth)
    return {
        "model": name,
        "scores": other.estimates,
        "differences": difference_records(differences, ahead, words),
    }


def difference_records(
    differences: Mapping[str, Interval], ahead: Mapping[str, str], names: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    """Make a JSON object for each difference: its value, its interval and p value if it has them,
    and which model is ahead.
    """
    return {
        field: {**without_unknown(one), "ahead": names.get(ahead[field], ahead[field])}
        for field, one in differences.items()
    }


def without_unknown(interval: Interval) -> dict[str, float | bool | None]:
    """Make a JSON object for an interval; an unknown end or p value is None.

    >>> without_unknown(Interval(0.5, math.nan, math.nan))
    {'estimate': 0.5, 'low': None, 'high': None, 'p_value': None, 'p_is_bound': False}
    """
    ends = {
        name: None if math.isnan(value) else value
        for name, value in asdict(interval).items()
        if name != "estimate"
    }
    return {"estimate": interval.estimate, **ends}


def _mass(health: Diagnostics) -> str:
    """Write the diagnostics of a model's mass on one line, in the words of pages and reports."""
    from ..metrics.diagnostics import DIAGNOSTIC_TITLES, format_diagnostic

    fields = ("total_mass", "short_mass", "spectral_radius")
    return "; ".join(
        f"{DIAGNOSTIC_TITLES[f]} {format_diagnostic(f, getattr(health, f), health.short_length)}"
        for f in fields
    )


def next_record(alphabet: Alphabet, word: Word, scores: FloatArray, exponent: int = 0) -> str:
    """Write the scores of each next symbol and of the end, and the predicted symbol (null for the
    end), as JSON.

    >>> from nlwfa_core.strings.words import Alphabet
    >>> next_record(Alphabet(("a", "b")), (0,), np.array([0.1, 0.3, 0.2]))
    '{"prefix": "a", "scores": {"a": 0.1, "b": 0.3}, "end": 0.2, "predicted": "b"}'

    The scores are those of the array times 2ᵉ; if they are too small for float64, the record also
    has their logarithms.
    """
    *following, end = np.ldexp(scores, exponent).tolist()
    predicted = [(*alphabet.symbols, None)[index] for index in likeliest(scores)]
    by_symbol = dict(zip(alphabet.symbols, following, strict=True))
    record = {
        "prefix": alphabet.decode(word),
        "scores": by_symbol,
        "end": end,
        "predicted": (*predicted, None)[0],
    }
    if exponent:
        with np.errstate(divide="ignore"):
            logs = (np.log2(np.abs(scores)) + exponent).tolist()
        record |= {
            "log2_scores": dict(zip(alphabet.symbols, logs[:-1], strict=True)),
            "log2_end": logs[-1],
        }
    return ascii_json(record | ({"tied": predicted} if len(predicted) > 1 else {}))


def next_summary(alphabet: Alphabet, word: Word, scores: FloatArray, exponent: int = 0) -> str:
    """Write the scores, times 2ᵉ, of all symbols and the end after a word, the highest first, and
    their probabilities.
    """
    shares = next_distributions(scores[None])[0]
    names = (*alphabet.symbols, "end")
    order = np.argsort(-scores, kind="stable")
    rows = [
        (names[index], as_decimal(float(scores[index]), exponent), as_text(float(shares[index])))
        for index in order
    ]
    predicted = [names[index] for index in likeliest(scores)]
    prediction = (
        f"{', '.join(predicted[:-1])} and {predicted[-1]} are tied"
        if len(predicted) > 1
        else f"{(*predicted, 'nothing')[0]} is predicted"
    )
    legend = (
        f"After {alphabet.decode(word)}, {prediction}: the highest score, the end of the string "
        "counted."
    )
    if (scores < 0).any():
        legend += (
            " Probabilities are shares of |score|, so a symbol with a negative score may have a "
            "higher probability."
        )
    return f"{legend}\n{table([('next', 'score', 'probability'), *rows])}"


def prefixes_text(number: int) -> str:
    """Write a number of prefixes: "1 prefix", "2 prefixes"."""
    return f"{number:,} prefix{'' if number == 1 else 'es'}"


def ranking_summary(score: RankingScore) -> str:
    """Write the scores of a ranking.

    >>> from nlwfa_core.metrics.ranking import RankingScore
    >>> print(ranking_summary(RankingScore(0.75, 0.5, 748)))
    NDCG5 0.7500, error 0.5000: the first-ranked symbol is not what followed, or not the likeliest; 748 prefixes
    """  # noqa: E501
    error = (
        f"error {as_text(score.error)}: the first-ranked symbol is not what followed, or not the "
        "likeliest"
    )
    return f"NDCG5 {as_text(score.ndcg5)}, {error}; {prefixes_text(score.num_prefixes)}"


TIED = "tied: the share of predictions in which several symbols have the same highest score"


def at_the_end(best: int, ranks: Sequence[int]) -> str:
    """Write a line if the best rank is the largest of several that were tried; otherwise nothing.

    >>> at_the_end(3, [1, 2, 3])
    '\\nthe best is the largest rank tried: a larger one may be better still'
    """
    if len(ranks) < 2 or best < max(ranks):
        return ""
    return "\nthe best is the largest rank tried: a larger one may be better still"


def ranks_summary(learner: str, selection: RankSelection) -> str:
    """Write the scores of every rank, and the best rank."""
    fields = (
        "wer",
        "share_tied",
        "log2_pauto",
        "bits_per_symbol",
        "ndcg5",
        "num_zero",
        "num_negative",
    )
    rows: list[Sequence[str]] = [("rank", *(SCORE_OF[field].short_title for field in fields))]
    for rank, scores in selection.scores:
        rows.append([as_text(rank), *(as_text(getattr(scores, field) or 0) for field in fields)])
    words = selection.scores[0][1].num_words
    return (
        f"{learner} on {plural(words, 'distinct validation string')}; logarithms to base 2, "
        "the end of a string counted\n"
        f"{table(rows)}\n{TIED}\nbest by {selection.metric}: rank {selection.rank}"
        f"{at_the_end(selection.rank, [rank for rank, _ in selection.scores])}"
    )


def criteria_summary(learner: str, selection: RankSelection) -> str:
    """Write AIC and BIC of every rank, and the best rank."""
    rows: list[Sequence[str]] = [("rank", "parameters", "log-likelihood", *CRITERIA.values())]
    for rank, one in selection.criteria:
        values = one.log_likelihood, one.aic, one.bic
        rows.append([as_text(rank), as_text(one.num_parameters), *map(as_text, values)])
    number = selection.criteria[0][1].num_strings
    return (
        f"{learner} on {plural(number, 'training string')}, each an observation; natural "
        "logarithms, the end of a string counted\n"
        f"{table(rows)}\nbest by {CRITERIA[selection.metric]}: rank {selection.rank}"
        f"{at_the_end(selection.rank, [rank for rank, _ in selection.criteria])}"
    )


def folds_summary(learner: str, validated: CrossValidation, metric: str) -> str:
    """Write each rank's scores over the folds, and the best rank."""
    fields = ("wer", "log2_pauto", "bits_per_symbol", "ndcg5")
    rows: list[Sequence[str]] = [("rank", *(SCORE_OF[field].short_title for field in fields))]
    rows += [
        (as_text(rank), *(validated.spread(rank, field).text(".4f") for field in fields))
        for rank, _ in validated.scores
    ]
    number = len(validated.scores[0][1])
    best = validated.best_rank(metric)
    infinite = validated.spread(best, metric).num_infinite
    caveat = (
        f", though no rank has a finite score on all folds: this one has none on {infinite}"
        if infinite
        else ""
    )
    return (
        f"{learner}, mean ± standard deviation over {number} folds; logarithms to base 2, "
        "the end of a string counted\n"
        f"{table(rows)}\nbest by {metric}: rank {best}{caveat}"
        f"{at_the_end(best, [rank for rank, _ in validated.scores])}"
    )


def mixture_summary(
    names: Sequence[str], weights: Sequence[float], bits: Sequence[float] | None, num_states: int
) -> str:
    """Write the weight of each model of a mixture and, with validation strings, the bits per symbol
    of each and of the mixture.

    >>> print(mixture_summary(["a", "b"], [0.25, 0.75], None, 7))
    model  weight
    a      0.2500
    b      0.7500
    mixture of 2 models, 7 states
    """
    rows: list[Sequence[str]] = [("model", "weight")]
    rows += [(name, as_text(weight)) for name, weight in zip(names, weights, strict=True)]
    heading = ""
    if bits is not None:
        heading = "bits per symbol of the validation strings; base 2, the end of a string counted\n"
        rows = [
            (*rows[0], SCORE_OF["bits_per_symbol"].short_title),
            *((*row, as_text(one)) for row, one in zip(rows[1:], bits[:-1], strict=True)),
        ]
        rows.append(("mixture", "", as_text(bits[-1])))
    used = sum(weight > 0 for weight in weights)
    return (
        f"{heading}{table(rows)}\nmixture of {plural(used, 'model')}, {plural(num_states, 'state')}"
    )


def search_summary(best: SearchResult) -> str:
    """Write what each family reached on the validation strings, and which model was chosen."""
    rows: list[Sequence[str]] = [
        (
            "family",
            "best model",
            "states",
            "tried",
            "seconds",
            SCORE_OF["bits_per_symbol"].short_title,
            "perplexity",
        )
    ]
    for one in best.families:
        seconds = f"{one.seconds:.1f}" if one.family != "mixture" else ""
        states = str(one.num_states) if one.num_states else "–"
        rows.append(
            (
                one.family,
                one.title,
                states,
                str(one.num_candidates),
                seconds,
                as_text(one.bits),
                as_text(one.perplexity),
            )
        )
    lines = [
        "on the validation strings; base 2, the end of a string counted; the perplexity is "
        "that of whole strings",
        table(rows),
    ]
    states = f", {plural(best.num_states, 'state')}" if best.num_states else ""
    lines.append(f"best     {best.title}{states}")
    if len(best.components) > 1:
        lines += [
            f"  {share:.4f}  {one.title}"
            for share, one in zip(best.shares, best.components, strict=True)
        ]
    strings = (
        f"{best.num_train:,} for training, {best.num_validation:,} to choose by; the model was "
        f"trained on {best.num_trained_on:,}"
    )
    return "\n".join([*lines, f"strings  {strings}", f"seconds  {best.seconds:.2f}"])


def search_notes(best: SearchResult) -> tuple[str, ...]:
    """State whether a search was stopped, and that the time determined which models were tried."""
    stopped = ("The search was stopped: this is the best model so far.",) if best.stopped else ()
    return (
        *stopped,
        "Which models are tried depends on the time; model.json has the recipe and the seed "
        "of each part.",
    )
