"""A visitor's own strings, uploaded or pasted: how they are read; unreadable ones give one sentence
and change nothing.
"""

from __future__ import annotations

import hashlib

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from nlwfa_core import Reading, limits
from nlwfa_core.experiment.recipe import flat
from nlwfa_core.sources.pautomac import write_pautomac, write_solution
from nlwfa_core.sources.random_automata import random_automaton, sample_words
from tests.app.lab import (
    QUICK,
    all_pages,
    complaints,
    go,
    open_lab,
    recipe_of,
    trained,
    type_text,
)

AUTOMATON = random_automaton(3, 2, 0)
TRAIN = write_pautomac(sample_words(AUTOMATON, 300, 1), 2).encode()
TEST_WORDS = sample_words(AUTOMATON, 50, 2)
TEST = write_pautomac(TEST_WORDS, 2).encode()
SOLUTION = write_solution(AUTOMATON.weights(TEST_WORDS)).encode()
LINES = b"ab\nba\nabab\n" * 20


def upload(app: AppTest, data: bytes, field: str = "upload", name: str = "strings.txt") -> AppTest:
    return app.file_uploader(key=f"upload.{field}").set_value((name, data, "text/plain")).run()


def counts(app: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in app.metric}


def notes(app: AppTest) -> str:
    return " ".join(info.value.replace("\\", "") for info in app.info)


def test_training_strings_are_counted_and_split() -> None:
    app = upload(open_lab("data", **QUICK), TRAIN)
    assert not complaints(app)
    assert recipe_of(app).data.source == "upload"
    assert (
        counts(app)["training strings"],
        counts(app)["test strings"],
        counts(app)["symbols"],
    ) == ("220", "40", "2")


def test_test_strings_and_solution_of_ones_own_are_used() -> None:
    app = upload(
        upload(upload(open_lab("data", **QUICK), TRAIN), TEST, "upload_test"),
        SOLUTION,
        "upload_solution",
    )
    assert not complaints(app)
    assert counts(app)["test strings"] == "50"
    trained(go(app, "train"), "train.start")
    assert not complaints(app)
    best = " ".join(caption.value for caption in app.caption)
    assert "50 test strings, weighted by their true probabilities" in best and "at best" in best


def test_a_solution_may_come_before_its_test_strings() -> None:
    app = upload(upload(open_lab("data", **QUICK), TRAIN), SOLUTION, "upload_solution")
    assert not complaints(app) and recipe_of(app).data.upload_solution == ""
    assert [toast.value.replace("\\", "") for toast in app.toast] == [
        "strings.txt is stored. It will be used as soon as you upload its test strings."
    ]
    assert any("waits for its test strings" in caption.value for caption in app.caption)
    assert not complaints(upload(app, TEST, "upload_test"))
    assert recipe_of(app).data.upload_solution == hashlib.sha256(SOLUTION).hexdigest()
    assert not any("waits for its test strings" in caption.value for caption in app.caption)


@pytest.mark.parametrize(
    "order", [("upload_prefixes", "upload_targets"), ("upload_targets", "upload_prefixes")]
)
def test_prefixes_and_targets_come_in_any_order_and_are_scored(order: tuple[str, str]) -> None:
    files = {
        "upload_prefixes": b"3 2\n1 0\n0\n2 1 1\n",
        "upload_targets": b"1.0 0 1.0\n1.0 -1 1.0\n0.5 1 0.5\n",
    }
    app = upload(open_lab("data", **QUICK | {"data_seed": 731}), TRAIN)
    upload(app, files[order[0]], order[0])
    assert (
        not complaints(app)
        and not recipe_of(app).data.upload_prefixes
        and not recipe_of(app).data.upload_targets
    )
    assert any("waits for its" in caption.value for caption in app.caption)
    upload(app, files[order[1]], order[1])
    assert not complaints(app)
    data = recipe_of(app).data
    assert [data.upload_prefixes, data.upload_targets] == [
        hashlib.sha256(content).hexdigest() for content in files.values()
    ]
    assert not any("waits for its" in caption.value for caption in app.caption)
    assert any(
        "read as a SPiCe target file: 3 lines" in caption.value.replace("\\", "")
        for caption in app.caption
    )
    trained(go(app, "train"), "train.start")
    assert not complaints(app)
    assert {"prefix NDCG5", "prefix error"} <= set(app.dataframe[0].value.columns)
    app = go(app, "data")
    app.button(key=f"take_out.{order[0]}").click().run()
    assert not recipe_of(app).data.upload_prefixes and not recipe_of(app).data.upload_targets


