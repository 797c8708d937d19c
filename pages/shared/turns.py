"""Pages are drawn one after the other.

Python draws on one processor at a time: five people who click at once, drawn side by side, all wait for the fifth. In turns, the
first waits for nobody. Who computes for long loses the turn, and goes on beside the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition
from time import monotonic

PATIENCE = 0.15  # seconds: some four pages that need nothing computed


class Turns:
    """Lets one thread go on at a time, but for those that take too long.

    Parameters
    ----------
    patience : float
        Seconds after which a turn is lost to whoever waits.
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._changed = Condition()
        self._holder: object | None = None
        self._lost_at = 0.0

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a turn, hold it for the block, and give it back however the block ends."""
        mine = object()
        with self._changed:
            while self._holder is not None and (left := self._lost_at - monotonic()) > 0:
                self._changed.wait(left)
            self._holder, self._lost_at = mine, monotonic() + self._patience
        try:
            yield
        finally:
            with self._changed:
                if self._holder is mine:  # else it was lost
                    self._holder = None
                    self._changed.notify()


_turns = Turns()
turn = _turns.turn
