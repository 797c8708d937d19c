"""What a person does and sees in the browser, in the words of the lab's tests."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

import pytest
from playwright.sync_api import (
    Error,
    Locator,
    Page,
    Request,
    TimeoutError,
    ViewportSize,
    WebSocket,
    expect,
)

from nlwfa_core.metrics.score_table import SCORES
from nlwfa_core.metrics.tables import format_score
from nlwfa_core.teaching.answers import SEPARATOR, ChoiceKey, Key
from pages.shared.navigation import MENUS, SECTIONS
from tests import quick
from tests.quick import TITLES
from tests.waiting import DRAWING_SECONDS, PATIENCE_SECONDS, wait_for

T = TypeVar("T")

POLLING_MS = 50  # between two looks at a page that is waited for

DESKTOP: ViewportSize = {"width": 1280, "height": 900}
WIDE: ViewportSize = {"width": 1920, "height": 1080}
LAPTOP: ViewportSize = {"width": 1366, "height": 768}
PHONE: ViewportSize = {"width": 390, "height": 844}

# Nothing is wider than the page.
FITS = """width => innerWidth === width
    && [document.documentElement, ...document.querySelectorAll('.stMain')].every(box => box.scrollWidth <= box.clientWidth)"""  # noqa: E501
MOST_TABS = 60  # through the bar of pages, the whole sidebar, and what stands above
INSIDE = "box => box.contains(box.getRootNode().activeElement)"
ACTIVE = """() => {
    let found = document.activeElement;
    while (found.shadowRoot?.activeElement) found = found.shadowRoot.activeElement;
    return found;
}"""
INK = """node => {
    const seen = [];
    for (let i = 0; i < 5 && node instanceof Element; i++, node = node.parentElement ?? node.getRootNode().host) {
        const { outlineStyle, outlineWidth, outlineColor, boxShadow, borderColor, backgroundColor } = getComputedStyle(node);
        seen.push(outlineStyle, outlineWidth, outlineColor, boxShadow, borderColor, backgroundColor);
    }
    return seen.join('; ');
}"""  # noqa: E501

# Which of these elements, or of these parts of Explore's picture, are not wholly in view beside
# the lesson's card, or that Next is not in view.
OUT_OF_SIGHT = """keys => {
    const box = element => element.getBoundingClientRect();
    const picture = keys.map(key => key.startsWith("explore.") ? "explore.picture" : key);
    const drawn = picture.map(key => document.querySelector(".st-key-" + key.replace(/[^a-zA-Z0-9_-]/g, "-")));
    if (drawn.includes(null)) return "not on the page";
    const card = box(document.querySelector(".st-key-lesson"));
    const head = box(document.querySelector("[data-testid=stHeader]")).bottom;
    const hidden = ({ left, top, right, bottom }) => left < card.right || top < head || right > innerWidth || bottom > innerHeight;
    const next = box(document.querySelector(".st-key-lesson_move"));
    if (next.bottom > card.bottom || card.bottom > innerHeight) return "Next";
    return keys.filter((_, index) => hidden(box(drawn[index]))).join();
}"""  # noqa: E501

# The addresses of the pages: Start has none of its own.
PATHS = ("", *(name for name in TITLES if name != "explore"))
QUICK = quick.QUICK | {"learner": "SP"}
# Trains for longer than any test looks; to be cancelled.
ENDLESS = QUICK | {
    "learner": "fac.non",
    "optimizer": "adamax",
    "start": "random",
    "epochs_factorisation": 100_000,
}


def key_of(home: Path) -> str:
    """The key that a server with this folder has printed."""
    match = re.search(r"\?key=(\S+)", (home / "server.log").read_text(encoding="utf-8"))
    assert match
    return match[1]


def be_at_the_machine(page: Page, lab: str, home: Path) -> None:
    """Makes this browser that of the person at the server's machine, as opening the printed address
    does.
    """
    page.context.request.get(f"{lab}/?key={key_of(home)}", max_redirects=0)


def visit(page: Page, lab: str, path: str = "", **parameters: Any) -> None:
    """Opens a link, and waits for the page to be drawn to its end."""
    page.goto(f"{lab}/{path}?{urlencode(parameters, doseq=True)}")
    expect(heading(page, path)).to_be_visible()
    settled(page)


def visit_first(page: Page, lab: str, path: str = "", **parameters: Any) -> None:
    """Opens the first link to a fresh server: it shows its page with the sidebar and the bar of
    pages.
    """
    visit(page, lab, path, **parameters)
    expect(page.get_by_role("heading", level=1)).to_have_count(1)
    expect(keyed(page, "share")).to_have_count(1)
    expect(page.get_by_role("link", name="Explore", exact=True)).to_be_visible()
    expect(page.get_by_test_id("stException")).to_have_count(0)


def go(page: Page, path: str) -> None:
    """A click in the bar of pages, or in one of its menus."""
    name = "Class" if path == "classroom" else path.replace("_", " ").capitalize()
    menu = next((section for section in MENUS if path in SECTIONS[section]), None)
    if menu:
        page.get_by_test_id("stTopNav").get_by_role("button", name=menu).click()
        page.get_by_role("menuitem", name=name, exact=True).click()
    else:
        page.get_by_role("link", name=name, exact=True).click()
    expect(heading(page, path)).to_be_visible()
    settled(page)


def heading(page: Page, path: str) -> Locator:
    return page.get_by_role("heading", name=TITLES[path or "explore"], exact=True, level=1)


def settled(page: Page) -> None:
    """The script is at its end, and everything that it sent is drawn."""
    # `expect` looks again after up to a second
    page.wait_for_function(
        """() => document.querySelectorAll("[data-test-script-state=notRunning]").length === 1
            && !document.querySelector("[data-testid=stSkeleton]")""",
        polling=POLLING_MS,
    )


def still(place: Locator) -> None:
    """Waits until an element has kept its place and size for twenty frames: lists that open while
    the page scrolls close again.
    """
    place.evaluate("""node => new Promise(done => {
        let before = "", frames = 0;
        const look = () => {
            const now = JSON.stringify(node.getBoundingClientRect());
            frames = now === before ? frames + 1 : 0;
            before = now;
            frames < 20 ? requestAnimationFrame(look) : done();
        };
        look();
    })""")


def drawn_charts(page: Page) -> None:
    """Waits for the charts, which are drawn after the script's end."""
    page.wait_for_function("""() => [...document.querySelectorAll("[data-testid=stPlotlyChart]")]
        .every(chart => chart.querySelector(".main-svg"))""")
    expect(page.locator("[data-stale=true]")).to_have_count(0)
    still(page.get_by_test_id("stMain").first)


