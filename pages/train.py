"""Train: one learner or all four, live, and what came out."""

import streamlit as st

from nlwfa_core.charts import loss_options
from nlwfa_core.learning.learners import LEARNERS
from pages.shared import blocks, runs

SVD = (
    r"\begin{gathered}\mathbf{H}_\lambda \approx \mathbf{U}\mathbf{D}\mathbf{V}^\top,\quad "
    r"\alpha_0^\top = \mathbf{H}[\lambda,:]\,\mathbf{V},\\ "
    r"\mathbf{A}_\sigma = (\mathbf{H}_\lambda\mathbf{V})^{+}\,\mathbf{H}_\sigma\mathbf{V},\quad "
    r"\alpha_\infty = \mathbf{V}[\lambda,:]^\top\end{gathered}"
)
NETWORKS = (
    r"\begin{gathered}\min_{\phi,\phi'}\|\phi'(\phi(\mathbf{H}))-\mathbf{H}\|^2\text{ %s},\\ "
    r"\min_{G_\sigma}\|G_\sigma(\phi(\mathbf{H}_\lambda))-\phi(\mathbf{H}_\sigma)\|^2\text{ %s}\end{gathered}"
)

recipe = blocks.page_recipe("Train", "From the Hankel matrix to an automaton.")
name, kind = recipe.learning.learner, LEARNERS[recipe.learning.learner]
words = ("with tanh" if kind.nonlinear_factorisation else "linear", "with tanh" if kind.nonlinear_transitions else "linear")
st.markdown(f"**{name}**: {kind.title}, k = {recipe.learning.rank}")
st.latex(NETWORKS % words if kind.networks else SVD)
with blocks.errors_shown():
    references = runs.references(recipe.data)
blocks.train_controls([recipe], f"Train {name}", "train", show_losses=kind.networks)
result = runs.result(recipe)
if result is None:
    st.stop()

blocks.warnings(*result.report.messages)
if result.report.logs:
    losses = {log.stage: log.thinned() for log in result.report.logs}
    st.echarts_chart(loss_options(losses), key="train.losses", height=320, alt="Relative loss of each stage against the epoch")
    best = " · ".join(log.summary for log in result.report.logs)
    st.caption(f"{best}. The loss is the squared error over the targets' squared norm: 1 is as good as answering 0 everywhere.")
else:
    st.caption(
        f"SP trains no network. Spectral radius of ΣA: {blocks.number(result.report.spectral_radius)}; the mass is finite below 1."
    )

st.subheader("On the test strings", anchor=False)
blocks.score_table({name: result.scores} | references, "train.scores")
st.caption("Time: " + " · ".join(f"{stage} {seconds:.2f} s" for stage, seconds in result.seconds.items() if stage != "learning"))

st.subheader("All four learners on the same split", anchor=False)
others = [runs.with_learner(recipe, other) for other in LEARNERS if other != name]
blocks.train_controls(others, "Train the other three", "train.others")
found = runs.results_of_learners(recipe, list(LEARNERS))
if len(found) > 1:
    blocks.warnings(*(f"{other}: {text}" for other in found if other != name for text in found[other].report.messages))
    blocks.score_table({learner: entry.scores for learner, entry in found.items()}, "train.all")
