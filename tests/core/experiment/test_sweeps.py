"""Grids of runs: which there are, how they are named, and tables and curves of them by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from nlwfa_core import HankelRecipe, LearningRecipe, Recipe, RecipeError, RefinementRecipe
from nlwfa_core.experiment.sweeps import MAX_RUNS, Outcome, Sweep, curves, seeded, spread_table, time_left, winners
from nlwfa_core.lab.figures.metrics import metric_figure
from nlwfa_core.metrics.diagnostics import diagnostics
from nlwfa_core.metrics.scores import Scores, TestSet, evaluate
from nlwfa_core.metrics.seeds import Spread
from nlwfa_core.models.ngram import Uniform
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import Alphabet, Words

UNIFORM = Uniform(2)
SCORES = evaluate(UNIFORM, TestSet.empirical(Sample.of(Words.of([(0,), (0, 1)]), Alphabet(("a", "b")))))
BASE = Recipe(learning=LearningRecipe(learner="SP", rank=2, seed=4))


def outcome(wer: float, validation: float | None = 0.5, recipe: Recipe = BASE, **more: float) -> Outcome:
    scores = replace(SCORES, wer=wer, **more)
    held_out = None if validation is None else replace(SCORES, wer=validation)
    return Outcome(recipe, scores, held_out, diagnostics(UNIFORM, scores))


def test_a_grid_has_a_run_a_place_and_learning_without_chance_one_for_all_seeds() -> None:
    grid = Sweep(("SP", "fac.non", "HMM"), "rank", (3, 1), num_seeds=3).recipes(BASE)
    assert [place for place in grid if place[0] == "SP"] == [("SP", 1, 0), ("SP", 3, 0)]
    assert len(grid) == 2 + 6 + 6 and len({recipe.key() for recipe in grid.values()}) == len(grid)
    assert grid["fac.non", 3, 2].learning.seed == 6 and grid["fac.non", 3, 2].data == BASE.data
    assert grid["fac.non", 3, 0].learning.rank == 3
    new = Sweep(("SP",), "rank", (1,), num_seeds=2, new_strings=True).recipes(BASE)
    assert [recipe.data.seed for recipe in new.values()] == [0, 1]


def test_against_strings_the_rank_stays() -> None:
    grid = Sweep(("SP", "fac.non"), "strings", (100, 50)).recipes(BASE)
    assert [(place, recipe.data.num_strings, recipe.learning.rank) for place, recipe in grid.items()] == [
        (("SP", 50, 0), 50, 2),
        (("SP", 100, 0), 100, 2),
        (("fac.non", 50, 0), 50, 2),
        (("fac.non", 100, 0), 100, 2),
    ]


def test_learners_get_the_boundaries_that_they_need() -> None:
    base = BASE.changed(hankel=HankelRecipe(statistic="factor"))
    grid = Sweep(("SP", "fac.non"), "rank", (2,)).recipes(base)
    assert [recipe.hankel.bounded for recipe in grid.values()] == [False, True]


def test_seeds_come_round_and_refine_too() -> None:
    last = BASE.changed(refinement=RefinementRecipe(objective="likelihood", seed=2**31 - 1))
    assert seeded(last, 2, new_strings=False).refinement.seed == 1
    assert seeded(last, 0, new_strings=True) is last
    assert len(Sweep(("SP",), "rank", (2,), num_seeds=3).recipes(last)) == 3


@pytest.mark.parametrize(
    ("sweep", "said"),
    [
        (Sweep(("fac.non",), "rank", tuple(range(1, 22)), num_seeds=10), f"210 given, at most {MAX_RUNS} allowed"),
        (Sweep(("SP",), "rank", (1,), num_seeds=11), "seeds: 11 given, at most 10"),
        (Sweep(("SP",), "loss", (1,)), "against: 'loss' given"),
    ],
)
def test_what_is_too_much_is_told(sweep: Sweep, said: str) -> None:
    with pytest.raises(RecipeError, match=said):
        sweep.recipes(BASE)


def test_runs_are_called_as_long_as_needed() -> None:
    place = ("SP", 1000, 1)
    assert Sweep(("SP",)).names(BASE, [("SP", 3, 0)]) == {("SP", 3, 0): "SP, k = 3"}
    assert Sweep(("SP",), "strings", (), 2).names(BASE, [place]) == {place: "SP, k = 2, 1,000 strings, seed 2"}


def test_curves_are_means_over_seeds() -> None:
    found = {
        ("SP", 2, 0): outcome(0.4, kl=1.0),
        ("SP", 1, 0): outcome(0.1, kl=math.inf),
        ("SP", 1, 1): outcome(0.3, kl=2.0),
    }
    lines = curves(found, "wer", "test")["SP"]
    assert list(lines) == [1, 2] and lines[1].mean == pytest.approx(0.2)
    assert lines[1].sd == pytest.approx(math.sqrt(0.02)) and lines[2].sd is None
    assert curves(found, "kl", "test")["SP"][1] == Spread(2.0, None, 2, 1)
    assert curves(found, "rmse", "test") == {} and list(curves(found, "wer", "validation")["SP"]) == [1, 2]
    assert curves({("SP", 1, 0): outcome(0.1, None)}, "wer", "validation") == {}


def test_validation_strings_choose_and_test_strings_are_told() -> None:
    found = {
        ("SP", 1, 0): outcome(0.1, 0.9),
        ("SP", 2, 0): outcome(0.7, 0.2),
        ("SP", 2, 1): outcome(0.9, 0.4),
        ("SP", 3, 0): outcome(0.0, math.nan),
        ("HMM", 5, 0): outcome(0.5, None),
    }
    (chosen,) = winners(found, "wer").items()
    assert chosen[0] == "SP" and chosen[1][0] == 2 and [scores.wer for scores in chosen[1][1]] == [0.7, 0.9]
    table = spread_table({"SP, k = 2": chosen[1][1], "uniform": [SCORES]})
    assert table["WER"] == ["0.800 ± 0.141", f"{SCORES.wer:.3f}"] and table["seeds"] == ["2", "1"]
    assert table["KL"] == ["–", "–"]


def test_a_figure_has_a_band_where_seeds_differ_and_says_where_a_value_is_infinite() -> None:
    points = {1: Spread.of([0.2, 0.4]), 2: Spread.of([0.3]), 4: Spread.of([math.inf, 0.5]), 8: Spread.of([math.inf])}
    figure = metric_figure({"SP": points}, {"uniform": 0.6, "5-gram": {1: 0.5, 8: 0.4}, "true model": math.nan}, "wer")
    by_mode = {(trace.name, trace.mode): trace for trace in figure.data}
    line, band, beyond = by_mode["SP", "lines+markers"], by_mode["SP ± sd", "lines"], by_mode["SP", "text"]
    assert list(line.x) == [1, 2, 4, 8] and line.y[0] == pytest.approx(0.3) and line.y[3] is None
    assert band.y[0] == pytest.approx(0.3 + math.sqrt(0.02)) and len(band.x) == 6
    assert list(beyond.x) == [4, 8] and list(beyond.customdata) == ["1 of 2", "1 of 1"] and min(beyond.y) > 0.6
    assert [note.text for note in figure.layout.annotations] == ["uniform 0.600"]
    assert list(by_mode["5-gram", "lines"].y) == [0.5, 0.4]
    assert [trace.name for trace in metric_figure({"SP": {2: Spread.of([0.3])}}, {}, "wer").data] == ["SP"]


def test_the_time_left_is_that_of_the_same_learner() -> None:
    assert time_left({}, {"SP": 3}, 1) is None
    assert time_left({"SP": [2.0], "GRU": [10.0]}, {"GRU": 2, "HMM": 1}, 1) == 26.0


def test_scores_stay_as_they_are() -> None:
    assert isinstance(outcome(0.1).on("test"), Scores) and outcome(0.1, None).on("validation") is None
