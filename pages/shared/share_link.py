"""Make the link to this screen, with its lesson and step.

A link can also ask for only some of the controls, or for the slide view.
"""

from __future__ import annotations

from urllib.parse import urlencode

import streamlit as st

from nlwfa_core.display.addresses import is_this_machine, lan_address, qr_code, shared_link
from nlwfa_core.experiment.recipe import OPTIONS
from nlwfa_core.teaching.lessons import NO_CONTROLS
from pages.shared import class_session, open_lesson, pins, server, sidebar, url_parameters
from pages.shared.navigation import offered_pages, page_file, title
from pages.shared.open_lesson import ALL, SHOW
from pages.shared.widgets import error_toast

VIEW = "view"
SLIDE = "slide"
QR_WIDTH = 220  # pixels
ALL_CONTROLS_HEIGHT = "45vh"  # of the sidebar below a docked lesson, if it shows all controls
NO_CONTROLS_HEIGHT = "4rem"  # if it shows none
OURS = (SHOW, VIEW, open_lesson.LESSON, open_lesson.STEP)


def shown_controls() -> tuple[str, ...]:
    """Return the names of the controls to show; empty for all of them.

    These are the controls that the link names, and those that the open step of a lesson needs: a
    link must not hide the latter.
    """
    names = _names()
    if ALL in names:
        return ()
    step = open_lesson.controls_of_step()
    return tuple(dict.fromkeys((*names, *step))) if names else step


def _names() -> list[str]:
    """Return the names of controls in the address.

    Names that are not those of controls are left out, and reported once.
    """
    names = list(filter(None, url_parameters.value(SHOW).split(",")))
    unknown = [name for name in names if name not in (*sidebar.CONTROLS, ALL)]
    if unknown:
        names = [name for name in names if name not in unknown]
        url_parameters.set_value(SHOW, ",".join(names))
        text = (
            f"show: the sidebar has no control called {unknown[0][:40]!r}, so it was ignored. "
            "Examples: rank, learner, source."
        )
        error_toast(text)
    return names


def show_all_control() -> None:
    """Draw the button that shows all controls or, where a link or a step has asked for all, fewer.

    Below a docked lesson, the sidebar is as high as the shown controls need.
    """
    names = shown_controls()
    if names:
        if not set(names) - {NO_CONTROLS}:
            st.html(f"<style>.stApp {{ --controls-height: {NO_CONTROLS_HEIGHT}; }}</style>")
        st.button(
            "Show all controls", key="screen.all", type="tertiary", on_click=_show_all, args=(True,)
        )
        return
    st.html(f"<style>.stApp {{ --controls-height: {ALL_CONTROLS_HEIGHT}; }}</style>")
    if ALL in _names():
        st.button(
            "Show fewer controls",
            key="screen.fewer",
            type="tertiary",
            on_click=_show_all,
            args=(False,),
        )


def _show_all(everything: bool) -> None:
    """Show all controls, or again only those of the link and the step."""
    names = [name for name in _names() if name != ALL]
    url_parameters.set_value(SHOW, ",".join([ALL, *names] if everything else names))


def is_slide() -> bool:
    """Return whether the page is in slide view."""
    return url_parameters.value(VIEW) == SLIDE


def view() -> None:
    """Draw the slide view: a style sheet hides the sidebar and the bar of pages, and a small menu
    replaces the bar.
    """
    if not is_slide():
        url_parameters.set_value(VIEW, "")
        return
    with st.container(horizontal=True, key="slide", gap="medium"):
        pages = st.popover("Pages", key="slide.pages", type="tertiary", on_change="rerun")
        if pages.open:
            for name in offered_pages():
                pages.page_link(page_file(name), label=title(name))
        st.button(
            "Leave slide view",
            key="slide.leave",
            type="tertiary",
            on_click=url_parameters.set_value,
            args=(VIEW, ""),
        )


def share() -> None:
    """Draw the button with a link to this screen, and the widgets for what the link includes."""
    popover = st.popover(
        "Share", icon=":material/share:", key="share", width="stretch", on_change="rerun"
    )
    if not popover.open:  # what is closed is neither made nor sent
        return
    with popover:
        st.markdown("**A link to this screen**")
        slide = st.toggle(
            "Slide view: for a projector, without the sidebar",
            key="share.slide",
            persist_state="session",
        )
        only = st.multiselect(
            "Show only these controls",
            list(sidebar.CONTROLS),
            format_func=_label,
            key="share.show",
            placeholder="all",
            select_all=False,  # otherwise, Enter after a few letters chooses all that have them
            persist_state="session",
        )
        lesson = open_lesson.current()
        step = lesson is not None and st.toggle(
            "With the lesson, at this step", True, key="share.lesson", persist_state="session"
        )
        fields = {SHOW: ",".join(only), VIEW: SLIDE if slide else ""}
        if lesson and step:
            fields |= {open_lesson.LESSON: lesson[0].name, open_lesson.STEP: str(lesson[1] + 1)}
        address, warning = shared_link(
            link(fields), str(st.get_option("server.address") or ""), machine()
        )
        with st.container(key="share_link"):
            st.code(address, language=None, wrap_lines=True)
        class_session.hand_in_button(address, "share")
        if warning:
            st.warning(warning, icon=":material/wifi_off:")
        contents = _contents(bool(only), bool(slide), bool(step))
        picture = "" if warning else qr_code(address)
        with st.container(horizontal=True):
            if picture:
                st.image(picture, width=QR_WIDTH, alt="The link as a QR code")
            st.caption(
                contents
                if picture or warning
                else f"{contents} The link is too long for a QR code."
            )


def machine() -> str:
    """Return the server's name or address for others: the configured one, or its own in the
    network; "" if unknown.

    A browser that asks for localhost but comes from elsewhere reaches a container, whose own
    address others can't reach.
    """
    configured = str(st.get_option("browser.serverAddress") or "localhost")
    if not is_this_machine(configured):
        return configured
    return lan_address() if st.context.ip_address is None else ""


def _label(name: str) -> str:
    """Return a control's label in the sidebar."""
    title = OPTIONS[name].title
    return f"{title[0].upper()}{title[1:]}"


def link(fields: dict[str, str]) -> str:
    """Return the current address with these values for the lab's own parameters."""
    without = (*OURS, *class_session.PARAMETERS)
    other_parameters = [
        (name, text)
        for name in st.query_params
        if name not in without
        for text in st.query_params.get_all(name)
    ]
    parameters = urlencode(
        [*other_parameters, *((name, text) for name, text in fields.items() if text)]
    )
    return f"{st.context.url or ''}?{parameters}"


def _contents(only: bool, slide: bool, step: bool) -> str:
    names = list(pins.pinned())
    parts = [
        "the recipe with all its seeds",
        "this page as it is now",
        *(
            [f"the pinned run{'s' if len(names) > 1 else ''} {' and '.join(names)}"]
            if names
            else []
        ),
        *(["the lesson at this step"] if step else []),
        *(["which controls are shown (the others keep their values)"] if only else []),
        *(["the slide view"] if slide else []),
    ]
    text = (
        f"The link contains {', '.join(parts[:-1])} and {parts[-1]}. Anyone who opens it sees "
        "the same numbers."
    )
    if st.query_params.get("source") == "upload":
        text += (
            " Your strings are not in the link, so it works only on this server, where they stay "
            f"{server.how_long_uploads_stay()}."
        )
    return text