def keyed(page: Page, key: str) -> Locator:
    """The element of a widget's or chart's key."""
    return page.locator(f".st-key-{re.sub('[^a-zA-Z0-9_-]', '-', key)}")


def beside_a_lesson(page: Page, keys: Sequence[str]) -> None:
    """Waits until these elements are wholly in view beside the lesson's card, and its Next too."""
    try:
        page.wait_for_function(
            f"keys => ({OUT_OF_SIGHT})(keys) === ''",
            arg=[*keys],
            timeout=DRAWING_SECONDS * 1000,
            polling=100,
        )
    except TimeoutError:
        pytest.fail(f"out of sight: {page.evaluate(OUT_OF_SIGHT, [*keys])}")


def choose(page: Page, key: str, option: str) -> None:
    """Opens a list and chooses an option.

    A list closes when the page scrolls or is drawn again; then it is opened once more.
    """
    box = keyed(page, key).get_by_role("combobox")
    box.scroll_into_view_if_needed()
    still(box)
    choice = page.get_by_role("option", name=option, exact=True)

    def is_chosen() -> bool:
        if not choice.is_visible():
            box.click()
        with suppress(TimeoutError):
            choice.click(timeout=5_000)
            return True
        return False

    wait_for(is_chosen)
    settled(page)


def write(page: Page, key: str, value: Any) -> None:
    """Writes a number into a field of the sidebar."""
    field = keyed(page, key).locator("input")
    field.fill(str(value))
    field.press("Enter")
    settled(page)


def paste(page: Page, text: str) -> None:
    """Writes strings into the Data page's box, which is open and at rest, and presses the button
    without leaving the box first.
    """
    box = keyed(page, "data.paste").locator("textarea")
    settled(page)
    still(box)
    box.fill(text)
    expect(box).to_have_value(text)
    press(page, "data.use")


def press(page: Page, key: str) -> None:
    button = keyed(page, key).get_by_role("button")
    # while the page is drawn again, there is the one of before, too
    expect(button).to_have_count(1)
    button.click()


def enter(page: Page, task: str, key: Key, seed: int = 0) -> None:
    """Enters the correct answer to a question, and checks it."""
    name = f"exercise.{re.sub('[^a-zA-Z0-9]', '_', f'{task}_{seed}')}"
    parts = key.best.split(SEPARATOR)
    if isinstance(key, ChoiceKey):
        kind = "checkbox" if key.several else "radio"
        texts = [option.text for option in key.options]
        for part in parts:
            keyed(page, name.replace(".", "_")).get_by_role(kind).nth(texts.index(part)).locator(
                "xpath=ancestor::label"
            ).click()
    else:
        keyed(page, f"{name}.entry").locator("input").fill(key.best)
    press(page, f"{name}.check")
    settled(page)


