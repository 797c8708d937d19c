"""Draw the States page: a string's way from state to state, all prefixes' states, two models'
states together, a WFA as a graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from itertools import combinations
from typing import Any

import pandas as pd
import streamlit as st

from nlwfa_core import Recipe, RecipeError
from nlwfa_core.experiment.data import Data
from nlwfa_core.experiment.results import Result
from nlwfa_core.lab import tables, walk
from nlwfa_core.lab.figures.states import add_trajectory, overlay_figure, states_figure
from nlwfa_core.lab.graph import (
    MAX_LABELS,
    MAX_STATES,
    dot,
    edges,
    largest_weight,
    readable_share,
    weights_table,
)
from nlwfa_core.lab.states import COLOURINGS, align, colouring, prefix_states, project
from nlwfa_core.lab.strings import prefixes_of, word_labels, word_to_follow
from nlwfa_core.models.files import LearnedModel
from nlwfa_core.models.geometry import directions
from nlwfa_core.models.model import Model
from nlwfa_core.models.nlwfa import NLWFA
from nlwfa_core.models.recurrent import RecurrentModel
from nlwfa_core.models.wfa import WFA
from nlwfa_core.rounding import format_share, format_significant
from nlwfa_core.strings.words import Word, Words
from pages.shared import cache, components, pins, widgets
from pages.shared.widgets import escape_markdown

# Symbols of the longest string whose path is shown: each adds a frame to the figure, which contains
# all frames before it.
MAX_FOLLOWED = 100
MAX_REMEMBERED = 5_000  # prefixes of a picture whose messages are cached: 0.7 MB
WALK, TYPED = "states.walk", "states.walk.text"
LINEAR, TRUE = "SP, any rank", "true model"
GROUPS = (2, 12)


@st.fragment
def walk_through(recipe: Recipe, data: Data, results: Mapping[str, Result]) -> None:
    """Draw how a string moves from state to state in one of the models.

    A new string redraws only this part of the page.
    """
    try:
        graphs, first, key = _graphs(recipe, data, results)
    # of a model that has nothing to draw: the rest of the page has its own messages
    except RecipeError as error:
        st.caption(escape_markdown(str(error)))
        return
    if not graphs:
        return
    ladder = walk.ladder_words(data)
    views = cache.drawings(key, ladder, graphs)
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
        **walk.stage_payload(data),
    }
    drawing["id"] = _identity(recipe, graphs)
    walks = walk.word_payload(data, word) | {"views": cache.walks(key, word, graphs)}
    components.walk(WALK, drawing, walks)
    if graphs[0].groups is None:
        st.caption(
            "Each circle is one of the model's k states; an arrow's number multiplies the "
            "state's entry. Arrows that are only "
            "rounding errors are not drawn. A learned automaton is unique only up to a "
            "change of basis: another basis gives the "
            "same weights of strings, but another graph."
        )
    else:
        st.caption(
            "A nonlinear model's states are points in a continuous space. Here the states of "
            "the most frequent prefixes (dots) are "
            "divided into groups by k-means, and an arrow shows where the prefixes of a "
            "group go with one more symbol, with their "
            "share if it is below 1."
        )


def _graphs(
    recipe: Recipe, data: Data, results: Mapping[str, Result]
) -> tuple[list[walk.Graph], int, str]:
    """Return the drawings of the chosen model (of the linear model, one for each rank), the first
    one's index, and a key of all.
    """
    linear = cache.spectral_graphs(recipe.data, recipe.hankel)
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
        return (
            linear,
            min(recipe.learning.rank, len(linear)) - 1,
            f"{recipe.data.key()} {recipe.hankel.key()}",
        )
    if name == TRUE and true is not None:
        return [walk.automaton_graph(true, data.alphabet, "true model")], 0, recipe.data.key()
    run = recipe.with_learner(name)
    number = right.slider(
        "Groups of states",
        *GROUPS,
        min(max(run.learning.rank, 3), GROUPS[1]),
        key="states.walk_groups",
        persist_state="session",
    )
    return [cache.grouped_graph(run, number)], 0, f"{run.key()} {number}"


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
        f"Only the first {walk.MAX_SYMBOLS} of {len(word):,} symbols walk."
        if len(word) > walk.MAX_SYMBOLS
        else ""
    )
    return text, saved[valid], cut


def _identity(recipe: Recipe, graphs: list[walk.Graph]) -> str:
    drawn = "".join(f"{graph.view['title']}{len(graph.view['nodes'])}" for graph in graphs)
    return sha256(
        f"{recipe.data.key()}{recipe.hankel.key()}{recipe.learning}{drawn}".encode()
    ).hexdigest()[:24]


def states(
    run: Recipe,
    model: LearnedModel,
    data: Data,
    prefixes: Words,
    text: str,
    colour: str,
    axes: int,
    unit: bool,
) -> None:
    """Draw the states after all prefixes, and the path of one string through them."""
    with widgets.errors_as_messages():
        widgets.check_typed("Follow one string", text)
        whole = data.alphabet.encode(text) if text else word_to_follow(data.train)
        draw = _draw_states if len(prefixes) <= MAX_REMEMBERED else _draw_states.__wrapped__
        draw(run, whole, colour, axes, unit, model, data, prefixes)


@st.cache_data(max_entries=32, show_spinner=False, hash_funcs=cache.KEYED)
def _draw_states(
    run: Recipe,
    whole: Word,
    colour: str,
    axes: int,
    unit: bool,
    _model: LearnedModel,
    _data: Data,
    _prefixes: Words,
) -> None:
    """Draw what depends on these arguments alone.

    Streamlit sends a cached function's messages again, and computes nothing.
    """
    model, data, prefixes, word = _model, _data, _prefixes, whole[:MAX_FOLLOWED]
    vectors = prefix_states(model, prefixes)
    projection = project(vectors, 3, unit)
    colours = colouring(colour, prefixes, data.alphabet, model, data.train)
    steps = prefixes_of(word)
    path = projection.coordinates(prefix_states(model, steps))
    points, title = projection.coordinates(vectors), COLOURINGS[colour]
    cut = f", the first {len(word)} of {len(whole):,} symbols" if word != whole else ""
    num_zero = int((~vectors.any(axis=1)).sum())
    labels = word_labels(prefixes, data.alphabet)
    figure = states_figure(
        points, projection, labels, colours, title, three=axes == 3, num_zero=num_zero
    )
    add_trajectory(figure, path, word_labels(steps, data.alphabet), three=axes == 3)
    alt = (
        "Principal components of all prefixes' states, with the path of one string; the table "
        "below has the numbers"
    )
    st.plotly_chart(figure, key="states.pca", alt=alt)
    st.caption(
        f"The {len(prefixes):,} most frequent prefixes under "
        f"{escape_markdown(run.learning.learner)}, k = {model.num_states}; "
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
        table = tables.points_table(prefixes, data.alphabet, points[:, :axes], colours, title)
        points_frame = widgets.written_frame(pd.DataFrame(table))
        st.dataframe(
            points_frame,
            hide_index=True,
            key="states.points",
            alt="Coordinates of each prefix's state",
        )
        way = tables.trajectory_table(model, word, data.alphabet)
        widgets.draw_table(way, "states.way", "The string's states, all components", remember=False)


def overlay(recipe: Recipe, data: Data, prefixes: Words, axes: int, unit: bool) -> None:
    """Draw the states of two runs (pinned or the sidebar's) in one figure, the second's rotated and
    scaled onto the first's.
    """
    recipes = pins.shown_runs(recipe)
    if len(recipes) < 2:
        st.caption(
            "Pin a run as A in the sidebar, then change the recipe or pin another as B: this "
            "part then shows one over the other."
        )
        return
    results = {
        name: result
        for name, run in pins.comparable(recipes, data).items()
        if (result := cache.result(run))
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
    with widgets.errors_as_messages():
        sets = [prefix_states(results[name].model, prefixes) for name in (first, second)]
        sets = [directions(states) if unit else states for states in sets]
        aligned = align(*sets)
        projection = project(aligned.target)
    titles = tuple(f"{name}: {recipes[name].title}" for name in (first, second))
    figure = overlay_figure(
        projection.coordinates(aligned.target),
        projection.coordinates(aligned.moved),
        projection,
        word_labels(prefixes, data.alphabet),
        (titles[0], titles[1]),
        three=axes == 3,
    )
    st.plotly_chart(
        figure,
        key="states.overlay",
        alt=f"States of {first} and {second} in one frame, the same prefixes joined",
    )
    st.markdown(
        f"**{second}'s states leave {format_share(aligned.residual)} of the variance of "
        f"{first}'s unexplained**, after "
        "they are moved, turned and scaled as a whole to the best fit (orthogonal "
        "Procrustes, over all components). 0 %: the "
        "same states in another basis; 100 %: nothing in common."
    )


def automaton(models: Mapping[str, Model], default_model: str, data: Data) -> None:
    """Draw a WFA, which may be the true model, as a weighted graph; for other models, draw a note
    why there is no graph.
    """
    models = {
        name: model
        for name, model in models.items()
        if isinstance(model, WFA | NLWFA | RecurrentModel)
    }
    name = st.segmented_control(
        "Graph of", list(models), default=default_model, required=True, key="states.graph_of"
    )
    model = models[name]
    if not isinstance(model, WFA):
        st.info(
            f"{escape_markdown(name)} has no such graph: a nonlinear model's states are "
            "points in a continuous space. "
            "Its picture is the one above.",
            icon=":material/info:",
        )
        return
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
            dot(model, data.alphabet.symbols, smallest, widgets.dark(), labelled),
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
        "A learned WFA is unique only up to a change of basis: another basis gives the same "
        "weights of strings, but another graph."
    )
    with st.expander("The weights", icon=":material/table:"):
        table = weights_table(model, data.alphabet, smallest)
        widgets.draw_table(table, "states.weights", "Weights of the graph")
        widgets.table_downloads(
            dict.fromkeys(("csv", "latex", "markdown"), table), "weights", "states.weights.files"
        )
