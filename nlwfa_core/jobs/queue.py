"""Define the queue of waiting jobs, in which sessions take turns, however many jobs each submits.

The queue has no lock of its own: whoever uses it holds the lock of its `Runner`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice

from .. import limits
from ..errors import RecipeError, plural
from .job import Job


class FairQueue:
    """Holds waiting jobs. Sessions take turns; the jobs of one session start in the order in which they were added."""

    def __init__(self) -> None:
        self._rows: dict[str, deque[Job]] = {}  # session -> its jobs; the first session is served next, then moves to the end

    def __len__(self) -> int:
        return sum(map(len, self._rows.values()))

    def __iter__(self) -> Iterator[Job]:
        return (job for jobs in self._rows.values() for job in jobs)

    def check_room(self, session: str) -> None:
        """Raise RecipeError if a session already has as many waiting jobs as the limit allows."""
        count, allowed = len(self._rows.get(session, ())), limits.most("session_jobs")
        if count >= allowed:
            raise RecipeError(f"You already have {plural(count, 'run')} waiting (limit {allowed:,}). Wait for some to finish.")

    def append(self, job: Job) -> None:
        self._rows.setdefault(job.starter, deque()).append(job)

    def pop(self) -> Job:
        """Remove and return the next job to start."""
        session = next(iter(self._rows))
        jobs = self._rows.pop(session)
        job = jobs.popleft()
        if jobs:
            self._rows[session] = jobs
        return job

    def remove(self, job: Job) -> None:
        jobs = self._rows[job.starter]
        jobs.remove(job)
        if not jobs:
            del self._rows[job.starter]

    def position(self, job: Job) -> int:
        """Return a job's position in the queue: 1 starts next."""
        rounds, turn = self._turn(job)
        return sum(min(len(jobs), rounds + (number <= turn)) for number, jobs in enumerate(self._rows.values()))

    def before(self, job: Job) -> Iterator[Job]:
        """Yield the jobs that start before this one, session by session."""
        rounds, turn = self._turn(job)
        return (other for number, jobs in enumerate(self._rows.values()) for other in islice(jobs, rounds + (number < turn)))

    def _turn(self, job: Job) -> tuple[int, int]:
        """Return how many rounds, in which each session starts one job, come before a job's own, and its session's turn in it."""
        return self._rows[job.starter].index(job), list(self._rows).index(job.starter)
