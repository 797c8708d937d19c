"""`nlwfa rank` end to end: what it prints and writes for every kind of model, and what it
refuses.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from nlwfa_core.cli.main import main
from nlwfa_core.learning.learners import STRING_LEARNERS
from nlwfa_core.models.model_files import load, save
from nlwfa_core.models.wfa import WFA
from nlwfa_core.sources.names import FORMATS
from nlwfa_core.strings.trie import Trie
from nlwfa_core.strings.words import Alphabet, Words

TRAIN = "".join(
    f"{word}\n" for word in ["ab", "b", "aab", "abb", "b", "a", "bb", "ab", "aaab", "abab"] * 8
)
PREFIXES = [(), (0,), (1,), (0, 0, 1), (0,), (1, 1, 1, 0)]
FITS = {
    "SP": ("SP",),
    "SP of prefixes": ("SP", "--statistic", "prefix"),
    "both.non": (
        "both.non",
        "--optimizer",
        "adamax",
        "--epochs-factorisation",
        5,
        "--epochs-transitions",
        5,
    ),
    "refined": (
        "fac.non",
        "--statistic",
        "prefix",
        "--transform",
        "row",
        "--refine",
        "likelihood",
        "--epochs-refinement",
        2,
    ),
    "HMM": ("HMM",),
    "PFA": ("PFA",),
    "PDFA": ("PDFA",),
    # strings that are learned worse and worse end the training early
    "GRU": ("GRU", "--validation", "valid.txt"),
    "LSTM": ("LSTM", "--validation", "valid.txt"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("rank")
    (place / "train.txt").write_text(TRAIN)
    (place / "valid.txt").write_text("bbbbaaaa\n")
    (place / "prefixes").write_text(
        "6 2\n" + "".join(f"{' '.join(map(str, (len(word), *word)))}\n" for word in PREFIXES)
    )
    (place / "targets").write_text(
        "1.0 0 1.0\n1.0 1 1.0\n0.8 -1 0.5 0 0.3\n1.0 -1 1.0\n1.0 0 1.0\n1.0 1 1.0\n"
    )
    # One state: b is likelier than the end, and that than a.
    coin = WFA(np.ones(1), np.array([[[0.2]], [[0.5]]]), np.array([0.3]))
    save(coin, place / "coin", alphabet=Alphabet(("a", "b")))
    return place


def call(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


def test_a_ranking_with_its_score(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("rank", "--model", folder / "coin", "--prefixes", folder / "prefixes")
    assert call(*options) == 0
    out, err = capsys.readouterr()
    assert out == "1 -1 0\n" * 6  # there are three next symbols
    assert err == "prefixes: read as pautomac: 2 symbols: a b; 6 prefixes\n"
    assert call(*options, "--targets", folder / "targets") == 0
    out, err = capsys.readouterr()
    assert out == "1 -1 0\n" * 6
    gains = [1 / 2, 1, (0.5 / np.log2(3) + 0.3 / 2) / 0.8, 1 / np.log2(3), 1 / 2, 1]
    assert err.splitlines()[-1] == (
        f"NDCG5 {np.mean(gains):.4f}, error 0.6667: the first-ranked symbol is not what "
        "followed, or not the likeliest; 6 prefixes"
    )
    assert call(*options, "--targets", folder / "targets", "--json") == 0
    record = json.loads(capsys.readouterr().out)
    assert record == {
        "ndcg5": pytest.approx(np.mean(gains), abs=1e-12),
        "error": pytest.approx(4 / 6),
        "num_prefixes": 6,
    }
    assert call(*options, "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"ndcg5": None, "error": None, "num_prefixes": 6}


@pytest.mark.parametrize("kind", FITS)
def test_every_kind_of_model_that_fit_saves(
    kind: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The ranking is the order of the model's own scores, prefix by prefix."""
    learner, *options = FITS[kind]
    options = [folder / option if option == "valid.txt" else option for option in options]
    basis = () if learner in STRING_LEARNERS else ("--prefixes", 20, "--suffixes", 20)
    fit = (
        "fit",
        "--train",
        folder / "train.txt",
        "--learner",
        learner,
        "--rank",
        2,
        "--out",
        tmp_path / "m",
        *basis,
        *options,
    )
    assert call(*fit) == 0, capsys.readouterr().err
    assert (
        call(
            "rank",
            "--model",
            tmp_path / "m",
            "--prefixes",
            folder / "prefixes",
            "--out",
            tmp_path / "ranking",
        )
        == 0
    )
    model = load(tmp_path / "m")
    expected = []
    for word in PREFIXES:
        trie = Trie.of(Words.of([word]), 2)
        order = np.argsort(-model.next_scores(trie)[trie.ends[0]], kind="stable")
        expected.append(" ".join(str(symbol if symbol < 2 else -1) for symbol in order))
    assert (tmp_path / "ranking").read_text().splitlines() == expected


