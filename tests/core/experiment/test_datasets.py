"""From recipes to strings: generators, uploads, splits, and what is told about them."""

from __future__ import annotations

from dataclasses import replace
from math import log, log2
from pathlib import Path

import numpy as np
import pytest

from nlwfa_core import limits
from nlwfa_core.errors import FormatError, RecipeError
from nlwfa_core.experiment.datasets import Data, load_data
from nlwfa_core.experiment.notes import key_notes, overlap_notes, training_keys, unseen_notes
from nlwfa_core.experiment.recipe import DataRecipe
from nlwfa_core.files import FileShelf
from nlwfa_core.metrics.evaluate import evaluate
from nlwfa_core.models.ngram import NGram
from nlwfa_core.models.wfa import WFA
from nlwfa_core.sources.dyck import Dyck
from nlwfa_core.strings.plain import as_sample
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import Alphabet, Words

GENERATED = ["dyck", "automaton", "hmm", "pfa", "pdfa", "squared"]
SMALL = {
    "num_strings": 300,
    "num_validation": 20,
    "num_test": 30,
    "num_states": 3,
    "num_symbols": 2,
}
MODEL = (
    b"I: (state)\n(0) 1\nF: (state)\n(0) 0.5\nS: (state,symbol)\n(0,0) 1\nT: "
    b"(state,symbol,state)\n(0,0,0) 1\n"
)


@pytest.fixture
def shelf(tmp_path: Path) -> FileShelf:
    return FileShelf(tmp_path / "uploads")


def pautomac(rows: list[str]) -> bytes:
    """A file of strings over one symbol."""
    return "".join(
        [
            f"{len(rows)} 1\n",
            *(f"{' '.join([str(len(row.split())), *row.split()])}\n" for row in rows),
        ]
    ).encode()


def upload(shelf: FileShelf, train: bytes, **fields: object) -> Data:
    """Data of an upload; bytes among the fields are files too."""
    named = {
        name: shelf.put(value) if isinstance(value, bytes) else value
        for name, value in fields.items()
    }
    return load_data(DataRecipe(source="upload", upload=shelf.put(train), **named), shelf.get)


@pytest.mark.parametrize("source", GENERATED)
def test_generated_strings_come_with_the_true_model(source: str) -> None:
    data = load_data(DataRecipe.adapted(SMALL, source=source))
    assert data.validation is not None and data.true_model is not None
    assert (data.train.num_strings, len(data.validation.words), len(data.test.words)) == (
        300,
        20,
        30,
    )
    assert data.test.target_is_true and data.test.sample.num_strings == 30
    np.testing.assert_array_equal(data.test.target, data.true_model.weights(data.test.words))
    assert data.test.target.min() > 0
    assert data.alphabet == data.test.sample.alphabet and data.title and data.notes == ()


def test_uploads_say_how_each_file_was_read(shelf: FileShelf) -> None:
    data = upload(
        shelf,
        b"0,3\n00,2\n" * 9,
        upload_test=b"00\n0\n",
        upload_solution=b"2\n0.5\n0.25\n",
        upload_model=MODEL,
    )
    assert data.readings == {
        "upload": "read as csv: 1 symbol: 0; the number after each line's last comma is its count; "
        "as the format tokens it would be text",
        "upload_test": "read as characters: 1 symbol: 0",
        "upload_solution": "read as a PAutomaC solution: 2 probabilities, from 0.25 to 0.5",
        "upload_model": "read as a PAutomaC model: 1 state, 1 symbol",
    }


