"""Keep the result that a visitor saw last: it stays, in grey, until new settings have their own."""

from __future__ import annotations

from contextlib import suppress

import streamlit as st

from nlwfa_core import Recipe, RecipeError
from pages.shared import sidebar
from pages.shared.context import Context
from pages.shared.sidebar import describe_change
from pages.shared.widgets import escape_markdown

SEEN = "last_result.recipe"
# A page draws what follows from a result in a container with this key, always the same one: there
# the browser updates what is drawn, and assets/lab.css draws it in grey below a `note`.
AREA = "result_area"


def remember(recipe: Recipe) -> None:
    """Remember that the session has seen a recipe's result."""
    st.session_state[SEEN] = recipe


def seen() -> Context | None:
    """Return the context of the result that the session saw last; None if there is none, or its
    strings are no longer on this server.
    """
    recipe: Recipe | None = st.session_state.get(SEEN)
    if recipe is None:
        return None
    context = Context(recipe)
    with suppress(RecipeError):
        if context.data is not None and context.result is not None:
            return context
    return None


def note(before: Recipe, recipe: Recipe, title: str = "") -> None:
    """Draw a line that says whose result is drawn in grey in place of a recipe's, with a button
    that leads back to it. The line gives the result's title, by default that of its recipe.
    """
    title = escape_markdown(title or before.title)
    with st.container(horizontal=True, vertical_alignment="center", key="last_result"):
        st.markdown(
            f"The last result: **{title}**. Changed since: {describe_change(before, recipe)}.",
            width="content",
        )
        st.button(
            f"Back to {title}",
            key="last_result.back",
            type="tertiary",
            on_click=sidebar.set_recipe,
            args=(before,),
        )
