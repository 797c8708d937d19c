"""Draw a lesson's question that the visitor answers: a field, two tries, then the solution next to
the visitor's answers.

The session keeps the responses. Each is a small value; those of a class session are also recorded
for its teacher.
"""

from __future__ import annotations

import re

import streamlit as st

from nlwfa_core import RecipeError, limits
from nlwfa_core.teaching.answers import (
    SEPARATOR,
    CellKey,
    ChoiceKey,
    Key,
    NumberKey,
    NumbersKey,
    OrderKey,
    StringKey,
)
from nlwfa_core.teaching.questions import Question, Response
from pages.shared import class_session
from pages.shared.widgets import escape_markdown

RESPONSES = "exercise.responses"
ERRORS = "exercise.errors"
RIGHT = "exercise.right"  # the question whose last check was right, until that has been shown
# The widgets on Practice that choose a quiz; a lesson also sets them.
MODE = "practice.mode"
TASKS = "Tasks"
QUIZ = "Quiz"
LESSON = "practice.lesson"
WHEN = "practice.when"
PLACES = ("first", "second", "third")
TOUCH = ":material/touch_app:"
FIELD = 230  # pixels: *Check* has room next to it in a docked lesson


def responses() -> dict[tuple[str, int], Response]:
    """Return all responses of this session: (name, seed) of the question -> response."""
    saved: dict[tuple[str, int], Response] = st.session_state.setdefault(RESPONSES, {})
    earlier = class_session.answers_to_restore()
    if earlier:
        saved.update(class_session.restored(earlier) | saved)
    return saved


def exercise(task: str, seed: int, question: Question, how: str = "") -> None:
    """Draw the fields for the answer to a question, or the result if the question has been
    answered. `how`: the text in an empty field, instead of the kind of answer expected.
    """
    assert question.key is not None
    key = question.key
    response = responses().get((task, seed), Response(task, seed))
    name = _name(task, seed)
    with st.container(key=f"exercise_{name}", gap="small"):
        st.markdown(f"**{question.text}**")
        if response.over:
            _result(response, key)
            st.markdown(question.solution)
            if question.why:
                with st.expander("Why?", icon=":material/lightbulb:"):
                    st.markdown(question.why)
            return
        class_session.begin(name)
        if response.tries:
            st.warning(
                f"{_said(key, response.answers[-1])}: not right yet. {response.reason} Try "
                "once more.",
                icon=":material/replay:",
            )
        error = st.session_state.get(ERRORS, {}).get((task, seed))
        if error:
            st.error(escape_markdown(f"{error[0].upper()}{error[1:]}."), icon=":material/error:")
        with (
            st.form(f"exercise.{name}", border=False),
            st.container(horizontal=True, vertical_alignment="bottom", gap="small"),
        ):
            fields = entry_fields(key, f"exercise.{name}.entry", seed, how)
            st.form_submit_button(
                "Check",
                key=f"exercise.{name}.check",
                on_click=_check,
                args=(task, seed, key, fields),
                icon=":material/check:",
            )
            if response.tries:
                st.form_submit_button(
                    "Show me",
                    key=f"exercise.{name}.show",
                    on_click=_show,
                    args=(response,),
                    type="tertiary",
                    icon=":material/lightbulb:",
                )


def _name(task: str, seed: int) -> str:
    """Name a question as the keys of its widgets do."""
    return re.sub("[^a-zA-Z0-9]", "_", f"{task}_{seed}")


def _result(response: Response, key: Key) -> None:
    """Draw the visitor's answers next to the right answer."""
    entered = ", then ".join(_said(key, answer) for answer in response.answers)
    if response.correct:
        try_ = "" if response.tries == 1 else f" on the {PLACES[response.tries - 1]} try"
        text = f"Right{try_}. You answered {entered}." + (
            "" if _same(key, response.answers[-1]) else f" The answer is {key.truth}."
        )
        st.success(text, icon=":material/check_circle:")
        return
    reason = f" {response.reason}" if response.reason else ""
    st.info(
        f"You answered {entered}.{reason} The answer is **{key.truth}**.",
        icon=":material/compare_arrows:",
    )


def _same(key: Key, answer: str) -> bool:
    return key.written(answer) == key.written(key.best)


def _said(key: Key, answer: str) -> str:
    """Write an answer as it is quoted in a sentence; an item of a quiz may have none."""
    if not answer:
        return "nothing"
    return (
        f"*{key.written(answer)}*"
        if isinstance(key, NumberKey | NumbersKey)
        else f"“{key.written(answer)}”"
    )


def option_letter(number: int) -> str:
    """Return the letter that a class uses for an option.

    >>> option_letter(0), option_letter(3)
    ('A', 'D')
    """
    return chr(ord("A") + number)


