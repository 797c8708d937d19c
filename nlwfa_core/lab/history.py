"""What the History page says of runs: a table with what differs, and one run's curves, diagnostics and options."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ..errors import RecipeError
from ..experiment.recipe import Recipe, run_title
from ..files import SHA256
from ..history.listing import NEWEST
from ..history.runs import Run
from ..jobs.folders import RUN_STAGES
from ..metrics.scores import MAIN_SCORES, SCORE_OF, Scores
from .options import IDLE, differing, options
from .tables import format_diagnostic, format_score

STATE_WORDS = {"queued": "waiting"}  # the others are called as they are
REASONS = {
    "interrupted": "Its server stopped before it was done.",
    "cancelled": "It was cancelled before it was done.",
}
SEEDS = ("seed of the strings", "seed of the networks")
UNREADABLE = "?"


def called(run: Run) -> str:
    """The name that people gave it, or what it is.

    >>> called(Run("0", "done", {}, "1", "dyck", "SP", 5, 100, 0))
    'SP, k = 5'
    """
    return run.name or run_title(run.learner, run.rank)


def state_word(state: str) -> str:
    return STATE_WORDS.get(state, state)


def why(run: Run) -> str:
    """A sentence where a run is not done and never will be by itself, else nothing."""
    return "" if run.state == "done" else run.message or REASONS.get(run.state, "")


def recipe_of(run: Run) -> Recipe | None:
    """None if this version can't read it."""
    try:
        return run.read_recipe()
    except (RecipeError, TypeError):
        return None


def uploads_named(run: Run) -> bool:
    """Whether its strings were somebody's file, of which the history has the hash alone."""
    return run.source == "upload"


def moment(seconds: float | None, zone: str | None = None) -> str:
    """A point in time as people write it, where they are; UTC where that is not known.

    >>> moment(0.0), moment(0.0, "Europe/Paris"), moment(None)
    ('1970-01-01 00:00 UTC', '1970-01-01 01:00', '–')
    """
    if seconds is None:
        return IDLE
    try:
        place = ZoneInfo(zone) if zone else None
    except (ZoneInfoNotFoundError, ValueError):
        place = None
    written = datetime.fromtimestamp(seconds, place or UTC).strftime("%Y-%m-%d %H:%M")
    return written if place else f"{written} UTC"


def took(run: Run) -> str:
    """Wall time of its stages."""
    stages = [value for stage, value in (run.seconds or {}).items() if stage in RUN_STAGES]
    return f"{sum(stages):.2f} s" if stages else IDLE


def runs_table(runs: Sequence[Run], order: str = NEWEST, zone: str | None = None) -> dict[str, list[str]]:
    """A row a run: scores on the test strings, what differs in their recipes, seeds, time and version, all as written.

    Parameters
    ----------
    runs : sequence of Run
    order : str
        As in `listing.Query`; a score gets a column.
    zone : str, optional
        Where the reader is, as in "Europe/Paris".
    """
    recipes = [recipe_of(run) for run in runs]
    known = [recipe for recipe in recipes if recipe is not None]
    by_run = [options(recipe) if recipe is not None else None for recipe in recipes]
    table: dict[str, list[str]] = {"run": [called(run) for run in runs], "status": [state_word(run.state) for run in runs]}
    table["tags"] = [", ".join(run.tags) for run in runs]
    for column in dict.fromkeys((*([] if order == NEWEST else [SCORE_OF[order]]), *MAIN_SCORES)):
        table[column.column] = [format_score(score(run, column.field), column.form) for run in runs]
    for name in [*(name for name in differing(known) if name not in SEEDS), *SEEDS]:
        table[name] = [UNREADABLE if entry is None else _short(entry[name]) for entry in by_run]
    table["time"] = [took(run) for run in runs]
    table["when"] = [moment(run.submitted, zone) for run in runs]
    table["version"] = [run.version for run in runs]
    if any(reasons := [why(run) for run in runs]):
        table["why"] = reasons
    return {name: column for name, column in table.items() if name != "tags" or any(column)}


def score(run: Run, metric: str) -> float | None:
    """A score as a number, however it is written in the row; None if there is none."""
    value = (run.scores or {}).get(metric)
    return None if value is None else float(value)


def scores_of(run: Run) -> Scores | None:
    """None if it is not done, or another version scored it otherwise."""
    values: dict[str, Any] = {name: float(value) if isinstance(value, str) else value for name, value in (run.scores or {}).items()}
    try:
        return Scores(**values)
    except (TypeError, ValueError):
        return None


def curves(run: Run) -> dict[str, tuple[str, list[int], list[float]]]:
    """Stage -> (measure, epochs, losses), as `lab.charts.loss_options` draws them."""
    return {
        stage: (curve["measure"], curve["epochs"], [float(loss) for loss in curve["losses"]])
        for stage, curve in (run.curves or {}).items()
    }


def diagnostics_table(run: Run) -> dict[str, list[str]]:
    """What a run's scores have to be read with, a row each; no rows where it is not done."""
    found = run.diagnostics or {}
    rows = {
        "radius of ΣA": _given(found, "spectral_radius"),
        "total mass": _given(found, "total_mass"),
        f"mass of strings of length ≤ {found.get('short_length')}": _given(found, "short_mass"),
        "zero outputs": _share(found, "share_zero"),
        "negative outputs": _share(found, "share_negative"),
        "outputs that are not finite": _share(found, "share_nonfinite"),
        "numerical rank": _given(found, "numerical_rank"),
    }
    return {"diagnostic": list(rows), "value": list(rows.values())} if found else {"diagnostic": [], "value": []}


def sentences(run: Run) -> list[str]:
    """What the lab said when it was done: notes, then warnings."""
    return list(dict.fromkeys([*(run.sentences or []), *(run.diagnostics or {}).get("warnings", [])]))


def _given(found: dict[str, Any], name: str) -> str:
    value = found.get(name)
    return format_diagnostic(None if value is None else float(value))


def _share(found: dict[str, Any], name: str) -> str:
    value = float(found.get(name, math.nan))
    return f"{value:.1%}" if math.isfinite(value) else IDLE


def _short(text: str) -> str:
    return f"{text[:8]}…" if SHA256.fullmatch(text) else text
