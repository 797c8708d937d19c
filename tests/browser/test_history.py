"""The history in a real browser: delete and undo, a bundle from one lab to another, a list of one's
own that survives F5.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import serving
from tests.browser.screen import (
    QUICK,
    be_at_the_machine,
    eventually,
    go,
    heading,
    keyed,
    press,
    rows,
    settled,
    tick,
    train,
    visit,
    visit_first,
    watched,
)


def names(page: Page) -> list[str]:
    return [row[0] for row in rows(page)]


def test_delete_undo_and_a_bundle_from_one_lab_to_another(
    page: Page, lab: str, lab_home: Path, fresh_lab: str, tmp_path: Path
) -> None:
    be_at_the_machine(page, lab, lab_home)
    be_at_the_machine(page, fresh_lab, tmp_path)
    with watched(page) as found:
        visit(page, lab, "train", **QUICK | {"data_seed": 51, "rank": 7})
        train(page)
        go(page, "history")
        before = eventually(lambda: names(page), lambda seen: seen[0] == "SP, k = 7")
        tick(page)
        expect(page.get_by_role("heading", name="SP, k = 7", level=3)).to_be_visible()
        with page.expect_download() as waiting:
            keyed(page, "history.export").get_by_role("button").click()
        waiting.value.save_as(tmp_path / "runs.zip")
        press(page, "history.delete")
        expect(page.get_by_text("1 run deleted")).to_be_visible()
        settled(page)
        if len(before) > 1:  # other tests' runs; the grid holds only the rows that are in view
            eventually(lambda: names(page)[:5], before[1:6])
        press(page, "history.undo")
        expect(page.get_by_text("1 run deleted")).to_have_count(0)
        settled(page)
        eventually(lambda: names(page)[:5], before[:5])
        expect(keyed(page, "history.delete")).to_have_count(0)  # what is back is not ticked

        visit_first(page, fresh_lab, "history", **QUICK | {"rank": 4})
        expect(page.get_by_text("No run yet")).to_be_visible()
        keyed(page, "history.bring").locator("summary").click()
        keyed(page, "history.bundle").locator("input[type=file]").set_input_files(
            tmp_path / "runs.zip"
        )
        expect(page.get_by_test_id("stToast").filter(has_text="1 run imported")).to_be_visible()
        settled(page)
        assert names(page) == ["SP, k = 7"]
        tick(page)
        press(page, "history.open")
        expect(heading(page, "train")).to_be_visible()
        # the result is there at once
        expect(page.get_by_role("heading", name="On the test strings")).to_be_visible()
        expect(keyed(page, "rank").locator("input")).to_have_value("7")
        expect(keyed(page, "train.start")).to_have_count(0)
    assert found["errors"] == [] and found["requests"] == []


def test_a_list_of_ones_own_survives_f5_and_is_nobody_elses(
    page: Page, new_page: Callable[[], Page], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NLWFA_HISTORY", "own")
    with serving(tmp_path) as lab:
        mine = page
        other = new_page()
        visit(mine, lab, "train", **QUICK | {"data_seed": 52})
        train(mine)
        link = mine.url
        visit(other, lab, "history", **QUICK | {"data_seed": 53})
        expect(other.get_by_text("No run yet")).to_be_visible()
        expect(keyed(other, "history.bundle")).to_have_count(0)
        # a session of its own, as after F5
        visit(mine, lab, "history", **QUICK | {"data_seed": 53})
        assert names(mine) == ["SP, k = 2"]
        other.goto(link)
        settled(other)
        go(other, "history")
        assert eventually(lambda: names(other), ["SP, k = 2"])
        tick(other)
        press(other, "history.delete")
        expect(other.get_by_text("No run yet")).to_be_visible()
        mine.reload()
        settled(mine)
        assert eventually(lambda: names(mine), ["SP, k = 2"])
        visit(other, lab, "status")
        expect(other.get_by_text("This page is for the person who runs the server")).to_be_visible()
        other.get_by_role("button", name="More").click()
        expect(other.get_by_role("menuitem", name="History")).to_be_visible()
        expect(other.get_by_role("menuitem", name="Status")).to_have_count(0)