def test_targets_that_do_not_fit_their_prefixes_change_nothing() -> None:
    app = upload(
        upload(open_lab("data", **QUICK), TRAIN), b"3 2\n1 0\n0\n2 1 1\n", "upload_prefixes"
    )
    [complaint] = complaints(upload(app, b"1.0 0 1.0\n", "upload_targets", "few.txt"))
    assert complaint == (
        "few.txt: the file of targets must have a line for each of the 3 prefixes; got 1 "
        "line – Nothing was changed."
    )
    assert not recipe_of(app).data.upload_prefixes
    assert not complaints(upload(app, b"0\n1\n-1\n", "upload_targets"))  # the prefixes still wait
    assert recipe_of(app).data.upload_prefixes and recipe_of(app).data.upload_targets


def test_a_solution_that_does_not_fit_its_test_strings_is_left_out() -> None:
    app = upload(
        upload(open_lab("data", **QUICK), TRAIN), b"2\n0.5\n0.25\n", "upload_solution", "two.txt"
    )
    [complaint] = complaints(upload(app, TEST, "upload_test"))
    assert (
        complaint.startswith("two.txt (")
        and "2" in complaint
        and complaint.endswith("It was left out.")
    )
    assert (recipe_of(app).data.upload_test, recipe_of(app).data.upload_solution) == (
        hashlib.sha256(TEST).hexdigest(),
        "",
    )


def test_a_refused_file_leaves_its_slot_free() -> None:
    """The next files, right or wrong, are judged on their own, and every message names its file."""
    app = upload(upload(open_lab("data", **QUICK), TRAIN), TEST, "upload_test")
    wanted = (
        "this must be a PAutomaC solution; got a PAutomaC file of strings – Nothing was changed."
    )
    for _ in range(3):
        assert complaints(upload(app, TEST, "upload_solution", "29.test")) == [f"29.test: {wanted}"]
        assert app.file_uploader(key="upload.upload_solution").value is None
    [complaint] = complaints(upload(app, b"50\n" + b"nan\n" * 50, "upload_solution", "nan.txt"))
    assert complaint.startswith("nan.txt: line 2: expected a finite number")
    [complaint] = complaints(upload(app, SOLUTION, "upload", "wrong slot.txt"))
    assert complaint.startswith(
        "wrong slot.txt: this must be a file of strings; got a PAutomaC solution"
    )
    assert not complaints(upload(app, SOLUTION, "upload_solution", "29.solution"))
    assert recipe_of(app).data.upload_solution == hashlib.sha256(SOLUTION).hexdigest()
    assert not complaints(upload(app, TRAIN, "upload", "29.train"))


def test_a_refusal_stays_on_the_page_until_the_next_upload_or_until_it_is_dismissed() -> None:
    cp1252 = "garçon aime café\nl'été est là\n".encode("cp1252")
    app = upload(open_lab("data", **QUICK), cp1252, "upload", "cp1252.txt")
    for _ in range(2):
        [complaint] = complaints(app)
        assert complaint.startswith(
            "cp1252.txt: line 1: byte 0xe7 is not UTF-8; files must be text, saved as UTF-8"
        )
        assert (
            "CSV UTF-8" in complaint
            and "as Windows-1252 this line reads 'garçon aime café'" in complaint
        )
        app.run()  # as when another control changes, ten seconds later
    assert not app.toast
    assert len(complaints(go(go(app, "hankel"), "data"))) == 1
    app.button(key="upload.upload.dismiss").click().run()
    assert not complaints(app)
    assert len(complaints(upload(app, cp1252, "upload", "cp1252.txt"))) == 1
    assert not complaints(upload(app, TRAIN))


