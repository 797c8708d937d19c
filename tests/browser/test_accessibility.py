"""axe-core on every page, light and dark; the palette, by the numbers; no page wider than a phone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.browser.screen import PATHS, QUICK, keyed, tick, train, visit


@pytest.fixture(scope="module")
def trained(lab: str, browser: Browser) -> str:
    """A server on which the run that all pages show is done."""
    context = browser.new_context()
    context.set_default_timeout(60_000)
    page = context.new_page()
    visit(page, lab, "train", **QUICK)
    train(page)
    context.close()
    return lab


def serious(page: Page) -> list[str]:
    """Rule and element of each violation that axe calls serious or critical."""
    found = Axe().run(page).response["violations"]
    return [
        f"{rule['id']}: {' '.join(map(str, node['target']))}: {node['html'][:160]}"
        for rule in found
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", PATHS)
def test_no_serious_violation(trained: str, new_page: Callable[..., Page], path: str, scheme: Any) -> None:
    page = new_page(1440, 900)
    page.emulate_media(color_scheme=scheme)
    visit(page, trained, path, **QUICK)
    page.wait_for_timeout(500)  # charts are drawn after the script's end
    assert not serious(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_violation_around_a_ticked_run(trained: str, new_page: Callable[..., Page], scheme: Any) -> None:
    page = new_page(1440, 900)
    page.emulate_media(color_scheme=scheme)
    visit(page, trained, "history", **QUICK)
    tick(page)
    keyed(page, "history.labels").get_by_role("button").click()
    expect(page.get_by_text("Name", exact=True)).to_be_visible()
    assert not serious(page)


@pytest.mark.parametrize("path", PATHS)
def test_a_phone_never_scrolls_sideways(trained: str, new_page: Callable[..., Page], path: str) -> None:
    page = new_page(390, 844)
    visit(page, trained, path, **QUICK)
    page.wait_for_timeout(500)
    wide = page.evaluate(
        "[document.scrollingElement, ...document.querySelectorAll('.stMain')].map(e => e.scrollWidth - e.clientWidth)"
    )
    assert max(wide) <= 1, wide
