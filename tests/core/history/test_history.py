"""The history: what is written of runs, and what is left of it when processes are killed and
databases refuse.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import time

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy.exc import DatabaseError, OperationalError

from nlwfa_core.display import run_tables as lab_history
from nlwfa_core.errors import RecipeError
from nlwfa_core.experiment.pipeline import run
from nlwfa_core.experiment.recipe import DataRecipe, Recipe
from nlwfa_core.experiment.results import save_result
from nlwfa_core.history import recorder
from nlwfa_core.history.database import FILE, connect
from nlwfa_core.history.listing import Query, choices, get_runs, list_runs
from nlwfa_core.history.recorder import Presence, Recorder
from nlwfa_core.history.runs import SOUND, Event, History, Run, run_of_result
from nlwfa_core.jobs.runner import Runner
from nlwfa_core.metrics.diagnostics import diagnostics
from tests.core.small import all_runs, posix, recipe_of, run_of, servers, states
from tests.waiting import PATIENCE_SECONDS, wait_for

pytestmark = pytest.mark.usefixtures("forked_workers")


def save(home: Path, recipe: Recipe) -> str:
    """A finished run on disk."""
    save_result(home / "runs" / recipe.key(), run(recipe))
    return recipe.key()


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History.open(tmp_path)


def test_the_history_is_a_data_frame(tmp_path: Path, history: History) -> None:
    assert len(history.to_frame()) == 0
    recipe = recipe_of()
    result = run(recipe)
    history.note([run_of_result(recipe.key(), result, time())])
    frame = history.to_frame()
    assert list(frame.index) == [recipe.key()] and frame["learner"].tolist() == ["SP"]
    assert frame["wer"].tolist() == [result.scores.wer] and frame["seconds"].iloc[
        0
    ] == pytest.approx(sum(result.seconds.values()))
    history.delete([recipe.key()])
    assert len(history.to_frame()) == 0


def test_a_runner_writes_what_becomes_of_runs(tmp_path: Path) -> None:
    runner = Runner(tmp_path, num_workers=1)
    good = recipe_of("both.non")
    bad = recipe_of().changed(data=DataRecipe(source="upload"))
    endless = recipe_of("fac.non", epochs=100_000)
    for recipe in (good, bad, endless):
        runner.submit(recipe, "me")
    wait_for(lambda: (job := runner.status(endless.key())) and job.state == "running")
    runner.cancel(endless.key(), "me")
    wait_for(lambda: (job := runner.status(endless.key())) and job.state == "cancelled")
    result = runner.result(good.key())
    waits = recipe_of("fac.non", seed=1, epochs=100_000)
    runner.submit(waits, "me")
    runner.close()

    assert states(tmp_path) == {
        good.key(): "done",
        bad.key(): "failed",
        endless.key(): "cancelled",
        waits.key(): "interrupted",
    }
    history = History.open(tmp_path)
    row = run_of(history, good.key())
    assert row is not None and row.read_recipe() == good and row.version
    assert row.scores is not None and row.scores["wer"] == result.scores.wer
    assert row.seconds == result.seconds and row.sentences == list(result.notes)
    health = diagnostics(result.model, result.scores, result.report)
    assert row.diagnostics is not None and row.diagnostics["short_mass"] == health.short_mass
    assert row.curves is not None
    assert row.curves["factorisation"]["losses"] == result.report.logs[0].losses.tolist()
    assert (
        row.ended is not None
        and row.started is not None
        and row.submitted <= row.started <= row.ended
    )
    failed = run_of(history, bad.key())
    assert failed is not None and "There are no strings yet" in str(failed.message)
    history.close()


SERVER = """
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep
from nlwfa_core.jobs.runner import Runner
from nlwfa_core.experiment.recipe import Recipe

runner = Runner(Path(sys.argv[1]), num_workers=1)
for text in sys.argv[2:]:
    runner.submit(Recipe.from_json(text), "me")
