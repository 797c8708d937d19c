"""Draw the Predict page: a string's weight under all models while it is typed, the calculation by
hand, and drawn strings.
"""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from nlwfa_core import Recipe, RecipeError
from nlwfa_core.display import result_tables
from nlwfa_core.display.figures.bars import next_symbol_figure
from nlwfa_core.display.formulas.by_hand import ROUNDING_NOTE, by_hand
from nlwfa_core.display.projection import next_probabilities
from nlwfa_core.display.result_tables import (
    drawn_csv,
    drawn_table,
    drawn_warnings,
    reading_sentences,
)
from nlwfa_core.display.string_labels import most_frequent_word, prefixes_of, word_labels
from nlwfa_core.experiment.datasets import Data
from nlwfa_core.models import sampling
from nlwfa_core.models.mixture import BY_STRING, BY_SYMBOL, Mixture
from nlwfa_core.models.model import Model
from nlwfa_core.models.nlwfa import NLWFA
from nlwfa_core.models.recurrent import RecurrentModel
from nlwfa_core.models.wfa import WFA
from nlwfa_core.strings.words import Word
from pages.shared import pins, screen, widgets
from pages.shared.context import Context
from pages.shared.widgets import escape_markdown, typed_text

HELP = (
    "Symbols without spaces, or with spaces between them if one is longer than a character. λ, or "
    "nothing, is the empty string."
)
# LEVEL is also in the address
MIX = "predict.mix"
LEVEL = "predict.level"
DRAWN = "predict.drawn"
MIXED = "predict.mixed"
NOT_MIXED = ("uniform", "true model")
LEVELS = {"strings": BY_STRING, "next symbols": BY_SYMBOL}
WEIGHTS = "The weights are those under which the validation strings are likeliest."
EQUAL_WEIGHTS = "The weights are equal, because there are no validation strings to choose them by."
SHARES = {
    BY_STRING: "A model's share after the prefix is its weight times the probability that it gives "
    "to the prefix, divided by the sum of these products over all models. So a model that "
    "predicted the prefix well has a lot of influence.",
    BY_SYMBOL: "A model has the same share after every prefix.",
}
CODE_HEIGHT = 420
MAX_PROPOSED = 100  # symbols of the longest string that the text field suggests at first


def shown_models(context: Context) -> dict[str, Model]:
    """Collect the models of the page, name -> model: the pinned runs, the sidebar's trained
    learners, and the reference models.
    """
    pinned = pins.comparable(pins.pinned(), context.data)
    models: dict[str, Model] = {
        f"{name}: {run.title}": entry.model
        for name, run in pinned.items()
        if (entry := Context(run).result) is not None
    }
    for learner, entry in context.results.items():
        if context.with_learner(learner).recipe not in pinned.values():
            models[learner] = entry.model
    return models | context.references


@st.fragment
def one_string(recipe: Recipe, data: Data, models: Mapping[str, Model]) -> None:
    """Draw the text field and everything about its string.

    At each pause in typing, only this part of the page is redrawn.
    """
    proposed = most_frequent_word(data.train)[:MAX_PROPOSED]
    try:
        default = data.alphabet.decode(proposed)
        linked = screen.unread("string")
        linked = default if linked == "" else linked
        text = typed_text(
            "String", default, "predict.string", HELP, " ".join(data.alphabet.symbols), linked
        )
        screen.write("string", "" if text == default else text or "λ")
        word = data.alphabet.encode(text)
    except RecipeError as error:
        st.error(escape_markdown(str(error)), icon=":material/error:")
        return
    # containers: what stands below them keeps its place, whatever is in them
    with st.container():
        note = data.alphabet.unknown_note(text)
        if note:
            st.caption(escape_markdown(note))
    widgets.draw_table(
        result_tables.weight_table(models, word),
        "predict.weights",
        "The string's weight under each model",
    )
    with st.container():
        widgets.warnings(*result_tables.weight_warnings(models, word, data))
    with st.container():
        _what_comes_next(data, models, word)
    with st.container():
        _mixture(data, models, word)
    automata = {
        name: model
        for name, model in models.items()
        if isinstance(model, WFA | NLWFA | RecurrentModel)
    }
    if automata:
        _states_and_calculation(recipe, data, automata, word)


def _what_comes_next(data: Data, models: Mapping[str, Model], word: Word) -> None:
    st.subheader("What comes next", anchor=False)
    prefixes = prefixes_of(word)
    labels = word_labels(prefixes, data.alphabet)
    length = (
        st.select_slider(
            "After the prefix", range(len(labels)), len(labels) - 1, format_func=labels.__getitem__
        )
        if word
        else 0
    )
    shares = {name: next_probabilities(model, prefixes)[length] for name, model in models.items()}
    figure = next_symbol_figure([*data.alphabet.symbols, "end"], shares)
    st.plotly_chart(
        figure, key="predict.next", alt="Probability of each next symbol under each model"
    )
    widgets.warnings(*result_tables.score_warnings(models, word[:length]))
    st.caption(
        "The chart shows |scores|, divided by their sum over all symbols and the end. A weighted "
        "automaton's score for a symbol is the sum of the weights of all strings that begin with "
        "the prefix and this symbol."
    )
    readings = reading_sentences(models)
    if readings:
        st.caption(" ".join(readings))


def _mixture(data: Data, models: Mapping[str, Model], word: Word) -> None:
    """Draw what each model in a mixture of the learned models and the n-gram predicts next, and
    with what weight.
    """
    parts = {name: model for name, model in models.items() if name not in NOT_MIXED}
    if len(parts) < 2:
        return
    if LEVEL in st.query_params:  # a link has set it
        st.session_state.setdefault(MIX, True)
    box = widgets.opened("What each model in a mixture predicts next", MIX, "merge")
    if box:
        with box:
            _shares_in(parts, data, word)


