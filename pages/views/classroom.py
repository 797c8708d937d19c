"""Draw the Class page: how to join, what a student sees, and the teacher's board, which refreshes
itself.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Literal
from urllib.parse import urlencode

import streamlit as st

from nlwfa_core import RecipeError, limits
from nlwfa_core.display.addresses import qr_code, shared_link
from nlwfa_core.display.figures.bars import guesses_figure
from nlwfa_core.display.palette import RIGHT_SIGN, WRONG_SIGN
from nlwfa_core.display.run_tables import format_time
from nlwfa_core.errors import plural
from nlwfa_core.history.classes import CLASS_SIZE, KEEP_DAYS, ClassRecord
from nlwfa_core.history.database import database_errors_as_sentences
from nlwfa_core.metrics.tables import Column
from nlwfa_core.teaching import class_board, quizzes
from nlwfa_core.teaching.answers import ChoiceKey, Key
from nlwfa_core.teaching.class_plan import Note, lesson_plan, step_plan
from nlwfa_core.teaching.lessons import Step
from nlwfa_core.teaching.questions import Question
from pages.shared import (
    class_session,
    contents,
    exercises,
    following,
    open_lesson,
    share_link,
    url_parameters,
    visitor,
    widgets,
)
from pages.shared.navigation import FIRST, title
from pages.shared.widgets import error_toast, errors_as_messages, escape_markdown

SECONDS = 2.0
QR_WIDTH = 240  # pixels
QR_ALT = "The students' link as a QR code"
CODE, NICKNAME, HAND_IN, CHOSEN, OPENS, SHOWS_QUESTION = (
    f"class.{name}" for name in ("code", "nickname", "hand_in", "chosen", "opens", "shows_question")
)
TABLES = ("answers", "hand-ins", "gains")
MOST_NAMED = 30  # people in the list of those who have answered
THIS_PAGE = ""
MOST_SHOWN = 10  # people in the list of those to remove, with a button each
LOCK_HELP = "Members can go on answering; nobody else can join until you let people join again."
REMOVE_NOTE = (
    "A removed member can't join again from the same browser, and nothing of theirs is shown or "
    "recorded. *Let back in* undoes this. If they come back from other browsers, lock joining."
)
STORED = (
    "The session stores your nickname, if you choose one, the step that you are at, your answers "
    "to questions and quizzes with their times, and what you hand in. It stores no name, no "
    "address and nothing that you upload. Your teacher sees what is stored. The session is deleted "
    f"when the teacher deletes it, and at the latest {KEEP_DAYS} days after it was opened; *Leave* "
    "deletes your part at once. You don't need to join to use the lab."
)


def has_code() -> bool:
    return bool(class_session.code())


def is_teacher() -> bool:
    """Return whether the visitor is the teacher of the session in the address.

    Raises RecipeError if the database is away.
    """
    return class_session.is_teacher()


def entrance() -> None:
    """Draw the two ways in: to join a session with a code, and to open one."""
    left, right = st.columns(2, gap="large")
    with left.container(border=True, height="stretch", key="class_join"):
        st.subheader("Join a session", anchor=False)
        with st.form("class.join", border=False):
            with st.container(horizontal=True):
                st.text_input(
                    "Code",
                    key=CODE,
                    max_chars=20,
                    autocomplete="off",
                    help="The five characters on the projector.",
                    width=140,
                )
                st.text_input(
                    "Nickname (optional)",
                    key=NICKNAME,
                    max_chars=limits.most("nickname"),
                    autocomplete="off",
                )
            st.form_submit_button("Join", key="class.enter", type="primary", on_click=_enter)
        st.caption(STORED)
    with right.container(border=True, height="stretch", key="class_open"):
        st.subheader("Open a session", anchor=False)
        st.markdown(
            "For teachers. You get a code, a link and a QR code for your class. Only "
            f"{_own_place()} and anyone with your own link can see what the class answers."
        )
        st.button("Open a session", key="class.open", icon=":material/co_present:", on_click=_open)
        _own_sessions()
        st.caption(
            "The session and everything in it are kept until you delete it, but for at most "
            f"{KEEP_DAYS} days. On a full server, a session with fewer than {CLASS_SIZE} people "
            "may be deleted earlier."
        )


def _own_place() -> str:
    """Say where a teacher finds a session again without a link."""
    if visitor.signed_in():
        return "you (when signed in)"
    return "this machine" if visitor.at_the_machine() else "this browser (until it is closed)"


def _own_sessions() -> None:
    """Draw a button for each session that the visitor has opened."""
    sessions = class_session.own_sessions()
    if sessions:
        st.markdown("**Sessions that you have opened**")
    for summary in sessions:
        opened = format_time(summary.opened, st.context.timezone)
        label = f"{summary.code} · {opened} · {plural(summary.num_members, 'student')}"
        st.button(
            label,
            key=f"class.own.{summary.code}",
            icon=":material/co_present:",
            type="tertiary",
            on_click=class_session.enter_address,
            args=(summary.code,),
        )


def student() -> None:
    """Draw what a student sees: joining, handing in, leaving."""
    code = class_session.code()
    with database_errors_as_sentences():
        there = class_session.store().exists(code)
    if not there:
        st.error(
            f"There is no class session {code}: check the code. The teacher may have deleted "
            "the session.",
            icon=":material/error:",
        )
        st.button("Enter another code", key="class.other", on_click=class_session.leave_address)
        return
    st.subheader(f"Session {code}", anchor=False)
    joined = class_session.joined()
    name = ""
    if joined:
        name = class_session.nickname()
        who = f"as {escape_markdown(name)}" if name else "without a nickname"
        with database_errors_as_sentences():
            is_open = class_session.store().is_open(code)
        st.success(
            f"You are in the session **{code}**, {who}. "
            + (
                "Your answers to the lessons' questions and to the quizzes are sent to your "
                "teacher."
                if is_open
                else "Your teacher has closed it: nothing more is recorded. The lessons still work."
            ),
            icon=":material/groups:" if is_open else ":material/lock:",
        )
        place = _place_of_the_class()
        if open_lesson.current() is None and place:
            label = f"Go to {_place_title(place)}"
            st.button(
                label,
                key="class.go",
                type="primary",
                icon=":material/arrow_forward:",
                on_click=_go_to_lesson,
            )
        _hand_in_form()
        _quiz_links()
    st.session_state.setdefault(NICKNAME, name)
    with (
        st.form("class.nickname_form", border=not joined),
        st.container(horizontal=True, vertical_alignment="bottom"),
    ):
        st.text_input(
            "Nickname (optional)",
            key=NICKNAME,
            max_chars=limits.most("nickname"),
            autocomplete="off",
            width=280,
        )
        label = "Change the nickname" if joined else f"Join {code}"
        st.form_submit_button(
            label,
            key="class.join_button",
            type="secondary" if joined else "primary",
            on_click=_join,
        )
    st.caption(STORED)
    if joined:
        with st.popover("Leave", icon=":material/logout:", key="class.leave"):
            st.markdown(
                "This removes your answers, and everything you have handed in, from the session. "
                "It can't be undone."
            )
            st.button("Leave, and delete my answers", key="class.leave_now", on_click=_leave)
    else:
        st.button(
            "Enter another code",
            key="class.other",
            type="tertiary",
            on_click=class_session.leave_address,
        )


def _hand_in_form() -> None:
    with st.form("class.hand_in_form"):
        st.text_area(
            "Hand in: a link from *Share*, or text",
            key=HAND_IN,
            max_chars=limits.most("hand_in_characters"),
            height=100,
        )
        st.form_submit_button(
            "Hand in",
            key="class.hand_in_button",
            icon=":material/assignment_turned_in:",
            on_click=_hand_in,
        )


def _quiz_links() -> None:
    st.markdown("The quizzes before and after a lesson are on the *Practice* page.")


def _how_to_join() -> None:
    """Draw what the class needs to join: the code, the link to a lesson, and its QR code."""
    code = class_session.code()
    all_lessons = contents.lessons()
    left, right = st.columns([3, 2], vertical_alignment="center")
    with left:
        st.markdown(f"Open the link, or enter the code **{code}** on the *Class* page.")
        names = [THIS_PAGE, *all_lessons]
        name = st.selectbox(
            "New students start at",
            names,
            format_func=lambda name: (
                f"the lesson {all_lessons[name].title}" if name else "the page Class"
            ),
            key=OPENS,
            index=names.index(_lesson_of_the_class()),
            on_change=_choose_lesson,
            width=420,
        )
        address, warning = _students_link(name)
        with st.container(key="share_link"):
            st.code(address, language=None, wrap_lines=True)
        if warning:
            st.warning(warning, icon=":material/wifi_off:")
    picture = qr_code(address)
    if picture and not warning:
        right.image(picture, width=QR_WIDTH, alt=QR_ALT)


def _students_link(lesson: str) -> tuple[str, str]:
    """Return the link with which students join, and a warning if others can't open it."""
    fields = {open_lesson.LESSON: lesson, open_lesson.STEP: "1"} if lesson else {}
    return _address({class_session.CLASS: class_session.code(), **fields})