def test_prefixes_with_targets_are_scored(shelf: FileShelf) -> None:
    """A unigram of a's and b's: b is likelier than the end, and that than a. c stands in a prefix
    alone, d in a target alone.
    """
    train = b"bb\nbb\nab\nb\n" * 5
    data = upload(
        shelf,
        train,
        upload_prefixes=b"ab\nb\nc\nb\n",
        upload_targets=b"b\n-1\nd\n1.5 a 0.5 b 1.0\na\n",
    )
    assert data.alphabet.symbols == ("a", "b", "c")
    assert data.readings["upload_prefixes"] == "read as characters: 3 symbols: a b c"
    assert data.readings["upload_targets"] == "read as a SPiCe target file: 5 lines"
    assert "5 targets for 4 prefixes: the first 4 are used." in data.notes
    scores = evaluate(NGram.fit(data.train, 1), data.test)
    assert scores.prefix_error == 2 / 4
    discount = 1 / log2(3)
    assert scores.prefix_ndcg5 == pytest.approx(
        (1 + discount + 0 + (1 + 0.5 / 2) / 1.5) / 4, abs=1e-15
    )
    alone = evaluate(NGram.fit(data.train, 1), replace(data.test, prefixes=None))
    assert (alone.prefix_ndcg5, alone.prefix_error) == (None, None)
    assert alone == replace(scores, prefix_ndcg5=None, prefix_error=None)


def test_prefixes_of_numbers_have_targets_of_numbers(shelf: FileShelf) -> None:
    data = upload(
        shelf,
        b"bb\nbb\nab\nb\n" * 5,
        upload_prefixes=b"2 2\n1 0\n0\n",
        upload_targets=b"1.0 1 1.0\n1.0 -1 1.0\n",
    )
    assert evaluate(NGram.fit(data.train, 1), data.test).prefix_error == 1 / 2


@pytest.mark.parametrize("source", GENERATED)
def test_the_seed_decides_and_parts_are_independent(source: str) -> None:
    recipe = DataRecipe.adapted(SMALL, source=source)
    one, same, more, other = (
        load_data(recipe.changed(**change))
        for change in ({}, {}, {"num_strings": 400, "num_validation": 5}, {"seed": 1})
    )
    assert list(one.train.words) == list(same.train.words) and list(one.test.words) == list(
        same.test.words
    )
    assert list(one.test.words) == list(more.test.words)
    assert list(one.train.words) != list(other.train.words) and list(one.test.words) != list(
        other.test.words
    )
    assert one.validation is not None
    assert list(one.validation.words) != list(one.test.words)[:20]


def test_training_strings_have_the_seed_itself_and_test_strings_a_stream_below_it() -> None:
    data = load_data(DataRecipe.adapted({**SMALL, "seed": 5}))
    assert list(data.train.words) == list(Dyck().sample(300, 5).words)
    assert list(data.test.words) == list(Dyck().sample_words(30, [5, 2]))


def test_automata_do_not_change_with_the_number_of_strings() -> None:
    few, many = (
        load_data(DataRecipe(source="automaton", **{**SMALL, "num_strings": n})).true_model
        for n in (10, 200)
    )
    words = Words.of([(), (0,), (1, 0)])
    assert few is not None and many is not None
    assert few.weights(words).tolist() == many.weights(words).tolist()


def test_verbs_are_split_and_each_string_is_dealt_once() -> None:
    data = load_data(DataRecipe(source="verbs", num_validation=50, num_test=60))
    assert data.validation is not None and data.true_model is None and not data.test.target_is_true
    assert (data.validation.sample.num_strings, data.test.sample.num_strings) == (50, 60)
    parts = [data.train, data.validation.sample, data.test.sample]
    assert (
        sum(part.num_strings for part in parts)
        == len({word for part in parts for word in part.words})
        > 1000
    )
    assert data.share_seen() == 0


def test_an_upload_is_split(shelf: FileShelf) -> None:
    data = upload(shelf, b"ab\n" * 30 + b"b\n" * 20, num_test=1000, num_validation=3)
    assert data.validation is not None
    assert (
        data.train.num_strings,
        data.validation.sample.num_strings,
        data.test.sample.num_strings,
    ) == (37, 3, 10)
    assert data.share_seen() == 1 and data.test.target.sum() == pytest.approx(1)
    assert upload(shelf, b"ab\n" * 50, num_strings=7).train.num_strings == 7


def test_a_test_file_is_kept_whole_and_in_order(shelf: FileShelf) -> None:
    data = upload(
        shelf, b"ab\na\nb\n" * 4, upload_test=b"b\na\nb\n", upload_solution=b"3\n0.5\n0.25\n0.5\n"
    )
    assert list(data.test.words) == [(1,), (0,), (1,)]
    assert data.test.target.tolist() == [0.5, 0.25, 0.5] and data.test.target_is_true
    assert data.test.sample.counts.tolist() == [2, 1]
    empirical = upload(shelf, b"ab\na\nb\n" * 4, upload_test=b"b\na\nb\n")
    assert list(empirical.test.words) == [(1,), (0,)] and not empirical.test.target_is_true


