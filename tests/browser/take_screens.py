"""`make screens`: pictures of every page, on a desktop, in the dark and on a phone, into
docs/screens.
"""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.conftest import FLAGS, PATIENCE_SECONDS, ROOT, serving
from tests.browser.screen import PATHS, be_at_the_machine, keyed, settled, train, visit

FOLDER = ROOT / "docs" / "screens"
LOOKS: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": {"width": 1440, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1440, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
}
COLOURS = 200
SHOWN: dict[str, Any] = {}  # what a visitor finds
# What the History page finds.
SWEEP = {
    "base": {
        "data": {"num_strings": 500, "num_validation": 100, "num_test": 100},
        "hankel": {"num_prefixes": 50, "num_suffixes": 50},
        "learning": {"epochs_factorisation": 40, "epochs_transitions": 20},
    },
    "learners": ["SP", "both.non"],
    "ranks": [2, 3, 5, 8],
    "seeds": [0, 1],
}


def open_page(browser: Browser, look: str) -> Page:
    # a picture is taken at rest: Explore begins in motion
    context = browser.new_context(reduced_motion="reduce", **LOOKS[look])
    context.set_default_timeout(PATIENCE_SECONDS * 1000)
    return context.new_page()


def everything_visible(page: Page) -> None:
    """As high as the page is: what scrolls in the window would not be in the picture."""
    height = page.evaluate("document.querySelector('.stMainBlockContainer').scrollHeight")
    size = page.viewport_size or {"width": 1440, "height": 900}
    page.set_viewport_size(
        {"width": size["width"], "height": max(size["height"], min(int(height) + 40, 6000))}
    )


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as home,
        sync_playwright() as playwright,
        ExitStack() as stack,
    ):
        sweep = Path(home, "sweep.json")
        sweep.write_text(json.dumps(SWEEP))
        subprocess.run(
            [sys.executable, "-m", "nlwfa_core", "sweep", sweep, "--out", home], check=True
        )
        lab = stack.enter_context(serving(Path(home)))
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            chromium_sandbox=False,
            args=[*FLAGS, "--enable-unsafe-swiftshader"],
        )
        page = open_page(browser, "desktop")
        visit(page, lab, "train", **SHOWN)
        for key in ("train", "train.others"):
            if keyed(page, f"{key}.start").count():
                train(page, key)
        for look in LOOKS:
            page = open_page(browser, look)
            for path in PATHS:
                be_at_the_machine(page, lab, Path(home))
                visit(page, lab, path, **SHOWN)
                page.set_viewport_size(LOOKS[look]["viewport"])
                if path or look == "phone":  # Explore fills the window
                    everything_visible(page)
                settled(page)
                page.wait_for_timeout(2_500)  # charts are drawn after the script's end
                picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
                name = FOLDER / f"{path or 'explore'}-{look}.png"
                picture.quantize(
                    COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
                ).save(name, optimize=True)
                print(name.relative_to(ROOT), f"{name.stat().st_size // 1024} kB", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
