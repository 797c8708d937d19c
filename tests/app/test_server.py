"""The server's memory: all threads allocate from one heap, and what a session held is freed after
it.
"""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from streamlit.runtime.caching.ttl_cache import TTLCache
from streamlit.runtime.memory_session_storage import MemorySessionStorage
from streamlit.runtime.runtime import Runtime
from streamlit.runtime.websocket_session_manager import WebsocketSessionManager

from pages.shared import server

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the setting is glibc's")
def test_threads_share_one_heap() -> None:
    program = """
import ctypes, sys
from threading import Thread
from pages.shared.server import share_one_heap
library = ctypes.CDLL(None)
library.malloc.restype = ctypes.c_void_p
if sys.argv[1] == "shared":
    assert share_one_heap()
addresses = []
thread = Thread(target=lambda: addresses.append(library.malloc(100_000)))
thread.start()
thread.join()
heap = next(line.split()[0] for line in open("/proc/self/maps") if line.rstrip().endswith("[heap]"))
first, last = (int(end, 16) for end in heap.split("-"))
print(first <= addresses[0] < last)
"""
    for setting, expected in (("shared", "True"), ("usual", "False")):
        run = subprocess.run(
            [sys.executable, "-c", program, setting],
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
        )
        assert run.stdout.strip() == expected


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the setting is glibc's")
def test_large_blocks_come_from_the_system_even_after_larger_ones_were_freed() -> None:
    """By default, freeing 16 MB makes glibc take the next 8 MB from a heap."""
    program = """
import ctypes, sys
from pages.shared.server import return_large_blocks
library = ctypes.CDLL(None)
library.malloc.restype = ctypes.c_void_p
library.free.argtypes = [ctypes.c_void_p]
if sys.argv[1] == "large":
    assert return_large_blocks()
library.free(library.malloc(2**24))
block = library.malloc(2**23)
print(library.malloc_usable_size(ctypes.c_void_p(block)) % 4096 == 4096 - 16)  # a mapping of its own: whole pages less its header
"""  # noqa: E501
    for setting, expected in (("large", "True"), ("usual", "False")):
        run = subprocess.run(
            [sys.executable, "-c", program, setting],
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
        )
        assert run.stdout.strip() == expected


def test_memory_is_freed_soon_and_after_two_minutes_once_for_all_browsers_that_leave(
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
    assert seconds == [7.0, 127.0, 147.0]
    server._trim(101)  # what was due at 1010 is done: the next browser that leaves gets its own
    server.trim_later()
    assert seconds == [7.0, 127.0, 147.0, 7.0]


def test_sessions_whose_time_is_over_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """With Streamlit's own storage of sessions, which has no public name."""
    now = [0.0]
    storage = MemorySessionStorage()
    storage._cache = TTLCache(maxsize=8, ttl=120, timer=lambda: now[0])
    storage.save(SimpleNamespace(session=SimpleNamespace(id="gone")))  # type: ignore[arg-type]
    manager = WebsocketSessionManager(storage, Mock(), Mock(), Mock())
    loop = SimpleNamespace(call_soon_threadsafe=lambda action: action())
    runtime = SimpleNamespace(
        _session_mgr=manager, _get_async_objs=lambda: SimpleNamespace(eventloop=loop)
    )
    monkeypatch.setattr("streamlit.runtime.exists", lambda: True)
    monkeypatch.setattr("streamlit.runtime.get_instance", lambda: runtime)
    assert callable(Runtime._get_async_objs)
    for now[0], left in ((100.0, 1), (130.0, 0)):
        assert server.drop_sessions()
        assert len(storage._cache._data) == left
