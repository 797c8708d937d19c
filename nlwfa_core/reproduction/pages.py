"""The experiments as Markdown pages with SVG figures: how many runs there are, tables, the paper's claims, why results can differ.

`write_pages` makes the files of an experiment from its measured runs. It computes nothing but means, and the choice of a rank by
validation strings. The paragraphs about what the paper leaves open are prose, in `reasons.md`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path

from ..lab.svg import Panel, line_chart
from ..learning.names import HANKEL_LEARNERS
from ..metrics.scores import SCORE_OF, SCORES
from ..metrics.seeds import Spread, badness
from .claims import CLAIMS, Curves, compare, verdict
from .experiments import FLOOR, FLOORED, LINES, REFERENCE, SETTINGS, Experiment, Measured, Planned, distinct, select

TITLES = {
    "dyck-rank": "Dyck strings, by rank: the paper's Figures 2 and 3",
    "dyck-samples": "Dyck strings, by sample size: the paper's Figures 4 and 5",
    "verbs": "English verbs, SPiCe problem 4: the paper's Table 1",
    "verbs-shipped": "English verbs, the shipped ones: the paper's Table 1 on other data",
    "squared": "Squared functions: rank of H, rank of H^{1/2}, error by rank",
}
# Sections of reasons.md.
REASONS = {
    "dyck-rank": ("All learners", "Dyck strings"),
    "dyck-samples": ("All learners", "Dyck strings", "Dyck strings by sample size"),
    "verbs": ("All learners", "English verbs"),
    "verbs-shipped": ("All learners", "English verbs"),
    "squared": ("Squared functions",),
}
SCORE_TITLES = {
    **{score.field: score.title for score in SCORES},
    "kl": f"{SCORE_OF['log2_pauto'].title} above the true model's",
    "relative_rmse": f"{SCORE_OF['rmse'].short_title} / that of zeros",
}
FLOORED_TITLE = f"{SCORE_TITLES['kl']}, weights of 0 raised to {FLOOR:g}"
# Paragraphs, and SVG texts by file name.
Body = tuple[list[str], dict[str, str]]


def write_pages(experiment: Experiment, measured: Sequence[Measured]) -> dict[str, str]:
    """Write the page of an experiment and its figures: file name -> text.

    Parameters
    ----------
    measured : sequence of Measured
        The runs that there are; the page says how many are missing.
    """
    body, figures = BODIES[experiment.name](experiment, measured)
    parts = [f"# {TITLES[experiment.name]}", *_head(experiment, measured), *body, reasons(experiment.name)]
    return {f"{experiment.name}.md": "\n\n".join(parts) + "\n", **figures}


def reasons(name: str) -> str:
    """Read why an experiment's results can differ from the paper's: the sections of `reasons.md` that are about it."""
    text = Path(__file__).with_name("reasons.md").read_text(encoding="utf-8")
    sections = dict(part.split("\n\n", 1) for part in text.split("\n## ")[1:])
    return "\n".join(["## Why results can differ", "", *(sections[title].strip() for title in REASONS[name])])


def _head(experiment: Experiment, measured: Sequence[Measured]) -> list[str]:
    """Say what was run, and how much of it."""
    missing = len(experiment.runs) - len(measured)
    state = f"{missing:,} runs are missing: the same command continues with them." if missing else "Nothing is missing."
    command = f"nlwfa reproduce {experiment.name.removesuffix('-shipped')}"
    done = [_done(name, planned, measured) for name, planned in experiment.runs_by_settings.items()]
    parts = [
        f"Made by `{command}` from the single runs in [{experiment.file}.csv]({experiment.file}.csv). {state}",
        table(("settings", "runs done", "whole seeds"), done),
    ]
    if experiment.base:
        parts.append("\n".join(f"- **{name}**: {settings.describe()}." for name, settings in SETTINGS.items()))
    if experiment.name == "verbs-shipped":
        parts.append(
            "These verbs are not the paper's, whose file is not part of this project: use `--train` and `--validation` for it."
        )
    return [
        *parts,
        "Values are mean ± standard deviation over whole seeds or, if no seed is whole, over the seeds that all learners have. "
        "A value without ± is of one seed.",
    ]


def _done(settings: str, planned: Sequence[Planned], measured: Sequence[Measured]) -> Sequence[str]:
    """A row of the table of runs: how many there are, and how many seeds lack none."""
    runs = list(select(measured, settings=settings))
    seeds = len({one.seed for one in planned})
    return settings, f"{len(runs):,} of {len(planned):,}", f"{len(whole_seeds(planned, runs))} of {seeds}"


# Figures 2 to 5: Dyck strings


METRICS = ("log2_pauto", "kl", "wer")
# Number formats of tables. log2_pauto has no table: it varies with the test strings, so the difference to the true model says more.
FORMS = {"kl": ".2g", "wer": ".3f"}
FIGURES = {
    "dyck-rank": {"log2_pauto": "Figure 2: ", "wer": "Figure 3: "},
    "dyck-samples": {"log2_pauto": "Figure 4: ", "wer": "Figure 5: "},
}


def curves_body(experiment: Experiment, measured: Sequence[Measured]) -> Body:
    """Write the body of "dyck-rank" or "dyck-samples": a figure and tables for each metric, then the paper's claims."""
    x_title = "rank k" if experiment.name == "dyck-rank" else "training strings n"
    planned = experiment.runs_by_settings
    runs = {name: comparable(planned[name], list(select(measured, settings=name))) for name in SETTINGS}
    curves = {(name, metric): _curves(runs[name], metric, experiment) for name, metric in product(SETTINGS, (*METRICS, FLOORED))}
    body, files = [], {}
    for metric in METRICS:
        panels = []
        for name, settings in SETTINGS.items():
            references = [one for one in select(measured, settings=REFERENCE) if one.planned.seed in distinct(runs[name], "seed")]
            series = {**curves[name, metric], **_reference_lines(references, metric, experiment)}
            panels.append(Panel(settings.title, {line: _spreads(curve) for line, curve in series.items() if curve}))
        title = f"{FIGURES[experiment.name].get(metric, '')}{SCORE_TITLES[metric]} by {x_title}"
        description = "Mean over seeds, bands of one standard deviation; left the paper's settings, right the refined ones."
        file_name = f"{experiment.name}-{metric.replace('_', '-')}.svg"
        files[file_name] = line_chart(panels, title, description, x_title, SCORE_TITLES[metric], log_y=metric == "kl")
        body += [f"## {title}", figure(title, file_name)]
        if metric in FORMS:
            body += [
                f"With {panel.title}:\n\n{_curve_table(panel.series, x_title, FORMS[metric])}"
                for panel in panels
                if set(panel.series) - set(LINES)
            ]
    return [*body, *_zeros_and_ties(runs, experiment, x_title), *_judged_claims(experiment, curves, x_title)], files