def _lesson_of_the_class() -> str:
    """Return the lesson to which joining leads: the one that the teacher has chosen, by default the
    first; "" for none.
    """
    with database_errors_as_sentences():
        chosen = class_session.store().opens(class_session.code())
    names = ["", *contents.lessons()]
    return chosen if chosen in names else names[min(1, len(names) - 1)]


def _place_of_the_class() -> str:
    """Return the step that the class is at; otherwise, the first step of the lesson to which
    joining leads; "" for none.
    """
    with database_errors_as_sentences():
        place = class_session.store().last_move(class_session.code())[0]
    lesson = _lesson_of_the_class()
    return place or (f"{lesson}/1" if lesson else "")


def _address(parameters: dict[str, str]) -> tuple[str, str]:
    """Return a link to this page that others can open, and a warning if there is none."""
    here = str(st.context.url or "").split("?")[0]
    listens_on = str(st.get_option("server.address") or "")
    return shared_link(f"{here}?{urlencode(parameters)}", listens_on, share_link.machine())


def slide() -> None:
    """Draw what the class sees on the projector, and draw it again every two seconds: how to join,
    until the class is moved or the teacher chooses the question; then the question and its answers.
    """
    with st.container(key="class_slide"):
        st.fragment(_slide, run_every=SECONDS)()


