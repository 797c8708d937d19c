"""Measure the memory of processes and the size of folders. Memory is read from Linux's /proc; on other systems it is unknown.

Source: https://man7.org/linux/man-pages/man5/proc_pid_statm.5.html and proc_meminfo.5.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
UNITS = ("bytes", "kB", "MB", "GB", "TB")


@dataclass(frozen=True)
class Memory:
    """Holds the machine's memory in bytes: the total, and the part that is still available to programs."""

    total: int
    available: int


def resident_bytes(pids: Iterable[int], proc: Path = PROC) -> int | None:
    """Sum the resident memory of processes, in bytes; None if the system does not report it.

    Memory that several processes share counts once for each of them; a process that has ended counts 0.
    """
    if not (proc / "self" / "statm").exists():
        return None
    return sum(_pages(proc / str(pid) / "statm") for pid in pids) * os.sysconf("SC_PAGE_SIZE")


def _pages(statm: Path) -> int:
    try:
        return int(statm.read_text(encoding="ascii").split()[1])
    except (OSError, IndexError):  # the process has just ended
        return 0


def memory(proc: Path = PROC) -> Memory | None:
    """Read the machine's memory; None if the system does not report it."""
    try:
        lines = (proc / "meminfo").read_text(encoding="ascii").splitlines()
        sizes = {name: int(rest.split()[0]) * 1024 for name, _, rest in (line.partition(":") for line in lines)}
        return Memory(sizes["MemTotal"], sizes["MemAvailable"])
    except (OSError, KeyError, ValueError, IndexError):
        return None


def folder_bytes(folder: Path) -> int:
    """Sum the bytes of the files below a folder. Links are not followed; files that disappear meanwhile count as 0."""
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(path, name)).st_size  # noqa: PTH118 - three times as fast for 10,000 runs
            except OSError:
                continue
    return total


def free_bytes(folder: Path) -> int:
    """Return the free bytes on a folder's disk. Raises OSError if the folder does not exist."""
    return shutil.disk_usage(folder).free


def format_bytes(number: float | None) -> str:
    """Write a number of bytes with a unit (1 kB = 1000 bytes); None is "unknown".

    >>> format_bytes(999), format_bytes(74_000_000), format_bytes(1_234_567_890), format_bytes(None)
    ('999 bytes', '74 MB', '1.2 GB', 'unknown')
    """
    if number is None:
        return "unknown"
    for unit in UNITS:
        if number < 999.5 or unit == UNITS[-1]:
            break
        number /= 1000
    return f"{number:.1f} {unit}" if unit in UNITS[3:] else f"{number:.0f} {unit}"
