"""Runs that are done, on disk: a folder each, named by its recipe's key."""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import Path

from ..errors import RecipeError
from ..experiment.results import Result, load_result
from ..files import SHA256
from .job import Job

# The parts of `Result.seconds` that add up to the whole.
RUN_STAGES = ("data", "hankel", "learning", "scores")

log = logging.getLogger(__name__)


class Finished:
    """The folders below one folder, and those that came with the lab, which are only read."""

    def __init__(self, folder: Path, shipped: Path | None = None) -> None:
        self._folder = folder
        self._shipped = shipped or folder

    def folder(self, key: str) -> Path:
        """Where a run goes."""
        return self._folder / key

    def tidy(self, key: str) -> None:
        """Remove what a process that died was writing: see `files.write_atomically`."""
        with suppress(OSError):
            for unfinished in self.folder(key).glob(".*"):
                unfinished.unlink()

    def has(self, key: str) -> bool:
        return SHA256.fullmatch(key) is not None and (self._found(key) / "result.json").exists()

    def _found(self, key: str) -> Path:
        return self._shipped / key if (self._shipped / key / "result.json").exists() else self._folder / key

    def result(self, key: str) -> Result:
        """The result, read from disk. Raises RecipeError if there is none."""
        if not self.has(key):
            raise RecipeError("There is no result of this experiment: run it first.")
        return load_result(self._found(key))

    def job(self, key: str) -> Job | None:
        """A job that is done, made from a result on disk; None if there is no sound one."""
        if not self.has(key):
            return None
        try:
            result = load_result(self._found(key))
        except RecipeError as error:
            log.warning("this folder does not hold a sound result: %s", error)
            return None
        return Job(key, result.recipe, state="done", seconds=sum(result.seconds.get(stage, 0.0) for stage in RUN_STAGES))