@errors_as_messages()
def _slide() -> None:
    record = _record()
    shows_question = bool(record.members) and st.session_state.get(
        SHOWS_QUESTION, bool(record.place)
    )
    items = _items(record)
    name = _shown(record, items)
    with st.container(horizontal=True, vertical_alignment="center", key="class_slide_head"):
        heading = f"{items[name].title} · {class_session.code()}"
        st.title(heading if shows_question else "How to join", anchor=False, width="stretch")
        if record.members:
            st.button(
                "How to join" if shows_question else "Question",
                key="class.switch_slide",
                icon=":material/qr_code_2:" if shows_question else ":material/help:",
                shortcut="J",
                on_click=_show_question,
                args=(not shows_question,),
            )
        if shows_question:
            _moves(record, name, items, is_slide=True)
    if shows_question:
        _question(record, name, items[name], is_teachers=False)
    else:
        _join_slide(len(record.members))


def _show_question(shows: bool) -> None:
    st.session_state[SHOWS_QUESTION] = shows


def _join_slide(number: int) -> None:
    """Fill the slide with how to join, and how many have joined."""
    address, warning = _students_link(_lesson_of_the_class())
    picture = "" if warning else qr_code(address)
    left, right = st.columns([3, 2], vertical_alignment="center")
    with left:
        st.title(class_session.code(), anchor=False)
        st.markdown(
            f"Open `{address.partition('?')[0]}` and enter this code"
            + (", or scan the picture." if picture else ".")
        )
        if number:
            st.markdown(f"**{plural(number, 'student')}** here.")
    if picture:
        right.image(picture, width="stretch", alt=QR_ALT)


def presenter() -> None:
    """Draw the teacher's screen: the question, who has answered, its answers and what to say, then
    everything else about the session. What changes is drawn again every two seconds.
    """
    st.fragment(_presenter, run_every=SECONDS)()


