"""Whole sessions in a real browser: a class in its 50 minutes, a person who asks what if, somebody
without a mouse.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import Locator, Page, expect

from nlwfa_core.sources.random_automata import random_automaton, sample_words
from nlwfa_core.teaching.lessons import Lesson, read_lessons
from nlwfa_core.teaching.shipped import ASSETS
from tests.browser.screen import (
    LAPTOP,
    QUICK,
    WIDE,
    beside_a_lesson,
    choose,
    drawn,
    enter,
    eventually,
    go,
    heading,
    keyed,
    metric,
    paste,
    press,
    rows,
    scores,
    settled,
    tabbed_to,
    traces,
    train,
    visit,
    watched,
    write,
)
from tests.browser.test_lesson_views import Steps

LESSONS = read_lessons(ASSETS / "lessons")
KNOBS = ("source", "grammar", "num_prefixes", "statistic", "rank", "learner")
SCORES = 0  # the table on the Train page
PAUTO = "log₂ Pautomac"
RUNS = 1  # on the Compare page, with nothing pinned
STEPS = 2  # the states, symbol by symbol, on the Predict page: below the weights and the mixture


@pytest.fixture
def wide(page: Page) -> Page:
    """For all columns of a score table: those out of sight are not there."""
    page.set_viewport_size(WIDE)
    return page


@pytest.fixture
def laptop(page: Page) -> Page:
    """What a class sits at."""
    page.set_viewport_size(LAPTOP)
    return page


class Student:
    """Goes through a lesson as a student does: presses what the step offers, reads, answers, goes
    on.
    """

    def __init__(self, page: Page, name: str) -> None:
        self.page = page
        self.lesson: Lesson = LESSONS[name]
        self.place = 0
        self.looks = Steps(page, name)
        self.arrives()

    def arrives(self) -> None:
        box = keyed(self.page, "lesson")
        expect(box).to_contain_text(
            f"{self.lesson.title} · step {self.place + 1} of {len(self.lesson.steps)}"
        )
        expect(
            box.get_by_role("heading", name=self.lesson.steps[self.place].title, exact=True)
        ).to_be_visible()
        expect(heading(self.page, self.lesson.steps[self.place].pages[0])).to_be_visible()
        settled(self.page)
        beside_a_lesson(self.page, self.lesson.steps[self.place].look)
        self.looks.arrived(self.place + 1)

    def does(self, number: int = 0) -> None:
        """Presses a button of the step, unless entering it has done the same: the address then says
        all that is no default.
        """
        if (
            len(self.lesson.steps[self.place].actions) == 1
            and not keyed(self.page, "lesson.do.0").count()
        ):
            return
        button = keyed(self.page, f"lesson.do.{number}").get_by_role("button")
        expect(button).to_contain_text(self.lesson.steps[self.place].actions[number].label)
        button.click()
        settled(self.page)

    def answers(self) -> None:
        """Says what it thinks, and only then sees the answer: what it enters is right, or it opens
        what is not entered.
        """
        question = self.lesson.steps[self.place].question
        assert question is not None
        if question.key:
            enter(self.page, f"{self.lesson.name}/{self.place + 1}", question.key)
            expect(keyed(self.page, "lesson")).to_contain_text("Right. You answered")
            self.looks.answered(self.place + 1)
            return
        box = keyed(self.page, f"lesson.answer.{self.lesson.name}/{self.place + 1}")
        inside = box.get_by_test_id("stExpanderDetails")
        expect(inside).to_be_hidden()
        box.locator("summary").click()
        expect(inside).to_be_visible()

    def goes_on(self) -> None:
        self.place += 1
        press(self.page, "lesson.next")
        self.arrives()

    def begins_the_next(self, name: str) -> None:
        press(self.page, "lesson.following")
        assert not self.looks.lost
        self.lesson = LESSONS[name]
        self.place = 0
        self.looks = Steps(self.page, name)
        self.arrives()

    def finds_nothing_to_wait_for(self) -> None:
        for page in ("train", "predict", "compare"):
            expect(keyed(self.page, f"{page}.start")).to_have_count(0)
            expect(keyed(self.page, f"{page}.cancel")).to_have_count(0)


def cell(page: Page, row: str, column: str) -> Locator:
    """Walks to a cell of the matrix by the words beside it, and chooses it; what is then said of
    it.
    """
    drawn(page)
    said = page.locator(".lens .said")
    page.locator(".lens .matrix canvas").focus()
    at_row, at_column = (
        re.compile(rf"{text} {re.escape(word)} ")
        for text, word in (("prefix uσ?", row), ("suffix v", column))
    )
    for back, forth, place in (
        ("ArrowUp", "ArrowDown", at_row),
        ("ArrowLeft", "ArrowRight", at_column),
    ):
        for key in [back] * 10 + [forth] * 10:
            page.keyboard.press(key)
            if place.search(said.inner_text()):
                break
    page.keyboard.press("Enter")
    box = keyed(page, "hankel.chosen")
    expect(box).to_contain_text(f"u is {row}, v is {column}, ")
    return box


def pauto(page: Page, table: int, **wanted: str) -> dict[str, dict[str, str]]:
    """A table of scores, once it has these log₂ Pautomac scores."""
    names = {"both": "both.non"}
    asked = {names.get(name, name): text for name, text in wanted.items()}
    return eventually(
        lambda: scores(page, table),
        lambda found: {n: found[n][PAUTO] for n in asked if n in found} == asked,
    )


def singular_values(page: Page) -> list[float]:
    bars = keyed(page, "hankel.singular_values").locator(".bars div")
    titles: list[str] = bars.evaluate_all("bars => bars.map(bar => bar.title)")
    return [float(title.split(" = ")[1]) for title in titles]


def hankel_by_hand(student: Student) -> None:
    """Lesson 1: ten strings, their matrix, its cells."""
    page = student.page
    student.does()
    expect(metric(page, "training strings")).to_have_text("10")
    shares = keyed(page, "data.shares")
    expect(shares.get_by_role("slider")).to_contain_text("?")
    student.answers()
    expect(shares.locator(".right")).to_contain_text("0.3")
    student.goes_on()
    student.does()
    expect(cell(page, "a", "b")).to_contain_text("uv is ab: H[u, v] = 0.3")
    expect(keyed(page, "hankel.chosen")).to_contain_text(
        "By hand: training strings that equal uv: 3, of 10: 3 / 10 = 0.3."
    )
    student.answers()
    student.goes_on()
    for row, column in (("λ", "ab"), ("ab", "λ")):  # which ticks them
        expect(cell(page, row, column)).to_contain_text("H[u, v] = 0.3")
    settled(page)
    press(page, "exercise.hankel_matrix_3_0.check")
    expect(keyed(page, "lesson")).to_contain_text("Right. You answered")
    student.looks.answered(3)
    student.goes_on()
    choose(page, "hankel.block", "H_b: rows ub")
    expect(page.locator(".lens .word").first).to_contain_text(re.compile("^b"))
    expect(cell(page, "ab", "λ")).to_contain_text("H[u, v] = 0.3")
    student.answers()
    student.goes_on()
    choose(page, "hankel.block", "H_λ: rows u")
    expect(page.locator(".lens .word").first).to_contain_text("λ")
    for number, share, row_sum in ((0, "0.7", "2.9"), (1, "0.2", "1")):
        student.does(number)
        expect(page.locator(".lens .word").first).to_have_text(f"λ{row_sum}")
        expect(cell(page, "λ", "a")).to_contain_text(f"H[u, v] = {share}")
    student.answers()
    student.goes_on()
    paste(page, "xy\nxy\nxy\nx\ny\nyx\nxyx\nxxy\nyy\nxx")
    eventually(lambda: rows(page)[0][:2], ["xy", "3"])
    settled(page)
    press(page, "lesson.there.hankel")
    expect(heading(page, "hankel")).to_be_visible()
    settled(page)
    expect(cell(page, "x", "y")).to_contain_text("H[u, v] = 0.3")


def rank_revealed(student: Student) -> None:
    """Lesson 2: predict the rank, reveal it, break a model."""
    page = student.page
    student.does()
    expect(keyed(page, "grammar").locator("input")).to_have_value("6")
    student.answers()
    student.goes_on()
    student.does()
    values = eventually(
        lambda: singular_values(page), lambda found: bool(found) and f"{found[0]:.3f}" == "0.233"
    )
    assert [f"{value:.3f}" for value in values[:4]] == ["0.233", "0.064", "0.062", "0.008"]
    student.answers()
    student.goes_on()
    order = page.locator(".explore button.order")
    for blocks in ("beginnings that go on like:λ01", "brackets open:012345+"):
        expect(part(page, "matrix").locator(".groups")).to_have_text(blocks)
        expect(order).to_have_text("sort by state")
        student.does()
        expect(order).to_have_text("sort by frequency")
        student.answers()
        student.goes_on()
    student.does()
    broken = eventually(
        lambda: scores(page, SCORES)["SP"], lambda row: row[PAUTO] == "∞" and "zero" in row
    )
    title = page.get_by_role("heading", name="On the test strings", exact=True)
    eventually(lambda: (title.bounding_box() or {"y": 0.0})["y"] > 60, True)  # below the bar
    assert [broken["zero"], broken["negative"]] == ["149", "0"]  # as the answer says
    student.answers()
    student.goes_on()
    student.does()
    page.locator(".walk").get_by_role("slider").fill("3")
    page.locator(".walk").get_by_role("button", name="Step", exact=True).dblclick()
    expect(page.locator(".walk .said")).to_contain_text("No arrow reads [ after [")
    student.answers()
    student.goes_on()
    student.does(0)
    expect(keyed(page, "rank").locator("input")).to_have_value("50")
    student.does(1)
    expect(
        page.get_by_text("Rank 100 was asked for, but H_λ has numerical rank 92")
    ).to_be_visible()
    expect(page.get_by_text("The mass diverges").first).to_be_visible()
    settled(page)
    eventually(lambda: int(scores(page, SCORES)["SP"]["negative"]), lambda number: number > 0)
    student.answers()
    student.finds_nothing_to_wait_for()
    student.goes_on()
    student.does()
    for rank in ("4", "15", "50"):
        keyed(page, "ranks").get_by_role("button", name=rank, exact=True).click()
        settled(page)
    eventually(lambda: traces(page, "compare.curves")[0]["count"], 8)
    keyed(page, "compare.all").locator("summary").click()
    listed = eventually(
        lambda: {row[0]: row for row in rows(page, RUNS)}, lambda found: "SP, k = 50" in found
    )
    for rank, wer in ((10, "0.458"), (15, "0.445"), (50, "0.460")):
        assert any(
            cell[:1] == "0" and f"{float(cell):.3f}" == wer for cell in listed[f"SP, k = {rank}"]
        )
    student.answers()
    student.finds_nothing_to_wait_for()


def part(page: Page, name: str) -> Locator:
    """A part of Explore's picture."""
    return page.locator(f".explore [data-part={name}]")


