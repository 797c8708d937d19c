"""How long a job will take, told from those that were done: where jobs wait, when the next of them starts."""

from __future__ import annotations

from collections.abc import Iterable

from .. import limits
from .job import Job


class Durations:
    """How long jobs took: one that is like another, seeds and rank apart, should take about as long."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    def note(self, job: Job) -> None:
        """A job is over; those that failed or were cancelled tell nothing."""
        if job.state != "done":
            return
        self._seconds[job.kind] = (self._seconds.get(job.kind, job.seconds) + job.seconds) / 2

    def left(self, job: Job) -> float | None:
        """Seconds of work that a job still has before it; None where no job of its kind was done."""
        expected = self._seconds.get(job.kind)
        return None if expected is None else max(expected - job.worked, 0.0)

    def until(self, jobs: Iterable[Job], num_working: int) -> float | None:
        """When some jobs will be done that so many workers share; None where one of them is of no known kind."""
        left = [self.left(job) for job in jobs]
        known = [seconds for seconds in left if seconds is not None]
        return sum(known) / num_working if len(known) == len(left) else None


def overtime(job: Job) -> str | None:
    """Why a running job is stopped, once it has had its time; the time that it was held is not counted."""
    allowed = limits.most("training_seconds")
    if job.state != "running" or job.worked < allowed:
        return None
    given = f"{job.worked:,.0f} seconds of training, at most {allowed:,} allowed here"
    return f"Stopped: {given}. Try fewer epochs, fewer strings or a smaller basis."
