"""States page: shows a string's way from state to state, prefixes' states, two pinned models'
states together, and a linear automaton as a graph.
"""

import streamlit as st

from pages.shared import pins
from pages.shared.context import page_context
from pages.views import states as view

context = page_context(
    "States",
    "After a prefix $u$ the automaton is in a state, a vector of $k$ numbers: "
    "$\\alpha_0^\\top \\mathbf{A}_u$, or "
    "$G_{u_n}(\\cdots G_{u_1}(\\alpha_0))$. Prefixes with the same future should land on the "
    "same point.",
)
prefixes = context.prefixes(context.matrix_recipe.num_prefixes)

st.subheader("A string walks through the automaton", anchor=False)
view.walk_through(context.recipe)

st.subheader("The states of all prefixes", anchor=False)
pins.train_shown_runs(context.recipe, "states")
if context.results:
    picture = view.picture_controls(context)
    view.states(context, prefixes, picture)
    view.overlay(context, prefixes, picture)
    view.automaton(context)
