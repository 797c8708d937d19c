"""Conventions for outputs that are not positive, and distances to the truth, worked out by hand and
against identities.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import rel_entr

from nlwfa_core.display.result_tables import conventions_table
from nlwfa_core.errors import RecipeError
from nlwfa_core.metrics.evaluate import evaluate
from nlwfa_core.metrics.intervals import string_scores
from nlwfa_core.metrics.pautomac_score import (
    CONVENTIONS,
    divergence,
    pautomac_score,
    root_mean_square,
    shares,
)
from nlwfa_core.metrics.testset import TestSet
from nlwfa_core.models.wfa import WFA
from nlwfa_core.strings.words import Alphabet, FloatArray, Words

positive = st.lists(st.floats(1e-6, 1), min_size=2, max_size=8).map(np.array)
# Half the mass on a word that is given −¼; the rest is given ¾ and 0.
OUTPUTS = np.array([-0.25, 0.75, 0.0])
TARGET = np.array([0.5, 0.5, 0.0])
SUBSTITUTES = np.array([0.25, 0.5, 1.0])


def log2_by(name: str, outputs: FloatArray = OUTPUTS) -> float:
    return pautomac_score(outputs, TARGET, convention=name, substitutes=SUBSTITUTES).log2


def test_each_convention_by_hand() -> None:
    by_hand = {
        "abs": -0.5 * np.log2(1 / 4) - 0.5 * np.log2(3 / 4),
        "abs, not normalised": -0.5 * np.log2(1 / 4) - 0.5 * np.log2(3 / 4),  # they sum to 1
        "floor 1e-4": -0.5 * np.log2(1e-4 / 0.7502) - 0.5 * np.log2(0.75 / 0.7502),
        "floor 2.2e-16": -0.5 * -52 - 0.5 * np.log2(3 / 4) + np.log2(0.75 + 2 * 2.0**-52),
        "floor 1e-30": -0.5 * np.log2(1e-30 / 0.75),
        "trigram": -0.5 * np.log2(0.25 / 2) - 0.5 * np.log2(0.75 / 2),  # ¼, ¾, 1
        "left out": 0.0,  # all that is left has probability 1
        "as it is": np.nan,
    }
    assert list(by_hand) == list(CONVENTIONS)
    for name, log2 in by_hand.items():
        assert log2_by(name) == pytest.approx(log2, nan_ok=True, abs=1e-12), name
        counts = pautomac_score(OUTPUTS, TARGET, convention=name, substitutes=SUBSTITUTES)
        assert (counts.num_words, counts.num_zero, counts.num_negative) == (3, 1, 1)


def test_without_the_sum_the_mass_elsewhere_costs() -> None:
    halved = log2_by("abs, not normalised", OUTPUTS / 2)
    assert halved == pytest.approx(log2_by("abs") + 1)
    assert log2_by("abs", OUTPUTS / 2) == pytest.approx(log2_by("abs"))


@given(positive, st.data())
def test_positive_outputs_leave_nothing_to_conventions(
    outputs: FloatArray, data: st.DataObject
) -> None:
    target = np.array(
        data.draw(st.lists(st.floats(1e-6, 1), min_size=len(outputs), max_size=len(outputs)))
    )
    scores = {
        name: pautomac_score(outputs, target, convention=name, substitutes=outputs).log2
        for name, convention in CONVENTIONS.items()
        if convention.normalised
    }
    assert scores == pytest.approx(dict.fromkeys(scores, scores["abs"]), abs=1e-12)


def test_leaving_words_out_may_beat_the_truth_which_no_probability_can() -> None:
    best = pautomac_score(TARGET, TARGET).log2
    assert log2_by("left out") < best
    assert all(
        log2_by(name) >= best for name in CONVENTIONS if name not in ("left out", "as it is")
    )


def test_what_is_no_number_has_no_score_by_any_convention() -> None:
    for name in CONVENTIONS:
        assert np.isnan(log2_by(name, np.array([1.0, np.nan, 1.0]))), name
        assert np.isnan(log2_by(name, np.array([1.0, np.inf, 1.0]))), name
    assert log2_by("as it is", np.array([1.0, 0.0, 1.0])) == np.inf


def test_unknown_conventions_and_missing_substitutes_are_refused() -> None:
    with pytest.raises(RecipeError, match="convention must be one of abs, .*; got 'none'"):
        shares(OUTPUTS, convention="none")
    with pytest.raises(
        RecipeError,
        match="the convention 'trigram' needs substitutes: the probability of each word under a "
        "3-gram",
    ):
        shares(OUTPUTS, convention="trigram")


def test_the_table_says_what_each_convention_touches() -> None:
    table = conventions_table(OUTPUTS, TARGET, SUBSTITUTES)
    rows = dict(
        zip(
            table["convention"],
            zip(
                table["perplexity"].texts,
                table["log₂"].texts,
                table["words affected"].texts,
                strict=True,
            ),
            strict=True,
        )
    )
    assert table["log₂"].values[0] == log2_by("abs") and table["perplexity"].values[
        0
    ] == 2 ** log2_by("abs")
    assert rows["abs"] == (f"{2 ** log2_by('abs'):.1f}", f"{log2_by('abs'):.3f}", "1")
    assert rows["floor 1e-30"] == ("2^50", f"{log2_by('floor 1e-30'):.3f}", "2")
    assert rows["as it is"] == ("undefined", "undefined", "0")
    assert "trigram" not in conventions_table(OUTPUTS, TARGET)["convention"]
    assert conventions_table(np.zeros(3), TARGET)["perplexity"].texts[0] == "∞"
    assert all(CONVENTIONS[name].source in table["source"] for name in CONVENTIONS)


@given(positive, st.data())
def test_distances_keep_their_identities(target: FloatArray, data: st.DataObject) -> None:
    outputs = np.array(
        data.draw(st.lists(st.floats(1e-6, 1), min_size=len(target), max_size=len(target)))
    )
    same = divergence(target, target)
    gap = divergence(outputs, target)
    assert (same.kl, same.total_variation) == (0, 0)
    p = target / target.sum()
    q = outputs / outputs.sum()
    assert gap.kl == pytest.approx(rel_entr(p, q).sum() / np.log(2), abs=1e-9)  # scipy's
    assert 0 <= gap.total_variation <= 1
    assert gap.total_variation <= np.sqrt(gap.kl * np.log(2) / 2) + 1e-7  # Pinsker
    assert divergence(3 * outputs, target).kl == pytest.approx(gap.kl, abs=1e-9)
    rmse = root_mean_square(outputs, target)
    assert rmse == pytest.approx(np.sqrt(np.mean((outputs - target) ** 2)), abs=1e-15)


def test_total_variation_is_over_distinct_words_and_kl_over_the_words_as_drawn() -> None:
    """P is (1/2, 1/4, 1/4), Q (1/4, 1/4, 1/2). The first word is drawn three times."""
    P = np.array([2.0, 2, 2, 1, 1])
    Q = np.array([1.0, 1, 1, 1, 2])
    distinct = np.array([0, 3, 4])
    found = divergence(Q, P, distinct=distinct)
    assert found.total_variation == 0.25
    assert (
        found.kl
        == divergence(Q, P).kl
        == pytest.approx(pautomac_score(Q, P).log2 - pautomac_score(P, P).log2)
    )
    words = Words.of([(0,), (0,), (0,), (1,), (2,)])
    alphabet = Alphabet.numbered(3)
    true, model = (
        WFA([1.0], np.array(weights)[:, None, None] / 8, [0.5], alphabet)
        for weights in ([2.0, 1, 1], [1.0, 1, 2])
    )
    test = TestSet.of(words, alphabet, true_model=true)
    assert evaluate(model, test).total_variation == pytest.approx(0.25)
    assert string_scores(model, test).estimates["total_variation"] == pytest.approx(0.25)


def test_distances_at_the_edges() -> None:
    apart = divergence(np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    assert (apart.kl, apart.total_variation) == (np.inf, 1.0)
    assert np.isfinite(divergence(np.array([0.0, 1.0]), np.array([1.0, 0.0]), floor=0.1).kl)
    lost = divergence(np.array([np.nan, 1.0]), np.ones(2))
    assert all(map(np.isnan, (lost.kl, lost.total_variation)))
    assert np.isnan(root_mean_square(np.array([np.inf, 1.0]), np.ones(2)))
    assert root_mean_square(np.array([1e200, -1e200]), np.zeros(2)) == pytest.approx(1e200)
    # (9 + 16) / 2
    assert root_mean_square(np.array([3.0, -4.0]), np.array([0.0, 0.0])) == pytest.approx(
        np.sqrt(12.5)
    )


def test_an_output_that_is_infinite_has_a_score_by_its_logarithm_under_abs_alone() -> None:
    outputs = np.array([np.inf, 1.0])
    target = np.array([0.5, 0.5])
    logs = np.array([2000.0, 0.0])
    score = pautomac_score(outputs, target, log2_outputs=logs)
    assert (score.log2, score.num_nonfinite) == (pytest.approx(1000.0), 0)
    for convention in sorted(CONVENTIONS.keys() - {"abs"}):
        score = pautomac_score(
            outputs, target, convention=convention, substitutes=np.ones(2), log2_outputs=logs
        )
        assert np.isnan(score.log2) and score.num_nonfinite == 1
