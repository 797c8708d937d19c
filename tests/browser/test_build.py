"""Build: an automaton is drawn by hand, changed in a table, loses a state, and solves a task; then
it is the lab's source.
"""

from __future__ import annotations

import re
from contextlib import suppress

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, TimeoutError, expect

from tests.browser.screen import DESKTOP, PHONE, choose, keyed, press, settled, still, visit
from tests.waiting import DRAWING_SECONDS, wait_for


def line(page: Page) -> Locator:
    """What the automaton is, above its drawing."""
    return page.locator(".stMarkdown", has_text="spectral radius").first


def drag(page: Page, source: int, target: int) -> None:
    """Draws an arrow from state to state; out of the state and back again for a loop."""
    places = []
    for node in (source, target):
        box = page.locator(".walk .node circle:first-of-type").nth(node).bounding_box()
        assert box is not None
        places.append((box["x"] + box["width"] / 2, box["y"] + box["height"] / 2))
    page.mouse.move(*places[0])
    page.mouse.down()
    page.mouse.move(places[0][0] + 70, places[0][1] - 40, steps=4)
    page.mouse.move(*places[1], steps=4)
    page.mouse.up()


def opens(page: Page, cells: Locator) -> bool:
    """Opens the weight of the first row; a table that is being drawn again takes no click."""
    cells.scroll_into_view_if_needed()
    still(cells)
    box = cells.bounding_box()
    assert box is not None
    # cells are drawn, so they have no element
    page.mouse.click(box["x"] + box["width"] - 40, box["y"] + 52)
    page.keyboard.press("Enter")
    with suppress(TimeoutError):
        page.locator("#portal textarea").wait_for(timeout=3_000)
    return page.locator("#portal textarea").count() == 1


def test_an_even_number_of_a_from_nothing(page: Page, lab: str) -> None:
    page.set_viewport_size(DESKTOP)
    visit(page, lab, "build", build="even-a")
    walk = page.locator(".walk")
    walk.get_by_role("button", name="Add a state").click()
    expect(line(page)).to_contain_text("2 states · rank 0")
    walk.get_by_role("button", name="State 1: change").press("Enter")
    walk.locator("[name=termination]").fill("x")
    walk.locator("[name=termination]").press("Enter")
    expect(walk.locator(".panel .error")).to_contain_text("write a number")
    expect(walk.locator("[name=termination]")).to_have_value("x")  # nothing is lost
    walk.locator("[name=termination]").fill("1")
    walk.locator("[name=termination]").press("Enter")
    expect(line(page)).to_contain_text("rank 1")
    for source, target, symbol in ((0, 1, "a"), (1, 0, "a"), (0, 0, "b"), (1, 1, "b")):
        settled(page)
        walk.scroll_into_view_if_needed()
        drag(page, source, target)
        walk.locator("[name=symbol]").fill(symbol)
        walk.locator("[name=symbol]").press("Enter")
        expect(
            walk.get_by_role("button", name=f"Arrow from {source + 1} to {target + 1}, {symbol} 1")
        ).to_be_visible()
    expect(line(page)).to_contain_text("2 states · rank 2")
    press(page, "build.check")
    expect(keyed(page, "build_task")).to_contain_text(
        "Right: your automaton gives every string the weight that it should."
    )

    walk.locator("#string").fill("abba")
    page.get_by_role("tab", name="By hand").click()
    expect(page.get_by_text("The string is abba")).to_be_visible()
    page.get_by_role("tab", name="Hankel matrix and rank").click()
    choose(page, "build.leave_out", "state 2")
    expect(page.get_by_text("Without state 2 the rank falls from 2 to 1.")).to_be_visible()
    press(page, "build.remove")
    expect(line(page)).to_contain_text("1 state · rank 1")
    press(page, "build.check")
    expect(keyed(page, "build_task")).to_contain_text(
        "The shortest string whose weight differs is aa: yours gives 0, but it should be 1"
    )
    press(page, "build.undo")
    expect(line(page)).to_contain_text("2 states · rank 2")

    # In the table: the weight of the first arrow becomes a mistake, which is named, and then
    # another number.
    page.get_by_role("tab", name="Tables").click()
    settled(page)
    cells = (
        keyed(page, re.search(r"build-arrows-\d+", page.content())[0].replace("-", "."))
        .locator("canvas")
        .first
    )  # type: ignore[index]
    for text in ("half", "1/2"):
        wait_for(lambda: opens(page, cells), DRAWING_SECONDS)
        page.locator("#portal textarea").fill(text)
        page.keyboard.press("Enter")
        if text == "half":
            expect(page.get_by_text("Arrows, row 1: write a number")).to_be_visible()
            settled(page)
    expect(walk.get_by_role("button", name="Arrow from 1 to 2, a 0.5")).to_be_visible()
    settled(page)

    # The link opens the same automaton, on a phone as well; and axe has nothing to say.
    page.reload()
    settled(page)
    page.set_viewport_size(PHONE)
    expect(
        page.locator(".walk").get_by_role("button", name="Arrow from 1 to 2, a 0.5")
    ).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    violations = [
        entry
        for entry in Axe().run(page).response["violations"]
        if entry["impact"] in ("serious", "critical")
    ]
    assert not [(entry["id"], [node["target"] for node in entry["nodes"]]) for entry in violations]
