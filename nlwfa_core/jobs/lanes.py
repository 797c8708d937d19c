"""Where a sweep's runs go: lanes, each of which trains one run at a time, in a process here or a thread of a Dask worker.

Lanes, not one queue for all: a process keeps strings, matrix and what learners keep of it for the next run, and only whoever hands
out the runs can see to it that the next run is one that starts from them (`Agenda`).
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager
from itertools import groupby
from time import monotonic
from typing import Any, Protocol

from ..errors import RecipeError
from ..experiment.recipe import Recipe
from .errands import Files, follow, work
from .worker import THREAD_LIMITS

# How often a run is tried whose process dies; from the second time on it runs alone, so that it takes no other with it.
ATTEMPTS = 3
CONNECT_SECONDS = 15
# Workers of a cluster come and go; asking for them takes milliseconds.
LOOK_SECONDS = 1.0

Lane = Hashable


class Lanes(Protocol):
    """Where runs go."""

    def names(self) -> Sequence[Lane]:
        """Those that there are now."""

    def submit(self, lane: Lane, recipe: str, uploads: str) -> Future[Files | str]: ...

    def cancel(self, future: Future[Files | str]) -> None:
        """Give up a run, before the lanes are closed."""


class Agenda:
    """The runs that are left, and which lane goes on with which of them.

    A lane stays with its matrix, then with its strings, then takes strings that no lane is at, and only then helps another.

    Parameters
    ----------
    recipes : mapping
        Key -> recipe; those of the same strings, and of the same matrix, stand one after the other.
    """

    def __init__(self, recipes: Mapping[str, Recipe]) -> None:
        def strings(entry: tuple[str, Recipe]) -> str:
            return entry[1].data.key()

        def matrix(entry: tuple[str, Recipe]) -> str:
            return entry[1].hankel.key()

        # Strings, of each its matrices, of each its runs. Lanes that share one hold the same deque.
        self._untouched = deque(
            deque(deque(key for key, _ in same) for _, same in groupby(runs, matrix))
            for _, runs in groupby(recipes.items(), strings)
        )
        self._left = len(recipes)
        self._strings: dict[Lane, deque[deque[str]]] = {}
        self._matrix: dict[Lane, deque[str]] = {}

    def __len__(self) -> int:
        return self._left

    def next(self, lane: Lane) -> str | None:
        """The key of the run that a lane does next; None if there is none left."""
        matrix = self._matrix.get(lane) or self._next_matrix(lane)
        if not matrix:
            return None
        self._matrix[lane] = matrix
        self._left -= 1
        return matrix.popleft()

    def _next_matrix(self, lane: Lane) -> deque[str] | None:
        strings = self._strings.get(lane)
        if not strings:
            strings = self._untouched.popleft() if self._untouched else _longest(self._strings.values())
        if strings:
            self._strings[lane] = strings
            return strings.popleft()
        return _longest(self._matrix.values())


def _longest(lines: Iterable[deque[Any]]) -> deque[Any] | None:
    return max(lines, key=len, default=None)


class Processes:
    """Processes of this machine, one a lane: a lane's process starts anew when it dies, and takes no other with it."""

    def __init__(self, jobs: int) -> None:
        self._executors: dict[Lane, Executor] = {lane: self._start() for lane in range(jobs)}

    def names(self) -> Sequence[Lane]:
        return tuple(self._executors)

    def submit(self, lane: Lane, recipe: str, uploads: str) -> Future[Files | str]:
        for left in reversed(range(ATTEMPTS)):
            try:
                return self._executors[lane].submit(work, recipe, uploads)
            except BrokenExecutor:  # its process has died
                if not left:
                    raise
                self._executors[lane].shutdown(wait=False)
                self._executors[lane] = self._start()
        raise AssertionError

    def cancel(self, future: Future[Files | str]) -> None:
        """Nothing to do: `close` kills the processes, and loky fails what is left; a cancelled future would break its thread."""

    def close(self) -> None:
        for executor in self._executors.values():
            executor.shutdown(wait=True, kill_workers=True)  # type: ignore[call-arg]

    def _start(self) -> Executor:
        from joblib.externals.loky import ProcessPoolExecutor

        limits = dict.fromkeys(THREAD_LIMITS, "1")
        executor: Executor = ProcessPoolExecutor(1, env=limits, initializer=follow, initargs=(os.getpid(),))
        return executor


@contextmanager
def processes(jobs: int) -> Iterator[Lanes]:
    lanes = Processes(jobs)
    try:
        yield lanes
    finally:
        lanes.close()


class Cluster:
    """Threads of a Dask cluster's workers. A worker that is gone when its turn comes is stood in for by another."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._executor = client.get_executor(pure=False)
        self._names: tuple[Lane, ...] = ()
        self._looked = -LOOK_SECONDS

    def names(self) -> Sequence[Lane]:
        if not self._names or monotonic() > self._looked + LOOK_SECONDS:
            threads = self._client.nthreads()
            # With no worker there, one lane: Dask keeps what it is given until one comes.
            self._names = tuple((address, number) for address in threads for number in range(threads[address])) or ((None, 0),)
            self._looked = monotonic()
        return self._names

    def submit(self, lane: Lane, recipe: str, uploads: str) -> Future[Files | str]:
        address = lane[0] if isinstance(lane, tuple) else None
        where = {"workers": [address], "allow_other_workers": True} if address else {}
        future: Future[Files | str] = self._executor.submit(work, recipe, uploads, **where)
        return future

    def cancel(self, future: Future[Files | str]) -> None:
        future.cancel()


@contextmanager
def cluster(address: str) -> Iterator[Lanes]:
    """Raises RecipeError if there is no cluster at the address."""
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
