"""Provide what all commands need: errors as one line, a progress bar on terminals, reading and
writing files.

A command returns its `Output`, which is printed when the command has succeeded. So a command that
fails leaves stdout empty.
"""

from __future__ import annotations

import io
import os
import re
import signal
import stat
import sys
import threading
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from pydantic import ValidationError

from .. import limits
from ..errors import (
    Cancelled,
    FormatError,
    MissingExtra,
    RecipeError,
    alternatives,
    check_one_of,
    did_you_mean,
    printable,
    sentence_of,
)
from ..files import (
    LAB_FOLDER,
    MAX_JSON_BYTES,
    from_json,
    read_capped,
    read_rest,
    write_atomically,
)
from ..learning.progress import Progress, Report, silent
from ..sources.counting import MAX_DISTINCT, count_strings
from ..sources.reading import COLUMNS, Reading
from ..sources.recognition import reading_of
from ..sources.string_files import (
    PIECE_BYTES,
    StringFile,
    begins_as_pautomac,
    over_declared,
    quoted,
    read_as,
    read_strings,
)
from ..strings.plain import MIN_COUNT, frequent_symbols
from ..strings.sample import Sample
from ..strings.words import Alphabet, Words, check_unknown

if TYPE_CHECKING:
    from ..models.model_files import StoredModel

# Exit codes. 0 is success; 1 is also that of an error inside the program, which prints its
# traceback.
RUN_FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
MAX_PATH = 200  # characters of a path in an error of the system
ALLOWED_CHOICES = "is not one of"  # the words before the list of choices in a message of typer

STUDIES = "studies"  # the folder of a checkout with what `reproduce` and `compete` run

# Options that several commands have.
STRINGS = "PAutomaC or SPiCe, one string on each line, a table, JSON lines, or a log: see --format."
Seed = Annotated[
    int, typer.Option(help="The seed of all random numbers: equal seeds give equal results.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
TableForm = Annotated[
    str | None,
    typer.Option("--table", help="Print a table: latex (booktabs), markdown, csv or json."),
]
Model = Annotated[
    Path,
    typer.Option(
        help="The folder that `fit` or `fit-values` wrote, or an automaton as JSON or of PAutomaC."
    ),
]
DeclaredAlphabet = Annotated[
    str | None,
    typer.Option(
        "--alphabet",
        help="All symbols of the model, separated by spaces; by default those of the strings.",
    ),
]
Unknown = Annotated[
    str | None,
    typer.Option(
        help="A symbol, such as <unk>, as which the model reads all that it does not know; by "
        "default there is none."
    ),
]
MinCount = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="With --unknown: how often a symbol has to occur in the training strings to be "
        f"known, by default {MIN_COUNT}.",
    ),
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Replace the file or model that an earlier command wrote there."),
]


@dataclass(frozen=True)
class Symbols:
    """The symbols that a model should know, by `--alphabet`, `--unknown` and `--min-count`."""

    declared: Alphabet | None  # with the symbol for the unknown, if there is one
    unknown: str | None
    min_count: int

    @classmethod
    def of(cls, alphabet: str | None, unknown: str | None, min_count: int | None) -> Symbols:
        """Raise RecipeError if an option has no effect, or no alphabet can have its value."""
        if min_count is not None and unknown is None:
            raise RecipeError("--min-count has no effect without --unknown")
        if min_count is not None and alphabet is not None:
            raise RecipeError(
                "--min-count has no effect with --alphabet, which has all symbols that are known"
            )
        if alphabet is not None and not alphabet.split():
            raise RecipeError("--alphabet must have at least one symbol; got none")
        if unknown is not None:
            check_unknown(unknown)
        declared = None if alphabet is None else Alphabet.of(alphabet.split(), unknown)
        return cls(declared, unknown, MIN_COUNT if min_count is None else min_count)

    def known_in(self, train: Sample) -> Alphabet:
        """Return the alphabet of a model of some strings."""
        if self.unknown is None or self.declared is not None:
            return self.declared or train.alphabet
        return frequent_symbols(train, self.min_count, self.unknown)


