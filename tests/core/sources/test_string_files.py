"""Files of strings: what is written is read back, and errors name the line to blame."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlwfa_core import limits
from nlwfa_core.errors import FormatError, RecipeError
from nlwfa_core.sources import string_files
from nlwfa_core.sources.names import FORMATS
from nlwfa_core.sources.pautomac import read_pautomac_model, read_solution, write_pautomac
from nlwfa_core.sources.string_files import read_strings, shipped_verbs
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import Alphabet, Words
from tests.references import write_csv, write_lines

ALPHABETS = [
    Alphabet(("a", "b", '"')),
    Alphabet((",", "é", "1")),
    Alphabet(("run", "stop", "10")),
    Alphabet.numbered(12),
]

word_lists = st.lists(st.lists(st.integers(0, 2), max_size=6), min_size=1, max_size=8).map(Words.of)
alphabets = st.sampled_from(ALPHABETS)


@given(word_lists)
def test_pautomac_round_trip(words: Words) -> None:
    for format in ("auto", "pautomac"):
        read = read_strings(write_pautomac(words, 3).encode(), format)
        assert list(read.words) == list(words)
        assert (read.format, read.alphabet, read.notes) == ("pautomac", Alphabet.numbered(3), ())


@given(word_lists, alphabets, st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
def test_lines_round_trip(words: Words, alphabet: Alphabet, line_end: str, mark: bool) -> None:
    data = (
        write_lines(words, alphabet)
        .replace("\n", line_end)
        .encode("utf-8-sig" if mark else "utf-8")
    )
    read = read_strings(data, "tokens" if alphabet.separator else "characters", alphabet)
    assert list(read.words) == list(words)
    assert (read.alphabet, read.counts.tolist()) == (alphabet, [1] * len(words))
    # "" looks like an empty word
    assert read.notes == (() if (2, 2) not in words or '"' not in alphabet.symbols else read.notes)


@given(word_lists, alphabets, st.sampled_from(["csv", "auto"]))
def test_csv_round_trip(words: Words, alphabet: Alphabet, format: str) -> None:
    sample = Sample.of(words, alphabet, np.arange(1, len(words) + 1))
    read = read_strings(write_csv(sample).encode(), format, alphabet)
    again = read.sample()
    assert list(again.words) == list(sample.words)
    assert (read.format, again.alphabet, again.counts.tolist()) == (
        "csv",
        alphabet,
        sample.counts.tolist(),
    )


FRAGMENTS = st.sampled_from(
    [
        b"2 2\n",
        b"1 0\n",
        b"\n",
        b"\r",
        b" ",
        b",",
        b'"',
        b"-",
        b"9" * 25,
        b"ab",
        b"\xce\xbb",
        b"\xff",
        b"I:",
        b"(0,0) 1\n",
    ]
)


@settings(max_examples=300)
@given(st.one_of(st.binary(max_size=60), st.lists(FRAGMENTS, max_size=12).map(b"".join)))
def test_any_bytes_are_read_or_refused_with_our_own_error(data: bytes) -> None:
    for format in FORMATS:
        try:
            read = read_strings(data, format, Alphabet(("a", "b")))
        except RecipeError:
            continue
        assert len(read.words) == len(read.counts) >= 1
        assert read.sample().num_strings == read.counts.sum()
    for reader in (read_solution, read_pautomac_model):
        try:
            reader(data)
        except FormatError:
            continue


@pytest.mark.parametrize(
    ("data", "format", "words", "symbols"),
    [
        (b"2 3\r\n2 0 2\r\n0\r\n", "pautomac", [(0, 2), ()], ("0", "1", "2")),
        (b"3 4\n3 4\n", "tokens", [(0, 1), (0, 1)], ("3", "4")),
        (b"ba\nb\n", "characters", [(1, 0), (1,)], ("a", "b")),
        (b"the 10\n9 the\n", "tokens", [(2, 0), (1, 2)], ("10", "9", "the")),
        (b"10 9\n11 9\n", "tokens", [(1, 0), (2, 0)], ("9", "10", "11")),
        (b"string,count\nab,2\n,1\nb,3\n", "csv", [(0, 1), (), (1,)], ("a", "b")),
        (b'"a b",2\nb,1\n', "csv", [(0, 1), (1,)], ("a", "b")),
        ("λ\nα\n".encode(), "characters", [(), (0,)], ("α",)),
    ],
)
def test_auto_finds_the_format(
    data: bytes, format: str, words: list[tuple[int, ...]], symbols: tuple[str, ...]
) -> None:
    read = read_strings(data)
    assert (read.format, list(read.words), read.alphabet.symbols) == (format, words, symbols)
    assert list(read_strings(data, format).words) == words


def test_strings_keep_the_files_order_and_are_merged_on_request() -> None:
    read = read_strings(b"b,2\na,1\nb,3\n")
    assert (list(read.words), read.counts.tolist()) == ([(1,), (0,), (1,)], [2, 1, 3])
    assert (list(read.sample().words), read.sample().counts.tolist()) == ([(1,), (0,)], [5, 1])


def test_blank_lines_are_empty_words_except_at_the_end() -> None:
    read = read_strings(b"\nab\n\n\na\n\n \n")
    assert list(read.words) == [(), (0, 1), (), (), (0,)]
    assert read.notes == (
        "2 blank lines at the end of the file skipped.",
        "3 blank lines read as the empty word λ.",
    )
    assert read_strings(b"2 1\n\n1 0\n0\n\n").notes == (
        "1 blank line skipped (λ is written 0 in this format).",
    )
    assert read_strings(b"a,1\n\nb,1\n").notes == (
        "1 blank line skipped (λ is an empty first column in this format).",
    )


def test_symbols_unseen_in_training_are_numbered_after_the_others() -> None:
    read = read_strings(b"bza\nay\n", alphabet=Alphabet(("b", "a")))
    assert (list(read.words), read.alphabet.symbols) == ([(0, 3, 1), (1, 2)], ("b", "a", "y", "z"))
    assert read.notes == ("2 symbols never seen in training: 'y', 'z'.",)
    assert list(read_strings(b"run\n", alphabet=Alphabet(("run", "stop"))).words) == [(0,)]

    read = read_strings(b"2 4\n1 3\n1 0\n", alphabet=Alphabet.numbered(2))
    assert (read.alphabet, read.notes) == (
        Alphabet.numbered(4),
        ("1 symbol never seen in training: '3'.",),
    )
    assert read_strings(b"1 2\n1 0\n", alphabet=Alphabet.numbered(5)).alphabet == Alphabet.numbered(
        5
    )


BAD_FILES = [
    (b"", "auto", None, "the file is empty: it has 0 bytes"),
    (b"\xef\xbb\xbf \r\n\n", "auto", None, "the file is empty"),
    (b"ab\nc\xe9d\n", "auto", 2, "byte 0xe9 is not UTF-8"),
    (b"ab\n", "xml", None, "format must be one of auto, pautomac, .*; got 'xml'"),
    (
        b"2\n1 0\n",
        "pautomac",
        1,
        "the header must be number_of_strings and alphabet_size; got 1 number",
    ),
    (b"3 2\n1 0\n1 1\n", "auto", 1, "the header promises 3 strings, but 2 follow"),
    (b"1 2\n1 0\n1 1\n", "auto", 1, "the header promises 1 string, but 2 follow"),
    (b"0 2\n", "auto", 1, "the file has no strings"),
    (b"1 0\n0\n", "auto", 1, "the alphabet size must be at least 1; got 0"),
    (b"2 2\n2 0 1\n3 0 1\n", "auto", 3, "length 3 is declared, but 2 symbols follow"),
    (b"2 2\n2 0 1\n1 0 1\n", "auto", 3, "length 1 is declared, but 2 symbols follow"),
    (
        b"2 2\n\n2 0 1\n\n1 2\n",
        "auto",
        5,
        r"symbol 2 is not in the header's alphabet of 2 symbols \(0 … 1\)",
    ),
    (b"1 2\n1 99999999999999999999999\n", "auto", 2, "symbol 9223372036854775807 is not in"),
    (
        b"2 2\n1 0\n1 -1\n",
        "auto",
        3,
        "lengths and symbols must be whole numbers of at least 0; got '-1'",
    ),
    (b"2 2\n1 0\n1 0.5\n", "auto", 3, "'0.5' is not a whole number"),
    (b"2 2\n1 0\n1 x\n", "pautomac", 3, "'x' is not a whole number"),
    (b"2 2\n1 0\n1 0\x1c\n", "pautomac", None, "got other white space"),
    (
        b"99999999999 2\n1 0\n",
        "pautomac",
        1,
        "number of strings must be at most .*; got 99,999,999,999",
    ),
    (b"1 99999\n1 0\n", "pautomac", 1, "alphabet size must be at most 10,000; got 99,999"),
    (b"1 1\n11 0 0 0 0 0 0 0 0 0 0 0\n", "pautomac", 2, "string length must be at most 10; got 11"),
    (b"ab\n" + b"a" * 11 + b"\n", "characters", 2, "string length must be at most 10; got 11"),
    (b"a b\n" + b"a " * 11 + b"\n", "tokens", 2, "string length must be at most 10; got 11"),
    (b"a,1\n" + b"a" * 11 + b",1\n", "csv", 2, "string length must be at most 10; got 11"),
    (
        b" ".join(b"%d\n" % n for n in range(10_001)),
        "tokens",
        None,
        "different symbols must be at most 10,000; got 10,001",
    ),
    ("λ\n\nλ\n".encode(), "characters", None, "every string is empty"),
    (b",1\n", "csv", None, "every string is empty"),
    (b"ab,1\nb,0\n", "auto", 2, "a count must be at least 1; got '0'"),
    (b"ab,1\nb,-" + b"9" * 5000 + b"\n", "auto", 2, "a count must be at least 1; got"),
    (
        b"ab,1\nb," + b"9" * 5000 + b"\n",
        "auto",
        2,
        "a count must be at most .*; got 1,000,000,000,000,000,000",
    ),
    (
        b"ab,15000000\nb,15000000\n",
        "auto",
        2,
        "sum of the counts must be at most 20,000,000; got 30,000,000",
    ),
    (b"ab,1\nb,many\n", "csv", 2, "a count must be a whole number; got 'many'"),
    (b"ab,1\nb\n", "csv", 2, "expected 2 columns, string and count; got 1 column"),
    (b'ab,1\n"b,2\n', "csv", 2, "not a CSV file"),
    (b"string,count\n", "csv", None, "the file has no strings"),
]


@pytest.mark.parametrize(("data", "format", "line", "message"), BAD_FILES)
def test_bad_files_are_refused(
    monkeypatch: pytest.MonkeyPatch, data: bytes, format: str, line: int | None, message: str
) -> None:
    monkeypatch.setitem(limits.IN_FORCE, "string_length", 10)
    with pytest.raises(RecipeError, match=message) as caught:
        read_strings(data, format)
    assert getattr(caught.value, "line", None) == line


def test_large_files_are_refused_before_they_are_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(limits.IN_FORCE, "strings", 2)
    with pytest.raises(FormatError, match="the number of lines must be at most 3; got 4"):
        read_strings(b"a\nb\na\nb\n")
    monkeypatch.setitem(limits.IN_FORCE, "file_bytes", 4)
    with pytest.raises(FormatError, match="the file must be at most 4 bytes; got 5"):
        read_strings(b"abcde")


def test_a_space_inside_a_string_is_a_character() -> None:
    words = Words.of([(1, 0, 1)])
    alphabet = Alphabet((" ", "a"))
    assert list(read_strings(write_lines(words, alphabet).encode(), "characters").words) == [
        (1, 0, 1)
    ]


def test_reading_is_fast() -> None:
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 16, size=20_000)
    words = Words(
        rng.integers(0, 10, size=lengths.sum()), np.concatenate(([0], np.cumsum(lengths)))
    )
    data = write_pautomac(words, 10).encode()
    start = time.process_time()
    read = read_strings(data)
    assert time.process_time() - start < 0.2
    assert (read.words.symbols == words.symbols).all() and (
        read.words.offsets == words.offsets
    ).all()


def test_shipped_verbs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    verbs = shipped_verbs()
    assert set(verbs.alphabet.symbols) <= set("abcdefghijklmnopqrstuvwxyz")
    assert (
        verbs.format == "characters" and len(verbs.words) > 1000 and verbs.words.lengths.min() > 0
    )
    monkeypatch.setattr(string_files, "VERBS", tmp_path / "verbs.txt")
    with pytest.raises(RecipeError, match="the list of verbs is missing"):
        shipped_verbs()
