"""Train page: trains one learner or all four, shows the training live or step by step, and the
results.
"""

import streamlit as st

from nlwfa_core.lab import tables
from nlwfa_core.lab.formulas import recipe as formulas
from nlwfa_core.lab.pairs import COVERS, interval_sentence
from nlwfa_core.learning.learners import HANKEL_LEARNERS, LEARNERS
from nlwfa_core.learning.names import LBFGS_DEPENDENT
from nlwfa_core.metrics.tables import format_score
from pages.shared import cache, score_tables, sidebar, training, widgets
from pages.views import train as view

recipe = sidebar.page_recipe("Train", "From the Hankel matrix to an automaton.")
name, kind, refined = (
    recipe.learning.learner,
    LEARNERS[recipe.learning.learner],
    recipe.refinement.objective != "none",
)
st.markdown(f"**{name}**: {kind.title}, k = {recipe.learning.rank}")
verdict = st.container(key="train.verdict")
with widgets.errors_as_messages():
    references = cache.references(recipe.data)
widgets.notes(*formulas.rank_notes(recipe))
if not kind.networks:
    view.spectral_steps(recipe)
for title, formula in formulas.steps(recipe) if kind.networks else formulas.third_step(recipe):
    st.markdown(title)
    st.latex(formula)
training.train_at_once([recipe], "train")
training.train_controls([recipe], "train", show_losses=kind.networks or refined)
result = cache.result(recipe)
if result is None:
    training.last_result(recipe)
    st.stop()

verdict.markdown(widgets.escape_markdown(cache.lead_over_reference(recipe, "wer")))
widgets.warnings(*(f"{name}: {text}" for text in result.report.messages))
if result.report.logs:
    training.result_charts(recipe, result, "train")
    with st.container(key="train.training"):
        widgets.training_lines(name, ((log.state, log.summary) for log in result.report.logs))
    optimizer = recipe.learning.optimizer
    if kind.networks and (
        optimizer == "lbfgs" or (optimizer == "lm" and kind.nonlinear_factorisation)
    ):
        st.caption(LBFGS_DEPENDENT)
radius = None if kind.networks else result.report.spectral_radius
if radius is not None and radius < 1:  # otherwise a warning above says that the sum diverges
    st.caption(
        f"The sum of all weights converges (spectral radius of ΣA {format_score(radius)} < 1)."
    )

with st.container(key="train.results"):  # a lesson can hide it until its question is answered
    st.subheader("On the test strings", anchor=False)
    score_tables.score_table({name: result.scores} | references, "train.scores")
    st.caption(tables.time_sentence(result.seconds))

    st.subheader("All four learners on the same split", anchor=False)
    training.train_controls(
        [recipe.with_learner(learner) for learner in HANKEL_LEARNERS], "train.others"
    )
    results = cache.results_of_learners(recipe, HANKEL_LEARNERS)
    if len(results) > 1:
        widgets.warnings(
            *(
                f"{other}: {text}"
                for other in results
                if other != name
                for text in results[other].report.messages
            )
        )
        scores = {learner: entry.scores for learner, entry in results.items()}
        stages = {learner: entry.report.training for learner, entry in results.items()}
        recipes = {learner: entry.recipe for learner, entry in results.items()}
        score_tables.score_table(scores, "train.all", stages, recipes, note=False)
        st.caption(
            interval_sentence(
                {learner: cache.score_intervals(entry.recipe) for learner, entry in results.items()}
            ),
            help=COVERS,
        )
