"""Keep a page's own choices in the address, so a link opens the same block, cell, string or
colours.

These choices are not part of the recipe. They are read from the address once per session and after
the browser's Back, and written back unless they have their defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from pages.shared import url_parameters

# Page -> the parameters that only this page has.
PARAMETERS = {
    "hankel": ("block", "layer", "by", "cell"),
    "states": ("colour", "axes", "directions", "follow"),
    "predict": ("string",),
    "practice": ("tasks", "task", "quiz"),
    "build": ("automaton", "build"),
    "classify": ("strings", "classes", "first", "second", "states"),
}
LINKED = "screen.linked"


def leave_others(page: str) -> None:
    """Read the parameters once per session, and again after Back; remove those of other pages from
    the address.
    """
    if url_parameters.came_back():
        st.session_state[LINKED] = {
            name: st.query_params.get(name, "") for name in PARAMETERS.get(page, ())
        }
    elif LINKED not in st.session_state:
        names = [name for names in PARAMETERS.values() for name in names]
        st.session_state[LINKED] = {
            name: st.query_params[name] for name in names if name in st.query_params
        }
    for other, names in PARAMETERS.items():
        for name in names:
            if other != page and name in st.query_params:
                del st.query_params[name]


def unread(name: str) -> str | None:
    """Return a parameter's text the first time after the link was opened or after Back ("" if it is
    absent); later, None.
    """
    text: str | None = st.session_state[LINKED].pop(name, None)
    return text


def write(name: str, text: str) -> None:
    """Write a parameter into the address; an empty text removes it."""
    if text and st.query_params.get(name) != text:
        st.query_params[name] = text
    elif not text and name in st.query_params:
        del st.query_params[name]


def follow(name: str, key: str, values: Mapping[str, Any], default: Any) -> None:
    """Set a widget, which is drawn afterwards, from a parameter of the address, or write the
    widget's value into the address.

    Parameters
    ----------
    name : str
        The name of the parameter.
    key : str
        The widget's key.
    values : mapping of str to object
        Text in the address -> value of the widget.
    """
    text = unread(name)
    if text in values:
        st.session_state[key] = values[text]
    elif text is not None:
        st.session_state[key] = default
    if text and text not in values:
        url_parameters.report_refused(name, text, _text(values, default))
    value = st.session_state.get(key, default)
    write(name, "" if value == default else _text(values, value))


def follow_text(name: str, key: str) -> None:
    """Do the same as `follow` for a text field, which may be empty."""
    text = unread(name)
    if text is not None:
        st.session_state[key] = text
    write(name, st.session_state.get(key, ""))


def _text(values: Mapping[str, Any], value: Any) -> str:
    return next((text for text, other in values.items() if other == value), "")
