"""Hankel page: shows the matrix, its approximation by a truncated SVD or a model, and its singular
values.
"""

import streamlit as st

from nlwfa_core.display.formulas import recipe_formulas as formulas
from nlwfa_core.experiment.notes import basis_notes
from pages.shared import widgets
from pages.shared.context import page_context
from pages.views import hankel as view

context = page_context(
    "The Hankel matrix",
    "The matrix has a row for each prefix $u$ and a column for each suffix $v$. A cell shows how "
    "often the string $uv$ was seen; λ is the empty string. The rank is the number of states that "
    "a weighted automaton needs.",
)
st.markdown(formulas.matrix_sentence(context.matrix_recipe))
widgets.notes(*basis_notes(context.hankel, context.matrix_recipe))
symbol, layer, by = view.controls(context)
view.linked_lens(context, symbol, layer, by)

st.subheader("How many states?", anchor=False)
view.decomposition(context, symbol)
view.rank_cut(context, symbol)
st.caption(
    "Drag the line at the rank, or change the rank in the sidebar. Hover over a cell to see all "
    "cells with the same string uv: before any transform, they have the same value."
)
