"""What every command has in common: one line for an error, a progress bar on a terminal, files read and written.

A command returns its `Output`; nothing is printed before it has succeeded, so a failed one leaves stdout empty.
"""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
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
from ..sources.files import PIECE_BYTES, StringFile, begins_as_pautomac, quoted, read_strings
from ..strings.sample import Sample
from ..strings.words import Alphabet, Words

BAD_INPUT, INTERRUPTED = 2, 130

# Options that several commands have.
STRINGS = "PAutomaC or SPiCe, a string a line, or CSV with counts."
Seed = Annotated[int, typer.Option(help="Equal seeds, equal results.")]
Format = Annotated[str, typer.Option(help="auto, pautomac, characters, tokens or csv.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@dataclass(frozen=True)
class Output:
    """What a command has to say.

    Attributes
    ----------
    text : str
        For stdout.
    notes : tuple of str
        For stderr, a line each.
    """

    text: str
    notes: tuple[str, ...] = ()


def execute(app: typer.Typer, arguments: Sequence[str] | None) -> int:
    """Run a command and print what it returns.

    Parameters
    ----------
    app : typer.Typer
        Its commands return an `Output`.
    arguments : sequence of str or None
        None: those of this process, which is then ours alone.

    Returns
    -------
    int
        The exit code: 0; 2 for input that can't be used, with one line on stderr; 130 after Ctrl-C.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without λ shows \u03bb
    if arguments is None and not sys.warnoptions:
        warnings.simplefilter("ignore")  # what matters to users comes as notes
    try:
        limits.check_settings()
        outcome = app(args=arguments, prog_name="nlwfa", standalone_mode=False)
        if isinstance(outcome, Output):
            _print(outcome)
        # typer itself turns Ctrl-C into an exit code; 0 is that of --help.
        return _fail("interrupted", INTERRUPTED) if outcome == INTERRUPTED else 0
    except (KeyboardInterrupt, Cancelled, typer.Abort):
        return _fail("interrupted", INTERRUPTED)
    except typer.TyperException as error:
        return _fail(f"{error.format_message()} See nlwfa --help.")
    except RecipeError as error:
        return _fail(str(error))
    except SystemExit:
        return 0  # typer's answer, on its way to print a help text, to a reader that has seen enough
    except MemoryError as error:
        return _fail(sentence_of(error))


def _print(output: Output) -> None:
    try:
        print(output.text, flush=True)
    except BrokenPipeError:
        # The reader, say `head`, has seen enough. What is left in the buffer must not be written at the interpreter's end.
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
    """A report that draws on stderr where that is a terminal; elsewhere one that nobody reads."""
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
def blaming(path: Path) -> Iterator[None]:
    """Puts the file's name in front of what is wrong with it."""
    try:
        yield
    except FormatError as error:
        raise RecipeError(f"{path}: {error}") from None


def read_bytes(path: Path) -> bytes:
    return read_capped(path, limits.most("file_bytes"))


def read_words(path: Path, format: str, alphabet: Alphabet | None = None) -> StringFile:
    """The strings of a file, as `sources.files.read_strings`; an error names the file."""
    data = read_bytes(path)
    with blaming(path):
        return read_strings(data, format, alphabet)


def read_sample(path: Path, format: str, max_distinct: int) -> tuple[Sample, tuple[str, ...]]:
    """The training strings of a file, counted, and notes: PAutomaC and SPiCe files of any size, others up to the limit."""
    try:
        with path.open("rb") as file, blaming(path):
            head = file.read(PIECE_BYTES)
            if format == "pautomac" or (format == "auto" and begins_as_pautomac(head)):
                counts = count_strings(chain([head], iter(partial(file.read, PIECE_BYTES), b"")), max_distinct)
                return counts.sample(), (*counts.notes, *filter(None, [counts.bound]))
            limits.check_at_most(f"bytes in {path}", os.fstat(file.fileno()).st_size, limits.most("file_bytes"))
            whole = read_strings(head + file.read(limits.most("file_bytes")), format)
            return whole.sample(), whole.notes
    except OSError as error:
        raise RecipeError(f"can't read {path}: {error.strerror}") from None


def read_known_words(path: Path, format: str, alphabet: Alphabet) -> StringFile:
    """The strings of a file for a model that has transitions for `alphabet` and for no other symbol.

    Raises
    ------
    RecipeError
        If one has a symbol that is not in the alphabet.
    """
    file = read_words(path, format, alphabet)
    check_known(path, file.words, file.alphabet, alphabet)
    return file


def check_known(path: Path, words: Words, used: Alphabet, alphabet: Alphabet) -> None:
    """Raise RecipeError if a word over `used`, which begins as `alphabet`, has a symbol that is not in `alphabet`."""
    for place in np.flatnonzero(words.symbols >= len(alphabet))[:1]:
        number = int(np.searchsorted(words.offsets, place, side="right"))
        symbol = quoted(used.symbols[words.symbols[place]])
        raise RecipeError(f"{path}: string {number:,}: symbol {symbol} is not in the model's alphabet of {alphabet.summary}")


def write_file(path: Path, text: str) -> None:
    """Write a file the user named, whole or not at all; a link's target, not the link; a device or pipe as it is."""
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
        else:
            write_atomically(Path(os.path.realpath(path)), text.encode())
    except OSError as error:
        raise RecipeError(f"can't write {path}: {error.strerror}") from None


def check_writable(directory: Path) -> None:
    """Raise RecipeError if a folder can't be written or made: before hours of training, not after."""
    try:
        place = next(place for place in (directory.absolute(), *directory.absolute().parents) if place.exists())
        reason = "Not a directory" if not place.is_dir() else "" if os.access(place, os.W_OK | os.X_OK) else "Permission denied"
    except OSError as error:
        reason = str(error.strerror)
    if reason:
        raise RecipeError(f"can't write to {directory}: {reason}")


def peak_memory() -> str:
    """The most memory that this process ever held, in words."""
    try:
        import resource
    except ImportError:  # Windows
        return "not known here"
    unit = 1 if sys.platform == "darwin" else 1024
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20:,.0f} MiB at the peak"


def file_name(path: Path) -> str:
    """A path's last part as text that can be written as UTF-8, whatever bytes it has."""
    return os.fsencode(path.name).decode("utf-8", "replace")
