"""From a recipe to a result: data, Hankel matrix, learning, scores. Also the reference lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter

from ..hankel.basis import select_basis
from ..hankel.estimate import estimate_hankel
from ..hankel.matrix import HankelMatrix, bounded_sample
from ..hankel.transforms import transformed
from ..learning.learners import Fit, FitCache, FitReport, fit, fit_strings
from ..learning.options import Options, Refinement
from ..learning.progress import CancelCheck, Progress, Report, check_cancelled, never, silent
from ..metrics.diagnostics import diagnostics
from ..metrics.scores import evaluate
from ..models.files import LearnedModel
from ..models.model import Model
from ..models.ngram import NGram, Uniform
from ..strings.sample import Sample
from ..threads import on_one_thread
from .data import Data, Files, load_data, no_files
from .recipe import DataRecipe, HankelRecipe, Recipe
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
        f"You asked for {requested:,} {name}; the sample has only {available:,}, so all of them are used."
        for name, requested, available in numbers
        if available < requested
    )


Strings = tuple[Sample, Sample | None]  # for training, and to stop by


def options_of(recipe: Recipe) -> Options:
    """What a recipe asks of its learner: the one place where it becomes the options of `learning.learners`."""
    return Options(**dict(recipe.learning), refinement=Refinement(**dict(recipe.refinement)))


def fit_recipe(
    recipe: Recipe,
    hankel: HankelMatrix,
    strings: Strings | None = None,
    cache: FitCache | None = None,
    report: Report = silent,
    cancelled: CancelCheck = never,
) -> Fit:
    """Fit a recipe's learner to a Hankel matrix."""
    return fit(hankel, options_of(recipe), strings=strings, cache=cache, report=report, cancelled=cancelled)


@dataclass(frozen=True, eq=False)
class Prepared:
    """What learning starts from. Recipes that differ in their learning part alone share it.

    Attributes
    ----------
    recipe : DataRecipe
    hankel_recipe : HankelRecipe
    data : Data
    hankel : HankelMatrix or None
        None for learners that need none.
    seconds : dict
        "data" and "hankel" -> wall time.
    cache : FitCache
        What learners have computed from the matrix.
    """

    recipe: DataRecipe
    hankel_recipe: HankelRecipe
    data: Data
    hankel: HankelMatrix | None
    seconds: dict[str, float]
    cache: FitCache = field(default_factory=FitCache)

    def fits(self, recipe: Recipe) -> bool:
        """Whether a recipe starts from this."""
        if not recipe.learning.kind.needs_hankel:
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
    if recipe.learning.kind.needs_hankel:
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
    learned: FitReport
    if hankel is not None and recipe.learning.kind.needs_hankel:
        fitted = fit_recipe(recipe, hankel, strings, prepared.cache, report, cancelled)
        model, learned, notes = fitted.model, fitted.report, data.notes + basis_notes(hankel, recipe.hankel)
    else:
        from_strings = fit_strings(strings[0], options_of(recipe), validation=strings[1], report=report, cancelled=cancelled)
        model, learned, notes = from_strings.model, from_strings.report, data.notes
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


def reference_models(data: Data, ngram_order: int) -> dict[str, Model]:
    """What curves are judged against: the uniform model, an n-gram of the training strings, the true model where it is known."""
    models: dict[str, Model] = {"uniform": Uniform(data.train.num_symbols)}
    models[f"{ngram_order}-gram"] = NGram.fit(data.train, ngram_order)
    return models if data.true_model is None else models | {"true model": data.true_model}
