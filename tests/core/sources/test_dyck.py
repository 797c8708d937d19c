"""The Dyck grammar against sums over derivations, method.md's numbers, and its own draws."""

from __future__ import annotations

import time
from functools import cache
from math import comb

import numpy as np
import pytest

from nlwfa_core.errors import RecipeError
from nlwfa_core.sources.dyck import ALPHABET, Dyck
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.trie import Trie
from nlwfa_core.strings.words import Word, Words
from tests.references import all_words, bayes_wer

GRAMMARS = [Dyck(), Dyck(0.3, 0.1), Dyck(0.0, 0.5), Dyck(0.2, 0.0), Dyck(0.45, 0.05)]


def strings(max_pairs: int) -> list[str]:
    """All well-bracketed strings, λ left out."""
    by_pairs = [[""]]
    for pairs in range(1, max_pairs + 1):
        by_pairs.append(
            [
                f"[{x}]{y}"
                for inner in range(pairs)
                for x in by_pairs[inner]
                for y in by_pairs[pairs - 1 - inner]
            ]
        )
    return [x for level in by_pairs[1:] for x in level]


def by_derivations(grammar: Dyck, x: str) -> float:
    """P(x) by the rules alone: every first step of a derivation, and every place where S → SS can
    cut.
    """

    @cache
    def weight(x: str) -> float:
        if x == "[]":
            return grammar.leaf
        depths = np.cumsum([1 if c == "[" else -1 for c in x])
        cuts = [place + 1 for place in np.flatnonzero(depths == 0).tolist()[:-1]]
        if not cuts:
            return grammar.wrap * weight(x[1:-1])
        return grammar.split * sum(weight(x[:cut]) * weight(x[cut:]) for cut in cuts)

    return weight(x)


def inside(grammar: Dyck, x: Word) -> float:
    """P(S ⇒ x) by the inside algorithm (Baker 1979) over all spans, knowing nothing of brackets:
    three rules and sums.
    """
    table: dict[tuple[int, int], float] = {}
    for width in range(1, len(x) + 1):
        for i in range(len(x) - width + 1):
            j = i + width
            total = grammar.leaf if x[i:j] == (0, 1) else 0.0
            if width > 2 and (x[i], x[j - 1]) == (0, 1):
                total += grammar.wrap * table[i + 1, j - 1]
            table[i, j] = total + grammar.split * sum(
                table[i, cut] * table[cut, j] for cut in range(i + 1, j)
            )
    return table.get((0, len(x)), 0.0)


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_weights_of_all_strings_are_the_inside_algorithms(grammar: Dyck) -> None:
    words = all_words(2, 10)
    assert len(words) == 2**11 - 1
    weights = grammar.weights(words)
    np.testing.assert_allclose(
        weights, [inside(grammar, word) for word in words], rtol=1e-12, atol=0
    )
    assert (weights > 0).sum() <= 1 + 2 + 5 + 14 + 42


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_weights_are_sums_over_derivations(grammar: Dyck) -> None:
    texts = strings(5)
    assert len(texts) == 1 + 2 + 5 + 14 + 42
    words = Words.of([ALPHABET.encode(text) for text in texts])
    np.testing.assert_allclose(
        grammar.weights(words), [by_derivations(grammar, text) for text in texts], rtol=1e-12
    )


def test_weights_of_what_is_not_in_the_language_are_zero() -> None:
    words = Words.of(
        [ALPHABET.encode(text) for text in ("", "[", "]", "][", "[]]", "[[]", "[]][[]")]
    )
    assert Dyck().weights(words).tolist() == [0] * 7
    assert Dyck().log_weights(words).tolist() == [-np.inf] * 7


def test_long_words_have_a_logarithm() -> None:
    deep = Words.of([(0,) * 4000 + (1,) * 4000])
    assert Dyck().log_weights(deep)[0] == pytest.approx(4000 * np.log(0.4), rel=1e-12)
    assert Dyck().weights(deep)[0] == 0
    # n blocks in a row: Cat(n − 1) sⁿ⁻¹ leafⁿ
    flat = Words.of([(0, 1) * 300])
    assert Dyck().weights(flat)[0] == pytest.approx(
        comb(598, 299) / 300 * 0.2**299 * 0.4**300, rel=1e-10
    )


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_next_symbols_multiply_to_the_probability(grammar: Dyck) -> None:
    texts = strings(5)
    trie = Trie.of(Words.of([ALPHABET.encode(text) for text in texts]), 2)
    scores = grammar.next_scores(trie)
    possible = scores.sum(axis=1) > 0
    np.testing.assert_allclose(scores.sum(axis=1)[possible], 1, rtol=1e-14)
    for index, text in enumerate(texts):
        path = trie.paths[trie.starts[index] : trie.starts[index + 1]]
        product = np.prod(
            [
                scores[node, symbol]
                for node, symbol in zip(path, [*ALPHABET.encode(text), 2], strict=True)
            ]
        )
        assert product == pytest.approx(by_derivations(grammar, text), rel=1e-12)


