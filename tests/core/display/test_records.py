"""Public problems are recognised by their files, and runs stand among published figures."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from nlwfa_core import WFA, Alphabet, DataRecipe, TestSet, evaluate
from nlwfa_core.display.records import Problem, problem_of, read_problems, record_table
from nlwfa_core.errors import RecipeError
from nlwfa_core.files import LAB_FOLDER
from nlwfa_core.metrics.tables import Numbers
from nlwfa_core.strings.words import Words

PROBLEM = Problem(
    title="PAutomaC, problem 0",
    score="perplexity divided by the true model's",
    higher_is_better=False,
    kind="Pfa",
    files=("a" * 64, "b" * 64),
    figures={"first": 1.001, "second": 1.25},
)
PROBLEMS = read_problems(LAB_FOLDER / "assets" / "records.json")


def test_a_problem_is_known_by_the_two_files_of_its_score() -> None:
    uploads = {"source": "upload", "upload": "c" * 64}
    known = DataRecipe(**uploads, upload_test="a" * 64, upload_solution="b" * 64)
    assert problem_of(known, [PROBLEM]) is PROBLEM
    for other in (
        {"upload_test": "a" * 64},
        {"upload_test": "b" * 64, "upload_solution": "a" * 64},
        {},
    ):
        assert problem_of(DataRecipe(**uploads, **other), [PROBLEM]) is None
    assert problem_of(known.changed(source="dyck"), [PROBLEM]) is None
    prefixes = DataRecipe(**uploads, upload_prefixes="a" * 64, upload_targets="b" * 64)
    assert problem_of(prefixes, [PROBLEM]) is PROBLEM


def test_what_is_known_of_a_problem_is_said_in_a_sentence() -> None:
    said = {problem.kind_sentence for problem in PROBLEMS}
    assert {f"Type of the true model: {name}." for name in ("HMM", "PFA", "DPFA")} <= said
    assert "Origin of the strings: Spanish POS." in said
    assert PROBLEM.model_copy(update={"kind": ""}).kind_sentence == ""


def test_runs_stand_among_published_figures() -> None:
    half = WFA([1], [[[0.5]]], [0.5], Alphabet(("a",)))
    third = WFA([1], [[[1 / 3]]], [2 / 3], Alphabet(("a",)))
    test = TestSet.of(Words.of([(), (0,), (0, 0)]), Alphabet(("a",)), true_model=half)
    scores = {"half": evaluate(half, test), "third": evaluate(third, test)}
    truth = half.weights(test.words)
    own = third.weights(test.words)
    truth = truth / truth.sum()
    own = own / own.sum()
    ratio = math.prod((t / o) ** t for t, o in zip(truth, own, strict=True))
    table = record_table(
        PROBLEM, scores | {"unknown": replace(scores["half"], true_log2_pauto=None)}
    )
    column = table[PROBLEM.score]
    assert isinstance(column, Numbers) and isinstance(table["place"], Numbers)
    assert table["model"] == ["half", "first", "third", "second"] and table["source"] == [
        "run",
        "published",
        "run",
        "published",
    ]
    assert column.values == pytest.approx([1.0, 1.001, ratio, 1.25]) and table["place"].texts == (
        "1",
        "2",
        "3",
        "4",
    )


def test_higher_scores_come_first_where_they_are_better() -> None:
    spice = PROBLEM.model_copy(
        update={
            "higher_is_better": True,
            "score": "NDCG5",
            "figures": {"a": 0.6, "b": 0.7, "c": 0.7},
        }
    )
    table = record_table(spice, {})
    assert (
        table["model"] == ["b", "c", "a"]
        and isinstance(table["place"], Numbers)
        and table["place"].texts == ("1", "1", "3")
    )


def test_the_shipped_problems() -> None:
    assert len(PROBLEMS) >= 30 and len({problem.files for problem in PROBLEMS}) == len(PROBLEMS)
    assert all(problem.figures for problem in PROBLEMS)


def test_a_file_that_is_no_list_of_problems_is_refused(tmp_path: Path) -> None:
    for text in ("{", '[{"title": 1}]', "3"):
        (tmp_path / "records.json").write_text(text)
        with pytest.raises(RecipeError, match=r"must be a list of problems"):
            read_problems(tmp_path / "records.json")
