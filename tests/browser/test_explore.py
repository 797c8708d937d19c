"""Explore in a browser: a drag of the rank sends nothing, what it shows are the library's numbers,
and its titles open the pages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, ViewportSize, WebSocket, expect

from nlwfa_core import fit
from nlwfa_core.display.explore import PFA_STARTS
from nlwfa_core.display.projection import prefix_states
from nlwfa_core.experiment.datasets import load_data
from nlwfa_core.experiment.pipeline import build_hankel, run
from nlwfa_core.experiment.presets import PRESETS
from nlwfa_core.experiment.recipe import with_fields
from nlwfa_core.experiment.results import Result, load_result
from nlwfa_core.files import LAB_FOLDER, FileShelf
from nlwfa_core.models.geometry import directions
from nlwfa_core.models.nlwfa import NLWFA
from nlwfa_core.sources.dyck import Dyck
from nlwfa_core.strings.words import Words
from tests.browser.screen import (
    DESKTOP,
    LAPTOP,
    PHONE,
    choose,
    eventually,
    go,
    heading,
    keyed,
    press,
    settled,
    still,
    visit,
)
from tests.waiting import PATIENCE_SECONDS

DIFFERENT = "trained in different ways"
FIRST = PRESETS["first-steps"][1]
STRINGS = {"num_strings": 200, "num_validation": 30, "num_test": 30, "data_seed": 77}  # few, fresh


def shipped(learner: str, rank: int) -> Result:
    key = with_fields(FIRST, {"learner": learner, "rank": rank, "objective": "likelihood"}).key()
    return load_result(LAB_FOLDER / "assets" / "results" / key)


def verdict(page: Page) -> Any:
    return page.locator(".explore .verdict h2")


def cut(page: Page) -> Any:
    return page.get_by_role("slider", name="Rank: number of states")


def trained_by(page: Page, lane: str, way: str) -> None:
    """Chooses how a lane's model is trained."""
    switch = page.get_by_role("group", name=f"How the {lane} model is trained")
    switch.get_by_role("button", name=way).click()


def sent_by(page: Page) -> list[int]:
    """The sizes of what the page sends from now on."""
    sizes: list[int] = []

    def listen(socket: WebSocket) -> None:
        socket.on("framesent", lambda frame: sizes.append(len(frame)))

    page.on("websocket", listen)
    return sizes


def test_a_drag_of_the_rank_sends_nothing_until_it_is_let_go(page: Page, lab: str) -> None:
    sizes = sent_by(page)
    visit(page, lab, rank=2)
    expect(verdict(page)).to_contain_text("With 2 states")
    box = cut(page).bounding_box()
    sizes.clear()
    page.mouse.move(box["x"] + 10, box["y"] + 30)
    page.mouse.down()
    for step in range(1, 13):
        page.mouse.move(box["x"] + step * box["width"] / 20, box["y"] + 30)
        expect(verdict(page)).to_contain_text(f"With {step} state")
    assert not sizes
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"rank=12"))
    assert len(sizes) == 1


@pytest.mark.parametrize("size", [DESKTOP, LAPTOP, PHONE], ids=["desktop", "laptop", "phone"])
def test_the_lanes_stay_where_they_are_at_every_rank(
    page: Page, lab: str, size: ViewportSize
) -> None:
    page.set_viewport_size(size)
    visit(page, lab, rank=1)
    lane = page.locator(".lane.upper")
    tops = set()
    for rank in range(1, 21):
        expect(verdict(page)).to_contain_text(f"With {rank} state")
        tops.add(lane.evaluate("lane => Math.round(lane.getBoundingClientRect().top + scrollY)"))
        cut(page).press("ArrowRight")
    assert len(tops) == 1


