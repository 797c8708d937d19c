"""Compare: learners and ranks on one split, beside the reference models; the rank chosen on validation strings."""

import streamlit as st

from nlwfa_core import tables
from nlwfa_core.figures.metrics import metric_figure
from nlwfa_core.learning.learners import LEARNERS
from nlwfa_core.opponents.table import OF_STATES
from nlwfa_core.palette import METRIC_TITLES
from nlwfa_core.selection import RANK_METRICS
from pages.shared import blocks, runs

RANKS = (1, 2, 3, 4, 5, 8, 10, 15, 20, 30, 50, 100)

recipe = blocks.page_recipe(
    "Compare",
    "Every learner at every rank, on the same strings, beside what a uniform model, an n-gram and (where it is known) the true "
    "model reach. A model that does not beat the n-gram has learned little.",
)
with blocks.errors_shown():
    hankel = runs.hankel(recipe.data, recipe.hankel)
    references = runs.references(recipe.data)
left, right = st.columns(2)
learners = left.pills("Learners", list(LEARNERS), selection_mode="multi", default=["SP"], key="learners", bind="query-params")
opponents = right.pills(
    "Opponents",
    list(OF_STATES),
    selection_mode="multi",
    key="opponents",
    bind="query-params",
    help="A hidden Markov model by EM and recurrent networks, with as many states as the rank. They learn from the strings "
    "themselves, stop by the validation strings, and take up to a minute or two each.",
)
possible = [rank for rank in RANKS if rank <= min(hankel.num_prefixes, hankel.num_suffixes)]
default = [rank for rank in (1, 2, 3, 5, 10) if rank in possible]
ranks = st.pills("Ranks", possible, selection_mode="multi", default=default, key="ranks", bind="query-params", wrap=True)
grid = {(name, rank): recipe.with_learner(name, rank) for name in [*learners, *opponents] for rank in sorted(ranks)}
results = {place: found for place, entry in grid.items() if (found := runs.result(entry))}
blocks.train_controls(list(grid.values()), f"Train {len(grid) - len(results)} of {len(grid)} models", "compare")
if not results:
    blocks.score_table(references, "compare.references")
    st.stop()

named = {f"{learner}, k = {rank}": found for (learner, rank), found in results.items()}
metrics = [metric for metric in METRIC_TITLES if tables.metric_curves(results, metric, "test")]
first, second = st.columns([3, 2])
metric = first.segmented_control("Metric", metrics, default="wer", required=True, key="metric", bind="query-params", wrap=True)
strings = second.segmented_control(
    "On strings for", ["test", "validation"], default="test", required=True, key="compare.strings", persist_state="session"
)
curves = tables.metric_curves(results, metric, strings)
lines = {name: value for name, scores in references.items() if (value := getattr(scores, metric)) is not None}
figure = metric_figure(curves, lines if strings == "test" else {}, metric)
st.plotly_chart(figure, key="compare.curves", alt=f"{METRIC_TITLES[metric]} against the rank")

st.subheader("Rank chosen on validation strings", anchor=False)
by = st.segmented_control("Choose by", RANK_METRICS, default="wer", required=True, key="compare.by", persist_state="session")
blocks.score_table(tables.winners(results, by) | references, "compare.winners")
with st.expander("All models", icon=":material/table:"):
    rows = {name: found.scores for name, found in named.items()}
    blocks.score_table(rows, "compare.all")
    st.download_button("All numbers as CSV", tables.scores_csv(rows), "scores.csv", "text/csv", key="compare.csv")

st.subheader("Is a model sound?", anchor=False)
health, warnings = tables.diagnostics_table(named)
blocks.text_table(health, "compare.health", "Mass, outputs and rank of each model")
blocks.warning_list(warnings)

st.subheader("One model, several perplexities", anchor=False)
st.markdown("An output of 0 or below has no logarithm. What public programs do about it decides the perplexity they print.")
model = st.selectbox("Model", list(named), key="compare.model")
conventions = tables.conventions_of(named[model], runs.data(recipe.data))
blocks.text_table(conventions, "compare.conventions", "Perplexity of one model by each convention")
