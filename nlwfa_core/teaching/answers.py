"""Check answers: a key holds the right answer, reads a person's text, and says how much of it is
right and what is wrong.

A key reads text and never evaluates it. Text that can't be read raises RecipeError, and does not
count as a try. Widgets that offer choices join them with `SEPARATOR` into the same kind of text, so
any answer can be stored, sent and checked again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

import numpy as np

from ..errors import PLAIN_DIGITS, RecipeError, enumeration, listed, plural
from ..rounding import format_significant

SEPARATOR = " | "
MAX_CHARACTERS = 200
EMPTY_STRING = ("", "λ", "ε", "lambda", "epsilon", "empty")
NEARLY = 5  # tolerances: an answer as near as this gets half the credit
ROUNDING = 1e-9  # relative tolerance of a number without a tolerance of its own
FORMS = "a decimal, a fraction or a percentage"  # no example: it could be the answer

DIGITS = r"(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)"
DECIMAL = re.compile(
    rf"([+-]?)({DIGITS})(?:e([+-]?[0-9]{{1,2}})|\s*[*·×x]\s*10\s*\^\s*\(?([+-]?[0-9]{{1,2}})\)?)?"
)
POWER = re.compile("10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
# three or more: commas that can't be decimal
WHOLE_NUMBERS = re.compile("[+-]?[0-9]{1,2}(,[+-]?[0-9]{1,2}){2,}")
TWO_MEANINGS = re.compile("[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+")


@dataclass(frozen=True)
class Verdict:
    """States how much of an answer is right, and why not all of it."""

    credit: float  # from 0 to 1; 1 is a correct answer
    reason: str = ""  # Markdown: what is wrong; empty for a correct answer

    @property
    def correct(self) -> bool:
        return self.credit == 1


class Key(Protocol):
    """The interface of all keys."""

    @property
    def truth(self) -> str:
        """Return the correct answer as Markdown."""

    @property
    def best(self) -> str:
        """Return the correct answer as a person would enter it."""

    def written(self, text: str) -> str:
        """Write an answer as Markdown."""

    def check(self, text: str) -> Verdict:
        """Check an answer. Raises RecipeError if it can't be read."""


@dataclass(frozen=True)
class Hint:
    """A typical wrong answer, and what to tell a person who enters it."""

    answer: str
    reason: str  # Markdown: the mistake that leads to this answer