def _curves(measured: Sequence[Measured], metric: str, experiment: Experiment) -> Curves:
    """Collect learners' values by rank; or by sample size, at the rank that each seed's validation strings choose."""
    curves: dict[str, dict[int, dict[int, float]]] = {learner: {} for learner in HANKEL_LEARNERS}
    if experiment.name == "dyck-rank":
        for learner, rank in product(HANKEL_LEARNERS, experiment.ranks):
            if values := values_of(select(measured, learner=learner, rank=rank), metric):
                curves[learner][rank] = values
        return curves
    for learner, size, seed in product(HANKEL_LEARNERS, distinct(measured, "size"), distinct(measured, "seed")):
        by_rank = runs_by_rank(select(measured, learner=learner, size=size, seed=seed), experiment.ranks)
        if by_rank:
            rank = chosen_rank(by_rank, "wer" if metric == "wer" else "log2_pauto")
            curves[learner].setdefault(size, {}).update(values_of(by_rank[rank], metric))
    return curves


def _reference_lines(measured: Sequence[Measured], metric: str, experiment: Experiment) -> Curves:
    """Collect the values of reference lines, which are the same at every rank. The true model is left out where it would be 0."""
    curves = {
        name: {size: values_of(select(measured, learner=name, size=size), metric) for size in distinct(measured, "size")}
        for name in (LINES[:2] if metric == "kl" else LINES)
    }
    if experiment.name == "dyck-samples":
        return curves
    return {name: dict.fromkeys(experiment.ranks, values) for name, curve in curves.items() for values in curve.values()}


