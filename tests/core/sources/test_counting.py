"""Counting piece by piece: the same strings, counts, notes and errors as from the whole file, and
bounds that hold.
"""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from functools import reduce
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nlwfa_core import limits
from nlwfa_core.cli.inputs import read_sample
from nlwfa_core.cli.main import main
from nlwfa_core.errors import FormatError, RecipeError
from nlwfa_core.hankel.basis import select_basis
from nlwfa_core.hankel.estimate import estimate_hankel
from nlwfa_core.sources.counting import MAX_DISTINCT, Counts, count_strings, merge
from nlwfa_core.sources.pautomac import write_pautomac
from nlwfa_core.sources.reading import Reading
from nlwfa_core.sources.string_files import (
    PIECE_BYTES,
    begins_as_pautomac,
    parse_pautomac,
    pieces,
    read_strings,
)
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import Alphabet, Word, Words
from tests.references import DATA
from tests.waiting import PATIENCE_SECONDS

COMPETITIONS = sorted((DATA / "pautomac").glob("*.train")) + sorted(
    (DATA / "spice").glob("*.train")
)

word_lists = st.lists(st.lists(st.integers(0, 2), max_size=5).map(tuple), min_size=1, max_size=40)
sizes = st.integers(1, 50)


def cut(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


def written(words: list[Word], num_symbols: int = 3) -> bytes:
    return write_pautomac(Words.of(words), num_symbols).encode()


def held(counts: Counts) -> dict[Word, int]:
    sample = counts.sample()
    return dict(zip(sample.words, sample.counts.tolist(), strict=True))


def assert_same(one: Sample, other: Sample) -> None:
    assert one.alphabet == other.alphabet
    for got, expected in (
        (one.words.symbols, other.words.symbols),
        (one.words.offsets, other.words.offsets),
    ):
        assert got.dtype == expected.dtype and got.tolist() == expected.tolist()
    assert (one.counts.dtype, one.counts.tolist()) == (other.counts.dtype, other.counts.tolist())


# The same as from the whole file


@given(
    word_lists,
    sizes,
    st.sampled_from(["\n", "\r\n", "\r", "\n \n", "\r\n\r\n"]),
    st.booleans(),
    st.booleans(),
)
def test_any_size_of_pieces_gives_the_whole_files_sample(
    words: list[Word], size: int, end: str, mark: bool, last: bool
) -> None:
    text = written(words).decode().replace("\n", end)
    data = (text if last else text.removesuffix(end)).encode("utf-8-sig" if mark else "utf-8")
    whole = read_strings(data, "pautomac")
    counts = count_strings(cut(data, size))
    assert_same(counts.sample(), whole.sample())
    assert (counts.notes, counts.num_strings, counts.num_dropped, counts.bound) == (
        whole.notes,
        len(words),
        0,
        "",
    )


@pytest.mark.parametrize("num_symbols", [1, 256, 257, 10_000])
def test_symbols_of_all_widths_are_kept(num_symbols: int) -> None:
    words = [(0, num_symbols - 1), (num_symbols - 1,), (0, num_symbols - 1), ()]
    data = written(words, num_symbols)
    assert_same(count_strings(cut(data, 5)).sample(), read_strings(data).sample())


@pytest.mark.skipif(not COMPETITIONS, reason="the competitions' files are not part of the project")
def test_the_competitions_files_are_counted_as_they_are_read() -> None:
    for path in COMPETITIONS:
        sample, notes = read_sample(path, Reading(), MAX_DISTINCT)
        whole = read_strings(path.read_bytes())
        assert_same(sample, whole.sample())
        assert notes == (f"{path.name}: {whole.reading}", *whole.notes)


@given(
    st.binary(max_size=30).map(
        lambda data: data.translate(bytes(b"\r\nab "[byte % 5] for byte in range(256)))
    ),
    sizes,
)
@example(b"a\r\n\r\nb", 2)
def test_pieces_are_whole_lines(data: bytes, size: int) -> None:
    cleaned = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    got = [] if not data.strip() else list(pieces(cut(data, size)))
    assert b"".join(piece for _, piece in got) == (cleaned if data.strip() else b"")
    for lines_before, piece in got:
        start = cleaned.split(b"\n", lines_before)[lines_before]
        assert start.startswith(piece)
    assert all(piece.endswith(b"\n") for _, piece in got[:-1])


BAD_FILES = [
    (b"", None, "the file is empty: it has 0 bytes"),
    (b"\xef\xbb\xbf \r\n\n", None, "the file is empty: it has 7 bytes"),
    (b"3 2\r\n1 0\r\n1 1\r\n", 1, "the header promises 3 strings, but 2 follow"),
    (b"\r\n\r\n1 2\r\n1 0\r\n1 1\r\n", 3, "the header promises 1 string, but 2 follow"),
    (b"0 2\n", 1, "the file has no strings"),
    (b"2 2 2\n1 0\n", 1, "the header must be number_of_strings and alphabet_size; got 3 numbers"),
    (b"1 0\n0\n", 1, "the alphabet size must be at least 1; got 0"),
    (b"1 99999\n1 0\n", 1, "alphabet size must be at most 10,000; got 99,999"),
    (b"2 2\r\n2 0 1\r\n3 0 1\r\n", 3, "length 3 is declared, but 2 symbols follow"),
    (b"2 2\n\n2 0 1\n\n1 2", 5, r"symbol 2 is not in the header's alphabet of 2 symbols \(0 … 1\)"),
    (b"2 2\r1 0\r1 " + b"9" * 30, 3, "symbol 9223372036854775807 is not in"),
    (
        b"2 2\r\n1 0\r\n1 -1\r\n",
        3,
        "lengths and symbols must be whole numbers of at least 0; got '-1'",
    ),
    (b"2 2\r\n\r\n1 0\r\n1 x\r\n", 4, "'x' is not a whole number"),
    (b"3 2\n1 0\n1 1\n1 0\x1c\n", None, "got other white space"),
    (b"2 2\r\n1 0\r\n1 \xff\r\n", 3, "byte 0xff is not UTF-8"),
    (b"2 1\n1 0\n11" + b" 0" * 11 + b"\n", 3, "string length must be at most 10; got 11"),
]


@pytest.mark.parametrize(("data", "line", "message"), BAD_FILES)
def test_bad_files_are_blamed_on_the_same_line(
    monkeypatch: pytest.MonkeyPatch, data: bytes, line: int | None, message: str
) -> None:
    monkeypatch.setitem(limits.IN_FORCE, "string_length", 10)
    with pytest.raises(FormatError, match=message) as whole:
        read_strings(data, "pautomac")
    for size in range(1, len(data) + 2):
        with pytest.raises(FormatError) as caught:
            count_strings(cut(data, size))
        assert (caught.value.line, str(caught.value)) == (line, str(whole.value))


def test_no_header_is_no_file() -> None:
    with pytest.raises(FormatError, match="the file has no numbers"):
        list(parse_pautomac([]))


def test_leading_zeros_are_read_as_numbers() -> None:
    data = b"02 " + b"0" * 30 + b"2\n1 " + b"0" * 30 + b"1\n0" + b"0" * 20 + b"\n"
    assert held(count_strings([data])) == {(1,): 1, (): 1}


def test_limits_are_those_of_a_line_not_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    data = written([(0, 1)] * 30)
    monkeypatch.setitem(limits.IN_FORCE, "file_bytes", 20)
    monkeypatch.setitem(limits.IN_FORCE, "strings", 2)
    assert count_strings(cut(data, 4)).num_strings == 30
    with pytest.raises(FormatError, match="bytes without a line end must be at most 20; got 28"):
        count_strings(cut(b"1 1\n" + b" " * 100, 8))


def test_memory_follows_the_distinct_strings() -> None:
    def peak(num_strings: int) -> int:
        def reads() -> Iterator[bytes]:
            yield f"{num_strings} 2\n".encode()
            for _ in range(num_strings // 1000):
                yield b"3 0 1 0\n0\n" * 500

        tracemalloc.start()
        assert count_strings(reads()).seen.total() == num_strings
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top

    peak(1000)
    assert peak(200_000) < 1.2 * peak(10_000)


# What dropping costs


def check_bounds(counts: Counts, words: list[Word], keep: int) -> None:
    """The bounds of the module's docstring against exact counts."""
    true = Counter(words)
    seen = held(counts)
    num_strings = len(words)
    kind = np.uint8
    missed = {
        tuple(np.frombuffer(string, kind).tolist()): most for string, most in counts.missed.items()
    }
    assert counts.num_strings == num_strings
    assert set(missed) <= set(seen) <= set(true)
    for word, count in true.items():
        most = missed.get(word, 0) if word in seen else counts.most_missed
        assert seen.get(word, 0) <= count <= seen.get(word, 0) + most
        assert most <= counts.most_missed
        assert word in seen or count <= num_strings / (keep + 1)
    assert counts.num_dropped == num_strings - sum(seen.values())
    assert (keep + 1) * counts.most_missed <= num_strings
    for prefix in {word[:end] for word in words for end in range(len(word) + 1)}:
        low = sum(
            count - seen.get(word, 0)
            for word, count in true.items()
            if word[: len(prefix)] == prefix
        )
        assert 0 <= low <= counts.num_dropped


@given(word_lists, sizes, st.integers(1, 12))
@example([(0,), (1,), (2,), (0,), (0, 0), (0, 1), (0, 2), (0,)] * 4, 1, 2)
def test_what_is_dropped_is_within_the_bounds(
    words: list[Word], size: int, max_distinct: int
) -> None:
    counts = count_strings(cut(written(words), size), max_distinct)
    assert len(counts.seen) <= max_distinct
    check_bounds(counts, words, max(1, max_distinct // 2))
    assert bool(counts.bound) == bool(counts.num_dropped)
    if len(set(words)) <= max_distinct:
        assert (counts.num_dropped, counts.most_missed, counts.missed) == (0, 0, {})


@given(word_lists, sizes, st.integers(2, 12))
def test_hankel_entries_are_within_the_bounds(
    words: list[Word], size: int, max_distinct: int
) -> None:
    data = written(words)
    counts = count_strings(cut(data, size), max_distinct)
    exact = read_strings(data, "pautomac").sample()
    kept = counts.sample()
    basis = select_basis(kept, 10, 10)
    true, estimated = (estimate_hankel(sample, basis) for sample in (exact, kept))
    assert kept.frequencies().sum() == pytest.approx(1 - counts.num_dropped / len(words))
    for of in (
        lambda hankel: hankel.block,
        lambda hankel: hankel.symbol_block(0),
        lambda hankel: hankel.symbol_block(2),
    ):
        expected = of(true).toarray()
        got = of(estimated).toarray()
        assert (got >= expected - counts.most_missed / counts.num_strings - 1e-12).all()
        assert (got <= expected + 1e-12).all()


def test_frequencies_are_shares_of_all_that_was_read() -> None:
    sample = Sample(Words.of([(0,), (1, 1)]), np.array([2, 1]), Alphabet.numbered(2), num_dropped=2)
    assert (sample.num_strings, sample.frequencies().tolist(), sample.mean_length) == (
        5,
        [0.4, 0.2],
        4 / 3,
    )
    assert [part.num_strings for part in sample.split([2, 1], seed=0)] == [2, 1]
    with pytest.raises(RecipeError, match="can't split 3 strings into parts of 3, 1"):
        sample.split([3, 1], seed=0)


@given(
    st.lists(st.lists(st.integers(0, 2), max_size=3).map(tuple), min_size=1, max_size=30),
    st.integers(1, 6),
    sizes,
)
def test_frequent_strings_are_exact(words: list[Word], num_frequent: int, size: int) -> None:
    """Strings that are read often from the beginning are never dropped, whatever comes between."""
    frequent = [(2, 2, 2, 2, index) for index in range(num_frequent)]
    stream = [word for rare in words for word in (*frequent, rare)]
    counts = count_strings(cut(written(stream, 6), size), max_distinct=2 * num_frequent + 2)
    assert {word: held(counts).get(word) for word in frequent} == dict.fromkeys(
        frequent, len(words)
    )


def test_the_bound_in_words() -> None:
    counts = count_strings(cut(written([(0,), (0,), (1,), (2,), (0,)]), 1), max_distinct=2)
    assert counts.bound == (
        "2 of 5 strings (40.00%) dropped as rare: counts are at most 1 (a string, an entry "
        "of H) or 2 (a prefix, a suffix) too low."
    )


@pytest.mark.parametrize("max_distinct", [0, -1])
def test_at_least_one_string_is_held(max_distinct: int) -> None:
    counts = count_strings([b"1 1\n0\n"])
    for call in (
        lambda: count_strings([b"1 1\n0\n"], max_distinct),
        lambda: merge(counts, counts, max_distinct),
    ):
        with pytest.raises(
            RecipeError, match=f"max_distinct must be at least 1; got {max_distinct}"
        ):
            call()


# Shards


@given(st.lists(word_lists, min_size=1, max_size=4), sizes)
def test_shards_add_up_to_one_pass(shards: list[list[Word]], size: int) -> None:
    whole = count_strings(cut(written([word for shard in shards for word in shard]), size))
    merged = reduce(merge, [count_strings(cut(written(shard), size)) for shard in shards])
    assert_same(merged.sample(), whole.sample())
    assert (merged.num_strings, merged.num_dropped, merged.most_missed) == (whole.num_strings, 0, 0)


@given(st.lists(word_lists, min_size=2, max_size=4), sizes, st.integers(1, 12))
def test_shards_that_dropped_strings_keep_the_bounds(
    shards: list[list[Word]], size: int, max_distinct: int
) -> None:
    counted = [count_strings(cut(written(shard), size), max_distinct) for shard in shards]
    merged = reduce(lambda one, other: merge(one, other, max_distinct), counted)
    assert len(merged.seen) <= max_distinct
    check_bounds(merged, [word for shard in shards for word in shard], max(1, max_distinct // 2))


def test_merging_changes_neither_side() -> None:
    shards = [
        count_strings([written(words)], 4) for words in ([(0,), (1,), (2,)], [(2,), (0, 0), (0, 1)])
    ]
    before = [held(shard) for shard in shards]
    assert held(merge(*shards, 2)) == {(0,): 1, (2,): 2}
    assert [held(shard) for shard in shards] == before


@pytest.mark.parametrize("order", [1, -1])
def test_the_larger_alphabet_is_used(order: int) -> None:
    small = [(1,), (0, 1)]
    large = [(0, 1), (299,)]
    one, other = [
        count_strings([written(words, size)], 2) for words, size in ((small, 2), (large, 300))
    ][::order]
    merged = merge(one, other)
    assert held(merged) == dict(Counter((*small, *large)))
    assert merged.sample().num_symbols == 300


# The command line


@pytest.fixture
def train(tmp_path: Path) -> Path:
    assert main(["generate", "dyck", "-n", "500", "-o", str(tmp_path / "train")]) == 0
    return tmp_path / "train"


def fit(train: Path, *arguments: str) -> list[str]:
    options = [
        "--learner",
        "SP",
        "--rank",
        "3",
        "--prefixes",
        "20",
        "--suffixes",
        "20",
        "--out",
        str(train.parent / "model"),
        "--force",
    ]
    return ["fit", "--train", str(train), *options, *arguments]


def test_fit_says_what_it_dropped(train: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(fit(train)) == 0
    assert capsys.readouterr().err == "train: read as pautomac: 2 symbols: 0 1\n"
    assert main(fit(train, "--max-distinct", "40")) == 0
    captured = capsys.readouterr()
    assert (
        "of 500 strings" in captured.err and "dropped as rare: counts are at most" in captured.err
    )
    assert main(fit(train, "--max-distinct", "0")) == 2
    assert capsys.readouterr().err == "error: max_distinct must be at least 1; got 0\n"


def test_only_pautomac_files_may_be_large(
    train: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = train.with_name("lines")
    lines.write_text("abba\n" * 100)
    monkeypatch.setitem(limits.IN_FORCE, "file_bytes", 400)
    assert main(fit(train)) == main(fit(train, "--format", "pautomac")) == 0
    assert main(fit(lines)) == main(fit(train, "--format", "tokens")) == 2
    assert capsys.readouterr().err.count("must be at most 400 bytes; got") == 2


def test_fit_reads_a_pipe(train: Path) -> None:
    """A compressed corpus need not be unpacked to disk."""
    command = [sys.executable, "-m", "nlwfa_core", *fit(train)]
    command[command.index(str(train))] = "/dev/stdin"
    for data in (train.read_bytes(), b"abba\nab\n"):
        done = subprocess.run(command, input=data, capture_output=True, timeout=PATIENCE_SECONDS)
        assert (done.returncode, b"states" in done.stdout) == (0, True)


def test_the_head_of_a_file_tells_its_format(tmp_path: Path) -> None:
    assert begins_as_pautomac(b"\xef\xbb\xbf9 2\r\n\r\n2 0 1\r\n1")
    for head in (
        b"",
        b"9 2",
        b"9 2\n2 0 1",
        b"9 2\n2 0\n",
        b"9 x\n1 0\n",
        b"ab\nab\n",
        b"\xff\xfe\n1 0\n",
    ):
        assert not begins_as_pautomac(head)
    # A wrong length in the first string: read whole, and blamed on its line.
    wrong = b"2 2\n2 0\n1 0\n"
    (tmp_path / "wrong").write_bytes(wrong)
    with pytest.raises(RecipeError, match="line 2: length 2 is declared"):
        read_sample(tmp_path / "wrong", Reading(), None)
    many = b"%d 2\n" % PIECE_BYTES + b"1 0\n" * PIECE_BYTES
    (tmp_path / "many").write_bytes(many)
    assert read_sample(tmp_path / "many", Reading(), 10)[0].counts.tolist() == [PIECE_BYTES]
