"""Set widgets, and keep earlier messages of the browser from undoing it.

Each message of a browser has the values of all widgets as the browser shows them. A part of a page
that watches a training run sends such a message several times a second. If one comes while a run of
the page has set widgets and then opens another page, or redraws the page, Streamlit would use the
values in the message, which are the earlier ones.

So assignments are numbered. The number of the last one is the value of a widget that nobody sees,
so the browser gets it with the values and sends it back with them. A message with an earlier number
was sent without the assignments made since, so these are made again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.shared import url_parameters

MADE = "assignments.made"
NUMBER = "assignments.number"
RECEIPT = "assignments.receipt"


@dataclass(frozen=True)
class Assignment:
    """The last assignment to a widget: its number, and the value; or that the value was removed."""

    number: int
    value: Any = None
    is_removal: bool = False


def assign(values: Mapping[str, Any]) -> None:
    """Set widgets by their keys.

    Call this in callbacks, or before the widgets are drawn.
    """
    number = _next_number()
    _make({key: Assignment(number, value) for key, value in values.items()})


def remove(keys: Iterable[str]) -> None:
    """Forget the values of widgets, which then have their defaults; as for `assign`."""
    number = _next_number()
    _make({key: Assignment(number, is_removal=True) for key in keys})


def is_outdated() -> bool:
    """Return whether the browser sent the message of this run before it knew the last assignment.

    A callback that is about a change of a widget has nothing to do then, because code has changed
    the widget.
    """
    return _known() < _last()


def repeat() -> None:
    """Repeat the assignments that the browser did not know. Call this before any widget is drawn.

    After Back, the address determines all values.
    """
    if not url_parameters.came_back():
        known = _known()
        _make({key: each for key, each in _made().items() if each.number > known})


def receipt() -> None:
    """Draw the widget with the number of the last assignment, after the widgets that it is for."""
    st.session_state[RECEIPT] = _last()
    with st.container(key="assignments"):  # assets/lab.css hides it
        st.number_input("Last assignment", min_value=0, step=1, key=RECEIPT)


def _make(assignments: Mapping[str, Assignment]) -> None:
    for key, assignment in assignments.items():
        if assignment.is_removal:
            st.session_state.pop(key, None)
        else:
            st.session_state[key] = assignment.value
    _made().update(assignments)


def _made() -> dict[str, Assignment]:
    made: dict[str, Assignment] = st.session_state.setdefault(MADE, {})
    return made


def _last() -> int:
    number: int = st.session_state.get(NUMBER, 0)
    return number


def _next_number() -> int:
    st.session_state[NUMBER] = _last() + 1
    return _last()


def _known() -> int:
    """Return the number of the last assignment that the browser knew. A run that follows no message
    has the values of the run before.
    """
    number: int = st.session_state.get(RECEIPT, _last())
    return number
