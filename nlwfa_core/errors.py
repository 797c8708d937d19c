"""The errors that a user can fix, and the few words that many messages share.

Pages and the command line catch these errors and no others.
"""

from __future__ import annotations

from collections.abc import Sequence


class RecipeError(ValueError):
    """A request that can't be carried out; the message says what was wrong, what was given and what is allowed."""


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


def sentence_of(error: Exception) -> str:
    """Say in a sentence why a run failed: our own errors speak for themselves, and all others are errors of the program.

    >>> sentence_of(RecipeError("rank: 0 given, at least 1 needed")), sentence_of(KeyError("rank"))
    ('rank: 0 given, at least 1 needed', "The run stopped with an error inside the program: KeyError: 'rank'")
    """
    if isinstance(error, RecipeError):
        return str(error)
    if isinstance(error, MemoryError):
        return "There is not enough memory for this: try a smaller basis, fewer strings or a lower rank."
    return f"The run stopped with an error inside the program: {type(error).__name__}: {error}"


def plural(number: int, noun: str) -> str:
    """A number with its noun.

    >>> plural(1, "line"), plural(3000, "line")
    ('1 line', '3,000 lines')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def listed(names: Sequence[str], most: int = 12) -> str:
    """The first names of a list that may be long.

    >>> listed(["a", "b", "c"], most=2)
    'a, b, …'
    """
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")
