"""The command line end to end: what it prints, what it writes, and that every bad input is one line
and exit code 2.
"""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from decimal import Context, Decimal, localcontext
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from nlwfa_core import __version__
from nlwfa_core.cli.main import COMMANDS, main
from nlwfa_core.display.result_tables import score_warnings
from nlwfa_core.experiment.datasets import load_data
from nlwfa_core.experiment.recipe import DataRecipe
from nlwfa_core.files import plain
from nlwfa_core.learning.learners import LEARNERS as LEARNERS_OF
from nlwfa_core.metrics.evaluate import evaluate
from nlwfa_core.metrics.intervals import intervals, leader, paired_differences, string_scores
from nlwfa_core.metrics.score_table import SELECTION_METRICS, Scores
from nlwfa_core.metrics.testset import TestSet
from nlwfa_core.models.model_files import load, load_info, save
from nlwfa_core.models.ngram import NGram
from nlwfa_core.models.wfa import WFA
from nlwfa_core.sources.dyck import Dyck
from nlwfa_core.sources.pautomac import read_solution
from nlwfa_core.sources.string_files import read_strings
from nlwfa_core.strings.words import Alphabet, Words
from tests.waiting import PATIENCE_SECONDS

LEARNERS = ("SP", "fac.non", "tran.non", "both.non")
READ_TRAIN = "train: read as pautomac: 2 symbols: 0 1\n"
MEMORY = (
    "The validation strings are the training strings, 104 distinct ones: scores measure memory, "
    "not generalisation.\n"
)
NOTE_ON_FILES = re.compile(
    r".+: read as .+|\d+ of \d+ validation strings \(\d+ of \d+ distinct ones\) are training "
    r"strings too\."
)
SMALL = ("--prefixes", 50, "--suffixes", 50)


def quick(learner: str) -> tuple[object, ...]:
    """A small matrix, and few epochs of the steps that are trained."""
    epochs = (
        (("--epochs-factorisation", 8),) if LEARNERS_OF[learner].nonlinear_factorisation else ()
    )
    epochs += (("--epochs-transitions", 4),) if LEARNERS_OF[learner].nonlinear_transitions else ()
    return (*SMALL, *chain.from_iterable(epochs))


class Answer(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Answer]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def run_(*arguments: object) -> Answer:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return Answer(code, *capsys.readouterr())

    return run_


def command(*arguments: object, **options: object) -> list[str]:
    return [sys.executable, "-m", "nlwfa_core", *map(str, arguments)]


