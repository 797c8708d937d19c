"""The history in PostgreSQL: what is tested of it in SQLite, and a server that goes away.

NLWFA_TEST_POSTGRES is the address of a server on which its role may make databases, as
postgresql+psycopg://ada:secret@127.0.0.1/postgres; each test makes one of its own, and drops it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import pytest
import sqlalchemy as sa

from nlwfa_core.errors import RecipeError
from nlwfa_core.history import database
from nlwfa_core.history.classes import Classes
from nlwfa_core.history.database import FILE, VARIABLE, connect, describe
from nlwfa_core.history.listing import Query, choices, get_runs, list_runs
from nlwfa_core.history.owners import OwnList
from nlwfa_core.history.recorder import Recorder
from nlwfa_core.history.runs import Event, History, Run
from tests.core.history import test_classes as of_classes
from tests.core.history import test_history as usual
from tests.core.history.test_listing import ROWS
from tests.core.small import all_runs, recipe_of, run_of, states
from tests.waiting import PATIENCE_SECONDS, wait_for

SERVER = os.environ.get("NLWFA_TEST_POSTGRES", "")

# Collected here anew, with this module's fixtures.
test_a_clock_that_is_ahead_takes_no_deleted_run = (
    usual.test_a_clock_that_is_ahead_takes_no_deleted_run
)
test_a_deleted_run_that_is_asked_for_again_is_back = (
    usual.test_a_deleted_run_that_is_asked_for_again_is_back
)
test_a_runner_writes_what_becomes_of_runs = usual.test_a_runner_writes_what_becomes_of_runs
test_delete_and_undo = usual.test_delete_and_undo
test_eight_processes_write_and_one_is_killed = usual.test_eight_processes_write_and_one_is_killed
test_numbers_that_are_not_finite_come_back_as_words = (
    usual.test_numbers_that_are_not_finite_come_back_as_words
)
test_rows_are_made_from_folders_that_are_whole = (
    usual.test_rows_are_made_from_folders_that_are_whole
)
test_threads_that_start_at_once_make_one_database = (
    usual.test_threads_that_start_at_once_make_one_database
)
test_what_a_killed_server_has_left_is_marked_and_can_be_run_again = (
    usual.test_what_a_killed_server_has_left_is_marked_and_can_be_run_again
)
test_what_people_give_a_run_stays_when_it_is_run_again = (
    usual.test_what_people_give_a_run_stays_when_it_is_run_again
)
# Sessions of a class.
test_answers_are_recorded_once_and_in_full = of_classes.test_answers_are_recorded_once_and_in_full
test_closed_deleted_and_forgotten = of_classes.test_closed_deleted_and_forgotten
test_hand_ins_and_leaving = of_classes.test_hand_ins_and_leaving
test_limits_are_named = of_classes.test_limits_are_named
test_thirty_members_answer_at_once = of_classes.test_thirty_members_answer_at_once

pytestmark = pytest.mark.skipif(not SERVER, reason="NLWFA_TEST_POSTGRES names no server")


class Place:
    """A database of a test's own, seen from outside."""

    def __init__(self) -> None:
        self._server = sa.create_engine(SERVER, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
        self.name = f"nlwfa_{secrets.token_hex(8)}"
        self.url = self._server.url.set(database=self.name)
        self.asks(f"CREATE DATABASE {self.name}")

    def asks(self, statement: str) -> None:
        with self._server.connect() as connection:
            connection.exec_driver_sql(statement)

    def cut(self) -> None:
        """End all connections to it, as a server does that is started anew."""
        self.asks(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{self.name}'"
        )

    def close(self) -> None:
        self.asks(f"ALTER DATABASE {self.name} ALLOW_CONNECTIONS false")
        self.cut()
        self.asks(f"DROP DATABASE {self.name}")


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    place = Place()
    monkeypatch.setenv(VARIABLE, place.url.render_as_string(hide_password=False))
    yield place
    place.close()


@pytest.fixture
def history(tmp_path: Path, place: Place) -> Iterator[History]:
    history = History.open(tmp_path)
    yield history
    history.close()


@pytest.fixture
def room(history: History) -> Classes:
    return Classes(history.engine)


def test_the_tables_are_those_of_this_version(
    tmp_path: Path, history: History, place: Place
) -> None:
    engine = connect(tmp_path)
    tables = sa.inspect(engine)
    assert {column["name"] for column in tables.get_columns("runs")} == {*Run.__dataclass_fields__}
    assert {index["name"] for index in tables.get_indexes("runs")} >= {
        "ix_runs_shown",
        "ix_runs_state",
        "ix_runs_server",
    }
    assert describe(engine.url) == f"postgresql, {place.name} at {place.url.host}"
    engine.dispose()
    assert not (tmp_path / FILE).exists()
    with history.writing() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '99'")
    with pytest.raises(
        RecipeError, match="revision '99'; .* let NLWFA_DATABASE_URL name an empty database"
    ):
        connect(tmp_path)


def test_it_lists_what_sqlite_lists(
    tmp_path: Path, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE)
    other = History.open(tmp_path)
    for each in (history, other):
        each.note([*ROWS, Run(**{**vars(ROWS[0]), "key": "f" * 64, "deleted": 1.0})])
        OwnList(each, "me").add([run.key for run in ROWS[:9]])
        OwnList(each, "me").tag(ROWS[3].key, ["mine", 'quote " b', "ü"])
        OwnList(each, "me").rename(ROWS[3].key, "RUN of mine")
        with each.writing() as connection:
            # the clock has gone on between the two
            connection.exec_driver_sql("UPDATE owned SET since = 1")
    texts = (
        "",
        "run",
        "RUN 1",
        "rank high",
        "100%",
        "_",
        "%",
        "ü",
        "0000",
        "mine",
        "nothing",
        "\\",
        "'",
    )
    tags = ((), ("a",), ("A", "b"), ('quote " b',), ("ü",), ('x, "a"',))
    orders = (
        ("newest", False),
        ("newest", True),
        ("wer", False),
        ("wer", True),
        ("ndcg5", False),
        ("num_zero", True),
    )
    for text, tag, (order, last), owner in product(texts, tags, orders, (None, "me")):
        query = Query(text, tags=tag, order=order, last=last, owner=owner)
        here = list_runs(history, query, 1, 20)
        there = list_runs(other, query, 1, 20)
        assert ([vars(run) for run in here.runs], here.total) == (
            [vars(run) for run in there.runs],
            there.total,
        ), query
    for owner in (None, "me"):
        assert choices(history, owner) == choices(other, owner)
        keys = [run.key for run in ROWS]
        assert [*map(vars, get_runs(history, keys, owner).values())] == [
            *map(vars, get_runs(other, keys, owner).values())
        ]
    assert [*map(vars, all_runs(history))] == [*map(vars, all_runs(other))]
    other.close()


def test_text_of_any_kind_comes_back(history: History) -> None:
    key = recipe_of().key()
    odd = "'; DROP TABLE runs; -- \\ % \0 \ud800 \U0001f600 عربي"
    history.note([Event(key, recipe_of(), "failed", 1.0, odd)])
    history.rename(key, odd)
    history.tag(key, ["\0", "\\u0000", "\ud83d", "'"])
    row = run_of(history, key)
    wanted = odd.replace("\0", "").replace("\ud800", "?")
    assert row is not None and (row.name, row.message, row.tags) == (
        wanted,
        wanted,
        ["\\u0000", "?", "'"],
    )
    assert list_runs(history, Query(text="DROP", tags=("\\u0000",))).total == 1


def test_many_that_write_the_same_rows_at_once(tmp_path: Path, history: History) -> None:
    """In either order, so that they could wait for each other."""
    recipes = [recipe_of(seed=seed) for seed in range(20)]
    writers = [Recorder(tmp_path) for _ in range(6)]
    for place, writer in enumerate(writers):
        for recipe in recipes if place % 2 else reversed(recipes):
            for state in ("queued", "running", "failed"):
                writer.record(recipe.key(), recipe, state)
    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(lambda writer: writer.close(PATIENCE_SECONDS), writers))
    assert states(tmp_path) == {recipe.key(): "failed" for recipe in recipes}
    with ThreadPoolExecutor(8) as pool:
        list(
            pool.map(
                lambda _: OwnList(history, "me").add(
                    [recipe.key() for recipe in recipes], again=True
                ),
                range(32),
            )
        )
    assert list_runs(history, Query(owner="me")).total == len(recipes)


