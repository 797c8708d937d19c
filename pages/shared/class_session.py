"""Take part in a session of a class: the code in the address, joining, and recording answers and
places for the teacher.

The code is in the address, and who a visitor is follows from the browser (`visitor.identity`), so a
reload or a new server changes nothing. Nothing is recorded of a visitor who has not joined. Answers
that the database temporarily refuses are sent again with the next answer or page.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from time import time

import streamlit as st

from nlwfa_core import RecipeError
from nlwfa_core.history.classes import Answer, Classes, SessionSummary, read_code
from nlwfa_core.history.database import database_errors_as_sentences
from nlwfa_core.history.owners import pseudonym
from nlwfa_core.teaching.questions import Response
from nlwfa_core.teaching.quizzes import PREFIX
from pages.shared import access, url_parameters, visitor, visitor_runs
from pages.shared.navigation import switch
from pages.shared.server import home
from pages.shared.standing import OPENINGS, standing
from pages.shared.widgets import error_toast, escape_markdown

# parameters of the address
CLASS = "class"
TEACHER = "teacher"
PARAMETERS = (CLASS, TEACHER)
PAGE = "classroom"
MEMBER = "class.member"  # the code and the pseudonym with which this session has joined
UNSENT = "class.unsent"
TO_RESTORE = "class.to_restore"
PLACE = "class.place"
BEGUN = "class.begun"  # question or quiz -> since when it is on the page, in seconds since 1970

log = logging.getLogger(__name__)


@st.cache_resource(show_spinner=False)
def store() -> Classes:
    """Return the server's class sessions. Raises RecipeError if the database can't be reached."""
    return Classes(visitor_runs.history().engine)


def code() -> str:
    """Return the code in the address; "" if there is none.

    One that can't be a code is reported and removed.
    """
    text = url_parameters.value(CLASS)
    if not text:
        return ""
    try:
        return read_code(text)
    except RecipeError as error:
        leave_address()
        error_toast(f"class: {error}")
        return ""


def enter_address(new: str) -> None:
    """Put a code into the address."""
    url_parameters.set_value(CLASS, new)
    url_parameters.set_value(TEACHER, "")


def leave_address() -> None:
    """Take the code, and a teacher's token, out of the address."""
    enter_address("")


def write_address(page: str) -> None:
    """Write the code into the address, and the teacher's token on the Class page alone, if it came
    by a link.
    """
    url_parameters.write(CLASS)
    if page == PAGE:
        url_parameters.write(TEACHER)
    elif TEACHER in st.query_params:
        url_parameters.value(TEACHER)  # read it before it goes
        del st.query_params[TEACHER]


def token(of: str) -> str:
    """Return this visitor's teacher's token for a code: that of the link or, without one, that of
    the browser.
    """
    return url_parameters.value(TEACHER) or browsers_token(of)


def browsers_token(of: str) -> str:
    """Return the token that this browser has for a code; it takes the browser's cookie and the
    server's secret to compute it.
    """
    return pseudonym(home(), f"teacher\0{of}\0{visitor.identity()}")


def is_teacher() -> bool:
    """Return whether this visitor is the teacher of the session in the address."""
    here = code()
    with database_errors_as_sentences():
        teaches = bool(here) and store().is_teacher(here, token(here))
    if teaches:
        standing.note_member(visitor.browser(), f"teacher of {here}", time())
    return teaches


def open_session() -> None:
    """Open a session, and put its code into the address.

    Raises RecipeError if there are too many, or too many at this moment.
    """
    if not visitor.is_identified() and not standing.may_open(
        access.network(st.context.ip_address or "")
    ):
        raise RecipeError(
            f"{OPENINGS} class sessions were opened from your address within a minute: try "
            "again in a minute."
        )
    with database_errors_as_sentences():
        enter_address(store().open(browsers_token, _opener()))


def own_sessions() -> list[SessionSummary]:
    """List the sessions that this visitor has opened, the newest first."""
    with database_errors_as_sentences():
        return store().summaries(_opener())


def _opener() -> str:
    return pseudonym(home(), f"opener\0{visitor.identity()}")


def remove(members: Collection[str]) -> None:
    """Remove members from the session in the address.

    Raises RecipeError unless this visitor is its teacher.
    """
    with database_errors_as_sentences():
        store().remove(code(), token(code()), members)
    standing.forget_members(members)


def joined() -> str:
    """Return the code of the session that this visitor has joined; "" if none.

    The database is asked once for each code. A visitor who comes back finds their answers again.
    """
    here = code()
    if not here:
        return ""
    saved: tuple[str, str] | None = st.session_state.get(MEMBER)
    if saved is None or saved[0] != here:
        member = pseudonym(home(), f"class\0{here}\0{visitor.identity()}")
        with database_errors_as_sentences():
            entry = store().member(here, member)
            if entry:
                st.session_state[TO_RESTORE] = store().answers_of(here, member)
                standing.note_member(visitor.browser(), member, entry.joined)
        st.session_state[MEMBER] = saved = (here, member if entry else "")
        st.session_state.pop(PLACE, None)
    return here if saved[1] else ""


def nickname() -> str:
    """Return the nickname with which this visitor has joined; may be empty."""
    with database_errors_as_sentences():
        member = store().member(code(), st.session_state[MEMBER][1])
    return member.nickname if member else ""


def seen() -> float:
    """Return when this member went to where they are, in seconds since 1970."""
    with database_errors_as_sentences():
        entry = store().member(code(), st.session_state[MEMBER][1])
    return entry.seen if entry else time()


