"""Compare: runs side by side, and learners over ranks, sample sizes and seeds beside the reference models."""

import streamlit as st

from nlwfa_core.experiment.selection import RANK_METRICS
from nlwfa_core.lab import tables
from nlwfa_core.lab.options import ranking
from nlwfa_core.lab.palette import METRIC_TITLES
from pages.shared import blocks, compare_view, runs

recipe = blocks.page_recipe(
    "Compare",
    "Every learner at every rank, on the same strings, beside what a uniform model, an n-gram and (where it is known) the true "
    "model reach. A model that does not beat the n-gram has learned little.",
)
with blocks.errors_shown():
    references = runs.references(recipe.data)
in_play = compare_view.side_by_side(recipe)

st.subheader("Learners", anchor=False)
with blocks.errors_shown():
    sweep = compare_view.sweep_controls(recipe)
    grid = compare_view.possible(recipe, sweep)
outcomes = compare_view.train(grid)
if not outcomes:
    blocks.score_table(references, "compare.references")
    st.stop()
with blocks.errors_shown():
    compare_view.curves(recipe, sweep, outcomes)

by = st.segmented_control(
    "Choose on validation strings by",
    RANK_METRICS,
    default="wer",
    format_func=METRIC_TITLES.get,
    required=True,
    key="compare.by",
    persist_state="session",
)
if sweep.against == "rank":
    st.subheader("Rank chosen on validation strings", anchor=False)
    compare_view.winners(recipe, outcomes, by)

st.subheader("All runs", anchor=False)
named = compare_view.named_runs(recipe, sweep, outcomes, in_play)
compare_view.all_runs(named, by)

st.subheader("One model, several perplexities", anchor=False)
st.markdown("An output of 0 or below has no logarithm. What public programs do about it decides the perplexity they print.")
chosen = named[st.selectbox("Model", ranking(named, by), key="compare.model")].recipe
result = runs.result(chosen)
if result is not None:
    conventions = tables.conventions_of(result, runs.data(chosen.data))
    blocks.text_table(conventions, "compare.conventions", "Perplexity of one model by each convention")
