"""Every page, light and dark, on a phone, by keyboard: axe-core, widths, the focus; and no page
asks the network for anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import People
from tests.browser.screen import (
    DESKTOP,
    FITS,
    PATHS,
    PHONE,
    QUICK,
    WIDE,
    be_at_the_machine,
    drawn_charts,
    go,
    keyed,
    settled,
    tabbed_to,
    tick,
    train_if_missing,
    visit,
    watched,
)

SCHEMES = ("light", "dark")
# Page -> a control of its own, which the keyboard has to reach. Status has nothing to press; Train
# and Hankel are in the scenarios.
CONTROLS = {
    "": "explore.lesson",
    "learn": "learn.lesson.hankel-matrix",
    "data": "own_strings",
    "states": "states.learner",
    "predict": "predict.string",
    "compare": "learners",
    "take_away": "take_away.run.py",
    "history": "history.filter",
    "classify": "classify.strings",
    "practice": "practice.next",
    "build": "build.empty",
    "classroom": "class.code",
}


@pytest.fixture(scope="module")
def trained(lab: str, people: People) -> str:
    """A server on which the run that all pages show is done."""
    with people.page(0) as page:
        visit(page, lab, "train", **QUICK)
        train_if_missing(page)
    return lab


@pytest.fixture(scope="module")
def walker(
    trained: str, lab_home: Path, people: People
) -> Iterator[tuple[Page, dict[str, list[str]]]]:
    """A person who goes from page to page by the bar, and what should not be on the way."""
    with people.page(0) as page, watched(page) as found:
        be_at_the_machine(page, trained, lab_home)
        visit(page, trained, **QUICK)
        yield page, found


def in_scheme(page: Page, scheme: Any) -> None:
    """Changes the colours that the person's system asks for; the page follows."""
    page.emulate_media(color_scheme=scheme)
    expect(page.get_by_test_id("stApp")).to_have_css("color-scheme", scheme)
    settled(page)


def serious(page: Page) -> list[str]:
    """Rule and element of each violation that axe calls serious or critical.

    What is drawn again is pale for a moment.
    """
    for _ in range(3):
        drawn_charts(page)
        found = [
            f"{rule['id']}: {' '.join(map(str, node['target']))}: {node['html'][:160]}"
            for rule in Axe().run(page).response["violations"]
            if rule["impact"] in ("serious", "critical")
            for node in rule["nodes"]
        ]
        if not found:
            break
    return found


def test_every_page_has_a_control_to_reach() -> None:
    assert {*CONTROLS, "train", "hankel", "status"} == set(PATHS)


@pytest.mark.parametrize("path", PATHS)
def test_a_page_is_reached_by_keyboard_fits_a_phone_and_has_no_serious_violation(
    walker: tuple[Page, dict[str, list[str]]], path: str
) -> None:
    page, found = walker
    page.set_viewport_size(DESKTOP)  # with the bar of pages
    # the keyboard is then in the bar: the sidebar above it is the same on every page
    go(page, path or "explore")
    if path in CONTROLS:
        tabbed_to(page, keyed(page, CONTROLS[path])).evaluate(
            "box => box.getRootNode().activeElement.blur()"
        )
    for size in (PHONE, DESKTOP):
        page.set_viewport_size(size)
        drawn_charts(page)
        page.wait_for_function(FITS, arg=size["width"])
    expect(page.get_by_test_id("stException")).to_have_count(0)
    page.set_viewport_size(WIDE)
    for scheme in SCHEMES:
        in_scheme(page, scheme)
        assert not serious(page), scheme
    assert found == {"requests": [], "errors": [], "dialogs": []}


def test_no_serious_violation_around_a_ticked_run(trained: str, page: Page) -> None:
    page.set_viewport_size(WIDE)
    visit(page, trained, "history", **QUICK)
    tick(page)
    keyed(page, "history.labels").get_by_role("button").click()
    expect(page.get_by_text("Name", exact=True)).to_be_visible()
    for scheme in SCHEMES:
        in_scheme(page, scheme)
        expect(page.get_by_text("Name", exact=True)).to_be_visible()
        assert not serious(page), scheme
