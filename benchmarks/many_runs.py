"""Measure how long the server computes for a rerun of Compare and of History when there are 200
runs.

`python -m benchmarks.many_runs [--repeats 9]` (needs the packages of `make test`) prints a table.
The runs are real but small: two learners, ten ranks and ten seeds on 500 strings. Times are
processor time, so other work on the machine hardly affects them; they include the simulated browser
that reads the pages.
"""

from __future__ import annotations

import argparse
import logging
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from time import process_time
from typing import Any

from streamlit.testing.v1 import AppTest

from nlwfa_core import run
from nlwfa_core.experiment.results import save_result
from nlwfa_core.experiment.sweeps import Grid
from nlwfa_core.history.recorder import Recorder
from tests.app.lab import QUICK, ROOT, complaints, go, recipe_of
from tests.waiting import PATIENCE_SECONDS

LEARNERS = ("SP", "fac.non")
RANKS = (1, 2, 3, 4, 5, 8, 10, 15, 20, 30)
NUM_SEEDS = 10
SMALL = QUICK | {"learner": "SP", "num_strings": 500, "num_validation": 200, "num_test": 200}
TARGET = 300  # milliseconds


def lab_with_runs(home: Path) -> AppTest:
    """Make the runs of a grid, and open a lab whose Compare page shows that grid."""
    app = AppTest.from_file(ROOT / "app.py", default_timeout=PATIENCE_SECONDS)
    grid = {"learners": list(LEARNERS), "ranks": list(map(str, RANKS)), "seeds": str(NUM_SEEDS)}
    app.query_params.update({name: str(value) for name, value in SMALL.items()} | grid)
    app.session_state["compare.new_strings"] = True
    recipe = recipe_of(app.run())
    recorder = Recorder(home)
    for one in (
        Grid(base=recipe, learners=LEARNERS, ranks=RANKS, num_seeds=NUM_SEEDS, new_strings=True)
        .points()
        .values()
    ):
        save_result(home / "runs" / one.key(), run(one), sync=False)
        for state in ("queued", "done"):
            recorder.record(one.key(), one, state)
    assert recorder.close(PATIENCE_SECONDS)
    return app


def milliseconds(action: Callable[[], Any]) -> float:
    """Measure the processor's milliseconds of an action."""
    started = process_time()
    action()
    return 1000 * (process_time() - started)


def row(name: str, times: list[float], target: float | None = None) -> str:
    low, _, high = quantiles(times, n=4) if len(times) > 1 else (times[0],) * 3
    aim = (
        ""
        if target is None
        else f"≤ {target:.0f}{'' if median(times) <= target else ' (not reached)'}"
    )
    return f"| {name} | {median(times):.0f} ({low:.0f}–{high:.0f}) | {aim} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"NLWFA_HOME": folder, "NLWFA_HISTORY": "all"}
        app = lab_with_runs(Path(folder))
        print("| what, with 200 runs | the server's ms | target |\n| --- | --- | --- |")
        for page, num_rows in (("compare", 200), ("history", 50)):
            print(
                row(
                    f"{page.capitalize()}, the first visit",
                    [milliseconds(lambda page=page: go(app, page))],
                )
            )
            assert not complaints(app) and num_rows in [len(table.value) for table in app.dataframe]
            print(
                row(
                    f"{page.capitalize()}, a rerun",
                    [milliseconds(app.run) for _ in range(repeats)],
                    TARGET,
                ),
                flush=True,
            )
            ranks = [
                milliseconds(app.number_input(key="rank").set_value(rank).run)
                for rank in (3, 4) * repeats
            ][2:]
            print(row(f"{page.capitalize()}, rank ± 1 in the sidebar", ranks, TARGET), flush=True)


if __name__ == "__main__":
    main()
