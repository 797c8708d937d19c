"""State merging: it finds deterministic targets, and its criterion is that of a direct computation
with sets of nodes.
"""

from __future__ import annotations

from collections import Counter
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlwfa_core.errors import Cancelled, RecipeError
from nlwfa_core.learning import merging
from nlwfa_core.learning.fitting import fit
from nlwfa_core.learning.merging import PDFATraining, fit_pdfa
from nlwfa_core.models.wfa import WFA
from nlwfa_core.sources.pautomac import read_solution
from nlwfa_core.sources.random_automata import sample_words
from nlwfa_core.sources.string_files import read_strings
from nlwfa_core.strings.plain import as_sample
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.trie import Trie
from nlwfa_core.strings.words import Alphabet, Word, Words
from tests.references import DATA

# State 0 after an even number of a's, and state 1 after an odd one; the two end with different
# probabilities.
PARITY = WFA([1, 0], [[[0, 0.3], [0.6, 0]], [[0.2, 0], [0, 0.3]]], [0.5, 0.1])


def sample_of(model: WFA, size: int, seed: int = 0) -> Sample:
    return Sample.of(sample_words(model, size, seed), Alphabet.numbered(model.num_symbols))


def test_a_deterministic_target_is_found_with_its_states() -> None:
    """Numbered in the order of their counts, so here as in the target; each probability is within
    three standard errors.
    """
    model = fit_pdfa(sample_of(PARITY, 20_000), 50)
    assert model.num_states == 2
    np.testing.assert_allclose(model.transitions, PARITY.transitions, atol=0.012)
    np.testing.assert_allclose(model.termination, PARITY.termination, atol=0.012)


def test_with_one_state_it_has_the_frequencies_of_symbols_and_of_the_end() -> None:
    model = fit_pdfa(as_sample(["ab", "ab", "b", ""]), 1, PDFATraining(pseudo_count=0))
    assert model.transitions.ravel().tolist() == [2 / 9, 3 / 9] and model.termination.tolist() == [
        4 / 9
    ]


def test_without_merging_it_repeats_the_sample() -> None:
    """If no merge may lose anything, and every node counts, only nodes with the same future are
    merged.
    """
    words = {(0, 1): 3, (0,): 1, (1, 1): 2, (): 1}
    sample = Sample.of(
        Words.of([word for word, count in words.items() for _ in range(count)]),
        Alphabet.numbered(2),
    )
    model = fit_pdfa(sample, 50, PDFATraining(penalty=0, min_count=0, pseudo_count=0))
    weights = model.weights(Words.of(list(words)))
    np.testing.assert_allclose(weights, [count / 7 for count in words.values()], rtol=1e-12)


def test_each_symbol_leads_from_each_state_to_one_state() -> None:
    model = fit_pdfa(sample_of(PARITY, 300), 20, PDFATraining(penalty=0.5))
    assert ((model.transitions > 0).sum(axis=2) == 1).all() and model.initial.tolist() == [1] + [
        0
    ] * (model.num_states - 1)
    np.testing.assert_allclose(model.transitions.sum(axis=(0, 2)) + model.termination, 1)
    assert fit_pdfa(sample_of(PARITY, 300), 3, PDFATraining(penalty=0.5)).num_states <= 3


def _log_likelihood(counts: Counter[int]) -> float:
    total = sum(counts.values())
    return sum(count * log(count / total) for count in counts.values() if count)


