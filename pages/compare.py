"""Compare page: shows runs side by side, and learners by rank, sample size and seed, beside the
reference models.
"""

import streamlit as st

from nlwfa_core.lab.options import ranking
from nlwfa_core.metrics.scores import RANK_METRICS, SCORE_OF
from pages.shared import cache, pins, score_tables, sidebar, widgets
from pages.views import compare as view

recipe = sidebar.page_recipe(
    "Compare",
    "Every learner at every rank on the same strings, beside a uniform model, an n-gram and, "
    "if it is known, the true model. "
    "A model that does not beat the n-gram has learned little.",
)
verdict = st.container(key="compare.verdict")
with widgets.errors_as_messages():
    references = cache.references(recipe.data)
shown_runs = view.side_by_side(recipe)
pinned_pair = st.container(key="compare.pinned_pair")

st.subheader("Learners", anchor=False)
with widgets.errors_as_messages():
    sweep = view.sweep_controls(recipe)
    grid = view.possible(recipe, sweep)
outcomes = view.train(grid)
named = view.named_runs(sweep, outcomes, shown_runs)
if not outcomes:
    score_tables.score_table(references, "compare.references")
    if pins.pinned() and named:
        with pinned_pair, widgets.errors_as_messages():
            view.pair(recipe, named, shown_runs, "wer")
    st.stop()
with st.container(key="compare.results"):
    with widgets.errors_as_messages():
        view.curves(recipe, sweep, outcomes)

    by = st.segmented_control(
        "Choose on validation strings by",
        RANK_METRICS,
        default="wer",
        format_func=lambda name: SCORE_OF[name].short_title,
        required=True,
        key="compare.by",
        persist_state="session",
        help="The best rank is the one whose model has the lowest score on validation strings. "
        "Test strings are not used.",
    )
    if sweep.against == "rank":
        st.subheader("Rank chosen on validation strings", anchor=False)
        view.winners(recipe, outcomes, by)

    st.subheader("All runs", anchor=False)
    view.all_runs(named, by)
    with verdict:
        view.verdict(named, by)

    view.records(recipe, named)

    with pinned_pair if pins.pinned() else st.container():
        view.pair(recipe, named, shown_runs, by)

    with st.expander(
        "Why programs print different perplexities",
        icon=":material/calculate:",
        key="compare.perplexities",
    ):
        st.markdown(
            "An output of 0 or below has no logarithm. Public programs handle it "
            "differently, and so print different perplexities."
        )
        model_recipe = named[st.selectbox("Model", ranking(named, by), key="compare.model")].recipe
        if cache.result(model_recipe) is not None:
            widgets.draw_table(
                cache.conventions(model_recipe),
                "compare.conventions",
                "Perplexity of one model by each convention",
                {title: st.column_config.Column(width=300) for title in ("what it does", "source")},
                row_height=106,  # above 64, text wraps; the longest source has five lines
                height="content",
            )
