"""Draw the open lesson above a page: a step's text, the buttons that change the recipe, and the
step's question.

Opening a step sets the sidebar to the recipe that its text is about. If the visitor had a recipe of
their own, which no lesson and no preset has set, a button restores it. Closing the lesson restores
what was set before the lesson was opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import streamlit as st

from nlwfa_core import Recipe, RecipeError
from nlwfa_core.display.explore import LOOKS, ORDER, VIEW
from nlwfa_core.experiment.presets import PRESETS
from nlwfa_core.experiment.recipe import FIELDS
from nlwfa_core.learning.learners import HANKEL_LEARNERS, STRING_LEARNERS
from nlwfa_core.teaching.answers import ChoiceKey, NumberKey, cell_name
from nlwfa_core.teaching.glossary import terms_in
from nlwfa_core.teaching.lessons import PART, Action, Lesson, Step
from nlwfa_core.teaching.questions import Question
from nlwfa_core.teaching.quizzes import AFTER, BEFORE
from pages.shared import (
    assignments,
    class_session,
    components,
    contents,
    exercises,
    sidebar,
    url_parameters,
)
from pages.shared.navigation import FIRST, switch, title
from pages.shared.server import ASSETS
from pages.shared.widgets import error_toast, escape_markdown

LESSON = "lesson"
STEP = "step"
GO = "lessons.go"
GO_QUIZ = "lessons.quiz"
PRESSES = "lessons.presses"
# the parameter with the names of the controls to show; ALL among them shows all
SHOW = "show"
ALL = "all"
ANSWER_FIRST = '"The results appear here once you have answered."'
HIDDEN = (
    "The quiz is open next to this. The step's text and answer are hidden until you leave the quiz."
)
# the lesson and the index of a step, and the values of the controls before that step was opened
MINE = "lessons.mine"
# the values of the controls, and those of `VIEW`, before the lesson was opened
EARLIER = "lessons.earlier"
RESTORED = (
    "Your strings and options from before the lesson are back. *Undo* in the sidebar brings back "
    "those of the lesson."
)
VISIT = "lessons.visit"  # how many steps have been opened
# This many buttons have room above Back and Next. If there are more, or if they set the picture of
# Explore, they stand between the text and the question.
BESIDE_MOVES = 2
PICTURE = "explore.picture"
MATRIX = "hankel.lens"  # and what its script hides: numbers, and the outlines of equal uv
DRAWN = ("hankel.values", "hankel.same")
CUTS = ("explore.cut", "hankel.singular_values")
SHARES = "data.shares"
ASKED = re.compile(r"f\((\w+)\)")  # the string whose share a question asks for
UNANSWERED = "lessons.unanswered"  # the question for whose answer the picture waits
COMPARED = (1, 2, 3, 5, 10)  # the ranks that the Compare page offers at first

_look = st.components.v2.component(
    "nlwfa.look", js=(ASSETS / "look" / "look.js").read_text(encoding="utf-8")
)


def current() -> tuple[Lesson, int] | None:
    """Return the open lesson and the index of its step, from 0; None if no lesson is open."""
    name = url_parameters.value(LESSON)
    step = url_parameters.value(STEP)
    if name and name not in contents.lessons():
        close()
        text = f"There is no lesson {name[:40]!r}. The lessons are {', '.join(contents.lessons())}."
        error_toast(text)
        return None
    if not name:
        return None
    lesson = contents.lessons()[name]
    number = int(step) if step.isdecimal() and len(step) < 4 else 1
    return lesson, min(max(number, 1), len(lesson.steps)) - 1


def place() -> str:
    """Name the open lesson and its step, such as `rank/2`; "" if no lesson is open."""
    position = current()
    return f"{position[0].name}/{position[1] + 1}" if position else ""


def open_lesson(name: str, index: int = 0) -> None:
    """Open a step of a lesson: its text, its page and its recipe. Call this in callbacks, or
    before the sidebar is drawn.
    """
    if not url_parameters.value(LESSON):
        _remember()
    url_parameters.set_value(LESSON, name)
    url_parameters.set_value(STEP, str(index + 1))
    step = contents.lessons()[name].steps[index]
    st.session_state[GO] = page_of(step)
    st.session_state[VISIT] = st.session_state.get(VISIT, 0) + 1
    st.session_state.pop(MINE, None)
    if step.recipe is None:
        return
    # a page that is opened again, at another step, has no recipe yet
    if sidebar.CURRENT in st.session_state and sidebar.current().key() not in _recipes_of_the_lab():
        st.session_state[MINE] = (name, index, sidebar.saved_values())
    _set_scene(step)


def _remember() -> None:
    """Remember what is set before a lesson is opened, which is nothing yet if a link opens it."""
    st.session_state.pop(EARLIER, None)
    if sidebar.CURRENT in st.session_state:
        view = {name: url_parameters.value(name) for name in VIEW}
        st.session_state[EARLIER] = sidebar.saved_values(), view


def enter_by_link(page: str) -> None:
    """Set the recipe of the step that a link opens. If the link leads to the lab's start, also ask
    for the step's page, unless the link sets the picture of Explore.

    Does nothing if the link sets a recipe itself, or after the first run of a session: a visitor
    who later goes to Explore stays there.
    """
    position = (
        None
        if sidebar.CURRENT in st.session_state or set(FIELDS) & set(st.query_params)
        else current()
    )
    if position is None:
        return
    lesson, number = position
    step = lesson.steps[number]
    if page == FIRST and page not in step.pages and not set(VIEW) & set(st.query_params):
        st.session_state[GO] = page_of(step)
    _set_scene(step)


def _set_scene(step: Step) -> None:
    """Set the sidebar to the recipe of a step; if its page is Explore, set the picture; if it is
    Compare, set the learners and ranks that it compares.
    """
    if step.recipe is None:
        return
    sidebar.set_recipe(step.recipe)
    if page_of(step) == "explore":
        _set_view(step.view)
    # a step before may have asked for others
    assignments.assign({"hankel.block": -1, "hankel.layer": "H"})
    if page_of(step) == "compare" and step.models:
        ranks = {recipe.learning.rank for recipe in step.models}
        learners = {recipe.learning.learner for recipe in step.models}
        assignments.assign(
            {
                "learners": [name for name in HANKEL_LEARNERS if name in learners],
                "opponents": [name for name in STRING_LEARNERS if name in learners],
                "ranks": [rank for rank in COMPARED if rank in ranks] or sorted(ranks),
                "against": "rank",
            }
        )


def _set_view(view: Mapping[str, str]) -> None:
    """Set the picture of Explore. What is not named is set as it is at first."""
    for name in VIEW:
        url_parameters.set_value(name, view.get(name, ""))


def _has_view(view: Mapping[str, str]) -> bool:
    """Return whether the picture of Explore is set in this way, whatever string is followed."""
    looked_at = {*LOOKS} - {ORDER}
    return all(
        url_parameters.value(name) == view.get(name, "") for name in VIEW if name not in looked_at
    )


def scene() -> str:
    """Return what identifies the open step, and the last press of one of its buttons; "" without a
    lesson.
    """
    position = current()
    presses = st.session_state.get(PRESSES, 0)
    return f"{position[0].name} {position[1]} {presses}" if position else ""


def parts(page: str) -> list[str]:
    """Return the parts of Explore's picture that the open step is about; empty for all of them."""
    position = current()
    step = position and position[0].steps[position[1]]
    if not step or page_of(step) != page:
        return []
    return [key.removeprefix(PART) for key in step.look if key.startswith(PART)]


