"""From a recipe to a result: data, Hankel matrix, learning, scores. Also the reference lines, and the choice of a rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from .baselines import NGram, Uniform
from .data import Data, Files, load_data, no_files
from .errors import RecipeError
from .hankel import HankelMatrix, estimate_hankel, select_basis
from .learning.learners import Fit, FitReport, fit
from .learning.progress import CancelCheck, Progress, Report, TrainingLog, check_cancelled, never, silent
from .metrics import Model, Scores, TestSet, evaluate
from .nlwfa import NLWFA
from .recipe import HankelRecipe, LearningRecipe, Recipe
from .store import MAX_JSON_BYTES, SavedModel, from_json, load_model, read_capped, save_model, to_json, write_atomically
from .wfa import WFA
from .words import Alphabet, Sample

RANK_METRICS = ("wer", "log2_pauto")


@dataclass(frozen=True, eq=False)
class Result:
    """What a recipe led to.

    Attributes
    ----------
    recipe : Recipe
    model : WFA or NLWFA
    alphabet : Alphabet
    report : FitReport
    scores : Scores
        On the test set.
    notes : tuple of str
        Sentences for the user: about the data, the basis and the learning.
    seconds : dict
        Stage -> wall time.
    """

    recipe: Recipe
    model: WFA | NLWFA
    alphabet: Alphabet
    report: FitReport
    scores: Scores
    notes: tuple[str, ...]
    seconds: dict[str, float]


def build_hankel(train: Sample, recipe: HankelRecipe) -> HankelMatrix:
    """Basis by frequency, then the estimate."""
    return estimate_hankel(train, select_basis(train, recipe.num_prefixes, recipe.num_suffixes), recipe.statistic)


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


def fit_recipe(hankel: HankelMatrix, recipe: LearningRecipe, report: Report = silent, cancelled: CancelCheck = never) -> Fit:
    """`learning.learners.fit` with a recipe's options."""
    return fit(hankel, **dict(recipe), report=report, cancelled=cancelled)


def run(recipe: Recipe, report: Report = silent, cancelled: CancelCheck = never, files: Files = no_files) -> Result:
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

    Raises
    ------
    RecipeError
        If the recipe can't be followed.
    Cancelled
    """
    seconds: dict[str, float] = {}
    started = perf_counter()

    def stage(name: str) -> None:
        nonlocal started
        seconds[name] = perf_counter() - started
        started = perf_counter()
        check_cancelled(cancelled)

    report(Progress("data", 0, 1))
    data = load_data(recipe.data, files)
    stage("data")
    report(Progress("hankel", 0, 1))
    hankel = build_hankel(data.train, recipe.hankel)
    stage("hankel")
    learned = fit_recipe(hankel, recipe.learning, report, cancelled)
    stage("learning")
    report(Progress("scores", 0, 1))
    scores = evaluate(learned.model, data.test)
    stage("scores")
    notes = data.notes + basis_notes(hankel, recipe.hankel) + learned.report.messages
    return Result(recipe, learned.model, data.alphabet, learned.report, scores, notes, seconds | learned.report.seconds)


def reference_scores(data: Data, ngram_order: int) -> dict[str, Scores]:
    """What curves are judged against: the uniform model, an n-gram of the training strings, the true model where it is known."""
    models: dict[str, Model] = {
        "uniform": Uniform(data.train.num_symbols),
        f"{ngram_order}-gram": NGram.fit(data.train, ngram_order),
    }
    scores = {name: evaluate(model, data.test) for name, model in models.items()}
    if data.true_model is not None:
        scores["true model"] = evaluate(data.true_model, data.test)
    return scores


@dataclass(frozen=True)
class RankSelection:
    """The rank that did best on validation strings.

    Attributes
    ----------
    rank : int
    metric : str
    scores : tuple of (rank, Scores)
        Every rank that was tried, in the order given.
    """

    rank: int
    metric: str
    scores: tuple[tuple[int, Scores], ...]


def select_rank(
    train: Sample,
    validation: TestSet,
    ranks: Sequence[int],
    *,
    metric: str = "wer",
    hankel: HankelRecipe | None = None,
    learning: LearningRecipe | None = None,
    report: Report = silent,
    cancelled: CancelCheck = never,
) -> RankSelection:
    """Learn with every rank, score on validation strings, take the best, as the paper does ([P] §5).

    A score that is not finite is worse than any finite one; among these fewer impossible words win, then the smaller rank.

    Raises
    ------
    RecipeError
        If a rank is not possible, the list is empty, or the metric unknown.
    """
    if metric not in RANK_METRICS:
        raise RecipeError(f"metric: {metric!r} given, allowed: {', '.join(RANK_METRICS)}")
    if not ranks:
        raise RecipeError("ranks: none given, at least one needed")
    options = learning or LearningRecipe()
    recipes = [options.changed(rank=rank) for rank in ranks]  # all ranks are checked before the first is learned
    matrix = build_hankel(train, hankel or HankelRecipe())
    scores = []
    for number, recipe in enumerate(recipes):
        report(Progress("ranks", number, len(recipes)))
        scores.append((recipe.rank, evaluate(fit_recipe(matrix, recipe, report, cancelled).model, validation)))

    def badness(entry: tuple[int, Scores]) -> tuple[float, int, int]:
        value = getattr(entry[1], metric)
        return (float(value) if np.isfinite(value) else np.inf, entry[1].num_zero, entry[0])

    return RankSelection(min(scores, key=badness)[0], metric, tuple(scores))


def save_result(directory: Path, result: Result) -> None:
    """Write a result's folder: its model, and `result.json`, which comes last and so marks the folder as whole."""
    report = asdict(result.report)
    save_model(directory, SavedModel(result.model, result.alphabet, {"recipe": result.recipe.model_dump(mode="json")}))
    record = {
        "recipe": result.recipe.model_dump(mode="json"),
        "report": report,
        "scores": asdict(result.scores),
        "notes": result.notes,
        "seconds": result.seconds,
    }
    write_atomically(directory / "result.json", to_json(record).encode())


def load_result(directory: Path) -> Result:
    """Read a result's folder back; torch is not needed. Raises RecipeError if it does not hold one."""
    record = from_json(read_capped(directory / "result.json", MAX_JSON_BYTES))
    saved = load_model(directory)
    try:
        report = _report_of(record["report"])
        scores = Scores(**{name: _number(value) for name, value in record["scores"].items()})
        notes, seconds = tuple(record["notes"]), dict(record["seconds"])
        recipe = Recipe.model_validate(record["recipe"])
    except (KeyError, TypeError, ValueError) as error:
        raise RecipeError(f"result.json in {directory} is not a result: {error}") from None
    return Result(recipe, saved.model, saved.alphabet, report, scores, notes, seconds)


def _report_of(record: dict[str, Any]) -> FitReport:
    values = record["singular_values"]
    logs = [TrainingLog(log["stage"], np.array([_number(x) for x in log["losses"]]), log["diverged_at"]) for log in record["logs"]]
    return FitReport(
        **{
            **record,
            "singular_values": None if values is None else np.array(values),
            "logs": tuple(logs),
            "messages": tuple(record["messages"]),
        }
    )


def _number(value: Any) -> Any:
    """Back from the strings that stand for ∞ and nan."""
    return float(value) if isinstance(value, str) else value
