"""When what waits will start."""

from __future__ import annotations

import pytest

from nlwfa_core.durations import Durations
from nlwfa_core.queueing import Job
from nlwfa_core.recipe import DataRecipe, LearningRecipe, Recipe


def job(seed: int = 0, rank: int = 2, learner: str = "SP", state: str = "queued", seconds: float = 0.0) -> Job:
    recipe = Recipe(data=DataRecipe(seed=seed), learning=LearningRecipe(learner=learner, rank=rank, seed=seed))
    return Job("k", recipe, state=state, seconds=seconds)


def test_jobs_that_differ_in_seed_and_rank_take_as_long() -> None:
    durations = Durations()
    assert durations.left(job()) is None
    durations.note(job(state="failed", seconds=1))
    assert durations.left(job()) is None
    durations.note(job(state="done", seconds=10))
    assert durations.left(job(seed=3, rank=7)) == 10
    assert durations.left(job(learner="fac.non")) is None
    durations.note(job(seed=1, state="done", seconds=20))
    assert durations.left(job()) == 15


def test_workers_share_what_waits() -> None:
    durations = Durations()
    durations.note(job(state="done", seconds=10))
    assert durations.until([job(), job(1), job(2)], 2) == 15
    assert durations.until([], 2) == 0
    assert durations.until([job(), job(learner="fac.non")], 2) is None


def test_what_has_been_done_is_not_left(monkeypatch: pytest.MonkeyPatch) -> None:
    durations = Durations()
    durations.note(job(state="done", seconds=10))
    running = job()
    running.begin()
    monkeypatch.setattr("nlwfa_core.queueing.monotonic", lambda: running.started + 4)
    assert durations.left(running) == 6
    monkeypatch.setattr("nlwfa_core.queueing.monotonic", lambda: running.started + 40)
    assert durations.left(running) == 0
