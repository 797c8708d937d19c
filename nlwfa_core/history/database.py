"""Open the history's database: the lab's own SQLite file, or the database that NLWFA_DATABASE_URL
names.

Source of SQLite's settings: https://sqlite.org/wal.html; of PostgreSQL's lock:
https://www.postgresql.org/docs/current/explicit-locking.html#ADVISORY-LOCKS. With these settings, 8
processes, one of which is killed, lose no acknowledged write, and readers never wait.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import (
    ArgumentError,
    DatabaseError,
    NoSuchModuleError,
    OperationalError,
    SAWarning,
)
from sqlalchemy.exc import TimeoutError as NoFreeConnection

from ..errors import RecipeError
from ..files import make_directory

FILE = "history.sqlite"
VARIABLE = "NLWFA_DATABASE_URL"
BUSY_SECONDS = 30  # how long a writer in the background waits for others
PAGE_SECONDS = 3  # how long a page waits for them
REST_SECONDS = 5.0  # for this long after a page has waited in vain, others do not wait
POOL_SIZE = 40  # threads that may use the database at once
# How often a start that collides with another server's start is retried.
ATTEMPTS = 20
MIGRATIONS = Path(__file__).with_name("migrations")
# Stands in a row for JSON that can't be read: of no type that a row has.
NOT_JSON = object()
ADVISORY = 0x6E6C776661  # "nlwfa": the number of PostgreSQL's lock for writers

log = logging.getLogger(__name__)

_upgrading = Lock()  # alembic keeps state in the process


class DatabaseRemoved(OSError):
    """The database's file was removed or replaced while it was open: nothing written to it would
    last.
    """


def connect(home: Path, busy_seconds: int | None = None) -> sa.Engine:
    """Open the database of a lab's folder and migrate its tables. Any number of processes may do so
    at the same time.

    If the lab's own file is damaged, it is set aside and replaced by a new one: the runs are on
    disk and are added again.

    `busy_seconds`: how long to wait for other writers; by default `BUSY_SECONDS`.

    Raises RecipeError if the folder can't be created, the address is not valid, or the tables have
    a revision that `migrations` does not know. Raises sqlalchemy.exc.DatabaseError if the database
    can't be reached, stays locked for this long, or is not a database.
    """
    patience = BUSY_SECONDS if busy_seconds is None else busy_seconds
    url = os.environ.get(VARIABLE)
    if not url:
        make_directory(home)
        _set_aside_damaged(home / FILE)
    engine = engine_of(url or sa.URL.create("sqlite", database=str(home / FILE)), patience)
    transactions = Transactions(patience)
    if engine.dialect.name == "sqlite":
        sa.event.listen(engine, "connect", transactions.settings)
    sa.event.listen(engine, "begin", transactions.begin)
    sa.event.listen(engine, "commit", transactions.check_file)
    try:
        migrate(engine)
        if not url:
            transactions.watch(home / FILE)
    except BaseException:
        engine.dispose()
        raise
    return engine


def engine_of(url: str | sa.URL, patience: int = BUSY_SECONDS) -> sa.Engine:
    """Make an engine for a database; nothing is opened yet.

    Raises RecipeError if the address is not valid.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", SAWarning)  # a part of the address without meaning
            # The database server may have been restarted since. A damaged row must not hide the
            # others.
            options = {"pool_size": POOL_SIZE, "pool_timeout": patience, "pool_pre_ping": True}
            return sa.create_engine(url, json_deserializer=_json, **options)
    except (
        SAWarning,
        ArgumentError,
        NoSuchModuleError,
        ImportError,
        ValueError,
        TypeError,
    ) as error:
        raise RecipeError(
            f"{VARIABLE} must be the address of a supported database: {error}"
        ) from None


def is_own(engine: sa.Engine, home: Path) -> bool:
    """Return whether a database is the lab's own file, not one that somebody named."""
    return engine.url.database == str(home / FILE)


def reading(engine: sa.Engine) -> sa.Engine:
    """Return the same database for readers, which do not wait for writers."""
    return engine.execution_options(reading=True)


def describe(url: sa.URL) -> str:
    """Describe a database without its user, password and options.

    >>> describe(sa.make_url("postgresql+psycopg://ada:secret@db.example.org/nlwfa?sslkey=file"))
    'postgresql, nlwfa at db.example.org'
    """
    name = Path(url.database or "").name
    return f"{url.get_backend_name()}, {name}{f' at {url.host}' if url.host else ''}".replace(
        "sqlite", "SQLite", 1
    )


@contextmanager
def database_errors_as_sentences() -> Iterator[None]:
    """Turn database errors into a RecipeError with a sentence for people.

    The log has the details.
    """
    try:
        yield
    except DatabaseRemoved as error:
        log.error("%s", error)
        raise RecipeError(
            "The history's database was removed or replaced while the lab was running, so nothing "
            "can be recorded. Please tell the person who runs this server: the file has to be put "
            "back, or the lab restarted."
        ) from None
    except (DatabaseError, NoFreeConnection, OSError) as error:
        log.warning("The history can't be reached: %s", error)
        raise RecipeError(
            "The history can't be reached: its database is busy, full or unavailable. Runs "
            "are still saved; try again."
        ) from None


def _set_aside_damaged(file: Path) -> None:
    try:
        inode = file.stat().st_ino
    except OSError:
        return  # there is none
    if not _is_sound(file) and file.stat().st_ino == inode:  # otherwise another process was quicker
        set_aside(file)


