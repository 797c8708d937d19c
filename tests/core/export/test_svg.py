"""Figures as files: XML that screen readers understand, and a picture of a matrix."""

from __future__ import annotations

import io
import math
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from scipy import sparse

from nlwfa_core.display.palette import CLASSES, COLOURS
from nlwfa_core.export.svg import (
    Panel,
    bars,
    heat_map_png,
    line_chart,
    loss_svgs,
    singular_values_svg,
)
from nlwfa_core.hankel.matrix import exact_hankel
from nlwfa_core.learning.fitting import FitReport
from nlwfa_core.learning.progress import RELATIVE, TrainingLog
from nlwfa_core.metrics.seeds import Spread
from tests.references import COIN, full_basis

SVG = "{http://www.w3.org/2000/svg}"


def texts(root: ElementTree.Element) -> list[str | None]:
    return [element.text for element in root.iter(f"{SVG}text")]


def test_a_chart_is_for_eyes_and_screen_readers() -> None:
    points = {1: Spread.of([2.0, 4.0]), 10: Spread.of([1.0, math.inf]), 20: Spread.of([math.inf])}
    text = line_chart(
        [Panel("<left>", {"SP": points}), Panel("empty", {})],
        "A & B",
        "what it shows",
        "rank",
        "WER",
        log_y=True,
    )
    root = ElementTree.fromstring(text)
    assert (root.get("role"), root.findtext(f"{SVG}title"), root.findtext(f"{SVG}desc")) == (
        "img",
        "A & B",
        "what it shows",
    )
    [line] = root.iter(f"{SVG}polyline")
    assert len((line.get("points") or "").split()) == 2
    assert line.get("stroke") == COLOURS["SP"]
    assert texts(root).count("∞") == 2
    assert {"<left>", "rank", "WER", "20"} <= set(texts(root))


def test_the_legend_of_many_names_fits() -> None:
    names = (
        "SP",
        "fac.non",
        "tran.non",
        "both.non",
        "uniform",
        "5-gram",
        "true model",
        "SP + likelihood",
        "HMM",
        "GRU",
    )
    points = {1: Spread.of([2.0]), 10: Spread.of([1.0])}
    root = ElementTree.fromstring(
        line_chart([Panel("", dict.fromkeys(names, points))] * 4, "", "", "rank", "WER")
    )
    starts = {
        element.text: float(element.get("x", 0))
        for element in root.iter(f"{SVG}text")
        if element.get("y") == "26.0"
    }
    assert tuple(starts) == names
    ends = [start + 7 * len(name or "") for name, start in starts.items()]
    assert all(end < start for end, start in zip(ends, list(starts.values())[1:], strict=False))
    assert ends[-1] < float(root.get("width", 0))


def test_a_chart_of_nothing_and_of_one_value() -> None:
    for log_x, log_y in ((True, True), (False, True), (False, False)):
        for points in ({}, {0: Spread.of([math.nan])}, {3: Spread.of([0.5])}):
            panels = [Panel("", {"a": points} if points else {})]
            if not (log_x and 0 in points):  # 0 has no place on a logarithmic axis
                assert (
                    ElementTree.fromstring(line_chart(panels, "", "", "x", "y", log_x, log_y))
                    is not None
                )
    assert ElementTree.fromstring(bars(np.array([]), 2, "", "", "")) is not None


