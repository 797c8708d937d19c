"""Each step of each lesson in one view: its question, its picture and *Check*, on a laptop and on a
phone; and no answer that can be read before it is given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import product

import pytest
from playwright.sync_api import Page, TimeoutError, ViewportSize, expect

from nlwfa_core.teaching.answers import Key, NumberKey
from nlwfa_core.teaching.lessons import read_lessons
from nlwfa_core.teaching.questions import Question
from nlwfa_core.teaching.shipped import ASSETS
from tests.browser.screen import (
    FITS,
    LAPTOP,
    PHONE,
    WIDE,
    beside_a_lesson,
    enter,
    eventually,
    keyed,
    press,
    settled,
    visit,
)

LESSONS = read_lessons(ASSETS / "lessons")
# In these lessons all that a step is about is in view as a whole, without its question's answer.
WHOLLY_IN_VIEW = ("squared", "convergence", "which-model")
IN_CLASS = ("hankel-matrix", "rank", "dyck")  # walked through, and looked at, in test_scenarios
PATIENCE_MS = 12_000  # until a page that is drawn has scrolled to what the step is about
SPOTS = 6  # a canvas is looked at in so many rows and columns, without its edges
SHARE = 0.6  # of a picture that has to be in view, from its top

# What is out of view of a step: its question, the button that checks the answer, or the upper part
# of its picture. The card covers what is behind it, and its lowest row what it scrolls over. The
# parts of Explore's picture are in a shadow root.
OUT_OF_VIEW = """([keys, share]) => {
    const box = node => node.getBoundingClientRect();
    const find = key => document.querySelector(".st-key-" + key.replace(/[^a-zA-Z0-9_-]/g, "-"));
    const card = find("lesson");
    const shell = box(card.parentElement);
    const rows = box(card.querySelector(".st-key-lesson_do"));
    const head = box(document.querySelector("[data-testid=stHeader]")).bottom;
    const exercise = card.querySelector("[class*='st-key-exercise_']");
    const asked = exercise ?? card.querySelector("[class*='st-key-lesson-answer']") ?? card.querySelector("h4");
    const question = exercise ? exercise.querySelector(".stMarkdown") : asked;
    const check = exercise?.querySelector("[class*='-check'] button") ?? question;
    const lost = [];
    const isRead = ({ top, bottom }) => top >= Math.max(shell.top, 0) - 1 && bottom <= Math.min(rows.top, innerHeight) + 1;
    for (const [name, node] of [["question", question], ["Check", check]]) if (!isRead(box(node))) lost.push(name);
    const hosts = [...document.querySelectorAll(".st-key-explore-picture *")].filter(node => node.shadowRoot);
    const parts = keys.filter(key => key.startsWith("explore.")).map(key => key.slice(8));
    const drawn = parts.map(part => hosts[0]?.shadowRoot.querySelector(`[data-part=${part}]`));
    drawn.push(...keys.filter(key => !key.startsWith("explore.")).map(find));
    if (drawn.some(node => !node)) return [...lost, "not drawn"].join();
    if (!drawn.length) return lost.join();
    const boxes = drawn.map(box);
    const top = Math.min(...boxes.map(one => one.top));
    const bottom = Math.max(...boxes.map(one => one.bottom));
    const isBeside = shell.right < innerWidth - 1;
    const end = isBeside ? innerHeight : shell.top;
    const isHidden = isBeside && boxes.some(one => one.left < shell.right);
    const seen = (Math.min(bottom, end) - top) / (bottom - top);
    if (top < head - 1 || seen < share || isHidden) lost.push(`picture ${Math.round(top)}-${Math.round(bottom)} of ${Math.round(end)}`);
    return lost.join();
}"""  # noqa: E501


def visit_first_step(page: Page, lab: str, name: str, **parameters: str) -> None:
    first = LESSONS[name].steps[0].pages[0]
    visit(page, lab, "" if first == "explore" else first, lesson=name, step=1, **parameters)


def arrive(page: Page, name: str, place: int) -> None:
    """Goes on to a step, unless it is the first."""
    if place > 1:
        press(page, "lesson.next")
    title = LESSONS[name].steps[place - 1].title
    expect(keyed(page, "lesson").get_by_role("heading", name=title, exact=True)).to_be_visible()
    settled(page)


def out_of_view(page: Page, look: Sequence[str]) -> str:
    """What is out of view of a step, after a while for the page to scroll."""
    wanted = [[*look], SHARE]
    with suppress(TimeoutError):
        page.wait_for_function(
            f"wanted => ({OUT_OF_VIEW})(wanted) === ''",
            arg=wanted,
            timeout=PATIENCE_MS,
            polling=100,
        )
    found: str = page.evaluate(OUT_OF_VIEW, wanted)
    return found


# All that can be read on the page, in shadow roots, too, and what is said where a pointer rests,
# without what is hidden.
TEXT = """() => {
    const roots = [...document.querySelectorAll("*")].map(node => node.shadowRoot).filter(Boolean);
    const boxes = [document.body, ...roots.flatMap(root => [...root.children])];
    const all = [document, ...roots].flatMap(root => [...root.querySelectorAll("[title], [aria-label], svg title")]);
    const isSeen = node => node.getClientRects().length && getComputedStyle(node).visibility === "visible";
    const said = all.filter(node => isSeen(node.matches("svg title") ? node.parentNode : node))
        .map(node => node.matches("svg title") ? node.textContent : `${node.getAttribute("title")}\\n${node.ariaLabel}`);
    return [...boxes.map(box => box.innerText ?? ""), ...said].join("\\n");
}"""  # noqa: E501
# Which of the elements that a step hides can be seen.
SEEN = """keys => {
    const find = key => document.querySelector(".st-key-" + key.replace(/[^a-zA-Z0-9_-]/g, "-"));
    const inside = (key, selector) => find(key)?.querySelectorAll("*").values().find(node => node.shadowRoot)
        ?.shadowRoot.querySelector(selector);
    const isSeen = node => Boolean(node) && getComputedStyle(node).visibility === "visible";
    return keys.filter(key => {
        if (["hankel.values", "hankel.same"].includes(key)) return inside("hankel.lens", ".lens").dataset[key.slice(7)] !== "hidden";
        if (key.startsWith("explore.")) return isSeen(inside("explore.picture", `[data-part=${key.slice(8)}]`));
        return isSeen(find(key));
    });
}"""  # noqa: E501
SIZES: list[ViewportSize] = [LAPTOP, PHONE, {"width": 1440, "height": 900}, WIDE]
HIDING = [
    (name, place)
    for name, lesson in LESSONS.items()
    for place, step in enumerate(lesson.steps, 1)
    if step.hide
]
# A slide hides as the page does: one step for each set of what is hidden.
ON_A_SLIDE = {
    LESSONS[name].steps[place - 1].hide: (name, place) for name, place in reversed(HIDING)
}.values()


def asked(name: str, place: int) -> tuple[Question, Key]:
    """A step's question and its key."""
    question = LESSONS[name].steps[place - 1].question
    assert question is not None and question.key is not None
    return question, question.key