@errors_as_messages()
def _presenter() -> None:
    record = _record()
    code = class_session.code()
    items = _items(record)
    name = _shown(record, items)
    with st.container(key="class_head", horizontal=True, vertical_alignment="center"):
        st.title(f"Class {code}", anchor=False, width="content")
        if record.members:
            with st.popover("How to join", icon=":material/qr_code_2:", key="class.how"):
                _how_to_join()
        st.link_button(
            "Slide view",
            _slide_address(class_session.PAGE, _own_parameters()),
            icon=":material/slideshow:",
            help="Opens a window for the projector, which shows how to join, then the question and "
            "its answers, without names or notes.",
        )
        _moves(record, name, items)
    if not (visitor.is_identified() or url_parameters.value(class_session.TEACHER)):
        st.caption(
            "Before you close this browser, save *Your own link*, below: nothing else leads back "
            "to this board."
        )
    if record.closed is not None:
        st.info("This session is closed: nothing more is recorded.", icon=":material/lock:")
    elif record.locked is not None:
        st.info(
            "Joining is locked: members can go on, and nobody else can join.",
            icon=":material/person_off:",
        )
    if not record.members:
        with st.container(border=True, key="class.how"):
            _how_to_join()
    left, right = st.columns([8, 5], gap="medium")
    with left.container(key="class.item"):
        # The key contains what is shown, because the browser may send an earlier choice once more.
        key = f"class.item {name}"
        st.selectbox(
            "Step",
            list(items),
            index=list(items).index(name),
            format_func=lambda name: items[name].title,
            key=key,
            label_visibility="collapsed",
            on_change=_choose_item,
            args=(key,),
        )
    with left.container(key="class_question"):
        _question(record, name, items[name], is_teachers=True)
    with right:
        step = items[name].step
        if step is not None:
            _notes(step, items[name].note)
            st.link_button(
                "This step for the projector",
                _slide_of_step(name, step),
                icon=":material/slideshow:",
            )
    where, hand_ins, gains = st.tabs(
        ["Who is where", f"Handed in ({len(record.hand_ins)})", "Before and after"],
        key="class.tabs",
    )
    with where:
        _where(record)
    with hand_ins:
        _hand_ins(record)
    with gains:
        _gains(record)


def _own_parameters() -> dict[str, str]:
    """Return the parameters of an address of this board, with the teacher's token if it came by a
    link.
    """
    names = (class_session.CLASS, class_session.TEACHER)
    return {name: value for name in names if (value := url_parameters.value(name))}


def _slide_of_step(name: str, step: Step) -> str:
    """Return the address of a step in slide view."""
    lesson, _, number = name.partition("/")
    place = {open_lesson.LESSON: lesson, open_lesson.STEP: number}
    return _slide_address(open_lesson.page_of(step), place)


def _slide_address(page: str, parameters: Mapping[str, str]) -> str:
    query = urlencode({**parameters, share_link.VIEW: share_link.SLIDE})
    return f"./{'' if page == FIRST else page}?{query}"


def _record() -> ClassRecord:
    code = class_session.code()
    with database_errors_as_sentences():
        return class_session.store().read(code, class_session.token(code))


@dataclass(frozen=True)
class Item:
    """The items that the board can show: a step of a lesson, or a task of the bank."""

    title: str
    question: Question | None
    step: Step | None
    note: Note | None


def _items(record: ClassRecord) -> dict[str, Item]:
    """Return what the board can show: the steps of all lessons, and the tasks that somebody has
    answered.
    """
    notes = contents.teaching_notes()
    found = {
        place: Item(text, step.question, step, notes.get(place))
        for place, (text, step) in class_board.lesson_steps(contents.lessons()).items()
    }
    bank = contents.tasks()
    for answer in record.answers:
        if answer.task in bank and answer.seed >= 0:
            kind = bank[answer.task]
            name = class_board.question_name(answer.task, answer.seed)
            if name not in found:
                text = f"Practice · {kind.title}, task {answer.seed:,}"
                found[name] = Item(text, kind.task(answer.seed).question, None, None)
    return found


def _shown(record: ClassRecord, items: Mapping[str, Item]) -> str:
    """Return what the board shows: what the teacher has chosen since the last move, otherwise where
    the class is.
    """
    place, name = st.session_state.get(CHOSEN, (None, ""))
    if place == record.place and name in items:
        return str(name)
    return class_board.shown_at_first(record, _lesson_of_the_class(), list(items))


def _moves(
    record: ClassRecord, name: str, items: Mapping[str, Item], is_slide: bool = False
) -> None:
    """Draw the buttons that reveal the answers and move the class."""
    question = items[name].question
    revealed = name in record.revealed
    st.button(
        "Hide" if revealed else "Reveal",
        key="class.reveal",
        icon=":material/visibility_off:" if revealed else ":material/visibility:",
        shortcut="A",
        disabled=question is None or question.key is None,
        on_click=_reveal,
        args=(name, not revealed),
    )
    is_elsewhere = items[name].step is not None and record.place not in ("", name)
    following = name if is_elsewhere else class_board.followed_by(name, [*items])
    where = "this step" if is_elsewhere else "next step" if is_slide else "the next step"
    st.button(
        where.capitalize() if is_slide else f"Move everyone to {where}",
        key="class.move",
        type="primary",
        icon=":material/groups:",
        shortcut="N",
        disabled=items[name].step is None or not following,
        on_click=_move,
        args=(following,),
    )


