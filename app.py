"""NL-WFA Lab: the entry file. Sets the page up, draws the shared sidebar, and runs the chosen page."""

import streamlit as st

from nlwfa_core import RecipeError
from pages.shared import blocks, controls, pins, runs
from pages.shared.navigation import ASSETS, navigation

st.set_page_config(page_title="NL-WFA Lab", page_icon=ASSETS / "icon.svg", layout="wide")
st.logo(ASSETS / "logo.svg", size="large", icon_image=ASSETS / "icon.svg")
st.html(ASSETS / "lab.css")
runs.prepare_server()
page = navigation()
try:
    recipe = controls.recipe_controls()
except RecipeError as error:
    st.error(blocks.literal(str(error)))
    st.stop()
with st.sidebar:
    pins.pin_controls(recipe)
page.run()
