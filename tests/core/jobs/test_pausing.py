"""Trainings that are held between epochs: what is computed stays the same, and nobody else waits
for it.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from time import monotonic, sleep

import pytest

from nlwfa_core import limits
from nlwfa_core.errors import RecipeError
from nlwfa_core.experiment.pipeline import run
from nlwfa_core.experiment.recipe import with_fields
from nlwfa_core.jobs import runner as jobs
from nlwfa_core.jobs.job import JobStatus
from nlwfa_core.jobs.runner import Runner
from nlwfa_core.models.model_files import save
from tests.core.jobs.test_runner import (
    endless,
    new_worker,
    over,
    pytestmark,
    recipe_of,
    runner,
    status,
    training,
)
from tests.waiting import PATIENCE_SECONDS, wait_for

__all__ = ["pytestmark", "runner"]


def held(runner: Runner, key: str) -> JobStatus:
    """Waits until a job is held."""
    wait_for(lambda: status(runner, key).held)
    return status(runner, key)


def place(told: JobStatus) -> tuple[str, int]:
    assert told.progress is not None
    return told.progress.stage, told.progress.step


def goes_on(runner: Runner, key: str, epochs: int) -> None:
    """Lets a job that is held go on for so many epochs; returns when it has left its place."""
    before = place(status(runner, key))
    runner.pause(key, "me", epochs)
    wait_for(
        lambda: (
            (told := status(runner, key)).state == "done" or not told.held or place(told) != before
        )
    )


def test_a_paused_training_stands_still_steps_as_far_as_asked_and_goes_on(runner: Runner) -> None:
    key = runner.submit(endless(), "me")
    training(runner, key)
    runner.pause(key, "me")
    before = held(runner, key)
    assert (before.state, before.paused, before.seconds_left) == ("running", True, None)
    sleep(0.3)
    assert place(status(runner, key)) == place(before)
    assert status(runner, key).seconds == pytest.approx(before.seconds, abs=0.01)
    for epochs in (1, 10, 100):
        stage, epoch = place(status(runner, key))
        runner.pause(key, "me", epochs)
        wait_for(
            lambda there=(stage, epoch + epochs): (
                (told := status(runner, key)).held and place(told) == there
            )
        )
        sleep(0.05)
        assert place(status(runner, key)) == (stage, epoch + epochs)
    _, epoch = place(status(runner, key))
    runner.play(key)
    wait_for(lambda: not status(runner, key).held and place(status(runner, key))[1] > epoch + 100)
    assert not status(runner, key).paused


def test_what_is_computed_does_not_depend_on_pauses(runner: Runner, tmp_path: Path) -> None:
    third = {"refine": "likelihood", "epochs_refinement": 3, "batch": 50}
    recipe = with_fields(recipe_of("both.non", epochs=30), third)
    key = runner.submit(recipe, "me", hold=True)
    stages = [place(held(runner, key))]
    goes_on(runner, key, 2)
    while True:
        wait_for(lambda: status(runner, key).held or status(runner, key).state == "done")
        if status(runner, key).state == "done":
            break
        stages.append(place(status(runner, key)))
        goes_on(runner, key, 4)
    assert stages[:3] == [("factorisation", 0), ("factorisation", 2), ("factorisation", 6)]
    assert {stage for stage, _ in stages} == {"factorisation", "transitions", "refinement"}
    there = runner.result(key)
    here = run(recipe)
    folders = tmp_path / "runs" / key, tmp_path / "here"
    save(
        here.model,
        folders[1],
        {"recipe": here.recipe.model_dump(mode="json")},
        alphabet=here.alphabet,
    )
    files = sorted(path.name for path in folders[1].iterdir())
    assert files
    for name in files:
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes()
    for mine, theirs in zip(there.report.logs, here.report.logs, strict=True):
        assert mine.losses.tolist() == theirs.losses.tolist()


def test_the_time_of_a_pause_is_not_counted(runner: Runner) -> None:
    started = monotonic()
    pause = 1.5
    key = runner.submit(recipe_of("fac.non", epochs=30), "me", hold=True)
    held(runner, key)
    goes_on(runner, key, 5)
    held(runner, key)
    sleep(pause)
    runner.play(key)
    told = over(runner, key)
    result = runner.result(key)
    passed = monotonic() - started
    assert 0 < told.seconds <= passed - pause
    assert (
        0 < result.report.seconds["factorisation"] <= result.seconds["learning"] <= passed - pause
    )


def test_what_is_submitted_to_be_held_goes_no_epoch_however_late_it_is_paused(
    runner: Runner,
) -> None:
    key = runner.submit(endless(), "me", hold=True)
    assert place(held(runner, key)) == ("factorisation", 0)
    runner.pause(key, "me")
    assert place(held(runner, key)) == ("factorisation", 0)
    runner.cancel(key, "me")


def test_a_paused_training_can_be_cancelled(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "CANCEL_SECONDS", PATIENCE_SECONDS)  # on a busy machine it hears late
    key = runner.submit(endless(), "me")
    runner.pause(key, "me")
    pid = new_worker(runner, 0)
    held(runner, key)
    runner.cancel(key, "me")
    told = status(runner, key)
    assert (told.state, told.paused, told.held) == ("cancelled", False, False)
    following = runner.submit(recipe_of("fac.non"), "me")
    assert over(runner, following).state == "done"
    assert runner.pids == (pid,)  # it listened, and the pause was not handed on


def test_who_cancels_a_pause_of_theirs_does_not_leave_it_to_others(runner: Runner) -> None:
    key = runner.submit(endless(), "me")
    runner.submit(endless(), "you")
    runner.pause(key, "me")
    held(runner, key)
    runner.cancel(key, "me")
    assert not status(runner, key).paused and status(runner, key).state == "running"
    wait_for(lambda: not status(runner, key).held)
    runner.cancel(key, "you")


def test_others_do_not_wait_for_a_paused_training(runner: Runner) -> None:
    key = runner.submit(endless(), "me")
    pid = training(runner, key)
    runner.pause(key, "me")
    held(runner, key)
    other = runner.submit(recipe_of(), "you")
    assert over(runner, other).state == "done"
    assert held(runner, key).paused
    assert len(runner.pids) == 2
    runner.play(key)
    wait_for(lambda: not status(runner, key).held)
    third = runner.submit(recipe_of(seed=1), "you")
    sleep(0.2)
    assert status(runner, third).state == "queued"
    runner.cancel(key, "me")
    assert over(runner, third).state == "done"
    wait_for(lambda: len(runner.pids) == 1)
    assert pid


def test_who_may_pause(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    gone: set[str] = set()
    monkeypatch.setattr(runner, "_is_active", lambda session: session not in gone)
    key = runner.submit(endless(), "a")
    training(runner, key)
    runner.submit(endless(), "b")
    with pytest.raises(
        RecipeError,
        match="^Someone else is waiting for this run, so only the person who started it can",
    ):
        runner.pause(key, "b")
    assert not status(runner, key).paused
    runner.pause(key, "a")
    held(runner, key)
    runner.play(key)  # b may
    wait_for(lambda: not status(runner, key).held)
    gone.add("a")  # has closed the page
    runner.pause(key, "b")
    held(runner, key)
    runner.play(key)
    runner.cancel(key, "b")
    for ended in (key, "0" * 64):
        with pytest.raises(RecipeError, match="has ended"):
            runner.pause(ended, "b")
        runner.play(ended)


def test_no_more_than_some_are_paused_at_a_time(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(limits.IN_FORCE, "paused_jobs", 1)
    first = runner.submit(endless(), "a")
    second = runner.submit(endless(1), "a")
    runner.pause(first, "a")
    runner.pause(first, "a", 3)
    with pytest.raises(RecipeError, match=r"No more runs can be paused \(limit 1\)"):
        runner.pause(second, "a")
    monkeypatch.setitem(limits.IN_FORCE, "paused_jobs", 0)  # exceeded already
    with pytest.raises(RecipeError, match=r"No more runs can be paused \(limit 0\)"):
        runner.pause(second, "a")


def test_a_pause_ends_when_everybody_has_gone_or_nobody_touches_it(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone: set[str] = set()
    monkeypatch.setattr(runner, "_is_active", lambda session: session not in gone)
    monkeypatch.setattr(jobs, "CHECK_SECONDS", 0.05)
    key = runner.submit(endless(), "me")
    training(runner, key)
    runner.pause(key, "me")
    held(runner, key)
    sleep(0.3)
    assert status(runner, key).paused
    gone.add("me")  # reloads the page, and is back as a new session
    sleep(0.3)
    runner.status(key, "me again")
    sleep(0.3)
    assert status(runner, key).paused
    monkeypatch.setattr(jobs, "ABSENCE_SECONDS", 0.2)
    gone.add("me again")
    wait_for(lambda: not status(runner, key).held)
    gone.clear()
    runner.pause(key, "me")
    held(runner, key)
    monkeypatch.setattr(jobs, "LONGEST_PAUSE_SECONDS", 0.2)
    wait_for(lambda: not status(runner, key).held)
    assert not status(runner, key).paused


def test_a_paused_training_whose_process_dies_starts_over_and_waits(runner: Runner) -> None:
    key = runner.submit(endless(), "me")
    pid = training(runner, key)
    runner.pause(key, "me")
    held(runner, key)
    os.kill(pid, signal.SIGKILL)
    new_worker(runner, pid)
    told = held(runner, key)
    assert place(told) == ("factorisation", 0)
    runner.play(key)
    wait_for(lambda: not status(runner, key).held)


def test_pictures_of_the_states_come_with_the_stages_and_with_each_pause(runner: Runner) -> None:
    key = runner.submit(recipe_of("both.non", epochs=200), "me", hold=True)
    held(runner, key)
    goes_on(runner, key, 7)
    first = held(runner, key).picture
    assert first is not None
    assert (first.stage, first.epoch, first.targets, len(first.points)) == (
        "factorisation",
        7,
        (),
        20,
    )
    runner.pause(key, "me", 196)
    wait_for(lambda: (told := status(runner, key)).held and place(told) == ("transitions", 2))
    second = status(runner, key).picture
    assert second is not None
    assert (second.stage, second.epoch, len(second.targets), second.rows) == (
        "transitions",
        2,
        20,
        first.rows,
    )
    runner.play(key)
    over(runner, key)