def _elements(keys: Iterable[str]) -> list[str]:
    """Return the CSS classes of a step's elements; the parts of Explore's picture share one."""
    return [*dict.fromkeys(_class(PICTURE if key.startswith(PART) else key) for key in keys)]


def _recipes_of_the_lab() -> frozenset[str]:
    """Return the keys of the recipes that the lab, its lessons and presets set, which need not be
    restored for a visitor.
    """
    recipes = [sidebar.FIRST, *(recipe for _, recipe in PRESETS.values())]
    for lesson in contents.lessons().values():
        recipes += _recipes_of(lesson)
    return frozenset(recipe.key() for recipe in recipes)


def _recipes_of(lesson: Lesson) -> list[Recipe]:
    """Return the recipes that a lesson sets, and those of the models that it shows."""
    recipes: list[Recipe | None] = []
    for step in lesson.steps:
        recipes += [step.recipe, *(action.recipe for action in step.actions), *step.models]
    return [recipe for recipe in recipes if recipe is not None]


def leave() -> None:
    """Close the lesson, and restore what was set before it, unless the visitor has chosen other
    strings in the meantime. Call this in callbacks.
    """
    position = current()
    close()
    before: tuple[dict[str, Any], dict[str, str]] | None = st.session_state.pop(EARLIER, None)
    if before is None or position is None:
        return
    now = sidebar.current().data
    if all(now != recipe.data for recipe in _recipes_of(position[0])):
        return
    values, view = before
    if values != sidebar.saved_values():
        st.toast(RESTORED, icon=":material/check:")
    sidebar.restore_values(values)
    _set_view(view)


