"""Compute values from recipes, and cache them for all reruns and visitors: strings, matrices,
models, finished runs.

The cache hashes the key of a recipe, never an array. This module does not start the job runner.

Uploaded strings may be large, and few visitors share them. So values made from them are in memory
only while one of the sessions that use them is connected; all other values stay until newer ones
replace them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import cache
from threading import Lock
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from nlwfa_core import DataRecipe, HankelRecipe, Recipe, RecipeError, evaluate, select_basis
from nlwfa_core.experiment import pipeline as experiment
from nlwfa_core.experiment.data import Data, load_data, no_files
from nlwfa_core.experiment.results import Result
from nlwfa_core.files import FileShelf
from nlwfa_core.hankel.matrix import HankelMatrix, hankel_alphabet
from nlwfa_core.jobs.folders import RunFolders
from nlwfa_core.lab import lens, panels, walk
from nlwfa_core.lab.build.challenges import Challenge, read_challenges
from nlwfa_core.lab.build.draft import draft_of_link
from nlwfa_core.lab.build.learning_back import LearningCurve
from nlwfa_core.lab.build.learning_back import learning_curve as learn_back
from nlwfa_core.lab.formulas import spectral as stepping
from nlwfa_core.lab.formulas.spectral import Spectral
from nlwfa_core.lab.lens import (
    Matrix,
    MatrixChoice,
    reconstruction,
    relative_error,
    singular_values_payload,
)
from nlwfa_core.lab.lessons import Lesson, read_lessons
from nlwfa_core.lab.machine import folder_bytes
from nlwfa_core.lab.pairs import lead_sentence, run_intervals
from nlwfa_core.lab.quizzes import Quiz, read_quizzes
from nlwfa_core.lab.records import Problem, read_problems
from nlwfa_core.lab.story import story_payload
from nlwfa_core.lab.tables import conventions_of
from nlwfa_core.lab.tasks.bank import Kind, read_bank
from nlwfa_core.lab.teaching import Note, read_notes
from nlwfa_core.learning.learners import LEARNERS
from nlwfa_core.learning.spectral import TruncatedSVD, truncated_svd, weighted_block
from nlwfa_core.learning.spectral import linear_loss as spectral_loss
from nlwfa_core.metrics.intervals import (
    Interval,
    StringScores,
    leader,
    paired_differences,
    string_scores,
)
from nlwfa_core.metrics.scores import Scores
from nlwfa_core.metrics.tables import Table
from nlwfa_core.models.model import Model
from nlwfa_core.strings.words import Word, Words
from pages.shared.server import ASSETS, SHIPPED, home, trim_later, trim_memory

MAX_SINGULAR_VALUES = 50
NGRAM_ORDER = 5
Value = TypeVar("Value")

KEYED = {DataRecipe: DataRecipe.key, HankelRecipe: HankelRecipe.key, Recipe: Recipe.key}


@cache
def tasks() -> dict[str, Kind]:
    """Name -> kind of task, in their order."""
    return read_bank(ASSETS / "tasks")


@cache
def challenges() -> dict[str, Challenge]:
    """Name -> automaton to build, in their order."""
    return read_challenges(ASSETS / "automata")


@st.cache_data(max_entries=64, show_spinner="Learning it back…")
def learning_curve(draft: str) -> LearningCurve:
    """Learn an automaton, given by its `link_text`, back from samples of several sizes."""
    return learn_back(draft_of_link(draft).automaton)


@cache
def quizzes() -> dict[str, Quiz]:
    """Read all quizzes, name of the lesson -> quiz, in their order."""
    return read_quizzes(ASSETS / "quizzes", tasks())


@cache
def teaching_notes() -> dict[str, Note]:
    """Read the notes for teachers, step of a lesson -> note."""
    return read_notes((ASSETS / "teaching.md").read_text(encoding="utf-8"))


@cache
def competition_problems() -> tuple[Problem, ...]:
    """Read the public problems that the lab recognises by their files."""
    return read_problems(ASSETS / "records.json")


@cache
def lessons() -> dict[str, Lesson]:
    """Read all lessons, name -> lesson, in their order."""
    return read_lessons(ASSETS / "lessons")


@st.cache_resource(show_spinner=False)
def uploads() -> FileShelf:
    """Open the shelf of uploaded files.

    It also has the lessons' strings, so that a link to a lesson works on any server.
    """
    shelf = FileShelf(home() / "uploads")
    lesson_uploads(shelf)
    return shelf


def lesson_uploads(shelf: FileShelf | None = None) -> set[str]:
    """Put the lessons' strings on the shelf of uploaded files, if they are not there, and return
    their names.
    """
    shelf = shelf or uploads()
    return {
        shelf.put(lesson.strings, f"strings of the lesson {lesson.title}")
        for lesson in lessons().values()
        if lesson.strings
    }


@st.cache_data(max_entries=256, ttl=60, show_spinner=False)
def bytes_on_disk(part: str = "") -> int:
    """Return the size of the lab's folder, or of a folder in it, in bytes; the value may be a
    minute old.
    """
    return folder_bytes(home() / part)


def result(recipe: Recipe) -> Result | None:
    """Return the finished run of a recipe, no matter who started it; None if there is none yet, or
    its files are damaged.
    """
    if not _folders().has(recipe.key()):
        return None
    with suppress(RecipeError):
        return finished(recipe.key())
    return None


def results_of_learners(recipe: Recipe, learners: Iterable[str] = LEARNERS) -> dict[str, Result]:
    """Collect the finished runs that differ from a recipe only in the learner, learner -> run; by
    default of all learners.
    """
    results = {learner: result(recipe.with_learner(learner)) for learner in learners}
    return {learner: run for learner, run in results.items() if run is not None}


def default_learner(recipe: Recipe, results: dict[str, Result]) -> str:
    """Choose among `results` the learner of the sidebar's recipe if it has a result, otherwise the
    first learner.
    """
    return recipe.learning.learner if recipe.learning.learner in results else next(iter(results))


@st.cache_resource(max_entries=64, show_spinner=False)
def finished(key: str) -> Result:
    """Read a finished run from disk. Raises RecipeError if there is none."""
    return _folders().result(key)


def _folders() -> RunFolders:
    return RunFolders(home() / "runs", SHIPPED)


def data(recipe: DataRecipe) -> Data:
    """Return a recipe's strings."""
    if recipe.source == "upload" and not recipe.upload:
        raise RecipeError(
            "No file was uploaded yet: upload one on the Data page, or choose another source."
        )
    if not recipe.upload:
        return _generated_data(recipe)
    return (_uploaded_data if _in_a_session() else _read_uploaded_data)(recipe).value


