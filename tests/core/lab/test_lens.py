"""What goes to the browser, unpacked again: pixels, cells, points and counts against numpy and against counting by hand."""

from __future__ import annotations

import doctest
import io
import json
from base64 import b64decode
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image
from scipy import sparse

from nlwfa_core.errors import RecipeError
from nlwfa_core.experiment.data import load_data, no_files
from nlwfa_core.experiment.pipeline import build_hankel, fit_recipe
from nlwfa_core.experiment.recipe import DataRecipe, HankelRecipe, LearningRecipe, Recipe
from nlwfa_core.hankel.basis import select_basis
from nlwfa_core.hankel.estimate import estimate_hankel
from nlwfa_core.hankel.matrix import bounded_sample
from nlwfa_core.hankel.names import STATISTICS
from nlwfa_core.lab import lens
from nlwfa_core.lab.approximations import LowRank, Shown
from nlwfa_core.lab.views import hankel_alphabet
from nlwfa_core.sources.dyck import ALPHABET, Dyck
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import Alphabet, Words


def unpacked(text: str, kind: str) -> npt.NDArray[Any]:
    return np.frombuffer(b64decode(text), dtype=kind)


def levels(layer: dict[str, Any]) -> npt.NDArray[np.int64]:
    return np.asarray(Image.open(io.BytesIO(b64decode(layer["png"]))), dtype=np.int64)


def scattered(rows: int, columns: int, count: int, seed: int = 0) -> sparse.csr_array:
    rng = np.random.default_rng(seed)
    values = np.exp(rng.normal(size=count) * 3) * rng.choice([-1, 1], count)
    return sparse.csr_array(
        sparse.coo_array((values, (rng.integers(0, rows, count), rng.integers(0, columns, count))), shape=(rows, columns))
    )


def test_a_pixel_is_the_largest_of_its_block_with_its_sign() -> None:
    matrix = scattered(2500, 1200, 5000)
    layer = lens.layer(matrix)
    assert (layer["factors"], layer["shape"], layer["negative"]) == ([3, 2], [2500, 1200], True)
    picture = levels(layer)
    assert picture.shape == (834, 600)
    dense = np.zeros((834 * 3, 1200))
    dense[:2500] = matrix.toarray()
    blocks = dense.reshape(834, 3, 600, 2).transpose(0, 2, 1, 3).reshape(834, 600, 6)
    largest = np.take_along_axis(blocks, np.abs(blocks).argmax(axis=2)[..., None], axis=2)[..., 0]
    assert ((picture == 0) == (largest == 0)).all()
    assert ((picture > 128) == (largest < 0)).all()
    low, high = layer["scale"]
    shown = picture > 0
    logs = low + ((picture[shown] & 127) - 1) / 126 * (high - low)
    np.testing.assert_allclose(logs, np.log10(np.abs(largest[shown])), atol=0.51 * (high - low) / 126)


def test_exact_cells_come_back_to_the_bit() -> None:
    matrix = scattered(300, 70_000, 900)
    cells = lens.layer(matrix)["cells"]
    values = unpacked(cells["values"], "<f8")[unpacked(cells["codes"], "<u2")]
    bounds, columns = unpacked(cells["bounds"], "<u4"), unpacked(cells["columns"], "<u4")
    again = sparse.csr_array((values, columns.astype(np.int64), bounds.astype(np.int64)), shape=matrix.shape)
    assert (again != matrix).nnz == 0


def test_a_low_rank_matrix_is_pooled_as_its_dense_form() -> None:
    rng = np.random.default_rng(1)
    matrix = LowRank(rng.normal(size=(2100, 2)), rng.normal(size=(1500, 2)), scattered(2100, 1500, 300))
    layer, dense = lens.layer(matrix, 1e-2), sparse.csr_array(matrix.rows(0, 2100))
    assert "cells" not in layer and layer["floor"] == 1e-2
    of_dense = levels(lens.layer(dense, 1e-2))
    np.testing.assert_array_equal(levels(layer), of_dense)
    window = lens.window(matrix, 2000, 3, 500, 40)
    assert (window["row"], window["column"], window["shape"]) == (2000, 3, [100, 40])
    np.testing.assert_array_equal(unpacked(window["values"], "<f8").reshape(100, 40), dense.toarray()[2000:, 3:43])


def test_what_is_below_the_floor_is_blank() -> None:
    picture = levels(lens.layer(sparse.csr_array(np.array([[1.0, 1e-3, -1e-9, 0.0]])), 1e-4))
    assert picture[0, 0] == 127 and 1 < picture[0, 1] < 127 and picture[0, 2] == picture[0, 3] == 0


@pytest.mark.parametrize("matrix", [np.zeros((2, 3)), np.full((1, 1), 0.25), np.full((4, 4), -1.0)], ids=["zeros", "one", "alike"])
def test_plain_matrices_have_a_scale(matrix: Any) -> None:
    layer = lens.layer(sparse.csr_array(matrix))
    assert layer["scale"][0] < layer["scale"][1]
    assert (levels(layer) > 0).tolist() == (matrix != 0).tolist()


