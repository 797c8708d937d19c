"""Scores against examples that were worked out by hand."""

from __future__ import annotations

import ast
from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core.errors import RecipeError
from nlwfa_core.metrics.evaluate import evaluate, next_symbol_score
from nlwfa_core.metrics.intervals import leaders, paired_differences, string_scores
from nlwfa_core.metrics.next_symbols import score_next
from nlwfa_core.metrics.pautomac_score import pautomac_score
from nlwfa_core.metrics.score_table import METRICS, SCORE_OF, SCORES, Scores
from nlwfa_core.metrics.testset import TestSet
from nlwfa_core.models.model import Model
from nlwfa_core.models.ngram import NGram, Uniform
from nlwfa_core.models.recurrent import RecurrentModel
from nlwfa_core.models.wfa import WFA
from nlwfa_core.sources.dyck import ALPHABET, Dyck
from nlwfa_core.sources.pautomac import read_solution
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.trie import Trie
from nlwfa_core.strings.words import Alphabet, FloatArray, Words
from tests.references import COIN, DATA, SIGNED, Fixed, all_words, random_nlwfa, ring

ROOT = Path(__file__).resolve().parents[3]
AB = Alphabet(("a", "b"))
positive = st.lists(st.floats(1e-6, 1), min_size=1, max_size=8).map(np.array)


@pytest.mark.parametrize(
    ("outputs", "target", "log2"),
    [
        ([1, 1], [1, 1], 1),  # ½ · 1 + ½ · 1
        ([3, 1], [1, 1], 0.5 * np.log2(4 / 3) + 0.5 * 2),
        ([0.5, 0.25, 0.25], [2, 1, 1], 1.5),  # the entropy: ½ · 1 + ¼ · 2 + ¼ · 2
        ([7, 1], [1, 0], np.log2(8 / 7)),
        ([1, 0], [1, 0], 0),
        ([-3, 1], [3, 1], 0.75 * np.log2(4 / 3) + 0.25 * 2),  # by absolute value
        ([1e-320, 1e-320], [1, 1], 1),
        ([1e308, 1e308], [1, 1], 1),
    ],
)
def test_the_pautomac_score_by_hand(outputs: list[float], target: list[float], log2: float) -> None:
    assert pautomac_score(
        np.array(outputs, dtype=float), np.array(target, dtype=float)
    ).log2 == pytest.approx(log2, abs=1e-12)


def test_zeros_negatives_and_no_numbers_are_counted() -> None:
    score = pautomac_score(np.array([0.0, -1.0, 2.0, 0.0]), np.ones(4))
    assert (
        score.log2,
        score.num_words,
        score.num_zero,
        score.num_negative,
        score.num_nonfinite,
    ) == (np.inf, 4, 2, 1, 0)
    score = pautomac_score(np.array([np.nan, np.inf, -np.inf, 1.0]), np.ones(4))
    assert np.isnan(score.log2) and (score.num_zero, score.num_negative, score.num_nonfinite) == (
        0,
        1,
        3,
    )
    assert pautomac_score(np.zeros(3), np.ones(3)).log2 == np.inf
    # What has no mass may get nothing.
    assert pautomac_score(np.array([0.0, 1.0]), np.array([0.0, 1.0])).log2 == 0


def test_a_floor_lifts_what_is_below_it() -> None:
    """Normalised (0, 1), lifted (0.25, 1), normalised again (0.2, 0.8)."""
    score = pautomac_score(np.array([0.0, 5.0]), np.ones(2), floor=0.25)
    assert score.log2 == pytest.approx(-0.5 * np.log2(0.2) - 0.5 * np.log2(0.8))
    assert score.num_zero == 1
    assert pautomac_score(np.zeros(4), np.ones(4), floor=0.01).log2 == pytest.approx(2)


