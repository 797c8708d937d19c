"""Run a recipe: strings, Hankel matrix, learning, scores, diagnostics. Also make the models that
results are compared with.

Commands, pages, workers, sweeps and the paper's experiments all run recipes through this module.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter

from ..errors import check_types
from ..hankel.estimate import build_hankel
from ..hankel.matrix import HankelMatrix
from ..hankel.recipe import HankelRecipe
from ..learning.fitting import fit
from ..learning.progress import CancelCheck, Progress, Report, check_cancelled, never, silent
from ..learning.two_steps import FitCache
from ..metrics.diagnostics import diagnostics
from ..metrics.evaluate import evaluate
from ..models.model import Model
from ..models.ngram import NGram, Uniform
from ..rounding import on_one_thread
from .datasets import Data, Files, load_data, no_files
from .notes import basis_notes
from .recipe import DataRecipe, Recipe
from .results import Result


def validation_notes(recipe: Recipe, data: Data) -> tuple[str, ...]:
    """Tell the user how training ends, and which model it keeps, without validation strings."""
    if data.validation is not None:
        return ()
    learner = recipe.learning.learner
    if not recipe.learning.from_hankel:
        return (
            f"Without validation strings, {learner} is not stopped early: it trains for all "
            "its epochs.",
        )
    if recipe.learning.refinement == "likelihood":
        return (
            "Without validation strings, the refinement by likelihood keeps the epoch that "
            "is best on the training strings: "
            "it may fit them too closely.",
        )
    return ()


@dataclass(frozen=True, eq=False)
class Prepared:
    """The data and Hankel matrix from which learning starts. All recipes with the same `DataRecipe`
    and `HankelRecipe` share them.

    Attributes
    ----------
    recipe : DataRecipe
    hankel_recipe : HankelRecipe
    data : Data
    hankel : HankelMatrix or None
        None if the learner uses no Hankel matrix.
    seconds : dict
        "data" and "hankel" -> the wall time that they took.
    cache : FitCache
        Intermediate results of learning from this matrix, which other learners and ranks can use.
    """

    recipe: DataRecipe
    hankel_recipe: HankelRecipe
    data: Data
    hankel: HankelMatrix | None
    seconds: dict[str, float]
    cache: FitCache = field(default_factory=FitCache)

    def fits(self, recipe: Recipe) -> bool:
        """Return whether a recipe starts from this data and this matrix."""
        if not recipe.learning.needs_hankel:
            return self.recipe == recipe.data
        return self.hankel is not None and (self.recipe, self.hankel_recipe) == (
            recipe.data,
            recipe.hankel,
        )


@check_types
def prepare(
    recipe: Recipe,
    report: Report = silent,
    cancelled: CancelCheck = never,
    files: Files = no_files,
    data: Data | None = None,
) -> Prepared:
    """Make a recipe's data and, if its learner needs one, its Hankel matrix. Parameters and errors
    are those of `run`.

    >>> from nlwfa_core import DataRecipe, HankelRecipe, Recipe, prepare
    >>> recipe = Recipe(
    ...     data=DataRecipe(num_strings=100), hankel=HankelRecipe(num_prefixes=10, num_suffixes=8)
    ... )
    >>> prepare(recipe).hankel.block.shape
    (10, 8)
    """
    check_cancelled(cancelled)
    started = perf_counter()
    report(Progress("data", 0, 1))
    data = data or load_data(recipe.data, files)
    check_cancelled(cancelled)
    middle = perf_counter()
    hankel = None
    if recipe.learning.needs_hankel:
        report(Progress("hankel", 0, 1))
        hankel = build_hankel(data.train, recipe.hankel)
    return Prepared(
        recipe.data,
        recipe.hankel,
        data,
        hankel,
        {"data": middle - started, "hankel": perf_counter() - middle},
    )


@check_types
@on_one_thread
def run(
    recipe: Recipe,
    report: Report = silent,
    cancelled: CancelCheck = never,
    files: Files = no_files,
    prepared: Prepared | None = None,
    data: Data | None = None,
) -> Result:
    """Run an experiment from the strings to the scores.

    >>> from nlwfa_core import DataRecipe, HankelRecipe, Recipe, options
    >>> small = HankelRecipe(num_prefixes=10, num_suffixes=10)
    >>> result = run(
    ...     Recipe(
    ...         data=DataRecipe(num_strings=300),
    ...         hankel=small,
    ...         learning=options("SP", rank=3),
    ...     )
    ... )
    >>> result.model.num_states, 0 < result.scores.wer < 1
    (3, True)

    Parameters
    ----------
    recipe : Recipe
    report : callable
        Called with a Progress in every stage and epoch.
    cancelled : callable
        Called in every stage and epoch; if it returns true, the run stops.
    files : callable
        SHA-256 of an uploaded file -> its bytes.
    prepared : Prepared, optional
        The result of `prepare`. It is ignored if its data or matrix is not the recipe's.
    data : Data, optional
        Strings to use instead of those that the recipe describes.

    Raises
    ------
    RecipeError
        If the recipe can't be run.
    Cancelled
        If `cancelled()` returns true.
    """
    if prepared is None or not prepared.fits(recipe):
        prepared = prepare(recipe, report, cancelled, files, data)
    data = prepared.data
    hankel = prepared.hankel
    check_cancelled(cancelled)
    started = perf_counter()
    report(Progress("learning", 0, 1))
    validation_strings = data.validation.sample if data.validation else None
    notes = data.notes
    if hankel is not None and recipe.learning.needs_hankel:
        fitted = fit(
            hankel,
            recipe.learning,
            strings=data.train,
            validation=validation_strings,
            cache=prepared.cache,
            report=report,
            cancelled=cancelled,
        )
        notes += basis_notes(hankel, recipe.hankel)
    else:
        fitted = fit(
            data.train,
            recipe.learning,
            validation=validation_strings,
            cache=prepared.cache,
            report=report,
            cancelled=cancelled,
        )
    model = fitted.model
    learned = fitted.report
    notes += validation_notes(recipe, data)
    check_cancelled(cancelled)
    middle = perf_counter()
    report(Progress("scores", 0, 1))
    scores = evaluate(model, data.test)
    validation = evaluate(model, data.validation) if data.validation else None
    check_cancelled(cancelled)
    seconds = (
        prepared.seconds
        | {"learning": middle - started, "scores": perf_counter() - middle}
        | learned.seconds
    )
    health = diagnostics(model, scores, learned)
    notes += learned.messages
    return Result(
        recipe,
        model,
        data.alphabet,
        learned,
        scores,
        validation,
        notes,
        seconds,
        health,
        data.train.num_strings,
    )


class Workbench:
    """Runs recipes one after another, and reuses the data and the Hankel matrix if the next recipe
    needs the same ones.

    `prepared`: the data and matrix of the last recipe. Set it to None to free their memory.
    """

    def __init__(self) -> None:
        self.prepared: Prepared | None = None

    def run(
        self,
        recipe: Recipe,
        report: Report = silent,
        cancelled: CancelCheck = never,
        files: Files = no_files,
    ) -> Result:
        """Run a recipe as the function `run` does, with the same parameters (except `prepared` and
        `data`) and errors.
        """
        if self.prepared is None or not self.prepared.fits(recipe):
            data = (
                self.prepared.data
                if self.prepared and self.prepared.recipe == recipe.data
                else None
            )
            self.prepared = None  # so that there are never two in memory
            self.prepared = prepare(recipe, report, cancelled, files, data)
        return run(recipe, report, cancelled, prepared=self.prepared)


@check_types
def reference_models(data: Data, ngram_order: int) -> dict[str, Model]:
    """Make the models that others are compared with: uniform, an n-gram of the training strings
    and, if known, the true model.

    >>> from nlwfa_core import DataRecipe, load_data
    >>> list(reference_models(load_data(DataRecipe(num_strings=300)), 3))
    ['uniform', '3-gram', 'true model']
    """
    models: dict[str, Model] = {"uniform": Uniform(data.train.num_symbols, data.alphabet)}
    models[f"{ngram_order}-gram"] = NGram.fit(data.train, ngram_order)
    return models if data.true_model is None else models | {"true model": data.true_model}
