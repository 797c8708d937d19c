"""Full disks, locked databases and clocks that jump: finished results stay, and unfinished runs are
reported.
"""

from __future__ import annotations

import ast
import errno
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nlwfa_core
from nlwfa_core.cli.outputs import write_file
from nlwfa_core.errors import RecipeError
from nlwfa_core.experiment.pipeline import run
from nlwfa_core.experiment.results import load_result, save_result
from nlwfa_core.history import database, recorder
from nlwfa_core.history import runs as history
from nlwfa_core.history.recorder import Recorder
from nlwfa_core.history.runs import History
from nlwfa_core.jobs import worker
from nlwfa_core.jobs.folders import RunFolders
from nlwfa_core.jobs.runner import Runner
from nlwfa_core.jobs.sweep import run_missing
from nlwfa_core.models.model_files import load, load_info, save
from nlwfa_core.models.wfa import WFA
from tests.core.here import Here, run_here
from tests.core.small import posix, recipe_of, servers, states
from tests.references import COIN
from tests.waiting import PATIENCE_SECONDS, wait_for

pytestmark = pytest.mark.usefixtures("forked_workers")

HOUR = 3600.0
YEAR = 365 * 24 * 3600.0


class FullDisk:
    """Makes one step of writing files fail: making a folder, opening a file, writing to it, or
    renaming it.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = -1
        self.refused = False
        for name in ("mkdir", "open", "replace"):
            monkeypatch.setattr(Path, name, self.counted(getattr(Path, name)))

    def counted(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def step(path: Path, *arguments: Any, **options: Any) -> Any:
            reads = real.__name__ == "open" and (arguments or ("r",))[0] in ("r", "rb")
            if not reads:
                self.takes()
            found = real(path, *arguments, **options)
            return self.file(found) if real.__name__ == "open" and not reads else found

        return step

    def file(self, real: Any) -> Any:
        disk = self

        class File:
            def __enter__(self) -> File:
                return self

            def __exit__(self, *error: object) -> None:
                real.close()

            def write(self, data: bytes) -> int:
                real.write(data[: len(data) // 2])
                disk.takes()
                return int(real.write(data[len(data) // 2 :]))

            def flush(self) -> None:
                disk.takes()
                real.flush()

            def fileno(self) -> int:
                return int(real.fileno())

        return File()

    def takes(self) -> None:
        self.left -= 1
        if self.left == 0:
            self.refused = True
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def refuses(self, step: int) -> None:
        self.left = step
        self.refused = False


@pytest.mark.parametrize("what", ["model", "result"])
def test_a_disk_that_is_full_at_any_step_leaves_nothing_half_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    result = run(recipe_of("fac.non"))
    model = replace(COIN.wfa, alphabet=result.alphabet)
    before = tmp_path / ("0" * 64)
    shelf = RunFolders(tmp_path)
    save_result(before, result)
    disk = FullDisk(monkeypatch)
    for step in range(1, 50):
        folder = tmp_path / f"{step:064x}"
        disk.refuses(step)
        if what == "model":
            saved = lambda folder=folder: save(model, folder)  # noqa: E731
        else:
            saved = lambda folder=folder: save_result(folder, result)  # noqa: E731
        try:
            saved()
        except RecipeError as error:
            assert "No space left" in str(error) and disk.refused
        else:
            break
        assert (
            not list(folder.glob(".*"))
            and not shelf.has(folder.name)
            and load_result(before).scores == result.scores
        )
        disk.refuses(-1)
        saved()
        assert load(folder).alphabet.symbols == result.alphabet.symbols
        assert what == "model" or load_result(folder).scores == result.scores
    # folder; for each file: a file, writing, the disk, a name; and the name of the model's arrays
    assert not disk.refused and step == (11 if what == "model" else 15)


class Kill(FullDisk):
    """Ends the process at one step of writing files, as SIGKILL would: nothing is tidied."""

    def takes(self) -> None:
        self.left -= 1
        if self.left == 0:
            os._exit(9)


def killed_at(step: int, action: Callable[[], None]) -> bool:
    """Run an action in a process that is killed at a step.

    Returns whether it was; otherwise the action came to its end.
    """
    child = os.fork()
    if child == 0:
        try:
            with pytest.MonkeyPatch.context() as patch:
                Kill(patch).refuses(step)
                action()
            os._exit(0)
        finally:
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, 9)
    return code == 9


@pytest.mark.slow
@posix
def test_a_model_is_replaced_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    """A process is killed at each step of replacing a model, and the next one at each step of
    replacing what that left.
    """

    def write(folder: Path, factor: float, sync: bool = True) -> None:
        save(factor * COIN.wfa, folder, {"factor": factor}, sync=sync)

    def read(folder: Path) -> float:
        model = load(folder)
        assert isinstance(model, WFA)
        factor = load_info(folder)["factor"]
        np.testing.assert_array_equal(model.initial, factor * COIN.wfa.initial)
        return float(factor)

    num_steps = 0
    for first in range(1, 50):
        for second in range(1, 50):
            folder = tmp_path / f"{first} {second}"
            write(folder, 1)
            was_killed = killed_at(first, lambda folder=folder: write(folder, 0.5, sync=False))  # type: ignore[misc]
            before = read(folder)
            assert before in (1, 0.5) if was_killed else before == 0.5
            if not killed_at(second, lambda folder=folder: write(folder, 0.25, sync=False)):  # type: ignore[misc]
                break
            assert read(folder) in (before, 0.25)
            write(folder, 0.25)
            assert read(folder) == 0.25
        if not was_killed:
            num_steps = first
            break
    # folder; for both files a file, writing and a name; the name of the arrays; and one more
    assert num_steps == 9


@posix
@pytest.mark.parametrize("link", [False, True])
def test_an_output_file_is_replaced_as_a_whole_or_not_at_all(tmp_path: Path, link: bool) -> None:
    """`--out FILE --force`: killed at each step, it leaves the old text or the new one."""
    path = tmp_path / "file"
    if link:
        path.symlink_to("target")
    for step in range(1, 20):
        path.write_text("old")
        was_killed = killed_at(step, lambda: write_file(path, "new text"))
        assert path.read_text() in ("old", "new text") and path.is_symlink() == link
        if not was_killed:
            break
    # a file, writing, the disk, a name; and one more
    assert path.read_text() == "new text" and step == 5


def test_an_output_file_on_a_full_disk_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    disk = FullDisk(monkeypatch)
    for step in range(1, 5):
        disk.refuses(step)
        with pytest.raises(RecipeError, match="can't write .*file: No space left on device"):
            write_file(path, "new text")
        assert path.read_text() == "old" and [entry.name for entry in tmp_path.iterdir()] == [
            "file"
        ]


def test_a_sweep_on_a_full_disk_reports_it_and_continues_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipes = {recipe.key(): recipe for recipe in (recipe_of(seed=seed) for seed in range(4))}
    save = worker.save_result

    def refuses_the_third(folder: Path, *what: Any, **options: Any) -> None:
        if len(list((tmp_path / "runs").glob("*/result.json"))) >= 2:
            raise RecipeError(f"can't write {folder}: No space left on device")
        save(folder, *what, **options)

    monkeypatch.setattr(worker, "save_result", refuses_the_third)
    with pytest.raises(RecipeError, match="No space left"):
        run_here(recipes, tmp_path, Here(slots=1), monkeypatch)
    assert [*states(tmp_path).values()].count("done") == 2 and set(states(tmp_path).values()) == {
        "done",
        "interrupted",
    }
    monkeypatch.setattr(worker, "save_result", save)
    again = run_missing(recipes, tmp_path)
    assert len(again.present) == len(again.new) == 2 and set(states(tmp_path).values()) == {"done"}
    assert list(tmp_path.glob("runs/*/.*")) == [] and servers(tmp_path) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 1 MB, if this user may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("only root can mount a small disk; the same steps are refused by a fake above")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_runner_on_a_full_disk_keeps_finished_runs_and_continues_when_there_is_room(
    small_disk: Path,
) -> None:
    first = recipe_of(seed=1)
    second = recipe_of(seed=2)
    runner = Runner(small_disk, num_workers=1)
    try:
        runner.submit(first, "me")
        wait_for(lambda: states(small_disk).get(first.key()) == "done")
        filler = small_disk / "filler"
        with pytest.raises(OSError, match="No space left"), filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        runner.submit(second, "me")
        wait_for(lambda: (job := runner.status(second.key())) and job.state == "failed")
        status = runner.status(second.key())
        assert status is not None and "No space left" in str(status.message)
        assert runner.result(first.key()).recipe == first
        assert list(small_disk.glob("runs/*/.*")) == []
        filler.unlink()
        runner.submit(second, "me")
        wait_for(lambda: states(small_disk).get(second.key()) == "done")
        assert states(small_disk) == {first.key(): "done", second.key(): "done"}
    finally:
        runner.close()
    assert load_result(small_disk / "runs" / second.key()).recipe == second


LOCKER = """
import sqlite3, sys
lock = sqlite3.connect(sys.argv[1], isolation_level=None)
lock.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
lock.execute("ROLLBACK")
"""


def locked(home: Path) -> subprocess.Popen[str]:
    """Start another process that locks the database until its input ends, and wait until it has."""
    command = [sys.executable, "-c", LOCKER, str(home / database.FILE)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "locked\n"
    return process


@pytest.mark.slow
def test_a_database_that_another_process_locks_for_a_while_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # so that SQLite itself gives up, again and again
    monkeypatch.setattr(database, "BUSY_SECONDS", 1)
    History.open(tmp_path).close()
    runner = Runner(tmp_path, num_workers=1)
    keys = [runner.submit(recipe_of(seed=1), "me")]
    wait_for(lambda: states(tmp_path) == {keys[0]: "done"})
    with locked(tmp_path) as other:
        keys += [runner.submit(recipe_of(seed=seed), "me") for seed in (2, 3, 4)]
        wait_for(lambda: all((job := runner.status(key)) and job.state == "done" for key in keys))
        time.sleep(3 * database.BUSY_SECONDS)
        # nobody waited for the lock, and who reads sees what was
        assert states(tmp_path) == {keys[0]: "done"}
        other.communicate()
    wait_for(lambda: states(tmp_path) == dict.fromkeys(keys, "done"))
    runner.close()
    assert states(tmp_path) == dict.fromkeys(keys, "done")


def test_a_server_that_stops_while_the_database_is_locked_leaves_runs_that_the_next_one_marks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 1)
    writer = Recorder(tmp_path)
    key = recipe_of().key()
    writer.record(key, recipe_of(), "running")
    wait_for(lambda: states(tmp_path) == {key: "running"})
    with locked(tmp_path) as other:
        writer.record(key, recipe_of(), "interrupted")
        assert not writer.close(3 * database.BUSY_SECONDS)
        other.kill()
    monkeypatch.undo()
    assert states(tmp_path) == {key: "running"}
    assert Recorder(tmp_path).close(PATIENCE_SECONDS)
    assert states(tmp_path) == {key: "interrupted"} and servers(tmp_path) == []


SERVER = """
import sys
from pathlib import Path
from time import sleep
from nlwfa_core.jobs.runner import Runner
from nlwfa_core.experiment.recipe import Recipe

