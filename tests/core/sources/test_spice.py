"""Files of the SPiCe competition: what is written is read back, and errors name the line to
blame.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core.errors import FormatError, RecipeError
from nlwfa_core.metrics.ranking import Targets
from nlwfa_core.sources.pautomac import write_pautomac
from nlwfa_core.sources.spice import (
    read_prefixes,
    read_ranking,
    read_targets,
    targets_of,
    write_ranking,
)
from nlwfa_core.strings.words import Alphabet, IntArray, Words
from tests.references import DATA, best_gain, write_targets

SPICE = DATA / "spice"
LETTERS = Alphabet(("a", "b", "c", "d"))
ALPHABETS = st.sampled_from((None, LETTERS))
WORDS = st.lists(st.lists(st.integers(0, 3), max_size=5), min_size=1, max_size=9)
TARGET = st.dictionaries(st.integers(-1, 3), st.floats(0, 1e300), min_size=1, max_size=5)


def targets_from(rows: list[dict[int, float]]) -> Targets:
    pairs = [pair for row in rows for pair in row.items()]
    offsets = np.cumsum([0, *map(len, rows)])
    gains = np.array([best_gain([*row.values()]) or 1.0 for row in rows])
    return Targets(
        np.array([symbol for symbol, _ in pairs]), np.array([p for _, p in pairs]), offsets, gains
    )


@given(WORDS)
def test_prefixes_round_trip(rows: list[list[int]]) -> None:
    file = read_prefixes(write_pautomac(Words.of(rows), 4).encode())
    assert [list(word) for word in file.words] == rows
    assert file.names is None


@given(st.lists(TARGET, min_size=1, max_size=9), ALPHABETS)
def test_targets_round_trip(rows: list[dict[int, float]], alphabet: Alphabet | None) -> None:
    targets = targets_from(rows)
    names = alphabet.symbols if alphabet else ()
    read = read_targets(write_targets(targets, names).encode(), alphabet)
    for name in ("symbols", "probabilities", "offsets", "best_gains"):
        assert getattr(read, name).tolist() == getattr(targets, name).tolist()


@given(
    st.lists(st.lists(st.integers(-1, 3), min_size=1, max_size=5), min_size=1, max_size=9),
    ALPHABETS,
)
def test_rankings_round_trip(rows: list[list[int]], alphabet: Alphabet | None) -> None:
    width = max(map(len, rows))
    ranking: IntArray = np.array([row + [-2] * (width - len(row)) for row in rows])
    assert (
        read_ranking(write_ranking(ranking, alphabet).encode(), alphabet).tolist()
        == ranking.tolist()
    )


def test_one_symbol_on_a_line_is_what_followed() -> None:
    targets = read_targets(b"\xef\xbb\xbf3\r\n-1\r\n0\r\n\r\n")
    assert targets.likeliest.tolist() == [3, -1, 0]
    assert (targets.probabilities.tolist(), targets.best_gains.tolist()) == ([1.0] * 3, [1.0] * 3)
    assert read_targets(b"b\n1.0 -1 1.0\n", LETTERS).likeliest.tolist() == [1, -1]


def test_the_likeliest_is_the_first_of_equal_ones_wherever_it_stands() -> None:
    assert read_targets(b"1 2 0.25 3 0.5 0 0.5\n1 5 0 4 0\n").likeliest.tolist() == [3, 5]


def test_symbols_outside_the_alphabet_get_the_numbers_after_it() -> None:
    assert read_targets(b"a\nx\nb\ny\nx\n", Alphabet(("a", "b"))).symbols.tolist() == [
        0,
        2,
        1,
        3,
        2,
    ]


def test_what_follows_the_fifth_rank_is_left_out() -> None:
    assert read_ranking(b"0 1 2 3 4 5 6\n").tolist() == [[0, 1, 2, 3, 4]]


def test_more_targets_than_prefixes_and_fewer() -> None:
    targets = read_targets(b"0\n1.5 0 0.5 1 0.5\n1\n")
    assert targets_of(targets, 3) == (targets, ())
    first, notes = targets_of(targets, 2)
    assert (first.symbols.tolist(), first.offsets.tolist(), len(first)) == ([0, 0, 1], [0, 1, 3], 2)
    assert notes == ("3 targets for 2 prefixes: the first 2 are used.",)
    with pytest.raises(FormatError, match="a line for each of the 4 prefixes; got 3 lines"):
        targets_of(targets, 4)


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        (b"", None, "the file is empty"),
        (
            b"1.0 3\n",
            1,
            "a target must be the largest possible gain, .* or one symbol, as in '3'; got '1.0 3'",
        ),
        (
            b"3\n2\n1.0\n",
            3,
            "a symbol must be a whole number from 0, or -1 for the end of the string; got '1.0'",
        ),
        (b"1.0 -2 1.0\n", 1, "got '-2'"),
        (b"1.0 9999999999999999999 1.0\n", 1, "got '9999999999999999999'"),
        (b"1.0 \xc2\xb2 1.0\n", 1, "whole number"),
        (b"x 1 1.0\n", 1, "expected a finite number; got 'x'"),
        (b"0.0 1 1.0\n", 1, "largest possible gain of a target must be above 0; got '0.0'"),
        (b"-1 1 1.0\n", 1, "largest possible gain of a target must be above 0; got '-1'"),
        (b"nan 1 1.0\n", 1, "expected a finite number; got 'nan'"),
        (b"1.0 1 -0.5\n", 1, "expected a finite number of at least 0; got '-0.5'"),
        (b"1.0 1 inf\n", 1, "got 'inf'"),
        (b"1.0 1 0.5 1 0.5\n", 1, "a target must list each symbol only once; got '1' twice"),
        (b"1\n\n1\n", 2, "targets must have a line for each prefix; got an empty line"),
        (
            b"2 2\n1 0\n0\n",
            None,
            "this must be a SPiCe target file .*; got a PAutomaC file of strings",
        ),
        (b"2\n0.5\n0.5\n", None, "this must be a SPiCe target file .*; got a PAutomaC solution"),
    ],
)
def test_bad_targets_are_refused(data: bytes, line: int | None, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        read_targets(data)
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        (b"\n \n", None, "the file is empty"),
        (b"0 1\nx\n", 2, "got 'x'"),
        (b"0\n\n1\n", 2, "a ranking must have a line for each prefix"),
    ],
)
def test_bad_rankings_are_refused(data: bytes, line: int | None, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        read_ranking(data)
    assert caught.value.line == line


def test_prefixes_have_no_counts() -> None:
    assert list(read_prefixes(b"string,count\nab,1\nb,1\n").words) == [(0, 1), (1,)]
    with pytest.raises(
        FormatError, match="without a count or with the count 1; got a count of 3 for prefix 2"
    ):
        read_prefixes(b"string,count\nab,1\nb,3\n")
    with pytest.raises(
        FormatError, match="this must be a file of strings; got a SPiCe target file"
    ):
        read_prefixes(b"1.0 3 1.0\n1.0 -1 1.0\n")


@pytest.mark.parametrize("name", ["-1", "a b", ""])
def test_names_that_cant_stand_in_a_ranking_are_refused(name: str) -> None:
    with pytest.raises(RecipeError, match="can't be written in a file that separates symbols"):
        write_ranking(np.array([[1, 0, -1]]), Alphabet(("a", name)))
    assert write_ranking(np.array([[0, -1]]), Alphabet(("a", name))) == "a -1\n"
    with pytest.raises(
        RecipeError,
        match="symbols must be numbers of the alphabet, or -1 for the end of the string; got 4",
    ):
        write_ranking(np.array([[4]]), LETTERS)


@pytest.mark.skipif(
    not SPICE.exists(), reason="the competition's files are not part of the project"
)
@pytest.mark.parametrize("problem", [1, 2, 3, 4, 6, 8, 9, 11, 13, 14])
def test_every_public_file_is_read(problem: int) -> None:
    """The largest gains that the files state are those of their probabilities, to the digits of the
    files.
    """
    words = read_prefixes(SPICE / f"{problem}.spice.prefix.public").words
    targets = read_targets(SPICE / f"{problem}.spice.target.public")
    assert len(targets) == len(words) + (problem == 4)
    rows = zip(targets.offsets[:300].tolist(), targets.offsets[1:301].tolist(), strict=True)
    gains = [best_gain(targets.probabilities[start:end]) for start, end in rows]
    assert targets.best_gains[:300].tolist() == pytest.approx(gains, abs=1e-9)
