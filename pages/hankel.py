"""Hankel: the matrix as a heat map, a labelled part of it, and its singular values."""

import streamlit as st

from nlwfa_core import formulas, views
from nlwfa_core.experiment import basis_notes
from nlwfa_core.figures.matrices import heat_map_figure, singular_values_figure, window_figure
from pages.shared import blocks, runs

PIXELS = 320
WINDOW = 24

recipe = blocks.page_recipe(
    "The Hankel matrix",
    "$\\mathbf{H}[u, v] = f(uv)$: a row for each prefix $u$, a column for each suffix $v$. Its rank is the number of states that a "
    "weighted automaton needs.",
)
st.markdown(f"Here each entry is **{formulas.entries(recipe.hankel)}**. {formulas.marks(recipe.hankel)}")
with blocks.errors_shown():
    data = runs.data(recipe.data)
    hankel = runs.hankel(recipe.data, recipe.hankel)
    svd = runs.singular_values(recipe.data, recipe.hankel)
blocks.notes(*basis_notes(hankel, recipe.hankel))

alphabet = views.hankel_alphabet(data.alphabet, recipe.hankel)
symbols = alphabet.symbols
chosen = st.selectbox(
    "Block",
    [-1, *range(len(symbols))],
    format_func=lambda symbol: "H_λ: rows u" if symbol < 0 else f"H_σ: rows uσ, σ = {symbols[symbol]}",
    key="hankel.block",
    persist_state="session",
)
block, after = (hankel.block, ()) if chosen < 0 else (hankel.symbol_block(chosen), (chosen,))
pooled = views.pool(block, PIXELS, PIXELS)
st.caption(
    f"{block.shape[0]:,} × {block.shape[1]:,}, {block.nnz:,} entries other than zero; with all rows uσ there are "
    f"{hankel.num_closure_rows:,} rows. A cell of the picture is the largest of {pooled.row_factor} × {pooled.column_factor} "
    "entries; empty is zero; the scale is logarithmic."
)
st.plotly_chart(
    heat_map_figure(pooled, blocks.dark()), key="hankel.map", alt="Heat map of the Hankel matrix; the part below has exact values"
)

st.subheader("Read the numbers", anchor=False)
left, right = st.columns(2)
row = left.slider("First prefix", 0, max(block.shape[0] - WINDOW, 1), key="hankel.row", persist_state="session")
column = right.slider("First suffix", 0, max(block.shape[1] - WINDOW, 1), key="hankel.column", persist_state="session")
values, rows, columns = views.window(block, row, column, WINDOW)
prefixes = views.labels(hankel.basis.prefixes.take(rows), alphabet, after)
suffixes = views.labels(hankel.basis.suffixes.take(columns), alphabet)
figure = window_figure(values, prefixes, suffixes, blocks.dark())
st.plotly_chart(figure, key="hankel.window", alt="Exact values of a part of the matrix, labelled")

st.subheader("How many states?", anchor=False)
rank = recipe.learning.rank
st.latex(
    r"\begin{gathered}\mathbf{H}_\lambda \approx \mathbf{U}\,\mathbf{D}\,\mathbf{V}^\top,\\ "
    r"\text{rank } k \text{ keeps the } k \text{ largest values in } \mathbf{D}\end{gathered}"
)
figure = singular_values_figure(svd.singular_values, rank)
st.plotly_chart(figure, key="hankel.singular_values", alt="Singular values, the kept ones marked")
st.markdown(views.rank_sentence(svd, rank, hankel))
