"""What a user writes is seen as it is written, whatever a browser could make of it."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from tests.browser.screen import (
    QUICK,
    chart,
    go,
    keyed,
    metric,
    settled,
    still,
    train,
    upload,
    visit,
    watched,
)
from tests.quick import HOSTILE

ELEMENTS = (
    "img, b, strong, em, a, del, .katex, .stMarkdownColoredText, [data-testid=stIconMaterial]"
)


def seen(place: Locator) -> str:
    """The text that a person sees; a word joiner takes no space."""
    return place.inner_text().replace("\u2060", "")


def meant_nothing(page: Page) -> None:
    """No element was made of a user's strings.

    The lab's own code spans hold whole strings, and nothing but text.
    """
    main = page.get_by_test_id("stMain")
    code = main.locator("[data-testid=stCaptionContainer] code")
    assert all(
        HOSTILE[0] in text or not any(token in text for token in HOSTILE)
        for text in code.all_inner_texts()
    )
    expect(
        main.locator("[data-testid=stAlert] p, [data-testid=stCaptionContainer]").locator(ELEMENTS)
    ).to_have_count(0)
    expect(main.locator(".js-plotly-plot text").locator("a, tspan[style*=bold]")).to_have_count(0)


def test_symbols_are_seen_as_written(page: Page, lab: str) -> None:
    with watched(page) as found:
        visit(page, lab, "data", **QUICK)
        upload(page, "upload", b"a b\nb a\n" * 20)
        expect(page).not_to_have_url(page.url)
        settled(page)
        upload(
            page,
            "upload_test",
            "\n".join([*(f"{token} b" for token in HOSTILE[:12]), "a b"]).encode(),
        )
        note = page.get_by_test_id("stAlert").first
        expect(note).to_be_visible()
        for token in HOSTILE[:8]:
            assert token in seen(note)
        meant_nothing(page)

        lines = "".join(f"{token} {token}\n" for token in HOSTILE) * 3
        visit(page, lab, "data", **QUICK)
        upload(page, "upload", lines.encode())
        expect(metric(page, "symbols")).to_have_text(str(len(HOSTILE)))
        settled(page)
        shown = chart(page, "data.symbols").locator(".xtick text").all_text_contents()
        assert shown and set(shown) <= set(HOSTILE)
        go(page, "hankel")
        expect(page.locator(".lens .word").first).to_be_visible()
        shown = page.locator(".lens .word span:first-child").all_text_contents()
        assert {"<b>b</b>", "**x**", "&lt;"} <= set(shown)
        words = page.locator(".lens .word").filter(has_text="<b>b</b>")
        words.first.click()
        settled(page)
        expect(keyed(page, "hankel.chosen")).to_contain_text("<b>b</b>")
        expect(page.locator(".lens .tip")).to_contain_text("<b>b</b>")
        expect(page.locator(".lens").locator("img, a, em, .word b, .tip b b")).to_have_count(0)
        expect(keyed(page, "hankel.chosen").locator("img, a, em, code, del, .katex")).to_have_count(
            0
        )
        meant_nothing(page)
        keyed(page, "hankel.block").scroll_into_view_if_needed()
        still(keyed(page, "hankel.block"))
        keyed(page, "hankel.block").get_by_role("combobox").click()
        for token in HOSTILE:
            expect(
                page.get_by_role("option", name=f"H_{token}: rows u {token}", exact=True)
            ).to_be_attached()
        page.keyboard.press("Escape")
        go(page, "train")
        train(page)
        go(page, "states")
        field = keyed(page, "states.string").get_by_role("textbox")
        field.fill(" ".join(HOSTILE))
        field.press("Enter")
        caption = (
            page.get_by_test_id("stMain")
            .get_by_test_id("stCaptionContainer")
            .filter(has_text="the line follows")
        )
        expect(caption).to_contain_text("smile")
        assert " ".join(HOSTILE) in seen(caption)
        meant_nothing(page)
        go(page, "predict")
        keyed(page, "predict.string").get_by_role("textbox").fill(" ".join(HOSTILE) + " **new**")
        error = page.get_by_test_id("stMain").get_by_test_id("stAlert").first
        expect(error).to_contain_text("is not in the alphabet")
        assert "**new**" in seen(error) and HOSTILE[0] in seen(error)
        meant_nothing(page)
    assert found == {"requests": [], "errors": [], "dialogs": []}


def test_a_refused_file_leaves_its_slot_empty_for_the_next(page: Page, lab: str) -> None:
    strings = b"3 2\n2 0 1\n0\n1 1\n"
    solution = b"3\n0.5\n0.25\n0.125\n"
    with watched(page) as found:
        visit(page, lab, "data", **QUICK)
        upload(page, "upload", b"30 2\n" + b"2 0 1\n0\n1 1\n" * 10, "train.txt")
        expect(
            page.get_by_test_id("stMain").get_by_text(": read as pautomac: 2 symbols: 0 1")
        ).to_be_visible()
        upload(page, "upload_test", strings, "test.txt")
        expect(metric(page, "test strings")).to_have_text("3")
        place = keyed(page, "upload.upload_solution")
        for name in ("one.txt", "two.txt"):
            upload(page, "upload_solution", strings, name)
            refused = keyed(page, "upload.upload_solution.refused")
            expect(refused).to_contain_text(f"{name}: this must be a PAutomaC solution")
            expect(place.filter(has_text=name)).to_have_count(0)
            settled(page)
        upload(page, "upload_solution", solution, "solution.txt")
        expect(keyed(page, "upload.upload_solution.refused")).to_have_count(0)
        expect(
            page.get_by_test_id("stMain").get_by_text(
                ": read as a PAutomaC solution: 3 probabilities"
            )
        ).to_be_visible()
        expect(keyed(page, "take_out.upload_solution")).to_contain_text(
            "Remove the file solution.txt"
        )
        expect(page.get_by_test_id("stSidebar")).to_contain_text(
            "File of true probabilities: solution.txt"
        )
    assert found == {"requests": [], "errors": [], "dialogs": []}
