"""Uniform model and n-grams against counting by hand and by definition."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core.errors import RecipeError
from nlwfa_core.metrics.evaluate import bits_per_symbol, evaluate
from nlwfa_core.metrics.testset import TestSet
from nlwfa_core.models import ngram
from nlwfa_core.models.model import scaled_weights
from nlwfa_core.models.ngram import SMOOTHINGS, NGram, Uniform
from nlwfa_core.sources.dyck import ALPHABET, Dyck
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.trie import Trie, chain_weights
from nlwfa_core.strings.words import Alphabet, Word, Words
from tests.references import all_words, kneser_ney, witten_bell

AB = Alphabet(("a", "b"))
strings_of = st.lists(st.lists(st.integers(0, 1), max_size=4).map(tuple), min_size=1, max_size=8)


def test_the_uniform_model_by_hand() -> None:
    """Three things can follow: a, b, the end. P(x) = 3^−(|x| + 1)."""
    words = Words.of([(), (0,), (1, 0)])
    np.testing.assert_allclose(Uniform(2).weights(words), [1 / 3, 1 / 9, 1 / 27], rtol=1e-14)
    trie = Trie.of(words, 2)
    np.testing.assert_allclose(
        chain_weights(Uniform(2).next_scores(trie), trie), Uniform(2).weights(words), rtol=1e-14
    )


def test_a_bigram_by_hand() -> None:
    """Strings ab and a. Unigram: a 2, b 1, end 2 of 5, 3 kinds, below it 1/3: p(a) = 3/8, p(b) =
    2/8, p(end) = 3/8.

    At the beginning a 2 of 2, 1 kind: p(a | ⊢) = (2 + 3/8) / 3. After a: b 1, end 1, 2 kinds: p(b |
    a) = (1 + 2 · 2/8) / 4 and p(end | a) = (1 + 2 · 3/8) / 4. After b: end 1, 1 kind: p(end | b) =
    (1 + 3/8) / 2.
    """
    sample = Sample.of(Words.of([(0, 1), (0,)]), AB)
    trie = Trie.of(Words.of([(0, 1)]), 2)
    np.testing.assert_allclose(
        NGram.fit(sample, 1).next_scores(trie), [[3 / 8, 2 / 8, 3 / 8]] * 3, rtol=1e-14
    )
    begin = [19 / 24, 2 / 24, 3 / 24]
    after_a = [6 / 32, 12 / 32, 14 / 32]
    after_b = [3 / 16, 2 / 16, 11 / 16]
    bigram = NGram.fit(sample, 2)
    np.testing.assert_allclose(bigram.next_scores(trie), [begin, after_a, after_b], rtol=1e-14)
    assert bigram.weights(Words.of([(0, 1)]))[0] == pytest.approx(19 / 24 * 12 / 32 * 11 / 16)


@given(strings_of, st.integers(1, 4), st.lists(st.integers(0, 1), max_size=5).map(tuple))
def test_n_grams_are_witten_bell(strings: list[Word], order: int, history: Word) -> None:
    trie = Trie.of(Words.of([history]), 2)
    scores = NGram.fit(Sample.of(Words.of(strings), AB), order).next_scores(trie)[trie.ends[0]]
    np.testing.assert_allclose(
        scores, [witten_bell(strings, 2, order, history, symbol) for symbol in range(3)], rtol=1e-12
    )


def test_a_kneser_ney_bigram_by_hand() -> None:
    """Strings ab, cb, db, da, of which ab is seen twice.

    Symbols before a: the beginning and d; before b: a, c, d; before c and d: the beginning; before
    the end: a and b. So the unigram counts are 2, 3, 1, 1, 2 of 9. Two of them are 1, two are 2,
    one is 3, none is 4: Y = 2 / (2 + 2 · 2) = 1/3, the discounts are 1 − 2Y = 1/3, 2 − 3Y/2 = 3/2
    and 3 − 0 = 3, and their sum 2/3 + 3 + 3 = 20/3. p(a) = (2 − 3/2 + 20/3 / 5) / 9 = 11/54. After
    d: a 1, b 1. Of the bigrams, ⊢a 2, ⊢c 1, ⊢d 2, ab 2, cb 1, da 1, db 1, a end 1, b end 4: five
    are 1, three 2, none 3, so the usual discounts are used, 1/2 each: p(a | d) = (1 − 1/2 + p(a)) /
    2 = 19/54.
    """
    sample = Sample.of(Words.of([(0, 1), (0, 1), (2, 1), (3, 1), (3, 0)]), Alphabet(tuple("abcd")))
    trie = Trie.of(Words.of([(3,)]), 4)
    scores = NGram.fit(sample, 2, "kneser-ney").next_scores(trie)
    assert scores[trie.ends[0], 0] == pytest.approx(19 / 54, rel=1e-14)


def test_a_discount_below_0_is_the_usual_one() -> None:
    """String abbcccdddeeefff: two of a and the end are 1, b is 2, the four others are 3, none is 4.
    So Y = 2 / (2 + 2 · 1) = 1/2, and the discounts are 1 − 2Y/2 = 1/2, 2 − 3Y · 4 = −4, in whose
    place stands 1, and 3. Their sum is 2/2 + 1 + 4 · 3 = 14, of which each of 7 outcomes has 2.
    """
    word = tuple(np.repeat(range(6), (1, 2, 3, 3, 3, 3)).tolist())
    sample = Sample.of(Words.of([word]), Alphabet(tuple("abcdef")))
    scores = NGram.fit(sample, 1, "kneser-ney").next_scores(Trie.of(Words.of([()]), 6))[0]
    assert scores == pytest.approx(np.array([2.5, 3, 2, 2, 2, 2, 2.5]) / 16, rel=1e-14)


@given(strings_of, st.integers(1, 4), st.lists(st.integers(0, 1), max_size=5).map(tuple))
def test_n_grams_are_kneser_ney(strings: list[Word], order: int, history: Word) -> None:
    trie = Trie.of(Words.of([history]), 2)
    scores = NGram.fit(Sample.of(Words.of(strings), AB), order, "kneser-ney").next_scores(trie)[
        trie.ends[0]
    ]
    expected = [float(kneser_ney(strings, 2, order, history, symbol)) for symbol in range(3)]
    np.testing.assert_allclose(scores, expected, rtol=1e-10)


def test_kneser_ney_on_a_larger_sample() -> None:
    """Here all discounts are estimated, and differ by length."""
    strings = [tuple(word) for word in Dyck().sample_words(300, 4)]
    sample = Sample.of(Words.of(strings), ALPHABET)
    trie = Trie.of(Words.of([(0, 0, 1, 0), (0, 1, 0, 1)]), 2)
    scores = NGram.fit(sample, 4, "kneser-ney").next_scores(trie)[trie.ends]
    for row, history in zip(scores, [(0, 0, 1, 0), (0, 1, 0, 1)], strict=True):
        np.testing.assert_allclose(
            row,
            [float(kneser_ney(strings, 2, 4, history, symbol)) for symbol in range(3)],
            rtol=1e-10,
        )


def test_kneser_ney_is_better_on_words_with_rare_parts() -> None:
    """Words of a Zipfian vocabulary: what is seen once is rarely seen again, and Kneser–Ney
    smoothing knows where it can occur.
    """
    rng = np.random.default_rng(5)
    vocabulary = [tuple(rng.integers(0, 26, rng.integers(3, 9)).tolist()) for _ in range(3000)]
    shares = 1 / np.arange(1, len(vocabulary) + 1)
    drawn = rng.choice(len(vocabulary), 4000, p=shares / shares.sum())
    alphabet = Alphabet(tuple("abcdefghijklmnopqrstuvwxyz"))
    train, test = (
        Sample.of(Words.of(vocabulary[i] for i in part), alphabet)
        for part in (drawn[:3000], drawn[3000:])
    )
    witten, kneser = (
        bits_per_symbol(NGram.fit(train, 4, smoothing), test) for smoothing in SMOOTHINGS
    )
    assert kneser < witten - 0.02


@pytest.mark.parametrize("order", [1, 2, 5])
@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_windows_are_all_that_a_model_counts(order: int, smoothing: str) -> None:
    sample = Dyck().sample(50, 1)
    model = NGram.fit(sample, order, smoothing)
    windows, totals = model.windows
    assert totals.sum() == sample.counts @ (sample.words.lengths + 1) and len(
        np.unique(windows, axis=0)
    ) == len(windows)
    again = NGram.of_windows(windows, totals, 2, smoothing, ALPHABET)
    words = all_words(2, 6)
    assert again.weights(words).tobytes() == model.weights(words).tobytes()


@pytest.mark.parametrize(
    ("window", "total"),
    [
        ((-1, 2, 0), 0.0),  # a count of 0
        ((-1, 2, 0), 1.5),
        ((-1, 2, 0), 2.0**60),
        ((-1, 2, -1), 1.0),  # nothing is last
        ((-1, 2, 3), 1.0),  # not in the alphabet
        ((3, 0, 0), 1.0),
        ((-1, 0, 0), 1.0),  # nothing before a symbol
        ((2, -1, 0), 1.0),  # nothing after the beginning
        ((0, 2, 0), 1.0),  # the beginning after a symbol
        ((-1, -1, 0), 1.0),  # no beginning
        ((2, 2, 0), 1.0),
    ],
)
def test_impossible_windows_are_refused(window: tuple[int, ...], total: float) -> None:
    rows = np.array([(2, 0, 1), window])
    with pytest.raises(
        RecipeError, match="must be part of a string, with a whole number of occurrences; got"
    ):
        NGram.of_windows(rows, np.array([1.0, total]), 2)
    with pytest.raises(RecipeError, match="must have the shape"):
        NGram.of_windows(rows, np.array([1.0]), 2)


@given(
    st.lists(st.lists(st.integers(0, 4), max_size=6).map(tuple), min_size=1),
    st.integers(1, 5),
    st.integers(2, 300),
)
def test_windows_are_counted_where_they_stand(
    strings: list[Word], order: int, largest_key: int
) -> None:
    """Also where the numbers of the windows do not fit into 64 bits, and are replaced by ranks."""
    sample = Sample.of(Words.of(strings), Alphabet(tuple("abcde")))
    expected = Counter(
        tuple(((-1,) * order + (5,) + word + (5,))[end - order : end])
        for word in strings
        for end in range(order + 2, order + 3 + len(word))
    )
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(ngram, "LARGEST_KEY", largest_key)
        windows, totals = ngram._windows(sample, order)
    assert dict(zip(map(tuple, windows.tolist()), totals.tolist(), strict=True)) == expected


@given(strings_of, st.integers(1, 5), st.sampled_from(sorted(SMOOTHINGS)))
def test_n_grams_are_distributions(strings: list[Word], order: int, smoothing: str) -> None:
    """What follows a prefix sums to 1; so all strings up to a length, and all prefixes one longer,
    sum to 1 too.
    """
    model = NGram.fit(Sample.of(Words.of(strings), AB), order, smoothing)
    words = all_words(2, 5)
    trie = Trie.of(words, 2)
    scores = model.next_scores(trie)
    np.testing.assert_allclose(scores.sum(axis=1), 1, rtol=1e-12)
    assert scores.min() > 0
    weights = model.weights(words)
    longest = words.lengths == 5
    beyond = weights[longest] / scores[longest, -1] * (1 - scores[longest, -1])
    assert weights.sum() + beyond.sum() == pytest.approx(1)


def test_longer_histories_know_the_brackets_better() -> None:
    train, test = (Dyck().sample_words(5000, seed) for seed in (0, 1))
    sample = Sample.of(train, ALPHABET)
    bits = [-np.log2(NGram.fit(sample, order).weights(test)).mean() for order in (1, 2, 4)]
    true = -np.log2(Dyck().weights(test)).mean()
    assert bits[0] > bits[1] > bits[2] > true


def test_what_can_not_be_counted_is_refused() -> None:
    with pytest.raises(RecipeError, match="n-gram order must be at least 1; got 0"):
        NGram.fit(Sample.of(Words.of([(0,)]), AB), 0)
    with pytest.raises(
        RecipeError, match="smoothing must be one of witten-bell, kneser-ney; got 'none'"
    ):
        NGram.fit(Sample.of(Words.of([(0,)]), AB), 1, "none")
    with pytest.raises(RecipeError, match="the sample has none"):
        NGram.fit(Sample.of(Words.of([]), AB), 2)


@pytest.mark.parametrize("order", [0, 1, 3])
def test_long_strings_are_no_zeros(order: int) -> None:
    """0.3 to the 1,500th power is below what a double holds; its logarithm is not.

    The better model has the better score.
    """
    rng = np.random.default_rng(0)
    words = Words.of(tuple(rng.integers(0, 2, size).tolist()) for size in (1100, 1500, 3))
    sample = Sample.of(words, AB)
    model = NGram.fit(sample, order) if order else Uniform(2)
    assert model.weights(words)[:2].tolist() == [0, 0]
    logs = model.log2_weights(words)
    assert (
        logs[2] == pytest.approx(np.log2(model.weights(words)[2]), rel=1e-12)
        and np.isfinite(logs).all()
    )
    scores = evaluate(model, TestSet.empirical(sample))
    assert (
        scores.num_zero == 0
        and np.isfinite(scores.log2_pauto)
        and np.isfinite(scores.bits_per_symbol)
    )
    numbers, exponents = scaled_weights(model, words)
    np.testing.assert_allclose(np.log2(numbers) + exponents, logs, rtol=1e-12)
    # P* is 1/3 for each; nearly all of the model's mass is on the short string.
    shares = logs - logs.max()
    assert scores.log2_pauto == pytest.approx(-shares.mean(), rel=1e-9)
