"""Sweeps in processes that are killed: nothing is lost, nothing is run twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from random import Random
from time import sleep
from typing import Any

import pytest

from nlwfa_core.cli.main import main
from nlwfa_core.errors import RecipeError
from nlwfa_core.experiment.grids import Grid
from nlwfa_core.history.recorder import Recorder
from nlwfa_core.history.runs import History
from nlwfa_core.jobs import lanes
from nlwfa_core.jobs import sweep as sweeping
from nlwfa_core.jobs.lanes import Lane
from nlwfa_core.jobs.sweep import run_missing
from tests.core.small import posix, wait_for

SWEEP: dict[str, Any] = {
    "base": {
        "data": {"num_strings": 200, "num_validation": 20, "num_test": 20},
        "hankel": {"num_prefixes": 20, "num_suffixes": 20},
        "learning": {"epochs_factorisation": 150, "epochs_transitions": 50},
    },
    "learners": ["SP", "fac.non"],
    "ranks": [1, 2, 3],
    "seeds": [0, 1, 2, 3],
}
NUM_RUNS = 3 + 3 * 4


def done(home: Path) -> dict[str, int]:
    """Finished runs, and when they were written."""
    return {path.parent.name: path.stat().st_mtime_ns for path in home.glob("runs/*/result.json")}


def states(home: Path) -> dict[str, str]:
    history = History.open(home)
    found = {run.key: run.state for run in history.runs()}
    history.close()
    return found


def children(pid: int) -> list[int]:
    """Processes below one, of those that work."""
    found = subprocess.run(["ps", "--ppid", str(pid), "-o", "pid=,args="], capture_output=True, text=True, check=False).stdout
    return [int(line.split()[0]) for line in found.splitlines() if "resource_tracker" not in line and "loky" in line]


def start(path: Path, home: Path, *options: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "nlwfa_core", "sweep", str(path), "--out", str(home), *options])


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The file, and the table of a sweep that nobody disturbed."""
    folder = tmp_path_factory.mktemp("sweep")
    path = folder / "ranks.json"
    path.write_text(json.dumps(SWEEP))
    assert main(["sweep", str(path), "--out", str(folder / "home")]) == 0
    assert len(done(folder / "home")) == NUM_RUNS and [*states(folder / "home").values()] == ["done"] * NUM_RUNS
    return path, (folder / "home" / "sweeps" / "ranks.csv").read_text()


@posix
@pytest.mark.slow
def test_a_worker_that_is_killed_costs_its_run_a_second_try(sweep: tuple[Path, str], tmp_path: Path) -> None:
    process = start(sweep[0], tmp_path, "--jobs", "2")
    wait_for(lambda: len(done(tmp_path)) >= 4)
    before = done(tmp_path)
    os.kill(children(process.pid)[0], signal.SIGKILL)
    assert process.wait(120) == 0
    after = done(tmp_path)
    assert len(after) == NUM_RUNS and before.items() <= after.items()
    assert (tmp_path / "sweeps" / "ranks.csv").read_text() == sweep[1]
    assert [*states(tmp_path).values()] == ["done"] * NUM_RUNS


@posix
@pytest.mark.slow
def test_a_sweep_that_is_killed_goes_on(sweep: tuple[Path, str], tmp_path: Path) -> None:
    """Five times, at some moment after some runs; then the table is that of a sweep that nobody disturbed."""
    rng = Random(7)
    before: dict[str, int] = {}
    for wanted in sorted(rng.sample(range(1, NUM_RUNS - 1), 5)):
        process = start(sweep[0], tmp_path, "--jobs", "2")
        wait_for(lambda number=wanted: len(done(tmp_path)) >= number)
        sleep(rng.uniform(0, 0.1))
        orphans = children(process.pid)
        process.kill()
        process.wait()
        assert before.items() <= done(tmp_path).items()
        before = done(tmp_path)
        wait_for(lambda pids=orphans: not any(Path(f"/proc/{pid}/cmdline").exists() for pid in pids))
        assert Recorder(tmp_path).close(60)  # whoever comes next tidies up, a lab's server too
        told = states(tmp_path)
        assert {told[key] for key in before} == {"done"} and {told[key] for key in told.keys() - before.keys()} <= {"interrupted"}
        assert list(tmp_path.glob("runs/*/.*")) == []
    assert start(sweep[0], tmp_path, "--jobs", "2").wait(120) == 0
    assert before.items() <= done(tmp_path).items()
    assert (tmp_path / "sweeps" / "ranks.csv").read_text() == sweep[1]
    assert list(states(tmp_path).values()) == ["done"] * NUM_RUNS
    assert list(tmp_path.glob("runs/*/.*")) == []
    assert list((tmp_path / "servers").iterdir()) == []