@given(positive, st.data())
def test_no_model_beats_the_target(target: np.ndarray, data: st.DataObject) -> None:
    outputs = np.array(
        data.draw(st.lists(st.floats(-1, 1), min_size=len(target), max_size=len(target)))
    )
    best = pautomac_score(target, target).log2
    share = target / target.sum()
    assert best == pytest.approx(-(share * np.log2(share)).sum(), abs=1e-9)
    assert pautomac_score(outputs, target).log2 >= best - 1e-9
    assert pautomac_score(np.ones(len(target)), target).log2 == pytest.approx(
        np.log2(len(target)), abs=1e-9
    )
    assert pautomac_score(outputs * -7, target).log2 == pytest.approx(
        pautomac_score(outputs, target).log2, rel=1e-9
    )


# Perplexities of the true model, from the competition's tables.
PERPLEXITIES = {1: 29.8979, 3: 49.9561, 6: 66.9850, 7: 51.2243, 9: 20.8396, 16: 30.7111}
PERPLEXITIES |= {24: 38.7288, 28: 52.7435, 33: 31.8650, 39: 10.0020, 42: 16.0038, 46: 11.9820}


@pytest.mark.skipif(
    not (DATA / "pautomac").is_dir(), reason="the competition's files are not part of the project"
)
@pytest.mark.parametrize("problem", PERPLEXITIES)
def test_the_competitions_perplexities_are_reproduced(problem: int) -> None:
    solution = read_solution((DATA / "pautomac" / f"{problem}.pautomac_solution.txt").read_bytes())
    assert 2 ** pautomac_score(solution, solution).log2 == pytest.approx(
        PERPLEXITIES[problem], abs=6e-5
    )


@pytest.mark.parametrize(
    ("outputs", "target", "floor", "message"),
    [
        ([1.0], [1.0, 1.0], 0, "as many outputs as target probabilities; got 1 and 2"),
        ([1.0, 1.0], [1.0], 0, "as many outputs as target probabilities; got 2 and 1"),
        ([1.0], [0.0], 0, "must be finite, at least 0, and not all 0"),
        ([1.0, 1.0], [2.0, -1.0], 0, "must be finite, at least 0"),
        ([1.0], [np.nan], 0, "must be finite"),
        ([1.0], [1.0], 1, "floor must be at least 0 .* and below 1; got 1"),
        ([1.0], [1.0], -0.1, "floor must .*; got -0.1"),
        ([1.0], [1.0], np.nan, "floor must .*; got nan"),
    ],
)
def test_scores_of_nothing_are_refused(
    outputs: list[float], target: list[float], floor: float, message: str
) -> None:
    with pytest.raises(RecipeError, match=message):
        pautomac_score(np.array(outputs), np.array(target), floor)


# after λ: a a a end; after a: b b end; after ab: end end
SAMPLE = Sample.of(Words.of([(0, 1), (0, 1), (0,), ()]), AB)


@pytest.mark.parametrize(
    ("scores", "wer", "without_end"),
    [
        ((3, 2, 1), 1 - 3 / 9, 1 - 3 / 5),  # always a: right 3 times of 9, and of the 5 symbols
        ((1, 3, 2), 1 - 2 / 9, 1 - 2 / 5),  # always b
        ((2, 1, 3), 1 - 4 / 9, 1 - 3 / 5),  # always the end, and a among symbols
        ((1, 1, 1), 1 - 1 / 3, 1 - 1 / 2),  # a tie: one of three is drawn, or of two
        ((0, 0, 0), 1 - 1 / 3, 1 - 1 / 2),
        ((3, 3, 1), 1 - 5 / 18, 1 - 1 / 2),  # a or b: right 3 or 2 times of 9
        ((3, -2, -3), 1 - 3 / 9, 1 - 3 / 5),
    ],
)
def test_word_error_rates_by_hand(
    scores: tuple[float, ...], wer: float, without_end: float
) -> None:
    score = next_symbol_score(Fixed(scores), SAMPLE)
    assert (score.wer, score.wer_without_end, score.num_predictions) == (
        pytest.approx(wer),
        pytest.approx(without_end),
        9,
    )
    assert next_symbol_score(Fixed(scores), SAMPLE, floor=0.2).wer == pytest.approx(wer)


