"""From a recipe to a result: data, Hankel matrix, learning, scores. Also the reference lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from ..hankel.basis import select_basis
from ..hankel.estimate import estimate_hankel
from ..hankel.matrix import HankelMatrix, bounded_sample
from ..hankel.transforms import transformed
from ..learning.learners import Fit, FitReport, fit
from ..learning.opponents import fit_opponent
from ..learning.progress import CancelCheck, Progress, Report, check_cancelled, never, silent
from ..learning.steps import Kept, Refinement
from ..metrics.diagnostics import diagnostics
from ..metrics.scores import evaluate
from ..models.files import LearnedModel
from ..models.model import Model
from ..models.ngram import NGram, Uniform
from ..models.recurrent import RecurrentModel
from ..models.wfa import WFA, mass_messages
from ..strings.sample import Sample
from ..threads import on_one_thread
from .data import Data, Files, load_data, no_files
from .recipe import DataRecipe, HankelRecipe, LearningRecipe, Recipe
from .results import Result


def build_hankel(train: Sample, recipe: HankelRecipe) -> HankelMatrix:
    """Basis by frequency, the estimate, and its transform."""
    sample = bounded_sample(train, recipe.statistic) if recipe.bounded else train
    basis = select_basis(sample, recipe.num_prefixes, recipe.num_suffixes, recipe.statistic)
    return transformed(estimate_hankel(sample, basis, recipe.statistic, recipe.bounded), recipe.transform)


def basis_notes(hankel: HankelMatrix, recipe: HankelRecipe) -> tuple[str, ...]:
    """A sentence each if the sample has fewer prefixes or suffixes than the recipe asks for."""
    numbers = (("prefixes", recipe.num_prefixes, hankel.num_prefixes), ("suffixes", recipe.num_suffixes, hankel.num_suffixes))
    return tuple(
        f"{requested:,} {name} were asked for; the sample has {available:,}, and all are used."
        for name, requested, available in numbers
        if available < requested
    )


Strings = tuple[Sample, Sample | None]  # for training, and to stop by


def fit_recipe(
    recipe: Recipe,
    hankel: HankelMatrix,
    strings: Strings | None = None,
    cache: Kept | None = None,
    report: Report = silent,
    cancelled: CancelCheck = never,
) -> Fit:
    """Fit a recipe's learner to a Hankel matrix: the one place where a recipe becomes the options of `learning.learners.fit`."""
    refinement = Refinement(**dict(recipe.refinement))
    options = dict(recipe.learning)
    return fit(hankel, **options, refinement=refinement, strings=strings, kept=cache, report=report, cancelled=cancelled)


@dataclass(frozen=True, eq=False)
class Prepared:
    """What learning starts from. Recipes that differ in their learning part alone share it.

    Attributes
    ----------
    recipe : DataRecipe
    hankel_recipe : HankelRecipe
    data : Data
    hankel : HankelMatrix or None
        None for opponents, which need none.
    seconds : dict
        "data" and "hankel" -> wall time.
    cache : Kept
        What learners have computed from the matrix.
    """

    recipe: DataRecipe
    hankel_recipe: HankelRecipe
    data: Data
    hankel: HankelMatrix | None
    seconds: dict[str, float]
    cache: Kept = field(default_factory=Kept)

    def fits(self, recipe: Recipe) -> bool:
        """Whether a recipe starts from this."""
        if recipe.learning.is_opponent:
            return self.recipe == recipe.data
        return self.hankel is not None and (self.recipe, self.hankel_recipe) == (recipe.data, recipe.hankel)


def prepare(
    recipe: Recipe, report: Report = silent, cancelled: CancelCheck = never, files: Files = no_files, data: Data | None = None
) -> Prepared:
    """Make a recipe's data and, for learners, its Hankel matrix: the first two stages of `run`, with its parameters and errors."""
    check_cancelled(cancelled)
    started = perf_counter()
    report(Progress("data", 0, 1))
    data = data or load_data(recipe.data, files)
    check_cancelled(cancelled)
    middle = perf_counter()
    hankel = None
    if not recipe.learning.is_opponent:
        report(Progress("hankel", 0, 1))
        hankel = build_hankel(data.train, recipe.hankel)
    return Prepared(recipe.data, recipe.hankel, data, hankel, {"data": middle - started, "hankel": perf_counter() - middle})