def test_two_nonlinear_states_are_set_against_twenty_linear_ones(page: Page, lab: str) -> None:
    """By one drag, which sends nothing until it is let go; the address keeps both ranks."""
    sizes = sent_by(page)
    visit(page, lab, rank=2)
    page.get_by_role("button", name="a rank for each lane").click()
    expect(page).to_have_url(re.compile("linear_rank=2"))
    linear = page.get_by_role("slider", name="States of the linear model")
    box = linear.bounding_box()
    sizes.clear()
    page.mouse.move(box["x"] + 2 * box["width"] / 20, box["y"] + 20)
    page.mouse.down()
    for step in (5, 10, 15, 20):
        page.mouse.move(box["x"] + step * box["width"] / 20 - 2, box["y"] + 20)
        expect(linear).to_have_attribute("aria-valuenow", str(step))
    assert not sizes
    page.mouse.up()
    expect(page).to_have_url(re.compile("linear_rank=20"))
    assert len(sizes) == 1
    page.reload()
    settled(page)
    expect(verdict(page)).to_contain_text(re.compile(r"2 nonlinear.*20 linear|20 linear"))
    nonlinear = page.get_by_role("slider", name="States of the nonlinear model")
    for slider, lane, rank in ((linear, "upper", 20), (nonlinear, "lower", 2)):
        expect(slider).to_have_attribute("aria-valuenow", str(rank))
        expect(page.locator(f".explore .lane.{lane} .sub")).to_contain_text(f"{rank} states")
    scored = page.locator(".explore .lane.upper .scored")
    recipe = with_fields(FIRST, {"learner": "SP", "rank": 20})
    expect(scored).to_contain_text(f"WER {run(recipe).scores.wer:.3f}")
    scores = shipped("both.non", 2).scores
    expect(lower(page).locator(".scored")).to_contain_text(f"WER {scores.wer:.3f}")
    field = page.get_by_role("spinbutton", name="Number of linear states")
    sizes.clear()
    field.fill("30")
    field.press("Enter")  # more states than can be dragged to come from the server
    expect(page).to_have_url(re.compile("linear_rank=30"))
    expect(page.locator(".explore .lane.upper .sub")).to_contain_text("30 states")
    recipe = with_fields(FIRST, {"learner": "SP", "rank": 30})
    expect(scored).to_contain_text(f"WER {run(recipe).scores.wer:.3f}")
    expect(page.locator(".explore .verdict .line")).to_contain_text(
        re.compile(r"\(gap\s0\.\d{3}\s±")
    )
    assert len(sizes) == 1
    field.fill("99")
    field.press("Enter")
    expect(field).to_have_value("50")
    expect(page.locator(".explore .lane.upper .sub")).to_contain_text("50 states")
    linear.press("ArrowLeft")
    expect(page).to_have_url(re.compile("linear_rank=20"))
    nonlinear.press("ArrowRight")
    expect(page).to_have_url(re.compile(r"[?&]rank=3"))
    expect(linear).to_have_attribute("aria-valuenow", "20")
    page.get_by_role("button", name="Numbers").click()
    rows = page.locator(".explore dialog tr")
    expect(rows.filter(has_text="SP")).to_contain_text("SP20")
    expect(rows.filter(has_text="both.non")).to_contain_text("both.non3")
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="one rank for both").click()
    expect(verdict(page)).to_contain_text("With 3 states")
    expect(page).not_to_have_url(re.compile("linear_rank"))


@pytest.mark.parametrize(("learner", "rank"), [("both.non", 6), ("fac.non", 3), ("tran.non", 8)])
def test_scores_are_those_of_the_results(page: Page, lab: str, learner: str, rank: int) -> None:
    visit(page, lab, rank=rank, learner=learner)
    result = shipped(learner, rank)
    scores = result.scores
    shown = f"TV {scores.total_variation:.3f}\u2002·\u2002WER {scores.wer:.3f}"
    expect(page.locator(".explore .lane.lower .scored")).to_have_text(shown)
    assert isinstance(result.model, NLWFA)
    used = result.model.num_used_states
    said = f"{used} of {rank} states in use · " if used < rank else ""
    expect(page.locator(".explore .lane.lower .sub")).to_contain_text(
        re.compile(f"^{said}{re.escape(learner)}: ")
    )
    assert str(rank) == cut(page).get_attribute("aria-valuenow")


def test_the_address_shows_another_person_what_is_looked_at(
    page: Page, new_page: Callable[[], Page], lab: str
) -> None:
    visit(page, lab, rank=4)
    for name in ("H − Ĥ", "PCA", "WER"):
        page.get_by_role("button", name=name, exact=True).click()
    page.get_by_role("textbox", name="A string to follow").fill("[][")
    expect(page).to_have_url(re.compile("word=.*matrix=difference.*plane=pca.*score=errors"))
    theirs = new_page()
    theirs.goto(page.url)
    for name in ("H − Ĥ", "PCA", "WER"):
        expect(theirs.get_by_role("button", name=name, exact=True)).to_have_attribute(
            "aria-pressed", "true"
        )
    expect(theirs.locator(".explore .tape button")).to_have_text(["[", "]", "["])
    theirs.get_by_role("button", name="Ĥ", exact=True).click()
    expect(theirs).not_to_have_url(re.compile("matrix="))
    expect(theirs).to_have_url(re.compile("plane=pca"))


