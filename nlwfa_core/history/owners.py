"""Keep people's own lists of runs, for labs that many people share.

Equal recipes are one run, which may be on any number of lists; people name, tag and delete it on
their own list only.

People are stored under a pseudonym: a keyed hash of their identity, which can't be reversed without
the secret in the lab's folder.
"""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from time import time

import sqlalchemy as sa

from ..files import make_directory
from .runs import OWNED, History, RunLabels

SECRET = "secret"
SECRET_BYTES = 32


def pseudonym(home: Path, who: str) -> str:
    """Make 64 hexadecimal digits for a person or a browser. In one lab's folder, the same `who`
    always gets the same digits.

    Raises RecipeError if the folder can't be created. Raises OSError if its secret can be neither
    read nor written.
    """
    return hmac.digest(_secret(home), who.encode("utf-8", "replace"), "sha256").hex()


def _secret(home: Path) -> bytes:
    """Read the lab's secret, or create it. The file is complete before it gets its name."""
    path = home / SECRET
    if not path.exists():
        make_directory(home)
        fresh = home / f".{SECRET}.{secrets.token_hex(8)}"
        file = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(file, "wb") as writer:
            writer.write(secrets.token_bytes(SECRET_BYTES))
        try:
            os.link(fresh, path)  # unlike a rename, this replaces nothing
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    return path.read_bytes()


class OwnList(RunLabels):
    """One person's list of runs. Its methods change this list only.

    `owner`: the person's pseudonym.
    """

    def __init__(self, history: History, owner: str) -> None:
        super().__init__(history.engine, OWNED, "run", "removed", [OWNED.c.owner == owner])
        self.owner = owner

    def add(self, keys: Iterable[str], again: bool = False) -> None:
        """Add runs to the list.

        Runs that the person has deleted from it are added only if `again` is true.
        """
        keys = list(dict.fromkeys(keys))
        # Usually all are there: reading shows it without waiting for a writer.
        counts_as_there = OWNED.c.removed.is_(None) if again else sa.true()
        with self.reading.connect() as connection:
            query = sa.select(OWNED.c.run).where(*self._rows(keys), counts_as_there)
            missing = set(keys) - set(connection.scalars(query))
        if not missing:
            return
        with self.writing() as connection:
            query = sa.select(OWNED.c.run).where(*self._rows(missing))
            existing = set(connection.scalars(query))
            blank = {"owner": self.owner, "name": "", "tags": [], "since": time()}
            rows = [{**blank, "run": key} for key in keys if key in missing - existing]
            if rows:
                connection.execute(OWNED.insert(), rows)
            if again:
                restored = OWNED.update().where(*self._rows(existing))
                connection.execute(restored.values(removed=None, since=time()))
