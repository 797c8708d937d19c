"""Nothing blanks and nothing jumps: while a page changes, each chart stays until its successor is
there, and the page does not scroll.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser.screen import drawn_charts, visit, write

# Looks in each frame at what is drawn. A chart is known by its key; it is there while an element of
# its kind is, and has its height.
WATCH = """() => {
    const main = document.querySelector("[data-testid=stMain]");
    const kinds = "[data-testid=stPlotlyChart] .main-svg, [data-testid=stVegaLiteChart] canvas,"
        + "[data-testid=stDataFrame] canvas, [data-testid=stGraphVizChart] svg";
    const look = () => {
        const inside = [...main.querySelectorAll(kinds)];
        const hosts = [...main.querySelectorAll("*")].filter(node => node.shadowRoot);
        const own = hosts.flatMap(host => [...host.shadowRoot.querySelectorAll("canvas, svg")].slice(0, 1));
        const keyOf = node => (node.getRootNode().host ?? node).closest("[class*='st-key-']")
            ?.className.match(/st-key-[\\w-]+/)[0] ?? "no key";
        const seen = {};
        for (const node of [...inside, ...own]) {
            if (node.getBoundingClientRect().height > 0) (seen[keyOf(node)] ??= 0, seen[keyOf(node)] += 1);
        }
        return seen;
    };
    const state = { top: main.scrollTop, tops: [], frames: [], before: look(), isOn: true };
    const frame = () => {
        if (main.scrollTop !== state.top) state.tops.push(main.scrollTop);
        state.frames.push(look());
        if (state.isOn) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
    window.nlwfaCalm = { stop: () => {
        state.isOn = false;
        const after = look();
        const stays = Object.keys(state.before).filter(key => after[key]);
        return {
            stays,
            blank: stays.filter(key => state.frames.some(seen => !seen[key])),
            tops: state.tops,
            frames: state.frames.length,
        };
    } };
}"""  # noqa: E501
# What is changed on each: the key of a control of the sidebar, and its new value.
PAGES = ("hankel", "predict", "compare")
CHANGES = (("rank", 4), ("num_strings", 280))


@pytest.mark.parametrize("path", PAGES)
def test_charts_stay_until_their_successors_are_there_and_the_page_does_not_scroll(
    page: Page, lab: str, path: str
) -> None:
    visit(page, lab, path, num_strings=300, num_validation=40, num_test=40, learner="SP", rank=3)
    drawn_charts(page)
    page.get_by_test_id("stMain").evaluate("main => main.scrollTo(0, 150)")
    for key, value in CHANGES:
        page.evaluate(WATCH)
        write(page, key, value)
        drawn_charts(page)
        found = page.evaluate("window.nlwfaCalm.stop()")
        assert found["frames"] > 3
        assert not found["blank"], (key, found)
        assert not found["tops"], (key, found)
