"""Strings with values: the observed cells of H, and errors on held-out strings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from nlwfa_core.errors import RecipeError
from nlwfa_core.hankel.basis import Basis
from nlwfa_core.hankel.matrix import exact_hankel
from nlwfa_core.hankel.statistics import VALUE
from nlwfa_core.hankel.valued_strings import (
    ValuedStrings,
    observed_hankel,
    observed_transitions,
    value_scores,
)
from nlwfa_core.learning.spectral import fit_spectral, truncated_svd
from nlwfa_core.sources.random_automata import random_automaton
from nlwfa_core.strings.words import Alphabet, Word, Words
from tests.references import all_words, full_basis

AB = Alphabet(("a", "b"))
functions = st.dictionaries(
    st.lists(st.integers(0, 1), max_size=5).map(tuple),
    st.sampled_from([0.0, -1.5, 2.0, 1e-300, 7e9]),
    min_size=1,
    max_size=20,
)


def valued(function: dict[Word, float]) -> ValuedStrings:
    return ValuedStrings.of(Words.of(function), np.array(list(function.values())), AB)


@given(functions, st.integers(1, 8), st.integers(1, 8))
def test_a_cell_is_observed_if_its_string_is_in_the_data(
    function: dict[Word, float], num_prefixes: int, num_suffixes: int
) -> None:
    strings = valued(function)
    basis = strings.basis(num_prefixes, num_suffixes)
    hankel = observed_hankel(strings, basis)
    assert hankel.statistic == VALUE

    def cells(row: int) -> dict[int, float]:
        return dict(
            zip(
                *(
                    part[slice(*hankel.matrix.indptr[row : row + 2])].tolist()
                    for part in (hankel.matrix.indices, hankel.matrix.data)
                ),
                strict=True,
            )
        )

    def expected(u: Word) -> dict[int, float]:
        return {
            column: function[u + v] for column, v in enumerate(basis.suffixes) if u + v in function
        }

    known = observed_transitions(hankel)
    for row, u in enumerate(basis.prefixes):
        assert cells(row) == expected(u)
        for symbol in range(2):
            assert cells(int(hankel.shifted[row, symbol])) == expected((*u, symbol))
            assert known[row, symbol] == bool(expected(u) and expected((*u, symbol)))


def test_an_observed_zero_is_not_an_unknown_cell() -> None:
    """λ and ab are observed, and ab is 0; over P = λ, a and S = λ, b."""
    hankel = observed_hankel(
        valued({(): 3.0, (0, 1): 0.0}), Basis(Words.of([(), (0,)]), Words.of([(), (1,)]), 2)
    )
    assert hankel.matrix.nnz == 3  # λ·λ, a·b, ab·λ
    # λ, a, ab; the others
    assert hankel.matrix.toarray().tolist() == [[3, 0], [0, 0], [0, 0], [0, 0]]
    assert np.diff(hankel.matrix.indptr).tolist() == [1, 1, 1, 0]
    assert observed_transitions(hankel).tolist() == [[True, False], [False, True]]
    assert not observed_transitions(hankel, 2).any()


def test_invalid_values_are_refused() -> None:
    with pytest.raises(RecipeError, match="values must be finite numbers; got inf"):
        valued({(): np.inf})
    with pytest.raises(
        RecipeError, match=r"each of the 1 words needs one value; got values of shape \(2,\)"
    ):
        ValuedStrings(Words.of([()]), np.zeros(2), AB)
    with pytest.raises(RecipeError, match="can't split 1 strings into parts of 1, 1"):
        valued({(): 1.0}).split([1, 1], 0)
    with pytest.raises(
        RecipeError, match="as many outputs as values, and at least one of each; got 1 and 2"
    ):
        value_scores(np.zeros(1), np.zeros(2))


@given(st.integers(0, 100), st.integers(1, 4))
def test_the_root_of_a_squared_function_has_the_rank_of_the_function(
    seed: int, num_states: int
) -> None:
    """f ≥ 0 with k states: f² needs up to k (k + 1) / 2, its element-wise root k again ([P] §3)."""
    square = random_automaton(num_states, 2, seed).squared()
    exact = exact_hankel(square.weights, full_basis(2, 4))
    root = replace(exact, matrix=sparse.csr_array(np.sqrt(exact.matrix.toarray())))
    singular = np.linalg.svd(root.block.toarray(), compute_uv=False)
    assert singular[num_states] < 1e-12 * singular[0]
    model = fit_spectral(root, truncated_svd(root.block, num_states), num_states)
    words = all_words(2, 7)
    np.testing.assert_allclose(model.weights(words) ** 2, square.weights(words), atol=1e-6)


@given(functions, st.integers(0, 5))
def test_parts_are_disjoint(function: dict[Word, float], seed: int) -> None:
    first, second = valued(function).split(
        [len(function) // 2, len(function) - len(function) // 2], seed
    )
    assert (
        dict(zip([*first.words, *second.words], [*first.values, *second.values], strict=True))
        == function
    )


def test_errors_are_compared_with_those_of_constants() -> None:
    scores = value_scores(np.array([1.0, 5.0]), np.array([1.0, 3.0]))
    assert (scores.rmse, scores.zero_rmse, scores.mean_rmse) == (2**0.5, 5**0.5, 1)
    broken = value_scores(np.array([np.inf, 5.0]), np.array([1.0, 3.0]))
    assert np.isnan(broken.rmse) and (broken.num_words, broken.num_nonfinite) == (2, 1)
