"""The plan for a class: what to say at each step, what to expect, and where people go wrong.

What to say stands in a Markdown file of notes; questions, their answers and typical wrong answers
are those of the lessons, so that the plan can't contradict them. The file has a `## ` line for each
step, `## rank/1` for the first of the lesson *rank*, with lines `minutes:`, `say:` and `wrong:`.
Sections with other titles are copied.
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
    """What a teacher should know about a step; `say` of the introduction is all of its text."""

    minutes: int
    say: str  # say, wrong: Markdown
    wrong: str


def read_notes(text: str) -> dict[str, Note]:
    """Read the notes: step, such as `rank/1`, -> note; "" -> the introduction.

    Raises FormatError with the number of the line that has the error.
    """
    notes, introduction = {}, []
    for part in sections(text):
        name, body = part.title, [line for line in part.lines[1:] if line.strip()]
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


def lesson_plan(lessons: Mapping[str, Lesson], notes: Mapping[str, Note]) -> str:
    """Write the plan as Markdown, for the lessons whose steps have notes."""
    parts = [notes[INTRODUCTION].say]
    for name, lesson in lessons.items():
        if f"{name}/1" not in notes:
            continue
        parts.append(f"### {lesson.title} · {plural(lesson.minutes, 'minute')}")
        for number, step in enumerate(lesson.steps, 1):
            parts.append(_step(number, step, notes[f"{name}/{number}"]))
    return "\n\n".join(parts) + "\n"


def _step(number: int, step: Step, note: Note) -> str:
    lines = [
        f"#### {number}. {step.title} · {plural(note.minutes, 'minute')}",
        f"**Say:** {note.say}",
    ]
    question = step.question
    if question:
        lines.append(f"**Ask:** {question.text}")
        lines.append(
            f"**Expect:** {question.key.truth}."
            if question.key
            else f"**A possible answer:** {question.solution}"
        )
    mistakes = [note.wrong, *(_mistakes(question.key) if question and question.key else [])]
    lines.append(
        "**Where people go wrong:**\n\n" + "\n".join(f"- {mistake}" for mistake in mistakes)
    )
    return "\n\n".join(lines)


def _mistakes(key: Key) -> list[str]:
    """Write the typical wrong answers with their reasons."""
    if isinstance(key, ChoiceKey):
        return [f"*{option.text}*: {option.reason}" for option in key.options if option.reason]
    return [f"*{key.written(hint.answer)}*: {hint.reason}" for hint in getattr(key, "hints", ())]
