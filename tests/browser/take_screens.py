"""`make screens`: the pictures of pages that the documentation has, into docs/screens."""

from __future__ import annotations

import io
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.conftest import FLAGS, PATIENCE_SECONDS, ROOT, serving
from tests.browser.screen import keyed, settled, train, visit

FOLDER = ROOT / "docs" / "screens"
LOOKS: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": {"width": 1440, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1440, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
}
COLOURS = 256
# Page and look of each picture that the documentation has.
PICTURES = (("", "desktop"), ("train", "desktop"), ("states", "dark"), ("predict", "phone"))


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


def few_colours(picture: Image.Image) -> Image.Image:
    """Reduce a picture to its most frequent colours, so large pale areas keep theirs, and to as
    many that are far apart, so thin lines do, too.
    """
    frequent = sorted(picture.getcolors(picture.width * picture.height) or [], reverse=True)
    half = COLOURS // 2
    apart = picture.quantize(half, Image.Quantize.MAXCOVERAGE).getpalette() or []
    palette = Image.new("P", (1, 1))
    palette.putpalette([*(part for _, colour in frequent[:half] for part in colour), *apart])
    return picture.quantize(palette=palette, dither=Image.Dither.NONE)


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as home,
        sync_playwright() as playwright,
        ExitStack() as stack,
    ):
        lab = stack.enter_context(serving(Path(home)))
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            chromium_sandbox=False,
            args=[*FLAGS, "--enable-unsafe-swiftshader"],
        )
        page = open_page(browser, "desktop")
        visit(page, lab, "train")
        for key in ("train", "train.others"):
            if keyed(page, f"{key}.start").count():
                train(page, key)
        for path, look in PICTURES:
            page = open_page(browser, look)
            visit(page, lab, path)
            if path:  # Explore fills the window
                everything_visible(page)
            settled(page)
            page.wait_for_timeout(2_500)  # charts are drawn after the script's end
            picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
            name = FOLDER / f"{path or 'explore'}-{look}.png"
            few_colours(picture).save(name, optimize=True)
            print(name.relative_to(ROOT), f"{name.stat().st_size // 1024} kB", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
