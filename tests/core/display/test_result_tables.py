"""What is said of scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nlwfa_core.display.result_tables import influence_table, mixed, scores_csv, verdicts
from nlwfa_core.experiment.datasets import Data
from nlwfa_core.metrics.evaluate import evaluate
from nlwfa_core.metrics.score_table import Scores
from nlwfa_core.metrics.tables import Numbers
from nlwfa_core.metrics.testset import TestSet
from nlwfa_core.models.model import Model
from nlwfa_core.models.ngram import Uniform
from nlwfa_core.models.wfa import WFA
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import Alphabet, Words

SCORES = evaluate(
    Uniform(2), TestSet.empirical(Sample.of(Words.of([(0,), (0, 1)]), Alphabet(("a", "b"))))
)


def with_wer(wer: float) -> Scores:
    return replace(SCORES, wer=wer, num_strings=100)


def test_nobody_is_ahead_on_few_strings() -> None:
    rows = {
        "SP": replace(with_wer(0.2), num_strings=29),
        "both.non": replace(with_wer(0.3), num_strings=29),
    }
    assert verdicts(rows) == (
        "n = 29 strings: too few for an interval, which needs 30. So no model is said to be ahead.",
    )


def test_models_behind_a_baseline_are_named() -> None:
    rows = {
        "SP, k = 2": with_wer(0.6),
        "fac.non, k = 2": with_wer(0.4),
        "uniform": with_wer(0.5),
        "5-gram": with_wer(0.3),
    }
    assert verdicts(rows) == (
        "Not ahead of the uniform model at predicting the next symbol (WER): SP, k = 2.",
        "Not ahead of the 5-gram model at predicting the next symbol (WER): SP, k = 2; fac.non, k "
        "= 2.",
    )


def test_a_linear_model_ahead_of_the_nonlinear_ones_is_told() -> None:
    rows = {"SP": with_wer(0.2), "tran.non": with_wer(0.4), "both.non": with_wer(0.3)}
    assert verdicts(rows) == ("The linear model is ahead of every nonlinear one here (WER).",)


def test_a_lead_that_may_be_chance_is_told_as_such() -> None:
    rows = {
        "SP": with_wer(0.29),
        "both.non": with_wer(0.3),
        "fac.non": with_wer(0.4),
        "HMM": with_wer(0.28),
        "GRU": with_wer(0.1),
    }
    pairs: list[tuple[str, str]] = []

    def is_level(first: str, second: str) -> bool:
        pairs.append((first, second))
        return {first, second} != {"GRU", "SP"}

    assert verdicts(rows, is_level) == (
        "Ahead of every learner here (WER): GRU.",
        "Ahead of every learner here (WER), though the difference may be chance: HMM.",
        "The linear model is ahead of every nonlinear one here (WER), though the difference "
        "may be chance.",
    )
    assert pairs == [("HMM", "SP"), ("GRU", "SP"), ("SP", "both.non")]


def test_windows_are_compared_without_their_ends() -> None:
    rows = {
        "SP": replace(with_wer(0.4), wer_without_end=0.3),
        "5-gram": replace(with_wer(0.5), wer_without_end=0.2),
    }
    assert verdicts(rows) == ()
    assert verdicts(rows, field="wer_without_end") == (
        "Not ahead of the 5-gram model at predicting the next symbol (WER, no end): SP.",
    )


def test_nothing_is_said_where_nothing_is_wrong() -> None:
    assert (
        verdicts(
            {
                "SP": with_wer(0.4),
                "fac.non": with_wer(0.3),
                "uniform": with_wer(0.5),
                "5-gram": with_wer(0.45),
            }
        )
        == ()
    )


def test_who_says_what_next_by_hand() -> None:
    """Two coins, without validation strings, so with equal weights.

    After b, the first has 0.5 · 0.6 of 0.5 · 0.6 + 0.5 · 0.2.
    """
    alphabet = Alphabet(("a", "b"))
    coins: dict[str, Model] = {
        name: WFA([1.0], [[[a]], [[b]]], [end], alphabet)
        for name, (a, b, end) in {"x": (0.3, 0.6, 0.1), "y": (0.7, 0.2, 0.1)}.items()
    }
    sample = Sample.of(Words.of([(0,), (0, 1)]), alphabet)
    data = Data(sample, None, TestSet.empirical(sample), None, "")
    for level, share in (("string", 0.75), ("symbol", 0.5)):
        mixture = mixed(coins, data, level)
        table = influence_table(list(coins), mixture, (1,), alphabet)
        a = share * 0.3 + (1 - share) * 0.7
        b = share * 0.6 + (1 - share) * 0.2
        best, parts = (
            ("b", [share * 0.6, (1 - share) * 0.2])
            if b > a
            else ("a", [share * 0.3, (1 - share) * 0.7])
        )
        assert table["model"] == ["x", "y", "mixture"] and table["likeliest next"] == [
            "b",
            "a",
            best,
        ]
        columns = {
            name: column.values for name, column in table.items() if isinstance(column, Numbers)
        }
        assert columns["weight"] == (0.5, 0.5, 1.0)
        np.testing.assert_allclose(columns["share after the prefix"], [share, 1 - share, 1])  # type: ignore[arg-type]
        np.testing.assert_allclose(columns["its probability"], [0.6, 0.7, max(a, b)])  # type: ignore[arg-type]
        np.testing.assert_allclose(columns[f"adds to {best}"], [*parts, sum(parts)])  # type: ignore[arg-type]
    chosen = mixed(
        coins,
        replace(data, validation=TestSet.empirical(Sample.of(Words.of([(1, 1, 1)]), alphabet))),
        "string",
    )
    assert chosen.shares.tolist() == pytest.approx([1, 0])


def test_scores_are_written_with_all_digits() -> None:
    header, line = scores_csv({"SP, k = 2": with_wer(1 / 3)}).decode().splitlines()
    assert header.startswith("model,log2_pauto,wer,")
    assert line.startswith('"SP, k = 2",')
    assert ",0.3333333333333333," in line
