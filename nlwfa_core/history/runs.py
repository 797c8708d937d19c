"""Define the table of runs: a row for every run, with everything that tables of runs show.

Models and whole results stay in their folders, from which missing rows can be made.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import sqlalchemy as sa
from pydantic import Field, TypeAdapter, ValidationError
from sqlalchemy.exc import OperationalError
from typing_extensions import TypedDict

from ..errors import check_extra
from ..experiment.recipe import Recipe
from ..experiment.results import Result, load_result
from ..files import SHA256, __version__, plain
from ..limits import check_at_most
from .database import FILE, connect, is_own, reading, set_aside

if TYPE_CHECKING:
    import pandas as pd

STATES = ("queued", "running", "done", "failed", "cancelled", "interrupted")
STATE_WORDS = {"queued": "waiting"}  # other states are shown by their name
REASONS = {
    "interrupted": "Its server stopped before the run finished.",
    "cancelled": "The run was cancelled before it finished.",
}
MAX_NAME = 200
MAX_TAGS = 20
MAX_TAG = 40

# The columns of `History.to_frame` before the scores.
FRAME = (
    "key",
    "state",
    "name",
    "source",
    "learner",
    "rank",
    "num_strings",
    "seed",
    "version",
    "submitted",
)
# A number in JSON, and a moment, in seconds since 1970, that a calendar can show.
Number = float | Literal["inf", "-inf", "nan"]
Moment = Annotated[float, Field(ge=0, le=4e9)]
DAMAGED = "A part of this row of the history is damaged, and is left out."

log = logging.getLogger(__name__)


class Curve(TypedDict):
    """A stage's losses."""

    epochs: list[int]
    losses: list[Number]
    measure: str
    state: str
    summary: str


@dataclass(frozen=True, eq=False)
class Run:
    """A row of the table, with one field for each column.

    Numbers that are not finite are the strings "inf", "-inf" and "nan"; points in time are
    seconds since 1970.
    """

    key: str  # the key of its recipe
    state: str  # one of `STATES`; "interrupted" if its server stopped before it was done
    recipe: dict[str, Any]  # JSON that `read_recipe` turns into a Recipe
    version: str  # the version of the lab that ran it
    # source, learner, rank, num_strings, seed: from the recipe, for tables; the seed is
    # `Recipe.seed`
    source: str
    learner: str
    rank: int
    num_strings: int
    seed: int
    name: str = ""  # name, tags: the labels that people have given the run
    tags: list[str] = field(default_factory=list)
    # scores, validation, diagnostics: as `metrics.Scores` and `diagnostics.Diagnostics`
    scores: dict[str, Any] | None = None
    validation: dict[str, Any] | None = None
    diagnostics: dict[str, Any] | None = None
    # stage -> a `Curve`: some of the epochs with their losses, and the measure, the state and the
    # summary of its `progress.TrainingLog`
    curves: dict[str, Any] | None = None
    seconds: dict[str, float] | None = None  # stage -> wall time
    sentences: list[str] | None = None  # sentences for the user about data, basis and learning
    message: str | None = None  # why it failed
    server: str = ""  # the name of the server process that runs it, or was the last to do so
    submitted: float = 0.0
    started: float | None = None
    ended: float | None = None
    deleted: float | None = None

    def read_recipe(self) -> Recipe:
        """Read the recipe of a row. Raises RecipeError if it is not valid."""
        return Recipe(**self.recipe)


# What pages rely on in a row.
SOUND: dict[str, Any] = {
    "state": Literal["queued", "running", "done", "failed", "cancelled", "interrupted"],
    "tags": list[str],
    "scores": dict[str, Number | None] | None,
    "validation": dict[str, Number | None] | None,
    "diagnostics": dict[str, Number | list[str] | None] | None,
    "curves": dict[str, Curve] | None,
    "seconds": dict[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]] | None,
    "sentences": list[str] | None,
    "recipe": dict[str, Any],
    **dict.fromkeys(("key", "version", "source", "learner", "name", "server"), str),
    "message": str | None,
    **dict.fromkeys(("rank", "num_strings", "seed"), int),
    "submitted": Moment,
    **dict.fromkeys(("started", "ended", "deleted"), Moment | None),
}
SOUND_VALUES = {name: TypeAdapter(kind) for name, kind in SOUND.items()}
BLANK: dict[str, Any] = {
    "state": "failed",
    "recipe": {},
    **dict.fromkeys(("rank", "num_strings", "seed"), 0),
}


def run_of_row(row: Mapping[Any, Any]) -> Run:
    """Read a row of the table.

    Values that are damaged are left out, and the run's message says so.
    """
    values = dict(row)
    is_damaged = False
    for name, value in row.items():
        try:
            SOUND_VALUES[name].validate_python(value, strict=True)
        except ValidationError:
            is_damaged = True
            values[name] = BLANK.get(name, _default(name))
    if is_damaged:
        log.warning("The history's row of run %s is damaged", values["key"])
        values["message"] = " ".join(filter(None, (values.get("message"), DAMAGED)))
    return Run(**values)


