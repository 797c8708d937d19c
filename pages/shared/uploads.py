"""Store uploaded files under the hash of their content, and show them under their titles, the names
that they were uploaded with.

A file's title is stored with it on the server. A visitor sees the title of their own upload, even
if somebody else has uploaded the same content under another name. Recipes and keys contain only the
hash.

A file that is refused is named next to its uploader, with the reason, until another file is
uploaded or the visitor dismisses it.
"""

from __future__ import annotations

from time import time

import streamlit as st

from nlwfa_core import Recipe, RecipeError, limits
from nlwfa_core.files import file_label, make_room, short_title
from nlwfa_core.history.database import database_errors_as_sentences
from nlwfa_core.sources.reading import as_controls
from pages.shared import contents, visitor, visitor_runs
from pages.shared.widgets import refusal_text

OWN_TITLES = "uploads.titles"
REFUSED = "uploads.refused"  # key of an uploader -> why its last file was refused
MEMBERS_SECONDS = 24 * 3600.0
STRANGERS_SHARE = 2  # those who belong to no class may fill half of the space for uploaded files


def store(data: bytes, title: str) -> str:
    """Store a file, and return its SHA-256. Raises RecipeError if it is too large, or can't be
    written.

    If all files together are too large, those that nobody has used for longest are deleted, except
    those of stored runs, of the lessons, and those that members of classes uploaded within a day.
    The latter give way to another member's file.
    """
    is_known = visitor.is_known()
    allowed = limits.most("upload_disk_bytes") // (1 if is_known else STRANGERS_SHARE)
    try:
        make_room(
            contents.uploads(), len(data), allowed, lambda: _of_runs_and_lessons() | _of_members()
        )
    except RecipeError:
        if not is_known:
            raise
        make_room(contents.uploads(), len(data), allowed, _of_runs_and_lessons)
    name = contents.uploads().put(data, title)
    if is_known:
        _members_files()[name] = time()
    st.session_state.setdefault(OWN_TITLES, {})[name] = short_title(title)
    return name


def _of_runs_and_lessons() -> set[str]:
    with database_errors_as_sentences():
        return visitor_runs.history().uploads() | contents.lesson_uploads()


def _of_members() -> set[str]:
    return {name for name, moment in _members_files().items() if moment > time() - MEMBERS_SECONDS}


@st.cache_resource(show_spinner=False)
def _members_files() -> dict[str, float]:
    """Return when members uploaded which files: strangers must not push these files out."""
    return {}


def title(name: str) -> str:
    """Return the title of the file with this SHA-256; empty if it has none."""
    session_titles: dict[str, str] = st.session_state.get(OWN_TITLES, {})
    return session_titles.get(name) or contents.uploads().title(name)


def titles(*recipes: Recipe | None) -> dict[str, str]:
    """Return the titles of the uploaded files of some recipes, SHA-256 -> title; files without a
    title are left out.
    """
    names = {name for recipe in recipes if recipe is not None for name in recipe.data.uploads}
    return {name: text for name in names if (text := title(name))}


def all_titles() -> dict[str, str]:
    """Return the titles of all uploaded files on this server, SHA-256 -> title; files without a
    title are left out.
    """
    session_titles: dict[str, str] = st.session_state.get(OWN_TITLES, {})
    return contents.uploads().titles() | session_titles


def label(name: str) -> str:
    """Write a file's title, followed by the beginning of its hash."""
    return file_label(name, title(name))


def refuse(
    uploader: str, title: str, reason: object, outcome: str = "Nothing was changed."
) -> None:
    """Remember why an uploader's file was refused. Call this in callbacks; `refusal` draws it.

    Parameters
    ----------
    uploader : str
        The key of the uploader.
    title : str
        The name of the file.
    """
    st.session_state.setdefault(REFUSED, {})[uploader] = refusal_text(
        f"{short_title(title)}: {as_controls(str(reason))}", outcome
    )


def forget_refusals() -> None:
    """Forget which files were refused, because another one was uploaded."""
    st.session_state.pop(REFUSED, None)


def refusal(uploader: str) -> None:
    """Draw why an uploader's last file was refused, with a button to dismiss it; nothing if it was
    not.
    """
    text = st.session_state.get(REFUSED, {}).get(uploader)
    if text is None:
        return
    with st.container(key=f"{uploader}.refused", gap="xsmall"):
        st.error(text, icon=":material/error:")
        st.button(
            "Dismiss",
            key=f"{uploader}.dismiss",
            type="tertiary",
            icon=":material/close:",
            on_click=forget_refusals,
        )
