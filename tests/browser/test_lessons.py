"""Lessons and teacher links in a real browser: step by step, in another person's browser, on the
wall, on a phone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, ViewportSize, expect

from nlwfa_core.teaching.lessons import read_lessons
from nlwfa_core.teaching.shipped import ASSETS
from tests.browser.screen import (
    FITS,
    LAPTOP,
    PHONE,
    QUICK,
    WIDE,
    beside_a_lesson,
    choose,
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
    train,
    visit,
    watched,
    write,
)
from tests.browser.test_accessibility import SCHEMES, in_scheme, serious
from tests.quick import TITLES

LESSONS = read_lessons(ASSETS / "lessons")


def step(page: Page, title: str) -> Locator:
    """The step's heading, once the page is drawn."""
    found = keyed(page, "lesson").get_by_role("heading", name=title, exact=True)
    expect(found).to_be_visible()
    settled(page)
    return found


def asked(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def test_a_lesson_from_the_learn_page_to_its_models(page: Page, lab: str) -> None:
    with watched(page) as found:
        visit(page, lab, "learn")
        entries = page.evaluate("history.length")
        press(page, "learn.lesson.rank")
        step(page, "Predict the rank")
        expect(heading(page, "data")).to_be_visible()
        expect(page).to_have_url(re.compile("grammar=6"))  # the step has set it
        settled(page)
        page.reload()
        step(page, "Predict the rank")
        expect(keyed(page, "grammar").locator("input")).to_have_value("6")
        expect(keyed(page, "num_strings")).to_be_hidden()
        for title, path in (
            ("Reveal it", "hankel"),
            ("Sort by state", ""),
            ("Now brackets", ""),
            ("Why rank 3 fails", "train"),
        ):
            press(page, "lesson.next")
            step(page, title)
            expect(heading(page, path)).to_be_visible()
        expect(keyed(page, "rank").locator("input")).to_have_value("3")
        settled(page)
        assert scores(page)["SP"]["log₂ Pautomac"] == "∞"  # nobody has waited for it
        answer = keyed(page, "lesson").get_by_text("a single such string makes the score infinite")
        expect(answer).to_have_count(0)
        keyed(page, "lesson").get_by_text("some strings get a negative weight").click()
        press(page, "exercise.rank_5_0.check")
        expect(keyed(page, "lesson")).to_contain_text(
            "The column negative shows 0: none does. Try once more."
        )
        question = LESSONS["rank"].steps[4].question
        assert question is not None and question.key is not None
        enter(page, "rank/5", question.key)
        expect(answer).to_be_visible()
        expect(keyed(page, "lesson")).to_contain_text(
            "Right on the second try. You answered “some strings get a negative weight”, then"
        )
        press(page, "lesson.back")
        step(page, "Now brackets")
        press(page, "lesson.close")
        expect(keyed(page, "lesson")).to_have_count(0)
        assert not {"lesson", "step"} & set(asked(page))
        # Seven steps of one person, seven entries: the browser's Back opens the lesson again.
        assert page.evaluate("history.length") == entries + 7
        page.go_back()
        step(page, "Now brackets")
        expect(heading(page, "")).to_be_visible()
        page.go_forward()
        expect(keyed(page, "lesson")).to_have_count(0)
    assert found == {"requests": [], "errors": [], "dialogs": []}


def test_back_eight_times_returns_the_way_one_came(page: Page, lab: str) -> None:
    """Through pages with changed options, into a lesson and out of it: each place comes back with
    its recipe and its step.
    """

    def place() -> dict[str, str]:
        return {name: asked(page).get(name, "") for name in ("rank", "grammar", "lesson", "step")}

    def leaves(path: str) -> None:
        settled(page)
        way.append((path, place()))

    way: list[tuple[str, dict[str, str]]] = []
    visit(page, lab, "data", **QUICK)
    leaves("data")
    for path, rank in (("hankel", 4), ("train", 3), ("predict", 7)):
        go(page, path)
        write(page, "rank", rank)
        expect(page).to_have_url(re.compile(rf"\brank={rank}\b"))
        leaves(path)
    go(page, "learn")
    leaves("learn")
    press(page, "learn.lesson.rank")
    step(page, "Predict the rank")
    leaves("data")
    press(page, "lesson.next")
    step(page, "Reveal it")
    leaves("hankel")
    go(page, "practice")  # out of the lesson's pages, with the lesson open
    leaves("practice")
    go(page, "build")
    settled(page)
    for path, before in reversed(way):
        page.go_back()
        expect(heading(page, path)).to_be_visible()
        eventually(place, before)
    assert len(way) == 8


def test_a_scroll_that_ends_early_is_made_again(page: Page, lab: str) -> None:
    """As where a slow machine has not yet drawn what stands below."""
    page.set_viewport_size(LAPTOP)
    page.add_init_script("""const { scrollBy } = Element.prototype;
    Element.prototype.scrollBy = function(...to) {
        window.first ??= performance.now();
        if (performance.now() > window.first + 900) scrollBy.apply(this, to);
    };""")
    visit(page, lab, "data", lesson="which-model", step=1)
    beside_a_lesson(page, LESSONS["which-model"].steps[0].look)
    assert page.evaluate("window.first") > 0


def test_the_motion_of_a_first_visit_is_not_repeated_in_a_lesson(page: Page, lab: str) -> None:
    """The step shows its own rank."""
    page.emulate_media(reduced_motion="no-preference")
    visit(page, lab)
    expect(page.locator(".explore .cutlabel")).to_contain_text("It moves by itself")
    go(page, "learn")
    keyed(page, "learn.lesson.dyck").get_by_role("button").click()
    step(page, "Place your bet")
    page.wait_for_timeout(6_000)  # the motion would take five
    question = LESSONS["dyck"].steps[0].question
    assert question is not None and question.key is not None
    enter(page, "dyck/1", question.key)
    depth = page.locator(".explore [data-part=depth]")
    expect(depth).to_contain_text("0 from depth 2 on")


def test_the_results_are_hidden_until_the_bet_is_placed_and_the_explanation_comes_into_view(
    page: Page, lab: str
) -> None:
    page.set_viewport_size(LAPTOP)
    visit(page, lab, "", lesson="dyck", step=1)
    step(page, "Place your bet")
    depth = page.locator(".explore [data-part=depth]")
    beside_a_lesson(page, LESSONS["dyck"].steps[0].look)
    expect(depth).to_be_hidden()
    expect(page.get_by_text("0 from depth 2 on")).to_be_hidden()
    card = keyed(page, "lesson")
    expect(keyed(page, "exercise.dyck_1_0.check")).to_be_in_viewport()
    question = LESSONS["dyck"].steps[0].question
    assert question is not None and question.key is not None
    enter(page, "dyck/1", question.key)
    expect(depth).to_contain_text("0 from depth 2 on")
    expect(depth).to_be_visible()
    expect(depth).to_have_css("animation-name", "light")  # because the answer is right
    expect(card.get_by_text("The nonlinear one: it gives")).to_be_in_viewport()
    why = card.get_by_text("What may follow one open bracket")
    expect(why).to_be_hidden()
    card.get_by_text("Why?", exact=True).click()
    expect(why).to_be_visible()
    press(page, "lesson.next")
    step(page, "The race over depth")
    # from its beginning
    expect(card.get_by_role("heading", name="The race over depth")).to_be_in_viewport()


def test_a_step_on_explore_draws_only_what_it_is_about(page: Page, lab: str) -> None:
    """Beside its card, and on a phone in one column; without the lesson all is there again."""
    page.set_viewport_size(LAPTOP)
    visit(page, lab, "", lesson="dyck", step=3)
    step(page, "One string, two walks")

    def drawn_parts() -> list[str]:
        found: list[str] = page.locator(".explore [data-part]").evaluate_all(
            "nodes => nodes.filter(node => node.checkVisibility()).map(node => node.dataset.part)"
        )
        return found

    eventually(drawn_parts, ["lanes", "follow"])
    upper, lower = (page.locator(f".explore .lane.{name}") for name in ("upper", "lower"))
    expect(upper).to_contain_text("after λ")  # who opens the step begins to read
    page.get_by_role("button", name="Read up to symbol 3").click()
    expect(upper).to_contain_text("Lost since [[:")
    assert upper.bounding_box()["width"] > 800 < lower.bounding_box()["width"]
    page.set_viewport_size(PHONE)
    settled(page)
    page.wait_for_function(FITS, arg=PHONE["width"])
    assert drawn_parts() == ["lanes", "follow"]
    page.set_viewport_size(LAPTOP)
    press(page, "lesson.close")
    eventually(lambda: len(drawn_parts()), 10)


def test_one_button_sorts_the_matrix_by_state(page: Page, lab: str) -> None:
    """The step begins with the rows by frequency; after the press blocks are drawn around them."""
    page.set_viewport_size(LAPTOP)
    page.emulate_media(reduced_motion="no-preference")  # the rows travel
    visit(page, lab, "", lesson="rank", step=3)
    step(page, "Sort by state")
    order = page.locator(".explore button.order")
    expect(order).to_have_text("sort by state")
    inside = """canvas => {
        const { data, width, height } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        let [blocks, all] = [0, 0];
        for (let y = 14; y < height; y++) for (let x = 14; x < width; x++) {
            if (!data[4 * (y * width + x) + 3]) continue;
            all += 1;
            const [row, column] = [y, x].map(at => ((at - 14) / (width - 14)) * 100);
            blocks += [[0, 35, 0, 35], [35, 65, 35, 68], [65, 100, 68, 100]]
                .some(([top, bottom, left, right]) => row >= top - 1 && row <= bottom + 1 && column >= left - 1 && column <= right + 1);
        }
        return all && blocks / all;
    }"""  # noqa: E501
    heat = page.locator(".explore .left canvas.heat")
    assert heat.evaluate(inside) < 0.5
    press(page, "lesson.do.0")
    expect(order).to_have_text("sort by frequency")
    page.wait_for_function(f"canvas => ({inside})(canvas) > 0.99", arg=heat.element_handle())
    press(page, "lesson.next")
    step(page, "Now brackets")
    expect(order).to_have_text("sort by state")


def test_a_lesson_offers_its_quiz_before_and_after_and_stays_open(page: Page, lab: str) -> None:
    last = len(LESSONS["rank"].steps)
    for number, when in ((1, "before"), (last, "after")):
        visit(page, lab, LESSONS["rank"].steps[number - 1].pages[0], lesson="rank", step=number)
        press(page, "lesson.quiz")
        expect(heading(page, "practice")).to_be_visible()
        settled(page)
        eventually(lambda: asked(page).get("quiz"), f"rank/{when}")
        expect(page.get_by_text("Eight items, one try each")).to_be_in_viewport()
        # to the step after the one that the quiz hides
        expect(keyed(page, "lesson.next")).to_have_count(0)
        press(page, "lesson.there")  # back to the step
        expect(heading(page, LESSONS["rank"].steps[number - 1].pages[0])).to_be_visible()
    visit(page, lab, LESSONS["rank"].steps[1].pages[0], lesson="rank", step=2)
    expect(keyed(page, "lesson.quiz")).to_have_count(0)


def test_a_step_shows_the_block_that_it_speaks_of(page: Page, lab: str) -> None:
    visit(page, lab, "hankel", lesson="hankel-matrix", step=4)
    choose(page, "hankel.block", "H_b: rows ub")
    titles = keyed(page, "hankel.panels").locator("figcaption")
    expect(titles.nth(2)).to_contain_text("‖H_b − Ĥ_b‖ / ‖H_b‖ = ")
    press(page, "lesson.next")
    step(page, "Count something else")
    expect(titles.nth(2)).to_contain_text("‖H_λ − Ĥ_λ‖ / ‖H_λ‖ = ")


def test_a_teachers_link_shows_another_person_the_same_screen(
    page: Page, new_page: Callable[[], Page], lab: str
) -> None:
    mine = page
    visit(
        mine,
        lab,
        "train",
        **QUICK | {"source": "tomita", "grammar": 4, "rank": 3},
        lesson="squared",
        step=4,
    )
    train(mine)
    keyed(mine, "pins.A").get_by_role("button").click()
    pinned = re.compile("A: SP, k = 3")
    expect(keyed(mine, "pins.A").get_by_role("button")).to_have_text(pinned)
    settled(mine)
    keyed(mine, "share").get_by_role("button").first.click()
    keyed(mine, "share.show").locator("input").fill("rank k")
    mine.keyboard.press("Enter")
    code = mine.get_by_test_id("stCode")
    expect(code).to_contain_text("show=rank&")  # and no other control that has these letters
    mine.keyboard.press("Escape")
    expect(code.get_by_role("button", name="Copy to clipboard")).to_be_visible()
    expect(
        mine.get_by_text("Nobody else can open this link: the lab listens on 127.0.0.1 only.")
    ).to_be_visible()
    link = code.inner_text().strip()
    theirs = new_page()
    theirs.goto(link)
    step(theirs, "Linear, with enough states")
    eventually(lambda: rows(theirs), rows(mine))
    expect(keyed(theirs, "rank").locator("input")).to_have_value("3")
    for hidden in ("source", "grammar", "num_strings", "controls.preset"):
        expect(keyed(theirs, hidden)).to_be_hidden()
    expect(keyed(theirs, "learner")).to_be_visible()  # the step needs it
    expect(keyed(theirs, "pins.A").get_by_role("button")).to_have_text(pinned)
    press(theirs, "screen.all")
    press(theirs, "screen.fewer")
    expect(keyed(theirs, "grammar")).to_be_hidden()
    press(theirs, "screen.all")
    expect(keyed(theirs, "grammar").locator("input")).to_have_value("4")
    settled(theirs)
    go(theirs, "data")
    visit(mine, lab, "data", **asked(mine))
    expect(metric(theirs, "seen in training")).to_have_text(
        metric(mine, "seen in training").inner_text()
    )


def test_a_change_in_a_link_with_hidden_controls_stays_after_a_reload(page: Page, lab: str) -> None:
    visit(
        page,
        lab,
        "data",
        **QUICK | {"source": "automaton", "num_states": 3, "data_seed": 8},
        show="rank,num_strings",
    )
    before = metric(page, "mean length").inner_text()
    write(page, "rank", 4)
    go(page, "hankel")
    go(page, "data")
    page.reload()
    expect(heading(page, "data")).to_be_visible()
    settled(page)
    expect(metric(page, "mean length")).to_have_text(before)
    assert {
        "num_states": "3",
        "data_seed": "8",
        "rank": "4",
        "show": "rank,num_strings",
    }.items() <= asked(page).items()
    expect(keyed(page, "num_states")).to_be_hidden()


def test_cells_are_clicked_to_answer(page: Page, lab: str) -> None:
    visit(page, lab, "hankel", lesson="hankel-matrix", step=3)
    matrix = page.locator(".lens .matrix canvas")
    matrix.focus()
    for keys, option in (
        (["ArrowDown", "ArrowRight", "ArrowRight"], "row λ, column `ab`"),
        (["ArrowDown", "ArrowDown", "ArrowLeft", "ArrowLeft"], "row `ab`, column λ"),
    ):
        for key in (*keys, "Enter"):
            matrix.press(key)
        expect(keyed(page, "lesson").get_by_role("checkbox", name=option)).to_be_checked()
        settled(page)
    press(page, "exercise.hankel_matrix_3_0.check")
    expect(keyed(page, "lesson").get_by_text("Right. You answered")).to_be_visible()


@pytest.mark.parametrize(
    ("lesson", "where", "cut", "keys"),
    [
        ("dyck", "", "States of the linear model", ["ArrowRight"] * 4),
        ("rank", "hankel", "Rank k", ["Home", "ArrowRight", "ArrowRight"]),
    ],
)
def test_a_cut_that_is_dragged_enters_the_answer(
    page: Page, lab: str, lesson: str, where: str, cut: str, keys: list[str]
) -> None:
    visit(page, lab, where, lesson=lesson, step=2)
    field = keyed(page, "lesson").get_by_placeholder("drag the cut, or type")
    expect(field).to_have_value("")
    slider = page.get_by_role("slider", name=cut)
    for key in keys:
        slider.press(key)
    expect(field).to_have_value({"dyck": "7", "rank": "3"}[lesson])
    settled(page)
    press(page, f"exercise.{lesson}_2_0.check")
    expect(keyed(page, "lesson").get_by_text("Right. You answered")).to_be_visible()


@pytest.mark.parametrize("way", ["drag", "keys", "typed"])
def test_a_bar_that_is_drawn_enters_the_answer(page: Page, lab: str, way: str) -> None:
    visit(page, lab, "data", lesson="hankel-matrix", step=1)
    picture = keyed(page, "data.shares")
    field = keyed(page, "lesson").get_by_placeholder("draw the bar, or type")
    bar = picture.get_by_role("slider", name="f(ab)")
    expect(bar).to_contain_text("?")
    if way == "typed":
        field.fill("0.3")
    elif way == "keys":
        bar.press("End")
        expect(field).to_have_value("0.5")
        bar.press("ArrowDown")
        bar.press("ArrowDown")
    else:
        box = bar.bounding_box()
        assert box
        page.mouse.move(box["x"] + 9, box["y"] + box["height"] - 3)
        page.mouse.down()
        page.mouse.move(box["x"] + 9, box["y"] + 0.45 * box["height"])  # 0.275, nearly
        page.mouse.up()
    expect(field).to_have_value("0.3")
    settled(page)
    press(page, "exercise.hankel_matrix_1_0.check")
    expect(keyed(page, "lesson").get_by_text("Right. You answered")).to_be_visible()
    expect(picture.locator(".right")).to_contain_text("0.3")
    expect(bar).to_have_count(0)


def test_a_state_that_is_tapped_chooses_the_answer(page: Page, lab: str) -> None:
    visit(page, lab, "states", lesson="rank", step=6)
    lesson = keyed(page, "lesson")
    nodes = page.locator(".walk .node")
    expect(nodes).to_have_count(3)
    nodes.first.click()  # one open
    expect(page.get_by_text("is not among the answers")).to_be_visible()
    page.get_by_role("slider", name="Rank k").press("ArrowRight")
    expect(nodes).to_have_count(4)
    page.locator(".walk .node.new").click()
    expect(lesson.get_by_role("radio", name="at the end of the chain: two open")).to_be_checked()
    settled(page)
    press(page, "exercise.rank_6_0.check")
    expect(lesson.get_by_text("Right. You answered")).to_be_visible()


def test_slide_view_is_the_page_alone_and_larger(page: Page, lab: str) -> None:
    visit(page, lab, "hankel", **QUICK)
    size = heading(page, "hankel").evaluate("node => parseFloat(getComputedStyle(node).fontSize)")
    visit(page, lab, "hankel", **QUICK, view="slide")
    assert (
        heading(page, "hankel").evaluate("node => parseFloat(getComputedStyle(node).fontSize)")
        > 1.2 * size
    )
    visit(page, lab, "hankel", **QUICK, view="slide", lesson="rank", step=2)
    expect(page.get_by_test_id("stSidebar")).to_be_hidden()
    expect(page.get_by_test_id("stHeader")).to_be_hidden()
    expect(keyed(page, "hankel.singular_values")).to_be_visible()  # what the step is about
    for key in ("hankel.block", "hankel.panels"):
        expect(keyed(page, key)).to_be_hidden()
    text = keyed(page, "lesson").get_by_text("singular values", exact=True)
    assert text.evaluate("node => getComputedStyle(node).fontSize") == "28px"
    page.keyboard.press("ArrowRight")
    step(page, "Sort by state")
    page.keyboard.press("ArrowLeft")
    step(page, "Reveal it")
    press(page, "slide.pages")
    page.get_by_role("link", name="Data", exact=True).locator("visible=true").click()
    expect(heading(page, "data")).to_be_visible()
    settled(page)
    assert asked(page).items() >= {"view": "slide", "lesson": "rank", "source": "tomita"}.items()
    press(page, "slide.leave")
    expect(page.get_by_test_id("stSidebar")).to_be_visible()
    assert "view" not in asked(page)


# The smallest letters of a picture, in pixels of the screen, and whether it ends on the screen.
LETTERS = """() => {
    const host = [...document.querySelectorAll(".st-key-explore-picture *")].find(node => node.shadowRoot);
    const shown = [...host.shadowRoot.querySelectorAll("*")].filter(node =>
        [...node.childNodes].some(child => child.nodeType === 3 && child.data.trim()) &&
        node.tagName !== "STYLE" && node.getClientRects().length && getComputedStyle(node).visibility === "visible");
    const parts = [...host.shadowRoot.querySelectorAll("[data-part]")].filter(node => node.getClientRects().length);
    return [
        Math.min(...shown.map(node => parseFloat(getComputedStyle(node).fontSize) * node.currentCSSZoom)),
        Math.max(...parts.map(node => node.getBoundingClientRect().bottom)) <= innerHeight,
    ];
}"""  # noqa: E501

# The smallest letters of a string's walk.
DRAWN_LETTERS = """() => {
    const host = [...document.querySelectorAll(".st-key-states-walk *")].find(node => node.shadowRoot);
    const scale = svg => svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
    return Math.min(...[...host.shadowRoot.querySelectorAll("svg text, .bars .value, .bars .name, .said")]
        .filter(node => node.getClientRects().length && node.textContent.trim())
        .map(node => parseFloat(getComputedStyle(node).fontSize) * scale(node.ownerSVGElement)));
}"""  # noqa: E501


def test_letters_of_the_picture_can_be_read_from_the_last_row(page: Page, lab: str) -> None:
    page.set_viewport_size(WIDE)
    visit(page, lab, "", lesson="dyck", step=1, view="slide")
    for place, wanted in enumerate(LESSONS["dyck"].steps, 1):
        if place > 1:
            press(page, "lesson.next")
        step(page, wanted.title)
        eventually(lambda: page.evaluate(LETTERS)[1], True)
        smallest = page.evaluate(LETTERS)[0]
        assert 24 <= smallest < 30, (wanted.title, smallest)
    # what is drawn larger answers where it is touched
    cut = page.locator(".explore svg.cut.upper")
    visit(page, lab, "", lesson="dyck", step=2, view="slide")
    box = cut.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] * 9.5 / 20, box["y"] + box["height"] / 2)
    expect(cut).to_have_attribute("aria-valuenow", "10")
    # of an automaton and of what stands below it
    visit(page, lab, "states", lesson="rank", step=6, view="slide")
    step(page, LESSONS["rank"].steps[5].title)
    eventually(lambda: page.evaluate(DRAWN_LETTERS) >= 24, True)


