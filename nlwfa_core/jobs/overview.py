"""What a server is busy with at one moment, in numbers: nothing of it says who asked for what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from .job import Job
from .pool import Pool


@dataclass(frozen=True)
class Overview:
    """A queue and its workers.

    Attributes
    ----------
    waiting, running, paused : int
        Jobs; a paused one is not among those that run.
    owners : tuple of (int, int)
        For each owner with jobs how many of them wait, and how many run or are paused; the busiest first.
    num_working : int
        How many jobs may compute at a time.
    pids : tuple of int
        The worker processes that are alive.
    """

    waiting: int
    running: int
    paused: int
    owners: tuple[tuple[int, int], ...]
    num_working: int
    pids: tuple[int, ...]


def overview(jobs: Iterable[Job], pool: Pool) -> Overview:
    active = [job for job in jobs if not job.over]
    waiting = Counter(job.owner for job in active if job.state == "queued")
    begun = Counter(job.owner for job in active if job.state == "running")
    owners = [(waiting[owner], begun[owner]) for owner in {*waiting, *begun}]
    paused = sum(job.held for job in active)
    return Overview(
        waiting=waiting.total(),
        running=begun.total() - paused,
        paused=paused,
        owners=tuple(sorted(owners, key=lambda pair: (-sum(pair), pair))),
        num_working=pool.num_working,
        pids=pool.pids,
    )
