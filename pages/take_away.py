"""Take away: the run as a program, a notebook, a recipe, a model, data, figures and a report; and a recipe's way back."""

import streamlit as st

from pages.shared import runs, sidebar, training, widgets
from pages.views import take_away as view

recipe = sidebar.page_recipe(
    "Take away",
    "What you made here is yours: files that say the same numbers elsewhere, without this server.",
)
name, chosen = view.chosen_run(recipe)

st.subheader("Do it again", anchor=False)
view.cards(view.programs(chosen))
link = view.link_to(name, chosen)
st.markdown("Or hand in the address, which opens the lab with this run:")
st.code(link, language=None, wrap_lines=True)

st.subheader("Keep what came out", anchor=False)
result = runs.result(chosen)
if result is None:
    st.markdown("This run has not been trained yet. Once it is, its model, scores, figures and report are here.")
training.train_controls([chosen], f"Train {chosen.learning.learner}", "take_away")
if result is not None:
    with widgets.errors_as_messages():
        run = view.finished(chosen, result, link)
    view.cards(view.results(run))
    view.limits_of_formats(result)

st.subheader("Bring a recipe back", anchor=False)
st.markdown("The sidebar then says what the file says. A file that can't be followed changes nothing.")
view.recipe_upload()
