"""Build: draw a weighted automaton, and see what it is: its weights, its Hankel matrix, its rank,
strings drawn from it.
"""

import streamlit as st

from pages.shared import open_lesson, sidebar, widgets
from pages.views import build as view

LOOKED_AT = {"build.asking": "Learn it by asking", "build.merging": "Learn it by merging"}

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
            "Learn it from strings",
            *LOOKED_AT.values(),
            "Files",
        ],
        # the part that a lesson's step shows
        default=next(
            (title for key, title in LOOKED_AT.items() if open_lesson.draws_alone(key)), None
        ),
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
    with asking, st.container(key="build.asking"):
        view.asking(wfa)
    with merging:
        view.merging(wfa)
    with files:
        view.files()
