"""Define the result of a run, and its folder with a model and `result.json`, whose presence marks
the folder as complete.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from .. import limits
from ..errors import RecipeError, check_at_least, check_between
from ..files import MAX_JSON_BYTES, from_json, read_capped, to_json, write_atomically
from ..learning.fitting import FitReport
from ..metrics.diagnostics import Diagnostics
from ..metrics.score_table import MAIN_SCORES, Scores
from ..metrics.tables import format_score
from ..models.mixture import Mixture
from ..models.model_files import LearnedModel, load, save
from ..models.ngram import NGram
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
    num_train : int
        The number of strings that the model was learned from.
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
    num_train: int

    def __repr__(self) -> str:
        """Write the model and its main scores on the test set."""
        main = (
            f"{score.short_title} {format_score(getattr(self.scores, score.field))}"
            for score in MAIN_SCORES
        )
        return f"<Result of {self.recipe.learning.learner}: {self.model!r}; {', '.join(main)}>"


NUMBERS = TypeAdapter(list[float])


def _with_array(record: object, name: str) -> object:
    """Read the numbers of a record's array. Raises ValueError if they are not numbers."""
    if not isinstance(record, dict) or record.get(name) is None:
        return record
    try:
        return {**record, name: np.array(NUMBERS.validate_python(record[name]))}
    except ValidationError:
        raise ValueError(f"{name} must be a list of numbers") from None


class StoredResult(BaseModel):
    """Defines what `result.json` holds. ∞ and nan are strings."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", frozen=True)

    recipe: Recipe
    report: FitReport
    scores: Scores
    validation: Scores | None
    notes: tuple[str, ...]
    seconds: dict[str, Annotated[float, Field(ge=0)]]
    diagnostics: Diagnostics
    num_train: Annotated[int, Field(ge=0)]

    @field_validator("report", mode="before")
    @classmethod
    def _read_arrays(cls, report: object) -> object:
        if not isinstance(report, dict) or not isinstance(report.get("logs"), list):
            return report
        logs = [_with_array(log, "losses") for log in report["logs"]]
        return _with_array({**report, "logs": logs}, "singular_values")

    @field_validator("scores", "validation")
    @classmethod
    def _check_counts(cls, scores: Scores | None) -> Scores | None:
        if scores is not None:
            check_at_least("num_words", scores.num_words, 1)
            for name in (field.name for field in fields(scores) if field.name.startswith("num_")):
                check_between(name, getattr(scores, name), 0, limits.LARGEST)
        return scores


def save_result(directory: Path, result: Result, sync: bool = True) -> None:
    """Write a result's folder: its model, then `result.json`.

    `sync` is that of `files.write_atomically`.
    """
    info = {"recipe": result.recipe.model_dump(mode="json")}
    save(result, directory, info, alphabet=result.alphabet, sync=sync)
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
    """Read a result from its folder, without importing torch.

    Raises RecipeError if the folder does not hold a valid result.
    """
    data = from_json(read_capped(directory / "result.json", MAX_JSON_BYTES))
    model = load(directory)
    assert model.alphabet is not None  # `load` sets it
    if isinstance(model, (Mixture, NGram)):
        kind = "a mixture" if isinstance(model, Mixture) else "an n-gram"
        raise RecipeError(
            f"the model in {directory} is {kind}; a run of a recipe has a single model with states"
        )
    try:
        record = StoredResult.model_validate(data)
    except ValidationError as error:
        raise RecipeError(
            f"result.json in {directory} is not a valid result: {first_error(error)}"
        ) from None
    return Result(
        record.recipe,
        model,
        model.alphabet,
        record.report,
        record.scores,
        record.validation,
        record.notes,
        record.seconds,
        record.diagnostics,
        record.num_train,
    )


def first_error(error: ValidationError) -> str:
    """Name the first field that is wrong, and state why.

    This is a function of its own because a frame that a traceback keeps must not hold the error of
    a nested recipe: the two would keep each other alive, and Python can't see such a cycle through
    pydantic's errors, so the memory would leak.
    """
    first = error.errors(include_url=False)[0]
    field_name = ".".join(map(str, first["loc"]))
    message = first["msg"].removeprefix("Value error, ")
    value = (
        "" if first["type"] in ("value_error", "missing") else f"; got {repr(first['input'])[:60]}"
    )
    return f"{field_name}: {message}{value}"