sleep(600)
"""


@posix
def test_what_a_killed_server_has_left_is_marked_and_can_be_run_again(tmp_path: Path) -> None:
    first = recipe_of()
    endless = recipe_of("fac.non", epochs=100_000)
    waits = recipe_of(seed=1)
    order = [recipe.to_json() for recipe in (first, endless, waits)]
    server = subprocess.Popen([sys.executable, "-c", SERVER, str(tmp_path), *order])
    expected = {first.key(): "done", endless.key(): "running", waits.key(): "queued"}
    wait_for(lambda: states(tmp_path) == expected)
    other = Recorder(tmp_path)  # a second server: the first one's runs are the first one's
    assert other.close(PATIENCE_SECONDS) and states(tmp_path) == expected
    server.kill()
    server.wait()

    runner = Runner(tmp_path, num_workers=1)
    wait_for(lambda: set(states(tmp_path).values()) == {"done", "interrupted"})
    runner.submit(waits, "me")
    wait_for(lambda: states(tmp_path)[waits.key()] == "done")
    assert states(tmp_path) == {
        first.key(): "done",
        endless.key(): "interrupted",
        waits.key(): "done",
    }
    runner.close()
    assert servers(tmp_path) == []


@pytest.mark.slow
def test_a_locked_database_holds_up_nobody_and_loses_nothing(
    tmp_path: Path, history: History
) -> None:
    history.close()
    lock = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    runner = Runner(tmp_path, num_workers=1)
    key = runner.submit(recipe_of(), "me")
    wait_for(lambda: (job := runner.status(key)) and job.state == "done")
    assert states(tmp_path) == {}  # who reads does not wait
    lock.execute("ROLLBACK")
    lock.close()
    wait_for(lambda: states(tmp_path) == {key: "done"})
    runner.close()


def test_a_run_that_is_found_on_disk_before_its_events_are_written_is_done(
    tmp_path: Path, history: History
) -> None:
    lock = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    writer = Recorder(tmp_path)
    key = save(tmp_path, recipe_of())
    for state in ("queued", "running", "done"):
        writer.record(key, recipe_of(), state)
    lock.execute("ROLLBACK")
    lock.close()
    assert writer.close(PATIENCE_SECONDS) and states(tmp_path) == {key: "done"}


def test_a_history_that_can_not_be_written_is_told_of_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(recorder, "RETRY_SECONDS", 0.01)
    tries = iter([True, True, True, False])

    def write() -> str:
        if next(tries):
            raise OperationalError("INSERT", {}, sqlite3.OperationalError("database is locked"))
        return "written"

    writer = Recorder(tmp_path)
    assert writer._insist(write) == "written"
    told = [record.message for record in caplog.records if record.name == recorder.__name__]
    assert len(told) == 1 and "database is locked" in told[0]
    assert writer.close(PATIENCE_SECONDS)


def test_what_could_not_be_written_is_found_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / FILE).mkdir()
    runner = Runner(tmp_path, num_workers=1)
    key = runner.submit(recipe_of(), "me")
    wait_for(lambda: (job := runner.status(key)) and job.state == "done")
    runner.close()
    with pytest.raises(DatabaseError):
        connect(tmp_path)
    (tmp_path / FILE).rmdir()
    assert Recorder(tmp_path).close(PATIENCE_SECONDS)
    assert states(tmp_path) == {key: "done"}


def test_rows_are_made_from_folders_that_are_whole(tmp_path: Path, history: History) -> None:
    keys = [save(tmp_path, recipe_of(seed=seed)) for seed in (1, 2)]
    broken = tmp_path / "runs" / ("0" * 64)
    broken.mkdir()
    (broken / "result.json").write_text("{}")
    twisted = tmp_path / "runs" / ("1" * 64)
    shutil.copytree(tmp_path / "runs" / keys[0], twisted)
    record = json.loads((twisted / "result.json").read_text())
    for scores, place in (
        ({"num_words": 0}, twisted),
        ({"num_zero": [1]}, twisted.with_name("2" * 64)),
    ):
        if place != twisted:
            shutil.copytree(twisted, place)
        (place / "result.json").write_text(
            json.dumps(record | {"scores": record["scores"] | scores})
        )
    (tmp_path / "runs" / "notes.txt").write_text("mine")
    # killed between its folder and its row
    history.note([Event(keys[0], recipe_of(seed=1), "interrupted", time())])
    assert history.rebuild(tmp_path / "runs") == 2
    assert history.rebuild(tmp_path / "runs") == 0
    assert states(tmp_path) == dict.fromkeys(keys, "done")
    row = run_of(history, keys[0])
    assert (
        row is not None
        and row.ended == (tmp_path / "runs" / keys[0] / "result.json").stat().st_mtime
    )


def test_tables_of_an_unknown_revision_are_left_alone(tmp_path: Path, history: History) -> None:
    history.close()
    with sqlite3.connect(tmp_path / FILE) as database:
        database.execute("UPDATE alembic_version SET version_num = '99'")
    before = (tmp_path / FILE).read_bytes()
    with pytest.raises(
        RecipeError, match="has tables of revision '99'; .* move history.sqlite out"
    ):
        History.open(tmp_path)
    runner = Runner(tmp_path, num_workers=1)
    key = runner.submit(recipe_of(), "me")
    wait_for(lambda: (job := runner.status(key)) and job.state == "done")
    runner.close()
    with sqlite3.connect(tmp_path / FILE) as database:
        assert database.execute("SELECT count(*) FROM runs").fetchone() == (0,)
    assert len((tmp_path / FILE).read_bytes()) == len(before)


@pytest.mark.parametrize("state", ["queued", "running", "cancelled", "failed", "interrupted"])
def test_only_a_run_that_is_done_is_there(history: History, state: str) -> None:
    recipe = recipe_of()
    history.note([Event(recipe.key(), recipe, state, 1.0)])
    assert not history.has(recipe.key())
    history.note([run_of_result(recipe.key(), run(recipe), 2.0)])
    assert history.has(recipe.key())


def test_what_people_give_a_run_stays_when_it_is_run_again(
    tmp_path: Path, history: History
) -> None:
    key = recipe_of().key()
    recipe = recipe_of()
    history.note([Event(key, recipe, "queued", 1.0)])
    history.rename(key, "<b>best</b>\0 \ud800")
    history.tag(key, ["class", "class", " a ", ""])
    history.note([run_of_result(key, run(recipe), 2.0)])
    row = run_of(history, key)
    assert row is not None
    assert (row.name, row.tags) == ("<b>best</b> ?", ["class", "a"])
    assert (row.submitted, row.ended, row.state) == (1.0, 2.0, "done")
    for refused in (lambda: history.rename(key, "x" * 201), lambda: history.tag(key, ["x" * 41])):
        with pytest.raises(RecipeError, match="at most"):
            refused()


def test_delete_and_undo(tmp_path: Path, history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (save(tmp_path, recipe_of(seed=seed)) for seed in (1, 2))
    history.rebuild(tmp_path / "runs")
    history.delete([first, second])
    assert all_runs(history) == [] and {run.key for run in all_runs(history, deleted=True)} == {
        first,
        second,
    }
    assert history.rebuild(tmp_path / "runs") == 0  # deleted is deleted
    history.restore([first])
    assert list(states(tmp_path)) == [first] and (tmp_path / "runs" / second).exists()
    assert Recorder(tmp_path).close(PATIENCE_SECONDS) and (tmp_path / "runs" / second).exists()
    monkeypatch.setattr(recorder, "KEEP_DELETED_SECONDS", -1)
    assert Recorder(tmp_path).close(PATIENCE_SECONDS)
    assert not (tmp_path / "runs" / second).exists() and all_runs(history, deleted=True) == []
    assert (
        list(states(tmp_path)) == [first] and (tmp_path / "runs" / first / "result.json").exists()
    )


def test_a_clock_that_is_ahead_takes_no_deleted_run(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    week = 7 * 24 * 3600
    now = time()
    assert week == recorder.KEEP_DELETED_SECONDS
    old = "0" * 64
    late = "1" * 64
    history.note([Event(key, recipe_of(), "queued", now - 3 * week) for key in (old, late)])
    for key, moment in ((old, now - 2 * week), (late, now)):
        monkeypatch.setattr("nlwfa_core.history.runs.time", lambda moment=moment: moment)
        history.delete([key])
    assert history.deleted_for(week) == [old]
    monkeypatch.setattr("nlwfa_core.history.runs.time", lambda: now + 365 * 24 * 3600)
    assert history.deleted_for(week) == [old]
    history.note([Event("2" * 64, recipe_of(), "queued", now + 2 * week)])  # time has gone by
    assert sorted(history.deleted_for(week)) == [old, late]
    monkeypatch.setattr("nlwfa_core.history.runs.time", lambda: 0.0)
    assert history.deleted_for(week) == []


def test_a_deleted_run_that_is_asked_for_again_is_back(tmp_path: Path, history: History) -> None:
    key = save(tmp_path, recipe_of())
    history.rebuild(tmp_path / "runs")
    history.rename(key, "mine")
    history.delete([key])
    runner = Runner(tmp_path, num_workers=1)
    runner.submit(recipe_of(), "me")
    runner.close()
    assert [(row.state, row.name) for row in all_runs(history)] == [("done", "mine")]


def test_numbers_that_are_not_finite_come_back_as_words(history: History) -> None:
    recipe = recipe_of()
    result = run(recipe)
    row = run_of_result(recipe.key(), result, 1.0)
    history.note([Run(**{**vars(row), "scores": {"log2_pauto": "inf"}})])
    found = run_of(history, recipe.key())
    assert found is not None and found.scores == {"log2_pauto": "inf"}


def test_sqlite_is_set_up_for_many_processes(tmp_path: Path) -> None:
    engine = connect(tmp_path)
    with engine.connect() as connection:
        settings = [
            connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "busy_timeout")
        ]
    assert settings == ["wal", 1, 30_000]
    assert {column["name"] for column in sa.inspect(engine).get_columns("runs")} == {
        *Run.__dataclass_fields__
    }
    engine.dispose()


def test_threads_that_start_at_once_make_one_database(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(states, [tmp_path] * 16)) == [{}] * 16


def test_an_address_that_is_none_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for address in ("nonsense", "nosuch://host/name"):
        monkeypatch.setenv("NLWFA_DATABASE_URL", address)
        with pytest.raises(RecipeError, match="NLWFA_DATABASE_URL"):
            connect(tmp_path)
    monkeypatch.setenv("NLWFA_DATABASE_URL", f"sqlite:///{tmp_path / 'other.db'}")
    History.open(tmp_path).close()
    assert (tmp_path / "other.db").exists() and not (tmp_path / FILE).exists()


def test_servers_are_alive_until_they_die(tmp_path: Path) -> None:
    mine = Presence(tmp_path, "mine")
    other = Presence(tmp_path, "other")
    assert mine.stopped_servers() == other.stopped_servers() == ()
    program = "import sys, pathlib; from nlwfa_core.history.recorder import Presence\n"
    program += (
        "presence = Presence(pathlib.Path(sys.argv[1]), 'third'); print(flush=True); "
        "sys.stdin.read()"
    )
    third = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert third.stdout is not None and third.stdout.readline()
    assert mine.stopped_servers() == other.stopped_servers() == ()
    third.kill()
    third.communicate()
    assert mine.stopped_servers() == other.stopped_servers() == ("third",)
    mine.forget(("third",))
    other.close(keep_file=True)
    assert mine.stopped_servers() == ("other",)
    mine.forget(("other",))
    mine.close()
    assert servers(tmp_path) == []


WRITER = """
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from nlwfa_core.history.runs import Event, History
from nlwfa_core.experiment.recipe import Recipe

