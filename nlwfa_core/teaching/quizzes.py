"""Quizzes of eight items, taken before and after a lesson, and the normalised gain of those who
took both.

A quiz is a Markdown file like those of the bank of tasks (see `tasks.bank`). Its heading has a line
`items:` with the names of its items in order: kinds of the file itself, or of the bank. The quizzes
before and after have the same kinds with different numbers.

Source of the gain: R. R. Hake, *Interactive-engagement versus traditional methods* (American
Journal of Physics 66, 1998), section II: the gain of the class average, divided by the largest gain
that was possible.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import FormatError, RecipeError, check_between, check_one_of, did_you_mean
from ..history.classes import Answer
from ..metrics.intervals import CONFIDENCE, NUM_RESAMPLES, Interval, resamples
from .markdown import named_values, read_folder, read_heading
from .tasks.bank import Kind, Task, read_kinds

BEFORE = "before"
AFTER = "after"
# the seed of the first item; unlike the numbers of tasks that people practise with
SEEDS = {BEFORE: 1_000_120, AFTER: 1_000_520}
NUM_ITEMS = 8
HEADING = ("title", "items")
PREFIX = "quiz"
FEWEST = 5  # the fewest people for whom an interval is computed


@dataclass(frozen=True)
class Quiz:
    """A lesson's quiz."""

    name: str  # that of the lesson
    title: str
    items: tuple[Kind, ...]

    def tasks(self, when: str) -> tuple[Task, ...]:
        """Make the items with their numbers.

        Raises RecipeError unless `when` is "before" or "after".
        """
        check_one_of("when", when, SEEDS)
        # different strings for each
        return tuple(kind.task(SEEDS[when] + number) for number, kind in enumerate(self.items))


@dataclass(frozen=True)
class Gain:
    """The gain of a class between two quizzes, as shares of the items that were right."""

    number: int  # the people who took the quiz both before and after
    before: float  # before, after: their average shares; nan if there is nobody
    after: float
    # (after − before) / (1 − before), with a 95 % bootstrap interval over people; its ends are nan
    # for fewer than `FEWEST` people, or if the gain is undefined in some resample. None if it is
    # undefined, because all items were right before.
    gain: Interval | None

    def text(self) -> str:
        """Write the gain with its interval, if it has one.

        >>> (
        ...     normalised_gain([0.25], [0.75]).text(),
        ...     normalised_gain([1.0], [1.0]).text(),
        ...     normalised_gain([], []).text(),
        ... )
        ('0.67', 'undefined: everything was right before', '–')
        """
        if self.gain is None:
            return "undefined: everything was right before" if self.number else "–"
        return f"{self.gain.estimate:.2f}" if math.isnan(self.gain.low) else self.gain.text(".2f")


def percent(share: float) -> str:
    """Write a share.

    >>> percent(0.625), percent(float("nan"))
    ('62 %', '–')
    """
    return "–" if math.isnan(share) else f"{100 * share:.0f} %"


def read_quizzes(
    folder: Path, bank: Mapping[str, Kind], errors: list[str] | None = None
) -> dict[str, Quiz]:
    """Read all quizzes of a folder: name -> quiz, in the order of the files, which are named as
    those of the lessons.

    `errors`: if a list is given, a file with an error is left out, and its error message is
    appended to the list.

    Raises RecipeError if a file has an error, unless there is such a list; the message names the
    file.
    """
    return read_folder(folder, lambda name, text: [(name, read_quiz(name, text, bank), 1)], errors)


