"""Runs many recipes in worker processes, on this machine or on a Dask cluster, and saves each result as soon as it is ready.

Runs that share strings and a Hankel matrix go to a worker as one group, so that it makes both only once (`Waiting`). A run is named
after its recipe's key, and a run that is on disk is not repeated: after any process is killed, the same call resumes. Workers that
see the sweep's disk write results into their folders themselves; others, on machines of a cluster without a shared disk, send the
files back. Uploaded strings are read from `home/uploads`, so recipes with uploads need a shared disk.

Left out: sessions, turns, pauses and cancelling a single run. For a server, `jobs.runner` has these.
"""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

from ..errors import RecipeError
from ..experiment.recipe import Recipe
from ..files import make_directory, write_atomically
from ..history.recorder import Recorder
from ..learning.progress import Progress, Report, silent
from ..threads import ONE_THREAD
from .folders import RunFolders
from .worker import Files, Outcome, died, exit_with_parent, run_group

# How often a run is tried if its process dies; from the second time on it runs alone, so that no other run dies with it.
ATTEMPTS = 3
# Groups are cut so that each slot gets about this many of the remaining runs: the slots then end at about the same time.
GROUPS_PER_SLOT = 4
# This many groups are compared when a slot is free. They are in order, so neighbours share strings.
GROUPS_COMPARED = 1000
# How often the folders of running groups are checked, and the cluster is asked for its workers.
LOOK_SECONDS = 1.0
CONNECT_SECONDS = 15
CLOSE_SECONDS = 60.0

# Where one run is done at a time: a process of this machine, or a thread of a Dask worker.
Slot = Hashable
# Key -> recipe as JSON, of runs that share strings and matrix.
Group = dict[str, str]


@dataclass(frozen=True)
class Swept:
    """The outcome of a sweep.

    Attributes
    ----------
    present : tuple of str
        Keys of runs that existed before.
    new : tuple of str
        Keys of runs that were done in this call.
    failed : mapping
        Key -> why the run failed. Runs in none of the three were not begun in time.
    """

    present: tuple[str, ...]
    new: tuple[str, ...]
    failed: Mapping[str, str]


def run_missing(
    recipes: Mapping[str, Recipe],
    home: Path,
    jobs: int = 1,
    scheduler: str | None = None,
    report: Report = silent,
    seconds: float | None = None,
    each: Callable[[str, str | None], None] = lambda key, failure: None,
    history: bool = True,
) -> Swept:
    """Run the recipes that have no folder in `home/runs` yet, and record them in the history of `home`.

    Parameters
    ----------
    recipes : mapping
        Key -> recipe, in the order in which they start; runs that share strings and matrix are neighbours.
    home : Path
        A lab's folder, with `runs`, `uploads` and a history.
    jobs : int
        Worker processes.
    scheduler : str, optional
        The address of a Dask scheduler, whose workers then run the recipes in place of processes here.
    report : callable
        Called with a Progress, in which a step is a run.
    seconds : float, optional
        After this time no run is begun; those already running are finished.
    each : callable
        Called in this process with the key of each run as soon as it has ended, and with the reason if it failed, else None.
    history : bool
        False for a temporary home: no history is then written, not even to a shared database.

    Raises
    ------
    RecipeError
        If the cluster can't be reached, or a result can't be written; the runs finished by then are kept.
    """
    folders = RunFolders(home / "runs")
    present = tuple(key for key in recipes if folders.has(key))
    missing = {key: recipe for key, recipe in recipes.items() if key not in set(present)}
    report(Progress("runs", len(present), len(recipes)))
    if not missing:
        return Swept(present, (), {})
    recorder = Recorder(home) if history else _NoHistory(home)
    try:
        with cluster(scheduler) if scheduler else processes(jobs) as workers:
            sweep = _Sweep(missing, home.absolute(), workers, recorder, seconds)
            for key in sweep.run():
                each(key, sweep.failed.get(key))
                report(Progress("runs", len(present) + len(sweep.new) + len(sweep.failed), len(recipes)))
    finally:
        recorder.close(CLOSE_SECONDS)
    return Swept(present, tuple(sweep.new), sweep.failed)