def table_form(table: str | None, as_json: bool) -> str | None:
    """Return the form of `write_table` that an option asks for.

    Raises RecipeError if it is unknown, or --json is there too.
    """
    from ..metrics.tables import TABLE_FORMATS

    if table is not None:
        check_one_of("--table", table, TABLE_FORMATS)
        if as_json:
            raise RecipeError(f"--json has no effect with --table {table}; use one of them")
    return table


@dataclass(frozen=True)
class Output:
    """Holds the text that a command prints."""

    text: str  # the text for stdout
    notes: tuple[str, ...] = ()  # lines for stderr
    code: int = 0  # the exit code: 0, or RUN_FAILED if some of several runs failed
    # Whether the text is for programs. In text for people, and in all that a terminal shows,
    # control characters are escaped.
    is_data: bool = False


def execute(app: typer.Typer, arguments: Sequence[str] | None) -> int:
    """Run a command and print its output.

    `app`: the program, whose commands return an `Output`. `arguments`: the arguments of the
    command; None for those of this process, in which Python's warnings are then switched off.

    Returns the exit code: 0; 1 if some of several runs failed, each with a line on stderr; 2 for
    input that can't be used, with the error as the last line on stderr; 130 after Ctrl-C.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without λ shows \u03bb
    if arguments is None and not sys.warnoptions:
        warnings.simplefilter("ignore")  # users find everything that they need to know in the notes
    try:
        limits.check_settings()
        _check_options(app, sys.argv[1:] if arguments is None else arguments)
        outcome = app(args=arguments, prog_name="nlwfa", standalone_mode=False)
        if isinstance(outcome, Output):
            _print(outcome)
            return outcome.code
        # typer turns Ctrl-C into this exit code, and returns 0 after --help.
        return _fail("interrupted", INTERRUPTED) if outcome == INTERRUPTED else 0
    except (KeyboardInterrupt, Cancelled, typer.Abort):
        return _fail("interrupted", INTERRUPTED)
    except typer.TyperException as error:
        return _fail(_usage_message(error, sys.argv[1:] if arguments is None else arguments))
    except (RecipeError, MissingExtra) as error:
        return _fail(str(error))
    except SystemExit:
        # from typer, when a reader such as `head` closes the pipe before the help text ends
        return 0
    except MemoryError as error:
        return _fail(sentence_of(error))
    except OSError as error:  # of a path that no file can have, of a disk that fails, …
        path = "" if error.filename is None else f" {str(error.filename)[:MAX_PATH]}"
        return _fail(f"can't use{path}: {error.strerror or error}")


def _check_options(app: typer.Typer, arguments: Sequence[str]) -> None:
    """Raise RecipeError if an option with one value is used twice, or if a path is empty, as from a
    shell variable without a value.

    Other errors are left to the parser itself.
    """
    command, path, rest = typer.main.get_command(app), ["nlwfa"], list(arguments)
    while rest and (commands := getattr(command, "commands", {})) and rest[0] in commands:
        command, path, rest = commands[rest[0]], [*path, rest[0]], rest[1:]
    help_line = f"See {' '.join(path)} --help."
    try:
        context = command.context_class(command, info_name=path[-1])
        values, _, order = command.make_parser(context).parse_args(args=rest)
    except typer.TyperException:
        return
    for option in dict.fromkeys(order):
        name = option.opts[-1]
        if (
            order.count(option) > 1
            and not getattr(option, "multiple", False)
            and not getattr(option, "is_flag", False)
        ):
            raise RecipeError(
                f"{name} can be used only once; got it {order.count(option)} times. {help_line}"
            )
        kind = getattr(getattr(option, "type_descriptor", None), "annotation", None)
        if kind is Path and values.get(option.name or "") == "":
            typed_name = name if name.startswith("-") else name.upper()
            raise RecipeError(f"{typed_name} must be a path; got an empty text. {help_line}")


def _print(output: Output) -> None:
    try:
        print(
            output.text if output.is_data and not sys.stdout.isatty() else _lines(output.text),
            flush=True,
        )
    except BrokenPipeError:
        # A reader such as `head` has closed the pipe. The interpreter must not write the rest of
        # the buffer when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise RecipeError(f"can't write the output: {error.strerror}") from None
    print_notes(output.notes)


def print_notes(notes: Iterable[str]) -> None:
    """Print notes on stderr at once: a command that takes long says how it read its files before it
    computes.
    """
    for note in notes:
        print(_one_line(note), file=sys.stderr, flush=True)


def _fail(message: str, code: int = BAD_INPUT) -> int:
    print(_one_line(message if code == INTERRUPTED else f"error: {message}"), file=sys.stderr)
    return code


def _usage_message(error: typer.TyperException, arguments: Sequence[str]) -> str:
    """Reword a usage error of typer in the form of our own errors, and name the command whose help
    explains more.
    """
    context, option, cause = (getattr(error, name, None) for name in ("ctx", "param", "__cause__"))
    message = error.format_message()
    if isinstance(cause, ValidationError) and option is not None:
        first = cause.errors()[0]
        value, bounds = str(first["input"]), first.get("ctx", {})
        if ALLOWED_CHOICES in first["msg"]:
            choices = (
                first["msg"].partition(ALLOWED_CHOICES)[2].strip(" .").replace("'", "").split(", ")
            )
            needed, suggestion = alternatives(choices), did_you_mean(value, choices)
        elif "ge" in bounds:
            needed, suggestion = f"at least {bounds['ge']:,.15g}", ""
        else:
            needed, suggestion = (
                "a whole number" if first["type"].startswith("int") else "a number",
                "",
            )
        message = f"{option.opts[-1]} must be {needed}; got {value[:60]!r}{suggestion}"
    else:
        message = _parser_message(error, message)
    ended = message if message.endswith((".", "?")) else f"{message}."
    # typer's error for an option without its value does not say which command it belongs to.
    command = (
        context.command_path
        if context
        else " ".join(["nlwfa", *(word for word in arguments[:1] if word[:1].isalpha())])
    )
    return f"{ended} See {command} --help."


def _parser_message(error: typer.TyperException, message: str) -> str:
    """Reword a message of the parser: name a missing option with its purpose, and list the commands
    if one is unknown.
    """
    context, option, name = (getattr(error, name, None) for name in ("ctx", "param", "option_name"))
    if option is not None and message.startswith("Missing "):
        typed_name, purpose = option.opts[-1], option.help.rstrip(".")
        purpose = purpose if purpose[1:2].isupper() else purpose[0].lower() + purpose[1:]
        return (
            f"{typed_name if typed_name.startswith('-') else typed_name.upper()} is needed "
            f"({purpose})"
        )
    if name and message.startswith("Option "):
        return f"{name} {'needs a value' if 'requires' in message else 'takes no value'}"
    if commands := list(getattr(context and context.command, "commands", ())):
        if message.startswith("Missing command"):
            return f"a command is needed: {alternatives(commands)}"
        if message.startswith("No such command"):
            unknown = message.split("'")[1]
            hint = did_you_mean(unknown, commands) or f"; the commands are {', '.join(commands)}"
            return f"No such command {unknown!r}{hint}"
    return message


def _lines(text: str) -> str:
    """Escape control characters, which may stand in symbols, names and paths, apart from the ends
    of lines.
    """
    return "\n".join(map(printable, text.split("\n")))


def _one_line(message: str) -> str:
    return " ".join(_lines(message).split())


@contextmanager
def progress_bar() -> Iterator[Report]:
    """Make a `report` callback that draws a progress bar on stderr if that is a terminal, and does
    nothing otherwise.
    """
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
def stopped_by_signals() -> Iterator[threading.Event]:
    """Make an event that Ctrl-C and SIGTERM set, in place of what they do otherwise. A second one
    interrupts as usual.

    Outside the main thread, where Python handles no signals, nothing sets the event.
    """
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def handle(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    previous = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def log_line(text: str) -> None:
    """Print a line on stderr while a command runs, unless stderr is a terminal, which shows the
    progress bar instead.
    """
    if sys.stderr is not None and not sys.stderr.isatty():
        print(_one_line(text), file=sys.stderr, flush=True)


@contextmanager
def errors_naming(path: Path) -> Iterator[None]:
    """Prefix the RecipeErrors that are raised in this block with a file's path, and name columns
    by their options.
    """
    try:
        yield
    except FormatError as error:
        raise RecipeError(f"{path}: {as_options(str(error))}") from None


CHOICES = re.compile(rf"\b({'|'.join(COLUMNS)})\b")
WINDOW = re.compile(r"\bwindow = ([0-9]+)")


def as_options(text: str) -> str:
    """Write the fields of `Reading` in a sentence as options of commands.

    >>> as_options("say which column has the cases (case_column)")
    'say which column has the cases (--case-column)'
    """
    text = WINDOW.sub(r"--window \1", text)
    return CHOICES.sub(lambda match: f"--{match[1].replace('_', '-')}", text)


def read_bytes(path: Path) -> bytes:
    """Read a file. Raises RecipeError if the file can't be read, or is larger than the limit."""
    return read_capped(path, limits.most("file_bytes"))