def test_a_true_model_scores_test_and_validation(shelf: FileShelf) -> None:
    data = upload(
        shelf, b"4 1\n1 0\n0\n2 0 0\n1 0\n", upload_model=MODEL, upload_test=b"2 1\n0\n1 0\n"
    )
    assert (
        data.test.target.tolist() == [0.5, 0.25]
        and data.test.target_is_true
        and data.true_model is not None
    )
    split = upload(shelf, b"9 1\n" + b"1 0\n" * 9, upload_model=MODEL)
    assert (
        split.test.target.tolist() == [0.25]
        and split.test.target_is_true
        and split.true_model is not None
    )


# strings as drawn, over one symbol
ROWS = ["0", "", "0", "0 0", "0", "", "0 0 0", "0", "", "0"] * 6
TEST_ROWS = ["0", "0 0", "0", "", "0", "0 0 0 0"]
FILES = {
    "test": {"upload_test": pautomac(TEST_ROWS)},
    "solution": {"upload_solution": b"6\n0.1\n0.2\n0.1\n0.4\n0.1\n0.05\n"},
    "model": {"upload_model": MODEL},
    "csv": {"upload_test": b"string,count\n0,3\n00,1\n,2\n"},
    "csv solution": {"upload_solution": b"3\n0.1\n0.2\n0.4\n"},
}


@pytest.mark.parametrize(
    "names",
    [
        (), ("model",), ("test",), ("test", "model"), ("test", "solution"), ("test", "solution", "model"),  # noqa: E501
        ("csv",), ("csv", "model"), ("csv", "csv solution"), ("csv", "csv solution", "model"),
    ],
    ids="+".join,
)  # fmt: skip
def test_the_score_is_the_documented_one_whatever_files_there_are(
    shelf: FileShelf, names: tuple[str, ...]
) -> None:
    """With known probabilities over the rows as drawn, else over the distinct strings: T is a plain
    list of strings here.
    """
    fields = {field: content for name in names for field, content in FILES[name].items()}
    data = upload(
        shelf, pautomac(ROWS) if "csv" not in names else b"0\n0\n00\n\n" * 9, num_test=8, **fields
    )
    if "test" in names:
        rows = [tuple(map(int, row.split())) for row in TEST_ROWS]
    elif "csv" in names:
        rows = [(0,)] * 3 + [(0, 0)] + [()] * 2
    else:
        rows = [
            word
            for word, count in zip(data.test.sample.words, data.test.sample.counts, strict=True)
            for _ in range(count)
        ]
        assert len(rows) == 8 > len(set(rows))
    written = {(0,): 0.1, (0, 0): 0.2, (): 0.4, (0, 0, 0, 0): 0.05}
    if any("solution" in name for name in names):
        target = [(row, written[row]) for row in rows]
    elif "model" in names:
        target = [(row, 0.5 ** (len(row) + 1)) for row in rows]
    else:
        target = [(row, rows.count(row) / len(rows)) for row in set(rows)]
    model = WFA(np.array([1.0]), np.array([[[0.7]]]), np.array([0.3]))  # f(aⁿ) = 0.3 · 0.7ⁿ
    mass = sum(p for _, p in target)
    outputs = [0.3 * 0.7 ** len(row) for row, _ in target]
    log2 = -sum(
        p / mass * log(f / sum(outputs), 2) for (_, p), f in zip(target, outputs, strict=True)
    )
    scores = evaluate(model, data.test)
    assert (scores.log2_pauto, scores.num_words) == (pytest.approx(log2), len(target))
    assert (
        (scores.true_log2_pauto is None)
        == (len(target) < len(rows))
        == (not data.test.target_is_true)
    )
    assert data.test.sample.num_strings == len(rows)
    if "model" in names:
        assert scores.rmse == pytest.approx(
            np.sqrt(
                np.mean(
                    [
                        (f - 0.5 ** (len(row) + 1)) ** 2
                        for (row, _), f in zip(target, outputs, strict=True)
                    ]
                )
            )
        )
    if names == ("model",):
        assert data.validation is not None
        drawn = data.validation.sample
        assert len(data.validation.words) == drawn.num_strings > len(drawn.words)


