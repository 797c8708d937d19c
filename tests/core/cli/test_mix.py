"""`nlwfa mix`: folders of models in, the folder of a mixture out, which every other command
takes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nlwfa_core.cli.main import main
from nlwfa_core.models.mixture import Mixture, fit_mixture
from nlwfa_core.models.model_files import load, load_info, save
from nlwfa_core.models.ngram import NGram
from nlwfa_core.models.recurrent import GATES, RecurrentModel
from nlwfa_core.models.wfa import WFA
from nlwfa_core.sources.string_files import read_strings
from nlwfa_core.strings.words import Alphabet, Words

AB = Alphabet(("a", "b"))
COIN = WFA([1.0], [[[0.3]], [[0.5]]], [0.2])
OTHER = WFA([1.0], [[[0.6]], [[0.1]]], [0.3])
STRINGS = "aaaaa\nbbbb\naaaa\nbbb\naab\nabb\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "strings").write_text(STRINGS)
    (tmp_path / "unknown").write_text("abc\n")
    normal = np.random.default_rng(0).normal
    wide = 2 * GATES["GRU"]
    gru = RecurrentModel(
        "GRU", *(normal(size=shape) for shape in ((3, wide), (2, wide), (wide,), (2, 3), (3,)))
    )
    for name, model, alphabet in (
        ("coin", COIN, AB),
        ("other", OTHER, AB),
        ("gru", gru, AB),
        ("ba", COIN, Alphabet(("b", "a"))),
    ):
        save(model, tmp_path / name, {"name": name}, alphabet=alphabet)
    return tmp_path


def call(line: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(line.split())
    out, err = capsys.readouterr()
    return code, out, err


def test_linear_models_become_one_linear_model(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = call("mix coin other --validation strings --out both", capsys)
    assert code == 0, err
    saved = load(folder / "both")
    expected, weights = fit_mixture(
        [COIN, OTHER], read_strings(STRINGS.encode(), alphabet=AB).sample()
    )
    assert isinstance(saved, WFA) and isinstance(expected, WFA)
    assert (saved.initial == expected.initial).all() and (
        saved.transitions == expected.transitions
    ).all()
    parts = load_info(folder / "both")["mixture"]
    assert [part["weight"] for part in parts] == weights.tolist()
    assert [part["info"] for part in parts] == [{"name": "coin"}, {"name": "other"}]
    lines = out.splitlines()
    assert lines[1].split() == ["model", "weight", "bits", "/", "symbol"] and lines[2].startswith(
        f"coin     {weights[0]:.4f}"
    )
    assert lines[4].startswith("mixture ") and lines[5] == "mixture of 2 models, 2 states"
    assert float(lines[4].split()[-1]) <= min(float(line.split()[-1]) for line in lines[2:4])
    assert call("export --model both --to json", capsys)[0] == 0
    code, out, err = call("mix coin other --out equal", capsys)
    assert code == 0 and out.splitlines()[1] == "coin   0.5000"
    assert np.asarray(
        load(folder / "equal").weights(Words.of([(), (0,), (1,)]))
    ).tolist() == pytest.approx([0.25, 0.12, 0.065])
    assert call("mix coin other --out equal", capsys)[2].endswith(
        "otherwise choose another folder\n"
    )


def test_an_n_gram_is_scored_ranked_mixed_and_drawn_from(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = NGram.fit(read_strings(STRINGS.encode()).sample(), 3, "kneser-ney")
    save(model, folder / "counted", alphabet=AB)
    for line in (
        "score --model counted --test strings --resamples 40",
        "compare counted coin --test strings --resamples 40",
        "next --model counted --prefix ab",
        "rank --model counted --prefixes strings",
        "sample --model counted -n 5",
        "mix coin counted --out both",
    ):
        code, out, err = call(line, capsys)
        assert code == 0 and out, err
    printed = call("weights --model counted --words strings", capsys)[1].split()
    words = Words.of([AB.encode(line) for line in STRINGS.split()])
    assert [float(weight) for weight in printed] == model.weights(words).tolist()
    both = load(folder / "both")
    np.testing.assert_allclose(
        both.weights(words), (model.weights(words) + COIN.weights(words)) / 2, rtol=1e-12
    )
    code, _, err = call("export --model counted --to json", capsys)
    assert code == 2 and "the model in counted is an n-gram" in err


def test_a_mixture_with_a_network_is_scored_ranked_and_drawn_from(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("mix coin gru --out both", capsys)[0] == 0
    assert isinstance(load(folder / "both"), Mixture)
    for line in (
        "score --model both --test strings --resamples 40",
        "weights --model both --words strings",
        "next --model both --prefix ab",
        "rank --model both --prefixes strings",
        "sample --model both -n 5",
        "mix both other --out three",
    ):
        code, out, err = call(line, capsys)
        assert code == 0 and out, err
    assert len(load(folder / "three").models) == 3  # type: ignore[union-attr]
    code, _, err = call("export --model both --to json", capsys)
    assert code == 2 and "the model in both is a mixture with a model that is not linear" in err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("mix coin --out new", "a mixture needs at least two models; got only coin"),
        ("mix coin none --out new", "none does not exist"),
        (
            "mix coin ba --out new",
            "the models must have the same symbols in the same order; coin has",
        ),
        (
            "mix coin other --validation unknown --out new",
            "unknown: string 1: symbol 'c' is not in the model's alphabet",
        ),
        (
            "mix coin other --format csv --out new",
            "--format has no effect with no --validation; it needs --validation",
        ),
    ],
)
def test_what_can_not_be_mixed_is_refused(
    line: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = call(line, capsys)
    assert (code, out) == (2, "") and message in err and not (folder / "new").exists()
