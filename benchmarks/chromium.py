"""Start the browser of the benchmarks: Debian's Chromium, with the options of the tests."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

from tests.browser.conftest import FLAGS


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser, which is closed at the end."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), chromium_sandbox=False, args=list(FLAGS)
        )
        yield browser
        browser.close()
