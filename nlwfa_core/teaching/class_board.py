"""The contents of a class board: who is where, how often each answer was entered, who was right,
and the tables to take away.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median

from ..errors import RecipeError
from ..history.classes import Answer, ClassRecord, Member, question_name
from ..metrics.tables import csv_text
from .answers import SEPARATOR, ChoiceKey, Key, NumberKey, read_number
from .lessons import Lesson, Step
from .quizzes import AFTER, BEFORE, quiz_seconds, shares

MAX_BARS = 20
OTHERS = "others"
TIMES = ("seconds before", "seconds after")


@dataclass(frozen=True)
class Bar:
    """One bar of a histogram."""

    label: str  # an answer: Markdown for the option of a choice, otherwise as people entered it
    count: int  # how many people entered it
    right: bool


@dataclass(frozen=True)
class Tally:
    """The number of people who answered a question, and how many of them were right on the first
    try or, after a hint, at the second.
    """

    answered: int
    first: int
    second: int
    seconds: float  # the median until the first try; nan if nobody's time is known


def tries(answers: Iterable[Answer], question: str) -> dict[str, list[Answer]]:
    """Collect the tries at a question, member -> tries in their order.

    `question` is as `question_name` writes it.
    """
    found: dict[str, list[Answer]] = {}
    for answer in answers:
        if question_name(answer.task, answer.seed) == question:
            found.setdefault(answer.member, []).append(answer)
    return {
        member: sorted(those, key=lambda answer: answer.attempt) for member, those in found.items()
    }


def shown_at_first(record: ClassRecord, opens: str, names: Sequence[str]) -> str:
    """Return what the board shows until the teacher chooses: the step to which the class was moved,
    otherwise the step of the latest answer, otherwise the first step of the lesson that opens.
    """
    answered = (question_name(answer.task, answer.seed) for answer in reversed(record.answers))
    candidates = (record.place, *answered, f"{opens}/1")
    return next((name for name in candidates if name in names), names[0])


def tally(answers: Iterable[Answer], question: str) -> Tally:
    """Count who answered a question, and who was right on which try."""
    everyone = tries(answers, question).values()
    right = Counter(
        next((answer.attempt for answer in those if answer.credit == 1), 0) for those in everyone
    )
    times = [those[0].seconds for those in everyone if those[0].seconds is not None]
    return Tally(len(everyone), right[1], right[2], median(times) if times else math.nan)


def first_guesses(answers: Iterable[Answer], question: str) -> list[str]:
    """Return everyone's first answer to a question, as it was entered."""
    return [those[0].answer for those in tries(answers, question).values() if those[0].attempt == 1]


def histogram(key: Key, guesses: Sequence[str]) -> list[Bar]:
    """Count equal answers.

    All options of a choice are included, in their order; if several may be chosen, each choice
    counts. Equal numbers share one bar, under the text that was entered most often, and bars of
    numbers are in their order. Other answers are ordered by frequency, the most frequent first.
    Beyond `MAX_BARS`, the rarest share one bar.

    >>> [
    ...     (bar.label, bar.count, bar.right)
    ...     for bar in histogram(NumberKey(0.3), ["30 %", "0.2", "0.3", "30 %"])
    ... ]
    [('0.2', 1, False), ('30 %', 3, True)]
    """
    if isinstance(key, ChoiceKey):
        chosen = Counter(
            part.strip() for guess in guesses for part in guess.split(SEPARATOR.strip())
        )
        return [Bar(option.text, chosen[option.text], option.right) for option in key.options]
    groups: dict[float | str, list[str]] = {}
    for guess in guesses:
        groups.setdefault(_value(key, guess), []).append(guess.strip())
    frequent = sorted(groups, key=lambda value: -len(groups[value]))
    rest = sum(len(groups[value]) for value in frequent[MAX_BARS:])
    values = frequent[:MAX_BARS]
    if isinstance(key, NumberKey):
        values.sort(key=lambda value: value if isinstance(value, float) else math.inf)
    bars = [
        Bar(
            Counter(groups[value]).most_common(1)[0][0],
            len(groups[value]),
            _is_right(key, groups[value][0]),
        )
        for value in values
    ]
    return bars + ([Bar(OTHERS, rest, False)] if rest else [])


def _value(key: Key, text: str) -> float | str:
    try:
        return read_number(text) if isinstance(key, NumberKey) else key.written(text)
    except RecipeError:  # the question has changed since
        return text