def _shares_in(parts: Mapping[str, Model], data: Data, word: Word) -> None:
    averaged = st.segmented_control(
        "Average of the probabilities of",
        list(LEVELS),
        default=next(iter(LEVELS)),
        required=True,
        key=LEVEL,
        bind="query-params",
        help="A mixture averages the models' probabilities: of strings as a whole, or of next "
        "symbols, one by one.",
    )
    level = LEVELS[averaged]
    try:
        mixture = _mixed(parts, data, level)
    except RecipeError as error:
        st.info(escape_markdown(str(error)), icon=":material/info:")
        return
    table = result_tables.influence_table(list(parts), mixture, word, data.alphabet)
    widgets.draw_table(
        table, "predict.mixture", "What each model predicts next, and its share in the mixture"
    )
    prefix = escape_markdown(data.alphabet.decode(word) or "λ")
    st.caption(f"After {prefix}. {WEIGHTS if data.validation else EQUAL_WEIGHTS} {SHARES[level]}")


def _mixed(models: Mapping[str, Model], data: Data, level: str) -> Mixture:
    """Mix models.

    The session keeps the last mixture, so its weights are not found again for each string.
    """
    request = (level, tuple((name, id(model)) for name, model in models.items()))
    last = st.session_state.get(MIXED)
    if last is None or last[0] != request:
        last = st.session_state[MIXED] = (request, result_tables.mixed(models, data, level))
    mixture: Mixture = last[1]
    return mixture


def _states_and_calculation(
    recipe: Recipe, data: Data, models: Mapping[str, WFA | NLWFA | RecurrentModel], word: Word
) -> None:
    st.subheader("The states, symbol by symbol", anchor=False)
    default = recipe.learning.learner if recipe.learning.learner in models else next(iter(models))
    name = st.segmented_control(
        "Model", list(models), default=default, required=True, key="predict.learner"
    )
    model = models[name]
    widgets.draw_table(
        result_tables.trajectory_table(model, word, data.alphabet),
        "predict.states",
        "State and weight after each prefix",
    )
    by_hand_shown = st.toggle(
        "By hand",
        key="predict.by_hand",
        bind="query-params",
        help="The whole calculation with every matrix and every product, to check with a pocket "
        "calculator.",
    )
    if not by_hand_shown:
        return
    digits = st.slider(
        "Significant digits", 2, 12, 4, key="predict.digits", persist_state="session"
    )
    try:
        calculation = by_hand(model, word, data.alphabet)
    except RecipeError as error:
        st.info(escape_markdown(str(error)), icon=":material/info:")
        return
    titles = ("Parameters", "Step by step (states are row vectors)", "The weight")
    for title, formula in zip(titles, calculation.latex(digits), strict=True):
        st.markdown(f"**{title}**")
        st.latex(formula)
    notes = " ".join([*([ROUNDING_NOTE] if calculation.has_rounding else []), *calculation.notes])
    rounding = (
        f"All numbers are computed in full precision and written with {digits} significant digits"
    )
    st.caption(
        f"{escape_markdown(notes)} {rounding}, so calculating with the written numbers may give "
        "different last digits."
    )
    st.markdown("**The same as text, with all rows and columns**")
    st.code(calculation.text(digits), language=None, height=CODE_HEIGHT)


@st.fragment
def sampler(data: Data, models: Mapping[str, Model]) -> None:
    """Draw strings from one model, with warnings if its scores are not probabilities."""
    box = widgets.opened("Draw strings from a model", "predict.draw", "casino")
    if box:
        with box:
            _draw_controls(data, models)


def _draw_controls(data: Data, models: Mapping[str, Model]) -> None:
    st.markdown(
        "Strings are drawn symbol by symbol, from the model's distribution over next symbols, "
        "until it ends the string."
    )
    first, second, third, fourth = st.columns([3, 2, 2, 2])
    name = first.selectbox("Model", list(models), key="predict.sampler")
    number = second.number_input(
        "Strings", 1, sampling.MAX_DRAWN, 200, key="predict.drawn_strings", persist_state="session"
    )
    longest = third.number_input(
        "Maximum length",
        1,
        sampling.MAX_DRAWN_LENGTH,
        100,
        key="predict.longest",
        persist_state="session",
    )
    seed = fourth.number_input("Seed", 0, 2**31 - 1, 0, key="predict.seed", persist_state="session")
    draws = _drawn(models[name], number, seed, longest)
    widgets.warnings(*drawn_warnings(draws, longest))
    table = drawn_table(draws, data.alphabet)
    widgets.draw_table(table, "predict.sample", "The drawn strings, with counts and weights")
    st.caption(
        f"{int(draws.counts.sum()):,} strings, {len(draws.words):,} of them distinct. "
        "Expected: the number of strings × the "
        "probability of drawing this one, which is the product of its normalised |scores|. "
        "f(x) is the model's weight; it equals "
        "that probability if the model's scores are probabilities."
    )
    csv = drawn_csv(draws, data.alphabet)
    st.download_button(
        "Strings as CSV",
        csv,
        "drawn.csv",
        "text/csv",
        key="predict.sample_csv",
        icon=":material/download:",
    )


def _drawn(model: Model, number: int, seed: int, longest: int) -> sampling.Drawn:
    """Draw strings from a model.

    The session keeps the last draw, so other reruns don't draw again.
    """
    request = (id(model), number, seed, longest)
    last = st.session_state.get(DRAWN)
    if last is None or last[0] != request:
        with st.spinner("Drawing strings; this takes longer if the model rarely ends them…"):
            last = st.session_state[DRAWN] = (
                request,
                model,
                sampling.draw(model, number, seed, longest),
            )
    draws: sampling.Drawn = last[2]
    return draws
