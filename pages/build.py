"""Build: draw a weighted automaton, and see what it is: its weights, its Hankel matrix, its rank,
strings drawn from it.
"""

import streamlit as st

from pages.shared import sidebar, widgets
from pages.views import build as view

sidebar.page_recipe(
    "Build an automaton",
    "Draw states and arrows, and see what they compute: $f(x) = \\alpha_0^\\top "
    "\\mathbf{A}_{x_1} \\cdots \\mathbf{A}_{x_t} "
    "\\alpha_\\infty$, the sum, over all paths that read the string, of the products of "
    "their weights.",
)
with widgets.errors_as_messages():
    view.read_link()
    top = st.container()
    tables, matrix, hand, strings, back, asking, merging, files = st.tabs(
        [
            "Tables",
            "Hankel matrix and rank",
            "By hand",
            "Strings",
            "Learn it back",
            "Learn it by asking",
            "Learn it by merging",
            "Files",
        ],
        key="build.part",
    )
    with tables:
        view.tables()  # first: what is typed there is in everything above, and in the link
    with top:
        view.begin()
        wfa, word = view.drawing()
    with matrix:
        view.matrix(wfa)
    with hand:
        view.by_hand_calculation(wfa, word)
    with strings:
        view.strings(wfa)
    with back:
        view.learn_back(wfa)
    with asking:
        view.asking(wfa)
    with merging:
        view.merging(wfa)
    with files:
        view.files()
