"""Draw the Start page: runs to resume, lessons, presets. To open at once, it reads no strings and trains nothing."""

from __future__ import annotations

import streamlit as st

from nlwfa_core import Recipe
from nlwfa_core.experiment.presets import PRESETS
from pages.shared import cache, lessons, runs, sidebar
from pages.shared.navigation import switch
from pages.shared.widgets import escape_markdown

CARDS_A_ROW = 3
MAX_RUNS = 5
CLASS = (
    "The first three fill a class of 50 minutes, and nobody waits: the models are already trained. *Share* in the sidebar makes a "
    "link that opens the same step for everyone, with only the controls you choose, or as a slide."
)
STATES = {"queued": "waiting", "running": "running", "done": "finished"}


def lesson_cards() -> None:
    lesson_list = list(cache.lessons().values())
    for start in range(0, len(lesson_list), CARDS_A_ROW):
        columns = st.columns(CARDS_A_ROW)
        for column, lesson in zip(columns, lesson_list[start : start + CARDS_A_ROW], strict=False):
            with column.container(border=True, height="stretch", key=f"card_{lesson.name}"):
                st.markdown(f"##### {lesson.title}")
                st.markdown(lesson.summary)
                st.caption(f"{len(lesson.steps)} steps · {lesson.minutes} minutes")
                st.button("Begin", key=f"start.lesson.{lesson.name}", on_click=lessons.open_lesson, args=(lesson.name,))
    with columns[-1].container(key="for_a_class"):
        st.markdown("##### For a class")
        st.markdown(CLASS)


def presets() -> None:
    with st.container(horizontal=True, key="presets"):
        for name, (title, recipe) in PRESETS.items():
            st.button(title, key=f"start.{name}", on_click=_begin, args=(title, recipe))


def _begin(title: str, recipe: Recipe) -> None:
    """Set the whole recipe, and show a message on which pages to open. To be called in callbacks."""
    state = "is already set" if recipe == sidebar.current() else "is set now"
    sidebar.set_recipe(recipe)
    text = f"**{escape_markdown(title)}** {state}. Open *Data* for the strings, *Hankel* for their matrix, *Train* to run it."
    st.toast(text, icon=":material/check:", duration="long")


def resume() -> None:
    """Draw buttons that lead back to the runs started in this session, and to the run in the address."""
    jobs = runs.mine()
    here = sidebar.current()
    if here.key() != sidebar.FIRST.key() and (job := runs.status(here)) is not None:
        jobs[here.key()] = job
    recent = [job for job in jobs.values() if job.state in STATES and job.recipe.learning.kind.needs_hankel][:MAX_RUNS]
    if not recent:
        return
    with st.container(horizontal=True, key="resume", vertical_alignment="center"):
        st.markdown("**Resume**")
        for number, status in enumerate(recent):
            label = f"{escape_markdown(status.recipe.title)}, {STATES[status.state]}"
            if st.button(
                label, key=f"start.run.{number}", icon=":material/history:", on_click=sidebar.set_recipe, args=(status.recipe,)
            ):
                switch("train")
