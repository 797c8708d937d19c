"""Experiments in the background: a bounded, fair queue and a pool of persistent worker processes.

Training in the server's own process would hold up every page; children of `multiprocessing` execute the main script, Streamlit's,
again. So workers are plain subprocesses that read and write JSON lines (`worker`), each looked after by one thread here. Results
are on disk, a folder each, and outlive the server.
"""

from __future__ import annotations

import atexit
import logging
from collections.abc import Iterable
from pathlib import Path
from threading import Condition, Thread

from .. import limits
from ..errors import RecipeError
from ..experiment.fields import check_allowed
from ..experiment.recipe import Recipe
from ..experiment.results import Result
from ..files import FileShelf
from ..history.recorder import Recorder
from . import pausing
from .durations import Durations, overtime
from .folders import Finished
from .job import Curve, Job, JobStatus, Line
from .overview import Overview, overview
from .pool import Pool, later, num_cores
from .worker import WorkerProcess

__all__ = ["Curve", "JobStatus", "Runner"]

# An owner that has not asked for so long no longer keeps a job from being cancelled: page reloads leave dead owners behind.
INTEREST_SECONDS = 10.0
ABANDONED_SECONDS = 300.0  # when the queue is full, jobs that nobody has asked about for so long make room
CANCEL_SECONDS = 2.0  # a worker that has not stopped so long after a cancel, or the runner's end, is killed
WATCH_SECONDS, QUEUE = 1.0, limits.most("jobs")  # how often a running job's time is looked at; how many jobs may wait
ATTEMPTS = 2  # a job whose worker died is tried once more
DIED = "The process that trained this died twice (killed, or out of memory): try a smaller basis, fewer strings or a lower rank."
MAX_FINISHED = 500  # jobs that are over and remembered; older ones that are done are found on disk

log = logging.getLogger(__name__)