@dataclass(frozen=True)
class NumberKey:
    """A number, right within an absolute tolerance.

    >>> NumberKey(0.3, 0.005).check("30 %"), NumberKey(0.3, 0.005).check("0,2")
    (Verdict(credit=1, reason=''), Verdict(credit=0, reason='Too small.'))
    """

    value: float
    tolerance: float = 0
    hints: tuple[Hint, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Return whether the answer is a whole number that must be given exactly."""
        return self.tolerance == 0 and float(self.value).is_integer()

    @property
    def truth(self) -> str:
        return write_number(self.value)

    @property
    def best(self) -> str:
        return write_number(self.value)

    def written(self, text: str) -> str:
        return _plain(text)

    def check(self, text: str) -> Verdict:
        number = read_number(text)
        if _equal(number, self.value, self.tolerance):
            return Verdict(1)
        for hint in self.hints:
            if _equal(number, read_number(hint.answer), 0):
                return Verdict(0, hint.reason)
        if self.tolerance and _equal(number, self.value, NEARLY * self.tolerance):
            return Verdict(0.5, "Nearly: compute or read it more exactly.")
        if self.value and _equal(number, -self.value, self.tolerance):
            return Verdict(0, "Look at the sign.")
        return Verdict(0, "Too small." if number < self.value else "Too large.")


@dataclass(frozen=True)
class NumbersKey:
    """Several numbers in a fixed order, such as a state vector. Each number that is right counts.

    >>> NumbersKey((1, 2)).check("(1; 3)")
    Verdict(credit=0.5, reason='1 of 2 numbers is right. Look at number 2 again.')
    """

    values: tuple[float, ...]
    tolerance: float = 0
    hints: tuple[Hint, ...] = ()

    @property
    def truth(self) -> str:
        return f"({', '.join(map(write_number, self.values))})"

    @property
    def best(self) -> str:
        return " ".join(map(write_number, self.values))

    def written(self, text: str) -> str:
        return _plain(text)

    def check(self, text: str) -> Verdict:
        """Give credit for each number that is right. A wrong answer that matches a hint gets the
        hint's reason.
        """
        numbers = read_numbers(text)
        if len(numbers) != len(self.values):
            raise RecipeError(
                f"write {plural(len(self.values), 'number')} with spaces between them; got "
                f"{len(numbers)}"
            )
        pairs = zip(numbers, self.values, strict=True)
        wrong_places = [
            str(place) for place, pair in enumerate(pairs, 1) if not _equal(*pair, self.tolerance)
        ]
        right = len(numbers) - len(wrong_places)
        if not wrong_places:
            return Verdict(1)
        for hint in self.hints:
            wrong = read_numbers(hint.answer)
            # no tolerance here: a hint is about one wrong answer, not about those near it
            if len(wrong) == len(numbers) and all(map(_equal, numbers, wrong, [0] * len(wrong))):
                return Verdict(right / len(numbers), hint.reason)
        message = (
            f"{right} of {plural(len(numbers), 'number')} "
            f"{'is' if 1 in (right, len(numbers)) else 'are'} right."
        )
        if right:
            message += (
                f" Look at number{'' if len(wrong_places) == 1 else 's'} "
                f"{enumeration(wrong_places)} again."
            )
        return Verdict(right / len(numbers), message)


@dataclass(frozen=True)
class Option:
    """An option of a choice; a wrong one may have a reason, in Markdown."""

    text: str
    right: bool
    reason: str = ""


@dataclass(frozen=True)
class ChoiceKey:
    """One option that is right, or several, all of which have to be chosen; each wrong one cancels
    the credit of a right one.

    >>> ChoiceKey((Option("1", True), Option("2", True), Option("3", False))).check("1")
    Verdict(credit=0.5, reason='What you chose is right; 1 more is missing.')
    """

    options: tuple[Option, ...]

    @property
    def several(self) -> bool:
        return sum(option.right for option in self.options) > 1

    @property
    def truth(self) -> str:
        return "; ".join(option.text for option in self.options if option.right)

    @property
    def best(self) -> str:
        return SEPARATOR.join(option.text for option in self.options if option.right)

    def written(self, text: str) -> str:
        return "; ".join(_parts(text))

    def check(self, text: str) -> Verdict:
        names = [option.text for option in self.options]
        chosen = [self.options[names.index(part)] for part in _options_in(_parts(text), names)]
        if not self.several and len(chosen) > 1:
            raise RecipeError(f"choose one option; got {len(chosen)}")
        rights = sum(option.right for option in self.options)
        wrong = [option for option in chosen if not option.right]
        hits = len(chosen) - len(wrong)
        if hits == rights and not wrong:
            return Verdict(1)
        reason = " ".join(option.reason for option in wrong if option.reason)
        if self.several:
            count = (
                f"{hits} of {rights} right ones, and {len(wrong)} too many."
                if wrong
                else f"What you chose is right; {rights - hits} more "
                f"{'is' if rights - hits == 1 else 'are'} missing."
            )
            return Verdict(max(0, hits - len(wrong)) / rights, f"{count} {reason}".strip())
        return Verdict(0, reason or "No.")

    def shuffled(self, seed: int) -> ChoiceKey:
        """Put the options into an order determined by the seed."""
        order = np.random.default_rng(seed).permutation(len(self.options))
        return replace(self, options=tuple(self.options[index] for index in order))


@dataclass(frozen=True)
class StringKey:
    """A string over an alphabet of characters; several may be right. Each symbol in its position
    counts.

    >>> StringKey(("aba",), "ab").check("abb")
    Verdict(credit=0.6666666666666666, reason='2 of 3 symbols are right.')
    """

    strings: tuple[str, ...]
    alphabet: str
    hints: tuple[Hint, ...] = ()

    @property
    def truth(self) -> str:
        return " or ".join(_code(string) for string in self.strings)

    @property
    def best(self) -> str:
        return self.strings[0] or "λ"

    def written(self, text: str) -> str:
        return _code(self._read(text))

    def check(self, text: str) -> Verdict:
        string = self._read(text)
        if string in self.strings:
            return Verdict(1)
        for hint in self.hints:
            if self._read(hint.answer) == string:
                return Verdict(0, hint.reason)
        lengths = {len(right) for right in self.strings}
        if len(string) not in lengths:
            return Verdict(
                0,
                "Too short."
                if len(string) < min(lengths)
                else "Too long."
                if len(string) > max(lengths)
                else "No.",
            )
        right = max(
            sum(map(str.__eq__, string, other))
            for other in self.strings
            if len(other) == len(string)
        )
        return Verdict(
            right / len(string),
            f"{right} of {plural(len(string), 'symbol')} "
            f"{'is' if 1 in (right, len(string)) else 'are'} right.",
        )

    def _read(self, text: str) -> str:
        string = "".join(_short(text).split())
        if string.lower() in EMPTY_STRING:
            return ""
        wrong = [symbol for symbol in string if symbol not in self.alphabet]
        if wrong:
            raise RecipeError(
                f"use only the symbols {' '.join(self.alphabet)}, or λ for the empty string; "
                f"got {wrong[0]!r}"
            )
        return string


@dataclass(frozen=True)
class CellKey:
    """A cell of a matrix, by the labels of its row and column; several may be right.

    An answer gets half the credit if only the row or only the column is right.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[str, str], ...]
    hints: tuple[Hint, ...] = ()

    @property
    def truth(self) -> str:
        return " or ".join(self.written(SEPARATOR.join(cell)) for cell in self.cells)

    @property
    def best(self) -> str:
        return SEPARATOR.join(self.cells[0])

    def written(self, text: str) -> str:
        return cell_name(*self._read(text))

    def check(self, text: str) -> Verdict:
        cell = self._read(text)
        if cell in self.cells:
            return Verdict(1)
        for hint in self.hints:
            if self._read(hint.answer) == cell:
                return Verdict(0, hint.reason)
        if any(cell[0] == right[0] for right in self.cells):
            return Verdict(0.5, "The row is right, but the column is not.")
        if any(cell[1] == right[1] for right in self.cells):
            return Verdict(0.5, "The column is right, but the row is not.")
        return Verdict(0, "Neither the row nor the column is right.")

    def _read(self, text: str) -> tuple[str, str]:
        parts = _parts(text.replace(",", SEPARATOR.strip()))
        if len(parts) != 2:
            raise RecipeError(f"a cell must be a row and a column; got {text[:40]!r}")
        return _options_in(parts[:1], self.rows)[0], _options_in(parts[1:], self.columns)[0]


