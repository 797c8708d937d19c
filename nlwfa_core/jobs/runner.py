"""Run recipes in the background of a server: one queue, worker processes, pauses, and the status of
jobs for pages.

Training in the server's own process would block every page, and children of `multiprocessing` would
execute Streamlit's main script again. So workers are plain subprocesses that read and write JSON
lines (`worker`), each managed by a thread of the server. Each result is a folder on disk, which
remains when the server ends. One lock guards all jobs, the queue and the workers.
"""

from __future__ import annotations

import atexit
import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Condition, Thread, Timer
from time import monotonic
from typing import Any, Self

from .. import limits
from ..errors import RecipeError
from ..experiment.recipe import Recipe, check_allowed
from ..experiment.results import Result
from ..history.recorder import Recorder
from .folders import RunFolders
from .job import Job, JobStatus, Person
from .queue import FairQueue
from .worker import WorkerProcess, died

# a worker is killed if it has not stopped this long after a cancel, or after the runner was closed
CANCEL_SECONDS = 2.0
WATCH_SECONDS = 1.0  # how often the runner checks whether a running job has used up its time
LONGEST_PAUSE_SECONDS = 900.0  # how long a pause lasts if nobody touches the job
ABSENCE_SECONDS = (
    # a waiting or paused job is abandoned if all its sessions are gone for longer than this; a
    # reload is shorter
    60.0
)
CHECK_SECONDS = 5.0  # how often the runner checks who still wants the waiting and paused jobs
GAVE_WAY = (
    "The queue was full, so this run was removed to make room for somebody with fewer waiting runs."
    " Run it again later."
)
ATTEMPTS = 2  # how often a job is run if its worker dies
MAX_FINISHED = 500  # ended jobs that stay in memory; older ones are read from disk if they are done

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Overview:
    """A server's load at one moment, in numbers that do not reveal who submitted which run."""

    # waiting, running, paused: the numbers of jobs; a paused job does not count as running
    waiting: int
    running: int
    paused: int
    # For each person who has jobs: how many are waiting, and how many are running or paused. The
    # person with the most comes first.
    people: tuple[tuple[int, int], ...]
    num_working: int  # the number of jobs that may compute at the same time
    pids: tuple[int, ...]  # the process numbers of the workers that are alive

    @classmethod
    def of(cls, jobs: Iterable[Job], num_working: int, pids: tuple[int, ...]) -> Self:
        """Count the jobs that are not over, by state and by person."""
        active = [job for job in jobs if not job.over]
        waiting = Counter(job.person.name for job in active if job.state == "queued")
        started = Counter(job.person.name for job in active if job.state == "running")
        paused = sum(job.held for job in active)
        pairs = [(waiting[name], started[name]) for name in {*waiting, *started}]
        return cls(
            waiting=waiting.total(),
            running=started.total() - paused,
            paused=paused,
            people=tuple(sorted(pairs, key=lambda pair: (-sum(pair), pair))),
            num_working=num_working,
            pids=pids,
        )


class Durations:
    """Records how long finished jobs took, to estimate others: jobs that differ only in seeds and
    rank take about the same time.
    """

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    def note(self, job: Job) -> None:
        """Record how long a job took, if it is done."""
        if job.state == "done":
            self._seconds[job.kind] = (self._seconds.get(job.kind, job.seconds) + job.seconds) / 2

    def note_old(self, job: Job) -> None:
        """Record how long a job took on an earlier server; this counts until a job of its kind has
        finished on this one.
        """
        self._seconds.setdefault(job.kind, job.seconds)

    def left(self, job: Job) -> float | None:
        """Estimate how many seconds of work a job has left; None if no job of its kind has
        finished.
        """
        expected = self._seconds.get(job.kind)
        return None if expected is None else max(expected - job.seconds_worked, 0.0)

    def of(self, jobs: Collection[Job], num_working: int) -> float | None:
        """Estimate how long `num_working` workers take to run new jobs; None if, for one of them,
        no job of its kind has finished.
        """
        numbers = [number for job in jobs if (number := self.left(job)) is not None]
        at_once = max(1, min(num_working, len(numbers)))
        return (
            max(sum(numbers) / at_once, *numbers) if numbers and len(numbers) == len(jobs) else None
        )

    def until_done(self, jobs: Iterable[Job], num_working: int) -> float | None:
        """Estimate the seconds until `num_working` workers have done all of these jobs; None if the
        time of one is unknown.
        """
        seconds = [self.left(job) for job in jobs]
        numbers = [number for number in seconds if number is not None]
        return sum(numbers) / num_working if len(numbers) == len(seconds) else None


