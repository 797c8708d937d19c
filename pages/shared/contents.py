"""Read what the lab ships (lessons, quizzes, tasks), and open the shelf of uploaded files."""

from __future__ import annotations

from functools import cache

import streamlit as st

from nlwfa_core.display.records import Problem, read_problems
from nlwfa_core.files import FileShelf
from nlwfa_core.teaching.automata.challenges import Challenge, read_challenges
from nlwfa_core.teaching.class_plan import Note, read_notes
from nlwfa_core.teaching.lessons import Lesson, read_lessons
from nlwfa_core.teaching.quizzes import Quiz, read_quizzes
from nlwfa_core.teaching.tasks.bank import Kind, read_bank
from pages.shared.server import ASSETS, home


@cache
def tasks() -> dict[str, Kind]:
    """Read all tasks, name -> kind of task, in their order."""
    return read_bank(ASSETS / "tasks")


@cache
def challenges() -> dict[str, Challenge]:
    """Read all automata to build, by name, in their order."""
    return read_challenges(ASSETS / "automata")


@cache
def quizzes() -> dict[str, Quiz]:
    """Read all quizzes, name of the lesson -> quiz, in their order."""
    return read_quizzes(ASSETS / "quizzes", tasks())


@cache
def teaching_notes() -> dict[str, Note]:
    """Read the notes for teachers, step of a lesson -> note."""
    return read_notes((ASSETS / "teaching.md").read_text(encoding="utf-8"))


@cache
def competition_problems() -> tuple[Problem, ...]:
    """Read the public problems that the lab recognises by their files."""
    return read_problems(ASSETS / "records.json")


@cache
def lessons() -> dict[str, Lesson]:
    """Read all lessons, name -> lesson, in their order."""
    return read_lessons(ASSETS / "lessons")


@st.cache_resource(show_spinner=False)
def uploads() -> FileShelf:
    """Open the shelf of uploaded files.

    It also has the lessons' strings, so a link to a lesson works on any server.
    """
    shelf = FileShelf(home() / "uploads")
    lesson_uploads(shelf)
    return shelf


def lesson_uploads(shelf: FileShelf | None = None) -> set[str]:
    """Put the lessons' strings on the shelf of uploaded files, if they are not there, and return
    their names.
    """
    shelf = shelf or uploads()
    return {
        shelf.put(lesson.strings, f"strings of the lesson {lesson.title}")
        for lesson in lessons().values()
        if lesson.strings
    }
