"""Data page: generates strings or takes uploaded ones, and shows them."""

import streamlit as st

from nlwfa_core.hankel.matrix import counted_string
from nlwfa_core.lab.figures.bars import bars_figure, lengths_figure
from nlwfa_core.lab.formulas import recipe as formulas
from nlwfa_core.lab.strings import (
    length_counts,
    most_frequent,
    most_frequent_word,
    split_sentence,
    symbol_counts,
    usual_length,
)
from nlwfa_core.rounding import format_share
from pages.shared import lessons, widgets
from pages.shared.context import page_context
from pages.views import data as view

MAX_ROWS = 200

context = page_context(
    "Data",
    "A sample $S$ of strings over an alphabet $\\Sigma$. Models are learned from the "
    "training strings only; validation strings are "
    "for choices, such as the rank, and test strings for the scores.",
)
recipe = context.recipe
view.own_strings(recipe.data.source == "upload" and lessons.leaves_open("own_strings"))
data = context.data
widgets.notes(*data.notes)

st.subheader(widgets.escape_markdown(f"{data.title[:1].upper()}{data.title[1:]}"), anchor=False)
view.readings(recipe.data, data)
train = data.train
cells = {
    "training strings": f"{train.num_strings:,}",
    "distinct": f"{len(train.words):,}",
    "symbols": f"{train.num_symbols:,}",
    "mean length": f"{train.mean_length:.2f}",
    "test strings": f"{data.test.sample.num_strings:,}",
    "seen in training": format_share(data.share_seen()),
}
with st.container(horizontal=True):
    for label, value in cells.items():
        st.metric(label, value, border=True, width="content")
st.caption(split_sentence(recipe.data, data))

left, right = st.columns(2)
lengths = length_counts(train)
left.markdown("**Length** (without the end of the string)")
usual = usual_length(lengths)
left.plotly_chart(
    lengths_figure(lengths, usual), key="data.lengths", alt="Histogram of string lengths"
)
if longer := int(lengths[usual + 1 :].sum()):
    left.caption(
        f"{longer:,} of {train.num_strings:,} strings are longer, with up to "
        f"{len(lengths) - 1:,} symbols."
    )
right.markdown("**Symbols**")
symbols = bars_figure(train.alphabet.symbols, symbol_counts(train), "symbol", "occurrences")
right.plotly_chart(
    symbols, key="data.symbols", alt="Occurrences of each symbol in the training strings"
)
st.markdown("**Most frequent training strings**")
with st.container(key="data.strings.table"):
    alt = "The most frequent training strings with their counts"
    widgets.draw_table(most_frequent(train, MAX_ROWS), "data.strings", alt)
if recipe.hankel.bounded:
    word = most_frequent_word(train)
    string = widgets.written_string(train.alphabet.decode(word))
    marked = widgets.written_string(
        counted_string(word, train.alphabet, recipe.hankel.statistic, recipe.hankel.bounded)
    )
    st.markdown(f"{formulas.marks(recipe.hankel)} {string} becomes {marked}.")
