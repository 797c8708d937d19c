"""NL-WFA Lab: the entry file. Sets the page up, draws the shared sidebar, and runs the chosen page."""

import streamlit as st

from nlwfa_core.limits import check_settings
from pages.shared import address, controls, lessons, people, pins, runs, screen, undo
from pages.shared.navigation import ASSETS, navigation
from pages.shared.safety import calm
from pages.shared.turns import turn

with turn():
    st.set_page_config(page_title="NL-WFA Lab", page_icon=ASSETS / "icon.svg", layout="wide")
    st.logo(ASSETS / "logo.svg", size="large", icon_image=ASSETS / "icon.svg")
    st.html(ASSETS / "lab.css")
    runs.prepare_server()
    page = navigation()
    with calm():
        check_settings()
        screen.view()
        tools = st.sidebar.container(key="tools", gap="xsmall")
        recipe = controls.recipe_controls()
        with st.sidebar:
            screen.hide_others()
            pins.pin_controls(recipe)
        with tools:
            screen.share()
            undo.undo_control(recipe)
            people.sign_in_control()
        runs.visit(recipe, *pins.pinned().values())
        address.write(*screen.OURS)
        lessons.panel(page.url_path or "start")
        page.run()