def _default(name: str) -> Any:
    column = Run.__dataclass_fields__[name]
    if column.default_factory is not MISSING:
        return column.default_factory()
    return "" if column.default is MISSING else column.default


JSON = sa.JSON(none_as_null=True)
TYPES: dict[str, Any] = {
    **dict.fromkeys(
        ("recipe", "tags", "scores", "validation", "diagnostics", "curves", "seconds", "sentences"),
        JSON,
    ),
    **dict.fromkeys(("rank", "num_strings", "seed"), sa.Integer),
    **dict.fromkeys(("submitted", "started", "ended", "deleted", "since", "removed"), sa.Float),
}
RUNS = sa.table(
    "runs", *(sa.column(entry.name, TYPES.get(entry.name, sa.Text)) for entry in fields(Run))
)
OWNED = sa.table(
    "owned",
    *(
        sa.column(name, TYPES.get(name, sa.Text))
        for name in ["owner", "run", "name", "tags", "since", "removed"]
    ),
)


@dataclass(frozen=True)
class Event:
    """A change of a run's state: queued, started, failed …"""

    key: str
    recipe: Recipe
    state: str
    moment: float
    message: str | None = None
    server: str = ""


Conditions = Sequence[sa.ColumnElement[bool]]


class RunLabels:
    """Names, tags and deletions of runs, in everyone's list (`History`) or one person's
    (`owners.OwnList`).

    `key` and `removed`: the columns with a run's key and the time when it was deleted.
    `conditions`: conditions that select the list's rows.
    """

    def __init__(
        self,
        engine: sa.Engine,
        table: sa.TableClause,
        key: str,
        removed: str,
        conditions: Conditions,
    ) -> None:
        self.reading = reading(engine)
        self.writing = engine.begin
        self._table = table
        self._key = key
        self._removed = removed
        self._conditions = conditions

    def rename(self, key: str, name: str) -> None:
        """Name a run. Raises RecipeError if the name is too long."""
        check_at_most("the length of a name", len(name), MAX_NAME)
        self._set([key], name=clean(name))

    def tag(self, key: str, tags: Iterable[str]) -> None:
        """Set a run's tags. Raises RecipeError if there are too many or one is too long."""
        distinct = list(dict.fromkeys(filter(None, (clean(tag).strip() for tag in tags))))
        check_at_most("the number of tags", len(distinct), MAX_TAGS)
        check_at_most("the length of a tag", max(map(len, distinct), default=0), MAX_TAG)
        self._set([key], tags=distinct)

    def delete(self, keys: Collection[str]) -> None:
        """Hide runs from the list; their folders stay, and `restore` brings them back."""
        self._set(keys, **{self._removed: time()})

    def restore(self, keys: Collection[str]) -> None:
        self._set(keys, **{self._removed: None})

    def _rows(self, keys: Collection[str]) -> tuple[sa.ColumnElement[bool], ...]:
        return *self._conditions, self._table.c[self._key].in_(keys)

    def _set(self, keys: Collection[str], **values: Any) -> None:
        with self.writing() as connection:
            connection.execute(self._table.update().where(*self._rows(keys)).values(**values))


