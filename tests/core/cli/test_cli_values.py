"""`fit-values` and `score-values` from file to figures."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from nlwfa_core.cli.main import main
from nlwfa_core.hankel.valued_strings import value_scores
from nlwfa_core.learning.functions.fit_values import fit_values
from nlwfa_core.learning.learners import HANKEL_LEARNERS, LEARNERS, VALUE_LEARNERS
from nlwfa_core.models.model_files import load, load_info
from nlwfa_core.sources.value_files import read_values
from tests.references import all_words, ring

Run = Callable[..., tuple[int, str, str]]
SMALL = ("--prefixes", 20, "--suffixes", 20)


def quick(learner: str) -> tuple[object, ...]:
    """A small matrix, and few epochs of the steps that are trained."""
    epochs = ("--epochs-factorisation", 8) if LEARNERS[learner].networks else ()
    return (
        *SMALL,
        *epochs,
        *(("--epochs-transitions", 4) if LEARNERS[learner].nonlinear_transitions else ()),
    )


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def run_(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run_


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Two thirds and a third of the values of a ring of two states."""
    words = all_words(2, 6)
    rows = [
        f"{''.join('ab'[symbol] for symbol in word)},{value!r}"
        for word, value in zip(words, ring(2).weights(words).tolist(), strict=True)
    ]
    drawn = np.random.default_rng(0).permutation(rows).tolist()
    (tmp_path / "train.csv").write_text("string,value\n" + "\n".join(drawn[:85]) + "\n")
    (tmp_path / "test.csv").write_text("\n".join(drawn[85:]) + "\n")
    (tmp_path / "unknown.csv").write_text("ab,1\ncb,2\n")
    (tmp_path / "other.csv").write_text("cc,1\ncb,2\n")
    (tmp_path / "counts.csv").write_text("ab,1\nb,many\n")
    (tmp_path / "negative.csv").write_text("ab,-1\nb,2\n")
    (tmp_path / "zeros.csv").write_text("ab,0\nb,0\n")
    return tmp_path


@pytest.mark.parametrize("learner", HANKEL_LEARNERS)
def test_a_file_of_values_gives_the_librarys_model(run: Run, files: Path, learner: str) -> None:
    arguments = (
        "--train",
        files / "train.csv",
        "--learner",
        learner,
        "--rank",
        2,
        "--out",
        files / "m",
        *quick(learner),
    )
    code, out, err = run("fit-values", *arguments)
    assert (code, err) == (
        0,
        "train.csv: read as csv: 2 symbols: a b; 85 strings with a value each\n",
    )
    assert "85, values from" in out and "2 symbols" in out and "2 (requested rank 2)" in out
    train = read_values((files / "train.csv").read_bytes()).strings
    epochs = {"epochs_factorisation": 8, "epochs_transitions": 4}
    options = VALUE_LEARNERS[learner].adapted(epochs, rank=2)
    expected = fit_values(train, options, basis=train.basis(20, 20)).model
    saved = load(files / "m")
    info = load_info(files / "m")
    np.testing.assert_array_equal(saved.weights(train.words), expected.weights(train.words))
    assert info["training_file"] == "train.csv"
    assert info["values"].get("ridge") == (1e-6 if learner == "SP" else None)


def test_errors_stand_beside_those_of_saying_nothing(run: Run, files: Path) -> None:
    assert (
        run(
            "fit-values",
            "--train",
            files / "train.csv",
            "--learner",
            "SP",
            "--rank",
            2,
            "--out",
            files / "m",
            *SMALL,
        )[0]
        == 0
    )
    code, out, err = run(
        "score-values", "--model", files / "m", "--test", files / "test.csv", "--json"
    )
    assert (code, err) == (
        0,
        "test.csv: read as csv: 2 symbols: a b; 42 strings with a value each\n",
    )
    test = read_values((files / "test.csv").read_bytes(), load(files / "m").alphabet).strings
    scores = json.loads(out)
    assert scores == asdict(value_scores(load(files / "m").weights(test.words), test.values))
    assert scores["rmse"] < 1e-3 * scores["zero_rmse"]
    code, out, err = run("score-values", "--model", files / "m", "--test", files / "test.csv")
    assert [line[:15].rstrip() for line in out.splitlines()] == [
        "RMSE",
        "always 0",
        "always the mean",
    ]


def test_values_refine(run: Run, files: Path) -> None:
    arguments = (
        "--train",
        files / "train.csv",
        "--learner",
        "SP",
        "--rank",
        2,
        "--out",
        files / "m",
    )
    code, out, _ = run("fit-values", *arguments, *SMALL, "--refine", "values", "--restarts", 4)
    assert code == 0
    assert "refinement " in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("fit-values --train none --learner SP --rank 1 --out m", "can't read"),
        (
            "fit-values --train counts.csv --learner SP --rank 1 --out m",
            "counts.csv: line 2: expected a finite number; got 'many'",
        ),
        (
            "fit-values --train zeros.csv --learner SP --rank 1 --out m",
            "no finite known entry other than zero",
        ),
        (
            "fit-values --train train.csv --learner SP --rank 0 --out m",
            "rank must be at least 1; got 0",
        ),
        (
            "fit-values --train train.csv --learner SP --rank 999 --out m",
            "rank must be between 1 and",
        ),
        (
            "fit-values --train train.csv --learner RNN --rank 1 --out m",
            "learner must be one of SP",
        ),
        (
            "fit-values --train train.csv --learner SP --rank 1 --out m --refine hankel",
            "'--refine': 'hankel' is not one of 'none', 'values'",
        ),
        (
            "fit-values --train train.csv --learner SP --rank 1 --out m --refine values "
            "--restarts -1",
            "restarts must be at least 0; got -1",
        ),
        (
            "fit-values --train negative.csv --learner SP --rank 1 --out m --transform sqrt",
            "H has negative entries",
        ),
        (
            "fit-values --train train.csv --learner fac.non --rank 1 --out m --hidden 2,x",
            "got '2,x'",
        ),
        (
            "fit-values --train train.csv --learner SP --rank 1 --out train.csv/m",
            "can't write to train.csv/m: ",
        ),
        (
            "score-values --model fitted --test other.csv",
            "string 1: symbol 'c' is not in the model's alphabet of 2 symbols: a, b",
        ),
        (
            "score-values --model fitted --test counts.csv",
            "counts.csv: line 2: expected a finite number; got 'many'",
        ),
        ("score-values --model none --test test.csv", "none does not exist"),
    ],
)
def test_bad_input_is_one_line(
    run: Run, files: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, said: str
) -> None:
    monkeypatch.chdir(files)
    if "fitted" in arguments:
        assert (
            run(
                "fit-values",
                "--train",
                "train.csv",
                "--learner",
                "SP",
                "--rank",
                1,
                "--out",
                "fitted",
                *SMALL,
            )[0]
            == 0
        )
    code, out, err = run(*arguments.split())
    *readings, error = err.splitlines()
    assert (
        (code, out) == (2, "")
        and said in error
        and all(": read as csv" in line for line in readings)
    )
