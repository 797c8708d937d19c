"""Runs what is missing, in this process or in several, and keeps each result as soon as it is there."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from time import monotonic

from ..experiment.pipeline import Workbench
from ..learning.progress import Progress, Report, silent
from .experiments import Experiment, Measured, Planned, RunFile, measure

_plans: list[tuple[Experiment, Workbench]] = []  # of a worker process: one


def run_missing(
    experiment: Experiment, folder: Path, jobs: int = 1, seconds: float | None = None, report: Report = silent
) -> list[Measured]:
    """Do the runs that the experiment's file does not hold yet, or holds with other settings or data.

    Parameters
    ----------
    folder : Path
        Where the file is, or will be.
    jobs : int
        Worker processes; 1: none but this one.
    seconds : float, optional
        After so long no run is begun any more; those begun are finished.
    report : callable
        Called with a Progress for each run.

    Returns
    -------
    list of Measured
        The experiment's runs that are done, in its order.

    Raises
    ------
    RecipeError
        If a run can't be done as asked, or the file not be read or written; what was finished before is kept.
    """
    file = RunFile(folder / f"{experiment.file}.csv", experiment.columns)
    deadline = None if seconds is None else monotonic() + seconds
    keys = {place: experiment.key(place) for place in experiment.runs}
    finished = {one.planned: one for one in file.read() if one.key == keys.get(one.planned)}
    missing = [place for place in experiment.runs if place not in finished]
    report(Progress("runs", len(finished), len(keys)))
    for done in _in_processes(experiment, missing, jobs, deadline) if jobs > 1 else _here(experiment, missing, deadline):
        file.add(done)
        finished[done.planned] = done
        report(Progress("runs", len(finished), len(keys)))
    return [finished[place] for place in experiment.runs if place in finished]


def _over(deadline: float | None) -> bool:
    return deadline is not None and monotonic() >= deadline


def _here(experiment: Experiment, places: Sequence[Planned], deadline: float | None) -> Iterator[Measured]:
    workbench = Workbench()
    for place in places:
        if _over(deadline):
            return
        yield measure(experiment, place, workbench)


def _in_processes(experiment: Experiment, places: Sequence[Planned], jobs: int, deadline: float | None) -> Iterator[Measured]:
    context = multiprocessing.get_context("spawn")
    left = iter(places)
    with ProcessPoolExecutor(jobs, context, initializer=_start, initargs=(experiment,)) as pool:
        running: set[Future[Measured]] = set()
        while True:
            while len(running) < jobs and not _over(deadline) and (place := next(left, None)):
                running.add(pool.submit(_do, place))
            if not running:
                return
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                yield future.result()


def _start(experiment: Experiment) -> None:
    _plans.append((experiment, Workbench()))


def _do(place: Planned) -> Measured:
    experiment, workbench = _plans[0]
    return measure(experiment, place, workbench)
