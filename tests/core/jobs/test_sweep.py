"""Sweeps: who does which runs, and processes that are killed.

Nothing is lost, nothing is run twice.
"""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from random import Random
from time import sleep
from typing import Any

import pytest

from nlwfa_core.cli.main import main
from nlwfa_core.errors import RecipeError
from nlwfa_core.experiment.pipeline import Workbench
from nlwfa_core.experiment.recipe import DataRecipe, Recipe
from nlwfa_core.experiment.results import load_result
from nlwfa_core.experiment.sweep_table import RUN_COLUMNS
from nlwfa_core.experiment.sweeps import Grid
from nlwfa_core.files import FileShelf, plain
from nlwfa_core.history.database import FILE
from nlwfa_core.history.recorder import Recorder
from nlwfa_core.jobs import sweep as sweeping
from nlwfa_core.jobs import worker
from nlwfa_core.jobs.sweep import Cluster, Swept, Waiting, run_missing
from nlwfa_core.learning.progress import Progress
from tests.core.here import Here, run_here
from tests.core.small import children, posix, recipe_of, servers, states
from tests.waiting import PATIENCE_SECONDS, wait_for

SWEEP: dict[str, Any] = {
    "base": {
        "data": {"num_strings": 200, "num_validation": 20, "num_test": 20},
        "hankel": {"num_prefixes": 20, "num_suffixes": 20},
    },
    # which take as long as small networks, without three seconds for torch in each new process
    "learners": ["SP", "HMM"],
    "ranks": [1, 2, 3],
    "seeds": [0, 1, 2, 3],
}
NUM_RUNS = 3 + 3 * 4


def done(home: Path) -> dict[str, int]:
    """Finished runs, and when they were written."""
    return {path.parent.name: path.stat().st_mtime_ns for path in home.glob("runs/*/result.json")}


def table(home: Path, name: str = "ranks") -> list[dict[str, str]]:
    """The rows of a sweep's table, without the seconds, which differ from run to run."""
    with (home / "sweeps" / f"{name}.csv").open(newline="") as file:
        return [
            {name: cell for name, cell in row.items() if "seconds" not in name}
            for row in csv.DictReader(file)
        ]


def start(path: Path, home: Path, *options: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "nlwfa_core", "sweep", str(path), "--out", str(home), *options]
    )


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, str]]]:
    """The file, and the table of a sweep that nobody disturbed."""
    folder = tmp_path_factory.mktemp("sweep")
    path = folder / "ranks.json"
    path.write_text(json.dumps(SWEEP))
    assert main(["sweep", str(path), "--out", str(folder / "home")]) == 0
    assert (
        len(done(folder / "home")) == NUM_RUNS
        and [*states(folder / "home").values()] == ["done"] * NUM_RUNS
    )
    return path, table(folder / "home")


@posix
@pytest.mark.slow
def test_a_worker_that_is_killed_costs_its_run_a_second_try(
    sweep: tuple[Path, list[dict[str, str]]], tmp_path: Path
) -> None:
    process = start(sweep[0], tmp_path, "--jobs", "2")
    wait_for(lambda: len(done(tmp_path)) >= 4)
    before = done(tmp_path)
    os.kill(children(process.pid)[0], signal.SIGKILL)
    assert process.wait(PATIENCE_SECONDS) == 0
    after = done(tmp_path)
    assert len(after) == NUM_RUNS and before.items() <= after.items()
    assert table(tmp_path) == sweep[1]
    assert [*states(tmp_path).values()] == ["done"] * NUM_RUNS


