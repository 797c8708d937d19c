"""History: finding runs, and what is done with them; lists of one's own; what is refused in
words.
"""

from __future__ import annotations

import io
import zipfile
from time import time
from typing import Any

import pandas as pd
import pytest
import sqlalchemy as sa
from streamlit.testing.v1 import AppTest

from nlwfa_core import Recipe, run
from nlwfa_core.display.palette import LINEAR_LOSS
from nlwfa_core.experiment.recipe import with_fields
from nlwfa_core.history.listing import Query, list_runs
from nlwfa_core.history.runs import Event, Run, run_of_result
from nlwfa_core.metrics.tables import format_score
from pages.shared import contents, pins, sidebar, visitor, visitor_runs
from pages.views import history
from tests.app.lab import (
    QUICK,
    complaints,
    go,
    markdown_texts,
    open_lab,
    recipe_of,
    trained,
    written,
)
from tests.app.test_data import LINES, upload
from tests.core.small import run_of
from tests.waiting import wait_for


def recorded(recipe: Recipe, state: str = "done") -> Run:
    """The run's row, once it says so: it is written beside."""
    row: Run = wait_for(
        lambda: (row := run_of(visitor_runs.history(), recipe.key())) and row.state == state and row
    )
    return row


def made(seed: int, learner: str = "SP", **options: object) -> Recipe:
    """A run that is done, of a recipe that the sidebar can be set to."""
    values = QUICK | {"data_seed": seed} | options
    recipe = with_fields(sidebar.FIRST, {"learner": learner}, values)
    visitor_runs.runner().submit(recipe, "a visitor before")
    recorded(recipe)
    return recipe


def find(app: AppTest, *recipes: Recipe) -> AppTest:
    """Has the page show these runs alone: by a tag that they get, or one by its key."""
    if len(recipes) == 1:
        return app.text_input(key=history.SEARCH).set_value(recipes[0].key()[:20]).run()
    for recipe in recipes:
        visitor_runs.history().tag(recipe.key(), [tag_of(*recipes)])
    return app.run().multiselect(key="history.tags").set_value([tag_of(*recipes)]).run()


def tag_of(*recipes: Recipe) -> str:
    return f"with {recipes[0].key()[:8]}"


def tick(app: AppTest, *rows: int) -> AppTest:
    app.session_state[app.dataframe[0].key] = {
        "selection": {"rows": list(rows), "columns": [], "cells": []}
    }
    return app.run()


def named(app: AppTest) -> list[str]:
    """The runs of the table; none where none fits."""
    return list(app.dataframe[0].value["run"]) if app.dataframe else []


def table_with(app: AppTest, column: str) -> pd.DataFrame:
    return next(table.value for table in app.dataframe if column in table.value)


def keys(app: AppTest) -> list[str]:
    return [button.key for button in app.main.button]


def test_the_page_asks_the_database_as_often_for_one_run_as_for_many() -> None:
    recipes = [made(171), made(171, rank=3), made(171, rank=4)]
    app = open_lab("history")
    counts = []
    for shown in (recipes[:1], recipes):
        assert find(app, *shown).dataframe[0].value.shape[0] == len(shown)
        statements: list[str] = []
        reading = visitor_runs.history().reading
        sa.event.listen(
            reading,
            "before_cursor_execute",
            note := lambda *given, said=statements: said.append(given[2]),
        )
        app.run()
        sa.event.remove(reading, "before_cursor_execute", note)
        app.text_input(key=history.SEARCH).set_value("").run()
        counts.append(len(statements))
    assert 0 < counts[0] == counts[1] < 10


def test_runs_are_found_by_key_tag_status_and_words_and_ordered_by_a_score() -> None:
    recipes = [made(301, rank=rank) for rank in (1, 2, 3)]
    scores = {f"SP, k = {recipe.learning.rank}": run(recipe).scores.wer for recipe in recipes}
    app = find(open_lab("history"), *recipes)
    assert not complaints(app)
    table = app.dataframe[0].value
    assert set(table["run"]) == set(scores) and set(table["status"]) == {"done"}
    assert "rank k" in table and "training strings" not in table  # what differs, and no more
    assert dict(zip(table["run"], table["WER (share)"], strict=True)) == scores
    app.selectbox(key=history.ORDER).set_value("wer").run()
    assert [format_score(scores[name]) for name in named(app)] == [
        format_score(wer) for wer in sorted(scores.values())
    ]
    app.segmented_control(key=history.LAST).set_value(True).run()
    worst_first = sorted(scores.values(), reverse=True)
    assert [format_score(scores[name]) for name in named(app)] == [
        format_score(wer) for wer in worst_first
    ]
    app.multiselect(key="history.states").set_value(["done"]).run()
    assert len(named(app)) == 3
    app.text_input(key=history.SEARCH).set_value("no such words").run()
    assert not named(app) and any("No matching runs" in text.value for text in app.main.markdown)
    app.button(key="history.all").click().run()
    assert len(named(app)) >= 3 and not complaints(app)