def test_errors_of_outputs_are_against_the_truth_or_not_told(shelf: FileShelf) -> None:
    """PAutomaC's solutions sum to 1 over the test file, so they are another scale than outputs."""
    rows = [(), (0,), (0, 0)]
    normalised = b"3\n0.5714285714285714\n0.2857142857142857\n0.14285714285714285\n"  # 4 : 2 : 1
    files = {"upload_test": pautomac(["", "0", "0 0"]), "upload_solution": normalised}
    truth = WFA(np.array([1.0]), np.array([[[0.5]]]), np.array([0.5]))
    # the solution's own numbers, as no distribution has them
    tuned = WFA(np.array([1.0]), np.array([[[0.5]]]), np.array([4 / 7]))
    with_model = upload(shelf, pautomac(ROWS), **files, upload_model=MODEL).test
    errors = {
        name: evaluate(model, with_model).rmse
        for name, model in {"truth": truth, "tuned": tuned}.items()
    }
    gaps = [4 / 7 * 0.5**n - 0.5 ** (n + 1) for n in range(3)]
    assert errors == {"truth": 0, "tuned": pytest.approx(np.sqrt(np.mean(np.square(gaps))))}
    alone = upload(shelf, pautomac(ROWS), **files).test
    assert (evaluate(tuned, alone).rmse, evaluate(tuned, alone).kl) == (
        None,
        pytest.approx(0, abs=1e-12),
    )
    raw = upload(
        shelf, pautomac(ROWS), **files | {"upload_solution": b"3\n0.5\n0.25\n0.125\n"}
    ).test
    assert evaluate(truth, raw).rmse == 0 and list(raw.words) == rows


def test_all_strings_may_be_for_training(shelf: FileShelf) -> None:
    """With a test file and no validation strings nothing is set aside, as in PAutomaC."""
    data = upload(shelf, pautomac(ROWS), upload_test=pautomac(TEST_ROWS), num_validation=0)
    assert data.validation is None and data.sizes == (60, 0, 6)
    assert data.notes == ("5 of 6 test strings (3 of 4 distinct ones) are training strings too.",)
    split = upload(shelf, pautomac(ROWS), num_validation=0, num_test=10)
    assert split.validation is None and split.sizes == (50, 0, 10)
    drawn = load_data(DataRecipe.adapted(SMALL | {"num_validation": 0}))
    before = load_data(DataRecipe.adapted(SMALL))
    assert drawn.validation is None and drawn.sizes == (300, 0, 30)
    assert list(drawn.test.words) == list(before.test.words) and list(drawn.train.words) == list(
        before.train.words
    )


def test_symbols_that_the_test_file_alone_has_are_told(shelf: FileShelf) -> None:
    """A model does not know them.

    A true model says which symbols there are, so then the alphabet grows for all.
    """
    data = upload(shelf, b"a\nab\na\n", upload_test=b"ac\na\nca\nac\n")
    assert data.alphabet.symbols == ("a", "b") and data.test.sample.alphabet.symbols == (
        "a",
        "b",
        "c",
    )
    assert "1 symbol never seen in training: 'c'." in data.notes
    assert "3 of 4 test strings use symbols that no training string has: c." in data.notes
    with pytest.raises(
        RecipeError,
        match="every test string contains a symbol that is not in the model's alphabet of "
        "2 symbols: a, b",
    ):
        upload(shelf, b"a\nab\na\n", upload_test=b"ac\ncc\n")
    data = upload(shelf, b"3 1\n1 0\n0\n1 0\n", upload_test=b"2 3\n1 2\n1 0\n", upload_model=MODEL)
    assert (
        data.true_model is not None and data.true_model.num_symbols == data.alphabet.__len__() == 3
    )
    assert data.test.target.tolist() == [0, 0.25]


