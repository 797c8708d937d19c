"""What a user writes is shown as it is written: Markdown, formulas, icons and HTML in it mean
nothing.
"""

from __future__ import annotations

import gc
import json
import re
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from streamlit.runtime.caching.cache_resource_api import clear_session_cache
from streamlit.testing.v1 import AppTest

from pages.shared import context
from pages.shared.widgets import escape_markdown, written_string
from tests.app.lab import (
    QUICK,
    all_pages,
    complaints,
    go,
    markdown_texts,
    open_lab,
    recipe_of,
    trained,
    type_text,
)
from tests.app.test_data import upload
from tests.quick import HOSTILE
from tests.waiting import wait_for

TRICKY = (*HOSTILE, "1.", "#")
TOKENS = "\n".join(
    " ".join(TRICKY[start:] + TRICKY[:start]) for start in range(len(TRICKY))
).encode()
LETTERS = "\n".join(token * 2 for token in TRICKY).encode()


CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")  # a code span, in which nothing has a meaning


def assert_shown_as_written(app: AppTest) -> None:
    assert not app.exception
    for text in (CODE.sub("", text) for text in markdown_texts(app)):
        assert not [token for token in HOSTILE[:14] if token in text]
    for chart in app.get("plotly_chart"):
        texts = json.dumps(json.loads(chart.proto.spec), ensure_ascii=False)
        assert not [token for token in HOSTILE[:3] if token in texts]


@given(st.text(st.sampled_from("`ab <*[]$:\\&"), min_size=1).filter(str.strip))
def test_a_string_in_monospace_is_one_code_span_whatever_is_in_it(text: str) -> None:
    (_, span, _) = MarkdownIt().parseInline(f"x {written_string(text)} y")[0].children or []
    assert (span.type, span.content) == ("code_inline", text)
    assert CODE.sub("", written_string(text)) == ""


@pytest.mark.parametrize("data", [TOKENS, LETTERS], ids=["tokens", "letters"])
def test_strings_are_shown_as_written_on_every_page(data: bytes) -> None:
    app = upload(
        open_lab("data", **QUICK | {"learner": "SP", "num_validation": 1, "num_test": 1}), data * 3
    )
    assert not complaints(app)
    assert_shown_as_written(app)
    trained(go(app, "train"))
    for page, shown in all_pages(app):
        assert not complaints(shown)
        assert_shown_as_written(shown)
        if page == "predict":
            type_text(shown, " ".join(HOSTILE[:6]) if data is TOKENS else "<b>**$")
            assert_shown_as_written(shown)
            assert_shown_as_written(shown.toggle(key="predict.by_hand").set_value(True).run())
        if page == "states":
            for colour in ("length", "next symbol"):
                assert_shown_as_written(
                    shown.segmented_control(key="states.colour").set_value(colour).run()
                )
        if page == "hankel":
            assert_shown_as_written(shown.selectbox(key="hankel.block").set_value(0).run())


@pytest.mark.parametrize("start", range(0, len(TRICKY), 6))
def test_errors_and_notes_quote_as_written(start: int) -> None:
    tokens = TRICKY[start : start + 6]
    app = upload(open_lab("data", **QUICK), b"a b\nb a\n" * 20)
    lines = "a b\n" + "".join(f"{token} a\n" for token in tokens)
    upload(app, lines.encode(), "upload_test")  # new in the test strings: a note
    assert not complaints(app)
    for token in tokens:
        assert any(escape_markdown(token) in note.value for note in app.info)
    assert_shown_as_written(app)
    for token in tokens:
        upload(app, f"1 2\n1 {token}\n".encode())
        assert len(complaints(app)) == 1
        assert_shown_as_written(app)
    go(app, "predict")
    for token in tokens:
        type_text(app, f"a {token}x")
        assert len(complaints(app)) == 1
        assert_shown_as_written(app)


@pytest.mark.slow
def test_no_page_holds_uploaded_strings_when_their_session_lets_go_of_them() -> None:
    """The session is still there: its widgets, whose functions Streamlit stores, must not hold the
    strings.

    On Predict, fragments do, until Streamlit drops the session two minutes later.
    """
    app = upload(
        open_lab("data", **QUICK | {"learner": "SP", "num_validation": 1, "num_test": 1}),
        b"ab\nba\nabab\nb\n" * 20,
    )
    recipe = recipe_of(app).data
    trained(go(app, "train"))
    for page, shown in all_pages(app):
        assert not complaints(shown)
        held = [
            weakref.ref(shared.value)
            for (kind, key), shared in context._shared.items()
            if (kind, key) == ("data", recipe.key())
        ]
        assert held or page not in ("data", "hankel", "train")
        clear_session_cache("test session id")  # AppTest's only one
        if page != "predict":
            # while another thread collects garbage, `gc.collect` does nothing
            wait_for(lambda held=held: gc.collect() >= 0 and not any(value() for value in held))
