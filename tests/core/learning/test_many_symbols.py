"""Networks for many symbols: batches, gradient and drawn strings against brute force, and the rule
by which `fit` trains them.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from nlwfa_core import as_sample, evaluate, fit
from nlwfa_core.errors import Cancelled
from nlwfa_core.learning.likelihood import many_symbols, newton
from nlwfa_core.learning.likelihood.many_symbols import Generation, Strings, Teaching
from nlwfa_core.learning.likelihood.network import Network, objective, objectives_and_gradients
from nlwfa_core.learning.likelihood.prefixes import PrefixCounts
from nlwfa_core.learning.progress import Progress, never
from nlwfa_core.metrics.testset import TestSet
from nlwfa_core.models.ngram import NGram
from nlwfa_core.models.nlwfa import NLWFA
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.trie import Trie
from nlwfa_core.strings.words import Alphabet, FloatArray, Word, Words

LETTERS = "abcdefghijkl"
TANH = {"fac.non": (False, True), "tran.non": (True, False), "both.non": (True, True)}


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """What holds for any number of networks and passes is tested with few."""
    few = (Generation(2, 4, 1e-2, 0), Generation(1, 3, 1e-2, 2))
    monkeypatch.setattr(many_symbols, "GENERATIONS", few)


def words_of_steps(number: int, seed: int) -> list[str]:
    """After each symbol comes the next one of the alphabet, or the one after that."""
    random = np.random.default_rng(seed)
    words = []
    for _ in range(number):
        steps = random.integers(1, 3, size=random.integers(2, 9))
        places = random.integers(12) + np.cumsum(steps)
        words.append("".join(LETTERS[place % 12] for place in places))
    return words


@pytest.fixture
def train() -> Sample:
    return as_sample(words_of_steps(150, 0), Alphabet.of(LETTERS))


def pair(
    learner: str, rank: int, num_symbols: int, random: np.random.Generator
) -> tuple[Network, Network]:
    return many_symbols._Start(rank, num_symbols, random).pair(*TANH[learner])


def random_network(num_symbols: int, seed: int) -> Network:
    """A network of two states without a weight of 0."""
    shape, _ = pair("both.non", 2, num_symbols, np.random.default_rng(seed))
    weights = np.random.default_rng(seed).normal(size=len(shape.vector))
    return shape.with_vector(weights)


def expected_counts(words: list[Word], share: float, mean: NLWFA | None) -> dict[Word, FloatArray]:
    counts: dict[Word, FloatArray] = {}
    for word in words:
        for end in range(len(word) + 1):
            prefix = word[:end]
            following = word[end] if end < len(word) else 2
            row = counts.setdefault(prefix, np.zeros(3))
            row[following] += 1 - share
            if mean is not None:
                row += share * mean.next_scores(Trie.of(Words.of([prefix]), 2))[-1]
    return counts


@pytest.mark.parametrize("share", [0.0, 0.6, 1.0])
def test_a_batch_mixes_what_follows_with_what_teachers_predict(share: float) -> None:
    sample = as_sample(["ab", "ab", "abba", "b", "", "babab", "abb"], Alphabet.of("ab"))
    teacher = random_network(2, 1)
    strings = Strings.of(sample, [teacher] if share else [], share)
    assert strings.total == sum((len(word) + 1) * n for word, n in counted(sample))
    assert np.bincount(strings.occurrences).tolist() == sample.counts.tolist()
    chosen = np.array([4, 0, 3, 1, 0])
    batch = strings.batch(chosen)
    words = [sample.words[i] for i in chosen]
    expected = expected_counts(words, share, teacher.model() if share else None)
    prefixes: list[Word] = [()]
    for parent, symbol in zip(batch.parent[1:], batch.symbol[1:], strict=True):
        prefixes.append((*prefixes[parent], int(symbol)))
    assert sorted(prefixes) == sorted(expected)
    for prefix, row in zip(prefixes, batch.counts, strict=True):
        assert row == pytest.approx(expected[prefix], abs=1e-5)


def counted(sample: Sample) -> list[tuple[Word, int]]:
    return [(word, int(n)) for word, n in zip(sample.words, sample.counts, strict=True)]


@pytest.mark.parametrize("learner", TANH)
def test_the_gradient_is_that_of_finite_differences(
    learner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By common maps and deviations, with the prior; it is not shortened here."""
    monkeypatch.setattr(many_symbols, "LONGEST", np.inf)
    random = np.random.default_rng(2)
    prefixes = PrefixCounts.of(as_sample(["ab", "ba", "abb", "c"]))
    deviations, common = pair(learner, 3, 3, random)
    hierarchy = many_symbols._Hierarchy(deviations, common)
    hierarchy.vector = (
        hierarchy.vector.astype(float) + random.normal(size=hierarchy.vector.size) / 9
    )

    def value() -> float:
        return objective(hierarchy.network, prefixes, 0.0) + hierarchy.penalty(0.1)

    _, of_network = objectives_and_gradients(
        deviations, hierarchy.network_vector[None], prefixes, 0.0
    )
    gradient = hierarchy.gradient(of_network[0], 0.1)
    for entry in range(len(gradient)):
        both = []
        for change in (1e-6, -2e-6):
            hierarchy.vector[entry] += change
            both.append(value())
        hierarchy.vector[entry] += 1e-6
        assert gradient[entry] == pytest.approx((both[0] - both[1]) / 2e-6, abs=1e-7)