def test_bits_per_symbol_by_hand() -> None:
    """4 times a ½, 3 times b … : a 3 times at 1 bit, b 2 times at 2, the end 4 times at 2."""
    assert next_symbol_score(Fixed((2, 1, 1)), SAMPLE).bits_per_symbol == pytest.approx(
        (3 + 4 + 8) / 9
    )
    score = next_symbol_score(Fixed((-2, -1, 1)), SAMPLE)
    assert (score.bits_per_symbol, score.num_negative) == (pytest.approx(15 / 9), 2 * 3)
    assert next_symbol_score(Uniform(2), SAMPLE).bits_per_symbol == pytest.approx(np.log2(3))
    # among symbols, a has 2/3 and b 1/3
    assert score.bits_without_end == pytest.approx((3 * np.log2(3 / 2) + 2 * np.log2(3)) / 5)
    assert next_symbol_score(Uniform(2), SAMPLE).bits_without_end == pytest.approx(1)


def test_what_was_held_impossible_costs_everything_unless_there_is_a_floor() -> None:
    score = next_symbol_score(Fixed((1, 0, 1)), SAMPLE)
    assert (score.bits_per_symbol, score.num_impossible) == (np.inf, 2)
    # (½, 0, ½) lifted to (½, ¼, ½), and normalised: (2, 1, 2) / 5
    score = next_symbol_score(Fixed((1, 0, 1)), SAMPLE, floor=0.25)
    assert (
        score.bits_per_symbol == pytest.approx((7 * np.log2(5 / 2) + 2 * np.log2(5)) / 9)
        and score.num_impossible == 0
    )
    assert np.isnan(next_symbol_score(Fixed((1, np.nan, 1)), SAMPLE).bits_per_symbol)
    assert np.isnan(next_symbol_score(Fixed((1, np.inf, 1)), SAMPLE).bits_per_symbol)
    assert next_symbol_score(Fixed((0, 0, 0)), SAMPLE).num_impossible == 9
    assert next_symbol_score(Fixed((0, 0, 0)), SAMPLE, floor=0.1).bits_per_symbol == pytest.approx(
        np.log2(3)
    )


def test_rates_weigh_strings_as_drawn() -> None:
    words = Words.of([(0,), (1, 1)])
    rare, common = (
        score_next(COIN.wfa.next_scores(Trie.of(words, 2)), Trie.of(words, 2), np.array([1, n]))
        for n in (1, 50)
    )
    assert rare.num_predictions == 2 + 3 and common.num_predictions == 2 + 150
    # COIN says: end after λ and after a, a after b and bb. Right: the end after a, and nothing
    # else.
    assert rare.wer == pytest.approx(1 - 1 / 5) and common.wer == pytest.approx(1 - 1 / 152)
    # among symbols: a after λ (a tie), after b and after bb
    assert rare.wer_without_end == pytest.approx(1 - 1 / 3)


@pytest.mark.parametrize("model", [COIN.wfa, ring(3)])
def test_the_true_model_has_the_lowest_expected_rates(model: Model) -> None:
    """Over all words up to a length, weighed by their probability, in units of 1e-12. Longer words
    are missing from what follows a prefix: a share of the strings, each at up to 14 prefixes."""
    words = all_words(2, 13)
    sample = Sample(
        words, np.maximum(np.round(1e12 * model.weights(words)), 1).astype(np.int64), AB
    )
    missing = (
        14
        * (1 - model.weights(words).sum())
        / (next_symbol_score(model, sample).num_predictions / sample.num_strings)
    )
    true = next_symbol_score(model, sample)
    for other in (Uniform(2), NGram.fit(sample, 1), Fixed((0.5, 0.2, 0.3))):
        worse = next_symbol_score(other, sample)
        assert (
            worse.wer >= true.wer - missing
            and worse.wer_without_end >= true.wer_without_end - missing
        )
        assert worse.bits_per_symbol > true.bits_per_symbol


