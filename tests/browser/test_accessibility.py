"""axe-core on every page, light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import People
from tests.browser.screen import PATHS, QUICK, WIDE, drawn_charts, go, keyed, tick, train_if_missing, visit


@pytest.fixture(scope="module")
def trained(lab: str, people: People) -> str:
    """A server on which the run that all pages show is done."""
    with people.page(0) as page:
        visit(page, lab, "train", **QUICK)
        train_if_missing(page)
    return lab


@pytest.fixture(scope="module", params=["light", "dark"])
def walker(request: pytest.FixtureRequest, trained: str, people: People) -> Iterator[Page]:
    """A person who goes from page to page by the bar, in one scheme of colours."""
    with people.page(0) as page:
        page.set_viewport_size(WIDE)
        page.emulate_media(color_scheme=request.param)
        visit(page, trained, **QUICK)
        yield page


def serious(page: Page) -> list[str]:
    """Rule and element of each violation that axe calls serious or critical. What is drawn again is pale for a moment."""
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


@pytest.mark.parametrize("path", PATHS)
def test_no_serious_violation(walker: Page, path: str) -> None:
    go(walker, path or "start")
    assert not serious(walker)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_violation_around_a_ticked_run(trained: str, page: Page, scheme: Any) -> None:
    page.set_viewport_size(WIDE)
    page.emulate_media(color_scheme=scheme)
    visit(page, trained, "history", **QUICK)
    tick(page)
    keyed(page, "history.labels").get_by_role("button").click()
    expect(page.get_by_text("Name", exact=True)).to_be_visible()
    assert not serious(page)
