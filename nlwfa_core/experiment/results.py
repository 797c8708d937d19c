"""What a recipe led to, and its folder on disk: a model, and `result.json`, which marks the folder as whole."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import RecipeError
from ..files import MAX_JSON_BYTES, from_json, read_capped, to_json, write_atomically
from ..learning.learners import FitReport
from ..learning.progress import TrainingLog
from ..metrics.diagnostics import Diagnostics, diagnostics
from ..metrics.scores import Scores
from ..models.files import LearnedModel, SavedModel, load_model, save_model
from ..strings.words import Alphabet
from .recipe import Recipe


@dataclass(frozen=True, eq=False)
class Result:
    """What a recipe led to.

    Attributes
    ----------
    recipe : Recipe
    model : WFA, NLWFA or RecurrentModel
    alphabet : Alphabet
    report : FitReport
    scores : Scores
        On the test set.
    validation : Scores or None
        On the validation set, for choices; None where there is no such set.
    notes : tuple of str
        Sentences for the user: about the data, the basis and the learning.
    seconds : dict
        Stage -> wall time.
    diagnostics : Diagnostics
        Whether the model is sound, made with it: nobody else need compute them.
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


def save_result(directory: Path, result: Result, sync: bool = True) -> None:
    """Write a result's folder: its model, then `result.json`, which marks it as whole. `sync` as in `write_atomically`."""
    save_model(directory, SavedModel(result.model, result.alphabet, {"recipe": result.recipe.model_dump(mode="json")}), sync)
    record = {
        "recipe": result.recipe.model_dump(mode="json"),
        "report": asdict(result.report),
        "scores": asdict(result.scores),
        "validation": asdict(result.validation) if result.validation else None,
        "notes": result.notes,
        "seconds": result.seconds,
        "diagnostics": asdict(result.diagnostics),
    }
    write_atomically(directory / "result.json", to_json(record).encode(), sync)


def load_result(directory: Path) -> Result:
    """Read a result's folder back; torch is not needed. Raises RecipeError if it does not hold one."""
    record = from_json(read_capped(directory / "result.json", MAX_JSON_BYTES))
    saved = load_model(directory)
    try:
        report = _report_of(record["report"])
        scores = _scores_of(record["scores"])
        validation = _scores_of(record["validation"]) if record["validation"] else None
        notes, seconds = tuple(record["notes"]), dict(record["seconds"])
        recipe = Recipe.model_validate(record["recipe"])
        stored = record.get("diagnostics")  # results from before version 0.2 have none
        sound = _diagnostics_of(stored) if stored else diagnostics(saved.model, scores, report)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise RecipeError(f"result.json in {directory} is not a result: {error}") from None
    return Result(recipe, saved.model, saved.alphabet, report, scores, validation, notes, seconds, sound)


def _scores_of(record: dict[str, Any]) -> Scores:
    scores = Scores(**{name: _number(value) for name, value in record.items()})
    if scores.num_words < 1:
        raise ValueError(f"num_words: {scores.num_words} given, at least 1 needed")
    return scores


def _diagnostics_of(record: dict[str, Any]) -> Diagnostics:
    numbers = {name: _number(value) for name, value in record.items() if name != "warnings"}
    return Diagnostics(**numbers, warnings=tuple(map(str, record["warnings"])))


def _report_of(record: dict[str, Any]) -> FitReport:
    values = record["singular_values"]
    logs = [TrainingLog(**{**log, "losses": np.array([_number(x) for x in log["losses"]])}) for log in record["logs"]]
    return FitReport(
        **{
            **record,
            "singular_values": None if values is None else np.array(values),
            "logs": tuple(logs),
            "messages": tuple(record["messages"]),
        }
    )


def _number(value: Any) -> Any:
    """Read a number, None, or one of the strings that JSON has for ∞ and nan. Raises TypeError for anything else."""
    if isinstance(value, str):
        return float(value)
    if value is None or isinstance(value, int | float):
        return value
    raise TypeError(f"{str(value)[:60]} given where a number is needed")
