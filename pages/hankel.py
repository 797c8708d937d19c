"""Hankel page: shows the matrix, its approximation by a truncated SVD or a model, and its singular
values.
"""

from functools import partial

import streamlit as st

from nlwfa_core.experiment.pipeline import basis_notes
from nlwfa_core.hankel.matrix import hankel_alphabet
from nlwfa_core.lab.formulas import recipe as formulas
from nlwfa_core.lab.lens import LAYERS
from pages.shared import cache, screen, sidebar, widgets
from pages.views import hankel as view

recipe = sidebar.page_recipe(
    "The Hankel matrix",
    "A row for each prefix $u$, a column for each suffix $v$, and in each cell how often the "
    "string $uv$ was seen; λ is the empty "
    "string. The rank is the number of states that a weighted automaton needs.",
)
st.markdown(
    f"Here $\\mathbf{{H}}[u, v] = {formulas.entry_formula(recipe.hankel)}$: "
    f"**{formulas.entries(recipe.hankel)}**. "
    f"{formulas.marks(recipe.hankel)}"
)
with widgets.errors_as_messages():
    data = cache.data(recipe.data)
    hankel = cache.hankel(recipe.data, recipe.hankel)
    cache.singular_values(recipe.data, recipe.hankel)
widgets.notes(*basis_notes(hankel, recipe.hankel))

symbols = hankel_alphabet(data.alphabet, recipe.hankel.statistic, recipe.hankel.bounded).symbols
left, middle, right = st.columns(3)
screen.follow(
    "block", "hankel.block", {symbol: number for number, symbol in enumerate(symbols)}, -1
)
symbol = left.selectbox(
    "Block",
    [-1, *range(len(symbols))],
    # a lambda would keep this page's data until the session ends
    format_func=partial(view.block_title, symbols),
    key="hankel.block",
    persist_state="session",
)
screen.follow(
    "layer",
    "hankel.layer",
    dict(zip(("matrix", "approximation", "difference"), LAYERS, strict=True)),
    "H",
)
layer = middle.segmented_control(
    "Show", LAYERS, default="H", required=True, key="hankel.layer", persist_state="session"
)
by = ""
if layer == "H":
    screen.write("by", "")
else:
    approximations = view.approximations(recipe)
    screen.follow("by", "hankel.by", {name: name for name in approximations}, approximations[0])
    by = right.selectbox("Ĥ by", approximations, key="hankel.by", persist_state="session")
with widgets.errors_as_messages():
    view.linked_lens(recipe, symbol, layer, by)

st.subheader("How many states?", anchor=False)
st.latex(
    r"\begin{gathered}\mathbf{H}_\lambda \approx \mathbf{U}\,\mathbf{D}\,\mathbf{V}^\top,\\ "
    r"\text{rank } k \text{ keeps the } k \text{ largest values in } \mathbf{D}\end{gathered}"
)
view.rank_cut(recipe, symbol)
st.caption(
    "Drag the line at the rank, or change the rank in the sidebar: everything on this page "
    "that depends on it is updated. Hover "
    "over a cell to see all cells with the same string uv: a Hankel matrix has one value in "
    "all of them, before any transform."
)
