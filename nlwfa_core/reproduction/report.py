"""Finished runs as figures and a Markdown page: how many seeds, the tables, what agrees with the paper, what does not."""

from __future__ import annotations

from collections.abc import Sequence

from .curves import curves_body
from .experiments import Experiment
from .markdown import table
from .runs import Finished, Run, of
from .settings import SETTINGS
from .squares import squares_body
from .statistics import whole_seeds
from .table_1 import table_1_body

TITLES = {
    "dyck-rank": "Dyck strings, by rank: the paper's Figures 2 and 3",
    "dyck-samples": "Dyck strings, by sample size: the paper's Figures 4 and 5",
    "verbs": "English verbs, SPiCe problem 4: the paper's Table 1",
    "verbs-shipped": "English verbs, the shipped ones: the paper's Table 1 on other data",
    "squared": "Squared functions: rank of H, rank of H^{1/2}, error by rank",
}
BODIES = {
    "dyck-rank": curves_body,
    "dyck-samples": curves_body,
    "verbs": table_1_body,
    "verbs-shipped": table_1_body,
    "squared": squares_body,
}


def write_report(experiment: Experiment, done: Sequence[Finished]) -> dict[str, str]:
    """File name -> text: the experiment's page and its figures."""
    body, figures = BODIES[experiment.name](experiment, done)
    page = "\n\n".join([f"# {TITLES[experiment.name]}", *_head(experiment, done), *body])
    return {f"{experiment.name}.md": f"{page}\n", **figures}


def _head(experiment: Experiment, done: Sequence[Finished]) -> list[str]:
    """What was run, and how much of it."""
    missing = len(experiment.runs) - len(done)
    state = f"{missing:,} runs are missing: the same command goes on with them." if missing else "Nothing is missing."
    command = f"nlwfa reproduce {experiment.name.removesuffix('-shipped')}"
    parts = [
        f"Made by `{command}` from the single runs in [{experiment.file}.csv]({experiment.file}.csv). {state}",
        table(
            ("settings", "runs done", "whole seeds"), [_share(name, planned, done) for name, planned in experiment.settings.items()]
        ),
    ]
    if experiment.base:
        parts.append("\n".join(f"- **{name}**: {settings.describe()}." for name, settings in SETTINGS.items()))
    if experiment.name == "verbs-shipped":
        parts.append(
            "These are other verbs than the paper's, whose file is not part of this project: `--train` and `--validation` take it."
        )
    return [
        *parts,
        "Values are mean ± standard deviation over whole seeds; where there is none, over those that all learners run so far have. "
        "One without ± is of one seed.",
    ]


def _share(settings: str, planned: Sequence[Run], done: Sequence[Finished]) -> Sequence[str]:
    """How many runs, and how many seeds of which none is missing."""
    own = list(of(done, settings=settings))
    seeds = len({place.seed for place in planned})
    return settings, f"{len(own):,} of {len(planned):,}", f"{len(whole_seeds(planned, own))} of {seeds}"
