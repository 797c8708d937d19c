"""Compare page: shows runs side by side, and learners by rank, sample size and seed, with the
reference models.
"""

import streamlit as st

from pages.shared import last_result, pins, score_tables, widgets
from pages.shared.context import Context, page_context
from pages.views import compare as view

context = page_context(
    "Compare",
    "Here, every learner is compared at every rank on the same strings, with a uniform model, an "
    "n-gram and, if it is known, the true model. A model that does not beat the n-gram has learned "
    "little.",
)
verdict = st.container(key="compare.verdict")
references = context.reference_scores
# These parts change in length. Because they have containers of their own, they do not move the
# results.
with st.container():
    shown_runs = view.side_by_side(context.recipe)
pinned_pair = st.container(key="compare.pinned_pair")

st.subheader("Learners", anchor=False)
with st.container():
    sweep = view.sweep_controls(context)
    grid = view.possible(context.recipe, sweep)
    outcomes = view.train(grid)
named = view.named_runs(sweep, outcomes, shown_runs)
last = None if outcomes else view.last_grid(sweep)
if not outcomes and pins.pinned() and named:
    with pinned_pair:
        view.pair(context, named, shown_runs, "wer")
if not outcomes and last is None:
    score_tables.score_table(references, "compare.references")
    widgets.room_for_results()
    st.stop()
with st.container(key="compare.results"), st.container(key=last_result.AREA):
    with st.container():
        if last is not None:
            sweep, outcomes = last
            view.note(sweep, context.recipe)
            context = Context(sweep.base)
            named = view.named_runs(sweep, outcomes, {})
        else:
            view.remember(sweep, outcomes)
    view.curves(context, sweep, outcomes)
    by = view.choice(context.recipe, sweep)
    outcomes = view.with_criteria(outcomes, context.recipe, by)
    named = view.with_criteria(named, context.recipe, by)
    view.winners(context, sweep, outcomes, by)
    view.all_runs(named, by)
    with verdict:
        view.verdict(named, by)
    view.records(context, named)
    if last is None or not pins.pinned():
        with pinned_pair if pins.pinned() else st.container():
            view.pair(context, named, {} if last else shown_runs, by)
    view.conventions(named, by)
