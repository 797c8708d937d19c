"""The server's memory: all threads allocate from one heap."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

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
        run = subprocess.run([sys.executable, "-c", program, setting], capture_output=True, text=True, check=True, cwd=ROOT)
        assert run.stdout.strip() == expected
