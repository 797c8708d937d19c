"""Ordinary files are recognised, or refused with what was seen; lines of characters and tokens read
as they always did.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlwfa_core.errors import FormatError
from nlwfa_core.sources.pautomac import read_pautomac_model, read_solution
from nlwfa_core.sources.string_files import read_strings
from nlwfa_core.strings.words import Alphabet
from tests.core.sources.test_pautomac import MODEL
from tests.references import DATA

COUNTED = [("the cat sat", 3), ("the dog, ran", 27), ("a cat", 2), ('a "big" cat', 1)]
TEXTS = [text for text, _ in COUNTED]
SOLUTION = b"3\n0.5\n1e-20\n0\n"
STRINGS = b"3 2\n2 0 1\n0\n1 1\n"
TARGET = b"0.42 15 0.23 6 0.14\n1.0 -1 1.0\n"
EXPECTED = sorted((tuple(text.split()), count) for text, count in COUNTED)


def table(
    rows: Sequence[Sequence[object]],
    delimiter: str = ",",
    header: Sequence[str] = (),
    index: bool = False,
) -> bytes:
    """What pandas' `to_csv` writes, and Excel."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=delimiter)
    writer.writerows([header] * bool(header))
    writer.writerows([*[number] * index, *row] for number, row in enumerate(rows))
    return buffer.getvalue().encode()


def counted(data: bytes, format: str = "auto") -> list[tuple[tuple[str, ...], int]]:
    read = read_strings(data, format)
    words = [tuple(read.alphabet.symbols[symbol] for symbol in word) for word in read.words]
    return sorted(zip(words, read.counts.tolist(), strict=True))


REVERSED = [(count, text) for text, count in COUNTED]
OBJECTS = [
    {"text": text, "count": count, "id": number} for number, (text, count) in enumerate(COUNTED)
]


@pytest.mark.parametrize(
    ("data", "format", "detail"),
    [
        (
            table(COUNTED, header=("string", "count")),
            "csv",
            "; strings in the column 'string', counts in 'count'",
        ),
        (
            table(COUNTED),
            "csv",
            "; the number after each line's last comma is its count; as the format tokens",
        ),
        (
            table(COUNTED, ";"),
            "csv",
            "; the number after each line's last semicolon is its count; as the format tokens",
        ),
        (
            table(COUNTED, "\t"),
            "csv",
            "; the number after each line's last tab is its count; as the format tokens",
        ),
        (
            b"\xef\xbb\xbf" + table(COUNTED, ";", ("Satz", "Anzahl")),
            "csv",
            "; strings in the column 'Satz', counts in 'Anzahl'",
        ),
        (
            table(COUNTED, header=("", "text", "n"), index=True),
            "csv",
            "; strings in the column 'text', counts in 'n'; the first column only",
        ),
        (
            table(COUNTED, index=True),
            "csv",
            "it would be text; the first column only numbers the rows",
        ),
        (
            table(COUNTED, header=("sentence", "n")),
            "csv",
            "; strings in the column 'sentence', counts in 'n'",
        ),
        (
            table(REVERSED, header=("n", "sentence")),
            "csv",
            "; strings in the column 'sentence', counts in 'n'",
        ),
        (
            "".join(f"{json.dumps(record)}\n" for record in OBJECTS).encode(),
            "json",
            "'text', counts in 'count'; not used: 'id'",
        ),
    ],
    ids=[
        "known header",
        "no header",
        "Excel",
        "tabs",
        "mark",
        "pandas",
        "pandas without header",
        "header",
        "reversed",
        "objects",
    ],
)
def test_tables_and_json_of_strings_and_counts_are_recognised(
    data: bytes, format: str, detail: str
) -> None:
    read = read_strings(data)
    assert counted(data) == counted(data, format) == EXPECTED
    assert read.format == format
    assert (
        read.reading.startswith(f'read as {format}: 7 symbols: "big" a cat dog, ran sat the; ')
        and detail in read.reading
    )


@pytest.mark.parametrize(
    ("data", "detail"),
    [
        (
            "".join(f"{json.dumps(text.split())}\n" for text in TEXTS).encode(),
            "each line a list of symbols",
        ),
        (
            "".join(f"{json.dumps(text)}\n" for text in TEXTS).encode(),
            "each line a string in quotes",
        ),
        (
            "".join(f'{{"tokens": {json.dumps(text.split())}}}\n\n' for text in TEXTS).encode(),
            "strings in the field 'tokens'",
        ),
        (
            table([(text,) for text in TEXTS], header=("", "text"), index=True),
            "strings in the column 'text'; the first column only",
        ),
    ],
    ids=["lists", "quotes", "objects", "pandas"],
)
def test_each_line_without_a_count_counts_once(data: bytes, detail: str) -> None:
    assert counted(data) == sorted((tuple(text.split()), 1) for text in TEXTS)
    assert detail in read_strings(data).reading