@st.cache_resource(max_entries=16, show_spinner="Reading the strings…", hash_funcs=KEYED)
def _generated_data(recipe: DataRecipe) -> Data:
    return load_data(recipe, no_files)


@st.cache_resource(
    max_entries=4,
    scope="session",
    show_spinner="Reading the strings…",
    hash_funcs=KEYED,
    on_release=trim_later,
)
def _uploaded_data(recipe: DataRecipe) -> Shared[Data]:
    return _read_uploaded_data(recipe)


def _read_uploaded_data(recipe: DataRecipe) -> Shared[Data]:
    return _shared_value("data", recipe, lambda: load_data(recipe, uploads().get))


def _in_a_session() -> bool:
    """Return whether a page calls this, not the thread of a download, which has no session and so
    no session's cache.
    """
    return get_script_run_ctx(suppress_warning=True) is not None


class Shared(Generic[Value]):
    """Holds a value for all sessions that use it.

    It is freed when none of their caches holds it any more.
    """

    def __init__(self, value: Value) -> None:
        self.value = value


# The values that sessions' caches hold at this moment.
_shared: WeakValueDictionary[tuple[str, str], Shared[Any]] = WeakValueDictionary()
_computing: defaultdict[tuple[str, str], Lock] = defaultdict(Lock)


