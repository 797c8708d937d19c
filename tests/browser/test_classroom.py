"""A class in real browsers: a teacher, two students with browsers of their own, and a board that
refreshes itself.
"""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, expect

from tests.browser.screen import (
    DESKTOP,
    FITS,
    LAPTOP,
    PHONE,
    WIDE,
    heading,
    keyed,
    press,
    settled,
    visit,
    watched,
)
from tests.browser.test_accessibility import SCHEMES, in_scheme, serious

QUESTION = "exercise.rank_1_0"
# The texts of a board's numbers that are wider than their box, or that an ellipsis shortens.
CUT = """board => [...board.querySelectorAll("[data-testid=stMetric] p")].filter(text => {
    const box = text.closest("[data-testid=stMetric]").getBoundingClientRect();
    const range = document.createRange();
    range.selectNodeContents(text);
    const clips = node => getComputedStyle(node).overflowX !== "visible" && node.scrollWidth > node.clientWidth;
    let isCut = range.getBoundingClientRect().right > box.right;
    for (let node = text; node.dataset.testid !== "stMetric"; node = node.parentElement) isCut ||= clips(node);
    return isCut;
}).map(text => text.textContent)"""  # noqa: E501


def answer(page: Page, text: str) -> None:
    keyed(page, f"{QUESTION}.entry").locator("input").fill(text)
    press(page, f"{QUESTION}.check")
    settled(page)


def test_a_teacher_and_two_students(page: Page, new_page: Callable[[], Page], lab: str) -> None:
    with watched(page):
        visit(page, lab, "classroom")
        press(page, "class.open")
        expect(keyed(page, "class_code")).to_be_visible()
        settled(page)
        code = parse_qs(urlsplit(page.url).query)["class"][0]
        assert "teacher" not in page.url
        expect(keyed(page, "class_code")).to_contain_text(code)

        students = [new_page(), new_page()]
        students[0].set_viewport_size(PHONE)
        for student, nickname in zip(students, ("<b>Ada</b>", ""), strict=True):
            visit(student, lab, "classroom", **{"class": code, "lesson": "rank", "step": 1})
            expect(keyed(student, "class.reveal")).to_have_count(0)
            if nickname:
                keyed(student, "class.nickname").locator("input").fill(nickname)
                assert student.evaluate(FITS, PHONE["width"]) and not serious(student)
            press(student, "class.join_button")
            expect(heading(student, "data")).to_be_visible()  # the lesson has opened its page
            settled(student)
        answer(students[0], "2")
        answer(students[1], "3")

        # The board follows by itself, and shows no answer before it is revealed.
        expect(
            page.get_by_role("heading", name="How many states does this language need?")
        ).to_be_visible()
        expect(keyed(page, "class.histogram")).to_have_count(0)
        page.keyboard.press("a")
        expect(keyed(page, "class.histogram")).to_be_visible()
        expect(keyed(page, "class.histogram")).to_contain_text("3 ✓")
        answer(students[0], "3")
        expect(
            page.get_by_text("right after a hint").locator(
                "xpath=ancestor::*[@data-testid='stMetric']"
            )
        ).to_contain_text("1 (50 %)")

        # A reload finds what was answered, and the teacher the board.
        students[0].reload()
        expect(students[0].get_by_text("Right at the second try.")).to_be_visible()
        page.reload()
        expect(keyed(page, "class.reveal")).to_be_visible()
        for scheme in SCHEMES:
            in_scheme(page, scheme)
            expect(keyed(page, "class.reveal")).to_be_visible()
            assert not serious(page), scheme
        page.get_by_role("tab", name="Who is where").click()
        expect(page.get_by_text("Handed in (0)")).to_be_visible()
        page.get_by_test_id("stDataFrame").first.hover()
        expect(page.get_by_label("Search: How many students are at each step")).to_be_visible()
        expect(page.get_by_label("Download as CSV")).to_have_count(0)
        keyed(page, "class.delete").get_by_role("button").first.click()
        press(page, "class.delete_now")
        expect(keyed(page, "class.open")).to_be_visible()
        visit(students[1], lab, "classroom", **{"class": code})
        expect(students[1].get_by_text(f"There is no class session {code}")).to_be_visible()


def test_the_board_in_slide_view_is_the_question_alone_and_reveals_by_a_key(
    page: Page, lab: str
) -> None:
    page.set_viewport_size(WIDE)
    visit(page, lab, "classroom")
    press(page, "class.open")
    press(page, "class.slide")
    board = keyed(page, "class_slide")
    hidden = board.get_by_text("The answers are hidden until you press")
    expect(hidden).to_be_visible()
    assert hidden.evaluate("node => getComputedStyle(node).fontSize") == "28px"
    for absent in ("class.tabs", "class.how", "class_controls"):
        expect(keyed(page, absent)).to_have_count(0)
    expect(page.get_by_test_id("stSidebar")).to_be_hidden()
    settled(page)
    page.keyboard.press("a")
    expect(board.get_by_text("First tries are counted.")).to_be_visible()
    for size in (WIDE, LAPTOP, DESKTOP):
        page.set_viewport_size(size)
        expect(board.get_by_test_id("stMetric")).to_have_count(4)
        assert board.evaluate(CUT) == []
    press(page, "slide.leave")
    expect(keyed(page, "class.tabs")).to_be_visible()


def test_a_code_leads_into_the_lesson(page: Page, new_page: Callable[[], Page], lab: str) -> None:
    visit(page, lab, "classroom")
    press(page, "class.open")
    expect(keyed(page, "class_code")).to_be_visible()
    code = parse_qs(urlsplit(page.url).query)["class"][0]
    student = new_page()
    visit(student, lab, "classroom")
    keyed(student, "class.code").locator("input").fill(code)
    press(student, "class.enter")
    press(student, "class.join_button")
    expect(heading(student, "data")).to_be_visible()
    expect(keyed(student, "lesson")).to_contain_text("step 1 of")
    settled(page)
    press(page, "class.delete")
    press(page, "class.delete_now")
