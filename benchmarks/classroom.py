"""Measure a class in a session: students answer tasks over websockets, a teacher watches the board,
and the server is killed once.

`python -m benchmarks.classroom --students 30 --minutes 5` prints how many acknowledged answers are
missing in the database afterwards, and the seconds from the board's request to its last message.
The clients use the same cores as the server.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import signal
import tempfile
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

import numpy as np

from nlwfa_core.history.classes import Classes
from nlwfa_core.history.runs import History
from nlwfa_core.teaching.shipped import ASSETS
from nlwfa_core.teaching.tasks.bank import read_bank

from .load.client import Seen, Session
from .load.server import serving

KIND = "weight-two"  # a task with a number
BANK = read_bank(ASSETS / "tasks")
RETRY_SECONDS = 1.0


@dataclass
class Class:
    """What happens in the session.

    Attributes
    ----------
    address, code : str
    acknowledged : set of (int, int)
        Student and task of each answer whose check has come back.
    answer_seconds, board_seconds : list of float
    ends : float
        On the monotonic clock.
    """

    address: str
    code: str = ""
    acknowledged: set[tuple[int, int]] = field(default_factory=set)
    answer_seconds: list[float] = field(default_factory=list)
    board_seconds: list[float] = field(default_factory=list)
    ends: float = 0.0
    seen: Seen = field(default_factory=Seen)
    opened: asyncio.Event = field(default_factory=asyncio.Event)


def cookie() -> str:
    """Return a cookie as Streamlit gives one to each browser, by which the lab knows it again."""
    return f"_streamlit_xsrf=2|{secrets.token_hex(4)}|{secrets.token_hex(16)}|1700000000"


async def teach(room: Class) -> None:
    """Open a session, and watch its board until the end; after the server has died, open it
    again.
    """
    mine = cookie()
    while monotonic() < room.ends:
        try:
            async with Session(
                room.address, room.seen, {"class": room.code} if room.code else {}, mine
            ) as session:
                await session.visit("classroom")
                if not room.code:
                    await session.press("class.open")
                    room.code = session.query["class"]
                    room.opened.set()
                assert "class.reveal" in session.buttons, "this is not the teacher's page"
                session.fragment_seconds = room.board_seconds
                while monotonic() < room.ends and session.watches:
                    await asyncio.sleep(0.2)
        except (OSError, TimeoutError):
            await asyncio.sleep(RETRY_SECONDS)


async def learn(room: Class, number: int, think: float) -> None:
    """Join, and answer one task after the other; an answer that the server has not acknowledged is
    given again.
    """
    rng, mine, task = np.random.default_rng(number), cookie(), 1
    await room.opened.wait()
    await asyncio.sleep(number / 10)
    while monotonic() < room.ends:
        query = {"class": room.code, "tasks": KIND, "task": str(task)}
        try:
            async with Session(room.address, room.seen, query, mine) as session:
                await session.visit("classroom")
                if "class.leave_now" not in session.buttons:
                    await session.submit(
                        "class.join_button", {"class.nickname": f"Student {number}"}
                    )
                session.query["task"] = str(task)
                await session.visit("practice")
                while monotonic() < room.ends:
                    await asyncio.sleep(think * rng.uniform(0.5, 1.5))
                    task = await _answer(room, session, number, task)
        except (OSError, TimeoutError):
            await asyncio.sleep(RETRY_SECONDS)


async def _answer(room: Class, session: Session, student: int, task: int) -> int:
    """Answer a task rightly, unless it has been answered, and go to the next one.

    Returns the number of that.
    """
    name = f"exercise.{KIND.replace('-', '_')}_{task}"
    if f"{name}.check" in session.buttons:
        key = BANK[KIND].task(task).question.key
        assert key is not None
        errors = len(room.seen.errors)
        room.answer_seconds.append(
            await session.submit(f"{name}.check", {f"{name}.entry": key.best})
        )
        if len(room.seen.errors) == errors and f"{name}.check" not in session.buttons:
            room.acknowledged.add((student, task))
    await session.press("practice.next")
    return task + 1


async def run(room: Class, students: int, think: float) -> None:
    await asyncio.gather(teach(room), *(learn(room, number, think) for number in range(students)))


async def whole(home: Path, students: int, minutes: float, think: float) -> tuple[Class, float]:
    """Run the class with a server that is killed in the middle and started again.

    Returns the class and the seconds without one.
    """
    with ExitStack() as servers:
        first = await asyncio.to_thread(servers.enter_context, serving(home))
        room = Class(first.address, ends=monotonic() + 60 * minutes)
        async with AsyncExitStack():
            work = asyncio.create_task(run(room, students, think))
            await asyncio.sleep(30 * minutes)
            os.kill(first.pid, signal.SIGKILL)
            died = monotonic()
            await asyncio.to_thread(servers.enter_context, serving(home, first.port))
            away = monotonic() - died
            await work
    return room, away


def recorded(home: Path, code: str) -> set[tuple[int, int]]:
    """Read the answers in the database: student and task."""
    engine = History.open(home).engine
    with engine.connect() as connection:
        rows = connection.exec_driver_sql(
            "SELECT member, nickname FROM class_members WHERE session = ?", (code,)
        )
        members = {row.member: row.nickname for row in rows}
    room = Classes(engine)
    answers = [answer for member in members for answer in room.answers_of(code, member)]
    return {(int(members[answer.member].split()[1]), answer.seed) for answer in answers}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=30)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument(
        "--think", type=float, default=6.0, help="mean seconds between two answers of a student"
    )
    options = parser.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        room, away = asyncio.run(
            whole(Path(folder), options.students, options.minutes, options.think)
        )
        lost = room.acknowledged - recorded(Path(folder), room.code)
        total = len(recorded(Path(folder), room.code))
    print(
        f"{options.students} students, {options.minutes:g} minutes; load average before "
        f"{load:.1f}, after {os.getloadavg()[0]:.1f}"
    )
    print(
        f"answers acknowledged {len(room.acknowledged):,}, recorded {total:,}, acknowledged "
        f"and lost {len(lost)}"
    )
    print(f"server killed once; {away:.1f} s until the next one answered")
    for name, seconds in (("answer", room.answer_seconds), ("board", room.board_seconds)):
        p50, p95 = np.quantile(seconds, [0.5, 0.95])
        print(
            f"{name}: p50 {p50:.3f} s, p95 {p95:.3f} s, longest {max(seconds):.3f} s "
            f"({len(seconds):,})"
        )
    print(
        "faults that are not the kill: "
        f"{[fault for fault in room.seen.faults if 'connection' not in fault][:5]}"
    )


if __name__ == "__main__":
    main()
