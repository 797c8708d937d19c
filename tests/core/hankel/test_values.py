"""(string, value) data: reading, the known cells of H, errors on held-out strings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from nlwfa_core.errors import FormatError, RecipeError
from nlwfa_core.hankel.basis import Basis
from nlwfa_core.hankel.matrix import exact_hankel
from nlwfa_core.hankel.values import VALUE, ValuedStrings, observed_hankel, observed_transitions, value_scores
from nlwfa_core.learning.spectral import fit_spectral, truncated_svd
from nlwfa_core.sources.automata import random_automaton
from nlwfa_core.sources.values import read_values
from nlwfa_core.strings.words import Alphabet, Word, Words
from tests.references import all_words, full_basis

AB = Alphabet(("a", "b"))
functions = st.dictionaries(
    st.lists(st.integers(0, 1), max_size=5).map(tuple), st.sampled_from([0.0, -1.5, 2.0, 1e-300, 7e9]), min_size=1, max_size=20
)


def valued(function: dict[Word, float]) -> ValuedStrings:
    return ValuedStrings.of(Words.of(function), np.array(list(function.values())), AB)


@given(functions, st.integers(1, 8), st.integers(1, 8))
def test_cells_are_known_where_their_strings_were_given(function: dict[Word, float], num_prefixes: int, num_suffixes: int) -> None:
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
        return {column: function[u + v] for column, v in enumerate(basis.suffixes) if u + v in function}

    known = observed_transitions(hankel)
    for row, u in enumerate(basis.prefixes):
        assert cells(row) == expected(u)
        for symbol in range(2):
            assert cells(int(hankel.shifted[row, symbol])) == expected((*u, symbol))
            assert known[row, symbol] == bool(expected(u) and expected((*u, symbol)))


def test_a_zero_that_is_known_is_not_an_unknown_cell() -> None:
    """λ and ab are known, ab to be 0; over P = λ, a and S = λ, b."""
    hankel = observed_hankel(valued({(): 3.0, (0, 1): 0.0}), Basis(Words.of([(), (0,)]), Words.of([(), (1,)]), 2))
    assert hankel.matrix.nnz == 3  # λ·λ, a·b, ab·λ
    assert hankel.matrix.toarray().tolist() == [[3, 0], [0, 0], [0, 0], [0, 0]]  # λ, a, ab; the others
    assert np.diff(hankel.matrix.indptr).tolist() == [1, 1, 1, 0]
    assert observed_transitions(hankel).tolist() == [[True, False], [False, True]]
    assert not observed_transitions(hankel, 2).any()


def test_a_file_of_values() -> None:
    read = read_values("String,Value\r\nab,0.5\r\nλ,-3e-2\r\n\r\nab,0.5\r\nc,0\r\n".encode(), AB)
    assert list(read.strings.words) == [(0, 1), (), (2,)]
    assert read.strings.values.tolist() == [0.5, -0.03, 0]
    assert read.strings.alphabet.symbols == ("a", "b", "c")
    assert [note.split()[:2] for note in read.notes] == [["1", "blank"], ["1", "symbol"]]


def test_tokens_in_a_file_of_values() -> None:
    assert read_values(b"run stop,1\nrun,2\n").strings.alphabet.symbols == ("run", "stop")
    assert read_values(b"tokens,value\nrun,2\n").strings.alphabet.symbols == ("run",)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"ab,0.5\na,nan\n", "line 2: 'nan' given where a finite number is needed"),
        (b"ab,inf\n", "line 1: 'inf' given where a finite number is needed"),
        (b"ab,1_0\n", "line 1: '1_0' given where a finite number is needed"),
        (b"ab,\n", "line 1: '' given where a finite number is needed"),
        (b"string,value\nab\n", "line 2: 1 column given, 2 needed: string and value"),
        (b"string,count\nab,1\n", "line 1: 'count' given where a finite number is needed"),
        (b"string,value\n", "the file holds no strings"),
        (b",1\n", "every string is empty"),
        (b"ab,1\nb,1\nab,2\n", "string 'ab' has the values 1.0 and 2.0, one is allowed"),
    ],
)
def test_what_can_not_be_read_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(RecipeError, match=message) as raised:
        read_values(data)
    assert isinstance(raised.value, FormatError) or "one is allowed" in message


def test_unsound_values_are_refused() -> None:
    with pytest.raises(RecipeError, match="values must be finite numbers, got inf"):
        valued({(): np.inf})
    with pytest.raises(RecipeError, match=r"1 words with values of shape \(2,\)"):
        ValuedStrings(Words.of([()]), np.zeros(2), AB)
    with pytest.raises(RecipeError, match="can't split 1 strings into parts of 1, 1"):
        valued({(): 1.0}).split([1, 1], 0)
    with pytest.raises(RecipeError, match="1 outputs for 2 values"):
        value_scores(np.zeros(1), np.zeros(2))


@given(st.integers(0, 100), st.integers(1, 4))
def test_the_root_of_a_squared_function_has_the_rank_of_the_function(seed: int, num_states: int) -> None:
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
    first, second = valued(function).split([len(function) // 2, len(function) - len(function) // 2], seed)
    assert dict(zip([*first.words, *second.words], [*first.values, *second.values], strict=True)) == function


def test_errors_stand_beside_those_of_saying_nothing() -> None:
    scores = value_scores(np.array([1.0, 5.0]), np.array([1.0, 3.0]))
    assert (scores.rmse, scores.zero_rmse, scores.mean_rmse) == (2**0.5, 5**0.5, 1)
    broken = value_scores(np.array([np.inf, 5.0]), np.array([1.0, 3.0]))
    assert np.isnan(broken.rmse) and (broken.num_words, broken.num_nonfinite) == (2, 1)
