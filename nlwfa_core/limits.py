"""Limits on what readers, recipes and the queue accept, checked before any memory is allocated.

`LIMITS` holds the defaults. A settings file in TOML (the file that NLWFA_LIMITS names, otherwise
`limits.toml` in NLWFA_HOME) may change them for every process started with it, with one limit per
line, such as `rank = 20`. If that file can't be read, the defaults apply; servers and commands call
`check_settings` first and refuse to start.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from .errors import FormatError, RecipeError

FILE = "limits.toml"
VARIABLE = "NLWFA_LIMITS"
HOME = "NLWFA_HOME"
MAX_SETTINGS_BYTES = 2**16
LARGEST = 2**53 - 1  # the largest integer that JavaScript represents exactly
WHOLE_FILE = 0  # the line to blame when a file as a whole exceeds a limit


@dataclass(frozen=True)
class Limit:
    """One limit."""

    default: int
    what: str  # what is counted, as errors and the documentation describe it


LIMITS = {
    "file_bytes": Limit(50 * 2**20, "bytes of an uploaded file"),
    "pasted_bytes": Limit(1_000_000, "bytes of pasted strings"),
    "strings": Limit(20_000_000, "strings of a file"),
    "string_length": Limit(10_000, "symbols of a string"),
    "symbols": Limit(10_000, "symbols of an alphabet"),
    "generated_strings": Limit(1_000_000, "strings that are drawn, or taken from an upload"),
    "automaton_numbers": Limit(4_000_000, "symbols × states² of an uploaded automaton"),
    "basis": Limit(50_000, "prefixes, and suffixes, of a Hankel matrix"),
    "rank": Limit(1_000, "rank, or states of an opponent"),
    "epochs": Limit(100_000, "epochs of one step of the training"),
    "sweep_runs": Limit(100_000, "runs of a sweep: the product of its lists"),
    "training_seconds": Limit(24 * 3600, "seconds of computing for one run on a server"),
    "browser_upload_bytes": Limit(
        600 * 2**20, "bytes of one browser's uploaded files in the server's memory"
    ),
    "upload_memory_bytes": Limit(
        2**30, "bytes of all visitors' uploaded files in the server's memory"
    ),
    "upload_disk_bytes": Limit(4 * 2**30, "bytes of uploaded files on disk"),
    "strangers": Limit(1_000, "browsers that are connected and belong to no class"),
    "jobs": Limit(1_000, "runs of all visitors waiting in the queue"),
    "session_jobs": Limit(200, "runs of one browser waiting in the queue"),
    "paused_jobs": Limit(6, "paused runs, each of which holds a process's memory"),
    "class_sessions": Limit(2_000, "class sessions of all teachers, except deleted ones"),
    "small_sessions": Limit(5, "class sessions of one browser with fewer than five members"),
    "class_members": Limit(500, "people in a class session"),
    "joins_per_minute": Limit(150, "people who join a class session within a minute"),
    "class_answers": Limit(50_000, "answers in a class session"),
    "hand_ins": Limit(2_000, "hand-ins in a class session"),
    "hand_in_characters": Limit(4_000, "characters of a hand-in"),
    "answer_characters": Limit(2_000, "characters of a recorded answer"),
    "nickname": Limit(30, "characters of a nickname"),
    "transition_numbers": Limit(100_000_000, "symbols × rank²: float64 numbers of a model"),
    "shifted_rows": Limit(
        200_000_000, "prefixes × symbols: integers of a Hankel matrix's row index"
    ),
    "jacobian_numbers": Limit(
        2**27,
        "starts × strings × parameters when a model is refined on values: a gigabyte, plus a "
        "copy or two",
    ),
}


def most(name: str) -> int:
    """Return the limit in force under a name of `LIMITS`."""
    return IN_FORCE[name]


def ceiling(name: str) -> int:
    """Return the largest value of the limit `name` that a stored recipe or model may have.

    The recipe or model may have been stored on a server with a higher limit, or before the limit
    was lowered, so values up to the default are also accepted.
    """
    return max(LIMITS[name].default, IN_FORCE[name])


def upload_megabytes() -> int:
    """Return the largest upload, in whole megabytes, the unit of Streamlit's upload widget."""
    return -(-most("file_bytes") // 2**20)


def check_at_most(
    what: str, number: int, maximum: int, line: int | None = None, unit: str = ""
) -> None:
    """Raise an error if `number` is above `maximum`.

    >>> check_at_most("rank", 31, 30)
    Traceback (most recent call last):
    nlwfa_core.errors.RecipeError: rank must be at most 30; got 31
    >>> check_at_most("the file", 31, 30, unit="bytes")
    Traceback (most recent call last):
    nlwfa_core.errors.RecipeError: the file must be at most 30 bytes; got 31

    `what`: what `number` is (the subject of the message). `line`: the line of the file to blame, or
    WHOLE_FILE. `unit`: what is counted, if `what` does not say so.

    Raises RecipeError, which is a FormatError if a file is to blame.
    """
    if number > maximum:
        most = f"{maximum:,} {unit}" if unit else f"{maximum:,}"
        message = f"{what} must be at most {most}; got {number:,}"
        raise RecipeError(message) if line is None else FormatError(message, line or None)


def check_limit(what: str, number: int, name: str, line: int | None = None, unit: str = "") -> None:
    """Raise the error of `check_at_most` if `number` is above the limit under a name of
    `LIMITS`.
    """
    check_at_most(what, number, most(name), line, unit)


def read_limits(data: bytes) -> dict[str, int]:
    """Return the limits that a settings file sets.

    >>> read_limits(b"rank = 20  # a small class")
    {'rank': 20}

    Raises RecipeError if the file is not TOML, if it names an unknown limit, or if a limit is not a
    positive whole number.
    """
    check_at_most("the limits file", len(data), MAX_SETTINGS_BYTES, unit="bytes")
    try:
        numbers = tomllib.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise RecipeError(f"the limits file is not valid TOML: {error}") from None
    for name, value in numbers.items():
        if name not in LIMITS:
            near = get_close_matches(name, LIMITS)
            names = (
                f"nearest: {', '.join(near)}" if near else f"the limits are: {', '.join(LIMITS)}"
            )
            raise RecipeError(f"{name[:40]!r} is not the name of a limit; {names}")
        if type(value) is not int or not 1 <= value <= LARGEST:
            try:
                text = repr(value)[:40]
            # Python writes no more than 4,300 digits, but reads longer hexadecimal numbers
            except ValueError:
                text = "a number with thousands of digits"
            raise RecipeError(f"{name} must be a whole number from 1 to {LARGEST:,}; got {text}")
    return numbers


def settings_file() -> Path | None:
    """Return the path of the settings file, or None if there is none."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    home = os.environ.get(HOME)
    path = Path(home, FILE) if home else None
    return path if path and path.exists() else None


def settings() -> tuple[dict[str, int], RecipeError | None]:
    """Return the limits of the settings file; no limits, and the error, if it can't be read."""
    path = settings_file()
    try:
        if path is None:
            return {}, None
        with path.open("rb") as file:
            return read_limits(file.read(MAX_SETTINGS_BYTES + 1)), None
    except OSError as error:
        return {}, RecipeError(f"can't read the limits in {path}: {error.strerror}")
    except RecipeError as error:
        return {}, RecipeError(f"{path}: {error}")


def check_settings() -> None:
    """Raise RecipeError if there is a settings file that could not be read."""
    if PROBLEM is not None:
        raise RecipeError(str(PROBLEM))


_SETTINGS, PROBLEM = settings()
IN_FORCE = {name: _SETTINGS.get(name, limit.default) for name, limit in LIMITS.items()}
