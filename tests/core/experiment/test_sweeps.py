"""Sweeps: which runs they mean, in which order, how they are named, and tables and curves of them
by hand.
"""

from __future__ import annotations

import csv
import json
import math
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from nlwfa_core import (
    DataRecipe,
    HankelRecipe,
    Recipe,
    RecipeError,
    options,
)
from nlwfa_core.display.figures.score_curves import metric_figure, score_bars
from nlwfa_core.display.recipe_differences import ranking, run_table
from nlwfa_core.display.result_tables import run_names, spread_table
from nlwfa_core.experiment import sweep_table, sweeps
from nlwfa_core.experiment.datasets import load_data
from nlwfa_core.experiment.pipeline import Workbench, run
from nlwfa_core.experiment.recipe import flat
from nlwfa_core.experiment.sweep_table import RUN_COLUMNS, STAGES, SweepTable
from nlwfa_core.experiment.sweeps import (
    MAX_POINTS,
    Grid,
    Outcome,
    Point,
    curves,
    time_left,
    winners,
)
from nlwfa_core.learning.progress import UNKNOWN
from nlwfa_core.metrics.criteria import InformationCriteria
from nlwfa_core.metrics.diagnostics import diagnostics
from nlwfa_core.metrics.evaluate import evaluate
from nlwfa_core.metrics.score_table import Scores
from nlwfa_core.metrics.seeds import Spread
from nlwfa_core.metrics.testset import TestSet
from nlwfa_core.models.ngram import Uniform
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import Alphabet, Words

UNIFORM = Uniform(2)
SCORES = evaluate(
    UNIFORM, TestSet.empirical(Sample.of(Words.of([(0,), (0, 1)]), Alphabet(("a", "b"))))
)
BASE = Recipe(learning=options("SP", rank=2))
SEED = (("learning_seed", 4),)
FILE_BASE = Recipe(
    data=DataRecipe(num_strings=200, num_validation=20, num_test=20),
    hankel=HankelRecipe(num_prefixes=20, num_suffixes=20),
    learning=options("SP", rank=2),
)


def outcome(
    wer: float, validation: float | None = 0.5, recipe: Recipe = BASE, **more: float
) -> Outcome:
    scores = replace(SCORES, wer=wer, **more)
    held_out = None if validation is None else replace(SCORES, wer=validation)
    return Outcome(recipe, scores, held_out, diagnostics(UNIFORM, scores), UNKNOWN, 2)


def test_a_grid_has_a_run_a_place_and_learning_without_chance_one_for_all_seeds() -> None:
    learners = ("SP", "fac.non", "HMM")
    grid = Grid(base=BASE, learners=learners, ranks=(3, 1), num_seeds=3, options=SEED).points()
    assert [place for place in grid if place[0] == "SP"] == [("SP", 1, 0), ("SP", 3, 0)]
    assert len(grid) == 2 + 6 + 6 and len({recipe.key() for recipe in grid.values()}) == len(grid)
    assert grid["fac.non", 3, 2].seed == 6 and grid["fac.non", 3, 2].data == BASE.data
    assert grid["fac.non", 3, 0].learning.rank == 3
    new = Grid(base=BASE, learners=("SP",), ranks=(1,), num_seeds=2, new_strings=True).points()
    assert [recipe.data.seed for recipe in new.values()] == [0, 1]


def test_against_strings_the_rank_stays() -> None:
    grid = Grid(base=BASE, learners=("SP", "fac.non"), sample_sizes=(100, 50)).points()
    assert [
        (place, recipe.data.num_strings, recipe.learning.rank) for place, recipe in grid.items()
    ] == [
        (("SP", 50, 0), 50, 2),
        (("SP", 100, 0), 100, 2),
        (("fac.non", 50, 0), 50, 2),
        (("fac.non", 100, 0), 100, 2),
    ]


def test_learners_get_the_boundaries_that_they_need() -> None:
    base = BASE.changed(hankel=HankelRecipe(statistic="factor"))
    grid = Grid(base=base, learners=("SP", "fac.non"), ranks=(2,)).points()
    assert [recipe.hankel.bounded for recipe in grid.values()] == [False, True]


