"""CSV files of strings and values."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from nlwfa_core import fit
from nlwfa_core.errors import FormatError
from nlwfa_core.hankel.basis import Basis
from nlwfa_core.hankel.matrix import exact_hankel
from nlwfa_core.sources.value_files import read_values
from nlwfa_core.strings.words import Alphabet, Words

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
        (
            b"string,count\nab,1\n",
            "the first line must be the header string,value, .*; got the columns 'string', 'count'",
        ),
        (b"string,value\n", "the file has no strings"),
        (b",1\n", "every string is empty"),
        (
            b"ab,1\nb,1\nab,2\n",
            "string 'ab' must have one value; got 1.0 and 2.0, in lines 1 and 3",
        ),
    ],
)
def test_bad_files_of_values_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_values(data)


def test_an_abbadingo_file_has_labels() -> None:
    data = b"4 3\n1 3 0 1 2\n0 2 1 1\n1 0\n0 1 2\n"
    read = read_values(data).strings
    assert list(read.words) == [(0, 1, 2), (1, 1), (), (2,)] and read.values.tolist() == [
        1.0,
        0.0,
        1.0,
        0.0,
    ]
    assert read.alphabet.symbols == ("0", "1", "2")
    assert list(read_values(data, Alphabet(("1", "0"))).strings.words) == [
        (1, 0, 2),
        (0, 0),
        (),
        (2,),
    ]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"2 2\n1 1 0\n", "line 1: the first line promises 2 strings; the file has 1"),
        (
            b"1 2\n1 2 0\n",
            "line 2: the second number must be the string's length; got 2 for 1 symbols",
        ),
        (b"1 2\n1 1 5\n", "line 2: symbols must be from 0 to 1; got 5"),
        (
            b"2 2\n1 1 0\n7 1 0\n",
            r"line 3: the label must be 1 \(accepted\) or 0 \(rejected\); got 7",
        ),
        (b"2 2\n1 1 0\n1 x 0\n", "line 3: expected a label, a length and symbols"),
    ],
)
def test_an_abbadingo_file_that_is_wrong_says_where(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_values(data)


def test_a_language_is_learned_from_accepted_and_rejected_strings() -> None:
    """Even numbers of a, from all strings over a and b up to length 5: the values of an automaton
    with two states.
    """
    words = [word for length in range(6) for word in product((0, 1), repeat=length)]
    lines = [
        f"{int(word.count(0) % 2 == 0)} {len(word)} {' '.join(map(str, word))}".strip()
        for word in words
    ]
    strings = read_values("\n".join([f"{len(words)} 2", *lines]).encode()).strings
    basis = Basis.up_to(strings.alphabet, 2, 2)
    lookup = dict(zip(map(tuple, strings.words), strings.values.tolist(), strict=True))
    hankel = exact_hankel(lambda asked: np.array([lookup[tuple(word)] for word in asked]), basis)
    model = fit(hankel, "SP", rank=2).model
    assert model.weights(Words.of([(0,) * 8, (0,) * 7, (1, 0, 1)])) == pytest.approx(
        [1, 0, 0], abs=1e-9
    )


# Tables as spreadsheets and data frames write them


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("string;value\nab;0,5\nba;-1\n", {"ab": 0.5, "ba": -1.0}),
        ("ab;0,5\nba;1,25\nb;-0,75\n", {"ab": 0.5, "ba": 1.25, "b": -0.75}),
        ("string\tvalue\nab\t0.5\nba\t1e-3\n", {"ab": 0.5, "ba": 0.001}),
        (",string,value\n0,ab,0.5\n1,ba,1\n", {"ab": 0.5, "ba": 1.0}),
        ("Unnamed: 0,string,y\n7,ab,0.5\n2,ba,1\n", {"ab": 0.5, "ba": 1.0}),
        ("string,accepted\nab,True\nba,False\n", {"ab": 1.0, "ba": 0.0}),
        ("ab,true\nba,FALSE\n", {"ab": 1.0, "ba": 0.0}),
        ("label,string\n1,ab\n0,ba\n", {"ab": 1.0, "ba": 0.0}),
        ("string;Wert\nab;3\nba;0,5\n", {"ab": 3.0, "ba": 0.5}),
        ("word,weight\nab,3\nλ,0.25\n", {"ab": 3.0, "λ": 0.25}),
    ],
)
def test_tables_of_values_have_the_manners_of_tables_of_counts(
    data: str, expected: dict[str, float]
) -> None:
    strings = read_values(data.encode()).strings
    assert {
        strings.alphabet.decode(word): value
        for word, value in zip(strings.words, strings.values.tolist(), strict=True)
    } == expected


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            b"string,label\nab,yes\nba,no\n",
            r"line 2: expected a finite number; got 'yes' \(True and False are 1 and 0\)",
        ),
        (b"string,label\nab,accept\nba,reject\n", "line 2: expected a finite number; got 'accept'"),
        (
            b"activity,cost\nregister,50\npay,200\n",
            "got the columns 'activity', 'cost': a column of values may also be called y, target",
        ),
        (
            b"string,value,x\nab,1,2\nba,0,1\n",
            "a table of values must have 2 columns, string and value; got 3 columns, .*: "
            "'string', 'value', 'x'",
        ),
        (
            b"string;value\nab;1,5\nba;1.5\n",
            "line 3: numbers must have one decimal mark; got '1.5' after numbers with ','",
        ),
        (b"string;value\nab;1.234,5\nba;1\n", "line 2: "),
        (
            b"string,value\nab,1\nba,2\nbb\nb,3\n",
            "line 4: expected 2 columns, string and value; got 1 column",
        ),
        (
            b"string,value\nab,0.5\nb,1\nab,0.7\n",
            "string 'ab' must have one value; got 0.5 and 0.7, in lines 2 and 4",
        ),
        (
            b"3 2\n1 2 0 1\n0 2 0 1\n1 0\n",
            "string '01' must have one value; got 1.0 and 0.0, in lines 2 and 3",
        ),
        (
            b'{"string": "ab", "value": 1}\n{"string": "b", "value": 2}\n',
            "must have one field with the string|not read from JSON",
        ),
        (
            b"3 3\n1 3 login read logout\n0 2 login logout\n1 0\n",
            "line 2: .* all whole numbers.* names or attributes",
        ),
        (b"3 2\n1 3 0/1.5 1/0.2 1/3\n0 2 1/0.5 0/0\n1 0\n", "line 2: .* names or attributes"),
        (
            b"3 2\n1 2 0 1\n-1 1 0\n1 0\n",
            "line 3: the label must be 1 .accepted. or 0 .rejected.; got -1",
        ),
        (
            b"2 3\n3 0 1 2\n1 1\n",
            "this must be a table of strings and values; got a PAutomaC file of strings",
        ),
        (b"1 2\n1 1 " + b"9" * 400 + b"\n", "line 2: symbols must be from 0 to 1"),
        (b"string,value\nab," + b"9" * 400 + b"\n", "line 2: expected a finite number"),
    ],
)
def test_tables_that_are_none_of_values_are_refused_by_name(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_values(data)
