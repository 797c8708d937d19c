"""What every model can do at a Python prompt."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nlwfa_core import NLWFA, WFA, Alphabet, NGram, RecipeError, Words
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
