"""Words as flat arrays, alphabets, and samples with counts."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core.errors import RecipeError
from nlwfa_core.strings.plain import as_sample
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import Alphabet, Word, Words, check_symbols, distinct

AB = Alphabet(("a", "b"))
ALPHABETS = [
    AB,
    Alphabet(("run", "stop", "x")),
    Alphabet.numbered(3),
    Alphabet.numbered(12),
    Alphabet(("α", "[", "]")),
]
word_lists = st.lists(st.lists(st.integers(0, 1), max_size=5).map(tuple), max_size=12)


@given(st.sampled_from(ALPHABETS), st.data())
def test_what_is_written_is_read_back(alphabet: Alphabet, data: st.DataObject) -> None:
    word = tuple(data.draw(st.lists(st.integers(0, len(alphabet) - 1), max_size=8)))
    assert alphabet.encode(alphabet.decode(word)) == word


def test_the_empty_word_is_lambda() -> None:
    assert AB.decode(()) == "λ"
    assert AB.encode("λ") == AB.encode("") == AB.encode("  ") == ()
    assert AB.encode("a b") == AB.encode(" ab ") == (0, 1)


def test_unknown_symbols_are_named_with_what_is_allowed() -> None:
    with pytest.raises(RecipeError, match=r"symbol 'c' is not in the alphabet of 2 symbols: a, b$"):
        AB.encode("abc")
    with pytest.raises(RecipeError, match=r"alphabet of 20 symbols: 0, 1, .*11, …$"):
        Alphabet.numbered(20).encode("3 20")
    with pytest.raises(RecipeError) as caught:
        Alphabet.numbered(20).encode("9" * 10_000)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("symbols", "message"), [((), "at least one symbol"), (("a", "a"), "must differ")]
)
def test_bad_alphabets_are_refused(symbols: tuple[str, ...], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        Alphabet(symbols)


@given(word_lists)
def test_words_are_a_list_of_words(rows: list[Word]) -> None:
    words = Words.of(rows)
    assert (len(words), list(words), words.lengths.tolist()) == (
        len(rows),
        rows,
        [len(row) for row in rows],
    )
    assert list(words.reversed()) == [row[::-1] for row in rows]
    assert list(words.products(words)) == [u + v for u in rows for v in rows]
    assert list(words.take(range(len(rows))[::-2])) == rows[::-2]
    first, inverse = distinct(words)
    assert [rows[index] for index in first] == list(dict.fromkeys(rows))
    assert [rows[first[number]] for number in inverse] == rows


def test_offsets_must_cover_the_symbols() -> None:
    with pytest.raises(
        RecipeError,
        match=r"offsets must run from 0 to the number of symbols; got shapes \(3,\) and \(2,\), "
        "offsets from 0 to 2",
    ):
        Words(np.array([0, 1, 0]), np.array([0, 2]))
    with pytest.raises(RecipeError, match="offsets must run from 0 to the number of symbols"):
        Words(np.array([0, 1, 0]), np.array([0, 4]))
    with pytest.raises(RecipeError, match="offsets from 1 to 3"):
        Words(np.array([0, 1, 0]), np.array([1, 3]))
    with pytest.raises(RecipeError, match=r"got shapes \(2, 2\) and \(2,\)"):
        Words(np.zeros((2, 2), int), np.array([0, 2]))
    with pytest.raises(RecipeError, match=r"got shapes \(0,\) and \(0,\)$"):
        Words(np.array([], int), np.array([], int))


@pytest.mark.parametrize(("word", "bad"), [((0, 2), 2), ((-1, 0), -1)])
def test_symbols_outside_the_alphabet_are_refused(word: Word, bad: int) -> None:
    with pytest.raises(
        RecipeError, match=rf"symbol {bad} is not in the alphabet of 2 symbols \(0 … 1\)"
    ):
        check_symbols(Words.of([(0,), word]), 2)
    with pytest.raises(RecipeError, match=f"symbol {bad} is not"):
        Sample.of(Words.of([word]), AB)


@pytest.mark.parametrize("collide", [False, True])
@given(rows=word_lists)
def test_distinct_words_come_with_their_first_positions(collide: bool, rows: list[Word]) -> None:
    """With fingerprints in blocks of three symbols; and with equal fingerprints, so that the
    dictionary has to tell words apart.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nlwfa_core.strings.words.SYMBOLS_AT_ONCE", 3)
        patch.setattr("nlwfa_core.strings.words.SYMBOLS_AT_ONCE", 3)
        if collide:
            patch.setattr(
                "nlwfa_core.strings.words._fingerprints",
                lambda words: np.zeros(len(words), dtype=np.uint64),
            )
        first, inverse = distinct(Words.of(rows))
    assert [rows[index] for index in first] == list(dict.fromkeys(rows))
    assert [rows[first[number]] for number in inverse] == rows


