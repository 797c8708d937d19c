"""Measure a class while one script with any number of fresh cookies attacks its server.

`python -m benchmarks.attack` starts a server, simulates a class of thirty people, and then
alternates between rounds in which they work undisturbed and rounds in which a second process
attacks: it opens sessions, joins the class by its code and hands things in, fills the queue,
uploads files that no widget asked for, searches the history for a thousand words, and follows
malformed links. Every browser of the attack is a new one. It prints the members' times in both
kinds of rounds, what they were refused, and how many acknowledged answers are missing in the
database. The attacking process uses the same cores, although in reality it would run on another
machine; `--nice` lowers its priority.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import os
import secrets
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

import numpy as np
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from nlwfa_core.history.classes import Classes
from nlwfa_core.history.runs import History

from .classroom import BANK, KIND, cookie, recorded
from .load.client import Seen, Session
from .load.people import LINK
from .load.server import serving

PAGES = ("data", "hankel", "states", "classroom")
RANKS = range(2, 9)
UPLOAD_BYTES = 20 * 2**20
KINDS = ("open", "join", "queue", "upload", "search", "link")
JOIN_TIMEOUT = 60.0


@dataclass
class Times:
    """Seconds that members waited, by what they did, in one kind of rounds."""

    answer: list[float] = field(default_factory=list)
    page: list[float] = field(default_factory=list)
    slider: list[float] = field(default_factory=list)


@dataclass
class Measured:
    """What the members saw."""

    times: dict[str, Times] = field(default_factory=lambda: {"calm": Times(), "attacked": Times()})
    now: str = ""  # the kind of the present round; actions between rounds do not count
    acknowledged: set[tuple[int, int]] = field(default_factory=set)
    refused: Counter[str] = field(default_factory=Counter)
    seen: Seen = field(default_factory=Seen)
    code: str = ""
    ends: float = 0.0


class Known(Session):
    """A session that also knows its name, which an upload needs."""

    session_id = ""

    def _take(self, message: ForwardMsg) -> None:
        if (
            message.WhichOneof("type") == "new_session"
            and message.new_session.initialize.session_id
        ):
            self.session_id = message.new_session.initialize.session_id
        super()._take(message)


async def member(
    measured: Measured, address: str, number: int, think: float, ready: asyncio.Semaphore
) -> None:
    """Join the class, then answer tasks in one tab and use the lab in another, until the end."""
    rng = np.random.default_rng(number)
    mine = cookie()
    task = 1
    answering = {"class": measured.code, "tasks": KIND, "task": "1"}
    link = LINK | {"class": measured.code, "data_seed": 1 + number % 3}
    async with (
        Session(address, measured.seen, answering, mine) as first,
        Session(address, measured.seen, link, mine) as second,
    ):
        await first.visit("classroom")
        await first.submit("class.join_button", {"class.nickname": f"Student {number}"})
        first.query["task"] = "1"
        await first.visit("practice")
        await second.visit("hankel")
        ready.release()
        while monotonic() < measured.ends:
            await asyncio.sleep(think * rng.uniform(0.5, 1.5))
            kind = measured.now
            errors = len(measured.seen.errors)
            what = str(rng.choice(["answer", "page", "slider"], p=[0.4, 0.2, 0.4]))
            if what == "answer":
                seconds, task = await _answer(measured, first, number, task)
            elif what == "page":
                seconds = await second.visit(str(rng.choice(PAGES)))
            elif "rank" in second.page.numbers:
                ranks = [rank for rank in RANKS if rank != second.number("rank")]
                seconds = await second.set_number("rank", int(rng.choice(ranks)))
            else:
                seconds = await second.visit("hankel")
                what = "page"
            measured.refused.update(measured.seen.errors[errors:])
            if kind and kind == measured.now:
                getattr(measured.times[kind], what).append(seconds)


async def _answer(
    measured: Measured, session: Session, student: int, task: int
) -> tuple[float, int]:
    name = f"exercise.{KIND.replace('-', '_')}_{task}"
    key = BANK[KIND].task(task).question.key
    assert key is not None
    seconds = await session.submit(f"{name}.check", {f"{name}.entry": key.best})
    if f"{name}.check" not in session.page.buttons:
        measured.acknowledged.add((student, task))
    await session.press("practice.next")
    return seconds, task + 1


async def watch(measured: Measured, address: str, mine: str) -> None:
    """Keep the teacher's board open."""
    async with Session(address, measured.seen, {"class": measured.code}, mine) as session:
        await session.visit("classroom")
        while monotonic() < measured.ends:
            await asyncio.sleep(0.5)


