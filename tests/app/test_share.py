"""Teacher links: some controls alone, slide view, and the link that says so; pasted strings; errors that nobody foresaw."""

from __future__ import annotations

import hashlib

import pytest

from tests.app.lab import QUICK, complaints, go, open_lab, recipe_of, trained


def test_hidden_controls_keep_what_the_link_says():
    given = QUICK | {"learner": "SP", "source": "tomita", "grammar": 4, "num_strings": 123}
    seen, hidden = open_lab("data", **given), open_lab("data", **given, show="rank")
    assert recipe_of(seen) == recipe_of(hidden)
    assert [metric.value for metric in seen.metric] == [metric.value for metric in hidden.metric]
    hidden.number_input(key="rank").set_value(4).run()
    assert recipe_of(go(hidden, "hankel")).data == recipe_of(seen).data
    assert hidden.query_params["show"] == "rank"


def test_all_controls_come_back_at_a_click():
    app = open_lab("data", **QUICK, show="rank,learner")
    app.button(key="screen.all").click().run()
    assert app.query_params["show"] == "all" and not [button for button in app.button if button.key == "screen.all"]


@pytest.mark.parametrize(("show", "left"), [("rank,nonsense", "rank"), ("</style><b>", ""), ("*", "")])
def test_names_that_are_no_controls_are_refused_and_the_rest_counts(show, left):
    app = open_lab(**QUICK, show=show)
    assert len(complaints(app)) == 1 and "it was left out" in complaints(app)[0]
    assert ("".join(app.query_params.get("show", "")) or "") == left


def test_slide_view_has_links_and_a_way_out():
    app = open_lab("data", **QUICK, view="slide")
    assert not complaints(app)
    app.button(key="slide.leave").click().run()
    assert "view" not in app.query_params
    assert "view" not in open_lab("data", **QUICK, view="<b>").query_params


def test_a_link_carries_what_was_chosen():
    app = open_lab("train", **QUICK | {"learner": "SP"}, lesson="rank", step=4)
    app.multiselect(key="share.show").set_value(["rank", "learner"]).run()
    app.toggle(key="share.slide").set_value(True).run()
    link = app.code[0].value
    asked = dict(pair.split("=") for pair in link.split("?")[1].split("&"))
    assert asked["show"] == "rank%2Clearner" and (asked["view"], asked["lesson"], asked["step"]) == ("slide", "rank", "4")
    assert asked["num_strings"] == "300" and asked["learner"] == "SP"
    app.toggle(key="share.lesson").set_value(False).run()
    assert "lesson=" not in app.code[0].value
    assert not complaints(app)


TEN = "a\na\nab\nab\nab\nba\nb\nabb\naab\nbab"


def paste(app, text):
    app.text_area(key="data.paste").set_value(text)
    return app.button(key="data.use").click().run()


def test_ten_pasted_strings_are_all_learned_from():
    app = paste(open_lab("data", **QUICK | {"learner": "SP"}), TEN)
    assert not complaints(app)
    assert {metric.label: metric.value for metric in app.metric}["training strings"] == "10"
    name = hashlib.sha256(TEN.encode()).hexdigest()
    assert (recipe_of(app).data.upload, recipe_of(app).data.upload_test) == (name, name)
    assert app.query_params["upload"] == name
    assert any("scores measure memory, not generalisation" in note.value for note in app.info)
    trained(go(app, "train"))
    assert not complaints(app)
    assert go(app, "data").metric[0].value == "10"
    assert app.text_area(key="data.paste").value == TEN


def test_many_pasted_strings_are_split():
    app = paste(open_lab("data", **QUICK), "\n".join([TEN] * 10))
    assert not complaints(app) and recipe_of(app).data.upload_test == ""
    assert {metric.label: metric.value for metric in app.metric}["test strings"] == "20"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("   \n", "empty"),
        ("string,count\nab,3\nba,0", "line 3: count '0'"),
        ("λ\nλ\nλ", "every string is empty"),
        ("ab\n" * 400_000, "at most 1,000,000 allowed"),
    ],
)
def test_what_can_not_be_read_stays_in_the_box_with_the_reason(text, reason):
    app = open_lab("data", **QUICK)
    before = recipe_of(app)
    paste(app, text)
    assert len(complaints(app)) == 1 and reason in complaints(app)[0]
    assert recipe_of(app) == before and app.text_area(key="data.paste").value == text


def test_a_paste_can_be_undone():
    app = open_lab("data", **QUICK)
    before = recipe_of(app)
    paste(app, TEN)
    app.button(key="undo").click().run()
    assert recipe_of(app) == before and not complaints(app)


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
