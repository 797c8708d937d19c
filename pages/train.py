"""Train page: trains one learner or all four, shows the training live or step by step, and the
results.
"""

import streamlit as st

from pages.shared import training
from pages.shared.context import page_context
from pages.views import train as view

context = page_context(
    "Train",
    "A learner makes an automaton with $k$ states from the Hankel matrix, or from the strings "
    "themselves. Test strings, which it has not seen, show how good the automaton is.",
)
recipe = context.recipe
view.heading(recipe)
verdict = st.container(key="train.verdict")
references = context.reference_scores
view.spectral_steps(context)
training.train_at_once([recipe], "train")
has_losses = recipe.learning.networks or recipe.learning.refinement != "none"
training.train_controls([recipe], "train", show_losses=has_losses)
result = context.result
if result is None:
    before = view.last_shown(recipe)
    view.formulas(recipe, opened=before is None and not training.is_going(recipe))
    if before is not None:
        view.results_before(before, recipe, references)
    st.stop()

with verdict:
    view.verdict(context)
training.another_seed(recipe)
view.course(context, result)
view.formulas(recipe, opened=False)
with st.container(key="train.results"):  # a lesson can hide it until its question is answered
    view.scores(recipe, result, references)
    view.all_learners(context)
view.remember_shown(recipe)