def _shared_value(kind: str, recipe: DataRecipe, compute: Callable[[], Value]) -> Shared[Value]:
    """Return the value that another session's cache holds, or compute it, only once even if several
    sessions need it now.
    """
    key = kind, recipe.key()
    with _computing[key]:
        value = _shared.get(key)
        if value is None:
            value = _shared[key] = Shared(compute())
            trim_memory()  # computing needs several times the memory of the value
        return value


@st.cache_resource(
    max_entries=16, show_spinner="Counting into the Hankel matrix…", hash_funcs=KEYED
)
def hankel(recipe: DataRecipe, basis: HankelRecipe) -> HankelMatrix:
    return experiment.build_hankel(data(recipe).train, basis)


@st.cache_resource(max_entries=16, show_spinner="Decomposing…", hash_funcs=KEYED)
def singular_values(recipe: DataRecipe, basis: HankelRecipe) -> TruncatedSVD:
    return truncated_svd(weighted_block(hankel(recipe, basis)), MAX_SINGULAR_VALUES)


@st.cache_data(max_entries=256, show_spinner=False, hash_funcs=KEYED)
def linear_loss(recipe: DataRecipe, basis: HankelRecipe, rank: int) -> float | None:
    """Compute SP's loss at a rank, to compare the factorisation's curve with; None if it is not
    defined for the matrix.
    """
    with suppress(RecipeError):
        return spectral_loss(hankel(recipe, basis), rank)
    return None


@st.cache_resource(max_entries=32, show_spinner=False, hash_funcs=KEYED)
def cut_payload(recipe: DataRecipe, basis: HankelRecipe) -> dict[str, Any]:
    identity = {"id": f"{recipe.key()}{basis.key()}"}
    return identity | singular_values_payload(singular_values(recipe, basis), hankel(recipe, basis))


@st.cache_resource(max_entries=32, show_spinner=False, hash_funcs=KEYED)
def panels_payload(recipe: DataRecipe, basis: HankelRecipe, symbol: int) -> dict[str, Any]:
    """H, Ĥ and H − Ĥ of a block, for all ranks."""
    alphabet = hankel_alphabet(data(recipe).alphabet, basis.statistic, basis.bounded)
    key = f"{recipe.key()}{basis.key()}"
    payload = panels.panels_payload(
        hankel(recipe, basis), singular_values(recipe, basis), alphabet, MatrixChoice(symbol)
    )
    return {"basis": key, "id": f"{key}{symbol}"} | payload


@st.cache_resource(max_entries=16, show_spinner="Computing the matrix…", hash_funcs=KEYED)
def matrix(recipe: DataRecipe, basis: HankelRecipe, choice: MatrixChoice) -> Matrix:
    """Compute the matrix that the lens shows: a block of H, an approximation of it, or the
    difference.
    """
    model = finished(choice.model).model if choice.model else None
    return choice.matrix(hankel(recipe, basis), singular_values(recipe, basis), model)


@st.cache_resource(max_entries=32, show_spinner="Drawing the matrix…", hash_funcs=KEYED)
def lens_layer(recipe: DataRecipe, basis: HankelRecipe, choice: MatrixChoice) -> dict[str, Any]:
    floor = None if choice.layer == "H" else lens.floor_of(hankel(recipe, basis).block)
    return lens.matrix_payload(matrix(recipe, basis, choice), floor)


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=KEYED)
def lens_error(recipe: DataRecipe, basis: HankelRecipe, choice: MatrixChoice) -> float:
    """Compute the relative error ‖H − Ĥ‖ / ‖H‖ of the approximation that `choice` names, with the
    weights of H's rows.
    """
    H = hankel(recipe, basis)
    rest = matrix(recipe, basis, replace(choice, layer="H − Ĥ"))
    return relative_error(choice.block(H), rest, choice.weights(H))


