"""Messages for wrong command lines and sweeps: one line with what was wrong, given and allowed.

Exit code 2.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nlwfa_core.cli.main import main
from nlwfa_core.models.model_files import save
from nlwfa_core.models.wfa import WFA
from nlwfa_core.strings.words import Alphabet

FIT = "fit --train train --learner SP --rank 2 --out new"
RANKS = "select-rank --train train --validation train --learner SP --ranks"
MESSAGES = {
    "fit --train train --learner SP --rank abc --out new": "Invalid value for '--rank': Input "
    "should be a valid integer, unable to parse string as an integer; got 'abc'. See nlwfa fit "
    "--help.",
    "fit --train train --learner SP --rank 2": "Missing option '--out'. See nlwfa fit --help.",
    "generate dick -o new": "No such command 'dick'. Did you mean 'dyck'? See nlwfa generate "
    "--help.",
    "fit --train train --learner SP --rank 0 --out new": "rank must be at least 1; got 0",
    "fit --train train --learner SP --rank 30 --prefixes 4 --suffixes 3 --out new": (
        "rank must be between 1 and 3 (the basis has 4 prefixes and 3 suffixes); got 30"
    ),
    "fit --train train --preset bets --out new": "Invalid value for '--preset': 'bets' is not one "
    "of 'best'. See nlwfa fit --help.",
    "fit --train train --learner RNN --rank 2 --out new": (
        "learner must be one of SP, fac.non, tran.non, both.non, HMM, PFA, PDFA, GRU, LSTM; "
        "got 'RNN'"
    ),
    "fit --train train --rank 2 --out new": (
        "a learner and a rank are needed: for example --learner SP --rank 10, or --preset best"
    ),
    f"{FIT} --rnk 3": "No such option: --rnk (Possible options: --rank, --refine, --train). See "
    "nlwfa fit "
    "--help.",
    f"{FIT} --optimizer sgd": (
        "Invalid value for '--optimizer': 'sgd' is not one of 'adamax', 'lbfgs', 'lm'. See nlwfa "
        "fit --help."
    ),
    "fit --train train --learner both.non --rank 2 --out new --hidden 2-1": "--hidden must be "
    "whole numbers separated by commas, such as 2,1,2; got '2-1'",
    f"{RANKS} 2-20x": "ranks must be whole numbers and ranges separated by commas, such as 1,2,5 "
    "or 2-20; got "
    "'2-20x'",
    f"{RANKS} 20-2": "a range in ranks must be ascending, for example 2-20 or 5-50:5; got '20-2'",
    f"{RANKS} 2-20:0": "a range in ranks must be ascending, for example 2-20 or 5-50:5; got "
    "'2-20:0'",
    f"{RANKS} 1-99999999999": "ranks must be at most 1,000; got 99,999,999,999",
    f"{RANKS} 2 --metric mse": "metric must be one of wer, log2_pauto, bits_per_symbol, ndcg5, "
    "wer_without_end, bits_without_end; got 'mse'",
    "lab --port 0": "--port must be between 1 and 65,535; got 0",
    "reproduce dyck --out new": "experiment must be one of dyck-rank, dyck-samples, verbs, "
    "squared, spice-4; got 'dyck'",
    "score --model none/model.json --test train": (
        "a model must be a folder that nlwfa wrote, or a file in it; none does not exist"
    ),
    "export --model train --to dot": "a model must be a folder that nlwfa wrote, or a file in it; "
    "train is a file",
    "select-rank --train train --folds 3 --window 2 --learner SP --ranks 2": "--folds can't be "
    "used with --window: folds are drawn at random, and adjacent windows are not independent; "
    "use --validation with a later part of the sequence",
    "export --model none --to svg": "--to must be one of dot, tikz, json, pautomac, openfst, "
    "jflap; got 'svg'",
    "generate dyck -o train": "train exists: choose another name, or replace it with --force",
    "generate dyck -o new "
    "--solution train": "train exists: choose another name, or replace it with --force",
    "fit --train train --learner SP --rank 2 --out train": "can't write to train: it is a file, "
    "and a folder is needed",
    f"{FIT} --refine hankel --seed -1": "--seed must be at least 0; got -1",
    f"{FIT} --prefixes 0": "--prefixes must be at least 1; got 0",
    f"{FIT} --refine hankel --tolerance 2": "--tolerance must be below 1; got 2.0",
    f"{FIT} --refine likelihood --rate-refinement 0": "--rate-refinement must be above 0; got 0.0",
    f"{FIT} --max-states 3": "--max-states is only for --preset: without a preset, --rank sets "
    "the number of states",
    f"{FIT} extra": "Got unexpected extra argument(s) (extra). See nlwfa fit --help.",
    "fit --train train --learner SP --rank 2 --out train/sub": "can't write to train/sub: PLACE/train is a file",  # noqa: E501
    "fit --train short --learner SP --rank 2 --out new": "short: line 3: length 2 is declared, "
    "but 1 symbol follows",
    "score --model notes --test train": "a model must be a folder that nlwfa wrote, or a file in "
    "it; notes holds no model",
    "sample --model none -o no/folder/new": "can't write no/folder/new: there is no folder "
    "no/folder",
    "score --model none --test train --confidence 95": "--confidence must be between 0.5 and "
    "0.999; got 95",
    "score --model none --test train --resamples 10": (
        "--resamples must be between 39 and 100,000 (an interval of 95 % needs 39); got 10"
    ),
    "score --model none --test train --resamples 99 --confidence 0.99": (
        "--resamples must be between 199 and 100,000 (an interval of 99 % needs 199); got 99"
    ),
    "generate dyck --split 2 -o new": "--split must be at most 1; got 2.0",
    "generate automaton --states 0 -o new": "--states must be at least 1; got 0",
    "generate automaton --symbols 1000 -o new": "--symbols must be at most 100; got 1000",
    "generate dyck -o no/folder/new": "can't write no/folder/new: there is no folder no/folder",
    "reproduce dyck-rank --train train --out new": "--train is only for verbs and spice-4; got "
    "the experiment dyck-rank",
    "reproduce spice-4 --train train --out new": (
        "spice-4 needs --train, --prefixes and --targets, SPiCe's files; missing: "
        "--prefixes, --targets"
    ),
    "sweep none --out new": "can't read none: No such file or directory",
    "fit --train train --learner SP --rank 2 --out notes": (
        "notes exists and holds other files, which stay if you add the model with --force; "
        "otherwise choose another folder"
    ),
    "fit --train train --learner SP --rank 2 --out foreign --force": (
        "foreign exists, and nlwfa did not write its model.safetensors: choose another folder"
    ),
    # A file of another kind, a folder or nothing where a file is needed.
    "fit --train model --learner SP --rank 2 --out new": "can't read model: it is a folder, and a "
    "file is needed",
    "score --model model --test notes": "can't read notes: it is a folder, and a file is needed",
    "score --model model --test train --true-model notes": (
        "a model must be a folder that nlwfa wrote, or a file in it; notes holds no model"
    ),
    "fit --train= --learner SP --rank 2 --out new": "--train must be a path; got empty text. "
    "See nlwfa fit --help.",
    "fit --train train --learner SP --rank 2 --out=": "--out must be a path; got empty text. "
    "See nlwfa fit --help.",
    "export --model model --to dot -o notes": "can't write notes: it is a folder, and a file is "
    "needed",
    "fit --train model/model.json --learner SP --rank 2 --out new": (
        "model/model.json: this must be a file of strings; got the model.json of a model "
        "that nlwfa wrote"
    ),
    "fit --train model/model.safetensors --learner SP --rank 2 --out new": (
        "model/model.safetensors: the file must be text saved as UTF-8; got a safetensors "
        "file (a model's arrays)"
    ),
    "fit --train true.model --learner SP --rank 2 --out new": "true.model: this must be a file of strings; got a "  # noqa: E501
    "PAutomaC model",
    "fit --train solution --learner SP --rank 2 --out new": "solution: this must be a file of strings; got a PAutomaC "  # noqa: E501
    "solution",
    "score --model model --test train --solution train": (
        "train: this must be a PAutomaC solution; got a PAutomaC file of strings"
    ),
    "score --model model --test train --solution true.model": "true.model: this must be a PAutomaC solution; got a "  # noqa: E501
    "PAutomaC model",
    "score --model model --test train --solution model/model.json": (
        "model/model.json: this must be a PAutomaC solution; got the model.json of a model "
        "that nlwfa wrote"
    ),
    "score --model model --test train --true-model train": (
        "train: this must be a PAutomaC model; got a PAutomaC file of strings"
    ),
    "score --model model --test train --solution solution": (
        "the solution gives the probabilities 0.2 and 0.3 to strings 1 and 2, which are equal, so "
        "the solution belongs to another file"
    ),
    "score --model model --test short.solution": "short.solution: this must be a file of strings; "
    "got a PAutomaC solution",
    "score --model model --test train --solution short.solution": (
        "the solution must have one probability per test string; got 2 for 6"
    ),
    "rank --model model --prefixes train --targets solution --out new": (
        "solution: this must be a SPiCe target file (the next symbols of prefixes); got a "
        "PAutomaC solution"
    ),
    "sweep train --out new": "train: a sweep must be a JSON file with base, learners, ranks, …; "
    "got a PAutomaC file "
    "of strings",
    "sweep model/model.json --out new": (
        "model/model.json: a sweep must be a JSON file with base, learners, ranks, …; got "
        "the model.json of a model that "
        "nlwfa wrote"
    ),
    "score --model model --test words": "words: string 1: symbol 'the' is not in the model's "
    "alphabet of 2 symbols: 0, 1",
    "fit --train counts --learner SP --rank 2 --out new": "counts: line 1: a count must be a "
    "whole number; got '1.5'",
    "fit --train three --learner SP --rank 2 --out new": (
        "three: a table of strings must have 2 columns, string and count; got 3 columns, "
        "separated by commas: 'the cat', '3', 'x': set --format csv and say which columns have the "
        "strings (--text-column) and counts (--count-column); if each line is an event of a case, "
        "set --format events; if these are the symbols of a string, write spaces between them; if "
        "these are lines of tokens, set --format tokens"
    ),
    "fit --train train --learner SP --rank 2 --format csv --out new": (
        "train: line 1: expected 2 columns, string and count; got 1 column"
    ),
    "fit-values --train counted --learner SP --rank 2 --out new": (
        "counted: the first line must be the header string,value, or a string and a finite "
        "number; got the columns 'sentence', "
        "'n': a column of values may also be called y, target, label, accepted, weight or "
        "probability"
    ),
    # Options
    "fit --train counted --learner SP --rank 2 --text-column sentence --out new": (
        "--text-column has no effect with --format auto; it needs --format csv, json or conll; "
        "for a table, write --format csv --text-column sentence"
    ),
    "next --model model --prefix 0 --prefix 1": "--prefix can be used only once; got it 2 times. "
    "See nlwfa next --help.",
    "generate dyck -n 3 -o new -n 4": "--num-strings can be used only once; got it 2 times. See "
    "nlwfa generate dyck --help.",
    "generate dyck -n 0 -o new": "--num-strings must be between 1 and 1,000,000; got 0",
    "sample --model model -n 0": "--num-strings must be between 1 and 1,000,000; got 0",
    "sample --model model --max-length 0": "--max-length must be between 1 and 10,000; got 0",
    "fit --preset best --learner SP --rank 7 --statistic string --train train --validation "
    "train --out new": (
        "--preset best chooses the learner, rank and options itself: leave out --learner, "
        "--rank, --statistic"
    ),
    "fit --preset best --minutes 0 --train train --out new": "minutes must be above 0; got 0",
    "fit --preset best --max-states 0 --train train --out new": "max-states must be at least 1; got 0",  # noqa: E501
    f"{FIT} --minutes 3": "--minutes is only for --preset",
    f"{FIT} --with-ngrams": "--with-ngrams is only for --preset",
    f"{FIT} --with-lstm": "--with-lstm is only for --preset",
    "compete chess --data .": "competition must be one of pautomac, spice; got 'chess'",
    "compete pautomac --data . --problems 1": (
        "a problem's files must be named N.pautomac.train, N.pautomac.test, "
        "N.pautomac_solution.txt; . and pautomac have none"
    ),
    f"{FIT} --validation train": (
        "--validation has no effect with --learner SP --refine none; it needs --refine "
        "likelihood, --starts or --preset best"
    ),
    f"{FIT} --dropout 0.1": "--dropout has no effect with --learner SP --refine none; it needs "
    "--refine likelihood",
    f"{FIT} --batch 9": "--batch has no effect with --learner SP --refine none; it needs --refine "
    "likelihood",
    f"{FIT} --restarts 2": "--restarts has no effect with --learner SP --refine none; it needs "
    "--refine likelihood",
    f"{FIT} --hidden 2,1,2": "--hidden has no effect with --learner SP; it needs --learner "
    "fac.non, tran.non or "
    "both.non",
    "fit --train train --learner SP --rank 2 --out model": (
        "model exists and holds a model, which --force replaces; otherwise choose another folder"
    ),
    "select-rank --train train "
    "--learner SP --ranks 2": "choose the rank with either --validation or --folds; got neither",
    "select-rank --train train --learner SP --ranks 2 --folds 1": (
        "folds must be between 2 and 6 (at most one for each string); got 1"
    ),
    "score --model model --test train --floor -1": "floor must be at least 0 (no floor) and below "
    "1; got -1.0",
    "score --model model --test train --against none": (
        "a model must be a folder that nlwfa wrote, or a file in it; none does not exist"
    ),
}
MODEL = (
    "I: (state)\n(0) 1\nF: (state)\n(0) 0.5\nS: (state,symbol)\n"
    "(0,0) 0.5\n(0,1) 0.5\nT: (state,symbol,state)\n(0,0,0) 1\n(0,1,0) 1\n"
)
FILES = {
    "true.model": MODEL,
    "solution": "6\n0.2\n0.3\n0.1\n0.2\n0.1\n0.2\n",
    "short.solution": "2\n0.25\n0.125\n",
    "words": "the cat\nthe dog\n",
    "counts": "the cat,1.5\nthe dog,2\nthe cat sat,1\nthe dog sat,1\n",
    "three": "the cat,3,x\nthe dog,2,y\na cat,2,z\n",
    "counted": "sentence,n\nthe cat,3\nthe dog,2\n",
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train").write_text("6 2\n2 0 1\n2 0 1\n4 0 0 1 1\n2 0 1\n4 0 1 0 1\n2 0 1\n")
    (tmp_path / "short").write_text("2 2\n2 0 1\n2 0\n")
    for name, file in (("notes", "a.txt"), ("foreign", "model.safetensors")):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text("mine")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    model = WFA([1.0], [[[0.25]], [[0.25]]], [0.5])
    save(model, tmp_path / "model", alphabet=Alphabet.numbered(2))
    return tmp_path


@pytest.mark.parametrize(("arguments", "message"), MESSAGES.items())
def test_a_wrong_command_line_gets_one_clear_sentence(
    place: Path, arguments: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted((path, path.read_bytes()) for path in place.rglob("*") if path.is_file())
    code = main(arguments.split())
    out, err = capsys.readouterr()
    *readings, error = err.replace(str(place), "PLACE").splitlines()
    assert (code, out, error) == (2, "", f"error: {message}") and all(
        ": read as " in line for line in readings
    )
    assert (
        sorted((path, path.read_bytes()) for path in place.rglob("*") if path.is_file()) == before
    )


SENTENCES = ("the dog ran", "the cat sat", "a big dog ran", "the cat ran")
READINGS = {
    "an index column": (
        ",string,count",
        "{row},{text},{count}",
        "csv",
        "strings in the column 'string', counts in 'count'; the first column only numbers the rows",
    ),
    "an index column without names": (
        "",
        "{row},{text},{count}",
        "csv",
        "the number after each line's last comma is its count; as the format tokens it would "
        "be text; the first column only "
        "numbers the rows",
    ),
    "semicolons": (
        "",
        "{text};{count}",
        "csv",
        "the number after each line's last semicolon is its count; as the format tokens it "
        "would be text",
    ),
    "tabs": (
        "",
        "{text}\t{count}",
        "csv",
        "the number after each line's last tab is its count; as the format tokens it would be text",
    ),
    "other names of columns": (
        "sentence,n",
        "{text},{count}",
        "csv",
        "strings in the column 'sentence', counts in 'n'",
    ),
    "lists in JSON": ("", '["{text}"]', "json", "each line a list of symbols"),
    "plain lines": ("", "{text}", "tokens", ""),
}


@pytest.mark.parametrize("name", READINGS)
def test_a_command_says_how_it_read_a_table(
    place: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table of strings and counts is never taken for lines of tokens: 7 words, and as many
    strings as the counts say.
    """
    header, form, format, detail = READINGS[name]
    lines = [form.format(row=row, text=text, count=row + 2) for row, text in enumerate(SENTENCES)]
    command = "fit --train table --learner SP --rank 1 --prefixes 10 --suffixes 10 --out new"
    if format == "json":
        lines = [line.replace(" ", '", "') for line in lines]
    (place / "table").write_text("\n".join([*filter(None, [header]), *lines]) + "\n")
    assert main(command.split()) == 0
    out, err = capsys.readouterr()
    assert (
        err == f"table: read as {format}: 7 symbols: a big cat dog ran sat "
        f"the{'; ' * bool(detail)}{detail}\n"
    )
    assert f"strings  {2 + 3 + 4 + 5 if format == 'csv' else 4}, 4 of them distinct" in out


