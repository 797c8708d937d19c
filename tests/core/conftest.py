"""What tests of the library share."""

from __future__ import annotations

import os
import subprocess
from types import SimpleNamespace

import pytest

from nlwfa_core.jobs import worker


@pytest.fixture
def forked_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runners of this process start forked workers, which are there at once."""
    if os.name == "posix":
        from tests.core.forked import ForkedWorker

        monkeypatch.setattr(
            worker, "subprocess", SimpleNamespace(Popen=ForkedWorker, PIPE=subprocess.PIPE)
        )
