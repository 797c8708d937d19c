"""List the pages, draw the bar of pages, and switch between them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from pages.shared import visitor
from pages.shared.server import ASSETS

FOLDER = Path(__file__).resolve().parents[1]
# What the bar shows: the pages under "", and a menu of pages for each other name. Pages have no
# icons: the browser would fetch a page's icon from the network, to show it in the tab.
SECTIONS = {
    "": ("explore", "learn", "build", "classroom"),
    "Step by step": ("data", "hankel", "train", "states", "predict", "compare"),
    "More": ("classify", "practice", "take_away", "history", "status"),
}
MENUS = tuple(section for section in SECTIONS if section)
PAGES = tuple(page for pages in SECTIONS.values() for page in pages)
FIRST = PAGES[0]  # the lab opens on it
OPENED = "navigation.opened"  # the keys of the boxes to which buttons have led
NAMES = {"classroom": "Class"}  # names in the bar that are not the file's

_menu = st.components.v2.component(
    "nlwfa.menu", js=(ASSETS / "menu" / "menu.js").read_text(encoding="utf-8")
)


def navigation() -> Any:
    """Draw the page bar and return the page to run.

    A hidden page says that it is hidden if it is opened by URL.
    """
    make = _pages_of_session if st.runtime.exists() else _pages
    page = st.navigation(make(offered_pages()), position="top")
    # Streamlit does not mark the menu that has the page
    number = next(
        (n for n, section in enumerate(MENUS) if page.url_path in SECTIONS[section]), None
    )
    with st.container(key="menu"):
        _menu(key="nlwfa.menu", data={"number": number}, height=1)
    return page


def _pages(offered: tuple[str, ...]) -> dict[str, list[Any]]:
    """Make all pages. Streamlit looks for the file of each, so a session makes them only once."""
    return {
        section: [
            st.Page(
                page_file(name),
                title=title(name),
                url_path=name,
                default=name == FIRST,
                visibility="visible" if name in offered else "hidden",
            )
            for name in pages
        ]
        for section, pages in SECTIONS.items()
    }


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


def switch(name: str, box: str = "") -> None:
    """Go to another page and keep the URL's parameters, which Streamlit would otherwise remove.

    `box`: the key of a box there that is to be open; see `opens`.
    """
    if box:
        st.session_state.setdefault(OPENED, set()).add(box)
    st.switch_page(page_file(name), query_params={})


def opens(box: str) -> bool:
    """Return whether a button of this session has led to a box, which is then open."""
    return box in st.session_state.get(OPENED, ())
