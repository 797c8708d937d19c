"""The main job on real files: a verb list and a PAutomaC problem, where the competitions' data is
at hand.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.screen import (
    drawn,
    eventually,
    go,
    keyed,
    metric,
    scores,
    settled,
    traces,
    train,
    upload,
    visit,
)

DATA = Path(os.environ.get("NLWFA_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
BASIS = {"learner": "SP", "rank": 5, "num_prefixes": 500, "num_suffixes": 300}

pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason="the competitions' files are not here: NLWFA_DATA names their folder"
)


def looked_at(page: Page) -> dict[str, dict[str, str]]:
    """Heat map, SP with k = 5, states; the scores."""
    go(page, "hankel")
    assert drawn(page) > 1000
    go(page, "train")
    train(page)
    found = eventually(lambda: scores(page), lambda table: list(table)[:1] == ["SP"])
    assert 0 < float(found["SP"]["WER"]) < 1
    go(page, "states")
    eventually(
        lambda: sum(trace["count"] for trace in traces(page, "states.pca")),
        lambda number: number > 300,
    )
    return found


def test_spice_4_from_file_to_scores(page: Page, lab: str) -> None:
    visit(page, lab, "data", **BASIS)
    upload(page, "upload", (DATA / "spice" / "4.spice.dev.train").read_bytes())
    expect(metric(page, "symbols")).to_have_text("33")
    settled(page)
    looked_at(page)


def test_a_pautomac_problem_with_its_solution_and_model(page: Page, lab: str) -> None:
    folder = DATA / "pautomac"
    visit(page, lab, "data", **BASIS)
    upload(page, "upload", (folder / "24.pautomac.train").read_bytes())
    expect(metric(page, "symbols")).to_have_text("5")
    upload(page, "upload_test", (folder / "24.pautomac.test").read_bytes())
    expect(metric(page, "test strings")).to_have_text("1,000")
    upload(page, "upload_solution", (folder / "24.pautomac_solution.txt").read_bytes())
    expect(page).to_have_url(re.compile("upload_solution="))
    upload(page, "upload_model", (folder / "24.pautomac_model.txt").read_bytes())
    expect(page).to_have_url(re.compile("upload_model="))
    settled(page)
    found = looked_at(page)
    assert set(found) == {"SP", "uniform", "5-gram", "true model"}
    assert float(found["true model"]["WER"]) < float(found["uniform"]["WER"])
    # On Compare its runs stand among the published figures.
    go(page, "compare")
    train(page, "compare")
    expect(
        keyed(page, "compare.results").get_by_role("heading", name="PAutomaC, problem 24")
    ).to_be_visible()
    records = keyed(page, "compare.records")
    records.scroll_into_view_if_needed()
    cells = (
        "t => [...t.querySelectorAll('tbody tr')].map(r => "
        "[...r.querySelectorAll('[role=gridcell]')].map(c => c.textContent))"
    )
    eventually(
        lambda: len(records.locator("canvas table").evaluate(cells)), lambda number: number > 6
    )
    figures = {row[0]: row for row in records.locator("canvas table").evaluate(cells)}
    assert {"Shibata–Yoshinaka", "Hulden (EM)", "Kepler"} < set(figures)
    ratios = [float(row[2]) for row in figures.values() if row[-1] == "run"]
    assert 1.0 < min(ratios) < 1.01
