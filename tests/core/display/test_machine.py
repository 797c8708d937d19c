"""Memory and disk: against what was allocated and written here, and what has ended."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nlwfa_core.display.machine import (
    available_bytes,
    folder_bytes,
    format_bytes,
    free_bytes,
    resident_bytes,
)

HUNGRY = "import sys; kept = bytearray(50_000_000); print('ready', flush=True); sys.stdin.read()"


def test_a_process_that_takes_fifty_megabytes_is_seen_to_and_is_nothing_once_it_is_gone() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HUNGRY], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        alone = resident_bytes([process.pid])
        assert 50_000_000 < alone < 200_000_000
        both = resident_bytes([process.pid, os.getpid()])
        assert both > alone
        process.communicate()
    assert resident_bytes([process.pid]) == 0


def test_less_memory_is_left_than_the_machine_has() -> None:
    assert 0 < available_bytes() < os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


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
