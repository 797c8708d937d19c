"""What differs between runs, which is the best, and the axes of a figure of them, by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from nlwfa_core.display.figures.parallel import parallel_figure
from nlwfa_core.display.recipe_differences import (
    best_pair,
    difference_table,
    differing,
    level_with,
    options,
    parallel_axes,
    ranking,
    run_table,
)
from nlwfa_core.experiment.recipe import with_fields
from tests.core.experiment.test_sweeps import BASE, outcome, with_bits


def test_every_option_has_a_label_of_its_own() -> None:
    labels = list(options(BASE))
    assert len(set(labels)) == len(labels) and not any("_" in label for label in labels)


def test_only_what_differs_is_told() -> None:
    other = BASE.with_learner("fac.non", 5)
    assert differing([BASE, other]) == ["learner", "rank k"] and differing(
        [BASE, BASE]
    ) == [] == differing([])
    table = difference_table({"A": BASE, "now": other})
    assert table == {"option": ["learner", "rank k"], "A": ["SP", "2"], "now": ["fac.non", "5"]}
    every = difference_table({"A": BASE, "now": other}, all_options=True)
    assert every["option"] == list(options(BASE))
    hidden = every["option"].index("hidden layers (multiples of k)")
    assert (every["A"][hidden], every["now"][hidden]) == ("–", "2,1,2")
    assert every["A"][every["option"].index("boundary symbols")] == "no"


def test_options_without_an_effect_are_no_difference() -> None:
    hmm = BASE.with_learner("HMM")
    counted = with_fields(BASE, {"num_prefixes": 7, "refine": "likelihood"})
    assert differing([hmm, counted.with_learner("HMM")]) == []
    assert differing([hmm, counted]) == ["learner"]
    assert differing([with_fields(hmm, {"learning_seed": seed}) for seed in (1, 2)]) == [
        "seed of the networks"
    ]
    tomita = [with_fields(BASE, {"source": "tomita", "grammar": grammar}) for grammar in (1, 2)]
    assert differing(tomita) == ["Tomita language"]
    assert differing([BASE, tomita[1]]) == ["source"]
    refined = [
        with_fields(BASE, {"refine": "likelihood", "epochs_refinement": epochs})
        for epochs in (1, 2)
    ]
    assert differing(refined) == ["epochs of the refinement"]
    assert differing([BASE, refined[0]]) == ["refinement"]


def test_the_best_run_comes_first_and_the_last_one_last() -> None:
    found = {
        "a": outcome(0.1, 0.6),
        "b": outcome(0.2, math.nan),
        "c": outcome(0.3, 0.3, BASE.with_learner("SP", 7)),
        "d": outcome(0.4, None),
    }
    assert ranking(found, "wer") == ["c", "a", "b", "d"]
    table = run_table(found, "wer")
    assert table["place"] == ["best", "", "", "last"] and table["rank k"].values == (7, 2, 2, 2)
    assert table["WER"].values == (0.3, 0.1, 0.2, 0.4) and table["WER"].texts == (
        "0.300",
        "0.100",
        "0.200",
        "0.400",
    )
    assert table["on validation"].texts == ("0.300", "0.600", "undefined", "–")
    assert (
        table["on validation"].values[:2] == (0.3, 0.6) and table["on validation"].values[3] is None
    )
    assert "learner" not in table and "learner" in run_table(found, "wer", all_options=True)
    assert run_table({"a": found["a"]}, "wer")["place"] == ["only"]
    unfinished = replace(found["b"], training="not finished")
    assert run_table(found | {"b": unfinished}, "wer")["training"] == [
        "–",
        "–",
        "not finished",
        "–",
    ]


def test_runs_that_the_score_does_not_tell_apart_are_named_and_the_best_pair_has_two_learners() -> (
    None
):
    found = {
        "SP, k = 3": with_bits(3, 0.5, 3.0),
        "SP, k = 2": with_bits(2, 0.5, 2.0),
        "SP, k = 1": with_bits(1, 0.5, 2.0),
        "HMM": outcome(0.5, 0.9, BASE.with_learner("HMM")),
    }
    assert ranking(found, "wer") == ["SP, k = 1", "SP, k = 2", "SP, k = 3", "HMM"]
    assert level_with("SP, k = 1", found, "wer") == ["SP, k = 2", "SP, k = 3"]
    assert level_with("HMM", found, "wer") == []
    assert best_pair(found, "wer") == ["SP, k = 1", "HMM"]
    del found["HMM"]
    assert best_pair(found, "wer") == ["SP, k = 1", "SP, k = 2"]


def test_parallel_axes_are_what_differs_and_three_scores() -> None:
    found = {
        "a": outcome(0.1),
        "b": outcome(0.2, recipe=BASE.with_learner("fac.non", 9), log2_pauto=math.inf),
    }
    axes = parallel_axes(found)
    assert list(axes) == ["learner", "rank k", "WER", "bits / symbol", "log₂ Pautomac"]
    assert axes["learner"] == ["SP", "fac.non"] and axes["rank k"] == [2.0, 9.0]
    (plot,) = parallel_figure(axes, "WER").data
    learner, rank, _, bits, log2 = plot.dimensions
    assert list(learner.ticktext) == ["SP", "fac.non"] and list(rank.tickvals) == [2, 9]
    assert (
        np.isfinite(log2["values"]).all()
        and log2.ticktext[-1] == "∞"
        and log2["values"][1] > log2["values"][0]
    )
    mixed = (
        parallel_figure({"epochs": ["600", "–", "100"], "y": [1.0, 2.0, 3.0]}, "y")
        .data[0]
        .dimensions[0]
    )
    assert list(mixed.ticktext) == ["–", "100", "600"] and list(mixed["values"]) == [2, 0, 1]
    assert len(log2.tickvals) == len(set(log2.tickvals)) == 2
    assert bits.range[0] < bits.range[1]
    assert list(parallel_axes({"a": outcome(0.1)})) == ["WER", "bits / symbol", "log₂ Pautomac"]
    hostile = parallel_figure({"<b>x</b>": ["<i>", "a"], "y": [1.0, 2.0]}, "y").data[0]
    assert "<b>" not in hostile.dimensions[0].label and "<i>" not in hostile.dimensions[0].ticktext