def train(page: Page, key: str = "train") -> None:
    """Presses the button that trains what is missing, if it does not train by itself, and waits
    until nothing is missing.
    """
    settled(page)
    # what the page has started itself
    expect(keyed(page, f"{key}.cancel")).to_have_count(0, timeout=PATIENCE_SECONDS * 1000)
    settled(page)
    start = keyed(page, f"{key}.start")

    def is_pressed_or_gone() -> bool:
        if start.count():
            # a button of the settings before goes when the page has started the training itself
            with suppress(TimeoutError):
                start.get_by_role("button").click(timeout=5_000)
                return True
        return start.count() == 0

    wait_for(is_pressed_or_gone)
    expect(keyed(page, f"{key}.start")).to_have_count(0)
    # a worker starts and trains
    expect(keyed(page, f"{key}.cancel")).to_have_count(0, timeout=PATIENCE_SECONDS * 1000)
    settled(page)


def train_if_missing(page: Page, key: str = "train") -> None:
    """As `train`, but another test may have trained the same on the same server.

    The page has to be drawn to its end.
    """
    if keyed(page, f"{key}.start").count():
        train(page, key)


def tabbed_to(page: Page, box: Locator) -> Locator:
    """Presses Tab from where the keyboard is, at first the top, until it is inside; its place must
    then be seen.
    """
    page.add_style_tag(content="* { transition: none !important; }")
    expect(box).to_be_visible()
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if box.evaluate(INSIDE):
            break
    assert box.evaluate(INSIDE)
    active = page.evaluate_handle(ACTIVE)
    focused = active.evaluate(INK)
    active.evaluate("node => node.blur()")
    page.wait_for_function(f"([node, focused]) => ({INK})(node) !== focused", arg=[active, focused])
    active.evaluate("node => node.focus({ focusVisible: true })")
    return box


def chart(page: Page, key: str) -> Locator:
    """A Plotly chart, once it is drawn."""
    found = keyed(page, key).locator(".js-plotly-plot")
    expect(found.locator(".main-svg").first).to_be_visible()
    return found


def traces(page: Page, key: str) -> list[dict[str, Any]]:
    """What a Plotly chart holds: each trace's type, name and number of points or cells that are
    there.
    """
    script = """plot => plot._fullData.map((trace, i) => ({
        type: trace.type, name: trace.name,
        count: (trace.type === "heatmap" ? plot.calcdata[i][0].z.map(row => Array.from(row)).flat() : Array.from(trace.x || []))
            .filter(value => value !== null && value !== undefined && !Number.isNaN(value)).length}))"""  # noqa: E501
    found: list[dict[str, Any]] = chart(page, key).evaluate(script)
    return found


def drawn(page: Page) -> int:
    """Waits for the lens's heat map; how many of its pixels are blue or red."""
    script = """canvas => {
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        let count = 0;
        for (let i = 0; i < data.length; i += 4) count += data[i + 3] > 200 && Math.abs(data[i] - data[i + 2]) > 40;
        return count;
    }"""  # noqa: E501
    canvas = page.locator(".lens .matrix canvas")
    canvas.scroll_into_view_if_needed()
    page.wait_for_function(f"canvas => ({script})(canvas) > 0", arg=canvas.element_handle())
    found: int = canvas.evaluate(script)
    return found


def rows(page: Page, table: int = 0) -> list[list[str]]:
    """A table's cells.

    It is drawn on a canvas; inside that is a table that screen readers see, with all digits of
    numbers.
    """
    return _cells(page, table, "tbody tr", "gridcell")


def scores(page: Page, table: int = 0) -> dict[str, dict[str, str]]:
    """A table of scores: model -> short title of a score -> cell, as the table draws it.

    Columns out of sight are not there.
    """
    forms = {score.short_title: score.form for score in SCORES}
    [titles] = _cells(page, table, "thead tr", "columnheader")
    named = [
        (cells[0], dict(zip((title.lstrip("↑↓ ") for title in titles), cells, strict=False)))
        for cells in rows(page, table)
    ]
    return {
        model: {
            title: format_score(float(cell) if cell else None, forms[title])
            for title, cell in cells.items()
            if title in forms
        }
        for model, cells in named
    }


def _cells(page: Page, table: int, row: str, role: str) -> list[list[str]]:
    grid = page.locator(".stDataFrame canvas table").nth(table)
    expect(grid.locator("[role=gridcell]").first).to_be_attached()
    script = (
        "(t, [row, cell]) => [...t.querySelectorAll(row)].map(r => "
        "[...r.querySelectorAll(cell)].map(c => c.textContent))"
    )
    found: list[list[str]] = grid.evaluate(script, [row, f"[role={role}]"])
    return found