def test_evaluation_shows_the_references_beside_the_score() -> None:
    words = Dyck().sample_words(400, seed=3)
    test = TestSet.as_drawn(words, Dyck().weights(words), Sample.of(words, ALPHABET))
    scores = evaluate(Dyck(), test)
    assert scores.log2_pauto == scores.true_log2_pauto
    assert scores.uniform_log2_pauto == np.log2(400) > scores.log2_pauto
    assert (scores.num_words, scores.num_zero, scores.num_negative, scores.num_impossible) == (
        400,
        0,
        0,
        0,
    )
    assert scores.num_predictions == words.lengths.sum() + 400
    empirical = TestSet.empirical(Sample.of(words, ALPHABET))
    assert evaluate(Dyck(), empirical).true_log2_pauto is None and not empirical.target_is_true
    assert empirical.target.sum() == pytest.approx(1) and len(empirical.words) == len(set(words))


def test_evaluation_counts_negative_outputs() -> None:
    words = all_words(2, 2)  # λ a b aa ab ba bb: 0 1 −1 2 0 0 −2
    scores = evaluate(SIGNED.wfa, TestSet.empirical(Sample.of(words, AB)))
    assert (scores.num_words, scores.num_zero, scores.num_negative, scores.log2_pauto) == (
        7,
        3,
        2,
        np.inf,
    )
    floored = evaluate(SIGNED.wfa, TestSet.empirical(Sample.of(words, AB)), floor=1e-3)
    assert np.isfinite(floored.log2_pauto) and floored.floor == 1e-3


def test_test_sets_that_do_not_fit_are_refused() -> None:
    empty = Sample.of(Words.of([]), AB)
    with pytest.raises(RecipeError, match="the test set has no strings"):
        evaluate(COIN.wfa, TestSet(empty.words, np.empty(0), empty, target_is_true=True))
    strange = Sample.of(Words.of([(0, 2)]), Alphabet.numbered(4))
    with pytest.raises(RecipeError, match="the test strings use 3 symbols, but the model has 2"):
        evaluate(COIN.wfa, TestSet.empirical(strange))
    with pytest.raises(
        RecipeError, match="the solution must have one probability per test string; got 2 for 1"
    ):
        TestSet.as_drawn(Words.of([(0,)]), np.ones(2), SAMPLE)
    known = Sample.of(Words.of([(0,)]), Alphabet.numbered(4))  # a larger alphabet that is not used
    assert evaluate(COIN.wfa, TestSet.empirical(known)).num_words == 1


RECURRENT = RecurrentModel(
    "GRU", *(np.random.default_rng(0).normal(size=shape) for shape in ((3, 6), (2, 6), (6,), (2, 3), (3,)))  # noqa: E501
)  # fmt: skip
TRIGRAM = NGram.fit(Sample.of(all_words(2, 3), AB), 3)


@pytest.mark.parametrize(
    "model",
    [COIN.wfa, ring(3), Uniform(2), TRIGRAM, random_nlwfa(3, 2, 0), RECURRENT],
    ids=lambda model: type(model).__name__,
)
def test_weights_that_follow_from_next_symbols_are_the_models_own(model: Model) -> None:
    """Scoring walks along the strings once.

    T in another order than the strings, some twice; then apart from them.
    """
    words = Words.of([(0, 1), (), (0, 1), (1, 1, 0), (0,)])
    test = TestSet.as_drawn(words, np.arange(1.0, 6.0), Sample.of(words, AB))
    shared = evaluate(model, test)
    outputs = model.weights(words)
    assert shared.log2_pauto == pytest.approx(pautomac_score(outputs, test.target).log2, rel=1e-9)
    assert (shared.num_zero, shared.num_negative) == (
        int((outputs == 0).sum()),
        int((outputs < 0).sum()),
    )
    apart = TestSet.as_drawn(words, np.arange(1.0, 6.0), Sample.of(Words.of([(0,), (1,)]), AB))
    assert apart.ends(2) is None and evaluate(model, apart).log2_pauto == pytest.approx(
        shared.log2_pauto, rel=1e-9
    )


# Scores in print