def _question(record: ClassRecord, name: str, item: Item, is_teachers: bool) -> None:
    """Draw a question, how many have answered it, and the answers when they are revealed.

    `name`: the step's name. `is_teachers`: whether this is the teacher's own screen, which names
    those who have answered, and not the projector's.
    """
    question = item.question
    if question is None or question.key is None:
        here = [entry for entry in record.members if entry.place == name]
        st.markdown(f"#### {question.text if question else item.title}")
        text = "This step has no answer to enter" if question else "This step has no question"
        st.markdown(f"{text}. Here: {len(here)} of {plural(len(record.members), 'student')}.")
        return
    revealed = name in record.revealed
    st.markdown(f"#### {question.text}")
    _counts(record, name, is_teachers, revealed)
    if is_teachers:
        _who(record, name)
    if revealed:
        _answers(record, name, question.key, is_teachers)
    elif is_teachers:
        st.caption("The answers are hidden until you press *Reveal* or the A key.")


def _counts(record: ClassRecord, name: str, is_teachers: bool, revealed: bool) -> None:
    """Draw how many have answered a question and, if it is revealed, how many are right."""
    tally = class_board.tally(record.answers, name)
    counts = [f"**{tally.answered} of {len(record.members)}** have answered"]
    if revealed and tally.answered:
        share = quizzes.percent(tally.first / tally.answered)
        counts += [f"**{tally.first}** right at once ({share})", f"**{tally.second}** after a hint"]
    if is_teachers and not math.isnan(tally.seconds):
        counts.append(f"half of them within {tally.seconds:.0f} s")
    st.markdown(" · ".join(counts))
    st.progress(min(1.0, tally.answered / max(1, len(record.members))))


def _answers(record: ClassRecord, name: str, key: Key, is_teachers: bool) -> None:
    """Draw the right answer, and everyone's first answers as bars."""
    bars = class_board.histogram(key, class_board.first_guesses(record.answers, name))
    if isinstance(key, ChoiceKey):
        labels = [exercises.option_letter(number) for number in range(len(bars))]
        lines = []
        for label, bar in zip(labels, bars, strict=True):
            sign = f":green[**{RIGHT_SIGN}**]" if bar.right else f":orange[**{WRONG_SIGN}**]"
            lines.append(f"- {sign} **{label}** {bar.label}")
        text = "\n".join(lines)
        # on the projector they are next to the picture, which is as high as the screen
        beside, picture = (st.container(), st.container()) if is_teachers else st.columns(2)
    else:
        labels = [bar.label for bar in bars]
        text = f"The answer is **{key.truth}**."
        beside = st.container()
        picture = st.container()
    beside.markdown(text)
    if bars:
        figure = guesses_figure(
            labels,
            [bar.count for bar in bars],
            [bar.right for bar in bars],
            is_large=not is_teachers,
        )
        alt = "First answers: " + ", ".join(
            f"{label} {bar.count}" for label, bar in zip(labels, bars, strict=True)
        )
        height: Literal["content", "stretch"] = "content" if is_teachers else "stretch"
        with picture.container(key="class_picture", height=height):
            st.plotly_chart(figure, key="class.histogram", alt=alt, height=height)
    if is_teachers:
        st.caption("First tries are counted.")


def _who(record: ClassRecord, name: str) -> None:
    """Draw who has answered a question, and who has not."""
    all_names = class_board.member_names(record.members)
    answered = class_board.tries(record.answers, name)
    groups = {
        "Answered": [text for member, text in all_names.items() if member in answered],
        "Not yet": [text for member, text in all_names.items() if member not in answered],
    }
    for label, people in groups.items():
        if people:
            rest = f" and {len(people) - MOST_NAMED} more" if len(people) > MOST_NAMED else ""
            text = ", ".join(escape_markdown(person) for person in people[:MOST_NAMED])
            st.caption(f"**{label}:** {text}{rest}")


