"""Two models side by side on the same test strings, and intervals in sentences."""

from __future__ import annotations

import pytest

from nlwfa_core.display.pairs import (
    interval_sentence,
    interval_table,
    interval_text,
    is_level,
    lead_over,
    lead_sentence,
    pair_caption,
    paired_table,
)
from nlwfa_core.errors import RecipeError
from nlwfa_core.metrics.evaluate import evaluate
from nlwfa_core.metrics.intervals import (
    COUNTS,
    Interval,
    intervals,
    paired_differences,
    string_scores,
)
from nlwfa_core.metrics.score_table import SCORE_OF
from nlwfa_core.metrics.tables import Numbers, format_score
from nlwfa_core.metrics.testset import TestSet
from nlwfa_core.models.ngram import NGram, Uniform
from nlwfa_core.sources.dyck import ALPHABET, Dyck

WORDS = Dyck().sample_words(200, seed=3)
TEST = TestSet.of(WORDS, ALPHABET, true_model=Dyck())
TRIGRAM = NGram.fit(Dyck().sample(500, seed=4), 3)


def test_the_lead_is_that_of_the_paired_difference() -> None:
    trigram = string_scores(TRIGRAM, TEST)
    truth = string_scores(Dyck(), TEST)
    names = ("3-gram", "truth")
    expected = lead_sentence(
        names,
        (trigram.estimates["wer"], truth.estimates["wer"]),
        paired_differences(trigram, truth)["wer"],
    )
    assert lead_over(trigram, truth, names, "wer") == expected
    assert lead_over(trigram, truth, names, "no such score") == ""
    assert not is_level(trigram, truth, "wer") and is_level(truth, truth, "wer")
    assert not is_level(truth, truth, "no such score")
    shorter = string_scores(
        Dyck(), TestSet.of(WORDS.take(list(range(50))), ALPHABET, true_model=Dyck())
    )
    with pytest.raises(RecipeError, match="test"):
        is_level(truth, shorter, "wer")


def test_the_table_has_both_models_their_difference_and_who_is_ahead() -> None:
    models = string_scores(TRIGRAM, TEST), string_scores(Dyck(), TEST)
    table = paired_table(("3-gram", "truth"), models)
    gaps = paired_differences(*models)
    by_title = {SCORE_OF[field].short_title: gap for field, gap in gaps.items()}
    assert table["score"] == [
        score.short_title for score in SCORE_OF.values() if score.field in gaps
    ]
    own = table["3-gram"]
    truth = table["truth"]
    difference = table["difference"]
    assert (
        isinstance(own, Numbers) and isinstance(truth, Numbers) and isinstance(difference, Numbers)
    )
    assert difference.values == tuple(by_title[title].estimate for title in table["score"])
    row = table["score"].index("WER")
    assert (
        own.values[row] == pytest.approx(evaluate(TRIGRAM, TEST).wer)
        and truth.values[row] < own.values[row]
    )
    assert difference.texts[row].startswith("+0.") and table["ahead"][row] == "truth"
    assert table["95 % interval"][row] == interval_text(by_title["WER"], signed=True)
    assert table["p value"].values == tuple(by_title[title].p_value for title in table["score"])
    same = paired_table(("one", "other"), (models[0], models[0]))
    verdicts = dict(zip(same["score"], same["ahead"], strict=True))
    assert {title for title, verdict in verdicts.items() if verdict != "level"} == {
        SCORE_OF[field].short_title for field in COUNTS
    }
    assert set(same["difference"].values) == {0.0}


INFINITE = Interval(float("inf"), float("inf"), float("inf"))
UNDEFINED = Interval(float("nan"), float("nan"), float("nan"))


@pytest.mark.parametrize(
    ("field", "scores", "difference", "said"),
    [
        (
            "wer",
            (0.4, 0.5),
            Interval(-0.1, -0.2, -0.01),
            "A is ahead of B: {} (difference −0.100, 95 % interval −0.200 to −0.010).",
        ),
        ("wer", (0.5, 0.4), Interval(0.1, 0.01, 0.2), "A is behind B: {} ("),
        (
            "ndcg5",
            (0.5, 0.4),
            Interval(0.1, 0.01, 0.2),
            "A is ahead of B: {} (",
        ),  # where more is better
        (
            "wer",
            (0.4, 0.41),
            Interval(-0.01, -0.1, 0.1),
            "Undecided between A and B: {} (",
        ),
        (
            "wer",
            (0.4, 0.4),
            Interval(0.0, 0.0, 0.0),
            "Undecided between A and B: {} (difference 0.000, ",
        ),
        (
            "log2_pauto",
            (float("inf"), 7.0),
            INFINITE,
            "A is behind B: {} (difference +∞, 95 % interval +∞ in every resample).",
        ),
        (
            "log2_pauto",
            (float("nan"), 7.0),
            UNDEFINED,
            ": A undefined, B 7.000. A score is undefined, so there is no verdict.",
        ),
        (
            "wer",
            (0.4, 0.5),
            Interval(-0.1, float("nan"), float("nan")),
            "too few for an interval, so there is no verdict",
        ),
    ],
)
def test_who_is_better_is_said_only_where_the_interval_says_it(
    field: str, scores: tuple[float, float], difference: Interval, said: str
) -> None:
    score = SCORE_OF[field]
    values = [format_score(value, score.form) for value in scores]
    against = f"{score.short_title} on the test strings {' against '.join(values)}"
    sentence = lead_sentence(("A", "B"), scores, difference, field)
    assert said.format(against) in sentence
    assert ("which contains 0" in sentence) == sentence.startswith("Undecided")


def test_models_of_other_strings_are_refused() -> None:
    with pytest.raises(RecipeError, match="scored on the same test strings"):
        paired_table(
            ("one", "other"),
            (string_scores(TRIGRAM, TEST), string_scores(TRIGRAM, TestSet.empirical(TEST.sample))),
        )


def test_intervals_are_said_in_a_sentence() -> None:
    known = {"SP": intervals(string_scores(Uniform(2), TEST)), "HMM": {"kl": Interval(1, 0, 2)}}
    assert interval_sentence(known, "kl").endswith("; HMM 0.000 to 2.000.")
    assert interval_sentence(known).count(";") == 0 and interval_sentence({}) == ""


def test_few_strings_are_said_to_be_few() -> None:
    few = TestSet.of(Dyck().sample_words(9, seed=3), ALPHABET, true_model=Dyck())
    models = string_scores(TRIGRAM, few), string_scores(Dyck(), few)
    table = paired_table(("3-gram", "truth"), models)
    assert set(table["ahead"]) == {"no verdict"} and set(table["95 % interval"]) == {
        "–",
        "too few test strings",
    }
    assert set(table["p value"].texts) == {"–"} and table["3-gram"].values[0] == pytest.approx(
        evaluate(TRIGRAM, few).wer
    )
    assert pair_caption(models).startswith("N = 9 strings: too few for an interval")
    assert set(interval_table(intervals(models[0]))) == {"score", "value"}
    assert "too few" in interval_sentence({"3-gram": intervals(models[0])})
