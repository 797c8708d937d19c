"""The pages about Dyck strings: the paper's Figures 2 to 5, and its claims held against the runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from ..learning.names import LEARNERS
from ..metrics.seeds import Spread
from .claims import CLAIMS, Curves, compare, verdict
from .experiments import FLOOR, FLOORED, LINES, REFERENCE, Experiment
from .markdown import TITLES, Body, figure, table, why
from .reasons import COMMON, DYCK, SAMPLES
from .runs import Finished, found, of
from .settings import SETTINGS
from .statistics import chosen_rank, comparable, ranks_of, values_of
from .svg import Panel, line_chart

METRICS = ("log2_pauto", "kl", "wer")
# How tables write numbers. None of log2_pauto: it moves with the test strings, so the difference says more.
FORMS = {"kl": ".2g", "wer": ".3f"}
FIGURES = {
    "dyck-rank": {"log2_pauto": "Figure 2: ", "wer": "Figure 3: "},
    "dyck-samples": {"log2_pauto": "Figure 4: ", "wer": "Figure 5: "},
}


FLOORED_TITLE = f"{TITLES['kl']}, weights of 0 raised to {FLOOR:g}"


def curves_body(experiment: Experiment, done: Sequence[Finished]) -> Body:
    """Of "dyck-rank" and "dyck-samples"."""
    by_rank = experiment.name == "dyck-rank"
    x_title = "rank k" if by_rank else "training strings n"
    runs = {name: comparable(experiment.settings[name], list(of(done, settings=name))) for name in SETTINGS}
    curves = {(name, metric): _curves(runs[name], metric, experiment) for name, metric in product(SETTINGS, (*METRICS, FLOORED))}
    body, files = [], {}
    for metric in METRICS:
        panels = []
        for name, settings in SETTINGS.items():
            references = [one for one in of(done, settings=REFERENCE) if one.run.seed in found(runs[name], "seed")]
            drawn = {**curves[name, metric], **_lines(references, metric, experiment)}
            panels.append(Panel(settings.title, {line: _spreads(curve) for line, curve in drawn.items() if curve}))
        title = f"{FIGURES[experiment.name].get(metric, '')}{TITLES[metric]} by {x_title}"
        what = "Mean over seeds, bands of one standard deviation; left the paper's settings, right the refined ones."
        stem = f"{experiment.name}-{metric.replace('_', '-')}.svg"
        files[stem] = line_chart(panels, title, what, x_title, TITLES[metric], log_y=metric == "kl")
        body += [f"## {title}", figure(title, stem)]
        if metric in FORMS:
            body += [
                f"With {panel.title}:\n\n{_curve_table(panel.series, x_title, FORMS[metric])}"
                for panel in panels
                if set(panel.series) - set(LINES)
            ]
    body += _zeros_and_ties(runs, experiment, x_title)
    reasons = (*COMMON, *DYCK) if by_rank else (*COMMON, *DYCK, *SAMPLES)
    return [*body, *_against_the_paper(experiment, curves, x_title), why(reasons)], files


def _zeros_and_ties(runs: Mapping[str, Sequence[Finished]], experiment: Experiment, x_title: str) -> list[str]:
    """SP's strings of weight 0, its tied predictions, and its score where such strings get a stated floor."""
    body = []
    for name, settings in SETTINGS.items():
        zero, tied, floored = (_curves(runs[name], metric, experiment)["SP"] for metric in ("num_zero", "share_tied", FLOORED))
        if any(value for values in zero.values() for value in values.values()):
            rows = [
                (
                    f"{x:,}",
                    *(Spread.of(curve[x].values()).text(form) for curve, form in ((zero, ".1f"), (tied, ".2f"), (floored, ".2g"))),
                )
                for x in sorted(zero)
            ]
            header = (x_title, "test strings of weight 0", "share of predictions tied", FLOORED_TITLE)
            body.append(f"With {settings.title}:\n\n{table(header, rows)}")
    return ["## What SP gives weight 0", *body] if body else []


def _curves(done: Sequence[Finished], metric: str, experiment: Experiment) -> Curves:
    """Of learners, by rank; or by sample size, at the rank that each seed's validation strings chose."""
    curves: dict[str, dict[int, dict[int, float]]] = {learner: {} for learner in LEARNERS}
    if experiment.name == "dyck-rank":
        for learner, rank in product(LEARNERS, experiment.ranks):
            if values := values_of(of(done, learner=learner, rank=rank), metric):
                curves[learner][rank] = values
        return curves
    for learner, size, seed in product(LEARNERS, found(done, "size"), found(done, "seed")):
        by_rank = ranks_of(of(done, learner=learner, size=size, seed=seed), experiment.ranks)
        if by_rank:
            rank = chosen_rank(by_rank, "wer" if metric == "wer" else "log2_pauto")
            curves[learner].setdefault(size, {}).update(values_of(by_rank[rank], metric))
    return curves


def _lines(done: Sequence[Finished], metric: str, experiment: Experiment) -> Curves:
    """Reference lines; the same at every rank. The true model, 0 above itself, is none."""
    names = LINES[:2] if metric == "kl" else LINES
    by_size = {name: {size: values_of(of(done, learner=name, size=size), metric) for size in found(done, "size")} for name in names}
    if experiment.name == "dyck-samples":
        return by_size
    return {name: dict.fromkeys(experiment.ranks, values) for name, curve in by_size.items() for values in curve.values()}


def _spreads(curve: Mapping[int, Mapping[int, float]]) -> dict[int, Spread]:
    return {x: Spread.of(values.values()) for x, values in curve.items()}


def _curve_table(series: Mapping[str, Mapping[int, Spread]], x_title: str, form: str) -> str:
    xs = sorted({x for points in series.values() for x in points})
    rows = [(f"{x:,}", *(points[x].text(form) if x in points else "" for points in series.values())) for x in xs]
    return table((x_title, *series), rows)


def _against_the_paper(experiment: Experiment, curves: Mapping[tuple[str, str], Curves], x_title: str) -> list[str]:
    body = ["## Against the paper"]
    x_name = f"{x_title[-1]} ="
    planned = experiment.ranks if experiment.name == "dyck-rank" else sorted({place.size for place in experiment.runs})
    for key, settings in SETTINGS.items():
        judged = []
        for claim in CLAIMS[experiment.name]:
            metric = FLOORED if claim.metric == "log2_pauto" else claim.metric
            judged.append(f"- {claim.text}: {verdict(claim, compare(curves[key, metric]), x_name, planned)}")
        body.append("\n".join([f"With {settings.title}:", "", *judged]))
    body.append(
        "*Yes* means: the nonlinear learner with the best mean there (chosen with hindsight) is ahead of SP in more than half of "
        "the seeds; for *similarly*, that the means are within 0.05. The paper shows curves without numbers, so only its sentences "
        f"can be checked. Its curves are finite, so Pautomac scores are compared with weights of 0 raised to {FLOOR:g} of the "
        "whole; without that, SP's is ∞ wherever a test string has weight 0."
    )
    for key, (metric, form) in product(SETTINGS, {FLOORED: FORMS["kl"], "wer": FORMS["wer"]}.items()):
        if rows := compare(curves[key, metric]):
            cells = [
                (f"{r.x:,}", r.linear.text(form), f"{r.nonlinear.text(form)} ({r.learner})", f"{r.ahead} of {r.count}")
                for r in rows
            ]
            title = FLOORED_TITLE if metric == FLOORED else TITLES[metric]
            header = (x_title, "SP", "best nonlinear", "seeds ahead")
            body.append(f"{title}, with {SETTINGS[key].title}:\n\n{table(header, cells)}")
    return body