def close() -> None:
    """Close the lesson.

    If the visitor had chosen to show all controls during the lesson, this choice is also removed.
    """
    url_parameters.set_value(LESSON, "")
    url_parameters.set_value(STEP, "")
    url_parameters.set_value(
        SHOW, ",".join(name for name in url_parameters.value(SHOW).split(",") if name != ALL)
    )


def controls_of_step() -> tuple[str, ...]:
    """Return the names of the controls that the open step shows; empty for all."""
    position = current()
    return position[0].steps[position[1]].show if position else ()


def emphasised() -> frozenset[str]:
    """Return what the open lesson's texts emphasise, for example the titles of columns that it
    speaks of.
    """
    position = current()
    return position[0].emphasised if position else frozenset()


def first_lesson() -> Lesson | None:
    """Return the first lesson; None if there is none, because all files have errors."""
    return next(iter(contents.lessons().values()), None)


def next_lesson(name: str) -> str:
    """Return the name of the following lesson; empty after the last."""
    names = list(contents.lessons())
    return "".join(names[names.index(name) + 1 :][:1])


def leaves_open(key: str) -> bool:
    """Return whether a box that is open by default may be open: in a lesson, only if the step
    points at it.
    """
    position = current()
    return position is None or key in position[0].steps[position[1]].look


def draws_alone(key: str) -> bool:
    """Return whether the open step is about the element with a key: then its views that the step
    does not speak of are not drawn.
    """
    position = current()
    return position is not None and key in position[0].steps[position[1]].look


def answer_by_cell(row: str, column: str) -> bool:
    """Tick the cell with these labels among the answers to the open step's question. Returns
    whether its answers are cells. Call this in callbacks.
    """
    position = current()
    question = position and position[0].steps[position[1]].question
    key = question.key if question else None
    if not isinstance(key, ChoiceKey) or not key.options[0].text.startswith("row "):
        return False
    exercises.tick(place(), key, cell_name(row, column))
    return True


def answer_by_cut(rank: int) -> None:
    """Enter the rank to which a cut was dragged as the answer to the open step's question, if the
    step is about a cut and asks for a whole number. Call this in callbacks.
    """
    if _asks_for_cut():
        exercises.enter(place(), str(rank))


def _asks_for_cut() -> bool:
    """Return whether a cut answers the open step's question."""
    position = current()
    step = position and position[0].steps[position[1]]
    if not step or not step.question or not set(CUTS) & set(step.look):
        return False
    key = step.question.key
    return isinstance(key, NumberKey) and key.is_whole


def asked_share() -> tuple[str, bool] | None:
    """Return the string whose share the open step's question asks for, *What is f(ab)?*, and
    whether the question is over; None if the step does not look at the picture of the shares.

    Until it is over, the question remembers that the picture has to be drawn again.
    """
    string = _string_asked_for()
    if not string:
        return None
    response = exercises.responses().get((place(), 0))
    is_over = bool(response and response.over)
    st.session_state[UNANSWERED] = "" if is_over else place()
    return string, is_over


def _string_asked_for() -> str:
    """Return the string whose share the open step's question asks for; "" if it asks for none."""
    position = current()
    step = position and position[0].steps[position[1]]
    if not step or not step.question or SHARES not in step.look:
        return ""
    asked = ASKED.search(step.question.text)
    return asked[1] if asked else ""


def answer_by_share(share: float) -> None:
    """Enter the share to which a bar was drawn as the answer to the open step's question. To be
    called in callbacks.
    """
    exercises.enter(place(), f"{share:.4g}")


def answer_by_state(column: str) -> bool:
    """Choose the answer to the open step's question that ends with the name of the column in which
    a state of the walk stands. Returns whether there is one. Call this in callbacks.
    """
    position = current()
    question = position and position[0].steps[position[1]].question
    if not asks_for_state() or not question or not question.key:
        return False
    return exercises.choose(place(), question.key, column)