def _notes(step: Step, note: Note | None) -> None:
    """Draw what to say, what to expect and what to watch for."""
    notes = step_plan(step, note)
    with st.expander("Say, expect, mistakes", expanded=True, key="class.notes"):
        if notes.say:
            st.markdown(f"**Say.** {notes.say}")
        if notes.expect:
            st.markdown(f"**Expect.** {notes.expect}")
        if notes.mistakes:
            st.markdown("**Mistakes**\n" + "\n".join(f"- {text}" for text in notes.mistakes))


def _where(record: ClassRecord) -> None:
    if not record.members:
        st.markdown("Nobody has joined yet.")
        return
    names = class_board.member_names(record.members)
    groups = class_board.places(record.members)
    order = [place for place in class_board.lesson_steps(contents.lessons()) if place in groups]
    rest = [place for place in groups if place not in order]
    table: dict[str, Column] = {
        "place": [_place_title(place) for place in [*order, *rest]],
        "students": [len(groups[place]) for place in [*order, *rest]],
        "who": [
            ", ".join(names[entry.member] for entry in groups[place]) for place in [*order, *rest]
        ],
    }
    widgets.draw_table(table, "class.where", "How many students are at each step")


def _place_title(place: str) -> str:
    name, _, number = place.partition("/")
    lesson = contents.lessons().get(name)
    if lesson and number.isdecimal() and 1 <= int(number) <= len(lesson.steps):
        return f"{lesson.title} · {number}. {lesson.steps[int(number) - 1].title}"
    return title(place) if place else "not begun"


def _hand_ins(record: ClassRecord) -> None:
    if not record.hand_ins:
        st.markdown(
            "Nothing has been handed in yet. Students hand in on this page, from *Share*, or from "
            "*Take away*."
        )
        return
    names = class_board.member_names(record.members)
    entries = [entry for entry in reversed(record.hand_ins) if entry.member in names]
    table: dict[str, Column] = {
        "student": [names[entry.member] for entry in entries],
        "handed in": [entry.content for entry in entries],
    }
    links = [entry.content if is_link(entry.content) else None for entry in entries]
    columns = {}
    if any(links):
        table["link"] = links
        columns["link"] = st.column_config.LinkColumn(width="small", display_text="open")
    alt = "What students have handed in, the latest first"
    widgets.draw_table(table, "class.hand_ins", alt, columns)


def is_link(content: str) -> bool:
    """Return whether a hand-in is a single web address, which a browser may open.

    >>> is_link("http://lab:8501/?rank=3"), is_link("javascript:alert(1)"), is_link("see http://x")
    (True, False, False)
    """
    return bool(re.fullmatch(r"https?://\S+", content))


def _gains(record: ClassRecord) -> None:
    rows = {name: quizzes.class_gain(record.answers, name) for name in contents.quizzes()}
    counts = {
        when: [len(quizzes.shares(record.answers, name, when)) for name in rows]
        for when in quizzes.SEEDS
    }
    if not any(counts[quizzes.BEFORE] + counts[quizzes.AFTER]):
        st.markdown(
            "Nobody has taken a quiz yet. The quizzes are on the *Practice* page: eight "
            "items before a lesson and eight after."
        )
        return
    table: dict[str, Column] = {
        "lesson": [contents.quizzes()[name].title for name in rows],
        "took it before": counts[quizzes.BEFORE],
        "after": counts[quizzes.AFTER],
        "both": [gain.number for gain in rows.values()],
        "right before": [quizzes.percent(gain.before) for gain in rows.values()],
        "right after": [quizzes.percent(gain.after) for gain in rows.values()],
        "normalised gain": [gain.text() for gain in rows.values()],
    }
    for when in quizzes.SEEDS:
        times = [quizzes.quiz_seconds(record.answers, name, when).values() for name in rows]
        table[f"minutes {when}"] = [
            f"{median(those) / 60:.1f}" if those else "–" for those in times
        ]
    widgets.draw_table(table, "class.gains", "Quizzes before and after each lesson")
    st.caption(
        "Only students who took both are counted; minutes are medians. The normalised gain is "
        "(after − before) / (1 − before): the gain as a share of the largest possible gain. With "
        f"at least {quizzes.FEWEST} students, its 95 % interval over students is in brackets."
    )


