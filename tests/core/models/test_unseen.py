"""A symbol that a model does not know: the string has the weight 0, it is counted, and all other
scores go on.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core import WFA, Alphabet, NGram, RecipeError, TestSet, Words, as_sample, evaluate
from nlwfa_core.metrics.evaluate import bits_per_symbol, next_symbol_score
from nlwfa_core.metrics.intervals import string_scores
from nlwfa_core.models.mixture import mixture
from nlwfa_core.models.unseen import WithUnseen, extended
from nlwfa_core.strings.trie import Trie

AB = Alphabet(("a", "b"))
ABC = Alphabet(("a", "b", "c"))
COIN = WFA([1.0, 0.0], [[[0.3, 0.1], [0.0, 0.2]], [[0.2, 0.1], [0.3, 0.1]]], [0.3, 0.4], AB)
# The same automaton, which has a third symbol with no arcs.
WIDE = WFA(
    COIN.initial, np.concatenate((COIN.transitions, np.zeros((1, 2, 2)))), COIN.termination, ABC
)
STRINGS = st.lists(st.text("abc", max_size=5), min_size=1, max_size=9).map(
    lambda rows: [*rows, "ab"]
)


@given(STRINGS)
def test_an_unknown_symbol_is_one_without_arcs(rows: list[str]) -> None:
    """Scored with an automaton over a and b, and with the same over a, b and c, in which c has the
    matrix 0.
    """
    test = as_sample(rows, ABC)
    narrow = evaluate(COIN, test)
    wide = evaluate(WIDE, test)
    assert narrow.num_unknown == sum("c" in row for row in rows) and wide.num_unknown == 0
    for field in ("log2_pauto", "bits_per_symbol", "num_zero", "num_words", "num_impossible"):
        assert getattr(narrow, field) == pytest.approx(getattr(wide, field), nan_ok=True)
    if narrow.num_unknown:
        assert narrow.wer == pytest.approx(wide.wer) and narrow.ndcg5 == pytest.approx(wide.ndcg5)
    estimates = string_scores(COIN, TestSet.empirical(test)).estimates
    assert estimates["bits_per_symbol"] == pytest.approx(narrow.bits_per_symbol)
    assert bits_per_symbol(COIN, test) == pytest.approx(
        next_symbol_score(COIN, test).bits_per_symbol
    )


@given(STRINGS)
def test_trees_are_cut_at_unknown_symbols(rows: list[str]) -> None:
    words = as_sample(rows, ABC).words
    trie = Trie.of(words, 3)
    model = extended(COIN, ABC)
    assert isinstance(model, WithUnseen) and model.alphabet == ABC
    np.testing.assert_allclose(model.next_scores(trie), WIDE.next_scores(trie), rtol=1e-12, atol=0)
    np.testing.assert_allclose(model.weights(words), WIDE.weights(words), rtol=1e-12, atol=0)
    np.testing.assert_allclose(
        model.log2_weights(words), WIDE.log2_weights(words), rtol=1e-12, atol=0
    )


@pytest.mark.parametrize("kind", ["WFA", "NGram", "mixture"])
def test_every_kind_of_model_goes_on(kind: str) -> None:
    gram = NGram.fit(["ab", "b", "ab"], order=2)
    model = {"WFA": COIN, "NGram": gram, "mixture": mixture([COIN, gram])}[kind]
    scores = evaluate(model, ["ab", "bc", "aa"])
    assert (scores.num_unknown, scores.num_zero, scores.num_words) == (1, 1, 3)
    assert scores.log2_pauto == np.inf and np.isfinite(scores.wer)
    assert "test strings with unknown symbols" in repr(scores)
    known = evaluate(model, ["ab", "aa"])
    assert known.num_unknown == 0 and np.isfinite(known.log2_pauto) and "unknown" not in repr(known)


def test_strings_of_another_model_are_refused() -> None:
    with pytest.raises(
        RecipeError,
        match="every test string contains a symbol that is not in the model's alphabet of "
        "2 symbols: a, b",
    ):
        evaluate(COIN, ["c", "ac", ""])


def test_a_model_that_knows_all_symbols_stays_as_it_is() -> None:
    assert extended(COIN, Alphabet(("b",))) is COIN
    assert extended(COIN, ABC).weights(Words.of([(0, 1), (2,)])).tolist() == [
        *COIN.weights(Words.of([(0, 1)])),
        0.0,
    ]
    assert evaluate(COIN, as_sample(["ab", "b"], ABC)).num_unknown == 0  # c does not occur
