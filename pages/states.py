"""States: where prefixes go, in the plane of their principal components."""

import streamlit as st

from nlwfa_core import views
from nlwfa_core.figures.states import states_figure
from pages.shared import blocks, runs

recipe = blocks.page_recipe(
    "States",
    "After a prefix $u$ the automaton is in a state, a vector of $k$ numbers: $\\alpha_0^\\top \\mathbf{A}_u$, or "
    "$G_{u_n}(\\cdots G_{u_1}(\\alpha_0))$. Prefixes that mean the same for the future should meet.",
)
with blocks.errors_shown():
    data = runs.data(recipe.data)
    prefixes = runs.prefixes(recipe.data, recipe.hankel.num_prefixes)
found = runs.results_of_learners(recipe)
if recipe.learning.learner not in found:
    blocks.train_controls([recipe], f"Train {recipe.learning.learner}", "states")
if not found:
    st.stop()

first, second, third = st.columns([3, 3, 1])
name = first.segmented_control("Model", list(found), default=runs.chosen(recipe, found), required=True, key="states.learner")
colour = second.segmented_control(
    "Colour", list(views.COLOURINGS), default="last symbol", required=True, key="states.colour", persist_state="session"
)
axes = third.segmented_control("Axes", [2, 3], default=2, required=True, key="states.axes", persist_state="session")
unit = st.toggle(
    "Directions only: each state divided by its length",
    value=True,
    key="states.unit",
    persist_state="session",
    help="States shrink as their prefixes get rarer. In a linear model the direction alone says what comes next.",
)
text = st.text_input("Follow one string", key="states.string", persist_state="session", placeholder="the most frequent one")
model = found[name].model
with blocks.errors_shown():
    states = views.prefix_states(model, prefixes)
    projection = views.project(states, 3, unit)
    word = data.alphabet.encode(text) if text else views.most_frequent_word(data.train)
    steps = views.path(word)
    trajectory = projection.coordinates(views.prefix_states(model, steps))
    colours = views.colouring(colour, prefixes, data.alphabet, model)
figure = states_figure(
    projection.coordinates(states),
    projection,
    views.labels(prefixes, data.alphabet),
    colours,
    views.COLOURINGS[colour],
    (trajectory, views.labels(steps, data.alphabet)),
    three=axes == 3,
)
st.plotly_chart(figure, key="states.pca", alt="Principal components of all prefixes' states, with the trajectory of one string")
st.caption(
    f"The {len(prefixes):,} most frequent prefixes under {name}, k = {model.num_states}; the line follows "
    f"{blocks.literal(data.alphabet.decode(word))}. The axes shown explain {projection.explained_by(axes):.1%} of the variance."
)
