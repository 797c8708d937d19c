"""A file's beginning is shown with what can be chosen about it, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core.sources.names import FORMATS
from nlwfa_core.sources.preview import HEAD, LONGEST_LINE, NUM_LINES, preview
from nlwfa_core.sources.reading import Reading
from tests.core.cli.test_reading import FILES


@pytest.mark.parametrize("format", FILES)
def test_a_file_may_be_read_in_its_own_format(format: str) -> None:
    shown = preview(FILES[format], Reading())
    assert shown is not None
    assert format in shown.choices["format"]
    assert {"auto", "tokens", "characters"} <= set(shown.choices["format"]) <= set(FORMATS)


@pytest.mark.parametrize(
    ("data", "reading", "expected"),
    [
        (
            b"case;what\n1;a\n1;b\n",
            Reading("events"),
            {"case_column": ("", "case", "what"), "separator": ("auto", "semicolon")},
        ),
        (
            b"1,a\n2,b\n",
            Reading("csv"),
            {"text_column": ("", "1", "2"), "count_column": ("", "1", "2")},
        ),
        (b"x,x,\n1,a,b\n", Reading("csv", header="yes"), {"text_column": ("", "1", "2", "3")}),
        (b'{"q": "a", "k": 1}\n', Reading("json"), {"text_column": ("", "q", "k")}),
        (b"a X\nb Y\n\nc X\n", Reading("conll"), {"text_column": ("", "1", "2")}),
        (FILES["xes"], Reading("xes"), {"event_column": ("", "concept:name")}),
        (b"a,b\nb\n", Reading("tokens"), {"separator": ("auto", "comma")}),
    ],
)
def test_what_a_file_has_can_be_chosen(
    data: bytes, reading: Reading, expected: dict[str, tuple[str, ...]]
) -> None:
    shown = preview(data, reading)
    assert shown is not None and expected.items() <= shown.choices.items()


@pytest.mark.parametrize(
    ("data", "format", "column"),
    [
        (b"case,activity\n1,a\n1,b\n2,a\n", "events", "case_column"),
        (b"string,count\nab,2\nb,1\n", "csv", "text_column"),
        (b"the DET\ncat NOUN\n\na DET\ndog NOUN\n" * 9, "conll", "text_column"),
    ],
)
def test_a_recognised_format_has_its_choices(data: bytes, format: str, column: str) -> None:
    shown = preview(data, Reading(encoding="iso-8859-1"))
    assert shown is not None and column in shown.choices
    assert shown.reading == Reading(format, encoding="iso-8859-1")


def test_ordinary_strings_have_no_choice_but_the_format() -> None:
    shown = preview(b"ab\nba\n", Reading())
    assert shown is not None and set(shown.choices) == {"format"}


def test_lines_are_short_and_without_control_characters() -> None:
    data = b"\x1b[2J" + b"a" * 1000 + b"\nb\n" * 20
    shown = preview(data, Reading())
    assert shown is not None
    assert len(shown.lines) <= NUM_LINES and max(map(len, shown.lines)) <= LONGEST_LINE
    assert all(line.isprintable() for line in shown.lines)


def test_a_large_file_is_shown_by_its_head() -> None:
    sequence = b"".join(b">s%d\n%s\n" % (n, b"ACGT" * 12) for n in range(3000))
    assert len(sequence) > HEAD
    shown = preview(sequence, Reading())
    assert shown is not None and "fasta" in shown.choices["format"]
    text = "\u00e9a\n".encode() * HEAD  # cut inside a letter
    for cut in range(3):
        shown = preview(b"a" * cut + text, Reading())
        assert shown is not None and "encoding" not in shown.choices


def test_an_encoding_is_offered_for_what_is_not_utf_8() -> None:
    shown = preview("gar\u00e7on\n".encode("windows-1252"), Reading())
    assert shown is not None and shown.lines == ("gar\u00e7on",)
    assert shown.choices["encoding"][0] == "windows-1252"
    shown = preview("gar\u00e7on\n".encode("utf-16"), Reading())
    assert shown is not None and shown.lines == ("gar\u00e7on",)


@given(
    st.one_of(
        st.binary(max_size=80),
        st.lists(
            st.sampled_from([b"a", b"1", b",", b";", b"\t", b"\n", b" ", b'"', b">", b"\xff", b"{"])
        ).map(b"".join),
    ),
    st.sampled_from(sorted(FORMATS)),
)
def test_any_bytes_are_shown_or_not(data: bytes, format: str) -> None:
    shown = preview(data, Reading(format))
    if shown is not None:
        assert all(values for values in shown.choices.values())


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"ab" * 50 + b"\n", True),
        (b"a b " * 25, True),
        (b"\n".join([b"a", b"b"] * 10), True),  # one symbol per line
        (b">s\nACGT\nAC\n>t\nGGTA\n", True),
        (b"ab\nabb\n" * 20, False),
        (b"a b\nc\n" * 20, False),
    ],
)
def test_windows_are_offered_for_what_may_be_a_long_sequence(data: bytes, expected: bool) -> None:
    shown = preview(data, Reading())
    assert shown is not None and shown.is_sequence is expected
    chosen = preview(data, Reading(window=2))
    assert chosen is not None and chosen.is_sequence
