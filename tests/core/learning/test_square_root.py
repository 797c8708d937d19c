"""The square root of a weighted automaton, and squares learned from their values with it as a
start.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlwfa_core.errors import RecipeError
from nlwfa_core.hankel.basis import Basis
from nlwfa_core.hankel.matrix import exact_hankel
from nlwfa_core.hankel.valued_strings import ValuedStrings
from nlwfa_core.learning.functions.fit_values import fit_values
from nlwfa_core.learning.functions.square_root import square_root
from nlwfa_core.learning.learners import VALUE_LEARNERS
from nlwfa_core.learning.spectral import fit_spectral, truncated_svd
from nlwfa_core.models.wfa import WFA
from nlwfa_core.sources.random_automata import random_wfa
from nlwfa_core.strings.words import Alphabet, Words
from tests.core.records import AS_IN_THE_PAPER


def words(longest: int) -> Words:
    return Words.of(
        word for length in range(longest + 1) for word in product(range(2), repeat=length)
    )


BASIS = Basis(words(4), words(4), 2)
LONG = words(8)


def symmetric_square(model: WFA) -> WFA:
    """f² with k (k + 1) / 2 states, written out: the states are the products z_i z_j with i ≤ j."""
    k = model.num_states
    pairs = [(i, j) for i in range(k) for j in range(i, k)]

    def of(matrix: np.ndarray) -> np.ndarray:
        return np.array(
            [
                [
                    matrix[i, p] * matrix[j, q] + (i != j) * matrix[j, p] * matrix[i, q]
                    for p, q in pairs
                ]
                for i, j in pairs
            ]
        )

    initial = np.array([model.initial[i] * model.initial[j] for i, j in pairs])
    termination = np.array(
        [model.termination[i] * model.termination[j] * (1 + (i != j)) for i, j in pairs]
    )
    return WFA(initial, np.stack([of(matrix) for matrix in model.transitions]), termination)


def test_the_root_of_two_states_by_hand() -> None:
    """f(x) = 2^{number of 0s} − 3^{number of 1s}, whose coordinates are already those of
    eigenvectors.
    """
    f = WFA(np.array([1.0, -1.0]), np.array([np.diag([2.0, 1.0]), np.diag([1.0, 3.0])]), np.ones(2))
    square = symmetric_square(f)
    assert square.weights(Words.of([(), (0,), (0, 0), (1,), (0, 1)])).tolist() == [
        0.0,
        1.0,
        9.0,
        4.0,
        1.0,
    ]
    root = square_root(square, 2, BASIS)
    assert root is not None
    np.testing.assert_allclose(root.weights(LONG) ** 2, f.weights(LONG) ** 2, rtol=1e-8, atol=1e-8)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), k=st.integers(1, 5))
def test_the_root_does_not_depend_on_coordinates(seed: int, k: int) -> None:
    f = random_wfa(k, 2, seed)
    square = symmetric_square(f)
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(square.num_states, square.num_states)))[0]
    turned = WFA(
        square.initial @ turn, turn.T @ square.transitions @ turn, turn.T @ square.termination
    )
    root = square_root(turned, k, BASIS)
    assert root is not None
    expected = f.weights(LONG) ** 2
    assert np.abs(root.weights(LONG) ** 2 - expected).max() < 1e-5 * expected.max()


def test_what_is_no_square_has_no_root() -> None:
    model = random_wfa(6, 2, seed=0)
    assert square_root(model, 3, BASIS) is None
    assert square_root(model, 2, BASIS) is None  # 6 states are not 2 · 3 / 2
    assert square_root(WFA(np.zeros(3), np.zeros((2, 3, 3)), np.zeros(3)), 2, BASIS) is None


@pytest.mark.parametrize(("learner", "hidden"), [("SP", (2, 1, 2)), ("fac.non", (1,))])
def test_values_of_a_square_are_learned_without_random_starts(
    learner: str, hidden: tuple[int, ...]
) -> None:
    f = random_wfa(4, 2, seed=3)
    known = words(9)
    unseen = words(10)
    values = ValuedStrings(known, f.weights(known) ** 2, Alphabet.numbered(2))
    fields = {"hidden": hidden, **AS_IN_THE_PAPER, "epochs_factorisation": 5}
    options = VALUE_LEARNERS[learner].adapted(fields, rank=4, refine="values", restarts=0)
    learned = fit_values(values, options, transform="sqrt")
    expected = f.weights(unseen) ** 2
    assert np.abs(learned.model.weights(unseen) - expected).max() < 1e-9 * expected.max()
    assert learned.model.num_states == 4


def test_values_have_one_start() -> None:
    values = ValuedStrings(words(3), np.ones(15), Alphabet.numbered(2))
    with pytest.raises(RecipeError, match="starts has no effect with learner fac.non"):
        fit_values(values, "fac.non", rank=1, starts=2)


def test_a_few_wrong_digits_do_not_hide_the_root() -> None:
    f = random_wfa(3, 2, seed=1)
    square = exact_hankel(lambda some: f.weights(some) ** 2, BASIS)
    noisy = fit_spectral(square, truncated_svd(square.block, 6), 6)
    noisy = WFA(noisy.initial, noisy.transitions * (1 + 1e-6), noisy.termination)
    root = square_root(noisy, 3, BASIS)
    assert root is not None
    expected = f.weights(LONG) ** 2
    assert np.abs(root.weights(LONG) ** 2 - expected).max() < 1e-2 * expected.max()