def test_files_without_training_strings_are_read_on_their_own() -> None:
    app = open_lab("data", **QUICK)
    [complaint] = complaints(upload(app, SOLUTION, "upload_test", "29.solution"))
    assert complaint.startswith(
        "29.solution: this must be a file of strings; got a PAutomaC solution"
    )
    [complaint] = complaints(upload(app, TEST, "upload_model", "29.test"))
    assert complaint.startswith(
        "29.test: this must be a PAutomaC model; got a PAutomaC file of strings"
    )
    assert recipe_of(app).data.source == "dyck"


def test_files_keep_their_names_beside_their_hashes() -> None:
    app = upload(
        open_lab("data", **QUICK | {"learner": "SP"}),
        b"the cat sat;3\nthe dog ran;2\n" * 20,
        "upload",
        "pets_1.csv",
    )
    name = recipe_of(app).data.upload
    captions = [caption.value.replace("\\", "") for caption in app.caption]
    assert f"File of training strings: pets_1.csv ({name[:8]}…)" in captions  # in the sidebar
    read = (
        f"pets_1.csv ({name[:8]}…): read as csv: 5 symbols: cat dog ran sat the; the number "
        "after each line's last semicolon is"
    )
    assert any(caption.startswith(read) for caption in captions)
    label = app.button(key="take_out.upload").label.replace("\\", "")
    assert label == f"Remove the file pets_1.csv ({name[:8]}…)"
    # the shelf knows the name, and the recipe only the hash
    linked = open_lab("data", **app.query_params)
    assert recipe_of(linked).key() == recipe_of(app).key()
    assert any(caption.value.replace("\\", "").startswith(read) for caption in linked.caption)
    upload(app, LINES, "upload", "lines.txt")
    assert (
        app.button(key="undo").label.replace("\\", "")
        == "Undo file of training strings: pets_1.csv → lines.txt"
    )


def test_test_strings_may_come_before_training_strings() -> None:
    app = upload(open_lab("data", **QUICK), TEST, "upload_test")
    assert not complaints(app) and recipe_of(app).data.source == "dyck"
    assert not complaints(upload(app, TRAIN)) and counts(app)["test strings"] == "50"


def test_uploads_travel_by_the_hash_of_their_content() -> None:
    app = upload(open_lab("data", **QUICK), TRAIN)
    name = hashlib.sha256(TRAIN).hexdigest()
    assert {"source": "upload", "upload": name}.items() <= app.query_params.items()
    linked = open_lab("data", **app.query_params)
    assert counts(linked) == counts(app)
    assert recipe_of(linked) == recipe_of(app)


@pytest.mark.slow
def test_an_upload_stays_on_all_pages_and_until_it_is_taken_out() -> None:
    app = upload(open_lab("data", **QUICK), TRAIN)
    before = counts(app)
    for _, shown in all_pages(app):
        assert not complaints(shown)
    assert counts(go(app, "data")) == before
    app.selectbox(key="source").set_value("dyck").run()
    assert "upload" not in app.query_params
    app.selectbox(key="source").set_value("upload").run()
    assert counts(app) == before
    app.button(key="take_out.upload").click().run()
    assert complaints(app) == [
        "There are no strings yet: paste or upload your own on the Data page, or choose another "
        "source."
    ]


def test_a_link_to_a_file_that_is_gone_says_so() -> None:
    app = open_lab("data", source="upload", upload="0" * 64)
    assert complaints(app) == [
        "This file is no longer on the server: please upload it again, or paste the strings again."
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "strings"),
    [
        (b"ab\nab\nab\nab\nab\n", "3"),
        (LINES.replace(b"\n", b"\r\n"), "36"),
        (b"\xef\xbb\xbf" + LINES, "36"),
        (b"string,count\nab,30\nba,30\n", "36"),
        ("λ\na\nλ\n".encode() * 20, "36"),
        ("猫\n猫犬\n犬🦊\n".encode() * 20, "36"),
    ],
    ids=[
        "duplicates only",
        "CR-LF",
        "byte order mark",
        "CSV with counts",
        "empty words",
        "any script",
    ],
)
def test_a_file_is_accepted(data: bytes, strings: str) -> None:
    app = upload(open_lab("data", **QUICK), data)
    assert not complaints(app)
    assert counts(app)["training strings"] == strings
    for _, shown in all_pages(app):
        assert not complaints(shown)