@pytest.mark.parametrize("ask", [(0, 0, 10**9, 10**9), (10**9, 10**9, 1, 1), (-5, 7, 0, -1)])
def test_windows_stay_within_the_matrix_and_the_limit(ask: tuple[int, int, int, int]) -> None:
    window = lens.window(scattered(400, 300, 100), *ask)
    rows, columns = window["shape"]
    assert 1 <= rows <= lens.MAX_WINDOW and 1 <= columns <= lens.MAX_WINDOW
    assert 0 <= window["row"] <= 400 - rows and 0 <= window["column"] <= 300 - columns


def test_the_papers_matrix_and_a_matrix_of_25_million_cells_are_light() -> None:
    """As JSON, which is what goes over the wire: 5,000 × 5,000 float64 numbers would be 200 MB."""
    sample = Sample.of(Dyck().sample(100_000, 0), ALPHABET)
    hankel = estimate_hankel(sample, select_basis(sample, 5000, 5000))
    assert hankel.block.shape == (5000, 5000)
    payload = lens.basis_payload(hankel, ALPHABET, Shown()) | {"layer": lens.layer(hankel.block)}
    assert len(json.dumps(payload)) < 2e6
    V = np.random.default_rng(0).normal(size=(5000, 5))
    rest = LowRank(hankel.block @ V, V, hankel.block)
    assert len(json.dumps(payload | {"layer": lens.layer(rest, 1e-6)})) < 3e6


def test_labels_are_the_strings_themselves() -> None:
    """Nothing is escaped here: the browser sets them as text, which a browser test sees."""
    alphabet = Alphabet(("<b>x</b>", "**y**"))
    sample = Sample.of(Words.of([(0,), (1, 0)]), alphabet)
    hankel = estimate_hankel(sample, select_basis(sample, 4, 4))
    payload = lens.basis_payload(hankel, alphabet, Shown(0))
    assert "<b>x</b> <b>x</b>" in payload["prefixes"] and "**y**" in "".join(payload["suffixes"])
    assert json.loads(json.dumps(payload))["prefixes"] == payload["prefixes"]


@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("statistic", STATISTICS)
def test_counting_by_hand_gives_what_the_matrix_holds(statistic: str, bounded: bool) -> None:
    if bounded and statistic == "string":
        return
    sample = Sample.of(Dyck().sample(200, 2), ALPHABET)
    recipe = HankelRecipe(num_prefixes=12, num_suffixes=9, statistic=statistic, bounded=bounded)
    hankel = build_hankel(sample, recipe)
    counted = bounded_sample(sample, statistic) if bounded else sample
    for i, u in enumerate(hankel.basis.prefixes):
        for j, v in enumerate(hankel.basis.suffixes):
            count = lens.occurrences(counted, u + v, statistic)
            assert count / sample.num_strings == pytest.approx(float(hankel.block[i, j]), rel=1e-12)
            assert f"{count:,} / 200 = " in lens.by_hand(sample, u + v, recipe)
    if bounded or statistic == "string":
        row = recipe.changed(transform="row")
        divisor, divided = hankel.matrix.sum(axis=1)[0], "the sum of its row as counted"
        if bounded:
            divisor, divided = hankel.matrix[0, 0], "the frequency of its row's prefix"
        np.testing.assert_allclose(build_hankel(sample, row).block.toarray()[0], hankel.block.toarray()[0] / divisor)
        assert lens.by_hand(sample, (0,), row).endswith(f"; then divided by {divided}")
        assert lens.by_hand(sample, (0,), recipe.changed(transform="sqrt")).endswith("; then its square root")


@pytest.mark.parametrize("statistic", ["string", "prefix", "factor"])
def test_points_are_the_states_of_prefixes_that_begin_strings(statistic: str) -> None:
    data = load_data(DataRecipe(num_strings=300), no_files)
    recipe = HankelRecipe(num_prefixes=40, num_suffixes=20, statistic=statistic, bounded=statistic != "string", transform="sqrt")
    hankel = build_hankel(data.train, recipe)
    model = fit_recipe(Recipe(hankel=recipe, learning=LearningRecipe(rank=3)), hankel).model
    states = lens.states(model, hankel)
    written = [hankel_alphabet(data.alphabet, recipe).decode(word) for word in hankel.basis.prefixes]
    begins = [("⊣" not in text) and (statistic != "factor" or text.startswith("⊢")) for text in written]
    assert (~np.isnan(states).any(axis=1)).tolist() == begins
    points = lens.points(states, "States")
    assert np.isfinite(unpacked(points["x"], "<f4")).tolist() == begins
    np.testing.assert_array_equal(states[begins.index(True)], np.asarray(model.initial))


def test_states_without_bounds_have_no_points() -> None:
    with pytest.raises(RecipeError, match="grow beyond every bound"):
        lens.points(np.array([[1.0, np.inf], [0.0, 1.0]]), "States")


def test_examples() -> None:
    assert doctest.testmod(lens).failed == 0
