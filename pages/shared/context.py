"""Compute what a page needs from its recipe: strings, Hankel matrix, SVD, references, finished runs
and scores, each on first use.

A page builds one `Context` and hands it down; views pass its values on to functions of the library
that take values. All visitors share the caches of these values, one for each kind of value. What
else a page computes or draws from them is in one cache, `computed`. A cache hashes the keys of
recipes, never an array. This module does not start the job runner.

Uploaded strings may be large, and few visitors share them. So values made from them are in memory
only while one of the sessions that use them is connected; all other values stay until newer ones
replace them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from nlwfa_core import (
    DataRecipe,
    HankelRecipe,
    Recipe,
    RecipeError,
    evaluate,
    information_criteria,
    select_basis,
)
from nlwfa_core.display import pairs
from nlwfa_core.display.lens import MAX_SINGULAR_VALUES, Matrix, MatrixChoice
from nlwfa_core.experiment.datasets import Data, load_data, no_files
from nlwfa_core.experiment.pipeline import reference_models
from nlwfa_core.experiment.results import Result
from nlwfa_core.hankel.boundary import hankel_alphabet
from nlwfa_core.hankel.estimate import build_hankel
from nlwfa_core.hankel.matrix import HankelMatrix
from nlwfa_core.jobs.folders import RunFolders
from nlwfa_core.learning.learners import LEARNERS
from nlwfa_core.learning.spectral import TruncatedSVD, hankel_svd
from nlwfa_core.metrics.criteria import InformationCriteria
from nlwfa_core.metrics.intervals import Interval, StringScores, intervals, string_scores
from nlwfa_core.metrics.score_table import Scores
from nlwfa_core.metrics.testset import TestSet
from nlwfa_core.models.model import Model
from nlwfa_core.models.ngram import NGRAM_ORDER
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import Alphabet, Words
from pages.shared import sidebar
from pages.shared.contents import uploads
from pages.shared.server import SHIPPED, home, trim_later, trim_memory

Value = TypeVar("Value")


def page_context(title: str, text: str) -> Context:
    """Draw a page's heading. Return the context of the sidebar's recipe."""
    return Context(sidebar.page_recipe(title, text))


@dataclass(frozen=True, eq=False)
class Context:
    """Computes what follows from a recipe, each value on its first use.

    A context lives for one run of a page: it does not notice that a run ends in the meantime. A
    fragment takes the recipe and makes a context of its own, because Streamlit stores a fragment's
    arguments until the session ends, and uploaded strings would stay with them.
    """

    recipe: Recipe

    # Keys

    @cached_property
    def data_key(self) -> str:
        """Return the key of what depends on the strings alone."""
        return self.recipe.data.key()

    @cached_property
    def hankel_key(self) -> str:
        """Return the key of what depends on the strings and the Hankel matrix alone."""
        return f"{self.data_key} {self.matrix_recipe.key()}"

    @cached_property
    def run_key(self) -> str:
        """Return the key of the run."""
        return self.recipe.key()

    # Strings and Hankel matrix

    @cached_property
    def data(self) -> Data:
        """Return the strings. Raises RecipeError if they can't be read, or there is no file."""
        recipe = self.recipe.data
        if recipe.source == "upload" and not recipe.upload:
            raise RecipeError(
                "There are no strings yet: paste or upload your own on the Data page, or choose "
                "another source."
            )
        if not recipe.upload:
            return _generated_data(self.data_key, recipe)
        read = _uploaded_data if _is_in_session() else _read_uploaded_data
        return read(self.data_key, recipe).value

    @cached_property
    def matrix_recipe(self) -> HankelRecipe:
        """Return the recipe of the matrix: the run's own, or, where it reads none, that of the
        sidebar.
        """
        return self.recipe.hankel if self.recipe.needs_hankel else sidebar.matrix()

    @cached_property
    def hankel(self) -> HankelMatrix:
        return _hankel(self.hankel_key, self.data.train, self.matrix_recipe)

    @cached_property
    def svd(self) -> TruncatedSVD:
        """Return the largest singular values of H_λ, at most MAX_SINGULAR_VALUES, with their
        vectors.
        """
        return _svd(self.hankel_key, self.hankel)

    @cached_property
    def hankel_alphabet(self) -> Alphabet:
        """Return the alphabet of the matrix, with boundary symbols if it has them."""
        hankel = self.matrix_recipe
        return hankel_alphabet(self.data.train.alphabet, hankel.statistic, hankel.bounded)

    def matrix(self, choice: MatrixChoice) -> Matrix:
        """Return the matrix that the lens shows. Raises RecipeError if it can't be computed from
        the model.
        """
        return _matrix(self.hankel_key, choice, self.hankel, self.svd)

    def prefixes(self, number: int) -> Words:
        """Return the most frequent prefixes of the training strings, for any statistic of the
        Hankel matrix.
        """
        return computed(_most_frequent_prefixes, self.data_key, self.data.train, number=number)

    # Models and scores

    @cached_property
    def result(self) -> Result | None:
        """Return the finished run, no matter who started it; None if there is none yet, or its
        files are damaged.
        """
        if not run_folders().has(self.run_key):
            return None
        with suppress(RecipeError):
            return finished(self.run_key)
        return None

    @cached_property
    def results(self) -> dict[str, Result]:
        """Return the finished runs that differ only in the learner, learner -> run."""
        results = {learner: self.with_learner(learner).result for learner in LEARNERS}
        return {learner: result for learner, result in results.items() if result is not None}

    @property
    def default_learner(self) -> str:
        """Return the sidebar's learner if it has a result, otherwise the first one that has one."""
        learner = self.recipe.learning.learner
        return learner if learner in self.results else next(iter(self.results))

    def with_learner(self, learner: str) -> Context:
        """Return the context of the run of another learner.

        Options that the sidebar's recipe does not have are those that the sidebar remembers.
        """
        return Context(sidebar.of_learner(self.recipe, learner, sidebar.hidden_options()))

    @cached_property
    def references(self) -> dict[str, Model]:
        """Return the models that are not learned from a Hankel matrix, name -> model: uniform,
        n-gram and, if known, the true model.
        """
        if not self.recipe.data.upload:
            return _generated_references(self.data_key, self.data)
        count = _uploaded_references if _is_in_session() else _count_uploaded_references
        return count(self.data_key, self.data).value

    @cached_property
    def reference_scores(self) -> dict[str, Scores]:
        return _reference_scores(self.data_key, self.references, self.data.test)

    @cached_property
    def string_scores(self) -> StringScores:
        """Return the contribution of each test string to the run's scores.

        Raises RecipeError if the run is not finished.
        """
        return _string_scores(self.run_key, finished(self.run_key).model, self.data.test)

    def reference_string_scores(self, name: str) -> StringScores:
        """Return the contribution of each test string to a reference model's scores."""
        return _string_scores(f"{self.data_key} {name}", self.references[name], self.data.test)

    @cached_property
    def score_intervals(self) -> dict[str, Interval]:
        """Return the intervals of the run's scores. Raises RecipeError if it is not finished."""
        finished(self.run_key)
        return _resampled(intervals, self.run_key, self.string_scores)

    @property
    def criteria(self) -> InformationCriteria:
        """Return AIC and BIC of the run on its training strings. Raises RecipeError if it is not
        finished.
        """
        return _criteria(self.run_key, self)

    def lead_over_ngram(self, field: str) -> str:
        """Return a sentence that compares the run with the n-gram on the test strings; empty if
        they can't be compared.
        """
        name = f"{NGRAM_ORDER}-gram"
        try:
            return _resampled(
                pairs.lead_over,
                self.run_key,
                self.string_scores,
                self.reference_string_scores(name),
                names=(self.recipe.title, f"the {name}"),
                field=field,
            )
        except RecipeError:
            return ""


