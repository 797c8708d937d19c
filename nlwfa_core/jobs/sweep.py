"""Runs many recipes in worker processes, here or on a Dask cluster, and keeps each result as soon as it is there.

Everything goes through futures executors (`lanes`). A run is named by its recipe's key, and one that is done is not run again:
whatever is killed, the same call goes on. Workers give results back and write nothing, so a cluster needs no shared disk; but
uploaded strings are read from `home/uploads`, which then has to be one.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from pathlib import Path

from ..errors import RecipeError
from ..experiment.recipe import Recipe
from ..files import make_directory, write_atomically
from ..history.recorder import Recorder
from ..learning.progress import Progress, Report, silent
from .errands import Files
from .folders import Finished
from .lanes import ATTEMPTS, Agenda, Lane, Lanes, cluster, processes

DIED = (
    "The process that trained this died three times (killed, or out of memory): try a smaller basis, fewer strings or a lower rank."
)
CLOSE_SECONDS = 60.0
# Runs that a lane has at a time: one that it does, and one that it begins at once when that is done.
AHEAD = 2


@dataclass(frozen=True)
class Swept:
    """What came of a sweep: the keys of runs that were there before, that are new, and why others failed."""

    known: tuple[str, ...]
    new: tuple[str, ...]
    failed: Mapping[str, str]


def run_missing(
    recipes: Mapping[str, Recipe], home: Path, jobs: int = 1, scheduler: str | None = None, report: Report = silent
) -> Swept:
    """Run what is not in `home/runs` yet; what becomes of it goes into the history, too.

    Parameters
    ----------
    recipes : mapping
        Key -> recipe, in the order in which they start.
    home : Path
    jobs : int
        Worker processes.
    scheduler : str, optional
        The address of a Dask scheduler, whose workers then do it.
    report : callable
        Called with a Progress for each run.

    Raises
    ------
    RecipeError
        If the cluster can't be reached, or a result not be written; what was finished before is kept.
    """
    finished = Finished(home / "runs")
    known = [key for key in recipes if finished.has(key)]
    missing = {key: recipe for key, recipe in recipes.items() if key not in set(known)}
    new: list[str] = []
    failed: dict[str, str] = {}
    report(Progress("runs", len(known), len(recipes)))
    if not missing:
        return Swept(tuple(known), (), {})
    recorder = Recorder(home)
    try:
        with cluster(scheduler) if scheduler else processes(jobs) as lanes:
            for key, found in _results(missing, lanes, str(home / "uploads"), recorder):
                if isinstance(found, str):
                    failed[key] = found
                    recorder.tell(key, recipes[key], "failed", found)
                else:
                    try:
                        _keep(finished.folder(key), found)
                    except RecipeError:
                        recorder.tell(key, recipes[key], "interrupted")
                        raise
                    new.append(key)
                    recorder.tell(key, recipes[key], "done")
                report(Progress("runs", len(known) + len(new) + len(failed), len(recipes)))
    finally:
        recorder.close(CLOSE_SECONDS)
    return Swept(tuple(known), tuple(new), failed)


def _results(missing: Mapping[str, Recipe], lanes: Lanes, uploads: str, recorder: Recorder) -> Iterator[tuple[str, Files | str]]:
    """Key -> a run's files, or why it failed, as they come."""
    agenda, alone = Agenda(missing), deque[str]()
    deaths: Counter[str] = Counter()
    flying: dict[Future[Files | str], tuple[str, Lane]] = {}

    def send(key: str, lane: Lane) -> None:
        flying[lanes.submit(lane, missing[key].to_json(), uploads)] = key, lane
        recorder.tell(key, missing[key], "running")

    try:
        while True:
            if alone and not flying:
                send(alone.popleft(), lanes.names()[0])
            elif not alone:
                busy, names = Counter(lane for _, lane in flying.values()), lanes.names()
                for lane, depth in ((lane, depth) for depth in range(AHEAD) for lane in names):
                    # The last runs wait for whichever lane is free first.
                    if busy[lane] == depth and (not depth or len(agenda) >= len(names)) and (key := agenda.next(lane)):
                        send(key, lane)
                        busy[lane] += 1
            if not flying:
                break
            for future in wait(flying, return_when=FIRST_COMPLETED).done:
                key, _ = flying.pop(future)
                if future.cancelled() or future.exception() is not None:  # runs themselves raise nothing: see `errands.work`
                    deaths[key] += 1
                    if deaths[key] < ATTEMPTS:
                        alone.append(key)
                    else:
                        yield key, DIED
                else:
                    yield key, future.result()
    finally:
        for future, (key, _) in flying.items():
            lanes.cancel(future)
            recorder.tell(key, missing[key], "interrupted")


def _keep(folder: Path, files: Files) -> None:
    make_directory(folder)
    for name in sorted(files):  # result.json, which marks the folder as whole, is the last
        write_atomically(folder / name, files[name])
