"""Classify: the labels' strings, two learners, and how well they tell the labels apart."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from nlwfa_core import DataRecipe, load_data
from nlwfa_core.experiment.classifier import Classifier, fit_classifier
from nlwfa_core.rounding import format_share
from nlwfa_core.sources.tomita import LANGUAGES
from tests.app.lab import complaints, ended, figure, markdown_texts, open_lab, trained

QUICK = {"first": "SP", "second": "SP", "states": 3}
UP = b"ab\naab\naabb\nabb\n" * 20
DOWN = b"ba\nbba\nbbaa\nbaa\n" * 20


def upload(app: AppTest, *files: tuple[str, bytes]) -> AppTest:
    [uploader] = [one for one in app.file_uploader if one.key.startswith("classify.upload.")]
    return uploader.set_value([(name, data, "text/plain") for name, data in files]).run()


def labels(app: AppTest) -> list[str]:
    """What was uploaded: each label has a button that takes it out."""
    return [button.label for button in app.button if button.key.startswith("classify.take_out.")]


def test_the_numbers_are_those_of_the_library() -> None:
    app = trained(ended(open_lab("classify", strings="tomita", **QUICK)), "classify.start")
    assert not complaints(app)
    data = {
        f"Tomita {one}": load_data(DataRecipe(source="tomita", grammar=one)) for one in LANGUAGES
    }
    train = {label: its.train for label, its in data.items()}
    test = {label: its.test.sample for label, its in data.items()}
    scores = fit_classifier(train, "SP", rank=3).classifier.score(test)
    drawn = figure(app, "classify.SP")["data"][0]
    counts = [[int(text.replace(",", "")) for text in row] for row in drawn["text"]]
    assert counts == scores.counts[:, : len(drawn["x"])].tolist()
    best = Classifier.of({label: its.true_model for label, its in data.items()}).score(test)
    assert any(f"get {format_share(best.accuracy)} right." in text for text in markdown_texts(app))
    sentence = f"{scores.num_right:,} of {scores.num_strings:,} strings get their true label"
    assert any(sentence in text for text in markdown_texts(app))


def test_it_begins_with_a_linear_and_a_nonlinear_learner_of_three_states() -> None:
    app = open_lab("classify")
    shown = [app.selectbox(key=f"classify.{name}").value for name in ("first", "second")]
    assert shown == ["SP", "both.non"] and app.slider(key="classify.states").value == 3
    assert not {"first", "second", "states", "strings"} & set(app.query_params)


def test_ones_own_files_are_labels() -> None:
    app = upload(open_lab("classify", strings="own", **QUICK), ("up.txt", UP))
    assert labels(app) == ["up"]
    app = ended(upload(app, ("down.txt", DOWN)))
    assert not complaints(app)
    assert figure(app, "classify.SP")["data"][0]["y"] == ["up", "down"]
    linked = open_lab("classify", strings="own", classes=app.query_params["classes"], **QUICK)
    assert figure(linked, "classify.SP")["data"][0]["y"] == ["up", "down"]
    assert labels(linked.button(key="classify.take_out.0").click().run()) == ["down"]


def test_a_file_that_cannot_be_read_is_named_and_the_others_stay() -> None:
    app = upload(open_lab("classify", strings="own", **QUICK), ("up.txt", UP))
    app = upload(app, ("bad.txt", b"\xff\xfe\x00"))
    assert any(text.startswith("bad.txt: ") for text in complaints(app))
    assert labels(app) == ["up"]


@pytest.mark.slow
def test_two_learners_are_compared_after_a_press() -> None:
    app = open_lab("classify", strings="own", **QUICK | {"second": "HMM", "states": 2})
    app = ended(upload(app, ("up.txt", UP), ("down.txt", DOWN)))
    assert not app.main.subheader
    app = ended(app.button(key="classify.start").click().run())
    assert not complaints(app)
    assert app.main.subheader[0].value == "SP and HMM get the same strings right"


def test_a_table_with_a_column_of_labels() -> None:
    up, down = (data.decode().split() for data in (UP, DOWN))
    rows = [f"up,7,{word}" for word in up] + [f"down,7,{word}" for word in down]
    table = "\n".join(["class,id,thing", *rows]).encode()
    app = open_lab("classify", strings="own", **QUICK)
    app.text_input(key="classify.label_column").set_value("class").run()
    app = upload(app, ("all.csv", table))
    assert any("the columns are 'class', 'id', 'thing'" in text for text in complaints(app))
    app.text_input(key="classify.text_column").set_value("3").run()
    app = ended(upload(app, ("all.csv", table)))
    assert not complaints(app) and labels(app) == ["up", "down"]
    assert figure(app, "classify.SP")["data"][0]["y"] == ["up", "down"]