RARE = b"a b\na b b\na\n" * 20 + b"a x\n"
NEW = b"a b\nb c\na a\n"


def test_unseen_symbols_are_read_as_if_one_stood_in_the_files(shelf: FileShelf) -> None:
    data = upload(shelf, RARE, upload_test=NEW, num_validation=9, unseen="symbol", unknown="?")
    written = [text.replace(b"x", b"?").replace(b"c", b"?") for text in (RARE, NEW)]
    same = upload(shelf, written[0], upload_test=written[1], num_validation=9)
    assert data.alphabet.symbols == ("a", "b", "?") and data.alphabet.unknown == "?"
    assert data.validation is not None and same.validation is not None
    for mapped, plain in (
        (data.train, same.train),
        (data.validation.sample, same.validation.sample),
        (data.test.sample, same.test.sample),
    ):
        assert mapped.to_series().to_dict() == plain.to_series().to_dict()
    assert {
        "1 of 52 training strings use symbols that are read as '?': x.",
        "1 of 3 test strings use symbols that are read as '?': c.",
    } <= set(data.notes)


def test_rare_symbols_are_counted_in_training_strings_alone(shelf: FileShelf) -> None:
    """Of 40 strings, each with a symbol of its own, training has 24."""
    rows = "".join(f"a s{number}\n" for number in range(40)).encode()
    data = upload(shelf, rows, unseen="symbol", min_count=1)
    assert data.train.num_strings == 24 and len(data.alphabet) == 26
    assert evaluate(NGram.fit(data.train, 2), data.test).num_unknown == data.test.sample.num_strings


def test_strings_with_unseen_symbols_are_left_out(shelf: FileShelf) -> None:
    data = upload(shelf, RARE, upload_test=NEW, unseen="skip")
    assert list(data.test.sample) == ["ab", "aa"]
    assert (
        "1 of 3 test strings use symbols that the model does not know: c; they are left out."
        in data.notes
    )


def test_declared_symbols_are_those_of_the_model(shelf: FileShelf) -> None:
    data = upload(shelf, RARE, upload_test=NEW, alphabet="x c a b a")
    assert data.alphabet.symbols == ("a", "b", "c", "x")
    assert evaluate(NGram.fit(data.train, 2), data.test).num_zero == 0
    with pytest.raises(FormatError, match="line 61: symbol 'x' is not in the declared alphabet of"):
        upload(shelf, RARE, alphabet="a b")
    open_ = upload(shelf, RARE, upload_test=NEW, alphabet="a b", unseen="symbol")
    assert open_.alphabet.symbols == ("a", "b", "<unk>")
    letters = upload(shelf, b"ab\nba\nac\n" * 9, alphabet="a b", unseen="symbol")
    assert letters.format == "characters" and letters.alphabet.symbols == ("a", "b", "<unk>")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"upload_model": MODEL}, "a file of the true model can't be used with a symbol for the"),
        (
            {"upload_prefixes": b"1 1\n1 0\n", "upload_targets": b"0\n"},
            "a file of prefixes can't be used with a symbol for the unknown",
        ),
        (
            {"upload_test": b"2 2\n1 0\n1 1\n", "upload_solution": b"2\n0.5\n0.25\n"},
            "the true probabilities are of strings with symbols that are read as '<unk>': 1; they",
        ),
    ],
)
def test_where_the_truth_is_known_symbols_stay_as_they_are(
    shelf: FileShelf, fields: dict[str, bytes], message: str
) -> None:
    train = b"4 1\n1 0\n2 0 0\n1 0\n0\n"
    with pytest.raises(RecipeError, match=message):
        upload(shelf, train, **fields, unseen="symbol")


def test_a_symbol_for_the_unknown_that_strings_have_is_told(shelf: FileShelf) -> None:
    data = upload(shelf, b"a?\na?\nb\n" * 9 + b"x\n", unseen="symbol", unknown="?")
    note = "The training strings already have '?'; unknown symbols are read as the same symbol."
    assert note in data.notes


