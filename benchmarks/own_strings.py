"""Measure how long a person waits on Explore for models of 2,000 strings of their own.

`python -m benchmarks.own_strings [--strings brackets|words] [--repeats 3]` (needs Debian's chromium
and the packages of `make test`) prints a table, for both ways of training and three states: from
the click on *See them in Explore* until the linear model is drawn; from the click on the button
that trains nonlinear models until a preview is drawn, or the result if that is sooner; and until
the recipe's own result is drawn. Each turn uses different strings, because a stored result would
not be trained again. Before the second click it waits three seconds, like a person who looks first.
Brackets have two symbols, words 19.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from playwright.sync_api import Locator, Page

from nlwfa_core.sources.dyck import Dyck
from tests.browser.conftest import serving
from tests.browser.screen import press, settled, upload, visit

from .chromium import chromium
from .dragging import words

LOOKING_MS = 3_000
LIMIT_MS = 300_000
WAYS = {"from the matrix": "hankel", "by likelihood": "likelihood"}
TARGETS = {"linear model": 0.5, "preview": 1.0, "own result": 3.0}


def brackets(seed: int) -> str:
    drawn = Dyck().sample_words(2_000, seed)
    return "\n".join("".join("[]"[symbol] for symbol in word) for word in drawn)


def letters(seed: int) -> str:
    return words(random.Random(seed))


STRINGS = {"brackets": brackets, "words": letters}


def turn(page: Page, lab: str, objective: str, text: str) -> dict[str, float]:
    """The seconds of each wait."""
    visit(page, lab, "data", source="upload", rank=3, objective=objective)
    upload(page, "upload", text.encode())
    page.wait_for_url(re.compile("upload="))
    settled(page)
    picture = page.locator(".explore")
    linear = picture.locator(".lane.upper")
    lane = picture.locator(".lane.lower")
    started = perf_counter()
    press(page, "data.explore")
    seconds = {"linear model": _until_scored(linear) - started}
    settled(page)
    page.wait_for_timeout(LOOKING_MS)
    button = lane.get_by_role("button", name=re.compile("^Train 1 to"))
    started = perf_counter()
    button.click()
    preview = lane.locator(".sub").filter(has_text="preview")
    scored = lane.locator(".scored").filter(has_text="WER")  # a quick training has no preview
    preview.or_(scored).first.wait_for(timeout=LIMIT_MS)
    seconds["preview"] = perf_counter() - started
    seconds["own result"] = _until_scored(lane) - started
    return seconds


def _until_scored(lane: Locator) -> float:
    """The time at which a lane has a model with its scores."""
    lane.locator(".scored").filter(has_text="WER").wait_for(timeout=LIMIT_MS)
    return perf_counter()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--strings", choices=STRINGS, default="brackets")
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder)) as lab,
        chromium() as browser,
    ):
        print("| trained | wait for | seconds | target |\n| --- " + "| --- " * 3 + "|")
        for way, objective in WAYS.items():
            turns = []
            for number in range(asked.repeats):
                text = STRINGS[asked.strings](number + 100 * len(way))
                page = browser.new_page(viewport={"width": 1440, "height": 900})
                turns.append(turn(page, lab, objective, text))
                page.close()
            for wait, target in TARGETS.items():
                times = [each[wait] for each in turns]
                reached = "" if median(times) <= target else " (not reached)"
                spread = f"{median(times):.2f} ({min(times):.2f}–{max(times):.2f})"
                print(f"| {way} | {wait} | {spread} | ≤ {target:g} s{reached} |", flush=True)


if __name__ == "__main__":
    main()
