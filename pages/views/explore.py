"""Draw Explore: the linear and the nonlinear model of the sidebar's strings at every rank."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import streamlit as st

from nlwfa_core import limits
from nlwfa_core.display.explore import (
    FURTHEST_RANK,
    LINEAR,
    LINEAR_RANK,
    LINEAR_WAY,
    LOOKS,
    MAX_RANK,
    NETWORKS,
    OTHER_SEEDS,
    VIEW,
    explore_payload,
    further_payload,
    influences_of_runs,
    margins_payload,
    most_linear,
    preview_payload,
    seeds_payload,
    trained_payload,
)
from nlwfa_core.experiment.datasets import Data
from nlwfa_core.experiment.recipe import Recipe
from nlwfa_core.hankel.matrix import HankelMatrix
from nlwfa_core.jobs.runner import JobStatus
from nlwfa_core.learning.learners import HANKEL_LEARNERS, STRING_LEARNERS
from nlwfa_core.learning.names import OBJECTIVES
from nlwfa_core.learning.spectral import TruncatedSVD
from nlwfa_core.strings.words import FloatArray
from pages.shared import (
    assignments,
    components,
    open_lesson,
    rank_runs,
    rank_series,
    sidebar,
    training,
    url_parameters,
    visitor_runs,
)
from pages.shared.context import Context, computed
from pages.shared.navigation import PAGES, switch
from pages.shared.widgets import errors_as_messages

FIRST = "both.non"  # its networks come with the picture, and all other trained models after it
SEEN = "explore.seen"
COMPONENT = open_lesson.PICTURE
MOST_CHARACTERS = 400  # of the string that is followed, in the address
# Seconds between two looks at training runs: a person sees five previews a second of one that is in
# progress; while all of them wait, there is nothing to see.
PREVIEW_SECONDS = 0.15
WAITING_SECONDS = 0.5


def picture(context: Context) -> None:
    """Draw the picture. A change of the rank in it moves the sidebar's rank, and a title opens its
    page.
    """
    recipe = context.recipe
    objective = rank_runs.objective(recipe)
    runs = rank_runs.keys(recipe)
    found = rank_runs.finished_keys(runs)
    keys = [key for by_rank in found.values() for done in by_rank.values() for key in done]
    trained = " ".join([context.hankel_key, objective, *keys])
    matrix = (context.data, context.hankel, context.svd)
    text = computed(_picture, context.hankel_key, *matrix)
    first, rest = computed(_trained, trained, *matrix, trained, found)
    further = "null"
    if MAX_RANK < (_linear_rank() or 0) <= most_linear(context.hankel, context.svd):
        further = computed(_further, trained, *matrix, trained, found, rank=_linear_rank())
    answer = components.explore(
        COMPONENT,
        {
            "id": context.hankel_key,
            "trained": trained,
            "rank": recipe.learning.rank,
            "learner": recipe.learning.learner,
            "objective": objective,
            # Adamax takes as long as its epochs, and only the times of other optimisers are known
            "isTimed": objective == "likelihood"
            or rank_runs.options(recipe)["optimizer"] != "adamax",
            "linear": _linear(),
            "linearRank": _linear_rank(),
            **{name: url_parameters.value(name) for name in LOOKS},
            "parts": open_lesson.parts("explore"),
            "scene": open_lesson.scene(),
            "isFirst": not st.session_state.get(SEEN)
            and open_lesson.current() is None
            and st.query_params.keys().isdisjoint({"rank", LINEAR_RANK}),
        },
        text,
        first,
        rest,
        further,
        on_chosen=_take_chosen,
        on_looks=_take_looks,
        on_room=_enter,
        on_settings=_open_settings,
    )
    st.session_state[SEEN] = True
    url_parameters.write(*VIEW)
    missing = {
        learner: {rank: keys for rank, keys in runs[learner].items() if rank not in found[learner]}
        for learner in rank_runs.LEARNERS
    }
    if recipe.learning.learner in NETWORKS:
        again = rank_runs.seeds_of(recipe.learning.learner)
        missing[again] = {
            rank: left
            for rank, keys in runs[again].items()
            if (left := tuple(key for key in keys if key not in found[again].get(rank, ())))
        }
    _obey(recipe, answer.train, answer.cancel, missing)
    if recipe.learning.rank in missing.get(recipe.learning.learner, ()):
        visitor_runs.prepare()
    shown = _Shown(
        context.hankel_key,
        len(context.data.alphabet),
        recipe.learning.learner,
        recipe.learning.rank,
    )
    _training(shown, missing)
    if answer.room in PAGES:
        switch(answer.room)


@dataclass(frozen=True)
class _Shown:
    # the "id" of the picture, the number of its symbols, and the nonlinear lane's model
    picture: str
    num_symbols: int
    learner: str
    rank: int


def _obey(recipe: Recipe, wanted: Any, cancelled: Any, missing: rank_runs.Keys) -> None:
    """Start the training runs requested in the picture, and cancel those of a learner.

    A browser may send anything; what is not a choice is ignored.
    """
    match wanted:
        case {"learner": str(learner), "objective": str(objective), "ranks": list(ranks)}:
            if objective in OBJECTIVES:
                by_rank = rank_runs.recipes(recipe, objective).get(learner, {})
                wanted = [by_rank[rank] for rank in ranks if type(rank) is int and rank in by_rank]
                repeats = OTHER_SEEDS if learner in map(rank_runs.seeds_of, NETWORKS) else 1
                rank_series.start([same[n] for n in range(repeats) for same in wanted])
    if isinstance(cancelled, str) and cancelled in missing:
        statuses = rank_series.look({cancelled: missing[cancelled]})
        training.cancel(*(status.recipe for status in reversed(rank_series.going(statuses))))


def _training(shown: _Shown, missing: rank_runs.Keys) -> None:
    """Show in the lanes what is being trained, and draw the page again when one has ended.

    Parameters
    ----------
    shown : _Shown
    missing : dict
        Learner -> rank -> the keys of the runs that were not finished when the picture was drawn.
    """
    statuses = rank_series.look(missing)
    if any(status.state == "done" for by_rank in statuses.values() for status in by_rank.values()):
        st.rerun()
    going = rank_series.going(statuses)
    if going:
        rank_series.adopt([status.recipe for status in going])
        known = {
            learner: {rank: (status.key,) for rank, status in by_rank.items()}
            for learner, by_rank in statuses.items()
        }
        seconds = PREVIEW_SECONDS if _is_running(going) else WAITING_SECONDS
        st.fragment(_watch, run_every=seconds)(shown, known, len(going), _is_running(going))
    else:
        _tell(shown, statuses)


@errors_as_messages()
def _watch(shown: _Shown, known: rank_runs.Keys, number: int, was_running: bool) -> None:
    statuses = rank_series.look(known)
    going = rank_series.going(statuses)
    if len(going) < number or _is_running(going) != was_running:
        st.rerun()
    _tell(shown, statuses)


def _is_running(going: list[JobStatus]) -> bool:
    return any(status.state == "running" for status in going)


def _tell(shown: _Shown, statuses: rank_series.Statuses) -> None:
    network = rank_series.preview(statuses.get(shown.learner, {}), shown.rank)
    preview = preview_payload(network, shown.num_symbols)
    components.explore_training(
        COMPONENT,
        shown.picture,
        rank_series.told(statuses),
        preview and {"learner": shown.learner, "model": preview},
    )


def _linear() -> str:
    """Return the learner of the linear lane, one of `LINEAR`."""
    chosen = url_parameters.value(LINEAR_WAY)
    return chosen if chosen in LINEAR else LINEAR[0]


def _linear_rank() -> int | None:
    """Return the linear lane's rank; None if it is that of the nonlinear lane."""
    chosen = url_parameters.value(LINEAR_RANK)
    most = FURTHEST_RANK if _linear() == LINEAR[0] else MAX_RANK
    ranks = range(1, min(most, limits.most("rank")) + 1)
    return next((rank for rank in ranks if str(rank) == chosen), None)


