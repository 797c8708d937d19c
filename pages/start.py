"""Start: what this is, and three ways in."""

import streamlit as st

from nlwfa_core.recipe import PRESETS
from pages.shared import blocks, controls
from pages.shared.navigation import ASSETS

CARDS = {
    "first-steps": ("First steps", "2,000 strings of brackets, three states. Train a nonlinear automaton in a few seconds."),
    "paper-dyck": ("The paper's brackets", "20,000 strings, a 1,000 × 1,000 Hankel matrix: where do linear models break?"),
    "verbs": ("English verbs", "2,900 verb forms, letter by letter. Your own strings are next: upload them on the Data page."),
}

blocks.page_recipe(
    "Learn automata from strings, and see it happen",
    "A **weighted finite automaton** gives every string a number: its probability, say. Spectral learning finds one from a sample. "
    "It counts how often each prefix meets each suffix (the **Hankel matrix**), factorises that matrix, and reads the automaton's "
    "states off the factors. **NL-WFA** (Li, Rabusseau, Precup 2018) puts a neural network wherever that is linear. This lab runs "
    "both on the same strings and shows each step; where a model fails, it shows that too.",
)
st.image(
    ASSETS / "overview.svg", width="stretch", alt="Strings are counted into a Hankel matrix, factorised into states, and scored"
)
for column, (name, (title, text)) in zip(st.columns(len(CARDS)), CARDS.items(), strict=True):
    with column.container(border=True, height="stretch"):
        st.subheader(title, anchor=False)
        st.write(text)
        st.button("Use this", key=f"start.{name}", on_click=controls.set_recipe, args=(PRESETS[name][1],))
st.markdown(
    "The other pages: **Data** shows the strings, **Hankel** the matrix, **Train** the learning, **States** where prefixes "
    "go, **Predict** what comes next, **Compare** all learners on the same split."
)
st.caption(
    "The sidebar holds the whole experiment, and the address in your browser holds the sidebar: send the link, and who opens it "
    "sees the same numbers."
)
