"""Draw pages one after another, those of a class's members first.

Python threads share one processor: if five people click at once and their pages are drawn at the
same time, all five wait until the last one is finished. Drawn one after another, the first page is
ready five times sooner. A page that computes for a long time loses the lock and continues alongside
the others. Waiting pages are served by rank (`standing`); so that nobody waits for ever, every
fifth page goes to whoever has waited longest.

In a measurement with thirty sessions for a minute, 95% of the slider's answers came within 0.12 s
with the lock and 0.23 s without it: 1.7 and 2.9 times as long as for one person alone (`python -m
benchmarks.load`; docs/load.md).
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from threading import Event, Lock
from time import monotonic

from pages.shared.standing import MEMBER, STRANGER, Rank

PATIENCE = 0.15  # seconds: enough to draw some four pages that need no computing
MIN_WAIT = 0.005  # seconds between two checks of a waiting thread that is not the next
LONGEST_WAITING = 5  # each fifth page is that of whoever has waited longest


@dataclass(order=True)
class Ticket:
    """A thread that waits or draws."""

    rank: Rank
    number: int
    called: Event = field(default_factory=Event, compare=False)


class RenderLock:
    """Lets one thread draw at a time, by rank and then in the order in which they came. A thread
    that takes too long loses the lock.

    Parameters
    ----------
    patience : float
        Seconds after which a thread loses the lock to the next one.
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._guard = Lock()  # guards the attributes below
        self._numbers = count()
        self._queue: list[Ticket] = []  # sorted
        self._next: Ticket | None = None  # of the queue
        self._num_given = 0
        self._num_strangers = 0
        self._holder: Ticket | None = None
        self._expires_at = 0.0

    @property
    def num_waiting(self) -> int:
        """Return how many threads wait to draw."""
        return len(self._queue)

    @property
    def num_strangers(self) -> int:
        """Return how many threads wait or draw for strangers, with those that have lost the
        lock.
        """
        return self._num_strangers

    @contextmanager
    def hold(self, rank: Rank = (MEMBER, False, 0.0)) -> Iterator[None]:
        """Wait for the lock, hold it for the block, and release it however the block ends."""
        ticket = Ticket(rank, next(self._numbers))
        is_stranger = rank[0] == STRANGER
        with self._guard:
            self._num_strangers += is_stranger
        try:
            self._wait(ticket)
            yield
        finally:
            with self._guard:
                self._num_strangers -= is_stranger
                if self._holder is ticket:  # otherwise the thread has already lost the lock
                    self._give_to_next()

    def _wait(self, ticket: Ticket) -> None:
        with self._guard:
            if self._holder is None:
                self._give(ticket)
            else:
                insort(self._queue, ticket)
                self._choose_next()
        while not ticket.called.wait(max(MIN_WAIT, self._expires_at - monotonic())):
            with self._guard:
                if (
                    not ticket.called.is_set()
                    and self._next is ticket
                    and monotonic() >= self._expires_at
                ):
                    self._give_to_next()

    def _choose_next(self) -> None:
        if not self._queue:
            self._next = None
        elif self._num_given % LONGEST_WAITING == LONGEST_WAITING - 1:
            self._next = min(self._queue, key=lambda ticket: ticket.number)
        else:
            self._next = self._queue[0]

    def _give_to_next(self) -> None:
        if self._next:
            self._queue.remove(self._next)
        self._give(self._next)

    def _give(self, ticket: Ticket | None) -> None:
        self._holder, self._expires_at = ticket, monotonic() + self._patience
        self._num_given += ticket is not None
        self._choose_next()
        if ticket:
            ticket.called.set()


render_lock = RenderLock()