class Runner:
    """Runs recipes in worker processes. All methods may be called from any thread. Raises RecipeError as `limits.check_settings`.

    An owner is a name for whoever asks, such as a browser session; owners take turns in the queue.

    Parameters
    ----------
    home : Path
        Results go to `home/runs/<key>`, uploaded files to `home/uploads`, what became of runs to the history.
    num_workers : int, optional
        One less than there are cores, but at least 1, unless given.
    max_queued : int
        How many jobs may wait.
    shipped : Path, optional
        Results that came with the lab: folders as in `home/runs`.

    Attributes
    ----------
    files : FileShelf
        Where recipes' uploads are looked up.
    """

    def __init__(self, home: Path, num_workers: int | None = None, max_queued: int = QUEUE, shipped: Path | None = None) -> None:
        limits.check_settings()
        home = home.absolute()
        self.files = FileShelf(home / "uploads")
        self._finished = Finished(home / "runs", shipped)
        self._recorder = Recorder(home)
        self._max_queued = max_queued
        self._changed = Condition()  # its lock guards all that follows, the jobs and workers too
        self._jobs: dict[str, Job] = {}
        self._line = Line()
        self._durations = Durations()
        self._closed = False
        self._pool = Pool(num_workers or max(1, num_cores() - 1), pausing.MAX_PAUSED)
        self._threads = [Thread(target=self._serve, args=(worker,), daemon=True) for worker in self._pool.workers]
        for thread in self._threads:
            thread.start()
        atexit.register(self.close)

    def submit(self, recipe: Recipe, owner: str, hold: bool = False) -> str:
        """Have a recipe run, unless it waits, runs or is done already; returns its key, to ask with: equal recipes are one job.
        `hold`: to its first epoch alone, for `pause`. Raises RecipeError if more is asked for than is allowed, or too many wait."""
        key = recipe.key()
        self._find(key)  # what is on disk need not run
        with self._changed:
            job = self._jobs.get(key)
            if job is None or job.state in ("failed", "cancelled"):
                check_allowed(recipe)
                self._make_room(owner)
                job = Job(key, recipe, owner, paused=hold, tell=self._recorder.tell)
                self._remember(job)
                self._line.append(job)
                self._changed.notify_all()
            self._recorder.tell(key, recipe, job.state)
            job.interest.pop(owner, None)  # it may have cancelled before
            job.renew(owner)
        return key

    def status(self, key: str, owner: str = "") -> JobStatus | None:
        """How a job stands; None if nothing is known of it, on disk either. Says that an owner still cares: see `cancel`."""
        job = self._find(key)
        if job is None:
            return None
        with self._changed:
            job.renew(owner)
            return self._status(job)

    def result(self, key: str) -> Result:
        """The result, read from disk. Raises RecipeError if there is none."""
        return self._finished.result(key)

    def cancel(self, key: str, owner: str) -> None:
        """Say that an owner no longer cares. The job stops, unless another owner has asked about it in the last ten seconds."""
        with self._changed:
            job = self._jobs.get(key)
            if job is None or job.over:
                return
            job.drop(owner)
            if not job.wanted(INTEREST_SECONDS):
                self._stop(job)
            elif job.paused and owner == job.owner:  # others wait, and did not ask for the pause
                pausing.play(job, self._pool)

    def pause(self, key: str, owner: str, epochs: int = 0, gone: Iterable[str] = ()) -> None:
        """As `jobs.pausing.pause`; raises RecipeError also if the job is over. `gone` are owners who will not ask again."""
        with self._changed:
            job = self._jobs.get(key)
            if job is None or job.over:
                raise RecipeError("There is nothing to pause: this training is over.")
            for name in gone:
                job.drop(name)
            pausing.pause(job, owner, epochs, self._jobs.values(), self._pool, INTEREST_SECONDS)
            later(pausing.LOOK_SECONDS, self._end_pause, job, job.touched)

    def play(self, key: str) -> None:
        """Let a paused job go on."""
        with self._changed:
            if (job := self._jobs.get(key)) is not None and job.paused:
                pausing.play(job, self._pool)

    def jobs(self, owner: str) -> tuple[JobStatus, ...]:
        """The jobs that an owner has asked about, first ones first, without those left to others. As `status`, it still cares."""
        with self._changed:
            mine = [job for job in self._jobs.values() if job.belongs_to(owner)]
            for job in mine:
                job.renew(owner)
            return tuple(self._status(job) for job in mine)

    def close(self) -> None:
        """Stop everything. Waits until the workers are gone, which takes seconds at most."""
        with self._changed:
            self._closed = self._recorder.leaving = True
            self._line = Line()
            for job in self._jobs.values():
                job.end("cancelled")
            for worker in self._pool.workers:
                worker.dismiss()
            self._changed.notify_all()
        for thread, worker in zip(self._threads, self._pool.workers, strict=True):
            thread.join(CANCEL_SECONDS)
            worker.kill()
            thread.join()
        self._recorder.close()
        atexit.unregister(self.close)

    @property
    def pids(self) -> tuple[int, ...]:
        """The worker processes that are alive. Each is started when there is work for it."""
        with self._changed:
            return self._pool.pids

    def overview(self) -> Overview:
        """What this server is busy with."""
        with self._changed:
            return overview(self._jobs.values(), self._pool)

    # Below: methods that take the lock themselves say so; the others are called with it held.

    def _status(self, job: Job) -> JobStatus:
        if job.state != "queued":
            return job.status(None, len(self._line))
        until = self._durations.until((*self._pool.working, *self._line.before(job)), self._pool.num_working)
        return job.status(self._line.place(job), len(self._line), until)

    def _end_pause(self, job: Job, touched: float) -> None:
        """See whether a pause that was touched at some moment has to end. Takes the lock."""
        with self._changed:
            if self._closed or not job.paused or job.touched != touched:
                return
            if pausing.is_forgotten(job):
                pausing.play(job, self._pool)
            else:
                later(pausing.LOOK_SECONDS, self._end_pause, job, touched)

    def _make_room(self, owner: str) -> None:
        """Raises RecipeError if no other job may line up."""
        if self._closed:
            raise RecipeError("The server is shutting down: try again in a minute.")
        self._line.check_room(owner)
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

    def _watch(self, job: Job) -> None:
        """Stop a job that has had its time; look again while it runs. Takes the lock."""
        with self._changed:
            if message := overtime(job):
                self._stop(job, "failed", message)
            elif job.state == "running":
                later(WATCH_SECONDS, self._watch, job)

    def _stop(self, job: Job, state: str = "cancelled", message: str | None = None) -> None:
        """End a job that waits or runs."""
        if job.state == "queued":
            self._line.remove(job)
        job.end(state, message)
        if worker := self._pool.tell(job, {"cancel": True}):
            later(CANCEL_SECONDS, self._kill, worker, job)

    def _kill(self, worker: WorkerProcess, job: Job) -> None:
        """End a worker if it still works on a job. Takes the lock."""
        with self._changed:
            if worker.job is job:
                worker.kill()

    def _find(self, key: str) -> Job | None:
        """The job of a key: from memory while it waits or runs, then what is on disk counts. Takes the lock."""
        with self._changed:
            job = self._jobs.get(key)
        if job is not None and (not job.over or (job.state == "done" and self._finished.has(key))):
            return job
        saved = self._finished.job(key)  # reads files: not under the lock
        with self._changed:
            if self._jobs.get(key) is job:  # else another thread was faster
                if saved is not None:
                    saved.interest = job.interest if job is not None else {}
                    self._remember(saved)
                elif job is not None and job.state == "done":
                    del self._jobs[key]  # its folder was removed
            return self._jobs.get(key)

    def _serve(self, worker: WorkerProcess) -> None:
        """The thread of one worker: sees one job after the other through, until the runner is closed. Takes the lock."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or (len(self._line) and self._pool.next is worker))
                if self._closed:
                    break
                worker.job = job = self._line.pop()
                job.begin()
                self._watch(job)
            for _ in range(ATTEMPTS):
                self._attempt(worker, job)
            with self._changed:
                job.end("failed", DIED)
                self._durations.note(job)
                worker.job = None
                if self._pool.too_many:
                    worker.bury()
                self._changed.notify_all()
        worker.bury()

    def _attempt(self, worker: WorkerProcess, job: Job) -> None:
        """Have a worker process run a job. If the process dies, the job is not over after that. Takes the lock."""
        folder = self._finished.folder(job.key)
        try:
            with self._changed:
                if job.over:
                    return
                job.begin()
                worker.start()
                order = {"recipe": job.recipe.to_json(), "folder": str(folder), "uploads": str(self.files.directory)}
                worker.send(order | {"hold": job.hold_after if job.paused else None})
            for message in worker.messages():
                with self._changed:
                    if "end" in message:
                        job.end(message["end"], message["message"])
                        return
                    if job.note(message):
                        self._changed.notify_all()  # while it is held, its core is free for another
            if not job.over:
                log.warning("the worker of job %s died", job.key)
        except OSError as error:
            log.warning("a worker for job %s could not be started: %s", job.key, error)
        worker.bury()
        self._finished.tidy(job.key)