async def whole(home: Path, options: argparse.Namespace) -> tuple[Measured, Counter[str]]:
    """Run all rounds; return what the members saw, and what the attack did."""
    done: Counter[str] = Counter()
    with serving(home) as server:
        measured = Measured()
        teacher = cookie()
        async with Session(server.address, measured.seen, {}, teacher) as session:
            await session.visit("classroom")
            await session.press("class.open")
            measured.code = session.query["class"]
        measured.ends = float("inf")
        ready = asyncio.Semaphore(0)
        people = [
            asyncio.create_task(member(measured, server.address, number, options.think, ready))
            for number in range(options.students)
        ]
        people.append(asyncio.create_task(watch(measured, server.address, teacher)))
        for _ in range(options.students):
            await ready.acquire()
        for number in range(options.rounds):
            for kind in ("calm", "attacked"):
                attackers = (
                    await _attackers(server.address, measured.code, options)
                    if kind == "attacked"
                    else None
                )
                await asyncio.sleep(5)  # the change from one to the other is not measured
                measured.now = kind
                await asyncio.sleep(options.seconds)
                measured.now = ""
                if attackers:
                    attackers.terminate()
                    output, _ = await attackers.communicate()
                    done.update(_counts(output.decode()))
                print(
                    f"round {number + 1} {kind}: server {server.memory:.0f} MB, load "
                    f"{os.getloadavg()[0]:.1f}",
                    flush=True,
                )
        measured.ends = 0.0
        await asyncio.gather(*people)
        if not options.no_teacher:
            await _teacher_locks(measured, server.address, teacher)
    return measured, done


async def _teacher_locks(measured: Measured, address: str, teacher: str) -> None:
    """Lock joining, and check that a new browser can no longer join."""
    async with Session(address, measured.seen, {"class": measured.code}, teacher) as session:
        await session.visit("classroom")
        await session.press("class.lock")
    async with Session(address, measured.seen, {"class": measured.code}, cookie()) as session:
        await session.visit("classroom")
        await session.press("class.join_button")
        assert "class.leave_now" not in session.page.buttons, (
            "a new browser has joined a locked session"
        )


async def _attackers(
    address: str, code: str, options: argparse.Namespace
) -> asyncio.subprocess.Process:
    command = [
        sys.executable,
        "-m",
        "benchmarks.attack",
        "--attack",
        address,
        "--code",
        code,
        "--at-once",
        str(options.at_once),
    ]
    command += ["--nice", str(options.nice)]
    return await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)


def _counts(output: str) -> dict[str, int]:
    last = output.strip().splitlines()[-1:] or [""]
    pairs = (part.split("=") for part in last[0].split())
    return {name: int(number) for name, number in pairs}


async def attack(address: str, code: str, at_once: int) -> None:
    """Attack until this process is ended; every second, print the counts so far."""
    done: Counter[str] = Counter()
    asyncio.get_running_loop().add_signal_handler(
        15, lambda: (print(_line(done), flush=True), os._exit(0))
    )
    workers = [
        asyncio.create_task(_attacker(address, code, KINDS[number % len(KINDS)], done))
        for number in range(at_once)
    ]
    await asyncio.gather(*workers)


def _line(done: Counter[str]) -> str:
    return " ".join(f"{name}={number}" for name, number in sorted(done.items()))


async def _attacker(address: str, code: str, kind: str, done: Counter[str]) -> None:
    """Come again and again as a new browser; count the server's answers."""
    while True:
        try:
            async with asyncio.timeout(JOIN_TIMEOUT):
                async for _ in ATTACKS[kind](address, code, cookie()):
                    done[kind] += 1
        except Exception:
            done[f"{kind}_failed"] += 1
            await asyncio.sleep(0.1)


async def _opens(address: str, code: str, mine: str) -> AsyncIterator[None]:
    async with Session(address, Seen(), {}, mine) as session:
        await session.visit("classroom")
        await session.press("class.open")
        yield


async def _joins(address: str, code: str, mine: str) -> AsyncIterator[None]:
    query = {"class": code, "tasks": KIND, "task": "1"}
    async with Session(address, Seen(), query, mine) as session:
        await session.visit("classroom")
        await session.submit(
            "class.join_button", {"class.nickname": f"Intruder {10**9 + secrets.randbelow(10**6)}"}
        )
        yield
        session.query["task"] = "1"
        await session.visit("practice")
        name = f"exercise.{KIND.replace('-', '_')}_1"
        for text in ("1", "2"):
            await session.submit(f"{name}.check", {f"{name}.entry": text})
            yield
        for page in ("hankel", "states", "data"):
            await session.visit(page)
            yield