def test_a_search_covers_the_titles_that_the_table_shows() -> None:
    for seed, learner in ((321, "SP"), (321, "fac.non"), (322, "SP")):
        made(seed, learner, rank=7)
    app = open_lab("history").text_input(key=history.SEARCH).set_value("sp, k = 7 dyck done").run()
    assert not complaints(app) and {*named(app)} == {"SP, k = 7"}
    table = app.dataframe[0].value.set_index("seed of the strings")
    assert {321, 322} <= {*table.index} and "seed of the strings 322" in table["difference"][322]
    app.text_input(key=history.SEARCH).set_value("fac.non k=7").run()
    assert {*named(app)} == {"fac.non, k = 7"}
    app.text_input(key=history.SEARCH).set_value("fac.non, k = 777").run()
    assert not named(app) and any(
        "Try fewer words or clear the filters." in text.value for text in app.main.markdown
    )


def test_a_search_of_too_many_words_is_refused_in_a_sentence() -> None:
    made(33)
    app = open_lab("history")
    app.text_input(key=history.SEARCH).set_value(
        " ".join(f"w{number}" for number in range(21))
    ).run()
    assert complaints(app) == ["the number of words in a search must be at most 20; got 21"]
    app.text_input(key=history.SEARCH).set_value(
        " ".join(f"w{number}" for number in range(4000))
    ).run()
    # of the 200 characters of the field
    assert complaints(app) == ["the number of words in a search must be at most 20; got 52"]
    assert not complaints(app.text_input(key=history.SEARCH).set_value("").run())


def test_one_run_at_length() -> None:
    recipe = made(302, "fac.non")
    app = tick(find(open_lab("history"), recipe), 0)
    assert not complaints(app)
    scores = table_with(app, "model")
    assert scores["WER"].iloc[0] == run(recipe).scores.wer
    (chart,) = app.get("echarts_chart")
    assert chart.key == "history.losses.relative loss" and LINEAR_LOSS in str(chart.proto)
    assert len(table_with(app, "diagnostic")) == 7 and len(table_with(app, "option")) > 25
    assert any(text.value.startswith("Time: data") for text in app.main.caption)
    assert len(app.get("download_button")) == 1  # a bundle: the list of the table's files is closed
    app.session_state["history.runs.files"] = True
    app.run()
    assert [button.label for button in app.get("download_button")][:3] == [
        "CSV",
        "LaTeX",
        "Markdown",
    ]


def test_open_sets_the_sidebar_and_the_result_is_there_at_once() -> None:
    recipe = made(303, rank=3)
    app = tick(find(open_lab("history"), recipe), 0)
    assert recipe_of(app) != recipe
    app.button(key="history.open").click().run()
    assert not complaints(app) and recipe_of(app) == recipe
    assert [title.value for title in app.main.title] == ["Train"]
    assert app.dataframe[0].value["WER"].iloc[0] == run(recipe).scores.wer


def test_pin_and_run_again() -> None:
    recipe = made(304)
    app = find(open_lab("history"), recipe)
    for name in pins.NAMES:
        tick(app, 0).button(key=f"history.pin.{name}").click().run()
    assert app.session_state["pins.recipe.A"] == app.session_state["pins.recipe.B"] == recipe
    assert "history.again" not in keys(app)  # equal recipes give equal numbers
    left = recipe.changed(data=recipe.data.changed(seed=305))
    visitor_runs.history().note([Event(left.key(), left, "interrupted", time())])
    app = tick(find(open_lab("history"), left), 0)
    assert any("Its server stopped" in note.value.replace("\\", "") for note in app.warning)
    assert app.button(key="history.again").label == "Run again"
    app.button(key="history.again").click().run()
    assert not complaints(app)
    recorded(left)
    assert list(app.run().dataframe[0].value["status"]) == ["done"]


