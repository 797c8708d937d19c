"""Basis and Hankel matrix against a dictionary of counts."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core import limits
from nlwfa_core.errors import RecipeError
from nlwfa_core.hankel.basis import Basis, select_basis
from nlwfa_core.hankel.estimate import estimate_hankel
from nlwfa_core.hankel.matrix import HankelMatrix, dense_hankel, exact_hankel
from nlwfa_core.learning.fitting import fit
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import Alphabet, Word, Words
from tests.references import REFERENCES, Reference, full_basis, hankel_by_dictionary

ABC = Alphabet(("a", "b", "c"))
strings_of = st.lists(st.lists(st.integers(0, 2), max_size=4).map(tuple), min_size=1, max_size=15)


def sample_of(strings: list[Word]) -> Sample:
    return Sample.of(Words.of(strings), ABC)


def assert_is_hankel_of(hankel: HankelMatrix, strings: list[Word]) -> None:
    prefixes = list(hankel.basis.prefixes)
    suffixes = list(hankel.basis.suffixes)
    np.testing.assert_allclose(
        hankel.block.toarray(),
        hankel_by_dictionary(strings, prefixes, suffixes),
        rtol=1e-12,
        atol=0,
    )
    for symbol in range(hankel.num_symbols):
        expected = hankel_by_dictionary(strings, [(*u, symbol) for u in prefixes], suffixes)
        np.testing.assert_allclose(
            hankel.symbol_block(symbol).toarray(), expected, rtol=1e-12, atol=0
        )
    rows = {*prefixes, *((*u, symbol) for u in prefixes for symbol in range(hankel.num_symbols))}
    own = {u: row for row, u in enumerate(prefixes)}
    for u, shifted in zip(prefixes, hankel.shifted, strict=True):
        assert all(row == own.get((*u, symbol), row) for symbol, row in enumerate(shifted))
    assert hankel.num_closure_rows == len(rows) == 1 + len(prefixes) * hankel.num_symbols


@given(strings_of, st.integers(1, 12), st.integers(1, 12))
def test_the_basis_is_the_most_frequent_by_length_and_alphabet(
    strings: list[Word], num_prefixes: int, num_suffixes: int
) -> None:
    prefixes = Counter(x[:cut] for x in strings for cut in range(len(x) + 1))
    suffixes = Counter(x[cut:] for x in strings for cut in range(len(x) + 1))

    def most_frequent(counts: Counter[Word], size: int) -> list[Word]:
        return sorted(counts, key=lambda u: (-counts[u], len(u), u))[:size]

    basis = select_basis(sample_of(strings), num_prefixes, num_suffixes)
    assert list(basis.prefixes) == most_frequent(prefixes, num_prefixes)
    assert list(basis.suffixes) == most_frequent(suffixes, num_suffixes)


@given(strings_of, st.integers(1, 12), st.integers(1, 12))
def test_estimates_are_counts(strings: list[Word], num_prefixes: int, num_suffixes: int) -> None:
    sample = sample_of(strings)
    assert_is_hankel_of(
        estimate_hankel(sample, select_basis(sample, num_prefixes, num_suffixes)), strings
    )


@given(strings_of, st.data())
def test_estimates_are_counts_over_any_basis(strings: list[Word], data: st.DataObject) -> None:
    """Also with prefixes and suffixes that the sample does not contain, in any order."""
    grown: list[Word] = [()]
    for _ in range(data.draw(st.integers(0, 6))):
        child = (*data.draw(st.sampled_from(grown)), data.draw(st.integers(0, 2)))
        grown += [child] if child not in grown else []
    shuffled = [(), *data.draw(st.permutations(grown[1:]))]
    others = data.draw(
        st.lists(
            st.lists(st.integers(0, 2), min_size=1, max_size=3).map(tuple), max_size=5, unique=True
        )
    )
    basis = Basis(Words.of(shuffled), Words.of([(), *others]), 3)
    assert_is_hankel_of(estimate_hankel(sample_of(strings), basis), strings)


@given(strings_of)
def test_zero_rows_outside_the_basis_share_one_row(strings: list[Word]) -> None:
    hankel = estimate_hankel(sample_of(strings), select_basis(sample_of(strings), 4, 4))
    outside = hankel.matrix[hankel.num_prefixes :]
    empty = np.flatnonzero(np.diff(outside.indptr) == 0)
    assert list(empty) in ([], [outside.shape[0] - 1])
    assert set(hankel.shifted.ravel()) >= set(range(hankel.num_prefixes, hankel.matrix.shape[0]))


def test_a_matrix_by_hand() -> None:
    """Strings a, a, ab, λ; P = λ, a and S = λ, b: half of all strings are a."""
    strings: list[Word] = [(0,), (0,), (0, 1), ()]
    hankel = estimate_hankel(
        sample_of(strings), Basis(Words.of([(), (0,)]), Words.of([(), (1,)]), 3)
    )
    # λ, a, ab, all others
    assert hankel.matrix.toarray().tolist() == [[0.25, 0], [0.5, 0.25], [0.25, 0], [0, 0]]
    assert hankel.shifted.tolist() == [[1, 3, 3], [3, 2, 3]]
    assert (hankel.num_closure_rows, hankel.statistic) == (7, "string")


@pytest.mark.parametrize("reference", REFERENCES, ids=repr)
@pytest.mark.parametrize("squared", [False, True])
def test_exact_blocks_have_the_rank_of_the_function(reference: Reference, squared: bool) -> None:
    wfa = reference.wfa.squared() if squared else reference.wfa
    hankel = exact_hankel(wfa.weights, full_basis(wfa.num_symbols, 3))
    singular = np.linalg.svd(hankel.block.toarray(), compute_uv=False)
    assert (singular > 1e-12 * singular[0]).sum() == (
        reference.square_rank if squared else wfa.num_states
    )


def test_exact_blocks_hold_the_values() -> None:
    basis = Basis(Words.of([(), (1,), (1, 0)]), Words.of([(), (0,), (1, 1)]), 2)
    hankel = exact_hankel(lambda words: 1.0 * words.lengths, basis)
    assert hankel.block.toarray().tolist() == [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
    assert hankel.symbol_block(0).toarray().tolist() == [[1, 2, 3], [2, 3, 4], [3, 4, 5]]
    assert hankel.num_closure_rows == hankel.matrix.shape[0] == 7


def test_all_prefixes_are_used_if_there_are_fewer_than_requested() -> None:
    basis = select_basis(sample_of([(0, 1), (0,)]), 1000, 1000)
    assert (list(basis.prefixes), list(basis.suffixes)) == (
        [(), (0,), (0, 1)],
        [(), (0,), (1,), (0, 1)],
    )


@pytest.mark.parametrize(
    ("prefixes", "suffixes", "message"),
    [
        (
            [(0,)],
            [()],
            r"the first of a basis's prefixes must be the empty word λ; got the word \(0,\)",
        ),
        ([()], [(0,), ()], "the first of a basis's suffixes must be the empty word"),
        ([()], [], "the first of a basis's suffixes"),
        ([(), (0,), (0,)], [()], "a basis's prefixes must differ"),
        ([()], [(), (1,), (1,)], "a basis's suffixes must differ"),
        ([(), (0, 1)], [()], "prefix-closed; got 2, but with all their own prefixes there are 3"),
        ([(), (3,)], [()], "symbol 3 is not in the alphabet of 3 symbols"),
    ],
)
def test_invalid_bases_are_refused(
    prefixes: list[Word], suffixes: list[Word], message: str
) -> None:
    with pytest.raises(RecipeError, match=message):
        Basis(Words.of(prefixes), Words.of(suffixes), 3)


def test_what_can_not_be_built_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = sample_of([(0, 1), (2,)])
    with pytest.raises(RecipeError, match="num_prefixes must be at least 1; got 0"):
        select_basis(sample, 0, 5)
    with pytest.raises(RecipeError, match="num_suffixes must be at most 50,000; got 50,001"):
        select_basis(sample, 5, limits.most("basis") + 1)
    with pytest.raises(RecipeError, match="the sample has no strings"):
        select_basis(sample_of([]), 5, 5)
    basis = select_basis(sample, 5, 5)
    with pytest.raises(RecipeError, match="statistic must be one of string, .*; got 'bigram'"):
        estimate_hankel(sample, basis, "bigram")
    with pytest.raises(
        RecipeError, match="symbol .0. is not in the basis.s alphabet of 3 symbols: a, b, c"
    ):
        estimate_hankel(Sample.of(Words.of([(0,)]), Alphabet.numbered(2)), basis)
    monkeypatch.setitem(limits.IN_FORCE, "shifted_rows", 5)
    with pytest.raises(RecipeError, match="prefixes × symbols must be at most 5; got 12"):
        estimate_hankel(sample, basis)


@pytest.mark.parametrize(
    ("num_symbols", "prefix_length", "suffix_length"), [(1, 0, 4), (2, 3, 1), (3, 2, 2)]
)
def test_a_basis_of_all_words_up_to_a_length(
    num_symbols: int, prefix_length: int, suffix_length: int
) -> None:
    basis = Basis.up_to(num_symbols, prefix_length, suffix_length)
    for words, length in ((basis.prefixes, prefix_length), (basis.suffixes, suffix_length)):
        expected = [
            word for size in range(length + 1) for word in product(range(num_symbols), repeat=size)
        ]
        assert list(words) == expected
    assert (
        basis.alphabet == Alphabet.numbered(num_symbols) and Basis.up_to(ABC, 1, 1).alphabet == ABC
    )


@pytest.mark.parametrize("reference", REFERENCES, ids=repr)
def test_words_up_to_the_rank_less_one_are_enough(reference: Reference) -> None:
    """The theorem in the docstring: the block has the function's rank, and one with shorter words
    may not.
    """
    wfa = reference.wfa
    hankel = exact_hankel(
        wfa.weights, Basis.up_to(wfa.num_symbols, wfa.num_states - 1, wfa.num_states - 1)
    )
    singular = np.linalg.svd(hankel.block.toarray(), compute_uv=False)
    assert (singular > 1e-12 * singular[0]).sum() == wfa.num_states


@pytest.mark.parametrize("reference", REFERENCES, ids=repr)
def test_arrays_of_ones_own_are_learned_from(reference: Reference) -> None:
    """Blocks from a loop over words, by the definition of f alone, give the function back: on words
    that no block has.
    """
    wfa = reference.wfa
    basis = Basis.up_to(wfa.num_symbols, wfa.num_states, wfa.num_states)

    def value(word: Word) -> float:
        state = wfa.initial
        for symbol in word:
            state = state @ wfa.transitions[symbol]
        return float(state @ wfa.termination)

    middles: list[Word] = [(), *((symbol,) for symbol in range(wfa.num_symbols))]
    blocks = [
        [[value((*u, *middle, *v)) for v in basis.suffixes] for u in basis.prefixes]
        for middle in middles
    ]
    learned = fit(dense_hankel(blocks, basis), "SP", wfa.num_states).model
    words = Words.of([(0,) * 12, *(word for word in product(range(wfa.num_symbols), repeat=4))])
    expected = np.array([value(word) for word in words])
    np.testing.assert_allclose(
        learned.weights(words), expected, rtol=1e-7, atol=1e-9 * np.abs(expected).max()
    )


def test_arrays_of_an_estimate_are_the_estimate() -> None:
    sample = sample_of([(0, 1), (0, 1), (2,), (0, 1, 1)])
    for statistic in ("string", "prefix", "factor"):
        estimate = estimate_hankel(sample, select_basis(sample, 5, 6, statistic), statistic)
        blocks = [
            estimate.block.toarray(),
            *(estimate.symbol_block(symbol).toarray() for symbol in range(3)),
        ]
        own = dense_hankel(blocks, estimate.basis, statistic)
        models = [fit(hankel, "SP", 2).model for hankel in (estimate, own)]
        np.testing.assert_allclose(
            *(model.weights(sample.words) for model in models), rtol=1e-9, atol=1e-12
        )


def test_arrays_that_do_not_fit_are_refused() -> None:
    basis = Basis.up_to("a", 1, 0)
    for blocks, message in (
        ([[[1.0], [0.5]]], r"here \(2, 2, 1\); got \(1, 2, 1\)"),
        (
            [[[1.0], [0.5]], [[0.6], [0.25]]],
            r"row 0 of blocks\[1\] and row 1 of blocks\[0\] belong to the same prefix \(0,\)",
        ),
        ([[[1.0], [np.inf]], [[0.5], [0.25]]], "finite"),
    ):
        with pytest.raises(RecipeError, match=message):
            dense_hankel(blocks, basis)
    with pytest.raises(RecipeError, match="suffix_length must be at least 0; got -1"):
        Basis.up_to(2, 1, -1)
    with pytest.raises(
        RecipeError,
        match="the number of words up to prefix_length 40 must be at most 50,000; got 65,535",
    ):
        Basis.up_to(2, 40, 1)
