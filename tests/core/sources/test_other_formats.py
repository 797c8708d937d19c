"""Logs of events, annotated text, sequences of biology and what tools write are read as they are:
the strings are those that a plain program would find, and nothing is left out without a word.
"""

from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as ElementTree
from itertools import groupby
from xml.sax.saxutils import quoteattr

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core.errors import FormatError, RecipeError
from nlwfa_core.sources.reading import Reading
from nlwfa_core.sources.string_files import StringFile, read_strings
from nlwfa_core.strings.words import Alphabet

LOG = (
    b"case_id,activity,timestamp,cost\n"
    b"101,register,2024-01-31 10:00,50\n"
    b"102,register,2024-01-31 10:05,50\n"
    b"101,pay,2024-01-31 09:00,0\n"
    b"101,check it,2024-01-31 11:00,7\n"
)
XES = b"""<?xml version="1.0" encoding="UTF-8"?>
<log xes.version="1.0" xmlns="http://www.xes-standard.org/">
 <extension name="Concept" prefix="concept" uri="http://www.xes-standard.org/concept.xesext"/>
 <global scope="event"><string key="concept:name" value="nothing"/></global>
 <trace>
  <string key="concept:name" value="1"/>
  <event>
   <string key="concept:name" value="register"/><string key="org:resource" value="Ann"/>
  </event>
  <event>
   <string key="concept:name" value="pay &amp; go"><string key="concept:name" value="in"/></string>
   <string key="org:resource" value="Bob"/>
  </event>
 </trace>
</log>
"""
NAMES = st.text('abλ é_,;"<&>1\n', min_size=1, max_size=4)


def strings(file: StringFile) -> list[str]:
    return [file.alphabet.decode(word) for word in file.words]


# Logs of events


def test_a_log_is_grouped_by_case_and_sorted_by_time_with_a_sentence() -> None:
    read = read_strings(LOG)
    assert (read.format, strings(read)) == ("events", ["pay register check_it", "register"])
    assert read.reading == (
        "read as events: 3 symbols: check_it pay register; one string for each 'case_id', symbols "
        "in 'activity', sorted by 'timestamp'; not used: 'cost'"
    )
    assert read.notes == ("Symbols have _ in place of white space: 'check it' is 'check_it'.",)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"case_column": "case_id", "event_column": "activity"},
            ["register pay check_it", "register"],
        ),
        ({"case_column": "1", "event_column": "2", "order_column": "cost"}, None),
        (
            {"case_column": "COST", "event_column": "activity"},
            ["register register", "pay", "check_it"],
        ),
        ({"order_column": "4"}, ["pay check_it register", "register"]),
    ],
)
def test_columns_are_chosen_by_name_or_number(
    fields: dict[str, str], expected: list[str] | None
) -> None:
    read = read_strings(LOG, Reading("events", **fields))
    assert strings(read) == (expected or ["pay check_it register", "register"])


def test_columns_without_names_have_numbers() -> None:
    rows = LOG.split(b"\n", 1)[1]
    read = read_strings(rows, Reading("events", case_column="1", event_column="2"))
    assert strings(read) == ["register pay check_it", "register"]
    assert "column 1 (such as '101')" in read.reading
    # A first event may be called as a column is.
    read = read_strings(b"c1,order\nc2,pay\n", Reading("events", case_column="1", event_column="2"))
    assert strings(read) == ["order", "pay"]
    # The first line may look like names, and be none.
    data = b"case,event\nc,d\n"
    chosen = Reading("events", case_column="1", event_column="2", header="no")
    assert strings(read_strings(data, chosen)) == ["event", "d"]


