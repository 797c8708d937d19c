"""Find this server's folder of files, and return memory that visitors have left.

Source: https://man7.org/linux/man-pages/man3/malloc_trim.3.html.
"""

from __future__ import annotations

import ctypes
import gc
import math
import os
import tempfile
from importlib import import_module
from pathlib import Path
from threading import Lock, Timer
from time import monotonic

import streamlit as st

from nlwfa_core.display.machine import folder_bytes

ASSETS = Path(__file__).resolve().parents[2] / "assets"
SHIPPED = ASSETS / "results"
# Seconds after which to free memory when a browser has left or its session was closed: the first
# collection of garbage only closes what the session held, the second one frees it.
TRIM_SECONDS = (2.0, 15.0)
TRIM_EVERY = 10.0  # seconds: when a whole class leaves, memory is not freed for each browser

_guard = Lock()
_due: set[int] = set()  # when memory will be freed, in units of TRIM_EVERY


def home() -> Path:
    """Return the folder of runs and uploads: NLWFA_HOME, or a temporary folder that is deleted when
    the server stops.
    """
    return Path(os.environ.get("NLWFA_HOME") or _temporary().name).absolute()


def how_long_uploads_stay() -> str:
    """State until when the server keeps uploaded files."""
    if os.environ.get("NLWFA_HOME"):
        return "until the space is needed for other files and yours have been unused the longest"
    return "until the server stops"


@st.cache_data(max_entries=256, ttl=60, show_spinner=False)
def bytes_on_disk(part: str = "") -> int:
    """Return the size of the lab's folder, or of a folder in it, in bytes; the value may be a
    minute old.
    """
    return folder_bytes(home() / part)


@st.cache_resource(show_spinner=False)
def _temporary() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="nlwfa-lab-", ignore_cleanup_errors=True)


def prepare() -> None:
    """Exclude all objects that exist now from garbage collection, because they stay in memory.

    Call this once, when the server starts: after its imports, and before the first visitor,
    whose session must not stay.
    """
    for path in (ASSETS.parent / "pages" / "views").glob("[a-z]*.py"):
        # otherwise the first visitor of each page waits for it
        import_module(f"pages.views.{path.stem}")
    gc.collect()
    gc.freeze()


def trim_memory() -> bool:
    """Collect garbage, and return freed memory to the system. Returns False if the C library can't
    return memory.

    By itself, glibc returns memory only from the end of its heap, so a small value there can hold
    back all freed memory before it.
    """
    if os.name != "posix":
        return False
    gc.collect()
    library = ctypes.CDLL(None)
    return hasattr(library, "malloc_trim") and bool(library.malloc_trim(0))


def trim_later(value: object = None) -> None:
    """Call `trim_memory` later, when a value that a cache has just released has been freed."""
    for seconds in TRIM_SECONDS:
        due = math.ceil((monotonic() + seconds) / TRIM_EVERY)
        with _guard:
            if due in _due:
                continue
            _due.add(due)
        timer = Timer(due * TRIM_EVERY - monotonic(), _trim, [due])
        timer.daemon = True
        timer.start()


def _trim(due: int) -> None:
    with _guard:
        _due.discard(due)
    trim_memory()


def trim_after_session() -> None:
    """Call `trim_later` when this session's browser leaves. Call this in each run; only the
    first has an effect.

    It also has no effect outside a server, for example where `multiprocessing` imports app.py into
    another process.
    """
    if st.runtime.exists():
        _until_the_session_ends()


@st.cache_resource(scope="session", show_spinner=False, on_release=trim_later)
def _until_the_session_ends() -> object:
    return object()