BAD: dict[str, tuple[bytes, str]] = {
    "wrong header": (b"5 2\n1 0\n1 1\n", "line 1: the header promises 5 strings, but 2 follow"),
    "symbol outside the alphabet": (
        b"2 2\n1 0\n1 7\n",
        "line 3: symbol 7 is not in the header's alphabet of 2 symbols",
    ),
    "not a number": (b"2 2\n1 0\n1 x\n", "line 3: 'x' is not a whole number"),
    "empty": (b"", "the file is empty: it has 0 bytes"),
    "blank": (b" \n\n", "the file is empty: it has 3 bytes"),
    "all strings empty": ("λ\nλ\nλ\n".encode(), "every string is empty"),
    "a string too long": (
        b"ab\n" + b"a" * (limits.most("string_length") + 1),
        "line 2: the string length must be at most 10,000; got 10,001",
    ),
    "too many symbols": (
        b"9 10001\n",
        "line 1: the alphabet size must be at most 10,000; got 10,001",
    ),
    "too many different symbols": (
        " ".join(map(str, range(10_001))).replace(" 50 ", "\n50 ").encode(),
        "different symbols must be at most 10,000; got 10,0",
    ),
    "not text": (b"ab\n\xff\xfe\x00", "line 2: byte 0xff is not UTF-8"),
    "a count of zero": (
        b"string,count\nab,3\nba,0\n",
        "line 3: a count must be at least 1; got '0'",
    ),
    "too few to split": (
        b"ab\nba\n",
        "the file must have at least 3 strings to set some aside for testing",
    ),
}


# Test strings may all be empty, and few.
BAD_TESTS = [name for name in BAD if name not in ("all strings empty", "too few to split")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bad", "field"), [(bad, "upload") for bad in BAD] + [(bad, "upload_test") for bad in BAD_TESTS]
)
def test_a_bad_file_is_one_sentence_and_changes_nothing(bad: str, field: str) -> None:
    app = upload(open_lab("data", **QUICK), LINES)
    before = counts(app)
    recipe = recipe_of(app)
    upload(app, BAD[bad][0], field)
    assert len(complaints(app)) == 1
    assert BAD[bad][1] in complaints(app)[0]
    assert counts(app) == before
    assert recipe_of(app) == recipe
    assert app.query_params["upload"] == recipe.data.upload
    assert not complaints(go(app, "hankel"))


def test_a_place_that_is_emptied_changes_nothing() -> None:
    """The browser empties it before each new file, which may turn out to be bad."""
    app = upload(open_lab("data", **QUICK), LINES)
    before = counts(app)
    app.file_uploader(key="upload.upload").set_value(None).run()
    assert not complaints(app) and counts(app) == before
    assert len(complaints(upload(app, b""))) == 1 and counts(app) == before
    assert app.button(key="take_out.upload").label.startswith("Remove the file ")


def test_test_strings_are_taken_out_with_their_solution() -> None:
    app = upload(
        upload(upload(open_lab("data", **QUICK), TRAIN), TEST, "upload_test"),
        SOLUTION,
        "upload_solution",
    )
    app = go(go(app, "train"), "data")
    app.button(key="take_out.upload_test").click().run()
    assert not complaints(app)
    assert (recipe_of(app).data.upload_test, recipe_of(app).data.upload_solution) == ("", "")


def test_a_bad_first_file_leaves_the_generated_strings() -> None:
    app = open_lab("data", **QUICK)
    before = counts(app)
    upload(app, BAD["wrong header"][0])
    assert len(complaints(app)) == 1
    assert counts(app) == before and app.selectbox(key="source").value == "dyck"


def test_a_file_too_large_is_one_sentence_and_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = upload(open_lab("data", **QUICK), LINES)
    before = counts(app)
    monkeypatch.setitem(limits.IN_FORCE, "file_bytes", 1000)
    upload(app, b"ab\n" * 400)
    assert (
        len(complaints(app)) == 1 and "must be at most 1,000 bytes; got 1,200" in complaints(app)[0]
    )
    assert counts(app) == before


