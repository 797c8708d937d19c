"""Single runs and the file that holds them: a CSV that grows by a whole line a run, so a killed command loses one at most."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from .. import limits
from ..errors import RecipeError
from ..store import make_directory, read_capped

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
    """A run and what came out of it, by column; None: not known."""

    run: Run
    values: Mapping[str, Value]


PLACE = tuple(field.name for field in fields(Run))


class RunFile:
    """A CSV file: a run's key, its place, its values in full precision (∞ is inf).

    Runs of other keys, made with other settings or data, stay where they are: nobody's work is deleted.

    Parameters
    ----------
    path : Path
    columns : sequence of str
        Of the values.
    """

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self.path = path
        self.columns = tuple(columns)

    def finished(self) -> dict[str, Finished]:
        """Key -> run. A last line that was cut off counts for nothing.

        Raises
        ------
        RecipeError
            If the file is not such a file.
        """
        rows = csv.reader(io.StringIO(self._whole_lines().decode()))
        header = next(rows, None)
        if header is None:
            return {}
        if tuple(header) != ("key", *PLACE, *self.columns):
            raise RecipeError(f"{self.path} has other columns than these runs: move it away, or choose another folder")
        try:
            return {row[0]: self._read(row) for row in rows}
        except (ValueError, IndexError):
            raise RecipeError(f"{self.path}: line {rows.line_num}: not a run") from None

    def append(self, key: str, done: Finished) -> None:
        """Write one run, at once and to the disk."""
        make_directory(self.path.parent)
        buffer = io.StringIO(newline="")
        writer = csv.writer(buffer, lineterminator="\n")
        whole = self._whole_lines()
        if not whole:
            writer.writerow(("key", *PLACE, *self.columns))
        writer.writerow((key, *astuple(done.run), *(_text(done.values[column]) for column in self.columns)))
        try:
            with self.path.open("ab") as file:
                file.truncate(len(whole))
                file.write(buffer.getvalue().encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise RecipeError(f"can't write {self.path}: {error.strerror}") from None

    def _whole_lines(self) -> bytes:
        data = read_capped(self.path, limits.MAX_FILE_BYTES) if self.path.exists() else b""
        return data[: data.rfind(b"\n") + 1]

    def _read(self, row: Sequence[str]) -> Finished:
        _, settings, learner, rank, size, seed, *values = row
        if len(values) != len(self.columns):
            raise ValueError
        named = zip(self.columns, map(_value, values), strict=True)
        return Finished(Run(settings, learner, int(rank), int(size), int(seed)), dict(named))


def _text(value: Value) -> str:
    return "" if value is None else repr(value)


def _value(text: str) -> Value:
    if not text:
        return None
    return int(text) if text.lstrip("-").isdigit() else float(text)


def of(done: Iterable[Finished], **place: object) -> Iterator[Finished]:
    """The runs at some place.

    >>> done = [Finished(Run("paper", "SP", rank, 100, 0), {}) for rank in (1, 2)]
    >>> [one.run.rank for one in of(done, learner="SP", rank=2)]
    [2]
    """
    return (one for one in done if all(getattr(one.run, name) == value for name, value in place.items()))


def found(done: Iterable[Finished], name: str) -> list[int]:
    """The ranks, sizes or seeds there are, ascending; a reference line's rank 0 is none."""
    return sorted({getattr(one.run, name) for one in done if name != "rank" or one.run.rank})