FIELDS = (
    "base, learners, ranks, statistics, transforms, sample_sizes, seeds, num_seeds, new_strings"
)
SWEEPS = {
    '{"rank": [5]}': "unknown field 'rank'; did you mean ranks?",
    '{"depth": [5]}': "unknown field 'depth'; the fields are " + FIELDS,
    '{"base": {"learning": {"epochs": 5}}}': "unknown field 'base.learning.epochs'; the "
    "fields are learner, rank, objective, ridge, ",
    '{"base": {"data": {"num_string": 5}}}': "unknown field 'num_string'; did you mean "
    "num_strings?",
    '{"ranks": [0]}': "ranks.0 must be at least 1; got 0",
    '{"ranks": "2-20"}': "ranks must be a list; got '2-20'",
    "[1]": "a sweep must be a JSON object with base, learners, ranks, …; got a list",
    '{"learners": ["SP"], "base": {"learning": {"hidden": [4, 1, 4], "width_transitions": 3}}}': (
        "base.learning.hidden, base.learning.width_transitions: no run of this sweep uses them; "
        "they need learner fac.non, tran.non or both.non"
    ),
    '{"learners": ["SP", "GRU"], "base": {"learning": {"dropout": 0.5}}}': (
        "base.learning.dropout: no run of this sweep uses it; it needs "
        "base.learning.refine likelihood"
    ),
    '{"learners": ["HMM"], "statistics": ["prefix", "factor"]}': (
        "statistics: no run of this sweep uses it; it needs learner SP, fac.non, tran.non or "
        "both.non"
    ),
    '{"learners": ["SP"], "seeds": [0, 1]}': (
        "seeds: no run of this sweep uses it; it needs learner fac.non, tran.non, both.non, "
        "HMM, PFA, GRU or LSTM"
    ),
    '{"base": {"data": {"source": "tomita", "wrap_probability": 0.3}}}': (
        "base.data.wrap_probability has no effect with source tomita; it needs source dyck"
    ),
}