def test_the_test_strings_on_which_a_model_is_most_wrong_come_first(page: Page, lab: str) -> None:
    visit(page, lab, rank=4)
    page.get_by_role("button", name="Numbers").click()
    table = page.locator(".explore dialog .tested table")
    data = load_data(FIRST.data)
    result = shipped("both.non", 4)
    words = data.test.sample.words
    off = np.abs(result.model.weights(words) - Dyck().weights(words))
    worst = data.alphabet.decode(words[int(off.argmax())])
    expect(table.locator("td").first).to_have_text(worst)
    expect(table.locator("tr")).to_have_count(len(words) + 1)
    page.get_by_role("group", name="By which model").get_by_text("linear").first.click()
    linear = fit(build_hankel(data.train, FIRST.hankel), "SP", 4).model
    off = np.abs(linear.weights(words) - Dyck().weights(words))
    worst = data.alphabet.decode(words[int(off.argmax())])
    expect(table.locator("td").first).to_have_text(worst)
    table.locator("td button").first.click()
    expect(page.locator(".explore .said b")).to_have_text(worst)


def test_networks_of_the_papers_way_are_shown_beside_those_by_likelihood(
    page: Page, lab: str
) -> None:
    visit(page, lab, rank=4)
    trained_by(page, "nonlinear", "from the matrix")
    expect(page).to_have_url(re.compile("objective=hankel"))
    key = with_fields(FIRST, {"learner": "both.non", "rank": 4}).key()
    scores = load_result(LAB_FOLDER / "assets" / "results" / key).scores
    shown = f"TV {scores.total_variation:.3f}"
    expect(page.locator(".explore .lane.lower .scored")).to_contain_text(shown)


def test_the_nonlinear_lane_shows_how_its_network_was_trained(page: Page, lab: str) -> None:
    visit(page, lab, rank=4, objective="hankel")
    expect(page.get_by_role("switch", name="how rows are compressed")).to_be_checked()
    expect(page.locator(".explore .lane.upper .flips button")).to_be_hidden()
    before = lower(page).bounding_box()
    lower(page).get_by_role("button", name="training").click()
    curve = lower(page).locator(".losses")
    key = with_fields(FIRST, {"learner": "both.non", "rank": 4}).key()
    result = load_result(LAB_FOLDER / "assets" / "results" / key)
    for log in result.report.logs:
        expect(curve).to_contain_text(f"{log.stage} {log.verdict.split(':')[0]}")
    most = max(len(log.losses) - 1 for log in result.report.logs)
    expect(curve).to_contain_text(f"{most:,} epochs")
    assert lower(page).bounding_box() == before
    trained_by(page, "nonlinear", "by likelihood")
    expect(curve).to_contain_text("likelihood ")
    page.get_by_role("switch", name="how states predict").click()
    page.get_by_role("switch", name="how states step").click()
    expect(curve).to_be_hidden()  # nothing was trained
    page.get_by_role("switch", name="how states step").click()
    lower(page).get_by_role("button", name="Ĥ").click()
    expect(lower(page).locator(".matrix")).to_be_visible()


def test_states_stand_on_rings_or_at_their_principal_components(page: Page, lab: str) -> None:
    """Where H does not fall into blocks, at their principal components at first. A third view sets
    the share of strings that end over the first of these."""
    visit(page, lab, rank=6)
    caption = page.locator(".explore .lane.upper .caption").nth(1)
    expect(caption).to_contain_text("have no state left")
    page.get_by_role("button", name="PCA").click()
    hankel = build_hankel(load_data(FIRST.data).train, FIRST.hankel)
    model = fit(hankel, "SP", 6).model
    states = prefix_states(model, hankel.basis.prefixes)
    often = hankel.block.toarray().sum(axis=1)[states.any(axis=1)]
    points = directions(states[states.any(axis=1)])
    values = np.linalg.eigvalsh(np.cov(points.T, aweights=often, ddof=0))[::-1]
    lost = len(states) - len(points)
    share = f"{values[:2].sum() / values.sum():.0%}"
    expect(caption).to_have_text(f"PCA {share}; {lost} of {len(states)}: no state left")
    page.get_by_role("button", name="end", exact=True).click()
    expect(caption).to_have_text("Across: depth; up: how sure it is to end")
    expect(page.locator(".explore .lane.lower .caption").nth(1)).to_contain_text("up: how sure")
    expect(page).to_have_url(re.compile("plane=end"))
    visit(page, lab, rank=5, source="hmm")
    expect(caption).to_contain_text("of the variance")
    page.get_by_role("button", name="rings", exact=True).click()
    expect(caption).to_have_text("A dot for each beginning")


