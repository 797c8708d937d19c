"""Whose runs are whose, where many people share a lab. Equal recipes are one run, which any number of people may have in their
list; each names and tags it as they like, and takes it out of their own list alone.

People are known by a pseudonym: a keyed hash of who they are, which nobody can turn back without the secret in the lab's folder.
"""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Collection, Iterable
from pathlib import Path
from time import time
from typing import Any

import sqlalchemy as sa

from ..files import make_directory
from .runs import OWNED, History, checked_name, checked_tags

SECRET, SECRET_BYTES = "secret", 32


def pseudonym(home: Path, who: str) -> str:
    """64 hexadecimal digits for a person or a browser; the same for the same `who` as long as the lab's folder is the same.

    Raises
    ------
    RecipeError
        If the folder can't be made.
    OSError
        If its secret can be neither read nor written.
    """
    return hmac.digest(_secret(home), who.encode("utf-8", "replace"), "sha256").hex()


def _secret(home: Path) -> bytes:
    """Made by whoever comes first; it is whole before it has its name."""
    place = home / SECRET
    if not place.exists():
        make_directory(home)
        fresh = home / f".{SECRET}.{secrets.token_hex(8)}"
        file = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(file, "wb") as writer:
            writer.write(secrets.token_bytes(SECRET_BYTES))
        try:
            os.link(fresh, place)  # unlike a rename, this replaces nothing
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    return place.read_bytes()


class Own:
    """One person's list. Methods as those of `History`, errors too, but what they change is this person's alone."""

    def __init__(self, history: History, owner: str) -> None:
        self._history = history
        self.owner = owner

    def keep(self, keys: Iterable[str], again: bool = False) -> None:
        """Put runs on the list; those that the person has taken out come back only if they are wanted `again`."""
        wanted = list(dict.fromkeys(keys))
        with self._history.reading.connect() as connection:  # mostly all are there, and nobody has to wait for a writer
            left = OWNED.c.removed.is_(None) if again else sa.true()
            here = connection.scalars(sa.select(OWNED.c.run).where(OWNED.c.owner == self.owner, OWNED.c.run.in_(wanted), left))
            missing = set(wanted) - set(here)
        if missing:
            with self._history.writing() as connection:
                known = set(connection.scalars(sa.select(OWNED.c.run).where(OWNED.c.owner == self.owner)))
                fresh = [key for key in wanted if key in missing - known]
                blank = {"owner": self.owner, "name": "", "note": "", "tags": []}
                if fresh:
                    connection.execute(OWNED.insert(), [{**blank, "run": key, "since": time()} for key in fresh])
                if again:
                    connection.execute(OWNED.update().where(*self._mine(missing & known)).values(removed=None, since=time()))

    def rename(self, key: str, name: str) -> None:
        self._set([key], name=checked_name(name))

    def tag(self, key: str, tags: Iterable[str]) -> None:
        self._set([key], tags=checked_tags(tags))

    def delete(self, keys: Collection[str]) -> None:
        """Take runs out of the list; `restore` brings them back."""
        self._set(keys, removed=time())

    def restore(self, keys: Collection[str]) -> None:
        self._set(keys, removed=None)

    def _mine(self, keys: Collection[str]) -> tuple[sa.ColumnElement[bool], ...]:
        return OWNED.c.owner == self.owner, OWNED.c.run.in_(keys)

    def _set(self, keys: Collection[str], **values: Any) -> None:
        with self._history.writing() as connection:
            connection.execute(OWNED.update().where(*self._mine(keys)).values(**values))
