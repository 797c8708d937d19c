"""Runs many recipes in worker processes, here or on a Dask cluster, and keeps each result as soon as it is there.

Everything goes through a futures executor. A run is named by its recipe's key, and one that is done is not run again: whatever is
killed, the same call goes on. Workers give results back and write nothing, so a cluster needs no shared disk; but uploaded strings
are read from `home/uploads`, which then has to be one.
"""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread, local
from time import sleep
from typing import Any, Protocol

from .data import FileShelf, no_files
from .errors import RecipeError
from .experiment import Workbench, save_result
from .finished import Finished
from .learning.progress import Progress, Report, silent
from .recipe import Recipe
from .recorder import Recorder
from .store import make_directory, write_atomically
from .worker import THREAD_LIMITS

# How often a run is tried whose process dies; from the second time on it runs alone, so that it takes no other with it.
ATTEMPTS = 3
DIED = (
    "The process that trained this died three times (killed, or out of memory): try a smaller basis, fewer strings or a lower rank."
)
CLOSE_SECONDS = 60.0
CONNECT_SECONDS = 15
FOLLOW_SECONDS = 1.0

Files = dict[str, bytes]
_own = local()  # of a worker's thread: its workbench


@dataclass(frozen=True)
class Swept:
    """What came of a sweep: the keys of runs that were there before, that are new, and why others failed."""

    known: tuple[str, ...]
    new: tuple[str, ...]
    failed: Mapping[str, str]


class Workers(Protocol):
    """Where runs go. `window`: how many are handed over at once."""

    @property
    def window(self) -> int: ...

    def submit(self, recipe: str, uploads: str) -> Future[Files | str]: ...


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
        with cluster(scheduler) if scheduler else processes(jobs) as workers:
            for key, found in _results(missing, workers, str(home / "uploads"), recorder):
                if isinstance(found, str):
                    failed[key] = found
                    recorder.tell(key, recipes[key], "failed", found)
                else:
                    _keep(finished.folder(key), found)
                    new.append(key)
                    recorder.tell(key, recipes[key], "done")
                report(Progress("runs", len(known) + len(new) + len(failed), len(recipes)))
    finally:
        recorder.close(CLOSE_SECONDS)
    return Swept(tuple(known), tuple(new), failed)


def _results(
    missing: Mapping[str, Recipe], workers: Workers, uploads: str, recorder: Recorder
) -> Iterator[tuple[str, Files | str]]:
    """Key -> a run's files, or why it failed, as they come."""
    waiting, alone = deque(missing), deque[str]()
    deaths: Counter[str] = Counter()
    flying: dict[Future[Files | str], str] = {}
    try:
        while waiting or alone or flying:
            line, most = (alone, 1) if alone else (waiting, workers.window)
            while line and len(flying) < most:
                key = line.popleft()
                flying[workers.submit(missing[key].to_json(), uploads)] = key
                recorder.tell(key, missing[key], "running")
            for future in wait(flying, return_when=FIRST_COMPLETED).done:
                key = flying.pop(future)
                if future.cancelled() or future.exception() is not None:  # runs themselves raise nothing: see `work`
                    deaths[key] += 1
                    if deaths[key] < ATTEMPTS:
                        alone.append(key)
                    else:
                        yield key, DIED
                else:
                    yield key, future.result()
    finally:
        for future, key in flying.items():
            future.cancel()
            recorder.tell(key, missing[key], "interrupted")


def work(recipe: str, uploads: str) -> Files | str:
    """In a worker: run a recipe. Its folder's files by name, or the sentence why there are none."""
    if not hasattr(_own, "bench"):
        _own.bench = Workbench()
    bench: Workbench = _own.bench
    try:
        chosen = Recipe.from_json(recipe)
        result = bench.run(chosen, files=FileShelf(Path(uploads)).get if chosen.data.upload else no_files)
        with TemporaryDirectory(prefix="nlwfa-run-") as folder:
            save_result(Path(folder), result)
            return {path.name: path.read_bytes() for path in Path(folder).iterdir()}
    except RecipeError as error:
        return str(error)
    except MemoryError:
        bench.prepared = None
        return "There is not enough memory for this: try a smaller basis, fewer strings or a lower rank."
    except Exception as error:
        return f"Training broke off with an error inside the program: {type(error).__name__}: {error}"


def follow(parent: int) -> None:
    """In a worker process: end when the sweep is killed, in mid-training too."""

    def watch() -> None:
        while os.getppid() == parent:
            sleep(FOLLOW_SECONDS)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def _keep(folder: Path, files: Files) -> None:
    make_directory(folder)
    for name in sorted(files):  # result.json, which marks the folder as whole, is the last
        write_atomically(folder / name, files[name])


class Processes:
    """Processes of this machine: loky's, which start anew when one of them dies."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self.window = 2 * jobs

    def submit(self, recipe: str, uploads: str) -> Future[Files | str]:
        for left in reversed(range(ATTEMPTS)):
            try:
                future: Future[Files | str] = self.executor().submit(work, recipe, uploads)
                return future
            except BrokenExecutor:  # between the two calls
                if not left:
                    raise
        raise AssertionError

    def executor(self) -> Executor:
        from joblib.externals.loky import get_reusable_executor

        limits = dict.fromkeys(THREAD_LIMITS, "1")
        executor: Executor = get_reusable_executor(self._jobs, timeout=60, env=limits, initializer=follow, initargs=(os.getpid(),))
        return executor


@contextmanager
def processes(jobs: int) -> Iterator[Workers]:
    workers = Processes(jobs)
    try:
        yield workers
    finally:
        workers.executor().shutdown(wait=True, kill_workers=True)  # type: ignore[call-arg]


@contextmanager
def cluster(address: str) -> Iterator[Workers]:
    """Raises RecipeError if there is no cluster at the address."""
    try:
        from distributed import Client
    except ImportError:
        raise RecipeError("--scheduler needs Dask: pip install 'nlwfa-lab[cluster]'") from None
    try:
        client: Any = Client(address, timeout=CONNECT_SECONDS)  # type: ignore[no-untyped-call, unused-ignore]
    except (OSError, ValueError) as error:
        raise RecipeError(f"There is no Dask scheduler at {address}: {error}") from None

    class Cluster:
        executor = client.get_executor(pure=False)

        @property
        def window(self) -> int:
            return 2 * max(1, sum(map(int, client.nthreads().values())))  # workers may come and go

        def submit(self, recipe: str, uploads: str) -> Future[Files | str]:
            future: Future[Files | str] = self.executor.submit(work, recipe, uploads)
            return future

    try:
        yield Cluster()
    finally:
        client.close()