def session_controls() -> None:
    """Draw what the teacher can do with the session as a whole."""
    code = class_session.code()
    record = _record()
    st.subheader("The session", anchor=False)
    with st.container(horizontal=True, key="class_controls"):
        _lock_button(record)
        _people(record)
        label, icon = (
            ("Close", ":material/lock:")
            if record.closed is None
            else ("Open again", ":material/lock_open:")
        )
        st.button(
            label, key="class.close", icon=icon, on_click=_close, args=(record.closed is None,)
        )
        with st.popover("Delete", icon=":material/delete:", key="class.delete"):
            st.markdown(
                f"This deletes the session {code} with all answers and hand-ins. It can't be "
                "undone."
            )
            st.button("Delete everything", key="class.delete_now", type="primary", on_click=_delete)
        with st.popover("Your own link", icon=":material/key:", key="class.key"):
            address, _ = _address(
                {class_session.CLASS: code, class_session.TEACHER: class_session.token(code)}
            )
            st.markdown(
                "It opens this board in another browser. Anyone who has it can do everything that "
                "you can, so don't show it."
            )
            st.code(address, language=None, wrap_lines=True)
    token = class_session.token(code)
    with st.container(horizontal=True, key="class_files"):
        for name in TABLES:
            st.download_button(
                f"{name.capitalize()} as CSV",
                partial(table_as_csv, name, code, token),
                f"{code}-{name}.csv",
                "text/csv",
                key=f"class.csv.{name}",
                icon=":material/download:",
                on_click="ignore",
            )
    st.caption(
        "The table of answers has a row for each try, with its time in seconds; the table of gains "
        "has one for each student and quiz. Each student has a number, and a nickname if they "
        "chose one. Nicknames, steps, answers with their times, and hand-ins are stored until you "
        f"delete the session, but for at most {KEEP_DAYS} days after you opened it."
    )


def _lock_button(record: ClassRecord) -> None:
    is_locked = record.locked is not None
    label = "Let people join" if is_locked else "Lock joining"
    icon = ":material/person_add:" if is_locked else ":material/person_off:"
    st.button(
        label, key="class.lock", icon=icon, on_click=_lock, args=(not is_locked,), help=LOCK_HELP
    )


def _people(record: ClassRecord) -> None:
    """Draw the list from which the teacher removes people: the newest first, one button each, and a
    button that removes many at once.
    """
    popover = st.popover(
        "Remove people", icon=":material/person_remove:", key="class.people", on_change="rerun"
    )
    if not popover.open:
        return
    with popover:
        if not record.members:
            st.markdown("Nobody has joined yet.")
        names = class_board.member_names(record.members)
        answered = Counter(answer.member for answer in record.answers)
        newest = sorted(record.members, key=lambda entry: -entry.joined)
        for entry in newest[:MOST_SHOWN]:
            detail = f"joined {_clock(entry.joined)}, {plural(answered[entry.member], 'answer')}"
            label = f"{escape_markdown(names[entry.member])} · {detail}"
            key = f"class.remove.{entry.member}"
            st.button(
                label,
                key=key,
                icon=":material/close:",
                type="tertiary",
                on_click=_remove,
                args=([entry.member],),
            )
        if len(newest) > MOST_SHOWN:
            others = [entry.member for entry in newest[MOST_SHOWN:]]
            chosen = st.multiselect(
                "Others", others, format_func=names.get, key="class.others", select_all=False
            )
            st.button(
                "Remove these",
                key="class.remove_others",
                on_click=_remove,
                args=(chosen,),
                disabled=not chosen,
            )
        if record.members:
            _flood(record, answered)
        if record.removed:
            label = f"Let {plural(len(record.removed), 'member')} back in"
            removed = [entry.member for entry in record.removed]
            st.button(
                label,
                key="class.readmit",
                icon=":material/undo:",
                type="tertiary",
                on_click=_readmit,
                args=(removed,),
            )
    popover.caption(REMOVE_NOTE)


def _flood(record: ClassRecord, answered: Counter[str]) -> None:
    """Draw the button that removes everyone who joined at or after a chosen time."""
    st.markdown("**Many people who do not belong here**")
    joined = sorted(entry.joined for entry in record.members)
    moments = sorted({moment - moment % 60 for moment in joined}, reverse=True)
    since = st.selectbox(
        "Joined at or after", moments, format_func=_clock, key="class.since", width=200
    )
    silent = st.checkbox("Only those who have not answered", True, key="class.silent")
    members = [
        entry.member
        for entry in record.members
        if entry.joined >= (since or 0.0) and not (silent and answered[entry.member])
    ]
    label = f"Remove {plural(len(members), 'member')}"
    icon = ":material/group_remove:"
    st.button(
        label,
        key="class.remove_flood",
        icon=icon,
        on_click=_remove,
        args=(members,),
        disabled=not members,
    )


