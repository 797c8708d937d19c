"""Strings drawn by next-symbol scores, held against exact probabilities of an automaton worked out
by hand.
"""

from __future__ import annotations

import csv
import io
from itertools import product

import numpy as np
import pytest
from scipy.stats import chisquare

from nlwfa_core.display.result_tables import drawn_csv, drawn_table, drawn_warnings
from nlwfa_core.errors import RecipeError
from nlwfa_core.models.ngram import Uniform
from nlwfa_core.models.sampling import draw, next_shares
from nlwfa_core.models.wfa import WFA
from nlwfa_core.strings.words import Alphabet, Words
from tests.references import COUNTER, GEOMETRIC

# State 1: a 0.5 and stay, b 0.25 and go to state 2, end 0.25. State 2: a 0.4 and back to 1, end
# 0.6. So f(aⁿ) = 0.5ⁿ · 0.25, f(b) = 0.25 · 0.6, f(ba) = 0.25 · 0.4 · 0.25.
TWO_STATES = WFA(
    np.array([1.0, 0.0]),
    np.array([[[0.5, 0.0], [0.4, 0.0]], [[0.0, 0.25], [0.0, 0.0]]]),
    np.array([0.25, 0.6]),
)
# After λ: a 0.6, b −0.2, end 0.6; after a, end 0.6; after b, end −0.2. All scores are exact.
SIGNED = WFA(
    np.array([1.0, 0.0, 0.0]),
    np.array([[[0, 1.0, 0], [0, 0, 0], [0, 0, 0]], [[0, 0, 1.0], [0, 0, 0], [0, 0, 0]]]),
    np.array([0.6, 0.6, -0.2]),
)
ENDLESS = WFA(np.array([1.0]), np.array([[[1.0 - 1e-9]]]), np.array([1e-9]))


def test_counts_fit_the_exact_probabilities() -> None:
    drawn = draw(TWO_STATES, 1000, seed=3, max_length=60)
    exact = {
        (): 0.25,
        (0,): 0.125,
        (1,): 0.15,
        (0, 0): 0.0625,
        (1, 0): 0.025,
        (0, 1): 0.075,
        (0, 0, 1): 0.0375,
        (0, 0, 0): 0.03125,
    }
    seen = dict(zip(drawn.words, drawn.counts.tolist(), strict=True))
    observed = [seen.get(word, 0) for word in exact]
    observed.append(1000 - sum(observed))
    expected = [1000 * probability for probability in exact.values()]
    assert chisquare(observed, [*expected, 1000 - sum(expected)]).pvalue > 0.01
    assert drawn.num_cut == drawn.num_stuck == drawn.num_negative == 0 and drawn.negative_share == 0
    assert drawn.chances == pytest.approx(drawn.weights)
    assert not drawn_warnings(drawn, 60)


def test_the_same_seed_draws_the_same_strings() -> None:
    first, again, other = (draw(TWO_STATES, 300, seed) for seed in (1, 1, 2))
    assert list(first.words) == list(again.words) and first.counts.tolist() == again.counts.tolist()
    assert list(zip(first.words, first.counts, strict=True)) != list(
        zip(other.words, other.counts, strict=True)
    )


def test_the_most_frequent_come_first_and_all_are_counted_once() -> None:
    drawn = draw(TWO_STATES, 500, seed=0)
    assert (np.diff(drawn.counts) <= 0).all() and drawn.counts.sum() == 500
    assert len(set(drawn.words)) == len(drawn.words)


def test_negative_mass_is_counted_and_told() -> None:
    drawn = draw(SIGNED, 1000, seed=5)
    seen = dict(zip(drawn.words, drawn.chances.tolist(), strict=True))
    # |0.6|, |−0.2| and |0.6| over 1.4: drawn as a, b and λ, though f(b) = −0.2.
    assert seen == pytest.approx({(): 0.6 / 1.4, (0,): 0.6 / 1.4, (1,): 0.2 / 1.4})
    went_b = int(drawn.counts[list(drawn.words).index((1,))])
    went_on = 1000 - int(drawn.counts[list(drawn.words).index(())])
    assert drawn.num_choices == 1000 + went_on
    assert drawn.num_negative == 1000 + went_b
    assert drawn.negative_share == pytest.approx((1000 * 0.2 / 1.4 + went_b) / (1000 + went_on))
    assert "draws some scores were negative" in drawn_warnings(drawn, 100)[0]


def test_rounding_is_no_negative_mass() -> None:
    shares, negative = next_shares(np.array([[1.0, -1e-17], [1.0, -1e-3]]))
    assert negative[0] == 0 and negative[1] > 0
    assert shares.sum(axis=1) == pytest.approx([1, 1])


def test_strings_without_an_end_are_cut_and_told() -> None:
    drawn = draw(ENDLESS, 50, seed=0, max_length=7)
    assert drawn.num_cut == 50 and not len(drawn.words) and not drawn.counts.sum()
    assert drawn_warnings(drawn, 7) == (
        "50 of 50 strings reached 7 symbols without ending and were left out.",
    )


def test_strings_of_the_maximal_length_are_whole() -> None:
    drawn = draw(Uniform(2), 1000, seed=1, max_length=2)
    assert set(drawn.words) == {
        word for length in range(3) for word in product((0, 1), repeat=length)
    }
    assert drawn.num_cut + drawn.counts.sum() == 1000


def test_a_model_that_says_nothing_is_stuck() -> None:
    drawn = draw(WFA(np.zeros(1), np.zeros((1, 1, 1)), np.zeros(1)), 9, seed=0)
    assert (
        drawn.num_stuck == 9
        and drawn.num_choices == 0
        and "every score is 0" in drawn_warnings(drawn, 10)[0]
    )
    with np.errstate(all="ignore"):
        growing = draw(WFA(np.array([1e300]), np.array([[[1e300]]]), np.array([0.0])), 9, seed=0)
    assert growing.num_stuck == 9


def test_a_model_of_weights_that_are_no_probabilities_can_be_drawn_from() -> None:
    drawn = draw(COUNTER.wfa, 100, seed=0, max_length=20)
    assert drawn.counts.sum() + drawn.num_cut + drawn.num_stuck == 100


def test_numbers_out_of_range_are_told() -> None:
    for number, length in ((0, 10), (1_000_001, 10), (10, 0), (10, 10_001)):
        with pytest.raises(RecipeError, match="must be between 1 and"):
            draw(GEOMETRIC.wfa, number, 0, length)


def test_the_table_and_its_csv_hold_the_same() -> None:
    alphabet = Alphabet(("a",))
    drawn = draw(GEOMETRIC.wfa, 200, seed=0)
    table = drawn_table(drawn, alphabet)
    rows = list(csv.DictReader(io.StringIO(drawn_csv(drawn, alphabet).decode())))
    assert [row["string"] for row in rows] == table["string"]
    assert [int(row["count"]) for row in rows] == drawn.counts.tolist()
    assert [float(row["f(x)"]) for row in rows] == GEOMETRIC.wfa.weights(
        Words.of(list(drawn.words))
    ).tolist()
    assert table["f(x)"].values == tuple(
        GEOMETRIC.wfa.weights(Words.of(list(drawn.words))).tolist()
    )
    first = rows[table["string"].index("λ")]
    assert float(first["expected"]) == 100