def read_words(path: Path, reading: Reading, alphabet: Alphabet | None = None) -> StringFile:
    """Read the strings of a file by `sources.string_files.read_strings`, with a first note on how
    it was read. Errors name the file.
    """
    data = read_bytes(path)
    with errors_naming(path):
        file = read_strings(data, reading, alphabet)
    sentence = reading_of(file_name(path), as_options(file.reading))
    return replace(file, notes=(sentence, *file.notes))


def read_sample(
    path: Path, reading: Reading, max_distinct: int | None, declared: Alphabet | None = None
) -> tuple[Sample, tuple[str, ...]]:
    """Read and count training strings, with notes, the first on how the file was read. PAutomaC and
    SPiCe files may have any size.

    `declared`: the alphabet of the strings, if one is declared. Other symbols are numbered after
    its own, if it has one for the unknown.

    Raises RecipeError if the file can't be read, is of another format and `max_distinct` is not
    None, or has a symbol that is not in the declared alphabet.
    """
    try:
        if path.is_dir():
            raise RecipeError(f"can't read {path}: it is a folder, and a file is needed")
        with path.open("rb") as file, errors_naming(path):
            head = file.read(PIECE_BYTES)
            is_open = reading == Reading()
            if reading == Reading("pautomac") or (is_open and begins_as_pautomac(head)):
                most = MAX_DISTINCT if max_distinct is None else max_distinct
                counts = count_strings(
                    chain([head], iter(partial(file.read, PIECE_BYTES), b"")), most
                )
                sample = counts.sample()
                sentence = read_as("pautomac", sample.alphabet.symbols)
                if declared is not None:
                    sample = over_declared(sample, declared)
                return sample, (
                    reading_of(file_name(path), sentence),
                    *counts.notes,
                    *filter(None, [counts.bound]),
                )
            if max_distinct is not None:
                raise RecipeError(
                    f"--max-distinct has no effect with {path}; it needs a PAutomaC or SPiCe file"
                )
            limits.check_limit(
                f"the size of {path} in bytes",
                os.fstat(file.fileno()).st_size,
                "file_bytes",
            )
            content = head + read_rest(file, limits.most("file_bytes"))
            whole = read_strings(content, reading, declared, extend=False)
            sentence = reading_of(file_name(path), as_options(whole.reading))
            return whole.sample(), (sentence, *whole.notes)
    except OSError as error:
        raise RecipeError(f"can't read {path}: {error.strerror}") from None