def test_notes_count_strings_as_drawn() -> None:
    alphabet = Alphabet.numbered(12)
    train = Sample.of(Words.of([(0,)]), alphabet)
    test = Sample.of(
        Words.of([tuple(range(12)), (0,), (), (5, 5)]), alphabet, np.array([3, 4, 1, 2])
    )
    (note,) = unseen_notes(train, test)
    assert (
        note
        == "5 of 10 test strings use symbols that no training string has: 1, 2, 3, 4, 5, 6, 7, "
        "8, …."
    )
    assert unseen_notes(test, train) == ()


def test_small_files_are_split_as_far_as_they_go(shelf: FileShelf) -> None:
    data = upload(shelf, b"a\nb\nab\n")
    assert data.validation is not None and data.train.num_strings == 1
    with pytest.raises(
        RecipeError,
        match="at least 3 strings to set some aside for testing, unless there is a test file; got "
        "2",
    ):
        upload(shelf, b"a\nb\n")
    alone = upload(shelf, b"a\n", upload_test=b"a\n")
    assert alone.validation is None and alone.train.num_strings == 1


def test_strings_that_are_all_empty_are_a_sample_where_the_header_has_an_alphabet(
    shelf: FileShelf,
) -> None:
    data = upload(shelf, b"5 2\n" + b"0\n" * 5)
    assert (list(data.train.words), data.train.counts.tolist(), data.train.num_symbols) == (
        [()],
        [3],
        2,
    )


BAD_UPLOADS = [
    (b"", {}, "the file is empty: it has 0 bytes"),
    (b"3 2\n1 0\n", {}, "line 1: the header promises 3 strings, but 1 follow"),
    (b"1 2\n1 2\n", {}, "line 2: symbol 2 is not in the header's alphabet of 2 symbols"),
    (b"1 2\n1 x\n", {"upload_format": "pautomac"}, "line 2: 'x' is not a whole number"),
    (b"1 10001\n1 0\n", {}, "line 1: the alphabet size must be at most 10,000; got 10,001"),
    (b"a" * 10**6 + b"\n", {}, "line 1: the string length must be at most 10,000; got 1,000,000"),
    (
        b"1 2\n1000000" + b" 0" * 10**6 + b"\n",
        {},
        "line 2: the string length must be at most 10,000; got 1,000,000",
    ),
    (b"\n \nb\n\xff\n", {}, "line 4: byte 0xff is not UTF-8"),
    (b"a\n" * 5, {"upload_solution": b"1\n1\n"}, "A solution belongs to a test file"),
    (
        b"a\n" * 5,
        {"upload_test": b"a\n", "upload_solution": b"2\n1\n1\n"},
        "the solution must have one probability per test string; got 2 for 1",
    ),
    (b"a\n" * 5, {"upload_test": b""}, "the file is empty"),
    (
        b"a\n" * 5,
        {"upload_prefixes": b"a\n"},
        "prefixes and a file of targets belong together: upload the targets too",
    ),
    (
        b"a\n" * 5,
        {"upload_targets": b"a\n"},
        "prefixes and a file of targets belong together: upload the prefixes too",
    ),
    (
        b"5 1\n" + b"0\n" * 5,
        {"upload_model": MODEL.replace(b"(0,0)", b"(0,3)")},
        "the model emits symbol 3, but the alphabet has only 1 symbol",
    ),
]


@pytest.mark.parametrize(("train", "fields", "message"), BAD_UPLOADS)
def test_bad_uploads_are_refused(
    shelf: FileShelf, train: bytes, fields: dict[str, object], message: str
) -> None:
    with pytest.raises(RecipeError, match=message) as caught:
        upload(shelf, train, **fields)
    assert len(str(caught.value)) < 200
    assert isinstance(caught.value, FormatError) == (
        "line" in message or "file is" in message or "emits" in message
    )


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_marks_change_nothing(shelf: FileShelf, end: bytes, mark: bytes) -> None:
    for text in (b"4 2\n1 0\n2 1 0\n0\n1 1\n", b"ab\nb\na\nab\n", b"string,count\nab,3\nb,2\n"):
        plain = upload(shelf, text)
        dressed = upload(shelf, mark + text.replace(b"\n", end))
        assert list(plain.train.words) == list(dressed.train.words)
        assert plain.alphabet == dressed.alphabet


