"""Start the lab's server for a measurement, and measure its memory and processor time."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from nlwfa_core.display.machine import resident_bytes

from .. import ROOT

PATIENCE = 120.0


@dataclass(frozen=True)
class Server:
    """Represents a running server.

    Attributes
    ----------
    pid, port : int
    """

    pid: int
    port: int

    @property
    def address(self) -> str:
        return f"ws://127.0.0.1:{self.port}"

    @property
    def memory(self) -> float:
        """Return the resident memory of the server in MB, without its workers."""
        return resident_bytes([self.pid]) / 1e6

    @property
    def workers_memory(self) -> float:
        """Return the resident memory of the server's worker processes in MB."""
        return resident_bytes(child.pid for child in psutil.Process(self.pid).children()) / 1e6

    @property
    def processor(self) -> float:
        """Return the processor time of the server in seconds, without its workers."""
        times = psutil.Process(self.pid).cpu_times()
        return float(times.user + times.system)


@contextmanager
def serving(home: Path, port: int = 0) -> Iterator[Server]:
    """Start the server as a user does, on a port of the loopback device, by default a free one; it
    ends with the block.
    """
    if not port:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "streamlit",
        "run",
        "app.py",
        "--server.port",
        str(port),
        "--server.address",
        "127.0.0.1",
    ]
    environment = os.environ | {"NLWFA_HOME": str(home), "OMP_NUM_THREADS": "1"}
    log = home / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        deadline = time.monotonic() + PATIENCE
        while not _is_healthy(port):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the server does not start: {log.read_text(encoding='utf-8')}")
            time.sleep(0.1)
        yield Server(process.pid, port)
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _is_healthy(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