def read_scored_words(
    path: Path, reading: Reading, alphabet: Alphabet, role: str = "test"
) -> StringFile:
    """Read strings that a model over `alphabet` scores, with a note on those that have other
    symbols. Errors name the file.

    Raises RecipeError if the file can't be read, or every string has a symbol that is not in the
    alphabet: it belongs to another model.
    """
    file = read_words(path, reading, alphabet)
    if len(file.alphabet) == len(alphabet):
        return file
    return replace(
        file, notes=(*file.notes, *notes_on_unknown(path, file.packed_sample(), alphabet, role))
    )


def notes_on_unknown(
    path: Path, sample: Sample, alphabet: Alphabet, role: str = "test"
) -> tuple[str, ...]:
    """Make a note on strings with symbols outside `alphabet`, whose weight is 0, or which are read
    as its symbol for the unknown. Raises RecipeError if all strings have some or, with such a
    symbol, if they have no others.

    The strings are over an alphabet that begins with the symbols of `alphabet`.
    """
    from ..experiment.datasets import mapped_notes, unknown_notes
    from ..models.unseen import check_some_known, has_known_symbols

    if alphabet.unknown is not None:
        try:
            check_some_known(sample.words, alphabet)
        except RecipeError as error:
            raise RecipeError(f"{path}: {error}") from None
        return mapped_notes(sample, alphabet, role)
    known = has_known_symbols(sample.words, len(alphabet))
    if not (known & (sample.words.lengths > 0)).any():
        check_known(path, sample.words, sample.alphabet, alphabet)
    return unknown_notes(sample, len(alphabet), role)


