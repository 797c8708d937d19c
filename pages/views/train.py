"""Draw the Train page: the steps of spectral learning, one at a time, each with its formula and
numbers; a finished run's training and scores.
"""

from __future__ import annotations

import streamlit as st

from nlwfa_core import Recipe, RecipeError
from nlwfa_core.display import result_tables
from nlwfa_core.display.formulas import recipe_formulas
from nlwfa_core.display.formulas import spectral_steps as stepping
from nlwfa_core.display.formulas.spectral_steps import Step
from nlwfa_core.display.pairs import COVERS, interval_sentence
from nlwfa_core.display.string_labels import short_word
from nlwfa_core.experiment.datasets import Data
from nlwfa_core.learning.fitting import FitReport
from nlwfa_core.learning.learners import HANKEL_LEARNERS
from nlwfa_core.learning.names import LBFGS_DEPENDENT
from nlwfa_core.learning.shared_options import Networks
from nlwfa_core.metrics.tables import format_score
from nlwfa_core.strings.words import Word
from pages.shared import last_result, score_tables, training, widgets
from pages.shared.context import Context, computed
from pages.shared.widgets import check_typed, escape_markdown

STEP = "train.step"
SYMBOL = "train.symbol"
STRING = "train.string"
# symbols of the longest string that the text field suggests at first: the product for it has to fit
# on the screen
MAX_PROPOSED = 4


def heading(recipe: Recipe) -> None:
    """Draw which learner is trained with how many states, and what is wrong with that number."""
    learning = recipe.learning
    with st.container():
        st.markdown(f"**{learning.learner}, k = {learning.rank}**: {learning.in_words}")
        widgets.notes(*recipe_formulas.rank_notes(recipe))


def verdict(context: Context) -> None:
    """Draw whether the model is better than an n-gram, at the next symbol and in whole strings."""
    sentences = {
        "The next symbol": context.lead_over_ngram(context.recipe.data.error_rate),
        "Whole strings": context.lead_over_ngram("log2_pauto"),
    }
    lines = [
        f"- **{title}**: {escape_markdown(sentence)}"
        for title, sentence in sentences.items()
        if sentence
    ]
    st.markdown("\n".join(lines))


def formulas(recipe: Recipe, opened: bool) -> None:
    """Draw what the learner minimises in an expander; draw nothing if the steps of SP show all of
    it.
    """
    has_networks = recipe.learning.networks
    steps = list((recipe_formulas.steps if has_networks else recipe_formulas.third_step)(recipe))
    if not steps:
        return
    with st.expander("The method in formulas", expanded=opened, icon=":material/function:"):
        for title, formula in steps:
            st.markdown(title)
            st.latex(formula)


def spectral_steps(context: Context) -> None:
    """Draw the current step of SP, with buttons to move to the others; nothing for networks.

    The address contains the current step. Raises RecipeError if the strings can't be read.
    """
    recipe = context.recipe
    data = context.data
    if recipe.learning.networks:
        return
    try:
        spectral = computed(
            stepping.spectral, context.hankel_key, context.hankel, rank=recipe.learning.rank
        )
    except RecipeError as error:
        st.info(escape_markdown(str(error)), icon=":material/info:")
        return
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
        symbol = _symbol(name, data.alphabet.symbols)
        word = _word(name, data)
        steps = stepping.steps(
            spectral, context.matrix_recipe, context.hankel_alphabet, data.train, symbol, word
        )
        step = list(steps)[number]
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


def _word(name: str, data: Data) -> Word:
    """Draw the text field of the string whose weight is computed. Returns the string."""
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


def shown(context: Context) -> Context | None:
    """Return the context of the result that the page draws: the recipe's own or, until it has one,
    the one that the session saw last; None while a network is trained, because its own curves are
    shown there.
    """
    recipe = context.recipe
    if context.result is not None:
        return context
    is_live = recipe.learning.networks and training.is_going(recipe)
    return None if is_live else last_result.seen()


def origin(context: Context, shown: Context | None) -> None:
    """If the last result is shown, draw a line that says whose it is; otherwise, draw a button that
    trains the same network with another seed.
    """
    with st.container():
        if shown is context:
            training.another_seed(context.recipe)
        elif shown is not None:
            last_result.note(shown.recipe, context.recipe)


def course(shown: Context | None) -> None:
    """Draw how the training of a finished run went, and whether its model is sound."""
    with st.container():
        if shown is None or shown.result is None:
            return
        result = shown.result
        learning = shown.recipe.learning
        name = learning.learner
        with st.container():  # so the charts keep their places whatever is above them
            _messages(name, result.report)
        if result.report.logs:
            training.result_charts(shown, result, "train")
            with st.container(key="train.training"):
                lines = ((log.state, log.summary) for log in result.report.logs)
                widgets.training_lines(name, lines)
            if isinstance(learning, Networks) and _uses_lbfgs(learning):
                st.caption(LBFGS_DEPENDENT)
        radius = result.report.spectral_radius  # of linear models
        if radius is not None and radius < 1:  # otherwise a warning above says that it diverges
            st.caption(
                "The sum of all weights converges (spectral radius of ΣA "
                f"{format_score(radius)} < 1)."
            )


def _messages(learner: str, report: FitReport) -> None:
    widgets.warnings(*(f"{learner}: {text}" for text in report.warnings))
    widgets.notes(*(f"{learner}: {text}" for text in report.notes))


def _uses_lbfgs(learning: Networks) -> bool:
    """Return whether L-BFGS trains a step: "lm" leaves the factorisation to it."""
    is_lm = learning.optimizer == "lm" and learning.nonlinear_factorisation
    return learning.optimizer == "lbfgs" or is_lm


def scores(context: Context) -> None:
    """Draw the scores of a finished run with those of the reference models."""
    result = context.result
    assert result is not None
    st.subheader("On the test strings", anchor=False)
    rows = {context.recipe.learning.learner: result.scores, **context.reference_scores}
    score_tables.score_table(rows, "train.scores")
    st.caption(result_tables.time_sentence(result.seconds))


def all_learners(context: Context) -> None:
    """Draw the button that trains the other learners, and the scores of all that are trained."""
    st.subheader("All four learners on the same split", anchor=False)
    runs = {learner: context.with_learner(learner) for learner in HANKEL_LEARNERS}
    training.train_controls([run.recipe for run in runs.values()], "train.others")
    results = {learner: run.result for learner, run in runs.items() if run.result is not None}
    if len(results) < 2:
        return
    with st.container():
        for learner, result in results.items():
            if learner != context.recipe.learning.learner:
                _messages(learner, result.report)
    rows = {learner: result.scores for learner, result in results.items()}
    stages = {learner: result.report.training for learner, result in results.items()}
    recipes = {learner: result.recipe for learner, result in results.items()}
    score_tables.score_table(rows, "train.all", stages, recipes, note=False)
    intervals = {learner: runs[learner].score_intervals for learner in results}
    st.caption(interval_sentence(intervals), help=COVERS)
