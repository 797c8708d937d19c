"""Give many hostile inputs to every reader, each reader in its own process.

An input is a finding if it is neither accepted nor refused with RecipeError, takes more than a
second, or takes more memory than promised. Findings are stored, and the exit code is then 1. For
one input in `TRACED`, tracemalloc measures the memory of Python's allocators and numpy's; the
process as a whole may not take more than `ADDRESS_SPACE` beyond its size at the start.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import json
import logging
import multiprocessing
import resource
import signal
import sys
import tracemalloc
import warnings
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter, process_time

from nlwfa_core.errors import RecipeError

from .readers import READERS, Reader, reader

SECONDS = 1.0  # processor time that an input may take: other programs on the machine do not count
TRACED = 20  # memory is measured for one input in so many, and time for all others
ADDRESS_SPACE = 2 * 2**30
STUCK = 120.0  # seconds without a message after which a process is killed


@dataclass
class Tally:
    """A reader's results; `most` is (bytes of memory, bytes of the input) of the input that took
    the most memory.
    """

    name: str
    inputs: int = 0
    accepted: int = 0
    refused: int = 0
    slowest: float = 0.0
    most: tuple[int, int] = (0, 0)
    seconds: float = 0.0
    findings: list[tuple[int, str]] = field(default_factory=list)


class _TimeIsUp(BaseException):
    """Raised by the timer. It is not an Exception, so no reader catches it."""


def _on_timer(signum: int, frame: object) -> None:
    raise _TimeIsUp


def fuzz(name: str, numbers: range, seed: int, pipe: Connection | None = None) -> Tally:
    """Give a reader its inputs; every hundredth number is sent through the pipe."""
    tally = Tally(name)
    tested = reader(name)
    signal.signal(signal.SIGPROF, _on_timer)
    began = perf_counter()
    for number in numbers:
        if pipe is not None and number % 100 == 0:
            pipe.send(number)
        _give(tally, tested, tested.input(seed, number), number)
    tally.seconds = perf_counter() - began
    return tally


def _give(tally: Tally, tested: Reader, data: bytes, number: int) -> None:
    traced = number % TRACED == 0
    tally.inputs += 1
    if traced:
        tracemalloc.start()
    else:
        signal.setitimer(signal.ITIMER_PROF, 5 * SECONDS)
    started = process_time()
    try:
        tested.read(data)
        tally.accepted += 1
    except RecipeError:
        tally.refused += 1
    except _TimeIsUp:
        tally.findings.append((number, "does not end"))
    except Exception as error:
        tally.findings.append((number, f"{type(error).__name__}: {str(error)[:200]}"))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    taken = process_time() - started
    if traced:
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        tally.most = max(tally.most, (most, len(data)))
        if most > tested.times * len(data) + tested.floor:
            tally.findings.append((number, f"takes {most:,} bytes, the input has {len(data):,}"))
        return
    tally.slowest = max(tally.slowest, taken)
    if taken > SECONDS:
        tally.findings.append((number, f"takes {taken:.2f} s"))


def _child(name: str, numbers: range, seed: int, pipe: Connection) -> None:
    warnings.simplefilter("error")  # as in the tests: a warning is a finding, too
    logging.disable()  # what readers log would fill the output
    faulthandler.enable()
    reader(name)
    size = (
        int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        if Path("/proc/self/statm").exists()
        else 0
    )
    if size:
        resource.setrlimit(resource.RLIMIT_AS, (size + ADDRESS_SPACE, size + ADDRESS_SPACE))
    pipe.send(asdict(fuzz(name, numbers, seed, pipe)))


def in_process(name: str, numbers: range, seed: int) -> Tally:
    """Do the same in a new process, which may crash or hang."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(name, numbers, seed, theirs))
    process.start()
    theirs.close()
    last = numbers.start
    try:
        while ours.poll(STUCK):
            message = ours.recv()
            if isinstance(message, dict):
                process.join(STUCK)  # it removes its temporary folder
                return Tally(**message)
            last = message
        reason = f"no message for {STUCK:g} s"
    except EOFError:
        process.join()
        reason = f"the process ended with {process.exitcode}"
    finally:
        process.kill()
        process.join()
    return Tally(name, findings=[(last, f"{reason}, in the hundred inputs from here")])


def table(tallies: list[Tally]) -> str:
    """Write the tallies as a Markdown table."""
    columns = (
        "inputs",
        "accepted",
        "refused",
        "slowest, ms",
        "most memory, MB (of KB)",
        "s",
        "findings",
    )
    rows = [f"| reader | {' | '.join(columns)} |", "|---|--:|--:|--:|--:|--:|--:|--:|"]
    for one in tallies:
        memory = f"{one.most[0] / 1e6:.1f} ({one.most[1] / 1e3:.1f})"
        counts = f"{one.inputs:,} | {one.accepted:,} | {one.refused:,} | {1000 * one.slowest:.0f}"
        rows.append(
            f"| {one.name} | {counts} | {memory} | {one.seconds:.0f} | {len(one.findings)} |"
        )
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.hostile", description="Hostile input for every reader."
    )
    parser.add_argument(
        "--inputs", type=int, default=100_000, help="inputs for each reader (100,000)"
    )
    parser.add_argument("--first", type=int, default=0, help="number of the first input (0)")
    parser.add_argument(
        "--only",
        nargs="+",
        default=list(READERS),
        choices=READERS,
        metavar="READER",
        help=", ".join(READERS),
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--keep",
        type=Path,
        default=Path("runs", "fuzz"),
        help="folder for inputs with findings (runs/fuzz)",
    )
    arguments = parser.parse_args()
    tallies = []
    for name in arguments.only:
        tally = in_process(
            name, range(arguments.first, arguments.first + arguments.inputs), arguments.seed
        )
        tallies.append(tally)
        print(
            f"{name}: {tally.inputs:,} inputs, {len(tally.findings)} findings, "
            f"{tally.seconds:.0f} s",
            file=sys.stderr,
            flush=True,
        )
        for number, what in tally.findings[:20]:
            data = reader(name).input(arguments.seed, number)
            arguments.keep.mkdir(parents=True, exist_ok=True)
            path = (
                arguments.keep
                / f"{name.replace(', ', '-').replace(' ', '-')}-{hashlib.sha256(data).hexdigest()[:12]}"  # noqa: E501
            )
            path.write_bytes(data)
            print(json.dumps([name, number, what, str(path)]), file=sys.stderr, flush=True)
    print(table(tallies))
    return 1 if any(tally.findings for tally in tallies) else 0
