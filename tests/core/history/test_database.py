"""Databases that refuse: one sentence for people; passwords are in no description."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from nlwfa_core.errors import RecipeError
from nlwfa_core.history.database import FILE, connect, database_errors_as_sentences, describe


def test_what_a_database_refuses_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises(RecipeError, match="can't be reached: its database"), database_errors_as_sentences():
        connect(tmp_path)
    with pytest.raises(RecipeError, match="try again"), database_errors_as_sentences():
        raise OperationalError("SELECT secret", None, Exception("locked"))
    with pytest.raises(ZeroDivisionError), database_errors_as_sentences():  # what is nobody's fault out there is not hidden
        1 / 0  # noqa: B018


def test_a_description_names_the_database_without_who_and_how(tmp_path: Path) -> None:
    engine = connect(tmp_path)
    assert describe(engine.url) == "SQLite, history.sqlite"
    engine.dispose()
    address = "postgresql://ada:hunter2@db.example.org:5432/nlwfa?sslkey=key"
    assert describe(sa.make_url(address)) == "postgresql, nlwfa at db.example.org"
