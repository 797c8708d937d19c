"""Figures for papers: the artists on the Axes hold the values that independent code computes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nlwfa_core import NGram, RecipeError, estimate_hankel, fit, plot, select_basis
from nlwfa_core.errors import MissingExtra
from nlwfa_core.metrics.intervals import Interval
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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plot.hankel(np.ones(3)), "must have two dimensions"),
        (lambda: plot.hankel(np.array([[np.nan]])), "must be finite"),
        (lambda: plot.hankel("H"), "matrix must be a HankelMatrix or an array of numbers; got str"),
        (lambda: plot.hankel(HANKEL, "left"), "ax must be Axes of Matplotlib.*got str"),
        (lambda: plot.singular_values(HANKEL, rank=0), "rank must be at least 1; got 0"),
        (lambda: plot.states(MODEL, ["ax"]), "symbol 'x' is not in the alphabet"),
        (
            lambda: plot.states(MODEL, HANKEL, colour="hue"),
            "colouring must be one of last symbol, length",
        ),
        (lambda: plot.trajectories(MODEL, []), "at least one string"),
        (lambda: plot.automaton(NGram.fit(STRINGS, 2)), "wfa must be a WFA; got NGram"),
        (lambda: plot.curves({"SP": {1: []}}), "got none for 'SP' at 1"),
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
