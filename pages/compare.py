"""Compare: learners and ranks on one split, beside the reference models; the rank chosen on validation strings."""

import pandas as pd
import streamlit as st

from nlwfa_core.experiment import RANK_METRICS, best_rank
from nlwfa_core.figures import METRIC_TITLES, metric_figure
from nlwfa_core.learning.learners import LEARNERS
from pages.shared import blocks, runs

RANKS = (1, 2, 3, 4, 5, 8, 10, 15, 20, 30, 50, 100)
SETS = {"test": "scores", "validation": "validation"}

recipe = blocks.page_recipe(
    "Compare",
    "Every learner at every rank, on the same strings, beside what a uniform model, an n-gram and (where it is known) the true model reach. "
    "A model that does not beat the n-gram has learned little.",
)
with blocks.errors_shown():
    data = runs.data(recipe.data)
    hankel = runs.hankel(recipe.data, recipe.hankel)
    references = runs.references(recipe.data)
left, right = st.columns([2, 3])
learners = left.pills("Learners", list(LEARNERS), selection_mode="multi", default=["SP"], key="learners", bind="query-params")
possible = [rank for rank in RANKS if rank <= min(hankel.num_prefixes, hankel.num_suffixes)]
default = [rank for rank in (1, 2, 3, 5, 10) if rank in possible]
ranks = right.pills("Ranks", possible, selection_mode="multi", default=default, key="ranks", bind="query-params")
grid = {(learner, rank): runs.with_learner(recipe, learner, rank) for learner in learners for rank in sorted(ranks)}
missing = [entry for entry in grid.values() if runs.result(entry) is None]
blocks.train_controls(list(grid.values()), f"Train {len(missing)} missing of {len(grid)} runs", "compare")
results = {place: found for place, entry in grid.items() if (found := runs.result(entry))}
if not results:
    blocks.score_table(references, "compare.references")
    st.stop()

first, second = st.columns([3, 1])
metric = first.segmented_control("Metric", list(METRIC_TITLES), default="wer", required=True, key="metric", bind="query-params")
kind = second.segmented_control("Strings", list(SETS), default="test", required=True, key="compare.set", persist_state="session")
curves = {
    learner: [
        (rank, getattr(getattr(found, SETS[kind]), metric))
        for (name, rank), found in results.items()
        if name == learner and getattr(found, SETS[kind]) is not None
    ]
    for learner in learners
}
lines = {name: getattr(scores, metric) for name, scores in references.items()} if kind == "test" else {}
st.plotly_chart(metric_figure(curves, lines, metric), key="compare.curves", alt=f"{METRIC_TITLES[metric]} against the rank")

st.subheader("Rank chosen on validation strings")
by = st.segmented_control(
    "Choose by",
    RANK_METRICS,
    default="wer",
    format_func=METRIC_TITLES.get,
    required=True,
    key="compare.by",
    persist_state="session",
)
winners = {}
for learner in learners:
    tried = [(rank, found.validation) for (name, rank), found in results.items() if name == learner and found.validation]
    if tried:
        rank = best_rank(tried, by)
        winners[f"{learner}, k = {rank}"] = results[learner, rank].scores
blocks.score_table(winners | references, "compare.winners")

with st.expander("All runs", icon=":material/table:"):
    rows = {f"{learner}, k = {rank}": found.scores for (learner, rank), found in results.items()}
    blocks.score_table(rows, "compare.all")
    table = pd.DataFrame([{"run": name, **dict(vars(scores))} for name, scores in rows.items()])
    st.download_button("All numbers as CSV", table.to_csv(index=False).encode(), "runs.csv", "text/csv", key="compare.csv")