def has_key(name: str, place: int) -> bool:
    """Whether a step asks something that is checked."""
    question = LESSONS[name].steps[place - 1].question
    return question is not None and question.key is not None


def hidden(name: str, place: int) -> list[str]:
    """What a step hides until it is answered."""
    # what is said of a chosen cell is there after a click
    return [key for key in LESSONS[name].steps[place - 1].hide if key != "hankel.chosen"]


def telling(name: str, place: int) -> list[str]:
    """Patterns of what would tell the answer: the solution's longest run of plain words, and the
    number if it is no whole one.
    """
    question, key = asked(name, place)
    runs = re.split(r"[^\w\s,.]", question.solution.replace("\n", " "))
    words = r"\s+".join(map(re.escape, max(runs, key=len).split()))
    is_number = isinstance(key, NumberKey) and not key.is_whole
    return [words] + [rf"(?<![\d.]){re.escape(key.best)}(?!\d)"] * is_number


def swept(page: Page) -> Iterator[None]:
    """Moves the pointer over the page's canvases, which say something else at each place."""
    size = page.viewport_size
    assert size is not None
    for canvas in page.get_by_test_id("stMain").locator("canvas").all():
        box = canvas.bounding_box()
        if box is None or box["y"] < 0 or box["y"] + box["height"] > size["height"]:
            continue
        for row, column in product(range(1, SPOTS), repeat=2):
            x, y = (
                box[side] * place / SPOTS for side, place in (("width", column), ("height", row))
            )
            page.mouse.move(box["x"] + x, box["y"] + y)
            yield
    page.mouse.move(1, 1)


