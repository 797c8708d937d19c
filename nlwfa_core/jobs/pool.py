"""The worker processes of a server: which of them is free, which to keep. No lock here: `jobs.Runner` holds one."""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Timer
from typing import Any

from .job import Job
from .worker import WorkerProcess


class Pool:
    """Some workers for jobs that compute, and a few more, which stand in while jobs are held.

    Parameters
    ----------
    num_working : int
        How many jobs may compute at a time.
    num_held : int
        How many more may be held.

    Attributes
    ----------
    workers : list of WorkerProcess
    """

    def __init__(self, num_working: int, num_held: int) -> None:
        self.num_working = num_working
        self.workers = [WorkerProcess() for _ in range(num_working + num_held)]  # a process starts when there is work for it

    @property
    def working(self) -> list[Job]:
        """The jobs that compute."""
        return [worker.job for worker in self.workers if worker.job is not None and not worker.job.held]

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes that are alive."""
        return tuple(worker.pid for worker in self.workers if worker.pid is not None)

    @property
    def next(self) -> WorkerProcess | None:
        """Who takes the next job, while there is a core for it: rather a worker whose process is there already."""
        if len(self.working) >= self.num_working:
            return None
        free = (worker for worker in self.workers if worker.job is None)
        return min(free, key=lambda worker: worker.pid is None, default=None)

    @property
    def too_many(self) -> bool:
        """Whether there are more processes than are needed now that fewer jobs are held."""
        num_held = sum(worker.job is not None and worker.job.held for worker in self.workers)
        return len(self.pids) > self.num_working + num_held

    def tell(self, job: Job, message: dict[str, Any]) -> WorkerProcess | None:
        """Say something to the worker that has a job; nobody hears it while the job is in the queue."""
        for worker in self.workers:
            if worker.job is job:
                worker.send(message)
                return worker
        return None


def later(seconds: float, function: Callable[..., None], *arguments: object) -> None:
    """Call a function in a thread, after some time; a process that ends does not wait for it."""
    timer = Timer(seconds, function, arguments)
    timer.daemon = True
    timer.start()


def num_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
