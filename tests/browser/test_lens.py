"""The linked lens in a real browser: what lights without the server, what reaches it, keys, zoom, a
phone, bytes.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from playwright.sync_api import Page, WebSocket, expect

from nlwfa_core import Recipe
from nlwfa_core.display.palette import MARK
from nlwfa_core.experiment.datasets import load_data
from nlwfa_core.experiment.recipe import with_fields
from nlwfa_core.files import LAB_FOLDER
from nlwfa_core.hankel.estimate import build_hankel
from nlwfa_core.rounding import format_apart, format_significant
from nlwfa_core.teaching.lessons import read_lessons
from tests.browser.screen import (
    PHONE,
    QUICK,
    drawn,
    enter,
    eventually,
    keyed,
    settled,
    visit,
    watched,
    write,
)

LENS = QUICK | {"data_seed": 41}
# Where a canvas has the ink of a ring: points are lighter than the ring around the one that is lit.
DIFFERENT = """([canvas, before]) => {
    const now = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    let count = 0;
    for (let i = 0; i < now.length; i += 4) count += Math.abs(now[i] - before[i]) + Math.abs(now[i + 3] - before[i + 3]) > 60;
    return count;
}"""  # noqa: E501
PIXELS = "canvas => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data"
# Notes what is framed in a canvas: colours and places.
FRAMED = """() => {
    const pen = CanvasRenderingContext2D.prototype, draw = pen.strokeRect;
    window.framed = [];
    pen.strokeRect = function (...place) {
        window.framed.push([this.strokeStyle, ...place.slice(0, 2)]);
        draw.apply(this, place);
    };
}"""


def frames(page: Page) -> dict[str, int]:
    """How many frames go over the page's websocket from now on, and their bytes."""
    counted = {"sent": 0, "received": 0, "bytes": 0}

    def count(kind: str, frame: str | bytes) -> None:
        counted[kind] += 1
        counted["bytes"] += len(frame)

    def opened(socket: WebSocket) -> None:
        socket.on("framesent", lambda frame: count("sent", frame))
        socket.on("framereceived", lambda frame: count("received", frame))

    page.on("websocket", opened)
    return counted


def quiet(page: Page, counted: dict[str, int]) -> dict[str, int]:
    """Waits until nothing has gone over the websocket for a second; the counts then."""
    before: dict[str, int] = {}
    while before != counted:
        before = dict(counted)
        page.wait_for_timeout(1000)
    return before


def canvas(page: Page, name: str) -> Any:
    return page.locator(f".lens .{name} canvas")


def test_a_row_lights_in_all_three_views_without_a_word_to_the_server(page: Page, lab: str) -> None:
    counted = frames(page)
    visit(page, lab, "hankel", **LENS)
    assert drawn(page) > 100
    before = quiet(page, counted)
    plane = canvas(page, "plane").evaluate_handle(PIXELS)
    map_pixels = canvas(page, "matrix").evaluate_handle(PIXELS)
    canvas(page, "matrix").hover(position={"x": 200, "y": 200})
    lit = page.locator(".lens .word.lit")
    expect(lit).to_have_count(1)
    prefix = lit.locator("span").first.text_content()
    expect(page.locator(".lens .tip")).to_contain_text(f"prefix u{prefix}suffix v")
    expect(page.locator(".lens .tip")).to_contain_text("value")
    expect(page.locator(".lens .tip")).to_contain_text("point")
    assert page.evaluate(DIFFERENT, [canvas(page, "plane").element_handle(), plane]) > 20
    # From the list to the others.
    page.locator(".lens .word").nth(3).hover()
    expect(lit).to_have_count(1)
    expect(page.locator(".lens .tip")).to_contain_text("row sum")
    assert page.evaluate(DIFFERENT, [canvas(page, "matrix").element_handle(), map_pixels]) > 100
    page.mouse.move(5, 5)
    expect(lit).to_have_count(0)
    expect(page.locator(".lens .tip")).to_be_hidden()
    page.wait_for_timeout(500)
    assert counted == before