def test_all_that_was_interrupted_goes_on_at_a_click() -> None:
    recipe = made(306)
    left = [recipe.changed(data=recipe.data.changed(seed=seed)) for seed in (307, 308)]
    visitor_runs.history().note(
        [Event(entry.key(), entry, "interrupted", time()) for entry in left]
    )
    app = open_lab("history")
    assert any("were interrupted" in text.value for text in app.main.markdown)
    app.button(key="history.go_on").click().run()
    for entry in left:
        recorded(entry)
    assert not complaints(app) and "history.go_on" not in keys(app.run())


def test_delete_and_undo() -> None:
    recipes = [made(310, rank=rank) for rank in (1, 2)]
    app = tick(find(open_lab("history"), *recipes), 0, 1)
    assert app.button(key="history.delete").label == "Delete 2"
    app.button(key="history.delete").click().run()
    assert not complaints(app) and not named(app)
    assert any("2 runs deleted" in text.value for text in app.main.markdown)
    app.button(key="history.undo").click().run()
    assert not complaints(app) and len(named(app)) == 2 and "history.undo" not in keys(app)
    assert not app.session_state[app.dataframe[0].key]["selection"]["rows"]


def test_ticks_do_not_move_to_other_runs() -> None:
    recipes = [made(311, rank=rank) for rank in (1, 2, 3)]
    app = tick(find(open_lab("history"), *recipes), 0)
    chosen = table_with(app, "model")["model"].iloc[0]
    assert chosen == named(app)[0]
    app.segmented_control(key=history.LAST).set_value(True).run()
    assert named(app)[0] != chosen and "history.delete" not in keys(app)


def test_names_and_tags_are_shown_as_they_are_written() -> None:
    recipe = made(312)
    app = tick(find(open_lab("history"), recipe), 0)
    hostile = "<b>b</b> **x** :smile: $y$"
    app.text_input(key=f"history.name.{recipe.key()[:12]}").set_value(hostile)
    app.multiselect(key=f"history.tags_of.{recipe.key()[:12]}").set_value(["<i>tag</i>"])
    app.button(key="history.save").click().run()
    assert not complaints(app) and named(app) == [hostile]
    assert list(app.dataframe[0].value["tags"]) == ["<i>tag</i>"]
    assert not [
        text
        for text in markdown_texts(app)
        if any(part in text for part in ("<b>", "**x**", ":smile:", "$y$", "<i>tag"))
    ]
    app.multiselect(key=f"history.tags_of.{recipe.key()[:12]}").set_value(["x" * 41])
    app.button(key="history.save").click().run()
    assert complaints(app) == ["the length of a tag must be at most 40; got 41"]
    assert run_of(visitor_runs.history(), recipe.key()).tags == ["<i>tag</i>"]


def test_several_runs_get_a_tag_beside_theirs() -> None:
    recipes = [made(313, rank=rank) for rank in (1, 2)]
    app = tick(find(open_lab("history"), *recipes), 0, 1)
    app.multiselect(key="history.tags_of.several").set_value(["both"])
    app.button(key="history.save").click().run()
    assert not complaints(app)
    assert [run_of(visitor_runs.history(), recipe.key()).tags for recipe in recipes] == [
        [tag_of(*recipes), "both"]
    ] * 2


def bundles(app: AppTest) -> list[Any]:
    """List the buttons that download a bundle; the table's own forms have others."""
    return [
        button
        for button in app.get("download_button")
        if not button.proto.id.endswith((".csv", ".latex", ".markdown"))
    ]


def test_a_bundle_there_and_back() -> None:
    recipe = made(314)
    app = tick(find(open_lab("history"), recipe), 0)
    [button] = bundles(app)
    assert button.label == "Export" and not button.proto.HasField("deferred_file_id")
    data = history._bundle((recipe.key(),), None, ())
    assert f"runs/{recipe.key()}/result.json" in zipfile.ZipFile(io.BytesIO(data)).namelist()
    app.button(key="history.delete").click().run()
    assert not named(app)
    app.file_uploader(key=history.BUNDLE).set_value(
        ("nlwfa-runs.zip", data, "application/zip")
    ).run()
    assert not complaints(app) and [toast.value for toast in app.toast] == [
        "0 runs imported; 1 was already here."
    ]
    assert len(named(app)) == 1 and "history.undo" not in keys(app)


