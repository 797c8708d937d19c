"""Write the table of a sweep: a CSV file that is written while the sweep runs, with a row for each
run that has ended.

A run that failed also has a row, with its settings and the reason. The column `strings` has the
number of strings that the recipe asks for (it is empty if it asks for all of a file), and
`training_strings` has the number that the model was learned from. This can be smaller: a file may
have fewer strings, and some are set aside for validation and test. Numbers have full precision; ∞
is written as inf, and an unknown number is empty. With intervals, each score on the test strings
has two more columns for the ends of its interval, such as `wer_low` and `wer_high` (see
`metrics.intervals`).
"""

from __future__ import annotations

import csv
import os
from collections.abc import Collection, Mapping
from dataclasses import asdict, fields
from functools import lru_cache
from pathlib import Path
from time import monotonic

from .. import limits
from ..files import make_directory, write_atomically
from ..learning.progress import TrainingLog
from ..metrics.intervals import SCORES_WITH_INTERVALS, intervals, string_scores
from ..metrics.score_table import Scores
from ..metrics.tables import csv_text
from ..metrics.testset import TestSet
from ..sources.registry import GENERATORS
from .datasets import Files, load_data
from .recipe import LEARNING_SEEDS, Recipe, flat
from .results import RUN_STAGES, Result

SCORE_COLUMNS = tuple(field.name for field in fields(Scores))
STAGES = ("factorisation", "transitions", "refinement")
# Each row has its run's settings, its scores on test and on validation strings, the properties of
# its model and of the training, its seconds, and the reason if it failed.
RUN_COLUMNS = ("key", "learner", "rank", "statistic", "transform", "strings", "seed")
MODEL_COLUMNS = (
    "training",
    "training_strings",
    "num_states",
    "spectral_radius",
    "total_mass",
    *(f"loss_{stage}" for stage in STAGES),
)
LAST_COLUMNS = ("seconds_learning", "seconds", "warnings", "error")
# Prefixes with targets are not validation strings.
VALIDATION_COLUMNS = tuple(
    f"validation_{name}" for name in SCORE_COLUMNS if not name.startswith("prefix_")
)
COLUMNS = (*RUN_COLUMNS, *SCORE_COLUMNS, *VALIDATION_COLUMNS, *MODEL_COLUMNS, *LAST_COLUMNS)
INTERVAL_COLUMNS = tuple(
    f"{name}_{end}" for name in SCORES_WITH_INTERVALS for end in ("low", "high")
)
# The file is written when this share of its rows is new, or after this many seconds: at once while
# there are few rows.
NEW_SHARE = 0.01
SECONDS_BETWEEN_WRITES = 1.0

Cell = str | float | None


class SweepTable:
    """A table that grows while a sweep runs. At any moment, the file has only whole rows, in the
    order of the sweep's recipes.

    `path`: the file. Its folder is made when the table is first written. If it is a symbolic link,
    the file that it points to is written. `recipes`: key -> recipe, for every run of the sweep.
    `files`: a function SHA-256 of an uploaded file -> its bytes. If it is passed, the test strings
    are loaded again, and two more columns for each score hold the ends of its confidence interval.
    """

    def __init__(
        self, path: Path, recipes: Mapping[str, Recipe], files: Files | None = None
    ) -> None:
        self._path = path
        self._recipes = recipes
        self._columns = COLUMNS if files is None else (*COLUMNS, *INTERVAL_COLUMNS)
        self._test_strings = (
            None
            if files is None
            else lru_cache(maxsize=1)(lambda recipe: load_data(recipe, files).test)
        )
        self._rows: dict[str, str] = {}
        self._num_new = 0
        self._last_written = monotonic()

    def add(self, key: str, outcome: Result | str) -> None:
        """Add a run's row to the table in memory. `outcome` is the run's result, or the reason why
        it failed.

        Raises RecipeError if the row has intervals, and the run's test strings can't be read.
        """
        values = _values(key, self._recipes[key], outcome)
        if self._test_strings is not None and isinstance(outcome, Result):
            values |= _ends(outcome, self._test_strings(outcome.recipe.data))
        self._rows[key] = csv_text([[values.get(column) for column in self._columns]])
        self._num_new += 1

    def write_if_due(self) -> None:
        """Write the file if NEW_SHARE of all rows are new, or if a second has passed since it was
        last written.

        A power cut can lose rows that were written in this way, but killing the process can't.
        """
        enough = self._num_new >= NEW_SHARE * len(self._rows)
        if self._num_new and (enough or monotonic() - self._last_written >= SECONDS_BETWEEN_WRITES):
            self.write(sync=False)

    def write(self, sync: bool = True) -> None:
        """Write the file, whole or not at all; `sync` is that of `files.write_atomically`.

        Raises RecipeError if that fails.
        """
        if not self._rows:  # an earlier table, if any, stays
            return
        make_directory(self._path.parent)
        text = csv_text([self._columns]) + "".join(
            self._rows[key] for key in self._recipes if key in self._rows
        )
        write_atomically(Path(os.path.realpath(self._path)), text.encode(), sync)
        self._num_new = 0
        self._last_written = monotonic()


