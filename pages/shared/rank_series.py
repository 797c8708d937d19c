"""Train models of several ranks from Explore, one after the other, and report their progress."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from nlwfa_core import DataRecipe, Recipe, RecipeError
from nlwfa_core.errors import plural
from nlwfa_core.jobs.runner import JobStatus
from pages.shared import training, visitor_runs
from pages.shared.widgets import error_toast

STARTED = "rank_series.started"  # recipes
WAITING = "waiting …"

# learner -> rank -> the status of a run
Statuses = Mapping[str, Mapping[int, JobStatus]]


def start(recipes: Sequence[Recipe]) -> None:
    """Start training runs that differ only in rank and seed, in one turn of the queue."""
    if not recipes:
        return
    adopt(recipes)
    try:
        visitor_runs.submit_series(recipes)
    except RecipeError as error:
        error_toast(error)


def adopt(recipes: Sequence[Recipe]) -> None:
    """Count training runs as this session's, including those that were started before a reload of
    the page: `withdraw_others` cancels them.
    """
    started: list[Recipe] = st.session_state.setdefault(STARTED, [])
    started += [recipe for recipe in recipes if recipe not in started]


def withdraw_others(data: DataRecipe) -> None:
    """Cancel this session's training runs for strings other than these."""
    started: list[Recipe] = st.session_state.get(STARTED, [])
    others = [recipe for recipe in started if recipe.data != data]
    if others:
        visitor_runs.cancel(*reversed(others))
        st.session_state[STARTED] = [recipe for recipe in started if recipe.data == data]


def look(keys: Mapping[str, Mapping[int, Sequence[str]]]) -> Statuses:
    """Return the statuses of those runs that somebody has started since the server did.

    Parameters
    ----------
    keys : mapping
        Learner -> rank -> the keys of runs.
    """
    # once for hundreds of keys
    runner = visitor_runs.runner()
    owner = visitor_runs.owner()
    return {
        learner: {
            rank: status
            for rank, same in sorted(by_rank.items())
            for key in reversed(same)
            if runner.remembers(key) and (status := runner.status(key, owner))
        }
        for learner, by_rank in keys.items()
    }


def going(statuses: Statuses) -> list[JobStatus]:
    """List the runs that are waiting or running."""
    return [status for by_rank in statuses.values() for status in _active(by_rank).values()]


def told(statuses: Statuses) -> dict[str, dict[str, Any]]:
    """Return, for each learner whose training is not done, "text", how far it is; "doing",
    the same in a word or two; and "ranks", those that are not trained yet. Or "failed", why it
    failed.
    """
    found: dict[str, dict[str, Any]] = {}
    for learner, by_rank in statuses.items():
        active = _active(by_rank)
        if active:
            found[learner] = {"text": _text(active), "doing": _doing(active), "ranks": [*active]}
        elif failed := [status for status in by_rank.values() if status.state == "failed"]:
            found[learner] = {"failed": failed[0].message or ""}
    return found


def preview(by_rank: Mapping[int, JobStatus], rank: int) -> Mapping[str, Any] | None:
    """Return the network that is being trained for a rank, or for a smaller one before it, as it is
    now; None if there is none.
    """
    active = _active(by_rank)
    if rank not in active:
        return None
    previews = [active[each].preview for each in sorted(active) if each <= rank]
    return next(filter(None, previews), None)


def _active(by_rank: Mapping[int, JobStatus]) -> dict[int, JobStatus]:
    return {
        rank: status for rank, status in by_rank.items() if status.state in ("queued", "running")
    }


def _text(active: Mapping[int, JobStatus]) -> str:
    """Report how far the training of several ranks is."""
    running = [rank for rank, status in active.items() if status.state == "running"]
    if not running:
        return training.queue_words([*active.values()]) or WAITING
    verb = "paused" if active[running[0]].held else "training"
    others = len(active) - len(running)
    then = f", then {plural(others, 'more model')}" if others else ""
    return f"{verb}: {plural(running[0], 'state')}{then} …"


def _doing(active: Mapping[int, JobStatus]) -> str:
    running = [status for status in active.values() if status.state == "running"]
    if not running:
        return WAITING
    return "paused" if running[0].held else "training …"
