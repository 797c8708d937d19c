"""The lesson above a page: a step's text, the buttons that set its recipe, and its question."""

from __future__ import annotations

import streamlit as st

from nlwfa_core import RecipeError
from nlwfa_core.lab.lessons import Action, Lesson, Step
from pages.shared import cache, sidebar, url_parameters
from pages.shared.navigation import PAGES, switch, title
from pages.shared.widgets import error_toast

LESSON, STEP, GO = "lesson", "step", "lessons.go"


def current() -> tuple[Lesson, int] | None:
    """The open lesson and the index of its step, from 0."""
    name, step = url_parameters.value(LESSON), url_parameters.value(STEP)
    if name and name not in cache.lessons():
        close()
        text = f"There is no lesson {name[:40]!r}. There are {', '.join(cache.lessons())}."
        error_toast(text)
        return None
    if not name:
        return None
    lesson = cache.lessons()[name]
    number = int(step) if step.isdecimal() and len(step) < 4 else 1
    return lesson, min(max(number, 1), len(lesson.steps)) - 1


def open_lesson(name: str, index: int = 0) -> None:
    """Go to a step, and to its page. For callbacks."""
    url_parameters.set_value(LESSON, name)
    url_parameters.set_value(STEP, str(index + 1))
    st.session_state[GO] = True


def close() -> None:
    url_parameters.set_value(LESSON, "")
    url_parameters.set_value(STEP, "")


def controls_of_step() -> tuple[str, ...]:
    """Names of the controls that the open step shows; empty for all."""
    position = current()
    return position[0].steps[position[1]].show if position else ()


def next_lesson(name: str) -> str:
    """The name of the following lesson; empty after the last."""
    names = list(cache.lessons())
    return "".join(names[names.index(name) + 1 :][:1])


def page_of(step: Step) -> str:
    """The step's page: the first of the pages it names that exists."""
    return next((name for name in step.pages if name in PAGES), "start")


def panel(page: str) -> None:
    """Draw the open step, if any; if it has just been opened, go to its page first."""
    position = current()
    if position is None:
        return
    lesson, index = position
    step = lesson.steps[index]
    if st.session_state.pop(GO, False) and page_of(step) != page:
        switch(page_of(step))
    with st.container(border=True, key="lesson"):
        with st.container(horizontal=True, vertical_alignment="center", key="lesson_head"):
            st.caption(f"{lesson.title} · step {index + 1} of {len(lesson.steps)}", width="stretch")
            st.button("Close", key="lesson.close", icon=":material/close:", type="tertiary", on_click=close)
        st.markdown(f"#### {step.title}")
        st.markdown(step.text)
        if step.question:
            with st.expander(
                f"**{step.question}** :grey[· answer]", key=f"lesson.answer.{lesson.name}.{index}", icon=":material/lightbulb:"
            ):
                st.markdown(step.answer)
        with st.container(horizontal=True, key="lesson_do"):
            _actions(step, page)
            st.space("stretch")
            _move(lesson, index)


def _actions(step: Step, page: str) -> None:
    for number, action in enumerate(step.actions):
        st.button(action.label, key=f"lesson.do.{number}", icon=":material/tune:", on_click=_do, args=(action,))
    if page_of(step) != page:
        label = f"Go to {title(page_of(step))}"
        st.button(label, key="lesson.there", icon=":material/arrow_forward:", on_click=_there)


def _move(lesson: Lesson, index: int) -> None:
    st.button("Back", key="lesson.back", disabled=index == 0, on_click=open_lesson, args=(lesson.name, index - 1))
    if index + 1 == len(lesson.steps):
        following = next_lesson(lesson.name)
        st.button("Finish", key="lesson.next", type="secondary" if following else "primary", on_click=close)
        if following:
            text = cache.lessons()[following].title
            st.button("Next lesson", key="lesson.following", type="primary", help=text, on_click=open_lesson, args=(following,))
    else:
        st.button("Next", key="lesson.next", type="primary", on_click=open_lesson, args=(lesson.name, index + 1))


def _there() -> None:
    st.session_state[GO] = True


def _do(action: Action) -> None:
    try:
        sidebar.set_recipe(action.applied(sidebar.current()))
    except RecipeError as error:
        error_toast(error)
    else:
        st.session_state[GO] = True
