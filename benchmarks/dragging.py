"""Measure how much processor time Explore's script takes for a frame while the rank is dragged.

`python -m benchmarks.dragging [--repeats 3]` (needs Debian's chromium and the packages of `make
test`) prints a table. The cut is dragged through all ranks and back, at 1440 × 900. Only frames
before which the pointer has moved count. A frame's time is that of its script, with the pointer's
events and the layout that the script waits for; drawing to the screen is not included.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
from pathlib import Path
from statistics import quantiles
from typing import Any

from playwright.sync_api import Browser, Page

from tests.browser.conftest import serving
from tests.browser.screen import keyed, upload, visit

from .chromium import chromium

CASES = ("default", "verbs", "2,000 strings", "5,000 symbols")
POINTER = ("pointerdown", "pointermove", "pointerup")
STEPS = 100  # of the pointer from the lowest rank to the highest one
STEP_MS = 12
IDLE_MS = 4_000  # in which the page computes models ahead
LETTERS = ("bcdfghklmnprst", "aeiou")
NUM_SYMBOLS = 5_000


def words(rng: random.Random) -> str:
    """2,000 words of up to 12 letters, in which consonants and vowels alternate."""
    lengths = [min(12, 1 + int(rng.expovariate(0.22))) for _ in range(2_000)]
    return "\n".join("".join(rng.choice(LETTERS[n % 2]) for n in range(each)) for each in lengths)


def tokens(rng: random.Random) -> str:
    """2,500 strings over 5,000 symbols: two of them in each string occur once, the others more
    often.
    """
    names = [f"w{number}" for number in range(NUM_SYMBOLS)]
    weights = [1 / (number + 1) for number in range(NUM_SYMBOLS)]
    rare = rng.sample(names, NUM_SYMBOLS)
    lines = []
    for number in range(0, NUM_SYMBOLS, 2):
        line = rare[number : number + 2] + rng.choices(names, weights, k=rng.randint(1, 4))
        rng.shuffle(line)
        lines.append(" ".join(line))
    return "\n".join(lines)


def open_case(page: Page, lab: str, case: str) -> None:
    parameters: dict[str, Any] = {"rank": 3}
    if case == "verbs":
        parameters["source"] = "verbs"
    elif case != "default":
        draw = words if case == "2,000 strings" else tokens
        visit(page, lab, "data", source="upload")
        upload(page, "upload", draw(random.Random(0)).encode())
        page.wait_for_url(re.compile("upload="))
        uploaded = page.url.split("upload=")[1].split("&")[0]
        parameters |= {"source": "upload", "upload": uploaded}
    visit(page, lab, **parameters)
    keyed(page, "explore.picture").locator(".tape button").first.wait_for()
    page.wait_for_timeout(IDLE_MS)


def drag(browser: Browser, page: Page) -> list[float]:
    """Milliseconds of processor time of each frame while the cut goes to the end and back."""
    box = page.locator(".cut.upper").bounding_box()
    assert box
    browser.start_tracing(page=page, categories=["devtools.timeline"])
    middle = box["y"] + box["height"] / 2
    for number in (*range(STEPS), *range(STEPS, -1, -1)):
        page.mouse.move(box["x"] + 4 + (box["width"] - 8) * number / STEPS, middle)
        if not number:
            page.mouse.down()
        page.wait_for_timeout(STEP_MS)
    page.mouse.up()
    return frames(json.loads(browser.stop_tracing())["traceEvents"])


def frames(events: list[dict[str, Any]]) -> list[float]:
    """The times of those frames before which the pointer has moved: in the others, something is
    still moving.
    """
    times = []
    handlers = []
    for event in sorted((event for event in events if event["ph"] == "X"), key=lambda e: e["ts"]):
        milliseconds = event.get("tdur", event["dur"]) / 1000
        if event["name"] == "EventDispatch" and event["args"]["data"]["type"] in POINTER:
            handlers.append(milliseconds)
        elif event["name"] == "FireAnimationFrame" and handlers:
            times.append(sum(handlers) + milliseconds)
            handlers = []
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder)) as lab,
        chromium() as browser,
    ):
        print("| strings | frames | median, ms | 95 %, ms | target |\n| --- " + "| --- " * 4 + "|")
        for case in CASES:
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            open_case(page, lab, case)
            times = [time for _ in range(repeats) for time in drag(browser, page)]
            percentiles = quantiles(times, n=20)
            middle = percentiles[9]
            high = percentiles[18]
            reached = middle <= 8 and high <= 16
            target = f"≤ 8 and ≤ 16{'' if reached else ' (not reached)'}"
            print(f"| {case} | {len(times)} | {middle:.1f} | {high:.1f} | {target} |", flush=True)
            page.close()


if __name__ == "__main__":
    main()
