"""The main job and what threatens it, in a real browser: own strings, training, F5, cancel, links,
bad files.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from nlwfa_core.metrics.score_table import SCORE_OF
from nlwfa_core.sources.pautomac import write_pautomac, write_solution
from nlwfa_core.sources.random_automata import random_automaton, sample_words
from tests.browser.screen import (
    ENDLESS,
    QUICK,
    chart,
    choose,
    download_csv,
    drawn,
    eventually,
    go,
    heading,
    keyed,
    metric,
    press,
    received_bytes,
    rows,
    scores,
    settled,
    sort,
    traces,
    train,
    upload,
    visit,
    write,
)
from tests.waiting import PATIENCE_SECONDS

AUTOMATON = random_automaton(3, 3, 7)
TRAIN = write_pautomac(sample_words(AUTOMATON, 400, 1), 3).encode()
TEST_WORDS = sample_words(AUTOMATON, 60, 2)
TEST = write_pautomac(TEST_WORDS, 3).encode()
SOLUTION = write_solution(AUTOMATON.weights(TEST_WORDS)).encode()
PROGRESS = re.compile("fac.non, k = 2: .*epoch [0-9,]+ of 100,000")


@pytest.mark.slow
def test_a_click_on_a_heading_sorts_by_value_and_the_download_has_all_digits(
    page: Page, lab: str
) -> None:
    title = SCORE_OF["log2_pauto"].short_title
    # screen readers see the columns that are in view
    page.set_viewport_size({"width": 1700, "height": 900})
    visit(page, lab, "train", **QUICK | {"data_seed": 8})
    train(page)
    before = eventually(
        lambda: {row[0]: row for row in rows(page)},
        lambda cells: "SP" in cells and "true model" in cells,
    )
    shown = scores(page)
    assert shown["SP"][title] == "∞" and re.fullmatch(r"\d\.\d{3}", shown["true model"][title])
    sort(page, 0, title)
    order = [row[0] for row in rows(page)]
    position = list(shown["SP"]).index(title) + 1
    assert (
        order == sorted(order, key=lambda name: float(before[name][position]))
        and order[0] == "true model"
    )
    assert [name for name in order if shown[name][title] == "∞"] == order[
        -sum(cells[title] == "∞" for cells in shown.values()) :
    ]
    saved = {row["model"]: row for row in download_csv(page, "train.scores.files")}
    assert saved.keys() == before.keys() and saved["SP"][title] == "inf"
    for name, row in saved.items():
        assert float(row[title]) == float(before[name][position])
    assert len(saved["true model"][title]) > 12


@pytest.mark.slow
def test_own_strings_from_upload_to_comparison(page: Page, lab: str) -> None:
    visit(page, lab, "data", **QUICK | {"num_strings": 1000, "rank": 3})
    upload(page, "upload", TRAIN)
    expect(metric(page, "training strings")).to_have_text("320")
    upload(page, "upload_test", TEST)
    expect(metric(page, "test strings")).to_have_text("60")
    upload(page, "upload_solution", SOLUTION)
    expect(page).to_have_url(re.compile("upload_solution="))
    settled(page)
    eventually(lambda: traces(page, "data.symbols")[0]["count"], 3)

    go(page, "hankel")
    expect(page.locator(".lens .word").first).to_contain_text("λ")
    assert drawn(page) > 1000
    expect(keyed(page, "hankel.singular_values").get_by_role("slider")).to_have_attribute(
        "aria-valuemax", "30"
    )

    go(page, "train")
    train(page)
    eventually(lambda: rows(page)[0][0], "SP")
    assert re.fullmatch(r"0\.\d{3}", scores(page)["SP"]["WER"])
    choose(page, "learner", "fac.non")
    page.get_by_text("Networks", exact=True).click()
    write(page, "epochs_factorisation", 60)
    train(page)
    expect(keyed(page, "train.losses").locator("canvas").first).to_be_visible()
    eventually(lambda: rows(page)[0][0], "fac.non")
    eventually(lambda: [row[0] for row in rows(page, 1)], ["SP", "fac.non"])
    expect(
        page.get_by_text("60 test strings, weighted by their true probabilities").first
    ).to_be_visible()

    go(page, "states")
    eventually(
        lambda: sum(trace["count"] for trace in traces(page, "states.pca")),
        lambda number: number > 30,
    )

    go(page, "compare")
    for rank in ("5", "10"):
        keyed(page, "ranks").get_by_role("button", name=rank, exact=True).click()
    settled(page)
    train(page, "compare")
    eventually(
        lambda: [(curve["name"], curve["count"]) for curve in traces(page, "compare.curves")],
        [("SP", 3)],
    )
    for reference in ("uniform", "5-gram"):
        expect(
            chart(page, "compare.curves").locator(".annotation").filter(has_text=reference)
        ).to_have_count(1)


@pytest.mark.slow
def test_reload_while_it_trains_shows_the_same_run(page: Page, lab: str) -> None:
    visit(page, lab, "train", **ENDLESS | {"data_seed": 1})
    press(page, "train.start")
    expect(page.get_by_text(PROGRESS)).to_be_visible()
    page.reload()
    expect(heading(page, "train")).to_be_visible()
    expect(page.get_by_text(PROGRESS)).to_be_visible()
    expect(keyed(page, "train.start")).to_have_count(0)
    go(page, "hankel")
    go(page, "train")
    expect(page.get_by_text(PROGRESS)).to_be_visible()
    press(page, "train.cancel")
    expect(page.get_by_text("fac.non, k = 2: cancelled.")).to_be_visible()


def test_cancel_frees_the_worker_and_says_so(page: Page, lab: str) -> None:
    visit(page, lab, "train", **ENDLESS | {"data_seed": 2})
    press(page, "train.start")
    expect(page.get_by_text(PROGRESS)).to_be_visible()
    press(page, "train.cancel")
    expect(page.get_by_text("fac.non, k = 2: cancelled.")).to_be_visible()
    expect(keyed(page, "train.start")).to_be_visible()
    choose(page, "learner", "SP")
    train(page)
    eventually(lambda: rows(page)[0][0], "SP")


@pytest.mark.slow
def test_a_run_that_two_people_watch_stops_when_both_have_cancelled_it(
    page: Page, new_page: Callable[[], Page], lab: str
) -> None:
    mine = page
    theirs = new_page()
    visit(mine, lab, "train", **ENDLESS | {"data_seed": 7})
    press(mine, "train.start")
    expect(mine.get_by_text(PROGRESS)).to_be_visible()
    theirs.goto(mine.url)
    expect(theirs.get_by_text(PROGRESS)).to_be_visible()
    press(mine, "train.cancel")
    expect(mine.get_by_test_id("stToast")).to_contain_text(
        "Someone else is waiting for this run, so it continues."
    )
    expect(theirs.get_by_text(PROGRESS)).to_be_visible()
    press(theirs, "train.cancel")
    expect(theirs.get_by_text("fac.non, k = 2: cancelled.")).to_be_visible()


@pytest.mark.slow
def test_a_result_that_comes_while_one_looks_elsewhere_is_there_when_one_is_back(
    page: Page, lab: str
) -> None:
    visit(
        page,
        lab,
        "train",
        **QUICK | {"learner": "both.non", "epochs_factorisation": 900, "data_seed": 3},
    )
    press(page, "train.start")
    expect(keyed(page, "train.cancel")).to_be_visible()
    go(page, "data")
    go(page, "train")
    expect(keyed(page, "train.cancel")).to_have_count(0, timeout=PATIENCE_SECONDS * 1000)
    settled(page)
    shown = eventually(lambda: rows(page), lambda table: table[0][0] == "both.non")
    page.reload()
    eventually(lambda: rows(page), shown)


@pytest.mark.slow
def test_a_number_that_was_just_written_is_trained_with(page: Page, lab: str) -> None:
    """Who presses the button without leaving the field first means what stands there."""
    visit(page, lab, "train", **QUICK | {"data_seed": 6, "learner": "fac.non"})
    keyed(page, "rank").locator("input").fill("5")
    train(page)
    expect(page.get_by_text("k = 5").first).to_be_visible()
    eventually(lambda: rows(page)[0][0], "fac.non")


@pytest.mark.slow
def test_a_link_shows_another_person_the_same_numbers(
    page: Page, new_page: Callable[[], Page], lab: str
) -> None:
    mine = page
    visit(mine, lab, "train", **QUICK | {"data_seed": 4})
    write(mine, "rank", 3)
    write(mine, "num_prefixes", 25)
    train(mine)
    theirs = new_page()
    theirs.goto(mine.url)
    eventually(lambda: rows(theirs), rows(mine))
    expect(keyed(theirs, "num_prefixes").locator("input")).to_have_value("25")


def test_a_bad_file_is_one_sentence_and_the_former_strings_stay(page: Page, lab: str) -> None:
    visit(page, lab, "data", **QUICK)
    place = keyed(page, "own_strings")
    place.locator("summary").click()
    place.get_by_role("tab", name="Upload").click()
    upload(page, "upload", TRAIN)
    expect(metric(page, "symbols")).to_have_text("3")
    settled(page)
    link = page.url
    upload(page, "upload", b"2 3\n1 0\n1 9\n")
    refused = page.get_by_test_id("stAlert")
    expect(refused).to_have_text(
        re.compile("line 3: symbol 9 is not in the header's alphabet of 3 symbols")
    )
    expect(refused).to_be_visible()
    settled(page)
    expect(refused).to_have_count(1)
    expect(page.get_by_test_id("stToast")).to_have_count(0)
    expect(metric(page, "symbols")).to_have_text("3")
    assert page.url == link
    press(page, "upload.upload.dismiss")
    expect(refused).to_have_count(0)


def test_the_heat_map_of_the_papers_matrix_is_light(page: Page, lab: str) -> None:
    """1,000 × 1,000 numbers are 8 MB, and as text 40: what is sent is made for the screen."""
    sizes = received_bytes(page)
    visit(
        page,
        lab,
        "hankel",
        num_strings=20_000,
        num_prefixes=1000,
        num_suffixes=1000,
        rank=10,
        learner="SP",
    )
    assert drawn(page) > 1000
    assert sum(sizes) < 2e6