@pytest.mark.parametrize(
    ("field", "data", "sentence"),
    [
        (
            "upload_solution",
            SOLUTION.replace(b"50\n", b"51\n", 1),
            "the first line promises 51 probability lines, but 50 follow",
        ),
        (
            "upload_solution",
            b"50\n" + b"nan\n" * 50,
            "line 2: expected a finite number of at least 0; got 'nan'",
        ),
        ("upload_model", b"import os\n", "line 1: expected a heading"),
        (
            "upload_model",
            b"I: (state)\n(0) 1.0\n(99999999) 1.0\nF: (state)\nS: (state,symbol)\nT: "
            b"(state,symbol,state)\n",
            "at most",
        ),
    ],
    ids=["solution too short", "solution with nan", "no model", "model too large"],
)
def test_a_bad_solution_or_model_changes_nothing(field: str, data: bytes, sentence: str) -> None:
    app = upload(upload(open_lab("data", **QUICK), TRAIN), TEST, "upload_test")
    recipe = recipe_of(app)
    upload(app, data, field)
    assert len(complaints(app)) == 1 and sentence in complaints(app)[0]
    assert recipe_of(app) == recipe


def test_nothing_of_a_bad_file_is_learned_from() -> None:
    """The scores of what was uploaded first, beside what a link to it gives."""
    app = upload(
        upload(open_lab("data", **QUICK | {"learner": "SP"}), TRAIN), b"3 2\n1 0\n1 1\n1 5\n"
    )
    trained(go(app, "train"))
    linked = open_lab("train", **app.query_params)
    assert recipe_of(linked).data.upload == hashlib.sha256(TRAIN).hexdigest()
    pd.testing.assert_frame_equal(app.dataframe[0].value, linked.dataframe[0].value)


def test_pasted_strings_are_told_as_they_were_read() -> None:
    app = open_lab("data", **QUICK)
    app.text_area(key="data.paste").set_value("ab\nabb\nλ")
    app.button(key="data.use").click().run()
    assert not complaints(app)
    assert [toast.value.replace("\\", "") for toast in app.toast] == [
        "pasted strings: read as characters: 2 symbols: a b"
    ]
    app.text_area(key="data.paste").set_value("ab,3\nba,2")
    app.button(key="data.use").click().run()
    assert [toast.value.replace("\\", "") for toast in app.toast] == [
        "pasted strings: read as csv: 2 symbols: a b; the number after each line's last "
        "comma is its count; "
        "as the format tokens it would be text"
    ]


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
        ("string,count\nab,3\nba,0", "line 3: a count must be at least 1; got '0'"),
        ("λ\nλ\nλ", "every string is empty"),
        ("ab\n" * 400_000, "must be at most 1,000,000 bytes; got"),
    ],
)
def test_what_can_not_be_read_stays_in_the_box_with_the_reason(text, reason):
    app = open_lab("data", **QUICK)
    before = recipe_of(app)
    paste(app, text)
    assert len(complaints(app)) == 1 and reason in complaints(app)[0]
    assert recipe_of(app) == before and app.text_area(key="data.paste").value == text


def test_another_source_after_a_paste_draws_as_many_strings_as_before():
    app = paste(open_lab("data", **QUICK), TEN)
    most = limits.most("generated_strings")
    numbers = [recipe_of(app).data.num_strings]
    for source in ("dyck", "tomita", "upload"):
        app.selectbox(key="source").set_value(source).run()
        numbers.append(recipe_of(app).data.num_strings)
    before = QUICK["num_strings"]
    assert numbers == [most, before, before, most] and not complaints(app)


def test_a_link_to_uploaded_strings_uses_all_of_them_unless_it_has_another_number():
    app = paste(open_lab("data", **QUICK), TEN)
    link = {**QUICK, "source": "upload", "upload": recipe_of(app).data.upload}
    assert recipe_of(open_lab("data", **link | {"num_strings": 5})).data.num_strings == 5
    del link["num_strings"]
    most = limits.most("generated_strings")
    assert recipe_of(open_lab("data", **link)).data.num_strings == most


