"""Mixtures: a direct sum of automata, sums of other models, weights by EM, and folders."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from nlwfa_core import limits
from nlwfa_core.errors import RecipeError
from nlwfa_core.hankel.basis import select_basis
from nlwfa_core.hankel.estimate import estimate_hankel
from nlwfa_core.learning.fitting import fit
from nlwfa_core.metrics.evaluate import bits_per_symbol, evaluate
from nlwfa_core.metrics.testset import TestSet
from nlwfa_core.models.mixture import (
    Mixture,
    fit_mixture,
    mixed_log2_probabilities,
    mixture,
    mixture_weights,
)
from nlwfa_core.models.model import Model, next_distributions
from nlwfa_core.models.model_files import load, load_info, save
from nlwfa_core.models.ngram import NGram, Uniform
from nlwfa_core.models.recurrent import GATES, RecurrentModel
from nlwfa_core.models.sampling import draw
from nlwfa_core.models.wfa import WFA
from nlwfa_core.sources.random_automata import sample_words
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.trie import Trie
from nlwfa_core.strings.words import Alphabet, Words
from tests.references import all_words

AB = Alphabet(("a", "b"))
# Two automata with one and with two states; the total weight of both is 1.
COIN = WFA([1.0], [[[0.3]], [[0.5]]], [0.2], AB)
TURNS = WFA([0.9, 0.1], [[[0.6, 0.0], [0.3, 0.0]], [[0.0, 0.4], [0.0, 0.2]]], [0.0, 0.5], AB)
TRAIN = Sample.of(sample_words(TURNS, 300, 0), AB)
WORDS = all_words(2, 5)


def gru(seed: int) -> RecurrentModel:
    wide = 2 * GATES["GRU"]
    normal = np.random.default_rng(seed).normal
    return RecurrentModel(
        "GRU",
        *(normal(size=shape) for shape in ((3, wide), (2, wide), (wide,), (2, 3), (3,))),
        alphabet=AB,
    )


def network() -> Model:
    hankel = estimate_hankel(TRAIN, select_basis(TRAIN, 10, 10))
    return fit(hankel, "fac.non", rank=2, epochs_factorisation=5).model


@pytest.fixture(scope="module")
def models() -> dict[str, Model]:
    return {
        "COIN": COIN,
        "TURNS": TURNS,
        "GRU": gru(0),
        "3-gram": NGram.fit(TRAIN, 3),
        "fac.non": network(),
    }


def test_a_mixture_of_automata_is_their_direct_sum() -> None:
    both = mixture([COIN, TURNS], [0.25, 0.75])
    assert isinstance(both, WFA) and both.num_states == 3 and both.alphabet == AB
    assert both.initial.tolist() == pytest.approx([0.25, 0.675, 0.075])
    assert both.transitions[0].tolist() == [[0.3, 0, 0], [0, 0.6, 0], [0, 0.3, 0]]
    assert both.termination.tolist() == [0.2, 0, 0.5]
    np.testing.assert_allclose(
        both.weights(WORDS), 0.25 * COIN.weights(WORDS) + 0.75 * TURNS.weights(WORDS), rtol=1e-12
    )
    assert both.total_weight() == pytest.approx(1)
    equal = mixture([COIN, TURNS])
    np.testing.assert_allclose(
        equal.weights(WORDS), (COIN.weights(WORDS) + TURNS.weights(WORDS)) / 2, rtol=1e-12
    )
    assert mixture([COIN, TURNS], [0, 1]).num_states == 2  # a model without weight is left out


@pytest.mark.parametrize(
    "pair", [("COIN", "GRU"), ("GRU", "3-gram"), ("fac.non", "TURNS"), ("COIN", "TURNS")]
)
def test_weights_and_next_symbols_of_a_mixture_are_weighted_sums(
    pair: tuple[str, str], models: dict[str, Model]
) -> None:
    one, other = (models[name] for name in pair)
    both = Mixture((one, other), np.array([0.25, 0.75]), alphabet=AB)
    expected = 0.25 * one.weights(WORDS) + 0.75 * other.weights(WORDS)
    np.testing.assert_allclose(both.weights(WORDS), expected, rtol=1e-12, atol=1e-15)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(both.log2_weights(WORDS), np.log2(np.abs(expected)), rtol=1e-9)
    trie = Trie.of(WORDS, 2)
    scores = both.next_scores(trie)
    np.testing.assert_allclose(scores[trie.ends, -1], expected, rtol=1e-9, atol=1e-15)
    # of distributions: the scores after u sum to the probability of all that begins with u
    if "fac.non" not in pair:
        np.testing.assert_allclose(scores[0].sum(), 1, atol=1e-9)
        np.testing.assert_allclose(
            scores[1:].sum(axis=1), scores[trie.parent[1:], trie.symbol[1:]], rtol=1e-9
        )


def test_a_direct_sum_and_a_mixture_of_the_same_automata_agree() -> None:
    automaton = mixture([COIN, TURNS], [0.4, 0.6])
    other = Mixture((COIN, TURNS), np.array([0.4, 0.6]), alphabet=AB)
    test = TestSet.as_drawn(TRAIN.words, COIN.weights(TRAIN.words), TRAIN)
    ours = evaluate(other, test)
    theirs = evaluate(automaton, test)
    assert (ours.log2_pauto, ours.bits_per_symbol) == pytest.approx(
        (theirs.log2_pauto, theirs.bits_per_symbol), rel=1e-12
    )
    assert ours.wer == theirs.wer
    assert list(draw(other, 200, 0).words) == list(draw(automaton, 200, 0).words)


def test_long_strings_do_not_underflow() -> None:
    long = Words.of([(0,) * 5000, (1, 0) * 2000])
    short = WFA([1.0], [[[0.001]], [[0.001]]], [0.998], AB)
    both = Mixture((COIN, gru(1), short), np.array([0.5, 0.25, 0.25]), alphabet=AB)
    expected = np.logaddexp2(COIN.log2_weights(long) - 1, gru(1).log2_weights(long) - 2)
    np.testing.assert_allclose(both.log2_weights(long), expected, rtol=1e-9)
    shares = next_distributions(both.scaled_next_scores(Trie.of(long, 2))[0])
    np.testing.assert_allclose(shares.sum(axis=1), 1)


# By symbol


def test_next_symbols_are_mixed_by_hand() -> None:
    """One prefix at a time, and the weight of a string as the product of its symbols' probabilities
    and that of the end.
    """
    both = mixture([COIN, TURNS], [0.25, 0.75], level="symbol")
    assert isinstance(both, Mixture) and both.num_states == 3 and both.is_chain
    for prefix in ((), (0,), (0, 0, 1), (1, 1)):
        coin, turns, mixed = (list(model.next(prefix).values()) for model in (COIN, TURNS, both))
        assert mixed == pytest.approx(
            [0.25 * one + 0.75 * other for one, other in zip(coin, turns, strict=True)], rel=1e-12
        )
    probability = 1.0
    for position, symbol in enumerate((0, 1, 1)):
        probability *= both.next((0, 1, 1)[:position])["ab"[symbol]]
    assert both((0, 1, 1)) == pytest.approx(probability * both.next((0, 1, 1))["end"], rel=1e-12)


@pytest.mark.parametrize("pair", [("COIN", "GRU"), ("GRU", "3-gram"), ("COIN", "TURNS")])
def test_a_mixture_by_symbol_is_a_distribution(
    pair: tuple[str, str], models: dict[str, Model]
) -> None:
    """The strings up to a length, and all that begins with a longer prefix, sum to 1."""
    both = mixture([models[name] for name in pair], [0.4, 0.6], level="symbol")
    trie = Trie.of(WORDS, 2)
    scores = both.next_scores(trie)
    np.testing.assert_allclose(scores.sum(axis=1), 1, rtol=1e-12)
    weights = both.weights(WORDS)
    longest = WORDS.lengths == 5
    beyond = (
        weights[longest] / scores[trie.ends][longest, -1] * (1 - scores[trie.ends][longest, -1])
    )
    assert weights.sum() + beyond.sum() == pytest.approx(1)
    np.testing.assert_allclose(both.log2_weights(WORDS), np.log2(weights), rtol=1e-9)  # type: ignore[union-attr]


def test_a_model_that_knows_a_prefix_to_be_impossible_leaves_it_to_the_others() -> None:
    only_a = WFA([1.0], [[[0.5]], [[0.0]]], [0.5], AB)
    both = mixture([only_a, COIN], [0.5, 0.5], level="symbol")
    assert both.next("") == pytest.approx({"a": 0.4, "b": 0.25, "end": 0.35})
    assert both.next("b") == pytest.approx({"a": 0.3, "b": 0.5, "end": 0.2})
    long = Words.of([(0,) * 5000])
    logs = both.log2_weights(long)  # type: ignore[union-attr]
    assert both.weights(long)[0] == 0 and logs[0] == pytest.approx(
        5000 * np.log2(0.4) + np.log2(0.35)
    )


def test_weights_by_symbol_are_the_best_on_a_grid() -> None:
    validation = Sample.of(sample_words(TURNS, 500, 3), AB)
    parts = [NGram.fit(TRAIN, 1), NGram.fit(TRAIN, 2), NGram.fit(TRAIN, 4)]
    model, weights = fit_mixture(parts, validation, "symbol")
    assert isinstance(model, Mixture) and model.level == "symbol"

    def bits(shares: list[float]) -> float:
        return bits_per_symbol(mixture(parts, shares, level="symbol"), validation)

    grid = [[a / 20, b / 20, (20 - a - b) / 20] for a in range(21) for b in range(21 - a)]
    assert bits_per_symbol(model, validation) <= min(map(bits, grid)) + 1e-9
    assert weights.sum() == pytest.approx(1)


def test_mixtures_of_two_levels(tmp_path: Path, models: dict[str, Model]) -> None:
    by_symbol = mixture([COIN, models["3-gram"]], [0.5, 0.5], level="symbol")
    save(by_symbol, tmp_path / "one", alphabet=AB)
    loaded = load(tmp_path / "one")
    assert isinstance(loaded, Mixture) and loaded.level == "symbol"
    assert loaded.weights(WORDS).tolist() == by_symbol.weights(WORDS).tolist()
    assert len(mixture([by_symbol, TURNS], level="symbol").models) == 3  # type: ignore[union-attr]
    nested = mixture([by_symbol, TURNS], [0.25, 0.75])
    np.testing.assert_allclose(
        nested.weights(WORDS),
        0.25 * by_symbol.weights(WORDS) + 0.75 * TURNS.weights(WORDS),
        rtol=1e-9,
    )
    assert isinstance(nested, Mixture) and len(nested.models) == 2
    with pytest.raises(TypeError, match="a mixture that holds mixtures of another level can't be"):
        save(nested, tmp_path / "two", alphabet=AB)
    header = json.loads((tmp_path / "one" / "model.json").read_text())
    (tmp_path / "one" / "model.json").write_text(json.dumps(header | {"level": "word"}))
    with pytest.raises(RecipeError, match="level must be one of string, symbol; got 'word'"):
        load(tmp_path / "one")


def test_influences_are_the_probabilities_of_the_drawer() -> None:
    """Of two coins, P(a^i b^j Σ*) = a^i b^j; so by Bayes the first has the share 0.2 · 0.3^i 0.5^j
    over the sum of both.
    """
    other = WFA([1.0], [[[0.6]], [[0.1]]], [0.3], AB)
    trie = Trie.of(Words.of([(0, 0, 1), (0,) * 3000]), 2)
    both = Mixture((COIN, other), np.array([0.2, 0.8]), alphabet=AB)
    nodes = [0, *trie.paths[:4].tolist()]
    prefixes = [(0, 0), (0, 0), (1, 0), (2, 0), (2, 1)]
    for node, (i, j) in zip(nodes, prefixes, strict=True):
        one = 0.2 * 0.3**i * 0.5**j
        two = 0.8 * 0.6**i * 0.1**j
        assert both.influences(trie)[node].tolist() == pytest.approx(
            [one / (one + two), two / (one + two)], rel=1e-9
        )
    assert both.influences(trie)[trie.ends[1]].tolist() == pytest.approx(
        [0, 1]
    )  # 2 to the power of −3000 is not 0, but rounds to it
    by_symbol = Mixture((COIN, other), np.array([0.2, 0.8]), alphabet=AB, level="symbol")
    np.testing.assert_allclose(by_symbol.influences(trie), np.tile([0.2, 0.8], (trie.num_nodes, 1)))
    only_a = WFA([1.0], [[[0.5]], [[0.0]]], [0.5], AB)
    for level in ("string", "symbol"):
        two = Mixture((only_a, COIN), np.array([0.5, 0.5]), alphabet=AB, level=level)
        assert two.influences(trie)[trie.ends[0]].tolist() == [0, 1]


# Weights


@given(
    st.lists(st.tuples(st.floats(1e-3, 1), st.floats(1e-3, 1)), min_size=1, max_size=6),
    st.integers(0, 99),
)
def test_em_finds_the_weights_with_the_largest_likelihood(
    rows: list[tuple[float, float]], seed: int
) -> None:
    """Against a search on the line between two models."""
    chances = np.array(rows)
    counts = np.random.default_rng(seed).integers(1, 9, len(rows))

    def loss(share: float) -> float:
        return -float(counts @ np.log(chances @ [share, 1 - share]))

    best = minimize_scalar(loss, bounds=(0, 1), method="bounded", options={"xatol": 1e-10})
    assert (
        loss(float(mixture_weights(np.log2(chances), counts)[0]))
        <= min(best.fun, loss(0), loss(1)) + 1e-4 * counts.sum()
    )


def test_weights_are_those_of_the_mixture_that_drew_the_strings() -> None:
    both = mixture([COIN, TURNS], [0.3, 0.7])
    assert isinstance(both, WFA)
    validation = Sample.of(sample_words(both, 20_000, 1), AB)
    model, weights = fit_mixture([COIN, TURNS, Uniform(2)], validation)
    np.testing.assert_allclose(weights, [0.3, 0.7, 0], atol=0.03)
    assert weights.sum() == pytest.approx(1) and isinstance(model, WFA | Mixture)
    alone, one = fit_mixture([TURNS], validation)
    assert one.tolist() == [1] and alone.num_states == 2


def test_negative_weights_and_impossible_strings_count_as_0() -> None:
    negative = WFA([1.0], [[[0.5]], [[-0.5]]], [0.5], AB)
    validation = Sample.of(Words.of([(1,), (0,), (0, 0)]), AB)
    _, weights = fit_mixture([negative, COIN], validation)
    assert 0 < weights[0] < 1
    nothing = WFA([0.0], [[[0.5]], [[0.5]]], [0.5], AB)
    assert fit_mixture([nothing, COIN], validation)[1].tolist() == [0, 1]
    with pytest.raises(
        RecipeError,
        match="no model gives any of the validation strings a positive weight.*got 3 distinct "
        "strings",
    ):
        fit_mixture([nothing], validation)


def test_mixtures_come_back_from_their_folders(tmp_path: Path, models: dict[str, Model]) -> None:
    inner = mixture([models["GRU"], models["fac.non"]], [0.5, 0.5])
    both = mixture([inner, COIN], [0.6, 0.4])
    assert (
        isinstance(both, Mixture)
        and both.shares.tolist() == pytest.approx([0.3, 0.3, 0.4])
        and both.num_states == 5
    )
    save(both, tmp_path, {"from": "a test"}, alphabet=AB)
    loaded = load(tmp_path)
    assert (
        isinstance(loaded, Mixture)
        and load_info(tmp_path) == {"from": "a test"}
        and loaded.alphabet == AB
    )
    assert loaded.weights(WORDS).tolist() == both.weights(WORDS).tolist()
    trie = Trie.of(WORDS, 2)
    assert loaded.next_scores(trie).tolist() == both.next_scores(trie).tolist()
    header = json.loads((tmp_path / "model.json").read_text())
    assert header["kind"] == "mixture" and [part["kind"] for part in header["models"]] == [
        "GRU",
        "NLWFA",
        "WFA",
    ]
    counted = mixture([models["3-gram"], COIN], [0.25, 0.75])
    save(counted, tmp_path / "counted", alphabet=AB)
    assert load(tmp_path / "counted").weights(WORDS).tolist() == counted.weights(WORDS).tolist()
    with pytest.raises(
        TypeError, match="models is one of WFA, NLWFA, RecurrentModel, NGram; got Uniform"
    ):
        save(mixture([Uniform(2), COIN]), tmp_path, alphabet=AB)
    for change, message in (
        ({"models": []}, "a mixture needs at least one model; got none"),
        ({"models": 3}, "models must be a list; got 3"),
        (
            {"models": header["models"][:2]},
            "a mixture needs a weight for each of its models \\(2\\)",
        ),
        ({"models": [*header["models"], {"kind": "WFA"}]}, "lacks 'initial'"),
        ({"models": [{"kind": "mixture"}]}, "kind must be one of .*; got 'mixture'"),
    ):
        (tmp_path / "model.json").write_text(json.dumps(header | change))
        with pytest.raises(RecipeError, match=message):
            load(tmp_path)


def test_a_direct_sum_has_at_most_the_numbers_of_an_automaton(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One state and two: 2 symbols × 3² states."""
    monkeypatch.setitem(limits.IN_FORCE, "transition_numbers", 17)
    with pytest.raises(RecipeError, match="of a mixture must be at most 17; got 18"):
        mixture([COIN, TURNS])


