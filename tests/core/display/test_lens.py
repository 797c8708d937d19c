"""The lens: what stands in for the matrix against numpy's own, and payloads unpacked again against
counting by hand.
"""

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

from nlwfa_core.display import lens
from nlwfa_core.display.lens import (
    MAX_MODEL_CELLS,
    LowRank,
    MatrixChoice,
    model_block,
    numerical_rank_sentence,
    reconstruction,
    relative_error,
    residual,
    singular_values_payload,
)
from nlwfa_core.display.string_labels import count_by_hand, occurrences
from nlwfa_core.errors import RecipeError
from nlwfa_core.experiment.datasets import load_data, no_files
from nlwfa_core.experiment.pipeline import run
from nlwfa_core.experiment.recipe import DataRecipe, Recipe
from nlwfa_core.hankel.basis import select_basis
from nlwfa_core.hankel.boundary import bounded_sample, hankel_alphabet
from nlwfa_core.hankel.estimate import build_hankel, estimate_hankel
from nlwfa_core.hankel.matrix import HankelMatrix, exact_hankel
from nlwfa_core.hankel.recipe import HankelRecipe
from nlwfa_core.hankel.statistics import STATISTICS, WITH_BOUNDARY
from nlwfa_core.learning.fitting import fit
from nlwfa_core.learning.learners import SP
from nlwfa_core.learning.spectral import fit_spectral, truncated_svd, weighted_block
from nlwfa_core.rounding import format_share
from nlwfa_core.sources.dyck import ALPHABET, Dyck
from nlwfa_core.sources.random_automata import random_automaton
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import Alphabet, FloatArray, Words


def unpacked(text: str, kind: str) -> npt.NDArray[Any]:
    return np.frombuffer(b64decode(text), dtype=kind)


def levels(layer: dict[str, Any]) -> npt.NDArray[np.int64]:
    return np.asarray(Image.open(io.BytesIO(b64decode(layer["png"]))), dtype=np.int64)


def scattered(rows: int, columns: int, count: int, seed: int = 0) -> sparse.csr_array:
    rng = np.random.default_rng(seed)
    values = np.exp(rng.normal(size=count) * 3) * rng.choice([-1, 1], count)
    return sparse.csr_array(
        sparse.coo_array(
            (values, (rng.integers(0, rows, count), rng.integers(0, columns, count))),
            shape=(rows, columns),
        )
    )


def test_a_pixel_is_the_largest_of_its_block_with_its_sign() -> None:
    matrix = scattered(2500, 1200, 5000)
    layer = lens.matrix_payload(matrix)
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
    np.testing.assert_allclose(
        logs, np.log10(np.abs(largest[shown])), atol=0.51 * (high - low) / 126
    )


def test_exact_cells_come_back_to_the_bit() -> None:
    matrix = scattered(300, 70_000, 900)
    cells = lens.matrix_payload(matrix)["cells"]
    values = unpacked(cells["values"], "<f8")[unpacked(cells["codes"], "<u2")]
    bounds = unpacked(cells["bounds"], "<u4")
    columns = unpacked(cells["columns"], "<u4")
    again = sparse.csr_array(
        (values, columns.astype(np.int64), bounds.astype(np.int64)), shape=matrix.shape
    )
    assert (again != matrix).nnz == 0


def test_a_low_rank_matrix_is_pooled_as_its_dense_form() -> None:
    rng = np.random.default_rng(1)
    matrix = LowRank(
        rng.normal(size=(2100, 2)), rng.normal(size=(1500, 2)), scattered(2100, 1500, 300)
    )
    layer = lens.matrix_payload(matrix, 1e-2)
    dense = sparse.csr_array(matrix.rows(0, 2100))
    assert "cells" not in layer and layer["floor"] == 1e-2
    of_dense = levels(lens.matrix_payload(dense, 1e-2))
    np.testing.assert_array_equal(levels(layer), of_dense)
    window = lens.window(matrix, 2000, 3, 500, 40)
    assert (window["row"], window["column"], window["shape"]) == (2000, 3, [100, 40])
    np.testing.assert_array_equal(
        unpacked(window["values"], "<f8").reshape(100, 40), dense.toarray()[2000:, 3:43]
    )


