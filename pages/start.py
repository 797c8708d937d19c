"""Start: what this is, and three ways in."""

import streamlit as st

from nlwfa_core.recipe import PRESETS
from pages.shared import blocks, controls
from pages.shared.navigation import ASSETS

blocks.page_recipe(
    "Learn automata from strings, and see it happen",
    "A **weighted finite automaton** gives every string a number: its probability, say. Spectral learning finds one from a sample: it "
    "counts how often each prefix meets each suffix (the **Hankel matrix**), factorises that matrix, and reads the automaton's states off "
    "the factors. **NL-WFA** (Li, Rabusseau, Precup 2018) puts a neural network wherever that is linear. This lab runs both on the same "
    "strings and shows each step. Where a model fails, it shows that too.",
)
st.image(
    ASSETS / "overview.svg", width="stretch", alt="Strings are counted into a Hankel matrix, factorised into states, and scored"
)

steps = {
    "first-steps": ("First steps", "2,000 strings of brackets, three states. Train a nonlinear automaton in a few seconds."),
    "paper-dyck": ("The paper's brackets", "20,000 Dyck strings, a 1,000 × 1,000 Hankel matrix: where do linear models break?"),
    "verbs": ("English verbs", "2,900 verb forms, letter by letter. Then upload strings of your own on the Data page."),
}
for column, (name, (title, text)) in zip(st.columns(len(steps)), steps.items(), strict=True):
    with column.container(border=True, height="stretch"):
        st.subheader(title)
        st.write(text)
        st.button("Use this", key=f"start.{name}", on_click=controls.set_recipe, args=(PRESETS[name][1],), icon=":material/check:")

st.markdown(
    "**Then**: [Data](data) shows the strings · [Hankel](hankel) the matrix · [Train](train) the learning · [States](states) where prefixes "
    "go · [Predict](predict) what comes next · [Compare](compare) all four learners on the same split."
)
st.caption(
    "The sidebar holds the whole experiment, and the address in your browser holds the sidebar: send the link, and the other person sees "
    "the same numbers."
)
