"""No wrong guess without a word: what is a count, what is a table, what is JSON, and what can't be
seen in letters.
"""

from __future__ import annotations

import unicodedata

import pytest

from nlwfa_core import limits
from nlwfa_core.errors import FormatError
from nlwfa_core.sources.letters import symbol_notes
from nlwfa_core.sources.preview import preview
from nlwfa_core.sources.reading import Reading
from nlwfa_core.sources.string_files import read_strings


def counted(data: bytes) -> list[tuple[str, int]]:
    sample = read_strings(data).sample()
    return [
        (sample.alphabet.decode(word), count)
        for word, count in zip(sample.words, sample.counts.tolist(), strict=True)
    ]


# Numbers that are counts, and numbers that are not


@pytest.mark.parametrize(
    "name",
    [
        "cost",
        "price",
        "age",
        "timestamp",
        "year",
        "length",
        "user",
        "word count",
        "account",
        "x",
        "amount",
        "y",
    ],
)
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_numbers_are_no_counts_unless_their_name_says_so(name: str, delimiter: str) -> None:
    rows = [("activity", name), ("register", "101"), ("pay", "101"), ("register", "102")]
    for order in (1, -1):
        data = "".join(f"{delimiter.join(row[::order])}\n" for row in rows).encode()
        with pytest.raises(
            FormatError,
            match=f"got numbers in the column '{name}' and text in 'activity'.* count, n or "
            "frequency",
        ):
            read_strings(data)


@pytest.mark.parametrize(
    "name",
    [
        "count",
        "Count",
        "n",
        "freq",
        "num_occurrences",
        "Anzahl",
        "Häufigkeit",
        "nombre",
        "frequency",
        "number of strings",
    ],
)
def test_numbers_are_counts_if_their_name_says_so(name: str) -> None:
    assert counted(f"trace,{name}\nab,2\nb,1\n".encode()) == [("ab", 2), ("b", 1)]


def test_without_names_text_and_one_whole_number_are_a_string_and_its_count() -> None:
    assert counted(b"ab,2\nb,1\n") == [("ab", 2), ("b", 1)]
    assert counted(b"01,2\n1,1\n") == [("01", 2), ("1", 1)]  # no number begins with 0
    for data in (b"10,2\n11,1\n", b"1;5\n2;7\n", b"0,1\n1,0\n1,1\n"):
        with pytest.raises(
            FormatError, match="lines of 2 whole numbers.* add a first line string,count"
        ):
            read_strings(data)
    # the user says that it is a table
    assert [int(count) for count in read_strings(b"10,2\n11,1\n", "csv").counts] == [2, 1]


