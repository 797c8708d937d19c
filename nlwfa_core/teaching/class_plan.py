"""The plan for a class: what to say at each step, what to expect, and where people go wrong.

What to say is in a Markdown file of notes; questions, their answers and typical wrong answers are
those of the lessons, so the plan can't contradict them. The file has a `## ` line for each step,
`## rank/1` for the first of the lesson *rank*, with lines `minutes:`, `say:` and `wrong:`. Sections
with other titles are copied.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import FormatError, plural
from .answers import ChoiceKey, Key
from .lessons import Lesson, Step
from .markdown import sections

NAMES = ("minutes", "say", "wrong")
INTRODUCTION = ""  # the name of the note with the sections that belong to no step


@dataclass(frozen=True)
class Note:
    """The notes for a teacher about a step; `say` of the introduction is all of its text."""

    minutes: int
    say: str  # say, wrong: Markdown
    wrong: str


def read_notes(text: str) -> dict[str, Note]:
    """Read the notes: step, such as `rank/1`, -> note; "" -> the introduction.

    Raises FormatError with the number of the line that has the error.
    """
    notes = {}
    introduction = []
    for part in sections(text):
        name = part.title
        body = [line for line in part.lines[1:] if line.strip()]
        if "/" not in name:
            introduction += ["", f"### {name}", *part.lines[1:]]
            continue
        values = {
            key.strip(): value.strip() for key, _, value in (line.partition(":") for line in body)
        }
        if tuple(values) != NAMES or not values["minutes"].isdecimal():
            raise FormatError(
                f"{name} needs the lines minutes: (a whole number), say: and wrong:", part.first
            )
        notes[name] = Note(int(values["minutes"]), values["say"], values["wrong"])
    return {INTRODUCTION: Note(0, "\n".join(introduction).strip(), ""), **notes}


@dataclass(frozen=True)
class StepPlan:
    """A row of the plan: what a teacher says, expects and watches for at a step. Each is Markdown,
    and may be empty.
    """

    say: str
    expect: str
    mistakes: tuple[str, ...]


def step_plan(step: Step, note: Note | None) -> StepPlan:
    """Plan a step from its note, if it has one, and from its question.

    Mistakes are the one of the note and then the typical wrong answers, each with its reason.
    """
    question = step.question
    expect = (question.key.truth if question.key else question.solution) if question else ""
    typical = _mistakes(question.key) if question and question.key else []
    return StepPlan(note.say if note else "", expect, (*([note.wrong] if note else []), *typical))


def lesson_plan(lessons: Mapping[str, Lesson], notes: Mapping[str, Note]) -> str:
    """Write the plan as Markdown, for the lessons whose first step has a note.

    Mistakes are left out: the *Class* page shows them with each question.
    """
    parts = [notes[INTRODUCTION].say]
    for name, lesson in lessons.items():
        if f"{name}/1" not in notes:
            continue
        lines = ["| step | min | say | expect |", "| --- | --- | --- | --- |"]
        for number, step in enumerate(lesson.steps, 1):
            note = notes.get(f"{name}/{number}")
            plan = step_plan(step, note)
            cells = (
                f"{number}. {step.title}",
                f"{note.minutes}" if note else "",
                plan.say,
                plan.expect,
            )
            lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
        title = f"### {lesson.title} · {plural(lesson.minutes, 'minute')}"
        parts += [title, "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def _mistakes(key: Key) -> list[str]:
    """Write the typical wrong answers with their reasons."""
    if isinstance(key, ChoiceKey):
        return [f"*{option.text}*: {option.reason}" for option in key.options if option.reason]
    return [f"*{key.written(hint.answer)}*: {hint.reason}" for hint in getattr(key, "hints", ())]
