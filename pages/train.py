"""Train page: trains one learner or all four, shows the training live or step by step, and the
results.
"""

import streamlit as st

from pages.shared import training, widgets
from pages.shared.context import page_context
from pages.views import train as view

context = page_context("Train", "From the Hankel matrix to an automaton.")
recipe = context.recipe
learning = recipe.learning
st.markdown(f"**{learning.learner}**: {learning.title}, k = {learning.rank}")
verdict = st.container(key="train.verdict")
references = context.reference_scores
view.method(context)
training.train_at_once([recipe], "train")
has_losses = learning.networks or learning.refinement != "none"
training.train_controls([recipe], "train", show_losses=has_losses)
result = context.result
if result is None:
    training.last_result(recipe)
    st.stop()

verdict.markdown(widgets.escape_markdown(context.lead_over_ngram("wer")))
view.course(context, result)
with st.container(key="train.results"):  # a lesson can hide it until its question is answered
    view.scores(recipe, result, references)
    view.all_learners(context)