def _spreads(curve: Mapping[int, Mapping[int, float]]) -> dict[int, Spread]:
    return {x: Spread.of(values.values()) for x, values in curve.items()}


def _curve_table(series: Mapping[str, Mapping[int, Spread]], x_title: str, form: str) -> str:
    xs = sorted({x for points in series.values() for x in points})
    rows = [(f"{x:,}", *(points[x].text(form) if x in points else "" for points in series.values())) for x in xs]
    return table((x_title, *series), rows)


def _zeros_and_ties(runs: Mapping[str, Sequence[Measured]], experiment: Experiment, x_title: str) -> list[str]:
    """Tabulate SP's strings of weight 0, its tied predictions, and its score when such weights are raised to the floor."""
    body = []
    for name, settings in SETTINGS.items():
        zero, tied, floored = (_curves(runs[name], metric, experiment)["SP"] for metric in ("num_zero", "share_tied", FLOORED))
        if any(value for values in zero.values() for value in values.values()):
            columns = ((zero, ".1f"), (tied, ".2f"), (floored, ".2g"))
            rows = [(f"{x:,}", *(Spread.of(curve[x].values()).text(form) for curve, form in columns)) for x in sorted(zero)]
            header = (x_title, SCORE_TITLES["num_zero"], SCORE_TITLES["share_tied"], FLOORED_TITLE)
            body.append(f"With {settings.title}:\n\n{table(header, rows)}")
    return ["## What SP gives weight 0", *body] if body else []


def _judged_claims(experiment: Experiment, curves: Mapping[tuple[str, str], Curves], x_title: str) -> list[str]:
    """Judge the paper's claims, and show the comparisons that the verdicts rest on."""
    body = ["## Against the paper"]
    x_name = f"{x_title[-1]} ="
    xs = experiment.ranks if experiment.name == "dyck-rank" else sorted({planned.size for planned in experiment.runs})
    for name, settings in SETTINGS.items():
        lines = []
        for claim in CLAIMS[experiment.name]:
            metric = FLOORED if claim.metric == "log2_pauto" else claim.metric
            lines.append(f"- {claim.text}: {verdict(claim, compare(curves[name, metric]), x_name, xs)}")
        body.append("\n".join([f"With {settings.title}:", "", *lines]))
    body.append(
        "*Yes* means that the nonlinear learner with the best mean (chosen with hindsight) is ahead of SP in more than half of "
        "the seeds; for *similarly*, that the means are within 0.05. The paper shows curves without numbers, so only its sentences "
        f"can be checked. Its curves are finite, so Pautomac scores are compared with weights of 0 raised to {FLOOR:g} of the "
        "total; otherwise SP's score would be ∞ wherever a test string has weight 0."
    )
    for name, (metric, form) in product(SETTINGS, {FLOORED: FORMS["kl"], "wer": FORMS["wer"]}.items()):
        if comparisons := compare(curves[name, metric]):
            rows = [
                (f"{c.x:,}", c.linear.text(form), f"{c.nonlinear.text(form)} ({c.learner})", f"{c.ahead} of {c.count}")
                for c in comparisons
            ]
            title = FLOORED_TITLE if metric == FLOORED else SCORE_TITLES[metric]
            header = (x_title, "SP", "best nonlinear", "seeds ahead")
            body.append(f"{title}, with {SETTINGS[name].title}:\n\n{table(header, rows)}")
    return body


# Table 1: English verbs


# Learner -> the paper's log(Pauto) and WER.
TABLE_1 = {"SP": (21.3807, 0.8033), "tran.non": (12.2571, 0.8841), "fac.non": (13.8311, 0.7061), "both.non": (13.6604, 0.8334)}
_LOG2, _WER, _BITS = (SCORE_OF[field].short_title for field in ("log2_pauto", "wer", "bits_per_symbol"))
TABLE_1_HEADER = (
    *("model", "k", _LOG2, _LOG2.replace("log₂", "ln"), "paper: log(Pauto)", _WER, f"paper: {_WER}", _BITS, "zero outputs"),
)


