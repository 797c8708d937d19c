"""Options of the charts that move."""

from __future__ import annotations

import json

from nlwfa_core.display.figures.live import loss_options, picture_options
from nlwfa_core.display.palette import CLASSES, EMPTY_WORD
from nlwfa_core.jobs.snapshots import Snapshot
from nlwfa_core.learning.progress import BITS, LOWEST_LOSS

PICTURE = Snapshot(
    "transitions",
    3,
    (0, 1, 2),
    ((0.1, -0.2), (0.3, 0.0), (0.0, 0.0)),
    ((0.1, -0.1), (0.9, 0.0), (0.0, 0.1)),
    0.9,
)


def test_a_picture_has_a_series_a_class_in_an_order_of_its_own() -> None:
    options = picture_options(PICTURE, ["λ", "a", "b"], ["λ", "a", "b"])
    rings, *classes = options["series"]
    assert [ring["value"] for ring in rings["data"]] == [[0.1, -0.1], [0.9, 0.0], [0.0, 0.1]]
    assert [(each["name"], [point["name"] for point in each["data"]]) for each in classes] == [
        ("λ", ["λ"]),
        ("a", ["a"]),
        ("b", ["b"]),
    ]
    assert [each["color"] for each in classes] == [EMPTY_WORD, *CLASSES[:2]]
    assert classes[1]["data"][0]["value"] == [0.3, 0.0]
    assert options["xAxis"]["max"] == -options["xAxis"]["min"] == 1.0
    assert options["legend"]["data"] == ["λ", "a", "b"]
    json.dumps(options, allow_nan=False)


def test_names_are_drawn_as_text_never_as_html() -> None:
    options = picture_options(PICTURE, ["<b>", "a", "b"], ["<b>", "a", "b"])
    assert options["tooltip"]["renderMode"] == "richText"


def test_losses_that_are_no_numbers_are_left_out() -> None:
    options = loss_options({"refinement": ([0, 1, 2], [2.0, float("nan"), 1.0])}, BITS)
    assert options["series"][0]["data"] == [[0, 2.0, "2"], [2, 1.0, "1"]]
    assert (
        options["yAxis"]["type"] == options["xAxis"]["type"] == "value"
        and options["xAxis"]["min"] == 0
    )


def test_epochs_of_relative_losses_are_on_a_logarithmic_axis_from_1() -> None:
    curves = {
        "factorisation": ((0,), (0.5,)),
        "transitions": ((0, 1, 2, 100), (1.0, 0.5, 0.0, 0.25)),
    }
    options = loss_options(curves)
    assert (
        options["yAxis"]["type"] == options["xAxis"]["type"] == "log"
        and options["xAxis"]["min"] == 1
    )
    solved, trained = options["series"]
    assert solved["data"] == [[1, 0.5, "0.5"]] and solved["showSymbol"]
    assert (
        trained["data"] == [[1, 0.5, "0.5"], [2, LOWEST_LOSS, "1·10⁻¹⁵"], [100, 0.25, "0.25"]]
        and not trained["showSymbol"]
    )
    *both, line = loss_options(curves, linear_loss=0.125)["series"]
    assert both == options["series"] and line["name"] == "SP, same rank"
    ticks = solved["markLine"]["data"]
    # an axis of its own says 1e-15
    assert [tick["name"] for tick in ticks] == ["10⁻¹⁵", "10⁻¹²", "10⁻⁹", "10⁻⁶", "10⁻³", "1"]
    assert (
        options["yAxis"]["min"] == ticks[0]["yAxis"] == 1e-15
        and options["yAxis"]["max"] == ticks[-1]["yAxis"] == 1
    )
    assert not options["yAxis"]["axisLabel"]["show"]
    assert line["data"][0]["value"] == [1, 0.125, "0.125"] and line["data"][1] == [
        100,
        0.125,
        "0.125",
    ]
    assert line["data"][0]["label"]["formatter"] == "SP, same rank" and options["legend"][
        "data"
    ] == list(curves)
    assert loss_options({"transitions": curves["transitions"]}, linear_loss=0.125)["series"] == [
        trained | {"markLine": solved["markLine"]}
    ]
    json.dumps(loss_options(curves, linear_loss=0.125), allow_nan=False)