class History(RunLabels):
    """The runs of a lab.

    All methods may be called from any thread and process; each change is a transaction of its own.
    """

    def __init__(self, engine: sa.Engine) -> None:
        super().__init__(engine, RUNS, "key", "deleted", [])
        self.engine = engine

    @classmethod
    def open(cls, home: Path, busy_seconds: int | None = None) -> Self:
        """Open the history of a lab's folder. Raises what `history.database.connect` raises."""
        engine = connect(home, busy_seconds)
        try:
            with reading(engine).connect() as connection:
                for table in (RUNS, OWNED):
                    connection.execute(sa.select(table).limit(0))
        except OperationalError:
            if not is_own(engine, home):
                raise
            engine.dispose()
            # its tables do not have the columns they should: the file is damaged
            set_aside(home / FILE)
            engine = connect(home, busy_seconds)
        return cls(engine)

    def close(self) -> None:
        self.engine.dispose()

    def note(self, events: Iterable[Event | Run]) -> None:
        """Write events and whole runs, all or none.

        A Run replaces its whole row except for the name and tags that people gave it.
        """
        with self.writing() as connection:
            for event in events:
                _put(connection, event if isinstance(event, Run) else _change(event), event.key)

    def has(self, key: str) -> bool:
        """Return whether a run is done and not deleted."""
        here = RUNS.c.key == key, RUNS.c.state == "done", RUNS.c.deleted.is_(None)
        with self.reading.connect() as connection:
            return connection.execute(sa.select(RUNS.c.key).where(*here)).one_or_none() is not None

    def interrupt(self, servers: Collection[str]) -> list[str]:
        """Mark the waiting and running runs of servers that have stopped; returns their keys."""
        unfinished = RUNS.c.state.in_(("queued", "running")), RUNS.c.server.in_(servers)
        with self.writing() as connection:
            keys = list(connection.scalars(sa.select(RUNS.c.key).where(*unfinished)))
            connection.execute(
                RUNS.update().where(*unfinished).values(state="interrupted", ended=time())
            )
        return keys

    def rebuild(self, folder: Path) -> int:
        """Make rows from the folders of finished runs whose row is missing or unfinished; returns
        how many.
        """
        with self.reading.connect() as connection:
            done = set(connection.scalars(sa.select(RUNS.c.key).where(RUNS.c.state == "done")))
        count = 0
        for path in folder.iterdir() if folder.is_dir() else ():
            if SHA256.fullmatch(path.name) and path.name not in done and (run := read_run(path)):
                self.note([run])
                count += 1
        return count

    def uploads(self) -> set[str]:
        """Return the names of all uploaded files that the runs of the table read."""
        with self.reading.connect() as connection:
            recipes = list(
                connection.scalars(sa.select(RUNS.c.recipe).where(RUNS.c.source == "upload"))
            )
        options = (recipe.get("data") for recipe in recipes if isinstance(recipe, dict))
        values = (value for data in options if isinstance(data, dict) for value in data.values())
        return {value for value in values if isinstance(value, str) and SHA256.fullmatch(value)}

    def to_frame(self) -> pd.DataFrame:
        """Make a data frame of all runs that are not deleted, the last submitted first: options,
        scores, and total seconds.

        Raises MissingExtra without pandas.
        """
        check_extra("pandas", "pandas")
        import pandas as pd

        with self.reading.connect() as connection:
            newest = (
                sa.select(RUNS)
                .where(RUNS.c.deleted.is_(None))
                .order_by(RUNS.c.submitted.desc(), RUNS.c.key)
            )
            runs = [run_of_row(row) for row in connection.execute(newest).mappings()]
        rows = []
        for run in runs:
            scores = {
                name: None if value is None else float(value)
                for name, value in (run.scores or {}).items()
            }
            seconds = sum(run.seconds.values()) if run.seconds else None
            rows.append(
                {name: getattr(run, name) for name in FRAME} | {"seconds": seconds} | scores
            )
        frame = pd.DataFrame(rows, columns=None if rows else [*FRAME, "seconds"])
        return frame.set_index("key")

    def deleted_for(self, seconds: float) -> list[str]:
        """List the runs deleted this long before the last run or deletion, or before now if that is
        earlier, because a clock may be ahead.
        """
        newest = sa.select(
            *(sa.func.coalesce(sa.func.max(RUNS.c[name]), 0.0) for name in ("submitted", "deleted"))
        )
        with self.reading.connect() as connection:
            moment = min(time(), max(connection.execute(newest).one())) - seconds
            return list(connection.scalars(sa.select(RUNS.c.key).where(RUNS.c.deleted < moment)))

    def forget(self, key: str) -> None:
        """Remove a deleted run's row permanently, unless somebody has restored it."""
        with self.writing() as connection:
            if connection.execute(
                RUNS.delete().where(RUNS.c.key == key, RUNS.c.deleted.is_not(None))
            ).rowcount:
                connection.execute(OWNED.delete().where(OWNED.c.run == key))


def run_of_result(key: str, result: Result, ended: float) -> Run:
    """Return the row of a finished run."""
    curves = {}
    for log in result.report.logs:
        epochs, losses = log.thinned()
        about = {"measure": log.measure, "state": log.state, "summary": log.summary}
        curves[log.stage] = {"epochs": epochs, "losses": losses} | about
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
    """Return the row of the run in a folder; None if the folder does not hold a valid result."""
    try:
        if not (folder / "result.json").exists():
            return None
        return run_of_result(
            folder.name, load_result(folder), (folder / "result.json").stat().st_mtime
        )
    # RecipeError is a ValueError
    except (OSError, TypeError, ValueError, ArithmeticError, AttributeError, LookupError) as error:
        log.warning("%s does not hold a valid result: %s", folder, error)
        return None


def clean(text: str) -> str:
    """Replace characters that some databases refuse: lone surrogates and null characters."""
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
        "seed": recipe.seed,
    }


def _change(event: Event) -> dict[str, Any]:
    """Return the columns that an event sets."""
    moment = {"queued": "submitted", "running": "started"}.get(event.state, "ended")
    message = clean(event.message) if event.message else None
    values = {
        "state": event.state,
        "message": message,
        "server": event.server,
        moment: event.moment,
        "deleted": None,
    }
    return _of_recipe(event.key, event.recipe) | values


def _put(connection: sa.Connection, change: Run | dict[str, Any], key: str) -> None:
    """Insert or update a row.

    A whole run does not change the row's name, tags, server and times.
    """
    here = RUNS.c.key == key
    values = dict(vars(change)) if isinstance(change, Run) else change
    if connection.execute(sa.select(RUNS.c.key).where(here)).one_or_none() is None:
        blank = {"name": "", "tags": [], "server": "", "submitted": time()}
        connection.execute(RUNS.insert().values(**{**blank, **values}))
        return
    if isinstance(change, Run):
        for column in ("name", "tags", "server", "submitted", "started"):
            del values[column]
    connection.execute(RUNS.update().where(here).values(**values))
