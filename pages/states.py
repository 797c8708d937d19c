"""States page: shows a string's way from state to state, prefixes' states, two models' states
together, and a WFA as a graph.
"""

import streamlit as st

from nlwfa_core.lab.states import COLOURINGS
from pages.shared import cache, pins, screen, sidebar, widgets
from pages.views import states as view

recipe = sidebar.page_recipe(
    "States",
    "After a prefix $u$ the automaton is in a state, a vector of $k$ numbers: "
    "$\\alpha_0^\\top \\mathbf{A}_u$, or "
    "$G_{u_n}(\\cdots G_{u_1}(\\alpha_0))$. Prefixes with the same future should land on the "
    "same point.",
)
with widgets.errors_as_messages():
    data = cache.data(recipe.data)
    prefixes = cache.prefixes(recipe.data, recipe.hankel.num_prefixes)
    references = cache.reference_models(recipe.data)
results = cache.results_of_learners(recipe)

st.subheader("A string walks through the automaton", anchor=False)
view.walk_through(recipe, data, results)

st.subheader("The states of all prefixes", anchor=False)
pins.train_shown_runs(recipe, "states")

if results:
    first, second, third = st.columns([4, 6, 1.4])
    name = first.segmented_control(
        "Model",
        list(results),
        default=cache.default_learner(recipe, results),
        required=True,
        key="states.learner",
    )
    screen.follow("colour", "states.colour", {name: name for name in COLOURINGS}, "last symbol")
    screen.follow("axes", "states.axes", {"2": 2, "3": 3}, 2)
    screen.follow("directions", "states.unit", {"no": False, "yes": True}, True)
    screen.follow_text("follow", "states.string")
    colour = second.segmented_control(
        "Colour",
        list(COLOURINGS),
        default="last symbol",
        required=True,
        key="states.colour",
        persist_state="session",
        wrap=True,
    )
    axes = third.segmented_control(
        "Axes", [2, 3], default=2, required=True, key="states.axes", persist_state="session"
    )
    unit = st.toggle(
        "Directions only: each state scaled to norm 1",
        value=True,
        key="states.unit",
        persist_state="session",
        help="States shrink as their prefixes get rarer. In a linear model, the direction alone "
        "determines what comes next.",
    )
    text = st.text_input(
        "Follow one string",
        key="states.string",
        persist_state="session",
        placeholder="the most frequent string of at least three symbols",
    )
    view.states(
        recipe.with_learner(name), results[name].model, data, prefixes, text, colour, axes, unit
    )

    st.subheader("One model over another", anchor=False)
    view.overlay(recipe, data, prefixes, axes, unit)

    st.subheader("The automaton as a graph", anchor=False)
    models = {name: entry.model for name, entry in results.items()} | references
    view.automaton(models, cache.default_learner(recipe, results), data)
