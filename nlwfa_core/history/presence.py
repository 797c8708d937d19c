"""Which servers on a lab's folder are alive: each holds a lock on a file of its own, which the system takes back when it dies,
however it does.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from ..files import make_directory

try:
    import fcntl
except ImportError:  # Windows: a server that starts takes itself for the only one
    fcntl = None  # type: ignore[assignment]

FOLDER = "servers"


class Presence:
    """This process's sign of life, from now until it closes or dies, under a name of its own."""

    def __init__(self, home: Path, name: str) -> None:
        self.name = name
        self._folder = home / FOLDER
        make_directory(self._folder)
        fresh = self._folder / f".{self.name}"
        self._file = os.open(fresh, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        _lock(self._file)
        fresh.rename(self._folder / self.name)  # nobody sees it before it is locked

    def take_dead(self) -> tuple[str, ...]:
        """The names of those that are no more; their files stay until `bury`, so that a crash in between forgets nobody."""
        return tuple(path.name for path in self._folder.iterdir() if not path.name.startswith(".") and self._is_dead(path))

    def bury(self, names: tuple[str, ...]) -> None:
        for name in names:
            (self._folder / name).unlink(missing_ok=True)

    def close(self, dead: bool = False) -> None:
        """Raises nothing: whose file is left will be found dead; it may be left on purpose, for others to tidy up."""
        with suppress(OSError):
            if not dead:
                (self._folder / self.name).unlink(missing_ok=True)
        with suppress(OSError):
            os.close(self._file)

    def _is_dead(self, path: Path) -> bool:
        if path.name == self.name:
            return False
        try:
            file = os.open(path, os.O_RDWR)
        except OSError:
            return False
        try:
            return _lock(file)
        finally:
            os.close(file)


def _lock(file: int) -> bool:
    """Whether nobody else had it."""
    if fcntl is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
    return True
