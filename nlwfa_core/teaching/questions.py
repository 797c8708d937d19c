"""Questions in Markdown, with keys by which answers are checked, and a person's response: one try,
a second, then the solution.

In a lesson and in the bank of tasks, a question begins with `? `. The lines directly below may
declare its key:

- `answer: 0.3 ± 0.005`: a number; the tolerance may be a percentage, or be left out
- `numbers: 0.5 0.25 ± 0.01`: several, in this order
- `right: text` and `wrong: text | reason`: options; with two or more right ones, all of them have
  to be chosen
- `string: ab | ba`: a string; `alphabet: a b` lists its symbols, if there are more than in the
  answers
- `cell: λ, ab | ab, λ`: any of these cells (row, column); `rows: λ a b` and `columns: λ a b` are
  the labels
- `order: first | second | third`
- `hint: wrong answer | reason`: for a number, numbers, a string or a cell

What follows is the solution; if it begins with a word and a colon that could be such a line, a
blank line has to be above it. Below a line `Why?` is an explanation, which is folded. The answer to
a question without a key is not entered but opened.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import FormatError, RecipeError, did_you_mean, listed
from .answers import (
    EMPTY_STRING,
    CellKey,
    ChoiceKey,
    Hint,
    Key,
    NumberKey,
    NumbersKey,
    Option,
    OrderKey,
    StringKey,
    Verdict,
    read_number,
    read_numbers,
)
from .markdown import unknown_name

MAX_TRIES = 2
KEYS = ("answer", "numbers", "right", "string", "cell", "order")  # each declares another kind
NAMES = (*KEYS, "wrong", "hint", "alphabet", "rows", "columns")
LINE = re.compile(rf"({'|'.join(NAMES)}):(.*)")
# a word and a colon; not an address such as https://…
SETTING = re.compile(r"\s*([A-Za-z]+)\s*:(?!//)")
WHY = "Why?"
HINTED = ("answer", "numbers", "string", "cell")

Declaration = tuple[int, str, str]  # line, name, value


@dataclass(frozen=True)
class Question:
    """A question with its solution and an explanation, all Markdown; without a key its answer is
    not entered.
    """

    text: str
    solution: str
    key: Key | None = None
    why: str = ""


@dataclass(frozen=True)
class Response:
    """A person's answers to one question so far: a small value that can be stored."""

    # the name of the question: `rank/1` is the first step of the lesson *rank*, `cell` a task of
    # the bank
    task: str
    seed: int = 0  # the seed of a task's numbers; 0 in a lesson
    answers: tuple[str, ...] = ()  # the tries as they were entered, at most `MAX_TRIES`
    credits: tuple[float, ...] = ()  # one for each try
    reason: str = ""  # what is wrong with the last try
    shown: bool = False  # whether the person asked for the solution

    @property
    def tries(self) -> int:
        return len(self.answers)

    @property
    def correct(self) -> bool:
        return 1 in self.credits

    @property
    def over(self) -> bool:
        """Return whether the person may see the solution: after a correct answer, the last try, or
        a request for it.
        """
        return self.correct or self.shown or self.tries >= MAX_TRIES

    @property
    def points(self) -> float:
        """Return the points from 0 to 1: the best credit of all tries, where a second try counts
        half.
        """
        return max(
            (credit / (number + 1) for number, credit in enumerate(self.credits)), default=0.0
        )

    def record(self) -> dict[str, Any]:
        """Return what has to be stored: task, seed, the last answer, whether it is correct, and the
        number of tries.
        """
        answer = self.answers[-1] if self.answers else ""
        return {
            "task": self.task,
            "seed": self.seed,
            "answer": answer,
            "correct": self.correct,
            "tries": self.tries,
        }

    def answered(self, key: Key, text: str) -> Response:
        """Check one more try.

        Raises RecipeError if it can't be read or repeats the last one; neither counts as a try.
        """
        verdict: Verdict = key.check(text)
        if self.over:
            return self
        if text in self.answers:
            raise RecipeError("you have already given this answer; try another one")
        return replace(
            self,
            answers=(*self.answers, text),
            credits=(*self.credits, verdict.credit),
            reason=verdict.reason,
        )

    def opened(self) -> Response:
        """Return the response after the person has asked for the solution."""
        return replace(self, shown=True)


def read_question(lines: Sequence[str], first: int) -> Question:
    """Read a question from its lines, the first of which begins with `? ` and is line `first` of
    the file.

    Raises FormatError with the number of the line that has the error.
    """
    end = next(
        (index for index, line in enumerate(lines[1:], 1) if not LINE.match(line)), len(lines)
    )
    _check_not_meant_as_a_setting(lines[end:], first + end, end > 1)
    declarations = []
    for line, text in enumerate(lines[1:end], first + 1):
        name, value = LINE.match(text).groups()  # type: ignore[union-attr]
        if not value.strip():
            raise FormatError(f"{name}: nothing follows the colon", line)
        declarations.append((line, name, value.strip()))
    cut = next((index for index in range(end, len(lines)) if lines[index] == WHY), len(lines))
    solution = "\n".join(lines[end:cut]).strip()
    if not solution:
        raise FormatError("a question needs an answer in words below it", first)
    return Question(
        lines[0][2:].strip(),
        solution,
        read_key(declarations) if declarations else None,
        "\n".join(lines[cut + 1 :]).strip(),
    )