def test_whoever_reads_after_the_server_was_started_anew_sees_nothing_of_it(
    history: History, place: Place
) -> None:
    history.note(ROWS)
    place.cut()
    assert len(all_runs(history)) == len(ROWS)
    place.cut()
    history.rename(ROWS[0].key, "mine")
    place.cut()
    OwnList(history, "me").add([ROWS[0].key])
    assert [run.name for run in get_runs(history, [ROWS[0].key]).values()] == ["mine"]


def test_a_writer_that_hangs_is_waited_for_no_longer_than_said(
    tmp_path: Path, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 1)
    other = History.open(tmp_path)
    with history.writing():
        with pytest.raises(sa.exc.OperationalError, match="lock timeout"):
            other.note(ROWS)
        assert all_runs(other) == []  # who reads does not wait
    other.note(ROWS)
    assert len(all_runs(history)) == len(ROWS)
    other.close()


def test_what_becomes_of_runs_while_the_server_is_gone_is_written_when_it_is_back(
    tmp_path: Path, place: Place
) -> None:
    writer = Recorder(tmp_path)
    first = recipe_of(seed=1)
    second = recipe_of(seed=2)
    writer.record(first.key(), first, "queued")
    wait_for(lambda: states(tmp_path) == {first.key(): "queued"})
    place.asks(f"ALTER DATABASE {place.name} ALLOW_CONNECTIONS false")
    place.cut()
    writer.record(first.key(), first, "running")
    writer.record(second.key(), second, "queued")
    with pytest.raises(sa.exc.OperationalError):
        connect(tmp_path / "other")
    place.asks(f"ALTER DATABASE {place.name} ALLOW_CONNECTIONS true")
    wait_for(lambda: states(tmp_path) == {first.key(): "running", second.key(): "queued"})
    assert writer.close(PATIENCE_SECONDS)
