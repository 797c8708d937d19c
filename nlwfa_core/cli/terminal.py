"""What all commands share: errors as one line, a progress bar on terminals, reading and writing files.

A command returns its `Output`. Nothing is printed before it has succeeded, so a command that fails leaves stdout empty.
"""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from .. import limits
from ..errors import Cancelled, FormatError, RecipeError, sentence_of
from ..files import read_capped, write_atomically
from ..learning.progress import Progress, Report, silent
from ..sources.counting import count_strings
from ..sources.files import PIECE_BYTES, StringFile, begins_as_pautomac, quoted, read_as, read_strings
from ..sources.recognition import reading_of
from ..strings.sample import Sample
from ..strings.words import Alphabet, Words

BAD_INPUT, INTERRUPTED = 2, 130

# Options that several commands have.
STRINGS = "PAutomaC or SPiCe, a string a line, CSV with counts, or JSON lines."
Seed = Annotated[int, typer.Option(help="Equal seeds, equal results.")]
Format = Annotated[str, typer.Option(help="auto, pautomac, characters, tokens, csv or json.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@dataclass(frozen=True)
class Output:
    """The text that a command prints.

    Attributes
    ----------
    text : str
        For stdout.
    notes : tuple of str
        For stderr, one line each.
    """

    text: str
    notes: tuple[str, ...] = ()


def execute(app: typer.Typer, arguments: Sequence[str] | None) -> int:
    """Run a command and print its output.

    Parameters
    ----------
    app : typer.Typer
        Its commands return an `Output`.
    arguments : sequence of str or None
        None: those of this process, whose warnings are then switched off.

    Returns
    -------
    int
        The exit code: 0; 2 and one line on stderr for input that can't be used; 130 after Ctrl-C.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without λ shows \u03bb
    if arguments is None and not sys.warnoptions:
        warnings.simplefilter("ignore")  # what users have to know is in the notes
    try:
        limits.check_settings()
        outcome = app(args=arguments, prog_name="nlwfa", standalone_mode=False)
        if isinstance(outcome, Output):
            _print(outcome)
        # typer turns Ctrl-C into this exit code, and returns 0 after --help.
        return _fail("interrupted", INTERRUPTED) if outcome == INTERRUPTED else 0
    except (KeyboardInterrupt, Cancelled, typer.Abort):
        return _fail("interrupted", INTERRUPTED)
    except typer.TyperException as error:
        return _fail(f"{error.format_message()} See nlwfa --help.")
    except RecipeError as error:
        return _fail(str(error))
    except SystemExit:
        return 0  # from typer, when a reader such as `head` closes the pipe before the help text ends
    except MemoryError as error:
        return _fail(sentence_of(error))


def _print(output: Output) -> None:
    try:
        print(output.text, flush=True)
    except BrokenPipeError:
        # A reader such as `head` has closed the pipe. The interpreter must not write the rest of the buffer when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise RecipeError(f"can't write the output: {error.strerror}") from None
    for note in output.notes:
        print(_one_line(note), file=sys.stderr)


def _fail(message: str, code: int = BAD_INPUT) -> int:
    print(_one_line(message if code == INTERRUPTED else f"error: {message}"), file=sys.stderr)
    return code


def _one_line(message: str) -> str:
    return " ".join(message.split())


@contextmanager
def progress_bar() -> Iterator[Report]:
    """Make a `report` callback that draws a progress bar on stderr if that is a terminal, and does nothing otherwise."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield silent
        return
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("{task.fields[loss]}"),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, progress.TaskID] = {}

        def report(step: Progress) -> None:
            if step.stage not in tasks:
                tasks[step.stage] = bar.add_task(step.stage, total=step.total, loss="")
            loss = "" if step.loss is None else f"{step.measure} {step.loss:.4g}"
            bar.update(tasks[step.stage], completed=step.step, total=step.total, loss=loss)

        yield report


@contextmanager
def errors_naming(path: Path) -> Iterator[None]:
    """Prefix errors about a file's content with the file's name."""
    try:
        yield
    except FormatError as error:
        raise RecipeError(f"{path}: {error}") from None


def read_bytes(path: Path) -> bytes:
    """Read a file up to the limit on its size. Raises RecipeError if that fails."""
    return read_capped(path, limits.most("file_bytes"))


def read_words(path: Path, format: str, alphabet: Alphabet | None = None) -> StringFile:
    """Read the strings of a file, as `sources.files.read_strings` does. The first note says how; an error names the file."""
    data = read_bytes(path)
    with errors_naming(path):
        file = read_strings(data, format, alphabet)
    return replace(file, notes=(reading_of(file_name(path), file.reading), *file.notes))


def read_sample(path: Path, format: str, max_distinct: int) -> tuple[Sample, tuple[str, ...]]:
    """Read and count training strings, with notes, the first on how they were read. PAutomaC and SPiCe files may have any size."""
    try:
        with path.open("rb") as file, errors_naming(path):
            head = file.read(PIECE_BYTES)
            if format == "pautomac" or (format == "auto" and begins_as_pautomac(head)):
                counts = count_strings(chain([head], iter(partial(file.read, PIECE_BYTES), b"")), max_distinct)
                sample = counts.sample()
                reading = read_as("pautomac", sample.alphabet.symbols)
                return sample, (reading_of(file_name(path), reading), *counts.notes, *filter(None, [counts.bound]))
            limits.check_at_most(f"the size of {path} in bytes", os.fstat(file.fileno()).st_size, limits.most("file_bytes"))
            whole = read_strings(head + file.read(limits.most("file_bytes")), format)
            return whole.sample(), (reading_of(file_name(path), whole.reading), *whole.notes)
    except OSError as error:
        raise RecipeError(f"can't read {path}: {error.strerror}") from None


def read_known_words(path: Path, format: str, alphabet: Alphabet) -> StringFile:
    """Read strings for a model over `alphabet`.

    Raises
    ------
    RecipeError
        If the file can't be read, or a string has a symbol that is not in the alphabet.
    """
    file = read_words(path, format, alphabet)
    check_known(path, file.words, file.alphabet, alphabet)
    return file


def check_known(path: Path, words: Words, used: Alphabet, alphabet: Alphabet) -> None:
    """Raise RecipeError if a word has a symbol outside `alphabet`. The words are over `used`, which starts with `alphabet`."""
    for position in np.flatnonzero(words.symbols >= len(alphabet))[:1]:
        number = int(np.searchsorted(words.offsets, position, side="right"))
        symbol = quoted(used.symbols[words.symbols[position]])
        raise RecipeError(f"{path}: string {number:,}: symbol {symbol} is not in the model's alphabet of {alphabet.summary}")


def write_file(path: Path, text: str) -> None:
    """Write a file completely or not at all. A link is followed; a device or pipe is written to directly."""
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
        else:
            write_atomically(Path(os.path.realpath(path)), text.encode())
    except OSError as error:
        raise RecipeError(f"can't write {path}: {error.strerror}") from None


def check_writable(directory: Path) -> None:
    """Raise RecipeError if a folder can't be made or written to, so that this is known before hours of training."""
    try:
        parent = next(path for path in (directory.absolute(), *directory.absolute().parents) if path.exists())
        writable = os.access(parent, os.W_OK | os.X_OK)
        reason = "Not a directory" if not parent.is_dir() else "" if writable else "Permission denied"
    except OSError as error:
        reason = str(error.strerror)
    if reason:
        raise RecipeError(f"can't write to {directory}: {reason}")


def peak_memory() -> str:
    """Say how much memory this process has used at most."""
    try:
        import resource
    except ImportError:  # Windows
        return "not known here"
    unit = 1 if sys.platform == "darwin" else 1024
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20:,.0f} MiB at the peak"


def file_name(path: Path) -> str:
    """The last part of a path, as text that can be written as UTF-8 whatever its bytes are."""
    return os.fsencode(path.name).decode("utf-8", "replace")