def test_all_cells_of_one_string_are_framed_once_a_lesson_has_asked_for_them(
    page: Page, lab: str
) -> None:
    """The string ab of the lesson's ten: as λ·ab, a·b and ab·λ, in rows 1, 2 and 3."""

    def orange() -> set[tuple[float, ...]]:
        """Places of the cells of the same string as row a, column b."""
        canvas(page, "matrix").focus()
        for key in ("Escape", "ArrowDown", "ArrowDown", "ArrowRight"):  # no cell, λ and λ, …
            page.evaluate("window.framed = []")
            page.keyboard.press(key)
        expect(page.locator(".lens .tip")).to_contain_text("prefix uasuffix vbvalue0.3")
        page.wait_for_function("window.framed.length > 0")  # in the browser's next frame
        framed = page.evaluate("window.framed")
        return {tuple(place) for colour, *place in framed if colour == MARK.lower()}

    visit(page, lab, "hankel", lesson="hankel-matrix", step=3)
    settled(page)
    page.evaluate(FRAMED)
    assert not orange()
    question = read_lessons(LAB_FOLDER / "assets" / "lessons")["hankel-matrix"].steps[2].question
    assert question is not None and question.key is not None
    enter(page, "hankel-matrix/3", question.key)

    def counts() -> tuple[int, ...]:
        """Cells, columns and rows: more where the page moved between two frames."""
        found = orange()
        return len(found), len({x for x, _ in found}), len({y for _, y in found})

    eventually(counts, (3, 3, 3))