def table_1_body(experiment: Experiment, measured: Sequence[Measured]) -> Body:
    """Write the body of "verbs" or "verbs-shipped", which have no figures."""
    body = ["## Table 1"]
    lines = [_table_1_row(line, "", select(measured, settings=REFERENCE, learner=line)) for line in LINES[:2]]
    for name, settings in SETTINGS.items():
        runs = comparable(experiment.runs_by_settings[name], list(select(measured, settings=name)))
        rows, chosen = [], {}
        for learner in HANKEL_LEARNERS:
            if by_rank := runs_by_rank(select(runs, learner=learner), experiment.ranks):
                rank = chosen_rank(by_rank, "wer")
                chosen[learner] = by_rank[rank]
                paper = (f"{TABLE_1[learner][0]:.2f}", f"{TABLE_1[learner][1]:.3f}")
                rows.append(_table_1_row(learner, str(rank), by_rank[rank], paper))
        body.append(f"With {settings.title}:\n\n{table(TABLE_1_HEADER, [*rows, *lines])}")
        if len(chosen) < len(settings.learners):
            body.append("A learner has a row only when it has been run with every rank.")
        elif len(chosen) == len(TABLE_1):
            pauto, wer = (
                min(chosen, key=lambda learner: Spread.of(values_of(chosen[learner], metric).values()).order)
                for metric in ("log2_pauto", "wer")
            )
            body.append(_judged_table_1(pauto, wer))
    return [*body, "A mean over one seed has no ±: it is one split of the training file."], {}


def _judged_table_1(best_pauto: str, best_wer: str) -> str:
    """Judge what the paper says about Table 1 by the learners that are best here."""

    def answer(agrees: bool) -> str:
        return "**agrees**" if agrees else "**does not agree**"

    outperforms = answer("SP" not in (best_pauto, best_wer))
    lines = [
        f"- “for both metrics, one of the NL-WFA models outperforms linear spectral learning”: {outperforms}",
        f"- “tran.non gives the best performances”, in log(Pauto): {answer(best_pauto == 'tran.non')}, here {best_pauto}",
        f"- “for the prediction task fac.non shows a significant advantage”: {answer(best_wer == 'fac.non')}, here {best_wer}",
    ]
    return "Against the paper:\n\n" + "\n".join(lines)


def _table_1_row(model: str, rank: str, measured: Iterable[Measured], paper: tuple[str, str] = ("", "")) -> Sequence[str]:
    runs = list(measured)
    log2, wer, bits, zeros = (values_of(runs, metric).values() for metric in ("log2_pauto", "wer", "bits_per_symbol", "num_zero"))
    scores = [
        *(Spread.of(log2).text(".2f"), Spread.of(value * math.log(2) for value in log2).text(".2f"), paper[0]),
        *(Spread.of(wer).text(), paper[1], Spread.of(bits).text(".2f"), Spread.of(zeros).text(".0f")),
    ]
    return (model, rank, *scores)


# Squared functions


LEARNED_FROM = {"none": "H", "sqrt": "H^{1/2}"}
SQUARED_LEARNERS = ("SP", "fac.non")
SQUARED_METRIC = "relative_rmse"


