"""Figures for papers: the artists on the Axes hold the values that independent code computes."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from nlwfa_core import NGram, RecipeError, estimate_hankel, fit, plot, select_basis
from nlwfa_core.display.palette import CLASSES, GREY
from nlwfa_core.errors import MissingExtra
from nlwfa_core.learning.fitting import FitReport
from nlwfa_core.learning.progress import RELATIVE, TrainingLog
from nlwfa_core.metrics.intervals import Interval
from nlwfa_core.metrics.seeds import Spread
from nlwfa_core.models.wfa import WFA
from nlwfa_core.strings.words import Alphabet

pytest.importorskip("matplotlib")
import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.patches import Circle, PathPatch

STRINGS = ["ab", "ab", "b", "abb", "a", "ba"]
HANKEL = estimate_hankel(STRINGS, select_basis(STRINGS, 5, 4))
MODEL = fit(HANKEL, "SP", rank=2).model
AUTOMATON = WFA(
    [1, 0], [[[0.5, 0], [0, 0]], [[0, -0.25], [0, 0.5]]], [0, 0.5], Alphabet(("a", "b"))
)
SVG_TEXT = "{http://www.w3.org/2000/svg}text"
LOGS = (
    TrainingLog("factorisation", np.array([1.0, 0.9, np.inf, np.nan, -1e-20])),
    TrainingLog("transitions", np.array([0.5, 0.25, 0.125])),
    TrainingLog("refinement", np.array([2.0, 1.5, 1.25]), measure="bits per symbol"),
)
REPORT = FitReport("both.non", 2, 2, None, None, None, LOGS, (), {})


@pytest.fixture(autouse=True)
def _no_figure_stays() -> Iterator[None]:
    yield
    plt.close("all")


def points(ax: Any) -> np.ndarray:
    """All points of the scatters on some Axes, as a sorted array."""
    return np.array(
        sorted(
            np.concatenate([np.asarray(drawn.get_offsets()) for drawn in ax.collections]).tolist()
        )
    )


def test_a_matrix_is_the_image_and_its_words_are_the_ticks() -> None:
    ax = plot.hankel(HANKEL)
    share = {x: STRINGS.count(x) / len(STRINGS) for x in STRINGS}
    names = [[label.get_text() for label in axis.get_ticklabels()] for axis in (ax.yaxis, ax.xaxis)]
    rows, columns = [[name.replace("λ", "") for name in side] for side in names]
    expected = [[share.get(u + v, 0.0) for v in columns] for u in rows]
    assert np.ma.filled(ax.images[0].get_array(), 0.0).tolist() == pytest.approx(np.array(expected))
    assert len(ax.figure.axes) == 2  # the colours' scale
    signed = plot.hankel(np.array([[1.0, -0.5], [0.0, 0.25]]), log=False)
    assert (signed.images[0].norm.vmin, signed.images[0].norm.vmax) == (-1.0, 1.0)
    assert not plot.hankel(np.zeros((2, 2))).images[0].get_array().count()


def test_long_names_leave_room_for_the_matrix() -> None:
    strings = [["a" * 200, "b"]] * 2
    ax = plot.hankel(estimate_hankel(strings, select_basis(strings, 3, 3)))
    names = [label.get_text() for label in ax.get_xticklabels()]
    assert max(map(len, names)) == plot.MAX_LETTERS and "a" * 15 + "…" in names
    ax.figure.canvas.draw()  # Matplotlib would warn if the names left no room


def test_a_large_matrix_shows_the_largest_entry_of_each_cell() -> None:
    matrix = np.zeros((2500, 4))
    matrix[2499, 3], matrix[0, 0], matrix[1, 0] = 0.5, 0.25, 1.0
    ax = plot.hankel(matrix, log=False)
    image = ax.images[0].get_array()
    # tiles of 13 rows, of which the last reaches beyond the matrix
    assert image.shape == (193, 4) and image[0, 0] == 1.0 and image[192, 3] == 0.5
    assert ax.get_ylim() == (2499.5, -0.5) and ax.images[0].get_extent()[2] == 2508.5


def test_singular_values_are_those_of_numpy() -> None:
    values = np.linalg.svd(HANKEL.block.toarray(), compute_uv=False)
    line, first, rest = plot.singular_values(HANKEL, rank=2).lines
    assert line.get_ydata() == pytest.approx(values[values > 1e-12]) and len(first.get_ydata()) == 2
    assert [*first.get_ydata(), *rest.get_ydata()] == line.get_ydata().tolist()


def test_states_keep_their_distances_from_the_mean() -> None:
    """Two components of a model with two states are a rotation of the states."""
    drawn = points(plot.states(MODEL, HANKEL))
    states = np.array([MODEL.initial @ np.linalg.multi_dot([np.eye(2), np.eye(2), *MODEL.transitions[list(u)]])  # noqa: E501
                       for u in HANKEL.basis.prefixes])  # fmt: skip
    lengths = np.linalg.norm(states - states.mean(axis=0), axis=1)
    assert sorted(np.linalg.norm(drawn, axis=1)) == pytest.approx(sorted(lengths))
    legend = plot.states(MODEL, HANKEL).get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["λ", "a", "b"]
    lengths_of_words = (
        plot.states(MODEL, ["a", "ab", "abb"], colour="length").collections[0].get_array()
    )
    assert lengths_of_words.tolist() == [1.0, 2.0, 3.0]


def test_a_string_goes_through_the_states_of_its_prefixes() -> None:
    ax = plot.trajectories(MODEL, ["ab", "b"], prefixes=HANKEL)
    long, short = ax.lines
    assert len(long.get_xdata()) == 3 and len(short.get_xdata()) == 2
    assert long.get_xydata()[0] == pytest.approx(short.get_xydata()[0])  # the state of λ
    background = points(ax)
    for line in ax.lines:
        for point in line.get_xydata():
            assert np.abs(background - point).sum(axis=1).min() < 1e-12
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["ab", "b"]


def test_an_automaton_has_its_states_arrows_and_weights() -> None:
    ax = plot.automaton(AUTOMATON)
    texts = [text.get_text() for text in ax.texts]
    assert len([patch for patch in ax.patches if isinstance(patch, Circle)]) == 2
    assert len([patch for patch in ax.patches if isinstance(patch, PathPatch)]) == 3
    assert {"a 0.5", "b −0.25", "b 0.5", "1", "2", r"$\alpha_0$ 1", r"$\alpha_\infty$ 0.5"} == set(
        texts
    )
    assert (
        len(
            [p for p in plot.automaton(AUTOMATON, smallest=0.3).patches if isinstance(p, PathPatch)]
        )
        == 2
    )


def test_bands_are_the_t_intervals_of_the_means() -> None:
    inf = float("inf")
    ax = plot.curves(
        {"SP": {1: [1.0, 2.0, 3.0], 2: [2.0, inf]}, "mine": {1: Interval(0.5, 0.25, 1.0), 2: 0.5}}
    )
    assert [line.get_ydata().tolist() for line in ax.lines] == [[2.0, 2.0], [0.5, 0.5]]
    band, own = (collection.get_paths()[0].vertices for collection in ax.collections)
    # Student's t with two degrees of freedom, times the standard deviation 1, over √3
    half = 4.302652729911275 / 3**0.5
    assert (band[band[:, 0] == 1][:, 1].min(), band[:, 1].max()) == pytest.approx(
        (2 - half, 2 + half)
    )
    assert (own[:, 1].min(), own[:, 1].max()) == (0.25, 1.0)
    assert [text.get_text() for text in ax.texts] == ["∞"]


def test_weights_of_0_stand_at_the_edge_and_negative_ones_are_empty() -> None:
    models = {"SP": [0.25, 0.0, 0.0], "both.non": [0.25, -0.125, 0.0625]}
    ax = plot.weights(models, ["$a", "b", "c"], truth=[0.25, 0.125, 0.0625])
    truth, spectral, zeros, network, negative = [line for line in ax.lines if len(line.get_xdata())]
    assert truth.get_ydata().tolist() == [0.25, 0.125, 0.0625]
    assert spectral.get_ydata()[0] == 0.25 and np.isnan(spectral.get_ydata()[1:]).all()
    assert zeros.get_xdata().tolist() == [2, 3] and zeros.get_marker() == "x"
    assert (zeros.get_transform().transform([2, 1]) == ax.transAxes.transform([0, 1]))[1]
    assert network.get_ydata()[[0, 2]].tolist() == [0.25, 0.0625]
    assert negative.get_xydata().tolist() == [[2, 0.125]]
    assert negative.get_markerfacecolor() == "none" and negative.get_color() == network.get_color()
    assert [label.get_text() for label in ax.get_xticklabels()] == [r"\$a", "b", "c"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["truth", "SP", "both.non"]
    across = plot.weights({"SP": [0.25, 0.0]}, ["the dog ran", "a cat"])  # long labels
    above, zero = (line for line in across.lines if len(line.get_xdata()))
    assert above.get_xydata()[0].tolist() == [0.25, 1] and zero.get_ydata().tolist() == [2]
    assert [label.get_text() for label in across.get_yticklabels()] == ["the dog ran", "a cat"]
    with pytest.raises(RecipeError, match=r"as many weights as labels \(2\); got 1 for SP"):
        plot.weights({"SP": [0.5]}, ["a", "b"])


def test_losses_have_a_line_per_stage_and_leave_out_what_is_not_finite() -> None:
    ax = plot.losses(REPORT, linear_loss=0.5)
    first, second, linear = ax.lines
    assert first.get_xydata().tolist() == [[1, 0.9], [4, 1e-15]]
    assert second.get_xydata().tolist() == [[1, 0.25], [2, 0.125]]
    assert [line.get_color() for line in ax.lines] == [*CLASSES[:2], GREY]
    assert (linear.get_label(), linear.get_linestyle(), *linear.get_ydata()) == (
        "SP, same rank", "--", 0.5, 0.5
    )  # fmt: skip
    assert (ax.get_xscale(), ax.get_yscale(), ax.get_ylabel()) == ("log", "log", RELATIVE)
    bits = plot.losses(REPORT, measure="bits per symbol", linear_loss=0.5)
    assert [line.get_label() for line in bits.lines] == ["refinement"]
    assert bits.get_yscale() == "linear"


def test_a_stage_solved_exactly_is_a_point() -> None:
    solved = TrainingLog("factorisation", np.array([0.5]), stopped="exact")
    [line] = plot.losses(replace(REPORT, logs=(solved,))).lines
    assert line.get_marker() == "o" and line.get_xydata().tolist() == [[1, 0.5]]


def test_panels_share_an_axis_a_legend_and_colours() -> None:
    names = (
        "SP", "fac.non", "tran.non", "both.non", "uniform", "5-gram", "true model",
        "SP + likelihood", "HMM", "GRU",
    )  # fmt: skip
    points = {1: Spread.of([2.0]), 10: Spread.of([1.0])}
    every = plot.panels(dict.fromkeys("abcd", dict.fromkeys(names, points)), log_x=True)
    assert [ax.get_title() for ax in every] == list("abcd")
    assert len({ax.get_ylim() for ax in every}) == 1 and not every[1].get_ylabel()
    assert [tick.get_text() for tick in every[0].get_xticklabels()] == ["1", "10"]
    figure = every[0].figure
    [legend] = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == list(names)
    figure.canvas.draw()
    box = legend.get_window_extent()
    assert box.x0 >= 0 and box.x1 <= figure.bbox.width
    left, right = plot.panels({"": {"mine": points}, " ": {"SP": points, "mine": points}})
    assert left.lines[0].get_color() == right.lines[1].get_color() != right.lines[0].get_color()
    for log in (True, False):
        for empty in ({}, {"a": {1: Spread.of([math.nan])}}, {"a": {3: 0.5}}):
            assert plot.render(
                lambda figure, log=log, empty=empty: plot.panels(
                    {"": empty}, [figure.subplots()], log_x=log, log_y=log
                )
            )


def test_a_wide_band_is_cut_and_does_not_flatten_the_means() -> None:
    """The interval of the seeds 1 and 3 is 2 ± 12.7; the means are 1 and 2 (so half a unit of room
    above and below, and a margin of a twentieth of what is visible).
    """
    [ax] = plot.panels({"": {"SP": {1: [1.0], 2: [1.0, 3.0]}}})
    assert ax.get_ylim() == pytest.approx((0.4, 2.6))
    [logarithmic] = plot.panels({"": {"SP": {1: [1.0, 3.0], 2: [4.0], 3: [0.0]}}}, log_y=True)
    line = logarithmic.lines[0]
    band = logarithmic.collections[0].get_paths()[0].vertices
    assert np.isnan(line.get_ydata()[2]) and (band[:, 1] > 0).all()


def test_each_line_has_its_own_row_of_infinite_scores() -> None:
    points = {1: [1.0, math.inf], 2: [1.0]}
    [ax] = plot.panels({"": {"SP": points, "fac.non": points, "HMM": {1: [2.0], 2: [math.inf]}}})
    marks = {text.get_color(): text.get_position() for text in ax.texts}
    assert len(marks) == 3 and len({y for _, y in marks.values()}) == 3
    top = ax.transAxes.inverted().transform(ax.transData.transform((1, 2.0)))[1]
    assert top < min(y for _, y in marks.values())  # no line crosses a row


def test_numbers_of_near_ticks_do_not_overlap() -> None:
    ax = plot.curves({"SP": dict.fromkeys((5, 10, 20, 21), 1.0)}, log_x=True)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["5", "10", "20", ""]


def test_whole_ranks_have_whole_ticks() -> None:
    ax = plot.curves({"SP": {1: 0.5, 2: 0.3, 3: 0.2}})
    assert [tick for tick in ax.get_xticks() if 1 <= tick <= 3] == [1, 2, 3]
    ax = plot.curves({"SP": {0.5: 0.5, 1: 0.3}})
    assert any(tick % 1 for tick in ax.get_xticks())


def test_a_callers_axes_are_used_and_keep_the_callers_settings() -> None:
    _, (left, right) = plt.subplots(1, 2)
    assert plot.singular_values(HANKEL, left) is left and plot.automaton(AUTOMATON, right) is right
    assert left.xaxis.label.get_size() == mpl.rcParams["font.size"]
    new = plot.singular_values(HANKEL)
    assert new.xaxis.label.get_size() == plot.FONT and new.figure.get_size_inches().tolist() == [
        3.4,
        2.5,
    ]


@pytest.mark.parametrize("suffix", ["pdf", "svg", "png"])
def test_a_file_has_its_size_its_fonts_and_the_same_bytes(suffix: str, tmp_path: Path) -> None:
    files = [
        plot.save(
            plot.singular_values(HANKEL), tmp_path / f"{name}.{suffix}", 5.0, 2.0
        ).read_bytes()
        for name in "ab"
    ]
    assert files[0] == files[1]
    if suffix == "pdf":
        assert b"/CIDFontType2" in files[0] and b"/Type3" not in files[0]
        assert b"/MediaBox [ 0 0 360 144 ]" in files[0]
    if suffix == "svg":
        assert b'width="360pt" height="144pt"' in files[0] and b">singular value</text>" in files[0]


def test_threads_draw_without_pyplot_and_each_file_is_whole() -> None:
    def draw(number: int) -> bytes:
        size = 2 + number % 2
        matrix = np.eye(size)
        return plot.render(lambda figure: plot.hankel(matrix, figure.subplots()))["svg"]

    before = dict(mpl.rcParams)
    with ThreadPoolExecutor(4) as pool:
        files = list(pool.map(draw, range(12)))
    assert len(set(files[::2])) == len(set(files[1::2])) == 1 and files[0] != files[1]
    assert not plt.get_fignums() and dict(mpl.rcParams) == before


def test_symbols_are_drawn_as_they_are() -> None:
    """Matplotlib would read $…$ as mathematics, and an SVG file may hold no control character."""
    symbols = ["<script>", "$x$", r"$\LaTeX$", "a\x00b", "]]>", "-->", "\\$"]
    hankel = estimate_hankel([symbols] * 2, select_basis([symbols] * 2, 9, 9))
    title = "<b> & $x$"
    text = plot.render(lambda figure: plot.hankel(hankel, figure.subplots()), title=title)["svg"]
    root = ElementTree.fromstring(text)
    drawn = " ".join(element.text or "" for element in root.iter(SVG_TEXT))
    for symbol in (*symbols[:3], r"a\x00b", *symbols[4:]):
        assert symbol in drawn
    assert root.findtext("{http://www.w3.org/2000/svg}title") == title


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plot.hankel(np.ones(3)), "must have two dimensions"),
        (lambda: plot.hankel(np.array([[np.nan]])), "must be finite"),
        (lambda: plot.hankel("H"), "matrix must be a HankelMatrix or an array of numbers; got str"),
        (lambda: plot.hankel(HANKEL, "left"), "ax must be Matplotlib Axes.*got str"),
        (lambda: plot.singular_values(HANKEL, rank=0), "rank must be at least 1; got 0"),
        (lambda: plot.states(MODEL, ["ax"]), "symbol 'x' is not in the alphabet"),
        (
            lambda: plot.states(MODEL, HANKEL, colour="hue"),
            "colouring must be one of last symbol, length",
        ),
        (lambda: plot.trajectories(MODEL, []), "at least one string"),
        (lambda: plot.automaton(NGram.fit(STRINGS, 2)), "wfa must be a WFA; got NGram"),
        (lambda: plot.curves({"SP": {1: []}}), "got none for 'SP' at 1"),
        (lambda: plot.panels({}), "at least one panel"),
        (lambda: plot.panels({"a": {}, "b": {}}, [plot.new_axes()]), "got 1 Axes for 2 panels"),
        (lambda: plot.losses(replace(REPORT, logs=())), "both.non has no losses to draw"),
        (lambda: plot.losses(REPORT, measure="bits"), "measure must be one of relative loss, bits"),
        (lambda: plot.losses(MODEL), "report must be a FitReport; got WFA"),
        (lambda: plot.render(plt.close, ["doc"]), "a format must be one of .*pdf.*; got 'doc'"),
        (lambda: plot.new_axes(0.0), "width must be at least 0.1"),
        (
            lambda: plot.save(plot.new_axes(), "figure.doc"),
            "the suffix of a figure's file must be one of .*pdf.*; got 'doc'",
        ),
    ],
)
def test_what_cannot_be_drawn_is_said(call: Callable[[], object], message: str) -> None:
    with pytest.raises((RecipeError, TypeError), match=message):
        call()


def test_without_matplotlib_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nlwfa_core.errors.find_spec", lambda name: None)
    with pytest.raises(
        MissingExtra,
        match=r"matplotlib is not installed; pip install 'nlwfa-lab\[plot\]' installs it",
    ):
        plot.hankel(HANKEL)


def test_importing_the_module_loads_no_matplotlib() -> None:
    code = (
        "import sys, nlwfa_core.plot\nassert not {'matplotlib', 'plotly', 'torch'} & "
        "set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
