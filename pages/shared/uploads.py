"""Store uploaded files under the hash of their content, and show them under their titles, the names that they were uploaded with.

A file's title is stored beside it on the server. A visitor sees the title of their own upload, even if somebody else has uploaded
the same content under another name. Recipes and keys contain only the hash.

A file that is refused is named next to its uploader, with the reason, until another file is uploaded or the visitor dismisses it.
"""

from __future__ import annotations

import streamlit as st

from nlwfa_core import Recipe
from nlwfa_core.files import file_label, short_title
from pages.shared import cache
from pages.shared.widgets import escape_markdown

OWN_TITLES = "uploads.titles"
REFUSED = "uploads.refused"  # key of an uploader -> why its last file was refused


def store(data: bytes, title: str) -> str:
    """Store a file, and return its SHA-256. Raises RecipeError if it is too large, or can't be written."""
    name = cache.uploads().put(data, title)
    st.session_state.setdefault(OWN_TITLES, {})[name] = short_title(title)
    return name


def title(name: str) -> str:
    """Return the title of the file with this SHA-256; empty if it has none."""
    own: dict[str, str] = st.session_state.get(OWN_TITLES, {})
    return own.get(name) or cache.uploads().title(name)


def titles(*recipes: Recipe | None) -> dict[str, str]:
    """Return the titles of the uploaded files of some recipes, SHA-256 -> title; files without a title are left out."""
    names = {name for recipe in recipes if recipe is not None for name in recipe.data.uploads}
    return {name: text for name in names if (text := title(name))}


def all_titles() -> dict[str, str]:
    """Return the titles of all uploaded files on this server, SHA-256 -> title; files without a title are left out."""
    own: dict[str, str] = st.session_state.get(OWN_TITLES, {})
    return cache.uploads().titles() | own


def label(name: str) -> str:
    """Write a file's title, followed by the beginning of its hash."""
    return file_label(name, title(name))


def refuse(uploader: str, title: str, reason: object, outcome: str = "Nothing was changed.") -> None:
    """Remember why an uploader's file was refused. To be called in callbacks; `refusal` draws it.

    Parameters
    ----------
    uploader : str
        The key of the uploader.
    title : str
        The name of the file.
    """
    st.session_state.setdefault(REFUSED, {})[uploader] = f"{short_title(title)}: {reason} – {outcome}"


def forget_refusals() -> None:
    """Forget which files were refused, because another one was uploaded."""
    st.session_state.pop(REFUSED, None)


def refusal(uploader: str) -> None:
    """Draw why an uploader's last file was refused, with a button to dismiss it; nothing if it was not."""
    sentence = st.session_state.get(REFUSED, {}).get(uploader)
    if sentence is None:
        return
    with st.container(key=f"{uploader}.refused", gap="xsmall"):
        st.error(escape_markdown(sentence), icon=":material/error:")
        st.button("Dismiss", key=f"{uploader}.dismiss", type="tertiary", icon=":material/close:", on_click=forget_refusals)
