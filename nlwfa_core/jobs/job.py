"""Define jobs: a job is one run of a recipe by a server, with its progress and its state.

Jobs have no lock of their own: callers hold the lock of their `Runner`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from time import monotonic
from typing import Any

from .. import limits
from ..experiment.recipe import LEARNING_SEEDS, Recipe, with_fields
from ..learning.progress import Progress
from .pace import Pace
from .snapshots import Snapshot

GROWTH = 1.03  # the smallest ratio of successive epochs in a thinned curve, except for the last


@dataclass(frozen=True)
class Curve:
    """Holds the losses of a stage of training so far, thinned as by `Points`. The newest loss is
    always included.
    """

    epochs: tuple[int, ...]
    losses: tuple[float, ...]  # the loss after each of `epochs`
    measure: str  # what the losses measure, as in `learning.progress.Progress`


@dataclass(frozen=True)
class JobStatus:
    """Holds the status of a job at one moment, for a page."""

    key: str
    recipe: Recipe
    state: str  # "queued", "running", "done", "failed" or "cancelled"
    # Position in the queue: 1 starts next. None if the job is not in the queue: it has started, or
    # it follows another job.
    position: int | None
    num_queued: int  # the number of waiting jobs of all sessions
    progress: Progress | None  # the latest progress of a running job
    # Stage -> Curve. Empty for a result that was on disk when the server started; the result itself
    # has all losses.
    losses: dict[str, Curve]
    message: str | None  # a sentence for the user, if the job failed
    seconds: float  # the time that the job has worked, without pauses
    paused: bool = False  # whether someone has paused the job: it is held after the next epochs
    held: bool = False  # whether the job is waiting between two epochs now
    # the estimated time until the present stage of a running job ends, or until a queued job
    # starts; None without an estimate
    seconds_left: float | None = None
    picture: Snapshot | None = None  # the latest positions of the prefixes' states in the plane
    # the best model so far of a running job, as `models.model_files.model_as_json` writes it
    preview: Mapping[str, Any] | None = None


class Points:
    """Collects the losses of one stage. Stores the newest, and enough of the others for a
    logarithmic axis.

    If an epoch comes before the newest one, the stage has been started again from other weights,
    and the curve begins again.

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
        points = (
            self.thinned if self.thinned[-1:] == [self.newest] else [*self.thinned, self.newest]
        )
        return Curve(
            tuple(epoch for epoch, _ in points), tuple(loss for _, loss in points), self.measure
        )


@dataclass(frozen=True)
class Person:
    """A submitter of jobs, from any number of sessions."""

    name: str  # of a browser, or of somebody who has signed in
    # Whether the server knows more about them than this name, such as that they belong to a class.
    # Others are strangers.
    is_known: bool = True
    since: float = 0.0  # since when it has known them; 0 for those who have signed in