def test_the_linear_model_has_the_same_switch_and_the_address_remembers_it(
    page: Page, lab: str
) -> None:
    visit(page, lab, rank=6)
    expect(page.locator(".explore .verdict .line")).to_contain_text(DIFFERENT)
    trained_by(page, "linear", "by likelihood")
    fields = {"learner": "PFA", "rank": 6, "starts": PFA_STARTS}
    result = load_result(LAB_FOLDER / "assets" / "results" / with_fields(FIRST, fields).key())
    upper = page.locator(".explore .lane.upper")
    scores = result.scores
    expect(upper.locator(".scored")).to_contain_text(f"TV {scores.total_variation:.3f}")
    expect(upper.locator(".scored")).to_contain_text(f"WER {scores.wer:.3f}")
    expect(upper).to_contain_text(f"best of {PFA_STARTS} starts")
    expect(page.locator(".explore .verdict .line")).not_to_contain_text(DIFFERENT)
    weight = float(result.model.weights(Words.of([(0, 0, 0, 1, 1, 1)]))[0])
    said = page.locator(".explore .said").inner_text()
    linear = said.split(" · linear ")[1].split(" · ")[0]
    assert float(linear) == pytest.approx(weight, rel=5e-3)
    expect(page).to_have_url(re.compile("linear=PFA"))
    page.get_by_role("button", name="H: what follows what").click()
    expect(heading(page, "hankel")).to_be_visible()
    page.go_back()
    pressed = page.get_by_role("button", name="by likelihood", pressed=True)
    expect(pressed).to_have_count(2)
    trained_by(page, "linear", "from the matrix")
    expect(page).not_to_have_url(re.compile("linear="))
    expect(page.locator(".explore .verdict .line")).to_contain_text(DIFFERENT)
    alike = page.get_by_role("button", name="Train both alike")
    alike.click()
    expect(page.locator(".explore .verdict .line")).not_to_contain_text(DIFFERENT)
    expect(pressed).to_have_count(2)
    expect(alike).to_be_hidden()


def test_weights_of_a_string_that_is_typed_are_those_of_the_models(page: Page, lab: str) -> None:
    visit(page, lab, rank=6)
    page.get_by_role("textbox", name="A string to follow").fill("[[]][]")
    weight = float(shipped("both.non", 6).model.weights(Words.of([(0, 0, 1, 1, 0, 1)]))[0])
    said = page.locator(".explore .said")
    expect(said).to_contain_text("[[]][] true")
    assert float(said.inner_text().split("nonlinear ")[1]) == pytest.approx(weight, rel=5e-3)


def test_the_switches_choose_the_learner_and_a_title_opens_its_page(page: Page, lab: str) -> None:
    visit(page, lab, rank=3)
    page.get_by_role("switch", name="how states predict").click()
    expect(page).to_have_url(re.compile("learner=tran.non"))
    page.get_by_role("switch", name="how states step").click()
    expect(verdict(page)).to_contain_text("matrices are right for [ⁿ]ⁿ up to depth")
    expect(page).to_have_url(re.compile("learner=SP"))
    page.get_by_role("button", name="H: what follows what").click()
    expect(heading(page, "hankel")).to_be_visible()
    expect(page).to_have_url(re.compile("rank=3"))
    page.go_back()
    expect(verdict(page)).to_contain_text("With 3 states")
    nothing_trains(page)


def lower(page: Page) -> Locator:
    return page.locator(".explore .lane.lower")


def nothing_trains(page: Page) -> None:
    """Waits until Explore's picture has nothing to cancel."""
    cancel = page.locator(".explore").get_by_role("button", name="Cancel")
    expect(cancel).to_have_count(0, timeout=PATIENCE_SECONDS * 1000)


