"""Draw the States page: a string's path from state to state, all prefixes' states, two models'
states together, a WFA as a graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import combinations
from typing import Any

import pandas as pd
import streamlit as st

from nlwfa_core import Recipe, RecipeError
from nlwfa_core.display import result_tables, walk
from nlwfa_core.display.figures.state_points import Trajectory, overlay_figure, states_figure
from nlwfa_core.display.graph import (
    MAX_LABELS,
    MAX_STATES,
    dot,
    edges,
    largest_weight,
    readable_share,
    weights_table,
)
from nlwfa_core.display.projection import COLOURINGS, align, colouring, prefix_states, project
from nlwfa_core.display.string_labels import prefixes_of, word_labels, word_to_follow
from nlwfa_core.experiment.datasets import Data
from nlwfa_core.models.geometry import directions
from nlwfa_core.models.model_files import LearnedModel
from nlwfa_core.models.wfa import WFA
from nlwfa_core.rounding import format_share, format_significant
from nlwfa_core.strings.words import Word, Words
from pages.shared import components, last_result, open_lesson, pins, screen, widgets
from pages.shared.context import Context, computed
from pages.shared.widgets import escape_markdown

# The number of symbols on the longest path that is drawn; of a longer string, only the first
# symbols are followed.
MAX_FOLLOWED = 100
MAX_REMEMBERED = 5_000  # prefixes of a picture whose messages are cached: 0.7 MB
WALK = "states.walk"
TYPED = "states.walk.text"
ANSWERED = "states.walk.answered"
LINEAR = "SP, any rank"
TRUE = "true model"
GROUPS = (2, 12)


@st.fragment
def walk_through(recipe: Recipe) -> None:
    """Draw how a string moves from state to state in one of the models.

    A new string redraws only this part of the page.
    """
    if st.session_state.pop(ANSWERED, False):
        st.rerun()  # the answer is outside of this part of the page
    context = Context(recipe)
    try:
        data = context.data
        graphs, first, key = _graphs(context)
    # about a model that has nothing to draw: the rest of the page has its own messages
    except RecipeError as error:
        st.caption(escape_markdown(str(error)))
        return
    if not graphs:
        return
    ladder = walk.ladder_words(data)
    views = computed(_drawings, key, graphs, ladder)
    scope = " ".join(data.alphabet.symbols)[: widgets.MAX_TYPED]
    text, word, error = _typed(data, scope)
    name = "states-walk"
    drawing = {
        "name": name,
        "scope": scope,
        "views": views,
        "first": first,
        "text": text,
        "error": error,
        **computed(walk.stage_payload, context.data_key, data),
    }
    drawing["id"] = _identity(context, graphs)
    walks = computed(_walks, key, graphs, word=word)
    drawing["isAsked"] = open_lesson.asks_for_state()
    steps = walk.word_payload(data, word) | {"views": walks}
    components.walk(WALK, drawing, steps, on_tapped=_tapped)
    if graphs[0].groups is None:
        st.caption(
            "Each circle is one of the model's k states; an arrow's number multiplies the state's "
            "entry. Arrows whose numbers are only rounding errors are not drawn. A learned "
            "automaton is unique only up to a change of basis: another basis gives the same "
            "weights of strings, but a different graph."
        )
    else:
        st.caption(
            "A nonlinear model's states are points in a continuous space. Here the states of the "
            "most frequent prefixes (dots) are divided into groups by k-means; λ, the empty "
            "prefix, stands alone. An arrow shows where one more symbol takes a group's "
            "prefixes. The number on an arrow is the share of the group's prefixes that follow "
            f"it; a share of 1 is not written. Shares below {walk.SMALLEST_SHARE:.0%} are not "
            "drawn."
        )


def _tapped() -> None:
    column = st.session_state[WALK].get("tapped")
    if isinstance(column, str):
        st.session_state[ANSWERED] = open_lesson.answer_by_state(column)


def _drawings(graphs: list[walk.Graph], ladder: Words) -> list[dict[str, Any]]:
    return [walk.drawing_payload(graph, ladder) for graph in graphs]


def _walks(graphs: list[walk.Graph], word: Word) -> list[dict[str, Any]]:
    return [walk.walk_payload(graph, word) for graph in graphs]


def _graphs(context: Context) -> tuple[list[walk.Graph], int, str]:
    """Return the drawings of the chosen model (for the linear model, one for each rank), the index
    of the first one to show, and a key of them all.
    """
    recipe = context.recipe
    data = context.data
    results = context.results
    linear = computed(walk.spectral_graphs, context.hankel_key, context.hankel, data.alphabet)
    trained = [
        name
        for name, result in results.items()
        if not (name == "SP" and linear) and result.model is not None
    ]
    true = (
        data.true_model
        if isinstance(data.true_model, WFA) and data.true_model.num_states <= MAX_STATES
        else None
    )
    names = [*([LINEAR] if linear else []), *trained, *([TRUE] if true is not None else [])]
    if not names:
        return [], 0, ""
    learner = recipe.learning.learner
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    name = left.segmented_control(
        "Walk through",
        names,
        default=learner if learner in trained else names[0],
        required=True,
        key=f"states.walk_model.{learner}",
    )
    if name == LINEAR:
        return linear, min(recipe.learning.rank, len(linear)) - 1, context.hankel_key
    if name == TRUE and true is not None:
        return [walk.automaton_graph(true, data.alphabet, "true model")], 0, context.data_key
    run = context.with_learner(name)
    number = right.slider(
        "Groups of states",
        *GROUPS,
        min(max(run.recipe.learning.rank, 3), GROUPS[1]),
        key="states.walk_groups",
        persist_state="session",
    )
    prefixes = context.prefixes(min(context.matrix_recipe.num_prefixes, walk.MAX_PREFIXES))
    graph = computed(
        walk.grouped_graph,
        f"{run.run_key} {len(prefixes)}",
        results[name].model,
        prefixes,
        data,
        number=number,
        title=run.recipe.title,
    )
    return [graph], 0, f"{run.run_key} {len(prefixes)} {number}"


def _typed(data: Data, scope: str) -> tuple[str, Word, str]:
    """Return the text that was typed last, the word to draw, and the reason if the text can't be
    read.
    """
    saved: dict[str, Any] = st.session_state.setdefault(TYPED, {})
    typed = st.session_state.get(WALK, {}).get("typed")
    if (
        isinstance(typed, dict)
        and typed.get("scope") == scope
        and isinstance(typed.get("text"), str)
    ):
        saved[scope] = typed["text"][: widgets.MAX_TYPED]
    text = saved.get(scope)
    if text is None:
        word = walk.first_word(data)
        return data.alphabet.decode(word), word, ""
    valid = f"{scope} word"
    try:
        word = data.alphabet.encode(text)
        saved[valid] = word[: walk.MAX_SYMBOLS]
    except RecipeError as error:
        return text, saved.get(valid, walk.first_word(data)), str(error)
    cut = (
        f"Only the first {walk.MAX_SYMBOLS} of {len(word):,} symbols are read."
        if len(word) > walk.MAX_SYMBOLS
        else ""
    )
    return text, saved[valid], " ".join(filter(None, [data.alphabet.unknown_note(text), cut]))


def _identity(context: Context, graphs: list[walk.Graph]) -> str:
    drawn = "".join(f"{graph.view['title']}{len(graph.view['nodes'])}" for graph in graphs)
    return sha256(f"{context.hankel_key}{context.recipe.learning}{drawn}".encode()).hexdigest()[:24]


@dataclass(frozen=True)
class Picture:
    """The view of the states.

    Attributes
    ----------
    learner : str
        The learner whose model has the states.
    colour : str
        One of COLOURINGS.
    axes : int
        2 or 3.
    unit : bool
        Whether each state is scaled to norm 1.
    text : str
        The string whose path is shown; empty for a frequent string.
    """

    learner: str
    colour: str
    axes: int
    unit: bool
    text: str


def shown(context: Context) -> Context | None:
    """Return the context of the results that the page draws: its own recipe's or, until there is
    one of these, that of the last result that the session saw; None if there are no results.
    """
    return context if context.results else last_result.seen()


def picture_controls(context: Context, shown: Context) -> Picture:
    """Draw the choice of what is shown of the states. `shown`: the context whose states they are; a
    line says so if it is not the page's `context`.
    """
    with st.container():
        if shown is not context:
            last_result.note(shown.recipe, context.recipe)
    left, middle, right = st.columns([4, 6, 1.4])
    with left.container(key="states.learner"):
        learner = st.segmented_control(
            "Model",
            list(shown.results),
            default=shown.default_learner,
            required=True,
            key=f"states.learner.{shown.default_learner}",  # follows the sidebar
        )
    screen.follow("colour", "states.colour", {name: name for name in COLOURINGS}, "last symbol")
    screen.follow("axes", "states.axes", {"2": 2, "3": 3}, 2)
    screen.follow("directions", "states.unit", {"no": False, "yes": True}, True)
    screen.follow_text("follow", "states.string")
    colour = middle.segmented_control(
        "Colour",
        list(COLOURINGS),
        default="last symbol",
        required=True,
        key="states.colour",
        persist_state="session",
        wrap=True,
    )
    axes = right.segmented_control(
        "Axes", [2, 3], default=2, required=True, key="states.axes", persist_state="session"
    )
    unit = st.toggle(
        "Directions only: each state scaled to norm 1",
        value=True,
        key="states.unit",
        persist_state="session",
        help="States shrink as their prefixes get rarer. In a linear model, the direction alone "
        "determines what comes next.",
    )
    text = st.text_input(
        "Follow one string",
        key="states.string",
        persist_state="session",
        placeholder="the most frequent string of at least three symbols",
    )
    return Picture(learner, colour, axes, unit, text)


def _prefixes(context: Context) -> Words:
    return context.prefixes(context.matrix_recipe.num_prefixes)


def states(context: Context, picture: Picture) -> None:
    """Draw the states after all prefixes, and the path of one string through them."""
    data = context.data
    prefixes = _prefixes(context)
    widgets.check_typed("Follow one string", picture.text)
    whole = data.alphabet.encode(picture.text) if picture.text else word_to_follow(data.train)
    draw = _draw_states if len(prefixes) <= MAX_REMEMBERED else _draw_states.__wrapped__
    run = context.with_learner(picture.learner)
    # the key of a run says nothing about H if its learner does not use it
    key = f"{run.run_key} {len(prefixes)}"
    draw(key, whole, picture, context.results[picture.learner].model, data, prefixes)


@st.cache_data(max_entries=32, show_spinner=False)
def _draw_states(
    key: str,
    whole: Word,
    picture: Picture,
    _model: LearnedModel,
    _data: Data,
    _prefixes: Words,
) -> None:
    """Draw what depends on these arguments alone.

    Streamlit sends a cached function's messages again, and computes nothing.
    """
    model = _model
    data = _data
    prefixes = _prefixes
    axes = picture.axes
    word = whole[:MAX_FOLLOWED]
    vectors = prefix_states(model, prefixes)
    projection = project(vectors, 3, picture.unit)
    colours = colouring(picture.colour, prefixes, data.alphabet, model, data.train)
    steps = prefixes_of(word)
    path = projection.coordinates(prefix_states(model, steps))
    points = projection.coordinates(vectors)
    title = COLOURINGS[picture.colour]
    cut = f", the first {len(word)} of {len(whole):,} symbols" if word != whole else ""
    num_zero = int((~vectors.any(axis=1)).sum())
    labels = word_labels(prefixes, data.alphabet)
    trajectory = Trajectory(path, word_labels(steps, data.alphabet))
    figure = states_figure(
        points, projection, labels, colours, title, trajectory, three=axes == 3, num_zero=num_zero
    )
    alt = (
        "Principal components of all prefixes' states, with the path of one string; the table "
        "below has the numbers"
    )
    st.plotly_chart(figure, key="states.pca", alt=alt)
    st.caption(
        f"The {len(prefixes):,} most frequent prefixes under "
        f"{escape_markdown(picture.learner)}, k = {model.num_states}; "
        f"the line follows {widgets.written_string(data.alphabet.decode(word))}{cut}. "
        f"The axes shown explain {format_share(projection.explained_by(axes))} of the variance."
    )
    if num_zero:
        st.caption(
            f"× marks the zero vector. {num_zero:,} of the prefixes lead to it: the model "
            "gives weight 0 to all strings that "
            "begin with one of them."
        )
    with st.expander("The numbers", icon=":material/table:"):
        table = result_tables.points_table(
            prefixes, data.alphabet, points[:, :axes], colours, title
        )
        points_frame = widgets.written_frame(pd.DataFrame(table))
        st.dataframe(
            points_frame,
            hide_index=True,
            key="states.points",
            alt="Coordinates of each prefix's state",
        )
        way = result_tables.trajectory_table(model, word, data.alphabet)
        widgets.draw_table(way, "states.way", "The string's states, all components", remember=False)


def overlay(context: Context, picture: Picture) -> None:
    """Draw the states of two runs (pinned or the sidebar's) in one figure, the second's rotated and
    scaled onto the first's; if there is only one run, draw a line on how to get another.
    """
    recipes = pins.shown_runs(context.recipe)
    if len(recipes) < 2:
        st.caption(
            "To lay one model's states over another's, pin a run as A in the sidebar, then change "
            "the recipe or pin another as B."
        )
        return
    st.subheader("One model over another", anchor=False)
    results = {
        name: result
        for name, run in pins.comparable(recipes, context.data).items()
        if (result := Context(run).result)
    }
    pairs = {
        f"{second} over {first}": (first, second) for first, second in combinations(results, 2)
    }
    if not pairs:
        return
    pair = st.segmented_control(
        "Overlay", list(pairs), default=next(iter(pairs)), required=True, key="states.pair"
    )
    first, second = pairs[pair]
    prefixes = _prefixes(context)
    sets = [prefix_states(results[name].model, prefixes) for name in (first, second)]
    sets = [directions(states) if picture.unit else states for states in sets]
    aligned = align(*sets)
    projection = project(aligned.target)
    titles = tuple(f"{name}: {recipes[name].title}" for name in (first, second))
    figure = overlay_figure(
        projection.coordinates(aligned.target),
        projection.coordinates(aligned.moved),
        projection,
        word_labels(prefixes, context.data.alphabet),
        (titles[0], titles[1]),
        three=picture.axes == 3,
    )
    st.plotly_chart(
        figure,
        key="states.overlay",
        alt=f"States of {first} and {second} in one frame, with lines between the same prefixes",
    )
    st.markdown(
        f"**The states of {second} leave {format_share(aligned.residual)} of the variance in the "
        f"states of {first} unexplained**, after they "
        "have been shifted, rotated and scaled as a whole for the best fit (orthogonal "
        "Procrustes, over all components). 0 %: the "
        "same states in another basis; 100 %: nothing in common."
    )


def automaton(context: Context) -> None:
    """Draw a WFA, which may be the true model, as a weighted graph in a list that opens; draw
    nothing if no model is a WFA.

    The walk draws every arrow, of up to 10 states. This graph has up to 15, because it leaves out
    weak arrows.
    """
    trained = {name: result.model for name, result in context.results.items()}
    models = {
        name: model
        for name, model in (trained | context.references).items()
        if isinstance(model, WFA)
    }
    if not models:
        return
    box = widgets.opened("A linear automaton as a graph", "states.as_graph", "account_tree")
    if box:
        with box:
            _graph(context, models)


def _graph(context: Context, models: Mapping[str, WFA]) -> None:
    alphabet = context.data.alphabet
    learner = context.default_learner
    name = st.segmented_control(
        "Graph of",
        list(models),
        default=learner if learner in models else next(iter(models)),
        required=True,
        key=f"states.graph_of.{learner}",  # follows the sidebar
    )
    model = models[name]
    if model.num_states > MAX_STATES:
        st.info(
            f"{escape_markdown(name)} has {model.num_states} states, and a graph shows at "
            f"most {MAX_STATES}. Choose a "
            "smaller rank.",
            icon=":material/info:",
        )
        return
    largest = largest_weight(model)
    percent = st.slider(
        "Smallest |weight| shown, in % of the largest",
        0,
        100,
        round(100 * readable_share(model)),
        key=f"states.smallest.{name}",
    )
    smallest = percent / 100 * largest
    num_visible = sum(len(edge.weights) for edge in edges(model, smallest))
    labelled = len(edges(model, smallest)) <= MAX_LABELS
    with st.container(key="states.graph"):
        st.graphviz_chart(
            dot(model, alphabet.symbols, smallest, widgets.dark(), labelled),
            alt="States and the transitions between them, with their weights; the table below "
            "has the numbers",
        )
    hidden = (
        ""
        if labelled
        else "; these are too many for labels, so their weights are in the table below"
    )
    rule = (
        f"those with |weight| ≥ {format_significant(smallest)}" if smallest else "the others are 0"
    )
    st.caption(
        f"{num_visible} of {model.transitions.size} transitions, {rule}{hidden}. Orange: below 0. "
        "In another basis, the weights of strings are the same, but the graph is different."
    )
    table = weights_table(model, alphabet, smallest)
    widgets.draw_table(table, "states.weights", "Weights of the graph")
    widgets.table_downloads(
        dict.fromkeys(("csv", "latex", "markdown"), table), "weights", "states.weights.files"
    )