def test_uploads_that_are_not_there_are_asked_for_again(shelf: FileShelf) -> None:
    with pytest.raises(RecipeError, match="There are no strings yet"):
        load_data(DataRecipe(source="upload"))
    for name in ("0" * 64, "", "../secret", "0" * 64 + "\n"):
        with pytest.raises(RecipeError, match="no longer on the server: please upload it again"):
            shelf.get(name)


def test_files_are_kept_once_under_their_content(shelf: FileShelf) -> None:
    one = shelf.put(b"a\n")
    same = shelf.put(b"a\n")
    other = shelf.put(b"b\n")
    assert one == same != other and shelf.get(other) == b"b\n"
    assert len(list(shelf.directory.iterdir())) == 2


def test_large_uploads_are_refused(shelf: FileShelf, monkeypatch: pytest.MonkeyPatch) -> None:
    class Large(bytes):
        def __len__(self) -> int:
            return 300 * 2**20

    with pytest.raises(
        RecipeError,
        match="the file must be at most 52,428,800 bytes; got 314,572,800",
    ):
        shelf.put(Large())
    name = shelf.put(b"abc\n")
    monkeypatch.setitem(limits.IN_FORCE, "file_bytes", 3)
    with pytest.raises(RecipeError, match="must be at most 3 bytes; got 4"):
        shelf.get(name)


def test_impossible_generators_are_refused() -> None:
    with pytest.raises(RecipeError, match=r"split \+ wrap must be below 1, .*; got 1\.5"):
        load_data(DataRecipe(split_probability=0.9, wrap_probability=0.6))


MEMORY = ": scores measure memory, not generalisation."
BY_HAND = [
    (
        ["ab", "b"],
        ["b", "b", "ba"],
        "2 of 3 test strings (1 of 2 distinct ones) are training strings too.",
    ),
    (
        ["ab", "b", "b"],
        ["b", "ab"],
        f"The test strings are the training strings, 2 distinct ones{MEMORY}",
    ),
    (
        ["ab", "b", "aa"],
        ["b", "ab"],
        "2 of 2 test strings (2 of 2 distinct ones) are training strings too.",
    ),
    (["", "b"], ["", "ba"], "1 of 2 test strings (1 of 2 distinct ones) are training strings too."),
    (["ab"], ["ba", "a", "b", ""], ""),
]


@pytest.mark.parametrize(("train", "test", "sentence"), BY_HAND)
def test_test_strings_that_are_training_strings_are_counted(
    train: list[str], test: list[str], sentence: str
) -> None:
    alphabet = Alphabet(("a", "b"))
    samples = as_sample(train, alphabet), as_sample(test, alphabet)
    expected = (sentence,) if sentence else ()
    assert overlap_notes(*samples) == key_notes(training_keys(samples[0]), samples[1]) == expected


def test_keys_know_strings_by_their_symbols_and_not_by_their_numbers() -> None:
    train = as_sample(["x y"])
    test = as_sample(["y x", "x y"], Alphabet(("y", "x")))
    assert key_notes(training_keys(train), test) == (
        "1 of 2 test strings (1 of 2 distinct ones) are training strings too.",
    )
    joined = as_sample([("xy",)])
    assert key_notes(training_keys(train), joined) == ()


@pytest.mark.parametrize("keys", [None, "", "?", "abc", 7, ["a"], "AAA="])
def test_keys_that_are_none_say_nothing(keys: object) -> None:
    assert key_notes(keys, as_sample(["a"])) == ()


def test_an_uploaded_test_file_is_compared_with_the_training_file() -> None:
    files = {"1" * 64: b"a b\nb\nb b\n", "2" * 64: b"b\nb\na\n", "3" * 64: b"b b\na b\nb\n"}
    recipe = DataRecipe(source="upload", upload="1" * 64, num_validation=0)
    partly = load_data(recipe.changed(upload_test="2" * 64), files.__getitem__)
    assert "2 of 3 test strings (1 of 2 distinct ones) are training strings too." in partly.notes
    alike = load_data(recipe.changed(upload_test="3" * 64), files.__getitem__)  # in another order
    assert any(
        note.startswith("The test strings are the training strings, 3 distinct ones")
        for note in alike.notes
    )