class Runner:
    """Runs recipes in worker processes. All methods may be called from any thread.

    Callers pass the name of a session, such as that of a browser tab. The people to whom the
    sessions belong take turns in the queue. Equal recipes are one job, which several sessions may
    share; it stops when the last of them has cancelled it. When the queue is full, waiting jobs
    whose sessions have all been gone for a minute are cancelled to make room.

    `home`: results go to `home/runs/<key>`, uploaded files are read from `home/uploads`, and events
    go to the history. `num_workers`: by default one less than the number of cores, but at least 1.
    `max_queued`: how many jobs may wait; by default the number in `limits`. `shipped`: the folder
    with the results that are shipped with the lab, laid out like `home/runs`. `is_active`: session
    -> whether it is still connected. `person_of`: session -> the person to whom it belongs; by
    default each session is a person.

    Raises RecipeError if a setting of the server is wrong: see `limits.check_settings`.
    """

    def __init__(
        self,
        home: Path,
        num_workers: int | None = None,
        max_queued: int | None = None,
        shipped: Path | None = None,
        is_active: Callable[[str], bool] = lambda session: True,
        person_of: Callable[[str], Person] = Person,
    ) -> None:
        limits.check_settings()
        home = home.absolute()
        self._uploads = home / "uploads"
        self._folders = RunFolders(home / "runs", shipped)
        self._recorder = Recorder(home)
        self._max_queued = limits.most("jobs") if max_queued is None else max_queued
        self._num_working = num_workers or max(1, num_cores() - 1)
        self._is_active = is_active
        self._person_of = person_of
        # its lock guards everything below, including the jobs and workers
        self._changed = Condition()
        self._jobs: dict[str, Job] = {}
        self._queue = FairQueue()
        self._durations = Durations()
        self._closed = self._is_checking = False
        # A held job keeps its process, while another process may compute on its core. Processes
        # start when they are first needed.
        self._workers = [
            WorkerProcess() for _ in range(self._num_working + limits.most("paused_jobs"))
        ]
        self._threads = [
            Thread(target=self._serve, args=(worker,), daemon=True) for worker in self._workers
        ]
        for thread in self._threads:
            thread.start()
        atexit.register(self.close)

    def submit(self, recipe: Recipe, session: str, hold: bool = False) -> str:
        """Queue a recipe, unless it is already waiting, running or done.

        `hold`: whether to stop at the first epoch and wait there. Calling `pause` afterwards turns
        the job into a paused one.

        Returns the job's key, which is the key of the recipe.

        Raises RecipeError if the recipe exceeds a limit, or too many jobs are waiting.
        """
        [key] = self._submit([recipe], session, hold)
        return key

    def submit_series(self, recipes: Sequence[Recipe], session: str) -> list[str]:
        """Queue recipes that one worker is to run one after the other, in one turn: each run starts
        from what the worker has kept of the previous one.

        Recipes that are waiting, running or done stay as they are. If a run of the series fails,
        those after it also fail; if it is cancelled, the others continue.

        Returns the keys. Raises RecipeError as `submit` does; the series takes one place in the
        queue.
        """
        return self._submit(recipes, session)

    def _submit(self, recipes: Sequence[Recipe], session: str, hold: bool = False) -> list[str]:
        """Queue recipes, the new ones as one series. Takes the lock."""
        keys = [recipe.key() for recipe in recipes]
        for key in keys:
            self._find(key)  # finds a result on disk, so the recipe is not run again
        person = self._person_of(session)
        with self._changed:
            leader: Job | None = None
            for key, recipe in zip(keys, recipes, strict=True):
                job = self._jobs.get(key)
                if job is None or job.state in ("failed", "cancelled"):
                    check_allowed(recipe)
                    if leader is None:
                        self._make_room(person)
                    job = Job(
                        key, recipe, session, person, paused=hold, report=self._recorder.record
                    )
                    self._remember(job)
                    if leader is None:
                        leader = job
                        self._queue.append(job)
                        self._changed.notify_all()
                    else:
                        job.follows = True
                        leader.followers.append(job)
                job.submitted_by(session)
                self._recorder.record(key, recipe, job.state)
            self._begin_checks()
        return keys

    def prepare(self) -> None:
        """Start a worker process if none is alive, so the next job does not wait for its imports.
        If that fails, the job tries again.
        """
        with self._changed:
            if not self._closed and not self._pids():
                with suppress(OSError):
                    self._workers[0].start()

    def status(self, key: str, watcher: str | None = None) -> JobStatus | None:
        """Return a job's status; None if there is neither such a job nor a result on disk.

        If a session is named as the watcher, it counts as one that wants the job.
        """
        job = self._find(key)
        if job is None:
            return None
        with self._changed:
            if watcher is not None:
                job.watched_by(watcher)
            return self._status(job)

    def remembers(self, key: str) -> bool:
        """Return whether a job is in memory, whatever its state. (`status` also looks on disk,
        which takes longer.)
        """
        return key in self._jobs

    def result(self, key: str) -> Result:
        """Read a job's result from disk. Raises RecipeError if there is none."""
        return self._folders.result(key)

    def estimate(self, *recipes: Recipe) -> float | None:
        """Estimate how many seconds it takes to run recipes on a server that has nothing else to
        do.

        The estimate comes from runs of this server that differ only in seeds and rank; it is None
        if a recipe has no such run.
        """
        jobs = [Job(recipe.key(), recipe) for recipe in recipes]
        with self._changed:
            return self._durations.of(jobs, self._num_working)

    def cancel(self, key: str, session: str) -> None:
        """Cancel a job for one session.

        The job stops unless another session that is still connected wants it.
        """
        with self._changed:
            job = self._jobs.get(key)
            if job is None or job.over:
                return
            job.cancelled_by(session)
            if not self._is_wanted(job):
                self._stop(job)
            # only the starter can pause a job, so the others do not want it paused
            elif job.paused and session == job.starter:
                self._play(job)

    def pause(self, key: str, session: str, epochs: int = 0) -> None:
        """Pause a job between two epochs, after `epochs` more; for a queued job these are counted
        from its first epoch.

        A paused job keeps its process, but another worker may compute in the meantime. It continues
        by itself when all its sessions have been gone for a minute, or a quarter of an hour after
        the last call of this method.

        Raises RecipeError if the job has ended, if this session did not start it and another
        session also wants it, or if too many jobs are paused.
        """
        with self._changed:
            job = self._jobs.get(key)
            if job is None or job.over:
                raise RecipeError("This run has ended, so it can't be paused.")
            if session != job.starter and any(
                self._is_active(other) for other in job.sessions - {session}
            ):
                raise RecipeError(
                    "Someone else is waiting for this run, so only the person who started it "
                    "can pause it."
                )
            allowed = limits.most("paused_jobs")
            if sum(other.paused for other in self._jobs.values() if other is not job) >= allowed:
                self._play(job)  # the job may have been submitted with `hold`
                raise RecipeError(
                    f"No more runs can be paused (limit {allowed}). Try again in a minute."
                )
            job.submitted_by(session)
            job.paused = True
            job.hold_after = epochs
            job.touched = monotonic()
            self._send(job, {"hold": epochs})
            self._begin_checks()

    def play(self, key: str) -> None:
        """Let a paused job continue."""
        with self._changed:
            job = self._jobs.get(key)
            if job is not None and job.paused:
                self._play(job)

    def close(self) -> None:
        """Stop all jobs and workers, and wait until the worker processes have ended, which takes a
        few seconds at most.
        """
        with self._changed:
            self._closed = self._recorder.leaving = True
            self._queue = FairQueue()
            for job in self._jobs.values():
                job.end("cancelled")
            for worker in self._workers:
                worker.dismiss()
            self._changed.notify_all()
        for thread, worker in zip(self._threads, self._workers, strict=True):
            thread.join(CANCEL_SECONDS)
            worker.kill()
            thread.join()
        self._recorder.close()
        atexit.unregister(self.close)

    @property
    def pids(self) -> tuple[int, ...]:
        """Return the process IDs of the workers that are alive."""
        with self._changed:
            return self._pids()

    def overview(self) -> Overview:
        """Return this server's load."""
        with self._changed:
            return Overview.of(self._jobs.values(), self._num_working, self._pids())

    # A method below takes the lock if its docstring says so. All others must be called with the
    # lock held.

    def _status(self, job: Job) -> JobStatus:
        if job.state != "queued" or job.follows:
            return job.status(None, len(self._queue))
        before = (*self._computing(), *self._queue.before(job))
        seconds = self._durations.until_done(
            (each for leader in before for each in (leader, *leader.followers) if not each.over),
            self._num_working,
        )
        return job.status(self._queue.position(job), len(self._queue), seconds)

    def _find(self, key: str) -> Job | None:
        """Find a key's job: in memory while it waits or runs, on disk afterwards.

        Takes the lock.
        """
        with self._changed:
            job = self._jobs.get(key)
        if job is not None and (not job.over or (job.state == "done" and self._folders.has(key))):
            return job
        finished = self._folders.job(key)  # without the lock, because it reads files
        with self._changed:
            if (
                self._jobs.get(key) is job
            ):  # otherwise another thread has changed it in the meantime
                if finished is not None:
                    self._remember(finished)
                    self._durations.note_old(finished)
                elif job is not None and job.state == "done":
                    del self._jobs[key]  # its folder was removed
            return self._jobs.get(key)

    def _remember(self, job: Job) -> None:
        """Add a job, and drop the oldest of more than MAX_FINISHED jobs that have ended."""
        self._jobs.pop(job.key, None)
        self._jobs[job.key] = job
        for old in [old for old in self._jobs.values() if old.over][:-MAX_FINISHED]:
            del self._jobs[old.key]

    def _is_wanted(self, job: Job) -> bool:
        """Return whether a session that is still connected wants a job."""
        return any(self._is_active(session) for session in job.sessions)

    def _is_abandoned(self, job: Job) -> bool:
        """Return whether all sessions that want a job have been gone for longer than
        ABSENCE_SECONDS.
        """
        return not self._is_wanted(job) and monotonic() - job.wanted > ABSENCE_SECONDS

    def _begin_checks(self) -> None:
        """Start calling `_check` at regular intervals."""
        if not self._is_checking:
            self._is_checking = True
            _later(CHECK_SECONDS, self._check)

    def _check(self) -> None:
        """Record which waiting and paused jobs are still wanted, and end pauses that have lasted
        too long. Takes the lock.
        """
        with self._changed:
            self._is_checking = False
            for job in [job for job in self._jobs.values() if job.state == "queued" or job.paused]:
                if self._is_wanted(job):
                    job.wanted = monotonic()
                if job.paused and (
                    self._is_abandoned(job) or monotonic() - job.touched > LONGEST_PAUSE_SECONDS
                ):
                    self._play(job)
                self._begin_checks()

    def _make_room(self, person: Person) -> None:
        """If the queue is full, cancel waiting jobs that nobody has wanted for a while, or one that
        gives way (`FairQueue`).

        Raises RecipeError if there is no room.
        """
        if self._closed:
            raise RecipeError("The server is shutting down. Try again in a minute.")
        try:
            self._queue.check_room(person, self._max_queued)
        except RecipeError:
            for job in [job for job in self._queue if self._is_abandoned(job)]:
                self._stop(job)
            is_full = len(self._queue) >= self._max_queued
            if is_full and (newest := self._queue.giving_way(person)) is not None:
                self._stop(newest, "failed", GAVE_WAY)
            self._queue.check_room(person, self._max_queued)

    def _stop(self, job: Job, state: str = "cancelled", message: str | None = None) -> None:
        """Stop a waiting or running job."""
        was_in_queue = job.state == "queued" and not job.follows
        if was_in_queue:
            self._queue.remove(job)
        job.end(state, message)
        if was_in_queue and (following := self._successor(job)):
            self._queue.append(following)
            self._changed.notify_all()
        worker = self._send(job, {"cancel": True})
        if worker:
            _later(CANCEL_SECONDS, self._kill, worker, job)

    def _kill(self, worker: WorkerProcess, job: Job) -> None:
        """Kill a worker if it is still working on a job. Takes the lock."""
        with self._changed:
            if worker.job is job:
                worker.kill()

    def _stop_overtime(self, job: Job) -> None:
        """Stop a job whose time is used up; otherwise check again later. Takes the lock."""
        with self._changed:
            message = job.overtime
            if message:
                self._stop(job, "failed", message)
            elif job.state == "running":
                _later(WATCH_SECONDS, self._stop_overtime, job)

    # Worker processes

    def _pids(self) -> tuple[int, ...]:
        return tuple(worker.pid for worker in self._workers if worker.pid is not None)

    def _computing(self) -> list[Job]:
        """List the jobs that are computing: those of the workers, except held ones."""
        return [
            worker.job for worker in self._workers if worker.job is not None and not worker.job.held
        ]

    def _next_worker(self) -> WorkerProcess | None:
        """Choose the worker for the next job, preferably one whose process is already running; None
        if no core is free.
        """
        if len(self._computing()) >= self._num_working:
            return None
        free = (worker for worker in self._workers if worker.job is None)
        return min(free, key=lambda worker: worker.pid is None, default=None)

    def _has_spare_process(self) -> bool:
        """Return whether there are more worker processes than cores and held jobs need."""
        num_held = sum(worker.job is not None and worker.job.held for worker in self._workers)
        return len(self._pids()) > self._num_working + num_held

    def _play(self, job: Job) -> None:
        job.paused = False
        self._send(job, {"hold": None})

    def _send(self, job: Job, message: dict[str, Any]) -> WorkerProcess | None:
        """Send a message to the worker that has a job, and return the worker; None while the job is
        in the queue.
        """
        for worker in self._workers:
            if worker.job is job:
                worker.send(message)
                return worker
        return None

    def _serve(self, worker: WorkerProcess) -> None:
        """Run one job after another on a worker until the runner is closed: this is the worker's
        thread. Takes the lock.
        """
        while True:
            with self._changed:
                self._changed.wait_for(
                    lambda: self._closed or (len(self._queue) and self._next_worker() is worker)
                )
                if self._closed:
                    break
                self._begin(worker, self._queue.pop())
            while (job := worker.job) is not None:
                for number in range(ATTEMPTS):
                    self._attempt(worker, job, again=number > 0)
                with self._changed:
                    job.end("failed", died(ATTEMPTS))
                    self._durations.note(job)
                    self._begin(worker, self._successor(job))
                    if worker.job is None and self._has_spare_process():
                        worker.reap()
                    self._changed.notify_all()
        worker.reap()

    def _begin(self, worker: WorkerProcess, job: Job | None) -> None:
        worker.job = job
        if job is not None:
            job.begin()
            self._stop_overtime(job)

    def _successor(self, job: Job) -> Job | None:
        """Return the job of the same series that is next in the turn of one that has ended; None if
        there is none. After one that failed, all others fail; those that nobody wants are
        cancelled.
        """
        while (following := job.successor()) is not None:
            if job.state == "failed":
                following.end("failed", job.message)
            elif self._is_abandoned(following):
                following.end("cancelled")
            else:
                return following
            job = following
        return None

    def _attempt(self, worker: WorkerProcess, job: Job, again: bool) -> None:
        """Run a job in a worker process; `again`: whether it is run again after its process died.

        If the process dies, the job has not ended when this returns. Takes the lock.
        """
        try:
            with self._changed:
                if job.over:
                    return
                if again:
                    job.begin()
                worker.start()
                folder = self._folders.folder(job.key)
                hold = job.hold_after if job.paused else None
                worker.send(
                    {
                        "recipe": job.recipe.to_json(),
                        "folder": str(folder),
                        "uploads": str(self._uploads),
                        "hold": hold,
                    }
                )
            for message in worker.messages():
                with self._changed:
                    if "end" in message:
                        if message["end"] == "done" and not self._folders.has(job.key):
                            break  # without a result on disk, this message can't be true
                        job.end(message["end"], message["message"])
                        return
                    if job.note(message):
                        # if the job is held now, its core is free for another job
                        self._changed.notify_all()
            if not job.over:
                log.warning(
                    "the worker of job %s died, or sent something that is not a message", job.key
                )
        except OSError as error:
            log.warning("a worker for job %s could not be started: %s", job.key, error)
        worker.reap()
        self._folders.tidy(job.key)


def _later(seconds: float, function: Callable[..., None], *arguments: object) -> None:
    """Call a function in a thread after a delay; the process may end without waiting for it."""
    timer = Timer(seconds, function, arguments)
    timer.daemon = True
    timer.start()


def num_cores() -> int:
    """Count the cores that this process may use, given its CPU affinity and the quota of its
    container.
    """
    from joblib import cpu_count

    return int(cpu_count())