history = History.open(Path(sys.argv[1]))
for number in range(int(sys.argv[3])):
    key = f"{int(sys.argv[2]):032x}{number:032x}"
    history.note([Event(key, Recipe(), "failed", 1.0)])
    print(key, flush=True)
"""


@posix
@pytest.mark.slow
def test_eight_processes_write_and_one_is_killed(tmp_path: Path) -> None:
    """All start at once on a folder without a database; nothing that was acknowledged is lost."""
    count = int(os.environ.get("NLWFA_COMMITS", "60"))
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    writers = [
        subprocess.Popen(
            [*command, str(name), str(count)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in range(8)
    ]
    victim = writers[0].stdout
    assert victim is not None
    begun = [victim.readline().strip() for _ in range(10)]
    writers[0].kill()
    told = [writer.communicate() for writer in writers]
    assert [errors for _, errors in told] == [""] * 8
    written = {*begun, *(line for out, _ in told for line in out.splitlines() if len(line) == 64)}
    assert len(written) >= 7 * count + 10
    assert written <= set(states(tmp_path))


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "overwritten": lambda data: b"no database" * 500,
    "cut off": lambda data: data[: len(data) // 2],
    "a page of zeros": lambda data: data[:4096] + bytes(4096) + data[8192:],
    "a header that is none": lambda data: b"?" + data[1:],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_set_aside_and_the_runs_come_back(tmp_path: Path, damage: str) -> None:
    key = save(tmp_path, recipe_of())
    assert Recorder(tmp_path).close(PATIENCE_SECONDS)
    assert states(tmp_path) == {key: "done"}
    file = tmp_path / "history.sqlite"
    damaged = DAMAGES[damage](file.read_bytes())
    file.write_bytes(damaged)
    assert Recorder(tmp_path).close(PATIENCE_SECONDS)
    assert states(tmp_path) == {key: "done"}
    assert [path.read_bytes() for path in tmp_path.glob("history-damaged-*.sqlite")] == [damaged]


def test_a_file_that_is_whole_stays_whoever_opens_it(tmp_path: Path) -> None:
    (tmp_path / "history.sqlite").touch()  # as SQLite makes it, before the first table
    history = History.open(tmp_path)
    with history.writing():  # locked
        assert states(tmp_path) == {}
    history.close()
    assert not list(tmp_path.glob("history-damaged-*"))


DAMAGED_TEXTS = [
    "",
    "{",
    "[]",
    "null",
    "3",
    '"x"',
    '{"wer": "abc"}',
    '{"wer": [1]}',
    '{"epochs": 1}',
    '{"scores": {"a": {}}}',
    "[1, {}]",
]


def look_at(history: History) -> list[Run]:
    """Everything that the History page reads of its runs."""
    orders = [
        Query(),
        *(Query(order=order, last=last) for order in ("wer", "kl") for last in (False, True)),
    ]
    choices(history)
    listings = [list_runs(history, query).runs for query in orders]
    assert len({frozenset(run.key for run in listing) for listing in listings}) == 1
    for listing in listings:
        lab_history.runs_table(listing, "wer")
    searches = [
        list_runs(history, Query("k string", titles=(("a" * 64, "k"),))),
        list_runs(history, Query("no such text")),
    ]
    assert searches[0].total >= len(listings[0]) - 1 and not searches[1].runs
    runs = list(get_runs(history, [run.key for run in listings[0]]).values())
    for row in runs:
        for shown in (
            lab_history.scores_of,
            lab_history.loss_curves,
            lab_history.training_lines,
            lab_history.diagnostics_table,
        ):
            shown(row)
        for text in (
            lab_history.warnings,
            lab_history.notes,
            lab_history.reason,
            lab_history.total_seconds,
        ):
            text(row)
    return runs


@pytest.fixture(scope="module")
def three_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a history with three finished runs."""
    home = tmp_path_factory.mktemp("three")
    for recipe in (recipe_of(), recipe_of("both.non"), recipe_of("fac.non")):
        save(home, recipe)
    assert Recorder(home).close(PATIENCE_SECONDS)
    with sqlite3.connect(home / FILE) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return home / FILE