def is_level(first: Context, second: Context, field: str) -> bool:
    """Return whether the test strings leave open which of two finished runs has the better score;
    False if they can't be paired.
    """
    key = f"{first.run_key} {second.run_key}"
    try:
        return _resampled(
            pairs.is_level, key, first.string_scores, second.string_scores, field=field
        )
    except RecipeError:
        return False


def computed(function: Callable[..., Value], key: str, *values: Any, **options: Any) -> Value:
    """Return `function(*values, **options)`, computed once for all visitors.

    Parameters
    ----------
    function : callable
        A function of a module: the cache knows it by its name.
    key : str
        Identifies the values together, for example `Context.hankel_key` for a matrix and its SVD.
        The cache does not look at the values themselves.
    options : hashable by Streamlit
    """
    name = f"{function.__module__}.{function.__qualname__}"
    value: Value = _computed(name, key, options, lambda: function(*values, **options))
    return value


# A page has up to six of these; the largest are pictures of matrices, with a megabyte each.
@st.cache_resource(max_entries=64, show_spinner=False)
def _computed(name: str, key: str, options: dict[str, Any], _compute: Callable[[], Value]) -> Value:
    return _compute()


# Numbers and sentences, which are small.
@st.cache_data(max_entries=512, show_spinner="Resampling the test strings…")
def _resampled_value(
    name: str, key: str, options: dict[str, Any], _compute: Callable[[], Value]
) -> Value:
    return _compute()


