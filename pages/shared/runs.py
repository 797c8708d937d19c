"""Runs from a visitor's point of view: start, pause, cancel, look up; the visitor's own list; connected sessions."""

from __future__ import annotations

import logging
from collections import deque

import streamlit as st

from nlwfa_core import Recipe, RecipeError
from nlwfa_core.history.database import database_errors_as_sentences
from nlwfa_core.history.owners import OwnList, pseudonym
from nlwfa_core.history.runs import History
from nlwfa_core.jobs.runner import JobStatus, Runner
from pages.shared import cache, visitor
from pages.shared.server import SHIPPED, home

MAX_OWNERS = 1000
STARTED, MAX_STARTED = "runs.started", 20
VISITED = "runs.visited"

log = logging.getLogger(__name__)


@st.cache_resource(show_spinner=False)
def runner() -> Runner:
    """The one runner of this server."""
    cache.uploads()  # its workers read them from disk
    return Runner(home(), shipped=SHIPPED, is_active=_is_active)


@st.cache_resource(show_spinner=False)
def history() -> History:
    """The server's history. Raises RecipeError if it can't be reached."""
    with database_errors_as_sentences():
        return History.open(home())


def own() -> OwnList | None:
    """This visitor's list of runs; None if everyone sees all runs. Raises RecipeError if the history can't be reached."""
    if visitor.mode() != visitor.OWN:
        return None
    with database_errors_as_sentences():
        return OwnList(history(), pseudonym(home(), visitor.identity()))


def owner() -> str:
    """This session's name in the runner's queue, where a reload makes a new session."""
    context = st.runtime.scriptrunner.get_script_run_ctx()
    name = context.session_id if context else ""
    if name not in _owners():
        _owners().append(name)
    return name


@st.cache_resource(show_spinner=False)
def _owners() -> deque[str]:
    return deque(maxlen=MAX_OWNERS)


def sessions() -> int:
    """How many browsers are connected now."""
    return sum(map(_is_active, tuple(_owners())))


def _is_active(session: str) -> bool:
    """Whether a session's browser is connected. Called in threads of the runner, too."""
    return not st.runtime.exists() or bool(st.runtime.get_instance().is_active_session(session))


def visit(*recipes: Recipe) -> None:
    """Count the visitor; where visitors have their own lists, add the runs they look at."""
    owner()
    if visitor.mode() == visitor.OWN:
        visited: set[str] = st.session_state.setdefault(VISITED, set())
        new = [key for key in {recipe.key() for recipe in recipes} - visited if runner().status(key)]
        visited.update(new)
        _add_to_own(new)


def submit(*recipes: Recipe, paused: bool = False) -> None:
    """Queue runs; with `paused`, each waits before its first epoch. Raises RecipeError, for example if the queue is full."""
    keys = []
    try:
        for recipe in recipes:
            keys.append(runner().submit(recipe, owner(), paused))
            st.session_state[STARTED] = [*st.session_state.get(STARTED, []), recipe][-MAX_STARTED:]
            if paused:
                pause(recipe)  # so that the rules for pauses hold from the start
    finally:  # the queue may be full after some of them
        _add_to_own(keys, again=True)


def _add_to_own(keys: list[str], again: bool = False) -> None:
    """Add runs to this visitor's list. If the database can't be reached, this is logged, and the runs continue."""
    try:
        if keys and (mine := own()):
            with database_errors_as_sentences():
                mine.add(keys, again)
    except RecipeError as error:
        log.warning("%s", error)


def cancel(*recipes: Recipe) -> None:
    """Cancel runs, unless another session that is still connected wants them."""
    for recipe in recipes:
        runner().cancel(recipe.key(), owner())


def pause(recipe: Recipe, epochs: int = 0) -> None:
    """Pause a run after this many more epochs. Raises RecipeError if this session may not."""
    runner().pause(recipe.key(), owner(), epochs)


def play(recipe: Recipe) -> None:
    """Continue a paused run."""
    runner().play(recipe.key())


def mine() -> dict[str, JobStatus]:
    """Key -> status of the runs that this session started and that are waiting, running or done; the latest first."""
    jobs = {recipe.key(): status(recipe) for recipe in reversed(st.session_state.get(STARTED, []))}
    return {key: job for key, job in jobs.items() if job is not None and job.state in ("queued", "running", "done")}


def status(recipe: Recipe) -> JobStatus | None:
    """A run's status; None if nobody has started it."""
    return runner().status(recipe.key())


def watch(recipe: Recipe) -> JobStatus | None:
    """A run's status for a page that shows its progress: the run continues while a page watches it."""
    return runner().status(recipe.key(), owner())
