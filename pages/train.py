"""Train: one learner or all four, live, and what came out."""

import streamlit as st

from nlwfa_core.figures import loss_options
from nlwfa_core.learning.learners import LEARNERS
from pages.shared import blocks, runs

FORMULAS = {
    "SP": r"\mathbf{H}_\lambda \approx \mathbf{U}\mathbf{D}\mathbf{V}^\top,\quad \alpha_0^\top = \mathbf{H}[\lambda,:]\mathbf{V},\quad "
    r"\alpha_\infty = \mathbf{V}[\lambda,:]^\top,\quad \mathbf{A}_\sigma = (\mathbf{H}_\lambda\mathbf{V})^{+}\mathbf{H}_\sigma\mathbf{V}",
    "fac.non": r"\min_{\phi,\phi'} \|\phi'(\phi(\mathbf{H})) - \mathbf{H}\|^2 \text{ with tanh},\quad "
    r"\min_{G_\sigma} \|G_\sigma(\phi(\mathbf{H}_\lambda)) - \phi(\mathbf{H}_\sigma)\|^2 \text{ linear}",
    "tran.non": r"\min_{\phi,\phi'} \|\phi'(\phi(\mathbf{H})) - \mathbf{H}\|^2 \text{ linear},\quad "
    r"\min_{G_\sigma} \|G_\sigma(\phi(\mathbf{H}_\lambda)) - \phi(\mathbf{H}_\sigma)\|^2 \text{ with tanh}",
    "both.non": r"\min_{\phi,\phi'} \|\phi'(\phi(\mathbf{H})) - \mathbf{H}\|^2,\quad "
    r"\min_{G_\sigma} \|G_\sigma(\phi(\mathbf{H}_\lambda)) - \phi(\mathbf{H}_\sigma)\|^2 \text{ both with tanh}",
}

recipe = blocks.page_recipe("Train", "From the Hankel matrix to an automaton.")
learner = recipe.learning.learner
st.markdown(f"**{learner}**, {LEARNERS[learner].title}, k = {recipe.learning.rank}")
st.latex(FORMULAS[learner])
with blocks.errors_shown():
    runs.data(recipe.data)
others = [runs.with_learner(recipe, name) for name in LEARNERS if name != learner]
blocks.train_controls([recipe], f"Train {learner}", "train", show_losses=True)

result = runs.result(recipe)
if result is None:
    st.stop()
blocks.warnings(*result.report.messages)
if result.report.logs:
    losses = {log.stage: log.thinned() for log in result.report.logs}
    st.echarts_chart(loss_options(losses), key="train.losses", height=320, alt="Relative loss of each stage against the epoch")
    ends = " · ".join(f"{log.stage}: best relative loss {log.losses.min():.4g}" for log in result.report.logs)
    st.caption(f"{ends}. The loss is the squared error over the targets' squared norm: 1 is as good as answering 0 everywhere.")
else:
    st.caption(
        f"SP trains no network. Spectral radius of ΣA: {blocks.number(result.report.spectral_radius, 4)} (the mass is finite below 1)."
    )

st.subheader("On the test strings")
blocks.score_table({learner: result.scores} | runs.references(recipe.data), "train.scores")
st.caption(" · ".join(f"{stage} {seconds:.2f} s" for stage, seconds in result.seconds.items()))

st.subheader("The other three, on the same split")
blocks.train_controls(others, "Train the other three", "train.others")
rows = runs.results_of_learners(recipe, list(LEARNERS))
if len(rows) > 1:
    blocks.score_table({name: entry.scores for name, entry in rows.items()}, "train.all")