@dataclass(frozen=True)
class OrderKey:
    """Items in an order. The credit is the share of pairs in the right order, above what a guess
    gets.

    >>> OrderKey(("1", "2", "3")).check("1 | 3 | 2")
    Verdict(credit=0.33333333333333326, reason='2 of 3 pairs are in the right order.')
    """

    items: tuple[str, ...]

    @property
    def truth(self) -> str:
        return ", ".join(self.items)

    @property
    def best(self) -> str:
        return SEPARATOR.join(self.items)

    def written(self, text: str) -> str:
        return ", ".join(_parts(text))

    def check(self, text: str) -> Verdict:
        order = _options_in(_parts(text), self.items)
        if len(order) != len(self.items):
            raise RecipeError(f"put all {len(self.items)} items in order; got {len(order)}")
        ranks = [self.items.index(item) for item in order]
        pairs = [(i, j) for j in range(len(ranks)) for i in range(j)]
        right = sum(ranks[i] < ranks[j] for i, j in pairs)
        if right == len(pairs):
            return Verdict(1)
        return Verdict(
            max(0.0, 2 * right / len(pairs) - 1),
            f"{right} of {len(pairs)} pairs are in the right order.",
        )

    def shuffled(self, seed: int) -> tuple[str, ...]:
        """Put the items into a wrong order determined by the seed."""
        order = np.random.default_rng(seed).permutation(len(self.items))
        items = tuple(self.items[index] for index in order)
        return items if items != self.items else items[::-1]


def cell_name(row: str, column: str) -> str:
    """Name a cell by the labels of its row and column, in the form that options of questions use.

    >>> cell_name("λ", "ab")
    'row λ, column `ab`'
    """
    return f"row {_code(row)}, column {_code(column)}"


