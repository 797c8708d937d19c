"""What pages share across reruns and sessions: cached data and matrices, and the runner of jobs. The only file with st.cache_*."""

from __future__ import annotations

import gc
import logging
import os
import tempfile
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import streamlit as st

from nlwfa_core import DataRecipe, HankelRecipe, Recipe, RecipeError, evaluate, select_basis
from nlwfa_core.experiment import pipeline as experiment
from nlwfa_core.experiment.data import Data, load_data, no_files
from nlwfa_core.experiment.recipe import MODELS
from nlwfa_core.experiment.results import Result
from nlwfa_core.hankel.matrix import HankelMatrix
from nlwfa_core.history.bundles import export_runs
from nlwfa_core.history.database import told
from nlwfa_core.history.listing import Query, choices, listed
from nlwfa_core.history.owners import Own, pseudonym
from nlwfa_core.history.runs import History, Run
from nlwfa_core.jobs.runner import JobStatus, Runner
from nlwfa_core.lab import lens, views
from nlwfa_core.lab import singular_values as cut
from nlwfa_core.lab.approximations import Matrix, Shown, reconstruction, relative_error
from nlwfa_core.lab.formulas import spectral as stepping
from nlwfa_core.lab.formulas.spectral import Spectral
from nlwfa_core.lab.lessons import read_lessons
from nlwfa_core.lab.machine import folder_bytes, share_one_heap
from nlwfa_core.learning.spectral import TruncatedSVD, truncated_svd, weighted_block
from nlwfa_core.metrics.scores import Scores
from nlwfa_core.models.model import Model
from nlwfa_core.strings.words import Words
from pages.shared import people
from pages.shared.navigation import ASSETS

MAX_SINGULAR_VALUES = 50
NGRAM_ORDER = 5
MAX_OWNERS = 1000
STARTED, MAX_STARTED = "runs.started", 20
VISITED = "runs.visited"
KEYED = {DataRecipe: DataRecipe.key, HankelRecipe: HankelRecipe.key, Recipe: Recipe.key}

log = logging.getLogger(__name__)


def home() -> Path:
    """Where runs and uploads live: NLWFA_HOME, or a folder that goes when the server does."""
    return Path(os.environ.get("NLWFA_HOME") or _temporary().name).absolute()


@st.cache_resource(show_spinner=False)
def runner() -> Runner:
    """One for the whole server."""
    found = Runner(home(), shipped=ASSETS / "results")
    for lesson in read_lessons(ASSETS / "lessons").values():
        if lesson.strings:  # a link into a lesson finds its strings on any server
            found.files.put(lesson.strings)
    return found


@st.cache_resource(show_spinner=False)
def _temporary() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="nlwfa-lab-", ignore_cleanup_errors=True)


@st.cache_resource(show_spinner=False)
def history() -> History:
    """Raises RecipeError if it can't be reached."""
    with told():
        return History.open(home())


def own() -> Own | None:
    """This visitor's list of runs; None where everybody sees all. Raises RecipeError if there can be none."""
    if people.mode() != people.OWN:
        return None
    with told():
        return Own(history(), pseudonym(home(), people.identity()))


@st.cache_data(max_entries=4, ttl=600, show_spinner="Packing…")
def bundle(keys: tuple[str, ...], owner: str | None, labels: tuple[str, ...]) -> bytes:
    """Runs to take away. `labels` are what people gave them: another bundle when they change."""
    return export_runs(home(), history(), keys, owner)


@st.cache_data(ttl=5, show_spinner=False)
def past(num_failures: int) -> tuple[dict[str, int], tuple[Run, ...]]:
    """State -> how many runs, and the last failures; a few seconds old, as many may look. Raises RecipeError."""
    with told():
        failures = listed(history(), Query(states=("failed",)), 0, num_failures).runs
        return choices(history()).states, failures


@st.cache_data(max_entries=256, ttl=60, show_spinner=False)
def bytes_on_disk(part: str = "") -> int:
    """What the lab's folder holds, or a part of it; up to a minute old."""
    return folder_bytes(home() / part)


@st.cache_resource(max_entries=16, show_spinner="Reading the strings…", hash_funcs=KEYED)
def data(recipe: DataRecipe) -> Data:
    return load_data(recipe, runner().files.get if recipe.upload else no_files)


