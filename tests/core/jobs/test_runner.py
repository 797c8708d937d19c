"""Jobs in worker processes: sharing, turns, cancelling, and what happens when processes are
killed.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import sleep

import numpy as np
import pytest

from nlwfa_core import limits
from nlwfa_core.errors import RecipeError
from nlwfa_core.experiment.pipeline import run
from nlwfa_core.experiment.recipe import DataRecipe, Recipe
from nlwfa_core.experiment.results import load_result
from nlwfa_core.files import FileShelf
from nlwfa_core.jobs import job, worker
from nlwfa_core.jobs import runner as jobs
from nlwfa_core.jobs.folders import RunFolders
from nlwfa_core.jobs.job import JobStatus
from nlwfa_core.jobs.runner import Runner
from nlwfa_core.learning.learners import options
from nlwfa_core.learning.progress import Progress
from nlwfa_core.models.model_files import MODEL_FILES
from nlwfa_core.models.nlwfa import NLWFA
from tests.core.small import posix, recipe_of
from tests.waiting import PATIENCE_SECONDS, wait_for

pytestmark = [posix, pytest.mark.usefixtures("forked_workers")]


def endless(seed: int = 0) -> Recipe:
    """Trains for far longer than any test waits."""
    return recipe_of("fac.non", seed, epochs=100_000)


def status(runner: Runner, key: str) -> JobStatus:
    known = runner.status(key)
    assert known is not None
    return known


def over(runner: Runner, key: str) -> JobStatus:
    """Waits until a job is over."""
    wait_for(lambda: status(runner, key).state not in ("queued", "running"))
    return status(runner, key)


def training(runner: Runner, key: str) -> int:
    """Waits until the only worker is in mid-training; its process."""
    wait_for(lambda: (progress := status(runner, key).progress) and progress.loss is not None)
    return new_worker(runner, 0)


def new_worker(runner: Runner, old: int) -> int:
    """Waits until the only worker is another process than it was."""
    return int(wait_for(lambda: [pid for pid in runner.pids if pid != old])[0])


def is_gone(pid: int) -> bool:
    """Whether a child of this process is dead and waited for."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    """With one worker. A session whose name begins with "gone" is no longer there."""
    runner = Runner(
        tmp_path, num_workers=1, is_active=lambda session: not session.startswith("gone")
    )
    yield runner
    runner.close()
    assert runner.pids == ()
    assert list((tmp_path / "runs").glob("*/.*")) == []


def test_a_worker_finds_what_the_same_recipe_finds_here(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "subprocess", subprocess)  # a process as a server starts it
    recipe = recipe_of("both.non")
    key = runner.submit(recipe, "me")
    assert key == recipe.key()
    told = over(runner, key)
    assert (told.state, told.message, told.position, told.recipe) == ("done", None, None, recipe)
    assert told.seconds > 0
    there = runner.result(key)
    here = run(recipe)
    assert isinstance(there.model, NLWFA)
    assert isinstance(here.model, NLWFA)
    for layer, expected in zip(
        (*there.model.transitions, *there.model.decoder),
        (*here.model.transitions, *here.model.decoder),
        strict=True,
    ):
        np.testing.assert_array_equal(layer, expected)
    assert there.scores == here.scores
    for log in here.report.logs:
        epochs = told.losses[log.stage].epochs
        assert (
            epochs[:30] == tuple(range(min(30, len(log.losses))))
            and epochs[-1] == len(log.losses) - 1
        )
        assert told.losses[log.stage].losses == tuple(log.losses[list(epochs)])


def test_equal_recipes_are_one_job_and_a_new_server_finds_it(
    runner: Runner, tmp_path: Path
) -> None:
    blocker = runner.submit(endless(), "x")
    key = runner.submit(recipe_of(), "a")
    assert runner.submit(recipe_of(), "b") == key
    assert status(runner, key).num_queued <= 2
    runner.cancel(blocker, "x")
    assert over(runner, key).state == "done"
    written = (tmp_path / "runs" / key / "result.json").stat().st_mtime_ns
    assert runner.submit(recipe_of(), "c") == key
    assert status(runner, key).state == "done"

    other = Runner(tmp_path, num_workers=1)
    try:
        found = other.status(key)
        assert found is not None
        assert (found.state, found.recipe, found.losses) == ("done", recipe_of(), {})
        assert found.seconds > 0
        assert other.submit(recipe_of(), "d") == key
        assert other.pids == ()
        assert other.result(key).scores == runner.result(key).scores
    finally:
        other.close()
    assert (tmp_path / "runs" / key / "result.json").stat().st_mtime_ns == written


def test_a_process_that_was_prepared_takes_the_next_job(runner: Runner) -> None:
    runner.prepare()
    [pid] = runner.pids
    runner.prepare()
    key = runner.submit(recipe_of(), "a")
    assert over(runner, key).state == "done" and runner.pids == (pid,)


def test_nothing_is_known_of_other_keys(runner: Runner) -> None:
    for key in ("0" * 64, "", "../../etc", "nonsense"):
        assert runner.status(key) is None
        with pytest.raises(RecipeError, match="no result"):
            runner.result(key)
        runner.cancel(key, "me")


def test_a_result_that_is_not_sound_is_made_again(runner: Runner, tmp_path: Path) -> None:
    key = recipe_of().key()
    folder = tmp_path / "runs" / key
    folder.mkdir(parents=True)
    (folder / "result.json").write_text("{}")
    assert runner.status(key) is None
    runner.submit(recipe_of(), "me")
    assert over(runner, key).state == "done"
    assert load_result(folder).recipe == recipe_of()


def test_a_result_with_a_time_beyond_all_floats_is_no_result(tmp_path: Path) -> None:
    recipe = recipe_of()
    folder = tmp_path / recipe_of().key()
    folder.mkdir()
    for name in MODEL_FILES:
        (folder / name).touch()
    for seconds, sound in ((1, True), (10**400, False)):
        record = {"recipe": json.loads(recipe.to_json()), "seconds": {"learning": seconds}}
        (folder / "result.json").write_text(json.dumps(record))
        assert (RunFolders(tmp_path).job(recipe.key()) is not None) == sound


def test_a_result_whose_folder_was_removed_is_made_again(runner: Runner, tmp_path: Path) -> None:
    key = runner.submit(recipe_of(), "me")
    over(runner, key)
    for file in (tmp_path / "runs" / key).iterdir():
        file.unlink()
    assert runner.status(key) is None
    runner.submit(recipe_of(), "me")
    assert over(runner, key).state == "done"


def test_sessions_take_turns(runner: Runner, tmp_path: Path) -> None:
    blocker = runner.submit(endless(), "x")
    wait_for(lambda: status(runner, blocker).state == "running")
    first = [runner.submit(recipe_of(seed=seed), "a") for seed in (1, 2, 3)]
    second = [runner.submit(recipe_of(seed=seed), "b") for seed in (4, 5)]
    assert [status(runner, key).position for key in first + second] == [1, 3, 5, 2, 4]
    assert status(runner, first[0]).num_queued == 5
    runner.cancel(first[1], "a")
    assert status(runner, first[1]).state == "cancelled"
    expected = [first[0], second[0], first[2], second[1]]
    assert [status(runner, key).position for key in expected] == [1, 2, 3, 4]
    runner.cancel(blocker, "x")
    assert {over(runner, key).state for key in expected} == {"done"}
    assert order_of(tmp_path, expected) == expected
    assert not (tmp_path / "runs" / first[1]).exists()


def by_likelihood(rank: int) -> Recipe:
    data = DataRecipe(num_strings=60, num_validation=20, num_test=20)
    learning = options("both.non", rank=rank, objective="likelihood")
    return Recipe(data=data, learning=learning)


def order_of(home: Path, keys: list[str]) -> list[str]:
    """The keys in the order in which their results were written."""
    return sorted(keys, key=lambda key: (home / "runs" / key / "result.json").stat().st_mtime_ns)


def test_each_run_of_a_series_goes_on_from_the_one_before(tmp_path: Path) -> None:
    """So that it trains less than alone, and finds the same."""
    runner = Runner(tmp_path, num_workers=2)
    try:
        keys = runner.submit_series([by_likelihood(rank) for rank in (1, 2)], "me")
        assert keys == [by_likelihood(rank).key() for rank in (1, 2)]
        told = [over(runner, key) for key in keys]
        assert len(runner.pids) == 1
        there = runner.result(keys[1])
    finally:
        runner.close()
    assert [each.state for each in told] == ["done"] * 2
    alone: list[Progress] = []
    here = run(by_likelihood(2), report=alone.append)
    trainings = [each.losses["likelihood"].epochs[-1] for each in told]
    assert sum(trainings) == max(each.step for each in alone) > trainings[1]
    assert isinstance(there.model, NLWFA) and isinstance(here.model, NLWFA)
    np.testing.assert_array_equal(there.model.output, here.model.output)
    assert there.scores == here.scores


def test_a_series_is_one_turn(runner: Runner, tmp_path: Path) -> None:
    blocker = runner.submit(endless(), "x")
    wait_for(lambda: status(runner, blocker).state == "running")
    series = runner.submit_series([recipe_of(seed=seed) for seed in (1, 2, 3)], "a")
    other = runner.submit(recipe_of(seed=4), "b")
    assert [status(runner, key).state for key in series] == ["queued"] * 3
    assert [status(runner, key).position for key in (*series, other)] == [1, None, None, 2]
    runner.cancel(blocker, "x")
    assert {over(runner, key).state for key in (*series, other)} == {"done"}
    assert order_of(tmp_path, [*series, other]) == [*series, other]


def test_a_series_goes_on_without_a_run_that_is_cancelled(runner: Runner, tmp_path: Path) -> None:
    blocker = runner.submit(endless(), "x")
    wait_for(lambda: status(runner, blocker).state == "running")
    series = runner.submit_series([recipe_of(seed=seed) for seed in (1, 2, 3, 4)], "a")
    runner.cancel(series[2], "a")
    runner.cancel(series[0], "a")
    assert [status(runner, key).position for key in series] == [None, 1, None, None]
    runner.cancel(blocker, "x")
    states = ["cancelled", "done", "cancelled", "done"]
    assert [over(runner, key).state for key in series] == states
    assert not (tmp_path / "runs" / series[2]).exists()


def test_runs_after_one_that_failed_fail_too(runner: Runner) -> None:
    data = DataRecipe(source="upload", upload="0" * 64)
    recipe = recipe_of().changed(data=data)
    keys = runner.submit_series([recipe, recipe.with_learner("SP", rank=1)], "me")
    first, second = (over(runner, key) for key in keys)
    assert first.state == second.state == "failed"
    assert first.message == second.message and second.seconds == 0


def test_a_series_that_nobody_wants_any_more_ends(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "ABSENCE_SECONDS", 0)
    keys = runner.submit_series([recipe_of(seed=seed) for seed in (1, 2, 3)], "gone")
    assert [over(runner, key).state for key in keys] == ["done", "cancelled", "cancelled"]


def test_a_series_takes_one_place_in_the_queue(tmp_path: Path) -> None:
    runner = Runner(tmp_path, num_workers=1, max_queued=1)
    try:
        blocker = runner.submit(endless(), "x")
        wait_for(lambda: status(runner, blocker).state == "running")
        series = [recipe_of(seed=seed) for seed in (1, 2, 3)]
        keys = runner.submit_series(series, "a")
        with pytest.raises(RecipeError, match="queue is full"):
            runner.submit_series([recipe_of(seed=4)], "b")
        assert runner.submit_series(series, "b") == keys  # they are there
    finally:
        runner.close()


def test_a_cancel_stops_the_training_and_frees_its_worker(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "CANCEL_SECONDS", PATIENCE_SECONDS)  # on a busy machine it hears late
    key = runner.submit(endless(), "me")
    pid = training(runner, key)
    runner.cancel(key, "me")
    assert status(runner, key).state == "cancelled"
    following = runner.submit(recipe_of(), "me")
    assert over(runner, following).state == "done"
    assert runner.pids == (pid,)  # it listened: it was not killed
    assert status(runner, key).state == "cancelled"

    assert runner.submit(endless(), "me") == key  # started anew
    assert training(runner, key) == pid
    assert status(runner, key).state == "running"


def test_a_worker_that_does_not_listen_is_killed(runner: Runner) -> None:
    key = runner.submit(endless(), "me")
    pid = new_worker(runner, 0)
    os.kill(pid, signal.SIGSTOP)
    runner.cancel(key, "me")
    following = runner.submit(recipe_of(), "me")
    assert over(runner, following).state == "done"
    assert status(runner, key).state == "cancelled"
    assert pid not in runner.pids
    assert is_gone(pid)


def test_a_job_stops_when_the_last_session_has_cancelled_it(runner: Runner) -> None:
    key = runner.submit(endless(), "a")
    runner.submit(endless(), "b")
    runner.status(key, "c")  # watches
    runner.status(key)
    for session in "ab":
        runner.cancel(key, session)
        assert runner.status(key, session).state in ("queued", "running")  # type: ignore[union-attr]
    runner.cancel(key, "c")
    assert status(runner, key).state == "cancelled"


def test_a_session_that_has_gone_keeps_no_job_from_being_cancelled(runner: Runner) -> None:
    key = runner.submit(endless(), "gone, as its page was reloaded")
    runner.cancel(key, "a")
    assert status(runner, key).state == "cancelled"


def test_a_killed_worker_is_replaced_and_its_job_tried_once_more(
    runner: Runner, tmp_path: Path
) -> None:
    key = runner.submit(recipe_of("fac.non", epochs=50), "me", hold=True)
    wait_for(lambda: status(runner, key).held)
    runner.pause(key, "me", 5)
    # in mid-training, however fast or busy the machine
    wait_for(lambda: status(runner, key).progress.step == 5)
    (pid,) = runner.pids
    unfinished = tmp_path / "runs" / key / ".model.json.0123"
    unfinished.parent.mkdir(parents=True)
    unfinished.write_text("half a file")
    os.kill(pid, signal.SIGKILL)
    new_worker(runner, pid)
    runner.play(key)
    told = over(runner, key)
    assert told.state == "done"
    assert told.losses["factorisation"].epochs[-1] == 50
    assert runner.pids != (pid,)
    assert not unfinished.exists()
    assert len(runner.result(key).report.logs[0].losses) == 51


def test_a_job_that_kills_two_workers_fails(runner: Runner) -> None:
    key = runner.submit(endless(), "me")
    first = new_worker(runner, 0)
    os.kill(first, signal.SIGKILL)
    os.kill(new_worker(runner, first), signal.SIGKILL)
    told = over(runner, key)
    assert told.state == "failed"
    assert "died twice" in str(told.message)
    following = runner.submit(recipe_of(), "me")
    assert over(runner, following).state == "done"
    assert len(runner.pids) == 1


def test_a_worker_killed_while_idle_costs_nothing(runner: Runner) -> None:
    over(runner, runner.submit(recipe_of(), "me"))
    (pid,) = runner.pids
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: runner.pids == ())
    assert over(runner, runner.submit(recipe_of(seed=1), "me")).state == "done"


def test_uploads(runner: Runner, tmp_path: Path) -> None:
    name = FileShelf(tmp_path / "uploads").put(b"a b\na\nb a\n" * 20)
    data = DataRecipe(
        source="upload", upload=name, upload_format="tokens", num_validation=5, num_test=5
    )
    found = runner.submit(recipe_of().changed(data=data), "me")
    lost = runner.submit(recipe_of().changed(data=data.changed(upload="0" * 64)), "me")
    none = runner.submit(recipe_of().changed(data=DataRecipe(source="upload")), "me")
    assert over(runner, found).message is None
    assert over(runner, found).state == "done"
    for key, words in ((lost, "upload it again"), (none, "There are no strings yet")):
        told = over(runner, key)
        assert told.state == "failed"
        assert words in str(told.message)


def test_a_result_that_cannot_be_saved_fails_with_a_sentence(
    runner: Runner, tmp_path: Path
) -> None:
    (tmp_path / "runs").write_text("in the way")
    key = runner.submit(recipe_of(), "me")
    told = over(runner, key)
    assert told.state == "failed"
    assert "can't write" in str(told.message)
    (tmp_path / "runs").unlink()
    runner.submit(recipe_of(), "me")
    assert over(runner, key).state == "done"


def test_a_session_may_line_up_so_many(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(limits.IN_FORCE, "session_jobs", 1)
    blocker = runner.submit(endless(), "a")
    wait_for(lambda: status(runner, blocker).state == "running")
    waiting = runner.submit(recipe_of(seed=1), "a")
    with pytest.raises(
        RecipeError,
        match=r"^You already have 1 run waiting \(limit 1\)\. Wait for some to finish\.$",
    ):
        runner.submit(recipe_of(seed=2), "a")
    assert runner.submit(recipe_of(seed=1), "a") == waiting  # that is no other
    runner.submit(recipe_of(seed=2), "b")


def test_what_asks_for_too_much_does_not_line_up(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(limits.IN_FORCE, "rank", 1)
    with pytest.raises(RecipeError, match="^rank must be at most 1; got 2$"):
        runner.submit(recipe_of(), "a")
    assert runner.status(recipe_of().key()) is None


def test_a_training_has_its_time(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(limits.IN_FORCE, "training_seconds", 1)
    monkeypatch.setattr(jobs, "WATCH_SECONDS", 0.1)
    key = runner.submit(endless(), "a")
    told = over(runner, key)
    said = (
        r"Stopped: the run has taken \d+ seconds, and at most 1 are allowed here\. "
        r"Try fewer epochs, fewer strings or a smaller basis\."
    )
    assert told.state == "failed" and re.fullmatch(said, str(told.message))
    monkeypatch.setitem(limits.IN_FORCE, "training_seconds", 600)
    assert over(runner, runner.submit(recipe_of(), "a")).state == "done"  # its worker is free again


def test_the_queue_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone: set[str] = set()
    runner = Runner(
        tmp_path, num_workers=1, max_queued=2, is_active=lambda session: session not in gone
    )
    try:
        blocker = runner.submit(endless(), "a")
        wait_for(lambda: status(runner, blocker).state == "running")
        keys = [
            runner.submit(recipe_of(seed=seed), session) for seed, session in ((1, "a"), (2, "c"))
        ]
        with pytest.raises(RecipeError, match=r"2 runs waiting \(limit 2\)"):
            runner.submit(recipe_of(seed=3), "b")
        assert runner.status(recipe_of(seed=3).key()) is None
        assert runner.submit(recipe_of(seed=2), "b") == keys[1]  # it is in the queue already
        gone.add("a")
        with pytest.raises(RecipeError, match=r"2 runs waiting \(limit 2\)"):
            runner.submit(recipe_of(seed=3), "b")  # the other may only be reloading the page
        monkeypatch.setattr(jobs, "ABSENCE_SECONDS", 0.1)
        sleep(0.2)
        assert status(runner, runner.submit(recipe_of(seed=3), "b")).position == 2
        assert [status(runner, key).state for key in (blocker, *keys)] == [
            "running",
            "cancelled",
            "queued",
        ]
    finally:
        runner.close()
    with pytest.raises(RecipeError, match="shutting down"):
        runner.submit(recipe_of(seed=4), "b")


def test_in_a_full_queue_the_newest_run_of_who_has_most_gives_way(tmp_path: Path) -> None:
    runner = Runner(tmp_path, num_workers=1, max_queued=3)
    try:
        blocker = runner.submit(endless(), "a")
        wait_for(lambda: status(runner, blocker).state == "running")
        keys = [runner.submit(recipe_of(seed=seed), "a") for seed in (1, 2, 3)]
        mine = runner.submit(recipe_of(seed=4), "b")
        assert [status(runner, key).state for key in (*keys, mine)] == [
            "queued",
            "queued",
            "failed",
            "queued",
        ]
        assert "was removed to make room for somebody with fewer waiting runs" in str(
            status(runner, keys[2]).message
        )
        with pytest.raises(RecipeError, match=r"3 runs waiting \(limit 3\)"):
            runner.submit(recipe_of(seed=5), "b")
    finally:
        runner.close()


def test_a_job_keeps_its_place_in_a_full_queue_while_its_page_is_reloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone: set[str] = set()
    now = [0.0]
    for module in (jobs, job):
        monkeypatch.setattr(module, "monotonic", lambda: now[0])
    monkeypatch.setattr(jobs, "ABSENCE_SECONDS", 1.0)
    runner = Runner(
        tmp_path, num_workers=1, max_queued=1, is_active=lambda session: session not in gone
    )

    def a_while_passes() -> None:
        now[0] += 2 * jobs.ABSENCE_SECONDS
        runner._check()

    try:
        blocker = runner.submit(endless(), "c")
        wait_for(lambda: status(runner, blocker).state == "running")
        key = runner.submit(recipe_of(seed=1), "a")
        # on another page: nobody asks for the job's status, but its session is there
        a_while_passes()
        gone.add("a")
        with pytest.raises(RecipeError, match="The queue is full"):
            runner.submit(recipe_of(seed=2), "b")
        told = runner.status(key, "a again")
        assert told is not None and told.state == "queued"
        a_while_passes()
        with pytest.raises(RecipeError, match="The queue is full"):
            runner.submit(recipe_of(seed=2), "b")
        gone.add("a again")
        a_while_passes()
        runner.submit(recipe_of(seed=2), "b")
        assert status(runner, key).state == "cancelled"
    finally:
        runner.close()


def test_old_jobs_are_forgotten_and_found_on_disk(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "MAX_FINISHED", 1)
    keys = [runner.submit(recipe_of(seed=seed), "me") for seed in (1, 2, 3)]
    for key in keys:
        over(runner, key)
    runner.submit(recipe_of(seed=4), "me")
    assert len(runner._jobs) == 2
    assert {status(runner, key).state for key in keys} == {"done"}


def test_closing_ends_the_training(tmp_path: Path) -> None:
    runner = Runner(tmp_path, num_workers=1)
    key = runner.submit(endless(), "me")
    waits = runner.submit(recipe_of(), "me")
    pid = training(runner, key)
    runner.close()
    runner.close()
    assert is_gone(pid)
    assert [status(runner, job).state for job in (key, waits)] == ["cancelled", "cancelled"]


SERVER = """
import sys
from pathlib import Path
from time import sleep
from nlwfa_core.jobs.runner import Runner
from nlwfa_core.learning.learners import options
from nlwfa_core.learning.progress import Progress
from nlwfa_core.experiment.recipe import Recipe

runner = Runner(Path(sys.argv[1]), num_workers=1)
key = runner.submit(Recipe.from_json(sys.argv[2]), "me")
while not runner.status(key).losses:
    sleep(0.01)
print("training", flush=True)
if sys.stdin.read(1):
    sys.exit()  # an orderly end, without close()
"""


@pytest.mark.slow
@pytest.mark.parametrize("orderly", [True, False])
def test_workers_do_not_outlive_their_server(tmp_path: Path, orderly: bool) -> None:
    command = [sys.executable, "-c", SERVER, str(tmp_path), endless().to_json()]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == "training\n"
        if not orderly:
            server.kill()
        # The workers have the server's stderr: it ends when they do.
        _, said = server.communicate("q" if orderly else None, timeout=PATIENCE_SECONDS)
    assert (server.returncode, said) == ((0, "") if orderly else (-signal.SIGKILL, ""))
    assert [path for path in tmp_path.rglob(".*") if path.name != ".guard"] == []