def _resampled(function: Callable[..., Value], key: str, *values: Any, **options: Any) -> Value:
    value: Value = _resampled_value(
        function.__name__, key, options, lambda: function(*values, **options)
    )
    return value


@st.cache_resource(max_entries=64, show_spinner=False)
def finished(key: str) -> Result:
    """Read a finished run from disk. Raises RecipeError if there is none."""
    return run_folders().result(key)


def run_folders() -> RunFolders:
    """Return the folders of finished runs."""
    return RunFolders(home() / "runs", SHIPPED)


@st.cache_resource(max_entries=16, show_spinner="Reading the strings…")
def _generated_data(key: str, _recipe: DataRecipe) -> Data:
    return load_data(_recipe, no_files)


@st.cache_resource(max_entries=16, show_spinner="Counting into the Hankel matrix…")
def _hankel(key: str, _train: Sample, _recipe: HankelRecipe) -> HankelMatrix:
    return build_hankel(_train, _recipe)


@st.cache_resource(max_entries=16, show_spinner="Decomposing…")
def _svd(key: str, _matrix: HankelMatrix) -> TruncatedSVD:
    return hankel_svd(_matrix, MAX_SINGULAR_VALUES)


@st.cache_resource(max_entries=16, show_spinner="Computing the matrix…")
def _matrix(key: str, choice: MatrixChoice, _hankel: HankelMatrix, _svd: TruncatedSVD) -> Matrix:
    model = finished(choice.model).model if choice.model else None
    return choice.matrix(_hankel, _svd, model)


@st.cache_resource(max_entries=16, show_spinner="Counting n-grams…")
def _generated_references(key: str, _data: Data) -> dict[str, Model]:
    return reference_models(_data, NGRAM_ORDER)


@st.cache_resource(max_entries=16, show_spinner="Scoring the reference models…")
def _reference_scores(key: str, _references: dict[str, Model], _test: TestSet) -> dict[str, Scores]:
    return {name: evaluate(model, _test) for name, model in _references.items()}


@st.cache_resource(max_entries=64, show_spinner="Scoring single strings…")
def _string_scores(key: str, _model: Model, _test: TestSet) -> StringScores:
    return string_scores(_model, _test)


# A few numbers for each of a comparison's runs.
@st.cache_data(max_entries=1000, show_spinner="Computing AIC and BIC…")
def _criteria(key: str, _context: Context) -> InformationCriteria:
    return information_criteria(finished(key).model, _context.data.train)


def _most_frequent_prefixes(train: Sample, number: int) -> Words:
    return select_basis(train, number, 1).prefixes


# Values of uploaded strings


class Shared(Generic[Value]):
    """Holds a value for all sessions that use it.

    It is freed when none of their caches holds it any more.
    """

    def __init__(self, value: Value) -> None:
        self.value = value


# The values that sessions' caches hold at this moment.
_shared: WeakValueDictionary[tuple[str, str], Shared[Any]] = WeakValueDictionary()
_computing: defaultdict[tuple[str, str], Lock] = defaultdict(Lock)


def _shared_value(kind: str, key: str, compute: Callable[[], Value]) -> Shared[Value]:
    """Return the value that another session's cache holds, or compute it, only once even if several
    sessions need it now.
    """
    with _computing[kind, key]:
        value = _shared.get((kind, key))
        if value is None:
            value = _shared[kind, key] = Shared(compute())
            trim_memory()  # computing needs several times the memory of the value
        return value


def _is_in_session() -> bool:
    """Return whether a page calls this, not the thread of a download, which has no session and so
    no session's cache.
    """
    return get_script_run_ctx(suppress_warning=True) is not None


@st.cache_resource(
    max_entries=4, scope="session", show_spinner="Reading the strings…", on_release=trim_later
)
def _uploaded_data(key: str, _recipe: DataRecipe) -> Shared[Data]:
    return _read_uploaded_data(key, _recipe)


def _read_uploaded_data(key: str, recipe: DataRecipe) -> Shared[Data]:
    return _shared_value("data", key, lambda: load_data(recipe, uploads().get))


@st.cache_resource(
    max_entries=4, scope="session", show_spinner="Counting n-grams…", on_release=trim_later
)
def _uploaded_references(key: str, _data: Data) -> Shared[dict[str, Model]]:
    return _count_uploaded_references(key, _data)


def _count_uploaded_references(key: str, data: Data) -> Shared[dict[str, Model]]:
    return _shared_value("references", key, lambda: reference_models(data, NGRAM_ORDER))
