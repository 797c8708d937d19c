"""Errors as messages."""

from __future__ import annotations

from tests.app.lab import QUICK, complaints, open_lab


def test_what_nobody_foresaw_is_one_calm_sentence_with_the_logs_id(monkeypatch, caplog):
    def broken(*_):
        raise ZeroDivisionError("secret detail")

    app = open_lab("data", **QUICK)
    monkeypatch.setattr("nlwfa_core.lab.strings.most_frequent", broken)
    app.run()
    said = complaints(app)
    assert len(said) == 1 and "Something went wrong" in said[0] and "secret" not in said[0]
    name = said[0].split("(id ")[1][:8]
    assert name in caplog.text and "secret detail" in caplog.text
    monkeypatch.undo()
    assert not complaints(app.run())
