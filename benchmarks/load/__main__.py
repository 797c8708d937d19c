"""`python -m benchmarks.load`: thirty people for five minutes, an hour's actions without a pause,
then more and more people.

Starts a server on the loopback device, with a temporary folder, and writes docs/load.md. It takes
about twenty minutes; `--quick` takes one, and writes nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import shlex
import sys
import tempfile
from pathlib import Path

from .. import ROOT, pages
from ..machine import facts
from .phases import measure
from .report import Plan

PAGE = ROOT / "docs" / "load.md"
QUICK = Plan(
    sessions=3,
    minutes=5 / 60,
    idle_seconds=2,
    think=0.5,
    hour_minutes=3 / 60,
    most_sessions=0,
    warm_seconds=2,
)


def main() -> int:
    plan = Plan()
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.load", description=__doc__.splitlines()[0] if __doc__ else None
    )
    parser.add_argument("--sessions", type=int, default=plan.sessions)
    parser.add_argument("--minutes", type=float, default=plan.minutes)
    parser.add_argument(
        "--think",
        type=float,
        default=plan.think,
        help="mean seconds between two actions of a person",
    )
    parser.add_argument("--seed", type=int, default=plan.seed)
    parser.add_argument(
        "--hour-minutes",
        type=float,
        default=plan.hour_minutes,
        help="at most so long for the hour's actions",
    )
    parser.add_argument(
        "--most-sessions",
        type=int,
        default=plan.most_sessions,
        help="where the ramp ends; 0: no ramp",
    )
    parser.add_argument("--page", type=Path, default=PAGE, help="where the result is written")
    parser.add_argument(
        "--quick", action="store_true", help="three sessions for five seconds, and no page"
    )
    arguments = parser.parse_args()
    if arguments.quick:
        plan = QUICK
    else:
        plan = Plan(
            arguments.sessions,
            arguments.minutes,
            arguments.think,
            arguments.seed,
            plan.idle_seconds,
            arguments.hour_minutes,
            arguments.most_sessions,
        )
    head = pages.head(shlex.join(["python", "-m", "benchmarks.load", *sys.argv[1:]]), facts(1))
    with tempfile.TemporaryDirectory(prefix="nlwfa-load-") as folder:
        report = asyncio.run(measure(Path(folder), plan))
    text = "\n".join([*head, *report.lines()])
    print(text)
    if not arguments.quick:
        pages.put(arguments.page, "measured", text)
    return 0 if report.sound else 1


if __name__ == "__main__":
    sys.exit(main())
