"""States as points: what colours them, their figures, and one set over another, held against
scipy's two Procrustes functions.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes
from scipy.spatial import procrustes
from sklearn.decomposition import PCA

from nlwfa_core.display.figures.state_points import Trajectory, overlay_figure, states_figure
from nlwfa_core.display.projection import NO_SCORES, align, colouring, project
from nlwfa_core.display.result_tables import points_table, score_warnings
from nlwfa_core.display.string_labels import prefix_shares
from nlwfa_core.errors import RecipeError
from nlwfa_core.models.wfa import WFA
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import Alphabet, FloatArray, Words
from tests.references import GEOMETRIC

AB = Alphabet(("a", "b"))
SAMPLE = Sample.of(Words.of([(0, 1), (0, 1), (0,), ()]), AB)
PREFIXES = Words.of([(), (0,), (0, 1), (1,)])


def test_row_weights_are_shares_of_strings_that_begin_so() -> None:
    assert prefix_shares(SAMPLE, PREFIXES).tolist() == [1.0, 0.75, 0.5, 0.0]
    model = WFA(np.ones(1), np.full((2, 1, 1), 0.25), np.array([0.5]))
    logs = colouring("row weight", PREFIXES, AB, model, SAMPLE)
    assert logs[:3] == pytest.approx(np.log10([1.0, 0.75, 0.5])) and np.isnan(logs[3])


def test_entropy_is_in_bits_and_counts_the_end() -> None:
    # The geometric automaton goes on with probability 1/2 and ends with 1/2: one bit after every
    # prefix.
    bits = colouring("entropy", Words.of([(), (0,), (0, 0)]), Alphabet(("a",)), GEOMETRIC.wfa)
    assert bits == pytest.approx([1.0, 1.0, 1.0])


def test_a_prefix_after_which_nothing_can_come_has_no_likely_next_symbol() -> None:
    nothing = WFA(np.zeros(1), np.zeros((2, 1, 1)), np.zeros(1))
    assert colouring("next symbol", PREFIXES, AB, nothing) == [NO_SCORES] * 4


def test_an_unknown_colouring_is_told() -> None:
    for kind in ("taste", "row weight"):
        with pytest.raises(RecipeError, match="colouring"):
            colouring(kind, PREFIXES, AB, GEOMETRIC.wfa)


@pytest.mark.parametrize("three", [False, True])
def test_the_path_of_a_string_is_a_line_through_the_states_of_its_prefixes(three: bool) -> None:
    points = np.random.default_rng(0).normal(size=(20, 4))
    projection = project(points)
    placed = projection.coordinates(points)
    for length in (0, 3, 19):
        names = ["λ", *("<b>" + "a" * step for step in range(length))]
        figure = states_figure(
            placed,
            projection,
            ["u"] * 20,
            [0.5] * 20,
            "bits",
            Trajectory(placed[: length + 1], names),
            three=three,
        )
        path = figure.data[-1]
        assert np.allclose(path.x, placed[: length + 1, 0])
        assert np.allclose(path.y, placed[: length + 1, 1])
        assert list(path.customdata) == [name.replace("<b>", "&lt;b&gt;") for name in names]
        # a long string's prefixes would cover each other: only the ends are written
        kept = names if length < 19 else [names[0], *[""] * 18, names[-1]]
        assert list(path.text) == [name.replace("<b>", "&lt;b&gt;") for name in kept]
        assert path.marker.size[-1] > max([0, *path.marker.size[:-1]])
        assert "<b>" not in json.dumps(figure.to_plotly_json(), default=str)


def test_prefixes_at_one_place_are_written_once() -> None:
    points = np.array([[1.0, 0.0], [0.0, 1.0], *[[0.0, 0.0]] * 4, [0.0, 1.0]])
    figure = states_figure(
        points,
        project(points, 2),
        ["u"] * 7,
        [1] * 7,
        "length",
        Trajectory(points, list("λabcdef")),
    )
    assert list(figure.data[-1].text) == ["λ", "", "", "", "", "b, …, e", "a, f"]


def test_two_models_points_are_joined_prefix_by_prefix() -> None:
    points = np.random.default_rng(0).normal(size=(6, 3))
    projection = project(points)
    figure = overlay_figure(points, points + 1, projection, ["u"] * 6, ("A: SP", "B: <b>"))
    links, first, second = figure.data
    assert len(links.x) == 18 and np.isnan(links.x[2::3]).all()
    assert np.allclose(links.x[::3], first.x) and np.allclose(links.x[1::3], second.x)
    assert second.name == "B: &lt;b&gt;"


def test_points_as_a_table() -> None:
    table = points_table(PREFIXES, AB, np.ones((4, 2)), [0, 1, 2, 1], "length")
    assert list(table) == ["prefix", "component 1", "component 2", "length"] and table[
        "prefix"
    ] == ["λ", "a", "ab", "b"]


def test_negative_and_missing_scores_are_told() -> None:
    signed = WFA(np.array([1.0]), np.array([[[0.5]], [[-0.25]]]), np.array([0.5]))
    nothing = WFA(np.zeros(1), np.zeros((2, 1, 1)), np.zeros(1))
    said = score_warnings({"SP": signed, "zero": nothing}, (0,))
    assert (
        said[0].startswith("Negative scores are drawn without their sign: SP (")
        and "no bars: zero" in said[1]
    )
    assert not score_warnings({"SP": GEOMETRIC.wfa}, (0,))


def points(seed: int, number: int = 40, width: int = 4) -> FloatArray:
    drawn: FloatArray = np.random.default_rng(seed).normal(size=(number, width))
    return drawn


def turned(given: FloatArray, seed: int) -> FloatArray:
    """Turned (or mirrored), scaled and moved."""
    turn, _ = np.linalg.qr(points(seed, given.shape[1], given.shape[1]))
    moved: FloatArray = 0.3 * given @ turn + points(seed + 1, 1, given.shape[1])
    return moved


@pytest.mark.parametrize("seed", range(5))
def test_the_residual_is_scipys_disparity(seed: int) -> None:
    a = points(seed)
    b = points(seed + 100) + 0.5 * points(seed)
    found = align(a, b)
    *_, disparity = procrustes(a, b)
    assert found.residual == pytest.approx(disparity, abs=1e-12)
    left_over = ((found.moved - a) ** 2).sum() / ((a - a.mean(axis=0)) ** 2).sum()
    assert left_over == pytest.approx(found.residual, abs=1e-12)
    A = a - a.mean(axis=0)
    B = b - b.mean(axis=0)
    turn, _ = orthogonal_procrustes(B, A)
    assert found.moved == pytest.approx(found.scale * B @ turn + a.mean(axis=0))


@pytest.mark.parametrize("seed", range(5))
def test_turned_states_fit_exactly(seed: int) -> None:
    a = points(seed)
    found = align(a, turned(a, seed + 7))
    assert found.residual == pytest.approx(0, abs=1e-12)
    assert found.moved == pytest.approx(a)
    assert found.scale == pytest.approx(1 / 0.3)


def test_fewer_components_are_filled_with_zeros() -> None:
    flat = points(1, width=2)
    placed = np.pad(flat, ((0, 0), (0, 2))) @ np.linalg.qr(points(2, 4, 4))[0]
    for a, b in ((flat, placed), (placed, flat)):
        found = align(a, b)
        assert found.moved.shape == found.target.shape == (40, 4)
        assert found.residual == pytest.approx(0, abs=1e-12)


def test_points_that_coincide_explain_nothing() -> None:
    a = points(3)
    same = np.full((40, 4), 0.1)
    assert align(a, same).residual == 1.0
    assert align(same, a).residual == 0.0
    assert align(same, same).residual == 0.0
    assert np.isfinite(align(a, same).moved).all()


def test_what_can_not_be_aligned_is_one_error() -> None:
    with pytest.raises(RecipeError, match="aligning needs equal numbers of points"):
        align(points(1, 3), points(1, 4))
    with pytest.raises(RecipeError, match="diverges"):
        align(points(1), np.full((40, 4), np.inf))


def test_a_projection_is_scikit_learns_with_its_signs() -> None:
    states = points(9, 50, 6) * [5, 4, 3, 2, 1, 0.5]
    projection = project(states)
    pca = PCA(3, svd_solver="full").fit(states)
    np.testing.assert_allclose(projection.axes, pca.components_, atol=1e-12)
    np.testing.assert_allclose(projection.coordinates(states), pca.transform(states), atol=1e-12)
    assert projection.explained_by(2) == pytest.approx(pca.explained_variance_ratio_[:2].sum())