def read_number(text: str) -> float:
    """Read a number: decimal point or comma, fraction, per cent, powers of ten, ∞.

    >>> [read_number(text) for text in ("0,3", "3/10", "30 %", "3·10^-1", "3·10⁻¹", "10^-3", "−∞")]
    [0.3, 0.3, 0.3, 0.3, 0.3, 0.001, -inf]

    Raises RecipeError if the text is not a number, or may mean two.
    """
    typed = _short(text)
    plain = re.sub(
        r"^[=≈]\s*", "", POWER.sub(r"10^\1", typed).translate(PLAIN_DIGITS).replace("−", "-")
    ).lower()
    if plain.lstrip("+-") in ("∞", "inf", "infinity") and len(plain) - len(plain.lstrip("+-")) < 2:
        return -math.inf if plain.startswith("-") else math.inf
    share = plain.endswith("%")
    parts = [part.strip() for part in plain.removesuffix("%").split("/")]
    if len(parts) > 2:
        raise RecipeError(f"write one number: {FORMS}; got {typed!r}")
    numbers = [_decimal(part, typed) for part in parts]
    if len(numbers) == 2 and numbers[1] == 0:
        raise RecipeError(f"a fraction's denominator must not be 0; got {typed!r}")
    value = numbers[0] / numbers[1] if len(numbers) == 2 else numbers[0]
    try:
        return float(value / 100 if share else value)
    except OverflowError:
        raise RecipeError(f"the number is too large; got {typed!r}") from None


def read_numbers(text: str) -> tuple[float, ...]:
    """Read numbers with spaces, semicolons, or commas and spaces between them; brackets around them
    are ignored.

    >>> read_numbers("(0.5, 1/4)"), read_numbers("0,5; 2"), read_numbers("2,4,6")
    ((0.5, 0.25), (0.5, 2.0), (2.0, 4.0, 6.0))
    """
    inside = _short(text).strip("()[]{}")
    if WHOLE_NUMBERS.fullmatch(inside):
        inside = inside.replace(",", " ")
    # 1 / 4 and 30 % are one number each
    close = re.sub(r"\s*/\s*|\s+(?=%)", lambda sign: sign[0].strip(), inside)
    parts = [part for part in re.split(r"\s*;\s*|,\s+|\s+", close) if part]
    return tuple(map(read_number, parts))


def write_number(value: float) -> str:
    """Write a number as a person would: with at most six digits, or as a simple fraction if its
    decimals do not end.

    >>> [write_number(value) for value in (3.0, 0.125, 2 / 3, 0.0417, float("inf"))]
    ['3', '0.125', '2/3', '0.0417', '∞']
    """
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    fraction = Fraction(value).limit_denominator(500)
    if not _equal(float(fraction), value, 0) or _equal(round(value, 4), value, 0):
        # without the comma, which could be read as a decimal comma
        return format_significant(value, 6).replace(",", "")
    return str(fraction).replace("-", "−")


def _decimal(text: str, typed: str) -> Fraction:
    if TWO_MEANINGS.fullmatch(text):
        raise RecipeError(
            f"{typed!r} can be read in two ways; write a decimal point, and nothing between "
            "thousands"
        )
    match = DECIMAL.fullmatch(re.sub(r"^([+-]?)10\s*\^", r"\g<1>1·10^", text))
    if not match:
        raise RecipeError(f"write a number: {FORMS}; got {typed!r}")
    sign, digits, exponent, power = match.groups()
    number = Fraction(
        digits.replace(",", ".").strip(".") if digits[0] not in ".," else f"0.{digits[1:]}"
    )
    return (-number if sign == "-" else number) * Fraction(10) ** int(exponent or power or 0)


def _equal(number: float, value: float, tolerance: float) -> bool:
    """Return whether two numbers are equal within a tolerance, up to rounding errors."""
    if math.isinf(number) or math.isinf(value):
        return number == value
    return abs(number - value) <= tolerance * (1 + ROUNDING) + ROUNDING * abs(value)


def _short(text: str) -> str:
    if len(text) > MAX_CHARACTERS:
        raise RecipeError(
            f"an answer may have at most {MAX_CHARACTERS} characters; got {len(text):,}"
        )
    if not text.strip():
        raise RecipeError("enter an answer first")
    return text.strip()


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(SEPARATOR.strip()) if part.strip()]


def _options_in(parts: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the parts without repetitions.

    Raises RecipeError if there are none, or one is not among the names.
    """
    if not parts:
        raise RecipeError("choose an answer first")
    wrong = [part for part in parts if part not in names]
    if wrong:
        raise RecipeError(
            f"{wrong[0][:40]!r} is not one of the options: {listed([name[:40] for name in names])}"
        )
    return list(dict.fromkeys(parts))


def _code(string: str) -> str:
    return f"`{string}`" if string and string != "λ" else "λ"


def _plain(text: str) -> str:
    """Escape a number that a person typed, so Markdown shows it unchanged."""
    return re.sub(r"([\\`*_\[\]()$~<>|^])", r"\\\1", text.strip()[:MAX_CHARACTERS])
