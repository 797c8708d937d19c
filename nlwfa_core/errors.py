"""The errors that a user can fix, checks that raise them, and wording that many messages share.

Pages and the command line catch these errors and no others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


class RecipeError(ValueError):
    """A request that can't be carried out; the message says what was wrong, what was given and what is allowed."""


class RunsFailed(RecipeError):
    """Some of several runs could not be carried out; the message names each. The results of the others are kept."""


class FormatError(RecipeError):
    """A file that can't be read.

    Parameters
    ----------
    message : str
        What was wrong, what was given, what is allowed.
    line : int or None
        The line of the file to blame, counted from 1.
    """

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message if line is None else f"line {line}: {message}")
        self.line = line


class Cancelled(Exception):
    """Raised by a learner when its `cancelled` callback returns true. Not an error: nobody did anything wrong."""


def check_one_of(name: str, value: object, allowed: Iterable[str]) -> None:
    """Raise RecipeError unless a value is one of those allowed.

    >>> check_one_of("kind", "RNN", ["GRU", "LSTM"])
    Traceback (most recent call last):
    nlwfa_core.errors.RecipeError: kind must be one of GRU, LSTM; got 'RNN'
    """
    names = list(allowed)
    if value not in names:
        raise RecipeError(f"{name} must be one of {', '.join(names)}; got {value!r}")


def check_at_least(name: str, number: float, least: float) -> None:
    """Raise RecipeError if a number is below `least`, or nan.

    >>> check_at_least("rank", 0, 1)
    Traceback (most recent call last):
    nlwfa_core.errors.RecipeError: rank must be at least 1; got 0
    """
    if not number >= least:
        raise RecipeError(f"{name} must be at least {least:,}; got {number:,}")


def check_between(name: str, number: float, least: float, most: float, reason: str = "") -> None:
    """Raise RecipeError unless a number is between `least` and `most`, both included; the message may give a reason for these.

    >>> check_between("rank", 25, 1, 20, "the basis has 40 prefixes and 20 suffixes")
    Traceback (most recent call last):
    nlwfa_core.errors.RecipeError: rank must be between 1 and 20 (the basis has 40 prefixes and 20 suffixes); got 25
    """
    if not least <= number <= most:
        bounds = f"{least:,} and {most:,}" + (f" ({reason})" if reason else "")
        raise RecipeError(f"{name} must be between {bounds}; got {number:,}")


def sentence_of(error: Exception) -> str:
    """Say in a sentence why a run failed: our own errors speak for themselves, and all others are errors of the program.

    >>> sentence_of(RecipeError("rank must be at least 1; got 0")), sentence_of(KeyError("rank"))
    ('rank must be at least 1; got 0', "The run stopped with an error inside the program: KeyError: 'rank'")
    """
    if isinstance(error, RecipeError):
        return str(error)
    if isinstance(error, MemoryError):
        return "There is not enough memory for this: try a smaller basis, fewer strings or a lower rank."
    return f"The run stopped with an error inside the program: {type(error).__name__}: {error}"


def plural(number: int, noun: str) -> str:
    """Write a number with its noun.

    >>> plural(1, "line"), plural(3000, "line")
    ('1 line', '3,000 lines')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Suggest the nearest of some names, to be put behind an error's value; nothing if none is near.

    >>> did_you_mean("rank", ["learners", "ranks"]), did_you_mean("depth", ["ranks"])
    ('; did you mean ranks?', '')
    """
    near = get_close_matches(name, list(names), 1)
    return f"; did you mean {near[0]}?" if near else ""


def alternatives(names: Sequence[str]) -> str:
    """Join names of which one is needed.

    >>> alternatives(["a", "b", "c"])
    'a, b or c'
    """
    return " or ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def listed(names: Sequence[str], most: int = 12) -> str:
    """Join the first names of a list that may be long.

    >>> listed(["a", "b", "c"], most=2)
    'a, b, …'
    """
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")