def process(*arguments: object, **environment: str) -> Answer:
    done = subprocess.run(
        command(*arguments),
        capture_output=True,
        timeout=PATIENCE_SECONDS,
        env=os.environ | environment,
    )
    return Answer(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files and models that the tests read and none of them changes."""
    place = tmp_path_factory.mktemp("cli")
    for name, size, seed in (("train", 400, 0), ("test", 40, 1)):
        arguments = (
            "generate",
            "dyck",
            "-n",
            size,
            "--seed",
            seed,
            "-o",
            place / name,
            "--solution",
            place / f"{name}.solution",
        )
        assert main([str(argument) for argument in arguments]) == 0
    for learner in LEARNERS:
        arguments = (
            "fit",
            "--train",
            place / "train",
            "--learner",
            learner,
            "--rank",
            3,
            "--out",
            place / learner,
            *quick(learner),
        )
        assert main([str(argument) for argument in arguments]) == 0
    # One state: f(x) = 2^−(length + 1) over a and b, and 0 for words with c.
    third = WFA(np.ones(1), np.array([[[0.25]], [[0.25]], [[0.0]]]), np.array([0.5]))
    save(third, place / "abc", alphabet=Alphabet(("a", "b", "c")))
    (place / "abc.txt").write_text("ab\nλ\nb\nab\n")
    (place / "zero.txt").write_text("ab\nca\n")
    return place


# Drawing strings


def test_dyck_strings_are_those_of_the_lab(run: Run, tmp_path: Path) -> None:
    answer = run(
        "generate",
        "dyck",
        "-n",
        300,
        "--seed",
        5,
        "-o",
        tmp_path / "f",
        "--solution",
        tmp_path / "s",
    )
    assert (answer.code, answer.err) == (0, "")
    file = read_strings((tmp_path / "f").read_bytes())
    assert file.format == "pautomac"
    trained = load_data(DataRecipe(num_strings=300, seed=5)).train
    assert list(file.sample().words) == list(trained.words)
    assert file.sample().counts.tolist() == trained.counts.tolist()
    # the format has numbers alone
    brackets = read_strings((tmp_path / "f").read_bytes(), alphabet=trained.alphabet)
    assert (
        read_solution((tmp_path / "s").read_bytes()).tolist()
        == Dyck().weights(brackets.words).tolist()
    )


def test_dyck_takes_its_rules_probabilities(run: Run, tmp_path: Path) -> None:
    assert (
        run("generate", "dyck", "-n", 20, "--split", 0, "--wrap", 0, "-o", tmp_path / "f").code == 0
    )
    assert (tmp_path / "f").read_text() == "20 2\n" + "2 0 1\n" * 20


@pytest.mark.parametrize("source", ["automaton", "hmm", "pfa", "pdfa", "squared"])
def test_automata_draw_the_labs_strings(run: Run, tmp_path: Path, source: str) -> None:
    arguments = ("-n", 50, "--states", 2, "--symbols", 3, "--seed", 4)
    assert (
        run("generate", source, *arguments, "-o", tmp_path / "f", "--solution", tmp_path / "s").code
        == 0
    )
    file = read_strings((tmp_path / "f").read_bytes())
    data = load_data(DataRecipe(source=source, num_strings=50, num_states=2, num_symbols=3, seed=4))
    assert file.alphabet.symbols == ("0", "1", "2")
    assert list(file.sample().words) == list(data.train.words)
    assert data.true_model is not None
    letters = read_strings((tmp_path / "f").read_bytes(), alphabet=data.alphabet)
    assert (
        read_solution((tmp_path / "s").read_bytes()).tolist()
        == data.true_model.weights(letters.words).tolist()
    )


def test_a_file_is_written_through_a_link_and_into_a_device(run: Run, tmp_path: Path) -> None:
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    assert run("generate", "dyck", "-n", 2, "-o", tmp_path / "link", "--force").code == 0
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text().startswith("2 2\n")
    assert run("generate", "dyck", "-n", 2, "-o", "/dev/null").code == 0
    assert Path("/dev/null").is_char_device()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "target"]


# Learning


@pytest.mark.parametrize("learner", LEARNERS)
def test_fit_says_what_it_did(run: Run, folder: Path, tmp_path: Path, learner: str) -> None:
    answer = run(
        "fit",
        "--train",
        folder / "train",
        "--learner",
        learner,
        "--rank",
        3,
        "--out",
        tmp_path / "m",
        *quick(learner),
    )
    assert (answer.code, answer.err) == (0, READ_TRAIN)
    lines = dict(line.split(maxsplit=1) for line in answer.out.splitlines())
    assert lines["learner"].startswith(f"{learner}: ")
    assert lines["states"] == "3 (requested rank 3)"
    assert lines["basis"] == "50 prefixes × 50 suffixes, statistic string"
    assert "non-zeros" in lines["matrix"]
    assert "MiB" in lines["memory"]
    assert ("factorisation" in lines["loss"]) == (learner != "SP")
    assert all(stage in lines["seconds"] for stage in ("reading", "hankel", "total"))


def test_fit_by_likelihood_has_no_matrix(run: Run, folder: Path, tmp_path: Path) -> None:
    """The model is a distribution, which is scored as any other."""
    answer = run(
        *("fit", "--train", folder / "test", "--learner", "fac.non", "--rank", 2),
        *("--objective", "likelihood", "--ridge", 2, "--seed", 3, "--out", tmp_path / "m"),
    )
    assert answer.code == 0
    lines = dict(line.split(maxsplit=1) for line in answer.out.splitlines())
    assert lines["states"] == "2 (requested rank 2)" and "basis" not in lines
    assert "likelihood: bits per symbol with prior" in lines["loss"]
    recipe = load_info(tmp_path / "m")["recipe"]
    assert "hankel" not in recipe
    assert recipe["learning"] == {
        "learner": "fac.non",
        "rank": 2,
        "objective": "likelihood",
        "ridge": 2.0,
        "seed": 3,
    }
    scored = run("score", "--model", tmp_path / "m", "--test", folder / "test", "--json")
    scores = json.loads(scored.out)
    assert scores["num_zero"] == scores["num_negative"] == 0
    assert 0 < scores["bits_per_symbol"] < np.log2(3)


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_same_seed_writes_the_same_bytes(
    run: Run, folder: Path, tmp_path: Path, learner: str
) -> None:
    arguments = (
        "fit",
        "--train",
        folder / "train",
        "--learner",
        learner,
        "--rank",
        3,
        *quick(learner),
    )
    assert run(*arguments, "--out", tmp_path / "m").code == 0
    for name in ("model.json", "model.safetensors"):
        assert (tmp_path / "m" / name).read_bytes() == (folder / learner / name).read_bytes()
    other_seed = run(*arguments, "--seed", 1, "--out", tmp_path / "n")
    if learner == "SP":
        assert other_seed.code == 2 and "--seed has no effect with --learner SP" in other_seed.err
    else:
        assert other_seed.code == 0
        assert (tmp_path / "n" / "model.safetensors").read_bytes() != (
            folder / learner / "model.safetensors"
        ).read_bytes()


def test_a_model_says_where_it_came_from(folder: Path) -> None:
    info = load_info(folder / "fac.non")
    assert info["training_file"] == "train"
    assert info["recipe"]["hankel"] == {
        "num_prefixes": 50,
        "num_suffixes": 50,
        "statistic": "string",
        "bounded": False,
        "transform": "none",
    }
    assert info["recipe"]["learning"]["refine"] == "none"
    assert info["recipe"]["learning"]["learner"] == "fac.non"
    assert info["recipe"]["learning"]["epochs_factorisation"] == 8
    assert info["messages"] == []


def test_notes_of_a_run_that_succeeds_go_to_stderr(run: Run, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a\nb\n\n")
    answer = run(
        "fit", "--train", tmp_path / "f", "--learner", "SP", "--rank", 3, "--out", tmp_path / "m"
    )
    assert answer.code == 0
    assert answer.err.splitlines() == [
        "f: read as characters: 2 symbols: a b",
        "1 blank line at the end of the file skipped.",
        "You asked for 1,000 prefixes; the sample has only 3, so all of them are used.",
        "You asked for 1,000 suffixes; the sample has only 3, so all of them are used.",
        "Rank 3 was asked for, but H_λ has numerical rank 2: the model has 2 states.",
    ]
    assert load_info(tmp_path / "m")["messages"] == answer.err.splitlines()[-1:]


def test_every_command_says_how_files_were_read_and_json_stays_json(
    run: Run, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "one.txt").write_text("the cat sat;3\nthe dog ran;2\na cat;2\n" * 9)
    (tmp_path / "two.txt").write_text("a dog\nthe cat\n")
    one = (
        "one.txt: read as csv: 6 symbols: a cat dog ran sat the; the number after each line's "
        "last semicolon is its count; "
    )
    two = "two.txt: read as tokens: 4 symbols: a cat dog the"
    model = ("--learner", "SP", "--rank", 2, "--prefixes", 5, "--suffixes", 5)
    read = ("--train", tmp_path / "one.txt", "--validation", tmp_path / "two.txt")
    answer = run(
        "fit",
        *read,
        *model,
        "--refine",
        "likelihood",
        "--epochs-refinement",
        1,
        "--out",
        tmp_path / "m",
    )
    assert answer.code == 0 and one in answer.err and two in answer.err.splitlines()
    answer = run("select-rank", *read, *model[:2], *model[4:], "--ranks", "1,2", "--json")
    assert (
        json.loads(answer.out)["rank"] in (1, 2)
        and one in answer.err
        and two in answer.err.splitlines()
    )
    answer = run("weights", "--model", tmp_path / "m", "--words", tmp_path / "two.txt")
    assert len(answer.out.splitlines()) == 2 and two in answer.err.splitlines()
    (tmp_path / "true").write_text("2\n0.25\n0.5\n")
    score = ("score", "--model", tmp_path / "m", "--test", tmp_path / "two.txt", "--solution")
    answer = run(*score, tmp_path / "true", "--json")
    assert json.loads(answer.out)["num_words"] == 2 and two in answer.err.splitlines()
    assert (
        "true: read as a PAutomaC solution: 2 probabilities, from 0.25 to 0.5"
        in answer.err.splitlines()
    )
    answer = run(*score, folder / "test")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.endswith(
        "test: this must be a PAutomaC solution; got a PAutomaC file of strings\n"
    )
    (tmp_path / "4.spice.prefix.public").write_bytes((folder / "test").read_bytes())
    answer = run("weights", "--model", folder / "SP", "--words", tmp_path / "4.spice.prefix.public")
    assert "SPiCe's prefix files hold the beginnings of strings, not whole strings" in answer.err


def test_line_ends_and_byte_order_marks_make_no_difference(
    run: Run, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "train").write_bytes(
        b"\xef\xbb\xbf" + (folder / "train").read_bytes().replace(b"\n", b"\r\n")
    )
    assert (
        run(
            "fit",
            "--train",
            tmp_path / "train",
            "--learner",
            "SP",
            "--rank",
            3,
            "--out",
            tmp_path / "m",
            *SMALL,
        ).code
        == 0
    )
    assert (tmp_path / "m" / "model.safetensors").read_bytes() == (
        folder / "SP" / "model.safetensors"
    ).read_bytes()
    (tmp_path / "words").write_bytes(b"\xef\xbb\xbfab\r\n\xce\xbb\r\nb\r\nab\r\n")
    assert (
        run("weights", "--model", folder / "abc", "--words", tmp_path / "words").out
        == "0.03125\n0.5\n0.125\n0.03125\n"
    )


# Scores


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("solved", [False, True])
def test_scores_are_those_of_evaluate(run: Run, folder: Path, learner: str, solved: bool) -> None:
    options = ("--solution", folder / "test.solution") if solved else ()
    answer = run(
        "score", "--model", folder / learner, "--test", folder / "test", *options, "--json"
    )
    file = read_strings((folder / "test").read_bytes())
    test = TestSet.empirical(file.sample())
    if solved:
        test = TestSet.as_drawn(
            file.words, read_solution((folder / "test.solution").read_bytes()), file.sample()
        )
    expected = evaluate(load(folder / learner), test)
    assert answer.code == 0
    printed = json.loads(answer.out)
    assert (printed.pop("confidence"), printed.pop("resamples")) == (0.95, 1999)
    assert set(printed.pop("intervals")) <= set(printed) and printed == plain(asdict(expected))
    assert answer.out.count("\n") == 1
    assert (json.loads(answer.out)["true_log2_pauto"] is None) != solved


def test_a_score_has_the_promised_keys(run: Run, folder: Path) -> None:
    scores = json.loads(
        run("score", "--model", folder / "SP", "--test", folder / "test", "--json").out
    )
    promised = {
        "log2_pauto",
        "wer",
        "bits_per_symbol",
        "num_words",
        "num_zero",
        "num_negative",
        "uniform_log2_pauto",
        "true_log2_pauto",
    }
    assert (
        promised <= set(scores) == {*Scores.__annotations__, "intervals", "confidence", "resamples"}
    )
    for field, (low, high) in scores["intervals"].items():
        assert float(low) <= float(scores[field]) <= float(high), field


def test_intervals_of_another_confidence_and_number_of_resamples(run: Run, folder: Path) -> None:
    test = TestSet.empirical(read_strings((folder / "test").read_bytes()).sample())
    own, other = (string_scores(load(folder / name), test) for name in ("SP", "both.non"))
    arguments = (
        "score",
        "--model",
        folder / "SP",
        "--test",
        folder / "test",
        "--against",
        folder / "both.non",
    )
    arguments = (*arguments, "--confidence", 0.5, "--resamples", 99)
    record = json.loads(run(*arguments, "--json").out)
    expected = intervals(own, 99, confidence=0.5)
    assert record["intervals"] == plain(
        {field: [one.low, one.high] for field, one in expected.items()}
    )
    gaps = paired_differences(own, other, 99, confidence=0.5)
    assert {field: gap["low"] for field, gap in record["against"]["differences"].items()} == plain(
        {field: gap.low if gap.is_known else None for field, gap in gaps.items()}
    )
    assert (record["confidence"], record["resamples"]) == (0.5, 99)
    assert run(*arguments).out.count("50 % intervals from 99 resamples of the test strings") == 2


def test_two_models_are_compared_on_the_same_strings(run: Run, folder: Path) -> None:
    test = TestSet.empirical(read_strings((folder / "test").read_bytes()).sample())
    own, other = (string_scores(load(folder / name), test) for name in ("SP", "both.non"))
    arguments = (
        "score",
        "--model",
        folder / "SP",
        "--test",
        folder / "test",
        "--against",
        folder / "both.non",
    )
    record = json.loads(run(*arguments, "--json").out)["against"]
    gaps = paired_differences(own, other)
    assert record["scores"] == plain(other.estimates) and set(record["differences"]) == set(gaps)
    for field, gap in gaps.items():
        ahead = {"first": "model", "second": "other"}.get(leader(field, gap), leader(field, gap))
        # the true probabilities are not known
        ahead = "no verdict" if field == "log2_pauto" else ahead
        ends = {name: None if np.isnan(value) else value for name, value in asdict(gap).items()}
        assert record["differences"][field] == plain(ends) | {"ahead": ahead}
    text = run(*arguments).out
    rows = [line.split() for line in text.splitlines()]
    assert [
        "score",
        "model",
        "other",
        "difference",
        "ahead",
    ] in rows and "level: 0 is in the interval" in text
    assert run(*arguments[:-1], folder / "abc").code == 2


def test_an_infinite_score_is_inf_in_json_and_shown_with_its_zeros(run: Run, folder: Path) -> None:
    arguments = ("score", "--model", folder / "abc", "--test", folder / "zero.txt")
    scores = json.loads(run(*arguments, "--json").out)
    assert (scores["log2_pauto"], scores["num_zero"], scores["num_words"]) == ("inf", 1, 2)
    text = run(*arguments).out
    assert "∞" in text
    assert "1 zero, 0 negative, 0 not finite, of 2" in text


def test_a_floor_is_said(run: Run, folder: Path) -> None:
    arguments = ("score", "--model", folder / "abc", "--test", folder / "zero.txt")
    assert json.loads(run(*arguments, "--floor", 1e-3, "--json").out)["floor"] == 1e-3
    assert "floored at 0.001" in run(*arguments, "--floor", 1e-3).out
    assert "floor" not in run(*arguments).out


def test_the_text_says_base_end_and_target(run: Run, folder: Path) -> None:
    text = run(
        "score",
        "--model",
        folder / "SP",
        "--test",
        folder / "test",
        "--solution",
        folder / "test.solution",
    ).out
    for part in (
        "log₂ Pauto",
        "base 2",
        "the end of a string counted",
        "true model",
        "equal weights",
        "against the true probabilities of 40 strings as drawn",
    ):
        assert part in text
    without = "against the frequencies of "
    both = (folder / "SP", folder / "SP", "--test", folder / "test")
    assert without in run("score", "--model", *both[1:]).out
    assert without in run("compare", *both).out


def test_csv_counts_weigh_in_scores(run: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("string,count\nab,2\nλ,1\nb,1\n")
    by_count = run("score", "--model", folder / "abc", "--test", tmp_path / "f", "--json")
    assert (
        by_count.out
        == run("score", "--model", folder / "abc", "--test", folder / "abc.txt", "--json").out
    )


# Weights and next symbols


@pytest.mark.parametrize("learner", LEARNERS)
def test_weights_are_the_models_to_the_last_bit(run: Run, folder: Path, learner: str) -> None:
    answer = run("weights", "--model", folder / learner, "--words", folder / "test")
    words = read_strings((folder / "test").read_bytes()).words
    assert (answer.code, answer.err) == (0, READ_TRAIN.replace("train", "test"))
    assert (
        list(map(float, answer.out.splitlines())) == load(folder / learner).weights(words).tolist()
    )


def test_the_format_of_words_can_be_said(run: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("1 2\n1 0\n")  # by its looks a PAutomaC file that holds the word 0
    arguments = ("weights", "--model", folder / "SP", "--words", tmp_path / "f")
    assert run(*arguments).out.count("\n") == 1
    # "1 2" and "1 0"; the model does not know 2
    assert run(*arguments, "--format", "tokens").out.count("\n") == 2
    (tmp_path / "f").write_text("1 1\n1 0\n")
    assert run(*arguments, "--format", "tokens").out.count("\n") == 2


def test_next_symbols(run: Run, folder: Path) -> None:
    arguments = ("next", "--model", folder / "abc", "--prefix", "ab")
    assert json.loads(run(*arguments, "--json").out) == {
        "prefix": "ab",
        "scores": {"a": 0.015625, "b": 0.015625, "c": 0.0},  # f(aba Σ*) = 1/4 · 1/4 · 1/4
        "end": 0.03125,
        "predicted": None,
    }
    lines = run(*arguments).out.splitlines()
    assert "After ab, end is predicted" in lines[0]
    assert [line.split() for line in lines[1:]] == [
        ["next", "score", "probability"],
        ["end", "0.03125", "0.5000"],
        ["a", "0.015625", "0.2500"],
        ["b", "0.015625", "0.2500"],
        ["c", "0", "0.0000"],
    ]


def test_ties_are_named(run: Run, folder: Path) -> None:
    """Nothing follows c in the strings: all scores are 0."""
    arguments = ("next", "--model", folder / "abc", "--prefix", "c")
    record = json.loads(run(*arguments, "--json").out)
    assert (record["predicted"], record["tied"]) == ("a", ["a", "b", "c", None])
    assert "After c, a, b, c and end are tied" in run(*arguments).out


@pytest.mark.parametrize("prefix", ["", "λ", " "])
def test_the_empty_prefix(run: Run, folder: Path, prefix: str) -> None:
    answer = run("next", "--model", folder / "both.non", "--prefix", prefix, "--json")
    record = json.loads(answer.out)
    assert record["prefix"] == "λ"
    assert list(record["scores"]) == ["0", "1"]
    assert record["end"] == load(folder / "both.non").weights(Words.of([()])).tolist()[0]


def test_numbered_symbols_are_given_by_number(run: Run, folder: Path, tmp_path: Path) -> None:
    numbered = WFA(np.ones(1), np.full((12, 1, 1), 0.05), np.array([0.4]))
    save(numbered, tmp_path / "m", alphabet=Alphabet.numbered(12))
    assert (
        json.loads(run("next", "--model", tmp_path / "m", "--prefix", "11", "--json").out)["prefix"]
        == "11"
    )
    assert (
        json.loads(run("next", "--model", tmp_path / "m", "--prefix", "1 11 0", "--json").out)[
            "prefix"
        ]
        == "1 11 0"
    )
    assert run("next", "--model", folder / "SP", "--prefix", "0 1 1", "--json").out == (
        run("next", "--model", folder / "SP", "--prefix", "011", "--json").out
    )
    assert (
        json.loads(run("next", "--model", tmp_path / "m", "--prefix", "", "--json").out)[
            "predicted"
        ]
        is None
    )


def test_a_diverging_mass_is_noted(run: Run, folder: Path, tmp_path: Path) -> None:
    diverging = WFA(np.ones(1), np.array([[[0.9]], [[0.9]]]), np.ones(1))
    save(diverging, tmp_path / "m", alphabet=Alphabet(("a", "b")))
    answer = run("next", "--model", tmp_path / "m", "--prefix", "ab", "--json")
    assert json.loads(answer.out)["end"] == pytest.approx(0.81)
    assert answer.err.startswith("The mass diverges: ΣA has spectral radius 1.8")
    assert answer.err.count("\n") == 1


# The choice of a rank


@pytest.mark.parametrize("learner", ["SP", "both.non"])
@pytest.mark.parametrize("metric", SELECTION_METRICS)
def test_select_rank(run: Run, folder: Path, learner: str, metric: str) -> None:
    arguments = (
        "select-rank",
        "--train",
        folder / "train",
        "--validation",
        folder / "test",
        "--learner",
        learner,
    )
    arguments = (*arguments, "--ranks", "1,3,2", "--metric", metric, *quick(learner))
    answer = run(*arguments, "--json")
    record = json.loads(answer.out)
    assert (answer.code, record["learner"], record["metric"]) == (0, learner, metric)
    assert [entry["rank"] for entry in record["scores"]] == [1, 3, 2]
    sign = -1 if metric == "ndcg5" else 1  # higher is better
    best = min(
        record["scores"],
        key=lambda entry: (sign * float(entry[metric]), entry["num_zero"], entry["rank"]),
    )
    assert record["rank"] == best["rank"]
    score = json.loads(
        run("score", "--model", folder / learner, "--test", folder / "test", "--json").out
    )
    for added in ("intervals", "confidence", "resamples"):
        del score[added]
    assert record["scores"][1] == {"rank": 3, **score}
    text = run(*arguments).out
    assert f"best by {metric}: rank {record['rank']}" in text
    tried = [one["rank"] for one in record["scores"]]
    assert (record["rank"] == max(tried)) == ("the best is the largest rank tried" in text)
    assert "tied: the share of predictions" in text
    assert [line.split()[0] for line in text.splitlines()[2:5]] == ["1", "3", "2"]


def test_select_rank_by_folds(run: Run, folder: Path) -> None:
    arguments = (
        "select-rank",
        "--train",
        folder / "train",
        "--learner",
        "SP",
        "--ranks",
        "1,2",
        *quick("SP"),
        "--folds",
        3,
    )
    record = json.loads(run(*arguments, "--fold-seed", 4, "--json").out)
    sample = read_strings((folder / "train").read_bytes()).sample()
    for rank, entry in zip((1, 2), record["scores"], strict=True):
        sizes = [scores["num_predictions"] for scores in entry["folds"]]
        assert entry["rank"] == rank and len(sizes) == 3 == record["folds"]
        # each string is scored once
        assert sum(sizes) == (sample.words.lengths + 1) @ sample.counts
    means = [np.mean([scores["wer"] for scores in entry["folds"]]) for entry in record["scores"]]
    assert record["rank"] == 1 + int(np.argmin(means))
    text = run(*arguments, "--fold-seed", 4).out
    assert (
        "mean ± standard deviation over 3 folds" in text
        and f"{means[0]:.4f} ±" in text
        and "best by wer: rank" in text
    )
    for wrong in (arguments[:-2], (*arguments, "--validation", folder / "test")):
        assert "with either --validation or --folds" in run(*wrong).err
    chosen = run(*arguments[:-2], "--validation", folder / "test", "--fold-seed", 1)
    assert chosen.code == 2 and "--fold-seed has no effect with --validation" in chosen.err
    assert "folds must be between 2 and" in run(*arguments[:-1], 1).err


@pytest.mark.slow
def test_select_rank_by_aic_or_bic(run: Run, folder: Path) -> None:
    arguments = ("select-rank", "--train", folder / "train", "--learner", "PFA", "--ranks", "2,1")
    arguments += ("--starts", 1)
    record = json.loads(run(*arguments, "--criterion", "bic", "--json").out)
    assert record["metric"] == "bic" and [entry["rank"] for entry in record["scores"]] == [2, 1]
    assert record["rank"] == min(record["scores"], key=lambda entry: entry["bic"])["rank"]
    least = min(record["scores"], key=lambda entry: entry["aic"])["rank"]
    assert f"best by AIC: rank {least}" in run(*arguments, "--criterion", "aic").out
    for held_out in (("--validation", folder / "test"), ("--folds", 3)):
        refused = run(*arguments, "--criterion", "aic", *held_out)
        assert f"{held_out[0]} has no effect with --criterion aic" in refused.err
    refused = run(*arguments, "--criterion", "best")
    assert "criterion must be one of validation, aic, bic; got 'best'" in refused.err


def test_symbols_of_the_validation_strings_alone_are_noted(run: Run, folder: Path) -> None:
    arguments = (
        "select-rank",
        "--train",
        folder / "abc.txt",
        "--validation",
        folder / "zero.txt",
        "--learner",
        "SP",
        "--ranks",
        1,
    )
    answer = run(*arguments, "--prefixes", 3, "--suffixes", 3, "--json")
    assert json.loads(answer.out)["scores"][0]["num_zero"] == 1
    assert "1 symbol never seen in training: 'c'." in answer.err.splitlines()
    assert (
        "1 of 2 validation strings use symbols that no training string has: c."
        in answer.err.splitlines()
    )


@pytest.mark.parametrize("refine", ["none", "hankel", "likelihood"])
@pytest.mark.parametrize("counted", ["string none", "prefix none", "factor sqrt", "prefix row"])
@pytest.mark.parametrize("learner", ["SP", "both.non"])
def test_statistics_transforms_and_refinements(
    run: Run, folder: Path, tmp_path: Path, learner: str, counted: str, refine: str
) -> None:
    """A model knows how it was learned: scores, weights and next symbols need no options."""
    statistic, transform = counted.split()
    arguments = (
        "fit",
        "--train",
        folder / "train",
        "--learner",
        learner,
        "--rank",
        3,
        "--statistic",
        statistic,
    )
    options: tuple[object, ...] = ("--transform", transform, "--refine", refine)
    options += ("--epochs-refinement", 2) if refine != "none" else ()
    options += ("--validation", folder / "test") if refine == "likelihood" else ()
    assert run(*arguments, *options, *quick(learner), "--out", tmp_path / "m").code == 0
    recipe = load_info(tmp_path / "m")["recipe"]
    assert recipe["hankel"]["statistic"] == statistic
    assert recipe["learning"]["refine"] == refine
    scores = json.loads(
        run("score", "--model", tmp_path / "m", "--test", folder / "test", "--json").out
    )
    assert 0 < scores["wer"] <= 1
    following = json.loads(run("next", "--model", tmp_path / "m", "--prefix", "0", "--json").out)
    assert len(following["scores"]) == 2


@pytest.mark.parametrize("validated", [False, True])
def test_the_preset_best(run: Run, folder: Path, tmp_path: Path, validated: bool) -> None:
    arguments = (
        "fit",
        "--preset",
        "best",
        "--max-states",
        3,
        "--minutes",
        0.05,
        "--train",
        folder / "train",
        "--seed",
        4,
    )
    answer = run(
        *arguments,
        "--out",
        tmp_path / "m",
        *(("--validation", folder / "test") if validated else ()),
    )
    assert answer.code == 0 and "best so far: " in answer.err and "\nbest     " in answer.out
    saved = load(tmp_path / "m")
    search = load_info(tmp_path / "m")["search"]
    for family in search["families"]:  # every family with its figures is a line of the table
        assert any(
            line.startswith(family["family"]) and f" {family['title']} " in line
            for line in answer.out.splitlines()
        )
    assert saved.num_states <= 3 and load_info(tmp_path / "m")["budget"]["seed"] == 4
    assert sum(part["weight"] for part in search["components"]) == pytest.approx(1)
    if validated:
        assert search["trained_on"] == search["training_strings"]
    # in these three seconds a busy machine may find no time to train on all strings; test_search
    # has that case
    else:
        assert search["trained_on"] >= search["training_strings"]


def test_the_preset_best_may_return_n_grams(run: Run, tmp_path: Path) -> None:
    """Strings of a vocabulary, which automata with two states don't tell apart."""
    words = ["abcab", "cabba", "bbc", "acca", "caab", "bacb", "ab", "ccba"]
    (tmp_path / "train").write_text(
        "\n".join(word for number, word in enumerate(words) for _ in range(30 // (number + 1)))
    )
    arguments = (
        "fit",
        "--preset",
        "best",
        "--max-states",
        2,
        "--minutes",
        0.05,
        "--train",
        tmp_path / "train",
    )
    answer = run(*arguments, "--with-ngrams", "--out", tmp_path / "m")
    assert answer.code == 0 and "-gram, " in answer.out.split("\nbest ")[1]
    families = [part["family"] for part in load_info(tmp_path / "m")["search"]["components"]]
    assert "n-gram" in families
    following = json.loads(run("next", "--model", tmp_path / "m", "--prefix", "abca", "--json").out)
    assert max(following["scores"], key=following["scores"].get) == "b"


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (("--learner", "SP"), "--learner"),
        (("--rank", 7, "--statistic", "string"), "--rank, --statistic"),
        (("--hidden", "1,1,1", "--dropout", 0.5), "--hidden, --dropout"),
    ],
)
def test_a_preset_refuses_what_it_chooses_itself(
    run: Run, folder: Path, tmp_path: Path, options: tuple[object, ...], names: str
) -> None:
    arguments = (
        "fit",
        "--preset",
        "best",
        "--train",
        folder / "train",
        "--validation",
        folder / "test",
        "--out",
        tmp_path / "m",
    )
    answer = run(*arguments, *options)
    assert (answer.code, answer.out) == (2, "") and answer.err.count("\n") == 1
    assert f"leave out {names}\n" in answer.err and not (tmp_path / "m").exists()


def test_options_without_effect_are_refused(run: Run, folder: Path, tmp_path: Path) -> None:
    arguments = (
        "fit",
        "--train",
        folder / "train",
        "--learner",
        "SP",
        "--rank",
        2,
        "--out",
        tmp_path / "m",
    )
    assert run(*arguments, "--prefixes", 20)[0::2] == (0, READ_TRAIN)
    answer = run(*arguments, "--batch", 100, "--epochs-factorisation", 5)
    needed = (
        "--epochs-factorisation has no effect with --learner SP; it needs --learner fac.non, "
        "tran.non or both.non"
    )
    assert answer == (2, "", f"error: {needed}\n")
    answer = run(*arguments, "--max-states", 3)
    assert answer.code == 2 and "--max-states is only for --preset" in answer.err


# Bad input


BAD = {
    "no command": "",
    "unknown command": "learn",
    "unknown option": "fit --depth 3",
    "missing option": "fit --train {train}",
    "an argument too many": "fit {train} --train {train} --learner SP --rank 3 --out {new}",
    "missing training file": "fit --train {none} --learner SP --rank 3 --out {new}",
    "a folder for a file": "fit --train {folder} --learner SP --rank 3 --out {new}",
    "an empty file": "fit --train {empty} --learner SP --rank 3 --out {new}",
    "a binary file": "fit --train {binary} --learner SP --rank 3 --out {new}",
    "a wrong header": "fit --train {wrong} --learner SP --rank 3 --out {new}",
    "rank 0": "fit --train {train} --learner SP --rank 0 --out {new}",
    "rank -1": "fit --train {train} --learner SP --rank -1 --out {new}",
    "rank abc": "fit --train {train} --learner SP --rank abc --out {new}",
    "rank above the basis": "fit --train {train} --learner SP --rank 3 --prefixes 2 --out {new}",
    "unknown learner": "fit --train {train} --learner RNN --rank 3 --out {new}",
    "unknown statistic": "fit --train {train} --learner SP --rank 3 --statistic mean --out {new}",
    "unknown transform": "fit --train {train} --learner SP --rank 3 --transform log --out {new}",
    "unknown refinement": "fit --train {train} --learner SP --rank 3 --refine em --out {new}",
    "neither learner nor preset": "fit --train {train} --out {new}",
    "no prefixes": "fit --train {train} --learner SP --rank 3 --prefixes 0 --out {new}",
    "negative seed": "fit --train {train} --learner SP --rank 3 --seed -1 --out {new}",
    "negative epochs": "fit --train {train} --learner fac.non --rank 3 --epochs-factorisation -1 "
    "--out {new}",
    "asymmetric layers": "fit --train {train} --learner fac.non --rank 3 --hidden 2,1,3 --out "
    "{new}",
    "layers that are no numbers": "fit --train {train} --learner fac.non --rank 3 --hidden 2,x,2 "
    "--out {new}",
    "unknown schedule": "fit --train {train} --learner SP --rank 3 --schedule steps --out {new}",
    "unknown format": "fit --train {train} --learner SP --rank 3 --format xml --out {new}",
    "a file where the model should go": "fit --train {train} --learner SP --rank 3 --out {train}",
    "a folder under a file": "fit --train {train} --learner SP --rank 3 --out {train}/model",
    "a name too long": "fit --train {train} --learner SP --rank 3 --out {long}",
    "missing model": "score --model {none} --test {test}",
    "broken model.json": "score --model {broken_json} --test {test}",
    "broken arrays": "weights --model {broken_arrays} --words {test}",
    "arrays that do not fit": "next --model {misfit} --prefix 0",
    "a solution of another file": "score --model {model} --test {test} --solution {train}.solution",
    "a solution that is none": "score --model {model} --test {test} --solution {words}",
    "a floor above 1": "score --model {model} --test {test} --floor 1.5",
    "a floor that is not a number": "score --model {model} --test {test} --floor nan",
    "test symbols unknown to the model": "score --model {model} --test {words}",
    "word symbols unknown to the model": "weights --model {abc} --words {unknown}",
    "prefix symbols unknown to the model": "next --model {model} --prefix 0,2",
    "no strings to draw": "generate dyck -n 0 -o {new}",
    "too many strings to draw": "generate dyck -n 100000000 -o {new}",
    "rules that never end": "generate dyck --split 0.5 --wrap 0.4 -o {new}",
    "no probability": "generate dyck --split 2 -o {new}",
    "one file for strings and solution": "generate dyck -n 5 -o {new} --solution {new}",
    "no states": "generate automaton --states 0 -o {new}",
    "unknown source": "generate English -o {new}",
    "nowhere to write": "generate dyck -o {none}/file",
    "a folder to write a file to": "generate dyck -n 5 -o {folder}",
    "no ranks": "select-rank --train {train} --validation {test} --learner SP --ranks ,",
    "ranks that are none": "select-rank --train {train} --validation {test} --learner SP --ranks "
    "1;2",
    "a rank of 0 among ranks": "select-rank --train {train} --validation {test} --learner SP "
    "--ranks 2,0",
    "a rank above the basis among ranks": "select-rank --train {train} --validation {test} "
    "--learner SP --ranks 2,9 --prefixes 5",
    "unknown metric": "select-rank --train {train} --validation {test} --learner SP --ranks 2 "
    "--metric mse",
    "missing validation file": "select-rank --train {train} --validation {none} --learner SP "
    "--ranks 2",
}


@pytest.fixture
def places(folder: Path, tmp_path: Path) -> dict[str, Path]:
    named = {name: folder / name for name in ("train", "test", "abc")}
    named |= {
        "folder": tmp_path,
        "new": tmp_path / "new",
        "none": tmp_path / "none",
        "long": tmp_path / ("x" * 300),
    }
    named |= {"model": folder / "SP", "words": folder / "abc.txt"}
    contents = {
        "empty": b"",
        "binary": b"\xff\xfe\x00",
        "wrong": b"3 2\n1 0\n1 1\n",
        "unknown": b"xx\nax\n",
    }
    for name, content in contents.items():
        named[name] = tmp_path / name
        named[name].write_bytes(content)
    files = {"model.json": b"{}", "model.safetensors": b"\x00" * 20}
    broken = {
        "broken_json": ("model.json", files["model.json"]),
        "broken_arrays": ("model.safetensors", files["model.safetensors"]),
    }
    for name, (file, content) in (
        broken | {"misfit": ("model.json", (folder / "both.non" / "model.json").read_bytes())}
    ).items():
        named[name] = tmp_path / name
        named[name].mkdir()
        for own in files:
            (named[name] / own).write_bytes(
                content if own == file else (folder / "SP" / own).read_bytes()
            )
    return named


@pytest.mark.parametrize("arguments", BAD.values(), ids=BAD)
def test_bad_input_is_one_line_and_exit_code_2(
    run: Run, places: dict[str, Path], arguments: str
) -> None:
    answer = run(*(argument.format(**places) for argument in arguments.split()))
    assert (answer.code, answer.out) == (2, "")
    *notes, error = answer.err.splitlines()
    assert error.startswith("error: ") and all(map(NOTE_ON_FILES.fullmatch, notes))
    assert "Traceback" not in answer.err
    assert not places["new"].exists()


@pytest.mark.parametrize(
    ("arguments", "function"),
    [
        (
            "fit --train {train} --learner SP --rank 1 --out {new}",
            "nlwfa_core.hankel.estimate.build_hankel",
        ),
        (
            "fit --train {train} --learner GRU --rank 1 --out {new}",
            "nlwfa_core.learning.fitting.fit",
        ),
        ("fit --train {train} --preset best --out {new}", "nlwfa_core.search.loop.search"),
        (
            "select-rank --train {train} --validation {train} --learner SP --ranks 1",
            "nlwfa_core.search.rank_selection.select_rank",
        ),
        (
            "select-rank --train {train} --folds 2 --learner SP --ranks 1",
            "nlwfa_core.experiment.cross_validation.cross_validate",
        ),
    ],
)
def test_a_command_says_how_a_file_was_read_before_it_learns(
    run: Run,
    places: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    arguments: str,
    function: str,
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(function, interrupt)
    answer = run(*(argument.format(**places) for argument in arguments.split()))
    assert (answer.code, answer.out) == (130, "")
    notes = READ_TRAIN * 2 + MEMORY if "--validation" in arguments else READ_TRAIN
    assert answer.err == f"{notes}interrupted\n"


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("missing training file", "none: No such file or directory"),
        ("a wrong header", "wrong: line 1: the header promises 3 strings, but 2 follow"),
        ("rank 0", "rank must be at least 1; got 0"),
        ("unknown learner", "learner must be one of SP, fac.non, tran.non, both.non"),
        (
            "unknown statistic",
            "'--statistic': 'mean' is not one of 'string', 'prefix', 'factor', 'suffix'",
        ),
        ("unknown transform", "'--transform': 'log' is not one of 'none', 'sqrt', 'row'"),
        ("unknown refinement", "'--refine': 'em' is not one of 'none', 'hankel', 'likelihood'"),
        ("neither learner nor preset", "a learner and a rank are needed"),
        ("a folder under a file", "/train is a file"),
        (
            "test symbols unknown to the model",
            "abc.txt: string 1: symbol 'a' is not in the model's alphabet of 2 symbols: 0, 1",
        ),
        (
            "word symbols unknown to the model",
            "unknown: string 1: symbol 'x' is not in the model's alphabet of 3 symbols: a, b, c",
        ),
        ("a rank above the basis among ranks", "rank must be between 1 and 5 (the basis"),
        ("unknown option", "No such option: --depth"),
    ],
)
def test_errors_say_what_and_where(run: Run, places: dict[str, Path], case: str, said: str) -> None:
    assert said in run(*(argument.format(**places) for argument in BAD[case].split())).err


