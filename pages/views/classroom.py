"""Draw the Class page: the way in, what a student sees, and the teacher's board, which refreshes
itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
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
from nlwfa_core.teaching.answers import ChoiceKey
from nlwfa_core.teaching.class_plan import lesson_plan
from nlwfa_core.teaching.questions import Question
from pages.shared import class_session, contents, open_lesson, share_link, url_parameters, widgets
from pages.shared.navigation import title
from pages.shared.widgets import error_toast, errors_as_messages, escape_markdown

SECONDS = 2.0
QR_WIDTH = 240  # pixels
CODE, NICKNAME, HAND_IN, QUESTION, CHOSEN, OPENS, EXPORT = (
    f"class.{name}"
    for name in ("code", "nickname", "hand_in", "question", "chosen", "opens", "export")
)
THIS_PAGE = ""
MOST_SHOWN = 10  # people in the list of those to remove, with a button each
LOCK_HELP = "Members go on answering; nobody else can join until you let people join again."
REMOVE_NOTE = (
    "Who is removed can't join again from the same browser, and nothing of theirs is shown "
    "or recorded. *Let back in* undoes it. "
    "If they come back from other browsers, lock joining."
)
STORED = (
    "Stored are your nickname, if you choose one, the step that you are at, your answers to "
    "questions and quizzes with their "
    "times, and what you hand in; no name, no address, and nothing that you upload. Your "
    "teacher sees it. It is deleted when the "
    f"teacher deletes the session, at the latest {KEEP_DAYS} days after it was opened; "
    "*Leave* deletes your part at once. You need "
    "not join to use the lab."
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
            st.text_input(
                "Code",
                key=CODE,
                max_chars=20,
                autocomplete="off",
                help="The five characters on the wall.",
            )
            st.form_submit_button(
                "Go to the session", key="class.enter", type="primary", on_click=_enter
            )
    with right.container(border=True, height="stretch", key="class_open"):
        st.subheader("Open a session", anchor=False)
        st.markdown(
            "For teachers. You get a code, a link and a QR code for your class. Only this "
            "browser, and whoever has your own link, "
            "sees what the class answers."
        )
        st.button("Open a session", key="class.open", icon=":material/co_present:", on_click=_open)
        st.caption(
            "The session and everything in it are deleted when you say so, at the latest "
            f"after {KEEP_DAYS} days. On a full "
            f"server, one with fewer than {CLASS_SIZE} people may be deleted earlier."
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
    joined, name = class_session.joined(), ""
    if joined:
        name = class_session.nickname()
        who = f"as {escape_markdown(name)}" if name else "without a nickname"
        st.success(
            f"You are in the session **{code}**, {who}. Your answers to the lessons' "
            "questions and to the quizzes are sent to your "
            "teacher.",
            icon=":material/groups:",
        )
        if open_lesson.current() is None and (
            lesson := contents.lessons().get(_lesson_of_the_class())
        ):
            label = f"Go to the lesson {lesson.title}"
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
                "This deletes your answers and what you have handed in from the session. It "
                "can't be undone."
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
            "Hand in: a link from *Share*, or a text",
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
    st.markdown("The quizzes before and after a lesson are on the page *Practice*.")


def invitation() -> None:
    """Draw what the class needs to join: the code, the link to a lesson, and its QR code."""
    code = class_session.code()
    with st.container(key="class_code", horizontal=True, vertical_alignment="center"):
        st.markdown(f"## {code}", width="content")
        arguments = (share_link.VIEW, share_link.SLIDE)
        st.button(
            "Slide view",
            key="class.slide",
            icon=":material/slideshow:",
            on_click=url_parameters.set_value,
            args=arguments,
        )
    all_lessons, nobody = contents.lessons(), not _record().members
    with st.expander("How to join", expanded=nobody, icon=":material/qr_code_2:", key="class.how"):
        left, right = st.columns([3, 2], vertical_alignment="center")
    with left:
        st.markdown(
            f"Open the link, or enter the code **{code}** on the page *Class*. Both lead to "
            "the same place."
        )
        names = [THIS_PAGE, *all_lessons]
        name = st.selectbox(
            "Who joins comes to",
            names,
            format_func=lambda name: (
                f"the lesson {all_lessons[name].title}" if name else "the page Class"
            ),
            key=OPENS,
            index=names.index(_lesson_of_the_class()),
            on_change=_choose_lesson,
            width=420,
        )
        fields = {open_lesson.LESSON: name, open_lesson.STEP: "1"} if name else {}
        address, warning = _address({class_session.CLASS: code, **fields})
        with st.container(key="share_link"):
            st.code(address, language=None, wrap_lines=True)
        if warning:
            st.warning(warning, icon=":material/wifi_off:")
    picture = qr_code(address)
    if picture and not warning:
        right.image(picture, width=QR_WIDTH, alt="The students' link as a QR code")


def _lesson_of_the_class() -> str:
    """Return the lesson to which joining leads: the one that the teacher has chosen, at first the
    first; "" for none.
    """
    with database_errors_as_sentences():
        chosen = class_session.store().opens(class_session.code())
    names = ["", *contents.lessons()]
    return chosen if chosen in names else names[min(1, len(names) - 1)]


def _address(parameters: dict[str, str]) -> tuple[str, str]:
    """Return a link to this page that others can open, and a warning if there is none."""
    here = str(st.context.url or "").split("?")[0]
    listens_on = str(st.get_option("server.address") or "")
    return shared_link(f"{here}?{urlencode(parameters)}", listens_on, share_link.machine())


def is_slide() -> bool:
    """Return whether the page is in slide view."""
    return url_parameters.value(share_link.VIEW) == share_link.SLIDE


def slide() -> None:
    """Draw the session's code and the question alone, large, and draw them again every two
    seconds.
    """
    with st.container(key="class_slide"):
        st.fragment(_slide, run_every=SECONDS)()


@errors_as_messages()
def _slide() -> None:
    st.markdown(f"### {class_session.code()}")
    _question(_record())


def board() -> None:
    """Draw the board, and draw it again every two seconds."""
    st.fragment(_board, run_every=SECONDS)()


@errors_as_messages()
def _board() -> None:
    record = _record()
    if record.closed is not None:
        st.info("This session is closed: nothing more is recorded.", icon=":material/lock:")
    elif record.locked is not None:
        st.info(
            "Joining is locked: members go on, and nobody else can join.",
            icon=":material/person_off:",
        )
    question, where, hand_ins, gains = st.tabs(
        ["Question", "Who is where", f"Handed in ({len(record.hand_ins)})", "Before and after"],
        key="class.tabs",
    )
    with question:
        _question(record)
    with where:
        _where(record)
    with hand_ins:
        _hand_ins(record)
    with gains:
        _gains(record)


def _record() -> ClassRecord:
    code = class_session.code()
    with database_errors_as_sentences():
        return class_session.store().read(code, class_session.token(code))


def _questions(record: ClassRecord) -> dict[str, tuple[str, Question]]:
    """Return the questions to choose from: those of the lessons, and the tasks that somebody has
    answered.
    """
    found = class_board.lesson_questions(contents.lessons())
    bank = contents.tasks()
    for answer in record.answers:
        if answer.task in bank and answer.seed >= 0:
            kind = bank[answer.task]
            name = class_board.question_name(answer.task, answer.seed)
            if name not in found:
                found[name] = (
                    f"Practice · {kind.title}, task {answer.seed:,}",
                    kind.task(answer.seed).question,
                )
    return found


def _question(record: ClassRecord) -> None:
    questions = _questions(record)
    names = list(questions)
    if (
        not st.session_state.get(CHOSEN) or st.session_state.get(QUESTION) not in names
    ):  # until the teacher chooses, follow the class
        st.session_state[QUESTION] = class_board.latest_question(record, names)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox(
            "Question",
            names,
            format_func=lambda name: questions[name][0],
            key=QUESTION,
            width=460,
            on_change=_chosen,
        )
        revealed = name in record.revealed
        st.button(
            "Hide" if revealed else "Reveal",
            key="class.reveal",
            type="secondary" if revealed else "primary",
            icon=":material/visibility_off:" if revealed else ":material/visibility:",
            shortcut="A",
            on_click=_reveal,
            args=(name, not revealed),
        )
        following = names[(names.index(name) + 1) % len(names)]
        st.button(
            "Next question",
            key="class.following",
            shortcut="N",
            on_click=_choose,
            args=(following,),
        )
    _, question = questions[name]
    key = question.key
    assert key is not None
    st.markdown(f"#### {question.text}")
    tally = class_board.tally(record.answers, name)
    cells = {"in the session": len(record.members), "have answered": tally.answered}
    if revealed:
        cells |= {"right at once": tally.first, "right after a hint": tally.second}
    with st.container(horizontal=True):
        for label, number in cells.items():
            share = (
                f" ({quizzes.percent(number / tally.answered)})"
                if "right" in label and tally.answered
                else ""
            )
            st.metric(label, f"{number}{share}", border=True, width=165)
    if not revealed:
        st.caption("The answers are hidden until you press *Reveal*, or the key A.")
        return
    bars = class_board.histogram(key, class_board.first_guesses(record.answers, name))
    by_letter = isinstance(key, ChoiceKey)
    labels = (
        [chr(ord("A") + number) for number in range(len(bars))]
        if by_letter
        else [bar.label for bar in bars]
    )
    if bars:
        figure = guesses_figure(labels, [bar.count for bar in bars], [bar.right for bar in bars])
        alt = "First answers: " + ", ".join(
            f"{label} {bar.count}" for label, bar in zip(labels, bars, strict=True)
        )
        st.plotly_chart(figure, key="class.histogram", alt=alt)
    if by_letter:
        signs = [
            f":green[**{RIGHT_SIGN}**]" if bar.right else f":orange[**{WRONG_SIGN}**]"
            for bar in bars
        ]
        lines = [
            f"- {sign} **{label}** {bar.label}"
            for sign, label, bar in zip(signs, labels, bars, strict=True)
        ]
        st.markdown("\n".join(lines))
    st.markdown(f"The answer: **{key.truth}**. First tries are counted.")


def _where(record: ClassRecord) -> None:
    if not record.members:
        st.markdown("Nobody has joined yet.")
        return
    names, groups = class_board.member_names(record.members), class_board.places(record.members)
    order = [place for place in class_board.place_order(contents.lessons()) if place in groups]
    rest = [place for place in groups if place not in order]
    nicknames = {
        place: [names[entry.member] for entry in groups[place] if entry.nickname]
        for place in groups
    }
    table: dict[str, Column] = {
        "place": [_place_title(place) for place in [*order, *rest]],
        "students": [len(groups[place]) for place in [*order, *rest]],
        "nicknames": [", ".join(nicknames[place]) for place in [*order, *rest]],
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
            "Nothing is handed in yet. Students hand in on this page, from *Share*, or from "
            "*Take away*."
        )
        return
    names = class_board.member_names(record.members)
    entries = [entry for entry in reversed(record.hand_ins) if entry.member in names]
    table: dict[str, Column] = {
        "student": [names[entry.member] for entry in entries],
        "handed in": [entry.content for entry in entries],
    }
    widgets.draw_table(table, "class.hand_ins", "What students have handed in, the latest first")


def _gains(record: ClassRecord) -> None:
    rows = {name: quizzes.class_gain(record.answers, name) for name in contents.quizzes()}
    counts = {
        when: [len(quizzes.shares(record.answers, name, when)) for name in rows]
        for when in quizzes.SEEDS
    }
    if not any(counts[quizzes.BEFORE] + counts[quizzes.AFTER]):
        st.markdown(
            "Nobody has taken a quiz yet. The quizzes are on the page *Practice*: eight "
            "items before a lesson, eight after."
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
    widgets.draw_table(table, "class.gains", "Quizzes before and after each lesson")
    st.caption(
        "Of those who took both. The normalised gain is (after − before) / (1 − before): the "
        "part of what was missing that was "
        f"learned. In brackets is the 95 % interval over students, from {quizzes.FEWEST} of "
        "them on."
    )


def session_controls() -> None:
    """Draw what the teacher can do with the session as a whole."""
    code = class_session.code()
    record = _record()
    st.subheader("The session", anchor=False)
    with st.container(horizontal=True, key="class_controls"):
        _lock_button(record)
        _people(record)
        st.button(
            "Prepare the tables",
            key="class.prepare",
            icon=":material/table_view:",
            on_click=_prepare,
        )
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
                "With it you see this board in another browser. Whoever has it can do what "
                "you can: don't show it."
            )
            st.code(address, language=None, wrap_lines=True)
    files: tuple[bytes, bytes] | None = st.session_state.get(EXPORT, {}).get(code)
    if files:
        with st.container(horizontal=True, key="class_files"):
            for name, data in zip(("answers", "hand-ins"), files, strict=True):
                label = f"{name.capitalize()} as CSV"
                st.download_button(
                    label,
                    data,
                    f"{code}-{name}.csv",
                    "text/csv",
                    key=f"class.csv.{name}",
                    on_click="ignore",
                )
    st.caption(
        "The table of answers has a row for each try, with every digit; students have "
        "numbers, and nicknames if they chose one. "
        "Stored are nicknames, steps, answers with their times, and hand-ins, until you "
        "delete the session, at the latest "
        f"{KEEP_DAYS} days after you opened it."
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
    button for a flood of them.
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
    """Draw the button that removes everyone who joined after a moment."""
    st.markdown("**Many who do not belong here**")
    joined = sorted(entry.joined for entry in record.members)
    moments = sorted({moment - moment % 60 for moment in joined}, reverse=True)
    since = st.selectbox(
        "Who joined at or after", moments, format_func=_clock, key="class.since", width=200
    )
    silent = st.checkbox("Only those who have not answered", True, key="class.silent")
    members = [
        entry.member
        for entry in record.members
        if entry.joined >= (since or 0.0) and not (silent and answered[entry.member])
    ]
    label, icon = f"Remove {plural(len(members), 'member')}", ":material/group_remove:"
    st.button(
        label,
        key="class.remove_flood",
        icon=icon,
        on_click=_remove,
        args=(members,),
        disabled=not members,
    )


def _clock(moment: float) -> str:
    """Write a moment as the time of day at the visitor's place."""
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
    try:
        code = class_session.read_code(st.session_state[CODE])
    except RecipeError as error:
        error_toast(error)
    else:
        class_session.enter_address(code)


def _join() -> None:
    """Join, and go to the lesson that the link names; with the code alone, to the one that the link
    would have named.
    """
    first = not class_session.joined()
    if not _act(partial(class_session.join, st.session_state[NICKNAME])) or not first:
        return
    if position := open_lesson.current():
        open_lesson.open_lesson(position[0].name, position[1])
    else:
        _act(_go_to_lesson)


def _go_to_lesson() -> None:
    if name := _lesson_of_the_class():
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


def _choose(question: str) -> None:
    st.session_state[QUESTION] = question
    _chosen()


def _chosen() -> None:
    st.session_state[CHOSEN] = True


def _reveal(question: str, revealed: bool) -> None:
    code = class_session.code()
    _chosen()
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
        st.session_state.pop(EXPORT, None)
        class_session.leave_address()
        st.toast(f"The session {code} is deleted.", icon=":material/check:")


def _prepare() -> None:
    try:
        record = _record()
    except RecipeError as error:
        error_toast(error)
        return
    st.session_state[EXPORT] = {
        record.code: (class_board.answers_csv(record), class_board.hand_ins_csv(record))
    }
