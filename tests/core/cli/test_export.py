"""Models for other programs: `export`, `sample` and `score --true-model`; and files, which are
never replaced unasked.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nlwfa_core.cli.main import main
from nlwfa_core.display.graph import dot
from nlwfa_core.errors import RecipeError
from nlwfa_core.export.automaton_formats import openfst, pautomac, weights_json
from nlwfa_core.export.tikz import tikz
from nlwfa_core.files import plain
from nlwfa_core.models.model_files import load, save
from nlwfa_core.models.recurrent import RecurrentModel
from nlwfa_core.models.sampling import draw
from nlwfa_core.models.wfa import WFA
from nlwfa_core.sources.jflap import read_jflap
from nlwfa_core.sources.pautomac import read_pautomac_model
from nlwfa_core.sources.string_files import read_strings
from nlwfa_core.strings.words import Alphabet
from tests.core.sources.test_jflap import ENDS_IN_01

Run = Callable[..., tuple[int, str, str]]
# State 0 stops with 1/2, else it writes 0 and goes to state 1; that stops with 1/4, else it writes
# 1 and goes back.
TWO = WFA(
    np.array([1.0, 0.0]), np.array([[[0, 0.5], [0, 0]], [[0, 0], [0.75, 0]]]), np.array([0.5, 0.25])
)
SYMBOLS = (Alphabet.numbered(2), Alphabet(("run", "stop")))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    for name, alphabet in zip(("two", "tokens"), SYMBOLS, strict=True):
        save(TWO, tmp_path / name, alphabet=alphabet)

    def run_(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run_


def test_a_linear_model_is_written_for_other_programs(run: Run, tmp_path: Path) -> None:
    texts = {
        "dot": dot(TWO, SYMBOLS[0].symbols),
        "tikz": tikz(TWO, SYMBOLS[0].symbols),
        "json": weights_json(TWO, SYMBOLS[0]),
        "pautomac": pautomac(TWO),
        "openfst": openfst(TWO),
    }
    for to, text in texts.items():
        assert run("export", "--model", "two", "--to", to) == (0, text, "")
        assert run("export", "--model", "two/model.json", "--to", to, "-o", f"a.{to}")[:2] == (
            0,
            f"2 states, 2 symbols, written to a.{to}\n",
        )
        assert (tmp_path / f"a.{to}").read_text() == text
    again = read_pautomac_model((tmp_path / "a.pautomac").read_bytes())
    np.testing.assert_allclose(again.transitions, TWO.transitions, rtol=1e-15)


def test_what_is_exported_is_imported_again(run: Run, tmp_path: Path) -> None:
    assert (
        run("export", "--model", "tokens", "--to", "openfst", "-o", "a.txt", "--symbols", "a.syms")[
            0
        ]
        == 0
    )
    for to in ("json", "pautomac"):
        assert run("export", "--model", "tokens", "--to", to, "-o", f"a.{to}")[0] == 0
    cases = (("a.txt", "--symbols", "a.syms"), ("a.json",), ("a.pautomac",))
    for number, (arguments, kind) in enumerate(
        zip(cases, ("openfst", "json", "pautomac"), strict=True)
    ):
        answer = run("import", *arguments, "--out", f"m{number}")
        assert answer == (0, f"read as {kind}: 2 states, 2 symbols, written to m{number}\n", "")
        saved = load(tmp_path / f"m{number}")
        assert saved.alphabet == (SYMBOLS[0] if kind == "pautomac" else SYMBOLS[1])
        np.testing.assert_allclose(saved.transitions, TWO.transitions, rtol=1e-14)
    (tmp_path / "test.txt").write_text("run stop\nrun\n\n")
    assert run("score", "--model", "a.json", "--test", "test.txt") == run(
        "score", "--model", "tokens", "--test", "test.txt"
    )
    for arguments, message in (
        (
            ("a.json", "--semiring", "real"),
            "--semiring has no effect with a file read as json; it needs openfst",
        ),
        (("a.txt", "--labels", "names"), "--labels names needs the symbol table: --symbols"),
        (("test.txt",), "test.txt: line 1: a weight must be"),
        (
            ("a.txt", "--from", "xml"),
            "--from must be one of auto, json, openfst, pautomac, jflap; got 'xml'",
        ),
    ):
        code, out, err = run("import", *arguments, "--out", "no")
        assert (code, out) == (2, "") and message in err and not (tmp_path / "no").exists()
    assert "m0 exists and holds a model" in run("import", "a.json", "--out", "m0")[2]


def test_an_automaton_of_jflap_comes_in_and_goes_out(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.jff").write_text(ENDS_IN_01)
    code, out, err = run("import", "a.jff", "--out", "ends")
    assert (code, out) == (0, "read as jflap: 3 states, 2 symbols, written to ends\n")
    assert "the number of its accepting runs" in err
    code, out, _ = run("export", "--model", "ends", "--to", "jflap")
    assert code == 0
    np.testing.assert_array_equal(
        read_jflap(out.encode()).transitions, read_jflap(ENDS_IN_01.encode()).transitions
    )
    code, _, err = run("export", "--model", "two", "--to", "jflap")
    assert code == 2 and "all weights must be 0 or 1" in err


def test_what_can_not_be_expressed_is_refused(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    shapes = ((3, 6), (2, 6), (6,), (2, 3), (3,))
    save(
        RecurrentModel("GRU", *(rng.normal(size=shape) for shape in shapes)),
        tmp_path / "gru",
        alphabet=SYMBOLS[0],
    )
    code, out, err = run("export", "--model", "gru", "--to", "json")
    assert (code, out) == (
        2,
        "",
    ) and "needs a linear model, such as SP, HMM, PFA or PDFA; the model in gru is a network" in err
    save(
        WFA(TWO.initial, -TWO.transitions, TWO.termination),
        tmp_path / "negative",
        alphabet=SYMBOLS[0],
    )
    code, out, err = run("export", "--model", "negative", "--to", "pautomac", "-o", "n")
    assert code == 2 and "Not a probabilistic automaton" in err and not (tmp_path / "n").exists()


@pytest.mark.parametrize(("name", "alphabet"), [("two", SYMBOLS[0]), ("tokens", SYMBOLS[1])])
def test_strings_drawn_from_a_model_are_read_back(
    run: Run, tmp_path: Path, name: str, alphabet: Alphabet
) -> None:
    code, out, err = run("sample", "--model", name, "-n", 300, "--seed", 4)
    assert (code, err) == (0, "")
    assert run("sample", "--model", name, "-n", 300, "--seed", 4, "-o", "drawn.csv")[0] == 0
    assert (tmp_path / "drawn.csv").read_text() == out and run(
        "sample", "--model", name, "-n", 300, "--seed", 5
    )[1] != out
    drawn = draw(TWO, 300, seed=4)
    header, *rows = csv.reader(out.splitlines())
    assert header == ["tokens" if alphabet.separator else "characters", "count"]
    assert [(alphabet.encode(word), int(count)) for word, count in rows] == list(
        zip(drawn.words, drawn.counts, strict=True)
    )
    back = read_strings((tmp_path / "drawn.csv").read_bytes(), alphabet=alphabet).sample()
    assert dict(zip(back.words, back.counts.tolist(), strict=True)) == dict(
        zip(drawn.words, drawn.counts.tolist(), strict=True)
    )
    code, out, _ = run("score", "--model", name, "--test", "drawn.csv", "--json")
    assert code == 0 and json.loads(out)["num_words"] == len(drawn.words)


def test_strings_that_do_not_end_are_counted(run: Run) -> None:
    code, _, err = run("sample", "--model", "two", "-n", 200, "--max-length", 1)
    assert code == 0 and "strings reached 1 symbols without ending and were left out" in err
    assert run("sample", "--model", "two", "-n", 0)[0] == 2


def test_scores_against_a_true_model_are_those_against_its_probabilities(
    run: Run, tmp_path: Path
) -> None:
    """The truth scored against itself has no divergence; a PAutomaC solution beside it gives the
    target.
    """
    (tmp_path / "true").write_text(pautomac(TWO))
    (tmp_path / "test").write_text("4 2\n0\n1 0\n2 0 1\n0\n")
    weights = [0.5, 0.125, 0.1875, 0.5]  # f(λ) = 1/2, f(0) = 1/2 · 1/4, f(01) = 1/2 · 3/4 · 1/2
    assert TWO.weights(read_strings((tmp_path / "test").read_bytes()).words).tolist() == weights
    code, out, _ = run(
        "score", "--model", "two", "--test", "test", "--true-model", "true", "--json"
    )
    scores = json.loads(out)
    total = sum(weights)
    entropy = -sum(weight / total * np.log2(weight / total) for weight in weights)
    assert (
        code == 0
        and scores["true_log2_pauto"] == pytest.approx(entropy)
        and scores["log2_pauto"] == pytest.approx(entropy)
    )
    assert scores["kl"] == pytest.approx(0, abs=1e-12) and scores["next_kl"] == pytest.approx(
        0, abs=1e-12
    )
    assert scores["ndcg5_true"] == pytest.approx(1) and scores["rmse"] == pytest.approx(
        0, abs=1e-12
    )
    (tmp_path / "solution").write_text("4\n" + "".join(f"{weight!r}\n" for weight in weights))
    both = run(
        "score",
        "--model",
        "two",
        "--test",
        "test",
        "--true-model",
        "true",
        "--solution",
        "solution",
        "--json",
    )
    again = json.loads(both[1])
    assert again["resamples"] == 1999
    assert again.pop("intervals").keys() == scores.pop(
        "intervals"
    ).keys() and again == pytest.approx(scores)
    assert (
        plain(json.loads(run("score", "--model", "two", "--test", "test", "--json")[1]))["next_kl"]
        is None
    )
    code, _, err = run("score", "--model", "tokens", "--test", "test.csv", "--true-model", "true")
    assert code == 2
    (tmp_path / "test.csv").write_text("tokens,count\nrun,2\nrun stop,1\n")
    code, _, err = run("score", "--model", "tokens", "--test", "test.csv", "--true-model", "true")
    assert (
        code == 2
        and "a PAutomaC model's symbols are numbers from 0; the model's alphabet has 2 symbols: "
        "run, stop"
        in err
    )


FIT = "fit --train train --learner SP --rank 1 --prefixes 3 --suffixes 3 --out"


def test_nothing_is_replaced_without_force(run: Run, tmp_path: Path) -> None:
    assert run("generate", "dyck", "-n", 30, "-o", "train")[0] == 0
    before = (tmp_path / "train").read_bytes()
    assert (
        run("generate", "dyck", "-n", 40, "-o", "train")[0] == 2
        and (tmp_path / "train").read_bytes() == before
    )
    assert (
        run("generate", "dyck", "-n", 40, "-o", "train", "--force")[0] == 0
        and (tmp_path / "train").read_bytes() != before
    )
    (tmp_path / "empty").mkdir()
    assert run(*FIT.split(), "empty")[0] == 0  # an empty folder holds nothing to lose
    model = (tmp_path / "empty" / "model.json").read_bytes()
    (tmp_path / "empty" / "notes.txt").write_text("mine")
    code, _, err = run(*FIT.split(), "empty")
    assert code == 2 and "empty exists and holds a model, which --force replaces" in err
    assert (tmp_path / "empty" / "model.json").read_bytes() == model
    assert run(*FIT.replace("--rank 1", "--rank 2").split(), "empty", "--force")[0] == 0
    assert (tmp_path / "empty" / "model.json").read_bytes() != model
    assert (tmp_path / "empty" / "notes.txt").read_text() == "mine"
    (tmp_path / "values.csv").write_text("ab,1\nb,2\na,1\n")
    values = (
        "fit-values",
        "--train",
        "values.csv",
        "--learner",
        "SP",
        "--rank",
        1,
        "--out",
        "empty",
    )
    assert run(*values)[0] == 2 and run(*values, "--force")[0] == 0
    assert load(tmp_path / "empty").alphabet.symbols == ("a", "b")
    for arguments in (("export", "--model", "two", "--to", "dot"), ("sample", "--model", "two")):
        assert (
            run(*arguments, "-o", "train")[0] == 2
            and run(*arguments, "-o", "train", "--force")[0] == 0
        )


def test_a_folder_of_other_programs_is_never_touched(run: Run, tmp_path: Path) -> None:
    assert run("generate", "dyck", "-n", 30, "-o", "train")[0] == 0
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "model.safetensors").write_bytes(b"weights of another program")
    for options in ((), ("--force",)):
        code, _, err = run(*FIT.split(), "theirs", *options)
        assert code == 2 and "nlwfa did not write its model.safetensors" in err
    assert [path.name for path in (tmp_path / "theirs").iterdir()] == ["model.safetensors"]
    assert (tmp_path / "theirs" / "model.safetensors").read_bytes() == b"weights of another program"


def test_named_strings_are_scored_against_a_true_automaton(run: Run, tmp_path: Path) -> None:
    """A folder or JSON, whose symbols may come in another order."""
    (tmp_path / "test.txt").write_text("run stop\nrun\nrun stop run\n")
    turned = WFA(TWO.initial, TWO.transitions[::-1], TWO.termination)
    save(turned, tmp_path / "turned", alphabet=Alphabet(("stop", "run")))
    (tmp_path / "turned.json").write_text(weights_json(turned, Alphabet(("stop", "run"))))
    for truth in ("tokens", "turned", "turned.json"):
        code, out, err = run(
            "score", "--model", "tokens", "--test", "test.txt", "--true-model", truth, "--json"
        )
        scores = json.loads(out)
        assert (
            code == 0
            and scores["kl"] == scores["next_kl"] == 0
            and "read as an automaton: 2 states, 2 symbols" in err
        )
    save(TWO, tmp_path / "other", alphabet=Alphabet(("run", "go")))
    code, _, err = run("score", "--model", "tokens", "--test", "test.txt", "--true-model", "other")
    assert (
        code == 2
        and "must have the symbols of the alphabet, 2 symbols: run, stop; got 2 symbols: run, go"
        in err
    )


def test_symbols_that_text_can_not_hold_are_not_written(run: Run, tmp_path: Path) -> None:
    save(TWO, tmp_path / "lambda", alphabet=Alphabet(("λ", "pay")))
    code, out, err = run("sample", "--model", "lambda")
    assert (code, out) == (2, "") and "can't be written as text if 'λ' is one of" in err


@pytest.mark.parametrize("symbol", ["", "log in", "a\nb", "a\u2003b", " b", "pay\t"])
def test_symbols_that_files_can_not_have_are_refused_in_models(
    run: Run, tmp_path: Path, symbol: str
) -> None:
    with pytest.raises(RecipeError, match="a symbol must "):
        save(TWO, tmp_path / "m", alphabet=Alphabet((symbol, "pay")))
    automaton = {
        "symbols": [symbol, "pay"],
        "initial": [1],
        "transitions": [[[0]], [[0.5]]],
        "termination": [0.5],
    }
    (tmp_path / "m.json").write_text(json.dumps(automaton))
    for arguments in (
        ("import", "m.json", "--out", "new"),
        ("next", "--model", "m.json", "--prefix", "pay"),
    ):
        code, out, err = run(*arguments)
        assert (code, out) == (2, "") and "m.json: a symbol must " in err
    assert not (tmp_path / "new").exists()


def test_scores_that_are_not_numbers_are_shown_as_such(run: Run, tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(
        '{"symbols":["a"],"initial":[1.0],"transitions":[[[1.0]]],"termination":[0.2]}'
    )
    code, out, _ = run("next", "--model", "one.json", "--prefix", "a")
    assert code == 0 and ["a", "undefined", "undefined"] in [
        line.split() for line in out.splitlines()
    ]
