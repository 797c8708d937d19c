"""A class in real browsers: a teacher, two students with browsers of their own, and a board that
refreshes itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, expect

from tests.browser.screen import (
    FITS,
    LAPTOP,
    PHONE,
    WIDE,
    drawn_charts,
    eventually,
    heading,
    keyed,
    press,
    settled,
    visit,
    watched,
)
from tests.browser.test_accessibility import SCHEMES, in_scheme, serious

QUESTION = "exercise.rank_1_0"
# What of a slide is not wholly on the screen, and texts with letters of fewer than 24 pixels.
CUT = """board => {
    const texts = [...board.querySelectorAll("*")].filter(node =>
        [...node.childNodes].some(child => child.nodeType === Node.TEXT_NODE && child.textContent.trim()));
    return texts.filter(node => {
        const range = document.createRange();
        range.selectNodeContents(node);
        const box = range.getBoundingClientRect();
        if (!box.width || node.closest("kbd, [data-testid=stIconMaterial]")) return false;
        const clips = node => getComputedStyle(node).overflowX !== "visible" && node.scrollWidth > node.clientWidth + 1;
        return box.right > innerWidth || box.bottom > innerHeight || clips(node) || parseFloat(getComputedStyle(node).fontSize) < 24;
    }).map(node => node.textContent);
}"""  # noqa: E501


def opened(page: Page, lab: str) -> str:
    """Opens a session. Returns its code."""
    visit(page, lab, "classroom")
    press(page, "class.open")
    expect(keyed(page, "class_head")).to_be_visible()
    settled(page)
    return parse_qs(urlsplit(page.url).query)["class"][0]


def answer(page: Page, text: str) -> None:
    keyed(page, f"{QUESTION}.entry").locator("input").fill(text)
    press(page, f"{QUESTION}.check")
    settled(page)


def test_a_teacher_and_two_students(page: Page, new_page: Callable[[], Page], lab: str) -> None:
    with watched(page):
        code = opened(page, lab)
        assert "teacher" not in page.url
        expect(keyed(page, "class_head")).to_contain_text(code)

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
            page.get_by_text("2 of 2 have answered · 1 right at once (50 %) · 1 after a hint")
        ).to_be_visible()

        # A reload finds what was answered, and the teacher the board.
        students[0].reload()
        expect(students[0].get_by_text("Right on the second try.")).to_be_visible()
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
        with page.expect_download() as file:
            press(page, "class.csv.answers")
        table = Path(file.value.path()).read_text(encoding="utf-8-sig")
        assert table.count("rank/1") == 3
        keyed(page, "class.delete").get_by_role("button").first.click()
        press(page, "class.delete_now")
        expect(keyed(page, "class.open")).to_be_visible()
        visit(students[1], lab, "classroom", **{"class": code})
        expect(students[1].get_by_text(f"There is no class session {code}")).to_be_visible()


def test_the_wall_has_how_to_join_and_then_the_question_alone(
    page: Page, new_page: Callable[[], Page], lab: str
) -> None:
    page.set_viewport_size(LAPTOP)
    code = opened(page, lab)
    with page.expect_popup() as window:
        page.get_by_role("link", name="Slide view").click()
    slide = window.value
    slide.set_viewport_size(WIDE)
    board = keyed(slide, "class_slide")
    expect(board.get_by_role("heading", name=code, exact=True)).to_be_visible()
    student = new_page()
    visit(student, lab, "classroom", **{"class": code, "lesson": "rank", "step": 4})
    press(student, "class.join_button")
    expect(keyed(student, "lesson")).to_contain_text("step 4 of")
    settled(student)
    keyed(student, "exercise_rank_4_0").get_by_text("six, one for each block").click()
    press(student, "exercise.rank_4_0.check")
    expect(board.get_by_text("1 student here.")).to_be_visible()  # the others still need the code
    eventually(lambda: board.evaluate(CUT), [])
    press(slide, "class.switch_slide")
    expect(board.get_by_text("1 of 1 have answered")).to_be_visible()
    for absent in ("class.tabs", "class.how", "class.notes", "class_controls"):
        expect(keyed(slide, absent)).to_have_count(0)
    expect(slide.get_by_test_id("stSidebar")).to_be_hidden()
    expect(keyed(slide, "class.histogram")).to_have_count(0)
    settled(slide)
    slide.keyboard.press("a")
    expect(board.get_by_text("no finite number is enough")).to_be_visible()
    for size in (WIDE, LAPTOP):
        slide.set_viewport_size(size)
        drawn_charts(slide)
        eventually(lambda: board.evaluate(CUT), [])
    press(slide, "slide.leave")
    expect(keyed(slide, "class.tabs")).to_be_visible()
    this_step = page.get_by_role("link", name="This step for the projector")
    # The board follows the class in a moment, on a busy machine a late one.
    expect(this_step).to_have_attribute("href", re.compile("step=4"))
    with page.expect_popup() as window:
        this_step.click()
    expect(keyed(window.value, "explore.picture")).to_be_visible()
    expect(keyed(window.value, "lesson")).to_contain_text("step 4 of")


def test_a_code_leads_into_the_lesson_and_its_teacher_to_the_next_step(
    page: Page, new_page: Callable[[], Page], lab: str
) -> None:
    page.set_viewport_size(LAPTOP)
    code = opened(page, lab)
    expect(keyed(page, "class.how")).to_contain_text("New students start at")
    student = new_page()
    visit(student, lab, "classroom")
    keyed(student, "class.code").locator("input").fill(code)
    press(student, "class.enter")
    expect(heading(student, "data")).to_be_visible()
    expect(keyed(student, "lesson")).to_contain_text("step 1 of")
    expect(page.get_by_text("New students start at")).to_have_count(0)  # the first student is there
    press(page, "class.move")
    expect(keyed(student, "lesson")).to_contain_text("step 2 of")
    expect(heading(student, "hankel")).to_be_visible()
    press(student, "lesson.back")
    expect(keyed(student, "lesson")).to_contain_text("step 1 of")
    settled(page)
    press(page, "class.reveal")
    for key in ("class.move", "class_question", "class.notes"):
        box = keyed(page, key).bounding_box()
        assert box is not None and box["y"] + box["height"] <= LAPTOP["height"], key
    expect(keyed(student, "lesson")).to_contain_text("step 1 of")  # and stays there
    press(page, "class.delete")
    press(page, "class.delete_now")
