"""A basis by matching: against scipy's structural rank, brute force, and the spectral learner."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse
from scipy.sparse.csgraph import structural_rank

from nlwfa_core import (
    DataRecipe,
    RecipeError,
    as_sample,
    estimate_hankel,
    fit,
    load_data,
    select_basis,
)
from nlwfa_core.hankel.statistics import STATISTICS
from nlwfa_core.models.wfa import WFA
from studies.matching import matchable_rows, matching_basis
from tests.references import all_words

patterns = arrays.arrays(bool, st.tuples(st.integers(1, 7), st.integers(1, 7)))


def rank_of(pattern: np.ndarray) -> int:
    return int(structural_rank(sparse.csr_array(pattern.astype(float)))) if pattern.any() else 0


@given(patterns)
def test_as_many_rows_as_the_structural_rank(pattern: np.ndarray) -> None:
    rows = matchable_rows(sparse.csr_array(pattern.astype(float)), 100)
    assert len(rows) == rank_of(pattern) == rank_of(pattern[rows])


@settings(deadline=None)
@given(patterns, st.integers(1, 4))
def test_no_rows_that_can_be_matched_are_earlier(pattern: np.ndarray, number: int) -> None:
    """With weights that fall with the place, no other set of so many rows has a larger sum: brute
    force over all of them.
    """
    rows = matchable_rows(sparse.csr_array(pattern.astype(float)), number)
    assert len(rows) == min(number, rank_of(pattern))
    matchable = [
        list(some)
        for some in combinations(range(len(pattern)), len(rows))
        if rank_of(pattern[list(some)]) == len(rows)
    ]
    assert all(
        mine <= others for some in matchable for mine, others in zip(rows, some, strict=True)
    )


@pytest.mark.parametrize("statistic", STATISTICS)
def test_a_basis_has_its_size_and_no_idle_row_or_column(statistic: str) -> None:
    train = load_data(
        DataRecipe(source="automaton", num_states=4, num_symbols=6, num_strings=2000, num_test=1)
    ).train
    matching = matching_basis(train, 60, 40, statistic)
    frequent = select_basis(train, 60, 40, statistic)
    assert [len(words) for words in (matching.prefixes, matching.suffixes)] == [60, 40]
    assert matching.suffixes[0] == () == matching.prefixes[0]
    if statistic in ("prefix", "factor"):
        assert {(symbol,) for symbol in range(6)} <= set(matching.suffixes)
    ranks = [
        rank_of(estimate_hankel(train, basis, statistic).block.toarray() != 0)
        for basis in (matching, frequent)
    ]
    assert ranks[0] == 40 >= ranks[1]


def test_where_the_frequent_ones_say_the_same_others_are_taken() -> None:
    """After all of a to e comes only z; they are more frequent than f to j, each of which has an
    ending of its own.
    """
    frequent = {f"{first}z": 50 for first in "abcde"}
    sample = as_sample(frequent | dict.fromkeys(["fu", "gv", "hw", "ix", "jy"], 1))
    ranks = {}
    for select in (select_basis, matching_basis):
        ranks[select] = np.linalg.matrix_rank(
            estimate_hankel(sample, select(sample, 8, 8)).block.toarray()
        )
    assert ranks[matching_basis] > ranks[select_basis]


def test_the_rest_is_taken_by_frequency() -> None:
    basis = matching_basis(["a", "aa", "aaa"], 10, 10)
    assert list(basis.prefixes) == list(select_basis(["a", "aa", "aaa"], 10, 10).prefixes)
    assert len(basis.suffixes) == 4


def test_a_full_basis_gives_the_same_model() -> None:
    sample = as_sample(["ab", "b", "ab", "abb", "aab"])
    models = [
        fit(estimate_hankel(sample, select(sample, 50, 50)), "SP", rank=3).model
        for select in (select_basis, matching_basis)
    ]
    assert all(isinstance(model, WFA) for model in models)
    words = all_words(2, 5)
    np.testing.assert_allclose(models[0].weights(words), models[1].weights(words), atol=1e-12)  # type: ignore[union-attr]


def test_numbers_out_of_range_are_refused() -> None:
    with pytest.raises(RecipeError, match="num_prefixes must be at least 1; got 0"):
        matching_basis(["a"], 0, 1)
    with pytest.raises(RecipeError, match="statistic must be one of"):
        matching_basis(["a"], 1, 1, "word")