@on_one_thread
def run(
    recipe: Recipe,
    report: Report = silent,
    cancelled: CancelCheck = never,
    files: Files = no_files,
    prepared: Prepared | None = None,
    data: Data | None = None,
) -> Result:
    """Run a whole experiment: data, Hankel matrix, learning, scores, diagnostics.

    Parameters
    ----------
    recipe : Recipe
    report : callable
        Called with a Progress at every stage and epoch.
    cancelled : callable
        Asked at every stage and epoch; true stops the run.
    files : callable
        Content hash -> bytes, for recipes with uploads.
    prepared : Prepared, optional
        From `prepare`; not used if it belongs to another recipe.
    data : Data, optional
        Strings to use in place of those that the recipe describes.

    Raises
    ------
    RecipeError
        If the recipe can't be followed.
    Cancelled
    """
    if prepared is None or not prepared.fits(recipe):
        prepared = prepare(recipe, report, cancelled, files, data)
    data, hankel = prepared.data, prepared.hankel
    check_cancelled(cancelled)
    started = perf_counter()
    report(Progress("learning", 0, 1))
    strings = (data.train, data.validation.sample if data.validation else None)
    model: LearnedModel
    if recipe.learning.is_opponent or hankel is None:
        (model, learned), notes = _fit_opponent(recipe.learning, strings, report, cancelled), data.notes
    else:
        fitted = fit_recipe(recipe, hankel, strings, prepared.cache, report, cancelled)
        model, learned, notes = fitted.model, fitted.report, data.notes + basis_notes(hankel, recipe.hankel)
    check_cancelled(cancelled)
    middle = perf_counter()
    report(Progress("scores", 0, 1))
    scores = evaluate(model, data.test)
    validation = evaluate(model, data.validation) if data.validation else None
    check_cancelled(cancelled)
    seconds = prepared.seconds | {"learning": middle - started, "scores": perf_counter() - middle} | learned.seconds
    sound = diagnostics(model, scores, learned)
    return Result(recipe, model, data.alphabet, learned, scores, validation, notes + learned.messages, seconds, sound)


class Workbench:
    """Runs one recipe after another, and keeps data, Hankel matrix and the learners' cache for the next one that starts from them.

    Attributes
    ----------
    prepared : Prepared or None
        Of the last recipe; set it to None to free its memory.
    """

    def __init__(self) -> None:
        self.prepared: Prepared | None = None

    def run(self, recipe: Recipe, report: Report = silent, cancelled: CancelCheck = never, files: Files = no_files) -> Result:
        """As `run`."""
        if self.prepared is None or not self.prepared.fits(recipe):
            data = self.prepared.data if self.prepared and self.prepared.recipe == recipe.data else None
            self.prepared = None  # not two at once in memory
            self.prepared = prepare(recipe, report, cancelled, files, data)
        return run(recipe, report, cancelled, prepared=self.prepared)


def _fit_opponent(
    recipe: LearningRecipe, strings: Strings, report: Report, cancelled: CancelCheck
) -> tuple[LearnedModel, FitReport]:
    train, validation = strings
    options: dict[str, Any] = {"seed": recipe.seed, "validation": validation, "report": report, "cancelled": cancelled}
    model = fit_opponent(recipe.learner, train, recipe.rank, **options)
    assert isinstance(model, WFA | RecurrentModel)
    radius = model.spectral_radius if isinstance(model, WFA) else None
    return model, FitReport(recipe.learner, recipe.rank, model.num_states, None, None, radius, (), mass_messages(model), {})


def reference_models(data: Data, ngram_order: int) -> dict[str, Model]:
    """What curves are judged against: the uniform model, an n-gram of the training strings, the true model where it is known."""
    models: dict[str, Model] = {"uniform": Uniform(data.train.num_symbols)}
    models[f"{ngram_order}-gram"] = NGram.fit(data.train, ngram_order)
    return models if data.true_model is None else models | {"true model": data.true_model}
