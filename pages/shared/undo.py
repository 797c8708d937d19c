"""Undo: what the sidebar said before, several changes back, hidden controls included."""

from __future__ import annotations

from typing import Any

import streamlit as st

from nlwfa_core import Recipe
from nlwfa_core.experiment.fields import differences
from pages.shared import controls
from pages.shared.text import literal

STACK, LAST = "undo.stack", "undo.last"
MAX_CHANGES = 50
NAMES = {"refine": "refinement", "upload": "strings", "data_seed": "seed of the strings", "learning_seed": "seed of the networks"}

Moment = tuple[Recipe, dict[str, Any]]


def undo_control(recipe: Recipe) -> None:
    """Notice a change, and draw the button that takes the last one back; it says which that is."""
    stack: list[Moment] = st.session_state.setdefault(STACK, [])
    last: Moment | None = st.session_state.get(LAST)
    if last is not None and last[0] != recipe:
        stack.append(last)
        del stack[:-MAX_CHANGES]
    st.session_state[LAST] = (recipe, controls.kept())
    label = f"Undo: {described(stack[-1][0], recipe)}" if stack else "Undo"
    icon = ":material/undo:"
    st.button(label, key="undo", icon=icon, type="tertiary", on_click=_undo, disabled=not stack, help=label if stack else None)


def _undo() -> None:
    st.session_state[LAST] = None
    controls.set_values(st.session_state[STACK].pop()[1])


def described(before: Recipe, after: Recipe) -> str:
    """A change in a few words, for a label.

    >>> described(Recipe(), Recipe.from_json('{"learning": {"rank": 3}}'))
    'rank 10 → 3'
    """
    changes = differences(before, after)
    if not changes:
        return "the last change"
    name, (old, new) = next(iter(changes.items()))
    more = f" and {len(changes) - 1} more" if len(changes) > 1 else ""
    return f"{NAMES.get(name, name.replace('_', ' '))} {_written(name, old)} → {_written(name, new)}{more}"


def _written(name: str, value: Any) -> str:
    if name.startswith("upload"):
        return literal(value[:6]) if value else "none"
    return literal(f"{value:,}" if isinstance(value, int) else str(value))