def read_quiz(name: str, text: str, bank: Mapping[str, Kind]) -> Quiz:
    """Read a quiz from the text of its file.

    Raises FormatError if the text has an error, or does not have `NUM_ITEMS` different items.
    """
    heading, own_kinds = read_kinds(text, HEADING)
    section = read_heading(text, "a quiz")
    line = next(line for line, key, _ in named_values(section, HEADING) if key == "items")
    kinds = {**bank, **{kind.name: kind for kind in own_kinds}}
    names = [item.strip() for item in heading["items"].split(",")]
    unknown = [item for item in names if item not in kinds]
    if unknown:
        raise FormatError(f"there is no item {unknown[0]!r}{did_you_mean(unknown[0], kinds)}", line)
    if len(set(names)) != NUM_ITEMS or len(names) != NUM_ITEMS:
        raise FormatError(
            f"a quiz must have {NUM_ITEMS} different items; got {len(set(names))}", line
        )
    unused = [kind.name for kind in own_kinds if kind.name not in names]
    if unused:
        raise FormatError(f"{unused[0]!r} is not among the items", line)
    return Quiz(name, heading["title"], tuple(kinds[item] for item in names))


def item_name(quiz: str, when: str, number: int) -> str:
    """Name an item of a quiz, as responses and answers do.

    >>> item_name("rank", "before", 1)
    'quiz/rank/before/1'
    """
    return f"{PREFIX}/{quiz}/{when}/{number}"


def shares(answers: Sequence[Answer], quiz: str, when: str) -> dict[str, float]:
    """Compute the share of items that each person had right: member -> share, for those who took
    the quiz.

    An item counts if it is entirely right; one that was not answered is wrong.
    """
    names = {item_name(quiz, when, number) for number in range(1, NUM_ITEMS + 1)}
    right: dict[str, int] = {}
    for answer in answers:
        if answer.task in names:
            right[answer.member] = right.get(answer.member, 0) + (answer.credit == 1)
    return {member: number / NUM_ITEMS for member, number in right.items()}


def quiz_seconds(answers: Sequence[Answer], quiz: str, when: str) -> dict[str, float]:
    """Return how long each person had the quiz before handing it in: member -> seconds, for those
    whose time is known.
    """
    names = {item_name(quiz, when, number) for number in range(1, NUM_ITEMS + 1)}
    return {
        answer.member: answer.seconds
        for answer in answers
        if answer.task in names and answer.seconds is not None
    }


def normalised_gain(before: Sequence[float], after: Sequence[float]) -> Gain:
    """Compute the normalised gain of the class average.

    >>> normalised_gain([0.25, 0.75], [0.75, 0.75]).gain.estimate
    0.5

    `before` and `after`: for each person who took both, the share of items that were right, between
    0 and 1.

    Raises RecipeError if the sequences have different lengths, or a share is not between 0 and 1.
    """
    if len(before) != len(after):
        raise RecipeError(
            f"before and after must have the same number of people; got {len(before)} and "
            f"{len(after)}"
        )
    for share in (*before, *after):
        check_between("a share of right items", share, 0, 1)
    number = len(before)
    if not number:
        return Gain(0, float("nan"), float("nan"), None)
    first = np.array(before, dtype=float)
    second = np.array(after, dtype=float)
    averages = float(first.mean()), float(second.mean())
    if averages[0] == 1:
        return Gain(number, *averages, None)
    estimate = (averages[1] - averages[0]) / (1 - averages[0])
    low = high = float("nan")
    if number >= FEWEST:
        draws = np.concatenate(
            list(resamples(np.ones(number, dtype=np.int64), NUM_RESAMPLES, seed=0))
        )
        starts = draws @ first / number
        ends = draws @ second / number
        if not (starts >= 1 - 1e-12).any():
            tail = (1 - CONFIDENCE) / 2
            low, high = (
                float(value)
                for value in np.quantile((ends - starts) / (1 - starts), [tail, 1 - tail])
            )
    return Gain(number, *averages, Interval(estimate, low, high))


def class_gain(answers: Sequence[Answer], quiz: str) -> Gain:
    """Compute the normalised gain of those who took a quiz both before and after."""
    before, after = (shares(answers, quiz, when) for when in SEEDS)
    both = [member for member in before if member in after]
    return normalised_gain([before[member] for member in both], [after[member] for member in both])