@pytest.mark.parametrize(
    "data", [b"", b"PK\x03\x04 no archive", b"{}"], ids=["empty", "broken", "JSON"]
)
def test_a_file_that_is_no_bundle_is_one_sentence_and_changes_nothing(data: bytes) -> None:
    recipe = made(315)
    app = find(open_lab("history"), recipe)
    before = list_runs(visitor_runs.history(), Query()).total
    app.file_uploader(key=history.BUNDLE).set_value(("runs.zip", data, "application/zip")).run()
    [sentence] = complaints(app)
    assert sentence.startswith("runs.zip: ") and sentence.endswith("– Nothing was changed.")
    assert complaints(app.run()) == [sentence]  # it stays
    app.button(key=f"{history.BUNDLE}.dismiss").click().run()
    assert not complaints(app)
    assert list_runs(visitor_runs.history(), Query()).total == before and len(named(app)) == 1


def test_large_bundles_are_packed_when_somebody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "AT_ONCE_BYTES", 10)
    app = tick(find(open_lab("history"), made(316)), 0)
    assert not bundles(app)
    app.button(key="history.pack").click().run()
    assert not complaints(app) and len(bundles(app)) == 1


def test_a_run_whose_strings_were_uploaded_says_so_and_can_not_be_opened_without_them() -> None:
    app = trained(
        go(upload(open_lab("data", **QUICK | {"learner": "SP"}), LINES + b"b\n"), "train")
    )
    here = recipe_of(app)
    recorded(here)
    gone = here.changed(data=here.data.changed(upload="0" * 64))
    result = run(here, files=contents.uploads().get)
    visitor_runs.history().note(
        [run_of_result(gone.key(), type(result)(**{**vars(result), "recipe": gone}), time())]
    )
    app = tick(find(open_lab("history"), gone), 0)
    assert any("only a hash of this run" in note.value.replace("\\", "") for note in app.info)
    app.button(key="history.open").click().run()
    [sentence] = complaints(app)
    assert "not on this server" in sentence and sentence.endswith("Nothing was changed.")
    assert recipe_of(app).data.source == "dyck"
    app = tick(find(open_lab("history"), here), 0)
    app.button(key="history.open").click().run()
    assert not complaints(app) and recipe_of(app) == here


def test_what_the_sidebar_can_not_say_is_told() -> None:
    base = made(317)
    opponent = base.with_learner("HMM", 2)
    visitor_runs.history().note([Event(opponent.key(), opponent, "failed", time(), "a sentence")])
    app = tick(find(open_lab("history"), opponent), 0)
    app.button(key="history.open").click().run()
    assert len(complaints(app)) == 1 and "the others are on the Compare page" in complaints(app)[0]
    damaged = Event("9" * 64, base, "failed", time())
    visitor_runs.history().note([damaged])
    visitor_runs.history()._set(["9" * 64], recipe={"data": {"nonsense": 1}})
    app = open_lab("history").text_input(key=history.SEARCH).set_value("9" * 20).run()
    for button in ("history.open", "history.pin.A", "history.again"):
        tick(app, 0).button(key=button).click().run()
        assert "can't be read" in complaints(app)[0]
    visitor_runs.history().delete(["9" * 64])


def test_what_is_under_way_is_not_deleted() -> None:
    recipe = made(318).with_learner("fac.non")
    endless = {"optimizer": "adamax", "start": "random", "epochs_factorisation": 100_000}
    going = recipe.changed(learning=recipe.learning.changed(**endless))
    visitor_runs.runner().submit(going, "somebody")
    recorded(going, "running")
    app = tick(find(open_lab("history"), going), 0)
    assert not complaints(app) and "history.delete" not in keys(app)
    assert any("cancel it first" in text.value for text in app.main.caption)
    visitor_runs.runner().cancel(going.key(), "somebody")
    recorded(going, "cancelled")


def test_many_runs_come_a_page_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    base = made(319)
    events = [
        Event(f"{number:063x}f", base, "failed", 1.0 + number, "one of many") for number in range(7)
    ]
    visitor_runs.history().note(events)
    monkeypatch.setattr(history, "PAGE_SIZE", 3)
    app = open_lab("history").text_input(key=history.SEARCH).set_value("one of many").run()
    assert len(named(app)) == 3 and any("Runs 1–3 of 7" in text.value for text in app.main.markdown)
    app.session_state[history.PAGE] = 3
    app.run()
    assert len(named(app)) == 1 and not complaints(app)
    # the last page is gone with its only run
    tick(app, 0).button(key="history.delete").click().run()
    assert len(named(app)) == 3 and any("Runs 4–6 of 6" in text.value for text in app.main.markdown)
    visitor_runs.history().delete([event.key for event in events])