def test_a_paste_can_be_undone():
    app = open_lab("data", **QUICK)
    before = recipe_of(app)
    paste(app, TEN)
    app.button(key="undo").click().run()
    assert recipe_of(app) == before and not complaints(app)


LOG = b"who;what;when\n1;b;2\n2;a;1\n1;a;1\n" + b"".join(
    b"%d;a;1\n%d;b;2\n" % (n, n) for n in range(3, 60)
)


def choose(app: AppTest, field: str, value: str) -> AppTest:
    return app.selectbox(key=f"reading.{field}").set_value(value).run()


def panel(app: AppTest) -> set[str]:
    """The choices that the page offers about a file."""
    return {
        box.key.removeprefix("reading.")
        for box in app.selectbox
        if (box.key or "").startswith("reading.")
    }


def test_a_log_is_shown_and_its_columns_are_chosen_before_it_is_read() -> None:
    app = open_lab("data", **QUICK)
    assert panel(app) == set()
    [complaint] = complaints(upload(app, LOG, name="log.csv"))
    assert "3 columns" in complaint and complaint.endswith("Nothing was changed.")
    assert recipe_of(app).data.source == "dyck"
    assert app.code[0].value.startswith("who;what;when\n1;b;2\n")
    assert panel(app) == {"format"}
    [complaint] = complaints(choose(app, "format", "events"))
    assert "say which column has the cases" in complaint
    assert {"case_column", "event_column", "order_column", "header"} <= panel(app)
    choose(choose(app, "case_column", "who"), "event_column", "what")
    assert not complaints(app)
    choose(app, "order_column", "when")
    assert not complaints(app)
    data = recipe_of(app).data
    assert (data.upload, data.upload_format) == (hashlib.sha256(LOG).hexdigest(), "events")
    assert (data.upload_case_column, data.upload_order_column) == ("who", "when")
    assert any(
        "one string for each 'who', symbols in 'what', sorted by 'when'" in caption.value
        for caption in app.caption
    )
    # A choice that does not fit changes nothing.
    [complaint] = complaints(choose(app, "case_column", "what"))
    assert "can't be in the same column" in complaint
    assert recipe_of(app).data == data
    # The next file has other columns.
    assert not complaints(upload(app, LINES))
    assert recipe_of(app).data.reading == Reading()
    assert panel(app) == {"format"}


def test_the_strings_of_one_label_are_chosen() -> None:
    lines = b"".join(b"%d %d %s\n" % (n % 3 == 0, n % 5, b"a " * (n % 5)) for n in range(60))
    app = upload(open_lab("data", **QUICK), b"60 1\n" + lines)
    assert not complaints(app)
    assert not complaints(choose(app, "label", "1"))
    data = recipe_of(app).data
    assert (data.upload_format, data.upload_label) == ("abbadingo", "1")
    assert any("Only the strings with the label '1' are read" in note.value for note in app.info)


def test_an_encoding_is_offered_if_a_file_is_not_utf_8() -> None:
    text = "gar\u00e7on aime\naime caf\u00e9\n" * 20
    app = upload(open_lab("data", **QUICK), text.encode("windows-1252"))
    assert len(complaints(app)) == 1 and "encoding" in panel(app)
    assert app.code[0].value.startswith("gar\u00e7on aime\n")
    assert not complaints(choose(app, "encoding", "windows-1252"))
    assert counts(app)["symbols"] == "3"


