"""Start NL-WFA Lab: set up the page, draw the sidebar that all pages share, and run the chosen
page.

Streamlit runs this file for each page. When the server starts, Streamlit imports it once, for the
server itself.
"""

import streamlit as st
from starlette.middleware import Middleware
from streamlit.starlette import App

from nlwfa_core.limits import check_settings
from pages.shared import (
    assignments,
    class_session,
    components,
    following,
    open_lesson,
    pins,
    rank_series,
    screen,
    server,
    share_link,
    sidebar,
    training,
    url_parameters,
    visitor,
    visitor_runs,
    web,
)
from pages.shared.navigation import FIRST, navigation
from pages.shared.render_lock import render_lock
from pages.shared.server import ASSETS
from pages.shared.widgets import errors_as_messages


def draw() -> None:
    """Draw the page that the visitor has open."""
    st.set_page_config(page_title="NL-WFA Lab", page_icon=ASSETS / "icon.svg", layout="wide")
    st.logo(ASSETS / "logo.svg", size="large")
    st.html(ASSETS / "lab.css")
    server.trim_after_session()
    url_parameters.keep_history()
    components.keep_charts()
    assignments.repeat()
    page = navigation()
    name = page.url_path or FIRST
    with errors_as_messages():
        check_settings()
        share_link.view()
        tools = st.sidebar.container(key="tools", gap="xsmall")
        pinned = st.sidebar.container()
        following.follow(name)
        open_lesson.enter_by_link(name)
        # first: what a step sets belongs to its entry in the browser's history
        url_parameters.write(open_lesson.LESSON, open_lesson.STEP)
        sidebar.hide_unused(name)
        recipe = sidebar.recipe_controls(name, share_link.shown_controls())
        with st.sidebar:
            share_link.show_all_control()
        # in a lesson the few controls of its step come first
        with st.sidebar if open_lesson.place() else pinned:
            pins.pin_controls(recipe)
        with tools:
            share_link.share()
            sidebar.undo_control(recipe)
        with (  # where the sidebar is hidden
            st.container(horizontal_alignment="right")
            if name in (FIRST, "learn") and visitor.signed_in() is not None
            else tools
        ):
            visitor.sign_in_control()
        visitor_runs.visit(recipe, *pins.pinned().values())
        rank_series.withdraw_others(recipe.data)
        url_parameters.write(*share_link.OURS)
        screen.leave_others(name)
        sidebar.remember_values()
        class_session.visit(name, open_lesson.place() or name)
        if not class_session.hides_lesson(name):
            open_lesson.panel(name)
        training.running_elsewhere(recipe, name)
        try:
            page.run()
        finally:
            following.watch()
        if visitor_runs.any_has_ended():
            st.rerun()


if __name__ == "__main__":
    with render_lock.hold(visitor.rank()):
        draw()
else:
    app = App(__file__, lifespan=web.lifespan, middleware=[Middleware(web.Gate)])