@st.cache_resource(max_entries=32, show_spinner=False, hash_funcs=KEYED)
def lens_basis(recipe: DataRecipe, basis: HankelRecipe, symbol: int) -> dict[str, Any]:
    alphabet = hankel_alphabet(data(recipe).alphabet, basis.statistic, basis.bounded)
    return lens.basis_payload(hankel(recipe, basis), alphabet, MatrixChoice(symbol))


@st.cache_resource(max_entries=32, show_spinner="Projecting the states…", hash_funcs=KEYED)
def lens_points(
    recipe: DataRecipe, basis: HankelRecipe, symbol: int, rank: int, model: str
) -> dict[str, Any]:
    """Make the payload of the points: a run's states, or rows of singular vectors if the run does
    not exist or can't be drawn.
    """
    H, choice = hankel(recipe, basis), MatrixChoice(symbol)
    if model:
        run = finished(model)
        with suppress(RecipeError):
            return lens.points_payload(
                lens.basis_states(run.model, H, choice.after),
                f"States of {run.recipe.learning.learner}",
            )
    rows = reconstruction(choice.block(H), singular_values(recipe, basis), rank).left
    return lens.points_payload(
        rows, f"Rows of {'UD' if symbol < 0 else 'HV'}, rank {min(rank, MAX_SINGULAR_VALUES)}"
    )


@st.cache_resource(max_entries=16, show_spinner="Decomposing…", hash_funcs=KEYED)
def spectral(recipe: DataRecipe, basis: HankelRecipe, rank: int) -> Spectral:
    """Learn by SP, with all intermediate results."""
    return stepping.spectral(hankel(recipe, basis), rank)


@st.cache_resource(max_entries=16, show_spinner="Drawing the automata…", hash_funcs=KEYED)
def spectral_graphs(recipe: DataRecipe, basis: HankelRecipe) -> list[walk.Graph]:
    """SP's automata, one for each rank from 1."""
    return walk.spectral_graphs(hankel(recipe, basis), data(recipe).alphabet)


@st.cache_resource(max_entries=32, show_spinner="Grouping states…", hash_funcs=KEYED)
def grouped_graph(recipe: Recipe, number: int) -> walk.Graph:
    """Return the groups of a finished run's states.

    Raises RecipeError if there is no run, or its states can't be drawn.
    """
    strings, model = data(recipe.data), finished(recipe.key()).model
    most = min(recipe.hankel.num_prefixes, walk.MAX_PREFIXES)
    return walk.grouped_graph(model, prefixes(recipe.data, most), strings, number, recipe.title)


@st.cache_resource(max_entries=32, show_spinner=False)
def drawings(key: str, _ladder: Words, _graphs: list[walk.Graph]) -> list[dict[str, Any]]:
    """Make the payloads of the drawings of graphs, which `key` identifies together with the strings
    of the ladder.
    """
    return [walk.drawing_payload(graph, _ladder) for graph in _graphs]


@st.cache_resource(max_entries=64, show_spinner=False)
def walks(key: str, word: Word, _graphs: list[walk.Graph]) -> list[dict[str, Any]]:
    """Make the payloads of a word's walk through graphs, which `key` identifies."""
    return [walk.walk_payload(graph, word) for graph in _graphs]


@st.cache_resource(max_entries=16, show_spinner="Counting prefixes…", hash_funcs=KEYED)
def prefixes(recipe: DataRecipe, number: int) -> Words:
    """Find the most frequent prefixes of the training strings, for any statistic of the Hankel
    matrix.
    """
    return select_basis(data(recipe).train, number, 1).prefixes


@st.cache_data(max_entries=32, show_spinner="Reading the strings…", hash_funcs=KEYED)
def story(recipe: DataRecipe) -> dict[str, Any]:
    """Make the payload of the story of a recipe's training strings.

    Raises RecipeError if they have none.
    """
    return {"id": recipe.key()} | story_payload(data(recipe).train)


