"""H, Ĥ and H − Ĥ side by side: the factors make Ĥ, equal strings have equal numbers, states are
blocks.
"""

from __future__ import annotations

from base64 import b64decode
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from nlwfa_core import Recipe
from nlwfa_core.display.lens import MatrixChoice, reconstruction
from nlwfa_core.display.panels import MAX_SIDE, panels_payload, relative_errors, state_order
from nlwfa_core.display.walk import open_brackets
from nlwfa_core.experiment.datasets import Data, load_data
from nlwfa_core.hankel.estimate import build_hankel
from nlwfa_core.hankel.matrix import HankelMatrix
from nlwfa_core.learning.spectral import truncated_svd

RECIPE = Recipe()


@cache
def matrix(source: str, side: int = 60, num_strings: int = 2000) -> tuple[Data, HankelMatrix]:
    language = {"grammar": 6} if source == "tomita" else {}
    data = load_data(RECIPE.data.changed(source=source, num_strings=num_strings, **language))
    return data, build_hankel(
        data.train, RECIPE.hankel.changed(num_prefixes=side, num_suffixes=side)
    )


def payload(
    source: str, symbol: int = -1, side: int = 60, num_strings: int = 2000
) -> dict[str, Any]:
    data, hankel = matrix(source, side, num_strings)
    return panels_payload(
        hankel, truncated_svd(hankel.block, 20), data.alphabet, MatrixChoice(symbol)
    )


def numbers(text: str, kind: str, shape: tuple[int, ...]) -> np.ndarray:
    return np.frombuffer(b64decode(text), kind).reshape(shape)


@pytest.mark.parametrize("symbol", [-1, 0, 1])
@pytest.mark.parametrize("side", [60, 150])
def test_the_factors_make_the_approximation_of_every_rank(symbol: int, side: int) -> None:
    sent, (_, hankel) = payload("dyck", symbol, side, 20_000), matrix("dyck", side, 20_000)
    choice = MatrixChoice(symbol)
    svd = truncated_svd(hankel.block, 20)
    block, (rows, columns) = choice.block(hankel), sent["shape"]
    assert sent["whole"] == [side, side] and (rows, columns) == (min(side, MAX_SIDE),) * 2
    np.testing.assert_array_equal(
        numbers(sent["cells"], "<f8", (rows, columns)), block.toarray()[:rows, :columns]
    )
    left, right = (numbers(sent[name], "<f8", (rows, 20)) for name in ("left", "right"))
    for rank in (1, 3, 20):
        near = reconstruction(block, svd, rank).rows(0, side)
        np.testing.assert_allclose(
            left[:, :rank] @ right[:, :rank].T, near[:rows, :columns], atol=1e-15
        )
        error = np.linalg.norm(block.toarray() - near) / np.linalg.norm(block.toarray())
        assert sent["errors"][rank - 1] == pytest.approx(error, rel=1e-3)


def test_cells_of_one_string_have_one_number() -> None:
    sent, (_, hankel) = payload("dyck"), matrix("dyck")
    words = numbers(sent["words"], "<u2", (60, 60))
    strings = np.array(
        [["".join(map(str, u + v)) for v in hankel.basis.suffixes] for u in hankel.basis.prefixes]
    )
    for row, column in ((0, 0), (1, 5), (7, 3)):
        np.testing.assert_array_equal(words == words[row, column], strings == strings[row, column])
    cells = hankel.block.toarray()
    for number in range(int(words.max()) + 1):
        assert len(set(cells[words == number].tolist())) == 1  # what makes it a Hankel matrix


def test_tomita_6_falls_into_three_blocks() -> None:
    sent, (_, hankel) = payload("tomita"), matrix("tomita")
    order = sent["order"]
    remainder = [sum(1 if symbol else -1 for symbol in word) % 3 for word in hankel.basis.prefixes]
    assert len(order["blocks"]) == 3 and order["blocks"][0]["name"] == "λ" and order["fallsApart"]
    assert sent["largest"] == np.abs(hankel.block.toarray()).max()
    start = 0
    for block in order["blocks"]:
        assert len({remainder[row] for row in order["rows"][start : start + block["rows"]]}) == 1
        start += block["rows"]
    assert sorted(order["rows"]) == sorted(order["columns"]) == list(range(60)) and start == 60


def test_brackets_fall_into_depths() -> None:
    sent, (_, hankel) = payload("dyck"), matrix("dyck")
    order = sent["order"]
    start = 0
    depths = []
    for block in order["blocks"]:
        found = {
            open_brackets(hankel.basis.prefixes[row])
            for row in order["rows"][start : start + block["rows"]]
        }
        assert len(found) == 1
        depths += found
        start += block["rows"]
    assert depths[:3] == [0, 1, 2]


def test_a_matrix_in_one_part_is_grouped_by_direction() -> None:
    block = np.array([[1.0, 1, 0.1], [0.1, 0.1, 3], [2, 2, 0.2], [0.2, 0.2, 6]])
    order = state_order(sparse.csr_array(block), block)
    assert order.rows.tolist() == [0, 2, 1, 3] and order.columns.tolist() == [0, 1, 2]
    assert order.blocks == ((2, 2, 0), (2, 1, 1)) and not order.falls_apart


def test_a_matrix_of_zeros_has_no_blocks_and_no_error() -> None:
    empty = sparse.csr_array((2, 3))
    order = state_order(empty, np.zeros((2, 1)))
    assert (
        order.blocks == () and order.rows.tolist() == [0, 1] and order.columns.tolist() == [0, 1, 2]
    )
    assert np.isnan(relative_errors(empty, np.zeros((2, 1)))).all()
