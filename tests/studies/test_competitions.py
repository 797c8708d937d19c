"""Competitions on two tiny problems of our own: scores, published figures beside them, and what a
second run does.
"""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nlwfa_core.errors import RecipeError
from nlwfa_core.models.sampling import draw
from nlwfa_core.models.wfa import WFA
from nlwfa_core.search.budget import Budget
from nlwfa_core.sources.pautomac import write_pautomac, write_solution
from nlwfa_core.strings.words import Alphabet, Words
from studies.competitions import (
    compete,
    figures_of,
    page,
    problem_folder,
    read_published,
    read_results,
)

AB = Alphabet(("0", "1"))
TRUTH = WFA([1.0], [[[0.5]], [[0.2]]], [0.3], AB)
TINY = Budget(minutes=0.02, max_states=2, threads=1)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "pautomac"
    folder.mkdir(parents=True)
    drawn = draw(TRUTH, 300, seed=0)
    words = [
        word
        for word, count in zip(drawn.words, drawn.counts.tolist(), strict=True)
        for _ in range(count)
    ]
    test = Words.of([(), (0,), (1,), (0, 0), (0, 1)])
    for problem in (2, 11):
        (folder / f"{problem}.pautomac.train").write_text(write_pautomac(Words.of(words), 2))
        (folder / f"{problem}.pautomac.test").write_text(write_pautomac(test, 2))
        weights = TRUTH.weights(test)
        (folder / f"{problem}.pautomac_solution.txt").write_text(
            write_solution(weights / weights.sum())
        )
    (folder / "3.pautomac.train").write_text("without a test file")
    (folder / "published.csv").write_text(
        "problem,type,solution,shibata_yoshinaka,llorens\n2,Pfa,10,10,15\n11,Hmm,20,20,\n"
    )
    spice = tmp_path / "data" / "spice"
    spice.mkdir()
    (spice / "4.spice.train").write_text(write_pautomac(Words.of(words), 2))
    (spice / "4.spice.prefix.public").write_text("2 2\n0\n1 1\n")
    (spice / "4.spice.target.public").write_text("1.0 0 1.0\n1.0 0 1.0\n")
    (spice / "published.csv").write_text(
        "problem,kind,pub_3gram,priv_best_of_all_teams\n4,toy,0.5,1.0\n"
    )
    return tmp_path / "data"


def test_scores_beside_published_ones_and_no_run_twice(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "docs" / "records.md"
    lines = list[str]()
    (first,) = compete("pautomac", data, out, TINY, problems=[2], log=lines.append)
    assert first.score is not None and 1 <= first.score < 1.05 and first.kinds == {"type": "Pfa"}
    assert first.published == {"shibata_yoshinaka": 1.0, "llorens": 1.5} and first.place == "2 of 3"
    written = (tmp_path / "docs" / "records" / "pautomac-2.json").read_bytes()
    both = compete("pautomac", data / "pautomac", out, TINY, log=lines.append)
    assert [one.problem for one in both] == [2, 11]
    # it was not run again
    assert (tmp_path / "docs" / "records" / "pautomac-2.json").read_bytes() == written
    assert sum("has its result" in line for line in lines) == 1
    (third,) = compete("spice", data, out, TINY, log=lines.append)
    # 0 is the likeliest symbol everywhere; private figures don't count
    assert third.score == 1.0 and third.place == "1 of 2"
    text = out.read_text()
    rows = {
        line.split(" | ")[0].strip("| "): line for line in text.splitlines() if line.startswith("|")
    }
    assert (
        f"**{first.score:.4f}** | 2 of 3" in rows["2"]
        and "| 1.0000 | 1.5000 |" in rows["2"]
        and "Hmm" in rows["11"]
    )
    assert (
        f"| {np.median([one.score for one in both]):.4f} |" in rows["**ours**"]
        or "**1.0000**" in rows["4"]
    )
    assert "1 of 1" in rows["Llorens"] and "## SPiCe" in text and "private: best team" in text


def test_a_stopped_competition_keeps_what_is_done(data: Path, tmp_path: Path) -> None:
    stop = threading.Event()
    out = tmp_path / "records.md"
    compete("pautomac", data, out, TINY, problems=[2], stop=stop, log=lambda line: None)
    stop.set()
    (left,) = compete("pautomac", data, out, TINY, stop=stop, log=lambda line: None)
    assert left.problem == 2 and len(read_results(tmp_path / "records")) == 1


def test_what_a_competition_refuses(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "records.md"
    with pytest.raises(RecipeError, match="has the problems 2, 11; got 3, 5"):
        compete("pautomac", data, out, TINY, problems=[2, 3, 5])
    with pytest.raises(
        RecipeError, match="competition must be one of pautomac, spice; got 'chess'"
    ):
        compete("chess", data, out, TINY)
    with pytest.raises(RecipeError, match="N.spice.train"):
        problem_folder("spice", data / "pautomac")
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "pautomac-2.json").write_text(
        json.dumps({"format": 1, "colour": "red"})
    )
    with pytest.raises(
        RecipeError, match="pautomac-2.json must be a result that `nlwfa compete` wrote"
    ):
        read_results(tmp_path / "records")


def test_an_infinite_score_is_last(data: Path, tmp_path: Path) -> None:
    (one,) = compete(
        "pautomac", data, tmp_path / "records.md", TINY, problems=[2], log=lambda line: None
    )
    worst = replace(one, score=None)
    assert worst.place == "3 of 3" and "**∞**" in page([worst])
    assert "There are no results yet." in page([])
    longer = replace(
        one, problem=3, minutes=2.0, budget=replace(one.budget, clock="processor", threads=2)
    )
    assert (
        "2 problems, each with a budget of 0.02 to 4 min of processor time or wall time."
        in page([one, longer])
    )


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("problem,type\n2,Pfa,10\n", "line 2: a row must have at most 2 cells; this has more"),
        ("number,type\n2,Pfa\n", "must have a column 'problem'; it has number, type"),
        ("problem,type\ntwo,Pfa\n", "line 2: the problem must be a whole number; got 'two'"),
    ],
)
def test_a_table_of_published_figures_that_is_not_one_is_refused(
    data: Path, table: str, message: str
) -> None:
    (data / "pautomac" / "published.csv").write_text(table)
    with pytest.raises(RecipeError, match=message):
        read_published("pautomac", data / "pautomac")


def test_cells_that_hold_no_figure_are_left_out(data: Path) -> None:
    (data / "pautomac" / "published.csv").write_text(
        "type,problem,solution,llorens,hulden\nPfa,2,10,15,nan\nHmm,11\nHmm,12,0,15,\n"
    )
    rows = read_published("pautomac", data / "pautomac")
    assert [figures_of("pautomac", rows[problem]) for problem in (2, 11, 12)] == [
        {"llorens": 1.5},
        {},
        {},
    ]


def test_a_result_with_a_wrong_field_is_refused_by_its_name(data: Path, tmp_path: Path) -> None:
    compete("pautomac", data, tmp_path / "records.md", TINY, problems=[2], log=lambda line: None)
    path = tmp_path / "records" / "pautomac-2.json"
    sound = json.loads(path.read_text())
    for changes, message in (
        (
            {"budget": sound["budget"] | {"clock": "sun"}},
            "budget: clock must be one of wall, processor; got 'sun'",
        ),
        ({"score": "high"}, "score: Input should be a valid number.*; got 'high'"),
        ({"competition": "chess"}, "competition must be one of pautomac, spice"),
    ):
        path.write_text(json.dumps(sound | changes))
        with pytest.raises(RecipeError, match=message):
            read_results(tmp_path / "records")
