"""Carry out the phases of the load test: one person alone, a class, an hour's actions without a
pause, more and more people.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

from nlwfa_core.history.listing import get_runs
from nlwfa_core.history.runs import History

from .client import Session
from .people import LINK, Log, Person, live
from .report import SLOW, Plan, Report
from .server import Server, serving

# sessions, and seconds, of each step of the ramp
STEP = 30
STEP_SECONDS = 40.0
SAMPLE_SECONDS = 1.0
END_SECONDS = 180.0  # how long to wait at the end for runs that are still in the queue


@contextmanager
def _sampling(
    server: Server,
    into: list[tuple[float, float, float]],
    share: Callable[[], float],
    loads: list[float] | None = None,
) -> Iterator[None]:
    async def sample() -> None:
        while True:
            into.append((share(), server.memory, server.workers_memory))
            if loads is not None:
                loads.append(os.getloadavg()[0])
            await asyncio.sleep(SAMPLE_SECONDS)

    task = asyncio.create_task(sample())
    try:
        yield
    finally:
        task.cancel()
        into.append((share(), server.memory, server.workers_memory))


async def measure(home: Path, plan: Plan) -> Report:
    """Start a server in a folder, carry out all phases of a plan, and return the measurements."""
    report = Report(plan)
    with serving(home) as server:
        await _warm(server, report)
        await live(
            server.address, 1, plan.seed + 1, report.idle, 0.2, plan.idle_seconds, trains=False
        )
        report.before = server.memory
        started = monotonic()
        busy = server.processor
        with _sampling(
            server,
            report.memory,
            lambda: (monotonic() - started) / (60 * plan.minutes),
            report.loads,
        ):
            await live(
                server.address,
                plan.sessions,
                plan.seed + 2,
                report.crowd,
                plan.think,
                60 * plan.minutes,
            )
        report.server_busy = (server.processor - busy) / (monotonic() - started)
        await _hour(server, report)
        for number in range(STEP, plan.most_sessions + 1, STEP):
            report.ramp[number] = log = Log()
            await live(
                server.address, number, plan.seed + 3 + number, log, plan.think, STEP_SECONDS
            )
            if log.p95() > SLOW or log.seen.faults:
                break
        await asyncio.to_thread(_await_runs, home, report)
    return report


async def _warm(server: Server, report: Report) -> None:
    """Let first visitors come, who wait until pages are compiled and a worker has loaded torch.

    Nothing of this is counted.
    """
    log = Log()
    await live(
        server.address, 2, report.plan.seed, log, 0.1, report.plan.warm_seconds, trains=False
    )
    async with Session(server.address, log.seen, LINK) as session:
        await session.visit()
        await Person(server.address, 0, report.plan.seed, log, 0.1).trains(session)
    report.idle.seen.faults += log.seen.faults
    report.idle.asked |= log.asked


async def _hour(server: Server, report: Report) -> None:
    """Let the class do as many actions as in an hour, without pauses; each person opens the lab
    again and again.
    """
    plan = report.plan
    log = report.hour
    wanted = plan.sessions * 3600 / plan.think
    ends = monotonic() + 60 * plan.hour_minutes

    def share() -> float:
        return log.num_actions / wanted

    with _sampling(server, report.hour_memory, share):
        people = (
            Person(server.address, which, plan.seed + 99, log, 0.0)
            for which in range(plan.sessions)
        )
        await asyncio.gather(
            *(person.lives(lambda: share() < 1 and monotonic() < ends) for person in people)
        )
    report.hour_share = share()


def _await_runs(home: Path, report: Report) -> None:
    """Wait for every requested run, and count the states in which they end."""
    asked = {key for log in report.logs for key in log.asked}
    history = History.open(home)
    ends = monotonic() + END_SECONDS
    try:
        while True:
            states = {key: run.state for key, run in get_runs(history, asked).items()}
            report.states = Counter(states.get(key, "lost") for key in asked)
            if (
                not report.states["queued"] + report.states["running"] + report.states["lost"]
                or monotonic() > ends
            ):
                return
            sleep(0.5)
    finally:
        history.close()