def _picture(data: Data, hankel: HankelMatrix, svd: TruncatedSVD) -> str:
    """Return the payload as JSON."""
    return _json(explore_payload(data, hankel, svd))


def _further(
    data: Data,
    hankel: HankelMatrix,
    svd: TruncatedSVD,
    trained: str,
    found: rank_runs.Keys,
    rank: int,
) -> str:
    """Return the linear model of a rank that is sent alone, as JSON."""
    runs = computed(_influences, trained, data, found)
    return _json(further_payload(data, hankel, svd, rank, runs))


def _influences(data: Data, found: rank_runs.Keys) -> dict[str, dict[int, FloatArray]]:
    return influences_of_runs(rank_runs.drawn_results(found), data.test)


def _trained(
    data: Data, hankel: HankelMatrix, svd: TruncatedSVD, trained: str, found: rank_runs.Keys
) -> tuple[str, str]:
    """Return as JSON the trained models, "models", and how certain their scores are, "margins":
    first for the networks of one learner; then for all others, with the scores of "seeds".
    """
    results = rank_runs.drawn_results(found)
    again = rank_runs.results_of_other_seeds(found)
    runs = computed(_influences, trained, data, found)
    margins = margins_payload(runs, hankel, svd, data)
    models = trained_payload(results)
    first = {
        "models": {FIRST: models.pop(FIRST)},
        "margins": {kind: {FIRST: of.pop(FIRST, {})} for kind, of in margins.items()},
    }
    rest = {"models": models, "margins": margins, "seeds": seeds_payload(again)}
    return _json(first), _json(rest)