def asks_for_state() -> bool:
    """Return whether a tap on a state of the walk answers the open step's question: one of its
    answers ends with how many brackets are open, as the columns are called.
    """
    position = current()
    step = position and position[0].steps[position[1]]
    if not step or not step.question or "states.walk" not in step.look:
        return False
    key = step.question.key
    if not isinstance(key, ChoiceKey) or key.several:
        return False
    return any(option.text.endswith(" open") for option in key.options)


def page_of(step: Step) -> str:
    """Return the page of a step: the first of those that it names."""
    return step.pages[0]


def go(page: str) -> None:
    """Go to the page of the open step, if the step has just been opened, or to the one that was
    asked for.
    """
    if current() and (wanted := st.session_state.pop(GO, "")) and wanted != page:
        switch(wanted)


def panel(page: str) -> None:
    """Draw the open step, if there is one; if it has just been opened, go to its page first.

    A visitor who came by a class's link is offered the chance to join.
    """
    position = current()
    if position is None:
        class_session.invitation(page)
        return
    lesson, index = position
    step = lesson.steps[index]
    if st.session_state.pop(GO_QUIZ, False) and page != "practice":
        switch("practice")
    go(page)
    is_quiz = page == "practice" and st.session_state.get(exercises.MODE) == exercises.QUIZ
    with st.container(border=True, key="lesson"):
        _head(lesson, index)
        class_session.invitation(page)
        st.markdown(f"#### {step.title}")
        st.markdown(HIDDEN if is_quiz else step.text)
        on_top = len(step.actions) > BESIDE_MOVES or page_of(step) == "explore"
        if on_top and step.actions and not is_quiz:
            with st.container(horizontal=True, key="lesson_actions"):
                _actions(step)
        if step.question and not is_quiz:
            _question(f"{lesson.name}/{index + 1}", step.question, bool(step.hide))
        _what_was_replaced(lesson.name, index)
        with st.container(horizontal=True, key="lesson_do"):
            if is_quiz:
                st.button(
                    "Back to the lesson",
                    key="lesson.there",
                    icon=":material/arrow_back:",
                    type="primary",
                    on_click=_there,
                    args=(page_of(step),),
                )
            else:
                with st.container(
                    horizontal=True,
                    width="content",
                    key="lesson_ways" if on_top else "lesson_actions",
                ):
                    if not on_top:
                        _actions(step)
                    _ways(step, page)
                with st.container(horizontal=True, width="content", key="lesson_move"):
                    _move(lesson, index)
    visit = f"{lesson.name} {index} {'quiz' if is_quiz else ''} {st.session_state.get(VISIT, 0)}"
    _point(step, page, visit)


def _head(lesson: Lesson, index: int) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="lesson_head"):
        st.caption(f"{lesson.title} · step {index + 1} of {len(lesson.steps)}", width="stretch")
        _words(lesson.steps[: index + 1])
        components.fold()
        st.button(
            "Close",
            key="lesson.close",
            icon=":material/close:",
            type="tertiary",
            on_click=leave,
        )


def _what_was_replaced(lesson: str, index: int) -> None:
    """Draw the offer to keep one's own strings and options, if this step has replaced them."""
    mine: tuple[str, int, dict[str, Any]] | None = st.session_state.get(MINE)
    if not mine or mine[:2] != (lesson, index):
        return
    with st.container(horizontal=True, vertical_alignment="center", key="lesson_mine"):
        st.caption("This step has set its own strings and options.", width="content")
        st.button(
            "Keep mine",
            key="lesson.mine",
            icon=":material/undo:",
            type="tertiary",
            on_click=_keep_mine,
        )


def _point(step: Step, page: str, visit: str) -> None:
    """Scroll to what a step is about, and hide what answers its question.

    `visit`: changes when the page is to scroll again.
    """
    is_here = page_of(step) == page
    keys = _elements(step.look) if is_here else []
    if keys:
        _slide(keys)
    if step.hide and is_here:
        _hide(step.hide)
    if draws_alone(MATRIX):
        st.html(
            f"<style>.st-key-{_class(MATRIX)} {{ --beside: none; --columns: minmax(0, 1fr); }}"
            "</style>"
        )
    with st.container(key="look"):
        _look(
            key="nlwfa.look",
            data={"keys": keys, "visit": visit, "presses": st.session_state.get(PRESSES, 0)},
            height=1,
        )


