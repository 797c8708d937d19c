"""Turn the history's runs into tables and text: a table of many runs, and one run's scores, curves
and diagnostics.

A value that can't be read becomes None or "–".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ..errors import RecipeError
from ..experiment.recipe import OPTIONS, Recipe, run_title
from ..experiment.results import RUN_STAGES
from ..files import SHA256, file_label
from ..history.listing import NEWEST
from ..history.runs import REASONS, STATE_WORDS, Run
from ..metrics.diagnostics import DIAGNOSTIC_TITLES, format_diagnostic
from ..metrics.score_table import MAIN_SCORES, SCORE_OF, SCORES, Scores
from ..metrics.tables import Numbers, Table, format_score
from .recipe_differences import NO_EFFECT, UNREADABLE, differing, option_column, options

MAX_DIFFERENCES = 3  # differing options that are listed next to a run's name
SEED_TITLES = (OPTIONS["data_seed"].title, OPTIONS["learning_seed"].title)


def run_name(run: Run) -> str:
    """Name a run by the name that a person gave it, otherwise by its learner and rank.

    >>> run_name(Run("0", "done", {}, "1", "dyck", "SP", 5, 100, 0))
    'SP, k = 5'
    """
    return run.name or run_title(run.learner, run.rank)


def state_word(state: str) -> str:
    """Return the word that pages show for a run's stored state: "waiting" for "queued"; all other
    states are shown as stored.
    """
    return STATE_WORDS.get(state, state)


def reason(run: Run) -> str:
    """Explain why a run failed or stopped; empty for runs that are done or in progress."""
    return "" if run.state == "done" else run.message or REASONS.get(run.state, "")


def recipe_of(run: Run) -> Recipe | None:
    """Read a run's recipe; None if it is not valid."""
    try:
        return run.read_recipe()
    except (RecipeError, TypeError):
        return None


def is_from_upload(run: Run) -> bool:
    """Return whether a run's strings come from an uploaded file, of which the history holds only
    the hash.
    """
    return run.source == "upload"


def format_time(seconds: float | None, zone: str | None = None) -> str:
    """Write a point in time in the reader's time zone, or in UTC if the zone is unknown.

    >>> format_time(0.0), format_time(0.0, "Europe/Paris"), format_time(None)
    ('1970-01-01 00:00 UTC', '1970-01-01 01:00', '–')
    """
    if seconds is None:
        return NO_EFFECT
    try:
        known_zone = ZoneInfo(zone) if zone else None
    except (ZoneInfoNotFoundError, ValueError):
        known_zone = None
    text = datetime.fromtimestamp(seconds, known_zone or UTC).strftime("%Y-%m-%d %H:%M")
    return text if known_zone else f"{text} UTC"


def total_seconds(run: Run) -> float | None:
    """Add up the wall times of a run's stages; None if there are none."""
    stages = [value for stage, value in (run.seconds or {}).items() if stage in RUN_STAGES]
    return sum(stages) if stages else None


def runs_table(
    runs: Sequence[Run],
    order: str = NEWEST,
    zone: str | None = None,
    titles: Mapping[str, str] | None = None,
) -> Table:
    """Make a table with a row for each run: test scores, options that differ, seeds, time and
    version.

    If several runs have the same name, the column "difference" lists the options that differ
    between them.

    `order`: the order of the runs, as in `listing.Query`. If they are ordered by a score, that
    score is the first of the score columns. `zone`: the reader's time zone, for example
    "Europe/Paris". `titles`: SHA-256 -> title of an uploaded file.
    """
    recipes = [recipe_of(run) for run in runs]
    readable = [recipe for recipe in recipes if recipe is not None]
    by_run = [options(recipe) if recipe is not None else None for recipe in recipes]
    table: Table = {"run": [run_name(run) for run in runs]}
    differences = _differences(runs, recipes, titles or {})
    if any(differences):
        table["difference"] = differences
    table["status"] = [state_word(run.state) for run in runs]
    table["tags"] = [", ".join(run.tags) for run in runs]
    for kind in dict.fromkeys((*([] if order == NEWEST else [SCORE_OF[order]]), *MAIN_SCORES)):
        table[kind.column] = Numbers.of(
            (value, format_score(value, kind.form))
            for value in (score(run, kind.field) for run in runs)
        )
    for name in [*(name for name in differing(readable) if name not in SEED_TITLES), *SEED_TITLES]:
        texts = (
            UNREADABLE if values is None else _shortened(values[name], titles or {})
            for values in by_run
        )
        table[name] = option_column(texts)
    table["time"] = Numbers.written(map(total_seconds, runs), _format_duration)
    table["when"] = [format_time(run.submitted, zone) for run in runs]
    table["version"] = [run.version for run in runs]
    reasons = [reason(run) for run in runs]
    if any(reasons):
        table["why"] = reasons
    return {
        name: column
        for name, column in table.items()
        if name != "tags" or any(run.tags for run in runs)
    }


