"""Start, pause, cancel and look up runs for a visitor, and keep the visitor's own list of runs."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import streamlit as st

from nlwfa_core import Recipe, RecipeError
from nlwfa_core.history import database
from nlwfa_core.history.database import database_errors_as_sentences
from nlwfa_core.history.owners import OwnList, pseudonym
from nlwfa_core.history.runs import History
from nlwfa_core.jobs.job import Person
from nlwfa_core.jobs.runner import JobStatus, Runner
from pages.shared import contents, visitor
from pages.shared.server import SHIPPED, home
from pages.shared.standing import MEMBER, standing

MAX_OWNERS = 5000
STARTED = "runs.started"
MAX_STARTED = 20
VISITED = "runs.visited"
GOING = "runs.going"

log = logging.getLogger(__name__)


@st.cache_resource(show_spinner=False)
def runner() -> Runner:
    """Return the job runner, of which this server has only one."""
    contents.uploads()  # its workers read them from disk
    return Runner(home(), shipped=SHIPPED, is_active=_is_active, person_of=_person_of)


@st.cache_resource(show_spinner=False)
def history() -> History:
    """Return the server's history. Raises RecipeError if it can't be reached."""
    with database_errors_as_sentences():
        return History.open(home(), database.PAGE_SECONDS)


def own() -> OwnList | None:
    """Return this visitor's list of runs; None if everyone sees all runs.

    Raises RecipeError if the history can't be reached.
    """
    if visitor.mode() != visitor.OWN:
        return None
    with database_errors_as_sentences():
        return OwnList(history(), pseudonym(home(), visitor.identity()))


def owner() -> str:
    """Return this session's name in the runner's queue."""
    name = visitor.session()
    _owners()[name] = visitor.owner()
    while len(_owners()) > MAX_OWNERS:
        _owners().pop(next(iter(_owners())), None)
    return name


@st.cache_resource(show_spinner=False)
def _owners() -> dict[str, visitor.Owner]:
    return {}


def _person_of(session: str) -> Person:
    """Return the person whose a session is: the same one in all tabs of a browser."""
    found = _owners().get(session)
    if found is None:
        return Person(session, is_known=False)
    is_member, _, since = standing.rank(found.browser)
    return Person(
        found.identity, found.is_known or is_member == MEMBER, 0.0 if found.is_known else since
    )


def sessions() -> int:
    """Count the browsers that are connected now."""
    return sum(map(_is_active, tuple(_owners())))


def _is_active(session: str) -> bool:
    """Return whether a session's browser is connected. Threads of the runner also call this."""
    return not st.runtime.exists() or bool(st.runtime.get_instance().is_active_session(session))


def prepare() -> None:
    """Make ready for a run that the visitor is likely to start."""
    runner().prepare()


def visit(*recipes: Recipe) -> None:
    """Count the visitor as connected and, if visitors have their own lists, add these runs to the
    visitor's list.
    """
    owner()
    st.session_state[GOING] = set()
    if visitor.mode() == visitor.OWN:
        visited: set[str] = st.session_state.setdefault(VISITED, set())
        new = [
            key for key in {recipe.key() for recipe in recipes} - visited if runner().status(key)
        ]
        visited.update(new)
        _add_to_own(new)


def submit(*recipes: Recipe, paused: bool = False) -> None:
    """Submit runs to the queue; if `paused`, each waits before its first epoch.

    Raises RecipeError if the queue is full.
    """
    keys = []
    try:
        for recipe in recipes:
            keys.append(runner().submit(recipe, owner(), paused))
            st.session_state[GOING].add(keys[-1])
            st.session_state[STARTED] = _newest([*st.session_state.get(STARTED, []), recipe])
            if paused:
                # so that the rules for pauses, such as their longest time, apply from the start
                pause(recipe)
    finally:  # if the queue is full after some of the runs, these must still be added
        _add_to_own(keys, again=True)


def submit_series(recipes: Sequence[Recipe]) -> None:
    """Submit runs that one worker is to do one after the other, in one turn.

    Raises RecipeError if the queue is full.
    """
    keys = runner().submit_series(recipes, owner())
    for recipe in recipes:
        status(recipe)  # notes runs that are still going; done ones do not end on this page
        st.session_state[STARTED] = _newest([*st.session_state.get(STARTED, []), recipe])
    _add_to_own(keys, again=True)


def _newest(started: list[Recipe]) -> list[Recipe]:
    """Return the last MAX_STARTED runs.

    Those that have ended go first, so many short runs do not hide a long one.
    """
    if len(started) <= MAX_STARTED:
        return started
    ended = (
        recipe
        for recipe in started
        if (job := status(recipe)) is None or job.state not in ("queued", "running")
    )
    oldest = next(ended, started[0])
    return [recipe for recipe in started if recipe is not oldest]


def _add_to_own(keys: list[str], again: bool = False) -> None:
    """Add runs to this visitor's list.

    If the database can't be reached, this is logged, and the runs continue.
    """
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
    """Pause a run after this many more epochs.

    Raises RecipeError if this session may not pause it.
    """
    runner().pause(recipe.key(), owner(), epochs)


def play(recipe: Recipe) -> None:
    """Continue a paused run."""
    runner().play(recipe.key())


def mine() -> dict[str, JobStatus]:
    """Return the runs of this session that are waiting, running or done, key -> status; the latest
    first.
    """
    jobs = {recipe.key(): status(recipe) for recipe in reversed(st.session_state.get(STARTED, []))}
    return {
        key: job
        for key, job in jobs.items()
        if job is not None and job.state in ("queued", "running", "done")
    }


def status(recipe: Recipe) -> JobStatus | None:
    """Return a run's status; None if nobody has started the run."""
    found = runner().status(recipe.key())
    if found and found.state in ("queued", "running"):
        st.session_state.setdefault(GOING, set()).add(found.key)
    return found


def any_has_ended() -> bool:
    """Return whether a run that was waiting or running while the page was drawn has ended.

    Parts of the page that were drawn before its end show no result, and nothing on the page may be
    watching it.
    """
    going: set[str] = st.session_state.get(GOING, set())
    return any(
        (job := runner().status(key)) and job.state not in ("queued", "running") for key in going
    )


def estimate(*recipes: Recipe) -> float | None:
    """Estimate how many seconds it takes to run recipes if nobody else is training; None if there
    is no comparable run.
    """
    return runner().estimate(*recipes)


def watch(recipe: Recipe) -> JobStatus | None:
    """Return a run's status for a page that shows its progress, and keep the run going as long as a
    page watches it.
    """
    return runner().status(recipe.key(), owner())