def _hide(names: Sequence[str]) -> None:
    """Hide the elements with these keys while the question has no answer, and show a note in place
    of the last of them. They light up once when the answer is right.

    The style stays as it is when only the question is drawn again. A style reaches the parts of
    Explore's picture, and what is drawn in the matrix, only by properties, which their style sheets
    and scripts read.
    """
    before = ".stApp:has(.st-key-unanswered)"
    right = ".stApp:has(.st-key-right)"
    inside = [name for name in names if name.startswith(PART) or name in DRAWN]
    if inside:
        hidden = " ".join(f"--hide-{name.partition('.')[2]}: hidden;" for name in inside)
        note = f"--note-{inside[-1].partition('.')[2]}: {ANSWER_FIRST};"
        lit = " ".join(f"--light-{name.partition('.')[2]}: light 1.6s;" for name in inside)
        st.html(f"<style>{before} {{ {hidden} {note} }}{right} {{ {lit} }}</style>")
    keys = [_class(name) for name in names if name not in inside]
    if not keys:
        return
    boxes = ", ".join(f".st-key-{key}, .st-key-{key} *" for key in keys)
    note = (
        f"content: {ANSWER_FIRST}; visibility: visible; position: sticky; top: 40vh; "
        "padding: 1rem; border: 1px dashed currentColor; border-radius: .5rem; text-align: center;"
    )
    st.html(
        f"<style>{before} :is({boxes}) {{ visibility: hidden !important; "
        f"}}{before} .st-key-{keys[-1]}::before {{ {note} }}"
        f"{right} :is({', '.join(f'.st-key-{key}' for key in keys)}) {{ animation: light 1.6s; }}"
        "</style>"
    )


def _slide(keys: list[str]) -> None:
    """Hide everything on a slide but the page's title and the elements with these keys, each with
    the heading right above it, if the first of them is there.
    """
    shown = ", ".join(f".st-key-{key}" for key in (*keys, "lesson", "slide", "look"))
    boxes = (
        ".stElementContainer, .stHorizontalBlock, .stColumn, .stExpander, "
        "[data-testid=stLayoutWrapper]"
    )
    inside = ", ".join(f"{selector} *" for selector in shown.split(", "))
    below = ", ".join(f"+ .st-key-{key}, + * .st-key-{key}" for key in keys)
    headings = f":has(h2, h3):has({below})"
    st.html(
        f"<style>.stApp:has(.st-key-slide):has(.st-key-{keys[0]}) .stMainBlockContainer "
        f":is({boxes}):not({shown}):not(:has(h1, {shown})):not({inside}):not({headings}) "
        "{ display: none; }</style>"
    )


@st.fragment
def _question(task: str, question: Question, hides: bool) -> None:
    """Draw a step's question: with an entry if it has a key, otherwise with an answer to open. A
    check reruns nothing else of the page.

    If the step hides what contains the answer, an element says that there is no answer yet: see
    `_hide`.
    """
    if question.key:
        exercises.exercise(task, 0, question, _how())
        response = exercises.responses().get((task, 0))
        if response and response.over and st.session_state.pop(UNANSWERED, "") == task:
            st.rerun()  # the picture draws the bar that was asked for
        if hides and not (response and response.over):
            st.container(key="unanswered").empty()
        if hides and exercises.has_just_been_right(task):
            st.container(key="right").empty()
        if response:
            with st.container(key="answered"):
                _look(
                    key="nlwfa.answered",
                    data={"answered": f"{task} {response.tries} {response.over}"},
                    height=1,
                )
        return
    with st.expander(
        f"**{question.text}** :grey[· answer]",
        key=f"lesson.answer.{task}",
        icon=":material/lightbulb:",
    ):
        st.markdown(f"{question.solution}\n\n{question.why}")


def _how() -> str:
    """Return what an empty field shows about answering in the picture; "" if that is not
    possible.
    """
    if _asks_for_cut():
        return "drag the cut, or type"
    return "draw the bar, or type" if _string_asked_for() else ""


def _class(key: str) -> str:
    """Write a key as Streamlit does in the names of its CSS classes."""
    return re.sub("[^a-zA-Z0-9_-]", "-", key)