def test_lists_of_symbols_hold_the_empty_word_and_numbers() -> None:
    read = read_strings(b"[0, 10, 9]\n[]\n[10]\n")
    assert (list(read.words), read.alphabet.symbols, read.format) == (
        [(0, 2, 1), (), (2,)],
        ("0", "9", "10"),
        "json",
    )
    # one list is one string, if the format is given
    assert list(read_strings(b'["a", "b"]\n', "json").words) == [(0, 1)]


REFUSED = {
    "a count of 1.5": (
        table([*COUNTED, ("the", 1.5)]),
        "line 5: a count must be a whole number; got '1.5'",
    ),
    "a decimal comma": (
        b"the cat;3,0\na cat;1,5\n",
        "line 1: a count must be a whole number; got '3,0'",
    ),
    "an empty count": (
        table([*COUNTED, ("the", "")]),
        "line 5: a count must be a whole number; got ''",
    ),
    "a third column": (
        table([(*row, "en") for row in COUNTED], header=("text", "n", "language")),
        "2 columns, string and count; got 3 columns, separated by commas: 'text', 'n', "
        "'language': set the format to csv .*set the format to tokens",
    ),
    "a third column without a header": (
        table([(*row, 7) for row in COUNTED], ";"),
        "got 3 columns, separated by semicolons: 'the cat sat', '3', '7'",
    ),
    "another number of columns below": (
        table(COUNTED * 6, ";") + b"a;b;1\n",
        "line 25: expected 2 columns, .* semicolons; got 3 columns",
    ),
    "numbers first": (
        table(REVERSED),
        "got numbers in the first column and text in the other, without a line that names "
        "the columns",
    ),
    "an id": (
        table([(7 * n, text) for text, n in COUNTED], header=("id", "text")),
        "got numbers in the column 'id' and text in",
    ),
    "UTF-16": (
        "the cat sat\n".encode("utf-16"),
        "the file must be text saved as UTF-8 .*; got UTF-16 text",
    ),
    "UTF-16 without a mark": (
        "the cat sat\n".encode("utf-16-be"),
        "the file must be text saved as UTF-8 .*; got UTF-16 text",
    ),
    "UTF-32": (
        "the cat sat\n".encode("utf-32"),
        "the file must be text saved as UTF-8 .*; got UTF-32 text",
    ),
    "an Excel workbook": (
        b"PK\x03\x04\x14\x00",
        "the file must be text saved as UTF-8; got a ZIP archive or an Excel workbook",
    ),
    "a model's arrays": (
        b"\x58" + bytes(7) + b'{"initial":',
        "the file must be text saved as UTF-8; got a safetensors file",
    ),
    "a saved model": (
        b'{"format": 1, "symbols": ["a"], "info": {}, "kind": "WFA"}\n',
        "this must be a file of strings; got the model.json of a model that nlwfa wrote",
    ),
    "a document": (
        b'[\n  "ab",\n  "b"\n]\n',
        "the file begins like JSON, so each of its lines must be JSON",
    ),
    "one list": (
        b'["ab", "b"]\n',
        "each string must be on a separate line, as in .*; got one JSON list",
    ),
    "another line below": (
        b'["a"]\n' * 30 + b"ab\n",
        "line 31: expected a line of JSON, as in .* got 'ab'",
    ),
    "a symbol with a space": (
        b'["a", "b"]\n' * 30 + b'["a b"]\n',
        "line 31: a symbol in a list must be a string without white space",
    ),
    "objects without a text": (
        b'{"a": "x", "b": "y"}\n{"a": "x", "b": "y"}\n',
        "got the fields 'a', 'b'",
    ),
    "a number of unknown meaning": (
        b'{"text": "x", "k": 2}\n{"text": "y", "k": 1}\n',
        "got the fields 'text', 'k'",
    ),
    "a missing count": (
        b'{"text": "x", "count": 2}\n' * 30 + b'{"text": "y"}\n',
        "line 31: the object has no field 'count'; it has 'text'",
    ),
    "a count in quotes": (
        b'{"text": "x", "count": 2}\n' * 30 + b'{"text": "y", "count": 0.5}\n',
        "line 31: a count must be a whole number",
    ),
    "a PAutomaC model": (MODEL.encode(), "this must be a file of strings; got a PAutomaC model"),
    "a PAutomaC solution": (SOLUTION, "this must be a file of strings; got a PAutomaC solution"),
    "a SPiCe target file": (TARGET, "this must be a file of strings; got a SPiCe target file"),
}


@pytest.mark.parametrize(("data", "message"), REFUSED.values(), ids=REFUSED)
def test_other_files_are_refused_with_what_was_seen(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_strings(data)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (STRINGS, "a PAutomaC file of strings"),
        (TARGET, "a SPiCe target"),
        (MODEL.encode(), ""),
        (SOLUTION, ""),
    ],
)
def test_a_competitions_file_in_the_place_of_another(data: bytes, kind: str) -> None:
    if kind or data != SOLUTION:
        with pytest.raises(
            FormatError, match=f"this must be a PAutomaC solution; got {kind or 'a PAutomaC model'}"
        ):
            read_solution(data)
    if kind or data == SOLUTION:
        with pytest.raises(
            FormatError, match=f"this must be a PAutomaC model; got {kind or 'a PAutomaC solution'}"
        ):
            read_pautomac_model(data)


