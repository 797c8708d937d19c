"""The server's memory: what a session held is freed after it."""

from __future__ import annotations

import pytest

from pages.shared import server


def test_memory_is_freed_twice_once_for_all_browsers_that_leave(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seconds: list[float] = []

    class Clock:
        def __init__(self, delay: float, action: object, arguments: list[int]) -> None:
            seconds.append(delay)

        def start(self) -> None:
            pass

    monkeypatch.setattr(server, "Timer", Clock)
    monkeypatch.setattr(server, "monotonic", lambda: 1003.0)
    monkeypatch.setattr(server, "_due", set())
    for _ in range(30):
        server.trim_later()
    assert seconds == [7.0, 17.0]
    server._trim(101)  # what was due at 1010 is done: the next browser that leaves gets its own
    server.trim_later()
    assert seconds == [7.0, 17.0, 7.0]
