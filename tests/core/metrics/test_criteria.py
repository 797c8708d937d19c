"""AIC, BIC and the number of free parameters: by hand, against hmmlearn, and against the dimension
of the set of functions, as the rank of a Jacobian.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from math import log

import numpy as np
import pytest
from hmmlearn.hmm import CategoricalHMM

from nlwfa_core import NGram, as_sample, fit, information_criteria, mixture, num_parameters
from nlwfa_core.errors import RecipeError
from nlwfa_core.learning.em.hmm import HMMs
from nlwfa_core.models.ngram import Uniform
from nlwfa_core.models.wfa import WFA
from nlwfa_core.sources.random_automata import sample_words
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import FloatArray, Word
from tests.references import COIN, SIGNED, all_words

STRINGS = ["ab", "ab", "b", "abb", "", "a"]
NO_B = WFA([1], [[[0.5]], [[0]]], [0.5])


def random_pfa(num_states: int, num_symbols: int, rng: np.random.Generator) -> WFA:
    """A PFA in which nothing is 0."""
    rows = rng.dirichlet(np.ones(num_states * num_symbols + 1), size=num_states)
    transitions = rows[:, :-1].reshape(num_states, num_symbols, num_states).swapaxes(0, 1)
    return WFA(rng.dirichlet(np.ones(num_states)), transitions, rows[:, -1])


def random_hmm(num_states: int, num_symbols: int, rng: np.random.Generator) -> HMMs:
    initial, *moves = rng.dirichlet(np.ones(num_states), size=num_states + 1)
    emissions = rng.dirichlet(np.ones(num_symbols + 1), size=num_states).T
    return HMMs(initial[None], np.array(moves)[None], emissions[None, :-1], emissions[None, -1])


# By hand


def test_a_coin_has_two_free_probabilities() -> None:
    """a, b and the end have 1/4, 1/4 and 1/2: P = 1/8 · 1/8 · 1/2 · 1/2 = 2⁻⁸."""
    one = information_criteria(WFA([1], [[[0.25]], [[0.25]]], [0.5]), ["a", "b", "", ""])
    assert (one.num_parameters, one.num_strings, one.why_undefined) == (2, 4, "")
    assert one.log_likelihood == pytest.approx(-8 * log(2))
    assert one.aic == pytest.approx(4 + 16 * log(2))
    assert one.bic == pytest.approx(20 * log(2))  # 2 ln 4 + 16 ln 2


def test_what_is_0_is_not_counted() -> None:
    """COIN has one start, and three outcomes in each of two states; P(λ) P(a)² P(ba) = 2⁻¹¹."""
    words: list[Word] = [(), (0,), (0,), (1, 0)]
    one = information_criteria(COIN.wfa, words)
    assert one.num_parameters == 4
    assert one.aic == pytest.approx(8 + 22 * log(2))


def test_parameters_of_an_ngram_are_those_of_the_histories_that_occur() -> None:
    """Two symbols and the end: two free probabilities after the beginning, a and b; and after ⊢a,
    ab and bb besides ⊢ and ⊢b.
    """
    counts = [num_parameters(NGram.fit(["ab", "abb", "b"], order)) for order in (1, 2, 3)]
    assert counts == [2 * 1, 2 * 3, 2 * 5]
    assert num_parameters(Uniform(3)) == 0


def test_all_weights_of_a_network_count() -> None:
    model = fit(STRINGS, "GRU", rank=2)
    # inputs 3 × 6, recurrent 2 × 6 and its bias 6, output 2 × 3 and its bias 3
    assert num_parameters(model) == 18 + 12 + 6 + 6 + 3
    network = fit(STRINGS, "both.non", rank=1, objective="likelihood").model
    arrays = (network.initial, *network.transitions, *network.decoder, network.output)
    assert num_parameters(network) == sum(np.size(array) for array in arrays)


# hmmlearn


@pytest.mark.parametrize(("num_states", "num_symbols"), [(1, 2), (2, 1), (3, 2)])
def test_an_hmm_has_hmmlearns_aic_and_bic(num_states: int, num_symbols: int) -> None:
    """The end is one more symbol there. Its n in BIC is the number of symbols, ends counted; ours
    is the number of strings.
    """
    model = random_hmm(num_states, num_symbols, np.random.default_rng(num_states))
    ours = model.automaton(0)
    words = sample_words(ours, 30, seed=0, max_length=1000)
    theirs = CategoricalHMM(num_states, n_features=num_symbols + 1)
    theirs.startprob_ = model.initial[0]
    theirs.transmat_ = model.moves[0]
    theirs.emissionprob_ = np.vstack((model.emissions[0], model.termination)).T
    column = np.array([symbol for word in words for symbol in (*word, num_symbols)])[:, None]
    lengths = [len(word) + 1 for word in words]
    one = information_criteria(ours, list(words))
    assert one.log_likelihood == pytest.approx(theirs.score(column, lengths), rel=1e-9)
    assert one.aic == pytest.approx(theirs.aic(column, lengths), rel=1e-9)
    as_theirs = replace(one, num_strings=len(column))
    assert as_theirs.bic == pytest.approx(theirs.bic(column, lengths), rel=1e-9)


# The dimension of the set of functions


def dimension(weights_of: Callable[[FloatArray], FloatArray], at: FloatArray) -> int:
    """The rank of the Jacobian of string weights, by central differences."""
    step = 1e-5
    columns = [
        (weights_of(at + step * unit) - weights_of(at - step * unit)) / (2 * step)
        for unit in np.eye(len(at))
    ]
    values = np.linalg.svd(np.column_stack(columns), compute_uv=False)
    return int((values > 1e-7 * values[0]).sum())


def entries(model: WFA) -> FloatArray:
    return np.concatenate((model.initial, model.transitions.ravel(), model.termination))


def wfa_of(numbers: FloatArray, num_states: int, num_symbols: int) -> WFA:
    initial, transitions, termination = np.split(
        numbers, [num_states, num_states + num_symbols * num_states**2]
    )
    return WFA(initial, transitions.reshape(num_symbols, num_states, num_states), termination)


SIZES = [(1, 1), (1, 3), (2, 1), (2, 2), (2, 3), (3, 1), (3, 2)]


@pytest.mark.parametrize(("num_states", "num_symbols"), SIZES)
def test_the_number_for_a_wfa_is_the_dimension_of_the_functions_of_its_rank(
    num_states: int, num_symbols: int
) -> None:
    """The weights of all strings of up to 2k − 1 symbols determine such a function."""
    words = all_words(num_symbols, 2 * num_states - 1)
    rng = np.random.default_rng(7)
    size = num_states * (2 + num_symbols * num_states)
    for _ in range(3):
        at = rng.normal(size=size)

        def weights_of(numbers: FloatArray) -> FloatArray:
            return wfa_of(numbers, num_states, num_symbols).weights(words)

        number = num_parameters(wfa_of(at, num_states, num_symbols))
        assert dimension(weights_of, at) == number
        assert number == num_states**2 * (num_symbols - 1) + 2 * num_states


def test_a_sum_of_1_takes_one_parameter_and_another_basis_none() -> None:
    """A PFA in another basis is a WFA. Its functions are those of rank 2 with the sum 1."""
    pfa = random_pfa(2, 2, np.random.default_rng(0))
    B = np.array([[1.0, 2.0], [0.5, -1.0]])
    other = WFA(
        pfa.initial @ B, np.linalg.inv(B) @ pfa.transitions @ B, np.linalg.solve(B, pfa.termination)
    )
    assert num_parameters(other) == 2**2 + 2 * 2 - 1
    one, same = (information_criteria(model, [(0, 1), (), (1,)]) for model in (pfa, other))
    assert same.log_likelihood == pytest.approx(one.log_likelihood)


@pytest.mark.parametrize(("num_states", "num_symbols"), [(1, 2), (2, 2), (2, 3), (3, 2)])
def test_strings_can_tell_fewer_pfas_apart_than_their_probabilities_say(
    num_states: int, num_symbols: int
) -> None:
    """A PFA's k² |Σ| + k − 1 probabilities have k (k − 1) directions that change no weight."""
    words = all_words(num_symbols, 2 * num_states - 1)
    pfa = random_pfa(num_states, num_symbols, np.random.default_rng(5))
    number = num_parameters(pfa)
    assert number == num_states**2 * num_symbols + num_states - 1

    def weights_of(free: FloatArray) -> FloatArray:
        """The free probabilities are all but the last of the start, and the ends."""
        initial, transitions = np.split(free, [num_states - 1])
        A = transitions.reshape(num_symbols, num_states, num_states)
        last = [1 - initial.sum()]
        return WFA(np.append(initial, last), A, 1 - A.sum(axis=(0, 2))).weights(words)

    at = np.concatenate((pfa.initial[:-1], pfa.transitions.ravel()))
    assert len(at) == number
    assert dimension(weights_of, at) == number - num_states * (num_states - 1)


