"""Identify the visitor, decide what they may see, and offer sign-in if the server has it."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from time import time

import streamlit as st
from streamlit.errors import StreamlitAuthError

from pages.shared import access
from pages.shared.standing import MEMBER, Rank, standing
from pages.shared.widgets import error_toast, escape_markdown

ALL = "all"
OWN = "own"
OFF = "off"
MODES = (ALL, OWN, OFF)
HISTORY = "NLWFA_HISTORY"
STATUS = "NLWFA_STATUS"

log = logging.getLogger(__name__)


def mode() -> str:
    """Return which runs the History page shows: all, the visitor's own, or none. An unknown setting
    shows none.

    By default people at the server's own machine see all runs, and those who come over the network
    see their own, so one student can't delete another's.
    """
    word = _setting(HISTORY) or (ALL if at_the_machine() else OWN)
    return word if word in MODES else OFF


def may_see_status() -> bool:
    """Return whether the visitor may open the Status page, which the environment variable
    NLWFA_STATUS determines.

    By default, only people at the server's own machine may open it; nobody may if they have lists
    of their own, or no lists are shown.
    """
    word = _setting(STATUS)
    return word == "on" if word else mode() == ALL and at_the_machine()


def at_the_machine() -> bool:
    """Return whether the browser is that of the person at the server's machine: see `access`.

    Nothing that it claims counts.
    """
    return access.is_at_the_machine(st.context.headers, st.context.cookies)


def browser() -> str:
    """Return the token of the visitor's browser; "" if it has no cookie."""
    return access.browser_token(st.context.cookies.get(access.XSRF_COOKIE, ""))


def is_identified() -> bool:
    """Return whether `identity` is the same after the browser has been closed."""
    return bool(signed_in()) or at_the_machine()


def is_known() -> bool:
    """Return whether the server knows more of the visitor than a cookie: they belong to a class, or
    are at the server's machine.
    """
    return is_identified() or standing.is_member(browser())


def rank() -> Rank:
    """Count a page for the visitor's browser, and return its rank: the smallest one is served
    first.
    """
    if at_the_machine():
        return MEMBER, False, 0.0
    if signed_in():
        standing.note_member(browser(), identity(), time())
    return standing.note_page(browser())


def _setting(name: str) -> str:
    return os.environ.get(name, "").strip().lower()


@dataclass(frozen=True)
class Owner:
    """The owner of a session.

    Attributes
    ----------
    identity : str
        The signed-in person, or the one at the server's machine, or else the browser until it is
        closed. Store only its pseudonym: see `history.owners`.
    browser : str
        The token of the browser; "" if it has no cookie.
    is_known : bool
        Whether the person is at the server's machine or has signed in.
    """

    identity: str
    browser: str
    is_known: bool


def owner() -> Owner:
    """Return the owner of this session."""
    token = browser()
    is_here = at_the_machine()
    if signed_in():
        person = str(st.user.get("sub") or st.user.get("email"))
        identity = "\0".join(("user", str(st.user.get("iss", "")), person))
    elif is_here:
        identity = "machine"
    else:
        identity = f"browser\0{token}" if token else f"session\0{session()}"
    return Owner(identity, token, is_here or bool(signed_in()))


def identity() -> str:
    """Return the identity of this session's owner."""
    return owner().identity


def session() -> str:
    """Return the name of this session; "" without a server. Reloading the page makes a new one."""
    context = st.runtime.scriptrunner.get_script_run_ctx()
    return context.session_id if context else ""


def signed_in() -> bool | None:
    """Return whether the visitor has signed in; None if the server has no sign-in."""
    state = st.user.get("is_logged_in")
    return None if state is None else bool(state)


def sign_in_control() -> None:
    """Draw a sign-in button, if Streamlit's secrets have `[auth]`."""
    state = signed_in()
    if state is None:
        return
    if state:
        st.caption(
            escape_markdown(
                f"Signed in as {st.user.get('name') or st.user.get('email') or 'someone'}"
            )
        )
        st.button(
            "Sign out",
            key="people.sign_out",
            icon=":material/logout:",
            type="tertiary",
            on_click=st.logout,
        )
        return
    for provider in _providers():
        label = f"Sign in with {escape_markdown(provider)}" if provider else "Sign in"
        if st.button(
            label,
            key=f"people.sign_in.{provider}".rstrip("."),
            icon=":material/login:",
            type="tertiary",
        ):
            _sign_in(provider)


def _providers() -> list[str]:
    """List the names of the sign-in providers in Streamlit's secrets; a single provider without a
    name is "".
    """
    auth = st.secrets["auth"]
    return (
        [""]
        if "client_id" in auth
        else [str(name) for name, value in auth.items() if isinstance(value, Mapping)]
    )


def _sign_in(provider: str) -> None:
    try:
        st.login(provider or None)
    except StreamlitAuthError as error:
        log.error("Nobody can sign in: %s", error)
        text = (
            "Sign-in is not set up completely: please tell the person who runs this server to see "
            "docs/deployment.md, Sign-in."
        )
        error_toast(text)