def race(student: Student) -> None:
    """Lesson 3: five pictures of a linear and a nonlinear model, with results that come with the
    lab.
    """
    page = student.page
    depth = part(page, "depth")
    expect(depth).to_be_hidden()
    student.answers()
    expect(depth).to_be_visible()
    expect(depth).to_contain_text("0 from depth 2 on")
    expect(depth).to_contain_text("nonlinear right up to depth 8 or more")
    student.goes_on()
    cut = page.get_by_role("slider", name="States of the linear model")
    for rank, zero in ((4, 3), (5, 4), (6, 4), (7, 5)):
        cut.press("ArrowRight")
        expect(cut).to_have_attribute("aria-valuenow", str(rank))
        expect(depth).to_contain_text(f"0 from depth {zero} on")
    student.answers()
    student.goes_on()
    # as the step asks; it may have been read in the steps before, where it is not seen
    part(page, "follow").get_by_role("button", name="Play", exact=True).click()
    tape = part(page, "follow").locator(".tape button")
    expect(tape.last).to_have_class("now")
    page.get_by_role("button", name="Read up to symbol 2, [").click()
    linear, nonlinear = (page.locator(f".explore .lane.{name}") for name in ("upper", "lower"))
    for lane in (linear, nonlinear):  # what the scores were belongs to the drag of the step before
        expect(lane.locator(".scored")).to_have_text(re.compile(r"^TV [\d.]+\s·\sWER [\d.]+$"))
    expect(linear).to_contain_text("no state for 2 open brackets, so weight 0, whatever follows.")
    expect(nonlinear).to_contain_text("As in the grey bars")
    student.answers()
    student.goes_on()
    verdict = part(page, "verdict")
    states = page.get_by_role("slider", name="States of the linear model")
    expect(states).to_have_attribute("aria-valuenow", "3")
    states.press("End")
    expect(verdict).to_contain_text("seeds disagree: the nonlinear ones are ahead on 1 of 3")
    verdict.get_by_role("button", name="Numbers").click()
    scores_of = page.locator(".explore dialog tr")
    expect(scores_of.filter(has_text="SP")).to_contain_text("200.027 ± 0.0050.451 ± 0.049∞")
    expect(scores_of.filter(has_text="both.non")).to_contain_text("30.021 ± 0.0020.355 ± 0.024")
    page.get_by_role("button", name="Close").last.click()
    student.answers()
    student.goes_on()
    chart = part(page, "ranks")
    why = "PFA may zigzag: its training raises the likelihood, not this score."
    expect(chart).to_contain_text(why)
    for number, (curve, line) in enumerate((("0.021", "0.110"), ("0.117", "0.430"))):
        student.does(number)
        expect(verdict).to_contain_text(f"distance to the truth {curve} against {line}")
    expect(chart).not_to_contain_text(why)
    expect(chart).to_contain_text("with 2 other seeds")
    student.does(2)
    expect(verdict).to_contain_text("With 10 states, level")
    student.answers()


