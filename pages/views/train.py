"""Draw the steps of spectral learning on the Train page, one at a time, each with its formula and
numbers.
"""

from __future__ import annotations

import streamlit as st

from nlwfa_core import Recipe, RecipeError
from nlwfa_core.hankel.matrix import hankel_alphabet
from nlwfa_core.lab.formulas import spectral as stepping
from nlwfa_core.lab.formulas.spectral import Step
from nlwfa_core.lab.strings import short_word
from nlwfa_core.strings.words import Word
from pages.shared import cache
from pages.shared.widgets import check_typed, escape_markdown

STEP, SYMBOL, STRING = "train.step", "train.symbol", "train.string"
# symbols of the longest string that the text field suggests at first: its product has to fit the
# screen
MAX_PROPOSED = 4


def spectral_steps(recipe: Recipe) -> None:
    """Draw the current step of SP, with buttons to move to the others.

    The address contains the current step.
    """
    try:
        spectral = cache.spectral(recipe.data, recipe.hankel, recipe.learning.rank)
        data = cache.data(recipe.data)
    except RecipeError as error:
        st.info(escape_markdown(str(error)), icon=":material/info:")
        return
    alphabet = hankel_alphabet(data.alphabet, recipe.hankel.statistic, recipe.hankel.bounded)
    names = stepping.step_names(spectral)
    if st.session_state.get(STEP, names[0]) not in names:
        st.session_state[STEP] = names[0]
    with st.container(border=True):
        name = st.segmented_control(
            "Step",
            names,
            default=names[0],
            required=True,
            key=STEP,
            bind="query-params",
            label_visibility="collapsed",
        )
        number = names.index(name)
        symbol, word = _symbol(name, data.alphabet.symbols), _word(name, recipe)
        step = list(stepping.steps(spectral, recipe.hankel, alphabet, data.train, symbol, word))[
            number
        ]
        with st.container(
            horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"
        ):
            st.markdown(f"**Step {number + 1} of {len(names)}** · {step.title}", width="content")
            with st.container(horizontal=True, width="content"):
                for label, further in (("Previous step", -1), ("Next step", 1)):
                    to = number + further
                    st.button(
                        label,
                        key=f"train.{'back' if further < 0 else 'next'}",
                        on_click=_go,
                        args=(names[to % len(names)],),
                        disabled=not 0 <= to < len(names),
                    )
        _board(step)


def _board(step: Step) -> None:
    st.latex(step.formula)
    with st.container(key="train-numbers"):
        for line in step.numbers:
            st.latex(line)
    st.markdown(f":material/visibility: {step.notice}")


def _go(name: str) -> None:
    st.session_state[STEP] = name


def _symbol(name: str, symbols: tuple[str, ...]) -> int:
    """Draw the choice of the symbol whose map is shown. Returns the symbol's number."""
    if name != "move":
        return 0
    options = range(len(symbols))
    return st.selectbox(
        "Symbol",
        options,
        format_func=symbols.__getitem__,
        key=SYMBOL,
        persist_state="session",
        width=200,
    )


def _word(name: str, recipe: Recipe) -> Word:
    """Draw the text field of the string whose weight is computed. Returns the string."""
    data = cache.data(recipe.data)
    proposed = short_word(data.train, MAX_PROPOSED)
    if name != "weight":
        return proposed
    text = st.text_input(
        "String",
        data.alphabet.decode(proposed),
        key=STRING,
        persist_state="session",
        width=320,
        help="λ is the empty string.",
    )
    try:
        check_typed("String", text)
        return data.alphabet.encode(text)
    except RecipeError as error:
        st.error(escape_markdown(str(error)), icon=":material/error:")
        return proposed