def join(name: str) -> None:
    """Join the session in the address, or change the nickname.

    Raises RecipeError if that is not possible.
    """
    member = pseudonym(home(), f"class\0{code()}\0{visitor.identity()}")
    with database_errors_as_sentences():
        store().join(code(), member, name)
    standing.note_member(visitor.browser(), member, time())
    st.session_state[MEMBER] = code(), member
    st.session_state.pop(PLACE, None)


def leave() -> None:
    """Leave the session, and delete everything in it that belongs to this visitor."""
    here, member = st.session_state[MEMBER]
    with database_errors_as_sentences():
        store().leave(here, member)
    standing.forget_members([member])
    for key in (MEMBER, UNSENT, TO_RESTORE, PLACE):
        st.session_state.pop(key, None)
    leave_address()


def visit(page: str, place: str) -> None:
    """Record where a member is, if that has changed.

    Parameters
    ----------
    place : str
        The open lesson and step, such as `rank/2`, or the page.
    """
    here = code()
    write_address(page)
    if not here:
        return
    try:
        here = joined()
        if here and st.session_state.get(PLACE) != place:
            with database_errors_as_sentences():
                store().move(here, st.session_state[MEMBER][1], place)
            st.session_state[PLACE] = place
        if here:
            _send()
    except RecipeError as error:
        later = (
            " Your answers will be sent again when you open the next page."
            if st.session_state.get(UNSENT)
            else ""
        )
        st.warning(escape_markdown(f"{error}{later}"), icon=":material/cloud_off:")


def hides_lesson(page: str) -> bool:
    """Return whether the open lesson is not drawn: on the Class page, for the teacher and before a
    student has joined.
    """
    return page == PAGE and not st.session_state.get(MEMBER, ("", ""))[1]


def invitation(page: str) -> None:
    """Offer a visitor with a code the chance to join, in an open lesson or on the page."""
    try:
        if page == PAGE or not code() or joined() or is_teacher():
            return
    except RecipeError:  # `visit` has said so
        return
    with st.container(horizontal=True, vertical_alignment="center", key="class_invitation"):
        st.caption(f"Nothing is sent to class **{code()}** yet.", width="content")
        if st.button("Join", key="class.invitation", icon=":material/group_add:"):
            switch(PAGE)


def begin(name: str) -> None:
    """Note that a question or a quiz is on the page, unless that was noted before."""
    st.session_state.setdefault(BEGUN, {}).setdefault(name, time())


def record(*responses: Response, began: str = "") -> None:
    """Record the tries of responses for the teacher, if this visitor has joined a session.

    `began`: the name under which `begin` noted when the visitor first saw the question or the quiz.
    Call this in callbacks.
    """
    try:
        if not joined():
            return
    except RecipeError as error:
        error_toast(error)
        return
    member = st.session_state[MEMBER][1]
    since: float | None = st.session_state.get(BEGUN, {}).get(began)
    unsent: dict[tuple[str, int, int], Answer] = st.session_state.setdefault(UNSENT, {})
    for response in responses:
        for attempt, (answer, credit) in enumerate(
            zip(response.answers, response.credits, strict=True), 1
        ):
            key = response.task, response.seed, attempt
            seconds = time() - since if since is not None else None
            unsent.setdefault(key, Answer(member, *key, answer, credit, time(), seconds))
    try:
        _send()
    except RecipeError as error:
        later = " It will be sent again with the next page." if st.session_state[UNSENT] else ""
        error_toast(f"Your answer was not recorded. {error}{later}")


def _send() -> None:
    """Record what is not recorded yet.

    What can never be recorded, because the session is closed, is dropped with its message.
    """
    unsent: dict[tuple[str, int, int], Answer] = st.session_state.get(UNSENT, {})
    if not unsent:
        return
    here = st.session_state[MEMBER][0]
    room = store()
    with database_errors_as_sentences():
        try:
            room.record(here, unsent.values())
        except RecipeError:
            st.session_state[UNSENT] = {}
            raise
    st.session_state[UNSENT] = {}


def answers_to_restore() -> list[Answer]:
    """Return, once, the answers that a visitor who has come back gave before."""
    answers: list[Answer] = st.session_state.pop(TO_RESTORE, [])
    return answers


def restored(answers: list[Answer]) -> dict[tuple[str, int], Response]:
    """Make responses of recorded answers: (task, seed) -> response."""
    tries: dict[tuple[str, int], list[Answer]] = {}
    for answer in sorted(answers, key=lambda answer: answer.attempt):
        tries.setdefault((answer.task, answer.seed), []).append(answer)
    return {
        key: Response(
            *key,
            tuple(answer.answer for answer in those),
            tuple(answer.credit for answer in those),
            shown=key[0].startswith(f"{PREFIX}/"),
        )
        for key, those in tries.items()
    }


def hand_in(content: str) -> None:
    """Hand in a link or text. Raises RecipeError if that is not possible."""
    here, member = st.session_state[MEMBER]
    with database_errors_as_sentences():
        store().hand_in(here, member, content)


def hand_in_button(link: str, key: str) -> None:
    """Draw a button that hands in a link, for a visitor who has joined a session."""
    try:
        here = joined()
    except RecipeError:
        return
    if here:
        label = f"Hand in this link to {here}"
        st.button(
            label,
            key=f"{key}.hand_in",
            icon=":material/assignment_turned_in:",
            on_click=_hand_in,
            args=(link,),
        )


def _hand_in(link: str) -> None:
    try:
        hand_in(link)
    except RecipeError as error:
        error_toast(error)
    else:
        st.toast("Handed in. Your teacher has the link.", icon=":material/check:")