def export_table(runs: Sequence[Run]) -> Table:
    """Make a table for other programs, with a row for each run: key, labels, the main options,
    seconds, and every score.

    Titles are the names of fields. Dates and times are in ISO 8601 format, in UTC.
    """
    table: Table = {name: [getattr(run, name) for run in runs] for name in ("key", "state", "name")}
    table["tags"] = [", ".join(run.tags) for run in runs]
    table |= {name: [getattr(run, name) for run in runs] for name in ("source", "learner")}
    for name in ("rank", "num_strings", "seed"):
        table[name] = Numbers.of((getattr(run, name), f"{getattr(run, name)}") for run in runs)
    recipes = [options(recipe) if (recipe := recipe_of(run)) is not None else {} for run in runs]
    table |= {
        name: [values.get(name, "") for values in recipes] for name in ("statistic", "transform")
    }
    table["submitted"] = [
        datetime.fromtimestamp(run.submitted, UTC).isoformat(timespec="seconds") for run in runs
    ]
    table["version"] = [run.version for run in runs]
    table["seconds"] = Numbers.written(map(total_seconds, runs), _format_duration)
    for kind in SCORES:
        table[kind.field] = Numbers.written(
            (score(run, kind.field) for run in runs), partial(format_score, form=kind.form)
        )
    return table


def _differences(
    runs: Sequence[Run], recipes: Sequence[Recipe | None], titles: Mapping[str, str]
) -> list[str]:
    """For each run, list the options by which it differs from other runs with the same name; empty
    if the name is unique.
    """
    groups: dict[str, list[Recipe]] = {}
    for run, recipe in zip(runs, recipes, strict=True):
        if recipe is not None:
            groups.setdefault(run_name(run), []).append(recipe)
    names = {name: differing(group) for name, group in groups.items()}
    texts = []
    for run, recipe in zip(runs, recipes, strict=True):
        values = options(recipe) if recipe is not None else {}
        parts = [
            f"{name} {_shortened(values[name], titles)}"
            for name in names.get(run_name(run), ())
            if name in values
        ]
        texts.append(
            ", ".join(parts[:MAX_DIFFERENCES]) + (" …" if len(parts) > MAX_DIFFERENCES else "")
        )
    return texts


def _format_duration(seconds: float | None) -> str:
    return NO_EFFECT if seconds is None else f"{seconds:.2f} s"


def score(run: Run, metric: str) -> float | None:
    """Read a score as a number, even if the row holds "inf" or "nan"; None if there is no score."""
    value = (run.scores or {}).get(metric)
    return None if value is None else float(value)


def scores_of(run: Run) -> Scores | None:
    """Read a run's scores; None if it has none, or they are damaged."""
    values: dict[str, Any] = {
        name: float(value) if isinstance(value, str) else value
        for name, value in (run.scores or {}).items()
    }
    try:
        return Scores(**values)
    except (TypeError, ValueError):
        return None


def loss_curves(run: Run) -> dict[str, tuple[str, list[int], list[float]]]:
    """Read a run's loss curves as a dict: stage of training -> (measure of loss, epochs,
    losses).
    """
    return {
        stage: (curve["measure"], curve["epochs"], [float(loss) for loss in curve["losses"]])
        for stage, curve in (run.curves or {}).items()
    }


def training_lines(run: Run) -> list[tuple[str, str]]:
    """Read how each stage of a run's training ended, as pairs of a state (`TrainingLog.state`) and
    a summary, such as ("exact", "transitions: relative loss 0.5, solved exactly").
    """
    return [(curve["state"], curve["summary"]) for curve in (run.curves or {}).values()]


def diagnostics_table(run: Run) -> Table:
    """Make a table of a run's diagnostics, with the columns diagnostic and value; an empty table if
    the run is not done.
    """
    if not run.diagnostics:
        return {}
    values = {field: run.diagnostics.get(field) for field in DIAGNOSTIC_TITLES}
    numbers = {field: None if value is None else float(value) for field, value in values.items()}
    length = run.diagnostics.get("short_length")  # named in the text of one of them
    cells = [
        (value, format_diagnostic(field, value, length, run.rank))
        for field, value in numbers.items()
    ]
    return {"diagnostic": list(DIAGNOSTIC_TITLES.values()), "value": Numbers.of(cells)}


def warnings(run: Run) -> list[str]:
    """List the warnings that were stored when the run finished."""
    return list((run.diagnostics or {}).get("warnings", []))


def notes(run: Run) -> list[str]:
    """List the other sentences that were stored when the run finished."""
    warned = warnings(run)
    return [sentence for sentence in run.sentences or [] if sentence not in warned]


def _shortened(text: str, titles: Mapping[str, str]) -> str:
    return file_label(text, titles.get(text, "")) if SHA256.fullmatch(text) else text