def test_next_symbols_after_prefixes_by_hand() -> None:
    trie = Trie.of(
        Words.of([ALPHABET.encode(text) for text in ("", "[", "[]", "[[]", "[[][]]", "]", "[]][")]),
        2,
    )
    scores = Dyck().next_scores(trie)[trie.ends].round(12).tolist()
    assert scores == [
        [1, 0, 0],
        [0.5, 0.5, 0],
        [0.2, 0, 0.8],
        [0.2, 0.8, 0],
        [0.2, 0, 0.8],
        [0, 0, 0],
        [0, 0, 0],
    ]
    with pytest.raises(RecipeError, match="the prefix tree has 3 symbols, but the grammar has 2"):
        Dyck().next_scores(Trie.of(Words.of([(0,)]), 3))


def test_continue_probabilities() -> None:
    """method.md §7, and P(N = n) = Cat(n − 1) sⁿ⁻¹ (1 − s)ⁿ summed."""
    np.testing.assert_allclose(
        Dyck().continue_probabilities(6), [0.2, 0.36, 0.431, 0.472, 0.499, 0.518], atol=6e-4
    )
    for split in (0.2, 0.4, 0.49):
        number = np.array(
            [comb(2 * n - 2, n - 1) / n * split ** (n - 1) * (1 - split) ** n for n in range(1, 9)]
        )
        beyond = 1 - np.cumsum(number)
        exact = beyond / (beyond + number)
        np.testing.assert_allclose(Dyck(split, 0).continue_probabilities(8), exact, rtol=1e-11)
        assert Dyck(split, 0).continue_probabilities(5)[-1] == pytest.approx(exact[4], rel=1e-11)
    # their limit
    assert Dyck().continue_probabilities(3000)[-1] == pytest.approx(4 * 0.2 * 0.8, rel=1e-3)
    assert Dyck(1e-12, 0).continue_probabilities(1)[0] == pytest.approx(1e-12, rel=1e-11)


def test_bayes_wer() -> None:
    assert bayes_wer(Dyck()) == pytest.approx(0.332, abs=0.005)
    assert bayes_wer(Dyck(0.0, 0.0)) == 0  # [] alone
    # [ⁿ ]ⁿ: B = 1 / 0.7; wrong is `[` after `[`
    assert bayes_wer(Dyck(0.0, 0.3)) == pytest.approx(0.3 / (2 + 0.7))
    # B = 2.5; wrong is the one `]` after `[`
    assert bayes_wer(Dyck(0.0, 0.6)) == pytest.approx(1 / 6)


def test_bayes_wer_is_what_draws_give() -> None:
    grammar = Dyck(0.25, 0.3)
    words = grammar.sample_words(20_000, seed=5)
    trie = Trie.of(words, 2)
    scores = grammar.next_scores(trie)
    following = np.insert(words.symbols, words.offsets[1:], 2)
    wrong = scores[trie.paths].argmax(axis=1) != following
    assert wrong.mean() == pytest.approx(bayes_wer(grammar), abs=0.005)
    within = following != 2
    wrong = scores[trie.paths, :2].argmax(axis=1) != following
    assert wrong[within].mean() == pytest.approx(bayes_wer(grammar, end=False), abs=0.005)


def test_draws_have_the_right_frequencies() -> None:
    start = time.process_time()
    words = Dyck().sample_words(20_000, seed=0)
    assert time.process_time() - start < 1
    assert len(words) == 20_000 and words.lengths.mean() == pytest.approx(
        Dyck().mean_length, abs=0.3
    )
    sample = Sample.of(words, ALPHABET)
    expected = Dyck().weights(sample.words)
    assert expected.min() > 0
    common = expected > 0.002
    deviation = (sample.frequencies() - expected)[common] / np.sqrt(expected[common] / 20_000)
    assert common.sum() > 10 and np.abs(deviation).max() < 4


def test_draws_follow_the_seed() -> None:
    assert (
        list(Dyck().sample_words(50, seed=1))
        == list(Dyck().sample_words(50, seed=1))
        != list(Dyck().sample_words(50, seed=2))
    )


@pytest.mark.parametrize(
    ("split", "wrap", "message"),
    [
        (-0.1, 0.4, "split must be between 0 and 1; got -0.1"),
        (0.2, 1.5, "wrap must be between 0 and 1; got 1.5"),
        (float("nan"), 0.2, "split must be between 0 and 1; got nan"),
        (0.5, 0.5, r"split \+ wrap must be below 1, so S → .* is possible; got 1"),
        (0.4, 0.2, "the expected number of S's that a rule produces, must be below 1; got 1"),
    ],
)
def test_impossible_grammars_are_refused(split: float, wrap: float, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        Dyck(split, wrap)


def test_draws_out_of_range_are_refused() -> None:
    with pytest.raises(RecipeError, match="num_strings must be at least 1; got 0"):
        Dyck().sample_words(0, seed=0)
    with pytest.raises(RecipeError, match="num_strings must be at most .*; got 2,000,000"):
        Dyck().sample_words(2_000_000, seed=0)
    with pytest.raises(RecipeError, match="a string longer than 20 symbols was drawn"):
        Dyck().sample_words(1000, seed=0, max_length=20)
    with pytest.raises(RecipeError, match="num_strings × mean length"):
        Dyck(0.4999999, 0).sample(100_000, seed=0)
    with pytest.raises(RecipeError, match="a string longer than 10,000 symbols was drawn"):
        Dyck(0.49999, 0).sample(100, seed=0)
