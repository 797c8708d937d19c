"""What only a browser shows of the States and Predict pages: the token, and typing."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.screen import (
    DESKTOP,
    FITS,
    PHONE,
    QUICK,
    chart,
    eventually,
    go,
    keyed,
    press,
    rows,
    settled,
    train_if_missing,
    visit,
    watched,
)

RECIPE = QUICK | {"data_seed": 31, "rank": 3}


def weight_is(page: Page, model: str, wanted: str) -> None:
    """Waits for the table to say so; nobody presses anything."""
    eventually(
        lambda: {row[0]: row[1] for row in rows(page)},
        lambda cells: f"{float(cells.get(model) or 'nan'):.6g}" == wanted,
    )


def test_a_token_stops_where_the_automaton_has_no_arrow(page: Page, lab: str) -> None:
    with watched(page) as found:
        visit(page, lab, "states", learner="SP", rank=3)
        box = page.locator(".walk")
        said = box.locator(".said")
        field = box.get_by_role("textbox", name="String")
        token = box.locator(".token")
        expect(said).to_have_text("Nothing has been read yet. The state is α₀: states 2 and 3.")
        field.fill("[[]]]")
        field.press("Backspace")
        expect(box.locator(".tape button")).to_have_text(["[", "[", "]", "]"])
        step = box.get_by_role("button", name="Step", exact=True)
        step.click()
        expect(said).to_have_text("[ is read. The token is at state 1.")
        expect(token).not_to_have_class(re.compile("lost"))
        step.click()
        expect(said).to_have_text(
            "No arrow reads [ after [: the state is 0 0 0, and every string that begins with "
            "[[ gets the weight 0."
        )
        expect(token).to_have_class(re.compile("lost"))
        expect(box.locator(".bars .value")).to_have_text(["0", "0", "0"])
        nodes = box.locator(".node").count()
        box.get_by_role("slider").fill("5")  # without the server
        expect(box.locator(".node")).to_have_count(nodes + 2)
        expect(said).to_have_text("[ is read. The token is at state 4.")
        expect(token).not_to_have_class(re.compile("lost"))
        step.focus()
        page.keyboard.press("End")
        expect(said).to_have_text(
            re.compile(r"The weight is f\(\[\[\]\]\) = 0\.133; in the true model 0\.16\.$")
        )
        field.fill("[a<b>")
        expect(box.get_by_role("alert")).to_have_text(re.compile("'a' is not in the alphabet"))
        expect(box.locator(".tape button")).to_have_count(4)  # the string before still walks
    assert found == {"requests": [], "errors": [], "dialogs": []}


def test_the_weight_follows_each_letter_and_the_field_keeps_focus_and_caret(
    page: Page, lab: str
) -> None:
    with watched(page) as found:
        visit(page, lab, "train", **RECIPE)
        train_if_missing(page)
        go(page, "predict")
        # Train, which may still be there, has a String, too
        field = keyed(page, "predict.string").get_by_role("textbox")
        expect(field).to_have_value("[]")
        field.click()
        field.press("Control+a")
        uniform = {"[": 1 / 9, "[[": 1 / 27, "[[]": 1 / 81, "[[]]": 1 / 243}
        for letter, (text, weight) in zip("[[]]", uniform.items(), strict=True):
            page.keyboard.type(letter)
            weight_is(page, "uniform", f"{weight:.6g}")
            assert field.input_value() == text
            expect(field).to_be_focused()
        field.press("Home")
        page.keyboard.type("[]")  # in front of the rest: the caret stays where it is
        weight_is(page, "uniform", f"{3.0**-7:.6g}")
        page.keyboard.type("[")
        assert field.input_value() == "[][[[]]"
        assert field.evaluate("input => [input.selectionStart, input.selectionEnd]") == [3, 3]
        weight_is(page, "uniform", f"{3.0**-8:.6g}")
        go(page, "data")
        go(page, "predict")
        expect(field).to_have_value("[][[[]]")
    assert found == {"requests": [], "errors": [], "dialogs": []}


def test_html_that_is_typed_is_text(page: Page, lab: str) -> None:
    with watched(page) as found:
        visit(page, lab, "predict", **RECIPE)
        field = page.get_by_role("textbox", name="String", exact=True)
        field.fill("<img src=x onerror=alert(1)>")
        error = page.get_by_test_id("stMain").get_by_test_id("stAlert").first
        expect(error).to_contain_text("'<img' is not in the alphabet")
        expect(page.get_by_test_id("stMain").locator("img")).to_have_count(0)
        expect(field).to_have_value("<img src=x onerror=alert(1)>")
        field.fill("[]")
        expect(page.get_by_text("is not in the alphabet")).to_have_count(0)
    assert found == {"requests": [], "errors": [], "dialogs": []}


def test_states_and_predict_fit_a_phone_with_all_that_they_have(page: Page, lab: str) -> None:
    page.set_viewport_size(PHONE)
    visit(page, lab, "train", **RECIPE)
    train_if_missing(page)
    page.set_viewport_size(DESKTOP)
    press(page, "pins.A")
    expect(page).to_have_url(re.compile("[?&]a="))
    address = page.url.partition("?")[2] + "&rank=4"
    page.set_viewport_size(PHONE)
    page.goto(f"{lab}/states?{address}")
    settled(page)
    train_if_missing(page, "states")
    expect(chart(page, "states.overlay")).to_be_visible()
    keyed(page, "states.as_graph").locator("summary").click()
    expect(keyed(page, "states.graph").locator("svg g.node").first).to_be_visible()
    page.wait_for_function(FITS, arg=PHONE["width"])
    page.goto(f"{lab}/predict?{address}&predict.by_hand=true")
    settled(page)
    expect(page.locator(".katex").last).to_be_visible()
    expect(
        page.locator(".stDataFrame canvas [role=gridcell]", has_text="A: SP, k = 3").first
    ).to_be_attached()
    page.wait_for_function(FITS, arg=PHONE["width"])
    expect(page.locator(".katex-error")).to_have_count(0)
