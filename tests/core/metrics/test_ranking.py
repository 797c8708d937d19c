"""Rankings of next symbols: worked by hand, against plain Python, and on the competition's public
files.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core import (
    NGram,
    RecipeError,
    Targets,
    Words,
    rank_next,
    read_prefixes,
    read_strings,
    read_targets,
    score_ranking,
)
from nlwfa_core.metrics.evaluate import bits_per_symbol, evaluate, next_symbol_score
from nlwfa_core.metrics.ranking import Prefixes, prefix_score
from nlwfa_core.metrics.testset import TestSet
from nlwfa_core.models.ngram import Uniform
from nlwfa_core.models.wfa import WFA
from nlwfa_core.sources.random_automata import random_automaton
from nlwfa_core.sources.spice import targets_of, write_ranking
from nlwfa_core.strings import trie as module
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.trie import Trie
from nlwfa_core.strings.words import Alphabet, FloatArray, IntArray
from tests.references import DATA, best_gain, write_targets

SPICE = DATA / "spice"
WORDS = st.lists(st.lists(st.integers(0, 2), max_size=6), min_size=1, max_size=12)
# A target and what a program ranks; symbols repeat in the ranking, and some are not in the target.
TARGET = st.dictionaries(st.integers(-1, 7), st.floats(0, 1), min_size=1, max_size=8)
RANKED = st.lists(st.integers(-1, 8), min_size=1, max_size=7)


class Fixed:
    """A model with the same scores after every prefix."""

    def __init__(self, scores: Sequence[float]) -> None:
        self.scores = np.array(scores)
        self.num_symbols = len(scores) - 1

    def weights(self, words: Words) -> FloatArray:
        raise NotImplementedError

    def next_scores(self, trie: Trie) -> FloatArray:
        return np.tile(self.scores, (trie.num_nodes, 1))


def competition(rankings: Sequence[str], targets: Sequence[str]) -> float:
    """The competition's score of lines of text, by its definition.

    A line of targets begins with the largest possible gain. A line of a ranking counts for its
    first five symbols; a symbol that stands there already gains nothing, but takes up its rank.
    """
    total = 0.0
    for ranking, target in zip(rankings, targets, strict=True):
        largest, *pairs = target.split()
        probability = dict(zip(pairs[::2], map(float, pairs[1::2]), strict=True))
        ranked = ranking.split()[:5]
        total += sum(
            probability.get(symbol, 0.0) / math.log(rank + 2, 2)
            for rank, symbol in enumerate(ranked)
            if symbol not in ranked[:rank]
        ) / float(largest)
    return total / len(targets)


def test_a_ranking_worked_by_hand() -> None:
    """Two states: after an even number of a's, b 0.5, a 0.25, end 0.25; after an odd number, a
    0.75, end 0.25, and b never.
    """
    parity = WFA([1, 0], [[[0, 0.25], [0.75, 0]], [[0.5, 0], [0, 0]]], [0.25, 0.25])
    prefixes = Words.of([(), (0,), (1, 1), (0, 0), (0, 0, 0)])
    ranking = rank_next(parity, prefixes)
    # With an even number, a and the end are equally likely: the lower symbol first, the end last.
    assert ranking.tolist() == [[1, 0, -1], [0, -1, 1], [1, 0, -1], [1, 0, -1], [0, -1, 1]]
    score = score_ranking(ranking, Targets.of([1, -1, 0, -1, 0]))
    assert score.ndcg5 == pytest.approx(
        (1 + 1 / math.log2(3) + 1 / math.log2(3) + 1 / 2 + 1) / 5, abs=1e-15
    )
    assert (score.error, score.num_prefixes) == (3 / 5, 5)


@pytest.mark.parametrize(
    ("scores", "ranking"),
    [
        ([0.1, 0.3, 0.2, 0.15, 0.05, 0.12, 0.08], [1, 2, 3, 5, 0]),
        ([0.0] * 4, [0, 1, 2, -1]),
        ([0.25, 0.25, 0.5], [-1, 0, 1]),
        ([0.5, 0.5 + 1e-12, 0.5 - 1e-12, 0.1], [0, 1, 2, -1]),  # rounding
        ([1.0, 2e-12, 1e-12, 3e-12], [0, -1, 1, 2]),  # small, but not rounding
        ([-0.3, 0.1, -0.2, 0.0], [1, -1, 2, 0]),  # by their sign
        ([np.nan, 0.5, np.nan, -1.0], [1, -1, 0, 2]),
        ([np.nan] * 3, [0, 1, -1]),
        ([-np.inf, np.inf, 0.0, np.nan], [1, 2, 0, -1]),
    ],
)
def test_equal_scores_and_scores_that_are_no_numbers(
    scores: list[float], ranking: list[int]
) -> None:
    assert rank_next(Fixed(scores), Words.of([(), (0,)])).tolist() == [ranking] * 2


def test_the_number_of_ranks() -> None:
    assert rank_next(Uniform(9), Words.of([()]), count=3).tolist() == [[0, 1, 2]]
    assert rank_next(Uniform(9), Words.of([()]), count=50).shape == (1, 10)
    assert rank_next(Uniform(9), Words.of([])).shape == (0, 5)
    with pytest.raises(RecipeError, match="count must be at least 1; got 0"):
        rank_next(Uniform(9), Words.of([()]), count=0)


@given(WORDS, st.integers(1, 200))
def test_batches_change_nothing(rows: list[list[int]], scores_at_once: int) -> None:
    """Each prefix alone, all together, and in batches of common prefixes."""
    model = random_automaton(4, 3, 0)
    words = Words.of(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SCORES_AT_ONCE", scores_at_once)
        ranking = rank_next(model, words)
    assert ranking.tolist() == rank_next(model, words).tolist()
    assert ranking.tolist() == [rank_next(model, Words.of([row]))[0].tolist() for row in rows]


@given(WORDS, st.sampled_from([1, 8, 30]))
def test_batches_change_neither_bits_nor_weights(
    rows: list[list[int]], scores_at_once: int
) -> None:
    sample = Sample.of(Words.of(rows), Alphabet(("a", "b", "c")))
    models = [random_automaton(4, 3, 0), NGram.fit(sample, 2)]
    expected = [
        (next_symbol_score(model, sample).bits_per_symbol, model.weights(sample.words))
        for model in models
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SCORES_AT_ONCE", scores_at_once)
        for model, (bits, weights) in zip(models, expected, strict=True):
            assert bits_per_symbol(model, sample) == pytest.approx(bits, rel=1e-12, nan_ok=True)
            np.testing.assert_array_equal(model.weights(sample.words), weights)


@given(WORDS)
def test_depth_first_order(rows: list[list[int]]) -> None:
    """All nodes, sorted by their prefixes."""
    trie = Trie.of(Words.of(rows), 3)
    order = sorted(
        range(trie.num_nodes), key=list(trie.prefixes(np.arange(trie.num_nodes))).__getitem__
    )
    assert trie.preorder[order].tolist() == list(range(trie.num_nodes))


def test_symbols_are_mapped_by_name() -> None:
    model = WFA([1.0], [[[0.25]], [[0.5]]], [0.25], Alphabet(("a", "b")))
    prefixes = read_prefixes(b"bb\nb\n")  # its only symbol is its number 0
    assert rank_next(model, prefixes.words).tolist() == [[1, 0, -1]] * 2
    with pytest.raises(RecipeError, match="symbol 'c' is not in the model's alphabet"):
        rank_next(model, read_prefixes(b"abc\n").words)


def test_prefixes_and_targets_are_mapped_by_name() -> None:
    """b is likelier than the end, and that than a.

    The prefixes' own numbers are 0 for b, 1 for c; 2 is a symbol without a name.
    """
    model = WFA([1.0], [[[0.2]], [[0.5]], [[0.0]]], [0.3], Alphabet(("a", "b", "d")))
    words = Words(np.array([0, 0]), np.array([0, 1, 2, 2]), Alphabet(("b", "c")))
    score = prefix_score(model, Prefixes(words, Targets.of([0, 1, 2])))
    assert (score.ndcg5, score.error, score.num_prefixes) == (1 / 3, 2 / 3, 3)


@given(st.lists(st.tuples(TARGET, RANKED), min_size=1, max_size=8))
def test_scores_are_those_of_the_competition(
    rows: list[tuple[dict[int, float], list[int]]],
) -> None:
    rows = [
        ({symbol: max(p, 1e-3) for symbol, p in target.items()}, ranked) for target, ranked in rows
    ]
    lines = [
        " ".join(
            map(
                str,
                (
                    best_gain([*target.values()]),
                    *(cell for pair in target.items() for cell in pair),
                ),
            )
        )
        for target, _ in rows
    ]
    rankings = [" ".join(map(str, ranked)) for _, ranked in rows]
    targets = read_targets("\n".join(lines).encode())
    table: IntArray = np.array([ranked + [-2] * (7 - len(ranked)) for _, ranked in rows])
    score = score_ranking(table, targets)
    assert score.ndcg5 == pytest.approx(competition(rankings, lines), abs=1e-12)
    likeliest = [max(target, key=target.__getitem__) for target, _ in rows]
    assert score.error == np.mean(
        [ranked[0] != best for (_, ranked), best in zip(rows, likeliest, strict=True)]
    )


def test_a_model_scores_the_same_along_whole_strings() -> None:
    """With every prefix of the test strings as a prefix, and no ties, these are the scores of
    `evaluate`.
    """
    model = random_automaton(5, 7, 1)
    words = Words.of([(0, 3, 1, 6), (2,), (), (5, 5, 0), (0, 3, 1, 6)])
    prefixes = [word[:position] for word in words for position in range(len(word) + 1)]
    followed = [symbol for word in words for symbol in (*word, -1)]
    score = score_ranking(rank_next(model, Words.of(prefixes)), Targets.of(followed))
    scores = evaluate(model, TestSet.empirical(Sample.of(words, Alphabet.numbered(7))))
    assert scores.share_tied == 0
    assert (score.ndcg5, score.error) == pytest.approx((scores.ndcg5, scores.wer), abs=1e-12)


def test_what_does_not_belong_together_is_refused() -> None:
    with pytest.raises(
        RecipeError,
        match=r"the shape \(1, ranks\), with a row for each target; got an array of shape \(2, 1\)",
    ):
        score_ranking(np.array([[0], [1]]), Targets.of([0]))
    with pytest.raises(RecipeError, match="at least 1 prefix to be scored; got none"):
        score_ranking(np.empty((0, 5), dtype=np.int64), Targets.of([]))
    for number in (0, 2):
        with pytest.raises(
            RecipeError,
            match="targets for 1 prefixes with 1 next symbols need 1 probabilities and 2 offsets, "
            f"the first 0 and the last 1; got {number} probabilities and 2 offsets",
        ):
            Targets(np.array([1]), np.ones(number), np.array([0, 1]), np.ones(1))
    with pytest.raises(RecipeError, match="each prefix needs a next symbol; prefix 2 has none"):
        Targets(np.array([1]), np.ones(1), np.array([0, 1, 1]), np.ones(2))


def _public(problem: int) -> tuple[Sample, Words, Targets, list[str]]:
    """Training strings, prefixes, targets and the lines of targets of a problem of the
    competition.
    """
    train = read_strings(SPICE / f"{problem}.spice.train").sample()
    words = read_prefixes(SPICE / f"{problem}.spice.prefix.public", alphabet=train.alphabet).words
    path: Path = SPICE / f"{problem}.spice.target.public"
    return (
        train,
        words,
        targets_of(read_targets(path), len(words))[0],
        path.read_text().splitlines()[: len(words)],
    )


@pytest.mark.skipif(
    not SPICE.exists(), reason="the competition's files are not part of the project"
)
@pytest.mark.parametrize(("problem", "order"), [(1, 3), (2, 4), (4, 6), (14, 2)])
def test_the_public_files_of_the_competition(problem: int, order: int) -> None:
    """Against the competition's definition on the text of the files, and what others measured with
    the same n-grams.

    Another program may order equal scores in another way: on problem 4, 0.6303 was measured, and
    this is 0.6300.
    """
    train, words, targets, lines = _public(problem)
    ranking = rank_next(NGram.fit(train, order), words)
    score = score_ranking(ranking, targets)
    assert score.ndcg5 == pytest.approx(
        competition(write_ranking(ranking).splitlines(), lines), abs=1e-12
    )
    with (SPICE / "published.csv").open() as file:
        published = next(row for row in csv.DictReader(file) if row["problem"] == str(problem))
    assert score.ndcg5 == pytest.approx(float(published["pub_ours_witten_bell_ngram"]), abs=4e-4)
    assert (
        read_targets(write_targets(targets).encode()).probabilities.tolist()
        == targets.probabilities.tolist()
    )
    # A ranking by the targets themselves is perfect, up to the digits of the file.
    best = np.array(
        [[int(symbol) for symbol in (line.split()[1::2] + ["-2"] * 5)[:5]] for line in lines]
    )
    assert score_ranking(best, targets).ndcg5 == pytest.approx(1, abs=1e-9)
    assert score_ranking(best, targets).error == 0
