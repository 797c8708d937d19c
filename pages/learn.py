"""Learn page: explains the lab, and offers its lessons and presets."""

import streamlit as st

from pages.shared import sidebar
from pages.views import learn as view

sidebar.page_recipe(
    "Learn automata from strings, and see it happen",
    "A **weighted finite automaton** assigns a number to every string, for example its "
    "probability. Spectral learning finds one "
    "from a sample. It counts how often each prefix is followed by each suffix (the **Hankel "
    "matrix**), factorises that matrix, "
    "and reads the automaton's states off the factors. **NL-WFA** (Li, Rabusseau, Precup "
    "2018) replaces each linear map by a "
    "small neural network. This lab runs both on the same strings, and shows each step and where "
    "each model fails.",
)
view.faulty_files()
view.way_in()
view.resume()
view.picture()
st.subheader("Lessons", anchor=False)
view.lesson_cards()
st.subheader("Or begin with an experiment", anchor=False)
view.presets()
st.caption(
    "All settings are on the left of the other pages, and the address in your browser "
    "records them: *Share* makes a link, and "
    "anyone who opens it here sees the same numbers."
)