def check_known(path: Path, words: Words, used: Alphabet, alphabet: Alphabet) -> None:
    """Raise RecipeError if a word has a symbol outside `alphabet`.

    The words are over the alphabet `used`, which begins with the symbols of `alphabet`.
    """
    for position in np.flatnonzero(words.symbols >= len(alphabet))[:1]:
        number = int(np.searchsorted(words.offsets, position, side="right"))
        symbol = quoted(used.symbols[words.symbols[position]])
        raise RecipeError(
            f"{path}: string {number:,}: symbol {symbol} is not in the model's alphabet of "
            f"{alphabet.summary}"
        )


def write_file(path: Path, text: str) -> None:
    """Write a file completely or not at all.

    Links are followed; a device or pipe is written to directly.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
        else:
            write_atomically(Path(os.path.realpath(path)), text.encode())
    except OSError as error:
        raise RecipeError(f"can't write {path}: {error.strerror}") from None


def check_writable(directory: Path) -> None:
    """Raise RecipeError if a folder can't be made or written to, so this is known before hours
    of training.
    """
    try:
        parent = next(
            path for path in (directory.absolute(), *directory.absolute().parents) if path.exists()
        )
        writable = os.access(parent, os.W_OK | os.X_OK)
        not_folder = (
            "it is a file, and a folder is needed"
            if parent == directory.absolute()
            else f"{parent} is a file"
        )
        reason = not_folder if not parent.is_dir() else "" if writable else "Permission denied"
    except OSError as error:
        reason = str(error.strerror)
    if reason:
        raise RecipeError(f"can't write to {directory}: {reason}")


def check_new_model(directory: Path, force: bool) -> None:
    """Raise RecipeError if a model can't be written to a folder, or would replace something.

    An empty folder may be used. With `force`, the model of an earlier command is replaced; other
    files are never touched.
    """
    from ..models.model_files import MODEL_FILES

    check_writable(directory)
    if not directory.is_dir() or not any(directory.iterdir()):
        return
    files = [name for name in MODEL_FILES if (directory / name).exists()]
    if files and not _holds_model(directory):
        raise RecipeError(
            f"{directory} exists, and its {' and '.join(files)} was not written by nlwfa: "
            "choose another folder"
        )
    if not force:
        content = (
            "a model, which --force replaces"
            if files
            else "other files, which stay if you add the model by --force"
        )
        raise RecipeError(
            f"{directory} exists and holds {content}; otherwise choose another folder"
        )


def _holds_model(directory: Path) -> bool:
    """Return whether a folder has a model.json that `save` wrote."""
    try:
        header = from_json(read_capped(directory / "model.json", MAX_JSON_BYTES))
    except RecipeError:
        return False
    return isinstance(header, dict) and {"format", "kind", "symbols"} <= header.keys()


def check_new_file(path: Path | None, force: bool, used: Iterable[Path | None] = ()) -> None:
    """Raise RecipeError if a file would be replaced without `force`, or at all if it is part of a
    model or one of those in `used`.

    Devices and pipes can be written to at any time.

    `used`: the other files that the command reads or writes.
    """
    if path is None:
        return
    if path.is_dir():
        raise RecipeError(f"can't write {path}: it is a folder, and a file is needed")
    if not path.parent.is_dir():
        raise RecipeError(f"can't write {path}: there is no folder {path.parent}")
    with suppress(FileNotFoundError):
        # raises OSError for a loop of links, which `is_file` calls no file
        if not stat.S_ISREG(path.stat().st_mode):
            return
    target = Path(os.path.realpath(path))
    if any(other is not None and _is_same_file(target, other) for other in used):
        raise RecipeError(
            f"can't write {path}: this command uses that file for something else; choose "
            "another name"
        )
    if path.is_file() and not force:
        raise RecipeError(f"{path} exists: choose another name, or replace it by --force")
    if _is_part_of_model(target):
        raise RecipeError(
            f"can't write {path}: it is part of a model, which would be lost; choose another name"
        )


def _is_same_file(target: Path, other: Path) -> bool:
    return target == Path(os.path.realpath(other)) or (
        target.exists() and other.exists() and target.samefile(other)
    )


def _is_part_of_model(path: Path) -> bool:
    """Return whether a path is that of a model's file, or of another link to it."""
    from ..models.model_files import MODEL_FILES

    return path.name in MODEL_FILES and _holds_model(path.parent)


