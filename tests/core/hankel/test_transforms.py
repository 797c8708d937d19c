"""Statistics, boundary symbols and transforms against brute force and exact identities."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core.errors import RecipeError
from nlwfa_core.hankel.basis import Basis, select_basis
from nlwfa_core.hankel.boundary import bounded_sample
from nlwfa_core.hankel.estimate import estimate_hankel
from nlwfa_core.hankel.matrix import exact_hankel
from nlwfa_core.hankel.statistics import STATISTICS
from nlwfa_core.hankel.transforms import transformed
from nlwfa_core.learning.assembly import reading_of
from nlwfa_core.learning.fitting import fit
from nlwfa_core.learning.spectral import truncated_svd
from nlwfa_core.models.conversion import to_string_probabilities
from nlwfa_core.models.nlwfa import NLWFA
from nlwfa_core.models.reading import ConditionalReading
from nlwfa_core.models.wfa import WFA
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.trie import Trie
from nlwfa_core.strings.words import Alphabet, Word, Words
from tests.references import (
    REFERENCES,
    Reference,
    all_words,
    closure_words,
    factor_automaton,
    full_basis,
    prefix_automaton,
    suffix_automaton,
)

AB = Alphabet(("a", "b"))
STRINGS = st.lists(st.lists(st.integers(0, 1), max_size=6).map(tuple), min_size=1, max_size=12)
DISTRIBUTIONS = [
    reference for reference in REFERENCES if abs(reference.wfa.total_weight() - 1) < 1e-9
]


def counted(strings: list[Word], statistic: str) -> Counter[Word]:
    """What a statistic counts, by slicing."""
    if statistic == "string":
        return Counter(strings)
    if statistic == "suffix":
        return Counter(x[i:] for x in strings for i in range(len(x) + 1))
    starts = {"prefix": lambda x: [0], "factor": lambda x: range(len(x) + 1)}[statistic]
    return Counter(x[i:j] for x in strings for i in starts(x) for j in range(i, len(x) + 1))


@pytest.mark.parametrize("statistic", STATISTICS)
@given(strings=STRINGS, sizes=st.tuples(st.integers(1, 12), st.integers(1, 12)))
def test_entries_are_what_the_statistic_counts(
    statistic: str, strings: list[Word], sizes: tuple[int, int]
) -> None:
    sample = Sample.of(Words.of(strings), AB)
    hankel = estimate_hankel(sample, select_basis(sample, *sizes, statistic), statistic)
    times = counted(strings, statistic)
    basis = hankel.basis
    dense = hankel.matrix.toarray() * len(strings)
    for row, u in enumerate(basis.prefixes):
        np.testing.assert_allclose(dense[row], [times[u + v] for v in basis.suffixes], atol=1e-9)
        for symbol in range(2):
            shifted = dense[hankel.shifted[row, symbol]]
            np.testing.assert_allclose(
                shifted, [times[(*u, symbol, *v)] for v in basis.suffixes], atol=1e-9
            )


@given(strings=STRINGS, number=st.integers(1, 20))
def test_the_basis_of_factors_holds_the_most_frequent(strings: list[Word], number: int) -> None:
    sample = Sample.of(Words.of(strings), AB)
    times = counted(strings, "factor")
    basis = select_basis(sample, number, number, "factor")
    ranked = sorted(times, key=lambda word: (-times[word], len(word), word))
    assert list(basis.prefixes) == ranked[:number]
    assert (
        list(basis.suffixes)
        == sorted(times, key=lambda word: (min(len(word), 2), -times[word], len(word), word))[
            :number
        ]
    )


@given(strings=STRINGS, number=st.integers(1, 20))
def test_the_basis_of_suffixes_holds_the_most_frequent(strings: list[Word], number: int) -> None:
    sample = Sample.of(Words.of(strings), AB)
    basis = select_basis(sample, number, number, "suffix")
    for words, statistic in ((basis.prefixes, "factor"), (basis.suffixes, "suffix")):
        times = counted(strings, statistic)
        assert (
            list(words) == sorted(times, key=lambda word: (-times[word], len(word), word))[:number]
        )


@given(strings=STRINGS)
def test_suffixes_are_the_prefixes_of_reversed_strings(strings: list[Word]) -> None:
    """A model learned from suffixes is the mirror image of one learned from the prefixes of strings
    read backwards.
    """
    basis = full_basis(2, 2)
    mirrored = [x[::-1] for x in strings]
    learned = []
    for words, statistic in ((strings, "suffix"), (mirrored, "prefix")):
        hankel = estimate_hankel(Sample.of(Words.of(words), AB), basis, statistic)
        learned.append((hankel, truncated_svd(hankel.block, 7).numerical_rank))
    (suffix, rank), (prefix, other) = learned
    flipped = [list(basis.prefixes).index(word[::-1]) for word in basis.prefixes]
    np.testing.assert_allclose(
        suffix.block.toarray(), prefix.block.toarray().T[np.ix_(flipped, flipped)], atol=1e-12
    )
    assert rank == other


def test_boundary_symbols() -> None:
    sample = Sample.of(Words.of([(0, 1), (), (0, 1)]), AB)
    assert list(bounded_sample(sample, "prefix").words) == [(0, 1, 2), (2,)]
    bounded = bounded_sample(sample, "factor")
    assert list(bounded.words) == [(3, 0, 1, 2), (3, 2)] and bounded.alphabet.symbols == (
        "a",
        "b",
        "⊣",
        "⊢",
    )
    assert bounded.counts.tolist() == [2, 1]
    assert bounded_sample(
        Sample.of(Words.of([(0,)]), Alphabet(("⊣",))), "prefix"
    ).alphabet.symbols == ("⊣", "⊣′")
    with pytest.raises(
        RecipeError,
        match="boundary symbols are only for prefix and factor statistics; got 'string'",
    ):
        bounded_sample(sample, "string")


@pytest.mark.parametrize("reference", REFERENCES, ids=repr)
def test_conversions_invert(reference: Reference) -> None:
    wfa = reference.wfa
    words = all_words(reference.wfa.num_symbols, 5)
    for statistic, convert in (
        ("prefix", prefix_automaton),
        ("factor", factor_automaton),
        ("suffix", suffix_automaton),
    ):
        back = to_string_probabilities(convert(wfa), statistic)
        np.testing.assert_allclose(back.weights(words), wfa.weights(words), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("reference", DISTRIBUTIONS, ids=repr)
def test_conversions_are_sums(reference: Reference) -> None:
    """Prefix and factor weights against sums over all strings up to a length; the rest of the sum
    is small.
    """
    wfa = reference.wfa
    longest = 14 if wfa.num_symbols == 1 else 10
    strings = all_words(wfa.num_symbols, longest)
    words = list(all_words(wfa.num_symbols, 2))
    weights = wfa.weights(strings)
    left_out = 1 - weights.sum()
    sums = [
        convert(wfa).weights(Words.of(words))
        for convert in (prefix_automaton, factor_automaton, suffix_automaton)
    ]
    for word, prefix, factor, suffix in zip(words, *sums, strict=True):
        ends = sum(
            weight
            for x, weight in zip(strings, weights, strict=True)
            if x[len(x) - len(word) :] == word
        )
        assert ends - 1e-12 <= suffix <= ends + left_out + 1e-12
        begins = sum(
            weight for x, weight in zip(strings, weights, strict=True) if x[: len(word)] == word
        )
        assert begins - 1e-12 <= prefix <= begins + left_out + 1e-12
        times = sum(
            weight * sum(x[i : i + len(word)] == word for i in range(len(x) - len(word) + 1))
            for x, weight in zip(strings, weights, strict=True)
        )
        assert times - 1e-12 <= factor <= times + 2 * longest * left_out + 1e-9


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("reference", DISTRIBUTIONS, ids=repr)
def test_spectral_learning_recovers_strings_from_every_statistic(
    reference: Reference, statistic: str
) -> None:
    wfa = reference.wfa
    conversions = {
        "prefix": prefix_automaton,
        "factor": factor_automaton,
        "suffix": suffix_automaton,
    }
    convert = {"string": lambda model: model, **conversions}[statistic]
    basis = full_basis(wfa.num_symbols, 4)
    hankel = exact_hankel(convert(wfa).weights, basis, statistic)
    learned = fit(hankel, learner="SP", rank=truncated_svd(hankel.block, 8).numerical_rank).model
    assert isinstance(learned, WFA)
    words = all_words(wfa.num_symbols, 6)
    np.testing.assert_allclose(learned.weights(words), wfa.weights(words), atol=1e-8)


def bounded_weights(wfa: WFA, statistic: str, words: Words) -> np.ndarray:
    """How often words over the alphabet with boundary symbols occur in ⊢x⊣ (or begin x⊣)."""
    end = wfa.num_symbols
    begin = wfa.num_symbols + 1
    prefix = prefix_automaton(wfa)
    factor = factor_automaton(wfa)
    # how often a string ends with a word
    suffix = WFA(factor.initial, wfa.transitions, wfa.termination)

    def weight(word: Word) -> float:
        begins = word[:1] == (begin,) or statistic == "prefix"
        ends = word[-1:] == (end,)
        inner = word[int(word[:1] == (begin,)) : len(word) - ends]
        if any(symbol >= end for symbol in inner):
            return 0.0
        if word == ():  # a place before each symbol, and behind the last, of what is counted in
            mean = factor.weights(Words.of([()]))[0]
            return 1.0 if statistic == "prefix" else float(mean + 2)
        model = {
            (True, True): wfa,
            (True, False): prefix,
            (False, True): suffix,
            (False, False): factor,
        }[begins, ends]
        return float(model.weights(Words.of([inner]))[0])

    return np.array([weight(word) for word in words])


@pytest.mark.parametrize("transform", ["none", "row"])
@pytest.mark.parametrize("statistic", ["prefix", "factor"])
@pytest.mark.parametrize("reference", DISTRIBUTIONS, ids=repr)
def test_linear_maps_with_boundary_symbols_are_exact(
    reference: Reference, statistic: str, transform: str
) -> None:
    """Exact counts, full rank: the strings' probabilities and next symbols come back, raw and row
    by row.
    """
    wfa = reference.wfa
    num_symbols = wfa.num_symbols + 1 + (statistic == "factor")
    basis = full_basis(num_symbols, 3)
    exact = exact_hankel(
        lambda words: bounded_weights(wfa, statistic, words), basis, statistic, bounded=True
    )
    hankel = transformed(exact, transform)
    learned = fit(hankel, learner="SP", rank=min(10, hankel.num_suffixes)).model
    assert isinstance(learned, NLWFA) and learned.num_symbols == wfa.num_symbols
    words = all_words(wfa.num_symbols, 4)
    np.testing.assert_allclose(learned.weights(words), wfa.weights(words), atol=1e-6)
    trie = Trie.of(words, wfa.num_symbols)
    theirs = wfa.next_scores(trie)
    ours = learned.next_scores(trie)
    if transform == "row":
        sums = theirs.sum(axis=1, keepdims=True)
        seen = sums.ravel() > 1e-6
        theirs = theirs[seen] / sums[seen]
        ours = ours[seen]
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_the_square_root_of_a_squared_function_has_its_rank(seed: int) -> None:
    """f² of a WFA of k states has rank up to k (k + 1) / 2; its square root k.

    SP on it gives f² back, squared outputs and all.
    """
    rng = np.random.default_rng(seed)
    k = 3
    basis = full_basis(2, 4)
    wfa = WFA(rng.uniform(size=k), rng.uniform(size=(2, k, k)) / (2 * k), rng.uniform(size=k))
    exact = exact_hankel(lambda words: wfa.weights(words) ** 2, basis)
    assert truncated_svd(exact.block, 10).numerical_rank == k * (k + 1) // 2
    hankel = transformed(exact, "sqrt")
    learned = fit(hankel, learner="SP", rank=k).model
    assert isinstance(learned, NLWFA) and learned.reading.link == "square"
    words = closure_words(basis)
    np.testing.assert_allclose(
        learned.weights(words), wfa.weights(words) ** 2, rtol=1e-6, atol=1e-14
    )
    # What goes on from u within S, in squares of k + 1 numbers instead of |S|.
    trie = Trie.of(basis.prefixes, 2)
    sums = [
        (wfa.weights(Words.of((*u, 0, *v) for v in basis.suffixes)) ** 2).sum()
        for u in trie.prefixes(range(trie.num_nodes))
    ]
    np.testing.assert_allclose(learned.next_scores(trie)[:, 0], sums, rtol=1e-6)


def test_rows_become_conditional_distributions() -> None:
    sample = bounded_sample(Sample.of(Words.of([(0, 1), (0,), (0, 1, 1)]), AB), "prefix")
    hankel = transformed(
        estimate_hankel(sample, select_basis(sample, 10, 10, "prefix"), "prefix", bounded=True),
        "row",
    )
    rows = {
        u: hankel.matrix[[index]].toarray().ravel() for index, u in enumerate(hankel.basis.prefixes)
    }
    columns = {v: index for index, v in enumerate(hankel.basis.suffixes)}
    assert rows[(0,)][[columns[()], columns[(1,)], columns[(2,)]]] == pytest.approx(
        [1, 2 / 3, 1 / 3]
    )
    assert hankel.row_weights is not None and hankel.row_weights[0] == 1
    assert reading_of(hankel) == ConditionalReading()
    output = reading_of(hankel).output_layer(
        np.eye(hankel.num_suffixes), hankel.basis.suffixes, 2, hankel.bounded
    )
    assert rows[(0,)] @ output == pytest.approx([0, 2 / 3, 1 / 3])


def test_rows_of_whole_strings_are_read_by_their_first_symbol() -> None:
    sample = Sample.of(Words.of([(0, 1), (0,), (0, 1, 1)]), AB)
    hankel = transformed(estimate_hankel(sample, select_basis(sample, 10, 10)), "row")
    output = reading_of(hankel).output_layer(
        np.eye(hankel.num_suffixes), hankel.basis.suffixes, 2, hankel.bounded
    )
    row = list(hankel.basis.prefixes).index((0,))
    assert (hankel.matrix[[row]] @ output).ravel() == pytest.approx([0, 2 / 3, 1 / 3])


def test_what_is_refused() -> None:
    hankel = exact_hankel(
        lambda words: words.lengths - 1.0, Basis(Words.of([()]), Words.of([()]), 1)
    )
    with pytest.raises(RecipeError, match="transform must be one of none, sqrt, row; got 'log'"):
        transformed(hankel, "log")
    with pytest.raises(RecipeError, match="because H has negative entries; got 'sqrt'"):
        transformed(hankel, "sqrt")
    factor = exact_hankel(lambda words: words.lengths + 1.0, full_basis(1, 2), "factor")
    with pytest.raises(
        RecipeError, match=r"networks need boundary symbols \(bounded\) with factor statistics"
    ):
        fit(factor, learner="both.non", rank=1)
