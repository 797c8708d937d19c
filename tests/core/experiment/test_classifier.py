"""Bayes' rule over models of strings gives what it gives on paper."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from nlwfa_core import WFA, Alphabet, NGram, RecipeError, Sample, as_sample
from nlwfa_core.experiment.classifier import Classifier, Confusion, fit_classifier
from nlwfa_core.sources.tomita import tomita_automaton
from nlwfa_core.strings.plain import as_words

LETTERS = Alphabet(("a", "b"))


def letters(a: float, b: float) -> WFA:
    """Each symbol is a or b with these probabilities; what is left is the end's."""
    return WFA([1.0], [[[a]], [[b]]], [1 - a - b], LETTERS)


MOSTLY_A = letters(0.6, 0.2)
MOSTLY_B = letters(0.2, 0.6)


def test_posteriors_are_those_of_bayes_rule() -> None:
    """P(aab | A) = .6² · .2 · .2 and P(aab | B) = .2² · .6 · .2: they are 3 to 1; with priors of 1
    to 6, 3 to 6.
    """
    even = Classifier.of({"A": MOSTLY_A, "B": MOSTLY_B}, floor=0)
    assert even.probabilities(["aab"])[0] == pytest.approx([3 / 4, 1 / 4])
    assert np.exp2(even.log2_joint(["aab"])[0]) == pytest.approx([0.0144 / 2, 0.0048 / 2])
    uneven = Classifier.of({"A": MOSTLY_A, "B": MOSTLY_B}, {"A": 100, "B": 600}, floor=0)
    assert uneven.probabilities(["aab"])[0] == pytest.approx([1 / 3, 2 / 3])
    assert (even.predict(["aab", "ab"]), uneven.predict(["aab"])) == (["A", "A"], ["B"])


@given(st.lists(st.text("ab", max_size=6), min_size=1, max_size=5), st.floats(0.01, 0.99))
def test_the_log_odds_of_two_unigrams_count_letters(strings: list[str], prior: float) -> None:
    classifier = Classifier.of({"A": MOSTLY_A, "B": MOSTLY_B}, {"A": prior, "B": 1 - prior}, 0.0)
    odds = [math.log(3) * (text.count("a") - text.count("b")) for text in strings]
    own = np.array(odds) + math.log(prior / (1 - prior))
    assert classifier.probabilities(strings)[:, 0] == pytest.approx(1 / (1 + np.exp(-own)))


def test_a_string_that_all_models_rule_out_gets_no_label_without_a_floor() -> None:
    only_a = letters(0.5, 0.0)
    only_b = letters(0.0, 0.5)
    strict = Classifier.of({"A": only_a, "B": only_b}, floor=0)
    assert strict.predict(["a", "b", "ab"]) == ["A", "B", None]
    assert np.isnan(strict.probabilities(["ab"])).all()
    lenient = Classifier.of({"A": only_a, "B": only_b})
    assert lenient.predict(["aab", "bba"]) == ["A", "B"]
    scores = strict.score({"A": ["a", "ab"], "B": ["b"]})
    assert scores.counts.tolist() == [[1, 0, 1], [0, 1, 0]] and scores.bits_per_string == math.inf


def test_an_unseen_symbol_speaks_against_all_models_alike() -> None:
    classifier = Classifier.of({"A": MOSTLY_A, "B": MOSTLY_B})
    plain, unseen = classifier.probabilities(["aa", "aac"])
    assert unseen == pytest.approx(plain, rel=1e-3)


def test_models_need_not_share_an_alphabet() -> None:
    other = WFA([1.0], [[[0.5]]], [0.5], Alphabet(("c",)))
    classifier = Classifier.of({"A": MOSTLY_A, "C": other})
    assert classifier.alphabet.symbols == ("a", "b", "c")
    assert classifier.predict(["ab", "cc", "c"]) == ["A", "C", "C"]


def test_scores_count_repeated_strings() -> None:
    classifier = Classifier.of({"A": MOSTLY_A, "B": MOSTLY_B}, floor=0)
    scores = classifier.score({"A": {"a": 3, "b": 2}, "B": {"b": 5}})
    assert scores.counts.tolist() == [[3, 2, 0], [0, 5, 0]]
    assert (scores.num_right, scores.num_strings, scores.accuracy) == (8, 10, 0.8)
    assert scores.majority == 0.5
    # each string has the odds 3 to 1, for or against
    assert scores.bits_per_string == pytest.approx((8 * math.log2(4 / 3) + 2 * 2) / 10)


def confusion(right: int, wrong: int) -> Confusion:
    classifier = Classifier.of({"A": MOSTLY_A, "B": MOSTLY_B})
    return classifier.score({"A": {"a": right, "b": wrong}})


def test_the_interval_is_wilsons() -> None:
    z = norm.ppf(0.975)
    n = 50
    p = 0.8
    middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    interval = confusion(40, 10).interval()
    assert (interval.low, interval.high) == pytest.approx((middle - half, middle + half))