@st.cache_resource(max_entries=16, show_spinner="Counting into the Hankel matrix…", hash_funcs=KEYED)
def hankel(recipe: DataRecipe, basis: HankelRecipe) -> HankelMatrix:
    return experiment.build_hankel(data(recipe).train, basis)


@st.cache_resource(max_entries=16, show_spinner="Decomposing…", hash_funcs=KEYED)
def singular_values(recipe: DataRecipe, basis: HankelRecipe) -> TruncatedSVD:
    return truncated_svd(weighted_block(hankel(recipe, basis)), MAX_SINGULAR_VALUES)


@st.cache_resource(max_entries=32, show_spinner=False, hash_funcs=KEYED)
def cut_payload(recipe: DataRecipe, basis: HankelRecipe) -> dict[str, Any]:
    found = hankel(recipe, basis)
    return {"id": f"{recipe.key()}{basis.key()}"} | cut.payload(singular_values(recipe, basis), found)


def matrix(recipe: DataRecipe, basis: HankelRecipe, shown: Shown) -> Matrix:
    """What a lens shows; made of cached things in a moment, but for a model's."""
    return _model_matrix(recipe, basis, shown) if shown.model else _matrix(recipe, basis, shown)


@st.cache_resource(max_entries=16, show_spinner="Weighing all strings uv…", hash_funcs=KEYED)
def _model_matrix(recipe: DataRecipe, basis: HankelRecipe, shown: Shown) -> Matrix:
    return _matrix(recipe, basis, shown)


def _matrix(recipe: DataRecipe, basis: HankelRecipe, shown: Shown) -> Matrix:
    model = _result(shown.model).model if shown.model else None
    return shown.matrix(hankel(recipe, basis), singular_values(recipe, basis), model)


@st.cache_resource(max_entries=32, show_spinner="Drawing the matrix…", hash_funcs=KEYED)
def lens_layer(recipe: DataRecipe, basis: HankelRecipe, shown: Shown) -> dict[str, Any]:
    floor = None if shown.layer == "H" else lens.floor_of(hankel(recipe, basis).block)
    return lens.layer(matrix(recipe, basis, shown), floor)


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=KEYED)
def lens_error(recipe: DataRecipe, basis: HankelRecipe, shown: Shown) -> float:
    """‖H − Ĥ‖ / ‖H‖ of the matrix whose residual is shown."""
    return relative_error(shown.block(hankel(recipe, basis)), matrix(recipe, basis, shown))


@st.cache_resource(max_entries=32, show_spinner=False, hash_funcs=KEYED)
def lens_basis(recipe: DataRecipe, basis: HankelRecipe, symbol: int) -> dict[str, Any]:
    alphabet = views.hankel_alphabet(data(recipe).alphabet, basis)
    return lens.basis_payload(hankel(recipe, basis), alphabet, Shown(symbol))


@st.cache_resource(max_entries=32, show_spinner="Projecting the states…", hash_funcs=KEYED)
def lens_points(recipe: DataRecipe, basis: HankelRecipe, symbol: int, rank: int, model: str) -> dict[str, Any]:
    """Points of a run's states; of the singular vectors if there is no run, or its states have none."""
    H, shown = hankel(recipe, basis), Shown(symbol)
    if model:
        found = _result(model)
        with suppress(RecipeError):
            return lens.points(lens.states(found.model, H, shown.after), f"States of {found.recipe.learning.learner}")
    rows = reconstruction(shown.block(H), singular_values(recipe, basis), rank).left
    return lens.points(rows, f"Rows of {'UD' if symbol < 0 else 'HV'}, rank {min(rank, MAX_SINGULAR_VALUES)}")


@st.cache_resource(max_entries=16, show_spinner="Decomposing…", hash_funcs=KEYED)
def spectral(recipe: DataRecipe, basis: HankelRecipe, rank: int) -> Spectral:
    """Spectral learning with all that it goes through."""
    return stepping.spectral(hankel(recipe, basis), rank)


@st.cache_resource(max_entries=16, show_spinner="Counting prefixes…", hash_funcs=KEYED)
def prefixes(recipe: DataRecipe, number: int) -> Words:
    """The most frequent prefixes of the training strings, whatever the Hankel matrix counts."""
    return select_basis(data(recipe).train, number, 1).prefixes