runner = Runner(Path(sys.argv[1]), num_workers=1)
runner.submit(Recipe.from_json(sys.argv[2]), "me")
sleep(600)
"""


@posix
@pytest.mark.parametrize("shift", [-HOUR, YEAR])
def test_a_clock_that_jumps_neither_kills_the_living_nor_keeps_the_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shift: float
) -> None:
    endless = recipe_of("fac.non", epochs=100_000)
    server = subprocess.Popen([sys.executable, "-c", SERVER, str(tmp_path), endless.to_json()])
    try:
        wait_for(
            lambda: (
                (tmp_path / database.FILE).exists()
                and states(tmp_path) == {endless.key(): "running"}
            )
        )
        for module in (recorder, history):
            monkeypatch.setattr(module, "time", lambda: time.time() + shift)
        assert Recorder(tmp_path).close(PATIENCE_SECONDS) and states(tmp_path) == {
            endless.key(): "running"
        }
    finally:
        server.kill()
        server.wait()
    runner = Runner(tmp_path, num_workers=1)
    wait_for(lambda: states(tmp_path) == {endless.key(): "interrupted"})
    again = runner.submit(recipe_of(), "me")
    wait_for(lambda: states(tmp_path).get(again) == "done")
    monkeypatch.setattr(recorder, "time", time.time)  # and back, while it runs
    other = runner.submit(recipe_of(seed=1), "me")
    wait_for(lambda: states(tmp_path).get(other) == "done")
    runner.close()
    assert servers(tmp_path) == []


def test_only_times_that_people_read_come_from_the_clock() -> None:
    """Which servers live, whose turn it is and what is forgotten depend on locks and monotonic
    clocks.
    """
    users = set()
    for path in Path(nlwfa_core.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import) or (
                isinstance(node, ast.ImportFrom) and node.module in ("time", "datetime")
            ):
                users |= {
                    f"{path.parent.name}.{path.stem}"
                    for alias in node.names
                    if alias.name in ("time", "datetime")
                }
    assert users <= {
        "history.recorder",
        "history.runs",
        "sources.recognition",  # reads the dates in files of strings
        "display.run_tables",
        "history.owners",
        "history.bundles",
        # also deletes sessions 30 days after they were opened, which no other clock can tell after
        # a restart
        "history.classes",
        "teaching.class_board",
    }  # moments that are written down, and shown
