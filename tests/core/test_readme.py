"""What README counts is what there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from nlwfa_core.experiment.presets import PRESETS
from nlwfa_core.teaching.automata.challenges import read_challenges
from nlwfa_core.teaching.lessons import read_lessons
from nlwfa_core.teaching.quizzes import read_quizzes
from nlwfa_core.teaching.tasks.bank import read_bank

ROOT = Path(__file__).resolve().parents[2]
ASSETS = ROOT / "assets"
README = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
WORDS = [
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
]

KINDS = len(read_bank(ASSETS / "tasks"))
AUTOMATA = len(read_challenges(ASSETS / "automata"))
LESSONS = len(read_lessons(ASSETS / "lessons"))
QUIZZES = len(read_quizzes(ASSETS / "quizzes", read_bank(ASSETS / "tasks")))
PROGRAMS = len(list((ROOT / "docs" / "gallery").glob("*.py")))
REFINED = PRESETS["refined"][1]


@pytest.mark.parametrize(
    "sentence",
    [
        f"with fresh numbers, {KINDS} kinds of them",
        f"{KINDS} kinds of tasks for Practice, {AUTOMATA} for Build, and a quiz for each of "
        f"{WORDS[QUIZZES]} lessons",
        f"{WORDS[AUTOMATA].capitalize()} tasks ask for an automaton",
        f"**Learn** has {WORDS[LESSONS]} lessons",
        f"{WORDS[LESSONS]} lessons in Markdown",
        f"a gallery of {WORDS[PROGRAMS]} programs",
        f"Choose *{PRESETS['refined'][0].split(',')[0]}, k = {REFINED.learning.rank}*",
        f"now holds {REFINED.data.num_strings:,} strings of brackets",
        f"a {REFINED.hankel.num_prefixes} × {REFINED.hankel.num_suffixes} Hankel matrix",
        f"a nonlinear learner with {WORDS[REFINED.learning.rank]} states",
    ],
)
def test_what_readme_counts_is_there(sentence: str) -> None:
    assert sentence in README
