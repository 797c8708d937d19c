"""Trainings that are paused and stepped, and the steps of spectral learning, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.screen import (
    ENDLESS,
    QUICK,
    chart,
    choose,
    go,
    heading,
    keyed,
    press,
    settled,
    still,
    train,
    visit,
    write,
)

PAUSED = re.compile("epoch ([0-9,]+) of 100,000.* · paused")


def epoch(page: Page) -> int:
    """Where a paused training stands."""
    line = page.get_by_text(PAUSED)
    expect(line).to_be_visible()
    found = PAUSED.search(line.inner_text())
    assert found is not None
    return int(found[1].replace(",", ""))


def reaches(page: Page, there: int) -> None:
    expect(page.get_by_text(re.compile(f"epoch {there:,} of 100,000.* · paused"))).to_be_visible()


def at_rest(page: Page) -> None:
    """Waits until the paused training's buttons are drawn and nothing moves them any more."""
    epoch(page)
    settled(page)
    still(keyed(page, "train.step.1"))


def test_pause_step_reload_play_and_cancel(page: Page, lab: str) -> None:
    visit(page, lab, "train", **ENDLESS | {"data_seed": 31})
    press(page, "train.start")
    expect(
        page.get_by_text(
            re.compile("epoch [0-9,]+ of 100,000.* · about [0-9.]+ (s|min|h) left in this stage")
        )
    ).to_be_visible()
    press(page, "train.pause")
    at_rest(page)
    before = epoch(page)
    for epochs in (1, 10, 100):  # and not one more: it stands still in between
        at_rest(page)
        press(page, f"train.step.{epochs}")
        before += epochs
        reaches(page, before)
    expect(keyed(page, "train.live.picture").locator("canvas").first).to_be_visible()
    network = page.get_by_role("group", name="The auto-encoder, drawn")
    network.get_by_label("Row of H, prefix u").select_option("[")
    expect(network.locator(".said")).to_contain_text(
        re.compile(r"u = \[: state \(.*tanh units.*Largest error at v = ")
    )
    page.reload()
    expect(heading(page, "train")).to_be_visible()
    at_rest(page)
    assert epoch(page) == before
    expect(keyed(page, "train.start")).to_have_count(0)
    press(page, "train.step.10")  # whoever reloads is somebody new, and still may
    reaches(page, before + 10)
    press(page, "train.play")
    expect(keyed(page, "train.pause")).to_be_visible()
    expect(page.get_by_text(PAUSED)).to_have_count(0)
    press(page, "train.pause")
    assert epoch(page) > before + 10
    press(page, "train.cancel")
    expect(page.get_by_text("fac.non, k = 2: cancelled.")).to_be_visible()
    expect(keyed(page, "train.start")).to_be_visible()


def test_a_training_begins_held_and_another_person_is_not_held_up(
    page: Page, new_page: Callable[[], Page], lab: str
) -> None:
    other = new_page()
    visit(page, lab, "train", **ENDLESS | {"data_seed": 32})
    press(page, "train.hold")
    reaches(page, 0)
    held = page.url
    visit(other, lab, "train", **QUICK | {"data_seed": 32})
    train(other)
    expect(other.get_by_role("heading", name="On the test strings")).to_be_visible()
    other.goto(held)
    reaches(other, 0)
    settled(other)
    press(other, "train.step.1")
    expect(other.get_by_test_id("stToast")).to_contain_text(
        "only the person who started it can pause it"
    )
    reaches(page, 0)
    press(other, "train.cancel")
    press(page, "train.cancel")
    expect(page.get_by_text("fac.non, k = 2: cancelled.")).to_be_visible()


def test_the_steps_of_spectral_learning_stand_in_the_address(page: Page, lab: str) -> None:
    visit(page, lab, "train", **QUICK)
    expect(page.get_by_text("Step 1 of 5")).to_be_visible()
    press(page, "train.next")
    expect(page.get_by_text("Step 2 of 5")).to_be_visible()
    expect(page).to_have_url(re.compile(r"train\.step=decompose"))
    settled(page)
    page.reload()
    expect(page.get_by_text("Step 2 of 5")).to_be_visible()
    assert page.locator(".katex-error").count() == 0
    for place in (3, 4, 5):
        press(page, "train.next")
        expect(page.get_by_text(f"Step {place} of 5")).to_be_visible()
        expect(page.locator(".katex-display").first).to_be_visible()
        assert page.locator(".katex-error").count() == 0


def test_spectral_learning_follows_the_sidebar_without_a_button(page: Page, lab: str) -> None:
    visit(page, lab, "train", **QUICK | {"data_seed": 33})
    for rank in (2, 3, 4):
        write(page, "rank", rank)
        expect(page.get_by_text(f"SP, k = {rank}: spectral learning, linear")).to_be_visible()
        expect(keyed(page, "last_result")).to_have_count(0)  # it is of these settings
        expect(keyed(page, "train.scores.table")).to_be_visible()
        expect(keyed(page, "train.start")).to_have_count(0)
    expect(keyed(page, "elsewhere")).to_have_count(0)
    go(page, "states")
    expect(chart(page, "states.pca")).to_be_visible()
    choose(page, "learner", "fac.non")
    expect(keyed(page, "states.start")).to_be_visible()