def _check_not_meant_as_a_setting(rest: Sequence[str], first: int, has_settings: bool) -> None:
    """Raise FormatError if what follows a question's settings begins with another setting that has
    a typing error, or that a blank line separates from them.

    A sentence can also begin with a word and a colon, such as "Two: …". So if the word is
    capitalised, it has to be like the name of a setting. Only the first line is looked at: below it
    is the solution, whose lines may begin with any word.
    """
    skipped = next((index for index, line in enumerate(rest) if line.strip()), 0)
    if skipped and (name := LINE.match(rest[skipped])):
        raise FormatError(
            f"the line {name[1]}: must be directly below the "
            f"{'other settings' if has_settings else 'question'}, without a blank line before it",
            first + skipped,
        )
    word = SETTING.match(rest[0]) if rest else None
    if word and (word[1].islower() or did_you_mean(word[1].lower(), NAMES)):
        advice = " (if the solution begins here, put a blank line above it)"
        raise unknown_name(rest[0], NAMES, first, advice)


def read_key(declarations: Sequence[Declaration]) -> Key:
    """Read a key from the lines that declare it.

    Raises FormatError with the number of the line that has the error.
    """
    line = declarations[0][0]
    values = {name: value for _, name, value in declarations}
    kinds = [name for name in KEYS if name in values]
    if len(kinds) != 1:
        raise FormatError(
            f"a question with an answer to enter needs one of {', '.join(KEYS)}; got "
            f"{' and '.join(kinds) or 'none'}",
            line,
        )
    kind = kinds[0]
    allowed = {kind} | {
        "right": {"wrong"},
        "string": {"alphabet"},
        "cell": {"rows", "columns"},
    }.get(kind, set())
    allowed |= {"hint"} if kind in HINTED else set()
    for number, name, _ in declarations:
        if name not in allowed:
            raise FormatError(f"{name} does not go with {kind}", number)
        if [other for _, other, _ in declarations].count(name) > 1 and name not in (
            "right",
            "wrong",
            "hint",
        ):
            raise FormatError(f"{name} occurs twice", number)
    try:
        key = _key(kind, values, declarations)
        for hint in getattr(key, "hints", ()):
            key.check(hint.answer)
        if not key.check(key.best).correct:
            raise RecipeError("no answer that can be entered would be right")
    except FormatError:
        raise
    except RecipeError as error:
        raise FormatError(str(error), line) from None
    return key


def _key(kind: str, values: dict[str, str], declarations: Sequence[Declaration]) -> Key:
    hints = tuple(_hint(line, value) for line, name, value in declarations if name == "hint")
    if kind in ("answer", "numbers"):
        numbers, _, tolerance = values[kind].partition("±")
        if kind == "answer":
            number = read_number(numbers)
            return NumberKey(number, _tolerance(tolerance, abs(number)), hints)
        row = read_numbers(numbers)
        return NumbersKey(row, _tolerance(tolerance, max(map(abs, row))), hints)
    if kind == "right":
        options = []
        for line, name, value in declarations:
            text, _, reason = (part.strip() for part in value.partition("|"))
            options.append(Option(text, name == "right", reason))
            if [option.text for option in options].count(text) > 1:
                raise FormatError(f"there are two options {text!r}", line)
        if len(options) < 2:
            raise RecipeError("a choice needs at least two options")
        return ChoiceKey(tuple(options))
    parts = tuple(part.strip() for part in values[kind].split("|"))
    if kind == "string":
        strings = tuple("" if part.lower() in EMPTY_STRING else part for part in parts)
        symbols = dict.fromkeys("".join((values.get("alphabet", "").replace(" ", ""), *strings)))
        return StringKey(strings, "".join(symbols), hints)
    if kind == "cell":
        cells = tuple(
            (row.strip(), column.strip())
            for row, _, column in (part.partition(",") for part in parts)
        )
        rows, columns = (tuple(values.get(name, "").split()) for name in ("rows", "columns"))
        if not rows or not columns:
            raise RecipeError("a cell needs lines rows: and columns: with all labels")
        return CellKey(rows, columns, cells, hints)
    if len(parts) < 2 or len(set(parts)) < len(parts) or not all(parts):
        raise RecipeError(
            f"an order needs at least two items, all different and none empty; got {listed(parts)}"
        )
    return OrderKey(parts)


def _hint(line: int, value: str) -> Hint:
    answer, bar, reason = value.rpartition("|")
    if not bar or not answer.strip() or not reason.strip():
        raise FormatError(f"a hint must be 'wrong answer | reason'; got {value!r}", line)
    return Hint(answer.strip(), reason.strip())


def _tolerance(text: str, size: float) -> float:
    if not text.strip():
        return 0
    value = read_number(text)
    return value * size if text.strip().endswith("%") else value
