"""Measure a class in a session: students join by its code, follow their teacher from step to step
and answer tasks over websockets, the teacher watches the board, and the server is killed once.

`python -m benchmarks.classroom --students 30 --minutes 5` prints how many acknowledged answers are
missing in the database afterwards, the seconds from *Join* to the first step, from *Move everyone
to the next step* to the last message of each student's page, and from the board's request to its
last message. The clients use the same cores as the server.
"""

from __future__ import annotations

import argparse
import asyncio
import math
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
LOOK_SECONDS = 4.0  # between two moves of the class
PATIENCE_SECONDS = 60.0  # for a move to reach all


@dataclass
class Class:
    """What happens in the session.

    Attributes
    ----------
    address, code : str
    acknowledged : set of (int, int)
        Student and task of each answer whose check has come back.
    answer_seconds, board_seconds, join_seconds : list of float
    moves : list of list of float
        For each move of the class, the seconds until it had reached each student.
    ends : float
        On the monotonic clock.
    """

    address: str
    code: str = ""
    acknowledged: set[tuple[int, int]] = field(default_factory=set)
    answer_seconds: list[float] = field(default_factory=list)
    board_seconds: list[float] = field(default_factory=list)
    join_seconds: list[float] = field(default_factory=list)
    moves: list[list[float]] = field(default_factory=list)
    followers: list[Session] = field(default_factory=list)
    ends: float = 0.0
    seen: Seen = field(default_factory=Seen)
    opened: asyncio.Event = field(default_factory=asyncio.Event)
    moved: asyncio.Event = field(default_factory=asyncio.Event)


def cookie() -> str:
    """Return a cookie like the one that Streamlit gives each browser, by which the lab recognises
    it.
    """
    return f"_streamlit_xsrf=2|{secrets.token_hex(4)}|{secrets.token_hex(16)}|1700000000"


async def teach(room: Class, students: int, moves: int) -> None:
    """Open a session, move the class from step to step, and watch its board until the end; after
    the server has died, open it again.
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
                assert "class.reveal" in session.page.buttons, "this is not the teacher's page"
                session.fragment_seconds = room.board_seconds
                if not room.moved.is_set():
                    await lead(room, session, students, moves)
                while monotonic() < room.ends and session.watches:
                    await asyncio.sleep(0.2)
        except (OSError, TimeoutError):
            await asyncio.sleep(RETRY_SECONDS)


async def lead(room: Class, teacher: Session, number: int, moves: int) -> None:
    """Wait until all students are in the lesson, and move them from step to step."""
    while len(room.followers) < number:
        await asyncio.sleep(0.1)
    for _ in range(moves):
        await asyncio.sleep(LOOK_SECONDS)
        before = [session.query["step"] for session in room.followers]
        started = monotonic()
        await teacher.press("class.move")
        reached: dict[int, float] = {}
        while len(reached) < number and monotonic() < started + PATIENCE_SECONDS:
            for student, session in enumerate(room.followers):
                is_there = session.is_idle and session.query["step"] != before[student]
                if student not in reached and is_there:
                    reached[student] = monotonic() - started
            await asyncio.sleep(0.01)
        room.moves.append([*reached.values(), *[PATIENCE_SECONDS] * (number - len(reached))])
    room.moved.set()


async def follow(room: Class, number: int, mine: str) -> None:
    """Join by the code, and follow the teacher through the lesson."""
    async with Session(room.address, room.seen, {}, mine) as session:
        await session.visit("classroom")
        entered = {"class.code": room.code, "class.nickname": f"Student {number}"}
        room.join_seconds.append(await session.submit("class.enter", entered))
        assert session.query.get("step") == "1", "joining leads to the first step"
        room.followers.append(session)
        await room.moved.wait()


async def learn(room: Class, number: int, think: float) -> None:
    """Join, follow the teacher, and then answer one task after the other; an answer that the server
    has not acknowledged is given again.
    """
    rng = np.random.default_rng(number)
    mine = cookie()
    task = 1
    await room.opened.wait()
    await asyncio.sleep(number / 10)
    await follow(room, number, mine)
    while monotonic() < room.ends:
        query = {"class": room.code, "tasks": KIND, "task": str(task)}
        try:
            async with Session(room.address, room.seen, query, mine) as session:
                await session.visit("practice")
                while monotonic() < room.ends:
                    await asyncio.sleep(think * rng.uniform(0.5, 1.5))
                    task = await _answer(room, session, number, task)
        except (OSError, TimeoutError):
            await asyncio.sleep(RETRY_SECONDS)


async def _answer(room: Class, session: Session, student: int, task: int) -> int:
    """Answer a task correctly, unless it has been answered, and go to the next one.

    Returns the number of the next task.
    """
    name = f"exercise.{KIND.replace('-', '_')}_{task}"
    if f"{name}.check" in session.page.buttons:
        key = BANK[KIND].task(task).question.key
        assert key is not None
        errors = len(room.seen.errors)
        room.answer_seconds.append(
            await session.submit(f"{name}.check", {f"{name}.entry": key.best})
        )
        if len(room.seen.errors) == errors and f"{name}.check" not in session.page.buttons:
            room.acknowledged.add((student, task))
    await session.press("practice.next")
    return task + 1


async def run(room: Class, students: int, moves: int, think: float) -> None:
    await asyncio.gather(
        teach(room, students, moves), *(learn(room, number, think) for number in range(students))
    )


async def whole(
    home: Path, students: int, moves: int, minutes: float, think: float
) -> tuple[Class, float]:
    """Run the class. In the middle of the minutes after the moves, the server is killed and started
    again.

    Returns the class and the seconds without a server.
    """
    with ExitStack() as servers:
        first = await asyncio.to_thread(servers.enter_context, serving(home))
        room = Class(first.address, ends=math.inf)
        async with AsyncExitStack():
            work = asyncio.create_task(run(room, students, moves, think))
            moved = asyncio.create_task(room.moved.wait())
            await asyncio.wait([work, moved], return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()  # raises what went wrong
            room.ends = monotonic() + 60 * minutes
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
    parser.add_argument("--moves", type=int, default=12, help="steps to which the class is moved")
    parser.add_argument(
        "--minutes", type=float, default=5.0, help="of answers, after the class was moved"
    )
    parser.add_argument(
        "--think", type=float, default=6.0, help="mean seconds between two answers of a student"
    )
    options = parser.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        room, away = asyncio.run(
            whole(Path(folder), options.students, options.moves, options.minutes, options.think)
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
    slowest = [max(move) for move in room.moves]
    print(
        f"moves that reached all within 2 s: {sum(longest <= 2 for longest in slowest)} of "
        f"{len(slowest)}; until the last student, in order: "
        f"{', '.join(f'{longest:.2f}' for longest in slowest)} s"
    )
    for name, seconds in (
        ("join, to the first step", room.join_seconds),
        ("move, to a student", [one for move in room.moves for one in move]),
        ("answer", room.answer_seconds),
        ("board", room.board_seconds),
    ):
        if not seconds:  # the minutes were too few for one
            continue
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