def runs(home: Path) -> set[str]:
    """The runs of a server."""
    return {folder.name for folder in (home / "runs").glob("*")}


@contextmanager
def lesson(page: Page, lab: str, home: Path, path: str, name: str) -> Iterator[Student]:
    """A teacher's link with few knobs opens it; all that it needs is there, and nobody trains
    anything.
    """
    before = runs(home)
    with watched(page) as seen:
        visit(page, lab, path, lesson=name, step=1, show=",".join(KNOBS))
        for knob in set(KNOBS) - {"grammar"}:
            expect(keyed(page, knob)).to_be_visible()
        for knob in ("num_strings", "transform", "controls.preset"):
            expect(keyed(page, knob)).to_be_hidden()
        student = Student(page, name)
        yield student
        assert not student.looks.lost
    assert seen == {"requests": [], "errors": [], "dialogs": []}
    assert runs(home) == before


def test_the_50_minute_lesson_begins_with_ten_strings(
    laptop: Page, lab: str, lab_home: Path
) -> None:
    with lesson(laptop, lab, lab_home, "data", "hankel-matrix") as student:
        hankel_by_hand(student)
        student.begins_the_next("rank")


def test_the_50_minute_lesson_reveals_the_rank_and_breaks_a_model(
    laptop: Page, lab: str, lab_home: Path
) -> None:
    with lesson(laptop, lab, lab_home, "data", "rank") as student:
        rank_revealed(student)
        student.begins_the_next("dyck")