def test_losses_have_a_line_per_stage_and_leave_out_what_is_not_finite() -> None:
    logs = (
        TrainingLog("factorisation", np.array([1.0, 0.9, np.inf, np.nan, -1e-20])),
        TrainingLog("<transitions>", np.array([0.5, 0.25, 0.125])),
        TrainingLog("refinement", np.array([2.0, 1.5, 1.25]), measure="bits per symbol"),
    )
    report = FitReport("both.non", 2, 2, None, None, None, logs, (), {})
    figures = {measure: ElementTree.fromstring(text) for measure, text in loss_svgs(report).items()}
    assert list(figures) == [RELATIVE, "bits per symbol"]
    lines = list(figures[RELATIVE].iter(f"{SVG}polyline"))
    assert [len((line.get("points") or "").split()) for line in lines] == [2, 2]
    assert [line.get("stroke") for line in lines] == list(CLASSES[:2])
    assert "<transitions>" in texts(figures[RELATIVE]) and "epoch" in texts(figures[RELATIVE])
    assert loss_svgs(replace(report, logs=())) == {}
    compared = ElementTree.fromstring(loss_svgs(report, linear_loss=0.5)[RELATIVE])
    assert (
        "SP, same rank" in texts(compared)
        and "SP, same rank" not in loss_svgs(report, linear_loss=0.5)["bits per symbol"]
    )
    *_, line = compared.iter(f"{SVG}polyline")
    assert (
        line.get("stroke-dasharray") == "8 5"
        and len({point.split(",")[1] for point in (line.get("points") or "").split()}) == 1
    )


def test_epochs_of_relative_losses_have_powers_of_ten_as_ticks_and_a_stage_solved_exactly_is_a_point() -> (  # noqa: E501
    None
):
    solved = TrainingLog("factorisation", np.array([0.5]), stopped="exact")
    report = FitReport(
        "tran.non",
        2,
        2,
        None,
        None,
        None,
        (solved, TrainingLog("transitions", 1 / np.arange(1.0, 2001.0))),
        (),
        {},
    )
    figure = ElementTree.fromstring(loss_svgs(report)[RELATIVE])
    assert {"1", "10", "100", "1,000"} <= set(texts(figure)) and "10,000" not in texts(figure)
    assert len(list(figure.iter(f"{SVG}circle"))) == 1


def test_singular_values_up_to_the_rank_are_coloured() -> None:
    root = ElementTree.fromstring(
        singular_values_svg(exact_hankel(COIN.wfa.weights, full_basis(2, 2)), 1)
    )
    coloured = [rect for rect in root.iter(f"{SVG}rect") if rect.get("fill") == COLOURS["SP"]]
    assert len(coloured) == 1 and "singular value" in texts(root)


def test_the_picture_of_a_matrix() -> None:
    matrix = sparse.csr_array(np.array([[1.0, 0.0], [-0.5, 0.0]]))
    picture = np.asarray(Image.open(io.BytesIO(heat_map_png(matrix, 4))))
    assert picture.shape == (4, 4, 3)
    assert (
        (picture[:, 2:] == 255).all()
        and picture[0, 0, 2] > picture[0, 0, 0]
        and picture[2, 0, 0] > picture[2, 0, 2]
    )
    assert heat_map_png(matrix, 4) == heat_map_png(matrix, 4)


def test_a_band_is_the_interval_of_the_mean() -> None:
    """Of 1, 2 and 3 it is 2 ± 4.303 · 1 / √3 (Student's t, two degrees of freedom); of a single
    value there is none.
    """
    points = {1: Spread.of([1.0, 2.0, 3.0]), 2: Spread.of([2.0])}
    root = ElementTree.fromstring(line_chart([Panel("", {"SP": points})], "", "", "rank", "WER"))
    [polygon] = root.iter("{http://www.w3.org/2000/svg}polygon")
    ys = [float(pair.split(",")[1]) for pair in polygon.attrib["points"].split()]
    labels = [
        text
        for text in root.iter("{http://www.w3.org/2000/svg}text")
        if text.attrib.get("text-anchor") == "end"
    ]
    pixels = {
        float((text.text or "").replace("−", "-")): float(text.attrib["y"]) - 4 for text in labels
    }
    low, high = min(pixels), max(pixels)
    values = [low + (pixels[low] - y) / (pixels[low] - pixels[high]) * (high - low) for y in ys]
    assert values == pytest.approx([2 + 2.484, 2, 2, 2 - 2.484], abs=0.02)
