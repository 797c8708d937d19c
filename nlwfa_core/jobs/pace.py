"""Estimate the remaining time of a run from its speed so far.

Callers pass the current time, so tests need no clock.
"""

from __future__ import annotations

# A stage has no estimate before it has taken this many seconds and this many steps.
BASIS_SECONDS = 1.0
BASIS_STEPS = 3
# An estimate that grows by less than this share is not changed, because a number that goes up and
# down is of no use to people.
PATIENCE = 0.25
# Estimates of less than a minute are rounded up to one of these numbers of seconds.
STEPS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 75, 90)


class Pace:
    """Measures how fast the current stage of a run advances, pauses not counted, and estimates when
    this stage ends.

    >>> pace = Pace()
    >>> for step in range(11):
    ...     pace.note("factorisation", step, 100, now=0.2 * step)
    >>> round(pace.seconds_left(2.0), 1)
    18.0
    """

    def __init__(self) -> None:
        self.stage = ""
        self.first = self.step = self.total = 0
        self.working = 0.0  # seconds of work between the first step and the newest
        self.newest = 0.0
        self.held = False
        self.end: float | None = None  # when the stage will end, according to the latest estimate

    def note(self, stage: str, step: int, total: int, now: float, held: bool = False) -> None:
        """Record that a stage has done `step` of `total` steps at time `now`, and whether the run
        is held after this step.
        """
        if stage != self.stage:
            self.stage = stage
            self.first = step
            self.working = 0.0
            self.end = None
        elif not self.held:
            self.working += now - self.newest
        else:
            self.end = None
        self.step = step
        self.total = total
        self.newest = now
        self.held = held
        if held or self.step - self.first < BASIS_STEPS or self.working < BASIS_SECONDS:
            return
        left = (total - step) * self.working / (step - self.first)
        if self.end is None or not 0 <= now + left - self.end <= PATIENCE * left:
            self.end = now + left

    def seconds_left(self, now: float) -> float | None:
        """Return the estimated seconds from `now` until the stage ends; None if there is no
        estimate or the run is held.
        """
        return None if self.end is None or self.held else max(self.end - now, 0.0)


def duration(seconds: float) -> str:
    """Write a number of seconds as a rough time, rounded up.

    >>> duration(0.2), duration(11.3), duration(100), duration(6000)
    ('1 s', '12 s', '2 min', '1.7 h')
    """
    if seconds <= STEPS[-1]:
        return f"{next(step for step in STEPS if seconds <= step)} s"
    if seconds <= 5400:
        return f"{int(-(-seconds // 60))} min"
    return f"{-(-seconds // 360) / 10:g} h"