@pytest.mark.parametrize(("text", "message"), SWEEPS.items())
def test_a_wrong_sweep_gets_one_clear_sentence(
    place: Path, text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "s.json").write_text(text)
    assert main(["sweep", "s.json", "--out", "home"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(f"error: s.json: {message}") and err.count("\n") == 1
    assert not (place / "home").exists()


def test_a_sweep_may_hold_what_only_some_of_its_runs_use_and_what_is_the_default(
    place: Path,
) -> None:
    """A whole recipe, as the lab writes it, is a base too."""
    from nlwfa_core.experiment.recipe import Recipe
    from nlwfa_core.experiment.sweeps import Grid

    hidden = {"learning": {"hidden": [4, 1, 4]}}
    assert (
        len(
            Grid.from_json(
                json.dumps(
                    {"base": hidden, "learners": ["SP", "fac.non"], "seeds": [0, 1]}
                ).encode()
            ).recipes()
        )
        == 3
    )
    assert (
        len(
            Grid.from_json(
                json.dumps({"base": json.loads(Recipe().to_json()), "ranks": [1, 2]}).encode()
            ).recipes()
        )
        == 2
    )
    assert (
        len(Grid.from_json(b'{"ranks": [1], "seeds": [0, 1], "new_strings": true}').recipes()) == 2
    )


def test_a_rate_over_no_symbols_is_undefined(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All test strings are empty."""
    (place / "empty").write_text("3 2\n0\n0\n0\n")
    command = "score --model model --test empty --format pautomac"
    assert main(command.split()) == 0
    assert "undefined without" in capsys.readouterr().out
    assert main([*command.split(), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["wer_without_end"] == "nan"
