"""A job is one run of a recipe by a server, with its progress and its state. `Runner` holds the lock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from time import monotonic
from typing import Any

from .. import limits
from ..experiment.recipe import Recipe
from ..learning.progress import Progress
from .pace import Pace
from .snapshots import Snapshot

GROWTH = 1.03  # the least ratio of two epochs of a curve, apart from the last


@dataclass(frozen=True)
class Curve:
    """A stage's losses so far, thinned (see `Points`). The newest is always included.

    Attributes
    ----------
    epochs : tuple of int
    losses : tuple of float
        As long as `epochs`.
    measure : str
        What the losses measure, as in `learning.progress.Progress`.
    """

    epochs: tuple[int, ...]
    losses: tuple[float, ...]
    measure: str


@dataclass(frozen=True)
class JobStatus:
    """The status of a job at one moment.

    Attributes
    ----------
    key : str
    recipe : Recipe
    state : str
        "queued", "running", "done", "failed" or "cancelled".
    position : int or None
        Position in the queue: 1 starts next. None if the job is not queued.
    num_queued : int
        Number of waiting jobs of all sessions.
    progress : Progress or None
        The latest, while running.
    losses : dict
        Stage -> Curve. Empty for results of an earlier server; the result itself has all losses.
    message : str or None
        A sentence for the user, if the job failed.
    seconds : float
        Time spent working, without pauses.
    paused : bool
        Whether someone has paused it, so that it waits between two epochs.
    held : bool
        Whether it is waiting between two epochs now.
    seconds_left : float or None
        Until its stage ends if it is running, until it starts if it is queued. None if there is no estimate.
    picture : Snapshot or None
        The latest picture of the prefixes' states.
    """

    key: str
    recipe: Recipe
    state: str
    position: int | None
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
    """Collects the losses of one stage as they arrive. Keeps the newest, and enough of the others for a logarithmic axis.

    An epoch before the newest begins the curve again: the stage was started from other weights.

    >>> points = Points("relative loss")
    >>> for epoch in range(1000):
    ...     points.add(epoch, 1 / (1 + epoch))
    >>> points.curve().epochs[:3], points.curve().epochs[-2:], len(points.curve().epochs)
    ((0, 1, 2), (980, 999), 136)
    """

    def __init__(self, measure: str) -> None:
        self.measure = measure
        self.thinned: list[tuple[int, float]] = []
        self.newest = (0, 0.0)

    def add(self, epoch: int, loss: float) -> None:
        if epoch < self.newest[0]:
            self.thinned = []
        self.newest = (epoch, loss)
        if not self.thinned or epoch >= GROWTH * self.thinned[-1][0]:
            self.thinned.append(self.newest)

    def curve(self) -> Curve:
        points = self.thinned if self.thinned[-1:] == [self.newest] else [*self.thinned, self.newest]
        return Curve(tuple(epoch for epoch, _ in points), tuple(loss for _, loss in points), self.measure)


@dataclass(eq=False)
class Job:
    """One run of a recipe. A recipe that is submitted again after its job failed or was cancelled gets a new job.

    Attributes
    ----------
    key, recipe, state, message, progress :
        As in JobStatus.
    starter : str
        The session that started it; the job leaves the queue on that session's turn.
    sessions : set of str
        The sessions that want it: those that submitted or watched it, and have not cancelled it.
    withdrawn : set of str
        The sessions that have cancelled it.
    started, seconds : float
        When it started (monotonic clock); how long it worked, once it has ended.
    points : dict
        Stage -> Points.
    paused, held, picture :
        As in JobStatus.
    hold_after : int
        Number of epochs that it still runs after it is paused.
    touched : float
        When it was created, or last paused or allowed some more epochs (monotonic clock).
    wanted : float
        When a session that wants it was last known to be connected (monotonic clock).
    held_since, waited : float
        When it was last held, and for how long it was held before.
    pace : Pace
    report : callable
        Called with (key, recipe, state, message) when it starts and when it ends.
    """

    key: str
    recipe: Recipe
    starter: str = ""
    state: str = "queued"
    message: str | None = None
    progress: Progress | None = None
    sessions: set[str] = field(default_factory=set)
    withdrawn: set[str] = field(default_factory=set)
    started: float = 0.0
    seconds: float = 0.0
    points: dict[str, Points] = field(default_factory=dict)
    paused: bool = False
    held: bool = False
    hold_after: int = 0
    touched: float = field(default_factory=monotonic)
    wanted: float = field(default_factory=monotonic)
    held_since: float = 0.0
    waited: float = 0.0
    pace: Pace = field(default_factory=Pace)
    picture: Snapshot | None = None
    report: Callable[..., None] = lambda *event: None

    @cached_property
    def kind(self) -> str:
        """A key of the recipe without seeds and rank: jobs of one kind should take equally long."""
        data, learning, refinement = self.recipe.data, self.recipe.learning, self.recipe.refinement
        options = {"learning": learning.changed(rank=1, seed=0), "refinement": refinement.changed(seed=0)}
        return self.recipe.changed(data=data.changed(seed=0), **options).key()

    @property
    def over(self) -> bool:
        return self.state not in ("queued", "running")

    def submitted_by(self, session: str) -> None:
        """Add a session, even one that had cancelled the job."""
        self.sessions.add(session)
        self.withdrawn.discard(session)
        self.wanted = monotonic()

    def watched_by(self, session: str) -> None:
        """Add a session that watches the job, unless it has cancelled the job: its page keeps watching."""
        if session not in self.withdrawn:
            self.sessions.add(session)
            self.wanted = monotonic()

    def cancelled_by(self, session: str) -> None:
        """Remove a session. The job itself continues."""
        self.sessions.discard(session)
        self.withdrawn.add(session)

    def begin(self) -> None:
        """Start, or start over."""
        self.state, self.started, self.progress, self.points = "running", monotonic(), None, {}
        self.held, self.waited, self.pace, self.picture = False, 0.0, Pace(), None
        self.report(self.key, self.recipe, self.state)

    def note(self, message: Mapping[str, Any]) -> bool:
        """Record progress from a worker, which may still arrive after a cancel. Returns whether `held` has changed."""
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
            self.picture = message["picture"]
        return changed

    def end(self, state: str, message: str | None = None) -> None:
        """End the job. A job that has ended does not change, whatever its worker still sends."""
        if not self.over:
            self.seconds = self.seconds_worked
            self.state, self.message, self.progress = state, message, None
            self.paused = self.held = False
            self.report(self.key, self.recipe, state, message)

    @property
    def seconds_worked(self) -> float:
        """Seconds since it started, without pauses."""
        if self.state != "running":
            return self.seconds
        now = monotonic()
        return now - self.started - self.waited - (now - self.held_since if self.held else 0.0)

    @property
    def overtime(self) -> str | None:
        """Why a running job must be stopped because its time is used up; None if it has time left."""
        allowed, worked = limits.most("training_seconds"), self.seconds_worked
        if self.state != "running" or worked < allowed:
            return None
        return (
            f"Stopped: the run has taken {worked:,.0f} seconds, and at most {allowed:,} are allowed here. "
            "Try fewer epochs, fewer strings or a smaller basis."
        )

    def status(self, position: int | None, num_queued: int, seconds_until_start: float | None = None) -> JobStatus:
        return JobStatus(
            key=self.key,
            recipe=self.recipe,
            state=self.state,
            position=position,
            num_queued=num_queued,
            progress=self.progress,
            losses={stage: points.curve() for stage, points in self.points.items()},
            message=self.message,
            seconds=self.seconds_worked,
            paused=self.paused,
            held=self.held,
            seconds_left=self.pace.seconds_left(monotonic()) if self.state == "running" else seconds_until_start,
            picture=self.picture,
        )
