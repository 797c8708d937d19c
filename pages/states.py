"""States page: shows a string's path from state to state, prefixes' states, two pinned models'
states together, and a linear automaton as a graph.
"""

import streamlit as st

from pages.shared import last_result, pins
from pages.shared.context import page_context
from pages.views import states as view

context = page_context(
    "States",
    "After a prefix $u$ the automaton is in a state, a vector of $k$ numbers: "
    "$\\alpha_0^\\top \\mathbf{A}_u$, or "
    "$G_{u_n}(\\cdots G_{u_1}(\\alpha_0))$. Prefixes with the same future should land on the "
    "same point.",
)
data = context.data  # without strings the page ends here

st.subheader("A string walks through the automaton", anchor=False)
view.walk_through(context.recipe)

st.subheader("The states of all prefixes", anchor=False)
pins.train_shown_runs(context.recipe, "states")
shown = view.shown(context)
if shown is not None:
    with st.container(key=last_result.AREA):
        picture = view.picture_controls(context, shown)
        view.states(shown, picture)
        view.overlay(shown, picture)
        view.automaton(shown)
        last_result.remember(shown.with_learner(picture.learner).recipe)