def test_seeds_come_round_and_refine_too() -> None:
    learning = options("both.non", seed=4, refine="likelihood", refinement_seed=2**31 - 1)
    last = Recipe(learning=learning)
    runs = Grid(base=last, num_seeds=3).points()
    seeds = [flat(recipe) for recipe in runs.values()]
    assert [values["refinement_seed"] for values in seeds] == [2**31 - 1, 0, 1]
    assert [values["learning_seed"] for values in seeds] == [4, 5, 6]
    assert runs["both.non", 10, 0] == last


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        (
            Grid(learners=("fac.non",), ranks=tuple(range(1, 22)), num_seeds=10),
            f"must be at most {MAX_POINTS}; got 210",
        ),
        (
            Grid(learners=("SP",), ranks=(1,), num_seeds=11),
            "number of seeds must be at most 10; got 11",
        ),
        (Grid(seeds=(1, 2), num_seeds=2), "num_seeds must be 1 if seeds are listed; got 2"),
    ],
)
def test_a_comparison_that_is_too_large_is_refused(grid: Grid, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        grid.points()


def test_names_of_runs_are_as_long_as_needed() -> None:
    assert run_names(Grid(base=BASE), [Point("SP", 3, 0)]) == {("SP", 3, 0): "SP, k = 3"}
    place = Point("SP", 1000, 1)
    assert run_names(Grid(base=BASE, sample_sizes=(1000,), num_seeds=2), [place]) == {
        place: "SP, k = 2, 1,000 strings, seed 2"
    }


def test_curves_are_means_over_seeds() -> None:
    found = {
        Point("SP", 2, 0): outcome(0.4, kl=1.0),
        Point("SP", 1, 0): outcome(0.1, kl=math.inf),
        Point("SP", 1, 1): outcome(0.3, kl=2.0),
    }
    lines = curves(found, "wer", "test")["SP"]
    assert list(lines) == [1, 2] and lines[1].mean == pytest.approx(0.2)
    assert lines[1].sd == pytest.approx(math.sqrt(0.02)) and lines[2].sd is None
    assert curves(found, "kl", "test")["SP"][1] == Spread(2.0, None, 2, 1)
    assert curves(found, "rmse", "test") == {} and list(
        curves(found, "wer", "validation")["SP"]
    ) == [1, 2]
    assert curves({Point("SP", 1, 0): outcome(0.1, None)}, "wer", "validation") == {}


def test_aic_and_bic_choose_where_they_are_defined() -> None:
    def with_aic(value: float, why_undefined: str = "") -> Outcome:
        criteria = InformationCriteria(0, -value / 2, 1, why_undefined)
        return replace(outcome(0.1, None), criteria=criteria)

    found = {
        Point("PFA", 1, 0): with_aic(9.0),
        Point("PFA", 2, 0): with_aic(7.0),
        Point("PFA", 3, 0): with_aic(8.0),
        Point("SP", 1, 0): outcome(0.1, 0.2),
        Point("fac.non", 1, 0): with_aic(math.nan, "nothing makes its weights sum to 1"),
    }
    assert {name: best.rank for name, best in winners(found, "aic").items()} == {"PFA": 2}
    named = {f"{learner} {rank}": one for (learner, rank, _), one in found.items()}
    assert ranking(named, "aic")[:3] == ["PFA 2", "PFA 3", "PFA 1"]
    assert run_table(named, "aic")["AIC"].texts == ("7.000", "8.000", "9.000", "–", "–")


def test_validation_strings_choose_and_test_strings_are_told() -> None:
    found = {
        Point("SP", 1, 0): outcome(0.1, 0.9),
        Point("SP", 2, 0): outcome(0.7, 0.2),
        Point("SP", 2, 1): outcome(0.9, 0.4),
        Point("SP", 3, 0): outcome(0.0, math.nan),
        Point("HMM", 5, 0): outcome(0.5, None),
    }
    (chosen,) = winners(found, "wer").items()
    assert (
        chosen[0] == "SP"
        and (chosen[1].rank, chosen[1].level) == (2, ())
        and [scores.wer for scores in chosen[1].scores] == [0.7, 0.9]
    )
    table = spread_table({"SP, k = 2": chosen[1].scores, "uniform": [SCORES]})
    assert table["WER"].texts == ("0.800 ± 0.141", f"{SCORES.wer:.3f}") and table[
        "seeds"
    ].values == (2, 1)
    assert table["WER"].values == pytest.approx((0.8, SCORES.wer)) and table["sd of WER"].values[
        0
    ] == pytest.approx(math.sqrt(0.02))
    assert table["KL"].texts == ("–", "–") and table["KL"].values == (None, None)


def with_bits(rank: int, validation: float, bits: float) -> Outcome:
    run_outcome = outcome(0.5, validation, BASE.with_learner("SP", rank))
    assert run_outcome.validation is not None
    held_out = replace(run_outcome.validation, bits_per_symbol=bits, num_zero=rank % 2)
    return replace(run_outcome, validation=held_out)


def test_of_ranks_with_equal_scores_the_fewest_bits_then_the_fewest_states_are_chosen() -> None:
    found = {
        Point("SP", 1, 0): with_bits(1, 0.3, math.inf),
        Point("SP", 2, 0): with_bits(2, 0.1 + 0.2, 1.5),  # 0.30000000000000004
        Point("SP", 5, 0): with_bits(5, 0.3, 1.2),
        Point("SP", 4, 0): with_bits(4, 0.3, 1.2),
        Point("SP", 7, 0): with_bits(7, 0.4, 0.1),
    }
    chosen = winners(found, "wer")["SP"]
    assert (chosen.rank, chosen.level) == (4, (1, 2, 5))
    assert winners(found, "bits_per_symbol")["SP"].rank == 7


def test_a_figure_has_a_band_where_seeds_differ_and_says_where_a_value_is_infinite() -> None:
    points = {
        1: Spread.of([0.2, 0.4]),
        2: Spread.of([0.3]),
        4: Spread.of([math.inf, 0.5]),
        8: Spread.of([math.inf]),
    }
    figure = metric_figure(
        {"SP": points}, {"uniform": 0.6, "5-gram": {1: 0.5, 8: 0.4}, "true model": math.nan}, "wer"
    )
    by_mode = {(trace.name, trace.mode): trace for trace in figure.data}
    line = by_mode["SP", "lines+markers"]
    band = by_mode["SP, 95% interval", "lines"]
    beyond = by_mode["SP", "text"]
    assert list(line.x) == [1, 2, 4, 8] and line.y[0] == pytest.approx(0.3) and line.y[3] is None
    # the quantile 0.975 of Student's t with one degree of freedom
    half = 12.7062047362 * math.sqrt(0.02) / math.sqrt(2)
    assert (
        band.y[0] == pytest.approx(0.3 + half)
        and band.y[-1] == pytest.approx(0.3 - half)
        and len(band.x) == 6
    )
    assert list(band.y[1:5]) == [0.3, 0.5, 0.5, 0.3]  # one seed, or one that is infinite: no width
    # the lines stay readable
    assert figure.layout.yaxis.range[0] > 0.1 and 0.6 < figure.layout.yaxis.range[1] < 0.9
    assert (
        line.customdata[0] == "0.300 (95 % interval −0.971 to 1.571), 2 seeds"
        and line.customdata[1] == "0.300"
    )
    assert (
        list(beyond.x) == [4, 8]
        and list(beyond.customdata) == ["1 of 2", "1 of 1"]
        and min(beyond.y) > 0.6
    )
    assert [note.text for note in figure.layout.annotations] == ["uniform 0.600"]
    assert list(by_mode["5-gram", "lines"].y) == [0.5, 0.4]
    assert [
        trace.name for trace in metric_figure({"SP": {2: Spread.of([0.3])}}, {}, "wer").data
    ] == ["SP"]


def test_bars_are_in_the_order_of_the_scores() -> None:
    models = {"SP": Spread.of([math.inf]), "HMM": Spread.of([2.0, 2.2]), "PFA": Spread.of([1.9])}
    [bar] = score_bars(models, {"uniform": 2.5}, "bits_per_symbol").data
    assert list(bar.y) == ["PFA", "HMM", "uniform", "SP"] and list(bar.x) == pytest.approx(
        [1.9, 2.1, 2.5, 0.0]
    )
    assert (
        bar.text[0] == "1.900"
        and bar.text[3] == "∞"
        and bar.error_x.array[0] == 0 < bar.error_x.array[1]
    )
    [bar] = score_bars({"SP": Spread.of([0.7]), "HMM": Spread.of([0.8])}, {}, "ndcg5").data
    assert list(bar.y) == ["HMM", "SP"]


def test_the_time_left_is_that_of_the_same_learner() -> None:
    assert time_left({}, {"SP": 3}, 1) is None
    assert time_left({"SP": [2.0], "GRU": [10.0]}, {"GRU": 2, "HMM": 1}, 1) == 26.0


def test_scores_stay_as_they_are() -> None:
    assert (
        isinstance(outcome(0.1).on("test"), Scores) and outcome(0.1, None).on("validation") is None
    )


def test_lists_multiply_and_what_is_the_same_is_one_run() -> None:
    assert list(Grid(base=FILE_BASE).recipes().values()) == [FILE_BASE]
    grid = Grid(
        base=FILE_BASE,
        learners=("SP", "fac.non", "HMM"),
        ranks=(1, 2),
        statistics=("string", "prefix"),
        seeds=(0, 1, 2),
    )
    found = list(grid.recipes().values())
    count = {
        name: sum(recipe.learning.learner == name for recipe in found)
        for name in ("SP", "fac.non", "HMM")
    }
    assert count == {"SP": 2 * 2, "fac.non": 2 * 2 * 3, "HMM": 2 * 3}
    assert all(
        recipe.hankel.bounded == (recipe.hankel.statistic == "prefix")
        for recipe in found
        if recipe.learning.learner == "fac.non"
    )
    assert {recipe.data.seed for recipe in found} == {0}
    assert len(Grid(base=FILE_BASE, seeds=(3, 4), new_strings=True).recipes()) == 2


def test_every_statistic_goes_with_every_transform() -> None:
    found = (
        Grid(base=FILE_BASE, statistics=("string", "prefix", "factor"), transforms=("none", "row"))
        .recipes()
        .values()
    )
    assert {
        (recipe.hankel.statistic, recipe.hankel.transform, recipe.hankel.bounded)
        for recipe in found
    } == {
        ("string", "none", False),
        ("string", "row", False),
        ("prefix", "none", False),
        ("prefix", "row", True),
        ("factor", "none", False),
        ("factor", "row", True),
    }


def test_strings_and_matrices_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = Grid(
        base=FILE_BASE,
        learners=("HMM", "SP"),
        ranks=(1, 2),
        transforms=("none", "row"),
        sample_sizes=(100, 200),
    )
    bench = Workbench()
    prepared = []
    for recipe in grid.recipes().values():
        result = bench.run(recipe)
        np.testing.assert_equal(asdict(result.scores), asdict(run(recipe).scores))
        if not prepared or prepared[-1] is not bench.prepared:
            prepared.append(bench.prepared)
    assert len(prepared) == 2 * 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"ranks": [0]}, "rank"),
        ({"learners": ["magic"]}, "magic"),
        ({"statistics": ["magic"]}, "magic"),
        ({"rnks": [1]}, "rnks"),
        ({"base": {"data": {"num_strings": -1}}}, "num_strings"),
        ({"base": 3}, "base"),
        (
            {"ranks": list(range(1, 1001)), "seeds": list(range(101))},
            "must be at most 100,000; got 101,000",
        ),
        ({"seeds": [2**31]}, "seeds"),
    ],
)
def test_what_can_not_be_is_told(given: dict[str, object], said: str) -> None:
    with pytest.raises(RecipeError, match=said):
        Grid(**json.loads(json.dumps(given))).recipes()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            {"num_seeds": 10**9, "learners": ["SP"]},
            "the number of runs of a sweep .* must be at most 100,000; got 1,000,000,000",
        ),
        ({"num_seeds": 10**4000}, "num_seeds must be at most 2,147,483,648; got 1000"),
        (
            {
                "ranks": [*range(1, 1001)],
                "seeds": [*range(1000)],
                "sample_sizes": [*range(1, 1001)],
            },
            "must be at most 100,000; got 1,000,000,000",
        ),
        (
            {"statistics": ["string"] * 400, "transforms": ["none"] * 400},
            "must be at most 100,000; got 160,000",
        ),
        ({"ranks": [True]}, "ranks must be a number; got True"),
        ({"ranks": ["1"]}, "ranks must be a number; got '1'"),
        ({"seeds": [0, False]}, "seeds must be a number; got False"),
        ({"num_seeds": "2"}, "num_seeds must be a number; got '2'"),
        ({"new_strings": 1}, "new_strings must be true or false; got 1"),
        ({"base": {"learning": {"rank": "3"}}}, r"base\.learning\.rank must be a number; got '3'"),
        (
            {"base": {"learning": {"hidden": ["2"]}}},
            r"base\.learning\.hidden must be a number; got '2'",
        ),
        (
            {"base": {"data": {"split_probability": True}}},
            r"base\.data\.split_probability must be a number; got True",
        ),
        (
            {"base": {"hankel": {"bounded": "no"}}},
            r"base\.hankel\.bounded must be true or false; got 'no'",
        ),
        *(
            ({name: []}, f"{name} must not be empty; leave it out")
            for name in ("learners", "ranks", "seeds", "transforms")
        ),
    ],
)
def test_a_sweeps_file_is_taken_as_written_and_counted_before_it_is_built(
    monkeypatch: pytest.MonkeyPatch, content: dict[str, object], message: str
) -> None:
    monkeypatch.setattr(sweeps, "with_fields", lambda *_: pytest.fail("a recipe was made"))
    with pytest.raises(RecipeError, match=message):
        Grid.from_json(json.dumps(content).encode())


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