def set_aside(file: Path) -> None:
    """Rename the lab's own database, so a new one is created."""
    inode = file.stat().st_ino
    aside = file.with_name(f"{file.stem}-damaged-{inode}{file.suffix}")
    # the side files of a damaged file must not be used with the new one
    for end in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            Path(f"{file}{end}").replace(f"{aside}{end}")
    log.error(
        "The history was damaged, so a new one was started; names and tags of runs are lost. The "
        "old file is %s.",
        aside,
    )


def _is_sound(file: Path) -> bool:
    """Return whether SQLite can read the whole file and finds the version of its tables."""
    try:
        with closing(sqlite3.connect(file, timeout=BUSY_SECONDS)) as connection:
            connection.text_factory = bytes  # damaged contents may not be text
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
            versions = (
                connection.execute("SELECT * FROM alembic_version").fetchall()
                if b"alembic_version" in tables
                else []
            )
            return connection.execute("PRAGMA quick_check(1)").fetchone() == (b"ok",) and bool(
                versions or b"runs" not in tables
            )
    except sqlite3.OperationalError:
        return True  # locked, or it can't be opened: that says nothing about its contents
    # the second where SQLite quotes damaged text
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        return False


def migrate(engine: sa.Engine) -> None:
    """Make the tables, or bring them up to date; one process does so while others wait.

    Raises RecipeError if they have a revision that `migrations` does not know.
    """
    from alembic import command
    from alembic.config import Config
    from alembic.runtime.migration import MigrationContext
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    scripts = ScriptDirectory.from_config(config)
    newest = set(scripts.get_heads())
    revisions = {script.revision for script in scripts.walk_revisions()}
    started = monotonic()
    for remaining in reversed(range(ATTEMPTS)):
        try:
            # usually there is nothing to do, and nothing to wait for
            with reading(engine).connect() as connection:
                current = set(MigrationContext.configure(connection).get_current_heads())
            if current == newest:
                return
            unknown = current - revisions
            if unknown:
                raise RecipeError(_unknown_revision(engine, min(unknown), sorted(revisions)))
            with _upgrading, engine.begin() as connection:
                config.attributes["connection"] = connection
                command.upgrade(config, "head")
            return
        except OperationalError:
            if not remaining or monotonic() > started + BUSY_SECONDS:
                raise
            sleep(0.1)  # two processes are switching a new file to WAL: SQLite does not wait then


def _unknown_revision(engine: sa.Engine, unknown: str, revisions: list[str]) -> str:
    """Report that the tables have a revision that `migrations` does not know, and what to do."""
    remedy = (
        f"move {FILE} out of the lab's folder, and start the lab again"
        if engine.dialect.name == "sqlite"
        else f"let {VARIABLE} name an empty database"
    )
    return (
        f"The history ({describe(engine.url)}) has tables of revision {unknown!r}; this version of "
        f"the lab reads revision {', '.join(revisions)}. To begin a new history, {remedy}. The "
        "tables are not changed, and runs are still saved."
    )


def _json(text: str) -> Any:
    """Read a column's JSON; `NOT_JSON` if it can't be read."""
    try:
        return json.loads(text)
    except ValueError:
        return NOT_JSON


class Transactions:
    """Begins the transactions of one engine, and watches over its database.

    `patience`: seconds to wait for other writers. After a wait has timed out, transactions fail at
    once for a few seconds; otherwise the pages of a whole class would wait, one after the other.
    """

    def __init__(self, patience: int) -> None:
        self._patience = patience
        self._rests_until = 0.0  # on the monotonic clock
        self._file: Path | None = None
        self._identity = (0, 0)

    def watch(self, file: Path) -> None:
        """From now on, let no transaction begin or end after the lab's own file was removed or
        replaced.
        """
        self._file = file
        self._identity = _identity(file)

    def settings(self, connection: Any, _record: object) -> None:
        connection.isolation_level = None  # otherwise the driver begins transactions of its own
        # a damaged text must not hide the others
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        for setting in (
            f"busy_timeout = {self._patience * 1000}",
            "journal_mode = WAL",
            "synchronous = NORMAL",
        ):
            connection.execute(f"PRAGMA {setting}")

    def begin(self, connection: sa.Connection) -> None:
        """Make a writer take the lock at once: if it read before it wrote, it could not wait, or
        would insert a row twice.
        """
        self.check_file(connection)
        writes = not connection.get_execution_options().get("reading")
        if connection.dialect.name == "sqlite":
            if writes:
                self._begin_writing(connection)
            else:
                connection.exec_driver_sql("BEGIN")
        elif connection.dialect.name == "postgresql" and writes:
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{self._patience}s'")
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({ADVISORY})")

    def _begin_writing(self, connection: sa.Connection) -> None:
        if monotonic() < self._rests_until:
            raise OperationalError(
                "BEGIN IMMEDIATE", None, TimeoutError("the database was locked a moment ago")
            )
        started = monotonic()
        try:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        except OperationalError:
            if monotonic() - started >= self._patience > 0:
                self._rests_until = monotonic() + REST_SECONDS
            raise

    def check_file(self, _connection: sa.Connection) -> None:
        """Raise DatabaseRemoved unless the database's file is the one that was opened."""
        if self._file is not None and _identity(self._file) != self._identity:
            raise DatabaseRemoved(
                f"{self._file} was removed or replaced while it was open; put it back, or "
                "restart the lab"
            )


def _identity(file: Path) -> tuple[int, int]:
    """Return a file's device and inode, which identify it; (0, 0) if there is none."""
    try:
        status = file.stat()
    except OSError:
        return 0, 0
    return status.st_dev, status.st_ino
