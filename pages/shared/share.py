"""What of the screen is seen, as a link says it: some controls alone, or a view for the wall; and the link itself."""

from __future__ import annotations

from urllib.parse import urlencode

import streamlit as st

from nlwfa_core.experiment.fields import FIELDS
from pages.shared import address, lessons, pins
from pages.shared.navigation import page_file, shown, title
from pages.shared.widgets import error_toast

SHOW, VIEW, ALL, SLIDE = "show", "view", "all", "slide"
OURS = (SHOW, VIEW, lessons.LESSON, lessons.STEP)


def shown_controls() -> tuple[str, ...]:
    """The controls that are to be seen; none named: all of them. A link's word counts before a lesson's."""
    if asked := address.value(SHOW):
        names = asked.split(",")
        if unknown := [name for name in names if name not in (*FIELDS, ALL)]:
            known = [name for name in names if name not in unknown]
            address.set_value(SHOW, ",".join(known))
            text = (
                f"show: the sidebar has no control called {unknown[0][:40]!r}; it was left out. There are rank, learner, source …"
            )
            error_toast(text)
            return shown_controls()
        return () if ALL in names else tuple(names)
    return lessons.controls_of_step()


def hide_others() -> None:
    """All controls stay where they are, and keep what they say; those that are not to be seen take no place on the screen."""
    names = shown_controls()
    if not names:
        return
    chosen = ", ".join(f".st-key-{name}" for name in names)
    boxes = ".stElementContainer, .stHorizontalBlock, .stColumn, .stExpander, [data-testid=stLayoutWrapper]"
    st.html(f"<style>.st-key-recipe :is({boxes}):not({chosen}):not(:has({chosen})) {{ display: none; }}</style>")
    st.button("Show all controls", key="screen.all", type="tertiary", on_click=address.set_value, args=(SHOW, ALL))


def view() -> None:
    """On the wall there is neither sidebar nor bar of pages: style sheet and small links do that."""
    if address.value(VIEW) != SLIDE:
        address.set_value(VIEW, "")
        return
    with st.container(horizontal=True, key="slide", gap="medium"):
        for name in shown():
            st.page_link(page_file(name), label=title(name))
        st.button("Leave slide view", key="slide.leave", type="tertiary", on_click=address.set_value, args=(VIEW, ""))


def share() -> None:
    """A link to this screen, with the choice of what it carries."""
    with st.popover("Share", icon=":material/share:", key="share", width="stretch"):
        st.markdown("**A link to this screen**")
        ours = {SLIDE: st.toggle("Slide view: for the wall, without the sidebar", key="share.slide", persist_state="session")}
        only = st.multiselect(
            "Show these controls alone", list(FIELDS), key="share.show", placeholder="all", persist_state="session"
        )
        lesson = lessons.current()
        step = lesson is not None and st.toggle("With the lesson, at this step", True, key="share.lesson", persist_state="session")
        fields = {SHOW: ",".join(only), VIEW: SLIDE if ours[SLIDE] else ""}
        if lesson and step:
            fields |= {lessons.LESSON: lesson[0].name, lessons.STEP: str(lesson[1] + 1)}
        st.code(link(fields), language=None, wrap_lines=True)
        st.caption(_said(bool(only), bool(ours[SLIDE]), bool(step)))


def link(fields: dict[str, str]) -> str:
    """The address as it stands, with these of our own parameters."""
    kept = [(name, text) for name in st.query_params if name not in OURS for text in st.query_params.get_all(name)]
    asked = urlencode([*kept, *((name, text) for name, text in fields.items() if text)])
    return f"{st.context.url or ''}?{asked}"


def _said(only: bool, slide: bool, step: bool) -> str:
    named = list(pins.pinned())
    parts = [
        "the recipe with all its seeds",
        "this page",
        *([f"the pinned run{'s' if len(named) > 1 else ''} {' and '.join(named)}"] if named else []),
        *(["the lesson at this step"] if step else []),
        *(["which controls are seen (the others keep their values)"] if only else []),
        *(["the slide view"] if slide else []),
    ]
    text = f"It carries {', '.join(parts[:-1])} and {parts[-1]}. Whoever opens it sees the same numbers."
    if st.query_params.get("source") == "upload":
        text += " Own strings are named by their content: they must be on this server."
    return text
