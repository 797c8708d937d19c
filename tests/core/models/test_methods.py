"""What every model can do at a Python prompt."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from typing import Any

import numpy as np
import pytest

from nlwfa_core import NLWFA, WFA, Alphabet, DataRecipe, NGram, RecipeError, Words, load_data
from nlwfa_core.models.ngram import Uniform
from nlwfa_core.models.recurrent import RecurrentModel

AB = Alphabet(("a", "b"))
# From the first state: a 0.25 to itself, b 0.25 to the second; from the second: a 0.5 to itself.
AUTOMATON = WFA([1, 0], [[[0.25, 0], [0, 0.5]], [[0, 0.25], [0, 0]]], [0.5, 0.5], AB)
rng = np.random.default_rng(0)
MODELS = {
    "WFA": AUTOMATON,
    "NLWFA": NLWFA(
        np.array([0.5]),
        (np.array([[[0.5]], [[0.25]]]),),
        (),
        np.array([[0.5, 0.5]]),
        True,
        False,
        alphabet=AB,
    ),
    "n-gram": NGram.fit(["ab", "b"], 2),
    "uniform": Uniform(2),
    "GRU": RecurrentModel(
        "GRU",
        inputs=rng.normal(size=(3, 6)),
        recurrent=rng.normal(size=(2, 6)),
        recurrent_bias=np.zeros(6),
        output=rng.normal(size=(2, 3)),
        output_bias=np.zeros(3),
        alphabet=AB,
    ),
}


def test_a_model_is_a_function_of_strings() -> None:
    """By hand: f(ab) = 0.25 · 0.25 · 0.5."""
    assert AUTOMATON("ab") == AUTOMATON((0, 1)) == AUTOMATON(("a", "b")) == 0.25 * 0.25 * 0.5
    assert AUTOMATON(["", "b", "ba"]).tolist() == [0.5, 0.125, 0.0625]
    assert AUTOMATON([(), [1], [1, 0]]).tolist() == [0.5, 0.125, 0.0625]
    assert AUTOMATON(Words.of([(1,)])).tolist() == [0.125]
    with pytest.raises(RecipeError, match="symbol 'c' is not in the alphabet"):
        AUTOMATON("c")
    with pytest.raises(TypeError, match="need an alphabet"):
        Uniform(2)("a")


def test_what_may_follow_is_named() -> None:
    assert AUTOMATON.next() == AUTOMATON.next("") == {"a": 0.25, "b": 0.25, "end": 0.5}
    assert AUTOMATON.next("ab") == {"a": 0.5, "b": 0.0, "end": 0.5}
    assert Uniform(1).next((0, 0)) == {"0": 0.5, "end": 0.5}
    with pytest.raises(RecipeError, match="a symbol 'end'"):
        WFA([1], [[[0]]], [1], Alphabet(("end",))).next()


@pytest.mark.parametrize("name", MODELS)
def test_all_models_have_the_same_methods(name: str) -> None:
    model: Any = MODELS[name]
    assert model((0, 1)) == model.weights(Words.of([(0, 1)]))[0]
    assert sum(model.next((0,)).values()) == pytest.approx(1)
    sample = model.sample(50, seed=3, max_length=2000)
    assert sample.num_strings == 50
    assert "2 symbols" in model._repr_html_()


def test_as_many_strings_as_one_likes_follow_the_model() -> None:
    """20,000 strings: each frequency is within five standard errors of its probability."""
    sample = AUTOMATON.sample(20_000, seed=1)
    assert sample.num_strings == 20_000 and sample.alphabet == AB
    probabilities = AUTOMATON.weights(sample.words)
    errors = np.sqrt(probabilities * (1 - probabilities) / 20_000)
    assert (np.abs(sample.frequencies() - probabilities) < 5 * errors + 1e-4).all()
    assert list(AUTOMATON.sample(100, seed=1).words) == list(AUTOMATON.sample(100, seed=1).words)


def test_a_sample_is_whole_or_there_is_none() -> None:
    with pytest.raises(RecipeError, match=r"of 100 strings did not end within 1 symbols"):
        AUTOMATON.sample(100, max_length=1)
    with pytest.raises(RecipeError, match="the score 0"):
        WFA([0], [[[0]]], [0]).sample(1)


def test_a_model_in_a_notebook_is_escaped() -> None:
    html = WFA([1], [[[0.5]]], [0.5], Alphabet(("<b>",)))._repr_html_()
    assert "A &lt;b&gt;" in html and "<b>" not in html and "1 state, 1 symbol" in html


def test_a_model_is_a_line_in_print() -> None:
    assert repr(AUTOMATON) == "<WFA, 2 states, 2 symbols: a, b>"
    assert repr(MODELS["n-gram"]) == "<NGram of order 2, 2 symbols: a, b>"
    many = WFA([1], np.zeros((1_000, 1, 1)), [1])
    assert repr(many) == "<WFA, 1 state, 1,000 symbols: known by their numbers>"
    assert all(repr(model).count("\n") == 0 for model in MODELS.values())


def test_the_grammar_of_brackets_is_a_model() -> None:
    """By hand, with S → SS | [S] | [] of 0.2, 0.4, 0.4: P([]) = 0.4, P([[]]) = 0.4 · 0.4, and
    P([][]) = 0.2 · 0.4². After [ comes ] in 0.4 / (0.4 + 0.4) of all cases.
    """
    truth = load_data(DataRecipe(num_strings=10, num_test=10)).true_model
    assert truth is not None and truth("[]") == pytest.approx(0.4)
    assert truth(["[[]]", "[][]", "]"]).tolist() == pytest.approx([0.16, 0.032, 0])
    assert truth.next("[") == pytest.approx({"[": 0.5, "]": 0.5, "end": 0})
    sample = truth.sample(2_000, seed=1)
    assert sample.num_strings == 2_000 and sample.alphabet.symbols == ("[", "]")
    share = list(sample).count("[]") / 2_000
    assert share == pytest.approx(0.4, abs=5 * (0.24 / 2_000) ** 0.5)
    assert list(truth.sample(50, seed=2)) == list(truth.sample(50, seed=2))


@pytest.mark.parametrize(
    "fields",
    [
        {"source": "tomita"},
        {"source": "automaton", "num_states": 2},
        {"source": "squared", "num_states": 2},
    ],
    ids=lambda fields: fields["source"],
)
def test_every_true_model_speaks_its_symbols(fields: dict[str, Any]) -> None:
    data = load_data(DataRecipe(num_strings=20, num_test=10, **fields))
    first = next(iter(data.train))
    assert data.true_model is not None and data.true_model(first) > 0
    assert data.true_model.sample(5).alphabet == data.alphabet
    assert set(data.true_model.next()) == {*data.alphabet, "end"}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_models_do_not_change(model: Any) -> None:
    """What they have computed once, such as sums of weights, is kept."""
    for field in fields(model):
        with pytest.raises(FrozenInstanceError):
            setattr(model, field.name, None)