async def _queues(address: str, code: str, mine: str) -> AsyncIterator[None]:
    seed = {"learning_seed": secrets.randbelow(10**6)}
    async with Session(
        address, Seen(), LINK | seed | {"epochs_factorisation": 3000}, mine
    ) as session:
        await session.visit("train")
        for _ in range(10):
            if "train.start" in session.page.buttons:
                await session.press("train.start")
                yield
            await session.set_number("learning_seed", secrets.randbelow(10**6))


async def _uploads(address: str, code: str, mine: str) -> AsyncIterator[None]:
    async with Known(address, Seen(), {}, mine) as session:
        await session.visit("data")
        for _ in range(3):
            status = await asyncio.to_thread(_put, address, session.session_id, mine)
            if status not in (204, 413):
                raise OSError(f"status {status}")
            yield


def _put(address: str, session_id: str, mine: str) -> int:
    boundary = secrets.token_hex(16)
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="x.txt"\r\n\r\n'.encode()  # noqa: E501
    body = head + bytes(UPLOAD_BYTES) + f"\r\n--{boundary}--\r\n".encode()
    token = mine.partition("=")[2]
    headers = {
        "Cookie": mine,
        "X-Xsrftoken": token,
        "Content-Type": f"multipart/form-data; boundary={boundary}",
    }
    connection = http.client.HTTPConnection(address.removeprefix("ws://"), timeout=60)
    try:
        connection.request(
            "PUT", f"/_stcore/upload_file/{session_id}/{secrets.token_hex(8)}", body, headers
        )
        return connection.getresponse().status
    finally:
        connection.close()


async def _searches(address: str, code: str, mine: str) -> AsyncIterator[None]:
    async with Session(address, Seen(), LINK, mine) as session:
        await session.visit("history")
        yield
        for key in [key for key in session.page.texts if key.startswith("history.")]:
            await session.type_text(key, " ".join(secrets.token_hex(3) for _ in range(1000)))
            yield


async def _links(address: str, code: str, mine: str) -> AsyncIterator[None]:
    for query in (
        {"rank": "1e400"},
        {"rank": "9" * 400},
        {"class": "<b>"},
        {"A": "x" * 10_000},
        {"key": "x"},
    ):
        async with Session(address, Seen(), query, mine) as session:
            await session.visit("train")
            yield


ATTACKS = {
    "open": _opens,
    "join": _joins,
    "queue": _queues,
    "upload": _uploads,
    "search": _searches,
    "link": _links,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--students", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=40.0, help="of each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--think", type=float, default=6.0, help="mean seconds between two actions of a member"
    )
    parser.add_argument(
        "--at-once", type=int, default=30, help="browsers of the attack at any moment"
    )
    parser.add_argument("--nice", type=int, default=0, help="of the attacking process")
    parser.add_argument("--no-teacher", action="store_true", help="do not lock joining at the end")
    parser.add_argument("--attack", help="attack the server at this address, and do nothing else")
    parser.add_argument("--code", default="")
    options = parser.parse_args()
    if options.attack:
        os.nice(options.nice)
        asyncio.run(attack(options.attack, options.code, options.at_once))
        return
    with tempfile.TemporaryDirectory() as folder:
        measured, done = asyncio.run(whole(Path(folder), options))
        lost = measured.acknowledged - recorded(Path(folder), measured.code)
        sessions = Classes(History.open(Path(folder)).engine).summaries()
    print(f"attack: {_line(done)}")
    print(
        f"class sessions {len(sessions):,}; members of the class "
        f"{max(session.num_members for session in sessions):,}"
    )
    for what in ("answer", "page", "slider"):
        figures = {kind: np.array(getattr(times, what)) for kind, times in measured.times.items()}
        cells = [
            f"{kind} p50 {np.median(seconds):.3f} p95 {np.quantile(seconds, 0.95):.3f} "
            f"({len(seconds)})"
            for kind, seconds in figures.items()
        ]
        ratio = np.quantile(figures["attacked"], 0.95) / np.quantile(figures["calm"], 0.95)
        print(f"{what}: {'; '.join(cells)}; p95 ratio {ratio:.2f}")
    print(f"answers acknowledged {len(measured.acknowledged):,}, acknowledged and lost {len(lost)}")
    print(f"refused to members: {dict(measured.refused)}; faults: {Counter(measured.seen.faults)}")


if __name__ == "__main__":
    main()
