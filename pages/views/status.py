"""Draw the Status page: queue, workers, memory, disk, the last failures.

It never shows what people typed or uploaded.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib.metadata import version
from platform import python_version

import streamlit as st

from nlwfa_core import RecipeError, __version__
from nlwfa_core.display import machine
from nlwfa_core.display import run_tables as history_tables
from nlwfa_core.experiment.recipe import run_title
from nlwfa_core.history.database import database_errors_as_sentences, describe
from nlwfa_core.history.listing import Query, choices, list_runs
from nlwfa_core.history.runs import STATES, Run
from nlwfa_core.jobs.runner import Overview
from nlwfa_core.metrics.tables import Column, Numbers
from pages.shared import server, visitor, visitor_runs, widgets
from pages.shared.widgets import errors_as_messages, escape_markdown

SECONDS = 2.0
MAX_FAILURES = 10
PACKAGES = ("streamlit", "torch", "numpy", "scipy", "sqlalchemy", "plotly")


def stop_if_not_allowed() -> None:
    if not visitor.may_see_status():
        widgets.notes("This page is for the person who runs the server: NLWFA_STATUS=on shows it.")
        st.stop()


def board() -> None:
    """Draw all numbers, and update them every two seconds."""
    st.fragment(_board, run_every=SECONDS)()
    st.subheader("Versions", anchor=False)
    versions = {"NL-WFA Lab": __version__, "Python": python_version()} | {
        name: version(name) for name in PACKAGES
    }
    st.caption(" · ".join(f"{name} {number}" for name, number in versions.items()))


@errors_as_messages()
def _board() -> None:
    busy = visitor_runs.runner().overview()
    _cells(
        {
            "jobs waiting": f"{busy.waiting:,}",
            "jobs running": f"{busy.running:,}",
            "jobs paused": f"{busy.paused:,}",
            "workers alive": f"{len(busy.pids)} of {busy.num_working}",
            "browsers connected": f"{visitor_runs.sessions():,}",
        }
        | _sizes(busy)
    )
    if busy.people:
        st.markdown("**Queue** (anonymous)")
        table: dict[str, Column] = {
            "browser": [f"{number}." for number in range(1, len(busy.people) + 1)],
            "waiting": _counts(waiting for waiting, _ in busy.people),
            "running or paused": _counts(begun for _, begun in busy.people),
        }
        widgets.draw_table(table, "status.owners", "Jobs of each browser")
    st.subheader("History", anchor=False)
    try:
        _history()
    except RecipeError as error:
        st.error(escape_markdown(str(error)), icon=":material/error:")


def _cells(cells: dict[str, str]) -> None:
    with st.container(horizontal=True):
        for label, value in cells.items():
            st.metric(label, value, border=True, width=165)


def _sizes(busy: Overview) -> dict[str, str]:
    return {
        "server's memory": machine.format_bytes(machine.resident_bytes([os.getpid()])),
        "workers' memory": machine.format_bytes(machine.resident_bytes(busy.pids)),
        "memory left": machine.format_bytes(machine.available_bytes()),
        "used on disk": machine.format_bytes(server.bytes_on_disk()),
        "disk left": machine.format_bytes(machine.free_bytes(server.home())),
    }


def _history() -> None:
    states, failures = _past(MAX_FAILURES)
    counts = [
        f"{states[state]:,} {history_tables.state_word(state)}"
        for state in STATES
        if state in states
    ]
    text = " · ".join(counts) or "no run yet"
    st.markdown(f"{escape_markdown(describe(visitor_runs.history().reading.url))}: {text}")
    if failures:
        st.markdown("**The last failures**")
        table = {
            "when": [
                history_tables.format_time(run.ended, st.context.timezone) for run in failures
            ],
            "run": [run_title(run.learner, run.rank) for run in failures],
            "why": [_why(run) for run in failures],
        }
        widgets.draw_table(table, "status.failures", "The last runs that failed, and why")


@st.cache_data(ttl=5, show_spinner=False)
def _past(num_failures: int) -> tuple[dict[str, int], tuple[Run, ...]]:
    """Return the number of runs in each state, and the last failures. Raises RecipeError if the
    history can't be reached.

    The result is cached for a few seconds, because many people may look at the page.
    """
    with database_errors_as_sentences():
        failures = list_runs(
            visitor_runs.history(), Query(states=("failed",)), 0, num_failures
        ).runs
        return choices(visitor_runs.history()).states, failures


def _why(run: Run) -> str:
    """Return the reason why a run failed, unless its strings were uploaded: the message may quote
    them.
    """
    return (
        "Not shown: the message may quote a visitor's own strings."
        if history_tables.is_from_upload(run)
        else history_tables.reason(run)
    )


def _counts(numbers: Iterable[int]) -> Numbers:
    """Make a column of numbers of jobs."""
    return Numbers.of((number, f"{number:,} job{'' if number == 1 else 's'}") for number in numbers)
