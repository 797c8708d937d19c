"""`nlwfa classify`: files of strings in, one for each label; accuracy, table and models out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nlwfa_core import fit_classifier, read_strings
from nlwfa_core.cli.main import main
from nlwfa_core.models.model_files import load, load_info

FILES = {
    "up": "ab\naab\naabb\nabb\n" * 5,
    "down": "ba\nbba\nbbaa\nbaa\n" * 5,
    "test_up": "ab\naaabb\nba\n",
    "test_down": "bbba\nbac\n",
}
TRAIN = "classify --train up=up --train down=down --test up=test_up --test down=test_down"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)
    return tmp_path


def call(line: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(line.split())
    out, err = capsys.readouterr()
    return code, out, err


def test_it_prints_what_the_library_computes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = call(f"{TRAIN} --learner SP --rank 2 --against HMM --json", capsys)
    assert code == 0, err
    train, test = (
        {name: read_strings(FILES[f"{prefix}{name}"].encode()) for name in ("up", "down")}
        for prefix in ("", "test_")
    )
    printed = json.loads(out)
    scores = [fit_classifier(train, name, rank=2).classifier.score(test) for name in ("SP", "HMM")]
    for name, own in zip(("SP", "HMM"), scores, strict=True):
        assert printed[name]["counts"] == own.counts.tolist()
        assert printed[name]["bits_per_string"] == own.bits_per_string
    gap = scores[0].against(scores[1])
    assert printed["right_alone"] == [gap.first_alone, gap.second_alone]


def test_the_table_and_the_models(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(f"{TRAIN} --learner SP --rank 2 --statistic factor --out new", capsys)
    assert code == 0, err
    assert out.startswith("SP: accuracy 0.800 [") and "of 5 strings" in out
    assert out.splitlines()[1:] == ["label  up  down", "up      2     1", "down    0     2"]
    assert "up: read as characters" in err
    assert load(folder / "new" / "down").alphabet.symbols == ("a", "b")
    assert load_info(folder / "new" / "up")["label"] == "up"
    again = f"{TRAIN} --learner SP --rank 1 --out new"
    assert call(again, capsys)[0] == 2 and call(f"{again} --force", capsys)[0] == 0


def test_an_option_of_either_learner_has_an_effect(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = f"{TRAIN} --learner SP --rank 1 --objective likelihood"
    code, _, err = call(line, capsys)
    assert code == 2 and "--objective has no effect with --learner SP" in err
    assert call(f"{line} --against fac.non", capsys)[0] == 0
    code, _, err = call(f"{TRAIN} --learner SP --rank 1 --against SP", capsys)
    assert code == 2 and "--against must be a different learner from --learner SP" in err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("--train up=up --train up=down", "--train has the label 'up' twice"),
        ("--train ..=up --train down=down", "--train: labels are also used as folder names"),
        ("--train a/up=up --train down=down", "so a label can't be 'a/up'"),
        ("--train up", "--train must be LABEL=FILE, such as good=good.txt; got 'up'"),
        ("--train up=up", "--test has down, but --train has only up"),
        ("--train up=up --train down=none", "can't read none"),
    ],
)
def test_what_is_wrong_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], change: str, message: str
) -> None:
    line = TRAIN.replace("--train up=up --train down=down", change)
    code, out, err = call(f"{line} --learner SP --rank 1", capsys)
    assert code == 2 and not out and message in err.splitlines()[-1]


def test_symbols_and_labels_with_punctuation_are_named_whole(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ["thing,class", "a ; b,up", "b ; a,x: y"]
    Path("table.csv").write_text("\n".join(rows))
    line = "classify --train table.csv --test table.csv --label-column class --learner SP --rank 1"
    code, _, err = call(line, capsys)
    assert code == 0, err
    for label in ("up", "x: y"):
        assert f"table.csv, {label}: read as csv: 3 symbols: ; a b\n" in err


def test_a_table_with_a_column_of_labels_is_as_good_as_a_file_a_label(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, prefix in (("train.csv", ""), ("test.csv", "test_")):
        rows = [
            f"{label},7,{word}"
            for label in ("up", "down")
            for word in FILES[f"{prefix}{label}"].split()
        ]
        Path(name).write_text("\n".join(["class,id,thing", *rows]))
    how = "--label-column class --text-column thing --format csv"
    line = f"classify --train train.csv --test test.csv {how} --learner SP --rank 2 --json"
    code, out, err = call(line, capsys)
    assert code == 0, err
    assert "train.csv, up: read as csv: 2 symbols: a b\n" in err
    assert "test.csv, down: read as csv: " in err and "'count'" not in err
    code, expected, _ = call(f"{TRAIN} --learner SP --rank 2 --json", capsys)
    assert json.loads(out) == json.loads(expected)
    code, _, err = call(line.replace("--text-column thing ", ""), capsys)
    assert code == 2 and "train.csv: say which column has the strings (--text-column)" in err
    code, _, err = call(line.replace("--train", "--train test.csv --train"), capsys)
    assert code == 2 and "with --label-column, --train must name exactly one table; got 2" in err
    for label in ("\u3042" * 100, "../up", "a/b"):  # of a table, or before a file
        Path("odd.csv").write_text(f"class,thing\n{label},ab\nup,b\n")
        code, _, err = call(line.replace("train.csv", "odd.csv"), capsys)
        assert code == 2 and "--train: labels are also used as folder names" in err
        code, _, err = call(
            TRAIN.replace("up=up", f"{label}=up") + " --learner SP --rank 2", capsys
        )
        assert code == 2 and "--train: labels are also used as folder names" in err
