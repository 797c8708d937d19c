"""Files read a block at a time, with blocks of any size, give the same as a plain reading of the
whole text.
"""

from __future__ import annotations

import csv
import io
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core.errors import FormatError, RecipeError
from nlwfa_core.sources.pautomac import read_solution
from nlwfa_core.sources.string_files import StringFile, parse_pautomac, pieces_of, read_strings
from nlwfa_core.sources.value_files import read_values
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import Alphabet, Words

AB = Alphabet(("b", "a"))
LINES = st.lists(st.text("ab1λé😀 \t\u2028", max_size=6), min_size=1, max_size=20)
CELLS = st.text("abλ é,\n", max_size=4)


@pytest.fixture(autouse=True, params=[1, 5, 2**15])
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The size of a block: a line, some lines, the file; and short words are merged twice, or
    once.
    """
    for name in (
        "sources.string_files.BLOCK_BYTES",
        "sources.string_files.PIECE_BYTES",
        "strings.words.SYMBOLS_AT_ONCE",
        "strings.words.SYMBOLS_AT_ONCE",
    ):
        monkeypatch.setattr(f"nlwfa_core.{name}", request.param)
    monkeypatch.setattr(
        "nlwfa_core.strings.sample.MERGE_PARTS_BELOW_MEAN_LENGTH", 2 if request.param == 5 else 16
    )


def plain(
    cells: list[str], tokens: bool, known: tuple[str, ...]
) -> tuple[list[tuple[int, ...]], tuple[str, ...]]:
    """Words and alphabet, from the definition: known symbols first, then new ones in their order,
    numbers by size.
    """
    rows = [
        [] if cell.strip() == "λ" else cell.split() if tokens else list(cell.strip())
        for cell in cells
    ]
    new = {symbol for row in rows for symbol in row} - set(known)
    numbers = all(symbol.isascii() and symbol.isdigit() for symbol in new)
    alphabet = (*known, *sorted(new, key=lambda symbol: (len(symbol) if numbers else 0, symbol)))
    return [tuple(alphabet.index(symbol) for symbol in row) for row in rows], alphabet


def same(
    read: StringFile, words: list[tuple[int, ...]], counts: list[int], alphabet: tuple[str, ...]
) -> None:
    assert (list(read.words), read.counts.tolist(), read.alphabet.symbols) == (
        words,
        counts,
        alphabet,
    )
    totals: Counter[tuple[int, ...]] = Counter()
    for word, count in zip(words, counts, strict=True):
        totals[word] += count
    sample = read.sample()
    # by first appearance
    assert (list(sample.words), sample.counts.tolist()) == (list(totals), list(totals.values()))
    for array in (
        read.words.symbols,
        read.words.offsets,
        read.counts,
        sample.words.symbols,
        sample.words.offsets,
        sample.counts,
    ):
        assert array.dtype == np.int64


@given(LINES, st.booleans(), st.booleans(), st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
def test_lines(rows: list[str], tokens: bool, known: bool, end: str, ended: bool) -> None:
    data = (end.join(rows) + end * ended).encode()
    while rows and not rows[-1].strip():
        rows = rows[:-1]
    words, alphabet = plain(rows, tokens, AB.symbols if known else ())
    if not rows or not alphabet:
        with pytest.raises(FormatError, match="empty"):
            read_strings(data, "tokens" if tokens else "characters", AB if known else None)
        return
    read = read_strings(data, "tokens" if tokens else "characters", AB if known else None)
    same(read, words, [1] * len(words), alphabet)
    blank = sum(not row.strip() for row in rows)
    assert (f"{blank} blank line" in " ".join(note for note in read.notes if "λ" in note)) == bool(
        blank
    )


@given(
    st.lists(st.tuples(CELLS, st.integers(1, 300)), min_size=1, max_size=12),
    st.sampled_from(["", "characters", "tokens"]),
)
def test_csv(rows: list[tuple[str, int]], header: str) -> None:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, lineterminator="\n").writerows(
        [(header, "count")] * bool(header) + list(rows)
    )
    cells = [cell.strip() for cell, _ in rows]
    tokens = header == "tokens" or (not header and any(len(cell.split()) > 1 for cell in cells))
    words, alphabet = plain(cells, tokens, ())
    if alphabet:
        same(
            read_strings(buffer.getvalue().encode(), "csv"),
            words,
            [count for _, count in rows],
            alphabet,
        )


@given(
    st.lists(st.lists(st.integers(0, 300), max_size=6).map(tuple), min_size=1, max_size=15),
    st.integers(0, 2),
)
def test_pautomac(words: list[tuple[int, ...]], blank: int) -> None:
    lines = [f"{len(words)} 301", *(" ".join(map(str, (len(word), *word))) for word in words)]
    data = ("\n" * (1 + blank)).join(lines).encode()
    same(read_strings(data, "pautomac"), words, [1] * len(words), Alphabet.numbered(301).symbols)
    assert list(Words.joined([block.words for block in parse_pautomac(pieces_of(data))])) == words


@given(
    st.lists(
        st.tuples(st.text("ab", max_size=2), st.sampled_from([0.5, -0.0, 0.0, 1e300])),
        min_size=1,
        max_size=12,
    )
)
def test_values(rows: list[tuple[str, float]]) -> None:
    first: dict[str, float] = {}
    clash = [
        (word, first[word], value) for word, value in rows if first.setdefault(word, value) != value
    ]
    data = "".join(
        f"{word},{value!r}\n" for word, value in [*rows, ("ab", first.get("ab", 2.0))]
    ).encode()
    if clash:
        with pytest.raises(RecipeError, match=r"must have one value") as caught:
            read_values(data)
        word, one, other = clash[0]
        lines = [line for line, row in enumerate(rows, 1) if row in ((word, one), (word, other))]
        expected = (
            f"string {word or 'λ'!r} must have one value; got {one} and {other}, in lines "
            f"{lines[0]} and "
        )
        assert str(caught.value).startswith(expected)
    else:
        read = read_values(data).strings
        first.setdefault("ab", 2.0)
        assert [read.alphabet.decode(word).replace("λ", "") for word in read.words] == list(first)
        assert read.values.tobytes() == np.array(list(first.values())).tobytes()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.integers(0, 2))
def test_solutions(values: list[float], blank: int) -> None:
    data = ("\n" * (1 + blank)).join([str(len(values)), *map(repr, values)]).encode()
    assert read_solution(data).tolist() == values


@pytest.mark.parametrize(
    ("data", "format", "message"),
    [
        # before the count in line 1
        (b"a,0\nb\n", "csv", "line 2: expected 2 columns, string and count; got 1 column"),
        (b"a,1\nb,x\nc,0\n", "csv", "line 2: a count must be a whole number; got 'x'"),
        (
            b"ab\n" * 9 + b"a" * 10_002 + b"\nb\n" + b"a" * 10_003 + b"\n",
            "characters",
            "line 12: the string length must be at most .*; got 10,003",
        ),
        (
            b"x\n" + b"a " * 40_000,
            "tokens",
            "line 2: the string length must be at most .*; got 40,000",
        ),
        (
            "\n".join(map(chr, range(0x4E00, 0x4E00 + 10_003))).encode() * 2,
            "characters",
            "different symbols must be at most .*; got 10,003",
        ),
        (
            b"ab," * 400_000,
            "csv",
            "line 1: expected 2 columns, string and count; got 400,001 columns",
        ),
        (
            b"a,1\n" + b'"a,b",' * 200_000 + b"c\n",
            "csv",
            "line 2: expected 2 columns, string and count; got 200,001 columns",
        ),
        (
            b"a,1\n" + b"a" * 1_100_000 + b",1\n",
            "csv",
            "line 2: not a CSV file: field larger than field limit",
        ),
        (
            b"1 2\n" + b"0 " * 200_000,
            "pautomac",
            "line 2: length 0 is declared, but 199,999 symbols follow",
        ),
        (b"\xef\xbb\xbf" * 2, "pautomac", r"line 1: '\\ufeff' is not a whole number"),
    ],
)
def test_errors_are_those_of_the_whole_file(data: bytes, format: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_strings(data, format)


def test_words_of_one_fingerprint_are_told_apart_by_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "nlwfa_core.strings.words._fingerprints", lambda words: np.ones(len(words), dtype=np.uint64)
    )
    sample = read_strings(b"ab\nba\nab\na\nba\nab\n").sample()
    assert (list(sample.words), sample.counts.tolist()) == ([(0, 1), (1, 0), (0,)], [3, 2, 1])
    merged = Sample.merged([Words.of([(0,), (1,)]).packed(), Words.of([(1,), (0, 0)]).packed()], AB)
    assert (list(merged.words), merged.counts.tolist()) == ([(0,), (1,), (0, 0)], [1, 2, 1])
