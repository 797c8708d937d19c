"""Run many recipes in worker processes, on this machine or on a Dask cluster, and save each result
as soon as it is ready.

Runs that share strings and a Hankel matrix go to a worker as one group, so the worker makes
both only once (`Waiting`). A run is named after its recipe's key, and a run that is on disk is not
repeated: if a process is killed, the same call resumes the sweep. Workers that have access to the
sweep's disk write results into their folders themselves; other workers, on machines of a cluster
without a shared disk, send the files back. Uploaded strings are read from `home/uploads`, so
recipes with uploads need a shared disk.

A sweep has no sessions and no pauses, and a single run can't be cancelled. `jobs.runner`, for
servers, offers all of this.
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
from ..rounding import ONE_THREAD
from .folders import RunFolders
from .worker import Files, Outcome, died, exit_with_parent, run_group

# How often a run is tried if its process dies. From the second attempt on it runs alone, so no
# other run dies with it.
ATTEMPTS = 3
# A group is so small that the remaining runs make about this many groups for each slot: all slots
# then end at about the same time.
GROUPS_PER_SLOT = 4
# How many waiting groups are compared when a slot is free. Groups are in order, so neighbours share
# strings.
GROUPS_COMPARED = 1000
# How often, in seconds, the folders of running groups are checked, and the cluster is asked for its
# workers.
LOOK_SECONDS = 1.0
CONNECT_SECONDS = 15
CLOSE_SECONDS = 60.0

# A slot does one run at a time: it is a process of this machine, or a thread of a Dask worker.
Slot = Hashable
# Runs that share strings and matrix: key -> recipe as JSON.
Group = dict[str, str]


@dataclass(frozen=True)
class Swept:
    """Holds the outcome of a sweep. Runs that are in none of the three attributes were not started,
    because the time had run out.
    """

    present: tuple[str, ...]  # the keys of runs that were on disk before
    new: tuple[str, ...]  # the keys of runs that were done in this call
    failed: Mapping[str, str]  # key -> the reason why the run failed


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
    """Run the recipes that have no folder in `home/runs` yet, and record them in the history of
    `home`.

    `recipes`: key -> recipe, in the order in which they start; runs that share strings and matrix
    are neighbours. `home`: a lab's folder, with `runs`, `uploads` and a history. `jobs`: the number
    of worker processes. `scheduler`: the address of a Dask scheduler, whose workers then run the
    recipes instead of processes on this machine. `report`: called with a Progress, in which a step
    is a run. `seconds`: after this time no run is started; those that are running are finished.
    `each`: called in this process as soon as a run has ended, with its key, and with the reason if
    it failed, otherwise None. `history`: whether to write a history. False is for a temporary home:
    nothing is written even if the history is a shared database.

    Raises RecipeError if the cluster can't be reached, or a result can't be written. Runs that were
    finished before stay on disk.
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
                report(
                    Progress(
                        "runs", len(present) + len(sweep.new) + len(sweep.failed), len(recipes)
                    )
                )
    finally:
        recorder.close(CLOSE_SECONDS)
    return Swept(present, tuple(sweep.new), sweep.failed)


