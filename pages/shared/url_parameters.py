"""URL parameters that belong to no widget: read once a session, then written back in each run.

Streamlit drops the parameters of widgets that are not on the page; parameters written here stay.
"""

from __future__ import annotations

import streamlit as st


def value(name: str) -> str:
    """The parameter's value when the session began, or the one set since then."""
    text: str = st.session_state.setdefault(_key(name), st.query_params.get(name, ""))
    return text


def set_value(name: str, text: str) -> None:
    """Set a parameter; an empty text removes it from the address."""
    st.session_state[_key(name)] = text


def write(*names: str) -> None:
    """Write these parameters into the address."""
    for name in names:
        if text := value(name):
            st.query_params[name] = text
        elif name in st.query_params:
            del st.query_params[name]


def _key(name: str) -> str:
    return f"address.{name}"
