"""Results of commands as tables: `compare`, `history` and `score --table`."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nlwfa_core import TestSet, distance, save, string_scores
from nlwfa_core.cli.main import main
from nlwfa_core.experiment.recipe import Recipe
from nlwfa_core.files import plain
from nlwfa_core.history.runs import History, Run
from nlwfa_core.metrics.intervals import intervals, leader, paired_differences
from nlwfa_core.models.recurrent import RecurrentModel
from nlwfa_core.models.wfa import WFA
from nlwfa_core.sources.string_files import read_strings
from nlwfa_core.strings.words import Alphabet

Command = Callable[..., tuple[int, str, str]]
AB = Alphabet(("a", "b"))
HALF = WFA([1], [[[0.25]], [[0.25]]], [0.5], AB)
# State 0 writes a, state 1 writes b; each stops with probability 1/2.
TURNS = WFA([0.5, 0.5], [[[0, 0.5], [0, 0]], [[0, 0], [0.5, 0]]], [0.5, 0.5], AB)
STRINGS = b"a\nb\nab\nba\n\nab\naba\nb\n\nabab\n" * 20


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NLWFA_HOME", raising=False)
    for name, model in (("half", HALF), ("turns", TURNS), ("twice", HALF + 0 * HALF)):
        save(model, tmp_path / name, alphabet=AB)
    (tmp_path / "test.txt").write_bytes(STRINGS)

    def run_(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run_


def test_two_models_are_compared_with_intervals_p_values_and_their_distance(run: Command) -> None:
    code, out, _ = run(
        "compare", "half", "turns", "--test", "test.txt", "--json", "--resamples", 999
    )
    record = json.loads(out)
    test = TestSet.empirical(read_strings(STRINGS, alphabet=AB).sample())
    scores = [string_scores(model, test) for model in (HALF, TURNS)]
    gaps = paired_differences(scores[0], scores[1], 999)
    assert (
        code == 0
        and record["models"] == ["half", "turns"]
        and (record["confidence"], record["resamples"]) == (0.95, 999)
    )
    for one, values in zip(scores, record["scores"], strict=True):
        for field, interval in intervals(one, 999).items():
            assert [values[field][name] for name in ("low", "high")] == plain(
                [interval.low, interval.high]
            )
            assert values[field]["estimate"] == plain(one.estimates[field])
    for field, gap in gaps.items():
        ahead = {"first": "A", "second": "B"}.get(leader(field, gap), leader(field, gap))
        # the true probabilities are not known
        ahead = "no verdict" if field == "log2_pauto" else ahead
        ends = {
            name: getattr(gap, name) if gap.is_known else None
            for name in ("low", "high", "p_value")
        }
        known = {"estimate": gap.estimate, "p_is_bound": gap.p_is_bound}
        expected = {**known, **ends, "ahead": ahead}
        assert record["differences"][field] == plain(expected)
    # Σ f² + Σ g² − 2 Σ fg by the length n: f = ½ · 4⁻ⁿ for each of 2ⁿ strings; g = ¼ · 2⁻ⁿ for two
    # of them, and ½ for λ.
    powers = np.arange(40)
    by_hand = math.sqrt(
        float(
            (2.0**powers * 0.5**2 * 0.25 ** (2 * powers)).sum()
            + (2 * 0.25**2 * 0.25**powers)[1:].sum()
            + 0.25
        )
        - 2 * float((2 * 0.5 * 0.25 * 0.25**powers * 0.5**powers)[1:].sum() + 0.25)
    )
    assert (
        record["distance"]["l2"] == pytest.approx(distance(HALF, TURNS)) == pytest.approx(by_hand)
    )
    assert record["distance"]["counterexample"] == "aa"  # "a" has the weight 1/8 in both
    text = run("compare", "half", "turns", "--test", "test.txt")[1]
    assert (
        "A − B" in text
        and "p value" in text
        and "L2 distance" in text
        and "A is half, B is turns" in text
        and "of 7 distinct strings, impossible of 520 predictions" in text
    )


def test_equal_functions_and_networks_are_said(run: Command, tmp_path: Path) -> None:
    assert (
        "the models compute the same function"
        in run("compare", "half", "twice", "--test", "test.txt")[1]
    )
    rng = np.random.default_rng(0)
    shapes = ((3, 6), (2, 6), (6,), (2, 3), (3,))
    gru = RecurrentModel("GRU", *(rng.normal(size=shape) for shape in shapes))
    save(gru, tmp_path / "gru", alphabet=AB)
    assert "needs two linear models" in run("compare", "half", "gru", "--test", "test.txt")[1]
    assert (
        json.loads(run("compare", "half", "gru", "--test", "test.txt", "--json")[1])["distance"]
        is None
    )


def test_tables_for_papers_and_programs(run: Command) -> None:
    latex = run("compare", "half", "turns", "--test", "test.txt", "--table", "latex")[1]
    assert (
        latex.startswith(r"% needs \usepackage{booktabs}")
        and "score & A & B & A $-$ B & p value & ahead" in latex
    )
    # A count that is 0 for both models has no row in a table for print, but one in a CSV file.
    assert "negative" not in latex and "counts of strings" not in latex
    text = run("compare", "half", "turns", "--test", "test.txt", "--table", "csv")[1]
    rows = list(csv.DictReader(text.splitlines()))
    assert "negative (strings)" in {row["score"] for row in rows}
    assert {"A", "A from", "A to", "A − B", "p value"} <= set(rows[0])
    score = run("score", "--model", "half", "--test", "test.txt", "--table", "markdown")[1]
    assert score.startswith("| score | value | from | to |") and "| WER (share) |" in score
    for arguments, message in (
        (("--table", "html"), "--table must be one of latex, markdown, csv, json; got 'html'"),
        (("--table", "csv", "--json"), "--json has no effect with --table csv; use one of them"),
    ):
        code, out, err = run("score", "--model", "half", "--test", "test.txt", *arguments)
        assert (code, out) == (2, "") and message in err
    code, _, err = run(
        "score", "--model", "half", "--test", "test.txt", "--against", "turns", "--table", "csv"
    )
    assert code == 2 and "nlwfa compare writes two models as a table" in err


def test_the_history_is_listed_filtered_and_exported(run: Command, tmp_path: Path) -> None:
    home = tmp_path / "home"
    history = History.open(home)
    history.note(
        Run(
            key=f"{rank:064x}",
            state=state,
            recipe=Recipe().with_learner("SP", rank).model_dump(mode="json"),
            version="1",
            source="dyck",
            learner="SP",
            rank=rank,
            num_strings=20_000,
            seed=0,
            tags=["a"] * (rank == 5),
            scores={"wer": wer, "log2_pauto": "inf"} if state == "done" else None,
            seconds={"data": 1.5},
            submitted=float(rank),
        )
        for rank, state, wer in ((2, "done", 0.75), (5, "done", 0.5), (7, "failed", None))
    )
    history.close()
    code, out, err = run("history", "--home", home)
    assert (
        (code, err) == (0, "")
        and "3 runs; each run's scores" in out
        and out.index("SP, k = 7") < out.index("SP, k = 2")
    )
    rows = json.loads(run("history", "--home", home, "--json", "--order", "wer")[1])
    assert [(row["rank"], row["wer"], row["log2_pauto"], row["key"]) for row in rows] == [
        (5, 0.5, "inf", f"{5:064x}"), (2, 0.75, "inf", f"{2:064x}"), (7, None, None, f"{7:064x}")
    ]  # fmt: skip
    assert rows[0]["submitted"] == "1970-01-01T00:00:05+00:00" and rows[0]["statistic"] == "string"
    (row,) = csv.DictReader(run("history", "--home", home, "--csv", "--tag", "a")[1].splitlines())
    assert (row["rank"], row["tags"], row["seconds"]) == ("5", "a", "1.5")
    assert "1 of 2 runs" in run("history", "--home", home, "--state", "done", "-n", 1)[1]
    assert r"\toprule" in run("history", "--home", home, "--search", "k = 2", "--table", "latex")[1]
    assert run("history", "--home", home, "--search", "nothing")[1] == f"no runs in {home} match\n"
    for arguments, message in (
        ((), "--home is needed (the lab's folder), because NLWFA_HOME is not set"),
        (("--home", tmp_path / "no"), "does not exist"),
        (("--home", home, "--state", "lost"), "--state must be one of queued"),
        (("--home", home, "--csv", "--json"), "--csv has no effect with --json; use one of them"),
    ):
        code, out, err = run("history", *arguments)
        assert (code, out) == (2, "") and message in err
    assert not (tmp_path / "no").exists()


def test_test_strings_are_read_like_the_training_strings_if_they_must(
    run: Command, tmp_path: Path
) -> None:
    """A table whose columns were chosen for `fit` needs no choice again, and a plain file works."""
    rows = ["id,genre,tags", *(f"s{n},web,{tags}" for n, tags in enumerate(("a b", "b a", "a a")))]
    (tmp_path / "tagged.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "plain.txt").write_text("a b\nb a\na a\n")
    fitted = ("fit", "--train", "tagged.csv", "--format", "csv", "--text-column", "tags")
    run(*fitted, "--learner", "SP", "--rank", "2", "--out", "tagged")
    outputs = [
        run("score", "--model", "tagged", "--test", name, "--json")
        for name in ("tagged.csv", "plain.txt")
    ]
    assert outputs[0][:2] == outputs[1][:2] and outputs[0][0] == 0
    assert "strings in the column 'tags'" in outputs[0][2]
    code, _, error = run("score", "--model", "half", "--test", "tagged.csv")
    assert code == 2 and "a table of strings must have 2 columns" in error