@dataclass(eq=False)
class Job:
    """Holds one run of a recipe. A recipe that is submitted again after its job failed or was
    cancelled gets a new job.
    """

    key: str  # key, recipe, state, message, progress: the same as in `JobStatus`
    recipe: Recipe
    starter: str = ""  # the session that submitted the job first
    # whose session that is; the job leaves the queue when it is this person's turn
    person: Person = Person("")
    state: str = "queued"
    message: str | None = None
    progress: Progress | None = None
    # the sessions that want the job: those that submitted or watched it, and have not cancelled it
    sessions: set[str] = field(default_factory=set)
    withdrawn: set[str] = field(default_factory=set)  # the sessions that have cancelled the job
    started: float = 0.0  # when the job started (monotonic clock)
    seconds: float = 0.0  # how long the job worked, set when it ends
    points: dict[str, Points] = field(default_factory=dict)  # stage -> Points
    paused: bool = False  # paused, held, picture, preview: the same as in `JobStatus`
    held: bool = False
    hold_after: int = 0  # the number of epochs that a paused job still runs before it is held
    # when someone last created or paused the job, or let it run some more epochs (monotonic clock)
    touched: float = field(default_factory=monotonic)
    # when a session that wants the job was last known to be connected (monotonic clock)
    wanted: float = field(default_factory=monotonic)
    held_since: float = 0.0  # when the job was last held (monotonic clock)
    waited: float = 0.0  # the seconds for which the job was held before that
    # the speed of the job, from which its remaining time is estimated
    pace: Pace = field(default_factory=Pace)
    picture: Snapshot | None = None
    preview: Mapping[str, Any] | None = None
    # The jobs that the same worker runs after this one, in the same turn; and whether this job
    # waits for such a turn, and not in the queue.
    followers: deque[Job] = field(default_factory=deque)
    follows: bool = False
    # called with (key, recipe, state, message) when the job starts and when it ends
    report: Callable[..., None] = lambda *event: None

    @cached_property
    def kind(self) -> str:
        """Return the recipe's key without seeds and rank.

        Jobs of the same kind should take about the same time.
        """
        seeds = dict.fromkeys((*LEARNING_SEEDS, "data_seed"), 0)
        return with_fields(self.recipe, {"rank": 1}, seeds).key()

    @property
    def over(self) -> bool:
        return self.state not in ("queued", "running")

    def successor(self) -> Job | None:
        """Return the first of the followers that has not ended, which from now on leads the others;
        None if there is none.
        """
        while self.followers:
            job = self.followers.popleft()
            if not job.over:
                job.followers = self.followers
                self.followers = deque()
                job.follows = False
                return job
        return None

    def submitted_by(self, session: str) -> None:
        """Add a session that submits the job, even if it has cancelled the job before."""
        self.sessions.add(session)
        self.withdrawn.discard(session)
        self.wanted = monotonic()

    def watched_by(self, session: str) -> None:
        """Add a session that watches the job, unless it has cancelled the job: its page may still
        watch.
        """
        if session not in self.withdrawn:
            self.sessions.add(session)
            self.wanted = monotonic()

    def cancelled_by(self, session: str) -> None:
        """Remove a session that cancels the job.

        This does not stop the job: `Runner.cancel` does that if no session wants it.
        """
        self.sessions.discard(session)
        self.withdrawn.add(session)

    def begin(self) -> None:
        """Set the job to running, and remove the progress of an earlier attempt."""
        self.state = "running"
        self.started = monotonic()
        self.progress = None
        self.points = {}
        self.held = False
        self.waited = 0.0
        self.pace = Pace()
        self.picture = self.preview = None
        self.report(self.key, self.recipe, self.state)

    def note(self, message: Mapping[str, Any]) -> bool:
        """Record a worker's progress message, unless the job has ended in the meantime.

        Returns whether `held` has changed.
        """
        if self.over:
            return False
        self.progress = Progress(*message["progress"])
        for stage, step, loss, measure in message["losses"]:
            self.points.setdefault(stage, Points(measure)).add(step, loss)
        now = monotonic()
        held = bool(message.get("held"))
        if self.held:
            self.waited += now - self.held_since
        changed = held != self.held
        self.held = held
        self.held_since = now
        if self.progress.loss is not None:
            self.pace.note(self.progress.stage, self.progress.step, self.progress.total, now, held)
        if message.get("picture"):
            self.picture = message["picture"]
        self.preview = message.get("preview") or self.preview
        return changed

    def end(self, state: str, message: str | None = None) -> None:
        """End the job in the given state; does nothing if it has already ended."""
        if not self.over:
            self.seconds = self.seconds_worked
            self.state = state
            self.message = message
            self.progress = None
            self.paused = self.held = False
            self.preview = None
            self.report(self.key, self.recipe, state, message)

    @property
    def seconds_worked(self) -> float:
        """Return the seconds since the job started, without pauses."""
        if self.state != "running":
            return self.seconds
        now = monotonic()
        return now - self.started - self.waited - (now - self.held_since if self.held else 0.0)

    @property
    def overtime(self) -> str | None:
        """Return a message for the user if a running job has used up its time and must be stopped;
        otherwise None.
        """
        allowed = limits.most("training_seconds")
        worked = self.seconds_worked
        if self.state != "running" or worked < allowed:
            return None
        return (
            f"Stopped: the run has taken {worked:,.0f} seconds, and at most {allowed:,} are "
            "allowed here. "
            "Try fewer epochs, fewer strings or a smaller basis."
        )

    def status(
        self, position: int | None, num_queued: int, seconds_until_start: float | None = None
    ) -> JobStatus:
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
            seconds_left=self.pace.seconds_left(monotonic())
            if self.state == "running"
            else seconds_until_start,
            picture=self.picture,
            preview=self.preview,
        )
