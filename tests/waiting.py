"""How tests wait: for a condition, never for a time, with one generous deadline, so that a busy
machine is no failure.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, sleep
from typing import Any

# Nothing waits this long unless it is broken. Pytest's limit for a whole test is longer
# (pyproject.toml).
PATIENCE_SECONDS = 240  # for processes that start, train and end
DRAWING_SECONDS = 60  # for what a browser draws


def wait_for(condition: Callable[[], Any], seconds: float = PATIENCE_SECONDS) -> Any:
    """Return the first true value of a condition, which is called again and again, more and more
    seldom.

    Raises:
        AssertionError: It has not become true within this many seconds.
    """
    deadline = monotonic() + seconds
    pause = 0.01
    while not (value := condition()):
        assert monotonic() < deadline, f"waited in vain for {seconds} seconds"
        sleep(pause)
        pause = min(1.2 * pause, 0.2)
    return value
