"""Status: who sees it, and that it has figures with units and nothing of what people wrote."""

from __future__ import annotations

from time import time

import pytest

from nlwfa_core import DataRecipe, Recipe
from nlwfa_core.history.runs import Event
from pages.shared import visitor, visitor_runs
from pages.views import status
from tests.app.lab import complaints, markdown_texts, open_lab


def test_without_leave_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(visitor.STATUS, "off")
    app = open_lab("status")
    assert not complaints(app) and not app.metric and len(app.info) == 1


def test_figures_have_units_and_failures_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(visitor.STATUS, "on")
    open_lab("status")
    secret = Recipe(data=DataRecipe(source="upload", upload="0" * 64))
    now = time() + 1000
    events = [
        Event("d" * 64, secret, "failed", now, "line 3: 'my secret'"),
        Event("e" * 64, Recipe(), "failed", now, "rank must be at most 30; got 31"),
    ]
    visitor_runs.history().note(events)
    visitor_runs.history().rename("e" * 64, "typed by ada")
    status._past.clear()
    app = open_lab("status")
    assert not complaints(app)
    figures = {entry.label: entry.value for entry in app.metric}
    assert figures["workers alive"].split(" of ")[1].isdecimal()
    for name in ("server's memory", "workers' memory", "memory left", "used on disk", "disk left"):
        assert figures[name].split()[1] in ("bytes", "kB", "MB", "GB", "TB"), name
    failures = next(table.value for table in app.dataframe if "why" in table.value)
    assert {
        "rank must be at most 30; got 31",
        "Not shown: the message may quote a visitor's own strings.",
    } <= set(failures["why"])
    seen = " ".join([*markdown_texts(app), *(table.value.to_csv() for table in app.dataframe)])
    assert "secret" not in seen and "typed by ada" not in seen
    assert any("streamlit 1.67" in text.value for text in app.main.caption)
    visitor_runs.history().delete(["d" * 64, "e" * 64])
