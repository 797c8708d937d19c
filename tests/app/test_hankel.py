"""The Hankel page: what the lens is given, and what the page says of a choice."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from nlwfa_core import run
from nlwfa_core.display.lens import LAYERS, model_block
from nlwfa_core.errors import RecipeError
from nlwfa_core.experiment.datasets import load_data, no_files
from nlwfa_core.hankel.estimate import build_hankel
from pages.shared.server import ASSETS
from tests.app.lab import (
    QUICK,
    complaints,
    given_to,
    go,
    lens_payload,
    open_lab,
    recipe_of,
    trained,
)


def said(app: AppTest) -> str:
    return " ".join(entry.value for entry in app.main.markdown).replace("\\", "")


def table_of(app: AppTest) -> Any:
    """The table below the lens, which is made when somebody opens it."""
    app.session_state["hankel.as_table"] = True
    return app.run().dataframe[0].value


def test_the_matrix_is_the_sidebars_where_the_learner_reads_none() -> None:
    app = open_lab("hankel", **QUICK | {"learner": "both.non"})
    before = lens_payload(app)["layer"]
    app.selectbox(key="objective").set_value("likelihood").run()
    assert not recipe_of(app).needs_hankel
    assert lens_payload(app)["layer"] == before
    app.number_input(key="num_prefixes").set_value(20).run()
    assert lens_payload(app)["layer"]["shape"] == [20, 30] and not complaints(app)


def test_the_lens_holds_the_matrix_and_the_page_its_table() -> None:
    # no other test trains this recipe
    app = open_lab("hankel", **QUICK | {"learner": "SP", "num_strings": 290})
    assert not complaints(app)
    payload = lens_payload(app)
    recipe = recipe_of(app)
    hankel = build_hankel(load_data(recipe.data, no_files).train, recipe.hankel)
    assert (
        payload["layer"]["shape"] == [30, 30]
        and payload["prefixes"][0] == "λ"
        and "cells" in payload["layer"]
    )
    assert payload["points"]["title"] == "Rows of UD, rank 2"
    table = table_of(app)
    np.testing.assert_array_equal(
        table.drop(columns="prefix").to_numpy(), hankel.block.toarray()[:, :12]
    )
    assert list(table["prefix"]) == payload["prefixes"]


@pytest.mark.parametrize("symbol", [-1, 0, 1])
def test_what_a_rank_leaves_is_said_and_shown(symbol: int) -> None:
    app = open_lab("hankel", **QUICK | {"learner": "SP", "num_strings": 500})
    app.selectbox(key="hankel.block").set_value(symbol).run()
    recipe = recipe_of(app)
    hankel = build_hankel(load_data(recipe.data, no_files).train, recipe.hankel)
    V = np.linalg.svd(hankel.block.toarray())[2][:2].T
    block = (hankel.block if symbol < 0 else hankel.symbol_block(symbol)).toarray()
    for layer, expected in (
        ("H", block),
        ("Ĥ", block @ V @ V.T),
        ("H − Ĥ", block - block @ V @ V.T),
    ):
        app.segmented_control(key="hankel.layer").set_value(layer).run()
        assert not complaints(app)
        table = table_of(app).drop(columns="prefix").to_numpy()
        np.testing.assert_allclose(table, expected[:30, :12], atol=1e-12)
    error = np.linalg.norm(block - block @ V @ V.T) / np.linalg.norm(block)
    assert f"= **{error:.3g}** at rank 2" in said(app)


def test_a_trained_learner_stands_beside_the_svd_and_its_states_are_the_points() -> None:
    app = go(
        trained(open_lab("train", **QUICK | {"learner": "both.non", "data_seed": 331})), "hankel"
    )
    assert lens_payload(app)["points"]["title"] == "States of both.non"
    app.segmented_control(key="hankel.layer").set_value("Ĥ").run()
    app.selectbox(key="hankel.by").set_value("both.non").run()
    assert not complaints(app)
    recipe = recipe_of(app)
    hankel = build_hankel(load_data(recipe.data, no_files).train, recipe.hankel)
    expected = model_block(run(recipe).model, hankel).toarray()
    table = table_of(app).drop(columns="prefix").to_numpy()
    np.testing.assert_allclose(table, expected[:, :12], rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize(
    "odd", [{"num_prefixes": 1, "num_suffixes": 1}, {"num_strings": 1}, {"rank": 1000}], ids=str
)
def test_every_layer_is_drawn_at_the_edges(odd: dict[str, int]) -> None:
    app = open_lab("hankel", **QUICK | {"learner": "SP"} | odd)
    for layer in LAYERS:
        app.segmented_control(key="hankel.layer").set_value(layer).run()
        assert not complaints(app)


def test_the_rank_that_is_named_is_one_that_the_matrix_has() -> None:
    app = open_lab("hankel", **QUICK | {"learner": "SP", "num_prefixes": 5, "rank": 40})
    app.segmented_control(key="hankel.layer").set_value("Ĥ").run()
    assert "at rank 5;" in said(app) and "The decomposition stops at rank 5." in said(app)


def test_states_that_diverge_leave_the_rows_of_the_decomposition(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def diverge(*_: object) -> None:
        raise RecipeError("The model diverges")

    monkeypatch.setattr("nlwfa_core.display.lens.basis_states", diverge)
    app = go(trained(open_lab("train", **QUICK | {"learner": "SP", "data_seed": 332})), "hankel")
    assert not complaints(app)
    assert lens_payload(app)["points"]["title"] == "Rows of UD, rank 2"


@pytest.mark.parametrize("path", sorted(ASSETS.rglob("*.js")), ids=lambda path: path.name)
def test_scripts_are_well_formed_and_make_no_markup_and_no_request(path: Path) -> None:
    script = path.read_text(encoding="utf-8")
    for word in (
        "innerHTML",
        "outerHTML",
        "insertAdjacent",
        "fetch(",
        "XMLHttpRequest",
        "import ",
        "eval(",
        "http",
    ):
        assert word not in script
    assert max(map(len, script.splitlines())) <= 150
    node = shutil.which("node")
    if node:
        subprocess.run([node, "--check", "--input-type=module"], input=script.encode(), check=True)


def test_another_rank_moves_points_and_cut_and_sends_no_matrix() -> None:
    app = open_lab("hankel", **QUICK | {"learner": "SP"})
    before = lens_payload(app)
    cut = given_to(app, "nlwfa.cut")
    large = ("nlwfa.lens", "nlwfa.panels")
    payloads = [given_to(app, name) for name in large]
    app.number_input(key="rank").set_value(4).run()
    assert [given_to(app, name) for name in large] == payloads  # Streamlit sends what is equal once
    assert lens_payload(app)["points"] != before["points"]
    assert (cut["rank"], given_to(app, "nlwfa.cut")["rank"]) == (2, 4)