# Tables with an odd line


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            b"string,count\nab,2\nba,3\nbb\nb,1\n",
            "line 4: expected 2 columns, string and count; got 1 column",
        ),
        (
            b"the cat,3\na dog,2\nthe dog,4,1\na cat,7\n",
            "line 3: expected 2 columns, string and count; got 3 columns",
        ),
        (
            b"My strings\nstring,count\na b,3\nb a,2\n",
            "line 1: expected 2 columns, string and count; got 1 column",
        ),
        (
            b"ab;3\nba;2\nb;1\ntotal\n",
            "line 4: expected 2 columns, string and count separated by semicolons; got 1 column",
        ),
        (
            b"a b\t3\nb a\t2\nb b\t1\nb\n",
            "line 4: expected 2 columns, string and count separated by tabs; got 1 column",
        ),
        (b'["a", "b"]\n["b"]\nab\n["a"]\n', "line 3: expected a line of JSON"),
        (b"[0, 1]\n[1]\n[0\n[1, 1]\n", "line 3: expected a line of JSON"),
        (b'{"text": "ab"}\n{"text": "b"}\nb\n', "line 3: expected a line of JSON"),
    ],
)
def test_one_odd_line_is_named(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_strings(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"string\nabba\nbab\nabba\n", "the first line, 'string', looks like the name of a column"),
        (b"text\nthe cat sat\na dog\n", "the first line, 'text', looks like the name of a column"),
        (b'"Sequence"\n"AB"\n"BA"\n', "the first line, 'Sequence', looks"),
        (b"words\na b\nb\n", "the first line, 'words', looks"),
        (b"trace\nxyx\nyx\n", "the first line, 'trace', looks"),
        (b"session\nhome search\nhome item cart\n", "the first line, 'session', looks"),
        (b'"Session_ID"\n"home search"\n"item cart"\n', "the first line, 'Session_ID', looks"),
        (
            b"+,S10,\t\ttactag\n+,AMPC,\ttgctat\n-,867,\t\tatatga\n",
            "got 3 columns, separated by commas: '\\+', 'S10', 'tactag'",
        ),
        (
            b"case,result\nc1,register order\nc1,pay bill\n",
            "got 2 columns, separated by commas: 'case', 'result'",
        ),
        (
            b"name\tactivity\nc1\tregister\nc1\tpay\n",
            "got 2 columns, separated by tabs: 'name', 'activity'",
        ),
        (
            b"text,lang\nthe cat,en\ndie Katze,de\n",
            "got 2 columns, separated by commas: 'text', 'lang'",
        ),
        (
            b"session,outcome\nhome search,buy\nhome,leave\n",
            "no column has the counts of strings; got 2 columns, separated by commas: 'session', "
            "'outcome': set the format to csv and say which has the strings .text_column., .* if "
            "the other has labels, .* Classify page or with `nlwfa classify --label-column`",
        ),
    ],
)
def test_other_tables_are_refused_with_what_was_found(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_strings(data)


def test_a_table_without_any_number_has_no_counts_in_its_second_column() -> None:
    table = b"session,outcome\nhome search,buy\nhome,leave\n"
    with pytest.raises(FormatError, match="no column has the counts of strings; .*: say which has"):
        read_strings(table, "csv")
    shown = preview(table, Reading("csv"))
    assert shown is not None and shown.choices["text_column"] == ("", "session", "outcome")
    chosen = Reading("csv", text_column="session")
    assert list(read_strings(table, chosen).sample()) == ["home search", "home"]


def test_a_list_of_words_that_begins_with_one_is_read() -> None:
    # no letter is new in the first line
    assert read_strings(b"string\nstrings\ntokens\ngrid\nin\n").alphabet.symbols
    assert len(read_strings(b"text is long\nthe text\n").words) == 2


# Separators between symbols


@pytest.mark.parametrize(
    ("data", "separator"),
    [
        (b"login,view,logout\nlogin,logout\n", "comma"),
        (b"login;view;logout\nlogin;logout\n", "semicolon"),
        (b"0,1,1\n1,0\n0\n", "comma"),
        (b"a,b,,\nb,a,a,\na,,,\n", "comma"),
        (b"a|b|a\nb|a\n", "vertical bar"),
        (b"login->view->logout\nlogin->logout\n", "arrow"),
        ("a→b→c\nb→a\n".encode(), "arrow"),
        (b"login, view, logout\nlogin, logout\n", "comma"),
        (b"login; view; logout\nlogout\n", "semicolon"),
        (b"a , b , c\nb , a\n", "comma"),
        (b"a ;b ;c\nb ;a\n", "semicolon"),
        (b'"a","b","a"\n"b","a"\n', "comma"),
        (b"a;b;\nb;\n", "semicolon"),
        (b"a -> b -> c\nb -> a\n", "arrow"),
    ],
)
def test_separators_other_than_spaces_do_not_become_symbols(data: bytes, separator: str) -> None:
    with pytest.raises(
        FormatError, match=f"must have spaces between them; got lines with {separator}s, such as"
    ):
        read_strings(data)
    assert len(read_strings(data, "characters").words) == data.count(b"\n")


@pytest.mark.parametrize(
    "data",
    [
        b"0,1,1\n1,0,1\n",
        b"login,view,logout\nlogin,view,view\n",
        b"1;0;1\n0;0;1\n",
        b"0,1\n1,1\n",
        b"a,1,b\nb,0,a\n",
    ],
)
def test_strings_of_equal_length_with_separators_are_no_counts(data: bytes) -> None:
    with pytest.raises(FormatError, match="spaces between"):
        read_strings(data)


# JSON


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"[[0,1,1],[2,0],[1]]\n", "each string must be on a separate line.*got one JSON list"),
        (b'[["a","b"],["b"],["a"]]', "each string must be on a separate line.*got one JSON list"),
        (b'["ab", "b"]\n', "got one JSON list"),
        (
            b"[[0, 1, 1],\n [2, 0],\n [1]]\n",
            "the file begins like JSON, so each of its lines must be JSON",
        ),
        (b"[\n  [\n    0,\n    1\n  ],\n  [\n    1\n  ]\n]\n", "the file begins like JSON"),
        (b'{\n  "strings": ["ab"]\n}\n', "the file begins like JSON"),
        (
            b"[0.5, 1]\n[1]\n",
            "a symbol in a list must be a string without white space, or a whole number; got 0.5",
        ),
        (b"[[0, 1]]\n[[1]]\n", "a symbol in a list must be .*; got list"),
        (b'[true]\n["a"]\n', "a symbol in a list must be .*; got true"),
        (b'{"text": "ab"}\n["a"]\n', "all lines of JSON must have the same form"),
        (b"[\n" + b"  0,\n" * 40 + b"  1\n]\n", "the file begins like JSON"),
    ],
)
def test_json_is_read_by_one_rule(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_strings(data)


# Letters


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("café au lait\ncafe\u0301 noir\n", "Symbols that look alike"),
        ("\u00e9a\ne\u0301a\n", "Accents are symbols of their own (U+0301), but é is also one"),
        (
            "a\u0308b\nba\u0308\n",
            "Accents are symbols of their own (U+0308): save the file with composed letters",
        ),
        ("\uac00 \ub098\n\u1100\u1161\n", "Symbols that look alike"),
        ("a\u200bb c\nb c\n", "1 symbol with invisible characters: 'a\\u200bb'"),
        ("a b\n\ufeffa b\n", "1 symbol with invisible characters: '\\ufeffa'"),
        ("a\u00adb\nab\n", "1 symbol with invisible characters: '\\xad'"),
        ("a\u202eb c\nb\n", "1 symbol with invisible characters"),
        ("a\0b\nab\n", "1 symbol with control characters: '\\x00'"),
        ("a\x1bb c\nab\n", "1 symbol with control characters: 'a\\x1bb'"),
        ("gar\u00c3\u00a7on aime\naime\n", "1 symbol of text that was saved in one encoding"),
        ("caf\ufffd noir\nnoir\n", "1 symbol of text that was saved in one encoding"),
    ],
)
def test_what_can_not_be_seen_is_said(text: str, note: str) -> None:
    notes = read_strings(text.encode()).notes
    assert [sentence for sentence in notes if sentence.startswith(note)], notes