def _clock(moment: float) -> str:
    """Write a moment as the visitor's local time of day."""
    return format_time(moment, st.context.timezone).split(" ", 1)[1]


def plan() -> None:
    """Draw the plan for 50 minutes."""
    with st.expander(
        "50 minutes in class: what to say, what to expect, where people go wrong",
        icon=":material/school:",
        key="class.plan",
    ):
        st.markdown(_plan())


@st.cache_data(show_spinner=False)
def _plan() -> str:
    return lesson_plan(contents.lessons(), contents.teaching_notes())


def _act(action: Callable[[], None]) -> bool:
    """Do something in the store; an error becomes a message. Returns whether it was done."""
    try:
        with database_errors_as_sentences():
            action()
    except RecipeError as error:
        error_toast(error)
        return False
    return True


def _open() -> None:
    _act(class_session.open_session)


def _enter() -> None:
    """Join the session whose code is entered; its teacher comes to the board."""
    try:
        class_session.enter_address(class_session.read_code(st.session_state[CODE]))
        teaches = class_session.is_teacher()
    except RecipeError as error:
        error_toast(error)
        return
    if not teaches and not _join():
        class_session.leave_address()


def _join() -> bool:
    """Join, and go where the class is: to the step to which the teacher has moved it, otherwise to
    the lesson that the link names, otherwise to the one that the link would have named. Someone who
    has joined before only changes the nickname. Returns whether joining was possible.
    """
    before: list[str] = []
    act = partial(class_session.join, st.session_state[NICKNAME])
    if not _act(lambda: before.append(class_session.joined())) or not _act(act):
        return False
    return bool(before[0]) or _act(_go_to_lesson)


def _go_to_lesson() -> None:
    if following.open_place(class_session.store().last_move(class_session.code())[0]):
        return
    position = open_lesson.current()
    if position:
        open_lesson.open_lesson(position[0].name, position[1])
    elif name := _lesson_of_the_class():
        open_lesson.open_lesson(name)


def _choose_lesson() -> None:
    code = class_session.code()
    _act(
        partial(
            class_session.store().choose_lesson,
            code,
            class_session.token(code),
            st.session_state[OPENS],
        )
    )


def _leave() -> None:
    _act(partial(class_session.leave))


def _hand_in() -> None:
    if _act(partial(class_session.hand_in, st.session_state[HAND_IN])):
        st.session_state[HAND_IN] = ""
        st.toast("Handed in.", icon=":material/check:")


def _choose_item(key: str) -> None:
    _act(partial(_choose, st.session_state[key]))


def _choose(name: str) -> None:
    st.session_state[CHOSEN] = _record().place, name


def _move(place: str) -> None:
    code = class_session.code()
    _act(partial(class_session.store().move_class, code, class_session.token(code), place))


def _reveal(question: str, revealed: bool) -> None:
    code = class_session.code()
    _act(partial(_choose, question))
    _act(partial(class_session.store().reveal, code, class_session.token(code), question, revealed))


def _close(closed: bool) -> None:
    code = class_session.code()
    _act(partial(class_session.store().close, code, class_session.token(code), closed))


def _lock(locked: bool) -> None:
    code = class_session.code()
    _act(partial(class_session.store().lock, code, class_session.token(code), locked))


def _remove(members: list[str]) -> None:
    if _act(partial(class_session.remove, members)):
        st.toast(f"Removed: {plural(len(members), 'member')}.", icon=":material/check:")


def _readmit(members: list[str]) -> None:
    code = class_session.code()
    _act(partial(class_session.store().readmit, code, class_session.token(code), members))


def _delete() -> None:
    code = class_session.code()
    if _act(partial(class_session.store().delete, code, class_session.token(code))):
        class_session.leave_address()
        st.toast(f"The session {code} has been deleted.", icon=":material/check:")


def table_as_csv(name: str, code: str, token: str) -> bytes:
    """Write one of `TABLES` as it is at the time of the download.

    Raises RecipeError unless the token is the teacher's.
    """
    with database_errors_as_sentences():
        record = class_session.store().read(code, token)
    if name == "gains":
        return class_board.gains_csv(record, contents.quizzes())
    write = class_board.answers_csv if name == "answers" else class_board.hand_ins_csv
    return write(record)
