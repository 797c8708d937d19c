"""Measure the overhead of a sweep, and the speed-up by a second process.

`python -m benchmarks.sweep` makes 400 small runs in one process, then 408 longer ones in one and in
two processes, and some in bare processes without a sweep, which show what the machine allows. It
writes its part of docs/sweeps.md.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier
from pathlib import Path
from time import perf_counter
from typing import Any

from nlwfa_core.experiment.pipeline import Workbench
from nlwfa_core.experiment.presets import PAPER
from nlwfa_core.experiment.recipe import Recipe
from nlwfa_core.experiment.results import load_result
from nlwfa_core.experiment.sweeps import Grid
from nlwfa_core.jobs.sweep import run_missing

from . import ROOT, pages
from .machine import facts

PAGE = ROOT / "docs" / "sweeps.md"
BASE: dict[str, Any] = {
    "data": {"num_strings": 2_000},
    "hankel": {"num_prefixes": 100, "num_suffixes": 100},
}
LISTS: dict[str, Any] = {
    "statistics": ["string", "prefix"],
    "transforms": ["none", "row"],
    "sample_sizes": [500, 2_000],
}
# milliseconds a run; times
TARGET_OVERHEAD = 10.0
TARGET_SPEED_UP = 1.8


@dataclass(frozen=True)
class Timed:
    """Times of a sweep, in seconds.

    Attributes
    ----------
    runs : int
    wall : float
    here, there : float
        Processor time of the sweep's own process, and of its workers.
    training : float
        Sum over runs of their own time by their workers' clocks: learning and scores, and strings
        and matrix for the first run with them.
    """

    runs: int
    wall: float
    here: float
    there: float
    training: float


def _epochs(number: int) -> tuple[tuple[str, int | float | str], ...]:
    """Options of networks that are trained for some epochs, as in the paper."""
    epochs = {"epochs_factorisation": number, "epochs_transitions": number // 2}
    return tuple((PAPER | epochs).items())


def short(seeds: int) -> dict[str, Recipe]:
    """Recipes that take a few hundredths of a second, with many matrices: 80 for each seed."""
    lists = LISTS | {
        "learners": ["SP", "fac.non"],
        "ranks": [2, 3, 4, 5, 6],
        "seeds": list(range(seeds)),
        "new_strings": True,
    }
    return Grid(**{"base": BASE, **lists}, options=_epochs(100)).recipes()


def long(seeds: int, epochs: int) -> dict[str, Recipe]:
    """Recipes of networks: 8 matrices, with 3 runs each for every seed."""
    return Grid(
        **{
            "base": BASE,
            "options": _epochs(epochs),
            **LISTS,
            "learners": ["fac.non"],
            "ranks": [2, 4, 6],
            "seeds": list(range(seeds)),
        }
    ).recipes()


def timed(recipes: Mapping[str, Recipe], jobs: int) -> Timed:
    """Time a whole sweep into an empty folder."""
    with tempfile.TemporaryDirectory(prefix="nlwfa-sweep-") as folder:
        home = Path(folder)
        here = _processor(resource.RUSAGE_SELF)
        there = _processor(resource.RUSAGE_CHILDREN)
        started = perf_counter()
        swept = run_missing(recipes, home, jobs)
        wall = perf_counter() - started
        if len(swept.new) != len(recipes):
            raise RuntimeError(
                f"{len(swept.new)} of {len(recipes)} runs done: {set(swept.failed.values())}"
            )
        training = 0.0
        seen = set()
        for key in recipes:
            seconds = load_result(home / "runs" / key).seconds
            first = (seconds["data"], seconds["hankel"])  # every run that shares them reports them
            training += (
                seconds["learning"] + seconds["scores"] + (0.0 if first in seen else sum(first))
            )
            seen.add(first)
        used = (
            _processor(resource.RUSAGE_SELF) - here,
            _processor(resource.RUSAGE_CHILDREN) - there,
        )
        return Timed(len(recipes), wall, *used, training)


def bare(recipes: Mapping[str, Recipe], processes: int) -> float:
    """Runs per second of processes that each do all these recipes and nothing else, after warming
    up.
    """
    context = get_context("spawn")
    barrier = context.Barrier(processes)
    times = context.SimpleQueue()
    texts = [recipe.to_json() for recipe in recipes.values()]
    workers = [
        context.Process(target=_bare, args=(texts, barrier, times)) for _ in range(processes)
    ]
    for worker in workers:
        worker.start()
    slowest = max(times.get() for _ in workers)
    for worker in workers:
        worker.join()
    return processes * len(texts) / slowest


def _bare(texts: list[str], barrier: Barrier, times: Any) -> None:
    bench = Workbench()
    recipes = [Recipe.from_json(text) for text in texts]
    bench.run(recipes[0])
    barrier.wait()
    started = perf_counter()
    for recipe in recipes:
        bench.run(recipe)
    times.put(perf_counter() - started)


def _processor(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def target_cell(value: float, target: float, unit: str, at_most: bool) -> str:
    reached = value <= target if at_most else value >= target
    return (
        f"**{value:.2f} {unit}** | {'≤' if at_most else '≥'} {target:g} "
        f"{unit}{'' if reached else ' (not reached)'}"
    )


def report(seeds: tuple[int, int], epochs: int) -> str:
    """Measure, and write the part of the page."""
    lines = pages.head("python -m benchmarks.sweep", facts(1))
    started = os.getloadavg()[0]
    warm = timed(short(1), 1)  # the first sweep loads all modules from disk
    many = timed(short(seeds[0]), 1)
    overhead = 1e3 * (many.wall - many.training) / many.runs
    ours = 1e3 * many.here / many.runs
    recipes = long(seeds[1], epochs)
    alone = bare(dict(list(recipes.items())[:12]), 1)
    few = dict(list(recipes.items())[:12])
    one = timed(recipes, 1)
    two = timed(recipes, 2)
    ceiling = bare(few, 2) / alone
    cells = (
        target_cell(overhead, TARGET_OVERHEAD, "ms", True),
        target_cell(one.wall / two.wall, TARGET_SPEED_UP, "×", False),
    )
    lines += [
        "| what | measured | target |",
        "| --- | --- | --- |",
        f"| overhead per run, {many.runs} runs, one process: (wall − training) / runs | "
        f"{cells[0]} |",
        f"| speed-up by a second process, {one.runs} runs of {one.training / one.runs:.2f} "
        f"s: wall / wall | {cells[1]} |",
        f"| the same for two bare processes, the limit of the machine | {ceiling:.2f} × | |",
        "",
        "| sweep | runs | wall, s | training, s | processor, sweep itself, s | processor, "
        "workers, s |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    named = (
        ("warm-up", warm),
        ("short, one process", many),
        ("long, one process", one),
        ("long, two processes", two),
    )
    lines += [
        f"| {name} | {sweep.runs} | {sweep.wall:.1f} | {sweep.training:.1f} | "
        f"{sweep.here:.1f} | {sweep.there:.1f} |"
        for name, sweep in named
    ]
    lines += [
        "",
        f"The sweep's own process took {ours:.1f} ms of processor time per run (rows of the "
        "history, files, imports). The load "
        f"average was {started:.1f} before and {os.getloadavg()[0]:.1f} after the measurement. "
        "On a busy machine, the second process shares its core with other work. The row of the "
        "bare processes shows the largest possible speed-up.",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--quick", action="store_true", help="a few runs, to see that it works; writes nothing"
    )
    quick = parser.parse_args().quick
    text = report((1, 1) if quick else (5, 17), 5 if quick else 800)
    print(text)
    if not quick:
        pages.put(PAGE, "sweep", text)


if __name__ == "__main__":
    main()