@pytest.mark.parametrize(
    "text",
    [
        "é è\n",
        "\u05e9\u05b8\u05dc\u05d5\u05b9\u05dd\n",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645\n",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467 x\n",
        "\u2764\ufe0f a\n",
        "\u0939\u093f\u0928\u094d\u0926\u0940\n",
        "ß ẞ\n",
    ],
)
def test_scripts_and_emoji_are_read_without_a_word(text: str) -> None:
    assert symbol_notes(read_strings(text.encode()).alphabet.symbols) == []
    assert unicodedata.normalize("NFC", text)


@pytest.mark.parametrize("name", ["ε", "<eps>", "epsilon", "<epsilon>", "eps", "∅", "lambda", '""'])
def test_other_empty_words_are_named(name: str) -> None:
    tokens = read_strings(f"a b\n{name}\nb\n{name}\n".encode())
    assert tokens.notes == (
        f"{name} alone on 2 lines is read as a symbol; "
        "the empty word is written as λ or as an empty line.",
    )
    characters = read_strings(f"ab\n{name}\n".encode(), "characters")
    what = "symbol" if len(name) == 1 else "string"
    assert characters.notes == (
        f"{name} alone on 1 line is read as a {what}; "
        "the empty word is written as λ or as an empty line.",
    )
    assert read_strings(f"a {name} b\nb a\n".encode()).notes == ()


@pytest.mark.parametrize(
    ("text", "encoding", "reading"),
    [
        ("garçon aime café\n", "cp1252", "garçon aime café"),
        ("Satz;Anzahl\nschön hier;3\n", "latin-1", "schön hier;3"),
        ("a b\nnaïve – déjà vu\n", "cp1252", "naïve – déjà vu"),
        ("«sí» señor\n", "cp1252", "«sí» señor"),
        ("Füße\n", "latin-1", "Füße"),
    ],
)
def test_western_code_pages_are_recognised(text: str, encoding: str, reading: str) -> None:
    with pytest.raises(FormatError) as raised:
        read_strings(text.encode(encoding))
    assert (
        "is not UTF-8; files must be text, saved as UTF-8 (in Excel: CSV UTF-8); as "
        f"Windows-1252 this line reads '{reading}'" in str(raised.value)
    )


def test_a_sequence_that_is_too_long_has_a_next_step() -> None:
    for data in (b"ab" * 10_000 + b"\n", b"1 2\n20000" + b" 0 1" * 10_000 + b"\n"):
        with pytest.raises(
            FormatError,
            match="got 20,000 .cut one long sequence into windows, for example window = 20, .* "
            "statistic factor",
        ):
            read_strings(data)
        assert len(read_strings(data, Reading(window=20)).words) == 1000


@pytest.mark.parametrize(
    ("most", "length", "advice"),
    [
        (3, 4, ""),
        (98, 99, ""),
        (99, 100, "20"),
        (3, 200, "3"),
        (1, 100, "1"),
        (20, 1000, "20"),
    ],
)
def test_the_advice_on_a_long_sequence_keeps_to_the_limit(
    monkeypatch: pytest.MonkeyPatch, most: int, length: int, advice: str
) -> None:
    monkeypatch.setitem(limits.IN_FORCE, "string_length", most)
    step = (
        f" (cut one long sequence into windows, for example window = {advice}, and learn with the "
        "statistic factor)"
        if advice
        else ""
    )
    with pytest.raises(FormatError) as raised:
        read_strings(b"a" * length)
    assert (
        str(raised.value)
        == f"line 1: the string length must be at most {most}; got {length:,}{step}"
    )
