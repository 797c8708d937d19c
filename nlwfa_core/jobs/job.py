"""What is known of a job, and the fair line of those that wait. No threads and no processes here: `jobs.Runner` holds a lock."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from time import monotonic
from typing import Any

from .. import limits
from ..errors import RecipeError
from ..experiment.recipe import Recipe
from ..learning.progress import Progress
from .pace import Pace
from .snapshots import Snapshot

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
        Since it started, without the time that it was held; in all, once it is over.
    paused : bool
        Whether it shall wait between two epochs; with `held` it does, without it is still on its way there.
    held : bool
    seconds_left : float or None
        Of its stage, while running; while queued, until it starts. None: nothing is known of that yet.
    picture : Snapshot or None
        Where prefixes' states were, lately.
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
    paused: bool = False
    held: bool = False
    seconds_left: float | None = None
    picture: Snapshot | None = None


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
    paused, held, picture :
        As in JobStatus.
    hold_after : int
        Epochs that it shall still go when it is paused.
    touched : float
        When somebody last paused it, or let it go on for some epochs (monotonic clock).
    held_since, waited : float
        When it last came to be held, and for how long it was before.
    pace : Pace
    tell : callable
        Called with (key, recipe, state, message) when it starts and when it is over.
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
    paused: bool = False
    held: bool = False
    hold_after: int = 0
    touched: float = 0.0
    held_since: float = 0.0
    waited: float = 0.0
    pace: Pace = field(default_factory=Pace)
    picture: Snapshot | None = None
    tell: Callable[..., None] = lambda *what: None

    @cached_property
    def kind(self) -> str:
        """Names what is alike in jobs that should take as long: all but seeds and rank."""
        data, learning, refinement = self.recipe.data, self.recipe.learning, self.recipe.refinement
        changed = {"learning": learning.changed(rank=1, seed=0), "refinement": refinement.changed(seed=0)}
        return self.recipe.changed(data=data.changed(seed=0), **changed).key()

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

    def wanted_by_others(self, owner: str, seconds: float) -> bool:
        """Whether any other owner has asked in the last so many seconds."""
        return any(asked > monotonic() - seconds for other, asked in self.interest.items() if other != owner)

    def belongs_to(self, owner: str) -> bool:
        """Whether it is in an owner's list: not if the owner has cancelled it and it runs on for others."""
        return owner in self.interest and (self.over or self.interest[owner] != NEVER)

    def begin(self) -> None:
        """It starts, or starts over."""
        self.state, self.started, self.progress, self.points = "running", monotonic(), None, {}
        self.held, self.waited, self.pace, self.picture = False, 0.0, Pace(), None
        self.tell(self.key, self.recipe, self.state)

    def note(self, message: dict[str, Any]) -> bool:
        """Progress, as a worker sends it; also for a while after a cancel. Whether it has come to be held, or is no longer."""
        if self.over:
            return False
        self.progress = Progress(*message["progress"])
        for stage, step, loss, measure in message["losses"]:
            self.points.setdefault(stage, Points(measure)).add(step, loss)
        now, held = monotonic(), bool(message.get("held"))
        if self.held:
            self.waited += now - self.held_since
        changed, self.held, self.held_since = held != self.held, held, now
        if self.progress.loss is not None:
            self.pace.note(self.progress.stage, self.progress.step, self.progress.total, now, held)
        if message.get("picture"):
            self.picture = Snapshot.of(message["picture"])
        return changed

    def end(self, state: str, message: str | None = None) -> None:
        """It is over. What is over stays as it is, whatever a worker still says."""
        if not self.over:
            self.seconds = self.worked
            self.state, self.message, self.progress = state, message, None
            self.paused = self.held = False
            self.tell(self.key, self.recipe, state, message)

    @property
    def worked(self) -> float:
        """Seconds since it started, without the time that it was held."""
        if self.state != "running":
            return self.seconds
        now = monotonic()
        return now - self.started - self.waited - (now - self.held_since if self.held else 0.0)

    def status(self, place: int | None, num_queued: int, seconds_until: float | None = None) -> JobStatus:
        return JobStatus(
            key=self.key,
            recipe=self.recipe,
            state=self.state,
            place=place,
            num_queued=num_queued,
            progress=self.progress,
            losses={stage: points.curve() for stage, points in self.points.items()},
            message=self.message,
            seconds=self.worked,
            paused=self.paused,
            held=self.held,
            seconds_left=self.pace.seconds_left(monotonic()) if self.state == "running" else seconds_until,
            picture=self.picture,
        )


class Line:
    """Jobs that wait. Owners take turns; the jobs of one owner keep their order."""

    def __init__(self) -> None:
        self.owners: dict[str, deque[Job]] = {}  # the first is served next, and goes to the end

    def __len__(self) -> int:
        return sum(map(len, self.owners.values()))

    def __iter__(self) -> Iterator[Job]:
        return (job for jobs in self.owners.values() for job in jobs)

    def check_room(self, owner: str) -> None:
        """Raise RecipeError if an owner may line up no other job."""
        if (mine := len(self.owners.get(owner, ()))) >= limits.most("session_jobs"):
            raise RecipeError(f"{mine} of your trainings wait, at most {limits.most('session_jobs')} allowed. Let some end first.")

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

    def before(self, job: Job) -> Iterator[Job]:
        """The jobs that start before this one, owner by owner."""
        rounds, turn = self.owners[job.owner].index(job), list(self.owners).index(job.owner)
        return (other for number, jobs in enumerate(self.owners.values()) for other in islice(jobs, rounds + (number < turn)))