def test_what_is_below_the_floor_is_blank() -> None:
    picture = levels(
        lens.matrix_payload(sparse.csr_array(np.array([[1.0, 1e-3, -1e-9, 0.0]])), 1e-4)
    )
    assert picture[0, 0] == 127 and 1 < picture[0, 1] < 127 and picture[0, 2] == picture[0, 3] == 0


@pytest.mark.parametrize(
    "matrix",
    [np.zeros((2, 3)), np.full((1, 1), 0.25), np.full((4, 4), -1.0)],
    ids=["zeros", "one", "alike"],
)
def test_plain_matrices_have_a_scale(matrix: Any) -> None:
    layer = lens.matrix_payload(sparse.csr_array(matrix))
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
    sample = Dyck().sample(100_000, 0)
    hankel = estimate_hankel(sample, select_basis(sample, 5000, 5000))
    assert hankel.block.shape == (5000, 5000)
    payload = lens.basis_payload(hankel, ALPHABET, MatrixChoice()) | {
        "layer": lens.matrix_payload(hankel.block)
    }
    assert len(json.dumps(payload)) < 2e6
    V = np.random.default_rng(0).normal(size=(5000, 5))
    rest = LowRank(hankel.block @ V, V, hankel.block)
    assert len(json.dumps(payload | {"layer": lens.matrix_payload(rest, 1e-6)})) < 3e6


def test_labels_are_the_strings_themselves() -> None:
    """Nothing is escaped here: the browser sets them as text, which a browser test sees."""
    alphabet = Alphabet(("<b>x</b>", "**y**"))
    sample = Sample.of(Words.of([(0,), (1, 0)]), alphabet)
    hankel = estimate_hankel(sample, select_basis(sample, 4, 4))
    payload = lens.basis_payload(hankel, alphabet, MatrixChoice(0))
    assert "<b>x</b> <b>x</b>" in payload["prefixes"] and "**y**" in "".join(payload["suffixes"])
    assert json.loads(json.dumps(payload))["prefixes"] == payload["prefixes"]


@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("statistic", STATISTICS)
def test_counting_by_hand_gives_what_the_matrix_holds(statistic: str, bounded: bool) -> None:
    if bounded and statistic not in WITH_BOUNDARY:
        return
    sample = Dyck().sample(200, 2)
    recipe = HankelRecipe(num_prefixes=12, num_suffixes=9, statistic=statistic, bounded=bounded)
    hankel = build_hankel(sample, recipe)
    counted = bounded_sample(sample, statistic) if bounded else sample
    for i, u in enumerate(hankel.basis.prefixes):
        for j, v in enumerate(hankel.basis.suffixes):
            count = occurrences(counted, u + v, statistic)
            assert count / sample.num_strings == pytest.approx(float(hankel.block[i, j]), rel=1e-12)
            assert f"{count:,} / 200 = " in count_by_hand(sample, u + v, recipe)
    if bounded or statistic == "string":
        row = recipe.changed(transform="row")
        divisor = hankel.matrix.sum(axis=1)[0]
        divided = "the sum of its row as counted"
        if bounded:
            divisor = hankel.matrix[0, 0]
            divided = "the frequency of its row's prefix"
        np.testing.assert_allclose(
            build_hankel(sample, row).block.toarray()[0], hankel.block.toarray()[0] / divisor
        )
        assert count_by_hand(sample, (0,), row).endswith(f"; then divided by {divided}")
        assert count_by_hand(sample, (0,), recipe.changed(transform="sqrt")).endswith(
            "; then its square root"
        )


@pytest.mark.parametrize("statistic", ["string", "prefix", "factor"])
def test_points_are_the_states_of_prefixes_that_begin_strings(statistic: str) -> None:
    data = load_data(DataRecipe(num_strings=300), no_files)
    recipe = HankelRecipe(
        num_prefixes=40,
        num_suffixes=20,
        statistic=statistic,
        bounded=statistic != "string",
        transform="sqrt",
    )
    hankel = build_hankel(data.train, recipe)
    model = fit(hankel, SP(rank=3)).model
    states = lens.basis_states(model, hankel)
    written = [
        hankel_alphabet(data.alphabet, recipe.statistic, recipe.bounded).decode(word)
        for word in hankel.basis.prefixes
    ]
    begins = [
        ("⊣" not in text) and (statistic != "factor" or text.startswith("⊢")) for text in written
    ]
    assert (~np.isnan(states).any(axis=1)).tolist() == begins
    points = lens.points_payload(states, "States")
    assert np.isfinite(unpacked(points["x"], "<f4")).tolist() == begins
    np.testing.assert_array_equal(states[begins.index(True)], np.asarray(model.initial))