@pytest.mark.parametrize(
    ("data", "fields", "message"),
    [
        (LOG, {"case_column": "id"}, "there is no column 'id' for the cases"),
        (LOG, {"case_column": "5"}, "there is no column '5' for the cases"),
        (LOG, {"case_column": "activity"}, "can't be in the same column"),
        (b"a;b\n1;2\n", {}, "say which column has the cases .* the columns are 'a', 'b'|column 1"),
        (b"case,event,event\n1,a,b\n", {}, "say which column has the cases"),
        (
            b"case,event,event\n1,a,b\n",
            {"case_column": "case", "event_column": "event"},
            "2 columns are called 'event': choose the events",
        ),
        (LOG + b"103,pay\n", {}, "line 6: expected 4 columns; got 2 columns"),
        (b"title\n" + LOG, {}, "line 1: expected 4 columns; got 1 column"),
        (LOG + b"103,,2024-01-31,0\n", {}, "line 6: the event is empty"),
        (LOG + b",pay,2024-01-31,0\n", {}, "line 6: the case is empty"),
        (LOG + b"1,\xce\xbb,2024-01-31,0\n", {}, "line 6: the event is λ"),
        (LOG + b"1,check_it,2024-01-31,0\n", {}, "line 6: two names would become the same symbol"),
        (LOG + b"1,pay,soon,0\n", {}, "line 6: events can be sorted by numbers, or by dates"),
        (LOG + b"1,pay,2024-01-31T10:00Z,0\n", {}, "line 6: events can be sorted by dates"),
        (LOG + b'1,"pay,2024-01-31,0\n', {}, "not a CSV file"),
        (b"ab\nba\n", {}, "say which column"),
    ],
)
def test_what_is_unclear_in_a_log_is_an_error(
    data: bytes, fields: dict[str, str], message: str
) -> None:
    with pytest.raises(FormatError, match=message):
        read_strings(data, Reading("events", **fields))


def test_a_table_with_counts_or_texts_is_no_log() -> None:
    for name in ("count", "text"):
        with pytest.raises(FormatError, match="3 columns"):
            read_strings(f"case,activity,{name}\n1,a,2\n1,b,1\n".encode())


CASES = st.sampled_from(["7", "x", "é 1"])


@given(
    st.lists(st.tuples(CASES, st.sampled_from(["a", "b c", "d,e"]), st.integers(-3, 3))).filter(
        bool
    ),
    st.sampled_from([",", ";", "\t", "|"]),
    st.booleans(),
)
def test_any_log_is_grouped_as_a_dictionary_would_group_it(
    rows: list[tuple[str, str, int]], separator: str, by_order: bool
) -> None:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=separator, lineterminator="\n")
    writer.writerows([("who", "what", "when"), *rows])
    expected: dict[str, list[str]] = {}
    for case in dict.fromkeys(row[0] for row in rows):
        own = [row for row in rows if row[0] == case]
        own = sorted(own, key=lambda row: row[2]) if by_order else own
        expected[case] = [row[1].replace(" ", "_") for row in own]
    columns = {"case_column": "who", "event_column": "what"}
    chosen = Reading("events", **columns, order_column="when" if by_order else "")
    read = read_strings(buffer.getvalue().encode(), chosen)
    assert [[read.alphabet.symbols[s] for s in word] for word in read.words] == list(
        expected.values()
    )
    ties = sum(
        len(list(group)) - 1 for _, group in groupby(sorted((row[0], row[2]) for row in rows))
    )
    assert any("keep the order of the file" in note for note in read.notes) == (
        by_order and ties > 0
    )


def test_whole_numbers_of_nanoseconds_are_sorted_exactly() -> None:
    data = b"case,event,time\n1,b,1700000000000000001\n1,a,1700000000000000000\n"
    read = read_strings(data)
    assert (strings(read), read.notes) == (["ab"], ())
    for more in (b"0.5", b"9" * 19):  # not without a loss
        with pytest.raises(FormatError, match="line 4: events can be sorted by"):
            read_strings(data + b"1,c,%s\n" % more)


