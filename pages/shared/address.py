"""Small things of the screen that stand in the address without a widget: read once a session, then kept and written back.

A page drops the parameters of widgets that it does not hold; what is written here in each run stays.
"""

from __future__ import annotations

import streamlit as st


def value(name: str) -> str:
    """What the address said when the session began, or what it was set to since."""
    found: str = st.session_state.setdefault(_key(name), st.query_params.get(name, ""))
    return found


def set_value(name: str, text: str) -> None:
    """Takes effect where it is read next; nothing takes it out of the address."""
    st.session_state[_key(name)] = text


def write(*names: str) -> None:
    """Make the address say it."""
    for name in names:
        if text := value(name):
            st.query_params[name] = text
        elif name in st.query_params:
            del st.query_params[name]


def _key(name: str) -> str:
    return f"address.{name}"
