"""Draw the Practice page: the choice of kinds, one task, and the score of this session; or a quiz
of a lesson.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from nlwfa_core import RecipeError
from nlwfa_core.errors import did_you_mean, enumeration, plural
from nlwfa_core.rounding import format_significant
from nlwfa_core.teaching.questions import Response
from nlwfa_core.teaching.quizzes import AFTER, BEFORE, NUM_ITEMS, Quiz, item_name, normalised_gain
from nlwfa_core.teaching.tasks.bank import LARGEST_SEED, Kind, Task, scheduled_task
from pages.shared import class_session, contents, screen, url_parameters
from pages.shared.exercises import (
    LESSON,
    MODE,
    QUIZ,
    TASKS,
    WHEN,
    entered_text,
    entry_fields,
    exercise,
    responses,
)
from pages.shared.widgets import escape_markdown

KINDS = "practice.kinds"
NUMBER = "practice.number"
ERRORS = "practice.quiz_errors"
EMPTY = "practice.quiz_empty"
WHEN_PHRASES = {BEFORE: "before the lesson", AFTER: "after the lesson"}


def mode() -> str:
    """Draw the choice between tasks and quizzes, which a link may set.

    Returns `TASKS` or `QUIZ`.
    """
    text = screen.unread("quiz")
    if text:
        _read_quiz_link(text)
    st.session_state.setdefault(MODE, TASKS)
    chosen: str = st.segmented_control(
        "Tasks or a quiz",
        [TASKS, QUIZ],
        key=MODE,
        required=True,
        persist_state="session",
        label_visibility="collapsed",
    )
    if chosen != QUIZ:
        screen.write("quiz", "")
    return chosen


def _read_quiz_link(text: str) -> None:
    """Set the widgets to the quiz that a link names; one that does not exist is reported and left
    out.
    """
    name, _, when = text.partition("/")
    if name in contents.quizzes() and when in WHEN_PHRASES:
        st.session_state[MODE], st.session_state[LESSON], st.session_state[WHEN] = QUIZ, name, when
        return
    message = f'"quiz = {text[:40]}" in this link is not valid. An example: quiz=rank/before.'
    st.toast(escape_markdown(message), icon=":material/info:")


def quiz_choice() -> tuple[Quiz, str]:
    """Draw the widgets for the lesson, and for before or after.

    Returns the quiz and which of the two.
    """
    for name in ("tasks", "task"):
        screen.write(name, "")
    quizzes = contents.quizzes()
    st.session_state.setdefault(WHEN, BEFORE)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox(
            "Lesson",
            list(quizzes),
            format_func=lambda name: quizzes[name].title,
            key=LESSON,
            persist_state="session",
            width=360,
        )
        when = st.segmented_control(
            "When",
            list(WHEN_PHRASES),
            format_func=WHEN_PHRASES.__getitem__,
            key=WHEN,
            required=True,
            persist_state="session",
        )
    screen.write("quiz", f"{name}/{when}")
    return quizzes[name], when


def quiz(chosen: Quiz, when: str) -> None:
    """Draw a quiz to be filled in, or its result.

    `when`: BEFORE or AFTER the lesson.
    """
    before = _number_right(chosen, BEFORE)
    after = _number_right(chosen, AFTER)
    number_right = before if when == BEFORE else after
    if number_right is None:
        _quiz_form(chosen, when)
        return
    st.success(
        f"{number_right} of {NUM_ITEMS} right {WHEN_PHRASES[when]}.", icon=":material/check_circle:"
    )
    if after is None:
        st.markdown(
            "The answers are shown once you have taken the quiz after the lesson, which has "
            "other numbers."
        )
        return
    if before is None:
        st.markdown("You did not take the quiz before the lesson, so there is no gain to compute.")
    else:
        gain = normalised_gain([before / NUM_ITEMS], [after / NUM_ITEMS])
        st.markdown(
            f"Before {before}, after {after} of {NUM_ITEMS} right. Normalised gain: "
            f"**{gain.text()}**."
        )
        st.caption(
            "(after − before) / (1 − before), both as shares of the items: the gain as a share of "
            "the largest possible gain."
        )
    for number, item in enumerate(chosen.tasks(when), 1):
        with st.container(border=True, key=f"quiz_item_{number}"):
            st.markdown(f"**{number}. {item.kind.title}**")
            st.markdown(item.text)
            exercise(item_name(chosen.name, when, number), item.seed, item.question)


def _number_right(chosen: Quiz, when: str) -> int | None:
    """Return how many items this visitor had right; None if the quiz has not been taken."""
    names = {item_name(chosen.name, when, number) for number in range(1, NUM_ITEMS + 1)}
    taken = [response for (name, _), response in responses().items() if name in names]
    return sum(response.correct for response in taken) if taken else None


def _quiz_form(chosen: Quiz, when: str) -> None:
    tasks = chosen.tasks(when)
    class_session.begin(f"{chosen.name} {when}")
    st.markdown(
        "Eight items, one try each. Answer what you can: an item without an answer counts as wrong."
    )
    errors = st.session_state.get(ERRORS, {}).get((chosen.name, when))
    if errors:
        st.error(
            "\n".join(f"- {escape_markdown(error)}" for error in errors), icon=":material/error:"
        )
    with st.form(f"quiz.{chosen.name}.{when}", enter_to_submit=False):
        fields = []
        for number, item in enumerate(tasks, 1):
            assert item.question.key is not None
            st.markdown(f"**{number}. {item.kind.title}**")
            st.markdown(item.text)
            st.markdown(f"**{item.question.text}**")
            fields.append(
                entry_fields(item.question.key, f"quiz.{chosen.name}.{when}.{number}", item.seed)
            )
            st.divider()
        empty = st.session_state.get(EMPTY, {}).get((chosen.name, when))
        if empty:
            names = enumeration([f"{number}" for number in empty])
            text = (
                f"Item {names} has no answer"
                if len(empty) == 1
                else f"Items {names} have no answer"
            )
            st.warning(
                f"{text}. Press the button again to hand in the quiz anyway.",
                icon=":material/warning:",
            )
        st.form_submit_button(
            "Hand in the quiz",
            key="practice.quiz",
            type="primary",
            on_click=_take,
            args=(chosen, when, tasks, fields),
        )


def _take(chosen: Quiz, when: str, tasks: Sequence[Task], fields: Sequence[list[str]]) -> None:
    """Read all answers of a quiz and record them, unless one can't be read, or one is empty and the
    visitor has not been told so yet.

    Call this in callbacks.
    """
    taken = []
    errors = []
    empty = []
    for number, (item, names) in enumerate(zip(tasks, fields, strict=True), 1):
        key = item.question.key
        assert key is not None
        text = entered_text(key, names).strip()
        if not text:
            empty.append(number)
        try:
            credit = key.check(text).credit if text else 0.0
        except RecipeError as error:
            errors.append(f"Item {number}: {error}.")
            continue
        taken.append(
            Response(
                item_name(chosen.name, when, number), item.seed, (text,), (credit,), shown=True
            )
        )
    st.session_state.setdefault(ERRORS, {})[chosen.name, when] = errors
    warnings = st.session_state.setdefault(EMPTY, {})
    is_warned = warnings.get((chosen.name, when)) == empty
    warnings[chosen.name, when] = empty
    if not errors and (is_warned or not empty):
        responses().update({(response.task, response.seed): response for response in taken})
        class_session.record(*taken, began=f"{chosen.name} {when}")


def choice() -> tuple[list[str], int]:
    """Draw the widgets for the kinds of tasks and for the number of the task, which a link may set.

    No kinds means all of them.
    """
    bank = contents.tasks()
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
    number = right.number_input(
        "Number of the task", 1, LARGEST_SEED, key=NUMBER, persist_state="session"
    )
    screen.write("tasks", ",".join(names))
    screen.write("task", "" if number == 1 else str(number))
    return names, number


def _read_link(bank: Mapping[str, Kind]) -> None:
    """Set the widgets to a link's values; a value that is not valid is reported and left out."""
    st.session_state.setdefault(NUMBER, 1)
    names = screen.unread("tasks")
    number = screen.unread("task")
    if names is not None:
        chosen = [name for name in names.split(",") if name]
        st.session_state[KINDS] = [name for name in dict.fromkeys(chosen) if name in bank]
        unknown = [name for name in chosen if name not in bank]
        if unknown:
            text = (
                f"tasks: no kind of task is called {unknown[0][:40]!r}, so it was ignored."
                f"{did_you_mean(unknown[0], bank, is_sentence=True)}"
            )
            st.toast(escape_markdown(text), icon=":material/info:")
    if number is not None:
        valid = number.isdecimal() and len(number) < 11 and 1 <= int(number) <= LARGEST_SEED
        st.session_state[NUMBER] = int(number) if valid else 1
        if number and not valid:
            url_parameters.report_refused("task", number, 1)