def test_the_50_minute_lesson_ends_with_a_link_that_is_handed_in(
    laptop: Page, new_page: Callable[[], Page], lab: str, lab_home: Path
) -> None:
    laptop.emulate_media(reduced_motion="no-preference")  # strings walk to their end
    with lesson(laptop, lab, lab_home, "", "dyck") as student:
        race(student)
        keyed(laptop, "share").get_by_role("button").first.click()
        code = laptop.get_by_test_id("stCode")
        expect(code).to_contain_text("lesson=dyck")
        handed_in = code.inner_text().strip()
        teacher = new_page()
        teacher.set_viewport_size(LAPTOP)
        teacher.goto(handed_in)
        expect(keyed(teacher, "lesson")).to_contain_text("Is it the curve?")
        settled(teacher)
        for shown in ("verdict h2", "verdict .line", "depthkey"):
            mine = laptop.locator(f".explore .{shown}").text_content()
            expect(teacher.locator(f".explore .{shown}")).to_have_text(mine or "nothing")
        expect(keyed(teacher, "num_strings")).to_be_hidden()


def test_what_if_from_pasted_strings_to_a_notebook(wide: Page, lab: str, tmp_path: Path) -> None:
    page = wide
    words = sample_words(random_automaton(3, 3, 11), 300, 5)
    text = "\n".join("".join("abc"[symbol] for symbol in word) or "λ" for word in words)
    with watched(page) as seen:
        visit(page, lab, "data", **QUICK)
        keyed(page, "own_strings").locator("summary").click()
        paste(page, text)
        expect(metric(page, "symbols")).to_have_text("3")
        expect(metric(page, "training strings")).to_have_text("220")
        settled(page)
        go(page, "train")
        train(page)
        baseline = eventually(lambda: scores(page, SCORES)["SP"], bool)
        press(page, "pins.A")
        # the button before it stays for a moment
        expect(keyed(page, "pins.A").filter(has_text="A: SP, k = 2")).to_be_visible()
        settled(page)
        write(page, "rank", 3)
        expect(page.get_by_text("k = 3").first).to_be_visible()
        train(page)
        changed = eventually(lambda: scores(page, SCORES)["SP"], lambda row: row != baseline)
        press(page, "pins.B")
        # the button before it stays for a moment
        expect(keyed(page, "pins.B").filter(has_text="B: SP, k = 3")).to_be_visible()
        settled(page)
        go(page, "compare")
        assert eventually(lambda: rows(page, 1), [["rank k", "2", "3"]])
        both = eventually(
            lambda: scores(page, SCORES),
            lambda table: {"A: SP, k = 2", "B: SP, k = 3"} <= table.keys(),
        )
        # With a column of zeros or negative outputs if only one of them has some.
        assert (
            baseline.items() <= both["A: SP, k = 2"].items()
            and changed.items() <= both["B: SP, k = 3"].items()
        )
        keyed(page, "learners").get_by_role("button", name="fac.non", exact=True).click()
        settled(page)
        for rank in ("5", "10"):
            keyed(page, "ranks").get_by_role("button", name=rank, exact=True).click()
            settled(page)
        expect(keyed(page, "compare.start")).to_contain_text("of 6 models")
        train(page, "compare")
        # Above it: the two runs, their options, their difference, and the ranks chosen on
        # validation strings.
        keyed(page, "compare.all").locator("summary").click()
        listed = eventually(
            lambda: rows(page, 4), lambda found: len(found) == 6 and found[0][1] == "best"
        )
        assert [row[1] for row in listed] == ["best", *[""] * 4, "last"]
        choose(page, "metric", "bits / symbol")
        expect(page).to_have_url(re.compile("metric=bits_per_symbol"))
        settled(page)
        learner, rank = re.fullmatch(r"(.+), k = (\d+)", listed[0][0]).groups()  # type: ignore[union-attr]
        if learner != "SP":
            choose(page, "learner", learner)
        if rank != "3":
            write(page, "rank", rank)
        go(page, "take_away")
        keyed(page, "take_away.run").get_by_text(
            re.compile(f": {re.escape(listed[0][0])}$")
        ).click()
        settled(page)
        with page.expect_download() as waiting:
            press(page, "take_away.run.ipynb")
        waiting.value.save_as(tmp_path / "run.ipynb")
    assert seen == {"requests": [], "errors": [], "dialogs": []}
    notebook: Any = nbformat.from_dict(
        json.loads((tmp_path / "run.ipynb").read_text(encoding="utf-8"))
    )
    nbformat.validate(notebook)
    code = "\n".join(entry.source for entry in notebook.cells if entry.cell_type == "code")
    assert re.search(rf"options\(\s*'{re.escape(learner)}',\s*rank={rank},", code)
    assert "source='upload'" in code
    assert re.search("upload='[0-9a-f]{64}'", code) and "num_prefixes=30" in code


def test_a_model_is_trained_and_a_cell_is_chosen_by_keyboard_alone(page: Page, lab: str) -> None:
    recipe = QUICK | {
        "learner": "fac.non",
        "epochs_factorisation": 5,
        "epochs_transitions": 5,
        "data_seed": 61,
    }
    visit(page, lab, "train", **recipe)
    tabbed_to(page, keyed(page, "train.start"))
    page.keyboard.press("Enter")
    expect(keyed(page, "train.start")).to_have_count(0)
    expect(page.get_by_role("heading", name="On the test strings")).to_be_visible()
    settled(page)
    visit(page, lab, "hankel", **recipe)
    drawn(page)
    tabbed_to(page, page.locator(".lens .matrix"))
    for key, said in (
        ("ArrowDown", "prefix u λ suffix v λ"),
        ("ArrowDown", "prefix u [ suffix v λ"),
        ("ArrowRight", "prefix u [ suffix v ]"),
    ):
        page.keyboard.press(key)
        expect(page.locator(".lens .said")).to_contain_text(said)
    page.keyboard.press("Enter")
    expect(keyed(page, "hankel.chosen")).to_contain_text("uv is []")
