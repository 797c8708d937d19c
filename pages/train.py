"""Train page: trains one learner or all four, shows the training live or step by step, and the
results.
"""

import streamlit as st

from pages.shared import last_result, training
from pages.shared.context import page_context
from pages.views import train as view

context = page_context(
    "Train",
    "A learner makes an automaton with $k$ states from the Hankel matrix, or from the strings "
    "themselves. Test strings, which the learner has not seen, show how good the automaton is.",
)
recipe = context.recipe
view.heading(recipe)
verdict = st.container(key="train.verdict")
with st.container():
    view.spectral_steps(context)
training.train_at_once([recipe], "train")
has_losses = recipe.learning.networks or recipe.learning.refinement != "none"
with st.container():
    training.train_controls([recipe], "train", show_losses=has_losses)

shown = view.shown(context)
with st.container(key=last_result.AREA):
    view.origin(context, shown)
    view.course(shown)
    view.formulas(recipe, opened=shown is None and not training.is_going(recipe))
    if shown is not None:
        with verdict:
            view.verdict(shown)
        # a lesson can hide the scores until its question is answered
        with st.container(key="train.results"):
            view.scores(shown)
            if shown is context:
                view.all_learners(context)
                last_result.remember(recipe)
