"""CSV files of strings and values."""

from __future__ import annotations

import pytest

from nlwfa_core.errors import FormatError, RecipeError
from nlwfa_core.sources.values import read_values
from nlwfa_core.strings.words import Alphabet

AB = Alphabet(("a", "b"))


def test_a_file_of_values() -> None:
    read = read_values("String,Value\r\nab,0.5\r\nλ,-3e-2\r\n\r\nab,0.5\r\nc,0\r\n".encode(), AB)
    assert list(read.strings.words) == [(0, 1), (), (2,)]
    assert read.strings.values.tolist() == [0.5, -0.03, 0]
    assert read.strings.alphabet.symbols == ("a", "b", "c")
    assert [note.split()[:2] for note in read.notes] == [["1", "blank"], ["1", "symbol"]]


def test_tokens_in_a_file_of_values() -> None:
    assert read_values(b"run stop,1\nrun,2\n").strings.alphabet.symbols == ("run", "stop")
    assert read_values(b"tokens,value\nrun,2\n").strings.alphabet.symbols == ("run",)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"ab,0.5\na,nan\n", "line 2: expected a finite number; got 'nan'"),
        (b"ab,inf\n", "line 1: expected a finite number; got 'inf'"),
        (b"ab,1_0\n", "line 1: expected a finite number; got '1_0'"),
        (b"ab,\n", "line 1: expected a finite number; got ''"),
        (b"string,value\nab\n", "line 2: expected 2 columns, string and value; got 1 column"),
        (b"string,count\nab,1\n", "line 1: the first line must be the header string,value, .*; got 'count' in the second column"),
        (b"string,value\n", "the file has no strings"),
        (b",1\n", "every string is empty"),
        (b"ab,1\nb,1\nab,2\n", "string 'ab' must have one value; got 1.0 and 2.0"),
    ],
)
def test_bad_files_of_values_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(RecipeError, match=message) as raised:
        read_values(data)
    assert isinstance(raised.value, FormatError) or "must have one value" in message
