"""A result's folder: what is written is read again, and what is not a result is refused by the name
of the field.
"""

from __future__ import annotations

import gc
import json
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nlwfa_core import RecipeError
from nlwfa_core.experiment.pipeline import run
from nlwfa_core.experiment.results import Result, load_result, save_result
from nlwfa_core.files import plain
from tests.core.small import recipe_of


@pytest.fixture(scope="module")
def result() -> Result:
    return run(recipe_of(learner="fac.non"))


@pytest.fixture(scope="module")
def folder(result: Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("result")
    save_result(folder, result)
    return folder


def test_every_number_comes_back(folder: Path, result: Result) -> None:
    there = load_result(folder)
    here = result
    for name in ("report", "scores", "diagnostics"):
        assert plain(asdict(getattr(there, name))) == plain(asdict(getattr(here, name)))
    assert all(
        isinstance(log.losses, np.ndarray) and log.losses.dtype == float
        for log in there.report.logs
    )
    assert (there.recipe, there.notes, there.num_train) == (here.recipe, here.notes, here.num_train)


def put(*path: str | int, value: object) -> Callable[[Any], None]:
    def change(record: Any) -> None:
        for name in path[:-1]:
            record = record[name]
        record[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            put("scores", value=None),
            r"scores: Input should be a dictionary or an instance of Scores",
        ),
        (put("scores", "wer", value=[0.1]), r"scores\.wer: Input should be a valid number"),
        (
            put("scores", "wer", value="low"),
            r"scores\.wer: Input should be a valid number, unable to parse",
        ),
        (put("scores", "num_words", value=0), r"scores: num_words must be at least 1; got 0"),
        (
            put("scores", "num_words", value=10**400),
            r"scores: num_words must be between 0 and 9,007,199,254,740,991; got 10,000",
        ),
        (
            put("validation", "num_zero", value=-1),
            r"validation: num_zero must be between 0 and 9,007,199,254,740,991; got -1",
        ),
        (put("scores", "speed", value=1), r"scores\.speed: Unexpected keyword argument"),
        (put("notes", value=[{"evil": 1}]), r"notes\.0: Input should be a valid string"),
        (
            put("seconds", "learning", value=-1),
            r"seconds\.learning: Input should be greater than or equal to 0",
        ),
        (
            put("seconds", "learning", value="nan"),
            r"seconds\.learning: Input should be greater than or equal to 0",
        ),
        (
            put("report", "messages", value=[3]),
            r"report\.messages\.0: Input should be a valid string",
        ),
        (
            put("report", "logs", 0, "losses", value=[1, "<b>"]),
            r"report: losses must be a list of numbers",
        ),
        (put("report", "logs", value=7), r"report\.logs: Input should be a valid tuple"),
        (
            put("report", "singular_values", value="many"),
            r"report: singular_values must be a list of numbers",
        ),
        (
            put("diagnostics", "short_length", value=1.5),
            r"diagnostics\.short_length: Input should be a valid integer",
        ),
        (
            put("recipe", "data", "num_strings", value=-3),
            r"recipe: data\.num_strings must be at least 1; got -3$",
        ),
        (put("program", value="rm"), r"program: Extra inputs are not permitted"),
    ],
)
def test_what_is_not_a_result_is_refused(
    folder: Path, tmp_path: Path, change: Callable[[Any], None], message: str
) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(folder, broken)
    record = json.loads((broken / "result.json").read_text())
    change(record)
    (broken / "result.json").write_text(json.dumps(record))
    with pytest.raises(
        RecipeError, match=f"^result.json in .*broken is not a valid result: {message}"
    ):
        load_result(broken)


def test_refused_results_leave_nothing_in_memory(folder: Path, tmp_path: Path) -> None:
    """pydantic's errors hide cycles from Python's garbage collection."""
    broken = tmp_path / "broken"
    shutil.copytree(folder, broken)
    record = json.loads((broken / "result.json").read_text())
    record["recipe"]["data"]["num_strings"] = -3
    (broken / "result.json").write_text(json.dumps(record))

    def objects_after(refusals: int) -> int:
        for _ in range(refusals):
            with pytest.raises(RecipeError):
                load_result(broken)
        gc.collect()
        return len(gc.get_objects())

    before = objects_after(10)
    assert objects_after(60) < before + 50  # with a cycle, each refusal leaves some fifty