def test_networks_from_the_matrix_are_trained_in_the_picture_that_at_hand_first(
    page: Page, lab: str
) -> None:
    """Those of its four ranks; a matrix of which none is drawn has them trained on Train."""
    visit(page, lab, rank=3, objective="hankel", **STRINGS)
    expect(page.locator(".explore .lane.upper .scored")).to_contain_text("TV")
    expect(lower(page)).to_contain_text(
        "both.non with 3 states has not been trained on these strings, from the matrix."
    )
    lower(page).get_by_role("button", name="Train 1 to 4 states").click()
    expect(lower(page).locator(".scored")).to_contain_text("TV", timeout=PATIENCE_SECONDS * 1000)
    scores = run(with_fields(FIRST, STRINGS | {"learner": "both.non", "rank": 3})).scores
    expect(lower(page).locator(".scored")).to_contain_text(f"TV {scores.total_variation:.3f}")
    nothing_trains(page)
    expect(page.get_by_role("button", name="try 2 more")).to_be_visible()
    for rank in (2, 1):
        cut(page).press("ArrowLeft")
        expect(verdict(page)).to_contain_text(f"With {rank} state")
        expect(lower(page).locator(".scored")).to_contain_text("TV")
    cut(page).press("End")
    expect(lower(page).get_by_role("button", name="Train 17 to 20 states")).to_be_visible()
    visit(page, lab, rank=3, objective="hankel", statistic="prefix")
    lower(page).get_by_role("button", name="Go to Train").click()
    expect(heading(page, "train")).to_be_visible()


def paste(page: Page, strings: list[str]) -> None:
    """On Data."""
    page.get_by_text("Your own strings").first.click()
    page.get_by_role("tab", name="Paste").click()
    box = page.locator("textarea").first
    box.fill("\n".join(strings))
    box.press("Control+Enter")
    settled(page)
    page.get_by_role("button", name="Use these strings").click()
    expect(page).to_have_url(re.compile("upload="))
    settled(page)


def test_a_linear_model_has_no_more_states_than_h_has_rank(page: Page, lab: str) -> None:
    visit(page, lab, "data", rank=5)
    paste(page, ["a b", "a b c", "a", "b c", "a b", "b"] * 20)
    press(page, "data.explore")
    upper = page.locator(".explore .lane.upper")
    rank = re.compile(r"SP: (\d) states, because H has rank \1$")
    expect(upper.locator(".sub")).to_have_text(rank)
    expect(upper.locator(".scored")).to_contain_text("WER")
    said = upper.locator(".scored").inner_text()
    page.get_by_role("slider", name="Rank: number of states").press("ArrowLeft")
    expect(upper.locator(".sub")).to_have_text("SP: matrices only")
    assert upper.locator(".scored").inner_text().startswith(said)


