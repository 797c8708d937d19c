"""Memory and disk: against what was allocated and written here, and systems that tell nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nlwfa_core.lab.machine import PROC, folder_bytes, format_bytes, free_bytes, memory, resident_bytes

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
    assert [format_bytes(number) for number in (0, 999.4, 999.6, 999_600, 10**15)] == [
        "0 bytes",
        "999 bytes",
        "1 kB",
        "1 MB",
        "1000.0 TB",
    ]
