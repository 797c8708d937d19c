"""Errors as messages, and tables that hold numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
import streamlit as st
from streamlit.dataframe_util import (
    convert_arrow_bytes_to_pandas_df,
    convert_pandas_df_to_arrow_bytes,
)
from streamlit.elements.lib.pandas_styler_utils import marshall_styler
from streamlit.proto.ArrowData_pb2 import ArrowData
from streamlit.testing.v1 import AppTest

from nlwfa_core.metrics.tables import Numbers, format_score
from pages.shared import navigation, widgets
from pages.shared.widgets import written_table
from tests.app.lab import QUICK, complaints, open_lab


def test_what_nobody_foresaw_is_one_calm_sentence_with_the_logs_id(monkeypatch, caplog):
    def broken(*_):
        raise ZeroDivisionError("secret detail")

    app = open_lab("data", **QUICK)
    monkeypatch.setattr("pages.views.data.most_frequent", broken)
    app.run()
    said = complaints(app)
    assert len(said) == 1 and "Something went wrong" in said[0] and "secret" not in said[0]
    name = said[0].split("(id ")[1][:8]
    assert name in caplog.text and "secret detail" in caplog.text
    monkeypatch.undo()
    assert not complaints(app.run())


def test_a_table_holds_numbers_and_shows_texts():
    values = (2.5, math.inf, None, 1234.5678901234567, math.nan)
    table = {"model": ["a", "[[]", "c", "d", "e"], "score": Numbers.written(values, format_score)}
    styler = written_table(table)
    proto = ArrowData()
    marshall_styler(proto, styler, "table")
    shown = convert_arrow_bytes_to_pandas_df(proto.styler.display_values)
    assert list(shown["score"]) == ["2.500", "∞", "–", "1234.568", "undefined"] and list(
        shown["model"]
    ) == [
        "a",
        "[\u2009[\u2009]",
        "c",
        "d",
        "e",
    ]
    values_sent = convert_arrow_bytes_to_pandas_df(convert_pandas_df_to_arrow_bytes(styler.data))
    assert list(values_sent["model"]) == table["model"]  # what a table's CSV file holds
    sent = values_sent["score"]
    np.testing.assert_array_equal(sent, [2.5, math.inf, math.nan, 1234.5678901234567, math.inf])
    plain = ArrowData()
    marshall_styler(
        plain,
        styler.data.style.format({"score": lambda value: f"{value:.3f}".replace("inf", "∞")}),
        "table",
    )
    by_pandas = convert_arrow_bytes_to_pandas_df(plain.styler.display_values)["score"]
    assert list(by_pandas[[0, 1, 3]]) == list(shown["score"][[0, 1, 3]])


def test_a_column_that_stays_visible_has_the_contrast_that_people_need() -> None:
    """WCAG 2.2: 4.5 to 1. Streamlit draws this column at 60 % of its colour."""

    def contrast(ink: str) -> float:
        faded = [0.6 * int(ink[i : i + 2], 16) / 255 + 0.4 for i in (1, 3, 5)]  # on white
        linear = [((c + 0.055) / 1.055) ** 2.4 for c in faded]
        return 1.05 / (0.05 + float(np.dot((0.2126, 0.7152, 0.0722), linear)))

    assert contrast("#1b2430") < 4.5 < contrast(widgets.PINNED_INK)
    table = {"model": ["SP", "both.non"], "states": [5, 2]}
    styled = ArrowData()
    plain = ArrowData()
    marshall_styler(styled, written_table(table, widgets.PINNED_INK), "table")
    marshall_styler(plain, written_table(table), "table")
    assert f"color: {widgets.PINNED_INK}" in styled.styler.styles and not plain.styler.styles
    assert styled.styler.styles.count("_col0") == 2 and "_col1" not in styled.styler.styles


def test_a_column_of_counts_shows_its_values() -> None:
    styler = written_table({"place": ["[[]]"], "students": [12]})
    proto = ArrowData()
    marshall_styler(proto, styler, "table")
    shown = convert_arrow_bytes_to_pandas_df(proto.styler.display_values)
    assert list(shown["place"]) == ["[\N{THIN SPACE}[\N{THIN SPACE}]\N{THIN SPACE}]"] and list(
        styler.data["students"]
    ) == [12]
    assert list(map(str, shown["students"])) == ["12"]


def test_a_table_is_made_once_for_its_content(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rerun sends the table's message again.

    Columns that differ only in the middle, which `repr` leaves out, differ.
    """
    made = []
    monkeypatch.setattr(
        widgets, "written_table", lambda *given: made.append(given) or written_table(*given)
    )

    def script(middle: float) -> None:
        import numpy as np

        from nlwfa_core.metrics.tables import Numbers, format_score
        from pages.shared.widgets import draw_table

        values = np.zeros(3000)
        values[1500] = middle
        table = {
            "model": ["SP"] * 3000,
            "score": Numbers.written(values.tolist(), format_score),
            "raw": values,
        }
        draw_table(table, "once", "A table that no other test draws")

    def drawn(middle: float) -> tuple[str, list[float]]:
        app = AppTest.from_function(script, args=(middle,)).run()
        (table,) = app.dataframe
        return table.proto.alt, table.value["score"].tolist()

    first = drawn(0.25)
    assert first == drawn(0.25) and first[1][1500] == 0.25 and len(made) == 1
    assert drawn(0.5)[1][1500] == 0.5 and len(made) == 2
    monkeypatch.setattr(widgets, "MAX_REMEMBERED", 1000)
    assert drawn(0.5)[1][1500] == 0.5 and len(made) == 3  # a large table would take much memory


def test_a_sessions_pages_are_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    page = st.Page
    monkeypatch.setattr(
        st,
        "Page",
        lambda *arguments, **options: made.append(options) or page(*arguments, **options),
    )
    # all tests are one session; others offer more
    monkeypatch.setattr(navigation, "offered_pages", lambda: ("learn", "hankel"))
    app = open_lab("hankel", **QUICK)
    app.number_input(key="rank").set_value(3).run()
    assert not complaints(app) and [options["url_path"] for options in made] == list(
        navigation.PAGES
    )
