"""Measure the server's memory before, during and after a large upload: `python -m benchmarks.memory
[--megabytes 50]`.

A first visitor uploads a small file and looks at some pages; the server then holds what it loads
only once. A second visitor uploads random strings, looks at the same pages and closes the browser.
Streamlit drops a session two minutes after its browser has left; then the server's memory should be
within 10 % of what it was. Linux only.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import tempfile
import time
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import numpy as np
from playwright.sync_api import Browser, Page, expect, sync_playwright

from nlwfa_core.display.machine import resident_bytes
from tests.browser.conftest import FLAGS, serving
from tests.browser.screen import keyed, settled, visit

PATIENCE_MS = 600_000
REST_SECONDS = 12  # until what the first visitor left is freed
LINE_LENGTH = 50


def random_strings(megabytes: float, seed: int) -> bytes:
    """Return lines of 49 random letters of four."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(
        97, 101, size=(max(1, int(megabytes * 1e6) // LINE_LENGTH), LINE_LENGTH)
    ).astype(np.uint8)
    rows[:, -1] = 10
    return rows.tobytes()


def server_of_this_process() -> int:
    """Return the process of the only Streamlit server that this process has started."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()
    return next(
        int(pid) for pid in children if b"streamlit" in Path("/proc", pid, "cmdline").read_bytes()
    )


def visitor(browser: Browser, lab: str) -> Page:
    """Open the Data page in a browser of its own."""
    context = browser.new_context()
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    visit(page, lab, "data")
    return page


def upload(page: Page, lab: str, file: Path, pages: list[str]) -> None:
    """Upload a file, look at some pages, and leave."""
    keyed(page, "own_strings").locator("summary").click()
    page.get_by_role("tab", name="Upload").click()
    keyed(page, "upload.upload").locator("input[type=file]").set_input_files(str(file))
    expect(page.get_by_text(re.compile("^In use: the file")).first).to_be_visible(
        timeout=PATIENCE_MS
    )
    settled(page)
    recipe = dict(parse_qsl(urlsplit(page.url).query))
    for name in pages:
        visit(page, lab, name, **recipe)
    page.context.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--megabytes", type=float, default=50)
    parser.add_argument("--pages", nargs="*", default=["hankel"])
    parser.add_argument(
        "--first",
        action="store_true",
        help="the large file is uploaded in the server's first session",
    )
    parser.add_argument(
        "--after",
        type=float,
        nargs="+",
        default=[10, 150],
        help="seconds after the browser has left",
    )
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder)) as lab,
        sync_playwright() as playwright,
    ):
        server = server_of_this_process()
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), chromium_sandbox=False, args=list(FLAGS)
        )
        files = [Path(folder, name) for name in ("small.txt", "large.txt")]
        for seed, (file, megabytes) in enumerate(
            zip(files, (0.01, arguments.megabytes), strict=True)
        ):
            file.write_bytes(random_strings(megabytes, seed))
        print("| | server's memory, MB | of before |\n| --- | --- | --- |")
        before = 0.0

        def show(what: str) -> None:
            nonlocal before
            now = (resident_bytes([server]) or 0) / 1e6
            before = before or now
            print(f"| {what} | {now:.0f} | {now / before:.2f}× |", flush=True)

        first = visitor(browser, lab)
        second = visitor(browser, lab)
        small, large = (second, first) if arguments.first else (first, second)
        upload(small, lab, files[0], arguments.pages)
        time.sleep(REST_SECONDS)
        show("before")
        upload(large, lab, files[1], arguments.pages)
        show(f"{arguments.megabytes:g} MB uploaded")
        left = time.monotonic()
        for seconds in arguments.after:
            time.sleep(max(0.0, left + seconds - time.monotonic()))
            show(f"{seconds:g} s after the browser has left")
        browser.close()


if __name__ == "__main__":
    main()