def test_a_click_reaches_python_and_stays(page: Page, lab: str) -> None:
    visit(page, lab, "hankel", **LENS)
    drawn(page)
    canvas(page, "matrix").focus()
    for key in ("ArrowDown", "Enter"):  # the cell of λ and λ: how often the empty string was seen
        page.keyboard.press(key)
    box = keyed(page, "hankel.chosen")
    expect(box).to_contain_text("u is λ, v is λ, uv is λ: H[u, v] = 0")
    expect(box).to_contain_text("By hand: training strings that equal uv: 0, of 300: 0 / 300 = 0.")
    for key in ("ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    expect(box).to_contain_text(re.compile(r"uv is \[\]: H\[u, v\] = 0\.\d+"))
    told = box.inner_text()
    count = re.search(r"uv: (\d+), of 300", told)
    value = re.search(r"H\[u, v\] = ([\d.]+)", told)
    assert count and value and abs(int(count[1]) / 300 - float(value[1])) < 1e-6
    write(page, "rank", 3)
    expect(box).to_contain_text("uv is []")
    expect(page.locator(".lens .word.chosen")).to_have_count(1)
    page.locator(".lens .word").nth(2).click()
    expect(box).not_to_contain_text("u is λ")


def test_keys_rove_zoom_and_are_heard(page: Page, lab: str) -> None:
    visit(
        page,
        lab,
        "hankel",
        **LENS | {"num_strings": 2000, "num_prefixes": 100, "num_suffixes": 100},
    )
    drawn(page)
    status = page.locator(".lens .status")
    said = page.locator(".lens .said")
    expect(status).to_have_text("100 rows, 100 columns")
    canvas(page, "matrix").focus()
    page.keyboard.press("ArrowDown")
    expect(said).to_contain_text("prefix u λ suffix v λ value 0")
    page.keyboard.press("ArrowDown")
    expect(said).to_contain_text("prefix u [ suffix v λ value 0")
    for _ in range(6):
        page.keyboard.press("+")
    expect(status).to_have_text(re.compile(r"^rows [12]–\d+ of 100, columns 1–\d+ of 100$"))
    for _ in range(30):
        page.keyboard.press("ArrowDown")
    expect(status).to_have_text(re.compile(r"^rows [1-9]\d+–\d+ of 100"))
    page.keyboard.press("Shift+ArrowRight")
    expect(status).to_have_text(re.compile(r"columns [1-9]\d*–\d+ of 100$"))
    page.keyboard.press("Home")
    expect(status).to_have_text("100 rows, 100 columns")
    page.locator(".lens .list").focus()
    page.keyboard.press("End")
    expect(page.locator(".lens .word.lit")).to_have_attribute("data-row", re.compile(r"\d+"))
    page.keyboard.press("Enter")
    expect(keyed(page, "hankel.chosen")).to_be_visible()


def test_a_large_matrix_is_light_and_its_window_comes_when_it_is_looked_at(
    page: Page, lab: str
) -> None:
    counted = frames(page)
    visit(
        page,
        lab,
        "hankel",
        num_strings=20_000,
        num_prefixes=1000,
        num_suffixes=1000,
        rank=5,
        learner="SP",
    )
    page.get_by_role("radio", name="H − Ĥ").click()
    expect(page.locator(".lens .matrix h4")).to_have_text("H − Ĥ, rank 5")
    settled(page)
    drawn(page)
    quiet(page, counted)
    roughly = re.compile("≈|below 10")  # what a pixel of the picture says
    canvas(page, "matrix").hover(position={"x": 60, "y": 60})
    expect(page.locator(".lens .tip")).to_contain_text(roughly)
    before = dict(counted)
    page.keyboard.down("Control")
    for _ in range(14):
        page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    expect(page.locator(".lens .status")).to_have_text(
        re.compile(r"^rows \d+–\d+ of 1000, columns \d+–\d+ of 1000$")
    )

    def tip() -> str:
        for x in (190, 200):
            canvas(page, "matrix").hover(position={"x": x, "y": 150})
        return page.locator(".lens .tip").inner_text()

    eventually(tip, lambda text: not roughly.search(text))  # the window has come
    assert 0 < counted["bytes"] - before["bytes"] < 200_000  # not the picture again
    assert counted["bytes"] < 3e6


def test_the_wheel_over_the_matrix_scrolls_the_page_and_zooms_only_with_ctrl(
    page: Page, lab: str
) -> None:
    visit(page, lab, "hankel", **LENS)
    drawn(page)
    main = page.get_by_test_id("stMain")
    main.evaluate("box => box.scrollTo(0, 0)")
    canvas(page, "matrix").hover(position={"x": 200, "y": 100})
    top = main.evaluate("box => box.scrollTop")
    page.mouse.wheel(0, 300)
    page.wait_for_function("([box, top]) => box.scrollTop > top", arg=[main.element_handle(), top])
    page.mouse.wheel(0, -300)
    page.wait_for_function(
        "([box, top]) => box.scrollTop === top", arg=[main.element_handle(), top]
    )
    expect(page.locator(".lens .matrix")).not_to_have_class(re.compile("zoomed"))
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    expect(page.locator(".lens .matrix")).to_have_class(re.compile("zoomed"))
    assert main.evaluate("box => box.scrollTop") == top


def test_the_cut_follows_pointer_and_keys_at_once_and_is_the_rank(page: Page, lab: str) -> None:
    counted = frames(page)
    visit(page, lab, "hankel", **LENS)
    plot = keyed(page, "hankel.singular_values").get_by_role("slider", name="Rank k")
    said = keyed(page, "hankel.singular_values").locator(".said")
    plot.scroll_into_view_if_needed()
    before = said.inner_text()
    box = plot.bounding_box()
    most = int(plot.get_attribute("aria-valuemax") or 0)
    assert box is not None and most > 10
    width = box["width"] / most
    before_moving = quiet(page, counted)
    page.mouse.move(box["x"] + 2.5 * width, box["y"] + 20)
    page.mouse.down()
    for number in (4, 7, 6, 5):  # dragged about: the picture follows
        page.mouse.move(box["x"] + (number - 0.5) * width, box["y"] + 20)
        expect(plot).to_have_attribute("aria-valuenow", str(number))
        expect(said).to_contain_text(f"Rank {number} keeps")
    # It follows before anything else can happen in the browser: no answer of the server is needed.
    follow = """(plot, x) => {
        plot.dispatchEvent(new PointerEvent("pointermove", { clientX: x, pointerId: 1 }));
        return plot.getAttribute("aria-valuenow");
    }"""
    assert [plot.evaluate(follow, box["x"] + (number - 0.5) * width) for number in (8, 5)] == [
        "8",
        "5",
    ]
    page.mouse.up()
    assert said.inner_text() != before
    expect(keyed(page, "rank").locator("input")).to_have_value("5")
    assert counted["sent"] > before_moving["sent"]
    expect(page).not_to_have_url(re.compile("rank="))  # 5 is the default
    expect(page.locator(".lens .plane h4")).to_have_text("Rows of UD, rank 5")
    plot.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
        page.wait_for_timeout(150)  # each rank is sent, and may wait for an answer
    expect(plot).to_have_attribute("aria-valuenow", "6")
    expect(keyed(page, "rank").locator("input")).to_have_value("6")
    # The field in the sidebar moves the cut, too, before any answer, and may go beyond it.
    enter = """plot => new Promise((done) => {
        const key = new KeyboardEvent("keydown", { key: "ArrowUp", bubbles: true });
        document.querySelector(".st-key-rank input").dispatchEvent(key);
        setTimeout(() => done(plot.getAttribute("aria-valuenow")));
    })"""
    assert plot.evaluate(enter) == "7"
    expect(page.locator(".panels figcaption").nth(1)).to_have_text("Ĥ_λ rank 7")
    expect(page).to_have_url(re.compile("rank=7"))
    expect(page.locator(".lens .plane h4")).to_have_text("Rows of UD, rank 7")
    write(page, "rank", 200)
    expect(plot).to_have_attribute("aria-valuenow", str(most))
    expect(said).to_contain_text("Rank 200 keeps")


def test_the_approximation_follows_the_cut_in_the_browser_and_is_the_servers(
    page: Page, lab: str
) -> None:
    with watched(page) as found:
        visit(page, lab, "hankel", **LENS)
        recipe = with_fields(Recipe(), {}, LENS)
        data = load_data(recipe.data)
        hankel = build_hankel(data.train, recipe.hankel)
        H = hankel.block.toarray()
        V = np.linalg.svd(H)[2].T
        plot = keyed(page, "hankel.singular_values").get_by_role("slider", name="Rank k")
        panels = page.locator(".panels")
        said = page.locator(".panels .said")
        plot.scroll_into_view_if_needed()
        box = plot.bounding_box()
        assert box
        width = box["width"] / int(plot.get_attribute("aria-valuemax") or 0)
        page.mouse.move(box["x"] + 1.5 * width, box["y"] + 20)
        page.mouse.down()
        for rank in (4, 6, 5):
            page.mouse.move(box["x"] + (rank - 0.5) * width, box["y"] + 20)
            expect(panels.locator("figcaption").nth(1)).to_have_text(f"Ĥ_λ rank {rank}")
        page.mouse.up()
        panels.locator("[data-order=state]").click()
        panels.locator(".views").focus()
        for key in ("ArrowDown", "ArrowRight"):  # the first cell; then one of its block
            page.keyboard.press(key)
            told = re.match(
                r"u = (.+), v = (.+): H (.+), Ĥ (.+), H − Ĥ (.+)\. The string .* is in",
                said.inner_text(),
            )
            assert told
            u, v = (data.alphabet.encode(word) for word in told.groups()[:2])
            row = list(hankel.basis.prefixes).index(u)
            column = list(hankel.basis.suffixes).index(v)
            near = (H @ V[:, :5] @ V[:, :5].T)[row, column]
            values = (H[row, column], near, H[row, column] - near)
            written = (*format_apart(*values[:2]), format_significant(values[2]))
            for text, value, expected in zip(told.groups()[2:], values, written, strict=True):
                if abs(value) > 1e-6:
                    assert text == expected
        expect(keyed(page, "rank").locator("input")).to_have_value("5")
    assert found == {"requests": [], "errors": [], "dialogs": []}


def test_the_lens_fits_a_phone_in_both_themes(page: Page, lab: str) -> None:
    page.set_viewport_size(PHONE)
    with watched(page) as found:
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            visit(page, lab, "hankel", **LENS)
            assert drawn(page) > 100
            widths: list[int] = page.get_by_test_id("stMain").evaluate(
                "box => [box.scrollWidth, box.clientWidth]"
            )
            assert widths[0] <= widths[1]
            tops = [canvas(page, name).bounding_box() for name in ("matrix", "plane")]
            assert tops[0] and tops[1] and tops[1]["y"] > tops[0]["y"] + tops[0]["height"]
            # A tap is a click.
            canvas(page, "matrix").click(position={"x": 200, "y": 200})
            expect(keyed(page, "hankel.chosen")).to_be_visible()
    assert found == {"requests": [], "errors": [], "dialogs": []}
