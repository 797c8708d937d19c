"""The history: a row for every run there was, with what a table of runs shows. Models and whole results stay in their folders,
which are the truth: rows that are missing are made from them.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from time import time
from typing import Any, Self

import sqlalchemy as sa

from ..experiment.recipe import Recipe
from ..experiment.results import Result, load_result
from ..files import SHA256, plain
from ..limits import check_at_most
from ..version import __version__
from .database import connect, reading

STATES = ("queued", "running", "done", "failed", "cancelled", "interrupted")
MAX_NAME, MAX_NOTE, MAX_TAGS, MAX_TAG = 200, 10_000, 20, 40

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Run:
    """A run as the history has it. Numbers that are not finite are the strings "inf", "-inf" and "nan"; moments are seconds
    since 1970.

    Attributes
    ----------
    key : str
        Its recipe's.
    state : str
        One of `STATES`; interrupted: its server stopped before it was done.
    recipe : dict
        JSON; `read_recipe` makes a Recipe of it, where this version can.
    version : str
        Of the lab.
    source, learner, rank, num_strings, seed :
        Of the recipe, for tables; the seed is the learning's.
    name, note, tags : str, str, list of str
        People's.
    scores, validation, diagnostics : dict or None
        As `metrics.Scores` and `diagnostics.Diagnostics`.
    curves : dict or None
        Stage -> {"epochs": …, "losses": …, "measure": …}, thinned.
    seconds : dict or None
        Stage -> wall time.
    sentences : list of str or None
        What the lab said about it.
    message : str or None
        Why it failed.
    server : str
        Which process has it, or had it last.
    submitted, started, ended, deleted : float or None
    """

    key: str
    state: str
    recipe: dict[str, Any]
    version: str
    source: str
    learner: str
    rank: int
    num_strings: int
    seed: int
    name: str = ""
    note: str = ""
    tags: list[str] = field(default_factory=list)
    scores: dict[str, Any] | None = None
    validation: dict[str, Any] | None = None
    diagnostics: dict[str, Any] | None = None
    curves: dict[str, Any] | None = None
    seconds: dict[str, float] | None = None
    sentences: list[str] | None = None
    message: str | None = None
    server: str = ""
    submitted: float = 0.0
    started: float | None = None
    ended: float | None = None
    deleted: float | None = None

    def read_recipe(self) -> Recipe:
        """Raises RecipeError if it is not one for this version."""
        return Recipe(**self.recipe)


JSON = sa.JSON(none_as_null=True)
TYPES: dict[str, Any] = {
    **dict.fromkeys(("recipe", "tags", "scores", "validation", "diagnostics", "curves", "seconds", "sentences"), JSON),
    **dict.fromkeys(("rank", "num_strings", "seed"), sa.Integer),
    **dict.fromkeys(("submitted", "started", "ended", "deleted", "since", "removed"), sa.Float),
}
RUNS = sa.table("runs", *(sa.column(entry.name, TYPES.get(entry.name, sa.Text)) for entry in fields(Run)))
OWNED = sa.table(
    "owned", *(sa.column(name, TYPES.get(name, sa.Text)) for name in ["owner", "run", "name", "note", "tags", "since", "removed"])
)


@dataclass(frozen=True)
class Event:
    """Something that became of a run: it was queued, it runs, it failed …"""

    key: str
    recipe: Recipe
    state: str
    moment: float
    message: str | None = None
    server: str = ""


class History:
    """The runs of a lab. All methods may be called from any thread and process; each change is a transaction of its own."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self.reading = reading(engine)
        self.writing = engine.begin

    @classmethod
    def open(cls, home: Path) -> Self:
        """As `history.database.connect`, errors too."""
        return cls(connect(home))

    def close(self) -> None:
        self._engine.dispose()

    def runs(self, deleted: bool = False) -> list[Run]:
        """All, the newest first; or those that were deleted, the last deleted first. `history.listing.listed` has some of them."""
        order = RUNS.c.deleted if deleted else RUNS.c.submitted
        chosen = RUNS.c.deleted.is_not(None) if deleted else RUNS.c.deleted.is_(None)
        with self.reading.connect() as connection:
            return [_run(row) for row in connection.execute(sa.select(RUNS).where(chosen).order_by(order.desc(), RUNS.c.key))]

    def run(self, key: str) -> Run | None:
        with self.reading.connect() as connection:
            row = connection.execute(sa.select(RUNS).where(RUNS.c.key == key)).one_or_none()
        return None if row is None else _run(row)

    def note(self, events: Iterable[Event | Run]) -> None:
        """Write what became of runs, all or none: a Run replaces all but what people have given it."""
        with self.writing() as connection:
            for event in events:
                _put(connection, event if isinstance(event, Run) else _change(event), event.key)

    def has(self, key: str) -> bool:
        """Whether a run is done here and not deleted."""
        here = RUNS.c.key == key, RUNS.c.state == "done", RUNS.c.deleted.is_(None)
        with self.reading.connect() as connection:
            return connection.execute(sa.select(RUNS.c.key).where(*here)).one_or_none() is not None

    def interrupt(self, servers: Collection[str]) -> list[str]:
        """Mark what servers that are no more have left waiting or running; returns the runs' keys."""
        left = RUNS.c.state.in_(("queued", "running")), RUNS.c.server.in_(servers)
        with self.writing() as connection:
            keys = list(connection.scalars(sa.select(RUNS.c.key).where(*left)))
            connection.execute(RUNS.update().where(*left).values(state="interrupted", ended=time()))
        return keys

    def rebuild(self, folder: Path) -> int:
        """Give rows to runs that are whole on disk and have none, or an unfinished one; returns how many."""
        with self.reading.connect() as connection:
            known = set(connection.scalars(sa.select(RUNS.c.key).where(RUNS.c.state == "done")))
        count = 0
        for place in folder.iterdir() if folder.is_dir() else ():
            if SHA256.fullmatch(place.name) and place.name not in known and (found := read_run(place)):
                self.note([found])
                count += 1
        return count

    def rename(self, key: str, name: str) -> None:
        """Raises RecipeError if the name is too long."""
        self._set([key], name=checked_name(name))

    def annotate(self, key: str, note: str) -> None:
        """Raises RecipeError if the note is too long."""
        check_at_most("characters of a note", len(note), MAX_NOTE)
        self._set([key], note=clean(note))

    def tag(self, key: str, tags: Iterable[str]) -> None:
        """Raises RecipeError if they are too many, or too long."""
        self._set([key], tags=checked_tags(tags))

    def delete(self, keys: Collection[str]) -> None:
        """Hide runs; their folders stay, and `restore` brings them back."""
        self._set(keys, deleted=time())

    def restore(self, keys: Collection[str]) -> None:
        self._set(keys, deleted=None)

    def deleted_for(self, seconds: float) -> list[str]:
        """Runs deleted so long before now, and before the last run or deletion: a clock that is ahead today ages none of them."""
        newest = sa.select(*(sa.func.coalesce(sa.func.max(RUNS.c[name]), 0.0) for name in ("submitted", "deleted")))
        with self.reading.connect() as connection:
            moment = min(time(), max(connection.execute(newest).one())) - seconds
            return list(connection.scalars(sa.select(RUNS.c.key).where(RUNS.c.deleted < moment)))

    def forget(self, key: str) -> None:
        """Take a deleted run's row out for good, unless somebody has brought it back."""
        with self.writing() as connection:
            if connection.execute(RUNS.delete().where(RUNS.c.key == key, RUNS.c.deleted.is_not(None))).rowcount:
                connection.execute(OWNED.delete().where(OWNED.c.run == key))

    def _set(self, keys: Collection[str], **values: Any) -> None:
        with self.writing() as connection:
            connection.execute(RUNS.update().where(RUNS.c.key.in_(keys)).values(**values))


