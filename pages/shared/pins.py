"""Pin up to two runs, A and B.

They are stored in the address, and every page can show them next to the sidebar's run.
"""

from __future__ import annotations

import streamlit as st

from nlwfa_core import Recipe, RecipeError
from nlwfa_core.experiment.datasets import Data
from nlwfa_core.experiment.recipe import recipe_code, recipe_of
from pages.shared import sidebar, training, url_parameters
from pages.shared.context import Context
from pages.shared.widgets import error_toast, escape_markdown, notes

NAMES = ("A", "B")


def pinned() -> dict[str, Recipe]:
    """Return the recipes of the pinned runs, name -> recipe, A before B."""
    return {
        name: st.session_state[_key(name)]
        for name in NAMES
        if st.session_state.get(_key(name)) is not None
    }


def shown_runs(recipe: Recipe) -> dict[str, Recipe]:
    """Return the recipes that pages show, name -> recipe: the pinned runs, and the sidebar's as
    "now" unless it is pinned.
    """
    pins = pinned()
    return pins if recipe in pins.values() else pins | {"now": recipe}


def train_shown_runs(recipe: Recipe, key: str) -> None:
    """Train those of the `shown_runs` that need no button, and draw a button for the others that
    have not been trained yet.
    """
    training.train_at_once(list(shown_runs(recipe).values()), key)
    with st.container():  # so what is below keeps its place on the page
        training.train_controls(list(shown_runs(recipe).values()), key)


def comparable(recipes: dict[str, Recipe], data: Data) -> dict[str, Recipe]:
    """Select the runs that have the alphabet of `data`, and, for each other run, draw a note on why
    it is left out.
    """
    comparable_runs = {}
    for name, run in recipes.items():
        try:
            alphabet = Context(run).data.alphabet
        # the run was pinned by a link, and its file is not on this server
        except RecipeError as error:
            notes(f"{name} is left out: {error}")
            continue
        if alphabet == data.alphabet:
            comparable_runs[name] = run
        else:
            notes(f"{name} is left out: its alphabet is not that of the sidebar's strings.")
    return comparable_runs


def pin(name: str, recipe: Recipe | None) -> None:
    """Pin a recipe; None removes the pin."""
    st.session_state[_key(name)] = recipe


def pin_controls(recipe: Recipe) -> None:
    """For each of A and B, draw a button that pins the sidebar's recipe; or, if a run is pinned,
    two buttons that load or remove it.
    """
    _take_from_address()
    with st.container(key="pins", gap="xsmall"):
        for name in NAMES:
            # one row each, so no button moves to where another was just pressed
            with st.container(horizontal=True, gap="xsmall"):
                _slot(name, recipe)
    _put_into_address()


def _slot(name: str, recipe: Recipe) -> None:
    """Draw the button or buttons of one pin."""
    run = st.session_state.get(_key(name))
    if run is None:
        st.button(
            f"Pin {name}",
            key=f"pins.{name}",
            icon=":material/keep:",
            on_click=pin,
            args=(name, recipe),
            help=f"Keep the sidebar's recipe as {name}, to compare it with later ones",
        )
        return
    st.button(
        f"{name}: {escape_markdown(run.title)}",
        key=f"pins.{name}",
        icon=":material/keep:",
        on_click=_load,
        args=(run,),
        help=f"Load {name}: set the sidebar to this recipe",
    )
    st.button(
        "",
        key=f"pins.{name}.remove",
        icon=":material/close:",
        type="tertiary",
        on_click=pin,
        args=(name, None),
        help=f"Remove pin {name}",
    )


def _load(recipe: Recipe) -> None:
    """Set the sidebar to a pinned recipe; *Undo* brings back the one before."""
    try:
        sidebar.check_settable(recipe)
    except RecipeError as error:
        error_toast(error)
    else:
        sidebar.set_recipe(recipe)


def _take_from_address() -> None:
    """Read the pins from the address, once per session and after the browser's Back."""
    for name in NAMES:
        if url_parameters.came_back() or _key(name) not in st.session_state:
            code, st.session_state[_key(name)] = st.query_params.get(name.lower(), ""), None
            if code:
                try:
                    st.session_state[_key(name)] = recipe_of(code)
                except RecipeError as error:
                    error_toast(f"{name}: {error}")


def _put_into_address() -> None:
    for name in NAMES:
        run = st.session_state.get(_key(name))
        parameter = name.lower()
        if run is not None:
            if st.query_params.get(parameter) != (code := recipe_code(run)):
                st.query_params[parameter] = code
        elif parameter in st.query_params:
            del st.query_params[parameter]


def _key(name: str) -> str:
    return f"pins.recipe.{name}"
