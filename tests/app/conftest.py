"""One folder for all uploads and runs, and no worker process that outlives the tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pages.shared import visitor_runs
from pages.shared.standing import standing


@pytest.fixture(scope="session", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """NLWFA_HOME. The runner is made when a page first asks for it, which is later."""
    folder = tmp_path_factory.mktemp("lab")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NLWFA_HOME", str(folder))
        # a simulated page comes from no address, so it is not at the machine
        patch.setenv("NLWFA_HISTORY", "all")
        yield folder
        runner = visitor_runs.runner()
        runner.close()
        visitor_runs.runner.clear()
        assert not runner.pids


@pytest.fixture(autouse=True)
def nothing_is_left_running(home: Path) -> Iterator[None]:
    """All tests are one session to the runner: what a test that fails has left in the queue would
    hold up those after it.

    They are also one address, from which only so many class sessions may be opened in a minute.
    """
    standing._openings.clear()
    yield
    runner = visitor_runs.runner()
    for key, job in [*runner._jobs.items()]:
        if not job.over:
            for session in [*job.sessions]:
                runner.cancel(key, session)