def _json(payload: dict[str, Any]) -> str:
    return json.dumps(payload, separators=(",", ":"), allow_nan=False)


def _take_chosen() -> None:
    """Set the sidebar to the rank, the learner and its objective that were chosen in the picture,
    and the address to the linear lane's model and own rank.

    A browser may send anything; what is not a choice is ignored, and so is what was chosen in
    another step of a lesson, because it may arrive together with the press of *Next*.
    """
    match st.session_state[COMPONENT].get("chosen"):
        case {
            "scene": str(scene),
            "rank": int(rank),
            "learner": str(learner),
            "objective": str(objective),
            "linear": str(linear),
            "linearRank": int() | None as linear_rank,
        } if scene == open_lesson.scene():
            is_drag = (rank, linear_rank) != (sidebar.current().learning.rank, _linear_rank())
            sidebar.set_rank(max(1, rank))
            if is_drag:
                open_lesson.answer_by_cut(linear_rank or rank)
            if learner in HANKEL_LEARNERS:
                assignments.assign({"learner": learner})
            if objective in OBJECTIVES:
                assignments.assign({"objective": objective})
            url_parameters.set_value(LINEAR_WAY, linear if linear in LINEAR[1:] else "")
            url_parameters.set_value(LINEAR_RANK, str(linear_rank or ""))


def _take_looks() -> None:
    """Set the address to what is looked at in the picture.

    As in `_take_chosen`, anything else is ignored.
    """
    looks = st.session_state[COMPONENT].get("looks")
    if isinstance(looks, dict) and looks.get("scene") == open_lesson.scene():
        for name in LOOKS:
            text = looks.get(name)
            if not isinstance(text, str) or len(text) > MOST_CHARACTERS:
                continue
            if not VIEW[name] or text in ("", *VIEW[name]):
                url_parameters.set_value(name, text)


def _open_settings() -> None:
    sidebar.set_drawer(st.session_state[COMPONENT].get("settings") is True)


def _enter() -> None:
    """Set Compare, where a linear model is trained by likelihood, to that learner and rank."""
    room = st.session_state[COMPONENT].get("room")
    linear = _linear()
    if room == "compare" and linear in STRING_LEARNERS:
        rank = _linear_rank() or sidebar.current().learning.rank
        ranks = sorted({*open_lesson.COMPARED, rank})
        assignments.assign({"opponents": [linear], "ranks": ranks, "against": "rank"})


def ways_in() -> None:
    """Draw the line for a newcomer, unless a lesson is open: the first lesson, the story, own
    strings, a class.
    """
    if open_lesson.current():
        return
    with st.container(horizontal=True, key="explore_ways", vertical_alignment="center"):
        st.markdown("**New here?**", width="content")
        lesson = open_lesson.first_lesson()
        if lesson:
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
                switch(page, "own_strings" if page == "data" else "")