def test_a_picture_is_not_shown_as_lines() -> None:
    app = upload(open_lab("data", **QUICK), b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    assert len(complaints(app)) == 1 and not panel(app) and not app.code


def test_a_link_carries_how_a_file_is_read() -> None:
    app = upload(open_lab("data", **QUICK), LOG)
    for field, value in (("format", "events"), ("case_column", "1"), ("event_column", "2")):
        app = choose(app, field, value if field == "format" else {"1": "who", "2": "what"}[value])
    recipe = recipe_of(app)
    assert recipe.data.upload_event_column == "what"
    assert recipe_of(open_lab("data", **flat(recipe))) == recipe


def test_another_column_of_a_recognised_file_is_chosen() -> None:
    words = b"the DET\ncat NOUN\n\na DET\ndog NOUN\nsleeps VERB\n\n" * 10
    app = upload(open_lab("data", **QUICK), words, name="words.conll")
    assert panel(app) == {"format", "text_column"}
    assert not complaints(choose(app, "text_column", "2"))
    assert recipe_of(app).data.reading == Reading("conll", text_column="2")


def test_a_file_takes_the_place_of_pasted_strings_and_of_their_test() -> None:
    app = open_lab("data", **QUICK)
    app.text_area(key="data.paste").set_value("xy\nx\ny")
    app.button(key="data.use").click().run()
    assert recipe_of(app).data.upload == recipe_of(app).data.upload_test != ""
    assert not complaints(upload(app, LINES))
    assert recipe_of(app).data.upload_test == ""


def test_unseen_symbols_of_a_test_file_are_zero_left_out_or_read_as_one_symbol() -> None:
    """Nothing stops, and a sentence says what happens to them."""
    train = b"a b\na b b\na\n" * 20 + b"a x\n"
    test = b"a b\nb c\na a\n"
    app = upload(upload(open_lab("data", **QUICK), train), test, "upload_test")
    assert "1 of 3 test strings use symbols that no training string has: c." in notes(app)
    app.selectbox(key="unseen").set_value("skip").run()
    assert counts(app)["test strings"] == "2" and "c; they are left out." in notes(app)
    app.selectbox(key="unseen").set_value("symbol").run()
    assert counts(app)["test strings"] == "3" and counts(app)["symbols"] == "3"
    assert "1 of 3 test strings use symbols that are read as '<unk>': c." in notes(app)
    app.text_input(key="unknown").set_value("?").run()
    app.text_input(key="alphabet").set_value("c b a").run()
    assert recipe_of(app).data.alphabet == "a b c" and counts(app)["symbols"] == "4"
    assert not complaints(app)
    app.selectbox(key="unseen").set_value("zero").run()
    assert "line 61: symbol 'x' is not in the declared alphabet of 3 symbols: a, b, c" in " ".join(
        complaints(app)
    )


def test_a_typed_string_says_which_symbols_are_read_as_the_unknown() -> None:
    app = upload(open_lab("data", **QUICK), b"ab\nabb\na\n" * 20 + b"ax\n")
    app.selectbox(key="unseen").set_value("symbol").run()
    app = type_text(go(app, "predict"), "abcd")
    captions = " ".join(caption.value for caption in app.caption).replace("\\", "")
    assert "2 symbols are read as '<unk>': c, d." in captions


def test_one_long_sequence_is_cut_into_windows_beside_its_first_lines() -> None:
    sequence = b"ab" * 20_000
    app = open_lab("data", **QUICK)
    [complaint] = complaints(upload(app, sequence))
    assert "into windows, for example “Length of windows” = 20" in complaint
    assert recipe_of(app).data.source == "dyck"
    app = app.number_input(key="reading.window").set_value(25).run()
    assert not complaints(app)
    data = recipe_of(app).data
    assert (data.upload_window, data.reading) == (25, Reading(window=25))
    shown = " ".join(box.value for box in app.info).replace("\\", "")
    assert "Cut into 1,600 windows of 25 symbols." in shown
    assert "compare models by the scores that do not count the end" in shown
    assert data.error_rate == "wer_without_end"
    # a whole sequence again is too long, so nothing changes
    [complaint] = complaints(app.number_input(key="reading.window").set_value(0).run())
    assert "must be at most 10,000" in complaint and recipe_of(app).data == data


def test_models_of_windows_are_compared_without_their_ends() -> None:
    app = upload(open_lab("data", **QUICK), b"ab" * 4_000)
    app = app.number_input(key="reading.window").set_value(20).run()
    link = dict(app.query_params) | {"statistic": "factor", "learners": "SP", "rank": 2}
    app = open_lab("compare", **link)
    app.pills(key="ranks").set_value([2]).run()
    app = trained(app, "compare.start")
    assert not complaints(app)
    choice = app.segmented_control(key="compare.by")
    assert (choice.value, choice.options[0]) == ("wer_without_end", "WER, no end")
