"""Worker processes that are there at once: forked from a process that has imported what they need,
torch above all.

A worker that a server starts takes two seconds of a processor to import it, and most tests of the
runner start one or two. What a worker does from then on is the same. Tests that do not use
`forked_workers` start processes as a server does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from types import ModuleType
from typing import Any

from nlwfa_core.jobs import worker

PROCESSES = get_context("forkserver")
PROCESSES.set_forkserver_preload(
    # Adamax imports that
    [
        __name__,
        "nlwfa_core.learning.recurrent_networks",
        "nlwfa_core.learning.refine.likelihood",
        "torch._dynamo",
    ]
)


class ForkedWorker:
    """Has what a `WorkerProcess` uses of `subprocess.Popen`."""

    def __init__(self, command: list[str], env: Mapping[str, str], **_: Any) -> None:
        assert command[1:] == ["-m", "nlwfa_core.jobs.worker"]
        orders, own_orders = PROCESSES.Pipe(duplex=False)
        own_messages, messages = PROCESSES.Pipe(duplex=False)
        self._process = PROCESSES.Process(
            target=_work, args=(orders, messages, dict(env)), daemon=True
        )
        # A new process imports the script of its parent again. After a test of a page that is the
        # page, which no worker needs.
        script, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
        try:
            self._process.start()
        finally:
            sys.modules["__main__"] = script
        orders.close()
        messages.close()
        self.pid = self._process.pid
        self.stdin = os.fdopen(os.dup(own_orders.fileno()), "wb")
        self.stdout = os.fdopen(os.dup(own_messages.fileno()), "rb")
        own_orders.close()
        own_messages.close()

    def poll(self) -> int | None:
        return self._process.exitcode

    def kill(self) -> None:
        if self.poll() is None:
            self._process.kill()

    def wait(self) -> None:
        wait([self._process.sentinel])


def _work(orders: Connection, messages: Connection, environment: dict[str, str]) -> None:
    """What `python -m nlwfa_core.jobs.worker` does, in a child of the process that has
    imported it.
    """
    os.setsid()
    os.environ.clear()
    os.environ.update(environment)
    for end, number in ((orders, 0), (messages, 1)):
        os.dup2(end.fileno(), number)
        end.close()
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    worker.main()
