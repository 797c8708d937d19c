"""Memory and disk: against what was allocated and written here, and systems that tell nothing."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from nlwfa_core.lab.machine import PROC, amount, folder_bytes, free_bytes, memory, resident_bytes

linux = pytest.mark.skipif(not (PROC / "self" / "statm").exists(), reason="there is no /proc")
HUNGRY = "import sys; kept = bytearray(50_000_000); print('ready', flush=True); sys.stdin.read()"


@linux
def test_a_process_that_takes_fifty_megabytes_is_seen_to_and_is_nothing_once_it_is_gone() -> None:
    with subprocess.Popen([sys.executable, "-c", HUNGRY], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        alone = resident_bytes([process.pid])
        assert alone is not None and 50_000_000 < alone < 200_000_000
        both = resident_bytes([process.pid, os.getpid()])
        assert both is not None and both > alone
        process.communicate()
    assert resident_bytes([process.pid]) == 0


@linux
def test_the_machine_has_more_memory_than_is_left() -> None:
    found = memory()
    assert found is not None and 0 < found.available < found.total
    assert found.total == pytest.approx(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), rel=0.01)


def test_a_system_that_tells_nothing(tmp_path: Path) -> None:
    assert resident_bytes([os.getpid()], tmp_path) is None and memory(tmp_path) is None
    (tmp_path / "meminfo").write_text("MemTotal: 5 kB\nHugePages_Total: none\n")
    assert memory(tmp_path) is None
    (tmp_path / "meminfo").write_text("MemTotal:  5 kB\nMemAvailable: 3 kB\nHugePages: 0\n")
    assert memory(tmp_path) is not None and memory(tmp_path).available == 3072  # type: ignore[union-attr]


def test_a_folder_holds_what_was_written(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "one").write_bytes(b"x" * 1000)
    (tmp_path / "a" / "b" / "two").write_bytes(b"x" * 234)
    assert folder_bytes(tmp_path) == 1234 and folder_bytes(tmp_path / "none") == 0
    assert free_bytes(tmp_path) > 0
    with pytest.raises(OSError, match="none"):
        free_bytes(tmp_path / "none")


def test_amounts_have_units() -> None:
    assert [amount(number) for number in (0, 999.4, 999.6, 999_600, 10**15)] == [
        "0 bytes",
        "999 bytes",
        "1 kB",
        "1 MB",
        "1000.0 TB",
    ]


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the setting is glibc's")
def test_threads_share_one_heap() -> None:
    program = """
import ctypes, sys
from threading import Thread
from nlwfa_core.lab.machine import share_one_heap
library = ctypes.CDLL(None)
library.malloc.restype = ctypes.c_void_p
if sys.argv[1] == "shared":
    assert share_one_heap()
places = []
thread = Thread(target=lambda: places.append(library.malloc(100_000)))
thread.start()
thread.join()
heap = next(line.split()[0] for line in open("/proc/self/maps") if line.rstrip().endswith("[heap]"))
first, last = (int(place, 16) for place in heap.split("-"))
print(first <= places[0] < last)
"""
    for setting, expected in (("shared", "True"), ("usual", "False")):
        told = subprocess.run([sys.executable, "-c", program, setting], capture_output=True, text=True, check=True)
        assert told.stdout.strip() == expected