def test_scores_are_printed_as_a_table() -> None:
    """T = {a, bb} by frequency; f(a) = ½ and f(bb) = ½, so log₂ is 1 and the perplexity 2."""
    scores = evaluate(Fixed((2, 1, 1)), TestSet.empirical(Sample.of(Words.of([(0,), (1, 1)]), AB)))
    lines = str(scores).splitlines()
    assert lines[0] == "Scores on 2 distinct test strings, 5 next-symbol predictions"
    by_name = {name: line for line in lines[1:] for name in [line.split("  ")[0]]}
    assert by_name["log₂ Pautomac score"].split()[-1] == "1.000"
    perplexity = by_name["perplexity"].split(maxsplit=2)
    assert perplexity[1:] == [
        "2.00",
        "2 to the power above; |outputs| normalised over T; equal weights 2.00",
    ]
    assert scores.perplexity == 2 and "true model" not in str(scores)
    assert repr(scores) == str(scores) and max(map(len, lines)) < 140
    assert (
        "<td>perplexity</td>" in scores._repr_html_()
        and scores._repr_html_().count("<tr>") == len(lines) - 1
    )


def test_printed_scores_say_what_is_infinite_and_what_is_raised() -> None:
    words = all_words(2, 2)
    test = TestSet.as_drawn(words, COIN.wfa.weights(words), Sample.of(words, AB), COIN.wfa)
    text = str(evaluate(SIGNED.wfa, test))
    assert text.startswith("Scores on 7 test strings as drawn, ") and "true " in text
    assert [line.split()[1] for line in text.splitlines() if line.startswith("perplexity")] == ["∞"]
    assert "outputs are raised to 0.001" in str(evaluate(SIGNED.wfa, test, floor=1e-3))
    assert evaluate(SIGNED.wfa, test).perplexity == np.inf


def test_scores_become_rows_of_a_data_frame() -> None:
    models = {"bigram": NGram.fit(["ab", "b"], 2), "uniform": Uniform(2)}
    scores = {name: evaluate(model, ["ab", "b"]) for name, model in models.items()}
    frame = pd.concat([one.to_frame(name) for name, one in scores.items()])
    assert list(frame.index) == list(models) and set(frame.dtypes) == {np.dtype(float)}
    assert frame.loc["uniform", "perplexity"] == scores["uniform"].perplexity and np.isnan(
        frame.loc["bigram", "kl"]
    )
    assert {field.name for field in fields(Scores)} | {"perplexity"} == set(frame.columns)


# The table of scores


def test_every_score_of_the_table_is_a_field() -> None:
    assert set(SCORE_OF) <= {field.name for field in fields(Scores)} and len(SCORE_OF) == len(
        SCORES
    )
    assert (
        len({score.title for score in SCORES})
        == len({score.column for score in SCORES})
        == len(SCORES)
    )


def test_no_other_module_writes_the_name_of_a_score() -> None:
    """Strings that are a title as a whole; sentences may mention a score.

    Words such as "zero" name other things, too.
    """
    names = {name for score in METRICS for name in (score.title, score.short_title, score.column)}
    paths = {*(ROOT / "nlwfa_core").rglob("*.py"), *(ROOT / "pages").rglob("*.py")} - {
        ROOT / "nlwfa_core/metrics/score_table.py"
    }
    paths -= {
        ROOT / "nlwfa_core/teaching/glossary.py"
    }  # which explains abbreviations that lessons use
    copies = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.value!r}"
        for path in sorted(paths)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.strip(" :") in names
    ]
    assert copies == []


