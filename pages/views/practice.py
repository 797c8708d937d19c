"""What the Practice page shows: the choice of kinds, one task, and the score of this session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from nlwfa_core.errors import did_you_mean, plural
from nlwfa_core.lab.tasks.bank import LARGEST_SEED, Kind, scheduled_task
from pages.shared import cache, screen
from pages.shared.exercises import exercise, responses
from pages.shared.widgets import escape_markdown

KINDS, NUMBER = "practice.kinds", "practice.number"


def choice() -> tuple[list[str], int]:
    """Draw the widgets for the kinds of tasks and for the number of the task, which a link may set. No kinds means all of them."""
    bank = cache.tasks()
    _read_link(bank)
    left, right = st.columns([4, 1], vertical_alignment="bottom")
    names = left.multiselect(
        "Kinds of tasks",
        list(bank),
        format_func=lambda name: f"{bank[name].topic}: {bank[name].title}",
        key=KINDS,
        placeholder=f"mixed: all {len(bank)} kinds",
        select_all=False,
        persist_state="session",
    )
    number = right.number_input("Number of the task", 1, LARGEST_SEED, key=NUMBER, persist_state="session")
    screen.write("tasks", ",".join(names))
    screen.write("task", "" if number == 1 else str(number))
    return names, number


def _read_link(bank: Mapping[str, Kind]) -> None:
    """Set the widgets to what a link says; what it can't mean is reported and left out."""
    st.session_state.setdefault(NUMBER, 1)
    names, number = screen.unread("tasks"), screen.unread("task")
    if names is not None:
        chosen = [name for name in names.split(",") if name]
        st.session_state[KINDS] = [name for name in dict.fromkeys(chosen) if name in bank]
        if unknown := [name for name in chosen if name not in bank]:
            text = f"tasks: there is no kind of task called {unknown[0][:40]!r}; it was left out{did_you_mean(unknown[0], bank)}"
            st.toast(escape_markdown(text), icon=":material/info:")
    if number is not None:
        valid = number.isdecimal() and len(number) < 11 and 1 <= int(number) <= LARGEST_SEED
        st.session_state[NUMBER] = int(number) if valid else 1
        if number and not valid:
            text = f'"task = {number[:40]}" in this link is not valid; 1 is used instead.'
            st.toast(escape_markdown(text), icon=":material/info:")


def task(names: Sequence[str], number: int) -> None:
    """Draw a task with its entry, and the buttons to the tasks before and after it."""
    drawn = scheduled_task(cache.tasks(), names, number)
    with st.container(border=True, key="practice"):
        st.caption(f"{drawn.kind.topic} · task {number:,}")
        st.markdown(f"#### {drawn.kind.title}")
        st.markdown(drawn.text)
        exercise(drawn.kind.name, drawn.seed, drawn.question)
        with st.container(horizontal=True, key="practice_move"):
            response = responses().get((drawn.kind.name, drawn.seed))
            st.button("Previous", key="practice.back", on_click=_move, args=(-1,), disabled=number == 1)
            kind = "primary" if response and response.over else "secondary"
            st.button("Next task", key="practice.next", type=kind, on_click=_move, args=(1,), disabled=number == LARGEST_SEED)


def score() -> None:
    """Draw the score of all tasks of this session; nothing before the first is over."""
    over = [response for (name, _), response in responses().items() if name in cache.tasks() and response.over]
    if not over:
        return
    correct = [response for response in over if response.correct]
    first = sum(response.tries == 1 for response in correct)
    points = sum(response.points for response in over)
    st.markdown(
        f"**{points:.4g} of {plural(len(over), 'point')}**: {len(correct)} of {plural(len(over), 'task')} right, {first} of them "
        "at the first try. Parts of an answer that are right count, too."
    )


def _move(by: int) -> None:
    st.session_state[NUMBER] += by
