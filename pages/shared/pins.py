"""The two runs that a person has pinned, A and B: they stand in the address, and every page can put them side by side."""

from __future__ import annotations

import streamlit as st

from nlwfa_core import Recipe, RecipeError
from nlwfa_core.experiment.fields import recipe_code, recipe_of
from pages.shared.text import literal

NAMES = ("A", "B")


def pinned() -> dict[str, Recipe]:
    """Name -> recipe of what is pinned, A before B."""
    return {name: st.session_state[_key(name)] for name in NAMES if st.session_state.get(_key(name)) is not None}


def in_play(recipe: Recipe) -> dict[str, Recipe]:
    """The pinned runs, and the sidebar's as "now" unless it is one of them."""
    found = pinned()
    return found if recipe in found.values() else found | {"now": recipe}


def pin(name: str, recipe: Recipe | None) -> None:
    """Pin a recipe; None takes the pin out."""
    st.session_state[_key(name)] = recipe


def pin_controls(recipe: Recipe) -> None:
    """Chips in the sidebar: one a name, to pin the sidebar's recipe or to take it out."""
    _take_from_address()
    with st.container(horizontal=True, key="pins"):
        for name in NAMES:
            kept = st.session_state.get(_key(name))
            if kept is None:
                text = f"Keep what the sidebar says as {name}, to compare with what comes next"
                st.button(f"Pin {name}", key=f"pins.{name}", icon=":material/keep:", on_click=pin, args=(name, recipe), help=text)
            else:
                said = f"{name}: {literal(title(kept))}"
                st.button(said, key=f"pins.{name}", icon=":material/close:", on_click=pin, args=(name, None), help="Take it out")
    _put_into_address()


def title(recipe: Recipe) -> str:
    """How a run is called on a chip."""
    return f"{recipe.learning.learner}, k = {recipe.learning.rank}"


def _take_from_address() -> None:
    """Once a session: what a link brought."""
    for name in NAMES:
        if _key(name) not in st.session_state:
            code, st.session_state[_key(name)] = st.query_params.get(name.lower(), ""), None
            if code:
                try:
                    st.session_state[_key(name)] = recipe_of(code)
                except RecipeError as error:
                    st.toast(literal(f"{name}: {error}"), icon=":material/error:", duration="long")


def _put_into_address() -> None:
    for name in NAMES:
        kept, place = st.session_state.get(_key(name)), name.lower()
        if kept is not None:
            st.query_params[place] = recipe_code(kept)
        elif place in st.query_params:
            del st.query_params[place]


def _key(name: str) -> str:
    return f"pins.recipe.{name}"