@dataclass(frozen=True, eq=False)
class ModelFile:
    """A model with its alphabet and the information that was saved with it."""

    model: StoredModel
    alphabet: Alphabet
    info: dict[str, Any]


def read_model(path: Path) -> ModelFile:
    """Read a model from its folder, from the path of a file in it, or from an automaton's file as
    JSON or of PAutomaC.

    Raises RecipeError if there is no valid model.
    """
    from ..models.model_files import MODEL_FILES, load, load_info
    from ..sources.exchange import automaton_format, read_weights_json
    from ..sources.pautomac import read_pautomac_model

    if (
        path.is_file()
        and path.name not in MODEL_FILES
        and (kind := automaton_format(data := read_bytes(path)))
    ):
        with errors_naming(path):
            automaton = read_weights_json(data) if kind == "json" else read_pautomac_model(data)
        assert automaton.alphabet is not None  # each reader sets it
        return ModelFile(automaton, automaton.alphabet, {})

    directory = path.parent if path.name in MODEL_FILES else path
    if not (directory / "model.json").is_file():
        reason = (
            "is a file"
            if directory.is_file()
            else "holds no model"
            if directory.is_dir()
            else "does not exist"
        )
        raise RecipeError(
            f"a model must be a folder that nlwfa wrote, or a file in it; {directory} {reason}"
        )
    loaded = load(directory)
    assert loaded.alphabet is not None  # `load` sets it
    return ModelFile(loaded, loaded.alphabet, load_info(directory))


def find_studies(command: str) -> None:
    """Let a command import the package `studies` from this checkout.

    Raises RecipeError if the library was installed without one.
    """
    if not (LAB_FOLDER / STUDIES).is_dir():
        raise RecipeError(
            f"nlwfa {command} needs a checkout of the repository: its folder {STUDIES} is not part "
            "of the installed package"
        )
    if str(LAB_FOLDER) not in sys.path:
        sys.path.insert(0, str(LAB_FOLDER))


def peak_memory() -> str:
    """Write how much memory this process has used at most, in MiB."""
    try:
        import resource
    except ImportError:  # Windows
        return "not known here"
    unit = 1 if sys.platform == "darwin" else 1024
    return (
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20:,.0f} MiB at the peak"
    )


def file_name(path: Path) -> str:
    """Return the last part of a path as text, in which bytes that are not UTF-8 are replaced."""
    return os.fsencode(path.name).decode("utf-8", "replace")