def is_told(page: Page, name: str, place: int) -> list[str]:
    text = page.evaluate(TEXT)
    return [pattern for pattern in telling(name, place) if re.search(pattern, text)]


class Steps:
    """Looks at each step of a lesson on the screens on which it is read, before and after its
    question is answered. The page is that of a laptop in between.
    """

    def __init__(self, page: Page, name: str) -> None:
        self.page = page
        self.name = name
        self.lost: dict[str, str] = {}

    def arrived(self, place: int) -> None:
        """Question, picture and *Check* are in one view on a laptop and on a phone, nothing is
        wider than the phone, and at no width can the answer be read.
        """
        step = LESSONS[self.name].steps[place - 1]
        for size in SIZES if has_key(self.name, place) else (LAPTOP, PHONE):
            self.page.set_viewport_size(size)
            if size in (LAPTOP, PHONE) and (found := out_of_view(self.page, step.look)):
                self.lost[f"{place}. {step.title}, {size['width']} pixels"] = found
            if size == PHONE:
                self.page.wait_for_function(FITS, arg=PHONE["width"])
            if has_key(self.name, place):
                eventually(lambda: self.page.evaluate(SEEN, hidden(self.name, place)), [])
                assert not is_told(self.page, self.name, place), (step.title, size)
        self.page.set_viewport_size(LAPTOP)
        if step.hide:
            for _ in swept(self.page):
                assert not is_told(self.page, self.name, place), step.title

    def answered(self, place: int) -> None:
        """What was hidden has appeared."""
        shown = hidden(self.name, place)
        eventually(lambda: bool(is_told(self.page, self.name, place)), True)
        eventually(lambda: self.page.evaluate(SEEN, shown), shown)


@pytest.mark.parametrize("name", [name for name in LESSONS if name not in IN_CLASS])
def test_each_step_is_in_one_view_and_its_answer_is_not_read_too_early(
    page: Page, lab: str, name: str
) -> None:
    page.set_viewport_size(LAPTOP)
    steps = Steps(page, name)
    visit_first_step(page, lab, name)
    for place, step in enumerate(LESSONS[name].steps, 1):
        arrive(page, name, place)
        if name in WHOLLY_IN_VIEW:
            beside_a_lesson(page, step.look)
        steps.arrived(place)
        if has_key(name, place):
            enter(page, f"{name}/{place}", asked(name, place)[1])
            steps.answered(place)
    assert not steps.lost


def test_a_turned_phone_shows_what_the_step_is_about_again(page: Page, lab: str) -> None:
    page.clock.install()
    page.set_viewport_size(LAPTOP)
    visit_first_step(page, lab, "hankel-matrix")
    arrive(page, "hankel-matrix", 2)
    page.clock.fast_forward("01:00")  # it has stood still for long
    page.set_viewport_size(PHONE)
    assert not out_of_view(page, LESSONS["hankel-matrix"].steps[1].look)


@pytest.mark.parametrize("name", sorted({name for name, _ in ON_A_SLIDE}))
def test_an_answer_cannot_be_read_on_a_slide(page: Page, lab: str, name: str) -> None:
    page.set_viewport_size(WIDE)
    visit_first_step(page, lab, name, view="slide")
    last = max(place for hiding, place in ON_A_SLIDE if hiding == name)
    for place in range(1, last + 1):
        arrive(page, name, place)
        if (name, place) in ON_A_SLIDE:
            shown = hidden(name, place)
            eventually(lambda shown=shown: page.evaluate(SEEN, shown), [])
            assert not is_told(page, name, place), place
