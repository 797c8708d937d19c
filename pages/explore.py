"""Explore page: linear against nonlinear models of the same strings, in one picture."""

import streamlit as st

from pages.shared import sidebar
from pages.shared.context import Context
from pages.views import explore as view

with st.container(key="explore_title"):
    st.title("Explore")  # for screen readers: the headline is in the picture
view.ways_in()
view.picture(Context(sidebar.current()))
