"""NDCG@5 and the distance between next-symbol distributions, by hand and against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import rel_entr
from sklearn.metrics import ndcg_score

from nlwfa_core.metrics.evaluate import evaluate
from nlwfa_core.metrics.next_symbols import NextSymbolScore, score_next
from nlwfa_core.metrics.testset import TestSet
from nlwfa_core.models.model import Model
from nlwfa_core.models.ngram import Uniform
from nlwfa_core.sources.dyck import ALPHABET, Dyck
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.trie import Trie
from nlwfa_core.strings.words import Alphabet, FloatArray, Words
from tests.references import COIN, ring

LAMBDA = Words.of([()])  # one prefix, one prediction: the end


def one_prediction(
    scores: list[float], truth: list[float] | None = None, floor: float = 0.0
) -> NextSymbolScore:
    """Scores on the empty string alone."""
    trie = Trie.of(LAMBDA, len(scores) - 1)
    return score_next(
        np.array([scores], dtype=float),
        trie,
        np.array([1]),
        floor,
        None if truth is None else np.array([truth]),
    )


@pytest.mark.parametrize(
    ("scores", "gain"),
    [
        ((1, 2, 3), 1.0),  # the end comes first
        ((1, 3, 2), 1 / np.log2(3)),
        ((3, 2, 1), 1 / np.log2(4)),
        ((1, 1, 1), (1 + 1 / np.log2(3) + 1 / np.log2(4)) / 3),  # a tie: first, second or third
        ((2, 1, 1), (1 / np.log2(3) + 1 / np.log2(4)) / 2),  # second or third
        # two of seven are not among five
        ((1, 1, 1, 1, 1, 1, 1), (1 / np.log2(np.arange(2, 7))).sum() / 7),
        ((2, 1 + 1e-15, 1), (1 / np.log2(3) + 1 / np.log2(4)) / 2),  # equal but for rounding
        ((6, 5, 4, 3, 2, 1), 0.0),  # sixth: not among five
        ((6, 5, 4, 3, 1, 2), 1 / np.log2(6)),
        ((-1, -2, -1.5), 1 / np.log2(3)),
    ],
)
def test_the_rank_of_what_followed_decides(scores: tuple[float, ...], gain: float) -> None:
    assert one_prediction(list(scores)).ndcg5 == pytest.approx(gain)


def test_gains_over_strings_by_hand() -> None:
    """Ranked everywhere: b, end, a.

    After λ come a, a, end: third, third, second; after a b, end: first, second; after ab end.
    """
    trie = Trie.of(Words.of([(0, 1), (0,), ()]), 2)
    scores = np.tile([1.0, 3.0, 2.0], (trie.num_nodes, 1))
    second = 1 / np.log2(3)
    third = 1 / 2
    expected = (2 * third + second + 1 + second + second) / 6
    assert score_next(scores, trie, np.array([1, 1, 1])).ndcg5 == pytest.approx(expected)


def test_the_truth_has_scores_of_its_own() -> None:
    """p = (0.5, 0.3, 0.2), ranked b, a, end: (0.3 + 0.5 / log₂ 3 + 0.2 / 2) / (0.5 + 0.3 / log₂ 3 +
    0.2 / 2).
    """
    score = one_prediction([2, 3, 1], [0.5, 0.3, 0.2])
    assert score.ndcg5_true == pytest.approx((0.4 + 0.5 / np.log2(3)) / (0.6 + 0.3 / np.log2(3)))
    assert score.ndcg5 == pytest.approx(1 / 2)  # the end followed, and is third
    p = np.array([0.5, 0.3, 0.2])
    q = np.array([2, 3, 1]) / 6
    assert score.next_kl == pytest.approx(rel_entr(p, q).sum() / np.log(2))


rows = st.integers(2, 9).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(1, 10**6), min_size=n, max_size=n, unique=True)] * 2)
)


@given(rows)
def test_gains_are_those_of_scikit_learn(pair: tuple[list[int], list[int]]) -> None:
    scores, truth = pair
    ours = one_prediction(
        [float(x) for x in scores], (np.array(truth) / sum(truth)).tolist()
    ).ndcg5_true
    assert ours == pytest.approx(ndcg_score([truth], [scores], k=5))


def test_distances_of_next_symbols_at_the_edges() -> None:
    assert one_prediction([1, 2, 1], [0.25, 0.5, 0.25]).next_kl == 0
    assert one_prediction([1, 0, 1], [0.5, 0, 0.5]).next_kl == 0
    assert one_prediction([1, 0, 1], [0.5, 0.25, 0.25]).next_kl == np.inf
    assert one_prediction([0, 0, 0], [0.5, 0, 0.5]).next_kl == np.inf
    assert one_prediction([0, 0, 0], [0.5, 0, 0.5], floor=0.1).next_kl == pytest.approx(
        np.log2(3) - 1
    )
    lost = one_prediction([np.nan, 1, 1], [0.5, 0, 0.5])
    assert lost.next_kl is not None and np.isnan(lost.next_kl)
    unknown = one_prediction([1, 1, 1], [np.nan] * 3)  # the truth gives the prefix 0
    assert unknown.ndcg5_true is not None and np.isnan(unknown.ndcg5_true) and unknown.ndcg5 > 0


@pytest.mark.parametrize("model", [COIN.wfa, ring(3), Dyck()])
def test_the_true_model_is_at_no_distance_from_itself(model: Model) -> None:
    words = (
        Dyck().sample_words(100, seed=4)
        if isinstance(model, Dyck)
        else Words.of([(), (0,), (1, 0), (1, 1, 1), (0, 1)])
    )
    alphabet = ALPHABET if isinstance(model, Dyck) else Alphabet(("a", "b"))
    test = TestSet.as_drawn(words, model.weights(words), Sample.of(words, alphabet), model)
    own = evaluate(model, test)
    other = evaluate(Uniform(2), test)
    assert (own.kl, own.total_variation, own.rmse) == (0, 0, 0)
    assert own.ndcg5_true == pytest.approx(1) and own.next_kl == pytest.approx(0, abs=1e-12)
    assert other.ndcg5_true is not None and other.ndcg5_true <= 1
    assert other.next_kl is not None and other.next_kl > 0
    assert other.kl == pytest.approx(other.log2_pauto - own.log2_pauto)
    drawn = TestSet.as_drawn(words, model.weights(words), Sample.of(words, alphabet))
    alone = evaluate(model, drawn)
    assert (alone.next_kl, alone.ndcg5_true) == (None, None) and alone.ndcg5 == own.ndcg5
    assert evaluate(model, TestSet.empirical(drawn.sample)).kl is None


def test_a_large_truth_is_cut_at_five_too() -> None:
    truth: FloatArray = np.arange(1, 9) / 36
    score = one_prediction(truth.tolist(), truth.tolist())
    assert (score.ndcg5_true, score.next_kl) == (pytest.approx(1), 0)