def test_what_is_done_is_not_run_again(sweep: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    home = sweep[0].parent / "home"
    before = done(home)
    assert main(["sweep", str(sweep[0]), "--out", str(home)]) == 0
    assert f"0 runs done, {NUM_RUNS} were there already, 0 failed" in capsys.readouterr().out
    assert done(home) == before


class Doomed:
    """Workers of which those that get some run die, with all that they were given."""

    def __init__(self, killers: set[str]) -> None:
        self.killers = killers
        self.tried: list[str] = []

    def names(self) -> list[Lane]:
        return ["one", "two"]

    def submit(self, lane: Lane, recipe: str, uploads: str) -> Future[Any]:
        future: Future[Any] = Future()
        key = sweeping.Recipe.from_json(recipe).key()
        self.tried.append(key)
        if key in self.killers:
            future.set_exception(MemoryError())
        else:
            future.set_result({"result.json": b"{}"})
        return future


def test_a_run_that_kills_its_process_fails_alone() -> None:
    recipes = Grid(**SWEEP).recipes()
    killer = list(recipes)[1]
    workers = Doomed({killer})

    class Silent:
        def tell(self, *what: object) -> None: ...

    results: Iterator[tuple[str, Any]] = sweeping._results(recipes, workers, "", Silent())  # type: ignore[arg-type]
    found = dict(results)
    assert set(found) == set(recipes) and [key for key, answer in found.items() if answer == sweeping.DIED] == [killer]
    assert workers.tried.count(killer) == sweeping.ATTEMPTS and len(workers.tried) == len(recipes) + sweeping.ATTEMPTS - 1


def test_the_last_runs_go_to_whoever_is_free() -> None:
    """Four runs on three lanes: nobody has two while another has none."""
    recipes = dict(list(Grid(**SWEEP).recipes().items())[:4])
    given: list[Lane] = []

    class Slow(Doomed):
        def names(self) -> list[Lane]:
            return [0, 1, 2]

        def submit(self, lane: Lane, recipe: str, uploads: str) -> Future[Any]:
            given.append(lane)
            if len(given) == 3:
                waiting[1].set_result({})  # the second is the first that is done
            waiting.append(Future())
            if len(given) == 4:
                for future in waiting:
                    if not future.done():
                        future.set_result({})
            return waiting[-1]

    class Silent:
        def tell(self, *what: object) -> None: ...

    waiting: list[Future[Any]] = []
    assert len(dict(sweeping._results(recipes, Slow(set()), "", Silent()))) == 4  # type: ignore[arg-type]
    assert given == [0, 1, 2, 1]


def test_what_can_not_be_run_is_told_and_the_rest_goes_on(tmp_path: Path) -> None:
    good = Grid(**SWEEP | {"learners": ["SP"], "ranks": [2]}).recipes()
    bad = Grid(**SWEEP | {"base": {"data": {"source": "upload"}}, "learners": ["SP"], "ranks": [2]}).recipes()
    swept = run_missing(bad | good, tmp_path)
    assert swept.new == tuple(good) and list(swept.failed) == list(bad)
    assert "No file was uploaded" in swept.failed[next(iter(bad))]
    assert sorted(states(tmp_path).values()) == ["done", "failed"]


@pytest.mark.parametrize(("text", "said"), [("[]", "JSON object"), ("{", "not JSON"), ('{"ranks": [0]}', "rank")])
def test_files_that_are_no_sweep(tmp_path: Path, text: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.json").write_text(text)
    assert main(["sweep", str(tmp_path / "s.json"), "--out", str(tmp_path / "home")]) == 2
    assert said in capsys.readouterr().err and not (tmp_path / "home").exists()


CLUSTER = """
import sys
from distributed import LocalCluster

if __name__ == "__main__":
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1")
    print(cluster.scheduler_address, *(worker.pid for worker in cluster.workers.values()), flush=True)
    sys.stdin.read()
    cluster.close()
"""


@posix
@pytest.mark.slow
def test_a_cluster_that_loses_a_worker(sweep: tuple[Path, str], tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    script = tmp_path / "cluster.py"
    script.write_text(CLUSTER)
    with subprocess.Popen([sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as cluster:
        assert cluster.stdout is not None and cluster.stdin is not None
        address, first, _ = cluster.stdout.readline().split()
        process = start(sweep[0], tmp_path / "home", "--scheduler", address)
        wait_for(lambda: len(done(tmp_path / "home")) >= 3)
        os.kill(int(first), signal.SIGKILL)
        assert process.wait(120) == 0
        cluster.stdin.close()
    assert (tmp_path / "home" / "sweeps" / "ranks.csv").read_text() == sweep[1]
    assert [*states(tmp_path / "home").values()] == ["done"] * NUM_RUNS


def test_no_cluster_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(lanes, "CONNECT_SECONDS", 1)
    with pytest.raises(RecipeError, match="no Dask scheduler at tcp://127.0.0.1:9"):
        run_missing(Grid(**SWEEP).recipes(), tmp_path, scheduler="tcp://127.0.0.1:9")