def test_named_symbols_are_ranked_by_name(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file of characters may know only some of the model's symbols; targets of symbols that it
    lacks can't be ranked.
    """
    (tmp_path / "prefixes.txt").write_text("b\nbb\nλ\n")
    (tmp_path / "targets.txt").write_text("b\n1.0 z 1.0\n")
    options = (
        "rank",
        "--model",
        folder / "coin",
        "--prefixes",
        tmp_path / "prefixes.txt",
        "--format",
        "characters",
    )
    assert call(*options, "--targets", tmp_path / "targets.txt") == 2
    assert "a line for each of the 3 prefixes; got 2 lines" in capsys.readouterr().err
    (tmp_path / "prefixes.txt").write_text("b\nbb\n")
    assert call(*options, "--targets", tmp_path / "targets.txt") == 0
    out, err = capsys.readouterr()
    assert out == "b -1 a\n" * 2
    assert (
        "targets.txt: 1 of 2 targets are symbols that the model does not know, so no ranking "
        "contains them." in err
    )


def test_files_are_replaced_only_by_force(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = (
        "rank",
        "--model",
        folder / "coin",
        "--prefixes",
        folder / "prefixes",
        "--out",
        tmp_path / "ranking",
    )
    assert call(*options, "--targets", folder / "targets") == 0
    out, _ = capsys.readouterr()
    assert out.startswith("NDCG5 0.")
    assert out.endswith(f"ranking of 6 prefixes written to {tmp_path / 'ranking'}\n")
    written = (tmp_path / "ranking").read_text()
    assert written == "1 -1 0\n" * 6
    assert call(*options) == 2
    assert (
        capsys.readouterr().err
        == f"error: {tmp_path / 'ranking'} exists: choose another name, or replace it with "
        "--force\n"
    )
    assert call(*options, "--force") == 0
    capsys.readouterr()
    assert call(*options[:-1], folder / "prefixes", "--force") == 2
    assert "this command uses that file for something else" in capsys.readouterr().err
    assert (folder / "prefixes").read_text().startswith("6 2\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"model": "nowhere"},
            "a model must be a folder that nlwfa wrote, or a file in it; nowhere does not exist",
        ),
        (
            {"model": "prefixes"},
            "a model must be a folder that nlwfa wrote, or a file in it; prefixes is a file",
        ),
        ({"prefixes": "nowhere"}, "can't read nowhere: No such file or directory"),
        (
            {"prefixes": "targets"},
            "targets: this must be a file of strings; got a SPiCe target file (the next "
            "symbols of prefixes)",
        ),
        (
            {"prefixes": "wide"},
            "wide: string 1: symbol '7' is not in the model's alphabet of 2 symbols: a, b",
        ),
        (
            {"prefixes": "counts.csv"},
            "counts.csv: each line must hold one prefix, without a count or with the count "
            "1; got a count of 3",
        ),
        ({"targets": "nowhere"}, "can't read nowhere: No such file or directory"),
        ({"targets": "prefixes"}, "prefixes: this must be a SPiCe target file"),
        (
            {"targets": "few"},
            "few: the file of targets must have a line for each of the 6 prefixes; got 1 line",
        ),
        ({"targets": "bad"}, "bad: line 2: a target must be the largest possible gain"),
        ({"out": "nowhere/x"}, "can't write "),
        (
            {"format": "yaml"},
            f"--format must be one of {', '.join(FORMATS)}; got 'yaml'",
        ),
    ],
)
def test_bad_input_is_one_line(
    options: dict[str, str],
    message: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder)
    Path("wide").write_text("1 9\n1 7\n")
    Path("counts.csv").write_text("string,count\nab,3\n")
    Path("few").write_text("1.0 0 1.0\n")
    Path("bad").write_text("1.0 0 1.0\n1.0 0\n" * 3)
    filled = {"model": "coin", "prefixes": "prefixes", "targets": "targets"} | options
    assert (
        call("rank", *(part for name, value in filled.items() for part in (f"--{name}", value)))
        == 2
    )
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert err.startswith(f"error: {message}")


def test_more_targets_than_prefixes_are_noted(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "targets").write_text((folder / "targets").read_text() + "1.0 0 1.0\n")
    options = (
        "rank",
        "--model",
        folder / "coin",
        "--prefixes",
        folder / "prefixes",
        "--json",
        "--targets",
    )
    assert call(*options, folder / "targets") == 0
    exact = capsys.readouterr().out
    assert call(*options, tmp_path / "targets") == 0
    out, err = capsys.readouterr()
    assert out == exact
    assert "targets: 7 targets for 6 prefixes: the first 6 are used." in err
