"""Numbers of symbols mean something only with their alphabet: other strings are compared symbol by
symbol, or refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core.errors import RecipeError
from nlwfa_core.experiment.recipe import Recipe
from nlwfa_core.hankel.basis import Basis, select_basis
from nlwfa_core.hankel.boundary import bounded_sample
from nlwfa_core.hankel.estimate import estimate_hankel
from nlwfa_core.hankel.recipe import HankelRecipe
from nlwfa_core.learning.fitting import fit
from nlwfa_core.learning.functions.fit_values import fit_values
from nlwfa_core.learning.learners import options
from nlwfa_core.metrics.evaluate import evaluate, next_symbol_score
from nlwfa_core.metrics.testset import TestSet
from nlwfa_core.models.model import alphabet_of
from nlwfa_core.models.ngram import NGram, Uniform
from nlwfa_core.models.recurrent import RecurrentModel
from nlwfa_core.models.sampling import draw
from nlwfa_core.models.wfa import WFA
from nlwfa_core.search.rank_selection import select_rank
from nlwfa_core.sources.dyck import Dyck
from nlwfa_core.sources.pautomac import read_pautomac_model
from nlwfa_core.sources.string_files import read_strings
from nlwfa_core.sources.value_files import read_values
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import Alphabet, Words
from tests.references import random_nlwfa

ABCD = Alphabet(("a", "b", "c", "d"))
# f(x) is the product of ¼, 1/16, 1/8 and 1/16 for a, b, c and d, times ½ for the end.
ABCD_MODEL = WFA(
    np.ones(1), np.array([1 / 4, 1 / 16, 1 / 8, 1 / 16]).reshape(4, 1, 1), np.array([1 / 2]), ABCD
)
TRAIN = read_strings(b"abca\ndab\na\nb\nccd\nabab\n\nca\n").sample()
# lacks b and d: read on its own, c has the number that b has among the training strings
TEST = b"a\nc\nac\n"
UNKNOWN = b"a\nxc\nb\ny\n"


def own(data: bytes) -> Sample:
    return read_strings(data).sample()


def beside(data: bytes) -> Sample:
    return read_strings(data, alphabet=TRAIN.alphabet).sample()


def test_a_test_file_that_lacks_a_symbol_by_hand() -> None:
    """f(a) = 1/8, f(c) = 1/16: normalised 2/3 and 1/3, each with P* = 1/2.

    Were c taken for b, they would be 4/5 and 1/5.
    """
    test = TestSet.empirical(own(b"a\nc\n"))
    assert test.alphabet.symbols == ("a", "c")
    scores = evaluate(ABCD_MODEL, test)
    # 1.085, not 1.322
    assert scores.log2_pauto == pytest.approx(-0.5 * np.log2(2 / 3 * 1 / 3), abs=1e-14)
    # After λ: a ¼, c 1/8, the end ½; after a and c the end, ½. All over 1.
    assert scores.bits_per_symbol == pytest.approx((2 + 3 + 1 + 1) / 4, abs=1e-14)  # not 2
    assert ABCD_MODEL.weights(read_strings(b"a\nc\n").words).tolist() == [1 / 8, 1 / 16]
    assert ABCD_MODEL.weights(test.words).tolist() == [1 / 8, 1 / 16]
    # numbers alone are numbers
    assert ABCD_MODEL.weights(Words.of([(0,), (1,)])).tolist() == [1 / 8, 1 / 32]


def hankel_of(sample: Sample, statistic: str = "string") -> Any:
    return estimate_hankel(sample, select_basis(TRAIN, 8, 8), statistic)


SHAPES = ((5, 6), (2, 6), (6,), (2, 5), (5,))
GRU = RecurrentModel(
    "GRU", *(np.random.default_rng(0).normal(size=shape) for shape in SHAPES), alphabet=ABCD
)
QUICK: dict[str, Any] = {"epochs_factorisation": 2, "epochs_transitions": 2}
LIKELIHOOD: dict[str, Any] = {"refine": "likelihood", "epochs_refinement": 2, "batch": 4}
RECIPE = Recipe(
    hankel=HankelRecipe(num_prefixes=8, num_suffixes=8),
    learning=options("SP", rank=2),
)
# Each takes strings of another alphabet and returns numbers.
USES: dict[str, Callable[[Sample], Any]] = {
    "evaluate, a learned WFA": lambda test: evaluate(
        fit(hankel_of(TRAIN), "SP", 2).model, TestSet.empirical(test)
    ),
    "evaluate, an NL-WFA": lambda test: evaluate(
        replace(random_nlwfa(2, 4, 0), alphabet=ABCD), TestSet.empirical(test)
    ),
    "evaluate, an n-gram": lambda test: evaluate(NGram.fit(TRAIN, 3), TestSet.empirical(test)),
    "evaluate, a GRU": lambda test: evaluate(GRU, TestSet.empirical(test)),
    "evaluate, a true model": lambda test: evaluate(
        NGram.fit(TRAIN, 2),
        TestSet.as_drawn(test.words, np.ones(len(test.words)), test, ABCD_MODEL),
    ),
    "evaluate, only the true model has an alphabet": lambda test: evaluate(
        Uniform(4), TestSet.as_drawn(test.words, np.ones(len(test.words)), test, ABCD_MODEL)
    ),
    "next_symbol_score": lambda test: next_symbol_score(NGram.fit(TRAIN, 3), test),
    "weights": lambda test: NGram.fit(TRAIN, 3).weights(test.words).tolist(),
    "log2_weights": lambda test: NGram.fit(TRAIN, 3).log2_weights(test.words).tolist(),
    "weights of an NL-WFA": lambda test: (
        replace(random_nlwfa(2, 4, 0), alphabet=ABCD).weights(test.words).tolist()
    ),
    "estimate_hankel": lambda test: (
        estimate_hankel(test, select_basis(TRAIN, 8, 8)).matrix.toarray().tolist()
    ),
    "select_rank": lambda test: select_rank(TRAIN, TestSet.empirical(test), [1, 2], RECIPE).scores,
    "select_rank, refined": lambda test: (
        select_rank(
            TRAIN,
            TestSet.empirical(test),
            [1],
            RECIPE.with_learner("SP", **LIKELIHOOD),
        ).scores
    ),
    "fit, validation strings": lambda test: (
        fit(hankel_of(TRAIN), "SP", 2, strings=TRAIN, validation=test, **LIKELIHOOD)
        .report.logs[-1]
        .losses.tolist()
    ),
    "fit, training strings": lambda test: (
        fit(hankel_of(TRAIN), "SP", 2, strings=test, **LIKELIHOOD).report.logs[-1].losses.tolist()
    ),
    "fit of an HMM, validation strings": lambda test: (
        fit(TRAIN, "HMM", 2, validation=test).model.weights(TRAIN.words).tolist()
    ),
    "Sample": lambda test: list(Sample(test.words, test.counts, ABCD).words),
    "TestSet": lambda test: list(
        TestSet(test.words, np.ones(len(test.words)), beside(TEST), False).words
    ),
}


@pytest.mark.parametrize("name", USES)
def test_strings_read_on_their_own_count_as_if_read_beside_the_training_strings(name: str) -> None:
    assert own(TEST).alphabet.symbols == ("a", "c")
    assert beside(TEST).alphabet == TRAIN.alphabet == ABCD
    assert USES[name](own(TEST)) == USES[name](beside(TEST))


# Where strings are scored, such a string has the weight 0: tests/core/models/test_unseen.py.
SCORED = {name for name in USES if name.startswith("evaluate") or name == "next_symbol_score"}


@pytest.mark.parametrize("name", sorted(set(USES) - SCORED - {"TestSet"}))
def test_symbols_that_the_other_alphabet_lacks_are_named(name: str) -> None:
    with pytest.raises(
        RecipeError,
        match=r"^symbols 'x', 'y' are not in the .* ?alphabet of 4 symbols: a, b, c, d$",
    ):
        USES[name](own(UNKNOWN))
    with pytest.raises(
        RecipeError, match=r"^symbol 'x' is not in the .* ?alphabet of 4 symbols: a, b, c, d$"
    ):
        USES[name](own(b"x\n"))


def test_symbols_of_an_alphabet_that_no_string_uses_do_not_matter() -> None:
    wide = Sample(own(TEST).words, own(TEST).counts, Alphabet(("z", "c", "y", "a")))
    assert evaluate(ABCD_MODEL, TestSet.empirical(wide)) == evaluate(
        ABCD_MODEL, TestSet.empirical(own(TEST))
    )


@given(
    st.permutations("abcdef"), st.lists(st.text("abc", max_size=4), min_size=1), st.integers(3, 6)
)
def test_words_in_another_alphabet_read_the_same(
    symbols: list[str], texts: list[str], size: int
) -> None:
    first = Alphabet(("a", "b", "c"))
    second = Alphabet((*"cab", *(s for s in symbols if s not in "abc"))[:size])
    words = replace(Words.of([first.encode(text) for text in texts]), alphabet=first)
    other = words.in_alphabet(second)
    assert other.alphabet == second and [second.decode(word) for word in other] == [
        first.decode(word) for word in words
    ]
    assert list(other.in_alphabet(first)) == list(words)
    assert list(words.packed().in_alphabet(second)) == list(other)
    assert words.in_alphabet(None) is words and words.in_alphabet(Alphabet(first.symbols)) is words


def test_what_is_learned_knows_its_alphabet() -> None:
    hankel = hankel_of(TRAIN)
    assert hankel.alphabet == select_basis(TRAIN, 8, 8).alphabet == ABCD
    bounded = bounded_sample(TRAIN, "factor")
    marked = estimate_hankel(bounded, select_basis(bounded, 8, 8, "factor"), "factor", bounded=True)
    assert (
        marked.basis.alphabet is not None
        and len(marked.basis.alphabet) == 6
        and marked.alphabet == ABCD
    )
    values = read_values(b"string,value\na,0.5\nb,0.25\nab,0.125\n,1\n").strings
    models = [
        fit(hankel, "SP", 2).model,
        fit(hankel, "both.non", 2, **QUICK).model,
        fit(marked, "tran.non", 2, epochs_transitions=2).model,
        fit(hankel, "SP", 2, strings=TRAIN, **LIKELIHOOD).model,
        fit(TRAIN, "HMM", 2).model,
        NGram.fit(TRAIN, 2),
    ]
    assert [alphabet_of(model) for model in models] == [ABCD] * len(models)
    assert alphabet_of(fit_values(values, "SP", 2).model) == Alphabet(("a", "b"))
    assert alphabet_of(Dyck()) == Alphabet(("[", "]")) and alphabet_of(ABCD_MODEL.squared()) == ABCD
    assert draw(ABCD_MODEL, 10, seed=0).words.alphabet == ABCD
    model = read_pautomac_model(
        b"I: (state)\n(0) 1\nF: (state)\n(0) 0.5\nS: (state,symbol)\n(0,1) 1\nT: "
        b"(state,symbol,state)\n(0,1,0) 1\n"
    )
    assert alphabet_of(model) == Alphabet(("0", "1"))


def test_an_automaton_of_numbers_takes_numbers() -> None:
    """Written by hand, without an alphabet: the numbers of strings are used if they can mean one
    thing only.
    """
    numbers = replace(ABCD_MODEL, alphabet=None)
    same = evaluate(ABCD_MODEL, TestSet.empirical(beside(TEST)))
    assert evaluate(numbers, TestSet.empirical(beside(TEST))) == same
    digits = Sample.of(Words.of([(0,), (2,), (0, 2)]), Alphabet.numbered(3))
    assert evaluate(numbers, TestSet.empirical(digits)) == same
    with pytest.raises(
        RecipeError,
        match="the model has 4 symbols and no alphabet that names them, .*; got 2 symbols: a, c",
    ):
        evaluate(numbers, TestSet.empirical(own(TEST)))


def test_alphabets_that_can_not_fit_are_refused() -> None:
    with pytest.raises(
        RecipeError, match="the alphabet of a model with 4 symbols can't have 2 symbols: a, c"
    ):
        replace(ABCD_MODEL, alphabet=Alphabet(("a", "c")))
    with pytest.raises(
        RecipeError, match="the alphabet of a basis with 3 symbols can't have 4 symbols: a, b, c, d"
    ):
        Basis(Words.of([()]), Words.of([()]), 3, ABCD)
    test = TestSet.as_drawn(own(b"[]\n").words, np.ones(1), own(b"[]\n"), Dyck())
    with pytest.raises(
        RecipeError,
        match="the true model and the model must have the same alphabet; got 2 symbols: .*, and 4 "
        "symbols: a, b",
    ):
        evaluate(ABCD_MODEL, test)
    bounded = bounded_sample(TRAIN, "prefix")
    with pytest.raises(
        RecipeError,
        match="the basis and the sample must have the same alphabet; got 5 symbols: .* and 4 "
        "symbols: a, b",
    ):
        estimate_hankel(TRAIN, select_basis(bounded, 8, 8), "prefix", bounded=True)
    numbers = Basis(Words.of([(), (0,)]), Words.of([(), (0,)]), 1)
    ones = estimate_hankel(Sample.of(Words.of([(), (0,)]), Alphabet(("a",))), numbers)
    # a basis without names takes those of the sample
    assert ones.basis.alphabet == Alphabet(("a",))
    with pytest.raises(
        RecipeError,
        match="symbols 'b', 'c', 'd' are not in the Hankel matrix's alphabet of 1 symbol: a",
    ):
        fit(ones, "SP", 1, strings=TRAIN, **LIKELIHOOD)
