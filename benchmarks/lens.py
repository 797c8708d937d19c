"""Measure the bytes that the lens sends: `python -m benchmarks.lens [--sizes 1000 5000] [--layer
H]`.

A real browser opens the Hankel page of Dyck strings, and the sizes of all websocket frames and
response bodies are added up. The lab's scripts and fonts (/static, the same for every page and
cached by browsers) are counted separately.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Page, Response, WebSocket, sync_playwright

from tests.browser.conftest import FLAGS, serving


def measure(page: Page, address: str, size: int, layer: str) -> str:
    counted = {"websocket": 0, "answers": 0, "static": 0}

    def count(kind: str, number: int) -> None:
        counted[kind] += number

    def answered(response: Response) -> None:
        if response.url.startswith(address):
            count("static" if "/static/" in response.url else "answers", len(response.body()))

    def opened(socket: WebSocket) -> None:
        for kind in ("framesent", "framereceived"):
            socket.on(kind, lambda frame: count("websocket", len(frame)))

    page.on("response", answered)
    page.on("websocket", opened)
    recipe = {
        "num_strings": 100_000,
        "num_prefixes": size,
        "num_suffixes": size,
        "rank": 10,
        "learner": "SP",
    }
    started = time.perf_counter()
    page.goto(f"{address}/hankel?{urlencode(recipe)}")
    status = page.locator(".lens .status").filter(has_text=f"{size} rows")
    status.wait_for(timeout=300_000)
    if layer != "H":
        page.get_by_text(layer, exact=True).click()
        page.locator(".lens .matrix h4").filter(has_text=layer).wait_for(timeout=300_000)
    page.locator('[data-test-script-state="notRunning"]').wait_for(timeout=300_000)
    page.wait_for_timeout(1000)
    seconds = time.perf_counter() - started
    sizes = ", ".join(f"{kind} {number / 1e6:.2f} MB" for kind, number in counted.items())
    return (
        f"{size:,} × {size:,}, {layer}: {sizes}; {seconds:.1f} s until all is still, counting "
        "included"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lens", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 5000])
    parser.add_argument("--layer", default="H", choices=["H", "Ĥ", "H − Ĥ"])
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    arguments = parser.parse_args()
    flags = [*FLAGS, "--disable-sync", "--enable-unsafe-swiftshader"]
    with (
        tempfile.TemporaryDirectory() as home,
        serving(Path(home)) as address,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(
            executable_path=arguments.chromium, chromium_sandbox=False, args=flags
        )
        for size in arguments.sizes:
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.set_default_timeout(300_000)
            print(measure(page, address, size, arguments.layer))
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