def test_impossible_mixtures_are_refused() -> None:
    other = WFA([1.0], [[[0.5]]], [0.5])
    swapped = WFA([1.0], [[[0.3]], [[0.5]]], [0.2], Alphabet(("b", "a")))
    cases: tuple[tuple[list[WFA], list[float] | None, str], ...] = (
        ([], None, "a mixture needs at least one model; got none"),
        ([COIN, TURNS], [1.0], "a mixture needs a weight for each of its models \\(2\\)"),
        (
            [COIN, TURNS],
            [0.5, 0.6],
            "weights of a mixture must be at least 0 and sum to 1; got 0.5, 0.6",
        ),
        ([COIN, TURNS], [-0.5, 1.5], "at least 0 and sum to 1; got -0.5, 1.5"),
        ([COIN, TURNS], [float("nan"), 1], "at least 0 and sum to 1; got nan, 1"),
        ([COIN, other], None, "must have the same symbols; got 2 symbols and 1 symbol"),
        ([COIN, swapped], None, "must have the same symbols in the same order"),
    )
    for models, weights, message in cases:
        with pytest.raises(RecipeError, match=message):
            mixture(models, weights)


def test_a_model_of_weight_0_does_not_matter() -> None:
    """Even where its weights overflow, or are so large that the others' would be lost beside
    them.
    """
    small = WFA([1], [[[0.5]]], [0.5])
    huge = WFA([1], [[[2.0]]], [1.0])
    words = Words.of([(0,) * 3000])
    for level in ("string", "symbol"):
        mixed = Mixture((small, huge), np.array([1.0, 0.0]), level=level)
        assert mixed.weights(words).tolist() == small.weights(words).tolist() == [0.0]
        assert (
            mixed.log2_weights(words).tolist()
            == small.log2_weights(words).tolist()
            == pytest.approx([-3001])
        )
        assert mixed.influences(Trie.of(words, 1)).tolist() == [[1.0, 0.0]] * 3001


def test_a_negative_weight_that_is_too_small_for_a_float_counts_as_0() -> None:
    negative = WFA([-1], [[[0.5]]], [0.5])
    positive = WFA([1], [[[0.4]]], [0.6])
    for length in (5, 3000):
        _, weights = fit_mixture(
            [negative, positive], Sample.of(Words.of([(0,) * length]), Alphabet(("a",)))
        )
        assert weights.tolist() == [0.0, 1.0]


def test_words_that_no_model_allows_do_not_change_the_weights() -> None:
    logs = np.array([[0.0, -1.0], [-np.inf, -np.inf], [-2.0, -1.0]])
    counts = np.array([3, 50, 2])
    assert (
        mixture_weights(logs, counts).tolist()
        == mixture_weights(logs[[0, 2]], counts[[0, 2]]).tolist()
    )
    shares = np.array([0.25, 0.75])
    assert mixed_log2_probabilities(logs, shares).tolist() == pytest.approx(
        [np.log2(0.625), -np.inf, np.log2(0.4375)]
    )