def test_the_table_has_a_row_a_run(tmp_path: Path) -> None:
    """Scores, then the properties of the model and of its training, in full precision; a run that
    failed has its settings.
    """
    refined = FILE_BASE.with_learner("fac.non", 3, refine="hankel", epochs_refinement=3)
    failed = FILE_BASE.with_learner("SP", 30)
    recipes = {recipe.key(): recipe for recipe in (FILE_BASE, failed, refined)}
    results = {key: run(recipes[key]) for key in (FILE_BASE.key(), refined.key())}
    table = SweepTable(tmp_path / "sweeps" / "a.csv", recipes)
    table.write()
    assert not (tmp_path / "sweeps").exists()  # nothing has ended
    for key in (refined.key(), failed.key(), FILE_BASE.key()):
        table.add(key, results.get(key, "rank must be at most 20"))
        table.write_if_due()
        assert len(rows_of(tmp_path / "sweeps" / "a.csv")) == 1 + [
            refined.key(),
            failed.key(),
            FILE_BASE.key(),
        ].index(key)
    rows = rows_of(tmp_path / "sweeps" / "a.csv")
    assert [row["key"] for row in rows] == list(recipes)  # the order of the sweep
    for row, result in ((rows[0], results[FILE_BASE.key()]), (rows[2], results[refined.key()])):
        report = result.report
        health = result.diagnostics
        assert row["strings"] == "200" and row["training"] == report.training and row["error"] == ""
        assert {name: row[name] for name in ("wer", "kl", "validation_wer")} == {
            "wer": repr(result.scores.wer),
            "kl": repr(result.scores.kl),
            "validation_wer": repr(result.validation.wer) if result.validation else "",
        }
        assert row["num_states"] == str(result.model.num_states) and row["warnings"] == " ".join(
            health.warnings
        )
        losses = {log.stage: repr(float(log.losses.min())) for log in report.logs}
        assert {stage: row[f"loss_{stage}"] for stage in STAGES if row[f"loss_{stage}"]} == losses
        assert float(row["seconds_learning"]) == result.seconds["learning"] < float(row["seconds"])
    assert rows[0]["training"] == "exact" and rows[0]["spectral_radius"] == repr(
        results[FILE_BASE.key()].model.spectral_radius
    )
    # nonlinear models have no closed form
    assert rows[2]["spectral_radius"] == rows[2]["total_mass"] == ""
    assert [name for name, cell in rows[1].items() if cell] == [*RUN_COLUMNS, "error"]


