"""Results that are shipped: all that lessons and presets need are there, small, sound, and what the library computes today."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from nlwfa_core.experiment.pipeline import run
from nlwfa_core.experiment.presets import PRESETS
from nlwfa_core.experiment.results import Result, load_result
from nlwfa_core.jobs.runner import Runner
from nlwfa_core.lab.lessons import read_lessons
from nlwfa_core.lab.shipped import ASSETS, make_results, shipped_recipes

RESULTS = ASSETS / "results"
LESSONS = tuple(read_lessons(ASSETS / "lessons").values())
WANTED = shipped_recipes(LESSONS)
# Linear models take no time. Networks are trained again too, but those alone that a moment suffices for.
QUICK = [
    key
    for key, recipe in WANTED.items()
    if recipe.refinement.objective == "none" and (recipe.learning.learner == "SP" or recipe.data.num_strings <= 2_000)
]
# How near scores come on any processor, by whether the model is linear. Linear ones differ in the thirteenth digit, these networks
# by 1e-6 at most (docs/method-notes.md).
TOLERANCES = {True: 1e-9, False: 1e-5}


def assert_same_scores(scores: dict[str, Any], kept: Result, near: float) -> None:
    for name, value in scores.items():
        expected = getattr(kept.scores, name)
        assert value == (expected if expected is None else pytest.approx(expected, rel=near, abs=near, nan_ok=True)), name


def test_all_that_is_wanted_is_there_and_nothing_else() -> None:
    assert {path.name for path in RESULTS.iterdir()} == set(WANTED)
    for lesson in LESSONS:
        assert {recipe.key() for step in lesson.steps for recipe in step.models} <= set(WANTED)
    assert all(recipe.key() in WANTED for _, recipe in PRESETS.values() if recipe.data.source != "upload")


def test_they_are_small() -> None:
    assert sum(path.stat().st_size for path in RESULTS.rglob("*")) < 3 * 2**20


@pytest.mark.parametrize("key", WANTED)
def test_each_holds_its_own_recipe(key: str) -> None:
    assert load_result(RESULTS / key).recipe.key() == key


@pytest.mark.parametrize("key", QUICK)
def test_scores_are_the_same_today(key: str) -> None:
    assert_same_scores(
        dataclasses.asdict(run(WANTED[key]).scores), load_result(RESULTS / key), TOLERANCES[WANTED[key].learning.learner == "SP"]
    )


def test_the_runner_finds_them_and_writes_elsewhere(tmp_path) -> None:  # type: ignore[no-untyped-def]
    runner = Runner(tmp_path, num_workers=1, shipped=RESULTS)
    try:
        key = next(iter(WANTED))
        status = runner.status(key)
        assert status is not None and status.state == "done"
        assert runner.result(key).recipe.key() == key
        runner.submit(WANTED[key], "somebody")
        assert not runner.pids and not (tmp_path / "runs").exists()
    finally:
        runner.close()


def test_what_is_missing_is_made_and_what_nobody_wants_goes(tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "old").mkdir()
    few = [dataclasses.replace(LESSONS[1], steps=LESSONS[1].steps[4:5])]
    presets = {recipe.key() for recipe in shipped_recipes([]).values()}
    for key in presets:
        (tmp_path / key).mkdir()
        (tmp_path / key / "result.json").write_text(json.dumps({}), encoding="utf-8")
    assert make_results(tmp_path, few) == ["SP, k = 5, dyck", "SP, k = 10, dyck"] and make_results(tmp_path, few) == []
    assert not (tmp_path / "old").exists()