def test_ten_strings_are_pasted(page: Page, lab: str) -> None:
    visit(page, lab, "data", **QUICK)
    keyed(page, "own_strings").locator("summary").click()
    paste(page, "a\na\nab\nab\nab\nba\nb\nabb\naab\nbab")
    expect(metric(page, "training strings")).to_have_text("10")
    settled(page)
    page.reload()
    expect(metric(page, "training strings")).to_have_text("10")
    assert asked(page)["upload"] == asked(page)["upload_test"]


def test_undo_changes_what_the_sidebar_and_the_address_say(page: Page, lab: str) -> None:
    visit(page, lab, "data", **QUICK)
    write(page, "rank", 4)
    expect(keyed(page, "undo")).to_contain_text("Undo rank k: 2 → 4")
    write(page, "rank", 6)
    expect(keyed(page, "undo")).to_contain_text("Undo rank k: 4 → 6")
    keyed(page, "undo").get_by_role("button").first.click()
    expect(keyed(page, "rank").locator("input")).to_have_value("4")
    settled(page)
    assert asked(page)["rank"] == "4"


def test_the_story_fits_a_phone(page: Page, lab: str) -> None:
    page.set_viewport_size(PHONE)
    visit(page, lab, "learn")
    page.wait_for_function(FITS, arg=PHONE["width"])
    assert TITLES["learn"] in page.inner_text("h1")
    press(page, "learn.story")
    story = page.locator(".story")
    expect(story.locator(".said")).to_contain_text("strings. The sample tells us")
    # it does not start by itself then
    expect(story.get_by_role("button", name="Play", exact=True)).to_be_visible()
    for name in ("Hankel matrix", "Factors", "States", "Prediction"):
        story.locator(".stage").press("ArrowRight")
        expect(story.locator("[aria-current=true]")).to_contain_text(name)
    page.wait_for_function(FITS, arg=PHONE["width"])


