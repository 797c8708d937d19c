"""Ways in, on the Start page. Nothing here reads strings or trains."""

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
    "The first three make a lesson of 50 minutes, and nobody waits: their models come trained. *Share* in the sidebar makes the "
    "link that opens a step on every screen, with the controls that you choose, or as a slide."
)
STATES = {"queued": "waiting", "running": "running", "done": "done"}


def lesson_cards() -> None:
    found = list(cache.lessons().values())
    for start in range(0, len(found), CARDS_A_ROW):
        columns = st.columns(CARDS_A_ROW)
        for column, lesson in zip(columns, found[start : start + CARDS_A_ROW], strict=False):
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
    """For callbacks: set a whole experiment, and say where it is to be seen."""
    done = "is what the sidebar holds already" if recipe == sidebar.current() else "is set"
    sidebar.set_recipe(recipe)
    text = f"**{escape_markdown(title)}** {done}. *Data* has its strings, *Hankel* their matrix, *Train* the scores."
    st.toast(text, icon=":material/check:", duration="long")


def resume() -> None:
    """The runs that were started here, and the address's own: a click leads back to them."""
    jobs = runs.mine()
    here = sidebar.current()
    if here != sidebar.DEFAULT and (job := runs.status(here)) is not None:
        jobs[here.key()] = job
    shown = [job for job in jobs.values() if job.state in STATES and job.recipe.learning.kind.needs_hankel][:MAX_RUNS]
    if not shown:
        return
    with st.container(horizontal=True, key="resume", vertical_alignment="center"):
        st.markdown("**Resume**")
        for number, status in enumerate(shown):
            label = f"{escape_markdown(status.recipe.title)}, {STATES[status.state]}"
            if st.button(
                label, key=f"start.run.{number}", icon=":material/history:", on_click=sidebar.set_recipe, args=(status.recipe,)
            ):
                switch("train")
