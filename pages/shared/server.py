"""Find this server's folder of files, and limit its use of memory.

Source: https://man7.org/linux/man-pages/man3/mallopt.3.html.
"""

from __future__ import annotations

import ctypes
import gc
import os
import tempfile
from pathlib import Path
from threading import Timer

import streamlit as st

ASSETS = Path(__file__).resolve().parents[2] / "assets"
SHIPPED = ASSETS / "results"
# Seconds after which to free memory when a session has ended: soon, and again when Streamlit drops the session and its files, which
# takes two minutes.
TRIM_SECONDS = (2.0, 140.0)
ARENA_MAX = -8  # M_ARENA_MAX of glibc's malloc.h


def home() -> Path:
    """Return the folder of runs and uploads: NLWFA_HOME, or a temporary folder that is deleted when the server stops."""
    return Path(os.environ.get("NLWFA_HOME") or _temporary().name).absolute()


@st.cache_resource(show_spinner=False)
def _temporary() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="nlwfa-lab-", ignore_cleanup_errors=True)


@st.cache_resource(show_spinner=False)
def prepare() -> None:
    """Exclude all objects that exist now from garbage collection, because they stay in memory. To be called once by a server."""
    share_one_heap()
    gc.collect()
    gc.freeze()


def share_one_heap() -> bool:
    """Make all threads of this process allocate from one heap; False if its C library has no such setting.

    glibc gives each thread its own heap, and memory that one thread has freed is not available to the others: a server that draws
    every page in its own thread holds tens of megabytes that are never used. Python's threads take turns anyway, so one heap costs
    no time.
    """
    if os.name != "posix":
        return False
    library = ctypes.CDLL(None)
    return hasattr(library, "mallopt") and bool(library.mallopt(ARENA_MAX, 1))


def trim_memory() -> bool:
    """Collect garbage, and return freed memory to the system. Returns False if the C library can't return memory.

    By itself, glibc returns memory only from the end of its heap, so a small value there can hold back all freed memory before it.
    """
    if os.name != "posix":
        return False
    gc.collect()
    library = ctypes.CDLL(None)
    return hasattr(library, "malloc_trim") and bool(library.malloc_trim(0))


def trim_later(value: object = None) -> None:
    """Call `trim_memory` later, when a value that a cache has just released has been freed."""
    for seconds in TRIM_SECONDS:
        timer = Timer(seconds, trim_memory)
        timer.daemon = True
        timer.start()
