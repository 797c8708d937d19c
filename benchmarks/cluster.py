"""Run sweeps and count strings on a Dask cluster of this machine's processes, one of which is
killed.

`python -m benchmarks.cluster` (needs Dask) checks that a disturbed sweep gives the same table as an
undisturbed one, and that shards counted separately give the same sample as one pass. It writes its
part of docs/sweeps.md. On two cores it shows that nothing is lost, not how fast a cluster is.
"""

from __future__ import annotations

import csv
import os
import signal
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from threading import Thread
from time import perf_counter, sleep
from typing import Any

import numpy as np
from distributed import Client, LocalCluster

from nlwfa_core.experiment.recipe import Recipe
from nlwfa_core.experiment.results import load_result
from nlwfa_core.experiment.sweep_table import SweepTable
from nlwfa_core.jobs.sweep import run_missing
from nlwfa_core.sources.counting import Counts, count_strings, merge
from nlwfa_core.sources.dyck import Dyck

from . import ROOT, pages
from .machine import facts
from .sweep import short

PAGE = ROOT / "docs" / "sweeps.md"
SHARDS = 8
STRINGS = 50_000
Rows = list[dict[str, str]]


def swept(
    recipes: Mapping[str, Recipe], cluster: LocalCluster | None, kill: bool = False
) -> tuple[Rows, float]:
    """Run a sweep, and return the rows of its table without their times, and the seconds it took.

    If `kill` is true, a worker is killed after a quarter of the runs.
    """
    with tempfile.TemporaryDirectory(prefix="nlwfa-cluster-") as folder:
        home = Path(folder)
        killer = Thread(target=_kill, args=(cluster, home, len(recipes) // 4), daemon=True)
        if kill:
            killer.start()
        started = perf_counter()
        done = run_missing(recipes, home, scheduler=cluster.scheduler_address if cluster else None)
        seconds = perf_counter() - started
        if kill:
            killer.join()
        if len(done.new) != len(recipes):
            raise RuntimeError(
                f"{len(done.new)} of {len(recipes)} runs done: {set(done.failed.values())}"
            )
        table = SweepTable(home / "table.csv", recipes)
        for key in recipes:
            table.add(key, load_result(home / "runs" / key))
        table.write()
        rows = csv.DictReader((home / "table.csv").read_text(encoding="utf-8").splitlines())
        return [
            {name: cell for name, cell in row.items() if "seconds" not in name} for row in rows
        ], seconds


def _kill(cluster: Any, home: Path, after: int) -> None:
    while len(list(home.glob("runs/*/result.json"))) < after:
        sleep(0.02)
    os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)


def count(path: str) -> Counts:
    """Count the strings of a shard, on a worker."""
    with Path(path).open("rb") as file:
        return count_strings(iter(partial(file.read, 2**17), b""))


def counted(client: Client, paths: list[str]) -> Counts:
    """Count each shard on a free worker, then merge the counts of neighbours pair by pair, which
    keeps the order of the shards.
    """
    parts = client.map(count, paths, pure=False)
    while len(parts) > 1:
        pairs = [parts[index : index + 2] for index in range(0, len(parts), 2)]
        parts = [
            client.submit(merge, *pair, pure=False) if len(pair) == 2 else pair[0] for pair in pairs
        ]
    counts: Counts = parts[0].result()
    return counts


def shards(folder: Path) -> list[str]:
    """Write files in PAutomaC's format, each with a header."""
    paths = []
    for number in range(SHARDS):
        words = Dyck().sample_words(STRINGS, number)
        lines = (" ".join(map(str, (len(word), *word))) for word in words)
        path = folder / f"shard.{number}"
        path.write_text("\n".join((f"{STRINGS} 2", *lines)) + "\n")
        paths.append(str(path))
    return paths


def report() -> str:
    recipes = short(1)
    lines = pages.head("python -m benchmarks.cluster", facts(1))
    lines += ["| sweep of 80 short runs | wall, s | table |", "| --- | --- | --- |"]
    expected, seconds = swept(recipes, None)
    lines.append(f"| one process, without Dask | {seconds:.1f} | |")
    for workers, kill in ((1, False), (2, False), (4, False), (4, True)):
        with LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
        ) as cluster:
            outcome, seconds = swept(recipes, cluster, kill)
        if outcome != expected:
            raise RuntimeError(
                f"a sweep's table must not depend on its workers: {workers} of Dask gave "
                "another than one process"
            )
        name = (
            f"Dask, {workers} "
            f"process{'es' if workers > 1 else ''}{', one killed after 20 runs' if kill else ''}"
        )
        lines.append(f"| {name} | {seconds:.1f} | the same, to the last digit |")
    with tempfile.TemporaryDirectory(prefix="nlwfa-shards-") as folder:
        paths = shards(Path(folder))
        started = perf_counter()
        whole = count(paths[0])
        for path in paths[1:]:
            whole = merge(whole, count(path))
        alone = perf_counter() - started
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
            ) as cluster,
            Client(cluster) as client,
        ):
            counted(client, paths[:2])  # so that workers load their modules
            started = perf_counter()
            merged = counted(client, paths)
            together = perf_counter() - started
    a = whole.sample()
    b = merged.sample()
    if not (
        np.array_equal(a.words.symbols, b.words.symbols) and np.array_equal(a.counts, b.counts)
    ):
        raise RuntimeError(
            "counting shards with Dask must give the sample that one process reads; got "
            "another sample"
        )
    lines += [
        "",
        f"Counting and merging {SHARDS} shards of {STRINGS:,} strings takes {alone:.2f} s one "
        f"after the other in one process, and {together:.2f} s on two workers in a tree. Both give "
        f"the same sample of {len(a.words):,} distinct strings, to the last bit.",
    ]
    return "\n".join(lines)


def main() -> None:
    text = report()
    print(text)
    pages.put(PAGE, "cluster", text)


if __name__ == "__main__":
    main()
