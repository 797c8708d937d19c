"""Write the experiments as Markdown pages with SVG figures, tables and verdicts on the paper's
claims.

`write_pages` makes the files of an experiment from its measured runs. The last line of each file
has the version that wrote it, and a hash of the lines above, from which `check_replaceable` can
tell whether somebody has changed the file. This module computes only means, paired differences, and
choices by validation strings. The paragraphs about what the paper leaves open are in `reasons.md`.
"""

from __future__ import annotations

import hashlib
import math
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from nlwfa_core import plot
from nlwfa_core.errors import RecipeError
from nlwfa_core.files import __version__
from nlwfa_core.learning.learners import NETWORK_LEARNERS
from nlwfa_core.metrics.intervals import CONFIDENCE
from nlwfa_core.metrics.score_table import SCORE_OF, SCORES
from nlwfa_core.metrics.seeds import Spread, badness

from .claims import (
    CLAIMS,
    MIN_SEEDS,
    SIMILAR,
    UNDECIDED,
    Comparison,
    Curve,
    Curves,
    Difference,
    by_answer,
    chosen_network,
    compare,
    model_name,
    verdict,
)
from .experiments import (
    FLOOR,
    FLOORED,
    LINES,
    REFERENCE,
    UNFINISHED_STAGES,
    Experiment,
    Measured,
    Planned,
    Settings,
    distinct,
    select,
)

TITLES = {
    "dyck-rank": "Dyck strings, by rank: the paper's Figures 2 and 3",
    "dyck-samples": "Dyck strings, by sample size: the paper's Figures 4 and 5",
    "verbs": "English verbs, SPiCe problem 4: the paper's Table 1",
    "verbs-shipped": "English verbs, the shipped ones: the paper's Table 1 on other data",
    "squared": "Squared functions: rank of H, rank of H^{1/2}, error by rank",
    "spice-4": "English verbs, SPiCe problem 4: the published version's table, by training size",
}
# Experiment -> the sections of reasons.md that its page has.
REASONS = {
    "dyck-rank": ("All learners", "Dyck strings"),
    "dyck-samples": ("All learners", "Dyck strings", "Dyck strings by sample size"),
    "verbs": ("All learners", "English verbs"),
    "verbs-shipped": ("All learners", "English verbs"),
    "squared": ("Squared functions",),
    "spice-4": ("All learners", "SPiCe 4 by training size"),
}
SCORE_TITLES = {
    **{score.field: score.title for score in SCORES},
    "kl": f"{SCORE_OF['log2_pauto'].title} above the true model's",
    "relative_rmse": f"{SCORE_OF['rmse'].short_title} / that of zeros",
}
FLOORED_TITLE = f"{SCORE_TITLES['kl']}, weights of 0 replaced by {FLOOR:g}"
BANDS = (
    f"Bands in figures are {CONFIDENCE:.0%} intervals (Student's t) for the mean over all "
    "seeds, not the spread of single seeds. A "
    "mean of one seed, or of seeds with an ∞, has no band."
)
# Sizes in inches; the width of each panel in a chart with one, two, and three or more panels.
PANEL_WIDTHS = (4.5, 3.3, 2.0)
PANEL_HEIGHT = 3.2
# is a comment in Markdown and in SVG
SIGNATURE = re.compile(r"<!-- written by nlwfa (\S+), SHA-256 ([0-9a-f]{64}) -->\n?\Z")
# The body of a page: its paragraphs, and its figures (file name -> SVG).
Body = tuple[list[str], dict[str, str]]


def write_pages(experiment: Experiment, measured: Sequence[Measured]) -> dict[str, str]:
    """Compose an experiment's Markdown page and its SVG figures, without saving them.

    Parameters
    ----------
    measured : sequence of Measured
        The runs that are done. The page states how many of the experiment's runs are missing.

    Returns
    -------
    dict
        File name -> text of the file.
    """
    body, figures = BODIES[experiment.name](experiment, measured)
    head = _head(experiment, measured)
    time = _time(experiment, measured)
    parts = [f"# {TITLES[experiment.name]}", *head, *body, *time, reasons(experiment.name)]
    files = {f"{experiment.name}.md": "\n\n".join(parts) + "\n", **figures}
    return {name: text + _signature(text) for name, text in files.items()}


def _signature(text: str) -> str:
    return (
        f"<!-- written by nlwfa {__version__}, SHA-256 "
        f"{hashlib.sha256(text.encode()).hexdigest()} -->\n"
    )


def check_replaceable(folder: Path, experiment: str) -> None:
    """Raise RecipeError if a folder has a page or figure of an experiment that this version did not
    write, or that was changed.
    """
    longer = tuple(f"{name}-" for name in TITLES if name.startswith(f"{experiment}-"))
    figures = (
        path
        for path in sorted(folder.glob(f"{experiment}-*.svg"))
        if not path.name.startswith(longer)
    )
    for path in (folder / f"{experiment}.md", *figures):
        if path.exists() and (reason := _foreign(path)):
            raise RecipeError(
                f"{path} {reason}: choose another folder with --out, or replace its pages with "
                "--force (the CSV files of runs stay)"
            )


