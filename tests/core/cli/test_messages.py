"""Messages for wrong command lines and sweeps: one line with what was wrong, given and allowed. Exit code 2."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nlwfa_core.cli.main import main

FIT = "fit --train train --learner SP --rank 2 --out new"
RANKS = "select-rank --train train --validation train --learner SP --ranks"
MESSAGES = {
    "fit --train train --learner SP --rank 5.5 --out new": "--rank must be a whole number; got '5.5'. See nlwfa fit --help.",
    "fit --train train --learner SP --rank abc --out new": "--rank must be a whole number; got 'abc'. See nlwfa fit --help.",
    "fit --train train --learner SP --rank 0 --out new": "rank must be at least 1; got 0",
    "fit --train train --learner SP --rank 30 --prefixes 4 --suffixes 3 --out new": (
        "rank must be between 1 and 3 (the basis has 4 prefixes and 3 suffixes); got 30"
    ),
    "fit --train train --preset bets --out new": "--preset must be best; got 'bets'; did you mean best? See nlwfa fit --help.",
    "fit --train train --learner RNN --rank 2 --out new": (
        "learner must be one of SP, fac.non, tran.non, both.non, HMM, GRU, LSTM; got 'RNN'"
    ),
    "fit --train train --rank 2 --out new": (
        "a learner and a rank are needed: for example --learner SP --rank 10, or --preset best with --validation"
    ),
    "fit --train train --learner SP --rank 2": "Missing option '--out'. See nlwfa fit --help.",
    f"{FIT} --rnk 3": "No such option: --rnk (Possible options: --rank, --refine, --train) See nlwfa fit --help.",
    f"{FIT} --optimizer sgd": ("--optimizer must be adamax, lbfgs or lm; got 'sgd'. See nlwfa fit --help."),
    f"{FIT} --hidden 2-1": "hidden must be whole numbers separated by commas, such as 2,1,2; got '2-1'",
    f"{FIT} --dropout half": "--dropout must be a number; got 'half'. See nlwfa fit --help.",
    f"{RANKS} 2-20x": "ranks must be whole numbers and ranges separated by commas, such as 1,2,5 or 2-20; got '2-20x'",
    f"{RANKS} 20-2": "a range in ranks must go up, such as 2-20 or 5-50:5; got '20-2'",
    f"{RANKS} 2-20:0": "a range in ranks must go up, such as 2-20 or 5-50:5; got '2-20:0'",
    f"{RANKS} 1-99999999999": "ranks must be at most 1,000; got 99,999,999,999",
    f"{RANKS} 2 --metric mse": "metric must be one of wer, log2_pauto, bits_per_symbol, ndcg5; got 'mse'",
    "learn": "No such command 'learn'. See nlwfa --help.",
    "generate english -o new": "No such command 'english'. See nlwfa generate --help.",
    "generate dyck": "Missing option '-o' / '--out'. See nlwfa generate dyck --help.",
    "reproduce dyck --out new": "experiment must be one of dyck-rank, dyck-samples, verbs, squared, spice-4; got 'dyck'",
    "reproduce dyck-rank --jobs 0 --out new": "--jobs must be at least 1; got '0'. See nlwfa reproduce --help.",
    "score --model none/model.json --test train": "can't read none/model.json/model.json: No such file or directory",
    "export --model train --to dot": "can't read train/model.json: Not a directory",
    "export --model none --to svg": "--to must be one of dot, json, pautomac, openfst; got 'svg'",
    "sample --model none -n many": "--num-strings must be a whole number; got 'many'. See nlwfa sample --help.",
    "generate dyck -o train": "train exists: choose another name, or replace it by --force",
    "generate dyck -o new --solution train": "train exists: choose another name, or replace it by --force",
    "fit --train train --learner SP --rank 2 --out train": "can't write to train: Not a directory",
    "fit --train train --learner SP --rank 2 --out notes": (
        "notes exists and holds other files, which stay if you add the model by --force; otherwise choose another folder"
    ),
    "fit --train train --learner SP --rank 2 --out foreign --force": (
        "foreign exists, and its model.safetensors was not written by nlwfa: choose another folder"
    ),
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train").write_text("6 2\n2 0 1\n2 0 1\n4 0 0 1 1\n2 0 1\n4 0 1 0 1\n2 0 1\n")
    for name, file in (("notes", "a.txt"), ("foreign", "model.safetensors")):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text("mine")
    return tmp_path


@pytest.mark.parametrize(("arguments", "message"), MESSAGES.items())
def test_a_wrong_command_line_gets_one_clear_sentence(
    place: Path, arguments: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted((path, path.read_bytes()) for path in place.rglob("*") if path.is_file())
    code = main(arguments.split())
    out, err = capsys.readouterr()
    assert (code, out, err) == (2, "", f"error: {message}\n")
    assert sorted((path, path.read_bytes()) for path in place.rglob("*") if path.is_file()) == before


FIELDS = "base, learners, ranks, statistics, transforms, sample_sizes, seeds, num_seeds, new_strings"
SWEEPS = {
    '{"rank": [5]}': "unknown field 'rank'; did you mean ranks?",
    '{"depth": [5]}': "unknown field 'depth'; the fields are " + FIELDS,
    '{"base": {"learning": {"epochs": 5}}}': "unknown field 'epochs'; the fields are learner, rank, hidden, ",
    '{"base": {"data": {"num_string": 5}}}': "unknown field 'num_string'; did you mean num_strings?",
    '{"ranks": [0]}': "ranks.0 must be at least 1; got 0",
    '{"ranks": "2-20"}': "ranks must be a valid tuple; got '2-20'",
    "[1]": "a sweep must be a JSON object with base, learners, ranks, …; got list",
    '{"learners": ["SP"], "base": {"learning": {"hidden": [4, 1, 4], "width_transitions": 3}}}': (
        "base.learning.hidden, base.learning.width_transitions: no run of this sweep uses them; "
        "they need learner fac.non, tran.non or both.non"
    ),
    '{"learners": ["SP", "GRU"], "base": {"refinement": {"dropout": 0.5}}}': (
        "base.refinement.dropout: no run of this sweep uses it; it needs refinement.objective likelihood"
    ),
    '{"learners": ["HMM"], "statistics": ["prefix", "factor"]}': (
        "statistics: no run of this sweep uses it; it needs learner SP, fac.non, tran.non or both.non"
    ),
    '{"learners": ["SP"], "seeds": [0, 1]}': (
        "seeds: no run of this sweep uses it; it needs learner fac.non, tran.non, both.non, HMM, GRU or LSTM"
    ),
    '{"base": {"data": {"source": "tomita", "wrap_probability": 0.3}}}': (
        "base.data.wrap_probability: no run of this sweep uses it; it needs source dyck"
    ),
}


@pytest.mark.parametrize(("text", "message"), SWEEPS.items())
def test_a_wrong_sweep_gets_one_clear_sentence(place: Path, text: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "s.json").write_text(text)
    assert main(["sweep", "s.json", "--out", "home"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(f"error: s.json: {message}") and err.count("\n") == 1
    assert not (place / "home").exists()


def test_a_sweep_may_hold_what_only_some_of_its_runs_use_and_what_is_the_default(place: Path) -> None:
    """A whole recipe, as the lab writes it, is a base too."""
    from nlwfa_core.experiment.presets import converged
    from nlwfa_core.experiment.sweeps import Grid

    hidden = {"learning": {"hidden": [4, 1, 4]}}
    assert len(Grid.from_json(json.dumps({"base": hidden, "learners": ["SP", "fac.non"], "seeds": [0, 1]}).encode()).recipes()) == 3
    assert len(Grid.from_json(json.dumps({"base": json.loads(converged().to_json()), "ranks": [1, 2]}).encode()).recipes()) == 2
    assert len(Grid.from_json(b'{"ranks": [1], "seeds": [0, 1], "new_strings": true}').recipes()) == 2
