"""Predict: one string under every model that has been trained, and what comes next."""

import streamlit as st

from nlwfa_core import tables, views
from nlwfa_core.figures.bars import next_symbol_figure
from pages.shared import blocks, runs

recipe = blocks.page_recipe(
    "Predict",
    "$f(x) = \\alpha_0^\\top \\mathbf{A}_{x_1} \\cdots \\mathbf{A}_{x_n} \\alpha_\\infty$, or "
    "$G_\\lambda(G_{x_n}(\\cdots G_{x_1}(\\alpha_0)))$: the weight of a string, and after each of its prefixes what should "
    "come next.",
)
with blocks.errors_shown():
    data = runs.data(recipe.data)
    references = runs.reference_models(recipe.data)
found = runs.results_of_learners(recipe)
if recipe.learning.learner not in found:
    blocks.train_controls([recipe], f"Train {recipe.learning.learner}", "predict")
models = {name: entry.model for name, entry in found.items()} | references

text = st.text_input(
    "String",
    data.alphabet.decode(views.most_frequent_word(data.train)),
    key="predict.string",
    persist_state="session",
    help="Symbols side by side; with spaces between, where a symbol is longer than one character. λ is the empty string.",
)
with blocks.errors_shown():
    word = data.alphabet.encode(text)
st.dataframe(tables.weight_table(models, word), hide_index=True, key="predict.weights", alt="The string's weight under each model")
blocks.warnings(*tables.weight_warnings(models, word, data))

st.subheader("What comes next", anchor=False)
prefixes = views.path(word)
labels = views.labels(prefixes, data.alphabet)
place = st.select_slider("After the prefix", range(len(labels)), len(labels) - 1, format_func=labels.__getitem__) if word else 0
shares = {name: views.next_probabilities(model, prefixes)[place] for name, model in models.items()}
figure = next_symbol_figure([*data.alphabet.symbols, "end"], shares)
st.plotly_chart(figure, key="predict.next", alt="Probability of each next symbol under each model")
st.caption("|scores| normalised over all symbols and the end. A weighted automaton's scores come from its prefix conversion.")
if readings := views.reading_sentences(models):
    st.caption(" ".join(readings))

if found:
    st.subheader("The states, symbol by symbol", anchor=False)
    name = st.segmented_control("Model", list(found), default=runs.chosen(recipe, found), required=True, key="predict.learner")
    table = tables.trajectory_table(found[name].model, word, data.alphabet)
    st.dataframe(table, hide_index=True, key="predict.states", alt="State and weight after each prefix")
