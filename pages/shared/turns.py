"""Pages are drawn one after the other.

Python draws on one processor at a time: five people who click at once, drawn side by side, all wait for the fifth. In turns, the
first waits for nobody. Who computes for long loses the turn, and goes on beside the others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock
from time import monotonic

PATIENCE = 0.15  # seconds: some four pages that need nothing computed
LEAST_WAIT = 0.005  # seconds: between two looks of who waits but is not the next


class Turns:
    """Lets one thread go on at a time, first come, first served; but who takes too long is not waited for.

    Parameters
    ----------
    patience : float
        Seconds after which a turn is lost to whoever is next.
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._lock = Lock()  # guards all that follows
        self._line: deque[Event] = deque()
        self._holder: Event | None = None
        self._lost_at = 0.0

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a turn, hold it for the block, and give it back however the block ends."""
        mine = Event()
        self._wait(mine)
        try:
            yield
        finally:
            with self._lock:
                if self._holder is mine:  # else it was lost
                    self._give(self._line.popleft() if self._line else None)

    def _wait(self, mine: Event) -> None:
        with self._lock:
            if self._holder is None:
                self._give(mine)
            else:
                self._line.append(mine)
        while not mine.wait(max(LEAST_WAIT, self._lost_at - monotonic())):
            with self._lock:
                if not mine.is_set() and self._line[0] is mine and monotonic() >= self._lost_at:
                    self._give(self._line.popleft())

    def _give(self, who: Event | None) -> None:
        self._holder, self._lost_at = who, monotonic() + self._patience
        if who:
            who.set()


_turns = Turns()
turn = _turns.turn
