"""Sweeps on files of one's own, named by their paths in the sweep's file or by options."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from nlwfa_core.cli.main import main
from nlwfa_core.experiment.results import load_result
from nlwfa_core.files import FileShelf
from nlwfa_core.metrics.intervals import SCORES_WITH_INTERVALS
from nlwfa_core.sources.names import FORMATS

Run = Callable[..., tuple[int, str, str]]
TRAIN = "the cat sat;3\nthe dog ran;2\na cat;2\n" * 9
TEST = "a dog\nthe cat\n"
SMALL = {
    "base": {"hankel": {"num_prefixes": 5, "num_suffixes": 5}, "data": {"num_validation": 3}},
    "ranks": [1, 2],
}


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def run_(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run_


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        "train.csv": TRAIN,
        "test.txt": TEST,
        "true.txt": "2\n0.25\n0.5\n",
        "29.model.txt": "I: (state)\n\t(0) 1\n",
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    return tmp_path


def write(folder: Path, **lists: object) -> Path:
    (folder / "own.json").write_text(json.dumps({**SMALL, **lists}))
    return folder / "own.json"


def test_the_table_has_intervals_where_they_are_asked_for(run: Run, folder: Path) -> None:
    """They are those of `nlwfa score` on the same strings; a run that was there already has them,
    too.
    """
    # Fewer than 30 strings have no interval.
    (folder / "test.txt").write_text(TEST * 15)
    (folder / "true.txt").write_text("30\n" + "0.25\n0.5\n" * 15)
    sweep = write(folder, train="train.csv", test="test.txt", solution="true.txt")
    home = folder / "home"
    table = home / "sweeps" / "own.csv"
    assert run("sweep", sweep, "--out", home)[0] == 0
    plain_table = table.read_text(encoding="utf-8")
    assert run("sweep", sweep, "--out", home, "--intervals")[0] == 0
    with table.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert "wer_low" not in plain_table and table.read_text(encoding="utf-8").startswith(
        plain_table.splitlines()[0]
    )
    for row in rows:
        model = home / "runs" / row["key"]
        out = run(
            "score",
            "--model",
            model,
            "--test",
            folder / "test.txt",
            "--solution",
            folder / "true.txt",
            "--json",
        )[1]
        ends = json.loads(out)["intervals"]
        assert {"log2_pauto", "wer", "kl", "rmse"} <= ends.keys()
        for name in SCORES_WITH_INTERVALS:
            found = row[f"{name}_low"], row[f"{name}_high"]
            assert found == (
                tuple(str(float(end)) for end in ends[name]) if name in ends else ("", "")
            )
            assert name not in ends or float(found[0]) <= float(row[name]) <= float(found[1])
    assert (
        run("sweep", sweep, "--out", home)[0] == 0
        and table.read_text(encoding="utf-8") == plain_table
    )


def test_a_sweep_says_how_its_files_were_read_before_it_runs(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("nlwfa_core.jobs.sweep.run_missing", interrupt)
    code, out, err = run(
        "sweep", write(folder, train="train.csv", test="test.txt"), "--out", folder / "home"
    )
    lines = err.splitlines()
    assert (code, out) == (130, "") and [line.split(":")[0] for line in lines] == [
        "train.csv",
        "test.txt",
        "interrupted",
    ]
    assert lines[1] == "test.txt: read as tokens: 4 symbols: a cat dog the"


def test_a_sweep_names_its_files_by_path(run: Run, folder: Path) -> None:
    sweep = write(folder, train="train.csv", test="test.txt", solution="true.txt")
    code, out, err = run("sweep", sweep, "--out", folder / "home")
    assert code == 0 and "2 runs done" in out
    assert (
        "train.csv: read as csv: 6 symbols: a cat dog ran sat the; the number after each "
        "line's last semicolon is its" in err
    )
    assert "test.txt: read as tokens: 4 symbols: a cat dog the" in err
    assert "true.txt: read as a PAutomaC solution: 2 probabilities, from 0.25 to 0.5" in err
    with (folder / "home" / "sweeps" / "own.csv").open(encoding="utf-8") as table:
        rows = list(csv.DictReader(table))
    result = load_result(folder / "home" / "runs" / rows[0]["key"])
    shelf = FileShelf(folder / "home" / "uploads")
    data = result.recipe.data
    assert [shelf.title(name) for name in data.uploads] == ["train.csv", "test.txt", "true.txt"]
    assert shelf.get(data.upload) == TRAIN.encode()
    assert result.scores.true_log2_pauto is not None and {row["rank"] for row in rows} == {"1", "2"}
    assert "2 were there already" in run("sweep", sweep, "--out", folder / "home")[1]
    # Options name the same files, and so the same runs.
    options = (
        "--train",
        folder / "train.csv",
        "--test",
        folder / "test.txt",
        "--solution",
        folder / "true.txt",
    )
    code, out, err = run("sweep", write(folder), "--out", folder / "home", *options)
    assert code == 0 and "2 were there already" in out


def test_a_sweep_scores_prefixes_with_their_targets(run: Run, folder: Path) -> None:
    (folder / "prefixes.txt").write_text("the\na cat\nthe\n")
    (folder / "targets.txt").write_text("cat\n-1\ndog\n")
    sweep = write(folder, train="train.csv", prefixes="prefixes.txt", targets="targets.txt")
    code, out, err = run("sweep", sweep, "--out", folder / "home")
    assert code == 0 and "2 runs done" in out
    assert "targets.txt: read as a SPiCe target file: 3 lines" in err
    with (folder / "home" / "sweeps" / "own.csv").open(encoding="utf-8") as table:
        rows = list(csv.DictReader(table))
    scores = load_result(folder / "home" / "runs" / rows[0]["key"]).scores
    assert (rows[0]["prefix_ndcg5"], rows[0]["prefix_error"]) == (
        repr(scores.prefix_ndcg5),
        repr(scores.prefix_error),
    )
    assert scores.prefix_error in (1 / 3, 2 / 3, 1)  # "the" is not followed by the same word twice
    assert "validation_prefix_error" not in rows[0]
    options = (
        "--train",
        folder / "train.csv",
        "--prefixes",
        folder / "prefixes.txt",
        "--targets",
        folder / "targets.txt",
    )
    assert (
        "2 were there already" in run("sweep", write(folder), "--out", folder / "home", *options)[1]
    )


BAD = [
    ({"train": "none.txt"}, "none.txt: No such file or directory"),
    (
        {"train": "29.model.txt"},
        "29.model.txt: this must be a file of strings; got a PAutomaC model",
    ),
    (
        {"train": "train.csv", "test": "true.txt"},
        "true.txt: this must be a file of strings; got a PAutomaC solution",
    ),
    (
        {"train": "train.csv", "format": "xml"},
        f"format must be one of {', '.join(FORMATS)}; got 'xml'",
    ),
    (
        {"train": "train.csv", "solution": "true.txt"},
        "solution has no effect without test: name it too",
    ),
    (
        {"train": "train.csv", "prefixes": "test.txt"},
        "prefixes has no effect without targets: name it too",
    ),
    (
        {"train": "train.csv", "targets": "true.txt"},
        "targets has no effect without prefixes: name it too",
    ),
    (
        {"test": "test.txt"},
        "test has no effect without train: name it too, in the sweep's file or with --train",
    ),
    ({"train": 3}, "train must be the path of a file; got '3'"),
    (
        {"base": {"data": {"source": "dyck"}}, "train": "train.csv"},
        "source must be upload, or left out, if files are named",
    ),
    (
        {"base": {"data": {"source": "upload"}}},
        "needs a file of training strings; name it by its path",
    ),
    (
        {"base": {"data": {"source": "upload", "upload": "train.csv"}}},
        "base.data.upload can't hold a path; write",
    ),
    ({"base": {"data": {"source": "upload", "upload": "0" * 64}}}, "the file 00000000… is not in"),
]


@pytest.mark.parametrize(("lists", "message"), BAD)
def test_a_wrong_file_is_one_line_before_any_run(
    run: Run, folder: Path, lists: dict[str, object], message: str
) -> None:
    code, out, err = run("sweep", write(folder, **lists), "--out", folder / "home")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    for word in ("Data page", "SHA", "0-9a-f", "upload it again"):
        assert word not in err
    assert not (folder / "home" / "runs").exists()


def test_warnings_and_unfinished_trainings_are_counted_at_the_end(run: Run, folder: Path) -> None:
    (folder / "new.txt").write_text("a bird\na cat\n")
    learning = {"optimizer": "adamax", "epochs_factorisation": 2, "epochs_transitions": 2}
    sweep = write(
        folder,
        train="train.csv",
        test="new.txt",
        learners=["SP", "fac.non"],
        base=SMALL["base"] | {"learning": learning},
    )
    code, _, err = run("sweep", sweep, "--out", folder / "home")
    assert code == 0 and "2 runs: the training is not finished; see the column training of" in err
    assert "4 runs: 1 of 2 test strings use symbols that no training string has: bird." in err
    assert "SP, k = 1, string statistic, all strings: WER" in err