@st.cache_resource(max_entries=16, show_spinner="Counting n-grams…", hash_funcs=KEYED)
def reference_models(recipe: DataRecipe) -> dict[str, Model]:
    return experiment.reference_models(data(recipe), NGRAM_ORDER)


@st.cache_resource(max_entries=16, show_spinner="Scoring the reference models…", hash_funcs=KEYED)
def references(recipe: DataRecipe) -> dict[str, Scores]:
    return {name: evaluate(model, data(recipe).test) for name, model in reference_models(recipe).items()}


@st.cache_resource(max_entries=64, show_spinner=False)
def _result(key: str) -> Result:
    return runner().result(key)


def owner() -> str:
    """Who this session is to the runner."""
    context = st.runtime.scriptrunner.get_script_run_ctx()
    name = context.session_id if context else ""
    if name not in _owners():
        _owners().append(name)
    return name


@st.cache_resource(show_spinner=False)
def _owners() -> deque[str]:
    return deque(maxlen=MAX_OWNERS)


def submit(*recipes: Recipe, hold: bool = False) -> None:
    keys = []
    try:
        for recipe in recipes:
            keys.append(runner().submit(recipe, owner(), hold))
            st.session_state[STARTED] = [*st.session_state.get(STARTED, []), recipe][-MAX_STARTED:]
            if hold:
                pause(recipe)  # as long as somebody looks, and not too many
    finally:  # the queue may be full after some of them
        _keep(keys, again=True)


def visit(*recipes: Recipe) -> None:
    """Who is here is counted; where people have lists of their own, the runs that they look at are on theirs."""
    owner()
    if people.mode() == people.OWN:
        seen: set[str] = st.session_state.setdefault(VISITED, set())
        fresh = [key for key in {recipe.key() for recipe in recipes} - seen if runner().status(key)]
        seen.update(fresh)
        _keep(fresh)


def _keep(keys: list[str], again: bool = False) -> None:
    """Put runs on this visitor's list; a database that is away holds up nobody's training."""
    try:
        if keys and (mine := own()):
            with told():
                mine.keep(keys, again)
    except RecipeError as error:
        log.warning("%s", error)


def sessions() -> int:
    """How many browsers are connected now."""
    return sum(1 for name in tuple(_owners()) if st.runtime.get_instance().is_active_session(name))


def cancel(*recipes: Recipe) -> None:
    """Who has reloaded the page is somebody new; what the one before had started is still theirs to cancel."""
    for recipe in recipes:
        for name in (*_gone(), owner()):
            runner().cancel(recipe.key(), name)


def pause(recipe: Recipe, epochs: int = 0) -> None:
    """Have a training wait, after so many more epochs. Raises RecipeError if that is not this session's to say."""
    runner().pause(recipe.key(), owner(), epochs, _gone())


def play(recipe: Recipe) -> None:
    runner().play(recipe.key())


def _gone() -> list[str]:
    """Sessions that are over."""
    return [name for name in tuple(_owners()) if not st.runtime.get_instance().is_active_session(name)]


def mine() -> dict[str, JobStatus]:
    """Key -> the runs that this session has started and that wait, run or are done, the last first."""
    found = {recipe.key(): status(recipe) for recipe in reversed(st.session_state.get(STARTED, []))}
    return {key: job for key, job in found.items() if job is not None and job.state in ("queued", "running", "done")}


def status(recipe: Recipe) -> JobStatus | None:
    return runner().status(recipe.key(), owner())


def result(recipe: Recipe) -> Result | None:
    """The finished run of a recipe, wherever and by whomever it was started; None if there is none yet."""
    found = status(recipe)
    return _result(recipe.key()) if found and found.state == "done" else None


def chosen(recipe: Recipe, found: dict[str, Result]) -> str:
    """The sidebar's learner if it has been run, else the first that has."""
    return recipe.learning.learner if recipe.learning.learner in found else next(iter(found))


def results_of_learners(recipe: Recipe, learners: Iterable[str] = MODELS) -> dict[str, Result]:
    """Finished runs that differ from a recipe in the learner alone; opponents are among them."""
    found = {learner: result(recipe.with_learner(learner)) for learner in learners}
    return {learner: entry for learner, entry in found.items() if entry is not None}


@st.cache_resource(show_spinner=False)
def prepare_server() -> None:
    """Once a server: what is loaded by now stays, so the garbage collector need not look at it again and again."""
    share_one_heap()
    gc.collect()
    gc.freeze()