@pytest.mark.slow
@pytest.mark.parametrize("column", [column for column in SOUND if column != "key"])
def test_a_damaged_value_hides_no_other_run(three_runs: Path, tmp_path: Path, column: str) -> None:
    shutil.copy(three_runs, tmp_path / FILE)
    history = History.open(tmp_path)
    damaged, *others = (run.key for run in look_at(history))
    for text in DAMAGED_TEXTS:
        with history.writing() as connection:
            connection.exec_driver_sql(
                f"UPDATE runs SET {column} = ? WHERE key = ?", (text, damaged)
            )
        runs = {run.key: run for run in look_at(history)}
        assert all(runs[key].scores is not None and runs[key].message is None for key in others)
        assert (damaged in runs) == (column != "deleted")
    history.close()


@pytest.mark.slow
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_flipped_bit_leaves_the_history_readable(
    three_runs: Path, tmp_path: Path, place: float, bit: int
) -> None:
    """The history is read, or set aside. (A bit of the tree of rows may hide one row, or two; the
    next start adds them again.)
    """
    for file in tmp_path.iterdir():
        file.unlink()
    data = bytearray(three_runs.read_bytes())
    data[int(place * len(data))] ^= 1 << bit
    (tmp_path / FILE).write_bytes(data)
    history = History.open(tmp_path)
    runs = look_at(history)
    history.close()
    assert len(runs) >= 1 or list(tmp_path.glob("history-damaged-*.sqlite"))
