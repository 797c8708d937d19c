"""A table with a column of labels: a file of strings for each label."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core import Reading, read_labelled
from nlwfa_core.errors import FormatError

PROMOTERS = b"+,S10,\t\ttactag\n+,AMPC,\ttgctat\n-,867,\t\tatatga\n"
TEXT = st.text("ab c", min_size=1, max_size=6).map(lambda text: " ".join(text.split()) or "a")


@given(st.lists(st.tuples(st.sampled_from(["yes", "no", "+"]), TEXT), min_size=2, max_size=20))
def test_each_label_has_its_rows(rows: list[tuple[str, str]]) -> None:
    table = "class;text\n" + "".join(f"{label};{text}\n" for label, text in rows)
    expected: dict[str, Counter[tuple[str, ...]]] = {}
    in_tokens = any(" " in text for _, text in rows)
    for label, text in rows:
        word = tuple(text.split()) if in_tokens else tuple(text)
        expected.setdefault(label, Counter())[word] += 1
    if len(expected) < 2:
        with pytest.raises(FormatError, match="at least 2 labels"):
            read_labelled(table.encode(), "class", Reading("csv", separator=";"))
        return
    files = read_labelled(table.encode(), "class", Reading("csv", separator=";"))
    assert [*files] == [*expected]
    for label, file in files.items():
        symbols = file.alphabet.symbols
        sample = file.sample()
        found = {
            tuple(symbols[symbol] for symbol in word): count
            for word, count in zip(sample.words, sample.counts.tolist(), strict=True)
        }
        assert found == expected[label]


def test_the_form_of_ucis_promoters() -> None:
    with pytest.raises(FormatError, match=r"say which column has the strings \(text_column\)"):
        read_labelled(PROMOTERS, "1")
    files = read_labelled(PROMOTERS, "1", Reading("csv", text_column="3"))
    assert {label: list(file.sample()) for label, file in files.items()} == {
        "+": ["tactag", "tgctat"],
        "-": ["atatga"],
    }


@pytest.mark.parametrize(
    ("data", "column", "reading", "message"),
    [
        (b"a,b\nb,c\n", "3", "csv", "there is no column '3' for the labels"),
        (b"class,s\nx,a\nx,b\n", "class", "csv", "at least 2 labels; got x"),
        (b"class,s\nx,a\n,b\n", "class", "csv", "line 3: a label must have from 1 to 100"),
        (
            b"class,s\nx,a\ny,b\n",
            "s",
            Reading("csv", text_column="s"),
            "can't be in the same column",
        ),
        (b"class,s\nx,a\ny,b\n", "s", "tokens", "got the format 'tokens'"),
        (b"class,s\nx,a\ny,b\n", "s", Reading("csv", count_column="s"), "one whole string"),
        (b"".join(b"%d,a\n" % n for n in range(101)), "1", "csv", "at most 100 labels; '100'"),
    ],
)
def test_what_is_no_labelled_table_is_refused(
    data: bytes, column: str, reading: str | Reading, message: str
) -> None:
    with pytest.raises(FormatError, match=message):
        read_labelled(data, column, Reading(reading) if isinstance(reading, str) else reading)
