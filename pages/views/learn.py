"""Draw the Learn page: runs to resume, lessons, presets.

It reads no strings and trains nothing, so it opens at once.
"""

from __future__ import annotations

import streamlit as st

from nlwfa_core.display.story import story_payload
from nlwfa_core.experiment.presets import PRESETS
from pages.shared import components, contents, open_lesson, sidebar, visitor_runs
from pages.shared.context import Context, computed
from pages.shared.navigation import switch
from pages.shared.server import ASSETS
from pages.shared.widgets import errors_as_messages, escape_markdown

CARDS_A_ROW = 3
MAX_RUNS = 5
CLASS = (
    "The first three fill a class of 50 minutes, and nobody waits: the models are already "
    "trained. *Share*, on every other page, "
    "makes a link that opens the same step for everyone, with only the controls you choose, "
    "or as a slide."
)
STORY = "learn.story_open"
STATES = {"queued": "waiting", "running": "running", "done": "finished"}


def faulty_files() -> None:
    """Draw the errors in the files of lessons, tasks and quizzes, for whoever writes them."""
    errors = contents.errors()
    if errors:
        lines = "\n".join(f"- {escape_markdown(error)}" for error in errors)
        st.warning(
            "Files with an error were left out. Restart the lab after you have corrected them.\n\n"
            f"{lines}"
        )


def way_in() -> None:
    """Draw the large button that opens the first lesson, and the button that plays the story."""
    first = open_lesson.first_lesson()
    with st.container(horizontal=True, key="learn_way", vertical_alignment="center"):
        if first:
            st.button(
                "Begin with lesson 1",
                key="learn.begin",
                type="primary",
                icon=":material/school:",
                on_click=open_lesson.open_lesson,
                args=(first.name,),
            )
        label, icon = (
            ("Close the story", "close")
            if st.session_state.get(STORY)
            else ("Play the story", "play_circle")
        )
        st.button(label, key="learn.story", icon=f":material/{icon}:", on_click=_toggle_story)
        if first:
            st.caption(
                f"{first.title} {first.minutes} minutes, no prior knowledge needed.",
                width="content",
            )


def _toggle_story() -> None:
    st.session_state[STORY] = not st.session_state.get(STORY)


def picture() -> None:
    """Draw the method as a picture or, when it has been asked for, as a story on the recipe's
    strings.
    """
    if st.session_state.get(STORY):
        with errors_as_messages():
            context = Context(sidebar.current())
            story = computed(story_payload, context.data_key, context.data.train)
            components.story("learn_story", story | {"id": context.data_key})
        st.caption(
            "These are the training strings of *Data*, which may be your own. "
            "In the story, the matrix has only the "
            "most frequent beginnings and endings."
        )
        _after_the_story()
        return
    alt = (
        "Strings are counted into a Hankel matrix, which is factorised into states; the model is "
        "then scored"
    )
    st.image(ASSETS / "overview.svg", width="stretch", alt=alt)


def _after_the_story() -> None:
    """Draw the buttons that go on from the story: to the first lesson, and to one's own strings."""
    with st.container(horizontal=True, key="learn_on", vertical_alignment="center"):
        first = open_lesson.first_lesson()
        if first:
            st.markdown("**Now by hand:** the same matrix, from ten strings.", width="content")
            st.button(
                "Lesson 1",
                key="learn.on.lesson",
                icon=":material/school:",
                on_click=open_lesson.open_lesson,
                args=(first.name,),
            )
        st.markdown("**Or play the story** with your own strings.", width="content")
        if st.button("Your own strings", key="learn.on.data", icon=":material/upload_file:"):
            switch("data", "own_strings")


def lesson_cards() -> None:
    lesson_list = list(contents.lessons().values())
    for start in range(0, len(lesson_list), CARDS_A_ROW):
        columns = st.columns(CARDS_A_ROW)
        for number, (column, lesson) in enumerate(
            zip(columns, lesson_list[start:], strict=False), start + 1
        ):
            with column.container(border=True, height="stretch", key=f"card_{lesson.name}"):
                st.markdown(f"##### {lesson.title}")
                st.markdown(lesson.summary)
                st.caption(
                    f"Lesson {number} · {len(lesson.steps)} steps · {lesson.minutes} minutes"
                )
                st.button(
                    "Begin",
                    key=f"learn.lesson.{lesson.name}",
                    on_click=open_lesson.open_lesson,
                    args=(lesson.name,),
                )
    with st.container(key="for_a_class"):
        st.markdown(f"**For a class.** {CLASS}")


def presets() -> None:
    """Draw the buttons that set a recipe and go to Train."""
    with st.container(horizontal=True, key="presets"):
        for name, (title, _) in PRESETS.items():
            if st.button(title, key=f"learn.{name}", on_click=sidebar.apply_preset, args=(name,)):
                switch("train")


def resume() -> None:
    """Draw buttons that lead back to the runs started in this session, and to the run in the
    address.
    """
    jobs = visitor_runs.mine()
    here = sidebar.current()
    # the recipe with which the lab begins is nobody's work
    if here.key() != sidebar.FIRST.key() and (job := visitor_runs.status(here)) is not None:
        jobs = {here.key(): job} | jobs
    recent = [
        job for job in jobs.values() if job.state in STATES and job.recipe.learning.needs_hankel
    ][:MAX_RUNS]
    if not recent:
        return
    with st.container(horizontal=True, key="resume", vertical_alignment="center"):
        st.markdown("**Resume**")
        for number, job in enumerate(recent):
            label = f"{escape_markdown(job.recipe.title)}, {STATES[job.state]}"
            if st.button(
                label,
                key=f"learn.run.{number}",
                icon=":material/history:",
                on_click=sidebar.set_recipe,
                args=(job.recipe,),
            ):
                switch("train")