class Waiting:
    """Holds waiting runs, grouped by strings and Hankel matrix.

    A worker keeps the strings and the matrix of its last run in memory. So a slot prefers, in this
    order: runs with the same matrix, runs with the same strings, strings that no other slot works
    on, a matrix that no other slot works on, and any other run.
    """

    def __init__(self, recipes: Mapping[str, Recipe]) -> None:
        def start(key: str) -> tuple[str, str]:
            return recipes[key].data.key(), recipes[key].hankel.key()

        self._groups = deque((start, deque(keys)) for start, keys in groupby(recipes, start))
        self._num_waiting = len(recipes)
        # slot -> the strings and the matrix of its last group
        self._starts: dict[Slot, tuple[str, str]] = {}

    def __len__(self) -> int:
        return self._num_waiting

    def take(self, slot: Slot, num_slots: int) -> tuple[str, ...]:
        """Remove the runs that a slot does next, and return their keys; empty if no run is
        waiting.
        """
        if not self._groups:
            return ()
        previous = self._starts.get(slot, ("", ""))
        matrices = {start for other, start in self._starts.items() if other != slot}
        samples = {data for data, _ in matrices}

        def cost(entry: tuple[tuple[str, str], deque[str]]) -> tuple[bool, ...]:
            start, _ = entry
            return (
                start != previous,
                start[0] != previous[0],
                start[0] in samples,
                start in matrices,
            )

        start, keys = next_group = min(islice(self._groups, GROUPS_COMPARED), key=cost)
        size = max(1, self._num_waiting // (GROUPS_PER_SLOT * num_slots))
        batch = tuple(keys.popleft() for _ in range(min(size, len(keys))))
        if not keys:
            self._groups.remove(next_group)
        self._starts[slot] = start
        self._num_waiting -= len(batch)
        return batch

    def put_back(self, slot: Slot, keys: Sequence[str]) -> None:
        """Put back runs that a slot has taken but not started."""
        if keys:
            self._groups.appendleft((self._starts[slot], deque(keys)))
            self._num_waiting += len(keys)


class Workers(Protocol):
    """Describes the processes or threads that run groups."""

    def slots(self) -> Sequence[Slot]:
        """Return the current slots."""

    def submit(
        self, slot: Slot, group: Group, home: str, server: str, seconds: float | None
    ) -> Future[dict[str, Outcome]]:
        """Call `worker.run_group` in a slot, and return a future of its outcome."""

    def cancel(self, future: Future[dict[str, Outcome]]) -> None:
        """Cancel a group because the workers are about to be closed."""


class _Sweep:
    """Carries out one call of `run_missing`: holds the waiting runs, those in progress, and the
    outcomes of the others.
    """

    def __init__(
        self,
        recipes: Mapping[str, Recipe],
        home: Path,
        workers: Workers,
        recorder: Recorder | _NoHistory,
        seconds: float | None,
    ) -> None:
        self.new: list[str] = []
        self.failed: dict[str, str] = {}
        self._recipes = recipes
        self._home = home
        self._workers = workers
        self._recorder = recorder
        self._folders = RunFolders(home / "runs")
        self._deadline = None if seconds is None else monotonic() + seconds
        self._waiting = Waiting(recipes)
        self._alone = deque[str]()  # runs whose process has died, to be run alone
        self._deaths: Counter[str] = Counter()
        # The runs of each group in progress whose outcome is not yet known. The first of them is
        # running, or about to start.
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
        """Submit a group to each free slot.

        A run whose process has died is submitted only when no other group is in progress.
        """
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
        """Record as done the runs of a group whose folders exist, and yield their keys."""
        stored_keys = [key for key in keys if self._folders.has(key)]
        for key in stored_keys:
            keys.remove(key)
            yield self._settle(key)
        if stored_keys and keys:
            self._record(keys[0], "running")

    def _collect(self, future: Future[dict[str, Outcome]]) -> Iterator[str]:
        """Record the outcomes of a group that has ended, or whose process has died, and yield the
        keys of its ended runs.
        """
        slot, keys = self._under_way[future]
        error = None if future.cancelled() else future.exception()
        # a result could not be written: a run that fails raises nothing
        if isinstance(error, RecipeError):
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
            self._record(key, "interrupted")  # the time ran out before the run started

    def _retry(self, slot: Slot, keys: deque[str]) -> Iterator[str]:
        """Handle the death of a group's process: its first run, the likely cause, will run alone;
        the others wait again.
        """
        for key in keys:
            self._folders.tidy(key)
            self._record(key, "interrupted")  # stays so unless there is time to start the run again
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
    """Takes the place of a recorder if no history is written.

    Its file in `home/servers` tells workers that they share the disk.
    """

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
    # result.json is written last, because it marks the folder as complete
    for name in sorted(files):
        write_atomically(folder / name, files[name])


class Processes:
    """Provides processes of this machine, one for each slot.

    If one dies, it is replaced, and the other slots are not affected.
    """

    def __init__(self, jobs: int) -> None:
        self._executors: dict[Slot, Executor] = {slot: self._start() for slot in range(jobs)}

    def slots(self) -> Sequence[Slot]:
        return tuple(self._executors)

    def submit(
        self, slot: Slot, group: Group, home: str, server: str, seconds: float | None
    ) -> Future[dict[str, Outcome]]:
        for left in reversed(range(ATTEMPTS)):
            try:
                return self._executors[slot].submit(run_group, group, home, server, seconds)
            except BrokenExecutor:  # the slot's process has died
                if not left:
                    raise
                self._executors[slot].shutdown(wait=False)
                self._executors[slot] = self._start()
        raise AssertionError

    def cancel(self, future: Future[dict[str, Outcome]]) -> None:
        """Do nothing, because `close` kills the processes, and loky's thread would break on a
        future that was cancelled.
        """

    def close(self) -> None:
        for executor in self._executors.values():
            executor.shutdown(wait=True, kill_workers=True)  # type: ignore[call-arg]

    def _start(self) -> Executor:
        from joblib.externals.loky import ProcessPoolExecutor

        executor: Executor = ProcessPoolExecutor(
            1, env=ONE_THREAD, initializer=exit_with_parent, initargs=(os.getpid(),)
        )
        return executor


@contextmanager
def processes(jobs: int) -> Iterator[Workers]:
    """Provide processes of this machine in a `with` block; they end with the block."""
    workers = Processes(jobs)
    try:
        yield workers
    finally:
        workers.close()


class Cluster:
    """Provides the threads of a Dask cluster's workers, which may come and go.

    If a worker is gone, another takes over its group.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._executor = client.get_executor(pure=False)
        self._slots: tuple[Slot, ...] = ()
        self._looked = -LOOK_SECONDS

    def slots(self) -> Sequence[Slot]:
        # asking takes milliseconds
        if not self._slots or monotonic() > self._looked + LOOK_SECONDS:
            threads = self._client.nthreads()
            # If the cluster has no worker yet, there is one slot, whose group Dask keeps until a
            # worker comes.
            self._slots = tuple(
                (address, number) for address in threads for number in range(threads[address])
            ) or ((None, 0),)
            self._looked = monotonic()
        return self._slots

    def submit(
        self, slot: Slot, group: Group, home: str, server: str, seconds: float | None
    ) -> Future[dict[str, Outcome]]:
        address = slot[0] if isinstance(slot, tuple) else None
        where = {"workers": [address], "allow_other_workers": True} if address else {}
        future: Future[dict[str, Outcome]] = self._executor.submit(
            run_group, group, home, server, seconds, **where
        )
        return future

    def cancel(self, future: Future[dict[str, Outcome]]) -> None:
        future.cancel()


@contextmanager
def cluster(address: str) -> Iterator[Workers]:
    """Provide the workers of a Dask scheduler in a `with` block.

    Raises RecipeError if there is no scheduler at the address.
    """
    try:
        from distributed import Client
    except ImportError:
        raise RecipeError("--scheduler needs Dask: pip install 'nlwfa-lab[cluster]'") from None
    try:
        client: Any = Client(address, timeout=CONNECT_SECONDS)  # type: ignore[no-untyped-call, unused-ignore]
    except (OSError, ValueError) as error:
        raise RecipeError(f"Could not connect to a Dask scheduler at {address}: {error}") from None
    try:
        yield Cluster(client)
    finally:
        client.close()
