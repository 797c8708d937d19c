"""What tests of the library share."""

from __future__ import annotations

import os
import subprocess
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from nlwfa_core.jobs import sweep, worker
from tests.core.here import Here


@pytest.fixture
def forked_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runners of this process start forked workers, which are there at once."""
    if os.name == "posix":
        from tests.core.forked import ForkedWorker

        monkeypatch.setattr(
            worker, "subprocess", SimpleNamespace(Popen=ForkedWorker, PIPE=subprocess.PIPE)
        )


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweeps do their runs in this process and start none, so that nobody waits for imports."""
    monkeypatch.setattr(sweep, "processes", lambda jobs: nullcontext(Here()))