# What has no value


@pytest.mark.parametrize(
    ("model_of", "reason"),
    [
        (lambda: fit(STRINGS, "SP", rank=2), "its weights sum to .*, not to 1"),
        (lambda: SIGNED.wfa, "its weights sum to ∞, not to 1"),
        (lambda: fit(STRINGS, "fac.non", rank=2), "nothing makes its weights sum to 1"),
        (lambda: NO_B, "4 training strings with a weight of 0 or less"),
    ],
)
def test_a_model_that_is_no_distribution_of_the_strings_has_no_aic(
    model_of: Callable[[], WFA], reason: str
) -> None:
    one = information_criteria(model_of(), STRINGS)
    assert np.isnan([one.aic, one.bic, one.log_likelihood]).all()
    assert re.fullmatch(reason, one.why_undefined)


def test_a_long_string_has_a_log_likelihood() -> None:
    coin = WFA([1], [[[0.5]]], [0.5])
    assert information_criteria(coin, ["a" * 3000]).log_likelihood == pytest.approx(-3001 * log(2))


def test_what_can_not_be_computed_is_refused() -> None:
    sample = as_sample(STRINGS)
    models = [NGram.fit(sample, 1), NGram.fit(sample, 2)]
    with pytest.raises(RecipeError, match="parameters can be counted only for .*; got a Mixture"):
        num_parameters(mixture(models, [0.5, 0.5]))
    with pytest.raises(RecipeError, match="at least one string; got none"):
        information_criteria(
            models[0], Sample.of(sample.words.take(np.array([], dtype=int)), sample.alphabet)
        )
    with pytest.raises(RecipeError, match="'c'"):
        information_criteria(models[0], ["abc"])