def done(key: str, result: Result, ended: float) -> Run:
    """What the history keeps of a result."""
    curves = {log.stage: {**dict(zip(("epochs", "losses"), log.thinned(), strict=True)), "measure": log.measure}
              for log in result.report.logs}  # fmt: skip
    return Run(
        **_of_recipe(key, result.recipe),
        state="done",
        scores=plain(asdict(result.scores)),
        validation=plain(asdict(result.validation)) if result.validation else None,
        diagnostics=plain(asdict(result.diagnostics)),
        curves=plain(curves),
        seconds=plain(result.seconds),
        sentences=list(result.notes),
        submitted=ended,
        ended=ended,
    )


def read_run(folder: Path) -> Run | None:
    """A run from its folder; None where there is none that is whole."""
    try:
        if not (folder / "result.json").exists():
            return None
        return done(folder.name, load_result(folder), (folder / "result.json").stat().st_mtime)
    except (OSError, TypeError, ValueError, ArithmeticError, AttributeError, LookupError) as error:  # RecipeError is a ValueError
        log.warning("this folder does not hold a sound result: %s", error)
        return None


def checked_name(name: str) -> str:
    check_at_most("characters of a name", len(name), MAX_NAME)
    return clean(name)


def checked_tags(tags: Iterable[str]) -> list[str]:
    chosen = list(dict.fromkeys(filter(None, (clean(tag).strip() for tag in tags))))
    check_at_most("tags", len(chosen), MAX_TAGS)
    check_at_most("characters of a tag", max(map(len, chosen), default=0), MAX_TAG)
    return chosen


def clean(text: str) -> str:
    """Text that any database takes: no lone surrogates, no zero characters."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")


def _of_recipe(key: str, recipe: Recipe) -> dict[str, Any]:
    return {
        "key": key,
        "recipe": recipe.model_dump(mode="json"),
        "version": __version__,
        "source": recipe.data.source,
        "learner": recipe.learning.learner,
        "rank": recipe.learning.rank,
        "num_strings": recipe.data.num_strings,
        "seed": recipe.learning.seed,
    }


def _change(event: Event) -> dict[str, Any]:
    """The columns that an event sets."""
    moment = {"queued": "submitted", "running": "started"}.get(event.state, "ended")
    message = clean(event.message) if event.message else None
    values = {"state": event.state, "message": message, "server": event.server, moment: event.moment, "deleted": None}
    return _of_recipe(event.key, event.recipe) | values


def _put(connection: sa.Connection, change: Run | dict[str, Any], key: str) -> None:
    """Insert or update. A whole run leaves moments, name, note and tags that are there as they are."""
    here = RUNS.c.key == key
    values = dict(vars(change)) if isinstance(change, Run) else change
    if connection.execute(sa.select(RUNS.c.key).where(here)).one_or_none() is None:
        blank = {"name": "", "note": "", "tags": [], "server": "", "submitted": time()}
        connection.execute(RUNS.insert().values(**{**blank, **values}))
        return
    if isinstance(change, Run):
        for own in ("name", "note", "tags", "server", "submitted", "started"):
            del values[own]
    connection.execute(RUNS.update().where(here).values(**values))


def _run(row: sa.Row[Any]) -> Run:
    return Run(**row._mapping)