def sort(page: Page, table: int, title: str) -> None:
    """Clicks the heading of a column, lowest values first.

    Headings are drawn, not elements, so its place is bisected.
    """
    canvas = page.locator(".stDataFrame canvas").nth(table)
    canvas.scroll_into_view_if_needed()
    still(canvas)  # it measures its columns first
    box = canvas.bounding_box()
    assert box is not None
    headings = canvas.locator("[role=columnheader]")
    texts = headings.all_text_contents()
    wanted = [text.lstrip("↑↓ ") for text in texts].index(title)
    left = 0.0
    right = box["width"]
    x = box["width"] * (wanted + 0.5) / len(texts)
    for _ in range(20):
        page.mouse.click(box["x"] + x, box["y"] + 17)
        for _ in range(20):  # what screen readers see follows a little later
            page.wait_for_timeout(50)
            now = headings.all_text_contents()
            if now != texts:
                break
        if now[wanted] == f"↑ {title}":
            return
        arrows = [place for place, text in enumerate(now) if text.startswith(("↑", "↓"))]
        # The third click on a heading takes its arrow away, and one between two headings does
        # nothing.
        changed = arrows or [place for place, text in enumerate(now) if text != texts[place]]
        if changed and changed[0] < wanted:
            left = x
        if changed and changed[0] > wanted:
            right = x
        if not changed or changed[0] != wanted:
            x = (left + right) / 2 if changed else x + 10
        texts = now
    raise AssertionError(texts)


def download_csv(page: Page, key: str) -> list[dict[str, str]]:
    """What the list of downloads with a key saves as CSV.

    A table's toolbar has no download: it would write formulas.
    """
    frame = page.get_by_test_id("stDataFrame").first
    frame.hover()
    expect(frame.locator("..").get_by_label("Search")).to_be_visible()
    expect(page.get_by_label("Download as CSV")).to_have_count(0)
    keyed(page, key).get_by_role("button", name="Download").click()
    with page.expect_download() as download:
        keyed(page, f"{key}.csv").get_by_role("button").click()
    text = Path(download.value.path()).read_text(encoding="utf-8")
    return list(csv.DictReader(io.StringIO(text)))


def tick(page: Page, row: int = 0) -> None:
    """Ticks a row of the first table: its boxes are drawn, not elements."""
    canvas = page.locator(".stDataFrame canvas").first
    canvas.scroll_into_view_if_needed()
    still(canvas)  # it measures its columns first
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 18, box["y"] + 35 * (row + 1) + 17)
    settled(page)


def eventually(look: Callable[[], T], wanted: T | Callable[[T], bool]) -> T:
    """Looks again and again until it sees what is wanted: what is there may still be of the run
    before.
    """

    last: list[T] = []

    def is_seen() -> bool:
        last.clear()
        with suppress(Error, LookupError):  # what was looked at is being drawn anew
            last.append(look())
            return any(wanted(found) if callable(wanted) else found == wanted for found in last)
        return False

    try:
        wait_for(is_seen, DRAWING_SECONDS)
    except AssertionError as error:
        raise AssertionError(f"{error}; seen last: {last}") from None
    return last[0]


def metric(page: Page, label: str) -> Locator:
    return page.get_by_test_id("stMetric").filter(has_text=label).get_by_test_id("stMetricValue")


def upload(page: Page, field: str, data: bytes, name: str = "strings.txt") -> None:
    file: Any = {"name": name, "mimeType": "text/plain", "buffer": data}
    keyed(page, f"upload.{field}").locator("input[type=file]").set_input_files(file)


@contextmanager
def watched(page: Page) -> Iterator[dict[str, list[str]]]:
    """Collects what should not be: requests that leave the machine, errors in the console,
    dialogs.
    """
    found: dict[str, list[str]] = {"requests": [], "errors": [], "dialogs": []}

    def request(sent: Request | WebSocket) -> None:
        place = urlsplit(sent.url)
        if place.scheme not in ("data", "blob") and place.hostname not in (
            "127.0.0.1",
            "localhost",
        ):
            found["requests"].append(sent.url)

    def message(said: Any) -> None:
        # Streamlit looks for its own addresses below the page's first.
        probe = re.search(r"/\w+/_stcore/(health|host-config)$", said.location.get("url", ""))
        if said.type == "error" and not probe:
            found["errors"].append(f"{said.text} {said.location.get('url')}")

    page.on("request", request)
    page.on("websocket", request)
    page.on("console", message)
    page.on("pageerror", lambda error: found["errors"].append(str(error)))
    page.on("dialog", lambda dialog: (found["dialogs"].append(dialog.message), dialog.dismiss()))
    yield found


def received_bytes(page: Page) -> list[int]:
    """Sizes of what the server sends over the page's websocket from now on, a number a frame."""
    sizes: list[int] = []

    def opened(socket: WebSocket) -> None:
        socket.on("framereceived", lambda frame: sizes.append(len(frame)))

    page.on("websocket", opened)
    return sizes
