"""What is known of a job, and the fair line of those that wait. No threads and no processes here: `jobs.Runner` holds a lock."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from .learning.progress import Progress
from .recipe import Recipe

CURVE_POINTS = 300
# When an owner that has cancelled has last asked.
NEVER = float("-inf")


@dataclass(frozen=True)
class Curve:
    """A stage's losses so far, thinned to about `CURVE_POINTS`; the newest is always there.

    Attributes
    ----------
    epochs : tuple of int
    losses : tuple of float
        As long as `epochs`.
    measure : str
        What they are, as in `learning.progress.Progress`.
    """

    epochs: tuple[int, ...]
    losses: tuple[float, ...]
    measure: str


@dataclass(frozen=True)
class JobStatus:
    """What is known of a job at one moment.

    Attributes
    ----------
    key : str
    recipe : Recipe
    state : str
        "queued", "running", "done", "failed" or "cancelled".
    place : int or None
        While queued: 1 starts next.
    num_queued : int
        Jobs that wait, of all owners.
    progress : Progress or None
        The latest, while running.
    losses : dict
        Stage -> Curve. Empty for results of an earlier server; the result itself has all losses.
    message : str or None
        A sentence for the user, if the job failed.
    seconds : float
        Since it started; in all, once it is over.
    """

    key: str
    recipe: Recipe
    state: str
    place: int | None
    num_queued: int
    progress: Progress | None
    losses: dict[str, Curve]
    message: str | None
    seconds: float


class Points:
    """The losses of one stage as they come: every 2ⁿ-th and the newest are kept.

    >>> points = Points("relative loss")
    >>> for epoch in range(1000):
    ...     points.add(epoch, 1 / (1 + epoch))
    >>> points.curve().epochs[:3], points.curve().epochs[-1], len(points.curve().epochs)
    ((0, 4, 8), 999, 251)
    """

    def __init__(self, measure: str) -> None:
        self.measure = measure
        self.kept: list[tuple[int, float]] = []
        self.newest = (0, 0.0)
        self.num_seen, self.stride = 0, 1

    def add(self, epoch: int, loss: float) -> None:
        self.newest = (epoch, loss)
        if self.num_seen % self.stride == 0:
            self.kept.append(self.newest)
            if len(self.kept) > CURVE_POINTS:
                self.kept, self.stride = self.kept[::2], 2 * self.stride
        self.num_seen += 1

    def curve(self) -> Curve:
        points = self.kept if self.kept[-1:] == [self.newest] else [*self.kept, self.newest]
        return Curve(tuple(epoch for epoch, _ in points), tuple(loss for _, loss in points), self.measure)


@dataclass(eq=False)
class Job:
    """One run of a recipe. A recipe that is submitted again after its job failed or was cancelled gets a new one.

    Attributes
    ----------
    key, recipe, state, message, progress :
        As in JobStatus.
    owner : str
        In whose turn it starts.
    interest : dict
        Owner -> when it last asked (monotonic clock), `NEVER` once it has cancelled.
    started, seconds : float
        When it started (monotonic clock); how long it took, once it is over.
    points : dict
        Stage -> Points.
    """

    key: str
    recipe: Recipe
    owner: str = ""
    state: str = "queued"
    message: str | None = None
    progress: Progress | None = None
    interest: dict[str, float] = field(default_factory=dict)
    started: float = 0.0
    seconds: float = 0.0
    points: dict[str, Points] = field(default_factory=dict)

    @property
    def over(self) -> bool:
        return self.state not in ("queued", "running")

    def renew(self, owner: str) -> None:
        """An owner asks. Who has cancelled is not counted before it submits again."""
        if owner and self.interest.get(owner) != NEVER:
            self.interest[owner] = monotonic()

    def drop(self, owner: str) -> None:
        """An owner no longer cares."""
        self.interest[owner] = NEVER

    def wanted(self, seconds: float) -> bool:
        """Whether any owner has asked in the last so many seconds."""
        return max(self.interest.values(), default=NEVER) > monotonic() - seconds

    def belongs_to(self, owner: str) -> bool:
        """Whether it is in an owner's list: not if the owner has cancelled it and it runs on for others."""
        return owner in self.interest and (self.over or self.interest[owner] != NEVER)

    def begin(self) -> None:
        """It starts, or starts over."""
        self.state, self.started, self.progress, self.points = "running", monotonic(), None, {}

    def note(self, message: dict[str, Any]) -> None:
        """Progress, as a worker sends it; also for a while after a cancel."""
        if self.over:
            return
        self.progress = Progress(*message["progress"])
        for stage, step, loss, measure in message["losses"]:
            self.points.setdefault(stage, Points(measure)).add(step, loss)

    def end(self, state: str, message: str | None = None) -> None:
        """It is over. What is over stays as it is, whatever a worker still says."""
        if not self.over:
            self.seconds = monotonic() - self.started if self.state == "running" else 0.0
            self.state, self.message, self.progress = state, message, None

    def status(self, place: int | None, num_queued: int) -> JobStatus:
        losses = {stage: points.curve() for stage, points in self.points.items()}
        seconds = monotonic() - self.started if self.state == "running" else self.seconds
        return JobStatus(self.key, self.recipe, self.state, place, num_queued, self.progress, losses, self.message, seconds)


class Line:
    """Jobs that wait. Owners take turns; the jobs of one owner keep their order."""

    def __init__(self) -> None:
        self.owners: dict[str, deque[Job]] = {}  # the first is served next, and goes to the end

    def __len__(self) -> int:
        return sum(map(len, self.owners.values()))

    def __iter__(self) -> Iterator[Job]:
        return (job for jobs in self.owners.values() for job in jobs)

    def append(self, job: Job) -> None:
        self.owners.setdefault(job.owner, deque()).append(job)

    def pop(self) -> Job:
        """The job that starts now."""
        owner = next(iter(self.owners))
        jobs = self.owners.pop(owner)
        job = jobs.popleft()
        if jobs:
            self.owners[owner] = jobs
        return job

    def remove(self, job: Job) -> None:
        jobs = self.owners[job.owner]
        jobs.remove(job)
        if not jobs:
            del self.owners[job.owner]

    def place(self, job: Job) -> int:
        """How many jobs start until this one has, itself included."""
        rounds = self.owners[job.owner].index(job)  # whole ones, before the one in which it starts
        turn = list(self.owners).index(job.owner)
        return sum(min(len(jobs), rounds + (number <= turn)) for number, jobs in enumerate(self.owners.values()))