def reference_models(recipe: DataRecipe) -> dict[str, Model]:
    """Return the models that are not learned from a Hankel matrix, name -> model: uniform, n-gram
    and, if known, the true model.
    """
    if not recipe.upload:
        return _generated_references(recipe)
    return (_uploaded_references if _in_a_session() else _count_uploaded_references)(recipe).value


@st.cache_resource(max_entries=16, show_spinner="Counting n-grams…", hash_funcs=KEYED)
def _generated_references(recipe: DataRecipe) -> dict[str, Model]:
    return experiment.reference_models(data(recipe), NGRAM_ORDER)


@st.cache_resource(
    max_entries=4,
    scope="session",
    show_spinner="Counting n-grams…",
    hash_funcs=KEYED,
    on_release=trim_later,
)
def _uploaded_references(recipe: DataRecipe) -> Shared[dict[str, Model]]:
    return _count_uploaded_references(recipe)


def _count_uploaded_references(recipe: DataRecipe) -> Shared[dict[str, Model]]:
    return _shared_value(
        "references", recipe, lambda: experiment.reference_models(data(recipe), NGRAM_ORDER)
    )


@st.cache_resource(max_entries=16, show_spinner="Scoring the reference models…", hash_funcs=KEYED)
def references(recipe: DataRecipe) -> dict[str, Scores]:
    return {
        name: evaluate(model, data(recipe).test) for name, model in reference_models(recipe).items()
    }


@st.cache_resource(max_entries=64, show_spinner="Scoring single strings…", hash_funcs=KEYED)
def run_string_scores(recipe: Recipe) -> StringScores:
    """Compute the contribution of each test string to a finished run's scores.

    Raises RecipeError if there is no such run.
    """
    return string_scores(finished(recipe.key()).model, data(recipe.data).test)


@st.cache_resource(max_entries=64, show_spinner="Scoring single strings…", hash_funcs=KEYED)
def reference_string_scores(recipe: DataRecipe, name: str) -> StringScores:
    """Compute the contribution of each test string to a reference model's scores."""
    return string_scores(reference_models(recipe)[name], data(recipe).test)


@st.cache_resource(max_entries=64, show_spinner="Computing perplexities…", hash_funcs=KEYED)
def conventions(recipe: Recipe) -> Table:
    """Make the table of a finished run's perplexity by each convention.

    Raises RecipeError if there is no such run.
    """
    return conventions_of(finished(recipe.key()), data(recipe.data))


@st.cache_data(max_entries=256, show_spinner="Resampling the test strings…", hash_funcs=KEYED)
def score_intervals(recipe: Recipe) -> dict[str, Interval]:
    """Compute the intervals of a finished run's scores, by resampling the test strings."""
    return run_intervals(finished(recipe.key()).scores, run_string_scores(recipe))


@st.cache_data(max_entries=256, show_spinner="Resampling the test strings…", hash_funcs=KEYED)
def is_level(first: Recipe, second: Recipe, field: str) -> bool:
    """Return whether the test strings leave open which of two finished runs has the better score;
    False if they can't be paired.
    """
    try:
        difference = paired_differences(run_string_scores(first), run_string_scores(second))[field]
        return leader(field, difference) in ("level", "no verdict")
    except (RecipeError, KeyError):
        return False


@st.cache_data(max_entries=256, show_spinner="Resampling the test strings…", hash_funcs=KEYED)
def lead_over_reference(recipe: Recipe, field: str) -> str:
    """Return a sentence that compares a finished run with the n-gram on its test strings; empty if
    they can't be compared.
    """
    name = next((name for name in reference_models(recipe.data) if name.endswith("-gram")), "")
    try:
        models = run_string_scores(recipe), reference_string_scores(recipe.data, name)
        differences = paired_differences(*models)
    except (RecipeError, KeyError):
        return ""
    if field not in differences:
        return ""
    values = models[0].estimates[field], models[1].estimates[field]
    return lead_sentence(
        (recipe.title, name), values, differences[field], field, models[0].has_truth
    )
