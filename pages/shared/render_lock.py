"""Draw pages one after another.

Python threads share one processor: if five people click at once and their pages are drawn at the same time, all five wait until the
last one is finished. Drawn one after another, the first page is ready five times sooner. A page that computes for long loses the
lock and continues beside the others.

Measured with thirty sessions for a minute: 95% of the slider's answers came within 0.12 s with the lock and 0.23 s without it:
1.7 and 2.9 times as long as for one person alone (`python -m benchmarks.load`; docs/load.md).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock
from time import monotonic

PATIENCE = 0.15  # seconds: enough to draw some four pages that need no computing
MIN_WAIT = 0.005  # seconds between two checks of a waiting thread that is not the next


class RenderLock:
    """Lets one thread draw at a time, in the order in which they came. A thread that takes too long loses the lock.

    Parameters
    ----------
    patience : float
        Seconds after which a thread loses the lock to the next one.
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._guard = Lock()  # guards the attributes below
        self._queue: deque[Event] = deque()
        self._holder: Event | None = None
        self._expires_at = 0.0

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Wait for the lock, hold it for the block, and release it however the block ends."""
        ticket = Event()
        self._wait(ticket)
        try:
            yield
        finally:
            with self._guard:
                if self._holder is ticket:  # otherwise the thread has already lost the lock
                    self._give(self._queue.popleft() if self._queue else None)

    def _wait(self, ticket: Event) -> None:
        with self._guard:
            if self._holder is None:
                self._give(ticket)
            else:
                self._queue.append(ticket)
        while not ticket.wait(max(MIN_WAIT, self._expires_at - monotonic())):
            with self._guard:
                if not ticket.is_set() and self._queue[0] is ticket and monotonic() >= self._expires_at:
                    self._give(self._queue.popleft())

    def _give(self, ticket: Event | None) -> None:
        self._holder, self._expires_at = ticket, monotonic() + self._patience
        if ticket:
            ticket.set()


render_lock = RenderLock()