@pytest.mark.parametrize("learner", TANH)
def test_states_first_hold_the_last_three_symbols(learner: str) -> None:
    """Not the ones before: the register is as long as the states allow."""
    deviations, common = pair(learner, 19, 5, np.random.default_rng(3))
    model = many_symbols._Hierarchy(deviations, common).network.model()
    letters = Alphabet.of("abcde")
    words = ["abcde", "dbcde", "abade", "abcce", "abcda"]
    first, *others = (
        model.states(Trie.of(as_sample([word], letters).words, 5))[-1] for word in words
    )
    old, *new = (float(np.linalg.norm(state - first)) for state in others)
    assert old < 0.5 < 1.0 < min(new)


def test_strings_are_drawn_from_the_mean_of_the_teachers(train: Sample) -> None:
    teachers = [random_network(12, seed) for seed in (4, 5)]
    teaching = Teaching(train, True, True, 1.0, 0, print, never)
    drawn = teaching._drawn(teachers, 40, np.random.default_rng(6))
    assert drawn is not None and drawn.words.lengths.max() <= 2 * train.words.lengths.max()
    assert 20 * train.num_strings < drawn.num_strings <= 40 * train.num_strings
    second = Counter[int]()
    for word, count in counted(drawn):
        if word[:1] == (3,):
            second[word[1] if len(word) > 1 else 12] += count
    strings = Strings.of(drawn, teachers, 1.0)
    node = int(np.flatnonzero((strings.tree.depth == 1) & (strings.tree.symbol == 3))[0])
    total = sum(second.values())
    mean = np.mean([t.model().next_scores(Trie.of(Words.of([(3,)]), 12))[-1] for t in teachers], 0)
    assert strings.predictions[node] == pytest.approx(mean, abs=1e-5)
    frequencies = np.array([second[symbol] for symbol in range(13)]) / total
    assert np.abs(frequencies - mean).max() < 4 * np.sqrt(0.25 / total) + 0.02


def test_a_string_that_occurs_often_is_in_many_batches() -> None:
    """In one, it would hide all others there, because the steps of all batches are of one size."""
    sample = as_sample([*words_of_steps(300, 3), *[""] * 200], Alphabet.of(LETTERS))
    strings = Strings.of(sample, [], 0.0)
    batches = [
        source.batch(chosen)
        for source, chosen in many_symbols._in_random_order([strings], np.random.default_rng(0))
    ]
    ends = np.array([batch.counts[:, -1].sum() for batch in batches])
    assert (ends[ends < many_symbols.BATCH] > 0).sum() <= 1 and ends.max() == many_symbols.BATCH
    assert np.count_nonzero([batch.counts[0, -1] for batch in batches]) == len(batches)
    assert sum(batch.counts[0] for batch in batches) == pytest.approx(strings.tree.counts[0])
    assert ends.sum() == 500


