"""Nothing blanks and nothing jumps: while a page changes, each chart stays until its successor is
there, and the page does not scroll.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.screen import choose, drawn_charts, keyed, settled, visit, write
from tests.waiting import PATIENCE_SECONDS

# Looks in each frame at what is drawn. A chart is known by its key; it is there while an element of
# its kind is, and has its height. The old drawing that stands in for a new one is a drawing.
WATCH = """() => {
    const main = document.querySelector("[data-testid=stMain]");
    const kinds = ".main-svg, [data-testid=stVegaLiteChart] canvas,"
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
# Page -> the keys of charts that have a successor after each change.
PAGES = {
    "data": ("data.strings.table", "data.lengths"),
    "hankel": ("hankel.lens", "hankel.panels"),
    "train": ("train.scores.table",),
    "states": ("states.walk", "states.pca", "states.graph"),
    "predict": ("predict.next",),
    "compare": ("compare.curves",),
}
# What is changed on each: the key of a control of the sidebar, and its new value.
CHANGES = (("rank", 4), ("num_strings", 280))


def visit_trained(page: Page, lab: str, path: str) -> None:
    visit(page, lab, path, num_strings=300, num_validation=40, num_test=40, learner="SP", rank=3)
    if path == "compare":
        keyed(page, "compare.start").get_by_role("button").click()
    if path == "states":
        keyed(page, "states.as_graph").locator("summary").click()
    for key in PAGES[path]:
        expect(keyed(page, key)).to_be_visible(timeout=PATIENCE_SECONDS * 1000)
    trained(page, path)


def trained(page: Page, path: str) -> None:
    """Waits for what the page trains at once, and for the charts."""
    expect(keyed(page, f"{path}.cancel")).to_have_count(0, timeout=PATIENCE_SECONDS * 1000)
    settled(page)
    drawn_charts(page)


@pytest.mark.parametrize("path", PAGES)
def test_charts_stay_until_their_successors_are_there_and_the_page_does_not_scroll(
    page: Page, lab: str, path: str
) -> None:
    visit_trained(page, lab, path)
    page.get_by_test_id("stMain").evaluate("main => main.scrollTo(0, 150)")
    for key, value in CHANGES:
        page.evaluate(WATCH)
        write(page, key, value)
        trained(page, path)
        found = page.evaluate("window.nlwfaCalm.stop()")
        assert found["frames"] > 3
        assert {f"st-key-{chart.replace('.', '-')}" for chart in PAGES[path]} <= {*found["stays"]}
        assert not found["blank"], (key, found)
        assert not found["tops"], (key, found)


@pytest.mark.parametrize(
    ("path", "chart"),
    [("train", "train.scores.table"), ("states", "states.pca"), ("states", "states.graph")],
)
def test_the_last_result_stays_in_grey_while_there_is_no_other(
    page: Page, lab: str, path: str, chart: str
) -> None:
    visit_trained(page, lab, path)
    choose(page, "learner", "both.non")
    write(page, "rank", 7)
    expect(keyed(page, f"{path}.start")).to_be_visible()
    expect(keyed(page, "last_result")).to_contain_text("The last result: SP, k = 3.")
    drawing = keyed(page, chart).locator("canvas, .stPlotlyChart, .stGraphVizChart").first
    expect(drawing).to_have_css("opacity", "0.4")
