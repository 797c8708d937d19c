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
        "learner must be one of SP, fac.non, tran.non, both.non, HMM, PFA, GRU, LSTM; got 'RNN'"
    ),
    "fit --train train --rank 2 --out new": (
        "a learner and a rank are needed: for example --learner SP --rank 10, or --preset best with --validation"
    ),
    "fit --train train --learner SP --rank 2": "--out is needed (the folder to write the model to). See nlwfa fit --help.",
    f"{FIT} --rnk 3": "No such option: --rnk (Possible options: --rank, --refine, --train). See nlwfa fit --help.",
    f"{FIT} --optimizer sgd": ("--optimizer must be adamax, lbfgs or lm; got 'sgd'. See nlwfa fit --help."),
    f"{FIT} --hidden 2-1": "hidden must be whole numbers separated by commas, such as 2,1,2; got '2-1'",
    f"{FIT} --dropout half": "--dropout must be a number; got 'half'. See nlwfa fit --help.",
    f"{RANKS} 2-20x": "ranks must be whole numbers and ranges separated by commas, such as 1,2,5 or 2-20; got '2-20x'",
    f"{RANKS} 20-2": "a range in ranks must go up, such as 2-20 or 5-50:5; got '20-2'",
    f"{RANKS} 2-20:0": "a range in ranks must go up, such as 2-20 or 5-50:5; got '2-20:0'",
    f"{RANKS} 1-99999999999": "ranks must be at most 1,000; got 99,999,999,999",
    f"{RANKS} 2 --metric mse": "metric must be one of wer, log2_pauto, bits_per_symbol, ndcg5; got 'mse'",
    "learn": (
        "No such command 'learn'; the commands are fit, select-rank, rank, mix, reproduce, sweep, fit-values, score-values, "
        "export, sample, lab, score, weights, next, generate. See nlwfa --help."
    ),
    "generate english -o new": ("No such command 'english'; the commands are dyck, automaton, squared. See nlwfa generate --help."),
    "lab --port 0": "--port must be between 1 and 65,535; got 0",
    "generate dyck": "--out is needed (the file to write). See nlwfa generate dyck --help.",
    "reproduce dyck --out new": "experiment must be one of dyck-rank, dyck-samples, verbs, squared, spice-4; got 'dyck'",
    "reproduce dyck-rank --jobs 0 --out new": "--jobs must be at least 1; got '0'. See nlwfa reproduce --help.",
    "score --model none/model.json --test train": (
        "a model must be a folder that nlwfa wrote, or a file in it; none does not exist"
    ),
    "export --model train --to dot": "a model must be a folder that nlwfa wrote, or a file in it; train is a file",
    "export --model none --to svg": "--to must be one of dot, json, pautomac, openfst; got 'svg'",
    "sample --model none -n many": "--num-strings must be a whole number; got 'many'. See nlwfa sample --help.",
    "generate dyck -o train": "train exists: choose another name, or replace it by --force",
    "generate dyck -o new --solution train": "train exists: choose another name, or replace it by --force",
    "fit --train train --learner SP --rank 2 --out train": "can't write to train: it is a file, and a folder is needed",
    f"{FIT} --seed -1": "--seed must be at least 0; got -1",
    f"{FIT} --prefixes 0": "--prefixes must be at least 1; got 0",
    f"{FIT} --tolerance 2": "--tolerance must be below 1; got 2.0",
    f"{FIT} --optimizer adamax --rate-factorisation 0": "--rate-factorisation must be above 0; got 0.0",
    f"{FIT} --force=x": "--force takes no value. See nlwfa fit --help.",
    f"{FIT} --max-states 3": "--max-states is only for --preset: without a preset, --rank sets the number of states",
    f"{FIT} extra": "Got unexpected extra argument(s) (extra). See nlwfa fit --help.",
    "fit --train train --learner SP --rank 2 --out train/sub": "can't write to train/sub: PLACE/train is a file",
    "fit --train short --learner SP --rank 2 --out new": "short: line 3: length 2 is declared, but 1 symbol follows",
    "fit --learner SP --rank 2 --out new": (
        "--train is needed (training strings: PAutomaC or SPiCe, one string on each line, CSV with counts, or JSON lines). "
        "See nlwfa fit --help."
    ),
    "select-rank --train train --learner SP --ranks": "--ranks needs a value. See nlwfa select-rank --help.",
    "score --model notes --test train": "a model must be a folder that nlwfa wrote, or a file in it; notes holds no model",
    "weights --model none": (
        "--words is needed (the words: PAutomaC or SPiCe, one string on each line, CSV with counts, or JSON lines). "
        "See nlwfa weights --help."
    ),
    "sample --model none --max-length x": "--max-length must be a whole number; got 'x'. See nlwfa sample --help.",
    "sample --model none -o no/folder/new": "can't write no/folder/new: there is no folder no/folder",
    "score --model none --test train --confidence 95": "--confidence must be between 0.5 and 0.999; got 95.0",
    "score --model none --test train --confidence x": "--confidence must be a number; got 'x'. See nlwfa score --help.",
    "score --model none --test train --resamples 10": (
        "--resamples must be between 39 and 100,000 (an interval of 95 % needs 39); got 10"
    ),
    "score --model none --test train --resamples 99 --confidence 0.99": (
        "--resamples must be between 199 and 100,000 (an interval of 99 % needs 199); got 99"
    ),
    "generate": "a command is needed: dyck, automaton or squared. See nlwfa generate --help.",
    "generate dick -o new": "No such command 'dick'; did you mean dyck? See nlwfa generate --help.",
    "generate dyck --split 2 -o new": "--split must be at most 1; got 2.0",
    "generate automaton --states 0 -o new": "--states must be at least 1; got 0",
    "generate automaton --symbols 1000 -o new": "--symbols must be at most 100; got 1000",
    "generate dyck -o no/folder/new": "can't write no/folder/new: there is no folder no/folder",
    "reproduce": "EXPERIMENT is needed (dyck-rank, dyck-samples, verbs, squared, spice-4). See nlwfa reproduce --help.",
    "reproduce dyck-rank --minutes -1 --out new": "--minutes must be at least 0; got '-1'. See nlwfa reproduce --help.",
    "reproduce dyck-rank --train train --out new": "--train is only for verbs and spice-4; got the experiment dyck-rank",
    "reproduce spice-4 --train train --out new": (
        "spice-4 needs --train, --prefixes and --targets, SPiCe's files; missing: --prefixes, --targets"
    ),
    "sweep": "SWEEP is needed (a JSON file: a base recipe, and lists of what to vary in it). See nlwfa sweep --help.",
    "sweep none --out new": "can't read none: No such file or directory",
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
    (tmp_path / "short").write_text("2 2\n2 0 1\n2 0\n")
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
    assert (code, out, err.replace(str(place), "PLACE")) == (2, "", f"error: {message}\n")
    assert sorted((path, path.read_bytes()) for path in place.rglob("*") if path.is_file()) == before


FIELDS = "base, learners, ranks, statistics, transforms, sample_sizes, seeds, num_seeds, new_strings"
SWEEPS = {
    '{"rank": [5]}': "unknown field 'rank'; did you mean ranks?",
    '{"depth": [5]}': "unknown field 'depth'; the fields are " + FIELDS,
    '{"base": {"learning": {"epochs": 5}}}': "unknown field 'epochs'; the fields are learner, rank, hidden, ",
    '{"base": {"data": {"num_string": 5}}}': "unknown field 'num_string'; did you mean num_strings?",
    '{"ranks": [0]}': "ranks.0 must be at least 1; got 0",
    '{"ranks": "2-20"}': "ranks must be a list; got '2-20'",
    "[1]": "a sweep must be a JSON object with base, learners, ranks, …; got a list",
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
        "seeds: no run of this sweep uses it; it needs learner fac.non, tran.non, both.non, HMM, PFA, GRU or LSTM"
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