def test_a_full_memory_is_one_line(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(*_: object) -> Words:
        raise MemoryError

    monkeypatch.setattr(WFA, "weights", no_room)
    answer = run("weights", "--model", folder / "SP", "--words", folder / "test")
    assert (answer.code, answer.out) == (2, "")
    assert "not enough memory" in answer.err
    assert answer.err.count("\n") == 1


# Real processes


def test_version_and_help_are_printed(run: Run) -> None:
    assert process("--version") == Answer(0, f"nlwfa {__version__}\n", "")
    for command_ in COMMANDS:
        answer = run(command_, "--help")
        assert (answer.code, answer.err) == (0, "")
        assert f"Usage: nlwfa {command_} " in answer.out


LIBRARIES = {"torch", "scipy", "sqlalchemy", "sklearn"}


@pytest.mark.parametrize(
    ("arguments", "libraries"),
    [
        (["--version"], LIBRARIES | {"numpy"}),
        (["--help"], LIBRARIES | {"numpy"}),
        (["fit", "--help"], LIBRARIES),
        (["sweep", "--help"], LIBRARIES),
    ],
)
def test_help_imports_neither_a_database_nor_a_numerical_library(
    arguments: list[str], libraries: set[str]
) -> None:
    code = f"""
import sys
from nlwfa_core.cli.main import main
assert main({arguments!r}) == 0
print("imported:", *({libraries!r} & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_SECONDS
    )
    assert done.stdout.splitlines()[-1] == "imported:", done.stderr


@pytest.mark.slow
def test_a_process_from_strings_to_scores(folder: Path, tmp_path: Path) -> None:
    arguments = (
        "fit",
        "--train",
        folder / "train",
        "--learner",
        "fac.non",
        "--rank",
        3,
        "--out",
        tmp_path / "m",
        *quick("fac.non"),
    )
    answer = process(*arguments, FORCE_COLOR="1", TTY_COMPATIBLE="1")
    # no bar: stderr is no terminal, whatever colours are asked for
    assert (answer.code, answer.err) == (0, READ_TRAIN)
    assert "\x1b" not in answer.out
    score = process(
        "score", "--model", tmp_path / "m", "--test", folder / "test", PYTHONIOENCODING="ascii"
    )
    assert score.code == 0 and "\u2026" not in score.err
    assert score.out.startswith("log\\u2082 Pauto")
    bad = process("score", "--model", tmp_path / "m", "--test", tmp_path / "none")
    assert (bad.code, bad.out, bad.err.count("\n")) == (2, "", 1)


TORCH = """
import sys
from nlwfa_core.cli.main import COMMANDS, main
for arguments in sys.stdin.read().splitlines():
    assert main(arguments.split()) == 0
    print("imported:", *({"torch", "streamlit", "pandas"} & set(sys.modules)))
"""


@pytest.mark.slow
def test_torch_is_imported_for_likelihood_alone(folder: Path, tmp_path: Path) -> None:
    fit_ = f"fit --train {folder}/train --rank 3"
    lines = (
        f"generate dyck -n 5 -o {tmp_path}/f",
        f"{fit_} --learner SP --out {tmp_path}/m",
        f"score --model {folder}/both.non --test {folder}/test",
        f"weights --model {folder}/both.non --words {folder}/test",
        f"next --model {folder}/both.non --prefix 0",
        f"{fit_} --learner both.non --epochs-factorisation 1 --out {tmp_path}/n",
        f"{fit_} --learner SP --refine likelihood --epochs-refinement 1 --out {tmp_path}/r",
    )
    done = subprocess.run(
        [sys.executable, "-c", TORCH],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    imported = [line for line in done.stdout.splitlines() if line.startswith("imported:")]
    assert imported == ["imported:"] * 6 + ["imported: torch"]


def test_a_reader_that_stops_reading_is_no_error(folder: Path) -> None:
    with subprocess.Popen(
        command("weights", "--model", folder / "SP", "--words", folder / "train"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        assert running.stderr.read() == READ_TRAIN.encode()
        assert running.wait(PATIENCE_SECONDS) == 0


def test_a_full_disk_is_one_line(folder: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command("weights", "--model", folder / "SP", "--words", folder / "test"),
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=PATIENCE_SECONDS,
        )
    assert (done.returncode, done.stderr) == (
        2,
        b"error: can't write the output: No space left on device\n",
    )


@pytest.mark.slow
def test_a_terminal_sees_a_bar_and_ctrl_c_ends_it(folder: Path, tmp_path: Path) -> None:
    arguments = (
        "fit",
        "--train",
        folder / "train",
        "--learner",
        "both.non",
        "--rank",
        3,
        "--out",
        tmp_path / "m",
    )
    mine, theirs = pty.openpty()
    with subprocess.Popen(
        command(*arguments, "--epochs-factorisation", 100_000),
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm"},
        # a job in the background ignores it, and so its children
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as running:
        os.close(theirs)
        seen = b""
        deadline = time.monotonic() + 60
        while b"loss" not in seen and time.monotonic() < deadline:
            seen += os.read(mine, 4096)
        running.send_signal(signal.SIGINT)
        try:
            while more := os.read(mine, 4096):
                seen += more
        except OSError:  # how Linux says that the other end is closed
            pass
        assert running.stdout is not None
        assert running.stdout.read() == b""
        assert running.wait(PATIENCE_SECONDS) == 130
    os.close(mine)
    assert b"factorisation" in seen
    assert seen.endswith(b"interrupted\r\n")
    assert not (tmp_path / "m").exists()


def test_the_library_reads_what_the_command_line_wrote(folder: Path) -> None:
    train = read_strings((folder / "train").read_bytes()).sample()
    test = TestSet.empirical(
        read_strings((folder / "test").read_bytes(), alphabet=train.alphabet).sample()
    )
    assert evaluate(NGram.fit(train, 3), test).num_zero == 0


def test_weights_and_scores_too_small_for_a_float_are_written(run: Run, tmp_path: Path) -> None:
    """f(x) of strings of 1,500 symbols, against fractions: 2.05e-917 and its like, and what follows
    such a prefix.
    """
    halves = WFA([1.0], [[[0.3]], [[0.2]]], [0.5])
    alphabet = Alphabet(("a", "b"))
    words = [(), (0, 1) * 750, (1,) * 1500]
    save(halves, tmp_path / "m", alphabet=alphabet)
    (tmp_path / "words.txt").write_text(
        "\n".join("".join("ab"[symbol] for symbol in word) for word in words) + "\n"
    )
    answer = run("weights", "--model", tmp_path / "m", "--words", tmp_path / "words.txt")
    with localcontext(Context(prec=30)):
        exact = [
            Decimal("0.3") ** word.count(0) * Decimal("0.2") ** word.count(1) * Decimal("0.5")
            for word in words
        ]
        errors = [
            Decimal(line) / weight - 1
            for line, weight in zip(answer.out.splitlines(), exact, strict=True)
        ]
    assert max(map(abs, errors)) < 1e-10
    assert answer.err.endswith("2 weights below 2e-308, which most programs read as 0\n")
    text = run("next", "--model", tmp_path / "m", "--prefix", "ab" * 750).out
    assert "end is predicted" in text and ["end", "2.05309e-917", "0.5000"] in [
        line.split() for line in text.splitlines()
    ]
    record = json.loads(
        run("next", "--model", tmp_path / "m", "--prefix", "ab" * 750, "--json").out
    )
    assert record["predicted"] is None and "tied" not in record
    logs = np.array([*record["log2_scores"].values(), record["log2_end"]])
    assert logs == pytest.approx(750 * np.log2(0.06) + np.log2([0.3, 0.2, 0.5]), abs=1e-9)
    short = json.loads(run("next", "--model", tmp_path / "m", "--prefix", "ab", "--json").out)
    assert "log2_scores" not in short and short["end"] == pytest.approx(0.03)
    # the Predict page does not call them 0
    assert score_warnings({"halves": halves}, words[1]) == ()


def test_unknown_symbols_do_not_stop_the_scores(run: Run, folder: Path, tmp_path: Path) -> None:
    """The library's scores, with a sentence; a file without one known string belongs to another
    model.
    """
    (tmp_path / "some").write_text("ab\nbx\naa\n")
    answer = run("score", "--model", folder / "abc", "--test", tmp_path / "some", "--json")
    assert (
        answer.code == 0
        and "1 of 3 test strings use symbols that the model does not know: x; their weight is 0."
        in answer.err
    )
    assert json.loads(answer.out)["num_unknown"] == 1 and json.loads(answer.out)["num_zero"] >= 1
    answer = run("weights", "--model", folder / "abc", "--words", tmp_path / "some")
    assert (
        answer.code == 0
        and answer.out.splitlines()[1] == "0.0"
        and len(answer.out.splitlines()) == 3
    )
    assert "1 of 3 strings use symbols that the model does not know: x" in answer.err
    answer = run("compare", folder / "abc", folder / "abc", "--test", tmp_path / "some")
    assert answer.code == 0 and "1 of 3 test strings use" in answer.err
    answer = run(
        "mix",
        folder / "abc",
        folder / "abc",
        "--validation",
        tmp_path / "some",
        "--out",
        tmp_path / "mixed",
    )
    assert answer.code == 0 and "1 of 3 validation strings use" in answer.err


def test_test_strings_that_are_training_strings_are_noted(run: Run, tmp_path: Path) -> None:
    train = tmp_path / "train.txt"
    test = tmp_path / "test.txt"
    train.write_text("a b\nb\na a b\n" * 20)
    test.write_text("a b\nb b\na b\n")
    model = tmp_path / "model"
    assert run("fit", "--train", train, "--learner", "SP", "--rank", 2, "--out", model).code == 0
    partly = run("score", "--model", model, "--test", test)
    assert "2 of 3 test strings (1 of 2 distinct ones) are training strings too." in partly.err
    alike = "The test strings are the training strings, 3 distinct ones"
    assert alike in run("score", "--model", model, "--test", train).err
    assert f"B: {alike}" in run("compare", model, model, "--test", train).err
    arguments = ("--train", train, "--validation", train)
    chosen = run("select-rank", *arguments, "--learner", "SP", "--ranks", "1,2")
    assert alike.replace("test", "validation", 1) in chosen.err
    hmm = tmp_path / "hmm"
    stopped = run("fit", *arguments, "--learner", "HMM", "--rank", 2, "--out", hmm)
    different = "A on the Hankel matrix, B on the strings themselves."
    assert different in run("compare", model, hmm, "--test", train).err
    assert "trained in different ways" not in run("compare", model, model, "--test", train).err
    assert alike.replace("test", "validation", 1) in stopped.err


def test_two_strings_are_too_few_for_a_verdict(run: Run, folder: Path, tmp_path: Path) -> None:
    two = tmp_path / "two.txt"
    two.write_text("2 2\n2 0 1\n4 0 0 1 1\n")
    compared = run("compare", folder / "SP", folder / "fac.non", "--test", two)
    assert compared.code == 0 and "n = 2 strings: too few for an interval" in compared.out
    rows = compared.out.splitlines()
    assert all(
        line.endswith("no verdict")
        for line in rows
        if line.startswith(("WER", "bits / symbol", "zero"))
    )
    assert "[" not in rows[1] and "ahead: level if" not in compared.out
    scored = run("score", "--model", folder / "SP", "--test", two, "--against", folder / "fac.non")
    assert (
        "n = 2 strings: too few for an interval" in scored.out
        and " [" not in scored.out.replace("[0", "")
    )
    record = json.loads(
        run("compare", folder / "SP", folder / "fac.non", "--test", two, "--json").out
    )
    for difference in record["differences"].values():
        assert difference["ahead"] == "no verdict"
        assert difference["low"] is difference["high"] is difference["p_value"] is None
    assert (
        json.loads(run("score", "--model", folder / "SP", "--test", two, "--json").out)["intervals"]
        == {}
    )


@pytest.mark.parametrize("command", ["reproduce dyck-rank", "compete pautomac --data ."])
def test_what_is_not_in_the_package_needs_a_checkout(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr("nlwfa_core.cli.terminal.LAB_FOLDER", tmp_path)
    answer = run(*command.split(), "--out", tmp_path / "out" / "page.md")
    assert answer == (
        2,
        "",
        f"error: nlwfa {command.split()[0]} needs a checkout of the repository: its folder studies "
        "is not part of the installed package\n",
    )
    assert not (tmp_path / "out").exists()
