"""Single runs, and the CSV file that keeps each of them as soon as it is done."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from .. import limits
from ..errors import RecipeError
from ..files import make_directory, read_capped, write_atomically

Value = float | int | None


@dataclass(frozen=True)
class Run:
    """Where a single run stands in its experiment.

    Attributes
    ----------
    settings : str
        One of `settings.SETTINGS`, or "reference"; for squared functions a transform of H.
    learner : str
        A learner, or a reference line's name.
    rank : int
        0 where there is none.
    size : int
        Training strings; for squared functions the states of f.
    seed : int
        Of the draw or split, and of the learner.
    """

    settings: str
    learner: str
    rank: int
    size: int
    seed: int


@dataclass(frozen=True)
class Finished:
    """A run and what came out of it.

    Attributes
    ----------
    key : str
        Names all that the values depend on.
    run : Run
    values : dict
        By column; None: not known.
    """

    key: str
    run: Run
    values: Mapping[str, Value]


PLACE = tuple(field.name for field in fields(Run))


class RunFile:
    """A CSV file: a row a run, with its key, its place and its values in full precision (∞ is inf).

    Parameters
    ----------
    path : Path
    columns : sequence of str
        Of the values.
    """

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self.path = path
        self.columns = tuple(columns)

    def read(self) -> list[Finished]:
        """What the file holds; nothing where there is none.

        Raises
        ------
        RecipeError
            If the file is not such a file.
        """
        if not self.path.exists():
            return []
        rows = csv.reader(io.StringIO(read_capped(self.path, limits.most("file_bytes")).decode(errors="replace")))
        try:
            if tuple(next(rows, ())) != self._header:
                raise RecipeError(f"{self.path} has other columns than these runs: move it away, or choose another folder")
            return [self._parsed(row) for row in rows]
        except RecipeError:
            raise
        except (ValueError, csv.Error):
            raise RecipeError(f"{self.path}: line {rows.line_num}: not a run") from None

    def add(self, done: Finished) -> None:
        """Keep a run, in the place of what the file has there. The file is written whole: a killed command leaves no half of it."""
        make_directory(self.path.parent)
        kept = {one.run: one for one in self.read()} | {done.run: done}
        buffer = io.StringIO(newline="")
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(self._header)
        for one in kept.values():
            writer.writerow((one.key, *astuple(one.run), *(_text(one.values[column]) for column in self.columns)))
        write_atomically(self.path, buffer.getvalue().encode())

    @property
    def _header(self) -> tuple[str, ...]:
        return ("key", *PLACE, *self.columns)

    def _parsed(self, row: Sequence[str]) -> Finished:
        """Raises ValueError if it can't be."""
        key, settings, learner, rank, size, seed, *values = row
        named = zip(self.columns, map(_value, values), strict=True)
        return Finished(key, Run(settings, learner, int(rank), int(size), int(seed)), dict(named))


def _text(value: Value) -> str:
    return "" if value is None else repr(value)


def _value(text: str) -> Value:
    if not text:
        return None
    return int(text) if text.lstrip("-").isdigit() else float(text)


def of(done: Iterable[Finished], **place: object) -> Iterator[Finished]:
    """The runs at some place.

    >>> done = [Finished("", Run("paper", "SP", rank, 100, 0), {}) for rank in (1, 2)]
    >>> [one.run.rank for one in of(done, learner="SP", rank=2)]
    [2]
    """
    return (one for one in done if all(getattr(one.run, name) == value for name, value in place.items()))


def found(done: Iterable[Finished], name: str) -> list[int]:
    """The ranks, sizes or seeds there are, ascending; a reference line's rank 0 is none."""
    return sorted({getattr(one.run, name) for one in done if name != "rank" or one.run.rank})
