"""Define the queue of waiting jobs, in which people take turns, no matter how many jobs each
submits.

People whom the server knows, such as the members of a class, come before strangers. All strangers
together get only a part of the queue, because to the server a stranger is a browser, and anybody
can make up any number of browsers.

The queue has no lock of its own: callers hold the lock of its `Runner`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import chain, islice

from .. import limits
from ..errors import RecipeError, plural
from .job import Job, Person

STRANGERS_SHARE = 2  # strangers together may fill 1/2 of the queue


class FairQueue:
    """Holds waiting jobs.

    People take turns; the jobs of one person start in the order in which they were added.
    """

    def __init__(self) -> None:
        # Person -> their jobs; the first person is served next, then moves to the end. Strangers
        # are served when no other waits.
        self._known: dict[str, deque[Job]] = {}
        self._strangers: dict[str, deque[Job]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._rows()))

    def __iter__(self) -> Iterator[Job]:
        return (job for jobs in self._rows() for job in jobs)

    def check_room(self, person: Person, max_queued: int) -> None:
        """Raise RecipeError if the queue has no room for another job of a person, given the jobs of
        this person and of others in it.
        """
        num_waiting = len(self._rows_of(person).get(person.name, ()))
        allowed = limits.most("session_jobs")
        if num_waiting >= allowed:
            raise RecipeError(
                f"You already have {plural(num_waiting, 'run')} waiting (limit {allowed:,}). Wait "
                "for some to finish."
            )
        if len(self) >= max_queued:
            raise RecipeError(
                f"The queue is full, with {plural(len(self), 'run')} waiting (limit "
                f"{max_queued:,}). Try again later."
            )
        strangers = sum(map(len, self._strangers.values()))
        room = max(1, max_queued // STRANGERS_SHARE)
        if not person.is_known and strangers >= room:
            raise RecipeError(
                "The queue has no room for more people who are not in a class: "
                f"{plural(strangers, 'run')} of theirs waiting (limit {room:,}). Try again later."
            )

    def giving_way(self, person: Person) -> Job | None:
        """Return the job that leaves a full queue to make room for one of a person whom the server
        knows; None if none does.

        It is the newest job of the stranger with the most jobs. Without strangers, it is the newest
        job of the known person with the most jobs, if they would still have more than this person.
        Otherwise, of those who would then have as many jobs as this person and came later, it is
        the newest job of the one who came last.
        """
        if not person.is_known:
            return None
        if self._strangers:
            return max(self._strangers.values(), key=len)[-1]
        num_jobs = len(self._known.get(person.name, ()))
        others = [jobs for name, jobs in self._known.items() if name != person.name]
        larger = [jobs for jobs in others if len(jobs) > num_jobs + 1]
        if larger:
            return max(larger, key=len)[-1]
        later = [
            jobs
            for jobs in others
            if len(jobs) == num_jobs + 1 and jobs[-1].person.since > person.since
        ]
        return max(later, key=lambda jobs: jobs[-1].person.since)[-1] if later else None

    def append(self, job: Job) -> None:
        self._rows_of(job.person).setdefault(job.person.name, deque()).append(job)

    def pop(self) -> Job:
        """Remove and return the next job to start."""
        rows = self._known or self._strangers
        person = next(iter(rows))
        jobs = rows.pop(person)
        job = jobs.popleft()
        if jobs:
            rows[person] = jobs
        return job

    def remove(self, job: Job) -> None:
        rows = self._rows_of(job.person)
        jobs = rows[job.person.name]
        jobs.remove(job)
        if not jobs:
            del rows[job.person.name]

    def position(self, job: Job) -> int:
        """Return a job's position in the queue: 1 starts next."""
        return sum(1 for _ in self.before(job)) + 1

    def before(self, job: Job) -> Iterator[Job]:
        """Yield the jobs that start before this one, person by person."""
        rows = self._rows_of(job.person)
        if rows is self._strangers:
            yield from (other for jobs in self._known.values() for other in jobs)
        rounds = rows[job.person.name].index(job)  # in each of which every person starts one job
        turn = list(rows).index(job.person.name)
        for number, jobs in enumerate(rows.values()):
            yield from islice(jobs, rounds + (number < turn))

    def _rows(self) -> Iterator[deque[Job]]:
        return chain(self._known.values(), self._strangers.values())

    def _rows_of(self, person: Person) -> dict[str, deque[Job]]:
        return self._known if person.is_known else self._strangers
