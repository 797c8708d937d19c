"""What the readers, recipes and the queue accept, checked before anything is allocated. One place, so that a server can be sized.

The numbers of `LIMITS` are defaults. A settings file in TOML, the one that NLWFA_LIMITS names or else `limits.toml` in NLWFA_HOME,
sets others, a line each, as `rank = 20`, for every process that is started with it. Where it can't be followed, the defaults stand,
and `check_settings`, which all that serves people asks first, says so.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from .errors import RecipeError

FILE, VARIABLE, HOME = "limits.toml", "NLWFA_LIMITS", "NLWFA_HOME"
MAX_SETTINGS_BYTES = 2**16
LARGEST = 2**53 - 1  # whole numbers that a browser knows


@dataclass(frozen=True)
class Limit:
    """One limit.

    Attributes
    ----------
    default : int
    what : str
        What is counted, as errors and the documentation say it.
    """

    default: int
    what: str


LIMITS = {
    "file_bytes": Limit(200 * 2**20, "bytes of an uploaded file"),
    "pasted_bytes": Limit(1_000_000, "bytes of pasted strings"),
    "strings": Limit(20_000_000, "strings of a file"),
    "string_length": Limit(10_000, "symbols of a string"),
    "symbols": Limit(10_000, "symbols of an alphabet"),
    "generated_strings": Limit(1_000_000, "strings that are drawn, and those of an upload that are learned from"),
    "automaton_numbers": Limit(4_000_000, "symbols × states² of an uploaded automaton"),
    "basis": Limit(50_000, "prefixes, and suffixes, of a Hankel matrix"),
    "rank": Limit(1_000, "rank, or states of an opponent"),
    "epochs": Limit(100_000, "epochs of a step of the training"),
    "training_seconds": Limit(24 * 3600, "seconds that a training computes on a server"),
    "jobs": Limit(1_000, "trainings that wait, of all sessions"),
    "session_jobs": Limit(200, "trainings that wait, of one session"),
    "paused_jobs": Limit(6, "trainings that are paused, each with the memory of a process"),
    "transition_numbers": Limit(100_000_000, "symbols × rank²: float64 numbers of a model"),
    "shifted_rows": Limit(200_000_000, "prefixes × symbols: integers of a Hankel matrix's row index"),
    "jacobian_numbers": Limit(2**27, "starts × strings × parameters where values refine a model: a gigabyte, and a copy or two"),
}


def check_at_most(what: str, given: int, allowed: int) -> None:
    """Raise RecipeError if `given` is above `allowed`."""
    if given > allowed:
        raise RecipeError(f"{what}: {given:,} given, at most {allowed:,} allowed")


def read_limits(data: bytes) -> dict[str, int]:
    """The limits that a settings file sets.

    >>> read_limits(b"rank = 20  # a small class")
    {'rank': 20}

    Raises
    ------
    RecipeError
        If it is not TOML, names something that is no limit, or a limit is no whole number from 1 on.
    """
    check_at_most("bytes of the limits' file", len(data), MAX_SETTINGS_BYTES)
    try:
        given = tomllib.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise RecipeError(f"the limits' file is not TOML: {error}") from None
    for name, value in given.items():
        if name not in LIMITS:
            near = get_close_matches(name, LIMITS) or LIMITS
            raise RecipeError(f"{name[:40]!r} is no limit; {'nearest' if near is not LIMITS else 'there are'}: {', '.join(near)}")
        if type(value) is not int or not 1 <= value <= LARGEST:
            raise RecipeError(f"{name}: {str(value)[:40]} given, a whole number from 1 to {LARGEST:,} needed")
    return given


def settings_file() -> Path | None:
    """The file that sets limits, if there is one."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    home = os.environ.get(HOME)
    return path if home and (path := Path(home, FILE)).exists() else None


def settings() -> tuple[dict[str, int], RecipeError | None]:
    """What the settings file says; nothing, and why, where it can't be followed."""
    path = settings_file()
    try:
        return (read_limits(path.read_bytes()) if path else {}), None
    except OSError as error:
        return {}, RecipeError(f"can't read the limits in {path}: {error.strerror}")
    except RecipeError as error:
        return {}, RecipeError(f"{path}: {error}")


def check_settings() -> None:
    """Raise RecipeError if there is a settings file that can't be followed."""
    if PROBLEM is not None:
        raise RecipeError(str(PROBLEM))


def ceiling(name: str) -> int:
    """What a recipe or a model may say at all: it may come from a server that allows more, or from before a limit was lowered."""
    return max(LIMITS[name].default, IN_FORCE[name])


_GIVEN, PROBLEM = settings()
IN_FORCE = {name: _GIVEN.get(name, limit.default) for name, limit in LIMITS.items()}

MAX_FILE_BYTES = IN_FORCE["file_bytes"]
MAX_FILE_MEGABYTES = -(-MAX_FILE_BYTES // 2**20)  # as a browser is told
MAX_PASTED_BYTES = IN_FORCE["pasted_bytes"]
MAX_STRINGS = IN_FORCE["strings"]
MAX_STRING_LENGTH = IN_FORCE["string_length"]
MAX_SYMBOLS = IN_FORCE["symbols"]
MAX_GENERATED = IN_FORCE["generated_strings"]
MAX_AUTOMATON_NUMBERS = IN_FORCE["automaton_numbers"]
MAX_BASIS = IN_FORCE["basis"]
MAX_RANK = IN_FORCE["rank"]
MAX_EPOCHS = IN_FORCE["epochs"]
MAX_TRAINING_SECONDS = IN_FORCE["training_seconds"]
MAX_JOBS = IN_FORCE["jobs"]
MAX_SESSION_JOBS = IN_FORCE["session_jobs"]
MAX_PAUSED_JOBS = IN_FORCE["paused_jobs"]
MAX_TRANSITION_NUMBERS = IN_FORCE["transition_numbers"]
MAX_SHIFTED_ROWS = IN_FORCE["shifted_rows"]
MAX_JACOBIAN_NUMBERS = IN_FORCE["jacobian_numbers"]
# Distinct strings held while a file of any size is counted, unless more are asked for: a default of commands, no limit.
MAX_DISTINCT = 1_000_000
