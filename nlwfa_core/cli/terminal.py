"""Run a command: print its output, its errors as one line, and its notes.

A command returns its `Output`, which is printed only if the command succeeds, so a command that
fails leaves stdout empty.
"""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from .. import limits
from ..errors import (
    Cancelled,
    MissingExtra,
    RecipeError,
    check_one_of,
    printable,
    sentence_of,
)
from ..files import LAB_FOLDER

# Exit codes. 0 is success; 1 is also that of an error inside the program, which prints its
# traceback.
RUN_FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130
MAX_PATH = 200  # characters of a path in an error of the system
STUDIES = "studies"  # the folder of a checkout with what `reproduce` and `compete` run
Seed = Annotated[
    int, typer.Option(help="The seed of all random numbers: equal seeds give equal results.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
TableForm = Annotated[
    str | None,
    typer.Option("--table", help="Print a table: latex (booktabs), markdown, csv or json."),
]


def table_form(table: str | None, as_json: bool) -> str | None:
    """Return the form of `write_table` that an option asks for.

    Raises RecipeError if it is unknown, or if --json is also given.
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
    except OSError as error:  # for a path that no file can have, for a disk that fails, …
        path = "" if error.filename is None else f" {str(error.filename)[:MAX_PATH]}"
        return _fail(f"can't use{path}: {error.strerror or error}")


def _check_options(app: typer.Typer, arguments: Sequence[str]) -> None:
    """Raise RecipeError if an option with one value is used twice, or if a path is empty, as from a
    shell variable without a value.

    Other errors are left to the parser itself.
    """
    command = typer.main.get_command(app)
    path = ["nlwfa"]
    rest = list(arguments)
    while rest and (commands := getattr(command, "commands", {})) and rest[0] in commands:
        command = commands[rest[0]]
        path = [*path, rest[0]]
        rest = rest[1:]
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
            raise RecipeError(f"{typed_name} must be a path; got empty text. {help_line}")


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
    """Print notes on stderr at once: a command that takes a long time reports how it read its files
    before it computes.
    """
    for note in notes:
        print(_one_line(note), file=sys.stderr, flush=True)


def _fail(message: str, code: int = BAD_INPUT) -> int:
    print(_one_line(message if code == INTERRUPTED else f"error: {message}"), file=sys.stderr)
    return code


def _usage_message(error: typer.TyperException, arguments: Sequence[str]) -> str:
    """Return typer's message for a usage error, with the text that was entered, and name the
    command whose help explains more.
    """
    message = error.format_message().rstrip(".")
    cause = error.__cause__
    if isinstance(cause, ValidationError):
        given = repr(str(cause.errors()[0]["input"])[:60])
        message = message.replace("Value error, ", "")  # pydantic's, of a choice
        if given not in message:
            message += f"; got {given}"
    # typer's error for an option without its value does not say which command it belongs to.
    context = getattr(error, "ctx", None)
    command = (
        context.command_path
        if context
        else " ".join(["nlwfa", *(word for word in arguments[:1] if word[:1].isalpha())])
    )
    return f"{message}{'' if message.endswith('?') else '.'} See {command} --help."


def _lines(text: str) -> str:
    """Escape control characters, which may occur in symbols, names and paths; line ends stay."""
    return "\n".join(map(printable, text.split("\n")))


def _one_line(message: str) -> str:
    return " ".join(_lines(message).split())


def log_line(text: str) -> None:
    """Print a line on stderr while a command runs, unless stderr is a terminal, which shows the
    progress bar instead.
    """
    if sys.stderr is not None and not sys.stderr.isatty():
        print(_one_line(text), file=sys.stderr, flush=True)


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


def lab_folder(home: Path | None) -> Path:
    """Return the lab's folder: `home`, or by default NLWFA_HOME.

    Raises RecipeError if there is none.
    """
    folder = home or (Path(os.environ["NLWFA_HOME"]) if os.environ.get("NLWFA_HOME") else None)
    if folder is None:
        raise RecipeError("--home is needed (the lab's folder), because NLWFA_HOME is not set")
    if not folder.is_dir():
        raise RecipeError(
            f"--home must be a lab's folder; {folder} "
            f"{'is a file' if folder.exists() else 'does not exist'}"
        )
    return folder
