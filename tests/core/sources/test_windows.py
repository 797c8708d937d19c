"""Long sequences, cut into windows: what the windows are, how they are split, and what a model of
them says of the process.
"""

from __future__ import annotations

import hashlib
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core import DataRecipe, Reading, RecipeError, evaluate, fit, load_data, read_strings
from nlwfa_core.errors import FormatError
from nlwfa_core.hankel.estimate import build_hankel
from nlwfa_core.hankel.recipe import HankelRecipe
from nlwfa_core.metrics.testset import TestSet
from nlwfa_core.sources.counting import count_text
from nlwfa_core.sources.string_files import MANY_LINES, windows_of
from nlwfa_core.strings.words import Words

SYMBOL = st.integers(0, 2)
WORDS = st.lists(st.lists(SYMBOL, max_size=12).map(tuple), min_size=1, max_size=6)


@given(st.lists(WORDS, min_size=1, max_size=3), st.integers(1, 5))
def test_windows_are_the_slices_of_each_string(
    blocks: list[list[tuple[int, ...]]], length: int
) -> None:
    slices = [
        word[start : start + length]
        for block in blocks
        for word in block
        for start in range(0, len(word) - length + 1, length)
    ]
    parts = [Words.of(block).packed() for block in blocks]
    if not slices:
        with pytest.raises(FormatError, match="at most as long as the longest string"):
            windows_of(parts, length)
        return
    cut, note = windows_of(parts, length)
    assert [word for part in cut for word in part] == slices
    left = sum(map(len, (word for block in blocks for word in block))) - length * len(slices)
    assert (f"{left} symbol" in note) == (left > 0)


def test_one_long_sequence_is_refused_with_what_to_do_and_read_in_windows() -> None:
    random.seed(1)
    text = "".join(random.choice("ab") for _ in range(20_000)).encode()
    with pytest.raises(FormatError, match=r"into windows, for example window = 20"):
        read_strings(text)
    file = read_strings(text, Reading(window=20))
    sample = file.sample()
    assert sample.num_strings == 1000
    assert file.notes[0] == "Cut into 1,000 windows of 20 symbols."
    # The mean numbers of times that a and b occur in a window are in the ratio of the sequence.
    recipe = HankelRecipe(num_prefixes=10, num_suffixes=10, statistic="factor")
    hankel = build_hankel(sample, recipe)
    share = text.count(b"a") / len(text)
    dense = np.asarray(hankel.matrix.todense())
    row = list(hankel.basis.prefixes).index(())
    suffixes = list(hankel.basis.suffixes)
    a, b = (dense[row, suffixes.index((symbol,))] for symbol in (0, 1))
    assert a / (a + b) == pytest.approx(share, abs=1e-9)
    assert share == pytest.approx(0.5, abs=0.01)


def test_tokens_of_a_long_line_and_a_symbol_on_each_line_are_the_same_sequence() -> None:
    symbols = [f"w{number % 7}" for number in range(30_000)]
    lines = "\n".join(symbols).encode()
    line = " ".join(symbols).encode()
    one, other = (read_strings(data, Reading("tokens", window=50)) for data in (lines, line))
    assert list(one.words) == list(other.words)
    assert one.alphabet == other.alphabet
    assert one.notes[0].startswith("One sequence, with one symbol per line, cut into 600")
    few = b"\n".join([b"a"] * (MANY_LINES - 1))
    with pytest.raises(FormatError, match="the longest string, 1 symbol; got 2"):
        read_strings(few, Reading(window=2))


def test_windows_of_a_pautomac_file_and_of_fasta() -> None:
    file = read_strings(b"2 3\n5 0 1 2 0 1\n3 2 2 2\n", Reading(window=2))
    assert list(file.words) == [(0, 1), (2, 0), (2, 2)]
    assert "2 symbols fill no window" in file.notes[0]
    fasta = read_strings(b">s\nACGT\nAC\n>t\nGGTA\n", Reading("fasta", window=3))
    assert [fasta.alphabet.decode(word) for word in fasta.words] == ["ACG", "TAC", "GGT"]


def test_counts_have_no_order() -> None:
    with pytest.raises(FormatError, match="must count each string once; got a count of 3"):
        read_strings(b"abab,3\nba,1\n", Reading("csv", window=2))
    with pytest.raises(RecipeError, match="window must be 0 for a table of counts"):
        count_text([b"abab\n"], Reading(window=2))


def read_windows(data: bytes, **fields: object):  # type: ignore[no-untyped-def]
    name = hashlib.sha256(data).hexdigest()
    recipe = DataRecipe(source="upload", upload=name, **fields)
    return load_data(recipe, {name: data}.__getitem__)


def test_windows_are_split_in_their_order_with_a_gap() -> None:
    # the n-th window is n in base 4
    rows = ["".join("abcd"[number >> shift & 3] for shift in (4, 2, 0)) for number in range(50)]
    data = read_windows("".join(rows).encode(), upload_window=3, num_validation=5, num_test=8)
    decode = data.alphabet.decode

    def strings(words: Words) -> list[str]:
        return [decode(word) for word in words]

    assert data.validation is not None
    assert strings(data.test.sample.words) == rows[42:]
    assert strings(data.validation.sample.words) == rows[36:41]
    assert strings(data.train.words) == rows[:35]
    assert any("in their order" in note for note in data.notes)
    few = read_windows("".join(rows).encode(), upload_window=3, num_strings=9, num_validation=0)
    assert strings(few.train.words) == rows[:9]
    with pytest.raises(RecipeError, match="at least 5 windows"):
        read_windows(b"abcabcabcabc", upload_window=3)


def test_a_model_of_windows_has_the_entropy_of_the_process() -> None:
    """A Markov chain on {a, b} that stays with ¾ and ⅞: ⅓ of its symbols are a, and a symbol costs
    ⅓ H(¼) + ⅔ H(⅛) bits.
    """
    draw = np.random.default_rng(5).random(200_000)
    symbols = []
    state = 0
    for number in draw:
        if number > (3 / 4, 7 / 8)[state]:
            state = 1 - state
        symbols.append("ab"[state])
    data = read_windows("".join(symbols).encode(), upload_window=25, num_test=1_500)

    def entropy(p: float) -> float:
        return float(-p * np.log2(p) - (1 - p) * np.log2(1 - p))

    rate = entropy(1 / 4) / 3 + 2 * entropy(1 / 8) / 3
    wer = 1 / 4 / 3 + 2 / 3 / 8
    model = fit(data.train, "SP", rank=2, statistic="factor")
    scores = evaluate(model, data.test)
    # windows begin anywhere, so of 25 symbols the first is known by its share alone
    first = entropy(1 / 3)
    assert scores.bits_without_end == pytest.approx((24 * rate + first) / 25, abs=0.01)
    assert scores.wer_without_end == pytest.approx((24 * wer + 1 / 3) / 25, abs=0.01)
    assert scores.bits_per_symbol > scores.bits_without_end + 0.1
    assert isinstance(data.test, TestSet)
