"""Define the command `count`, which counts the strings of a file of any size."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from .. import limits
from ..errors import RecipeError, plural
from ..sources.counting import MAX_DISTINCT, count_text
from ..sources.reading import Reading
from ..sources.recognition import reading_of
from ..sources.string_files import PIECE_BYTES
from .inputs import STRINGS, as_options, errors_naming, file_name
from .outputs import Force, check_new_file, write_file
from .recipe_options import takes_reading
from .terminal import Output


@takes_reading
def count(
    file: Annotated[Path, typer.Argument(help=f"A file of strings, of any size: {STRINGS}")],
    reading: Reading,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="Write the table to this file instead of stdout."),
    ] = None,
    max_distinct: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=limits.LARGEST,
            help="The most distinct strings to hold in memory; beyond that, rare ones are "
            f"dropped. By default {MAX_DISTINCT:,}.",
        ),
    ] = None,
    force: Force = False,
) -> Output:
    """Count the strings of a file, even one larger than the limit on files, and write a table of
    strings and counts that all commands and the lab can read.
    """
    if force and out is None:
        raise RecipeError("--force has no effect without --out: there is no file to replace")
    check_new_file(out, force, (file,))
    with errors_naming(file):
        counted = count_text(_reads_of(file), reading, max_distinct or MAX_DISTINCT)
    sentence = f"read as {counted.format}" + (f": {counted.detail}" if counted.detail else "")
    notes = [reading_of(file_name(file), as_options(sentence)), *map(as_options, counted.notes)]
    notes += filter(None, [counted.bound])
    most = limits.most("strings")
    if counted.num_strings > most:
        notes.append(
            f"{plural(counted.num_strings, 'string')} are more than the {most:,} that a file may "
            "have: raise the limit `strings` to learn from this table."
        )
    table = counted.csv
    if out is None:
        return Output(table.removesuffix("\n"), tuple(notes), is_data=True)
    write_file(out, table)
    summary = f"{plural(counted.num_strings, 'string')}, {len(counted.seen):,} of them distinct"
    return Output(f"{summary}, written to {out}", tuple(notes))


def _reads_of(path: Path) -> Iterator[bytes]:
    """Read a file piece by piece. Raises RecipeError if it can't be read."""
    try:
        if path.is_dir():
            raise RecipeError(f"can't read {path}: it is a folder, and a file is needed")
        with path.open("rb") as file:
            yield from iter(partial(file.read, PIECE_BYTES), b"")
    except OSError as error:
        raise RecipeError(f"can't read {path}: {error.strerror}") from None