def test_on_a_phone_a_lesson_is_a_sheet_that_folds(page: Page, lab: str) -> None:
    """Folded, only its head is there; another step opens it again."""
    page.set_viewport_size(PHONE)
    visit(page, lab, "hankel", lesson="hankel-matrix", step=2)
    card = keyed(page, "lesson")
    fold = card.get_by_role("button", name="The step's text")
    question = card.get_by_text("What is in row a, column b?")
    expect(question).to_be_in_viewport()
    assert not serious(page)
    fold.click()
    expect(fold).to_have_attribute("aria-expanded", "false")
    expect(question).to_be_hidden()
    assert card.evaluate("card => innerHeight - card.getBoundingClientRect().top") < 80
    fold.click()
    expect(question).to_be_in_viewport()
    press(page, "lesson.next")
    step(page, "One string, several cells")
    fold.click()
    page.go_back()
    step(page, "A table of beginnings and endings")
    expect(fold).to_have_attribute("aria-expanded", "true")
    page.set_viewport_size(LAPTOP)
    expect(fold).to_be_hidden()


# Whether the explanation in a lesson's card is open, and in view: the lowest row covers the card.
IN_CARD = """() => {
    const card = document.querySelector(".st-key-lesson");
    const [box, row, why] = [card, card.querySelector(".st-key-lesson_do"), card.querySelector("details")]
        .map(node => node.getBoundingClientRect());
    return card.querySelector("details").open && why.height > 100 && why.top >= box.top - 1 && why.bottom <= row.top + 1;
}"""  # noqa: E501


@pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=str)
def test_an_explanation_that_is_opened_comes_into_view(
    page: Page, lab: str, size: ViewportSize
) -> None:
    page.set_viewport_size(size)
    last = LESSONS["dyck"].steps[4].question
    assert last is not None and last.key is not None
    visit(page, lab, "", lesson="dyck", step=5)
    enter(page, "dyck/5", last.key)
    keyed(page, "lesson").locator("summary").click()
    page.wait_for_function(IN_CARD)


@pytest.mark.parametrize(("path", "view"), [("hankel", ""), ("data", "slide")])
def test_no_serious_violation_with_a_lesson(page: Page, lab: str, path: str, view: str) -> None:
    visit(page, lab, path, **QUICK | {"lesson": "rank", "step": 2, "view": view})
    for scheme in SCHEMES:
        in_scheme(page, scheme)
        assert not serious(page), scheme
    keyed(page, "exercise.rank_2_0.entry").locator("input").fill("1")
    press(page, "exercise.rank_2_0.check")
    expect(keyed(page, "exercise.rank_2_0.show")).to_be_visible()
    settled(page)
    for scheme in SCHEMES:
        in_scheme(page, scheme)
        assert not serious(page), scheme


# Toolbars of tables that lie on a table, or on a widget's label.
COVERS = """() => {
    const box = element => element.getBoundingClientRect();
    const others = [...document.querySelectorAll("[data-testid=stDataFrameResizable], [data-testid=stWidgetLabel], .stMarkdown p")];
    return [...document.querySelectorAll("[data-testid=stElementToolbar]")].map(box).filter(a => a.height && others.map(box).some(
        b => b.height && a.left < b.right && b.left < a.right && a.top < b.bottom - 1 && b.top + 1 < a.bottom)).length;
}"""  # noqa: E501


def test_on_a_phone_the_menu_closes_after_a_tap_and_toolbars_cover_nothing(
    page: Page, lab: str
) -> None:
    page.set_viewport_size(PHONE)
    for path, title in (("data", "Train"), ("train", "Predict"), ("predict", "Compare")):
        visit(page, lab, path, learner="SP")
        page.wait_for_function(f"() => ({COVERS})() === 0")
        page.get_by_test_id("stExpandSidebarButton").click()
        links = page.get_by_test_id("stSidebarNavLink")
        expect(links.filter(has_text=title).first).to_be_in_viewport()
        # for a finger
        assert (
            min(
                links.evaluate_all(
                    "links => links.map(link => link.getBoundingClientRect().height)"
                )
            )
            >= 40
        )
        links.filter(has_text=title).first.click()
        expect(heading(page, title.lower())).to_be_in_viewport()
        expect(links.filter(has_text=title).first).not_to_be_in_viewport()