def test_a_long_table_is_not_written_after_every_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to 100 rows after each run; then after a hundredth of the rows, or a second."""
    recipes = {f"{number}": FILE_BASE for number in range(1000)}
    table = SweepTable(tmp_path / "a.csv", recipes)
    writes = list[int]()
    now = 0.0
    monkeypatch.setattr(
        sweep_table,
        "write_atomically",
        lambda path, data, sync: writes.append(data.count(b"\n") - 1),
    )
    monkeypatch.setattr(sweep_table, "monotonic", lambda: now)
    table.write()
    for number, key in enumerate(recipes):
        now = 1e-3 * number if number < 900 else 10.0 * number
        table.add(key, "failed")
        table.write_if_due()
    assert writes[:100] == list(range(1, 101)) and writes[-100:] == list(range(901, 1001))
    assert (
        all(later - earlier <= 1 + later / 100 for earlier, later in pairwise(writes))
        and len(writes) < 500
    )


def test_the_table_tells_the_strings_asked_for_from_those_used(tmp_path: Path) -> None:
    """Validation and test strings are set aside from the file; without validation strings, training
    gets theirs.
    """
    base = FILE_BASE.changed(
        data=FILE_BASE.data.changed(
            source="verbs", num_strings=20_000, num_validation=100, num_test=300
        )
    )
    total = load_data(base.data.changed(num_validation=0)).train.num_strings + 300
    for num_validation in (100, 0):
        recipe = base.changed(data=base.data.changed(num_validation=num_validation))
        table = SweepTable(tmp_path / "a.csv", {"key": recipe})
        table.add("key", run(recipe))
        table.write()
        (row,) = rows_of(tmp_path / "a.csv")
        assert (row["strings"], row["training_strings"]) == (
            "20000",
            str(total - 300 - num_validation),
        )
        assert (row["validation_wer"] == "") == (num_validation == 0)
