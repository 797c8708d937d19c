"""Take away: the run as a program, a notebook, a recipe, a model, data, figures and a report; and a recipe's way back."""

import streamlit as st

from pages.shared import blocks, exports, runs

recipe = blocks.page_recipe(
    "Take away",
    "What you made here is yours: files that say the same numbers elsewhere, without this server.",
)
name, chosen = exports.chosen_run(recipe)

st.subheader("Do it again", anchor=False)
exports.cards(exports.programs(chosen))
link = exports.link_to(name, chosen)
st.markdown("Or hand in the address, which opens the lab with this run:")
st.code(link, language=None, wrap_lines=True)

st.subheader("Keep what came out", anchor=False)
result = runs.result(chosen)
if result is None:
    st.markdown("This run has not been trained yet. Once it is, its model, scores, figures and report are here.")
blocks.train_controls([chosen], f"Train {chosen.learning.learner}", "take_away")
if result is not None:
    with blocks.errors_shown():
        run = exports.finished(chosen, result, link)
    exports.cards(exports.results(run))
    exports.limits_of_formats(result)

st.subheader("Bring a recipe back", anchor=False)
st.markdown("The sidebar then says what the file says. A file that can't be followed changes nothing.")
exports.recipe_upload()
