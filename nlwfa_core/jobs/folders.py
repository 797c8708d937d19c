"""Find, read and tidy the folders of finished runs on disk, each named by its recipe's key."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from pathlib import Path

from ..errors import RecipeError
from ..experiment.recipe import Recipe
from ..experiment.results import RUN_STAGES, Result, load_result
from ..files import MAX_JSON_BYTES, SHA256, from_json, read_capped
from ..models.model_files import MODEL_FILES
from .job import Job

log = logging.getLogger(__name__)


class RunFolders:
    """Finds the folders of runs in one folder or, if they are not there, in the read-only folder
    that is shipped with the lab.
    """

    def __init__(self, folder: Path, shipped: Path | None = None) -> None:
        self._folder = folder
        self._shipped = shipped or folder

    def folder(self, key: str) -> Path:
        """Return the folder to which a run's result is written."""
        return self._folder / key

    def tidy(self, key: str) -> None:
        """Remove files that a process left unfinished when it died: see
        `files.write_atomically`.
        """
        with suppress(OSError):
            for unfinished in self.folder(key).glob(".*"):
                unfinished.unlink()

    def has(self, key: str) -> bool:
        if SHA256.fullmatch(key) is None:
            return False
        # a page asks for more than a hundred, and Path takes twice as long
        return any(
            os.path.exists(f"{folder}/{key}/result.json")  # noqa: PTH110
            for folder in (self._shipped, self._folder)
        )

    def _existing(self, key: str) -> Path:
        return (
            self._shipped / key
            if (self._shipped / key / "result.json").exists()
            else self._folder / key
        )

    def result(self, key: str) -> Result:
        """Read a run's result from disk. Raises RecipeError if there is none."""
        if not self.has(key):
            raise RecipeError("There is no result of this experiment yet: run it first.")
        return load_result(self._existing(key))

    def job(self, key: str) -> Job | None:
        """Make a finished job from a run's folder, without loading the model; None if there is no
        folder or it is damaged.
        """
        if not self.has(key):
            return None
        folder = self._existing(key)
        try:
            record = from_json(read_capped(folder / "result.json", MAX_JSON_BYTES))
            recipe = Recipe.model_validate(record["recipe"])
            seconds = sum(float(record["seconds"].get(stage, 0.0)) for stage in RUN_STAGES)
            if not all((folder / name).exists() for name in MODEL_FILES):
                raise RecipeError("its model is missing")
        # RecipeError is a ValueError
        except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
            log.warning("%s does not hold a valid result: %s", folder, error)
            return None
        return Job(key, recipe, state="done", seconds=seconds)