@given(word_lists, st.data())
def test_samples_are_counters(rows: list[Word], data: st.DataObject) -> None:
    counts = data.draw(st.lists(st.integers(1, 4), min_size=len(rows), max_size=len(rows)))
    expected: Counter[Word] = Counter()
    for row, count in zip(rows, counts, strict=True):
        expected[row] += count
    sample = Sample.of(Words.of(rows), AB, np.array(counts, dtype=np.int64))
    assert dict(zip(sample.words, sample.counts.tolist(), strict=True)) == expected
    assert list(sample.words) == list(dict.fromkeys(rows))
    assert sample.num_strings == sum(counts)
    if rows:
        assert sample.frequencies().sum() == pytest.approx(1)
        assert sample.mean_length == pytest.approx(
            sum(len(u) * n for u, n in expected.items()) / sum(counts)
        )
    else:
        assert sample.mean_length == 0


@given(word_lists.filter(len), st.integers(0, 5), st.data())
def test_a_split_deals_out_each_string_once(
    rows: list[Word], seed: int, data: st.DataObject
) -> None:
    sample = Sample.of(Words.of(rows), AB)
    size = data.draw(st.integers(0, len(rows)))
    parts = sample.split([size, len(rows) - size], seed)
    assert [part.num_strings for part in parts] == [size, len(rows) - size]
    dealt: Counter[Word] = Counter()
    for part in parts:
        dealt.update(dict(zip(part.words, part.counts.tolist(), strict=True)))
    assert dealt == Counter(rows)
    again = sample.split([size, len(rows) - size], seed)
    assert [list(part.words) for part in again] == [list(part.words) for part in parts]


def test_splits_follow_the_seed() -> None:
    sample = Sample.of(Words.of([(0,) * n for n in range(50)]), AB)
    one, other = (list(sample.split([20], seed)[0].words) for seed in (0, 1))
    assert one != other


@pytest.mark.parametrize("sizes", [[2, 2], [-1, 2]])
def test_splits_that_do_not_fit_are_refused(sizes: list[int]) -> None:
    with pytest.raises(
        RecipeError, match=f"can't split 3 strings into parts of {sizes[0]}, {sizes[1]}"
    ):
        Sample.of(Words.of([(0,), (0,), ()]), AB).split(sizes, seed=0)


def test_counts_must_fit_the_words() -> None:
    with pytest.raises(
        RecipeError, match=r"each of the 1 words needs one count; got counts of shape \(2,\)"
    ):
        Sample(Words.of([(0,)]), np.array([1, 1]), AB)
    with pytest.raises(RecipeError, match="counts must be at least 1; got 0"):
        Sample(Words.of([(0,)]), np.array([0]), AB)


def test_a_sample_iterates_over_its_strings() -> None:
    sample = Sample.of(Words.of([(0, 1), (), (0, 1)]), Alphabet(("run", "stop")))
    assert list(sample) == ["run stop", "run stop", ""]
    again = as_sample(list(sample), sample.alphabet)
    assert list(again.words) == list(sample.words) and again.counts.tolist() == [2, 1]
    assert list(sample.alphabet) == ["run", "stop"]


def test_what_holds_many_strings_is_a_line_in_print() -> None:
    many = Sample.of(Words.of([(n % 7,) * (n % 400) for n in range(5_000)]), Alphabet.numbered(9))
    for value in (many, many.words, Alphabet.numbered(5_000)):
        assert len(repr(value)) < 250 and "\n" not in repr(value)
    assert repr(Words.of([])) == "<0 words>"
    assert repr(Words.of([(0, 1), ()])) == "<2 words: 0 1, λ>"
    # symbols that are not in the alphabet are only found where they are used
    assert repr(Words(np.array([5]), np.array([0, 1]), Alphabet(("a",)))) == "<1 word: 5>"
    small = Alphabet(("a", "b"))
    assert eval(repr(small)) == small
    assert repr(Sample.of(Words.of([]), small)) == (
        "<Sample of 0 strings, 0 distinct; 2 symbols: a, b>"
    )


def test_the_most_frequent_strings_of_packed_counts_come_first() -> None:
    """Packed counts are unsigned, and have no negatives to sort by."""
    words = Words.of([(0,), (1,), (0, 0)]).packed()
    sample = Sample.merged([words], Alphabet(("a", "b")), [3, 200, 1])
    assert sample.counts.dtype == np.uint8
    assert repr(sample).startswith("<Sample of 204 strings, 3 distinct: 200 × b, 3 × a, 1 × aa;")
    assert sample._repr_html_().index(">b<") < sample._repr_html_().index(">a<")