def test_in_a_class_everybody_has_a_list_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(visitor.HISTORY, "own")
    mine = "ada"
    other = "bob"
    monkeypatch.setattr(visitor, "identity", lambda: mine)
    app = open_lab("history", **QUICK | {"data_seed": 999_991})
    assert any("No run yet" in title.value for title in app.subheader)
    assert not app.file_uploader and any(button.key == "history.train" for button in app.button)
    recipe = recipe_of(trained(open_lab("train", **QUICK | {"learner": "SP", "data_seed": 320})))
    recorded(recipe)
    app = open_lab("history")
    assert named(app) == ["SP, k = 2"]
    tick(app, 0).text_input(key=f"history.name.{recipe.key()[:12]}").set_value("ada's")
    app.button(key="history.save").click().run()
    assert named(app) == ["ada's"]

    monkeypatch.setattr(visitor, "identity", lambda: other)
    link = QUICK | {"learner": "SP", "data_seed": 320}
    assert not named(open_lab("history", **QUICK | {"data_seed": 999_991}))
    app = open_lab("history", **link)  # opened by a link
    assert named(app) == ["SP, k = 2"]
    tick(app, 0).button(key="history.delete").click().run()
    assert not named(app) and any("from your list" in text.value for text in app.main.markdown)
    assert not named(open_lab("history", **link))  # gone is gone, though the link still leads there

    monkeypatch.setattr(visitor, "identity", lambda: mine)
    assert named(open_lab("history")) == ["ada's"]
    monkeypatch.setenv(visitor.HISTORY, "all")
    assert named(find(open_lab("history"), recipe)) == ["SP, k = 2"]


@pytest.mark.parametrize("word", ["off", "nonsense"])
def test_a_history_that_is_off_shows_nobody_anything(
    monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    monkeypatch.setenv(visitor.HISTORY, word)
    app = open_lab("history")
    assert not complaints(app) and not app.dataframe
    assert ["switched off" in note.value for note in app.info] == [True]


def test_a_database_that_is_away_is_one_sentence_and_everything_else_works(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(visitor.HISTORY, "own")
    visitor_runs.history.clear()
    monkeypatch.setenv("NLWFA_DATABASE_URL", "sqlite:////nowhere/at/all.db")
    monkeypatch.setattr("nlwfa_core.history.database.BUSY_SECONDS", 0)
    app = open_lab("history")
    assert len(complaints(app)) == 1 and "can't be reached: its database" in complaints(app)[0]
    assert not complaints(trained(open_lab("train", **QUICK | {"learner": "SP", "data_seed": 321})))
    monkeypatch.undo()
    assert not complaints(open_lab("history"))


EMPTY_STRINGS = b"30 2\n" + b"0\n" * 30


def test_a_run_shows_intervals_and_a_rate_that_is_undefined() -> None:
    """All test strings are empty, so no symbol follows a prefix: the rate without ends is 0 / 0 on
    Train, Compare and History.
    """
    app = upload(
        upload(open_lab("data", **QUICK | {"learner": "SP"}), LINES + b"ba\n"),
        EMPTY_STRINGS,
        "upload_test",
    )
    app = trained(go(app, "train"))
    recipe = recipe_of(app)
    row = recorded(recipe)
    assert row.scores and row.scores["wer_without_end"] == "nan"
    assert not complaints(app) and set(written(app, "WER, no end")["WER, no end"]) == {"undefined"}
    app = tick(find(go(app, "history"), recipe), 0)
    assert not complaints(app) and set(written(app, "WER, no end")["WER, no end"]) == {"undefined"}
    intervals = table_with(app, "from")
    assert {"WER (share)", "bits / symbol", "log₂ Pautomac (bits)"} <= set(intervals["score"])
    app = app.selectbox(key="history.order").set_value("wer_without_end").run()
    assert not complaints(app) and named(app) == [recipe.title]
    app = go(tick(app, 0).button(key="history.pin.A").click().run(), "compare")
    assert not complaints(app)
    pair = written(app, "ahead")
    assert pair.set_index("score")["difference"]["WER, no end"] == "undefined", pair
