"""States: where prefixes go, in the plane of their principal components; one model over another; a WFA as a graph."""

import streamlit as st

from nlwfa_core.lab.states import COLOURINGS
from pages.shared import cache, pins, runs, sidebar, widgets
from pages.views import states as view

recipe = sidebar.page_recipe(
    "States",
    "After a prefix $u$ the automaton is in a state, a vector of $k$ numbers: $\\alpha_0^\\top \\mathbf{A}_u$, or "
    "$G_{u_n}(\\cdots G_{u_1}(\\alpha_0))$. Prefixes that mean the same for the future should meet.",
)
with widgets.errors_as_messages():
    data = cache.data(recipe.data)
    prefixes = cache.prefixes(recipe.data, recipe.hankel.num_prefixes)
    references = cache.reference_models(recipe.data)
found = runs.results_of_learners(recipe)
pins.train_shown_runs(recipe, "states")

if found:
    first, second, third = st.columns([4, 6, 1.4])
    name = first.segmented_control(
        "Model", list(found), default=runs.default_learner(recipe, found), required=True, key="states.learner"
    )
    colour = second.segmented_control(
        "Colour",
        list(COLOURINGS),
        default="last symbol",
        required=True,
        key="states.colour",
        persist_state="session",
        wrap=True,
    )
    axes = third.segmented_control("Axes", [2, 3], default=2, required=True, key="states.axes", persist_state="session")
    unit = st.toggle(
        "Directions only: each state divided by its length",
        value=True,
        key="states.unit",
        persist_state="session",
        help="States shrink as their prefixes get rarer. In a linear model the direction alone says what comes next.",
    )
    text = st.text_input(
        "Follow one string",
        key="states.string",
        persist_state="session",
        placeholder="the most frequent one of three symbols or more",
    )
    view.states(name, found[name].model, data, prefixes, text, colour, axes, unit)

    st.subheader("One model over another", anchor=False)
    view.overlay(recipe, data, prefixes, axes, unit)

    st.subheader("The automaton as a graph", anchor=False)
    models = {name: entry.model for name, entry in found.items()} | references
    view.automaton(models, runs.default_learner(recipe, found), data)