class Waiting:
    """Waiting runs, grouped by strings and Hankel matrix.

    A worker keeps the strings and the matrix of its last run. So a slot stays with its matrix, then with its strings, then takes
    strings that no other slot works on, then a matrix that no other slot works on, and only then helps another.
    """

    def __init__(self, recipes: Mapping[str, Recipe]) -> None:
        def start(key: str) -> tuple[str, str]:
            return recipes[key].data.key(), recipes[key].hankel.key()

        self._groups = deque((start, deque(keys)) for start, keys in groupby(recipes, start))
        self._num_waiting = len(recipes)
        self._starts: dict[Slot, tuple[str, str]] = {}  # slot -> strings and matrix of its last group

    def __len__(self) -> int:
        return self._num_waiting

    def take(self, slot: Slot, num_slots: int) -> tuple[str, ...]:
        """The keys of the runs that a slot takes next; none if no run is waiting."""
        if not self._groups:
            return ()
        own = self._starts.get(slot, ("", ""))
        matrices = {start for other, start in self._starts.items() if other != slot}
        samples = {data for data, _ in matrices}

        def cost(entry: tuple[tuple[str, str], deque[str]]) -> tuple[bool, ...]:
            start, _ = entry
            return start != own, start[0] != own[0], start[0] in samples, start in matrices

        start, keys = next_group = min(islice(self._groups, GROUPS_COMPARED), key=cost)
        size = max(1, self._num_waiting // (GROUPS_PER_SLOT * num_slots))
        batch = tuple(keys.popleft() for _ in range(min(size, len(keys))))
        if not keys:
            self._groups.remove(next_group)
        self._starts[slot] = start
        self._num_waiting -= len(batch)
        return batch

    def put_back(self, slot: Slot, keys: Sequence[str]) -> None:
        """Put back runs that a slot has not begun."""
        if keys:
            self._groups.appendleft((self._starts[slot], deque(keys)))
            self._num_waiting += len(keys)


class Workers(Protocol):
    """The processes or threads that run groups."""

    def slots(self) -> Sequence[Slot]:
        """The current slots."""

    def submit(self, slot: Slot, group: Group, home: str, server: str, seconds: float | None) -> Future[dict[str, Outcome]]:
        """Call `worker.run_group` in a slot."""

    def cancel(self, future: Future[dict[str, Outcome]]) -> None:
        """Give up a group, before the workers are closed."""


class _Sweep:
    """One call of `run_missing`: the waiting runs, those in progress, and the outcomes of the others."""

    def __init__(
        self, recipes: Mapping[str, Recipe], home: Path, workers: Workers, recorder: Recorder | _NoHistory, seconds: float | None
    ) -> None:
        self.new: list[str] = []
        self.failed: dict[str, str] = {}
        self._recipes, self._home, self._workers, self._recorder = recipes, home, workers, recorder
        self._folders = RunFolders(home / "runs")
        self._deadline = None if seconds is None else monotonic() + seconds
        self._waiting = Waiting(recipes)
        self._alone = deque[str]()  # runs whose process has died
        self._deaths: Counter[str] = Counter()
        # The unsettled runs of a group in progress: the first of them is running, or about to.
        self._under_way: dict[Future[dict[str, Outcome]], tuple[Slot, deque[str]]] = {}

    def run(self) -> Iterator[str]:
        """Do all runs, and yield the key of each as soon as it is done or has failed."""
        try:
            while True:
                self._fill_slots()
                if not self._under_way:
                    return
                for future in wait(self._under_way, LOOK_SECONDS, FIRST_COMPLETED).done:
                    yield from self._collect(future)
                for _, keys in self._under_way.values():
                    yield from self._written(keys)
        finally:
            for future, (_, keys) in self._under_way.items():
                self._workers.cancel(future)
                for key in keys:
                    self._record(key, "interrupted")

    def _fill_slots(self) -> None:
        """Give each free slot a group. A run whose process has died runs alone, without other groups beside it."""
        if self._deadline is not None and monotonic() >= self._deadline:
            return
        slots = self._workers.slots()
        if self._alone:
            if not self._under_way:
                self._submit(slots[0], (self._alone.popleft(),))
            return
        busy = {slot for slot, _ in self._under_way.values()}
        for slot in slots:
            if slot not in busy and (keys := self._waiting.take(slot, len(slots))):
                self._submit(slot, keys)

    def _submit(self, slot: Slot, keys: Sequence[str]) -> None:
        group = {key: self._recipes[key].to_json() for key in keys}
        seconds = None if self._deadline is None else self._deadline - monotonic()
        future = self._workers.submit(slot, group, str(self._home), self._recorder.server, seconds)
        self._under_way[future] = slot, deque(keys)
        for key in keys[1:]:
            self._record(key, "queued")
        self._record(keys[0], "running")

    def _written(self, keys: deque[str]) -> Iterator[str]:
        """Settle those runs of a group whose folders exist."""
        stored_keys = [key for key in keys if self._folders.has(key)]
        for key in stored_keys:
            keys.remove(key)
            yield self._settle(key)
        if stored_keys and keys:
            self._record(keys[0], "running")

    def _collect(self, future: Future[dict[str, Outcome]]) -> Iterator[str]:
        """Settle the runs of a group that has ended, or whose process has died."""
        slot, keys = self._under_way[future]
        error = None if future.cancelled() else future.exception()
        if isinstance(error, RecipeError):  # a result could not be written; runs themselves raise nothing
            raise error
        if future.cancelled() or error is not None:
            del self._under_way[future]
            yield from self._written(keys)
            yield from self._retry(slot, keys)
            return
        outcomes = future.result()
        while keys and keys[0] in outcomes:
            outcome = outcomes[keys[0]]
            if isinstance(outcome, dict):
                _write_folder(self._folders.folder(keys[0]), outcome)
            yield self._settle(keys.popleft(), outcome if isinstance(outcome, str) else None)
        del self._under_way[future]
        for key in keys:
            self._record(key, "interrupted")  # not begun in time

    def _retry(self, slot: Slot, keys: deque[str]) -> Iterator[str]:
        """Handle the death of a group's process: from now on its first run, the likely cause, runs alone."""
        for key in keys:
            self._folders.tidy(key)
            self._record(key, "interrupted")  # until it starts again, if there is time for that
        if not keys:
            return
        key = keys.popleft()
        self._deaths[key] += 1
        if self._deaths[key] < ATTEMPTS:
            self._alone.append(key)
        else:
            yield self._settle(key, died(ATTEMPTS))
        self._waiting.put_back(slot, keys)

    def _settle(self, key: str, failure: str | None = None) -> str:
        if failure is None:
            self.new.append(key)
        else:
            self.failed[key] = failure
        self._record(key, "done" if failure is None else "failed", failure)
        return key

    def _record(self, key: str, state: str, message: str | None = None) -> None:
        self._recorder.record(key, self._recipes[key], state, message)


class _NoHistory:
    """Replaces a recorder if no history is written; workers still find the sweep's disk by its file in `home/servers`."""

    def __init__(self, home: Path) -> None:
        self.server = "sweep"
        make_directory(home / "servers")
        (home / "servers" / self.server).touch()

    def record(self, key: str, recipe: Recipe, state: str, message: str | None = None) -> None:
        pass

    def close(self, seconds: float) -> bool:
        return True


def _write_folder(folder: Path, files: Files) -> None:
    make_directory(folder)
    for name in sorted(files):  # result.json, which marks the folder as whole, is the last
        write_atomically(folder / name, files[name])


class Processes:
    """Processes of this machine, one for each slot, replaced when it dies, without loss to the groups of other slots."""

    def __init__(self, jobs: int) -> None:
        self._executors: dict[Slot, Executor] = {slot: self._start() for slot in range(jobs)}

    def slots(self) -> Sequence[Slot]:
        return tuple(self._executors)

    def submit(self, slot: Slot, group: Group, home: str, server: str, seconds: float | None) -> Future[dict[str, Outcome]]:
        for left in reversed(range(ATTEMPTS)):
            try:
                return self._executors[slot].submit(run_group, group, home, server, seconds)
            except BrokenExecutor:  # its process has died
                if not left:
                    raise
                self._executors[slot].shutdown(wait=False)
                self._executors[slot] = self._start()
        raise AssertionError

    def cancel(self, future: Future[dict[str, Outcome]]) -> None:
        """Nothing to do: `close` kills the processes, and loky fails what is left; a cancelled future would break its thread."""

    def close(self) -> None:
        for executor in self._executors.values():
            executor.shutdown(wait=True, kill_workers=True)  # type: ignore[call-arg]

    def _start(self) -> Executor:
        from joblib.externals.loky import ProcessPoolExecutor

        executor: Executor = ProcessPoolExecutor(1, env=ONE_THREAD, initializer=exit_with_parent, initargs=(os.getpid(),))
        return executor


@contextmanager
def processes(jobs: int) -> Iterator[Workers]:
    """Processes of this machine, which end when the block does."""
    workers = Processes(jobs)
    try:
        yield workers
    finally:
        workers.close()


class Cluster:
    """Threads of a Dask cluster's workers, which may come and go. If one is gone when its group starts, another takes it."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._executor = client.get_executor(pure=False)
        self._slots: tuple[Slot, ...] = ()
        self._looked = -LOOK_SECONDS

    def slots(self) -> Sequence[Slot]:
        if not self._slots or monotonic() > self._looked + LOOK_SECONDS:  # asking takes milliseconds
            threads = self._client.nthreads()
            # Without a worker there is one slot: Dask keeps its group until a worker comes.
            self._slots = tuple((address, number) for address in threads for number in range(threads[address])) or ((None, 0),)
            self._looked = monotonic()
        return self._slots

    def submit(self, slot: Slot, group: Group, home: str, server: str, seconds: float | None) -> Future[dict[str, Outcome]]:
        address = slot[0] if isinstance(slot, tuple) else None
        where = {"workers": [address], "allow_other_workers": True} if address else {}
        future: Future[dict[str, Outcome]] = self._executor.submit(run_group, group, home, server, seconds, **where)
        return future

    def cancel(self, future: Future[dict[str, Outcome]]) -> None:
        future.cancel()


@contextmanager
def cluster(address: str) -> Iterator[Workers]:
    """The workers of a Dask scheduler. Raises RecipeError if there is none at the address."""
    try:
        from distributed import Client
    except ImportError:
        raise RecipeError("--scheduler needs Dask: pip install 'nlwfa-lab[cluster]'") from None
    try:
        client: Any = Client(address, timeout=CONNECT_SECONDS)  # type: ignore[no-untyped-call, unused-ignore]
    except (OSError, ValueError) as error:
        raise RecipeError(f"There is no Dask scheduler at {address}: {error}") from None
    try:
        yield Cluster(client)
    finally:
        client.close()