def _merged_classes(words: list[Word], state: Word, candidate: Word) -> list[set[Word]]:
    """The classes of prefixes after merging two of them, by the definition: classes that share a
    prefix, or follow from one.
    """
    prefixes = {word[:end] for word in words for end in range(len(word) + 1)}
    class_of = {prefix: {prefix} for prefix in prefixes}
    pairs = [(state, candidate)]
    while pairs:
        one, other = (class_of[prefix] for prefix in pairs.pop())
        if one is other:
            continue
        one |= other
        class_of.update(dict.fromkeys(other, one))
        following: dict[int, Word] = {}
        for prefix in one:
            for symbol in range(2):
                child = (*prefix, symbol)
                if child in prefixes:
                    pairs += [(following.setdefault(symbol, child), child)]
    return list({id(own): own for own in class_of.values()}.values())


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 1), max_size=5).map(tuple), min_size=1, max_size=12),
    st.sampled_from([0.5, 2.0]),
)
def test_the_gain_of_a_merge_is_that_of_the_merged_classes(
    words: list[Word], penalty: float
) -> None:
    """Of the root with each prefix of one symbol: the likelihood and the parameters of all classes,
    before and after.
    """
    sample = Sample.of(Words.of(words), Alphabet.numbered(2))
    followers = {word[:end]: Counter[int]() for word in words for end in range(len(word) + 1)}
    for word in words:
        for end in range(len(word) + 1):
            followers[word[:end]][word[end] if end < len(word) else 2] += 1

    def criterion(classes: list[set[Word]]) -> float:
        """The log-likelihood, minus the penalty for each parameter."""
        counts = [sum((followers[prefix] for prefix in own), Counter[int]()) for own in classes]
        return sum(_log_likelihood(count) - penalty * (len(count) - 1) for count in counts)

    tree = Trie.of(sample.words, 2)
    before = criterion([{prefix} for prefix in followers])
    for symbol in range(2):
        if (symbol,) in followers:
            automaton = merging._Merging(tree, sample, penalty, 0)
            candidate = int(automaton.children[0, symbol])
            gain = automaton._gains([0], candidate, 0)[0]
            merged = _merged_classes(words, (), (symbol,))
            assert gain == pytest.approx(criterion(merged) - before, abs=1e-9)


def test_validation_strings_choose_the_options() -> None:
    """The model with the fewest bits per symbol on them, among those that each combination of
    options gives.
    """
    train = sample_of(PARITY, 400)
    validation = sample_of(PARITY, 4_000, 1)

    def bits(model: WFA) -> float:
        return float(-(validation.counts @ model.log2_weights(validation.words)))

    own = [
        bits(fit_pdfa(train, 30, PDFATraining(penalty, min_count)))
        for penalty in merging.PENALTIES
        for min_count in merging.MIN_COUNTS
    ]
    assert bits(fit_pdfa(train, 30, validation=validation)) == pytest.approx(min(own))


def test_it_is_a_learner_like_the_others() -> None:
    learned = fit(sample_of(PARITY, 2_000), "PDFA", 20)
    assert (learned.report.learner, learned.report.rank, learned.report.num_states) == (
        "PDFA",
        20,
        2,
    )
    with pytest.raises(Cancelled):
        fit_pdfa(sample_of(PARITY, 100), 5, cancelled=lambda: True)
    for wrong, message in (
        ({"max_states": 0}, "the number of states of a PDFA must be between 1 and"),
        ({"train": Sample.of(Words.of([]), Alphabet.numbered(2))}, "the sample has no strings"),
        (
            {"validation": as_sample(["a"])},
            "must have strings over the training sample's 2 symbols; got 1 string over 1 symbol",
        ),
    ):
        with pytest.raises(RecipeError, match=message):
            fit_pdfa(**{"train": sample_of(PARITY, 10), "max_states": 2, **wrong})
    with pytest.raises(RecipeError, match="penalty must be at least 0; got -1"):
        PDFATraining(penalty=-1)


def test_a_prefix_tree_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "MAX_CELLS", 20)
    with pytest.raises(
        RecipeError,
        match=r"must have at most 20 cells; this sample needs 8 × 3 = 24",
    ):
        fit_pdfa(as_sample(["aaa", "bbb", "b", "ab"]), 2)


@pytest.mark.parametrize(("problem", "num_states"), [(7, 12), (24, 5), (42, 6)])
def test_deterministic_targets_of_the_competition(problem: int, num_states: int) -> None:
    """On the test strings, the perplexity is at most 0.05 % above that of the true
    probabilities.
    """
    folder = DATA / "pautomac"
    if not folder.exists():
        pytest.skip("needs the competition's files")
    file = read_strings(folder / f"{problem}.pautomac.train", "pautomac")
    model = fit_pdfa(Sample.of(file.words, file.alphabet), 100)
    solution = read_solution(folder / f"{problem}.pautomac_solution.txt")
    weights = model.weights(read_strings(folder / f"{problem}.pautomac.test", "pautomac").words)
    lost = (
        solution / solution.sum() @ np.log2((solution / solution.sum()) / (weights / weights.sum()))
    )
    assert model.num_states == num_states and 0 <= lost < np.log2(1.0005)