def test_prefixes_have_their_rows_where_there_is_no_run() -> None:
    hankel = estimated()
    svd = truncated_svd(hankel.block, 10)
    rows = lens.prefixes_payload(hankel, svd, None, MatrixChoice(rank=3))
    assert rows == lens.points_payload(hankel.block @ svd.right[:, :3], "Rows of UD, rank 3")
    after = lens.prefixes_payload(hankel, svd, None, MatrixChoice(symbol=1, rank=3))
    assert after["title"] == "Rows of HV, rank 3" and after["x"] != rows["x"]
    recipe = Recipe(
        data=DataRecipe(num_strings=200, num_validation=20, num_test=20),
        hankel=HankelRecipe(num_prefixes=20, num_suffixes=20),
        learning=SP(rank=2),
    )
    result = run(recipe)
    hankel = build_hankel(load_data(recipe.data, no_files).train, recipe.hankel)
    svd = truncated_svd(hankel.block, 10)
    states = lens.prefixes_payload(hankel, svd, result, MatrixChoice(rank=2))
    assert states == lens.points_payload(lens.basis_states(result.model, hankel), "States of SP")


def test_states_without_bounds_have_no_points() -> None:
    with pytest.raises(RecipeError, match="grow without bound"):
        lens.points_payload(np.array([[1.0, np.inf], [0.0, 1.0]]), "States")


def test_examples() -> None:
    assert doctest.testmod(lens).failed == 0


def estimated(num_strings: int = 500, rows: int = 40, columns: int = 30) -> HankelMatrix:
    sample = Dyck().sample(num_strings, 3)
    return estimate_hankel(sample, select_basis(sample, rows, columns))


def numpys(dense: FloatArray, rank: int) -> FloatArray:
    U, D, Vt = np.linalg.svd(dense, full_matrices=False)
    near: FloatArray = (U[:, :rank] * D[:rank]) @ Vt[:rank]
    return near


@pytest.mark.parametrize("rank", [1, 3, 7])
def test_the_reconstruction_is_numpys(rank: int) -> None:
    block = estimated().block
    near = reconstruction(block, truncated_svd(block, 10), rank)
    expected = numpys(block.toarray(), rank)
    np.testing.assert_allclose(near.rows(0, 40), expected, atol=1e-12)
    rest = residual(block, near)
    assert isinstance(rest, LowRank)
    np.testing.assert_allclose(rest.rows(5, 9), (block.toarray() - expected)[5:9], atol=1e-12)
    error = np.linalg.norm(block.toarray() - expected) / np.linalg.norm(block.toarray())
    assert relative_error(block, rest) == pytest.approx(error, rel=1e-9)


def test_errors_fall_with_the_rank_and_vanish_at_the_matrix_own() -> None:
    """An automaton of three states has a matrix of rank 3."""
    automaton = random_automaton(3, 2, 5)
    sample = Dyck().sample(300, 0)
    hankel = exact_hankel(automaton.weights, select_basis(sample, 20, 20))
    svd = truncated_svd(hankel.block, 4)
    errors = [
        relative_error(
            hankel.block, residual(hankel.block, reconstruction(hankel.block, svd, rank))
        )
        for rank in (1, 2, 3)
    ]
    assert errors[0] > errors[1] > errors[2] and errors[2] < 1e-10
    # The rows that follow a symbol are in the space of the others.
    after = hankel.symbol_block(1)
    assert relative_error(after, residual(after, reconstruction(after, svd, 3))) < 1e-8


def test_parts_are_the_whole() -> None:
    matrix = LowRank(
        np.arange(14.0).reshape(7, 2), np.arange(6.0).reshape(3, 2), sparse.csr_array(np.eye(7, 3))
    )
    np.testing.assert_allclose(np.concatenate(list(matrix.chunks(2))), matrix.rows(0, 7))
    assert [len(chunk) for chunk in matrix.chunks(3)] == [7]


