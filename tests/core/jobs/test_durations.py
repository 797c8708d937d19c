"""When what waits will start."""

from __future__ import annotations

import pytest

from nlwfa_core import limits
from nlwfa_core.experiment.recipe import DataRecipe, Recipe
from nlwfa_core.jobs.job import Job
from nlwfa_core.jobs.runner import Durations
from tests.core.records import learning_of


def job(
    seed: int = 0, rank: int = 2, learner: str = "SP", state: str = "queued", seconds: float = 0.0
) -> Job:
    recipe = Recipe(data=DataRecipe(seed=seed), learning=learning_of(learner, rank, seed=seed))
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
    assert durations.until_done([job(), job(1), job(2)], 2) == 15
    assert durations.until_done([], 2) == 0
    assert durations.until_done([job(), job(learner="fac.non")], 2) is None


def test_what_has_been_done_is_not_left(monkeypatch: pytest.MonkeyPatch) -> None:
    durations = Durations()
    durations.note(job(state="done", seconds=10))
    running = job()
    running.begin()
    monkeypatch.setattr("nlwfa_core.jobs.job.monotonic", lambda: running.started + 4)
    assert durations.left(running) == 6
    monkeypatch.setattr("nlwfa_core.jobs.job.monotonic", lambda: running.started + 40)
    assert durations.left(running) == 0


def test_a_job_has_its_time_without_that_of_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(limits.IN_FORCE, "training_seconds", 600)
    running = job()
    assert running.overtime is None  # it waits
    running.begin()
    began = running.started

    def at(seconds: float, held: bool | None = None) -> str | None:
        monkeypatch.setattr("nlwfa_core.jobs.job.monotonic", lambda: began + seconds)
        if held is not None:
            running.note(
                {"progress": ["factorisation", 1, 10, 0.5, "loss"], "losses": [], "held": held}
            )
        return running.overtime

    assert at(599) is None
    assert at(599, held=True) is None
    assert at(5000) is None
    assert at(5000, held=False) is None
    assert str(at(5002)).startswith(
        "Stopped: the run has taken 601 seconds, and at most 600 are allowed here. Try fewer epochs"
    )
    running.end("done")
    assert running.overtime is None


def test_new_runs_take_as_long_as_those_of_their_kind_on_as_many_cores_as_there_are() -> None:
    durations = Durations()
    assert durations.of([job()], 2) is None and durations.of([], 2) is None
    durations.note_old(job(state="done", seconds=10))
    assert durations.of([job(1)], 2) == 10 and durations.of([job(), job(1), job(2)], 2) == 15
    assert durations.of([job(), job(learner="fac.non")], 2) is None
    # what is known stays: it may come from this server
    durations.note_old(job(state="done", seconds=40))
    assert durations.of([job()], 1) == 10
