"""What README prints and counts is what there is."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from nlwfa_core.cli.main import main
from nlwfa_core.teaching.automata.challenges import read_challenges
from nlwfa_core.teaching.lessons import read_lessons
from nlwfa_core.teaching.quizzes import read_quizzes
from nlwfa_core.teaching.tasks.bank import read_bank

ROOT = Path(__file__).resolve().parents[2]
ASSETS = ROOT / "assets"
README = (ROOT / "README.md").read_text(encoding="utf-8")
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
SENTENCES = [
    ("README.md", f"**Learn** has {WORDS[LESSONS]} lessons"),
    ("docs/guide/tour.md", f"**Learn** has {WORDS[LESSONS]} lessons"),
    ("docs/guide/tour.md", f"**Practice** has {KINDS} kinds of tasks for pencil and paper"),
    ("docs/guide/tour.md", f"{WORDS[AUTOMATA].capitalize()} tasks ask for an automaton"),
    (
        "docs/architecture.md",
        f"{KINDS} kinds of tasks for Practice, {AUTOMATA} for Build, and a quiz for each of "
        f"{WORDS[QUIZZES]} lessons",
    ),
    ("docs/architecture.md", f"{WORDS[LESSONS]} lessons in Markdown"),
]


@pytest.mark.parametrize(("page", "sentence"), SENTENCES)
def test_what_pages_count_is_there(page: str, sentence: str) -> None:
    assert sentence in " ".join((ROOT / page).read_text(encoding="utf-8").split())


@pytest.mark.slow
def test_the_readmes_python_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    """Within what another type of processor may change."""
    listing, printed = (
        re.findall(rf"^```{language}\n(.*?)```", README, flags=re.DOTALL | re.MULTILINE)[0]
        for language in ("python", "text")
    )
    exec(compile(listing, "README.md", "exec"), {})
    said = [line.split() for line in capsys.readouterr().out.splitlines()]
    expected = [line.split() for line in printed.splitlines()]
    assert [line[:-5] for line in said] == [line[:-5] for line in expected]
    for ours, theirs in zip(said, expected, strict=True):
        assert float(ours[-5]) == pytest.approx(float(theirs[-5]), abs=0.02)
        assert float(ours[-1]) == pytest.approx(float(theirs[-1]), abs=0.05)


@pytest.mark.slow
def test_the_readmes_commands_run_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in {"FRESH": 4, "KEPT": (2,)}.items():  # no number is looked at
        monkeypatch.setattr(f"nlwfa_core.learning.likelihood.path.{name}", value)
    block = README.split("## Ten lines of the command line")[1].split("```")[1]
    lines = [shlex.split(line) for line in block.splitlines() if line.startswith("nlwfa")]
    assert len(lines) == 10
    for _, *arguments in lines:
        assert main(arguments) == 0, arguments
