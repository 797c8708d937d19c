"""Lists of people: nobody's change is anybody else's, and who they are can't be read from the
database.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nlwfa_core.errors import RecipeError
from nlwfa_core.experiment.recipe import Recipe
from nlwfa_core.history import recorder
from nlwfa_core.history.database import FILE
from nlwfa_core.history.listing import Query, list_runs
from nlwfa_core.history.owners import OwnList, pseudonym
from nlwfa_core.history.recorder import Recorder
from nlwfa_core.history.runs import Event, History
from tests.core.small import all_runs
from tests.waiting import PATIENCE_SECONDS

KEYS = [f"{number:064x}" for number in range(3)]


@pytest.fixture
def history(tmp_path: Path) -> History:
    history = History.open(tmp_path)
    history.note([Event(key, Recipe(), "failed", float(place)) for place, key in enumerate(KEYS)])
    return history


def shown(history: History, owner: str) -> set[str]:
    return {run.key for run in list_runs(history, Query(owner=owner)).runs}


def test_who_takes_a_run_out_takes_it_out_of_their_own_list(history: History) -> None:
    me = OwnList(history, "me")
    you = OwnList(history, "you")
    for person in (me, you):
        person.add(KEYS)
        person.add(KEYS)  # twice is once
    me.rename(KEYS[0], "first")
    me.delete(KEYS[:2])
    assert shown(history, "me") == {KEYS[2]} and shown(history, "you") == set(KEYS)
    assert len(all_runs(history)) == 3
    me.add(KEYS[:2])  # it is only looked at
    assert shown(history, "me") == {KEYS[2]}
    me.restore(KEYS[:1])
    assert shown(history, "me") == {KEYS[0], KEYS[2]}
    assert [
        run.name for run in list_runs(history, Query(owner="me")).runs if run.key == KEYS[0]
    ] == ["first"]
    me.add(KEYS, again=True)  # it is started
    assert shown(history, "me") == set(KEYS)


def test_what_the_lab_deletes_is_gone_from_every_list(
    history: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    OwnList(history, "me").add(KEYS)
    history.delete(KEYS[:1])
    assert shown(history, "me") == set(KEYS[1:])
    monkeypatch.setattr(recorder, "KEEP_DELETED_SECONDS", -1)
    assert Recorder(tmp_path).close(PATIENCE_SECONDS)
    with sqlite3.connect(tmp_path / FILE) as database:
        assert {key for (key,) in database.execute("SELECT run FROM owned")} == set(KEYS[1:])


def test_names_and_tags_have_the_historys_limits(history: History) -> None:
    me = OwnList(history, "me")
    me.add(KEYS)
    refused: tuple[Callable[[], None], ...] = (
        lambda: me.rename(KEYS[0], "x" * 201),
        lambda: me.tag(KEYS[0], ["x"] + [str(n) for n in range(20)]),
    )
    for action in refused:
        with pytest.raises(RecipeError, match="at most"):
            action()


def test_many_windows_of_one_person_at_once(history: History) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: OwnList(history, "me").add(KEYS, again=True), range(32)))
    assert shown(history, "me") == set(KEYS)


def test_a_pseudonym_is_the_same_here_and_says_nothing(tmp_path: Path) -> None:
    here = tmp_path / "here"
    there = tmp_path / "there"
    with ThreadPoolExecutor(8) as pool:  # all make the secret at once, and one is kept
        [name] = set(pool.map(lambda _: pseudonym(here, "ada@example.org"), range(32)))
    assert len(name) == 64 and name == pseudonym(here, "ada@example.org")
    assert name != pseudonym(here, "Ada@example.org") and name != pseudonym(
        there, "ada@example.org"
    )
    assert name != hashlib.sha256(b"ada@example.org").hexdigest()
    assert [path.name for path in here.iterdir()] == ["secret"]
    if os.name == "posix":
        assert (here / "secret").stat().st_mode & 0o077 == 0
