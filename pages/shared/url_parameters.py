"""Read and write the address's parameters that belong to no widget, and make entries in the
browser's history.

These parameters are read once per session, and again after Back or Forward; they are written back
in each run. Streamlit removes the parameters of widgets that are not on the page; parameters
written here stay.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Literal

import streamlit as st
from streamlit.errors import StreamlitAPIException

from pages.shared.server import ASSETS
from pages.shared.widgets import escape_markdown

NUMBER = re.compile(r"[-+]?[0-9]{1,40}(\.[0-9]{0,40})?([eE][-+]?[0-9]{1,5})?")

_address = st.components.v2.component(
    "nlwfa.address", js=(ASSETS / "address" / "address.js").read_text(encoding="utf-8")
)


def keep_history() -> None:
    """Make one entry in the browser's history for each page and each step of a lesson.

    After Back, read the parameters again.
    """
    with st.container(key="address"):
        _address(key="nlwfa.address", height=1)
    if came_back():
        for key in [key for key in st.session_state if str(key).startswith(_key(""))]:
            del st.session_state[key]


def came_back() -> bool:
    """Return whether this run follows the browser's Back or Forward, after which the address
    determines all values.
    """
    context = st.runtime.scriptrunner.get_script_run_ctx()
    return context is not None and context.is_history_navigation


def value(name: str) -> str:
    """Return a parameter's value: the one set last, otherwise the one that the address had when the
    session began.
    """
    text: str = st.session_state.setdefault(_key(name), st.query_params.get(name, ""))
    return text


def set_value(name: str, text: str) -> None:
    """Set a parameter; an empty text removes it from the address."""
    st.session_state[_key(name)] = text


def write(*names: str) -> None:
    """Write these parameters into the address."""
    put({name: value(name) for name in names})


def put(texts: Mapping[str, str]) -> None:
    """Set parameters of the address, name -> text; one with an empty text is removed."""
    there = st.query_params.to_dict()
    new = {name: text for name, text in texts.items() if text and there.get(name) != text}
    if new:
        st.query_params.update(new)
    for name in [name for name, text in texts.items() if not text and name in there]:
        del st.query_params[name]


def number_binding(name: str, whole: bool) -> Literal["query-params"] | None:
    """Return how the input of a number is bound to its parameter in this run: not at all while the
    address has no number there.

    Such a parameter is removed, and the input keeps its default. Streamlit itself raises
    OverflowError for an infinite number, and reads 1_0 as 10 and 2.5 as 2.
    """
    text = st.query_params.get(name, "")
    if not text or number(text, whole) is not None:
        return "query-params"
    # the input is bound already: it was drawn in a run before
    with suppress(StreamlitAPIException):
        del st.query_params[name]
    return None


def number(text: str, whole: bool) -> float | None:
    """Read a number, a whole one if `whole`; None if the text is not a number, or is infinite."""
    if not NUMBER.fullmatch(text) or not math.isfinite(float(text)):
        return None
    if not whole:
        return float(text)
    return int(float(text)) if float(text) % 1 == 0 else None


def report_refused(name: str, text: str, used: object) -> None:
    """Report that a link has a value that its control does not accept, and what is used instead."""
    st.toast(
        escape_markdown(
            f'"{name} = {text[:40]}" in this link is not valid; {used} is used instead.'
        ),
        icon=":material/info:",
    )


def _key(name: str) -> str:
    return f"address.{name}"