def _is_right(key: Key, text: str) -> bool:
    try:
        return key.check(text).correct
    except RecipeError:
        return False


def places(members: Iterable[Member]) -> dict[str, list[Member]]:
    """Group members by where they are: place -> members; "" are those who have opened nothing
    yet.
    """
    groups: dict[str, list[Member]] = {}
    for member in members:
        groups.setdefault(member.place, []).append(member)
    return groups


def lesson_steps(lessons: Mapping[str, Lesson]) -> dict[str, tuple[str, Step]]:
    """Return the steps of all lessons in their order: place, such as `rank/2` -> title and step."""
    return {
        f"{name}/{number}": (f"{lesson.title} · {number}. {step.title}", step)
        for name, lesson in lessons.items()
        for number, step in enumerate(lesson.steps, 1)
    }


def followed_by(place: str, places: Sequence[str]) -> str:
    """Return the step after a place, which may be in the next lesson; "" after the last step of the
    last lesson, and for anything that is not a step.

    >>> followed_by("a/2", ["a/1", "a/2", "b/1"]), followed_by("b/1", ["a/1", "a/2", "b/1"])
    ('b/1', '')
    """
    return "".join([*places][places.index(place) + 1 :][:1]) if place in places else ""


def member_names(members: Sequence[Member]) -> dict[str, str]:
    """Name members for the teacher: by their nicknames, otherwise by numbers in the order in which
    they joined.
    """
    return {
        member.member: member.nickname or f"student {number}"
        for number, member in enumerate(members, 1)
    }


def answers_csv(record: ClassRecord) -> bytes:
    """Write all answers of a session as CSV, seconds to a tenth.

    No row has a pseudonym: members have numbers.
    """
    numbers = {member.member: number for number, member in enumerate(record.members, 1)}
    nicknames = {member.member: member.nickname for member in record.members}
    heading = (
        "student",
        "nickname",
        "time (UTC)",
        "question",
        "seed",
        "try",
        "answer",
        "credit",
        "seconds",
    )
    rows = [
        (
            numbers[answer.member],
            nicknames[answer.member],
            _moment(answer.moment),
            answer.task,
            answer.seed,
            answer.attempt,
            answer.answer,
            answer.credit,
            "" if answer.seconds is None else round(answer.seconds, 1),
        )
        for answer in record.answers
        if answer.member in numbers
    ]
    return _for_spreadsheets([heading, *rows])


def gains_csv(record: ClassRecord, names: Iterable[str]) -> bytes:
    """Write as CSV, for each student and quiz, the share of right items and the seconds before and
    after, and the gain (after − before) / (1 − before), which is empty where it is undefined.

    `names`: those of the quizzes.
    """
    heading = ("student", "nickname", "quiz", "before", "after", "gain", *TIMES)
    rows: list[tuple[str | float | None, ...]] = []
    for name in names:
        before, after = (shares(record.answers, name, when) for when in (BEFORE, AFTER))
        times = [quiz_seconds(record.answers, name, when) for when in (BEFORE, AFTER)]
        for number, entry in enumerate(record.members, 1):
            first = before.get(entry.member)
            second = after.get(entry.member)
            if first is None and second is None:
                continue
            is_defined = first is not None and second is not None and first < 1
            gain = (second - first) / (1 - first) if is_defined else None  # type: ignore[operator]
            seconds = (those.get(entry.member) for those in times)
            rows.append((number, entry.nickname, name, first, second, gain, *seconds))
    return _for_spreadsheets([heading, *rows])


def hand_ins_csv(record: ClassRecord) -> bytes:
    """Write what was handed in as CSV."""
    numbers = {member.member: number for number, member in enumerate(record.members, 1)}
    nicknames = {member.member: member.nickname for member in record.members}
    heading = ("student", "nickname", "time (UTC)", "number", "handed in")
    rows = [
        (
            numbers[entry.member],
            nicknames[entry.member],
            _moment(entry.moment),
            entry.number,
            entry.content,
        )
        for entry in record.hand_ins
        if entry.member in numbers
    ]
    return _for_spreadsheets([heading, *rows])


def _for_spreadsheets(rows: Sequence[Sequence[str | float | None]]) -> bytes:
    """Write CSV with the mark by which Excel knows UTF-8."""
    return csv_text(rows).encode("utf-8-sig")


def _moment(seconds: float) -> str:
    return (
        datetime.fromtimestamp(seconds, UTC)
        .isoformat(timespec="milliseconds")
        .replace("+00:00", "")
    )
