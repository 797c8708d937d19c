"""Databases that refuse: one sentence for people; passwords are in no description."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from nlwfa_core.errors import RecipeError
from nlwfa_core.history import database
from nlwfa_core.history.classes import Classes
from nlwfa_core.history.database import (
    FILE,
    REST_SECONDS,
    DatabaseRemoved,
    connect,
    database_errors_as_sentences,
    describe,
    is_own,
)
from nlwfa_core.history.runs import History


def test_what_a_database_refuses_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with (
        pytest.raises(RecipeError, match="can't be reached: its database"),
        database_errors_as_sentences(),
    ):
        connect(tmp_path)
    with pytest.raises(RecipeError, match="try again"), database_errors_as_sentences():
        raise OperationalError("SELECT secret", None, Exception("locked"))
    # what is nobody's fault out there is not hidden
    with pytest.raises(ZeroDivisionError), database_errors_as_sentences():
        1 / 0  # noqa: B018


def test_a_description_names_the_database_without_who_and_how(tmp_path: Path) -> None:
    engine = connect(tmp_path)
    assert describe(engine.url) == "SQLite, history.sqlite"
    engine.dispose()
    address = "postgresql://ada:hunter2@db.example.org:5432/nlwfa?sslkey=key"
    assert describe(sa.make_url(address)) == "postgresql, nlwfa at db.example.org"


def test_a_database_of_another_folder_is_not_the_labs_own(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("a", "b")]
    for folder in folders:
        folder.mkdir()
    for engine, own in zip(map(connect, folders), folders, strict=True):
        assert [is_own(engine, folder) for folder in folders] == [
            folder == own for folder in folders
        ]
        engine.dispose()


def test_nothing_is_acknowledged_into_a_file_that_was_removed(tmp_path: Path) -> None:
    history = History.open(tmp_path)
    room = Classes(history.engine)
    code = room.open(lambda code: "t" * 64)
    files = [tmp_path / f"{FILE}{end}" for end in ("", "-wal", "-shm")]
    acts: list[Callable[[], object]] = [
        lambda: room.join(code, "a" * 64),
        lambda: room.read(code, "t" * 64),
        lambda: room.is_open(code),
        lambda: history.rename("0" * 64, "x"),
        lambda: history.has("0" * 64),
    ]

    def refused() -> None:
        for act in acts:
            with (
                pytest.raises(RecipeError, match="was removed or replaced"),
                database_errors_as_sentences(),
            ):
                act()

    aside = tmp_path / "aside"
    aside.mkdir()
    for file in files:
        file.rename(aside / file.name)
    refused()
    files[0].write_bytes(b"")  # another file of this name
    refused()
    files[0].unlink()
    connect(tmp_path).dispose()  # another process begins a new history
    refused()
    for file in files:
        file.unlink(missing_ok=True)
        (aside / file.name).rename(file)
    room.join(code, "a" * 64)  # put back
    assert len(room.read(code, "t" * 64).members) == 1
    with pytest.raises(DatabaseRemoved, match="put it back, or restart the lab"), history.writing():
        for file in files:
            file.unlink()  # between the beginning and the end
    history.close()


def test_a_page_waits_once_and_not_for_long_for_a_locked_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = History.open(tmp_path, busy_seconds=1)
    room = Classes(history.engine)
    code = room.open(lambda code: "t" * 64)
    waits: list[float] = []
    original = sa.Connection.exec_driver_sql

    def counted(connection: sa.Connection, statement: str, *arguments: Any) -> Any:
        if statement == "BEGIN IMMEDIATE":
            waits.append(1.0)
        return original(connection, statement, *arguments)

    monkeypatch.setattr(sa.Connection, "exec_driver_sql", counted)
    with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        for member in "abcde":  # a whole class
            with (
                pytest.raises(RecipeError, match="busy, full or unavailable"),
                database_errors_as_sentences(),
            ):
                room.join(code, member * 64)
        assert len(waits) == 1 and room.is_open(code)  # readers do not wait
        other.execute("COMMIT")
    monkeypatch.setattr(database, "monotonic", lambda: monotonic() + REST_SECONDS)
    room.join(code, "a" * 64)
    history.close()
