"""The prefix tree against sets of tuples."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core.errors import RecipeError
from nlwfa_core.strings import rolling
from nlwfa_core.strings.rolling import end_states
from nlwfa_core.strings.trie import MAX_TABLE_CELLS, Trie, batches, frequent_prefixes
from nlwfa_core.strings.words import Word, Words

word_lists = st.lists(st.lists(st.integers(0, 2), max_size=5).map(tuple), min_size=1, max_size=10)


@given(word_lists)
def test_nodes_are_the_prefixes_by_length_and_alphabet(rows: list[Word]) -> None:
    trie = Trie.of(Words.of(rows), 3)
    nodes = sorted(
        {row[:length] for row in rows for length in range(len(row) + 1)}, key=lambda u: (len(u), u)
    )
    number = {u: index for index, u in enumerate(nodes)}
    assert list(trie.prefixes(range(trie.num_nodes))) == nodes
    assert trie.depth.tolist() == [len(u) for u in nodes]
    assert [trie.num_nodes, *trie.levels] == [
        len(nodes),
        *(sum(len(u) < d for u in nodes) for d in range(len(nodes[-1]) + 2)),
    ]
    assert trie.parent.tolist() == [-1, *(number[u[:-1]] for u in nodes[1:])]
    assert trie.symbol.tolist() == [-1, *(u[-1] for u in nodes[1:])]
    assert trie.ends.tolist() == [number[row] for row in rows]
    for index, row in enumerate(rows):
        path = trie.paths[trie.starts[index] : trie.starts[index + 1]]
        assert path.tolist() == [number[row[:length]] for length in range(len(row) + 1)]


@pytest.mark.parametrize("table", [0, MAX_TABLE_CELLS])
@given(word_lists, word_lists)
def test_words_are_found_where_they_are(table: int, rows: list[Word], others: list[Word]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nlwfa_core.strings.trie.MAX_TABLE_CELLS", table)
        check_found(Trie.of(Words.of(rows), 3), others)


def check_found(trie: Trie, others: list[Word]) -> None:
    number = {u: index for index, u in enumerate(trie.prefixes(range(trie.num_nodes)))}
    nodes, starts = trie.walk(Words.of(others))
    for index, word in enumerate(others):
        way = [number.get(word[:length], -1) for length in range(len(word) + 1)]
        assert nodes[starts[index] : starts[index + 1]].tolist() == [
            node for node in way if node >= 0
        ]
    for mine, expected in zip(
        trie.walk(Words.of(others).reversed(), backward=True), (nodes, starts), strict=True
    ):
        np.testing.assert_array_equal(mine, expected)
    children = trie.child(np.arange(-1, trie.num_nodes)[:, None], np.arange(4))
    assert children.tolist() == [
        [-1] * 4,
        *([number.get((*u, symbol), -1) for symbol in range(4)] for u in number),
    ]


@given(word_lists, st.data())
def test_counts_are_those_of_strings_that_begin_and_end(
    rows: list[Word], data: st.DataObject
) -> None:
    counts = np.array(
        data.draw(st.lists(st.integers(1, 4), min_size=len(rows), max_size=len(rows)))
    )
    trie = Trie.of(Words.of(rows), 3)
    begins: Counter[Word] = Counter()
    ends: Counter[Word] = Counter()
    for row, count in zip(rows, counts.tolist(), strict=True):
        ends[row] += count
        for length in range(len(row) + 1):
            begins[row[:length]] += count
    nodes = list(trie.prefixes(range(trie.num_nodes)))
    assert trie.prefix_counts(counts).tolist() == [begins[u] for u in nodes]
    assert trie.end_counts(counts).tolist() == [ends[u] for u in nodes]


class Writer:
    """A transition that writes the word in digits, and counts the states it is given."""

    steps = 0

    def __call__(self, states: np.ndarray, symbol: int | np.ndarray) -> np.ndarray:
        self.steps += len(states)
        return 10 * states + np.reshape(symbol, (-1, *[1] * (states.ndim - 1))) + 1

    @staticmethod
    def written(word: Word) -> int:
        return int("".join(str(symbol + 1) for symbol in word) or 0)


@given(word_lists)
def test_each_prefix_is_rolled_out_once(rows: list[Word]) -> None:
    trie = Trie.of(Words.of(rows), 3)
    writer = Writer()
    states = trie.roll_out(np.zeros(1), writer)
    assert states[:, 0].tolist() == [
        Writer.written(u) for u in trie.prefixes(range(trie.num_nodes))
    ]
    assert writer.steps == trie.num_nodes - 1


@pytest.mark.parametrize("few", [0, 1, rolling.NUMBERS_PER_CALL])
@given(rows=word_lists, copies=st.integers(1, 6))
def test_words_end_where_their_symbols_lead(few: int, rows: list[Word], copies: int) -> None:
    """However many words share prefixes and take their steps together; and no step is taken
    twice.
    """
    words = Words.of(rows * copies)
    writer = Writer()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rolling, "NUMBERS_PER_CALL", few)
        states = end_states(words, 3, np.zeros(1), writer)
    assert states[:, 0].tolist() == [Writer.written(word) for word in words]
    assert writer.steps <= len(words.symbols)


def test_a_repeated_word_is_stepped_through_once() -> None:
    writer = Writer()
    assert (
        end_states(Words.of([(0, 2, 1)] * 7), 3, np.zeros(1), writer)[:, 0].tolist() == [132.0] * 7
    )
    assert writer.steps == 3


@given(word_lists, st.integers(1, 12), st.data())
def test_a_pruned_tree_has_the_most_frequent_prefixes(
    rows: list[Word], number: int, data: st.DataObject
) -> None:
    counts = np.array(
        data.draw(st.lists(st.integers(1, 9), min_size=len(rows), max_size=len(rows))),
        dtype=np.int64,
    )
    whole = Trie.of(Words.of(rows), 3)
    expected = whole.prefix_counts(counts)
    tree, found = frequent_prefixes(Words.of(rows), counts, 3, number)

    def best(trie: Trie, frequencies: np.ndarray) -> list[Word]:
        return list(trie.prefixes(np.argsort(-frequencies, kind="stable")[:number]))

    assert best(tree, found) == best(whole, expected)
    known = dict(zip(whole.prefixes(range(whole.num_nodes)), expected.tolist(), strict=True))
    assert [known[u] for u in tree.prefixes(range(tree.num_nodes))] == found.tolist()
    backward, again = frequent_prefixes(Words.of(rows).reversed(), counts, 3, number, "backward")
    assert (list(backward.prefixes(range(backward.num_nodes))), again.tolist()) == (
        list(tree.prefixes(range(tree.num_nodes))),
        found.tolist(),
    )


def test_no_words_leave_the_root() -> None:
    trie = Trie.of(Words.of([]), 2)
    assert (trie.num_nodes, trie.ends.tolist(), trie.walk(Words.of([(), (1,)]))[0].tolist()) == (
        1,
        [],
        [0, 0],
    )


def test_few_words_are_one_batch() -> None:
    assert [len(rows) for rows, _ in batches(Words.of([(0, 1), (1,), ()]), 2)] == [3]


def test_long_words_take_no_recursion() -> None:
    word = (0, 1) * 20_000
    trie = Trie.of(Words.of([word, word[:-1]]), 2)
    assert trie.num_nodes == len(word) + 1
    assert trie.prefixes([trie.ends[0]])[0] == word


def test_symbols_outside_the_alphabet_are_refused() -> None:
    with pytest.raises(RecipeError, match="symbol 3 is not in the alphabet of 3 symbols"):
        Trie.of(Words.of([(0, 3)]), 3)
