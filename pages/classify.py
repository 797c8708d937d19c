"""Classify page: a model for each label, and Bayes' rule; linear beside nonlinear."""

import streamlit as st

from pages.shared import widgets
from pages.views import classify as view

st.title("Classify")
st.markdown(
    "Which of several sources does a string come from? Each label has a model of its own, learned "
    "from its strings alone. A test string gets the label $y$ with the largest "
    "$P(x \\mid y)\\, P(y)$."
)
with widgets.errors_as_messages():
    recipes = view.choices()
    view.results(recipes)
