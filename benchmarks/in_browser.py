"""Measure how long a person waits in a real browser: for the first page, and after changing the
rank in the sidebar or by the cut.

`python -m benchmarks.in_browser [--repeats 9]` (needs Debian's chromium and the packages of `make
test`) prints a table. The opponent is an empty Streamlit app: a title, a number field, and the
number. Both servers run at the same time and take turns.
"""

from __future__ import annotations

import argparse
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter

from playwright.sync_api import Browser, Locator, Page

from tests.browser.conftest import serving
from tests.browser.screen import heading, keyed, settled, visit

from .chromium import chromium

EMPTY = (
    'import streamlit as st\nst.title("Empty")\nst.write(st.number_input("Number", 1, 100, 2, '
    'key="number"))\n'
)
SMALL = {"num_strings": 2_000, "num_prefixes": 300, "num_suffixes": 300, "learner": "SP", "rank": 5}
CUT = "hankel.singular_values"
# What is drawn last of the lab's first page, and of the empty app.
EXPLORE = ".st-key-explore-picture [data-part=depth] svg circle"
NUMBER = "[data-testid=stNumberInput] input"
WAIT = 120  # as in assets/cut/cut.js
QUIET = 700  # milliseconds without a change after which the page counts as drawn
# A component has a shadow tree, which an observer of the page does not see.
WATCH = f"""(picture) => {{
  window.roundTrip = new Promise((done) => {{
    const tree = picture.getRootNode();
    let started = 0, first = 0, last = 0;
    addEventListener('keydown', () => {{ started = last = performance.now(); }}, {{ once: true, capture: true }});
    const observer = new MutationObserver((changes) => {{
      last = performance.now();
      if (changes.some(({{ target }}) => target.getRootNode() === tree)) first ||= last;
    }});
    for (const each of new Set([document.body, tree])) {{
      observer.observe(each, {{ attributes: true, childList: true, characterData: true, subtree: true }});
    }}
    const timer = setInterval(() => {{
      if (!started || performance.now() - last < {QUIET}) return;
      clearInterval(timer);
      observer.disconnect();
      done([first - started, last - started]);
    }}, 50);
  }});
}}"""  # noqa: E501
READY = "() => performance.getEntriesByName('first-contentful-paint').length"


def first_paint(browser: Browser, address: str, drawn: str) -> tuple[float, float]:
    """Seconds from a click on a link to the first paint, and until an element is drawn, in a
    browser with an empty cache.
    """
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    started = perf_counter()
    page.goto(address, wait_until="commit")
    page.locator(drawn).first.wait_for()
    seen = perf_counter() - started
    page.wait_for_function(READY)
    painted: float = (
        page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime") / 1000
    )
    context.close()
    return painted, seen


def round_trip(page: Page, key: str, picture: str = "") -> tuple[float, float]:
    """Seconds from a key press in a number field to the first change of a picture and to the last
    change, by the browser's clock.

    The picture is the field itself, or the component with the key `picture`.
    """
    field = keyed(page, key).locator("input")
    return _changes(
        page, field, "ArrowUp", keyed(page, picture).get_by_role("slider") if picture else field
    )


def cut(page: Page) -> tuple[float, float]:
    """Seconds from a key press on the cut to its first and to the page's last change."""
    slider = keyed(page, CUT).get_by_role("slider")
    return _changes(page, slider, "ArrowRight", slider)


def _changes(page: Page, control: Locator, key: str, picture: Locator) -> tuple[float, float]:
    control.focus()
    page.wait_for_timeout(QUIET)
    picture.evaluate(WATCH)
    control.press(key)
    first, last = page.evaluate("window.roundTrip")
    settled(page)
    return first / 1000, last / 1000


def row(name: str, ours: list[float], theirs: list[float], target: float) -> str:
    def cell(values: list[float]) -> str:
        low, _, high = quantiles(values, n=4)
        return f"{1000 * median(values):.0f} ({1000 * low:.0f}–{1000 * high:.0f})"

    ratio = median(ours) / median(theirs)
    return (
        f"| {name} | {cell(ours)} | {cell(theirs)} | **{ratio:.2f}×** | ≤ "
        f"{target}×{'' if ratio <= target else ' (not reached)'} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        script = folder / "empty.py"
        script.write_text(EMPTY)
        homes = [folder / name for name in ("lab", "empty")]
        for home in homes:
            home.mkdir()
        lab = stack.enter_context(serving(homes[0]))
        empty = stack.enter_context(serving(homes[1], script))
        browser = stack.enter_context(chromium())
        turns = [
            (first_paint(browser, lab, EXPLORE), first_paint(browser, empty, NUMBER))
            for _ in range(repeats + 1)
        ][1:]
        print(
            "| what | the lab, ms | empty app, ms | ratio | target |\n| --- | --- | --- | "
            "--- | --- |"
        )
        for name, index, target in (
            ("Start, first paint", 0, 1.3),
            ("Start, Explore's picture is drawn", 1, 2.5),
        ):
            print(
                row(
                    name,
                    [ours[index] for ours, _ in turns],
                    [theirs[index] for _, theirs in turns],
                    target,
                ),
                flush=True,
            )
        ours = browser.new_page()
        theirs = browser.new_page()
        visit(ours, lab, "hankel", **SMALL)
        theirs.goto(empty)
        theirs.get_by_role("heading", name="Empty").wait_for()
        settled(theirs)
        turns = [
            (*round_trip(ours, "rank", CUT), round_trip(theirs, "number")[1], *cut(ours))
            for _ in range(repeats + 1)
        ][1:]
        first, last, empties, cut_first, cut_last = (
            list(times) for times in zip(*turns, strict=True)
        )
        for name, times in (
            ("rank + 1 in the sidebar, on Hankel: bars, line, sentence, Ĥ", first),
            ("the same, with all that follows from the server, SVD cached", last),
            ("rank + 1 by the cut: bars, line, sentence, Ĥ", cut_first),
            (
                f"the same, with all that follows, after {WAIT} ms of waiting for another key",
                cut_last,
            ),
        ):
            print(row(name, times, empties, 2.0), flush=True)
        assert heading(ours, "hankel").is_visible()


if __name__ == "__main__":
    main()
