"""Symbols at the command line: declared ones, one for the unknown, and strings that are left out.

The files are those of users: strings to learn from, and others in which one symbol is new.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from nlwfa_core import evaluate, fit, frequent_symbols, load, read_strings
from nlwfa_core.cli.main import main

TRAIN = "a b\na b b\na\n" * 20 + "a x\n"
TEST = "a b\nb c\na a\n"


class Answer(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[[str], Answer]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    Path("train").write_text(TRAIN)
    Path("test").write_text(TEST)

    def run_(line: str) -> Answer:
        capsys.readouterr()
        code = main(line.split())
        return Answer(code, *capsys.readouterr())

    return run_


def learn(run: Run, options: str) -> Answer:
    return run(f"fit --train train --learner HMM --rank 2 --out model {options}")


def test_rare_and_unseen_symbols_are_read_as_one(run: Run) -> None:
    answer = learn(run, "--unknown <unk>")
    assert answer.code == 0
    assert "1 of 61 training strings use symbols that are read as '<unk>': x." in answer.err
    sample = read_strings(TRAIN.encode()).sample()
    expected = fit(sample, "HMM", 2, alphabet=frequent_symbols(sample)).model
    assert load("model").alphabet.symbols == ("a", "b", "<unk>")  # type: ignore[union-attr]
    answer = run("score --model model --test test --json")
    assert "1 of 3 test strings use symbols that are read as '<unk>': c." in answer.err
    scores = json.loads(answer.out)
    known = evaluate(expected, TEST.split("\n")[:3])
    assert (scores["log2_pauto"], scores["num_unknown"]) == (pytest.approx(known.log2_pauto), 1)
    weights = run("weights --model model --words test").out.split()
    assert [float(weight) for weight in weights] == pytest.approx(
        [expected("a b"), expected("b <unk>"), expected("a a")]
    )
    answer = run("next --model model --prefix c")
    assert answer.err == "1 symbol is read as '<unk>': c.\n" and answer.out.startswith(
        "After <unk>"
    )


def test_declared_symbols_are_all_that_there_are(run: Run) -> None:
    answer = run("fit --train train --learner SP --rank 2 --out model --alphabet a,b")
    assert answer.code == 2 and "line 1: symbol 'a' is not in the declared alphabet" in answer.err
    words = ["fit", "--train", "train", "--learner", "HMM", "--rank", "2"]
    assert main([*words, "--out", "wide", "--alphabet", "a b c x"]) == 0
    assert load("wide").alphabet.symbols == ("a", "b", "c", "x")  # type: ignore[union-attr]
    assert json.loads(run("score --model wide --test test --json").out)["num_unknown"] == 0
    assert main([*words, "--out", "both", "--alphabet", "a b", "--unknown", "?"]) == 0
    assert load("both").alphabet.symbols == ("a", "b", "?")  # type: ignore[union-attr]


def test_strings_with_unseen_symbols_can_be_left_out(run: Run) -> None:
    learn(run, "")
    skipped = run("score --model model --test test --unseen skip --json")
    assert (
        "1 of 3 test strings use symbols that the model does not know: c; they are left out."
        in skipped.err
    )
    Path("known").write_text("a b\na a\n")
    assert json.loads(skipped.out) == json.loads(run("score --model model --test known --json").out)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--min-count 2", "--min-count has no effect without --unknown"),
        ("--unknown ? --min-count 2 --alphabet a", "--min-count has no effect with --alphabet"),
        ("--unknown λ", "the symbol for the unknown must be written without white space"),
        ("--unknown ? --min-count 99", "no symbol occurs at least 99 times: the most frequent one"),
    ],
)
def test_options_on_symbols_that_can_not_be_meant_are_refused(
    run: Run, options: str, message: str
) -> None:
    answer = learn(run, options)
    assert answer.code == 2 and message in answer.err and not Path("model").exists()


def test_what_would_have_no_effect_on_scores_is_refused(run: Run) -> None:
    learn(run, "--unknown ?")
    answer = run("score --model model --test test --unseen skip")
    assert answer.code == 2
    assert "--unseen skip has no effect with a model that reads unseen symbols as '?'" in answer.err
    Path("other").write_text("u v\nw\n")
    answer = run("score --model model --test other")
    assert answer.code == 2 and "other: no symbol of the test strings is in the model" in answer.err


def test_validation_strings_are_read_as_the_model_reads_them(run: Run) -> None:
    answer = learn(run, "--validation test --unknown ?")
    assert "1 of 3 validation strings use symbols that are read as '?': c." in answer.err
    assert load("model").alphabet.symbols == ("a", "b", "?")  # type: ignore[union-attr]


def test_a_symbol_for_the_unknown_that_no_string_has_is_told(run: Run) -> None:
    answer = learn(run, "--unknown ? --min-count 1")
    assert "No training string has the symbol '?', so a model without smoothing" in answer.err


def test_numbers_are_known_by_their_names(run: Run) -> None:
    """Number 1 is rare; number 2 is still 2."""
    Path("train").write_text("4 3\n2 0 2\n2 2 0\n1 1\n2 2 2\n")
    learn(run, "--unknown ?")
    assert load("model").alphabet.symbols == ("0", "2", "?")  # type: ignore[union-attr]
    Path("test").write_text("2 4\n2 0 2\n3 1 2 3\n")
    Path("same").write_text("0 2\n? 2 ?\n")
    weights = [run(f"weights --model model --words {name}").out for name in ("test", "same")]
    assert weights[0] == weights[1]


def test_labels_share_what_is_known(run: Run) -> None:
    """x occurs once in each file, twice together."""
    Path("other").write_text("b a\nb b a\nx\n")
    answer = run(
        "classify --train p=train --train q=other --test p=test --learner HMM --rank 1 "
        "--unknown ? --out labels"
    )
    assert answer.code == 0
    assert load("labels/p").alphabet.symbols == ("a", "b", "x", "?")  # type: ignore[union-attr]
    assert "1 of 3 p test strings use symbols that are read as '?': c." in answer.err