def test_a_models_matrix_holds_its_weights() -> None:
    hankel = estimated()
    svd = truncated_svd(hankel.block, 3)
    model = fit_spectral(hankel, svd, 3)
    for symbol in (-1, 0, 1):
        near = MatrixChoice(symbol, "Ĥ", 3, "key").matrix(hankel, svd, model)
        assert not isinstance(near, LowRank)
        u = hankel.basis.prefixes[4] + MatrixChoice(symbol).after
        v = hankel.basis.suffixes[2]
        assert near[4, 2] == pytest.approx(model.weights(Words.of([u + v]))[0], rel=1e-9, abs=1e-15)
        rest = MatrixChoice(symbol, "H − Ĥ", 3, "key").matrix(hankel, svd, model)
        assert not isinstance(rest, LowRank)
        block = MatrixChoice(symbol).block(hankel)
        np.testing.assert_allclose((rest + near).toarray(), block.toarray(), atol=1e-15)


def test_what_is_too_much_is_refused_before_it_is_begun() -> None:
    hankel = estimated(20_000, 600, 600)
    with pytest.raises(
        RecipeError, match=f"must have at most {MAX_MODEL_CELLS:,} cells; got 600 × 600"
    ):
        model_block(random_automaton(3, 2, 5), hankel)


def test_a_matrix_of_zeros_has_no_relative_error() -> None:
    zero = sparse.csr_array((3, 2))
    assert np.isnan(relative_error(zero, residual(zero, zero)))


WORDS = [(0,), (0, 1), (0, 1), (1, 1, 0), (), (0, 0, 1)]


@pytest.fixture
def hankel() -> HankelMatrix:
    sample = Sample.of(Words.of(WORDS), Alphabet(("a", "b")))
    return estimate_hankel(sample, select_basis(sample, num_prefixes=5, num_suffixes=5))


def test_shares_are_those_of_the_dense_matrix(hankel: HankelMatrix) -> None:
    values = np.linalg.svd(weighted_block(hankel).toarray(), compute_uv=False)
    made = singular_values_payload(truncated_svd(weighted_block(hankel), 50), hankel)
    expected = np.cumsum(values**2) / (values**2).sum()
    assert made["kept"] == [*(format_share(share, 2) for share in expected), "100%"]
    assert made["names"][0] == f"σ₁ = {values[0]:.3g}"
    assert len(made["heights"]) == len(made["names"]) == len(made["kept"]) - 1 == len(values)


def test_heights_are_places_on_the_ticks_scale(hankel: HankelMatrix) -> None:
    svd = truncated_svd(weighted_block(hankel), 50)
    made = singular_values_payload(svd, hankel)
    ticks = dict(made["ticks"])
    assert ticks["1"] == 1.0  # frequencies are below 1
    low = min(ticks, key=lambda text: ticks[text])
    decades = {"10⁻¹": 1, "10⁻²": 2, "10⁻³": 3}[low]
    known = [
        height
        for height, value in zip(made["heights"], svd.singular_values, strict=True)
        if value > 1e-10
    ]
    expected = [
        max(0.01, 1 + np.log10(value) / decades) for value in svd.singular_values if value > 1e-10
    ]
    np.testing.assert_allclose(known, expected, atol=1e-4)


def test_beyond_the_values_that_are_known(hankel: HankelMatrix) -> None:
    part = truncated_svd(weighted_block(hankel), 2)
    made = singular_values_payload(part, hankel)
    assert made["kept"][2] == f"more than {made['kept'][1]}"
    assert (
        made["said"].format(rank=3, kept=made["kept"][2])
        == f"Rank 3 keeps {made['kept'][2]} of the squared norm of H_λ."
    )
    assert (
        " up to rounding: at least **2** (no more values are computed for this page). "
        in numerical_rank_sentence(part, hankel)
    )
    whole = truncated_svd(weighted_block(hankel), 50)
    assert (
        numerical_rank_sentence(whole, hankel).count(
            f" up to rounding: **{whole.numerical_rank}**. "
        )
        == 1
    )


def test_of_a_matrix_of_zeros_nothing_is_kept() -> None:
    sample = Sample.of(Words.of([(0, 0, 0)]), Alphabet(("a",)))
    # λ and λ, never seen
    empty = estimate_hankel(sample, select_basis(sample, num_prefixes=1, num_suffixes=1))
    made = singular_values_payload(truncated_svd(weighted_block(empty), 5), empty)
    assert (
        made["heights"] == [0.0] and made["kept"] == ["0%", "0%"] and made["ticks"] == [("0", 0.0)]
    )
