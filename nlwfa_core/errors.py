"""Define the errors that a user can fix, checks that raise them, and wording that many messages
share.

Pages and the command line catch these errors and no others.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from functools import cache, wraps
from importlib.util import find_spec
from numbers import Integral, Real
from typing import Any, ParamSpec, TypeVar, Union, cast, get_args, get_origin, get_type_hints

P = ParamSpec("P")
R = TypeVar("R")

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
PLAIN_DIGITS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


class RecipeError(ValueError):
    """A request that can't be carried out. The message says what was wrong, what was given and what
    is allowed.

    >>> from nlwfa_core import RecipeError, as_sample
    >>> try:
    ...     as_sample([])
    ... except RecipeError as error:
    ...     print(error)
    sample has no strings
    """


class FieldError(RecipeError):
    """A field of a recipe has a value that is not allowed. The message begins with the field's
    name.

    `field`: the field's name in the message. Commands replace it with the name of their option.
    """

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class RunsFailed(RecipeError):
    """Some of several runs could not be carried out. The message names each of them, and the
    results of the others are kept.
    """


class FormatError(RecipeError):
    """A file that can't be read.

    `message`: what was wrong, what was given and what is allowed. `line`: the line of the file to
    blame, counted from 1.
    """

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message if line is None else f"line {line}: {message}")
        self.line = line


class Cancelled(Exception):
    """Raised by a learner when its `cancelled` callback returns true.

    This is not an error: nobody did anything wrong.
    """


class MissingExtra(ImportError):
    """Required libraries are not installed. The message names them, and the extra of the package
    that includes them.
    """


def check_extra(extra: str, *libraries: str) -> None:
    """Raise MissingExtra unless the libraries of one of the package's extras are installed.

    `extra`: its name in pyproject.toml, such as "lab". `libraries`: names to import.

    >>> check_extra("lab", "streamlite")
    Traceback (most recent call last):
    nlwfa_core.errors.MissingExtra: streamlite is not installed; pip install 'nlwfa-lab[lab]' installs it
    """  # noqa: E501
    missing = [name for name in libraries if find_spec(name) is None]
    if missing:
        are, it = ("is", "it") if len(missing) == 1 else ("are", "them")
        raise MissingExtra(
            f"{enumeration(missing)} {are} not installed; pip install 'nlwfa-lab[{extra}]' "
            f"installs {it}"
        )


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
    """Raise RecipeError if a number is below `least`, infinite or nan.

    >>> check_at_least("rank", 0, 1)
    Traceback (most recent call last):
    nlwfa_core.errors.RecipeError: rank must be at least 1; got 0
    """
    if not number >= least:
        raise RecipeError(
            f"{name} must be at least {format_exact(least)}; got {format_exact(number)}"
        )
    if number == float("inf"):
        raise RecipeError(f"{name} must be a finite number; got {number}")


def check_between(name: str, number: float, least: float, most: float, reason: str = "") -> None:
    """Raise RecipeError unless a number is between `least` and `most`, both included; the message
    may give a reason for these bounds.

    >>> check_between("rank", 25, 1, 20, "the basis has 40 prefixes and 20 suffixes")
    Traceback (most recent call last):
    nlwfa_core.errors.RecipeError: rank must be between 1 and 20 (the basis has 40 prefixes and 20 suffixes); got 25
    """  # noqa: E501
    if not least <= number <= most:
        bounds = f"{format_exact(least)} and {format_exact(most)}" + (
            f" ({reason})" if reason else ""
        )
        raise RecipeError(f"{name} must be between {bounds}; got {format_exact(number)}")


def sentence_of(error: Exception) -> str:
    """Explain in a sentence why a run failed.

    The message of a RecipeError is returned as it is, a lack of memory is reported with advice, and
    anything else is reported as an error inside the program.

    >>> sentence_of(RecipeError("rank must be at least 1; got 0")), sentence_of(KeyError("rank"))
    ('rank must be at least 1; got 0', "The run stopped with an error inside the program: KeyError: 'rank'")
    """  # noqa: E501
    if isinstance(error, RecipeError):
        return str(error)
    if isinstance(error, MemoryError):
        return (
            "There is not enough memory for this: try a smaller basis, fewer strings or a lower "
            "rank."
        )
    return f"The run stopped with an error inside the program: {type(error).__name__}: {error}"


def format_exact(value: float) -> str:
    """Write a number with all its digits, for messages that name a bound.

    >>> (
    ...     format_exact(20_000),
    ...     format_exact(0.05),
    ...     format_exact(1e-07),
    ...     format_exact(2.5e-05),
    ...     format_exact(1.0),
    ... )
    ('20,000', '0.05', '1·10⁻⁷', '2.5·10⁻⁵', '1')
    """
    text = f"{value:,}".removesuffix(".0")
    mantissa, _, power = text.partition("e")
    return f"{mantissa}·10{superscript(int(power))}" if power else text


def superscript(power: int) -> str:
    """Write a whole number in superscript digits.

    >>> superscript(-12)
    '⁻¹²'
    """
    return str(power).translate(SUPERSCRIPTS)


def plural(number: int, noun: str) -> str:
    """Write a number with its noun.

    >>> plural(1, "line"), plural(3000, "line")
    ('1 line', '3,000 lines')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def printable(text: str) -> str:
    r"""Escape characters that a terminal could take for a command, or would not show: control
    characters, marks of direction, line ends.

    They are written as Python's `repr` writes them. Backslashes stay as they are.

    >>> print(printable("a\x1b[2J\x00b\n"))
    a\x1b[2J\x00b\n
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else repr(character)[1:-1] for character in text
    )


def quoted(text: str) -> str:
    """Quote a piece of a file for an error message, shortened if it is long."""
    return repr(text if len(text) <= 40 else text[:39] + "…")


def did_you_mean(name: str, names: Iterable[str], is_sentence: bool = False) -> str:
    """Suggest the nearest of some names, in words that follow the value in an error message, or in
    a sentence after it; empty if no name is near.

    >>> did_you_mean("rank", ["learners", "ranks"]), did_you_mean("depth", ["ranks"])
    ('; did you mean ranks?', '')
    """
    near = get_close_matches(name, list(names), 1)
    begin = " Did" if is_sentence else "; did"
    return f"{begin} you mean {near[0]}?" if near else ""


def alternatives(names: Sequence[str]) -> str:
    """Join names as alternatives, with "or".

    >>> alternatives(["a", "b", "c"])
    'a, b or c'
    """
    return " or ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def enumeration(names: Sequence[str]) -> str:
    """Join names as a list, with "and".

    >>> enumeration(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def listed(names: Sequence[str], most: int = 12) -> str:
    """Join the first names of a list that may be long.

    >>> listed(["a", "b", "c"], most=2)
    'a, b, …'
    """
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")


# What a type is called in messages, if not by its name.
TYPE_NAMES = {
    "int": "whole number",
    "float": "number",
    "str": "text",
    "NoneType": "None",
    "ndarray": "numpy array",
    "Mapping": "dictionary",
}
# (type that is wanted, type of the argument) -> how to make the first from the second.
REMEDIES = {
    ("HankelMatrix", "Sample"): "estimate_hankel(sample, select_basis(sample, …)) makes one",
    ("HankelMatrix", "Basis"): "estimate_hankel(sample, basis) makes one",
    ("Sample", "StringFile"): "its method sample() makes one",
    ("Sample", "Words"): "Sample.of(words, alphabet) makes one",
    ("Sample", "TestSet"): "its sample is one",
    ("TestSet", "Sample"): "TestSet.empirical(sample) makes one",
    ("TestSet", "StringFile"): "TestSet.empirical(file.sample()) makes one",
    ("TestSet", "Words"): "TestSet.empirical(Sample.of(words, alphabet)) makes one",
    ("Words", "Sample"): "its words are",
    ("Words", "list"): "Words.of(list) makes them",
    ("Trie", "Words"): "Trie.of(words, num_symbols) makes one",
    ("Recipe", "dict"): "Recipe(**dictionary) makes one",
    ("bytes", "str"): "Path(name) for a file, text.encode() for its content",
    ("ValuedStrings", "ValueFile"): "its strings are",
    ("StringScores", "WFA"): "string_scores(model, test) makes one",
    ("StringScores", "NLWFA"): "string_scores(model, test) makes one",
    ("int", "Alphabet"): "its length is: len(alphabet)",
    ("LearnerOptions", "any"): "the text is a learner's name, followed by a rank, such as 'SP', 5",
}


def check_types(function: Callable[P, R]) -> Callable[P, R]:
    """Check the types of a public function's arguments by its annotations, before it runs (a
    decorator).

    Only classes, and unions of them, are checked, with `isinstance`. NumPy's integers count as int,
    and whole numbers as float; True and False are neither. Pydantic's `validate_call` would convert
    arguments, such as "3" to 3, and its errors would not say how to make one type from another
    (`REMEDIES`).

    >>> @check_types
    ... def half(number: int) -> float:
    ...     return number / 2
    >>> half(2.5)
    Traceback (most recent call last):
    TypeError: number must be a whole number; got 2.5
    """
    signature = inspect.signature(function)

    @wraps(function)
    def checked(*arguments: P.args, **options: P.kwargs) -> R:
        hints = _hints(function)
        try:
            bound = signature.bind(*arguments, **options).arguments
        # too few or too many arguments: the call below raises Python's own error, which names
        # the function
        except TypeError:
            bound = {}
        for name, value in bound.items():
            if name in hints:
                check_type(name, value, hints[name])
        return function(*arguments, **options)

    return checked


def check_fields(record: Any) -> None:
    """Check the types of a record's fields by its annotations, as `check_types` does."""
    for name, hint in _hints(type(record)).items():  # type: ignore[arg-type]
        check_type(name, getattr(record, name), hint)


def check_type(name: str, value: object, hint: Any) -> None:
    """Raise TypeError unless a value has the type given by an annotation, as far as `isinstance`
    can tell.

    >>> check_type("seed", None, int)
    Traceback (most recent call last):
    TypeError: seed must be a whole number; got None
    """
    wanted = _classes(hint)
    # the usual case, which has to be fast: records are made in inner loops
    if _is_plain(value, wanted):
        return
    if isinstance(value, tuple):
        for entries in (
            get_args(part) for part in (hint, *get_args(hint)) if get_origin(part) is tuple
        ):
            if ... not in entries and len(entries) == len(value):
                for index, (entry, entry_hint) in enumerate(zip(value, entries, strict=True)):
                    check_type(f"{name}[{index}]", entry, entry_hint)
            elif ... not in entries:
                raise TypeError(
                    f"{name} must be a tuple of {len(entries)} values; got {len(value)} values"
                )
    if wanted and not any(_is_instance(value, kind) for kind in wanted):
        names = [TYPE_NAMES.get(kind.__name__, kind.__name__) for kind in wanted]
        phrases = [
            name if name in ("None", "text", "bytes", "Words", "ValuedStrings") else f"a {name}"
            for name in names
        ]
        plain = value is None or isinstance(value, (bool, Real, str))
        argument = f"{value!r:.60}" if plain else type(value).__name__
        remedies = (
            REMEDIES.get((kind.__name__, of))
            for kind in wanted
            for of in (type(value).__name__, "any")
        )
        remedy = next((f" ({remedy})" for remedy in remedies if remedy), "")
        raise TypeError(f"{name} must be {' or '.join(phrases)}; got {argument}{remedy}")


def check_entries(name: str, values: object, hint: Any) -> None:
    """Raise TypeError unless a value is a sequence whose entries have the type given by an
    annotation.

    >>> check_entries("ranks", [1, "2"], int)
    Traceback (most recent call last):
    TypeError: ranks[1] must be a whole number; got '2'
    """
    check_type(name, values, Sequence)
    wanted = _classes(hint)
    for index, value in enumerate(cast(Sequence[object], values)):
        if not _is_plain(value, wanted):
            check_type(f"{name}[{index}]", value, hint)


@cache
def _hints(annotated: Any) -> dict[str, Any]:
    """Return the annotations of a function or class that `check_type` understands."""
    return {
        name: hint
        for name, hint in get_type_hints(annotated).items()
        if name != "return" and _classes(hint)
    }


@cache
def _classes(hint: Any) -> tuple[type, ...]:
    """Return the classes that an annotation allows; none if `isinstance` can't tell."""
    if hint is None:
        return (type(None),)
    origin = get_origin(hint)
    for alias in (origin, hint):  # NumPy's NDArray is an alias from 2.5 on
        meant = getattr(alias, "__value__", None)
        if meant is not None:
            return _classes(meant)
    if origin in (Union, types.UnionType):
        parts = [_classes(part) for part in get_args(hint)]
        return tuple(kind for part in parts for kind in part) if all(parts) else ()
    kind = origin or hint
    protocol = getattr(kind, "_is_protocol", False) and not getattr(
        kind, "_is_runtime_protocol", False
    )
    return (kind,) if isinstance(kind, type) and kind not in (Any, object) and not protocol else ()


def _is_plain(value: object, wanted: tuple[type, ...]) -> bool:
    """Return whether a value's own class is wanted, and it is not a tuple, whose entries have types
    of their own.
    """
    return type(value) in wanted and type(value) is not tuple


def _is_instance(value: object, kind: type) -> bool:
    if kind in (int, float):
        return isinstance(value, Integral if kind is int else Real) and not isinstance(value, bool)
    if isinstance(value, str):  # a string is a sequence of strings, but never the one wanted
        return kind is str
    return isinstance(value, kind)