def _words(steps: Sequence[Step]) -> None:
    """Draw a button that explains the terms that the texts and questions use, in the open step and
    in those before it.
    """
    texts = (f"{step.title} {step.text} {step.question and step.question.text}" for step in steps)
    terms = terms_in(" ".join(texts))
    if terms:
        words = st.popover(
            "Words",
            icon=":material/dictionary:",
            key="lesson.words",
            type="tertiary",
            on_change="rerun",
        )
        if words.open:
            words.markdown(
                "\n".join(
                    f"- **{term}**: {escape_markdown(meaning)}" for term, meaning in terms.items()
                )
            )


def _actions(step: Step) -> None:
    """Draw the buttons that set the recipe; the button whose recipe is set has a tick. A button is
    left out if it is the only one and entering the step has done the same.
    """
    now = sidebar.current().key()
    for number, action in enumerate(step.actions):
        is_set = bool(
            action.recipe
            and action.recipe.key() == now
            and (page_of(step) != "explore" or _has_view(action.view))
        )
        if len(step.actions) == 1 and is_set and action.view == step.view:
            break
        icon = ":material/check:" if is_set else ":material/tune:"
        st.button(
            action.label, key=f"lesson.do.{number}", icon=icon, on_click=_do, args=(step, action)
        )


def _ways(step: Step, page: str) -> None:
    """Draw the buttons that lead back to the step's recipe and to its page, or from there to the
    other pages that the step names.
    """
    offered = {  # recipes that are set, or that the button of an action sets
        sidebar.current().key(),
        *(action.recipe.key() for action in step.actions if action.recipe),
    }
    if step.recipe and step.recipe.key() not in offered:
        text = "Sets the strings and options of this step. *Undo* in the sidebar brings yours back."
        st.button(
            "Set this step up",
            key="lesson.scene",
            icon=":material/tune:",
            help=text,
            on_click=_set_scene,
            args=(step,),
        )
    others = [name for name in step.pages if name != page]
    targets = others if page in step.pages else [page_of(step)]
    for name in targets:
        st.button(
            f"Go to {title(name)}",
            key=f"lesson.there.{name}",
            icon=":material/arrow_forward:",
            on_click=_there,
            args=(name,),
        )


def _quiz(lesson: Lesson, index: int) -> None:
    """Draw, in the first and in the last step, a button that opens the lesson's quiz and keeps the
    lesson open.
    """
    when = {0: BEFORE, len(lesson.steps) - 1: AFTER}.get(index)
    if when is None or lesson.name not in contents.quizzes():
        return
    label = "Quiz first" if when == BEFORE else "Quiz"
    st.button(
        label,
        key="lesson.quiz",
        icon=":material/quiz:",
        type="tertiary",
        on_click=_open_quiz,
        args=(lesson.name, when),
    )


def _open_quiz(name: str, when: str) -> None:
    st.session_state[exercises.MODE] = exercises.QUIZ
    st.session_state[exercises.LESSON], st.session_state[exercises.WHEN] = name, when
    st.session_state[GO_QUIZ] = True


def _move(lesson: Lesson, index: int) -> None:
    _quiz(lesson, index)
    st.button(
        "Back",
        key="lesson.back",
        disabled=index == 0,
        on_click=open_lesson,
        args=(lesson.name, index - 1),
    )
    if index + 1 == len(lesson.steps):
        following = next_lesson(lesson.name)
        st.button(
            "Finish",
            key="lesson.next",
            type="secondary" if following else "primary",
            on_click=leave,
        )
        if following:
            text = contents.lessons()[following].title
            st.button(
                "Next lesson",
                key="lesson.following",
                type="primary",
                help=text,
                on_click=open_lesson,
                args=(following,),
            )
    else:
        st.button(
            "Next",
            key="lesson.next",
            type="primary",
            on_click=open_lesson,
            args=(lesson.name, index + 1),
        )


def _keep_mine() -> None:
    mine = st.session_state.pop(MINE, None)
    if mine:  # none at the second of two quick clicks
        sidebar.restore_values(mine[2])


def _there(page: str) -> None:
    st.session_state[GO] = page


def _do(step: Step, action: Action) -> None:
    if page_of(step) == "explore":
        _set_view(action.view)
    try:
        recipe = action.applied(sidebar.current(), sidebar.hidden_options())
        sidebar.set_recipe(recipe, forget=action.recipe is not None)
    except RecipeError as error:
        error_toast(error)
    else:
        st.session_state[GO] = page_of(step)
        st.session_state[PRESSES] = st.session_state.get(PRESSES, 0) + 1