def test_dates_are_sorted_as_dates() -> None:
    log = "Case ID,Activity,Complete Timestamp\n1,c,{}\n1,a,{}\n1,b,{}\n"
    for moments in (
        ("2010/12/30 11:02:00.000", "2009/12/30 11:02", "2010/01/02"),
        ("2024-01-31T10:00Z", "2024-01-31T11:30+02:00", "2024-01-31T09:45+00:00"),
        ("30.12.2010 11:02", "30.12.2009 11:02:05", "2.1.2010"),
        ("1e3", "-2", "10.5"),
    ):
        read = read_strings(log.format(*moments).encode())
        assert strings(read) == ["abc"] and "sorted by 'Complete Timestamp'" in read.reading
    # The order of the file, if a column has no such dates, and nobody has chosen it.
    read = read_strings(log.format("31.12.10", "01.01.09", "1.5.10").encode())
    assert strings(read) == ["cab"] and "in the order of the file; not used" in read.reading
    # Chosen, they are refused: nobody knows which number is the month.
    chosen = Reading("events", order_column="3")
    with pytest.raises(FormatError, match="got '12/30/2010', which may begin with the month"):
        read_strings(log.format("12/30/2010", "1/2/2009", "3/4/2010").encode(), chosen)


# XES


def test_xes_has_a_string_for_each_trace() -> None:
    read = read_strings(XES)
    assert (read.format, strings(read)) == ("xes", ["register pay_&_go"])
    assert strings(read_strings(XES, Reading("xes", event_column="org:resource"))) == ["Ann Bob"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"concept:name", b"other", "line 9: an event lacks the attribute 'concept:name'"),
        (b"</trace>", b"", "not XML: mismatched tag"),
        (b"</log>\n", b"", "not XML: no element found"),
        (b"<log ", b"<html ", "not XML|the root element must be log"),
        (b"<trace>", b"<event/><trace>", "line 5: an event is outside a trace"),
        (b'value="register"', b'value=" "', "the attribute concept:name of an event is empty"),
        (b"trace>", b"other>", "the log has no traces"),
        (
            b"<log",
            b'<!DOCTYPE log [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>\n<log',
            "line 2: XES must not contain <!DOCTYPE",
        ),
        (b"register", b"&a;", "not XML: undefined entity"),
    ],
)
def test_what_is_no_xes_is_an_error(old: bytes, new: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_strings(XES.replace(old, new), "xes")


def test_nested_xes_is_read_up_to_a_depth() -> None:
    for depth in (900, 20_000):
        deep = b"<list>" * depth + b"</list>" * depth
        data = XES.replace(b"</event>", deep + b"</event>", 1)
        if depth < 1000:
            assert strings(read_strings(data)) == ["register pay_&_go"]
        else:
            with pytest.raises(FormatError, match="nested in more than 1,000 others"):
                read_strings(data)


def test_an_activity_that_starts_and_completes_is_said_to_occur_twice() -> None:
    both = XES.replace(
        b'<string key="org:resource" value="Ann"/>',
        b'<string key="lifecycle:transition" value="start"/>',
    ).replace(
        b'<string key="org:resource" value="Bob"/>',
        b'<string key="lifecycle:transition" value="complete"/>',
    )
    assert any("(complete 1, start 1)" in note for note in read_strings(both).notes)


@given(st.lists(st.lists(st.sampled_from(["a", "b c", "<&>", '"é"']), max_size=4), min_size=1))
def test_any_xes_is_read_as_python_reads_xml(traces: list[list[str]]) -> None:
    body = "".join(
        "<trace>{}</trace>".format(
            "".join(
                f"<event><string key='concept:name' value={quoteattr(name)}/></event>"
                for name in trace
            )
        )
        for trace in traces
    )
    data = f"<log xes.version='1.0'>{body}</log>".encode()
    expected = [
        [
            "_".join(event.find("string[@key='concept:name']").attrib["value"].split())  # type: ignore[union-attr]
            for event in trace
        ]
        for trace in ElementTree.fromstring(data)
    ]
    if not any(expected):
        with pytest.raises(FormatError, match="every string is empty"):
            read_strings(data, "xes")
        return
    read = read_strings(data, "xes")
    assert [[read.alphabet.symbols[s] for s in word] for word in read.words] == expected


# CoNLL

CONLL_U = (
    b"# sent_id = 1\n# text = Vamonos al mar\n"
    b"1-2\tVamonos\t_\t_\t_\t_\t_\t_\t_\t_\n"
    b"1\tVamos\tir\tVERB\t_\t_\t0\troot\t_\t_\n"
    b"2\tnos\tnosotros\tPRON\t_\t_\t1\tobj\t_\t_\n"
    b"2.1\tx\tx\tX\t_\t_\t_\t_\t_\t_\n\n"
    b"1\tNew York\tNew York\tPROPN\t_\t_\t0\troot\t_\t_\n"
)


def test_conll_u_has_a_string_for_each_sentence() -> None:
    read = read_strings(CONLL_U)
    assert strings(read) == ["Vamos nos", "New_York"]
    assert "symbols in column 2 of 10 (form); text_column chooses another" in read.reading
    assert read.notes == (
        "Symbols have _ in place of white space: 'New York' is 'New_York'.",
        "Left out: 2 comments, 1 empty node, 1 token range.",
    )
    for choice in ("upos", "4", "UPOS"):
        read = read_strings(CONLL_U, Reading("conll", text_column=choice))
        assert strings(read) == ["VERB PRON", "PROPN"]


def test_conll_2003_has_any_number_of_columns() -> None:
    data = b"-DOCSTART- -X- O O\n\nEU NNP B-NP B-ORG\n# # O O\n\nrejects VBZ O O\n"
    assert strings(read_strings(data)) == ["EU #", "rejects"]
    assert strings(read_strings(data, Reading("conll", text_column="4"))) == ["B-ORG O", "O"]
    for choice in ("5", "0", "word"):
        with pytest.raises(FormatError, match=f"there is no column '{choice}' for the symbols"):
            read_strings(data, Reading("conll", text_column=choice))
    with pytest.raises(FormatError, match="line 5: expected 4 columns, as in the lines above"):
        read_strings(data.replace(b"\n\nrej", b"\nrej").replace(b"VBZ ", b""))


@pytest.mark.parametrize("blank_lines", [0, 30])
def test_a_conll_file_of_comments_says_how_much_of_it_was_read(blank_lines: int) -> None:
    few = b"# a\n" * 3 + b"\n" * blank_lines
    with pytest.raises(FormatError, match="^the file has no symbols, only comments"):
        read_strings(few, Reading("conll"))
    with pytest.raises(
        FormatError, match="^the first 21 lines that are not blank have no symbols, only comments"
    ):
        read_strings(few * 7 + b"EU\n", Reading("conll"))


# FASTA, FASTQ


def test_fasta_joins_lines_and_says_what_is_left_out() -> None:
    read = read_strings(b">s1 first\nACGT\nAC\n\nGG\n>s2\n>s3\nac*\n")
    assert strings(read) == ["ACGTACGG", "λ", "ac*"]
    assert read.notes == (
        "Names of 3 sequences left out.",
        "1 name without a sequence read as the empty word.",
        "Letters in both cases are different symbols: A and a, C and c.",
    )
    for data, message in (
        (b"ACGT\n>s1\nAC\n", "line 1: a FASTA file begins with a line such as >name"),
        (b">s1\nAC\n40 38\n", "line 3: a sequence may contain only letters"),
        (b">s1\n" + b"ACGT\n" * 3000, "line 1: the string length must be at most 10,000"),
    ):
        with pytest.raises(FormatError, match=message):
            read_strings(data, "fasta")


@given(st.lists(st.tuples(NAMES, st.text("ACGTacgt", max_size=30)), min_size=1), st.integers(1, 7))
def test_any_fasta_gives_back_what_was_written(records: list[tuple[str, str]], width: int) -> None:
    lines = []
    for name, sequence in records:
        lines.append(">" + name.replace("\n", " "))
        lines += [sequence[start : start + width] for start in range(0, len(sequence), width)]
    data = "\n".join(lines).encode()
    if not any(sequence for _, sequence in records):
        with pytest.raises(FormatError, match="every string is empty"):
            read_strings(data, "fasta")
        return
    read = read_strings(data, "fasta")
    assert ["" if s == "λ" else s for s in strings(read)] == [s for _, s in records]


def test_fastq_has_four_lines_a_read() -> None:
    data = b"@r1\nACGTN\n+\nIIIII\n@r2\nGG\n+r2\n@+\n"
    read = read_strings(data)
    assert (strings(read), read.notes) == (
        ["ACGTN", "GG"],
        ("Names and qualities of 2 reads left out.",),
    )
    for bad, message in (
        (data[:-3], "line 5: the last record is not complete"),
        (data.replace(b"@+", b"@++"), "line 8: expected a quality for each of 2 letters; got 3"),
        (data.replace(b"@r2", b"r2"), "line 5: expected a line such as @name"),
        (data.replace(b"+\nI", b"AC\nI"), "line 3: expected a line that begins with"),
        (data.replace(b"GG", b"G4"), "line 6: a sequence may contain only letters"),
    ):
        with pytest.raises(FormatError, match=message):
            read_strings(bad, "fastq")
    with pytest.raises(FormatError, match=r"line 3: .* \(each sequence must be on one line\)"):
        read_strings(b"@r1\nACGT\nACGT\n+\nIIIIIIII\n")


# SPMF, uniq -c, Abbadingo


def test_spmf_has_sets_of_items() -> None:
    assert strings(read_strings(b"1 -1 2 -1 3 -1 -2\n2 -1 3 -1 -2\n")) == ["123", "23"]
    read = read_strings(b"@CONVERTED_FROM_TEXT\n@ITEM=1=a b\n<3> 1[5] 2 -1 1 -1 -2 SUtility:9\n")
    assert strings(read) == ["a_b+2 a_b"]
    assert read.notes == (
        "Symbols have _ in place of white space: 'a b+2' is 'a_b+2'.",
        "Left out: times and utilities.",
        "A set of several items is one symbol, such as 'a_b+2'.",
    )
    for data, message in (
        (b"1 -1 -2\n1 -1\n", "line 2: a sequence must end in -1 -2"),
        (b"1 -1 -2\n1 -2\n", "line 2: a sequence must end in -1 -2"),
        (b"1 -1 -2\n-1 -2\n", "line 2: expected an item before -1"),
        (b"1 -1 -2 3\n", "line 1: expected nothing after -2"),
        (b"1 -1 a -1 -2\n", "line 1: an item must be a whole number; got 'a'"),
    ):
        with pytest.raises(FormatError, match=message):
            read_strings(data, "spmf")


def test_uniq_has_counts_in_front() -> None:
    read = read_strings(b"   12 the cat\n    3 a dog\n    1 the dog\n")
    assert (strings(read), read.counts.tolist()) == (["the cat", "a dog", "the dog"], [12, 3, 1])
    read = read_strings(b"      2\n     10 ab\n", "uniq")
    assert (strings(read), read.counts.tolist()) == (["λ", "ab"], [2, 10])
    for data, message in (
        (b"2 ab\nab\n", "line 2: expected a count and a string; got 'ab'"),
        (b"0 ab\n", "line 1: a count must be at least 1"),
        (b"-1 ab\n", "line 1: expected a count and a string"),
    ):
        with pytest.raises(FormatError, match=message):
            read_strings(data, "uniq")


def test_abbadingo_shows_the_labels_that_it_leaves_out() -> None:
    read = read_strings(b"9 5\n1 7 1 1 2 0 0 2 0\n1 4 1 0 0 4\n0 1 4\n1 0\n")
    assert (strings(read), read.alphabet.symbols) == (
        ["1120020", "1004", "4", "λ"],
        ("0", "1", "2", "3", "4"),
    )
    assert read.notes == (
        "Labels are left out: 1 (3 strings), 0 (1 string). The strings of all labels are read; to "
        "read only some, set the format to abbadingo and the label to 1. fit-values learns labels.",
        "The header promises 9 strings, but 4 follow.",
    )
    negative = read_strings(b"9 5\n1 1 1\n0 1 4\n0 0\n", Reading("abbadingo", label=" 0 "))
    assert (strings(negative), len(negative.alphabet)) == (["4", "λ"], 5)
    assert negative.notes[0] == (
        "Only the strings with the label '0' are read; the labels are 0 (2 strings), 1 (1 string)."
    )
    with pytest.raises(FormatError, match="no string has the label '2'; the labels are 1 "):
        read_strings(b"1 2\n1 1 0\n", Reading("abbadingo", label="2"))
    names = read_strings(b"3 3\n1 3 login read logout\n0 2 login logout\n1 0\n")
    assert strings(names) == ["login read logout", "login logout", "λ"]
    attributes = read_strings(b"3 2\n1 3 0/1.5 1/0.2 1/3\n0 2 1/0.5 0/0\n1 0\n")
    assert strings(attributes) == ["011", "10", "λ"]
    for data, message in (
        (b"2 2\n1 2 0 1\n1 3 0 1\n", "line 3: expected a label, a length and that many symbols"),
        (b"2 2\n1 2 0/1 1/2\n1 1 0\n", "line 3: expected a symbol with an attribute"),
    ):
        with pytest.raises(FormatError, match=message):
            read_strings(data, "abbadingo")


def test_test_strings_keep_the_training_strings_numbers() -> None:
    ab = Alphabet(("b", "a"))
    for data, format in ((b">s\nab\n", "fasta"), (b"1 2 a b\n", "abbadingo"), (b"1 ab\n", "uniq")):
        read = read_strings(data, format, ab)
        assert (list(read.words), read.alphabet.symbols) == ([(1, 0)], ("b", "a"))


# Tables and text of which something is chosen


@pytest.mark.parametrize(
    ("data", "fields", "expected"),
    [
        (b"string\nabba\nbab\nabba\n", {"header": "yes"}, {"abba": 2, "bab": 1}),
        (b"string\nabba\nbab\n", {"text_column": "string"}, {"abba": 1, "bab": 1}),
        (b"string\nabba\n", {"text_column": "1", "header": "no"}, {"string": 1, "abba": 1}),
        (b"id;what;cost\n7;ab;3\n9;b;4\n", {"text_column": "what"}, {"ab": 1, "b": 1}),
        (
            b"id;what;cost\n7;ab;3\n9;b;4\n",
            {"text_column": "what", "count_column": "cost"},
            {"ab": 3, "b": 4},
        ),
        (b"3\ta b\n4\tb\n", {"text_column": "2", "count_column": "1"}, {"ab": 3, "b": 4}),
        (b"a b|x\nb|y\n", {"separator": "|", "text_column": "1"}, {"ab": 1, "b": 1}),
        (b"+,S10,\t\ttactag\n-,B,\ttg\n", {"text_column": "3"}, {"tactag": 1, "tg": 1}),
    ],
)
def test_columns_of_tables_are_chosen(
    data: bytes, fields: dict[str, str], expected: dict[str, int]
) -> None:
    sample = read_strings(data, Reading("csv", **fields)).sample()
    decoded = [sample.alphabet.decode(word) for word in sample.words]
    assert dict(zip(decoded, sample.counts.tolist(), strict=True)) == expected


TAGGED = b"sent_id,genre,upos\ns1,web,DET NOUN VERB\ns2,news,PRON VERB\ns3,web,DET ADJ NOUN\n"


def test_a_first_line_that_may_be_names_is_a_string_with_a_note() -> None:
    """Words, none of which occurs below, above strings of several tokens."""
    file = read_strings(TAGGED, Reading("csv", text_column="3"))
    assert file.sample().num_strings == 4 and "upos" in file.alphabet.symbols
    [note] = file.notes
    assert note.startswith("The first line, 'sent_id', 'genre', 'upos', may have the names of")
    for fields in ({"text_column": "upos"}, {"text_column": "3", "header": "yes"}):
        file = read_strings(TAGGED, Reading("csv", **fields))
        assert file.sample().num_strings == 3 and not file.notes


@pytest.mark.parametrize(
    "data",
    [
        b"s0,web,good\ns1,web,a b\ns2,news,b a\ns3,web,a a\n",  # web occurs below
        b"s0,blog,a b\ns1,web,a b\ns2,news,b a\ns3,web,a a\n",  # a string of several tokens
        b"id,genre,tags\ns1,web,a b\ns2,news,b a\n",  # too few lines below to tell
    ],
)
def test_a_first_line_like_those_below_has_no_note(data: bytes) -> None:
    file = read_strings(data, Reading("csv", text_column="3"))
    assert file.sample().num_strings == data.count(b"\n") and not file.notes


@pytest.mark.parametrize(
    ("data", "reading", "message"),
    [
        (b"a,b,c\n1,2,3\n", Reading("csv", header="yes"), "say which column has the strings"),
        (b"a,b\n1,2\n", Reading("csv", text_column="x"), "no column 'x' for the strings"),
        (b"a,b\n1,2\n", Reading("csv", text_column="a", count_column="a"), "in the same column"),
        (b"a,b\nx,y\n", Reading("csv", text_column="a", count_column="b"), "line 2: a count must"),
        (b"a b\n", Reading("csv", separator="tab"), "there is no tab in the first 1 line"),
        (b"a;b c;d\n", Reading("tokens", separator=";"), "line 1: a symbol must be text without"),
        (b"a;;d\n", Reading("tokens", separator=";"), "line 1: a symbol must be text without"),
        (b'["a"]\n["b"]\n', Reading("json", count_column="n"), "count_column needs lines of JSON"),
    ],
)
def test_choices_that_do_not_fit_are_errors(data: bytes, reading: Reading, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_strings(data, reading)


def test_symbols_may_have_any_separator_between_them() -> None:
    data = b"login,view,logout\nlogin,logout,,\n\n"
    read = read_strings(data + b"view\n", Reading("tokens", separator="comma"))
    assert strings(read) == ["login view logout", "login logout", "λ", "view"]
    assert read.reading.endswith("; with commas between them")


def test_fields_of_json_are_chosen() -> None:
    data = b'{"q": "ab", "a": "x", "k": 3}\n{"q": "b", "a": "y", "k": 1}\n'
    with pytest.raises(FormatError, match="each JSON object must have one field"):
        read_strings(data, "json")
    read = read_strings(data, Reading("json", text_column="q", count_column="k"))
    assert (strings(read), read.counts.tolist()) == (["ab", "b"], [3, 1])


def test_the_encoding_is_chosen() -> None:
    text = "gar\u00e7on aime\naime caf\u00e9\n"
    for encoding in ("windows-1252", "iso-8859-1", "utf-16", "mac-roman"):
        read = read_strings(text.encode(encoding), Reading(encoding=encoding))
        assert strings(read) == text.splitlines()
    with pytest.raises(FormatError, match="set the encoding to windows-1252"):
        read_strings(text.encode("windows-1252"))
    with pytest.raises(FormatError, match="set the encoding to utf-16"):
        read_strings(text.encode("utf-16"))
    with pytest.raises(FormatError, match="line 2: byte 0x81 is not a character in windows-1252"):
        read_strings(b"ab\na\x81\n", Reading(encoding="windows-1252"))
    for data in (b"\x89PNG\r\n\x1a\n", b"\x93NUMPY\x01", b"PK\x03\x04", "ab\n".encode("utf-16")):
        with pytest.raises(FormatError, match="got "):
            read_strings(data, Reading(encoding="windows-1252"))


def test_a_choice_without_effect_is_refused() -> None:
    for fields in ({"text_column": "a"}, {"format": "fasta", "header": "yes"}):
        with pytest.raises(RecipeError, match="has no effect with format"):
            Reading(**fields)
    with pytest.raises(RecipeError, match="format must be one of auto, pautomac"):
        read_strings(b"ab\n", "excel")


def test_a_log_of_many_cases_is_read_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nlwfa_core.sources.other_formats.MOST_EVENTS", 3)
    rng = np.random.default_rng(0)
    rows = [(int(case), "abc"[int(rng.integers(3))]) for case in rng.integers(40, size=200)]
    data = "case,event\n" + "".join(f"{case},{event}\n" for case, event in rows)
    expected = {case: "".join(e for c, e in rows if c == case) for case, _ in rows}
    assert strings(read_strings(data.encode())) == list(expected.values())