def entry_fields(key: Key, name: str, seed: int, how: str = "") -> list[str]:
    """Draw the widgets for an answer. Returns their keys. `how`: see `exercise`."""
    if isinstance(key, ChoiceKey) and key.several:
        with st.container(gap="xsmall"):
            st.caption("Choose all that are right.")
            for number, option in enumerate(key.options):
                st.checkbox(f"{option_letter(number)} · {option.text}", key=f"{name}.{number}")
        return [f"{name}.{number}" for number in range(len(key.options))]
    if isinstance(key, ChoiceKey):
        texts = [option.text for option in key.options]
        st.radio(
            "Your answer",
            texts,
            index=None,
            format_func=lambda text: f"{option_letter(texts.index(text))} · {text}",
            key=name,
            label_visibility="collapsed",
        )
    elif isinstance(key, CellKey):
        with st.container(horizontal=True, gap="small"):
            st.selectbox("Row", key.rows, index=None, key=f"{name}.row", width=120, placeholder="?")
            st.selectbox(
                "Column", key.columns, index=None, key=f"{name}.column", width=120, placeholder="?"
            )
        return [f"{name}.row", f"{name}.column"]
    elif isinstance(key, OrderKey):
        st.multiselect(
            "Choose them in order",
            key.shuffled(seed),
            key=name,
            placeholder="the first",
            select_all=False,
            width="stretch",
        )
    else:
        example = (
            ("a number" if key.is_whole else "decimal, fraction or %")
            if isinstance(key, NumberKey)
            else f"{len(key.values)} numbers, with spaces"
            if isinstance(key, NumbersKey)
            else f"symbols {' '.join(key.alphabet)}"
            if isinstance(key, StringKey)
            else ""
        )
        st.text_input(
            "Your answer",
            max_chars=limits.most("answer_characters"),
            key=name,
            placeholder=how or example,
            autocomplete="off",
            label_visibility="collapsed",
            width=FIELD,
        )
    return [name]


def has_just_been_right(task: str) -> bool:
    """Return whether the last check was a right answer to this question; true only once for
    each.
    """
    return bool(task) and st.session_state.pop(RIGHT, "") == task


def tick(task: str, key: Key, option: str) -> None:
    """Tick an option of a question in which several are right, as a click on the picture does. If
    there is no such option, the page says so. Call this in callbacks.
    """
    response = responses().get((task, 0))
    if not isinstance(key, ChoiceKey) or not key.several or (response and response.over):
        return
    texts = [entry.text for entry in key.options]
    if option not in texts:
        st.toast(f"{option[0].upper()}{option[1:]} is not among the answers.", icon=TOUCH)
        return
    st.session_state[f"exercise.{_name(task, 0)}.entry.{texts.index(option)}"] = True


def enter(task: str, text: str) -> None:
    """Enter the text of an answer, as a drag in the picture does, unless the question is over. To
    be called in callbacks.
    """
    response = responses().get((task, 0))
    if not (response and response.over):
        st.session_state[f"exercise.{_name(task, 0)}.entry"] = text


def choose(task: str, key: Key, ending: str) -> bool:
    """Choose the option of a question that ends with a string, as a tap on the picture does, unless
    the question is over. Without such an option, the page says so. Returns whether an option
    was chosen. Call this in callbacks.
    """
    response = responses().get((task, 0))
    if not isinstance(key, ChoiceKey) or key.several or (response and response.over):
        return False
    found = [option.text for option in key.options if option.text.endswith(ending)]
    if found:
        st.session_state[f"exercise.{_name(task, 0)}.entry"] = found[0]
    else:
        st.toast(f"“{ending}” is not among the answers.", icon=TOUCH)
    return bool(found)


def _check(task: str, seed: int, key: Key, fields: list[str]) -> None:
    """Read an answer from its widgets, and check it. Call this in callbacks."""
    errors = st.session_state.setdefault(ERRORS, {})
    errors.pop((task, seed), None)
    before = responses().get((task, seed), Response(task, seed))
    try:
        responses()[task, seed] = before.answered(key, entered_text(key, fields))
    except RecipeError as error:
        errors[task, seed] = str(error)
    else:
        response = responses()[task, seed]
        st.session_state[RIGHT] = task if response.correct else ""
        class_session.record(response, began=_name(task, seed))


def entered_text(key: Key, fields: list[str]) -> str:
    """Join the values of an answer's widgets to the text that the question's key can read."""
    values = [st.session_state.get(field) for field in fields]
    if isinstance(key, ChoiceKey) and key.several:
        return SEPARATOR.join(
            option.text for option, ticked in zip(key.options, values, strict=True) if ticked
        )
    if isinstance(key, CellKey):
        return SEPARATOR.join(value for value in values if value)
    if isinstance(key, OrderKey):
        return SEPARATOR.join(values[0] or ())
    return values[0] or ""


def _show(response: Response) -> None:
    """Show the solution. Call this in callbacks."""
    responses()[response.task, response.seed] = response.opened()
    st.session_state.get(ERRORS, {}).pop((response.task, response.seed), None)
