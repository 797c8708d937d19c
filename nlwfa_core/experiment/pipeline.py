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
from ..metrics.scores import evaluate
from ..models.files import LearnedModel
from ..models.model import Model
from ..models.ngram import NGram, Uniform
from ..models.recurrent import RecurrentModel
from ..models.wfa import WFA, mass_messages
from ..strings.sample import Sample
from ..threads import on_one_thread
from .data import Data, Files, load_data, no_files
from .recipe import DataRecipe, HankelRecipe, LearningRecipe, Recipe, RefinementRecipe
from .results import Result


def build_hankel(train: Sample, recipe: HankelRecipe) -> HankelMatrix:
    """Basis by frequency, the estimate, and its transform."""
    sample = bounded_sample(train, recipe.statistic) if recipe.bounded else train
    basis = select_basis(sample, recipe.num_prefixes, recipe.num_suffixes, recipe.statistic)
    return transformed(estimate_hankel(sample, basis, recipe.statistic, recipe.bounded), recipe.transform)


def basis_notes(hankel: HankelMatrix, recipe: HankelRecipe) -> tuple[str, ...]:
    """Sentences where the sample has fewer prefixes or suffixes than were asked for."""
    notes = []
    for name, asked, found in (
        ("prefixes", recipe.num_prefixes, hankel.num_prefixes),
        ("suffixes", recipe.num_suffixes, hankel.num_suffixes),
    ):
        if found < asked:
            notes.append(f"{asked:,} {name} were asked for; the sample has {found:,}, and all are used.")
    return tuple(notes)


Strings = tuple[Sample, Sample | None]  # for training, and to stop by


def fit_recipe(
    hankel: HankelMatrix,
    recipe: LearningRecipe,
    refinement: RefinementRecipe | None = None,
    strings: Strings | None = None,
    kept: Kept | None = None,
    report: Report = silent,
    cancelled: CancelCheck = never,
) -> Fit:
    """`learning.learners.fit` with a recipe's options."""
    third = Refinement(**dict(refinement)) if refinement else Refinement()
    return fit(hankel, **dict(recipe), refinement=third, strings=strings, kept=kept, report=report, cancelled=cancelled)


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
    kept : Kept
        What learners keep of the matrix.
    """

    recipe: DataRecipe
    hankel_recipe: HankelRecipe
    data: Data
    hankel: HankelMatrix | None
    seconds: dict[str, float]
    kept: Kept = field(default_factory=Kept)

    def fits(self, recipe: Recipe) -> bool:
        """Whether a recipe starts from this."""
        if recipe.learning.is_opponent:
            return self.recipe == recipe.data
        return self.hankel is not None and (self.recipe, self.hankel_recipe) == (recipe.data, recipe.hankel)


def prepare(
    recipe: Recipe, report: Report = silent, cancelled: CancelCheck = never, files: Files = no_files, data: Data | None = None
) -> Prepared:
    """Data and, for learners, Hankel matrix, the first two stages of `run`; parameters and errors are the same.

    The recipe's data may be given, where they are at hand.
    """
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
) -> Result:
    """A whole experiment.

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
        From `prepare`, where it is at hand; not used if it is another recipe's.

    Raises
    ------
    RecipeError
        If the recipe can't be followed.
    Cancelled
    """
    if prepared is None or not prepared.fits(recipe):
        prepared = prepare(recipe, report, cancelled, files)
    data, hankel = prepared.data, prepared.hankel
    check_cancelled(cancelled)
    started = perf_counter()
    report(Progress("learning", 0, 1))
    strings = (data.train, data.validation.sample if data.validation else None)
    model: LearnedModel
    if recipe.learning.is_opponent or hankel is None:
        (model, learned), notes = _fit_opponent(recipe.learning, strings, report, cancelled), data.notes
    else:
        fitted = fit_recipe(hankel, recipe.learning, recipe.refinement, strings, prepared.kept, report, cancelled)
        model, learned, notes = fitted.model, fitted.report, data.notes + basis_notes(hankel, recipe.hankel)
    check_cancelled(cancelled)
    middle = perf_counter()
    report(Progress("scores", 0, 1))
    scores = evaluate(model, data.test)
    validation = evaluate(model, data.validation) if data.validation else None
    check_cancelled(cancelled)
    seconds = prepared.seconds | {"learning": middle - started, "scores": perf_counter() - middle} | learned.seconds
    return Result(recipe, model, data.alphabet, learned, scores, validation, notes + learned.messages, seconds)


class Workbench:
    """Runs one recipe after the other; data, Hankel matrix and what learners keep of it stay for the next, if it starts from them.

    Attributes
    ----------
    prepared : Prepared or None
        Of the last recipe; may be thrown away.
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
