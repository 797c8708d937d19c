"""The teacher's plan: a note for every step of the first three lessons, and the document that `make
teaching` writes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from nlwfa_core.errors import FormatError
from nlwfa_core.teaching.class_plan import lesson_plan, read_notes, step_plan
from nlwfa_core.teaching.lessons import read_lessons
from nlwfa_core.teaching.shipped import ASSETS

LESSONS = read_lessons(ASSETS / "lessons")
NOTES = read_notes((ASSETS / "teaching.md").read_text(encoding="utf-8"))
PLANNED = list(LESSONS)[:3]
DOCUMENT = ASSETS.parent / "docs" / "teaching.md"
HEAD = """# Teaching with the lab: 50 minutes

This plan covers the first three lessons. The *Class* page shows each row with its question and typical mistakes. `make teaching` writes the
plan from `assets/teaching.md` and the lessons.

"""  # noqa: E501


def document() -> str:
    return HEAD + lesson_plan(LESSONS, NOTES)


def test_every_step_of_the_class_has_a_note() -> None:
    steps = [
        f"{name}/{number}" for name in PLANNED for number in range(1, len(LESSONS[name].steps) + 1)
    ]
    assert [name for name in NOTES if name] == steps
    for name in PLANNED:
        lesson = LESSONS[name]
        assert (
            sum(NOTES[f"{name}/{number}"].minutes for number in range(1, len(lesson.steps) + 1))
            == lesson.minutes
        )
    assert sum(note.minutes for note in NOTES.values()) == 50


def test_a_step_without_a_note_is_in_the_plan() -> None:
    notes = {name: note for name, note in NOTES.items() if name != "rank/2"}
    [row] = [line for line in lesson_plan(LESSONS, notes).split("\n") if "| 2. Reveal it |" in line]
    assert row.startswith("| 2. Reveal it |  |  | ")


def test_the_plan_says_what_the_lessons_say() -> None:
    plan = lesson_plan(LESSONS, NOTES)
    for name in PLANNED:
        for number, step in enumerate(LESSONS[name].steps, 1):
            note = NOTES[f"{name}/{number}"]
            [row] = [line for line in plan.split("\n") if f"| {note.say} |" in line]
            assert row.startswith(f"| {number}. {step.title} | {note.minutes} |")
            if step.question and step.question.key:
                assert row.endswith(f"| {step.question.key.truth} |")
    mistakes = step_plan(LESSONS["hankel-matrix"].steps[0], NOTES["hankel-matrix/1"]).mistakes
    assert mistakes[0] == NOTES["hankel-matrix/1"].wrong
    assert mistakes[3].startswith("*0.6*: Only strings that are equal to `ab` count")
    question = LESSONS["which-model"].steps[5].question
    assert question is not None and question.key is None
    unplanned = step_plan(LESSONS["which-model"].steps[5], None)
    assert (unplanned.say, unplanned.expect, unplanned.mistakes) == ("", question.solution, ())


def test_the_plan_is_read_in_five_minutes() -> None:
    """Two pages, at 200 words a minute."""
    assert len(document().split()) <= 1_000


def test_the_document_is_up_to_date() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document(), "run `make teaching`"


@pytest.mark.parametrize(
    "text", ["say: x\n", "minutes: two\nsay: x\nwrong: y\n", "minutes: 2\nsay: x\nwrong y\n"]
)
def test_errors_name_the_line(text: str) -> None:
    with pytest.raises(FormatError, match="line 2: a/1 needs the lines minutes:"):
        read_notes(f"\n## a/1\n{text}")


if __name__ == "__main__":
    Path(DOCUMENT).write_text(document(), encoding="utf-8")
