"""What every test runs under."""

from __future__ import annotations

import gc
import os
from contextlib import nullcontext
from functools import cache
from zlib import crc32

import pytest
import typer.main
from hypothesis import settings
from threadpoolctl import threadpool_limits

# Tests run side by side: threads of theirs would wait for each other. The environment is read when
# scipy and torch are loaded, and by other processes; numpy is there already, because
# pytest-randomly seeds its generator.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
threadpool_limits(1)

# Typer builds all commands from their signatures each time that it is called, which takes four
# fifths of a refused command's time.
typer.main.get_command = cache(typer.main.get_command)

# A slow machine is no failure, and the same examples are drawn each time: what fails here fails
# everywhere.
settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("repeatable")


# Of the slow tests, with --draw: so many that a run on two processors takes less than 20 minutes.
SHARE = 0.4


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--draw",
        action="store_true",
        help=f"run {SHARE:.0%} of the slow tests: those that the order's seed draws",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With --draw, leave out slow tests: each run draws others."""
    if not config.getoption("draw"):
        return
    seed = config.getoption("randomly_seed")

    def is_drawn(item: pytest.Item) -> bool:
        if item.get_closest_marker("slow") is None:
            return True
        return crc32(f"{seed} {item.nodeid}".encode()) / 2**32 < SHARE

    config.hook.pytest_deselected(items=[item for item in items if not is_drawn(item)])
    items[:] = filter(is_drawn, items)


def pytest_collection_finish() -> None:
    """Leave the thousands of tests and modules that stay until the end out of garbage collections:
    Streamlit makes a full one after each run of a page.
    """
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say at the end which order this was: pytest-randomly says it at the beginning, and not with
    -q.
    """
    seed = config.getoption("randomly_seed", None)
    if seed is not None:
        terminalreporter.write_line(f"--randomly-seed={seed} repeats the order of these tests")


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweeps do their runs in this process and start none, so that nobody waits for imports."""
    from nlwfa_core.jobs import sweep
    from tests.core.here import Here

    monkeypatch.setattr(sweep, "processes", lambda jobs: nullcontext(Here()))
