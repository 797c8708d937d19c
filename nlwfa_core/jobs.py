"""Experiments in the background: a bounded, fair queue and a pool of persistent worker processes.

Training in the server's own process would hold up every page. `multiprocessing` is no way out: its children execute the main
script again, and that is Streamlit's. So the workers are plain subprocesses that read and write JSON lines (`worker`), each
looked after by one thread here. Results are on disk, one folder a recipe's key, and outlive the server.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
from contextlib import suppress
from pathlib import Path
from threading import Condition, Thread, Timer

from .data import FileShelf
from .errors import RecipeError
from .experiment import Result, load_result
from .queueing import Curve, Job, JobStatus, Line
from .recipe import Recipe
from .worker import WorkerProcess

__all__ = ["Curve", "JobStatus", "Runner"]

# An owner that has not asked for so long no longer keeps a job from being cancelled: page reloads leave dead owners behind.
INTEREST_SECONDS = 10.0
# When the queue is full, jobs that nobody has asked about for so long make room.
ABANDONED_SECONDS = 300.0
# A worker that has not stopped so long after a cancel, or not ended so long after the runner was closed, is killed.
CANCEL_SECONDS = 2.0
# A job whose worker died is tried once more.
ATTEMPTS = 2
DIED = "The process that trained this died twice (killed, or out of memory): try a smaller basis, fewer strings or a lower rank."
# The parts of `Result.seconds` that add up to the whole.
RUN_STAGES = ("data", "hankel", "learning", "scores")
# Jobs that are over are remembered up to this number; older ones that are done are found on disk.
MAX_FINISHED = 500

log = logging.getLogger(__name__)


class Runner:
    """Runs recipes in worker processes. All methods may be called from any thread.

    An owner is a name for whoever asks, such as a browser session; owners take turns in the queue.

    Parameters
    ----------
    home : Path
        Results go to `home/runs/<key>`, uploaded files to `home/uploads`.
    num_workers : int, optional
        One less than there are cores, but at least 1, unless given.
    max_queued : int
        How many jobs may wait.
    shipped : Path, optional
        Results that came with the lab, in folders as in `home/runs`; they are only read.

    Attributes
    ----------
    files : FileShelf
        Where recipes' uploads are looked up.
    """

    def __init__(self, home: Path, num_workers: int | None = None, max_queued: int = 200, shipped: Path | None = None) -> None:
        home = home.absolute()
        self.files = FileShelf(home / "uploads")
        self._runs = home / "runs"
        self._shipped = shipped or self._runs
        self._max_queued = max_queued
        self._changed = Condition()  # its lock guards all that follows, the jobs and workers too
        self._jobs: dict[str, Job] = {}
        self._line = Line()
        self._closed = False
        self._workers = [WorkerProcess() for _ in range(num_workers or max(1, num_cores() - 1))]
        self._threads = [Thread(target=self._serve, args=(worker,), daemon=True) for worker in self._workers]
        for thread in self._threads:
            thread.start()
        atexit.register(self.close)

    def submit(self, recipe: Recipe, owner: str) -> str:
        """Have a recipe run, unless it waits, runs or is done already: equal recipes are one job.

        Returns
        -------
        key : str
            The recipe's, to ask with.

        Raises
        ------
        RecipeError
            If too many jobs wait already.
        """
        key = recipe.key()
        self._find(key)  # what is on disk need not run
        with self._changed:
            job = self._jobs.get(key)
            if job is None or job.state in ("failed", "cancelled"):
                self._make_room()
                job = Job(key, recipe, owner)
                self._remember(job)
                self._line.append(job)
                self._changed.notify()
            job.interest.pop(owner, None)  # it may have cancelled before
            job.renew(owner)
        return key

    def status(self, key: str, owner: str = "") -> JobStatus | None:
        """How a job stands, or None if nothing is known of it. Results of an earlier server are found on disk.

        With an owner, this also says that the owner still cares: see `cancel`.
        """
        job = self._find(key)
        if job is None:
            return None
        with self._changed:
            job.renew(owner)
            return self._status(job)

    def result(self, key: str) -> Result:
        """The result, read from disk. Raises RecipeError if there is none."""
        if not self._is_saved(key):
            raise RecipeError("There is no result of this experiment: run it first.")
        return load_result(self._folder(key))

    def cancel(self, key: str, owner: str) -> None:
        """Say that an owner no longer cares. The job stops, unless another owner has asked about it in the last ten seconds."""
        with self._changed:
            job = self._jobs.get(key)
            if job is None or job.over:
                return
            job.drop(owner)
            if not job.wanted(INTEREST_SECONDS):
                self._stop(job)

    def jobs(self, owner: str) -> tuple[JobStatus, ...]:
        """The jobs that an owner has asked about, in the order of their submission, without those that it left to others.

        This also says that the owner still cares for them: see `cancel`.
        """
        with self._changed:
            mine = [job for job in self._jobs.values() if job.belongs_to(owner)]
            for job in mine:
                job.renew(owner)
            return tuple(self._status(job) for job in mine)

    def close(self) -> None:
        """Stop everything. Waits until the workers are gone, which takes seconds at most."""
        with self._changed:
            self._closed = True
            self._line = Line()
            for job in self._jobs.values():
                job.end("cancelled")
            for worker in self._workers:
                worker.dismiss()
            self._changed.notify_all()
        for thread, worker in zip(self._threads, self._workers, strict=True):
            thread.join(CANCEL_SECONDS)
            worker.kill()
            thread.join()
        atexit.unregister(self.close)

    @property
    def pids(self) -> tuple[int, ...]:
        """The worker processes that are alive. Each is started when there is work for it."""
        with self._changed:
            return tuple(worker.pid for worker in self._workers if worker.pid is not None)

    # Below: methods that take the lock themselves say so; the others are called with it held.

    def _status(self, job: Job) -> JobStatus:
        return job.status(self._line.place(job) if job.state == "queued" else None, len(self._line))

    def _make_room(self) -> None:
        """Raises RecipeError if no other job may line up."""
        if self._closed:
            raise RecipeError("The server is shutting down: try again in a minute.")
        if len(self._line) >= self._max_queued:
            for job in [job for job in self._line if not job.wanted(ABANDONED_SECONDS)]:
                self._stop(job)
        if (num_queued := len(self._line)) >= self._max_queued:
            raise RecipeError(f"The queue is full: {num_queued} jobs wait, at most {self._max_queued} allowed. Try again later.")

    def _remember(self, job: Job) -> None:
        """Add a job, and forget the oldest that are over."""
        self._jobs.pop(job.key, None)
        self._jobs[job.key] = job
        for old in [old for old in self._jobs.values() if old.over][:-MAX_FINISHED]:
            del self._jobs[old.key]

    def _stop(self, job: Job) -> None:
        """Cancel a job that waits or runs."""
        if job.state == "queued":
            self._line.remove(job)
        job.end("cancelled")
        for worker in self._workers:
            if worker.job is job:
                worker.send({"cancel": True})
                timer = Timer(CANCEL_SECONDS, self._kill, (worker, job))
                timer.daemon = True
                timer.start()

    def _kill(self, worker: WorkerProcess, job: Job) -> None:
        """End a worker if it still works on a job. Takes the lock."""
        with self._changed:
            if worker.job is job:
                worker.kill()

    def _find(self, key: str) -> Job | None:
        """The job of a key: from memory while it waits or runs, then what is on disk counts. Takes the lock."""
        with self._changed:
            job = self._jobs.get(key)
        if job is not None and (not job.over or (job.state == "done" and self._is_saved(key))):
            return job
        saved = self._saved(key)  # reads files: not under the lock
        with self._changed:
            if self._jobs.get(key) is job:  # else another thread was faster
                if saved is not None:
                    saved.interest = job.interest if job is not None else {}
                    self._remember(saved)
                elif job is not None and job.state == "done":
                    del self._jobs[key]  # its folder was removed
            return self._jobs.get(key)

    def _is_saved(self, key: str) -> bool:
        return re.fullmatch("[0-9a-f]{64}", key) is not None and (self._folder(key) / "result.json").exists()

    def _folder(self, key: str) -> Path:
        return self._shipped / key if (self._shipped / key / "result.json").exists() else self._runs / key

    def _saved(self, key: str) -> Job | None:
        """A job that is done, made from a result on disk."""
        if not self._is_saved(key):
            return None
        try:
            result = load_result(self._folder(key))
        except RecipeError as error:
            log.warning("this folder does not hold a sound result: %s", error)
            return None
        return Job(key, result.recipe, state="done", seconds=sum(result.seconds.get(stage, 0.0) for stage in RUN_STAGES))

    def _serve(self, worker: WorkerProcess) -> None:
        """The thread of one worker: sees one job after the other through, until the runner is closed. Takes the lock."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or len(self._line))
                if self._closed:
                    break
                job = self._line.pop()
                job.begin()
            for _ in range(ATTEMPTS):
                self._attempt(worker, job)
            with self._changed:
                job.end("failed", DIED)
        worker.bury()

    def _attempt(self, worker: WorkerProcess, job: Job) -> None:
        """Have a worker process run a job. If the process dies, the job is not over after that. Takes the lock."""
        folder = self._runs / job.key
        try:
            with self._changed:
                if job.over:
                    return
                job.begin()
                worker.job = job
                worker.start()
                worker.send({"recipe": job.recipe.to_json(), "folder": str(folder), "uploads": str(self.files.directory)})
            for message in worker.messages():
                with self._changed:
                    if "end" in message:
                        job.end(message["end"], message["message"])
                        return
                    job.note(message)
            if not job.over:
                log.warning("the worker of job %s died", job.key)
        except OSError as error:
            log.warning("a worker for job %s could not be started: %s", job.key, error)
        finally:
            with self._changed:
                worker.job = None
        worker.bury()
        with suppress(OSError):
            for unfinished in folder.glob(".*"):  # what it was writing: see `store.write_atomically`
                unfinished.unlink()


def num_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