@pytest.mark.parametrize("broken", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("floor", [0.0, 0.01])
def test_a_score_that_is_not_a_number_makes_all_next_symbol_scores_undefined(
    broken: float, place: int, floor: float
) -> None:
    values = [1.0, 2.0, 3.0]
    values[place] = broken
    scores = evaluate(Fixed(tuple(values)), TestSet.empirical(SAMPLE), floor)
    for field in (
        "wer",
        "wer_without_end",
        "share_tied",
        "bits_per_symbol",
        "bits_without_end",
        "ndcg5",
    ):
        assert np.isnan(getattr(scores, field)), field
        assert scores.why_undefined(field) == "3 next-symbol scores not finite"  # after λ, a and ab
    assert scores.num_nonfinite_next == 3
    assert "undefined" in repr(scores) and "3 next-symbol scores not finite" in repr(scores)


@pytest.mark.parametrize("broken", [np.nan, np.inf])
def test_a_score_that_is_not_a_number_after_one_prefix_is_enough(broken: float) -> None:
    class Broken(Fixed):
        def next_scores(self, trie: Trie) -> FloatArray:
            scores = super().next_scores(trie).copy()
            scores[-1, 0] = broken  # after ab, which nothing but the end ever follows
            return scores

    scores = evaluate(Broken((1.0, 2.0, 3.0)), TestSet.empirical(SAMPLE))
    assert (
        np.isnan([scores.wer, scores.ndcg5, scores.bits_per_symbol]).all()
        and scores.num_nonfinite_next == 1
    )
    own = string_scores(Broken((1.0, 2.0, 3.0)), TestSet.empirical(SAMPLE)).estimates
    assert np.isnan([own["wer"], own["ndcg5"], own["bits_per_symbol"]]).all()


def test_outputs_that_are_not_finite_are_counted_in_the_table() -> None:
    scores = evaluate(Fixed((1.0, 1.0, 1.0), np.inf), TestSet.empirical(SAMPLE))
    assert (
        scores.num_nonfinite == 3 and scores.why_undefined("log2_pauto") == "3 outputs not finite"
    )
    assert any(
        line.startswith("test strings whose weight is not finite") and "3" in line
        for line in repr(scores).splitlines()
    )


A_THIRD = WFA([1], [[[0.3]], [[0.3]]], [0.4], AB)


@pytest.mark.parametrize(
    "zero",
    [
        WFA([1], [[[0.0]], [[0.0]]], [0.0], AB),
        WFA([0, 0], np.full((2, 2, 2), 0.25), [0.5, 0.5], AB),
        WFA([1, 0], [[[0, 1], [0, 0]], [[0, 0], [0, 0]]], [0, 0], AB),
        0 * A_THIRD,
        A_THIRD - A_THIRD,
    ],
)
def test_the_total_variation_of_nothing_is_undefined(zero: WFA) -> None:
    words = A_THIRD.sample(100, seed=0).words
    for test in (
        TestSet.of(words, AB, true_model=A_THIRD),
        TestSet.of(words, AB, solution=A_THIRD.weights(words)),
    ):
        scores = evaluate(zero, test)
        assert scores.total_variation is not None and np.isnan(scores.total_variation)
        assert scores.why_undefined("total_variation") == "all outputs are 0" in repr(scores)
        assert (scores.kl, scores.log2_pauto) == (np.inf, np.inf)
        assert np.isnan(string_scores(zero, test).estimates["total_variation"])
    poor = WFA([0.01], [[[0.9]], [[0.09]]], [0.09], AB)
    gaps = paired_differences(*(string_scores(model, test) for model in (zero, poor)))
    assert leaders(gaps, has_truth=True)["total_variation"] == "no verdict"


def test_outputs_beyond_float64_are_numbers() -> None:
    """f(x) = 2^|x|: two strings of 1,100 and 1,101 symbols have the shares 1/3 and 2/3, wherever
    float64 ends.
    """
    double = WFA([1.0], [[[2.0]]], [1.0], Alphabet(("a",)))
    scores = evaluate(double, ["a" * 1100, "a" * 1101])
    assert (scores.num_nonfinite, scores.num_nonfinite_next, scores.num_zero) == (0, 0, 0)
    assert scores.log2_pauto == pytest.approx(-0.5 * np.log2(1 / 3) - 0.5 * np.log2(2 / 3))
    # Sums do not exist, but by the formula f(uΣ*) = −2^|u|, so the scores of a and of the end are
    # −2 : 1.
    assert scores.bits_per_symbol == pytest.approx((2201 * np.log2(3 / 2) + 2 * np.log2(3)) / 2203)