def num_rows_of_others(path: Path, keys: Collection[str]) -> int | None:
    """Count the rows of an existing table that belong to no run of a sweep, and would be lost if
    the sweep wrote its table there.

    Returns 0 if the file does not exist, and None if it is not the table of a sweep.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.reader(file)
            if next(rows, [])[: len(RUN_COLUMNS)] != [*RUN_COLUMNS]:
                return None
            return sum(row[0] not in keys for row in rows if row)
    except FileNotFoundError:
        return 0
    except (OSError, UnicodeDecodeError, csv.Error):
        return None


def settings_in_words(recipe: Recipe) -> str:
    """Name a run by its main settings.

    >>> settings_in_words(Recipe())
    'SP, k = 10, string statistic, 20,000 strings'
    >>> settings_in_words(Recipe().with_learner("fac.non", 3))
    'fac.non, k = 3, string statistic, 20,000 strings, seed 0'
    """
    learning = recipe.learning
    hankel = recipe.hankel
    words = [recipe.title]
    if learning.needs_hankel:
        words.append(
            f"{hankel.statistic} statistic"
            + ("" if hankel.transform == "none" else f", transform {hankel.transform}")
        )
    number = _num_strings(recipe)
    words.append("all strings" if number is None else f"{number:,} strings")
    if not set(LEARNING_SEEDS).isdisjoint(flat(recipe)):
        words.append(f"seed {recipe.seed}")
    return ", ".join(words)


def _num_strings(recipe: Recipe) -> int | None:
    """Return the number of training strings that a recipe asks for; None if it asks for all strings
    of a file.
    """
    is_drawn = recipe.data.source in GENERATORS
    return (
        recipe.data.num_strings
        if is_drawn or recipe.data.num_strings < limits.most("generated_strings")
        else None
    )


def _ends(result: Result, test: TestSet) -> dict[str, Cell]:
    """Return the ends of the intervals of a run's scores on its test strings; None for a score
    without an interval.
    """
    ends = intervals(string_scores(result.model, test, result.scores.floor))
    return {
        f"{name}_{end}": getattr(one, end) if one.is_known else None
        for name, one in ends.items()
        for end in ("low", "high")
    }


def _values(key: str, recipe: Recipe, outcome: Result | str) -> dict[str, Cell]:
    options = flat(recipe)
    values: dict[str, Cell] = {
        "key": key,
        "learner": options["learner"],
        "rank": options["rank"],
        "statistic": options.get("statistic"),
        "transform": options.get("transform"),
        "strings": _num_strings(recipe),
        "seed": recipe.seed,
    }
    if isinstance(outcome, str):
        return values | {"error": outcome}
    health = outcome.diagnostics
    report = outcome.report
    values |= asdict(outcome.scores)
    if outcome.validation is not None:
        values |= {
            f"validation_{name}": value for name, value in asdict(outcome.validation).items()
        }
    values |= {
        "training": report.training,
        "training_strings": outcome.num_train,
        "num_states": report.num_states,
    }
    values |= {"spectral_radius": health.spectral_radius, "total_mass": health.total_mass}
    values |= {f"loss_{log.stage}": _smallest_loss(log) for log in report.logs}
    values |= {"seconds_learning": outcome.seconds.get("learning")}
    values |= {"seconds": sum(outcome.seconds.get(stage, 0.0) for stage in RUN_STAGES)}
    return values | {"warnings": " ".join((*health.warnings, *health.notes))}


def _smallest_loss(log: TrainingLog) -> float | None:
    """Return the smallest loss of a training run, which is the loss of the model, since a training
    run returns its best weights.
    """
    return float(log.losses.min()) if len(log.losses) else None
