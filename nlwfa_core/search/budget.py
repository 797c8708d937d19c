"""Define how much a search for the best model may spend: time, states and threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass

from ..errors import RecipeError, check_at_least, check_fields, check_one_of

# The defaults.
MINUTES = 5.0
MAX_STATES = 240
MOST_THREADS = 2
CLOCKS = {"wall": "wall time", "processor": "processor time, divided by the number of threads"}


@dataclass(frozen=True)
class Budget:
    """The budget of a search.

    Attributes
    ----------
    minutes : float
        Minutes of wall time, or of processor time per thread.
    max_states : int
        The largest number of states of the model or, if it is a mixture, of all its components
        together.
    threads : int
        The number of training runs at the same time; 0 for one per processor, but at most
        MOST_THREADS.
    seed : int
    clock : str
        One of `CLOCKS`. On a machine that does other work at the same time, processor time makes
        results comparable.

    Raises
    ------
    RecipeError
        If a value is out of range.
    """

    minutes: float = MINUTES
    max_states: int = MAX_STATES
    threads: int = 0
    seed: int = 0
    clock: str = "wall"

    def __post_init__(self) -> None:
        check_fields(self)
        if not 0 < self.minutes < float("inf"):
            raise RecipeError(f"minutes must be above 0; got {self.minutes:g}")
        check_one_of("clock", self.clock, CLOCKS)
        check_at_least("max-states", self.max_states, 1)
        check_at_least("threads", self.threads, 0)
        check_at_least("seed", self.seed, 0)

    @property
    def number_of_threads(self) -> int:
        """Return the number of training runs at the same time."""
        if self.threads:
            return self.threads
        processors = (
            len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count() or 1
        )
        return min(MOST_THREADS, processors)


DEFAULT_BUDGET = Budget()


@dataclass(eq=False)
class Clock:
    """States how much time is left."""

    seconds: float
    stop: threading.Event
    now: Callable[[], float]
    started: float
    reserved: float = 0.0
    ended: bool = False  # the search is over, so nothing should go on

    @property
    def spent(self) -> float:
        return self.now() - self.started

    @property
    def left(self) -> float:
        return self.seconds - self.reserved - self.spent

    def is_over(self) -> bool:
        return self.ended or self.stop.is_set() or self.left <= 0