def task(names: Sequence[str], number: int) -> None:
    """Draw a task with its entry, and the buttons to the tasks before and after it."""
    drawn = scheduled_task(contents.tasks(), names, number)
    with st.container(border=True, key="practice"):
        st.caption(f"{drawn.kind.topic} · task {number:,}")
        st.markdown(f"#### {drawn.kind.title}")
        st.markdown(drawn.text)
        exercise(drawn.kind.name, drawn.seed, drawn.question)
        with st.container(horizontal=True, key="practice_move"):
            response = responses().get((drawn.kind.name, drawn.seed))
            st.button(
                "Previous", key="practice.back", on_click=_move, args=(-1,), disabled=number == 1
            )
            kind = "primary" if response and response.over else "secondary"
            st.button(
                "Next task",
                key="practice.next",
                type=kind,
                on_click=_move,
                args=(1,),
                disabled=number == LARGEST_SEED,
            )


def score() -> None:
    """Draw the score of all tasks of this session; draw nothing before the first task is over."""
    over = [
        response
        for (name, _), response in responses().items()
        if name in contents.tasks() and response.over
    ]
    if not over:
        return
    correct = [response for response in over if response.correct]
    first = sum(response.tries == 1 for response in correct)
    points = sum(response.points for response in over)
    st.markdown(
        f"**{format_significant(points, 4)} of {plural(len(over), 'point')}**: {len(correct)} of "
        f"{plural(len(over), 'task')} right, {first} of them on the first try. Correct parts of "
        "an answer also count."
    )


def _move(by: int) -> None:
    st.session_state[NUMBER] += by
