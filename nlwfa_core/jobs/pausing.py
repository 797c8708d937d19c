"""Who may hold a training between two epochs, and for how long. No lock here: `jobs.Runner` holds one.

A paused job keeps its process, but not its turn: another worker does what waits. It goes on by itself when nobody has asked about
it for a minute, or nobody has touched it for a quarter of an hour.
"""

from __future__ import annotations

from collections.abc import Iterable
from time import monotonic

from .. import limits
from ..errors import RecipeError
from .job import Job
from .pool import Pool

# A paused job goes on when nobody has asked about it, or touched it, for so long; and how often that is looked at.
PAUSE_SECONDS, LONGEST_PAUSE_SECONDS, LOOK_SECONDS = 60.0, 900.0, 5.0
# Each keeps the memory of a process.
MAX_PAUSED = limits.most("paused_jobs")


def pause(job: Job, owner: str, epochs: int, others: Iterable[Job], pool: Pool, interest_seconds: float) -> None:
    """Have a job wait between two epochs, after so many more; in the queue, at its first.

    Raises
    ------
    RecipeError
        If somebody else started it and others wait for it, too; if too many jobs are paused.
    """
    if owner != job.owner and job.wanted_by_others(owner, interest_seconds):
        raise RecipeError("Somebody else waits for the same run, and you did not start it: only who did can pause it.")
    if sum(other.paused for other in others if other is not job) >= MAX_PAUSED:
        play(job, pool)  # it may have been submitted to be paused
        raise RecipeError(f"{MAX_PAUSED} trainings are paused already, and no more can be: try again in a minute.")
    job.renew(owner)
    job.paused, job.hold_after, job.touched = True, epochs, monotonic()
    pool.tell(job, {"hold": epochs})


def play(job: Job, pool: Pool) -> None:
    """Let a paused job go on."""
    job.paused = False
    pool.tell(job, {"hold": None})


def is_forgotten(job: Job) -> bool:
    """Whether a pause has to end."""
    return not job.wanted(PAUSE_SECONDS) or monotonic() - job.touched > LONGEST_PAUSE_SECONDS
