"""Draw Explore: the linear and the nonlinear model of the sidebar's strings at every rank."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import streamlit as st

from nlwfa_core import RecipeError, limits
from nlwfa_core.display.explore import (
    NETWORK_RANKS,
    NETWORKS,
    explore_payload,
    networks_payload,
)
from nlwfa_core.experiment.datasets import Data
from nlwfa_core.experiment.recipe import Recipe, with_fields
from nlwfa_core.hankel.matrix import HankelMatrix
from nlwfa_core.learning.learners import HANKEL_LEARNERS
from nlwfa_core.learning.names import OBJECTIVES
from nlwfa_core.learning.spectral import TruncatedSVD
from pages.shared import components, contents, open_lesson, sidebar, url_parameters
from pages.shared.context import Context, computed, finished, has_finished
from pages.shared.navigation import PAGES, switch

FIRST = "both.non"  # its networks come with the picture, and those of the others after it
SEEN = "explore.seen"
COMPONENT = "explore.picture"
WAY = "way"  # in the address: how networks are trained, if not by FIRST_OBJECTIVE
FIRST_OBJECTIVE = "likelihood"
OTHER_OBJECTIVES = OBJECTIVES.keys() - {FIRST_OBJECTIVE}


def picture(context: Context) -> None:
    """Draw the picture. A change of the rank in it moves the sidebar's rank, and a title opens its
    page.
    """
    recipe = context.recipe
    objective = _objective()
    runs = computed(
        _keys,
        _options_key(recipe),
        recipe=recipe,
        remembered=dict(sidebar.hidden_options()),
        objective=objective,
    )
    found = {
        learner: {rank: key for rank, key in by_rank.items() if has_finished(key)}
        for learner, by_rank in runs.items()
    }
    keys = [key for by_rank in found.values() for key in by_rank.values()]
    name = " ".join([context.hankel_key, objective, *keys])
    text, rest = computed(_texts, name, context.data, context.hankel, context.svd, found=found)
    room = components.explore(
        COMPONENT,
        {
            "id": name,
            "rank": recipe.learning.rank,
            "learner": recipe.learning.learner,
            "objective": objective,
            "isFirst": not st.session_state.get(SEEN) and "rank" not in st.query_params,
        },
        text,
        rest,
        on_chosen=_take_chosen,
        on_room=_enter,
    )
    st.session_state[SEEN] = True
    url_parameters.write(WAY)
    if room in PAGES:
        switch(room)


def _objective() -> str:
    """Return how the networks of the picture were trained, one of `OBJECTIVES`: by likelihood
    unless the paper's way was chosen here.
    """
    chosen = url_parameters.value(WAY)
    return chosen if chosen in OTHER_OBJECTIVES else FIRST_OBJECTIVE


def _options_key(recipe: Recipe) -> str:
    """Return the key of what a recipe's runs of all learners and ranks share."""
    options = {"learner": FIRST, "rank": NETWORK_RANKS[0], "objective": _objective()}
    return with_fields(recipe, options, sidebar.hidden_options()).key()


def _keys(recipe: Recipe, remembered: dict[str, Any], objective: str) -> dict[str, dict[int, str]]:
    """Return learner -> rank -> the key of the run that differs from a recipe in these alone."""
    keys: dict[str, dict[int, str]] = {learner: {} for learner in NETWORKS}
    for learner, by_rank in keys.items():
        for rank in NETWORK_RANKS[: limits.most("rank")]:
            with suppress(RecipeError):  # the matrix is too small for this rank
                options = {"learner": learner, "rank": rank, "objective": objective}
                by_rank[rank] = with_fields(recipe, options, remembered).key()
    return keys


def _texts(
    data: Data, hankel: HankelMatrix, svd: TruncatedSVD, found: dict[str, dict[int, str]]
) -> tuple[str, str]:
    """Return the payload as JSON, with the networks of one learner; and those of the others."""
    results = {
        learner: {rank: finished(key) for rank, key in keys.items()}
        for learner, keys in found.items()
    }
    payload = explore_payload(data, hankel, svd, {FIRST: results.pop(FIRST)})
    return _json(payload), _json(networks_payload(results))


def _json(payload: dict[str, Any]) -> str:
    return json.dumps(payload, separators=(",", ":"), allow_nan=False)


def _take_chosen() -> None:
    """Set the sidebar to the rank and the learner that were chosen in the picture.

    What a browser sends may be anything; what is no choice is ignored.
    """
    match st.session_state[COMPONENT].get("chosen"):
        case {"rank": int(rank), "learner": str(learner), "objective": str(objective)}:
            sidebar.set_rank(max(1, rank))
            if learner in HANKEL_LEARNERS:
                st.session_state["learner"] = learner
            url_parameters.set_value(WAY, objective if objective in OTHER_OBJECTIVES else "")


def _enter() -> None:
    """Before Train opens, set the sidebar to how the picture's networks are trained."""
    if st.session_state[COMPONENT].get("room") == "train":
        st.session_state["objective"] = _objective()


def ways_in() -> None:
    """Draw the line for a newcomer: the first lesson, the story, own strings, a class."""
    with st.container(horizontal=True, key="explore_ways", vertical_alignment="center"):
        st.markdown("**New here?**", width="content")
        lesson = next(iter(contents.lessons().values()))
        st.button(
            "Start lesson 1",
            key="explore.lesson",
            icon=":material/school:",
            type="tertiary",
            on_click=open_lesson.open_lesson,
            args=(lesson.name,),
        )
        for label, icon, page in (
            ("All lessons, and the story", "play_circle", "learn"),
            ("Your own strings", "upload_file", "data"),
            ("I teach", "groups", "classroom"),
        ):
            if st.button(label, key=f"explore.{page}", icon=f":material/{icon}:", type="tertiary"):
                switch(page)