@pytest.mark.skipif(not DATA.is_dir(), reason="the competition's files are not part of the project")
def test_the_competitions_own_files_are_recognised() -> None:
    for path in sorted((DATA / "spice").glob("*.target.public")) + sorted(
        (DATA / "pautomac").glob("*_*.txt")
    ):
        with pytest.raises(
            FormatError,
            match=r"this must be .*; got a (SPiCe target file|PAutomaC (model|solution))",
        ):
            read_strings(path.read_bytes())
    for path in (*(DATA / "spice").glob("*.prefix.public"), *(DATA / "pautomac").glob("*.test")):
        assert read_strings(path.read_bytes()).format == "pautomac"


# What must not change: lines of characters and of tokens

LINES = [
    b"well, yes\nno, 4 times\nhm\n",
    b"hello, world\nbye, world\n",  # as many commas in each line, but no numbers
    b"run 3\nstop 2\n",
    b"w;1 x;2\ny;3 z\n",
    b"the;3\n",  # a single line shows nothing
    b"a\tb\t3\nc\td\t4\n",  # tokens between tabs
    b"10\t9\n11\t9\n",
    b"3 x\n0.5\n0.25\n",
    b"[[]]\n[]\n[][]\n",
    b"[]\n[]\n",
    b"[\n[]\n]\n",
    b'{ a b }\n{ "x" }\n',
    b"I: think so\nS: why not\n",
    b"0.5 1 0.5\n0.5 1\n",
    b"1,5 kg\n2,5 kg\n",
]


@pytest.mark.parametrize("data", LINES)
def test_lines_stay_lines(data: bytes) -> None:
    rows = data.decode().splitlines()
    tokens = any(len(row.split()) > 1 for row in rows)
    read = read_strings(data)
    assert read.format == ("tokens" if tokens else "characters")
    assert [[read.alphabet.symbols[symbol] for symbol in word] for word in read.words] == [
        row.split() if tokens else list(row) for row in rows
    ]


WORDS = st.lists(st.text("ab,;.0123-:()[]{", min_size=1, max_size=4), min_size=1, max_size=5)


@settings(max_examples=400)
@given(st.lists(WORDS, min_size=1, max_size=8), st.sampled_from([" ", "\t", "  "]))
def test_tokens_without_a_common_delimiter_read_as_before(
    rows: list[list[str]], space: str
) -> None:
    """Whatever has another number of commas, of semicolons and of tabs in two lines is no table,
    and what is no JSON is text.
    """
    lines = [space.join(row) for row in rows]
    differ = [len({line.count(delimiter) for line in lines}) > 1 for delimiter in ",;\t"]
    # was CSV before, too
    numbers = all(line.rsplit(",", 1)[-1].strip().lstrip("+-").isdigit() for line in lines)
    header = all(part.isdigit() for part in lines[0].split())
    json_like = lines[0][0] in "[{"
    if (
        not all(differ)
        or numbers
        or header
        or json_like
        or not any(len(line.split()) > 1 for line in lines)
    ):
        return
    read = read_strings("\n".join(lines).encode())
    assert read.format == "tokens"
    assert [[read.alphabet.symbols[symbol] for symbol in word] for word in read.words] == [
        line.split() for line in lines
    ]


def test_brackets_and_quotes_of_the_training_strings_are_no_json() -> None:
    data = b'["a","b"]\n["b"]\n'
    assert read_strings(data).format == "json"
    assert read_strings(data, alphabet=Alphabet(("[", "]", "a"))).format == "characters"


def test_json_lists_that_can_not_be_strings_are_refused() -> None:
    with pytest.raises(
        FormatError, match='a symbol in a list must be a string without white space.*; got "log in"'
    ):
        read_strings(b'["log in", "pay"]\n["look"]\n')
    with pytest.raises(
        FormatError, match="line 2: λ alone is how the empty word is written: write "
    ):
        read_strings('["a"]\n["λ"]\n'.encode())
    assert read_strings(b"[[]]\n[]\n").format == "characters"  # strings of brackets


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "index"])
def test_the_index_of_some_rows_of_a_data_frame_is_recognised(name: str) -> None:
    rows = [
        (number, text, count) for number, (text, count) in zip((27, 5, 9, 14), COUNTED, strict=True)
    ]
    assert counted(table(rows, header=(name, "sentence", "n"))) == EXPECTED
    with pytest.raises(FormatError, match="must have 2 columns"):
        counted(table(rows, header=("age", "sentence", "n")))


def test_whole_numbers_that_end_in_a_point_and_0_are_counts() -> None:
    rows = [(text, f"{count}.0") for text, count in COUNTED]
    assert counted(table(rows, header=("sentence", "n"))) == EXPECTED
    for wrong in ("1.5", "1.000", "1e3"):
        with pytest.raises(FormatError, match="a count must be a whole number"):
            counted(table([*rows, ("x", wrong)], header=("sentence", "n")))
