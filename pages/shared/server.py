"""Find this server's folder of files, and limit its use of memory.

Source: https://man7.org/linux/man-pages/man3/mallopt.3.html.
"""

from __future__ import annotations

import ctypes
import gc
import math
import os
import tempfile
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from threading import Event, Lock, Timer
from time import monotonic

import streamlit as st

from nlwfa_core.display.machine import folder_bytes

ASSETS = Path(__file__).resolve().parents[2] / "assets"
SHIPPED = ASSETS / "results"
# Seconds after which to free memory when a browser has left: soon, and again two minutes later,
# when Streamlit may drop the session and its files: the first collection of garbage only closes the
# session, the second one frees it.
TRIM_SECONDS = (2.0, 125.0, 140.0)
TRIM_EVERY = 10.0  # seconds: when a whole class leaves, memory is not freed for each browser
DROP_SECONDS = 5.0  # how long to wait for Streamlit's own thread
# M_ARENA_MAX, M_TRIM_THRESHOLD, M_MMAP_THRESHOLD of glibc's malloc.h
ARENA_MAX, TRIM_THRESHOLD, MMAP_THRESHOLD = -8, -1, -3
LARGE_BLOCK = 2**21  # bytes

_guard = Lock()
_due: set[int] = set()  # when memory will be freed, in units of TRIM_EVERY


def home() -> Path:
    """Return the folder of runs and uploads: NLWFA_HOME, or a temporary folder that is deleted when
    the server stops.
    """
    return Path(os.environ.get("NLWFA_HOME") or _temporary().name).absolute()


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

    To be called once, when the server starts: after its imports, and before the first visitor,
    whose session must not stay.
    """
    share_one_heap()
    return_large_blocks()
    for path in (ASSETS.parent / "pages" / "views").glob("[a-z]*.py"):
        # otherwise the first visitor of each page waits for it
        import_module(f"pages.views.{path.stem}")
    gc.collect()
    gc.freeze()


def share_one_heap() -> bool:
    """Make all threads of this process allocate from one heap; False if its C library has no such
    setting.

    glibc gives each thread its own heap, and memory that one thread has freed is not available to
    the others: a server that draws every page in its own thread holds tens of megabytes that are
    never used. Python's threads take turns anyway, so one heap costs no time.
    """
    return _set_allocator(ARENA_MAX, 1)


def return_large_blocks() -> bool:
    """Make freed blocks of `LARGE_BLOCK` bytes or more go back to the system at once; False if the
    C library has no such setting.

    By default, glibc raises both limits to the size of the largest array that was freed. Strings of
    an uploaded file then come from a heap, which shrinks only at its end, and `trim_memory` does
    not reach the ends of heaps that threads had before `share_one_heap`.
    """
    return _set_allocator(MMAP_THRESHOLD, LARGE_BLOCK) and _set_allocator(
        TRIM_THRESHOLD, LARGE_BLOCK
    )


def _set_allocator(parameter: int, value: int) -> bool:
    if os.name != "posix":
        return False
    library = ctypes.CDLL(None)
    return hasattr(library, "mallopt") and bool(library.mallopt(parameter, value))


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


def drop_sessions() -> bool:
    """Have Streamlit drop the sessions whose browsers left more than two minutes ago, with their
    uploaded files.

    Streamlit looks for them only when the next browser leaves. On a quiet server, the last
    visitor's strings would stay for hours. Returns whether Streamlit has answered.
    """
    if not st.runtime.exists():
        return False
    runtime, done = st.runtime.get_instance(), Event()

    def look() -> None:
        runtime._session_mgr._session_storage._cache.expire()
        done.set()

    with suppress(RuntimeError):  # the server is stopping
        runtime._get_async_objs().eventloop.call_soon_threadsafe(look)
        return done.wait(DROP_SECONDS)
    return False


def trim_later(value: object = None) -> None:
    """Call `drop_sessions` and `trim_memory` later, when a value that a cache has just released has
    been freed.
    """
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
    drop_sessions()
    trim_memory()


def trim_after_session() -> None:
    """Call `trim_later` when this session's browser leaves. To be called in each run; only the
    first has an effect.

    Nor has it an effect outside a server, as where `multiprocessing` imports app.py into another
    process.
    """
    if st.runtime.exists():
        _until_the_session_ends()


@st.cache_resource(scope="session", show_spinner=False, on_release=trim_later)
def _until_the_session_ends() -> object:
    return object()
