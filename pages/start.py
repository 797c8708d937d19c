"""Start: what this is, lessons, and ways in."""

import streamlit as st

from pages.shared import sidebar
from pages.shared.server import ASSETS
from pages.views import start as view

sidebar.page_recipe(
    "Learn automata from strings, and see it happen",
    "A **weighted finite automaton** gives every string a number: its probability, say. Spectral learning finds one from a sample. "
    "It counts how often each prefix meets each suffix (the **Hankel matrix**), factorises that matrix, and reads the automaton's "
    "states off the factors. **NL-WFA** (Li, Rabusseau, Precup 2018) puts a neural network wherever that is linear. This lab runs "
    "both on the same strings and shows each step; where a model fails, it shows that too.",
)
st.image(
    ASSETS / "overview.svg", width="stretch", alt="Strings are counted into a Hankel matrix, factorised into states, and scored"
)
view.resume()
st.subheader("Lessons", anchor=False)
view.lesson_cards()
st.subheader("Or begin with an experiment", anchor=False)
view.presets()
st.caption(
    "The sidebar holds the whole experiment, and the address in your browser holds the sidebar: *Share* makes a link, and who "
    "opens it sees the same numbers."
)
