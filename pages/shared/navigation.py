"""List the pages, draw the bar of pages, and switch between them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from pages.shared import visitor
from pages.shared.server import ASSETS

FOLDER = Path(__file__).resolve().parents[1]
# Without icons: the browser would fetch a page's icon from the network, to show it in the tab.
PAGES = (
    "explore",
    "learn",
    "data",
    "hankel",
    "train",
    "states",
    "predict",
    "compare",
    "practice",
    "build",
    "classroom",
    "take_away",
    "history",
    "status",
)
FIRST = PAGES[0]  # the lab opens on it
NAMES = {"classroom": "Class"}  # in the bar, if not the file's

_menu = st.components.v2.component(
    "nlwfa.menu", js=(ASSETS / "menu" / "menu.js").read_text(encoding="utf-8")
)


def navigation() -> Any:
    """Draw the page bar and return the page to run.

    A hidden page says that it is hidden if it is opened by URL.
    """
    with st.container(key="menu"):
        _menu(key="nlwfa.menu", height=1)
    pages = _pages_of_session if st.runtime.exists() else _pages
    return st.navigation(pages(offered_pages()), position="top")


def _pages(offered: tuple[str, ...]) -> list[Any]:
    """Make all pages. Streamlit looks for the file of each, so a session makes them only once."""
    return [
        st.Page(
            page_file(name),
            title=title(name),
            url_path=name,
            default=name == FIRST,
            visibility="visible" if name in offered else "hidden",
        )
        for name in PAGES
    ]


_pages_of_session = st.cache_resource(_pages, scope="session", show_spinner=False)


def offered_pages() -> tuple[str, ...]:
    """Return the pages that this visitor may see."""
    hidden = {"history": visitor.mode() == visitor.OFF, "status": not visitor.may_see_status()}
    return tuple(name for name in PAGES if not hidden.get(name))


def title(name: str) -> str:
    """Return a page's name in the bar.

    >>> title("take_away")
    'Take away'
    """
    return NAMES.get(name) or name.replace("_", " ").capitalize()


def page_file(name: str) -> Path:
    return FOLDER / f"{name}.py"


def switch(name: str) -> None:
    """Go to another page and keep the URL's parameters, which Streamlit would otherwise remove."""
    st.switch_page(page_file(name), query_params={})