@pytest.mark.parametrize(
    "learner",
    ["both.non", *(pytest.param(name, marks=pytest.mark.slow) for name in ("fac.non", "tran.non"))],
)
def test_many_symbols_have_networks_with_all_their_states(
    learner: str, train: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They predict better than the frequencies of symbols, and come out the same each time."""
    monkeypatch.setattr(newton, "MOST_WEIGHTS", 0)
    monkeypatch.setattr(many_symbols, "GENERATIONS", (Generation(2, 30, 1e-2, 0),) * 2)
    monkeypatch.setattr(many_symbols, "BATCH", 16)
    seen: list[Progress] = []
    learned, again, other = (
        fit(train, learner, 7, objective="likelihood", seed=seed, report=seen.append)
        for seed in (0, 0, 1)
    )
    assert learned.report.num_states == 7
    (log,) = learned.report.logs
    assert log.stopped == "epochs" and log.losses[-1] < 0.8 * log.losses[0]
    assert log.losses[0] == pytest.approx(np.log2(13), abs=0.2)  # and the prior
    assert [each.step for each in seen] == 3 * list(range(1, seen[0].total + 1))
    test = as_sample(words_of_steps(100, 1), train.alphabet)
    bits = evaluate(learned, TestSet.empirical(test)).bits_per_symbol
    assert bits < evaluate(NGram.fit(train, 1), TestSet.empirical(test)).bits_per_symbol - 0.5
    assert isinstance(learned.model, NLWFA) and isinstance(again.model, NLWFA)
    assert isinstance(other.model, NLWFA)
    assert (learned.model.output == again.model.output).all()
    assert not np.array_equal(learned.model.output, other.model.output)


@pytest.mark.parametrize(
    ("passes", "is_taught"), [(1, False), pytest.param(60, True, marks=pytest.mark.slow)]
)
def test_without_a_matrix_a_network_is_never_worse_than_the_largest_with_one(
    passes: int, is_taught: bool, train: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two states have a matrix here, three have none: after one pass, they are worse than two."""
    monkeypatch.setattr("nlwfa_core.learning.likelihood.path.FRESH", 2)
    monkeypatch.setattr("nlwfa_core.learning.likelihood.path.KEPT", (1,))
    monkeypatch.setattr("nlwfa_core.learning.likelihood.path.LAST_ROUNDS", 2)
    monkeypatch.setattr(newton, "MOST_WEIGHTS", 300)
    monkeypatch.setattr(newton, "MOST_MULTIPLICATIONS", 10**12)
    monkeypatch.setattr(many_symbols, "GENERATIONS", (Generation(2, passes, 1e-2, 0),) * 2)
    monkeypatch.setattr(many_symbols, "BATCH", 16)
    seen: list[Progress] = []
    two = fit(train, "both.non", 2, objective="likelihood", ridge=0.01)
    five = fit(train, "both.non", 5, objective="likelihood", ridge=0.01, report=seen.append)
    assert five.report.num_states == 5
    assert [each.step for each in seen if each.loss is not None][-1] == seen[-1].total
    if is_taught:
        assert np.isnan(five.report.logs[0].gradient) and not five.report.notes
        return
    assert five.report.logs[0].losses[-1] == two.report.logs[0].losses[-1]
    (note,) = five.report.notes
    assert note.startswith("2 of 5 states are in use")


def test_a_training_can_be_cancelled(train: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newton, "MOST_WEIGHTS", 0)
    calls: list[int] = []

    def cancelled() -> bool:
        calls.append(1)
        return len(calls) > 12

    with pytest.raises(Cancelled):
        fit(train, "both.non", 3, objective="likelihood", cancelled=cancelled)
    assert len(calls) == 13


@pytest.mark.parametrize("words", [["", ""], ["a"], ["abc", ""]])
@pytest.mark.parametrize("rank", [1, 2, 5])
def test_little_is_learned_without_errors(
    words: list[str], rank: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(newton, "MOST_WEIGHTS", 0)
    sample = as_sample(words, Alphabet.of("abc"))
    model = fit(sample, "both.non", rank, objective="likelihood").model
    assert 0 < model("") < 1


def test_a_large_sample_has_fewer_passes_and_drawn_strings(
    train: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    teaching = Teaching(train, True, True, 1.0, 0, print, never)
    before = teaching.num_passes
    monkeypatch.setattr(many_symbols, "MOST_PREDICTIONS", 2_000)
    assert teaching.num_passes < before
    monkeypatch.setattr(many_symbols, "MOST_DRAWN", 100)
    assert teaching._num_drawn(2) < train.num_strings


def test_a_small_sample_is_seen_until_each_network_has_taken_its_steps(train: Sample) -> None:
    teaching = Teaching(train, True, True, 2.0, 0, lambda value: None, lambda: False)
    for generation in (Generation(6, 16, 3e-3, 0, 1_100), Generation(3, 12, 4e-3, 4, 2_200)):
        batches = -(-150 * (1 + generation.drawn) // many_symbols.BATCH)
        steps = teaching._passes(generation) * batches
        assert generation.least_steps <= steps < generation.least_steps + batches