def test_networks_of_own_strings_are_trained_in_the_picture(
    page: Page, lab: str, lab_home: Path
) -> None:
    """By one click. What is there stays where it is, and the numbers are the library's."""
    page.emulate_media(reduced_motion="no-preference")
    visit(page, lab, "data", rank=2)
    nested = ["a" * depth + "b" * depth for depth in range(1, 31)]  # long: a preview takes a while
    paste(page, ["ab", "aabb", "abab", "aaabbb", "aabbab", "abaabb"] * 10 + nested)
    upload = page.url.split("upload=")[1].split("&")[0]
    go(page, "explore")
    button = lower(page).get_by_role("button", name="Train 1 to 4 states")
    expect(button).to_be_visible()
    expect(page.locator(".explore .lane.upper .scored")).to_contain_text("WER")
    still(lower(page))
    page.locator(".explore").evaluate("""box => {
        const seen = (globalThis.seen = new Set());
        const lane = box.querySelector(".lane.lower");
        const steps = (globalThis.steps = []);  // what the lane says and whether it draws, whenever this changes
        const look = () => {
            const { top, left, height } = lane.getBoundingClientRect();
            const text = (part) => lane.querySelector(part).textContent;
            const step = JSON.stringify([lane.querySelector(".missing").hidden, text(".sub"), text(".scored"), box.querySelector("h2").textContent]);
            if (steps.at(-1) !== step) steps.push(step);
            let opacity = 1;
            for (let node = box; node instanceof Element; node = node.parentElement ?? node.getRootNode().host)
                opacity *= getComputedStyle(node).opacity;
            seen.add([top, left, height, opacity, box.isConnected, box.querySelectorAll("canvas").length].join());
            requestAnimationFrame(look);
        };
        look();
    }""")  # noqa: E501
    button.click()
    expect(lower(page).get_by_role("button", name="Cancel")).to_be_visible()
    expect(lower(page).locator(".scored")).to_contain_text("WER", timeout=PATIENCE_SECONDS * 1000)
    nothing_trains(page)
    assert len(page.evaluate("() => [...globalThis.seen]")) == 1, page.evaluate(
        "() => [...globalThis.seen]"
    )
    steps = [json.loads(step) for step in page.evaluate("() => globalThis.steps")]
    is_drawn = [hidden for hidden, *_ in steps]
    assert is_drawn == sorted(is_drawn), "what was drawn goes on until its replacement is there"
    previews = [step for step in steps if "training …" in step[1] and step[0] and not step[2]]
    assert any(said.startswith("preview: ") for _, said, *_ in previews), steps
    assert {head for *_, head in previews} == {
        "With 2 states, the nonlinear model is not trained yet"
    }
    said = page.locator(".explore .said")
    for rank in (1, 2, 3, 4):
        cut(page).press("Home")
        for _ in range(rank - 1):
            cut(page).press("ArrowRight")
        expect(verdict(page)).to_contain_text(f"With {rank} state")
        fields = {"source": "upload", "upload": upload, "num_strings": 1_000_000}
        options = {"learner": "both.non", "rank": rank, "objective": "likelihood"}
        recipe = with_fields(with_fields(FIRST, fields), options)
        assert (lab_home / "runs" / recipe.key() / "result.json").exists()
        if rank not in (1, 2):
            continue  # the other two take as long again, and are drawn in the same way
        result = run(recipe, files=FileShelf(lab_home / "uploads").get)
        expect(lower(page).locator(".scored")).to_contain_text(f"WER {result.scores.wer:.3f}")
        weight = float(result.model.weights(Words.of([(0, 0, 1, 1)]))[0])
        page.get_by_role("textbox", name="A string to follow").fill("aabb")
        eventually(
            lambda: float(said.inner_text().split("nonlinear ")[1]), pytest.approx(weight, rel=5e-3)
        )
    cut(page).press("Home")
    seeds = page.locator(".explore .seeds")
    expect(seeds).to_contain_text("both.non: one seed")
    seeds.get_by_role("button", name="try 2 more").click()
    expect(seeds).to_contain_text("with 2 other seeds", timeout=PATIENCE_SECONDS * 1000)
    expect(page.locator(".explore .seed")).to_have_count(2)
    expect(verdict(page).locator("..")).to_contain_text(
        re.compile(r"3\sof\s3\sseeds|seeds disagree")
    )
    go(page, "history")
    expect(page.locator(".stDataFrame canvas table").first).to_contain_text("both.non, k = 4")


def test_words_as_symbols_are_told_apart(page: Page, lab: str) -> None:
    visit(page, lab, "data", rank=1)
    walks = ["search item", "search item cart", "sale item", "item cart pay", "about us sale help"]
    strings = [f"home {walk} leave" for walk in walks]
    paste(page, [*strings, strings[0], "home leave"] * 20)
    go(page, "explore")
    lower(page).get_by_role("button", name="Train 1 to 4 states").click()
    expect(lower(page).locator(".scored")).to_contain_text("WER", timeout=PATIENCE_SECONDS * 1000)
    symbols = [
        page.locator(f".explore .lane.{lane} .next .row b").all_inner_texts()
        for lane in ("upper", "lower")
    ]
    assert symbols[0] == symbols[1] and len(symbols[0]) == 7 and "" not in symbols[0]
    lefts = page.locator(".explore .next .own").evaluate_all(
        "bars => bars.map((bar) => bar.getBoundingClientRect().left)"
    )
    assert len(set(lefts)) == 1
    ticks = page.locator(".explore .depth .rung")
    expect(ticks).to_have_text([re.compile(f"^{number}home") for number in range(1, 5)])
    ticks.nth(1).click()
    expect(page.locator(".explore .rungs")).to_have_text("2: home search item leave")
    expect(page.locator(".explore .tape button")).to_have_text(["home", "search", "item", "leave"])
    listed = page.locator(".explore .strings .mono").all_inner_texts()
    assert len(set(listed)) == len(listed) == 6
    nothing_trains(page)  # whose runs would appear during another test