@posix
@pytest.mark.slow
def test_a_sweep_that_is_killed_goes_on(
    sweep: tuple[Path, list[dict[str, str]]], tmp_path: Path
) -> None:
    """Three times, at some moment after some runs; then the table is that of a sweep that nobody
    disturbed.
    """
    rng = Random(7)
    before: dict[str, int] = {}
    for wanted in sorted(rng.sample(range(1, NUM_RUNS - 1), 3)):
        process = start(sweep[0], tmp_path, "--jobs", "2")
        wait_for(lambda number=wanted: len(done(tmp_path)) >= number)
        sleep(rng.uniform(0, 0.1))
        orphans = children(process.pid)
        process.kill()
        process.wait()
        wait_for(
            lambda pids=orphans: not any(Path(f"/proc/{pid}/cmdline").exists() for pid in pids)
        )
        assert before.items() <= done(tmp_path).items()
        before = done(tmp_path)
        # whoever comes next tidies up, a lab's server too
        assert Recorder(tmp_path).close(PATIENCE_SECONDS)
        told = states(tmp_path)
        assert {told[key] for key in before} == {"done"} and {
            told[key] for key in told.keys() - before.keys()
        } <= {"interrupted"}
        assert list(tmp_path.glob("runs/*/.*")) == []
    assert start(sweep[0], tmp_path, "--jobs", "2").wait(PATIENCE_SECONDS) == 0
    assert before.items() <= done(tmp_path).items()
    assert table(tmp_path) == sweep[1]
    assert list(states(tmp_path).values()) == ["done"] * NUM_RUNS
    assert list(tmp_path.glob("runs/*/.*")) == []
    assert servers(tmp_path) == []


def test_what_is_done_is_not_run_again(
    sweep: tuple[Path, list[dict[str, str]]], capsys: pytest.CaptureFixture[str]
) -> None:
    home = sweep[0].parent / "home"
    before = done(home)
    assert main(["sweep", str(sweep[0]), "--out", str(home)]) == 0
    assert f"0 runs done, {NUM_RUNS} were there already, 0 failed" in capsys.readouterr().out
    assert done(home) == before


