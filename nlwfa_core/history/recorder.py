"""Writes what becomes of runs into the history, in a thread of its own: nobody waits for a database, and a locked or full one
loses no finished run, for the folders on disk are read again at the next start.
"""

from __future__ import annotations

import logging
import secrets
import shutil
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from threading import Condition, Thread
from time import time
from typing import TypeVar

from sqlalchemy.exc import DatabaseError, IntegrityError, OperationalError

from ..errors import RecipeError
from ..experiment.recipe import Recipe
from .presence import Presence
from .runs import Event, History, Run, read_run

RETRY_SECONDS = 1.0
CLOSE_SECONDS = 5.0
BATCH = 100
# What was deleted so long ago can't be brought back, and its folder goes.
KEEP_DELETED_SECONDS = 7 * 24 * 3600

Answer = TypeVar("Answer")

log = logging.getLogger(__name__)


class Recorder:
    """The history's writer in a process. All methods may be called from any thread, and return at once, but for `close`.

    Parameters
    ----------
    home : Path
        The lab's folder; finished runs are in `home/runs/<key>`.

    Attributes
    ----------
    server : str
        The name of this process: while it records, `home/servers` has a file of this name.
    leaving : bool
        Set when the process is about to end: what is cancelled then, nobody has cancelled.
    """

    def __init__(self, home: Path) -> None:
        self.server = secrets.token_hex(16)
        self.leaving = False
        self._home = home
        self._events: deque[Event] = deque()  # one leaves when it is written
        self._changed = Condition()  # guards these three
        self._closed = self._given_up = False
        self._begun: set[str] = set()  # runs that are written as not done; the thread's own
        self._thread = Thread(target=self._work, daemon=True)
        self._thread.start()

    def tell(self, key: str, recipe: Recipe, state: str, message: str | None = None) -> None:
        """Something became of a run. Of what is done, the folder is read."""
        if self.leaving and state == "cancelled":
            state = "interrupted"
        with self._changed:
            if not self._given_up:
                self._events.append(Event(key, recipe, state, time(), message))
                self._changed.notify_all()

    def close(self, seconds: float = CLOSE_SECONDS) -> bool:
        """Write what is left, for so long at most. Whether all was written."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join(seconds)
        with self._changed:
            return not self._events and not self._given_up

    def _work(self) -> None:
        history = presence = None
        given_up = True
        try:
            history = self._insist(lambda: History.open(self._home))
            presence = Presence(self._home, self.server)
            self._insist(lambda: self._tidy(history, presence))
            while batch := self._next():
                self._insist(lambda: self._write(history, batch))
            given_up = False
        except (RecipeError, DatabaseError, OSError) as error:
            log.error("The history is no longer written, runs are still kept: %s", error)
        finally:
            with self._changed:
                self._given_up = given_up
                self._events.clear()
            if presence is not None:
                presence.close(dead=given_up)
            if history is not None:
                history.close()

    def _insist(self, action: Callable[[], Answer]) -> Answer:
        """Try until the database lets us, or the recorder is closed; then its error is raised."""
        told = False
        while True:
            try:
                return action()
            except (OperationalError, IntegrityError) as error:  # locked, full, gone; or another process wrote the same row
                with self._changed:
                    if self._changed.wait_for(lambda: self._closed, RETRY_SECONDS):
                        raise
                if not told:
                    log.warning("The history can't be written, and waits: %s", error)
                told = True

    def _next(self) -> list[Event]:
        """What happened since; waits for something. Nothing: it is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._events)
            return list(islice(self._events, BATCH))

    def _write(self, history: History, batch: list[Event]) -> None:
        found: list[Event | Run] = []
        self._begun |= {event.key for event in batch if event.state != "done"}  # whatever their rows say now
        for event in batch:
            if event.state != "done":
                found.append(replace(event, server=self.server))
            elif (event.key in self._begun or not history.has(event.key)) and (run := read_run(self._home / "runs" / event.key)):
                found.append(run)
        if found:
            history.note(found)
        self._begun -= {event.key for event in batch if event.state == "done"}
        with self._changed:
            for _ in batch:
                self._events.popleft()

    def _tidy(self, history: History, presence: Presence) -> None:
        """What other servers have left behind."""
        dead = presence.take_dead()
        for key in history.interrupt(dead):
            for unfinished in (self._home / "runs" / key).glob(".*"):  # see `files.write_atomically`
                unfinished.unlink(missing_ok=True)
        presence.bury(dead)
        history.rebuild(self._home / "runs")
        for key in history.deleted_for(KEEP_DELETED_SECONDS):
            with suppress(FileNotFoundError):
                shutil.rmtree(self._home / "runs" / key)
            history.forget(key)
