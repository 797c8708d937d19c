"""Take away page: offers a run as program, notebook, recipe, model, data, figures and report, and
loads a recipe's file.
"""

import streamlit as st

from pages.shared import class_session, sidebar, training, widgets
from pages.shared.context import Context
from pages.views import take_away as view

recipe = sidebar.page_recipe(
    "Take away",
    "These files repeat the experiment without this server, on any computer with the lab's "
    "library. The script and the notebook say how to install it.",
)
name, run_recipe = view.chosen_run(recipe)

st.subheader("Run it again", anchor=False)
view.cards(view.programs(run_recipe))
link = view.link_to(name, run_recipe)
st.markdown("Or share this address, which opens the lab with this run:")
st.code(link, language=None, wrap_lines=True)
class_session.hand_in_button(link, "take_away")

st.subheader("Keep the results", anchor=False)
result = Context(run_recipe).result
if result is None:
    st.markdown(
        "This run has not been trained yet. When it is trained, you can download its model, "
        "scores, figures and report here."
    )
training.train_at_once([run_recipe], "take_away")
training.train_controls([run_recipe], "take_away")
if result is not None:
    with widgets.errors_as_messages():
        run = view.finished(run_recipe, result, link)
    view.cards(view.results(run))
    view.limits_of_formats(result)

st.subheader("Load a recipe", anchor=False)
st.markdown("This sets the sidebar to the file's recipe. An invalid file changes nothing.")
view.recipe_upload()
