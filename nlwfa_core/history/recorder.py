"""Record the states of runs in the history, and clean up after servers that have died.

Events occur in the threads of pages, under the runner's lock. A commit takes 1.6 ms, but up to half
a minute while another process has locked the database. So the recorder has a thread that writes
them: nobody waits for the database, and what can't be written is added at the next start, when the
folders on disk are read again.

Each process that records holds a lock on a file of its own in `home/servers`, which the system
releases however the process dies. This distinguishes the runs of a dead server from those of a slow
one.
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

from filelock import BaseFileLock, FileLock, Timeout
from sqlalchemy.exc import DatabaseError, IntegrityError, OperationalError

from ..errors import RecipeError
from ..experiment.recipe import Recipe
from ..files import make_directory
from .classes import Classes
from .database import DatabaseRemoved
from .runs import Event, History, Run, read_run

SERVERS = "servers"
RETRY_SECONDS = 1.0
CLOSE_SECONDS = 5.0
BATCH = 100
# A run that was deleted this long ago can't be restored, and its folder is removed.
KEEP_DELETED_SECONDS = 7 * 24 * 3600

Answer = TypeVar("Answer")

log = logging.getLogger(__name__)


class Recorder:
    """Writes the history for one process. All methods may be called from any thread, and all but
    `close` return at once.

    `home`: the lab's folder; finished runs are in `home/runs/<key>`.

    `server`: the name of this process: while it records, `home/servers` has a file of this name.
    `leaving`: set when the process is about to end: runs cancelled after that count as interrupted.
    """

    def __init__(self, home: Path) -> None:
        self.server = secrets.token_hex(16)
        self.leaving = False
        self._home = home
        self._events: deque[Event] = deque()  # an event leaves when it is written
        self._changed = Condition()  # guards these three
        self._closed = self._given_up = False
        # runs whose rows are not yet those of finished runs; used only by the thread
        self._unfinished: set[str] = set()
        self._thread = Thread(target=self._work, daemon=True)
        self._thread.start()

    def record(self, key: str, recipe: Recipe, state: str, message: str | None = None) -> None:
        """Record a run's new state. If the run is done, the rest of its record is read from its
        folder.
        """
        if self.leaving and state == "cancelled":
            state = "interrupted"
        with self._changed:
            if not self._given_up:
                self._events.append(Event(key, recipe, state, time(), message))
                self._changed.notify_all()

    def close(self, seconds: float = CLOSE_SECONDS) -> bool:
        """Write the remaining events, taking at most this long.

        Returns whether all were written.
        """
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
            self._insist(lambda: self._clean_up(history, presence))
            while batch := self._next():
                self._insist(lambda: self._write(history, batch))
            given_up = False
        except (RecipeError, DatabaseError, OSError) as error:
            log.error("The history is no longer being written; runs are still saved: %s", error)
        finally:
            with self._changed:
                self._given_up = given_up
                self._events.clear()
            if presence is not None:
                presence.close(keep_file=given_up)
            if history is not None:
                history.close()

    def _insist(self, action: Callable[[], Answer]) -> Answer:
        """Retry until the database allows it; once the recorder is closed, raise the database's
        error.
        """
        warned = False
        while True:
            try:
                return action()
            # locked, full, gone; another wrote the same row; the file was removed, and may be put
            # back
            except (OperationalError, IntegrityError, DatabaseRemoved) as error:
                with self._changed:
                    if self._changed.wait_for(lambda: self._closed, RETRY_SECONDS):
                        raise
                if not warned:
                    log.warning(
                        "The history can't be written now; it will be tried again: %s", error
                    )
                warned = True

    def _next(self) -> list[Event]:
        """Wait for the next events to write; None once the recorder is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._events)
            return list(islice(self._events, BATCH))

    def _write(self, history: History, batch: list[Event]) -> None:
        changes: list[Event | Run] = []
        # whatever their rows say now
        self._unfinished |= {event.key for event in batch if event.state != "done"}
        for event in batch:
            if event.state != "done":
                changes.append(replace(event, server=self.server))
            elif (event.key in self._unfinished or not history.has(event.key)) and (
                run := read_run(self._home / "runs" / event.key)
            ):
                changes.append(run)
        if changes:
            history.note(changes)
        self._unfinished -= {event.key for event in batch if event.state == "done"}
        with self._changed:
            for _ in batch:
                self._events.popleft()

    def _clean_up(self, history: History, presence: Presence) -> None:
        """Mark the runs of servers that have died, add missing rows, and remove runs that were
        deleted long ago.
        """
        servers = presence.stopped_servers()
        for key in history.interrupt(servers):
            # see `files.write_atomically`
            for unfinished in (self._home / "runs" / key).glob(".*"):
                unfinished.unlink(missing_ok=True)
        presence.forget(servers)
        history.rebuild(self._home / "runs")
        for key in history.deleted_for(KEEP_DELETED_SECONDS):
            with suppress(FileNotFoundError):
                shutil.rmtree(self._home / "runs" / key)
            history.forget(key)
        Classes(history.engine).forget_old()


class Presence:
    """Shows other servers on the same folder that this process is alive, until it closes or dies.

    A server's file is locked for as long as the server lives. `.guard` is locked while a file is
    made or looked at, so nobody sees a file before it is locked.

    `home`: the lab's folder. `name`: the server's name, and its file's.
    """

    def __init__(self, home: Path, name: str) -> None:
        self.name = name
        self._folder = home / SERVERS
        make_directory(self._folder)
        self._lock = FileLock(self._folder / name, thread_local=False)
        with self._guard():
            self._lock.acquire(blocking=False)

    def stopped_servers(self) -> tuple[str, ...]:
        """Servers that have died.

        Their files stay until `forget`, so a crash in between loses none.
        """
        with self._guard():
            return tuple(
                path.name
                for path in self._folder.iterdir()
                if not path.name.startswith(".") and self._has_stopped(path)
            )

    def forget(self, servers: tuple[str, ...]) -> None:
        for name in servers:
            (self._folder / name).unlink(missing_ok=True)

    def close(self, keep_file: bool = False) -> None:
        """Remove the file, or leave it unlocked, so the next server cleans up.

        Raises nothing.
        """
        with suppress(OSError):
            self._lock.release()
        if not keep_file:
            with suppress(OSError):
                (self._folder / self.name).unlink(missing_ok=True)

    def _guard(self) -> BaseFileLock:
        return FileLock(self._folder / ".guard")

    def _has_stopped(self, path: Path) -> bool:
        if path.name == self.name:
            return False
        try:
            with FileLock(path, blocking=False):
                return True
        except (Timeout, OSError):
            return False
