"""Small runs, and what the history says of them: for tests of jobs, history and faults."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
import sqlalchemy as sa

from nlwfa_core.experiment.presets import PAPER
from nlwfa_core.experiment.recipe import DataRecipe, Recipe, with_fields
from nlwfa_core.hankel.recipe import HankelRecipe
from nlwfa_core.history.runs import RUNS, History, Run, run_of_row

posix = pytest.mark.skipif(
    not hasattr(signal, "SIGKILL"), reason="processes are killed by POSIX signals"
)


def recipe_of(learner: str = "SP", seed: int = 0, epochs: int = 50) -> Recipe:
    base = Recipe(
        data=DataRecipe(num_strings=200, num_validation=20, num_test=20, seed=seed),
        hankel=HankelRecipe(num_prefixes=20, num_suffixes=20),
    )
    networks = {**PAPER, "epochs_factorisation": epochs, "epochs_transitions": 5}
    return with_fields(base, {"learner": learner, "rank": 2}, networks)


def all_runs(history: History, deleted: bool = False) -> list[Run]:
    """The rows that are not deleted, or those that are, the newest first."""
    with history.reading.connect() as connection:
        rows = connection.execute(
            sa.select(RUNS).order_by(RUNS.c.submitted.desc(), RUNS.c.key)
        ).all()
    return [run_of_row(row._mapping) for row in rows if (row.deleted is not None) == deleted]


def servers(home: Path) -> list[str]:
    """The servers on a folder whose files are there: those alive, and those that have died and are
    not cleaned up yet.
    """
    return [path.name for path in (home / "servers").iterdir() if not path.name.startswith(".")]


def run_of(history: History, key: str) -> Run | None:
    return next(
        (run for run in all_runs(history) + all_runs(history, deleted=True) if run.key == key), None
    )


def states(home: Path) -> dict[str, str]:
    """Key -> state of the runs in the history of a lab's folder."""
    history = History.open(home)
    found = {run.key: run.state for run in all_runs(history)}
    history.close()
    return found


def children(pid: int) -> list[int]:
    """Processes below one, of those that work.

    A terminal's width, in `COLUMNS`, must not cut what `ps` prints.
    """
    found = subprocess.run(
        ["ps", "-ww", "--ppid", str(pid), "-o", "pid=,args="],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    return [int(line.split()[0]) for line in found.splitlines() if "LokyProcess" in line]
