"""A declared alphabet, and a symbol that stands for all that a model does not know: as if that
symbol stood in the strings.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core import (
    WFA,
    Alphabet,
    NGram,
    RecipeError,
    TestSet,
    Words,
    as_sample,
    compare,
    evaluate,
    fit,
    fit_classifier,
    frequent_symbols,
    load,
    read_strings,
    save,
)
from nlwfa_core.errors import FormatError
from nlwfa_core.experiment.estimators import SpectralWFA
from nlwfa_core.export.automaton_formats import weights_json
from nlwfa_core.hankel.boundary import bounded_alphabet
from nlwfa_core.models.unseen import extended
from nlwfa_core.sources.exchange import read_weights_json

OPEN = Alphabet(("a", "b", "?"), unknown="?")
CLOSED = Alphabet(("a", "b", "?"))
COIN = WFA(
    [1.0, 0.0],
    [[[0.3, 0.1], [0.0, 0.2]], [[0.2, 0.1], [0.3, 0.1]], [[0.1, 0.0], [0.1, 0.2]]],
    [0.2, 0.1],
    OPEN,
)
ROWS = st.lists(st.text("abcd", max_size=4), min_size=1, max_size=8).map(lambda rows: ["ab", *rows])


def mapped(row: str) -> str:
    return row.replace("c", "?").replace("d", "?")


@given(ROWS)
def test_unseen_symbols_are_scored_as_if_the_symbol_for_the_unknown_stood_there(
    rows: list[str],
) -> None:
    plain = evaluate(replace(COIN, alphabet=CLOSED), list(map(mapped, rows)))
    for strings in (rows, as_sample(rows), TestSet.empirical(rows), list(map(list, rows))):
        scores = evaluate(COIN, strings)
        assert asdict(scores) == pytest.approx(
            asdict(plain) | {"num_unknown": scores.num_unknown}, nan_ok=True
        )
        assert scores.num_unknown == sum("?" in mapped(row) for row in rows)
    assert extended(COIN, Alphabet(("a", "c"))) is COIN


@given(ROWS)
def test_learning_reads_other_symbols_as_the_unknown(rows: list[str]) -> None:
    learned = fit(rows, "SP", 1, alphabet=OPEN).model
    same = fit([mapped(row) for row in rows], "SP", 1, alphabet=CLOSED).model
    assert np.array_equal(learned.transitions, same.transitions)
    assert learned.alphabet is not None and learned.alphabet.unknown == "?"


@pytest.mark.parametrize(
    "learner", ["SP", pytest.param("both.non", marks=pytest.mark.slow), "HMM", "PFA", "PDFA"]
)
def test_all_learners_take_declared_symbols_and_keep_the_unknown(learner: str) -> None:
    strings = ["ab", "b", "ab", "abb", "b"] * 4
    declared = fit(strings, learner, 2, alphabet=["a", "b", "c"]).model
    assert declared.alphabet == Alphabet(("a", "b", "c"))
    model = fit([*strings, "acb"], learner, 2, alphabet=OPEN).model
    assert model.alphabet is not None and model.alphabet.unknown == "?"
    assert model("axb") == model("a?b")


def test_a_matrix_with_boundary_symbols_keeps_the_unknown() -> None:
    assert bounded_alphabet(OPEN, "factor").unknown == "?"
    model = fit(["ab", "acb", "b"] * 3, "tran.non", 1, alphabet=OPEN, statistic="prefix").model
    assert model.alphabet is not None and model.alphabet.unknown == "?"


@given(st.lists(st.text("abcd", min_size=1, max_size=6), min_size=1), st.integers(1, 4))
def test_frequent_symbols_are_those_that_a_counter_counts(rows: list[str], least: int) -> None:
    times = Counter("".join(rows))
    known = sorted(symbol for symbol, number in times.items() if number >= least)
    if not known:
        with pytest.raises(RecipeError, match=f"occurs at least {least} times: the most frequent"):
            frequent_symbols(rows, least)
        return
    alphabet = frequent_symbols(rows, least, "?")
    assert alphabet.symbols == (*known, "?") and alphabet.unknown == "?"


@given(ROWS)
def test_strings_that_are_left_out_are_as_if_they_had_never_been_there(rows: list[str]) -> None:
    known = [row for row in rows if not set(row) & {"c", "d"}]
    test = TestSet.empirical(rows).known_to(Alphabet(("a", "b")))
    expected = TestSet.empirical(known)
    assert test.target == pytest.approx(expected.target)
    assert list(test.sample) == list(expected.sample)
    half = WFA([1.0], [[[0.25]], [[0.25]]], [0.5], Alphabet(("a", "b")))
    assert asdict(evaluate(half, test)) == pytest.approx(asdict(evaluate(half, known)))


def test_if_no_string_is_known_that_is_an_error() -> None:
    with pytest.raises(RecipeError, match="every test string contains a symbol that is not in"):
        TestSet.empirical(["c", "ac"]).known_to(Alphabet(("a", "b")))
    with pytest.raises(RecipeError, match=r"no symbol of the test strings is in .* a, b, \?"):
        evaluate(COIN, ["c", "dc", ""])
    assert evaluate(COIN, ["ac", "cb"]).num_unknown == 2  # strings of which something is known


@given(st.lists(st.integers(0, 2), max_size=5))
def test_words_with_a_long_symbol_for_the_unknown_are_read_as_they_were_written(
    word: list[int],
) -> None:
    alphabet = Alphabet(("a", "b", "<unk>"), unknown="<unk>")
    assert alphabet.encode(alphabet.decode(word)) == tuple(word)
    rows = [alphabet.decode(word)]
    assert list(as_sample(rows, alphabet).words) == [tuple(word)]
    assert list(read_strings(rows[0].encode(), alphabet=alphabet).words) == [tuple(word)]


def test_strings_of_characters_stay_characters_beside_a_long_symbol_for_the_unknown() -> None:
    alphabet = Alphabet(("a", "b", "<unk>"), unknown="<unk>")
    assert alphabet.encode("abca") == (0, 1, 2, 0)
    assert list(as_sample(["abca"], alphabet).words) == [(0, 1, 2, 0)]
    file = read_strings(b"abca\nba\n", alphabet=alphabet)
    assert file.format == "characters"
    assert list(file.sample().in_alphabet(alphabet).words) == [(0, 1, 2, 0), (1, 0)]


def test_a_typed_word_says_what_is_read_as_the_unknown() -> None:
    assert OPEN.unknown_note("acbdc") == "2 symbols are read as '?': c, d."
    assert OPEN.unknown_note("ab") == CLOSED.unknown_note("acb") == ""


@pytest.mark.parametrize("unknown", ["", " ", "a b", "λ"])
def test_what_can_not_stand_in_a_file_is_no_symbol_for_the_unknown(unknown: str) -> None:
    with pytest.raises(RecipeError, match="the symbol for the unknown must be written without"):
        Alphabet.of("ab", unknown)


def test_the_symbol_for_the_unknown_is_one_of_the_alphabets() -> None:
    with pytest.raises(RecipeError, match=r"must be one of the alphabet's symbols; got '\?', and"):
        Alphabet(("a", "b"), "?")


def test_files_of_models_remember_the_unknown(tmp_path: Path) -> None:
    save(COIN, tmp_path / "open")
    save(replace(COIN, alphabet=CLOSED), tmp_path / "closed")
    model = load(tmp_path / "open")
    assert model.alphabet is not None and model.alphabet.unknown == "?"
    assert model("acb") == COIN("a?b")
    header = json.loads((tmp_path / "closed" / "model.json").read_text())
    assert "unknown" not in header and load(tmp_path / "closed").alphabet.unknown is None  # type: ignore[union-attr]
    again = read_weights_json(weights_json(COIN, OPEN).encode())
    assert again.alphabet is not None and again.alphabet.unknown == "?"
    (tmp_path / "closed" / "model.json").write_text(json.dumps(header | {"unknown": "x"}))
    with pytest.raises(RecipeError, match="must be one of the alphabet's symbols; got 'x'"):
        load(tmp_path / "closed")


def test_two_models_read_the_same_strings_each_with_its_own_alphabet() -> None:
    """One knows c, the other reads it as the unknown."""
    wide = NGram.fit(["ab", "acb", "c"] * 5, 2)
    strings = ["ab", "acb", "cb", "b"] * 10
    own = {name: evaluate(model, strings) for name, model in (("first", COIN), ("second", wide))}
    for pair, names in (((COIN, wide), ("first", "second")), ((wide, COIN), ("second", "first"))):
        result = compare(*pair, strings)
        for scores, name in zip((result.first, result.second), names, strict=True):
            assert scores.estimates["bits_per_symbol"] == pytest.approx(own[name].bits_per_symbol)


def test_true_probabilities_are_not_those_of_strings_that_are_read_otherwise() -> None:
    sample = as_sample(["ab", "ac"])
    test = TestSet.as_drawn(sample.words, np.array([0.5, 0.25]), sample)
    with pytest.raises(
        RecipeError, match=r"of strings with symbols that are read as '\?': c; they"
    ):
        evaluate(COIN, test)


def test_numbers_are_read_by_name_where_an_alphabet_may_lack_some() -> None:
    """PAutomaC's number 2 is not the alphabet's third symbol, which is 3."""
    alphabet = Alphabet(("0", "1", "3", "<unk>"), unknown="<unk>")
    data = b"2 5\n3 3 2 0\n1 4\n"
    words = read_strings(data, alphabet=alphabet).sample().in_alphabet(alphabet).words
    assert [alphabet.decode(word) for word in words] == ["3 <unk> 0", "<unk>"]
    with pytest.raises(FormatError, match="PAutomaC or SPiCe file are numbers; the alphabet has"):
        read_strings(data, alphabet=OPEN)


@pytest.mark.parametrize(
    ("data", "format", "line"),
    [
        (b"ab\nba\nacb\n", "auto", 3),
        (b"a b\nb c\n", "auto", 2),
        (b"string,count\nab,2\nca,1\n", "auto", 3),
        (b'["a"]\n["a", "c"]\n', "auto", 2),
    ],
)
def test_a_string_with_a_symbol_that_was_not_declared_is_named(
    data: bytes, format: str, line: int
) -> None:
    declared = Alphabet(("a", "b"))
    with pytest.raises(
        FormatError,
        match=f"line {line}: symbol 'c' is not in the declared alphabet of 2 symbols: a, b",
    ):
        read_strings(data, format, declared, extend=False)
    wide = read_strings(data, format, Alphabet(("a", "b", "c", "d")), extend=False)
    assert wide.alphabet.symbols == ("a", "b", "c", "d")


def test_a_classifier_reads_the_unknown_too() -> None:
    up = ["ab", "aab"] * 5
    down = ["ba", "bba"] * 5
    classifier = fit_classifier(
        {"up": [*up, "ac"], "down": [*down, "ca"]}, "HMM", 2, alphabet=OPEN
    ).classifier
    typed = classifier.probabilities(["aab", "axb"])
    written = classifier.probabilities(["a?b"])
    assert typed[1] == pytest.approx(written[0]) and classifier.alphabet.unknown == "?"


def test_estimators_of_scikit_learn_score_unseen_symbols() -> None:
    strings = ["ab", "ab", "b", "abb"]
    closed = SpectralWFA(2).fit(strings)
    open_ = SpectralWFA(2, alphabet=OPEN).fit([*strings, "c"])
    assert closed.score(["ab", "ac"]) == pytest.approx(
        -evaluate(closed.model_, ["ab", "ac"], floor=closed.floor).bits_per_symbol
    )
    assert closed.predict(["a", "c"]).tolist() == ["b", None]
    assert np.isnan(closed.predict_proba(["c"])).all() and closed.predict_proba(["c"]).shape == (
        1,
        3,
    )
    assert closed.score_samples(["ac", "ab"])[0] == -np.inf
    assert open_.score_samples(["x"]) == open_.score_samples(["?"])


def test_an_empty_sample_can_be_renumbered() -> None:
    empty = as_sample(Words.of([]), Alphabet(("a", "c")))
    assert empty.in_alphabet(OPEN).num_strings == 0
