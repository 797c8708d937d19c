"""Helpers for commands that take a long time: a progress bar on terminals, stopping with Ctrl-C,
and memory use.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ..learning.progress import Progress, Report, silent


@contextmanager
def progress_bar() -> Iterator[Report]:
    """Make a `report` callback that draws a progress bar on stderr if that is a terminal, and does
    nothing otherwise.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield silent
        return
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("{task.fields[loss]}"),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, progress.TaskID] = {}

        def report(step: Progress) -> None:
            if step.stage not in tasks:
                tasks[step.stage] = bar.add_task(step.stage, total=step.total, loss="")
            loss = "" if step.loss is None else f"{step.measure} {step.loss:.4g}"
            bar.update(tasks[step.stage], completed=step.step, total=step.total, loss=loss)

        yield report


@contextmanager
def stopped_by_signals() -> Iterator[threading.Event]:
    """Make an event that Ctrl-C and SIGTERM set instead of their usual effect. A second signal
    interrupts as usual.

    Outside the main thread, where Python handles no signals, nothing sets the event.
    """
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def handle(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    previous = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def peak_memory() -> str:
    """Write the peak memory of this process, in MiB."""
    try:
        import resource
    except ImportError:  # Windows
        return "not known here"
    unit = 1 if sys.platform == "darwin" else 1024
    return (
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20:,.0f} MiB at the peak"
    )