def test_two_classifiers_are_compared_where_they_disagree() -> None:
    """Of ten strings that one of them alone gets right, one gets nine: 2 · 11 / 1024 by hand."""
    first = Classifier.of({"A": MOSTLY_A, "B": MOSTLY_B}, floor=0)
    second = Classifier.of({"A": MOSTLY_B, "B": MOSTLY_A}, floor=0)
    strings = {"A": {"a": 9, "b": 1, "ab": 7}}
    gap = first.score(strings).against(second.score(strings))
    assert (gap.first_alone, gap.second_alone) == (9, 1)
    assert gap.p_value == pytest.approx(2 * 11 / 1024)
    assert first.score(strings).against(first.score(strings)).p_value == 1
    with pytest.raises(RecipeError, match="on the same strings"):
        first.score(strings).against(second.score({"A": ["a"]}))


def tomita(number: int, seed: int) -> Sample:
    return tomita_automaton(number).sample(300, seed)


@pytest.mark.parametrize(
    ("learner", "fields"),
    [
        ("SP", {"rank": 3}),
        ("HMM", {"rank": 3}),
        ("both.non", {"rank": 2, "epochs_factorisation": 50}),
    ],
)
def test_languages_are_told_apart_almost_as_well_as_by_their_own_automata(
    learner: str, fields: dict[str, int]
) -> None:
    numbers = (1, 2, 4)
    train = {str(number): tomita(number, 0) for number in numbers}
    test = {str(number): tomita(number, 1) for number in numbers}
    best = Classifier.of({str(number): tomita_automaton(number) for number in numbers}).score(test)
    learned = fit_classifier(train, learner, **fields)
    assert learned.fits.keys() == train.keys()
    assert learned.classifier.score(test).accuracy > best.accuracy - 0.05


def test_a_label_with_few_strings_has_the_rank_that_they_allow() -> None:
    learned = fit_classifier({"few": ["a"], "many": ["ab", "ba", "bab"] * 9}, "SP", rank=3)
    assert [fit.model.num_states for fit in learned.fits.values()] == [2, 3]
    assert learned.classifier.priors == pytest.approx([1 / 28, 27 / 28])


def test_all_labels_know_the_symbols_of_all() -> None:
    learned = fit_classifier({"x": ["ab", "a"], "y": ["cb", "c"]}, "SP", rank=1, priors="uniform")
    models = [fit.model for fit in learned.fits.values()]
    assert [model.alphabet.symbols for model in models] == [("a", "b", "c")] * 2
    assert learned.classifier.priors.tolist() == [0.5, 0.5]


def test_words_of_another_order_of_symbols_are_renumbered() -> None:
    classifier = Classifier.of({"A": MOSTLY_A, "B": MOSTLY_B})
    backward = as_words(["aab"], Alphabet(("b", "a")))
    assert classifier.predict(backward) == classifier.predict(["aab"]) == ["A"]
    assert classifier.score({"A": as_sample(["aab"], Alphabet(("b", "a")))}).accuracy == 1


def test_what_is_wrong_is_said() -> None:
    two = {"A": MOSTLY_A, "B": MOSTLY_B}
    with pytest.raises(RecipeError, match="two labels or more; got A"):
        Classifier.of({"A": MOSTLY_A})
    with pytest.raises(RecipeError, match="must differ from each other; got A, A"):
        Classifier(("A", "A"), (MOSTLY_A, MOSTLY_B), np.array([0.5, 0.5]))
    with pytest.raises(RecipeError, match="priors must be for the labels A, B; got A"):
        Classifier.of(two, {"A": 1})
    with pytest.raises(RecipeError, match="priors must be positive"):
        Classifier.of(two, {"A": 1, "B": 0})
    with pytest.raises(RecipeError, match="has the labels A, B; got C"):
        Classifier.of(two).score({"C": ["a"]})
    with pytest.raises(RecipeError, match="no strings to classify"):
        Classifier.of(two).score({"A": []})
    with pytest.raises(RecipeError, match="each label needs strings; got none for y"):
        fit_classifier({"x": ["a"], "y": []}, "SP", rank=1)
    with pytest.raises(RecipeError, match="priors must be one of counts, uniform; got 'equal'"):
        fit_classifier({"x": ["a"], "y": ["b"]}, "SP", rank=1, priors="equal")
    with pytest.raises(RecipeError, match="unknown field 'ranks'|did you mean"):
        fit_classifier({"x": ["a"], "y": ["b"]}, "SP", rank=1, ranks=2)


def test_ngrams_and_others_that_are_not_learned_by_options_take_part() -> None:
    classifier = Classifier.of({"x": NGram.fit(["ab", "aab"], 2), "y": NGram.fit(["ba"], 2)})
    assert classifier.predict(["aab", "ba"]) == ["x", "y"]