def squares_body(experiment: Experiment, measured: Sequence[Measured]) -> Body:
    """Write the body of "squared": ranks of the matrices, then errors by the model's rank."""
    sizes = distinct(measured, "size")
    ranks = [
        (str(k), str(k * (k + 1) // 2), *(_matrix_rank(select(measured, settings=transform, size=k)) for transform in LEARNED_FROM))
        for k in sizes
    ]
    body = ["## Ranks", table(("states k of f", "k (k + 1) / 2", "rank of H", "rank of H^{1/2}"), ranks), "## Error by rank"]
    files = {}
    errors: dict[tuple[int, str, str], dict[int, Spread]] = {}
    for k, transform, learner in product(sizes, LEARNED_FROM, SQUARED_LEARNERS):
        runs = list(select(measured, settings=transform, learner=learner, size=k))
        by_rank = {rank: values_of(select(runs, rank=rank), SQUARED_METRIC) for rank in distinct(runs, "rank")}
        errors[k, transform, learner] = _spreads(by_rank)
    for transform, matrix in LEARNED_FROM.items():
        panels = [
            Panel(f"k = {k}", {learner: errors[k, transform, learner] for learner in SQUARED_LEARNERS})
            for k in distinct(select(measured, settings=transform), "size")
        ]
        title = f"Error on f² by rank, learned from {matrix}"
        description = "A panel for each number of states of f; mean over automata, bands of one standard deviation; logarithmic."
        files[f"squared-{transform}.svg"] = line_chart(panels, title, description, "rank", SCORE_TITLES[SQUARED_METRIC], log_y=True)
        body.append(figure(title, f"squared-{transform}.svg"))
    for k in sizes:
        columns = {f"{name}, {LEARNED_FROM[transform]}": curve for (size, transform, name), curve in errors.items() if size == k}
        rows = [
            (str(rank), *(curve[rank].text(".1e") if rank in curve else "" for curve in columns.values()))
            for rank in distinct(select(measured, size=k), "rank")
        ]
        body.append(f"f with {k} states, {SCORE_TITLES[SQUARED_METRIC]}:\n\n{table(('rank', *columns), rows)}")
    return body, files


def _matrix_rank(measured: Iterable[Measured]) -> str:
    """The numerical rank of a matrix, as a range over seeds."""
    values = sorted(set(values_of(measured, "rank_h").values()))
    return " … ".join(f"{value:g}" for value in sorted({values[0], values[-1]})) if values else ""


BODIES = {
    "dyck-rank": curves_body,
    "dyck-samples": curves_body,
    "verbs": table_1_body,
    "verbs-shipped": table_1_body,
    "squared": squares_body,
}

# Which runs are compared, and what they have in common


def values_of(measured: Iterable[Measured], metric: str) -> dict[int, float]:
    """Collect a metric by seed; runs without a value are left out."""
    return {one.planned.seed: value for one in measured if (value := one.values[metric]) is not None}


def whole_seeds(planned: Iterable[Planned], measured: Iterable[Measured]) -> set[int]:
    """Find the seeds of which no run is missing."""
    done = {one.planned for one in measured}
    runs = list(planned)
    return {one.seed for one in runs} - {one.seed for one in runs if one not in done}


def comparable(planned: Iterable[Planned], measured: Sequence[Measured]) -> list[Measured]:
    """Keep the runs of whole seeds; if no seed is whole, those of seeds that all learners have, of the learners run so far.

    A seed has test strings of its own, so means over different seeds can't be compared.
    """
    seeds = whole_seeds(planned, measured)
    if not seeds and measured:
        learners = {one.planned.learner for one in measured}
        seeds = set.intersection(*({one.planned.seed for one in select(measured, learner=name)} for name in learners))
    return [one for one in measured if one.planned.seed in seeds]


def runs_by_rank(measured: Iterable[Measured], ranks: Sequence[int]) -> dict[int, list[Measured]]:
    """Group runs by rank. Empty if a rank is missing, since a choice among the other ranks would not be fair."""
    runs = list(measured)
    by_rank = {rank: list(select(runs, rank=rank)) for rank in ranks}
    return by_rank if all(by_rank.values()) else {}


def chosen_rank(by_rank: Mapping[int, Sequence[Measured]], metric: str) -> int:
    """Choose the rank that is best on validation strings, in the mean of its runs; of equal ranks the smaller."""

    def order(rank: int) -> tuple[tuple[float, float], int]:
        scores, zeros = (values_of(by_rank[rank], f"validation_{name}").values() for name in (metric, "num_zero"))
        return badness(list(scores), [int(zero) for zero in zeros]), rank

    return min(by_rank, key=order)


# Markdown


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table.

    >>> print(table(("k", "WER"), [("5", "0.433")]))
    | k | WER |
    | --- | --- |
    | 5 | 0.433 |
    """
    return "\n".join(f"| {' | '.join(line)} |" for line in (header, ["---"] * len(header), *rows))


def figure(title: str, file_name: str) -> str:
    return f"![{title}]({file_name})"
