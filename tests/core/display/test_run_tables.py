"""What the History page says of runs, against what the library computed; damaged rows."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache

from nlwfa_core.display.run_tables import (
    diagnostics_table,
    format_time,
    is_from_upload,
    loss_curves,
    notes,
    reason,
    recipe_of,
    runs_table,
    scores_of,
    total_seconds,
    training_lines,
    warnings,
)
from nlwfa_core.experiment.pipeline import run
from nlwfa_core.experiment.recipe import DataRecipe, Recipe
from nlwfa_core.experiment.results import Result
from nlwfa_core.hankel.recipe import HankelRecipe
from nlwfa_core.history.runs import Event, Run, run_of_result
from nlwfa_core.learning.learners import FacNon
from nlwfa_core.metrics.diagnostics import diagnostics, format_diagnostic
from nlwfa_core.metrics.tables import format_score
from nlwfa_core.rounding import format_share

RECIPE = Recipe(
    data=DataRecipe(num_strings=200, num_validation=20, num_test=20, seed=4),
    hankel=HankelRecipe(num_prefixes=20, num_suffixes=20),
    learning=FacNon(
        rank=2,
        optimizer="adamax",
        start="random",
        epochs_factorisation=20,
        epochs_transitions=5,
        seed=6,
    ),
)


@cache
def learned() -> Result:
    """The run of the recipe, once somebody asks for it: a module that is only collected trains
    nothing.
    """
    return run(RECIPE)


@cache
def done() -> Run:
    return run_of_result("a" * 64, learned(), 60.0)


def bare(state: str, recipe: Recipe = RECIPE, **more: object) -> Run:
    values = {
        "key": "b" * 64,
        "state": state,
        "recipe": recipe.model_dump(mode="json"),
        "version": "9",
        "source": recipe.data.source,
    }
    values |= {
        "learner": recipe.learning.learner,
        "rank": recipe.learning.rank,
        "num_strings": 200,
        "seed": 0,
    }
    return Run(**values, **more)  # type: ignore[arg-type]


def test_a_table_has_what_differs_seeds_and_the_scores_with_units() -> None:
    other = bare(
        "failed",
        RECIPE.changed(learning=RECIPE.learning.changed(rank=3)),
        name="mine",
        tags=["a", "b"],
        message="too large",
    )
    table = runs_table([done(), other], zone="Europe/Paris")
    assert table["run"] == ["fac.non, k = 2", "mine"] and table["tags"] == ["", "a, b"]
    assert table["status"] == ["done", "failed"] and table["why"] == ["", "too large"]
    assert table["rank k"].values == (2, 3) and "training strings" not in table
    assert (table["seed of the strings"].values, table["seed of the networks"].values) == (
        (4, 4),
        (6, 6),
    )
    assert table["WER (share)"].values == (learned().scores.wer, None)
    assert table["WER (share)"].texts == (format_score(learned().scores.wer), "–")
    assert table["log₂ Pautomac (bits)"].texts == (format_score(learned().scores.log2_pauto), "–")
    assert table["when"][0] == "1970-01-01 01:01" and table["version"] == [done().version, "9"]
    assert list(runs_table([done()], "next_kl"))[2] == "next KL (bits)" and "why" not in runs_table(
        [done()]
    )
    assert "tags" not in runs_table([done()])


def test_runs_of_one_name_have_what_tells_them_apart_beside_it() -> None:
    longer = bare("done", RECIPE.changed(learning=RECIPE.learning.changed(epochs_transitions=500)))
    named = bare("done", RECIPE.changed(data=RECIPE.data.changed(seed=9)), name="mine")
    table = runs_table([done(), longer, named])
    assert (
        table["run"] == ["fac.non, k = 2", "fac.non, k = 2", "mine"]
        and list(table)[1] == "difference"
    )
    assert table["difference"] == [
        "epochs of the transitions 5",
        "epochs of the transitions 500",
        "",
    ]
    many = {"epochs_factorisation": 7, "epochs_transitions": 8, "rate_transitions": 0.5, "seed": 3}
    table = runs_table(
        [done(), bare("done", RECIPE.changed(learning=RECIPE.learning.changed(**many)))]
    )
    assert table["difference"][1] == (
        "epochs of the factorisation 7, epochs of the transitions 8, learning rate of the "
        "transitions 0.5 …"
    )
    unreadable = Run(**{**vars(done()), "key": "c" * 64, "recipe": {"x": 1}})
    assert "difference" not in runs_table([done(), named]) and "difference" not in runs_table(
        [done(), unreadable]
    )


def test_a_row_with_a_damaged_recipe_has_no_options() -> None:
    strange = bare("done")
    strange = Run(
        **{**vars(strange), "recipe": {"data": {"nonsense": 1}}, "scores": {"new score": 1.0}}
    )
    assert recipe_of(strange) is None and scores_of(strange) is None
    assert (
        Run(**{**vars(strange), "recipe": {"nonsense": 1}})
        and recipe_of(Run(**{**vars(strange), "recipe": {"x": 1}})) is None
    )
    table = runs_table([strange, done()])
    assert table["seed of the strings"].texts == ("?", "4") and table[
        "seed of the strings"
    ].values == (None, 4)
    assert table["WER (share)"].texts[0] == table["time"].texts[0] == "–"
    assert (
        diagnostics_table(strange) == {} == loss_curves(strange) and total_seconds(strange) is None
    )
    assert training_lines(strange) == []


def test_what_came_of_a_run() -> None:
    assert scores_of(done()) is not None and asdict(scores_of(done())) == asdict(learned().scores)  # type: ignore[arg-type]
    measure, epochs, losses = loss_curves(done())["factorisation"]
    log = learned().report.logs[0]
    assert measure == log.measure and losses == log.losses.tolist() and len(epochs) == len(losses)
    assert training_lines(done()) == [
        ("not finished", stage.summary) for stage in learned().report.logs
    ]
    health = diagnostics(learned().model, learned().scores, learned().report)
    table = diagnostics_table(done())
    found = dict(zip(table["diagnostic"], table["value"].texts, strict=True))
    assert (
        dict(zip(table["diagnostic"], table["value"].values, strict=True))["negative outputs"]
        == health.share_negative
    )
    assert found["mass of short strings"] == format_diagnostic(
        "short_mass", health.short_mass, health.short_length
    )
    assert (
        found["negative outputs"] == format_share(health.share_negative)
        and found["radius of ΣA"] == "not computed"
    )
    assert warnings(done()) == list(health.warnings)
    assert [*notes(done()), *health.warnings] == list(
        dict.fromkeys([*learned().notes, *health.warnings])
    )
    total = sum(learned().seconds[stage] for stage in ("data", "hankel", "learning", "scores"))
    assert total_seconds(done()) == total and runs_table([done()])["time"].texts == (
        f"{total:.2f} s",
    )


def test_numbers_that_are_not_finite_are_read_as_such() -> None:
    odd = Run(
        **{
            **vars(done()),
            "scores": {**(done().scores or {}), "wer": "inf", "log2_pauto": "nan"},
            "diagnostics": None,
        }
    )
    table = runs_table([odd])
    assert (table["WER (share)"].texts, table["log₂ Pautomac (bits)"].texts) == (
        ("∞",),
        ("undefined",),
    )
    diverges = Run(**{**vars(done()), "diagnostics": {"total_mass": "inf", "share_zero": "nan"}})
    health = diagnostics_table(diverges)
    found = dict(zip(health["diagnostic"], health["value"].texts, strict=True))
    assert (found["total mass"], found["zero outputs"]) == ("∞", "–")


def test_why_a_run_is_not_done() -> None:
    assert [reason(bare(state)) for state in ("done", "running", "queued")] == ["", "", ""]
    assert "stopped" in reason(bare("interrupted")) and "cancelled" in reason(bare("cancelled"))
    assert Event("c", RECIPE, "failed", 0.0).message is None and reason(bare("failed")) == ""
    assert is_from_upload(
        bare("done", RECIPE.changed(data=DataRecipe(source="upload")))
    ) and not is_from_upload(done())


def test_a_zone_that_there_is_not_is_utc() -> None:
    assert (
        format_time(0.0, "Mars/Olympus")
        == format_time(0.0, "../etc")
        == format_time(0.0)
        == "1970-01-01 00:00 UTC"
    )
