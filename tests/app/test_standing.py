"""Who is served first: members before strangers, whatever number of cookies those invent."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Event, Thread
from time import sleep

import pytest

from nlwfa_core import RecipeError, limits
from nlwfa_core.files import FileShelf
from nlwfa_core.jobs.job import Person
from pages.shared import standing as module
from pages.shared import uploads, visitor, visitor_runs
from pages.shared.render_lock import LONGEST_WAITING, RenderLock
from pages.shared.standing import BUSY_PAGES, MEMBER, STRANGER, Rank, Standing, standing


def test_members_come_before_strangers_and_earlier_ones_first() -> None:
    here = Standing()
    here.note_member("ada", "a", 100.0)
    here.note_member("bob", "b", 200.0)
    here.note_member("ada", "another class", 300.0)  # stays as early as before
    browsers = ["fresh", "bob", "ada", ""]
    assert sorted(browsers, key=here.rank)[:2] == ["ada", "bob"]
    assert here.rank("fresh") == here.rank("") == (STRANGER, False, 0.0)
    here.note_member("", "x", 1.0)  # a browser without a cookie
    assert not here.is_member("")
    here.forget_members(["b", "unknown"])
    assert not here.is_member("bob") and here.is_member("ada")


def test_a_browser_that_asks_for_very_many_pages_goes_behind_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr(module, "monotonic", lambda: now[0])
    here = Standing()
    here.note_member("old", "o", 1.0)
    here.note_member("new", "n", 2.0)
    for _ in range(BUSY_PAGES + 1):
        here.note_page("old")
    assert here.note_page("new") < here.rank("old") < here.rank("fresh")
    now[0] += module.BUSY_SECONDS + 1
    assert here.rank("old") < here.rank("new")


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BROWSERS", 10)
    here = Standing()
    for number in range(100):
        here.note_page(f"fresh {number}")
        here.note_member(f"browser {number}", f"member {number}", float(number))
    assert len(here._pages) == len(here._since) == len(here._browsers) == 10 and here.is_member(
        "browser 99"
    )


def test_all_tabs_of_a_browser_are_one_person_in_the_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    owners = {
        "tab 1": visitor.Owner("browser\0ab", "ab", False),
        "tab 2": visitor.Owner("browser\0ab", "ab", False),
        "fresh": visitor.Owner("browser\0cd", "cd", False),
        "signed in": visitor.Owner("user\0ada", "ef", True),
    }
    monkeypatch.setattr(visitor_runs, "_owners", lambda: owners)
    assert (
        visitor_runs._person_of("tab 1")
        == visitor_runs._person_of("tab 2")
        == Person("browser\0ab", is_known=False)
    )
    assert visitor_runs._person_of("fresh") == Person("browser\0cd", is_known=False)
    assert (
        visitor_runs._person_of("signed in").is_known
        and not visitor_runs._person_of("long gone").is_known
    )
    standing.note_member("ab", "a member", 1.0)
    try:
        assert (
            visitor_runs._person_of("tab 1")
            == visitor_runs._person_of("tab 2")
            == Person("browser\0ab", since=1.0)
        )
    finally:
        standing.forget_members(["a member"])


def test_so_many_sessions_are_opened_from_one_address_sessions_in_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [0.0]
    monkeypatch.setattr(module, "monotonic", lambda: clock[0])
    own = Standing()
    assert all(own.may_open("192.0.2.1") for _ in range(module.OPENINGS))
    assert not own.may_open("192.0.2.1") and own.may_open("192.0.2.2")
    clock[0] = module.OPENING_SECONDS + 1
    assert own.may_open("192.0.2.1")


def test_a_browser_stays_a_member_of_its_other_classes() -> None:
    own = Standing()
    own.note_member("ab", "member of X", 2.0)
    own.note_member("ab", "member of Y", 1.0)
    own.forget_members(["member of X"])
    assert own.rank("ab") == (MEMBER, False, 1.0)
    own.forget_members(["member of Y", "nobody"])
    assert own.rank("ab") == (STRANGER, False, 0.0)


def test_members_who_ask_for_pages_are_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BROWSERS", 3)
    own = Standing()
    own.note_member("ab", "a member", 1.0)
    for number in range(10):
        own.note_page("ab")
        own.note_member(f"fresh {number}", f"member {number}", 2.0)
    assert own.is_member("ab") and not own.is_member("fresh 0")


def order_of(ranks: list[Rank]) -> list[Rank]:
    """The order in which threads draw that all wait for one page."""
    lock = RenderLock(60.0)
    order = list[Rank]()
    threads = list[Thread]()
    started = Event()

    def draw(rank: Rank) -> None:
        with lock.hold(rank):
            order.append(rank)

    with lock.hold():
        started.set()
        for number, rank in enumerate(ranks, 1):
            threads.append(Thread(target=draw, args=(rank,)))
            threads[-1].start()
            while lock.num_waiting < number:
                sleep(0.001)
    for thread in threads:
        thread.join(60.0)
    return order


def test_pages_are_drawn_by_rank_and_nobody_waits_for_ever() -> None:
    strangers = [(STRANGER, False, 0.0)] * 10
    members = [(MEMBER, False, float(number)) for number in range(10)]
    order = order_of([*strangers, *reversed(members)])
    first = order[:12]
    assert [rank for rank in first if rank[0] == MEMBER] == sorted(
        rank for rank in first if rank[0] == MEMBER
    )
    assert sum(rank[0] == STRANGER for rank in first) == 12 // LONGEST_WAITING
    assert len(order) == 20


def test_files_of_members_give_way_to_members_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whoever fills the disk as a member of a class of their own does not shut out others."""
    shelf = FileShelf(tmp_path)
    known = [True]
    monkeypatch.setitem(limits.IN_FORCE, "upload_disk_bytes", 100)
    monkeypatch.setattr(uploads.visitor, "is_known", lambda: known[0])
    monkeypatch.setattr(uploads.contents, "uploads", lambda: shelf)
    monkeypatch.setattr(uploads, "_of_runs_and_lessons", set)
    files: dict[str, float] = {}
    monkeypatch.setattr(uploads, "_members_files", lambda: files)
    monkeypatch.setattr(uploads.st, "session_state", {})
    first = uploads.store(b"a" * 45, "a.txt")
    second = uploads.store(b"b" * 45, "b.txt")
    os.utime(tmp_path / first, (1, 1))
    known[0] = False
    with pytest.raises(RecipeError, match="the uploaded files in use must be at most"):
        uploads.store(b"c" * 45, "c.txt")
    known[0] = True
    third = uploads.store(b"c" * 45, "c.txt")
    assert [(tmp_path / name).exists() for name in (first, second, third)] == [False, True, True]