@pytest.mark.slow
@posix
def test_a_sweep_that_is_killed_has_the_table_of_its_finished_runs(
    sweep: tuple[Path, list[dict[str, str]]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The table is there after the first run; after a kill the same command does the other runs,
    and none twice.
    """
    process = start(sweep[0], tmp_path)
    wait_for(lambda: (tmp_path / "sweeps" / "ranks.csv").exists())
    first = table(tmp_path)
    orphans = children(process.pid)
    process.kill()
    process.wait()
    wait_for(lambda: not any(Path(f"/proc/{pid}/cmdline").exists() for pid in orphans))
    rows = table(tmp_path)
    before = done(tmp_path)
    assert 1 <= len(first) <= len(rows) <= len(before) < NUM_RUNS
    assert {row["key"] for row in rows} <= set(before) and all(row in sweep[1] for row in rows)
    assert list((tmp_path / "sweeps").iterdir()) == [tmp_path / "sweeps" / "ranks.csv"]
    assert main(["sweep", str(sweep[0]), "--out", str(tmp_path)]) == 0
    answer = capsys.readouterr()
    assert (
        f"{NUM_RUNS - len(before)} runs done, {len(before)} were there already, 0 failed"
        in answer.out
    )
    assert table(tmp_path) == sweep[1] and before.items() <= done(tmp_path).items()
    # one a run, as it ends
    lines = [line for line in answer.err.splitlines() if f" of {NUM_RUNS}: " in line]
    assert [line.split(" of ")[0] for line in lines] == [
        str(number) for number in range(len(before) + 1, NUM_RUNS + 1)
    ]
    assert all("k = " in line and "WER 0." in line for line in lines)


FAILING: dict[str, Any] = {
    "base": {"data": SWEEP["base"]["data"], "hankel": SWEEP["base"]["hankel"]},
    "ranks": [2, 50, 60],
}
RANK_50 = (
    "SP, k = 50, string statistic, 200 strings: rank must be between 1 and 20 (the basis has 20 "
    "prefixes and 20 suffixes); got 50"
)


@pytest.mark.usefixtures("in_this_process")
def test_a_sweep_with_a_failed_run_says_which_and_exits_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ranks.json"
    for ranks, number in ((FAILING["ranks"], 1), ([50], 0)):  # all runs failed, too
        path.write_text(json.dumps(FAILING | {"ranks": ranks}))
        assert main(["sweep", str(path), "--out", str(tmp_path / "home"), "--force"]) == 1
        answer = capsys.readouterr()
        assert (
            f"{len(ranks) - number} failed" in answer.out
            and f"failed: {RANK_50}" in answer.err.splitlines()
        )
        rows = table(tmp_path / "home")
        assert [row["rank"] for row in rows] == list(map(str, ranks))
        failed = rows[number]
        assert (
            failed["error"].startswith("rank must be between 1 and 20")
            and failed["learner"] == "SP"
        )
        assert all(
            value == "" for name, value in failed.items() if name not in (*RUN_COLUMNS, "error")
        )
        assert all(row["error"] == "" and row["wer"] for row in rows[:number])


@pytest.mark.usefixtures("in_this_process")
def test_many_failed_runs_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "ranks.json"
    path.write_text(json.dumps(FAILING | {"ranks": list(range(50, 75))}))
    assert main(["sweep", str(path), "--out", str(tmp_path / "home")]) == 1
    lines = [
        line for line in capsys.readouterr().err.splitlines() if " of " not in line.split(":")[0]
    ]
    assert len(lines) == 21 and lines[-1].startswith("and 5 more: see the column error of ")


@pytest.mark.usefixtures("in_this_process")
def test_a_damaged_result_is_a_failed_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ranks.json"
    home = tmp_path / "home"
    path.write_text(json.dumps(FAILING | {"ranks": [1, 2]}))
    assert main(["sweep", str(path), "--out", str(home)]) == 0
    next(home.glob("runs/*/model.json")).write_text("{}")
    assert main(["sweep", str(path), "--out", str(home)]) == 1
    assert "0 runs done, 2 were there already, 1 failed" in capsys.readouterr().out
    assert sum("model.json" in row["error"] for row in table(home)) == 1


@pytest.mark.usefixtures("in_this_process")
def test_a_table_of_other_runs_is_replaced_by_force_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ranks.json"
    home = tmp_path / "home"
    for ranks, options, code in (
        ([1, 2], [], 0),
        ([1, 2, 3], [], 0),
        ([1], [], 2),
        ([1], ["--force"], 0),
    ):
        path.write_text(json.dumps(FAILING | {"ranks": ranks}))
        before = done(home)
        assert main(["sweep", str(path), "--out", str(home), *options]) == code
        if code:
            assert "has 2 rows of runs that this sweep does not have" in capsys.readouterr().err
        assert before.items() <= done(home).items()
    assert len(table(home)) == 1
    (home / "sweeps" / "ranks.csv").write_text("mine\n")
    assert main(["sweep", str(path), "--out", str(home)]) == 2
    assert "can't be read as the table of a sweep" in capsys.readouterr().err
    assert (home / "sweeps" / "ranks.csv").read_text() == "mine\n"


QUICK = Grid(**SWEEP | {"learners": ["SP"], "ranks": [1, 2, 3, 4, 5, 6, 7, 8]}).recipes()


def test_a_run_that_kills_its_process_fails_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killer = list(QUICK)[1]
    workers = Here({killer}, slots=1)
    swept = run_here(QUICK, tmp_path, workers, monkeypatch)
    assert swept.failed == {killer: worker.died(sweeping.ATTEMPTS)} and set(swept.new) == set(
        QUICK
    ) - {killer}
    tries = [group for _, group in workers.tried if killer in group]
    assert len(tries[0]) == 2 and tries[1:] == [[killer]] * (sweeping.ATTEMPTS - 1)
    assert states(tmp_path) == {key: "failed" if key == killer else "done" for key in QUICK}


def test_results_come_from_workers_that_do_not_see_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    near = tmp_path / "near"
    far = tmp_path / "far"
    assert (
        run_here(QUICK, near, Here(), monkeypatch).new
        and run_here(QUICK, far, Here(server="another"), monkeypatch).new
    )
    assert set(done(near)) == set(done(far)) == set(QUICK)
    for key in QUICK:
        scores = [asdict(load_result(home / "runs" / key).scores) for home in (near, far)]
        # some are undefined: nan is not nan, but "nan" is "nan"
        assert plain(scores[0]) == plain(scores[1])


@pytest.mark.usefixtures("in_this_process")
def test_a_sweep_without_a_history_reads_uploads_and_leaves_only_runs(tmp_path: Path) -> None:
    upload = FileShelf(tmp_path / "uploads").put(b"a b\na\nb a\n" * 20)
    data = DataRecipe(
        source="upload", upload=upload, upload_format="tokens", num_validation=5, num_test=5
    )
    recipe = recipe_of().changed(data=data)
    swept = run_missing({recipe.key(): recipe}, tmp_path, history=False)
    assert (swept.new, dict(swept.failed)) == ((recipe.key(),), {})
    assert load_result(tmp_path / "runs" / recipe.key()).recipe == recipe
    assert not (tmp_path / FILE).exists()


def test_after_its_time_a_sweep_begins_nothing_and_later_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_here(QUICK, tmp_path, Here(), monkeypatch, seconds=0) == Swept((), (), {})
    now = [0.0]
    for module in (sweeping, worker):
        monkeypatch.setattr(module, "monotonic", lambda: now[0])
    finished: list[str] = []
    steps: list[Progress] = []
    workers = Here(slots=1)
    save = worker.save_result
    monkeypatch.setattr(
        worker,
        "save_result",
        lambda *what, **options: (save(*what, **options), now.__setitem__(0, now[0] + 1.0)),
    )
    swept = run_here(
        QUICK,
        tmp_path,
        workers,
        monkeypatch,
        seconds=2.5,
        each=lambda key, _: finished.append(key),
        report=steps.append,
    )
    assert list(swept.new) == finished == list(QUICK)[:3] and not swept.failed
    assert [step.step for step in steps] == [0, 1, 2, 3] and steps[-1].total == len(QUICK)
    rest = run_here(QUICK, tmp_path, Here(), monkeypatch)
    assert (
        rest.present == swept.new
        and len(rest.new) == len(QUICK) - 3
        and set(states(tmp_path).values()) == {"done"}
    )


LISTS = {
    "learners": ("SP",),
    "ranks": (1, 2, 3),
    "statistics": ("string", "prefix"),
    "sample_sizes": (100, 200),
    "seeds": (0, 1),
}
RECIPES = Grid(**LISTS, new_strings=True).recipes()  # type: ignore[arg-type]


def handed_out(recipes: dict[str, Recipe], slots: int) -> list[list[Recipe]]:
    """What each slot gets if all runs take equally long."""
    waiting = Waiting(recipes)
    rows: list[list[Recipe]] = [[] for _ in range(slots)]
    while len(waiting):
        slot = min(range(slots), key=lambda slot: len(rows[slot]))
        rows[slot] += [recipes[key] for key in waiting.take(slot, slots)]
    assert waiting.take(0, slots) == ()
    return rows


def made(runs: list[Recipe]) -> tuple[int, int]:
    """How many times a process that does these in turn makes strings, and a matrix."""
    pairs = [(None, runs[0]), *pairwise(runs)] if runs else []
    strings = sum(before is None or before.data != recipe.data for before, recipe in pairs)
    return strings, sum(
        before is None or (before.data, before.hankel) != (recipe.data, recipe.hankel)
        for before, recipe in pairs
    )


@pytest.mark.parametrize("slots", [1, 2, 3, 4, 7, 40])
def test_every_run_is_handed_out_once(slots: int) -> None:
    rows = handed_out(RECIPES, slots)
    assert Counter(recipe.key() for row in rows for recipe in row) == Counter(list(RECIPES))
    assert max(map(len, rows)) - min(map(len, rows)) <= 1


def test_slots_stay_with_their_strings_and_matrices() -> None:
    assert len(RECIPES) == 24  # 4 samples, 8 matrices, 3 runs of each
    assert [made(row) for row in handed_out(RECIPES, 1)] == [(4, 8)]
    assert [made(row) for row in handed_out(RECIPES, 2)] == [(2, 4)] * 2
    assert [made(row) for row in handed_out(RECIPES, 4)] == [(1, 2)] * 4
    assert [made(row) for row in handed_out(RECIPES, 8)] == [(1, 1)] * 8


def test_a_process_keeps_its_strings_for_another_matrix() -> None:
    bench = Workbench()
    data = []
    for recipe in list(RECIPES.values())[:7]:
        bench.run(recipe)
        assert bench.prepared is not None
        data.append(bench.prepared.data)
    assert [one is other for one, other in pairwise(data)] == [True] * 5 + [False]


def test_the_threads_of_a_cluster_are_looked_up_now_and_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Client:
        asked = 0

        def get_executor(self, **options: object) -> None: ...

        def nthreads(self) -> dict[str, int]:
            self.asked += 1
            return {} if self.asked == 1 else {"tcp://a": 1, "tcp://b": 2}

    client = Client()
    workers = Cluster(client)
    assert workers.slots() == ((None, 0),) and workers.slots() == ((None, 0),) and client.asked == 1
    monkeypatch.setattr(sweeping, "LOOK_SECONDS", -1.0)
    assert workers.slots() == (("tcp://a", 0), ("tcp://b", 0), ("tcp://b", 1))


def test_a_recipe_that_can_not_be_run_fails_with_a_sentence_and_the_rest_goes_on(
    tmp_path: Path,
) -> None:
    good = Grid(**SWEEP | {"learners": ["SP"], "ranks": [2]}).recipes()
    bad = Grid(
        **SWEEP | {"base": {"data": {"source": "upload"}}, "learners": ["SP"], "ranks": [2]}
    ).recipes()
    swept = run_missing(bad | good, tmp_path)
    assert swept.new == tuple(good) and list(swept.failed) == list(bad)
    assert "There are no strings yet" in swept.failed[next(iter(bad))]
    assert sorted(states(tmp_path).values()) == ["done", "failed"]


@pytest.mark.parametrize(
    ("text", "said"), [("[]", "JSON object"), ("{", "not JSON"), ('{"ranks": [0]}', "rank")]
)
def test_files_that_are_no_sweep(
    tmp_path: Path, text: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
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
"""  # noqa: E501


@posix
@pytest.mark.slow
def test_a_cluster_that_loses_a_worker(
    sweep: tuple[Path, list[dict[str, str]]], tmp_path: Path
) -> None:
    pytest.importorskip("distributed")
    script = tmp_path / "cluster.py"
    script.write_text(CLUSTER)
    with subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as cluster:
        assert cluster.stdout is not None and cluster.stdin is not None
        address, first, _ = cluster.stdout.readline().split()
        process = start(sweep[0], tmp_path / "home", "--scheduler", address)
        wait_for(lambda: len(done(tmp_path / "home")) >= 3)
        os.kill(int(first), signal.SIGKILL)
        assert process.wait(PATIENCE_SECONDS) == 0
        cluster.stdin.close()
    assert table(tmp_path / "home") == sweep[1]
    assert [*states(tmp_path / "home").values()] == ["done"] * NUM_RUNS


def test_no_cluster_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(sweeping, "CONNECT_SECONDS", 1)
    with pytest.raises(
        RecipeError, match="Could not connect to a Dask scheduler at tcp://127.0.0.1:9"
    ):
        run_missing(Grid(**SWEEP).recipes(), tmp_path, scheduler="tcp://127.0.0.1:9")