def test_play_begins_again_where_a_string_is_at_its_end(page: Page, lab: str) -> None:
    visit(page, lab, rank=3)
    page.get_by_role("textbox", name="A string to follow").fill("[[[]")
    follow = page.locator(".explore .foot")
    play = follow.get_by_role("button", name="Play")
    expect(play).to_have_attribute("title", "Read it again from the start")
    play.click()
    expect(follow.get_by_role("button", name="Pause")).to_be_visible()
    expect(follow.locator(".tape .read")).to_have_count(0)
    expect(play).to_have_attribute("title", "Read it again from the start")
    expect(follow.locator(".tape .now")).to_have_text("]")


def test_a_training_is_cancelled_in_its_lane_and_by_other_strings(
    page: Page, fresh_lab: str, tmp_path: Path
) -> None:
    visit(page, fresh_lab, source="verbs", rank=3)
    train = lower(page).get_by_role("button", name="Train 1 to 4 states")
    train.click()
    expect(lower(page)).to_contain_text(re.compile("training(: 3 states, then 3 more models)? …"))
    # once there is something to draw, the lane is drawn, and its button stands elsewhere
    expect(lower(page).locator(".plane canvas")).to_be_visible()
    lower(page).get_by_role("button", name="Cancel").click()
    expect(train).to_be_visible()
    train.click()
    expect(lower(page)).to_contain_text(re.compile("training(: 3 states, then 3 more models)? …"))
    go(page, "data")
    expect(keyed(page, "elsewhere")).to_contain_text("both.non, k = 3 is training")
    choose(page, "source", "tomita")
    expect(keyed(page, "elsewhere")).to_have_count(0)
    go(page, "explore")
    more = lower(page).get_by_role("button", name="Train 1 to 4 states")
    expect(more).to_be_visible()
    page.go_back()
    page.go_back()
    expect(train).to_be_visible()
    assert not [*(tmp_path / "runs").glob("*/result.json")]


def test_linear_models_by_likelihood_are_trained_in_the_picture_and_more_of_them_later(
    page: Page, lab: str
) -> None:
    visit(page, lab, rank=3, linear="PFA", **STRINGS)
    upper = page.locator(".explore .lane.upper")
    expect(upper).to_contain_text("A PFA with 3 states has not been trained on these strings.")
    expect(verdict(page)).to_have_text("With 3 states, there is no model to draw yet")
    expect(upper.get_by_role("button", name="Train 1 to 4 states")).to_be_visible()
    visit(page, lab, rank=3, **STRINGS)
    page.get_by_role("button", name="Train both alike").click()
    told = f"PFA by EM: weights ≥ 0, best of {PFA_STARTS} starts"
    expect(upper.locator(".sub")).to_have_text(told, timeout=PATIENCE_SECONDS * 1000)
    expect(verdict(page)).to_have_text("With 3 states, the nonlinear model is not trained yet")
    cut(page).press("ArrowRight")
    cut(page).press("ArrowRight")
    expect(upper.get_by_role("button", name="Train 5 to 8 states")).to_be_visible()


def test_settings_are_drawn_while_they_are_open(page: Page, lab: str) -> None:
    visit(page, lab, rank=3, num_test=200)
    expect(page.locator(".explore .lane.upper .scored")).to_contain_text("TV")
    assert not keyed(page, "rank").count()
    page.get_by_role("button", name="More settings").click()
    expect(keyed(page, "rank").locator("input")).to_have_value("3")
    assert not keyed(page, "num_test").count()
    page.get_by_text("Held-out strings and seed").click()
    expect(keyed(page, "num_test").locator("input")).to_have_value("200")
    keyed(page, "num_test").locator("input").fill("150")
    keyed(page, "num_test").locator("input").press("Enter")
    expect(page).to_have_url(re.compile("num_test=150"))
    page.get_by_role("button", name="Fewer settings").click()
    expect(keyed(page, "rank")).to_have_count(0)
    cut(page).press("ArrowRight")  # what is not drawn keeps its value, and follows
    expect(page).to_have_url(re.compile("rank=4.*num_test=150|num_test=150.*rank=4"))
    page.get_by_role("button", name="More settings").click()
    expect(keyed(page, "rank").locator("input")).to_have_value("4")
