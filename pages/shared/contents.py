"""Read what the lab ships (lessons, quizzes, tasks), and open the store of uploaded files.

A file with an error is left out, so one mistake of an author does not stop the lab; the page Learn
shows the messages.
"""

from __future__ import annotations

from functools import cache

import streamlit as st

from nlwfa_core import RecipeError
from nlwfa_core.display.records import Problem, read_problems
from nlwfa_core.files import FileShelf
from nlwfa_core.teaching.automata.challenges import Challenge, read_challenges
from nlwfa_core.teaching.class_plan import INTRODUCTION, Note, read_notes
from nlwfa_core.teaching.lessons import Lesson, read_lessons
from nlwfa_core.teaching.markdown import read_text
from nlwfa_core.teaching.quizzes import Quiz, read_quizzes
from nlwfa_core.teaching.tasks.bank import Kind, read_bank
from pages.shared.server import ASSETS, home

# folder, or file, in `ASSETS` -> its files' errors
_errors: dict[str, list[str]] = {}


def _new_errors(name: str) -> list[str]:
    """Return the list for the errors in a folder that is about to be read."""
    _errors[name] = []
    return _errors[name]


def errors() -> list[str]:
    """Read all files that teachers may write, and return the errors: one for each file that was
    left out, with its name and the line.
    """
    for read in (lessons, tasks, quizzes, challenges, teaching_notes):
        read()
    return [f"{name}{error}" for name, messages in _errors.items() for error in messages]


@cache
def tasks() -> dict[str, Kind]:
    """Read all tasks, name -> kind of task, in their order."""
    return read_bank(ASSETS / "tasks", _new_errors("tasks/"))


@cache
def challenges() -> dict[str, Challenge]:
    """Read all automata to build, by name, in their order."""
    return read_challenges(ASSETS / "automata", _new_errors("automata/"))


@cache
def quizzes() -> dict[str, Quiz]:
    """Read all quizzes, name of the lesson -> quiz, in their order."""
    return read_quizzes(ASSETS / "quizzes", tasks(), _new_errors("quizzes/"))


@cache
def teaching_notes() -> dict[str, Note]:
    """Read the notes for teachers, step of a lesson -> note; none if their file has an error."""
    messages = _new_errors("teaching.md: ")
    try:
        return read_notes(read_text(ASSETS / "teaching.md"))
    except RecipeError as error:
        messages.append(str(error))
        return {INTRODUCTION: Note(0, "", "")}


@cache
def competition_problems() -> tuple[Problem, ...]:
    """Read the public problems that the lab recognises by their files."""
    return read_problems(ASSETS / "records.json")


@cache
def lessons() -> dict[str, Lesson]:
    """Read all lessons, name -> lesson, in their order."""
    return read_lessons(ASSETS / "lessons", _new_errors("lessons/"))


@st.cache_resource(show_spinner=False)
def uploads() -> FileShelf:
    """Open the store of uploaded files.

    It also has the lessons' strings, so a link to a lesson works on any server.
    """
    shelf = FileShelf(home() / "uploads")
    lesson_uploads(shelf)
    return shelf


def lesson_uploads(shelf: FileShelf | None = None) -> set[str]:
    """Put the lessons' strings into the store of uploaded files, if they are not there, and return
    their names.
    """
    shelf = shelf or uploads()
    return {
        shelf.put(lesson.strings, f"strings of the lesson {lesson.title}")
        for lesson in lessons().values()
        if lesson.strings
    }
