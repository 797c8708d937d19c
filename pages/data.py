"""Data page: generates strings or takes uploaded ones, and shows them."""

import streamlit as st

from nlwfa_core.sources.reading import as_controls
from pages.shared import navigation, open_lesson, widgets
from pages.shared.context import page_context
from pages.views import data as view

context = page_context(
    "Data",
    "This is a sample $S$ of strings over an alphabet $\\Sigma$. Models are learned from the "
    "training strings only; validation strings are "
    "for choices, such as the rank, and test strings for the scores.",
)
recipe = context.recipe
view.own_strings(
    (recipe.data.source == "upload" or navigation.opens("own_strings"))
    and open_lesson.leaves_open("own_strings")
)
data = context.data
with st.container():  # so the table and the charts keep their places whatever is above them
    widgets.notes(*map(as_controls, data.notes))
    view.overview(recipe.data, data)
view.strings(context.matrix_recipe, data.train)