def _foreign(path: Path) -> str:
    """Explain why a file is not one that this version wrote and nobody changed; empty if it is."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return "can't be read"
    signature = SIGNATURE.search(text)
    if signature is None:
        return "was not written by this version of nlwfa"
    if signature[1] != __version__:
        return f"was written by version {signature[1]} of nlwfa; this is {__version__}"
    is_whole = hashlib.sha256(text[: signature.start()].encode()).hexdigest() == signature[2]
    return "" if is_whole else "was changed after nlwfa wrote it"


def reasons(name: str) -> str:
    """Read the sections of `reasons.md` that explain why an experiment's results can differ from
    the paper's.
    """
    text = Path(__file__).with_name("reasons.md").read_text(encoding="utf-8")
    sections = dict(part.split("\n\n", 1) for part in text.split("\n## ")[1:])
    return "\n".join(
        ["## Why results can differ", "", *(sections[title].strip() for title in REASONS[name])]
    )


def _head(experiment: Experiment, measured: Sequence[Measured]) -> list[str]:
    """Write the beginning of a page: the command, the runs that are done, the settings, and what a
    seed determines.
    """
    missing = len(experiment.runs) - len(measured)
    state = (
        f"{missing:,} runs are missing: the same command makes them."
        if missing
        else "Nothing is missing."
    )
    command = f"nlwfa reproduce {experiment.name.removesuffix('-shipped')}"
    done = [_done(name, planned, measured) for name, planned in experiment.runs_by_settings.items()]
    parts = [
        f"Made by `{command}` from the single runs in "
        f"[{experiment.file}.csv]({experiment.file}.csv). {state}",
        table(("settings", "runs done", "whole seeds"), done),
    ]
    if experiment.base:
        lines = (
            f"- **{name}** ({settings.title}): {settings.describe()}"
            for name, settings in experiment.settings.items()
        )
        parts += ["\n".join(lines), _unfinished(measured)]
    if experiment.name == "verbs-shipped":
        parts.append(
            "These verbs are not the paper's, whose file is not part of this project. To use that "
            "file, set `--train` and `--validation`."
        )
    return [
        *filter(None, parts),
        "Values are means ± standard deviations over the seeds with which all learners in this "
        "group were run at this rank or sample size. "
        f"A value without ± is from one seed. {_what_a_seed_is(experiment)}",
    ]


def _what_a_seed_is(experiment: Experiment) -> str:
    if experiment.base is None:
        return "A seed draws an automaton, and is the seed of the learner."
    if experiment.base.data.source == "dyck":
        own = (
            "determines the training strings, the test strings and the learner's random numbers, "
            "so ± has all three causes"
        )
    else:
        own = (
            "determines the random split of the training file and the learner's random numbers; "
            "the test strings are always the same"
        )
    return (
        f"A seed {own}. Differences between models are paired, seed by seed, and have a "
        f"{CONFIDENCE:.0%} interval."
    )


def _unfinished(measured: Sequence[Measured]) -> str:
    """Write how many training runs to convergence were cut off by the limit on epochs."""
    runs = [
        one
        for one in select(measured, settings="converged")
        if one.values[UNFINISHED_STAGES] is not None
    ]
    unfinished = sum(bool(one.values[UNFINISHED_STAGES]) for one in runs)
    return (
        f"{f'{unfinished:,}' if unfinished else 'None'} of the {len(runs):,} training runs to "
        f"convergence {'were' if unfinished > 1 else 'was'} cut off by the limit on epochs."
        if runs
        else ""
    )


def _done(settings: str, planned: Sequence[Planned], measured: Sequence[Measured]) -> Sequence[str]:
    """Write a row of the table of runs: how many runs of some settings are done, and for how many
    seeds all are done.
    """
    runs = list(select(measured, settings=settings))
    seeds = len({one.seed for one in planned})
    return (
        settings,
        f"{len(runs):,} of {len(planned):,}",
        f"{len(whole_seeds(planned, runs))} of {seeds}",
    )


def _time(experiment: Experiment, measured: Sequence[Measured]) -> list[str]:
    """Tabulate the time of learning: medians by rank, or by sample size if there are several, and
    the sum over all runs.
    """
    learned = [one for one in measured if one.planned.settings != REFERENCE]
    x = "size" if len(distinct(learned, "size")) > 1 else "rank"
    xs = distinct(learned, x)
    rows = []
    for settings, learner in dict.fromkeys(
        (one.planned.settings, one.planned.learner) for one in learned
    ):
        runs = list(select(learned, settings=settings, learner=learner))
        medians = [_seconds(values_of_all(select(runs, **{x: at}), "seconds")) for at in xs]
        rows.append(
            (settings, learner, *medians, f"{sum(values_of_all(runs, 'seconds')) / 3600:.2f}")
        )
    if not rows:
        return []
    name = "k" if x == "rank" else "n"
    return [
        "## How long it took",
        "The times are wall-clock times of learning, without counting and scoring: seconds are "
        "medians over runs, and hours are summed over all runs. Other programs ran on the same "
        "machine; an idle machine takes less time.",
        table(("settings", "learner", *(f"{name} = {at:,}" for at in xs), "hours"), rows),
    ]


def _seconds(values: Sequence[float]) -> str:
    if not values:
        return ""
    median = statistics.median(values)
    return f"{median:.0f}" if median >= 10 else f"{median:.2g}"


# Figures 2 to 5: Dyck strings


METRICS = ("log2_pauto", "kl", "wer")
# Number formats of tables. log2_pauto has no table: it varies with the test strings, so the
# difference to the true model says more.
FORMS = {"kl": ".2g", "wer": ".3f"}
FIGURES = {
    "dyck-rank": {"log2_pauto": "Figure 2: ", "wer": "Figure 3: "},
    "dyck-samples": {"log2_pauto": "Figure 4: ", "wer": "Figure 5: "},
}
# Score -> its number format in comparisons, and the score on the validation strings by which ranks
# and networks are chosen.
COMPARED = {
    FLOORED: (".2g", "validation_log2_pauto"),
    "wer": (".3f", "validation_wer"),
    "bits_per_symbol": (".3f", "validation_bits_per_symbol"),
}
COMPARED_TITLES = {**SCORE_TITLES, FLOORED: FLOORED_TITLE}
CONTROLS = "likelihood"
CONTROL_TITLES = {"SP": "SP + likelihood"}
TIED = f"SP, {SCORE_OF['share_tied'].short_title}"


def curves_body(experiment: Experiment, measured: Sequence[Measured]) -> Body:
    """Write the body of "dyck-rank" or "dyck-samples": for each score a figure, tables and
    conclusions from them.
    """
    by_rank = experiment.name == "dyck-rank"
    x_title = "rank k" if by_rank else "training strings n"
    runs = {
        name: settings_runs(experiment, name, measured, "rank" if by_rank else "size")
        for name in experiment.settings
    }
    lines = list(select(measured, settings=REFERENCE))
    body = [BANDS]
    files = {}
    for metric in METRICS:
        panels: dict[str, dict[str, dict[int, Spread]]] = {}
        tables = []
        for name, settings in experiment.settings.items():
            curves = _curves(experiment, name, runs[name], metric)
            if set(curves) == {"SP"}:  # no network has been run at all ranks yet
                curves = {}
            references = _reference_lines(experiment, lines, curves, metric)
            titles = CONTROL_TITLES if name == CONTROLS else {}
            series = {
                titles.get(line, line): _spreads(curve)
                for line, curve in {**curves, **references}.items()
                if curve
            }
            panels[settings.title] = series
            if metric in FORMS and curves:
                ties = (
                    _curves(experiment, name, runs[name], "share_tied", metric).get("SP", {})
                    if name != CONTROLS
                    else {}
                )
                tables += [
                    f"With {settings.title}:",
                    _curve_table(
                        series, x_title, FORMS[metric], _spreads(ties) if metric == "wer" else {}
                    ),
                    *_behind_baselines(curves, references, x_title),
                ]
        title = f"{FIGURES[experiment.name].get(metric, '')}{SCORE_TITLES[metric]}, by {x_title}"
        file_name = f"{experiment.name}-{metric.replace('_', '-')}.svg"
        files[file_name] = _chart(
            panels, title, x_title, SCORE_TITLES[metric], log_x=True, log_y=metric == "kl"
        )
        body += [f"## {title}", figure(title, file_name), *tables]
    return [
        *body,
        *_zeros(experiment, runs, x_title),
        *_judged_claims(experiment, runs, lines, x_title),
        *_beside_controls(
            experiment, {**runs, CONTROLS: list(select(measured, settings=CONTROLS))}, x_title
        ),
    ], files


def _curves(
    experiment: Experiment,
    settings: str,
    measured: Sequence[Measured],
    metric: str,
    chosen_by: str = "",
) -> dict[str, Curve]:
    """Collect learners' values by rank; or by sample size, each at the rank that the validation
    strings choose.

    Parameters
    ----------
    chosen_by : str
        The score by which the rank is chosen; by default `metric`.
    """
    curves: dict[str, dict[int, dict[int, float]]] = {}
    names = dict.fromkeys(one.planned.learner for one in measured)
    order = [name for name in ("SP", *NETWORK_LEARNERS, *names) if name in names]
    for learner in dict.fromkeys(order):
        own = settings if learner in experiment.settings[settings].learners else "paper"
        ranks = experiment.ranks(own, learner)
        runs = list(select(measured, learner=learner))
        curve: dict[int, dict[int, float]] = {}
        if experiment.name == "dyck-rank":
            curve = {rank: values_of(select(runs, rank=rank), metric) for rank in ranks}
        else:
            for size, seed in product(distinct(runs, "size"), distinct(runs, "seed")):
                by_rank = runs_by_rank(select(runs, size=size, seed=seed), ranks)
                if by_rank:
                    score = (chosen_by or metric).removeprefix("validation_")
                    rank = chosen_rank(
                        by_rank, score if score in ("wer", "bits_per_symbol") else "log2_pauto"
                    )
                    curve.setdefault(size, {}).update(values_of(by_rank[rank], metric))
        points = {x: values for x, values in curve.items() if values}
        if points:
            curves[learner] = points
    return {**curves}


def _reference_lines(
    experiment: Experiment, lines: Sequence[Measured], curves: Curves, metric: str
) -> dict[str, Curve]:
    """Collect the values of reference lines for the ranks or sizes and seeds of some curves,
    without a true model that is 0.
    """
    references: dict[str, Curve] = {}
    for name in LINES[:2] if metric in ("kl", FLOORED) else LINES:
        curve: dict[int, dict[int, float]] = {}
        for x in sorted({x for points in curves.values() for x in points}):
            seeds = {seed for points in curves.values() for seed in points.get(x, ())}
            own = [
                one
                for one in select(lines, learner=name)
                if experiment.name == "dyck-rank" or one.planned.size == x
            ]
            values = {
                seed: value for seed, value in values_of(own, metric).items() if seed in seeds
            }
            curve |= {x: values} if values else {}
        references[name] = curve
    return references


def _spreads(curve: Curve) -> dict[int, Spread]:
    return {x: Spread.of(values.values()) for x, values in curve.items()}


def _curve_table(
    series: Mapping[str, Mapping[int, Spread]], x_title: str, form: str, ties: Mapping[int, Spread]
) -> str:
    """Tabulate means by rank or sample size, with the number of seeds and the share of SP's
    predictions that are ties.
    """
    xs = sorted({x for name, points in series.items() if name not in LINES for x in points})
    columns: dict[str, list[str]] = {}
    for name, points in series.items():
        columns[name] = [points[x].text(form) if x in points else "" for x in xs]
        if name == "SP" and ties:
            columns[TIED] = [ties[x].text(".2f") if x in ties else "" for x in xs]
    seeds = [
        str(
            max(
                points[x].count
                for name, points in series.items()
                if name not in LINES and x in points
            )
        )
        for x in xs
    ]
    rows = zip((f"{x:,}" for x in xs), seeds, *columns.values(), strict=True)
    return table((x_title, "seeds", *columns), rows)


def _behind_baselines(curves: Curves, references: Curves, x_title: str) -> list[str]:
    """Write at which ranks or sizes a learner is worse than the uniform model or the n-gram, in the
    mean over seeds.
    """
    sentences = []
    for line in LINES[:2]:
        worse = []
        for name, curve in curves.items():
            pairs = {
                x: (Spread.of(curve[x].values()), Spread.of(references[line].get(x, {}).values()))
                for x in sorted(curve)
            }
            xs = [
                f"{x:,}"
                for x, (own, other) in pairs.items()
                if other.count and own.order > other.order
            ]
            if xs:
                worse.append(f"{name} at {x_title[-1]} = {', '.join(xs)}")
        if worse:
            sentences.append(f"Worse than {model_name(line)}: {'; '.join(worse)}.")
    return [" ".join(sentences)] if sentences else []


def _zeros(
    experiment: Experiment, runs: Mapping[str, Sequence[Measured]], x_title: str
) -> list[str]:
    """Tabulate SP's strings of weight 0, and its score when such weights are raised to the
    floor.
    """
    body = []
    for name in ("paper", "refined"):
        zero, floored = (
            _curves(experiment, name, runs[name], metric, FLOORED).get("SP", {})
            for metric in ("num_zero", FLOORED)
        )
        if any(value for values in zero.values() for value in values.values()):
            columns = ((zero, ".1f"), (floored, ".2g"))
            rows = [
                (f"{x:,}", *(Spread.of(curve[x].values()).text(form) for curve, form in columns))
                for x in sorted(zero)
            ]
            header = (x_title, SCORE_TITLES["num_zero"], FLOORED_TITLE)
            body.append(f"With {experiment.settings[name].title}:\n\n{table(header, rows)}")
    return ["## Strings to which SP gives weight 0", *body] if body else []


# The paper's claims


HOW_JUDGED = f"""\
*Yes* means that the network is ahead of SP, the uniform model and the 5-gram, each time with a {CONFIDENCE:.0%} interval
of the paired differences between seeds (Student's t) that excludes 0. *No* means that it is behind SP by the same test.
If the paper says *similarly*, *yes* means that the interval of the difference from SP lies within ±{SIMILAR} and that the
network is ahead of the other two; *no* means that this interval lies wholly above {SIMILAR} or wholly below −{SIMILAR}.
A network that meets the condition on SP, but is behind another model, is listed with that model. In all other cases, or
with fewer than {MIN_SEEDS} seeds, the answer is *{UNDECIDED}*. Intervals are not corrected for the number of ranks or sizes.

For each seed, the network of these settings that is best in the same score on the validation strings is compared; test scores are not
used to choose it. The paper shows curves without numbers, so only its sentences can be checked. Its curves are finite, so weights of 0 are replaced by {FLOOR:g} of the
total before Pautomac scores are compared; otherwise SP's score would be ∞ wherever a test string has weight 0. A positive difference means
that the network is ahead."""  # noqa: E501


def _judged_claims(
    experiment: Experiment,
    runs: Mapping[str, Sequence[Measured]],
    lines: Sequence[Measured],
    x_title: str,
) -> list[str]:
    """Write verdicts on the paper's claims, and tables of the comparisons on which they are
    based.
    """
    body = ["## Compared with the paper's claims"]
    tables = []
    x_name = f"{x_title[-1]} ="
    for name, settings in experiment.settings.items():
        if name == CONTROLS:
            continue
        networks = networks_of(settings)
        comparisons = {}
        for metric in (FLOORED, "wer"):
            form, validation = COMPARED[metric]
            curves = _curves(experiment, name, runs[name], metric)
            chosen_by = _networks(_curves(experiment, name, runs[name], validation), networks)
            references = _reference_lines(
                experiment, lines, curves, "kl" if metric == FLOORED else metric
            )
            baselines = {line: references[line] for line in LINES[:2]}
            comparisons[metric] = compare(
                curves.get("SP", {}), _networks(curves, networks), chosen_by, baselines
            )
            ties = (
                _curves(experiment, name, runs[name], "share_tied", metric).get("SP", {})
                if metric == "wer"
                else {}
            )
            rows = [
                _comparison_row(one, curves["SP"][one.x], ties.get(one.x), networks, form)
                for one in comparisons[metric]
            ]
            if rows:
                header = (
                    *(x_title, "seeds", "SP", *([TIED] if ties else [])),
                    *(f"{network} ahead of SP by" for network in networks[len(networks) == 1 :]),
                    *("network chosen, in how many seeds", "it is ahead of SP by", "in seeds"),
                    *(f"ahead of {model_name(line)} by" for line in LINES[:2]),
                )
                tables.append(
                    f"{COMPARED_TITLES[metric]}, with {settings.title}:\n\n{table(header, rows)}"
                )
        xs = (
            experiment.ranks(name, networks[0])
            if experiment.name == "dyck-rank"
            else sorted({planned.size for planned in experiment.runs})
        )
        answers = [
            f"- {claim.text}: "
            f"{verdict(claim, comparisons[FLOORED if claim.metric == 'log2_pauto' else claim.metric], x_name, xs)}"  # noqa: E501
            for claim in CLAIMS[experiment.name]
            if any(claim.low <= x <= claim.high for x in xs)
        ]
        body.append("\n".join([f"With {settings.title}:", "", *answers]))
    return [*body, HOW_JUDGED, *tables]


def _comparison_row(
    comparison: Comparison,
    linear: Mapping[int, float],
    ties: Mapping[int, float] | None,
    networks: Sequence[str],
    form: str,
) -> Sequence[str]:
    """Write a row of differences: each network against SP, and the chosen network against SP and
    the baselines.
    """
    return (
        *(f"{comparison.x:,}", str(comparison.linear.count), Spread.of(linear.values()).text(form)),
        *([] if ties is None else [Spread.of(ties.values()).text(".2f")]),
        *(
            comparison.networks[name].text(form) if name in comparison.networks else ""
            for name in networks[len(networks) == 1 :]
        ),
        ", ".join(f"{name} {count}" for name, count in comparison.choices.items()),
        comparison.linear.text(form),
        f"{comparison.linear.ahead} of {comparison.linear.count}",
        *(
            comparison.baselines[line].text(form) if line in comparison.baselines else ""
            for line in LINES[:2]
        ),
    )


def networks_of(settings: Settings) -> list[str]:
    """List the networks among the learners of some settings."""
    return [learner for learner in settings.learners if learner in NETWORK_LEARNERS]


def _networks(curves: Curves, names: Iterable[str]) -> dict[str, Curve]:
    """Select the curves of networks; a network that was not run yet has an empty curve."""
    return {name: curves.get(name, {}) for name in names}


# Controls with the same number of states


HOW_CONTROLLED = f"""\
SP + likelihood is a linear model that is learned from the same Hankel matrix as the refined both.non, and refined for the same
number of steps. HMM and GRU have the library's defaults ([opponents](../opponents.md)): the HMM has at most 500 iterations of EM
from each of three starts, and the GRU at most 6,000 updates of AdamW at rate 0.02. Validation strings stop all three. A GRU has more parameters
than a network with the same number of states.

Again the network is chosen by its validation score, and a positive difference means that it is ahead.
*{UNDECIDED.capitalize()}* means that the {CONFIDENCE:.0%} interval contains 0, or that there are fewer than {MIN_SEEDS} seeds."""  # noqa: E501


def _beside_controls(
    experiment: Experiment, runs: Mapping[str, Sequence[Measured]], x_title: str
) -> list[str]:
    """Compare the networks with models of the same number of states that are trained by
    likelihood.
    """
    x_name = f"{x_title[-1]} ="
    body = []
    sentences = []
    measured = list(runs[CONTROLS])
    learners = [
        name
        for name in experiment.settings[CONTROLS].learners
        if name in {one.planned.learner for one in measured}
    ]
    if not learners:
        return []
    compared = [name for name in experiment.settings if name != CONTROLS]
    for metric, (form, validation) in COMPARED.items():
        rows = []
        signs: dict[tuple[str, str], dict[int, str]] = {}
        for learner in learners:
            control = _curves(
                experiment, CONTROLS, list(select(measured, learner=learner)), metric
            ).get(learner, {})
            for x in sorted(control):
                cells = []
                for name in compared:
                    networks = networks_of(experiment.settings[name])
                    scores, chosen_by = (
                        _networks(_curves(experiment, name, runs[name], score), networks)
                        for score in (metric, validation)
                    )
                    chosen, _ = chosen_network(scores, chosen_by, x)
                    difference = Difference.of(chosen, control[x])
                    ahead = f" ({difference.ahead} of {difference.count})" if difference else ""
                    cells.append(f"{difference.text(form)}{ahead}" if difference else "")
                    if difference:
                        signs.setdefault((name, learner), {})[x] = ("behind", UNDECIDED, "ahead")[
                            difference.sign + 1
                        ]
                title = CONTROL_TITLES.get(learner, learner)
                rows.append((title, f"{x:,}", Spread.of(control[x].values()).text(form), *cells))
        if not rows:
            continue
        header = (
            "control",
            x_title,
            "its score",
            *(f"{name}: ahead by (in seeds)" for name in compared),
        )
        body.append(f"{COMPARED_TITLES[metric]}:\n\n{table(header, rows)}")
        for name in compared:
            parts = [
                f"{CONTROL_TITLES.get(learner, learner)}: {by_answer(signs[name, learner], x_name)}"
                for learner in learners
                if (name, learner) in signs
            ]
            if parts:
                sentences.append(
                    f"- {COMPARED_TITLES[metric]}, {name}. Against {'. Against '.join(parts)}."
                )
    missing = [
        CONTROL_TITLES.get(name, name)
        for name in experiment.settings[CONTROLS].learners
        if name not in learners
    ]
    if not body:
        return []
    if missing:
        sentences.append(f"- Not yet run: {', '.join(missing)}.")
    return [
        "## Against models of the same number of states",
        HOW_CONTROLLED,
        "\n".join(sentences),
        *body,
    ]


# Table 1: English verbs


# Learner -> the paper's log(Pauto) and WER.
TABLE_1 = {
    "SP": (21.3807, 0.8033),
    "tran.non": (12.2571, 0.8841),
    "fac.non": (13.8311, 0.7061),
    "both.non": (13.6604, 0.8334),
}
_LOG2, _WER, _BITS = (
    SCORE_OF[field].short_title for field in ("log2_pauto", "wer", "bits_per_symbol")
)
TABLE_1_HEADER = (
    *(
        "model",
        "k",
        _LOG2,
        _LOG2.replace("log₂", "ln"),
        "paper: log(Pauto)",
        _WER,
        f"paper: {_WER}",
        _BITS,
        "zero outputs",
    ),
)


def table_1_body(experiment: Experiment, measured: Sequence[Measured]) -> Body:
    """Write the body of "verbs" or "verbs-shipped", which have no figures."""
    body = ["## Table 1"]
    lines = list(select(measured, settings=REFERENCE))
    line_rows = [_table_1_row(line, "", select(lines, learner=line)) for line in LINES[:2]]
    for name, settings in experiment.settings.items():
        runs = settings_runs(experiment, name, measured)
        rows = []
        chosen = {}
        learners = settings.learners if "SP" in settings.learners else ("SP", *settings.learners)
        for learner in learners:
            own = name if learner in settings.learners else "paper"
            by_rank = runs_by_rank(select(runs, learner=learner), experiment.ranks(own, learner))
            if by_rank:
                rank = chosen_rank(by_rank, "wer")
                chosen[learner] = by_rank[rank]
                title = CONTROL_TITLES.get(learner, learner) if name == CONTROLS else learner
                paper = ("", "")
                if name != CONTROLS:
                    paper = (f"{TABLE_1[learner][0]:.2f}", f"{TABLE_1[learner][1]:.3f}")
                rows.append(_table_1_row(title, str(rank), by_rank[rank], paper))
        if not rows:
            body.append(f"With {settings.title}: no learner has been run with every rank yet.")
            continue
        body.append(f"With {settings.title}:\n\n{table(TABLE_1_HEADER, [*rows, *line_rows])}")
        if len(chosen) < len(learners):
            body.append("A learner has a row only if it has been run with every rank.")
        elif name != CONTROLS:
            body.append(_judged_table_1(chosen, lines))
    return [*body, HOW_JUDGED_TABLE_1], {}


HOW_JUDGED_TABLE_1 = f"""\
*Agrees* means that the model is ahead of all others in its table, including the uniform model and the 5-gram, with a
{CONFIDENCE:.0%} interval of the paired differences between seeds that excludes 0. With fewer than {MIN_SEEDS} seeds, or if an
interval contains 0, the answer is *{UNDECIDED}*. For each seed, “one of the NL-WFA models” is the one with the best
validation score."""  # noqa: E501


def _judged_table_1(chosen: Mapping[str, Sequence[Measured]], lines: Sequence[Measured]) -> str:
    """Write verdicts on what the paper says about Table 1, from the runs of each learner at its
    chosen rank.
    """

    def values(metric: str) -> dict[str, dict[int, float]]:
        seeds = {one.planned.seed for one in chosen["SP"]}
        references = {line: values_of(select(lines, learner=line), metric) for line in LINES[:2]}
        own = {learner: values_of(runs, metric) for learner, runs in chosen.items()}
        return own | {
            line: {seed: value for seed, value in by.items() if seed in seeds}
            for line, by in references.items()
        }

    def network(metric: str) -> dict[int, float]:
        scores = values(metric)
        validation = values(f"validation_{metric}")
        test_scores, choosing = (
            {name: {0: of[name]} for name in chosen if name in NETWORK_LEARNERS}
            for of in (scores, validation)
        )
        return chosen_network(test_scores, choosing, 0)[0]

    def best(metric: str, name: str) -> list[str]:
        scores = values(metric)
        return [ahead(scores[name], scores[other]) for other in scores if other != name]

    def ahead(model: Mapping[int, float], other: Mapping[int, float]) -> str:
        difference = Difference.of(model, other)
        if difference is None or difference.count < MIN_SEEDS:
            return UNDECIDED
        return ("no", UNDECIDED, "yes")[difference.sign + 1]

    def answer(answers: Sequence[str]) -> str:
        if "no" in answers:
            return "**does not agree**"
        return "**agrees**" if set(answers) == {"yes"} else f"**{UNDECIDED}**"

    outperforms = []
    for metric in ("log2_pauto", "wer"):
        model = network(metric)
        scores = values(metric)
        outperforms += [ahead(model, scores[other]) for other in ("SP", *LINES[:2])]
    answers = {
        "“for both metrics, one of the NL-WFA models outperforms linear spectral learning”": outperforms  # noqa: E501
    }
    if len(chosen) == len(TABLE_1):
        answers["“tran.non gives the best performances”, in log(Pauto)"] = best(
            "log2_pauto", "tran.non"
        )
        answers["“for the prediction task fac.non shows a significant advantage”"] = best(
            "wer", "fac.non"
        )
    parts = [f"- {text}: {answer(every)}" for text, every in answers.items()]
    seeds = len(values_of(chosen["SP"], "wer"))
    counted = f"{seeds} {'seed' if seeds == 1 else 'seeds'}"
    return f"Compared with the paper's claims ({counted}):\n\n" + "\n".join(parts)


def _table_1_row(
    model: str, rank: str, measured: Iterable[Measured], paper: tuple[str, str] = ("", "")
) -> Sequence[str]:
    runs = list(measured)
    log2, wer, bits, zeros = (
        values_of(runs, metric).values()
        for metric in ("log2_pauto", "wer", "bits_per_symbol", "num_zero")
    )
    scores = [
        *(
            Spread.of(log2).text(".2f"),
            Spread.of(value * math.log(2) for value in log2).text(".2f"),
            paper[0],
        ),
        *(
            Spread.of(wer).text(),
            paper[1],
            Spread.of(bits).text(".2f"),
            Spread.of(zeros).text(".0f"),
        ),
    ]
    return (model, rank, *scores)


# SPiCe 4 by training size


# The published version's table: model -> WER with 1,000, 2,000, 3,000, 4,000 and all strings; None
# where it is not printed.
PUBLISHED_SIZES = 5
PUBLISHED_WER: dict[str, tuple[float | None, ...]] = {
    "SP": (0.8432, 0.8342, 0.8195, 0.8141, 0.8033),
    "HMM": (0.808, 0.793, 0.781, 0.776, 0.753),
    "LSTM": (0.806, 0.788, 0.736, 0.692, 0.669),
    "fac.non": (0.7630, 0.7332, 0.7134, 0.6935, 0.6831),
    "tran.non": (None, None, None, None, 0.8441),
    "both.non": (None, None, None, None, 0.7910),
}
PUBLISHED_PAUTO = {
    "SP": 4.234,
    "HMM": 3.496,
    "LSTM": 4.191,
    "fac.non": 4.144,
    "tran.non": 3.098,
    "both.non": 2.748,
}
PUBLISHED_NAMES = {"HMM": "EM", "LSTM": "RNN"}
READING_TITLES = {
    "prefix_wer_target": "the target alone",
    "prefix_wer_inside": "all symbols inside the prefixes",
    "prefix_wer_inside_and_target": "inside and target",
    "prefix_wer_whole": "prefixes taken for whole strings, the end counted",
}


def spice_body(experiment: Experiment, measured: Sequence[Measured]) -> Body:
    """Write the body of "spice-4": WER by training size, by each definition, and Pautomac scores,
    next to the published numbers.
    """
    runs = {name: settings_runs(experiment, name, measured) for name in experiment.settings}
    sizes = sorted({planned.size for planned in experiment.runs})
    chosen: dict[str, dict[int, list[Measured]]] = {}
    for name, settings in experiment.settings.items():
        for learner, size in product(settings.learners, sizes):
            by_rank = runs_by_rank(
                select(runs[name], learner=learner, size=size), experiment.ranks(name, learner)
            )
            if by_rank:
                chosen.setdefault(learner, {})[size] = by_rank[chosen_rank(by_rank, "wer")]
    models = [name for name in PUBLISHED_WER if name in chosen]
    lines = {
        line: {size: list(select(measured, learner=line, size=size)) for size in sizes}
        for line in LINES[:2]
    }
    by_model: Mapping[str, Mapping[int, Sequence[Measured]]] = {
        **{name: chosen[name] for name in models},
        **lines,
    }
    tables, distances = _wer_tables(by_model, sizes)
    body = [
        "## Word error rate by training size",
        *tables,
        "Mean distance of the means from the published numbers, over the sizes that were run:\n\n"
        + table(
            ("model", *READING_TITLES.values()),
            [(_published_name(name), *cells) for name, cells in distances.items()],
        ),
        "## Ranks chosen by validation strings",
        table(
            ("model", *map(_size, sizes)),
            [
                (
                    _published_name(name),
                    *(_rank_and_seeds(chosen[name].get(size, [])) for size in sizes),
                )
                for name in models
            ],
        ),
        f"## Pautomac score, {max(sizes):,} strings",
        table(
            ("model", _LOG2, "ln", "log₁₀", "published: log Pauto", "strings of weight 0"),
            [
                *(_pauto_row(name, by_model[name].get(max(sizes), [])) for name in by_model),
                ("*lowest possible*", *_in_three_bases([_entropy(experiment)]), "", ""),
            ],
        ),
        "The lowest possible score is the entropy of the prefixes' frequencies. A published "
        "number below this score in some base has another base, or was computed on other strings.",
    ]
    return body, {}


def _wer_tables(
    by_model: Mapping[str, Mapping[int, Sequence[Measured]]], sizes: Sequence[int]
) -> tuple[list[str], dict[str, list[str]]]:
    """Write a table for each reading of the word error rate, with the published numbers in
    brackets.

    Returns the tables, and model -> its mean distance from the published numbers by each reading.
    """
    tables = []
    distances: dict[str, list[str]] = {name: [] for name in by_model if name in PUBLISHED_WER}
    for reading, title in READING_TITLES.items():
        rows = []
        for name, by_size in by_model.items():
            published = PUBLISHED_WER.get(name, (None,) * PUBLISHED_SIZES)
            are_all = len(sizes) == PUBLISHED_SIZES
            numbers = dict(zip(sizes, published, strict=True)) if are_all else {}
            cells = []
            gaps = []
            for size in sizes:
                spread = Spread.of(values_of(by_size.get(size, []), reading).values())
                number = numbers.get(size)
                cells.append(
                    spread.text() if number is None else f"{spread.text()} ({number:.3f})".strip()
                )
                if number is not None and spread.mean is not None:
                    gaps.append(abs(spread.mean - number))
            if name in distances:
                distances[name].append(f"{sum(gaps) / len(gaps):.3f}" if gaps else "")
            rows.append((_published_name(name), *cells))
        tables.append(
            f"{title[0].upper()}{title[1:]}; in brackets, the published "
            f"number:\n\n{table(('model', *map(_size, sizes)), rows)}"
        )
    return tables, distances


def _published_name(name: str) -> str:
    return f"{name} (published: {PUBLISHED_NAMES[name]})" if name in PUBLISHED_NAMES else name


def _size(size: int) -> str:
    return f"{size:,} strings"


def _rank_and_seeds(runs: Sequence[Measured]) -> str:
    seeds = len({one.planned.seed for one in runs})
    return (
        f"k = {runs[0].planned.rank} ({seeds} {'seed' if seeds == 1 else 'seeds'})" if runs else ""
    )


def _pauto_row(name: str, runs: Sequence[Measured]) -> Sequence[str]:
    published = f"{PUBLISHED_PAUTO[name]:.3f}" if name in PUBLISHED_PAUTO else ""
    zeros = Spread.of(values_of(runs, "num_zero").values()).text(".0f")
    return (
        _published_name(name),
        *_in_three_bases(list(values_of(runs, "log2_pauto").values())),
        published,
        zeros,
    )


def _in_three_bases(log2: Sequence[float]) -> list[str]:
    """Convert logarithms to base 2 into the bases 2, e and 10, and write each."""
    return [
        Spread.of(value * factor for value in log2).text(".2f")
        for factor in (1.0, math.log(2), math.log10(2))
    ]


def _entropy(experiment: Experiment) -> float:
    """Compute the entropy of the frequencies of the prefixes, in bits."""
    counts = Counter(experiment.prefixes.words if experiment.prefixes else ())
    return -sum(
        count / counts.total() * math.log2(count / counts.total()) for count in counts.values()
    )


# Squared functions


LEARNED_FROM = {"none": "H", "sqrt": "H^{1/2}"}
SQUARED_LEARNERS = ("SP", "fac.non")
SQUARED_METRIC = "relative_rmse"


def squares_body(experiment: Experiment, measured: Sequence[Measured]) -> Body:
    """Write the body of "squared": ranks of the matrices, then errors by the model's rank."""
    sizes = distinct(measured, "size")
    ranks = [
        (
            str(k),
            str(k * (k + 1) // 2),
            *(
                _matrix_rank(select(measured, settings=transform, size=k))
                for transform in LEARNED_FROM
            ),
        )
        for k in sizes
    ]
    body = [
        "## Ranks",
        table(("states k of f", "k (k + 1) / 2", "rank of H", "rank of H^{1/2}"), ranks),
        "## Error by rank",
        BANDS,
    ]
    files = {}
    errors: dict[tuple[int, str, str], dict[int, Spread]] = {}
    for k, transform, learner in product(sizes, LEARNED_FROM, SQUARED_LEARNERS):
        runs = list(select(measured, settings=transform, learner=learner, size=k))
        by_rank = {
            rank: values_of(select(runs, rank=rank), SQUARED_METRIC)
            for rank in distinct(runs, "rank")
        }
        errors[k, transform, learner] = _spreads(by_rank)
    for transform, matrix in LEARNED_FROM.items():
        panels = {
            f"k = {k}": {learner: errors[k, transform, learner] for learner in SQUARED_LEARNERS}
            for k in distinct(select(measured, settings=transform), "size")
        }
        title = f"Error on f² by rank, learned from {matrix}"
        files[f"squared-{transform}.svg"] = _chart(
            panels, title, "rank", SCORE_TITLES[SQUARED_METRIC], log_x=True, log_y=True
        )
        body.append(figure(title, f"squared-{transform}.svg"))
    for k in sizes:
        columns = {
            f"{name}, {LEARNED_FROM[transform]}": curve
            for (size, transform, name), curve in errors.items()
            if size == k
        }
        rows = [
            (
                str(rank),
                *(curve[rank].text(".1e") if rank in curve else "" for curve in columns.values()),
            )
            for rank in distinct(select(measured, size=k), "rank")
        ]
        body.append(
            f"f with {k} states, "
            f"{SCORE_TITLES[SQUARED_METRIC]}:\n\n{table(('rank', *columns), rows)}"
        )
    return body, files


def _matrix_rank(measured: Iterable[Measured]) -> str:
    """Write the numerical rank of a matrix as a range over seeds."""
    values = sorted(set(values_of(measured, "rank_h").values()))
    return " … ".join(f"{value:g}" for value in sorted({values[0], values[-1]})) if values else ""


BODIES = {
    "dyck-rank": curves_body,
    "dyck-samples": curves_body,
    "verbs": table_1_body,
    "verbs-shipped": table_1_body,
    "squared": squares_body,
    "spice-4": spice_body,
}

# Which runs are compared


def values_of(measured: Iterable[Measured], metric: str) -> dict[int, float]:
    """Collect a score by seed; runs without a value are left out."""
    return {
        one.planned.seed: value for one in measured if (value := one.values[metric]) is not None
    }


def values_of_all(measured: Iterable[Measured], metric: str) -> list[float]:
    """Collect a score of runs, several of which may have the same seed; runs without a value are
    left out.
    """
    return [value for one in measured if (value := one.values[metric]) is not None]


def whole_seeds(planned: Iterable[Planned], measured: Iterable[Measured]) -> set[int]:
    """Find the seeds for which all planned runs are done."""
    done = {one.planned for one in measured}
    runs = list(planned)
    return {one.seed for one in runs} - {one.seed for one in runs if one not in done}


def comparable(planned: Iterable[Planned], measured: Sequence[Measured]) -> list[Measured]:
    """Select the runs whose means can be compared: those of seeds for which all planned runs are
    done.

    Each seed has its own test strings, so means over different seeds can't be compared. If no seed
    has all runs, the seeds that all learners with any run have in common are used.
    """
    seeds = whole_seeds(planned, measured)
    if not seeds and measured:
        learners = {one.planned.learner for one in measured}
        seeds = set.intersection(
            *({one.planned.seed for one in select(measured, learner=name)} for name in learners)
        )
    return [one for one in measured if one.planned.seed in seeds]


def settings_runs(
    experiment: Experiment, name: str, measured: Iterable[Measured], x: str = "size"
) -> list[Measured]:
    """Select the `comparable` runs of some settings, for each rank or each size (`x`) separately.

    If SP was not run with these settings, because its result is the same as with others, its runs
    with the others are included.
    """
    lacks_linear = "SP" not in experiment.settings[name].learners
    own = {
        planned
        for planned in experiment.runs
        if planned.settings == name
        or (lacks_linear and (planned.settings, planned.learner) == ("paper", "SP"))
    }
    done = [one for one in measured if one.planned in own]
    runs = []
    for at in distinct(done, x):
        planned = [one for one in own if getattr(one, x) == at]
        comparable_runs = comparable(planned, list(select(done, **{x: at})))
        if {one.planned.settings for one in comparable_runs} != {"paper"} or name == "paper":
            runs += comparable_runs
    return runs


def runs_by_rank(measured: Iterable[Measured], ranks: Sequence[int]) -> dict[int, list[Measured]]:
    """Group runs by rank.

    Empty if a rank is missing, because choosing among the other ranks only would not be fair.
    """
    runs = list(measured)
    by_rank = {rank: list(select(runs, rank=rank)) for rank in ranks}
    return by_rank if all(by_rank.values()) else {}


def chosen_rank(by_rank: Mapping[int, Sequence[Measured]], metric: str) -> int:
    """Choose the rank whose runs have the best mean score on the validation strings; of tied ranks,
    the smallest.
    """

    def order(rank: int) -> tuple[tuple[int, float, float], int]:
        scores, zeros = (
            values_of(by_rank[rank], f"validation_{name}").values() for name in (metric, "num_zero")
        )
        return badness(list(scores), [int(zero) for zero in zeros]), rank

    return min(by_rank, key=order)


# Markdown


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table in Markdown.

    >>> print(table(("k", "WER"), [("5", "0.433")]))
    | k | WER |
    | --- | --- |
    | 5 | 0.433 |
    """
    return "\n".join(f"| {' | '.join(line)} |" for line in (header, ["---"] * len(header), *rows))


def _chart(
    panels: Mapping[str, plot.Scores], title: str, x_label: str, y_label: str, **axes: bool
) -> str:
    """Draw panels side by side as SVG, those that have a line; an empty one if none has."""
    panels = {name: series for name, series in panels.items() if series} or {"": {}}
    width = 0.7 + PANEL_WIDTHS[min(len(panels), len(PANEL_WIDTHS)) - 1] * len(panels)

    def draw(figure: Any) -> None:
        grid = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        plot.panels(panels, grid, x_label=x_label, y_label=y_label, **axes)

    return plot.render(draw, width=width, height=PANEL_HEIGHT, title=title)["svg"].decode()


def figure(title: str, file_name: str) -> str:
    return f"![{title}]({file_name})"
