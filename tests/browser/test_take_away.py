"""What is downloaded in a real browser is whole, comparisons are drawn, and a recipe's file sets
the sidebar.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from playwright.sync_api import Page, expect

from nlwfa_core import Recipe, run
from tests.browser.screen import (
    QUICK,
    chart,
    choose,
    eventually,
    go,
    keyed,
    press,
    rows,
    settled,
    traces,
    train,
    visit,
    watched,
    write,
)


def download(page: Page, name: str, folder: Path) -> Path:
    with page.expect_download() as waiting:
        press(page, f"take_away.{name}")
    assert waiting.value.suggested_filename == name
    waiting.value.save_as(folder / name)
    return folder / name


def test_files_are_whole_and_the_report_needs_no_network(
    page: Page, lab: str, tmp_path: Path
) -> None:
    visit(page, lab, "take_away", **QUICK | {"data_seed": 41})
    train(page, "take_away")
    recipe = Recipe.from_json(download(page, "recipe.json", tmp_path).read_text())
    assert (recipe.data.seed, recipe.learning.rank) == (41, 2)
    scores = run(recipe).scores
    assert f",{scores.wer!r}," in download(page, "scores.csv", tmp_path).read_text()
    assert "run(recipe)" in download(page, "run.py", tmp_path).read_text()
    json.loads(download(page, "run.ipynb", tmp_path).read_text())
    for name in ("model.zip", "figures.zip", "strings.zip", "nlwfa-run.zip"):
        assert zipfile.ZipFile(download(page, name, tmp_path)).testzip() is None
    report = download(page, "report.html", tmp_path)
    with watched(page) as found:
        page.goto(report.as_uri())
        expect(page.get_by_role("heading", level=1)).to_have_text("SP, k = 2")
        expect(page.get_by_role("cell", name=f"{scores.wer:.3f}", exact=True).first).to_be_visible()
        widths = page.evaluate("Array.from(document.images, image => image.naturalWidth)")
        assert len(widths) == 3 and min(widths) > 100
    assert found == {"requests": [report.as_uri()], "errors": [], "dialogs": []}


def test_a_recipe_comes_back(page: Page, lab: str) -> None:
    visit(page, lab, "take_away", **QUICK)
    recipe = Recipe.from_json(
        '{"data": {"num_strings": 450}, "learning": {"learner": "SP", "rank": 4}}'
    )
    box = keyed(page, "take_away.recipe").locator("input[type=file]")
    box.set_input_files(
        {"name": "recipe.json", "mimeType": "application/json", "buffer": recipe.to_json().encode()}
    )
    expect(keyed(page, "num_strings").locator("input")).to_have_value("450")
    expect(keyed(page, "rank").locator("input")).to_have_value("4")
    box.set_input_files({"name": "recipe.json", "mimeType": "application/json", "buffer": b"{"})
    refused = keyed(page, "take_away.recipe.refused").get_by_test_id("stAlert")
    expect(refused.filter(has_text="Nothing was changed")).to_be_visible()
    expect(keyed(page, "rank").locator("input")).to_have_value("4")


def test_what_if_two_runs_side_by_side_and_a_sweep_over_seeds(page: Page, lab: str) -> None:
    grid = {"seeds": 2, "ranks": [2, 3], "sizes": [100, 300]}
    visit(
        page,
        lab,
        "compare",
        **QUICK | grid | {"data_seed": 42, "learner": "fac.non", "epochs_factorisation": 20},
    )
    press(page, "pins.A")
    settled(page)
    write(page, "rank", 3)
    choose(page, "learner", "SP")
    train(page, "compare.in_play")
    eventually(lambda: [row[0] for row in rows(page)], ["A: fac.non, k = 2", "now: SP, k = 3"])
    eventually(lambda: [row[0] for row in rows(page, 1)][:2], ["learner", "rank k"])
    keyed(page, "learners").get_by_role("button", name="fac.non", exact=True).click()
    settled(page)
    train(page, "compare")
    eventually(
        lambda: {trace["name"] for trace in traces(page, "compare.curves")},
        {"SP", "fac.non", "fac.non, 95% interval"},
    )
    keyed(page, "compare.lines").locator("summary").click()
    expect(chart(page, "compare.parallel").locator(".gl-container canvas").first).to_be_attached()
    keyed(page, "against").get_by_text("strings", exact=True).click()
    settled(page)
    train(page, "compare")
    wanted = {"SP", "uniform", "5-gram", "true model"}
    eventually(
        lambda: {trace["name"] for trace in traces(page, "compare.curves")},
        lambda names: wanted <= names,
    )
    go(page, "take_away")
    expect(keyed(page, "take_away.run")).to_contain_text("A: fac.non, k = 2")
