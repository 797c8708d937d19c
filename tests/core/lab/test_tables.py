"""What is said of scores."""

from __future__ import annotations

from dataclasses import replace

from nlwfa_core.lab.tables import scores_csv, verdicts
from nlwfa_core.metrics.scores import Scores, TestSet, evaluate
from nlwfa_core.models.ngram import Uniform
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import Alphabet, Words

SCORES = evaluate(Uniform(2), TestSet.empirical(Sample.of(Words.of([(0,), (0, 1)]), Alphabet(("a", "b")))))


def with_wer(wer: float) -> Scores:
    return replace(SCORES, wer=wer)


def test_models_behind_a_baseline_are_named() -> None:
    rows = {"SP, k = 2": with_wer(0.6), "fac.non, k = 2": with_wer(0.4), "uniform": with_wer(0.5), "5-gram": with_wer(0.3)}
    assert verdicts(rows) == (
        "No better than the uniform model at the next symbol (WER): SP, k = 2.",
        "No better than the 5-gram model at the next symbol (WER): SP, k = 2; fac.non, k = 2.",
    )


def test_a_linear_model_ahead_of_the_nonlinear_ones_is_told() -> None:
    rows = {"SP": with_wer(0.2), "tran.non": with_wer(0.4), "both.non": with_wer(0.3)}
    assert verdicts(rows) == ("The linear model is ahead of every nonlinear one here (WER).",)


def test_nothing_is_said_where_nothing_is_wrong() -> None:
    assert verdicts({"SP": with_wer(0.4), "fac.non": with_wer(0.3), "uniform": with_wer(0.5), "5-gram": with_wer(0.45)}) == ()


def test_scores_are_written_with_all_digits() -> None:
    header, line = scores_csv({"SP, k = 2": with_wer(1 / 3)}).decode().splitlines()
    assert header.startswith("model,log2_pauto,wer,")
    assert line.startswith('"SP, k = 2",')
    assert ",0.3333333333333333," in line
