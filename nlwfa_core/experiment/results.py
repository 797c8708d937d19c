"""Define the result of a run, and its folder with a model and `result.json`, whose presence marks the folder as complete."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import RecipeError, check_at_least
from ..files import MAX_JSON_BYTES, from_json, read_capped, to_json, write_atomically
from ..learning.learners import FitReport
from ..learning.progress import TrainingLog
from ..metrics.diagnostics import Diagnostics, diagnostics
from ..metrics.scores import Scores, names_today
from ..models.files import LearnedModel, SavedModel, load_model, save_model
from ..models.mixture import Mixture
from ..models.ngram import NGram
from ..sources.registry import SOURCES
from ..strings.words import Alphabet
from .recipe import Recipe

# The parts of `Result.seconds` that add up to the whole.
RUN_STAGES = ("data", "hankel", "learning", "scores")


@dataclass(frozen=True, eq=False)
class Result:
    """The result of a run.

    Attributes
    ----------
    recipe : Recipe
    model : WFA, NLWFA or RecurrentModel
    alphabet : Alphabet
    report : FitReport
    scores : Scores
        On the test set.
    validation : Scores or None
        On the validation set, for choosing a rank or options; None without such a set.
    notes : tuple of str
        Sentences for the user about the data, the basis and the learning.
    seconds : dict
        Stage -> its wall time.
    diagnostics : Diagnostics
        The diagnosis of the model, computed once, by the process that learned it.
    num_train : int or None
        The number of strings that the model was learned from; None if they came from a file and an older version saved the result.
    """

    recipe: Recipe
    model: LearnedModel
    alphabet: Alphabet
    report: FitReport
    scores: Scores
    validation: Scores | None
    notes: tuple[str, ...]
    seconds: dict[str, float]
    diagnostics: Diagnostics
    num_train: int | None = None


def save_result(directory: Path, result: Result, sync: bool = True) -> None:
    """Write a result's folder: its model, then `result.json`. `sync` is that of `files.write_atomically`."""
    save_model(directory, SavedModel(result.model, result.alphabet, {"recipe": result.recipe.model_dump(mode="json")}), sync)
    record = {
        "recipe": result.recipe.model_dump(mode="json"),
        "report": asdict(result.report),
        "scores": asdict(result.scores),
        "validation": asdict(result.validation) if result.validation else None,
        "notes": result.notes,
        "seconds": result.seconds,
        "diagnostics": asdict(result.diagnostics),
        "num_train": result.num_train,
    }
    write_atomically(directory / "result.json", to_json(record).encode(), sync)


def load_result(directory: Path) -> Result:
    """Read a result from its folder, without importing torch. Raises RecipeError if the folder does not hold a valid result."""
    record = from_json(read_capped(directory / "result.json", MAX_JSON_BYTES))
    saved = load_model(directory)
    if isinstance(saved.model, (Mixture, NGram)):
        kind = "a mixture" if isinstance(saved.model, Mixture) else "an n-gram"
        raise RecipeError(f"the model in {directory} is {kind}; a run of a recipe has a single model with states")
    try:
        report = _report_of(record["report"])
        scores = _scores_of(record["scores"])
        validation = _scores_of(record["validation"]) if record["validation"] else None
        notes, seconds = tuple(record["notes"]), dict(record["seconds"])
        recipe = Recipe.model_validate(record["recipe"])
        stored = record.get("diagnostics")  # version 0.1 did not store them
        health = _diagnostics_of(stored) if stored else diagnostics(saved.model, scores, report)
        draws = SOURCES[recipe.data.source].generator is not None  # and so learns from as many strings as the recipe says
        num_train = _number(record.get("num_train", recipe.data.num_strings if draws else None))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise RecipeError(f"result.json in {directory} is not a valid result: {error}") from None
    return Result(recipe, saved.model, saved.alphabet, report, scores, validation, notes, seconds, health, num_train)


def _scores_of(record: dict[str, Any]) -> Scores:
    scores = Scores(**{name: _number(value) for name, value in names_today(record).items()})
    check_at_least("num_words", scores.num_words, 1)
    return scores


def _diagnostics_of(record: dict[str, Any]) -> Diagnostics:
    numbers = {name: _number(value) for name, value in record.items() if name != "warnings"}
    return Diagnostics(**numbers, warnings=tuple(map(str, record["warnings"])))


def _report_of(record: dict[str, Any]) -> FitReport:
    values = record["singular_values"]
    logs = []
    for log in record["logs"]:
        numbers = {"losses": np.array([_number(x) for x in log["losses"]]), "gradient": _number(log.get("gradient", "nan"))}
        logs.append(TrainingLog(**{**log, **numbers}))
    return FitReport(
        **{
            **record,
            "singular_values": None if values is None else np.array(values),
            "logs": tuple(logs),
            "messages": tuple(record["messages"]),
            "start_errors": tuple(map(_number, record.get("start_errors", ()))),
        }
    )


def _number(value: Any) -> Any:
    """Read a number, None, or a string that stands for ∞ or nan in JSON. Raises TypeError for anything else."""
    if isinstance(value, str):
        return float(value)
    if value is None or isinstance(value, int | float):
        return value
    raise TypeError(f"expected a number; got {str(value)[:60]}")
