"""Move a member's page when the teacher moves the class to a step of a lesson.

Each page of a member checks up to twice a second whether the class was moved, less often where a
class has many pages open. It follows each move once, so anyone who steps back afterwards stays
there. A page that is opened again, after a reload or on a new server, follows a move that came
after the member's last step.
"""

from __future__ import annotations

import math
from contextlib import suppress
from time import monotonic

import streamlit as st

from nlwfa_core import RecipeError
from nlwfa_core.history.database import database_errors_as_sentences
from pages.shared import class_session, contents, open_lesson, visitor

LEAST_SECONDS = 0.5  # between two checks of a page
LOOKS_A_SECOND = 40  # at most, by all pages of a class together
OPEN_SECONDS = 30.0  # a page that has not checked for so long is no longer open
FOLLOWED = "class.followed"  # the code, and the moment up to which moves were followed
RUNS = "class.runs"  # how often the page was drawn


def follow(page: str) -> None:
    """Open the step to which the class was moved, and its page, if this page has not followed the
    move yet.

    Call this before the sidebar is drawn. While the database can't be reached, nobody is moved.
    """
    try:
        code = class_session.joined()
        if not code:
            return
        with database_errors_as_sentences():
            step, moved = class_session.store().last_move(code)
            followed_code, since = st.session_state.get(FOLLOWED, ("", 0.0))
            if followed_code != code:
                since = class_session.seen()
    except RecipeError:
        return
    st.session_state[FOLLOWED] = code, max(moved, since)
    if moved > since and step != open_lesson.place() and open_place(step):
        open_lesson.go(page)


def open_place(place: str) -> bool:
    """Open the step of a place such as `rank/2`. Returns whether there is such a step."""
    name, _, number = place.partition("/")
    lesson = contents.lessons().get(name)
    if lesson is None or not number.isdecimal() or not 1 <= int(number) <= len(lesson.steps):
        return False
    open_lesson.open_lesson(name, int(number) - 1)
    return True


def watch() -> None:
    """Check repeatedly whether the class was moved; if so, redraw the page.

    Call this at the end of a page. The part that checks is a new one in each run, because Streamlit
    drops the last messages of a run if it is asked for a part that it knows while the run ends.
    """
    code = class_session.code()
    if not code or st.session_state.get(FOLLOWED, ("", 0.0))[0] != code:
        return
    st.session_state[RUNS] = st.session_state.get(RUNS, 0) + 1

    def look() -> None:
        _look()

    look.__qualname__ = f"look_{st.session_state[RUNS]}"
    number = note_page(code)
    with suppress(RecipeError):
        number = max(number, _num_members(code))
    st.fragment(look, run_every=max(LEAST_SECONDS, number / LOOKS_A_SECOND))()


def _look() -> None:
    code, since = st.session_state.get(FOLLOWED, ("", math.inf))  # none: the visitor has gone
    note_page(code)
    with suppress(RecipeError):
        if _last_moved(code) > since:
            st.rerun()


# The pages of a class share what is read from the database for a fifth of a second.
@st.cache_data(ttl=0.2, max_entries=64, show_spinner=False)
def _last_moved(code: str) -> float:
    with database_errors_as_sentences():
        moved: float = class_session.store().last_move(code)[1]
    return moved


@st.cache_data(ttl=10, max_entries=64, show_spinner=False)
def _num_members(code: str) -> int:
    with database_errors_as_sentences():
        number: int = class_session.store().num_members(code)
    return number


def note_page(code: str) -> int:
    """Note that this page is open. Returns how many pages of the class are: a member may have
    several.
    """
    pages = _open_pages().setdefault(code, {})
    now = monotonic()
    pages[visitor.session()] = now
    for page, seen in [*pages.items()]:
        if now - seen > OPEN_SECONDS:
            pages.pop(page, None)
    return len(pages)


# code of a class -> a page's session -> when it last checked
@st.cache_resource(show_spinner=False)
def _open_pages() -> dict[str, dict[str, float]]:
    return {}
