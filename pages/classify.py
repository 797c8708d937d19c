"""Classify page: a model for each label, and Bayes' rule; linear next to nonlinear models."""

from pages.shared import sidebar, widgets
from pages.views import classify as view

sidebar.page_recipe(
    "Classify",
    "Which of several sources does a string come from? Each label has its own model, learned from "
    "its strings alone. Each test string gets the label $y$ with the largest $P(x \\mid y)\\, "
    "P(y)$.",
)
with widgets.errors_as_messages():
    recipes = view.choices()
    view.results(recipes)
